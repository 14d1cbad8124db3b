"""Bools that sizes are compared to are ints in arithmetic, as in Python; what is computed in place of a number changes no other
name. PyTorch has another sum of two bools (`or`), and changes tensors, which sizes are while a model is traced."""

import pytest
import torch
import torch.nn.functional as F

import onnxport


def in_place(n, m):
    """What other names are, while one is computed in place."""
    k = b = n
    k &= 3
    b <<= 1
    b >>= 2
    b |= 4
    p = n
    p **= 2
    p ^= 5
    some = every = n > 4
    every &= m > 4
    count = some
    count += m > 4
    return n + 10 * k + 100 * b + p + 1000 * some + 2000 * every + 4000 * count


PROGRAMS = {
    "sum": lambda x, n, m: x * ((n > 3) + (n > 5) + (m > 7)),
    "sum_of_a_list": lambda x, n, m: x * sum([n > 4, m > 4, n == m, True]),
    "difference": lambda x, n, m: x * ((n > 5) - (m > 3)),
    "product": lambda x, n, m: x * ((n > 5) * (m > 3) + (n > 4)),
    "negative": lambda x, n, m: x * (-(n > 5) + 3 * abs(m > 4)),
    "quotients": lambda x, n, m: x * ((n > 2) // (m > 0) + (n > 5) % (m > 0) + (n > 5) / 2),
    "power": lambda x, n, m: x * (2 + (n > 7) ** (m > 3)),
    "all_any_either": lambda x, n, m: x * (((n > 4) & (m > 4)) + ((n > 4) | (m > 4)) + ((n > 4) ^ (m > 4))),
    "with_numbers": lambda x, n, m: x * (0.5 * (n > 4) + (m * 0.3 > 2) + True),
    "slice": lambda x, n, m: x[: (n > 1) + (m > 3)],
    "repeat": lambda x, n, m: x.repeat(1 + (n > 4) + (m > 4), 1),
    "padding": lambda x, n, m: F.pad(x, (0, (n > 4) + (m > 4))),
    "in_place": lambda x, n, m: x * in_place(n, m),
    "of_values": lambda x, n, m: x * ((x.sum() > 0) + (x[0, 0] > 0)),
    "of_tensors": lambda x, n, m: x * ((torch.tensor(n) > 3) + (torch.tensor(m) > 3)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_as_python(name):
    def model(x):
        return PROGRAMS[name](x, x.shape[0], x.shape[1])

    result = onnxport.export(model, (torch.randn(6, 5),), input_names=["x"], dynamic_axes={"x": {0: "n", 1: "m"}})
    for sizes in ((6, 5), (1, 1), (2, 9), (8, 4), (9, 8), (3, 3), (16, 17)):
        x = torch.randn(sizes)
        torch.testing.assert_close(result(x), model(x), rtol=1e-5, atol=1e-5)
