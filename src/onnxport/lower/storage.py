"""Tensors that can be written to: storages, views of them, and versions.

A program that mutates is evaluated on references instead of tensors. A `Ref` is either a storage of its own
or a view: the reference it looks at, and the step (a view op with its arguments) that leads there. Writing to
a view writes the storage through the inverse steps and counts its version up; a reference whose version
is old replays its steps when it is read next. So `v = y[0]; y.add_(1); return v * 2` reads the new `y`.

The journal of a frame (the body of an If or Loop) remembers what outer storages held before it wrote them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .values import Tensor


@dataclass(frozen=True, slots=True)
class Step:
    """A view op: from the base's tensor to the view's, and back.

    `inverse(base, new)` is the base's tensor after `new` was written to the view.
    """

    name: str
    forward: Callable[[Tensor], Tensor]
    inverse: Callable[[Tensor, Tensor], Tensor]


class Ref:
    """A reference to a tensor that may be written to."""

    __slots__ = ("depth", "parent", "root", "step", "tensor", "version", "weight")

    def __init__(self, tensor: Tensor, parent: Ref | None = None, step: Step | None = None, depth: int = 0) -> None:
        self.tensor = tensor
        self.parent = parent
        self.step = step
        self.root: Ref = self if parent is None else parent.root
        self.version: int = 0 if parent is None else self.root.version
        self.depth = depth  # of the frame that made it
        self.weight: Any = None  # what of the model or its arguments this storage is, if anything

    def read(self) -> Tensor:
        """The tensor as it is now."""
        if self.version != self.root.version:
            assert self.parent is not None and self.step is not None
            self.tensor = self.step.forward(self.parent.read())
            self.version = self.root.version
        return self.tensor

    def write(self, new: Tensor, journal: Journal | None = None) -> None:
        """Replace the content; sizes and dtype stay."""
        if self.parent is None:
            if journal is not None and self.depth < journal.depth:
                journal.before.setdefault(self, self.tensor)
            self.version += 1
        else:
            assert self.step is not None
            self.parent.write(self.step.inverse(self.parent.read(), new), journal)
            self.version = self.root.version
        self.tensor = new

    @property
    def steps(self) -> list[str]:
        """Names of the view ops from the storage to here."""
        return [] if self.parent is None or self.step is None else [*self.parent.steps, self.step.name]


class Journal:
    """What a frame changed of storages older than itself."""

    __slots__ = ("before", "depth")

    def __init__(self, depth: int) -> None:
        self.depth = depth
        self.before: dict[Ref, Tensor] = {}
