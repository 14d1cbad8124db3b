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
from typing import Any

import numpy as np
import onnx_ir as ir

from .graph import constant


@dataclass(slots=True)
class _Norm:
    """A quotient x / sqrt(mean(x * x) + epsilon) in the graph, and the nodes behind it."""

    x: ir.Value
    epsilon: float
    square: ir.Node
    mean: ir.Node
    root: ir.Node
    quotient: ir.Node


def fuse_rms_norm(model: ir.Model) -> bool:
    """Rewrite in place; whether anything was."""
    opset = model.graph.opset_imports.get("", 0)
    roots = [node for node in model.graph if node.op_type == "Sqrt" and node.domain == ""]
    changed = [_rewrite(model.graph, norm, opset) for root in roots for norm in _norms(root)]
    return any(changed)


def _norms(root: ir.Node) -> Iterable[_Norm]:
    total = _made_by(root.inputs[0], "Add")
    if total is None:
        return
    for value, number in (total.inputs, reversed(total.inputs)):
        mean, epsilon = _made_by(value, "ReduceMean"), _number(number)
        if mean is None or epsilon is None:
            continue
        square = _made_by(mean.inputs[0], "Pow", "Mul")
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
            found += [
                node for node in products if node.op_type == "Mul" and set(node.inputs) == {x, use.node.outputs[0]}
            ]
    return found


def _rewrite(graph: ir.Graph, norm: _Norm, opset: int) -> bool:
    quotient = norm.quotient.outputs[0]
    scaled = _weighted(norm)
    if opset >= 23 and scaled is not None:
        weight = next(v for v in scaled.inputs if v is not None and v is not quotient)
        attributes = [ir.AttrInt64("axis", -1), ir.AttrFloat32("epsilon", norm.epsilon)]
        _replace(graph, scaled, "RMSNormalization", [norm.x, weight], attributes)
        _sweep(graph, scaled)
        return True
    if norm.quotient.op_type == "Div" and norm.square.op_type == "Pow":
        return False
    if norm.square.op_type == "Mul" and norm.square.graph is graph:  # else another quotient changed it
        two = constant(graph, "two", np.array(2, np.float32))
        _replace(graph, norm.square, "Pow", [norm.x, two], [])
    if norm.quotient.op_type == "Mul":
        old = norm.quotient
        _replace(graph, old, "Div", [norm.x, norm.root.outputs[0]], [])
        _sweep(graph, old)
    return True


def _weighted(norm: _Norm) -> ir.Node | None:
    """The product of the quotient and a vector along the last axis."""
    quotient = norm.quotient.outputs[0]
    uses = list(quotient.uses())
    if len(uses) != 1 or quotient.is_graph_output() or uses[0].node.op_type != "Mul":
        return None
    product = uses[0].node
    if product.graph is not norm.quotient.graph:
        return None
    weight = next((v for v in product.inputs if v is not quotient), None)
    if weight is None or weight.shape is None or norm.x.shape is None or weight.dtype != ir.DataType.FLOAT:
        return None
    last = norm.x.shape[-1]
    return product if isinstance(last, int) and list(weight.shape) == [last] else None


def _replace(graph: ir.Graph, old: ir.Node, op_type: str, inputs: list[ir.Value], attributes: list[ir.Attr]) -> ir.Node:
    """Put a node in the place of another; the old one stays behind without inputs that anyone needs."""
    new = ir.Node("", op_type, inputs, attributes, num_outputs=1, name=(old.name or "").replace(old.op_type, op_type))
    before, after = old.outputs[0], new.outputs[0]
    after.name, after.type, after.shape = before.name, before.type, before.shape
    graph.insert_before(old, new)
    ir.convenience.replace_all_uses_with(before, after, replace_graph_outputs=True)
    if op_type == "Pow":
        graph.remove(old, safe=True)
    return new


def _sweep(graph: ir.Graph, node: ir.Node) -> None:
    """Remove a node that nobody uses any more, and those that only it used."""
    if node.graph is not graph or any(v.uses() or v.is_graph_output() for v in node.outputs):
        return
    sources = [v.producer() for v in node.inputs if v is not None]
    graph.remove(node, safe=True)
    for source in sources:
        if source is not None:
            _sweep(graph, source)


# -- questions ----------------------------------------------------------------------------------------


def _made_by(value: ir.Value | None, *op_types: str) -> ir.Node | None:
    node = None if value is None else value.producer()
    return node if node is not None and node.domain == "" and node.op_type in op_types else None


def _number(value: ir.Value | None) -> float | None:
    """The one element of a constant."""
    if value is None or value.const_value is None or not value.is_initializer() or value.is_graph_input():
        return None
    content = value.const_value.numpy()
    return float(content.reshape(-1)[0]) if content.size == 1 else None


def _squares(node: ir.Node) -> bool:
    return _number(node.inputs[1]) == 2 if node.op_type == "Pow" else node.inputs[0] is node.inputs[1]


def _over_last_axis(mean: ir.Node, x: ir.Value) -> bool:
    if x.shape is None or mean.attributes.get_int("keepdims", 1) != 1:
        return False
    axes: Any = mean.attributes.get_ints("axes", None)
    if axes is None and len(mean.inputs) > 1 and mean.inputs[1] is not None:
        content = mean.inputs[1].const_value
        axes = None if content is None else content.numpy().tolist()
    return axes is not None and [axis % len(x.shape) for axis in axes] == [len(x.shape) - 1]


__all__ = ["fuse_rms_norm"]
