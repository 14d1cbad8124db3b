"""`torch.autograd.Function`: by its static `symbolic`, or without one by what its `forward` did."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import torch

from .. import session
from ..lower.evaluator import MISSING, Evaluator
from ..lower.registry import evaluation
from ..program import Node
from .registration import registered, translating

if TYPE_CHECKING:
    from .graph import Graph


@evaluation("prim::PythonOp")
def python_op(evaluator: Evaluator, node: Node) -> None:
    """`F.apply(...)`. A `symbolic` gets tensors as values and all other arguments as they were given."""
    symbolic = _symbolic(node, evaluator.g.opset)
    if symbolic is not None:
        held = [evaluator.operand(x) for x in node.inputs]
        contents = [evaluator.resolved(x) for x in held]
        if any(x is MISSING for x in contents):
            return evaluator.bind(node, [MISSING] * len(node.outputs))
        from .graph import Graph  # what most exports do without

        graph = Graph(evaluator.g, node)
        with translating(node):
            returned = symbolic(graph, *_arguments(node, graph, contents))
        results = graph.results(returned, node)
        evaluator.bind(node, [evaluator.hold(r) for r in ([results] if len(node.outputs) == 1 else results)])
    elif node.blocks and _may_inline():
        evaluator.bind(node, _inlined(evaluator, node))
    else:
        evaluator.missing.setdefault(_description(node), []).append(node)
        evaluator.bind(node, [MISSING] * len(node.outputs))


def _description(node: Node) -> str:
    """What an error calls a Python function: no operator, so that no name can be registered for it."""
    function, name = node.attributes["function"], node.attributes["name"]
    owner = getattr(function, "__self__", function)
    if isinstance(owner, type) and issubclass(owner, torch.autograd.Function):
        return f"{name} (autograd.Function without symbolic)"
    return f"{name} (Python code, which a script with @torch.jit.ignore calls)"


def _may_inline() -> bool:
    asked = session.current()
    return asked is None or asked.options.autograd_inlining


def _inlined(evaluator: Evaluator, node: Node) -> list[Any]:
    """What the recorded forward gives.

    What it writes it writes to copies: the tracer records these writes once more after the node, on the originals. An
    argument that is returned is itself, so that those writes are seen in the result, too.
    """
    block = node.blocks[0]
    held = [evaluator.operand(given) for given in node.inputs]
    copies = [evaluator.hold(evaluator.resolved(x)) for x in held]
    evaluator.env.update(zip(block.parameters, copies))
    returned = evaluator.run(block)
    originals = {id(copy): x for copy, x in zip(copies, held)}
    results = [originals.get(id(r), r) for r in returned]
    return [tuple(results)] if node.attributes["is_tuple"] else results


def _symbolic(node: Node, opset: int) -> Any:
    user = registered("prim::PythonOp", opset)
    if user is not None:
        return functools.partial(user, name=node.attributes["name"])
    function = node.attributes["function"]
    return getattr(getattr(function, "__self__", function), "symbolic", None)


def _arguments(node: Node, graph: Graph, contents: list[Any]) -> list[Any]:
    """Tensors and Python arguments in the order of the call: "d" marks the former, "c" the latter."""
    tensors, constants = iter(contents), iter(node.attributes["arguments"])
    return [graph.wrap(next(tensors)) if c == "d" else next(constants) for c in node.attributes["convention"]]
