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

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import gcd
from typing import Literal, NoReturn, TypeAlias, Union, cast

Kind = Literal["symbol", "floordiv", "mod", "min", "max", "broadcast"]
Monomial: TypeAlias = "tuple[tuple[Atom, int], ...]"  # sorted (atom, power); () stands for 1
Terms: TypeAlias = dict[Monomial, int]  # no zero coefficients
Size: TypeAlias = Union[int, "Dim"]

_PROOF_DEPTH = 3  # relaxations tried one inside another before a bound counts as unknown


class Atom(str):
    """An indivisible factor. It *is* its canonical text, so that hashing, equality and order are str's own.

    `args` are (numerator, divisor) of "floordiv" and "mod", two or more sizes of the others.
    `low` and `high` bound the value; None is unbounded.
    """

    __slots__ = ("args", "high", "kind", "low", "name")

    kind: Kind
    name: str
    args: tuple[Size, ...]
    low: int | None
    high: int | None

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
        return self


class UnknownSizeError(TypeError):
    """A size that is known only at run time was used as a Python number."""

    def __init__(self, size: Dim, reason: str) -> None:
        super().__init__(f"the size '{size}' is not known: {reason}")
        self.size = size


class Dim:
    """A size that isn't known yet. Make one with `Dim.symbol`, then compute."""

    __slots__ = ("_hash", "_terms", "_text")

    def __init__(self, terms: Terms) -> None:
        self._terms = terms
        self._hash: int | None = None
        self._text: str | None = None

    @staticmethod
    def symbol(name: str, minimum: int | None = 0) -> Dim:
        if not name or "`" in name:
            raise ValueError(f"{name!r} can't name a size: it must be non-empty and without backticks")
        text = name if _NAME.fullmatch(name) else f"`{name}`"
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
            return Dim({_times(m1, m2): c1 * c2})
        terms: Terms = {}
        for m1, c1 in left.items():
            for m2, c2 in right.items():
                monomial = _times(m1, m2)
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
            self._text = _text(self._terms)
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
    low, high = _least(lows), _greatest(highs)
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
    return [(coefficient, list(monomial)) for monomial, coefficient in _sorted(_terms(size))]


def free_symbols(size: Size) -> frozenset[str]:
    names: set[str] = set()
    for monomial in _terms(size):
        for atom, _ in monomial:
            if atom.kind == "symbol":
                names.add(atom.name)
            else:
                names.update(*(free_symbols(arg) for arg in atom.args))
    return frozenset(names)


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
        quotient, remainder = _divmod_terms(_terms(numerator), _terms(divisor))
        if not remainder:
            return _size(quotient)
    return None


def lower_bound(size: Size) -> int | None:
    """A number that `size` is never below, or None. Not always the greatest."""
    return _lower(size, _PROOF_DEPTH)


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

_NAME = re.compile(r"[^\W\d]\w*(\.\w+)*")
_TOKEN = re.compile(rf"\s*(?:[0-9]+|{_NAME.pattern}|`[^`]+`|//|[-+*%(),])")


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
        if token[0] == "`" or _NAME.fullmatch(token):
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


def _text(terms: Terms) -> str:
    text = ""
    for monomial, coefficient in _sorted(terms):
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


def _terms(size: Size) -> Terms:
    if isinstance(size, int):
        return {(): size} if size else {}
    return size._terms


def _dim_of(atom: Atom) -> Dim:
    return Dim({((atom, 1),): 1})


def _lone_atom(size: Size) -> Atom | None:
    """The atom that `size` is, if it is just one."""
    if isinstance(size, Dim) and len(size._terms) == 1:
        ((monomial, coefficient),) = size._terms.items()
        if coefficient == 1 and len(monomial) == 1 and monomial[0][1] == 1:
            return monomial[0][0]
    return None


def _order(monomial: Monomial) -> tuple[int, list[Atom]]:
    """Greatest first, by degree and then by letters. Multiplying keeps this order, as division needs."""
    word = [atom for atom, power in monomial for _ in range(power)]
    return -len(word), word


def _sorted(terms: Terms) -> list[tuple[Monomial, int]]:
    """Positive terms, negative ones, the constant."""
    return sorted(terms.items(), key=lambda item: (not item[0], item[1] < 0, _order(item[0])))


def _times(a: Monomial, b: Monomial) -> Monomial:
    if not a or not b:
        return a or b
    powers = dict(a)
    for atom, power in b:
        powers[atom] = powers.get(atom, 0) + power
    return tuple(sorted(powers.items()))


def _over(a: Monomial, b: Monomial) -> Monomial | None:
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


def _divmod_terms(numerator: Terms, divisor: Terms) -> tuple[Terms, Terms]:
    """Polynomials with numerator = quotient * divisor + remainder."""
    lead = min(divisor, key=_order)
    unit = divisor[lead]
    rest = [(m, c) for m, c in divisor.items() if m != lead]
    left, quotient, remainder = dict(numerator), Terms(), Terms()
    while left:
        # Without a rest nothing comes back into `left`: any order will do.
        monomial = min(left, key=_order) if rest else next(iter(left))
        coefficient = left.pop(monomial)
        cofactor = _over(monomial, lead)
        times, residue = (0, coefficient) if cofactor is None else divmod(coefficient, unit)
        if residue:
            remainder[monomial] = residue
        if cofactor is None or not times:
            continue
        quotient[cofactor] = times
        for m, c in rest:
            m = _times(m, cofactor)
            total = left.pop(m, 0) - c * times
            if total:
                left[m] = total
    return quotient, remainder


