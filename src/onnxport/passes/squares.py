"""A square is a product, which onnxruntime computes in about half the time of a power.

Before:  y = Pow(x, 2)
After:   y = Mul(x, x)

Rules:
1. x is float32 or float64, and the exponent a constant with no more axes than x.
2. No ReduceMean uses the square: runtimes fuse norms by that form (see `rms_norm`).
"""

from __future__ import annotations

import onnx_ir as ir

from .graph import Index, content, in_order, replace


def multiply_squares(index: Index) -> bool:
    """Rewrite in place; whether anything was."""
    squares = [node for node in in_order(index, ["Pow"]) if _is_square(node)]
    for node in squares:
        replace(node, "Mul", [node.inputs[0], node.inputs[0]])
    return bool(squares)


def _is_square(node: ir.Node) -> bool:
    x, exponent = node.inputs[0], content(node.inputs[1])
    if x is None or x.shape is None or exponent is None or x.dtype not in (ir.DataType.FLOAT, ir.DataType.DOUBLE):
        return False
    plain = exponent.size == 1 and exponent.ndim <= len(x.shape) and exponent.item() == 2
    return plain and not any(use.node.op_type == "ReduceMean" for use in node.outputs[0].uses())
