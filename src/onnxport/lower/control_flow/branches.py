"""`prim::If` and `prim::RaiseException`: the branch taken, or an ONNX If of both. See `control_flow`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import onnx_ir as ir
import torch

from ...dims import Dim
from ...program import Block, Node, Value
from ..facts import Equal, known
from ..registry import evaluation
from ..storage import Appending, Cell, OnlyAppends, Ref
from ..values import MISSING, Scalar, Tensor
from .bodies import (
    Frame,
    Raises,
    append,
    body_graph,
    content_of,
    frame,
    leave,
    raises,
    raising,
    require_for,
    value_of,
    warn_of_raise,
)
from .merge import Arrived, Merger, Packed, Template, TensorSlot, number_kind, start

if TYPE_CHECKING:
    from ..builder import Builder
    from ..evaluator import Evaluator


@evaluation("prim::If")
def if_(ev: Evaluator, node: Node) -> None:
    """If(bool condition): blocks for true and false, without parameters."""
    condition = ev.resolved(ev.operand(node.inputs[0]))
    if isinstance(condition, Scalar):
        data = condition.tensor.data if condition.tensor.is_constant else None
        if data is None:
            return dynamic_if(ev, node, condition)
        condition = bool(data)
    if condition is MISSING:
        for block in node.blocks:
            ev.run(block)
        return ev.bind(node, [MISSING] * len(node.outputs))
    ev.bind(node, ev.run(node.blocks[0 if condition else 1]))


def dynamic_if(ev: Evaluator, node: Node, condition: Scalar) -> None:
    frames: list[Frame] = []
    for truth, block, other in zip((True, False), node.blocks, reversed(node.blocks)):
        try:
            if raises(block) and not raises(other):
                raise Raises("", place=str(raising(block).location))
            with frame(ev) as made:
                if ev.g.opset >= 11:  # before, runtimes take the sizes of one branch for those of both
                    ev.facts = ev.facts.behind(ev.g, condition, truth)
                made.finish(ev, ev.run(block))
            frames.append(made)
        except Raises as error:
            if block is node.blocks[1] and not frames:
                raise  # on both paths
            warn_of_raise(error)
            for made in frames:
                made.discard()
            ev.facts = ev.facts.behind(ev.g, condition, not truth)
            return ev.bind(node, ev.run(other))
    ev.bind(node, _merge_branches(ev, condition, frames))


def both_ways(ev: Evaluator, node: Node, condition: Scalar) -> None:
    """A node whose form depends on a bool known only at run time, or on whether there is a value: an If of both."""
    ev.g.require(11, f"{node.op} whose form depends on a bool known only at run time")

    def once() -> Block:
        outputs = [Value(v.name, v.type) for v in node.outputs]
        copy = Node(
            node.op, node.inputs, outputs, schema=node.schema, attributes=node.attributes, scope=node.scope,
            location=node.location,
        )  # fmt: skip
        return Block(nodes=[copy], returns=list(outputs))

    form = Node(
        "prim::If", [condition], node.outputs, blocks=(once(), once()), scope=node.scope, location=node.location
    )
    dynamic_if(ev, form, condition)


def _merge_branches(ev: Evaluator, condition: Scalar, frames: list[Frame]) -> list[Any]:
    then, other = frames
    merger = Merger(ev, (then.facts, other.facts))
    holders = list(dict.fromkeys([*then.written, *other.written]))
    templates = [merger.widen(start(a), b, other.snapshot, then.snapshot) for a, b in zip(then.results, other.results)]
    unsure = {h: s.unsure[h] for h in holders for s in (then.snapshot, other.snapshot) if s and h in s.unsure}
    holders = [h for h in holders if h not in unsure]
    contents = [_joined_content(ev, merger, h, then, other) for h in holders]
    for holder in holders:
        if isinstance(holder, Ref):
            holder.read(ev.journal)  # out here: what a branch doesn't write isn't computed inside of it
    packed: list[list[Packed]] = []
    ends: list[list[ir.Value]] = []
    for made in frames:
        with ev.g.within(made.scope):
            crossing = [x for t, v in zip(templates, made.results) for x in merger.pack(t, v, made.snapshot)]
            for holder, template in zip(holders, contents):
                value, snapshot = content_of(holder, made)
                crossing += merger.pack(template, value, snapshot)
            packed.append(crossing)
            ends.append([value_of(ev.g, x) for x, _ in crossing])
    slots = [s for t in [*templates, *contents] for s in merger.slots(t)]
    links, rivals, flags = _aliases(ev, merger, packed, frames)
    for i, made in enumerate(frames):
        with ev.g.within(made.scope):
            ends[i] += [ev.g.value(ev.g.scalar(f if i == branch else False, torch.bool)) for branch, f in flags]
    outputs = [merger.arriving(slot) for slot in [*slots, *[TensorSlot(torch.bool, ())] * len(flags)]]
    if outputs:
        require_for(ev, outputs)
        branches = [body_graph(ev, made.scope, values) for made, values in zip(frames, ends)]
        attributes = {"then_branch": branches[0], "else_branch": branches[1]}
        append(ev, "If", [ev.g.value(condition.tensor)], attributes, outputs)
    else:
        for made in frames:
            made.discard()
    arrived = [Arrived(x, [], r) for x, r in zip(outputs, rivals)]
    flagged = outputs[len(slots) :]
    for entry, found in zip(arrived, links):
        for branch, flag, target in found:
            taken = ev.g.op("Not", condition.tensor) if branch else condition.tensor
            entry.links.append((taken if flag is None else flagged[flag], target))  # type: ignore[arg-type]
    given = iter(arrived)
    results = [merger.unpack(t, given) for t in templates]
    leave(ev, merger, holders, contents, given, unsure)
    for result, a, b in zip(results, then.results, other.results):
        merger.share(result, [(a, then.snapshot), (b, other.snapshot)])
    for holder in holders:
        if isinstance(holder, Cell):
            merger.share(holder, [content_of(holder, then), content_of(holder, other)])
    return [_claimed(ev, condition, *x) for x in zip(results, then.results, other.results)]


def _claimed(ev: Evaluator, condition: Scalar, result: Any, a: Any, b: Any) -> Any:
    """The result that is `a` where the condition holds, else `b`, after what that says of it has been noted."""
    claims = ev.g.claims
    if isinstance(result, Dim):
        distinct = number_kind(a) is int and number_kind(b) is int and result not in (a, b)
        return claims.choice(ev.g, condition, result, a, b) if distinct else result
    for truth, part, excluded in ((True, a, b), (False, b, a)):
        if isinstance(result, (Tensor, Ref)) and isinstance(part, (Tensor, Ref)):
            sizes = zip(ev.resolved(result).dims or (), _tensor(part).dims or ())
            claims.add(condition, truth, *(Equal(x, y) for x, y in sizes if x != y))
        elif isinstance(excluded, bool):
            claims.add(result, not excluded, *known(condition, truth), *known(part, not excluded))
    return result


def _tensor(value: Tensor | Ref) -> Tensor:
    return value.tensor if isinstance(value, Ref) else value


def _aliases(
    ev: Evaluator, merger: Merger, packed: list[list[Packed]], frames: list[Frame]
) -> tuple[list[list[tuple[int, int | None, Ref]]], list[list[Ref]], list[tuple[int, Tensor]]]:
    """Which older references the outputs of an If are.

    For each output: by branch, and by a further output that says whether it is (None: whenever the branch is taken);
    then what it may be; last, for each further output, the branch and its condition there.
    """
    links: list[list[tuple[int, int | None, Ref]]] = []
    rivals: list[list[Ref]] = []
    flags: list[tuple[int, Tensor]] = []
    for pair in zip(*packed):
        links.append([])
        rivals.append([])
        for branch, (_, ref) in enumerate(pair):
            with ev.g.within(frames[branch].scope):
                found, unclear = merger.aliases(ref, ev.depth + 1)
            rivals[-1] += unclear
            for condition, target in found:
                links[-1].append((branch, None if condition is None else len(flags), target))
                if condition is not None:
                    flags.append((branch, condition))
    return links, rivals, flags


def _joined_content(ev: Evaluator, merger: Merger, holder: Ref | Cell, then: Frame, other: Frame) -> Template:
    if isinstance(holder, Ref):
        return TensorSlot(holder.tensor.dtype, holder.tensor.dims)
    (a, before), (b, after) = content_of(holder, then), content_of(holder, other)
    if isinstance(a, Appending) or isinstance(b, Appending):
        raise OnlyAppends(holder)  # more or fewer elements by the branch
    return merger.widen(start(a), b, after, before)


@evaluation("prim::RaiseException")
def raise_exception(ev: Evaluator, node: Node) -> None:
    """RaiseException(str msg, str? cls=None) -> ()"""
    message = ev.resolved(ev.operand(node.inputs[0]))
    raise Raises(f"the model raises here for every input of these types and sizes: {message}")


def check_branches(g: Builder, nodes: Iterable[ir.Node]) -> None:
    """OpsetError for an If whose branches surely give different sizes, which opsets below 11 don't allow."""
    for node in nodes:
        if node.op_type != "If":
            continue
        then, other = (node.attributes[name].as_graph().outputs for name in ("then_branch", "else_branch"))
        if any(_differ(_sizes(a), _sizes(b)) for a, b in zip(then, other)):
            origin = g.origins.get(node)
            what = f"{origin.op} at {origin.location}: " if origin is not None else ""
            g.require(11, f"{what}an if whose branches give tensors of different sizes")


def _sizes(value: ir.Value) -> list[Any] | None:
    node = value.producer()
    if value.shape is None and node is not None and node.op_type == "Identity" and node.inputs[0] is not None:
        value = node.inputs[0]
    return None if value.shape is None else list(value.shape)


def _differ(a: list[Any] | None, b: list[Any] | None) -> bool:
    if a is None or b is None:
        return False
    return len(a) != len(b) or any(isinstance(x, int) and isinstance(y, int) and x != y for x, y in zip(a, b))
