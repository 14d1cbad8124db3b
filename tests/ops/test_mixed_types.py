"""Operators of two tensors of different types: the type of the result is that of PyTorch, operator by operator."""

import torch
import torch.nn.functional as F
from tests.harness import case, cases, check, f16, f32, f64, i64

POINTS = (torch.tensor([0.0, 1.0, 3.0]), torch.tensor([0.0, 2.0, 2.5, 4.0], dtype=torch.float64))


def both_ways(function):
    return lambda x, y: (function(x, y), function(y, x))


def native_norms(x, w):
    return (
        *torch.native_layer_norm(x, [4], w, None, 1e-5)[1:],
        *torch.native_group_norm(x, w, w, 2, 4, 4, 2, 1e-5)[1:],
        *torch.native_batch_norm(x, None, w, None, None, True, 0.1, 1e-5)[1:],
    )


def of_signal(window):
    def transforms(x):
        made = torch.stft(x, 16, window=window, return_complex=True)
        return torch.view_as_real(made), torch.istft(made, 16, window=window.float())

    return transforms


SOFT = {"low": 0.1, "high": 0.9}
CASES = [
    case("huber", both_ways(F.huber_loss), f32(3), f64(3)),
    case("soft_margin", both_ways(F.soft_margin_loss), f32(3), f64(3)),
    case("logits", both_ways(F.binary_cross_entropy_with_logits), f32(3), f64(3)),
    case("cross_entropy", lambda x, y: F.cross_entropy(x, y, label_smoothing=0.1), f32(3, 4), f64(3, 4, **SOFT)),
    case("cross_entropy_half", F.cross_entropy, f16(3, 4), f32(3, 4, **SOFT), rtol=5e-3),
    case("triplet", lambda x, y: F.triplet_margin_loss(x, x + 1, y, swap=True), f32(3, 4), f64(3, 4)),
    case("gradient", lambda x: torch.gradient(x, spacing=POINTS), f32(3, 4)),
    case("gradient_half", lambda x: torch.gradient(x, spacing=POINTS[:1], dim=0), f16(3, 4), rtol=5e-3),
    case("einsum", lambda x, y: torch.einsum("i,j->ji", x, y), i64(3), f32(2)),
    case("inner", lambda x, y: (torch.inner(x, y), torch.inner(y.long(), x[0, 0])), f32(2, 3), f64()),
    case("solve", lambda x, y: torch.linalg.solve_triangular(x + 3 * torch.eye(3), y, upper=True), f32(3, 3), i64(3, 2)),
    case("poisson", F.poisson_nll_loss, i64(3, low=-2, high=2), f16(3)),
    case("native_norms", native_norms, f16(2, 4, 4), f32(4), rtol=5e-3, atol=5e-3),
    case("window64", of_signal(torch.hann_window(16, dtype=torch.float64)), f32(2, 100), rtol=1e-3, atol=1e-4),
    case("window32", of_signal(torch.hann_window(16)), f16(2, 100), rtol=1e-2, atol=1e-2),
]  # fmt: skip


@cases(CASES, opsets=(13, 20))
def test_mixed_types(case, frontend, opset):
    check(case, frontend, opset)
