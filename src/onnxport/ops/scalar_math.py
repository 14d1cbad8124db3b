"""Arithmetic of Python numbers, as scripted programs and sizes need it."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import torch

from .. import dims as sizes
from ..dims import Dim, Size
from ..errors import LoweringError
from ..lower.builder import Builder
from ..lower.registry import find, lowering
from ..lower.values import Number, Scalar, Tensor
from .scalars import as_tensor, number_of


def _known(*values: Any) -> bool:
    return not any(isinstance(v, (Dim, Scalar)) for v in values)


def _whole(*values: Any) -> bool:
    return all(isinstance(v, (int, Dim)) for v in values)


def _floats(g: Builder, *values: Number) -> list[Tensor]:
    return [g.cast(as_tensor(g, v), torch.float64) for v in values]


def _overloads(names: Sequence[str], kinds: Sequence[str]) -> list[str]:
    return [f"{name}.{kind}" for name in names for kind in kinds]


# The overload "number" is the evaluator's name for the one without a name that takes two Scalars.
_PAIRS = ("int", "float", "int_float", "float_int", "number", "complex", "int_complex", "complex_int",
          "float_complex", "complex_float")  # fmt: skip


def _binary(
    names: Sequence[str],
    python: Callable[[Any, Any], Any],
    emit: Callable[[Builder, Tensor, Tensor], Tensor],
    *,
    on_sizes: bool = True,
    kinds: Sequence[str] = _PAIRS,
) -> None:
    """Register arithmetic: `python` on known numbers and (`on_sizes`) on `Dim`s, `emit` on float64 tensors."""

    @lowering(*_overloads(names, kinds))
    def lower(g: Builder, a: Any, b: Any) -> Any:
        """add.int(int a, int b) -> int, and its like"""
        if _known(a, b) or (on_sizes and _whole(a, b)):
            return python(a, b)
        return number_of(g, emit(g, *_floats(g, a, b)))


def _floor_div(g: Builder, a: Tensor, b: Tensor) -> Tensor:
    return g.op("Floor", g.div(a, b))


def _remainder(g: Builder, a: Tensor, b: Tensor) -> Tensor:
    return g.sub(a, g.mul(_floor_div(g, a, b), b))


def _nearest_remainder(g: Builder, a: Tensor, b: Tensor) -> Tensor:
    """What is left of a beside the multiple of b next to it."""
    return g.sub(a, g.mul(g.round(g.div(a, b)), b))


_binary(["aten::add"], operator.add, lambda g, a, b: g.add(a, b))
_binary(["aten::sub"], operator.sub, lambda g, a, b: g.sub(a, b))
_binary(["aten::mul"], operator.mul, lambda g, a, b: g.mul(a, b))
_binary(["aten::div"], operator.truediv, lambda g, a, b: g.div(a, b), on_sizes=False)
_binary(["aten::floordiv"], operator.floordiv, _floor_div)
_binary(["aten::remainder"], operator.mod, _remainder)
_binary(["aten::fmod"], math.fmod, lambda g, a, b: g.fmod(a, b), on_sizes=False)


@lowering("aten::pow.int", "aten::pow.float", "aten::pow.int_float", "aten::pow.float_int", "aten::pow.Scalar_Scalar")
def pow_float(g: Builder, a: Any, b: Any) -> Any:
    """pow.int(int a, int b) -> float"""
    if _known(a, b):
        return float(a) ** b
    return number_of(g, g.pow(*_floats(g, a, b)))


@lowering("aten::pow.int_to_int")
def pow_int(g: Builder, a: Size, b: Size) -> Size:
    """pow.int_to_int(int a, int b) -> int"""
    if isinstance(b, int) and b >= 0:
        return sizes.product([a] * b) if isinstance(a, Dim) else a**b
    return g.int_of(g.cast(g.pow(*_floats(g, a, b)), torch.int64))


@lowering("aten::__round_to_zero_floordiv.int", "aten::__round_to_zero_floordiv")
def div_to_zero(g: Builder, a: Size, b: Size) -> Size:
    """__round_to_zero_floordiv(int a, int b) -> int"""
    if sizes.known_ge(a, 0) and sizes.known_ge(b, 0):
        return a // b
    if isinstance(a, int) and isinstance(b, int):
        return -(-a // b) if (a < 0) != (b < 0) else a // b
    return g.int_of(g.div(g.size(a), g.size(b)))


def _rounding(name: str, python: Callable[[float], int], op_type: str) -> None:
    @lowering(f"aten::{name}.float", f"aten::{name}.int", f"aten::{name}.Scalar")
    def lower(g: Builder, a: Any) -> Any:
        """ceil.float(float a) -> int"""
        if isinstance(a, Scalar):
            return g.int_of(g.cast(g.op(op_type, as_tensor(g, a)), torch.int64))
        return a if isinstance(a, (int, Dim)) else python(a)


_rounding("ceil", math.ceil, "Ceil")
_rounding("floor", math.floor, "Floor")


@lowering("aten::round.float", "aten::round.int", "aten::round.Scalar")
def round_(g: Builder, a: Any) -> Number:
    """round.float(float a) -> float"""
    return float(round(a)) if _known(a) else number_of(g, g.round(*_floats(g, a)))


@lowering("python::round")
def round_to_digits(g: Builder, a: Any, digits: int | None = None) -> Any:
    """round(float a, int? digits=None): an int without digits, as Python has it"""
    if isinstance(a, Dim) and (digits is None or digits >= 0):
        return a
    if _known(a, digits):
        return round(a, digits)
    if digits is None:
        return g.int_of(g.cast(g.round(*_floats(g, a)), torch.int64))
    raise LoweringError("round() to digits of a number known only at run time; round a tensor")


@lowering("python::sym_sum")
def sum_of_sizes(g: Builder, terms: Sequence[Size]) -> Size:
    """sym_sum(int[] terms) -> int"""
    return sum(terms, start=0)


@lowering("aten::neg.int", "aten::neg.float", "aten::neg.Scalar", "aten::neg.complex")
def neg(g: Builder, a: Any) -> Any:
    """neg.int(int a) -> int"""
    return number_of(g, g.neg(as_tensor(g, a))) if isinstance(a, Scalar) else -a


@lowering("prim::abs", "aten::fabs.int", "aten::fabs.float")
def abs_(g: Builder, a: Any) -> Any:
    """prim::abs.int(int a) -> int"""
    if isinstance(a, Scalar):
        return number_of(g, g.op("Abs", as_tensor(g, a)))
    return sizes.maximum(a, -a) if isinstance(a, Dim) else abs(a)


def _register_function(name: str, python: Callable[..., Any], of_tensors: str = "") -> None:
    """Register a function of Python's math module: the operator of tensors of this name, in float64."""
    kinds = ["int", "float", "int_float", "float_int", "int_int", "float_float", "Scalar_Scalar"]
    if name != "copysign":  # whose overload of this name takes a tensor
        kinds.append("Scalar")

    @lowering(*_overloads([f"aten::{name}"], kinds))
    def lower(g: Builder, *numbers: Any) -> Any:
        """sqrt.int(int a) -> float, and its like"""
        if _known(*numbers):
            return python(*numbers)
        found = find(f"aten::{of_tensors or name}")
        if found is None:
            raise LoweringError(f"math.{name} of a number known only at run time; compute it with a tensor")
        return number_of(g, found(g, *_floats(g, *numbers)))


