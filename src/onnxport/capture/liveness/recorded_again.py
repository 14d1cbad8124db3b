"""A model that takes numbers of sizes, recorded once more so that they stay live (see `tracing/live_numbers`): what Python makes
of them is in the recording then, as is what is made of sizes themselves."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from ...program import Program
from .trial_sizes import Sizes
from .trials import Reruns, Trials


def with_live_numbers(
    program: Program, sizes: Sizes, reruns: Reruns, known: Callable[[Program], Mapping[str, Any]]
) -> Program | None:
    """Take the other recording in place of the program, if it gives the same; what was recorded, None if nothing else was.

    Args:
        known: gives sizes as expressions of the labels, by the names of the values of a program that they are.
    """
    if all(conversion.decides for conversion in program.conversions or ()):
        return None
    conditions = program.conditions
    conditions.learn(functools.partial(known, program), sizes, for_all=False)
    recording = reruns.trace_live(conditions.takers, conditions.codes)
    if recording is None or isinstance(recording, Exception):
        return None
    other = recording.read()
    if not Trials(other, sizes, reruns).gives_as_recorded(sizes):
        reruns.trace_plain()
        return None
    other.labels = program.labels
    for mine, theirs in zip(program.inputs, other.inputs):
        theirs.axes = mine.axes
        mine.value = theirs.value
    for name in _RECORDED:
        setattr(program, name, getattr(other, name))
    return other


_RECORDED = (
    "block", "weights", "state", "conversions", "reads_values", "readings", "keeps_sizes", "conditions", "keep_alive",
)  # fmt: skip
