"""Python's arithmetic on sizes in exported programs: which type a result has is Python's rule, not that of TorchScript."""

import math

import pytest
import torch
from tests.reports.harness import leaves

import onnxport


def powers(x, n):
    return n**2, x.new_zeros(n**2), x * n**3, 2**n, n**n, n**0


def floats(x, n):
    return x / (n / 2), (n + 1) / (n + 2) * x


def rounded(x, n):
    return x[: round(n * 0.4)], round(n * 0.3), x * round(n * 0.7), round(n), math.floor(n * 0.4), math.ceil(n / 3)


def bits(x, n):
    return n & 3, n | 1, n << 1, n >> 1, (n > 6) & (n < 9), (n > 6) | (n < 2)


def sums(x, n):
    return torch.sym_sum([n, n, x.shape[1]]) * x, torch.sym_sum([n, 1])


@pytest.mark.parametrize("function", [powers, floats, rounded, bits, sums])
def test_numbers(function):
    class Model(torch.nn.Module):
        def forward(self, x):
            return x * 1, function(x, x.shape[0])

    shapes = {"x": {0: torch.export.Dim.DYNAMIC}}
    program = torch.export.export(Model(), (torch.randn(5, 3),), dynamic_shapes=shapes, strict=False)
    result = onnxport.export(program, opset_version=20)
    for n in (5, 8, 11):
        x = torch.randn(n, 3)
        for actual, expected in zip(leaves(result(x)), leaves(Model()(x)), strict=True):
            assert actual.dtype == expected.dtype
            torch.testing.assert_close(actual, expected)


def test_digits_are_refused():
    class Model(torch.nn.Module):
        def forward(self, x):
            return x * round(x.shape[0] / 3, 2)

    program = torch.export.export(Model(), (torch.randn(5, 3),), dynamic_shapes={"x": {0: torch.export.Dim.DYNAMIC}})
    with pytest.raises(onnxport.errors.LoweringError, match=r"round\(\) to digits"):
        onnxport.export(program)
