"""Ints that a model takes out of tensors: what follows them is computed from the tensor; all else is warned of."""

import re
import warnings

import pytest
import torch

import onnxport
from onnxport.errors import OnnxExporterWarning

BATCH = torch.tensor([0, 0, 0, 0, 1, 1, 1, 1, 1])
LAYERS = (torch.sin, torch.cos, torch.tanh, torch.neg)


def pooled(x, batch):
    count = int(batch.max()) + 1
    total = x.new_zeros(count, x.size(1)).index_add_(0, batch, x)
    return total / x.new_zeros(count).index_add_(0, batch, x.new_ones(x.size(0))).clamp(min=1)[:, None]


def pooled_twice(x, batch):
    return pooled(x, batch), pooled(x * 2, batch)


def split(x, counts):
    return torch.cat([part * (i + 1) for i, part in enumerate(torch.split(x, counts.tolist()))])


def masked(x, lengths):
    mask = torch.arange(int(lengths.max().item()))[None] < lengths[:, None]
    assert mask.shape[1] == x.shape[1]
    return x * mask[..., None]


def cut(x, lengths):
    return x[:, : max(lengths.tolist())]


def repeated(x, counts):
    return torch.arange(counts.sum().item() * 2 + 3) + x.sum().long()


def of_numpy(x, lengths):
    return x[:, : lengths.numpy().max()]


def written_afterwards(x, lengths):
    lengths = lengths + 0
    count = lengths.max().item()
    lengths.add_(5)
    return x.new_zeros(count) + lengths.sum()


def pieces_by_their_ends(x, counts):
    """As experts are given their tokens: one layer for each piece, none for pieces of nothing."""
    start, pieces = 0, []
    for i, count in enumerate(counts.numpy()):
        if count == 0:
            continue
        pieces.append(LAYERS[i](x[start : start + count]))
        start = start + count
    return torch.cat(pieces)


def as_large_as_it_was(x, size):
    """A square, cut to an image's proportions and enlarged to its size, which comes as floats."""
    part = torch.floor(16 / size.max() * size + 0.5).to(torch.int64)
    x = x[..., : int(part[0]), : int(part[1])]
    height, width = size.to(torch.int64)
    return torch.nn.functional.interpolate(x, size=(height, width), mode="nearest")


def doubled_so_often(x, count):
    for _ in range(int(count)):
        x = x * 2 + 1
    return x


def sums_of_steps(x, count):
    steps = []
    for _ in range(int(count.max())):
        x = torch.tanh(x)
        steps.append(x)
    return torch.stack(steps, 1)[:, : int(count.max())]


