"""`export_modules_as_functions`: calls of modules as local functions."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
import torch

import onnxport
from onnxport.errors import OnnxExporterError
from tests.contract.harness import exported, run

OPSETS = (15, 16, 17, 20, 28)


class Block(torch.nn.Module):
    width: int
    rate: float
    label: str
    sizes: list
    nothing: int | None

    def __init__(self, width: int, eps: float, label: str = "a") -> None:
        super().__init__()
        self.width, self.rate, self.label, self.sizes, self.nothing = width, 0.5, label, [1, 2], None
        self.fc = torch.nn.Linear(width, width)
        self.norm = torch.nn.LayerNorm(width, eps=eps)
        self.act = torch.nn.ELU(alpha=eps * 100)

    def forward(self, x):
        return self.act(self.norm(self.fc(x))) + x


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.blocks = torch.nn.ModuleList([Block(4, 1e-2), Block(4, 2e-2, "b"), Block(4, 1e-2)])
        self.head = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU())

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        x = self.blocks[0](x)  # a second call of the same module
        return self.head(x), x


def functions(proto):
    return {f.name: f for f in proto.functions}


def attributes(node):
    return {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}


WANTED = [
    (True, ["Net"]),
    ({Block}, ["Block"] * 4 + ["Gemm", "Relu"]),
    ({torch.nn.Linear}, None),
    ({Block, torch.nn.LayerNorm}, ["Block"] * 4 + ["Gemm", "Relu"]),
    ({Net}, ["Net"]),
    (set(), None),
    (False, None),
]


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize("wanted, nodes", WANTED)
def test_functions_equal_the_flat_model(wanted, nodes, opset):
    net = Net().eval()
    x = torch.randn(2, 4)
    proto = exported(net, x, export_modules_as_functions=wanted, opset_version=opset, dynamic_axes={"x": {0: "n"}})
    if nodes is not None:
        assert [n.op_type for n in proto.graph.node] == nodes
    flat = exported(net, x, opset_version=opset, dynamic_axes={"x": {0: "n"}})
    assert not flat.functions
    for n in (2, 5):
        x = torch.randn(n, 4)
        for got, plain, expected in zip(run(proto, x.numpy()), run(flat, x.numpy()), net(x)):
            np.testing.assert_allclose(got, plain, rtol=1e-5, atol=1e-6)
            np.testing.assert_allclose(got, expected.detach().numpy(), rtol=1e-3, atol=1e-4)
    initializers = {i.name for i in proto.graph.initializer}
    assert set(net.state_dict()) <= initializers


def test_functions_are_named_after_the_class_in_the_domain_of_its_module():
    proto = exported(Net().eval(), torch.randn(2, 4), export_modules_as_functions=True, opset_version=17)
    assert {(f.domain, f.name) for f in proto.functions} == {
        ("torch.nn.modules.linear", "Linear"),
        ("torch.nn.modules.normalization", "LayerNorm"),
        ("torch.nn.modules.activation", "ELU"),
        ("torch.nn.modules.activation", "ReLU"),
        ("torch.nn.modules.container", "Sequential"),
        (__name__, "Block"),
        (__name__, "Net"),
    }
    used = {o.domain for o in proto.opset_import}
    assert {f.domain for f in proto.functions} <= used
    assert proto.ir_version >= 8


def test_annotated_attributes_are_attributes_of_the_call():
    proto = exported(Net().eval(), torch.randn(2, 4), export_modules_as_functions={Block}, opset_version=17)
    calls = [n for n in proto.graph.node if n.op_type == "Block"]
    given = [attributes(n) for n in calls]
    assert [g["label"] for g in given] == [b"a", b"b", b"a", b"a"]
    assert {(g["width"], g["rate"], tuple(g["sizes"])) for g in given} == {(4, 0.5, (1, 2))}
    assert "nothing" not in given[0]  # ONNX has no attribute for None
    body = functions(proto)["Block"]
    assert list(body.attribute)[:4] == ["width", "rate", "label", "sizes"]
    assert not {"width", "label"} & {a.ref_attr_name for n in body.node for a in n.attribute}


@pytest.mark.parametrize("opset", OPSETS)
def test_inferred_attributes_are_what_inner_nodes_need_and_calls_differ_in(opset):
    proto = exported(Net().eval(), torch.randn(2, 4), export_modules_as_functions={Block}, opset_version=opset)
    assert list(functions(proto)) == ["Block"]
    body = functions(proto)["Block"]
    inferred = [name for name in body.attribute if name.startswith("inferred::")]
    assert "inferred::alpha" in inferred
    refs = {a.ref_attr_name for n in body.node for a in n.attribute if a.ref_attr_name}
    assert refs == set(inferred)
    alphas = [attributes(n)["inferred::alpha"] for n in proto.graph.node if n.op_type == "Block"]
    np.testing.assert_allclose(alphas, [1, 2, 1, 1], rtol=1e-6)


def test_variants_where_the_graphs_differ():
    class Maybe(torch.nn.Module):
        def __init__(self, twice):
            super().__init__()
            self.twice = twice

        def forward(self, x):
            return (x + 1).relu() if self.twice else x.relu()

    model = torch.nn.Sequential(Maybe(True), Maybe(False), Maybe(True))
    proto = exported(model, torch.randn(3), export_modules_as_functions={Maybe}, opset_version=15)
    assert [n.op_type for n in proto.graph.node] == ["Maybe", "Maybe.1", "Maybe"]
    x = np.array([-2, -0.5, 1], np.float32)
    np.testing.assert_allclose(run(proto, x)[0], model(torch.from_numpy(x)).numpy())


def test_functions_inside_functions_carry_what_is_needed_inside():
    proto = exported(Net().eval(), torch.randn(2, 4), export_modules_as_functions=True, opset_version=17)
    block = functions(proto)["Block"]
    norm = next(n for n in block.node if n.op_type == "LayerNorm")
    assert {a.name: a.ref_attr_name for a in norm.attribute}["inferred::epsilon"] == "inferred::epsilon"
    assert functions(proto)["Net"].node[0].op_type == "Block"


def test_several_inputs_and_outputs_and_values_of_sizes():
    class Split(torch.nn.Module):
        def forward(self, x, y):
            n = x.shape[0]
            return x.reshape(-1) + n, y * n, x.sum()

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = Split(), Split()

        def forward(self, x, y):
            p, q, r = self.a(x, y)
            s, t, u = self.b(q, p.reshape(x.shape))
            return s, t, u + r

    proto = exported(
        Model(), (torch.randn(2, 3), torch.randn(2, 3)), export_modules_as_functions={Split}, opset_version=17,
        dynamic_axes={"x": {0: "n"}, "y": {0: "n"}},
    )  # fmt: skip
    assert len([n for n in proto.graph.node if n.op_type.startswith("Split")]) == 2
    for n in (2, 4):
        x, y = torch.randn(n, 3), torch.randn(n, 3)
        for got, expected in zip(run(proto, x.numpy(), y.numpy()), Model()(x, y)):
            np.testing.assert_allclose(got, expected.numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("wanted", [True, {torch.nn.TransformerEncoderLayer}, {torch.nn.MultiheadAttention}])
def test_a_transformer_as_functions(wanted):
    layer = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, dropout=0.0)
    model = torch.nn.TransformerEncoder(layer, 3, enable_nested_tensor=False).eval()
    x = torch.randn(2, 5, 8)
    proto = exported(model, x, export_modules_as_functions=wanted, opset_version=17)
    assert proto.functions
    np.testing.assert_allclose(run(proto, x.numpy())[0], model(x).detach().numpy(), rtol=1e-3, atol=1e-4)


class Spans(torch.nn.Module):
    """A Python loop over an axis, in the module that is made a function, of values from outside of the loop."""

    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(8, 4)

    def forward(self, x):
        found = []
        for i in range(x.shape[1]):
            near = x[:, i : i + 3]
            found.append(self.linear(torch.cat([near, x[:, i : i + 1].repeat(1, near.shape[1], 1)], -1)))
        return torch.cat(found, 1)


def test_a_loop_inside_of_a_function():
    model = torch.nn.Sequential(Spans(), torch.nn.ReLU())
    result = onnxport.export(
        model, torch.randn(2, 5, 4), None, input_names=["x"], dynamic_axes={"x": {0: "batch", 1: "time"}},
        export_modules_as_functions={Spans}, opset_version=17,
    )  # fmt: skip
    calls = [node for node in result.model_proto.graph.node if node.op_type == "Spans"]
    assert [len(node.output) for node in calls] == [1]
    for x in (torch.randn(2, 5, 4), torch.randn(3, 7, 4)):
        torch.testing.assert_close(result(x), model(x).detach())


@pytest.mark.parametrize("opset", [9, 14])
def test_functions_need_opset_15(opset):
    with pytest.raises(ValueError, match="15"):
        exported(Net(), torch.randn(2, 4), export_modules_as_functions=True, opset_version=opset)


def test_functions_with_the_default_opset_get_the_lowest_that_has_them():
    proto = exported(Net().eval(), torch.randn(2, 4), export_modules_as_functions=True)
    assert {o.domain: o.version for o in proto.opset_import}[""] >= 15


def test_functions_of_what_is_no_module_type_are_refused():
    for wanted in ({int}, [5], "Linear", 5):
        with pytest.raises(TypeError, match="nn.Module types"):
            exported(Net(), torch.randn(2, 4), export_modules_as_functions=wanted, opset_version=15)


def test_functions_of_scripts_are_refused():
    with pytest.raises(OnnxExporterError, match="traced"):
        onnxport.export(
            torch.jit.script(torch.nn.Linear(2, 2)), torch.randn(1, 2), export_modules_as_functions=True,
            opset_version=15,
        )  # fmt: skip
