"""Lists and tuples of Python: by identity, with writes; of known length or not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from ..dims import Dim, Size
from ..dtypes import to_numpy
from ..errors import LoweringError
from ..lower import listing
from ..lower.builder import Builder
from ..lower.evaluator import Evaluator
from ..lower.registry import evaluation, sequence_lowering
from ..lower.storage import Appending, Cell, OnlyAppends, Ref
from ..lower.values import MISSING, Sequence, Tensor, Unclear
from ..program import Node

# -- reading and writing ------------------------------------------------------------------------------


def content(value: Any) -> Any:
    """What a list holds: a Python list of references, or a `Sequence`."""
    held = value.content if isinstance(value, Cell) else value
    if isinstance(held, Appending):
        raise OnlyAppends(held.cell)
    if isinstance(held, Unclear):
        raise LoweringError(held.reason)
    if isinstance(held, Sequence):
        for root, writes in held.held:
            if root.writes != writes:
                raise LoweringError(
                    "a tensor was written in place after it was put into a list of unknown length; put a clone() of it there"
                )
    return held


def put(ev: Evaluator, target: Any, new: Any) -> None:
    """Give a list other content."""
    if not isinstance(target, Cell):
        raise LoweringError("writes to a list that can't be written to here")
    target.put(new, ev.journal)


def listed(element: Any) -> Any:
    """An element, noted as one that a list holds."""
    if isinstance(element, Ref):
        element.root.listed = True
    return element


def copied(ev: Evaluator, element: Any) -> Any:
    """The content of an element of a list of unknown length, which keeps a copy of it."""
    if isinstance(element, Cell):
        element.frozen = True
    return ev.resolved(element)


def as_sequence(ev: Evaluator, elements: list[Any]) -> Sequence:
    """A list of known length as one that can be indexed at run time."""
    from ..lower.control_flow.merge import Merger  # control flow is seldom, and large

    slot = Merger(ev).elements([(elements, None)])
    if slot is None:
        raise LoweringError("a list of values of different types is indexed by an int known only at run time")
    tensors = [Merger(ev).element(slot.kind, slot.dtype, x, None) for x in elements]
    dims: Any = slot.dims
    made: Sequence = sharing(
        listing.of_elements(ev.g, slot.kind, slot.dtype, dims, tensors, rows=slot.as_rows), elements
    )
    return made


def sharing(made: Any, *sources: Any) -> Any:
    """A list of unknown length, noted to share memory with the elements of those that it is made of."""
    if isinstance(made, Sequence) and made.kind is Tensor:
        from ..lower.control_flow.merge import roots_of

        made.held = tuple((root, root.writes) for root in dict.fromkeys(r for x in sources for r in roots_of(x)))
    return made


def element(ev: Evaluator, held: Any, index: Size, place: tuple[Any, Any]) -> Any:
    """The element at an index known only at run time, or of a list of unknown length; what is written to it is too."""
    whole = held if isinstance(held, Sequence) else as_sequence(ev, held)
    found = ev.hold(listing.get(ev.g, whole, index))
    if isinstance(found, Cell):
        found.frozen = True
    if not isinstance(found, Ref):
        return found
    found.place = place
    if isinstance(held, Sequence):
        for root, _ in held.held:
            found.rival(root)
    elif ev.writes_tensors:
        from ..lower.control_flow.merge import Merger

        at = ev.g.size(listing.position(index, len(held)))
        for i, x in enumerate(held):
            if isinstance(x, Ref):
                found.link(Merger(ev).link(ev.g.equal(at, ev.g.size(i)), x), ev.journal)
    return found


def _arguments(ev: Evaluator, node: Node) -> list[Any] | None:
    """The arguments, references unread; None if one is missing."""
    arguments = [ev.operand(x) for x in node.inputs]
    if any(x is MISSING for x in arguments):
        ev.bind(node, [MISSING] * len(node.outputs))
        return None
    return arguments


def list_special(*ops: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register `function(ev, node, *arguments)`; what it returns is bound to the node's only output."""

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        def evaluate(ev: Evaluator, node: Node) -> None:
            arguments = _arguments(ev, node)
            if arguments is not None:
                result = function(ev, node, *arguments)
                ev.bind(node, [result] * len(node.outputs))

        evaluation(*ops)(evaluate)
        return function

    return add


# -- making and taking apart --------------------------------------------------------------------------


@list_special("prim::ListConstruct")
def list_construct(ev: Evaluator, node: Node, *elements: Any) -> Any:
    """ListConstruct(...) -> t[]"""
    made = [listed(x) for x in elements]
    return Cell(made, ev.depth) if ev.mutates else made


@list_special("prim::TupleConstruct")
def tuple_construct(ev: Evaluator, node: Node, *elements: Any) -> tuple[Any, ...]:
    """TupleConstruct(...) -> (...)"""
    return elements


