"""What two blocks that were recorded of one model have in common, at their beginning and at their end."""

from __future__ import annotations

import math
from typing import Any

from ...program import Block, Node, Operand, Value
from .comparison import same_constants


def common_start(a: Block, b: Block) -> tuple[int, dict[Value, Value]]:
    """How many nodes are the same at the beginning of both, and what their results in `b` are in `a`."""
    same: dict[Value, Value] = {}
    for count, (mine, theirs) in enumerate(zip(a.nodes, b.nodes)):
        if not are_alike(mine, theirs) or not all(_is_operand(x, y, same) for x, y in zip(mine.inputs, theirs.inputs)):
            return count, same
        same.update(zip(theirs.outputs, mine.outputs))
    return min(len(a.nodes), len(b.nodes)), same


def _is_operand(mine: Operand, theirs: Operand, same: dict[Value, Value]) -> bool:
    if isinstance(mine, Value) or isinstance(theirs, Value):
        return same.get(theirs, theirs) is mine if isinstance(theirs, Value) else False
    if isinstance(mine, (list, tuple)) and isinstance(theirs, (list, tuple)):
        return len(mine) == len(theirs) and all(_is_operand(x, y, same) for x, y in zip(mine, theirs))
    return same_constants(mine, theirs)


def are_alike(mine: Node, theirs: Node) -> bool:
    """Whether nodes do the same with what they are given; there is no telling of those with blocks."""
    return (
        mine.op == theirs.op
        and len(mine.inputs) == len(theirs.inputs)
        and len(mine.outputs) == len(theirs.outputs)
        and not (mine.blocks or theirs.blocks)
        and mine.attributes == theirs.attributes
    )


class CommonEnd:
    """The nodes at the end of two blocks that are the same.

    Attributes:
        count: how many there are.
        pairs: the values that they, and the returns, read of what is before them: of the one block, and of the other.
        has_returns: whether the blocks return the same.
    """

    def __init__(self, a: Block, b: Block) -> None:
        self.count = 0
        self.pairs: dict[Value, Value] = {}
        self._back: dict[Value, Value] = {}
        self.has_returns = self._take(a.returns, b.returns)
        for mine, theirs in zip(reversed(a.nodes), reversed(b.nodes)):
            if not self.has_returns or not self._node(mine, theirs):
                break
            self.count += 1

    def _node(self, mine: Node, theirs: Node) -> bool:
        """Take the last nodes before those that were taken, if they are the same."""
        if not are_alike(mine, theirs) or mine.schema is None or mine.schema.mutates:
            return False
        made = list(zip(mine.outputs, theirs.outputs))
        if not all(map(self._may_be_pair, mine.outputs, theirs.outputs)) or not self._take(mine.inputs, theirs.inputs):
            return False
        for x, y in made:
            if self.pairs.pop(x, None) is not None:
                del self._back[y]
        return True

    def _take(self, mine: list[Operand], theirs: list[Operand]) -> bool:
        """Take operands if all of them are the same."""
        found = _pairs(mine, theirs)
        if found is None:
            return False
        pairs, back = dict(found), {y: x for x, y in found}
        for x, y in found:
            if pairs[x] is not y or back[y] is not x or not self._may_be_pair(x, y):
                return False
            if x is not y and x not in self.pairs and not _are_of_one_kind(x, y):
                return False
        self.pairs.update(pairs)
        self._back.update(back)
        return True

    def _may_be_pair(self, mine: Value, theirs: Value) -> bool:
        return self.pairs.get(mine, theirs) is theirs and self._back.get(theirs, mine) is mine


def _pairs(mine: Any, theirs: Any) -> list[tuple[Value, Value]] | None:
    """The values in operands that are the same but for these; None if anything else isn't."""
    if isinstance(mine, Value) and isinstance(theirs, Value):
        return [(mine, theirs)]
    if isinstance(mine, (list, tuple)) and isinstance(theirs, (list, tuple)):
        parts = list(map(_pairs, mine, theirs)) if len(mine) == len(theirs) else [None]
        return None if None in parts else [pair for part in parts for pair in part or ()]
    if isinstance(mine, Value) or isinstance(theirs, Value):
        return None
    return [] if same_constants(mine, theirs) else None


def _are_of_one_kind(mine: Value, theirs: Value) -> bool:
    """Whether values have the same type, and lie alike in memory."""
    if mine.type != theirs.type:
        return False
    a, b = mine.tensor_type, theirs.tensor_type
    if a is None or b is None:
        return a is b and mine.type != "Tensor"
    if a.sizes is None or b.sizes is None or len(a.sizes) != len(b.sizes) or a.dtype != b.dtype:
        return False
    return bool(_layout(a.sizes, a.strides) == _layout(b.sizes, b.strides))


def _layout(sizes: Any, strides: Any) -> Any:
    """The order of the axes in memory, and whether the elements lie there without gaps; None where it isn't known."""
    if strides is None or None in sizes or None in strides:
        return None
    order = sorted(range(len(sizes)), key=lambda axis: -strides[axis])
    last = [(sizes[axis] - 1) * strides[axis] for axis in range(len(sizes)) if sizes[axis]]
    return order, sum(last) + 1 == math.prod(sizes)
