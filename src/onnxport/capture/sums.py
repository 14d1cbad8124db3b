"""Sizes that belong together: the length of a mask over a cache and new tokens is the sum of theirs."""

from __future__ import annotations

import itertools
from collections.abc import Mapping


def keeping_sum(example: Mapping[str, int], sizes: Mapping[str, int]) -> dict[str, int]:
    """Other sizes, with the largest label kept the sum of two others if it is that in the example.

    Most models with such axes run only where the sum holds; where it is chance, the sizes are as good as any.
    """
    changed = dict(sizes)
    total = max(example, key=lambda label: example[label], default=None)
    if total is None:
        return changed
    rest = [label for label in example if label != total and 0 < example[label] < example[total]]
    pairs = [(a, b) for a, b in itertools.combinations(rest, 2) if example[a] + example[b] == example[total]]
    if len(pairs) == 1:
        changed[total] = sum(sizes[label] for label in pairs[0])
    return changed
