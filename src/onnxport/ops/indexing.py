"""Indexing with tensors: `x[i]`, `x[:, mask]`, `x[i, :, j] = v`, and picking along one axis.

An index is a list with an entry per axis: None for the whole axis, positions, or a mask, which stands for as
many axes as it has. The position tensors are broadcast together; their axes take the place of those that they
index if these are neighbours, and come first if not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from .. import dims as sizes
from ..dims import Size
from ..errors import LoweringError
from ..lower.builder import Builder
from ..lower.registry import lowering
from ..lower.values import Number, Tensor

Indices = Sequence[Tensor | None]
MASKS = (torch.bool, torch.uint8)


@dataclass(frozen=True, slots=True)
class Places:
    """Which elements of a tensor an index picks.

    Attributes:
        axes: the axes that are indexed, ascending.
        positions: along each of them; they broadcast together to `shape`.
        rest: the axes that aren't indexed.
    """

    axes: list[int]
    positions: list[Tensor]
    shape: tuple[Size, ...]
    rest: list[int]

    @property
    def neighbours(self) -> bool:
        return self.axes[-1] - self.axes[0] == len(self.axes) - 1

    @property
    def at(self) -> int:
        """Where the axes of the positions are in the result."""
        return self.axes[0] if self.neighbours else 0

    def picked(self, x: Tensor) -> list[Size]:
        """The sizes of what is picked from x."""
        rest = [x.shape[axis] for axis in self.rest]
        return [*rest[: self.at], *self.shape, *rest[self.at :]]

    def to_front(self) -> list[int]:
        """The permutation that brings the axes of the positions in a result to the front."""
        count = len(self.shape)
        others = [i for i in range(count + len(self.rest)) if not self.at <= i < self.at + count]
        return [*range(self.at, self.at + count), *others]


def single_mask(indices: Indices) -> tuple[int, Tensor] | None:
    """The axis and the mask, if the index is one mask and nothing else."""
    given = [(axis, index) for axis, index in enumerate(indices) if index is not None]
    if len(given) != 1 or given[0][1].dtype not in MASKS or given[0][1].rank == 0:
        return None
    return given[0]


def find_places(g: Builder, x: Tensor, indices: Indices) -> Places:
    """The positions that an index stands for, those of masks looked up."""
    axes: list[int] = []
    positions: list[Tensor] = []
    axis = 0
    for index in indices:
        if index is None:
            axis += 1
            continue
        found = mask_positions(g, index) if index.dtype in MASKS else [index]
        axes += range(axis, axis + len(found))
        positions += found
        axis += len(found)
    if axis > x.rank:
        raise LoweringError(f"too many indices: {axis} for a tensor of {x.rank} dimensions")
    shape = sizes.broadcast_shapes(*[p.shape for p in positions])
    return Places(axes, positions, shape, [i for i in range(x.rank) if i not in axes])


def with_axes(g: Builder, x: Tensor, indices: Indices) -> tuple[Tensor, list[Tensor | None], list[int]]:
    """A mask without dimensions stands for an axis of its own, of one element: with these axes, and where they are."""
    made: list[Tensor | None] = []
    added: list[int] = []
    axis = 0
    for index in indices:
        if index is not None and index.rank == 0 and index.dtype in MASKS:
            x, index = g.unsqueeze(x, [axis]), g.reshape(index, [1])
            added.append(axis)
        made.append(index)
        axis += index.rank if index is not None and index.dtype in MASKS else 1
    return x, made, added


def mask_positions(g: Builder, mask: Tensor) -> list[Tensor]:
    """Where a mask holds: one vector of positions for each of its axes."""
    if mask.is_constant and mask.data is not None:
        return [g.const(where, torch.int64) for where in np.nonzero(mask.data)]
    found = g.nonzero(mask)
    if mask.rank == 1:
        return [g.squeeze(found, [0])]
    return [g.gather(found, i, 0) for i in range(mask.rank)]


def stacked(g: Builder, places: Places) -> Tensor:
    """The positions side by side in a last axis, as GatherND and ScatterND want them."""
    columns = []
    for p in places.positions:
        column = g.expand(g.cast(p, torch.int64), places.shape)
        columns.append(g.unsqueeze(column, [len(places.shape)]))
    return g.concat(columns, len(places.shape))


@lowering("aten::index.Tensor", "aten::index.Tensor_hacked_twin", "aten::_unsafe_index")
def index(g: Builder, self: Tensor, indices: Indices) -> Tensor:
    """index.Tensor(Tensor self, Tensor?[] indices) -> Tensor"""
    self, indices, _ = with_axes(g, self, indices)
    mask = single_mask(indices)
    if mask is not None and not mask[1].is_constant:
        return select_where(g, self, *mask)
    if all(i is None for i in indices):
        return self
    places = find_places(g, self, indices)
    whole = _whole(g, self, places)
    if whole is not None:
        return whole
    if len(places.axes) == 1:
        return g.gather(self, _position(g, places.positions[0], self.shape[places.axes[0]]), places.axes[0])
    first, count = places.axes[0], len(places.axes)
    if places.neighbours and (g.opset < 11 or all(p.is_constant for p in places.positions)):
        return _gather_merged(g, self, places.positions, first)
    front = g.transpose(self, [*places.axes, *places.rest])
    if g.opset < 11:
        return _gather_merged(g, front, places.positions, 0)
    picked = g.gather_nd(front, stacked(g, places))
    picked = g.transpose(picked, [int(i) for i in np.argsort(places.to_front())])
    assert picked.rank == len(places.shape) + self.rank - count
    return picked


def _whole(g: Builder, x: Tensor, places: Places) -> Tensor | None:
    """What is picked by counting up along whole axes, as in `x[arange(n)[:, None], arange(m)]`: x itself, its axes moved."""
    along = [_counted_axis(g, p, x.shape[axis]) for p, axis in zip(places.positions, places.axes)]
    if None in along or len(set(along)) < len(along):
        return None
    axis_of = {len(places.shape) + k: axis for k, axis in zip(along, places.axes) if k is not None}
    inner = [axis_of[k] for k in sorted(axis_of)]
    rest = places.rest
    order = [*rest[: places.at], *inner, *rest[places.at :]]
    return g.reshape(g.transpose(x, order), places.picked(x))


def _counted_axis(g: Builder, index: Tensor, size: Size) -> int | None:
    """The axis, from the last, along which an index counts all of 0, 1, ... below a size; None if it doesn't."""
    long = [i - index.rank for i, d in enumerate(index.shape) if d != 1]
    if len(long) != 1 or index.shape[long[0]] != size or index.dtype != torch.int64:
        return None
    if index.is_constant and index.data is not None:
        return long[0] if (index.data.reshape(-1) == np.arange(index.data.size)).all() else None
    move = None if index.value is None else g.layouts.get(index.value)
    root = index if move is None or move.perm is not None else move.source
    return long[0] if root.value is not None and g.counts.get(root.value) == size else None


