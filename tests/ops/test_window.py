"""Window functions, at lengths known at export and not."""

from __future__ import annotations

import torch
from tests.harness import LATEST, case, cases, check, f32, f64

WINDOWS = {
    "hann": torch.hann_window,
    "hann_symmetric": lambda n, **k: torch.hann_window(n, periodic=False, **k),
    "hamming": torch.hamming_window,
    "hamming_alpha_beta": lambda n, **k: torch.hamming_window(n, False, 0.6, 0.3, **k),
    "hamming_alpha": lambda n, **k: torch.hamming_window(n, True, 0.6, **k),
    "blackman": torch.blackman_window,
    "blackman_symmetric": lambda n, **k: torch.blackman_window(n, False, **k),
    "bartlett": torch.bartlett_window,
    "bartlett_symmetric": lambda n, **k: torch.bartlett_window(n, False, **k),
    "kaiser": torch.kaiser_window,
    "kaiser_beta": lambda n, **k: torch.kaiser_window(n, False, 5.0, **k),
}


def _of_length(window):
    return lambda x: x * window(x.shape[0], dtype=x.dtype)


def _fixed(window):
    return lambda x: x * window(7, dtype=x.dtype)


OTHERS = [(torch.randn(n),) for n in (1, 2, 6, 13)]
DYNAMIC = [case(name, _of_length(w), f32(5), dynamic={0: "n"}, others=OTHERS) for name, w in WINDOWS.items()]
FIXED = [case(name, _fixed(w), f64(7)) for name, w in WINDOWS.items()]


@cases(DYNAMIC, opsets=(7, LATEST))
def test_windows_of_any_length(case, frontend, opset):
    check(case, frontend, opset)


@cases(FIXED)
def test_windows_of_known_length(case, frontend, opset):
    check(case, frontend, opset)
