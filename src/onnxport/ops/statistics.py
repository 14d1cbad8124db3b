"""Covariance and correlation, numerical gradients, the trace, sums back to a size that was broadcast."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from ..dims import Size, known_eq, known_le
from ..dtypes import real_of
from ..errors import LoweringError
from ..lower.builder import Builder
from ..lower.complex import adjoint, both, join
from ..lower.promotion import float_type
from ..lower.ranks import squeezed
from ..lower.registry import lowering
from ..lower.values import Tensor
from .axes import wrap


@lowering("aten::sum_to_size")
def sum_to_size(g: Builder, self: Tensor, size: list[Size]) -> Tensor:
    """sum_to_size(Tensor self, SymInt[] size) -> Tensor"""
    lead = self.rank - len(size)
    axes = list(range(lead))
    for i, target in enumerate(size):
        if known_eq(self.shape[lead + i], target):
            continue
        if known_eq(target, 1):
            axes.append(lead + i)
        else:
            raise LoweringError(
                f"sum_to_size of an axis of {self.shape[lead + i]} to {target}: whether it is summed is known only at "
                "run time; make these sizes static or sum explicitly"
            )
    if not axes and size:
        return self
    x = self if self.is_inexact else g.cast(self, torch.int64)
    x = g.reduce("ReduceSum", x, axes, keepdims=True)
    return g.squeeze(x, list(range(lead))) if lead else x


@lowering("aten::trace")
def trace(g: Builder, self: Tensor) -> Tensor:
    """trace(Tensor self) -> Tensor"""
    rows, columns = self.shape
    on_diagonal = g.equal(g.unsqueeze(g.range(0, rows), [1]), g.range(0, columns))
    x = self if self.is_inexact else g.cast(self, torch.int64)
    return g.reduce("ReduceSum", g.where(on_diagonal, x, 0))


# -- covariance -------------------------------------------------------------------------------------


@lowering("aten::cov")
def cov(
    g: Builder, self: Tensor, correction: int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None
) -> Tensor:
    """cov(Tensor self, *, int correction=1, Tensor? fweights=None, Tensor? aweights=None) -> Tensor"""
    dtype = float_type(self)
    if aweights is not None:
        dtype = torch.promote_types(dtype, aweights.dtype)
    x = g.cast(self if self.rank == 2 else g.reshape(self, [1, self.numel]), dtype)
    weights, kind = None, real_of(dtype)
    for given in (fweights, aweights):
        if given is not None:
            weight = g.reshape(g.cast(given, kind), [given.numel])
            weights = weight if weights is None else g.mul(weights, weight)
    if weights is None:
        count = total = g.scalar(x.shape[1], kind)
        centred = g.sub(x, g.div(g.reduce("ReduceSum", x, [1], keepdims=True), total))
        scaled = centred
    else:
        total = g.reduce("ReduceSum", weights)
        centred = g.sub(x, g.div(g.reduce("ReduceSum", g.mul(x, weights), [1], keepdims=True), total))
        scaled, count = g.mul(centred, weights), total
    if correction and weights is not None and aweights is not None:
        counted = g.mul(weights, g.reshape(g.cast(aweights, kind), [aweights.numel]))
        divisor = g.sub(total, g.mul(g.div(g.reduce("ReduceSum", counted), total), correction))
    else:
        divisor = g.sub(count, correction)
    result = g.div(g.matmul(centred, adjoint(g, scaled)), g.extremum("Max", divisor, 0))
    if self.rank < 2 or isinstance(x.shape[0], int):
        return g.reshape(result, []) if known_eq(x.shape[0], 1) else result
    return squeezed(g, result, [0, 1])


@lowering("aten::corrcoef")
def corrcoef(g: Builder, self: Tensor) -> Tensor:
    """corrcoef(Tensor self) -> Tensor"""
    covariance = cov(g, self)
    if not covariance.rank:
        return g.div(covariance, covariance)
    n = self.shape[0]
    on_diagonal = g.equal(g.unsqueeze(g.range(0, n), [1]), g.range(0, n))
    deviation = g.sqrt(g.reduce("ReduceSum", g.where(on_diagonal, both(g, covariance)[0], 0), [1]))
    scaled = g.div(g.div(covariance, g.unsqueeze(deviation, [1])), deviation)
    if scaled.is_complex:
        return join(g, *[g.clip(part, -1.0, 1.0) for part in both(g, scaled)])
    return g.clip(scaled, -1.0, 1.0)


# -- gradients --------------------------------------------------------------------------------------


def _along(g: Builder, x: Tensor, axis: int, start: Size, end: Size) -> Tensor:
    part = g.slice(x, [start], [end], [axis])
    part.dims = tuple(end - start if i == axis else size for i, size in enumerate(x.shape))  # there are two and more
    return part


def _gradient(g: Builder, x: Tensor, axis: int, spacing: Any, order: int) -> Tensor:
    """Second-order differences inside, of the order given at both ends; spacing is a number or coordinates."""
    size = x.shape[axis]
    column = [size - 1 if i == axis else 1 for i in range(x.rank)]
    if isinstance(spacing, Tensor):
        steps = g.sub(_along(g, spacing, 0, 1, size), _along(g, spacing, 0, 0, size - 1))
        steps = g.reshape(g.cast(steps, x.dtype), column)
    else:
        steps = g.full(column, spacing, x.dtype)
    slopes = g.div(g.sub(_along(g, x, axis, 1, size), _along(g, x, axis, 0, size - 1)), steps)
    first, last = _along(g, slopes, axis, 0, 1), _along(g, slopes, axis, size - 2, size - 1)
    if known_le(size, 2):
        return g.concat([first, last], axis)
    before, after = _along(g, steps, axis, 0, size - 2), _along(g, steps, axis, 1, size - 1)
    left, right = _along(g, slopes, axis, 0, size - 2), _along(g, slopes, axis, 1, size - 1)
    inner = g.div(g.add(g.mul(left, after), g.mul(right, before)), g.add(before, after))
    if order == 2:  # the parabola through the three points at an end
        first = _end(g, slopes, steps, axis, 0, 1)
        last = _end(g, slopes, steps, axis, size - 2, size - 3)
    return g.concat([first, inner, last], axis)


def _end(g: Builder, slopes: Tensor, steps: Tensor, axis: int, at: Size, next_: Size) -> Tensor:
    """The slope at an end, from the steps there and next to it."""
    slope, beyond = _along(g, slopes, axis, at, at + 1), _along(g, slopes, axis, next_, next_ + 1)
    near, far = _along(g, steps, axis, at, at + 1), _along(g, steps, axis, next_, next_ + 1)
    bend = g.div(g.sub(beyond, slope), g.add(near, far))
    return g.sub(slope, g.mul(bend, near))


@lowering("aten::gradient")
def gradient(g: Builder, self: Tensor, *arguments: Any) -> list[Tensor]:
    """gradient.scalarint(Tensor self, *, Scalar? spacing=None, int? dim=None, int edge_order=1) -> Tensor[]"""
    *spacings, dim, order = arguments
    spacing = spacings[0] if spacings else 1
    axes = list(range(self.rank)) if dim is None else [dim] if isinstance(dim, int) else list(dim)
    axes = [wrap(a, self.rank) for a in axes]
    given: Sequence[Any] = spacing if isinstance(spacing, (list, tuple)) else [spacing] * len(axes)
    dtype = float_type(self)
    result = []
    for axis, step in zip(axes, given):
        x = g.cast(self, torch.promote_types(dtype, step.dtype) if isinstance(step, Tensor) else dtype)
        result.append(_gradient(g, x, axis, 1 if step is None else step, order))
    return result
