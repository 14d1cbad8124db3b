"""Sizes and order of axes: what changes the shape of a tensor and none of its elements."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch

from .. import dims as sizes
from ..dims import Dim, Size
from ..errors import LoweringError
from ..lower.builder import Builder
from ..lower.ranks import kept, squeezed
from ..lower.registry import lowering
from ..lower.values import Tensor
from .axes import wrap, wrap_all

# -- the same elements under other sizes ----------------------------------------------------------


def known_sizes(count: Size, target: Sequence[Size]) -> list[Size]:
    """The sizes of a view of `count` elements, with what -1 stands for."""
    result = list(target)
    if -1 not in result:
        return result
    position = result.index(-1)
    rest = sizes.product(result[:position] + result[position + 1 :])
    if isinstance(rest, int) and rest == 0:
        raise LoweringError("the size -1 of a view is ambiguous where another size is 0; give it as a number")
    exact = sizes.exact_div(count, rest)
    result[position] = count // rest if exact is None else exact
    return result


@lowering(
    "aten::view",
    "aten::view_copy",
    "aten::reshape",
    "aten::_unsafe_view",
    "aten::_reshape_alias",
    "aten::_reshape_copy",
)
def view(g: Builder, self: Tensor, size: list[Size], stride: object = None) -> Tensor:
    """view(Tensor(a) self, SymInt[] size) -> Tensor(a)"""
    return g.reshape(kept(g, self), known_sizes(self.numel, size))


@lowering("aten::view_as", "aten::reshape_as")
def view_as(g: Builder, self: Tensor, other: Tensor) -> Tensor:
    """view_as(Tensor(a) self, Tensor other) -> Tensor(a)"""
    return g.reshape_as(kept(g, self), other)


@lowering("aten::flatten.using_ints")
def flatten(g: Builder, self: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """flatten.using_ints(Tensor(a) self, int start_dim=0, int end_dim=-1) -> Tensor(a)"""
    if self.rank == 0:
        return g.reshape(self, [1])
    first, last = wrap(start_dim, self.rank), wrap(end_dim, self.rank)
    shape = self.shape
    return g.reshape(self, [*shape[:first], sizes.product(shape[first : last + 1]), *shape[last + 1 :]])


@lowering("aten::ravel")
def ravel(g: Builder, self: Tensor) -> Tensor:
    """ravel(Tensor(a) self) -> Tensor(a)"""
    return g.reshape(self, [self.numel])


@lowering("aten::unflatten.int")
def unflatten(g: Builder, self: Tensor, dim: int, sizes: list[Size]) -> Tensor:
    """unflatten.int(Tensor(a) self, int dim, SymInt[] sizes) -> Tensor(a)"""
    dim = wrap(dim, self.rank)
    inner = known_sizes(self.shape[dim], sizes)
    return g.reshape(self, [*self.shape[:dim], *inner, *self.shape[dim + 1 :]])


@lowering(
    "aten::contiguous", "aten::detach", "aten::detach_copy", "aten::alias", "aten::alias_copy", "aten::clone",
    "aten::lift", "aten::lift_fresh", "aten::lift_fresh_copy", "aten::resolve_conj", "aten::resolve_neg",
    "aten::pin_memory", "aten::requires_grad", "aten::cpu", "prims::device_put",
)  # fmt: skip
def same(g: Builder, self: Tensor, *_: object) -> Tensor:
    """contiguous(Tensor(a) self, *, MemoryFormat memory_format=contiguous_format) -> Tensor(a)"""
    return self


# -- axes of size 1 -------------------------------------------------------------------------------


def _squeezed(g: Builder, x: Tensor, axes: Iterable[int]) -> Tensor:
    ones = {axis: sizes.known_eq(x.shape[axis], 1) for axis in axes}
    dropped = [axis for axis, is_one in ones.items() if is_one]
    result = g.squeeze(x, dropped)
    unsure = [axis - sum(d < axis for d in dropped) for axis, is_one in ones.items() if is_one is None]
    return squeezed(g, result, unsure) if unsure else result


@lowering("aten::squeeze", "aten::squeeze_copy")
def squeeze(g: Builder, self: Tensor) -> Tensor:
    """squeeze(Tensor(a) self) -> Tensor(a)"""
    return _squeezed(g, self, range(self.rank))


@lowering("aten::squeeze.dim", "aten::squeeze_copy.dim")
def squeeze_dim(g: Builder, self: Tensor, dim: Size) -> Tensor:
    """squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)"""
    if isinstance(dim, Dim):
        return squeezed(g, self, range(self.rank), dim) if self.rank else self
    return squeeze_dims(g, self, [dim])


@lowering("aten::squeeze.dims", "aten::squeeze_copy.dims")
def squeeze_dims(g: Builder, self: Tensor, dim: list[int]) -> Tensor:
    """squeeze.dims(Tensor(a) self, int[] dim) -> Tensor(a)"""
    if self.rank == 0:
        return self
    return _squeezed(g, self, wrap_all(dim, self.rank))


@lowering("aten::unsqueeze", "aten::unsqueeze_copy")
def unsqueeze(g: Builder, self: Tensor, dim: Size) -> Tensor:
    """unsqueeze(Tensor(a) self, int dim) -> Tensor(a)"""
    if isinstance(dim, Dim):
        g.require(13, "unsqueeze at an axis known only at run time")
        return g.op("Unsqueeze", self, [dim])
    return g.unsqueeze(self, [wrap(dim, self.rank + 1)])


def at_least(g: Builder, x: Tensor, rank: int) -> Tensor:
    """`x` with axes of size 1 as numpy adds them: in front, but the third one behind."""
    while x.rank < rank:
        x = g.unsqueeze(x, [x.rank if x.rank == 2 else 0])
    return x


@lowering("aten::atleast_1d", "aten::atleast_1d.Sequence")
def atleast_1d(g: Builder, self: Tensor | list[Tensor]) -> Tensor | list[Tensor]:
    """atleast_1d(Tensor self) -> Tensor"""
    return [at_least(g, x, 1) for x in self] if isinstance(self, list) else at_least(g, self, 1)


@lowering("aten::atleast_2d", "aten::atleast_2d.Sequence")
def atleast_2d(g: Builder, self: Tensor | list[Tensor]) -> Tensor | list[Tensor]:
    """atleast_2d(Tensor self) -> Tensor"""
    return [at_least(g, x, 2) for x in self] if isinstance(self, list) else at_least(g, self, 2)


@lowering("aten::atleast_3d", "aten::atleast_3d.Sequence")
def atleast_3d(g: Builder, self: Tensor | list[Tensor]) -> Tensor | list[Tensor]:
    """atleast_3d(Tensor self) -> Tensor"""
    return [at_least(g, x, 3) for x in self] if isinstance(self, list) else at_least(g, self, 3)


# -- order of axes --------------------------------------------------------------------------------


@lowering("aten::transpose", "aten::transpose_copy.int", "aten::swapaxes", "aten::swapdims")
def transpose(g: Builder, self: Tensor, dim0: int, dim1: int) -> Tensor:
    """transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)"""
    return g.swap(self, *wrap_all([dim0, dim1], self.rank)) if self.rank else self


@lowering("aten::t", "aten::t_copy", "aten::mT", "aten::mH", "aten::adjoint")
def t(g: Builder, self: Tensor) -> Tensor:
    """t(Tensor(a) self) -> Tensor(a)"""
    return g.swap(self, self.rank - 2, self.rank - 1) if self.rank >= 2 else self


@lowering("aten::numpy_T", "aten::matrix_H")
def numpy_t(g: Builder, self: Tensor) -> Tensor:
    """numpy_T(Tensor(a) self) -> Tensor(a)"""
    return g.transpose(self, list(range(self.rank))[::-1])


@lowering("aten::permute", "aten::permute_copy")
def permute(g: Builder, self: Tensor, dims: list[int]) -> Tensor:
    """permute(Tensor(a) self, int[] dims) -> Tensor(a)"""
    return g.transpose(self, wrap_all(dims, self.rank))


@lowering("aten::movedim.intlist", "aten::moveaxis.intlist")
def movedim(g: Builder, self: Tensor, source: list[int], destination: list[int]) -> Tensor:
    """movedim.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)"""
    if self.rank == 0:
        return self
    placed = dict(zip(wrap_all(destination, self.rank), wrap_all(source, self.rank)))
    rest = iter([d for d in range(self.rank) if d not in placed.values()])
    return g.transpose(self, [placed[i] if i in placed else next(rest) for i in range(self.rank)])


@lowering("aten::movedim.int", "aten::moveaxis.int")
def movedim_int(g: Builder, self: Tensor, source: int, destination: int) -> Tensor:
    """movedim.int(Tensor(a) self, int source, int destination) -> Tensor(a)"""
    return movedim(g, self, [source], [destination])


# -- broadcasting ---------------------------------------------------------------------------------


@lowering("aten::expand", "aten::expand_copy", "aten::broadcast_to")
def expand(g: Builder, self: Tensor, size: list[Size], implicit: bool = False) -> Tensor:
    """expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)"""
    offset = len(size) - self.rank
    return g.expand(self, [_or_own(g, d, self.shape[i - offset]) if i >= offset else d for i, d in enumerate(size)])


def _or_own(g: Builder, size: Size, own: Size) -> Size:
    """The size to expand to, or the tensor's own where that is -1."""
    if isinstance(size, int):
        return own if size == -1 else size
    if sizes.known_ge(size, 0) or size == own:
        return size
    wanted = g.size(size)
    return g.int_of(g.where(g.equal(wanted, -1), g.size(own), wanted), "size")


