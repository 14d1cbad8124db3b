"""Where values fall: sorted boundaries, membership, histograms."""

from __future__ import annotations

from typing import Any

import torch

from .. import dims as sizes
from ..dims import Size
from ..errors import LoweringError
from ..lower.builder import Builder
from ..lower.promotion import result_type
from ..lower.registry import lowering
from ..lower.values import Tensor


def find_positions(g: Builder, boundaries: Tensor, x: Tensor, right: bool, dtype: torch.dtype = torch.int64) -> Tensor:
    """How many of the sorted boundaries (last axis) lie before each value; with `right`, or are equal to it.

    One vector of boundaries is for all values; more have the leading axes of `x`.
    """
    pairs = g.unsqueeze(x, [x.rank])
    if boundaries.rank > 1:
        boundaries = g.unsqueeze(boundaries, [boundaries.rank - 1])
    behind = g.greater(boundaries, pairs) if right else g.greater_equal(boundaries, pairs)
    # By what isn't behind, so that NaN comes after everything.
    return g.reduce("ReduceSum", g.cast(g.not_(behind), dtype), [x.rank])


@lowering("aten::searchsorted")
def searchsorted(
    g: Builder,
    sorted_sequence: Tensor,
    self: Any,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Tensor | None = None,
) -> Tensor:
    """searchsorted.Tensor(Tensor sorted_sequence, Tensor self, *, bool out_int32=False, bool right=False, str?
    side=None, Tensor? sorter=None) -> Tensor"""
    if sorter is not None:
        sorted_sequence = g.gather_elements(sorted_sequence, sorter, sorted_sequence.rank - 1)
    dtype = result_type(sorted_sequence, self)
    boundaries, x = g.cast(sorted_sequence, dtype), g.scalar(self, dtype)
    return find_positions(g, boundaries, x, right or side == "right", torch.int32 if out_int32 else torch.int64)


@lowering("aten::bucketize")
def bucketize(g: Builder, self: Any, boundaries: Tensor, out_int32: bool = False, right: bool = False) -> Tensor:
    """bucketize.Tensor(Tensor self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor"""
    return searchsorted(g, boundaries, self, out_int32, right)


@lowering("aten::isin")
def isin(g: Builder, elements: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False) -> Tensor:
    """isin.Tensor_Tensor(Tensor elements, Tensor test_elements, *, bool assume_unique=False, bool invert=False) -> Tensor"""
    dtype = result_type(elements, test_elements)
    x, given = g.scalar(elements, dtype), g.scalar(test_elements, dtype)
    if given.numel == 1:
        found = g.equal(x, g.reshape(given, []))
    else:
        equal = g.equal(g.unsqueeze(x, [x.rank]), g.reshape(given, [given.numel]))
        # A sum rather than a maximum: there may be nothing to look among.
        found = g.greater(g.reduce("ReduceSum", g.cast(equal, torch.int32), [x.rank]), 0)
    return g.not_(found) if invert else found


# -- counts ---------------------------------------------------------------------------------------


@lowering("aten::bincount")
def bincount(g: Builder, self: Tensor, weights: Tensor | None = None, minlength: Size = 0) -> Tensor:
    """bincount(Tensor self, Tensor? weights=None, SymInt minlength=0) -> Tensor"""
    x = g.cast(self, torch.int64)
    largest = g.reduce("ReduceMax", g.concat([x, g.ints([-1])], 0), [0])  # -1: there may be none
    count = sizes.maximum(g.int_of(largest, "bins") + 1, minlength)
    if weights is None:
        dtype, given = torch.int64, g.full(x.shape, 1, torch.int64)
    else:
        dtype = torch.float32 if weights.dtype == torch.float32 else torch.float64
        given = g.cast(weights, dtype)
    return g.scatter_elements(g.full([count], 0, dtype), x, given, 0, "add")


@lowering("aten::histc")
def histc(g: Builder, self: Tensor, bins: int = 100, min: Any = 0, max: Any = 0) -> Tensor:
    """histc(Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> Tensor"""
    x = g.reshape(self, [self.numel])
    low, high = _range(g, x, min, max, 1.0)
    inside = g.and_(g.greater_equal(x, low), g.less_equal(x, high))
    scaled = g.div(g.mul(g.sub(x, low), bins), g.sub(high, low))
    position = g.cast(g.where(inside, scaled, 0), torch.int64)
    position = g.extremum("Min", position, bins - 1)  # the end of the range is in the last bin
    return g.scatter_elements(g.full([bins], 0, x.dtype), position, g.cast(inside, x.dtype), 0, "add")


def _range(g: Builder, x: Tensor, low: Any, high: Any, margin: float) -> tuple[Tensor, Tensor]:
    """The range of a histogram: as given or, if it is empty, that of the data, widened if that is empty too."""
    if low != high:
        return g.scalar(low, x.dtype), g.scalar(high, x.dtype)
    if x.numel == 0:
        first, last = g.scalar(low, x.dtype), g.scalar(high, x.dtype)
    else:
        first, last = g.reduce("ReduceMin", x, [0]), g.reduce("ReduceMax", x, [0])
    more = g.mul(g.cast(g.equal(first, last), x.dtype), margin)
    return g.sub(first, more), g.add(last, more)


