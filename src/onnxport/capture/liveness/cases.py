"""A model with `if`s on sizes whose ways differ (`if n % 4: x = pad(x)`), recorded once on each way.

Two runs are the same until the model asks something of the sizes to which the answers differ. So the recordings are the
branches of a `prim::If` on what it asks there, behind what they have in common. A recording is right wherever all that it
asked has the same answers. Sizes at which something else is answered are looked for as for any program; where the model
gives other results there, it is recorded once more.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from typing import Any, Union

from ...dims import Dim, free_symbols
from ...program import Block, Location, Node, Program
from .beyond import are_recordable, beyond, is_runnable
from .comparison import given
from .independent import by_regions
from .ints import ints_at_uses
from .joined import joined, leading_to
from .report import Frozen, Report
from .trial_sizes import Sizes, crossing, doubled
from .trials import Known, Reruns, Trial, Trials, elements, in_blocks
from .values import Other

# So many recordings, and so many nodes in all of them: a graph of more is no help.
_CASES, _NODES = 16, 10_000
# So many more are made to see what is asked behind ways that give the same, of programs that have few nodes.
_BESIDE, _FEW_NODES = 8, 500
_OF_VALUES = "this is decided as in the example; whether by sizes or by values isn't known"


def by_cases(
    program: Program,
    sizes: Sizes,
    reruns: Reruns,
    read: Callable[[Trial], Program],
    known: Known,
    thaw: Callable[[Trials], Report],
) -> tuple[Program, list[Frozen]] | None:
    """The program that has a branch for each way, and what it decides as in the example, as values may matter there; None where
    ways can't be told apart by sizes, are too many, or give what doesn't go together.

    Args:
        read: gives the program of a recording at other sizes.
        thaw: replaces constants of one recording that follow a size.
    """
    found = by_regions(program, sizes, reruns, read, known)
    if found is not None:
        return found, []
    cases = _Cases(program, sizes, reruns, read, known)
    may_be = cases.find() and all(case.is_live(thaw) for case in cases.found) and cases.have_same_dtypes()
    found = cases.joined() if may_be else None
    if found is None or not known(found):
        return None
    tried = [dict(case.sizes) for case in cases.found]
    tried += [doubled(sizes), *crossing(sizes), *(doubled(at) for at in tried[1:])]
    if not all(map(Trials(found, sizes, reruns).gives_results, tried)):
        return None
    unsure = {number.place for case in cases.found for number in case.program.conditions.undecided if number.place}
    return found, [Frozen(Location("", place), _OF_VALUES) for place in sorted(unsure)]


@dataclasses.dataclass(frozen=True, slots=True)
class _Split:
    """What is asked at one place of recordings that are the same before it, and those with the one and the other answer."""

    asked: Any  # `Conditions` of one number
    nodes: list[Node]  # that compute it, the last of them the number itself; as they were recorded
    place: str
    answer: bool
    alike: Union[_Split, _Case]
    others: Union[_Split, _Case]

    @property
    def first(self) -> _Case:
        return self.alike if isinstance(self.alike, _Case) else self.alike.first


class _Case(Trials):
    """One recording, which is held against the model, and others, only where it is the one that is chosen."""

    def __init__(self, cases: _Cases, program: Program, sizes: Sizes, known: Mapping[str, Any]) -> None:
        """`known` has sizes as expressions of the labels, by the names of values."""
        super().__init__(program, sizes, cases.reruns)
        self._cases = cases
        self.known_sizes = {name: size for name, size in known.items() if _is_of(size, sizes)}
        self.asking = Block(nodes=list(program.block.nodes))  # as it was recorded

    def agree(self, options: Iterable[dict[str, int]], *, each: bool = False) -> bool:
        return all(self._cases.chosen(at).agrees_at(at) for at in map(self.allowed, options))

    def at(self, sizes: dict[str, int], values: Other | None = None) -> Trial | None:
        return super().at(sizes, values) if self._is_mine(sizes) else None

    def runs(self, sizes: Sizes) -> bool:
        return self._is_mine(sizes) and super().runs(sizes)

    def first(self, options: Iterator[dict[str, int]]) -> Trial | None:
        return super().first(itertools.chain(options, self.same_way()))

    def gives_results(self, sizes: Sizes, values: Other | None = None) -> bool:
        return not self._is_mine(sizes) or super().gives_results(sizes, values)

    def _is_mine(self, sizes: Sizes) -> bool:
        return self._cases.chosen(self.allowed(sizes)) is self

    @property
    def is_exact(self) -> bool:
        """Whether the recording is right wherever what it asked has the same answers."""
        conditions = self.program.conditions
        return self.program.keeps_sizes and len(conditions.decided.numbers) == len(conditions.numbers)

    def is_live(self, thaw: Callable[[Trials], Report]) -> bool:
        """Whether the recording is right wherever it is chosen, after constants that follow a size were replaced."""
        if self.is_exact:
            return True  # it has none
        report = thaw(self)
        return not (report.frozen or report.guessed)

    def asks_as(self, other: _Case) -> bool:
        """Whether another recording asked the same and was answered the same."""
        return self.program.conditions.first_other(other.program.conditions) is None

    def agrees_at(self, sizes: dict[str, int]) -> bool:
        return super().agree([sizes])


class _Cases:
    """The recordings that there are, the first of them at the example's sizes."""

    def __init__(
        self,
        program: Program,
        sizes: Sizes,
        reruns: Reruns,
        read: Callable[[Trial], Program],
        known: Known,
    ) -> None:
        self.program, self.sizes, self.reruns, self._read, self._known = program, sizes, reruns, read, known
        self._plain = Trials(program, sizes, reruns)
        self.found: list[_Case] = []
        self._beside: list[_Case] = []  # on ways that give the same as one of these
        self._looked: set[Any] = set()
        self._tree: _Split | _Case | None = None
        self._tried: list[dict[str, int]] = []

    def find(self) -> bool:
        """Record the model on each way; whether that tells what it does at all sizes."""
        at: dict[str, int] | None = dict(self.sizes)
        while at is not None:
            made = [case.sizes for case in self.found]
            may_be = len(made) < _CASES and are_recordable(self._plain, [*made, at])
            if not may_be or not self._record(at):
                return False
            at = self._uncovered()
            if at is None:
                untold, at = self._far()
                if untold:
                    return False
        return len(self.found) > 1

    def _record(self, sizes: dict[str, int]) -> bool:
        """Whether the model at these sizes may be a case of its own; it is none if it only has other constants."""
        trial = self._plain.at(sizes)
        case = self._case(trial) if trial is not None else None
        if case is None or not _may_be_case(case.program):
            return False
        self._tried.append(sizes)
        if self.found and self.chosen(sizes).asks_as(case):
            return not self.chosen(sizes).is_exact
        self.found.append(case)
        if sum(len(case.program.block.nodes) for case in self.found) > _NODES:
            return False
        self._tree = _tree(self.found)
        return self._tree is not None

    def _case(self, trial: Trial) -> _Case:
        program = self._read(trial)
        return _Case(self, program, trial.sizes, self._known(program))

    def _uncovered(self) -> dict[str, int] | None:
        """The first sizes at which the recording that is chosen gives other results than the model."""
        ways: dict[Any, tuple[_Case, list[dict[str, int]]]] = {}
        for case, sizes in self._scanned():
            mine, answers = self.reruns.computed(case.program.conditions.decided, [case.sizes, sizes])
            if answers != mine:
                # Where something is asked behind what doesn't go with these sizes, there is no telling.
                way = answers if isinstance(answers, tuple) else None
                ways.setdefault((id(case), way, 0 in sizes.values()), (case, []))[1].append(sizes)
        for _, alike in ways.values():
            near = alike[0], min(alike, key=elements), in_blocks(alike, self.sizes)
            for at in (*near, *case.wider(near[1:2], case.program.conditions.decided)):
                if at not in self._tried and not self.chosen(at).agrees_at(at):
                    return at
        for at in (case.allowed(doubled(case.sizes)) for case in self._beside):  # ints that are taken there show
            if at not in self._tried and not self.chosen(at).agrees_at(at):
                return at
        return self._uncovered() if self._look_behind(ways) else None

    def _scanned(self) -> Iterator[tuple[_Case, dict[str, int]]]:
        """Sizes at which something may be decided otherwise, and the recording that tells whether it is."""
        for case in self.found:
            yield from ((self.chosen(sizes), sizes) for sizes in case.scanned(case.program.conditions.decided))
        for case in self._beside:
            yield from ((case, sizes) for sizes in case.scanned(case.program.conditions.decided))

    def _look_behind(self, ways: Mapping[Any, tuple[_Case, list[dict[str, int]]]]) -> bool:
        """Record the model on ways that give what a recording gives: behind them it may ask more."""
        before = len(self._beside)
        for key, (case, alike) in ways.items():
            if key in self._looked or 0 in alike[0].values() or len(self._beside) >= _BESIDE:
                continue
            self._looked.add(key)
            trial = self._plain.at(alike[0]) if len(case.program.block.nodes) <= _FEW_NODES else None
            if trial is not None:
                self._beside.append(self._case(trial))
        return len(self._beside) > before

    def _far(self) -> tuple[bool, dict[str, int] | None]:
        """Whether something is decided otherwise far above the example's sizes; and where, if the model can be run there."""
        for case in (*self.found, *self._beside):
            told, where = beyond(case, unchanged=True)
            if told:
                may_run = where and is_runnable(case, where, max(where, key=lambda label: where[label]))
                return not may_run or self.chosen(where).agrees_at(where), where
        return False, None

    def chosen(self, sizes: dict[str, int]) -> _Case:
        """The recording whose answers are those at some sizes, as far as any are."""
        tree = self._tree
        while isinstance(tree, _Split):
            (answers,) = self.reruns.computed(tree.asked, [sizes])
            tree = tree.alike if not isinstance(answers, tuple) or answers[0] == tree.answer else tree.others
        assert tree is not None
        return tree

    def have_same_dtypes(self) -> bool:
        """Whether the results have the same dtypes on all ways; an output of the exported model has one."""
        results = [self.reruns.run(case.sizes) for case in self.found]
        dtypes = {tuple(x.dtype for x in given) for given in results if not isinstance(given, Exception)}
        return len(dtypes) <= 1

    def joined(self) -> Program | None:
        """One program of all recordings; None where one isn't the same as another before they are to differ."""
        first, *rest = self.found
        weights = dict(first.program.weights)
        blocks = {id(first): ints_at_uses(first.program.block)}
        for case in rest:
            same = given(dataclasses.replace(first.program, weights=weights), case.program)
            weights.update({value: weight for value, weight in case.program.weights.items() if value not in same})
            blocks[id(case)] = ints_at_uses(case.program.block.with_values(same))
            case.asking = case.asking.with_values(same)
        tree = _tree(self.found)
        block = None if tree is None else _joined(tree, blocks)
        if block is None:
            return None
        kept = [case.program.keep_alive for case in self.found]
        return dataclasses.replace(first.program, block=block, weights=weights, readings=[], keep_alive=kept)


