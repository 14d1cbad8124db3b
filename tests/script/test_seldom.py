"""Functions of Python's `math`, contexts and other calls that scripts seldom make."""

import math
from typing import Any

import pytest
import torch
from tests.harness import LATEST, case, cases, check, f32
from torch import Tensor

from onnxport.errors import LoweringError


def fabs(x: Tensor):
    return x * math.fabs(float(x.size(0)) - 5.5)


def factorial(x: Tensor):
    return x * math.factorial(x.size(1))


def modf(x: Tensor):
    part, whole = math.modf(-x.size(0) / 2)
    return x * part + whole


def remainder(x: Tensor):
    return x * math.remainder(float(x.size(0)), 2.5)


def both_of_a_quotient(x: Tensor):
    a, b = divmod(x.size(0), 2)
    c, d = divmod(float(x.size(0)) / 2, 1.5)
    return x * a + b + c * 10 + d * 100


def nonzero(x: Tensor):
    if torch.is_nonzero(x.sum() > 0):
        return x * 2
    return x


def result_type(x: Tensor):
    return x.to(torch.result_type(x, 1.5)), x.int().to(torch.result_type(x.int(), x.double()))


def no_grad(x: Tensor):
    with torch.no_grad():
        y = x * 2
    if torch.is_grad_enabled():
        y = y + y.detach() * 0
    return y


def profiled(x: Tensor):
    with torch.autograd.profiler.record_function("part"):
        y = x * 2
    return y


def seeded(x: Tensor):
    torch.manual_seed(3)
    return x * 2


def popped(x: Tensor):
    d = {"a": x * 3}  # of several, TorchScript pops the first and Python the last
    key, value = d.popitem()
    return value + len(d) if key == "a" else x


def shapes(x: Tensor):
    return torch.zeros(torch.broadcast_shapes(x.shape, [1, 4])) + x


def inclusive_range(x: Tensor):
    return torch.range(0, 5), torch.range(1, 2.5, 0.5), torch.range(0, x.size(0)) + x.sum()


def formatted(x: Tensor):
    words = "%d of %s" % (len(x.shape), "axes")  # noqa: UP031
    return x * len(words), words == "2 of axes", len("%5.2f" % 1.5)  # noqa: UP031


FUNCTIONS = [
    formatted,
    fabs, factorial, modf, remainder, both_of_a_quotient, nonzero, result_type, no_grad, profiled, seeded, popped, shapes,
    inclusive_range,
]  # fmt: skip


CASES = [case(f.__name__, f, f32(3, 4), dynamic={0: {0: "n"}}) for f in FUNCTIONS]


@cases(CASES, opsets=(13, LATEST), frontends=("script",))
def test_seldom(case, frontend, opset):
    check(case, frontend, opset)


class Context:
    def __init__(self):
        self.entered = 0

    def __enter__(self):
        self.entered += 1
        return self

    def __exit__(self, type: Any, value: Any, traceback: Any):
        self.entered -= 1


Context = torch.jit.script(Context)


def in_a_context_of_its_own(x: Tensor):
    with Context() as context:
        y = x * context.entered
    return y


def test_other_contexts_are_refused():
    with pytest.raises(LoweringError, match="may change what is computed"):
        check(case("context", in_a_context_of_its_own, f32(3)), "script")
