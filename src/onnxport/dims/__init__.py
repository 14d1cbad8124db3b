"""Symbolic integer sizes.

A `Size` is an `int` or a `Dim`. A `Dim` is an integer polynomial over *atoms*: named symbols, floor
divisions, remainders, minima, maxima and broadcasts. It is immutable, and equal exactly when it is the
same polynomial. Whatever turns out constant is an `int`, so `isinstance(size, int)` means "known".

Three assumptions, made nowhere else: a symbol is an integer not below its minimum (0 unless given), a divisor
is not zero, and the sizes in a `broadcast` can be broadcast together. Division has Python's floor semantics.

Two symbols of one name are one symbol. Nothing here is cached by value across calls: equal `Dim`s may
know different minima, and a simplification justified in one export must not leak into another.

A division by an int leaves only coefficients in [0, k) in the numerator. So `(n - 3)//2` and `(n + 1)//2 - 2`
are one thing, and most numerators are provably non-negative, where truncating division is floor division.
"""

from .dim import (
    Dim,
    UnknownSizeError,
    broadcast,
    broadcast_shapes,
    evaluate,
    exact_div,
    known_eq,
    known_ge,
    known_le,
    known_lt,
    lower_bound,
    maximum,
    minimum,
    product,
    substitute,
    terms,
    upper_bound,
)
from .parser import parse
from .polynomial import Atom, Size, free_symbols

__all__ = [
    "Atom",
    "Dim",
    "Size",
    "UnknownSizeError",
    "broadcast",
    "broadcast_shapes",
    "evaluate",
    "exact_div",
    "free_symbols",
    "known_eq",
    "known_ge",
    "known_le",
    "known_lt",
    "lower_bound",
    "maximum",
    "minimum",
    "parse",
    "product",
    "substitute",
    "terms",
    "upper_bound",
]
