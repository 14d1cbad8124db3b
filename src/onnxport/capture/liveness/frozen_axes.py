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
import functools
import itertools
from collections.abc import Iterator, Sequence

from ...program import Program, Value
from ...program.ir import Conversion
from . import trial_sizes
from .behind import decided_behind
from .beyond import EFFORT, at_largest, beyond, is_runnable
from .cases import by_cases
from .choices import Choices
from .comparison import takes_pieces
from .dead import drop_dead
from .dropped import SQUEEZES
from .report import Report, listed
from .sums import is_sum_kept
from .trial_sizes import Sizes
from .trials import Known, Reruns, Trial, Trials

# Other runs whose program may be the more general one.
_ELSEWHERE = 2


def thaw(program: Program, sizes: Sizes, reruns: Reruns, known: Known) -> Report:
    """Replace constants that follow a size by expressions, in place, and `if`s of Python by those of TorchScript; what stays
    frozen.

    Args:
        sizes: the example sizes by label.
        reruns: the model at other sizes.
    """
    sizes = _where_axes_stay(program, sizes, reruns, known)
    report = _of_one_run(program, sizes, reruns, known)
    found = None
    if report.frozen and not report.stuck:
        read = functools.partial(_of_trial, program=program, known=known)
        found = by_cases(program, sizes, reruns, read, known, lambda trials: _thaw(trials)[0])
    if found is None:
        return report
    joined, unsure = found
    program.take_graph(joined)
    return Report(labels=report.labels, frozen=tuple(unsure))


def _where_axes_stay(program: Program, sizes: Sizes, reruns: Reruns, known: Known) -> Sizes:
    """Take the run without sizes of 1, where a squeeze drops axes at those of the example that it leaves at others: how many
    there are behind it decides which operations run, unseen. The sizes of the run that is taken."""
    dropping = _ranks(program) if 1 in sizes.values() else []
    if not dropping:
        return sizes
    trial = Trials(program, sizes, reruns).at({label: 3 if size == 1 else size for label, size in sizes.items()})
    if trial is None or _ranks(trial.read()) == dropping:
        return sizes
    elsewhere = _of_trial(trial, program, known)
    program.take_graph(elsewhere)
    program.conditions = elsewhere.conditions
    return trial.sizes


def _ranks(program: Program) -> list[int | None]:
    """How many axes are left by squeezes."""
    return [_rank(node.outputs[0]) for node in program.block.walk() if node.op in SQUEEZES]


def _rank(value: Value) -> int | None:
    known = value.tensor_type
    return None if known is None or known.sizes is None else len(known.sizes)


def _of_one_run(program: Program, sizes: Sizes, reruns: Reruns, known: Known) -> Report:
    """See `thaw`; the program stays one run of the model, of whatever sizes."""
    program.conditions.learn(functools.partial(known, program), sizes, for_all=program.keeps_sizes)
    program.labels.keeps_sum = is_sum_kept(program, sizes, reruns, functools.partial(known, program))
    trials = Trials(program, sizes, reruns)
    report, others, blamed = _thaw(trials)
    if not report.frozen:
        trials = trials if report.unchanged else Trials(program, sizes, reruns)
        far, where = beyond(trials, unchanged=report.unchanged)
        general = _general_where(trials, where, known) if far else None
        if general is not None:
            return general
        if report.unchanged and not far:
            far, where = decided_behind(trials, lambda trial: _of_trial(trial, program, known))
        if not far:
            far, where = at_largest(trials, unchanged=report.unchanged)
        return dataclasses.replace(report, frozen=tuple(far), small=listed(where), conversions=()) if far else report
    mine = Trials(program, sizes, reruns)
    ways = [*mine.other_ways(), *mine.same_way()] if others else []
    tried = [dict(sizes), *(other.sizes for other in others), trial_sizes.doubled(sizes), *ways]
    may_be = len(report.frozen) == 1 or any(frozen.is_loop for frozen in report.frozen)
    for trial in itertools.chain(others, _where_all_are_large(mine, ways, others)):
        general = _general(mine, trial, tried, known, may_be=may_be)
        if general is not None:
            return general
    if blamed is not None:
        return dataclasses.replace(report, labels=Trials(program, sizes, reruns).guilty(blamed))
    return report


