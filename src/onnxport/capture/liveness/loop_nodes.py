"""The nodes of a loop that repeated nodes are made (see `rolled`)."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ...program import Block, Node, Operand, Value
from ...program.schema import parse
from .read_lists import Read

if TYPE_CHECKING:
    from .rolled import Rolling

_MUL = parse("aten::mul.int(int a, int b) -> int")
_ADD = parse("aten::add.int(int a, int b) -> int")
GET = parse("aten::__getitem__.t(t[](a) list, int idx) -> t(*)")
_INT = parse("aten::Int.Tensor(Tensor a) -> int")
_LEN = parse("aten::len.t(t[] a) -> int")
_APPEND = parse("aten::append.t(t[](a!) self, t(c -> *) el) -> t[](a!)")
_REVERSE = parse("aten::reverse.t(t[](a!) self) -> ()")


@dataclasses.dataclass(frozen=True, slots=True)
class Run:
    """`count` iterations of `period` nodes, from node `start` on."""

    start: int
    period: int
    count: int

    @property
    def end(self) -> int:
        return self.start + self.period * self.count

    def node(self, iteration: int, place: int) -> int:
        return self.start + iteration * self.period + place


@dataclasses.dataclass(frozen=True, slots=True)
class Local:
    """A result of the node at `place` in the same iteration, or of the one before."""

    place: int
    output: int


@dataclasses.dataclass(frozen=True, slots=True)
class Carried:
    source: Local
    first: Value


@dataclasses.dataclass(frozen=True, slots=True)
class Index:
    """`step * iteration + first`; of a list that was taken apart, or read of a tensor, the element there."""

    first: int
    step: int
    unpacked: Node | None = None
    read: Read | None = None
    as_tensor: bool = False
    varies: bool = dataclasses.field(default=True, compare=False)  # whether it does in the example

    @property
    def length(self) -> int:
        """Of the list that was taken apart."""
        return len(self.unpacked.outputs) if self.unpacked is not None else 0


@dataclasses.dataclass(frozen=True, slots=True)
class Inside:
    """The int that is read of the result of the node at `place` in the same iteration."""

    place: int
    as_tensor: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Uses:
    """Of a result of all iterations: lists that hold it in order, and whether the last one, or each, is used otherwise."""

    lists: list[int]
    last: bool = False
    each: bool = False


class Refused(Exception):
    """The iterations are no loop, from that iteration on."""

    def __init__(self, iteration: int = 0) -> None:
        self.iteration = iteration


class Loop:
    """The nodes of a loop."""

    def __init__(self, rolling: Rolling, run: Run, roles: list[list[Any]]) -> None:
        self.rolling, self.run = rolling, run
        self.before: list[Node] = []
        self.inner: list[Node] = []
        self.behind: list[Node] = []
        self.count: Operand = run.count
        self.values: dict[Any, Value] = {}  # indices, elements and carried values
        self.iteration = Value("iteration", "int")
        self.carried: dict[Carried, Value] = {}
        self.read: dict[int, list[Node]] = {}  # what takes ints out of results, by the place of these
        self.lists: list[tuple[int, Value, list[Operand], bool]] = []
        template = [rolling.nodes[run.node(0, place)] for place in range(run.period)]
        uses = self._uses(over_whole_list(roles, run.count))
        template_body = [node.with_inputs(self._operands(node.inputs, iter(row))) for node, row in zip(template, roles)]
        body = [
            node for place, node_here in enumerate(template_body) for node in (node_here, *self.read.get(place, ()))
        ]
        appends = []
        for (place, output), used in uses.items():
            made = [self._list(user, place, output) for user in used.lists]
            if used.each:
                made.append(self._elements(place, output))
            for appended in made:
                result = template[place].outputs[output]
                appends.append(node_of("aten::append.t", _APPEND, [appended, result], template[place]))
        sources = [carried.source for carried in self.carried]
        returns = [True, *(template[s.place].outputs[s.output] for s in sources)]
        block = Block([self.iteration, *self.carried.values()], [*self.inner, *body, *appends], returns)
        results = [Value(value.name, value.type) for value in self.carried.values()]
        firsts = [rolling.mapped(carried.first) for carried in self.carried]
        self.node = Node(
            "prim::Loop", [self.count, True, *firsts], results, blocks=(block,), scope=template[0].scope,
            location=lambda: template[0].location,
        )  # fmt: skip
        by_source = dict(zip(sources, results))
        if any(used.last and Local(*at) not in by_source for at, used in uses.items()):
            raise Refused
        for (place, output), used in uses.items():
            if used.last:
                final = rolling.nodes[run.node(run.count - 1, place)].outputs[output]
                rolling.renamed[final] = by_source[Local(place, output)]
        for user, appended, newer, reverse in self.lists:
            self._go_on(user, appended, newer, reverse)
        for node in self.behind:
            rolling.elements.update((value, (node, t)) for t, value in enumerate(node.outputs))

    def _uses(self, over_list: bool) -> dict[tuple[int, int], Uses]:
        run, nodes = self.run, self.rolling.nodes
        found = {
            (place, output): self.rolling.uses_behind(run, place, output)
            for place in range(run.period)
            for output in range(len(nodes[run.node(0, place)].outputs))
        }
        lists = [user for used in found.values() for user in used.lists]
        if len(lists) != len(set(lists)):  # a list of several results of each iteration
            raise Refused
        if any(used.each for used in found.values()) and not over_list:
            raise Refused  # it is rather a few operands of one operation than a loop
        return found

    def _list(self, user: int, place: int, output: int) -> Value:
        """The list before the loop: what it holds that is older."""
        rolling, run = self.rolling, self.run
        node = rolling.nodes[user]
        values = [rolling.nodes[run.node(t, place)].outputs[output] for t in range(run.count)]
        inputs, reverse = rolling.in_order(user, values)
        begin = inputs.index(values[0])
        value = Value(node.outputs[0].name, node.outputs[0].type)
        self.before.append(Node("prim::ListConstruct", rolling.mapped(inputs[:begin]), [value], scope=node.scope))
        self.lists.append((user, value, inputs[begin + run.count :], reverse))
        return value

    def _elements(self, place: int, output: int) -> Value:
        """A list of what each iteration gives, which is taken apart behind the loop."""
        run, nodes = self.run, self.rolling.nodes
        values = [nodes[run.node(t, place)].outputs[output] for t in range(run.count)]
        value = Value("each", f"List[{values[0].type}]")
        scope = nodes[run.start].scope
        self.before.append(Node("prim::ListConstruct", [], [value], scope=scope))
        self.behind.append(Node("prim::ListUnpack", [value], values, scope=scope))
        return value

    def _go_on(self, user: int, appended: Value, newer: list[Operand], reverse: bool) -> None:
        """What the list holds that is newer is appended where the list was made."""
        rolling = self.rolling
        node = rolling.nodes[user]
        rolling.renamed[node.outputs[0]] = appended
        nodes = [node_of("aten::append.t", _APPEND, [appended, rolling.mapped(x)], node) for x in newer]
        if reverse:
            nodes.append(node_of("aten::reverse.t", _REVERSE, [appended], node))
            nodes[-1].outputs = []
        rolling.instead[user] = nodes

    def _operands(self, operand: list[Operand], roles: Iterator[Any]) -> list[Operand]:
        return [self._operands(x, roles) if isinstance(x, list) else self._operand(x, next(roles)) for x in operand]

    def _operand(self, leaf: Operand, role: Any) -> Operand:
        if isinstance(role, Local):
            return leaf
        if isinstance(role, Carried):
            return self.carried.setdefault(role, Value(role.first.name, role.first.type))
        if isinstance(role, Index):
            return self._index(role)
        if isinstance(role, Inside):
            return self._read(role)
        return self.rolling.mapped(role)

    def _index(self, role: Index) -> Value:
        if role in self.values:
            return self.values[role]
        origin = self.rolling.nodes[self.run.start]
        if role.read is not None:
            made = self._element_read(role.read, self._index(Index(role.first, role.step)), origin)
            if role.as_tensor:
                self.inner.append(made)
                tensor = Value("number", "Tensor")
                made = Node("prim::NumToTensor", [made.outputs[0]], [tensor], scope=origin.scope)
            self.inner.append(made)
        elif role.unpacked is None:
            scaled = node_of("aten::mul.int", _MUL, [self.iteration, role.step], origin, "int")
            made = node_of("aten::add.int", _ADD, [scaled.outputs[0], role.first], origin, "int")
            self.inner += [scaled, made]
        else:
            at = self._index(Index(role.first, role.step))
            given = self.rolling.mapped(role.unpacked.inputs[0])
            made = node_of("aten::__getitem__.t", GET, [given, at], origin, role.unpacked.outputs[0].type)
            self.rolling.indexed.add(role.unpacked.outputs[0])
            if role.length == self.run.count and self.rolling.says_how_often(role.unpacked):
                self._count(given)
            self.inner.append(made)
        self.values[role] = made.outputs[0]
        return made.outputs[0]

    def _read(self, role: Inside) -> Value:
        if role not in self.values:
            maker = self.rolling.nodes[self.run.node(0, role.place)]
            nodes = [node_of("aten::Int.Tensor", _INT, [maker.outputs[0]], maker, "int")]
            if role.as_tensor:
                tensor = Value("number", "Tensor")
                nodes.append(Node("prim::NumToTensor", [nodes[0].outputs[0]], [tensor], scope=maker.scope))
            self.read.setdefault(role.place, []).extend(nodes)
            self.values[role] = nodes[-1].outputs[0]
        return self.values[role]

    def _element_read(self, read: Read, at: Value, origin: Node) -> Node:
        """The node that takes an element of a list that was read; the loop runs as often as there are such."""
        self.before += self.rolling.lists.nodes(read, origin)
        numbers = self.before[-1].outputs[0]
        self._count(numbers)
        made = node_of("aten::__getitem__.t", GET, [numbers, at], origin, "int")
        for op, schema, operand in (("mul", _MUL, read.factor), ("add", _ADD, read.offset)):
            if operand != (op == "mul"):
                self.inner.append(made)
                made = node_of(f"aten::{op}.int", schema, [made.outputs[0], operand], origin, "int")
        return made

    def _count(self, elements: Value) -> None:
        self.before.append(node_of("aten::len.t", _LEN, [elements], self.rolling.nodes[self.run.start], "int"))
        self.count = self.before[-1].outputs[0]


def over_whole_list(roles: list[list[Any]], count: int) -> bool:
    """Whether a loop takes all elements of a list, one in each iteration."""
    indices = [role for row in roles for role in row if isinstance(role, Index)]
    return any(role.read is not None or role.length == count for role in indices)


def leaves_of(operand: Any) -> Iterator[Any]:
    if isinstance(operand, list):
        for x in operand:
            yield from leaves_of(x)
    else:
        yield operand


def node_of(op: str, schema: Any, inputs: list[Operand], origin: Node, type: str = "List[Tensor]") -> Node:
    return Node(
        op,
        inputs,
        [Value(op.rpartition(":")[2], type)],
        schema=schema,
        scope=origin.scope,
        location=lambda: origin.location,
    )
