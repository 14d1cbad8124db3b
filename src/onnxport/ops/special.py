"""Elementary and special functions of one or two real numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..lower.builder import Builder
from ..lower.promotion import float_type
from ..lower.registry import lowering
from ..lower.values import Tensor
from .arithmetic import promoted_float

Function = Callable[[Builder, Tensor], Tensor]


def _unary(name: str, function: Function, *others: str) -> None:
    """Register a function of floats; integers are computed in the default float."""

    def lower(g: Builder, self: Tensor) -> Tensor:
        return function(g, g.cast(self, float_type(self)))

    lower.__doc__ = f"{name}(Tensor self) -> Tensor"
    lower.__name__ = name
    lowering(*[f"aten::{n}" for n in (name, *others)])(lower)


_LN2, _LN10 = math.log(2), math.log(10)

_unary("exp", lambda g, x: g.exp(x))
_unary("exp2", lambda g, x: g.pow(g.const(2, x.dtype), x), "special_exp2")
_unary("expm1", lambda g, x: g.expm1(x), "special_expm1")
_unary("log", lambda g, x: g.log(x))
_unary("log2", lambda g, x: g.div(g.log(x), _LN2))
_unary("log10", lambda g, x: g.div(g.log(x), _LN10))
_unary("log1p", lambda g, x: g.log1p(x), "special_log1p")
_unary("sqrt", lambda g, x: g.sqrt(x))
_unary("rsqrt", lambda g, x: g.op("Reciprocal", g.sqrt(x)))
_unary("sin", lambda g, x: g.sin(x))
_unary("cos", lambda g, x: g.cos(x))
_unary("tan", lambda g, x: g.tan(x))
_unary("asin", lambda g, x: g.asin(x), "arcsin")
_unary("acos", lambda g, x: g.acos(x), "arccos")
_unary("atan", lambda g, x: g.atan(x), "arctan")
_unary("sinh", lambda g, x: g.sinh(x))
_unary("cosh", lambda g, x: g.cosh(x))
_unary("asinh", lambda g, x: g.asinh(x), "arcsinh")
_unary("acosh", lambda g, x: g.acosh(x), "arccosh")
_unary("atanh", lambda g, x: g.atanh(x), "arctanh")
_unary("erf", lambda g, x: g.erf(x), "special_erf")
_unary("erfc", lambda g, x: g.erfc(x), "special_erfc")
_unary("special_erfcx", lambda g, x: g.erfcx(x))
_unary("deg2rad", lambda g, x: g.mul(x, math.pi / 180))
_unary("rad2deg", lambda g, x: g.mul(x, 180 / math.pi))
_unary("sinc", lambda g, x: _sinc(g, x), "special_sinc")
_unary("special_entr", lambda g, x: _entropy(g, x))


def _sinc(g: Builder, x: Tensor) -> Tensor:
    angle = g.mul(x, math.pi)
    zero = g.equal(x, 0)
    return g.where(zero, 1, g.div(g.sin(angle), g.where(zero, 1, angle)))


def _entropy(g: Builder, x: Tensor) -> Tensor:
    value = g.neg(g.mul(x, g.log(x)))
    return g.where(g.equal(x, 0), 0, g.where(g.less(x, 0), -math.inf, value))


@lowering("aten::atan2", "aten::arctan2")
def atan2(g: Builder, self: Any, other: Any) -> Tensor:
    """atan2(Tensor self, Tensor other) -> Tensor"""
    y, x = promoted_float(g, self, other)
    height, width = g.abs(y), g.abs(x)
    larger, smaller = g.extremum("Max", height, width), g.extremum("Min", height, width)
    equal = g.equal(height, width)  # infinite ones have no quotient, nor has 0
    ratio = g.where(equal, 1, g.div(smaller, g.where(equal, 1, larger)))
    ratio = g.where(g.equal(larger, 0), 0, ratio)
    angle = g.atan(ratio)
    angle = g.where(g.greater(height, width), g.sub(math.pi / 2, angle), angle)
    angle = g.where(g.signbit(x), g.sub(math.pi, angle), angle)
    return g.where(g.signbit(y), g.neg(angle), angle)


@lowering("aten::hypot")
def hypot(g: Builder, self: Any, other: Any) -> Tensor:
    """hypot(Tensor self, Tensor other) -> Tensor"""
    a, b = (g.abs(x) for x in promoted_float(g, self, other))
    larger, smaller = g.extremum("Max", a, b), g.extremum("Min", a, b)
    plain = g.and_(g.greater(larger, 0), g.less(larger, math.inf))
    ratio = g.div(smaller, g.where(plain, larger, 1))
    length = g.where(plain, g.mul(larger, g.sqrt(g.add(g.mul(ratio, ratio), 1))), larger)
    return g.where(g.or_(g.equal(a, math.inf), g.equal(b, math.inf)), math.inf, length)  # whatever the other is


@lowering("aten::logaddexp")
def logaddexp(g: Builder, self: Tensor, other: Tensor) -> Tensor:
    """logaddexp(Tensor self, Tensor other) -> Tensor"""
    a, b = promoted_float(g, self, other)
    larger = g.extremum("Max", a, b)
    more = g.log1p(g.exp(g.neg(g.abs(g.sub(a, b)))))
    return g.add(larger, g.where(g.equal(a, b), _LN2, more))  # equal infinities have no difference


@lowering("aten::logaddexp2")
def logaddexp2(g: Builder, self: Tensor, other: Tensor) -> Tensor:
    """logaddexp2(Tensor self, Tensor other) -> Tensor"""
    a, b = promoted_float(g, self, other)
    larger = g.extremum("Max", a, b)
    more = g.div(g.log1p(g.exp(g.mul(g.abs(g.sub(a, b)), -_LN2))), _LN2)
    return g.add(larger, g.where(g.equal(a, b), 1, more))


@lowering("aten::xlogy", "aten::special_xlogy")
def xlogy(g: Builder, self: Any, other: Any) -> Tensor:
    """xlogy.Tensor(Tensor self, Tensor other) -> Tensor"""
    a, b = promoted_float(g, self, other)
    return _zero_where_zero(g, a, b, g.mul(a, g.log(b)))


@lowering("aten::special_xlog1py")
def xlog1py(g: Builder, self: Any, other: Any) -> Tensor:
    """special_xlog1py(Tensor self, Tensor other) -> Tensor"""
    a, b = promoted_float(g, self, other)
    return _zero_where_zero(g, a, b, g.mul(a, g.log1p(b)))


def _zero_where_zero(g: Builder, a: Tensor, b: Tensor, product: Tensor) -> Tensor:
    """0 where a is, whatever infinity it was multiplied with; but NaN stays."""
    return g.where(g.and_(g.equal(a, 0), g.not_(g.isnan(b))), 0, product)


@lowering("aten::logit", "aten::special_logit")
def logit(g: Builder, self: Tensor, eps: float | None = None) -> Tensor:
    """logit(Tensor self, float? eps=None) -> Tensor"""
    x = g.cast(self, float_type(self))
    if eps is not None:
        x = g.clip(x, eps, 1 - eps)
    return g.log(g.div(x, g.sub(1, x)))
