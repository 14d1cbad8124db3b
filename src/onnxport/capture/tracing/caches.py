"""Calls of functions whose results are kept by their arguments (`functools.lru_cache`), which hash sizes for nothing else."""

from __future__ import annotations

import dis
import functools
import inspect
from types import CodeType, FrameType

_NAMES = frozenset(f"LOAD_{of}" for of in ("CLASSDEREF", "DEREF", "FAST", "FAST_BORROW", "GLOBAL", "NAME"))
# From Python 3.13 on some load two names, or store one before they load another.
_PAIRS = frozenset({"LOAD_FAST_LOAD_FAST", "LOAD_FAST_BORROW_LOAD_FAST_BORROW"})
_STORED = "STORE_FAST_LOAD_FAST"
_ATTRIBUTES = frozenset({"LOAD_ATTR", "LOAD_METHOD"})
_CALLS = frozenset({"CALL", "CALL_FUNCTION", "CALL_FUNCTION_EX", "CALL_FUNCTION_KW", "CALL_KW", "CALL_METHOD"})


def calls_cached(frame: FrameType) -> bool:
    """Whether what a frame does just now is such a call, of a function that has a name: `f(n)`, `self.f(n)`."""
    path = _called(frame.f_code, frame.f_lasti)
    if not path:
        return False
    function = frame.f_locals.get(path[0], frame.f_globals.get(path[0]))
    for name in path[1:]:
        function = inspect.getattr_static(function, name, None)
    return isinstance(function, functools._lru_cache_wrapper)


@functools.lru_cache(1000)
def _called(code: CodeType, offset: int) -> tuple[str, ...]:
    """The names that lead to the function which an instruction calls; none if it calls none, or has it from elsewhere."""
    found = [instruction for instruction in dis.get_instructions(code) if instruction.offset <= offset]
    if not found or found[-1].offset != offset or found[-1].opname not in _CALLS:
        return ()
    above = 1  # the result lies where the function lay, which was the first there
    for at in reversed(range(len(found))):
        instruction = found[at]
        stored = instruction.opname == _STORED
        above -= 1 if stored else dis.stack_effect(instruction.opcode, instruction.arg, jump=False)
        if above <= 0:
            return _path(found[at:], is_first=above == 0)
        above += stored
        if instruction.is_jump_target or "JUMP" in instruction.opname:
            return ()
    return ()


def _path(instructions: list[dis.Instruction], *, is_first: bool) -> tuple[str, ...]:
    """The name that they begin with, and those of attributes of it; of two names that are loaded at once, the first or the
    second."""
    path: list[str] = []
    for instruction in instructions:
        name, kind = instruction.argval, instruction.opname
        if kind == "PUSH_NULL":
            continue
        if not path and kind in _PAIRS:
            if is_first:
                return (name[0],)
            name = name[1]
        elif not path and kind == _STORED:
            name = name[1]
        elif kind not in (_ATTRIBUTES if path else _NAMES):
            break
        path.append(name)
    return tuple(path)
