"""Types of ops that pick, search and reduce: Gather and kin, TopK, NonZero, Unique, ReduceSum and more."""

from __future__ import annotations

import torch

from ...dims import Size
from .call import Call, Dims, Type, as_int, rule

# -- gather -----------------------------------------------------------------------------------------


@rule("Gather")
def gather(call: Call) -> list[Type]:
    x, indices = call[0], call[1]
    if x.dims is None or indices.dims is None:
        return [(x.dtype, None)]
    axis = call.axis(call.attr("axis", 0), len(x.dims))
    return [(x.dtype, (*x.dims[:axis], *indices.dims, *x.dims[axis + 1 :]))]


@rule("GatherElements")
def gather_elements(call: Call) -> list[Type]:
    return [(call[0].dtype, call[1].dims)]


@rule("GatherND")
def gather_nd(call: Call) -> list[Type]:
    x, indices = call[0], call[1]
    depth = None if not indices.dims else as_int(indices.dims[-1])
    if x.dims is None or indices.dims is None or depth is None:
        return [(x.dtype, None)]
    return [(x.dtype, (*indices.dims[:-1], *x.dims[call.attr("batch_dims", 0) + depth :]))]


@rule("OneHot")
def one_hot(call: Call) -> list[Type]:
    indices, depth, dtype = call[0].dims, call.sizes(1), call[2].dtype
    if indices is None:
        return [(dtype, None)]
    axis = call.axis(call.attr("axis", -1), len(indices) + 1)
    return [(dtype, (*indices[:axis], call.unknown() if depth is None else depth[0], *indices[axis:]))]


@rule("Compress")
def compress(call: Call) -> list[Type]:
    x, axis = call[0], call.attr("axis")
    if axis is None:
        return [(x.dtype, (call.unknown(),))]
    return [(x.dtype, _replaced(call, x.dims, axis, call.unknown()))]


def _replaced(call: Call, dims: Dims, axis: int, size: Size) -> Dims:
    if dims is None:
        return None
    axis = call.axis(axis, len(dims))
    return (*dims[:axis], size, *dims[axis + 1 :])


# -- search -----------------------------------------------------------------------------------------


@rule("TopK")
def top_k(call: Call) -> list[Type]:
    x, k = call[0], call.sizes_or_attr(1, "k") if "k" not in call.attributes else [call.attributes["k"]]
    dims = _replaced(call, x.dims, call.attr("axis", -1), call.unknown() if k is None else k[0])
    return [(x.dtype, dims), (torch.int64, dims)]


@rule("NonZero")
def non_zero(call: Call) -> list[Type]:
    # Of a scalar the specification makes (0, n), onnxruntime (1, n).
    rank: Size = len(call[0].dims or ()) or call.unknown()
    return [(torch.int64, (rank, call.unknown()))]


@rule("Unique")
def unique(call: Call) -> list[Type]:
    x, axis, found = call[0], call.attr("axis"), call.unknown()
    if axis is None:
        dims: Dims = (found,)
        count: Size = call.unknown() if x.dims is None else x.numel
    else:
        dims = _replaced(call, x.dims, axis, found)
        count = call.unknown() if x.dims is None else x.dims[call.axis(axis, len(x.dims))]
    return [(x.dtype, dims), *((torch.int64, (size,)) for size in (found, count, found))]


@rule("NonMaxSuppression")
def non_max_suppression(call: Call) -> list[Type]:
    return [(torch.int64, (call.unknown(), 3))]


# -- reductions -------------------------------------------------------------------------------------


@rule(
    "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin",
    "ReduceProd", "ReduceSum", "ReduceSumSquare",
)  # fmt: skip
def reduction(call: Call) -> list[Type]:
    x, keep = call[0], call.attr("keepdims", 1)
    axes = call.sizes_or_attr(1, "axes")
    if x.dims is None:
        return [(x.dtype, () if not keep and axes is None and call.optional(1) is None else None)]
    rank = len(x.dims)
    if axes is None and call.optional(1) is not None:
        count = call.length(1)
        if keep:
            return [(x.dtype, tuple([1 if size == 1 else call.unknown() for size in x.dims]))]
        return [(x.dtype, None if not count else call.unknowns(rank - count))]
    if not axes and call.attr("noop_with_empty_axes", 0):
        return [(x.dtype, x.dims)]
    gone = set(call.axes(axes, rank)) if axes else set(range(rank))
    return [(x.dtype, _reduced(x.dims, gone, keep))]


@rule("ArgMax", "ArgMin")
def arg_extremum(call: Call) -> list[Type]:
    dims = call[0].dims
    if dims is None:
        return [(torch.int64, None)]
    axis = call.axis(call.attr("axis", 0), len(dims))
    return [(torch.int64, _reduced(dims, {axis}, call.attr("keepdims", 1)))]


def _reduced(dims: tuple[Size, ...], gone: set[int], keep: int) -> Dims:
    if keep:
        return tuple([1 if i in gone else size for i, size in enumerate(dims)])
    return tuple([size for i, size in enumerate(dims) if i not in gone])
