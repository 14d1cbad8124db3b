"""What decides a trace: numbers and bools that Python takes out of sizes: `if n > 4`, `assert h % 8 == 0`, `int(n)`.

What they were taken from (see `taken`) stays in the graph, so that they can be computed for other sizes without the
model: where all of them are what they are in the example, Python goes the same way, and the trace is the same.
The sizes that they are computed from are expressions of the labels, as far as these are known; what is left of the graph is
arithmetic then.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence, Set
from types import CodeType
from typing import Any

import torch

from ...dims import Dim, Size, known_ge, substitute
from ..graph import TAKES_SIZES, inputs_of
from .computation import Computation, Function, Learned, Number, Sizes, computation
from .dependence import Dependence, reads_content
from .pitfalls import KEYS
from .readings import ROWS
from .terms import COMPARISONS, Terms, calculated, is_fixed, is_known, labels_of
from .turns import Turns

# No more elements are made to read numbers from, in all the tensors that lead to them.
_ELEMENTS = 1 << 23
_LONG = 500  # nodes of a graph


class Conditions:
    """The numbers that one run took, and what its graph computes them from.

    Args:
        arguments: the inputs of the graph that are arguments of the model.
        numbers: each, and the value of the graph that it is.
        lost: whether numbers were taken that can't be computed again.
        incomplete: whether there are more than these.

    Attributes:
        codes: of the functions of the model, as far as they call functions of torch.
    """

    codes: Sequence[CodeType] = ()

    def __init__(
        self,
        graph: Any,
        arguments: Iterable[Any],
        numbers: Iterable[tuple[Number, Any]],
        *,
        lost: bool = False,
        incomplete: bool = False,
    ) -> None:
        self.lost, self.incomplete = lost, incomplete
        self._graph, self._arguments = graph, {value.debugName() for value in arguments}
        self._numbers = list(numbers)
        self._computation: Computation | None = None
        self._learned = self._learned_of_parts = Learned()
        self._chosen: list[tuple[Number, Any]] | None = None

    @property
    def _varying(self) -> list[tuple[Number, Any]]:
        """Those that may be others at other sizes, each once."""
        if self._chosen is None:
            self._chosen = [pair for pair, _ in self._distinct(self._learned)]
        return self._chosen

    def _distinct(self, learned: Learned) -> list[tuple[tuple[Number, Any], Hashable]]:
        """See `_varying`; and their terms."""
        terms = Terms(learned.size_of)
        found: dict[Hashable, tuple[tuple[Number, Any], Hashable]] = {}
        for number, value in self._numbers:
            term = terms.of(value)
            if not is_fixed(term):
                found.setdefault((term, number), ((number, value), term))
        return list(found.values())

    @property
    def numbers(self) -> list[int | float | bool]:
        """What they are in the example, of those that may be others at other sizes; so are all that follow."""
        return [number.content for number, _ in self._varying]

    def of_values(self, known: Callable[[], Mapping[str, Any]], labels: Set[str]) -> dict[str, str]:
        """Where numbers were taken that hang on the content of arguments, and as what: `len(x[x > 0])`.

        Args:
            known: gives sizes as expressions of labels, by the names of the values that they are in the trace.
        """
        dependence = self._dependence()
        doubtful = [(n, value) for n, value in self._numbers if n.place and dependence.may_be_of(value)]
        sizes = known() if doubtful else {}
        return {
            n.place: n.what
            for n, value in doubtful
            if dependence.is_of(value, sizes, labels) and not _is_certain(value, sizes, labels)
        }

    def _dependence(self) -> Dependence:
        return Dependence(lambda value: value.debugName() in self._arguments)

    def learn(self, known: Callable[[], Mapping[str, Any]], example: Sizes, *, for_all: bool = True) -> None:
        """Take sizes as expressions of the labels, by the names of the values that they are in the trace.

        Args:
            known: is asked when it matters.
            example: the sizes of the labels in the trace.
            for_all: whether they are used for all numbers, or for `decided` and `counted` alone.
        """
        self._learned_of_parts = Learned(known, example)
        if for_all:
            self._learned = self._learned_of_parts
            self._chosen = self._computation = None
            self.__dict__.pop("_first", None)

    def forget(self) -> None:
        """The program isn't what the sizes were learned of any more."""
        self._learned = Learned()

    def hold(self, sizes: Sizes, on_tensors: Callable[[Function], Any]) -> bool | None:
        """Whether the numbers are the same at other sizes; None if one that is no bool isn't.

        Args:
            on_tensors: calls a function on inputs of the graph that have these sizes.
        """
        if self._first is not None and self._first.hold(sizes, on_tensors) is None:
            return None
        differ = [mine for mine, other in zip(self.numbers, self._at(sizes, on_tensors)) if mine != other]
        return None if any(not isinstance(number, bool) for number in differ) else not differ

    @property
    def takers(self) -> set[str]:
        """The lines that took numbers, no bools, which may be others at other sizes."""
        distinct = self._distinct(self._learned_of_parts) if self._numbers else []
        return {number.place for (number, _), _ in distinct if number.kind is not bool and number.place}

    @functools.cached_property
    def decided(self) -> Conditions:
        """The bools among the numbers that hang on sizes alone."""
        return self._of_kind(bool)

    @property
    def undecided(self) -> list[Number]:
        """The bools that may hang on values, but those that only end a run."""
        of_sizes = {id(value) for _, value in self.decided.taken}
        return [
            number
            for number, value in self._varying
            if isinstance(number.content, bool) and id(value) not in of_sizes and not number.ends
        ]

    @functools.cached_property
    def counted(self) -> Conditions:
        """The ints among them."""
        return self._of_kind(int)

    @property
    def taken(self) -> Sequence[tuple[Number, Any]]:
        """All numbers in order, and the values of the graph that they are."""
        return self._numbers

    def first_other(self, other: Conditions) -> int | None:
        """The place among all numbers of the first bool that isn't what it is in another run, which asked the same until then;
        None if there is none. One that only ends a run is none."""
        for place, ((mine, _), (theirs, _)) in enumerate(zip(self._numbers, other._numbers)):
            if mine.content != theirs.content and isinstance(mine.content, bool) and not mine.ends:
                return place
        return None

    def one(self, place: int) -> Conditions:
        """One of all numbers by itself."""
        return self._those([self._numbers[place]])

    @property
    def alone(self) -> list[Conditions]:
        """All of these, and those by themselves that can be read at any sizes, as no tensors are made for them; so those that
        are arithmetic where the others aren't."""
        parts = [self]
        if self._computed_by.elements:
            parts.append(self._those(pair for pair in self._varying if not _is_made(pair[1])))
        if self._computed_by.labels is None:
            terms = Terms(self._learned.size_of)
            parts.append(self._those(pair for pair in self._varying if calculated(terms.of(pair[1]))))
        return [part for part in parts if part is self or part._numbers]

    @functools.cached_property
    def _first(self) -> Conditions | None:
        """The first of them, which takes little time to compute, of a model that may run for the last."""
        is_long = len(self._varying) > 1 and sum(1 for _ in self._graph.nodes()) > _LONG
        return self._those(self._varying[:1]) if is_long else None

    def _of_kind(self, kind: type) -> Conditions:
        dependence = self._dependence()
        distinct = self._distinct(self._learned_of_parts) if self._numbers else []
        return self._those(
            (number, value)
            for (number, value), term in distinct
            if number.content.__class__ is kind
            and (is_known(term) or not (reads_content(value) or dependence.may_be_of(value)))
        )

    def _those(self, numbers: Iterable[tuple[Number, Any]]) -> Conditions:
        part = Conditions(self._graph, (), numbers)
        part._learned = part._learned_of_parts = self._learned_of_parts
        part._chosen = part._numbers
        return part

    @property
    def cost(self) -> int:
        """How many operations on tensors compute the numbers, or take as long."""
        return self._computed_by.operations

    @property
    def labels(self) -> Set[str] | None:
        """The labels that the numbers hang on; None where that isn't known."""
        return self._computed_by.labels

    @property
    def counts_rows(self) -> bool:
        """Whether there are numbers of rows that Python went through, and may have left some of."""
        return any(number.what == ROWS for number, _ in self._varying)

    @property
    def compares_keys(self) -> list[bool]:
        """Which of the numbers tell whether sizes are equal that are hashed: in a set it matters, between parts of one key, as
        `tables[x.shape]` has them, it doesn't."""
        return [number.what == KEYS for number, _ in self._varying]

    @property
    def places(self) -> list[str]:
        """The lines of the numbers; none of those that only end a run."""
        return ["" if number.ends else number.place for number, _ in self._varying]

    def turns(self, label: str, near: int) -> set[int]:
        """Sizes of a label, above the example's, from which on one of the numbers is another (see `turns`)."""
        terms, found = Terms(self._learned.size_of), Turns(label, self._learned.example, near)
        pairs = [(terms.of(value), number.kind) for number, value in self._varying]
        return {turn for term, kind in pairs if label in labels_of(term) and (turn := found.of(term, kind)) is not None}

    def at(self, sizes: Sizes, on_tensors: Callable[[Function], Any]) -> tuple[int | float | bool, ...]:
        """The numbers at other sizes; raises where large tensors would be made for that (`torch.full((n, n), ...)`)."""
        if self._computed_by.elements * self._growth(sizes) > _ELEMENTS:
            raise MemoryError("numbers are read from tensors that are too large")
        return tuple(self._at(sizes, on_tensors))

    def _growth(self, sizes: Sizes) -> float:
        """How many times larger tensors are at other sizes at most: each size may be that of two axes."""
        return math.prod(max(sizes[label] / max(size, 1), 1) ** 2 for label, size in self._learned.example.items())

    def _at(self, sizes: Sizes, on_tensors: Callable[[Function], Any]) -> Sequence[int | float | bool]:
        return self._computed_by.at(sizes, on_tensors)

    @property
    def _computed_by(self) -> Computation:
        if self._computation is None:
            self._computation = computation(self._graph, self._varying, self._learned)
        return self._computation


