"""Strides of tensors as products of sizes: `x.as_strided(size, x.stride())`, as overlapping chunks are made.

The tracer gives them as ints, which are those of the example.
"""

from __future__ import annotations

import math
from typing import Any

import torch


def stride(tensor: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
    """`Tensor.stride`; of a tensor whose elements fill its memory each is the product of the sizes of the axes inside of it."""
    strides = torch.Tensor.stride(tensor)
    if torch._C._get_tracing_state() and 0 not in strides:
        strides = _live(tensor, strides)
    if not args and not kwargs:
        return strides
    dim = kwargs["dim"] if kwargs else args[0]
    return strides if dim is None else strides[dim]


def _live(tensor: torch.Tensor, strides: tuple[int, ...]) -> tuple[Any, ...]:
    """The strides, as far as they are such products."""
    with torch._C.DisableTorchFunction():
        sizes = [int(size) for size in tensor.shape]
    order = sorted(range(len(sizes)), key=lambda axis: -strides[axis])
    found: list[Any] = list(strides)
    for place, axis in enumerate(order):
        inside = order[place + 1 :]
        if not inside or strides[axis] != math.prod(sizes[i] for i in inside):
            continue
        found[axis] = 1
        for i in inside:
            found[axis] = found[axis] * tensor.shape[i]
    return tuple(found)


__all__ = ["stride"]
