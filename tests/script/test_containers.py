"""Dicts asked for keys known only at run time, and lists whose lengths or pieces are known only then."""

# ruff: noqa: UP006, UP035, UP045  programs are as users write them, for TorchScript
from typing import Dict, List, Optional

import pytest
import torch
from tests.script.harness import check_script
from torch import Tensor

from onnxport.errors import LoweringError

R = torch.randn
N = {0: {0: "n"}}
PROGRAMS = []


def ints(*values):
    return torch.tensor(values)


def program(*arguments, dynamic=None, opset=11):
    def add(function):
        PROGRAMS.append((function, arguments, dynamic, opset))
        return function

    return add


# -- dicts ------------------------------------------------------------------------------------------


@program((R(3), 1), (R(3), 0), (R(3), 2))
def tensors_by_number(x, k: int):
    return {0: x, 1: x * 2, 2: x + 5}[k]


@program((R(3), 10), (R(3), 0), (R(3), 20), (R(3), 7))
def numbers_by_number(x, k: int):
    d: Dict[int, int] = {0: 7, 10: 8, 20: 9}
    y = x * d.get(k, 3)
    if k in d:
        y = y + d[k]
    return y, k in d, len(d)


@program((R(3), 0.5), (R(3), 1.5))
def lists_of_sizes_by_float(x, k: float):
    d: Dict[float, Tensor] = {0.5: x[:2], 1.5: x}
    return d[k] * 2


@program((ints(0, 2, 1),), (ints(1, 1),), dynamic=N)
def looked_up_in_a_loop(x):
    d: Dict[int, float] = {0: 0.5, 1: 1.5, 2: 9.0}
    out: List[float] = []
    l: List[int] = x.tolist()
    for v in l:
        out.append(d[v])
    return torch.tensor(out)


@program((ints(0, 2, 1, 2),), (ints(1, 1),), (ints(5, 1, 5),), dynamic=N)
def counted(x):
    d: Dict[int, int] = {0: 0, 1: 0, 2: 0}
    others = 0
    l: List[int] = x.tolist()
    for v in l:
        if v in d:
            d[v] += 1
        else:
            others += 1
    return d[0], d[1], d[2], others


@program((R(3), 1), (R(3), 0), (R(3), 5))
def a_default(x, k: int):
    d: Dict[int, Tensor] = {0: x, 1: x * 2}
    found: Optional[Tensor] = d.get(k)
    if found is not None:
        return found + 1
    return d.get(k, x - 1)


@program((R(3), R(3), 1), (R(3), R(3), 0))
def written_through(x, y, k: int):
    x = x.clone()
    d: Dict[int, Tensor] = {0: x, 1: y.clone()}
    d[k].add_(1)
    d[k].add_(2)
    x.mul_(3)
    return x, d[0], d[1]


@program((R(3), 1), (R(3), 0))
def replaced(x, k: int):
    d: Dict[int, Tensor] = {0: x, 1: x * 2}
    if k in d:
        d[k] = x - 7
    return d[0], d[1]


# -- pieces -----------------------------------------------------------------------------------------


@program((R(7, 2), 3), (R(5, 2), 2), (R(2, 2), 4), dynamic=N, opset=13)
def as_many_pieces_as_asked_for(x, k: int):
    parts = torch.tensor_split(x, k)
    sums: List[Tensor] = []
    for p in parts:
        sums.append(p.sum(0))
    return torch.stack(sums), len(parts), parts[-1]


@program((R(7, 2), 3), (R(7, 2), 1), opset=16)
def pieces_of_bfloat16(x, k: int):
    h = x.to(torch.bfloat16)
    out: List[Tensor] = []
    for i in range(k):
        h = h * 2
        out.append(h[: i + 1])
    return out[-1].float(), torch.cat(out).float(), h.split(k)[0].float(), len(out[0])


@program((R(3, 7, 2), 3), (R(3, 7, 2), 1), opset=13)
def pieces_of_complex_numbers(x, k: int):
    z = torch.view_as_complex(x)
    out: List[Tensor] = []
    for i in range(k):
        z = z * z
        out.append(z[:, : i + 1])
    return torch.view_as_real(out[-1]), torch.view_as_real(torch.cat(out, -1)), torch.view_as_real(z.split(k, 1)[0])


@program((R(6, 2) > 0,), (R(3, 2) > 0,), dynamic=N, opset=13)
def pieces_of_bools(m):
    out: List[Tensor] = []
    for p in m.split(2):
        out.append(p.any(0))
    return torch.stack(out), m.split(4), list(m.unbind(0))


