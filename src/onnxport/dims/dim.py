"""`Dim`: a size that isn't known yet, and what can be computed with it and said about it.

It is one file since each part needs the others: a division looks for bounds, to find a bound terms are divided anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import gcd
from typing import Literal, NoReturn, cast

from .polynomial import (
    NAME,
    Atom,
    Kind,
    Size,
    Terms,
    content,
    divmod_terms,
    greatest,
    least,
    lower_by_term,
    multiplied,
    ordered,
    rank,
    terms_of,
    text_of,
)

_PROOF_DEPTH = 3  # relaxations tried one inside another before a bound counts as unknown


class UnknownSizeError(TypeError):
    """A size that is known only at run time was used as a Python number."""

    def __init__(self, size: Dim, reason: str) -> None:
        super().__init__(f"the size '{size}' is not known: {reason}")
        self.size = size


class Dim:
    """A size that isn't known yet. Make one with `Dim.symbol`, then compute."""

    __slots__ = ("_hash", "_low", "_terms", "_text")

    def __init__(self, terms: Terms) -> None:
        self._terms = terms
        self._hash: int | None = None
        self._text: str | None = None
        self._low: int | str | None = "not asked for"  # the lower bound

    @staticmethod
    def symbol(name: str, minimum: int | None = 0) -> Dim:
        if not name or "`" in name:
            raise ValueError(f"{name!r} can't name a size: it must be non-empty and without backticks")
        text = name if NAME.fullmatch(name) else f"`{name}`"
        return _dim_of(Atom(text, low=minimum, name=name))

    def __add__(self, other: Size) -> Size:
        if isinstance(other, int):
            if not other:
                return self
            added: Terms = {(): other}
        elif isinstance(other, Dim):
            added = other._terms
        else:
            return NotImplemented
        terms = self._terms.copy()
        for monomial, coefficient in added.items():
            total = terms.get(monomial, 0) + coefficient
            if total:
                terms[monomial] = total
            else:
                del terms[monomial]
        return _size(terms)

    __radd__ = __add__

    def __neg__(self) -> Dim:
        return Dim({monomial: -coefficient for monomial, coefficient in self._terms.items()})

    def __sub__(self, other: Size) -> Size:
        return self + -other if isinstance(other, int | Dim) else NotImplemented

    def __rsub__(self, other: int) -> Size:
        return -self + other if isinstance(other, int) else NotImplemented

    def __mul__(self, other: Size) -> Size:
        if isinstance(other, int):
            return Dim({m: c * other for m, c in self._terms.items()}) if other else 0
        if not isinstance(other, Dim):
            return NotImplemented
        left, right = self._terms, other._terms
        if len(left) == 1 == len(right):
            ((m1, c1),), ((m2, c2),) = left.items(), right.items()
            return Dim({multiplied(m1, m2): c1 * c2})
        terms: Terms = {}
        for m1, c1 in left.items():
            for m2, c2 in right.items():
                monomial = multiplied(m1, m2)
                terms[monomial] = terms.get(monomial, 0) + c1 * c2
        return _size({m: c for m, c in terms.items() if c})

    __rmul__ = __mul__

    def __floordiv__(self, other: Size) -> Size:
        return _floordiv(self, other) if isinstance(other, int | Dim) else NotImplemented

    def __rfloordiv__(self, other: int) -> Size:
        return _floordiv(other, self) if isinstance(other, int) else NotImplemented

    def __mod__(self, other: Size) -> Size:
        return _mod(self, other) if isinstance(other, int | Dim) else NotImplemented

    def __rmod__(self, other: int) -> Size:
        return _mod(other, self) if isinstance(other, int) else NotImplemented

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Dim):
            return self._terms == other._terms
        return False if isinstance(other, int) else NotImplemented

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self._terms.items()))
        return self._hash

    def __str__(self) -> str:
        if self._text is None:
            self._text = text_of(self._terms)
        return self._text

    def __repr__(self) -> str:
        return f"Dim({self})"

    def __reduce__(self) -> tuple[type[Dim], tuple[Terms]]:
        return Dim, (self._terms,)  # without the hash: that of a str differs from process to process

    def __copy__(self) -> Dim:
        return self

    def __deepcopy__(self, memo: object) -> Dim:
        return self

    def __bool__(self) -> NoReturn:
        raise UnknownSizeError(self, "it has no truth value (see known_eq)")

    def _no_number(self) -> NoReturn:
        raise UnknownSizeError(self, "it can't be used as a number")

    def _no_order(self, other: object) -> NoReturn:
        raise UnknownSizeError(self, "compare it with known_lt, known_le or known_ge")

    __int__ = __index__ = __float__ = _no_number
    __lt__ = __le__ = __gt__ = __ge__ = _no_order


