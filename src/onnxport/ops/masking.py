"""Masks: what they select and where they hold."""

from __future__ import annotations

from typing import Any

import torch

from .. import dims as sizes
from ..dims import Size
from ..lower.builder import Builder
from ..lower.registry import lowering
from ..lower.values import Tensor


@lowering("aten::masked_select")
def masked_select(g: Builder, self: Tensor, mask: Tensor) -> Tensor:
    """masked_select(Tensor self, Tensor mask) -> Tensor"""
    shape = sizes.broadcast_shapes(self.shape, mask.shape)
    count = sizes.product(shape)
    flat = g.reshape(g.expand(self, shape), [count])
    return g.compress(flat, g.reshape(g.expand(mask, shape), [count]), 0)


@lowering("aten::fill_diagonal")
def fill_diagonal(g: Builder, self: Tensor, fill_value: Any, wrap: bool = False) -> Tensor:
    """fill_diagonal_(Tensor(a!) self, Scalar fill_value, bool wrap=False) -> Tensor(a!)

    With `wrap`, the diagonal of a tall matrix begins again below: it is every (m + 1)-th element.
    """
    filled = g.scalar(fill_value, self.dtype)
    places = [g.range(0, d) for d in self.shape]
    if wrap and self.rank == 2:
        width = self.shape[1]
        flat = g.add(g.unsqueeze(g.mul(places[0], g.size(width)), [1]), places[1])
        beyond = g.floor_divmod(flat, g.size(width + 1), truncates=True)[1]
        return g.where(g.equal(beyond, 0), filled, self)
    first = g.unsqueeze(places[0], range(1, self.rank))
    on: Tensor | None = None
    for axis in range(1, self.rank):
        same = g.equal(first, g.unsqueeze(places[axis], range(1, self.rank - axis)))
        on = same if on is None else g.op("And", on, same)
    assert on is not None
    return g.where(on, filled, self)


@lowering("aten::masked_scatter")
def masked_scatter(g: Builder, self: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor"""
    shape = sizes.broadcast_shapes(self.shape, mask.shape)
    if not shape:
        return g.where(mask, g.reshape(g.slice(g.reshape(source, [source.numel]), [0], [1], [0]), []), self)
    where = nonzero(g, g.expand(mask, shape))
    values = g.slice(g.reshape(source, [source.numel]), [0], [where.shape[0]], [0])
    values.dims = (where.shape[0],)
    return g.scatter_nd(g.expand(self, shape), where, g.cast(values, self.dtype))


@lowering("aten::nonzero", "aten::argwhere")
def nonzero(g: Builder, self: Tensor) -> Tensor:
    """nonzero(Tensor self) -> Tensor"""
    if self.rank == 0:  # as many rows without entries as there are elements that aren't zero
        rows = g.nonzero(g.reshape(self, [1])).shape[1]
        return g.expand(g.full([1, 0], 0, torch.int64), [rows, 0])
    return g.transpose(g.nonzero(self), [1, 0])


@lowering("aten::nonzero_numpy", "aten::where")
def nonzero_numpy(g: Builder, self: Tensor) -> list[Tensor]:
    """nonzero_numpy(Tensor self) -> Tensor[]; where(Tensor condition) -> Tensor[]"""
    x = g.reshape(self, [1]) if self.rank == 0 else self
    found = g.nonzero(x)
    return [g.gather(found, i, 0) for i in range(x.rank)]


@lowering("aten::nonzero_static")
def nonzero_static(g: Builder, self: Tensor, size: Size, fill_value: int = -1) -> Tensor:
    """nonzero_static(Tensor self, *, SymInt size, int fill_value=-1) -> Tensor"""
    if self.rank == 0:
        return g.full([size, 0], 0, torch.int64)
    fill = g.full([size, self.rank], fill_value, torch.int64)
    result = g.slice(g.concat([nonzero(g, self), fill], 0), [0], [size], [0])
    result.dims = (size, self.rank)
    return result
