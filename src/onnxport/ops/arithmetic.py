"""Elementwise arithmetic with PyTorch's type promotion."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from ..dims import Dim
from ..dtypes import is_integer
from ..errors import LoweringError
from ..lower.builder import Builder
from ..lower.promotion import float_type, result_type
from ..lower.registry import lowering
from ..lower.values import Tensor


def promoted(g: Builder, *operands: Any) -> tuple[Tensor, ...]:
    """The operands as tensors of their common dtype."""
    dtype = result_type(*operands)
    return tuple([g.scalar(x, dtype) for x in operands])


def promoted_float(g: Builder, *operands: Any) -> tuple[Tensor, ...]:
    """The operands as tensors of their common float dtype."""
    dtype = float_type(*operands)
    return tuple([g.scalar(x, dtype) for x in operands])


def on_sizes(g: Builder, compute: Callable[[Any, Any], Any], a: Tensor, b: Tensor) -> Tensor | None:
    """`compute` for each pair of sizes, if the content of both tensors is known and one has a `Dim`."""
    x, y = (t.data if t.is_known and is_integer(t.dtype) else None for t in (a, b))
    if x is None or y is None or object not in (x.dtype, y.dtype):
        return None
    pairs = [(_plain(p), _plain(q)) for p, q in np.broadcast(x, y)]
    if any(isinstance(q, int) and q == 0 for _, q in pairs):
        return None
    data = np.empty(len(pairs), dtype=object)
    data[:] = [compute(p, q) for p, q in pairs]
    return g.known(data.reshape(np.broadcast_shapes(x.shape, y.shape)), a.dtype)


def _plain(value: Any) -> Any:
    value = value.item() if isinstance(value, np.ndarray) else value
    return value if isinstance(value, Dim) else int(value)


# -- sums and products ----------------------------------------------------------------------------


@lowering("aten::add", "aten::_add")
def add(g: Builder, self: Any, other: Any, alpha: Any = 1) -> Tensor:
    """add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"""
    a, b = promoted(g, self, other)
    if a.dtype == torch.bool:
        return g.or_(a, g.and_(b, g.scalar(alpha, torch.bool)) if alpha is not True and alpha != 1 else b)
    return g.add(a, b if _is_one(alpha) else g.mul(b, g.scalar(alpha, b.dtype)))


@lowering("aten::_add_relu")
def add_relu(g: Builder, self: Any, other: Any, alpha: Any = 1) -> Tensor:
    """_add_relu.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"""
    return g.relu(add(g, self, other, alpha))


@lowering("aten::sub", "aten::subtract")
def sub(g: Builder, self: Any, other: Any, alpha: Any = 1) -> Tensor:
    """sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"""
    a, b = promoted(g, self, other)
    return g.sub(a, b if _is_one(alpha) else g.mul(b, g.scalar(alpha, b.dtype)))


@lowering("aten::rsub")
def rsub(g: Builder, self: Any, other: Any, alpha: Any = 1) -> Tensor:
    """rsub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"""
    result: Tensor = sub(g, other, self, alpha)
    return result


def _is_one(alpha: Any) -> bool:
    return isinstance(alpha, (int, float)) and alpha == 1


@lowering("aten::mul", "aten::multiply")
def mul(g: Builder, self: Any, other: Any) -> Tensor:
    """mul.Tensor(Tensor self, Tensor other) -> Tensor"""
    a, b = promoted(g, self, other)
    if a.dtype == torch.bool:
        return g.and_(a, b)
    result = g.mul(a, b)
    if a.is_float:
        _note_ratio(g, result, self, other, divide=False)
    return result


@lowering("aten::neg", "aten::negative", "aten::_neg_view", "aten::_neg_view_copy")
def neg(g: Builder, self: Tensor) -> Tensor:
    """neg(Tensor self) -> Tensor"""
    return g.neg(self) if self.is_float or self.dtype.is_signed else g.sub(0, self)


@lowering("aten::positive")
def positive(g: Builder, self: Tensor) -> Tensor:
    """positive(Tensor(a) self) -> Tensor(a)"""
    return self


@lowering("aten::abs", "aten::absolute")
def abs_(g: Builder, self: Tensor) -> Tensor:
    """abs(Tensor self) -> Tensor"""
    return g.op("Abs", self)


@lowering("aten::square")
def square(g: Builder, self: Tensor) -> Tensor:
    """square(Tensor self) -> Tensor"""
    if self.dtype == torch.bool:
        return g.cast(self, torch.int64)
    return g.mul(self, self)


@lowering("aten::addcmul")
def addcmul(g: Builder, self: Tensor, tensor1: Tensor, tensor2: Tensor, value: Any = 1) -> Tensor:
    """addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor"""
    a, b, c = promoted(g, self, tensor1, tensor2)
    product = g.mul(b, c)
    return g.add(a, product if _is_one(value) else g.mul(product, g.scalar(value, a.dtype)))


@lowering("aten::addcdiv")
def addcdiv(g: Builder, self: Tensor, tensor1: Tensor, tensor2: Tensor, value: Any = 1) -> Tensor:
    """addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor"""
    a, b, c = promoted(g, self, tensor1, tensor2)
    quotient = g.div(b, c)
    return g.add(a, quotient if _is_one(value) else g.mul(quotient, g.scalar(value, a.dtype)))


@lowering("aten::lerp")
def lerp(g: Builder, self: Tensor, end: Tensor, weight: Any) -> Tensor:
    """lerp.Tensor(Tensor self, Tensor end, Tensor weight) -> Tensor"""
    if self.dtype in (torch.float16, torch.bfloat16):  # PyTorch rounds once, at the end
        start, end = (g.cast(x, torch.float32) for x in (self, end))
        return g.cast(lerp(g, start, end, g.scalar(weight, torch.float32)), self.dtype)
    weight = g.scalar(weight, self.dtype)
    step = g.sub(end, self)
    near = g.add(self, g.mul(weight, step))
    far = g.sub(end, g.mul(step, g.sub(1, weight)))  # so that weight 1 gives `end` itself
    if weight.is_constant and weight.data is not None and weight.data.size == 1:
        return near if abs(float(weight.data.reshape(())[()])) < 0.5 else far
    return g.where(g.less(g.op("Abs", weight), 0.5), near, far)


# -- quotients ------------------------------------------------------------------------------------


@lowering("aten::div", "aten::divide", "aten::true_divide")
def div(g: Builder, self: Any, other: Any, rounding_mode: str | None = None) -> Tensor:
    """div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor"""
    if rounding_mode == "floor":
        return floor_divide(g, self, other)
    if rounding_mode == "trunc":
        a, b = promoted(g, self, other)
        a, b = (g.cast(x, torch.int64) if x.dtype == torch.bool else x for x in (a, b))
        return g.trunc(g.div(a, b)) if a.is_float else g.div(a, b)
    a, b = promoted_float(g, self, other)
    result = g.div(a, b)
    _note_ratio(g, result, self, other, divide=True)
    return result


@lowering("aten::floor_divide", "aten::floordiv", "aten::__floordiv__")
def floor_divide(g: Builder, self: Any, other: Any) -> Tensor:
    """floor_divide(Tensor self, Tensor other) -> Tensor"""
    a, b = promoted(g, self, other)
    if a.is_float:
        return _float_floor_divide(g, a, b)
    a, b = (g.cast(x, torch.int64) if x.dtype == torch.bool else x for x in (a, b))
    known = on_sizes(g, operator.floordiv, a, b)
    return g.floor_divmod(a, b, truncates=not a.dtype.is_signed)[0] if known is None else known


def _float_floor_divide(g: Builder, a: Tensor, b: Tensor) -> Tensor:
    """Like Python's: of the exact quotient, which the rounded one may exceed (1 // 0.1 is 9)."""
    rest = g.fmod(a, b)
    quotient = g.div(g.sub(a, rest), b)
    lower = g.and_(g.not_(g.equal(rest, 0)), g.op("Xor", g.less(rest, 0), g.less(b, 0)))
    # (a - rest) / b is whole but for rounding
    whole = g.sub(g.round(quotient), g.cast(lower, a.dtype))
    return g.where(g.equal(b, 0), g.div(a, b), whole)


