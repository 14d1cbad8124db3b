"""Losses."""

from __future__ import annotations

import math
from typing import Any

import torch

from ..lower.builder import Builder
from ..lower.promotion import float_type, result_type
from ..lower.registry import lowering
from ..lower.values import Tensor, Unclear
from .arithmetic import mul, neg, sub
from .matmul import linear

NONE, MEAN, SUM = range(3)  # torch's numbers of reductions


def reduced(g: Builder, loss: Tensor, reduction: int) -> Tensor:
    if reduction == NONE or (loss.rank == 0 and loss.is_float):
        return loss
    return g.reduce("ReduceMean" if reduction == MEAN else "ReduceSum", loss)


def _together(g: Builder, *tensors: Any) -> list[Tensor]:
    dtype = result_type(*tensors)
    return [g.cast(t, dtype) for t in tensors]


def _positive(g: Builder, x: Tensor) -> Tensor:
    """max(x, 0), NaN where x is."""
    return g.op("Relu", x)


# -- between two tensors ------------------------------------------------------------------------------


@lowering("aten::mse_loss")
def mse_loss(g: Builder, self: Tensor, target: Tensor, reduction: int = MEAN) -> Tensor:
    """mse_loss(Tensor self, Tensor target, int reduction=Mean) -> Tensor"""
    a, b = _together(g, self, target)
    difference = g.sub(a, b)
    return reduced(g, g.mul(difference, difference), reduction)


@lowering("aten::l1_loss")
def l1_loss(g: Builder, self: Tensor, target: Tensor, reduction: int = MEAN) -> Tensor:
    """l1_loss(Tensor self, Tensor target, int reduction=Mean) -> Tensor"""
    a, b = _together(g, self, target)
    return reduced(g, g.op("Abs", g.sub(a, b)), reduction)


@lowering("aten::smooth_l1_loss")
def smooth_l1_loss(g: Builder, self: Tensor, target: Tensor, reduction: int = MEAN, beta: float = 1.0) -> Tensor:
    """smooth_l1_loss(Tensor self, Tensor target, int reduction=Mean, float beta=1.0) -> Tensor"""
    if beta == 0:
        return l1_loss(g, self, target, reduction)
    a, b = _together(g, self, target)
    distance = g.op("Abs", g.sub(a, b))
    curved = g.div(g.mul(g.mul(distance, distance), 0.5), beta)
    return reduced(g, g.where(g.less(distance, beta), curved, g.sub(distance, 0.5 * beta)), reduction)


@lowering("aten::huber_loss")
def huber_loss(g: Builder, self: Tensor, target: Tensor, reduction: int = MEAN, delta: float = 1.0) -> Tensor:
    """huber_loss(Tensor self, Tensor target, int reduction=Mean, float delta=1.0) -> Tensor"""
    a, b = _together(g, self, target)
    distance = g.op("Abs", g.sub(a, b))
    curved = g.mul(g.mul(distance, distance), 0.5)
    straight = g.mul(g.sub(distance, 0.5 * delta), delta)
    loss = g.where(g.less_equal(distance, delta), curved, straight)
    return reduced(g, g.cast(loss, self.dtype), reduction)


@lowering("aten::soft_margin_loss")
def soft_margin_loss(g: Builder, self: Tensor, target: Tensor, reduction: int = MEAN) -> Tensor:
    """soft_margin_loss(Tensor self, Tensor target, int reduction=Mean) -> Tensor"""
    a, b = _together(g, self, target)
    loss = g.op("Log", g.add(g.op("Exp", g.neg(g.mul(a, b))), 1))
    return reduced(g, g.cast(loss, self.dtype), reduction)


@lowering("aten::kl_div")
def kl_div(g: Builder, self: Tensor, target: Tensor, reduction: int = MEAN, log_target: bool = False) -> Tensor:
    """kl_div(Tensor self, Tensor target, int reduction=Mean, *, bool log_target=False) -> Tensor"""
    a, b = _together(g, self, target)
    if log_target:
        return reduced(g, g.mul(g.op("Exp", b), g.sub(b, a)), reduction)
    entropy = g.where(g.equal(b, 0), 0, g.mul(b, g.op("Log", b)))  # x log x is 0 at 0
    return reduced(g, g.sub(entropy, g.mul(b, a)), reduction)


