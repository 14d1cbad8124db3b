"""Tensors made from sizes and numbers."""

from __future__ import annotations

import functools
import math
from typing import Any

import torch

from .. import dims as sizes
from ..dims import Dim, Size
from ..dtypes import array_of, from_scalar_type, is_integer
from ..errors import LoweringError
from ..lower.builder import Builder
from ..lower.promotion import number_dtype
from ..lower.registry import lowering
from ..lower.values import Scalar, Tensor
from .cast import converted

# Sequences of up to this many elements are written into the model; longer ones are computed by it.
CONSTANT_LIMIT = 1 << 14


def dtype_or(number: int | None, default: torch.dtype | None = None) -> torch.dtype:
    """The dtype that an argument names; the default float, or another default, without one."""
    if number is not None:
        return from_scalar_type(number)
    return torch.get_default_dtype() if default is None else default


def constant(g: Builder, tensor: torch.Tensor) -> Tensor:
    """What PyTorch computes, as a constant."""
    return g.known(array_of(tensor.contiguous()), tensor.dtype)


# -- one number everywhere ------------------------------------------------------------------------


@lowering("aten::zeros", "aten::empty.memory_format", "aten::_efficientzerotensor")
def zeros(g: Builder, size: list[Size], dtype: int | None = None, *_: Any) -> Tensor:
    """zeros(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, ...) -> Tensor"""
    return g.full(size, 0, dtype_or(dtype))


@lowering("aten::empty_permuted", "aten::empty_strided")
def empty_strided(g: Builder, size: list[Size], order: list[Size], dtype: int | None = None, *_: Any) -> Tensor:
    """empty_strided(SymInt[] size, SymInt[] stride, *, ScalarType? dtype=None, ...) -> Tensor"""
    return g.full(size, 0, dtype_or(dtype))


@lowering("aten::ones")
def ones(g: Builder, size: list[Size], dtype: int | None = None, *_: Any) -> Tensor:
    """ones(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, ...) -> Tensor"""
    return g.full(size, 1, dtype_or(dtype))


@lowering("aten::full")
def full(g: Builder, size: list[Size], fill_value: Any, dtype: int | None = None, *_: Any) -> Tensor:
    """full(SymInt[] size, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, ...) -> Tensor"""
    return g.full(size, fill_value, dtype_or(dtype, _dtype_of(fill_value)))


def _dtype_of(value: Any) -> torch.dtype:
    return value.dtype if isinstance(value, Tensor) else number_dtype(value)


@lowering("aten::zeros_like", "aten::empty_like")
def zeros_like(g: Builder, self: Tensor, dtype: int | None = None, *_: Any) -> Tensor:
    """zeros_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, ...) -> Tensor"""
    return g.full(self.shape, 0, dtype_or(dtype, self.dtype))


@lowering("aten::ones_like")
def ones_like(g: Builder, self: Tensor, dtype: int | None = None, *_: Any) -> Tensor:
    """ones_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, ...) -> Tensor"""
    return g.full(self.shape, 1, dtype_or(dtype, self.dtype))


@lowering("aten::full_like")
def full_like(g: Builder, self: Tensor, fill_value: Any, dtype: int | None = None, *_: Any) -> Tensor:
    """full_like(Tensor self, Scalar fill_value, *, ScalarType? dtype=None, ...) -> Tensor"""
    return g.full(self.shape, fill_value, dtype_or(dtype, self.dtype))


@lowering("aten::new_zeros", "aten::new_empty")
def new_zeros(g: Builder, self: Tensor, size: list[Size], dtype: int | None = None, *_: Any) -> Tensor:
    """new_zeros(Tensor self, SymInt[] size, *, ScalarType? dtype=None, ...) -> Tensor"""
    return g.full(size, 0, dtype_or(dtype, self.dtype))


@lowering("aten::new_empty_strided")
def new_empty_strided(
    g: Builder, self: Tensor, size: list[Size], stride: list[Size], dtype: int | None = None, *_: Any
) -> Tensor:
    """new_empty_strided(Tensor self, SymInt[] size, SymInt[] stride, *, ScalarType? dtype=None, ...) -> Tensor"""
    return g.full(size, 0, dtype_or(dtype, self.dtype))


