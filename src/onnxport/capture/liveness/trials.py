"""The model at other sizes, held against a program of it."""

from __future__ import annotations

import collections
import dataclasses
import itertools
import math
import traceback
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from types import CodeType
from typing import Any, Protocol, TypeAlias

import torch

from ...program import Program
from ...program.labels import sum_in
from ..graph import INNER
from ..tracing.caught import Failing
from .comparison import same_text
from .dead import drop_dead
from .read_lists import ReadLists
from .report import listed
from .trial_sizes import Sizes, far, how_many, scanned
from .values import ALIKE, Other, are_told_apart, counts_otherwise, counts_rows, numbers, others

# A model with very many dynamic axes is run at no more than so many choices of those that are changed, ...
_GROUPS = 24
# ... and of no more than so many it is told which are frozen.
_GUILTY = 8
# Numbers of which it is known how they are computed from sizes.
_NUMBERS = ("a Python int", "a Python float", "a Python number")
# So many sizes are tried where an `if` goes another way, and so many in all.
_TIMES, _WAYS = 2, 6
_LONGER = 2  # the elements of what is run are at most so many times the example's, where there is a choice
_VALUES = 4  # choices of other values that are tried for other numbers of rows
_LONG = 2000  # nodes of a program that takes long to trace

# Gives sizes as expressions of the labels, by the names of values of a program; none of one that can't be converted.
Known: TypeAlias = Callable[[Program], Mapping[str, Any]]


class Recording(Protocol):
    """A run of the model that was recorded."""

    @property
    def graph(self) -> Any: ...

    @property
    def read(self) -> Callable[[], Program]: ...


class Reruns(Protocol):
    """A model at other sizes; what it raises where it doesn't run at these."""

    def trace(self, sizes: Sizes, values: Other | None = None) -> Recording | Exception: ...

    def run(self, sizes: Sizes, failing: Any = None, values: Other | None = None) -> list[torch.Tensor] | Exception: ...

    def takes(self, sizes: Sizes) -> bool: ...

    def replay(self, graph: Any, sizes: Sizes) -> list[torch.Tensor] | Exception: ...

    def interpreted(
        self, program: Program, sizes: Sizes, values: Other | None = None
    ) -> list[torch.Tensor] | Exception: ...

    def hold(self, conditions: Any, sizes: Sizes) -> bool | Exception | None: ...

    def trace_live(self, places: Iterable[str], codes: Iterable[CodeType]) -> Recording | Exception | None: ...

    def trace_plain(self) -> None: ...

    def computed(self, numbers: Any, options: Sequence[Sizes]) -> list[Any]: ...

    def effort(self, sizes: Sizes) -> int: ...


@dataclasses.dataclass(slots=True)
class Trial:
    sizes: dict[str, int]
    recording: Recording
    same: bool
    program: Program | None = None
    rolls: Any = None  # how what repeats is made loops (see `rolled`)
    values: Other | None = None  # other ones of the arguments
    tables: Sequence[Any] = ()  # constants that are spelled out (see `tables`)

    @property
    def where(self) -> str:
        return listed(self.sizes) if self.values is None else "other values of the arguments"

    def read(self) -> Program:
        if self.program is None:
            self.program = self.recording.read()
            drop_dead(self.program)
            if self.tables:
                from .tables import spell

                spell(self.program, self.tables)
            if self.rolls:
                from .rolled import roll

                lists = ReadLists(self.program)
                self.program.block = roll(self.program.block, self.rolls, lists) or self.program.block
        return self.program


