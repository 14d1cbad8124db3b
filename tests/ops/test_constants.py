"""Factorizations of constants, computed at export: ONNX has none of them."""

import pytest
import torch
from torch import nn

import onnxport
from onnxport.errors import LoweringError


class Kernel(nn.Module):
    """The vectors that a matrix takes to 0, as many as its singular values say; what is computed of buffers."""

    def __init__(self):
        super().__init__()
        self.register_buffer("matrix", torch.diag(torch.tensor([3.0, 2.0, 0.0, 1.0], dtype=torch.float64)))

    def forward(self, x):
        _, values, vectors = torch.svd(self.matrix)
        return x @ vectors.t()[values < 1e-9].t().float().abs()


class Symmetric(Kernel):
    def forward(self, x):
        values, vectors = torch.linalg.eigh(self.matrix + 1)
        q, r = torch.linalg.qr(self.matrix + torch.eye(4, dtype=torch.float64))
        return x * values.float() @ vectors.abs().float(), (q @ r).float() + x[:1].T


class Complex(Kernel):
    def forward(self, x):
        values = torch.linalg.eigvals(
            self.matrix + torch.ones(4, 4).double().triu(1) - torch.ones(4, 4).double().tril(-1)
        )
        return x + torch.sort(values.real).values.float(), torch.sort(values.imag).values.float()


class Solved(Kernel):
    def forward(self, x):
        solution = torch.linalg.lstsq(self.matrix[:, [0, 1, 3]], torch.ones(4, 2, dtype=torch.float64)).solution
        return x[:, :3] @ solution.float(), x * torch.linalg.pinv(self.matrix).diagonal().float()


@pytest.mark.parametrize("opset", [9, 13, 20])
@pytest.mark.parametrize("model", [Kernel, Symmetric, Complex, Solved])
def test_factorizations_of_buffers(model, opset):
    module, x = model().eval(), torch.randn(3, 4)
    result = onnxport.export(module, (x,), input_names=["x"], dynamic_axes={"x": {0: "b"}}, opset_version=opset)
    for count in (3, 1, 5):
        x = torch.randn(count, 4)
        expected = module(x)
        torch.testing.assert_close(result(x), expected, rtol=1e-4, atol=1e-5)


class OfWeight(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.eye(3) + 0.1)

    def forward(self, x):
        return x @ torch.linalg.inv(self.weight)


def test_weights_that_are_to_stay_are_not_folded():
    model, x = OfWeight(), torch.randn(2, 3)
    for folds in (True, False):
        result = onnxport.export(model, (x,), opset_version=18, do_constant_folding=folds)
        assert ("weight" in result.model.graph.initializers) is not folds
        torch.testing.assert_close(result(x), model(x).detach(), rtol=1e-4, atol=1e-5)


class Vectors(OfWeight):
    def forward(self, x):
        return x @ torch.linalg.eigh(self.weight).eigenvectors.abs()


def test_weights_that_are_to_stay_and_have_no_form_are_refused():
    onnxport.export(Vectors(), (torch.randn(2, 3),))
    with pytest.raises(LoweringError):
        onnxport.export(Vectors(), (torch.randn(2, 3),), do_constant_folding=False)


def test_a_power_by_a_size_is_refused_with_its_reason():
    class Model(Kernel):
        def forward(self, x):
            return x + torch.linalg.matrix_power(self.matrix, x.shape[0]).diagonal().float()

    with pytest.raises(LoweringError, match="the power of a matrix must be known at export"):
        onnxport.export(Model().eval(), (torch.randn(3, 4),), input_names=["x"], dynamic_axes={"x": {0: "b"}})
