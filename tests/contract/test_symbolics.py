"""Symbolic functions: registration, what `g` and values answer, and `symbolic_helper`; ours and torch's own."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
import torch
import torch.onnx
from onnx.reference import ReferenceEvaluator

import onnxport
from onnxport import register_custom_op_symbolic, symbolic_helper, unregister_custom_op_symbolic, utils
from onnxport.errors import OnnxExporterError, OnnxExporterWarning, SymbolicValueError, UnsupportedOperatorError
from tests.contract.test_export_parameters import OPSETS, X, exported, operators, run, shape

LIBRARY = torch.library.Library("contract_ops", "DEF")
LIBRARY.define("foo_forward(Tensor a, Tensor b, float attr1, int attr2) -> Tensor")
LIBRARY.define("everything(Tensor a, int[] s, bool flag, str mode, float[] f, Tensor? w=None, int? n=None) -> Tensor")
LIBRARY.define("two(Tensor a) -> (Tensor, Tensor)")
LIBRARY.define("scale_(Tensor(a!) self, float by) -> Tensor(a!)")
LIBRARY.define("pick(Tensor a, Tensor i) -> Tensor")
LIBRARY.impl("foo_forward", lambda a, b, x, y: a + b * x + y, "CPU")
LIBRARY.impl("everything", lambda a, s, flag, mode, f, w=None, n=None: a * 2, "CPU")
LIBRARY.impl("two", lambda a: (a + 1, a.sum(1)), "CPU")
LIBRARY.impl("scale_", lambda a, by: a.mul_(by), "CPU")
LIBRARY.impl("pick", lambda a, i: a[i], "CPU")
OPS = torch.ops.contract_ops


class Call(torch.nn.Module):
    def __init__(self, function) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(*args)


@pytest.fixture
def register():
    """Register for one test."""
    done = []

    def add(name: str, function: Any, opset: int = 7) -> None:
        register_custom_op_symbolic(name, function, opset)
        done.append((name, opset))

    yield add
    for name, opset in done:
        unregister_custom_op_symbolic(name, opset)


def seen(register, name: str, call: Any, *args: Any, **options: Any) -> tuple[Any, ...]:
    """The values that a symbolic function for this operator is given."""
    found = []

    def symbolic(g, *values):
        found.append((g, *values))
        return g.op("Identity", values[0])

    register(name, symbolic)
    exported(Call(call), args, **options)
    return found[0]


# -- registration ---------------------------------------------------------------------------------


@pytest.mark.parametrize("helper", [symbolic_helper, torch.onnx.symbolic_helper], ids=["ours", "torchs"])
@pytest.mark.parametrize("opset", OPSETS)
def test_register_the_example_of_the_page(register, helper, opset):
    @helper.parse_args("v", "v", "f", "i")
    def symbolic_foo_forward(g, input1, input2, attr1, attr2):
        return g.op("custom_domain::Foo", input1, input2, attr1_f=attr1, attr2_i=attr2)

    register("contract_ops::foo_forward", symbolic_foo_forward, 9)
    model = Call(lambda a, b: OPS.foo_forward(a, b, 0.5, 3))
    proto = exported(model, (X, X), opset_version=opset, custom_opsets={"custom_domain": 2})
    (node,) = proto.graph.node
    assert (node.domain, node.op_type) == ("custom_domain", "Foo")
    assert {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute} == {"attr1": 0.5, "attr2": 3}
    assert {o.domain: o.version for o in proto.opset_import} == {"": opset, "custom_domain": 2}
    assert shape(proto.graph.output[0]) == [2, 3]


def test_register_a_domain_that_is_not_listed_gets_version_1(register):
    register("contract_ops::two", lambda g, x: g.op("mine::Two", x, outputs=2))
    proto = exported(Call(OPS.two), X, custom_opsets={"unused": 3})
    assert {o.domain: o.version for o in proto.opset_import} == {"": 14, "mine": 1}
    assert [shape(o) for o in proto.graph.output] == [[2, 3], [2]]


def test_register_overrides_a_built_in_op_its_in_place_form_and_blocks_of_scripts(register):
    register("aten::relu", lambda g, x: g.op("Max", x, g.op("Constant", value_t=torch.tensor(0.0))))

    def forward(x):
        y = x + 1
        y.relu_()
        return y.relu()

    assert operators(exported(Call(forward), X)) == ["Add", "Max", "Max"]

    @torch.jit.script
    def scripted(x: torch.Tensor, flag: torch.Tensor):
        if bool(flag):
            y = x.relu()
        else:
            y = x - 1
        return y

    proto = exported(scripted, (X, torch.tensor(True)))
    (branch,) = [n for n in proto.graph.node if n.op_type == "If"]
    assert "Max" in [n.op_type for n in branch.attribute[0].g.node]


def test_register_holds_from_that_opset_on_until_a_later_registration(register):
    register("aten::relu", lambda g, x: g.op("Abs", x), 11)
    register("aten::relu", lambda g, x: g.op("Neg", x), 16)
    found = {n: operators(exported(Call(torch.relu), X, opset_version=n))[0] for n in (9, 11, 13, 15, 16, 20, 28)}
    assert found == {9: "Relu", 11: "Abs", 13: "Abs", 15: "Abs", 16: "Neg", 20: "Neg", 28: "Neg"}


@pytest.mark.parametrize("module, used", [("quantized_decomposed.onnx", False), ("mine", True)])
def test_what_a_package_registers_for_its_own_operators_gives_way(register, module, used):
    import torch.ao.quantization.fx._decomposed  # its operators

    def symbolic(g, x, scale, zero_point, low, high, dtype):
        return g.op("Cast", x, to_i=3)

    symbolic.__module__ = module
    register("quantized_decomposed::quantize_per_tensor", symbolic)
    quantize = torch.ops.quantized_decomposed.quantize_per_tensor
    proto = exported(Call(lambda x: quantize(x, 0.5, 0, -128, 127, torch.int8)), X)
    assert (operators(proto) == ["Cast"]) == used


def test_unregister_restores_what_was_there():
    register_custom_op_symbolic("aten::relu", lambda g, x: g.op("Abs", x), 9)
    assert operators(exported(Call(torch.relu), X)) == ["Abs"]
    unregister_custom_op_symbolic("aten::relu", 9)
    assert operators(exported(Call(torch.relu), X)) == ["Relu"]
    unregister_custom_op_symbolic("aten::relu", 9)  # nothing there: nothing to do


def test_a_name_without_a_namespace_is_one_of_aten():
    register_custom_op_symbolic("::relu", lambda g, x: g.op("Abs", x), 9)
    assert operators(exported(Call(torch.relu), X)) == ["Abs"]
    unregister_custom_op_symbolic("::relu", 9)
    assert operators(exported(Call(torch.relu), X)) == ["Relu"]


def test_an_opset_beyond_the_newest_is_warned_of():
    with pytest.warns(OnnxExporterWarning, match="opset 99 is never used"):
        register_custom_op_symbolic("aten::relu", lambda g, x: g.op("Abs", x), 99)
    unregister_custom_op_symbolic("aten::relu", 99)


@pytest.mark.parametrize("name", ["relu", "::", "aten::", "aten::re lu", "onnx::Relu", 5, None])
def test_register_refuses_bad_names(name):
    for function in (
        lambda: register_custom_op_symbolic(name, print, 9),
        lambda: unregister_custom_op_symbolic(name, 9),
    ):
        with pytest.raises(ValueError, match="namespace::operator|operator of ONNX"):
            function()


@pytest.mark.parametrize("function, opset, error", [(5, 9, TypeError), (print, "9", TypeError), (print, 0, ValueError)])
def test_register_refuses_bad_functions_and_opsets(function, opset, error):
    with pytest.raises(error):
        register_custom_op_symbolic("a::b", function, opset)


def test_register_an_operator_that_writes_its_argument(register):
    register("contract_ops::scale_", lambda g, x, by: g.op("Mul", x, g.op("Constant", value_t=torch.tensor(3.0))))

    def forward(x):
        y = x + 1
        view = y[0]
        OPS.scale_(y, 3.0)
        return view

    got = run(exported(Call(forward), X), X.numpy())[0]
    np.testing.assert_allclose(got, ((X + 1) * 3)[0].numpy(), rtol=1e-5)


def test_a_symbolic_function_may_take_fewer_arguments_than_the_schema_has_defaults(register):
    register("aten::elu", lambda g, input, alpha, inplace=False: g.op("Elu", input, alpha_f=alpha))
    assert operators(exported(torch.nn.ELU(), X)) == ["Elu"]


def test_none_returned_means_that_it_cannot_be_converted(register):
    register("contract_ops::two", lambda g, x: None)
    with pytest.raises(UnsupportedOperatorError, match="contract_ops::two"):
        exported(Call(OPS.two), X)


def test_a_wrong_number_of_results_is_an_error(register):
    register("contract_ops::two", lambda g, x: g.op("Identity", x))
    with pytest.raises(OnnxExporterError, match="returned 1 value"):
        exported(Call(OPS.two), X)


# -- g --------------------------------------------------------------------------------------------


def test_g_op_attributes_by_the_letter_at_their_end(register):
    def symbolic(g, x, y):
        return g.op(
            "d::All", x, None, y,
            i_i=1, is_i=[1, 2], f_f=0.5, fs_f=[0.5, 1.0], s_s="a", ss_s=["a", "b"], t_t=torch.ones(2), z_z=torch.ones(1),
            flag_i=True, none_s=None,
        )  # fmt: skip

    register("aten::mul", symbolic)
    (node,) = exported(Call(torch.mul), (X, X)).graph.node
    assert list(node.input) == ["args.0", "", "args.1"]
    found = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
    tensors = {k: onnx.numpy_helper.to_array(found.pop(k)) for k in ("t", "z")}
    assert found == {"i": 1, "is": [1, 2], "f": 0.5, "fs": [0.5, 1.0], "s": b"a", "ss": [b"a", b"b"], "flag": 1}
    assert tensors["t"].tolist() == [1, 1]
    assert tensors["z"].shape == ()


def test_g_op_refuses_an_attribute_without_a_letter(register):
    register("aten::relu", lambda g, x: g.op("Elu", x, alpha=1.0))
    with pytest.raises(ValueError, match="'alpha' doesn't say its type"):
        exported(Call(torch.relu), X)


def test_g_op_several_outputs(register):
    def symbolic(g, x):
        values, indices = g.op("TopK", x, g.op("Constant", value_t=torch.tensor([1])), axis_i=1, outputs=2)
        return values, g.op("Cast", indices, to_i=symbolic_helper.cast_pytorch_to_onnx["Float"])

    register("contract_ops::two", symbolic)
    values, indices = run(exported(Call(OPS.two), X), X.numpy())
    np.testing.assert_allclose(values, X.max(1, keepdim=True)[0].numpy())
    np.testing.assert_allclose(indices, X.argmax(1, keepdim=True).float().numpy())


def test_g_op_subgraph_attributes(register):
    def symbolic(g, x):
        def branch(op):
            out = onnx.helper.make_tensor_value_info("out", 1, None)
            const = onnx.helper.make_tensor("c", 1, [1], [op])
            return onnx.helper.make_graph([onnx.helper.make_node("Constant", [], ["out"], value=const)], "b", [], [out])

        condition = g.op("Constant", value_t=torch.tensor(True))
        return g.op("If", condition, then_branch_g=branch(5.0), else_branch_g=branch(6.0))

    register("aten::relu", symbolic)
    assert run(exported(Call(torch.relu), torch.ones(1)), np.ones(1, np.float32))[0].tolist() == [5.0]


def test_g_op_bodies_that_see_values_around_them(register):
    def symbolic(g, x):
        positive = g.op("Greater", g.op("ReduceSum", x, keepdims_i=0), g.op("Constant", value_t=torch.tensor(0.0)))
        result, (then, other), _ = utils.add_op_with_blocks(g, "If", positive, n_blocks=2)
        utils._add_output_to_block(then.block, then.op("Add", x, x))
        utils._add_output_to_block(other.block, x)
        return g.op("Neg", result)

    register("aten::relu", symbolic)
    proto = exported(Call(torch.relu), X)
    for x in (X.abs(), -X.abs()):
        expected = -2 * x if x.sum() > 0 else -x
        np.testing.assert_allclose(run(proto, x.numpy())[0], expected.numpy())


def test_g_at_asks_for_an_aten_operator(register):
    register("aten::relu", lambda g, x: g.at("relu", x, overload_name="default"))
    (node,) = exported(Call(torch.relu), X).graph.node
    assert (node.domain, node.op_type) == ("org.pytorch.aten", "ATen")
    assert {a.name: a.s for a in node.attribute} == {"operator": b"relu", "overload_name": b"default"}


@pytest.mark.parametrize("opset", OPSETS)
def test_g_opset(register, opset):
    g, *_ = seen(register, "aten::relu", torch.relu, X, opset_version=opset)
    assert g.opset == opset
    assert symbolic_helper._export_onnx_opset_version == 14  # outside of an export: the default


@pytest.mark.parametrize("value", [1, 2.5, [1, 2], [1.5], True, torch.tensor([[1, 2]]), torch.tensor(1.5).half()])
def test_g_op_constant(register, value):
    letter = "t" if isinstance(value, torch.Tensor) else "f" if "." in str(value) else "i"
    kept = []

    def symbolic(g, x):
        constant = g.op("Constant", **{f"value_{letter}": value})
        kept.append((constant.node().kind(), constant.type().scalarType(), constant.toIValue()))
        return g.op("Identity", g.op("Cast", constant, to_i=1))

    register("aten::relu", symbolic)
    got = run(exported(Call(torch.relu), X), X.numpy())[0]
    expected = torch.as_tensor(value)
    assert kept[0][0] == "onnx::Constant"
    assert torch.equal(torch.as_tensor(kept[0][2]).float(), expected.float())
    np.testing.assert_allclose(got, expected.float().numpy())


# -- values ---------------------------------------------------------------------------------------


def test_value_type_of_a_tensor(register):
    _, x = seen(register, "aten::relu", torch.relu, X.half())
    assert x.type().sizes() == [2, 3]
    assert (x.type().dim(), x.type().dtype(), x.type().scalarType(), x.type().kind()) == (
        2, torch.float16, "Half", "TensorType",
    )  # fmt: skip
    assert x.type().with_sizes([4, None]).sizes() == [4, None]
    assert x.type().isSubtypeOf(torch._C.TensorType.get())
    assert x.isCompleteTensor()
    assert not x.requires_grad()
    assert x.debugName() == "args.0"
    assert x.node().kind() == "prim::Param"
    assert isinstance(x, torch._C.Value)
    assert isinstance(x.type(), torch._C.TensorType)
    assert isinstance(x.node(), torch._C.Node)


def test_value_sizes_known_only_at_run_time_are_none(register):
    _, x = seen(register, "aten::relu", torch.relu, X, dynamic_axes={"args.0": {0: "n"}})
    assert x.type().sizes() == [None, 3]
    assert not x.isCompleteTensor()
    assert symbolic_helper._get_tensor_sizes(x, allow_nonstatic=False) is None
    assert symbolic_helper._get_tensor_dim_size(x, 1) == 3


def test_value_set_type_gives_the_type_of_a_custom_op(register):
    def symbolic(g, x):
        inner = g.op("d::Inner", x)
        inner.setType(x.type().with_sizes([x.type().sizes()[0], 7]))
        assert g.op("Relu", inner).type().sizes() == [None, 7]
        return g.op("Relu", inner)

    register("aten::relu", symbolic)
    proto = exported(Call(torch.relu), X, dynamic_axes={"args.0": {0: "n"}})
    assert shape(proto.graph.output[0]) == ["n", 7]


def test_value_node_of_what_was_made_before(register):
    def symbolic(g, x, *_):
        node = x.node()
        assert node.kind() == "onnx::Concat"
        assert [v.node().kind() for v in node.inputs()] == ["onnx::Neg", "prim::Param"]
        assert node.inputsAt(1).debugName() == "args.0"
        assert (node.i("axis"), node["axis"], node.kindOf("axis"), node.attributeNames()) == (1, 1, "i", ["axis"])
        assert node.hasAttribute("axis")
        assert not node.mustBeNone()
        assert node.output() == x
        assert (node.inputsSize(), node.outputsSize()) == (2, 1)
        return g.op("Relu", x)

    register("aten::relu", symbolic)
    assert operators(exported(Call(lambda x: torch.cat([-x, x], 1).relu()), X)) == ["Neg", "Concat", "Relu"]


def test_value_node_of_python_constants(register):
    _, a, s, flag, mode, f, w, n = seen(
        register, "contract_ops::everything", lambda a: OPS.everything(a, [1, 2], True, "m", [0.5], None, 7), X
    )
    assert s.node().kind() == "prim::ListConstruct"
    assert [v.node().t("value").item() for v in s.node().inputs()] == [1, 2]
    assert flag.node().kind() == mode.node().kind() == n.node().kind() == "onnx::Constant"
    assert (n.node().i("value"), n.node()["value"].item(), mode.node().s("value")) == (7, 7, "m")
    assert w.node().mustBeNone()
    assert w.node().kind() == "prim::Constant"
    assert (s.type().kind(), s.type().getElementType().kind()) == ("ListType", "IntType")
    assert f.toIValue() == [0.5]


# -- symbolic_helper ------------------------------------------------------------------------------

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
