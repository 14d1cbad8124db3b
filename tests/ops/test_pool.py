"""Pooling."""

import itertools

import torch
import torch.nn.functional as F
from tests.harness import LATEST, case, cases, check, f16, f32, f64, i64, operators
from torch import nn

MAX = [
    case("1d", nn.MaxPool1d(2), f32(2, 3, 7), dynamic={0: "n", 2: "t"}),
    case("2d", nn.MaxPool2d(3, stride=2, padding=1), f32(2, 3, 7, 8), dynamic={0: "n", 2: "h"}),
    case("3d", nn.MaxPool3d((1, 2, 3)), f32(2, 3, 4, 5, 6)),
    case("unbatched", nn.MaxPool2d(3), f32(3, 7, 8)),
    case("dilated", nn.MaxPool2d(2, dilation=(2, 3)), f32(2, 3, 9, 9)),
    case("ceil", nn.MaxPool2d(3, stride=2, ceil_mode=True), f32(2, 3, 8, 9)),
    case("ceil_dilated", nn.MaxPool1d(2, stride=4, dilation=5, ceil_mode=True), f32(2, 3, 9)),
    case("ceil_dropped_window", nn.MaxPool1d(2, stride=3, padding=1, ceil_mode=True), f32(2, 3, 6)),
    case("ceil_dynamic", nn.MaxPool2d(3, stride=2, padding=1, ceil_mode=True), f32(2, 3, 8, 9),
         dynamic={2: "h", 3: "w"}),
    case("double", nn.MaxPool2d(2), f64(2, 3, 6, 6)),
    case("half", nn.MaxPool2d(2), f16(2, 3, 6, 6)),
    case("int", nn.MaxPool2d(2), i64(2, 3, 6, 6)),
]  # fmt: skip

INDICES = [
    case("1d", nn.MaxPool1d(2, return_indices=True), f32(2, 3, 7)),
    case("2d", nn.MaxPool2d(3, 2, 1, return_indices=True), f32(2, 3, 7, 8), dynamic={0: "n", 2: "h"}),
    case("3d", nn.MaxPool3d(2, return_indices=True), f32(2, 3, 4, 5, 6)),
    case("unbatched", nn.MaxPool2d(2, return_indices=True), f32(3, 7, 8)),
    case("unpool", lambda x: torch._C._nn.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), [7, 8]), f32(2, 3, 6, 8)),
]  # fmt: skip


@cases(MAX, opsets=(7, 9, 10, LATEST))
def test_max_pool(case, frontend, opset):
    check(case, frontend, opset)


@cases(INDICES, opsets=(9, 12, LATEST))
def test_max_pool_with_indices(case, frontend, opset):
    check(case, frontend, opset)


AVERAGE = [
    case(f"2d_{size}_{kernel}_{stride}_{pad}_{ceil}_{include}_{divisor}",
         nn.AvgPool2d(kernel, stride, pad, ceil, include, divisor), f32(1, 2, size, size + 1))
    for size, (kernel, stride, pad), ceil, include, divisor in itertools.product(
        (6, 7), ((3, 2, 1), (2, 3, 1), (4, 3, 0)), (False, True), (False, True), (None, 3))
] + [
    case("1d", nn.AvgPool1d(2), f32(2, 3, 7), dynamic={0: "n", 2: "t"}),
    case("3d", nn.AvgPool3d(2, padding=1), f32(2, 3, 4, 5, 6)),
    case("unbatched", nn.AvgPool2d(2), f32(3, 6, 7)),
    case("dynamic", nn.AvgPool2d(3, 2, 1, count_include_pad=False), f32(2, 3, 7, 8), dynamic={2: "h", 3: "w"}),
    case("double", nn.AvgPool2d(3, 2, 1), f64(2, 3, 7, 8)),
    case("larger_than_axes", nn.AvgPool2d(100000, ceil_mode=True), f32(1, 3, 7, 8)),
    case("larger_in_small_steps", nn.AvgPool1d(9, 2, 1, ceil_mode=True, count_include_pad=False), f32(1, 3, 6)),
    case("lp", nn.LPPool2d(2, 3), f32(2, 3, 6, 7, low=0.1)),
]  # fmt: skip

AVERAGE_DYNAMIC = [
    case("ceil", nn.AvgPool2d(3, 2, 1, ceil_mode=True), f32(2, 3, 7, 8), dynamic={2: "h", 3: "w"}),
    case("ceil_exclude", nn.AvgPool1d(3, 2, 1, True, False), f32(2, 3, 8), dynamic={2: "h"}),
    case("double", nn.AvgPool2d(3, 2, 1, count_include_pad=False).double(), f64(2, 3, 7, 8), dynamic={2: "h"}),
    case("rows", nn.AvgPool2d(3, ceil_mode=True), f32(2, 3, 7, 8), dynamic={2: "h", 3: "w"}),
    case("rows_divisor", nn.AvgPool2d(4, 4, 1, True, True, 5), f32(2, 3, 7, 8), dynamic={3: "w"}),
    case("rows_exclude", nn.AvgPool1d(4, 4, 2, True, False), f32(2, 3, 7), dynamic={2: "w"}),
    case("rows_double", nn.AvgPool2d(3, ceil_mode=True).double(), f64(2, 3, 7, 8), dynamic={2: "h"}),
    case("larger_than_axes", nn.AvgPool2d(100000, ceil_mode=True), f32(2, 3, 7, 8), dynamic={2: "h", 3: "w"}),
]


