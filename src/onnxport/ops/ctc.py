"""Connectionist temporal classification: the forward recurrence over time, in logarithms, as a Loop."""

from __future__ import annotations

import functools
import math
from typing import Any

import torch

from ..dims import Size
from ..lower.builder import Builder
from ..lower.recurrence import loop
from ..lower.registry import lowering
from ..lower.values import Tensor, Unclear
from .loss import MEAN, NONE, reduced


def _lengths(g: Builder, lengths: Any) -> Tensor:
    """As an int64 vector, a number for each sequence of the batch."""
    tensor = g.cast(lengths, torch.int64) if isinstance(lengths, Tensor) else g.ints(list(lengths))
    return g.reshape(tensor, [tensor.numel])


def _padded(g: Builder, targets: Tensor, lengths: Tensor) -> Tensor:
    """Targets one after the other as rows `[batch, longest]`."""
    before = g.op("CumSum", lengths, g.const(0, torch.int64), exclusive=1)
    longest = g.int_of(g.reduce("ReduceMax", lengths), "longest", minimum=0)
    places = g.add(g.unsqueeze(before, [1]), g.range(0, longest))
    last = g.extremum("Max", g.size(targets.numel - 1), 0)
    safe = g.concat([targets, g.ints([0])], 0)  # there may be no target at all
    return g.gather(safe, g.extremum("Min", places, last), 0)


def _logsumexp(g: Builder, *terms: Tensor) -> Tensor:
    largest = functools.reduce(lambda a, b: g.extremum("Max", a, b), terms)
    shift = g.where(g.equal(largest, -math.inf), 0, largest)
    total = functools.reduce(g.add, [g.exp(g.sub(x, shift)) for x in terms])
    return g.add(g.log(total), shift)


def _negative_log_likelihood(
    g: Builder, log_probs: Tensor, targets: Tensor, inputs: Tensor, lengths: Tensor, blank: int
) -> Tensor:
    """For `log_probs` of `[time, batch, classes]` and `targets` of `[batch, longest]`: `[batch]`."""
    g.require(11, "ctc_loss")
    time, batch, _ = log_probs.shape
    longest = targets.shape[1]
    count: Size = longest * 2 + 1  # of labels with a blank before, between and behind them
    blanks = g.full([batch, longest, 1], blank, torch.int64)
    pairs = g.reshape(g.concat([blanks, g.unsqueeze(targets, [2])], 2), [batch, longest * 2])
    labels = g.concat([pairs, g.full([batch, 1], blank, torch.int64)], 1)
    edge = g.full([batch, 2], blank, torch.int64)
    earlier = g.slice(g.concat([edge, labels], 1), [0], [count], [1])
    may_skip = g.and_(g.not_(g.equal(labels, blank)), g.not_(g.equal(labels, earlier)))
    outside = g.full([batch, 2], -math.inf, log_probs.dtype)
    ends = g.unsqueeze(inputs, [1])

    def step(t: Tensor, alpha: Tensor) -> list[Tensor]:
        now = g.gather_elements(g.gather(log_probs, t, 0), labels, 1)
        around = g.concat([outside, alpha], 1)
        one, two = g.slice(around, [1], [count + 1], [1]), g.slice(around, [0], [count], [1])
        following = g.add(_logsumexp(g, alpha, one, g.where(may_skip, two, -math.inf)), now)
        return [g.where(g.less(t, ends), following, alpha)]

    # before the first step all probability is at the first blank
    first = g.equal(g.range(0, count), 0)
    begin = g.expand(g.where(first, g.const(0, log_probs.dtype), -math.inf), [batch, count])
    alpha = g.concat([g.slice(outside, [0], [1], [1]), loop(g, time, [begin], step)[0]], 1)
    last = g.unsqueeze(g.mul(lengths, 2), [1])
    blank_last, label_last = g.gather_elements(alpha, g.add(last, 1), 1), g.gather_elements(alpha, last, 1)
    return g.neg(g.squeeze(_logsumexp(g, blank_last, label_last), [1]))


@lowering("aten::ctc_loss")
def ctc_loss(
    g: Builder,
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: int = MEAN,
    zero_infinity: bool = False,
) -> Tensor:
    """ctc_loss.Tensor(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, int blank=0,
    int reduction=Mean, bool zero_infinity=False) -> Tensor"""
    batched = log_probs.rank == 3
    lengths = _lengths(g, target_lengths)
    targets = g.cast(targets, torch.int64)
    rows = targets if targets.rank == 2 else _padded(g, targets, lengths)
    probabilities = log_probs if batched else g.unsqueeze(log_probs, [1])
    loss = _negative_log_likelihood(g, probabilities, rows, _lengths(g, input_lengths), lengths, blank)
    if zero_infinity:
        loss = g.where(g.equal(loss, math.inf), 0, loss)
    loss = loss if batched else g.squeeze(loss, [0])
    if reduction == MEAN:
        divisor = g.cast(g.extremum("Max", lengths, 1), loss.dtype)
        loss = g.div(loss, divisor if batched else g.squeeze(divisor, [0]))
    return reduced(g, loss, reduction)


@lowering("aten::_ctc_loss")
def ctc_loss_and_alpha(g: Builder, *arguments: Any) -> tuple[Tensor, Unclear]:
    """_ctc_loss(Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, int blank=0,
    bool zero_infinity=False) -> (Tensor, Tensor)"""
    *given, zero_infinity = arguments
    options: list[Any] = [*given, NONE, zero_infinity]
    loss = ctc_loss(g, *options)
    return loss, Unclear("the probabilities of ctc_loss at each step are not kept in the exported model; use the loss")
