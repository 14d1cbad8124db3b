"""Weights in a file of their own, beside the model."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field

import onnx
import onnx_ir as ir

from onnxport.write.protobuf import describe, embed, graphs, initializers
from onnxport.write.tensors import byte_size, chunks, storage_key

SMALLEST = 1 << 10
"""Weights below stay in the model: shape inference reads them, and they cost nothing there."""

PAGE = 4 << 10
"""Weights of a page or more begin at a page, so that a runtime can map them."""

ALIGNMENT = 64


@dataclass(slots=True)
class DataFile:
    """What lies where in the data file; tied weights lie there once."""

    location: str
    size: int = 0
    _tensors: list[tuple[int, ir.TensorProtocol]] = field(default_factory=list)
    _offsets: dict[Hashable, int] = field(default_factory=dict)

    def encode(self, proto: onnx.TensorProto, name: str, tensor: ir.TensorProtocol) -> None:
        """Fill in the proto: a reference into the file, or the values where they are small or strings."""
        if not _goes_out(tensor):
            embed(proto, name, tensor)
            return
        describe(proto, name, tensor)
        proto.data_location = onnx.TensorProto.EXTERNAL
        entries = {"location": self.location, "offset": self.place(tensor), "length": byte_size(tensor)}
        for key, value in entries.items():
            proto.external_data.add(key=key, value=str(value))

    def pieces(self) -> Iterator[bytes | memoryview]:
        """The content of the file in order."""
        position = 0
        for offset, tensor in self._tensors:
            yield bytes(offset - position)
            yield from chunks(tensor)
            position = offset + byte_size(tensor)

    def place(self, tensor: ir.TensorProtocol) -> int:
        """The offset of the weight, behind all others if its memory has none yet."""
        key = storage_key(tensor)
        if key not in self._offsets:
            size = byte_size(tensor)
            alignment = PAGE if size >= PAGE else ALIGNMENT
            offset = -(-self.size // alignment) * alignment
            self._offsets[key] = offset
            self._tensors.append((offset, tensor))
            self.size = offset + size
        return self._offsets[key]


def data_file(model: ir.Model, location: str) -> DataFile:
    """Lay out the weights of all graphs, the main one first. Reads none."""
    plan = DataFile(location)
    for graph in graphs(model):
        for _, tensor in initializers(graph):
            if _goes_out(tensor):
                plan.place(tensor)
    return plan


def _goes_out(tensor: ir.TensorProtocol) -> bool:
    return tensor.dtype != ir.DataType.STRING and byte_size(tensor) >= SMALLEST
