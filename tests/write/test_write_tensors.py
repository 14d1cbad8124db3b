"""Every type and layout of weight, written inline and to a data file, read back by onnx."""

from __future__ import annotations

import io

import ml_dtypes
import numpy as np
import onnx
import onnx_ir as ir
import pytest
import torch
from written_models import same, torch_weight, values, weights_model

from onnxport.write import external, tensors, to_bytes, to_proto, write_model

TORCH_TYPES = (
    *(torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2),
    *(
        torch.int8,
        torch.int16,
        torch.int32,
        torch.int64,
        torch.uint8,
        torch.uint16,
        torch.uint32,
        torch.uint64,
    ),
    *(torch.bool, torch.complex64),
)
PACKED_TYPES = ("int4", "uint4", "float4_e2m1fn", "int2", "uint2")
NUMPY_TYPES = ("float32", "float64", "int64", "uint16", "bool", *PACKED_TYPES, "bfloat16", "float8_e4m3fn")


def ramp(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    count = int(np.prod(shape))
    return (torch.arange(count) % 100 - 3).abs().reshape(shape).to(dtype)


def numpy_ramp(name: str, *shape: int) -> np.ndarray:
    dtype = np.dtype(getattr(ml_dtypes, name, name))
    period = 2 if name in ("int2", "bool") else 4 if name == "uint2" else 8
    return (np.arange(int(np.prod(shape))) % period).reshape(shape).astype(dtype)


def lazy(tensor: ir.TensorProtocol) -> ir.LazyTensor:
    return ir.LazyTensor(lambda: tensor, dtype=tensor.dtype, shape=ir.Shape(tensor.shape))


WEIGHTS: dict[str, ir.TensorProtocol] = {
    **{str(t).removeprefix("torch."): torch_weight(ramp(5, 7, dtype=t)) for t in TORCH_TYPES},
    **{f"np_{name}": ir.Tensor(numpy_ramp(name, 3, 5)) for name in NUMPY_TYPES},
    **{f"np_{name}_T": ir.Tensor(numpy_ramp(name, 3, 5).T) for name in NUMPY_TYPES},
    **{f"np_{name}_large": ir.Tensor(numpy_ramp(name, 61, 41)[:, ::-1]) for name in NUMPY_TYPES},
    "scalar": torch_weight(torch.tensor(2.5)),
    "np_scalar": ir.Tensor(np.array(7, np.int64)),
    "int4_scalar": ir.Tensor(numpy_ramp("int4")),
    "empty": torch_weight(torch.zeros(0, 3)),
    "empty_int4": ir.Tensor(numpy_ramp("int4", 0, 3)),
    "transposed": torch_weight(ramp(31, 57).t()),
    "permuted": torch_weight(ramp(3, 31, 57).permute(2, 0, 1)),
    "sliced": torch_weight(ramp(31, 57)[3:, 5:40:2]),
    "one_row": torch_weight(ramp(57, 31).t()[None]),
    "strided": torch_weight(ramp(3000)[::2]),
    "expanded": torch_weight(ramp(1, 57).expand(31, 57)),
    "bfloat16_T": torch_weight(ramp(31, 57, dtype=torch.bfloat16).t()),
    "float8_T": torch_weight(ramp(31, 57, dtype=torch.float8_e5m2).t()),
    "conjugate": torch_weight(torch.complex(ramp(20, 20), ramp(20, 20)).conj()),
    "parameter": torch_weight(torch.nn.Parameter(ramp(4, 4))),
    "packed": ir.PackedTensor(np.arange(8, dtype=np.uint8), ir.DataType.UINT4, shape=[3, 5]),
    "strings": ir.StringTensor([b"a", b"", "ü".encode()], shape=ir.Shape([3, 1])),
    "no_strings": ir.StringTensor([], shape=ir.Shape([0])),
    "lazy": lazy(torch_weight(ramp(40, 40).t())),
    "lazy_int4": lazy(ir.Tensor(numpy_ramp("int4", 3, 3))),
    "lazy_strings": lazy(ir.StringTensor([b"x", b"y"], shape=ir.Shape([2]))),
    "proto": ir.from_proto(onnx.helper.make_tensor("other", onnx.TensorProto.FLOAT16, [3], [1.0, 2.0, 3.0])),
    "proto_strings": ir.from_proto(onnx.helper.make_tensor("other", onnx.TensorProto.STRING, [1], [b"z"])),
}


def expected(tensor: ir.TensorProtocol) -> np.ndarray:
    array = tensor.numpy()
    if tensor.dtype == ir.DataType.STRING:
        texts = [s.decode() if isinstance(s, bytes) else s for s in array.ravel().tolist()]
        return np.array(texts, object).reshape(array.shape)
    return array


@pytest.fixture(params=[7 * 64, tensors.CHUNK], ids=["small_chunks", "chunk"])
def chunk(request, monkeypatch):
    """Small chunks send these small weights through the paths of large ones."""
    monkeypatch.setattr(tensors, "CHUNK", request.param)


@pytest.mark.parametrize("name", WEIGHTS)
def test_inline(name, chunk):
    model = weights_model({"before": torch_weight(ramp(3)), name: WEIGHTS[name], "after": torch_weight(ramp(2))})
    read = values(onnx.load_from_string(to_bytes(model)))
    assert list(read) == ["before", name, "after"]
    same(read[name], expected(WEIGHTS[name]))
    same(read["after"], ramp(2).numpy())


@pytest.mark.parametrize("name", WEIGHTS)
def test_to_proto_is_what_is_written(name, chunk):
    model = weights_model({name: WEIGHTS[name]})
    assert to_proto(model) == onnx.load_from_string(to_bytes(model))


@pytest.mark.parametrize("smallest", [0, 1024])
def test_external(smallest, chunk, tmp_path, monkeypatch):
    monkeypatch.setattr(external, "SMALLEST", smallest)
    write_model(weights_model(WEIGHTS), tmp_path / "m.onnx", external_data=True)
    proto = onnx.load(tmp_path / "m.onnx", load_external_data=False)
    read = values(proto, str(tmp_path))
    assert list(read) == list(WEIGHTS)
    for name, tensor in WEIGHTS.items():
        same(read[name], expected(tensor))
    outside = {t.name for t in proto.graph.initializer if t.data_location == onnx.TensorProto.EXTERNAL}
    assert ("scalar" in outside) == (smallest == 0)
    assert "transposed" in outside
    assert not outside & {"strings", "lazy_strings"}


def test_agrees_with_onnx_ir():
    """The message is what onnx_ir makes of the model, except that the types of weights aren't listed a second time."""
    common = {name: WEIGHTS[name] for name in ("float32", "bfloat16", "np_int4", "scalar", "empty", "strings")}
    theirs = ir.to_proto(weights_model(common))
    others = [info for info in theirs.graph.value_info if info.name not in common]
    del theirs.graph.value_info[:]
    theirs.graph.value_info.extend(others)
    assert to_proto(weights_model(common)) == theirs


@pytest.mark.parametrize(
    "promise, shape, actual",
    [
        (ir.DataType.FLOAT, [4], np.zeros(4, np.int32)),
        (ir.DataType.FLOAT, [4], np.zeros((2, 2), np.float32)),
        (ir.DataType.FLOAT, [4], np.zeros(3, np.float32)),
        (ir.DataType.FLOAT16, [4], np.zeros(4, ml_dtypes.bfloat16)),
    ],
)
def test_broken_promise_of_a_lazy_tensor(promise, shape, actual):
    tensor = ir.LazyTensor(lambda: ir.Tensor(actual), dtype=promise, shape=ir.Shape(shape))
    with pytest.raises(ValueError, match=r"initializer 'w', declared .* holds an array"):
        to_bytes(weights_model({"w": _named(tensor, "w")}))


def test_contiguous_weights_are_views():
    weight = ramp(64, 64)
    (chunk,) = tensors.chunks(torch_weight(weight))
    weight[0, 0] = 42.0
    assert np.frombuffer(chunk, np.float32)[0] == 42.0
    assert chunk.readonly


def test_big_endian_array(chunk):
    array = np.arange(1000, dtype=">f4").reshape(10, 100)
    data = b"".join(tensors._blocks(array)), b"".join(tensors._blocks(array.T))
    assert data == (array.astype("<f4").tobytes(), array.astype("<f4").T.tobytes())


def test_meta_tensor_is_an_error():
    with pytest.raises(ValueError, match="has no values to write: .*no data.*load the weights before the export"):
        write_model(weights_model({"w": torch_weight(torch.zeros(3, device="meta"))}), io.BytesIO())


def _named(tensor: ir.TensorProtocol, name: str) -> ir.TensorProtocol:
    tensor.name = name
    return tensor
