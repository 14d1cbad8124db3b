"""What can be written to: storages of tensors, views of them, lists and other containers.

A program that mutates is evaluated on references instead of tensors. A `Ref` is either a storage of its own
or a view: the reference it looks at, and the step (a view op with its arguments) that leads there. Writing to
a view writes the storage through the inverse steps and counts its version up; a reference whose version
is old replays its steps when it is read next. So `v = y[0]; y.add_(1); return v * 2` reads the new `y`.

A `Cell` is the identity of a list, dict or object: two names of one list are one cell.

The journal of a frame (the body of an If or Loop) remembers what storages and cells older than it held before it
wrote them, and which older views were computed anew inside of it (their tensors can't be used outside).

Where it is not known whether two references share memory (the branches of an If return one or the other), they
may be linked: a `Link` says under which condition, known at run time, the one is the other, and a write to either
reaches the other under that condition. Where no such condition can be had they are *rivals*: reading the one after a
write to the other is an error.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..errors import LoweringError
from .values import Tensor


@dataclass(frozen=True, slots=True)
class Step:
    """A view op: from the base's tensor to the view's, and back.

    `inverse(base, new)` is the base's tensor after `new` was written to the view.
    """

    name: str
    forward: Callable[[Tensor], Tensor]
    inverse: Callable[[Tensor, Tensor], Tensor]
    is_static: bool = True  # nothing but constants are its arguments


class Link:
    """Under a condition known at run time, a storage is the same memory as an older reference.

    `choose(a, b)` is the tensor `a` where the condition holds, else `b`.
    """

    __slots__ = ("choose", "condition", "target", "writes")

    def __init__(self, condition: Tensor, target: Ref, choose: Callable[[Tensor, Tensor], Tensor]) -> None:
        self.condition = condition
        self.target = target
        self.choose = choose
        self.writes = target.root.writes  # of the target, that have been taken over


class Journal:
    """What a frame changed of what is older than itself."""

    __slots__ = ("before", "depth", "linked", "replayed")

    def __init__(self, depth: int) -> None:
        self.depth = depth
        self.before: dict[Ref | Cell, Any] = {}  # contents before the first write, in the order of the writes
        self.replayed: set[Ref] = set()
        self.linked: list[tuple[Ref, Ref]] = []  # a storage, and a new one with a link to it

    def undo(self) -> None:
        """Everything as it was before the frame."""
        for held, content in self.before.items():
            held.restore(content)
        for view in self.replayed:
            view.version = -1  # replayed anew where it is read next
        for target, storage in self.linked:
            target.linked.remove(storage)
        self.linked.clear()


class Ref:
    """A reference to a tensor that may be written to."""

    __slots__ = (
        "depth",
        "either",
        "linked",
        "links",
        "listed",
        "ordered",
        "parent",
        "place",
        "rivals",
        "root",
        "step",
        "tensor",
        "unsure",
        "version",
        "weight",
        "writes",
    )

    def __init__(self, tensor: Tensor, parent: Ref | None = None, step: Step | None = None, depth: int = 0) -> None:
        self.tensor = tensor
        self.parent = parent
        self.step = step
        self.root: Ref = self if parent is None else parent.root
        self.version: int = 0 if parent is None else self.root.version
        self.writes: int = 0  # as `version`, but what is undone doesn't count
        self.depth = depth  # of the frame that made it
        self.weight: Any = None  # what of the model or its arguments this storage is, if anything
        self.links: list[Link] = []
        self.linked: list[Ref] = []  # storages with a link to this one
        self.rivals: list[Ref | Cell] = []
        self.unsure = ""  # why the content isn't known any more
        self.ordered = True  # whether its elements surely lie in memory in order
        self.either = False  # whether it may be one of other tensors, as an If, a Loop or an index goes
        self.listed = False  # whether a list, dict or object holds it
        self.place: tuple[Cell, Any] | None = None  # the list of unknown length, and the index, that it was read from

    def read(self, journal: Journal | None = None) -> Tensor:
        """The tensor as it is now."""
        self.root._synchronize(journal)
        if self.root.unsure:
            raise LoweringError(self.root.unsure)
        if self.version != self.root.version:
            assert self.parent is not None and self.step is not None
            self.tensor = self.step.forward(self.parent.read(journal))
            self.version = self.root.version
            if journal is not None and self.depth < journal.depth:
                journal.replayed.add(self)
        return self.tensor

    def link(self, link: Link, journal: Journal | None) -> None:
        """Under a condition, this storage is another."""
        self.links.append(link)
        self.either = True
        link.target.root.linked.append(self)
        if journal is not None:
            journal.linked.append((link.target.root, self))

    def alternatives(self) -> set[Ref]:
        """Other references that may be this very one."""
        found: set[Ref] = set()
        waiting = [self]
        while waiting:
            ref = waiting.pop()
            near = [link.target for link in ref.links] + [r for r in ref.rivals if isinstance(r, Ref)]
            near += [other for other in ref.linked if any(link.target is ref for link in other.links)]
            waiting += [r for r in near if r not in found]
            found.update(near)
        return found - {self}

    def synchronize_linked(self, journal: Journal) -> None:
        """What was written here is written to the older storages that may be this one."""
        for other in self.linked:
            if other.depth < journal.depth:
                other._synchronize(journal)

    def _synchronize(self, journal: Journal | None) -> None:
        """Take over what was written to the references that this storage may be."""
        for link in self.links:
            root = link.target.root
            root._synchronize(journal)
            if root.writes != link.writes:
                self.set(link.choose(link.target.read(journal), self.tensor), journal)
                link.writes = root.writes

    def write(self, new: Tensor, journal: Journal | None = None) -> None:
        """Replace the content; sizes and dtype stay."""
        if self.parent is None:
            self._synchronize(journal)
            self.set(new, journal)
            for link in self.links:
                link.target.write(link.choose(new, link.target.read(journal)), journal)
                link.writes = link.target.root.writes
            if self.place is not None and not self.links:
                self.place[0].doubt(
                    "an element of a list of unknown length was written in place; assign it: `items[i] = items[i] + 1`",
                    journal,
                )
            for rival in self.rivals:
                rival.doubt(
                    "it is not known at export whether this tensor shares its memory with another one that was written to "
                    "in place (an If, a Loop or a reshape gives the one or the other); clone() one of them before the write",
                    journal,
                    self,
                )
        else:
            assert self.step is not None
            self.parent.write(self.step.inverse(self.parent.read(journal), new), journal)
            self.version = self.root.version
            self.tensor = new
            if journal is not None and self.depth < journal.depth:
                journal.replayed.add(self)

    def set(self, new: Tensor, journal: Journal | None = None) -> None:
        """Other content for a storage, that no rival minds."""
        if journal is not None and self.depth < journal.depth:
            journal.before.setdefault(self, self._state())
        self.version += 1
        self.writes += 1
        self.tensor = new

    def doubt(self, reason: str, journal: Journal | None = None, writer: Ref | None = None) -> None:
        """The content isn't known any more, nor that of what may share its memory, but for the one that was written."""
        root = self.root
        if root.unsure or root is writer:
            return
        if journal is not None and root.depth < journal.depth:
            journal.before.setdefault(root, root._state())
        root.unsure = reason
        for rival in root.rivals:
            rival.doubt(reason, journal, writer)

    def rival(self, other: Ref | Cell) -> None:
        """It and the other may share memory, or not."""
        if isinstance(other, Ref):
            other = other.root
            other.rivals.append(self.root)
        self.root.rivals.append(other)

    def _state(self) -> Any:
        return self.tensor, self.unsure, self.writes, [link.writes for link in self.links]

    def restore(self, content: Any) -> None:
        self.tensor, self.unsure, self.writes, seen = content
        for link, writes in zip(self.links, seen):
            link.writes = writes
        self.version += 1

    @property
    def is_portable(self) -> bool:
        """Whether its steps hold outside of the body that took them, too."""
        return self.parent is None or (self.step is not None and self.step.is_static and self.parent.is_portable)

    @property
    def steps(self) -> list[str]:
        """Names of the view ops from the storage to here."""
        return [] if self.parent is None or self.step is None else [*self.parent.steps, self.step.name]


