"""Connectionist temporal classification."""

import dataclasses

import torch
import torch.nn.functional as F
from tests.harness import LATEST, case, cases, check, f32, f64, i64


def _ctc(log_probs, targets, inputs, lengths, **options):
    return F.ctc_loss(log_probs.log_softmax(-1), targets, inputs, lengths, **options)


LENGTHS = (torch.tensor([7, 5, 6]), torch.tensor([3, 0, 2]))
REPEATED = torch.tensor([[1, 1, 2], [0, 0, 0], [3, 3, 3]])


def _table():
    for reduction in ("none", "mean", "sum"):
        for zero in (False, True):
            yield case(
                f"{reduction}_{zero}",
                lambda x, t, n, m, r=reduction, z=zero: _ctc(x, t, n, m, reduction=r, zero_infinity=z),
                f32(7, 3, 5), REPEATED, *LENGTHS,
            )  # fmt: skip


CASES = [
    *_table(),
    case(
        "impossible",
        lambda x, t, n, m: _ctc(x, t, n, m, reduction="none"),
        f32(4, 2, 5),
        torch.tensor([[1, 1, 1], [1, 2, 3]]),
        torch.tensor([4, 2]),
        torch.tensor([3, 3]),
    ),
    case("last_is_blank", lambda x, t, n, m: _ctc(x, t, n, m, blank=4), f64(7, 3, 5), REPEATED, *LENGTHS),
    case("no_time", lambda x, t, n, m: _ctc(x, t, n, m, reduction="none"), f32(4, 2, 3), i64(2, 2, low=1, high=2),
         torch.tensor([0, 4]), torch.tensor([0, 2])),
    case("lists", lambda x, t: _ctc(x, t, [7, 5], [2, 3]), f32(7, 2, 5), i64(2, 3, low=1, high=4)),
    case("unbatched", lambda x, t: _ctc(x, t, [7], [3]), f32(7, 5), i64(3, low=1, high=4)),
    case("concatenated", lambda x, t, n, m: _ctc(x, t, n, m), f32(7, 3, 5), torch.tensor([1, 1, 2, 3, 4]), *LENGTHS),
    case(
        "dynamic",
        lambda x, t, n, m: _ctc(x, t, n, m, reduction="none"),
        f32(7, 3, 5), REPEATED, *LENGTHS,
        dynamic={0: {0: "time", 1: "batch"}, 1: {0: "batch", 1: "longest"}, 2: {0: "batch"}, 3: {0: "batch"}},
        others=[(torch.randn(9, 1, 5), torch.tensor([[1, 2, 2, 4]]), torch.tensor([9]), torch.tensor([4]))],
    ),
]  # fmt: skip


@cases([dataclasses.replace(c, opset=11) for c in CASES], opsets=(13, LATEST))
def test_ctc(case, frontend, opset):
    check(case, frontend, opset)