# -- building ---------------------------------------------------------------------------------------


def product(sizes: Iterable[Size]) -> Size:
    result: Size = 1
    for size in sizes:
        result = result * size
    return result


def minimum(*sizes: Size) -> Size:
    return _extremum("min", sizes)


def maximum(*sizes: Size) -> Size:
    return _extremum("max", sizes)


def broadcast(*sizes: Size) -> Size:
    """The size that `sizes` broadcast to: the one that isn't 1. ValueError if they provably can't be."""
    args = [size for size in _flat("broadcast", sizes) if size != 1]
    args = [size for size in args if not any(_is_cut(size, other) for other in args)]
    decided = [size for size in args if known_eq(size, 1) is False]
    for size in decided[1:]:
        if known_eq(size, decided[0]) is False:
            raise ValueError(f"the sizes {decided[0]} and {size} can't be broadcast together")
    if decided:  # the others are 1 or equal to it
        return decided[0]
    if len(args) < 2:
        return args[0] if args else 1
    lows, highs = [lower_bound(size) for size in args], [upper_bound(size) for size in args]
    low, high = least(lows), greatest(highs)
    if low is not None and low >= 1:  # then it is the maximum
        low = max(cast("list[int]", lows))
    return _dim_of(Atom(_call("broadcast", args), "broadcast", tuple(args), low, high))


def _is_cut(size: Size, other: Size) -> bool:
    """Whether `size` is min(k, other) with k > 1: it is `other` wherever the two can be broadcast together."""
    atom = _lone_atom(size)
    if atom is None or atom.kind != "min":
        return False
    return other in atom.args and all(a == other or (isinstance(a, int) and a > 1) for a in atom.args)


def broadcast_shapes(*shapes: Sequence[Size]) -> tuple[Size, ...]:
    """The sizes that tensors of these sizes broadcast to."""
    rank = max(map(len, shapes), default=0)
    padded = [(*(1,) * (rank - len(shape)), *shape) for shape in shapes]
    return tuple([broadcast(*column) for column in zip(*padded)])


def substitute(size: Size, values: Mapping[str, Size]) -> Size:
    """`size` with the named symbols replaced, simplified anew."""

    def replace(atom: Atom) -> Size | None:
        if atom.kind != "symbol":
            return None
        return values[atom.name] if atom.name in values else _dim_of(atom)

    return _rebuild(size, replace)


# -- asking -----------------------------------------------------------------------------------------


def terms(size: Size) -> list[tuple[int, list[tuple[Atom, int]]]]:
    """The sum `size` is: (coefficient, [(atom, power), ...]) in the order it is printed."""
    return [(coefficient, list(monomial)) for monomial, coefficient in ordered(terms_of(size))]


def evaluate(size: Size, values: Mapping[str, int]) -> int:
    """The number `size` is. KeyError where a value is missing, ValueError where a broadcast fails."""
    if isinstance(size, int):
        return size
    total = 0
    for monomial, coefficient in size._terms.items():
        for atom, power in monomial:
            coefficient *= _evaluate_atom(atom, values) ** power
        total += coefficient
    return total


