"""Arithmetic, comparison, logic, casts."""

from __future__ import annotations

import functools
import math
from typing import Any, Literal, TypeGuard

import torch

from ...dims import Size, broadcast_shapes, known_ge
from ...dtypes import is_float8, is_integer
from ..values import Tensor
from .base import Input, Words

# Floats that hold sizes exactly.
_HOLD_SIZES = (torch.float32, torch.float64)
_WIDER = {torch.int8: torch.int32, torch.int16: torch.int32, torch.int32: torch.int64}


class ElementwiseWords(Words):
    """Arithmetic, comparison, logic, casts."""

    def binary(self, op_type: str, a: Input, b: Input) -> Tensor:
        """A two-sided op on tensors of one dtype; a number takes the dtype of the other side."""
        if not isinstance(a, Tensor):
            assert isinstance(b, Tensor)
            a = self.scalar(a, b.dtype)
        elif not isinstance(b, Tensor):
            b = self.scalar(b, a.dtype)
        result = self.op(op_type, a, b)
        return result

    def add(self, a: Input, b: Input) -> Tensor:
        return self.binary("Add", a, b)

    def sub(self, a: Input, b: Input) -> Tensor:
        return self.binary("Sub", a, b)

    def mul(self, a: Input, b: Input) -> Tensor:
        return self.binary("Mul", a, b)

    def div(self, a: Input, b: Input) -> Tensor:
        """True division of floats; of integers, division that truncates towards zero."""
        return self.binary("Div", a, b)

    def pow(self, a: Input, b: Input) -> Tensor:
        return self.binary("Pow", a, b)

    def equal(self, a: Input, b: Input) -> Tensor:
        if self.opset >= 11 or not (_may_be_nan(a) or _may_be_nan(b)):
            return self.binary("Equal", a, b)
        same = self.not_(self.or_(self.less(a, b), self.greater(a, b)))  # or one is NaN
        return self._of_numbers(same, a, b)

    def _of_numbers(self, result: Tensor, a: Input, b: Input) -> Tensor:
        """A comparison where neither operand is NaN, else False."""
        return functools.reduce(self.and_, [self.not_(self.isnan(x)) for x in (a, b) if _may_be_nan(x)], result)

    def less(self, a: Input, b: Input) -> Tensor:
        return self.binary("Less", a, b)

    def greater(self, a: Input, b: Input) -> Tensor:
        return self.binary("Greater", a, b)

    def less_equal(self, a: Input, b: Input) -> Tensor:
        if self.opset >= 12:
            return self.binary("LessOrEqual", a, b)
        return self._of_numbers(self.not_(self.greater(a, b)), a, b)

    def greater_equal(self, a: Input, b: Input) -> Tensor:
        return self.less_equal(b, a)

    def isnan(self, x: Tensor) -> Tensor:
        if self.opset >= 9 or x.is_complex:  # which `pairs` spells out itself
            return self.op("IsNaN", x)
        if not x.is_float:  # no number of them is above infinity
            return self.not_(self.equal(x, x))
        return self.not_(self.or_(self.less(x, math.inf), self.greater(x, 0)))

    def not_(self, x: Tensor) -> Tensor:
        result = self.op("Not", x)
        return result

    def and_(self, a: Tensor, b: Tensor) -> Tensor:
        return self.binary("And", a, b)

    def or_(self, a: Tensor, b: Tensor) -> Tensor:
        return self.binary("Or", a, b)

    def neg(self, x: Tensor) -> Tensor:
        result = self.op("Neg", x)
        return result

    def extremum(self, op_type: str, a: Input, b: Input) -> Tensor:
        """Min or Max of two tensors; integers below opset 12 by comparison."""
        if not isinstance(a, Tensor):
            a, b = b, a
        assert isinstance(a, Tensor)
        if self.opset < 12 and not a.is_float:
            smaller = self.less(a, b)
            other = b if isinstance(b, Tensor) else self.scalar(b, a.dtype)
            return self.where(smaller, a, other) if op_type == "Min" else self.where(smaller, other, a)
        if self.opset < 8 and a.dtype == torch.float64:  # which has kernels for float32 only
            b = b if isinstance(b, Tensor) else self.scalar(b, a.dtype)
            beyond = self.less(b, a) if op_type == "Min" else self.less(a, b)
            return self.where(self.or_(beyond, self.isnan(b)), b, a)
        if self.opset < 8:  # which doesn't broadcast
            b = b if isinstance(b, Tensor) else self.scalar(b, a.dtype)
            target = broadcast_shapes(a.shape, b.shape)
            a, b = self.expand(a, target), self.expand(b, target)
        return self.binary(op_type, a, b)

    def clip(self, x: Tensor, low: Input | None = None, high: Input | None = None) -> Tensor:
        """Clip to bounds that are 0-d or numbers."""
        if low is None and high is None:
            return x
        # On its open side Clip would clip infinity to the largest finite number.
        if self.opset >= 8 and high is None and low is not None:
            return self.extremum("Max", x, low)
        if self.opset >= 8 and low is None and high is not None:
            return self.extremum("Min", x, high)
        numbers = all(b is None or isinstance(b, (int, float)) for b in (low, high))
        if isinstance(low, (int, float)) and isinstance(high, (int, float)) and low > high:
            low = high  # the upper bound wins
        if self.opset < 11 and numbers and x.is_float and x.dtype != torch.float64:
            result = self.op("Clip", x, min=_bound(low, -math.inf), max=_bound(high, math.inf))
        elif self.opset >= 12 or (self.opset >= 11 and x.is_float and x.dtype != torch.float64):
            bounds = [None if b is None else self.scalar(b, x.dtype) for b in (low, high)]
            result = self.op("Clip", x, *bounds)
        else:
            result = x if low is None else self.extremum("Max", x, low)
            result = result if high is None else self.extremum("Min", result, high)
        assert isinstance(result, Tensor)
        return result

    def where(self, condition: Tensor, a: Input, b: Input) -> Tensor:
        """Elementwise choice, with broadcasting of all three."""
        if not isinstance(a, Tensor):
            assert isinstance(b, Tensor)
            a = self.scalar(a, b.dtype)
        elif not isinstance(b, Tensor):
            b = self.scalar(b, a.dtype)
        condition = self.cast(condition, torch.bool)
        if a.dtype == torch.bool:
            return self.or_(self.and_(condition, a), self.and_(self.not_(condition), b))
        if self.opset < 9 and not (condition.is_constant and a.is_constant and b.is_constant):
            if not is_integer(a.dtype):
                return self.chosen(condition, a, b)
            chosen = self.cast(condition, a.dtype)
            return self.add(self.mul(chosen, a), self.mul(self.sub(1, chosen), b))
        result = self.op("Where", condition, a, b)
        return result

    def cast(self, x: Tensor, dtype: torch.dtype) -> Tensor:
        """As `Tensor.to(dtype)`: floats are cut to integers, anything but zero is True."""
        if x.dtype == dtype:
            return x
        if is_integer(dtype):
            if x.is_known and x.data is not None and x.data.dtype == object:
                return self.known(x.data, dtype)
            whole = self.rounded_ratio(x, "zero")
            if whole is not None:
                return self.cast(self.size(whole), dtype)
        if self.opset < 13 and torch.bfloat16 in (x.dtype, dtype) and not x.is_known:
            self.require(13, "a conversion from or to bfloat16")
        if (is_float8(x.dtype) or is_float8(dtype)) and not x.is_known:
            self.require(19, "a conversion from or to float8")
        saturate = 0 if is_float8(dtype) and not _saturates(dtype) else None
        result = self.op("Cast", x, to=dtype, saturate=saturate)
        if dtype in _HOLD_SIZES and x.dims == () and x.data is not None and x.data.dtype == object:
            if result.value is not None:
                self.ratios[result.value] = (x.data.item(), 1)
        return result

    def rounded_ratio(self, x: Tensor, towards: Literal["down", "up", "zero"]) -> Size | None:
        """A float tensor that is a quotient of sizes, rounded: a size again."""
        ratio = None if x.value is None else self.ratios.get(x.value)
        if ratio is None or x.dims != ():
            return None
        size, divisor = ratio
        if towards == "up":
            return -(-size // divisor)
        return size // divisor if towards == "down" or known_ge(size, 0) else None

    def floor_divmod(self, a: Tensor, b: Tensor, *, truncates: bool = False) -> tuple[Tensor, Tensor]:
        """Quotient rounded down, and remainder of the divisor's sign, of integer tensors.

        `truncates` says that both are non-negative, where truncating division is the same.
        """
        if truncates:
            quotient = self.div(a, b)
            return quotient, (self.op("Mod", a, b) if self.opset >= 10 else self.sub(a, self.mul(quotient, b)))
        if self.opset >= 10:
            remainder = self.op("Mod", a, b)  # takes the divisor's sign, as Python's
            # a - remainder is less than a, which may be the least number of its type
            wide = _WIDER.get(a.dtype, a.dtype)
            whole, divisor = self.sub(self.cast(a, wide), self.cast(remainder, wide)), self.cast(b, wide)
            return self.cast(self.div(whole, divisor), a.dtype), remainder
        quotient = self.div(a, b)
        rest = self.sub(a, self.mul(quotient, b))
        wrong = self.and_(self.not_(self.equal(rest, 0)), self.op("Xor", self.less(rest, 0), self.less(b, 0)))
        quotient = self.sub(quotient, self.cast(wrong, a.dtype))
        return quotient, self.sub(a, self.mul(quotient, b))


def _may_be_nan(x: Input) -> TypeGuard[Tensor]:
    return isinstance(x, Tensor) and x.is_float


def _bound(value: Any, otherwise: float) -> float:
    return otherwise if value is None else float(value)


def _saturates(dtype: torch.dtype) -> bool:
    """Whether PyTorch makes the largest number of what is too large; in some types and versions it is infinite, or NaN."""
    return bool(torch.tensor(1e6).to(dtype).to(torch.float32).isfinite())
