"""Finds the first operation whose result in onnxruntime differs from the one in PyTorch.

The program is lowered once more with every intermediate result kept, then both sides run on the same inputs:
the program in PyTorch (`interpreter`), the graph in onnxruntime. Programs run in order, so the first result
that differs belongs to the operation that is wrong, or to one that got a wrong size from it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import onnx_ir as ir
import torch

from ..errors import OnnxExporterError
from ..lower.model import Lowered
from ..lower.values import Tensor
from ..program import Node, Program
from .compare import OutputError, compare, plain
from .interpreter import NotInterpreted, interpret
from .runtime import Session

Relower = Callable[[Callable[[Node, list[Any]], None]], Lowered]
"""Lowers the program again and tells an observer of each node and its results."""


@dataclass(frozen=True, slots=True)
class FirstDifference:
    """Where the two sides part.

    Attributes:
        op: the PyTorch operator; "" if the recorded program itself isn't what the model does.
        place: module path and source line.
        error: what is wrong with its result.
        onnx_node: name of the node that made it.
    """

    op: str
    place: str
    error: str
    onnx_node: str = ""

    def __str__(self) -> str:
        if not self.op:
            return self.error
        node = f" [{self.onnx_node}]" if self.onnx_node else ""
        return f"first difference: {self.op} at {self.place}{node}\n    {self.error}"


def first_difference(
    program: Program,
    relower: Relower,
    feed: Callable[[Sequence[Any]], dict[str, Any]],
    inputs: Sequence[Any],
    expected: Sequence[torch.Tensor],
    rtol: float | None = None,
    atol: float | None = None,
) -> FirstDifference | None:
    """The first operation that differs on these inputs; None if it can't be told.

    Args:
        feed: the graph's inputs by name from flat inputs.
        expected: what the model gives in eager PyTorch.
    """
    in_torch: dict[tuple[Node, int], list[torch.Tensor]] = {}

    def keep(node: Node, results: list[Any]) -> None:
        for i, result in enumerate(results):
            if isinstance(result, torch.Tensor):
                in_torch.setdefault((node, i), []).append(plain(result).clone())

    try:
        with torch.no_grad():
            recorded = interpret(program, [_copy(x) for x in inputs], keep)
    except NotInterpreted:
        return None
    except (RuntimeError, TypeError, ValueError, IndexError) as error:
        return FirstDifference("", "", f"the recorded program can't run at these sizes: {error}")
    parted = _not_as_recorded(recorded, expected, rtol, atol)
    if parted is not None:
        return parted
    return _compare_nodes(relower, feed(inputs), in_torch, rtol, atol)


def _not_as_recorded(
    recorded: Sequence[Any], expected: Sequence[torch.Tensor], rtol: float | None, atol: float | None
) -> FirstDifference | None:
    """Whether the program, run in PyTorch, already gives something else than the model."""
    for i, (r, e) in enumerate(zip(recorded, expected)):
        error = compare(f"output {i}", torch.as_tensor(plain(r)) if isinstance(r, torch.Tensor) else r, e, rtol, atol)
        if isinstance(r, torch.Tensor) and not error.ok:
            return FirstDifference(
                "",
                "",
                "the recorded run differs from the model itself: its Python code depends on the sizes or values of "
                "the example (a branch, a loop, .item(), a number made from a tensor); script that part "
                "(torch.jit.script) or make it independent of them",
            )
    return None


def _compare_nodes(
    relower: Relower,
    feeds: dict[str, Any],
    in_torch: dict[tuple[Node, int], list[torch.Tensor]],
    rtol: float | None,
    atol: float | None,
) -> FirstDifference | None:
    made: list[tuple[Node, int, ir.Value]] = []

    def note(node: Node, results: list[Any]) -> None:
        for i, result in enumerate(results):
            if isinstance(result, Tensor) and result.value is not None and len(in_torch.get((node, i), ())) == 1:
                made.append((node, i, result.value))

    lowered = relower(note)
    graph = lowered.model.graph
    present = {id(v) for n in graph for v in n.outputs}
    probes = [(node, i, v) for node, i, v in made if id(v) in present and v.name]
    known = {v.name for v in graph.outputs}
    for value in dict.fromkeys(v for _, _, v in probes):
        if value.name not in known:
            graph.outputs.append(value)
    try:
        session = Session(lowered.model)
    except OnnxExporterError:
        return None
    try:
        found = dict(zip(session.output_names, session.run(feeds)))
    except Exception as error:  # onnxruntime's errors derive from Exception alone
        return _failing(lowered, str(error))
    for node, i, value in probes:
        result = compare(str(value.name), found.get(str(value.name)), in_torch[node, i][0], rtol, atol)
        if not result.ok:
            return _found(node, value, result)
    return None


def _found(node: Node, value: ir.Value, error: OutputError) -> FirstDifference:
    producer = value.producer()
    return FirstDifference(node.op, str(node.location), error.problem, (producer.name or "") if producer else "")


def _failing(lowered: Lowered, message: str) -> FirstDifference | None:
    """The operation behind the node that onnxruntime says it can't run."""
    name = re.search(r"Name:'([^']*)'", message)
    for node, origin in lowered.origins.items():
        if name is not None and node.name == name[1]:
            reason = message.partition("Status Message: ")[2] or message
            return FirstDifference(origin.op, str(origin.location), reason.splitlines()[0], name[1])
    return None


def _copy(x: Any) -> Any:
    return x.detach().clone() if isinstance(x, torch.Tensor) else x