@lowering("aten::remainder", "aten::__mod__")
def remainder(g: Builder, self: Any, other: Any) -> Tensor:
    """remainder.Tensor(Tensor self, Tensor other) -> Tensor"""
    a, b = promoted(g, self, other)
    if not a.is_float:
        a, b = (g.cast(x, torch.int64) if x.dtype == torch.bool else x for x in (a, b))
        known = on_sizes(g, operator.mod, a, b)
        return g.floor_divmod(a, b, truncates=not a.dtype.is_signed)[1] if known is None else known
    rest = g.fmod(a, b)
    differs = g.and_(g.not_(g.equal(rest, 0)), g.op("Xor", g.less(rest, 0), g.less(b, 0)))
    return g.where(differs, g.add(rest, b), rest)


@lowering("aten::fmod")
def fmod(g: Builder, self: Any, other: Any) -> Tensor:
    """fmod.Tensor(Tensor self, Tensor other) -> Tensor"""
    a, b = promoted(g, self, other)
    if a.is_float:
        return g.fmod(a, b)
    return g.op("Mod", a, b, fmod=1) if g.opset >= 10 else g.sub(a, g.mul(b, g.div(a, b)))


@lowering("aten::reciprocal")
def reciprocal(g: Builder, self: Tensor) -> Tensor:
    """reciprocal(Tensor self) -> Tensor"""
    return g.op("Reciprocal", *promoted_float(g, self))


