"""Functions of one real number, accurate in the tensor's own type.

onnxruntime computes some of them for float32 only; float64 is spelled out with what it has in float64
(exp, log, sin, cos, tanh, sqrt), since a detour through float32 would lose half of the digits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import torch

from ..values import Tensor
from .base import Input
from .elementwise import ElementwiseWords

# Rational approximations of the error function: W. J. Cody, Rational Chebyshev approximations for the error
# function, Math. Comp. 23 (1969). Coefficients of erf on |x| <= 0.46875, and of exp(x*x) * erfc(x) on [0.46875, 4]
# and beyond, the highest power first.
_ERF_P = (1.85777706184603153e-1, 3.16112374387056560e0, 1.13864154151050156e2, 3.77485237685302021e2,
          3.20937758913846947e3)  # fmt: skip
_ERF_Q = (1.0, 2.36012909523441209e1, 2.44024637934444173e2, 1.28261652607737228e3, 2.84423683343917062e3)
_MID_P = (2.15311535474403846e-8, 5.64188496988670089e-1, 8.88314979438837594e0, 6.61191906371416295e1,
          2.98635138197400131e2, 8.81952221241769090e2, 1.71204761263407058e3, 2.05107837782607147e3,
          1.23033935479799725e3)  # fmt: skip
_MID_Q = (1.0, 1.57449261107098347e1, 1.17693950891312499e2, 5.37181101862009858e2, 1.62138957456669019e3,
          3.29079923573345963e3, 4.36261909014324716e3, 3.43936767414372164e3, 1.23033935480374942e3)  # fmt: skip
_FAR_P = (1.63153871373020978e-2, 3.05326634961232344e-1, 3.60344899949804439e-1, 1.25781726111229246e-1,
          1.60837851487422766e-2, 6.58749161529837803e-4)  # fmt: skip
_FAR_Q = (1.0, 2.56852019228982242e0, 1.87295284992346725e0, 5.27905102951428412e-1, 6.05183413124413191e-2,
          2.33520497626869185e-3)  # fmt: skip


class TranscendentalWords(ElementwiseWords):
    """Functions of one real number, accurate in the tensor's own type."""

    def relu(self, x: Tensor) -> Tensor:
        if x.is_float or (self.opset >= 14 and x.dtype.is_signed and x.dtype != torch.int64):
            return self.op("Relu", x)
        return self.extremum("Max", x, 0) if x.dtype.is_signed else x

    def floor(self, x: Tensor) -> Tensor:
        return self._rounded("Floor", x, "down")

    def ceil(self, x: Tensor) -> Tensor:
        return self._rounded("Ceil", x, "up")

    def _rounded(self, op_type: str, x: Tensor, towards: Literal["down", "up"]) -> Tensor:
        if not x.is_float:
            return x
        size = self.rounded_ratio(x, towards)
        if size is None:
            return self.op(op_type, x)
        result = self.cast(self.size(size), x.dtype)
        if result.value is not None:
            self.ratios[result.value] = (size, 1)
        return result

    def trunc(self, x: Tensor) -> Tensor:
        """Towards zero."""
        if not x.is_float:
            return x
        if self.rounded_ratio(x, "zero") is not None:
            return self.floor(x)
        return self.mul(self.op("Floor", self.abs(x)), self.sign(x))

    def round(self, x: Tensor) -> Tensor:
        """To the nearest whole number, halves to the even one."""
        if not x.is_float:
            return x
        if self.opset >= 11:
            return self.op("Round", x)
        low = self.floor(x)
        rest = self.sub(x, low)
        odd = self.not_(self.equal(self.mul(self.floor(self.mul(low, 0.5)), 2), low))
        up = self.or_(self.greater(rest, 0.5), self.and_(self.equal(rest, 0.5), odd))
        return self.add(low, self.cast(up, x.dtype))

    def fmod(self, a: Tensor, b: Tensor) -> Tensor:
        """What division towards zero leaves of floats; it has the sign of a.

        Below opset 10 it is exact where the quotient of float32 is less than 2**28 (of float64: to its rounding).
        """
        if self.opset >= 10:
            return self.op("Mod", a, b, fmod=1)
        x, y = (self.abs(self.cast(v, torch.float64)) for v in (a, b))
        rest = self.sub(x, self.mul(y, self.op("Floor", self.div(x, y))))
        rest = self.where(self.less(rest, 0), self.add(rest, y), rest)  # where the quotient was rounded up
        rest = self.where(self.and_(self.equal(y, math.inf), self.less(x, math.inf)), x, rest)
        return self.mul(self.cast(rest, a.dtype), self.sign(a))

    def sign(self, x: Tensor) -> Tensor:
        """1, 0 or -1."""
        if self.opset >= 9 or x.is_complex:
            return self.op("Sign", x)
        return self.sub(self.cast(self.greater(x, 0), x.dtype), self.cast(self.less(x, 0), x.dtype))

    def signbit(self, x: Tensor) -> Tensor:
        """Whether the sign is negative, that of -0.0 too."""
        negative = self.less(x, 0)
        return self.or_(negative, self.less(self.op("Reciprocal", x), 0)) if x.is_float else negative

    def abs(self, x: Tensor) -> Tensor:
        return self.op("Abs", x)

    def exp(self, x: Tensor) -> Tensor:
        return self.op("Exp", x)

    def log(self, x: Tensor) -> Tensor:
        return self.op("Log", x)

    def sqrt(self, x: Tensor) -> Tensor:
        return self.op("Sqrt", x)

    def sin(self, x: Tensor) -> Tensor:
        return self.op("Sin", x)

    def cos(self, x: Tensor) -> Tensor:
        return self.op("Cos", x)

    def tanh(self, x: Tensor) -> Tensor:
        return self.op("Tanh", x)

    def expm1(self, x: Tensor) -> Tensor:
        """exp(x) - 1, accurate near 0."""
        return self.mul(self.op("Tanh", self.mul(x, 0.5)), self.add(self.exp(x), 1))

    def log1p(self, x: Tensor) -> Tensor:
        """log(1 + x), accurate near 0: the rounding of 1 + x is made good by a quotient."""
        one_more = self.add(x, 1)
        rounded = self.sub(one_more, 1)
        plain = self.or_(self.equal(rounded, 0), self.equal(x, math.inf))
        return self.where(plain, x, self.mul(self.log(one_more), self.div(x, self.where(plain, 1, rounded))))

    def softplus(self, x: Tensor) -> Tensor:
        """log(1 + exp(x))."""
        if x.dtype != torch.float64:
            return self.op("Softplus", x)
        return self.add(self.relu(x), self.log1p(self.exp(self.neg(self.abs(x)))))

    def tan(self, x: Tensor) -> Tensor:
        return self.div(self.sin(x), self.cos(x)) if x.dtype == torch.float64 else self.op("Tan", x)

    def atan(self, x: Tensor) -> Tensor:
        if x.dtype != torch.float64:
            return self.op("Atan", x)
        # One step from the angle in float32: the tangent of what is missing is the missing angle.
        t = self.clip(x, -1e30, 1e30)
        near = self.op("Atan", t)
        sine, cosine = self.sin(near), self.cos(near)
        missing = self.div(self.sub(self.mul(t, cosine), sine), self.add(cosine, self.mul(t, sine)))
        return self.add(near, missing)

    def asin(self, x: Tensor) -> Tensor:
        if x.dtype != torch.float64:
            return self.op("Asin", x)
        return self.atan(self.div(x, self.sqrt(self.mul(self.sub(1, x), self.add(x, 1)))))

    def acos(self, x: Tensor) -> Tensor:
        if x.dtype != torch.float64:
            return self.op("Acos", x)
        return self.mul(self.atan(self.sqrt(self.div(self.sub(1, x), self.add(x, 1)))), 2)

    def sinh(self, x: Tensor) -> Tensor:
        if x.is_complex or (self.opset >= 9 and x.dtype != torch.float64):
            return self.op("Sinh", x)
        less_one = self.expm1(self.abs(x))
        half = self.mul(self.add(less_one, self.div(less_one, self.add(less_one, 1))), 0.5)
        finite = self.where(self.equal(less_one, math.inf), less_one, half)
        return self.mul(finite, self.sign(x))

    def cosh(self, x: Tensor) -> Tensor:
        if x.is_complex or (self.opset >= 9 and x.dtype != torch.float64):
            return self.op("Cosh", x)
        return self.mul(self.add(self.exp(x), self.exp(self.neg(x))), 0.5)

    def asinh(self, x: Tensor) -> Tensor:
        if x.is_complex or (self.opset >= 9 and x.dtype != torch.float64):
            return self.op("Asinh", x)
        size = self.abs(x)
        root = self.sqrt(self.add(self.mul(size, size), 1))
        near = self.log1p(self.add(size, self.mul(size, self.div(size, self.add(root, 1)))))
        far = self.add(self.log(size), math.log(2))
        return self.mul(self.where(self.greater(size, 1e8), far, near), self.sign(x))

    def acosh(self, x: Tensor) -> Tensor:
        if x.is_complex or (self.opset >= 9 and x.dtype != torch.float64):
            return self.op("Acosh", x)
        above = self.sub(x, 1)
        root = self.mul(self.sqrt(above), self.sqrt(self.add(x, 1)))  # two roots: NaN for all numbers below 1
        near = self.log1p(self.add(above, root))
        return self.where(self.greater(x, 1e8), self.add(self.log(x), math.log(2)), near)

    def atanh(self, x: Tensor) -> Tensor:
        if x.is_complex or (self.opset >= 9 and x.dtype != torch.float64):
            return self.op("Atanh", x)
        return self.mul(self.log1p(self.div(self.mul(x, 2), self.sub(1, x))), 0.5)

    # -- the error function -----------------------------------------------------------------------

    def erf(self, x: Tensor) -> Tensor:
        if x.is_complex or (self.opset >= 9 and x.dtype != torch.float64):
            return self.op("Erf", x)
        size = self.abs(x)
        far = self.mul(self.sub(1, self.mul(self.exp(self.neg(self.mul(x, x))), self._erfcx(size))), self.sign(x))
        return self.where(self.less_equal(size, 0.46875), self._erf_near(x), far)

    def erfc(self, x: Tensor) -> Tensor:
        """1 - erf(x), accurate where that is small. Computed in float64."""
        y = self.cast(x, torch.float64)
        size = self.abs(y)
        tail = self.mul(self.exp(self.neg(self.mul(y, y))), self._erfcx(size))
        tail = self.where(self.less(y, 0), self.sub(2, tail), tail)
        return self.cast(self.where(self.less_equal(size, 0.46875), self.sub(1, self._erf_near(y)), tail), x.dtype)

    def erfcx(self, x: Tensor) -> Tensor:
        """exp(x*x) * erfc(x). Computed in float64."""
        y = self.cast(x, torch.float64)
        size = self.abs(y)
        square = self.exp(self.mul(y, y))
        tail = self._erfcx(size)
        tail = self.where(self.less(y, 0), self.sub(self.mul(square, 2), tail), tail)
        near = self.mul(square, self.sub(1, self._erf_near(y)))
        return self.cast(self.where(self.less_equal(size, 0.46875), near, tail), x.dtype)

    def _erf_near(self, x: Tensor) -> Tensor:
        square = self.mul(x, x)
        return self.mul(x, self.div(self.polynomial(square, _ERF_P), self.polynomial(square, _ERF_Q)))

    def _erfcx(self, x: Tensor) -> Tensor:
        """exp(x*x) * erfc(x) for x >= 0.46875."""
        near = self.clip(x, 0, 4)
        middle = self.div(self.polynomial(near, _MID_P), self.polynomial(near, _MID_Q))
        safe = self.extremum("Max", x, 1.0)
        inverse = self.op("Reciprocal", self.mul(safe, safe))
        rest = self.mul(inverse, self.div(self.polynomial(inverse, _FAR_P), self.polynomial(inverse, _FAR_Q)))
        return self.where(self.less_equal(x, 4), middle, self.div(self.sub(1 / math.sqrt(math.pi), rest), safe))

    def polynomial(self, x: Tensor, coefficients: Sequence[Input]) -> Tensor:
        """By Horner's rule; the coefficient of the highest power comes first."""
        first, second, *others = coefficients
        total = self.add(x if first == 1 else self.mul(x, first), second)
        for coefficient in others:
            total = self.add(self.mul(total, x), coefficient)
        return total
