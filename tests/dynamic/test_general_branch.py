"""An `if` on a size one branch of which does for all sizes: padding by what may be nothing, cutting what may be all."""

import math
import warnings

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import onnxport
from onnxport.errors import OnnxExporterWarning


def padded(x):
    pad = (4 - x.shape[1] % 4) % 4
    if pad > 0:
        x = F.pad(x, (0, 0, 0, pad))
    windows = x.view(x.shape[0], -1, 4, x.shape[2])
    return windows.mean(2)


def padded_and_cut(x):
    length = x.shape[1]
    pad = -length % 4
    if pad:
        x = F.pad(x, (0, 0, 0, pad))
    x = x.view(x.shape[0], -1, 4, x.shape[2]).softmax(2).flatten(1, 2)
    if pad:
        x = x[:, :length]
    return x


def cut_to_a_table(x):
    table = torch.arange(24.0).view(1, 8, 3)
    if x.shape[1] != 8:
        table = F.interpolate(table.transpose(1, 2), size=x.shape[1], mode="linear").transpose(1, 2)
    return x + table


def shifted_windows(x):
    """With a mask that is made of Python numbers."""
    length = x.shape[1]
    whole = int(np.ceil(length / 4)) * 4
    part = torch.zeros(whole)
    for number, rows in enumerate((slice(0, -4), slice(-4, -2), slice(-2, None))):
        part[rows] = number
    part = part.view(-1, 4)
    mask = (part[:, None] - part[:, :, None]).ne(0) * -100.0
    y = F.pad(x, (0, 0, 0, -length % 4)).roll(-2, 1).reshape(x.shape[0], -1, 4, x.shape[2])
    y = ((y @ y.transpose(-2, -1) + mask).softmax(-1) @ y).flatten(1, 2).roll(2, 1)
    if whole > length:
        y = y[:, :length].contiguous()
    return x + y


def part_of_a_size(x):
    """Cut to what follows a half of the size."""
    half = x[:, ::2]
    whole = math.ceil(int(half.shape[1]) / 4) * 4
    y = F.pad(half, (0, 0, 0, whole - half.shape[1])) + torch.ones(whole, 1).cumsum(0)
    return y if whole == half.shape[1] else y[:, : half.shape[1]]


def one_or_all(x):
    if x.shape[1] % 2:
        x = torch.cat([x, x[:, -1:]], 1)
    return x


def groups(x):
    """Of four, or a single one: other sizes that are multiples of four are none of those that need the `if`."""
    n = x.shape[1]
    size = min(4, n) if n % min(4, n) == 0 else n
    return x + x.reshape(x.shape[0], size, -1, 3).std(1).mean((1, 2))[:, None, None]


def export(function, n):
    class Model(torch.nn.Module):
        def forward(self, x):
            return function(x)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", OnnxExporterWarning)
        result = onnxport.export(
            Model(), (torch.randn(2, n, 3),), input_names=["x"], dynamic_axes={"x": {0: "b", 1: "n"}}, opset_version=18
        )
    return result, [str(w.message) for w in caught if issubclass(w.category, OnnxExporterWarning)]


