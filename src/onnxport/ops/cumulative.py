"""Running sums, products and extrema; differences and integrals along an axis."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from ..dims import Size, maximum
from ..dtypes import from_scalar_type
from ..lower.builder import Builder
from ..lower.emit import INT64_MAX
from ..lower.registry import lowering
from ..lower.values import Tensor
from .arithmetic import mul, promoted
from .axes import wrap
from .special import logaddexp

Combine = Callable[[tuple[Tensor, ...], tuple[Tensor, ...]], tuple[Tensor, ...]]


@lowering("aten::cumsum")
def cumsum(g: Builder, self: Tensor, dim: int, dtype: int | None = None) -> Tensor:
    """cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor"""
    x = _accumulated(g, self, dtype)
    dim = wrap(dim, x.rank)
    return g.cumsum(x, dim) if x.rank else x


def _accumulated(g: Builder, x: Tensor, dtype: int | None) -> Tensor:
    """In the dtype of the result: of integers, int64."""
    if dtype is not None:
        return g.cast(x, from_scalar_type(dtype))
    return x if x.is_inexact else g.cast(x, torch.int64)


def _until(g: Builder, size: Size) -> Tensor:
    """bool[to, from]: whether position `from` isn't behind `to`."""
    positions = g.range(0, size)
    return g.less_equal(g.unsqueeze(positions, [0]), g.unsqueeze(positions, [1]))


def _doubled(g: Builder, parts: tuple[Tensor, ...], dim: int, size: int, combine: Combine) -> tuple[Tensor, ...]:
    """A running combination in about log2(size) steps: after each, an entry covers twice as many before it."""
    step = 1
    while step < size:
        head = [g.slice(x, [0], [step], [dim]) for x in parts]
        before = tuple(g.slice(x, [0], [size - step], [dim]) for x in parts)
        after = tuple(g.slice(x, [step], [INT64_MAX], [dim]) for x in parts)
        parts = tuple(g.concat([h, x], dim) for h, x in zip(head, combine(before, after)))
        step *= 2
    return parts


def _windows(g: Builder, x: Tensor, dim: int, neutral: Any) -> Tensor:
    """All entries up to each position, along a new axis behind `dim`; those after it are neutral."""
    size = x.shape[dim]
    until = g.reshape(_until(g, size), [size, size, *[1] * (x.rank - 1 - dim)])
    return g.where(until, g.unsqueeze(x, [dim]), neutral)


@lowering("aten::cumprod")
def cumprod(g: Builder, self: Tensor, dim: int, dtype: int | None = None) -> Tensor:
    """cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor"""
    x = _accumulated(g, self, dtype)
    dim = wrap(dim, x.rank)
    if x.rank == 0:
        return x
    if g.opset >= 26:
        return g.op("CumProd", x, g.const(dim, torch.int64))
    size = x.shape[dim]
    if isinstance(size, int):
        return _doubled(g, (x,), dim, size, lambda a, b: (g.mul(a[0], b[0]),))[0]
    return g.reduce("ReduceProd", _windows(g, x, dim, 1), [dim + 1])


@lowering("aten::logcumsumexp")
def logcumsumexp(g: Builder, self: Tensor, dim: int) -> Tensor:
    """logcumsumexp(Tensor self, int dim) -> Tensor"""
    dim = wrap(dim, self.rank)
    if self.rank == 0:
        return self
    size = self.shape[dim]
    if isinstance(size, int):
        return _doubled(g, (self,), dim, size, lambda a, b: (logaddexp(g, a[0], b[0]),))[0]
    return g.logsumexp(_windows(g, self, dim, -math.inf), [dim + 1])