@lowering("aten::poisson_nll_loss")
def poisson_nll_loss(
    g: Builder, input: Tensor, target: Tensor, log_input: bool, full: bool, eps: float, reduction: int
) -> Tensor:
    """poisson_nll_loss(Tensor input, Tensor target, bool log_input, bool full, float eps, int reduction) -> Tensor"""
    dtype = torch.promote_types(float_type(input), target.dtype)
    x, t = g.cast(input, dtype), g.cast(target, dtype)
    if log_input:
        loss = g.sub(g.op("Exp", x), g.mul(t, x))
    else:
        loss = g.sub(x, g.mul(t, g.op("Log", g.add(x, eps))))
    if full:
        stirling = g.add(g.sub(g.mul(t, g.op("Log", t)), t), g.mul(g.op("Log", g.mul(t, 2 * math.pi)), 0.5))
        loss = g.add(loss, g.where(g.greater(t, 1), stirling, 0))
    return reduced(g, loss, reduction)


# -- of probabilities -------------------------------------------------------------------------------


@lowering("aten::binary_cross_entropy")
def binary_cross_entropy(
    g: Builder, self: Tensor, target: Tensor, weight: Tensor | None = None, reduction: int = MEAN
) -> Tensor:
    """binary_cross_entropy(Tensor self, Tensor target, Tensor? weight=None, int reduction=Mean) -> Tensor"""
    a, b = _together(g, self, target)
    yes = g.extremum("Max", g.op("Log", a), -100.0)  # as PyTorch does, so that losses stay finite
    no = g.extremum("Max", g.op("Log", g.sub(1, a)), -100.0)
    loss = g.sub(g.mul(g.sub(b, 1), no), g.mul(b, yes))
    return reduced(g, loss if weight is None else g.mul(loss, g.cast(weight, loss.dtype)), reduction)


@lowering("aten::binary_cross_entropy_with_logits")
def binary_cross_entropy_with_logits(
    g: Builder,
    self: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    pos_weight: Tensor | None = None,
    reduction: int = MEAN,
) -> Tensor:
    """binary_cross_entropy_with_logits(Tensor self, Tensor target, Tensor? weight=None, Tensor? pos_weight=None,
    int reduction=Mean) -> Tensor"""
    a, b = _together(g, self, target)
    # log(sigmoid(a)) without overflow on either side.
    log_sigmoid = g.sub(g.extremum("Min", a, 0), g.op("Log", g.add(g.op("Exp", g.neg(g.op("Abs", a))), 1)))
    if pos_weight is not None:
        factor = g.add(g.mul(g.sub(pos_weight, 1), b), 1)
        log_sigmoid = g.mul(log_sigmoid, factor)
    loss = g.cast(g.sub(g.mul(g.sub(1, b), a), log_sigmoid), target.dtype)
    return reduced(g, loss if weight is None else g.mul(loss, g.cast(weight, loss.dtype)), reduction)


@lowering("aten::cross_entropy_loss")
def cross_entropy_loss(
    g: Builder,
    self: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    reduction: int = MEAN,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
) -> Tensor:
    """cross_entropy_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=Mean,
    SymInt ignore_index=-100, float label_smoothing=0.0) -> Tensor"""
    axis = 0 if self.rank == 1 else 1
    log_probabilities = g.softmax(self, axis, log=True)
    if target.is_float:
        log_probabilities = g.cast(log_probabilities, torch.promote_types(self.dtype, target.dtype))
        return _soft_cross_entropy(g, log_probabilities, target, weight, reduction, label_smoothing, axis)
    loss, total = _nll(g, log_probabilities, target, weight, reduction, ignore_index, axis)
    if not label_smoothing:
        return loss
    weighted = log_probabilities if weight is None else _weighted(g, log_probabilities, weight, axis)
    smooth = g.neg(g.reduce("ReduceSum", weighted, [axis]))
    smooth = g.where(g.equal(target, ignore_index), 0, smooth)
    if reduction == MEAN:
        smooth = g.div(g.reduce("ReduceSum", smooth), total)
    elif reduction == SUM:
        smooth = g.reduce("ReduceSum", smooth)
    share = g.div(g.const(label_smoothing, self.dtype), g.scalar(self.shape[axis], self.dtype))
    return g.add(g.mul(loss, 1 - label_smoothing), g.mul(smooth, share))