class Trials:
    """Traces at other sizes.

    Args:
        other: another program of the model, which may decide what this one doesn't.
    """

    def __init__(self, program: Program, sizes: Sizes, reruns: Reruns, other: Program | None = None) -> None:
        self.program, self.sizes, self.reruns = program, sizes, reruns
        self._other = other
        self.failure = ""
        self.rolls: Any = None
        self.tables: Sequence[Any] = ()
        self._known: dict[tuple[int, ...], bool | None] = {}
        self._agreed: dict[tuple[int, ...], bool] = {}
        self._scanned: dict[tuple[str, ...], list[dict[str, int]]] = {}
        self.caught: list[dict[str, int]] = []  # sizes at which the model went on behind an error

    def about(self, sizes: Sizes) -> Trials:
        """The same for other sizes in place of the example's; what was seen of the program holds."""
        trials = Trials(self.program, sizes, self.reruns, self._other)
        trials._agreed = self._agreed
        return trials

    def allowed(self, sizes: Sizes) -> dict[str, int]:
        """Sizes that may be, near to these."""
        return self.program.labels.allowed(self.sizes, sizes)

    @property
    def compared(self) -> Container[str]:
        """The labels of sizes that may have been compared with numbers."""
        conditions = self.program.conditions
        if not self.program.keeps_sizes or conditions.lost or conditions.incomplete:
            return self.sizes
        found = conditions.labels if conditions.numbers else frozenset[str]()
        return self.sizes if found is None else found  # type: ignore[no-any-return]

    @property
    def takes_long(self) -> bool:
        """Whether the program takes long to trace."""
        return sum(1 for _ in self.program.keep_alive.nodes()) > _LONG

    def free_labels(self, numbers: Any) -> list[str]:
        """The labels that numbers of `Conditions` hang on; in place of one that is kept the sum of two others, these."""
        total, parts = sum_in(self.sizes) if self.program.labels.keeps_sum else ("", ())
        found = {*self._labels_of(numbers)}
        if parts and total in found:
            found = {*found, *parts} - {total}
        return [label for label in self.sizes if label in found]

    def scanned(self, numbers: Any) -> list[dict[str, int]]:
        """Sizes at which to look what numbers of `Conditions` are, the nearest to the example's first; of all labels that they
        hang on."""
        labels = tuple(self.free_labels(numbers))
        if labels not in self._scanned:
            found = scanned({label: self.sizes[label] for label in labels}, self.program.conversions or ())
            self._scanned[labels] = [self.allowed({**self.sizes, **sizes}) for sizes in found]
        return self._scanned[labels][: how_many(numbers.cost)]

    def runs(self, sizes: Sizes) -> bool:
        sizes = self.allowed(sizes)
        if sizes == self.sizes:
            return False
        failing = Failing()
        outputs = self.reruns.run(sizes, failing)
        if isinstance(outputs, Exception):
            self.failure = self.failure or f"at {listed(sizes)}: {_raised(outputs)}"
            return False
        if failing.failed:
            self._known[tuple(sizes.values())] = False
            self.caught.append(sizes)
        return True

    def known(self, sizes: Sizes) -> bool | None:
        """Whether the program is the same at other sizes, as the numbers that Python took out of sizes tell; None if
        it has one of them as a constant, or if nothing is known."""
        if not self.program.keeps_sizes:
            return None
        sizes = self.allowed(sizes)
        key = tuple(sizes.values())
        if key not in self._known:
            held = self.reruns.hold(self.program.conditions, sizes) if self.program.conditions.numbers else True
            self._known[key] = False if isinstance(held, Exception) else held
        return self._known[key]

    def take_bools(self, trials: Sequence[Trial]) -> bool:
        """Whether the program took nothing but bools out of sizes, or no other numbers at those of some trials."""
        conversions, conditions = self.program.conversions or [], self.program.conditions
        if all(c.decides for c in conversions):
            return True
        if not self.program.keeps_sizes or not all(c.decides or c.what in _NUMBERS for c in conversions):
            return False
        return all(isinstance(self.reruns.hold(conditions, trial.sizes), bool) for trial in trials)

    def other_ways(self) -> list[dict[str, int]]:
        """Sizes at which an `if` goes another way, for each way the nearest to the example's and those that take the least time:
        `if n % 4` goes one that sizes which are tried for other reasons may not show."""
        found = itertools.chain.from_iterable(map(self._other_ways, self.program.conditions.decided.alone))
        return list({tuple(sizes.values()): sizes for sizes in found}.values())

    def _other_ways(self, decided: Any) -> list[dict[str, int]]:
        if not decided.numbers:
            return []
        tried = self.scanned(decided)
        if not tried:
            return []
        (mine,) = self.reruns.computed(decided, [self.sizes])
        if not isinstance(mine, tuple):
            return []
        ways: dict[Any, list[dict[str, int]]] = {}
        for sizes, decisions in zip(tried, self.reruns.computed(decided, tried)):
            if isinstance(decisions, tuple) and decisions != mine:
                ways.setdefault((decisions, 0 in sizes.values()), []).append(sizes)  # empty results show nothing
        labels = self._labels_of(decided)
        apart = [[at for at in alike if _are_apart(at, labels)] or alike for alike in list(ways.values())[:_WAYS]]
        least = [
            (alike[0], *self._small(alike, decided), *_further_in(alike, labels), in_blocks(alike, self.sizes))
            for alike in apart
        ]
        most = _LONGER * elements(self.sizes)
        return [at for near, *small in least for at in ([near] if elements(near) <= most else []) + small]

    def _small(self, alike: Sequence[dict[str, int]], decided: Any) -> list[dict[str, int]]:
        least = min(alike, key=elements)
        return [least, *self.wider([least], decided)]

    def _labels_of(self, numbers: Any) -> list[str]:
        return [label for label in self.sizes if numbers.labels is None or label in numbers.labels]

    def same_way(self) -> list[dict[str, int]]:
        """Sizes at which all `if`s go the way that they go in the example, each label larger and much larger: those that take
        the least time."""
        decided = self.program.conditions.decided
        options = self.scanned(decided) if decided.numbers else []
        mine, *found = self.reruns.computed(decided, [self.sizes, *options]) if options else [None]
        alike = [sizes for sizes, decisions in zip(options, found) if isinstance(mine, tuple) and decisions == mine]
        larger = [
            [at for at in alike if at[label] >= least]
            for label, size in self.sizes.items()
            for least in (size + 1, 4 * size)
        ]
        return [min(found, key=elements) for found in larger if found]

    def other_counts(self, tried: Sequence[Sizes]) -> list[dict[str, int]]:
        """Sizes, the nearest to the example's, at which ints that Python took out of sizes are others, of those that are the
        same at all that were tried: `int(n * 0.1)` is 0 for many."""
        counted = self.program.conditions.counted
        if not counted.numbers:
            return []
        seen = self.reruns.computed(counted, [self.sizes, *map(self.allowed, tried)])
        if not all(isinstance(numbers, tuple) for numbers in seen):
            return []
        alike = [i for i, numbers in enumerate(zip(*seen)) if len(set(numbers)) == 1]
        options = self.scanned(counted) if alike else []
        found = zip(options, self.reruns.computed(counted, options))
        shows = 0 in self.sizes.values()  # what is empty shows nothing
        different = (
            at
            for at, numbers in found
            if isinstance(numbers, tuple)
            and (shows or 0 not in at.values())
            and any(numbers[i] != seen[0][i] for i in alike)
        )
        return list(itertools.islice(different, _TIMES))

    def others(self, tried: Sizes) -> tuple[list[dict[str, int]], tuple[str, ...]]:
        """Sizes at which the model runs with labels changed that `tried` left as they were; and labels which can't be
        changed, alone or with those of their size."""
        count = self.program.labels.count
        left = [label for label, size in self.sizes.items() if tried[label] == size and count(label) != 1]
        found: list[dict[str, int]] = []
        self.failure = ""
        alike = [[other for other in left if self.sizes[other] == self.sizes[label]] for label in left]
        groups = [left, *alike, *([label] for label in left)]
        for group in dict.fromkeys(map(tuple, groups[:_GROUPS])):
            if set(group) <= set(left):
                at = next(filter(self.runs, self._changed(group)), None)
                if at is not None:
                    found.append(at)
                    left = [label for label in left if label not in group]
        return found, tuple(left) if len(groups) <= _GROUPS else ()

    def _changed(self, group: Sequence[str]) -> Iterator[dict[str, int]]:
        """The sizes with those of a group changed, among others to what sizes outside of it are."""
        yield {**self.sizes, **{label: self.sizes[label] + 1 for label in group}}
        yield {**self.sizes, **{label: self.sizes[label] * 2 for label in group}}
        yield {**self.sizes, **{label: (self.sizes[label] + 1) // 2 for label in group}}
        if len(group) == 1:
            for size in sorted(set(self.sizes.values()) - {self.sizes[group[0]], 0})[:3]:
                yield {**self.sizes, group[0]: size}

    def at(self, sizes: dict[str, int], values: Other | None = None) -> Trial | None:
        """A trace at these sizes, and with other values; None if the model doesn't take them."""
        sizes = self.allowed(sizes)
        recording = self.reruns.trace(sizes, values)
        if isinstance(recording, Exception):
            if values is None:
                self.failure = self.failure or f"at {listed(sizes)}: {_raised(recording)}"
            return None
        same = same_text(self.program.keep_alive, recording.graph)
        return Trial(sizes, recording, same, rolls=self.rolls, values=values, tables=self.tables)

    def with_other_values(self) -> list[Trial]:
        """Traces at the example's sizes with other values, as far as the model takes them."""
        made: list[Trial] = []
        counts = counts_rows(self.program)  # until another number of them is seen
        for values in itertools.chain([ALIKE] if counts else [], others(self.program)):
            trial = self.at(dict(self.sizes), values)
            if trial is not None:
                made.append(trial)
                counts = counts and len(made) < _VALUES and not counts_otherwise(self.program, trial.read())
            if not counts and are_told_apart([numbers(self.program), *(numbers(other.read()) for other in made)]):
                break
        return made

    def first(self, options: Iterator[dict[str, int]]) -> Trial | None:
        """At the first of these sizes at which the model runs."""
        for sizes in options:
            trial = None if self.allowed(sizes) == self.sizes else self.at(sizes)
            if trial is not None:
                return trial
        return None

    def much_larger(self) -> Trial | None:
        """At the first of the much larger sizes of `far`, if it is one of these: it shows what slightly larger ones would."""
        sizes = self.allowed(far(self.sizes)[1][0])
        return self.at(sizes) if sizes != self.sizes and self._may_differ(sizes) else None

    def _may_differ(self, sizes: Sizes) -> bool:
        """Whether it isn't known that Python took the same numbers from sizes."""
        conditions = self.program.conditions
        return conditions.lost or conditions.incomplete or self.reruns.hold(conditions, sizes) is not True

    def far(self) -> Iterator[Trial]:
        """At the least sizes and at much larger ones, where it isn't known that Python took the same numbers from them; of a
        program that takes long to trace, at one choice of each."""
        tried, untold = [self.sizes], False
        for options in far(self.sizes):
            for sizes in map(self.allowed, options):
                if sizes in tried or not (untold or self._may_differ(sizes)):
                    continue
                tried.append(sizes)
                untold = True  # if other numbers are taken at one choice of sizes, they rarely aren't at another
                trial = self.at(sizes)
                if trial is not None:
                    yield trial
                    if self.takes_long:
                        break

    def first_other(self, options: Sequence[dict[str, int]]) -> Trial | None:
        """At the first of these sizes at which the model runs, without being traced, and does something else."""
        made = (self.at(sizes) for sizes in options if self.runs(sizes))
        return next((trial for trial in made if trial is not None and not trial.same), None)

    def agree(self, options: Iterable[dict[str, int]], *, each: bool = False) -> bool:
        """Whether the program gives, wherever the model runs another one, the same results: an `if` that only saves
        time, as attention has one for single tokens.

        Args:
            each: whether all sizes are tried, as another program may decide what this one doesn't, unless that one is known.
        """
        tried = {tuple(at.values()): at for at in map(self.allowed, options)}.values()
        other = [sizes for sizes in tried if not self.known(sizes)]
        each = each and not (self._other is not None and all(map(_only_decides, (self.program, self._other))))
        return all(map(self._agrees, other if each else self._of_each_way(other)))

    def _agrees(self, sizes: dict[str, int]) -> bool:
        key = tuple(sizes.values())
        if key not in self._agreed:
            expected = self.reruns.run(sizes)
            self._agreed[key] = (
                isinstance(expected, Exception)
                or (0 in key and _are_empty(expected))
                or are_close(
                    self.reruns.replay(self.program.keep_alive, sizes), expected, more=len(self.program.readings)
                )
            )
        return self._agreed[key]

    def gives_as_recorded(self, sizes: Sizes) -> bool:
        """Whether the program, as it was recorded, gives the results of the model."""
        return self._agrees(dict(sizes))

    @property
    def wrong_at(self) -> dict[str, int] | None:
        """Sizes at which the program gave other results than the model, if there were any."""
        return next((dict(zip(self.sizes, key)) for key, agreed in self._agreed.items() if not agreed), None)

    def _of_each_way(self, options: list[dict[str, int]]) -> list[dict[str, int]]:
        """The smallest, one in the middle and the largest of the sizes at which all `if`s go the same way, but none that takes
        much longer than the example, and none of a way on which the program was right before; another one where the model takes
        none of these; all, where there is no telling."""
        decided = self.program.conditions.decided
        if not self.program.keeps_sizes or not decided.numbers:
            return options
        if len(options) <= _TIMES:
            return [*options, *self.wider(options, decided)]
        ways: dict[Any, list[dict[str, int]]] = {}
        for sizes, way in zip(options, self._ways(options)):
            ways.setdefault(way, []).append(sizes)
        right = [dict(zip(self.sizes, key)) for key, agreed in self._agreed.items() if agreed]
        seen = collections.Counter(self._ways(right))
        chosen, most = [], _LONGER * elements(self.sizes)
        labels = self._labels_of(decided)
        others = [label for label in self.sizes if label not in labels]
        for way, alike in ways.items():
            if seen[way] > _TIMES:
                continue
            alike.sort(key=elements)
            beside = [sizes for sizes in alike if all(sizes[label] == self.sizes[label] for label in others)]
            # Of those that are alike in what decides, the smallest.
            deciding = {tuple(sizes[label] for label in labels): sizes for sizes in reversed(alike)}
            alike = sorted(deciding.values(), key=elements)
            larger = [sizes for sizes in alike[1:] if elements(sizes) <= most]
            of_way = [alike[0], *larger[(len(larger) - 1) // 2 : -1][:1], *(larger[-1:] or _further_in(alike, labels))]
            more = (*beside[:1], *self.wider(alike[:1], decided))
            of_way += [sizes for sizes in more if sizes not in of_way]
            chosen += of_way
            if not any(map(self._takes, of_way)):
                chosen += next(([sizes] for sizes in larger if sizes not in of_way and self._takes(sizes)), [])
        return chosen

    def _takes(self, sizes: Sizes) -> bool:
        """Whether the model runs at sizes that are as they may be."""
        return not isinstance(self.reruns.run(sizes), Exception)

    def wider(self, options: Sequence[dict[str, int]], numbers: Any) -> list[dict[str, int]]:
        """Sizes of which none is 1 but those that `numbers` hang on: where all else is, `x.squeeze(0)` gives what `x.sum(1)`
        gives."""
        labels = self._labels_of(numbers)
        wider = [
            self.allowed({label: 3 if size == 1 and label not in labels else size for label, size in sizes.items()})
            for sizes in options
        ]
        return [sizes for sizes in wider if sizes not in options]

    def _ways(self, options: Sequence[dict[str, int]]) -> list[tuple[Any, ...]]:
        """The way that all `if`s go at sizes; an exception is like no other one."""
        programs = [self.program] if self._other is None else [self.program, self._other]
        decisions = [self.reruns.computed(program.conditions.decided, options) for program in programs]
        return [(0 in sizes.values(), *way) for sizes, *way in zip(options, *decisions)]

    def gives_results(self, sizes: Sizes, values: Other | None = None) -> bool:
        """Whether the program, which may have been changed, gives the results of the model, if that runs there."""
        expected = self.reruns.run(self.allowed(sizes), values=values)
        return isinstance(expected, Exception) or are_close(
            self.reruns.interpreted(self.program, self.allowed(sizes), values), expected
        )

    def _is_same_at(self, options: Iterator[dict[str, int]]) -> bool:
        """Whether the program is the same at the first of these sizes at which the model runs."""
        if self.program.keeps_sizes:
            at = next(filter(self.runs, options), None)
            return at is not None and bool(self.known(at))
        trial = self.first(options)
        return trial is not None and trial.same

    def guilty(self, different: Trial) -> tuple[str, ...]:
        """The labels which change the program when they alone change; all if that can't be told, or takes too long."""
        found: list[str] = []
        if len(self.sizes) > _GUILTY:
            return tuple(self.sizes)
        for label, size in self.sizes.items():
            options = ({**self.sizes, label: n} for n in (different.sizes[label], size + 1, size * 2))
            if len(self.sizes) == 1 or not self._is_same_at(options):
                found.append(label)
        return tuple(found or self.sizes)


def _only_decides(program: Program) -> bool:
    """Whether a program took nothing but bools out of sizes."""
    conditions = program.conditions
    return program.keeps_sizes and all(isinstance(number, bool) for number in conditions.numbers)


def _are_apart(sizes: Sizes, labels: Sequence[str]) -> bool:
    """Whether no two of these sizes are equal: where `if h < w` goes the other way with h = w, both ways often give the same."""
    return len({sizes[label] for label in labels}) == len(labels)


def _further_in(alike: Sequence[dict[str, int]], labels: Sequence[str]) -> list[dict[str, int]]:
    """The next of sizes that go one way which isn't where it begins: what pads up to 30 pads by nothing at 30."""
    return next(([at] for at in alike if all(at[label] != alike[0][label] for label in labels)), [])


def in_blocks(alike: Sequence[dict[str, int]], sizes: Sizes) -> dict[str, int]:
    """Of sizes that go one way, those that share the largest part with the example's: a model that cuts images into blocks
    takes whole ones only."""

    def shared(at: Sizes) -> int:
        return min((math.gcd(at[label], size) for label, size in sizes.items() if at[label] != size), default=0)

    return max(alike, key=shared)


def elements(sizes: Sizes) -> int:
    return math.prod(sizes.values())


def are_close(given: list[torch.Tensor] | Exception, expected: Sequence[torch.Tensor], more: int = 0) -> bool:
    """Whether these are the expected results, with some more behind them."""
    if isinstance(given, Exception) or len(given) - more != len(expected):
        return False
    return all(map(_is_close, given, expected))


def _are_empty(tensors: list[torch.Tensor]) -> bool:
    """Whether there is nothing in results, as what returns early of empty arguments has it, in whatever form."""
    return not any(tensor.numel() for tensor in tensors)


def _is_close(a: torch.Tensor, b: torch.Tensor) -> bool:
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if not a.is_floating_point():
        return torch.equal(a, b)
    largest = float(a[a.isfinite()].abs().max()) if bool(a.isfinite().any()) else 0.0
    rounding = 16 * torch.finfo(a.dtype).eps
    return torch.allclose(a.double(), b.double(), rtol=rounding, atol=rounding * largest, equal_nan=True)


def _raised(error: Exception) -> str:
    """An exception in one line, with the line of the user's that it came from."""
    text = f"{type(error).__name__}: {error}".splitlines()[0]
    frames = [f for f in traceback.extract_tb(error.__traceback__) if not f.filename.startswith(INNER)]
    return f"{text} ({frames[-1].filename}:{frames[-1].lineno})" if frames else text
