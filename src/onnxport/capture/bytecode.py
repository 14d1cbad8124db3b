"""The instructions of Python that are on lines of the model's code."""

from __future__ import annotations

import dis
from collections.abc import Container, Iterator
from types import CodeType


def instructions_on(code: CodeType, lines: Container[int]) -> Iterator[dis.Instruction]:
    """Those of one function, without functions in it."""
    starts, at = dict(dis.findlinestarts(code)), None
    for instruction in dis.get_instructions(code):
        at = starts.get(instruction.offset, at)
        if at is not None and at in lines:
            yield instruction
