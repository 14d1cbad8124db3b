"""What vanishes while the graph is built: layout ops in a row, operands that change nothing, indices that count up."""

from __future__ import annotations

import math

import pytest
import torch
from tests.harness import LATEST, b8, case, cases, check, f32, f64, i64, operators

NM = {0: {0: "n", 1: "m"}}
OPSETS = (7, 9, 11, 12, 13, LATEST)


def used_between(x):
    y = x.unsqueeze(1)
    return y.unsqueeze(1), y * 2


def written_between(x):
    y = x.clone().unsqueeze(0)
    z = y.unsqueeze(0)
    y.add_(1)
    return z, y


CHAINS = [
    (case("unsqueeze_twice", lambda x: x[None].unsqueeze(-1), f32(2, 3), dynamic=NM), ["Unsqueeze"]),
    (case("squeeze_twice", lambda x: x.squeeze(0).squeeze(1), f32(1, 3, 1)), ["Squeeze"]),
    (case("and_back", lambda x: x.unsqueeze(1).squeeze(1).abs(), f32(2, 3), dynamic=NM), ["Abs"]),
    (case("view_and_back", lambda x: x.view(-1).view(x.shape).abs(), f32(2, 3), dynamic=NM), ["Abs"]),
    (case("views", lambda x: x.view(6, 4).view(2, 12).view(3, 8), f32(2, 3, 4)), ["Reshape"]),
    (case("view_unsqueezed", lambda x: x.view(6, 4).unsqueeze(0), f32(2, 3, 4)), ["Reshape"]),
    (case("transposes", lambda x: x.transpose(0, 1).transpose(1, 2), f32(2, 3, 4), dynamic=NM), ["Transpose"]),
    (case("transposed_back", lambda x: x.mT.mT.abs(), f32(2, 3, 4), dynamic=NM), ["Abs"]),
    (case("permuted_around", lambda x: x.permute(1, 2, 0).permute(2, 0, 1).abs(), f32(2, 3, 4)), ["Abs"]),
    (case("axis_of_one_to_the_middle", lambda x: x.view(x.shape[0], 1, *x.shape[1:]), f32(2, 3, 4), dynamic={0: {0: "n", 1: "m", 2: "k"}}), ["Unsqueeze"]),
    (case("axis_of_one_dropped", lambda x: x.reshape(x.shape[1:]), f32(1, 2, 3), dynamic={0: {1: "n", 2: "m"}}), ["Squeeze"]),
    (case("used_between", used_between, f32(2, 3), dynamic=NM), ["Unsqueeze", "Unsqueeze", "Mul"]),
    (case("mixed_axes", lambda x: x.mT.reshape(-1).view(x.shape[1], -1), f32(2, 3), dynamic=NM), None),
    (case("empty", lambda x: x.view(0, 2, 3).view(0, 6).unsqueeze(0), f32(0, 6)), None),
    (case("written_between", written_between, f32(2, 3), dynamic=NM), None),
]  # fmt: skip


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize(("case", "expected"), CHAINS, ids=[row[0].name for row in CHAINS])
def test_chains(case, expected, opset):
    found = operators(check(case, "trace", opset))
    if expected is not None and opset >= 13:
        assert found == expected


ZERO = torch.tensor([-0.0, 0.0, 1.5, math.inf, -math.inf, math.nan])


def signs(x):
    """0.0 and -0.0 are equal, but not what they divide."""
    return 1 / x, x


NEUTRAL = [
    (case("times_one", lambda x: x * 1, f32(2, 3)), ["Identity"]),
    (case("one_times", lambda x: 1.0 * x, f32(2, 3)), ["Identity"]),
    (case("divided_by_one", lambda x: (x / 1).abs(), f32(2, 3)), ["Abs"]),
    (case("less_zero", lambda x: signs(x - 0.0), ZERO), ["Reciprocal", "Identity"]),
    (case("plus_zero", lambda x: signs(x + 0.0), ZERO), ["Add", "Reciprocal"]),
    (case("plus_negative_zero", lambda x: signs(x + torch.tensor(-0.0)), ZERO), ["Reciprocal", "Identity"]),
    (case("integer_plus_zero", lambda x: (0 + x).abs(), i64(2, 3)), ["Abs"]),
    (case("and_true", lambda x: x & torch.ones(1, dtype=torch.bool), b8(2, 3)), ["Identity"]),
    (case("or_false", lambda x: (x | False) ^ x, b8(2, 3)), ["Xor"]),
    (case("and_false", lambda x: x & False, b8(2, 3)), ["And"]),
    (case("zero_less", lambda x: 0 - x, f32(2, 3)), None),
    (case("one_over", lambda x: 1 / x, f32(2, 3, low=1)), None),
    (case("to_the_first", lambda x: torch.pow(x, torch.ones(1)).abs(), f32(2, 3)), ["Abs"]),
    (case("made_larger", lambda x: x * torch.ones(1, 1, 1), f32(2, 3)), ["Mul"]),
    (case("made_wider", lambda x: x * torch.ones((), dtype=torch.float64).expand(1), f32()), None),
    (case("made_double", lambda x: x * torch.ones(1, dtype=torch.float64), f32(2)), None),
    (case("double", lambda x: (x * 1.0).abs(), f64(2)), ["Abs"]),
]  # fmt: skip


@pytest.mark.parametrize("opset", (9, 13, LATEST))
@pytest.mark.parametrize(("case", "expected"), NEUTRAL, ids=[row[0].name for row in NEUTRAL])
def test_neutral_operands(case, expected, opset):
    found = operators(check(case, "trace", opset))
    if expected is not None and opset >= 13:
        assert found == expected


