"""Finds dynamic axes that a trace has frozen, by tracing again at other sizes.

A size that was turned into a Python number (`int(n)`, `range(n)`, numpy, ...) is a constant of the trace. Two
traces at different sizes then differ: in that constant, or in the ops that were run. A constant that
follows one size by an expression is replaced by the expression, and stays live (see `expressions`); anything
else is reported with its place.

Where nothing is frozen, which is the rule, the two recordings have the same text, and the second isn't read further; of
most models it is known without a second one (see `kept`), and they are only run again.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import torch

from ..program import Location, Node, Program, Value
from ..program.ir import Block, Conversion
from . import trial_sizes
from .comparison import Difference, Site, compare, same_text, takes_pieces
from .expressions import Expression, candidates, integer, separating_size
from .graph import INNER
from .trial_sizes import Sizes

# Traces at further sizes that are made to tell expressions apart.
_TRIALS = 6
_ALL = sys.maxsize
# Arguments of operators that are ints, but no sizes.
_NO_SIZES = frozenset(
    {"dim", "dims", "dim0", "dim1", "dim2", "start_dim", "end_dim", "axis", "source", "destination", "dtype", "layout",
     "memory_format", "reduction", "mode", "padding_mode", "interpolation_mode", "ord", "padding_idx"}
)  # fmt: skip
# Other runs whose program may be the more general one.
_ELSEWHERE = 2
# A model with very many dynamic axes is run at no more than so many choices of those that are changed, ...
_GROUPS = 24
# ... and of no more than so many it is told which are frozen.
_GUILTY = 8


class Recording(Protocol):
    """A run of the model that was recorded."""

    @property
    def graph(self) -> Any: ...

    @property
    def read(self) -> Callable[[], Program]: ...


class Reruns(Protocol):
    """A model at other sizes; what it raises where it doesn't run at these."""

    def trace(self, sizes: Sizes, other_values: bool = False) -> Recording | Exception: ...

    def run(self, sizes: Sizes) -> list[torch.Tensor] | Exception: ...

    def replay(self, graph: Any, sizes: Sizes) -> list[torch.Tensor] | Exception: ...


@dataclasses.dataclass(frozen=True, slots=True)
class Frozen:
    """A place where the program depends on an example size."""

    location: Location
    what: str
    is_loop: bool = False

    def __str__(self) -> str:
        return f"{self.location}: {self.what}"


@dataclasses.dataclass(frozen=True, slots=True)
class Report:
    """What is known of the dynamic axes of a trace.

    Attributes:
        stuck: labels of axes of which the model ran at no other size.
        labels: of the axes that `frozen` depends on.
        conversions: where sizes became Python numbers.
        small: sizes at which the program is another one, where it is the same at larger ones.
        failure: what the model raised at other sizes, where it ran at none.
    """

    stuck: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    frozen: tuple[Frozen, ...] = ()
    conversions: tuple[Conversion, ...] = ()
    small: str = ""
    failure: str = ""

    def message(self, sizes: Sizes) -> str:
        """What to tell the user; "" if all is well."""
        stuck = _listed({label: sizes[label] for label in self.stuck})
        lines = [
            f"the model runs at no other sizes than {stuck} that were tried, so whether these axes are dynamic in the "
            f"exported model isn't known ({self.failure}). Give an example at which they can grow and shrink, or "
            "check_axes=False if you know better."
        ]
        return "\n".join([*(lines if stuck else ()), *(self._frozen(sizes) if self.frozen else ())])

    def _frozen(self, sizes: Sizes) -> list[str]:
        labels = _listed({label: sizes[label] for label in self.labels})
        where = f"may be wrong at small sizes like {self.small}" if self.small else f"may be right only at {labels}"
        lines = [
            f"the exported model {where}: a size became a Python number, or decided which operations run.",
            *_some(dict.fromkeys(map(str, self.frozen))),
        ]
        if self.conversions:
            lines.append("Sizes became Python numbers here:")
            lines += _some(dict.fromkeys(f"{c.source}: {c.what}" for c in self.conversions))
        if any(f.is_loop for f in self.frozen):
            lines.append(
                "A loop over a dynamic axis runs as often as in the example. Loops whose iterations are alike are found out if "
                "the example has some; else compute on the whole tensor, or put the loop into a function and decorate it with "
                "@torch.jit.script, which mixes into traces and keeps loops."
            )
        else:
            lines.append(
                "Compute with x.shape and tensors instead of int(), range(), numpy and if; or put that part into a "
                "function and decorate it with @torch.jit.script, which mixes into traces and keeps ifs and loops."
            )
        return lines