@program((R(6, 2), ints(1, 3, 2)), (R(5, 2), ints(4, 1)), dynamic={0: {0: "n"}, 1: {0: "k"}}, opset=13)
def pieces_of_sizes(x, s):
    l: List[int] = s.tolist()
    out: List[Tensor] = []
    for p, q in zip(x.split(l), (x > 0).split(l)):
        out.append(p.sum(0) * q.any(0))
    return torch.stack(out)


@program((R(4, 3, 2),), (R(2, 3, 1),), (R(5, 1, 3),), dynamic={0: {0: "a", 1: "b", 2: "c"}})
def as_many_axes_as_a_size_says(x):
    return (x.new_zeros(x.shape[1 : x.size(2)]) + 1).sum(), torch.ones(x.shape[: x.size(2)], dtype=torch.int64).sum()


# -- lists of lists -----------------------------------------------------------------------------------


@program((R(6, 2),), (R(4, 2),), dynamic=N)
def rows_of_numbers(x):
    l: List[List[float]] = x.tolist()
    s = 0.0
    for r in l:
        a, b = r
        s += a * b + r[-1]
    return s, len(l), torch.tensor(l)


@program((R(4, 6),), (R(2, 4),), dynamic={0: {0: "n", 1: "m"}})
def largest_of_a_table(x):
    l: List[List[float]] = x.tolist()
    best = -9.0
    for i in range(len(l)):
        for j in range(len(l[i])):
            if l[i][j] > best:
                best = l[i][j]
    return best


@program((R(3), 4), (R(3), 2), (R(3), 1))
def tables_by_comprehension(x, k: int):
    table = [[i * j for j in range(3)] for i in range(k)]
    table.append([7, 8, 9])
    return torch.tensor(table), table[1][2], sum(table[-1]), len(table)


@program((ints(2, 3, 1),), (ints(1, 4),), (ints(0, 2),), dynamic=N, opset=13)
def rows_of_different_lengths(x):
    groups: List[List[int]] = []
    l: List[int] = x.tolist()
    for v in l:
        g: List[int] = []
        for i in range(v):
            g.append(i)
        groups.append(g)
    total = 0
    for g in groups:
        total += sum(g) + len(g)
    return total, len(groups), groups[-1][-1]


@program((R(5, 2), ints(2, 3)), (R(4, 2), ints(1, 1, 2)), dynamic={0: {0: "n"}, 1: {0: "k"}}, opset=13)
def tensors_in_groups(x, counts):
    groups: List[List[Tensor]] = []
    start = 0
    l: List[int] = counts.tolist()
    for c in l:
        g: List[Tensor] = []
        for i in range(c):
            g.append(x[start + i] * c)
        start += c
        groups.append(g)
    sums: List[Tensor] = []
    for g in groups:
        sums.append(torch.stack(g).sum(0) + g[0])
    return torch.stack(sums), len(groups)


@pytest.mark.parametrize("opset", [11, 13, 20])
@pytest.mark.parametrize(
    ("function", "arguments", "dynamic", "lowest"), PROGRAMS, ids=[p[0].__name__ for p in PROGRAMS]
)
def test_program(function, arguments, dynamic, lowest, opset):
    check_script(function, *arguments, dynamic=dynamic, opset=max(opset, lowest))


def new_key(x, k: int):
    d: Dict[int, Tensor] = {0: x, 1: x * 2}
    d[k] = x
    return d[0]


def changed_within(x, k: int):
    table: List[List[int]] = []
    for i in range(k):
        table.append([i, i])
    table[0][1] = 5
    return torch.tensor(table)


def changed_after(x, k: int):
    table: List[List[int]] = []
    row = [1, 2]
    for i in range(k):
        table.append([i, i])
    table.append(row)
    row[0] = 9
    return torch.tensor(table)


def changed_between(x, k: int):
    table: List[List[int]] = []
    row = [1, 2]
    for i in range(k):
        row[0] = i
        table.append(row)
    return torch.tensor(table)


@pytest.mark.parametrize("function", [changed_within, changed_after, changed_between], ids=lambda f: f.__name__)
def test_writes_to_rows_are_refused(function):
    with pytest.raises(LoweringError, match="element of a list|all elements are that one"):
        check_script(function, (R(3), 3))


def test_a_key_that_may_be_new_is_refused():
    with pytest.raises(LoweringError, match="if key in d"):
        check_script(new_key, (R(3), 1))
