"""A squeeze that is done only where an axis has one element, as the axis it drops.

The rank of `x.squeeze(0)` hangs on the size of the axis, and behind `if x.shape[0] == 1` that is known. What a program does
there is held against the model at other sizes, so that it would show if it isn't known.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from ...program import Block, Node, TensorType, Value
from ...program.schema import parse

SQUEEZES = ("aten::squeeze", "aten::squeeze.dim", "aten::squeeze.dims")
_SELECT = parse("aten::select.int(Tensor(a) self, int dim, int index) -> Tensor(a)")


@dataclasses.dataclass(frozen=True, slots=True)
class Squeezed:
    """A tensor that was squeezed, and the axes that were dropped, the last one first."""

    known: TensorType
    axes: tuple[int, ...]


def squeezed(recording: Block) -> dict[Value, Squeezed]:
    """The squeezes of a recording that dropped axes, by what they gave."""
    lists = {node.outputs[0]: node.inputs for node in recording.nodes if node.op == "prim::ListConstruct"}
    squeezes = [node for node in recording.nodes if node.op in SQUEEZES]
    return {node.outputs[0]: found for node in squeezes for found in _dropped(node, lists)}


def _dropped(node: Node, lists: Mapping[Any, list[Any]]) -> Iterator[Squeezed]:
    x = node.inputs[0]
    known = x.tensor_type if isinstance(x, Value) else None
    if known is None or not known.sizes:
        return
    rank = len(known.sizes)
    axes: object = node.inputs[1] if len(node.inputs) > 1 else list(range(rank))
    axes = axes if isinstance(axes, list) else lists.get(axes, [axes])
    ints = [axis for axis in axes if isinstance(axis, int)]
    dropped = {axis % rank for axis in ints if known.sizes[axis] == 1}
    if dropped and len(ints) == len(axes):
        yield Squeezed(known, tuple(sorted(dropped, reverse=True)))


def dropping(node: Node, recorded: Mapping[Value, Squeezed]) -> list[Node]:
    """The node; if it is a squeeze, one that drops the axes that it dropped when it was recorded (see `squeezed`)."""
    found = recorded.get(node.outputs[0]) if node.op in SQUEEZES else None
    if found is None:
        return [node]
    made: list[Node] = []
    x, left = node.inputs[0], list(found.known.sizes or ())
    for axis in found.axes:
        del left[axis]
        given = Value(f"{node.outputs[0].name}.{axis}", "Tensor", TensorType(found.known.dtype, tuple(left)))
        select = Node(
            _SELECT.full_name,
            [x, axis, 0],
            [given],
            schema=_SELECT,
            scope=node.scope,
            location=lambda: node.location,
        )
        made.append(select)
        x = given
    made[-1].outputs = node.outputs
    return made
