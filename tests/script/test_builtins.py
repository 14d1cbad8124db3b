"""Python's own functions on numbers and lists in scripts: known at export, or only at run time."""

# ruff: noqa: UP006, UP035  programs are as users write them, for TorchScript
import math
from typing import List

import pytest
import torch
from tests.script.harness import check_script

R = torch.randn
N = {0: {0: "n"}}
PROGRAMS = []


def ints(*values):
    return torch.tensor(values, dtype=torch.int64)


def program(*arguments, dynamic=None, opset=8):
    def add(function):
        PROGRAMS.append((function, arguments, dynamic, opset))
        return function

    return add


@program((R(4), 7, 3), (R(4), -7, 3), (R(4), 7, -2))
def divmod_of_ints(x, a: int, b: int):
    q, r = divmod(a, b)
    return x * q + r, q, r, a // b, a % b


@program((R(4), 7.5, 2.0), (R(4), -7.5, 2.0), (R(4), 7.5, -2.0))
def divmod_of_floats(x, a: float, b: float):
    q, r = divmod(a, b)
    return x * q + r, q, r, a // b, a % b


@program((R(4), 7, 2.5), (R(4), -7, 1.25))
def divmod_of_both(x, a: int, b: float):
    q, r = divmod(a, b)
    return q, r


@program((R(4), 2.5), (R(4), 3.5), (R(4), -2.5), (R(4), 1.2))
def rounding(x, a: float):
    return x * round(a), round(a), int(a), math.floor(a), math.ceil(a), float(int(a)), abs(a), bool(a)


@program((R(4), 2, 5), (R(4), 3, -5))
def smallest_of_ints(x, a: int, b: int):
    return min(a, b), max(a, b), max([a, b, 3]), min([a, b]), x * max(a, 1), max(float(a), 1.5), sorted([a, b, 2])


@program((R(4), 2.5, 5.0), (R(4), 3.0, -5.0))
def smallest_of_floats(x, a: float, b: float):
    return min(a, b), max(a, b), max([a, b, 3.0]), min([a, b]), x * max(a, 1.0), sorted([b, a, 2.75])[1]


@program((R(5),), (R(3),), dynamic=N)
def order_of_floats(x):
    l: List[float] = x.tolist()
    s = sorted(l)
    l.sort(reverse=True)
    return torch.tensor(s), torch.tensor(l)


@program((ints(5, 2, 9, 2),), (ints(3, 1),), dynamic=N)
def order_of_ints(x):
    l: List[int] = x.tolist()
    s = sorted(l)
    l.sort()
    return torch.tensor(s), torch.tensor(l), max(l), min(l), sum(l)


@program((torch.tensor([True, False, True]),), (torch.tensor([True, True]),), (torch.tensor([False]),), dynamic=N)
def truths(x):
    l: List[bool] = x.tolist()
    return any(l), all(l), len(l), torch.tensor(sorted(l))


@program((ints(5, 0, 9, 2),), (ints(0, 0),), (ints(),), dynamic=N)
def truths_of_ints(x):
    l: List[int] = x.tolist()
    return any(l), all(l), torch.tensor([v + 1 for v in l])


@program((R(5), R(5)), (R(3), R(3)), dynamic={0: {0: "n"}, 1: {0: "n"}})
def zipped_numbers(x, y):
    a: List[float] = x.tolist()
    b: List[float] = y.tolist()
    s = 0.0
    for i, (u, v) in enumerate(zip(a, b)):
        s += u * v * i
    return s


@program((R(5, 2), R(5, 2)), (R(3, 2), R(3, 2)), dynamic={0: {0: "n"}, 1: {0: "n"}})
def zipped_tensors(x, y):
    outs: List[torch.Tensor] = []
    for u, v in zip(x, y):
        outs.append(u * v)
    for i, u in enumerate(x):
        outs.append(u * i)
    return torch.stack(outs)


