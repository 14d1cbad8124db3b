"""Small models made of weights alone, and readers that know nothing of the writer."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import onnx
import onnx_ir as ir
import torch


def weights_model(tensors: Mapping[str, ir.TensorProtocol]) -> ir.Model:
    """One initializer and one output ``<name>_out = Identity(name)`` for each tensor."""
    nodes, outputs, initializers = [], [], []
    for name, tensor in tensors.items():
        value = ir.Value(name=name, shape=ir.Shape(tensor.shape), type=ir.TensorType(tensor.dtype))
        value.const_value = tensor
        node = ir.node("Identity", [value], name=f"id_{name}")
        node.outputs[0].name = f"{name}_out"
        node.outputs[0].shape, node.outputs[0].type = value.shape, value.type
        initializers.append(value)
        nodes.append(node)
        outputs.append(node.outputs[0])
    graph = ir.Graph([], outputs, nodes=nodes, initializers=initializers, opset_imports={"": 25}, name="weights")
    return ir.Model(graph, ir_version=11, producer_name="test", metadata_props={"b": "2", "a": "1"})


def torch_weight(tensor: torch.Tensor) -> ir.TensorProtocol:
    return ir.tensor_adapters.TorchTensor(tensor)


def values(proto: onnx.ModelProto, base_dir: str = "") -> dict[str, np.ndarray]:
    return {t.name: onnx.numpy_helper.to_array(t, base_dir) for t in proto.graph.initializer}


def same(actual: np.ndarray, expected: np.ndarray) -> None:
    """Equal dtype, shape and bits."""
    assert actual.dtype == expected.dtype
    assert actual.shape == expected.shape
    if expected.dtype == object:
        assert actual.tolist() == expected.tolist()
    else:
        assert actual.tobytes() == np.ascontiguousarray(expected).tobytes()
