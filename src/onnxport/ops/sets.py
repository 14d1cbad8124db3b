"""Distinct values.

onnxruntime's Unique takes NaN for equal to anything; floats are sorted and compared with their neighbours instead.
"""

from __future__ import annotations

import torch

from .. import dims as sizes
from ..lower.builder import Builder
from ..lower.emit import INT64_MAX
from ..lower.registry import lowering
from ..lower.values import Tensor

Found = tuple[Tensor, Tensor, Tensor]


@lowering("aten::_unique2")
def unique(
    g: Builder, self: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False
) -> Found:
    """_unique2(Tensor self, bool sorted=True, bool return_inverse=False, bool return_counts=False) -> (Tensor, Tensor, Tensor)"""
    flat = g.reshape(self, [self.numel])
    if self.is_float or g.opset < 11:
        order, where = g.topk(flat, self.numel, 0, largest=False)
        values, inverse, counts = _runs(g, order, 0)
        inverse = g.scatter_elements(g.full([self.numel], 0, torch.int64), where, inverse, 0)
    else:
        values, _, inverse, counts = g.op("Unique", flat, outputs=4, sorted=1)
        counts.dims = values.dims
    return _wanted(g, values, g.reshape(inverse, self.shape), counts, return_inverse, return_counts)


@lowering("aten::_unique")
def unique_and_inverse(
    g: Builder, self: Tensor, sorted: bool = True, return_inverse: bool = False
) -> tuple[Tensor, Tensor]:
    """_unique(Tensor self, bool sorted=True, bool return_inverse=False) -> (Tensor, Tensor)"""
    return unique(g, self, sorted, return_inverse)[:2]


def _wanted(
    g: Builder, values: Tensor, inverse: Tensor, counts: Tensor, with_inverse: bool, with_counts: bool
) -> Found:
    """Results that weren't asked for are empty."""
    none = g.full([0], 0, torch.int64)
    return values, inverse if with_inverse else none, counts if with_counts else none


@lowering("aten::unique_dim")
def unique_along(
    g: Builder, self: Tensor, dim: int, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False
) -> Found:
    """unique_dim(Tensor self, int dim, bool sorted=True, bool return_inverse=False, bool return_counts=False) ->
    (Tensor, Tensor, Tensor)"""
    g.require(11, "Unique")
    dim %= max(self.rank, 1)
    if self.rank == 1 and self.is_float:
        return unique(g, self, sorted, True, True)
    values, _, inverse, counts = g.op("Unique", self, outputs=4, axis=dim, sorted=1)
    inverse.dims, counts.dims = (self.shape[dim],), (values.shape[dim],)
    return values, inverse, counts  # along a dimension torch gives them whether asked for or not


@lowering("aten::unique_consecutive")
def unique_consecutive(
    g: Builder, self: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Found:
    """unique_consecutive(Tensor self, bool return_inverse=False, bool return_counts=False, int? dim=None) -> (Tensor,
    Tensor, Tensor)"""
    x = g.reshape(self, [self.numel]) if dim is None else self
    values, inverse, counts = _runs(g, x, 0 if dim is None else dim % x.rank)
    if dim is not None:
        return values, inverse, counts
    return _wanted(g, values, g.reshape(inverse, self.shape), counts, return_inverse, return_counts)


@lowering("aten::unique_dim_consecutive")
def unique_consecutive_along(
    g: Builder, self: Tensor, dim: int, return_inverse: bool = False, return_counts: bool = False
) -> Found:
    """unique_dim_consecutive(Tensor self, int dim, bool return_inverse=False, bool return_counts=False) -> (Tensor,
    Tensor, Tensor)"""
    return unique_consecutive(g, self, return_inverse, return_counts, dim)


def _runs(g: Builder, x: Tensor, dim: int) -> Found:
    """Runs of equal entries along an axis: the first of each, which run each entry is in, their lengths."""
    size = x.shape[dim]
    after = g.slice(x, [1], [size], [dim])
    before = g.slice(x, [0], [-1], [dim])
    changes = g.not_(g.equal(after, before))
    others = [axis for axis in range(x.rank) if axis != dim]
    if others:
        changes = g.greater(g.reduce("ReduceSum", g.cast(changes, torch.int32), others), 0)
    starts = g.concat([g.full([sizes.minimum(size, 1)], True, torch.bool), changes], 0)
    starts.dims = (size,)
    values = g.compress(x, starts, dim)
    inverse = g.sub(g.cumsum(g.cast(starts, torch.int64), 0), 1)
    first = g.reshape(g.nonzero(starts), [values.shape[dim]])
    ends = g.slice(g.concat([first, g.ints([size])], 0), [1], [INT64_MAX], [0])
    return values, inverse, g.sub(ends, first)
