"""Looking up rows of a table, and reductions over segments."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from .. import dims as sizes
from ..dims import Size
from ..errors import LoweringError
from ..lower.builder import Builder
from ..lower.emit import INT64_MAX
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
    """embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, bool scale_grad_by_freq=False, bool sparse=False)
    -> Tensor"""
    return g.gather(weight, indices, 0)


@lowering("aten::embedding_renorm")
def embedding_renorm(g: Builder, self: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> Tensor:
    """embedding_renorm_(Tensor(a!) self, Tensor indices, float max_norm, float norm_type) -> Tensor(a!)"""
    if norm_type == math.inf:
        norm = g.reduce("ReduceMax", g.op("Abs", self), [1], keepdims=True)
    elif norm_type in (1, 2):
        norm = g.reduce(f"ReduceL{int(norm_type)}", self, [1], keepdims=True)
    else:
        powers = g.reduce("ReduceSum", g.pow(g.op("Abs", self), norm_type), [1], keepdims=True)
        norm = g.pow(powers, 1 / norm_type)
    scaled = g.mul(self, g.div(g.const(max_norm, self.dtype), g.add(norm, 1e-7)))
    count = indices.numel
    never = g.full([self.shape[0]], False, torch.bool)
    looked_up = g.scatter_elements(never, g.reshape(indices, [count]), g.full([count], True, torch.bool), 0)
    return g.where(g.and_(g.unsqueeze(looked_up, [1]), g.greater(norm, max_norm)), scaled, self)


# -- bags -----------------------------------------------------------------------------------------


@lowering("aten::embedding_bag", "aten::_embedding_bag", "aten::_embedding_bag_forward_only")
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
    padding_idx: Size = -1,
) -> tuple[Tensor, None, None, None]:
    """embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0,
    bool sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False) -> (Tensor, Tensor, Tensor, Tensor)

    The other results are for the backward pass.
    """
    rows = g.gather(weight, indices, 0)
    count = indices.shape[0]
    if per_sample_weights is not None:
        rows = g.mul(rows, g.unsqueeze(per_sample_weights, [1]))
    padded = not isinstance(padding_idx, int) or padding_idx >= 0
    if include_last_offset:
        if mode != MAX and not padded and rows.dtype != torch.float64:
            rows = _up_to_last(g, rows, offsets)
        offsets = g.slice(offsets, [0], [-1], [0])
    used = None
    if padded:
        used = g.not_(g.equal(indices, padding_idx))
        neutral = neutral_element("max" if mode == MAX else "add", rows.dtype)
        rows = g.where(g.unsqueeze(used, [1]), rows, g.scalar(neutral, rows.dtype))
    length = _common_length(g, offsets, count)
    if length is not None:
        result = _reduce_equal_bags(g, rows, used, offsets.shape[0], length, mode)
    else:
        result = _reduce_bags(g, rows, used, offsets, mode)
    return result, None, None, None


@lowering("aten::embedding_bag.padding_idx")
def embedding_bag_with_padding(
    g: Builder,
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    scale_grad_by_freq: bool,
    mode: int,
    sparse: bool,
    per_sample_weights: Tensor | None,
    include_last_offset: bool,
    padding_idx: int | None,
) -> tuple[Tensor, None, None, None]:
    """embedding_bag.padding_idx(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq, int mode, bool
    sparse, Tensor? per_sample_weights, bool include_last_offset, int? padding_idx) -> (Tensor, Tensor, Tensor,
    Tensor)"""
    padding: Size = -1
    if padding_idx is not None:
        padding = padding_idx if padding_idx >= 0 else weight.shape[0] + padding_idx
    return embedding_bag(
        g, weight, indices, offsets, False, mode, False, per_sample_weights, include_last_offset, padding
    )


def _up_to_last(g: Builder, rows: Tensor, offsets: Tensor) -> Tensor:
    """Zeros after the last offset, where the last bag ends.

    Only PyTorch's fast path (sums, and the sums of means, not of float64) does that; others take all up to the end.
    """
    last = g.int_of(g.gather(offsets, g.sub(g.size(offsets.shape[0]), 1), 0), "last")
    count = rows.shape[0]
    if sizes.known_eq(last, count):
        return rows
    within = g.less(g.range(0, count), g.size(last))
    return g.where(g.unsqueeze(within, [1]), rows, g.const(0, rows.dtype))


def _common_length(g: Builder, offsets: Tensor, count: Size) -> int | None:
    """The length of the bags, if all are known to have the same."""
    if offsets.is_constant and offsets.data is not None:
        if not isinstance(count, int) or not offsets.data.size or offsets.data[0] != 0:
            return None
        lengths = np.diff(offsets.data, append=count)
        length = int(lengths[0])
        return length if length > 0 and (lengths == length).all() else None
    step = _range_step(g, offsets)  # of indices with two axes, offsets are a range
    return step if step is not None and sizes.known_eq(offsets.shape[0] * step, count) else None


def _range_step(g: Builder, x: Tensor) -> int | None:
    """The step of what is a range from 0, if it is one by constant steps."""
    node = None if x.value is None else x.value.producer()
    if node is None or node.op_type != "Range":
        return None
    known = {id(t.value): t.data for t in g.initializers.values() if t.data is not None and not t.from_weight}
    start, step = (known.get(id(value)) for value in (node.inputs[0], node.inputs[2]))
    return int(step) if start is not None and step is not None and int(start) == 0 else None


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
    """segment_reduce(Tensor data, str reduce, *, Tensor? lengths=None, Tensor? indices=None, Tensor? offsets=None, int
    axis=0, bool unsafe=False, Scalar? initial=None) -> Tensor"""
    if lengths is None and offsets is None:
        raise LoweringError("segments by indices; give their lengths or offsets")
    axis %= data.rank
    batch, size, rest = sizes.product(data.shape[:axis]), data.shape[axis], sizes.product(data.shape[axis + 1 :])
    starts, ends = _bounds(g, lengths, offsets)
    segments = starts.shape[-1]
    starts, ends = (g.reshape(t, [batch, segments]) for t in (starts, ends))
    how = _SEGMENT[reduce]
    neutral = neutral_element(how, data.dtype)
    # The segment of each entry; what lies outside of all segments doesn't change the first one.
    position = g.unsqueeze(g.range(0, size), [1])
    first, last = g.unsqueeze(starts, [1]), g.unsqueeze(ends, [1])
    within = g.and_(g.not_(g.less(position, first)), g.less(position, last))  # [batch, size, segments]
    number = g.mul(g.cast(within, torch.int64), g.range(0, segments))
    places = g.reduce("ReduceSum", number, [2])
    places = g.add(places, g.mul(g.unsqueeze(g.range(0, batch), [1]), g.size(segments)))
    inside = g.reshape(g.any(within, [2]), [batch * size, 1])
    rows = g.where(inside, g.reshape(data, [batch * size, rest]), g.scalar(neutral, data.dtype))
    begin = g.full([batch * segments, rest], neutral if initial is None else initial, data.dtype)
    result = g.scatter_nd(begin, g.reshape(places, [batch * size, 1]), rows, how)
    if reduce == "mean":
        counts = g.reshape(g.cast(g.sub(ends, starts), data.dtype), [batch * segments, 1])
        if initial is not None:
            counts = g.extremum("Max", counts, g.const(1, data.dtype))
        result = g.div(result, counts)
    return g.reshape(result, [*data.shape[:axis], segments, *data.shape[axis + 1 :]])


def _bounds(g: Builder, lengths: Tensor | None, offsets: Tensor | None) -> tuple[Tensor, Tensor]:
    """Where segments begin and end, along the last axis."""
    if lengths is not None:
        lengths = g.cast(lengths, torch.int64)
        ends = g.cumsum(lengths, -1)
        return g.sub(ends, lengths), ends
    assert offsets is not None
    offsets = g.cast(offsets, torch.int64)
    axis = offsets.rank - 1
    return g.slice(offsets, [0], [-1], [axis]), g.slice(offsets, [1], [INT64_MAX], [axis])
