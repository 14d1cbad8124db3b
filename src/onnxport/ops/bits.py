"""The bits of numbers as those of another type: `x.view(torch.int32)`."""

from __future__ import annotations

import numpy as np
import torch

from ..dims import exact_div
from ..dtypes import from_scalar_type, is_float8, to_numpy
from ..errors import LoweringError
from ..lower.builder import Builder
from ..lower.registry import lowering
from ..lower.values import Tensor
from .bitwise import right_shift

_SIGNED = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
_UNSIGNED = {1: torch.uint8, 2: torch.uint16, 4: torch.uint32}


@lowering("aten::view.dtype", "aten::view_copy.dtype", "prims::view_of_dtype")
def view_dtype(g: Builder, self: Tensor, dtype: int) -> Tensor:
    """view.dtype(Tensor(a) self, ScalarType dtype) -> Tensor(a)"""
    source, target = self.dtype, from_scalar_type(dtype)
    if source == target:
        return self
    if any(t.is_complex or t.itemsize not in _SIGNED or is_float8(t) for t in (source, target)):
        raise LoweringError(
            f"ONNX can't look at the bits of {source} as {target}; convert values with .to(dtype), or compute what the "
            "bits are needed for with arithmetic"
        )
    if source.itemsize != target.itemsize:
        self = _as_type(g, self, _SIGNED[source.itemsize])
        divided = source.itemsize > target.itemsize
        self = _pieces(g, self, target.itemsize) if divided else _joined(g, self, target.itemsize)
    return _as_type(g, self, target)


def _as_type(g: Builder, x: Tensor, target: torch.dtype) -> Tensor:
    """The same bits in a type of as many; between integers that is what a cast does."""
    if x.dtype == target or not (x.is_float or target.is_floating_point):
        return g.cast(x, target)
    if x.is_constant and x.data is not None and torch.bfloat16 not in (x.dtype, target):
        return g.known(np.ascontiguousarray(x.data).view(to_numpy(target)), target)
    g.require(26, f"looking at the bits of {x.dtype} as {target}")
    return g.op("BitCast", x, to=target)


def _pieces(g: Builder, x: Tensor, size: int) -> Tensor:
    """Each integer as several of `size` bytes along the last axis, the lowest first."""
    count = x.dtype.itemsize // size
    parts = [g.cast(right_shift(g, x, g.const(8 * size * i, x.dtype)), _SIGNED[size]) for i in range(count)]
    stacked = g.concat([g.unsqueeze(part, [x.rank]) for part in parts], x.rank)
    return g.reshape(stacked, [*x.shape[:-1], x.shape[-1] * count])


def _joined(g: Builder, x: Tensor, size: int) -> Tensor:
    """Integers in a row as one of `size` bytes."""
    narrow = x.dtype.itemsize
    count = size // narrow
    length = exact_div(x.shape[-1], count)
    groups = g.reshape(x, [*x.shape[:-1], x.shape[-1] // count if length is None else length, count])
    total: Tensor | None = None
    for i in range(count):
        part = g.gather(groups, g.const(i, torch.int64), x.rank)
        if i < count - 1:  # the sign is in the highest
            part = g.cast(part, _UNSIGNED[narrow])
        shifted = g.mul(g.cast(part, torch.int64), 1 << (8 * narrow * i))
        total = shifted if total is None else g.add(total, shifted)
    assert total is not None
    return g.cast(total, _SIGNED[size])
