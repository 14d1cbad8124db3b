"""Statements that only tell something: `torch._assert(ok, f"got {x.shape}")`, `print(x.shape)`, `log.info("%s", x.shape)`.

What they take out of sizes is in no result, so nothing has to be found out about it. Nor has it of lines that only refuse:
`if n > 512: raise ...`.
"""

from __future__ import annotations

import ast

from .source_text import once_for_each_file

_CHECKS = ("_assert", "_check", "_check_index", "_check_tensor_all", "_check_type", "_check_value")
_TELLING = frozenset({"_assert", "print", "warn", "warnings.warn", *(f"torch.{check}" for check in _CHECKS)})
_LOGGERS = frozenset({"log", "logger", "logging"})
_LEVELS = frozenset({"critical", "debug", "error", "exception", "info", "log", "warn", "warning"})
# What a text is made with: it has no effects.
_PLAIN = frozenset(
    {"dim", "float", "format", "int", "join", "len", "list", "numel", "repr", "round", "size", "str", "tuple", "type"}
)


def only_tells(place: str) -> bool:
    """Whether a line ("model.py:41") is part of such a statement, and of no other."""
    filename, _, line = place.rpartition(":")
    return any(first <= int(line) <= last for first, last in _statements(filename))


def refuses(place: str) -> bool:
    """Whether a line decides nothing but that the model raises: `assert n < 512`, `if n > 512: raise ...`."""
    filename, _, line = place.rpartition(":")
    return any(first <= int(line) <= last for first, last in _refusals(filename))


def decides_nothing_else(place: str) -> bool:
    """Whether a line is of a statement that does nothing but tell or refuse, in no `try`: what it takes of values is in no
    result."""
    filename, _, line = place.rpartition(":")
    return any(first <= int(line) <= last for first, last in _without_results(filename))


@once_for_each_file
def _without_results(lines: list[str]) -> list[tuple[int, int]]:
    nodes = _nodes(lines)
    caught = [(node.lineno, node.end_lineno or node.lineno) for node in nodes if isinstance(node, ast.Try)]
    found = []
    for node in nodes:
        if isinstance(node, ast.stmt) and _has_no_result(node) and _is_alone(node, lines):
            if not any(first <= node.lineno <= last for first, last in caught):
                found.append((node.lineno, node.end_lineno or node.lineno))
    return found


def _has_no_result(node: ast.stmt) -> bool:
    if isinstance(node, ast.Expr):
        return _tells(node.value)
    refuses = isinstance(node, ast.Assert) or (isinstance(node, ast.If) and not node.orelse and _only_raises(node.body))
    return refuses and not any(isinstance(part, ast.NamedExpr) for part in ast.walk(node))


@once_for_each_file
def _refusals(lines: list[str]) -> list[tuple[int, int]]:
    found = []
    for node in _nodes(lines):
        if isinstance(node, ast.Assert):
            found.append((node.lineno, node.end_lineno or node.lineno))
        elif isinstance(node, ast.If) and any(map(_only_raises, (node.body, node.orelse))):
            found.append((node.lineno, node.test.end_lineno or node.lineno))
    return found


def _only_raises(body: list[ast.stmt]) -> bool:
    return bool(body) and isinstance(body[-1], ast.Raise) and all(isinstance(x, ast.Raise | ast.Assign) for x in body)


@once_for_each_file
def _statements(lines: list[str]) -> list[tuple[int, int]]:
    """Their first and last lines."""
    found = [node for node in _nodes(lines) if isinstance(node, ast.Expr) and _tells(node.value)]
    return [(node.lineno, node.end_lineno or node.lineno) for node in found if _is_alone(node, lines)]


def _nodes(lines: list[str]) -> list[ast.AST]:
    try:
        return list(ast.walk(ast.parse("".join(lines))))
    except (SyntaxError, ValueError):
        return []


def _is_alone(node: ast.stmt, lines: list[str]) -> bool:
    """Whether nothing else stands on its lines, as in `if int(n) > 3: print(n)`."""
    before = lines[node.lineno - 1].encode()[: node.col_offset]
    behind = lines[(node.end_lineno or node.lineno) - 1].encode()[node.end_col_offset :].strip()
    return not before.strip() and (not behind or behind.startswith(b"#"))


def _tells(call: ast.expr) -> bool:
    if not isinstance(call, ast.Call) or not (ast.unparse(call.func) in _TELLING or _is_logger(call.func)):
        return False
    inside = [part for argument in (*call.args, *call.keywords) for part in ast.walk(argument)]
    if any(isinstance(part, (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)) for part in inside):
        return False
    return all(_name(part.func) in _PLAIN for part in inside if isinstance(part, ast.Call))


def _name(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _is_logger(function: ast.expr) -> bool:
    if not isinstance(function, ast.Attribute) or function.attr not in _LEVELS:
        return False
    return _name(function.value).lower().strip("_") in _LOGGERS
