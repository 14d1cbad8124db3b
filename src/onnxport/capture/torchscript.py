"""Reads scripted modules and functions: calls inlined, attributes resolved, structured arguments flattened.

Inputs of the model, in order: each argument of `forward` as it is given in the example. A tuple is its elements, a
dict its values in the order of the example, a `List[Tensor]` one sequence; ints, floats and bools are 0-d tensors,
live in the exported model. An argument that is None, a string or a device is a constant. A `List[Tensor]` is as many
inputs as the example has tensors, instead, if `input_names` has that many names: its length is then a constant.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from ..program import Block, Location, Node, Operand, Program, Value
from ..program.ir import Input, Weight
from ..program.tuple_lists import split_tuple_lists
from .futures import inline_calls
from .graph import GraphReader, inputs_of, outputs_of
from .parts import Object, Parts, has_attributes
from .signature import Default, bind
from .weights import named_weights

# The types of numbers as TorchScript writes them.
_NUMBERS = {bool: "bool", int: "int", float: "float"}


def read(model: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], names: int = 0) -> Program:
    """The program of a `ScriptModule` or `ScriptFunction`. The user's model isn't touched."""
    module = isinstance(model, torch.jit.ScriptModule)
    callee = _forward(model) if module else model
    graph = callee.graph.copy()
    inline_calls(graph)
    attributes = Attributes(graph, named_weights(model) if module else {})
    reader = GraphReader(leaf=attributes.leaf)
    parameters = list(graph.inputs())
    if module:
        reader.operands[parameters[0]] = Object("", model._c)
        parameters = parameters[1:]
    arguments = bind(callee.schema, args, kwargs, skip=1 if module else 0)
    block = Block()
    inputs: list[Input] = []
    flat = _names_each_tensor(arguments, names)
    for value, (name, example) in zip(parameters, arguments):
        structure = _structure(name, example, value.type().annotation_str, inputs, block.nodes, flat)
        reader.operands[value] = structure
    reader.nodes(graph, block.nodes)
    block.returns = [reader.operands[v] for v in graph.outputs()]
    block.parameters = [entry.value for entry in inputs]
    name = model.original_name if module else (getattr(model, "name", None) or "main_graph")
    modules = {n: m.original_name for n, m in model.named_modules()} if module else {}
    program = Program(
        block,
        inputs,
        attributes.weights,
        [],
        str(name),
        modules,
        "script",
        state=attributes.state,
        arguments=[n for n, _ in arguments],
        keep_alive=graph,
        owner=model,
    )
    split_tuple_lists(program)
    return program


def _forward(model: Any) -> Any:
    if not model._c._has_method("forward"):
        raise TypeError(f"the scripted module {model.original_name} has no method forward: there is nothing to export")
    return model.forward


# -- attributes -------------------------------------------------------------------------------------


class Attributes:
    """What `prim::GetAttr` chains lead to.

    A tensor becomes a weight, known by its name in `state_dict` if it has one; other attributes are constants. An
    attribute that the graph writes somewhere is state: its reads and writes stay nodes, and `state` holds what
    it is at the start.
    """

    def __init__(self, graph: Any, named: Mapping[str, torch.Tensor]) -> None:
        self.weights: dict[Value, Weight] = {}
        self.state: dict[str, Operand] = {}
        self._values: dict[int, Value] = {}
        for name, tensor in named.items():
            self._weight(name, tensor)
        self._written = {
            (node.inputsAt(0).type().annotation_str, node.s("name")) for node in graph.findAllNodes("prim::SetAttr")
        }

    def know(self, value: Value, weight: Weight) -> None:
        """A weight that has its value already."""
        self.weights[value] = weight
        self._values[id(weight.tensor)] = value

    def leaf(self, node: Any, reader: GraphReader) -> Node | bool:
        """Take over reads and writes of attributes of known objects."""
        kind = node.kind()
        if kind not in ("prim::GetAttr", "prim::SetAttr"):
            return False
        inputs = inputs_of(node)
        owner = reader.operands[inputs[0]]
        if not isinstance(owner, (Object, Parts)):
            return False  # an object made while the model runs
        name = node.s("name")
        if isinstance(owner, Parts):
            reader.operands[node.output()] = owner[name]
            return True
        path = f"{owner.path}.{name}" if owner.path else name
        if (inputs[0].type().annotation_str, name) not in self._written:
            reader.operands[node.output()] = self._operand(path, getattr(owner.content, name))
            return True
        if path not in self.state:
            self.state[path] = self._operand(path, getattr(owner.content, name))
        operands = [reader.operands[v] for v in inputs[1:]]
        outputs = [reader.define(v) for v in outputs_of(node)]
        location = reader.location(node, outputs)
        return Node(kind, operands, outputs, attributes={"name": path, "state": True}, location=location)

    def _operand(self, path: str, content: Any) -> Operand:
        if isinstance(content, torch.Tensor):
            return self._weight(path, content)
        if isinstance(content, (torch._C.ScriptModule, torch.jit.ScriptModule)) or has_attributes(content):
            return Object(path, content)
        return content

    def _weight(self, path: str, tensor: torch.Tensor) -> Value:
        value = self._values.get(id(tensor))
        if value is None:
            value = self._values[id(tensor)] = Value(path)
            self.weights[value] = Weight(path, tensor, not isinstance(tensor, torch.nn.Parameter))
        return value


# -- arguments --------------------------------------------------------------------------------------


def _names_each_tensor(arguments: list[tuple[str, Any]], names: int) -> bool:
    """Whether there are too many names for lists of tensors as one input each, and enough for their tensors."""
    counts = []
    for flat in (False, True):
        inputs: list[Input] = []
        for name, example in arguments:
            _structure(name, example, "", inputs, [], flat)
        counts.append(len(inputs))
    return counts[0] < names <= counts[1]


def _structure(
    name: str, example: Any, type: str, inputs: list[Input], nodes: list[Node], flat: bool = False
) -> Operand:
    """The operand that stands for an argument; its tensors and numbers become inputs of the program."""
    if isinstance(example, Default):
        return example.value
    type = _inner(type, "Optional")
    if isinstance(example, torch.Tensor):
        return _input(name, "Tensor", example.detach().clone(), inputs)
    if isinstance(example, (bool, int, float)):
        number = float(example) if type == "float" else example
        return _input(name, "float" if type == "float" else _NUMBERS[example.__class__], number, inputs)
    if isinstance(example, Mapping):
        parts = [_structure(f"{name}.{k}", v, "", inputs, nodes, flat) for k, v in example.items()]
        entries = [x for pair in zip(example, parts) for x in pair]
        return _construct("prim::DictConstruct", name, entries, nodes)
    if isinstance(example, tuple) and not type.startswith("List["):
        parts = [_structure(f"{name}.{i}", v, "", inputs, nodes, flat) for i, v in enumerate(example)]
        return _construct("prim::TupleConstruct", name, parts, nodes)
    if isinstance(example, (list, tuple)):
        kinds = {x.__class__ for x in example}
        if example and all(isinstance(x, torch.Tensor) for x in example) and not flat:
            return _input(name, "List[Tensor]", [x.detach().clone() for x in example], inputs)
        if example and kinds <= set(_NUMBERS):
            return _input(name, f"List[{_NUMBERS[next(iter(kinds))]}]", list(example), inputs)
        parts = [_structure(f"{name}.{i}", v, "", inputs, nodes, flat) for i, v in enumerate(example)]
        return _construct("prim::ListConstruct", name, parts, nodes)
    return example


def _inner(type: str, wrapper: str) -> str:
    return type[len(wrapper) + 1 : -1] if type.startswith(f"{wrapper}[") else type


def _input(name: str, type: str, example: Any, inputs: list[Input]) -> Value:
    value = Value(name, type)
    inputs.append(Input(value, name, example))
    return value


def _construct(op: str, name: str, parts: list[Operand], nodes: list[Node]) -> Value:
    value = Value(name, "")
    nodes.append(Node(op, parts, [value], location=Location()))
    return value
