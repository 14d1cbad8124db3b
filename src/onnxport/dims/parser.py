"""Sizes from their texts."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NoReturn

from .dim import Dim, broadcast, maximum, minimum
from .polynomial import NAME, Size

_TOKEN = re.compile(rf"\s*(?:[0-9]+|{NAME.pattern}|`[^`]+`|//|[-+*%(),])")


def parse(text: str, symbols: Mapping[str, Size] | None = None) -> Size:
    """The inverse of `str`. Names found in `symbols` stand for those sizes, others for new symbols."""
    try:
        return _Parser(text, symbols or {}).parse()
    except ZeroDivisionError as error:
        raise ValueError(f"{text!r} divides by zero") from error


class _Parser:
    """Recursive descent, with the precedence of Python's operators."""

    def __init__(self, text: str, symbols: Mapping[str, Size]) -> None:
        self.text, self.symbols = text, symbols
        self.tokens: list[str] = []
        end = len(text.rstrip())
        position = 0
        while position < end:
            match = _TOKEN.match(text, position)
            if match is None:
                self.fail()
            self.tokens.append(match.group().strip())
            position = match.end()
        self.tokens.reverse()  # the next one is last

    def fail(self) -> NoReturn:
        raise ValueError(f"{self.text!r} is not a size expression")

    def parse(self) -> Size:
        result = self.sum()
        if self.tokens:
            self.fail()
        return result

    def accept(self, *options: str) -> str | None:
        return self.tokens.pop() if self.tokens and self.tokens[-1] in options else None

    def expect(self, token: str) -> None:
        if self.accept(token) is None:
            self.fail()

    def sum(self) -> Size:
        result = self.product()
        while sign := self.accept("+", "-"):
            term = self.product()
            result = result + term if sign == "+" else result - term
        return result

    def product(self) -> Size:
        result = self.factor()
        while sign := self.accept("*", "//", "%"):
            factor = self.factor()
            result = result * factor if sign == "*" else result // factor if sign == "//" else result % factor
        return result

    def factor(self) -> Size:
        if self.accept("-"):
            return -self.factor()
        if self.accept("("):
            result = self.sum()
            self.expect(")")
            return result
        if not self.tokens:
            self.fail()
        token = self.tokens.pop()
        if token.isdecimal():
            return int(token)
        if self.accept("("):
            return self.call(token)
        if token[0] == "`" or NAME.fullmatch(token):
            name = token.strip("`")
            return self.symbols[name] if name in self.symbols else Dim.symbol(name)
        self.fail()

    def call(self, function: str) -> Size:
        functions: dict[str, Callable[..., Size]] = {"min": minimum, "max": maximum, "broadcast": broadcast}
        if function not in functions:
            self.fail()
        args = [self.sum()]
        while self.accept(","):
            args.append(self.sum())
        self.expect(")")
        return functions[function](*args)
