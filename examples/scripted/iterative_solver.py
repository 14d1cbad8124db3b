"""Conjugate gradients until the residual is below a tolerance, or the iterations run out."""

import torch


def solve(a: torch.Tensor, b: torch.Tensor, tolerance: float, most: int) -> tuple[torch.Tensor, int]:
    x = torch.zeros_like(b)
    r = b - a @ x
    p = r.clone()
    size = r.dot(r)
    steps = 0
    while steps < most and bool(size > tolerance):
        q = a @ p
        alpha = size / p.dot(q)
        x += alpha * p
        r -= alpha * q
        new = r.dot(r)
        p = r + new / size * p
        size = new
        steps += 1
    return x, steps


def program():
    return torch.jit.script(solve)


def arguments():
    def system(n, most):
        m = torch.randn(n, n)
        return m @ m.t() / n + torch.eye(n), torch.randn(n), 1e-6, most

    return [system(4, 50), system(9, 50), system(6, 2)]


DYNAMIC = {0: {0: "n", 1: "n"}, 1: {0: "n"}}