@lowering("aten::histogram.bin_ct")
def histogram_of_count(
    g: Builder,
    self: Tensor,
    bins: int = 100,
    range: list[float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> tuple[Tensor, Tensor]:
    """histogram.bin_ct(Tensor self, int bins=100, *, float[]? range=None, Tensor? weight=None, bool density=False) ->
    (Tensor hist, Tensor bin_edges)"""
    low, high = range or (0.0, 0.0)
    edges = _edges(g, g.reshape(self, [self.numel]), bins, low, high, given=range is not None)
    return histogram(g, self, edges, weight, density)


def _edges(g: Builder, x: Tensor, bins: int, low: float, high: float, given: bool) -> Tensor:
    """`bins + 1` evenly spaced numbers; each half is counted from its own end, as linspace does."""
    if given and low == high:
        low, high = low - 0.5, high + 0.5
    elif not given and x.numel == 0:
        low, high = 0.0, 1.0
    first, last = _range(g, x, low, high, 0.5)
    step = g.div(g.sub(last, first), bins)
    count = torch.arange(bins + 1)
    upper = g.add(first, g.mul(step, g.const(count.numpy(), x.dtype)))
    lower = g.sub(last, g.mul(step, g.const((bins - count).numpy(), x.dtype)))
    return g.where(g.const((count < (bins + 1) // 2).numpy(), torch.bool), upper, lower)


@lowering("aten::histogram.bins_tensor")
def histogram(
    g: Builder, self: Tensor, bins: Tensor, weight: Tensor | None = None, density: bool = False
) -> tuple[Tensor, Tensor]:
    """histogram.bins_tensor(Tensor self, Tensor bins, *, Tensor? weight=None, bool density=False) -> (Tensor hist,
    Tensor bin_edges)"""
    x = g.reshape(self, [self.numel])
    counts = _count(g, [x], [bins], weight)
    return (_density(g, counts, [bins]) if density else counts), bins


def _count(g: Builder, columns: list[Tensor], edges: list[Tensor], weight: Tensor | None) -> Tensor:
    """The weight of the points, given by coordinate, in each box of a grid."""
    inside: Tensor | None = None
    places = []
    shape = [e.shape[0] - 1 for e in edges]
    for x, edge, size in zip(columns, edges, shape):
        first, last = g.gather(edge, 0, 0), g.gather(edge, g.ints([size]), 0)
        within = g.and_(g.greater_equal(x, first), g.less_equal(x, last))
        inside = within if inside is None else g.and_(inside, within)
        position = g.sub(find_positions(g, edge, x, right=True), 1)
        places.append(g.extremum("Max", g.extremum("Min", position, g.size(size - 1)), 0))
    assert inside is not None
    dtype = columns[0].dtype
    weights = g.full(columns[0].shape, 1, dtype) if weight is None else g.reshape(weight, columns[0].shape)
    weights = g.where(inside, weights, g.const(0, dtype))
    total = sizes.product(shape)
    flat = g.scatter_elements(g.full([total], 0, dtype), g.linear(places, shape), weights, 0, "add")
    return g.reshape(flat, shape)


def _density(g: Builder, counts: Tensor, edges: list[Tensor]) -> Tensor:
    """Counts as a density: its integral over the grid is 1."""
    result = g.div(counts, g.reduce("ReduceSum", counts, list(range(counts.rank))))
    for axis, edge in enumerate(edges):
        size = edge.shape[0]
        width = g.sub(g.slice(edge, [1], [size], [0]), g.slice(edge, [0], [size - 1], [0]))
        width.dims = (size - 1,)
        result = g.div(result, g.reshape(width, [size - 1 if i == axis else 1 for i in range(counts.rank)]))
    return result


# -- several dimensions ---------------------------------------------------------------------------


def _columns(g: Builder, x: Tensor) -> list[Tensor]:
    """Coordinates of points along the last axis, one vector for each."""
    width = x.shape[-1]
    if not isinstance(width, int):
        raise LoweringError("the number of coordinates must be known at export")
    points = g.reshape(x, [sizes.product(x.shape[:-1]), width])
    return [g.gather(points, i, 1) for i in range(width)]


@lowering("aten::_histogramdd_bin_edges")
def histogramdd_edges(
    g: Builder,
    self: Tensor,
    bins: list[int],
    range: list[float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> list[Tensor]:
    """_histogramdd_bin_edges(Tensor self, int[] bins, *, float[]? range=None, Tensor? weight=None, bool density=False)
    -> Tensor[]"""
    edges = []
    for i, (column, count) in enumerate(zip(_columns(g, self), bins)):
        low, high = (0.0, 0.0) if range is None else range[2 * i : 2 * i + 2]
        edges.append(_edges(g, column, count, low, high, given=range is not None))
    return edges


@lowering("aten::_histogramdd_from_bin_cts")
def histogramdd_of_counts(
    g: Builder,
    self: Tensor,
    bins: list[int],
    range: list[float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> Tensor:
    """_histogramdd_from_bin_cts(Tensor self, int[] bins, *, float[]? range=None, Tensor? weight=None, bool
    density=False) -> Tensor"""
    return histogramdd(g, self, histogramdd_edges(g, self, bins, range), weight, density)


@lowering("aten::_histogramdd_from_bin_tensors")
def histogramdd(
    g: Builder, self: Tensor, bins: list[Tensor], weight: Tensor | None = None, density: bool = False
) -> Tensor:
    """_histogramdd_from_bin_tensors(Tensor self, Tensor[] bins, *, Tensor? weight=None, bool density=False) -> Tensor"""
    counts = _count(g, _columns(g, self), bins, weight)
    return _density(g, counts, bins) if density else counts


@lowering("aten::histogramdd")
def histogramdd_and_edges(
    g: Builder,
    self: Tensor,
    bins: Any,
    range: list[float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> tuple[Tensor, list[Tensor]]:
    """histogramdd(Tensor self, int[] bins, float[]? range=None, Tensor? weight=None, bool density=False) -> (Tensor
    hist, Tensor[] bin_edges)"""
    if isinstance(bins, int):
        bins = [bins] * len(_columns(g, self))
    edges = bins if isinstance(bins[0], Tensor) else histogramdd_edges(g, self, bins, range)
    return histogramdd(g, self, edges, weight, density), edges
