"""Comparison, logic, bits, choice, bounds."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from ..dtypes import is_integer
from ..errors import LoweringError
from ..lower.builder import Builder
from ..lower.complex import both, join
from ..lower.promotion import result_type
from ..lower.registry import lowering, out_lowering
from ..lower.values import Scalar, Tensor
from .arithmetic import promoted

# -- comparison -----------------------------------------------------------------------------------


@lowering("aten::eq")
def eq(g: Builder, self: Any, other: Any) -> Tensor:
    """eq.Tensor(Tensor self, Tensor other) -> Tensor"""
    return g.equal(*promoted(g, self, other))


@lowering("aten::ne", "aten::not_equal")
def ne(g: Builder, self: Any, other: Any) -> Tensor:
    """ne.Tensor(Tensor self, Tensor other) -> Tensor"""
    return g.not_(g.equal(*promoted(g, self, other)))


@lowering("aten::lt", "aten::less")
def lt(g: Builder, self: Any, other: Any) -> Tensor:
    """lt.Tensor(Tensor self, Tensor other) -> Tensor"""
    return g.less(*promoted(g, self, other))


@lowering("aten::gt", "aten::greater")
def gt(g: Builder, self: Any, other: Any) -> Tensor:
    """gt.Tensor(Tensor self, Tensor other) -> Tensor"""
    return g.greater(*promoted(g, self, other))


@lowering("aten::le", "aten::less_equal")
def le(g: Builder, self: Any, other: Any) -> Tensor:
    """le.Tensor(Tensor self, Tensor other) -> Tensor"""
    return g.less_equal(*promoted(g, self, other))


@lowering("aten::ge", "aten::greater_equal")
def ge(g: Builder, self: Any, other: Any) -> Tensor:
    """ge.Tensor(Tensor self, Tensor other) -> Tensor"""
    return g.greater_equal(*promoted(g, self, other))


@lowering("aten::isclose")
def isclose(g: Builder, self: Tensor, other: Tensor, rtol: float, atol: float, equal_nan: bool) -> Tensor:
    """isclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False) -> Tensor"""
    close = g.equal(self, other)
    if equal_nan and self.is_inexact:
        close = g.or_(close, g.and_(g.isnan(self), g.isnan(other)))
    if rtol == 0 and atol == 0:
        return close
    dtype = self.dtype if self.is_inexact else torch.get_default_dtype()
    a, b = g.cast(self, dtype), g.cast(other, dtype)
    allowed = g.add(g.mul(g.op("Abs", b), rtol), atol)
    distance = g.op("Abs", g.sub(a, b))
    finite = g.less(distance, math.inf)
    return g.or_(close, g.and_(finite, g.less_equal(distance, allowed)))


@lowering("aten::allclose")
def allclose(g: Builder, self: Tensor, other: Tensor, rtol: float, atol: float, equal_nan: bool) -> Any:
    """allclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False) -> bool"""
    return Scalar(g.all(isclose(g, self, other, rtol, atol, equal_nan)), bool)


@lowering("aten::equal")
def equal(g: Builder, self: Tensor, other: Tensor) -> Any:
    """equal(Tensor self, Tensor other) -> bool"""
    if self.rank != other.rank:
        return False
    if self.shape != other.shape:
        raise LoweringError("whether the sizes of the two tensors agree is known only at run time")
    return Scalar(g.all(g.equal(self, other)), bool)


# -- logic ----------------------------------------------------------------------------------------


def _truth(g: Builder, x: Any) -> Tensor:
    return g.scalar(x, torch.bool)


@lowering("aten::logical_not")
def logical_not(g: Builder, self: Tensor) -> Tensor:
    """logical_not(Tensor self) -> Tensor"""
    return g.not_(_truth(g, self))


@lowering("aten::logical_and")
def logical_and(g: Builder, self: Tensor, other: Tensor) -> Tensor:
    """logical_and(Tensor self, Tensor other) -> Tensor"""
    return g.and_(_truth(g, self), _truth(g, other))


@lowering("aten::logical_or")
def logical_or(g: Builder, self: Tensor, other: Tensor) -> Tensor:
    """logical_or(Tensor self, Tensor other) -> Tensor"""
    return g.or_(_truth(g, self), _truth(g, other))


@lowering("aten::logical_xor")
def logical_xor(g: Builder, self: Tensor, other: Tensor) -> Tensor:
    """logical_xor(Tensor self, Tensor other) -> Tensor"""
    return g.op("Xor", _truth(g, self), _truth(g, other))


# -- choice and bounds ----------------------------------------------------------------------------


@lowering("aten::where.self", "aten::where.ScalarSelf", "aten::where.ScalarOther", "aten::where.Scalar")
@out_lowering("aten::where.self_out")
def where(g: Builder, condition: Tensor, self: Any, other: Any) -> Tensor:
    """where.self(Tensor condition, Tensor self, Tensor other) -> Tensor"""
    return g.where(condition, *promoted(g, self, other))


@lowering("aten::masked_fill")
def masked_fill(g: Builder, self: Tensor, mask: Tensor, value: Any) -> Tensor:
    """masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor"""
    return g.where(mask, g.scalar(value, self.dtype), self)


@lowering("aten::maximum", "aten::max.other")
@out_lowering("aten::max.out")
def maximum(g: Builder, self: Any, other: Any) -> Tensor:
    """maximum(Tensor self, Tensor other) -> Tensor"""
    a, b = promoted(g, self, other)
    return g.or_(a, b) if a.dtype == torch.bool else g.extremum("Max", a, b)


@lowering("aten::minimum", "aten::min.other")
@out_lowering("aten::min.out")
def minimum(g: Builder, self: Any, other: Any) -> Tensor:
    """minimum(Tensor self, Tensor other) -> Tensor"""
    a, b = promoted(g, self, other)
    return g.and_(a, b) if a.dtype == torch.bool else g.extremum("Min", a, b)


@lowering("aten::fmax")
def fmax(g: Builder, self: Tensor, other: Tensor) -> Tensor:
    """fmax(Tensor self, Tensor other) -> Tensor"""
    return _without_nan(g, maximum, self, other)


@lowering("aten::fmin")
def fmin(g: Builder, self: Tensor, other: Tensor) -> Tensor:
    """fmin(Tensor self, Tensor other) -> Tensor"""
    return _without_nan(g, minimum, self, other)


def _without_nan(g: Builder, choose: Callable[..., Tensor], self: Tensor, other: Tensor) -> Tensor:
    """The other operand where one is NaN."""
    a, b = promoted(g, self, other)
    if a.is_float:
        a, b = g.where(g.isnan(a), b, a), g.where(g.isnan(b), a, b)
    return choose(g, a, b)


@lowering("aten::clamp", "aten::clip")
def clamp(g: Builder, self: Tensor, min: Any = None, max: Any = None) -> Tensor:
    """clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor"""
    dtype = result_type(self, min, max)
    result = g.cast(self, dtype)
    if _is_simple(min) and _is_simple(max):
        return g.clip(result, min, max)
    if min is not None:
        result = maximum(g, result, g.scalar(min, dtype))
    return result if max is None else minimum(g, result, g.scalar(max, dtype))


def _is_simple(bound: Any) -> bool:
    """Whether Clip takes it: a number, which must not be NaN."""
    return bound is None or (not isinstance(bound, Tensor) and not (isinstance(bound, float) and math.isnan(bound)))


@lowering("aten::clamp_min")
def clamp_min(g: Builder, self: Tensor, min: Any) -> Tensor:
    """clamp_min(Tensor self, Scalar min) -> Tensor"""
    return clamp(g, self, min, None)


@lowering("aten::clamp_max")
def clamp_max(g: Builder, self: Tensor, max: Any) -> Tensor:
    """clamp_max(Tensor self, Scalar max) -> Tensor"""
    return clamp(g, self, None, max)


# -- kinds of numbers -----------------------------------------------------------------------------


@lowering("aten::isnan")
def isnan(g: Builder, self: Tensor) -> Tensor:
    """isnan(Tensor self) -> Tensor"""
    return g.isnan(self)


@lowering("aten::isinf")
def isinf(g: Builder, self: Tensor) -> Tensor:
    """isinf(Tensor self) -> Tensor"""
    return g.equal(g.op("Abs", self), math.inf) if self.is_float else g.full(self.shape, False, torch.bool)


@lowering("aten::isposinf")
def isposinf(g: Builder, self: Tensor) -> Tensor:
    """isposinf(Tensor self) -> Tensor"""
    return g.equal(self, math.inf) if self.is_float else g.full(self.shape, False, torch.bool)


@lowering("aten::isneginf")
def isneginf(g: Builder, self: Tensor) -> Tensor:
    """isneginf(Tensor self) -> Tensor"""
    return g.equal(self, -math.inf) if self.is_float else g.full(self.shape, False, torch.bool)


@lowering("aten::isfinite")
def isfinite(g: Builder, self: Tensor) -> Tensor:
    """isfinite(Tensor self) -> Tensor"""
    return g.less(g.op("Abs", self), math.inf) if self.is_float else g.full(self.shape, True, torch.bool)


@lowering("aten::isreal")
def isreal(g: Builder, self: Tensor) -> Tensor:
    """isreal(Tensor self) -> Tensor"""
    return g.full(self.shape, True, torch.bool)


@lowering("aten::nan_to_num")
def nan_to_num(g: Builder, self: Tensor, nan: Any = None, posinf: Any = None, neginf: Any = None) -> Tensor:
    """nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor"""
    if self.is_complex:
        return join(g, *[nan_to_num(g, part, nan, posinf, neginf) for part in both(g, self)])
    if not self.is_float:
        return self
    limits = torch.finfo(self.dtype)
    result = g.where(g.isnan(self), 0.0 if nan is None else nan, self)
    result = g.where(g.equal(self, math.inf), limits.max if posinf is None else posinf, result)
    return g.where(g.equal(self, -math.inf), limits.min if neginf is None else neginf, result)


@lowering("aten::gcd")
def gcd(g: Builder, self: Any, other: Any) -> Tensor:
    """gcd(Tensor self, Tensor other) -> Tensor"""
    return _gcd(g, *promoted(g, self, other))


def _gcd(g: Builder, a: Tensor, b: Tensor) -> Tensor:
    """Euclid's steps, as many as the largest numbers of the type can need."""
    wide = torch.int64 if is_integer(a.dtype) else a.dtype
    x, y = g.op("Abs", g.cast(a, wide)), g.op("Abs", g.cast(b, wide))
    for _ in range({8: 12, 16: 24, 32: 46, 64: 92}[torch.iinfo(a.dtype).bits]):
        done = g.equal(y, 0)
        rest = g.floor_divmod(x, g.where(done, 1, y), truncates=True)[1]
        x, y = g.where(done, x, y), g.where(done, y, rest)
    return g.cast(x, a.dtype)


@lowering("aten::lcm")
def lcm(g: Builder, self: Any, other: Any) -> Tensor:
    """lcm(Tensor self, Tensor other) -> Tensor"""
    a, b = promoted(g, self, other)
    divisor = _gcd(g, a, b)
    safe = g.where(g.equal(divisor, 0), 1, divisor)
    return g.op("Abs", g.mul(g.div(a, safe), b))
