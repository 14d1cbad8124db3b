"""Statements that only tell something: `torch._assert(ok, f"got {x.shape}")`, `print(x.shape)`, `raise ValueError(...)`.

What they take out of sizes is in no result, so nothing has to be found out about it.
"""

from __future__ import annotations

import ast
import functools
import linecache

# Functions whose results aren't used, by their names; of loggers, all.
_TELLING = frozenset({"_assert", "print", "warn"})
# What a text is made with: it has no effects.
_PLAIN = frozenset(
    {"dim", "float", "format", "int", "join", "len", "list", "numel", "repr", "round", "size", "str", "tuple", "type"}
)


def only_tells(place: str) -> bool:
    """Whether a line ("model.py:41") is part of such a statement."""
    filename, _, line = place.rpartition(":")
    return any(first <= int(line) <= last for first, last in _statements(filename))


@functools.cache
def _statements(filename: str) -> list[tuple[int, int]]:
    """Their first and last lines."""
    try:
        tree = ast.parse("".join(linecache.getlines(filename)))
    except (SyntaxError, ValueError):
        return []
    found = [node for node in ast.walk(tree) if _tells(node)]
    return [(node.lineno, node.end_lineno or node.lineno) for node in found if isinstance(node, ast.stmt)]


def _tells(node: ast.AST) -> bool:
    if isinstance(node, ast.Raise):
        return True
    if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Call):
        return False
    call = node.value
    if _name(call.func) not in _TELLING and not _is_logger(call.func):
        return False
    inside = [part for argument in (*call.args, *call.keywords) for part in ast.walk(argument)]
    return all(_name(part.func) in _PLAIN for part in inside if isinstance(part, ast.Call))


def _name(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _is_logger(function: ast.expr) -> bool:
    owner = function.value if isinstance(function, ast.Attribute) else None
    return isinstance(owner, (ast.Name, ast.Attribute)) and _name(owner).lower().strip("_") in (
        "log",
        "logger",
        "logging",
    )
