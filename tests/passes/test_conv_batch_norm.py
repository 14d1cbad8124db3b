"""Fusing on hand-written graphs: equal results in onnxruntime, and no fusing where it would be wrong."""

import numpy as np
import onnx_ir as ir
import onnxruntime as ort
import pytest

from onnxport.passes import optimize
from onnxport.write import to_bytes

CONV = """
<ir_version: 8, opset_import: ["" : 17]>
g (float[n,4,6,6] x) => ({outputs})
<float[{w}] w, {bias} float[{c}] s, float[{c}] t, float[{c}] m, float[{c}] v>
{{
  c = {op}<group = {group}, kernel_shape = [3, 3]>(x, w{use})
  y = BatchNormalization<epsilon = 0.01>(c, s, t, m, v)
  {more}
}}
"""


def _model(op="Conv", w="8,4,3,3", c=8, group=1, bias=True, more="", outputs="float[n,c,h,w] y"):
    text = CONV.format(
        op=op,
        w=w,
        c=c,
        group=group,
        more=more,
        outputs=outputs,
        bias=f"float[{c}] b," if bias else "",
        use=", b" if bias else "",
    )
    model = ir.from_onnx_text(text)
    rng = np.random.default_rng(0)
    for name in ("w", "b", "s", "t", "m", "v"):
        value = next((v for v in _values(model) if v.name == name), None)
        if value is not None:
            content = rng.random(tuple(value.shape), dtype=np.float32) + 0.5
            value.const_value = ir.tensor(content, name=name)
            model.graph.initializers[name] = value
    return model


def _values(model):
    return [*model.graph.initializers.values(), *(v for n in model.graph for v in n.inputs if v is not None)]


def _run(model):
    session = ort.InferenceSession(to_bytes(model), providers=["CPUExecutionProvider"])
    x = np.random.default_rng(1).random((2, 4, 6, 6), dtype=np.float32)
    return session.run(None, {"x": x})


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(
    ("op", "w", "c", "group"),
    [("Conv", "8,4,3,3", 8, 1), ("Conv", "8,2,3,3", 8, 2), ("ConvTranspose", "4,5,3,3", 5, 1)],
)
def test_fuses(op, w, c, group, bias):
    model = _model(op, w, c, group, bias)
    before = _run(model)
    optimize(model)
    assert [n.op_type for n in model.graph] == [op]
    assert model.graph.outputs[0].name == "y"
    assert "w" in model.graph.initializers and "m" not in model.graph.initializers
    np.testing.assert_allclose(_run(model)[0], before[0], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "more", ["z = Relu(c)", "z = Conv(x, w)"], ids=["output_used_elsewhere", "weight_used_elsewhere"]
)
def test_leaves_what_is_shared(more):
    model = _model(more=more, outputs="float[n,c,h,w] y, float[n,c,h,w] z")
    before = _run(model)
    optimize(model)
    assert "BatchNormalization" in [n.op_type for n in model.graph]
    for a, b in zip(_run(model), before):
        np.testing.assert_allclose(a, b, rtol=1e-5)


def test_leaves_grouped_transposed():
    model = _model("ConvTranspose", "4,5,3,3", 10, 2)
    optimize(model)
    assert "BatchNormalization" in [n.op_type for n in model.graph]
