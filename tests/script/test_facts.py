"""What a condition says of sizes and numbers holds in the branch behind it, and behind a check."""

# ruff: noqa: UP006, UP035  programs are as users write them, for TorchScript
from typing import List

import onnx
import pytest
import torch
from tests.script.harness import check_script

R = torch.randn
N = {0: {0: "n"}}
NM = {0: {0: "n"}, 1: {0: "m"}}
PROGRAMS = []


def program(*arguments, dynamic=None, opset=11):
    def add(function):
        PROGRAMS.append((function, arguments, dynamic, opset))
        return function

    return add


@program((R(1, 6), 2), (R(1, 6), 3), (R(1, 6), 5))
def an_int_that_is_a_constant(x, k: int):
    if k == 2:
        return x.view(k, 3).squeeze(0)[-1]
    elif k == 3:
        parts: List[torch.Tensor] = []
        for i in range(k):
            parts.append(x[:, i : i + 1])
        return torch.cat(parts, 1)[0]
    return x[0] * k


@program((R(4, 2),), (R(1, 2),), (R(6, 2),), dynamic=N)
def a_size_that_is_a_constant(x):
    if x.size(0) == 4:
        y = x.view(2, 2, 2).sum(0)
    elif x.size(0) != 1:
        y = x[:2]
    else:
        y = x.squeeze(0).unsqueeze(0).expand(2, 2)
    return y + 1


@program((R(4), R(4)), (R(3), R(5)), (R(5), R(5)), dynamic=NM)
def sizes_that_are_equal(x, y):
    if x.size(0) == y.size(0):
        return torch.stack([x, y]).sum(0), x.size(0)
    n = min(x.size(0), y.size(0))
    return x[:n] + y[:n], n


@program((R(4), R(4)), (R(6), R(6)), dynamic=NM)
def a_check_of_sizes(x, y):
    if x.size(0) != y.size(0):
        raise ValueError("sizes differ")
    if x.size(0) % 2 != 0:
        raise ValueError("odd")
    half = x.size(0) // 2
    return x.view(2, half) * y.view(half, 2).t(), (x.view(half, 2) + y.view(-1, 2)).sum(1)


@program((R(6), 3), (R(8), 4), (R(7), 3), (R(4), 2), dynamic=N)
def whole_multiples(x, k: int):
    if x.size(0) % 2 == 0:
        return x.view(2, -1).sum(0) + x.view(-1, 2)[:, 0]
    return x[1:].view(-1, 2)[:, 0]


@program((R(5), 1.0, True), (R(5), 2.5, True), (R(5), 2.5, False), (R(5), 1.0, False))
def numbers_and_flags(x, scale: float, flag: bool):
    y = x
    if flag and scale == 1.0:
        if flag:
            y = y + 1
        if scale != 1.0:
            y = y * 100
    elif not flag or scale > 2:
        y = y * scale
        if flag:
            y = y - 1
    return y


@program((R(4), 16), (R(4), 8), (R(4), 5))
def two_choices_by_one_condition(x, rate: int):
    kind = 16 if rate == 16 else 8
    count = 4 if kind == 16 else 2
    y = x[:count]
    if rate == 16:
        assert y.size(0) == 4
        return y.view(2, 2).sum(0)
    return y * kind


@program((R(3, 4), 1), (R(3, 4), 0), (R(3, 4), 2))
def facts_end_with_the_branch(x, n: int):
    y = x
    if n == 1:
        y = x[n:]
    if n == 0:
        y = x[n : n + 1]
    return y * n, y.size(0)


@program((R(4, 3), 2), (R(1, 3), 2), (R(2, 3), 1), dynamic=N)
def writes_behind_a_condition(x, k: int):
    y = x.clone()
    v = y.t()
    if y.size(0) == 1:
        v += 1
        y[0, k] = 7
    else:
        if k == 2:
            v[k] = 3
            y[k - 1 :] *= k
    return y, v, x


@program((R(5, 3),), (R(1, 3),), (R(3, 3),), dynamic=N)
def loops_behind_a_check(x):
    h = x[:1]
    for i in range(x.size(0)):
        assert h.size(0) == 1
        h = torch.tanh(h + x[i : i + 1])
        if x.size(0) == 3:
            h = h + x[i].view(1, -1)
    return h.squeeze(0)


@program((R(2, 3), R(2, 3)), (R(2, 3), -R(2, 3).abs()))
def one_tensor_of_two(x, y):
    s = y.sum() > 0
    a = x.size(0)
    if bool(s):
        z = torch.cat([x, y])
    else:
        z = x
    if bool(s):
        return z.view(2, 2, 3).sum(0) * a
    return z.view(2, 3)


@program((R(5, 3),), (R(1, 3),), (R(8, 3),), dynamic=N, opset=8)
def windows_in_a_loop(x):
    """The sizes of what is appended are known, so that the list is a tensor, at any opset."""
    rows: List[torch.Tensor] = []
    pairs: List[torch.Tensor] = []
    for t in range(x.size(0)):
        rows.append(x[t : t + 1] * t)
    for i in range(x.size(0) // 2):
        pairs.append(x[i * 2 : (i + 1) * 2].t())
        pairs.append(x.narrow(0, 2 * i, 2).t())
    return torch.cat(rows), torch.cat(pairs) if len(pairs) > 0 else x.t()


@pytest.mark.parametrize("opset", [8, 11, 13, 20])
@pytest.mark.parametrize(
    ("function", "arguments", "dynamic", "lowest"), PROGRAMS, ids=[p[0].__name__ for p in PROGRAMS]
)
def test_program(function, arguments, dynamic, lowest, opset):
    check_script(function, *arguments, dynamic=dynamic, opset=max(opset, lowest))


def inside_out(x):
    if x.size(0) == 3:
        y = x * 2
    else:
        y = x + 1
    return y + x


def test_a_size_keeps_its_name_behind_the_branches():
    proto = check_script(inside_out, (R(3),), (R(5),), dynamic=N)
    dim = proto.graph.output[0].type.tensor_type.shape.dim[0]
    assert dim.dim_param == "n"


def choices(x, k: int):
    a = 4 if k == 7 else 2
    b = x[:a]
    c = 4 if k == 7 else 2
    if a == 4:
        b = b + 1
    return b * (a - c + 1)


def test_an_int_chosen_twice_is_one():
    proto = check_script(choices, (R(6), 7), (R(6), 1))
    assert [n.op_type for n in proto.graph.node].count("If") == 2
    assert [n.op_type for n in proto.graph.node].count("Equal") == 1
    assert onnx.checker.check_model(proto) is None
