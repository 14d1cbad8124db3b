"""`out=`: the tensor given takes the result's sizes, keeps its dtype, and is the result."""

from __future__ import annotations

import pytest
import torch
from tests.harness import LATEST, case, cases, check, f32

import onnxport
from onnxport.errors import LoweringError

ROWS = {0: {0: "n", 1: "m"}}


def resized(x):
    o = torch.empty(0)
    torch.add(x, 1, out=o)
    return o * 2


def also_the_result(x):
    o = torch.empty(0)
    r = torch.mul(x, x, out=o)
    r += 1
    return o, r


def of_the_example_size(x):
    o = torch.zeros(3, 4)
    torch.mul(x, x, out=o)
    return o + 1


def a_row(x):
    o = torch.zeros(2, 4)
    torch.sum(x, 0, out=o[1])
    return o


def a_constant_that_is_read_before(x):
    o = torch.tensor([[5.0]])
    p = o + 1
    torch.add(x[:1, :1], o, out=o)
    return o, p


def joined(x):
    o = torch.empty(0)
    torch.cat([x, x], out=o)
    return o, torch.stack([x, x], 0, out=torch.empty(0))


def counted(x):
    o = torch.tensor([1])
    return torch.arange(x.size(0), x.size(0) + x.size(1), out=o)


def listed(x):
    o, i = torch.empty(0), torch.empty(0, dtype=torch.int64)
    torch.max(x, 1, out=(o, i))
    return o, i


def of_another_dtype(x):
    o = torch.empty(0, dtype=torch.float64)
    torch.add(x, 1, out=o)
    return o


BOTH = [
    case("resized", resized, f32(3, 4), dynamic=ROWS),
    case("also_the_result", also_the_result, f32(3, 4), dynamic=ROWS),
    case("of_the_example_size", of_the_example_size, f32(3, 4), dynamic=ROWS),
    case("a_row", a_row, f32(3, 4)),
    case("a_constant_that_is_read_before", a_constant_that_is_read_before, f32(3, 4)),
    case("joined", joined, f32(3, 4), dynamic=ROWS),
    case("counted", counted, f32(3, 4), dynamic=ROWS),
]
TRACED = [case("listed", listed, f32(3, 4), dynamic=ROWS), case("of_another_dtype", of_another_dtype, f32(3, 4))]


@pytest.mark.filterwarnings("ignore:.*out.*resized", "ignore:The number of elements in the out tensor")
@cases(BOTH, opsets=(7, 11, LATEST), frontends=("trace", "script"))
def test_out(case, frontend, opset):
    check(case, frontend, opset)


@cases(TRACED, opsets=(9, LATEST))
def test_out_of_traces(case, frontend, opset):
    check(case, frontend, opset)


@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")
def test_a_view_is_not_resized():
    def program(x):
        o = torch.zeros(2, 3)
        torch.sum(x, 0, out=o[1])
        return o

    with pytest.raises(LoweringError, match=r"out= is a view of sizes \[3\], which would be resized to \[4\]"):
        onnxport.export(torch.jit.script(program), (torch.ones(3, 4),), None)
