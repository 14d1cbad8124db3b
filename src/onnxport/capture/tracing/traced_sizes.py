"""Sizes, which are 0-d integer tensors while a model is traced, and floats that are computed from them.

In a trace `n * 0.57` is a tensor of 32 bits; Python computes with 64. Where a whole number is made of it the difference
shows: `math.floor(n * 0.57)` is 56 for 100, not 57. So what such a float was computed from is kept with it, and where it is
rounded, or read, it is computed anew.
"""

from __future__ import annotations

import contextlib
import functools
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Set
from types import GeneratorType
from typing import Any, TypeAlias
from unittest import mock

import numpy
import torch

from ...errors import LoweringError
from ..graph import INNER, LAYERS, TAKES_SIZES, inputs_of, location
from ..shared import shared
from . import changed_builtins

Function: TypeAlias = Callable[..., Any]


def is_size(tensor: torch.Tensor) -> bool:
    """Whether a traced tensor was made from sizes and constants alone."""
    if tensor.dim() or tensor.dtype != torch.int64 or not torch._C._get_tracing_state():
        return False
    return hasattr(tensor, _WHOLE) or _is_of_sizes_alone(torch._C._get_value_trace(tensor))  # type: ignore[attr-defined]


def is_made_of_sizes(tensor: torch.Tensor) -> bool:
    """Whether a traced tensor of one number was computed from sizes and constants alone, and is no size itself."""
    value: Any = torch._C._get_value_trace(tensor)  # type: ignore[attr-defined]
    return value.node().kind() not in ("prim::NumToTensor", "prim::Constant") and _is_of_sizes_alone(value, _FUNCTIONS)


def follows_from_sizes(tensor: torch.Tensor) -> bool:
    """Whether a traced tensor of one int is computed from sizes and constants alone, by whatever operators."""
    if tensor.dtype != torch.int64:
        return False
    pending: list[Any] = [torch._C._get_value_trace(tensor)]  # type: ignore[attr-defined]
    seen: set[str] = set()
    of_sizes = False
    while pending and len(seen) < _LOOKED_AT:
        value = pending.pop()
        if value.debugName() in seen:
            continue
        seen.add(value.debugName())
        kind = value.node().kind()
        if kind == "prim::Param":
            return False
        if kind in TAKES_SIZES:
            of_sizes = True
        else:
            pending.extend(inputs_of(value.node()))
    return of_sizes and not pending


_LOOKED_AT = 200


def refuse_constructors(graph: Any) -> None:
    """Raise where `torch.LongTensor(n)` was given a size: it should be n numbers, but to the tracer, whose sizes are tensors,
    it is another name for the size."""
    for node in graph.findAllNodes("aten::alias"):
        if _is_of_sizes_alone(node.input()):
            raise LoweringError(_ONE_SIZE, place=location("", node.sourceRange()).source)


def refuse_constructor(error: TypeError) -> None:
    """Raise that instead of an error that is its consequence: the size is of another type than the tensor."""
    if "expected TensorOptions(" in str(error):
        raise LoweringError(_ONE_SIZE) from error


_ONE_SIZE = (
    "torch.Tensor(n), torch.LongTensor(n) and the like can't be recorded with one size n; use torch.empty(n, dtype=...), or "
    "torch.tensor(n) if its value is meant"
)


def _is_of_sizes_alone(value: Any, more: Set[str] = frozenset()) -> bool:
    pending, seen = [value], 0
    while pending and seen < 64:
        seen += 1
        node = pending.pop().node()
        kind = node.kind()
        if kind in TAKES_SIZES or kind in ("prim::Constant", "prim::shape"):
            continue
        name = kind.rpartition("::")[2].rstrip("_")
        if kind == "prim::NumToTensor" or name in _ARITHMETIC or name in more:
            pending.extend(inputs_of(node))
        else:
            return False
    return not pending


