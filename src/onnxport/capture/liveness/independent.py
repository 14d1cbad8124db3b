"""A model with several `if`s on sizes (`if h % 2: x = pad(x)` on each level), as a program with an `if` for each.

There may be as many ways as sizes, but each `if` has two: where a few recordings differ, they do one of a few things (see
`regions`). Of these a program is made, which is held against the model on each way that is known of; where it gives other
results, the model is recorded too.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ...program import Program, Value
from .aligned import Aligned, aligned
from .beyond import are_recordable, beyond, is_runnable
from .comparison import given
from .dropped import squeezed
from .ints import ints_at_uses
from .questions import with_questions
from .regions import composed
from .trial_sizes import Sizes, crossing, doubled
from .trials import Known, Reruns, Trial, Trials

# So many recordings, and so many nodes in all of them.
_RUNS, _NODES = 24, 60_000
# On so many ways the program is held against the model, and on so many if it has few nodes; then as many are recorded beside.
_TRIED, _TRIED_OF_FEW, _FEW_NODES, _BESIDE = 64, 400, 500, 8
_BASES = 4  # of so many of them it is tried to make a program
_UNTOLD = 8  # so many times recordings may not tell enough to make a program of them


def by_regions(
    program: Program, sizes: Sizes, reruns: Reruns, read: Callable[[Trial], Program], known: Known
) -> Program | None:
    """The program that decides each thing by itself; None where recordings of the model don't go together, or take numbers.

    Args:
        read: gives the program of a recording at other sizes.
    """
    return _Regions(program, sizes, reruns, read, known).found()


class _Recorded(Trials):
    """One recording; what is asked of it is held against the program of all."""

    def __init__(self, of: _Regions, program: Program, sizes: Sizes) -> None:
        super().__init__(program, sizes, of.reruns)
        self._of = of
        self.asking = with_questions(program)

    def agree(self, options: Iterable[dict[str, int]], *, each: bool = False) -> bool:
        return all(self._of.agrees(at) for at in map(self.allowed, options))

    @property
    def is_exact(self) -> bool:
        conditions = self.program.conditions
        return (
            not (self.program.state or self.program.readings or conditions.lost)
            and self.program.keeps_sizes
            and len(conditions.decided.numbers) == len(conditions.numbers)
        )

    @property
    def decided(self) -> Any:
        return self.program.conditions.decided


def _others(mine: Any, theirs: Any) -> int:
    """How many answers are others."""
    told = isinstance(mine, tuple) and isinstance(theirs, tuple)
    return sum(a != b for a, b in zip(mine, theirs)) if told else 0


class _Regions:
    def __init__(
        self, program: Program, sizes: Sizes, reruns: Reruns, read: Callable[[Trial], Program], known: Known
    ) -> None:
        self.program, self.sizes, self.reruns, self._read, self._known = program, sizes, reruns, read, known
        self._plain = Trials(program, sizes, reruns)
        self._runs: list[_Recorded] = []
        self._beside: list[_Recorded] = []  # which give what the program gives
        self._composed: Program | None = None
        self._right: dict[tuple[int, ...], bool] = {}
        self._were_right: set[tuple[int, ...]] = set()
        self._untold = 0
        self._base: _Recorded | None = None
        self._beside_of: dict[int, _Beside] = {}

    def found(self) -> Program | None:
        """See `by_regions`."""
        if not self._record(dict(self.sizes)):
            return None
        at = self._farthest_way()
        while at is not None:
            if len(self._runs) == _RUNS or not self._record(at):
                return None
            at = self._made_right()
        return self._composed if self._composed is not None and self._known(self._composed) else None

    def _made_right(self) -> dict[str, int] | None:
        """Make a program of the recordings; the sizes at which to record the model too, None if there is no need to, or no use."""
        bases = sorted(self._runs, key=lambda run: (run is not self._base, -len(run.asking.nodes)))
        made = [run.sizes for run in self._runs]
        at: dict[str, int] | None = None
        for base in bases[:_BASES]:
            self._composed = self._compose(base)
            self._right.clear()
            if self._composed is None:
                continue
            at = self._wrong()
            if at is None:
                self._base = base
                told, at = self._far()
                if told and at is None:
                    self._composed = None
                return at
            if at not in made:  # it doesn't go together as it should if it is wrong where it was recorded
                self._base = base
                return at
        self._composed = None
        return self._unseen()

    def _record(self, sizes: dict[str, int]) -> bool:
        """Whether the model was recorded at sizes, for the first time, and is known to be the same wherever it is answered the
        same."""
        made = [run.sizes for run in self._runs]
        if sizes in made or not are_recordable(self._plain, [*made, sizes]):
            return False
        run = self._recorded(sizes)
        if run is None or not run.is_exact:
            return False
        self._runs.append(run)
        return sum(len(run.asking.nodes) for run in self._runs) <= _NODES

    def _recorded(self, sizes: dict[str, int]) -> _Recorded | None:
        trial = self._plain.at(sizes)
        if trial is None:
            return None
        return _Recorded(self, self._read(trial), trial.sizes)

    def _ways(self) -> list[tuple[int, dict[str, int]]]:
        """The first sizes of each way, and how many answers are others there than in the example; first those with a new pair of
        answers."""
        runs = [*self._runs, *self._beside]
        options = {tuple(at.values()): at for run in runs for at in run.scanned(run.decided)}
        computed = [self.reruns.computed(run.decided, [self.sizes, *options.values()]) for run in runs]
        mine, *answered = zip(*computed)
        distinct: dict[Any, dict[str, int]] = {}
        for at, answers in zip(options.values(), answered):
            told = (given if isinstance(given, tuple) else "untold" for given in answers)
            distinct.setdefault((0 in at.values(), *told), at)
        seen: set[Any] = set()
        new: list[tuple[int, dict[str, int]]] = []
        more: list[tuple[int, dict[str, int]]] = []
        for (empty, *way), at in distinct.items():
            pairs = {
                (empty, i, pair)
                for i, answers in enumerate(way)
                for pair in itertools.combinations_with_replacement(enumerate(answers), 2)
            }
            (more if pairs <= seen else new).append((sum(map(_others, mine, way)), at))
            seen |= pairs
        new += [
            (others, at) for others, near in new for at in self._plain.wider([near], self.program.conditions.decided)
        ]
        return [*new, *more][: _TRIED_OF_FEW if len(self.program.block.nodes) <= _FEW_NODES else _TRIED]

    def _farthest_way(self) -> dict[str, int] | None:
        """Sizes at which most is answered otherwise: where each level pads, say."""
        ways = [(others, at) for others, at in self._ways() if 0 not in at.values() and self._plain.runs(at)]
        return max(ways, key=lambda way: way[0])[1] if ways else None

    def _wrong(self) -> dict[str, int] | None:
        """Sizes at which the program gives other results than the model; the fewer answers are others, the more they tell."""
        ways = [at for _, at in sorted(self._ways(), key=lambda way: way[0])]
        larger = [self._plain.allowed(doubled(run.sizes)) for run in self._runs]
        tried = [*ways, *map(self._plain.allowed, crossing(self.sizes)), *larger]
        # Where programs of fewer recordings were right this one is, too, most likely.
        for at in sorted(tried, key=lambda at: tuple(at.values()) in self._were_right):
            if not self.agrees(at):
                return at
        return self._wrong() if self._look_behind() else None

    def _unseen(self) -> dict[str, int] | None:
        """Sizes of a way that wasn't recorded, as those that were don't tell enough; the fewer answers are others, the more they
        tell."""
        self._untold += 1
        if self._untold > _UNTOLD:
            return None
        made = [run.sizes for run in self._runs]
        ways = sorted(self._ways(), key=lambda way: way[0])
        return next((at for _, at in ways if at not in made and 0 not in at.values() and self._plain.runs(at)), None)

    def _look_behind(self) -> bool:
        """Record the model on ways on which the program is right: behind them it may ask more."""
        before = len(self._beside)
        made = [run.sizes for run in (*self._runs, *self._beside)]
        for _, at in sorted(self._ways(), key=lambda way: way[0]):
            small = len(self.program.block.nodes) <= _FEW_NODES and len(self._beside) < _BESIDE
            run = self._recorded(at) if small and at not in made and 0 not in at.values() else None
            if run is not None:
                self._beside.append(run)
        return len(self._beside) > before

    def _far(self) -> tuple[bool, dict[str, int] | None]:
        """Whether something is decided otherwise far above the example's sizes; and where, if the model can be run there."""
        for run in (*self._runs, *self._beside):
            told, where = beyond(run, unchanged=True)
            if told:
                may_run = where and is_runnable(run, where, max(where, key=lambda label: where[label]))
                return True, where if may_run and not self.agrees(where) else None
        return False, None

    def agrees(self, sizes: Mapping[str, int]) -> bool:
        """Whether the program gives what the model gives, if that runs there."""
        key = tuple(sizes.values())
        if key not in self._right:
            assert self._composed is not None
            self._right[key] = Trials(self._composed, self.sizes, self.reruns).gives_results(sizes)
            if self._right[key]:
                self._were_right.add(key)
        return self._right[key]

    def _compose(self, base: _Recorded) -> Program | None:
        beside = self._beside_of.setdefault(id(base), _Beside(base))
        if not beside.add(run for run in self._runs if run is not base):
            return None
        block = composed(beside.block, beside.aligned, beside.squeezed)
        if block is None:
            return None
        kept = [run.program.keep_alive for run in self._runs]
        weights = dict(beside.weights)
        return dataclasses.replace(base.program, block=block, weights=weights, readings=[], keep_alive=kept)


class _Beside:
    """Recordings beside one of them, in the order in which they were made."""

    def __init__(self, base: _Recorded) -> None:
        self._program, self.block = base.program, ints_at_uses(base.asking)
        self.weights: dict[Value, Any] = dict(base.program.weights)
        self.squeezed = squeezed(base.asking)
        self.aligned: list[Aligned] = []
        self._added: set[int] = set()

    def add(self, runs: Iterable[_Recorded]) -> bool:
        """Take recordings that aren't there yet; whether all can be told to go on alike."""
        for run in runs:
            if id(run) in self._added:
                continue
            same = given(dataclasses.replace(self._program, weights=self.weights), run.program)
            beside = aligned(self.block, ints_at_uses(run.asking).with_values(same))
            if beside is None:
                return False
            self.weights.update({value: w for value, w in run.program.weights.items() if value not in same})
            self.squeezed.update(squeezed(run.asking))
            self.aligned.append(beside)
            self._added.add(id(run))
        return True
