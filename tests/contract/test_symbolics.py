"""Symbolic functions: registration, and what `g` and values answer."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
import torch
import torch.onnx

from onnxport import register_custom_op_symbolic, symbolic_helper, unregister_custom_op_symbolic, utils
from onnxport.errors import OnnxExporterError, OnnxExporterWarning, UnsupportedOperatorError
from tests.contract.harness import OPS, OPSETS, Call, X, exported, operators, run, seen, shape

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