@lowering("torch_nn::_linear_cross_entropy_batch_chunked")
def linear_cross_entropy(
    g: Builder,
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    linear_bias: Tensor | None,
    weight: Tensor | None,
    reduction: str,
    ignore_index: int,
    label_smoothing: float,
    *_: Any,
) -> tuple[Any, ...]:
    """_linear_cross_entropy_batch_chunked(Tensor input, Tensor linear_weight, Tensor target, Tensor? linear_bias,
    Tensor? weight, str reduction, SymInt ignore_index, float label_smoothing, SymInt batch_chunk_size, str acc_policy,
    ScalarType acc_dtype, bool allow_retain_graph, bool compute_input_grad, bool compute_linear_weight_grad,
    bool compute_linear_bias_grad) -> (Tensor, Tensor, Tensor, Tensor): the loss, and gradients for its derivative"""
    logits = linear(g, input, linear_weight, linear_bias)
    kind = {"none": NONE, "mean": MEAN, "sum": SUM}[reduction]
    loss = cross_entropy_loss(g, logits, target, weight, kind, ignore_index, label_smoothing)
    return loss, *[Unclear("the gradients of a loss are not part of an exported model")] * 3


@lowering("torch_nn::_linear_cross_entropy_batch_chunked_no_reduction")
def linear_cross_entropy_no_reduction(
    g: Builder,
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    linear_bias: Tensor | None,
    weight: Tensor | None,
    ignore_index: int,
    *_: Any,
) -> Tensor:
    """_linear_cross_entropy_batch_chunked_no_reduction(Tensor input, Tensor linear_weight, Tensor target,
    Tensor? linear_bias, Tensor? weight, SymInt ignore_index, SymInt batch_chunk_size, str acc_policy,
    ScalarType acc_dtype) -> Tensor"""
    logits = linear(g, input, linear_weight, linear_bias)
    return cross_entropy_loss(g, logits, target, weight, NONE, ignore_index)


def _soft_cross_entropy(
    g: Builder, logs: Tensor, target: Tensor, weight: Tensor | None, reduction: int, smoothing: float, axis: int
) -> Tensor:
    """Cross entropy with a probability for each class."""
    target = g.cast(target, logs.dtype)
    if smoothing:
        share = g.div(g.const(smoothing, logs.dtype), g.scalar(logs.shape[axis], logs.dtype))
        target = g.add(g.mul(target, 1 - smoothing), share)
    product_ = g.mul(logs, target)
    product_ = product_ if weight is None else _weighted(g, product_, weight, axis)
    loss = g.neg(g.reduce("ReduceSum", product_, [axis]))
    return reduced(g, loss, reduction)


def _weighted(g: Builder, x: Tensor, weight: Tensor, axis: int) -> Tensor:
    return g.mul(x, g.reshape(weight, [weight.shape[0]] + [1] * (x.rank - axis - 1)))


@lowering("aten::nll_loss", "aten::nll_loss2d", "aten::nll_loss_nd")
def nll_loss(
    g: Builder,
    self: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    reduction: int = MEAN,
    ignore_index: int = -100,
) -> Tensor:
    """nll_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=Mean, SymInt ignore_index=-100)
    -> Tensor"""
    return nll_loss_forward(g, self, target, weight, reduction, ignore_index)[0]


@lowering("aten::nll_loss_forward", "aten::nll_loss2d_forward")
def nll_loss_forward(
    g: Builder, self: Tensor, target: Tensor, weight: Tensor | None, reduction: int, ignore_index: int
) -> tuple[Tensor, Tensor]:
    """nll_loss_forward(Tensor self, Tensor target, Tensor? weight, int reduction, SymInt ignore_index)
    -> (Tensor output, Tensor total_weight)"""
    return _nll(g, self, target, weight, reduction, ignore_index, 0 if self.rank == 1 else 1)


