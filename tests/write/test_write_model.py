"""Files and streams: what is written where, what is refused, and what a failure leaves behind."""

from __future__ import annotations

import errno
import io
import os
import stat
import subprocess
import sys
import tempfile
import tracemalloc

import numpy as np
import onnx
import onnx_ir as ir
import onnxruntime as ort
import pytest
import torch
from written_models import same, torch_weight, values, weights_model

from onnxport.write import check_target, model_size, to_bytes, to_proto, write_model
from onnxport.write import model as writer

WEIGHT = torch.arange(40 * 50, dtype=torch.float32).reshape(40, 50)


def small_model() -> ir.Model:
    return weights_model({"w": torch_weight(WEIGHT), "t": torch_weight(WEIGHT.t()), "b": torch_weight(WEIGHT[0])})


def nested_model() -> ir.Model:
    """``If`` with a large weight in each branch and one in the main graph."""

    def branch(name: str, weight: torch.Tensor) -> ir.Graph:
        value = ir.Value(name=name, shape=ir.Shape(weight.shape), type=ir.TensorType(ir.DataType.FLOAT))
        value.const_value = torch_weight(weight)
        node = ir.node("Identity", [value])
        node.outputs[0].name = f"{name}_out"
        node.outputs[0].shape, node.outputs[0].type = value.shape, value.type
        return ir.Graph([], node.outputs, nodes=[node], initializers=[value], name=name)

    model = weights_model({"w": torch_weight(WEIGHT)})
    cond = ir.Value(name="cond", shape=ir.Shape([]), type=ir.TensorType(ir.DataType.BOOL))
    choice = ir.node("If", [cond], {"then_branch": branch("yes", WEIGHT), "else_branch": branch("no", -WEIGHT.t())})
    choice.outputs[0].name = "chosen"
    choice.outputs[0].shape = ir.Shape(["rows", "columns"])
    choice.outputs[0].type = ir.TensorType(ir.DataType.FLOAT)
    model.graph.inputs.append(cond)
    model.graph.append(choice)
    model.graph.outputs.append(choice.outputs[0])
    return model


def run(path: os.PathLike[str] | bytes, **inputs: np.ndarray) -> dict[str, np.ndarray]:
    session = ort.InferenceSession(path if isinstance(path, bytes) else os.fspath(path))
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, inputs)))


def files(folder: os.PathLike[str]) -> dict[str, bytes]:
    found = {}
    for entry in os.scandir(folder):
        with open(entry.path, "rb") as file:
            found[entry.name] = file.read()
    return found


class Unseekable:
    """The least a stream can be; takes at most ``most`` bytes a call if it is given."""

    def __init__(self, most: int | None = None) -> None:
        self.parts: list[bytes] = []
        self.most = most

    def write(self, data: memoryview) -> int | None:
        self.parts.append(bytes(data[: self.most]))
        return None if self.most is None else len(self.parts[-1])


class Full(io.BytesIO):
    def write(self, data: object) -> int:
        raise OSError(errno.ENOSPC, "no space")


def broken_model() -> ir.Model:
    def fail() -> ir.TensorProtocol:
        raise RuntimeError("weight is gone")

    lost = ir.LazyTensor(fail, dtype=ir.DataType.FLOAT, shape=ir.Shape([4096]))
    return weights_model({"w": torch_weight(WEIGHT), "lost": lost})


# The model as a whole


@pytest.mark.parametrize("external_data", [None, False, True])
def test_onnxruntime_runs_it(external_data, tmp_path):
    path = tmp_path / "m.onnx"
    write_model(small_model(), path, external_data=external_data)
    onnx.checker.check_model(path, full_check=True)
    assert sorted(os.listdir(tmp_path)) == (["m.onnx", "m.onnx.data"] if external_data else ["m.onnx"])
    results = run(path)
    same(results["w_out"], WEIGHT.numpy())
    same(results["t_out"], WEIGHT.t().numpy())


@pytest.mark.parametrize("external_data", [False, True])
def test_nested_graphs(external_data, tmp_path):
    path = tmp_path / "m.onnx"
    write_model(nested_model(), path, external_data=external_data)
    onnx.checker.check_model(path)
    same(run(path, cond=np.array(True))["chosen"], WEIGHT.numpy())
    same(run(path, cond=np.array(False))["chosen"], -WEIGHT.t().numpy())
    assert (path.stat().st_size < 3000) == external_data
    assert model_size(nested_model()) == 3 * WEIGHT.numel() * 4


