"""Operators whose form depends on a bool, or on whether there is a value, that is known only at run time."""

# ruff: noqa: UP045  programs are as users write them, for TorchScript
from typing import Optional

import pytest
import torch
import torch.nn.functional as F
from tests.script.harness import check_script

import onnxport

X = torch.arange(12.0).view(3, 4) - 5


def sorts(x, flag: bool):
    values, order = torch.sort(x, dim=1, descending=flag)
    best, _ = torch.topk(x, 2, largest=flag)
    return values, order, best


def keeps_the_axis(x, flag: bool):
    return x.sum(1, keepdim=flag)


def resizes(x, flag: bool):
    return F.interpolate(x[None, None], size=[5, 7], mode="bilinear", align_corners=flag)


def accumulates(x, flag: bool):
    y = torch.zeros(3)
    y.index_put_([torch.tensor([0, 2, 2])], x[2, :3] * 0 + 1, accumulate=flag)
    return y[:2], y[2:] > 1.5


def attends_causally(x, flag: bool):
    mask: Optional[torch.Tensor] = torch.full([3, 3], -0.5)
    if flag:
        mask = None
    q = x[None, None]
    return F.scaled_dot_product_attention(q, q, q, mask, 0.0, flag)


def adds_a_bias(x, flag: bool):
    bias: Optional[torch.Tensor] = None
    if flag:
        bias = x[:, 0]
    return F.linear(x, x, bias), torch.conv1d(x[None], x[:, :3, None], bias)


def weighs_or_not(x, flag: bool):
    weights: Optional[torch.Tensor] = None
    if flag:
        weights = torch.tensor([1.0, 2.0, 3.0, 4.0])
    return F.cross_entropy(x, torch.tensor([0, 1, 2]), weights), F.layer_norm(x, [4], weights)


def clamps(x, flag: bool):
    low: Optional[torch.Tensor] = None
    if flag:
        low = x.mean()
    return torch.clamp(x, low, x.amax() - 1)


def clamps_in_place(x, flag: bool):
    y = x * 2
    row = y[1]
    low: Optional[torch.Tensor] = None
    if flag:
        low = x.mean()
    row.clamp_(low, x.amax() - 1)
    return y


def unsqueezes_a_mask_if_there_is_one(x, flag: bool):
    mask: Optional[torch.Tensor] = torch.ones(4)
    if flag:
        mask = None
    if mask is not None:
        if mask.dim() == 1:
            mask = mask.unsqueeze(0)
    if mask is not None:
        x = x + mask.expand(3, mask.size(1))
    return x


PROGRAMS = (
    sorts, keeps_the_axis, resizes, accumulates, attends_causally, adds_a_bias, weighs_or_not, clamps, clamps_in_place,
    unsqueezes_a_mask_if_there_is_one,
)  # fmt: skip


@pytest.mark.parametrize("flag", [True, False])
@pytest.mark.parametrize("function", PROGRAMS)
def test_both_ways(function, flag):
    check_script(function, (X, flag), (X, not flag), (-X, flag), dynamic={0: {0: "n"}} if function is sorts else None)


def unwraps(x, flag: bool):
    y: Optional[torch.Tensor] = x if flag else None
    return torch.jit._unwrap_optional(y) + 1


def test_what_needs_a_value_takes_it():
    check_script(unwraps, (X, True))


def test_opsets_whose_ifs_are_too_weak():
    with pytest.raises(onnxport.errors.OpsetError, match="11"):
        check_script(sorts, (X, True), opset=10)


def scales(x, slope: float):
    return F.elu(x, slope)


def test_floats_that_decide_no_form():
    check_script(scales, (X, 0.5), (X, 2.0))


def measures(x, p: float):
    return torch.cdist(x, x, p)


def test_floats_that_decide_the_form():
    with pytest.raises(onnxport.errors.LoweringError, match="an attribute of the model or a default") as caught:
        check_script(measures, (X, 0.5))
    assert type(caught.value) is onnxport.errors.LoweringError