# -- fractions of sizes ---------------------------------------------------------------------------


def _note_ratio(g: Builder, result: Tensor, a: Any, b: Any, *, divide: bool) -> None:
    """Remember that a / b or a * b is a size over an int, so that rounding it gives a size again.

    Floats hold such a quotient well enough to round it right: the sizes are below 2**24, so a quotient that
    isn't whole is further from whole than it is rounded.
    """
    x, y = _fraction(g, a), _fraction(g, b)
    if result.value is None or x is None or y is None or not any(isinstance(p, Dim) for p in (x[0], y[0])):
        return
    if not divide:
        g.ratios[result.value] = (x[0] * y[0], x[1] * y[1])
    elif isinstance(y[0], int) and y[0] > 0:
        g.ratios[result.value] = (x[0] * y[1], x[1] * y[0])


def _fraction(g: Builder, value: Any) -> tuple[Any, int] | None:
    """A number, or the content of a 0-d tensor, as a fraction with a small divisor."""
    if isinstance(value, Tensor):
        if value.dims != ():
            return None
        if not value.is_known or value.data is None:
            return g.ratios.get(value.value) if value.value is not None else None
        value = value.data.item()
    if isinstance(value, Dim):
        return value, 1
    if not isinstance(value, (int, float)) or not math.isfinite(value):
        return None
    numerator, divisor = value.as_integer_ratio()
    return (numerator, divisor) if divisor <= 1 << 10 and abs(numerator) <= 1 << 10 else None


# -- powers ---------------------------------------------------------------------------------------


@lowering("aten::pow")
def pow_(g: Builder, self: Any, exponent: Any) -> Tensor:
    """pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor"""
    base, power = promoted(g, self, exponent)
    if power.is_constant and power.data is not None and power.data.ndim == 0 and base.dims is not None:
        number = power.data.item()
        if is_integer(base.dtype):
            return _whole_power(g, base, number)
        if number == 1:
            return base
        if number in (0.5, -0.5, -1) and base.is_float:
            root = base if number == -1 else g.op("Sqrt", base)
            return root if number == 0.5 else g.op("Reciprocal", root)
    if base.is_inexact:
        return g.pow(base, power)
    return _integer_power(g, *(g.cast(x, torch.int64) if x.dtype == torch.bool else x for x in (base, power)))


def _whole_power(g: Builder, base: Tensor, exponent: int) -> Tensor:
    """base ** exponent by multiplication, since Pow of integers goes through floats."""
    if exponent < 0:
        raise LoweringError("integers to negative powers are not allowed; make the base a float")
    result: Tensor | None = None
    while exponent:
        if exponent & 1:
            result = base if result is None else g.mul(result, base)
        exponent >>= 1
        if exponent:
            base = g.mul(base, base)
    return g.full(base.shape, 1, base.dtype) if result is None else result


def _integer_power(g: Builder, base: Tensor, exponent: Tensor) -> Tensor:
    """Square and multiply over the exponent's bits; they wrap around as torch's, where Pow would saturate."""
    two = g.const(2, base.dtype)
    count = 8
    unit = g.or_(g.equal(base, 1), g.equal(base, -1)) if base.dtype.is_signed else g.equal(base, 1)
    negative = g.less(exponent, 0)
    result = g.const(1, base.dtype)
    if base.dtype.itemsize > 1:  # far on, only whether it is odd matters: all but 0, 1 and -1 have long left the type
        odd = g.floor_divmod(exponent, two)[1]
        exponent = g.where(g.greater(exponent, 255), g.add(odd, 254), exponent)
    rest, square = exponent, base
    for _ in range(count):
        half, odd = g.floor_divmod(rest, two)
        result = g.where(g.equal(odd, 1), g.mul(result, square), result)
        rest, square = half, g.mul(square, square)
    # A negative exponent leaves only the parity of a base of 1 or -1, which its two's complement has.
    return result if not base.dtype.is_signed else g.where(g.and_(negative, g.not_(unit)), 0, result)


