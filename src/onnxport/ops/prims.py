"""`torch.ops.prims`: what torch's own decompositions are written in, called by name or left in exported programs."""

from __future__ import annotations

from typing import Any

from .. import dims as sizes
from ..dims import Size
from ..lower.builder import Builder
from ..lower.registry import lowering
from ..lower.values import Tensor
from .reduction import sum_dim, variance
from .shape import squeeze_dims, unflatten


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
