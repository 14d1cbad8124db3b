"""Layout operators - Reshape, Transpose, Squeeze, Unsqueeze - as few as the model needs."""

from __future__ import annotations

import onnx_ir as ir

from .chains import shorten_chains
from .graph import Graph, Model, graphs
from .picks import split_picks
from .through import move_transposes


def simplify_layout(model: ir.Model) -> bool:
    """Rewrite in place; whether anything was."""
    shared = Model(model)
    changed = False
    for inner in list(graphs(model.graph)):
        graph = Graph(inner, shared)
        changed |= any([move_transposes(graph), shorten_chains(graph), split_picks(graph)])
    return changed


__all__ = ["simplify_layout"]
