"""Ints that a model takes out of tensors while it is traced: `int(index.max()) + 1`, `counts.tolist()`.

They are constants of the trace. What they were read from is kept: a copy of the tensor as it was is returned beside the
model's outputs. Traced again with other values, it shows which constants of the program follow which reading, so that they
can be computed from the tensor instead (see `liveness`). So is how much there is of a tensor where values decide that:
`for i in mask.nonzero()`, `len(torch.unique(x)) - 1`.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable
from typing import Any

import torch

from ...program import Program, Value
from ...program.ir import Reading
from ..graph import inputs_of

# So many elements of a list, lists, and ints of one source line are followed.
_ELEMENTS, _LISTS, _INTS = 4096, 256, 64
INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)
ROWS = "a number of rows"
TAKES_LISTS = frozenset({torch.Tensor.tolist, torch.Tensor.numpy, torch.Tensor.__array__})
TAKES_INTS = frozenset({torch.Tensor.item, torch.Tensor.__int__, torch.Tensor.__index__, *TAKES_LISTS})


class Readings:
    """The ints that one run takes."""

    def __init__(self) -> None:
        self.made: list[tuple[torch.Tensor, Reading]] = []
        self._keys: dict[Any, str] = {}  # and the line of the first
        self._lines: dict[str, set[str]] = {}

    def clear(self) -> None:
        self.made.clear()
        self._keys.clear()
        self._lines.clear()

    def lines(self, place: str) -> set[str]:
        """The lines at which what a line takes was taken first."""
        return self._lines.get(place, set())

    def take(
        self,
        function: Callable[..., Any],
        tensor: torch.Tensor,
        result: Any,
        place: str,
        what: str,
        *,
        of_sizes: bool = False,
    ) -> bool:
        """Keep the tensor, if it can be followed."""
        if function is torch.Tensor.__int__ and tensor.is_floating_point():
            tensor = tensor.to(torch.int64)  # rounded as Python rounds it
        if function not in TAKES_INTS or tensor.dtype not in INTEGERS or not 0 < tensor.numel() <= _ELEMENTS:
            return False
        key = _origin(tensor)
        self._lines.setdefault(place, set()).add(self._keys.get(key, place))
        if key not in self._keys:  # `index.max()` is read by each layer
            self._keys[key] = place
            content = result if isinstance(result, int) else [int(x) for x in _flat(result)]
            self.made.append((tensor.clone(), Reading(None, content, place, what, of_sizes)))
        return True

    def count(self, size: Any, place: str, what: str) -> None:
        """Keep a number made of sizes, a tensor while they are traced, of which it isn't known yet whether it hangs on values."""
        key = _origin(size)
        if place and size.dtype == torch.int64 and key not in self._keys:
            self._keys[key] = place
            self.made.append((size.clone(), Reading(None, int(size), place, what, counts=True)))

    def tensors(self) -> list[torch.Tensor]:
        """What the trace has to return; nothing of lines that read very often, as a loop over rows does."""
        ints = Counter(reading.place for _, reading in self.made if isinstance(reading.content, int))
        often = {place for place, count in ints.items() if count > _INTS}
        self.made = [(t, r) for t, r in self.made if r.place not in often][:_LISTS]
        return [tensor for tensor, _ in self.made]

    def settle(self, program: Program) -> None:
        """Take the copies from the program's returns."""
        if self.made:
            values = program.block.returns[-len(self.made) :]
            del program.block.returns[-len(self.made) :]
            program.readings = [dataclasses.replace(r, value=v) for v, (_, r) in zip(values, self.made)]


def _flat(result: Any) -> list[Any]:
    if isinstance(result, list):
        return [x for part in result for x in _flat(part)]
    return [result] if isinstance(result, int) else [int(x) for x in result.reshape(-1)]


def _origin(tensor: torch.Tensor) -> Any:
    """The operation that made a tensor, and of what: equal for two that are made alike of one."""
    value: Any = torch._C._get_value_trace(tensor)  # type: ignore[attr-defined]
    node = value.node()
    if node.kind() == "prim::NumToTensor":  # a size
        node = node.inputsAt(0).node()
    if node.kind() == "prim::Param":
        return value.debugName()
    operands = [_constant(x) for x in inputs_of(node)]
    return node.kind(), value.offset(), *operands, tuple(tensor.shape)


def _constant(value: Any) -> Any:
    constant = value.node().kind() == "prim::Constant"
    return repr(value.toIValue()) if constant else value.debugName()


def drop_unread(program: Program) -> None:
    """Take copies that nothing reads out of the program, and what was computed for them alone."""
    block = program.block
    producers = {output: node for node in block.nodes for output in node.outputs}
    pending = [producers[r.value] for r in program.readings if r.value in producers]
    dropped: set[int] = set()
    while pending:
        reads = Counter[Any]()
        for node in block.nodes:
            if id(node) not in dropped:
                reads.update(operands(node))
        reads.update(values(block.returns))
        unread = [n for n in pending if id(n) not in dropped and is_pure(n) and not any(reads[o] for o in n.outputs)]
        dropped.update(map(id, unread))
        pending = [producers[v] for n in unread for v in operands(n) if v in producers]
    if dropped:
        block.nodes[:] = [node for node in block.nodes if id(node) not in dropped]


def is_pure(node: Any) -> bool:
    return node.schema is not None and not node.schema.mutates and not node.blocks


def operands(node: Any) -> list[Any]:
    inner = [v for block in node.blocks for v in block.reads()]
    return [*values(node.inputs), *inner]


def values(operands: list[Any]) -> list[Any]:
    found = []
    for operand in operands:
        if isinstance(operand, (list, tuple)):
            found += values(list(operand))
        elif isinstance(operand, Value):
            found.append(operand)
    return found
