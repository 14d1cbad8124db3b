"""Lists of tuples in scripts as one list per part: `hypotheses.append((score, tokens))` appends to two.

A list of unknown length has elements of one kind; parts of tuples are of different ones. All lists of a program are taken
apart, or none, where one of them is used in a way that isn't known here.
"""

from __future__ import annotations

from typing import Any

from .ir import Block, Node, Operand, Program, Value

# With the list as the first operand; what they are given or give of elements is a tuple.
_ELEMENTWISE = frozenset(
    f"aten::{name}.t"
    for name in ("append", "__getitem__", "pop", "insert", "_set_item", "len", "clear", "reverse", "slice", "copy", "list", "add",
                 "add_", "extend")
)  # fmt: skip


def split_tuple_lists(program: Program) -> None:
    """Take all lists of tuples apart, in place; of tuples in tuples, too."""
    try:
        while (splitter := _Splitter(program)).parts:
            program.block = splitter.block(program.block)
    except _KeptError:
        return


class _KeptError(Exception):
    """A list is used in a way that isn't known here."""


class _Splitter:
    def __init__(self, program: Program) -> None:
        self.parts: dict[Value, list[Value]] = {}
        self.tuples: dict[Value, list[Operand]] = {}  # what they were made of
        blocks = [program.block, *(block for node in program.block.walk() for block in node.blocks)]
        nodes = [node for b in blocks for node in b.nodes]
        made = {n.outputs[0].type: len(n.inputs) for n in nodes if n.op == "prim::TupleConstruct"}
        self.named = {kind: count for kind, count in made.items() if kind}
        for value in (*(v for b in blocks for v in b.parameters), *(v for node in nodes for v in node.outputs)):
            if value.type.startswith("List[") and (types := self._types(value.type[len("List[") : -1])):
                self.parts[value] = [Value(f"{value.name}.{i}", f"List[{t}]") for i, t in enumerate(types)]
        if self._holds([*program.block.parameters, *program.block.returns]):
            raise _KeptError

    def block(self, block: Block) -> Block:
        made = Block(self._spread(block.parameters), [], [])
        for node in block.nodes:
            made.nodes += self._node(node)
        made.returns = self._spread(block.returns)
        return made

    def _spread(self, operands: list[Any]) -> list[Any]:
        """Operands with each list as its parts."""
        return [part for x in operands for part in (self.parts.get(x, [x]) if isinstance(x, Value) else [x])]

    def _node(self, node: Node) -> list[Node]:
        if node.op == "prim::TupleConstruct":
            self.tuples[node.outputs[0]] = node.inputs
        lists = self._spread(node.inputs) != node.inputs or any(x in self.parts for x in node.outputs)
        if node.blocks:
            blocks = tuple(map(self.block, node.blocks))
            return [_like(node, self._spread(node.inputs), self._spread(node.outputs), blocks=blocks)]
        if not lists:
            if any(isinstance(x, (list, tuple, dict)) and self._holds(x) for x in node.inputs):
                raise _KeptError
            return [node]
        if node.op == "prim::Uninitialized":
            return [_like(node, [], [part]) for part in self.parts[node.outputs[0]]]
        if node.op == "prim::ListConstruct":
            if node.outputs[0] not in self.parts:
                raise _KeptError
            made = self.parts[node.outputs[0]]
            nodes, elements = self._taken_apart(node, node.inputs, len(made))
            return [*nodes, *(_like(node, [*row], [part]) for row, part in zip(elements, made))]
        if node.op not in _ELEMENTWISE or not self._holds(node.inputs[0]):
            raise _KeptError
        return self._elementwise(node)

    def _elementwise(self, node: Node) -> list[Node]:
        """The same of each part: of a list of the operands, and of a tuple."""
        count = len(self.parts[node.inputs[0]])
        if node.op == "aten::len.t":
            return [_like(node, [self.parts[node.inputs[0]][0]], node.outputs)]
        nodes: list[Node] = []
        operands: list[list[Operand]] = []
        for i, operand in enumerate(node.inputs):
            if isinstance(operand, Value) and operand in self.parts:
                operands.append([*self.parts[operand]])
            elif isinstance(operand, tuple) or (isinstance(operand, Value) and self._types(operand.type)):
                made, elements = self._taken_apart(node, [operand], count)
                nodes += made
                operands.append([element for (element,) in elements])
            elif i and (not isinstance(operand, Value) or operand.type == "int"):  # a place in the list
                operands.append([operand] * count)
            else:
                raise _KeptError
        given = node.outputs[0] if node.outputs else None
        lists = self.parts[node.inputs[0]]
        outputs = [Value(f"{given.name}.{i}", x.type[len("List[") : -1]) for i, x in enumerate(lists)] if given else []
        if given is not None and given in self.parts:
            outputs = self.parts[given]
        nodes += [_like(node, [x[i] for x in operands], outputs[i : i + 1]) for i in range(count)]
        if given is not None and given not in self.parts:
            nodes.append(
                Node("prim::TupleConstruct", [*outputs], [given], scope=node.scope, location=lambda: node.location)
            )
            self.tuples[given] = [*outputs]
        return nodes

    def _taken_apart(
        self, node: Node, tuples: list[Operand], count: int
    ) -> tuple[list[Node], list[tuple[Operand, ...]]]:
        """The parts of tuples, and nodes that make them."""
        nodes, rows = [], []  # type: list[Node], list[list[Operand]]
        for x in tuples:
            if isinstance(x, tuple):  # of constants
                rows.append([*x])
            elif isinstance(x, Value) and x in self.tuples:
                rows.append(self.tuples[x])
            elif isinstance(x, Value) and (types := self._types(x.type)):
                made = [Value(f"{x.name}.{i}", t) for i, t in enumerate(types)]
                nodes.append(Node("prim::TupleUnpack", [x], made, scope=node.scope, location=lambda: node.location))
                rows.append([*made])
            else:
                raise _KeptError
        if any(len(row) != count for row in rows):
            raise _KeptError
        return nodes, list(zip(*rows)) if rows else [()] * count

    def _holds(self, operand: Any) -> bool:
        if isinstance(operand, dict):
            return self._holds([*operand.values()])
        if isinstance(operand, (list, tuple)):
            return any(map(self._holds, operand))
        return isinstance(operand, Value) and operand in self.parts

    def _types(self, kind: str) -> list[str]:
        """The types of the parts of a tuple, "" where they aren't known; none of what is no tuple.

        `Tuple[int, Dict[str, int]]` has `int` and `Dict[str, int]`; named ones are known from where they are made.
        """
        if not kind.startswith("Tuple["):
            return [""] * self.named.get(kind, 0)
        found, depth = [""], 0
        for letter in kind[len("Tuple[") : -1]:
            depth += (letter == "[") - (letter == "]")
            if letter == "," and not depth:
                found.append("")
            else:
                found[-1] += letter
        return [part.strip() for part in found]


def _like(node: Node, inputs: list[Operand], outputs: list[Value], blocks: tuple[Block, ...] = ()) -> Node:
    return Node(
        node.op, inputs, outputs, schema=node.schema, attributes=node.attributes, blocks=blocks, scope=node.scope,
        location=lambda: node.location,
    )  # fmt: skip