@pytest.mark.parametrize("n", [8, 7])
@pytest.mark.parametrize(
    "function", [padded, padded_and_cut, cut_to_a_table, shifted_windows], ids=lambda f: f.__name__
)
def test_the_general_branch_is_taken(function, n):
    result, said = export(function, n)
    assert not said
    for size in ((2, 8), (1, 5), (3, 12), (2, 3), (1, 4), (2, 17)):
        x = torch.randn(*size, 3)
        torch.testing.assert_close(result(x), function(x), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("n", [32, 30])
def test_cut_to_a_multiple_of_a_part(n):
    result, said = export(part_of_a_size, n)
    assert not said
    for size in (32, 30, 17, 5, 1, 44, 71):
        x = torch.randn(2, size, 3)
        torch.testing.assert_close(result(x), part_of_a_size(x))


@pytest.mark.usefixtures("one_recording")
@pytest.mark.parametrize(("function", "n"), [(one_or_all, 8), (one_or_all, 7), (groups, 4), (groups, 2)])
def test_where_no_branch_does_for_all_it_is_told(function, n):
    _, said = export(function, n)
    assert any("may be" in text for text in said)


class Table(torch.nn.Module):
    """Positions, of which more are made where there are too few."""

    def __init__(self):
        super().__init__()
        self.make(16)

    def make(self, count):
        angles = torch.arange(count).float()[:, None] * torch.tensor([1.0, 0.3])
        self.weights = torch.nn.Buffer(torch.cat([angles.sin(), angles.cos()], 1), persistent=False)

    def forward(self, ids):
        if ids.shape[1] > self.weights.shape[0]:
            self.make(ids.shape[1] + 2)
        places = ids.ne(1).long().cumsum(1) - 1
        return self.weights.index_select(0, places.clamp(min=0).view(-1)).view(*ids.shape, -1)


class Tables(torch.nn.Module):
    """Each grows by an axis of its own, so that neither way of one `if` shows the other's."""

    def __init__(self):
        super().__init__()
        self.source, self.target = Table(), Table()

    def forward(self, a, b):
        return self.target(b) @ self.source(a).mT


@pytest.mark.parametrize("sizes", [(4, 3), (20, 3), (3, 20), (20, 21)])
def test_tables_that_grow_each_by_an_axis(sizes):
    def arguments(batch, n, m):
        return torch.randint(2, 9, (batch, n)), torch.randint(2, 9, (batch, m))

    with warnings.catch_warnings():
        warnings.simplefilter("error", OnnxExporterWarning)
        axes = {"a": {0: "batch", 1: "n"}, "b": {0: "batch", 1: "m"}}
        result = onnxport.export(Tables(), arguments(2, *sizes), dynamic_axes=axes, opset_version=18)
    for n, m in ((4, 3), (50, 3), (5, 60), (40, 40), (1, 1)):
        given = arguments(3, n, m)
        torch.testing.assert_close(result(*given), Tables()(*given), rtol=1e-4, atol=1e-5)


class Sinusoids(torch.nn.Module):
    """A table of positions that is made anew where it is too short."""

    def __init__(self, most=50):
        super().__init__()
        self.make(most)

    def make(self, count):
        angles = torch.arange(count).float()[:, None] * torch.tensor([1.0, 0.1])
        self.table = torch.nn.Buffer(torch.cat([angles.sin(), angles.cos()], 1), persistent=False)

    def forward(self, x, past):
        last = x.shape[1] + past.shape[1]
        if last > self.table.shape[0]:
            self.make(last + 2)
        return x + self.table[past.shape[1] : last]


def cut_to_the_most(x, past):
    if x.shape[1] > 50:
        x = x[:, :50]
    return x * 2 + past.sum()


@pytest.mark.parametrize("function", [Sinusoids(), cut_to_the_most], ids=["table", "cut"])
def test_what_is_done_far_above_the_example_may_do_for_all(function):
    """The branch that is taken at large sizes only is taken at all."""
    example = torch.randn(2, 5, 4), torch.randn(2, 3, 4)
    axes = {"x": {0: "batch", 1: "new"}, "past": {0: "batch", 1: "past"}}
    with warnings.catch_warnings():
        warnings.simplefilter("error", OnnxExporterWarning)
        result = onnxport.export(function, example, input_names=["x", "past"], dynamic_axes=axes)
    for batch, new, past in (1, 1, 1), (3, 49, 1), (2, 50, 0), (2, 51, 3), (1, 400, 30), (1, 2, 300):
        x, y = torch.randn(batch, new, 4), torch.randn(batch, past, 4)
        np.testing.assert_allclose(result(x, y), function(x, y), rtol=1e-4, atol=1e-4)
