"""Makes inputs of other sizes along the axes that are dynamic."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch

from ..program import Labels

Axes = Sequence[Mapping[int, str]]
"""For each input, the labels of its dynamic axes."""

NOTHING_KNOWN = Labels()


def sizes_of(inputs: Sequence[Any], axes: Axes, labels: Labels = NOTHING_KNOWN) -> dict[str, int]:
    """The size that each label has in these inputs, of those that don't follow from others."""
    return labels.free(
        {
            label: int(x.shape[axis])
            for x, of_input in zip(inputs, axes)
            if isinstance(x, torch.Tensor)
            for axis, label in of_input.items()
        }
    )


def others(example: Mapping[str, int], labels: Labels = NOTHING_KNOWN) -> Iterator[dict[str, int]]:
    """Other sizes to try: each label gets a change of its own, so that mixed up axes show.

    Larger, doubled (where sizes must be multiples of something), smaller, and one; within bounds.
    """
    tried = [dict(example)]
    steps: list[Callable[[int, int], int]] = [
        lambda size, i: size + 1 + i,
        lambda size, i: size * 2 if size > 1 else 4,
        lambda size, i: max(size - 1 - i % 2, 1),
        lambda size, i: 1,
    ]
    for step in steps:
        made = labels.allowed(example, {label: step(size, i) for i, (label, size) in enumerate(example.items())})
        if made not in tried:
            tried.append(made)
            yield made


def resized(
    inputs: Sequence[Any], axes: Axes, sizes: Mapping[str, int], labels: Labels = NOTHING_KNOWN, seed: int = 0
) -> list[Any]:
    """The inputs at other sizes, filled with values that occur in them.

    Drawing from the example's own values keeps what a model relies on: indices in range, masks of zeros and
    ones, audio between -1 and 1. Inputs whose sizes stay are returned as they are.
    """
    generator = torch.Generator().manual_seed(seed)
    return [
        _resized(x, {axis: labels.size(label, sizes) for axis, label in of_input.items()}, generator)
        for x, of_input in zip(inputs, axes)
    ]


def _resized(x: Any, changed: Mapping[int, int], generator: torch.Generator) -> Any:
    if not isinstance(x, torch.Tensor):
        return x
    shape = [changed.get(axis, int(size)) for axis, size in enumerate(x.shape)]
    if shape == list(x.shape):
        return x
    flat = x.detach().reshape(-1)
    count = int(torch.Size(shape).numel())
    if not flat.numel():
        empty = torch.zeros(shape, dtype=x.dtype)
        return (torch.randn(shape, generator=generator).to(x.dtype) if x.is_floating_point() else empty).to(x.device)
    chosen = torch.randint(flat.numel(), (count,), generator=generator).to(x.device)
    return flat[chosen].reshape(shape)


def input_axes(shapes: Sequence[Any]) -> list[dict[int, str]]:
    """Labels of the dynamic axes, from the `onnx_ir` shapes of a graph's inputs."""
    return [
        {} if shape is None else {i: str(d.value) for i, d in enumerate(shape) if not isinstance(d, int) and d.value}
        for shape in shapes
    ]


__all__ = ["Axes", "input_axes", "others", "resized", "sizes_of"]
