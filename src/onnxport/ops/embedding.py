"""Looking up rows of a table, and reductions over segments."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ..dims import Size
from ..errors import LoweringError
from ..lower.builder import Builder
from ..lower.emit.indexing import neutral_element
from ..lower.registry import lowering
from ..lower.values import Tensor

SUM, MEAN, MAX = range(3)


@lowering("aten::embedding")
def embedding(
    g: Builder,
    weight: Tensor,
    indices: Tensor,
    padding_idx: int = -1,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, bool scale_grad_by_freq=False, bool sparse=False) -> Tensor"""
    return g.gather(weight, indices, 0)


# -- bags -----------------------------------------------------------------------------------------


@lowering("aten::embedding_bag", "aten::_embedding_bag")
def embedding_bag(
    g: Builder,
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    scale_grad_by_freq: bool = False,
    mode: int = SUM,
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = -1,
) -> tuple[Tensor, None, None, None]:
    """embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False) -> (Tensor, Tensor, Tensor, Tensor)

    The other results are for the backward pass.
    """
    rows = g.gather(weight, indices, 0)
    count = indices.shape[0]
    if per_sample_weights is not None:
        rows = g.mul(rows, g.unsqueeze(per_sample_weights, [1]))
    if include_last_offset:
        offsets = g.slice(offsets, [0], [-1], [0])
    used = None
    if padding_idx is not None and padding_idx >= 0:
        used = g.not_(g.equal(indices, padding_idx))
        neutral = neutral_element("max" if mode == MAX else "add", rows.dtype)
        rows = g.where(g.unsqueeze(used, [1]), rows, g.scalar(neutral, rows.dtype))
    length = _common_length(offsets, count)
    if length is not None:
        result = _reduce_equal_bags(g, rows, used, offsets.shape[0], length, mode)
    else:
        result = _reduce_bags(g, rows, used, offsets, mode)
    return result, None, None, None


def _common_length(offsets: Tensor, count: Size) -> int | None:
    """The length of the bags, if all are known to have the same."""
    if not offsets.is_constant or offsets.data is None or not isinstance(count, int) or not offsets.data.size:
        return None
    ends = np.append(offsets.data[1:], count)
    lengths = np.unique(ends - offsets.data)
    return int(lengths[0]) if len(lengths) == 1 and lengths[0] > 0 and offsets.data[0] == 0 else None


def _reduce_equal_bags(g: Builder, rows: Tensor, used: Tensor | None, bags: Size, length: int, mode: int) -> Tensor:
    grouped = g.reshape(rows, [bags, length, rows.shape[1]])
    if used is None:
        return g.reduce(("ReduceSum", "ReduceMean", "ReduceMax")[mode], grouped, [1])
    total = g.reduce("ReduceMax" if mode == MAX else "ReduceSum", grouped, [1])
    if mode == SUM:
        return total
    counts = g.reduce("ReduceSum", g.cast(g.reshape(used, [bags, length]), rows.dtype), [1], keepdims=True)
    return _finish(g, total, counts, mode)


def _reduce_bags(g: Builder, rows: Tensor, used: Tensor | None, offsets: Tensor, mode: int) -> Tensor:
    bags, (count, width) = offsets.shape[0], rows.shape
    places = g.unsqueeze(_segments(g, g.cast(offsets, torch.int64), count), [1])
    how = "max" if mode == MAX else "add"
    total = g.scatter_nd(g.full([bags, width], neutral_element(how, rows.dtype), rows.dtype), places, rows, how)
    if mode == SUM:
        return total
    one = g.full([count], 1, rows.dtype) if used is None else g.cast(used, rows.dtype)
    counts = g.scatter_nd(g.full([bags], 0, rows.dtype), places, one, "add")
    return _finish(g, total, g.unsqueeze(counts, [1]), mode)


def _segments(g: Builder, starts: Tensor, count: Size) -> Tensor:
    """The segment that each of `count` positions is in."""
    begun = g.not_(g.less(g.unsqueeze(g.range(0, count), [1]), starts))
    return g.sub(g.reduce("ReduceSum", g.cast(begun, torch.int64), [1]), 1)


def _finish(g: Builder, total: Tensor, counts: Tensor, mode: int) -> Tensor:
    """Means, and zeros for bags without anything."""
    if mode == MEAN:
        return g.div(total, g.extremum("Max", counts, g.const(1, counts.dtype)))
    return g.where(g.equal(counts, 0), g.const(0, total.dtype), total)


# -- segments -------------------------------------------------------------------------------------

_SEGMENT = {"sum": "add", "mean": "add", "prod": "mul", "max": "max", "min": "min"}


@lowering("aten::segment_reduce")
def segment_reduce(
    g: Builder,
    data: Tensor,
    reduce: str,
    lengths: Tensor | None = None,
    indices: Tensor | None = None,
    offsets: Tensor | None = None,
    axis: int = 0,
    unsafe: bool = False,
    initial: Any = None,
) -> Tensor:
    """segment_reduce(Tensor data, str reduce, *, Tensor? lengths=None, Tensor? indices=None, Tensor? offsets=None, int axis=0, bool unsafe=False, Scalar? initial=None) -> Tensor"""
    given = lengths if lengths is not None else offsets
    if given is None or given.rank != 1 or axis % data.rank != 0:
        raise LoweringError("segments along another axis than the first; reduce each part of the batch on its own")
    given = g.cast(given, torch.int64)
    if lengths is not None:
        g.require(11, "CumSum")
        starts, counts = g.op("CumSum", given, g.const(0, torch.int64), exclusive=1), given
    else:
        starts = g.slice(given, [0], [-1], [0])
        counts = g.sub(g.slice(given, [1], [given.shape[0]], [0]), starts)
    how = _SEGMENT[reduce]
    begin = neutral_element(how, data.dtype) if initial is None else initial
    shape = [starts.shape[0], *data.shape[1:]]
    places = g.unsqueeze(_segments(g, starts, data.shape[0]), [1])
    result = g.scatter_nd(g.full(shape, begin, data.dtype), places, data, how)
    if reduce != "mean":
        return result
    counts = g.reshape(g.cast(counts, data.dtype), [shape[0], *[1] * (data.rank - 1)])
    if initial is not None:
        counts = g.extremum("Max", counts, g.const(1, data.dtype))
    return g.div(result, counts)
