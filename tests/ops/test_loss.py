"""Losses."""

import pytest
import torch
import torch.nn.functional as F
from tests.harness import LATEST, case, cases, check, f32, f64, i64
from torch import nn


def _reductions(name, function, *inputs, **more):
    return [
        case(f"{name}_{reduction}", lambda *xs, r=reduction: function(*xs, reduction=r), *inputs, **more)
        for reduction in ("none", "mean", "sum")
    ]


def _classes(*shape, count=5):
    generator = torch.Generator().manual_seed(1)
    return torch.randint(0, count, shape, generator=generator)


CLASS = torch.tensor([0, 3, -100, 2])
SIGNS = torch.tensor([1, -1, 1, -1])

PAIRS = [
    *_reductions("mse", F.mse_loss, f32(2, 3), f32(2, 3), dynamic={0: {0: "n"}, 1: {0: "n"}}),
    *_reductions("l1", F.l1_loss, f32(2, 3), f32(2, 3)),
    *_reductions("smooth_l1", F.smooth_l1_loss, f32(2, 3), f32(2, 3)),
    *_reductions("huber", F.huber_loss, f32(2, 3), f32(2, 3)),
    case("smooth_l1_beta", lambda a, b: F.smooth_l1_loss(a, b, beta=0.3), f32(2, 3), f32(2, 3)),
    case("huber_delta", lambda a, b: F.huber_loss(a, b, delta=0.3), f64(2, 3), f64(2, 3)),
    *_reductions("soft_margin", F.soft_margin_loss, f32(4), SIGNS.float()),
    *_reductions("kl_div", F.kl_div, f32(2, 3), f32(2, 3, low=0.1)),
    case("kl_div_log", lambda a, b: F.kl_div(a, b, log_target=True, reduction="batchmean"), f32(2, 3), f32(2, 3)),
    case("kl_div_zero", lambda a: F.kl_div(a, torch.zeros(2, 3), reduction="sum"), f32(2, 3)),
    *_reductions("poisson", F.poisson_nll_loss, f32(2, 3), f32(2, 3, low=0, high=5)),
    case("poisson_full", lambda a, b: F.poisson_nll_loss(a, b, False, True), f32(2, 3, low=0.1), f32(2, 3, low=0, high=5)),
    *_reductions("bce", F.binary_cross_entropy, f32(2, 3, low=0, high=1), f32(2, 3, low=0, high=1)),
    case("bce_bounds", F.binary_cross_entropy, torch.tensor([0.0, 1.0]), torch.tensor([1.0, 0.0])),
    case("bce_weight", lambda a, b, w: F.binary_cross_entropy(a, b, w), f32(2, 3, low=0.1, high=0.9), f32(2, 3, low=0, high=1), f32(3)),
    *_reductions("bce_logits", F.binary_cross_entropy_with_logits, f32(2, 3, low=-90, high=90), f32(2, 3, low=0, high=1)),
    case("bce_logits_weights", lambda a, b, w, p: F.binary_cross_entropy_with_logits(a, b, w, pos_weight=p),
         f32(2, 3), f32(2, 3, low=0, high=1), f32(3), f32(3)),
]  # fmt: skip

