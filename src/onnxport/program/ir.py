"""Programs: nested blocks of nodes over values, as TorchScript has them, without `torch._C` objects.

Nothing here knows ONNX or a front end. A program can be built by hand, which is how the stages behind it
are tested. Python constants are operands themselves: an operand that is not a `Value` is a constant (a
number, a string, None, a list of these, a dtype as TorchScript's int, or a `torch.Tensor`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Union

import torch

from .labels import Labels
from .schema import Schema


@dataclass(frozen=True, slots=True)
class TensorType:
    """What a front end knows of a tensor: dtype and sizes, None where it doesn't know.

    In a trace the sizes are those of the example.
    """

    dtype: torch.dtype | None = None
    sizes: tuple[int | None, ...] | None = None
    strides: tuple[int | None, ...] | None = None


class Value:
    """A value of a program. Identity is by object; the name is for people.

    `type` is the TorchScript type as text ("Tensor", "int", "List[Tensor]", ...), "" if unknown.
    `tensor_type` may be given as a function, called when it is first asked for: reading the types of a
    trace costs as much as reading its nodes, and most are never needed.
    """

    __slots__ = ("_tensor_type", "name", "type")

    def __init__(
        self,
        name: str,
        type: str = "Tensor",
        tensor_type: TensorType | Callable[[], TensorType | None] | None = None,
    ) -> None:
        self.name = name
        self.type = type
        self._tensor_type = tensor_type

    @property
    def tensor_type(self) -> TensorType | None:
        if callable(self._tensor_type):
            self._tensor_type = self._tensor_type()
        return self._tensor_type

    def __repr__(self) -> str:
        return f"%{self.name}"


Operand = Union[Value, Any]


@dataclass(frozen=True, slots=True)
class Location:
    """Where a node comes from: path of the module instance, its class path, and the source line."""

    scope: str = ""  # "encoder.layers.0"
    source: str = ""  # "model.py:41"
    code: str = ""  # the line itself, if known

    def __str__(self) -> str:
        where = self.scope or "the model itself"
        return f"{where} ({self.source})" if self.source else where


class Node:
    """An operation: `aten::add.Tensor`, `prim::If`, ...

    `inputs` are bound to the schema: one for each of its arguments, in order. `attributes` hold what is not
    an operand (the name of an attribute that is read, the Python function behind a `prim::PythonOp`).
    """

    __slots__ = ("_location", "attributes", "blocks", "inputs", "op", "outputs", "schema", "scope")

    def __init__(
        self,
        op: str,
        inputs: list[Operand],
        outputs: list[Value],
        *,
        schema: Schema | None = None,
        attributes: dict[str, Any] | None = None,
        blocks: tuple[Block, ...] = (),
        scope: str = "",
        location: Location | Callable[[], Location] | None = None,
    ) -> None:
        self.op = op
        self.inputs = inputs
        self.outputs = outputs
        self.schema = schema
        self.attributes = attributes or {}
        self.blocks = blocks
        self.scope = scope
        self._location = location

    @property
    def location(self) -> Location:
        if self._location is None:
            self._location = Location(self.scope)
        elif not isinstance(self._location, Location):
            self._location = self._location()
        return self._location

    def with_inputs(self, inputs: list[Operand]) -> Node:
        """The same operation on others, with the same results."""
        return Node(
            self.op,
            inputs,
            self.outputs,
            schema=self.schema,
            attributes=self.attributes,
            blocks=self.blocks,
            scope=self.scope,
            location=lambda: self.location,
        )

    def __repr__(self) -> str:
        outputs = ", ".join(map(repr, self.outputs))
        inputs = ", ".join(map(repr, self.inputs))
        return f"{outputs} = {self.op}({inputs})"


@dataclass(slots=True)
class Block:
    """Parameters, nodes in order, and the operands that the block returns.

    As in TorchScript, a `prim::Loop` body takes (iteration, *carried) and returns (condition, *carried); the
    blocks of a `prim::If` take nothing.
    """

    parameters: list[Value] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    returns: list[Operand] = field(default_factory=list)

    def reads(self) -> set[Value]:
        """The values that its nodes, those of nested blocks included, and its returns read."""
        operands: list[Any] = [self.returns, *((node.inputs, [b.returns for b in node.blocks]) for node in self.walk())]
        found: set[Value] = set()
        while operands:
            operand = operands.pop()
            if isinstance(operand, Value):
                found.add(operand)
            elif isinstance(operand, (list, tuple)):
                operands.extend(operand)
            elif isinstance(operand, dict):
                operands.extend(operand.values())
        return found

    def with_values(self, instead: Mapping[Value, Operand]) -> Block:
        """The same block on other values, those of nested blocks included."""

        def replaced(operand: Any) -> Any:
            if isinstance(operand, (list, tuple)):
                return type(operand)(map(replaced, operand))
            return instead.get(operand, operand) if operand.__class__ is Value else operand

        nodes = [node.with_inputs([replaced(x) for x in node.inputs]) for node in self.nodes]
        for node in nodes:
            node.blocks = tuple(block.with_values(instead) for block in node.blocks)
        return Block(self.parameters, nodes, [replaced(x) for x in self.returns])

    def walk(self) -> Iterator[Node]:
        """All nodes, those of nested blocks included, in order."""
        for node in self.nodes:
            yield node
            for block in node.blocks:
                yield from block.walk()


@dataclass(slots=True)
class Input:
    """An input of the model: a tensor, number or list among its arguments."""

    value: Value
    name: str  # after the signature: "x", "past.0.key"
    example: Any  # the example argument: a tensor, a number, a list of tensors
    axes: dict[int, str] = field(default_factory=dict)  # labels of the dynamic axes


@dataclass(slots=True)
class Program:
    """A captured model.

    The parameters of `block` are the values of `inputs`, in order. `weights` are parameters and buffers of
    the model by their value; their tensors are the model's own, never copied. The returns of the block are the outputs,
    flattened.
    """

    block: Block
    inputs: list[Input] = field(default_factory=list)
    weights: dict[Value, Weight] = field(default_factory=dict)
    output_names: list[str | None] = field(default_factory=list)
    name: str = "main_graph"
    modules: dict[str, str] = field(default_factory=dict)  # scope -> class name of the module there
    front_end: str = "trace"  # "trace", "script" or "exported"
    state: dict[str, Operand] = field(default_factory=dict)  # attributes that the program writes, by path
    labels: Labels = field(default_factory=Labels)  # what is known of the sizes of dynamic axes
    arguments: list[str] = field(default_factory=list)  # of the model, in order; tensors among them are `inputs`
    conversions: list[Conversion] | None = None  # of sizes to Python numbers; None if nobody looked
    reads_values: bool = False  # whether values of the inputs became Python numbers that aren't among `readings`
    readings: list[Reading] = field(default_factory=list)  # ints that the model took out of tensors
    keeps_sizes: bool = False  # whether it is known that no size did but for `conditions`
    conditions: Any = None  # what Python took out of sizes, and how it is computed for others
    gave: Sequence[torch.Tensor] = ()  # the results of the run that was recorded, as long as they are of use
    writes_parameters: bool = False  # whether a run of the model changes them
    assumed: str = ""  # what torch.export took for granted of sizes, as a message
    keep_alive: Any = None  # what torch recorded, which lazily read types and locations refer to
    owner: Any = None  # the scripted model, which the types in what was recorded belong to

    def take_graph(self, other: Program) -> None:
        """Have the nodes of another recording of the model, and all that they refer to. What else is known of this one stays."""
        self.block, self.weights, self.state = other.block, other.weights, other.state
        self.readings, self.keep_alive = other.readings, other.keep_alive
        for mine, theirs in zip(self.inputs, other.inputs):
            mine.value = theirs.value


@dataclass(frozen=True, slots=True)
class Conversion:
    """A place where a size became a Python number while the model ran."""

    source: str  # "model.py:41"
    what: str  # "a Python int"
    decides: bool = False  # as a bool: which operations run may hang on it
    threshold: int | None = None  # what it was compared with


@dataclass(slots=True)
class Reading:
    """Values of the inputs that became Python ints while the model ran; or what was computed from sizes."""

    value: Value | None  # the tensor, as it was then
    content: int | list[int]
    place: str  # "model.py:41"
    what: str  # "a Python int"
    of_sizes: bool = False
    counts: bool = False  # how much there is of a tensor, which may hang on values
    followed: bool = False  # whether what is made of the ints follows the tensor


@dataclass(slots=True)
class Weight:
    """A parameter or buffer: name as in `state_dict`, the tensor itself."""

    name: str
    tensor: torch.Tensor
    is_buffer: bool = False
    in_state: bool = True  # whether `state_dict` has it
