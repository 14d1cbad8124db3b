"""The protobuf wire format of a model, as far as it is needed to stream the weights.

A ``ModelProto`` with weights copies each of them at least twice, so it is never built. onnx serialises the
model without the weights of the main graph; these follow by hand as the last fields of the graph:

    ModelProto { every field but graph;  7: graph {
        every field but initializer;  5: TensorProto {dims, data_type, name, ...;  9: raw_data}
                                      5: TensorProto {...}  ... } }

Order of fields is free in protobuf, a nested message begins with its length, and all lengths are known
before the first weight is read.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import onnx
import onnx_ir as ir
from onnx_ir.serde import TensorProtoTensor, serialize_model

from onnxport.write.tensors import byte_size, chunks, strings

Encode = Callable[[onnx.TensorProto, str, ir.TensorProtocol], None]
"""Fills a TensorProto with a weight of this name."""

_GRAPH = onnx.ModelProto.GRAPH_FIELD_NUMBER
_INITIALIZER = onnx.GraphProto.INITIALIZER_FIELD_NUMBER
_RAW_DATA = onnx.TensorProto.RAW_DATA_FIELD_NUMBER


@dataclass(frozen=True, slots=True)
class WireModel:
    """A serialised model in two parts: the bytes before the weights, and the weights with their heads."""

    head: bytes
    weights: list[tuple[bytes, ir.TensorProtocol | None]]
    size: int

    def pieces(self) -> Iterator[bytes | memoryview]:
        """The whole message in order."""
        yield self.head
        for head, tensor in self.weights:
            yield head
            if tensor is not None:
                yield from chunks(tensor)


def skeleton(model: ir.Model) -> onnx.ModelProto:
    """The model without the weights of its main graph, none of which is read."""
    return serialize(model, embed, main=False)


def wire_model(model: ir.Model, proto: onnx.ModelProto) -> WireModel:
    """The message with its weights inline, made from the skeleton, which it uses up."""
    weights = [_initializer_field(name, tensor) for name, tensor in initializers(model.graph)]
    payload = sum(len(head) + (byte_size(tensor) if tensor else 0) for head, tensor in weights)
    graph = message_bytes(proto.graph)
    proto.ClearField("graph")
    head = message_bytes(proto) + _delimited(_GRAPH, len(graph) + payload) + graph
    return WireModel(head, weights, len(head) + payload)


def serialize(model: ir.Model, encode: Encode, *, main: bool = True) -> onnx.ModelProto:
    """The model as a proto, its initializers by ``encode``; the main graph's left out if not ``main``."""
    with _stand_ins(model, encode):
        proto = serialize_model(_without_weights(model))
    if main:
        for name, tensor in initializers(model.graph):
            encode(proto.graph.initializer.add(), name, tensor)
    return proto


def initializers(graph: ir.Graph) -> Iterator[tuple[str, ir.TensorProtocol]]:
    """Names and weights, in order."""
    inputs = set(graph.inputs)
    for name, value in graph.initializers.items():
        if value.const_value is not None:
            yield name, value.const_value
        elif value not in inputs:
            raise ValueError(f"initializer {name!r} of graph {graph.name!r} has no value (const_value is None)")


def graphs(model: ir.Model) -> Iterator[ir.Graph]:
    """The main graph first, then all graphs in attributes, also those of functions; each once."""
    found: dict[int, ir.Graph] = {id(model.graph): model.graph}
    pending: list[ir.Graph | ir.Function] = [model.graph, *model.functions.values()]
    while pending:
        for graph in _attribute_graphs(pending.pop(0)):
            if id(graph) not in found:
                found[id(graph)] = graph
                pending.append(graph)
    yield from found.values()


def describe(proto: onnx.TensorProto, name: str, tensor: ir.TensorProtocol) -> None:
    """Everything but the values; strings included, since they have no raw form."""
    proto.name = name
    proto.data_type = tensor.dtype.value
    proto.dims.extend(tensor.shape.numpy())
    if tensor.doc_string:
        proto.doc_string = tensor.doc_string
    for key in sorted(tensor.metadata_props):
        proto.metadata_props.add(key=key, value=tensor.metadata_props[key])
    if tensor.dtype == ir.DataType.STRING:
        proto.string_data.extend(strings(tensor))


def embed(proto: onnx.TensorProto, name: str, tensor: ir.TensorProtocol) -> None:
    """The weight and its values, copied."""
    describe(proto, name, tensor)
    if tensor.dtype != ir.DataType.STRING:
        proto.raw_data = b"".join(chunks(tensor))


def message_bytes(proto: onnx.ModelProto | onnx.GraphProto | onnx.TensorProto) -> bytes:
    data: bytes = proto.SerializeToString(deterministic=True)
    return data


def _initializer_field(name: str, tensor: ir.TensorProtocol) -> tuple[bytes, ir.TensorProtocol | None]:
    proto = onnx.TensorProto()
    describe(proto, name, tensor)
    head = message_bytes(proto)
    if tensor.dtype == ir.DataType.STRING:
        return _delimited(_INITIALIZER, len(head)) + head, None
    size = byte_size(tensor)
    head += _delimited(_RAW_DATA, size)
    return _delimited(_INITIALIZER, len(head) + size) + head, tensor


def _without_weights(model: ir.Model) -> ir.Model:
    """A view of the model whose main graph has no initializers; their types would be listed as well."""
    graph, shell = model.graph, copy.copy(model)
    view = ir.GraphView(
        graph.inputs,
        graph.outputs,
        nodes=list(graph),
        doc_string=graph.doc_string,
        opset_imports=graph.opset_imports,
        name=graph.name,
        metadata_props=graph.metadata_props,
    )
    shell.graph = view  # type: ignore[assignment]  # as onnx_ir's documentation of GraphView has it
    return shell


@contextmanager
def _stand_ins(model: ir.Model, encode: Encode) -> Iterator[None]:
    """Inside, no initializer of a nested graph is one of the caller's tensors; serde would copy and rename them.

    A proto that serde takes as it is takes their place.
    """
    replaced: list[tuple[ir.Value, ir.TensorProtocol | None]] = []
    try:
        for graph in graphs(model):
            for name, tensor in initializers(graph) if graph is not model.graph else ():
                proto = onnx.TensorProto()
                encode(proto, name, tensor)
                value = graph.initializers[name]
                replaced.append((value, tensor))
                value.const_value = TensorProtoTensor(proto)
        yield
    finally:
        for value, kept in replaced:
            value.const_value = kept


def _attribute_graphs(nodes: ir.Graph | ir.Function) -> Iterator[ir.Graph]:
    for node in nodes:
        for attribute in node.attributes.values():
            if attribute.is_ref():
                continue
            if attribute.type == ir.AttributeType.GRAPH:
                yield attribute.value
            elif attribute.type == ir.AttributeType.GRAPHS:
                yield from attribute.value
            elif isinstance(attribute.value, ir.ExternalTensor):
                # serde would store the old location, which means nothing beside the new file.
                raise ValueError(
                    f"attribute {attribute.name!r} of node {node.name!r} ({node.op_type}) lives in "
                    f"{attribute.value.path!r}; load it first: onnx_ir.external_data.load_to_model"
                )


def _delimited(field: int, length: int) -> bytes:
    """The tag and the length that begin a field of bytes or of a message."""
    return _varint(field << 3 | 2) + _varint(length)


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)
