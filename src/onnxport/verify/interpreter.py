"""Runs a `Program` in PyTorch, node by node, so that its intermediate values can be looked at."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from ..dims import Dim, evaluate
from ..program import Block, Node, Operand, Program, Value
from .sizes import sizes_of

Observer = Callable[[Node, list[Any]], None]


class NotInterpreted(Exception):
    """The program has a node that can't be run here."""


def interpret(program: Program, inputs: Sequence[Any], observe: Observer) -> list[Any]:
    """Run the program on its inputs; `observe` is told of each node and its results as soon as they are there.

    Results may be written to later: whoever keeps them, copies them. Raises `NotInterpreted`.
    """
    writes = any(node.schema is not None and node.schema.mutates for node in program.block.walk())
    sizes = sizes_of(inputs, [declared.axes for declared in program.inputs], program.labels)
    run = _Run(observe, sizes, {} if writes else None)
    for value, weight in program.weights.items():
        run.env[value] = weight.tensor.detach().clone() if weight.is_buffer else weight.tensor.detach()
    run.env.update(zip(program.block.parameters, inputs))
    return run.block(program.block)


class _Run:
    def __init__(self, observe: Observer, sizes: Mapping[str, int], constants: dict[int, torch.Tensor] | None) -> None:
        self.constants = constants  # copies of those of the program, if it may write to them
        self.env: dict[Value, Any] = {}
        self.observe = observe
        self.sizes = sizes  # of dynamic axes, which numbers that follow them are computed from

    def block(self, block: Block) -> list[Any]:
        for node in block.nodes:
            results = self.node(node)
            self.env.update(zip(node.outputs, results))
            self.observe(node, results)
        return [self.read(x) for x in block.returns]

    def read(self, operand: Operand) -> Any:
        if isinstance(operand, Value):
            return self.env[operand]
        if isinstance(operand, list):
            return [self.read(x) for x in operand]
        if isinstance(operand, Dim):
            return evaluate(operand, self.sizes)
        if self.constants is not None and isinstance(operand, torch.Tensor):
            if id(operand) not in self.constants:
                self.constants[id(operand)] = operand.detach().clone()
            return self.constants[id(operand)]
        return operand

    def node(self, node: Node) -> list[Any]:
        inputs = [self.read(x) for x in node.inputs]
        special = _SPECIALS.get(node.op)
        if special is not None:
            return special(self, node, inputs)
        if node.schema is None:
            raise NotInterpreted(node.op)
        result = self.call(node, inputs)
        return [result] if len(node.outputs) == 1 else list(result or ())

    def call(self, node: Node, inputs: list[Any]) -> Any:
        schema = node.schema
        assert schema is not None
        namespace, _, name = schema.name.partition("::")
        try:
            op = getattr(getattr(getattr(torch.ops, namespace), name), schema.overload or "default")
        except AttributeError:
            raise NotInterpreted(node.op) from None
        positional = [x for x, spec in zip(inputs, schema.arguments) if not spec.keyword_only]
        keywords = {spec.name: x for x, spec in zip(inputs, schema.arguments) if spec.keyword_only}
        return op(*positional, **keywords)

    def branch(self, node: Node, inputs: list[Any]) -> list[Any]:
        return self.block(node.blocks[0 if inputs[0] else 1])

    def loop(self, node: Node, inputs: list[Any]) -> list[Any]:
        trips, condition, carried = inputs[0], inputs[1], inputs[2:]
        body, step = node.blocks[0], 0
        while step < trips and condition:
            self.env.update(zip(body.parameters, [step, *carried]))
            condition, *carried = self.block(body)
            step += 1
        return list(carried)

    def append(self, node: Node, inputs: list[Any]) -> list[Any]:
        """As operators of torch, functions of lists get copies of them."""
        inputs[0].append(inputs[1])
        return [inputs[0]]

    def python(self, node: Node, inputs: list[Any]) -> list[Any]:
        if not node.blocks:
            raise NotInterpreted(node.op)
        body = node.blocks[0]
        self.env.update(zip(body.parameters, inputs))
        return self.block(body)


