"""Numbers of sizes that stay live where Python takes them: `int(h * 0.5) // 2`, `max(1, int(n / 3))`, `math.log2(n)`.

Python makes an int of what `int()` is given, whatever that is, so that a trace has a constant there. A model that is known to
take such numbers is recorded again with its functions calling others by these names: those give a traced number for a traced
one, and what Python gives for all else. Only calls are changed: `isinstance(x, int)` and `dtype=int` mean what they mean.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import dis
import gc
import inspect
import math
import sys
import textwrap
import threading
import weakref
from collections.abc import Iterable, Iterator, Set
from contextlib import ExitStack
from types import CodeType, FunctionType
from typing import Any
from unittest import mock

import numpy

from ..bytecode import instructions_on
from ..graph import INNER
from ..shared import shared
from .live_functions import ALL, NUMPY, thread

# Before 3.11, the instruction that loads a name doesn't say whether it is called: names are looked for in the text, and changed
# where all of their uses in a function are calls.
_SAYS_CALLS = sys.version_info >= (3, 11)
_PREFIX = "_onnxport_"


class _Changes:
    """Functions that have other code for a while, and how many want that."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users: dict[int, int] = {}
        self._plain: dict[int, tuple[FunctionType, CodeType]] = {}
        # What stands for which, also behind the end: another thread may have recorded it until then.
        self._codes: weakref.WeakKeyDictionary[CodeType, CodeType] = weakref.WeakKeyDictionary()

    def of(self, codes: Iterable[CodeType]) -> list[FunctionType]:
        """The functions that have these codes, or would."""
        with self._lock:
            plain = {id(code): code for code in (self._codes.get(code, code) for code in codes)}
            # All objects at once would be those that another thread is about to make, too, which then fails.
            found = [thing for thing in gc.get_referrers(*plain.values()) if type(thing) is FunctionType]
            changed = [function for function, code in self._plain.values() if id(code) in plain]
        return [*changed, *(function for function in found if id(function.__code__) in plain)]

    def begin(self, function: FunctionType) -> None:
        with self._lock:
            key = id(function)
            self._users[key] = self._users.get(key, 0) + 1
            if self._users[key] == 1:
                self._plain[key] = function, function.__code__
                changed = _calling_others(function.__code__, function)
                self._codes[changed] = function.__code__
                function.__code__ = changed

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
        stack.callback(setattr, thread, "live", thread.live)
        thread.live = True
        yield


@shared
@contextlib.contextmanager
def _functions_changed() -> Iterator[None]:
    of_math, of_numpy = map(_others_of, (math, numpy))
    for plain, live in ALL.items():
        setattr(builtins, _name_of(plain), live)  # for good: another thread may still be running code that calls it
    with mock.patch.multiple(math, **of_math), mock.patch.multiple(numpy, **of_numpy):
        yield


def _others_of(module: Any) -> dict[str, Any]:
    return {name: ALL[found] for name, found in vars(module).items() if _may_be_other(found)}


def functions_at(places: Iterable[str], codes: Iterable[CodeType]) -> list[FunctionType]:
    """The functions that these lines ("model.py:41") are in, of those that have one of these codes, if they call what may be
    others."""
    lines: dict[str, set[int]] = {}
    for place in places:
        file, _, line = place.rpartition(":")
        if line.isdigit() and not file.startswith(INNER):
            lines.setdefault(file, set()).add(int(line))
    if not lines:
        return []
    taking = [code for code in codes if _calls_at(code, lines.get(code.co_filename, set()))]
    return _changes.of(taking) if taking else []


def _calls_at(code: CodeType, lines: Set[int]) -> bool:
    """Whether a function, or one in it, names on one of these lines what may be another."""
    inner = [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    if any(_calls_at(of_inner, lines) for of_inner in inner):
        return True
    if _NAMES.isdisjoint(code.co_names):
        return False
    return any(instruction.argval in _NAMES for instruction in instructions_on(code, lines))


def _uses(code: CodeType) -> tuple[set[str], set[str]]:
    """The names that are called in some code, and those that have other uses."""
    called, not_called = set(), set()
    for instruction in dis.get_instructions(code):
        if instruction.opname == "LOAD_GLOBAL" and instruction.arg is not None and instruction.arg & 1:
            called.add(instruction.argval)
        elif isinstance(instruction.argval, str):
            not_called.add(instruction.argval)
    return called, not_called


def _uses_as_written(code: CodeType) -> tuple[set[str], set[str]]:
    """The same of a function and what is in it, as its text has it; nothing where that can't be read."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(code)))
    except (OSError, SyntaxError):
        return set(), set()
    nodes = list(ast.walk(tree))
    functions = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
    named = [node for node in nodes if isinstance(node, ast.Name)]
    others = {node.id for node in named if id(node) not in functions}
    return {node.id for node in named} - others, others | {
        node.attr for node in nodes if isinstance(node, ast.Attribute)
    }


def _calling_others(code: CodeType, function: FunctionType, uses: tuple[set[str], set[str]] | None = None) -> CodeType:
    """The code, with other names where it calls one of the functions.

    Args:
        uses: of names in the function, if only the text tells.
    """
    if not _SAYS_CALLS:
        uses = uses or _uses_as_written(code)
    called, not_called = uses or _uses(code)
    others = {name: _name_of(_named(name, function)) for name in called if _may_be_other(_named(name, function))}
    names = list(code.co_names)
    changed = bytearray(code.co_code)
    for name, other in others.items():
        if name not in names:
            continue
        if name not in not_called:
            names[names.index(name)] = other
        elif _SAYS_CALLS:
            names.append(other)
            _load(changed, code, name, len(names) - 1)
    inner = tuple(_calling_others(c, function, uses) if isinstance(c, CodeType) else c for c in code.co_consts)
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
    return function.__globals__.get(name, getattr(builtins, name, None))


def _may_be_other(found: Any) -> bool:
    return callable(found) and type(found).__hash__ is not None and found in ALL


def _name_of(plain: Any) -> str:
    return f"{_PREFIX}{'numpy_' if plain in NUMPY else ''}{plain.__name__}"


_NAMES = frozenset(name for plain in ALL for name in (plain.__name__, _name_of(plain)))
