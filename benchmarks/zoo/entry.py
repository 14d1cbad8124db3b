"""What an entry of the zoo is, and the inputs that entries are made of.

A table of models (`torchvision_models.py`, ...) fills `ENTRIES` with functions that build a model with random weights
and give it two sets of named arguments, of different sizes. The axes whose sizes differ are the dynamic ones; axes with
equal pairs of sizes are one axis.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable
from typing import Any

import torch

Named = dict[str, Any]


@dataclasses.dataclass
class Zoo:
    """A model, with named arguments at the example's and at other sizes."""

    model: Any
    example: dict[str, Any]
    other: dict[str, Any]
    rtol: float = 1e-3
    unordered: bool = False  # rows of the outputs (detections) may come in any order, and few be lost to rounding
    telling: bool = True  # weights are random: change those that would hide mistakes
    further: list[dict[str, Any]] = dataclasses.field(default_factory=list)  # arguments of still other sizes
    calibrate: dict[str, Any] | None = None  # arguments of the run that sets batch norm statistics


@dataclasses.dataclass(frozen=True)
class Entry:
    """A model by name; `build` raises what its package raises where it can't be built."""

    name: str
    family: str
    build: Callable[[], Zoo]


ENTRIES: dict[str, Entry] = {}


def add(name: str, family: str, build: Callable[[], Zoo]) -> None:
    if name in ENTRIES:
        raise ValueError(f"two models are named {name}")
    ENTRIES[name] = Entry(name, family, build)


def entry(name: str, family: str) -> Callable[[Callable[[], Zoo]], Callable[[], Zoo]]:
    """Decorator that adds a function as an entry."""

    def register(build: Callable[[], Zoo]) -> Callable[[], Zoo]:
        add(name, family, build)
        return build

    return register


class Family:
    """Adds plain models of one family: traced, scripted, or both."""

    def __init__(self, name: str) -> None:
        self._name = name

    def traced(self, name: str, make: Callable[[], Any], example: Named, other: Named, **more: Any) -> None:
        add(name, self._name, lambda: Zoo(make(), example, other, **more))

    def scripted(self, name: str, make: Callable[[], Any], example: Named, other: Named, **more: Any) -> None:
        self.traced(f"{name}, scripted", lambda: torch.jit.script(make()), example, other, **more)

    def both(self, *case: Any, **more: Any) -> None:
        self.traced(*case, **more)
        self.scripted(*case, **more)


# -- inputs ---------------------------------------------------------------------------------------


def normal(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape) + seed))


def uniform(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.rand(*shape, generator=torch.Generator().manual_seed(sum(shape) + seed))


def image(batch: int, height: int, width: int, channels: int = 3) -> torch.Tensor:
    return normal(batch, channels, height, width)


def tokens(batch: int, length: int, vocabulary: int = 90) -> torch.Tensor:
    """Token ids; none is below 5 (padding, begin, end and the like)."""
    generator = torch.Generator().manual_seed(batch * 100 + length)
    return torch.randint(5, vocabulary, (batch, length), generator=generator)


def mask(batch: int, length: int) -> torch.Tensor:
    """An attention mask whose rows end in 0, 1, 2, 0, ... padded tokens."""
    result = torch.ones(batch, length, dtype=torch.long)
    for row in range(batch):
        if row % 3:
            result[row, -(row % 3) :] = 0
    return result


def waveform(batch: int, length: int) -> torch.Tensor:
    time = torch.arange(length) / 16000
    tones = [torch.sin(2 * torch.pi * 220 * (i + 1) * time) for i in range(batch)]
    return torch.stack(tones) + 0.1 * normal(batch, length)


def runs(model: Any, arguments: dict[str, Any]) -> bool:
    """Whether the model takes these arguments, of which caches grow as they are used."""
    try:
        with torch.no_grad():
            model(**copy.deepcopy(arguments))
    except Exception:  # whatever a model raises at sizes it can't take
        return False
    return True


def first_that_runs(model: Any, *pairs: tuple[dict[str, Any], dict[str, Any]]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The first pair of arguments that the model takes both of; else the last."""
    model.eval()
    for example, other in pairs[:-1]:
        if runs(model, example) and runs(model, other):
            return example, other
    return pairs[-1]
