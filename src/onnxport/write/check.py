"""Whether a model is valid ONNX, asked without reading its weights."""

from __future__ import annotations

import re

import onnx
import onnx_ir as ir

from onnxport.write import protobuf


def check_model(model: ir.Model) -> onnx.ModelProto:
    """`onnx.checker.check_model` on the model, its weights standing as inputs: none of them is copied.

    Returns the model without the weights of its main graph, for `write_model`. Raises `onnx.checker.ValidationError`.
    """
    proto = protobuf.skeleton(model)
    inputs = len(proto.graph.input)
    _take_weights_as_inputs(proto, model)
    data = protobuf.message_bytes(proto)
    onnx.checker.check_model(data if len(data) < (1 << 31) - 1024 else proto)
    del proto.graph.input[inputs:]
    return proto


def inference_error(model: ir.Model) -> tuple[str, str] | None:
    """The first node that ONNX's inference of types and sizes refuses, by name, and why."""
    proto = protobuf.skeleton(model)
    _take_weights_as_inputs(proto, model)
    try:
        onnx.shape_inference.infer_shapes(proto, check_type=True, strict_mode=True)
    except onnx.shape_inference.InferenceError as error:
        found = _REFUSED.search(str(error))
        return (found["name"], found["reason"].strip()) if found else None
    return None


_REFUSED = re.compile(r"node name: (?P<name>[^)]*)\): (?:\[\w+\] )?(?P<reason>.*)")


def _take_weights_as_inputs(proto: onnx.ModelProto, model: ir.Model) -> None:
    known = {value.name for value in proto.graph.input}
    for name, tensor in protobuf.initializers(model.graph):
        if name not in known:
            sizes = tensor.shape.numpy()
            proto.graph.input.append(onnx.helper.make_tensor_value_info(name, tensor.dtype.value, sizes))
