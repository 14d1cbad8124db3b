"""Slices that cut a tensor to pieces along an axis become one Split, those one after the other along other axes one Slice.

Before:  a = Slice(x, 0, 32);  b = Slice(x, 32, end)        along an axis of size 64
After:   a, b = Split(x, [32, 32])

Before:  y = Slice(Slice(x, 0, 5, axes=1), 0, 7, axes=2)
After:   y = Slice(x, [0, 0], [5, 7], axes=[1, 2])

Rules of the first, from opset 13 on, where the lengths are an input:
1. The slices go along one axis each, of a size known at export, in steps of 1.
2. Side by side they are the whole axis, and none of them is empty. The same tensor may have other users.
Rules of the second, from opset 10 on:
1. All bounds are constants, and no axis is cut twice.
2. Nothing else uses what is between.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import onnx_ir as ir

from .graph import Index, constant, content, in_order, made_by, only_use, sweep

Piece = tuple[int, int, int, ir.Node]  # start, end, place among all slices, and the Slice


def split_slices(graph: ir.Graph, index: Index) -> bool:
    """Rewrite in place; whether anything was."""
    if graph.opset_imports.get("", 0) < 13:
        return False
    cuts: dict[tuple[ir.Value, int], list[Piece]] = defaultdict(list)
    for place, node in enumerate(in_order(index, ["Slice"])):
        found = _piece(node)
        if found is not None:
            value, axis, start, end = found
            cuts[value, axis].append((start, end, place, node))
    changed = False
    for (value, axis), pieces in cuts.items():
        chosen = _partition(sorted(pieces, key=lambda piece: piece[:3]), value, axis)
        if len(chosen) > 1:
            _replace(graph, value, axis, chosen)
            changed = True
    return changed


def merge_slices(graph: ir.Graph, index: Index) -> bool:
    """Rewrite in place; whether anything was."""
    changed = [_merge(graph, node) for node in in_order(index, ["Slice"])]
    return any(changed)


def _merge(graph: ir.Graph, outer: ir.Node) -> bool:
    value = outer.inputs[0]
    inner = made_by(value, "Slice")
    if value is None or inner is None or only_use(value) is None:
        return False
    first, second = _bounds(inner), _bounds(outer)
    if first is None or second is None or set(first[2]) & set(second[2]):
        return False
    names = ("starts", "ends", "axes", "steps")
    both = [np.array([*a, *b], np.int64) for a, b in zip(first, second)]
    if (both[3] == 1).all():
        del both[3]
    inputs = [constant(graph, name, array) for name, array in zip(names, both)]
    outer.resize_inputs(1 + len(inputs))
    for i, bound in enumerate(inputs):
        outer.replace_input_with(1 + i, bound)
    outer.replace_input_with(0, inner.inputs[0])
    sweep(inner)
    return True


def _bounds(node: ir.Node) -> list[list[int]] | None:
    """Starts, ends, axes and steps of a slice, where all are constants."""
    value = node.inputs[0]
    arrays = [content(v) for v in node.inputs[1:]]
    if value is None or value.shape is None or len(arrays) < 3 or any(a is None for a in arrays):
        return None
    starts, ends, axes, *steps = ([int(n) for n in a.reshape(-1)] for a in arrays if a is not None)
    return [starts, ends, [axis % len(value.shape) for axis in axes], *(steps or [[1] * len(axes)])]


def _piece(node: ir.Node) -> tuple[ir.Value, int, int, int] | None:
    """What is cut: the tensor, its axis, from where to where."""
    value = node.inputs[0]
    if value is None or value.shape is None or len(node.inputs) < 4:
        return None
    numbers = [content(v) for v in node.inputs[1:]]
    if any(n is None or n.size != 1 for n in numbers):
        return None
    start, end, axis, *step = (int(n.reshape(-1)[0]) for n in numbers if n is not None)
    axis %= len(value.shape)
    size = value.shape[axis]
    if step not in ([], [1]) or not isinstance(size, int):
        return None
    start, end, _ = slice(start, end).indices(size)
    return (value, axis, start, end) if start < end else None


def _partition(pieces: list[Piece], value: ir.Value, axis: int) -> list[Piece]:
    """Pieces that follow on each other over the whole axis; none if there are no such."""
    assert value.shape is not None
    chosen: list[Piece] = []
    at = 0
    for piece in pieces:
        if piece[0] == at:
            chosen.append(piece)
            at = piece[1]
        elif piece[0] < at:
            return []  # some overlap: which belong together is not looked for
    return chosen if at == value.shape[axis] else []


def _replace(graph: ir.Graph, value: ir.Value, axis: int, pieces: list[Piece]) -> None:
    lengths = np.array([end - start for start, end, *_ in pieces], np.int64)
    first = min(pieces, key=lambda piece: piece[2])[3]
    name = (first.name or "").replace("Slice", "Split")
    inputs = [value, constant(graph, "lengths", lengths)]
    new = ir.Node("", "Split", inputs, [ir.AttrInt64("axis", axis)], num_outputs=len(pieces), name=name)
    graph.insert_before(first, new)
    for output, (*_, node) in zip(new.outputs, pieces):
        old = node.outputs[0]
        output.name, output.type, output.shape = old.name, old.type, old.shape
        ir.convenience.replace_all_uses_with(old, output, replace_graph_outputs=True)
        graph.remove(node, safe=True)
