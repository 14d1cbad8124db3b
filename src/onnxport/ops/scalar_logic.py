"""Comparison and logic of Python values."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import torch

from .. import dims as sizes
from ..dims import Dim, Size
from ..errors import LoweringError
from ..lower.builder import Builder
from ..lower.facts import Claim, Equal, known
from ..lower.registry import find, lowering
from ..lower.values import Number, Scalar, Tensor
from .scalars import as_tensor, number_of

# -- comparison -----------------------------------------------------------------------------------

_PYTHON: dict[str, Callable[[Any, Any], bool]] = {
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
}  # fmt: skip
_ON_SIZES: dict[str, Callable[[Size, Size], bool | None]] = {
    "eq": sizes.known_eq, "lt": sizes.known_lt, "le": sizes.known_le,
    "gt": lambda a, b: sizes.known_lt(b, a), "ge": sizes.known_ge,
}  # fmt: skip


@lowering("aten::sym_ite")
def sym_ite(g: Builder, b: Number, t: Number, f: Number) -> Number:
    """sym_ite(bool b, t t, t f) -> t: `t if b else f`"""
    if isinstance(b, bool):
        return t if b else f
    return number_of(g, g.where(as_tensor(g, b), as_tensor(g, t), as_tensor(g, f)))


def compare(g: Builder, name: str, a: Any, b: Any) -> Number:
    """`a == b` and the like of numbers, strings or lists of them: a bool, or a `Scalar` where it isn't known."""
    if isinstance(a, list) and isinstance(b, list):
        return _compare_lists(g, name, a, b)
    if not any(isinstance(v, (Dim, Scalar)) for v in (a, b)):
        return _PYTHON[name](a, b)
    if name == "ne":
        return not_(g, compare(g, "eq", a, b))
    if all(isinstance(v, (int, Dim)) for v in (a, b)):
        decided = _ON_SIZES[name](a, b)
        if decided is not None:
            return decided
        chosen = _by_case(g, name, a - b)
        if chosen is not None:
            return chosen
    x, y = as_tensor(g, a), as_tensor(g, b)
    if x.dtype != y.dtype:
        x, y = g.cast(x, torch.float64), g.cast(y, torch.float64)
    emit = {"eq": g.equal, "lt": g.less, "le": g.less_equal, "gt": g.greater, "ge": g.greater_equal}[name]
    result = number_of(g, emit(x, y))
    if name == "eq":
        g.claims.add(result, True, *_equality(a, b))
    return result


def _by_case(g: Builder, name: str, difference: Size) -> Number | None:
    """The comparison of a difference with 0, where a condition known already decides it."""
    cases = g.claims.cases(difference)
    if cases is None:
        return None
    condition, *results = cases[0], *(_ON_SIZES[name](x, 0) for x in cases[1:])
    if None in results:
        return None
    if results[0] == results[1]:
        return results[0]
    return condition if results[0] else not_(g, condition)


def _equality(a: Any, b: Any) -> list[Claim]:
    """What it says that two numbers are equal."""
    if all(isinstance(v, (int, Dim)) for v in (a, b)):
        return [Equal(a, b)]
    scalar, number = (a, b) if isinstance(a, Scalar) else (b, a)
    if isinstance(scalar, Scalar) and isinstance(number, (int, float)) and number != 0:  # or it may be -0.0
        return known(scalar, scalar.kind(number))
    return []


def _compare_lists(g: Builder, name: str, a: list[Any], b: list[Any]) -> Number:
    if name == "ne":
        return not_(g, compare(g, "eq", a, b))
    if name != "eq":
        raise LoweringError("lists are compared by order here; compare their elements")
    if len(a) != len(b):
        return False
    result: Number = True
    for x, y in zip(a, b):
        result = both(g, result, compare(g, "eq", x, y))
    return result


def _register_comparison(name: str) -> None:
    kinds = ("int", "float", "bool", "device", "number", "int_float", "float_int", "complex", "enum")

    @lowering(*[f"aten::{name}.{kind}" for kind in kinds])
    def lower(g: Builder, a: Any, b: Any) -> Number:
        """eq.int(int a, int b) -> bool, and its like"""
        return compare(g, name, a, b)


for _name in _PYTHON:
    _register_comparison(_name)


# -- logic ----------------------------------------------------------------------------------------


@lowering("aten::Bool", "aten::BoolImplicit")
def bool_(g: Builder, a: Any) -> Any:
    """Bool.Tensor(Tensor a) -> bool"""
    if isinstance(a, Dim):
        return compare(g, "ne", a, 0)
    if isinstance(a, Scalar):
        a = a.tensor
    return number_of(g, g.cast(a, torch.bool)) if isinstance(a, Tensor) else bool(a)


@lowering("aten::__not__")
def not_(g: Builder, self: Any) -> Number:
    """__not__(bool self) -> bool"""
    if not isinstance(self, Scalar):
        return not self
    result = number_of(g, g.not_(as_tensor(g, self)))
    g.claims.negation(self, result)
    return result


def both(g: Builder, a: Any, b: Any) -> Any:
    """a and b"""
    if a is False or b is False:
        return False
    if a is True or b is True:
        return b if a is True else a
    result = number_of(g, g.and_(as_tensor(g, a), as_tensor(g, b)))
    g.claims.conjunction(result, [a, b])
    return result


@lowering("aten::__and__.bool")
def and_(g: Builder, a: Any, b: Any) -> Any:
    """__and__.bool(bool a, bool b) -> bool"""
    return both(g, a, b)


@lowering("aten::__or__.bool")
def or_(g: Builder, a: Any, b: Any) -> Number:
    """__or__.bool(bool a, bool b) -> bool"""
    return not_(g, both(g, not_(g, a), not_(g, b)))


@lowering("aten::__xor__.bool")
def xor(g: Builder, a: Any, b: Any) -> Number:
    """__xor__.bool(bool a, bool b) -> bool"""
    if isinstance(a, bool) and isinstance(b, bool):
        return a != b
    return number_of(g, g.op("Xor", as_tensor(g, a), as_tensor(g, b)))


def _register_bits(name: str, python: Callable[[int, int], int]) -> None:
    @lowering(f"aten::{name}.int")
    def lower(g: Builder, a: Size, b: Size) -> Size:
        """__and__.int(int a, int b) -> int"""
        if isinstance(a, int) and isinstance(b, int):
            return python(a, b)
        if isinstance(b, int) and name in ("__lshift__", "__rshift__"):
            return a * (1 << b) if name == "__lshift__" else a // (1 << b)
        of_tensors = find(f"aten::{name}")
        assert of_tensors is not None
        return g.int_of(of_tensors(g, g.size(a), g.size(b)))


for _name, _python in {
    "__and__": operator.and_, "__or__": operator.or_, "__xor__": operator.xor,
    "__lshift__": operator.lshift, "__rshift__": operator.rshift,
}.items():  # fmt: skip
    _register_bits(_name, _python)
