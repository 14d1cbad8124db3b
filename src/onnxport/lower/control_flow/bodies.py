"""Bodies of If and Loop: evaluated in a scope of their own, undone, and made into graphs."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import onnx_ir as ir
import torch

from ...errors import LoweringError, warn
from ...program import Block, Node
from ..facts import NOTHING, Facts
from ..finish import drop, prune
from ..scope import Scope
from ..storage import Cell, Journal, Ref
from ..values import Sequence, Tensor, Unclear
from .merge import Merger, Snapshot, Template

if TYPE_CHECKING:
    from ..evaluator import Evaluator


@dataclass
class Frame:
    """One evaluation of a body: its scope, what it changed, what it returned and left behind."""

    scope: Scope
    journal: Journal
    facts: Facts = NOTHING
    results: list[Any] = field(default_factory=list)
    snapshot: Snapshot | None = None
    written: dict[Ref | Cell, Any] = field(default_factory=dict)

    def finish(self, ev: Evaluator, results: list[Any]) -> None:
        """Keep what the body left, then undo it."""
        self.results = results
        self.facts = ev.facts
        self.snapshot = Snapshot(ev, results)
        synchronized: set[Ref | Cell] = set()
        while len(synchronized) < len(self.journal.before):
            for holder in [h for h in self.journal.before if h not in synchronized]:
                synchronized.add(holder)
                if isinstance(holder, Ref):  # what may be this one is written, too, and what may be that one
                    holder.synchronize_linked(self.journal)
            if len(synchronized) == len(self.journal.before):
                self.written = {holder: holder for holder in self.journal.before}
                self.snapshot.take(ev, list(self.written))  # reading one may bring another up to date
        self.journal.undo()

    def discard(self) -> None:
        for node in self.scope.nodes:
            drop(node)


@contextlib.contextmanager
def frame(ev: Evaluator) -> Iterator[Frame]:
    """Evaluate a body inside; what it does to older storages is undone at the latest when an error leaves it."""
    outer, facts = ev.journal, ev.facts
    with ev.g.body() as scope:
        made = Frame(scope, Journal(ev.depth + 1))
        ev.journal = made.journal
        try:
            yield made
        except BaseException:
            made.journal.undo()
            made.discard()
            raise
        finally:
            ev.journal, ev.facts = outer, facts


def content_of(holder: Ref | Cell, made: Frame) -> tuple[Any, Snapshot | None]:
    """What a holder has at the end of a body, and the snapshot to read that with."""
    if holder not in made.written:
        return (holder, None) if isinstance(holder, Ref) else (holder.content, None)
    assert made.snapshot is not None
    if isinstance(holder, Ref):
        return holder, made.snapshot
    return made.snapshot.cells[holder], made.snapshot


def leave(
    ev: Evaluator,
    merger: Merger,
    holders: list[Ref | Cell],
    templates: list[Template],
    given: Iterator[Any],
    unsure: dict[Ref | Cell, str],
) -> None:
    """Write what a body left to the storages and cells that it changed."""
    for holder, template in zip(holders, templates):
        if isinstance(holder, Ref):
            holder.write(next(given).content, ev.journal)
        else:
            content = merger.unpack_content(template, given)
            if isinstance(content, Unclear):
                holder.doubt(content.reason, ev.journal)
            else:
                holder.put(content, ev.journal)
    for holder, reason in unsure.items():
        holder.doubt(reason, ev.journal)


# -- exceptions ---------------------------------------------------------------------------------------


class Raises(LoweringError):
    """The model surely raises an exception here."""


def raises(block: Block) -> bool:
    """Whether a block surely ends in an exception."""
    return any(
        node.op == "prim::RaiseException" or (node.op == "prim::If" and all(map(raises, node.blocks)))
        for node in block.nodes
    )


def raising(block: Block) -> Node:
    return next(n for n in block.walk() if n.op == "prim::RaiseException")


def warn_of_raise(error: Raises) -> None:
    place = (error.place or "").partition("\n")[0].removeprefix("prim::RaiseException at ")
    warn(f"the check at {place} is not part of the exported model: where it raises in PyTorch, the model carries on")


# -- graphs -------------------------------------------------------------------------------------------


def _same(ev: Evaluator, value: ir.Value) -> ir.Node:
    node = ir.Node("", "Identity", [value], num_outputs=1)
    node.outputs[0].type, node.outputs[0].shape = value.type, value.shape
    if isinstance(value.type, ir.SequenceType):
        ev.g.require(14, "a list of tensors of different sizes that an If or Loop gives unchanged")
    return node


def body_graph(ev: Evaluator, scope: Scope, outputs: list[ir.Value]) -> ir.Graph:
    """The graph of a body. Its outputs are made in it, each by a node of its own."""
    values: list[ir.Value] = []
    made = {value for node in scope.nodes for value in node.outputs}
    for value in outputs:
        if value not in made or value in values:
            node = _same(ev, value)
            scope.nodes.append(node)
            value = node.outputs[0]
        values.append(value)
    return ir.Graph(scope.inputs, values, nodes=prune(scope.nodes, values), name="body")


def value_of(g: Any, x: Tensor | Sequence) -> ir.Value:
    if isinstance(x, Sequence):
        assert x.value is not None
        return x.value
    value: ir.Value = g.value(x)
    return value


def append(
    ev: Evaluator, op: str, inputs: list[Any], attributes: dict[str, Any], outputs: list[Tensor | Sequence]
) -> None:
    """Append an If or Loop whose outputs are these values, made before."""
    node = ir.Node(
        "",
        op,
        inputs,
        [ir.AttrGraph(name, graph) for name, graph in attributes.items()],
        outputs=[x.value for x in outputs if x.value is not None],
    )
    ev.g.scope.nodes.append(node)
    if ev.g.origin is not None:
        ev.g.origins[node] = ev.g.origin


def require_for(ev: Evaluator, outputs: list[Any]) -> None:
    if any(isinstance(x, Tensor) and x.dtype == torch.bfloat16 for x in outputs):
        ev.g.require(16, "a bfloat16 tensor that an If or Loop gives")
    if any(isinstance(x, Sequence) for x in outputs):
        ev.g.require(13, "a list of tensors of different sizes that an If or Loop gives")
