"""Views that show a part of a tensor: select, slice, diagonal, windows."""

from __future__ import annotations

from .. import dims as sizes
from ..dims import Dim, Size
from ..errors import LoweringError
from ..lower.builder import Builder
from ..lower.emit import INT64_MAX
from ..lower.registry import lowering
from ..lower.values import Tensor
from .axes import wrap, wrap_all

INT64_MIN = -(1 << 63)


@lowering("aten::select.int", "aten::select_copy.int")
def select(g: Builder, self: Tensor, dim: int, index: Size) -> Tensor:
    """select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)"""
    axis = wrap(dim, self.rank)
    size = self.shape[axis]
    if isinstance(index, int):
        if isinstance(size, int) and not -size <= index < size:
            raise LoweringError(f"index {index} is out of range for axis {axis} of size {size}")
        if index < 0 and (isinstance(size, int) or g.opset < 11):  # older Gathers don't count from the end
            index = size + index
    place = index if isinstance(index, int) else g.size(index)
    return g.gather(self, place, axis)


@lowering("aten::slice.Tensor", "aten::slice_copy.Tensor")
def slice_(
    g: Builder, self: Tensor, dim: int = 0, start: Size | None = None, end: Size | None = None, step: Size = 1
) -> Tensor:
    """slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor(a)"""
    axis = wrap(dim, self.rank)
    size = self.shape[axis]
    first: Size = 0 if start is None else start
    last: Size = INT64_MAX if end is None or end == size else end
    if isinstance(last, int) and last > INT64_MAX:
        last = INT64_MAX
    if isinstance(size, int) and isinstance(first, int) and isinstance(last, int):
        first, last, _ = slice(first, last).indices(size)
        last = INT64_MAX if last == size else max(first, last)
    if first == 0 and last == INT64_MAX and step == 1:
        return self
    if not isinstance(step, int):
        g.require(10, "a slice with a step known only at run time")
        return g.op("Slice", self, [first], [last], [axis], [step])
    result = g.slice(self, [first], [last], [axis], [step])
    if step == 1 and isinstance(last, Dim) and _is_within(g, first, last, size):
        result.dims = (*self.shape[:axis], last - first, *self.shape[axis + 1 :])
    return result


def _is_within(g: Builder, first: Size, last: Size, size: Size) -> bool:
    """Whether a slice surely has all the elements from its first to its last."""
    return sizes.known_ge(first, 0) is True and sizes.known_le(first, last) is True and g.claims.at_most(last, size)


@lowering("aten::narrow", "aten::narrow_copy")
def narrow(g: Builder, self: Tensor, dim: int, start: Size, length: Size) -> Tensor:
    """narrow(Tensor(a) self, int dim, SymInt start, SymInt length) -> Tensor(a)"""
    axis = wrap(dim, self.rank)
    size = self.shape[axis]
    if sizes.known_ge(start, 0) is not True:
        start = size + start if sizes.known_lt(start, 0) else start % size
    if start == 0 and length == size:
        return self
    result = g.slice(self, [start], [start + length], [axis])
    result.dims = (*self.shape[:axis], length, *self.shape[axis + 1 :])
    return result


@lowering("aten::narrow.Tensor")
def narrow_tensor(g: Builder, self: Tensor, dim: int, start: Tensor, length: Size) -> Tensor:
    """narrow.Tensor(Tensor(a) self, int dim, Tensor start, SymInt length) -> Tensor(a)"""
    return narrow(g, self, dim, g.int_of(start), length)


# -- diagonals ------------------------------------------------------------------------------------


