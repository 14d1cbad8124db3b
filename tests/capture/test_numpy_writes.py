"""Writes of numpy into the memory of a tensor, which the tracer doesn't see, are told."""

import inspect
import warnings

import numpy as np
import pytest
import torch

import onnxport
from onnxport.errors import OnnxExporterWarning


def made_of_size(x):
    y = torch.zeros(x.shape[0], 4)
    y.numpy()[:] = 1  # written
    return x + y


def constant(x):
    y = torch.zeros(4)
    memory = y.numpy()  # written
    memory[1] = 5
    return x + y


def written_between(x):
    memory = np.zeros(4, dtype=np.float32)
    y = torch.from_numpy(memory)  # made
    x = x + y
    memory[:] = 5
    return x * y


def written_as_array(x):
    memory = np.full(4, np.nan, dtype=np.float32)
    y = torch.as_tensor(memory)  # made
    x = torch.where(y.isnan(), x, y)
    memory[1] = 5
    return x


def written_before(x):
    memory = np.full(4, np.nan, dtype=np.float32)
    memory[:2] = 5
    return torch.where(torch.from_numpy(memory).isnan(), x, torch.as_tensor(memory))


def read_only(x):
    y = torch.arange(4.0)
    copied = y.numpy().copy()
    copied[0] = 9
    y.add_(1)
    return x + y + torch.from_numpy(copied)


def said(function):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = onnxport.export(function, (torch.randn(6, 4),))
    return result, [str(w.message) for w in caught if issubclass(w.category, OnnxExporterWarning)]


@pytest.mark.parametrize("function", [made_of_size, constant], ids=lambda f: f.__name__)
def test_told(function):
    lines, first = inspect.getsourcelines(function)
    line = next(first + n for n, line in enumerate(lines) if "# written" in line)
    assert any(f"{__file__}:{line} gives the memory of a tensor away" in text for text in said(function)[1])


@pytest.mark.parametrize("function", [written_between, written_as_array], ids=lambda f: f.__name__)
def test_writes_to_arrays_that_tensors_are_made_of_are_told(function):
    lines, first = inspect.getsourcelines(function)
    line = next(first + n for n, line in enumerate(lines) if "# made" in line)
    assert any(f"{__file__}:{line} makes a tensor of memory" in text for text in said(function)[1])


def test_arrays_that_were_written_to_before_are_no_matter():
    result, texts = said(written_before)
    x = torch.randn(6, 4)
    torch.testing.assert_close(result(x), written_before(x))
    assert not texts


def test_reading_is_no_matter():
    result, texts = said(read_only)
    x = torch.randn(6, 4)
    torch.testing.assert_close(result(x), read_only(x))
    assert not texts


class Reads(torch.nn.Module):
    def __init__(self, table):
        super().__init__()
        self.table = table

    def forward(self, x):
        return x * float(self.table.numpy()[0])


@pytest.mark.parametrize("content", [[2.0, float("nan")], [2, 3], [True, False]], ids=str)
@pytest.mark.parametrize("inference", [False, True])
def test_reading_of_any_tensor_is_no_matter(content, inference):
    with torch.inference_mode(inference):
        model = Reads(torch.tensor(content))
    result, texts = said(model)
    x = torch.randn(6, 4)
    torch.testing.assert_close(result(x), model(x))
    assert not texts


class Added(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, table):
        return x + table, x

    @staticmethod
    def backward(ctx, *gradients):
        return gradients[0], None


def test_functions_of_tensors_whose_writes_nobody_counts():
    with torch.inference_mode():
        table = torch.ones(4)

    def function(x):
        return Added.apply(x, table)[0]

    result, texts = said(function)
    x = torch.randn(6, 4)
    torch.testing.assert_close(result(x), function(x))
    assert not texts
