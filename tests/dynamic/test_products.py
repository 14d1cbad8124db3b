"""Products of sizes that became Python numbers."""

import operator
import warnings
from functools import reduce

import numpy as np
import pytest
import torch
from torch.func import functional_call

import onnxport
from onnxport.errors import OnnxExporterWarning
from tests.dynamic.harness import check, f, program, programs


class Called(torch.nn.Module):
    """Is recorded as operators, with numbers for all sizes."""

    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(4, 3)

    def forward(self, x):
        return functional_call(self.inner, {"weight": self.inner.weight * 2, "bias": self.inner.bias}, (x,))


LIVE = [
    program("all", lambda x: x.view(np.prod(x.shape)), f("b", "n", 3), b=2, n=6, out="3*b*n"),
    program("as_int", lambda x: x.view(int(np.prod(x.shape))), f("b", "n", 3), b=2, n=6, out="3*b*n"),
    program("all_but_the_first", lambda x: x.view(-1, int(np.prod(x.shape[1:]))), f("b", "n", "m"), b=2, n=6, m=5),
    program("mean", lambda x: x.sum() / np.prod(x.shape), f("b", "n"), b=2, n=6, out=""),
    program("square", lambda x: x.flatten() * int(x.shape[0]) ** 2, f("n"), n=4),
    program("square_of_two", lambda x: x * int(x.shape[1]) ** 2, f("b", "n"), b=3, n=3),
    program("multiplied", lambda x: x * reduce(operator.mul, map(int, x.shape), 1), f("b", "n"), b=2, n=6),
    program("and_one", lambda x: x * (int(np.prod(x.shape)) + 1), f("b", "n"), b=2, n=6),
    program("up_to_a_limit", lambda x: x * min(int(np.prod(x.shape)), 90), f("b", "n"), b=2, n=6),
    program("at_least", lambda x: x * max(int(np.prod(x.shape)), 9), f("b", "n"), b=2, n=6),
    program("called", Called(), f("b", "n", 4), b=2, n=6, out="b, n, 3"),
]


@programs(LIVE)
def test_live(p, opset):
    check(p, opset)


def product(x):
    return operator.index(x.shape[0]) * operator.index(x.shape[1])


TOLD = {
    "up_to_a_limit": lambda x: x * min(product(x), 90),
    "and_one": lambda x: x * (product(x) + 1),
    "if_even": lambda x: x * (int(np.prod(x.shape)) if x.shape[1] % 2 == 0 else 1),
    "at_least": lambda x: x * max(product(x), 9),
}


@pytest.mark.usefixtures("one_recording")
@pytest.mark.parametrize("name", TOLD)
def test_what_only_looks_like_one_is_told(name):
    function = TOLD[name]
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        onnxport.export(function, (torch.randn(2, 6),), input_names=["x"], dynamic_axes={"x": {0: "b", 1: "n"}})
    assert any(issubclass(w.category, OnnxExporterWarning) and __file__ in str(w.message) for w in said)
