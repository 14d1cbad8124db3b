"""Arguments that the tracer reads as numbers, made of half a size: of an even size the half is that of the next one."""

import warnings

import pytest
import torch
import torch.nn.functional as F

import onnxport
from onnxport.errors import LoweringError, OnnxExporterWarning

LIVE = {
    "roll": lambda x, n: torch.roll(x, shifts=n, dims=-1),
    "roll_both": lambda x, n: x.roll(shifts=(n, 1), dims=(1, 0)),
    "adaptive": lambda x, n: F.adaptive_avg_pool1d(x[None], output_size=n),
    "adaptive_planes": lambda x, n: F.adaptive_avg_pool2d(x[None, None], output_size=n),
    "adaptive_most": lambda x, n: F.adaptive_max_pool1d(x[None], output_size=n),
    "adaptive_most_by_place": lambda x, n: F.adaptive_max_pool2d(x[None, None], n),
    "columns": lambda x, n: F.unfold(x[None, None], kernel_size=(1, n)),
    "columns_apart": lambda x, n: F.unfold(x[None, None], kernel_size=1, stride=n),
    "pieces": lambda x, n: torch.split(x, split_size_or_sections=n, dim=1)[0],
    "pieces_of_tensor": lambda x, n: x.split(split_size=n, dim=1)[1],
    "padding": lambda x, n: F.conv1d(x[None], torch.ones(1, 3, 3), padding=n),
    "padding_of_planes": lambda x, n: F.conv2d(x[None, None], torch.ones(1, 1, 2, 2), padding=(1, n)),
    "groups": lambda x, n: F.conv1d(x[:1].repeat(n, 1)[None], torch.ones(1, 1, 2).repeat(n, 1, 1), groups=n),
    "transposed_groups": lambda x, n: F.conv_transpose1d(
        x[:1].repeat(n, 1)[None], torch.ones(n, 1, 2), groups=n, stride=2
    ),
    "rows": lambda x, n: torch.stack([r * i for i, r in enumerate(x.T[:n])]),
    "pairs_of_rows": lambda x, n: torch.stack([a * b for a, b in zip(x.T[:n], x.T[1 : n + 1])]),
}
# Attributes in ONNX: refused.
FIXED = {
    "window": lambda x, n: F.avg_pool1d(x[None], kernel_size=n),
    "window_of_most": lambda x, n: F.max_pool1d(x[None], kernel_size=n, stride=1),
    "steps": lambda x, n: F.avg_pool1d(x[None], kernel_size=2, stride=n),
    "steps_by_place": lambda x, n: F.avg_pool2d(x[None, None], 1, n),
    "steps_of_convolution": lambda x, n: F.conv1d(x[None], torch.ones(1, 3, 1), stride=n),
    "dilation": lambda x, n: F.conv1d(x[None], torch.ones(1, 3, 2), dilation=n),
}


def export(function):
    class Model(torch.nn.Module):
        def forward(self, x):
            return function(x, x.shape[1] // 2)

    with warnings.catch_warnings():
        warnings.simplefilter("error", OnnxExporterWarning)
        return onnxport.export(
            Model(), (torch.randn(3, 6),), input_names=["x"], dynamic_axes={"x": {1: "n"}}, opset_version=18
        )


@pytest.mark.parametrize("name", LIVE)
def test_live(name):
    result = export(LIVE[name])
    for n in (6, 7, 8, 11):
        x = torch.randn(3, n)
        torch.testing.assert_close(result(x), LIVE[name](x, n // 2), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", FIXED)
def test_refused(name):
    with pytest.raises(LoweringError, match="constant"):
        export(FIXED[name])
