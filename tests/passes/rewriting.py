"""Hand-written graphs and what `optimize` makes of them: the operators, and equal results in onnxruntime."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir
import onnxruntime as ort

from onnxport.passes import optimize
from onnxport.write import to_bytes

NUMPY = {"float": np.float32, "double": np.float64, "float16": np.float16, "int64": np.int64}


def parsed(body: str, inputs: str, outputs: str, weights: dict[str, np.ndarray], opset: int = 20) -> ir.Model:
    """A model of text, whose initializers have these contents. Its outputs are of the inputs' type and of any size."""
    kind = inputs.partition("[")[0]
    results = ", ".join(f"{kind} {name}" for name in outputs.split())
    header = ", ".join(f"{_type(array)} {name}" for name, array in weights.items())
    initializers = f"<{header}>" if header else ""
    model = ir.from_onnx_text(
        f'<ir_version: 8, opset_import: ["" : {opset}]> g ({inputs}) => ({results}) {initializers} {{ {body} }}'
    )
    graph = model.graph
    for value in graph.outputs:
        value.shape = None
    values = {v.name: v for node in graph for v in node.inputs if v is not None} | dict(graph.initializers)
    for name, array in weights.items():
        value = values[name]
        value.const_value = ir.tensor(array, name=name)
        value.type, value.shape = ir.TensorType(value.const_value.dtype), ir.Shape(array.shape)
        graph.initializers[name] = value
    return model


def _type(array: np.ndarray) -> str:
    name = next(name for name, dtype in NUMPY.items() if dtype == array.dtype)
    return f"{name}[{','.join(map(str, array.shape))}]"


def run(model: ir.Model, feeds: dict[str, np.ndarray]) -> list[np.ndarray]:
    settings = ort.SessionOptions()
    settings.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(to_bytes(model), settings, providers=["CPUExecutionProvider"]).run(None, feeds)


def rewritten(model: ir.Model, feeds: dict[str, np.ndarray], *, tolerance: float = 1e-5) -> list[str]:
    """The operators after `optimize`, which has changed no result, no name of an output, and no size."""
    inferred(model)
    before = run(model, feeds)
    names = [v.name for v in model.graph.outputs]
    optimize(model)
    assert [v.name for v in model.graph.outputs] == names
    for a, b in zip(run(model, feeds), before, strict=True):
        assert a.shape == b.shape and a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)
    return [node.op_type for node in model.graph]


def inferred(model: ir.Model) -> None:
    """Write types and sizes onto the values, as exports have them."""
    import onnx

    proto = onnx.shape_inference.infer_shapes(onnx.load_from_string(to_bytes(model)), strict_mode=True, data_prop=True)
    found = {v.name: v.type.tensor_type for v in [*proto.graph.value_info, *proto.graph.output]}
    for node in model.graph:
        for value in node.outputs:
            if value.name in found:
                given = found[value.name]
                value.type = ir.TensorType(ir.DataType(given.elem_type))
                dims = [d.dim_value if d.HasField("dim_value") else d.dim_param or None for d in given.shape.dim]
                value.shape = ir.Shape(dims)