def _general_where(trials: Trials, sizes: dict[str, int], known: Known) -> Report | None:
    """`_general` of the run at sizes far from the example's, if the model may be run there."""
    if not sizes or not is_runnable(trials, sizes, max(sizes, key=lambda label: sizes[label])):
        return None
    trial = trials.at(sizes)
    below = {label: max(trials.sizes[label], size - 1 - size // 8) for label, size in sizes.items()}
    tried = [
        dict(trials.sizes),
        below,
        dict(sizes),
        trial_sizes.doubled(trials.sizes),
        *trial_sizes.crossing(trials.sizes),
    ]
    return _general(trials, trial, [*tried, *trials.other_ways()], known) if trial is not None else None


def _general(
    trials: Trials,
    trial: Trial,
    tried: Sequence[dict[str, int]],
    known: Known,
    *,
    may_be: bool = False,
) -> Report | None:
    """Take the program of another run, if it gives what the model gives at all sizes that are tried, and has nothing that is
    frozen: an `if` took its general branch there, as what pads by nothing stands for not padding; or a loop has more
    iterations. `may_be`: also if it does so only after what is frozen was replaced."""
    program, sizes, reruns = trials.program, trials.sizes, trials.reruns
    elsewhere = _of_trial(trial, program, known)
    found = Trials(elsewhere, sizes, reruns, program)
    is_general = found.agree(tried, each=True)
    if not is_general and (trial.values is not None or not may_be):
        return None
    again, _, _ = _thaw(found.about(trial.sizes))
    # More iterations may show a loop, which then has to give what the model gives where it has fewer.
    if again.frozen or not (is_general or all(map(found.gives_results, tried))):
        return None
    if beyond(found.about(trial.sizes), unchanged=again.unchanged)[0]:
        return None
    program.take_graph(elsewhere)
    return dataclasses.replace(again, unchanged=False)


def _where_all_are_large(trials: Trials, ways: Sequence[Sizes], made: Sequence[Trial]) -> Iterator[Trial]:
    """The model where each label is as large as on any way: of two tables that grow, each by another axis, no single way
    shows both."""
    sizes = {label: max([size, *(way[label] for way in ways)]) for label, size in trials.sizes.items()}
    if sizes not in [trials.sizes, *(other.sizes for other in made)] and trials.reruns.effort(sizes) <= EFFORT:
        trial = trials.at(sizes)
        if trial is not None and not trial.same:
            yield trial


def _of_trial(trial: Trial, program: Program, known: Known) -> Program:
    """The program of a run at other sizes, which may stand for that of the example."""
    other = dataclasses.replace(trial.recording.read(), conversions=program.conversions, labels=program.labels)
    for mine, theirs in zip(program.inputs, other.inputs):
        theirs.axes = mine.axes
    other.keeps_sizes = other.keeps_sizes and program.keeps_sizes
    other.conditions.learn(functools.partial(known, other), trial.sizes, for_all=other.keeps_sizes)
    return other


def _thaw(trials: Trials) -> tuple[Report, list[Trial], Trial | None]:
    """See `thaw`; the report lacks the labels of axes. Runs in which other operations ran; and one that differs."""
    program, sizes = trials.program, trials.sizes
    conversions = program.conversions or []
    if program.keeps_sizes and all(reading.of_sizes for reading in program.readings):
        found = _known(trials, sizes, conversions)
        if found is not None:
            return found, [], None
        trials.failure = ""
    grown, crossed, ways = _first_trials(trials, conversions)
    read = trials.with_other_values() if any(not reading.of_sizes for reading in program.readings) else []
    first = grown or crossed
    if first is None and not read:
        return Report(tuple(sizes) if trials.failure else (), failure=trials.failure), [], None
    alone, stuck = trials.others(first.sizes) if first else ([], tuple(sizes) if trials.failure else ())
    made = [trial for trial in (grown, crossed, *map(trials.at, alone), *read) if trial is not None]
    if _takes_numbers(conversions) and all(trial.same for trial in made):
        made += _elsewhere(trials, [*trial_sizes.further(sizes, few=trials.takes_long)], made)
    different = [trial for trial in made if not trial.same]
    if not different:
        return Report(stuck, failure=trials.failure, unchanged=True), [], None
    only_ifs = (
        all(trial.same for trial in read)
        and grown is not None
        and bool(conversions)
        and (trials.take_bools(different) or _ints_decide_nothing(trials, grown, different))
        and (different[0] is crossed or trials.agree([trial.sizes for trial in different]))
    )
    if only_ifs and trials.wrong_at is None and trials.agree([*trial_sizes.around(sizes, conversions), *ways]):
        return Report(stuck, failure=trials.failure, unchanged=True), [], None
    if only_ifs:
        larger = trials.at(trial_sizes.doubled(sizes))
        if larger is not None and not larger.same:
            made, only_ifs = [*made, larger], False
        wrong = [] if trials.wrong_at is None else [trials.wrong_at]
        made += _elsewhere(trials, [*wrong, *trial_sizes.around(sizes, conversions), *ways], made)
    report, breaks = _replaced(trials, made, ways, stuck)
    others = [trial for trial in made if not trial.same]
    stays = grown is not None and grown.same and _only_below(sizes, [trial.sizes for trial in others])
    if not report.small and (only_ifs or stays):
        report = dataclasses.replace(report, small=listed(trials.wrong_at or different[0].sizes))
    return report, others[:_ELSEWHERE] if breaks else [], different[0]


def _only_below(sizes: Sizes, others: Sequence[Sizes]) -> bool:
    """Whether no other sizes are larger."""
    return all(at[label] <= size for at in others for label, size in sizes.items())


def _elsewhere(trials: Trials, options: Sequence[dict[str, int]], made: Sequence[Trial]) -> list[Trial]:
    """The model at the first sizes at which the program gives other results, if that isn't among those that were made."""
    at = next((trials.allowed(sizes) for sizes in options if not trials.agree([sizes])), None)
    trial = None if at is None or any(at == other.sizes for other in made) else trials.at(at)
    return [] if trial is None else [trial]


def _ints_decide_nothing(trials: Trials, grown: Trial, different: Sequence[Trial]) -> bool:
    """Whether ints that were taken are the same at larger sizes, and the results everywhere: `x[:, : min(int(n), 5)]`."""
    if not grown.same or not trials.agree([trial.sizes for trial in different], each=True):
        return False
    return all(trial.same or trials.agree([trial.sizes], each=True) for trial in trials.far())


def _first_trials(
    trials: Trials, conversions: Sequence[Conversion]
) -> tuple[Trial | None, Trial | None, list[dict[str, int]]]:
    """The model at larger sizes; at others where those show nothing, as where an `if` goes another way; and such sizes."""
    program, sizes = trials.program, trials.sizes
    grown = trials.much_larger() if trials.takes_long and _takes_numbers(conversions) else None
    if grown is None or not grown.same:
        grown = trials.first(trial_sizes.grown(sizes, conversions, trials.compared))
    crossed: Trial | None = None
    if grown is None:  # sizes of 1 show little: they are broadcast
        crossed = trials.first(trial_sizes.shrunk(sizes))
    elif grown.same and (conversions or takes_pieces(program.keep_alive, grown.recording.graph)):
        crossed = trials.first(trial_sizes.crossing(sizes))
    ways: list[dict[str, int]] = []
    if grown is None or grown.same:
        ways = [*trials.other_ways(), *trials.caught]
        ways += trials.other_counts([trial.sizes for trial in (grown, crossed) if trial is not None])
    if crossed is None or crossed.same:
        crossed = trials.first_other(ways) or crossed
    if _takes_numbers(conversions) and (grown is None or grown.same) and (crossed is None or crossed.same):
        crossed = next((trial for trial in trials.far() if not trial.same), crossed)
    return grown, crossed, ways


def _takes_numbers(conversions: Sequence[Conversion]) -> bool:
    """Whether Python may have taken more of sizes than what they are compared with: `int(n) == 7` isn't recorded."""
    return not all(c.decides and c.threshold is not None for c in conversions)


def _replaced(
    trials: Trials, made: list[Trial], ways: Sequence[dict[str, int]], stuck: tuple[str, ...]
) -> tuple[Report, bool]:
    """Replace constants of the program that follow sizes, in place. The report; and whether other operations ran in runs."""
    from .thawing import Thawing  # large, and seldom needed

    program = trials.program
    program.conditions.forget()
    choices = Choices(program)
    drop_dead(program)
    thawing = Thawing(program, trials.sizes, trials, made, ways, choices)
    frozen = thawing.run()
    for reading in program.readings if frozen else ():
        reading.followed = False
    conversions, guessed = tuple(program.conversions or ()), tuple(thawing.guessed.values())
    report = Report(stuck, (), tuple(frozen), conversions, thawing.small, trials.failure, guessed)
    return report, bool(thawing.breaks)


def _known(trials: Trials, sizes: Sizes, conversions: Sequence[Conversion]) -> Report | None:
    """What there is to report of a program of which it is known what it took out of sizes, None if it must be traced
    again: that it runs at all is enough, if other sizes change no more than `if`s that change no results."""
    other = next(filter(trials.runs, map(trials.allowed, trial_sizes.cheap(sizes))), None)
    if other is None or trials.known(other) is None:
        return None
    larger = next(trial_sizes.near(sizes, conversions, trials.compared))  # beyond what sizes were compared with
    if trials.known(larger) is None:
        return None
    alone, stuck = trials.others(other)
    numbers = trials.program.conditions.numbers
    small = [*trial_sizes.crossing(sizes), *trial_sizes.around(sizes, conversions)] if numbers else []
    tried = [other, larger, *alone, *small]
    tried += [*trials.other_ways(), *trials.other_counts([other, *alone, *small])]
    if any(trials.known(at) is None for at in tried) or not trials.agree(tried):
        return None
    return Report(stuck, failure=trials.failure, unchanged=True)
