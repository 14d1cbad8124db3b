"""Elements repeated, rolled, turned round, combined."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence

import numpy as np
import torch

from .. import dims as sizes
from ..dims import Size
from ..dtypes import from_scalar_type
from ..lower.builder import Builder
from ..lower.emit import INT64_MAX
from ..lower.promotion import result_type
from ..lower.registry import lowering
from ..lower.values import Tensor
from .axes import wrap, wrap_all
from .creation import CONSTANT_LIMIT, constant
from .slicing import INT64_MIN

# -- repeated -------------------------------------------------------------------------------------


@lowering("aten::repeat")
def repeat(g: Builder, self: Tensor, repeats: list[Size]) -> Tensor:
    """repeat(Tensor self, SymInt[] repeats) -> Tensor"""
    x = g.reshape(self, [*[1] * (len(repeats) - self.rank), *self.shape])
    if all(r == 1 for r in repeats):
        return x
    target = [d * r for d, r in zip(x.shape, repeats)]
    if 0 in target:
        return g.full(target, 0, x.dtype)
    if all(d == 1 or r == 1 for d, r in zip(x.shape, repeats)):
        return g.expand(x, target)
    result = g.op("Tile", x, list(repeats))
    result.dims = tuple(target)
    return result


@lowering("aten::tile")
def tile(g: Builder, self: Tensor, dims: list[Size]) -> Tensor:
    """tile(Tensor self, SymInt[] dims) -> Tensor"""
    return repeat(g, self, [*[1] * (self.rank - len(dims)), *dims])


@lowering("aten::repeat_interleave.self_int")
def repeat_interleave_int(
    g: Builder, self: Tensor, repeats: Size, dim: int | None = None, output_size: Size | None = None
) -> Tensor:
    """repeat_interleave.self_int(Tensor self, SymInt repeats, int? dim=None, *, SymInt? output_size=None) -> Tensor"""
    x, axis = _along(g, self, dim)
    shape = x.shape
    wide = g.expand(g.unsqueeze(x, [axis + 1]), [*shape[: axis + 1], repeats, *shape[axis + 1 :]])
    return g.reshape(wide, [*shape[:axis], shape[axis] * repeats, *shape[axis + 1 :]])


def _along(g: Builder, x: Tensor, dim: int | None) -> tuple[Tensor, int]:
    """The tensor and the axis to repeat along; without one, all elements in a row."""
    if dim is None or x.rank == 0:
        return g.reshape(x, [x.numel]), 0
    return x, wrap(dim, x.rank)


@lowering("aten::repeat_interleave.self_Tensor")
def repeat_interleave_tensor(
    g: Builder, self: Tensor, repeats: Tensor, dim: int | None = None, output_size: Size | None = None
) -> Tensor:
    """repeat_interleave.self_Tensor(Tensor self, Tensor repeats, int? dim=None, *, SymInt? output_size=None) -> ..."""
    x, axis = _along(g, self, dim)
    if repeats.rank == 0 or repeats.shape == (1,):
        return repeat_interleave_int(g, x, g.int_of(repeats, "repeats"), axis)
    counts = g.expand(repeats, [x.shape[axis]])  # one for all, or one for each
    return g.gather(x, repeat_interleave(g, counts, output_size), axis)


@lowering("aten::repeat_interleave.Tensor")
def repeat_interleave(g: Builder, repeats: Tensor, output_size: Size | None = None) -> Tensor:
    """repeat_interleave.Tensor(Tensor repeats, *, SymInt? output_size=None) -> Tensor

    Row i of a mask has repeats[i] ones: their row numbers, in order, are the result.
    """
    if repeats.is_constant and repeats.data is not None:
        return g.const(np.repeat(np.arange(repeats.data.size), repeats.data), repeats.dtype)
    counts = g.cast(repeats, torch.int64)
    most = g.int_of(g.reduce("ReduceMax", g.concat([counts, g.ints([0])], 0), [0]), "repeats")
    mask = g.less(g.range(0, sizes.maximum(most, 0)), g.unsqueeze(counts, [1]))
    rows = g.gather(g.nonzero(mask), 0, 0)
    if output_size is not None:
        rows.dims = (output_size,)
    return g.cast(rows, repeats.dtype)


# -- rolled and turned round ----------------------------------------------------------------------


@lowering("aten::roll")
def roll(g: Builder, self: Tensor, shifts: list[Size], dims: list[int] = []) -> Tensor:  # noqa: B006
    """roll(Tensor self, SymInt[1] shifts, int[1] dims=[]) -> Tensor"""
    if not dims:
        flat = _roll(g, g.reshape(self, [self.numel]), shifts[0], 0)
        return g.reshape(flat, self.shape)
    x = self
    for shift, dim in zip(shifts, dims):
        x = _roll(g, x, shift, wrap(dim, x.rank))
    return x


def _roll(g: Builder, x: Tensor, shift: Size, axis: int) -> Tensor:
    size = x.shape[axis]
    if size == 0 or shift == 0:
        return x
    cut = -shift % sizes.maximum(size, 1)
    if cut == 0:
        return x
    tail, head = g.slice(x, [cut], [INT64_MAX], [axis]), g.slice(x, [0], [cut], [axis])
    result = g.concat([tail, head], axis)
    result.dims = x.dims
    return result


@lowering("aten::flip")
def flip(g: Builder, self: Tensor, dims: list[int]) -> Tensor:
    """flip(Tensor self, int[] dims) -> Tensor"""
    if self.rank == 0 or not dims:
        return self
    axes = sorted(wrap_all(dims, self.rank))
    if g.opset >= 10:
        n = len(axes)
        result = g.slice(self, [-1] * n, [INT64_MIN] * n, axes, [-1] * n)
        result.dims = self.dims
        return result
    x = self
    for axis in axes:
        size = x.shape[axis]
        places = g.sub(g.size(size - 1), g.range(0, size))
        x = g.gather(x, places, axis)
    return x


@lowering("aten::fliplr")
def fliplr(g: Builder, self: Tensor) -> Tensor:
    """fliplr(Tensor self) -> Tensor"""
    return flip(g, self, [1])


@lowering("aten::flipud")
def flipud(g: Builder, self: Tensor) -> Tensor:
    """flipud(Tensor self) -> Tensor"""
    return flip(g, self, [0])


@lowering("aten::rot90")
def rot90(g: Builder, self: Tensor, k: int = 1, dims: Sequence[int] = (0, 1)) -> Tensor:
    """rot90(Tensor self, int k=1, int[] dims=[0,1]) -> Tensor"""
    a, b = wrap_all(dims, self.rank)
    if k % 4 == 0:
        return self
    if k % 4 == 2:
        return flip(g, self, [a, b])
    return g.swap(flip(g, self, [b]), a, b) if k % 4 == 1 else flip(g, g.swap(self, a, b), [b])


# -- combined -------------------------------------------------------------------------------------


@lowering("aten::meshgrid", "aten::meshgrid.indexing")
def meshgrid(g: Builder, tensors: list[Tensor], indexing: str = "ij") -> list[Tensor]:
    """meshgrid.indexing(Tensor[] tensors, *, str indexing) -> Tensor[]"""
    rank = len(tensors)
    target = [x.numel for x in tensors]
    grids = []
    for i, x in enumerate(tensors):
        column = g.reshape(x, [target[i] if j == i else 1 for j in range(rank)])
        grids.append(g.expand(column, target))
    return [g.swap(x, 0, 1) for x in grids] if indexing == "xy" and rank >= 2 else grids


@lowering("aten::cartesian_prod")
def cartesian_prod(g: Builder, tensors: list[Tensor]) -> Tensor:
    """cartesian_prod(Tensor[] tensors) -> Tensor"""
    if len(tensors) == 1:
        return tensors[0]
    dtype = result_type(*tensors)
    grids = meshgrid(g, [g.cast(x, dtype) for x in tensors])
    return g.concat([g.reshape(x, [x.numel, 1]) for x in grids], 1)


@lowering("aten::combinations")
def combinations(g: Builder, self: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """combinations(Tensor self, int r=2, bool with_replacement=False) -> Tensor"""
    n = self.shape[0]
    if not isinstance(n, int) and r:
        return g.gather(self, g.transpose(_ascending(g, n, r, with_replacement), [1, 0]), 0)
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    chosen = np.array(list(choose(range(n), r)), dtype=np.int64).reshape(-1, r)
    return g.gather(self, g.known(chosen, torch.int64), 0) if r else g.full([0], 0, self.dtype)


def _ascending(g: Builder, n: Size, r: int, equal: bool) -> Tensor:
    """All r indices below n that ascend, one row for each place: those of a mask of n^r."""
    indices = [g.reshape(g.range(0, n), [n if axis == place else 1 for axis in range(r)]) for place in range(r)]
    if r == 1:
        return g.unsqueeze(indices[0], [0])
    in_order = [(g.less_equal if equal else g.less)(a, b) for a, b in itertools.pairwise(indices)]
    return g.nonzero(functools.reduce(g.and_, in_order))


@lowering("aten::one_hot")
def one_hot(g: Builder, self: Tensor, num_classes: Size = -1) -> Tensor:
    """one_hot(Tensor self, int num_classes=-1) -> Tensor"""
    count = num_classes
    if num_classes == -1:
        flat = g.concat([g.reshape(self, [self.numel]), g.ints([-1])], 0)
        most = g.int_of(g.reduce("ReduceMax", flat, [0]), "classes")
        count = sizes.maximum(most + 1, 0)
    return g.cast(g.equal(g.unsqueeze(self, [self.rank]), g.range(0, count)), torch.int64)


@lowering("aten::tril_indices")
def tril_indices(g: Builder, row: Size, col: Size, offset: int = 0, dtype: int | None = 4, *_: object) -> Tensor:
    """tril_indices(int row, int col, int offset=0, *, ScalarType? dtype=long, ...) -> Tensor"""
    return _triangle_indices(g, row, col, offset, dtype, upper=False)


@lowering("aten::triu_indices")
def triu_indices(g: Builder, row: Size, col: Size, offset: int = 0, dtype: int | None = 4, *_: object) -> Tensor:
    """triu_indices(int row, int col, int offset=0, *, ScalarType? dtype=long, ...) -> Tensor"""
    return _triangle_indices(g, row, col, offset, dtype, upper=True)


def _triangle_indices(g: Builder, row: Size, col: Size, offset: int, number: int | None, upper: bool) -> Tensor:
    """Positions of a triangle, row by row: those of a mask that aren't zero."""
    dtype = torch.int64 if number is None else from_scalar_type(number)
    if isinstance(row, int) and isinstance(col, int) and row * col <= CONSTANT_LIMIT:
        make = torch.triu_indices if upper else torch.tril_indices
        return constant(g, make(row, col, offset, dtype=dtype))
    rows, columns = g.unsqueeze(g.range(0, row), [1]), g.sub(g.range(0, col), offset)
    mask = g.less_equal(rows, columns) if upper else g.less_equal(columns, rows)
    return g.cast(g.nonzero(mask), dtype)


__all__ = ["flip", "repeat"]