def test_function_bodies_are_kept():
    text = """
        <ir_version: 10, opset_import: ["": 20, "own": 1]>
        g (float[2] x) => (float[2] y) <float[2] w = {1.0, 2.0}> { y = own.f(x, w) }
        <domain: "own", opset_import: ["": 20]> f (a, b) => (c) { c = Add(a, b) }
    """
    data = to_bytes(ir.from_onnx_text(text))
    onnx.checker.check_model(onnx.load_from_string(data))
    assert run(data, x=np.ones(2, np.float32))["y"].tolist() == [2.0, 3.0]


def test_metadata_and_docs_of_weights():
    model = small_model()
    tensor = torch_weight(WEIGHT)
    tensor.doc_string = "a doc"
    tensor.metadata_props.update({"z": "1", "a": "2"})
    model.graph.initializers["w"].const_value = tensor
    proto = onnx.load_from_string(to_bytes(model))
    assert proto.graph.initializer[0].doc_string == "a doc"
    assert [(p.key, p.value) for p in proto.graph.initializer[0].metadata_props] == [("a", "2"), ("z", "1")]
    assert [(p.key, p.value) for p in proto.metadata_props] == [("a", "1"), ("b", "2")]


@pytest.mark.parametrize("external_data", [False, True])
def test_bytes_are_the_same_each_time(external_data, tmp_path):
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        write_model(nested_model(), tmp_path / folder / "m.onnx", external_data=external_data)
    assert files(tmp_path / "one") == files(tmp_path / "two")


def state(model: ir.Model) -> list[object]:
    graphs = list(model.graphs())
    values = [value for graph in graphs for value in graph.initializers.values()]
    return [(id(v), v.name, id(v.const_value), v.const_value and v.const_value.name) for v in values]


@pytest.mark.parametrize("make", [to_proto, to_bytes, lambda m: write_model(m, Full())], ids=["proto", "bytes", "full"])
def test_the_model_is_left_as_it_was(make):
    model = nested_model()
    model.graph.initializers["w"].const_value.name = "a name of its own"
    before = state(model)
    try:
        make(model)
    except OSError:
        assert make not in (to_proto, to_bytes)
    assert state(model) == before


def test_the_model_is_left_as_it_was_when_serialising_fails():
    model = nested_model()
    model.graph.append(ir.node("Identity", [None], {"bad": ir.Attr("bad", ir.AttributeType.SPARSE_TENSOR, 1)}))
    before = state(model)
    with pytest.raises(ir.serde.SerdeError):
        to_bytes(model)
    assert state(model) == before


def test_initializer_without_value_is_an_error():
    model = small_model()
    model.graph.initializers["t"].const_value = None
    with pytest.raises(ValueError, match="initializer 't' of graph 'weights' has no value"):
        to_bytes(model)
    model.graph.inputs.append(model.graph.initializers["t"])  # then the caller gives it
    assert list(values(onnx.load_from_string(to_bytes(model)))) == ["w", "b"]


def test_external_tensor_is_read_from_its_own_file(tmp_path):
    """Also when the new files replace the ones it is read from."""
    path = tmp_path / "m.onnx"
    write_model(nested_model(), path, external_data=True)
    loaded = ir.load(path)
    same(run(to_bytes(loaded), cond=np.array(False))["chosen"], -WEIGHT.t().numpy())
    write_model(loaded, path, external_data=True)
    same(run(path, cond=np.array(False))["chosen"], -WEIGHT.t().numpy())


def test_external_tensor_in_an_attribute_is_an_error():
    model = small_model()
    tensor = ir.ExternalTensor("gone", 0, 4, ir.DataType.FLOAT, shape=ir.Shape([1]), name="c", base_dir="x")
    model.graph.append(ir.node("Constant", [], {"value": tensor}, name="const"))
    with pytest.raises(ValueError, match=r"attribute 'value' of node 'const' \(Constant\) lives in .*load_to_model"):
        to_bytes(model)


# The size limit


