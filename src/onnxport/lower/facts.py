"""What conditions say of sizes and numbers on the path behind them.

A condition known only at run time makes *claims*: if `rate == 16000` holds, `rate` is 16000. In the branch behind it,
and behind a check that raises otherwise, the claims are `Facts`: a size that they fix is a Python int there, a condition
that was decided is a Python bool, so that what depends on them is static again.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd
from typing import TYPE_CHECKING, Any, Union

import numpy as np
import onnx_ir as ir

from .. import dims as sizes
from ..dims import Dim, Size
from ..dtypes import to_numpy
from .scope import SizeSource
from .values import Maybe, Scalar, Tensor

if TYPE_CHECKING:
    from .builder import Builder


@dataclass(frozen=True, slots=True)
class Equal:
    """Two sizes are equal."""

    left: Size
    right: Size


@dataclass(frozen=True, slots=True)
class Is:
    """A float or bool of the graph is this number."""

    value: ir.Value
    content: float | bool


Claim = Union[Equal, Is]


@dataclass(frozen=True, slots=True)
class _Choice:
    """An int that is the one or the other by a condition."""

    condition: Scalar
    result: Dim
    yes: Size
    no: Size

    def is_like(self, other: _Choice) -> bool:
        """Whether the same condition chooses both."""
        return self.condition.tensor.value is other.condition.tensor.value


class Claims:
    """What each bool of the graph says if it is true, and if it is false; and which ints it chooses."""

    def __init__(self) -> None:
        self._table: dict[ir.Value, tuple[list[Claim], list[Claim]]] = {}
        self._choices: dict[str, _Choice] = {}
        self._below: dict[str, Size] = {}

    def below(self, number: Dim, count: Size) -> None:
        """The number of a loop's iteration is smaller than their count."""
        self._below[str(number)] = count

    def at_most(self, a: Size, b: Size) -> bool:
        """Whether `a <= b` for sure, in each iteration of the loops around."""
        difference = b - a
        for coefficient, powers in sizes.terms(difference):
            name = powers[0][0].name if len(powers) == 1 and powers[0][1] == 1 else ""
            if coefficient < 0 and name in self._below:  # n - i - 1 is not negative
                difference = difference + coefficient * (self._below[name] - Dim.symbol(name) - 1)
        return sizes.known_ge(difference, 0) is True

    def add(self, condition: Any, truth: bool, *claims: Claim) -> None:
        if isinstance(condition, Scalar) and condition.tensor.value is not None:
            self._table.setdefault(condition.tensor.value, ([], []))[truth].extend(claims)

    def of(self, value: ir.Value, truth: bool) -> list[Claim]:
        return self._table[value][truth] if value in self._table else []

    def choice(self, g: Builder, condition: Scalar, result: Dim, a: Size, b: Size) -> Dim:
        """The int `result` is `a` where the condition holds, else `b`; an older one that is the same, if there is one."""
        made = _Choice(condition, result, a, b)
        for name, other in self._choices.items():
            if other.is_like(made) and (a, b) == (other.yes, other.no) and g.scope.source(name) is not None:
                return other.result
        self._choices[str(result)] = made
        self.add(condition, True, Equal(result, a))
        self.add(condition, False, Equal(result, b))
        return result

    def cases(self, size: Size) -> tuple[Scalar, Size, Size] | None:
        """A condition that chooses an int within this size, and what the size is where it holds and where not."""
        found = {name: self._choices[name] for name in sizes.free_symbols(size) if name in self._choices}
        if not found:
            return None
        first = next(iter(found.values()))
        like = {name: choice for name, choice in found.items() if choice.is_like(first)}
        yes, no = {n: c.yes for n, c in like.items()}, {n: c.no for n, c in like.items()}
        return first.condition, sizes.substitute(size, yes), sizes.substitute(size, no)

    def negation(self, condition: Any, negated: Any) -> None:
        """Each is true where the other is false."""
        for truth in (False, True):
            self.add(negated, truth, *known(condition, not truth))
            self.add(condition, truth, *known(negated, not truth))

    def conjunction(self, result: Any, parts: list[Any], truth: bool = True) -> None:
        """Where the result has this truth, all parts have."""
        self.add(result, truth, *(claim for part in parts for claim in known(part, truth)))


def known(scalar: Any, content: float | bool) -> list[Claim]:
    """The claim that a number of the graph has this content."""
    if isinstance(scalar, Scalar) and scalar.tensor.value is not None:
        return [Is(scalar.tensor.value, content)]
    return []


