"""Convolutions and transposed convolutions."""

import pytest
import torch
import torch.nn.functional as F
from tests.harness import LATEST, case, cases, check, f16, f32, f64, i64, operators
from torch import nn

import onnxport

CONV = [
    case("1d", nn.Conv1d(3, 4, 3, padding=1), f32(2, 3, 8), dynamic={0: "n", 2: "t"}),
    case("2d", nn.Conv2d(3, 4, 3, stride=2, padding=1), f32(2, 3, 8, 9), dynamic={0: "n", 2: "h", 3: "w"}),
    case("2d_no_bias", nn.Conv2d(3, 4, (3, 2), bias=False), f32(2, 3, 8, 9)),
    case("2d_groups", nn.Conv2d(4, 6, 3, groups=2, dilation=2), f32(2, 4, 8, 9)),
    case("2d_depthwise", nn.Conv2d(4, 8, 3, groups=4), f32(2, 4, 8, 9)),
    case("3d", nn.Conv3d(2, 3, (1, 2, 3)), f32(2, 2, 4, 5, 6)),
    case("unbatched", nn.Conv2d(3, 4, 3), f32(3, 8, 9), dynamic={1: "h"}),
    case("same", nn.Conv2d(3, 4, (2, 3), padding="same"), f32(2, 3, 8, 9), dynamic={2: "h"}),
    case("same_dilated", nn.Conv1d(3, 4, 4, padding="same", dilation=3), f32(2, 3, 12)),
    case("valid", nn.Conv1d(3, 4, 4, padding="valid"), f32(2, 3, 12)),
    case("half", nn.Conv1d(3, 4, 3).half(), f16(2, 3, 12)),
    case("weight_input", lambda x, w: F.conv2d(x, w, padding=(1, 0)), f32(2, 3, 8, 9), f32(4, 3, 3, 3)),
    case("batch_of_none", nn.Conv1d(3, 4, 3), f32(0, 3, 8)),
    case("tbc", lambda x, w, b: torch.conv_tbc(x, w, b, 1), f32(8, 2, 3), f32(3, 3, 4), f32(4)),
    case("functional", lambda x, w: torch.convolution(x, w, None, [1], [0], [1], False, [0], 1), f32(2, 3, 8), f32(4, 3, 2)),
]  # fmt: skip


class ToSizeOf(nn.Module):
    """Down by two, and up again to the size that there was."""

    def __init__(self, up: nn.ConvTranspose2d) -> None:
        super().__init__()
        self.down, self.up = nn.Conv2d(3, 4, 3, stride=up.stride, padding=1), up

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.up(self.down(x), output_size=x.size()[2:])


IMAGE = {0: "n", 2: "h", 3: "w"}
TRANSPOSED = [
    case("1d", nn.ConvTranspose1d(3, 4, 3), f32(2, 3, 8), dynamic={0: "n", 2: "t"}),
    case("2d", nn.ConvTranspose2d(3, 4, 3, stride=2, padding=1, output_padding=1), f32(2, 3, 5, 6), dynamic={2: "h"}),
    case("2d_groups", nn.ConvTranspose2d(4, 6, 3, groups=2, dilation=2), f32(2, 4, 8, 9)),
    case("3d", nn.ConvTranspose3d(2, 3, 2, stride=2), f32(2, 2, 3, 4, 5)),
    case("unbatched", nn.ConvTranspose2d(3, 4, 3, bias=False), f32(3, 5, 6)),
    case(
        "output_padding_beyond_stride",
        nn.ConvTranspose2d(4, 4, 3, stride=(3, 2), padding=1, output_padding=(2, 3), groups=2, dilation=4),
        f32(2, 4, 4, 4),
    ),
]

# `output_size` of another tensor, which may be odd or even.
SKIPS = [
    case("like_the_input", ToSizeOf(nn.ConvTranspose2d(4, 3, 3, stride=2, padding=1)), f32(2, 3, 8, 7), dynamic=IMAGE,
         others=[(torch.randn(1, 3, h, w),) for h, w in ((8, 8), (9, 11), (5, 6))]),
    case("dilated", ToSizeOf(nn.ConvTranspose2d(4, 3, 3, stride=(1, 2), padding=(1, 2), dilation=(1, 2))), f32(2, 3, 8, 7),
         dynamic=IMAGE, others=[(torch.randn(1, 3, 2 * h, w),) for h, w in ((4, 8), (3, 11))]),
]  # fmt: skip


# Runtimes have no kernels for these dtypes: spelled out.
OTHER_DTYPES = [
    case("double", nn.Conv2d(4, 6, 3, 2, 1, groups=2).double(), f64(2, 4, 8, 9), dynamic={0: "n", 2: "h"}),
    case("int", lambda x, w: F.conv2d(x, w), i64(2, 3, 6, 5), i64(4, 3, 3, 3)),
    case("double_dilated", nn.Conv1d(3, 4, 3, dilation=2).double(), f64(2, 3, 8)),
    case("transposed_double", nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1, output_padding=1, groups=2).double(),
         f64(2, 4, 5, 6), dynamic={0: "n", 3: "w"}),
    case("transposed_double_padding", nn.ConvTranspose1d(2, 3, 2, padding=2).double(), f64(2, 2, 9)),
]  # fmt: skip


@cases(CONV, opsets=(7, 11, LATEST))
def test_conv(case, frontend, opset):
    check(case, frontend, opset)


@cases(TRANSPOSED, opsets=(7, 11, LATEST))
def test_conv_transpose(case, frontend, opset):
    check(case, frontend, opset)


@cases(SKIPS, opsets=(9, LATEST))
def test_sizes_of_another_tensor(case, frontend, opset):
    check(case, frontend, opset)


@pytest.mark.parametrize("frontend", ["script", "exported"])
def test_output_padding_that_is_a_size(frontend):
    module = ToSizeOf(nn.ConvTranspose2d(4, 3, 3, stride=2, padding=1)).eval()
    example, sizes = (
        torch.randn(2, 3, 8, 7),
        {0: torch.export.Dim.AUTO, 2: torch.export.Dim.AUTO, 3: torch.export.Dim.AUTO},
    )
    source = torch.jit.script(module)
    if frontend == "exported":
        source = torch.export.export(module, (example,), dynamic_shapes=(sizes,), strict=False)
    axes = {"x": [0, 2, 3]} if frontend == "script" else None
    result = onnxport.export(source, (example,), None, input_names=["x"], dynamic_axes=axes, opset_version=17)
    for h, w in ((8, 7), (9, 11), (5, 6)):
        x = torch.randn(3, 3, h, w)
        torch.testing.assert_close(result(x), module(x), rtol=1e-4, atol=1e-5)


@cases(OTHER_DTYPES, opsets=(11, LATEST))
def test_other_dtypes(case, frontend, opset):
    check(case, frontend, opset)


def test_conv_is_one_node():
    assert operators(check(CONV[1])) == ["Conv"]