def test_limit_decides_to_the_byte(tmp_path, monkeypatch):
    size = len(to_bytes(small_model()))
    monkeypatch.setattr(writer, "LIMIT", size)
    write_model(small_model(), tmp_path / "fits.onnx")
    monkeypatch.setattr(writer, "LIMIT", size - 1)
    write_model(small_model(), tmp_path / "over.onnx")
    assert sorted(os.listdir(tmp_path)) == ["fits.onnx", "over.onnx", "over.onnx.data"]
    same(run(tmp_path / "over.onnx")["w_out"], WEIGHT.numpy())


def test_above_the_limit_one_file_or_a_stream_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(writer, "LIMIT", 4000)
    sink = io.BytesIO()
    with pytest.raises(ValueError, match="has 16200 bytes of weights .* Leave out external_data=False"):
        write_model(small_model(), tmp_path / "m.onnx", external_data=False)
    with pytest.raises(ValueError, match="has 16200 bytes of weights.*pass a path"):
        write_model(small_model(), sink)
    with pytest.raises(ValueError, match="pass a path"):
        to_bytes(small_model())
    assert not os.listdir(tmp_path)
    assert not sink.getvalue()


def test_model_too_large_even_without_weights(tmp_path, monkeypatch):
    monkeypatch.setattr(writer, "LIMIT", 100)
    with pytest.raises(ValueError, match="without its weights passes"):
        write_model(small_model(), tmp_path / "m.onnx")
    assert not os.listdir(tmp_path)


def test_the_limit_keeps_clear_of_what_parsers_refuse():
    """Measured with onnxruntime 1.32: 2**31 - 9 bytes load, 2**31 - 2 don't."""
    assert 2**31 - 10_000 < writer.LIMIT < 2**31 - 64


# The data file


def entries(path: os.PathLike[str]) -> dict[str, dict[str, str]]:
    proto = onnx.load(path, load_external_data=False)
    return {t.name: {e.key: e.value for e in t.external_data} for t in proto.graph.initializer}


def test_layout_of_the_data_file(tmp_path):
    sizes = {"small": 255, "kilobyte": 256, "page": 1024, "odd": 1025, "next": 2000, "sub_page": 300}
    tensors = {name: torch_weight(torch.full((size,), 1.5)) for name, size in sizes.items()}
    write_model(weights_model(tensors), tmp_path / "m.onnx", external_data=True)
    found = entries(tmp_path / "m.onnx")
    assert found.pop("small") == {}
    assert {entry["location"] for entry in found.values()} == {"m.onnx.data"}
    assert {name: int(entry["length"]) for name, entry in found.items()} == {
        name: 4 * size for name, size in sizes.items() if name != "small"
    }
    offsets = {name: int(entry["offset"]) for name, entry in found.items()}
    assert offsets == {"kilobyte": 0, "page": 4096, "odd": 8192, "next": 16384, "sub_page": 24384}
    assert (tmp_path / "m.onnx.data").stat().st_size == 24384 + 1200


def test_tied_weights_are_stored_once(tmp_path):
    weight = WEIGHT.clone()
    complex_weight = torch.complex(weight, weight)
    array = WEIGHT.numpy().copy()
    tensors = {
        "a": torch_weight(weight),
        "tied": torch_weight(weight.view(40, 50)),
        "transposed": torch_weight(weight.t()),
        "flat": torch_weight(weight.view(-1)),
        "equal": torch_weight(weight.clone()),
        "bits": torch_weight(weight.view(torch.int32)),
        "part": torch_weight(weight[:20]),
        "complex": torch_weight(complex_weight),
        "conjugate": torch_weight(complex_weight.conj()),
        "numpy": ir.Tensor(array),
        "numpy_tied": ir.Tensor(array),
        "numpy_reversed": ir.Tensor(array[:, ::-1]),
    }
    write_model(weights_model(tensors), tmp_path / "m.onnx", external_data=True)
    offsets = {name: entry["offset"] for name, entry in entries(tmp_path / "m.onnx").items()}
    assert offsets["a"] == offsets["tied"]
    assert offsets["numpy"] == offsets["numpy_tied"]
    assert len(set(offsets.values())) == len(offsets) - 2
    read = values(onnx.load(tmp_path / "m.onnx"))
    for name, tensor in tensors.items():
        same(read[name], tensor.numpy())


def test_no_empty_data_file(tmp_path):
    write_model(weights_model({"s": torch_weight(torch.ones(3))}), tmp_path / "m.onnx", external_data=True)
    assert os.listdir(tmp_path) == ["m.onnx"]


# Streams