@lowering("aten::float_power")
def float_power(g: Builder, self: Any, exponent: Any) -> Tensor:
    """float_power.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor"""
    dtype = torch.complex128 if result_type(self, exponent).is_complex else torch.float64
    return g.pow(g.scalar(self, dtype), g.scalar(exponent, dtype))


@lowering("aten::ldexp")
def ldexp(g: Builder, self: Tensor, other: Tensor) -> Tensor:
    """ldexp.Tensor(Tensor self, Tensor other) -> Tensor"""
    if not self.is_float or other.is_inexact:
        power = g.pow(g.const(2, float_type(other)), g.cast(other, float_type(other)))
        result: Tensor = mul(g, self, power)
        return result
    # In two steps of float64, none of which leaves its range where the result doesn't.
    whole = g.clip(g.cast(other, torch.float64), -2000, 2000)
    half = g.floor(g.mul(whole, 0.5))
    x = g.cast(self, torch.float64)
    for step in (half, g.sub(whole, half)):
        x = g.mul(x, g.pow(g.const(2, torch.float64), step))
    return g.cast(x, self.dtype if _ldexp_keeps_type() else result_type(self, g.cast(other, torch.float32)))


@functools.cache
def _ldexp_keeps_type() -> bool:
    """Whether PyTorch's gives the type of its first argument; older versions multiply by a power in float32."""
    return torch.ldexp(torch.ones(1, dtype=torch.float16), torch.ones(1, dtype=torch.int32)).dtype == torch.float16


@lowering("aten::frexp")
def frexp(g: Builder, self: Tensor) -> tuple[Tensor, Tensor]:
    """frexp.Tensor(Tensor self) -> (Tensor mantissa, Tensor exponent)"""
    x = g.cast(self, torch.float64)
    plain = g.and_(g.not_(g.equal(x, 0)), g.less(g.op("Abs", x), math.inf))  # not of 0, inf and NaN
    size = g.where(plain, g.op("Abs", x), 0.5)
    exponent = g.add(g.floor(g.div(g.log(size), math.log(2))), 1)
    mantissa = g.div(size, g.pow(g.const(2, torch.float64), exponent))
    # the logarithm may be rounded to the wrong side of a whole number
    high, low = g.greater_equal(mantissa, 1), g.less(mantissa, 0.5)
    exponent = g.sub(g.add(exponent, g.cast(high, x.dtype)), g.cast(low, x.dtype))
    mantissa = g.div(x, g.pow(g.const(2, torch.float64), exponent))
    mantissa = g.where(plain, mantissa, x)
    return g.cast(mantissa, self.dtype), g.cast(g.where(plain, exponent, 0), torch.int32)


# -- neighbouring floats ----------------------------------------------------------------------------


@lowering("aten::nextafter")
def nextafter(g: Builder, self: Tensor, other: Tensor) -> Tensor:
    """nextafter(Tensor self, Tensor other) -> Tensor

    In float64 the step to the next number is exact; the power of two below a number is found by its logarithm.
    """
    dtype = result_type(self, other)
    info = torch.finfo(dtype)
    x, towards = (g.cast(v, torch.float64) for v in (self, other))
    size = g.abs(x)
    safe = g.clip(size, info.tiny, info.max)
    two = g.const(2, torch.float64)
    power = g.pow(two, g.floor(g.div(g.log(safe), math.log(2))))
    power = g.where(g.greater(power, safe), g.div(power, 2), power)
    power = g.where(g.less_equal(g.mul(power, 2), safe), g.mul(power, 2), power)
    up = g.less(x, towards)
    inwards = g.where(g.less(x, 0), g.cast(up, torch.float64), g.cast(g.not_(up), torch.float64))
    halved = g.and_(g.equal(safe, power), g.and_(g.greater(inwards, 0), g.greater(size, info.tiny)))
    gap = g.mul(g.where(halved, g.div(power, 2), power), info.eps)
    moved = g.where(up, g.add(x, gap), g.sub(x, gap))
    moved = g.where(g.equal(size, math.inf), g.mul(g.sign(x), info.max), moved)
    moved = g.where(g.and_(g.equal(moved, 0), g.less(x, 0)), -0.0, moved)
    result = g.cast(g.where(g.equal(x, towards), towards, moved), dtype)
    return g.where(g.or_(g.isnan(x), g.isnan(towards)), math.nan, result)
