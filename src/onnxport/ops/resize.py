"""Interpolation: the `upsample_*` family.

ONNX's Resize is used where it gives PyTorch's numbers. Elsewhere (older opsets, antialiasing, nearest neighbours that
rounding could move by one) each axis is resampled on its own: by picking entries, or as a product with the matrix
of its weights, which is a constant where the sizes are.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import torch

from ..dims import Size, exact_div, known_eq
from ..lower.builder import Builder
from ..lower.registry import lowering
from ..lower.values import Array, Scalar, Tensor

_MODES = {"nearest": "nearest", "nearest_exact": "nearest", "linear": "linear", "cubic": "cubic"}
# Sizes up to which nearest neighbours were compared where the size is known only at run time.
_COMPARED = 1 << 16


@dataclasses.dataclass(frozen=True, slots=True)
class _Axis:
    """One axis to be resampled, and the factor that the caller gave (None: it is the ratio of the sizes)."""

    axis: int
    size: Size
    target: Size
    scale: float | Scalar | None
    whole: int = 0  # where the target is the size, or so many times it at most, the factor is that

    @property
    def may_be_whole(self) -> list[int]:
        """Ratios of the sizes that stand for the factor, where it isn't known yet whether they do."""
        ratios = range(1, self.whole + 1)
        return [] if self.scale is None or self.scale in ratios else [k for k in ratios if self.may_be(k)]

    def may_be(self, ratio: int) -> bool:
        """Whether the target may be so many times the size, of which there is more than a single entry."""
        if known_eq(self.target, self.size * ratio) is not None:
            return known_eq(self.target, self.size * ratio) is True
        return not isinstance(self.scale, float) or ratio < self.scale < ratio + 0.5

    @property
    def is_same(self) -> bool:
        if isinstance(self.scale, Scalar):
            return False
        return known_eq(self.size, self.target) is True and self.scale in (None, 1.0)

    @property
    def factor(self) -> float | None:
        """The number to give to Resize in place of a size, if it makes that size of it."""
        if isinstance(self.scale, Scalar):
            return None
        if self.scale is None:
            ratio = exact_div(self.target, self.size) if not isinstance(self.target, int) else None
            return float(ratio) if isinstance(ratio, int) else None
        if isinstance(self.size, int):
            made = int(np.float32(self.size) * np.float32(self.scale))
            return self.scale if known_eq(made, self.target) else None
        return self.scale if Fraction(self.scale).denominator <= 64 else None

    @property
    def has_own_scale(self) -> bool:
        """Whether the factor isn't the ratio of the sizes."""
        if self.scale is None or self.is_same:
            return False
        if isinstance(self.scale, Scalar):
            return True
        if isinstance(self.size, int) and isinstance(self.target, int) and self.size:
            return bool(np.float32(self.scale) != np.float32(self.target) / np.float32(self.size))
        return True


# -- sizes ----------------------------------------------------------------------------------------


def _axes(
    g: Builder, x: Tensor, sizes: Sequence[Size] | None, scales: Sequence[float | Scalar | None], whole: int
) -> list[_Axis]:
    axes = []
    for i, scale in enumerate(scales):
        size = x.shape[2 + i]
        target = sizes[i] if sizes is not None else _scaled(g, size, 1.0 if scale is None else scale)
        if scale is not None:
            scale = next((float(k) for k in range(1, whole + 1) if known_eq(target, size * k) is True), scale)
        axes.append(_Axis(2 + i, size, target, scale, whole))
    return axes


def _scaled(g: Builder, size: Size, scale: float | Scalar) -> Size:
    """floor(size * scale), in double precision as PyTorch."""
    if isinstance(scale, Scalar):
        product = g.mul(g.cast(g.size(size), torch.float64), g.cast(scale.tensor, torch.float64))
        return g.int_of(g.cast(g.floor(product), torch.int64), "resized")
    if isinstance(size, int):
        return int(np.floor(size * scale))
    fraction = Fraction(scale)
    if fraction.denominator <= 1 << 20:
        return size * fraction.numerator // fraction.denominator
    product = g.mul(g.cast(g.size(size), torch.float64), scale)
    return g.int_of(g.cast(g.floor(product), torch.int64), "resized")


# -- the whole op ---------------------------------------------------------------------------------


