"""Code of the model that shows what a trace does otherwise: it asks for the type of a size, or catches errors of operators.

`type(n) is int` and `case int():` don't take a traced size, which is a tensor, for the int that it is in eager Python. So a
run with such code in it is compared with an eager one. If it gives something else, it is recorded again with sizes that are
ints: constants of the trace, which `liveness` looks after.
"""

from __future__ import annotations

import ast
import dis
import functools
import inspect
import textwrap
from collections.abc import Callable, Mapping
from types import CodeType, FrameType, FunctionType, MethodType
from typing import Any

import torch

from ..graph import INNER
from ..tracing.untraced import untraced
from .source_text import lines_of

_QUESTIONS = frozenset({"type", "__class__"})
_MATCHES = dis.opmap.get("MATCH_CLASS")
_CATCHES = frozenset(dis.opmap[name] for name in ("PUSH_EXC_INFO", "SETUP_FINALLY") if name in dis.opmap)
_MESSAGES = (ast.JoinedStr, ast.Raise)  # `f"got {type(n)}"` decides nothing
_OF_NO_SIZES = frozenset(
    {"AttributeError", "ImportError", "KeyError", "ModuleNotFoundError", "NameError", "NotImplementedError", "OSError",
     "StopIteration", "TypeError"}
)  # fmt: skip
# So many functions that call none of torch are looked at, as those are called by others.
_HELPERS = 200
_RECORDER = INNER[1] + "capture"


class Asked:
    """The code of one recording.

    Args:
        as_ints: whether sizes are ints in it.
    """

    def __init__(self, *, as_ints: bool = False) -> None:
        self.as_ints = as_ints
        self._calling: dict[int, CodeType] = {}
        self._named: dict[int, CodeType] = {}  # what calls none of torch, maybe

    def note(self, frame: FrameType | None) -> None:
        """Keep the code of a frame that calls a function of torch, and of those that called it."""
        if frame is not None and id(frame.f_code) in self._calling:
            return
        while frame is not None and not _is_recorder(frame.f_code):
            if id(frame.f_code) not in self._calling and not frame.f_code.co_filename.startswith(INNER):
                self._calling[id(frame.f_code)] = frame.f_code
                self._note_helpers(frame)
            frame = frame.f_back

    def _note_helpers(self, frame: FrameType) -> None:
        """Keep the code of functions that it names."""
        holder, names = type(frame.f_locals.get("self")), frame.f_globals
        pending = [frame.f_code]
        while pending and len(self._named) < _HELPERS:
            for name in pending.pop().co_names:
                for function in (names.get(name), getattr(holder, name, None)):
                    # Nothing else is looked into: what stands for a package that isn't there raises.
                    if not isinstance(function, FunctionType | MethodType):
                        continue
                    code = function.__code__
                    if id(code) not in self._named and not code.co_filename.startswith(INNER):
                        self._named[id(code)] = code
                        pending.append(code)

    @property
    def codes(self) -> list[CodeType]:
        """The code that calls functions of torch."""
        return list(self._calling.values())

    def types(self) -> list[str]:
        """Where it is asked for types, as "model.py:41"."""
        codes = {**self._named, **self._calling}.values()
        return [f"{code.co_filename}:{line}" for code in codes for line in _asking(code)]

    def caught(self) -> list[str]:
        """The lines of `try` behind which a model goes on."""
        return [f"{code.co_filename}:{line}" for code in self._calling.values() for line in _catching(code)]

    def instead(self) -> Mapping[Callable[..., Any], Callable[..., Any]]:
        """What gives sizes as ints."""
        if not self.as_ints:
            return {}
        getter = torch.Tensor.shape.__get__  # type: ignore[attr-defined]
        sizes = (getter, torch.Tensor.size, torch.Tensor.numel, torch.Tensor.nelement, torch.numel)
        return {function: _untraced(function) for function in sizes}


def _untraced(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        with untraced():
            return function(*args, **kwargs)

    return call


def _is_recorder(code: CodeType) -> bool:
    return code.co_name in ("run", "_trace") and code.co_filename.startswith(_RECORDER)


@functools.cache
def _asking(code: CodeType) -> tuple[int, ...]:
    """The lines of a function that ask for the type of what may be a number."""
    if not (_QUESTIONS.intersection(code.co_names) or (_MATCHES is not None and _MATCHES in code.co_code[::2])):
        return ()
    tree = _tree(code)
    named = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}  # `type(x).__name__`
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}  # `self.__class__()`
    said = {id(part) for node in ast.walk(tree) if isinstance(node, _MESSAGES) for part in ast.walk(node)}
    asked = [node for node in ast.walk(tree) if _asks(node) and id(node) not in named | called | said]
    return tuple(code.co_firstlineno + getattr(node, "lineno", 1) - 1 for node in asked)


def _asks(node: ast.AST) -> bool:
    if isinstance(node, ast.MatchClass):
        return True
    if isinstance(node, ast.Attribute):
        return node.attr == "__class__" and not _is_self(node.value)
    is_type = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "type"
    return is_type and len(node.args) == 1 and not _is_self(node.args[0])  # type: ignore[attr-defined]


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"


@functools.cache
def _catching(code: CodeType) -> tuple[int, ...]:
    """The lines of `try` in a function of which a handler goes on."""
    if not _CATCHES.intersection(code.co_code[::2]):
        return ()
    tries = [
        node
        for node in ast.walk(_tree(code))
        if isinstance(node, ast.Try) and not all(map(_is_harmless, node.handlers))
    ]
    return tuple(code.co_firstlineno + node.lineno - 1 for node in tries if _may_compute(node))


def _tree(code: CodeType) -> ast.AST:
    """What a function is written as; nothing where that can't be read."""
    try:
        lines = inspect.getblock(lines_of(code.co_filename)[code.co_firstlineno - 1 :])
        return ast.parse(textwrap.dedent("".join(lines)))
    except (SyntaxError, IndexError):
        return ast.Module([], [])


def _is_harmless(handler: ast.ExceptHandler) -> bool:
    """Whether it goes on behind no error that an operator raises at some sizes."""
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    of_others = all(isinstance(kind, ast.Name) and kind.id in _OF_NO_SIZES for kind in kinds)
    return of_others or isinstance(handler.body[-1], ast.Raise)


def is_caught(frame: FrameType | None) -> bool:
    """Whether the model goes on behind an error that is raised in a frame: it, or one that called it, is in a `try`."""
    while frame is not None and not _is_recorder(frame.f_code):
        code, line = frame.f_code, frame.f_lineno
        if not code.co_filename.startswith(INNER) and any(first <= line <= last for first, last in _guarded(code)):
            return True
        frame = frame.f_back
    return False


@functools.cache
def _guarded(code: CodeType) -> tuple[tuple[int, int], ...]:
    """The first and last lines in a function behind whose errors it goes on."""
    bodies = [
        node.body
        for node in ast.walk(_tree(code))
        if (isinstance(node, ast.Try) and not all(map(_goes_on_with_none, node.handlers)))
        or (isinstance(node, ast.With) and "suppress" in "".join(ast.unparse(item) for item in node.items))
    ]
    first = code.co_firstlineno - 1
    return tuple((first + body[0].lineno, first + (body[-1].end_lineno or body[-1].lineno)) for body in bodies)


def _goes_on_with_none(handler: ast.ExceptHandler) -> bool:
    return isinstance(handler.body[-1], ast.Raise)


def _may_compute(node: ast.Try) -> bool:
    """Whether it isn't tried whether something can be imported."""
    return not any(isinstance(statement, ast.Import | ast.ImportFrom) for statement in node.body)
