"""Rewrites of the finished graph: `onnx_ir` in, `onnx_ir` out. Each is a file that says what it changes."""

from __future__ import annotations

import onnx_ir as ir

from .affine import fold_affine
from .crashes import keep_from_crashing
from .expand import drop_expands
from .graph import Index, by_type, drop_unused_initializers
from .mixing import mix_from_left
from .pad import fold_pads
from .parallel import merge_parallel
from .rearrange import simplify_layout
from .rms_norm import fuse_rms_norm
from .rounding import keep_from_rounding
from .skip_norm import add_bias_last
from .slices import merge_slices, split_slices
from .squares import multiply_squares


def optimize(model: ir.Model) -> None:
    """Rewrites for inference, in place: no result changes by more than rounding."""
    graph = model.graph
    index = by_type(graph)
    changed = [
        fold_affine(graph, index),
        fold_pads(index),
        _merge_branches(graph, index),
        mix_from_left(index),
        drop_expands(index),
        split_slices(graph, index),
        merge_slices(graph, index),
        fuse_rms_norm(graph, index),
        multiply_squares(index),
        simplify_layout(model),
        add_bias_last(by_type(graph)),
    ]
    if any(changed):
        drop_unused_initializers(graph)
        _tell_apart(graph)


def _merge_branches(graph: ir.Graph, index: Index) -> bool:
    """Merge parallel convolutions; what scales the merged one may let it merge with others."""
    merged = False
    while merge_parallel(graph, index):
        merged = True
        fold_affine(graph, index)
    return merged


def _tell_apart(graph: ir.Graph) -> None:
    """Name nodes anew that have the name of another: a rewrite calls what it makes after what was there."""
    taken = {node.name for node in graph.all_nodes()}
    seen: set[str | None] = set()
    for node in graph.all_nodes():
        if node.name and node.name in seen:
            count = 1
            while f"{node.name}_{count}" in taken:
                count += 1
            node.name = f"{node.name}_{count}"
            taken.add(node.name)
        seen.add(node.name)


__all__ = ["keep_from_crashing", "keep_from_rounding", "optimize"]
