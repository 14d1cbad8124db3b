"""A bias is added behind the residual, where a LayerNormalization follows.

Before:  y = LayerNormalization(Add(r, Add(p, bias)), ...)        with r of the sizes of p
After:   y = LayerNormalization(Add(Add(p, r), bias), ...)

Rules:
1. All is float32 with three axes, which is what onnxruntime would fuse to SkipLayerNormalization.
2. Both sums are used once and aren't outputs of the graph. What is called bias is of other sizes than p.
On CPUs that fused operator takes four times as long as the three it stands for, and is less exact: a layer of 256 channels
with its product takes 0.6 of the time this way (`docs/opsets.md`).
"""

from __future__ import annotations

import onnx_ir as ir

from .graph import Index, in_order, made_by, only_use, replace, sizes


def add_bias_last(index: Index) -> bool:
    """Rewrite in place; whether anything was."""
    changed = [_rotate(node) for node in in_order(index, ["LayerNormalization"])]
    return any(changed)


def _rotate(norm: ir.Node) -> bool:
    total = made_by(norm.inputs[0], "Add")
    if total is None or only_use(total.outputs[0]) is not norm or not _is_fused(total):
        return False
    result = sizes(total.outputs[0])
    for residual, biased in (total.inputs, reversed(total.inputs)):
        inner = made_by(biased, "Add")
        if inner is None or biased is residual or only_use(inner.outputs[0]) is not total:
            continue
        for product, bias in (inner.inputs, reversed(inner.inputs)):
            if sizes(product) == result and sizes(bias) not in (None, result) and inner.graph is total.graph:
                _swap(total, inner, bias, residual)
                return True
    return False


def _swap(total: ir.Node, inner: ir.Node, bias: ir.Value | None, residual: ir.Value | None) -> None:
    inner.replace_input_with(inner.inputs.index(bias), residual)
    assert isinstance(inner.graph, ir.Graph)
    graph = inner.graph
    graph.remove(inner)  # what is added may be made behind it
    graph.insert_before(total, inner)
    replace(total, "Add", [inner.outputs[0], bias])


def _is_fused(total: ir.Node) -> bool:
    result = sizes(total.outputs[0])
    same = all(value is not None and sizes(value) == result for value in total.inputs)
    return same and result is not None and len(result) == 3 and total.outputs[0].dtype == ir.DataType.FLOAT
