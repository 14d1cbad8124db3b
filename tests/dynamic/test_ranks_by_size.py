"""Squeezes that drop an axis at some sizes: behind an `if` that tells it is dropped; elsewhere it stays, which is told."""

import operator
import warnings

import pytest
import torch

import onnxport
from onnxport.errors import OnnxExporterWarning


def rows_or_sum(x):
    return x.squeeze(0) if x.shape[0] == 1 else x.sum(1)


def there_and_back(x):
    y = x.squeeze(0).unsqueeze(0) * 2 if x.shape[0] == 1 else x.mean(0, keepdim=True)
    return y.transpose(1, 2)


def all_axes(x):
    x = x.mean(0).squeeze() if x.shape[0] == 1 and x.shape[1] == 1 else x.sum((0, 1))
    return torch.relu(x) + 1


def several(x):
    if x.shape[0] == 1 and x.shape[1] == 1:
        return x.squeeze((0, 1)) * 2
    return x.flatten(0, 1).sum(0)


SIZES = [(1, 1), (1, 3), (3, 1), (2, 3), (4, 2), (3, 7)]
WAYS = [rows_or_sum, there_and_back, all_axes, several]


@pytest.mark.parametrize("opset", [11, 20])
@pytest.mark.parametrize("example", [(1, 1), (1, 3), (2, 3)])
@pytest.mark.parametrize("function", WAYS)
def test_an_axis_that_an_if_knows_to_be_1_is_dropped(function, example, opset):
    axes = {"x": {0: "b", 1: "n"}}
    with warnings.catch_warnings():
        warnings.simplefilter("error", OnnxExporterWarning)
        result = onnxport.export(function, (torch.randn(*example, 4),), dynamic_axes=axes, opset_version=opset)
    for sizes in SIZES:
        x = torch.randn(*sizes, 4)
        torch.testing.assert_close(result(x), function(x))


def batched(x):
    y = x.squeeze()
    if y.dim() == 2:  # which isn't asked of sizes
        y = y.unsqueeze(0)
    return y.transpose(1, 2)


def over_the_batch(x):
    return torch.softmax(x.squeeze(), 0).sum(-1) + 1


@pytest.mark.parametrize(("function", "right"), [(batched, SIZES[1:2] + SIZES[3:]), (over_the_batch, SIZES[3:])])
@pytest.mark.parametrize("example", [(1, 3), (2, 3)])
def test_an_axis_of_1_in_the_example_stays_where_that_is_told(function, right, example):
    axes = {"x": {0: "b", 1: "n"}}
    with pytest.warns(OnnxExporterWarning, match="squeeze keeps the axis of size"):
        result = onnxport.export(function, (torch.randn(*example, 4),), dynamic_axes=axes)
    for sizes in right:
        x = torch.randn(*sizes, 4)
        torch.testing.assert_close(result(x), function(x))


def thousands(x):
    return x * len(range(0, x.shape[0], 1000))  # taken


def at_most(x):
    return x * min(1000, operator.index(x.shape[0]))  # taken


@pytest.mark.parametrize("function", [thousands, at_most])
def test_what_becomes_of_an_int_shows_at_large_sizes(function):
    with pytest.warns(OnnxExporterWarning, match=r"test_ranks_by_size\.py:\d+.* a Python int is taken here"):
        onnxport.export(function, (torch.randn(7, 3),), dynamic_axes={"x": {0: "n"}})


def in_fours(x):
    n = x.shape[0]
    if n > 4:
        n -= n % 4
    return torch.stack([x[i : i + 4].sum(0) for i in range(0, n, 4)])


@pytest.mark.parametrize("example", [1, 3, 8])
def test_loops_of_one_iteration_in_the_example(example):
    with warnings.catch_warnings():
        warnings.simplefilter("error", OnnxExporterWarning)
        result = onnxport.export(in_fours, (torch.randn(example, 3),), dynamic_axes={"x": {0: "n"}})
    for n in (1, 2, 4, 5, 7, 8, 9, 13, 23, 40):
        x = torch.randn(n, 3)
        torch.testing.assert_close(result(x), in_fours(x))


def test_a_number_that_is_squeezed_on_one_way():
    def function(x):
        y = x.sum().squeeze(-1) if x.shape[0] % 2 else x.mean()
        return x * y

    with warnings.catch_warnings():
        warnings.simplefilter("error", OnnxExporterWarning)
        result = onnxport.export(function, (torch.randn(3, 2),), dynamic_axes={"x": {0: "n"}})
    for n in (1, 2, 3, 6, 7):
        x = torch.randn(n, 2)
        torch.testing.assert_close(result(x), function(x))
