"""Which operators of a model have no conversion, without exporting it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..errors import LoweringError, OnnxExporterError
from ..lower import registry
from ..lower.builder import Builder
from ..lower.evaluator import MISSING, builtin
from ..lower.model import lower
from ..lower.registry import Lowering
from ..options import Options
from ..program import Block, Node, Program
from . import registration


def unconvertible(program: Program, options: Options, opset: int) -> list[str]:
    """`ns::op` for each node that can't be converted at this opset; once for each node."""
    g = Builder(opset)
    found = [node for node in _nodes(program.block) if not _is_convertible(node, g)]
    failed = _failing(program, options, opset, set(found))
    return [node.op.partition(".")[0] for node in [*found, *failed]]


def _nodes(block: Block) -> Iterator[Node]:
    """All nodes that would be converted: not those behind a `symbolic`."""
    for node in block.nodes:
        yield node
        function = node.attributes.get("function")
        if not hasattr(getattr(function, "__self__", function), "symbolic"):
            for inner in node.blocks:
                yield from _nodes(inner)


def _is_convertible(node: Node, g: Builder) -> bool:
    if registry.find_evaluation(node.op) is not None or registration.resolve(node, g) is not None:
        return True
    return builtin(node, ()) is not None or registry.find_complex(node.op) is not None


def _failing(program: Program, options: Options, opset: int, known: set[Node]) -> list[Node]:
    """Nodes whose conversion refuses: at this opset, or as they are used. Found by lowering all that can be."""
    failed: list[Node] = []

    def resolve(node: Node, g: Builder) -> Lowering | None:
        user = registration.resolve(node, g)

        def attempt(g: Builder, *arguments: Any) -> Any:
            convert = user or builtin(node, arguments)
            try:
                if convert is not None:
                    return convert(g, *arguments)
            except OnnxExporterError:
                failed.append(node)
            return MISSING if len(node.outputs) == 1 else [MISSING] * len(node.outputs)

        return attempt if user is not None or builtin(node, ()) is not None else None

    try:
        lower(program, options, opset, resolve)
    except (OnnxExporterError, LoweringError):
        pass  # the nodes are known by now; what is missing is asked for, not an error here
    return [node for node in failed if node not in known]
