"""What backward operators are made of, where a run with gradients in it is flattened to operators.

The tracer can't record those that are told which gradients are wanted, and ONNX has no form of most. PyTorch has
decompositions of many; those of convolutions, attention and pooling are here, from what the operators compute.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

Function = Callable[..., Any]
_aten: Any = torch.ops.aten


@functools.cache
def decompositions() -> Mapping[Any, Function]:
    """The functions to call in place of backward operators."""
    from torch._decomp import decomposition_table as table

    found = {
        operator: function
        for operator, function in table.items()
        if str(operator).endswith("_backward.default") and str(operator) not in _CONVERTED
    }
    return {
        **found,
        _aten.convolution_backward.default: _of_convolution,
        _aten._scaled_dot_product_flash_attention_for_cpu_backward.default: _of_attention,
        _aten.avg_pool2d_backward.default: _of_average,
        _aten._adaptive_avg_pool2d_backward.default: _of_adaptive_average,
        **{
            getattr(_aten, f"{name}{rank}d_backward").default: functools.partial(_of_resize, forward)
            for name, rank, forward in _RESIZES
        },
    }


# Operators that resize, by the number of axes, and the one that does it to two.
_RESIZES: tuple[tuple[str, int, Any], ...] = (
    *(("upsample_nearest", rank, _aten.upsample_nearest2d) for rank in (1, 2, 3)),
    *(("_upsample_nearest_exact", rank, _aten._upsample_nearest_exact2d) for rank in (1, 2, 3)),
    ("upsample_linear", 1, _aten.upsample_bilinear2d),
    ("upsample_bilinear", 2, _aten.upsample_bilinear2d),
    ("upsample_trilinear", 3, _aten.upsample_bilinear2d),
    ("upsample_bicubic", 2, _aten.upsample_bicubic2d),
)
# There are conversions of these.
_CONVERTED = frozenset(
    f"aten.{name}_backward.default"
    for name in (
        "elu", "gelu", "leaky_relu", "native_dropout", "max_pool2d_with_indices", "select", "sigmoid", "silu", "slice",
        "softplus", "tanh", "threshold",
    )
)  # fmt: skip


def _of_convolution(
    grad_output: torch.Tensor,
    input: torch.Tensor,
    weight: torch.Tensor,
    bias_sizes: Sequence[int] | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
    output_mask: Sequence[bool],
) -> tuple[torch.Tensor | None, ...]:
    """The gradient for the input is the transposed convolution; that for the weight convolves the input with the gradient."""
    kernel, no_padding = weight.shape[2:], [0] * len(stride)
    by_input = by_weight = by_bias = None
    if output_mask[0]:
        missing = no_padding
        if not transposed:
            least = [
                (n - 1) * s - 2 * p + d * (k - 1) + 1
                for n, s, p, d, k in zip(grad_output.shape[2:], stride, padding, dilation, kernel)
            ]
            missing = [size - n for size, n in zip(input.shape[2:], least)]
        by_input = _aten.convolution(
            grad_output, weight, None, stride, padding, dilation, not transposed, missing, groups
        )
    if output_mask[1]:
        x, y = (grad_output, input) if transposed else (input, grad_output)
        count, channels, *sizes = x.shape
        x = x.reshape(count, groups, channels // groups, *sizes).transpose(0, 2).reshape(-1, groups * count, *sizes)
        whole = _aten.convolution(
            x, y.transpose(0, 1), None, dilation, padding, stride, False, no_padding, groups
        ).transpose(0, 1)
        by_weight = whole[(slice(None), slice(None), *(slice(0, k) for k in kernel))]
    if output_mask[2]:
        by_bias = grad_output.sum([0, *range(2, grad_output.dim())])
    return by_input, by_weight, by_bias


def _of_attention(
    grad_out: torch.Tensor,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    out: torch.Tensor,
    logsumexp: torch.Tensor,
    dropout_p: float,
    is_causal: bool,
    *,
    attn_mask: torch.Tensor | None = None,
    scale: float | None = None,
) -> tuple[torch.Tensor, ...]:
    if dropout_p:
        raise NotImplementedError("the gradient of attention with dropout")
    scale = 1 / math.sqrt(query.size(-1)) if scale is None else scale
    scores = query @ key.transpose(-1, -2) * scale
    if attn_mask is not None:
        scores = scores + attn_mask
    if is_causal:
        scores = scores.masked_fill(torch.ones_like(scores, dtype=torch.bool).tril().logical_not(), -torch.inf)
    weights = _aten._safe_softmax(scores, -1)  # of rows that are masked as a whole, too
    by_scores = weights * (grad_out @ value.transpose(-1, -2) - (grad_out * out).sum(-1, keepdim=True)) * scale
    return by_scores @ key, by_scores.transpose(-1, -2) @ query, weights.transpose(-1, -2) @ grad_out


def _of_average(
    grad_output: torch.Tensor,
    self: torch.Tensor,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> torch.Tensor:
    """Each element gets its part of each window that it is in."""
    kernel = list(kernel_size) * (3 - len(kernel_size))
    steps, margins = (list(given or kernel) * (2 if len(given) == 1 else 1) for given in (stride, padding))
    *lead, height, width = self.shape
    grad = grad_output.reshape(1, -1, *grad_output.shape[-2:])
    padded = [n + 2 * p for n, p in zip((height, width), margins)]
    # A window that reaches beyond the padding, as the last one may in ceil mode, counts what is within.
    inside = self.new_ones(1, 1, *padded)
    if not count_include_pad:
        inside = torch.nn.functional.pad(
            self.new_ones(1, 1, height, width), (margins[1], margins[1], margins[0], margins[0])
        )
    reached = [(n - 1) * s + k for n, s, k in zip(grad.shape[-2:], steps, kernel)]
    beyond = [max(0, r - n) for r, n in zip(reached, padded)]
    inside = torch.nn.functional.pad(inside, (0, beyond[1], 0, beyond[0]))
    ones, none = self.new_ones(1, 1, *kernel), [0, 0]
    counts = _aten.convolution(inside, ones, None, steps, none, [1, 1], False, none, 1)
    parts = grad / (divisor_override or counts[..., : grad.shape[-2], : grad.shape[-1]])
    channels = parts.shape[1]
    spread = _aten.convolution(
        parts, ones.expand(channels, -1, -1, -1), None, steps, none, [1, 1], True, none, channels
    )
    spread = torch.nn.functional.pad(spread, (0, max(0, padded[1] - reached[1]), 0, max(0, padded[0] - reached[0])))
    top, left = margins
    return spread[..., top : top + height, left : left + width].reshape(*lead, height, width)


def _of_resize(
    forward: Function, grad_output: torch.Tensor, output_size: Sequence[int], input_size: Sequence[int], *more: Any
) -> torch.Tensor:
    """`more` has whether corners are aligned, where they can be, and the scale of each axis, as far as there are any."""
    count = 0 if "nearest" in forward.__name__ else 1
    flags, scales = more[:count], [*more[count:], None, None, None]
    grad = grad_output
    for axis, (before, after, scale) in enumerate(zip(input_size[2:], output_size, scales), 2):
        row = torch.eye(before, dtype=grad.dtype).reshape(before, 1, before, 1)
        grad = _spread(grad, axis, forward(row, [after, 1], *flags, scale, None))
    return grad


def _of_adaptive_average(grad_output: torch.Tensor, self: torch.Tensor) -> torch.Tensor:
    grad = grad_output
    for axis in (-2, -1):
        before, after = self.shape[axis], grad_output.shape[axis]
        row = torch.eye(before, dtype=grad.dtype).reshape(before, 1, before, 1)
        grad = _spread(grad, axis, _aten._adaptive_avg_pool2d(row, [after, 1]))
    return grad


def _spread(grad: torch.Tensor, axis: int, of_each: torch.Tensor) -> torch.Tensor:
    """What each element along an axis gets of a gradient, of what it alone, where it is 1, is after the operator."""
    before, _, after, _ = of_each.shape
    return (grad.movedim(axis, -1) @ of_each.reshape(before, after).T).movedim(-1, axis)
