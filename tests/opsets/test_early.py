"""Words that opsets 7 to 10 lack: the same numbers as with the op, bit for bit where the op only moves them."""

from __future__ import annotations

import math

import pytest
import torch
from torch.nn import functional as F

from ..harness import LATEST, b8, case, cases, check, f32, f64, i64, operators

inf, nan = math.inf, math.nan
LOST = torch.tensor([[nan, inf, -inf, -0.0], [0.0, 1.0, -2.0, nan], [inf, nan, 3.0, -1.0]])

CHOICES = [
    case("unchosen_lost", lambda c, x: torch.where(c, x, x.abs()), b8(3, 4), LOST),
    case("lost_stays_out", lambda x: torch.where(x > 0, x, torch.zeros(())), LOST),
    case("masked", lambda x, c: x.masked_fill(c, 0), LOST, b8(3, 4)),
    case(
        "dynamic", lambda c, x: torch.where(c, x, x.log()), b8(3, 1), f32(3, 4),
        dynamic={0: {0: "n"}, 1: {0: "n", 1: "m"}},
    ),
    case("float64", lambda c, x: torch.where(c, x, -x), b8(4), f64(3, 4)),
    case("integers", lambda c, x: torch.where(c, x, -x), b8(4), i64(3, 4)),
    case("maximum", lambda x, y: torch.maximum(x, y), f32(3, 1), f32(3, 4)),
    case("fmod", lambda x, y: torch.fmod(x, y), LOST, torch.tensor([inf, 2.0, -inf, 0.7])),
    case("fmod_far", lambda x: torch.fmod(x, 0.1), f32(5, 5, low=-1e6, high=1e6), rtol=0, atol=0),
    case("remainder", lambda x, y: x % y, f32(5, 5), f32(5, 5), rtol=0, atol=0),
    case("floor_divide", lambda x, y: x // y, f32(5, 5), f32(5, 5), rtol=0, atol=0),
]  # fmt: skip

SIZES = [
    case("arange", lambda x: torch.arange(x.shape[0]), f32(3, 4), dynamic={0: "n"}),
    case("arange_step", lambda x: torch.arange(1, x.shape[0] * 2, 3), f32(3, 4), dynamic={0: "n"}),
    case("arange_down", lambda x: torch.arange(x.shape[0], -3, -2), f32(3, 4), dynamic={0: "n"}),
    case("arange_none", lambda x: torch.arange(x.shape[0] - 3, 3), f32(3, 4), dynamic={0: "n"}),
    case("expand", lambda x: x.expand(5, -1, 4), f32(3, 1), dynamic={0: "n"}),
    case("expand_as", lambda x, y: x.expand_as(y), f32(3, 1), f32(3, 4), dynamic={0: {0: "n"}, 1: {0: "n", 1: "m"}}),
    case("zeros", lambda x: torch.zeros(x.shape[0], 3), f32(3, 4), dynamic={0: "n"}),
    case("slice_step", lambda x: x[1::2], f32(5, 4), dynamic={0: "n"}),
    case("slice_tail", lambda x: x[-x.shape[1] :], f32(5, 4), dynamic={1: "n"}),
    case("slice_whole_fours", lambda x: x[: x.shape[0] - x.shape[0] % 4], f32(9, 2), dynamic={0: "n"}),
    case("slice_perhaps_negative", lambda x: x[x.shape[0] - 6 :], f32(7, 2), dynamic={0: "n"}),
    case("slice_far", lambda x: x[: 3 * x.shape[0] - 21], f32(9, 2), dynamic={0: "n"}),
    case("flip", lambda x: x.flip(0), f32(5, 4), dynamic={0: "n"}),
    case("pad", lambda x: F.pad(x, (x.shape[0] - 1, x.shape[0])), f32(3, 4), dynamic={0: "n"}),
    case("pad_or_crop", lambda x: F.pad(x, (x.shape[0] - 3, 3 - x.shape[0])), f32(3, 8), dynamic={0: "n"}),
    case("pad_reflect", lambda x: F.pad(x, (x.shape[0] - 1, 2), mode="reflect"), f32(3, 9), dynamic={0: "n"}),
    case("pad_edge", lambda x: F.pad(x, (x.shape[0] - 1, 2), mode="replicate"), f32(3, 9), dynamic={0: "n"}),
    case("cumsum", lambda x: x.cumsum(0), f32(4, 3), dynamic={0: "n"}),
]

PLACES = [
    case("mask", lambda x: x[x > 0], f32(3, 4)),
    case("mask_of_rows", lambda x: x[x[:, 0] > 0], f32(5, 4), dynamic={0: "n"}),
    case("nonzero", lambda x: x.nonzero(), i64(3, 4, 2, low=0, high=1), dynamic={1: "n"}),
    case("nonzero_of_none", lambda x: x.nonzero(), f32(3, 2), dynamic={0: "n"}, others=[(torch.ones(0, 2),)]),
    case(
        "scatter_perhaps_none",
        lambda x, i, y: x.scatter(0, i, y),
        f32(3, 2),
        i64(4, 2, low=0, high=0),
        torch.ones(4, 2),
        dynamic={1: {0: "n"}, 2: {0: "n"}},
        others=[(torch.ones(3, 2), torch.zeros(0, 2).long(), torch.zeros(0, 2))],
    ),
    case("nonzero_nowhere", lambda x: (x > 9).nonzero(), f32(3, 4)),
    case("masked_select", lambda x, m: x.masked_select(m), f32(3, 4), b8(4)),
    case("gather", lambda x, i: x.gather(1, i), f32(3, 4), i64(2, 5, low=0, high=3)),
    case("scatter", lambda x, y: x.scatter(1, torch.tensor([[3, 0], [1, 2]]), y), f32(3, 4), f32(2, 2)),
    case("index_put", lambda x, y: x.index_put((torch.tensor([0, 2]),), y), f32(3, 4), f32(2, 4)),
    case("two_indices", lambda x: x[torch.tensor([0, 1]), torch.tensor([1, 2])], f32(3, 4)),
    case("cumsum_lost", lambda x: x.cumsum(1), torch.tensor([[1.0, inf, 2.0], [nan, 1.0, 2.0]])),
    case("cumsum_integers", lambda x: x.cumsum(1), i64(3, 70, low=-(2**40), high=2**40)),
    case("solve", lambda x, y: torch.linalg.solve(x, y), torch.tensor([[0.0, 2.0], [1.0, 1.0]]), f32(2, 3)),
    case("nearest_quantile", lambda x: x.quantile(0.3, interpolation="nearest"), f32(9)),
]


@cases(CHOICES, opsets=(7, 8, 9, 10, LATEST))
def test_choices(case, frontend, opset):
    check(case, frontend, opset)


@cases(SIZES, opsets=(7, 8, 9, 10, 11, LATEST))
def test_sizes(case, frontend, opset):
    check(case, frontend, opset)


@cases(PLACES, opsets=(7, 8, 9, 10, 11, LATEST))
def test_places(case, frontend, opset):
    check(case, frontend, opset)


@pytest.mark.parametrize("opset, op", [(8, "Loop"), (10, "NonZero"), (11, "Range")])
def test_range_by_opset(opset, op):
    assert op in operators(check(SIZES[0], "trace", opset))
