"""Puts what is computed in the place of constants."""

from __future__ import annotations

from typing import Any

import torch

from ...program import Node, Value
from ...program.ir import Block
from ...program.schema import parse
from .comparison import Difference, Path
from .expressions import Quotient

# Nodes to be put before another one of a block.
Made = list[tuple[Block, Node, list[Node]]]


def divide(difference: Difference, quotient: Quotient, made: Made) -> None:
    """Put a float that is computed of a size in place of the constant."""
    site = difference.site
    schema = parse("aten::div.int(int a, int b) -> float")
    value = Value(f"{quotient.label}_{len(made)}", "float")
    node = Node(
        schema.full_name, list(quotient.operands()), [value], schema=schema, scope=site.node.scope,
        location=site.node.location,
    )  # fmt: skip
    nodes = [node]
    if quotient.root:
        schema = parse("aten::sqrt.float(float a) -> float")
        root = Value(f"{value.name}_root", "float")
        nodes.append(Node(schema.full_name, [value], [root], schema=schema, scope=node.scope, location=node.location))
        value = root
    if isinstance(difference.mine, torch.Tensor):
        tensor = Value(f"{value.name}_tensor", "Tensor")
        nodes.append(Node("prim::NumToTensor", [value], [tensor], scope=node.scope, location=node.location))
        value = tensor
    made.append((site.block, site.node, nodes))
    _put(site.node, difference.path, value)


def put_computed(difference: Difference, nodes: list[Node], new: Any, name: str, made: Made) -> None:
    """Put what nodes compute in place of the constant; in place of a tensor, a tensor of that name."""
    site, path = difference.site, difference.path
    if isinstance(difference.mine, torch.Tensor):
        value = Value(name, "Tensor")
        nodes.append(Node("prim::NumToTensor", [new], [value], scope=site.node.scope, location=site.node.location))
        new = value
    if not path:
        nodes.append(_repeat(site.node, new))
    if nodes:
        made.append((site.block, site.node, nodes))
    if path:
        _put(site.node, path, new)


def _repeat(node: Node, count: Any) -> Node:
    """Turns a list of one value, many times, into `[value] * count`; the node that makes the list `[value]`."""
    element = node.inputs[0]
    one = Value(f"{node.outputs[0].name}_one", node.outputs[0].type)
    made = Node(node.op, [element], [one], scope=node.scope, location=node.location)
    node.schema = parse("aten::mul.left_t(t[] l, int n) -> t[]")
    node.op, node.inputs = node.schema.full_name, [one, count]
    return made


def _put(node: Node, path: Path, new: Any) -> None:
    if len(path) > 1:
        node.inputs[path[0]] = _copied(node.inputs[path[0]])
    holder: Any = node.inputs
    for index in path[:-1]:
        holder = holder[index]
    holder[path[-1]] = new


def _copied(value: Any) -> Any:
    return [_copied(v) for v in value] if isinstance(value, list) else value
