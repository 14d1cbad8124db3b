"""Transformations of functions in a model's forward: flattened, or refused where the tracer would be left broken."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.fx.experimental.proxy_tensor import make_fx

import onnxport
from onnxport.errors import LoweringError

X = torch.rand(3, 4)


def linearized(x):
    return torch.func.linearize(torch.sin, x)[1](torch.ones_like(x))


def transposed_twice(x):
    return torch.vmap(linearized)(x)


def compiled_by_hand(x):
    return make_fx(torch.sin)(x)(x)


class Forces(nn.Module):
    def __init__(self):
        super().__init__()
        self.energy = nn.Sequential(nn.Linear(4, 8), nn.SiLU(), nn.Linear(8, 1))

    def forward(self, x):
        with torch.enable_grad():
            x = x.detach().requires_grad_()
            return torch.autograd.grad(self.energy(x).sum(), x)[0]


@pytest.mark.parametrize("model", [linearized, transposed_twice, compiled_by_hand])
def test_make_fx_is_refused_and_leaves_the_tracer_whole(model):
    with pytest.raises(LoweringError, match="make_fx"):
        onnxport.export(model, (X,))
    forces = Forces()
    result = onnxport.export(forces, (X,))
    torch.testing.assert_close(result(X), forces(X), rtol=1e-4, atol=1e-5)


def test_functionalize_is_flattened():
    def model(x):
        return torch.func.functionalize(lambda y: y.clone().add_(1).view(-1))(x) * 2

    result = onnxport.export(model, (X,), dynamic_axes={"x": {0: "n"}})
    other = torch.rand(5, 4)
    torch.testing.assert_close(result(other), model(other))


class Hessian(Forces):
    """Gradients in directions that are given, of gradients."""

    def forward(self, x):
        with torch.enable_grad():
            x = x.detach().requires_grad_()
            energy = self.energy(x).sum(1)
            (slope,) = torch.autograd.grad(energy, x, torch.ones_like(energy), create_graph=True)
            (bend,) = torch.autograd.grad([slope[:, 0]], [x], grad_outputs=[torch.ones_like(slope[:, 0])])
        return energy, slope, bend


def test_gradients_in_given_directions():
    model = Hessian()
    result = onnxport.export(model, (X,), dynamic_axes={"x": {0: "n"}})
    for n in (1, 5):
        other = torch.rand(n, 4)
        torch.testing.assert_close(result(other), model(other), rtol=1e-4, atol=1e-5)