def counted(x):
    rows, columns = torch.arange(x.shape[0]), torch.arange(x.shape[1])
    return x[rows[:, None, None], columns]


def counted_backwards(x):
    rows, columns = torch.arange(x.shape[0] - 1, -1, -1), torch.arange(x.shape[1])
    return x[rows[:, None], columns]


def diagonal(x):
    rows = torch.arange(x.shape[0])
    return x[rows, rows]


def part(x):
    rows, columns = torch.arange(x.shape[0] // 2), torch.arange(x.shape[1])
    return x[rows[:, None], columns]


def crossed(x):
    rows, columns = torch.arange(x.shape[0]), torch.arange(x.shape[1])
    return x[rows, columns[:, None]]


def behind(x):
    return x[:, torch.arange(x.shape[1])[:, None], torch.arange(3)]


def apart(x):
    return x[torch.arange(x.shape[0])[:, None], :, torch.arange(3)]


def lengths(x):
    return x[torch.arange(x.shape[0]), torch.arange(x.shape[0]) % 2]


INDICES = [
    (case("counted", counted, f32(2, 3), dynamic=NM), {"Reshape"}),
    (case("crossed", crossed, f32(2, 3, 4), dynamic=NM), {"Transpose"}),
    (case("behind", behind, f32(2, 4, 3), dynamic=NM), {"Identity"}),
    (case("apart", apart, f32(2, 4, 3), dynamic=NM), {"Transpose"}),
    (case("fixed", lambda x: x[torch.arange(2)[:, None], torch.arange(3)].abs(), f32(2, 3)), {"Abs"}),
    (case("one_axis", lambda x: x[:, torch.arange(x.shape[1])].abs(), f32(2, 3), dynamic=NM), {"Abs"}),
    (case("diagonal", diagonal, f32(3, 3), dynamic={0: "n", 1: "n"}), None),
    (case("backwards", counted_backwards, f32(2, 3), dynamic=NM), None),
    (case("part", part, f32(4, 3), dynamic=NM), None),
    (case("mixed", lengths, f32(3, 2), dynamic={0: "n"}), None),
    (case("a_row", lambda x: x[torch.arange(x.shape[0])[:, None], torch.arange(1)], f32(2, 3), dynamic=NM), None),
]  # fmt: skip


@pytest.mark.parametrize("opset", (11, 14, LATEST))
@pytest.mark.parametrize(("case", "expected"), INDICES, ids=[row[0].name for row in INDICES])
def test_counted_indices(case, expected, opset):
    found = set(operators(check(case, "trace", opset)))
    if expected is not None:
        assert found == expected
    else:
        assert found & {"Gather", "GatherND"}


class Grouped(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.GroupNorm(2, 4), torch.nn.GroupNorm(4, 4)

    def forward(self, x):
        return self.second(self.first(x).relu())


SIZES = [
    case("group_norms", Grouped(), f32(2, 4, 3, 5), dynamic={0: {0: "n", 2: "h", 3: "w"}}),
    case("view_as", lambda x: x.transpose(0, 1).contiguous().view_as(x) + x, f32(2, 3, 4), dynamic={0: {0: "n", 1: "m", 2: "k"}}),
]  # fmt: skip


@cases(SIZES, opsets=(9, 13, 15, LATEST))
def test_sizes_of_another_tensor(case, frontend, opset):
    assert operators(check(case, frontend, opset)).count("Shape") == 1


def test_padded_weight_is_computed_at_export():
    window = torch.hann_window(16)

    def spectrum(x):
        return torch.stft(x, 32, 8, 16, window, return_complex=True).abs()

    found = operators(check(case("stft", spectrum, f32(2, 100), dynamic=NM), "trace", 16))
    assert found.count("Pad") == 1  # the signal's


PICKS = [
    case("only_one", lambda x: (x[:, 0].abs(), x[:, -1].unsqueeze(-1)), f32(2, 1, 3), dynamic={0: "n"}),
    case("one_of_several", lambda x: x[:, 0], f32(2, 2, 3), dynamic={0: "n"}),
    case("one_of_many", lambda x: x[:, 0], f32(2, 1, 3), dynamic={1: "n"}),
    case("stacked_again", lambda x: torch.stack([x[..., 0], x[..., 0] * 2], -1), f32(2, 3, 1), dynamic={0: "n"}),
]


@cases(PICKS, opsets=OPSETS)
def test_picks_of_one(case, frontend, opset):
    found = operators(check(case, frontend, opset))
    assert ("Gather" in found) == case.name.startswith("one_of")


class Table(torch.nn.Module):
    """A table of positions that is normed and projected anew at each call, as in DeBERTa."""

    def __init__(self, dtype=torch.float32):
        super().__init__()
        self.table = torch.nn.Embedding(6, 8, dtype=dtype)
        self.norm, self.linear = torch.nn.LayerNorm(8, dtype=dtype), torch.nn.Linear(8, 8, dtype=dtype)

    def forward(self, x):
        return x @ self.linear(self.norm(self.table.weight)[None]).transpose(1, 2)


TABLES = [
    case("float", Table(), f32(2, 3, 8), dynamic=NM),
    case("double", Table(torch.float64), f64(2, 3, 8), dynamic=NM, atol=1e-12),
]


@cases(TABLES, opsets=(11, 17, LATEST))
def test_normed_weights_are_computed_at_export(case, frontend, opset):
    assert operators(check(case, frontend, opset)) == ["MatMul"]
