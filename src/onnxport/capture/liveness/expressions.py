"""Which expression of a size an int may be, seen at a few sizes: `2*n + 1`, `(n + 1)//2`, `(n + 6)//7*7`."""

from __future__ import annotations

import bisect
import dataclasses
import functools
import itertools
import math
from collections.abc import Container, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import torch

from ...dims import Dim, Size

# Divisors that are considered.
_LARGEST_DIVISOR = 64
_DIVISORS = (2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 32)
# Denominators of rates, as of `int(n * 0.15)`: of them only those that floats give for all sizes up to this, too.
_RATES = (2, 3, 4, 5, 10, 20)
_CHECKED = 4096
# Of so many labels products of up to three are considered.
_LABELS, _TIMES = 5, " * "
# And of others that a rate may be instead (`int(n * 0.37)`, `n // 0.9`), none of which is taken for what it seems.
_OTHER_RATES = (*range(2, 25), 25, 50, 100)


@dataclasses.dataclass(frozen=True, slots=True)
class Expression:
    """`(factor * size + offset) // divisor * multiple` of one label, or of the product of several (`b * n`)."""

    label: str
    factor: int
    offset: int
    divisor: int = 1
    multiple: int = 1
    confirmed: bool = dataclasses.field(default=False, compare=False)  # by more sizes than it was made from

    def at(self, size: int) -> int:
        return (self.factor * size + self.offset) // self.divisor * self.multiple

    def size(self) -> Size:
        size: Size = 1
        for label in self.label.split(_TIMES):
            size = size * Dim.symbol(label)
        return (size * self.factor + self.offset) // self.divisor * self.multiple


@dataclasses.dataclass(frozen=True, slots=True)
class Quotient:
    """`(factor * size + offset) / divisor`, a float; or `divisor / (factor * size + offset)`; or the root of such a one."""

    label: str
    factor: int
    offset: int
    divisor: int
    inverse: bool = False
    root: bool = False

    def at(self, size: int) -> float:
        number = self.factor * size + self.offset
        if self.inverse:
            quotient = self.divisor / number if number else float("inf")
        else:
            quotient = number / self.divisor
        return math.sqrt(max(quotient, 0.0)) if self.root else quotient

    def operands(self) -> tuple[Size, Size]:
        number = Dim.symbol(self.label) * self.factor + self.offset
        return (self.divisor, number) if self.inverse else (number, self.divisor)


def quotients(observed: Sequence[tuple[Mapping[str, int], float]]) -> list[Quotient]:
    """Quotients with a size, or roots of them, that give each of these floats, at three sizes and more."""
    found: list[Quotient] = []
    for label, size in observed[0][0].items():
        points = {s[label]: v for s, v in observed}
        others = [n for n in points if n != size]
        if len(points) < 3 or any(points[s[label]] != v for s, v in observed):
            continue
        for root, inverse in itertools.product((False, True), (False, True)):
            if (inverse and 0.0 in points.values()) or (root and min(points.values()) < 0):
                continue
            first, second = ((points[n] ** (2 if root else 1)) ** (-1 if inverse else 1) for n in (size, others[0]))
            slope = Fraction((first - second) / (size - others[0])).limit_denominator(_LARGEST_DIVISOR)
            start = Fraction(first - float(slope) * size).limit_denominator(_LARGEST_DIVISOR)
            divisor = math.lcm(slope.denominator, start.denominator)
            made = Quotient(label, int(slope * divisor), int(start * divisor), divisor, inverse, root)
            if made.factor and all(math.isclose(made.at(n), v, rel_tol=1e-15) for n, v in points.items()):
                found.append(made)
                break
    return found


def number(value: Any) -> float | None:
    """A float, or the content of the 0-d tensor that the tracer makes of one."""
    if isinstance(value, torch.Tensor):
        return float(value) if value.dim() == 0 and value.dtype == torch.float64 else None
    return value if isinstance(value, float) else None


def integer(value: Any) -> int | None:
    """An int, or the content of a 0-d int64 tensor."""
    if isinstance(value, torch.Tensor):
        return int(value) if value.dim() == 0 and value.dtype == torch.int64 else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def candidates(observed: Sequence[tuple[Mapping[str, int], int]]) -> list[Expression]:
    """Expressions of one size that give each of these numbers; of several, those without an offset.

    The first of the observations is the example's.
    """
    sizes, value = observed[0]
    found: list[Expression] = []
    for label, size in sizes.items():
        points = {s[label]: v for s, v in observed}
        if len(points) < 2 or any(points[s[label]] != v for s, v in observed):
            continue
        options = [*_linear(label, size, value, points), *_quotients(label, size, value)]
        kept = [e for e in options if all(e.at(n) == v for n, v in points.items())]
        found += [dataclasses.replace(e, confirmed=_is_confirmed(e, size, points)) for e in kept]
    by_size: dict[Size, Expression] = {}
    for expression in found:
        by_size.setdefault(expression.size(), expression)
    distinct = list(by_size.values())
    linear = [e for e in distinct if e.divisor == 1 and e.confirmed]
    if linear:  # a line through three points is no coincidence
        plain = [e for e in linear if e.offset == 0]
        return plain if len(linear) > 1 and len(plain) == 1 else linear
    return distinct