def _content(*polynomials: Terms) -> Dim | int:
    """The greatest monomial, with its coefficient, that divides all of them."""
    coefficients = [c for polynomial in polynomials for c in polynomial.values()]
    monomials = [dict(m) for polynomial in polynomials for m in polynomial]
    common = min(monomials, key=len)
    shared = ((atom, min(m.get(atom, 0) for m in monomials)) for atom in sorted(common))
    return _size({tuple((atom, power) for atom, power in shared if power): gcd(*coefficients)})


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
    if isinstance(divisor, int) and all(c < 0 for m, c in _terms(numerator).items() if m):
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
    offset = _terms(rest).get((), 0)
    inner = _lone_atom(rest - offset)
    if inner is not None and inner.kind == "floordiv" and _at_least(divisor, 0):
        return _floordiv(inner.args[0] + inner.args[1] * offset, inner.args[1] * divisor)

    low, high = _quotient_bounds(rest, divisor)
    if low is not None and low == high:
        return low
    if _at_least(rest, 0) and _at_least(divisor - rest, 1):
        return 0
    text = f"{_operand(rest)}//{_operand(divisor)}"
    return _dim_of(Atom(text, "floordiv", (rest, divisor), low, high))


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
    for monomial, coefficient in _terms(rest).items():
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
    return divisor._terms[min(divisor._terms, key=_order)] < 0


def _split(numerator: Size, divisor: Size) -> tuple[Size, Size]:
    """numerator = whole * divisor + rest"""
    if isinstance(divisor, int) and divisor == 0:
        raise ZeroDivisionError(f"{numerator} divided by zero")
    terms = _terms(numerator)
    quotient, remainder = _divmod_terms(terms, _terms(divisor))
    # By a sum like h + 1 only where it gets simpler: h//(h + 1) is no better as 1 + (-1)//(h + 1).
    if len(_terms(divisor)) > 1 and len(remainder) >= len(terms):
        return 0, numerator
    return _size(quotient), _size(remainder)


def _reduce_fraction(numerator: Size, divisor: Size) -> tuple[Size, Size, Size] | None:
    """(factor, n, d) with divisor = factor*d and numerator = factor*n + r, an int r in [0, factor)."""
    terms = _terms(numerator)
    if isinstance(divisor, int):
        # A constant needs no common factor: (2*n + 1)//4 is n//2.
        factor: Size = gcd(divisor, *(c for m, c in terms.items() if m))
    else:
        factor = _content(terms, divisor._terms)
    if factor == 1:
        return None
    small, _ = _divmod_terms(terms, _terms(factor))
    small_divisor, _ = _divmod_terms(_terms(divisor), _terms(factor))
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
        low, high = _least(lows), min((high for high in highs if high is not None), default=None)
    else:
        low, high = max((low for low in lows if low is not None), default=None), _greatest(highs)
    return _dim_of(Atom(_call(kind, kept), kind, tuple(kept), low, high))


def _least(bounds: list[int | None]) -> int | None:
    known = [bound for bound in bounds if bound is not None]
    return min(known) if len(known) == len(bounds) else None


def _greatest(bounds: list[int | None]) -> int | None:
    known = [bound for bound in bounds if bound is not None]
    return max(known) if len(known) == len(bounds) else None


# -- proofs -----------------------------------------------------------------------------------------


def _at_least(size: Size, bound: int) -> bool:
    low = lower_bound(size)
    return low is not None and low >= bound


def _lower(size: Size, depth: int) -> int | None:
    if isinstance(size, int):
        return size
    total = _lower_by_term(size)
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


def _lower_by_term(size: Dim) -> int | None:
    total = 0
    for monomial, coefficient in size._terms.items():
        low, high = _monomial_bounds(monomial)
        bound = low if coefficient > 0 else high
        if bound is None:
            return None
        total += coefficient * bound
    return total


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
    return _least(lows)


def _monomial_bounds(monomial: Monomial) -> tuple[int | None, int | None]:
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


def _unify(size: Size) -> Size:
    """`size` in a form that is worse to read and better to compare: without remainders, and with one of
    x//k and (-x - 1)//k, which are negations of each other but for 1."""
    return _rebuild(size, _unify_atom)


def _unify_atom(atom: Atom) -> Size | None:
    if atom.kind == "symbol":
        return _dim_of(atom)
    if atom.kind not in ("floordiv", "mod"):
        return None
    numerator, divisor = (_unify(arg) for arg in atom.args)
    quotient = _floordiv(numerator, divisor)
    inner = _lone_atom(quotient)
    if inner is not None and inner.kind == "floordiv" and isinstance(inner.args[1], int):
        x, k = inner.args[0], inner.args[1]
        whole, other = _split(-x - 1, k)
        # Both have the same monomials, but perhaps for the constant.
        order = sorted(_terms(x).keys() | {()}, key=_order)
        if [_terms(other).get(m, 0) for m in order] < [_terms(x).get(m, 0) for m in order]:
            quotient = -1 - whole - _floordiv(other, k)
    return quotient if atom.kind == "floordiv" else numerator - divisor * quotient
