"""`JitScalarType`: element types under the names and numbers of TorchScript."""

from __future__ import annotations

import enum
from typing import Any

import torch

from ..dtypes import from_onnx, from_scalar_type, to_onnx, to_scalar_type
from ..errors import OnnxExporterError
from .value import Value

# TorchScript's name, C++ name, dtype. Source: c10/core/ScalarType.h, the table of scalar types.
_NAMES: dict[str, tuple[str, torch.dtype]] = {
    "Byte": ("uint8_t", torch.uint8), "Char": ("int8_t", torch.int8), "Short": ("int16_t", torch.int16),
    "Int": ("int", torch.int32), "Long": ("int64_t", torch.int64), "Half": ("half", torch.float16),
    "Float": ("float", torch.float32), "Double": ("double", torch.float64),
    "ComplexHalf": ("complex32", torch.complex32), "ComplexFloat": ("complex64", torch.complex64),
    "ComplexDouble": ("complex128", torch.complex128), "Bool": ("bool", torch.bool), "QInt8": ("qint8", torch.qint8),
    "QUInt8": ("quint8", torch.quint8), "QInt32": ("qint32", torch.qint32), "BFloat16": ("bfloat16", torch.bfloat16),
    "Float8E5M2": ("float8_e5m2", torch.float8_e5m2), "Float8E4M3FN": ("float8_e4m3fn", torch.float8_e4m3fn),
    "Float8E5M2FNUZ": ("float8_e5m2fnuz", torch.float8_e5m2fnuz),
    "Float8E4M3FNUZ": ("float8_e4m3fnuz", torch.float8_e4m3fnuz),
}  # fmt: skip
# Quantised types are stored as the integers that they are made of.
_STORED = {torch.qint8: torch.int8, torch.quint8: torch.uint8, torch.qint32: torch.int32}


class JitScalarType(enum.IntEnum):
    """An element type. The numbers are those by which TorchScript writes a dtype."""

    UINT8 = 0
    INT8 = 1
    INT16 = 2
    INT = 3
    INT64 = 4
    HALF = 5
    FLOAT = 6
    DOUBLE = 7
    COMPLEX32 = 8
    COMPLEX64 = 9
    COMPLEX128 = 10
    BOOL = 11
    QINT8 = 12
    QUINT8 = 13
    QINT32 = 14
    BFLOAT16 = 15
    FLOAT8E5M2 = 23
    FLOAT8E4M3FN = 24
    FLOAT8E5M2FNUZ = 25
    FLOAT8E4M3FNUZ = 26
    UNDEFINED = 255

    @classmethod
    def from_name(cls, name: str | None) -> JitScalarType:
        """By TorchScript's name ("Float") or the C++ one ("float", "int64_t"). ValueError if there is no such type."""
        for jit, (plain, dtype) in _NAMES.items():
            if name in (jit, plain):
                return cls(to_scalar_type(dtype))
        if name == "Undefined":
            return cls.UNDEFINED
        raise ValueError(f"unknown type: {name!r}" if name is not None else "the name of a type can't be None")

    @classmethod
    def from_dtype(cls, dtype: torch.dtype | None) -> JitScalarType:
        """Of a torch dtype; None is UNDEFINED."""
        if dtype is None:
            return cls.UNDEFINED
        return cls(to_scalar_type(dtype))

    @classmethod
    def from_onnx_type(cls, onnx_type: Any) -> JitScalarType:
        """Of an ONNX element type (`TensorProto.DataType`); None and 0 are UNDEFINED."""
        if onnx_type is None or int(onnx_type) == 0:
            return cls.UNDEFINED
        return cls.from_dtype(from_onnx(int(onnx_type)))

    @classmethod
    def from_value(cls, value: Any, default: JitScalarType | None = None) -> JitScalarType:
        """Of a value of the graph or a torch tensor; the default (or an error) where it has none."""
        found = None
        if isinstance(value, torch.Tensor):
            found = value.dtype
        elif type(value) is Value:
            element = value.content[0] if isinstance(value.content, list) and value.content else value
            kind = (element if type(element) is Value else Value(element, value.graph)).type()
            found = kind.dtype() if hasattr(kind, "dtype") else None
        if found is not None:
            return cls.from_dtype(found)
        if default is not None:
            return default
        raise OnnxExporterError(f"the element type of {value} is not known, and no default is given")

    def scalar_name(self) -> str:
        """TorchScript's name: "Float"."""
        return next((n for n, (_, d) in _NAMES.items() if to_scalar_type(d) == self), "Undefined")

    def torch_name(self) -> str:
        """The C++ name: "float", "int64_t"."""
        name = self.scalar_name()
        return _NAMES[name][0] if name in _NAMES else "undefined"

    def dtype(self) -> torch.dtype:
        if self is JitScalarType.UNDEFINED:
            raise OnnxExporterError("the undefined type has no dtype")
        return from_scalar_type(int(self))

    def onnx_type(self) -> int:
        """The number of the ONNX element type."""
        if self is JitScalarType.UNDEFINED:
            return 0
        dtype = self.dtype()
        return to_onnx(_STORED.get(dtype, dtype))

    def onnx_compatible(self) -> bool:
        return self not in (JitScalarType.UNDEFINED, JitScalarType.COMPLEX32)


def valid_scalar_name(name: str) -> bool:
    return name in _NAMES


def valid_torch_name(name: str) -> bool:
    return name in {plain for plain, _ in _NAMES.values()}
