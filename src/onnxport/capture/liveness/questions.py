"""What a recording asked of sizes, as nodes among those that its results need."""

from __future__ import annotations

import dataclasses
from typing import Any

from ...program import Block, Node, Operand, Program, Value
from ..graph import TAKES_SIZES
from ..watch.readings import is_pure, operands, values
from .dead import drop_dead

ASK = "prim::Ask"


@dataclasses.dataclass(frozen=True, slots=True)
class Question:
    """A bool that Python took of the sizes of tensors: how it is computed of them, as text, and the line.

    Attributes:
        nodes: those that compute it; of the last one it is the result.
        answer: what it was.
    """

    text: str
    place: str
    nodes: list[Node] = dataclasses.field(compare=False)
    answer: bool = dataclasses.field(compare=False)


def with_questions(program: Program) -> Block:
    """The nodes of a recording without what is computed for nothing, and one for each bool that was taken of sizes where it was."""
    block = program.block.with_values({})
    makers = {output: node for node in block.nodes for output in node.outputs}
    named = {value.name: value for value in makers}
    places = {id(node): place for place, node in enumerate(block.nodes)}
    asks: list[tuple[int, Node]] = []
    for number, asked in program.conditions.taken:
        value = named.get(asked.debugName())
        chain = _Chain(makers) if value is not None and isinstance(number.content, bool) else None
        if chain is not None and value is not None and (text := chain.of(value)):
            question = Question(text, number.place, chain.nodes, number.content)
            node = Node(ASK, list(chain.leaves), [Value(f"{value.name}.asked")], attributes={"question": question})
            asks.append((places[id(makers[value])], node))
    left = dataclasses.replace(program, block=Block(block.parameters, list(block.nodes), block.returns))
    drop_dead(left)
    ordered = [(places[id(node)], 0, node) for node in _needed(left.block)]
    ordered += [(place, 1, node) for place, node in asks]
    ordered.sort(key=lambda found: found[:2])
    return Block(block.parameters, [node for _, _, node in ordered], left.block.returns)


def _is_pure(node: Node) -> bool:
    return is_pure(node) or node.op in ("prim::NumToTensor", "prim::ListConstruct")


def _needed(block: Block) -> list[Node]:
    """The nodes whose results are used, or that do something else."""
    used = set(values(block.returns))
    found = []
    for node in reversed(block.nodes):
        if not _is_pure(node) or not used.isdisjoint(node.outputs):
            found.append(node)
            used.update(operands(node))
    return found[::-1]


class _Chain:
    """The nodes that compute a number of the sizes of tensors."""

    def __init__(self, makers: dict[Value, Node]) -> None:
        self._makers = makers
        self.nodes: list[Node] = []
        self.leaves: dict[Value, int] = {}
        self._texts: dict[Value, str] = {}

    def of(self, value: Value) -> str:
        """Text that is the same for the same computation of other tensors; none if it isn't one of sizes alone."""
        if value in self._texts:
            return self._texts[value]
        node = self._makers.get(value)
        if node is None or node.blocks or len(node.outputs) != 1 or not _is_pure(node):
            return ""
        if node.op.partition(".")[0] in TAKES_SIZES:
            tensor = node.inputs[0]
            parts = [str(self.leaves.setdefault(tensor, len(self.leaves))), *map(self._part, node.inputs[1:])]
        else:
            parts = [self._part(x) for x in node.inputs]
        if not all(parts):
            return ""
        self.nodes.append(node)
        self._texts[value] = f"{node.op}({', '.join(parts)})"
        return self._texts[value]

    def _part(self, operand: Operand) -> str:
        if isinstance(operand, Value):
            known = operand.tensor_type
            may_be = known is None or known.sizes is None or len(known.sizes) == 0
            return self.of(operand) if may_be else ""
        if isinstance(operand, list):
            parts = list(map(self._part, operand))
            return f"[{', '.join(parts)}]" if all(parts) else ""
        return repr(operand)


def as_asked(block: Block) -> Block:
    """The block with what is asked computed where it is, as far as it is needed."""
    needed = _read(block)
    nodes: list[Node] = []
    for node in block.nodes:
        if node.op != ASK:
            node.blocks = tuple(map(as_asked, node.blocks))
            nodes.append(node)
        elif node.outputs[0] in needed:
            nodes += _computing(node)
    return Block(block.parameters, nodes, block.returns)


def _read(block: Block) -> set[Value]:
    return {x for node in block.walk() for x in operands(node) if node.op != ASK} | {
        x for x in block.returns if isinstance(x, Value)
    }


def _computing(node: Node) -> list[Node]:
    """The nodes of a question, on other tensors."""
    question: Any = node.attributes["question"]
    leaves = list(dict.fromkeys(n.inputs[0] for n in question.nodes if n.op.partition(".")[0] in TAKES_SIZES))
    instead: dict[Value, Operand] = dict(zip(leaves, node.inputs))
    made: list[Node] = []
    for asked in question.nodes:
        (copy,) = Block(nodes=[asked]).with_values(instead).nodes
        last = asked is question.nodes[-1]
        copy.outputs = [node.outputs[0] if last else Value(x.name, x.type, x.tensor_type) for x in asked.outputs]
        instead.update(zip(asked.outputs, copy.outputs))
        made.append(copy)
    return made
