"""Calls of functions whose results are kept by their arguments (`functools.lru_cache`), which hash sizes for nothing else."""

from __future__ import annotations

import dis
import functools
import inspect
from types import CodeType, FrameType

_NAMES = frozenset(f"LOAD_{of}" for of in ("CLASSDEREF", "DEREF", "FAST", "FAST_BORROW", "GLOBAL", "NAME"))
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
        above -= dis.stack_effect(instruction.opcode, instruction.arg, jump=False)
        if above <= 0:
            return _path(found[at:])
        if instruction.is_jump_target or "JUMP" in instruction.opname:
            return ()
    return ()


def _path(instructions: list[dis.Instruction]) -> tuple[str, ...]:
    """The name that they begin with, and those of attributes of it."""
    path: list[str] = []
    for instruction in instructions:
        if instruction.opname == "PUSH_NULL":
            continue
        if instruction.opname not in (_ATTRIBUTES if path else _NAMES):
            break
        path.append(instruction.argval)
    return tuple(path)
