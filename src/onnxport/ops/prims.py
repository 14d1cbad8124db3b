"""`torch.ops.prims`: what torch's own decompositions are written in, called by name or left in exported programs."""

from __future__ import annotations

from typing import Any

import torch

from .. import dims as sizes
from ..dims import Size
from ..dtypes import from_scalar_type
from ..lower.builder import Builder
from ..lower.registry import find, lowering
from ..lower.values import Tensor
from .arrange import flip
from .reduction import amax, amin, sum_dim, variance
from .shape import squeeze_dims, unflatten

# Of the same name and arguments as in aten, for tensors that already have one type.
_OF_ATEN = """
abs acos acosh asin asinh atan atanh bitwise_not cat ceil clone cos cosh digamma erf erfc exp exp2 expm1 fill floor
isfinite lgamma log log10 log1p log2 neg reciprocal reshape round rsqrt sign signbit sin sinh sqrt tan tanh trunc
add atan2 bitwise_and bitwise_or bitwise_xor eq fmax fmin fmod gcd ge gt hypot le lt maximum minimum mul ne nextafter
pow remainder sub
"""


def _register_as_in_aten(name: str) -> None:
    @lowering(f"prims::{name}")
    def lower(g: Builder, *args: Any) -> Any:
        function = find(f"aten::{name}")
        assert function is not None
        return function(g, *args)


for _name in _OF_ATEN.split():
    _register_as_in_aten(_name)


@lowering("prims::where")
def where(g: Builder, pred: Tensor, a: Tensor, b: Tensor) -> Tensor:
    """where(Tensor pred, Tensor a, Tensor b) -> Tensor"""
    return g.where(pred, a, b)


@lowering("prims::div")
def div(g: Builder, self: Tensor, other: Tensor) -> Tensor:
    """div(Tensor self, Tensor other) -> Tensor

    Of integers, towards zero.
    """
    return g.div(self, other)


@lowering("prims::iota")
def iota(g: Builder, length: Size, start: Size, step: Size, dtype: int, *_: Any) -> Tensor:
    """iota(SymInt length, *, SymInt start, SymInt step, ScalarType dtype, Device device, bool requires_grad) -> Tensor"""
    steps = g.mul(g.range(0, length), g.const(step, torch.int64))
    return g.cast(g.add(steps, g.const(start, torch.int64)), from_scalar_type(dtype))


@lowering("prims::rev")
def rev(g: Builder, a: Tensor, dims: list[int]) -> Tensor:
    """rev(Tensor a, int[] dims) -> Tensor"""
    return flip(g, a, dims)


@lowering("prims::broadcast_in_dim")
def broadcast_in_dim(g: Builder, a: Tensor, shape: list[Size], broadcast_dimensions: list[int]) -> Tensor:
    """broadcast_in_dim(Tensor(a) a, SymInt[] shape, int[] broadcast_dimensions) -> Tensor(a)

    The axes of `a` become those named, the others are new ones.
    """
    placed: list[Size] = [1] * len(shape)
    for size, axis in zip(a.shape, broadcast_dimensions, strict=True):
        placed[axis] = size
    return g.expand(g.reshape(a, placed), shape)


@lowering("prims::collapse", "prims::collapse_view")
def collapse(g: Builder, a: Tensor, start: int, end: int) -> Tensor:
    """collapse(Tensor a, int start, int end) -> Tensor

    Both ends are among the axes that become one.
    """
    if a.rank == 0:
        return g.reshape(a, [1])
    return g.reshape(a, [*a.shape[:start], sizes.product(a.shape[start : end + 1]), *a.shape[end + 1 :]])


@lowering("prims::split_dim")
def split_dim(g: Builder, a: Tensor, dim: int, outer_length: Size) -> Tensor:
    """split_dim(Tensor(a) a, int dim, SymInt outer_length) -> Tensor(a)"""
    return unflatten(g, a, dim, [outer_length, -1])


@lowering("prims::squeeze")
def squeeze(g: Builder, a: Tensor, dimensions: list[int]) -> Tensor:
    """squeeze(Tensor(a) a, int[] dimensions) -> Tensor(a)"""
    return squeeze_dims(g, a, dimensions)


@lowering("prims::transpose")
def transpose(g: Builder, a: Tensor, permutation: list[int]) -> Tensor:
    """transpose(Tensor(a) a, int[] permutation) -> Tensor(a)"""
    return g.transpose(a, permutation)


@lowering("prims::view_of")
def view_of(g: Builder, a: Tensor) -> Tensor:
    """view_of(Tensor(a) a) -> Tensor(a)"""
    return a


@lowering("prims::sum")
def sum_(g: Builder, inp: Tensor, dims: list[int] | None, output_dtype: int | None = None) -> Tensor:
    """sum(Tensor inp, int[]? dims, *, ScalarType? output_dtype=None) -> Tensor"""
    return sum_dim(g, inp, dims, False, output_dtype)


@lowering("prims::var")
def var(
    g: Builder, inp: Tensor, dims: list[int] | None, correction: Any = 1, output_dtype: int | None = None
) -> Tensor:
    """var(Tensor inp, int[]? dims, float? correction=1, *, ScalarType? output_dtype=None) -> Tensor"""
    return variance(g, inp, dims, correction, False)[0]


@lowering("prims::amax")
def largest(g: Builder, inp: Tensor, dims: list[int] | None, output_dtype: int | None = None) -> Tensor:
    """amax(Tensor inp, int[]? dims, *, ScalarType? output_dtype=None) -> Tensor"""
    return amax(g, inp, dims)


@lowering("prims::amin")
def smallest(g: Builder, inp: Tensor, dims: list[int] | None, output_dtype: int | None = None) -> Tensor:
    """amin(Tensor inp, int[]? dims, *, ScalarType? output_dtype=None) -> Tensor"""
    return amin(g, inp, dims)
