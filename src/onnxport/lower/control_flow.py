"""`prim::If` and `prim::Loop`: decided or unrolled at export where they can be, else ONNX If and Loop.

static condition        the branch taken, in place
one branch raises       the other one, with a warning: the exported model doesn't check
dynamic condition       If: each branch in a scope of its own; the results, and what a branch wrote of older
                        tensors and lists, are outputs, joined by `merge`

short static loop       its iterations, in place
other loops             Loop: the body is evaluated until its templates don't widen any more. What isn't the same
                        in all iterations is carried; a list that is only appended to is a scan output
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import onnx_ir as ir
import torch

from ..errors import LoweringError, OnnxExporterWarning
from ..program import Block, Node
from .evaluator import special
from .finish import drop, prune
from .merge import Arrived, Fixed, Merger, Packed, Snapshot, Template, TensorSlot, number_kind, start
from .scope import Scope
from .storage import Appending, Cell, Journal, OnlyAppends, Ref
from .values import MISSING, Scalar, Sequence, Tensor, Unclear

if TYPE_CHECKING:
    from .evaluator import Evaluator

# Loops are unrolled up to this many iterations, and this many nodes in all.
UNROLL_ITERATIONS = 64
UNROLL_NODES = 20_000
# A loop's templates have widened as far as they can after this many evaluations of its body.
MAX_PASSES = 24
FOREVER = (1 << 63) - 1


@dataclass
class Frame:
    """One evaluation of a body: its scope, what it changed, what it returned and left behind."""

    scope: Scope
    journal: Journal
    results: list[Any] = field(default_factory=list)
    snapshot: Snapshot | None = None
    written: dict[Ref | Cell, Any] = field(default_factory=dict)

    def finish(self, ev: Evaluator, results: list[Any]) -> None:
        """Keep what the body left, then undo it."""
        self.results = results
        self.snapshot = Snapshot(ev, results)
        while len(self.written) < len(self.journal.before):  # reading one may bring another up to date
            self.written = {holder: holder for holder in self.journal.before}
            self.snapshot.take(ev, list(self.written))
        self.journal.undo()

    def discard(self) -> None:
        for node in self.scope.nodes:
            drop(node)


@contextlib.contextmanager
def frame(ev: Evaluator) -> Iterator[Frame]:
    """Evaluate a body inside; what it does to older storages is undone at the latest when an error leaves it."""
    outer = ev.journal
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
            ev.journal = outer


# -- If -----------------------------------------------------------------------------------------------


@special("prim::If")
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
    for taken, other in ((0, 1), (1, 0)):
        if raises(node.blocks[other]):
            warn_of_raise(node.blocks[other])
            return ev.bind(node, ev.run(node.blocks[taken]))
    frames = []
    for block in node.blocks:
        with frame(ev) as made:
            made.finish(ev, ev.run(block))
        frames.append(made)
    ev.bind(node, _merge_branches(ev, condition, frames))


def _merge_branches(ev: Evaluator, condition: Scalar, frames: list[Frame]) -> list[Any]:
    merger = Merger(ev)
    then, other = frames
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
                value, snapshot = _content(holder, made)
                crossing += merger.pack(template, value, snapshot)
            packed.append(crossing)
            ends.append([_value(ev.g, x) for x, _ in crossing])
    slots = [s for t in [*templates, *contents] for s in merger.slots(t)]
    links, rivals, flags = _aliases(ev, merger, packed, frames)
    for i, made in enumerate(frames):
        with ev.g.within(made.scope):
            ends[i] += [ev.g.value(ev.g.scalar(f if i == branch else False, torch.bool)) for branch, f in flags]
    outputs = [merger.arriving(slot) for slot in [*slots, *[TensorSlot(torch.bool, ())] * len(flags)]]
    if outputs:
        _require_for(ev, outputs)
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
    _leave(ev, merger, holders, contents, given, unsure)
    return results


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


def _content(holder: Ref | Cell, made: Frame) -> tuple[Any, Snapshot | None]:
    """What a holder has at the end of a body, and the snapshot to read that with."""
    if holder not in made.written:
        return (holder, None) if isinstance(holder, Ref) else (holder.content, None)
    assert made.snapshot is not None
    if isinstance(holder, Ref):
        return holder, made.snapshot
    return made.snapshot.cells[holder], made.snapshot


def _joined_content(ev: Evaluator, merger: Merger, holder: Ref | Cell, then: Frame, other: Frame) -> Template:
    if isinstance(holder, Ref):
        return TensorSlot(holder.tensor.dtype, holder.tensor.dims)
    (a, before), (b, after) = _content(holder, then), _content(holder, other)
    if isinstance(a, Appending) or isinstance(b, Appending):
        raise OnlyAppends(holder)  # more or fewer elements by the branch
    return merger.widen(start(a), b, after, before)


def _leave(
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


def raises(block: Block) -> bool:
    """Whether a block surely ends in an exception."""
    return any(
        node.op == "prim::RaiseException" or (node.op == "prim::If" and all(map(raises, node.blocks)))
        for node in block.nodes
    )


def warn_of_raise(block: Block) -> None:
    node = next(n for n in block.walk() if n.op == "prim::RaiseException")
    warnings.warn(
        f"the check at {node.location} is not part of the exported model: it raises in PyTorch, the model carries on",
        OnnxExporterWarning,
        stacklevel=2,
    )


@special("prim::RaiseException")
def raise_exception(ev: Evaluator, node: Node) -> None:
    """RaiseException(str msg, str? cls=None) -> ()"""
    message = ev.resolved(ev.operand(node.inputs[0]))
    raise LoweringError(f"the model raises here for every input of these types and sizes: {message}")


# -- Loop ---------------------------------------------------------------------------------------------


@special("prim::Loop")
def loop(ev: Evaluator, node: Node) -> None:
    """Loop(int max_trip_count, bool condition, *carried): a block (int iteration, *carried) -> (bool, *carried)"""
    trip, condition, *values = [ev.operand(x) for x in node.inputs]
    trip, condition = ev.resolved(trip), ev.resolved(condition)
    if trip is MISSING or condition is MISSING:
        trip, condition = 1, True
    (body,) = node.blocks
    count = 0
    size = sum(1 for _ in body.walk()) or 1
    limit = min(UNROLL_ITERATIONS, UNROLL_NODES // size)
    endless = body.returns[0] is True  # a `for`: only the trip count ends it
    while True:
        if condition is False or (isinstance(trip, int) and count >= trip):
            return ev.bind(node, values)
        if not isinstance(trip, int) or not isinstance(condition, bool):
            break
        if (trip - count if endless else count + 1) > limit:
            break
        if not endless and count == 0 and not _stays_static(ev, body, values):
            break
        condition, *values = iteration(ev, body, count, values)
        condition = ev.resolved(condition)
        count += 1
    if raises(body):
        warn_of_raise(body)
        return ev.bind(node, values)
    ev.bind(node, Loop(ev, body, trip - count, condition, count, values).lower())


def iteration(ev: Evaluator, body: Block, count: Any, values: list[Any]) -> list[Any]:
    for parameter, value in zip(body.parameters, [count, *values]):
        ev.env[parameter] = value
    return ev.run(body)


def _stays_static(ev: Evaluator, body: Block, values: list[Any]) -> bool:
    """Whether the condition after the first iteration is known at export."""
    with frame(ev) as made:
        condition = ev.resolved(iteration(ev, body, 0, values)[0])
        made.journal.undo()
    made.discard()
    return isinstance(condition, bool)


@dataclass(frozen=True, slots=True)
class Scan:
    """What the body of a Loop appends to a list in each iteration."""

    items: tuple[Any, ...]
    kind: type
    dtype: torch.dtype
    dims: tuple[Any, ...]


class Loop:
    """One Loop that runs in the exported model."""

    def __init__(self, ev: Evaluator, body: Block, trip: Any, condition: Any, offset: int, values: list[Any]) -> None:
        self.ev = ev
        self.g = ev.g
        self.body = body
        self.trip = trip  # that remain
        self.condition = condition
        self.offset = offset  # iterations done already
        self.values = values
        self.merger = Merger(ev)
        self.templates = [start(v) for v in values]
        self.holders: dict[Ref | Cell, Template] = {}
        self.appended: dict[Cell, list[Any]] = {}  # lists that are only appended to: their content before the loop
        self.read: set[Cell] = set()  # lists that are not
        self.arrived: list[Arrived] = []
        self.flags: dict[int, Tensor] = {}

    def lower(self) -> list[Any]:
        for _ in range(MAX_PASSES):
            try:
                made, entering = self._evaluate()
                if not self._widen(made):
                    scans = {cell: self._scanned(cell, made) for cell in self.appended}
                    return self._make(made, entering, scans)
            except OnlyAppends as signal:
                if signal.cell not in self.appended:
                    raise
                self.read.add(signal.cell)
                del self.appended[signal.cell]
                continue
            made.discard()
        raise LoweringError("the sizes and types of what this loop carries don't settle; make them the same throughout")

    # -- the body -----------------------------------------------------------------------------------

    def _evaluate(self) -> tuple[Frame, list[Packed]]:
        """Evaluate the body once on values as the templates say; also what enters the first iteration."""
        ev, g, merger = self.ev, self.g, self.merger
        entering = [x for t, v in zip(self.templates, self.values) for x in merger.pack(t, v, None)]
        for holder, template in self.holders.items():
            entering += merger.pack(template, holder if isinstance(holder, Ref) else holder.content, None)
        with frame(ev) as made:
            number = merger.arriving(TensorSlot(torch.int64, ()), "iteration")
            goes_on = merger.arriving(TensorSlot(torch.bool, ()), "condition")
            arrived = [merger.arriving(s) for t in self._all_templates() for s in merger.slots(t)]
            made.scope.inputs.extend(x.value for x in (number, goes_on, *arrived) if x.value is not None)
            self.arrived = [Arrived(x) for x in arrived]
            self.flags = self._flags(made.scope, entering)
            given = iter(self.arrived)
            values = [merger.unpack(t, given) for t in self.templates]
            for holder, template in self.holders.items():
                if isinstance(holder, Ref):
                    tensor = next(given).content
                    assert isinstance(tensor, Tensor)
                    holder.set(tensor, ev.journal)
                else:
                    holder.put(merger.unpack_content(template, given), ev.journal)
            for cell in self.appended:
                cell.put(Appending(cell), ev.journal)
            assert isinstance(number, Tensor)
            count = g.int_of(number, "i", minimum=0) + self.offset
            results = iteration(ev, self.body, count, values)
            self._check_writes(values, results[1:])
            made.finish(ev, results)
        return made, entering

    def _flags(self, scope: Scope, entering: list[Packed]) -> dict[int, Tensor]:
        """For carried tensors, by position: whether it still is the very tensor that entered the loop."""
        flags: dict[int, Tensor] = {}
        if not self.ev.writes_tensors:
            return flags
        for i, (_, ref) in enumerate(entering):
            if ref is not None:
                flag = self.merger.arriving(TensorSlot(torch.bool, ()), "unchanged")
                assert isinstance(flag, Tensor) and flag.value is not None
                scope.inputs.append(flag.value)
                flags[i] = flag
                self.arrived[i].links.append((flag, ref))
        return flags

    def _flags_after(self, leaving: list[Packed], depth: int) -> tuple[list[Tensor], list[list[Ref]]]:
        """The flags after an iteration, and what else a carried tensor may be."""
        after: list[Tensor] = []
        rivals: list[list[Ref]] = [[] for _ in self.arrived]
        for i, (entry, (_, ref)) in enumerate(zip(self.arrived, leaving)):
            still: Tensor | None = None
            found, rivals[i] = self.merger.aliases(ref, depth + 1)
            if ref is not None and entry.ref is not None:
                still, unclear = self._still(ref, entry.ref)
                if unclear:
                    rivals[i] += [t for _, t in entry.links]
                    found = []
            links = [t for _, t in entry.links]
            rivals[i] += [t for _, t in found if not any(t is x for x in links)]
            if i in self.flags:
                flag = self.g.const(False, torch.bool) if still is None else self.g.op("And", self.flags[i], still)
                after.append(flag)
        return after, rivals

    def _still(self, ref: Ref, parameter: Ref) -> tuple[Tensor | None, bool]:
        """Whether a reference is the body's parameter (None: never), and whether that can't be told."""
        if ref is parameter:
            return self.g.const(True, torch.bool), False
        if ref.root is parameter.root:
            return None, True
        total: Tensor | None = None
        for link in ref.root.links:
            inner, unclear = self._still(link.target, parameter)
            if unclear or (inner is not None and ref.root is not ref):
                return None, True
            if inner is not None:
                both = self.g.op("And", link.condition, inner)
                total = both if total is None else self.g.op("Or", total, both)
        return total, any(r is parameter.root for r in ref.root.rivals)

    def _check_writes(self, values: list[Any], results: list[Any]) -> None:
        """A carried tensor that is written in place may be one that another list or name holds, too."""
        for value, result, template in zip(values, results, self.templates):
            if not isinstance(value, Ref) or isinstance(template, Fixed) or value.root.version == 0:
                continue
            others = [r for r in results if r is not result]
            shared = isinstance(result, Ref) and any(isinstance(r, Ref) and r.root is result.root for r in others)
            if shared or (isinstance(result, Ref) and result.root.listed):
                raise LoweringError(
                    "a tensor that this loop carries is written in place, while another name or a list holds it too; "
                    "write `x = x + 1` instead of `x += 1`, or clone() it"
                )

    def _all_templates(self) -> list[Template]:
        return [*self.templates, *self.holders.values()]

    def _widen(self, made: Frame) -> bool:
        """Widen the templates to what the body returned; whether any changed."""
        merger, changed = self.merger, False
        for i, result in enumerate(made.results[1:]):
            template = merger.widen(self.templates[i], result, made.snapshot, None)
            changed |= template is not self.templates[i]
            self.templates[i] = template
        for holder in made.written:
            if made.snapshot is not None and holder in made.snapshot.unsure:
                continue
            if isinstance(holder, Ref):
                if holder not in self.holders:
                    changed = True
                    self.holders[holder] = TensorSlot(holder.tensor.dtype, holder.tensor.dims)
            elif holder not in self.appended:
                changed |= self._widen_cell(holder, made)
        return changed

    def _widen_cell(self, cell: Cell, made: Frame) -> bool:
        before = cell.content
        content, snapshot = _content(cell, made)
        template = self.holders.get(cell)
        other = not isinstance(content, list) or not isinstance(before, list) or len(content) != len(before)
        if template is None and isinstance(before, list) and cell not in self.read and other:
            self.appended[cell] = before
            return True
        widened = self.merger.widen(template or start(before), content, snapshot, None)
        if widened is template:
            return False
        self.holders[cell] = widened
        return True

    # -- the node -----------------------------------------------------------------------------------

    def _make(self, made: Frame, entering: list[Packed], scans: dict[Cell, Scan]) -> list[Any]:
        g, merger = self.g, self.merger
        with g.within(made.scope):
            leaving = [x for t, v in zip(self.templates, made.results[1:]) for x in merger.pack(t, v, made.snapshot)]
            for holder, template in self.holders.items():
                leaving += merger.pack(template, *_content(holder, made))
            rows = [self._row(x, scan, made.snapshot) for scan in scans.values() for x in scan.items]
            flags, rivals = self._flags_after(leaving, self.ev.depth)
            inner = [g.scalar(made.results[0], torch.bool), *(x for x, _ in leaving), *flags, *rows]
            ends = [_value(g, x) for x in inner]
        slots = [s for t in self._all_templates() for s in merger.slots(t)]
        slots += [TensorSlot(torch.bool, ())] * len(flags)
        slots += [TensorSlot(scan.dtype, (None, *scan.dims)) for scan in scans.values() for _ in scan.items]
        outputs = [merger.arriving(slot) for slot in slots]
        _require_for(self.ev, outputs)
        endless = isinstance(self.trip, int) and self.trip >= FOREVER - UNROLL_ITERATIONS
        trip = None if endless else g.value(g.size(self.trip))
        condition = None if self.condition is True else g.value(g.scalar(self.condition, torch.bool))
        first = [_value(g, x) for x, _ in entering]
        first += [g.value(g.const(True, torch.bool)) for _ in flags]
        append(self.ev, "Loop", [trip, condition, *first], {"body": body_graph(self.ev, made.scope, ends)}, outputs)
        given = iter(self._left(outputs, len(leaving), entering, rivals))
        results = [merger.unpack(t, given) for t in self.templates]
        unsure = {h: made.snapshot.unsure[h] for h in made.written if made.snapshot and h in made.snapshot.unsure}
        _leave(self.ev, merger, list(self.holders), list(self.holders.values()), given, unsure)
        self._leave_scans(scans, outputs[len(leaving) + len(flags) :])
        return results

    def _left(self, outputs: list[Any], count: int, entering: list[Packed], rivals: list[list[Ref]]) -> list[Arrived]:
        """What the loop gives, with the references that entered it and that it may still be."""
        left = [Arrived(x, [], r) for x, r in zip(outputs[:count], rivals)]
        for position, i in enumerate(self.flags):
            ref = entering[i][1]
            assert ref is not None
            left[i].links.append((outputs[count + position], ref))
        return left

    def _row(self, value: Any, scan: Scan, snapshot: Snapshot | None) -> Tensor:
        if isinstance(value, (Tensor, Ref)):
            return self.merger.tensor(value, snapshot)
        return self.g.scalar(self.g.size(value) if number_kind(value) is int else value, scan.dtype)

    def _scanned(self, cell: Cell, made: Frame) -> Scan:
        """What a body appends to a list, and its type, which is the same each time."""
        assert made.snapshot is not None
        content = made.snapshot.cells[cell]
        assert isinstance(content, Appending)
        slot = self.merger.elements([(self.appended[cell], None), (list(content.items), made.snapshot)])
        if slot is None or slot.dims is None or not slot.as_rows:
            raise OnlyAppends(cell)
        if any(isinstance(x, Ref) and x.root in self.holders for x in content.items):
            raise LoweringError(
                "a tensor is appended to a list in a loop and written in place afterwards, so that all elements are that "
                "one tensor; append a clone() of it"
            )
        return Scan(content.items, slot.kind, slot.dtype, slot.dims)

    def _leave_scans(self, scans: dict[Cell, Scan], outputs: list[Any]) -> None:
        g, position = self.g, 0
        for cell, scan in scans.items():
            pieces = outputs[position : position + len(scan.items)]
            position += len(pieces)
            rows = pieces[0]
            if len(pieces) > 1:
                joined = g.concat([g.unsqueeze(p, [1]) for p in pieces], 1)
                rows = g.reshape(joined, [rows.shape[0] * len(pieces), *scan.dims])
            before = [g.unsqueeze(self._row(v, scan, None), [0]) for v in self.appended[cell]]
            if before:
                rows = g.concat([*before, rows], 0)
            cell.put(Sequence(scan.kind, scan.dtype, scan.dims, rows=rows), self.ev.journal)


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


def _value(g: Any, x: Tensor | Sequence) -> ir.Value:
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


def _require_for(ev: Evaluator, outputs: list[Any]) -> None:
    if any(isinstance(x, Sequence) for x in outputs):
        ev.g.require(13, "a list of tensors of different sizes that an If or Loop gives")
