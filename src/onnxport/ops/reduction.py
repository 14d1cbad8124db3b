"""Reductions: sums, extrema, variance, norms.

onnxruntime sums integers in float64, exact up to 2**53, and lets some NaNs get lost in ReduceMax and ReduceMin;
by the ONNX specification both are exact, so nothing is spelled out around it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

from .. import dims as sizes
from ..dims import Size
from ..dtypes import from_scalar_type, real_of
from ..lower.builder import Builder
from ..lower.complex import squares
from ..lower.registry import lowering, out_lowering
from ..lower.values import Tensor
from .axes import wrap, wrap_all

Dims = Sequence[int] | int | None


def reduced_axes(x: Tensor, dim: Dims) -> list[int] | None:
    """The axes that are reduced; None for all."""
    if dim is None or (not isinstance(dim, int) and not dim):
        return None
    return wrap_all([dim] if isinstance(dim, int) else dim, x.rank)


def reduced_count(x: Tensor, axes: list[int] | None) -> Size:
    """How many elements become one."""
    return x.numel if axes is None else sizes.product([x.shape[a] for a in axes] if x.rank else [])


def _reduced_shape(x: Tensor, axes: list[int] | None, keepdim: bool) -> list[Size]:
    gone = set(range(x.rank) if axes is None else axes)
    return [1 if i in gone else d for i, d in enumerate(x.shape) if keepdim or i not in gone]


def _total(x: Tensor, dtype: int | None) -> torch.dtype:
    """The dtype of a sum or product: of integers, int64."""
    if dtype is not None:
        return from_scalar_type(dtype)
    return x.dtype if x.is_inexact else torch.int64


# -- sums and products ----------------------------------------------------------------------------


@lowering("aten::sum.dim_IntList")
@out_lowering("aten::sum.IntList_out")
def sum_dim(g: Builder, self: Tensor, dim: Dims, keepdim: bool = False, dtype: int | None = None) -> Tensor:
    """sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor"""
    return g.reduce("ReduceSum", g.cast(self, _total(self, dtype)), reduced_axes(self, dim), keepdim)


@lowering("aten::sum")
def sum_(g: Builder, self: Tensor, dtype: int | None = None) -> Tensor:
    """sum(Tensor self, *, ScalarType? dtype=None) -> Tensor"""
    return sum_dim(g, self, None, False, dtype)


@lowering("aten::nansum")
def nansum(g: Builder, self: Tensor, dim: Dims = None, keepdim: bool = False, dtype: int | None = None) -> Tensor:
    """nansum(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor"""
    x = g.where(g.isnan(self), 0, self) if self.is_float else self
    return sum_dim(g, x, dim, keepdim, dtype)


@lowering("aten::mean.dim")
@out_lowering("aten::mean.out")
def mean_dim(g: Builder, self: Tensor, dim: Dims, keepdim: bool = False, dtype: int | None = None) -> Tensor:
    """mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor"""
    x = self if dtype is None else g.cast(self, from_scalar_type(dtype))
    axes = reduced_axes(self, dim)
    if sizes.known_eq(reduced_count(self, axes), 0):
        return g.full(_reduced_shape(self, axes, keepdim), math.nan, x.dtype)
    return g.reduce("ReduceMean", x, axes, keepdim)


@lowering("aten::mean")
def mean(g: Builder, self: Tensor, dtype: int | None = None) -> Tensor:
    """mean(Tensor self, *, ScalarType? dtype=None) -> Tensor"""
    return mean_dim(g, self, None, False, dtype)


@lowering("aten::nanmean")
def nanmean(g: Builder, self: Tensor, dim: Dims = None, keepdim: bool = False, dtype: int | None = None) -> Tensor:
    """nanmean(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor"""
    total = nansum(g, self, dim, keepdim, dtype)
    count = g.reduce("ReduceSum", g.cast(g.not_(g.isnan(self)), total.dtype), reduced_axes(self, dim), keepdim)
    return g.div(total, count)


@lowering("aten::prod.dim_int")
@out_lowering("aten::prod.int_out")
def prod_dim(g: Builder, self: Tensor, dim: int, keepdim: bool = False, dtype: int | None = None) -> Tensor:
    """prod.dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor"""
    return g.reduce("ReduceProd", g.cast(self, _total(self, dtype)), reduced_axes(self, dim), keepdim)


@lowering("aten::prod")
def prod(g: Builder, self: Tensor, dtype: int | None = None) -> Tensor:
    """prod(Tensor self, *, ScalarType? dtype=None) -> Tensor"""
    return g.reduce("ReduceProd", g.cast(self, _total(self, dtype)))


@lowering("aten::logsumexp", "aten::special_logsumexp")
def logsumexp(g: Builder, self: Tensor, dim: Dims, keepdim: bool = False) -> Tensor:
    """logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor"""
    x = self if self.is_float else g.cast(self, torch.get_default_dtype())
    return g.logsumexp(x, reduced_axes(x, dim), keepdim)


@lowering("aten::count_nonzero")
def count_nonzero(g: Builder, self: Tensor, dim: Dims = None) -> Tensor:
    """count_nonzero.dim_IntList(Tensor self, int[] dim) -> Tensor"""
    return g.reduce("ReduceSum", g.cast(g.cast(self, torch.bool), torch.int64), reduced_axes(self, dim))


# -- truth ----------------------------------------------------------------------------------------


def _truth(g: Builder, reduce: Callable[..., Tensor], x: Tensor, dim: Dims, keepdim: bool) -> Tensor:
    """Of no axes, other than in sums, each element is asked by itself."""
    result = g.cast(x, torch.bool)
    if dim is None or isinstance(dim, int) or dim:
        result = reduce(result, reduced_axes(x, dim), keepdim)
    return g.cast(result, torch.uint8) if x.dtype == torch.uint8 else result


@lowering("aten::all")
def all_(g: Builder, self: Tensor, dim: Dims = None, keepdim: bool = False) -> Tensor:
    """all.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor"""
    return _truth(g, g.all, self, dim, keepdim)


@lowering("aten::any")
def any_(g: Builder, self: Tensor, dim: Dims = None, keepdim: bool = False) -> Tensor:
    """any.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor"""
    return _truth(g, g.any, self, dim, keepdim)


@lowering("aten::_is_all_true")
def is_all_true(g: Builder, self: Tensor) -> Tensor:
    """_is_all_true(Tensor self) -> Tensor"""
    return g.all(self, list(range(self.rank)))


@lowering("aten::_is_any_true")
def is_any_true(g: Builder, self: Tensor) -> Tensor:
    """_is_any_true(Tensor self) -> Tensor"""
    return g.any(self, list(range(self.rank)))


# -- extrema --------------------------------------------------------------------------------------


def extreme(g: Builder, largest: bool, x: Tensor, dim: Dims, keepdim: bool) -> Tensor:
    """The largest or smallest elements along axes."""
    axes = reduced_axes(x, dim)
    if x.dtype == torch.bool:
        return (g.any if largest else g.all)(x, axes, keepdim)
    return g.reduce("ReduceMax" if largest else "ReduceMin", x, axes, keepdim)


def index_of_extreme(g: Builder, largest: bool, x: Tensor, dim: int | None, keepdim: bool) -> Tensor:
    """The index of the first of the largest or smallest elements along an axis, or in the flattened tensor."""
    if x.rank == 0:
        return g.const(0, torch.int64)
    x = g.cast(x, torch.uint8) if x.dtype == torch.bool else x
    op_type = "ArgMax" if largest else "ArgMin"
    if dim is not None:
        return g.op(op_type, x, axis=wrap(dim, x.rank), keepdims=int(keepdim))
    index = g.op(op_type, g.reshape(x, [x.numel]), axis=0, keepdims=0)
    return g.reshape(index, [1] * x.rank) if keepdim else index


@lowering("aten::amax")
def amax(g: Builder, self: Tensor, dim: Dims = None, keepdim: bool = False) -> Tensor:
    """amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor"""
    return extreme(g, True, self, dim, keepdim)


@lowering("aten::amin")
def amin(g: Builder, self: Tensor, dim: Dims = None, keepdim: bool = False) -> Tensor:
    """amin(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor"""
    return extreme(g, False, self, dim, keepdim)


@lowering("aten::aminmax", "aten::_aminmax")
def aminmax(g: Builder, self: Tensor, dim: int | None = None, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)"""
    return extreme(g, False, self, dim, keepdim), extreme(g, True, self, dim, keepdim)


@lowering("aten::max")
def max_(g: Builder, self: Tensor) -> Tensor:
    """max(Tensor self) -> Tensor"""
    return extreme(g, True, self, None, False)


@lowering("aten::min")
def min_(g: Builder, self: Tensor) -> Tensor:
    """min(Tensor self) -> Tensor"""
    return extreme(g, False, self, None, False)


@lowering("aten::max.dim")
@out_lowering("aten::max.dim_max", outs=2)
def max_dim(g: Builder, self: Tensor, dim: int, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)"""
    return extreme(g, True, self, dim, keepdim), index_of_extreme(g, True, self, dim, keepdim)


@lowering("aten::min.dim")
@out_lowering("aten::min.dim_min", outs=2)
def min_dim(g: Builder, self: Tensor, dim: int, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """min.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)"""
    return extreme(g, False, self, dim, keepdim), index_of_extreme(g, False, self, dim, keepdim)


@lowering("aten::argmax")
def argmax(g: Builder, self: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor"""
    return index_of_extreme(g, True, self, dim, keepdim)


@lowering("aten::argmin")
def argmin(g: Builder, self: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """argmin(Tensor self, int? dim=None, bool keepdim=False) -> Tensor"""
    return index_of_extreme(g, False, self, dim, keepdim)


# -- variance -------------------------------------------------------------------------------------


def variance(g: Builder, x: Tensor, dim: Dims, correction: Any, keepdim: bool) -> tuple[Tensor, Tensor]:
    """Variance and mean."""
    axes = reduced_axes(x, dim)
    mean = mean_dim(g, x, dim, True)
    centred = g.sub(x, mean)
    deviations = squares(g, centred)
    count = reduced_count(x, axes)
    if correction == 0 and sizes.known_ge(count, 1):
        var = g.reduce("ReduceMean", deviations, axes, keepdim)
    else:
        total = g.reduce("ReduceSum", deviations, axes, keepdim)
        whole = isinstance(correction, int) or correction == int(correction)
        if whole:
            divisor: Any = sizes.maximum(count - int(correction), 0)
        elif isinstance(count, int):
            divisor = max(count - correction, 0.0)
        else:
            divisor = g.extremum("Max", g.sub(g.scalar(count, total.dtype), correction), 0)
        var = g.div(total, g.scalar(divisor, total.dtype))
    return var, mean if keepdim else g.reshape(mean, _reduced_shape(x, axes, False))


_VARIANCES: dict[str, Callable[[Builder, Tensor, Tensor], Any]] = {
    "var": lambda g, var, mean: var,
    "std": lambda g, var, mean: g.sqrt(var),
    "var_mean": lambda g, var, mean: (var, mean),
    "std_mean": lambda g, var, mean: (g.sqrt(var), mean),
}


def _register_variance(name: str, finish: Callable[[Builder, Tensor, Tensor], Any]) -> None:
    @lowering(f"aten::{name}")
    def of_all(g: Builder, self: Tensor, unbiased: bool = True) -> Any:
        """var(Tensor self, bool unbiased=True) -> Tensor"""
        return finish(g, *variance(g, self, None, int(unbiased), False))

    @lowering(f"aten::{name}.dim")
    @out_lowering(f"aten::{name}.out")
    def of_dim(g: Builder, self: Tensor, dim: Dims, unbiased: bool = True, keepdim: bool = False) -> Any:
        """var.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor"""
        return finish(g, *variance(g, self, dim, int(unbiased), keepdim))

    @lowering(f"aten::{name}.correction")
    @out_lowering(f"aten::{name}.correction_out")
    def corrected(g: Builder, self: Tensor, dim: Dims = None, correction: Any = None, keepdim: bool = False) -> Any:
        """var.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor"""
        return finish(g, *variance(g, self, dim, 1 if correction is None else correction, keepdim))


for _name, _finish in _VARIANCES.items():
    _register_variance(_name, _finish)


# -- norms ----------------------------------------------------------------------------------------


def vector_norm(g: Builder, x: Tensor, p: Any, dim: Dims = None, keepdim: bool = False) -> Tensor:
    """The p-norm of float tensors along axes."""
    axes = reduced_axes(x, dim)
    p = 2 if p is None else p
    if p == 0:
        return g.reduce("ReduceSum", g.cast(g.cast(x, torch.bool), real_of(x.dtype)), axes, keepdim)
    if p in (1, 2):
        return g.reduce(f"ReduceL{int(p)}", x, axes, keepdim) if x.rank else g.abs(x)
    size = g.abs(x)
    if math.isinf(p):
        return g.reduce("ReduceMax" if p > 0 else "ReduceMin", size, axes, keepdim)
    return g.pow(g.reduce("ReduceSum", g.pow(size, p), axes, keepdim), 1 / p)


@lowering("aten::linalg_vector_norm")
def linalg_vector_norm(
    g: Builder, self: Tensor, ord: Any = 2, dim: Dims = None, keepdim: bool = False, dtype: int | None = None
) -> Tensor:
    """linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None)
    -> Tensor"""
    return vector_norm(g, self if dtype is None else g.cast(self, from_scalar_type(dtype)), ord, dim, keepdim)


@lowering("aten::norm.Scalar")
@out_lowering("aten::norm.Scalar_out")
def norm(g: Builder, self: Tensor, p: Any = 2) -> Tensor:
    """norm.Scalar(Tensor self, Scalar p=2) -> Tensor"""
    return vector_norm(g, self, p)


@lowering("aten::norm.ScalarOpt_dim", "aten::norm.ScalarOpt_dim_dtype")
@out_lowering("aten::norm.out", "aten::norm.dtype_out")
def norm_dim(g: Builder, self: Tensor, p: Any, dim: Dims, keepdim: bool = False, dtype: int | None = None) -> Tensor:
    """norm.ScalarOpt_dim_dtype(Tensor self, Scalar? p, int[1] dim, bool keepdim, *, ScalarType dtype) -> Tensor"""
    return linalg_vector_norm(g, self, p, dim, keepdim, dtype)


@lowering("aten::norm.ScalarOpt_dtype")
@out_lowering("aten::norm.ScalarOpt_dtype_out")
def norm_dtype(g: Builder, self: Tensor, p: Any, dtype: int) -> Tensor:
    """norm.ScalarOpt_dtype(Tensor self, Scalar? p, *, ScalarType dtype) -> Tensor"""
    return linalg_vector_norm(g, self, p, None, False, dtype)


@lowering("aten::frobenius_norm.dim")
@out_lowering("aten::frobenius_norm.out")
def frobenius_norm(g: Builder, self: Tensor, dim: Dims, keepdim: bool = False) -> Tensor:
    """frobenius_norm.dim(Tensor self, int[1] dim, bool keepdim=False) -> Tensor"""
    return vector_norm(g, self, 2, dim, keepdim)


@lowering("aten::linalg_matrix_norm")
def linalg_matrix_norm(
    g: Builder, self: Tensor, ord: Any, dim: Sequence[int] = (-2, -1), keepdim: bool = False, dtype: int | None = None
) -> Tensor:
    """linalg_matrix_norm(Tensor self, Scalar ord, int[] dim=[-2, -1], bool keepdim=False, *, ScalarType? dtype=None)
    -> Tensor"""
    x = self if dtype is None else g.cast(self, from_scalar_type(dtype))
    rows, columns = wrap_all(dim, x.rank)
    if 0 in (x.shape[rows], x.shape[columns]):  # PyTorch refuses those of which it isn't 0
        return vector_norm(g, x, 2, [rows, columns], keepdim)
    if ord in ("fro", None):
        return vector_norm(g, x, 2, [rows, columns], keepdim)
    if ord in ("nuc", 2, -2):
        last = g.transpose(x, [*[i for i in range(x.rank) if i not in (rows, columns)], rows, columns])
        from .spectral import spectral_norm  # seldom needed, and large

        result = spectral_norm(g, last, ord)
        return g.unsqueeze(result, sorted((rows, columns))) if keepdim else result
    summed, chosen = (rows, columns) if abs(ord) == 1 else (columns, rows)
    sums = g.reduce("ReduceSum", g.abs(x), [summed], True)
    best = g.reduce("ReduceMax" if ord > 0 else "ReduceMin", sums, [chosen], True)
    return best if keepdim else g.squeeze(best, [rows, columns])


@lowering("aten::linalg_norm")
def linalg_norm(
    g: Builder, self: Tensor, ord: Any = None, dim: Dims = None, keepdim: bool = False, dtype: int | None = None
) -> Tensor:
    """linalg_norm(Tensor self, Scalar? ord=None, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None)
    -> Tensor"""
    axes = reduced_axes(self, dim)
    if ord is not None and (len(axes) if axes is not None else self.rank) == 2:
        return linalg_matrix_norm(g, self, ord, axes or [0, 1], keepdim, dtype)
    return linalg_vector_norm(g, self, ord, dim, keepdim, dtype)


@lowering("aten::nuclear_norm")
def nuclear_norm(g: Builder, self: Tensor, keepdim: bool = False) -> Tensor:
    """nuclear_norm(Tensor self, bool keepdim=False) -> Tensor"""
    return linalg_matrix_norm(g, self, "nuc", (-2, -1), keepdim)


@lowering("aten::nuclear_norm.dim")
def nuclear_norm_dim(g: Builder, self: Tensor, dim: Sequence[int], keepdim: bool = False) -> Tensor:
    """nuclear_norm.dim(Tensor self, int[2] dim, bool keepdim=False) -> Tensor"""
    return linalg_matrix_norm(g, self, "nuc", dim, keepdim)


@lowering("aten::linalg__powsum")
def linalg_powsum(
    g: Builder, self: Tensor, ord: Any = 2, dim: Dims = None, keepdim: bool = False, dtype: int | None = None
) -> Tensor:
    """linalg__powsum(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None)
    -> Tensor"""
    x = self if dtype is None else g.cast(self, from_scalar_type(dtype))
    return g.reduce("ReduceSum", g.pow(g.abs(x), ord), reduced_axes(x, dim), keepdim)
