"""The bytes of a weight, as ONNX stores them, without a copy of the weight.

Nothing here may hold a second copy of a whole tensor: no ``tobytes()``, no ``ascontiguousarray`` of more
than one chunk. A weight may be as large as the memory that is left. torch isn't imported either: a torch
tensor is read through the NumPy view that ``onnx_ir`` gives.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator
from typing import Any

import numpy as np
import onnx_ir as ir

CHUNK = 8 << 20
"""Bytes handed over at a time; also the bound on what a non-contiguous tensor is copied in."""

Array = np.ndarray[Any, Any]


def byte_size(tensor: ir.TensorProtocol) -> int:
    """How many bytes the values take in a file: 4-bit values packed, strings by their lengths."""
    if tensor.dtype == ir.DataType.STRING:
        return sum(map(len, strings(tensor)))
    return (_count(tensor) * tensor.dtype.bitwidth + 7) // 8


def strings(tensor: ir.TensorProtocol) -> list[bytes]:
    """The elements of a string tensor in row-major order."""
    values = tensor.string_data() if isinstance(tensor, ir.StringTensor) else tensor.numpy().ravel().tolist()
    found = [value.encode() if isinstance(value, str) else value for value in values]
    if len(found) != _count(tensor):
        raise ValueError(f"{_label(tensor)} has {len(found)} strings")
    return found


def chunks(tensor: ir.TensorProtocol) -> Iterator[memoryview]:
    """The little-endian raw data, at most CHUNK bytes at a time; views of a contiguous weight."""
    if isinstance(tensor, ir.PackedTensor):
        yield from _blocks(tensor.numpy_packed())
        return
    try:
        array = np.asarray(tensor.numpy())
    except (RuntimeError, NotImplementedError) as error:
        if not isinstance(tensor, ir.tensor_adapters.TorchTensor):
            raise
        raise ValueError(
            f"{_label(tensor)} has no values to write: {error} Tensors of the meta device and fake tensors have none; "
            "load the weights before the export"
        ) from error
    # A lazy tensor declares what it will be. The file already carries the declaration: it must be true.
    if array.shape != _shape(tensor) or array.dtype.newbyteorder("=") != tensor.dtype.numpy():
        raise ValueError(f"{_label(tensor)} holds an array {array.dtype}{list(array.shape)}")
    if tensor.dtype.bitwidth < 8:
        yield from _packed(array, tensor.dtype)
    else:
        yield from _blocks(array)


def storage_key(tensor: ir.TensorProtocol) -> Hashable:
    """Equal for tensors that read the same memory in the same way; both must be alive."""
    raw: Any = getattr(tensor, "raw", None)
    kind = (tensor.dtype, _shape(tensor))
    if isinstance(tensor, ir.PackedTensor | ir.Tensor) and isinstance(raw, np.ndarray):
        return ("numpy", raw.ctypes.data, raw.strides, raw.dtype.str, kind)
    if isinstance(tensor, ir.tensor_adapters.TorchTensor):
        # A conjugate or negative view shares the memory but not the values.
        lazy_bits = (raw.is_conj(), raw.is_neg())
        if address := raw.data_ptr():
            return ("torch", str(raw.device), address, tuple(raw.stride()), lazy_bits, kind)
    return ("object", id(tensor))


def _blocks(array: Array) -> Iterator[memoryview]:
    big_endian = array.dtype.str.startswith(">") and array.dtype.itemsize > 1
    if array.flags.c_contiguous and not big_endian:
        data = array.reshape(-1).view(np.uint8).data.toreadonly()
        for start in range(0, len(data), CHUNK):
            yield data[start : start + CHUNK]
    elif array.nbytes <= CHUNK:
        block = np.ascontiguousarray(array.byteswap() if big_endian else array)
        yield block.reshape(-1).view(np.uint8).data.toreadonly()
    else:  # Too large to copy at once: as many rows as fit, or the parts of each row.
        rows = max(1, CHUNK * len(array) // array.nbytes)
        for start in range(0, len(array), rows):
            part = array[start : start + rows]
            yield from _blocks(part[0, ...] if len(part) == 1 else part)


def _packed(array: Array, dtype: ir.DataType) -> Iterator[memoryview]:
    # CHUNK elements are a whole number of bytes at 2, 4 and 6 bits: only the last chunk is padded.
    flat = array.reshape(-1) if array.flags.c_contiguous else array.flat
    for start in range(0, array.size, CHUNK):
        yield memoryview(ir.Tensor(np.asarray(flat[start : start + CHUNK]), dtype).tobytes())


def _shape(tensor: ir.TensorProtocol) -> tuple[int, ...]:
    return tuple(tensor.shape.numpy())


def _count(tensor: ir.TensorProtocol) -> int:
    return math.prod(_shape(tensor))


def _label(tensor: ir.TensorProtocol) -> str:
    return f"initializer {tensor.name!r}, declared {tensor.dtype.name}{list(_shape(tensor))},"