def thaw(program: Program, sizes: Sizes, reruns: Reruns) -> Report:
    """Replace constants that follow a size by expressions, in place; what stays frozen.

    Args:
        sizes: the example sizes by label.
        reruns: the model at other sizes.
    """
    report, others, blamed = _thaw(program, sizes, reruns)
    for trial in others if report.frozen else ():
        elsewhere = dataclasses.replace(trial.recording.read(), conversions=program.conversions, labels=program.labels)
        tried = [dict(sizes), *(other.sizes for other in others), trial_sizes.doubled(sizes)]
        if _Trials(elsewhere, sizes, reruns).agree(tried):
            again, _, _ = _thaw(elsewhere, trial.sizes, reruns)
            if not again.frozen:
                _adopt(program, elsewhere)
                return again
    if report.frozen and blamed is not None:
        return dataclasses.replace(report, labels=_Trials(program, sizes, reruns).guilty(blamed))
    return report


def _adopt(program: Program, other: Program) -> None:
    """Take a program of other sizes, where an `if` took its general branch: what pads by nothing stands for not padding."""
    program.block, program.weights, program.state = other.block, other.weights, other.state
    program.keep_alive = other.keep_alive
    for mine, theirs in zip(program.inputs, other.inputs):
        mine.value = theirs.value


def _thaw(program: Program, sizes: Sizes, reruns: Reruns) -> tuple[Report, list[_Trial], _Trial | None]:
    """See `thaw`; the report lacks the labels of axes. Runs in which other operations ran; and one that differs."""
    conversions = program.conversions or []
    trials = _Trials(program, sizes, reruns)
    if program.keeps_sizes:  # that it runs at all is enough
        larger = next(filter(trials.runs, map(trials.allowed, trial_sizes.grown(sizes, conversions))), None)
        if larger is not None:
            _, stuck = trials.others(larger)
            return Report(stuck, failure=trials.failure), [], None
    grown = trials.first(trial_sizes.grown(sizes, conversions))
    if grown is None:  # sizes of 1 show little: they are broadcast
        crossed = trials.first(trial_sizes.shrunk(sizes))
    elif grown.same and (conversions or takes_pieces(program.keep_alive, grown.recording.graph)):
        crossed = trials.first(trial_sizes.crossing(sizes))
    else:
        crossed = None
    if grown is None and crossed is None:
        return Report(tuple(sizes) if trials.failure else (), failure=trials.failure), [], None
    first = grown or crossed
    alone, stuck = trials.others(first.sizes) if first else ([], ())
    made = [trial for trial in (grown, crossed, *map(trials.at, alone)) if trial is not None]
    different = [trial for trial in made if not trial.same]
    if not different:
        return Report(stuck, failure=trials.failure), [], None
    only_ifs = (
        different[0] is crossed and grown is not None and all(c.decides for c in conversions) and bool(conversions)
    )
    if only_ifs and trials.agree(trial_sizes.around(sizes, conversions)):
        return Report(stuck, failure=trials.failure), [], None
    if only_ifs:
        beyond = trials.at(trial_sizes.doubled(sizes))
        if beyond is not None and not beyond.same:
            made, only_ifs = [*made, beyond], False
    thawing = _Thawing(program, sizes, trials, made)
    frozen = thawing.run()
    small = _listed(different[0].sizes) if only_ifs else thawing.small
    report = Report(stuck, (), tuple(frozen), tuple(conversions), small, trials.failure)
    others = [trial for trial in made if not trial.same] if thawing.breaks or thawing.few else []
    return report, others[:_ELSEWHERE], different[0]


@dataclasses.dataclass(slots=True)
class _Trial:
    sizes: dict[str, int]
    recording: Recording
    same: bool
    program: Program | None = None
    rolls: str = ""  # which loops are made of what repeats, the "inner" or "outer" ones

    def read(self) -> Program:
        if self.program is None:
            self.program = self.recording.read()
            if self.rolls:
                from .rolled import roll

                self.program.block = roll(self.program.block, self.rolls == "inner") or self.program.block
        return self.program


