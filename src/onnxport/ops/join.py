"""Tensors put together, and taken to pieces."""

from __future__ import annotations

from typing import Any

import torch

from .. import dims as sizes
from ..dims import Size
from ..errors import LoweringError
from ..lower import listing
from ..lower.builder import Builder
from ..lower.promotion import result_type
from ..lower.registry import lowering, sequence_lowering
from ..lower.values import Sequence as ListValue
from ..lower.values import Tensor
from .axes import wrap
from .shape import at_least
from .slicing import select, slice_

# -- together -------------------------------------------------------------------------------------


@lowering("aten::cat", "aten::concat", "aten::concatenate", "aten::_cat")
def cat(g: Builder, tensors: list[Tensor], dim: int = 0) -> Tensor:
    """cat(Tensor[] tensors, int dim=0) -> Tensor

    Empty 1-d tensors may stand among those of another rank, and add nothing.
    """
    if not tensors:
        raise LoweringError("cat of an empty list; give it at least one tensor")
    dtype = result_type(*tensors)
    parts = [x for x in tensors if x.dims != (0,)] or tensors[:1]
    return g.concat([g.cast(x, dtype) for x in parts], wrap(dim, parts[0].rank))


@lowering("aten::stack", "aten::_stack")
def stack(g: Builder, tensors: list[Tensor], dim: int = 0) -> Tensor:
    """stack(Tensor[] tensors, int dim=0) -> Tensor"""
    axis = wrap(dim, tensors[0].rank + 1)
    return cat(g, [g.unsqueeze(x, [axis]) for x in tensors], axis)


@lowering("aten::hstack")
def hstack(g: Builder, tensors: list[Tensor]) -> Tensor:
    """hstack(Tensor[] tensors) -> Tensor"""
    parts = [at_least(g, x, 1) for x in tensors]
    return cat(g, parts, 0 if parts[0].rank == 1 else 1)


@lowering("aten::vstack", "aten::row_stack")
def vstack(g: Builder, tensors: list[Tensor]) -> Tensor:
    """vstack(Tensor[] tensors) -> Tensor"""
    return cat(g, [at_least(g, x, 2) for x in tensors], 0)


@lowering("aten::dstack")
def dstack(g: Builder, tensors: list[Tensor]) -> Tensor:
    """dstack(Tensor[] tensors) -> Tensor"""
    return cat(g, [at_least(g, x, 3) for x in tensors], 2)


@lowering("aten::column_stack")
def column_stack(g: Builder, tensors: list[Tensor]) -> Tensor:
    """column_stack(Tensor[] tensors) -> Tensor"""
    return cat(g, [g.reshape(x, [x.numel, 1]) if x.rank <= 1 else x for x in tensors], 1)


@lowering("aten::block_diag")
def block_diag(g: Builder, tensors: list[Tensor]) -> Tensor:
    """block_diag(Tensor[] tensors) -> Tensor"""
    dtype = result_type(*tensors)
    blocks = [g.cast(at_least(g, x, 2), dtype) for x in tensors]
    width: Size = 0
    for block in blocks:
        width = width + block.shape[1]
    rows, left = [], 0  # type: list[Tensor], Size
    for block in blocks:
        right = width - left - block.shape[1]
        sides = [(g.full([block.shape[0], n], 0, dtype)) for n in (left, right)]
        parts = [sides[0], block, sides[1]]
        rows.append(g.concat([p for p in parts if p is block or p.shape[1] != 0], 1))
        left = left + block.shape[1]
    return g.concat(rows, 0)


# -- to pieces ------------------------------------------------------------------------------------


@lowering("aten::split_with_sizes", "aten::split_with_sizes_copy", "aten::split.sizes", "aten::unsafe_split_with_sizes")
def split_with_sizes(g: Builder, self: Tensor, split_sizes: list[Size], dim: int = 0) -> list[Tensor]:
    """split_with_sizes(Tensor(a -> *) self, SymInt[] split_sizes, int dim=0) -> Tensor(a)[]"""
    return g.split(self, split_sizes, wrap(dim, self.rank))


