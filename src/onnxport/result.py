"""What `export` returns."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, BinaryIO

import onnx
import onnx_ir as ir

from .lower.model import Lowered


class ExportResult:
    """An exported model.

    Attributes:
        model: the model as `onnx_ir.Model`; weights lie in torch's memory.
        input_names, output_names: of the graph, in order.
    """

    def __init__(self, lowered: Lowered, source: Any, args: Any, kwargs: Mapping[str, Any] | None) -> None:
        self.model: ir.Model = lowered.model
        self.input_names = list(lowered.input_names)
        self.output_names = list(lowered.output_names)
        self.opset_version: int = lowered.model.graph.opset_imports[""]
        self._lowered = lowered
        self._source = source
        self._args = args
        self._kwargs = kwargs
        self._session: Any = None

    @property
    def model_proto(self) -> onnx.ModelProto:
        """The model as protobuf, weights copied into it."""
        from .write import to_proto

        return to_proto(self.model)

    def save(self, f: str | os.PathLike[str] | BinaryIO, *, external_data: bool | None = None) -> None:
        """Write the model to a path or binary stream."""
        from .write import write_model

        write_model(self.model, f, external_data=external_data)
