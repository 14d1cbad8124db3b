"""Window functions of signal processing."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from ..dims import Size, known_ge, maximum
from ..lower.builder import Builder
from ..lower.registry import lowering
from ..lower.values import Tensor
from .bessel import i0
from .creation import constant, dtype_or

_Shape = Callable[[Builder, Tensor], Tensor]  # from places in [0, 1] to weights


def _window(g: Builder, length: Size, periodic: bool, dtype: int | None, eager: Any, shape: _Shape) -> Tensor:
    """A window; one of known length is computed at export, by PyTorch itself."""
    target = dtype_or(dtype)
    if isinstance(length, int):
        return constant(g, eager(length, dtype=target))
    gaps = maximum(length if periodic else length - 1, 1)
    places = g.div(g.cast(g.range(0, length), torch.float64), g.scalar(gaps, torch.float64))
    weights = g.cast(shape(g, places), target)
    if known_ge(length, 2):
        return weights
    return g.where(g.equal(g.size(length), 1), g.scalar(1, target), weights)


def _cosines(*factors: float) -> _Shape:
    """The sum of factor k times cos(2 pi k x), with signs that alternate."""

    def shape(g: Builder, x: Tensor) -> Tensor:
        total = g.scalar(factors[0], x.dtype)
        for k, factor in enumerate(factors[1:], 1):
            total = g.add(total, g.mul(g.op("Cos", g.mul(x, 2 * math.pi * k)), (-1) ** k * factor))
        return total

    return shape


@lowering("aten::hann_window")
def hann_window(g: Builder, window_length: Size, dtype: int | None = None, *_: Any) -> Tensor:
    """hann_window(int window_length, *, ScalarType? dtype=None, ...) -> Tensor"""
    return hann_window_periodic(g, window_length, True, dtype)


@lowering("aten::hann_window.periodic")
def hann_window_periodic(g: Builder, window_length: Size, periodic: bool, dtype: int | None = None, *_: Any) -> Tensor:
    """hann_window.periodic(int window_length, bool periodic, *, ScalarType? dtype=None, ...) -> Tensor"""

    def eager(n: int, **kwargs: Any) -> torch.Tensor:
        return torch.hann_window(n, periodic, **kwargs)

    return _window(g, window_length, periodic, dtype, eager, _cosines(0.5, 0.5))


@lowering("aten::blackman_window")
def blackman_window(g: Builder, window_length: Size, dtype: int | None = None, *_: Any) -> Tensor:
    """blackman_window(int window_length, *, ScalarType? dtype=None, ...) -> Tensor"""
    return blackman_window_periodic(g, window_length, True, dtype)


@lowering("aten::blackman_window.periodic")
def blackman_window_periodic(
    g: Builder, window_length: Size, periodic: bool, dtype: int | None = None, *_: Any
) -> Tensor:
    """blackman_window.periodic(int window_length, bool periodic, *, ScalarType? dtype=None, ...) -> Tensor"""

    def eager(n: int, **kwargs: Any) -> torch.Tensor:
        return torch.blackman_window(n, periodic, **kwargs)

    return _window(g, window_length, periodic, dtype, eager, _cosines(0.42, 0.5, 0.08))


@lowering("aten::bartlett_window")
def bartlett_window(g: Builder, window_length: Size, dtype: int | None = None, *_: Any) -> Tensor:
    """bartlett_window(int window_length, *, ScalarType? dtype=None, ...) -> Tensor"""
    return bartlett_window_periodic(g, window_length, True, dtype)


@lowering("aten::bartlett_window.periodic")
def bartlett_window_periodic(
    g: Builder, window_length: Size, periodic: bool, dtype: int | None = None, *_: Any
) -> Tensor:
    """bartlett_window.periodic(int window_length, bool periodic, *, ScalarType? dtype=None, ...) -> Tensor"""

    def eager(n: int, **kwargs: Any) -> torch.Tensor:
        return torch.bartlett_window(n, periodic, **kwargs)

    def shape(g: Builder, x: Tensor) -> Tensor:
        return g.sub(1, g.op("Abs", g.sub(g.mul(x, 2), 1)))

    return _window(g, window_length, periodic, dtype, eager, shape)


@lowering("aten::hamming_window")
def hamming_window(g: Builder, window_length: Size, dtype: int | None = None, *_: Any) -> Tensor:
    """hamming_window(int window_length, *, ScalarType? dtype=None, ...) -> Tensor"""
    return hamming_window_alpha_beta(g, window_length, True, 0.54, 0.46, dtype)


@lowering("aten::hamming_window.periodic")
def hamming_window_periodic(
    g: Builder, window_length: Size, periodic: bool, dtype: int | None = None, *_: Any
) -> Tensor:
    """hamming_window.periodic(int window_length, bool periodic, *, ScalarType? dtype=None, ...) -> Tensor"""
    return hamming_window_alpha_beta(g, window_length, periodic, 0.54, 0.46, dtype)


@lowering("aten::hamming_window.periodic_alpha")
def hamming_window_alpha(
    g: Builder, window_length: Size, periodic: bool, alpha: float, dtype: int | None = None, *_: Any
) -> Tensor:
    """hamming_window.periodic_alpha(int window_length, bool periodic, float alpha, *, ...) -> Tensor"""
    return hamming_window_alpha_beta(g, window_length, periodic, alpha, 0.46, dtype)


@lowering("aten::hamming_window.periodic_alpha_beta")
def hamming_window_alpha_beta(
    g: Builder, window_length: Size, periodic: bool, alpha: float, beta: float, dtype: int | None = None, *_: Any
) -> Tensor:
    """hamming_window.periodic_alpha_beta(int window_length, bool periodic, float alpha, float beta, *, ...) -> Tensor"""

    def eager(n: int, **kwargs: Any) -> torch.Tensor:
        return torch.hamming_window(n, periodic, alpha, beta, **kwargs)

    return _window(g, window_length, periodic, dtype, eager, _cosines(alpha, beta))


@lowering("aten::kaiser_window")
def kaiser_window(g: Builder, window_length: Size, dtype: int | None = None, *_: Any) -> Tensor:
    """kaiser_window(int window_length, *, ScalarType? dtype=None, ...) -> Tensor"""
    return kaiser_window_beta(g, window_length, True, 12.0, dtype)


@lowering("aten::kaiser_window.periodic")
def kaiser_window_periodic(
    g: Builder, window_length: Size, periodic: bool, dtype: int | None = None, *_: Any
) -> Tensor:
    """kaiser_window.periodic(int window_length, bool periodic, *, ScalarType? dtype=None, ...) -> Tensor"""
    return kaiser_window_beta(g, window_length, periodic, 12.0, dtype)


@lowering("aten::kaiser_window.beta")
def kaiser_window_beta(
    g: Builder, window_length: Size, periodic: bool, beta: float, dtype: int | None = None, *_: Any
) -> Tensor:
    """kaiser_window.beta(int window_length, bool periodic, float beta, *, ScalarType? dtype=None, ...) -> Tensor"""

    def eager(n: int, **kwargs: Any) -> torch.Tensor:
        return torch.kaiser_window(n, periodic, beta, **kwargs)

    def shape(g: Builder, x: Tensor) -> Tensor:
        offset = g.sub(g.mul(x, 2), 1)
        inner = g.op("Sqrt", g.clip(g.sub(1, g.mul(offset, offset)), low=0.0))
        return g.div(i0(g, g.mul(inner, beta)), i0(g, g.scalar(beta, x.dtype)))

    return _window(g, window_length, periodic, dtype, eager, shape)