class _Trials:
    """Traces at other sizes."""

    def __init__(self, program: Program, sizes: Sizes, reruns: Reruns) -> None:
        self.program, self.sizes, self.reruns = program, sizes, reruns
        self.failure = ""
        self.rolls = ""

    def allowed(self, sizes: Sizes) -> dict[str, int]:
        """Sizes that may be, near to these."""
        return self.program.labels.allowed(self.sizes, sizes)

    def runs(self, sizes: Sizes) -> bool:
        sizes = self.allowed(sizes)
        if sizes == self.sizes:
            return False
        outputs = self.reruns.run(sizes)
        if isinstance(outputs, Exception):
            self.failure = self.failure or f"at {_listed(sizes)}: {_raised(outputs)}"
            return False
        return True

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

    def at(self, sizes: dict[str, int], *, other_values: bool = False) -> _Trial | None:
        sizes = self.allowed(sizes)
        recording = self.reruns.trace(sizes, other_values)
        if isinstance(recording, Exception):
            self.failure = self.failure or f"at {_listed(sizes)}: {_raised(recording)}"
            return None
        return _Trial(sizes, recording, same_text(self.program.keep_alive, recording.graph), rolls=self.rolls)

    def first(self, options: Iterator[dict[str, int]]) -> _Trial | None:
        """At the first of these sizes at which the model runs."""
        for sizes in options:
            trial = None if self.allowed(sizes) == self.sizes else self.at(sizes)
            if trial is not None:
                return trial
        return None

    def agree(self, options: Iterable[dict[str, int]]) -> bool:
        """Whether the program gives, wherever the model runs another one, the same results: an `if` that only saves
        time, as attention has one for single tokens."""
        for sizes in map(self.allowed, options):
            expected = self.reruns.run(sizes)
            if not isinstance(expected, Exception):
                given = self.reruns.replay(self.program.keep_alive, sizes)
                if (
                    isinstance(given, Exception)
                    or len(given) != len(expected)
                    or not all(map(_is_close, given, expected))
                ):
                    return False
        return True

    def guilty(self, different: _Trial) -> tuple[str, ...]:
        """The labels which change the program when they alone change; all if that can't be told, or takes too long."""
        found: list[str] = []
        if len(self.sizes) > _GUILTY:
            return tuple(self.sizes)
        for label, size in self.sizes.items():
            options = ({**self.sizes, label: n} for n in (different.sizes[label], size + 1, size * 2))
            trial = self.first(options) if len(self.sizes) > 1 else None
            if trial is None or not trial.same:
                found.append(label)
        return tuple(found or self.sizes)


