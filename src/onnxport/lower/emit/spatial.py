"""Convolution, pooling, resampling, recurrence: ops over axes of space and time."""

from __future__ import annotations

from .reduction import ReductionWords


class SpatialWords(ReductionWords):
    """Convolution, pooling, resampling, recurrence."""
