"""`prim::Loop`: unrolled where it is short and static, else an ONNX Loop. See `control_flow`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from ...dims import Dim
from ...errors import LoweringError
from ...program import Block, Node
from ..registry import evaluation
from ..scope import Scope
from ..storage import Appending, Cell, OnlyAppends, Ref
from ..values import MISSING, Kind, Sequence, Tensor
from .bodies import Frame, Raises, append, body_graph, content_of, frame, leave, require_for, value_of, warn_of_raise
from .merge import Arrived, Fixed, Merger, Packed, Snapshot, Template, TensorSlot, start

if TYPE_CHECKING:
    from ..evaluator import Evaluator

# Loops are unrolled up to this many iterations, and this many nodes in all.
UNROLL_ITERATIONS = 64
UNROLL_NODES = 20_000
# A loop's templates have widened as far as they can after this many evaluations of its body.
MAX_PASSES = 24
FOREVER = (1 << 63) - 1


@evaluation("prim::Loop")
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
    try:
        ev.bind(node, Loop(ev, body, trip - count, condition, count, values).lower())
    except Raises as error:  # in the first iteration: the loop has none where the model doesn't raise
        warn_of_raise(error)
        ev.bind(node, values)


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
    kind: Kind
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
            for value, entered in zip(values, self.values):
                merger.share(value, [(entered, None)])
            for cell in self.appended:
                cell.put(Appending(cell), ev.journal)
            assert isinstance(number, Tensor)
            index = g.int_of(number, "i", minimum=0)
            assert isinstance(index, Dim)
            g.claims.below(index, self.trip)
            count = index + self.offset
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
        content, snapshot = content_of(cell, made)
        if isinstance(before, Appending) or isinstance(content, Appending):
            raise OnlyAppends(cell)  # a loop around this one appends to it, this one any number of times
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
                leaving += merger.pack(template, *content_of(holder, made))
            rows = [self._row(x, scan, made.snapshot) for scan in scans.values() for x in scan.items]
            flags, rivals = self._flags_after(leaving, self.ev.depth)
            if not leaving and g.opset < 11:  # a Loop has to carry something there
                made.scope.inputs.append(value_of(g, merger.arriving(TensorSlot(torch.bool, ()), "unused")))
                flags = [g.const(False, torch.bool)]
            inner = [g.scalar(made.results[0], torch.bool), *(x for x, _ in leaving), *flags, *rows]
            ends = [value_of(g, x) for x in inner]
        slots = [s for t in self._all_templates() for s in merger.slots(t)]
        slots += [TensorSlot(torch.bool, ())] * len(flags)
        slots += [TensorSlot(scan.dtype, (None, *scan.dims)) for scan in scans.values() for _ in scan.items]
        outputs = [merger.arriving(slot) for slot in slots]
        require_for(self.ev, outputs)
        endless = isinstance(self.trip, int) and self.trip >= FOREVER - UNROLL_ITERATIONS
        trip = None if endless else g.value(g.size(self.trip))
        condition = None if self.condition is True else g.value(g.scalar(self.condition, torch.bool))
        first = [value_of(g, x) for x, _ in entering]
        first += [g.value(g.const(True, torch.bool)) for _ in flags]
        append(self.ev, "Loop", [trip, condition, *first], {"body": body_graph(self.ev, made.scope, ends)}, outputs)
        given = iter(self._left(outputs, len(leaving), entering, rivals))
        results = [merger.unpack(t, given) for t in self.templates]
        before = {holder: holder.content for holder in self.holders if isinstance(holder, Cell)}
        unsure = {h: made.snapshot.unsure[h] for h in made.written if made.snapshot and h in made.snapshot.unsure}
        leave(self.ev, merger, list(self.holders), list(self.holders.values()), given, unsure)
        self._leave_scans(scans, outputs[len(leaving) + len(flags) :])
        for result, value, after in zip(results, self.values, made.results[1:]):
            merger.share(result, [(value, None), (after, made.snapshot)])
        for holder, content in before.items():
            merger.share(holder, [(content, None), content_of(holder, made)])
        for cell, scan in scans.items():
            merger.share(cell, [(self.appended[cell], None), (list(scan.items), None)])
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
        return self.merger.element(scan.kind, scan.dtype, value, snapshot)

    def _scanned(self, cell: Cell, made: Frame) -> Scan:
        """What a body appends to a list, and its type, which is the same each time."""
        assert made.snapshot is not None
        content = made.snapshot.cells[cell]
        assert isinstance(content, Appending)
        slot = self.merger.elements([(self.appended[cell], None), (list(content.items), made.snapshot)])
        if slot is None or slot.dims is None or not slot.as_rows:
            raise OnlyAppends(cell)
        written = {*self.holders, *self.appended}
        if any((x.root if isinstance(x, Ref) else x) in written for x in content.items if isinstance(x, (Ref, Cell))):
            raise LoweringError(
                "a tensor or list is appended to a list in a loop and written in place afterwards, so that all elements "
                "are that one; append a clone() of it"
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