def _position(g: Builder, index: Tensor, size: Size) -> Tensor:
    """Gather counts negative positions from the end since opset 11."""
    if g.opset >= 11:
        return index if index.dtype in (torch.int32, torch.int64) else g.cast(index, torch.int64)
    return g.from_front(index, size)


def _gather_merged(g: Builder, x: Tensor, positions: list[Tensor], first: int) -> Tensor:
    """Pick from neighbouring axes merged into one."""
    last = first + len(positions)
    indexed = x.shape[first:last]
    merged = g.reshape(x, [*x.shape[:first], sizes.product(indexed), *x.shape[last:]])
    return g.gather(merged, g.linear(positions, indexed), first)


def select_where(g: Builder, x: Tensor, axis: int, mask: Tensor) -> Tensor:
    """The entries where a mask over some neighbouring axes holds, these axes merged into one."""
    merged = [*x.shape[:axis], mask.numel, *x.shape[axis + mask.rank :]]
    return g.compress(g.reshape(x, merged), g.reshape(mask, [mask.numel]), axis)


# -- writing --------------------------------------------------------------------------------------


@lowering("aten::index_put", "aten::_index_put_impl", "aten::_unsafe_index_put")
def index_put(
    g: Builder, self: Tensor, indices: Indices, values: Tensor, accumulate: bool = False, unsafe: bool = False
) -> Tensor:
    """index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor"""
    values = g.cast(values, self.dtype)
    wider, made, added = with_axes(g, self, indices)
    if added:
        return g.squeeze(index_put(g, wider, made, values, accumulate), added)
    if all(i is None for i in indices):
        return g.add(self, values) if accumulate else g.expand(values, self.shape)
    mask = single_mask(indices)
    if mask is not None:
        chosen = _put_where(g, self, *mask, values, accumulate)
        if chosen is not None:
            return chosen
    places = find_places(g, self, indices)
    if values.numel == 1 and not accumulate and len(places.axes) == 1 and places.axes[0] > 0:
        return fill_along(g, self, places.axes[0], places.positions[0], values)
    target = places.picked(self)
    while values.rank > len(target):
        values = g.squeeze(values, [0])
    updates = g.transpose(g.expand(values, target), places.to_front())
    perm = [*places.axes, *places.rest]
    front = g.transpose(self, perm)
    single = mask is not None and not mask[1].is_constant
    where = g.transpose(g.nonzero(mask[1]), [1, 0]) if single and mask is not None else stacked(g, places)
    result = g.scatter_nd(front, where, updates, "add" if accumulate else "none")
    return g.transpose(result, [int(i) for i in np.argsort(perm)])


