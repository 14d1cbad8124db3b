"""Quantized tensors: integers with a scale and a zero point, and how ops run on them.

An op on quantized tensors is, in ONNX, the op on floats between DequantizeLinear and QuantizeLinear, which runtimes
fuse. Ops that only move elements work on the integers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ..errors import LoweringError
from . import kernels
from .builder import Builder
from .registry import Lowering
from .values import Tensor

# The integers that a quantized type stores.
STORED = {torch.quint8: torch.uint8, torch.qint8: torch.int8, torch.qint32: torch.int32}

# Ops that move elements and don't look at them.
_MOVES = frozenset(
    f"aten::{name}"
    for name in [
        "alias",
        "clone",
        "contiguous",
        "detach",
        "expand",
        "flatten",
        "narrow",
        "permute",
        "repeat",
        "reshape",
        "select",
        "slice",
        "squeeze",
        "t",
        "transpose",
        "unsqueeze",
        "unflatten",
        "view",
        "view_as",
        "size",
        "dim",
        "numel",
        "chunk",
        "split",
        "unbind",
        "index_select",
        "pixel_shuffle",
    ]
)


class QTensor(Tensor):
    """A quantized tensor: `(integers - zero_point) * scale`; both are vectors along `axis`, or 0-d without one."""

    __slots__ = ("axis", "integers", "scale", "zero_point")

    def __init__(
        self, dtype: torch.dtype, integers: Tensor, scale: Tensor, zero_point: Tensor, axis: int | None = None
    ) -> None:
        super().__init__(dtype, integers.dims, integers.value)
        self.integers = integers
        self.scale = scale
        self.zero_point = zero_point
        self.axis = axis

    def like(self, integers: Tensor) -> QTensor:
        """Other integers of the same meaning."""
        return QTensor(self.dtype, integers, self.scale, self.zero_point, self.axis)


def parameters(g: Builder, scale: Any, zero_point: Any, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Scale and zero point as 0-d tensors of the types that ONNX wants."""
    return g.scalar(scale, torch.float32), g.scalar(zero_point, STORED[dtype])


def quantize(
    g: Builder, x: Tensor, scale: Tensor, zero_point: Tensor, dtype: torch.dtype, axis: int | None = None
) -> QTensor:
    """Rounded to the nearest (halves to even) and clipped to the range of the type."""
    stored = STORED[dtype]
    native = stored != torch.int32 and _has_kernel(g, "QuantizeLinear", axis)
    if native:
        integers = g.op("QuantizeLinear", x, scale, zero_point, axis=axis)
    else:
        factor, shift = _along(g, scale, axis, x.rank), g.cast(_along(g, zero_point, axis, x.rank), torch.float32)
        limits = torch.iinfo(stored)
        low, high = float(limits.min), float(np.nextafter(np.float32(limits.max + 1), np.float32(0)))
        if stored != torch.int32:
            high = float(limits.max)
        integers = g.cast(g.clip(g.add(g.round(g.div(x, factor)), shift), low, high), stored)
    return QTensor(dtype, integers, scale, zero_point, axis)


def dequantize(g: Builder, q: QTensor) -> Tensor:
    """The floats that a quantized tensor stands for."""
    if _has_kernel(g, "DequantizeLinear", q.axis):
        zero = None if q.integers.dtype == torch.int32 else q.zero_point
        if zero is not None or (q.zero_point.is_constant and not np.any(q.zero_point.data)):
            return g.op("DequantizeLinear", q.integers, q.scale, zero, axis=q.axis)
    zero_point = g.cast(_along(g, q.zero_point, q.axis, q.rank), torch.float32)
    return g.mul(g.sub(g.cast(q.integers, torch.float32), zero_point), _along(g, q.scale, q.axis, q.rank))


def _has_kernel(g: Builder, op_type: str, axis: int | None) -> bool:
    """Per channel since opset 13. onnxruntime 1.32 has none for opset 28: there it is spelled out."""
    return g.opset >= (10 if axis is None else 13) and kernels.runs(op_type, g.opset)


def _along(g: Builder, x: Tensor, axis: int | None, rank: int) -> Tensor:
    """A vector along an axis, to be broadcast."""
    return x if axis is None else g.unsqueeze(x, [i for i in range(rank) if i != axis])


def contains(value: Any) -> bool:
    """Whether an argument is or holds a quantized tensor."""
    return isinstance(value, QTensor) or (isinstance(value, (list, tuple)) and any(map(contains, value)))


def adapted(name: str, lower: Lowering) -> Lowering:
    """The lowering of an op on floats as one for quantized tensors: the result is quantized as the first of them."""

    def on_quantized(g: Builder, *arguments: Any) -> Any:
        first = next(_all(arguments))
        if first.axis is not None:
            raise LoweringError("ops on tensors quantized per channel can't be converted; dequantize() first")
        if name.partition(".")[0] in _MOVES:
            return _map(lower(g, *_map(arguments, lambda x: x.integers if isinstance(x, QTensor) else x)), first.like)
        result = lower(g, *_map(arguments, lambda x: dequantize(g, x) if isinstance(x, QTensor) else x))

        def back(x: Tensor) -> Tensor:
            return quantize(g, x, first.scale, first.zero_point, first.dtype) if x.is_float else x

        return _map(result, back)

    return on_quantized


def _all(value: Any) -> Any:
    if isinstance(value, QTensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for element in value:
            yield from _all(element)


def _map(value: Any, function: Any) -> Any:
    if isinstance(value, Tensor):
        return function(value)
    if isinstance(value, (list, tuple)):
        return type(value)(_map(element, function) for element in value)
    return value
