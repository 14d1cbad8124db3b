"""Floats that are computed from sizes are as exact as Python's where they become whole numbers."""

import math

import pytest
import torch
import torch.nn.functional as F

import onnxport
from tests.dynamic.harness import at, check, f, program, programs

# Sizes at which floats of 32 bits give something else.
SIZES = [at(n=n) for n in (1, 7, 20, 50, 100, 110, 200)]


def counted_on(x):
    rate = x.shape[0] * 0.57
    before = rate
    rate += 1
    rate *= 1.1
    return torch.ones(math.floor(rate)), torch.ones(math.floor(before)), x * rate - before


@programs(
    [
        program("counted_on", counted_on, f("n", 4), n=6, others=SIZES),
        program("floor", lambda x: torch.ones(math.floor(x.shape[0] * 0.57)) * x.sum(), f("n", 4), n=6, others=SIZES),
        program("ceil", lambda x: torch.ones(math.ceil(1.1 * x.shape[0])) * x.sum(), f("n", 4), n=6, others=SIZES),
        program("round", lambda x: torch.ones(round(x.shape[0] * 0.15)) * x.sum(), f("n", 4), n=6, others=SIZES),
        program("trunc", lambda x: torch.ones(math.trunc(x.shape[0] * 0.29)) * x.sum(), f("n", 4), n=6, others=SIZES),
        program("kept", lambda x: x[: math.ceil(0.7 * (x.shape[0] - 1)) + 1], f("n", 4), n=6, others=SIZES),
        program(
            "divided", lambda x: torch.ones(math.floor(49 / x.shape[0] * x.shape[0])), f("n", 4), n=6, others=SIZES
        ),
        program("of_third", lambda x: torch.ones(math.floor(x.shape[0] / (1 / 3))), f("n", 4), n=6, others=SIZES),
        program("negative", lambda x: torch.ones(-math.floor(-x.shape[0] * 0.1)), f("n", 4), n=6, others=SIZES),
        program("power", lambda x: torch.ones(math.floor((x.shape[0] * 0.1) ** 2)), f("n", 4), n=6, others=SIZES),
        program("of_100", lambda x: torch.ones(math.floor(x.shape[0] * 0.57)), f("n", 4), n=100, others=SIZES[:4]),
    ]
)
def test_rounded(p, opset):
    check(p, opset)


def added_often(x):
    rate = x.shape[0] * 0.57
    for _ in range(600):
        rate = rate + 0.01
    return x * math.floor(rate)


def doubled_often(x):
    rate = x.shape[0] * 0.1
    for _ in range(40):
        rate = rate + rate
    return x * math.floor(rate / 2**36)


@programs([program("added", added_often, f("n", 4), n=6), program("doubled", doubled_often, f("n", 4), n=6)])
def test_rounded_behind_many_steps(p, opset):
    check(p, opset)


@programs(
    [
        program("int", lambda x: torch.ones(int(x.shape[0] * 1.5)) * x.sum(), f("n", 4), n=6, others=SIZES),
        program(
            "int_of_0.15", lambda x: torch.ones(int(x.shape[0] * 0.15)) * x.sum(), f("n", 4), n=20, others=SIZES[3:]
        ),
        program("interpolated", lambda x: F.interpolate(x[None], size=int(x.shape[1] * 0.75)), f(3, "n"), n=8, low=4),
    ]
)
def test_rates_of_ints(p, opset):
    check(p, opset)


@pytest.mark.parametrize("size", [6, 100])
def test_read_as_python_has_them(size):
    def read(x):
        return x * int(x.shape[0] * 0.57), x.shape[0] * 0.57 - x

    exported = onnxport.export(read, (torch.randn(size, 4),), input_names=["x"], dynamic_axes={"x": {0: "n"}})
    for n in (1, 2, 6, 57, 99, 100, 200, 300):
        x = torch.randn(n, 4)
        torch.testing.assert_close(exported(x), read(x))


def test_types_are_those_of_python_floats():
    """Beside tensors of ints they are floats of the default type, and of no more bits than a tensor of floats has."""

    def typed(x):
        return torch.arange(x.shape[0]) * (1 / x.shape[0]), x.half() * (x.shape[0] * 0.5), x.double() / (x.shape[0] / 3)

    check(program("typed", typed, f("n", 4), n=5), 18)


@programs(
    [
        program("log", lambda x: x * math.log(x.shape[0]), f("n", 4), n=6),
        program("scaled", lambda x: x / math.log(1 + x.shape[0] / 2), f("n", 4), n=6),
        program("to_a_base", lambda x: x * math.log(x.shape[0], 512), f("n", 4), n=6),
        program("exp", lambda x: x * math.exp(-x.shape[0]), f("n", 4), n=6),
        program("rounded_up", lambda x: x * math.ceil(math.log(x.shape[0] + 1)), f("n", 4), n=6),
        program("of_a_fixed_size", lambda x: x * math.log(x.shape[1]), f("n", 4), n=6),
    ]
)
def test_logarithms(p, opset):
    check(p, opset)