def exact_div(a: Size, b: Size) -> Size | None:
    """The quotient where `b` provably divides `a`, else None."""
    if isinstance(b, int) and b == 0:
        return None
    for numerator, divisor in ((a, b), (_unify(a), _unify(b))):
        if isinstance(divisor, int) and divisor == 0:
            return None
        quotient, remainder = divmod_terms(terms_of(numerator), terms_of(divisor))
        if not remainder:
            return _size(quotient)
    return None


def lower_bound(size: Size) -> int | None:
    """A number that `size` is never below, or None. Not always the greatest."""
    if isinstance(size, int):
        return size
    if isinstance(size._low, str):
        size._low = _lower(size, _PROOF_DEPTH)
    return size._low


def upper_bound(size: Size) -> int | None:
    """A number that `size` is never above, or None. Not always the least."""
    low = _lower(-size, _PROOF_DEPTH)
    return None if low is None else -low


def known_eq(a: Size, b: Size) -> bool | None:
    """Whether `a == b` for all values (True), for none (False), or it depends or isn't known (None)."""
    difference = a - b
    if isinstance(difference, int):
        return difference == 0
    step = gcd(*(c for m, c in difference._terms.items() if m))
    if difference._terms.get((), 0) % step:
        return False
    low, high = lower_bound(difference), upper_bound(difference)
    if (low is not None and low > 0) or (high is not None and high < 0):
        return False
    if low == high == 0:
        return True
    if all(atom.kind == "symbol" for monomial in difference._terms for atom, _ in monomial):
        return None
    unified = _unify(difference)
    return unified == 0 if isinstance(unified, int) else None


def known_le(a: Size, b: Size) -> bool | None:
    """Whether `a <= b` for all values (True), for none (False), or it depends or isn't known (None)."""
    low = lower_bound(b - a)
    if low is not None and low >= 0:
        return True
    high = upper_bound(b - a)
    return False if high is not None and high < 0 else None


def known_lt(a: Size, b: Size) -> bool | None:
    return known_le(a + 1, b)


def known_ge(a: Size, b: Size) -> bool | None:
    return known_le(b, a)


# -- text -------------------------------------------------------------------------------------------


def _operand(size: Size) -> str:
    """The text of a size beside `//` or `%`."""
    if isinstance(size, int):
        return str(size) if size >= 0 else f"({size})"
    atom = _lone_atom(size)
    return str(size) if atom is not None and atom.kind not in ("floordiv", "mod") else f"({size})"


def _call(function: str, args: Iterable[Size]) -> str:
    return f"{function}({', '.join(map(str, args))})"


# -- polynomials ------------------------------------------------------------------------------------


def _size(terms: Terms) -> Size:
    if len(terms) > 1:
        return Dim(terms)
    return Dim(terms) if terms and () not in terms else terms.get((), 0)


def _dim_of(atom: Atom) -> Dim:
    return Dim({((atom, 1),): 1})


def _lone_atom(size: Size) -> Atom | None:
    """The atom that `size` is, if it is just one."""
    if isinstance(size, Dim) and len(size._terms) == 1:
        ((monomial, coefficient),) = size._terms.items()
        if coefficient == 1 and len(monomial) == 1 and monomial[0][1] == 1:
            return monomial[0][0]
    return None


def _rebuild(size: Size, replace: Callable[[Atom], Size | None]) -> Size:
    """`size` with its atoms replaced; where `replace` answers None, with those in the atom's arguments."""
    if isinstance(size, int):
        return size
    result: Size = 0
    for monomial, coefficient in size._terms.items():
        term: Size = coefficient
        for atom, power in monomial:
            new = replace(atom)
            if new is None:
                new = _apply(atom.kind, [_rebuild(arg, replace) for arg in atom.args])
            term = term * product([new] * power)
        result = result + term
    return result


