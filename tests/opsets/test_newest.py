"""Which form is written at which opset: the newest where it pays, as `docs/opsets.md` has it measured."""

from __future__ import annotations

import math

import pytest
import torch
from torch.nn import functional as F

from ..harness import LATEST, b8, case, cases, check, f32, f64, operators

VALUES = torch.tensor([math.nan, math.inf, -100.0, -20.0, -1e-3, 0.0, 1e-4, 3.0, 5.4, 5.6, 19.0, 21.0, 88.0, 1e30])

MISH = [
    case("float", F.mish, VALUES),
    case("double", F.mish, VALUES.double(), rtol=1e-13, atol=0),
    case("half", F.mish, VALUES[:-1].half()),
    case("bfloat16", lambda x: F.mish(x.bfloat16()).float(), f32(5), opset=13, rtol=2e-2),
    case("end", F.mish, torch.tensor([-math.inf, 1.0])),
]


@cases(MISH, opsets=(7, 8, 11, 12, 13, LATEST))
def test_mish(case, frontend, opset):
    check(case, frontend, opset)


FORMS = [
    # what, the opset of the newer form, operators from it on, an operator of the older form
    (case("layer_norm", lambda x, w, b: F.layer_norm(x, (4,), w, b), f32(2, 3, 4), f32(4), f32(4)), 17,
     ["LayerNormalization"], "ReduceMean"),
    (case("gelu", F.gelu, f32(3, 4)), 20, ["Gelu"], "Erf"),
    (case("gelu_tanh", lambda x: F.gelu(x, approximate="tanh"), f32(3, 4)), 20, ["Gelu"], "Tanh"),
    (case("hardswish", F.hardswish, f32(3, 4)), 14, ["HardSwish"], "HardSigmoid"),
    (case("rms_norm", lambda x, w: F.rms_norm(x, (4,), w), f32(2, 3, 4), f32(4)), 23, ["RMSNormalization"], "Div"),
    (case("cumprod", lambda x: x.cumprod(1), f32(3, 5)), 26, ["CumProd"], "Mul"),
]  # fmt: skip


@pytest.mark.parametrize(("case", "since", "newest", "older"), FORMS, ids=[form[0].name for form in FORMS])
def test_newest_where_it_pays(case, since, newest, older):
    assert operators(check(case, opset=since)) == newest
    assert operators(check(case, opset=LATEST)) == newest
    before = operators(check(case, opset=since - 1))
    assert older in before
    assert newest[0] not in before


SPELLED = [
    case("group_norm", lambda x, w, b: F.group_norm(x, 2, w, b), f32(2, 4, 3, 3), f32(4), f32(4)),
    case("silu", F.silu, f32(3, 4)),
    case("mish", F.mish, f32(3, 4)),
    case("attention", F.scaled_dot_product_attention, f32(2, 3, 4, 8), f32(2, 3, 5, 8), f32(2, 3, 5, 8)),
    case(
        "masked_attention", F.scaled_dot_product_attention, f32(2, 3, 4, 8), f32(2, 3, 5, 8), f32(2, 3, 5, 8), b8(4, 5)
    ),
    case("index_copy", lambda x, y: x.index_copy(0, torch.tensor([1]), y), f32(3, 4), f32(1, 4)),
    case("gelu_double", F.gelu, f64(3, 4)),
]
SLOWER = {"GroupNormalization", "Swish", "Mish", "Attention", "TensorScatter", "Gelu"}


@cases(SPELLED, opsets=(21, 24, LATEST))
def test_spelled_out_where_that_is_faster(case, frontend, opset):
    assert not SLOWER & set(operators(check(case, frontend, opset)))
