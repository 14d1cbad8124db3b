"""Tensors taken from lists by an index known only at run time share memory with what was put in: exactly, or refused."""

# ruff: noqa: UP006, UP035  programs are as users write them, for TorchScript
from typing import List

import pytest
import torch
from tests.script.harness import check_script
from torch import Tensor

from onnxport.errors import LoweringError

R = torch.randn
N = {0: {0: "n"}}
EXACT = []
REFUSED = []


def exact(*arguments, dynamic=None):
    return lambda function: EXACT.append((function, arguments, dynamic))


def refused(*arguments, dynamic=None):
    return lambda function: REFUSED.append((function, arguments, dynamic))


@exact((R(2), R(2), 0), (R(2), R(2), 1))
def one_of_two(x, y, k: int):
    x = x.clone()
    l = [x, y]
    v = l[k]
    v.add_(1)
    x.mul_(3)
    return x, y, v, l[0], l[1]


@refused((R(3, 2), 1), (R(4, 2), 0), dynamic=N)
def views_listed(x, k: int):
    xs: List[Tensor] = []
    for r in x:
        xs.append(r)
    v = xs[k]
    v.add_(1)
    return x


@exact((R(3, 2), 1), (R(4, 2), 0), dynamic=N)
def views_unbound(x, k: int):
    xs = x.unbind(0)
    xs[k].add_(1)
    return x


@exact((R(3, 2),), (R(4, 2),), dynamic=N)
def iterate_unbound(x):
    for r in x:
        r.add_(1)
    return x


@exact((R(3, 2),), (R(4, 2),), dynamic=N)
def iterate_unbound_with_numbers(x):
    for i, r in enumerate(x.unbind(0)):
        r.mul_(i)
    return x


@exact((R(3, 2),), (R(4, 2),), dynamic=N)
def split_write(x):
    for p in x.split(2):
        p.add_(1)
    return x


@refused((R(2), R(2), 0), (R(2), R(2), 1))
def pop_write(x, y, k: int):
    l = [x, y]
    v = l.pop(k)
    v.add_(1)
    l[0].mul_(2)
    return x, y


@refused((R(2), R(2), 0), (R(2), R(2), 1))
def slice_write(x, y, k: int):
    l = [x, y]
    m = l[k:]
    m[0].add_(1)
    return x, y


@refused((R(2), R(2), 3), (R(2), R(2), 0))
def put_then_write(x, y, k: int):
    x = x.clone()
    l: List[Tensor] = []
    for _ in range(k):
        l.append(y)
    l.append(x)
    l[-1].add_(1)
    return x, l[-1]


@exact((R(2), R(2), 1), (R(2), R(2), 0))
def iter_list(x, y, k: int):
    x = x.clone()
    y = y.clone()
    for t in [x, y]:
        t.add_(k)
    return x, y


@exact((R(2), R(2), 1), (R(2), R(2), 0))
def setitem_runtime(x, y, k: int):
    x = x.clone()
    y = y.clone()
    l = [x, y]
    l[k] += 1
    return x, y, l[0], l[1]


@refused((R(2), R(2), 1), (R(2), R(2), 0))
def mul_list(x, y, k: int):
    x = x.clone()
    l = [x] * (k + 1)
    l[0].add_(1)
    return x, l[-1]


@refused((R(2), R(2), 1), (R(2), R(2), 0))
def add_lists(x, y, k: int):
    x = x.clone()
    l: List[Tensor] = []
    for _ in range(k):
        l.append(y)
    m = l + [x]
    m[k].add_(1)
    return x


@refused((R(2), R(2), 1), (R(2), R(2), 0))
def branch_lists(x, y, k: int):
    x = x.clone()
    y = y.clone()
    l = [x, y]
    if k > 0:
        l = [y]
    l[0].add_(1)
    return x, y


@refused((R(2), R(2), 1), (R(2), R(2), 0))
def branch_append(x, y, k: int):
    x = x.clone()
    y = y.clone()
    l = [x]
    if k > 0:
        l.append(y)
    l[-1].add_(1)
    return x, y


@refused((R(2, 2), R(2, 2), 0))
def turned_by_another_name(x, y, k: int):
    x = x.clone()
    v = [x, y][k]
    v.t_()
    return x, v


@exact((R(2, 3), True), (R(2, 3), False))
def turned_after_a_branch(x, flag: bool):
    y = x * 2
    if flag:
        y = y + 1
    y.t_()
    return x, y


@pytest.mark.parametrize("opset", [13, 20])
@pytest.mark.parametrize(("function", "arguments", "dynamic"), EXACT, ids=[p[0].__name__ for p in EXACT])
def test_written_through(function, arguments, dynamic, opset):
    check_script(function, *arguments, dynamic=dynamic, opset=opset)


@pytest.mark.parametrize(("function", "arguments", "dynamic"), REFUSED, ids=[p[0].__name__ for p in REFUSED])
def test_refused(function, arguments, dynamic):
    with pytest.raises(LoweringError, match=r"clone\(\)|assign it|changes the sizes"):
        check_script(function, *arguments, dynamic=dynamic)
