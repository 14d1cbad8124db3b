"""Tensors made from sizes and numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch

from ... import dims as sizes
from ...dims import Dim, Size
from ..values import Number, Scalar, Tensor
from .layout import LayoutWords

# Constants of up to this many elements are written out; larger ones are made by ConstantOfShape.
FULL_LIMIT = 1024


class CreationWords(LayoutWords):
    """Tensors made from sizes and numbers."""

    def full(self, target: Sequence[Size], value: Number, dtype: torch.dtype) -> Tensor:
        """A tensor of these sizes with one value everywhere."""
        dynamic = isinstance(value, (Dim, Scalar, Tensor))
        fixed = [d for d in target if isinstance(d, int)]
        if len(fixed) == len(target) and math.prod(fixed) <= FULL_LIMIT and not dynamic:
            return self.const(np.full(fixed, value), dtype)  # type: ignore[arg-type]
        if dynamic or self.opset < 9:
            return self.expand(self.scalar(value, dtype), target)
        fill = self.const([value], dtype)
        result = self._constant_of_shape(self.ints(target), fill)
        result.dims = tuple(target)
        return result

    def _constant_of_shape(self, shape: Tensor, fill: Tensor) -> Tensor:
        if fill.dtype in (torch.bfloat16,) and self.opset < 20:
            return self.cast(self._constant_of_shape(shape, self.cast(fill, torch.float32)), fill.dtype)
        result = self.op("ConstantOfShape", shape, value=fill.data)
        return result

    def range(self, start: Size, end: Size, step: int = 1, dtype: torch.dtype = torch.int64) -> Tensor:
        """Integers from start up to (not including) end, 1-d."""
        if isinstance(start, int) and isinstance(end, int) and len(range(start, end, step)) <= 1 << 16:
            return self.const(np.arange(start, end, step), dtype)
        # onnxruntime 1.32 fuses a Gather of a Range to a Slice, for which bounds below zero count from the end.
        if self.opset >= 11 and sizes.known_ge(start, 0) and sizes.known_ge(end, 0):
            result = self.op("Range", self.size(start), self.size(end), self.size(step))
            if start == 0 and step == 1 and result.value is not None:
                self.counts[result.value] = end
            return self.cast(result, dtype)
        count = sizes.maximum(-((start - end) // step), 0)
        positions = self.range(0, count) if self.opset >= 11 else self._positions(count)
        if step != 1:
            positions = self.mul(positions, step)
        return self.cast(positions if start == 0 else self.add(positions, self.size(start)), dtype)

    def _positions(self, count: Size) -> Tensor:
        """0, 1, ... below a size, without Range: the places of as many ones."""
        if self.opset < 9:
            return self.counted(count)
        positions = self.squeeze(self.op("NonZero", self.full([count], 1, torch.float32)), [0])
        positions.dims = (count,)
        return positions
