"""Functions of numbers, as Python, `math` and numpy have them, that give a traced number for a traced one, and what they
give for all else. They are called instead of those while a model is recorded in a certain way (see `live_numbers`), by its thread alone."""

from __future__ import annotations

import functools
import math
import operator
import threading
from collections.abc import Callable, Mapping
from typing import Any

import numpy
import torch

from .exact_floats import exact, keeping
from .number_functions import LOGARITHMS, stand_for
from .traced_sizes import as_size, follows_from_sizes, is_bool, is_number, is_size, is_whole

Function = Callable[..., Any]


class _Thread(threading.local):
    live = False  # other threads may call the same functions


thread = _Thread()


def stays_live(number: Any) -> bool:
    """Whether something is a traced number, and isn't to be a constant."""
    if not thread.live or number.__class__ is not torch.Tensor or number.dim() or not torch._C._get_tracing_state():
        return False
    return is_number(number) or is_bool(number) or follows_from_sizes(number)


class _Live:
    """A function of numbers, and what computes the same where traced numbers are among them."""

    def __init__(self, plain: Function, of_numbers: Function) -> None:
        self._plain, self._of_numbers = plain, of_numbers

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not kwargs and any(map(stays_live, args)):
            return self._of_numbers(*args)
        return self._plain(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._plain, name)  # `np.minimum.reduce`


def _int(number: torch.Tensor) -> Any:
    if is_size(number):
        return number
    return as_size((torch.trunc(exact(number)) if number.is_floating_point() else number.clone()).to(torch.int64))


def _as_default(number: torch.Tensor) -> torch.Tensor:
    return number.to(torch.get_default_dtype())


# A float of the default type, as others of sizes are; where it is rounded, it is computed with 64 bits.
_TO_FLOAT = keeping(_as_default, torch.Tensor.detach)


def _float(number: torch.Tensor) -> Any:
    return number if number.is_floating_point() else _TO_FLOAT(number)


def live_number(number: torch.Tensor) -> Any:
    """What `.item()` gives of it."""
    return number if number.is_floating_point() else _int(number)


def _log_of(base: int) -> Function:
    """A logarithm that is whole for powers of its base, which a quotient of logarithms misses by a bit."""

    def log(number: torch.Tensor) -> torch.Tensor:
        nearest = torch.round(torch.log(number) / math.log(base))
        whole = nearest - (torch.pow(float(base), nearest) > number).to(number.dtype)
        return whole + torch.log(number / torch.pow(float(base), whole)) / math.log(base)

    return keeping(
        lambda number: _as_default(log(number.to(torch.float64))), lambda number: log(number.to(torch.float64))
    )


def _isqrt(number: torch.Tensor) -> torch.Tensor:
    return as_size(torch.floor(torch.sqrt(number.to(torch.float64))).to(torch.int64))  # type: ignore[no-any-return]


def _of_floats(function: Function) -> Function:
    """A function of numpy that gives a float, rounded from what it is with 64 bits."""

    def exactly(*numbers: Any) -> Any:
        return function(*(torch.as_tensor(number, dtype=torch.float64) for number in numbers))

    return keeping(
        lambda *numbers: _as_default(exactly(*(exact(x) if isinstance(x, torch.Tensor) else x for x in numbers))),
        exactly,
    )


def _of_either(function: Function) -> Function:
    """A function of numpy that gives an int for ints, else a float."""
    of_floats = _of_floats(function)

    def either(*numbers: Any) -> Any:
        if all(map(is_whole, numbers)):
            return as_size(function(*map(torch.as_tensor, numbers)))
        return of_floats(*numbers)

    return either


def _clip(number: Any, least: Any, most: Any) -> Any:
    return torch.minimum(torch.maximum(number, least), most)


def _prod(plain: Function) -> Function:
    """The product of what is in a list."""

    def prod(numbers: Any, *args: Any, **kwargs: Any) -> Any:
        listed = numbers.__class__ in (list, tuple, torch.Size)
        if listed and not args and not kwargs and any(map(stays_live, numbers)):
            return functools.reduce(operator.mul, numbers)
        return plain(numbers, *args, **kwargs)

    return prod


# Functions that torch has by the same names.
_TORCHS = ("ceil", "floor", "trunc", "sqrt", "log", "exp")
MATH: Mapping[Any, Function] = {
    math.sqrt: _Live(math.sqrt, keeping(torch.sqrt, torch.sqrt)),
    math.log2: _Live(math.log2, _log_of(2)),
    math.log10: _Live(math.log10, _log_of(10)),
    math.prod: _prod(math.prod),
    math.isqrt: _Live(math.isqrt, _isqrt),
    math.gcd: _Live(math.gcd, lambda *numbers: as_size(functools.reduce(torch.gcd, map(torch.as_tensor, numbers)))),
}
NUMPY: Mapping[Any, Function] = {
    **{getattr(numpy, name): _Live(getattr(numpy, name), _of_floats(getattr(torch, name))) for name in _TORCHS},
    **{plain: _Live(plain, _of_floats(torch.round)) for plain in (numpy.rint, numpy.round, numpy.around)},
    **{
        plain: _Live(plain, _of_either(of_two))
        for plain, of_two in ((numpy.minimum, torch.minimum), (numpy.maximum, torch.maximum))
    },
    numpy.abs: _Live(numpy.abs, _of_either(torch.abs)),
    numpy.clip: _Live(numpy.clip, _of_either(_clip)),
    numpy.log2: _Live(numpy.log2, _log_of(2)),
    numpy.log10: _Live(numpy.log10, _log_of(10)),
    numpy.prod: _prod(numpy.prod),
}
ALL: Mapping[Any, Function] = {**MATH, **NUMPY, **LOGARITHMS, int: _Live(int, _int), float: _Live(float, _float)}
stand_for(ALL)
