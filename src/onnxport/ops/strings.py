"""Strings: known at export, or not to be had at all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import LoweringError
from ..lower.evaluator import Evaluator
from ..lower.storage import Ref
from ..lower.values import MISSING, Unclear, describe
from ..program import Node
from .lists import list_special

_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "aten::add.str": lambda a, b: a + b,
    "aten::format": lambda form, *values: form.format(*values),
    "aten::percentFormat": lambda form, *values: form % (values[0] if isinstance(values[0], tuple) else values),
    "aten::str": str,
    "aten::join": lambda glue, parts: glue.join(parts),
    "aten::len.str": len,
    "aten::eq.str": lambda a, b: a == b,
    "aten::ne.str": lambda a, b: a != b,
    "aten::lt.str": lambda a, b: a < b,
    "aten::gt.str": lambda a, b: a > b,
    "aten::__contains__.str_list": lambda strings, item: item in strings,
    "prim::StringIndex": lambda s, index: s[index],
    "aten::__getitem__.str": lambda s, index: s[index],
    "aten::slice.str": lambda s, start=None, end=None, step=1: s[start:end:step],
    "aten::mul.str_int": lambda s, n: s * n,
    "aten::list": lambda s: list(s),
    "aten::ord": ord,
    "aten::chr": chr,
    "aten::hex": hex,
    "aten::bin": bin,
    "aten::oct": oct,
    "aten::Int.str": lambda s: int(s),
    "aten::Float.str": lambda s: float(s),
    "aten::split.str": lambda s, separator=None, max=-1: s.split(separator, max),
    "aten::rsplit": lambda s, separator=None, max=-1: s.rsplit(separator, max),
    "aten::splitlines": lambda s, keepends=False: s.splitlines(keepends),
    "aten::replace": lambda s, old, new, max=-1: s.replace(old, new, max),
    "aten::strip": lambda s, chars=" \n\t\f\v": s.strip(chars),
    "aten::lstrip": lambda s, chars=" \n\t\f\v": s.lstrip(chars),
    "aten::rstrip": lambda s, chars=" \n\t\f\v": s.rstrip(chars),
    "aten::startswith": lambda s, part, start=0, end=-1: s.startswith(part, start, len(s) if end == -1 else end),
    "aten::endswith": lambda s, part, start=0, end=-1: s.endswith(part, start, len(s) if end == -1 else end),
    "aten::find": lambda s, part, start=0, end=-1: s.find(part, start, len(s) if end == -1 else end),
    "aten::count": lambda s, part, start=0, end=-1: s[start : None if end == -1 else end].count(part),
    "aten::zfill": lambda s, width: s.zfill(width),
    **{
        f"aten::{name}": (lambda s, name=name: getattr(s, name)())
        for name in (
            "lower", "upper", "capitalize", "title", "swapcase", "isdigit", "isalpha", "isalnum", "isspace", "islower",
            "isupper", "istitle", "isdecimal", "isnumeric", "isidentifier", "isprintable",
        )
    },
}  # fmt: skip

_SHOWS = ("aten::format", "aten::str", "aten::percentFormat", "aten::add.str", "aten::join")


def _static(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return all(map(_static, value))
    return value is None or isinstance(value, (bool, int, float, str))


def _plain(ev: Evaluator, value: Any) -> Any:
    if isinstance(value, (Unclear, Ref)):
        return value
    return ev.resolved(value)


@list_special(*_FUNCTIONS)
def evaluate(ev: Evaluator, node: Node, *given: Any) -> Any:
    """format(str self, ...) -> str and its like"""
    arguments = [_plain(ev, x) for x in given]
    if any(x is MISSING for x in arguments):
        return MISSING
    name = node.op if node.op in _FUNCTIONS else node.op.partition(".")[0]
    unknown = next((x for x in arguments if not _static(x)), None)
    if unknown is not None:
        if name not in _SHOWS:
            raise LoweringError(f"a string depends on {describe(unknown)}, which is known only at run time")
        return Unclear("a string that depends on values known only at run time; an exported model has no such strings")
    return _FUNCTIONS[name](*arguments)
