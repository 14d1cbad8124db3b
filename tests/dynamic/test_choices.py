"""Numbers that an `if` on sizes chooses, where there are more such than ways that can be recorded."""

from __future__ import annotations

import warnings

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import onnxport
from onnxport.errors import OnnxExporterWarning


class Steps(nn.Module):
    """Halves an image some times and doubles it again, with a row and a column more where halving had cut one off."""

    def __init__(self, depth: int) -> None:
        super().__init__()
        self.depth = depth

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        kept = []
        for _ in range(self.depth):
            kept.append(x)
            x = F.max_pool2d(x, 2)
        for skip in reversed(kept):
            x = F.interpolate(x, scale_factor=2.0)
            pads = [0, 0, 0, 0]
            for i in range(2):
                if skip.shape[-i - 1] != x.shape[-i - 1]:
                    pads[2 * i + 1] = 1
            x = F.pad(x, pads, "replicate") - 0.5 * skip
        return x


class Cuts(nn.Module):
    """Each of six features leaves out other rows, as the length divides by its number or not."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        total = x.sum(1)
        for i in range(2, 8):
            start = 5 if x.shape[1] % i == 0 else 2
            total = total + i * x[:, start:, :].sum(1)
        return total


CASES = {
    "even": (Steps(3), (1, 2, 48, 48), {0: "b", 2: "h", 3: "w"}),
    "odd": (Steps(3), (2, 1, 37, 43), {0: "b", 2: "h", 3: "w"}),
    "one axis": (Steps(5), (1, 1, 64, 32), {2: "h"}),
    "other numbers": (Cuts(), (2, 12, 3), {1: "n"}),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("opset", [11, 20])
def test_a_number_that_an_if_chooses_follows_what_it_asks(name: str, opset: int) -> None:
    model, shape, axes = CASES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error", OnnxExporterWarning)
        result = onnxport.export(model, (torch.randn(shape),), dynamic_axes={"x": axes}, opset_version=opset)
    sizes = [(n, 95 - n) for n in range(32, 64, 3)] if len(shape) == 4 else [(n, n) for n in range(6, 31)]
    for pair in sizes:
        changed = list(shape)
        for axis, size in zip((a for a, label in axes.items() if label != "b"), pair):
            changed[axis] = size
        x = torch.randn(changed)
        torch.testing.assert_close(result(x), model(x), rtol=1e-4, atol=1e-4)
