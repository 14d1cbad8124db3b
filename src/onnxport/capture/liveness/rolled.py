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

import bisect
import dataclasses
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from ...program import Block, Node, Operand, Value
from .expressions import integer
from .ints import ints_at_uses
from .loop_nodes import (
    GET,
    Carried,
    Index,
    Inside,
    Local,
    Loop,
    Refused,
    Run,
    Uses,
    leaves_of,
    node_of,
    over_whole_list,
)
from .read_lists import ReadLists

_AXES = {"dim", "dim0", "dim1", "start_dim", "end_dim"}  # arguments whose number is no count of iterations
# Ints that decide the form of an operator.
_FORMS = _AXES | {"stride", "padding", "dilation", "kernel_size", "output_padding", "groups"}
_OPTIONS = 64  # places of the same operations that are tried as the begin of the next iteration
_NEAR = 4  # of so many operations


@dataclasses.dataclass(frozen=True, slots=True)
class Way:
    """How a program is rolled: of loops inside loops one becomes a loop, the inner one if asked for; and whether lists that
    were read of tensors are used."""

    inner: bool = False
    reads: bool = False


def roll(block: Block, way: Way = Way(), lists: ReadLists | None = None) -> Block | None:
    """The block with loops in place of repeated nodes, and lists used as they are instead of taken apart; or None."""
    lists = lists if way.reads and lists else ReadLists()
    placed = lists.placed(block) if lists else block
    rolled = Rolling(ints_at_uses(placed), way.inner, lists).run()
    return placed if rolled is None and lists.used else rolled


