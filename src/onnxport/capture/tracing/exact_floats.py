"""Floats that are computed from sizes.

In a trace `n * 0.57` is a tensor of 32 bits; Python computes with 64. Where a whole number is made of it the difference
shows: `math.floor(n * 0.57)` is 56 for 100, not 57. So what such a float was computed from is kept with it, and where it is
rounded, or read, it is computed anew.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy
import torch

from .traced_sizes import MADE_OF, WHOLE, as_size, is_bool, is_of_sizes, is_size, is_traced_number

Function: TypeAlias = Callable[..., Any]


def _divided(divisor: torch.Tensor, number: Any) -> torch.Tensor:
    """`number / divisor`; torch multiplies with the reciprocal."""
    return torch.as_tensor(number, dtype=torch.float64) / divisor


def _dividing(divisor: torch.Tensor, number: Any) -> Any:
    """`number / divisor`; torch leaves an array to numpy, past the trace."""
    number = torch.from_numpy(number.copy()) if isinstance(number, numpy.ndarray) else number
    return torch.Tensor.__rdiv__(divisor, number)  # type: ignore[attr-defined]


# Arithmetic of tensors as operators of Python call it, and the same on floats of 64 bits.
_OF_FLOATS: dict[Function, Function] = {
    **{
        function: function
        for function in (
            torch.Tensor.add, torch.Tensor.sub, torch.Tensor.mul, torch.Tensor.div, torch.Tensor.neg, torch.Tensor.abs,
            torch.Tensor.pow, torch.Tensor.__pow__, torch.Tensor.remainder, torch.Tensor.__rsub__, torch.Tensor.__rpow__,
            torch.Tensor.__rmod__, torch.Tensor.__floordiv__, torch.Tensor.__rfloordiv__,
        )
    },
    _dividing: _divided,
}  # fmt: skip
_INSTEAD_OF: dict[Function, Function] = {_dividing: torch.Tensor.__rdiv__}  # type: ignore[attr-defined]
_EXACT = "_onnxport_exact"
_POWERS = (torch.Tensor.pow, torch.Tensor.__pow__)
# Which argument divides.
_DIVISORS: dict[Function, int] = {
    torch.Tensor.div: 1, torch.Tensor.remainder: 1, torch.Tensor.__floordiv__: 1,
    _dividing: 0, torch.Tensor.__rfloordiv__: 0, torch.Tensor.__rmod__: 0,
}  # fmt: skip


def arithmetic_watched() -> dict[Function, Function]:
    """The functions that compute such floats, and what calls them and keeps what they are computed from; and those that
    compare them."""
    return {
        **{_INSTEAD_OF.get(function, function): keeping(function, exactly) for function, exactly in _OF_FLOATS.items()},
        **{function: _comparing(function) for function in comparisons()},
    }


def comparisons() -> list[Function]:
    """The functions that compare, as operators of Python call them."""
    return [getattr(torch.Tensor, name) for name in _COMPARISONS]


_COMPARISONS = ("__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__ne__", "lt", "le", "gt", "ge", "eq", "ne")


def _comparing(function: Function) -> Function:
    def compare(*args: Any, **kwargs: Any) -> Any:
        if any(isinstance(x, numpy.ndarray) for x in args) and any(map(is_traced_number, args)):
            return NotImplemented  # so that numpy compares
        if any(hasattr(x, MADE_OF) for x in args) and torch._C._get_tracing_state() and all(map(is_of_sizes, args)):
            return function(*(_operand(exact(x) if isinstance(x, torch.Tensor) else x) for x in args), **kwargs)
        return function(*args, **kwargs)

    return compare


def keeping(function: Function, exactly: Function) -> Function:
    """What calls a function, and keeps of a float of sizes what it is computed from: by `exactly`, with 64 bits."""

    def arithmetic(*args: Any, **kwargs: Any) -> Any:
        if any(map(is_bool, args)) and all(is_of_sizes(x) or is_bool(x) for x in args):
            args = tuple(_counted(x) if is_bool(x) else x for x in args)
        if function in _DIVISORS and torch._C._get_tracing_state() and all(map(is_of_sizes, args)):
            if len(args) == 2 and float(args[_DIVISORS[function]]) == 0:
                raise ZeroDivisionError("division by zero")  # as numbers of Python do
        inverse = function in _POWERS and len(args) == 2 and _is_negative(args[1])
        floats = inverse and isinstance(args[0], torch.Tensor) and is_size(args[0])
        result = function(args[0].to(torch.get_default_dtype()), args[1]) if floats else function(*args, **kwargs)
        if result.__class__ is torch.Tensor and not result.dim() and result.is_floating_point() and not kwargs:
            if torch._C._get_tracing_state() and all(map(is_of_sizes, args)):
                setattr(result, MADE_OF, (exactly, args))
        elif any(hasattr(x, WHOLE) for x in args) and not kwargs and all(map(is_of_sizes, args)):
            return as_size(result)
        return result

    return arithmetic


def _is_negative(operand: Any) -> bool:
    """`n**-1` is a float to Python; tensors of ints refuse it."""
    return operand.__class__ is int and operand < 0


def _counted(operand: Any) -> Any:
    """The int that a bool is in arithmetic of Python: two tensors of bools have another one, if any."""
    return operand.to(torch.int64) if isinstance(operand, torch.Tensor) else int(operand)


def exact(tensor: torch.Tensor) -> torch.Tensor:
    """A float that was computed from sizes, of 64 bits; any other tensor as it is."""
    pending = [tensor] if hasattr(tensor, MADE_OF) else []
    while pending:  # a loop of Python may have added to a float very often
        function, operands = getattr(pending[-1], MADE_OF)
        missing = [x for x in operands if hasattr(x, MADE_OF) and not hasattr(x, _EXACT)]
        if not missing:
            setattr(pending.pop(), _EXACT, function(*map(_operand, operands)))
        pending += missing
    return getattr(tensor, _EXACT, tensor)


def _operand(operand: Any) -> Any:
    if not isinstance(operand, torch.Tensor):
        return operand
    return getattr(operand, _EXACT) if hasattr(operand, _EXACT) else operand.to(torch.float64)
