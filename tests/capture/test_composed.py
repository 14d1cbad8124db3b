"""Operators of packages that are made of torch's own: what they are made of is exported."""

from __future__ import annotations

import pytest
import torch

import onnxport
from onnxport import utils
from onnxport.errors import OnnxExporterWarning, UnsupportedOperatorError

LIBRARY = torch.library.Library("composed", "DEF")
OPS = torch.ops.composed


def made(schema, key="CompositeImplicitAutograd"):
    def define(function):
        LIBRARY.define(schema)
        LIBRARY.impl(schema.partition("(")[0], function, key)

    return define


made("twice(Tensor x) -> Tensor")(lambda x: x * 2)
made("scaled(Tensor x, SymInt n) -> Tensor")(lambda x, n: x * n + OPS.twice(x))
made("overloaded.one(Tensor x) -> Tensor")(lambda x: x + 1)
made("overloaded.two(Tensor x, SymInt n) -> Tensor")(lambda x, n: x + n)
made("shaped(Tensor[] x, SymInt[] shape) -> (Tensor, Tensor)")(lambda x, shape: (torch.cat(x).reshape(shape), x[0]))
made("pieces(Tensor x) -> Tensor[]")(lambda x: [x, x + 1])
made("named(Tensor x, Tensor? y=None, *, float k=2.0) -> Tensor")(lambda x, y=None, *, k=2.0: x * k if y is None else y)
made("writes(Tensor(a!) x) -> Tensor(a!)")(lambda x: x.mul_(3))
made("branches(Tensor x, SymInt n) -> Tensor")(lambda x, n: x * 2 if n > 3 else x + 1)
made("opaque(Tensor x) -> Tensor", "CompositeExplicitAutograd")(lambda x: x * 2)


@made("counts(Tensor x) -> Tensor")
def counts(x):
    n = before = x.shape[0]
    n += 1
    return x * before + n


CASES = {
    "plain": lambda x: OPS.twice(x),
    "by_overload": lambda x: OPS.twice.default(x),
    "of_sizes_and_others": lambda x: OPS.scaled(x, x.shape[0]),
    "first_overload": lambda x: OPS.overloaded(x),
    "second_overload": lambda x: OPS.overloaded(x, x.shape[1]),
    "overload_by_name": lambda x: OPS.overloaded.two(x, 4),
    "list_of_sizes": lambda x: OPS.shaped([x], [x.shape[0], -1])[0],
    "several_results": lambda x: OPS.shaped([x, x], [-1, x.shape[1]])[0],
    "list": lambda x: OPS.pieces(x)[1],
    "by_name": lambda x: OPS.named(x, k=3.0),
    "optional": lambda x: OPS.named(x, x + 1),
    "writes": lambda x: OPS.writes(x * 1),
    "sizes_inside": lambda x: OPS.counts(x),
}


class Model(torch.nn.Module):
    def __init__(self, call):
        super().__init__()
        self.call = call

    def forward(self, x):
        return self.call(x)


X = torch.randn(3, 4)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("exported", [False, True], ids=["traced", "exported"])
def test_what_they_are_made_of_is_exported(case, exported):
    model = Model(CASES[case])
    if exported:
        program = torch.export.export(model, (X,), dynamic_shapes=({0: torch.export.Dim("b", min=2, max=99)},))
        result = onnxport.export(program, (X,))
    else:
        result = onnxport.export(model, (X,), input_names=["x"], dynamic_axes={"x": {0: "b"}})
    assert result.verify().ok
    torch.testing.assert_close(result(torch.ones(7, 4)), model(torch.ones(7, 4)))


def test_ifs_in_them_are_warned_of():
    with pytest.warns(OnnxExporterWarning, match="test_composed.py"):
        onnxport.export(
            Model(lambda x: OPS.branches(x, x.shape[0])), (X,), input_names=["x"], dynamic_axes={"x": {0: "b"}}
        )


@pytest.mark.parametrize("exported", [False, True], ids=["traced", "exported"])
def test_those_with_a_conversion_stay_whole(exported):
    model = Model(OPS.twice)
    if exported:
        model = torch.export.export(model, (X,))
    onnxport.register_custom_op_symbolic("composed::twice", lambda g, x: g.op("mine::Twice", x), 9)
    try:
        assert [n.op_type for n in onnxport.export(model, (X,)).model.graph] == ["Twice"]
    finally:
        onnxport.unregister_custom_op_symbolic("composed::twice", 9)
    assert [n.op_type for n in onnxport.export(model, (X,)).model.graph] == ["Mul"]


def test_they_stay_whole_where_all_operators_do():
    kind = onnxport.OperatorExportTypes.ONNX_FALLTHROUGH
    result = onnxport.export(Model(OPS.twice), (X,), operator_export_type=kind)
    assert [(n.domain, n.op_type) for n in result.model.graph] == [("composed", "twice")]


def test_those_that_are_made_of_nothing_are_refused():
    with pytest.raises(UnsupportedOperatorError, match="composed::opaque"):
        onnxport.export(Model(OPS.opaque), (X,))
    assert utils.unconvertible_ops(Model(lambda x: OPS.opaque(OPS.twice(x))), (X,))[1] == ["composed::opaque"]
