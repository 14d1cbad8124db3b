"""Python bools where an operator takes a number: `mask == True`, `torch.full((2,), False)`.

The tracer writes them into the graph as bools, finds then that no operator takes them, and fails with an internal
assertion. While the trace is still open, they are replaced by ints whose names say that they were bools.
"""

from __future__ import annotations

from typing import Any

import torch

_PREFIX = "onnxport_bool"


def is_cause(error: RuntimeError) -> bool:
    """Whether tracing failed for the reason above."""
    return "alias_analysis.cpp" in str(error) and "We don't have an op for" in str(error)


def replace_in_open_trace() -> None:
    """Replace the bools that operators without a schema take, in the graph of the trace that is being recorded."""
    state: Any = torch._C._get_tracing_state()
    graph = state.graph()
    for node in graph.findAllNodes("prim::Constant", True):
        output = node.output()
        if output.type().kind() != "BoolType":
            continue
        for use in list(output.uses()):
            if use.user.schema() == "(no schema)":
                number = graph.insertConstant(int(output.toIValue()))
                number.node().moveBefore(node)
                number.setDebugName(_PREFIX)
                use.user.replaceInput(use.offset, number)


def restored(value: Any, output: Any) -> Any:
    """The constant `value` of a `torch._C.Value`, a bool again if it was one."""
    return bool(value) if type(value) is int and output.debugName().startswith(_PREFIX) else value
