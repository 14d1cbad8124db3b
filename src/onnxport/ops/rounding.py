"""Rounding, and signs."""

from __future__ import annotations

from typing import Any

import torch

from ..lower.builder import Builder
from ..lower.promotion import float_type
from ..lower.registry import lowering
from ..lower.values import Tensor
from .arithmetic import promoted


@lowering("aten::floor")
def floor(g: Builder, self: Tensor) -> Tensor:
    """floor(Tensor self) -> Tensor"""
    return g.floor(self)


@lowering("aten::ceil")
def ceil(g: Builder, self: Tensor) -> Tensor:
    """ceil(Tensor self) -> Tensor"""
    return g.ceil(self)


@lowering("aten::trunc", "aten::fix")
def trunc(g: Builder, self: Tensor) -> Tensor:
    """trunc(Tensor self) -> Tensor"""
    return g.trunc(self)


@lowering("aten::frac")
def frac(g: Builder, self: Tensor) -> Tensor:
    """frac(Tensor self) -> Tensor"""
    return g.sub(self, g.trunc(self))


@lowering("aten::round", "aten::special_round")
def round_(g: Builder, self: Tensor, decimals: int = 0) -> Tensor:
    """round.decimals(Tensor self, *, int decimals) -> Tensor"""
    if decimals == 0 or not self.is_float:
        return g.round(self)
    scale = 10.0 ** abs(decimals)
    if decimals > 0:
        return g.div(g.round(g.mul(self, scale)), scale)
    return g.mul(g.round(g.div(self, scale)), scale)


@lowering("aten::sign", "aten::sgn")
def sign(g: Builder, self: Tensor) -> Tensor:
    """sign(Tensor self) -> Tensor"""
    if self.dtype == torch.bool:
        return self
    result = g.sign(self)
    return g.where(g.isnan(self), 0, result) if self.is_float and g.opset >= 9 else result  # 0 for NaN before


@lowering("aten::signbit")
def signbit(g: Builder, self: Tensor) -> Tensor:
    """signbit(Tensor self) -> Tensor"""
    return g.signbit(self) if self.dtype.is_signed else g.full(self.shape, False, torch.bool)


@lowering("aten::copysign")
def copysign(g: Builder, self: Any, other: Any) -> Tensor:
    """copysign.Tensor(Tensor self, Tensor other) -> Tensor"""
    dtype = float_type(self, other)
    size, other = g.abs(g.scalar(self, dtype)), g.scalar(other, dtype)
    return g.where(g.signbit(other), g.neg(size), size)


@lowering("aten::heaviside")
def heaviside(g: Builder, self: Tensor, values: Tensor) -> Tensor:
    """heaviside(Tensor self, Tensor values) -> Tensor"""
    x, at_zero = promoted(g, self, values)
    step = g.cast(g.not_(g.less_equal(x, 0)) if x.dtype == torch.bool else g.less(g.const(0, x.dtype), x), x.dtype)
    return g.where(g.equal(x, g.const(0, x.dtype)), at_zero, step)
