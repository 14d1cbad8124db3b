"""Weights of exported programs that are tensors of a class of their own, as packages for quantization make them."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.testing._internal.two_tensor import TwoTensor

import onnxport


class Product(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(TwoTensor(torch.randn(3, 4), torch.rand(3, 4)))

    def forward(self, x):
        return F.linear(x, self.weight.a * self.weight.b)


@pytest.mark.parametrize("decomposed", [False, True])
def test_parts_are_weights(decomposed):
    model, x = Product().eval(), torch.randn(2, 4)
    program = torch.export.export(model, (x,), dynamic_shapes=({0: torch.export.Dim.AUTO},))
    result = onnxport.export(program.run_decompositions() if decomposed else program, opset_version=17)
    for size in (2, 5):
        x = torch.randn(size, 4)
        torch.testing.assert_close(result(x), model(x))
