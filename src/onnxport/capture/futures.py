"""What is forked is computed where it is forked: a future is what it will hold."""

from __future__ import annotations

from typing import Any

import torch


def inline_calls(graph: Any) -> None:
    """Put what is called and what is forked in place of the calls."""
    torch._C._jit_pass_inline(graph)
    if graph.findNode("prim::fork", True) is not None:
        inline_forks(graph)
        torch._C._jit_pass_inline(graph)  # what was forked


def inline_forks(graph: Any) -> None:
    """Rewrite in place. Torch's pass knows the `wait` of a fork that it sees, not that of one out of a list or an `if`."""
    torch._C._jit_pass_inline_fork_wait(graph)
    if graph.findNode("aten::wait", True) is not None:
        _without_futures(graph)


def _without_futures(block: Any) -> None:
    for value in block.inputs():
        value.setType(_held(value.type()))
    for node in list(block.nodes()):
        for value in node.outputs():
            value.setType(_held(value.type()))
        for inner in node.blocks():
            _without_futures(inner)
        if node.kind() == "aten::wait":
            node.output().replaceAllUsesWith(node.inputsAt(0))
            node.destroy()


def _held(type: Any) -> Any:
    """A type with what futures hold in their place."""
    kind = type.kind()
    if kind == "FutureType":
        return _held(type.getElementType())
    if kind == "ListType":
        return torch._C.ListType(_held(type.getElementType()))
    if kind == "OptionalType":
        return torch._C.OptionalType(_held(type.getElementType()))
    if kind == "TupleType" and "Future" in type.annotation_str:
        return torch._C.TupleType([_held(element) for element in type.elements()])
    if kind == "DictType":
        return torch._C.DictType(_held(type.getKeyType()), _held(type.getValueType()))
    return type