_ARITHMETIC = {  # without underscores at the end
    "add", "sub", "mul", "div", "floor_divide", "remainder", "rsub", "Int", "neg", "ceil", "floor", "round", "trunc", "to",
    "maximum", "minimum", "lt", "le", "gt", "ge", "eq", "ne", "pow",
    "__and", "__or", "__xor", "__lshift", "__rshift", "bitwise_and", "bitwise_or", "bitwise_xor",
}  # fmt: skip
# Functions of numbers, beside it.
_FUNCTIONS = {
    "abs", "clamp", "detach", "exp", "log", "log10", "log2", "reciprocal", "rsqrt", "ScalarImplicit", "sqrt",
}  # fmt: skip


def _divided(divisor: torch.Tensor, number: Any) -> torch.Tensor:
    """`number / divisor`; torch multiplies with the reciprocal."""
    return torch.as_tensor(number, dtype=torch.float64) / divisor


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
    torch.Tensor.__rdiv__: _divided,
}  # fmt: skip
_POWERS = (torch.Tensor.pow, torch.Tensor.__pow__)
# Which argument divides.
_DIVISORS: dict[Function, int] = {
    torch.Tensor.div: 1, torch.Tensor.remainder: 1, torch.Tensor.__floordiv__: 1,
    torch.Tensor.__rdiv__: 0, torch.Tensor.__rfloordiv__: 0, torch.Tensor.__rmod__: 0,
}  # fmt: skip
_MADE_OF = "_onnxport_made_of"
_EXACT = "_onnxport_exact"
_WHOLE = "_onnxport_whole"


def arithmetic_watched() -> dict[Function, Function]:
    """The functions that compute such floats, and what calls them and keeps what they are computed from; and those that
    compare them."""
    return {
        **{function: keeping(function, exactly) for function, exactly in _OF_FLOATS.items()},
        **{function: _comparing(function) for function in comparisons()},
    }


def comparisons() -> list[Function]:
    """The functions that compare, as operators of Python call them."""
    return [getattr(torch.Tensor, name) for name in _COMPARISONS]


_COMPARISONS = ("__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__ne__", "lt", "le", "gt", "ge", "eq", "ne")


def _comparing(function: Function) -> Function:
    def compare(*args: Any, **kwargs: Any) -> Any:
        if any(hasattr(x, _MADE_OF) for x in args) and torch._C._get_tracing_state() and all(map(is_of_sizes, args)):
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
                setattr(result, _MADE_OF, (exactly, args))
        elif any(hasattr(x, _WHOLE) for x in args) and not kwargs and all(map(is_of_sizes, args)):
            return as_size(result)
        return result

    return arithmetic


def as_size(tensor: Any) -> Any:
    """A traced tensor that is known to be an int of sizes, whatever it was computed by."""
    if tensor.__class__ is torch.Tensor and tensor.dtype == torch.int64 and not tensor.dim():
        setattr(tensor, _WHOLE, True)
    return tensor


def is_whole(operand: Any) -> bool:
    """Whether it is an int, or a size."""
    return operand.__class__ is int or (isinstance(operand, torch.Tensor) and is_size(operand))


def _is_negative(operand: Any) -> bool:
    """`n**-1` is a float to Python; tensors of ints refuse it."""
    return operand.__class__ is int and operand < 0


def is_of_sizes(operand: Any) -> bool:
    """Whether it is a number that is known, or follows from sizes."""
    if operand.__class__ is torch.Tensor:
        return is_number(operand)
    return operand.__class__ in (int, float)


def is_number(tensor: torch.Tensor) -> bool:
    """Whether a tensor is a size, or a float that was computed from sizes: an int or a float of Python."""
    return hasattr(tensor, _MADE_OF) or is_size(tensor)


def is_bool(operand: Any) -> bool:
    """Whether it is a bool that is known, or follows from sizes."""
    if operand.__class__ is not torch.Tensor:
        return operand.__class__ is bool
    if operand.dtype != torch.bool or operand.dim() or not torch._C._get_tracing_state():
        return False
    return _is_of_sizes_alone(torch._C._get_value_trace(operand))  # type: ignore[attr-defined]


