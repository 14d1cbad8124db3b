"""What the outputs of an If or Loop are: how values of two paths become one.

A *template* says how a value crosses the border of a body: what is `Fixed` doesn't cross it (it is the same on
all paths), the rest goes through `slots`: tensors and ONNX sequences. `widen(template, value)` is the least
template that also has room for `value`, so the values of the branches of an If, or of the iterations of a Loop, are
joined by widening until nothing changes. A size stays in a template only if it is the same on all paths and can be
computed outside; anything else becomes a fresh symbol, read from the output.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Union

import onnx_ir as ir
import torch

from ... import dims as sizes
from ...dims import Dim, Size
from ...dtypes import real_of, to_onnx
from ...errors import LoweringError
from .. import listing
from ..facts import Facts, agreed
from ..promotion import promoted
from ..storage import Appending, Cell, Link, Ref
from ..values import MISSING, UNINITIALIZED, Kind, ListOf, Maybe, Scalar, Sequence, Tensor, Unclear, describe

if TYPE_CHECKING:
    from ..evaluator import Evaluator

NUMBER_DTYPES = {bool: torch.bool, int: torch.int64, float: torch.float64}


@dataclass(frozen=True, slots=True)
class Fixed:
    """The same value on all paths."""

    value: Any


@dataclass(frozen=True, slots=True)
class TensorSlot:
    dtype: torch.dtype
    dims: tuple[Size | None, ...] | None  # None: a size that differs, or a number of axes that does


@dataclass(frozen=True, slots=True)
class NumberSlot:
    kind: type
    low: int | None = None  # an int that it is never below


@dataclass(frozen=True, slots=True)
class Group:
    """A list, tuple or dict of known length, part by part."""

    form: str
    parts: tuple[Template, ...]
    keys: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class SequenceSlot:
    """A list of unknown length: as a tensor with the elements along its first axis, or as an ONNX sequence."""

    kind: Kind
    dtype: torch.dtype
    dims: tuple[Size | None, ...] | None

    @property
    def as_rows(self) -> bool:
        return self.dims is not None and None not in self.dims


@dataclass(frozen=True, slots=True)
class MaybeSlot:
    """A value, or None."""

    inner: Template


Template = Union[Fixed, TensorSlot, NumberSlot, Group, SequenceSlot, MaybeSlot]
Packed = tuple[Union[Tensor, Sequence], Union[Ref, None]]  # what crosses, and the reference that it was read from


@dataclass(slots=True)
class Arrived:
    """What arrived on one side of a border: which older reference it is under which condition, and which it may be."""

    content: Any
    links: list[tuple[Tensor, Ref]] = field(default_factory=list)
    rivals: list[Ref] = field(default_factory=list)
    ref: Ref | None = None  # what it was unpacked to


class Snapshot:
    """The content of references and cells at the end of a body, kept when the body is undone."""

    def __init__(self, ev: Evaluator, values: list[Any]) -> None:
        self.tensors: dict[Ref, Tensor] = {}
        self.cells: dict[Cell, Any] = {}
        self.unsure: dict[Ref | Cell, str] = {}
        self.take(ev, values)

    def take(self, ev: Evaluator, value: Any) -> None:
        """Keep the content of references and cells in a value."""
        if isinstance(value, Ref):
            if value not in self.tensors:
                if value.root.unsure:
                    self.unsure[value] = value.root.unsure
                else:
                    self.tensors[value] = value.read(ev.journal)
        elif isinstance(value, Cell):
            if value not in self.cells and value not in self.unsure:
                if value.unsure:
                    self.unsure[value] = value.unsure
                else:
                    self.cells[value] = value.content
                    self.take(ev, value.content)
        elif isinstance(value, (list, tuple)):
            for part in value:
                self.take(ev, part)
        elif isinstance(value, dict):
            self.take(ev, list(value.values()))
        elif isinstance(value, Maybe):
            self.take(ev, value.value)
        elif isinstance(value, Appending):
            self.take(ev, value.items)


def start(value: Any) -> Template:
    """The template that has room for this very value only; containers part by part."""
    if isinstance(value, tuple):
        return Group("tuple", tuple(map(start, value)))
    if isinstance(value, list):
        return Group("list", tuple(map(start, value)))
    if isinstance(value, dict):
        return Group("dict", tuple(map(start, value.values())), tuple(value))
    return Fixed(value)


class Merger:
    """Joins values of paths; `snapshot` says what references and cells hold, those of now if there is none.

    `facts` hold on the path of a template, and on that of the value that widens it.
    """

    def __init__(self, ev: Evaluator, facts: tuple[Facts, Facts] | None = None) -> None:
        self.ev = ev
        self.facts = facts or (ev.facts, ev.facts)
        self.g = ev.g
        self.outer = ev.g.scope

    # -- reading ------------------------------------------------------------------------------------

    def tensor(self, value: Any, snapshot: Snapshot | None) -> Tensor:
        if isinstance(value, Tensor):
            return value
        assert isinstance(value, Ref)
        if snapshot is None:
            return value.read(self.ev.journal)
        if value in snapshot.unsure:
            raise LoweringError(snapshot.unsure[value])
        return snapshot.tensors[value]

    def content(self, value: Any, snapshot: Snapshot | None) -> Any:
        if not isinstance(value, Cell):
            return value
        if snapshot is None:
            return value.content
        if value in snapshot.unsure:
            raise LoweringError(snapshot.unsure[value])
        return snapshot.cells[value]

    # -- templates ----------------------------------------------------------------------------------

    def widen(self, template: Template, value: Any, snapshot: Snapshot | None, before: Snapshot | None) -> Template:
        """The least template with room for all that `template` has, and for `value`.

        `before` is for reading what is `Fixed`, `snapshot` for reading `value`.
        """
        if isinstance(template, Fixed):
            if same(template.value, value) or isinstance(template.value, Unclear):
                return template
            size = self._agreed(template.value, value)
            if size is not None:
                return template if size is template.value else Fixed(size)
            if value is MISSING or template.value is MISSING:
                return template if template.value is MISSING else Fixed(MISSING)
            if template.value is UNINITIALIZED:
                return self._alone(value, snapshot)
            if value is UNINITIALIZED:
                return self._settled(template, before)
            if template.value is None:
                return MaybeSlot(self._alone(value.value if isinstance(value, Maybe) else value, snapshot))
            return self.widen(self._leaf(template.value, before), value, snapshot, before)
        if value is UNINITIALIZED:
            return self._settled(template, before)
        if isinstance(value, Unclear) or value is MISSING:
            return Fixed(value)
        if isinstance(template, MaybeSlot) or value is None or isinstance(value, Maybe):
            inner = template.inner if isinstance(template, MaybeSlot) else template
            plain = value.value if isinstance(value, Maybe) else value
            widened = self._settled(inner, before) if plain is None else self.widen(inner, plain, snapshot, before)
            unchanged = isinstance(template, MaybeSlot) and widened is template.inner
            return template if unchanged else MaybeSlot(widened)
        content = self.content(value, snapshot)
        if isinstance(template, TensorSlot) and isinstance(value, (Tensor, Ref)):
            return self._widen_tensor(template, self.tensor(value, snapshot))
        if isinstance(template, NumberSlot):
            return self._widen_number(template, value)
        if isinstance(template, (Group, SequenceSlot)) and isinstance(content, (list, tuple, dict, Sequence)):
            return self._widen_container(template, content, snapshot, before)
        return Fixed(Unclear(f"{describe(value)} on one path and {_describe(template)} on the other; make them agree"))

    def _leaf(self, value: Any, snapshot: Snapshot | None) -> Template:
        """The least template for a value that isn't the same everywhere."""
        if isinstance(value, (Tensor, Ref)):
            tensor = self.tensor(value, snapshot)
            dims = None if tensor.dims is None else tuple(d if self.visible(d) else None for d in tensor.dims)
            return TensorSlot(tensor.dtype, dims)
        kind = number_kind(value)
        if kind is not None:
            return NumberSlot(kind, sizes.lower_bound(value) if kind is int else None)
        if isinstance(value, Maybe):
            return MaybeSlot(self._alone(value.value, snapshot))
        content = self.content(value, snapshot)
        if isinstance(content, Sequence):
            only: Template = self._widen_sequence(None, *_element(content))
            return only
        if isinstance(content, (list, tuple, dict)):
            return start(content)
        return Fixed(Unclear(f"{describe(content)} is not the same on all paths; an exported model can't choose it"))

    def _alone(self, value: Any, snapshot: Snapshot | None) -> Template:
        """The template for the only value there is, the other paths have none: what is known outside stays there."""
        if isinstance(value, (Ref, Cell)):
            fixed = value.depth <= self.ev.depth
        elif isinstance(value, Tensor):
            fixed = value.is_constant
        elif isinstance(value, Dim):
            fixed = self.visible(value)
        else:
            fixed = not isinstance(value, (Scalar, Maybe, Sequence, list, tuple, dict))
        if fixed:
            return Fixed(value)
        return self._settled(start(value) if isinstance(value, tuple) else self._leaf(value, snapshot), snapshot)

    def _settled(self, template: Template, before: Snapshot | None) -> Template:
        """The template without `Fixed` values that exist in the body only: they cross the border."""
        if isinstance(template, Fixed):
            settled = self._alone(template.value, before)
            return template if isinstance(settled, Fixed) else settled
        if isinstance(template, Group):
            parts = tuple(self._settled(part, before) for part in template.parts)
            return self._changed(template, Group(template.form, parts, template.keys))
        return template

    def elements(self, lists: list[tuple[list[Any], Snapshot | None]]) -> SequenceSlot | None:
        """The type that all elements of these lists have, None if there is no such."""
        slot: Any = None
        for values, snapshot in lists:
            for value in values:
                slot = self._widen_sequence(slot, self._leaf(value, snapshot), snapshot)
        return slot if isinstance(slot, SequenceSlot) else None

    def visible(self, size: Size) -> bool:
        """Whether a size can be computed outside of the body."""
        return isinstance(size, int) or all(self.outer.source(s) is not None for s in sizes.free_symbols(size))

    def _agreed(self, a: Any, b: Any) -> Size | None:
        """One size for the template's and the value's, that can be computed outside."""
        if not isinstance(a, (int, Dim)) or not isinstance(b, (int, Dim)) or isinstance(a, bool) or isinstance(b, bool):
            return None
        size = agreed(a, self.facts[0], b, self.facts[1])
        return size if size is not None and self.visible(size) else None

    def _join(self, a: tuple[Size | None, ...] | None, b: tuple[Size | None, ...] | None) -> Any:
        """The sizes that two tensors share."""
        if a is None or b is None or len(a) != len(b):
            return None
        return tuple(self._agreed(x, y) for x, y in zip(a, b))

    def _widen_tensor(self, slot: TensorSlot, tensor: Tensor) -> Template:
        dtype = slot.dtype if slot.dtype == tensor.dtype else promoted(slot.dtype, tensor.dtype)
        if dtype is None:
            return Fixed(
                Unclear(
                    f"a tensor is {slot.dtype} on one path and {tensor.dtype} on the other; "
                    "convert one of them, so that the dtypes agree"
                )
            )
        return self._changed(slot, TensorSlot(dtype, self._join(slot.dims, tensor.dims)))

    def _widen_number(self, slot: NumberSlot, value: Any) -> Template:
        kind = number_kind(value)
        if kind is None or (kind is bool) != (slot.kind is bool):
            return Fixed(Unclear(f"{describe(value)} on one path and a {slot.kind.__name__} on the other"))
        kind = float if float in (kind, slot.kind) else kind
        low = slot.low
        if kind is not int:
            low = None
        elif low is not None and not sizes.known_ge(value, low):
            low = 0 if low > 0 and sizes.known_ge(value, 0) else None
        return self._changed(slot, NumberSlot(kind, low))

    def _widen_container(
        self, template: Group | SequenceSlot, content: Any, snapshot: Snapshot | None, before: Snapshot | None
    ) -> Template:
        if isinstance(template, Group) and not isinstance(content, Sequence):
            keys = tuple(content) if isinstance(content, dict) else ()
            values = list(content.values()) if isinstance(content, dict) else list(content)
            if len(values) == len(template.parts) and keys == template.keys:
                parts = tuple(self.widen(t, v, snapshot, before) for t, v in zip(template.parts, values))
                return self._changed(template, Group(template.form, parts, keys))
        if isinstance(content, (dict, tuple)) or (isinstance(template, Group) and template.form != "list"):
            return Fixed(Unclear("a dict with other keys, or a tuple of another length, on each path"))
        slot = template if isinstance(template, SequenceSlot) else None
        elements = [] if slot is not None else [(t, None) for t in template.parts]  # type: ignore[union-attr]
        for part, _ in elements:
            slot = self._widen_sequence(slot, self._unfixed(part, before), before)
        if isinstance(content, Sequence):
            slot = self._widen_sequence(slot, *_element(content))
        else:
            for value in content:
                slot = self._widen_sequence(slot, self._leaf(value, snapshot), snapshot)
        if slot is None:
            return Fixed(Unclear("a list without elements of a known type"))
        if isinstance(slot, Fixed):
            return slot
        return self._changed(template, slot)

    def _unfixed(self, template: Template, before: Snapshot | None) -> Template:
        return self._leaf(template.value, before) if isinstance(template, Fixed) else template

    def _widen_sequence(self, slot: Any, element: Template, snapshot: Snapshot | None, kind: Kind | None = None) -> Any:
        if isinstance(element, NumberSlot):
            kind, element = element.kind, TensorSlot(NUMBER_DTYPES[element.kind], ())
        elif isinstance(element, (Group, SequenceSlot)):
            kind, element = self._of_list(element, snapshot)
        if isinstance(slot, Fixed) or not isinstance(element, TensorSlot):
            return Fixed(
                Unclear("lists of unknown length hold tensors, numbers, lists of these; keep one list per part")
            )
        kind = kind or Tensor
        dims = None if element.dims is None else tuple(
            d if d is not None and self.visible(d) else None for d in element.dims
        )  # fmt: skip
        if slot is None:
            return SequenceSlot(kind, element.dtype, dims)
        if slot.dtype != element.dtype or slot.kind != kind:
            return Fixed(Unclear("a list of unknown length holds elements of different types"))
        return SequenceSlot(kind, slot.dtype, self._join(slot.dims, dims))

    def _of_list(self, template: Group | SequenceSlot, snapshot: Snapshot | None) -> tuple[Kind, Template]:
        """The kind of a list within a list, and the tensor that it is."""
        inner: Any = template
        count: Size | None = None
        if isinstance(template, Group):
            inner, count = None, len(template.parts)
            for part in template.parts if template.form == "list" else ():
                inner = self._widen_sequence(inner, self._unfixed(part, snapshot), snapshot)
        if not isinstance(inner, SequenceSlot):
            return Tensor, Fixed(inner)
        return ListOf(inner.kind), TensorSlot(inner.dtype, None if inner.dims is None else (count, *inner.dims))

    @staticmethod
    def _changed(old: Template, new: Template) -> Template:
        """The old template itself if the new one says the same."""
        if type(old) is not type(new):
            return new
        if isinstance(old, Group) and isinstance(new, Group):
            return old if all(a is b for a, b in zip(old.parts, new.parts)) else new
        return old if old == new else new

    # -- crossing -----------------------------------------------------------------------------------

    def slots(self, template: Template) -> list[TensorSlot | SequenceSlot]:
        """What crosses the border, in order."""
        if isinstance(template, TensorSlot):
            return [template]
        if isinstance(template, NumberSlot):
            return [TensorSlot(NUMBER_DTYPES[template.kind], ())]
        if isinstance(template, Group):
            return [slot for part in template.parts for slot in self.slots(part)]
        if isinstance(template, SequenceSlot):
            if template.as_rows:
                assert template.dims is not None
                return [TensorSlot(template.dtype, (None, *template.dims))]
            return [template]
        if isinstance(template, MaybeSlot):
            return [TensorSlot(torch.bool, ()), *self.slots(template.inner)]
        return []

    def pack(self, template: Template, value: Any, snapshot: Snapshot | None) -> list[Packed]:
        """The value as what crosses the border, in the present scope."""
        g = self.g
        if isinstance(template, Fixed):
            return []
        if value is UNINITIALIZED:
            return [(self._dummy(slot), None) for slot in self.slots(template)]
        if isinstance(template, TensorSlot):
            ref = value if isinstance(value, Ref) else None
            return [(g.cast(self.tensor(value, snapshot), template.dtype), ref)]
        if isinstance(template, NumberSlot):
            number = g.size(value) if isinstance(value, Dim) else value
            return [(g.scalar(number, NUMBER_DTYPES[template.kind]), None)]
        if isinstance(template, MaybeSlot):
            present = value.present if isinstance(value, Maybe) else value is not None
            plain = value.value if isinstance(value, Maybe) else UNINITIALIZED if value is None else value
            return [(g.scalar(present, torch.bool), None), *self.pack(template.inner, plain, snapshot)]
        content = self.content(value, snapshot)
        if isinstance(template, Group):
            values = content.values() if isinstance(content, dict) else content
            return [x for t, v in zip(template.parts, values) for x in self.pack(t, v, snapshot)]
        if not isinstance(content, Sequence):
            elements = [self.element(template.kind, template.dtype, v, snapshot) for v in content]
            dims = None if template.dims is None else tuple(0 if d is None else d for d in template.dims)
            content = listing.of_elements(g, template.kind, template.dtype, dims, elements, rows=template.as_rows)
        return [(listing.as_rows(g, content) if template.as_rows else listing.as_sequence(g, content), None)]

    def element(self, kind: Kind, dtype: torch.dtype, value: Any, snapshot: Snapshot | None) -> Tensor:
        """An element of a list as a tensor of the list's dtype."""
        g = self.g
        if isinstance(kind, ListOf):
            content = self.content(value, snapshot)
            if isinstance(value, Cell):
                value.frozen = True
            if isinstance(content, Sequence):
                return g.cast(listing.as_rows(g, content), dtype)
            return listing.stacked(g, [self.element(kind.kind, dtype, x, snapshot) for x in content], dtype)
        if number_kind(value) is not None:
            return g.scalar(g.size(value) if isinstance(value, Dim) else value, dtype)
        return g.cast(self.tensor(value, snapshot), dtype)

    def _dummy(self, slot: TensorSlot | SequenceSlot) -> Tensor | Sequence:
        """Something of the type, for the path on which nobody uses it."""
        if isinstance(slot, SequenceSlot):
            return listing.of_elements(self.g, slot.kind, slot.dtype, None, [], rows=False)
        dims = [0 if d is None else d for d in slot.dims or ()]
        return self.g.full(dims, False if slot.dtype == torch.bool else 0, slot.dtype)

    def unpack(self, template: Template, given: Iterator[Arrived]) -> Any:
        """The value that arrived on this side of the border."""
        content = self.unpack_content(template, given)
        if isinstance(template, Group) and template.form == "tuple":
            return tuple(content)
        if isinstance(template, (Group, SequenceSlot)) and self.ev.mutates:
            return Cell(content, self.ev.depth)
        return content

    def unpack_content(self, template: Template, given: Iterator[Arrived]) -> Any:
        """Likewise, for what a cell holds."""
        if isinstance(template, Fixed):
            return template.value
        if isinstance(template, TensorSlot):
            arrived = next(given)
            value = self.ev.hold(arrived.content)
            if isinstance(value, Ref):
                arrived.ref = value
                for condition, target in arrived.links:
                    value.link(self.link(condition, target), self.ev.journal)
                for rival in arrived.rivals:
                    value.rival(rival)
                    value.either = True
            return value
        if isinstance(template, NumberSlot):
            tensor = next(given).content
            if template.kind is int:
                return self.g.int_of(tensor, minimum=template.low)
            return Scalar(tensor, template.kind)
        if isinstance(template, MaybeSlot):
            present = Scalar(next(given).content, bool)
            return Maybe(present, self.unpack(template.inner, given))
        if isinstance(template, Group):
            parts = [self.unpack(part, given) for part in template.parts]
            return dict(zip(template.keys, parts)) if template.form == "dict" else parts
        content = next(given).content
        if isinstance(content, Tensor):
            return Sequence(template.kind, template.dtype, content.shape[1:], rows=content)
        return content

    # -- shared memory ------------------------------------------------------------------------------

    def share(self, result: Any, sides: list[tuple[Any, Snapshot | None]]) -> None:
        """Note what older memory the elements of a list that arrived may share, which is one of the sides'."""
        content = result.shown if isinstance(result, Cell) else result
        parts = [(self.content(x, snapshot), snapshot) for x, snapshot in sides if not _is_unsure(x, snapshot)]
        if isinstance(content, tuple):
            for i, part in enumerate(content):
                self.share(part, [(x[i], snapshot) for x, snapshot in parts if isinstance(x, tuple)])
        elif isinstance(content, Sequence) and content.kind is Tensor:
            roots = [root for x, _ in parts for root in roots_of(x) if root.depth <= self.ev.depth]
            content.held = tuple((root, root.writes) for root in dict.fromkeys(roots))

    def link(self, condition: Tensor, target: Ref) -> Link:
        """The link of what arrives to a reference that it is under a condition."""

        def choose(a: Tensor, b: Tensor) -> Tensor:
            if a.dims != b.dims:
                raise LoweringError(
                    "a tensor is written in place that is, as an If or Loop goes, one tensor or another of other sizes; "
                    "clone() it before the write"
                )
            return self.g.where(condition, a, b)

        return Link(condition, target, choose)

    def aliases(self, ref: Ref | None, inner: int) -> tuple[list[tuple[Tensor | None, Ref]], list[Ref]]:
        """What a reference that leaves a body at depth `inner` may be, of what is older than the body.

        Pairs of condition (in the body's scope; None for always) and reference; and references that it may be under
        conditions that can't be had.
        """
        if ref is None or not self.ev.writes_tensors:
            return [], []
        if ref.root.depth < inner:
            return ([(None, ref)], []) if ref.depth < inner or ref.is_portable else ([], [ref])
        found: list[tuple[Tensor | None, Ref]] = []
        unclear: list[Ref] = [r for r in ref.root.rivals if isinstance(r, Ref) and r.root.depth < inner]
        for link in ref.root.links:
            targets, others = self.aliases(link.target, inner)
            if ref.root is not ref:
                unclear += [*others, *(t for _, t in targets)]
                continue
            unclear += others
            for condition, target in targets:
                both = link.condition if condition is None else self.g.op("And", link.condition, condition)
                found.append((both, target))
        return found, unclear

    def arriving(self, slot: TensorSlot | SequenceSlot, name: str | None = None) -> Tensor | Sequence:
        """A new ONNX value for what arrives in the present scope; sizes that differ are fresh symbols."""
        if isinstance(slot, SequenceSlot):
            return Sequence(slot.kind, slot.dtype, slot.dims, value=listing.sequence_value(slot.dtype, name))
        dims = None if slot.dims is None else tuple(self.g.fresh("dim") if d is None else d for d in slot.dims)
        stored = real_of(slot.dtype) if slot.dtype.is_complex else slot.dtype
        value = ir.Value(name=name, type=ir.TensorType(ir.DataType(to_onnx(stored))))
        tensor = Tensor(slot.dtype, dims, value)
        self.g.made.append(tensor)
        self.g.declare(tensor)
        return tensor