class Appending:
    """The content of a list while the body of a Loop is evaluated that may only append to it."""

    __slots__ = ("cell", "items")

    def __init__(self, cell: Cell, items: tuple[Any, ...] = ()) -> None:
        self.cell = cell
        self.items = items


class OnlyAppends(Exception):
    """A list that was taken to be only appended to is used in another way."""

    def __init__(self, cell: Cell) -> None:
        super().__init__("a list is not only appended to")
        self.cell = cell


class Cell:
    """A list, dict or object: `content` is a list, a dict (of attributes too), or a `Sequence`.

    Content is replaced, never changed in place.
    """

    __slots__ = ("_content", "depth", "frozen", "unsure")

    def __init__(self, content: Any, depth: int = 0) -> None:
        self._content = content
        self.depth = depth
        self.unsure = ""  # why the content isn't known any more
        self.frozen = False  # whether a list of unknown length holds a copy of it

    @property
    def content(self) -> Any:
        if self.unsure:
            raise LoweringError(self.unsure)
        return self._content

    @property
    def shown(self) -> Any:
        """The content, though it may be out of date."""
        return self._content

    @property
    def views(self) -> Any:
        """How to take an element of a list of views; that holds whatever was written to their base."""
        return getattr(self._content, "element", None)

    def put(self, content: Any, journal: Journal | None = None) -> None:
        if self.frozen:
            raise LoweringError(
                "changes a list that is an element of a list whose length is known only at run time; "
                "make the list first and put it in then, or use a tensor"
            )
        if journal is not None and self.depth < journal.depth:
            journal.before.setdefault(self, (self._content, self.unsure))
        self._content = content

    def doubt(self, reason: str, journal: Journal | None = None, writer: Ref | None = None) -> None:
        """The content isn't known any more."""
        if journal is not None and self.depth < journal.depth:
            journal.before.setdefault(self, (self._content, self.unsure))
        self.unsure = reason

    def restore(self, content: Any) -> None:
        self._content, self.unsure = content
