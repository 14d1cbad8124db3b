"""One program of recordings that differ at several places, each place an `if` of its own.

The recording with the most operations is the base, as what one way does to a value has a name there. Where others differ
from it are regions of it; in each, the recordings do one of a few things, and what was asked before tells which.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from ...program import Block, Location, Node, Operand, Value
from .aligned import Aligned, Site, are_of_one_kind, written
from .comparison import same_constants
from .dropped import Squeezed, dropping
from .joined import as_bool, joining
from .loop_nodes import leaves_of
from .questions import ASK, as_asked


@dataclasses.dataclass(eq=False, slots=True)
class _Part:
    """What a recording does in a region.

    Attributes:
        run: its place among the recordings; -1 is the base.
        made: what is made there, and in which order.
        outside: what other values are in the base, or in the program that is made.
    """

    run: int
    nodes: list[Node]
    made: dict[Value, int]
    outside: Mapping[Value, Operand]

    @classmethod
    def of(cls, run: int, nodes: Sequence[Node], outside: Mapping[Value, Operand]) -> _Part:
        kept = [node for node in nodes if node.op != ASK]
        outputs = [output for node in kept for output in node.outputs]
        return cls(run, kept, {output: place for place, output in enumerate(outputs)}, outside)

    def is_as(self, other: _Part, may_be: Callable[[Operand, Operand], bool]) -> bool:
        """Whether both do the same operations with what is made there, and with other values that may be the same."""

        def same(mine: Any, theirs: Any) -> bool:
            if isinstance(mine, list) and isinstance(theirs, list):
                return len(mine) == len(theirs) and all(map(same, mine, theirs))
            if not (isinstance(mine, Value) and isinstance(theirs, Value)):
                return not (isinstance(mine, Value) or isinstance(theirs, Value)) and same_constants(mine, theirs)
            if mine in self.made or theirs in other.made:
                return self.made.get(mine) == other.made.get(theirs)
            return may_be(self.outside.get(mine, mine), other.outside.get(theirs, theirs))

        return len(self.nodes) == len(other.nodes) and all(
            x.op == y.op and x.attributes == y.attributes and same(x.inputs, y.inputs)
            for x, y in zip(self.nodes, other.nodes)
        )


@dataclasses.dataclass(eq=False, slots=True)
class _Way:
    """Recordings that do the same in a region; `first` is the one whose operations it is."""

    parts: list[_Part]
    first: _Part

    def here(self, part: _Part, value: Value) -> Value:
        """What a value that is made in one of the parts is in the first."""
        return list(self.first.made)[part.made[value]]


@dataclasses.dataclass(slots=True)
class _Asked:
    """A question, and what recordings answered, by their places; `is_there` if the program that is made asks it already."""

    node: Node
    answers: dict[int, bool]
    is_there: bool = True


def composed(base: Block, runs: Sequence[Aligned], squeezed: Mapping[Value, Squeezed]) -> Block | None:
    """The program of a base and other recordings; None where they don't go together.

    Args:
        squeezed: the squeezes in them that dropped axes (see `dropped`).
    """
    composer = _Composer(base, runs, squeezed)
    for start, end in _regions(base, runs):
        composer.go_to(start)
        if not composer.branch(start, end):
            return None
    composer.go_to(len(base.nodes))
    returns = composer.substituted(len(base.nodes), base.returns)
    block = as_asked(Block(base.parameters, composer.nodes, returns))
    made = {x for b in (base, *(run.block for run in runs)) for node in b.nodes for x in node.outputs}
    return block if _has_all(block, made) else None


def _has_all(block: Block, missing: set[Value]) -> bool:
    """Whether all that is read of some values is there before it is read."""
    missing = set(missing)
    for node in block.nodes:
        if not missing.isdisjoint(_values(node.inputs)) or not all(_has_all(inner, missing) for inner in node.blocks):
            return False
        missing.difference_update(node.outputs)
    return missing.isdisjoint(_values(block.returns))


def _values(operands: list[Operand]) -> Iterator[Value]:
    return (x for x in leaves_of(operands) if isinstance(x, Value))


def _regions(base: Block, runs: Sequence[Aligned]) -> list[tuple[int, int]]:
    """Where any of the recordings differs from the base: places between nodes. What is written to in a region is made there."""
    found = _united((hunk.a, hunk.b) for run in runs for hunk in run.hunks)
    lives = [(made, place + 1) for made, place in written(base)]
    for run in runs:
        for made, place in written(run.block):
            lives.append((-1 if made < 0 else run.there(made)[0], run.there(place)[1]))
    while True:
        touched = [life for life in lives if any(life[0] < b and a < life[1] for a, b in found) and life not in found]
        united = _united([*found, *touched])
        if united == found:
            return found
        found = united


def _united(parts: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for a, b in sorted(parts):
        if found and a <= found[-1][1]:
            found[-1] = found[-1][0], max(b, found[-1][1])
        else:
            found.append((a, b))
    return found


class _Composer:
    def __init__(self, base: Block, runs: Sequence[Aligned], squeezed: Mapping[Value, Squeezed]) -> None:
        self.base, self.runs, self._squeezed = base, runs, squeezed
        self.nodes: list[Node] = []
        self._at = 0
        self._asked: list[_Asked] = []
        self._instead: dict[Value, Operand] = {}  # of all uses from here on
        self._instead_at: dict[Site, Operand] = {}
        self._made: list[dict[Value, Operand]] = [{} for _ in runs]  # what values of the recordings are
        self._joined: dict[Operand, int] = {}  # what comes out of regions, in order
        self._of: dict[Operand, set[Operand]] = {}  # what it may be

    def go_to(self, place: int) -> None:
        """Take the nodes of the base up to a place."""
        for index in range(self._at, place):
            node = self._node(index)
            self.nodes.append(node)
            if node.op == ASK:
                there = [run.makers.get(run.back.get(node.outputs[0])) for run in self.runs]  # type: ignore[arg-type]
                answers = {i: found.attributes["question"].answer for i, found in enumerate(there) if found is not None}
                self._asked.append(_Asked(node, {-1: node.attributes["question"].answer, **answers}))
        self._at = place

    def _node(self, index: int) -> Node:
        node = self.base.nodes[index]
        made = node.with_inputs(self.substituted(index, node.inputs))
        made.blocks = tuple(block.with_values(self._instead) for block in node.blocks)
        return made

    def substituted(self, index: int, operands: list[Operand], path: tuple[int, ...] = ()) -> list[Operand]:
        """The operands of a node of the base in the program that is made."""
        made: list[Operand] = []
        for place, operand in enumerate(operands):
            if isinstance(operand, list):
                operand = self.substituted(index, operand, (*path, place))
            elif isinstance(operand, Value):
                operand = self._now((index, (*path, place)), operand)
            made.append(operand)
        return made

    def _now(self, site: Site, value: Value) -> Operand:
        found = self._instead_at.get(site)
        return self._instead.get(value, value) if found is None else found

    def branch(self, start: int, end: int) -> bool:
        """Take what is in a region, on all ways; whether what was asked tells them apart."""
        if start < 0:
            return False  # an argument is written to
        parts = [_Part.of(-1, self.base.nodes[start:end], self._instead)]
        for place, run in enumerate(self.runs):
            parts.append(_Part.of(place, self._nodes_of(run, start, end), self._outside(place)))
        ways: list[_Way] = []
        for part in parts:
            alike = next((way for way in ways if part.is_as(way.first, self._may_be)), None)
            if alike is None:
                ways.append(_Way([part], part))
            else:
                alike.parts.append(part)
        for way in ways[1:]:
            way.first = max(way.parts, key=self._told)
        self._ask(parts, start, end)
        crossing = self._crossing(ways, end)
        if crossing is None:
            return False
        kinds = {tuple(map(id, operands)): operands for operands in crossing.values()}
        bodies = {
            way: self._body(way.first, [operands[at] for operands in kinds.values()], start, end)
            for at, way in enumerate(ways)
        }
        self._at = end
        branched = self._decided({part.run: way for way in ways for part in way.parts}, bodies)
        if branched is None:
            return False
        self.nodes += branched.nodes
        given = dict(zip(kinds, branched.returns))
        for joined, operands in zip(branched.returns, kinds.values()):
            self._joined[joined] = len(self._joined)
            self._of[joined] = set(operands).union(*(self._of.get(x, ()) for x in operands))
        for (site, x), operands in crossing.items():
            made = self._instead_at[site] = given[tuple(map(id, operands))]
            if x in parts[0].made and self._instead.setdefault(x, made) is not made:
                return False
            for way, operand in zip(ways, operands):
                for part in way.parts if operand in way.first.made else ():
                    if part.run >= 0:
                        self._made[part.run].setdefault(list(part.made)[way.first.made[operand]], made)
        return True

    def _may_be(self, x: Operand, y: Operand) -> bool:
        """Whether values may be the same: where something isn't done to a value, it has the name that it had before."""
        return x is y or x in self._of.get(y, ()) or y in self._of.get(x, ())

    def _told(self, part: _Part) -> int:
        """How much a recording tells of what operations in a region are done with: what the base has no name for in one region
        may have one in the next."""
        read = [x for node in part.nodes for x in _values(node.inputs) if x not in part.made]
        return sum(self._joined.get(part.outside.get(x), -1) + 1 for x in read)

    @staticmethod
    def _nodes_of(run: Aligned, start: int, end: int) -> list[Node]:
        return run.block.nodes[run.here(start, behind=False) : run.here(end, behind=True)]

    def _outside(self, place: int) -> dict[Value, Operand]:
        """What values of a recording are in the program that is made."""
        run = self.runs[place]
        known = {y: self._instead.get(x, x) for y, x in run.same.items()}
        return known | {x: y for x, y in self._instead.items() if x not in known} | self._made[place]

    def _ask(self, parts: Sequence[_Part], start: int, end: int) -> None:
        """What is asked in a region of what is made before it may be asked there."""
        asked: dict[Any, tuple[Node, dict[int, bool]]] = {}
        for part in parts:
            nodes = self.base.nodes[start:end] if part.run < 0 else self._nodes_of(self.runs[part.run], start, end)
            for node in nodes:
                if node.op == ASK and part.made.keys().isdisjoint(node.inputs):
                    leaves = [part.outside.get(x, x) for x in node.inputs]
                    question = node.attributes["question"]
                    key = question, *map(id, leaves)
                    asked.setdefault(key, (node.with_inputs(leaves), {}))[1][part.run] = question.answer
        self._asked += [_Asked(node, answers, False) for node, answers in asked.values()]

    def _crossing(self, ways: list[_Way], end: int) -> dict[tuple[Site, Value], tuple[Operand, ...]] | None:
        """What is used behind a region and made in it, on each way; the first of these is that of the base."""
        made = ways[0].first.made
        later = {output for node in self.base.nodes[end:] for output in node.outputs}
        found: dict[tuple[Site, Value], tuple[Operand, ...]] = {}
        for site, x in _sites(self.base, end):
            if x in later:
                continue
            now = self._now(site, x)
            given = [x if x in made else now, *(self._given(way, site, x, now, x in made) for way in ways[1:])]
            if x not in made and all(operand is now for operand in given):
                continue
            if any(operand is None or not are_of_one_kind(x, operand) for operand in given):
                return None
            found[site, x] = tuple(given)
        return found

    def _given(self, way: _Way, site: Site, x: Value, now: Operand, is_made: bool) -> Operand:
        """What is used at a site on a way; None where that isn't known."""
        found: list[Operand] = []
        for part in way.parts:
            run = self.runs[part.run]
            y = self._there(part, site, x) if is_made or site in run.crossing else None
            if y in part.made:
                return way.here(part, y)
            if is_made and y is not None and (y in part.outside or y not in run.makers):
                found.append(part.outside.get(y, y))
        if not is_made:
            return now
        # What two recordings have one name for may have two in a third one: the last that was given.
        return max(found, key=lambda value: self._joined.get(value, -1), default=None)

    def _there(self, part: _Part, site: Site, x: Value) -> Value | None:
        """What a value of the base that is used at a site is in a recording; None where that isn't known."""
        run = self.runs[part.run]
        if site in run.crossing:
            return run.crossing[site][1]
        several = {y for mine, y in run.crossing.values() if mine is x}
        return run.back.get(x) or (several.pop() if len(several) == 1 else None)

    def _body(self, part: _Part, returns: list[Operand], start: int, end: int) -> Block:
        """The nodes of a way on the values of the program that is made."""
        if part.run < 0:
            nodes = [self._node(index) for index in range(start, end) if self.base.nodes[index].op != ASK]
        else:
            instead = {y: x for y, x in part.outside.items() if y not in part.made}
            nodes = Block(nodes=part.nodes).with_values(instead).nodes
        return Block(nodes=[made for node in nodes for made in dropping(node, self._squeezed)], returns=returns)

    def _decided(self, chosen: Mapping[int, _Way], bodies: Mapping[_Way, Block]) -> Block | None:
        """The `prim::If`s that choose a way by what was asked; None where that doesn't tell."""
        if len(set(chosen.values())) == 1:
            return _again(bodies[next(iter(chosen.values()))])
        splits = []
        for asked in reversed(self._asked):
            if chosen.keys() <= asked.answers.keys():
                sides = [{run: way for run, way in chosen.items() if asked.answers[run] is a} for a in (True, False)]
                if all(sides):
                    splits.append((not set(sides[0].values()).isdisjoint(sides[1].values()), asked, sides))
        for _, asked, sides in sorted(
            splits, key=lambda split: split[0]
        ):  # what tells ways apart before what only helps
            then, other = (self._decided(side, bodies) for side in sides)
            if then is not None and other is not None:
                return _if(asked, then, other)
        return None