class _Thawing:
    """Differences of the program from others, and the expressions that may explain them."""

    def __init__(self, program: Program, sizes: Sizes, trials: _Trials, made: list[_Trial]) -> None:
        self.program, self.sizes, self.trials = program, sizes, trials
        self.seen: list[tuple[Mapping[str, int], dict[Any, Difference], int]] = []
        self.breaks: list[tuple[Sizes, Difference]] = []
        self.differences: dict[Any, tuple[Sizes, Difference]] = {}
        self.few: list[tuple[Sizes, Difference]] = []
        self.small = ""
        longer = self._roll([trial for trial in made if not trial.same])
        for trial in [*made, *longer]:
            self._look(trial)

    def _roll(self, different: list[_Trial]) -> list[_Trial]:
        """Make loops of what repeats, if the programs have other nodes, and get the same by it; further traces."""
        program = self.program
        if all(compare(program, trial.read())[1] is None for trial in different):
            return []
        from .rolled import roll

        for kind in ("outer", "inner"):
            block = roll(program.block, kind == "inner")
            if block is None:
                break
            rolled = dataclasses.replace(program, block=block)
            self.trials.rolls = kind
            others = [_Trial(t.sizes, t.recording, False, rolls=kind) for t in different]
            longer = self._longer() if all(map(self._is_smaller, others)) else []
            if any(compare(rolled, trial.read())[1] is None for trial in [*others, *longer]):
                program.block = block
                for trial, other in zip(different, others):
                    trial.program = other.read()
                return longer
        self.trials.rolls = ""
        return []

    def _longer(self) -> list[_Trial]:
        """A trace with more iterations, where all there are have fewer: a single one isn't recognised."""
        longer = self.trials.at(trial_sizes.doubled(self.sizes))
        return [] if longer is None or longer.same else [longer]

    def _is_smaller(self, trial: _Trial) -> bool:
        return all(trial.sizes[label] <= size for label, size in self.sizes.items())

    def _look(self, trial: _Trial) -> None:
        if trial.same:  # says of each constant that it is the same there, too
            self.seen.append((trial.sizes, {}, _ALL))
            return
        found, broken, comparable = compare(self.program, trial.read())
        odd = broken or next((d for d in found.values() if integer(d.mine) is None or integer(d.theirs) is None), None)
        if odd is not None and self.trials.rolls and self._is_smaller(trial):
            self.few.append((trial.sizes, odd))  # too few iterations to be seen as a loop
            return
        self.seen.append((trial.sizes, found, comparable))
        if broken is not None:
            self.breaks.append((trial.sizes, broken))
        for path, difference in found.items():
            self.differences.setdefault(path, (trial.sizes, difference))

    def run(self) -> list[Frozen]:
        self._separate()
        settled = not self.program.reads_values or self._look_at_other_values()
        made: list[tuple[Block, Node, Node]] = []
        frozen = []
        for path, (at, difference) in self.differences.items():
            options = self._options(path) if settled and self._is_before_breaks(difference) else []
            if len(options) == 1 and (options[0].confirmed or self._saw_all_sizes(options[0].label)):
                _replace(difference, options[0], made)
                frozen += self._too_short(difference, options[0])
            else:
                frozen.append(_frozen(difference, at))
        if self.few and not frozen:
            self.small = self.small or _listed(self.few[0][0])
        frozen += [_frozen(broken, at) for at, broken in [*self.breaks, *self.few][:1]]
        for block, node, new in made:
            block.nodes.insert(block.nodes.index(node), new)
        return frozen

    def _saw_all_sizes(self, label: str) -> bool:
        """Whether no size is left at which an expression could be another one."""
        return self.program.labels.count(label) == len({self.sizes[label], *(at[label] for at, _, _ in self.seen)})

    def _too_short(self, difference: Difference, expression: Expression) -> list[Frozen]:
        """A loop whose first and last iterations stay outside runs these at sizes that have none."""
        least = self.trials.allowed({**self.sizes, expression.label: 1})
        shortest = least[expression.label]
        if difference.site.node.op != "prim::Loop" or expression.at(shortest) >= 0 or not self.trials.runs(least):
            return []
        self.small = self.small or _listed({expression.label: shortest})
        return [Frozen(_place(difference.site), f"the loop is longer than this at {_listed(least)}", is_loop=True)]

    def _is_before_breaks(self, difference: Difference) -> bool:
        return all(difference.site.number < broken.site.number for _, broken in self.breaks)

    def _options(self, path: Any) -> list[Expression]:
        """Expressions that give the constant at all sizes seen, one of each that are equal."""
        difference = self.differences[path][1]
        if _is_no_size(difference):
            return []
        observed: list[tuple[Sizes, int]] = []
        mine = integer(difference.mine)
        for sizes, found, comparable in self.seen:
            if path in found:
                value = integer(found[path].theirs)
            else:
                value = mine if difference.site.number < comparable else None
            if value is None:
                return []
            observed.append((sizes, value))
        if mine is None:
            return []
        return candidates([(self.sizes, mine), *observed])

    def _separate(self) -> None:
        """Trace at further sizes until each constant has one expression, or none."""
        for _ in range(_TRIALS):
            groups = [
                options
                for path, (_, difference) in self.differences.items()
                if self._is_before_breaks(difference) and _is_open(options := self._options(path))
            ]
            if not groups:
                return
            trial = self._at_separating_size(groups)
            if trial is None:
                return
            self._look(trial)

    def _look_at_other_values(self) -> bool:
        """See which constants come from the values of the inputs: a number of them may go with a size by chance."""
        trial = self.trials.at(dict(self.sizes), other_values=True)
        if trial is None:
            return False
        found, _, comparable = compare(self.program, trial.read())
        self.seen.append((trial.sizes, found, comparable))
        return True

    def _at_separating_size(self, groups: list[list[Expression]]) -> _Trial | None:
        outside = self.program.labels.outside
        refused = {
            label: {size, *(at[label] for at, _, _ in self.seen), *outside(label, 4 * size + 64)}
            for label, size in self.sizes.items()
        }
        if self.trials.rolls:  # a single iteration isn't recognised
            for label, size in self.sizes.items():
                refused[label].update(range(1, size if self.program.labels.count(label) is None else 3))
        for attempt in range(3):
            chosen = {}
            for label, size in self.sizes.items():
                # A model may take whole multiples only, of a patch or a stride.
                step = math.gcd(size, *(at[label] for at, _, _ in self.seen)) if attempt else 1
                own = [[e for e in g if e.label == label] for g in groups]
                chosen[label] = separating_size(size, own, refused[label], step)
            trial = self.trials.at(chosen)
            if trial is not None:
                return trial
            for label, size in chosen.items():
                refused[label].add(size)
        return None


