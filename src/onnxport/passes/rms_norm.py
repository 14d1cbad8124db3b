"""Root mean square norms as language models write them become what onnxruntime runs in one kernel.

Before:  s = ReduceMean(x * x);  i = Reciprocal(Sqrt(s + epsilon));  y = x * i * weight
After:   y = RMSNormalization(x, weight)                                       from opset 23 on
         s = ReduceMean(Pow(x, 2));  y = x / Sqrt(s + epsilon) * weight        below, and without a weight

Rules:
1. x is float32, its square is Pow(x, 2) or Mul(x, x), and the mean goes over the last axis and keeps it.
2. epsilon is a constant. The quotient is Mul by a Reciprocal, or Div.
3. The weight is a vector along the last axis; the quotient goes to it alone, and isn't an output of the graph.
onnxruntime fuses the second form itself, but not the first; it is about three times as fast (docs/opsets.md).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import onnx_ir as ir

from .graph import Index, constant, content, in_order, ints, made_by, only_use, replace


@dataclass(slots=True)
class _Norm:
    """A quotient x / sqrt(mean(x * x) + epsilon) in the graph, and the nodes behind it."""

    x: ir.Value
    epsilon: float
    square: ir.Node
    mean: ir.Node
    root: ir.Node
    quotient: ir.Node


def fuse_rms_norm(graph: ir.Graph, index: Index) -> bool:
    """Rewrite in place; whether anything was."""
    changed = [_rewrite(graph, norm) for root in in_order(index, ["Sqrt"]) for norm in _norms(root)]
    return any(changed)


def _norms(root: ir.Node) -> Iterable[_Norm]:
    total = made_by(root.inputs[0], "Add")
    if total is None:
        return
    for value, number in (total.inputs, reversed(total.inputs)):
        mean, epsilon = made_by(value, "ReduceMean"), _number(number)
        if mean is None or epsilon is None:
            continue
        square = made_by(mean.inputs[0], "Pow", "Mul")
        x = None if square is None else square.inputs[0]
        if square is None or x is None or x.dtype != ir.DataType.FLOAT or not _squares(square):
            continue
        if _over_last_axis(mean, x):
            yield from (_Norm(x, epsilon, square, mean, root, quotient) for quotient in _quotients(root, x))


def _quotients(root: ir.Node, x: ir.Value) -> list[ir.Node]:
    found = []
    for use in list(root.outputs[0].uses()):
        if use.node.graph is not root.graph:  # in the body of an If or Loop
            continue
        if use.node.op_type == "Div" and list(use.node.inputs) == [x, root.outputs[0]]:
            found.append(use.node)
        elif use.node.op_type == "Reciprocal":
            products = [u.node for u in use.node.outputs[0].uses() if u.node.graph is root.graph]
            found += [n for n in products if n.op_type == "Mul" and set(n.inputs) == {x, use.node.outputs[0]}]
    return found


def _rewrite(graph: ir.Graph, norm: _Norm) -> bool:
    quotient = norm.quotient.outputs[0]
    scaled = _weighted(norm)
    if scaled is not None and graph.opset_imports.get("", 0) >= 23:
        weight = next(v for v in scaled.inputs if v is not quotient)
        attributes = [ir.AttrInt64("axis", -1), ir.AttrFloat32("epsilon", norm.epsilon)]
        replace(scaled, "RMSNormalization", [norm.x, weight], attributes)
        return True
    if norm.quotient.op_type == "Div" and norm.square.op_type == "Pow":
        return False
    if norm.square.op_type == "Mul" and norm.square.graph is graph:  # else another quotient changed it
        replace(norm.square, "Pow", [norm.x, constant(graph, "two", np.array(2, np.float32))])
    if norm.quotient.op_type == "Mul":
        replace(norm.quotient, "Div", [norm.x, norm.root.outputs[0]])
    return True


def _weighted(norm: _Norm) -> ir.Node | None:
    """The product of the quotient and a vector along the last axis."""
    quotient = norm.quotient.outputs[0]
    product = only_use(quotient)
    if product is None or product.op_type != "Mul" or product.graph is not norm.quotient.graph:
        return None
    weight = next((v for v in product.inputs if v is not quotient), None)
    if weight is None or weight.shape is None or norm.x.shape is None or weight.dtype != ir.DataType.FLOAT:
        return None
    last = norm.x.shape[-1]
    return product if isinstance(last, int) and list(weight.shape) == [last] else None


# -- questions ----------------------------------------------------------------------------------------


def _number(value: ir.Value | None) -> float | None:
    """The one element of a constant."""
    array = content(value)
    return float(array.reshape(-1)[0]) if array is not None and array.size == 1 else None


def _squares(node: ir.Node) -> bool:
    return _number(node.inputs[1]) == 2 if node.op_type == "Pow" else node.inputs[0] is node.inputs[1]


def _over_last_axis(mean: ir.Node, x: ir.Value) -> bool:
    if x.shape is None or mean.attributes.get_int("keepdims", 1) != 1:
        return False
    axes = ints(mean, "axes", 1)
    return axes is not None and [axis % len(x.shape) for axis in axes] == [len(x.shape) - 1]
