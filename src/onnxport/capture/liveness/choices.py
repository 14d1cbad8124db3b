"""Ints that an `if` on sizes chooses: `pads[1] = 1 if skip.shape[-1] != x.shape[-1] else 0`.

Each such `if` doubles the ways that there are, so that branches for all of them soon are too many. But where the runs that
go other ways differ in one number, that number is chosen by what was asked, and is computed from that.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from ...program import Node, Program, Value
from ...program.schema import Schema, parse
from ..watch.readings import is_pure, operands
from .trial_sizes import Sizes
from .trials import Trials

# So many questions of one run are looked at.
_QUESTIONS = 200
_INT = parse("aten::Int.Tensor(Tensor a) -> int")
_BOOL = parse("aten::Bool.Tensor(Tensor a) -> bool")
_OF_BOOL = parse("aten::Int.bool(bool a) -> int")
_MUL = parse("aten::mul.int(int a, int b) -> int")
_ADD = parse("aten::add.int(int a, int b) -> int")

Answers = tuple[bool, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Choice:
    """One number where a question was answered by yes, another one where by no."""

    question: int
    yes: int
    no: int
    confirmed: bool  # by two runs of each


class Choices:
    """What one run asked of its sizes, with the nodes that compute it; made before those that only Python read are dropped."""

    def __init__(self, program: Program) -> None:
        self._program = program
        taken = program.conditions.taken
        self._places = [number.place for number, _ in taken]
        of_sizes = {id(value) for _, value in program.conditions.decided.taken} if taken else set()
        # Where a run took another kind of number, or very many, there is more to it than questions.
        plain = len(taken) <= _QUESTIONS and all(isinstance(number.content, bool) for number, _ in taken)
        self._names = {
            i: value.debugName() for i, (n, value) in enumerate(taken) if plain and id(value) in of_sizes and not n.ends
        }
        self._nodes = list(program.block.nodes) if self._names else []
        self.answers = self.of(program)

    def of(self, other: Program) -> Answers | None:
        """What was answered in another run; None if that asked something else."""
        taken = other.conditions.taken if self._names else ()
        if not self._names or [number.place for number, _ in taken] != self._places:
            return None
        return tuple(bool(number.content) for number, _ in taken)

    def fitting(self, observed: Sequence[tuple[Answers | None, int]]) -> list[Choice]:
        """The questions of which each may decide which of two numbers this is in all runs."""
        seen = [(answers, number) for answers, number in observed if answers is not None]
        if len(seen) < len(observed) or len({number for _, number in seen}) != 2:
            return []
        found = []
        for question in self._names:
            yes, no = ([number for answers, number in seen if answers[question] is way] for way in (True, False))
            if len(set(yes)) == len(set(no)) == 1:
                found.append(Choice(question, yes[0], no[0], confirmed=min(len(yes), len(no)) > 1))
        return found

    def telling(self, groups: Sequence[Sequence[Choice]], trials: Trials, tried: Sequence[Sizes]) -> Sizes | None:
        """Sizes that aren't tried yet at which most groups have questions that are answered otherwise than the rest, or than in
        the example where there is one; as far as the answers are known without a run."""
        conditions = self._program.conditions
        options = [sizes for sizes in trials.scanned(conditions.decided) if sizes not in tried]
        every = [trials.sizes, *options]
        # One by one: what comes behind may go with the example's answers alone.
        answers = {
            question: trials.reruns.computed(conditions.one(question), every)
            for question in {choice.question for group in groups for choice in group}
        }

        def told(i: int, group: Sequence[Choice]) -> bool:
            given = [answers[choice.question] for choice in group]
            known = {some[i] for some in given if isinstance(some[i], tuple)}
            return len(known) > 1 or (len(group) == 1 and known not in (set(), {given[0][0]}))

        scores = {i: sum(told(i, group) for group in groups) for i in range(1, len(every))}
        best = max(scores, key=lambda i: scores[i], default=0)
        return every[best] if best and scores[best] else None

    def computed(self, choice: Choice, near: Node) -> tuple[list[Node], Value] | None:
        """Nodes that compute the number, to be put before a node; None where what was asked isn't computed before it."""
        name = self._names[choice.question]
        value = next((v for node in self._nodes for v in node.outputs if v.name == name), None)
        if value is None or not self._restore(value, near):
            return None
        made: list[Node] = []

        def add(schema: Schema, *inputs: object) -> Value:
            output = Value(f"{name}.choice.{len(made)}", schema.returns[0].type)
            made.append(
                Node(schema.full_name, list(inputs), [output], schema=schema, scope=near.scope, location=near.location)
            )
            return output

        chosen = add(_OF_BOOL, add(_BOOL, value))
        if choice.yes - choice.no != 1:
            chosen = add(_MUL, chosen, choice.yes - choice.no)
        return made, add(_ADD, chosen, choice.no) if choice.no else chosen

    def _restore(self, value: Value, near: Node) -> bool:
        """Whether the value is computed before a node; what was dropped of that comes back to where it was."""
        nodes = self._program.block.nodes
        place = {id(node): i for i, node in enumerate(self._nodes)}
        there = {id(node) for node in nodes}
        end = place.get(id(near))
        if end is None or id(near) not in there:
            return False
        wanted, missing = {value}, []
        for node in reversed(self._nodes[:end]):
            if id(node) in there or wanted.isdisjoint(node.outputs):
                continue
            if not is_pure(node):
                return False
            missing.append(node)
            wanted.update(operands(node))
        given = {output for node in self._nodes[:end] for output in node.outputs}
        if value not in given:
            return False
        for node in reversed(missing):
            after = next(i for i, n in enumerate(nodes) if place.get(id(n), -1) > place[id(node)])
            nodes.insert(after, node)
        return True
