"""Element types, and what writes one tensor or number over another."""

from __future__ import annotations

import copy as copying
from typing import Any

import torch

from ..dims import Size
from ..dtypes import from_scalar_type, to_scalar_type
from ..lower.builder import Builder
from ..lower.promotion import result_type
from ..lower.registry import lowering
from ..lower.values import Tensor


def converted(g: Builder, self: Tensor, dtype: torch.dtype | None, copy: bool = False) -> Tensor:
    """The tensor in this dtype; itself where it has it, unless a copy was asked for."""
    if dtype is None or dtype == self.dtype:
        return copying.copy(self) if copy else self
    return g.cast(self, dtype)


def _number(dtype: int | None) -> torch.dtype | None:
    return None if dtype is None else from_scalar_type(dtype)


@lowering("aten::to.dtype")
def to_dtype(
    g: Builder, self: Tensor, dtype: int, non_blocking: bool = False, copy: bool = False, memory_format: Any = None
) -> Tensor:
    """to.dtype(Tensor(a) self, ScalarType dtype, bool non_blocking=False, bool copy=False, ...) -> Tensor(a)"""
    return converted(g, self, _number(dtype), copy)


@lowering("aten::to.device")
def to_device(
    g: Builder,
    self: Tensor,
    device: Any,
    dtype: int,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """to.device(Tensor(a) self, Device device, ScalarType dtype, bool non_blocking=False, ...) -> Tensor(a)"""
    return converted(g, self, _number(dtype), copy)


@lowering("aten::to.dtype_layout")
def to_dtype_layout(
    g: Builder,
    self: Tensor,
    dtype: int | None = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = None,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """to.dtype_layout(Tensor(a) self, *, ScalarType? dtype=None, ..., bool copy=False, ...) -> Tensor(a)"""
    return converted(g, self, _number(dtype), copy)


@lowering("aten::to.other")
def to_other(
    g: Builder,
    self: Tensor,
    other: Tensor,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """to.other(Tensor(a) self, Tensor other, bool non_blocking=False, bool copy=False, ...) -> Tensor(a)"""
    return converted(g, self, other.dtype, copy)


@lowering("aten::to.prim_Device")
def to_prim_device(
    g: Builder, self: Tensor, device: Any, dtype: int | None = None, non_blocking: bool = False, copy: bool = False
) -> Tensor:
    """to.prim_Device(Tensor(a) self, Device? device, int? dtype=None, bool non_blocking=False, ...) -> Tensor(b|a)"""
    return converted(g, self, _number(dtype), copy)


@lowering("aten::to.prim_dtype")
def to_prim_dtype(
    g: Builder, self: Tensor, dtype: int | None = None, non_blocking: bool = False, copy: bool = False
) -> Tensor:
    """to.prim_dtype(Tensor(a) self, int? dtype=None, bool non_blocking=False, bool copy=False) -> Tensor(b|a)"""
    return converted(g, self, _number(dtype), copy)


@lowering("aten::to.prim_other")
def to_prim_other(g: Builder, self: Tensor, non_blocking: bool = False, copy: bool = False) -> Tensor:
    """to.prim_other(Tensor(a) self, bool non_blocking=False, bool copy=False) -> Tensor(b|a)"""
    return converted(g, self, None, copy)


@lowering("aten::_to_copy")
def to_copy(g: Builder, self: Tensor, dtype: int | None = None, *_: Any) -> Tensor:
    """_to_copy(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, ...) -> Tensor"""
    return converted(g, self, _number(dtype), copy=True)


@lowering("aten::type_as")
def type_as(g: Builder, self: Tensor, other: Tensor) -> Tensor:
    """type_as(Tensor self, Tensor other) -> Tensor"""
    return g.cast(self, other.dtype)


@lowering("prims::convert_element_type")
def convert_element_type(g: Builder, a: Tensor, dtype: int) -> Tensor:
    """convert_element_type(Tensor a, ScalarType dtype) -> Tensor"""
    return g.cast(a, from_scalar_type(dtype))


def _register_shorthands() -> None:
    """`aten::_cast_Float` and the like, one for each name."""
    names = {
        "Byte": torch.uint8, "Char": torch.int8, "Double": torch.float64, "Float": torch.float32, "Int": torch.int32,
        "Long": torch.int64, "Short": torch.int16, "Half": torch.float16,
    }  # fmt: skip
    for name, dtype in names.items():

        @lowering(f"aten::_cast_{name}")
        def shorthand(g: Builder, self: Tensor, non_blocking: bool = False, dtype: torch.dtype = dtype) -> Tensor:
            """_cast_Float(Tensor self, bool non_blocking=False) -> Tensor"""
            return g.cast(self, dtype)


_register_shorthands()


# -- writing over -------------------------------------------------------------------------------


@lowering("aten::copy")
def copy(g: Builder, self: Tensor, src: Tensor, non_blocking: bool = False) -> Tensor:
    """copy(Tensor self, Tensor src, bool non_blocking=False) -> Tensor"""
    return g.expand(g.cast(src, self.dtype), self.shape)


@lowering("aten::fill")
def fill(g: Builder, self: Tensor, value: Any) -> Tensor:
    """fill.Scalar(Tensor self, Scalar value) -> Tensor"""
    return g.full(self.shape, value, self.dtype)


@lowering("aten::zero")
def zero(g: Builder, self: Tensor) -> Tensor:
    """zero(Tensor self) -> Tensor"""
    return g.full(self.shape, 0, self.dtype)


# -- questions ----------------------------------------------------------------------------------


@lowering("prim::dtype")
def dtype_of(g: Builder, a: Tensor) -> int:
    """prim::dtype(Tensor a) -> int"""
    return to_scalar_type(a.dtype)


@lowering("prim::device")
def device_of(g: Builder, a: Tensor) -> torch.device:
    """prim::device(Tensor a) -> Device: the model's device is the runtime's business"""
    return torch.device("cpu")


@lowering("prim::type")
def type_of(g: Builder, self: torch.device) -> str:
    """prim::type(Device self) -> str"""
    return self.type


@lowering("prim::index")
def index_of(g: Builder, self: torch.device) -> int | None:
    """prim::index(Device self) -> int?"""
    return self.index


@lowering("prim::layout")
def layout_of(g: Builder, a: Tensor) -> int:
    """prim::layout(Tensor a) -> Layout: 0 is strided"""
    return 0


@lowering("aten::is_floating_point")
def is_floating_point(g: Builder, self: Tensor) -> bool:
    """is_floating_point(Tensor self) -> bool"""
    return self.is_float


@lowering("aten::is_complex", "prim::is_complex")
def is_complex(g: Builder, self: Tensor) -> bool:
    """is_complex(Tensor self) -> bool"""
    return self.is_complex


@lowering("aten::is_signed")
def is_signed(g: Builder, self: Tensor) -> bool:
    """is_signed(Tensor self) -> bool"""
    return self.is_inexact or self.dtype in (torch.int8, torch.int16, torch.int32, torch.int64)


@lowering(
    "prim::is_cuda", "prim::is_sparse", "prim::is_sparse_csr", "prim::is_mkldnn", "prim::is_quantized", "prim::is_mps",
    "prim::is_vulkan", "prim::is_xpu", "prim::is_ipu", "prim::is_xla", "prim::is_ort", "prim::is_maia", "prim::is_mtia",
    "prim::is_nested", "prim::is_meta", "prim::requires_grad", "aten::is_conj", "aten::is_neg", "aten::is_inference",
)  # fmt: skip
def is_nothing_special(g: Builder, a: Tensor) -> bool:
    """prim::is_sparse(Tensor a) -> bool: tensors of ONNX are plain ones"""
    return False


@lowering("prim::is_cpu", "prim::is_leaf")
def is_plain(g: Builder, a: Tensor) -> bool:
    """prim::is_cpu(Tensor a) -> bool"""
    return True


@lowering("aten::element_size", "prim::itemsize")
def element_size(g: Builder, self: Tensor) -> int:
    """element_size(Tensor self) -> int"""
    return self.dtype.itemsize


@lowering("prim::nbytes")
def nbytes(g: Builder, a: Tensor) -> Size:
    """prim::nbytes(Tensor a) -> int"""
    return a.numel * a.dtype.itemsize


@lowering("aten::can_cast")
def can_cast(g: Builder, from_: int, to: int) -> bool:
    """can_cast(ScalarType from_, ScalarType to) -> bool"""
    return torch.can_cast(from_scalar_type(from_), from_scalar_type(to))


@lowering("aten::promote_types")
def promote_types(g: Builder, type1: int, type2: int) -> int:
    """promote_types(ScalarType type1, ScalarType type2) -> ScalarType"""
    return to_scalar_type(torch.promote_types(from_scalar_type(type1), from_scalar_type(type2)))


__all__ = ["converted"]


@lowering("aten::result_type")
def result_type_of(g: Builder, tensor: Any, other: Any) -> int:
    """result_type.Tensor(Tensor tensor, Tensor other) -> ScalarType"""
    return to_scalar_type(result_type(tensor, other))
