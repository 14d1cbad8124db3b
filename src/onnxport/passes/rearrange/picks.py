"""All indices along an axis, taken one by one, become a Split.

    r = Transpose(Reshape(x))   # (n, t, 3 * h * d) to (3, n, h, t, d), say
    q, k, v = Gather(r, 0), Gather(r, 1), Gather(r, 2)
            ->  q, k, v = (Transpose(Reshape(y)) for y in Split(x))

Rules:
1. The axis is the outer part of an axis of x, and each of its indices is taken once.
2. What is in between goes nowhere else, and isn't an output of the graph.
3. The layout operators before and behind the picks together become fewer.
"""

from __future__ import annotations

from collections.abc import Sequence

import onnx_ir as ir

from ..graph import content
from .arrangement import Arrangement, Move
from .layout import Graph


def split_picks(graph: Graph) -> bool:
    """Rewrite in place; whether anything was."""
    picked = dict.fromkeys(n.inputs[0] for n in graph.graph if n.op_type == "Gather" and n.domain == "")
    return any([_split(graph, value) for value in picked if value is not None])


def _split(graph: Graph, value: ir.Value) -> bool:
    maker = value.producer()
    if maker is None or graph.move(maker) is None or value.is_graph_output():
        return False
    found = _picks(graph, value)
    chain = graph.upwards(maker)
    source = chain[0].inputs[0]
    sizes = graph.sizes(source)
    if found is None or sizes is None or source is None:
        return False
    axis, picks = found
    arrangement = Arrangement(sizes)
    if not all(arrangement.move(m) for n in chain if (m := graph.move(n)) is not None):
        return False
    taken = arrangement.taken(axis)
    if taken is None or not isinstance(taken[1], int):
        return False
    behind = [graph.downwards(pick) for pick in picks]
    plans = [_plan(graph, arrangement, axis, chain) for chain in behind]
    if any(plan is None for plan in plans):
        return False
    ready = [plan for plan in plans if plan is not None]
    if 1 + sum(map(len, ready)) >= len(chain) + sum(map(len, behind)):
        return False
    pieces = _pieces(graph, source, taken[0], [taken[1]] * len(picks), maker)  # all picks come after it
    for piece, plan, old in zip(pieces, ready, behind):
        graph.replace(old, plan, piece)
    return True


def _picks(graph: Graph, value: ir.Value) -> tuple[int, list[ir.Node]] | None:
    """The axis along which a value is taken apart, and who takes index 0, 1, ... of it."""
    sizes = graph.sizes(value)
    nodes = [use.node for use in value.uses()]
    if sizes is None or any(n.op_type != "Gather" or n.graph is not graph.graph or n.domain for n in nodes):
        return None
    axes = {n.attributes.get_int("axis", 0) % len(sizes) for n in nodes}
    indices = [content(n.inputs[1]) for n in nodes]
    if len(axes) != 1 or any(i is None or i.ndim for i in indices):
        return None
    (axis,) = axes
    size = sizes[axis]
    if not isinstance(size, int):
        return None
    by_index = {int(i) % size: n for i, n in zip(indices, nodes) if i is not None}
    if len(nodes) != size or len(by_index) != size or any(n.outputs[0].is_graph_output() for n in nodes):
        return None
    return axis, [by_index[i] for i in range(size)]


def _plan(graph: Graph, arrangement: Arrangement, axis: int, chain: Sequence[ir.Node]) -> list[Move] | None:
    """How the result of a pick and the layout operators behind it is made of a piece."""
    rest = arrangement.picked(axis)
    moves = [m for n in chain[1:] if (m := graph.move(n)) is not None]
    if rest is None or chain[-1].outputs[0].is_graph_output() or not all(rest.move(m) for m in moves):
        return None
    return graph.written(rest)


def _pieces(graph: Graph, source: ir.Value, axis: int, sizes: list[int], near: ir.Node) -> Sequence[ir.Value]:
    attributes, inputs = [ir.AttrInt64("axis", axis)], [source]
    if graph.model.opset >= 13:
        inputs.append(graph.model.constant(tuple(sizes)))
    else:
        attributes.append(ir.AttrInt64s("split", sizes))
    node = graph.node("Split", inputs, attributes, near, outputs=len(sizes))
    assert source.shape is not None
    shape = list(source.shape)
    for value, size in zip(node.outputs, sizes):
        shape[axis] = size
        value.type, value.shape = source.type, ir.Shape(shape)
    graph.graph.insert_before(near, node)
    return node.outputs


__all__ = ["split_picks"]