def test_stream_is_written_at_its_position():
    sink = io.BytesIO(b"0123456789")
    sink.seek(4)
    write_model(small_model(), sink)
    assert sink.getvalue() == b"0123" + to_bytes(small_model())
    assert sink.tell() == len(sink.getvalue())


@pytest.mark.parametrize("most", [None, 100])
def test_unseekable_stream(most):
    sink = Unseekable(most)
    write_model(small_model(), sink)
    assert b"".join(sink.parts) == to_bytes(small_model())


def test_open_files(tmp_path):
    with open(tmp_path / "raw", "wb", buffering=0) as raw, open(tmp_path / "buffered", "wb") as buffered:
        write_model(small_model(), raw)
        write_model(small_model(), buffered)
    assert set(files(tmp_path).values()) == {to_bytes(small_model())}


@pytest.mark.parametrize(
    "make, error, text",
    [
        (io.StringIO, TypeError, "'wb'"),
        (lambda: open(os.devnull, "w"), TypeError, "'wb'"),  # noqa: SIM115
        (lambda: tempfile.NamedTemporaryFile("w"), TypeError, "'wb'"),  # noqa: SIM115
        (lambda: open(os.devnull, "rb"), io.UnsupportedOperation, "'wb'"),  # noqa: SIM115
        (lambda: 3, TypeError, "int"),
        (lambda: None, TypeError, "NoneType"),
    ],
    ids=["StringIO", "text", "temporary_text", "reading", "int", "none"],
)
def test_refused_streams(make, error, text):
    stream = make()
    for call in (check_target, lambda f: write_model(small_model(), f)):
        with pytest.raises(error, match=text):
            call(stream)
    if hasattr(stream, "close"):
        stream.close()
        with pytest.raises((ValueError, TypeError)):
            check_target(stream)


def test_external_data_needs_a_path():
    for call in (check_target, lambda f, **k: write_model(small_model(), f, **k)):
        with pytest.raises(ValueError, match="pass a path"):
            call(io.BytesIO(), external_data=True)


# Paths


def test_kinds_of_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_model(small_model(), "relative.onnx")
    write_model(small_model(), tmp_path / "pathlike.onnx")
    write_model(small_model(), os.fsencode(tmp_path / "bytes.onnx"))
    assert len(files(tmp_path)) == 3
    assert set(files(tmp_path).values()) == {to_bytes(small_model())}


def test_refused_paths(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "folder.data").mkdir()
    for path, error in (
        (tmp_path / "none" / "m.onnx", FileNotFoundError),
        ("", FileNotFoundError),
        (tmp_path, IsADirectoryError),
        (tmp_path / "file" / "m.onnx", NotADirectoryError),
    ):
        for call in (check_target, lambda f: write_model(small_model(), f)):
            with pytest.raises(error):
                call(path)
    check_target(tmp_path / "folder")
    for call in (check_target, lambda f, **k: write_model(small_model(), f, **k)):
        with pytest.raises(IsADirectoryError):
            call(tmp_path / "folder", external_data=True)
    assert sorted(os.listdir(tmp_path)) == ["file", "folder.data"]


def test_protected_paths(tmp_path, monkeypatch):
    """os.access decides; the superuser who may run the tests is never refused."""
    (tmp_path / "m.onnx").write_bytes(b"")
    monkeypatch.setattr(os, "access", lambda path, mode: os.fspath(path) != os.fspath(tmp_path))
    with pytest.raises(PermissionError, match="folder"):
        check_target(tmp_path / "m.onnx")
    monkeypatch.setattr(os, "access", lambda path, mode: os.fspath(path) == os.fspath(tmp_path))
    with pytest.raises(PermissionError, match="file"):
        check_target(tmp_path / "m.onnx")
    check_target(tmp_path / "new.onnx")


def test_devices_are_written_to_and_not_replaced():
    write_model(small_model(), os.devnull)
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)
    with pytest.raises(ValueError, match="pass a path"):
        check_target(os.devnull, external_data=True)


def test_links_stay_links(tmp_path):
    store = tmp_path / "store"
    store.mkdir()
    (store / "real").write_bytes(b"old")
    (tmp_path / "m.onnx").symlink_to(store / "real")
    write_model(small_model(), tmp_path / "m.onnx")
    assert (tmp_path / "m.onnx").is_symlink()
    assert files(store) == {"real": to_bytes(small_model())}


