"""An Expand goes where the op that uses it broadcasts by itself.

Before:  y = Div(x, Expand(n, shape))       with x of the sizes that n is expanded to
After:   y = Div(x, n)

Rules:
1. All users are ops of two or three operands that broadcast, and one of the other operands has the sizes of the Expand,
   or more, so that the result has the same sizes without it.
2. The Expand is not an output of the graph.
"""

from __future__ import annotations

import onnx_ir as ir

from .graph import Index, bypass, in_order, sizes

BROADCASTING = frozenset(
    {"Add", "And", "Div", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Mod", "Mul", "Or", "Pow", "Sub"}
    | {"Where", "Xor"}
)


def drop_expands(index: Index) -> bool:
    """Rewrite in place; whether anything was."""
    changed = [_drop(node) for node in in_order(index, ["Expand"])]
    return any(changed)


def _drop(node: ir.Node) -> bool:
    result, source = node.outputs[0], node.inputs[0]
    target = sizes(result)
    if target is None or source is None or result.is_graph_output():
        return False
    users = [use.node for use in result.uses()]
    return all(_broadcasts(user, result, target) for user in users) and bypass(node, source)


def _broadcasts(user: ir.Node, result: ir.Value, target: tuple[int | str, ...]) -> bool:
    if user.domain or user.op_type not in BROADCASTING:
        return False
    others = [sizes(value) for value in user.inputs if value is not result]
    return any(other is not None and other[len(other) - len(target) :] == target for other in others)