@lowering("aten::expand_as")
def expand_as(g: Builder, self: Tensor, other: Tensor) -> Tensor:
    """expand_as(Tensor(a) self, Tensor other) -> Tensor(a)"""
    return g.expand(self, other.shape)


def broadcast_shape(*shapes: Sequence[Size]) -> list[Size]:
    """The sizes that these broadcast to."""
    rank = max((len(s) for s in shapes), default=0)
    filled: list[list[Size]] = [[*[1] * (rank - len(s)), *s] for s in shapes]
    return [sizes.broadcast(*axis) for axis in zip(*filled)]


@lowering("aten::broadcast_tensors")
def broadcast_tensors(g: Builder, tensors: list[Tensor]) -> list[Tensor]:
    """broadcast_tensors(Tensor[] tensors) -> Tensor[]"""
    target = broadcast_shape(*[x.shape for x in tensors])
    return [g.expand(x, target) for x in tensors]


# -- channels and pixels --------------------------------------------------------------------------


@lowering("aten::pixel_shuffle")
def pixel_shuffle(g: Builder, self: Tensor, upscale_factor: int) -> Tensor:
    """pixel_shuffle(Tensor self, int upscale_factor) -> Tensor"""
    r = upscale_factor
    *batch, c, h, w = self.shape
    inner = known_sizes(c, [-1, r, r])[0]
    if self.rank == 4 and g.opset >= 11 and self.dtype == torch.float32:
        result = g.op("DepthToSpace", self, blocksize=r, mode="CRD")
        result.dims = (*batch, inner, h * r, w * r)
        return result
    n = len(batch)
    split = g.reshape(self, [*batch, inner, r, r, h, w])
    order = g.transpose(split, [*range(n), n, n + 3, n + 1, n + 4, n + 2])
    return g.reshape(order, [*batch, inner, h * r, w * r])