@evaluation("prim::ListUnpack", "prim::TupleUnpack")
def unpack(ev: Evaluator, node: Node) -> None:
    """ListUnpack(t[] elements) -> ..."""
    arguments = _arguments(ev, node)
    if arguments is None:
        return
    held = content(arguments[0])
    count = len(node.outputs)
    if isinstance(held, Sequence):  # of a trace, as many as the example has: whether that hangs on a size was checked
        view = arguments[0].views if isinstance(arguments[0], Cell) else None
        named = held.named(count) if held.named is not None and view is None else None
        if named is not None:
            return ev.bind(node, named)
        return ev.bind(node, [view(i) if view else element(ev, held, i, (arguments[0], i)) for i in range(count)])
    if len(held) != count:
        raise LoweringError(f"{len(held)} elements are unpacked into {count} names; make their numbers agree")
    ev.bind(node, list(held))


@list_special("prim::TupleIndex")
def tuple_index(ev: Evaluator, node: Node, tup: Any, i: int) -> Any:
    """TupleIndex(Any tup, int i) -> Any"""
    return content(tup)[i]


@evaluation("prim::TupleSlice")
def tuple_slice(ev: Evaluator, node: Node) -> None:
    """TupleSlice(Any tup), with the bounds as attributes"""
    whole = ev.operand(node.inputs[0])
    ev.bind(node, [whole[node.attributes["beg"] : node.attributes["end"]]])


@list_special("aten::list.t", "aten::copy.t")
def copy(ev: Evaluator, node: Node, self: Any) -> Any:
    """list.t(t[] l) -> t[]"""
    held = content(self)
    made = held if isinstance(held, Sequence) else list(held)
    return Cell(made, ev.depth) if ev.mutates else made


# -- reading ------------------------------------------------------------------------------------------


@list_special("aten::len.t", "aten::len.any")
def length(ev: Evaluator, node: Node, a: Any) -> Size:
    """len.t(t[] a) -> int"""
    held = content(a)
    return listing.length(ev.g, held) if isinstance(held, Sequence) else len(held)


@list_special("aten::__getitem__.t")
def getitem(ev: Evaluator, node: Node, list: Any, idx: Size) -> Any:
    """__getitem__.t(t[](a) list, int idx) -> t(*)"""
    if isinstance(list, Cell) and list.views is not None:
        return list.views(listing.position(idx, listing.length(ev.g, list.shown)))
    held = content(list)
    if not isinstance(held, Sequence) and isinstance(idx, int):
        return _at(held, idx)
    return element(ev, held, idx, (list, idx))


def _at(held: list[Any], index: int) -> Any:
    if not -len(held) <= index < len(held):
        raise LoweringError(f"the list index {index} is out of range: the list has {len(held)} element(s)")
    return held[index]


@list_special("aten::slice.t")
def slice_(ev: Evaluator, node: Node, l: Any, start: Size | None = None, end: Size | None = None, step: int = 1) -> Any:
    """slice.t(t[] l, int? start=None, int? end=None, int step=1) -> t[]"""
    held = content(l)
    if not isinstance(held, Sequence) and (isinstance(start, Dim) or isinstance(end, Dim)):
        held = as_sequence(ev, held)
    is_cut = isinstance(held, Sequence)
    part = sharing(listing.cut(ev.g, held, start, end, step), held) if is_cut else held[start:end:step]
    return Cell(part, ev.depth) if ev.mutates else part


@list_special("aten::add.t")
def add(ev: Evaluator, node: Node, a: Any, b: Any) -> Any:
    """add.t(t[] a, t[] b) -> t[]"""
    made = _joined(ev, content(a), content(b))
    return Cell(made, ev.depth) if ev.mutates else made


def _joined(ev: Evaluator, a: Any, b: Any) -> Any:
    return sharing(_concatenated(ev, a, b), a, b)


def _concatenated(ev: Evaluator, a: Any, b: Any) -> Any:
    if not isinstance(a, Sequence) and not isinstance(b, Sequence):
        return [*a, *b]
    if not isinstance(b, Sequence):  # one by one: they may differ in size
        for element in b:
            a = listing.insert(ev.g, a, None, copied(ev, element))
        return a
    if not isinstance(a, Sequence):
        if not a:
            return b
        a = as_sequence(ev, a)
    return listing.concat(ev.g, a, b)


@list_special("aten::mul.left_t", "aten::mul.right_")
def repeat(ev: Evaluator, node: Node, a: Any, b: Any) -> Any:
    """mul.left_t(t[] l, int n) -> t[]"""
    l, n = (b, a) if isinstance(a, (int, Dim)) else (a, b)
    held = content(l)
    if isinstance(n, int) and not isinstance(held, Sequence):
        made: Any = held * n
    else:
        whole = held if isinstance(held, Sequence) else as_sequence(ev, held)
        rows = listing.as_rows(ev.g, whole)
        many = ev.g.expand(ev.g.unsqueeze(rows, [0]), [n, *rows.shape])
        repeated = ev.g.reshape(many, [n * rows.shape[0], *rows.shape[1:]])
        made = sharing(Sequence(whole.kind, whole.dtype, whole.dims, rows=repeated), whole)
    return Cell(made, ev.depth) if ev.mutates else made