for _name in (
    "sqrt", "exp", "sin", "cos", "tan", "tanh", "asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh",
    "atanh", "erf", "erfc", "log10", "log1p", "expm1", "lgamma", "atan2", "copysign", "isnan", "isinf", "isfinite",
):  # fmt: skip
    _register_function(_name, getattr(math, _name))
for _name, _tensors in {"degrees": "rad2deg", "radians": "deg2rad", "gamma": "-"}.items():
    _register_function(_name, getattr(math, _name), _tensors)


@lowering("aten::log.int", "aten::log.float", "aten::log.Scalar")
def log(g: Builder, a: Any) -> Number:
    """log.float(float a) -> float"""
    return math.log(a) if _known(a) else number_of(g, g.log(*_floats(g, a)))


@lowering("aten::gcd.int")
def gcd(g: Builder, a: Size, b: Size) -> Size:
    """gcd.int(int a, int b) -> int"""
    if isinstance(a, int) and isinstance(b, int):
        return math.gcd(a, b)
    of_tensors = find("aten::gcd")
    assert of_tensors is not None
    return g.int_of(of_tensors(g, g.size(a), g.size(b)), minimum=0)


@lowering("aten::log.int_int", "aten::log.float_float", "aten::log.int_float", "aten::log.float_int")
def log_base(g: Builder, a: Any, b: Any) -> Number:
    """log.float_float(float a, float b) -> float"""
    if _known(a, b):
        return math.log(a, b)
    x, base = [g.op("Log", t) for t in _floats(g, a, b)]
    return number_of(g, g.div(x, base))