def _apply(kind: Kind, args: list[Size]) -> Size:
    if kind == "floordiv":
        return _floordiv(*args)
    if kind == "mod":
        return _mod(*args)
    if kind == "broadcast":
        return broadcast(*args)
    return minimum(*args) if kind == "min" else maximum(*args)


def _evaluate_atom(atom: Atom, values: Mapping[str, int]) -> int:
    if atom.kind == "symbol":
        return values[atom.name]
    args = [evaluate(arg, values) for arg in atom.args]
    if atom.kind == "broadcast" and len({arg for arg in args if arg != 1}) > 1:
        raise ValueError(f"'{atom}' fails: the sizes {args} can't be broadcast together")
    return cast(int, _apply(atom.kind, list(args)))


# -- division ---------------------------------------------------------------------------------------


def _floordiv(numerator: Size, divisor: Size) -> Size:
    if isinstance(divisor, int) and isinstance(numerator, int):
        return numerator // divisor
    if _is_negative(divisor):
        return _floordiv(-numerator, -divisor)
    if isinstance(divisor, int) and all(c < 0 for m, c in terms_of(numerator).items() if m):
        return -_floordiv(-numerator + divisor - 1, divisor)  # -(-n//4) is (n + 3)//4

    whole, rest = _split(numerator, divisor)
    if whole != 0:
        return whole + _floordiv(rest, divisor)
    if isinstance(rest, int) and rest == 0:
        return 0
    reduced = _reduce_fraction(rest, divisor)
    if reduced is not None:
        return _floordiv(reduced[1], reduced[2])

    # (x//a + c)//b = (x + a*c)//(a*b) for b > 0
    offset = terms_of(rest).get((), 0)
    inner = _lone_atom(rest - offset)
    if inner is not None and inner.kind == "floordiv" and _at_least(divisor, 0):
        return _floordiv(inner.args[0] + inner.args[1] * offset, inner.args[1] * divisor)
    if isinstance(divisor, int) and (padded := _padded(rest - offset, divisor)) is not None:
        return padded + offset // divisor

    low, high = _quotient_bounds(rest, divisor)
    if low is not None and low == high:
        return low
    if _at_least(rest, 0) and _at_least(divisor - rest, 1):
        return 0
    text = f"{_operand(rest)}//{_operand(divisor)}"
    return _dim_of(Atom(text, "floordiv", (rest, divisor), low, high))


def _padded(size: Size, divisor: int) -> Size | None:
    """The quotient of what is padded to a whole multiple: (n + -n % k)//k is (n + k - 1)//k."""
    for monomial, coefficient in terms_of(size).items():
        atom = monomial[0][0] if len(monomial) == 1 and coefficient == monomial[0][1] == 1 else None
        if atom is not None and atom.kind == "mod" and atom.args[1] == divisor:
            number = size - _dim_of(atom)
            # Of a symbol it is no simpler: what is padded is a size that is known anyway.
            is_nested = any(inner.args for found in terms_of(number) for inner, _ in found)
            if is_nested and exact_div(number + atom.args[0], divisor) is not None:
                return _floordiv(number + divisor - 1, divisor)
    return None


def _mod(numerator: Size, divisor: Size) -> Size:
    if isinstance(divisor, int) and isinstance(numerator, int):
        return numerator % divisor
    if _is_negative(divisor):
        return -_mod(-numerator, -divisor)
    whole, rest = _split(numerator, divisor)
    if whole != 0:
        return _mod(rest, divisor)
    if isinstance(rest, int) and rest == 0:
        return 0
    reduced = _reduce_fraction(rest, divisor)
    if reduced is not None:
        factor, small, small_divisor = reduced
        return factor * _mod(small, small_divisor) + (rest - factor * small)

    # c*(x % m) and c*x leave the same remainder if the divisor divides c*m
    for monomial, coefficient in terms_of(rest).items():
        atom = monomial[0][0] if len(monomial) == 1 and monomial[0][1] == 1 else None
        if atom is not None and atom.kind == "mod":
            value, modulus = atom.args
            if exact_div(coefficient * modulus, divisor) is not None:
                return _mod(rest + coefficient * (value - _dim_of(atom)), divisor)

    if _at_least(rest, 0) and _at_least(divisor - rest, 1):
        return rest
    low = high = None
    if _at_least(divisor, 0):
        low = 0
        highs = [upper_bound(divisor - 1), upper_bound(rest) if _at_least(rest, 0) else None]
        high = min((bound for bound in highs if bound is not None), default=None)
    text = f"{_operand(rest)}%{_operand(divisor)}"
    return _dim_of(Atom(text, "mod", (rest, divisor), low, high))


