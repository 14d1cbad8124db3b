"""The last touches to a list of nodes: what nobody uses goes, the rest gets names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import onnx_ir as ir

# Ops whose outputs beyond the first can't be left out.
NEED_ALL_OUTPUTS = frozenset({"DynamicQuantizeLinear", "If", "Loop", "Split", "TopK"})


def prune(nodes: Sequence[ir.Node], outputs: Sequence[ir.Value]) -> list[ir.Node]:
    """The nodes that the outputs need, in order. Uses of values are counted down on the way."""
    wanted = set(outputs)
    kept = []
    for node in reversed(nodes):
        if any(value in wanted or value.uses() for value in node.outputs):
            kept.append(node)
        else:
            drop(node)
    kept.reverse()
    return kept


def drop(node: ir.Node) -> None:
    """Take a node's inputs away, those of the nodes in its bodies too."""
    for i in range(len(node.inputs)):
        node.replace_input_with(i, None)
    for attribute in node.attributes.values():
        if isinstance(attribute, ir.Attr) and attribute.type == ir.AttributeType.GRAPH:
            for inner in attribute.as_graph():
                drop(inner)


def name_everything(
    nodes: Sequence[ir.Node],
    inputs: Sequence[ir.Value],
    outputs: Sequence[tuple[ir.Value, str]],
    initializers: Sequence[ir.Value],
    origins: Mapping[ir.Node, Any],
) -> None:
    """Name every node and value, bodies included; names that were asked for come first.

    A node is named after the module that it comes from: `/encoder.layers.0/MatMul`.
    """
    names = _Names()
    for value in inputs:
        names.take(value.name or "")
    for value, name in outputs:
        value.name = names.take(name)
    for value in initializers:
        value.name = names.new(value.name or "constant", first=value.name is not None)
        if value.const_value is not None:
            value.const_value.name = value.name
    _name_nodes(nodes, names, origins)


def _name_nodes(nodes: Sequence[ir.Node], names: _Names, origins: Mapping[ir.Node, Any]) -> None:
    for node in nodes:
        origin = origins.get(node)
        scope = "" if origin is None else origin.scope
        node.name = names.new(f"/{scope}/{node.op_type}" if scope else f"/{node.op_type}", first=True)
        for i, value in enumerate(node.outputs):
            needed = i == 0 or node.op_type in NEED_ALL_OUTPUTS or value.uses() or value.is_graph_output()
            if value.name is None and needed:
                value.name = names.new(f"{node.name}_output_{i}", first=True)
            elif value.name is None:
                value.name = ""
        for attribute in node.attributes.values():
            if isinstance(attribute, ir.Attr) and attribute.type == ir.AttributeType.GRAPH:
                body = attribute.as_graph()
                for value in body.inputs:
                    value.name = names.new(value.name or "carried", first=value.name is not None)
                for inner in body:
                    for value in inner.outputs:
                        value.name = None  # a graph names values on its own, uniquely in itself only
                _name_nodes(list(body), names, origins)


class _Names:
    """Names given out so far."""

    def __init__(self) -> None:
        self.taken: set[str] = set()
        self.counts: dict[str, int] = {}

    def take(self, name: str) -> str:
        self.taken.add(name)
        return name

    def new(self, name: str, *, first: bool) -> str:
        """This name, or with the first free number, 1 for the second of it; always numbered, from 0, if not `first`."""
        if first and name not in self.taken:
            return self.take(name)
        count = self.counts.get(name, int(first))
        while f"{name}_{count}" in self.taken:
            count += 1
        self.counts[name] = count + 1
        return self.take(f"{name}_{count}")
