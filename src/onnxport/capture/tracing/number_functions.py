"""Functions and methods of Python's numbers, which take sizes while a model is traced: `math.ceil`, `round`, `min`, `isinstance`."""

from __future__ import annotations

import contextlib
import functools
import math
import sys
from collections.abc import Callable, Iterator, Mapping
from types import GeneratorType
from typing import Any, TypeAlias
from unittest import mock

import numpy
import torch
from torch.jit import _builtins

from ..graph import INNER, LAYERS
from ..shared import shared
from . import changed_builtins
from .exact_floats import exact, keeping
from .traced_sizes import MADE_OF, as_size, is_of_sizes, is_size, is_traced_number, is_whole

Function: TypeAlias = Callable[..., Any]


def _whole(compute: Callable[[torch.Tensor], torch.Tensor], otherwise: Callable[..., int]) -> Function:
    def method(self: torch.Tensor, *digits: int) -> Any:
        if digits or not torch._C._get_tracing_state() or self.dim():
            return otherwise(float(self), *digits)
        whole = compute(exact(self)).to(torch.int64)
        return as_size(whole) if hasattr(self, MADE_OF) else whole

    return method


def _as_type(number: torch.Tensor, kind: str) -> Any:
    """A number as one of a kind of types of numpy."""
    if kind in "iu":
        return as_size(exact(number).to(torch.int64))
    if kind == "f" and hasattr(number, MADE_OF):
        return number
    return number.to({"f": torch.float64, "b": torch.bool}[kind])


# Arrays of numpy leave to tensors, by this, what operators do with both, and tensors refuse arrays. Of a size they are to do what
# they do with an int, and give arrays; numbers of numpy still leave it to the size, which stays live.
_PRIORITY = property(lambda tensor: -1.0 if is_traced_number(tensor) else 1000)


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
            mock.patch.object(torch.Tensor, "__array_priority__", _PRIORITY),
            mock.patch.object(torch, "_check_with", _checked(torch._check_with)),
            mock.patch.object(_builtins, "_find_builtin", _in_scripts(_builtins._find_builtin)),
            mock.patch.object(torch, "is_tensor", lambda obj: plain(obj, torch.Tensor) and not _seems_int(obj)),
            changed_builtins.changed(functions),
        ):
            yield
    finally:
        for name in added:
            delattr(torch.Tensor, name)


def _in_scripts(find: Function) -> Function:
    """What gives the operator that stands for a function in scripts, which a model may compile while it is traced
    (`torch.jit.script_if_tracing`)."""
    return lambda function: find(_PLAIN.get(id(function), function))


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


_LOG, _EXP = keeping(torch.log, torch.log), keeping(torch.exp, torch.exp)
# Functions of `math`, and the same live of sizes.
LOGARITHMS: Mapping[Function, Function] = {math.log: _logarithm(math.log), math.exp: _exponential(math.exp)}
_PLAIN: dict[int, Function] = {}  # by what stands for them


def stand_for(functions: Mapping[Function, Function]) -> None:
    """Have scripts call functions where they name what stands for these while a model is traced."""
    _PLAIN.update({id(live): plain for plain, live in functions.items()})


stand_for(LOGARITHMS)


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
