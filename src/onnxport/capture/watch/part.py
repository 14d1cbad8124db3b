"""The part of a graph that leads to some of its values, with all that writes to what these are computed from.

TorchScript's own pass keeps whatever writes to tensors that have been in a list, which is most of a model with `relu_`.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import Any

import torch

from ..graph import inputs_of, outputs_of

_MADE = ("prim::Constant", "prim::NumToTensor")
_GIVEN = ""  # stands for the memory of all that is no result: inputs, and constants


class Part:
    """Of one graph: what shares memory with what, and which nodes write where."""

    def __init__(self, graph: Any) -> None:
        self._graph = graph
        self._memory: dict[str, str] = {value.debugName(): _GIVEN for value in graph.inputs()}
        self._writers: list[tuple[str, Any]] = []
        self._nodes = list(graph.nodes())
        for node in self._nodes:
            self._add(node)

    def _add(self, node: Any) -> None:
        kind = node.kind()
        if kind in _MADE:
            if kind == "prim::Constant" and isinstance(node.output().type(), torch.TensorType):
                self._memory[node.output().debugName()] = _GIVEN
            return
        shares, writes_first, writes_more = _schema(node.schema())
        if not shares:
            return
        operands = [value.debugName() for value in inputs_of(node) if _has_memory(value)]
        if writes_first and operands:
            del operands[1:]
        names = operands + [value.debugName() for value in outputs_of(node)]
        for name in names[1:]:
            self._join(names[0], name)
        if (writes_first or writes_more) and names:
            self._writers.append((names[0], node))

    def _join(self, a: str, b: str) -> None:
        a, b = self._of(a), self._of(b)
        if a != b:
            if a == _GIVEN:
                a, b = b, a
            self._memory[a] = b

    def _of(self, name: str) -> str:
        """The memory of a value, by the name of one that has it."""
        while (other := self._memory.get(name, name)) != name:
            name = other
        return name

    def of(self, values: Sequence[Any]) -> Any | None:
        """A graph that returns these values, with the inputs of the whole; None where control flow leads to them."""
        writers: dict[str, list[Any]] = {}
        for name, node in self._writers:
            writers.setdefault(self._of(name), []).append(node)
        needed: set[str] = set()
        seen: set[str] = set()
        pending = list(values)
        while pending:
            value = pending.pop()
            name = value.debugName()
            if name in seen:
                continue
            seen.add(name)
            for node in (value.node(), *writers.pop(self._of(name), ())):
                if any(True for _ in node.blocks()):
                    return None
                if node.kind() != "prim::Param" and outputs_of(node)[0].debugName() not in needed:
                    needed.add(outputs_of(node)[0].debugName())
                    pending += inputs_of(node)
        return self._copied(needed, values)

    def _copied(self, needed: set[str], values: Sequence[Any]) -> Any:
        part: Any = torch._C.Graph()
        made: dict[Any, Any] = {}
        for value in self._graph.inputs():
            made[value] = part.addInput()
            made[value].setType(value.type())
        for node in self._nodes:
            outputs = outputs_of(node)
            if outputs and outputs[0].debugName() in needed:
                copy = part.insertNode(part.createClone(node, made.__getitem__))
                made.update(zip(outputs, outputs_of(copy)))
        returned = part.insertNode(part.create("prim::TupleConstruct", [made[value] for value in values], 1))
        returned.output().setType(torch._C.TupleType([value.type() for value in values]))
        part.registerOutput(returned.output())
        return part


def _has_memory(value: Any) -> bool:
    return value.type().kind() not in ("IntType", "FloatType", "BoolType", "NoneType", "StringType", "DeviceObjType")


@functools.cache
def _schema(text: str) -> tuple[bool, bool, bool]:
    """Of an operator: whether results share memory with arguments, and whether it writes to its first argument alone, or to
    others. Of what has no schema, everything may be but writes."""
    given, arrow, returned = text.rpartition("->")
    if not arrow:
        return True, False, False
    first, _, more = given.partition(",")
    writes_first = "!" in first and "!" not in more and "*" not in given
    return "!" in given or bool(re.search(r"\w\(", returned)), writes_first, "!" in given and not writes_first
