"""A constant that goes with a size by chance must not be taken for an expression of it."""

import warnings

import pytest
import torch
import torch.nn.functional as F

import onnxport
from onnxport.errors import OnnxExporterWarning

AXES = {"x": {0: "batch", 1: "n"}}


class Shifted(torch.nn.Module):
    """Window attention shifts by half a window, but not where the image is a single window."""

    def forward(self, x):
        shift = 0 if x.shape[1] <= 4 else 2
        rolled = torch.roll(x, (-shift,), (1,)) + x[:, shift : shift + 1]
        return torch.tanh(rolled) if shift else rolled


@pytest.mark.usefixtures("one_recording")
def test_a_choice_by_one_size_does_not_follow_another():
    with pytest.warns(OnnxExporterWarning, match="wrong at sizes like"):
        result = onnxport.export(Shifted(), (torch.randn(2, 8),), None, input_names=["x"], dynamic_axes=AXES)
    for shape in ((2, 8), (1, 9), (3, 8), (5, 17)):
        x = torch.randn(shape)
        torch.testing.assert_close(result(x), Shifted()(x))


class Counted(torch.nn.Module):
    """Tokens sorted into experts: how many each gets depends on their values."""

    def forward(self, x):
        counts = (x > 0).sum(1).tolist()
        return x[:, : counts[0]]


def test_a_number_of_values_does_not_become_a_size():
    x = torch.tensor([[1.0, 1.0, 1.0, -1.0, 1.0, 1.0]])
    result = onnxport.export(Counted(), (x,), None, input_names=["x"], dynamic_axes=AXES)
    for other in (x, x[:, :4], torch.tensor([[-1.0, 1.0, -1.0, -1.0, -1.0, 3.0, -2.0], [1.0] * 7])):
        torch.testing.assert_close(result(other), Counted()(other))


class AlongAxis(torch.nn.Module):
    """The axis to sum over is chosen by a size."""

    def forward(self, x):
        return x.sum(1 if x.shape[0] < 3 else 0)


def test_an_axis_is_no_size():
    with pytest.warns(OnnxExporterWarning, match="may be"):
        result = onnxport.export(AlongAxis(), (torch.randn(2, 4),), None, input_names=["x"], dynamic_axes=AXES)
    x = torch.randn(1, 5)
    torch.testing.assert_close(result(x), AlongAxis()(x))


class Doubled(torch.nn.Module):
    """Axes of the second argument follow from those of the first, so that not each can be tried on its own; the number
    of groups follows the batch, as many other expressions of few sizes do."""

    def forward(self, x, noise):
        n = x.shape[0]
        weight = torch.tensor([[[1.0], [2.0]], [[3.0], [4.0]]]).repeat(n, 1, 1)
        x = torch.nn.functional.conv1d(x.reshape(1, -1, x.shape[2]), weight, groups=n).view(n, 2, -1)
        return x.repeat_interleave(2, 2) + noise


@pytest.mark.filterwarnings("error::onnxport.errors.OnnxExporterWarning")
def test_axes_that_follow_from_others_leave_a_constant_that_follows_the_batch():
    def given(n, size):
        return torch.randn(n, 2, size), torch.randn(n, 2, 2 * size)

    axes = {"x": {0: "batch", 2: "n"}, "noise": {0: "batch", 2: "twice"}}
    result = onnxport.export(Doubled(), given(2, 6), None, input_names=[*axes], dynamic_axes=axes)
    for n, size in ((2, 6), (3, 6), (4, 9), (1, 5)):
        args = given(n, size)
        torch.testing.assert_close(result(*args), Doubled()(*args))


def single(x, y):
    return (x + 1 if x.shape[1] == 1 else x * 2) + y.sum()


def more(x, y):
    return (x + 1 if x.shape[1] > y.shape[0] + x.shape[0] else x * 2) + y.sum()


def less(x, y):
    return (x + 1 if x.shape[1] < y.shape[0] else x * 2) + y.sum()


def many(x, y):
    return (x[:, 1:] if x.shape[1] > 50 else x) + y.sum()


@pytest.mark.usefixtures("one_recording")
@pytest.mark.parametrize("function", [single, more, less, many], ids=lambda f: f.__name__)
def test_a_size_that_is_the_sum_of_two_others_by_chance(function):
    """It is tried alone, as the model runs where it isn't their sum."""
    axes = {"x": {0: "rows", 1: "columns"}, "y": {0: "length"}}
    with pytest.warns(OnnxExporterWarning, match="may be wrong at sizes like"):
        onnxport.export(function, (torch.randn(2, 5), torch.randn(3)), input_names=["x", "y"], dynamic_axes=axes)


def test_a_sum_that_the_model_needs_is_kept():
    def masked(x, past, mask):
        y = torch.cat([past, x], 1)
        if mask.shape[1] > 40:
            mask = mask[:, :40]
            y = y[:, :40]
        return y * mask

    names = ["x", "past", "mask"]
    axes = {name: {1: label} for name, label in zip(names, ("new", "past", "total"))}
    given = torch.randn(2, 3), torch.randn(2, 4), torch.rand(2, 7)
    with warnings.catch_warnings():
        warnings.simplefilter("error", OnnxExporterWarning)
        result = onnxport.export(masked, given, input_names=names, dynamic_axes=axes)
    for new, past in (1, 1), (30, 10), (30, 11), (1, 60):
        given = torch.randn(2, new), torch.randn(2, past), torch.rand(2, new + past)
        torch.testing.assert_close(torch.as_tensor(result(*given)), masked(*given))


class Cached(torch.nn.Module):
    """It fills up a mask that is shorter than the cache and the new tokens, and cuts one that is longer."""

    def forward(self, x: torch.Tensor, past: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        length = past.shape[1] + x.shape[1]
        if length > mask.shape[1]:
            mask = F.pad(mask, (0, length - mask.shape[1]))
        return torch.cat([past, x], 1) * mask[:, torch.arange(length)]


def test_a_sum_that_the_model_computes_is_kept_where_no_other_gives_wrong_results():
    names = ["x", "past", "mask"]
    axes = {name: {1: label} for name, label in zip(names, ("new", "past", "total"))}
    given = torch.randn(2, 3), torch.randn(2, 5), torch.rand(2, 8)
    with warnings.catch_warnings():
        warnings.simplefilter("error", OnnxExporterWarning)
        result = onnxport.export(Cached(), given, input_names=names, dynamic_axes=axes)
    for new, past, more in (1, 6, 0), (4, 4, 0), (3, 5, 2):
        given = torch.randn(2, new), torch.randn(2, past), torch.rand(2, new + past + more)
        torch.testing.assert_close(torch.as_tensor(result(*given)), Cached()(*given))
    with pytest.raises(Exception, match="7 by 8|index"):  # of onnxruntime
        result(torch.randn(2, 3), torch.randn(2, 5), torch.rand(2, 7))