def products(observed: Sequence[tuple[Mapping[str, int], int]]) -> list[Expression]:
    """Products of sizes that are each of these numbers, some times: `np.prod(x.shape)`."""
    sizes, value = observed[0]
    found = []
    for count in (2, 3):
        for labels in itertools.combinations_with_replacement(list(sizes)[:_LABELS], count):
            seen = [(math.prod(at[label] for label in labels), number) for at, number in observed]
            whole, number = seen[0]
            if whole and value and number % whole == 0 and all(p * (value // whole) == n for p, n in seen):
                # Sizes of the same proportions tell none of `b * n` and `3 * b * b`.
                shapes = {tuple(Fraction(at[label], at[labels[0]] or 1) for label in sizes) for at, _ in observed}
                confirmed = len(set(seen)) > 2 and (len(shapes) > 2 or len(sizes) == 1)
                found.append(Expression(_TIMES.join(labels), value // whole, 0, confirmed=confirmed))
    return found


def _is_confirmed(expression: Expression, size: int, points: Mapping[int, int]) -> bool:
    """Whether no choice between a few numbers, as an `if` makes it, could be taken for the expression."""
    if expression.divisor == 1:
        return len(points) > 2
    if expression.factor != 1:
        plain = expression.divisor in _RATES
        if not plain or not _is_exact(expression.factor, expression.divisor, up=expression.offset > 0):
            return False
    return len(points) > 5 and len(set(points.values())) > 3 and max(points) >= 2 * size


def _linear(label: str, size: int, value: int, points: Mapping[int, int]) -> list[Expression]:
    other = next(n for n in points if n != size)
    slope = Fraction(points[other] - value, other - size)
    if slope.denominator != 1 or slope == 0:
        return []
    return [Expression(label, int(slope), value - int(slope) * size)]


@functools.cache
def _rates() -> list[Fraction]:
    """In order; but for 1."""
    return sorted({Fraction(p, q) for q in _OTHER_RATES for p in range(1, 2 * q)} - {Fraction(1)})


def _rounded(label: str, size: int, value: int) -> Iterator[Expression]:
    """Rates of which this value is the product with the size, rounded down or up."""
    rates = _rates()
    for rate in rates[bisect.bisect_left(rates, Fraction(value, size)) :]:
        if rate * size >= value + 1:
            break
        yield Expression(label, rate.numerator, 0, rate.denominator)
    for rate in reversed(rates[: bisect.bisect_right(rates, Fraction(value, size))]):
        if rate * size <= value - 1:
            break
        yield Expression(label, rate.numerator, rate.denominator - 1, rate.denominator)


@functools.cache
def _is_exact(numerator: int, divisor: int, *, up: bool) -> bool:
    """Whether `int(n * rate)`, or `math.ceil(n * rate)`, is the quotient of ints that it seems to be."""
    rate = numerator / divisor
    if up:
        return all(math.ceil(n * rate) == -(-n * numerator // divisor) for n in range(_CHECKED))
    return all(int(n * rate) == n * numerator // divisor for n in range(_CHECKED))


def _quotients(label: str, size: int, value: int) -> list[Expression]:
    """Quotients, rates, and the whole multiples that sizes, or parts of them, are cut or padded to."""
    made = (
        [] if not size or (value and value % size == 0) else list(_rounded(label, size, value))
    )  # multiples are lines
    for divisor in _DIVISORS:
        for multiple in range(1, divisor + 1):
            if divisor % multiple == 0 and value % multiple == 0:
                first = divisor * (value // multiple) - size
                shifts = range(first, first + divisor)
                made += [Expression(label, 1, q, divisor, multiple) for q in shifts if -divisor <= q <= divisor]
    return made


def separating_size(
    size: int, groups: Sequence[Sequence[Expression]], seen: Container[int], step: int = 1, larger: float = math.inf
) -> int:
    """A multiple of the step not seen yet, and at most so many times larger, at which expressions of one group give as many
    different numbers as possible.

    Where each group has one expression left, sizes that lie apart, which confirm it.
    """
    if all(len(group) < 2 for group in groups):
        apart = (2 * size + 3 * step, step, size + 3 * step, 2 * size, 2 * step)
        largest = size * 2 // step * step  # at small sizes, and at near ones, quotients are alike
        rest = (range(largest, 0, -max(size // 5 // step, 1) * step), range(largest, 0, -step))
        return next((n for n in itertools.chain(apart, *rest) if n not in seen and n <= larger * size), size)

    def score(n: int) -> tuple[int, int]:
        return sum(len({e.at(n) for e in group}) for group in groups), -abs(n - size) + (n > size)

    largest = max(size * 2 + 32 * step, min(size * 16, 128 * step))  # 0.5 and 0.51 are told apart by 51
    options = range(step, int(min(largest, larger * size + 1)), step)
    return max((n for n in options if n not in seen), key=score, default=size)
