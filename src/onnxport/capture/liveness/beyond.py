"""Sizes much larger than the example's at which an `if` goes another way: `if n > 512` in a model that is shown 6.

What is decided is mostly arithmetic on sizes, which costs nothing at any of them. Where a way is found that none of the sizes
near to the example's goes, the model is run there, if that doesn't take too long; else it is told.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

from ...program import Location
from ..graph import outputs_of
from .report import Frozen, listed
from .trial_sizes import LARGEST, Sizes
from .trials import Trials

_DOUBLINGS = 17
_LABELS, _TIMES = 8, 3
# A run is made of models whose inputs have so many elements times the elements of the weights.
EFFORT = 1 << 31
# Recordings may have so many of these in all, or so many times those of the example.
_RECORDED, _TIMES_RECORDED = 1 << 26, 96
_SMALL = 1 << 20  # a run of so much takes no time
_NEAR = 16  # or at sizes at which they are so many times what they are in the example
# Operations are evaluated, in all; more of a longer trace: so many for each of its nodes take no longer than it took.
_EVALUATED, _PER_NODE = 10_000, 10
_SQUARE = 1 << 16  # all axes are large only where that is little: attention takes more of each
_MOST = 1 << 31  # elements of a tensor: at larger ones, which some models have an `if` for, nothing is run anywhere


def beyond(trials: Trials, *, unchanged: bool) -> tuple[list[Frozen], dict[str, int]]:
    """What is decided otherwise at sizes that weren't tried, and the first such sizes; of a program that is as it was recorded,
    so are ints."""
    conditions = trials.program.conditions
    found = [_beyond(trials, numbers) for numbers in conditions.decided.alone]
    if unchanged and not any(frozen for frozen, _ in found):
        found = [_beyond(trials, numbers) for numbers in conditions.counted.alone]
    return next((told for told in found if told[0]), ([], {}))


def at_largest(trials: Trials, *, unchanged: bool) -> tuple[list[Frozen], dict[str, int]]:
    """Ints that Python took show nothing of what it made of them (`range(0, n, 1000)`); results at large sizes do, where the
    model is so small that they take no time."""
    counted = trials.program.conditions.counted
    for label in trials.free_labels(counted)[:_TIMES] if counted.numbers else ():
        sizes = trials.allowed({**trials.sizes, label: max(LARGEST, trials.sizes[label])})
        if trials.reruns.effort(sizes) > _SMALL:
            continue
        place = next((place for place in counted.places if place), "")
        if place and not (trials.agree([sizes], each=True) if unchanged else trials.gives_results(sizes)):
            what = f"a Python int is taken here, and other results are given at {listed(sizes)}"
            return [Frozen(Location("", place), what)], sizes
    return [], {}


def is_runnable(trials: Trials, sizes: Sizes, label: str) -> bool:
    """Whether the model may be run where a label is large."""
    return sizes[label] <= LARGEST and trials.reruns.effort(sizes) <= EFFORT


def are_recordable(trials: Trials, recorded: Sequence[Sizes]) -> bool:
    """Whether to record the model at so many sizes, and so large ones: loops have no end of ways."""
    effort = sum(map(trials.reruns.effort, recorded))
    return effort <= max(_RECORDED, _TIMES_RECORDED * trials.reruns.effort(trials.sizes))


def _is_near(trials: Trials, sizes: Sizes, label: str) -> bool:
    """Whether a run of the model takes not much longer than that of the example, however long that takes."""
    return sizes[label] <= LARGEST and trials.reruns.effort(sizes) <= _NEAR * trials.reruns.effort(trials.sizes)


def _beyond(trials: Trials, decided: Any) -> tuple[list[Frozen], dict[str, int]]:
    if not decided.numbers:
        return [], {}
    labels = trials.free_labels(decided)[:_LABELS]
    nodes = sum(1 for _ in trials.program.keep_alive.nodes())
    if decided.cost * _DOUBLINGS * 2 * len(labels) > max(_EVALUATED, _PER_NODE * nodes):
        return [], {}
    near = [trials.sizes, *trials.scanned(decided)]
    if 0 not in trials.sizes.values():  # what is empty shows nothing
        near = [sizes for sizes in near if 0 not in sizes.values()]
    known = list(filter(_is_told, trials.reruns.computed(decided, near)))
    # Ints that are others at sizes which could be tried make no difference.
    kept = [i for i, numbers in enumerate(zip(*known)) if len(set(numbers)) == 1 or isinstance(numbers[0], bool)]
    ways = {_picked(numbers, kept) for numbers in known}
    frozen: dict[str, Frozen] = {}
    where: dict[str, int] = {}
    for label in [label for label in labels for _ in range(_TIMES)] if kept else ():
        sizes, decisions, before = _first(trials, decided, label, ways, kept)
        if not sizes:
            continue
        ways.add(decisions)
        larger = trials.allowed({**sizes, label: sizes[label] + sizes[label] // 8 + 1})
        may_run = is_runnable(trials, larger, label) or _is_near(trials, larger, label)
        places, of_keys = _picked(decided.places, kept), _picked(decided.compares_keys, kept)
        # Where sizes are hashed, mostly as parts of a key, only other results show that it matters.
        changed = [place for i, place in enumerate(places) if before[i] != decisions[i] and (may_run or not of_keys[i])]
        told = [place for place in changed if place][:1]
        elements = _largest(trials.program.keep_alive) * trials.reruns.effort(sizes)
        if not may_run and elements > _MOST * trials.reruns.effort(trials.sizes):
            continue
        differs = next((at for at in _behind(sizes, larger) if not trials.agree([at])), None) if may_run else larger
        if told and differs is not None:
            why = "and gives other results" if may_run else "which is too large to be tried"
            what = f"this is decided otherwise at {listed(sizes)}, {why}"
            frozen.setdefault(told[0], Frozen(Location("", told[0]), what))
            where = where or (differs if may_run else sizes)
    return list(frozen.values()), where


def _behind(sizes: dict[str, int], larger: dict[str, int]) -> list[dict[str, int]]:
    """Where to run what is decided otherwise at some sizes: behind it more may be decided, as in `500 < n < 520`, or of other
    axes."""
    square = dict.fromkeys(sizes, max(sizes.values()))
    return [larger, sizes, *([square] if math.prod(square.values()) <= _SQUARE else [])]


def _largest(graph: Any) -> int:
    """The elements of the largest tensor of a trace."""
    types = (output.type() for node in graph.nodes() for output in outputs_of(node))
    shapes = (kind.sizes() for kind in types if isinstance(kind, torch.TensorType))
    return max((math.prod(shape) for shape in shapes if shape is not None), default=0)


def _is_told(decisions: Any) -> bool:
    return isinstance(decisions, tuple)


def _picked(numbers: Sequence[Any], kept: Sequence[int]) -> tuple[Any, ...]:
    return tuple(numbers[i] for i in kept)


def _first(
    trials: Trials, decided: Any, label: str, ways: set[Any], kept: Sequence[int]
) -> tuple[dict[str, int], Any, Any]:
    """The least sizes, of one label alone and of what is its sum with another, at which something is decided that isn't among
    these ways; what it is, and what is decided below them."""
    size = max(trials.sizes[label], 1)

    def of(n: int) -> dict[str, int]:
        return trials.allowed({**trials.sizes, label: n})

    def at(n: int) -> Any:
        (numbers,) = trials.reruns.computed(decided, [of(n)])
        return _picked(numbers, kept) if isinstance(numbers, tuple) else numbers

    least = size
    # What a size is compared with: it may be equal to it alone.
    thresholds = {c.threshold for c in trials.program.conversions or () if c.threshold is not None}
    thresholds |= decided.turns(label, min(LARGEST, _NEAR * size))
    doubled = [size << step for step in range(1, _DOUBLINGS + 1)]
    for n in sorted({*doubled, *(n for n in thresholds if size < n <= doubled[-1])}):
        if of(n)[label] != n:
            continue
        decisions = at(n)
        if not _is_told(decisions):
            break
        if decisions not in ways:
            while n - least > 1:
                middle = (n + least) // 2
                if at(middle) in ways:
                    least = middle
                else:
                    n, decisions = middle, at(middle)
            return of(n), decisions, at(least)
        least = n
    return {}, None, None