# -- writing ------------------------------------------------------------------------------------------


@list_special("aten::append.t")
def append(ev: Evaluator, node: Node, self: Any, el: Any) -> Any:
    """append.t(t[](a!) self, t(c -> *) el) -> t[](a!)"""
    listed(el)
    if isinstance(self, Cell) and isinstance(self.content, Appending):
        self.put(Appending(self.content.cell, (*self.content.items, el)), ev.journal)
        return self
    held = content(self)
    if isinstance(held, Sequence):
        put(ev, self, sharing(listing.insert(ev.g, held, None, copied(ev, el)), held, [el]))
    else:
        put(ev, self, [*held, el])
    return self


@list_special("aten::insert.t")
def insert(ev: Evaluator, node: Node, self: Any, idx: Size, el: Any) -> None:
    """insert.t(t[](a!) self, int idx, t(b -> *) el) -> ()"""
    listed(el)
    held = content(self)
    if not isinstance(held, Sequence) and isinstance(idx, Dim):
        held = as_sequence(ev, held)
    if isinstance(held, Sequence):
        put(ev, self, sharing(listing.insert(ev.g, held, idx, copied(ev, el)), held, [el]))
    else:
        new = list(held)
        new.insert(idx, el)  # type: ignore[arg-type]
        put(ev, self, new)


@list_special("aten::_set_item.t")
def set_item(ev: Evaluator, node: Node, l: Any, idx: Size, el: Any) -> Any:
    """_set_item.t(t[](a!) l, int idx, t(b -> *) el) -> t[](a!)"""
    listed(el)
    if isinstance(el, Ref) and el.place is not None and el.place[0] is l and el.place[1] == idx:
        l.unsure, el.place = "", None  # `items[i] += 1`: what was written in place is put back
        if not isinstance(l.content, Sequence):
            return l  # to the very element
    held = content(l)
    if not isinstance(held, Sequence):
        if isinstance(idx, int):
            _at(held, idx)
            idx %= len(held)
            put(ev, l, [*held[:idx], el, *held[idx + 1 :]])
            return l
        held = as_sequence(ev, held)
    put(ev, l, sharing(listing.put(ev.g, held, idx, copied(ev, el)), held, [el]))
    return l


@list_special("aten::pop.t")
def pop(ev: Evaluator, node: Node, self: Any, idx: Size = -1) -> Any:
    """pop.t(t[](a!) self, int idx=-1) -> t(*)"""
    held = content(self)
    if not isinstance(held, Sequence) and isinstance(idx, int):
        found = _at(held, idx)
        idx %= len(held)
        put(ev, self, [*held[:idx], *held[idx + 1 :]])
        return found
    found = element(ev, held, idx, (self, None))
    whole = held if isinstance(held, Sequence) else as_sequence(ev, held)
    put(ev, self, sharing(listing.erase(ev.g, whole, idx), whole))
    return found


@list_special("aten::Delete.t")
def delete(ev: Evaluator, node: Node, self: Any, idx: Size) -> None:
    """Delete.t(t[](a!) self, int idx) -> ()"""
    pop(ev, node, self, idx)


@list_special("aten::extend.t", "aten::add_.t")
def extend(ev: Evaluator, node: Node, self: Any, other: Any) -> Any:
    """extend.t(t[](a!) self, t[] other) -> ()"""
    put(ev, self, _joined(ev, content(self), content(other)))
    return self


@list_special("aten::clear.t")
def clear(ev: Evaluator, node: Node, self: Any) -> None:
    """clear.t(t[](a!) self) -> ()"""
    put(ev, self, [])


@list_special("aten::reverse.t")
def reverse(ev: Evaluator, node: Node, self: Any) -> None:
    """reverse.t(t[](a!) self) -> ()"""
    held = content(self)
    if isinstance(held, Sequence):
        rows = ev.g.slice(listing.as_rows(ev.g, held), [-1], [-(1 << 62)], [0], [-1])
        put(ev, self, sharing(Sequence(held.kind, held.dtype, held.dims, rows=rows), held))
    else:
        put(ev, self, held[::-1])


# -- tensors of lists of unknown length ---------------------------------------------------------------


@sequence_lowering("aten::stack")
def stack(g: Builder, tensors: Sequence, dim: int = 0) -> Tensor:
    """stack(Tensor[] tensors, int dim=0) -> Tensor"""
    return listing.stack(g, tensors, dim)