class Facts:
    """What is known on a path: symbols that are other sizes, and contents of numbers. Never changed, but extended."""

    __slots__ = ("_refined", "scalars", "symbols")

    def __init__(self, symbols: dict[str, Size], scalars: dict[ir.Value, float | bool]) -> None:
        self.symbols = symbols
        self.scalars = scalars
        self._refined: dict[int, tuple[Tensor, Tensor]] = {}

    def behind(self, g: Builder, condition: Scalar, truth: bool) -> Facts:
        """These, and what a condition says where it has this truth."""
        symbols, scalars = dict(self.symbols), dict(self.scalars)
        waiting = known(condition, truth)
        while waiting:
            claim = waiting.pop()
            if isinstance(claim, Equal):
                _learn(g, symbols, claim)
            elif claim.value not in scalars:
                scalars[claim.value] = claim.content
                if isinstance(claim.content, bool):
                    waiting += g.claims.of(claim.value, claim.content)
        return Facts(symbols, scalars)

    def size(self, size: Size) -> Size:
        if isinstance(size, int) or not self.symbols or sizes.free_symbols(size).isdisjoint(self.symbols):
            return size
        return sizes.substitute(size, self.symbols)

    def refined(self, value: Any) -> Any:
        """A tensor, number or optional as these facts show it; itself if they say nothing of it."""
        kind = value.__class__
        if kind is Dim:
            return self.size(value)
        if kind is Scalar:
            return self.scalars.get(value.tensor.value, value) if value.tensor.value is not None else value
        if kind is Maybe:
            present = self.refined(value.present)
            return value if present is value.present else value.value if present else None
        return self._tensor(value) if kind is Tensor and self.symbols else value

    def _tensor(self, tensor: Tensor) -> Tensor:
        found = self._refined.get(id(tensor))
        if found is None:
            found = self._refined[id(tensor)] = (tensor, self._with_sizes(tensor))
        return found[1]

    def _with_sizes(self, tensor: Tensor) -> Tensor:
        dims = tensor.dims if tensor.dims is None else tuple(map(self.size, tensor.dims))
        data = tensor.data if tensor.source is None else None
        new = data
        if data is not None and data.dtype == object:
            new = np.empty_like(data)
            new.reshape(-1)[:] = [self.size(x) for x in data.reshape(-1)]
            if all(isinstance(x, int) for x in new.reshape(-1)):
                return Tensor(tensor.dtype, dims, data=new.astype(to_numpy(tensor.dtype)))
            if all(a == b for a, b in zip(data.reshape(-1), new.reshape(-1))):
                new = data
        if dims == tensor.dims and new is data:
            return tensor
        value = tensor.value if new is data else None
        return Tensor(tensor.dtype, dims, value, data=new, source=tensor.source, from_weight=tensor.from_weight)


NOTHING = Facts({}, {})


def agreed(a: Size, before: Facts, b: Size, after: Facts) -> Size | None:
    """One size that is `a` where the facts `before` hold, and `b` where those `after` do."""
    if a == b:
        return a
    if before.size(a) == before.size(b):
        return b
    return a if after.size(a) == after.size(b) else None


# -- learning -----------------------------------------------------------------------------------------


def _learn(g: Builder, symbols: dict[str, Size], claim: Equal) -> None:
    """Solve the equation for a symbol that occurs nowhere else in it, and put what it is in place of it."""
    difference = sizes.substitute(claim.left, symbols) - sizes.substitute(claim.right, symbols)
    if isinstance(difference, int) or any(g.scope.source(s) is None for s in sizes.free_symbols(difference)):
        return
    common = gcd(*(coefficient for coefficient, _ in sizes.terms(difference)))
    solution = _solved(g, difference // common) or _whole_multiple(g, difference)  # type: ignore[arg-type]
    if solution is None:
        return
    name, size = solution
    for other, held in symbols.items():
        symbols[other] = sizes.substitute(held, {name: size})
    symbols[name] = size


def _solved(g: Builder, difference: Dim) -> tuple[str, Size] | None:
    """A symbol for which `difference == 0` can be solved, and what it is: one without a minimum, the youngest."""
    found = []
    for coefficient, powers in sizes.terms(difference):
        if abs(coefficient) == 1 and len(powers) == 1 and powers[0][1] == 1 and powers[0][0].kind == "symbol":
            name = powers[0][0].name
            rest = difference - coefficient * Dim.symbol(name)
            if name not in sizes.free_symbols(rest):
                found.append(((powers[0][0].low is None, g.age(name)), name, -coefficient * rest))
    return max(found, key=lambda entry: entry[0])[1:] if found else None


def _whole_multiple(g: Builder, difference: Dim) -> tuple[str, Size] | None:
    """`(n + c) % k == r`: n is k*q + r - c, where q is a symbol of its own."""
    terms = sizes.terms(difference)
    rest = sum(coefficient for coefficient, powers in terms if not powers)
    atoms = [(coefficient, *powers[0]) for coefficient, powers in terms if powers]
    if len(atoms) != 1 or abs(atoms[0][0]) != 1 or atoms[0][2] != 1 or atoms[0][1].kind != "mod":
        return None
    numerator, divisor = atoms[0][1].args
    remainder = -rest * atoms[0][0]
    if not isinstance(divisor, int) or not isinstance(numerator, Dim) or not 0 <= remainder < divisor:
        return None
    quotient = numerator // divisor
    found = _solved(g, numerator)
    if found is None or not isinstance(found[1], int) or not isinstance(quotient, Dim):
        return None
    source = g.scope.source(found[0])
    if source is None or numerator != Dim.symbol(found[0]) - found[1]:
        return None
    name = str(g.fresh("quotient", minimum=sizes.lower_bound(quotient)))
    source[1].sizes[name] = SizeSource(g.size(quotient), None)
    return found[0], found[1] + divisor * Dim.symbol(name, sizes.lower_bound(quotient)) + remainder


__all__ = ["NOTHING", "Claims", "Equal", "Facts", "Is", "agreed", "known"]