CLASSES = [
    *_reductions("cross_entropy", F.cross_entropy, f32(4, 5), CLASS, dynamic={0: {0: "n"}, 1: {0: "n"}}),
    *_reductions("smoothing", lambda a, b, w, reduction: F.cross_entropy(
        a, b, w, reduction=reduction, label_smoothing=0.1), f32(4, 5), CLASS, f32(5, low=0.1)),
    *_reductions("smoothing_plain", lambda a, b, reduction: F.cross_entropy(
        a, b, reduction=reduction, label_smoothing=0.1), f32(4, 5), CLASS),
    *_reductions("ignore", lambda a, b, w, reduction: F.cross_entropy(
        a, b, w, reduction=reduction, ignore_index=3), f32(4, 5), _classes(4), f32(5, low=0.1)),
    *_reductions("probabilities", lambda a, b, w, reduction: F.cross_entropy(
        a, b, w, reduction=reduction, label_smoothing=0.2), f32(4, 5), f32(4, 5, low=0, high=1), f32(5, low=0.1)),
    case("image", F.cross_entropy, f32(2, 5, 3, 4), _classes(2, 3, 4), dynamic={0: {0: "n", 2: "h"}, 1: {0: "n", 1: "h"}}),
    case("single", F.cross_entropy, f32(5), torch.tensor(2)),
    *_reductions("nll", F.nll_loss, f32(4, 5), CLASS),
    case("nll_2d", F.nll_loss, f32(2, 5, 3, 4), _classes(2, 3, 4)),
    case("nll_3d", F.nll_loss, f32(2, 5, 3, 4, 2), _classes(2, 3, 4, 2)),
    case("nll_double", F.nll_loss, f64(4, 5), CLASS),
    *_reductions("multi_margin", F.multi_margin_loss, f32(4, 5), _classes(4)),
    case("multi_margin_p", lambda a, b, w: F.multi_margin_loss(a, b, p=2, margin=0.5, weight=w), f32(4, 5), _classes(4), f32(5)),
]  # fmt: skip

MARGINS = [
    *_reductions("hinge", F.hinge_embedding_loss, f32(4), SIGNS),
    *_reductions("ranking", F.margin_ranking_loss, f32(4), f32(4), SIGNS),
    *_reductions("cosine", F.cosine_embedding_loss, f32(4, 3), f32(4, 3), SIGNS),
    *_reductions("triplet", F.triplet_margin_loss, f32(4, 3), f32(4, 3), f32(4, 3)),
    case("triplet_swap", lambda a, b, c: F.triplet_margin_loss(a, b, c, p=3, swap=True), f32(4, 3), f32(4, 3), f32(4, 3)),
    *_reductions("multilabel", F.multilabel_margin_loss, f32(2, 4), torch.tensor([[3, 0, -1, 1], [1, 1, 2, 0]])),
    case("ranking_ints", F.margin_ranking_loss, i64(4), i64(4), SIGNS),
    case("cosine_ints", F.cosine_embedding_loss, i64(4, 3), i64(4, 3), SIGNS),
    case("triplet_ints", F.triplet_margin_loss, i64(4, 3), i64(4, 3), i64(4, 3)),
    case("multilabel_1d", F.multilabel_margin_loss, f32(4), torch.tensor([3, 0, -1, 1])),
]  # fmt: skip

# Losses that compute part after part have an operator of their own in exported programs.
PARTS = (
    {"options": nn.LinearCrossEntropyOptions(batch_chunk_size=2)} if hasattr(nn, "LinearCrossEntropyOptions") else {}
)
LINEAR = [
    *_reductions("parts", lambda x, w, t, reduction: F.linear_cross_entropy(x, w, t, reduction=reduction, **PARTS),
        f32(4, 3), f32(5, 3), CLASS),
    case("of_all", lambda x, w, t, b, k: F.linear_cross_entropy(
        x, w, t, linear_bias=b, weight=k, ignore_index=3, **PARTS),
        f32(4, 3), f32(5, 3), CLASS.clamp(min=0), f32(5), f32(5, low=0.1)),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore:reduction. 'mean' divides")
@cases(PAIRS, opsets=(9, LATEST))
def test_pairs(case, frontend, opset):
    check(case, frontend, opset)


@cases(CLASSES, opsets=(9, 13, LATEST))
def test_classes(case, frontend, opset):
    check(case, frontend, opset)


@cases(MARGINS, opsets=(9, LATEST))
def test_margins(case, frontend, opset):
    check(case, frontend, opset)


@pytest.mark.skipif(not PARTS, reason="torch has linear_cross_entropy from 2.13 on")
@cases(LINEAR, opsets=(9, LATEST), frontends=("trace", "exported"))
def test_linear(case, frontend, opset):
    check(case, frontend, opset)