class Rolling:
    """A block in which loops are found; what they are made of asks it for the places of values."""

    def __init__(self, block: Block, inner: bool = False, lists: ReadLists | None = None) -> None:
        self.block, self.nodes, self.inner, self.lists = block, block.nodes, inner, lists or ReadLists()
        self.made: dict[Value, tuple[int, int]] = {}  # by which node, as which of its outputs
        self.uses: dict[Value, list[int]] = {}  # by which nodes; the block's returns come last
        self.leaves = [list(leaves_of(node.inputs)) for node in self.nodes]
        for i, node in enumerate(self.nodes):
            for leaf in self.leaves[i]:
                self._use(leaf, i)
            for output, value in enumerate(node.outputs):
                self.made[value] = (i, output)
        for leaf in leaves_of(block.returns):
            self._use(leaf, len(self.nodes))
        # Nodes whose results ints were read of.
        self.reads = sorted(self.made[value][0] for value in self.lists.ints if value in self.made)
        self.renamed: dict[Value, Operand] = {}
        self.instead: dict[int, list[Node]] = {}  # of a node, by its index
        self.indexed: set[Value] = set()  # the first elements of lists whose elements loops take by their index
        self._found: dict[int, list[Run]] = {}
        self._loops: dict[Run, bool] = {}
        self.elements: dict[Value, tuple[Node, int]] = {}  # of lists that loops make of what each iteration gives

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
                self._loops.clear()  # there may be more now, over what this one gives
                out += [*loop.before, loop.node, *loop.behind]
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
        used = {*_used(nodes), *(leaf for leaf in leaves_of(returns) if leaf.__class__ is Value)}
        result: list[Node] = []
        for node in nodes:
            if node.op != "prim::ListUnpack" or node.outputs[0] not in self.indexed:
                result.append(node)
                continue
            for index, output in enumerate(node.outputs):
                if output in used:
                    result.append(node_of("aten::__getitem__.t", GET, [node.inputs[0], index], node))
                    result[-1].outputs = [output]
        return result

    def mapped(self, operand: Operand) -> Any:
        if operand.__class__ is Value:
            while operand in self.renamed:
                operand = self.renamed[operand]
            return operand
        return [self.mapped(x) for x in operand] if isinstance(operand, list) else operand

    def _renamed(self, node: Node) -> Node:
        return node.with_inputs(self.mapped(node.inputs)) if self.renamed else node

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
        if node.op == "prim::PythonOp":
            return _call_key(node), self._operand_key(node.inputs, given)
        if node.blocks:
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

    def _loop(self, keys: str, first_keys: str, start: int) -> tuple[Run, Loop] | None:
        """The loop that begins with this node and covers most, or the one with the shortest body."""
        runs = self._runs(keys, first_keys, start)
        shorter: list[tuple[Run, list[list[Any]]]] = []
        for run in sorted(runs, key=lambda run: (0 if self.inner else run.start - run.end, run.period)):
            if not self._is_loop(run):  # looking further into what is none takes long
                continue
            if self.inner and self._has_loop(keys, first_keys, run):
                break  # so has each that is longer
            try:
                fitting, roles = self._fitting(run)
                if (not shorter and fitting.count == run.count) or over_whole_list(roles, run.count):
                    return self._made(fitting, roles)
                shorter.append((fitting, roles))  # there may be a loop that has this one in it
            except Refused:
                continue
        for run, roles in shorter:
            try:
                return self._made(run, roles)
            except Refused:
                continue
        return None

    def _runs(self, keys: str, first_keys: str, start: int) -> list[Run]:
        """Repetitions of nodes that look alike."""
        if start not in self._found:
            runs = self._found[start] = []
            for at in _again(first_keys, start):
                period = at - start
                if at + period > len(keys):
                    break
                if not first_keys.startswith(first_keys[start:at], at):
                    continue
                body, count = keys[at : at + period], 2
                while keys.startswith(body, start + count * period):
                    count += 1
                runs.append(Run(start, period, count))
        return self._found[start]

    def _has_loop(self, keys: str, first_keys: str, run: Run) -> bool:
        """Whether there is a loop in the first iteration."""
        end = run.start + run.period
        return any(
            inside.start + 2 * inside.period <= end and self._is_loop(inside)
            for start in range(run.start + 1, end)
            for inside in self._runs(keys, first_keys, start)
        )

    def _is_loop(self, run: Run) -> bool:
        """Whether the first two iterations are a loop."""
        if run not in self._loops:
            try:
                self._roles(dataclasses.replace(run, count=2))
                self._loops[run] = True
            except Refused:
                self._loops[run] = False
        return self._loops[run]

    def _fitting(self, run: Run) -> tuple[Run, list[list[Any]]]:
        """The first iterations, as far as they are a loop, and what their operands are."""
        while run.count > 1:
            changed = min((i for i in self.instead if run.start <= i < run.end), default=run.end)
            if changed < run.end:  # a list that a loop before fills
                run = dataclasses.replace(run, count=(changed - run.start) // run.period)
                continue
            try:
                return run, self._roles(run)
            except Refused as refused:
                run = dataclasses.replace(run, count=refused.iteration)
        raise Refused

    def _made(self, run: Run, roles: list[list[Any]]) -> tuple[Run, Loop]:
        try:
            return run, Loop(self, run, roles)
        except Refused:
            # What is used of the last iteration isn't all carried: that one stays as it is behind the loop.
            run, roles = self._fitting(dataclasses.replace(run, count=run.count - 1))
            return run, Loop(self, run, roles)

    def _roles(self, run: Run) -> list[list[Any]]:
        """What each operand is, in the order of the leaves of each node of the first iteration."""
        roles = []
        for place in range(run.period):
            columns = zip(*[self.leaves[run.node(t, place)] for t in range(run.count)])
            roles.append([self._role(run, place, i, column) for i, column in enumerate(columns)])
        if not any(
            isinstance(role, Carried) or (isinstance(role, Index) and role.varies) for row in roles for role in row
        ):
            raise Refused  # nothing goes on from iteration to iteration
        return roles

    def _role(self, run: Run, place: int, leaf: int, column: Sequence[Any]) -> Any:
        first = column[0]
        if first.__class__ is not Value:
            read = self._read(run, place, leaf, column) or self._read_inside(run, place, leaf, column)
            return read or _progress(column)
        sources = [self._source(run, t, leaf) for t, leaf in enumerate(column)]
        if sources[0] is not None:
            return _same(sources)
        if all(leaf is first for leaf in column):
            return first
        if sources[1] is not None and sources[1][0] == -1:
            source = _same(sources[1:], 1)
            ranks = {_rank(first), _rank(self.nodes[run.node(0, source.place)].outputs[source.output])}
            if len(ranks - {None}) > 1 or self._writes_view(run.node(0, place), run.node(0, source.place)):
                raise Refused
            return Carried(source, first)
        return self._element(run, column)

    def _writes_view(self, user: int, maker: int) -> bool:
        """Whether a node writes to a view, which no other iteration than its own can have made."""
        writes, views = (self.nodes[index].schema for index in (user, maker))
        return writes is not None and writes.mutates and views is not None and views.views

    def _read(self, run: Run, place: int, leaf: int, column: Sequence[Any]) -> Index | None:
        """Numbers of a list that was read of a tensor before."""
        numbers = list(map(integer, column)) if self.lists else []
        read = self.lists.find(numbers, lambda value: self.made.get(value, (-1, 0))[0] < run.start) if numbers else None
        as_tensor = isinstance(column[0], torch.Tensor)
        if read is None or not (as_tensor or self._is_size(run.node(0, place), leaf)):
            return None
        return Index(0, 1, read=read, as_tensor=as_tensor, varies=len(set(numbers)) > 1)

    def _read_inside(self, run: Run, place: int, leaf: int, column: Sequence[Any]) -> Inside | None:
        """The int that was read last in the same iteration, if it is this one in all of them: `x[i, : int(ratios[i] * n)]`."""
        numbers = list(map(integer, column)) if self.reads else []
        within = slice(*(bisect.bisect_left(self.reads, run.node(0, at)) for at in (0, place)))
        if not numbers or not self.reads[within] or not self._is_size(run.node(0, place), leaf):
            return None
        for index in reversed(self.reads[within]):
            made = [self.nodes[run.node(t, index - run.start)].outputs[0] for t in range(run.count)]
            if all(map(self.lists.holds, made, numbers)):
                self.lists.used.update(made)
                return Inside(index - run.start, as_tensor=isinstance(column[0], torch.Tensor))
        return None

    def _is_size(self, index: int, leaf: int) -> bool:
        """Whether an int that a node takes may be any, as a size or a position may."""
        node = self.nodes[index]
        counts = [sum(1 for _ in leaves_of([x])) for x in node.inputs]
        position = bisect.bisect_right(list(itertools.accumulate(counts)), leaf)
        if node.op == "prim::ListConstruct":
            uses = [(i, self.nodes[i].inputs.index(node.outputs[0])) for i in self.uses.get(node.outputs[0], [])]
            return all(self._is_size(i, sum(1 for _ in leaves_of(self.nodes[i].inputs[:at]))) for i, at in uses)
        argument = node.schema.arguments[position] if node.schema is not None else None
        return (
            argument is not None
            and argument.name not in _FORMS
            and argument.type.startswith(("SymInt", "Scalar", "Tensor"))
        )

    def _source(self, run: Run, iteration: int, leaf: Value) -> tuple[int, int, int] | None:
        """How many iterations before, at which place and as which output a value is made; None if outside."""
        index, output = self.made.get(leaf, (-1, 0))
        if not run.start <= index < run.end:
            return None
        before, place = divmod(index - run.start, run.period)
        return before - iteration, place, output

    def _element(self, run: Run, column: Sequence[Any]) -> Index:
        """Elements of a list that was taken apart before."""
        places = [self._unpacked(run, leaf) for leaf in column]
        node = places[0][0]
        if node is None:
            raise Refused
        for t, (other, _) in enumerate(places):
            if other is not node:
                raise Refused(t)
        progress = _progress([output for _, output in places])
        if not isinstance(progress, Index):
            raise Refused
        return dataclasses.replace(progress, unpacked=node)

    def _unpacked(self, run: Run, leaf: Value) -> tuple[Node | None, int]:
        """The node that takes the list apart which a value is an element of, and its place in there."""
        if leaf in self.elements:
            return self.elements[leaf]
        index, output = self.made.get(leaf, (-1, 0))
        is_element = 0 <= index < run.start and self.nodes[index].op == "prim::ListUnpack"
        return (self.nodes[index] if is_element else None), output

    def says_how_often(self, unpacked: Node) -> bool:
        """Whether a list that is taken apart is as long at other sizes and values as a loop over it runs then: all that a tensor
        has along an axis, or pieces of a tensor that a list which was read says the sizes of."""
        index, _ = self.made.get(unpacked.inputs[0], (-1, 0))  # type: ignore[call-overload]
        operands = self.nodes[index].inputs if index >= 0 else []
        if operands and self.nodes[index].op == "aten::unbind.int":
            if operands[1] == 0:
                self.lists.counts(operands[0])  # they are followed
            return True
        makers = [self.made.get(x, (-1, 0))[0] for x in operands if x.__class__ is Value]
        return any(self.nodes[i].op == "prim::tolist" for i in makers if i >= 0)

    # -- uses behind a loop -------------------------------------------------------------------------

    def uses_behind(self, run: Run, place: int, output: int) -> Uses:
        """Where this result of all iterations is used behind the loop."""
        values = [self.nodes[run.node(t, place)].outputs[output] for t in range(run.count)]
        lists: dict[int, None] = {}
        otherwise: set[int] = set()
        for t, value in enumerate(values):
            for user in self.uses.get(value, []):
                if user < run.end:
                    continue
                if self._is_list(user) and self._holds(user, values):
                    lists[user] = None
                else:
                    otherwise.add(t)
        if len(otherwise) == run.count:
            return Uses(list(lists), each=True)
        if otherwise - {run.count - 1}:
            raise Refused
        return Uses(list(lists), last=bool(otherwise))

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


def _again(keys: str, start: int) -> Iterator[int]:
    """Where the node at a place and those behind it may come again."""
    near = range(start + 1, min(start + _NEAR, len(keys)))
    yield from (at for at in near if keys[at] == keys[start])
    begin, at = keys[start : start + _NEAR], start + _NEAR - 1
    for _ in range(_OPTIONS):
        at = keys.find(begin, at + 1)
        if at < 0:
            return
        yield at


def _same(sources: Sequence[Any], first: int = 0) -> Local:
    """The place of results that each iteration takes from itself (or the one before)."""
    for t, source in enumerate(sources):
        if source != sources[0]:
            raise Refused(first + t)
    return Local(*sources[0][1:])


def _progress(column: Sequence[Any]) -> Any:
    """A constant, or an int that goes on by equal steps."""
    first = column[0]
    if type(first) is not int or all(x == first for x in column):
        for t, x in enumerate(column):
            if x is not first and (isinstance(x, torch.Tensor) or x != first):
                if not (isinstance(x, torch.Tensor) and torch.equal(x, first)):
                    raise Refused(t)
        return first
    step = column[1] - first
    for t, x in enumerate(column):
        if x != first + step * t:
            raise Refused(t)
    return Index(first, step)


def _rank(value: Value) -> int | None:
    known = value.tensor_type
    return None if known is None or known.sizes is None else len(known.sizes)


def _without_unused_lists(nodes: list[Node], returns: list[Operand]) -> list[Node]:
    """Lists that nobody reads any more, and their elements, aren't made."""
    used = {leaf for leaf in leaves_of(returns) if leaf.__class__ is Value}
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
        yield from (leaf for leaf in leaves_of(node.inputs) if leaf.__class__ is Value)
        for block in node.blocks:
            yield from _used(block.nodes)
            yield from (leaf for leaf in leaves_of(block.returns) if leaf.__class__ is Value)


def _call_key(node: Node) -> Any:
    """What a call of a `torch.autograd.Function` does: the same for calls that do the same."""
    attributes = {name: value for name, value in node.attributes.items() if name != "function"}
    names: dict[Value, int] = {}

    def text(operand: Any) -> Any:
        if isinstance(operand, (list, tuple)):
            return tuple(map(text, operand))
        if isinstance(operand, Value):
            return names.get(operand, id(operand))
        return id(operand) if isinstance(operand, torch.Tensor) else repr(operand)

    parts: list[Any] = [getattr(node.attributes.get("function"), "__self__", id(node)), repr(attributes)]
    for block in node.blocks:
        names.update((value, len(names) + i) for i, value in enumerate(block.parameters))
        for inner in block.nodes:
            if inner.blocks:
                return id(node)
            parts.append((inner.op, repr(inner.attributes), text(inner.inputs)))
            names.update((value, len(names) + i) for i, value in enumerate(inner.outputs))
        parts.append(text(block.returns))
    return tuple(parts)
