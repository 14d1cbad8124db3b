"""Operations on lists of unknown length, in both of their forms.

As rows, a list is a tensor with its elements along the first axis: everything is slices and concatenations, at every
opset. As an ONNX sequence (opset 11; 13 where it crosses the border of a body) its elements may differ in size; complex
ones are pairs of reals there, and bfloat16 ones, which sequences don't take, float32.
"""

from __future__ import annotations

from collections.abc import Sequence as Elements
from typing import Any

import onnx_ir as ir
import torch

from .. import dims as sizes
from ..dims import Dim, Size
from ..dtypes import real_of, to_onnx
from ..errors import LoweringError, OpsetError
from .builder import Builder
from .emit import INT64_MAX
from .finish import prune
from .values import Cuts, Kind, ListOf, Scalar, Sequence, Tensor

# Element types of onnxruntime's SplitToSequence.
_SPLITTABLE = (torch.float32, torch.float64, torch.int32, torch.int64)
_WHAT = "a list of tensors whose length is known only at run time"


def sequence_value(dtype: torch.dtype, name: str | None = None) -> ir.Value:
    return ir.Value(name=name, type=_type(dtype))


def _type(dtype: torch.dtype) -> ir.SequenceType:
    return ir.SequenceType(ir.TensorType(ir.DataType(to_onnx(_held(dtype)))))


def _held(dtype: torch.dtype) -> torch.dtype:
    """The type in which a sequence holds elements of a type."""
    return torch.float32 if dtype == torch.bfloat16 else real_of(dtype)


def _put_in(g: Builder, element: Tensor) -> ir.Value:
    return g.value(g.cast(element, torch.float32) if element.dtype == torch.bfloat16 else element)


def _taken_out(g: Builder, value: ir.Value, dtype: torch.dtype, dims: tuple[Size, ...] | None) -> Tensor:
    if dtype == torch.bfloat16:
        return g.cast(_tensor(g, value, torch.float32, dims), dtype)
    return _tensor(g, value, dtype, dims)


def of_elements(
    g: Builder,
    kind: Kind,
    dtype: torch.dtype,
    dims: tuple[Size, ...] | None,
    elements: Elements[Tensor],
    *,
    rows: bool,
) -> Sequence:
    """A list of these elements, all of this dtype."""
    if rows:
        assert dims is not None
        if elements:
            content = g.concat([g.unsqueeze(e, [0]) for e in elements], 0)
        else:
            content = g.full([0, *dims], False if dtype == torch.bool else 0, dtype)
        return Sequence(kind, dtype, dims, rows=content)
    g.require(11, _WHAT)
    if elements:
        return _made(g, kind, dtype, _common(elements), "SequenceConstruct", [_put_in(g, e) for e in elements])
    return _made(g, kind, dtype, dims, "SequenceEmpty", [], dtype=to_onnx(_held(dtype)))


def number(kind: Kind, tensor: Tensor, g: Builder) -> Any:
    """A 0-d tensor as the number of this kind; a tensor as the list."""
    if isinstance(kind, ListOf):
        return Sequence(kind.kind, tensor.dtype, tensor.shape[1:], rows=tensor)
    return g.int_of(tensor) if kind is int else Scalar(tensor, kind)


def as_tensor(g: Builder, like: Sequence, element: Any) -> Tensor:
    """An element as a tensor of the list's dtype."""
    if isinstance(like.kind, ListOf):
        if isinstance(element, Sequence):
            return g.cast(as_rows(g, element), like.dtype)
        inner = Sequence(like.kind.kind, like.dtype, None)
        return stacked(g, [as_tensor(g, inner, x) for x in element], like.dtype)
    if isinstance(element, Tensor):
        if like.kind is Tensor and element.dtype != like.dtype:
            raise LoweringError(f"a list of {like.dtype} tensors can't hold one of {element.dtype}; convert it first")
        return g.cast(element, like.dtype)
    return g.scalar(g.size(element) if isinstance(element, Dim) else element, like.dtype)


def stacked(g: Builder, elements: Elements[Tensor], dtype: torch.dtype) -> Tensor:
    """The elements of a list, if there are any, along a new first axis."""
    return g.concat([g.unsqueeze(e, [0]) for e in elements], 0) if elements else g.full([0], False, dtype)


