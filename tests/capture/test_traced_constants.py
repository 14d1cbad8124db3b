"""What the tracer takes for constants, or can't follow: written tensors, compiled parts, closures, transforms."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from tests.harness import case, cases, check, f32
from torch import nn
from torch.utils.checkpoint import checkpoint

import onnxport
from onnxport.errors import LoweringError, OnnxExporterWarning


def counted(x):
    c = torch.tensor(0.0)
    c += x.sum()
    c.add_(1)
    return c, c * x


def viewed(x):
    t = torch.tensor([1.0, 2.0, 3.0])
    row = t[1:]
    row.mul_(x[1:])
    t[0] = 7
    return t, row


def rows(x):
    t = torch.tensor([1.0, 2.0, 3.0])
    t[0] = t[0] + x[0]
    t[1:] = t[1:] * 2 + x[1:]
    return t


def by_functions(x):
    a, b, c, d = (torch.tensor([-1.0, 2.0, 3.0]) for _ in range(4))
    before = a * x + b * x + c * x + d * x
    nn.LeakyReLU(0.5, inplace=True)(a)
    F.elu(input=b, inplace=True)
    nn.init.constant_(c, 5.0)
    torch._foreach_add_([d], 1.0)
    return before, a + x, b + x, c + x, d + x


def by_max_norm(x):
    rows = torch.tensor([[3.0, 4.0], [0.3, 0.4]])
    before = rows * x[:2]
    return before, F.embedding(torch.tensor([0]), rows, max_norm=1.0), rows


def of_numpy(x):
    t = torch.from_numpy(np.zeros(3, np.float32))
    t += x
    u = torch.Tensor([1.0, 2.0, 3.0])
    u /= x
    torch.relu_(u)
    return t + u, u.detach().clone().sub_(1)


def bits(x):
    flags = torch.tensor([True, False, True])
    flags &= x > 0
    flags ^= x > 1
    return flags


CASES = [case(f.__name__, f, f32(3)) for f in (counted, viewed, rows, by_functions, by_max_norm, of_numpy, bits)]


@cases(CASES)
def test_constants_are_those_before_the_model_writes(case, frontend, opset):
    check(case, frontend, opset)


class Attribute(nn.Module):
    def __init__(self):
        super().__init__()
        self.total = torch.zeros(3)
        self.more = [torch.ones(3)]

    def forward(self, x):
        self.total += x
        self.more[0].mul_(x)
        return self.total + self.more[0]


def test_attributes_that_a_model_writes_to_are_kept_and_warned_of():
    model, x = Attribute(), torch.tensor([1.0, 2.0, 3.0])
    with pytest.warns(OnnxExporterWarning, match="writes to total"):
        result = onnxport.export(model, (x,))
    assert model.total.eq(0).all()
    assert model.more[0].eq(1).all()
    assert torch.equal(result(x), model(x))


def test_compiled_models_and_parts_of_models():
    part = nn.Linear(3, 3)
    part.compile(backend="eager")
    model = nn.Sequential(torch.compile(nn.Linear(3, 3), backend="eager"), part)
    x = torch.randn(2, 3)
    forward = model[0].forward
    assert onnxport.export(model, (x,)).verify().ok
    assert model[0].forward is forward
    assert part._compiled_call_impl is not None
    assert onnxport.export(torch.compile(model, backend="eager"), (x,)).verify().ok
    assert onnxport.export(torch.compile(torch.sin, backend="eager"), (x,)).verify().ok


@pytest.mark.filterwarnings("ignore:.*takes the value of a tensor")
def test_compiled_functions_within_a_model_that_cannot_be_captured_are_refused():
    compiled = torch.compile(lambda x: x + 1, backend="eager")

    class Calls(nn.Module):
        def forward(self, x):
            return compiled(x) if x.sum() > 0 else x

    with pytest.raises(LoweringError, match="torch.compile made"):
        onnxport.export(Calls(), (torch.ones(2),))


class OfModule(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, module):
        ctx.save_for_backward(x)
        return module(x) * 2

    @staticmethod
    def backward(ctx, grad):
        return grad, None


class NewStyle(torch.autograd.Function):
    @staticmethod
    def forward(x, module):
        return module(x), x + 1

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])


class Closures(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(3, 3)

    def forward(self, x):
        x = checkpoint(self.lin, x, use_reentrant=True)
        a, b = NewStyle.apply(OfModule.apply(x, self.lin), self.lin)
        return a + b


@pytest.mark.filterwarnings("ignore:None of the inputs have requires_grad")
def test_functions_that_use_tensors_beside_their_arguments():
    model = Closures()
    result = onnxport.export(model, (torch.randn(2, 3),), input_names=["x"], dynamic_axes={"x": {0: "n"}})
    assert result.verify().ok
    assert {"lin.weight", "lin.bias"} <= set(result.model.graph.initializers)


ACTIVATIONS = [torch.tanh, torch.sigmoid, nn.functional.silu, nn.functional.softplus, torch.relu, nn.functional.leaky_relu,
               nn.functional.elu, nn.functional.gelu, lambda x: nn.functional.gelu(x, approximate="tanh"),
               lambda x: x[:, 1] * x[:, 0:2].sum(-1)]  # fmt: skip


@pytest.mark.parametrize("activation", ACTIVATIONS, ids=range(len(ACTIVATIONS)))
def test_gradients_taken_in_forward(activation):
    class Energy(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = nn.Linear(3, 4)

        def forward(self, x):
            with torch.enable_grad():
                x = x.detach().requires_grad_(True)
                energy = activation(self.net(x)).pow(2).sum()
                (slope,) = torch.autograd.grad(energy, x)
            return energy.detach(), -slope

    result = onnxport.export(Energy(), (torch.randn(2, 3),))
    assert result.verify([(torch.randn(2, 3),), (torch.randn(2, 3),)]).ok


class Batched(nn.Module):
    def forward(self, x):
        return torch.vmap(lambda a, b: a @ b)(x, x), torch.func.jacrev(torch.sin)(x[0]), torch.func.grad(torch.norm)(x)


def test_transformed_functions():
    result = onnxport.export(Batched(), (torch.randn(2, 3),))
    assert result.verify([(torch.randn(2, 3),)]).ok


def test_sizes_of_transformed_functions_are_looked_at():
    class Outer(nn.Module):
        def forward(self, x):
            return torch.func.jacrev(lambda a: (a * a).sum())(x).repeat(x.shape[0] ** 2)

    model, x = Outer(), torch.randn(3)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        result = onnxport.export(model, (x,), input_names=["x"], dynamic_axes={"x": {0: "n"}})
    torch.testing.assert_close(result(x), model(x))
    if not any("may be right only at n=3" in str(w.message) for w in found):
        assert result.verify().ok


def test_values_within_transformed_functions_are_refused():
    class Data(nn.Module):
        def forward(self, x):
            return torch.func.jacrev(torch.sin)(x[0]) * x.sum().item()

    with pytest.raises(LoweringError, match="transforms functions"):
        onnxport.export(Data(), (torch.randn(2, 3),))


class Sizes(nn.Module):
    def forward(self, x):
        h, w = x.shape
        torch._check(h >= 1)
        scale = torch.tensor([w, h]), torch.as_tensor([[h, 2], [w, 0.5]]), torch.tensor((h * 2, 1), dtype=torch.float32)
        return *scale, x.new(h, w).fill_(1), x.new(3).zero_()


def test_sizes_in_tensors_and_checks_stay_live():
    model, names = Sizes(), {"x": {0: "h", 1: "w"}}
    result = onnxport.export(model, (torch.randn(2, 3),), input_names=["x"], dynamic_axes=names, strict=True)
    x = torch.randn(5, 4)
    for actual, expected in zip(result(x), model(x), strict=True):
        assert actual.dtype == expected.dtype
        assert torch.equal(actual, expected)


def test_axes_that_torch_export_found_static_are_static():
    class Halves(nn.Module):
        def forward(self, x):
            return x.view(-1, 6) if x.shape[1] == 6 else x

    auto = torch.export.Dim.AUTO
    program = torch.export.export(Halves(), (torch.randn(2, 6),), dynamic_shapes=({0: auto, 1: auto},))
    shape = onnxport.export(program).model.graph.inputs[0].shape
    assert shape[1] == 6
    assert not isinstance(shape[0], int)


def test_known_arguments_that_depend_on_the_run():
    def mean(x: torch.Tensor, dim: int):
        return x.mean(dim)

    with pytest.raises(LoweringError, match=r"(?s)aten::mean.*has to be known at export"):
        onnxport.export(torch.jit.script(mean), (torch.randn(2, 3), 1))


def test_batched_functions_of_exported_programs():
    class Scanned(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(3, 2)

        def forward(self, x):
            from torch._higher_order_ops import associative_scan

            sums = associative_scan(lambda a, b: a * 0.5 + b, x, 0, combine_mode="generic")
            return torch.vmap(self.linear)(x), torch.vmap(lambda a, b: (a * b).sum(), in_dims=(0, 1))(x, x.T), sums

    x = torch.randn(5, 3)
    program = torch.export.export(Scanned(), (x,), strict=False)
    assert onnxport.export(program, ()).verify([(x,), (torch.randn(5, 3),)]).ok