# -- smallest and largest -------------------------------------------------------------------------


def extremum(g: Builder, name: str, values: Sequence[Any]) -> Any:
    """min or max of numbers."""
    if _whole(*values):
        return sizes.minimum(*values) if name == "min" else sizes.maximum(*values)
    if _known(*values):
        return min(values) if name == "min" else max(values)
    result, *others = _floats(g, *values)
    for other in others:
        result = g.extremum("Min" if name == "min" else "Max", result, other)
    return number_of(g, result)


def _register_extremum(name: str) -> None:
    @lowering(f"prim::{name}")
    def lower(g: Builder, a: Any, b: Any = None) -> Any:
        """prim::min.int(int a, int b) -> int, or of a list"""
        if isinstance(a, list):
            if isinstance(b, list):
                raise LoweringError(f"{name} of two lists; compare their elements")
            return extremum(g, name, a)
        return extremum(g, name, [a, b])


_register_extremum("min")
_register_extremum("max")


@lowering("aten::sum.int", "aten::sum.float", "aten::sum.bool", "aten::sum.complex")
def sum_(g: Builder, self: list[Any]) -> Any:
    """sum.int(int[] self) -> int"""
    if _known(*self) or _whole(*self):
        return sum(self)
    total, *others = _floats(g, *self)
    for other in others:
        total = g.add(total, other)
    return number_of(g, total)


# -- ranges ---------------------------------------------------------------------------------------


@lowering("aten::__range_length")
def range_length(g: Builder, lo: Size, hi: Size, step: Size) -> Size:
    """__range_length(int lo, int hi, int step) -> int"""
    if not isinstance(step, int):
        raise LoweringError("a range whose step is known only at run time; give a constant step")
    return sizes.maximum(-((lo - hi) // step), 0)


@lowering("aten::__derive_index")
def derive_index(g: Builder, index: Size, start: Size, step: Size) -> Size:
    """__derive_index(int index, int start, int step) -> int"""
    return start + index * step


_binary(["aten::mathremainder"], math.remainder, _nearest_remainder, on_sizes=False)


@lowering("aten::divmod.int", "aten::divmod.float", "aten::divmod.int_float", "aten::divmod.float_int")
def divmod_(g: Builder, x: Any, y: Any) -> tuple[Any, Any]:
    """divmod.int(int x, int y) -> (int, int)"""
    if _known(x, y) or _whole(x, y):
        return x // y, x % y
    a, b = _floats(g, x, y)
    return number_of(g, _floor_div(g, a, b)), number_of(g, _remainder(g, a, b))


@lowering("aten::modf")
def modf(g: Builder, a: Any) -> tuple[Any, Any]:
    """modf(float a) -> (float, float)"""
    if _known(a):
        return math.modf(a)
    (x,) = _floats(g, a)
    whole = g.trunc(x)
    return number_of(g, g.sub(x, whole)), number_of(g, whole)


@lowering("aten::factorial.int")
def factorial(g: Builder, a: Size) -> int:
    """factorial.int(int a) -> int"""
    if not isinstance(a, int):
        raise LoweringError("the factorial of a number known only at run time; use torch.lgamma(n + 1).exp()")
    return math.factorial(a)
