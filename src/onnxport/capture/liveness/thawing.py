"""Replaces constants that follow the sizes by expressions."""

from __future__ import annotations

import dataclasses
import itertools
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...program import Location, Node, Program, Value
from . import trial_sizes
from .beyond import EFFORT, is_runnable
from .choices import Answers, Choice, Choices
from .comparison import Difference, Site, compare, sites
from .counted import Counted
from .expressions import Expression, Quotient, candidates, integer, number, products, quotients, separating_size
from .read_lists import ReadLists
from .replacing import Made, divide, put_computed
from .report import Frozen, listed
from .trial_sizes import Sizes
from .trials import Trial, Trials
from .values import ORDERS, computed, counts_rows, is_reading, last_before, made_of_sizes, numbers, outside_of_loops

# Traces at further sizes that are made to tell expressions apart.
_TRIALS = 8
_LARGER = 16  # their effort, times that of the example's, where that is large
_ALL = sys.maxsize
_AXES = 3
# Floats that decide the form of the graph.
_NO_QUOTIENTS = frozenset({"scale_factors", "scales", "scales_d", "scales_h", "scales_w"})
# Arguments of operators that are ints, but no sizes.
_NO_SIZES = frozenset(
    {"dim", "dims", "dim0", "dim1", "dim2", "start_dim", "end_dim", "axis", "source", "destination", "dtype", "layout",
     "memory_format", "reduction", "mode", "padding_mode", "interpolation_mode", "ord", "padding_idx"}
)  # fmt: skip


@dataclasses.dataclass(frozen=True, slots=True)
class _Seen:
    """What one trial says: the sizes, the operands that differ, and the node from which on nothing can be compared."""

    sizes: Mapping[str, int]
    found: Mapping[Any, Difference]
    comparable: int
    made: Mapping[str, int]  # ints that were computed from sizes (see `made_of_sizes`)
    answers: Answers | None = None  # to what was asked (see `Choices`)
    goes_on: bool = False  # whether the program may be right behind that node, though it is another one


