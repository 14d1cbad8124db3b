"""What a program computes for nothing: it says nothing about whether its results depend on the example's sizes."""

from __future__ import annotations

from ...program import Program
from ..readings import is_pure, operands, values


def drop_dead(program: Program) -> None:
    """Take nodes out of a program whose results nobody uses, in place."""
    used = {*values(program.block.returns), *(r.value for r in program.readings if r.value is not None)}
    live = []
    for node in reversed(program.block.nodes):
        if not is_pure(node) or not used.isdisjoint(node.outputs):
            live.append(node)
            used.update(operands(node))
    if len(live) < len(program.block.nodes):
        program.block.nodes[:] = live[::-1]
