"""A label that is the sum of two others in the example, as the length of a mask over a cache and new tokens is: meant, or
chance."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from ...dims import Dim, Size
from ...program import Program
from ...program.labels import sum_in
from ..graph import inputs_of
from .trial_sizes import Sizes
from .trials import Reruns, Trials


def is_sum_kept(program: Program, sizes: Sizes, reruns: Reruns, known: Callable[[], Mapping[str, Any]]) -> bool:
    """Whether other sizes are to keep it: the model doesn't run otherwise, or computes the sum itself, and what was recorded
    raises or gives the same where the label is more or less. So do decoders that fill up masks which are too short.

    Args:
        known: gives sizes as expressions of the labels, by the names of the values that they are in the trace.
    """
    total, parts = sum_in(sizes)
    if not parts:
        return True
    others = [{**sizes, total: sizes[total] + step} for step in (-1, 1)]
    alone = dataclasses.replace(program, labels=dataclasses.replace(program.labels, keeps_sum=False))
    if not all(alone.labels.allowed(sizes, at) == at and reruns.takes(at) for at in others):
        return True
    meant = Dim.symbol(parts[0]) + Dim.symbol(parts[1])
    if not _computes(program.keep_alive, known(), meant):
        return False
    trials = Trials(alone, sizes, reruns)
    return all(isinstance(reruns.replay(program.keep_alive, at), Exception) or trials.agree([at]) for at in others)


def _computes(graph: Any, known: Mapping[str, Any], size: Size) -> bool:
    """Whether a trace computes a size, as that of a tensor or by adding two."""
    if size in known.values():
        return True
    for node in graph.findAllNodes("aten::add"):
        a, b = (_size(operand, known) for operand in inputs_of(node)[:2])
        if a is not None and b is not None and a + b == size:
            return True
    return False


def _size(operand: Any, known: Mapping[str, Any]) -> Any:
    """The expression that an operand is, None if it is no size."""
    node = operand.node()
    return known.get(node.inputsAt(0).debugName()) if node.kind() == "prim::NumToTensor" else None