@cases(AVERAGE, opsets=(7, 10, 19, LATEST))
def test_avg_pool(case, frontend, opset):
    check(case, frontend, opset)


@cases(AVERAGE_DYNAMIC, opsets=(11, LATEST))
def test_avg_pool_dynamic(case, frontend, opset):
    check(case, frontend, opset)


ADAPTIVE = [
    case("one", nn.AdaptiveAvgPool2d(1), f32(2, 3, 6, 7), dynamic={0: "n", 2: "h", 3: "w"}),
    case("one_double", nn.AdaptiveAvgPool2d(1), f64(2, 3, 6, 7)),
    case("divides", nn.AdaptiveAvgPool2d((2, 3)), f32(2, 3, 4, 6), dynamic={0: "n"}),
    case("none", nn.AdaptiveAvgPool2d((None, 3)), f32(2, 3, 4, 6)),
    case("none_dynamic", nn.AdaptiveAvgPool2d((None, 3)), f32(2, 3, 4, 6), dynamic={2: "h"}),
    case("1d", nn.AdaptiveAvgPool1d(4), f32(2, 3, 7)),
    case("2d", nn.AdaptiveAvgPool2d((3, 5)), f32(2, 3, 7, 8)),
    case("larger", nn.AdaptiveAvgPool2d((7, 7)), f32(2, 3, 3, 5)),
    case("infinite", lambda x: F.adaptive_avg_pool1d(x / (x > 1.5), 3), f32(2, 3, 7)),
    case("3d", nn.AdaptiveAvgPool3d((2, 3, 4)), f32(2, 3, 5, 6, 7)),
    case("unbatched", nn.AdaptiveAvgPool2d(3), f32(3, 7, 8)),
    case("dynamic", nn.AdaptiveAvgPool2d((3, 5)), f32(2, 3, 7, 8), dynamic={2: "h", 3: "w"}),
    case("max_one", nn.AdaptiveMaxPool2d(1), f32(2, 3, 6, 7), dynamic={0: "n", 2: "h", 3: "w"}),
    case("max_divides", nn.AdaptiveMaxPool2d((2, 3)), f32(2, 3, 4, 6)),
    case("max_1d", nn.AdaptiveMaxPool1d(4), f32(2, 3, 7)),
    case("max_dynamic", nn.AdaptiveMaxPool2d((3, 5)), f32(2, 3, 7, 8), dynamic={2: "h", 3: "w"}),
    case("max_indices", nn.AdaptiveMaxPool2d((3, 5), return_indices=True), f32(2, 3, 7, 8)),
    case("max_indices_3d", nn.AdaptiveMaxPool3d(3, return_indices=True), f32(2, 3, 7, 8, 4)),
]  # fmt: skip


@cases(ADAPTIVE, opsets=(8, 9, 12, LATEST))
def test_adaptive(case, frontend, opset):
    check(case, frontend, opset)


def test_forms():
    assert operators(check(MAX[1])) == ["MaxPool"]
    assert operators(check(ADAPTIVE[0])) == ["GlobalAveragePool"]


def _fractional(function, kernel, size):
    return lambda x, samples: function(x, kernel, size, _random_samples=samples, return_indices=True)


FRACTIONAL = [
    case(
        "plane", _fractional(nn.functional.fractional_max_pool2d, (2, 3), (3, 2)), f32(2, 3, 8, 7), f32(2, 3, 2, low=0, high=0.99),
        dynamic={0: {2: "h", 3: "w"}},
    ),
    case(
        "unbatched", _fractional(nn.functional.fractional_max_pool2d, 2, (4, 1)), f32(3, 8, 7), f32(1, 3, 2, low=0, high=0.99)
    ),
    case(
        "unbatched_of_more_samples", _fractional(nn.functional.fractional_max_pool3d, 2, (4, 1, 2)), f32(3, 8, 7, 6),
        f32(2, 3, 3, low=0, high=0.99),
    ),
    case(
        "volume", _fractional(nn.functional.fractional_max_pool3d, (2, 3, 2), (3, 2, 1)), f32(2, 3, 8, 7, 5),
        f32(2, 3, 3, low=0, high=0.99),
    ),
]  # fmt: skip


@cases(FRACTIONAL, opsets=(11, LATEST))
def test_fractional(case, frontend, opset):
    check(case, frontend, opset)