@lowering("aten::new_ones")
def new_ones(g: Builder, self: Tensor, size: list[Size], dtype: int | None = None, *_: Any) -> Tensor:
    """new_ones(Tensor self, SymInt[] size, *, ScalarType? dtype=None, ...) -> Tensor"""
    return g.full(size, 1, dtype_or(dtype, self.dtype))


@lowering("aten::new_full")
def new_full(g: Builder, self: Tensor, size: list[Size], fill_value: Any, dtype: int | None = None, *_: Any) -> Tensor:
    """new_full(Tensor self, SymInt[] size, Scalar fill_value, *, ScalarType? dtype=None, ...) -> Tensor"""
    return g.full(size, fill_value, dtype_or(dtype, self.dtype))


@lowering("aten::scalar_tensor")
def scalar_tensor(g: Builder, s: Any, dtype: int | None = None, *_: Any) -> Tensor:
    """scalar_tensor(Scalar s, *, ScalarType? dtype=None, Layout? layout=None, ...) -> Tensor"""
    return g.scalar(s, dtype_or(dtype))


@lowering("aten::tensor")
def tensor(g: Builder, data: Any, dtype: int | None = None, *_: Any) -> Tensor:
    """tensor(t[] data, *, ScalarType? dtype=None, Device? device=None, bool requires_grad=False) -> Tensor"""
    if not isinstance(data, (list, tuple)):
        return g.scalar(data, dtype_or(dtype, _dtype_of(data)))
    shape, leaves = _nested(data)
    kinds = [_dtype_of(leaf) for leaf in leaves]
    kind = kinds[0] if kinds else torch.get_default_dtype()
    for other in kinds[1:]:
        kind = torch.promote_types(kind, other)
    target = dtype_or(dtype, kind)
    if not leaves:
        return g.full(shape, 0, target)
    return g.reshape(g.concat([g.reshape(g.scalar(x, target), [1]) for x in leaves], 0), shape)


def _nested(data: Any) -> tuple[list[int], list[Any]]:
    """Sizes and elements of a nested list."""
    if not isinstance(data, (list, tuple)):
        return [], [data]
    parts = [_nested(x) for x in data]
    if len({tuple(shape) for shape, _ in parts}) > 1:
        raise LoweringError("a tensor can't be made from lists of different lengths; pad them")
    return [len(data), *(parts[0][0] if parts else [])], [x for _, leaves in parts for x in leaves]


@lowering("aten::as_tensor")
def as_tensor(g: Builder, data: Any, dtype: int | None = None, device: Any = None) -> Tensor:
    """as_tensor(Tensor(a) data, *, ScalarType? dtype=None, Device? device=None) -> Tensor(b|a)"""
    if isinstance(data, Tensor):
        return converted(g, data, None if dtype is None else from_scalar_type(dtype))
    return tensor(g, data, dtype)


# -- sequences ------------------------------------------------------------------------------------


@lowering("aten::arange")
def arange(g: Builder, end: Any, dtype: int | None = None, *_: Any) -> Tensor:
    """arange(Scalar end, *, ScalarType? dtype=None, Layout? layout=None, ...) -> Tensor"""
    return sequence(g, 0, end, 1, dtype)


@lowering("aten::arange.start")
def arange_start(g: Builder, start: Any, end: Any, dtype: int | None = None, *_: Any) -> Tensor:
    """arange.start(Scalar start, Scalar end, *, ScalarType? dtype=None, ...) -> Tensor"""
    return sequence(g, start, end, 1, dtype)


@lowering("aten::arange.start_step")
def arange_step(g: Builder, start: Any, end: Any, step: Any = 1, dtype: int | None = None, *_: Any) -> Tensor:
    """arange.start_step(Scalar start, Scalar end, Scalar step=1, *, ScalarType? dtype=None, ...) -> Tensor"""
    return sequence(g, start, end, step, dtype)


@lowering("aten::_dim_arange")
def dim_arange(g: Builder, like: Tensor, dim: int) -> Tensor:
    """_dim_arange(Tensor like, int dim) -> Tensor"""
    return sequence(g, 0, like.shape[dim], 1, None)


