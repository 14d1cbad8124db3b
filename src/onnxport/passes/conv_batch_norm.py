"""Batch norm after a convolution becomes part of the convolution.

Before:  y = BatchNormalization(Conv(x, W, b), scale, B, mean, var)
After:   y = Conv(x, W * k, (b - mean) * k + B)    with k = scale / sqrt(var + epsilon), one for each output channel

Rules:
1. The convolution's output goes nowhere else, and isn't an output of the graph.
2. Weight and bias are initializers that nothing else uses, so that no weight is stored twice.
3. Statistics and affine parameters are initializers (inference form).
The new weight keeps the name of the old.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir

Array = np.ndarray[Any, Any]


def fuse_conv_batch_norm(model: ir.Model) -> bool:
    """Fuse in place; whether anything was fused."""
    nodes = [node for node in model.graph if node.op_type == "BatchNormalization" and node.domain == ""]
    fused = [_fuse(model.graph, node) for node in nodes]
    return any(fused)


def _fuse(graph: ir.Graph, norm: ir.Node) -> bool:
    source = norm.inputs[0]
    conv = None if source is None else source.producer()
    if source is None or conv is None or conv.op_type not in ("Conv", "ConvTranspose") or len(norm.outputs) > 1:
        return False
    group = conv.attributes.get_int("group", 1)
    if conv.op_type == "ConvTranspose" and group != 1:
        return False
    weight = conv.inputs[1]
    bias = conv.inputs[2] if len(conv.inputs) > 2 else None
    statistics = [_content(value) for value in norm.inputs[1:5]]
    single = [v for v in (weight, bias) if v is not None]
    if len(source.uses()) != 1 or source.is_graph_output() or any(s is None for s in statistics):
        return False
    if any(_content(v) is None or len(v.uses()) != 1 or v.is_graph_output() for v in single):
        return False
    scale, shift, mean, variance = (np.asarray(s, dtype=np.float64) for s in statistics)
    factor = scale / np.sqrt(variance + norm.attributes.get_float("epsilon", 1e-5))
    assert weight is not None
    old = _content(weight)
    assert old is not None
    channels = (-1,) + (1,) * (old.ndim - 1) if conv.op_type == "Conv" else (1, -1) + (1,) * (old.ndim - 2)
    # Element by element in the weight's own type: a large weight must not be held in double precision.
    weight.const_value = _tensor(old * factor.reshape(channels).astype(old.dtype), weight)
    before = 0.0 if bias is None else np.asarray(_content(bias), dtype=np.float64)
    after = ((before - mean) * factor + shift).astype(old.dtype)
    _set_bias(graph, conv, bias, after)
    output = norm.outputs[0]
    conv.outputs[0].type, conv.outputs[0].shape = output.type, output.shape
    ir.convenience.replace_nodes_and_values(graph, conv, [norm], [], [output], [conv.outputs[0]])
    return True


def _set_bias(graph: ir.Graph, conv: ir.Node, bias: ir.Value | None, content: Array) -> None:
    weight = conv.inputs[1]
    assert weight is not None
    if bias is None:
        stem = (weight.name or "weight").removesuffix("weight").rstrip(".")
        name = f"{stem}.bias" if stem else "bias"
        while name in graph.initializers:
            name += "_"
        bias = ir.Value(name=name, type=weight.type, shape=ir.Shape(content.shape))
        bias.const_value = _tensor(content, bias)
        graph.register_initializer(bias)
        if len(conv.inputs) > 2:
            conv.replace_input_with(2, bias)
        else:
            conv.resize_inputs(3)
            conv.replace_input_with(2, bias)
    else:
        bias.const_value = _tensor(content, bias)


def _tensor(content: Array, value: ir.Value) -> ir.TensorProtocol:
    assert value.type is not None
    return ir.Tensor(np.ascontiguousarray(content), dtype=value.type.dtype, name=value.name)


def _content(value: ir.Value | None) -> Array | None:
    """The content of an initializer that is not an input of the graph too."""
    if value is None or value.const_value is None or not value.is_initializer() or value.is_graph_input():
        return None
    return value.const_value.numpy()
