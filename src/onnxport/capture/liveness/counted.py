"""Ints that Python took out of sizes, held against the expressions that they seem to be.

`int(n * 0.123)` is `n // 8` for all sizes up to 65. What it was taken from stays in the trace, so that it can be computed for
many more sizes than the model is traced at, without the model.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .expressions import Expression
from .trial_sizes import Sizes
from .trials import Trials

_SIZES = (
    *range(1, 130),
    150,
    177,
    199,
    200,
    205,
    243,
    256,
    300,
    333,
    399,
    500,
    512,
    640,
    777,
    1000,
    1500,
    2048,
    3001,
    4096,
)
_NUMBERS = 32
_OPERATIONS = 30


class Counted:
    """Of one program."""

    def __init__(self, trials: Trials) -> None:
        self._trials = trials
        self._numbers = trials.program.conditions.counted
        self._known: dict[tuple[int, ...], Any] = {}

    def denies(self, expression: Expression, observed: Sequence[tuple[Sizes, int]]) -> bool:
        """Whether the numbers observed go with an int that was taken, but the expression doesn't."""
        sizes = self._trials.sizes
        count = len(self._numbers.numbers)
        if not 0 < count <= _NUMBERS or expression.divisor == 1 or expression.label not in sizes:
            return False
        if self._numbers.cost > _OPERATIONS:
            return False
        given = [(self._at({label: at[label] for label in sizes}), number) for at, number in observed]
        if any(numbers is None for numbers, _ in given):
            return False
        return any(
            self._is_other(expression, [(numbers[i], number) for numbers, number in given], i) for i in range(count)
        )

    def _is_other(self, expression: Expression, seen: Sequence[tuple[int, int]], index: int) -> bool:
        """Whether all that was seen is one int that was taken and some more, and the expression isn't elsewhere."""
        more = {number - taken for taken, number in seen}
        if len(more) != 1 or len({taken for taken, _ in seen}) < 2:
            return False
        for n in _SIZES:
            sizes = {**self._trials.sizes, expression.label: n}
            numbers = self._at(sizes) if self._trials.allowed(sizes) == sizes else None
            if numbers is not None and numbers[index] + max(more) != expression.at(n):
                return True
        return False

    def _at(self, sizes: Sizes) -> Any:
        """The ints at these sizes, None where they can't be computed."""
        key = tuple(sizes.values())
        if key not in self._known:
            (numbers,) = self._trials.reruns.computed(self._numbers, [sizes])
            self._known[key] = numbers if isinstance(numbers, tuple) else None
        return self._known[key]
