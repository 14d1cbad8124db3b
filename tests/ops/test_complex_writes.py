"""Complex tensors of run-time sizes that are made, written to by slices, and contracted."""

from __future__ import annotations

import torch
from tests.harness import LATEST, c64, case, cases, check, f32


def fourier_layer(x, w):
    f = torch.fft.rfft(x)
    out = torch.zeros(x.shape[0], 3, f.shape[2], dtype=torch.cfloat)
    out[:, :, :2] = torch.einsum("bix,iox->box", f[:, :, :2], w)
    out[:, :, -1] = 1.5 + 2j
    return torch.fft.irfft(out, n=8)


def writes(x):
    y = torch.full((x.shape[0], 4), 1 - 1j, dtype=torch.complex64)
    y[:, ::2] = x[:, ::2]
    y.t()[3] = x[:, 0].conj()
    return y, torch.ones_like(x), x.new_zeros(x.shape[0]), torch.einsum("ij->j", x)


CASES = [
    case("fourier_layer", fourier_layer, f32(2, 2, 8), c64(2, 3, 2), dynamic={0: {0: "b"}}),
    case("writes", writes, c64(3, 4), others=[(torch.randn(3, 4, dtype=torch.complex64),)]),
    case("writes_dynamic", writes, c64(3, 4), dynamic={0: "n"}),
]


@cases(CASES, opsets=(12, LATEST))
def test_complex_writes(case, frontend, opset):
    check(case, frontend, opset)


def parts(a):
    b = torch.complex(a, a + 1)
    torch.imag(b)[0] = 0
    torch.real(b)[:, 1:].mul_(3)
    torch.imag(b[1]).fill_(2.0)
    return b


def pairs(a):
    b = torch.complex(a, a + 1)
    pair = torch.view_as_real(b)
    pair[0, 1, 1] = 5
    torch.imag(b).t()[1] = 7
    return b, pair


def of_pairs(a):
    pair = torch.stack([a, a + 1], -1)
    b = torch.view_as_complex(pair)
    b[0] = 1
    b.mul_(a[:, :1])
    return b, pair


def conjugates(a):
    b = torch.complex(a, a + 1)
    c = torch.conj(b)
    c[0] = torch.complex(a[0], a[1])
    torch.imag(c)[1] = 3
    d = b.mH
    d[1] = torch.complex(a[:, 0], a[:, 1])
    return b, c, d


PARTS = [
    case(f.__name__, f, f32(3, 4), dynamic={0: "n", 1: "m"}, others=[(torch.randn(5, 6),)])
    for f in (parts, pairs, of_pairs, conjugates)
]


@cases(PARTS, opsets=(12, LATEST), frontends=("trace", "script"))
def test_writes_of_parts(case, frontend, opset):
    check(case, frontend, opset)


def assigned(a):
    b = torch.complex(a, a + 1)
    b[0].imag = 2.0
    b[1].real = a[0]
    b.real.view(-1)[3] = 1
    b.imag[a > 0] = -1
    return b


def test_assigned_parts():
    check(case("assigned", assigned, f32(3, 4), dynamic={0: "n", 1: "m"}))


def questions(a):
    b = torch.complex(a, a)
    numbers = [b.ndim, b.numel(), b.element_size(), b.size(0), int(b.is_complex()), int(b.is_signed())]
    return torch.zeros([2], dtype=b.dtype, device=b.device), torch.tensor(numbers)


def test_questions_of_scripts():
    check(case("questions", questions, f32(3, 4)), "script")