def test_mode_is_that_of_open(tmp_path):
    previous = os.umask(0o027)
    try:
        write_model(small_model(), tmp_path / "new.onnx", external_data=True)
        (tmp_path / "kept.onnx").write_bytes(b"")
        os.chmod(tmp_path / "kept.onnx", 0o600)
        write_model(small_model(), tmp_path / "kept.onnx")
    finally:
        os.umask(previous)
    modes = {name: stat.S_IMODE(os.stat(tmp_path / name).st_mode) for name in os.listdir(tmp_path)}
    assert modes == {"new.onnx": 0o640, "new.onnx.data": 0o640, "kept.onnx": 0o600}


@pytest.mark.parametrize("external_data", [False, True])
@pytest.mark.parametrize("existing", [False, True])
def test_failure_leaves_the_folder_as_it_was(external_data, existing, tmp_path):
    if existing:
        write_model(small_model(), tmp_path / "m.onnx", external_data=True)
    before = files(tmp_path)
    with pytest.raises(RuntimeError, match="weight is gone"):
        write_model(broken_model(), tmp_path / "m.onnx", external_data=external_data)
    assert files(tmp_path) == before


@pytest.mark.parametrize("failing", [1, 2, 3])
@pytest.mark.parametrize("existing", [False, True])
def test_failing_rename_is_undone(failing, existing, tmp_path, monkeypatch):
    """Two files can't be renamed at once; a new data file under an old model would be silently wrong."""
    if existing:
        write_model(weights_model({"w": torch_weight(-WEIGHT)}), tmp_path / "m.onnx", external_data=True)
    before = files(tmp_path)
    real, calls = os.replace, []

    def replace(source: str, target: str) -> None:
        calls.append(target)
        if len(calls) == failing:
            raise OSError(errno.EIO, "rename failed")
        real(source, target)

    monkeypatch.setattr(os, "replace", replace)
    if failing == 3 and not existing:  # nothing to move out of the way: two renames
        write_model(small_model(), tmp_path / "m.onnx", external_data=True)
        assert len(calls) == 2
        return
    with pytest.raises(OSError, match="rename failed"):
        write_model(small_model(), tmp_path / "m.onnx", external_data=True)
    assert files(tmp_path) == before


def test_replaces_existing_files(tmp_path):
    write_model(weights_model({"w": torch_weight(-WEIGHT)}), tmp_path / "m.onnx", external_data=True)
    write_model(small_model(), tmp_path / "m.onnx", external_data=True)
    assert sorted(os.listdir(tmp_path)) == ["m.onnx", "m.onnx.data"]
    same(run(tmp_path / "m.onnx")["w_out"], WEIGHT.numpy())


# Memory


@pytest.mark.parametrize("external_data", [False, True])
def test_weights_are_not_copied(external_data, tmp_path):
    weight = torch.zeros(4096, 4096)  # 64 MiB, four times
    tensors = {
        "a": weight,
        "t": weight.t(),
        "s": weight[:, ::2],
        "p": weight.view(8, 512, 4096).permute(2, 0, 1),
    }
    model = weights_model({name: torch_weight(tensor) for name, tensor in tensors.items()})
    tracemalloc.start()
    try:
        write_model(model, tmp_path / "m.onnx", external_data=external_data)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert sum(len(data) for data in files(tmp_path).values()) > model_size(model) == 7 * 2**25
    assert peak < 20 << 20


def test_resident_memory(tmp_path):
    """tracemalloc doesn't see what protobuf allocates; the peak of the process does."""
    script = """
import resource, sys, numpy as np, onnx_ir as ir
from onnxport.write import write_model
values = []
for i in range(4):
    value = ir.Value(name=f"w{i}", shape=ir.Shape([1 << 24]), type=ir.TensorType(ir.DataType.FLOAT))
    value.const_value = ir.Tensor(np.full(1 << 24, float(i), np.float32))
    values.append(value)
graph = ir.Graph([], [], nodes=[], initializers=values, opset_imports={"": 20}, name="g")
model = ir.Model(graph, ir_version=10)
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
before = peak()
write_model(model, sys.argv[1])
print(peak() - before)
"""
    command = [sys.executable, "-c", script, tmp_path / "m.onnx"]
    kilobytes = int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert (tmp_path / "m.onnx").stat().st_size > 1 << 28
    assert kilobytes < 40 << 10
