"""Integer polynomials as dicts: what they are made of, their order, product, division, text and bounds."""

from __future__ import annotations

import re
from math import gcd
from typing import TYPE_CHECKING, Literal, TypeAlias, Union, cast

if TYPE_CHECKING:
    from .dim import Dim

Kind = Literal["symbol", "floordiv", "mod", "min", "max", "broadcast"]
Monomial: TypeAlias = "tuple[tuple[Atom, int], ...]"  # sorted (atom, power); () stands for 1
Terms: TypeAlias = dict[Monomial, int]  # no zero coefficients
Size: TypeAlias = Union[int, "Dim"]

# Names that need no backticks in a text.
NAME = re.compile(r"[^\W\d]\w*(\.\w+)*")


class Atom(str):
    """An indivisible factor. It *is* its canonical text, so that hashing, equality and order are str's own.

    `args` are (numerator, divisor) of "floordiv" and "mod", two or more sizes of the others.
    `low` and `high` bound the value; None is unbounded. `unified` is kept for comparisons, once it was asked for.
    """

    __slots__ = ("args", "high", "kind", "low", "name", "unified")

    kind: Kind
    name: str
    args: tuple[Size, ...]
    low: int | None
    high: int | None
    unified: Size | None

    def __new__(
        cls,
        text: str,
        kind: Kind = "symbol",
        args: tuple[Size, ...] = (),
        low: int | None = None,
        high: int | None = None,
        name: str = "",
    ) -> Atom:
        self = super().__new__(cls, text)
        self.kind, self.args, self.low, self.high, self.name = kind, args, low, high, name
        self.unified = None
        return self


def terms_of(size: Size) -> Terms:
    if isinstance(size, int):
        return {(): size} if size else {}
    return size._terms


def free_symbols(size: Size) -> frozenset[str]:
    names: set[str] = set()
    for monomial in terms_of(size):
        for atom, _ in monomial:
            if atom.kind == "symbol":
                names.add(atom.name)
            else:
                names.update(*(free_symbols(arg) for arg in atom.args))
    return frozenset(names)


def rank(monomial: Monomial) -> tuple[int, list[Atom]]:
    """Greatest first, by degree and then by letters. Multiplying keeps this order, as division needs."""
    word = [atom for atom, power in monomial for _ in range(power)]
    return -len(word), word


def ordered(terms: Terms) -> list[tuple[Monomial, int]]:
    """Positive terms, negative ones, the constant."""
    return sorted(terms.items(), key=lambda item: (not item[0], item[1] < 0, rank(item[0])))


def multiplied(a: Monomial, b: Monomial) -> Monomial:
    if not a or not b:
        return a or b
    powers = dict(a)
    for atom, power in b:
        powers[atom] = powers.get(atom, 0) + power
    return tuple(sorted(powers.items()))


def divided(a: Monomial, b: Monomial) -> Monomial | None:
    """a / b, None where that isn't a monomial."""
    if not b:
        return a
    powers = dict(a)
    for atom, power in b:
        left = powers.get(atom, 0) - power
        if left < 0:
            return None
        powers[atom] = left
    return tuple((atom, power) for atom, power in powers.items() if power)


def divmod_terms(numerator: Terms, divisor: Terms) -> tuple[Terms, Terms]:
    """Polynomials with numerator = quotient * divisor + remainder."""
    lead = min(divisor, key=rank)
    unit = divisor[lead]
    rest = [(m, c) for m, c in divisor.items() if m != lead]
    left, quotient, remainder = dict(numerator), Terms(), Terms()
    while left:
        # Without a rest nothing comes back into `left`: any order will do.
        monomial = min(left, key=rank) if rest else next(iter(left))
        coefficient = left.pop(monomial)
        cofactor = divided(monomial, lead)
        times, residue = (0, coefficient) if cofactor is None else divmod(coefficient, unit)
        if residue:
            remainder[monomial] = residue
        if cofactor is None or not times:
            continue
        quotient[cofactor] = times
        for m, c in rest:
            m = multiplied(m, cofactor)
            total = left.pop(m, 0) - c * times
            if total:
                left[m] = total
    return quotient, remainder


def text_of(terms: Terms) -> str:
    text = ""
    for monomial, coefficient in ordered(terms):
        factors = [factor for atom, power in monomial for factor in [atom] * power]
        sign = "-" if coefficient < 0 else "+"
        text += f" {sign} " if text else sign.strip("+")
        # A lone division needs no parentheses, except behind a sign, which would bind tighter.
        if abs(coefficient) == 1 and len(factors) == 1 and text != "-":
            text += factors[0]
        else:
            shown = [f"({atom})" if atom.kind in ("floordiv", "mod") else atom for atom in factors]
            text += "*".join([str(abs(coefficient))] * (abs(coefficient) != 1 or not shown) + shown)
    return text


def content(*polynomials: Terms) -> Terms:
    """The greatest monomial, with its coefficient, that divides all of them."""
    coefficients = [c for polynomial in polynomials for c in polynomial.values()]
    monomials = [dict(m) for polynomial in polynomials for m in polynomial]
    common = min(monomials, key=len)
    shared = ((atom, min(m.get(atom, 0) for m in monomials)) for atom in sorted(common))
    return {tuple((atom, power) for atom, power in shared if power): gcd(*coefficients)}


def lower_by_term(terms: Terms) -> int | None:
    """What the sum of the least values of the terms is; None if one of them has none."""
    total = 0
    for monomial, coefficient in terms.items():
        low, high = monomial_bounds(monomial)
        bound = low if coefficient > 0 else high
        if bound is None:
            return None
        total += coefficient * bound
    return total


def monomial_bounds(monomial: Monomial) -> tuple[int | None, int | None]:
    low: int | None = 1
    high: int | None = 1
    for atom, power in monomial:
        if atom.low is None or atom.low < 0:
            if len(monomial) == 1 and power == 1:
                return atom.low, atom.high
            return (0 if all(p % 2 == 0 for _, p in monomial) else None), None
        low = cast(int, low) * atom.low**power
        high = None if high is None or atom.high is None else high * atom.high**power
    return low, high


def least(bounds: list[int | None]) -> int | None:
    known = [bound for bound in bounds if bound is not None]
    return min(known) if len(known) == len(bounds) else None


def greatest(bounds: list[int | None]) -> int | None:
    known = [bound for bound in bounds if bound is not None]
    return max(known) if len(known) == len(bounds) else None