@lowering("aten::cummax")
def cummax(g: Builder, self: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    """cummax(Tensor self, int dim) -> (Tensor values, Tensor indices)"""
    return _running_extreme(g, self, dim, largest=True)


@lowering("aten::cummin")
def cummin(g: Builder, self: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    """cummin(Tensor self, int dim) -> (Tensor values, Tensor indices)"""
    return _running_extreme(g, self, dim, largest=False)


def _running_extreme(g: Builder, self: Tensor, dim: int, *, largest: bool) -> tuple[Tensor, Tensor]:
    """Of equal entries the last one counts, and NaN is beyond all."""
    if self.rank == 0:
        return self, g.const(0, torch.int64)
    dim = wrap(dim, self.rank)
    x = g.cast(self, torch.uint8) if self.dtype == torch.bool else self
    size = x.shape[dim]
    reach = g.greater_equal if largest else g.less_equal
    column = [size if i == dim else 1 for i in range(x.rank)]
    places = g.reshape(g.range(0, size), column)
    if isinstance(size, int):

        def later(a: tuple[Tensor, ...], b: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
            wins = g.or_(reach(b[0], a[0]), g.isnan(b[0])) if x.is_float else reach(b[0], a[0])
            return g.where(wins, b[0], a[0]), g.where(wins, b[1], a[1])

        values, indices = _doubled(g, (x, g.expand(places, x.shape)), dim, size, later)
        return g.cast(values, self.dtype), indices
    limits: Any = torch.finfo(x.dtype) if x.is_float else torch.iinfo(x.dtype)
    least = (-math.inf if largest else math.inf) if x.is_float else (limits.min if largest else limits.max)
    windows = _windows(g, x, dim, least)
    values = g.reduce("ReduceMax" if largest else "ReduceMin", windows, [dim + 1])
    found = g.equal(windows, g.unsqueeze(values, [dim + 1]))
    if x.is_float:  # the reduction may lose NaN
        strange = g.isnan(windows)
        seen = g.any(strange, [dim + 1], keepdims=True)
        found = g.where(seen, strange, found)
        values = g.where(g.squeeze(seen, [dim + 1]), math.nan, values)
    until = g.reshape(_until(g, size), [size, size, *[1] * (x.rank - 1 - dim)])
    indices = g.where(g.and_(found, until), g.unsqueeze(places, [dim]), -1)
    return g.cast(values, self.dtype), g.reduce("ReduceMax", indices, [dim + 1])


# -- differences and integrals --------------------------------------------------------------------


@lowering("aten::diff")
def diff(
    g: Builder, self: Tensor, n: int = 1, dim: int = -1, prepend: Tensor | None = None, append: Tensor | None = None
) -> Tensor:
    """diff(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None) -> Tensor"""
    dim = wrap(dim, self.rank)
    pieces = [x for x in (prepend, self, append) if x is not None]
    x = g.concat(list(promoted(g, *pieces)), dim) if n else self
    for _ in range(n):
        size = x.shape[dim]
        shorter = maximum(size - 1, 0)
        if isinstance(shorter, int) and shorter == 0:
            return g.slice(x, [0], [0], [dim])
        before, after = g.slice(x, [0], [shorter], [dim]), g.slice(x, [1], [INT64_MAX], [dim])
        x = g.op("Xor", after, before) if x.dtype == torch.bool else g.sub(after, before)
    return x


def _trapezoids(g: Builder, y: Tensor, width: Any, dim: int) -> Tensor:
    """The areas between neighbouring samples."""
    dim = wrap(dim, y.rank)
    x: Tensor | None = None
    if isinstance(width, Tensor) and width.rank:
        if width.rank == 1:
            width = g.reshape(width, [width.shape[0], *[1] * (y.rank - 1 - dim)])
            x = diff(g, width, 1, 0)
        else:
            x = diff(g, width, 1, dim - y.rank)
    left = g.slice(y, [0], [-1], [dim])
    right = g.slice(y, [1], [INT64_MAX], [dim])
    return mul(g, mul(g, g.add(left, right), width if x is None else x), 0.5)


@lowering("aten::trapezoid", "aten::trapz")
def trapezoid(g: Builder, y: Tensor, x: Any = 1, dim: int = -1) -> Tensor:
    """trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor"""
    y = y if y.is_float or y.dtype != torch.bool else g.cast(y, torch.int64)
    areas = _trapezoids(g, y, x, dim)
    return g.reduce("ReduceSum", areas, [wrap(dim, areas.rank)])


@lowering("aten::cumulative_trapezoid")
def cumulative_trapezoid(g: Builder, y: Tensor, x: Any = 1, dim: int = -1) -> Tensor:
    """cumulative_trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor"""
    areas = _trapezoids(g, y, x, dim)
    return cumsum(g, areas, dim)
