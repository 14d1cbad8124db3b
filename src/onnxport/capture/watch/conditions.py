"""What decides a trace: numbers and bools that Python takes out of sizes: `if n > 4`, `assert h % 8 == 0`, `int(n)`.

What they were taken from (see `taken`) stays in the graph, so that they can be computed for other sizes without the
model: where all of them are what they are in the example, Python goes the same way, and the trace is the same.
The sizes that they are computed from are expressions of the labels, as far as these are known; what is left of the graph is
arithmetic then.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Set
from typing import Any

import torch

from ...dims import Dim, Size, evaluate, free_symbols, known_ge, substitute
from ..graph import inputs_of, outputs_of, runnable
from .dependence import Dependence, reads_content
from .pitfalls import KEYS, PIECES
from .readings import ROWS
from .terms import COMPARISONS, Terms, calculated, is_fixed, is_known, is_written, labels_of

Function = Callable[..., Any]

# What the graph takes out of the sizes of tensors.
TAKES_SIZES = ("aten::size", "aten::numel")
# So many operations on numbers take as long as one on tensors.
_NUMBERS_PER_TENSOR = 30
# No more elements are made to read numbers from, in all the tensors that lead to them.
_ELEMENTS = 1 << 23
Sizes = Mapping[str, int]


@dataclasses.dataclass(frozen=True, slots=True)
class Number:
    """A number that Python took.

    Attributes:
        content: what it is in the example.
        kind: bool if no more matters of it.
        place: the line that took it, empty if it only tells something.
        what: as what it was taken.
        ends: whether it decides nothing but that the model raises, and catches that nowhere.
    """

    content: int | float | bool
    kind: type | None
    place: str
    what: str
    ends: bool = False


@dataclasses.dataclass(slots=True)
class _Learned:
    """Sizes as expressions of the labels, by the names of the values that they are in the trace; the example's sizes."""

    known: Callable[[], Mapping[str, Any]] = dict
    example: Sizes = dataclasses.field(default_factory=dict)

    def size_of(self, node: Any) -> Size | None:
        """What a node takes out of the sizes of a tensor, of labels alone; None if that isn't known to be right."""
        size = self.known().get(node.output().debugName()) if node.kind() in TAKES_SIZES else None
        if not isinstance(size, int | Dim) or not free_symbols(size) <= self.example.keys():
            return None
        return size if evaluate(size, self.example) == _taken(node) else None


