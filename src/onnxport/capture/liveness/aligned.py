"""Which nodes of two recordings of one model are the same, where both go other ways at several places."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections import ChainMap
from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any

from ...program import Block, Node, Operand, Value
from .alike import are_alike
from .comparison import same_constants
from .questions import ASK

# So many nodes are the same behind what differs, before it is taken to be over, and more if that is much; a question, which
# has its line, is worth so many. So many nodes are what differs, at most.
_AGAIN, _QUESTION, _LONGEST = 3, 6, 300

Site = tuple[
    int, tuple[int, ...]
]  # a node, and the place of an operand among its inputs; behind the last one, of a return


@dataclasses.dataclass(frozen=True, slots=True)
class Hunk:
    """Nodes `a` to `b` of the one recording, in whose place the other has its nodes `c` to `d`."""

    a: int
    b: int
    c: int
    d: int


@dataclasses.dataclass
class Aligned:
    """A recording beside another one.

    Attributes:
        same: what results of nodes that are the same are in the other one.
        back: the reverse.
        crossing: the operands of nodes that are the same which are made where the recordings differ: there, and here.
    """

    block: Block
    hunks: list[Hunk] = dataclasses.field(default_factory=list)
    same: dict[Value, Value] = dataclasses.field(default_factory=dict)
    back: dict[Value, Value] = dataclasses.field(default_factory=dict)
    crossing: dict[Site, tuple[Value, Value]] = dataclasses.field(default_factory=dict)

    def there(self, place: int) -> tuple[int, int]:
        """Between which places of the other recording a node is."""
        moved = 0
        for hunk in self.hunks:
            if hunk.c <= place < hunk.d:
                return hunk.a, hunk.b
            if hunk.d <= place:
                moved = hunk.b - hunk.d
        return place + moved, place + moved + 1

    @functools.cached_property
    def makers(self) -> dict[Value, Node]:
        """The nodes that make values."""
        return {output: node for node in self.block.nodes for output in node.outputs}

    def here(self, place: int, *, behind: bool) -> int:
        """The place that a place of the other recording is here; before or behind what is only here at that place."""
        left = [hunk for hunk in self.hunks if hunk.b <= place and (behind or hunk.a < place)]
        return place + sum((hunk.d - hunk.c) - (hunk.b - hunk.a) for hunk in left)


def aligned(base: Block, block: Block) -> Aligned | None:
    """A recording beside `base`, on whose inputs and weights it is; None where they can't be told to go on alike behind what
    differs."""
    walk = _Walk(base, block)
    i = j = 0
    while i < len(base.nodes) or j < len(block.nodes):
        if walk.takes(i, j):
            i, j = i + 1, j + 1
            continue
        hunk = walk.differing(i, j)
        if hunk is None:
            return None
        walk.skip(hunk)
        i, j = hunk.b, hunk.d
    pairs = list(walk.pairs(base.returns, block.returns))
    if None in pairs:
        return None
    walk.found.crossing.update({(i, path): (x, y) for path, x, y in pairs})  # type: ignore[misc]
    return walk.found


class _Walk:
    def __init__(self, base: Block, block: Block) -> None:
        self.base, self.found = base, Aligned(block)
        self._same: MutableMapping[Value, Value] = self.found.same
        self._only: set[Value] = set()  # what is made where the recordings differ

    def takes(self, i: int, j: int) -> bool:
        """Whether two nodes are the same; what they give is then."""
        if i >= len(self.base.nodes) or j >= len(self.found.block.nodes):
            return False
        mine, theirs = self.base.nodes[i], self.found.block.nodes[j]
        if not are_alike(mine, theirs):
            return False
        pairs = list(self.pairs(mine.inputs, theirs.inputs))
        if None in pairs:
            return False
        self._same.update(zip(theirs.outputs, mine.outputs))
        if self._same is self.found.same:
            self.found.back.update(zip(mine.outputs, theirs.outputs))
            self.found.crossing.update({(i, path): (x, y) for path, x, y in pairs})  # type: ignore[misc]
        return True

    def pairs(
        self, mine: list[Operand], theirs: list[Operand], path: tuple[int, ...] = ()
    ) -> Iterator[tuple[tuple[int, ...], Value, Value] | None]:
        """The operands that aren't the same, but may stand for each other; None where any other isn't."""
        if len(mine) != len(theirs):
            yield None
        for place, (x, y) in enumerate(zip(mine, theirs)):
            if isinstance(x, Value) and isinstance(y, Value):
                if self._same.get(y, y) is not x:
                    may_be = (x in self._only or y in self._only) and are_of_one_kind(x, y)
                    yield ((*path, place), x, y) if may_be else None
            elif isinstance(x, list) and isinstance(y, list):
                yield from self.pairs(x, y, (*path, place))
            elif isinstance(x, Value) or isinstance(y, Value) or not same_constants(x, y):
                yield None

    def differing(self, i: int, j: int) -> Hunk | None:
        """The least that differs from two nodes on."""
        nodes, others = len(self.base.nodes), len(self.found.block.nodes)
        for both in range(1, _LONGEST):
            for mine in range(both + 1):
                hunk = Hunk(i, i + mine, j, j + both - mine)
                if hunk.b <= nodes and hunk.d <= others and self._may_go_on(hunk) and self._goes_on(hunk):
                    return hunk
        return None

    def _may_go_on(self, hunk: Hunk) -> bool:
        """Whether the nodes behind are of one operator, or there are none: what takes little time to see."""
        mine, theirs = self.base.nodes[hunk.b : hunk.b + 1], self.found.block.nodes[hunk.d : hunk.d + 1]
        return [node.op for node in mine] == [node.op for node in theirs]

    def _goes_on(self, hunk: Hunk) -> bool:  # type: ignore[return]
        """Whether nodes behind what differs are the same."""
        only = self._only
        self._same, self._only = ChainMap({}, self.found.same), {*only, *self._made(hunk)}
        try:
            wanted = _AGAIN + (hunk.b - hunk.a + hunk.d - hunk.c) / 3
            for step in itertools.count():
                if not self.takes(hunk.b + step, hunk.d + step):
                    left = len(self.base.nodes) - hunk.b, len(self.found.block.nodes) - hunk.d
                    return left == (step, step)
                wanted -= _QUESTION if self.base.nodes[hunk.b + step].op == ASK else 1
                if wanted <= 0:
                    return True
        finally:
            self._same, self._only = self.found.same, only

    def skip(self, hunk: Hunk) -> None:
        self.found.hunks.append(hunk)
        self._only.update(self._made(hunk))

    def _made(self, hunk: Hunk) -> Iterator[Value]:
        for node in (*self.base.nodes[hunk.a : hunk.b], *self.found.block.nodes[hunk.c : hunk.d]):
            yield from node.outputs


def are_of_one_kind(x: Value, y: Value) -> bool:
    """Whether values have the same type, and the same dtype and number of axes."""
    a, b = x.tensor_type, y.tensor_type
    if x.type != y.type or (a is None) != (b is None):
        return False
    if a is None or b is None:
        return x.type != "Tensor"
    return a.dtype == b.dtype and a.sizes is not None and b.sizes is not None and len(a.sizes) == len(b.sizes)


def written(block: Block) -> list[tuple[int, int]]:
    """For each node that writes, the places of the one that made the memory, -1 where that isn't known, and of itself. Elsewhere
    it doesn't matter what else may be the same memory."""
    makers = {output: place for place, node in enumerate(block.nodes) for output in node.outputs}
    return [
        (_made(operand, block, makers), place)
        for place, node in enumerate(block.nodes)
        if node.schema is not None and node.schema.mutates
        for argument, operand in zip(node.schema.arguments, node.inputs)
        if argument.writes
    ]


def _made(value: Operand, block: Block, makers: Mapping[Any, int]) -> int:
    while (place := makers.get(value)) is not None:
        schema = block.nodes[place].schema
        if schema is None:
            break
        if not any(given.alias for given in schema.returns):
            return place
        value = block.nodes[place].inputs[0]
    return -1