def _resample(g: Builder, x: Tensor, axes: list[_Axis], method: str, align: bool, antialias: bool = False) -> Tensor:
    axes = [axis for axis in axes if not axis.is_same]
    if not axes:
        return x
    smooth = not method.startswith("nearest")
    dtype = x.dtype
    if smooth and dtype == torch.uint8 and x.rank == 4 and len(axes) == 2:  # PyTorch rounds after each axis
        for axis in reversed(axes):
            x = _resample(g, x, [axis], method, align, antialias)
        return x
    if smooth and not x.is_float:
        x = g.cast(x, torch.float32)  # PyTorch has fixed-point kernels here, which may differ by one
    if _resize_agrees(g, x, axes, method, align, antialias):
        result = _resize(g, x, axes, method, align)
    elif smooth:
        result = x
        for axis in axes:
            result = _along(g, result, _matrix(g, axis, method, align, antialias, x.dtype), axis)
    else:
        result = x
        for axis in axes:
            result = g.gather(result, _nearest(g, axis, method), axis.axis)
    if dtype != result.dtype:
        limits = torch.iinfo(dtype)
        result = g.cast(g.clip(g.floor(g.add(result, 0.5)), float(limits.min), float(limits.max)), dtype)
    return result


def _resize_agrees(g: Builder, x: Tensor, axes: list[_Axis], method: str, align: bool, antialias: bool) -> bool:
    """Whether Resize at this opset gives PyTorch's numbers. (onnxruntime's antialiasing differs from PyTorch's.)"""
    smooth = method in ("linear", "cubic")
    if antialias or (smooth and x.dtype == torch.float64):  # its kernels are for float32
        return False
    factors = [axis.factor for axis in axes]
    if None in factors and any(axis.has_own_scale and not align for axis in axes):
        return False
    if not align and any(axis.may_be_whole for axis in axes):
        return False
    if not align and any(axis.has_own_scale for axis in axes) and all(axis.may_be(1) for axis in axes):
        return False  # onnxruntime copies what stays as large as it is
    if g.opset < 10 and x.dtype != torch.float32:
        return False
    if g.opset < 11:
        whole = all(f is not None and f >= 1 and f == int(f) for f in factors)
        return method == "nearest" and whole and all(map(_picks_the_same, axes, factors, [method] * len(axes)))
    if method == "cubic" and x.rank != 4:
        return False
    return smooth or all(
        _picks_the_same(axis, None if None in factors else factor, method) for axis, factor in zip(axes, factors)
    )


def _picks_the_same(axis: _Axis, factor: float | None, method: str) -> bool:
    """Whether Resize, which divides by a factor, picks the entries that PyTorch does, which multiplies by its inverse."""
    if isinstance(axis.size, int) and isinstance(axis.target, int):
        count, size = axis.target, axis.size
    elif factor is not None:
        count = size = _COMPARED
    else:
        return False
    if not count:
        return True
    number = np.float32
    inverse = number(size) / number(axis.target if isinstance(axis.target, int) else count)
    if axis.scale is not None or not isinstance(axis.target, int):
        inverse = number(1.0 / (axis.scale if axis.scale is not None else factor or 1.0))
    divisor = number(factor) if factor is not None else number(count) / number(size)
    return bool((_picked(count, size, method, times=inverse) == _picked(count, size, method, by=divisor)).all())


def _picked(count: int, size: int, method: str, times: Any = None, by: Any = None) -> Array:
    positions = np.arange(count, dtype=np.float32)
    half = np.float32(0 if method == "nearest" else 0.5)
    positions = positions + half
    source = (positions * times if by is None else positions / by) - half + half
    picked: Array = np.minimum(np.floor(source), size - 1)
    return picked


def _resize(g: Builder, x: Tensor, axes: list[_Axis], method: str, align: bool) -> Tensor:
    """The op itself."""
    if x.rank == 3:  # its kernels are for images and volumes
        lifted = [dataclasses.replace(a, axis=a.axis + 1) for a in axes]
        return g.squeeze(_resize(g, g.unsqueeze(x, [2]), lifted, method, align), [2])
    by_axis = {axis.axis: axis for axis in axes}
    factors = [by_axis[i].factor if i in by_axis else 1.0 for i in range(x.rank)]
    coordinates = "align_corners" if align else "asymmetric" if method == "nearest" else "half_pixel"
    nearest = {"nearest": "floor", "nearest_exact": "round_prefer_ceil"}.get(method)
    sizes = [by_axis[i].target if i in by_axis else d for i, d in enumerate(x.shape)]
    scales = None if None in factors else g.const(factors, torch.float32)
    if align and any(axis.scale is None for axis in axes):
        scales = None  # the sizes decide alone
    result = g.resize(
        x, None if scales is not None else sizes, scales, sorted(by_axis), mode=_MODES[method],
        coordinates=coordinates, nearest=nearest,
    )  # fmt: skip
    result.dims = tuple(sizes)
    return result


