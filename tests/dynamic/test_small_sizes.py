"""An `if` on a size that only saves time is no fault of the export; one that computes something else is told."""

import warnings

import pytest
import torch

import onnxport
from onnxport.errors import OnnxExporterWarning

AXES = {"x": {0: "n", 1: "m"}}


class Shortcut(torch.nn.Module):
    """Another way to the same results for one row, for one column, and for few rows."""

    def __init__(self, rows: int, axis: int) -> None:
        super().__init__()
        self.rows, self.axis = rows, axis

    def forward(self, x):
        if x.shape[self.axis] <= self.rows:
            return (x.unsqueeze(0) * 2).sum(0).cumsum(1)
        return torch.cumsum(x * 2, 1)


class Folded(torch.nn.Module):
    """Ints of sizes, and for one row other operations, as generated code has them."""

    def __init__(self, more: int = 0) -> None:
        super().__init__()
        self.more = more

    def forward(self, x):
        n, m = (int(size) for size in x.shape)
        y = (x.reshape(n, 1, m) * 2).reshape(n, m) if n > 1 else x * 2 + self.more
        return y.cumsum(1).reshape(n, m, 1)


class Other(torch.nn.Module):
    """Other results for small inputs: everywhere, only beside larger axes, or only near the bound."""

    def __init__(self, rows: int, kind: str) -> None:
        super().__init__()
        self.rows, self.kind = rows, kind

    def forward(self, x):
        if x.shape[0] > self.rows:
            return torch.cumsum(x, 1)
        if self.kind == "shape":
            return torch.cumsum(x, 1).sum(0)
        if self.kind == "values":
            return x * 3
        if self.kind == "last":  # the same where the other axis is 1, too
            return x.flip(1).cumsum(1)
        return torch.cumsum(x, 1) + torch.rand_like(x)  # random


def messages(model, x):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", OnnxExporterWarning)
        result = onnxport.export(model, (x,), None, input_names=["x"], dynamic_axes=AXES)
    return result, [str(w.message) for w in caught if issubclass(w.category, OnnxExporterWarning)]


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("rows", [1, 2, 3])
def test_shortcuts_are_confirmed_by_running_the_program(rows, axis):
    model = Shortcut(rows, axis)
    result, said = messages(model, torch.randn(4, 5))
    assert not said
    for shape in ((1, 1), (2, 3), (3, 2), (1, 6), (6, 1), (7, 7)):
        x = torch.randn(shape)
        torch.testing.assert_close(result(x), model(x))


@pytest.mark.usefixtures("one_recording")
@pytest.mark.parametrize("kind", ["shape", "values", "last", "random"])
@pytest.mark.parametrize("rows", [1, 2, 3])
def test_other_results_are_told(rows, kind):
    _, said = messages(Other(rows, kind), torch.randn(4, 5))
    assert any("wrong at sizes like" in text for text in said)


def test_numbers_are_live_where_one_row_goes_another_way():
    model = Folded()
    result, said = messages(model, torch.randn(2, 12))
    assert not said
    for shape in ((1, 1), (1, 7), (2, 3), (5, 1), (3, 17)):
        x = torch.randn(shape)
        torch.testing.assert_close(result(x), model(x))


@pytest.mark.usefixtures("one_recording")
def test_other_results_for_one_row_are_told_and_the_rest_is_live():
    model = Folded(more=1)
    result, said = messages(model, torch.randn(2, 12))
    assert any("wrong at sizes like n=1" in text for text in said)
    x = torch.randn(3, 17)
    torch.testing.assert_close(result(x), model(x))


def test_shortcuts_leave_the_models_state_alone():
    class Counting(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("count", torch.zeros(()))

        def forward(self, x):
            self.count += 1
            return x + self.count if x.shape[0] > 1 else self.count + x

    model = Counting()
    messages(model, torch.randn(4, 5))
    assert float(model.count) == 0


@pytest.mark.usefixtures("one_recording")
def test_other_results_for_large_inputs_are_told_too():
    class Bounded(torch.nn.Module):
        def forward(self, x):
            n = x.shape[0]
            if n == 1:
                return (x.unsqueeze(0) * 2).sum(0)
            return x * 2 if n * n < 90 else x * 3

    _, said = messages(Bounded(), torch.randn(4, 5))
    assert any("may be right only at n=4" in text for text in said)


def test_a_covariance_of_one_row_has_no_axes():
    """Of a single row `torch.cov` gives a number, which the exported model does too where that is its output."""
    exported = onnxport.export(torch.cov, (torch.randn(3, 5),), input_names=["x"], dynamic_axes={"x": {0: "n"}})
    for n in (1, 2, 3):
        x = torch.randn(n, 5)
        torch.testing.assert_close(exported(x), torch.cov(x), rtol=1e-4, atol=1e-5)
    with pytest.warns(OnnxExporterWarning, match="squeeze keeps the axis"):
        onnxport.export(
            lambda x: torch.cov(x) * 2, (torch.randn(3, 5),), input_names=["x"], dynamic_axes={"x": {0: "n"}}
        )
