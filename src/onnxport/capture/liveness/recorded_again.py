"""A model that takes numbers of sizes, recorded once more so that they stay live (see `tracing/live_numbers`): what Python makes
of them is in the recording then, as is what is made of sizes themselves."""

from __future__ import annotations

import functools

from ...program import Program
from .trial_sizes import Sizes
from .trials import Known, Reruns, Trials, are_close


def with_live_numbers(program: Program, sizes: Sizes, reruns: Reruns, known: Known) -> None:
    """Take the other recording in place of the program, if it gives the same."""
    if all(conversion.decides for conversion in program.conversions or ()):
        return
    conditions = program.conditions
    conditions.learn(functools.partial(known, program), sizes, for_all=False)
    recording = reruns.trace_live(conditions.takers, conditions.codes)
    if recording is None or isinstance(recording, Exception):
        return
    other = recording.read()
    given = reruns.replay(other.keep_alive, sizes)
    if not (
        are_close(given, program.gave, more=len(other.readings))
        or Trials(other, sizes, reruns).gives_as_recorded(sizes)
    ):
        reruns.trace_plain()
        return
    program.take_graph(other)
    # What left this recording is another thing, too.
    program.conversions, program.reads_values = other.conversions, other.reads_values
    program.keeps_sizes, program.conditions = other.keeps_sizes, other.conditions