# -- by hand --------------------------------------------------------------------------------------


def _step(g: Builder, axis: _Axis, align: bool, dtype: torch.dtype) -> Tensor:
    """How far apart neighbours of the result lie in the input."""
    if align:
        one, gaps = g.const(1, torch.int64), g.size(axis.target - 1)
        size = g.mul(g.size(axis.size - 1), g.extremum("Min", gaps, one))  # a single entry is the first: no step
        target = g.extremum("Max", gaps, one)
    elif axis.scale is not None:
        step = _inverse(g, axis.scale, dtype)
        for k in axis.may_be_whole:
            step = g.where(g.equal(g.size(axis.target), g.size(axis.size * k)), g.const(1 / k, dtype), step)
        return step
    else:
        size, target = g.size(axis.size), g.size(axis.target)
    return g.div(g.cast(size, dtype), g.cast(target, dtype))


def _inverse(g: Builder, scale: float | Scalar, dtype: torch.dtype) -> Tensor:
    if isinstance(scale, Scalar):
        return g.cast(g.div(1.0, g.cast(scale.tensor, torch.float64)), dtype)
    return g.const(1.0 / scale, dtype)


def _source(g: Builder, axis: _Axis, align: bool, dtype: torch.dtype) -> Tensor:
    """Where each entry of the result lies in the input."""
    positions = g.cast(g.range(0, axis.target), dtype)
    step = _step(g, axis, align, dtype)
    if align:
        return g.mul(positions, step)
    return g.sub(g.mul(g.add(positions, 0.5), step), 0.5)


def _nearest(g: Builder, axis: _Axis, method: str) -> Tensor:
    """Which entries are picked."""
    if method == "nearest":
        source = g.mul(g.cast(g.range(0, axis.target), torch.float32), _step(g, axis, False, torch.float32))
    else:
        source = g.add(_source(g, axis, False, torch.float32), 0.5)
    return _within(g, g.cast(g.floor(source), torch.int64), axis)


def _within(g: Builder, index: Tensor, axis: _Axis) -> Tensor:
    last = g.size(axis.size - 1)
    return g.extremum("Max", g.extremum("Min", index, last), g.const(0, torch.int64))


def _matrix(g: Builder, axis: _Axis, method: str, align: bool, antialias: bool, dtype: torch.dtype) -> Tensor:
    """The weights `[target, size]` of one axis."""
    precise = torch.float64 if dtype == torch.float64 else torch.float32
    if antialias:
        return g.cast(_filter_matrix(g, axis, method, align, precise), dtype)
    source = _source(g, axis, align, precise)
    if method == "linear":
        source = g.extremum("Max", source, 0.0)
    floor = g.floor(source)
    offset = g.sub(source, floor)
    index = g.cast(floor, torch.int64)
    columns = g.unsqueeze(g.range(0, axis.size), [0])
    total: Tensor | None = None
    for shift, weight in _taps(g, offset, method):
        row = g.unsqueeze(_within(g, g.add(index, shift) if shift else index, axis), [1])
        part = g.mul(g.cast(g.equal(row, columns), precise), g.unsqueeze(weight, [1]))
        total = part if total is None else g.add(total, part)
    assert total is not None
    return g.cast(total, dtype)


def _taps(g: Builder, t: Tensor, method: str) -> list[tuple[int, Tensor]]:
    """Neighbours by their distance from the entry before the source, with their weights."""
    return [(0, g.sub(1.0, t)), (1, t)] if method == "linear" else cubic_weights(g, t)


def cubic_weights(g: Builder, t: Tensor) -> list[tuple[int, Tensor]]:
    """The four neighbours of a source that lies t behind the second, with their weights."""
    rest = g.sub(1.0, t)
    distances = [g.add(t, 1.0), t, rest, g.add(rest, 1.0)]
    return [(i - 1, _cubic(g, d, -0.75, near=i in (1, 2))) for i, d in enumerate(distances)]