@lowering("aten::pixel_unshuffle")
def pixel_unshuffle(g: Builder, self: Tensor, downscale_factor: int) -> Tensor:
    """pixel_unshuffle(Tensor self, int downscale_factor) -> Tensor"""
    r = downscale_factor
    *batch, c, h, w = self.shape
    n = len(batch)
    small_h, small_w = known_sizes(h, [-1, r])[0], known_sizes(w, [-1, r])[0]
    split = g.reshape(self, [*batch, c, small_h, r, small_w, r])
    order = g.transpose(split, [*range(n), n, n + 2, n + 4, n + 1, n + 3])
    return g.reshape(order, [*batch, c * r * r, small_h, small_w])


@lowering("aten::channel_shuffle", "aten::native_channel_shuffle")
def channel_shuffle(g: Builder, self: Tensor, groups: int) -> Tensor:
    """channel_shuffle(Tensor self, SymInt groups) -> Tensor"""
    n, c, *rest = self.shape
    split = g.reshape(self, [n, groups, known_sizes(c, [groups, -1])[1], *rest])
    return g.reshape_as(g.swap(split, 1, 2), self)


# -- questions about a tensor ---------------------------------------------------------------------


@lowering("aten::size.int", "aten::sym_size.int")
def size_int(g: Builder, self: Tensor, dim: int) -> Size:
    """size.int(Tensor self, int dim) -> int"""
    return self.shape[dim]