@lowering("aten::diagonal", "aten::diagonal_copy")
def diagonal(g: Builder, self: Tensor, offset: Size = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """diagonal(Tensor(a) self, int offset=0, int dim1=0, int dim2=1) -> Tensor(a)

    With both axes made one, the diagonal is every (m + 1)-th element.
    """
    a, b = wrap_all([dim1, dim2], self.rank)
    rest = [d for d in range(self.rank) if d not in (a, b)]
    n, m = self.shape[a], self.shape[b]
    flat = g.reshape(g.transpose(self, [*rest, a, b]), [*[self.shape[d] for d in rest], n * m])
    right, down = sizes.maximum(offset, 0), sizes.maximum(-offset, 0)
    length = sizes.maximum(sizes.minimum(n - down, m - right), 0)
    places = g.add(g.mul(g.range(0, length), g.size(m + 1)), g.size(right + m * down))
    return g.gather(flat, places, len(rest))


@lowering("aten::diag")
def diag(g: Builder, self: Tensor, diagonal: Size = 0) -> Tensor:
    """diag(Tensor self, int diagonal=0) -> Tensor"""
    return diag_embed(g, self, diagonal) if self.rank == 1 else _diagonal(g, self, diagonal)


_diagonal = diagonal


@lowering("aten::linalg_diagonal")
def linalg_diagonal(g: Builder, A: Tensor, offset: Size = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """linalg_diagonal(Tensor(a) A, *, int offset=0, int dim1=-2, int dim2=-1) -> Tensor(a)"""
    return diagonal(g, A, offset, dim1, dim2)


@lowering("aten::diag_embed")
def diag_embed(g: Builder, self: Tensor, offset: Size = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1) -> Tensor"""
    a, b = wrap_all([dim1, dim2], self.rank + 1)
    before, after = (
        [] if n == 0 else [g.full([*self.shape[:-1], n], 0, self.dtype)]
        for n in (sizes.maximum(-offset, 0), sizes.maximum(offset, 0))
    )
    x = g.concat([*before, self, *after], self.rank - 1)
    index = g.range(0, x.shape[-1])
    on = g.equal(g.add(g.unsqueeze(index, [1]), g.size(offset)), index)
    embedded = g.where(on, g.unsqueeze(x, [x.rank]), g.scalar(0, x.dtype))
    placed = {a: x.rank - 1, b: x.rank}
    rest = iter(range(x.rank - 1))
    return g.transpose(embedded, [placed[i] if i in placed else next(rest) for i in range(x.rank + 1)])


@lowering("aten::diagflat")
def diagflat(g: Builder, self: Tensor, offset: Size = 0) -> Tensor:
    """diagflat(Tensor self, int offset=0) -> Tensor"""
    return diag_embed(g, g.reshape(self, [self.numel]), offset)


@lowering("aten::tril")
def tril(g: Builder, self: Tensor, diagonal: Size = 0) -> Tensor:
    """tril(Tensor self, SymInt diagonal=0) -> Tensor"""
    return triangle(g, self, diagonal, upper=False)


@lowering("aten::triu")
def triu(g: Builder, self: Tensor, diagonal: Size = 0) -> Tensor:
    """triu(Tensor self, SymInt diagonal=0) -> Tensor"""
    return triangle(g, self, diagonal, upper=True)


def triangle(g: Builder, x: Tensor, diagonal: Size, upper: bool) -> Tensor:
    """The part on and above (below) a diagonal of the last two axes, zero elsewhere."""
    if g.opset >= 14:
        return g.op("Trilu", x, None if diagonal == 0 else g.size(diagonal), upper=int(upper))
    row = g.unsqueeze(g.range(0, x.shape[-2]), [1])
    column = g.sub(g.range(0, x.shape[-1]), g.size(diagonal))
    kept = g.less_equal(row, column) if upper else g.less_equal(column, row)
    return g.where(kept, x, g.scalar(0, x.dtype))


# -- windows, and views by strides ----------------------------------------------------------------


@lowering("aten::unfold", "aten::unfold_copy")
def unfold(g: Builder, self: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """unfold(Tensor(a) self, int dimension, int size, int step) -> Tensor(a)"""
    if self.rank == 0:
        return g.slice(g.reshape(self, [1]), [0], [size], [0])
    axis = wrap(dimension, self.rank)
    count = (self.shape[axis] - size) // step + 1
    starts = g.mul(g.range(0, count), step)
    places = g.add(g.unsqueeze(starts, [1]), g.range(0, size))
    windows = g.gather(self, places, axis)
    rest = [d for d in range(windows.rank) if d != axis + 1]
    return g.transpose(windows, [*rest, axis + 1])


@lowering("aten::as_strided", "aten::as_strided_copy")
def as_strided(
    g: Builder, self: Tensor, size: list[Size], stride: list[Size], storage_offset: Size | None = None
) -> Tensor:
    """as_strided(Tensor(a) self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor(a)

    It looks at memory, which ONNX doesn't show: right only where `self` fills its memory, from its begin on.
    """
    self = _in_memory_order(g, self)
    reach: Size = 0 if storage_offset is None else storage_offset
    places = g.size(reach)
    for length, by in zip(size, stride):
        along = g.mul(g.range(0, length), g.size(by))
        places = g.add(g.unsqueeze(places, [places.rank]), along)
        reach = reach + (length - 1) * by
    if 0 not in size and sizes.known_lt(reach, self.numel) is False:
        raise LoweringError("as_strided looks beyond the end of the tensor that it is given; index the tensor instead")
    return g.gather(g.reshape(self, [self.numel]), places, 0)


def _in_memory_order(g: Builder, self: Tensor) -> Tensor:
    """The tensor with its axes as they lie in memory, by the strides that the trace saw; raise if they overlap."""
    operand = g.origin.inputs[0] if g.origin is not None and g.origin.inputs else None
    recorded = getattr(operand, "tensor_type", None)
    if recorded is None or not recorded.strides or not recorded.sizes or None in [*recorded.strides, *recorded.sizes]:
        if _may_be_reordered(self):
            raise LoweringError(
                "as_strided of a tensor of which isn't known how it lies in memory (transposed, or a piece of another); "
                "index the tensor instead"
            )
        return self
    lengths, strides = list(map(int, recorded.sizes)), list(map(int, recorded.strides))
    order = sorted(range(len(strides)), key=lambda axis: -strides[axis] if lengths[axis] != 1 else 0)
    order = _ones_in_place(order, lengths)
    span = 1
    for axis in reversed(order):
        if lengths[axis] > 1 and strides[axis] != span:
            raise LoweringError(
                "as_strided of a tensor whose memory has gaps or overlaps (a slice or an expanded view); "
                "call .contiguous() before, or index the tensor instead"
            )
        span *= lengths[axis]
    return self if order == sorted(order) else g.transpose(self, order)


def _may_be_reordered(self: Tensor) -> bool:
    """Whether a tensor may be a view that shows memory in another order, or an elementwise result of one."""
    value = self.value
    while value is not None and (node := value.producer()) is not None:
        if node.op_type in ("Transpose", "Slice", "Split", "Gather", "Expand"):
            return True
        if node.op_type in ("MatMul", "Gemm", "Conv", "Concat", "Pad"):
            return False
        value = next(iter(node.inputs), None)
    return False


def _ones_in_place(order: list[int], lengths: list[int]) -> list[int]:
    """The order with axes of size 1, whose strides mean nothing, where they are if the others are in order."""
    others = [axis for axis in order if lengths[axis] != 1]
    return sorted(order) if others == sorted(others) else order


__all__ = ["INT64_MIN", "diag_embed", "diagonal", "narrow", "select", "slice_"]
