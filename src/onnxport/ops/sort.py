"""Order: topk, sort, order statistics.

TopK of onnxruntime orders as torch does: NaN is the largest, and of equal values the first comes first.
"""

from __future__ import annotations

import torch

from ..dims import Size
from ..errors import LoweringError
from ..lower.builder import Builder
from ..lower.registry import lowering
from ..lower.values import Tensor


def arranged(g: Builder, x: Tensor, dim: int, descending: bool = False) -> tuple[Tensor, Tensor]:
    """All values along an axis in order, and where they were; equal ones stay in their order."""
    return g.topk(x, x.shape[dim], dim, largest=descending)


@lowering("aten::topk")
def topk(
    g: Builder, self: Tensor, k: Size, dim: int = -1, largest: bool = True, sorted: bool = True
) -> tuple[Tensor, Tensor]:
    """topk(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor values, Tensor indices)"""
    if self.rank == 0:
        return self, g.const(0, torch.int64)
    return g.topk(self, k, dim % self.rank, largest, sorted)


@lowering("aten::sort")
def sort(g: Builder, self: Tensor, dim: int = -1, descending: bool = False) -> tuple[Tensor, Tensor]:
    """sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)"""
    if self.rank == 0:
        return self, g.const(0, torch.int64)
    return arranged(g, self, dim % self.rank, descending)


@lowering("aten::sort.stable")
def sort_stable(
    g: Builder, self: Tensor, stable: bool | None, dim: int = -1, descending: bool = False
) -> tuple[Tensor, Tensor]:
    """sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)"""
    return sort(g, self, dim, descending)


@lowering("aten::argsort")
def argsort(g: Builder, self: Tensor, dim: int = -1, descending: bool = False) -> Tensor:
    """argsort(Tensor self, int dim=-1, bool descending=False) -> Tensor"""
    return sort(g, self, dim, descending)[1]


@lowering("aten::argsort.stable")
def argsort_stable(g: Builder, self: Tensor, stable: bool, dim: int = -1, descending: bool = False) -> Tensor:
    """argsort.stable(Tensor self, *, bool stable, int dim=-1, bool descending=False) -> Tensor"""
    return sort(g, self, dim, descending)[1]


@lowering("aten::msort")
def msort(g: Builder, self: Tensor) -> Tensor:
    """msort(Tensor self) -> Tensor"""
    return sort(g, self, 0)[0]


# -- one of them ----------------------------------------------------------------------------------


def _drop(g: Builder, results: tuple[Tensor, Tensor], dim: int, keepdim: bool) -> tuple[Tensor, Tensor]:
    """Results without the axis that was reduced, unless it is kept."""
    values, indices = results
    return results if keepdim else (g.squeeze(values, [dim]), g.squeeze(indices, [dim]))


