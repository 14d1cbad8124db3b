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
