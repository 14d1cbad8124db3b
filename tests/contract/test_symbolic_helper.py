"""`symbolic_helper`, ours and torch's own: what helpers answer and add, types, modules of opsets, quantized arguments."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
import torch
import torch.onnx
from onnx.reference import ReferenceEvaluator

import onnxport
from onnxport import symbolic_helper
from onnxport.errors import OnnxExporterError, SymbolicValueError
from tests.contract.harness import OPS, OPSETS, Call, X, exported, operators, run, seen

HELPERS = pytest.mark.parametrize("helper", [symbolic_helper, torch.onnx.symbolic_helper], ids=["ours", "torchs"])


@HELPERS
def test_parse_args_letters(register, helper):
    found = []

    @helper.parse_args("v", "is", "b", "s", "fs" if helper is symbolic_helper else "v", "v", "i")
    def symbolic(g, a, s, flag, mode, f, w, n):
        found.append((s, flag, mode, f if isinstance(f, list) else f.toIValue(), helper._is_none(w), n))
        return g.op("Add", a, a)

    register("contract_ops::everything", symbolic)
    exported(Call(lambda a: OPS.everything(a, [1, 2], True, "m", [0.5], None, 7)), X)
    assert found == [([1, 2], True, "m", [0.5], True, 7)]


@HELPERS
def test_parse_args_none_and_t(register, helper):
    @helper.parse_args("v", "v", "t", "v", "v", "none", "none")
    def good(g, a, s, flag, mode, f, w, n):
        assert w is None or w.node().mustBeNone()
        return g.op("Mul", a, g.op("Constant", value_t=flag.float() + 1))

    register("contract_ops::everything", good)
    got = run(exported(Call(lambda a: OPS.everything(a, [1], True, "m", [0.5])), X), X.numpy())[0]
    np.testing.assert_allclose(got, 2 * X.numpy())


@HELPERS
def test_parse_args_refuses_what_is_known_only_at_run_time(register, helper):
    @helper.parse_args("v", "i")
    def symbolic(g, a, i):
        return g.op("Gather", a, i)

    register("contract_ops::pick", symbolic)
    with pytest.raises(
        (SymbolicValueError, torch.onnx.errors.SymbolicValueError, RuntimeError), match="constant|Constant"
    ):
        exported(Call(OPS.pick), (X, torch.tensor(1)))


@HELPERS
def test_maybe_get_const(register, helper):
    found = []

    def symbolic(g, a, i):
        found.append(helper._maybe_get_const(i, "i"))
        return g.op("Gather", a, i, axis_i=0)

    register("contract_ops::pick", symbolic)
    exported(Call(OPS.pick), (X, torch.tensor(1)))
    exported(Call(lambda x: OPS.pick(x, torch.tensor(1))), (X,))
    assert isinstance(found[0], torch._C.Value)
    assert found[1] == 1


@HELPERS
@pytest.mark.parametrize("opset", OPSETS)
def test_helpers_that_add_nodes_fit_the_opset(register, helper, opset, monkeypatch):
    def symbolic(g, x):
        y = helper._unsqueeze_helper(g, x, [0])
        y = helper._squeeze_helper(g, y, [0])
        y = helper._slice_helper(g, y, axes=[1], starts=[0], ends=[2])
        y = helper._reducesum_helper(g, y, axes_i=[1], keepdims_i=1)
        return helper._reshape_helper(g, y, [-1])

    register("aten::relu", symbolic)
    got = run(exported(Call(torch.relu), X, opset_version=opset), X.numpy())[0]
    np.testing.assert_allclose(got, X[:, :2].sum(1).numpy(), rtol=1e-5)


@HELPERS
def test_questions(register, helper):
    g, x, s, *_ = seen(register, "contract_ops::everything", lambda a: OPS.everything(a, [1, 2], True, "m", [0.5]), X)
    assert helper._is_value(x)
    assert not helper._is_value(5)
    assert helper._is_tensor(x)
    assert helper._is_list(s)
    assert helper._is_packed_list(s)
    assert helper._is_scalar_list(s)
    assert not helper._is_tensor_list(s)
    assert [v.toIValue() for v in helper._unpack_list(s)] == [1, 2]
    assert helper._is_fp(x)
    assert not helper._is_bool(x)
    assert helper._get_tensor_rank(x) == 2
    assert helper._get_tensor_sizes(x) == [2, 3]
    assert helper._is_constant(s.node().inputsAt(0))
    assert not helper._is_constant(x)


def test_refusals_are_errors_of_the_page(register):
    g, x = seen(register, "aten::relu", torch.relu, X)
    for refuse in (
        lambda *v: symbolic_helper._unimplemented("relu", "because", *v),
        lambda *v: symbolic_helper._onnx_unsupported("relu", *v),
        lambda *v: symbolic_helper._onnx_opset_unsupported("relu", 9, 11, *v),
        lambda *v: symbolic_helper._onnx_opset_unsupported_detailed("relu", 9, 11, "because", *v),
    ):
        with pytest.raises(OnnxExporterError, match="relu"):
            refuse()
        with pytest.raises(SymbolicValueError, match="relu") as caught:
            refuse(x)
        assert caught.value.value is x


def test_tables_of_types():
    assert symbolic_helper.cast_pytorch_to_onnx["Float"] == onnx.TensorProto.FLOAT
    assert symbolic_helper.cast_pytorch_to_onnx["Long"] == onnx.TensorProto.INT64
    assert symbolic_helper.scalar_type_to_onnx[7] == onnx.TensorProto.DOUBLE
    assert symbolic_helper.scalar_type_to_pytorch_type[5] is torch.float16
    assert symbolic_helper.pytorch_name_to_type["Byte"] is torch.uint8
    assert symbolic_helper.scalar_name_to_pytorch["int64_t"] == "Long"


def test_jit_scalar_type(register):
    jit = onnxport.JitScalarType
    assert jit.from_name("Float") is jit.from_name("float") is jit.from_dtype(torch.float32) is jit.FLOAT
    assert jit.from_onnx_type(onnx.TensorProto.INT64) is jit.INT64
    assert (jit.HALF.scalar_name(), jit.INT64.torch_name(), jit.BOOL.dtype()) == ("Half", "int64_t", torch.bool)
    assert jit.DOUBLE.onnx_type() == onnx.TensorProto.DOUBLE
    assert jit.from_dtype(None) is jit.UNDEFINED
    assert not jit.UNDEFINED.onnx_compatible()
    _, x = seen(register, "aten::relu", torch.relu, X.half())
    assert jit.from_value(x) is jit.HALF
    assert jit.from_value(5, jit.INT64) is jit.INT64
    for wrong in (lambda: jit.from_name("Floatt"), lambda: jit.from_name(None)):
        with pytest.raises(ValueError):
            wrong()


@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.int64, torch.bool, torch.bfloat16, torch.complex64, torch.uint8]
)
def test_jit_scalar_type_numbers_are_those_of_torchscript(dtype):
    from torch.onnx._internal.torchscript_exporter._type_utils import JitScalarType

    assert int(onnxport.JitScalarType.from_dtype(dtype)) == int(JitScalarType.from_dtype(dtype))
    assert onnxport.JitScalarType.from_dtype(dtype).scalar_name() == JitScalarType.from_dtype(dtype).scalar_name()


# -- calling other symbolic functions ---------------------------------------------------------------


@pytest.mark.parametrize("opset", OPSETS)
def test_symbolic_opset_modules_are_views_of_the_registry(register, opset):
    from onnxport.symbolic_opset11 import relu

    from onnxport import symbolic_opset9

    def symbolic(g, a, b, x, y):
        scaled = symbolic_opset9.mul(g, b, x)
        added = symbolic_opset9.add(g, symbolic_opset9.add(g, a, scaled), y)
        return relu(g, symbolic_opset9.transpose(g, symbolic_opset9.reshape(g, added, [3, 2]), 0, 1))

    register("contract_ops::foo_forward", symbolic)
    proto = exported(Call(lambda a, b: OPS.foo_forward(a, b, 0.5, 3)), (X, X), opset_version=opset)
    expected = (X + X * 0.5 + 3).reshape(3, 2).T.relu()
    np.testing.assert_allclose(run(proto, X.numpy(), X.numpy())[0], expected.numpy(), rtol=1e-5)


def _made(g, content):
    return g.op("Constant", value_t=torch.tensor(content))


# By name: what a symbolic function does with values where the operator takes numbers, and what torch does.
OF_NUMBERS = {
    "one_place": (lambda ops, g, x: ops.select(g, x, 1, _made(g, 2)), lambda x: x[:, 2]),
    "list_of_one_place": (
        lambda ops, g, x: ops.squeeze(g, ops.select(g, x, 1, _made(g, [2])), 1),
        lambda x: x[:, 2],
    ),
    "list_of_places": (lambda ops, g, x: ops.select(g, x, 1, _made(g, [0, 2])), lambda x: x[:, [0, 2]]),
    "place_at_run_time": (
        lambda ops, g, x: ops.select(g, x, 1, ops.select(g, g.op("Shape", x), 0, 0)),
        lambda x: x[:, x.shape[0]],
    ),
    "sizes": (lambda ops, g, x: ops.reshape(g, x, _made(g, [3, -1])), lambda x: x.reshape(3, -1)),
    "sizes_at_run_time": (lambda ops, g, x: ops.ones(g, g.op("Shape", x), 6), lambda x: torch.ones_like(x)),
    "axes_and_bool": (
        lambda ops, g, x: ops.sum(g, x, _made(g, [1]), _made(g, True)),
        lambda x: x.sum([1], keepdim=True),
    ),
    "floats": (lambda ops, g, x: ops.clamp(g, x, _made(g, 0.0), _made(g, 0.5)), lambda x: x.clamp(0, 0.5)),
}


@pytest.mark.parametrize("kind", OF_NUMBERS)
@pytest.mark.parametrize("opset", [9, 11, 13, 18])
def test_symbolic_opset_modules_take_values_for_numbers(register, kind, opset):
    from onnxport import symbolic_opset11

    symbolic, expected = OF_NUMBERS[kind]
    register("contract_ops::foo_forward", lambda g, a, b, x, y: symbolic(symbolic_opset11, g, a))
    proto = exported(
        Call(lambda a, b: OPS.foo_forward(a, b, 0.5, 3)),
        (X, X),
        input_names=["a", "b"],
        dynamic_axes={"a": {0: "n"}, "b": {0: "n"}},
        opset_version=opset,
    )
    for x in (X, torch.randn(1, 3)):
        np.testing.assert_allclose(run(proto, x.numpy(), x.numpy())[0], expected(x).numpy(), rtol=1e-5)


def test_symbolic_opset_modules_know_what_has_a_conversion():
    from onnxport import symbolic_opset17

    assert "relu" in dir(symbolic_opset17)
    assert not hasattr(symbolic_opset17, "no_such_operator")
    with pytest.raises(ImportError):
        from onnxport import symbolic_opset99  # noqa: F401


# -- quantised arguments --------------------------------------------------------------------------


@pytest.mark.parametrize("opset", [n for n in OPSETS if n >= 10])  # QuantizeLinear came with opset 10
def test_quantized_args_dequantise_and_quantise_again(register, opset):
    @symbolic_helper.quantized_args(True)
    def inner(g, x):
        return g.op("Relu", x)

    def symbolic(g, x):
        scale, zero = g.op("Constant", value_t=torch.tensor(0.1)), g.op("Constant", value_t=torch.tensor(128).byte())
        packed = symbolic_helper.quantize_helper(g, x, scale, zero)
        result = inner(g, packed)
        assert symbolic_helper._is_tuple_construct(result)
        return symbolic_helper.dequantize_helper(g, result)[0]

    register("aten::relu", symbolic)
    proto = exported(Call(torch.relu), X, opset_version=opset)
    assert operators(proto) == ["QuantizeLinear", "DequantizeLinear", "Relu", "QuantizeLinear", "DequantizeLinear"]
    expected = torch.quantize_per_tensor(X, 0.1, 128, torch.quint8).dequantize().relu()
    if opset < 28:  # onnxruntime 1.32 has no kernels of these at 28
        got = run(proto, X.numpy())[0]
    else:
        got = ReferenceEvaluator(proto).run(None, {proto.graph.input[0].name: X.numpy()})[0]
    np.testing.assert_allclose(got, expected.numpy(), atol=1e-5)


def test_quantized_tensors_of_the_model_are_tuples_to_symbolic_functions(register):
    @symbolic_helper.quantized_args(True)
    def symbolic(g, x):
        return g.op("Relu", x)

    register("aten::relu", symbolic)

    def forward(x):
        q = torch.quantize_per_tensor(x, 0.1, 128, torch.quint8)
        return q.relu().dequantize()

    proto = exported(Call(forward), X)
    assert operators(proto) == ["QuantizeLinear", "DequantizeLinear", "Relu", "QuantizeLinear", "DequantizeLinear"]
    np.testing.assert_allclose(run(proto, X.numpy())[0], forward(X).numpy(), atol=1e-5)


def test_quantized_args_leave_plain_arguments_alone(register):
    @symbolic_helper.quantized_args(True, False)
    @symbolic_helper.parse_args("v", "f")
    def symbolic(g, x, alpha):
        return g.op("LeakyRelu", x, alpha_f=alpha)

    register("aten::leaky_relu", symbolic)
    assert operators(exported(torch.nn.LeakyReLU(0.2), X)) == ["LeakyRelu"]


def test_quantized_args_scale_and_zero_point_may_be_given(register):
    @symbolic_helper.quantized_args(True, scale=1.0 / 256.0, zero_point=0)
    def inner(g, x):
        return g.op("Sigmoid", x)

    def symbolic(g, x):
        packed = symbolic_helper.quantize_helper(
            g, x, g.op("Constant", value_t=torch.tensor(0.1)), g.op("Constant", value_t=torch.tensor(128).byte())
        )
        return symbolic_helper.dequantize_helper(g, inner(g, packed))[0]

    register("aten::sigmoid", symbolic)
    got = run(exported(Call(torch.sigmoid), X), X.numpy())[0]
    quantised = torch.quantize_per_tensor(X, 0.1, 128, torch.quint8).dequantize().sigmoid()
    np.testing.assert_allclose(got, quantised.numpy(), atol=1.0 / 256)


def test_the_helpers_of_the_contract_are_there():
    names = (
        "parse_args quantized_args _maybe_get_const _get_const _is_none _is_constant _is_value _is_tensor "
        "_get_tensor_sizes _get_tensor_rank _get_tensor_dim_size _unimplemented _onnx_unsupported _parse_arg "
        "_maybe_get_scalar _unpack_list _squeeze_helper _unsqueeze_helper _reducesum_helper _slice_helper "
        "cast_pytorch_to_onnx scalar_type_to_onnx"
    )
    assert all(hasattr(symbolic_helper, name) for name in names.split())
