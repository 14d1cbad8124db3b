"""How numbers that Python took out of sizes are computed for other sizes: in Python, by arithmetic that the graph of the
trace has on sizes, or by all of the graph that leads to them, on tensors."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import Any

import torch

from ...dims import Dim, Size, evaluate, free_symbols
from ..graph import TAKES_SIZES, inputs_of, outputs_of, runnable
from .part import Part
from .terms import Terms, calculated, is_written, labels_of

Function = Callable[..., Any]
Sizes = Mapping[str, int]

# So many operations on numbers take as long as one on tensors.
_NUMBERS_PER_TENSOR = 30


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
class Learned:
    """Sizes as expressions of the labels, by the names of the values that they are in the trace; the example's sizes."""

    known: Callable[[], Mapping[str, Any]] = dict
    example: Sizes = dataclasses.field(default_factory=dict)

    def size_of(self, node: Any) -> Size | None:
        """What a node takes out of the sizes of a tensor, of labels alone; None if that isn't known to be right."""
        size = self.known().get(node.output().debugName()) if node.kind() in TAKES_SIZES else None
        if not isinstance(size, int | Dim) or not free_symbols(size) <= self.example.keys():
            return None
        return size if evaluate(size, self.example) == _taken(node) else None


@dataclasses.dataclass(frozen=True, slots=True)
class Computation:
    """How numbers are computed.

    Attributes:
        at: gives them for sizes of the labels, by calling a function on inputs of the graph that have these sizes, if need be.
        operations: how many operations on tensors compute them, or take as long.
        labels: those that they hang on; None where that isn't known.
        elements: of the tensors that are made of sizes on the way, in the trace.
    """

    at: Callable[[Sizes, Callable[[Function], Any]], Sequence[int | float | bool]]
    operations: int = 0
    labels: Set[str] | None = None
    elements: int = 0


Numbers = Sequence[tuple[Number, Any]]


def computation(graph: Any, numbers: Numbers, learned: Learned) -> Computation:
    """The one that takes the least time, of numbers that are values of a graph."""
    if not numbers:
        return Computation(lambda sizes, on_tensors: ())
    return in_python(numbers, learned) or by_arithmetic(numbers, learned) or by_graph(graph, numbers)


def in_python(numbers: Numbers, learned: Learned) -> Computation | None:
    """Where it is so simple that Python is faster than TorchScript."""
    terms = Terms(learned.size_of)
    of_values = [terms.of(value) for _, value in numbers]
    found = [(calculated(term), number.kind or int) for term, (number, _) in zip(of_values, numbers)]
    if not all(calculate for calculate, _ in found):
        return None

    def at(sizes: Sizes, on_tensors: Any) -> list[int | float | bool]:
        return [kind(calculate(sizes)) if calculate else 0 for calculate, kind in found]

    labels = set().union(*map(labels_of, of_values))
    return _if_right(Computation(at, 1 + len(found) // _NUMBERS_PER_TENSOR, labels), numbers, learned)


def by_arithmetic(numbers: Numbers, learned: Learned) -> Computation | None:
    """From sizes of the labels; None if there is more to it than arithmetic on sizes."""
    part: Any = torch._C.Graph()
    made: dict[Any, Any] = {}  # value of the part by that of the graph
    inputs: dict[Size, Any] = {}
    pending = [value for _, value in numbers]
    while pending:
        value = pending[-1]
        node = value.node()
        if value in made:
            pending.pop()
        elif node.kind() in TAKES_SIZES:
            size = learned.size_of(node)
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
    returned = part.insertNode(part.create("prim::TupleConstruct", [made[value] for _, value in numbers], 1))
    returned.output().setType(torch._C.TupleType([value.type() for _, value in numbers]))
    part.registerOutput(returned.output())
    function = torch._C._create_function_from_graph("conditions", part)

    def at(sizes: Sizes, on_tensors: Any) -> list[int | float | bool]:
        with torch.jit._fuser.optimized_execution(False):  # it takes longer than it saves
            return _contents(function(*(evaluate(size, sizes) for size in inputs)), numbers)

    labels = set().union(*map(free_symbols, inputs))
    made_of = Computation(at, 1 + len(made) // _NUMBERS_PER_TENSOR, labels, _elements(part))
    return _if_right(made_of, numbers, learned)


def by_graph(graph: Any, numbers: Numbers) -> Computation:
    """By the part of the graph that leads to them."""
    part = Part(graph).of([value for _, value in numbers]) or _without_dead(graph, numbers)
    function = runnable("conditions", part)

    def at(sizes: Sizes, on_tensors: Callable[[Function], Any]) -> list[int | float | bool]:
        with torch.no_grad(), torch.jit._fuser.optimized_execution(False):
            return _contents(on_tensors(function), numbers)

    return Computation(at, sum(1 for _ in part.nodes()), None, _elements(part))


def _without_dead(graph: Any, numbers: Numbers) -> Any:
    """A graph that returns numbers, as short as TorchScript makes it."""
    packed = packed_outputs(graph)
    count = packed.inputsSize()
    for _, value in numbers:
        packed.addInput(value)
    part = graph.copy()
    cut(packed, count, count + len(numbers))
    cut(packed_outputs(part), 0, count)
    torch._C._jit_pass_dce(part)
    return part


def _if_right(found: Computation, numbers: Numbers, learned: Learned) -> Computation | None:
    """A computation, if it gives what was taken in the example."""
    expected = [number.content for number, _ in numbers]
    return found if found.at(learned.example, None) == expected else None  # type: ignore[arg-type]


def _contents(tensors: Iterable[torch.Tensor], numbers: Numbers) -> list[int | float | bool]:
    return [content(tensor, number.kind) for tensor, (number, _) in zip(tensors, numbers)]


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


def _taken(node: Any) -> int | None:
    """The size that a node took in the trace."""
    sizes = node.inputsAt(0).type().sizes()
    if sizes is None:
        return None
    return int(sizes[node.inputsAt(1).toIValue()] if node.inputsSize() > 1 else math.prod(sizes))


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
