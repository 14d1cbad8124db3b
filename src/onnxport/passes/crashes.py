"""What onnxruntime fails at when it loads a model. This isn't about speed: it is done for models of all modes.

A product with one matrix behind a Transpose and a Cast:

Before:  y = MatMul(Cast(Transpose(x)), W)              with W of two axes
After:   y = MatMul(Cast(Transpose(x)), Unsqueeze(W))

onnxruntime 1.32 takes such a Transpose, of batches into rows, into the product, and fails where there is a Cast between
them: one of the model, or its own around the product of float16. It leaves products of batches alone.

A Resize of some axes behind a Transpose:

Before:  y = Resize(Transpose(x), sizes)                with the attribute `axes`
After:   y = Resize(t, ScatterElements(Shape(t), axes, sizes))      with t = Transpose(x)

It moves the Transpose behind the Resize where another one follows, as around images whose channels are last, and takes the
sizes for those of all axes. Cubic it can't shrink images then: `Reshape(t, Shape(t))` keeps it from moving the Transpose.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx_ir as ir

from .graph import constant, put_before, sizes

# No Transpose is moved through these.
_OPAQUE = ("Conv", "ConvTranspose", "MatMul", "Gemm", "Loop", "If", "Scan")


def keep_from_crashing(graph: ir.Graph) -> None:
    """Rewrite in place, in bodies as well."""
    kinds = {node.op_type for node in graph.all_nodes()}
    if "Transpose" in kinds and "MatMul" in kinds:
        _products(graph)
    if "Resize" in kinds and any(_resizes_some_axes(node) or _is_cubic(node) for node in graph.all_nodes()):
        _resizes(graph)


def _products(graph: ir.Graph) -> None:
    transposes = [node for node in graph.all_nodes() if _is(node, "Transpose")]
    for transpose in transposes:
        perm, result = list(transpose.attributes.get_ints("perm", ())), transpose.outputs[0]
        if len(perm) > 2 and perm[:-2] == list(range(1, len(perm) - 1)):
            for product, position in dict.fromkeys(_behind(result, result.dtype == ir.DataType.FLOAT16)):
                other = sizes(product.inputs[1 - position])
                if other is not None and len(other) == 2:
                    _unsqueeze(graph, product, 1 - position, len(perm) - 2)


def _resizes_some_axes(node: ir.Node) -> bool:
    return _is(node, "Resize") and "axes" in node.attributes and len(node.inputs) == 4


def _is_cubic(node: ir.Node) -> bool:
    return _is(node, "Resize") and node.attributes.get_string("mode") == "cubic"


def _resizes(graph: ir.Graph) -> None:
    behind: set[ir.Value | None] = set()  # a Transpose
    for node in list(graph.all_nodes()):
        if _is(node, "Transpose") or (node.op_type not in _OPAQUE and not behind.isdisjoint(node.inputs)):
            behind.update(node.outputs)
        if (_resizes_some_axes(node) or _is_cubic(node)) and node.inputs[0] in behind:
            _keep_behind(graph, node)


def _keep_behind(graph: ir.Graph, resize: ir.Node) -> None:
    x = resize.inputs[0]
    assert x is not None and x.shape is not None and x.type is not None
    like_sizes: Any = {"type": ir.TensorType(ir.DataType.INT64), "shape": ir.Shape([x.shape.rank()])}
    now = put_before(resize, "Shape", [x], **like_sizes)
    some = resize.inputs[3] if _resizes_some_axes(resize) else None
    if some is not None:
        axes = constant(graph, "constant", np.array(resize.attributes.pop("axes").as_ints()))
        resize.replace_input_with(3, put_before(resize, "ScatterElements", [now, axes, some], **like_sizes))
    if _is_cubic(resize):
        resize.replace_input_with(0, put_before(resize, "Reshape", [x, now], type=x.type, shape=x.shape))


def _behind(value: ir.Value, cast: bool) -> Iterator[tuple[ir.Node, int]]:
    """Products of a value that is cast, and which operand it is."""
    for node, position in value.uses():
        if _is(node, "MatMul") and cast:
            yield node, position
        elif _is(node, "Cast") or _is(node, "Identity"):
            yield from _behind(node.outputs[0], cast or node.op_type == "Cast")


def _is(node: ir.Node, op_type: str) -> bool:
    return not node.domain and node.op_type == op_type


def _unsqueeze(graph: ir.Graph, product: ir.Node, position: int, count: int) -> None:
    matrix = product.inputs[position]
    assert matrix is not None and matrix.shape is not None
    axes = constant(graph, "constant", np.arange(count)) if graph.opset_imports[""] >= 13 else None
    attributes = [] if axes is not None else [ir.AttrInt64s("axes", range(count))]
    inputs = [matrix] if axes is None else [matrix, axes]
    shape = ir.Shape([*[1] * count, *matrix.shape])
    product.replace_input_with(
        position, put_before(product, "Unsqueeze", inputs, attributes, type=matrix.type, shape=shape)
    )
