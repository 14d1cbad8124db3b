"""Operator schemas, read from their text: `add_.Tensor(Tensor(a!) self, Tensor other, ...) -> Tensor(a!)`.

Source of the grammar: aten/src/ATen/native/README.md of PyTorch ("func" entries and alias annotations).
"""

from __future__ import annotations

import ast
import functools
import re
from dataclasses import dataclass
from typing import Any


class Required:
    """The default of an argument that has none."""

    def __repr__(self) -> str:
        return "<required>"


REQUIRED = Required()


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument or a return value.

    `alias` is the set name of its alias annotation ("a" in `Tensor(a!)`, "" without one); `writes` is true
    where the annotation has an exclamation mark.
    """

    name: str
    type: str  # without the annotation: "Tensor", "int[]", "Tensor?"
    alias: str = ""
    writes: bool = False
    default: Any = REQUIRED
    keyword_only: bool = False


@dataclass(frozen=True, slots=True)
class Schema:
    """Name with namespace ("aten::add"), overload ("Tensor", "" for none), arguments and returns."""

    name: str
    overload: str
    arguments: tuple[Argument, ...]
    returns: tuple[Argument, ...]
    text: str
    mutates: bool  # some argument is written to
    views: bool  # some return value may alias an argument that isn't written to

    @property
    def full_name(self) -> str:
        return f"{self.name}.{self.overload}" if self.overload else self.name


# Enumerators that schemas write as names, with the ints that they stand for.
_NAMED_DEFAULTS = {"Mean": 1, "contiguous_format": 0, "long": 4, "inf": float("inf")}

_ARGUMENT = re.compile(
    r"^(?P<type>[\w.]+(?:\s*\(\s*(?P<alias>[\w|]*)(?P<writes>!?)[^)]*\))?(?P<suffix>(?:\[\d*\]|\?|\([^)]*\))*))"
    r"(?:\s+(?P<name>\w+))?(?:\s*=\s*(?P<default>.+))?$"
)


def _split(text: str) -> list[str]:
    """Split at the commas that are outside of all brackets and quotes."""
    parts, depth, start, quote = [], 0, 0, ""
    for i, char in enumerate(text):
        if quote:
            quote = "" if char == quote else quote
        elif char in "\"'":
            quote = char
        elif char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
        elif char == "," and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    parts.append(text[start:])
    return [part.strip() for part in parts if part.strip()]


def _split_arrow(text: str) -> tuple[str, str, str]:
    """Split at the arrow that is outside of all brackets (`Tensor(a -> *)` has one inside)."""
    depth = 0
    for i, char in enumerate(text):
        depth += (char == "(") - (char == ")")
        if depth == 0 and text.startswith(" -> ", i + 1):
            return text[: i + 1], " -> ", text[i + 5 :]
    return text, "", ""


def _default(text: str) -> Any:
    if text in _NAMED_DEFAULTS:
        return _NAMED_DEFAULTS[text]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def _argument(text: str, keyword_only: bool) -> Argument:
    match = _ARGUMENT.match(text)
    if match is None:  # Dict(str, Tensor) x, Future(t) x, (Tensor, Tensor) x: types without aliases of ours
        head, _, name = text.rpartition(" ")
        annotation = re.search(r"\)\((\w+)(!?)", head)
        return Argument(
            name=name if head else "",
            type=re.sub(r"\)\(\w+!?\)", ")", head or text),
            alias=annotation[1] if annotation else "",
            writes=bool(annotation and annotation[2]),
            keyword_only=keyword_only,
        )
    base = re.match(r"[\w.]+", match["type"])
    assert base is not None
    suffix = re.sub(r"\([^)]*\)", "", match["suffix"] or "")
    inner = match["type"][base.end() :]
    nested = re.search(r"\((\w+)(!?)", inner)
    default = REQUIRED if match["default"] is None else _default(match["default"])
    alias = nested[1] if nested else ""
    return Argument(
        name=match["name"] or "",
        type=base[0] + suffix,
        alias=alias,
        writes="!" in inner,
        default=default,
        keyword_only=keyword_only,
    )


@functools.cache
def parse(text: str) -> Schema:
    """Parse one schema; ValueError if the text is not one."""
    head, arrow, tail = _split_arrow(text)
    name, paren, rest = head.partition("(")
    if not arrow or not paren:
        raise ValueError(f"not an operator schema: {text!r}")
    arguments, keyword_only = [], False
    for part in _split(rest.strip()[:-1]):
        if part == "*":
            keyword_only = True
        elif part != "...":
            arguments.append(_argument(part, keyword_only))
    tail = tail.strip()
    if tail.startswith("(") and tail.endswith(")"):
        tail = tail[1:-1]
    returns = tuple(_argument(part, False) for part in _split(tail) if part != "...")
    name, _, overload = name.partition(".")
    written = {a.alias for a in arguments if a.writes}
    return Schema(
        name=name.strip(),
        overload=overload,
        arguments=tuple(arguments),
        returns=returns,
        text=text,
        mutates=any(a.writes for a in arguments),
        views=any(r.alias and r.alias not in written for r in returns),
    )
