"""Chains of layout operators become the fewest that do the same.

    Reshape(Transpose(Reshape(x)))             ->  Transpose(Reshape(x)), where the outer one only splits axes
    Squeeze(Transpose(Unsqueeze(x)))           ->  Transpose(x)
    Transpose(Reshape(Transpose(x)))           ->  Reshape(x), where the axes end in the order that they had

Rules:
1. What is between two operators of a chain goes nowhere else, and isn't an output of the graph.
2. A chain becomes shorter, or as long with fewer of them Transposes, which copy.
3. Sizes are constants: nothing is computed at run time that wasn't.
"""

from __future__ import annotations

from collections.abc import Sequence

import onnx_ir as ir

from .arrangement import Move, Transpose
from .layout import LAYOUT, Graph

Cost = tuple[int, int]


def shorten_chains(graph: Graph) -> bool:
    """Rewrite in place; whether anything was."""
    changed = False
    for node in [n for n in graph.graph if n.op_type in LAYOUT]:
        if graph.move(node) is None or _goes_on(graph, node):
            continue
        chain = graph.upwards(node)
        while len(chain) > 1:
            if _shorten(graph, chain):
                changed = True
                break
            chain = chain[1:]
    return changed


def _goes_on(graph: Graph, node: ir.Node) -> bool:
    user = graph.only_user(node.outputs[0])
    return user is not None and graph.move(user) is not None and user.inputs[0] is node.outputs[0]


def _shorten(graph: Graph, chain: Sequence[ir.Node]) -> bool:
    source, moves = chain[0].inputs[0], [move for node in chain if (move := graph.move(node)) is not None]
    sizes = graph.sizes(source)
    plan = None if sizes is None else graph.plan(sizes, moves)
    if source is None or plan is None or not cost(plan) < cost(moves):
        return False
    if not plan and chain[-1].outputs[0].is_graph_output():  # its name is kept by an operator of its own
        return False
    graph.replace(chain, plan, source)
    return True


def cost(moves: Sequence[Move]) -> Cost:
    """How many operators, and how many of them copy."""
    return len(moves), sum(isinstance(move, Transpose) for move in moves)


__all__ = ["cost", "shorten_chains"]