@lowering("aten::arange.out")
def arange_out(g: Builder, end: Any, *_: Any) -> Tensor:
    """arange.out(Scalar end, *, Tensor(a!) out) -> Tensor(a!)"""
    return sequence(g, 0, end, 1, None)


@lowering("aten::arange.start_out")
def arange_start_out(g: Builder, start: Any, end: Any, step: Any = 1, *_: Any) -> Tensor:
    """arange.start_out(Scalar start, Scalar end, Scalar step=1, *, Tensor(a!) out) -> Tensor(a!)"""
    return sequence(g, start, end, step, None)


def _is_int(value: Any) -> bool:
    return isinstance(value, (int, Dim)) or (isinstance(value, Tensor) and not value.is_float)


def sequence(g: Builder, start: Any, end: Any, step: Any, number: int | None) -> Tensor:
    """`arange`: sizes are counted in Python where they can be; floats are computed in float64, as PyTorch does."""
    bounds = (start, end, step)
    whole = all(_is_int(b) for b in bounds)
    dtype = dtype_or(number, torch.int64 if whole else torch.get_default_dtype())
    if dtype == torch.int64 and not whole and _cut_first():
        return sequence(g, _cut(g, start), _cut(g, end), _cut(g, step), number)
    if all(isinstance(b, (int, float)) for b in bounds):
        count = max(math.ceil((end - start) / step), 0)
        if count <= CONSTANT_LIMIT:
            return constant(g, torch.arange(start, end, step, dtype=dtype))
        if not whole:
            positions = g.cast(g.range(0, count), torch.float64)
            return g.cast(g.add(g.mul(positions, step), start), dtype)
    if not whole and is_integer(dtype):
        count = _count(g, *[_zero_d(g, b, torch.float64) for b in bounds])
        start, step = _cut(g, start), _cut(g, step)
        return g.cast(g.add(g.mul(g.range(0, count), g.size(step)), g.size(start)), dtype)
    if whole and isinstance(step, int):
        start, end = [g.int_of(b, "bound") if isinstance(b, Tensor) else b for b in (start, end)]
        return g.range(start, end, step, dtype)
    kind = torch.int64 if whole else torch.float64
    first, last, gap = (_zero_d(g, b, kind) for b in bounds)
    if g.opset >= 11:
        return g.cast(g.op("Range", first, last, gap), dtype)
    count = _count(g, first, last, gap)
    return g.cast(g.add(g.mul(g.cast(g.range(0, count), kind), gap), first), dtype)


@functools.cache
def _cut_first() -> bool:
    """Whether int64 bounds and step are cut before the steps are counted, as PyTorch did before 2.14."""
    return len(torch.arange(0, 3, 1.5, dtype=torch.int64)) == 3


def _count(g: Builder, first: Tensor, last: Tensor, gap: Tensor) -> Size:
    """The number of steps before the last, which isn't reached."""
    room = g.div(*[g.cast(x, torch.float64) for x in (g.sub(last, first), gap)])
    return g.int_of(g.cast(g.extremum("Max", g.ceil(room), 0), torch.int64), "count", minimum=0)


def _cut(g: Builder, value: Any) -> Size:
    """A number without its fraction."""
    if isinstance(value, (int, Dim)):
        return value
    return int(value) if isinstance(value, float) else g.int_of(g.cast(_zero_d(g, value, torch.float64), torch.int64))


def _zero_d(g: Builder, value: Any, dtype: torch.dtype) -> Tensor:
    result = g.scalar(value, dtype)
    return result if result.rank == 0 else g.reshape(result, [])


@lowering("aten::linspace")
def linspace(g: Builder, start: Any, end: Any, steps: Size, dtype: int | None = None, *_: Any) -> Tensor:
    """linspace(Scalar start, Scalar end, int steps, *, ScalarType? dtype=None, ...) -> Tensor"""
    target = dtype_or(dtype)
    if all(isinstance(v, (int, float)) for v in (start, end, steps)):
        return constant(g, torch.linspace(start, end, int(steps), dtype=target))  # type: ignore[call-overload]
    return g.cast(evenly(g, *_whole_for(g, target, start, end), steps), target)