def _nll(
    g: Builder, logs: Tensor, target: Tensor, weight: Tensor | None, reduction: int, ignore_index: int, axis: int
) -> tuple[Tensor, Tensor]:
    """The loss, and the sum of the weights of the classes that are not ignored."""
    target = g.cast(target, torch.int64)
    ignored = g.equal(target, ignore_index)
    classes = g.where(ignored, 0, target)
    picked = g.squeeze(_picked(g, logs, g.unsqueeze(classes, [axis]), axis), [axis])
    if weight is None:
        factor = g.cast(g.not_(ignored), logs.dtype)
        loss = g.where(ignored, 0, g.neg(picked))
    else:
        factor = g.where(ignored, 0, g.gather(weight, classes, 0))
        loss = g.where(ignored, 0, g.neg(g.mul(picked, factor)))
    total = g.reduce("ReduceSum", factor)
    if reduction == NONE:
        return loss, total
    summed = g.reduce("ReduceSum", loss)
    return (g.div(summed, total) if reduction == MEAN else summed), total


def _picked(g: Builder, x: Tensor, classes: Tensor, axis: int) -> Tensor:
    """The entry of each class along an axis."""
    if g.opset >= 11:
        return g.gather_elements(x, classes, axis)
    numbers = g.unsqueeze(g.range(0, x.shape[axis]), range(1, x.rank - axis))
    return g.reduce("ReduceSum", g.where(g.equal(classes, numbers), x, 0), [axis], keepdims=True)


# -- of margins ---------------------------------------------------------------------------------------


@lowering("aten::hinge_embedding_loss")
def hinge_embedding_loss(
    g: Builder, self: Tensor, target: Tensor, margin: float = 1.0, reduction: int = MEAN
) -> Tensor:
    """hinge_embedding_loss(Tensor self, Tensor target, float margin=1.0, int reduction=Mean) -> Tensor"""
    target = g.cast(target, torch.int64) if target.dtype == torch.bool else target
    far = g.where(g.equal(target, 1), 0, _positive(g, g.sub(margin, self)))
    near = g.where(g.equal(target, -1), 0, self)
    return reduced(g, g.add(far, near), reduction)


@lowering("aten::margin_ranking_loss")
def margin_ranking_loss(
    g: Builder, input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = MEAN
) -> Tensor:
    """margin_ranking_loss(Tensor input1, Tensor input2, Tensor target, float margin=0.0, int reduction=Mean)
    -> Tensor"""
    difference = mul(g, neg(g, target), sub(g, input1, input2))  # of unsigned integers, it wraps around
    return reduced(g, _positive(g, g.add(g.cast(difference, float_type(difference)), margin)), reduction)


@lowering("aten::cosine_embedding_loss")
def cosine_embedding_loss(
    g: Builder, input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = MEAN
) -> Tensor:
    """cosine_embedding_loss(Tensor input1, Tensor input2, Tensor target, float margin=0.0, int reduction=Mean)
    -> Tensor"""
    axis = [target.rank]
    epsilon = 1e-12  # as in PyTorch

    def dot(a: Tensor, b: Tensor) -> Tensor:
        return g.reduce("ReduceSum", g.mul(a, b), axis)

    dtype = float_type(input1, input2)
    a, b = g.cast(input1, dtype), g.cast(input2, dtype)
    lengths = g.op("Sqrt", g.mul(g.add(dot(a, a), epsilon), g.add(dot(b, b), epsilon)))
    cosine = g.div(dot(a, b), lengths)
    target = g.cast(target, torch.int64) if target.dtype == torch.bool else target
    alike = g.where(g.equal(target, 1), g.sub(1, cosine), 0)
    apart = g.where(g.equal(target, -1), _positive(g, g.sub(cosine, margin)), 0)
    return reduced(g, g.add(alike, apart), reduction)


