"""Numbers: sizes and Python numbers as tensors, and back."""

from __future__ import annotations

from typing import Any

import torch

from ..dims import Dim
from ..lower.builder import Builder
from ..lower.promotion import number_dtype
from ..lower.registry import lowering
from ..lower.values import Scalar, Tensor


@lowering("prim::NumToTensor", "aten::scalar_tensor_of")
def num_to_tensor(g: Builder, a: Any) -> Tensor:
    """NumToTensor.Scalar(Scalar a) -> Tensor"""
    if isinstance(a, Scalar):
        return a.tensor
    if isinstance(a, Dim):
        return g.size(a)
    return g.const(a, torch.float64 if isinstance(a, float) else number_dtype(a))


@lowering("aten::size.int")
def size_int(g: Builder, self: Tensor, dim: int) -> Any:
    """size.int(Tensor self, int dim) -> int"""
    return self.shape[dim]


@lowering("aten::size")
def size(g: Builder, self: Tensor) -> Any:
    """size(Tensor self) -> int[]"""
    return list(self.shape)


@lowering("aten::Int", "aten::IntImplicit")
def int_(g: Builder, a: Any) -> Any:
    """Int.Tensor(Tensor a) -> int"""
    if isinstance(a, Tensor):
        return g.int_of(a)
    if isinstance(a, Scalar):
        return g.int_of(g.cast(a.tensor, torch.int64))
    return a if isinstance(a, Dim) else int(a)


@lowering("prim::ListConstruct", "prim::TupleConstruct")
def construct(g: Builder, *elements: Any) -> Any:
    """A list or tuple of what is given."""
    return list(elements)