def _whole_for(g: Builder, target: torch.dtype, start: Any, end: Any) -> tuple[Any, Any]:
    """The ends of a sequence of integers lose their fractions before the steps are taken."""
    if target.is_floating_point or target.is_complex:
        return start, end
    return _cut(g, start), _cut(g, end)


def evenly(g: Builder, start: Any, end: Any, steps: Size) -> Tensor:
    """Float64 numbers from start to end; the second half is counted back from the end, as PyTorch does."""
    kind = torch.float64
    first, last = _zero_d(g, start, kind), _zero_d(g, end, kind)
    if isinstance(steps, int) and steps <= 1:
        return g.expand(first, [steps])
    index = g.range(0, steps)
    gaps = sizes.maximum(steps - 1, 1)
    step = g.div(g.sub(last, first), g.scalar(gaps, kind))
    up = g.add(first, g.mul(step, g.cast(index, kind)))
    back = g.sub(g.scalar(steps - 1, torch.int64), index)
    down = g.sub(last, g.mul(step, g.cast(back, kind)))
    result = g.where(g.less(index, g.scalar(steps // 2, torch.int64)), up, down)
    return result if sizes.known_ge(steps, 2) else g.where(g.equal(g.size(steps), 1), first, result)


@lowering("aten::linspace.Tensor_Tensor", "aten::linspace.Tensor_Scalar", "aten::linspace.Scalar_Tensor")
def linspace_tensor(g: Builder, start: Any, end: Any, steps: Size, dtype: int | None = None, *_: Any) -> Tensor:
    """linspace.Tensor_Tensor(Tensor start, Tensor end, int steps, *, ScalarType? dtype=None, ...) -> Tensor"""
    target = dtype_or(dtype)
    return g.cast(evenly(g, *_whole_for(g, target, start, end), steps), target)


@lowering("aten::logspace")
def logspace(
    g: Builder, start: Any, end: Any, steps: Size, base: float = 10.0, dtype: int | None = None, *_: Any
) -> Tensor:
    """logspace(Scalar start, Scalar end, int steps, float base=10.0, *, ScalarType? dtype=None, ...) -> Tensor"""
    target = dtype_or(dtype)
    if all(isinstance(v, (int, float)) for v in (start, end, steps, base)):
        return constant(g, torch.logspace(start, end, int(steps), base, dtype=target))  # type: ignore[call-overload]
    powers = g.pow(g.scalar(base, torch.float64), evenly(g, *_whole_for(g, target, start, end), steps))
    return g.cast(powers, target)


@lowering("aten::eye.m")
def eye_m(g: Builder, n: Size, m: Size, dtype: int | None = None, *_: Any) -> Tensor:
    """eye.m(SymInt n, SymInt m, *, ScalarType? dtype=None, Layout? layout=None, ...) -> Tensor"""
    target = dtype_or(dtype)
    if isinstance(n, int) and isinstance(m, int) and n * m <= CONSTANT_LIMIT:
        return constant(g, torch.eye(n, m, dtype=target))
    return g.cast(g.equal(g.unsqueeze(g.range(0, n), [1]), g.range(0, m)), target)


@lowering("aten::eye")
def eye(g: Builder, n: Size, dtype: int | None = None, *_: Any) -> Tensor:
    """eye(SymInt n, *, ScalarType? dtype=None, Layout? layout=None, ...) -> Tensor"""
    return eye_m(g, n, n, dtype)


__all__ = ["CONSTANT_LIMIT", "constant", "dtype_or", "sequence"]


@lowering("aten::range.step", "aten::range")
def range_(g: Builder, start: Any, end: Any, step: Any = 1, dtype: int | None = None, *_: Any) -> Tensor:
    """range.step(Scalar start, Scalar end, Scalar step=1, *, ScalarType? dtype=None, ...) -> Tensor; with the end"""
    kind = dtype_or(dtype)
    whole = [v for v in (start, end, step) if isinstance(v, (int, Dim))]
    if len(whole) == 3 and isinstance(step, int):
        return g.range(start, end + (1 if step > 0 else -1), step, kind)
    if any(isinstance(v, (Dim, Scalar, Tensor)) for v in (start, end, step)):
        raise LoweringError("torch.range of numbers known only at run time; use torch.arange")
    return constant(g, torch.range(start, end, step, dtype=kind))
