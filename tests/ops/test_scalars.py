"""Numbers of Python: in scripts, where they are values of the program, and by hand for the rest."""

import math

import pytest
import torch
from tests.harness import LATEST, case, cases, check, f32, i64

from onnxport.dims import Dim
from onnxport.lower.builder import Builder
from onnxport.lower.registry import find

N = {0: {0: "n"}}


def int_arithmetic(x):
    n = x.size(0)
    k = (n * 3 - 1) // 2 + n % 3 - (-n)
    return x + (k + n**2) + abs(k - 20) + min(n, 3) * max(n, 4)


def floats(x):
    n = x.size(0)
    r = n / 2 + float(n) * 0.25 - 1.5 / n
    return x * r + n**0.5 + (r // 0.3) * (r % 0.4) - min(r, 1.0)


def functions(x):
    n = float(x.size(0))
    return x + math.sqrt(n) + math.exp(-n) + math.log(n) + math.sin(n) + math.tanh(n)


def rounding(x):
    n = x.size(0)
    k = math.ceil(n / 3) + math.floor(n / 2) + int(n * 0.7)
    return x.repeat(k) + round(n / 4)


def rounded_size(x):
    return x[: int(x.size(0) * 0.5)]


def comparisons(x):
    n = x.size(0)
    a = n > 3
    b = n / 2 <= 1.5
    c = (a and not b) or n == 7
    y = x
    if c:
        y = x + 1
    if n != 2 and bool(n):
        y = y * 2
    return y


def lists(x):
    sizes = x.size()
    return x + sum(sizes) + len(sizes) + sizes[-1] + int(list(sizes) == [4, 2]) + max(sizes)


def items(x):
    k = int(x[0].item())
    return torch.zeros(k, dtype=torch.float32) + k, x * x[1].item()


def float_item(x):
    r = x[0].item()
    return x * r + (float(r) if bool(r > 0) else 2.0)


def loops(x):
    total = x
    for i in range(1, 7, 2):
        total = total + i
    for i in range(3, -1, -1):
        total = total * (i + 1)
    return total


SCRIPTED = [
    case("ints", int_arithmetic, f32(4), dynamic=N),
    case("floats", floats, f32(4), dynamic=N),
    case("functions", functions, f32(4), dynamic=N),
    case("rounding", rounding, f32(4), dynamic=N),
    case("rounded_size", rounded_size, f32(5, 2), dynamic=N),
    case("comparisons", comparisons, f32(4), dynamic=N, others=[(torch.rand(n),) for n in (1, 2, 3, 5, 7, 9)]),
    case("lists", lists, f32(4, 2), dynamic=N),
    case("items", items, i64(3, low=1, high=5), others=[(torch.tensor([6, 1, 2]),)]),
    case("float_item", float_item, f32(3), others=[(torch.tensor([-1.5, 1, 2]),)]),
    case("loops", loops, f32(3)),
]


@cases(SCRIPTED, opsets=(13, LATEST), frontends=("script",))
def test_scripted(case, frontend, opset):
    check(case, frontend, opset)


TRACED = [
    case("scaled", lambda x: x * (x.shape[0] * 0.5) + x.shape[0] / 3, f32(4), dynamic=N),
    case("root", lambda x: x / (x.shape[0] ** 0.5), f32(4), dynamic=N),
    case(
        "sizes",
        lambda x: x.view(x.shape[0] // 2 * 2, -1) + x.shape[0],
        f32(4, 2),
        dynamic=N,
        others=[(torch.rand(6, 2),)],
    ),
]


@cases(TRACED)
def test_traced(case, frontend, opset):
    check(case, frontend, opset)


def number(name, *arguments):
    function = find(name)
    assert function is not None
    return function(Builder(LATEST), *arguments)


n = Dim.symbol("n", 1)

KNOWN = [
    ("aten::add.int", (2, 3), 5),
    ("aten::add.number", (2, 0.5), 2.5),
    ("aten::add.int", (n, 3), n + 3),
    ("aten::sub.int", (n, n), 0),
    ("aten::mul.int", (n, 2), n * 2),
    ("aten::div.int", (7, 2), 3.5),
    ("aten::floordiv.int", (-7, 2), -4),
    ("aten::floordiv.int", (n * 4, 2), n * 2),
    ("aten::floordiv.float", (-7.5, 2.0), -4.0),
    ("aten::remainder.int", (-7, 3), 2),
    ("aten::remainder.int", (n * 4 + 1, 4), 1),
    ("aten::fmod.float", (-7.0, 3.0), -1.0),
    ("aten::__round_to_zero_floordiv.int", (-7, 2), -3),
    ("aten::pow.int", (2, 3), 8.0),
    ("aten::pow.int_to_int", (n, 2), n * n),
    ("aten::neg.int", (n,), -n),
    ("prim::abs.int", (n,), n),
    ("aten::ceil.float", (1.2,), 2),
    ("aten::floor.float", (-1.2,), -2),
    ("aten::round.float", (2.5,), 2.0),
    ("prim::min.int", (n, 0), 0),
    ("prim::max.self_int", ([3, 5, 4],), 5),
    ("prim::max.float", (1.0, 2.0), 2.0),
    ("aten::sum.int", ([n, 1, n],), n * 2 + 1),
    ("aten::log.float_float", (8.0, 2.0), 3.0),
    ("aten::eq.int", (n, n), True),
    ("aten::lt.int", (n, 1), False),
    ("aten::ne.int", (n, 0), True),
    ("aten::ge.int", (n, 1), True),
    ("aten::__not__", (True,), False),
    ("aten::__and__.bool", (True, False), False),
    ("aten::__or__.bool", (True, False), True),
    ("aten::__xor__.bool", (True, True), False),
    ("aten::__lshift__.int", (1, 4), 16),
    ("aten::__range_length", (0, n, 1), n),
    ("aten::__range_length", (n, 0, -1), n),
    ("aten::__range_length", (5, 1, 1), 0),
    ("aten::__derive_index", (2, n, 3), n + 6),
    ("aten::Int.float", (2.9,), 2),
    ("aten::Float.int", (2,), 2.0),
    ("aten::Bool.int", (n,), True),
]  # fmt: skip


@pytest.mark.parametrize(("name", "arguments", "expected"), KNOWN, ids=[f"{k[0][6:]}{k[1]}" for k in KNOWN])
def test_known(name, arguments, expected):
    result = number(name, *arguments)
    assert result == expected
    assert type(result) is type(expected)
