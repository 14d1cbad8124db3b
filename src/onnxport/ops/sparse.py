"""Sparse tensors, which are dense ones in ONNX."""

from __future__ import annotations

from typing import Any

import torch

from ..dims import Size
from ..dtypes import from_scalar_type
from ..errors import LoweringError
from ..lower.builder import Builder
from ..lower.registry import find, lowering
from ..lower.values import Tensor


@lowering("aten::to_dense", "aten::_to_dense", "aten::to_mkldnn")
def to_dense(g: Builder, self: Tensor, dtype: int | None = None, masked_grad: bool | None = None) -> Tensor:
    """to_dense(Tensor self, ScalarType? dtype=None, *, bool? masked_grad=None) -> Tensor"""
    return self if dtype is None else g.cast(self, from_scalar_type(dtype))


@lowering("aten::to_sparse", "aten::_to_sparse", "aten::coalesce")
def to_sparse(g: Builder, self: Tensor, *layout: Any) -> Tensor:
    """to_sparse(Tensor self, *, Layout? layout=None, int[2]? blocksize=None, int? dense_dim=None) -> Tensor"""
    return self


@lowering("aten::_sparse_mm")
def sparse_mm(g: Builder, sparse: Tensor, dense: Tensor) -> Tensor:
    """_sparse_mm(Tensor sparse, Tensor dense) -> Tensor"""
    return g.matmul(sparse, dense)


@lowering("aten::sparse_coo_tensor.indices_size", "aten::_sparse_coo_tensor_unsafe")
def sparse_coo_tensor(
    g: Builder, indices: Tensor, values: Tensor, size: list[Size], dtype: int | None = None, *layout: Any
) -> Tensor:
    """sparse_coo_tensor.indices_size(Tensor indices, Tensor values, int[] size, *, ScalarType? dtype=None,
    Layout? layout=None, Device? device=None, bool? pin_memory=None, bool? is_coalesced=None) -> Tensor"""
    put, count = find("aten::index_put"), indices.shape[0]
    assert put is not None
    if not isinstance(count, int):
        raise LoweringError("the number of dimensions of a sparse tensor is known only at run time; make it a constant")
    values = to_dense(g, values, dtype)
    rows = [g.gather(indices, g.const(i, torch.int64), 0) for i in range(count)]
    return put(g, g.full(size, 0, values.dtype), rows, values, True)  # type: ignore[no-any-return]
