"""Element types: torch's, ONNX's (`TensorProto.DataType` numbers) and numpy's, and how they correspond."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import torch

# torch dtype -> (TensorProto.DataType, numpy dtype).
# Source: https://onnx.ai/onnx/api/mapping.html and the comments of onnx.proto.
_TABLE: dict[torch.dtype, tuple[int, Any]] = {
    torch.float32: (1, np.float32),
    torch.uint8: (2, np.uint8),
    torch.int8: (3, np.int8),
    torch.uint16: (4, np.uint16),
    torch.int16: (5, np.int16),
    torch.int32: (6, np.int32),
    torch.int64: (7, np.int64),
    torch.bool: (9, np.bool_),
    torch.float16: (10, np.float16),
    torch.float64: (11, np.float64),
    torch.uint32: (12, np.uint32),
    torch.uint64: (13, np.uint64),
    torch.complex64: (14, np.complex64),
    torch.complex128: (15, np.complex128),
    torch.bfloat16: (16, ml_dtypes.bfloat16),
    torch.float8_e4m3fn: (17, ml_dtypes.float8_e4m3fn),
    torch.float8_e4m3fnuz: (18, ml_dtypes.float8_e4m3fnuz),
    torch.float8_e5m2: (19, ml_dtypes.float8_e5m2),
    torch.float8_e5m2fnuz: (20, ml_dtypes.float8_e5m2fnuz),
}
_FROM_ONNX = {onnx: dtype for dtype, (onnx, _) in _TABLE.items()}
_NUMPY = {dtype: np.dtype(numpy) for dtype, (_, numpy) in _TABLE.items()}
_FROM_NUMPY = {numpy: dtype for dtype, numpy in _NUMPY.items()}

# The real type of the trailing pair that stands for a complex tensor.
_REAL = {torch.complex64: torch.float32, torch.complex128: torch.float64, torch.complex32: torch.float16}
_COMPLEX = {real: cplx for cplx, real in _REAL.items()}

# Numbers by which TorchScript writes a dtype as an int (c10/core/ScalarType.h, a stable order).
_SCALAR_TYPES: tuple[torch.dtype, ...] = (
    torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.float32,
    torch.float64, torch.complex32, torch.complex64, torch.complex128, torch.bool, torch.qint8,
    torch.quint8, torch.qint32, torch.bfloat16, torch.quint4x2, torch.quint2x4, torch.bits1x8,
    torch.bits2x4, torch.bits4x2, torch.bits8, torch.bits16, torch.float8_e5m2, torch.float8_e4m3fn,
    torch.float8_e5m2fnuz, torch.float8_e4m3fnuz, torch.uint16, torch.uint32, torch.uint64,
)  # fmt: skip
_SCALAR_NUMBERS = {dtype: number for number, dtype in enumerate(_SCALAR_TYPES)}


class UnknownTypeError(ValueError):
    """There is no such element type in ONNX, or the exporter doesn't know it."""


def to_onnx(dtype: torch.dtype) -> int:
    """The `TensorProto.DataType` number of a torch dtype; ValueError if ONNX has none."""
    try:
        return _TABLE[dtype][0]
    except KeyError:
        raise UnknownTypeError(f"{dtype} has no ONNX element type") from None


def from_onnx(number: int) -> torch.dtype:
    """The torch dtype of a `TensorProto.DataType` number; ValueError if torch has none."""
    try:
        return _FROM_ONNX[number]
    except KeyError:
        raise ValueError(f"ONNX element type {number} has no torch dtype") from None


def to_numpy(dtype: torch.dtype) -> Any:
    """The numpy dtype (of `ml_dtypes` for bfloat16 and float8) of a torch dtype."""
    return _NUMPY[dtype]


def from_numpy(dtype: Any) -> torch.dtype:
    """The torch dtype of a numpy dtype."""
    return _FROM_NUMPY[np.dtype(dtype)]


def from_scalar_type(number: int) -> torch.dtype:
    """The dtype that TorchScript writes as this int; ValueError for one that isn't known."""
    try:
        return _SCALAR_TYPES[number]
    except IndexError:
        raise UnknownTypeError(f"the exporter doesn't know the element type that TorchScript calls {number}") from None


def to_scalar_type(dtype: torch.dtype) -> int:
    """The int as which TorchScript writes this dtype; ValueError for one that isn't known."""
    try:
        return _SCALAR_NUMBERS[dtype]
    except KeyError:
        raise ValueError(f"the exporter doesn't know the element type {dtype}") from None


def real_of(dtype: torch.dtype) -> torch.dtype:
    """The type of the real part of a complex type; a real type is its own."""
    return _REAL.get(dtype, dtype)


def complex_of(dtype: torch.dtype) -> torch.dtype:
    """The complex type whose parts are of this real type (complex64 for integers and bool)."""
    return _COMPLEX.get(dtype, torch.complex64)


def is_float8(dtype: torch.dtype) -> bool:
    return dtype.is_floating_point and dtype.itemsize == 1


def is_integer(dtype: torch.dtype) -> bool:
    """Whether this is an integer type; bool is not."""
    return not (dtype.is_floating_point or dtype.is_complex) and dtype is not torch.bool


def quantized_parts(tensor: torch.Tensor, scale: torch.dtype, zero_point: torch.dtype | None) -> list[torch.Tensor]:
    """A tensor as ONNX has it: a quantized one is its integers, scale and zero point (None: of the integers' type)."""
    if not tensor.is_quantized:
        return [tensor]
    integers = tensor.int_repr()
    if tensor.qscheme() in (torch.per_tensor_affine, torch.per_tensor_symmetric):
        both: list[Any] = [tensor.q_scale(), tensor.q_zero_point()]
    else:
        both = [tensor.q_per_channel_scales(), tensor.q_per_channel_zero_points()]
    kinds = (scale, zero_point or integers.dtype)
    return [integers, *(torch.as_tensor(x).to(kind) for x, kind in zip(both, kinds))]


def array_of(tensor: torch.Tensor) -> np.ndarray[Any, Any]:
    """A tensor's memory as a numpy array, not copied where it lies on the CPU."""
    tensor = tensor.detach().resolve_conj().resolve_neg().cpu()
    if tensor.dtype in (torch.bfloat16,):
        return tensor.view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    if tensor.dtype.itemsize == 1 and tensor.dtype.is_floating_point:
        return tensor.view(torch.uint8).numpy().view(_NUMPY[tensor.dtype])
    return tensor.numpy()
