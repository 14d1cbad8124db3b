"""A product of floats with a dequantized matrix, for which onnxruntime rounds the floats to 8 bits, too.

Before:  y = MatMul(x, DequantizeLinear(W, scale, zero))                   maybe with a Transpose before the product
After:   y = MatMul(x, Mul(Sub(Cast(W), zero), scale))

onnxruntime 1.32 has one kernel for such a pair, which quantizes blocks of x at run time: errors of a few percent that
nobody asked for. What it is given instead is the same, and for a constant W it computes that once, when it loads the
model. Where x is dequantized as well, as in models quantized as a whole, the pair stays: kernels for integers take it as it
is written. This isn't about speed: it is done for models of all modes.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import onnx_ir as ir

from .graph import constant, content, drop_unused_initializers, made_by, put_before, replace, sizes

_LAYOUT = ("Flatten", "Identity", "Reshape", "Squeeze", "Transpose", "Unsqueeze")


def keep_from_rounding(graph: ir.Graph) -> None:
    """Rewrite in place, in bodies as well."""
    for node in [node for node in graph.all_nodes() if node.op_type == "DequantizeLinear" and not node.domain]:
        products = list(_products(node.outputs[0]))
        if products and not any(_is_dequantized(product.inputs[0]) for product in products):
            _spell_out(graph, node)
            drop_unused_initializers(graph)


def _products(value: ir.Value) -> Iterator[ir.Node]:
    """Products whose right operand is the value, or a Transpose of it."""
    for node, position in value.uses():
        if node.domain:
            continue
        if node.op_type in ("MatMul", "Gemm") and position == 1:
            yield node
        elif node.op_type in ("Identity", "Transpose"):
            yield from _products(node.outputs[0])


def _is_dequantized(value: ir.Value | None) -> bool:
    while (node := made_by(value, *_LAYOUT)) is not None:
        value = node.inputs[0]
    return made_by(value, "DequantizeLinear") is not None


def _spell_out(graph: ir.Graph, node: ir.Node) -> None:
    integers, scale, zero = (*node.inputs, None)[:3]
    dims, factor, shift = sizes(integers), content(scale), content(zero)
    if factor is None or (shift is None and zero is not None) or dims is None or "block_size" in node.attributes:
        return
    assert scale is not None and integers is not None and integers.shape is not None
    kind = None if scale.dtype is None else ir.TensorType(scale.dtype)
    shape, along = integers.shape, [1] * len(dims)
    if factor.ndim:
        along[node.attributes.get_int("axis", 1)] = factor.size
    to = ir.AttrInt64("to", int(scale.dtype or ir.DataType.FLOAT))
    x = put_before(node, "Cast", [integers], [to], type=kind, shape=shape)
    if shift is not None and np.any(shift):
        offset = constant(graph, f"{scale.name}_zero", shift.astype(factor.dtype).reshape(along if shift.ndim else ()))
        x = put_before(node, "Sub", [x, offset], type=kind, shape=shape)
    name = f"{node.name}/Mul"
    by = constant(graph, f"{scale.name}_factor", factor.reshape(along if factor.ndim else ()))
    replace(node, "Mul", [x, by]).name = name
