"""What a program computes for nothing: it says nothing about whether its results depend on the example's sizes."""

from __future__ import annotations

from typing import Any

from ...program import Block, Program, Value
from ..watch.readings import is_pure, operands, values

_COMPARISONS = {f"aten::{name}" for name in ("eq", "ne", "lt", "le", "gt", "ge")}


def drop_dead(program: Program) -> None:
    """Take nodes out of a program whose results nobody uses, in place; ints that are made of sizes again are the sizes. Sizes
    of which nothing was asked but how they compare are asked on some ways only, where `if a and b` asks both."""
    _forward_sizes(program)
    used = {*values(program.block.returns), *(r.value for r in program.readings if r.value is not None)}
    compared: set[Value] = set()
    taken: set[Value] = set()  # Python may have made numbers of them
    live = []
    for node in reversed(program.block.nodes):
        only_asked = node.op == "prim::NumToTensor" and node.outputs[0] in compared and node.outputs[0] not in taken
        if not used.isdisjoint(node.outputs) or not (is_pure(node) or only_asked):
            live.append(node)
            used.update(operands(node))
        elif not only_asked:
            (compared if node.op.partition(".")[0] in _COMPARISONS else taken).update(operands(node))
    if len(live) < len(program.block.nodes):
        program.block.nodes[:] = live[::-1]


def _forward_sizes(program: Program) -> None:
    """Where a size is used as an int the tracer turns it into a tensor and back, right behind the size, wherever it is used."""
    tensors: dict[Value, Any] = {}
    instead: dict[Value, Any] = {}
    for node in program.block.walk():
        if node.op == "prim::NumToTensor" and isinstance(node.inputs[0], Value) and node.inputs[0].type == "int":
            tensors[node.outputs[0]] = node.inputs[0]
        elif node.op in ("aten::Int.Tensor", "aten::ScalarImplicit") and node.inputs[0] in tensors:
            instead[node.outputs[0]] = tensors[node.inputs[0]]
        elif node.op.partition(".")[0].endswith("_") and isinstance(node.inputs[0], Value):  # it writes
            tensors.pop(node.inputs[0], None)

    def forwarded(operand: Any) -> Any:
        if isinstance(operand, Value):
            return instead.get(operand, operand)
        return [forwarded(x) for x in operand] if isinstance(operand, list) else operand

    def forward(block: Block) -> None:
        for node in block.nodes:
            node.inputs[:] = map(forwarded, node.inputs)
            for inner in node.blocks:
                forward(inner)
        block.returns[:] = map(forwarded, block.returns)

    if instead:
        forward(program.block)