class Thawing:
    """Differences of the program from others, and the expressions that may explain them."""

    def __init__(
        self,
        program: Program,
        sizes: Sizes,
        trials: Trials,
        made: list[Trial],
        ways: Sequence[dict[str, int]],
        choices: Choices,
    ) -> None:
        self._choices, self._failed = choices, list[dict[str, int]]()
        self.program, self.sizes, self.trials, self.ways = program, sizes, trials, ways
        self.seen: list[_Seen] = []
        # Where an `if` goes another way, seen when all was explained.
        self.doubtful: list[tuple[Trial, Difference]] = []
        self.breaks: list[tuple[str, Difference]] = []  # and where
        self.differences: dict[Any, tuple[str, Difference]] = {}
        self.guessed: dict[Any, Frozen] = {}  # by path; what of it is so when all is seen counts
        self._read, self._made = numbers(program), made_of_sizes(program)
        self._counted = Counted(trials)
        self._numbers = (
            {value: site.number for site in sites(program) for value in site.node.outputs}
            if self._read or self._made
            else {}
        )
        self.small = ""
        self._saw_other_values = any(trial.values is not None for trial in made)
        self._outside: frozenset[str] = frozenset()
        self._spell([trial for trial in made if not trial.same])
        longer = self._roll([trial for trial in made if not trial.same])
        if self.trials.rolls:
            self._outside = outside_of_loops(program, [trial.read() for trial in (*made, *longer)])
        for trial in [*made, *longer]:
            self._look(trial)

    def _spell(self, different: list[Trial]) -> None:
        """Have constant tensors that follow sizes as operators on numbers, in all programs."""
        others = [trial.read() for trial in different if trial.values is None]
        if any(not reading.of_sizes for reading in self.program.readings):
            return  # they may be what was read
        from .tables import find, spell

        self.trials.tables = find(self.program, others)
        for program in (self.program, *others):
            spell(program, self.trials.tables)

    def _roll(self, different: list[Trial]) -> list[Trial]:
        """Make loops of what repeats, if the programs have other nodes, and get the same by it; further traces."""
        program = self.program
        if all(compare(program, trial.read())[1] is None for trial in different) or self._ask_alike(different):
            return []
        from .rolled import Way, roll

        lists = ReadLists(program)
        for way in [Way(inner, reads) for reads in ((True, False) if lists else (False,)) for inner in (False, True)]:
            block = roll(program.block, way, lists)
            if block is None:
                continue
            rolled = dataclasses.replace(program, block=block)
            self.trials.rolls = way
            others = [
                Trial(t.sizes, t.recording, False, rolls=way, values=t.values, tables=self.trials.tables)
                for t in different
            ]
            of_sizes = [] if counts_rows(program) else [other for other in others if other.values is None]
            longer = self._longer() if all(map(self._is_smaller, others)) else []
            if any(compare(rolled, trial.read())[1] is None for trial in [*(of_sizes or others), *longer]):
                if way.reads:
                    lists.follow(program)
                program.block = block
                for trial, other in zip(different, others):
                    trial.program = other.read()
                return longer
        self.trials.rolls = None
        return []

    def _ask_alike(self, different: list[Trial]) -> bool:
        """Whether all runs took as many numbers, and nothing but bools: a loop that runs as long as they are true takes more."""
        program = self.program
        return (
            program.keeps_sizes
            and all(isinstance(number.content, bool) for number, _ in program.conditions.taken)
            and all(len(trial.read().conditions.taken) == len(program.conditions.taken) for trial in different)
        )

    def _longer(self) -> list[Trial]:
        """A trace with more iterations, where all there are have fewer: a single one isn't recognised."""
        longer = self.trials.at(trial_sizes.doubled(self.sizes))
        return [] if longer is None or longer.same else [longer]

    def _is_smaller(self, trial: Trial) -> bool:
        return all(trial.sizes[label] <= size for label, size in self.sizes.items())

    def _look(self, trial: Trial, *, confirms: bool = False) -> None:
        sizes = {**trial.sizes, **(numbers(trial.read()) if self.program.readings else {})}
        made = made_of_sizes(trial.read()) if self._made else {}
        answers = self._choices.of(trial.read()) if self._choices.answers else None
        if trial.same:  # says of each constant that it is the same there, too
            self.seen.append(_Seen(sizes, {}, _ALL, made, answers))
            return
        found, broken, comparable = compare(self.program, trial.read())
        odd = broken or next((d for d in found.values() if integer(d.mine) is None or integer(d.theirs) is None), None)
        elsewhere = broken is not None and (trial.values is not None or bool(confirms and self._read))
        if odd is not None and (elsewhere or (trial.values is not None and self.trials.rolls)):
            # Lists that were read happen to hold equal numbers, or those of another one: their loops aren't recognised. Or an
            # `if` goes another way, as past pieces of nothing. Whether the program gives the same there is tried.
            self.doubtful.append((trial, odd))
            return
        if odd is not None and self.trials.rolls and self._is_smaller(trial):
            self.doubtful.append((trial, odd))  # too few iterations to be seen as a loop
            return
        self.seen.append(_Seen(sizes, found, comparable, made, answers, goes_on=confirms))
        if broken is not None and confirms:
            self.doubtful.append((trial, broken))
        elif broken is not None:
            self.breaks.append((trial.where, broken))
        for path, difference in found.items():
            self.differences.setdefault(path, (trial.where, difference))

    def run(self) -> list[Frozen]:
        self._separate()
        self._confirm()
        self._separate_questions()
        settled = not self.program.reads_values or self._saw_other_values or self._look_at_other_values()
        made: Made = []
        frozen = []
        for path, (at, difference) in self.differences.items():
            divided = self._quotients(path) if settled else []
            if len(divided) == 1:
                divide(difference, divided[0], made)
                continue
            self.guessed.pop(path, None)
            options = self._options(path) if settled else []
            if not self._is_before_breaks(difference):
                options = [option for option in options if is_reading(option.label)]
            if len({o.label for o in options}) == 1 and self._saw_all_sizes(options[0].label):
                options = options[:1]  # all of them are right
            if settled and not self._is_sure(options):
                options = self._of_made(path) or options
            if self._is_sure(options):
                self._replace(difference, options[0], made)
                frozen += self._too_short(difference, options[0])
            elif not (settled and self._choose(path, made)):
                self.guessed.pop(path, None)
                frozen.append(_frozen(difference, at))
        for block, node, new in made:
            before = block.nodes.index(node) if node in block.nodes else len(block.nodes)  # the block's return
            block.nodes[before:before] = new
        if not frozen and self.breaks and self._gives_results_beyond():
            self.breaks.clear()
        frozen += [_frozen(broken, at) for at, broken in self.breaks[:1]]
        return frozen or self._goes_wrong()

    def _gives_results_beyond(self) -> bool:
        """Whether the program, its constants replaced, gives what the model gives where that is another program: an `if` that
        cuts nothing off, after a number that follows a size."""
        conversions = self.program.conversions or []
        if not any(conversion.decides for conversion in conversions) or any(d.is_loop for _, d in self.breaks):
            return False
        seen = [seen.sizes for seen in self.seen]
        others = [*seen, *self.ways, trial_sizes.doubled(self.sizes), *trial_sizes.around(self.sizes, conversions)]
        if not all(conversion.decides for conversion in conversions):
            others += trial_sizes.far(self.sizes)[1]
        return all(self.trials.gives_results({label: at[label] for label in self.sizes}) for at in others)

    def _goes_wrong(self) -> list[Frozen]:
        """Where an `if` goes another way at small or large sizes, and the program gives other results."""
        for trial, broken in self.doubtful:
            if not self.trials.gives_results(trial.sizes, trial.values):
                self.small = self.small or trial.where
                self.breaks.append((trial.where, broken))
                return [_frozen(broken, trial.where)]
        return []

    def _saw_all_sizes(self, label: str) -> bool:
        """Whether no size is left at which an expression could be another one."""
        seen = {self.sizes[label], *(seen.sizes[label] for seen in self.seen)} if label in self.sizes else ()
        return self.program.labels.count(label) == len(seen)

    def _too_short(self, difference: Difference, expression: Expression) -> list[Frozen]:
        """A loop whose first and last iterations stay outside runs these at sizes that have none."""
        if expression.label not in self.sizes:
            return []
        least = self.trials.allowed({**self.sizes, expression.label: 1})
        shortest = least[expression.label]
        if difference.site.node.op != "prim::Loop" or expression.at(shortest) >= 0 or not self.trials.runs(least):
            return []
        self.small = self.small or listed({expression.label: shortest})
        return [Frozen(_place(difference.site), f"the loop is longer than this at {listed(least)}", is_loop=True)]

    def _is_before_breaks(self, difference: Difference) -> bool:
        return all(difference.site.number < broken.site.number for _, broken in self.breaks)

    def _quotients(self, path: Any) -> list[Quotient]:
        """Quotients with a size that give a float at all sizes seen."""
        difference = self.differences[path][1]
        mine = number(difference.mine)
        if mine is None or not self._is_before_breaks(difference) or _is_named(difference, _NO_QUOTIENTS):
            return []
        observed: list[tuple[Sizes, float]] = [(self.sizes, mine)]
        for seen in self.seen:
            value = number(seen.found[path].theirs) if path in seen.found else mine
            if path not in seen.found and difference.site.number >= seen.comparable:
                if seen.goes_on:
                    continue
                return []
            if value is None:
                return []
            observed.append(({label: seen.sizes[label] for label in self.sizes}, value))
        return quotients(observed)

    def _options(self, path: Any) -> list[Expression]:
        """Expressions that give the constant at all sizes seen, one of each that are equal."""
        difference = self.differences[path][1]
        if _is_named(difference, _NO_SIZES) or not (self._read or self._is_before_breaks(difference)):
            return []
        observed: list[tuple[Sizes, int]] = []
        mine = integer(difference.mine)
        for seen in self.seen:
            if path in seen.found:
                value = integer(seen.found[path].theirs)
            else:
                value = mine if difference.site.number < seen.comparable else None
                if value is None and (self._read or seen.goes_on):  # says nothing of it
                    continue
            if value is None:
                return []
            observed.append((seen.sizes, value))
        if mine is None:
            return []
        known = set.intersection(set(self.sizes) | set(self._read), *(set(sizes) for sizes, _ in observed))
        if self.trials.rolls:
            known &= {*self.sizes, *self._outside}
        every = [({**self.sizes, **self._read}, mine), *observed]
        fitting = candidates([({label: at[label] for label in sorted(known)}, value) for at, value in every])
        if not fitting:
            fitting = products([({label: at[label] for label in self.sizes}, value) for at, value in every])
        read = [e for e in fitting if is_reading(e.label)]
        if len(read) == 1 and len(fitting) > 1 and not self._is_free(read[0].label):
            fitting = read  # the model runs only where the size is what was read
        if any(e.divisor != 1 for e in fitting):
            fitting = [e for e in fitting if not self._counted.denies(e, every)]
        if read and len(read) == len(fitting):
            if len(read) > 1:
                self.guessed[path] = Frozen(_place(difference.site), "one of several ints that the model reads")
            return last_before(self.program, read, difference.site.number, self._numbers)
        return fitting or self._of_made(path)

    def _is_sure(self, options: list[Expression]) -> bool:
        return len(options) == 1 and (options[0].confirmed or self._saw_all_sizes(options[0].label))

    def _of_made(self, path: Any) -> list[Expression]:
        """The int made of sizes that the constant is, or is more or less than by the same at all sizes."""
        values = self._in_each_run(path)
        if not values:
            return []
        observed = list(zip([self._made, *(seen.made for seen in self.seen)], values))
        number = self.differences[path][1].site.number
        known = set.intersection(*(set(made) for made, _ in observed))
        fitting = candidates([({label: made[label] for label in sorted(known)}, value) for made, value in observed])
        same = [e for e in fitting if e.divisor == 1 and (e.factor == 1 or e.confirmed)]
        # The very int that was taken needs no third size.
        same = [dataclasses.replace(e, confirmed=True) if (e.factor, e.offset) == (1, 0) else e for e in same]
        return last_before(self.program, same, number, self._numbers) if same else []

    def _choose(self, path: Any, made: Made) -> bool:
        """Have the constant computed from what an `if` asked that chose it, if one did."""
        options = self._questions(path)
        if len(options) != 1 or not options[0].confirmed:
            return False
        difference = self.differences[path][1]
        found = self._choices.computed(options[0], difference.site.node)
        if found is not None:
            nodes, chosen = found
            put_computed(difference, nodes, chosen, f"{chosen.name}_{len(made)}", made)
        return found is not None

    def _questions(self, path: Any) -> list[Choice]:
        """What may have decided on the constant, in a place where nothing else is known to give it."""
        if not path or self.trials.rolls or self._read or _is_named(self.differences[path][1], _NO_SIZES):
            return []
        answers = [self._choices.answers, *(seen.answers for seen in self.seen)]
        numbers = self._in_each_run(path)
        return self._choices.fitting(list(zip(answers, numbers))) if numbers else []

    def _separate_questions(self) -> None:
        """Trace at further sizes until each constant that was chosen hangs on one question, or none."""
        for _ in range(_TRIALS if self._choices.answers else 0):
            groups = [
                options
                for path in self.differences
                if (options := self._questions(path)) and not (len(options) == 1 and options[0].confirmed)
                if not self._is_sure(self._options(path))
            ]
            tried = [{label: seen.sizes[label] for label in self.sizes} for seen in self.seen]
            at = self._choices.telling(groups, self.trials, tried + self._failed) if groups else None
            if at is None:
                return
            trial = self._at(dict(at))
            if trial is None:
                self._failed.append(dict(at))
            else:
                self._look(trial, confirms=True)

    def _in_each_run(self, path: Any) -> list[int]:
        """What the constant is in the program and in all runs that were seen; nothing if one doesn't tell."""
        difference = self.differences[path][1]
        found = [integer(difference.mine)]
        for seen in self.seen:
            known = path in seen.found or difference.site.number < seen.comparable
            found.append(integer(seen.found[path].theirs if path in seen.found else difference.mine) if known else None)
        numbers = [value for value in found if value is not None]
        return numbers if len(numbers) == len(found) else []

    def _separate(self) -> None:
        """Trace at further sizes until each constant has one expression, or none."""
        self._separate_quotients()
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
            # Where the program is another one there, as it often is at 1, its results tell (see `_goes_wrong`).
            self._look(trial, confirms=True)

    def _confirm(self) -> None:
        """Trace at the least sizes and much larger ones, if all is explained so far: what was tried may have been on one side
        of a `max(1, int(n * 0.7))`. Where the program is another one anyway, or none of its numbers follows a size, that tells
        nothing."""
        only_ifs = not self.differences and all(c.decides for c in self.program.conversions or ())
        if self.breaks or (only_ifs and not self.program.conditions.counted.counts_rows):
            return
        for trial in itertools.chain(self.trials.far(), self._farther()):
            if only_ifs and self.trials.gives_results(trial.sizes):
                continue
            if self.trials.rolls and not self._is_larger(trial):  # a few iterations aren't recognised
                continue
            if all(trial.sizes != {k: seen.sizes[k] for k in trial.sizes} for seen in self.seen):
                self._look(trial, confirms=True)

    def _farther(self) -> Iterator[Trial]:
        """At sizes at which an `if` goes another way; and, of a model that takes ints of what it computed from sizes, at very
        large ones: what Python makes of such an int isn't recorded, as in `min(100, int(n * 0.3))`, and two of them may be
        equal at all others."""
        ways = self.trials.other_ways() if self.differences else []
        very = trial_sizes.farthest(self.sizes) if self._made else {}
        large = [sizes for label, sizes in very.items() if is_runnable(self.trials, sizes, label)]
        yield from (trial for trial in map(self.trials.at, [*ways, *large]) if trial is not None)

    def _is_larger(self, trial: Trial) -> bool:
        return all(trial.sizes[label] >= size for label, size in self.sizes.items())

    def _look_at_other_values(self) -> bool:
        """See which constants come from the values of the inputs: a number of them may go with a size by chance."""
        made = (self.trials.at(dict(self.sizes), values) for values in ORDERS)
        trial = next((trial for trial in made if trial is not None), None)
        if trial is None:
            return False
        found, _, comparable = compare(self.program, trial.read())
        other = trial.read()
        self.seen.append(_Seen({**trial.sizes, **numbers(other)}, found, comparable, made_of_sizes(other)))
        return True

    def _is_free(self, label: str) -> bool:
        """Whether the model ran where another number was read at the example's sizes."""
        alike = (s.sizes for s in self.seen if all(s.sizes[name] == size for name, size in self.sizes.items()))
        return any(at.get(label) != self._read[label] for at in alike)

    def _separate_quotients(self) -> None:
        """Trace at larger sizes, of all axes and of each alone, until each float has one quotient."""
        larger = {label: size + 2 for label, size in trial_sizes.doubled(self.sizes).items()}
        alone = [{**self.sizes, label: larger[label]} for label in list(self.sizes)[:_AXES]]
        for sizes in (larger, *alone):
            floats = [path for path, (_, d) in self.differences.items() if number(d.mine) is not None]
            if all(len(self._quotients(path)) == 1 for path in floats):
                return
            trial = self.trials.at(sizes)
            if trial is not None:
                self._look(trial)

    def _at_separating_size(self, groups: list[list[Expression]]) -> Trial | None:
        outside = self.program.labels.outside
        refused = {
            label: {size, *(seen.sizes[label] for seen in self.seen), *outside(label, 4 * size + 64)}
            for label, size in self.sizes.items()
        }
        if self.trials.rolls:  # a single iteration isn't recognised
            for label, size in self.sizes.items():
                refused[label].update(range(1, size if self.program.labels.count(label) is None else 3))
        tried = {label: set(sizes) for label, sizes in refused.items()}
        for attempt in range(3):
            chosen = self._separating_sizes(groups, refused, attempt, math.inf)
            if self._effort(chosen) > self._most_effort:  # all axes as large as each alone may be
                larger = (self._most_effort / self._effort(self.sizes)) ** (1 / len(chosen))
                chosen = self._separating_sizes(groups, refused, attempt, larger)
            trial = self._at(chosen)
            if trial is not None:
                return trial
            for label, size in chosen.items():
                refused[label].add(size)
        # Where one axis follows from another, the model takes no choice of each on its own: change single ones.
        for label in dict.fromkeys(e.label for group in groups for e in group if e.label in self.sizes):
            alone = separating_size(self.sizes[label], _of(label, groups), tried[label])
            trial = self._at({**self.sizes, label: alone})
            if trial is not None:
                return trial
        return None

    def _separating_sizes(
        self, groups: list[list[Expression]], refused: Mapping[str, set[int]], attempt: int, larger: float
    ) -> dict[str, int]:
        """For each label a size that separates, at most so many times the example's."""
        chosen = {}
        for label, size in self.sizes.items():
            # A model may take whole multiples only, of a patch or a stride.
            step = math.gcd(size, *(seen.sizes[label] for seen in self.seen)) if attempt else 1
            chosen[label] = separating_size(size, _of(label, groups), refused[label], step, larger)
        return chosen

    def _effort(self, sizes: Sizes) -> int:
        return self.trials.reruns.effort(self.trials.allowed(sizes))

    @property
    def _most_effort(self) -> int:
        """Of a run that tells expressions apart."""
        return max(EFFORT, _LARGER * self._effort(self.sizes))

    def _at(self, sizes: dict[str, int]) -> Trial | None:
        """A trace at these sizes, if they aren't the example's, which tell nothing."""
        return None if self.trials.allowed(sizes) == self.sizes else self.trials.at(sizes)

    def _replace(self, difference: Difference, expression: Expression, made: Made) -> None:
        """Put the expression in place of the constant; in place of a tensor, a tensor made of it."""
        new: Any = None if is_reading(expression.label) else expression.size()
        nodes: list[Node] = []
        if new is None:
            nodes, new = computed(self.program, expression, difference.site.node)
        put_computed(difference, nodes, new, f"{expression.label}_{len(made)}", made)


def _of(label: str, groups: list[list[Expression]]) -> list[list[Expression]]:
    return [[e for e in group if e.label == label] for group in groups]


def _is_named(difference: Difference, names: frozenset[str]) -> bool:
    """Whether the operand, or the list that it is in, has one of these names: as those that number axes, which no expression
    of a size should."""
    site = difference.site
    uses = [(site.node, position) for position in difference.path[:1]]
    if site.node.op == "prim::ListConstruct":
        made = site.node.outputs[0]
        uses = [(node, i) for node in site.block.nodes for i, x in enumerate(node.inputs) if x is made]
    return any(node.schema is not None and node.schema.arguments[i].name in names for node, i in uses)


def _is_open(options: list[Expression]) -> bool:
    """Whether a further trace may decide: one expression must be confirmed by a third trace, several told apart."""
    return len(options) > 1 or (len(options) == 1 and not options[0].confirmed)


def _frozen(difference: Difference, where: str) -> Frozen:
    return Frozen(_place(difference.site), f"{difference.what} at {where}", difference.is_loop)


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