@lowering("aten::triplet_margin_loss")
def triplet_margin_loss(
    g: Builder,
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: int = MEAN,
) -> Tensor:
    """triplet_margin_loss(Tensor anchor, Tensor positive, Tensor negative, float margin=1.0, float p=2.0,
    float eps=1e-06, bool swap=False, int reduction=Mean) -> Tensor"""
    near, far = _distance(g, anchor, positive, p, eps), _distance(g, anchor, negative, p, eps)
    if swap:
        far = g.extremum("Min", *_together(g, far, _distance(g, positive, negative, p, eps)))
    near, far = _together(g, near, far)
    return reduced(g, _positive(g, g.sub(g.add(near, margin), far)), reduction)


def _distance(g: Builder, a: Tensor, b: Tensor, p: float, eps: float) -> Tensor:
    """The p-norm of a - b + eps along the last axis."""
    difference = sub(g, a, b)  # of unsigned integers, it wraps around
    difference = g.add(g.cast(difference, float_type(difference)), eps)
    if p in (1, 2):
        return g.reduce("ReduceL1" if p == 1 else "ReduceL2", difference, [-1])
    size = g.op("Abs", difference)
    if p == math.inf:
        return g.reduce("ReduceMax", size, [-1])
    return g.pow(g.reduce("ReduceSum", g.pow(size, p), [-1]), 1 / p)


@lowering("aten::multi_margin_loss")
def multi_margin_loss(
    g: Builder,
    self: Tensor,
    target: Tensor,
    p: Any = 1,
    margin: Any = 1,
    weight: Tensor | None = None,
    reduction: int = MEAN,
) -> Tensor:
    """multi_margin_loss(Tensor self, Tensor target, Scalar p=1, Scalar margin=1, Tensor? weight=None,
    int reduction=Mean) -> Tensor"""
    x = self if self.rank == 2 else g.reshape(self, [1, self.numel])
    classes = g.reshape(target, [x.shape[0], 1])
    excess = _positive(g, g.add(g.sub(x, _picked(g, x, classes, 1)), margin))
    excess = excess if p == 1 else g.mul(excess, excess)
    excess = excess if weight is None else g.mul(excess, g.gather(weight, classes, 0))
    others = g.where(g.equal(classes, g.range(0, x.shape[1])), 0, excess)
    loss = g.div(g.reduce("ReduceSum", others, [1]), g.scalar(x.shape[1], x.dtype))
    if reduction == NONE and self.rank < 2:
        return g.reshape(loss, target.shape)
    return reduced(g, loss, reduction)


@lowering("aten::multilabel_margin_loss")
def multilabel_margin_loss(g: Builder, self: Tensor, target: Tensor, reduction: int = MEAN) -> Tensor:
    """multilabel_margin_loss(Tensor self, Tensor target, int reduction=Mean) -> Tensor"""
    rows, count = (self.shape[0] if self.rank == 2 else 1), (self.shape[-1] if self.rank else 1)
    x, labels = g.reshape(self, [rows, count]), g.reshape(target, [rows, count])
    # The labels of a row end at the first negative one: none before it is negative.
    ends = g.cast(g.less(labels, 0), torch.int32)
    valid = g.equal(g.cumsum(ends, 1), 0)
    labels = g.where(valid, labels, 0)
    hits = g.and_(g.equal(g.unsqueeze(labels, [2]), g.range(0, count)), g.unsqueeze(valid, [2]))
    is_label = g.greater(g.reduce("ReduceMax", g.cast(hits, torch.int32), [1]), 0)
    chosen = g.gather_elements(x, labels, 1)
    excess = _positive(g, g.add(g.sub(g.unsqueeze(x, [1]), g.unsqueeze(chosen, [2])), 1))  # [row, label, class]
    counted = g.and_(g.unsqueeze(valid, [2]), g.unsqueeze(g.not_(is_label), [1]))
    loss = g.div(g.reduce("ReduceSum", g.where(counted, excess, 0), [1, 2]), g.scalar(count, x.dtype))
    if reduction == NONE and self.rank < 2:
        return g.reshape(loss, [])
    return reduced(g, loss, reduction)
