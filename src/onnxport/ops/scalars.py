"""Numbers: tensors from Python numbers, and Python numbers from tensors.

A number known at export is a Python number, an int known only at run time a `Dim`; both are computed in
Python. Only floats and bools known only at run time become nodes, in float64, as Python's floats are.
"""

from __future__ import annotations

from typing import Any

import torch

from ..dims import Dim, Size
from ..errors import LoweringError
from ..lower.builder import Builder
from ..lower.promotion import number_dtype
from ..lower.registry import lowering
from ..lower.values import Number, Scalar, Tensor


@lowering("prim::NumToTensor")
def num_to_tensor(g: Builder, a: Number) -> Tensor:
    """NumToTensor.Scalar(Scalar a) -> Tensor"""
    return as_tensor(g, a)


def as_tensor(g: Builder, value: Number) -> Tensor:
    """A number as a 0-d tensor of bool, int64 or float64 (or complex)."""
    if isinstance(value, Scalar):
        return g.cast(value.tensor, torch.bool if value.kind is bool else torch.float64)
    if isinstance(value, Dim):
        return g.size(value)
    return g.const(value, torch.float64 if isinstance(value, float) else number_dtype(value))


def number_of(g: Builder, tensor: Tensor, hint: str = "int") -> Number:
    """The content of a one-element tensor: a Python number if known, else a `Dim` or `Scalar`."""
    if tensor.is_complex:
        raise LoweringError("a complex number known only at run time; compute with the 0-d tensor instead")
    if not tensor.is_float and tensor.dtype != torch.bool:
        return g.int_of(tensor, hint)
    kind = float if tensor.is_float else bool
    if tensor.is_constant and tensor.data is not None and (g.fold_weights or not tensor.from_weight):
        return kind(tensor.data.reshape(-1)[0])
    return Scalar(tensor if tensor.rank == 0 else g.reshape(tensor, []), kind)


@lowering("aten::item", "aten::_local_scalar_dense", "aten::ScalarImplicit")
def item(g: Builder, self: Any) -> Number:
    """item(Tensor self) -> Scalar"""
    return number_of(g, self) if isinstance(self, Tensor) else self


@lowering("aten::Int", "aten::IntImplicit", "aten::sym_int")
def int_(g: Builder, a: Any) -> Size:
    """Int.Tensor(Tensor a) -> int"""
    if isinstance(a, Scalar):
        a = a.tensor
    if isinstance(a, Tensor):
        return g.int_of(g.cast(a, torch.int64))
    return a if isinstance(a, Dim) else int(a)


@lowering("aten::Float", "aten::FloatImplicit", "aten::sym_float")
def float_(g: Builder, a: Any) -> Number:
    """Float.Tensor(Tensor a) -> float"""
    if isinstance(a, (Dim, Scalar)):
        a = as_tensor(g, a)
    return number_of(g, g.cast(a, torch.float64)) if isinstance(a, Tensor) else float(a)


__all__ = ["as_tensor", "number_of"]


@lowering("aten::is_nonzero")
def is_nonzero(g: Builder, self: Tensor) -> Any:
    """is_nonzero(Tensor self) -> bool"""
    return number_of(g, g.cast(self, torch.bool))
