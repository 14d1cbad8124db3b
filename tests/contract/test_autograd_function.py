"""`torch.autograd.Function`, with and without a static `symbolic`."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.onnx import symbolic_helper as torchs

from onnxport import register_custom_op_symbolic, symbolic_helper, unregister_custom_op_symbolic
from onnxport.errors import OnnxExporterError
from tests.contract.harness import OPSETS, X, exported, operators, run, shape


class MyRelu(torch.autograd.Function):
    """The example of the page."""

    @staticmethod
    def forward(ctx, input: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(input)
        return input.clamp(min=0)

    @staticmethod
    def symbolic(g, input):
        return g.op("Clip", input, g.op("Constant", value_t=torch.tensor(0, dtype=torch.float)))


class MyLogExp(torch.autograd.Function):
    """The example of the page."""

    @staticmethod
    def forward(ctx, input: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(input)
        h = input.exp()
        return h.log().log()


class Apply(torch.nn.Module):
    def __init__(self, function, *rest) -> None:
        super().__init__()
        self.function = function
        self.rest = rest

    def forward(self, *xs):
        return self.function.apply(*xs, *self.rest)


@pytest.mark.parametrize("opset", [n for n in OPSETS if n >= 11])
def test_symbolic_is_used(opset):
    proto = exported(Apply(MyRelu), X, opset_version=opset)
    assert operators(proto) == ["Clip"]
    np.testing.assert_allclose(run(proto, X.numpy())[0], X.clamp(min=0).numpy())


@pytest.mark.parametrize("opset", OPSETS)
def test_without_symbolic_the_forward_is_inlined(opset):
    proto = exported(Apply(MyLogExp), X.abs(), opset_version=opset)
    assert operators(proto) == ["Exp", "Log", "Log"]


class Detect(torch.autograd.Function):
    """A head as libraries write it: Python arguments between tensors, several outputs of another dtype."""

    @staticmethod
    def forward(ctx, boxes, limit, scores, mode, sizes):
        assert (limit, mode, sizes) == (2, "hard", [1, 2])
        return boxes[:limit] + scores.sum(), scores.argsort()[:limit]

    @staticmethod
    def symbolic(g, boxes, limit, scores, mode, sizes):
        assert (limit, mode, sizes) == (2, "hard", [1, 2])
        return g.op("mmdeploy::Nms", boxes, scores, limit_i=limit, mode_s=mode, sizes_i=sizes, outputs=2)


class Head(torch.nn.Module):
    def forward(self, boxes, scores):
        kept, order = Detect.apply(boxes * 2, 2, scores, "hard", [1, 2])
        return kept.relu(), order + 1


def test_symbolic_gets_python_arguments_as_they_were_given():
    proto = exported(Head(), (torch.randn(5, 4), torch.randn(5)))
    assert operators(proto) == ["Mul", "Nms", "Relu", "Add"]
    assert [shape(o) for o in proto.graph.output] == [[2, 4], [2]]
    assert [o.type.tensor_type.elem_type for o in proto.graph.output] == [1, 7]


@pytest.mark.parametrize("helper", [symbolic_helper, torchs], ids=["ours", "torchs"])
def test_symbolic_may_be_decorated_by_parse_args(helper):
    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, by):
            return x * by

        @staticmethod
        @helper.parse_args("v", "f")
        def symbolic(g, x, by):
            return g.op("Mul", x, g.op("Constant", value_t=torch.tensor(by)))

    np.testing.assert_allclose(run(exported(Apply(Scale, 2.5), X), X.numpy())[0], 2.5 * X.numpy(), rtol=1e-6)


def test_inlined_with_parameters_dynamic_axes_and_other_functions_inside():
    class Inner(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, w):
            return MyRelu.apply(x @ w.T) + x.shape[0]

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.w = torch.nn.Parameter(torch.randn(4, 3))

        def forward(self, x):
            return Inner.apply(x, self.w) * 2

    model = Model()
    proto = exported(model, X, dynamic_axes={"x": {0: "n"}})
    for n in (2, 5):
        x = torch.randn(n, 3)
        np.testing.assert_allclose(run(proto, x.numpy())[0], model(x).detach().numpy(), rtol=1e-4, atol=1e-5)


def test_inlined_where_the_forward_writes_its_argument():
    class Write(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.add_(1)

    class Model(torch.nn.Module):
        def forward(self, x):
            y = x * 1.5
            return Write.apply(y) + y

    np.testing.assert_allclose(run(exported(Model(), X), X.numpy())[0], 2 * (X * 1.5 + 1).numpy(), rtol=1e-5)


def test_symbolic_that_returns_none_is_an_error_that_names_it():
    class Nothing(MyRelu):
        @staticmethod
        def symbolic(g, input):
            return None

    with pytest.raises(OnnxExporterError, match="prim::PythonOp|Nothing"):
        exported(Apply(Nothing), X)


def test_registration_for_python_ops_comes_first():
    register_custom_op_symbolic("prim::PythonOp", lambda g, x, name: g.op(f"functions::{name}", x), 9)
    try:
        (node,) = exported(Apply(MyRelu), X).graph.node
    finally:
        unregister_custom_op_symbolic("prim::PythonOp", 9)
    assert (node.domain, node.op_type) == ("functions", "MyRelu")


class TwoAndOne(torch.autograd.Function):
    """What is computed first is returned last."""

    @staticmethod
    def forward(ctx, x):
        first = x + 1
        return first * 2, first


class Ordered(torch.autograd.Function):
    @staticmethod
    def forward(x, dim):
        order = torch.argsort(x, dim)
        return torch.take_along_dim(x, order, dim), dim, order, None

    @staticmethod
    def setup_context(ctx, inputs, output):
        assert output[1] == inputs[1]
        assert output[3] is None
        ctx.mark_non_differentiable(output[2])


class Returns(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        return y, x + 1, y, x


class Same(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x


class OneOfOne(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return (x + 1,)


class Writes(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        z = y * 2
        y.add_(x)
        x.add_(1)
        ctx.mark_dirty(x, y)
        return z + 1, x, z, y


def _writes(x):
    a, b = x * 1, x * 2
    returned = Writes.apply(a, b)
    return (*returned, a, b)


ORDERED = {
    "computed_in_another_order": TwoAndOne.apply,
    "other_than_tensors": lambda x: [r for r in Ordered.apply(x, 1) if isinstance(r, torch.Tensor)],
    "arguments": lambda x: Returns.apply(x, x * 2),
    "the_argument": lambda x: Same.apply(x) * 2,
    "a_tuple_of_one": lambda x: OneOfOne.apply(x)[0],
    "written": _writes,
}


@pytest.mark.parametrize("name", ORDERED)
def test_outputs_come_in_the_order_in_which_they_are_returned(name):
    class Model(torch.nn.Module):
        def forward(self, x):
            return ORDERED[name](x)

    results = run(exported(Model(), X, dynamic_axes={"x": {0: "n"}}), X.numpy())
    expected = Model()(X)
    expected = [expected] if isinstance(expected, torch.Tensor) else expected
    assert len(results) == len(expected)
    for actual, wanted in zip(results, expected):
        assert actual.dtype == wanted.numpy().dtype
        np.testing.assert_allclose(actual, wanted.numpy(), rtol=1e-6)
