"""Other sizes at which a model is tried."""

from __future__ import annotations

import math
from collections.abc import Container, Iterator, Mapping, Sequence

from ...program.ir import Conversion

Sizes = Mapping[str, int]

# Small sizes at which the program is run, if it is another one there.
_AROUND = 5
# A program that compares sizes with a number is tried beyond it, up to so many times the example's size.
_GROWTH = 8
_STEP = 16
_NEAR = 20  # sizes up to so much larger or smaller are looked at for `if`s that go another way
_QUARTERS = (2, 3, 5, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)  # of a size: others that are looked at
_SCANNED = 3000  # so many operations may be run for that, which take about 0.1 ms each
_FEW = 10  # fewer show nothing, and are run for if each takes no longer than that
_ALONE = 3
_HALVED = 8
_BLOCK = 32  # what images are most often made smaller by
_REMAINDERS = 8
LARGEST = 2400  # larger sizes aren't run: what has n * n elements, as attention does, fills the memory
_COST = 32  # times the example's run, in all: convolutions and attention at large sizes take minutes


def grown(sizes: Sizes, conversions: Sequence[Conversion], compared: Container[str]) -> Iterator[dict[str, int]]:
    """Larger sizes to try, as `near`; of a program that isn't known to take numbers from sizes so much larger that most
    quotients (`n // 2`, `n // 16`) are others: nothing else would show one that was read unseen."""
    steps = _steps(sizes)
    larger = {label: size + min(size, _STEP) // 2 * 2 + step for (label, size), step in zip(sizes.items(), steps)}
    if not conversions and math.prod(larger[label] / max(size, 1) for label, size in sizes.items()) <= _COST / 4:
        yield larger
    yield from near(sizes, conversions, compared)


def near(sizes: Sizes, conversions: Sequence[Conversion], compared: Container[str]) -> Iterator[dict[str, int]]:
    """Larger sizes to try: beyond what those that are compared were compared with, of another parity each; else whole
    multiples."""
    limit = max(sizes.values(), default=0) * _GROWTH + 64
    beyond = max([c.threshold for c in conversions if c.threshold is not None and c.threshold <= limit], default=0)
    steps = dict(zip(sizes, _steps(sizes)))
    if beyond >= min(sizes.values()):
        larger = {n: max(size, beyond if n in compared else 0) + steps[n] for n, size in sizes.items()}
        if math.prod(larger[label] / max(size, 1) for label, size in sizes.items()) <= _COST:
            yield larger
    yield {label: size + steps[label] for label, size in sizes.items()}
    yield {label: size + 1 for label, size in sizes.items()}
    yield {label: size * 2 for label, size in sizes.items()}
    yield {label: size + (size > 1) for label, size in sizes.items()}  # what is broadcast stays 1
    for label, size in sizes.items():
        yield {**sizes, label: size + 1}


def cheap(sizes: Sizes) -> Iterator[dict[str, int]]:
    """Other sizes at which to see that a model runs at all: half of those that aren't small, or some more if that is whole
    blocks then, as image models want them; else as `near`."""
    half = {label: size // 2 if size >= _HALVED else size + 1 for label, size in sizes.items()}
    blocks = {label: -(-n // _BLOCK) * _BLOCK if sizes[label] > _BLOCK else n for label, n in half.items()}
    yield blocks
    yield half
    yield from near(sizes, (), ())


def _steps(sizes: Sizes) -> list[int]:
    return [1 + 2 * i + (size <= 1) * (i + 1) for i, size in enumerate(sizes.values())]


def further(sizes: Sizes, few: bool) -> Iterator[dict[str, int]]:
    """Sizes next to the example's, with all remainders of small numbers among them unless only few are wanted; and large ones."""
    for step in range(1, 3 if few else _REMAINDERS + 1):
        yield {label: size + step for label, size in sizes.items()}
        yield {label: max(size - step, 1) for label, size in sizes.items()}
    for label in sizes:
        large = {other: max(size, 1) * (_COST if other == label else 1) for other, size in sizes.items()}
        if not few:
            yield large


def shrunk(sizes: Sizes) -> Iterator[dict[str, int]]:
    """Smaller sizes to try of a model that can't take larger ones."""
    yield {label: max(size // 2, min(size, 2)) for label, size in sizes.items()}
    yield {label: max(size - 1, min(size, 2)) for label, size in sizes.items()}


def crossing(sizes: Sizes) -> Iterator[dict[str, int]]:
    """Small sizes to try, where the program compared a size with a number."""
    for small in (1, 2):
        yield dict.fromkeys(sizes, small)
    yield {label: max(size // 2, 1) for label, size in sizes.items()}


def doubled(sizes: Sizes) -> dict[str, int]:
    """About twice the sizes; less if that made a run take very long."""
    larger = {label: 2 * size + 3 for label, size in sizes.items()}
    if math.prod(larger[label] / max(size, 1) for label, size in sizes.items()) <= _COST / 4:
        return larger
    return {label: size + size // 4 + (3 if size >= _HALVED else 1) for label, size in sizes.items()}


def far(sizes: Sizes) -> tuple[list[dict[str, int]], list[dict[str, int]]]:
    """Sizes at which what Python computes of a size is seen to be something else than it seemed (`max(1, int(n * 0.7))`, which
    is 1 for the least): small ones, and some times the example's, of all axes or of single ones where that takes long. The
    most telling are the first of each."""
    small = [dict.fromkeys(sizes, 1), dict.fromkeys(sizes, 2), {label: max(n // 2, 1) for label, n in sizes.items()}]
    larger = {label: 4 * size + 7 for label, size in sizes.items()}
    if math.prod(larger[label] / max(size, 1) for label, size in sizes.items()) <= _COST:
        return small, [larger, doubled(sizes)]
    return small, [doubled(sizes), *({**sizes, label: larger[label]} for label in list(sizes)[:_ALONE])]


def farthest(sizes: Sizes) -> dict[str, dict[str, int]]:
    """Sizes as much larger than the example's as any that are tried, by the label that is so large alone."""
    return {label: {**sizes, label: min(_COST * size, LARGEST)} for label, size in list(sizes.items())[:_ALONE]}


def scanned(sizes: Sizes, conversions: Sequence[Conversion] = ()) -> list[dict[str, int]]:
    """Sizes for which what is decided can be computed, the nearest first: all together, all alike (`h == w`), or one label by
    itself, the others as they are, small or 1. Those about what sizes were compared with are among them."""
    found: dict[tuple[int, ...], dict[str, int]] = {}
    bounds = {c.threshold + step for c in conversions if c.threshold is not None for step in (-1, 0, 1)}
    least = 0 if any(c.threshold == 0 for c in conversions) else 1  # `if cache.shape[1] > 0`
    others = [dict(sizes), {label: _quarter(size) for label, size in sizes.items()}, dict.fromkeys(sizes, 1)]
    for label, size in sizes.items():
        steps = [size + step for step in range(-_NEAR, _NEAR + 1)]
        for n in (*steps, *range(least, _NEAR), *(size * factor // 4 for factor in _QUARTERS), *sorted(bounds)):
            together = {other: max(1, s + n - size) for other, s in sizes.items()}
            for made in (together, dict.fromkeys(sizes, n), *({**other, label: n} for other in others)):
                if n >= least and made != sizes:
                    found.setdefault(tuple(made.values()), made)

    def cost(made: Sizes) -> float:
        return math.prod(made[label] / max(size, 1) for label, size in sizes.items())

    affordable = [made for made in found.values() if cost(made) <= _COST]
    affordable.sort(
        key=lambda made: sum(abs(math.log(max(made[label], 1) / max(size, 1))) for label, size in sizes.items())
    )
    return affordable


def _quarter(size: int) -> int:
    """A quarter of a size, as even or odd as it is."""
    return size // 4 + (size // 4 + size) % 2 if size > 3 else size


def how_many(operations: int) -> int:
    """For how many of these to compute what takes so many operations."""
    return max(_SCANNED // max(operations, 1), _FEW) if operations <= _SCANNED else 0


def around(sizes: Sizes, conversions: Sequence[Conversion]) -> Iterator[dict[str, int]]:
    """Sizes on both sides of what sizes were compared with, all of them and each alone; and large ones."""
    yield doubled(sizes)
    limit = max(sizes.values())
    bounds = {2 if c.threshold is None else c.threshold for c in conversions}
    near = {bound + step for bound in bounds if 1 < bound <= limit for step in (-1, 0, 1)}
    for small in sorted({1, *near})[:_AROUND]:
        yield dict.fromkeys(sizes, small)
        for label in sizes:
            yield {**sizes, label: small}
