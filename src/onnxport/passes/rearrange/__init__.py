"""Layout operators - Reshape, Transpose, Squeeze, Unsqueeze - as few as the model needs."""

from __future__ import annotations

import onnx_ir as ir

from ..graph import by_type
from .chains import shorten_chains
from .layout import LAYOUT, Graph, Model, graphs
from .picks import split_picks
from .through import move_transposes


def simplify_layout(model: ir.Model) -> bool:
    """Rewrite in place; whether anything was."""
    shared = Model(model)
    changed = False
    for inner in graphs(model.graph):
        index = by_type(inner)
        if not LAYOUT.isdisjoint(index):
            graph = Graph(inner, shared)
            changed |= any([move_transposes(graph, index), shorten_chains(graph), split_picks(graph)])
    return changed


__all__ = ["simplify_layout"]