def _is_of(size: Any, labels: Container[str]) -> bool:
    """Whether a size is an expression of the labels alone."""
    return isinstance(size, int) or (isinstance(size, Dim) and all(symbol in labels for symbol in free_symbols(size)))


def _may_be_case(program: Program) -> bool:
    """Whether it is known which of its decisions hang on sizes; others stay as they are in all recordings."""
    return not (program.state or program.conditions.lost) and all(reading.of_sizes for reading in program.readings)


def _tree(cases: list[_Case]) -> _Split | _Case | None:
    """What tells recordings apart; None where nothing does."""
    first, *rest = cases
    if not rest:
        return first
    asked = first.program.conditions
    places = [asked.first_other(case.program.conditions) for case in rest]
    if any(place is None for place in places):
        return None
    place = min(place for place in places if place is not None)
    number, value = asked.taken[place]
    of_sizes = any(decided is value for _, decided in asked.decided.taken)
    nodes = leading_to(first.asking, value.debugName(), first.known_sizes) if of_sizes else []
    alike = _tree([first, *(case for case, at in zip(rest, places) if at != place)])
    others = _tree([case for case, at in zip(rest, places) if at == place])
    if not nodes or alike is None or others is None:
        return None
    return _Split(asked.one(place), nodes, number.place, number.content, alike, others)


def _joined(tree: _Split | _Case, blocks: Mapping[int, Block]) -> Block | None:
    """The block of a tree, of those of its recordings; None where they return other numbers of results."""
    if isinstance(tree, _Case):
        return blocks[id(tree)]
    alike, others = _joined(tree.alike, blocks), _joined(tree.others, blocks)
    if alike is None or others is None or len(alike.returns) != len(others.returns):
        return None
    return joined(alike, others, tree.nodes, answer=tree.answer, where=Location("", tree.place))
