"""Makes loops of what a trace unrolled.

`for t in range(x.shape[1])` is recorded as often as the example has steps. Where a program turns out to be of another
length at other sizes, runs of nodes that repeat are made a `prim::Loop`:

    a0 = select(x, 1, 0)                         outs = []
    h0 = cell(a0, h)                             h' = Loop(3, True, h) {
    a1 = select(x, 1, 1)                           (t, h): a = select(x, 1, t * 1 + 0)
    h1 = cell(a1, h0)               becomes                b = cell(a, h)
    a2 = select(x, 1, 2)                                   outs.append(b)
    h2 = cell(a2, h1)                                      -> True, b }
    stack([h0, h1, h2])                          stack(outs)

Each program is rolled by itself. Those of other sizes then have the same nodes, and differ in the number of iterations,
which is one more constant that follows a size, and is confirmed as such (see `liveness`). What isn't the same in
all iterations but for indices that go on by equal steps, and what the iteration before computed, stays as it was recorded.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from ...program import Block, Node, Operand, Value
from ...program.schema import parse

_MUL = parse("aten::mul.int(int a, int b) -> int")
_ADD = parse("aten::add.int(int a, int b) -> int")
_GET = parse("aten::__getitem__.t(t[](a) list, int idx) -> t(*)")
_APPEND = parse("aten::append.t(t[](a!) self, t(c -> *) el) -> t[](a!)")
_REVERSE = parse("aten::reverse.t(t[](a!) self) -> ()")
_AXES = {"dim", "dim0", "dim1", "start_dim", "end_dim"}  # arguments whose number is no count of iterations
_OPTIONS = 64  # places of the same operation that are tried as the begin of the next iteration


def roll(block: Block, inner: bool = False) -> Block | None:
    """The block with loops in place of repeated nodes, and lists used as they are instead of taken apart; or None.

    Of loops inside loops one becomes a loop, the inner one if asked for.
    """
    return _Rolling(block, inner).run()


@dataclasses.dataclass(frozen=True, slots=True)
class _Run:
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
class _Local:
    """A result of the node at `place` in the same iteration, or of the one before."""

    place: int
    output: int


@dataclasses.dataclass(frozen=True, slots=True)
class _Carried:
    source: _Local
    first: Value


@dataclasses.dataclass(frozen=True, slots=True)
class _Index:
    """`step * iteration + first`; of a list that was taken apart, the element there."""

    first: int
    step: int
    unpacked: Node | None = None


class _Refused(Exception):
    """The iterations are no loop, from that iteration on."""

    def __init__(self, iteration: int = 0) -> None:
        self.iteration = iteration


class _Rolling:
    def __init__(self, block: Block, inner: bool) -> None:
        self.block, self.nodes, self.inner = block, block.nodes, inner
        self.made: dict[Value, tuple[int, int]] = {}  # by which node, as which of its outputs
        self.uses: dict[Value, list[int]] = {}  # by which nodes; the block's returns come last
        self.leaves = [list(_leaves(node.inputs)) for node in self.nodes]
        for i, node in enumerate(self.nodes):
            for leaf in self.leaves[i]:
                self._use(leaf, i)
            for output, value in enumerate(node.outputs):
                self.made[value] = (i, output)
        for leaf in _leaves(block.returns):
            self._use(leaf, len(self.nodes))
        self.renamed: dict[Value, Operand] = {}
        self.instead: dict[int, list[Node]] = {}  # of a node, by its index
        self.indexed: set[Value] = set()  # the first elements of lists whose elements loops take by their index

    def _use(self, leaf: Any, index: int) -> None:
        if leaf.__class__ is Value:
            self.uses.setdefault(leaf, []).append(index)

    def run(self) -> Block | None:
        changed = self._rejoin()
        out: list[Node] = []
        keys, first_keys = self._keys(id), self._keys(lambda value: "value")
        index = 0
        while index < len(self.nodes):
            found = self._loop(keys, first_keys, index)
            if found is not None:
                changed = True
                run, loop = found
                out += loop.before + [loop.node]
                index = run.end
                continue
            out += self.instead[index] if index in self.instead else [self._renamed(self.nodes[index])]
            index += 1
        if not changed:
            return None
        returns = self.mapped(self.block.returns)
        return Block(self.block.parameters, self._with_elements(_without_unused_lists(out, returns), returns), returns)

    def _with_elements(self, nodes: list[Node], returns: list[Operand]) -> list[Node]:
        """What is used outside of the loops of a list that they index is taken by its index, too."""
        used = {*_used(nodes), *(leaf for leaf in _leaves(returns) if leaf.__class__ is Value)}
        result: list[Node] = []
        for node in nodes:
            if node.op != "prim::ListUnpack" or node.outputs[0] not in self.indexed:
                result.append(node)
                continue
            for index, output in enumerate(node.outputs):
                if output in used:
                    result.append(_node("aten::__getitem__.t", _GET, [node.inputs[0], index], node, "Tensor"))
                    result[-1].outputs = [output]
        return result

    def mapped(self, operand: Operand) -> Any:
        if operand.__class__ is Value:
            while operand in self.renamed:
                operand = self.renamed[operand]
            return operand
        return [self.mapped(x) for x in operand] if isinstance(operand, list) else operand

    def _renamed(self, node: Node) -> Node:
        return _copy(node, self.mapped(node.inputs)) if self.renamed else node

    def _rejoin(self) -> bool:
        """A list that is taken apart and put together again is itself."""
        for node in self.nodes:
            if node.op == "prim::ListUnpack" and node.outputs:
                for user in self.uses.get(node.outputs[0], []):
                    if self._is_list(user) and self.nodes[user].inputs == node.outputs:
                        self.renamed[self.nodes[user].outputs[0]] = node.inputs[0]
        return bool(self.renamed)

    def _is_list(self, index: int) -> bool:
        return index < len(self.nodes) and self.nodes[index].op == "prim::ListConstruct"

    # -- finding loops ------------------------------------------------------------------------------

    def _keys(self, given: Callable[[Value], Any]) -> str:
        """A letter for each node; nodes that may be those of two iterations have the same.

        `given` tells weights and inputs apart, which are the same in all iterations but the first: that may begin with one.
        """
        letters: dict[Any, str] = {}
        return "".join(letters.setdefault(self._key(node, given), chr(len(letters) + 1)) for node in self.nodes)

    def _key(self, node: Node, given: Callable[[Value], Any]) -> Any:
        if node.blocks or node.op == "prim::PythonOp":
            return id(node)
        arguments = node.schema.arguments if node.schema is not None else ()
        axes = [x for argument, x in zip(arguments, node.inputs) if argument.name in _AXES and type(x) is int]
        return node.op, len(node.outputs), repr(node.attributes), *axes, self._operand_key(node.inputs, given)

    def _operand_key(self, operand: Any, given: Callable[[Value], Any]) -> Any:
        if operand.__class__ is Value:
            return "value" if operand in self.made else given(operand)
        if isinstance(operand, list):
            return tuple(self._operand_key(x, given) for x in operand)
        if isinstance(operand, torch.Tensor):
            return id(operand) if operand.dim() else (operand.dtype, operand.item())
        return int if type(operand) is int else (type(operand), operand)

    def _loop(self, keys: str, first_keys: str, start: int) -> tuple[_Run, _Made] | None:
        """The loop that begins with this node and covers most, or the one with the shortest body."""
        runs = self._runs(keys, first_keys, start)
        for run in sorted(runs, key=lambda run: (0 if self.inner else run.start - run.end, run.period)):
            try:
                self._roles(dataclasses.replace(run, count=2))  # looking into what is no loop takes long
                if self.inner and self._has_loop(keys, first_keys, run):
                    return None  # so has each that is longer
                return self._made(run)
            except _Refused:
                continue
        return None

    def _runs(self, keys: str, first_keys: str, start: int) -> list[_Run]:
        """Repetitions of nodes that look alike."""
        runs, at = [], start
        for _ in range(_OPTIONS):
            at = first_keys.find(first_keys[start], at + 1)
            period = at - start
            if at < 0 or at + period > len(keys):
                break
            if not first_keys.startswith(first_keys[start:at], at):
                continue
            body, count = keys[at : at + period], 2
            while keys.startswith(body, start + count * period):
                count += 1
            runs.append(_Run(start, period, count))
        return runs

    def _has_loop(self, keys: str, first_keys: str, run: _Run) -> bool:
        """Whether there is a loop in the first iteration."""
        end = run.start + run.period
        for start in range(run.start + 1, end):
            for inside in self._runs(keys, first_keys, start):
                if inside.start + 2 * inside.period <= end:
                    try:
                        self._roles(dataclasses.replace(inside, count=2))
                    except _Refused:
                        continue
                    return True
        return False

    def _made(self, run: _Run) -> tuple[_Run, _Made]:
        while run.count > 1:
            try:
                roles = self._roles(run)
            except _Refused as refused:
                run = dataclasses.replace(run, count=refused.iteration)
                continue
            try:
                return run, _Made(self, run, roles)
            except _Refused:
                # What is used of the last iteration isn't all carried: that one stays as it is behind the loop.
                run = dataclasses.replace(run, count=run.count - 1)
                return run, _Made(self, run, self._roles(run))
        raise _Refused

    def _roles(self, run: _Run) -> list[list[Any]]:
        """What each operand is, in the order of the leaves of each node of the first iteration."""
        roles = []
        for place in range(run.period):
            columns = zip(*[self.leaves[run.node(t, place)] for t in range(run.count)])
            roles.append([self._role(run, column) for column in columns])
        if not any(isinstance(role, (_Carried, _Index)) for row in roles for role in row):
            raise _Refused  # nothing goes on from iteration to iteration
        return roles

    def _role(self, run: _Run, column: Sequence[Any]) -> Any:
        first = column[0]
        if first.__class__ is not Value:
            return _progress(column)
        sources = [self._source(run, t, leaf) for t, leaf in enumerate(column)]
        if sources[0] is not None:
            return _same(sources)
        if all(leaf is first for leaf in column):
            return first
        if sources[1] is not None and sources[1][0] == -1:
            source = _same(sources[1:], 1)
            ranks = {_rank(first), _rank(self.nodes[run.node(0, source.place)].outputs[source.output])}
            if len(ranks - {None}) > 1:
                raise _Refused
            return _Carried(source, first)
        return self._element(run, column)

    def _source(self, run: _Run, iteration: int, leaf: Value) -> tuple[int, int, int] | None:
        """How many iterations before, at which place and as which output a value is made; None if outside."""
        index, output = self.made.get(leaf, (-1, 0))
        if not run.start <= index < run.end:
            return None
        before, place = divmod(index - run.start, run.period)
        return before - iteration, place, output

    def _element(self, run: _Run, column: Sequence[Any]) -> _Index:
        """Elements of a list that was taken apart before."""
        places = [self.made.get(leaf, (-1, 0)) for leaf in column]
        index = places[0][0]
        if index < 0 or index >= run.start or self.nodes[index].op != "prim::ListUnpack":
            raise _Refused
        for t, (other, _) in enumerate(places):
            if other != index:
                raise _Refused(t)
        progress = _progress([output for _, output in places])
        if not isinstance(progress, _Index):
            raise _Refused
        return dataclasses.replace(progress, unpacked=self.nodes[index])

    # -- uses behind a loop -------------------------------------------------------------------------

    def uses_behind(self, run: _Run, place: int, output: int) -> tuple[list[int], bool]:
        """Lists that hold this result of all iterations in order, and whether the last one is used otherwise."""
        values = [self.nodes[run.node(t, place)].outputs[output] for t in range(run.count)]
        lists: dict[int, None] = {}
        last = False
        for t, value in enumerate(values):
            for user in self.uses.get(value, []):
                if user < run.end:
                    continue
                if self._is_list(user) and self._holds(user, values):
                    lists[user] = None
                elif t == run.count - 1:
                    last = True
                else:
                    raise _Refused
        return list(lists), last

    def _holds(self, user: int, values: list[Value]) -> bool:
        """Whether a list holds these values in order, or in reverse, behind none that are newer."""
        if user in self.instead:
            return False
        inputs, _ = self.in_order(user, values)
        begin = inputs.index(values[0]) if values[0] in inputs else len(inputs)
        limit = self.made[values[0]][0]
        return inputs[begin : begin + len(values)] == values and all(
            x.__class__ is Value and self.made.get(x, (-1, 0))[0] < limit for x in inputs[:begin]
        )

    def in_order(self, user: int, values: list[Value]) -> tuple[list[Operand], bool]:
        """What a list holds, the oldest first, and whether that is the reverse of its order."""
        inputs = self.nodes[user].inputs
        front = next((x for x in inputs if x is values[0] or x is values[-1]), None)
        reverse = len(values) > 1 and front is values[-1]
        return (inputs[::-1] if reverse else inputs), reverse


class _Made:
    """The nodes of a loop."""

    def __init__(self, rolling: _Rolling, run: _Run, roles: list[list[Any]]) -> None:
        self.rolling, self.run = rolling, run
        self.before: list[Node] = []
        self.inner: list[Node] = []
        self.values: dict[Any, Value] = {}  # indices, elements and carried values
        self.iteration = Value("iteration", "int")
        self.carried: dict[_Carried, Value] = {}
        self.lists: list[tuple[int, Value, list[Operand], bool]] = []
        template = [rolling.nodes[run.node(0, place)] for place in range(run.period)]
        uses = self._uses()
        body = [_copy(node, self._operands(node.inputs, iter(row))) for node, row in zip(template, roles)]
        appends = []
        for (place, output), (users, _) in uses.items():
            for user in users:
                appended = self._list(user, place, output)
                result = template[place].outputs[output]
                appends.append(_node("aten::append.t", _APPEND, [appended, result], template[place]))
        sources = [carried.source for carried in self.carried]
        returns = [True, *(template[s.place].outputs[s.output] for s in sources)]
        block = Block([self.iteration, *self.carried.values()], [*self.inner, *body, *appends], returns)
        results = [Value(value.name, value.type) for value in self.carried.values()]
        firsts = [rolling.mapped(carried.first) for carried in self.carried]
        self.node = Node(
            "prim::Loop", [run.count, True, *firsts], results, blocks=(block,), scope=template[0].scope,
            location=lambda: template[0].location,
        )  # fmt: skip
        by_source = dict(zip(sources, results))
        if any(last and _Local(*at) not in by_source for at, (_, last) in uses.items()):
            raise _Refused
        for (place, output), (_, last) in uses.items():
            if last:
                final = rolling.nodes[run.node(run.count - 1, place)].outputs[output]
                rolling.renamed[final] = by_source[_Local(place, output)]
        for user, appended, newer, reverse in self.lists:
            self._go_on(user, appended, newer, reverse)

    def _uses(self) -> dict[tuple[int, int], tuple[list[int], bool]]:
        run, nodes = self.run, self.rolling.nodes
        found = {
            (place, output): self.rolling.uses_behind(run, place, output)
            for place in range(run.period)
            for output in range(len(nodes[run.node(0, place)].outputs))
        }
        lists = [user for users, _ in found.values() for user in users]
        if len(lists) != len(set(lists)):  # a list of several results of each iteration
            raise _Refused
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

    def _go_on(self, user: int, appended: Value, newer: list[Operand], reverse: bool) -> None:
        """What the list holds that is newer is appended where the list was made."""
        rolling = self.rolling
        node = rolling.nodes[user]
        rolling.renamed[node.outputs[0]] = appended
        nodes = [_node("aten::append.t", _APPEND, [appended, rolling.mapped(x)], node) for x in newer]
        if reverse:
            nodes.append(_node("aten::reverse.t", _REVERSE, [appended], node))
            nodes[-1].outputs = []
        rolling.instead[user] = nodes

    def _operands(self, operand: list[Operand], roles: Iterator[Any]) -> list[Operand]:
        return [self._operands(x, roles) if isinstance(x, list) else self._operand(x, next(roles)) for x in operand]

    def _operand(self, leaf: Operand, role: Any) -> Operand:
        if isinstance(role, _Local):
            return leaf
        if isinstance(role, _Carried):
            return self.carried.setdefault(role, Value(role.first.name, role.first.type))
        if isinstance(role, _Index):
            return self._index(role)
        return self.rolling.mapped(role)

    def _index(self, role: _Index) -> Value:
        if role in self.values:
            return self.values[role]
        origin = self.rolling.nodes[self.run.start]
        if role.unpacked is None:
            scaled = _node("aten::mul.int", _MUL, [self.iteration, role.step], origin, "int")
            made = _node("aten::add.int", _ADD, [scaled.outputs[0], role.first], origin, "int")
            self.inner += [scaled, made]
        else:
            at = self._index(_Index(role.first, role.step))
            given = self.rolling.mapped(role.unpacked.inputs[0])
            made = _node("aten::__getitem__.t", _GET, [given, at], origin, "Tensor")
            self.rolling.indexed.add(role.unpacked.outputs[0])
            self.inner.append(made)
        self.values[role] = made.outputs[0]
        return made.outputs[0]


def _leaves(operand: Any) -> Iterator[Any]:
    if isinstance(operand, list):
        for x in operand:
            yield from _leaves(x)
    else:
        yield operand


def _same(sources: Sequence[Any], first: int = 0) -> _Local:
    """The place of results that each iteration takes from itself (or the one before)."""
    for t, source in enumerate(sources):
        if source != sources[0]:
            raise _Refused(first + t)
    return _Local(*sources[0][1:])


def _progress(column: Sequence[Any]) -> Any:
    """A constant, or an int that goes on by equal steps."""
    first = column[0]
    if type(first) is not int or all(x == first for x in column):
        for t, x in enumerate(column):
            if x is not first and (isinstance(x, torch.Tensor) or x != first):
                if not (isinstance(x, torch.Tensor) and torch.equal(x, first)):
                    raise _Refused(t)
        return first
    step = column[1] - first
    for t, x in enumerate(column):
        if x != first + step * t:
            raise _Refused(t)
    return _Index(first, step)


def _rank(value: Value) -> int | None:
    known = value.tensor_type
    return None if known is None or known.sizes is None else len(known.sizes)


def _copy(node: Node, inputs: list[Operand]) -> Node:
    return Node(
        node.op, inputs, node.outputs, schema=node.schema, attributes=node.attributes, blocks=node.blocks, scope=node.scope,
        location=lambda: node.location,
    )  # fmt: skip


def _node(op: str, schema: Any, inputs: list[Operand], origin: Node, type: str = "List[Tensor]") -> Node:
    return Node(
        op,
        inputs,
        [Value(op.rpartition(":")[2], type)],
        schema=schema,
        scope=origin.scope,
        location=lambda: origin.location,
    )


def _without_unused_lists(nodes: list[Node], returns: list[Operand]) -> list[Node]:
    """Lists that nobody reads any more, and their elements, aren't made."""
    used = {leaf for leaf in _leaves(returns) if leaf.__class__ is Value}
    kept = []
    for node in reversed(nodes):
        if node.op in ("prim::ListUnpack", "prim::ListConstruct") and not used.intersection(node.outputs):
            continue
        used.update(_used([node]))
        kept.append(node)
    return kept[::-1]


def _used(nodes: Sequence[Node]) -> Iterator[Value]:
    """The values that nodes and what is inside them take."""
    for node in nodes:
        yield from (leaf for leaf in _leaves(node.inputs) if leaf.__class__ is Value)
        for block in node.blocks:
            yield from _used(block.nodes)
            yield from (leaf for leaf in _leaves(block.returns) if leaf.__class__ is Value)