def as_rows(g: Builder, x: Sequence) -> Tensor:
    """The elements along a new first axis."""
    if x.rows is not None:
        return x.rows
    rows = g.append("ConcatFromSequence", [x.value], {"axis": 0, "new_axis": 1}, 1).outputs[0]
    dims = None if x.dims is None else (g.fresh("len"), *(g.fresh("dim") if d is None else d for d in x.dims))
    return _taken_out(g, rows, x.dtype, dims)


def as_sequence(g: Builder, x: Sequence) -> Sequence:
    """The same list as an ONNX sequence."""
    if x.rows is None:
        return x
    if x.dtype in _SPLITTABLE:
        made = _split(g, x.rows, x.dims, [], axis=0, keepdims=0)
    else:
        made = _split_in_loop(g, x.rows, x.dims, g.full([x.rows.shape[0]], 1, torch.int64), 0, keepdims=False)
    made.kind = x.kind
    return made


def pieces(g: Builder, x: Tensor, size: Size, axis: int) -> Sequence:
    """torch.split: pieces of a size along an axis, the last one perhaps shorter."""
    try:
        g.require(11, _WHAT)
    except OpsetError as error:
        cuts = Cuts(-(-x.shape[axis] // size), lambda i: g.slice(x, [i * size], [(i + 1) * size], [axis]), error)
        return Sequence(Tensor, x.dtype, _of_pieces(x, axis), value=cuts)
    if x.dtype in _SPLITTABLE:
        return _split(g, x, _of_pieces(x, axis), [g.value(g.size(size))], axis=axis)
    length = x.shape[axis]
    begins = g.mul(g.range(0, -(-length // size)), g.size(size))
    lengths = g.extremum("Min", g.sub(g.size(length), begins), g.size(size))
    return _split_in_loop(g, x, _of_pieces(x, axis), lengths, axis)


def parts(g: Builder, x: Tensor, lengths: Tensor, axis: int) -> Sequence:
    """Pieces of these lengths, a vector."""
    if x.dtype in _SPLITTABLE:
        return _split(g, x, _of_pieces(x, axis), [g.value(lengths)], axis=axis)
    return _split_in_loop(g, x, _of_pieces(x, axis), lengths, axis)


def _of_pieces(x: Tensor, axis: int) -> tuple[Size | None, ...]:
    return (*x.shape[:axis], None, *x.shape[axis + 1 :])


def _split(g: Builder, x: Tensor, dims: Any, size: list[ir.Value], **attributes: int) -> Sequence:
    g.require(11, _WHAT)
    return _made(g, Tensor, x.dtype, dims, "SplitToSequence", [g.value(x), *size], **attributes)


def _split_in_loop(g: Builder, x: Tensor, dims: Any, lengths: Tensor, axis: int, keepdims: bool = True) -> Sequence:
    """The same for types that onnxruntime's SplitToSequence has no kernel for: a Loop that cuts off piece by piece."""
    g.require(13, f"a list of {x.dtype} tensors whose length is known only at run time")
    ends = g.cumsum(lengths, 0)
    begins = g.sub(ends, lengths)
    empty = _made(g, Tensor, x.dtype, dims, "SequenceEmpty", [], dtype=to_onnx(_held(x.dtype)))
    trip = g.value(g.size(lengths.shape[0]))
    with g.body() as scope:
        number, proceed = (_tensor(g, g.value_of(None, dtype, ()), dtype, ()) for dtype in (torch.int64, torch.bool))
        before = sequence_value(x.dtype)
        scope.inputs.extend([g.value(number), g.value(proceed), before])
        begin, end = (g.int_of(g.gather(places, number, 0)) for places in (begins, ends))
        piece = g.slice(x, [begin], [end], [axis])
        piece = piece if keepdims else g.squeeze(piece, [axis])
        after = _made(g, Tensor, x.dtype, dims, "SequenceInsert", [before, _put_in(g, piece)])
        same = g.append("Identity", [g.value(proceed)], {}, 1).outputs[0]
        same.type = g.value(proceed).type
        assert after.value is not None
        left = [same, after.value]
        body = ir.Graph(scope.inputs, left, nodes=prune(scope.nodes, left), name="body")
    result = g.append("Loop", [trip, None, empty.value], {"body": body}, 1).outputs[0]
    result.type = before.type
    return Sequence(Tensor, x.dtype, dims, value=result)


def length(g: Builder, x: Sequence) -> Size:
    if x.rows is not None:
        return x.rows.shape[0]
    if x.cuts is not None:
        return x.cuts.count
    count = g.append("SequenceLength", [x.value], {}, 1).outputs[0]
    return g.int_of(_tensor(g, count, torch.int64, ()), "len", minimum=0)


def get(g: Builder, x: Sequence, index: Size) -> Any:
    """The element at an index; a number, if the list is of numbers."""
    if x.rows is not None:
        element = g.gather(x.rows, g.size(index), 0) if isinstance(index, Dim) else _gather(g, x.rows, index)
    elif x.cuts is not None:
        element = x.cuts.at(position(index, x.cuts.count))
    else:
        value = g.append("SequenceAt", [x.value, g.value(g.size(index))], {}, 1).outputs[0]
        element = _taken_out(g, value, x.dtype, _some(g, x.dims))
    return element if x.kind is Tensor else number(x.kind, element, g)


def _gather(g: Builder, rows: Tensor, index: int) -> Tensor:
    if g.opset >= 11 or index >= 0:
        return g.gather(rows, index, 0)
    return g.gather(rows, g.size(rows.shape[0] + index), 0)


def put(g: Builder, x: Sequence, index: Size, element: Any) -> Sequence:
    """The list with another element at an index."""
    tensor = as_tensor(g, x, element)
    if fits(x, tensor):
        assert x.rows is not None
        at = position(index, x.rows.shape[0])
        after = g.slice(x.rows, [at + 1], [INT64_MAX], [0])
        rows = g.concat([g.slice(x.rows, [0], [at], [0]), g.unsqueeze(tensor, [0]), after], 0)
        rows.dims = x.rows.dims
        return Sequence(x.kind, x.dtype, x.dims, rows=rows)
    shorter = erase(g, as_sequence(g, x), index)
    return _inserted(g, shorter, position(index, length(g, x)), tensor)


def insert(g: Builder, x: Sequence, index: Size | None, element: Any) -> Sequence:
    """The list with an element more, before an index or at the end."""
    tensor = as_tensor(g, x, element)
    if not fits(x, tensor):
        return _inserted(g, as_sequence(g, x), index, tensor)
    assert x.rows is not None
    row = g.unsqueeze(tensor, [0])
    if index is None:
        return Sequence(x.kind, x.dtype, x.dims, rows=g.concat([x.rows, row], 0))
    at = _insertion(index, x.rows.shape[0])
    after = g.slice(x.rows, [at], [INT64_MAX], [0])
    rows = g.concat([g.slice(x.rows, [0], [at], [0]), row, after], 0)
    rows.dims = (x.rows.shape[0] + 1, *x.rows.shape[1:])
    return Sequence(x.kind, x.dtype, x.dims, rows=rows)


def _insertion(index: Size, count: Size) -> Size:
    """Where list.insert puts an element: an index out of range is the nearest end."""
    if sizes.known_ge(index, 0):
        return sizes.minimum(index, count)
    if sizes.known_lt(index, 0):
        return sizes.maximum(count + index, 0)
    raise LoweringError(f"whether the index {index} of an insert is negative is known only at run time")


def _inserted(g: Builder, x: Sequence, index: Size | None, tensor: Tensor) -> Sequence:
    at = [] if index is None else [g.value(g.size(index))]
    dims = _join(x.dims, tensor.dims)
    return _made(g, x.kind, x.dtype, dims, "SequenceInsert", [x.value, _put_in(g, tensor), *at])


def erase(g: Builder, x: Sequence, index: Size) -> Sequence:
    """The list without the element at an index."""
    if x.rows is None:
        return _made(g, x.kind, x.dtype, x.dims, "SequenceErase", [x.value, g.value(g.size(index))])
    count = x.rows.shape[0]
    at = position(index, count)
    rows = g.concat([g.slice(x.rows, [0], [at], [0]), g.slice(x.rows, [at + 1], [INT64_MAX], [0])], 0)
    rows.dims = (count - 1, *x.rows.shape[1:])
    return Sequence(x.kind, x.dtype, x.dims, rows=rows)


def concat(g: Builder, a: Sequence, b: Sequence) -> Sequence:
    """All elements of a, then those of b."""
    if a.rows is not None and b.rows is not None and a.dims == b.dims:
        return Sequence(a.kind, a.dtype, a.dims, rows=g.concat([a.rows, b.rows], 0))
    raise LoweringError(
        "two lists of unknown lengths whose elements differ in size are joined; append the elements in a loop instead"
    )


def cut(g: Builder, x: Sequence, begin: Size | None, end: Size | None, step: int) -> Sequence:
    """x[begin:end:step]."""
    if x.rows is None:
        raise LoweringError(
            "a slice of a list of unknown length whose elements differ in size has no ONNX form; loop over it instead"
        )
    first, last = (0, INT64_MAX) if step > 0 else (INT64_MAX, -INT64_MAX)
    start = first if begin is None else begin
    stop = last if end is None else end
    return Sequence(x.kind, x.dtype, x.dims, rows=g.slice(x.rows, [start], [stop], [0], [step]))


def lengths(g: Builder, x: Sequence) -> Tensor:
    """The sizes of the elements along their first axis, a vector."""
    if x.rows is not None:
        return g.full([x.rows.shape[0]], x.rows.shape[1], torch.int64)
    g.require(13, "the sizes of the elements of a list whose length is known only at run time")
    trip = g.value(g.size(length(g, x)))
    with g.body() as scope:
        number, proceed = (_tensor(g, g.value_of(None, dtype, ()), dtype, ()) for dtype in (torch.int64, torch.bool))
        scope.inputs.extend([g.value(number), g.value(proceed)])
        element = g.append("SequenceAt", [x.value, g.value(number)], {}, 1).outputs[0]
        size = g.size(_taken_out(g, element, x.dtype, _some(g, x.dims)).shape[0])
        same = g.append("Identity", [g.value(proceed)], {}, 1).outputs[0]
        same.type = g.value(proceed).type
        left = [same, g.value(size)]
        body = ir.Graph(scope.inputs, left, nodes=prune(scope.nodes, left), name="body")
    return _tensor(g, g.append("Loop", [trip, None], {"body": body}, 1).outputs[0], torch.int64, (g.fresh("len"),))


def _some(g: Builder, dims: tuple[Size | None, ...] | None) -> tuple[Size, ...] | None:
    """The sizes of an element: those that differ from element to element are unknown."""
    return None if dims is None else tuple(g.fresh("dim") if d is None else d for d in dims)


def stack(g: Builder, x: Sequence, dim: int) -> Tensor:
    """torch.stack of the list."""
    rows = as_rows(g, x)
    dim %= rows.rank
    return g.transpose(rows, [*range(1, dim + 1), 0, *range(dim + 1, rows.rank)])


def cat(g: Builder, x: Sequence, dim: int) -> Tensor:
    """torch.cat of the list."""
    if x.rows is None:
        axis = dim - 1 if dim < 0 and x.dtype.is_complex else dim
        value = g.append("ConcatFromSequence", [x.value], {"axis": axis, "new_axis": 0}, 1).outputs[0]
        dims = None
        if x.dims is not None:
            along = dim % len(x.dims)
            dims = tuple(g.fresh("dim") if d is None or i == along else d for i, d in enumerate(x.dims))
        return _taken_out(g, value, x.dtype, dims)
    rank = x.rows.rank - 1
    dim %= rank
    moved = g.transpose(x.rows, [*range(1, dim + 1), 0, *range(dim + 1, rank + 1)])
    shape = moved.shape
    return g.reshape(moved, [*shape[:dim], shape[dim] * shape[dim + 1], *shape[dim + 2 :]])


def position(index: Size, count: Size) -> Size:
    """An index counted from the front; it is in range, or never used: sizes are computed outside of an `if len(x) > 0`."""
    if sizes.known_ge(index, 0):
        return index
    return count + index if sizes.known_lt(index, 0) else index % sizes.maximum(count, 1)


def fits(x: Sequence, tensor: Tensor) -> bool:
    """Whether an element can join the rows."""
    return x.rows is not None and x.dims is not None and tensor.dims == x.dims


def _made(
    g: Builder, kind: Kind, element: torch.dtype, dims: Any, op: str, inputs: list[Any], **attributes: Any
) -> Sequence:
    node = g.append(op, inputs, attributes, 1)
    value = node.outputs[0]
    value.type = _type(element)
    return Sequence(kind, element, dims, value=value)


def _tensor(g: Builder, value: ir.Value, dtype: torch.dtype, dims: tuple[Size, ...] | None) -> Tensor:
    tensor = Tensor(dtype, dims, value)
    g.made.append(tensor)
    g.declare(tensor)
    return tensor


def _common(elements: Elements[Tensor]) -> Any:
    dims: Any = elements[0].dims
    for element in elements[1:]:
        dims = _join(dims, element.dims)
    return dims


def _join(a: Any, b: Any) -> Any:
    if a is None or b is None or len(a) != len(b):
        return None
    return tuple(x if x is not None and y is not None and x == y else None for x, y in zip(a, b))