def _counted(operand: Any) -> Any:
    """The int that a bool is in arithmetic of Python: two tensors of bools have another one, if any."""
    return operand.to(torch.int64) if isinstance(operand, torch.Tensor) else int(operand)


def exact(tensor: torch.Tensor) -> torch.Tensor:
    """A float that was computed from sizes, of 64 bits; any other tensor as it is."""
    pending = [tensor] if hasattr(tensor, _MADE_OF) else []
    while pending:  # a loop of Python may have added to a float very often
        function, operands = getattr(pending[-1], _MADE_OF)
        missing = [x for x in operands if hasattr(x, _MADE_OF) and not hasattr(x, _EXACT)]
        if not missing:
            setattr(pending.pop(), _EXACT, function(*map(_operand, operands)))
        pending += missing
    return getattr(tensor, _EXACT, tensor)


def _operand(operand: Any) -> Any:
    if not isinstance(operand, torch.Tensor):
        return operand
    return getattr(operand, _EXACT) if hasattr(operand, _EXACT) else operand.to(torch.float64)


def _whole(compute: Callable[[torch.Tensor], torch.Tensor], otherwise: Callable[..., int]) -> Function:
    def method(self: torch.Tensor, *digits: int) -> Any:
        if digits or not torch._C._get_tracing_state() or self.dim():
            return otherwise(float(self), *digits)
        whole = compute(exact(self)).to(torch.int64)
        return as_size(whole) if hasattr(self, _MADE_OF) else whole

    return method


def _as_type(number: torch.Tensor, kind: str) -> Any:
    """A number as one of a kind of types of numpy."""
    if kind in "iu":
        return as_size(exact(number).to(torch.int64))
    if kind == "f" and hasattr(number, _MADE_OF):
        return number
    return number.to({"f": torch.float64, "b": torch.bool}[kind])