@lowering("aten::kthvalue")
def kthvalue(g: Builder, self: Tensor, k: Size, dim: int = -1, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """kthvalue(Tensor self, SymInt k, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)"""
    if self.rank == 0:
        return self, g.const(0, torch.int64)
    dim %= self.rank
    values, indices = g.topk(self, k, dim, largest=False)
    position = g.ints([k - 1])
    return _drop(g, (g.gather(values, position, dim), g.gather(indices, position, dim)), dim, keepdim)


@lowering("aten::median.dim")
def median_along(g: Builder, self: Tensor, dim: int, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """median.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)"""
    return _median(g, self, dim, keepdim, skip_nan=False)


@lowering("aten::nanmedian.dim")
def nanmedian_along(g: Builder, self: Tensor, dim: int, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """nanmedian.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)"""
    return _median(g, self, dim, keepdim, skip_nan=True)


@lowering("aten::median")
def median(g: Builder, self: Tensor) -> Tensor:
    """median(Tensor self) -> Tensor"""
    return _median(g, g.reshape(self, [self.numel]), 0, False, skip_nan=False)[0]


@lowering("aten::nanmedian")
def nanmedian(g: Builder, self: Tensor) -> Tensor:
    """nanmedian(Tensor self) -> Tensor"""
    return _median(g, g.reshape(self, [self.numel]), 0, False, skip_nan=True)[0]


def _median(g: Builder, x: Tensor, dim: int, keepdim: bool, skip_nan: bool) -> tuple[Tensor, Tensor]:
    """The lower of the two in the middle. NaN counts as no value (`skip_nan`), or else is the answer."""
    if x.rank == 0:
        return x, g.const(0, torch.int64)
    dim %= x.rank
    size = x.shape[dim]
    if isinstance(size, int) and size == 0:
        empty = [1 if i == dim else n for i, n in enumerate(x.shape)]
        fill = float("nan") if x.is_float else 0 if x.dtype == torch.bool else torch.iinfo(x.dtype).min
        return _drop(g, (g.full(empty, fill, x.dtype), g.full(empty, 0, torch.int64)), dim, keepdim)
    values, indices = arranged(g, x, dim)
    if not x.is_float:
        middle = g.ints([(size - 1) // 2])
        return _drop(g, (g.gather(values, middle, dim), g.gather(indices, middle, dim)), dim, keepdim)
    count = _count_numbers(g, x, dim)
    if skip_nan:  # of no numbers at all the first NaN
        position = g.floor_divmod(g.extremum("Max", g.sub(count, 1), 0), g.const(2, torch.int64), truncates=True)[0]
    else:  # the first NaN comes after the numbers
        position = g.where(g.equal(count, g.size(size)), g.size((size - 1) // 2), count)
    found = g.gather_elements(values, position, dim), g.gather_elements(indices, position, dim)
    return _drop(g, found, dim, keepdim)


def _count_numbers(g: Builder, x: Tensor, dim: int) -> Tensor:
    """How many values along an axis, which is kept, aren't NaN."""
    return g.reduce("ReduceSum", g.cast(g.not_(g.isnan(x)), torch.int64), [dim], keepdims=True)


@lowering("aten::mode")
def mode(g: Builder, self: Tensor, dim: int = -1, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """mode(Tensor self, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)

    The smallest of the most frequent values, and where it is last.
    """
    if self.rank == 0:
        return self, g.const(0, torch.int64)
    dim %= self.rank
    values, indices = arranged(g, self, dim)
    equal = g.equal(g.unsqueeze(values, [dim]), g.unsqueeze(values, [dim + 1]))
    counts = g.reduce("ReduceSum", g.cast(equal, torch.int64), [dim + 1])
    first = g.op("ArgMax", counts, axis=dim, keepdims=1)
    most = g.extremum("Max", g.reduce("ReduceMax", counts, [dim], keepdims=True), 1)  # NaN equals nothing
    last = g.add(first, g.sub(most, 1))
    return _drop(g, (g.gather_elements(values, last, dim), g.gather_elements(indices, last, dim)), dim, keepdim)


# -- quantiles ------------------------------------------------------------------------------------


@lowering("aten::quantile")
def quantile(
    g: Builder, self: Tensor, q: object, dim: int | None = None, keepdim: bool = False, interpolation: str = "linear"
) -> Tensor:
    """quantile(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, str interpolation="linear") -> Tensor"""
    return _quantile(g, self, g.scalar(q, self.dtype), dim, keepdim, interpolation, skip_nan=False)


@lowering("aten::nanquantile")
def nanquantile(
    g: Builder, self: Tensor, q: object, dim: int | None = None, keepdim: bool = False, interpolation: str = "linear"
) -> Tensor:
    """nanquantile(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, str interpolation="linear") -> Tensor"""
    return _quantile(g, self, g.scalar(q, self.dtype), dim, keepdim, interpolation, skip_nan=True)


def _quantile(
    g: Builder, x: Tensor, q: Tensor, dim: int | None, keepdim: bool, interpolation: str, skip_nan: bool
) -> Tensor:
    kept = [1] * x.rank if dim is None else [1 if i == dim % x.rank else n for i, n in enumerate(x.shape)]
    if dim is None or x.rank == 0:
        x = g.reshape(x, [x.numel])
        axis = 0
    else:
        axis = dim % x.rank
    rest = [n for i, n in enumerate(x.shape) if i != axis]
    x = g.transpose(x, [*(i for i in range(x.rank) if i != axis), axis])
    values, _ = arranged(g, x, x.rank - 1)
    flat = g.reshape(q, [q.numel])
    if skip_nan:
        result = _pick(g, values, _ranks_of_numbers(g, x, flat), interpolation)
    else:
        last = g.gather(values, g.ints([x.shape[-1] - 1]), x.rank - 1)
        ranks = g.mul(flat, g.cast(g.size(x.shape[-1] - 1), x.dtype))
        result = g.where(g.isnan(last), last, _pick(g, values, ranks, interpolation))
    result = g.transpose(result, [result.rank - 1, *range(result.rank - 1)])
    return g.reshape(result, [*q.shape, *(kept if keepdim else rest)])


def _ranks_of_numbers(g: Builder, x: Tensor, q: Tensor) -> Tensor:
    """Where the quantiles lie among what isn't NaN; of nothing, at the first NaN."""
    last = g.extremum("Max", g.sub(_count_numbers(g, x, x.rank - 1), 1), 0)
    return g.mul(q, g.cast(last, x.dtype))


def _pick(g: Builder, values: Tensor, ranks: Tensor, interpolation: str) -> Tensor:
    """Sorted values at fractional positions along the last axis; `ranks` are a vector or one per row."""
    axis = values.rank - 1

    def at(positions: Tensor) -> Tensor:
        positions = g.cast(positions, torch.int64)
        if ranks.rank < values.rank or axis == 0:
            return g.gather(values, positions, axis)
        shape = [*values.shape[:-1], positions.shape[-1]]
        return g.gather_elements(values, g.expand(positions, shape), axis)

    rounding = {"lower": g.floor, "higher": g.ceil, "nearest": g.round}
    if interpolation in rounding:
        return at(rounding[interpolation](ranks))
    if interpolation not in ("linear", "midpoint"):
        raise LoweringError(f"unknown interpolation {interpolation!r}")
    low = g.op("Floor", ranks)
    below, above = at(low), at(g.op("Ceil", ranks))
    weight = g.scalar(0.5, values.dtype) if interpolation == "midpoint" else g.sub(ranks, low)
    distance = g.sub(above, below)
    near = g.add(below, g.mul(distance, weight))
    far = g.sub(above, g.mul(distance, g.sub(g.const(1, values.dtype), weight)))
    return g.where(g.less(weight, 0.5), near, far)