CASES = {
    "as many steps": (doubled_so_often, (torch.randn(3), torch.tensor(5)), (torch.randn(2), torch.tensor(8)), {"x": {0: "n"}}),
    "as many results": (
        sums_of_steps, (torch.randn(3, 2), torch.tensor([5, 3])), (torch.randn(2, 2), torch.tensor([2, 7])), {"x": {0: "n"}},
    ),
    "floats that are whole": (
        as_large_as_it_was, (torch.randn(2, 1, 16, 16), torch.tensor([15.0, 20.0])),
        (torch.randn(1, 1, 16, 16), torch.tensor([9.0, 4.0])), {"x": {0: "b"}},
    ),
    "the number of graphs": (
        pooled, (torch.randn(9, 4), BATCH), (torch.randn(7, 4), torch.tensor([0, 0, 1, 2, 3, 3, 4])), {"x": {0: "n"}, "batch": {0: "n"}},
    ),
    "the same, read twice": (
        pooled_twice, (torch.randn(9, 4), BATCH), (torch.randn(7, 4), torch.tensor([0, 0, 1, 2, 3, 3, 4])), {"x": {0: "n"}, "batch": {0: "n"}},
    ),
    "a list of counts": (split, (torch.randn(9, 2), torch.tensor([4, 3, 2])), (torch.randn(9, 2), torch.tensor([1, 2, 6])), {"x": {1: "w"}}),
    "lengths as long as the axis": (
        masked, (torch.randn(2, 9, 3), torch.tensor([9, 7])), (torch.randn(3, 12, 3), torch.tensor([5, 12, 1])),
        {"x": {0: "b", 1: "t"}, "lengths": {0: "b"}},
    ),
    "the largest of a list": (
        cut, (torch.randn(3, 9), torch.tensor([6, 4, 3])), (torch.randn(3, 9), torch.tensor([3, 2, 5])), {"x": {1: "w"}},
    ),
    "a sum, and arithmetic": (repeated, (torch.randn(3), torch.tensor([4, 2])), (torch.randn(3), torch.tensor([1, 7])), {"x": {0: "n"}}),
    "sums up to each of a list": (
        pieces_by_their_ends, (torch.randn(9, 2), torch.tensor([2, 1, 4, 2])), (torch.randn(9, 2), torch.tensor([5, 0, 1, 3])), {"x": {1: "w"}},
    ),
    "by numpy": (of_numpy, (torch.randn(3, 9), torch.tensor([6, 4, 3])), (torch.randn(3, 9), torch.tensor([3, 2, 5])), {"x": {1: "w"}}),
    "written to afterwards": (
        written_afterwards, (torch.randn(2), torch.tensor([4, 2])), (torch.randn(2), torch.tensor([1, 7])), {"x": {0: "n"}},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_ints_that_are_followed(name):
    function, example, other, axes = CASES[name]
    names = list(function.__code__.co_varnames[:2])
    with warnings.catch_warnings():
        warnings.simplefilter("error", OnnxExporterWarning)
        result = onnxport.export(function, example, input_names=names, dynamic_axes=axes, opset_version=17)
    for arguments in (example, other):
        expected = function(*(a.clone() for a in arguments))
        torch.testing.assert_close(result(*arguments), expected)


def chosen(x, counts):
    return x * 2 if counts.max().item() > 3 else x + 1


def of_floats(x, counts):
    return x[: int(x.abs().max().item() * 2) + 1]


def first_of_equal(x, counts):
    """Which element is the largest can't be told from one that is the first, where nothing else runs."""
    assert counts.tolist() == sorted(counts.tolist(), reverse=True)
    return x[: max(counts.tolist())]


@pytest.mark.parametrize("function", [chosen, of_floats, first_of_equal])
def test_all_else_is_warned_of(function):
    example = torch.tensor([1.0, 2.0, 0.5, 0.3, 0.7, 0.1]), torch.tensor([4, 2, 2])
    with pytest.warns(OnnxExporterWarning) as caught:
        onnxport.export(function, example, input_names=["x", "counts"], dynamic_axes={"x": {0: "n"}})
    assert any(re.search("takes the value of a tensor|may be right only", str(w.message)) for w in caught)


def test_without_dynamic_axes_they_are_constants():
    with pytest.warns(OnnxExporterWarning, match=r"test_readings.py:\d+ takes the value of a tensor as a Python int"):
        result = onnxport.export(pooled, (torch.randn(9, 4), BATCH))
    shape = result.model.graph.outputs[0].shape
    assert shape is not None and list(shape) == [2, 4]


def test_nothing_is_left_of_what_was_not_followed():
    def checked(x, counts):
        if int((counts * 2).sum()) > 100:
            return x
        return x + 1

    with pytest.warns(OnnxExporterWarning, match="as a Python int"):
        result = onnxport.export(
            checked, (torch.randn(3), torch.tensor([4, 2])), input_names=["x", "counts"], dynamic_axes={"x": {0: "n"}}
        )
    assert [node.op_type for node in result.model.graph] == ["Add"]


def test_readings_that_nothing_tells_apart_are_warned_of():
    """The last one is taken, which is a guess; what is read twice of one tensor is one reading, and no guess."""

    class Model(torch.nn.Module):
        def forward(self, x, lengths):
            first, second = int(lengths.max()), int(lengths.float().max().long())
            return torch.arange(second) + first * 0 + x.sum().long() * 0

    axes = {"x": {0: "n"}, "lengths": {0: "n"}}
    args = (torch.randn(3, 5), torch.tensor([1, 2, 3]))
    with pytest.warns(OnnxExporterWarning, match="takes ints out of tensors, several of which were alike in all runs"):
        result = onnxport.export(Model(), args, input_names=list(axes), dynamic_axes=axes)
    assert result(torch.randn(3, 5), torch.tensor([1, 2, 5])).shape == (5,)


def experts(x):
    """One layer for the tokens of each expert; at small sizes some have none."""
    expert = (x[:, 0] > 0).long() + 2 * (x[:, 1] > 0).long()
    order = expert.argsort(stable=True)
    pieces = pieces_by_their_ends(x[order], torch.bincount(expert, minlength=4))
    return torch.zeros_like(pieces).index_copy(0, order, pieces)


def test_experts_without_tokens():
    x = torch.randn(40, 2, generator=torch.Generator().manual_seed(0))
    with warnings.catch_warnings():
        warnings.simplefilter("error", OnnxExporterWarning)
        result = onnxport.export(experts, (x,), input_names=["x"], dynamic_axes={"x": {0: "n"}}, opset_version=17)
    for count in (40, 23, 2, 1):
        torch.testing.assert_close(result(x[:count]), experts(x[:count]))
