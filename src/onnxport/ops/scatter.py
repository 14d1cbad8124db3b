"""Writing to the places that an index names: scatter and its kin, index_add and its kin."""

from __future__ import annotations

from typing import Any

import torch

from .. import dims as sizes
from ..dims import Size
from ..dtypes import is_integer
from ..errors import LoweringError
from ..lower import registry
from ..lower.builder import Builder
from ..lower.emit.indexing import neutral_element
from ..lower.registry import lowering
from ..lower.values import Number, Tensor
from ..lower.views import by_position, write_slice
from .indexing import fill_along

# torch's names of reductions -> those of the scatter words; a mean is a sum divided afterwards
_REDUCTIONS = {
    "add": "add", "sum": "add", "mean": "add", "multiply": "mul", "prod": "mul",
    "amax": "max", "amin": "min",
}  # fmt: skip


def scatter_along(
    g: Builder,
    x: Tensor,
    dim: int,
    index: Tensor,
    src: Tensor | Number,
    reduce: str = "none",
    include_self: bool = True,
) -> Tensor:
    """`x[index[i, j], j] = src[i, j]` (for axis 0), or reduced with what is there."""
    if x.rank == 0:
        return g.reshape(scatter_along(g, g.reshape(x, [1]), 0, index, src, reduce, include_self), [])
    dim %= x.rank
    if index.rank == 0:
        index = g.reshape(index, [1])
    if any(n == 0 for n in index.shape):
        return x
    if not isinstance(src, Tensor):
        updates = g.full(index.shape, src, x.dtype)
    else:
        updates = g.cast(_cut(g, src, index.shape) if src.rank else g.expand(src, index.shape), x.dtype)
    if reduce == "none":
        return g.scatter_elements(x, index, updates, dim)
    how = _REDUCTIONS[reduce]
    start = x
    if not include_self:
        start = g.scatter_elements(x, index, g.full(index.shape, neutral_element(how, x.dtype), x.dtype), dim)
    result = g.scatter_elements(start, index, updates, dim, how)
    if how in ("max", "min") and x.is_float:
        nan = _scatter_nan(g, start, index, updates, dim)
        result = g.where(nan, float("nan"), result)
    if reduce == "mean":
        result = _divide_by_count(g, result, index, dim, include_self)
    return result


def _cut(g: Builder, src: Tensor, shape: tuple[Size, ...]) -> Tensor:
    """The leading part of `src` that has these sizes; scatter ignores the rest."""
    axes = [i for i, (n, m) in enumerate(zip(src.shape, shape)) if n != m]
    if len(src.shape) != len(shape):
        return g.reshape(src, shape)
    if not axes:
        return src
    result = g.slice(src, [0] * len(axes), [shape[i] for i in axes], axes)
    result.dims = shape
    return result


def _scatter_nan(g: Builder, x: Tensor, index: Tensor, updates: Tensor, dim: int) -> Tensor:
    """Where NaN meets: torch's max and min keep it, ONNX leaves it open."""
    before, new = (g.cast(g.isnan(t), torch.int32) for t in (x, updates))
    return g.cast(g.scatter_elements(before, index, new, dim, "max"), torch.bool)


def _divide_by_count(g: Builder, total: Tensor, index: Tensor, dim: int, include_self: bool) -> Tensor:
    """Sums divided by the number of what was added; integers are rounded down."""
    start = g.full(total.shape, int(include_self), total.dtype)
    count = g.scatter_elements(start, index, g.full(index.shape, 1, total.dtype), dim, "add")
    if not include_self:
        count = g.extremum("Max", count, g.scalar(1, total.dtype))
    return g.floor_divmod(total, count)[0] if is_integer(total.dtype) else g.div(total, count)


@lowering("aten::scatter.src", "aten::scatter.value")
def scatter(g: Builder, self: Tensor, dim: int, index: Tensor, src: Any) -> Tensor:
    """scatter.src(Tensor self, int dim, Tensor index, Tensor src) -> Tensor"""
    return scatter_along(g, self, dim, index, src)


@lowering("aten::scatter.reduce", "aten::scatter.value_reduce")
def scatter_with(g: Builder, self: Tensor, dim: int, index: Tensor, src: Any, reduce: str) -> Tensor:
    """scatter.reduce(Tensor self, int dim, Tensor index, Tensor src, *, str reduce) -> Tensor"""
    return scatter_along(g, self, dim, index, src, reduce)


