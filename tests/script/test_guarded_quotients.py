"""Quotients and indices of sizes that may be 0, behind an `if` that asks for that: nothing of them is computed before it."""

import pytest
import torch
from tests.script.harness import check_script


def divided(x, n: int):
    if n > 0:
        return x * (x.size(0) // n)
    return x


def remainder(x, y):
    n = y.size(0)
    if n > 0:
        return x[: x.size(0) % n]
    return x


def in_a_loop(x, y):
    n, total = y.size(0), 0
    for i in range(3):
        if n > i:
            total += x.size(0) // (n - i)
    return x * total


def viewed(x, y):
    if y.size(0) > 0:
        return x.view(y.size(0), -1).sum(1)
    return x


def last_of_a_list(x, y):
    stack: list[int] = []
    found = torch.full((x.size(0),), -1, dtype=torch.long)
    for i in range(x.size(0)):
        larger = True
        while larger:
            larger = False
            if len(stack) > 0:
                if bool(x[stack[-1]] < x[i]):
                    k = stack.pop()
                    found[k] = i
                    larger = True
        stack.append(i)
    return found


@pytest.mark.parametrize("opset", [11, 20])
@pytest.mark.parametrize("function", [remainder, in_a_loop, viewed, last_of_a_list])
def test_sizes(function, opset):
    sizes = [(6, 3), (6, 0), (8, 2), (4, 4), (0, 0)]
    arguments = [(torch.randn(n), torch.randn(m)) for n, m in sizes]
    check_script(function, *arguments, dynamic={0: {0: "n"}, 1: {0: "m"}}, opset=opset)


def test_an_int():
    check_script(divided, *((torch.randn(n), k) for n, k in ((6, 2), (5, 0), (7, 3))), dynamic={0: {0: "n"}})