@lowering("aten::size", "aten::sym_size")
def size(g: Builder, self: Tensor) -> list[Size]:
    """size(Tensor self) -> int[]"""
    return list(self.shape)


@lowering("aten::_shape_as_tensor")
def shape_as_tensor(g: Builder, self: Tensor) -> Tensor:
    """_shape_as_tensor(Tensor self) -> Tensor"""
    return g.ints(self.shape)


@lowering("aten::_reshape_from_tensor")
def reshape_from_tensor(g: Builder, self: Tensor, shape: Tensor) -> Tensor:
    """_reshape_from_tensor(Tensor self, Tensor shape) -> Tensor"""
    (rank,) = shape.shape
    if not isinstance(rank, int):
        raise LoweringError("the number of sizes of a reshape is known only at run time; give a tensor of fixed length")
    return g.reshape(self, known_sizes(self.numel, [g.int_of(g.gather(shape, i, 0)) for i in range(rank)]))


@lowering("aten::numel", "aten::sym_numel", "prim::numel")
def numel(g: Builder, self: Tensor) -> Size:
    """numel(Tensor self) -> int"""
    return self.numel


@lowering("aten::dim", "aten::ndimension", "prim::ndim")
def dim(g: Builder, self: Tensor) -> int:
    """dim(Tensor self) -> int"""
    return self.rank


@lowering("aten::len.Tensor")
def len_(g: Builder, t: Tensor) -> Size:
    """len.Tensor(Tensor t) -> int"""
    if t.rank == 0:
        raise LoweringError("len() of a 0-d tensor; index only tensors with axes")
    return t.shape[0]


@lowering("aten::stride", "aten::sym_stride")
def stride(g: Builder, self: Tensor) -> list[Size]:
    """stride(Tensor self) -> int[]: those of a tensor that lies in order, as all do in ONNX"""
    return [sizes.product([sizes.maximum(d, 1) for d in self.shape[i + 1 :]]) for i in range(self.rank)]


@lowering("aten::stride.int", "aten::sym_stride.int")
def stride_int(g: Builder, self: Tensor, dim: int) -> Size:
    """stride.int(Tensor self, int dim) -> int"""
    return stride(g, self)[dim]


@lowering("aten::storage_offset", "aten::sym_storage_offset")
def storage_offset(g: Builder, self: Tensor) -> int:
    """storage_offset(Tensor self) -> int: tensors of ONNX share no memory"""
    return 0


@lowering("aten::is_contiguous", "aten::is_contiguous.memory_format", "aten::is_non_overlapping_and_dense")
def is_contiguous(g: Builder, self: Tensor, memory_format: object = None) -> bool:
    """is_contiguous(Tensor self) -> bool: all tensors of ONNX lie in order"""
    return True


@lowering("aten::is_same_size")
def is_same_size(g: Builder, self: Tensor, other: Tensor) -> bool:
    """is_same_size(Tensor self, Tensor other) -> bool"""
    if self.rank != other.rank:
        return False
    answers = [sizes.known_eq(a, b) for a, b in zip(self.shape, other.shape)]
    if False in answers:
        return False
    if None in answers:
        raise LoweringError("whether two tensors have the same sizes is known only at run time; compare the sizes")
    return True


__all__ = ["at_least", "broadcast_shape", "known_sizes"]


@lowering("aten::broadcast_shapes", "aten::_infer_size")
def broadcast_shapes_of_lists(g: Builder, a: list[Size], b: list[Size]) -> list[Size]:
    """broadcast_shapes(int[] a, int[] b) -> int[]"""
    return list(sizes.broadcast_shapes(tuple(a), tuple(b)))