def _is_negative(divisor: Size) -> bool:
    """Whether its negation is the form we keep."""
    if isinstance(divisor, int):
        return divisor < 0
    return divisor._terms[min(divisor._terms, key=rank)] < 0


def _split(numerator: Size, divisor: Size) -> tuple[Size, Size]:
    """numerator = whole * divisor + rest"""
    if isinstance(divisor, int) and divisor == 0:
        raise ZeroDivisionError(f"{numerator} divided by zero")
    terms = terms_of(numerator)
    quotient, remainder = divmod_terms(terms, terms_of(divisor))
    # By a sum like h + 1 only where it gets simpler: h//(h + 1) is no better as 1 + (-1)//(h + 1).
    if len(terms_of(divisor)) > 1 and len(remainder) >= len(terms):
        return 0, numerator
    return _size(quotient), _size(remainder)


def _reduce_fraction(numerator: Size, divisor: Size) -> tuple[Size, Size, Size] | None:
    """(factor, n, d) with divisor = factor*d and numerator = factor*n + r, an int r in [0, factor)."""
    terms = terms_of(numerator)
    if isinstance(divisor, int):
        # A constant needs no common factor: (2*n + 1)//4 is n//2.
        factor: Size = gcd(divisor, *(c for m, c in terms.items() if m))
    else:
        factor = _size(content(terms, divisor._terms))
    if factor == 1:
        return None
    small, _ = divmod_terms(terms, terms_of(factor))
    small_divisor, _ = divmod_terms(terms_of(divisor), terms_of(factor))
    return factor, _size(small), _size(small_divisor)


def _quotient_bounds(numerator: Size, divisor: Size) -> tuple[int | None, int | None]:
    least, most = lower_bound(divisor), upper_bound(divisor)
    if least is None or least < 0 or (most is not None and most < 1):
        return None, None  # of either sign, or 0 after all
    least = max(least, 1)
    low, high = lower_bound(numerator), upper_bound(numerator)
    if low is not None:
        low = low // least if low < 0 else 0 if most is None else low // most
    if high is not None:
        high = high // least if high >= 0 else -1 if most is None else high // most
    return low, high


# -- minimum, maximum -------------------------------------------------------------------------------


def _flat(kind: Kind, sizes: Iterable[Size]) -> list[Size]:
    """The distinct arguments, with those of nested calls, in the order of their texts; an int comes first."""
    found: dict[Size, None] = {}
    for size in sizes:
        atom = _lone_atom(size)
        found.update(dict.fromkeys(atom.args if atom is not None and atom.kind == kind else [size]))
    return sorted(found, key=lambda size: (isinstance(size, Dim), str(size)))


def _extremum(kind: Literal["min", "max"], sizes: Iterable[Size]) -> Size:
    kept: list[Size] = []
    sign = 1 if kind == "min" else -1
    for size in _flat(kind, sizes):
        if any(_at_least(sign * (size - other), 0) for other in kept):
            continue
        kept = [other for other in kept if not _at_least(sign * (other - size), 0)] + [size]
    if len(kept) == 1:
        return kept[0]
    if not kept:
        raise ValueError(f"{kind} of no sizes")
    lows, highs = [lower_bound(size) for size in kept], [upper_bound(size) for size in kept]
    if kind == "min":
        low, high = least(lows), min((high for high in highs if high is not None), default=None)
    else:
        low, high = max((low for low in lows if low is not None), default=None), greatest(highs)
    return _dim_of(Atom(_call(kind, kept), kind, tuple(kept), low, high))