# Methods of Python's numbers that tensors don't have.
_METHODS: dict[str, Function] = {
    "__ceil__": _whole(torch.ceil, math.ceil),
    "__floor__": _whole(torch.floor, math.floor),
    "__trunc__": _whole(torch.trunc, math.trunc),
    "__round__": _whole(torch.round, round),
    "__divmod__": lambda self, other: (self // other, self % other),
    "is_integer": lambda self: bool(self == self.trunc()) if self.is_floating_point() else True,
    "bit_length": lambda self: int(self).bit_length(),
    # What numpy makes of a size has it.
    "astype": lambda self, dtype, *_, **__: _as_type(self, numpy.dtype(dtype).kind),
}


@shared
@contextlib.contextmanager
def number_functions() -> Iterator[None]:
    """Let `math.ceil`, `math.floor`, `math.trunc`, `math.log`, `math.exp`, `round`, `divmod`, `min` and `max` compute with
    sizes, as `//` does; and `torch._check` take conditions on them; and `isinstance` find them to be ints, as they are outside
    of a trace.

    Tensors don't have the methods behind the first of these, so that Python would turn the size into a float, or raise; of
    `min` and `max` it would keep the one that is the least or greatest in the example.
    """

    added = [name for name in _METHODS if not hasattr(torch.Tensor, name)]
    for name in added:
        setattr(torch.Tensor, name, _METHODS[name])
    plain = isinstance
    of_math: dict[str, Any] = {plain.__name__: live for plain, live in LOGARITHMS.items()}
    functions = {
        "min": _extremum(min, torch.minimum),
        "max": _extremum(max, torch.maximum),
        "isinstance": _instance(isinstance),
    }
    try:
        with (
            mock.patch.multiple(math, **of_math),
            mock.patch.object(torch, "_check_with", _checked(torch._check_with)),
            mock.patch.object(torch, "is_tensor", lambda obj: plain(obj, torch.Tensor) and not _seems_int(obj)),
            changed_builtins.changed(functions),
        ):
            yield
    finally:
        for name in added:
            delattr(torch.Tensor, name)


def _logarithm(plain: Callable[..., float]) -> Callable[..., Any]:
    """`math.log`, live of sizes. `log2` and `log10` have whole numbers as results, which ONNX might miss by a bit."""

    @functools.wraps(plain)
    def logarithm(number: Any, *base: Any) -> Any:
        if not is_traced_number(number) or any(isinstance(x, torch.Tensor) for x in base):
            return plain(number, *base)
        result = _LOG(number)
        return result / plain(*base) if base else result

    return logarithm


def _exponential(plain: Callable[[Any], float]) -> Callable[[Any], Any]:
    """`math.exp`, live of sizes."""

    @functools.wraps(plain)
    def exponential(number: Any, /) -> Any:
        return _EXP(number) if is_traced_number(number) else plain(number)

    return exponential


def is_traced_number(number: Any) -> bool:
    """Whether something is a number that is recorded."""
    return number.__class__ is torch.Tensor and bool(torch._C._get_tracing_state()) and is_number(number)


_LOG, _EXP = keeping(torch.log, torch.log), keeping(torch.exp, torch.exp)
# Functions of `math`, and the same live of sizes.
LOGARITHMS: Mapping[Function, Function] = {math.log: _logarithm(math.log), math.exp: _exponential(math.exp)}


def _instance(plain: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    """`isinstance`, of which a size is an int."""

    def instance(value: Any, kind: Any, /) -> bool:
        return plain(0 if value.__class__ is torch.Tensor and _seems_int(value) else value, kind)

    return instance


def _seems_int(tensor: torch.Tensor) -> bool:
    """Whether a tensor is a size to the code that asks for its type.

    Torch but for its layers, and this package, know that it is a tensor; so does a function that asks
    `torch.jit.is_tracing()`, too, such as those which turn a size that is no tensor into a Python number.
    """
    if not torch._C._get_tracing_state():
        return False
    code = sys._getframe(2).f_code
    inner = code.co_filename.startswith(INNER) and not code.co_filename.startswith(LAYERS)
    if inner or "is_tracing" in code.co_names:
        return False
    return is_size(tensor)


def _converted(function: Function, dtype: Callable[[], torch.dtype]) -> Function:
    """A function of tensors that takes numbers as tensors of a type."""
    return lambda *numbers: function(*(torch.as_tensor(number, dtype=dtype()) for number in numbers))


def _checked(check: Callable[..., None]) -> Callable[..., None]:
    """What `torch._check` and its like call, for conditions on sizes too: it wants a Python bool."""

    def check_with(error_type: Any, condition: Any, message: Any) -> None:
        if torch._C._get_tracing_state() and isinstance(condition, torch.Tensor):
            with torch._C.DisableTorchFunction():  # decides nothing: where it fails, the run ends
                condition = bool(condition)
        check(error_type, condition, message)

    return check_with


def _extremum(plain: Callable[..., Any], of_two: Callable[..., torch.Tensor]) -> Callable[..., Any]:
    """`min` or `max`, live if one of its arguments is a size, or a float that is computed of sizes, and the others are, too, or
    known."""
    of_floats = keeping(_converted(of_two, torch.get_default_dtype), _converted(of_two, lambda: torch.float64))

    @functools.wraps(plain)
    def extremum(*args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and args[0].__class__ in (GeneratorType, map):
            args = (list(args[0]),)
        values = list(args[0]) if len(args) == 1 and isinstance(args[0], (tuple, list)) else args
        kinds = {v.__class__ for v in values}
        if torch.Tensor in kinds and kinds <= {torch.Tensor, int, float} and len(values) > 1 and not kwargs:
            if torch._C._get_tracing_state() and all(map(is_of_sizes, values)):
                if all(map(is_whole, values)):
                    return as_size(functools.reduce(of_two, map(torch.as_tensor, values)))
                return functools.reduce(of_floats, values)
        return plain(*args, **kwargs)

    return extremum
