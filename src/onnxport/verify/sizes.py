"""Makes inputs of other sizes along the axes that are dynamic."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch

from ..capture.sums import keeping_sum

Axes = Sequence[Mapping[int, str]]
"""For each input, the labels of its dynamic axes."""


def labels(axes: Axes) -> list[str]:
    """The labels in use, each once, in order."""
    return list(dict.fromkeys(label for of_input in axes for label in of_input.values()))


def sizes_of(inputs: Sequence[Any], axes: Axes) -> dict[str, int]:
    """The size that each label has in these inputs."""
    return {
        label: int(x.shape[axis])
        for x, of_input in zip(inputs, axes)
        if isinstance(x, torch.Tensor)
        for axis, label in of_input.items()
    }


def others(example: Mapping[str, int]) -> Iterator[dict[str, int]]:
    """Other sizes to try: each label gets a change of its own, so that mixed up axes show.

    Larger, doubled (where sizes must be multiples of something), smaller, and one.
    """
    tried = [dict(example)]
    steps: list[Callable[[int, int], int]] = [
        lambda size, i: size + 1 + i,
        lambda size, i: size * (2 if size > 1 else 4),
        lambda size, i: max(size - 1 - i % 2, 1),
        lambda size, i: 1,
    ]
    for step in steps:
        made = keeping_sum(example, {label: step(size, i) for i, (label, size) in enumerate(example.items())})
        if made not in tried:
            tried.append(made)
            yield made


def resized(inputs: Sequence[Any], axes: Axes, sizes: Mapping[str, int], seed: int = 0) -> list[Any]:
    """The inputs at other sizes, filled with values that occur in them.

    Drawing from the example's own values keeps what a model relies on: indices in range, masks of zeros and
    ones, audio between -1 and 1. Inputs whose sizes stay are returned as they are.
    """
    generator = torch.Generator().manual_seed(seed)
    return [
        _resized(x, {axis: sizes[label] for axis, label in of_input.items() if label in sizes}, generator)
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
        return torch.zeros(shape, dtype=x.dtype, device=x.device)
    chosen = torch.randint(flat.numel(), (count,), generator=generator).to(x.device)
    return flat[chosen].reshape(shape)


def input_axes(shapes: Sequence[Any]) -> list[dict[int, str]]:
    """Labels of the dynamic axes, from the `onnx_ir` shapes of a graph's inputs."""
    return [
        {} if shape is None else {i: str(d.value) for i, d in enumerate(shape) if not isinstance(d, int) and d.value}
        for shape in shapes
    ]


__all__ = ["Axes", "input_axes", "labels", "others", "resized", "sizes_of"]
