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
import linecache
import textwrap
from collections.abc import Callable, Iterator, Mapping
from types import CodeType, FrameType, FunctionType
from typing import Any

import torch

from .graph import INNER

_TYPES = frozenset({"int", "float", "bool", "Tensor"})
_QUESTIONS = frozenset({"type", "__class__"})
_MATCHES = dis.opmap.get("MATCH_CLASS")
_CATCHES = frozenset(dis.opmap[name] for name in ("PUSH_EXC_INFO", "SETUP_FINALLY") if name in dis.opmap)
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
        self._seen: dict[int, CodeType] = {}

    def note(self, frame: FrameType | None) -> None:
        """Keep the code of a frame that calls a function of torch, and of those that called it."""
        if id(frame.f_code) in self._seen:  # type: ignore[union-attr]
            return
        while frame is not None and not (
            frame.f_code.co_filename.startswith(_RECORDER) and frame.f_code.co_name == "run"
        ):
            if id(frame.f_code) not in self._seen:
                self._seen[id(frame.f_code)] = frame.f_code
                if not frame.f_code.co_filename.startswith(INNER):
                    self._note_helpers(frame.f_code, frame)
            frame = frame.f_back

    def _note_helpers(self, code: CodeType, frame: FrameType) -> None:
        """Keep the code of functions that it names."""
        holder, names = type(frame.f_locals.get("self")), frame.f_globals
        pending = [code]
        while pending and len(self._seen) < _HELPERS:
            for name in pending.pop().co_names:
                for function in (names.get(name), getattr(holder, name, None)):
                    if isinstance(function, FunctionType) and id(function.__code__) not in self._seen:
                        if not function.__code__.co_filename.startswith(INNER):
                            self._seen[id(function.__code__)] = function.__code__
                            pending.append(function.__code__)

    def types(self) -> list[str]:
        """The functions that ask for types, as "model.py:41"."""
        return [f"{code.co_filename}:{line}" for code in self._of_user() if (line := _asking(code))]

    def caught(self) -> list[str]:
        """The lines of `try` behind which a model goes on."""
        return [f"{code.co_filename}:{line}" for code in self._of_user() for line in _catching(code)]

    def _of_user(self) -> Iterator[CodeType]:
        return (code for code in self._seen.values() if not code.co_filename.startswith(INNER))

    def instead(self) -> Mapping[Callable[..., Any], Callable[..., Any]]:
        """What gives sizes as ints."""
        if not self.as_ints:
            return {}
        getter = torch.Tensor.shape.__get__  # type: ignore[attr-defined]
        sizes = (getter, torch.Tensor.size, torch.Tensor.numel, torch.Tensor.nelement, torch.numel)
        return {function: _untraced(function) for function in sizes}


def _untraced(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        state = torch._C._get_tracing_state()
        torch._C._set_tracing_state(None)  # type: ignore[attr-defined]
        try:
            return function(*args, **kwargs)
        finally:
            torch._C._set_tracing_state(state)  # type: ignore[attr-defined]

    return call


@functools.cache
def _asking(code: CodeType) -> int:
    """The line on which a function may ask for the type of a number; 0 of others."""
    named = _TYPES.intersection(code.co_names)
    if not named:
        return 0
    if not _QUESTIONS.intersection(code.co_names) and (_MATCHES is None or _MATCHES not in code.co_code[::2]):
        return 0
    line = code.co_firstlineno
    for instruction in dis.get_instructions(code):
        line = instruction.starts_line or line
        if instruction.opcode == _MATCHES or instruction.argval in _QUESTIONS:
            return line
    return 0


@functools.cache
def _catching(code: CodeType) -> tuple[int, ...]:
    """The lines of `try` in a function of which a handler goes on; none where that can't be read."""
    if not _CATCHES.intersection(code.co_code[::2]):
        return ()
    lines = inspect.getblock(linecache.getlines(code.co_filename)[code.co_firstlineno - 1 :])
    try:
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except SyntaxError:
        return ()
    tries = [node for node in ast.walk(tree) if isinstance(node, ast.Try) and not all(map(_raises, node.handlers))]
    return tuple(code.co_firstlineno + node.lineno - 1 for node in tries if _may_compute(node))


def _raises(handler: ast.ExceptHandler) -> bool:
    return isinstance(handler.body[-1], ast.Raise)


def _may_compute(node: ast.Try) -> bool:
    """Whether anything but imports is tried."""
    return not all(isinstance(statement, ast.Import | ast.ImportFrom) for statement in node.body)
