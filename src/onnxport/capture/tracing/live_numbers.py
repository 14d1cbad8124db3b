"""Numbers of sizes that stay live where Python takes them: `int(h * 0.5) // 2`, `max(1, int(n / 3))`, `math.log2(n)`.

Python makes an int of what `int()` is given, whatever that is, so that a trace has a constant there. A model that is known to
take such numbers is recorded again with its functions calling others by these names: those give a traced number for a traced
one, and what Python gives for all else. Only calls are changed: `isinstance(x, int)` and `dtype=int` mean what they mean.
"""

from __future__ import annotations

import builtins
import contextlib
import dis
import functools
import gc
import math
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from contextlib import ExitStack
from types import CodeType, FunctionType
from typing import Any
from unittest import mock

import torch

from ..graph import INNER
from ..shared import shared
from .traced_sizes import LOGARITHMS, as_size, exact, follows_from_sizes, is_bool, is_number, is_size, keeping

Function = Callable[..., Any]

# Before 3.11, the instruction that loads a name doesn't say whether it is called.
_SAYS_CALLS = sys.version_info >= (3, 11)
_PREFIX = "_onnxport_"


class _Thread(threading.local):
    live = False  # other threads may call the same functions


_thread = _Thread()


def _is_traced(number: Any) -> bool:
    if not _thread.live or number.__class__ is not torch.Tensor or number.dim() or not torch._C._get_tracing_state():
        return False
    return is_number(number) or is_bool(number) or follows_from_sizes(number)


def _live(plain: Function, of_numbers: Function) -> Function:
    """A function of numbers, and what computes the same where traced numbers are among them."""

    def live(*args: Any, **kwargs: Any) -> Any:
        if not kwargs and any(map(_is_traced, args)):
            return of_numbers(*args)
        return plain(*args, **kwargs)

    return live


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


_MATH: Mapping[Any, Function] = {
    math.sqrt: _live(math.sqrt, keeping(torch.sqrt, torch.sqrt)),
    math.log2: _live(math.log2, _log_of(2)),
    math.log10: _live(math.log10, _log_of(10)),
    math.isqrt: _live(math.isqrt, _isqrt),
    math.gcd: _live(math.gcd, lambda *numbers: as_size(functools.reduce(torch.gcd, map(torch.as_tensor, numbers)))),
}
_ALL: Mapping[Any, Function] = {**_MATH, **LOGARITHMS, int: _live(int, _int), float: _live(float, _float)}


class _Changes:
    """Functions that have other code for a while, and how many want that."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users: dict[int, int] = {}
        self._plain: dict[int, tuple[FunctionType, CodeType]] = {}

    def begin(self, function: FunctionType) -> None:
        with self._lock:
            key = id(function)
            self._users[key] = self._users.get(key, 0) + 1
            if self._users[key] == 1:
                self._plain[key] = function, function.__code__
                function.__code__ = _calling_others(function.__code__, function)

    def end(self, function: FunctionType) -> None:
        with self._lock:
            key = id(function)
            self._users[key] -= 1
            if not self._users[key]:
                _, function.__code__ = self._plain.pop(key)
                del self._users[key]


_changes = _Changes()


@contextlib.contextmanager
def numbers_live(functions: Iterable[FunctionType]) -> Iterator[None]:
    """These functions call what keeps numbers of sizes live."""
    chosen = list(functions)
    if not chosen:
        yield
        return
    with ExitStack() as stack:
        stack.enter_context(_functions_changed())
        for function in chosen:
            _changes.begin(function)
            stack.callback(_changes.end, function)
        stack.callback(setattr, _thread, "live", _thread.live)
        _thread.live = True
        yield


@shared
@contextlib.contextmanager
def _functions_changed() -> Iterator[None]:
    names = {_name_of(plain): live for plain, live in _ALL.items()}
    of_math: dict[str, Any] = {plain.__name__: live for plain, live in _MATH.items()}
    with mock.patch.multiple(math, **of_math):
        for name, live in names.items():
            setattr(builtins, name, live)
        try:
            yield
        finally:
            for name in names:
                delattr(builtins, name)


def functions_at(places: Iterable[str]) -> list[FunctionType]:
    """The functions that these lines ("model.py:41") are in, if they call what may be others."""
    lines: dict[str, set[int]] = {}
    for place in places:
        file, _, line = place.rpartition(":")
        if line.isdigit() and not file.startswith(INNER):
            lines.setdefault(file, set()).add(int(line))
    if not _SAYS_CALLS or not lines:
        return []
    return [
        thing
        for thing in gc.get_objects()
        if type(thing) is FunctionType  # asking some objects for `__class__` runs code of theirs
        and thing.__code__.co_filename in lines
        and _calls_at(thing.__code__, lines[thing.__code__.co_filename])
    ]


_NAMES = frozenset(name for plain in _ALL for name in (plain.__name__, _PREFIX + plain.__name__))


def _calls_at(code: CodeType, lines: Set[int]) -> bool:
    """Whether a function, or one in it, names on one of these lines what may be another."""
    inner = [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    if any(_calls_at(of_inner, lines) for of_inner in inner):
        return True
    if _NAMES.isdisjoint(code.co_names):
        return False
    return any(
        i.argval in _NAMES and i.positions is not None and i.positions.lineno in lines
        for i in dis.get_instructions(code)
    )


def _calling_others(code: CodeType, function: FunctionType) -> CodeType:
    """The code, with other names where it calls one of the functions."""
    called, not_called = set(), set()
    for instruction in dis.get_instructions(code):
        if instruction.opname == "LOAD_GLOBAL" and instruction.arg is not None and instruction.arg & 1:
            called.add(instruction.argval)
        elif isinstance(instruction.argval, str):
            not_called.add(instruction.argval)
    others = {name: _name_of(_named(name, function)) for name in called if _named(name, function) in _ALL}
    names = list(code.co_names)
    changed = bytearray(code.co_code)
    for name, other in others.items():
        if name not in not_called:
            names[names.index(name)] = other
            continue
        names.append(other)
        _load(changed, code, name, len(names) - 1)
    inner = tuple(_calling_others(c, function) if isinstance(c, CodeType) else c for c in code.co_consts)
    return code.replace(co_code=bytes(changed), co_names=tuple(names), co_consts=inner)


def _load(changed: bytearray, code: CodeType, name: str, index: int) -> None:
    """Load another name where one is called that has other uses, too; not in the rare function of very many names."""
    argument = index << 1 | 1
    for instruction in dis.get_instructions(code):
        if instruction.opname == "LOAD_GLOBAL" and instruction.argval == name and (instruction.arg or 0) & 1:
            if max(argument, instruction.arg or 0) < 256:
                changed[instruction.offset + 1] = argument


def _named(name: str, function: FunctionType) -> Any:
    """What a function finds under a global name."""
    found = function.__globals__.get(name, getattr(builtins, name, None))
    return found if callable(found) and found.__hash__ is not None else None


def _name_of(plain: Any) -> str:
    return _PREFIX + str(plain.__name__)
