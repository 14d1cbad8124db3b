"""The text of the files that run, as it is at the time: a module may be changed and loaded again between exports."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def lines_of(filename: str) -> list[str]:
    """The lines of a file; the same list as long as they are the same."""
    linecache.checkcache(filename)
    return linecache.getlines(filename)


def once_for_each_file(look: Callable[[list[str]], T]) -> Callable[[str], T]:
    """What is seen in the lines of a file, which are looked at again when they have changed."""
    seen: dict[str, tuple[list[str], T]] = {}

    def look_at(filename: str) -> T:
        lines = lines_of(filename)
        if filename not in seen or seen[filename][0] is not lines:
            seen[filename] = lines, look(lines)
        return seen[filename][1]

    return look_at