def _is_made(number: Any) -> bool:
    """Whether a number is read from a tensor with axes."""
    pending, seen = [number], set()
    while pending:
        value = pending.pop()
        if isinstance(value.type(), torch.TensorType) and value.type().dim() != 0:
            return True
        if value.node().kind() not in TAKES_SIZES:
            operands = [x for x in inputs_of(value.node()) if x.debugName() not in seen]
            seen |= {x.debugName() for x in operands}
            pending += operands
    return False


def _is_certain(value: Any, sizes: Mapping[str, Any], labels: Set[str]) -> bool:
    """Whether sizes that are compared are never equal, whatever the values, unless an axis is empty: that of what is chosen and
    `n` more, and 0."""
    if value.node().kind() not in COMPARISONS:
        return False
    a, b = (_size(operand, sizes) for operand in inputs_of(value.node())[:2])
    if a is None or b is None:
        return False
    positive = {label: Dim.symbol(label) + 1 for label in labels}
    a, b = substitute(a, positive), substitute(b, positive)
    return bool(known_ge(a, b + 1) or known_ge(b, a + 1))


def _size(operand: Any, sizes: Mapping[str, Any]) -> Size | None:
    """What an operand of a comparison is known to be."""
    if operand.node().kind() == "prim::NumToTensor":
        operand = operand.node().input()
    number = operand.toIValue()
    found = sizes.get(operand.debugName()) if number is None else number
    if isinstance(found, torch.Tensor) and found.dim() == 0:
        found = found.item()
    return found if isinstance(found, int | Dim) else None