# -- small questions ----------------------------------------------------------------------------------


def number_kind(value: Any) -> type | None:
    """bool, int or float for numbers known or not; None for anything else."""
    if isinstance(value, Scalar):
        return value.kind
    if isinstance(value, bool):
        return bool
    if isinstance(value, (int, Dim)):
        return int
    return float if isinstance(value, float) else None


def same(a: Any, b: Any) -> bool:
    """Whether two values are surely one."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, float):
        return repr(a) == repr(b)  # 0.0 and -0.0 differ, nan is nan
    return isinstance(a, (bool, int, str, complex, Dim, torch.device)) and bool(a == b)


def roots_of(content: Any) -> list[Ref]:
    """Storages whose memory the elements of a list may share."""
    if isinstance(content, Sequence):
        return [root for root, _ in content.held]
    if isinstance(content, Appending):
        content = content.items
    return [x.root for x in content if isinstance(x, Ref)] if isinstance(content, (list, tuple)) else []


def _is_unsure(value: Any, snapshot: Snapshot | None) -> bool:
    return isinstance(value, Cell) and bool(value.unsure if snapshot is None else value in snapshot.unsure)


def _element(content: Sequence) -> tuple[TensorSlot, None, Kind]:
    """What a list holds; without sizes if it is an ONNX sequence, which stays one."""
    dims = content.dims
    if content.rows is None and dims is not None:
        dims = (*(None for _ in dims),)
        dims = dims or None
    return TensorSlot(content.dtype, dims), None, content.kind


def _describe(template: Template) -> str:
    return {TensorSlot: "a tensor", NumberSlot: "a number", Group: "a list, tuple or dict", SequenceSlot: "a list"}.get(
        type(template), "something else"
    )


__all__ = ["Merger", "Snapshot", "Template", "start"]