def _cubic(g: Builder, d: Tensor, a: float, near: bool) -> Tensor:
    """The cubic convolution kernel at distance d: below 1 (near), or from 1 to 2."""
    if near:
        return g.add(g.mul(g.mul(g.sub(g.mul(d, a + 2), a + 3), d), d), 1.0)
    return g.sub(g.mul(g.add(g.mul(g.sub(g.mul(d, a), 5 * a), d), 8 * a), d), 4 * a)


def _filter_matrix(g: Builder, axis: _Axis, method: str, align: bool, dtype: torch.dtype) -> Tensor:
    """Weights of antialiasing: the filter, widened by the step, around each source, normalised."""
    step = _step(g, axis, align, dtype)
    centers = g.mul(g.add(g.cast(g.range(0, axis.target), dtype), 0.5), step)
    columns = g.add(g.cast(g.range(0, axis.size), dtype), 0.5)
    width = g.extremum("Max", step, 1.0)
    d = g.abs(g.div(g.sub(g.unsqueeze(columns, [0]), g.unsqueeze(centers, [1])), width))
    if method == "linear":
        weights = g.extremum("Max", g.sub(1.0, d), 0.0)
    elif method == "lanczos":
        weights = g.where(g.less(d, 3.0), g.mul(_sinc(g, d), _sinc(g, g.div(d, 3.0))), 0.0)
    else:
        near = g.cast(g.less(d, 1.0), dtype)
        far = g.mul(g.cast(g.less(d, 2.0), dtype), g.sub(1.0, near))
        weights = g.add(g.mul(near, _cubic(g, d, -0.5, near=True)), g.mul(far, _cubic(g, d, -0.5, near=False)))
    return g.div(weights, g.reduce("ReduceSum", weights, [1], keepdims=True))


def _sinc(g: Builder, d: Tensor) -> Tensor:
    angle = g.mul(d, math.pi)
    at_zero = g.equal(d, 0.0)
    return g.where(at_zero, 1.0, g.div(g.op("Sin", angle), g.where(at_zero, 1.0, angle)))


def _along(g: Builder, x: Tensor, matrix: Tensor, axis: _Axis) -> Tensor:
    """x with one axis multiplied by the matrix."""
    last = x.rank - 1
    if axis.axis == last - 1:
        return g.matmul(matrix, x)
    if axis.axis == last:
        return g.matmul(x, g.transpose(matrix, [1, 0]))
    return g.swap(g.matmul(g.swap(x, axis.axis, last), g.transpose(matrix, [1, 0])), axis.axis, last)


# -- operators ------------------------------------------------------------------------------------


def _register(name: str, rank: int, method: str, antialias: bool = False) -> None:
    aligns = method in ("linear", "cubic", "lanczos")
    # PyTorch copies what stays as large, or doubles entries, whatever the factor; not in all of its kernels.
    whole = 2 if (method, rank) == ("nearest", 2) else 1 if method == "linear" or antialias else 0

    @lowering(f"aten::{name}")
    def plain(g: Builder, self: Tensor, output_size: list[Size], *rest: Any) -> Tensor:
        """upsample_bilinear2d(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None,
        float? scales_w=None) -> Tensor"""
        align, scales = (rest[0], rest[1:]) if aligns else (False, rest)
        return _resample(g, self, _axes(g, self, output_size, scales, whole), method, align, antialias)

    @lowering(f"aten::{name}.vec")
    def vec(g: Builder, input: Tensor, output_size: list[Size] | None, *rest: Any) -> Tensor:
        """upsample_bilinear2d.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors)
        -> Tensor"""
        align, scales = (rest[0], rest[1]) if aligns else (False, rest[0])
        given = [None] * rank if scales is None else scales
        return _resample(g, input, _axes(g, input, output_size, given, whole), method, align, antialias)


for _rank in (1, 2, 3):
    _register(f"upsample_nearest{_rank}d", _rank, "nearest")
    _register(f"_upsample_nearest_exact{_rank}d", _rank, "nearest_exact")
_register("upsample_linear1d", 1, "linear")
_register("upsample_bilinear2d", 2, "linear")
_register("upsample_trilinear3d", 3, "linear")
_register("upsample_bicubic2d", 2, "cubic")
_register("_upsample_bilinear2d_aa", 2, "linear", antialias=True)
_register("_upsample_bicubic2d_aa", 2, "cubic", antialias=True)
_register("_upsample_lanczos2d_aa", 2, "lanczos", antialias=True)
