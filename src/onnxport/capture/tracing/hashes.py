"""Sizes as keys of dicts and sets, while a model is traced.

A traced size is a tensor, and tensors are hashed by identity: `{8: 2.0}.get(x.shape[-1])` finds nothing, where eager Python,
whose sizes are ints, finds 2.0. For what a model keeps by size (`self.tables[n]`) that is as good: it is made again, and
recorded. So a run that hashes sizes is compared with eager Python. If it gives something else, it is recorded again with
sizes hashed as the ints that they are; those are constants of the trace then, which `liveness` looks after. Whether sizes that
are hashed in one line are equal, as `len(set(x.shape))` asks, decides a run like an `if`. A call of a function that keeps its
results (see `caches`) finds none, and does what it would do the first time.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import torch

from ..shared import shared
from .caches import calls_cached
from .traced_sizes import is_size

# So many different sizes of a line are compared.
_SIZES = 8


class Hashes:
    """Whether one recording hashed sizes, and where.

    Attributes:
        decides: whether they may decide what the run does.
        compared: is told of a size and another, or a number, that differ in the example, and of the line that hashes them.
    """

    def __init__(self, *, by_value: bool) -> None:
        self.by_value = by_value
        self.decides = False
        self.places: dict[str, None] = {}
        self.compared: Callable[[torch.Tensor, Any, str], None] = lambda *_: None
        self._sizes: dict[str, dict[int, torch.Tensor]] = {}

    def begin(self) -> None:
        """A run begins: sizes of an earlier one mean nothing any more."""
        self._sizes.clear()

    def note(self, size: torch.Tensor, number: int, place: str, literals: Iterable[int]) -> None:
        """A line, which has these numbers in it, hashes a size, which is this number in the example."""
        self.places[place] = None
        self.decides = True
        others = self._sizes.setdefault(place, {})
        if number in others or len(others) == _SIZES:
            return
        for literal in literals:
            self.compared(size, literal, place)
        if self.by_value:
            return  # a dict compares ints by itself
        for other in others.values():
            self.compared(size, other, place)
        others[number] = size


class _Thread(threading.local):
    hashes: Hashes | None = None
    place: Callable[[], tuple[str, Iterable[int]]] = staticmethod(lambda: ("", ()))


_thread = _Thread()


@contextlib.contextmanager
def noting_hashes(hashes: Hashes, place: Callable[[], tuple[str, Iterable[int]]]) -> Iterator[None]:
    """Note the sizes that this thread hashes; `place` tells where that is, and which numbers are written there."""
    before = _thread.hashes, _thread.place
    _thread.hashes, _thread.place = hashes, place
    try:
        with _changed_hash():
            yield
    finally:
        _thread.hashes, _thread.place = before


@shared
@contextlib.contextmanager
def _changed_hash() -> Iterator[None]:
    plain: Callable[[torch.Tensor], int] = torch.Tensor.__hash__

    def hash_of(self: torch.Tensor) -> int:
        hashes = _thread.hashes
        if hashes is None or self.dim() or not is_size(self):
            return plain(self)
        with torch._C.DisableTorchFunction():
            number = int(self)
        place, literals = _thread.place()
        if not hashes.by_value and calls_cached(sys._getframe(1)):
            hashes.places[place] = None
        else:
            hashes.note(self, number, place, literals)
        return hash(number) if hashes.by_value else plain(self)

    torch.Tensor.__hash__ = hash_of  # type: ignore[method-assign]
    try:
        yield
    finally:
        torch.Tensor.__hash__ = plain  # type: ignore[method-assign]


def are_alike(recorded: Sequence[torch.Tensor], eager: Sequence[torch.Tensor]) -> bool:
    """Whether a recording gave what eager Python gives, but for rounding."""
    if len(recorded) != len(eager):
        return False
    return all(
        a.shape == b.shape and a.dtype == b.dtype and torch.allclose(a, b, rtol=1e-4, atol=1e-5, equal_nan=True)
        for a, b in zip(recorded, eager)
    )
