"""Rewrites of the finished graph: `onnx_ir` in, `onnx_ir` out. Each is a file that says what it changes."""

from __future__ import annotations

import onnx_ir as ir

from .conv_batch_norm import fuse_conv_batch_norm
from .rms_norm import fuse_rms_norm


def optimize(model: ir.Model) -> None:
    """Rewrites for inference, in place: no result changes by more than rounding."""
    if any([fuse_conv_batch_norm(model), fuse_rms_norm(model)]):
        _drop_unused_initializers(model.graph)


def _drop_unused_initializers(graph: ir.Graph) -> None:
    for name, value in list(graph.initializers.items()):
        if not value.uses() and not value.is_graph_output() and not value.is_graph_input():
            del graph.initializers[name]


__all__ = ["optimize"]