@lowering("aten::split.Tensor", "aten::split_copy.Tensor", "aten::unsafe_split.Tensor", "aten::split")
def split(g: Builder, self: Tensor, split_size: Size | list[Size], dim: int = 0) -> list[Tensor] | ListValue:
    """split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]"""
    if isinstance(split_size, list):
        return split_with_sizes(g, self, split_size, dim)
    axis = wrap(dim, self.rank)
    size = self.shape[axis]
    if size == split_size or size == 0:
        return [self]
    count = -(-size // split_size)
    if not isinstance(count, int):
        exact = sizes.exact_div(size, split_size)
        count = exact if isinstance(exact, int) else count
    if not isinstance(count, int):
        return listing.pieces(g, self, split_size, axis)
    return g.split(self, _pieces(size, split_size, count), axis)


def _pieces(size: Size, each: Size, count: int) -> list[Size]:
    """Lengths of `count` pieces: equal ones and a rest."""
    return [each] * (count - 1) + [size - each * (count - 1)]


@lowering("aten::chunk", "aten::unsafe_chunk")
def chunk(g: Builder, self: Tensor, chunks: Size, dim: int = 0) -> list[Tensor] | ListValue:
    """chunk(Tensor(a -> *) self, int chunks, int dim=0) -> Tensor(a)[]"""
    axis = wrap(dim, self.rank)
    size = self.shape[axis]
    if isinstance(chunks, int) and (isinstance(size, int) or sizes.exact_div(size, chunks) is not None):
        return _chunks(g, self, chunks, axis)
    made = listing.pieces(g, self, -(-size // chunks), axis)
    made.named = lambda count: _chunks(g, self, count, axis) if count == chunks else None
    return made


@lowering("prim::ConstantChunk")
def constant_chunk(g: Builder, self: Tensor, chunks: int, dim: int) -> tuple[Tensor, ...]:
    """prim::ConstantChunk[chunks, dim](Tensor self) -> Tensor..."""
    return tuple(_chunks(g, self, chunks, wrap(dim, self.rank)))


def _chunks(g: Builder, x: Tensor, chunks: int, axis: int) -> list[Tensor]:
    """Of a size known only at run time, that many chunks are made; where PyTorch made fewer, the program that names
    each of them would fail."""
    size = x.shape[axis]
    each = -(-size // chunks)
    if isinstance(size, int):
        if size == 0:
            return [x] * chunks
        assert isinstance(each, int)
        chunks = -(-size // each)
    return g.split(x, _pieces(size, each, chunks), axis)


@lowering("aten::_chunk_cat")
def chunk_cat(g: Builder, tensors: list[Tensor], dim: int, num_chunks: int) -> Tensor:
    """_chunk_cat(Tensor[] tensors, int dim, int num_chunks) -> Tensor

    Each tensor is padded to whole chunks, which become rows; the axes behind become one.
    """
    rows = []
    for x in tensors:
        axis = wrap(dim, x.rank)
        each = -(-x.shape[axis] // num_chunks)
        padded = g.pad(x, [0] * (x.rank + axis) + [each * num_chunks - x.shape[axis]] + [0] * (x.rank - 1 - axis))
        rows.append(g.reshape(padded, [*x.shape[:axis], num_chunks, each * sizes.product(x.shape[axis + 1 :])]))
    return cat(g, rows, -1)


@sequence_lowering("aten::split_with_sizes", "aten::split.sizes")
def split_by_list(g: Builder, self: Tensor, split_sizes: ListValue, dim: int = 0) -> ListValue:
    """split_with_sizes(Tensor(a -> *) self, SymInt[] split_sizes, int dim=0) -> Tensor(a)[]"""
    return listing.parts(g, self, listing.as_rows(g, split_sizes), wrap(dim, self.rank))


@lowering("aten::tensor_split.sections")
def tensor_split(g: Builder, self: Tensor, sections: Size, dim: int = 0) -> list[Tensor] | ListValue:
    """tensor_split.sections(Tensor(a -> *) self, SymInt sections, int dim=0) -> Tensor(a)[]"""
    axis = wrap(dim, self.rank)
    size = self.shape[axis]
    each, longer = size // sections, size % sections
    if not isinstance(sections, int):
        is_longer = g.cast(g.less(g.range(0, sections), g.size(longer)), torch.int64)
        return listing.parts(g, self, g.add(is_longer, g.size(each)), axis)
    lengths: list[Size] = []
    for i in range(sections):
        more = sizes.minimum(sizes.maximum(longer - i, 0), 1)
        lengths.append(each + more)
    return g.split(self, lengths, axis)


@lowering("aten::tensor_split.indices")
def tensor_split_indices(g: Builder, self: Tensor, indices: list[Size], dim: int = 0) -> list[Tensor]:
    """tensor_split.indices(Tensor(a -> *) self, SymInt[] indices, int dim=0) -> Tensor(a)[]"""
    starts: list[Any] = [None, *indices]
    ends: list[Any] = [*indices, None]
    return [slice_(g, self, dim, start, end) for start, end in zip(starts, ends)]


@lowering("aten::tensor_split.tensor_indices_or_sections")
def tensor_split_tensor(g: Builder, self: Tensor, indices_or_sections: Tensor, dim: int = 0) -> Any:
    """tensor_split.tensor_indices_or_sections(Tensor(a -> *) self, Tensor indices_or_sections, int dim=0) -> ..."""
    if indices_or_sections.rank == 0:
        return tensor_split(g, self, g.int_of(indices_or_sections), dim)
    count = indices_or_sections.shape[0]
    if not isinstance(count, int):
        raise LoweringError("tensor_split at a number of places known only at run time; give a list")
    places = [g.int_of(g.gather(indices_or_sections, i, 0)) for i in range(count)]
    return tensor_split_indices(g, self, places, dim)


def _split_axis(name: str, axis: int, one_dimensional: int | None = None) -> None:
    @lowering(f"aten::{name}.int")
    def by_sections(g: Builder, self: Tensor, sections: Size) -> list[Tensor] | ListValue:
        """hsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]"""
        return tensor_split(g, self, sections, one_dimensional if self.rank == 1 and one_dimensional == 0 else axis)

    @lowering(f"aten::{name}.array")
    def by_indices(g: Builder, self: Tensor, indices: list[int]) -> list[Tensor]:
        """hsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]"""
        on = 0 if self.rank == 1 and one_dimensional == 0 else axis
        return tensor_split_indices(g, self, list(indices), on)


_split_axis("hsplit", 1, one_dimensional=0)
_split_axis("vsplit", 0)
_split_axis("dsplit", 2)


@lowering("aten::unbind.int", "aten::unbind_copy.int")
def unbind(g: Builder, self: Tensor, dim: int = 0) -> list[Tensor] | ListValue:
    """unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]"""
    axis = wrap(dim, self.rank)
    count = self.shape[axis]
    if not isinstance(count, int):
        rows = g.transpose(self, [axis, *(i for i in range(self.rank) if i != axis)])
        return ListValue(Tensor, self.dtype, rows.shape[1:], rows=rows)
    return [select(g, self, axis, i) for i in range(count)]


__all__ = ["cat", "split", "stack"]
