"""Nodes with bodies in symbolic functions: `If`, `Loop` and `Scan`.

result, (then, other), node = add_op_with_blocks(g, "If", condition, n_blocks=2)
add_output(then, then.op("Relu", x))
add_output(other, other.op("Neg", x))
"""

from __future__ import annotations

from typing import Any

import onnx_ir as ir
import torch

from ..dtypes import to_onnx
from ..errors import OnnxExporterError
from ..lower.builder import Builder
from ..lower.scope import Scope
from ..lower.values import Tensor
from .graph import Graph
from .value import Node, Value

# Attributes that hold the bodies, in the order of the blocks.
_BODIES = {"If": ("then_branch", "else_branch"), "Loop": ("body",), "Scan": ("body",)}


class BlockGraph(Graph):
    """The graph of a body: what is added to it sees the values around it."""

    def __init__(self, builder: Builder, outer: Graph, made: list[Tensor]) -> None:
        super().__init__(builder, outer.node)
        self.outer = outer
        self.made = made  # the outputs of the node that this is a body of
        self.scope = Scope(builder.scope)
        self.returned: list[Tensor] = []
        self.numbers = outer.numbers

    def op(self, name: str, *args: Any, outputs: int = 1, **attributes: Any) -> Any:
        with self.builder.within(self.scope):
            return super().op(name, *args, outputs=outputs, **attributes)

    def graph_of(self, name: str) -> ir.Graph:
        """The body as ONNX has it: its outputs are made in it."""
        values = []
        with self.builder.within(self.scope):
            for tensor in self.returned:
                value = self.builder.value(tensor)
                producer = value.producer()
                if producer not in self.scope.nodes or value in values:
                    value = self.builder.append("Identity", [value], {}, 1).outputs[0]
                    value.type = ir.TensorType(ir.DataType(to_onnx(tensor.dtype)))
                values.append(value)
        return ir.Graph(self.scope.inputs, values, nodes=self.scope.nodes, name=name)


def add_op_with_blocks(
    g: Graph, name: str, *inputs: Any, outputs: int = 1, n_blocks: int = 1, **attributes: Any
) -> tuple[Any, tuple[BlockGraph, ...], Node]:
    """A node with bodies: its output (or a tuple of them), the graphs of the bodies, and the node."""
    names = _BODIES.get(name)
    if names is None or len(names) != n_blocks:
        raise OnnxExporterError(f"{name} with {n_blocks} bodies is no operator of ONNX; there are {', '.join(_BODIES)}")
    given = dict(map(g.attribute, attributes.items()))
    values = [None if x is None else g.builder.value(x) for x in map(g.input, inputs)]
    node = g.builder.append(name, values, given, outputs)
    made = [Tensor(torch.float32, None, value) for value in node.outputs]
    g.untyped.update(made)
    blocks = tuple(BlockGraph(g.builder, g, made) for _ in range(n_blocks))
    g.pending.append(lambda: _finish(node, names, blocks))
    wrapped = tuple(g.wrap(t) for t in made)
    result = wrapped[0] if outputs == 1 else wrapped
    return result, blocks, wrapped[0].node()


def add_input(block: BlockGraph, like: Value | None = None) -> Value:
    """A parameter of a body, of the type of another value."""
    tensor = None if like is None else block.tensor(like)
    dtype = torch.float32 if tensor is None else tensor.dtype
    value = block.builder.value_of(None, dtype, None if tensor is None else tensor.dims)
    block.scope.inputs.append(value)
    return block.wrap(Tensor(dtype, None if tensor is None else tensor.dims, value))


def add_output(block: BlockGraph, value: Any) -> None:
    """What the body returns next. The node's output has its type, where all bodies agree."""
    with block.builder.within(block.scope):
        tensor = block.tensor(value)
    index = len(block.returned)
    block.returned.append(tensor)
    if index < len(block.made):
        target = block.made[index]
        if target in block.outer.untyped:
            target.dtype, target.dims = tensor.dtype, tensor.dims
            block.outer.typed(target)
        elif target.dims != tensor.dims:
            target.dims = None


def _finish(node: ir.Node, names: tuple[str, ...], blocks: tuple[BlockGraph, ...]) -> None:
    for name, block in zip(names, blocks):
        if not block.returned:
            raise OnnxExporterError(f"{name} of {node.op_type} has no outputs; add them with add_output")
        node.attributes[name] = ir.AttrGraph(name, block.graph_of(name))
