"""Which conversion a node gets: the user's, the built-in one, or none by the `operator_export_type` asked for."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from .. import options
from ..errors import OnnxExporterError
from ..lower import evaluator, registry
from ..lower.builder import Builder
from ..lower.evaluator import Resolver
from ..lower.registry import Lowering
from ..options import OperatorExportTypes
from ..program import Node
from . import registration


def resolver(kind: OperatorExportTypes) -> Resolver | None:
    """What the evaluator asks before it looks at the built-in lowerings; None if there is nothing to ask."""
    if kind is not OperatorExportTypes.ONNX:
        return functools.partial(_resolve, kind)
    return None if registration.is_empty() else registration.resolve


def stays_whole(kind: OperatorExportTypes) -> Callable[[str], bool]:
    """Which operators are to be captured as they are: they have a conversion, or go into the graph under their names."""
    return lambda name: kind is OperatorExportTypes.ONNX_FALLTHROUGH or _is_converted(name)


def _is_converted(name: str) -> bool:
    """Whether an operator, or an overload of it, has a conversion, or a symbolic function is registered for it."""
    from .. import ops  # noqa: F401  (fills the registry)

    base = name.partition(".")[0]
    if any(registration.registered(n, options.newest_opset()) for n in (name, base)):
        return True
    return any(n.partition(".")[0] == base for n in registry.names()) or registry.find_evaluation(name) is not None


def _resolve(kind: OperatorExportTypes, node: Node, g: Builder) -> Lowering | None:
    user = registration.resolve(node, g)
    namespace = node.op.partition("::")[0]
    if namespace == "prim" or not _gives_tensors(node):
        return user
    is_aten = namespace == "aten"
    if kind is OperatorExportTypes.ONNX_ATEN and is_aten:
        return user or functools.partial(_as_aten, node)
    if kind is OperatorExportTypes.ONNX_FALLTHROUGH:
        return functools.partial(_attempt, node, user, functools.partial(_as_it_is, node))
    if kind is OperatorExportTypes.ONNX_ATEN_FALLBACK and is_aten:
        return functools.partial(_attempt, node, user, functools.partial(_as_aten, node))
    return user


def _attempt(node: Node, user: Lowering | None, fallback: Lowering, g: Builder, *arguments: Any) -> Any:
    """The conversion, or the fallback if there is none or it can't be done. Nodes made in vain are pruned later."""
    convert = user or evaluator.builtin(node, arguments)
    if convert is None:
        return fallback(g, *arguments)
    try:
        return convert(g, *arguments)
    except OnnxExporterError:
        return fallback(g, *arguments)


def _as_aten(node: Node, g: Builder, *arguments: Any) -> Any:
    """`org.pytorch.aten::ATen` with the operator's name: the runtime is to ask PyTorch for it."""
    from .graph import ATEN

    attributes = {"operator": _functional_name(node), "overload_name": node.schema.overload if node.schema else ""}
    return _custom(node, g, ATEN, "ATen", arguments, attributes)


def _as_it_is(node: Node, g: Builder, *arguments: Any) -> Any:
    """The operator itself, in its own domain."""
    return _custom(node, g, node.op.partition("::")[0], _functional_name(node), arguments, {})


def _custom(
    node: Node, g: Builder, domain: str, op_type: str, arguments: Sequence[Any], attributes: dict[str, Any]
) -> Any:
    """Constants are inputs as tensors are, but strings, which become attributes named as in the schema."""
    from .graph import Graph  # what most exports do without

    graph = Graph(g, node)
    names = [a.name for a in node.schema.arguments] if node.schema else []
    inputs: list[Any] = []
    for i, argument in enumerate(arguments):
        if isinstance(argument, str):
            attributes[names[i] if i < len(names) else f"argument_{i}"] = argument
            inputs.append(None)
        else:
            inputs.append(argument)
    results = graph.custom(domain, op_type, inputs, attributes, len(node.outputs))
    return graph.results(results, node)


def _functional_name(node: Node) -> str:
    name = node.op.partition("::")[2].partition(".")[0]
    mutates = node.schema is not None and node.schema.mutates
    return name[:-1] if mutates and name.endswith("_") and not name.endswith("__") else name


def _gives_tensors(node: Node) -> bool:
    """Whether a node of any domain could give the results: only tensors."""
    if node.schema is None:
        return bool(node.outputs) and all(v.type == "Tensor" for v in node.outputs)
    return bool(node.schema.returns) and all(r.type == "Tensor" for r in node.schema.returns)
