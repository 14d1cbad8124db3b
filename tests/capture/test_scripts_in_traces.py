"""Functions that are compiled while a model is traced (`torch.jit.script_if_tracing`) and call Python's own functions."""

import math

import torch
from torch import nn

import onnxport


@torch.jit.script_if_tracing
def scaled(x, count: int = 3):
    n = x.size(-1)
    scale = math.log(float(n)) + math.exp(0.1) + math.sqrt(2.0) + math.ceil(n / 3) + min(n, 3) + max(n, 5)
    parts = []
    for i in range(count):
        parts.append(x * (scale + math.pow(2.0, i)) + math.pi)
    return torch.stack(parts, 0)


class Model(nn.Module):
    def forward(self, x):
        return scaled(x * int(x.shape[1] * 0.5)) + math.log(x.shape[1]) + math.sqrt(x.shape[0])


def test_functions_of_math():
    model = Model()
    axes = {"x": {0: "b", 1: "n"}}
    result = onnxport.export(model, (torch.randn(2, 6),), input_names=["x"], dynamic_axes=axes, opset_version=18)
    for sizes in ((2, 6), (3, 9), (1, 2)):
        x = torch.randn(sizes)
        torch.testing.assert_close(result(x), model(x), rtol=1e-4, atol=1e-4)
