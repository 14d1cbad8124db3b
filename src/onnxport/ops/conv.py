"""Convolutions and transposed convolutions, of one to three axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from ..dims import Dim, Size, product
from ..errors import LoweringError
from ..lower.builder import Builder
from ..lower.registry import lowering
from ..lower.values import Tensor


def per_axis(value: int | Sequence[int], count: int) -> list[int]:
    """One number for each of `count` axes, of a list that may hold one for all."""
    values = [value] if isinstance(value, int) else list(value)
    return values * count if len(values) == 1 else values


def has_kernels(x: Tensor) -> bool:
    """Whether runtimes compute Conv, AveragePool and the like in this dtype without loss."""
    return x.is_float and x.dtype != torch.float64


@lowering("aten::conv1d", "aten::conv2d", "aten::conv3d")
def conv(
    g: Builder,
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: Size,
) -> Tensor:
    """conv2d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=1, SymInt[2] padding=0,
    SymInt[2] dilation=1, SymInt groups=1) -> Tensor"""
    count = weight.rank - 2
    strides, dilations = per_axis(stride, count), per_axis(dilation, count)
    if padding == "same":
        totals = [d * (int(k) - 1) for d, k in zip(dilations, weight.shape[2:])]
        pads = [t // 2 for t in totals] + [t - t // 2 for t in totals]
    else:
        pads = per_axis([0] if padding == "valid" else padding, count) * 2
    if input.rank == count + 1:
        batched = convolve(g, g.unsqueeze(input, [0]), weight, bias, strides, pads, dilations, groups)
        return g.squeeze(batched, [0])
    return convolve(g, input, weight, bias, strides, pads, dilations, groups)


def convolve(
    g: Builder,
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    strides: list[int],
    pads: Sequence[Size],
    dilations: list[int],
    groups: Size,
) -> Tensor:
    """Conv; in dtypes that it has no kernels for, and for a number of groups that is known only at run time, a product of
    windows and weights."""
    if any(isinstance(p, Dim) for p in pads):  # an attribute can't be computed, but what is padded before can
        count = len(strides)
        x, pads = g.pad(x, [0, 0, *pads[:count], 0, 0, *pads[count:]]), [0] * len(pads)
    if has_kernels(x) and isinstance(groups, int):
        return g.op(
            "Conv", x, weight, bias, strides=strides, pads=pads, dilations=dilations, group=groups,
            kernel_shape=_kernel_shape(weight),
        )  # fmt: skip
    return _convolve_by_windows(g, x, weight, bias, strides, pads, dilations, groups)


def _kernel_shape(weight: Tensor) -> list[int] | None:
    """The attribute, which is left out where the runtime has to look at the weight."""
    kernel = [k for k in weight.shape[2:] if isinstance(k, int)]
    return kernel if len(kernel) == weight.rank - 2 else None


def _convolve_by_windows(
    g: Builder,
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    strides: list[int],
    pads: Sequence[Size],
    dilations: list[int],
    groups: Size,
) -> Tensor:
    count = len(strides)
    x = g.pad(x, [0, 0, *pads[:count], 0, 0, *pads[count:]])
    batch, _, *spatial = x.shape
    kernel = _static_kernel(weight)
    places = [(s - d * (k - 1) - 1) // t + 1 for s, k, d, t in zip(spatial, kernel, dilations, strides)]
    depth = weight.shape[1] * product(kernel)
    out = weight.shape[0]
    columns = g.windows(x, kernel, places, strides, dilations)
    columns = g.reshape(columns, [batch, groups, depth, product(places)])
    rows = g.reshape(weight, [groups, out // groups, depth])
    result = g.reshape(g.matmul(rows, columns), [batch, out, *places])
    return result if bias is None else g.add(result, g.reshape(bias, [out] + [1] * count))


def _static_kernel(weight: Tensor) -> list[int]:
    kernel = _kernel_shape(weight)
    if kernel is None:
        raise LoweringError(
            "a kernel's size is known only at run time, which needs float32 and a constant number of groups; cast the input, or "
            "export for one batch size"
        )
    return kernel


@lowering("aten::conv_transpose1d", "aten::conv_transpose2d", "aten::conv_transpose3d")
def conv_transpose(
    g: Builder,
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Any,
    padding: Any,
    output_padding: Any,
    groups: Size,
    dilation: Any,
) -> Tensor:
    """conv_transpose2d.input(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=1, SymInt[2] padding=0,
    SymInt[2] output_padding=0, SymInt groups=1, SymInt[2] dilation=1) -> Tensor"""
    count = weight.rank - 2
    strides, pads = per_axis(stride, count), per_axis(padding, count)
    extra, dilations = per_axis(output_padding, count), per_axis(dilation, count)
    if any(isinstance(e, Dim) for e in extra):  # the most that there can be, of which the end is cut off
        most = [max(s, d) - 1 for s, d in zip(strides, dilations)]
        whole = conv_transpose(g, input, weight, bias, stride, padding, most, groups, dilation)
        axes = range(input.rank - count, input.rank)
        ends = [whole.shape[axis] - m + e for axis, m, e in zip(axes, most, extra)]
        return g.slice(whole, [0] * count, ends, axes)
    if input.rank == count + 1:
        batched = _transposed(g, g.unsqueeze(input, [0]), weight, bias, strides, pads, extra, dilations, groups)
        return g.squeeze(batched, [0])
    return _transposed(g, input, weight, bias, strides, pads, extra, dilations, groups)


def _transposed(
    g: Builder,
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    strides: list[int],
    padding: list[int],
    extra: list[int],
    dilations: list[int],
    groups: Size,
) -> Tensor:
    """ConvTranspose; where runtimes can't, a convolution of the input spread out by the strides."""
    if has_kernels(x) and isinstance(groups, int) and all(e < s for e, s in zip(extra, strides)):
        return g.op(
            "ConvTranspose", x, weight, bias, strides=strides, pads=padding * 2, dilations=dilations, group=groups,
            output_padding=extra if any(extra) else None,
            kernel_shape=_kernel_shape(weight),
        )  # fmt: skip
    count = len(strides)
    for i, stride in enumerate(strides):
        x = _spread(g, x, 2 + i, stride)
    kernel = _static_kernel(weight)
    flipped = weight
    for i, k in enumerate(kernel):
        flipped = g.gather(flipped, g.range(k - 1, -1, -1), 2 + i)
    inputs, outputs = weight.shape[:2]
    flipped = g.reshape(flipped, [groups, inputs // groups, outputs, *kernel])
    flipped = g.reshape(g.swap(flipped, 1, 2), [groups * outputs, inputs // groups, *kernel])
    ahead = [d * (k - 1) - p for d, k, p in zip(dilations, kernel, padding)]
    pads = ahead + [a + e for a, e in zip(ahead, extra)]
    return convolve(g, x, flipped, bias, [1] * count, pads, dilations, groups)


def _spread(g: Builder, x: Tensor, axis: int, stride: int) -> Tensor:
    """x with stride - 1 zeros between its elements along an axis."""
    if stride == 1:
        return x
    dims: list[Size] = list(x.shape)
    wide = g.unsqueeze(x, [axis + 1])
    zeros = g.full([*dims[: axis + 1], stride - 1, *dims[axis + 1 :]], 0, x.dtype)
    wide = g.concat([wide, zeros], axis + 1)
    size = dims[axis] * stride
    flat = g.reshape(wide, [*dims[:axis], size, *dims[axis + 1 :]])
    return g.slice(flat, [0], [size - stride + 1], [axis])


@lowering("aten::_convolution", "aten::convolution", "aten::convolution_overrideable")
def convolution(
    g: Builder,
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: Size,
    *_: Any,
) -> Tensor:
    """convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, SymInt[] dilation,
    bool transposed, SymInt[] output_padding, SymInt groups) -> Tensor"""
    if transposed:
        return conv_transpose(g, input, weight, bias, stride, padding, output_padding, groups, dilation)
    return conv(g, input, weight, bias, stride, padding, dilation, groups)


@lowering("aten::_convolution_mode")
def convolution_mode(
    g: Builder,
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Any,
    padding: str,
    dilation: Any,
    groups: Size,
) -> Tensor:
    """_convolution_mode(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, str padding, SymInt[] dilation,
    SymInt groups) -> Tensor"""
    return conv(g, input, weight, bias, stride, padding, dilation, groups)


@lowering("aten::conv_tbc")
def conv_tbc(g: Builder, self: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """conv_tbc(Tensor self, Tensor weight, Tensor bias, int pad=0) -> Tensor"""
    result = conv(g, g.transpose(self, [1, 2, 0]), g.transpose(weight, [2, 1, 0]), bias, 1, pad, 1, 1)
    return g.transpose(result, [2, 0, 1])