@lowering("aten::scatter_add")
def scatter_add(g: Builder, self: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor"""
    return scatter_along(g, self, dim, index, src, "add")


@lowering("aten::scatter_reduce.two")
def scatter_reduce(
    g: Builder, self: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, include_self: bool = True
) -> Tensor:
    """scatter_reduce.two(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True) -> Tensor"""
    return scatter_along(g, self, dim, index, src, reduce, include_self)


# -- whole slices ---------------------------------------------------------------------------------


def _along(g: Builder, x: Tensor, dim: int, index: Tensor, source: Tensor) -> tuple[Tensor, int, Tensor, Tensor]:
    """A vector of positions along an axis, spread over the other axes, as scatter wants it."""
    if x.rank == 0:
        x, dim = g.reshape(x, [1]), 0
    dim %= x.rank
    count = index.numel
    shape = [count if i == dim else n for i, n in enumerate(x.shape)]
    source = g.expand(g.reshape(source, [1]) if source.rank == 0 else source, shape)
    column = g.reshape(index, [count if i == dim else 1 for i in range(x.rank)])
    return x, dim, g.expand(column, shape), source


def _scatter_slices(
    g: Builder, x: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, include_self: bool = True
) -> Tensor:
    """`x[..., index, ...] = source`, or reduced with what is there."""
    dim %= max(x.rank, 1)
    if x.rank and dim == 0 and reduce in ("none", "add"):
        places = g.reshape(g.cast(index, torch.int64), [index.numel, 1])
        return g.scatter_nd(x, places, g.expand(source, [index.numel, *x.shape[1:]]), reduce)
    spread, dim, places, source = _along(g, x, dim, index, source)
    return g.reshape(scatter_along(g, spread, dim, places, source, reduce, include_self), x.shape)


@lowering("aten::index_add")
def index_add(g: Builder, self: Tensor, dim: int, index: Tensor, source: Tensor, alpha: Any = 1) -> Tensor:
    """index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor"""
    if isinstance(alpha, bool) or alpha != 1:
        scale = g.scalar(alpha, source.dtype)
        source = g.and_(source, scale) if source.dtype == torch.bool else g.mul(source, scale)
    return _scatter_slices(g, self, dim, index, g.cast(source, self.dtype), "add")


@lowering("aten::index_copy")
def index_copy(g: Builder, self: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """index_copy(Tensor self, int dim, Tensor index, Tensor source) -> Tensor"""
    return _scatter_slices(g, self, dim, index, source, "none")


@lowering("aten::index_reduce")
def index_reduce(
    g: Builder, self: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, include_self: bool = True
) -> Tensor:
    """index_reduce(Tensor self, int dim, Tensor index, Tensor source, str reduce, *, bool include_self=True) -> Tensor"""
    return _scatter_slices(g, self, dim, index, source, reduce, include_self)


@lowering("aten::index_fill")
def index_fill(g: Builder, self: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    """index_fill.int_Scalar(Tensor self, int dim, Tensor index, Scalar value) -> Tensor"""
    x = g.reshape(self, [1]) if self.rank == 0 else self
    return g.reshape(fill_along(g, x, dim % x.rank, index, g.scalar(value, x.dtype)), self.shape)


@lowering("aten::put")
def put(g: Builder, self: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """put(Tensor self, Tensor index, Tensor source, bool accumulate=False) -> Tensor"""
    count = index.numel
    flat = g.reshape(self, [self.numel])
    places, values = g.reshape(index, [count]), g.reshape(g.cast(source, self.dtype), [count])
    return g.reshape(g.scatter_elements(flat, places, values, 0, "add" if accumulate else "none"), self.shape)


# -- views ----------------------------------------------------------------------------------------


@lowering("aten::slice_scatter")
def slice_scatter(
    g: Builder,
    self: Tensor,
    src: Tensor,
    dim: int = 0,
    start: Size | None = None,
    end: Size | None = None,
    step: int = 1,
) -> Tensor:
    """slice_scatter(Tensor self, Tensor src, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor"""
    dim %= self.rank
    low: Size = 0 if start is None else start
    if step != 1 or not sizes.known_ge(low, 0) or not sizes.known_le(low + src.shape[dim], self.shape[dim]):
        return _write_view(g, "aten::slice", self, src, dim, start, end, step)
    return write_slice(g, self, g.cast(src, self.dtype), dim, low, end)


@lowering("aten::select_scatter")
def select_scatter(g: Builder, self: Tensor, src: Tensor, dim: int, index: Size) -> Tensor:
    """select_scatter(Tensor self, Tensor src, int dim, SymInt index) -> Tensor"""
    dim %= self.rank
    new = g.unsqueeze(g.cast(src, self.dtype), [dim])
    if sizes.known_ge(index, 0) is not True and isinstance(index, int):
        index = index + self.shape[dim]
    if not sizes.known_ge(index, 0):
        return _write_view(g, "aten::select", self, src, dim, index)
    return write_slice(g, self, new, dim, index, index + 1)


@lowering("aten::diagonal_scatter")
def diagonal_scatter(g: Builder, self: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """diagonal_scatter(Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1) -> Tensor"""
    return _write_view(g, "aten::diagonal", self, src, offset, dim1, dim2)


@lowering("aten::as_strided_scatter")
def as_strided_scatter(
    g: Builder, self: Tensor, src: Tensor, size: list[Size], stride: list[Size], storage_offset: Size | None = None
) -> Tensor:
    """as_strided_scatter(Tensor self, Tensor src, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor"""
    return _write_view(g, "aten::as_strided", self, src, size, stride, storage_offset)


def _write_view(g: Builder, view: str, x: Tensor, src: Tensor, *arguments: Any) -> Tensor:
    """x after `src` was written to a view of it."""
    lower = registry.find(f"{view}.Tensor") or registry.find(f"{view}.int") or registry.find(view)
    if lower is None:
        raise LoweringError(f"needs {view}, which has no conversion")
    found = lower

    def forward(base: Tensor) -> Tensor:
        result = found(g, base, *arguments)
        assert isinstance(result, Tensor)
        return result

    new = g.cast(src, x.dtype)
    shown = forward(x)
    return by_position(g, x, g.expand(new, shown.shape), forward, view)
