"""What is known of the sizes that the labels of dynamic axes stand for: bounds, and which follow from others."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ..dims import Dim, Size, evaluate, exact_div, free_symbols, parse, substitute


@dataclass(slots=True)
class Labels:
    """Labels of which more is known than that they are sizes.

    Attributes:
        bounds: the least size, and the largest if there is one.
        derived: labels that are expressions of others, as `2*n + 1` is one of `n`; n need not be a label itself.
        keeps_sum: whether other sizes than the example's keep a sum that is in it (see `sum_in`).
    """

    bounds: dict[str, tuple[int, int | None]] = field(default_factory=dict)
    derived: dict[str, Dim] = field(default_factory=dict)
    keeps_sum: bool = True

    @classmethod
    def read(cls, labels: Iterable[str]) -> Labels:
        """What the texts of the labels of an exported model say."""
        plain, found = set(labels), cls()
        for label in plain:
            try:
                size = parse(label)
            except ValueError:
                continue
            if isinstance(size, Dim) and str(size) == label and free_symbols(size) <= plain - {label}:
                found.derived[label] = size
        return found

    def rename(self, names: Mapping[str, str]) -> dict[str, str]:
        """Give labels other names; those of all that are changed by it."""
        sizes = {old: Dim.symbol(new) for old, new in names.items()}
        changed = dict(names)
        derived: dict[str, Dim] = {}
        for label, size in self.derived.items():
            renamed = substitute(size, sizes)
            assert isinstance(renamed, Dim)
            changed[label] = str(renamed)
            derived[str(renamed)] = renamed
        self.derived = derived
        self.bounds = {names.get(label, label): bounds for label, bounds in self.bounds.items()}
        return changed

    def size(self, label: str, sizes: Mapping[str, int]) -> int:
        """The size of a label, given those that don't follow from others."""
        expression = self.derived.get(label)
        return sizes[label] if expression is None else evaluate(expression, sizes)

    def free(self, sizes: Mapping[str, int]) -> dict[str, int]:
        """The sizes that others don't follow from, of those of all labels; also of what is no label itself.

        ValueError for a size that isn't what its expression says.
        """
        found = {label: size for label, size in sizes.items() if label not in self.derived}
        for label, expression in self.derived.items():
            if label in sizes:
                missing = free_symbols(expression) - found.keys()
                if missing:
                    (root,) = missing
                    found[root] = _solved(expression, root, sizes[label])
        for label, expression in self.derived.items():
            if label in sizes and evaluate(expression, found) != sizes[label]:
                given = ", ".join(f"{root}={found[root]}" for root in sorted(free_symbols(expression)))
                raise ValueError(f"an axis of the size {label} has {sizes[label]} in the example, where {given}")
        return found

    def check(self, sizes: Mapping[str, int]) -> None:
        """ValueError for a size of the example that is out of bounds."""
        for label, (least, largest) in self.bounds.items():
            if label in sizes and not (least <= sizes[label] and (largest is None or sizes[label] <= largest)):
                limit = f"{least} or more" if largest is None else f"from {least} to {largest}"
                raise ValueError(f"the size {label} is {sizes[label]} in the example, but has to be {limit}")

    def allowed(self, example: Mapping[str, int], sizes: Mapping[str, int]) -> dict[str, int]:
        """Such sizes, or those nearest to them within bounds, with sums kept as they are in the example."""
        changed = keeping_sum(example, sizes) if self.keeps_sum else sizes
        return {label: self._within(label, size) for label, size in changed.items()}

    def outside(self, label: str, up_to: int) -> list[int]:
        """The sizes of a label, up to a number, that are out of bounds."""
        return [size for size in range(up_to) if self._within(label, size) != size]

    def count(self, label: str) -> int | None:
        """How many sizes a label may have, None if any number."""
        least, largest = self.bounds.get(label, (0, None))
        return None if largest is None else largest - least + 1

    def _within(self, label: str, size: int) -> int:
        least, largest = self.bounds.get(label, (0, None))
        return max(size if largest is None else min(size, largest), least)


def inverse(expression: Size, root: str, size: Size) -> Size | None:
    """What `root` is where the expression has this size; None if it isn't a multiple of the root and a number."""
    offset = substitute(expression, {root: 0})
    step = substitute(expression, {root: 1}) - offset
    if not isinstance(offset, int) or not isinstance(step, int) or not step:
        return None
    if exact_div(expression - offset, step) != Dim.symbol(root):
        return None
    return (size - offset) // step


def _solved(expression: Dim, root: str, size: int) -> int:
    found = inverse(expression, root, size)
    assert isinstance(found, int)
    return found


def keeping_sum(example: Mapping[str, int], sizes: Mapping[str, int]) -> dict[str, int]:
    """Other sizes, with the largest label kept the sum of two others if it is that in the example.

    The length of a mask over a cache and new tokens is the sum of theirs. Most models with such axes run only where the
    sum holds.
    """
    changed = dict(sizes)
    total, parts = sum_in(example)
    if parts:
        changed[total] = sum(sizes[label] for label in parts)
    return changed


def sum_in(example: Mapping[str, int]) -> tuple[str, tuple[str, ...]]:
    """The largest label, and the two others that it is the sum of; none if there are no such two, or several."""
    total = max(example, key=lambda label: example[label], default="")
    rest = [label for label in example if label != total and 0 < example[label] < example[total]]
    pairs = [(a, b) for a, b in itertools.combinations(rest, 2) if example[a] + example[b] == example[total]]
    return total, pairs[0] if len(pairs) == 1 else ()
