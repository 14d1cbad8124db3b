"""Convolution, pooling, resampling, recurrence: ops over axes of space and time."""

from __future__ import annotations

from ..values import Tensor
from .indexing import IndexWords


class SpatialWords(IndexWords):
    """Convolution, pooling, resampling, recurrence."""

    def is_zeros(self, x: Tensor) -> bool:
        """Whether x is known to be zero everywhere: such an initial state is left out."""
        if x.is_constant:
            return x.data is not None and not x.data.any()
        node = None if x.value is None else x.value.producer()
        if node is None or node.op_type != "ConstantOfShape":
            return False
        fill = node.attributes.get("value")
        return fill is None or not fill.as_tensor().numpy().any()