# -- proofs -----------------------------------------------------------------------------------------


def _at_least(size: Size, bound: int) -> bool:
    low = lower_bound(size)
    return low is not None and low >= bound


def _lower(size: Size, depth: int) -> int | None:
    if isinstance(size, int):
        return size
    total = lower_by_term(size._terms)
    if total is not None or depth == 0:
        return total
    # Term by term there is no bound. Terms may cancel once an atom is replaced by what bounds it.
    for monomial, coefficient in size._terms.items():
        if len(monomial) == 1 and monomial[0][1] == 1 and monomial[0][0].kind != "symbol":
            rest = size - Dim({monomial: coefficient})
            total = _lower_without(monomial[0][0], coefficient, rest, depth - 1)
            if total is not None:
                return total
    if any(atom.low and atom.kind == "symbol" for monomial in size._terms for atom, _ in monomial):
        return _lower(_rebuild(size, _above_minimum), 0)
    return None


def _above_minimum(atom: Atom) -> Size:
    """A symbol n of minimum 1 as 1 + n', so that n*m - n becomes n'*m' + m', which can't be negative."""
    if atom.kind != "symbol" or not atom.low:
        return _dim_of(atom)
    return atom.low + _dim_of(Atom(f"{atom}'", low=0, name=f"{atom.name}'"))


def _lower_without(atom: Atom, coefficient: int, rest: Size, depth: int) -> int | None:
    """A lower bound of coefficient*atom + rest."""
    if atom.kind == "floordiv" and isinstance(atom.args[1], int):
        numerator, divisor = atom.args[0], atom.args[1]
        if coefficient > 0:
            numerator = numerator - (divisor - 1)
        low = _lower(divisor * rest + coefficient * numerator, depth)
        return None if low is None else -(-low // divisor)
    if atom.kind in ("floordiv", "mod"):
        # x//d and x % d are at most x, where x >= 0 and d > 0
        if coefficient < 0 and atom.low == 0 and _at_least(atom.args[0], 0):
            return _lower(rest + coefficient * atom.args[0], depth)
        return None
    lows = [_lower(rest + coefficient * arg, depth) for arg in atom.args]
    if atom.kind == ("max" if coefficient > 0 else "min"):
        return max((low for low in lows if low is not None), default=None)
    return least(lows)


def _unify(size: Size) -> Size:
    """`size` in a form that is worse to read and better to compare: without remainders, and with one of
    x//k and (-x - 1)//k, which are negations of each other but for 1."""
    return _rebuild(size, _unify_atom)


def _unify_atom(atom: Atom) -> Size | None:
    if atom.kind not in ("floordiv", "mod"):
        return _dim_of(atom) if atom.kind == "symbol" else None
    if atom.unified is None:
        atom.unified = _unified(atom)
    return atom.unified


def _unified(atom: Atom) -> Size:
    numerator, divisor = (_unify(arg) for arg in atom.args)
    quotient = _floordiv(numerator, divisor)
    inner = _lone_atom(quotient)
    if inner is not None and inner.kind == "floordiv" and isinstance(inner.args[1], int):
        x, k = inner.args[0], inner.args[1]
        whole, other = _split(-x - 1, k)
        # Both have the same monomials, but perhaps for the constant.
        order = sorted(terms_of(x).keys() | {()}, key=rank)
        if [terms_of(other).get(m, 0) for m in order] < [terms_of(x).get(m, 0) for m in order]:
            quotient = -1 - whole - _floordiv(other, k)
    return quotient if atom.kind == "floordiv" else numerator - divisor * quotient
