"""What torch.export decided by sizes along dynamic axes is told."""

from __future__ import annotations

import warnings

import pytest
import torch
from torch import nn

import onnxport
from onnxport.errors import OnnxExporterError, OnnxExporterWarning

AUTO = torch.export.Dim.AUTO


class ByParity(nn.Module):
    def forward(self, x):
        return x + 1 if x.shape[0] % 2 == 0 else x - 1


class ByLength(nn.Module):
    def forward(self, x):
        return x + 1 if x.shape[0] > 3 else x - 1


class ByBoth(nn.Module):
    def forward(self, xs):
        return xs[0] + 1 if xs[0].shape[0] * 2 > xs[1].shape[0] else xs[0] - 1


class ByArea(nn.Module):
    def forward(self, x):
        return x + 1 if x.shape[0] * x.shape[1] > 15 else x - 1


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(
    "model, args, shapes, told",
    [
        (ByParity(), (torch.rand(4, 2),), ({0: AUTO},), r"x.size\(0\) % 2 == 0"),
        (ByParity(), (torch.rand(5, 2),), ({0: AUTO},), r"x.size\(0\) % 2 != 0"),
        (ByLength(), (torch.rand(4, 2),), ({0: AUTO},), r"x.size\(0\) > 3"),
        (ByLength(), (torch.rand(3, 2),), ({0: AUTO},), r"x.size\(0\) <= 3"),
        (ByBoth(), ([torch.rand(4, 2), torch.rand(5, 2)],), ([{0: AUTO}, {0: AUTO}],), r"2 \* xs.*size\(0\) > xs.*size\(0\)"),
        (ByArea(), (torch.rand(4, 5),), ({0: AUTO, 1: AUTO},), r"x.size\(\d\) \* x.size\(\d\) > 15"),
    ],
)  # fmt: skip
def test_a_branch_by_a_size_is_told(model, args, shapes, told, strict):
    exported = torch.export.export(model, args, dynamic_shapes=shapes, strict=strict)
    if not getattr(exported, "_guards_code", None):
        pytest.skip("this version of PyTorch keeps no guards")
    with pytest.warns(OnnxExporterWarning, match=told):
        onnxport.export(exported)


def test_what_torch_export_takes_for_granted_is_not_told():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.Conv2d(3, 4, 3, 2, 1), nn.Conv2d(4, 4, 3, 2, 1)

        def forward(self, x, y):
            z = self.second(self.first(x)).flatten(2).mT
            return z @ z.mT + y[:, :1, :1]

    args = (torch.rand(2, 3, 32, 32), torch.rand(2, 5, 5))
    shapes = ({0: AUTO, 2: AUTO, 3: AUTO}, {0: AUTO, 1: AUTO})
    exported = torch.export.export(Net().eval(), args, dynamic_shapes=shapes, strict=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error", OnnxExporterWarning)
        result = onnxport.export(exported)
    other = (torch.rand(3, 3, 40, 24), torch.rand(3, 7, 5))
    torch.testing.assert_close(result(*other), exported.module()(*other), rtol=1e-4, atol=1e-5)


def test_declared_bounds_are_not_told():
    batch = torch.export.Dim("batch", min=4, max=64)
    exported = torch.export.export(ByLength(), (torch.rand(5, 2),), dynamic_shapes=({0: batch},), strict=False)
    onnxport.export(exported)


def test_strict_makes_an_error_of_it(tmp_path):
    exported = torch.export.export(ByLength(), (torch.rand(4, 2),), dynamic_shapes=({0: AUTO},), strict=False)
    if not getattr(exported, "_guards_code", None):
        pytest.skip("this version of PyTorch keeps no guards")
    with pytest.raises(OnnxExporterError, match="right only where"):
        onnxport.export(exported, (), tmp_path / "m.onnx", strict=True)
    assert not list(tmp_path.iterdir())
