"""Sliding windows as columns, and back: unfold and fold."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from ..dims import Size, exact_div, known_eq, product
from ..lower.builder import Builder
from ..lower.registry import lowering
from ..lower.values import Tensor


def _counts(
    sizes: Sequence[Size], kernel: Sequence[int], dilation: Sequence[int], padding: Sequence[int], stride: Sequence[int]
) -> list[Size]:
    """How many places a window has along each axis."""
    return [
        (size + 2 * p - d * (k - 1) - 1) // s + 1 for size, k, d, p, s in zip(sizes, kernel, dilation, padding, stride)
    ]


@lowering("aten::im2col")
def im2col(
    g: Builder, self: Tensor, kernel_size: list[int], dilation: list[int], padding: list[int], stride: list[int]
) -> Tensor:
    """im2col(Tensor self, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> Tensor"""
    if self.rank == 3:
        lifted = im2col(g, g.unsqueeze(self, [0]), kernel_size, dilation, padding, stride)
        return g.squeeze(lifted, [0])
    batch, channels, *sizes = self.shape
    counts = _counts(sizes, kernel_size, dilation, padding, stride)
    columns = [batch, channels * product(kernel_size), product(counts)]
    apart = [exact_div(size, k) for size, k in zip(sizes, kernel_size)]
    if kernel_size == stride and not any(padding) and set(dilation) == {1} and None not in apart:
        (h, w), (kh, kw) = counts, kernel_size  # windows side by side: the elements only change places
        pieces = g.reshape(self, [batch, channels, h, kh, w, kw])
        return g.reshape(g.transpose(pieces, [0, 1, 3, 5, 2, 4]), columns)
    ends = [0, 0, *padding]
    padded = g.pad(self, [*ends, *ends], value=0)
    return g.reshape(g.windows(padded, kernel_size, counts, stride, dilation), columns)


@lowering("aten::col2im")
def col2im(
    g: Builder,
    self: Tensor,
    output_size: list[Size],
    kernel_size: list[int],
    dilation: list[int],
    padding: list[int],
    stride: list[int],
) -> Tensor:
    """col2im(Tensor self, SymInt[2] output_size, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride)
    -> Tensor"""
    if self.rank == 2:
        lifted = col2im(g, g.unsqueeze(self, [0]), output_size, kernel_size, dilation, padding, stride)
        return g.squeeze(lifted, [0])
    batch, rows, _ = self.shape
    channels = rows // product(kernel_size)
    counts = _counts(output_size, kernel_size, dilation, padding, stride)
    fits = all(known_eq(n * k, size) is True for n, k, size in zip(counts, kernel_size, output_size))
    if kernel_size == stride and not any(padding) and set(dilation) == {1} and fits:
        pieces = g.reshape(self, [batch, channels, *kernel_size, *counts])
        return g.reshape(g.transpose(pieces, [0, 1, 4, 2, 5, 3]), [batch, channels, *output_size])
    if g.opset >= 18 and self.dtype != torch.float64:  # which has no kernel
        result = g.op(
            "Col2Im", self, list(output_size), list(kernel_size), dilations=list(dilation),
            pads=[*padding, *padding], strides=list(stride),
        )  # fmt: skip
        result.dims = (batch, channels, *output_size)
        return result
    columns = g.reshape(self, [batch, channels, *kernel_size, *counts])
    columns = g.transpose(columns, [0, 1, 2, 4, 3, 5])
    columns = g.reshape(columns, [batch, channels, *[k * n for k, n in zip(kernel_size, counts)]])
    down, across = [
        g.cast(_places(g, *axis), self.dtype)
        for axis in zip(output_size, counts, kernel_size, dilation, padding, stride)
    ]
    return g.matmul(g.matmul(down, columns), g.transpose(across, [1, 0]))


def _places(g: Builder, size: Size, count: Size, kernel: int, dilation: int, padding: int, stride: int) -> Tensor:
    """Along one axis: whether element `[i, j * count + n]` of window n, j, belongs at i. Summed over by a product."""
    offsets = g.unsqueeze(g.const([j * dilation - padding for j in range(kernel)], torch.int64), [1])
    places = g.add(offsets, g.mul(g.range(0, count), stride))
    return g.equal(g.unsqueeze(g.range(0, size), [1]), g.reshape(places, [1, kernel * count]))
