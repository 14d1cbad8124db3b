"""The words that lowerings use: ONNX ops whose signatures changed over the opsets, one method each.

Rules: a method takes Python facts (axes, sizes, numbers) and tensors, and hides which opset takes them how.
A missing op is spelled out in older ones here, once for all callers. Numbers next to a tensor become constants
of the tensor's dtype; promotion is the caller's business. Each file holds one kind of words and builds on those of
the file before it: base, elementwise, transcendental, layout, creation, reduction, spatial, indexing, early, resampling.
Source of the signatures: the ONNX operator specification, https://onnx.ai/onnx/operators/.
"""

from __future__ import annotations

from .base import INT64_MAX, Input
from .resampling import ResamplingWords as Emitter

__all__ = ["INT64_MAX", "Emitter", "Input"]
