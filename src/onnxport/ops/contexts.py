"""What surrounds a computation and changes nothing of it: gradient modes, seeds, profilers."""

from __future__ import annotations

import re
from typing import Any

from ..errors import LoweringError
from ..lower.builder import Builder
from ..lower.evaluator import Evaluator
from ..lower.registry import evaluation, lowering
from ..program import Node

# Context managers that change nothing of what is computed.
_CONTEXTS = re.compile(r"(grad_mode\.(no_grad|enable_grad|set_grad_enabled|inference_mode)|profiler\.record_function)$")


@evaluation("prim::Enter", "prim::Exit")
def context(ev: Evaluator, node: Node) -> None:
    """Enter(context) and Exit(context, ...), which `with` is made of"""
    kind = getattr(node.inputs[0], "type", "")
    if not _CONTEXTS.search(kind):
        raise LoweringError(f"a `with` of {kind}, which may change what is computed; call what it does directly")
    ev.bind(node, [None] * len(node.outputs))


@lowering(
    "aten::is_grad_enabled", "aten::is_autocast_enabled", "aten::is_autocast_cpu_enabled", "aten::_get_tracing_state"
)
def is_grad_enabled(g: Builder, *_: Any) -> bool:
    """is_grad_enabled() -> bool, and its like: a model that runs computes no gradients, and in the types it has"""
    return False


@lowering("aten::set_grad_enabled", "aten::manual_seed")
def computes_nothing(g: Builder, *_: Any) -> None:
    """set_grad_enabled(bool val) -> (); manual_seed(int seed) -> (), of numbers that aren't PyTorch's anyway"""
