"""Lists of ints that a model took out of tensors, used as long as they are: `torch.split(x, counts.tolist())`.

In a trace they are constants. Where a program has all numbers of such a list, in order, it is given the list itself, which
is as long as the tensor. Each program is changed by itself, and says by what it has in common with those of other sizes
and values whether that is right (see `rolled`).
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from ...dtypes import to_scalar_type
from ...program import Block, Node, Operand, Program, Value
from ...program.ir import Reading
from ...program.schema import parse
from ..watch.readings import ROWS

# Arguments that take lists of any length.
_ANY_LENGTH = frozenset({"split_sizes", "split_size", "indices"})
_RESHAPE = parse("aten::reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a)")
_TO = parse(
    "aten::to.dtype(Tensor(a) self, ScalarType dtype, bool non_blocking=False, bool copy=False, MemoryFormat? "
    "memory_format=None) -> Tensor(a)"
)
_CUMSUM = parse("aten::cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor")
_SUB = parse("aten::sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor")
_INT64 = to_scalar_type(torch.int64)


@dataclasses.dataclass(frozen=True, slots=True)
class Read:
    """The list that was read of a tensor; `factor * n + offset` for each number of it; or its sums, up to each number, with
    it or without."""

    tensor: Value
    factor: int = 1
    offset: int = 0
    sums: str = ""  # "with" or "without"

    @property
    def is_plain(self) -> bool:
        return self.factor == 1 and self.offset == 0 and not self.sums


class ReadLists:
    """The lists that a program read, and those of them that were used: `counts.tolist()`, `[int(n) for n in counts]`; and single
    ints that it read."""

    def __init__(self, program: Program | None = None) -> None:
        readings = [r for r in program.readings if r.value is not None] if program is not None else []
        self._made: list[tuple[Any, list[int]]] = [
            (r.value, r.content) for r in readings if isinstance(r.content, list)
        ]
        self.ints: dict[Any, int] = {
            r.value: r.content for r in readings if isinstance(r.content, int) and r.what != ROWS
        }
        self._counted = _counted(program.block, readings) if program is not None else {}
        self.used: set[Value] = set()  # tensors that they are read of
        singles = [r for r in readings if isinstance(r.content, int)]
        if program is not None and len(singles) > 1:
            self._made += _elements(program.block, singles)

    def follow(self, program: Program) -> None:
        """Say of the readings that were used that they are."""
        elements = {value: tensor for value, tensor, _ in _places(program.block)}
        for reading in program.readings:
            value: Any = reading.value
            reading.followed |= not self.used.isdisjoint((value, elements.get(value)))

    def __bool__(self) -> bool:
        return bool(self._made or self._counted or self.ints)

    def holds(self, value: Any, number: Any) -> bool:
        """Whether this was read of the copy of a tensor, which a value is."""
        return number is not None and self.ints.get(value) == number

    def counts(self, tensor: Value) -> bool:
        """Whether values say how many rows a tensor has; a loop over them then runs as often as there are such."""
        if tensor in self._counted:
            self.used.add(self._counted[tensor])
        return tensor in self._counted

    def find(self, numbers: Sequence[Any], is_known: Callable[[Value], bool]) -> Read | None:
        """The list that was read last of those that have these numbers, or else all of them so much more or less."""
        if not self._made or not all(type(number) is int for number in numbers):
            return None
        known = [(value, held) for value, held in reversed(self._made) if len(held) == len(numbers) and is_known(value)]
        same = next((value for value, held in known if held == list(numbers)), None)
        if same is not None:
            return Read(same)
        if len(set(numbers)) == 1 or list(numbers) == list(range(len(numbers))):  # not of it
            return None
        for value, held in known:
            sums = list(itertools.accumulate(held))
            if list(numbers) in (sums, [0, *sums[:-1]]):
                return Read(value, sums="with" if numbers[0] else "without")
        for factor in (1, -1):
            for value, held in known:
                offset = numbers[0] - factor * held[0]
                if all(number == factor * n + offset for number, n in zip(numbers, held)):
                    return Read(value, factor, offset)
        return None

    def nodes(self, read: Read, near: Node) -> list[Node]:
        """What makes the list of its tensor; the last node gives the list, the one before the tensor in one row."""
        self.used.add(read.tensor)
        row = Value("row", "Tensor")
        nodes = [Node(_RESHAPE.full_name, [read.tensor, [-1]], [row], schema=_RESHAPE, scope=near.scope)]
        if read.sums:
            made = Value("sums", "Tensor")
            nodes.append(Node(_CUMSUM.full_name, [row, 0, _INT64], [made], schema=_CUMSUM, scope=near.scope))
            if read.sums == "without":
                each, made = made, Value("sums", "Tensor")
                nodes.append(Node(_SUB.full_name, [each, row, 1], [made], schema=_SUB, scope=near.scope))
            row = made
        numbers = Value("read", "List[int]")
        nodes.append(Node("prim::tolist", [row, 1, 0], [numbers], scope=near.scope, location=lambda: near.location))
        return nodes

    def placed(self, block: Block) -> Block:
        """The block with the lists in place of constants, where an argument takes lists of any length."""
        nodes: list[Node] = []
        known: set[Any] = set(block.parameters)
        constants: dict[Any, list[Any]] = {}
        for node in block.nodes:
            if node.op == "prim::ListConstruct":
                constants[node.outputs[0]] = node.inputs
            inputs = list(node.inputs)
            for position, operand in enumerate(inputs):
                content = constants.get(operand, operand) if operand.__class__ is Value else operand
                found, more = self._instead(node, position, content, known)
                if found is not None:
                    inputs[position] = found
                    nodes += more
            changed = any(new is not old for new, old in zip(inputs, node.inputs))
            nodes.append(node.with_inputs(inputs) if changed else node)
            known.update(node.outputs)
        return Block(block.parameters, nodes, block.returns)

    def _instead(self, node: Node, position: int, operand: Any, known: set[Any]) -> tuple[Operand | None, list[Node]]:
        if isinstance(operand, torch.Tensor):
            if operand.dim() != 1 or operand.dtype != torch.int64:
                return None, []
            read = self.find(operand.tolist(), known.__contains__)
            if read is None or not read.is_plain:
                return None, []
            flat = self.nodes(read, node)[0]
            whole = Value("whole", "Tensor")
            cast = Node(
                _TO.full_name, [flat.outputs[0], _INT64, False, False, None], [whole], schema=_TO, scope=node.scope
            )
            return whole, [flat, cast]
        if not isinstance(operand, list) or node.schema is None or not operand:
            return None, []
        if node.schema.arguments[position].name not in _ANY_LENGTH:
            return None, []
        read = self.find(operand, known.__contains__)
        if read is None or not read.is_plain:
            return None, []
        made = self.nodes(read, node)
        return made[-1].outputs[0], made


def _counted(block: Block, readings: list[Reading]) -> dict[Any, Value]:
    """Tensors whose rows were counted, and the copies of these numbers."""
    copies = {reading.value for reading in readings if reading.what == ROWS}
    sizes: dict[Any, Any] = {}
    found: dict[Any, Value] = {}
    for node in block.nodes:
        if node.op == "aten::size.int" and node.inputs[1] == 0:
            sizes[node.outputs[0]] = node.inputs[0]
        elif node.op == "prim::NumToTensor" and node.inputs[0] in sizes:
            sizes[node.outputs[0]] = sizes[node.inputs[0]]
        elif node.op == "aten::clone" and node.outputs[0] in copies:
            found[sizes[node.inputs[0]]] = node.outputs[0]
    return found


def _elements(block: Block, singles: list[Reading]) -> list[tuple[Any, list[int]]]:
    """Tensors of which each element was read in order, and the numbers."""
    content = {reading.value: reading.content for reading in singles}
    found: dict[Any, list[Any]] = {}
    for value, tensor, place in _places(block):
        numbers = found.setdefault(tensor, [])
        if value in content and place == len(numbers):
            numbers.append(content[value])
    return [(tensor, numbers) for tensor, numbers in found.items() if len(numbers) > 1]


def _places(block: Block) -> Iterator[tuple[Value, Any, int]]:
    """Copies of single elements along the first axis of a tensor, the tensor, and which element it is."""
    elements: dict[Any, tuple[Any, int]] = {}
    unbound: dict[Any, Any] = {}
    for node in block.nodes:
        operands = node.inputs
        if node.op == "aten::unbind.int" and operands[1] == 0:
            unbound[node.outputs[0]] = operands[0]
        elif node.op == "prim::ListUnpack" and operands[0] in unbound:
            elements.update((value, (unbound[operands[0]], i)) for i, value in enumerate(node.outputs))
        elif node.op == "aten::select.int" and operands[1] == 0 and type(operands[2]) is int:
            elements[node.outputs[0]] = operands[0], operands[2]
        elif node.op == "aten::clone" and operands[0] in elements:
            yield (node.outputs[0], *elements[operands[0]])