def _is_close(a: torch.Tensor, b: torch.Tensor) -> bool:
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if not a.is_floating_point():
        return torch.equal(a, b)
    largest = float(a[a.isfinite()].abs().max()) if bool(a.isfinite().any()) else 0.0
    rounding = 16 * torch.finfo(a.dtype).eps
    return torch.allclose(a.double(), b.double(), rtol=rounding, atol=rounding * largest, equal_nan=True)


def _is_no_size(difference: Difference) -> bool:
    """Whether the operand numbers an axis or an alternative, which no expression of a size should."""
    schema = difference.site.node.schema
    return schema is not None and bool(difference.path) and schema.arguments[difference.path[0]].name in _NO_SIZES


def _is_open(options: list[Expression]) -> bool:
    """Whether a further trace may decide: one expression must be confirmed by a third trace, several told apart."""
    return len(options) > 1 or (len(options) == 1 and not options[0].confirmed)


def _replace(difference: Difference, expression: Expression, made: list[tuple[Block, Node, Node]]) -> None:
    """Put the expression in place of the constant; in place of a tensor, a tensor made of it."""
    site, path = difference.site, difference.path
    new: Any = expression.size()
    if isinstance(difference.mine, torch.Tensor):
        value = Value(f"{expression.label}_{len(made)}", "Tensor")
        node = Node("prim::NumToTensor", [new], [value], scope=site.node.scope, location=site.node.location)
        made.append((site.block, site.node, node))
        new = value
    if len(path) > 1:
        site.node.inputs[path[0]] = _copied(site.node.inputs[path[0]])
    holder: Any = site.node.inputs
    for index in path[:-1]:
        holder = holder[index]
    holder[path[-1]] = new


def _copied(value: Any) -> Any:
    return [_copied(v) for v in value] if isinstance(value, list) else value


# -- messages -------------------------------------------------------------------------------------


def _listed(sizes: Sizes) -> str:
    return ", ".join(f"{label}={size}" for label, size in sizes.items())


def _some(texts: Iterable[str], most: int = 6) -> list[str]:
    """The first of the texts as lines, and how many more there are."""
    lines = [f"  {text}" for text in texts]
    return lines if len(lines) <= most else [*lines[: most - 1], f"  and {len(lines) - most + 1} more"]


def _frozen(difference: Difference, sizes: Sizes) -> Frozen:
    return Frozen(_place(difference.site), f"{difference.what} at {_listed(sizes)}", difference.is_loop)


def _raised(error: Exception) -> str:
    """An exception in one line, with the line of the user's that it came from."""
    text = f"{type(error).__name__}: {error}".splitlines()[0]
    frames = [f for f in traceback.extract_tb(error.__traceback__) if not f.filename.startswith(INNER)]
    return f"{text} ({frames[-1].filename}:{frames[-1].lineno})" if frames else text


def _place(site: Site) -> Location:
    """Where a node comes from; lists are made nowhere in particular, so it is where they come from, or are used."""
    nodes = site.block.nodes
    first = next((i for i, node in enumerate(nodes) if node is site.node), len(nodes))
    outputs = set(site.node.outputs)
    users = (n for n in itertools.islice(nodes, first + 1, first + 40) if outputs.intersection(_values(n)))
    before = reversed(nodes[max(first - 8, 0) : first])
    around = [before, users] if site.node.op == "prim::ListUnpack" else [users, before]
    for node in itertools.chain([site.node], *around):
        if node.location.source:
            return node.location
    return site.node.location


def _values(node: Node) -> list[Value]:
    return [x for x in node.inputs if x.__class__ is Value]
