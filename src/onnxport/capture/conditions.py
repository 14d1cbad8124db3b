"""Numbers and bools that Python takes out of sizes while a model is traced: `if n > 4`, `assert h % 8 == 0`, `int(n)`.

What they were taken from stays in the trace, beside the model's outputs, so that they can be computed for other sizes
without the model: where all of them are what they are in the example, Python goes the same way, and the trace is the same.
The sizes that they are computed from are expressions of the labels, as far as these are known; what is left of the graph is
arithmetic then.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Set
from typing import Any

import torch

from ..dims import Dim, Size, evaluate, free_symbols
from .dependence import Dependence, reads_content
from .graph import inputs_of, outputs_of
from .messages import only_tells
from .pitfalls import PIECES, ROWS, place_of_call, place_unless_told, what_is_taken
from .traced_sizes import exact, is_size

Function = Callable[..., Any]
Number = int | float | bool

# Functions that take one number out of a tensor.
TAKES_NUMBERS: frozenset[Function] = frozenset(
    {torch.Tensor.__bool__, torch.Tensor.__int__, torch.Tensor.__index__, torch.Tensor.__float__, torch.Tensor.item,
     torch.Tensor.__len__, torch.Tensor.__format__, torch.Tensor.__repr__}
)  # fmt: skip
# Functions that take numbers which aren't kept.
_TAKES_MORE = (torch.Tensor.tolist, torch.Tensor.numpy, torch.Tensor.__array__)
# A model that takes so many is traced again instead.
_MANY = 1000
# What the graph takes out of the sizes of tensors.
TAKES_SIZES = ("aten::size", "aten::numel")
# What may give its argument, or a view of it.
_VIEWS = frozenset(
    f"aten::{name}"
    for name in ("alias", "detach", "to", "contiguous", "view", "reshape", "expand", "select", "unsqueeze", "squeeze")
)
# So many operations on numbers take as long as one on tensors.
_NUMBERS_PER_TENSOR = 30
# No more elements are made to read numbers from, in all the tensors that lead to them.
_ELEMENTS = 1 << 23
Sizes = Mapping[str, int]


class Conditions:
    """The numbers that one run takes, and what the graph of its trace computes them from."""

    def __init__(self) -> None:
        self.lost = False  # whether numbers were taken that can't be computed again
        self.incomplete = False  # whether there are more than those that are kept
        self.numbers: list[Number] = []
        self._kinds: list[type | None] = []
        self._places: list[tuple[str, str]] = []  # where each was taken, and as what
        self._tensors: list[torch.Tensor] = []
        self._graph: Any = None
        self._arguments: set[str] = set()
        self._values: list[Any] = []
        self._function: Function | None = None
        self._of_sizes: Callable[[Sizes], Any] | None = None
        self._known: Callable[[], Mapping[str, Any]] = dict
        self._example: Sizes = {}
        self._operations = 0
        self._elements = 0  # of the tensors that are made of sizes on the way, in the trace
        self._parts: dict[type, Conditions] = {}  # by what the numbers in them are
        self._known_of_parts: tuple[Callable[[], Mapping[str, Any]], Sizes] = dict, {}

    def watched(self) -> dict[Function, Function]:
        """The functions that take numbers, and what calls them and keeps the tensor."""
        more = {function: self._watch_more(function) for function in _TAKES_MORE}
        return {**more, **{function: self._watch(function) for function in TAKES_NUMBERS}}

    def _watch_more(self, function: Function) -> Function:
        def watch(tensor: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
            self.incomplete = True
            return function(tensor, *args, **kwargs)

        return watch

    def _watch(self, function: Function) -> Function:
        def watch(tensor: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
            of_axis = function is torch.Tensor.__len__
            if torch._C._get_tracing_state() and (tensor.dim() or not of_axis):  # else it raises
                tensor = exact(tensor)
                number: Any = tensor.size(0) if of_axis else tensor
                if function is torch.Tensor.__int__ and number.is_floating_point():
                    number = number.to(torch.int64)  # rounded as Python rounds it
                decides = function is torch.Tensor.__bool__
                tells = only_tells(place_of_call())
                if decides or not tells:
                    place = "" if tells else place_unless_told()
                    self.take(number, bool if decides else None, place, what_is_taken(function))
                if function is torch.Tensor.__repr__ and is_size(tensor):
                    return repr(_content(tensor, None))
            return function(tensor, *args, **kwargs)

        return watch

    def take(self, number: Any, kind: type | None = None, place: str = "", what: str = "") -> None:
        """Keep a tensor of one element, as it is now; what matters of it is what it is as a bool, or the number."""
        if len(self.numbers) == _MANY or number.numel() != 1:
            self.lost = True
            return
        self._tensors.append(number)
        self._kinds.append(kind)
        self._places.append((place, what))
        self.numbers.append(_content(number, kind))

    def clear(self) -> None:
        self.lost = self.incomplete = False
        self.numbers.clear()
        self._kinds.clear()
        self._places.clear()
        self._tensors.clear()

    def tensors(self) -> list[torch.Tensor]:
        """What the trace has to return, if nothing was written to since then."""
        if self.lost or list(map(_content, self._tensors, self._kinds)) != self.numbers:
            self.lost = True
            return []
        return self._tensors

    def settle(self, graph: Any, arguments: Iterable[Any]) -> None:
        """Take what they are computed from out of the returns of the graph."""
        self._arguments = {value.debugName() for value in arguments}
        count = 0 if self.lost else len(self._tensors)
        self._tensors.clear()
        if count:
            packed = _packed(graph)
            self._graph = graph
            self._values = [packed.inputsAt(i) for i in range(packed.inputsSize() - count, packed.inputsSize())]
            _cut(packed, packed.inputsSize() - count, packed.inputsSize())

    def of_values(self, known: Callable[[], Mapping[str, Any]], labels: Set[str]) -> dict[str, str]:
        """Where numbers were taken that hang on the content of arguments, and as what: `len(x[x > 0])`.

        Args:
            known: gives sizes as expressions of labels, by the names of the values that they are in the trace.
        """
        dependence = Dependence(lambda value: value.debugName() in self._arguments)
        doubtful = [
            (value, place)
            for value, place in zip(self._values, self._places)
            if place[0] and dependence.may_be_of(value)
        ]
        sizes = known() if doubtful else {}
        return dict(place for value, place in doubtful if dependence.is_of(value, sizes, labels))

    def learn(self, known: Callable[[], Mapping[str, Any]], example: Sizes, *, for_all: bool = True) -> None:
        """Take sizes as expressions of the labels, by the names of the values that they are in the trace.

        Args:
            known: is asked when it matters.
            example: the sizes of the labels in the trace.
            for_all: whether they are used for all numbers, or for `decided` and `counted` alone.
        """
        self._known_of_parts = known, example
        if for_all:
            self._known, self._example = known, example

    def forget(self) -> None:
        """The program isn't what the sizes were learned of any more."""
        self._known, self._example = dict, {}

    def hold(self, sizes: Sizes, on_tensors: Callable[[Function], Any]) -> bool | None:
        """Whether the numbers are the same at other sizes; None if one that is no bool isn't.

        Args:
            on_tensors: calls a function on inputs of the graph that have these sizes.
        """
        differ = [mine for mine, other in zip(self.numbers, self._at(sizes, on_tensors)) if mine != other]
        return None if any(not isinstance(number, bool) for number in differ) else not differ

    @property
    def decided(self) -> Conditions:
        """The bools among the numbers that hang on sizes alone."""
        return self._of_kind(bool)

    @property
    def counted(self) -> Conditions:
        """The ints among them."""
        return self._of_kind(int)

    @property
    def alone(self) -> list[Conditions]:
        """All of these, and those by themselves that can be read at any sizes, as no tensors are made for them."""
        self._prepare()
        if not self._elements:
            return [self]
        light = [not _is_made(value) for value in self._values]
        return [self, self._those(light)] if any(light) else [self]

    def _of_kind(self, kind: type) -> Conditions:
        if kind not in self._parts:
            dependence = Dependence(lambda value: value.debugName() in self._arguments)
            self._parts[kind] = self._those(
                number.__class__ is kind and not reads_content(value) and not dependence.may_be_of(value)
                for number, value in zip(self.numbers, self._values)
            )
        return self._parts[kind]

    def _those(self, chosen: Iterable[bool]) -> Conditions:
        part = Conditions()
        part._graph = self._graph
        part.learn(*self._known_of_parts)
        for is_chosen, number, as_bool, place, value in zip(
            chosen, self.numbers, self._kinds, self._places, self._values
        ):
            if is_chosen:
                part.numbers.append(number)
                part._kinds.append(as_bool)
                part._places.append(place)
                part._values.append(value)
        return part

    @property
    def cost(self) -> int:
        """How many operations on tensors compute the numbers, or take as long."""
        self._prepare()
        return self._operations

    @property
    def counts_rows(self) -> bool:
        """Whether there are numbers of rows that Python went through, and may have left some of."""
        return any(what == ROWS for _, what in self._places)

    @property
    def counts_pieces(self) -> list[bool]:
        """Which of the numbers are of pieces that a tensor is cut to: where there are fewer, cutting it fails."""
        return [what == PIECES for _, what in self._places]

    @property
    def places(self) -> list[str]:
        """The lines of the numbers."""
        return [place for place, _ in self._places]

    def at(self, sizes: Sizes, on_tensors: Callable[[Function], Any]) -> tuple[Number, ...]:
        """The numbers at other sizes; raises where large tensors would be made for that (`torch.full((n, n), ...)`)."""
        self._prepare()
        if self._elements * self._growth(sizes) > _ELEMENTS:
            raise MemoryError("numbers are read from tensors that are too large")
        return tuple(self._at(sizes, on_tensors))

    def _growth(self, sizes: Sizes) -> float:
        """How many times larger tensors are at other sizes at most: each size may be that of two axes."""
        return math.prod(max(sizes[label] / max(size, 1), 1) ** 2 for label, size in self._example.items())

    def _at(self, sizes: Sizes, on_tensors: Callable[[Function], Any]) -> list[Number]:
        self._prepare()
        if self._of_sizes is not None:
            return self._contents(self._of_sizes(sizes))
        if self._function is None:
            return self.numbers
        with torch.no_grad(), torch.jit._fuser.optimized_execution(False):
            return self._contents(on_tensors(self._function))

    def _prepare(self) -> None:
        if self._values and self._of_sizes is None and self._function is None:
            self._of_sizes = self._arithmetic()
            if self._of_sizes is None:
                self._function = self._compile()

    def _contents(self, tensors: Iterable[torch.Tensor]) -> list[Number]:
        return list(map(_content, tensors, self._kinds))

    def _compile(self) -> Function:
        """The part of the graph that computes the numbers."""
        packed = _packed(self._graph)
        count = packed.inputsSize()
        for value in self._values:
            packed.addInput(value)
        part = self._graph.copy()
        _cut(packed, count, count + len(self._values))
        _cut(_packed(part), 0, count)
        torch._C._jit_pass_dce(part)
        self._operations = sum(1 for _ in part.nodes())
        self._elements = _elements(part)
        return torch._C._create_function_from_graph("conditions", part)  # type: ignore[no-any-return]

    def _arithmetic(self) -> Callable[[Sizes], Any] | None:
        """What computes the numbers from sizes of the labels; None if there is more to it than arithmetic on sizes."""
        known = self._known()
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
                size = known.get(value.debugName())
                if not isinstance(size, int | Dim) or not self._is_right(size, node):
                    return None
                if size not in inputs:
                    inputs[size] = part.addInput()
                    inputs[size].setType(torch._C.IntType.get())
                made[value] = inputs[size]
            elif node.kind() == "prim::Param" or _is_written(value):
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
        self._elements = _elements(part)

        def computed(sizes: Sizes) -> Any:
            return function(*(evaluate(size, sizes) for size in inputs))

        return computed if self._contents(computed(self._example)) == self.numbers else None

    def _is_right(self, size: Size, node: Any) -> bool:
        """Whether an expression is of labels alone, and what a node that takes the size took in the trace."""
        return free_symbols(size) <= self._example.keys() and evaluate(size, self._example) == _taken(node)


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


def _is_written(value: Any) -> bool:
    """Whether a node writes to a value, or to what may be a view of it."""
    users = [use.user for use in value.uses()]
    if value.node().kind().endswith("_") or any(user.kind().endswith("_") for user in users):
        return True
    return any(_is_written(output) for user in users if user.kind() in _VIEWS for output in outputs_of(user))


def _taken(node: Any) -> int | None:
    """The size that a node took in the trace."""
    sizes = node.inputsAt(0).type().sizes()
    if sizes is None:
        return None
    return int(sizes[node.inputsAt(1).toIValue()] if node.inputsSize() > 1 else math.prod(sizes))


def _content(number: torch.Tensor, kind: type | None) -> Number:
    with torch._C.DisableTorchFunction():
        content = number.item()
    return bool(content) if kind is bool else content


def _packed(graph: Any) -> Any:
    """The node that packs what a traced function returns into a tuple."""
    return next(graph.outputs()).node()


def _cut(packed: Any, first: int, end: int) -> None:
    for i in reversed(range(first, end)):
        packed.removeInput(i)
    packed.output().setType(torch._C.TupleType([packed.inputsAt(i).type() for i in range(packed.inputsSize())]))
