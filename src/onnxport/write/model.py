"""The ways out: file, stream, bytes, proto."""

from __future__ import annotations

import io
import os
from typing import BinaryIO, cast

import onnx
import onnx_ir as ir
from google.protobuf.message import EncodeError  # type: ignore[import-untyped]

from onnxport.write import external, protobuf, target
from onnxport.write.tensors import byte_size

LIMIT = 2**31 - 1024
"""Bytes of the largest model in one file. Protobuf's limit is 2**31 - 1, but its C++ parsers, onnxruntime's
among them, refuse the last few bytes below it."""


def write_model(
    model: ir.Model,
    f: target.Target,
    *,
    external_data: bool | None = None,
    skeleton: onnx.ModelProto | None = None,
) -> None:
    """Write the model to a path or at the position of a binary stream, without a copy of its weights.

    ``external_data``: put weights into ``<path>.data``; None means only where the model passes 2 GB.
    ``skeleton``: what ``check_model`` gave, if the model is still the same; it is used up.
    """
    check_target(f, external_data=external_data)
    path = target.path_of(f)
    if path is not None and target.is_device(path):
        with open(path, "wb") as device:
            write_model(model, device, external_data=external_data, skeleton=skeleton)
        return
    wire = None if external_data else _wire_model(model, skeleton)
    if wire is None and external_data is False:
        raise ValueError(f"{_too_large(model)}. Leave out external_data=False to store the weights in a second file")
    if path is None:
        if wire is None:
            raise ValueError(
                f"{_too_large(model)}. The weights need a second file, and a stream has no place for it: pass a path"
            )
        target.send(cast(BinaryIO, f), wire.pieces())
    elif wire is not None:
        with target.replacing(path) as (file,):
            target.send(file, wire.pieces())
    else:
        _write_external(model, path)


def check_target(f: target.Target, *, external_data: bool | None = None) -> None:
    """Raise now what ``write_model`` would raise about its target after the work is done."""
    path = target.path_of(f)
    if path is None:
        target.check_stream(cast(BinaryIO, f))
    else:
        target.check_path(path)
    if external_data and (path is None or target.is_device(path)):
        raise ValueError("external data is a second file beside the model, a stream has none: pass a path")
    if external_data and path is not None:
        target.check_path(_data_path(path))


def to_proto(model: ir.Model) -> onnx.ModelProto:
    """The complete model in memory."""
    proto: onnx.ModelProto = protobuf.serialize(model, protobuf.embed)
    return proto


def to_bytes(model: ir.Model) -> bytes:
    """The complete model as ``write_model`` writes it."""
    stream = io.BytesIO()
    write_model(model, stream)
    return stream.getvalue()


def model_size(model: ir.Model) -> int:
    """Bytes of all weights, also those of nested graphs; tied ones count each time."""
    graphs = protobuf.graphs(model)
    return sum(byte_size(tensor) for graph in graphs for _, tensor in protobuf.initializers(graph))


def _wire_model(model: ir.Model, skeleton: onnx.ModelProto | None) -> protobuf.WireModel | None:
    """None if the message would be too long."""
    if model_size(model) > LIMIT:
        return None
    try:
        wire = protobuf.wire_model(model, protobuf.skeleton(model) if skeleton is None else skeleton)
    except EncodeError:
        return None
    return wire if wire.size <= LIMIT else None


def _write_external(model: ir.Model, path: str) -> None:
    data_path = _data_path(path)
    target.check_path(data_path)
    data = external.data_file(model, os.path.basename(data_path))
    try:
        message = protobuf.message_bytes(protobuf.serialize(model, data.encode))
    except EncodeError as error:
        raise _skeleton_too_large() from error
    if len(message) > LIMIT:
        raise _skeleton_too_large()
    if not data.size:  # Nothing to store: no empty file.
        with target.replacing(path) as (file,):
            target.send(file, [message])
        return
    with target.replacing(data_path, path) as (data_file, model_file):
        target.send(data_file, data.pieces())
        target.send(model_file, [message])


def _data_path(path: str) -> str:
    return f"{path}.data"


def _too_large(model: ir.Model) -> str:
    return (
        f"the model has {model_size(model)} bytes of weights and with them passes {LIMIT} bytes, "
        "the limit of protobuf for one file (2 GB)"
    )


def _skeleton_too_large() -> ValueError:
    return ValueError(
        f"the model without its weights passes {LIMIT} bytes (2 GB): its constants in node attributes, its "
        "strings and small tensors can't go to a second file. Turn large constants into initializers"
    )