_Special = Callable[[_Run, Node, list[Any]], list[Any]]


def _number(value: Any) -> Any:
    return value.item() if isinstance(value, torch.Tensor) else value


_SPECIALS: dict[str, _Special] = {
    "prim::If": _Run.branch,
    "prim::Loop": _Run.loop,
    "prim::PythonOp": _Run.python,
    "prim::ListConstruct": lambda run, node, inputs: [list(inputs)],
    "prim::TupleConstruct": lambda run, node, inputs: [tuple(inputs)],
    "prim::DictConstruct": lambda run, node, inputs: [dict(zip(inputs[::2], inputs[1::2]))],
    "prim::ListUnpack": lambda run, node, inputs: list(inputs[0]),
    "prim::TupleUnpack": lambda run, node, inputs: list(inputs[0]),
    "prim::TupleIndex": lambda run, node, inputs: [inputs[0][inputs[1]]],
    "aten::append.t": _Run.append,
    "aten::reverse.t": lambda run, node, inputs: [inputs[0].reverse()],
    "aten::__getitem__.t": lambda run, node, inputs: [inputs[0][inputs[1]]],
    # Operators on lists of anything aren't called by name.
    "aten::mul.left_t": lambda run, node, inputs: [inputs[0] * inputs[1]],
    "aten::mul.right_": lambda run, node, inputs: [inputs[0] * inputs[1]],
    "aten::add.t": lambda run, node, inputs: [inputs[0] + inputs[1]],
    "aten::slice.t": lambda run, node, inputs: [inputs[0][slice(*inputs[1:])]],
    "aten::list.t": lambda run, node, inputs: [list(inputs[0])],
    "aten::copy.t": lambda run, node, inputs: [list(inputs[0])],
    "aten::insert.t": lambda run, node, inputs: [inputs[0].insert(*inputs[1:])],
    "aten::extend.t": lambda run, node, inputs: [inputs[0].extend(inputs[1])],
    "aten::pop.t": lambda run, node, inputs: [inputs[0].pop(inputs[1])],
    "aten::add_.t": lambda run, node, inputs: [inputs[0].extend(inputs[1]) or inputs[0]],
    "aten::_set_item.t": lambda run, node, inputs: [inputs[0].__setitem__(*inputs[1:]) or inputs[0]],
    "aten::Delete.t": lambda run, node, inputs: [inputs[0].__delitem__(inputs[1])],
    "aten::clear.t": lambda run, node, inputs: [inputs[0].clear()],
    "aten::len.t": lambda run, node, inputs: [len(inputs[0])],
    "prim::tolist": lambda run, node, inputs: [inputs[0].tolist()],
    "prim::NumToTensor": lambda run, node, inputs: [torch.tensor(inputs[0])],
    "prim::dtype": lambda run, node, inputs: [inputs[0].dtype],
    "prim::device": lambda run, node, inputs: [inputs[0].device],
    "prim::data": lambda run, node, inputs: [inputs[0].detach()],
    "prim::unchecked_cast": lambda run, node, inputs: [inputs[0]],
    "aten::detach": lambda run, node, inputs: [inputs[0].detach()],
    **{
        f"aten::{name}": lambda run, node, inputs: [_number(inputs[0])]
        for name in ("ScalarImplicit", "IntImplicit", "FloatImplicit", "ComplexImplicit", "item")
    },
    "aten::Int.Tensor": lambda run, node, inputs: [int(inputs[0])],
    "aten::Float.Tensor": lambda run, node, inputs: [float(inputs[0])],
    "aten::Bool.Tensor": lambda run, node, inputs: [bool(inputs[0])],
    "aten::__is__": lambda run, node, inputs: [inputs[0] is inputs[1]],
    "aten::__isnot__": lambda run, node, inputs: [inputs[0] is not inputs[1]],
}
