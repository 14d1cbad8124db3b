"""Models that keep what they compute for one size: it is computed in the exported model, and the model forgets the runs."""

import copy
import warnings

import numpy as np
import pytest
import torch
from torch import nn

import onnxport
from onnxport.errors import OnnxExporterWarning


def grid(height, width):
    y, x = torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")
    return torch.stack((x, y), 0)[None].float()


class Attribute(nn.Module):
    def __init__(self):
        super().__init__()
        self.grid = None

    def forward(self, x):
        if self.grid is None or self.grid.shape[-2:] != x.shape[-2:]:
            self.grid = grid(*x.shape[-2:])
        return x + self.grid


class ByText(nn.Module):
    def __init__(self):
        super().__init__()
        self.grids = {}

    def forward(self, x):
        key = str(x.shape)
        if key not in self.grids:
            self.grids[key] = grid(*x.shape[-2:])
        return x + self.grids[key]


class BySizes(nn.Module):
    """In a dict inside of a list, which is added to, too."""

    def __init__(self):
        super().__init__()
        self.levels = [{}]
        self.seen = set()

    def forward(self, x):
        key = (int(x.shape[2]), int(x.shape[3]))
        if key not in self.levels[0]:
            self.levels[0][key] = grid(*x.shape[-2:])
            self.levels.append(key)
            self.seen.add(key)
        return x + self.levels[0][key]


@pytest.mark.parametrize("ran", [(), ((6, 8),), ((5, 4), (6, 8)), ((7, 7),)])
@pytest.mark.parametrize("make", [Attribute, ByText, BySizes])
def test_what_is_kept_for_a_size(make, ran):
    model = make().eval()
    for sizes in ran:
        model(torch.randn(2, 2, *sizes))
    before = copy.deepcopy(vars(model))
    with warnings.catch_warnings():
        warnings.simplefilter("error", OnnxExporterWarning)
        result = onnxport.export(model, torch.randn(2, 2, 6, 8), dynamic_axes={"x": {0: "b", 2: "h", 3: "w"}})
    assert str(vars(model)) == str(before)
    for shape in ((2, 2, 6, 8), (3, 2, 5, 4), (1, 2, 9, 2)):
        x = torch.randn(shape)
        np.testing.assert_allclose(result(x), model(x), rtol=1e-6)
