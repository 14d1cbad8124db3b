"""Operators of torchaudio; where it isn't installed, an operator of the same name and schema stands for its own."""

import contextlib

import torch
from tests.harness import LATEST, case, cases, check, f32, f64

with contextlib.suppress(ImportError):
    import torchaudio  # noqa: F401

if not hasattr(torch.ops.torchaudio, "_lfilter_core_loop"):
    LIBRARY = torch.library.Library("torchaudio", "FRAGMENT")
    LIBRARY.define(
        "_lfilter_core_loop(Tensor input_signal_windows, Tensor a_coeff_flipped, Tensor(a!) padded_output_waveform)"
        " -> Tensor(a!)"
    )

    def core_loop(x, weight, output):
        order = weight.shape[1]
        for t in range(x.shape[2]):
            seen = (output[:, :, t : t + order] * weight).sum(-1)
            output[:, :, t + order - 1] = x[:, :, t] - seen
        return output

    LIBRARY.impl("_lfilter_core_loop", core_loop, "CPU")


def filtered(x, weight):
    """As torchaudio.functional.lfilter calls it."""
    order = weight.shape[1]
    output = torch.zeros(x.shape[0], x.shape[1], x.shape[2] + order - 1, dtype=x.dtype)
    torch.ops.torchaudio._lfilter_core_loop(x, weight.flip(1).contiguous(), output)
    return output[:, :, order - 1 :]


def weights(channels, order, dtype=torch.float32):
    made = (torch.arange(channels * order, dtype=dtype) * 7 % 5 - 2).view(channels, order) / (3 * order)
    made[:, 0] = 1
    return made


CASES = [
    case("biquad", lambda x: filtered(x, weights(2, 3)), f32(2, 2, 9), dynamic={0: "n", 2: "t"}),
    case("coefficients", filtered, f32(1, 3, 7), weights(3, 4)),
    case("long", lambda x: filtered(x, weights(1, 6)), f32(2, 1, 80), dynamic={2: "t"}),
    case("one", lambda x: filtered(x, weights(2, 2)), f32(1, 2, 1)),
    case("double", lambda x: filtered(x, weights(1, 3, torch.float64)), f64(2, 1, 5)),
]


@cases(CASES, opsets=(8, 11, 13, LATEST))
def test_recursive_filters(case, frontend, opset):
    check(case, frontend, opset)