def fill_along(g: Builder, x: Tensor, dim: int, index: Tensor, value: Tensor) -> Tensor:
    """x with one value at some positions along an axis: a choice, which moves nothing around."""
    size, count = x.shape[dim], index.numel
    if index.is_constant and index.data is not None and isinstance(size, int):
        chosen = np.zeros(size, dtype=bool)
        chosen[index.data.reshape(-1)] = True
        hit = g.const(chosen, torch.bool)
    else:
        never, always = g.full([size], False, torch.bool), g.full([count], True, torch.bool)
        hit = g.scatter_elements(never, g.reshape(index, [count]), always, 0)
    hit = g.reshape(hit, [size, *[1] * (x.rank - dim - 1)])
    return g.where(hit, g.reshape(value, []), x)


def _put_where(g: Builder, x: Tensor, axis: int, mask: Tensor, values: Tensor, accumulate: bool) -> Tensor | None:
    """Write under a mask values that are the same for all its places: a choice between two tensors."""
    behind = x.rank - axis - mask.rank
    if values.rank > behind and values.numel != 1:
        along = values.rank - behind - 1  # the axis of `values` for the places, and those before it
        if values.shape[along] != 1:
            return None
        lead = list(values.shape[:along])
        values = g.reshape(values, [*lead, *[1] * mask.rank, *values.shape[along + 1 :]])
    elif values.numel == 1:
        values = g.reshape(values, [])
    if accumulate:
        values = g.op("Or", x, values) if x.dtype == torch.bool else g.add(x, values)
    return g.where(g.unsqueeze(mask, list(range(mask.rank, mask.rank + behind))), values, x)


@lowering("aten::_unsafe_masked_index")
def masked_index(g: Builder, self: Tensor, mask: Tensor, indices: Indices, fill: Number) -> Tensor:
    """_unsafe_masked_index(Tensor self, Tensor mask, Tensor?[] indices, Scalar fill) -> Tensor

    Positions may be out of bounds where the mask doesn't hold.
    """
    picked = index(g, self, _clamped(g, self, indices))
    return g.where(mask, picked, g.scalar(fill, self.dtype))


@lowering("aten::_unsafe_masked_index_put_accumulate")
def masked_index_put(g: Builder, self: Tensor, mask: Tensor, indices: Indices, values: Tensor) -> Tensor:
    """_unsafe_masked_index_put_accumulate(Tensor self, Tensor mask, Tensor?[] indices, Tensor values) -> Tensor"""
    values = g.where(mask, values, g.scalar(0, values.dtype))
    return index_put(g, self, _clamped(g, self, indices), values, accumulate=True)


def _clamped(g: Builder, x: Tensor, indices: Indices) -> Indices:
    """Positions within bounds."""
    clamped: list[Tensor | None] = []
    for position, size in zip(indices, x.shape):
        if position is not None:
            position = g.extremum("Min", g.cast(position, torch.int64), g.size(size - 1))
            position = g.extremum("Max", position, g.size(-size))
        clamped.append(position)
    return clamped


# -- along one axis -------------------------------------------------------------------------------


@lowering("aten::gather")
def gather(g: Builder, self: Tensor, dim: int, index: Tensor, sparse_grad: bool = False) -> Tensor:
    """gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor"""
    if self.rank == 0:
        return g.gather(g.reshape(self, [1]), index, 0)
    if index.rank == 0:
        return g.reshape(g.gather_elements(self, g.reshape(index, [1]), 0), [])
    if index.rank != self.rank:  # torch lets an index without elements have any rank
        return g.full(index.shape, 0, self.dtype)
    return g.gather_elements(self, index, dim % self.rank)


@lowering("aten::take_along_dim")
def take_along_dim(g: Builder, self: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    """take_along_dim(Tensor self, Tensor indices, int? dim=None) -> Tensor"""
    if dim is None:
        flat = g.reshape(self, [self.numel])
        return g.gather(flat, _position(g, g.reshape(indices, [indices.numel]), self.numel), 0)
    if self.rank == 0:
        return self
    dim %= self.rank
    both = [sizes.broadcast(n, m) if i != dim else 1 for i, (n, m) in enumerate(zip(self.shape, indices.shape))]
    x = g.expand(self, [self.shape[i] if i == dim else n for i, n in enumerate(both)])
    return g.gather_elements(
        x, g.expand(indices, [indices.shape[i] if i == dim else n for i, n in enumerate(both)]), dim
    )


@lowering("aten::index_select")
def index_select(g: Builder, self: Tensor, dim: int, index: Tensor) -> Tensor:
    """index_select(Tensor self, int dim, Tensor index) -> Tensor"""
    if self.rank == 0:
        return self
    dim %= self.rank
    return g.gather(self, g.reshape(_position(g, index, self.shape[dim]), [index.numel]), dim)


@lowering("aten::take")
def take(g: Builder, self: Tensor, index: Tensor) -> Tensor:
    """take(Tensor self, Tensor index) -> Tensor"""
    return g.gather(g.reshape(self, [self.numel]), _position(g, index, self.numel), 0)