class Conditions:
    """The numbers that one run took, and what its graph computes them from.

    Args:
        arguments: the inputs of the graph that are arguments of the model.
        numbers: each, and the value of the graph that it is.
        lost: whether numbers were taken that can't be computed again.
        incomplete: whether there are more than these.
    """

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
        self._function: Function | None = None
        self._of_sizes: Callable[[Sizes], list[int | float | bool]] | None = None
        self._operations = 0
        self._labels: Set[str] | None = None
        self._elements = 0  # of the tensors that are made of sizes on the way, in the trace
        self._learned = self._learned_of_parts = _Learned()
        self._chosen: list[tuple[Number, Any]] | None = None

    @property
    def _varying(self) -> list[tuple[Number, Any]]:
        """Those that may be others at other sizes, each once."""
        if self._chosen is None:
            self._chosen = [pair for pair, _ in self._distinct(self._learned)]
        return self._chosen

    def _distinct(self, learned: _Learned) -> list[tuple[tuple[Number, Any], Hashable]]:
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

    @property
    def _values(self) -> list[Any]:
        return [value for _, value in self._varying]

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
        self._learned_of_parts = _Learned(known, example)
        if for_all:
            self._learned = self._learned_of_parts
            self._chosen = self._of_sizes = self._function = None

    def forget(self) -> None:
        """The program isn't what the sizes were learned of any more."""
        self._learned = _Learned()

    def hold(self, sizes: Sizes, on_tensors: Callable[[Function], Any]) -> bool | None:
        """Whether the numbers are the same at other sizes; None if one that is no bool isn't.

        Args:
            on_tensors: calls a function on inputs of the graph that have these sizes.
        """
        differ = [mine for mine, other in zip(self.numbers, self._at(sizes, on_tensors)) if mine != other]
        return None if any(not isinstance(number, bool) for number in differ) else not differ

    @functools.cached_property
    def decided(self) -> Conditions:
        """The bools among the numbers that hang on sizes alone."""
        return self._of_kind(bool)

    @functools.cached_property
    def counted(self) -> Conditions:
        """The ints among them."""
        return self._of_kind(int)

    @property
    def alone(self) -> list[Conditions]:
        """All of these, and those by themselves that can be read at any sizes, as no tensors are made for them."""
        self._prepare()
        if not self._elements:
            return [self]
        light = self._those(pair for pair in self._varying if not _is_made(pair[1]))
        return [self, light] if light._numbers else [self]

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
        self._prepare()
        return self._operations

    @property
    def labels(self) -> Set[str] | None:
        """The labels that the numbers hang on; None where that isn't known."""
        self._prepare()
        return self._labels

    @property
    def counts_rows(self) -> bool:
        """Whether there are numbers of rows that Python went through, and may have left some of."""
        return any(number.what == ROWS for number, _ in self._varying)

    @property
    def counts_pieces(self) -> list[bool]:
        """Which of the numbers are of pieces that a tensor is cut to: where there are fewer, cutting it fails."""
        return [number.what == PIECES for number, _ in self._varying]

    @property
    def compares_keys(self) -> list[bool]:
        """Which of the numbers tell whether sizes are equal that are hashed: in a set it matters, between parts of one key, as
        `tables[x.shape]` has them, it doesn't."""
        return [number.what == KEYS for number, _ in self._varying]

    @property
    def places(self) -> list[str]:
        """The lines of the numbers; none of those that only end a run."""
        return ["" if number.ends else number.place for number, _ in self._varying]

    def at(self, sizes: Sizes, on_tensors: Callable[[Function], Any]) -> tuple[int | float | bool, ...]:
        """The numbers at other sizes; raises where large tensors would be made for that (`torch.full((n, n), ...)`)."""
        self._prepare()
        if self._elements * self._growth(sizes) > _ELEMENTS:
            raise MemoryError("numbers are read from tensors that are too large")
        return tuple(self._at(sizes, on_tensors))

    def _growth(self, sizes: Sizes) -> float:
        """How many times larger tensors are at other sizes at most: each size may be that of two axes."""
        return math.prod(max(sizes[label] / max(size, 1), 1) ** 2 for label, size in self._learned.example.items())

    def _at(self, sizes: Sizes, on_tensors: Callable[[Function], Any]) -> list[int | float | bool]:
        self._prepare()
        if self._of_sizes is not None:
            return self._of_sizes(sizes)
        if self._function is None:
            return self.numbers
        with torch.no_grad(), torch.jit._fuser.optimized_execution(False):
            return self._contents(on_tensors(self._function))

    def _prepare(self) -> None:
        if self._values and self._of_sizes is None and self._function is None:
            self._of_sizes = self._calculated() or self._arithmetic()
            if self._of_sizes is None:
                self._function = self._compile()

    def _contents(self, tensors: Iterable[torch.Tensor]) -> list[int | float | bool]:
        return [content(tensor, number.kind) for tensor, (number, _) in zip(tensors, self._varying)]

    def _compile(self) -> Function:
        """The part of the graph that computes the numbers."""
        packed = packed_outputs(self._graph)
        count = packed.inputsSize()
        for value in self._values:
            packed.addInput(value)
        part = self._graph.copy()
        cut(packed, count, count + len(self._values))
        cut(packed_outputs(part), 0, count)
        torch._C._jit_pass_dce(part)
        self._operations = sum(1 for _ in part.nodes())
        self._elements = _elements(part)
        return runnable("conditions", part)

    def _calculated(self) -> Callable[[Sizes], list[int | float | bool]] | None:
        """What computes the numbers from sizes of the labels, where that is so simple that Python is faster than TorchScript."""
        terms = Terms(self._learned.size_of)
        of_values = [terms.of(value) for _, value in self._varying]
        found = [(calculated(term), number.kind or int) for term, (number, _) in zip(of_values, self._varying)]
        if not all(calculate for calculate, _ in found):
            return None
        self._operations, self._labels = 1 + len(found) // _NUMBERS_PER_TENSOR, set().union(*map(labels_of, of_values))

        def computed(sizes: Sizes) -> list[int | float | bool]:
            return [kind(calculate(sizes)) if calculate else 0 for calculate, kind in found]

        return computed if computed(self._learned.example) == self.numbers else None

    def _arithmetic(self) -> Callable[[Sizes], list[int | float | bool]] | None:
        """What computes the numbers from sizes of the labels; None if there is more to it than arithmetic on sizes."""
        part: Any = torch._C.Graph()
        made: dict[Any, Any] = {}  # value of the part by that of the graph
        inputs: dict[Size, Any] = {}
        pending = list(self._values)
        while pending:
            value = pending[-1]
            node = value.node()
            if value in made:
                pending.pop()
            elif node.kind() in TAKES_SIZES:
                size = self._learned.size_of(node)
                if size is None:
                    return None
                if size not in inputs:
                    inputs[size] = part.addInput()
                    inputs[size].setType(torch._C.IntType.get())
                made[value] = inputs[size]
            elif node.kind() == "prim::Param" or is_written(value):
                return None
            elif missing := [operand for operand in inputs_of(node) if operand not in made]:
                pending += missing
            else:
                copy = part.insertNode(part.createClone(node, made.__getitem__))
                made.update(zip(outputs_of(node), outputs_of(copy)))
        returned = part.insertNode(part.create("prim::TupleConstruct", [made[value] for value in self._values], 1))
        returned.output().setType(torch._C.TupleType([value.type() for value in self._values]))
        part.registerOutput(returned.output())
        function = torch._C._create_function_from_graph("conditions", part)
        self._operations = 1 + len(made) // _NUMBERS_PER_TENSOR
        self._labels = set().union(*map(free_symbols, inputs))
        self._elements = _elements(part)

        def computed(sizes: Sizes) -> list[int | float | bool]:
            with torch.jit._fuser.optimized_execution(False):  # it takes longer than it saves
                return self._contents(function(*(evaluate(size, sizes) for size in inputs)))

        return computed if computed(self._learned.example) == self.numbers else None