@program((ints(5, 2, 9, 2),), (ints(3, 1),), dynamic=N, opset=11)
def backwards(x):
    l: List[int] = x.tolist()
    l.reverse()
    out: List[int] = []
    for v in l:
        out.append(v * 2)
    for i in range(len(l) - 1, -1, -1):
        out.append(l[i])
    return torch.tensor(out), torch.tensor(l[::-1]), torch.tensor(l[1:]), l[-1]


@program((ints(5, 2, 9, 2), 5), (ints(3, 1), 4), (ints(3, 1, 1), 1), dynamic=N)
def membership(x, k: int):
    l: List[int] = x.tolist()
    r = 0
    if k in l:
        r = l.index(k) + 1
        l.remove(k)
    return r, l.count(2), k not in l, l == [5, 9, 2], l != [1], torch.tensor(l)


@program((R(3), 2, 1.5), (R(3), 7, 2.5))
def membership_in_short_lists(x, k: int, f: float):
    sizes = [2, k + 1, 5]
    sizes.remove(k + 1)
    return k in sizes, sizes.index(5), sizes.count(k), f in [1.5, 3.5], k in (7, 8), sizes == [2, k]


@program((R(3), 5), (R(3), 0))
def conversions_of_ints(x, k: int):
    return float(k), bool(k), int(float(k) * 1.5), x * float(k) / 2, k / 2, k**2, 2**k, -k, abs(-k), int(bool(k))


@program((R(3), True), (R(3), False))
def conversions_of_bools(x, k: bool):
    return float(k), int(k), not k, x * int(k), k + 1


@program((R(3), 3.7), (R(3), -3.7), opset=11)
def functions_of_floats(x, k: float):
    p = abs(k)
    return (
        int(k), bool(k), x * int(k), k**2, 2.0**k, -k, math.sqrt(p), math.exp(k), math.pow(k, 2.0), math.log(p),
        math.log10(p), math.log1p(p), math.fabs(k), math.atan2(k, 2.0), math.degrees(k), math.radians(k),
        math.copysign(2.0, k), math.isnan(k), math.isinf(k), math.isfinite(k), math.expm1(k), math.erfc(k), math.lgamma(p),
    )  # fmt: skip


@program((R(3), 12, 18), (R(3), 7, 3), (R(3), 0, 5), (R(3), -6, 4), opset=11)
def bits(x, a: int, b: int):
    return math.gcd(a, b), a & b, a | b, a ^ b, a << 2, a >> 1, a & 3


@program((R(3), 3), (R(3), 5), dynamic=None)
def lists_of_ints(x, k: int):
    l = [k] * 3
    m = [0 for _ in range(k)]
    m[1] = k
    squares = [i * i for i in range(k)]
    squares.extend(m)
    squares.insert(0, 9)
    squares += [7]
    last = squares.pop()
    first = squares.pop(0)
    return torch.tensor(l), torch.tensor(m), torch.tensor(squares), sum(squares), len(squares), last, first


@program((R(5),), (R(2),), dynamic=N)
def sizes_as_lists(x):
    a = [x.size(0), 2]
    return a == [5, 2], a != [5, 2], x.shape == [5], list(x.shape) == [2], 5 in x.shape


@pytest.mark.parametrize("opset", [8, 13, 20])
@pytest.mark.parametrize(
    ("function", "arguments", "dynamic", "lowest"), PROGRAMS, ids=[p[0].__name__ for p in PROGRAMS]
)
def test_program(function, arguments, dynamic, lowest, opset):
    """Compared with TorchScript, whose `round` and `**` give other types than Python's."""
    check_script(torch.jit.script(function), *arguments, dynamic=dynamic, opset=max(opset, lowest))


def known_at_export(x):
    sizes = [x.size(0), 2]
    if sizes == [x.size(0), 2] and sizes != [x.size(0), 3] and x.size(0) in sizes and all([True, len(sizes) > 1]):
        return x + 1
    return x.unsqueeze(0)


def test_what_is_known_of_lists_decides_at_export():
    proto = check_script(known_at_export, (R(3),), (R(5),), dynamic=N)
    assert [node.op_type for node in proto.graph.node] == ["Add"]
