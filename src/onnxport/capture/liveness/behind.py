"""What is decided only where an `if` goes another way than in the example, as `n % 4 == 1` in `if n > 16 and n % 4 == 1`.

The recording of the example doesn't have it. So where another way gives the same results, the model is recorded once there, and
what it takes out of sizes on that way is looked at like what the example took.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...program import Location, Program
from .beyond import beyond
from .report import Frozen, listed
from .trial_sizes import doubled
from .trials import Trial, Trials

# Of programs with more nodes, another recording takes longer than is right for what is rare.
_NODES = 500
_WAYS = 3


def decided_behind(trials: Trials, program_of: Callable[[Trial], Program]) -> tuple[list[Frozen], dict[str, int]]:
    """What is decided on other ways so that the results are others than those of the program; and sizes where they are.

    Args:
        program_of: reads the recording of a trial.
    """
    ways = _one_of_each_way(trials)
    if not ways or sum(1 for _ in trials.program.keep_alive.nodes()) > _NODES:
        return [], {}
    for sizes in ways:
        trial = trials.at(sizes)
        if trial is None:
            continue
        other = Trials(program_of(trial), trial.sizes, trials.reruns)
        # Ints that are taken there, too, show at larger sizes.
        for at in (*other.other_ways(), other.allowed(doubled(trial.sizes))):
            if not trials.agree([at]):
                what = f"this is asked at {listed(trial.sizes)} only, and decided otherwise at {listed(at)}"
                return [Frozen(Location("", _place(other, at)), what)], at
        far, where = beyond(other, unchanged=True)
        if far:
            return far, where
    return [], {}


def _one_of_each_way(trials: Trials) -> list[dict[str, int]]:
    """Sizes, none of them 0, for each of the first ways that `if`s of the model's own lines go elsewhere."""
    decided = trials.program.conditions.decided
    options = [sizes for sizes in trials.other_ways() if 0 not in sizes.values()]
    mine, *found = trials.reruns.computed(decided, [trials.sizes, *options])
    ways: dict[Any, dict[str, int]] = {}
    for sizes, decisions in zip(options, found):
        if not isinstance(mine, tuple) or not isinstance(decisions, tuple):
            continue
        if any(place and a != b for place, a, b in zip(decided.places, mine, decisions)):
            ways.setdefault(decisions, sizes)
    return list(ways.values())[:_WAYS]


def _place(other: Trials, at: dict[str, int]) -> str:
    """The first line that decides otherwise at some sizes."""
    decided = other.program.conditions.decided
    mine, theirs = other.reruns.computed(decided, [other.sizes, at])
    if not isinstance(mine, tuple) or not isinstance(theirs, tuple):
        return ""
    return next((place for place, a, b in zip(decided.places, mine, theirs) if place and a != b), "")