@sequence_lowering("aten::cat", "aten::concat", "aten::concatenate")
def cat(g: Builder, tensors: Sequence, dim: int = 0) -> Tensor:
    """cat(Tensor[] tensors, int dim=0) -> Tensor"""
    return listing.cat(g, tensors, dim)


@sequence_lowering("aten::vstack", "aten::row_stack", "aten::hstack")
def stack_along_axis(g: Builder, tensors: Sequence) -> Tensor:
    """vstack(Tensor[] tensors) -> Tensor"""
    if tensors.dims is None:
        raise LoweringError("the elements of the list may differ in rank; use torch.cat or torch.stack")
    rank, across = len(tensors.dims), g.origin.op != "aten::hstack"
    if rank == 0 or (rank == 1 and across):
        rows = listing.as_rows(g, tensors)
        return g.unsqueeze(rows, [1]) if rank == 0 and across else rows
    return listing.cat(g, tensors, 0 if across or rank == 1 else 1)


@sequence_lowering("aten::pad_sequence")
def pad_sequence(
    g: Builder, sequences: Sequence, batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Tensor:
    """pad_sequence(Tensor[] sequences, bool batch_first=False, float padding_value=0.0, str padding_side="right")
    -> Tensor"""
    lengths = listing.lengths(g, sequences)
    longest = g.reduce("ReduceMax", lengths, [0], False)
    size = g.int_of(longest, "longest", minimum=0)
    place = g.unsqueeze(g.range(0, size), [0])
    ends, column = g.unsqueeze(g.cumsum(lengths, 0), [1]), g.unsqueeze(lengths, [1])
    if padding_side == "left":
        place = g.sub(place, g.sub(longest, column))
    valid = g.and_(g.less(place, column), g.not_(g.less(place, 0)))
    elements = listing.cat(g, sequences, 0)
    rows = g.gather(elements, g.where(valid, g.add(g.sub(ends, column), place), 0), 0)
    padded = g.where(g.unsqueeze(valid, [*range(2, rows.rank)]), rows, g.const(padding_value, rows.dtype))
    return padded if batch_first else g.swap(padded, 0, 1)


@sequence_lowering("aten::tensor", "aten::as_tensor")
def tensor(
    g: Builder, data: Sequence, dtype: int | None = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """tensor(t[] data, *, ScalarType? dtype=None, Device? device=None, bool requires_grad=False) -> Tensor"""
    from ..dtypes import from_scalar_type

    default = torch.get_default_dtype() if data.dtype == torch.float64 and data.kind is not Tensor else data.dtype
    return g.cast(listing.as_rows(g, data), default if dtype is None else from_scalar_type(dtype))


@sequence_lowering("aten::zeros", "aten::ones", "aten::new_zeros", "aten::new_ones")
def constant_of_sizes(g: Builder, *arguments: Any) -> Tensor:
    """zeros(SymInt[] size, *, ScalarType? dtype=None, ...) -> Tensor, of a rank known only at run time"""
    from ..dtypes import from_scalar_type

    *like, size, dtype = arguments[: 3 if isinstance(arguments[0], Tensor) else 2]
    chosen = from_scalar_type(dtype) if dtype is not None else like[0].dtype if like else torch.get_default_dtype()
    value = np.array([g.origin.op.partition(".")[0].endswith("ones")], dtype=to_numpy(chosen))
    filled = g.append("ConstantOfShape", [g.value(listing.as_rows(g, size))], {"value": value}, 1).outputs[0]
    made = Tensor(chosen, None, filled)
    g.made.append(made)
    return made


@sequence_lowering("aten::reshape", "aten::view")
def reshape(g: Builder, self: Tensor, shape: Sequence) -> Tensor:
    """reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a), of a rank known only at run time"""
    reshaped = g.append("Reshape", [g.value(self), g.value(listing.as_rows(g, shape))], {}, 1).outputs[0]
    made = Tensor(self.dtype, None, reshaped)
    g.made.append(made)
    return made


@sequence_lowering("aten::sum.int", "aten::sum.float")
def total(g: Builder, self: Sequence) -> Any:
    """sum.int(int[] self) -> int"""
    return listing.number(self.kind, g.reduce("ReduceSum", listing.as_rows(g, self), [0], False), g)


@sequence_lowering("prim::max.self_int", "prim::max.self_float")
def maximum(g: Builder, self: Sequence) -> Any:
    """max.self_int(int[] self) -> int"""
    return listing.number(self.kind, g.reduce("ReduceMax", listing.as_rows(g, self), [0], False), g)


@sequence_lowering("prim::min.self_int", "prim::min.self_float")
def minimum(g: Builder, self: Sequence) -> Any:
    """min.self_int(int[] self) -> int"""
    return listing.number(self.kind, g.reduce("ReduceMin", listing.as_rows(g, self), [0], False), g)