def _again(block: Block) -> Block:
    """The block with results of its own, as it may be there twice."""
    instead: dict[Value, Operand] = {}
    nodes: list[Node] = []
    for node in block.nodes:
        (copy,) = Block(nodes=[node]).with_values(instead).nodes
        copy.outputs = [Value(x.name, x.type, lambda x=x: x.tensor_type) for x in node.outputs]  # type: ignore[misc]
        instead.update(zip(node.outputs, copy.outputs))
        nodes.append(copy)
    return Block(nodes=nodes, returns=Block(returns=block.returns).with_values(instead).returns)


def _if(asked: _Asked, then: Block, other: Block) -> Block:
    where = Location("", asked.node.attributes["question"].place)
    number, nodes = asked.node.outputs[0], list[Node]()
    if not asked.is_there:  # here it is: elsewhere there may be no answer, as where it divides by 0
        nodes.append(asked.node.with_inputs(asked.node.inputs))
        number = Value(number.name)
        nodes[0].outputs = [number]
    nodes.append(as_bool(number, where))
    made = [joining(x) for x in then.returns]
    nodes.append(Node("prim::If", [nodes[-1].outputs[0]], made, blocks=(then, other), location=where))
    return Block(nodes=nodes, returns=list(made))


def _sites(block: Block, start: int) -> list[tuple[Site, Value]]:
    """The values that nodes from a place on, and the returns, read."""
    found: list[tuple[Site, Value]] = []

    def walk(index: int, operands: list[Operand], path: tuple[int, ...]) -> None:
        for place, operand in enumerate(operands):
            if isinstance(operand, list):
                walk(index, operand, (*path, place))
            elif isinstance(operand, Value):
                found.append(((index, (*path, place)), operand))

    for index in range(start, len(block.nodes)):
        walk(index, block.nodes[index].inputs, ())
    walk(len(block.nodes), block.returns, ())
    return found
