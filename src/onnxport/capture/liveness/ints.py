"""Ints that are taken out of tensors, as the tracer writes them down."""

from __future__ import annotations

from ...program import Block, Node, Value
from .loop_nodes import leaves_of

_TAKEN = ("aten::Int.Tensor", "aten::ScalarImplicit")


def ints_at_uses(block: Block) -> Block:
    """The block with each int that is taken out of a tensor taken where it is used.

    The tracer takes all that there will ever be of a tensor behind it: as many as the iterations to come need, or as the way
    that an `if` goes.
    """
    written = {id(leaf) for node in block.nodes if _writes(node) for leaf in leaves_of(node.inputs[:1])}
    taken = {node.outputs[0]: node for node in block.nodes if node.op in _TAKEN and id(node.inputs[0]) not in written}
    if not taken:
        return block
    kept = set(leaves_of(block.returns)).union(*(b.reads() for node in block.nodes for b in node.blocks))
    nodes: list[Node] = []
    for node in block.nodes:
        if node.op in _TAKEN and node.outputs[0] in taken and node.outputs[0] not in kept:
            continue
        instead: dict[Value, Value] = {}
        for leaf in leaves_of(node.inputs):
            if leaf.__class__ is Value and leaf in taken and leaf not in kept:
                made = instead[leaf] = Value(leaf.name, leaf.type)
                nodes.append(taken[leaf].with_inputs(taken[leaf].inputs))
                nodes[-1].outputs = [made]
        nodes += Block(nodes=[node]).with_values(instead).nodes if instead else [node]
    return Block(block.parameters, nodes, block.returns)


def _writes(node: Node) -> bool:
    return node.schema is not None and node.schema.mutates
