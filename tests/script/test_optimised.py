"""Scripts that `torch.jit.optimize_for_inference` has prepared for one processor."""

from __future__ import annotations

import onnx
import pytest
import torch
from torch import nn

import onnxport


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm = nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4)
        self.second = nn.Conv2d(4, 4, 3, groups=4, stride=2)
        self.linear, self.last = nn.Linear(4, 5), nn.LayerNorm(5)

    def forward(self, x):
        y = nn.functional.hardswish(self.norm(self.first(x)))
        y = torch.relu(y + y * 2)
        z = nn.functional.relu6(self.second(y))
        y = nn.functional.hardsigmoid(self.second(y)) * z.mean((2, 3), keepdim=True)
        y = nn.functional.hardtanh(self.second(y), -0.5, 0.5) + y[:, :1, :1, :1]
        return self.last(self.linear(y.mean((2, 3)))).sigmoid()


class Line(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(3, 4, 3)

    def forward(self, x):
        return self.conv(x).relu_().mul_(2)


@pytest.mark.parametrize("opset", [9, 14, 20])
@pytest.mark.parametrize("make, sizes", [(Net, ((1, 3, 16, 18), (2, 3, 20, 16))), (Line, ((1, 3, 9), (2, 3, 12)))])
def test_an_optimised_script_is_exported_as_what_it_computes(make, sizes, opset):
    torch.manual_seed(0)
    model = make().eval()
    script = torch.jit.optimize_for_inference(torch.jit.script(model))
    axes = {"x": {0: "batch", **{axis: f"size{axis}" for axis in range(2, len(sizes[0]))}}}
    result = onnxport.export(script, (torch.rand(sizes[0]),), dynamic_axes=axes, opset_version=opset)
    onnx.checker.check_model(result.model_proto, full_check=True)
    for size in sizes:
        x = torch.rand(size)
        torch.testing.assert_close(result(x), model(x), rtol=1e-4, atol=1e-5)
