"""Elementwise arithmetic with PyTorch's type promotion."""

from __future__ import annotations

from typing import Any

from ..lower.builder import Builder
from ..lower.promotion import result_type
from ..lower.registry import lowering
from ..lower.values import Tensor


def promoted(g: Builder, *operands: Any) -> tuple[Tensor, ...]:
    """The operands as tensors of their common dtype."""
    dtype = result_type(*operands)
    return tuple([g.scalar(x, dtype) for x in operands])


@lowering("aten::add")
def add(g: Builder, self: Any, other: Any, alpha: Any = 1) -> Tensor:
    """add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"""
    a, b = promoted(g, self, other)
    if alpha != 1:
        b = g.mul(b, alpha)
    return g.op("Or", a, b) if str(a.dtype) == "torch.bool" else g.add(a, b)


@lowering("aten::relu")
def relu(g: Builder, self: Tensor) -> Tensor:
    """relu(Tensor self) -> Tensor"""
    return g.op("Relu", self)
