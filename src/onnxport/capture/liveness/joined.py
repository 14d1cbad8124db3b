"""Two recordings as the branches of one `prim::If`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...dims import Size
from ...program import Block, Location, Node, Operand, TensorType, Value
from ...program.schema import parse
from ..watch.readings import operands
from .alike import CommonEnd, common_start

_BOOL = parse("aten::Bool.Tensor(Tensor a) -> bool")


def joined(alike: Block, others: Block, asked: list[Node], *, answer: bool, where: Location) -> Block:
    """A block that goes on as `alike` where what is asked has an answer, else as `others`.

    Args:
        asked: the nodes that compute it; see `leading_to`.
    """
    count, same = common_start(alike, others)
    start = alike.nodes[:count]
    number = _computed(asked, start)
    start.append(as_bool(number, where))
    (truth,) = start[-1].outputs
    rest = Block(nodes=alike.nodes[count:], returns=alike.returns)
    other = Block(nodes=others.nodes[count:], returns=others.returns).with_values(same)
    branches = _branches(truth, (rest, other) if answer else (other, rest), where)
    return Block(alike.parameters, [*start, *branches.nodes], branches.returns)


def as_bool(number: Value, where: Location) -> Node:
    """What a number says, as Python takes it in an `if`."""
    return Node(_BOOL.full_name, [number], [Value(f"{number.name}.answer", "bool")], schema=_BOOL, location=where)


def leading_to(block: Block, name: str, known: Mapping[str, Size]) -> list[Node]:
    """The nodes that compute a value of this name, of sizes that are known as expressions; none where that isn't plain."""
    wanted: set[Value] = set()
    found: list[Node] = []
    given: dict[Value, Any] = {}
    for node in reversed(block.nodes):
        if wanted.isdisjoint(node.outputs) and all(value.name != name for value in node.outputs):
            continue
        if node.blocks or len(node.outputs) != 1 or (node.schema is not None and node.schema.mutates):
            return []
        if node.outputs[0].name in known:
            given[node.outputs[0]] = known[node.outputs[0].name]
            continue
        found.append(node)
        wanted.update(operands(node))
    return Block(nodes=found[::-1]).with_values(given).nodes


def _computed(nodes: list[Node], start: list[Node]) -> Value:
    """What the last of some nodes gives; those that aren't among the first of a block are added to them."""
    there = {output for node in start for output in node.outputs}
    made: dict[Value, Value] = {}
    for node in nodes:
        if there.isdisjoint(node.outputs):
            (copy,) = Block(nodes=[node]).with_values(made).nodes
            copy.outputs = [Value(output.name, output.type) for output in node.outputs]
            made.update(zip(node.outputs, copy.outputs))
            start.append(copy)
    (asked,) = nodes[-1].outputs
    return made.get(asked, asked)


def _branches(answer: Value, ways: tuple[Block, Block], where: Location) -> Block:
    """What goes one of two ways, and on with what is at the end of both."""
    end = CommonEnd(*ways)
    crossing: list[tuple[Any, Any]] = list(zip(*(way.returns for way in ways)))
    if end.has_returns:
        crossing = [(x, y) for x, y in end.pairs.items() if x is not y]
    made = [joining(x) for x, _ in crossing]
    bodies = [
        Block(nodes=way.nodes[: len(way.nodes) - end.count], returns=[pair[i] for pair in crossing])
        for i, way in enumerate(ways)
    ]
    branched = Node("prim::If", [answer], made, blocks=tuple(bodies), location=where)
    if not end.has_returns:
        return Block(nodes=[branched], returns=list(made))
    first = ways[0]
    behind = Block(nodes=first.nodes[len(first.nodes) - end.count :], returns=first.returns)
    behind = behind.with_values(dict(zip((x for x, _ in crossing), made)))
    return Block(nodes=[branched, *behind.nodes], returns=behind.returns)


def joining(operand: Operand) -> Value:
    """A value for what arrives from one of two branches: a tensor of the same type and number of axes in both."""
    if not isinstance(operand, Value):
        return Value("joined", "")
    known = operand.tensor_type
    sizes = None if known is None or known.sizes is None else (None,) * len(known.sizes)
    return Value(operand.name, operand.type, None if known is None else TensorType(known.dtype, sizes))
