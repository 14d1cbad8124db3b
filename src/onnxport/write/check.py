"""Whether a model is valid ONNX, asked without reading its weights."""

from __future__ import annotations

import onnx
import onnx_ir as ir

from onnxport.write import protobuf


def check_model(model: ir.Model) -> onnx.ModelProto:
    """`onnx.checker.check_model` on the model, its weights standing as inputs: none of them is copied.

    Returns the model without the weights of its main graph, for `write_model`. Raises `onnx.checker.ValidationError`.
    """
    proto = protobuf.skeleton(model)
    inputs = len(proto.graph.input)
    known = {value.name for value in proto.graph.input}
    for name, tensor in protobuf.initializers(model.graph):
        if name not in known:
            sizes = tensor.shape.numpy()
            proto.graph.input.append(onnx.helper.make_tensor_value_info(name, tensor.dtype.value, sizes))
    data = protobuf.message_bytes(proto)
    onnx.checker.check_model(data if len(data) < (1 << 31) - 1024 else proto)
    del proto.graph.input[inputs:]
    return proto
