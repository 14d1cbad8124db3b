"""Code that asks for the type of a size, or may catch an error at other sizes: as in eager Python, or warned of."""

import inspect
import warnings

import pytest
import torch
from torch import nn

import onnxport
from onnxport.capture import trace
from onnxport.errors import OnnxExporterWarning
from tests.dynamic.harness import check, f, program, programs


def matched(x):
    match x.shape[0]:
        case int():
            return x * 2
        case _:
            return x * 3


def is_int(n):
    return type(n) is int


def pair(n):
    return (n, n) if type(n) == int else tuple(n)  # noqa: E721


class Method(nn.Module):
    kinds = (int, float)

    def doubled(self, n):
        return n * 2 if type(n) in (int, float) else n

    def forward(self, x):
        return x.repeat(self.doubled(x.shape[0]), 1)


def by_type(x):
    scale = {int: 2.0, torch.Tensor: 3.0}[type(x.shape[0])]
    return x * scale


@programs(
    [
        program("type", lambda x: x * 2 if type(x.shape[0]) is int else x * 3, f("n", 4), n=6),
        program("class", lambda x: x * 2 if x.size(0).__class__ is int else x * 3, f("n", 4), n=6),
        program("match", matched, f("n", 4), n=6),
        program("helper", lambda x: x.view(x.shape[0], 2, 2) if is_int(x.shape[0]) else x, f("n", 4), n=6),
        program("raises_otherwise", lambda x: torch.zeros(pair(x.shape[0])) + x[:, :1], f("n", 4), n=6),
        program("method", Method(), f("n", 4), n=6),
        program("by_type", by_type, f("n", 4), n=6),
        program("of_tensors", lambda x: x * 2 if type(x.sum()) is torch.Tensor else x, f("n", 4), n=6),
    ]
)
def test_sizes_are_ints(p, opset):
    check(p, opset)


def told(x):
    n = x.shape[0]
    if n < 0:
        raise TypeError(f"rows of {type(n)}")
    torch._assert(n > 0, f"no {type(n)}")
    return x * n


def test_messages_ask_nothing(monkeypatch):
    monkeypatch.setattr(trace, "_eager", None)
    export = onnxport.export(told, torch.randn(6, 4), None, input_names=["x"], dynamic_axes={"x": {0: "n"}})
    assert export.verify()


def relies_on_tensors(x):
    n = x.shape[0]
    size = torch.stack([n]).sum() if torch.jit.is_tracing() else n
    return x * (2 if type(n) is int else 3) + size


def test_what_neither_ints_nor_tensors_do_for_is_told():
    with pytest.warns(OnnxExporterWarning, match="asks for the type of a size"):
        onnxport.export(relies_on_tensors, torch.randn(6, 4), None)


def fifth(x):
    try:  # frozen
        return x[4] * 2
    except IndexError:
        return x[0]


def whatever(x):
    try:  # frozen
        y = x[4]
    except:  # noqa: E722
        y = x[0]
    return y * 2


class Outer(nn.Module):
    def inner(self, x):
        return x[4] * 2

    def forward(self, x):
        try:  # frozen
            return self.inner(x)
        except IndexError:
            return x[0]


def raised(x):
    try:
        return x[4] * 2
    except IndexError as error:
        raise ValueError("five rows are wanted") from error


def harmless(x):
    try:
        import math

        size = x.shape[0]
        scale = math.floor(size / 2)
    except ImportError:
        scale = 1
    with torch.no_grad():
        return x * scale


def in_order(x):
    return x * 2 if x.t().is_contiguous() else x * 3  # frozen


def exported(function):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        result = onnxport.export(function, (torch.randn(6, 4),), input_names=["x"], dynamic_axes={"x": {0: "n"}})
    return result, [str(w.message) for w in said if issubclass(w.category, OnnxExporterWarning)]


@pytest.mark.parametrize("function", [fifth, whatever, Outer(), in_order])
def test_told(function):
    lines, first = inspect.getsourcelines(function.forward if isinstance(function, nn.Module) else function)
    line = next(first + n for n, line in enumerate(lines) if "# frozen" in line)
    _, said = exported(function)
    assert any(f"{__file__}:{line}" in text for text in said)


@pytest.mark.parametrize("function", [raised, harmless], ids=lambda f: f.__name__)
def test_errors_that_end_the_run_are_no_matter(function):
    result, said = exported(function)
    assert not said
    x = torch.randn(9, 4)
    torch.testing.assert_close(result(x), function(x))


def test_floats_of_sizes_are_compared_as_python_does():
    def compared(x):
        n = x.shape[0]
        return x * 2 if n * 0.1 == n / 10 else x * 3

    for n in (3, 6, 7, 10):
        x = torch.randn(n, 4)
        torch.testing.assert_close(onnxport.export(compared, (x,))(x), compared(x))


class Missing:
    """Stands for a package that isn't installed: whatever is asked of it raises."""

    def __getattr__(self, name):
        raise ImportError("the package isn't installed")


package, has_package = Missing(), False


def test_what_stands_for_a_package_is_left_alone():
    class Model(torch.nn.Module):
        def forward(self, x):
            return package.exp(x) if has_package else x.exp() * x.shape[0]

    result = onnxport.export(Model(), (torch.rand(3),), input_names=["x"], dynamic_axes={"x": {0: "n"}})
    torch.testing.assert_close(result(torch.ones(5)), torch.ones(5).exp() * 5)