def _elements(part: Any) -> int:
    """How many elements the tensors had in the trace that are made of sizes and constants, and of no arguments."""
    given = {value for value in part.inputs() if isinstance(value.type(), torch.TensorType)}
    elements = 0
    for node in part.nodes():
        if node.kind() not in TAKES_SIZES and given.intersection(inputs_of(node)):
            given.update(outputs_of(node))
        elif node.kind() != "prim::Constant":
            shapes = [value.type().sizes() for value in outputs_of(node) if isinstance(value.type(), torch.TensorType)]
            elements += sum(math.prod(shape) for shape in shapes if shape)
    return elements


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


def _taken(node: Any) -> int | None:
    """The size that a node took in the trace."""
    sizes = node.inputsAt(0).type().sizes()
    if sizes is None:
        return None
    return int(sizes[node.inputsAt(1).toIValue()] if node.inputsSize() > 1 else math.prod(sizes))


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


def content(number: torch.Tensor, kind: type | None) -> int | float | bool:
    """What a tensor of one element holds."""
    with torch._C.DisableTorchFunction():
        item = number.item()
    return bool(item) if kind is bool else item


def packed_outputs(graph: Any) -> Any:
    """The node that packs what a traced function returns into a tuple."""
    return next(graph.outputs()).node()


def cut(packed: Any, first: int, end: int) -> None:
    """Take some of what a graph returns out of it."""
    for i in reversed(range(first, end)):
        packed.removeInput(i)
    packed.output().setType(torch._C.TupleType([packed.inputsAt(i).type() for i in range(packed.inputsSize())]))
