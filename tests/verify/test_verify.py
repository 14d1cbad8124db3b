"""`ExportResult.verify`: it finds what is wrong, says where, and leaves everything as it was."""

from __future__ import annotations

import inspect
import pathlib

import pytest
import torch

import onnxport
from onnxport.errors import VerificationError
from onnxport.lower import registry

pytestmark = pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning")


class Inner(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = torch.nn.Linear(4, 4)
        torch.nn.init.eye_(self.fc.weight)  # below zero stays below zero

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.fc(x) + 1)


RELU_LINE = inspect.getsourcelines(Inner.forward)[1] + 1


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = Inner()
        self.second = Inner()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(self.first(x))


X = torch.tensor([[-1.0, 2.0, -3.0, 4.0], [0.5, -0.5, 1.5, -1.5]])
DYNAMIC = {"x": {0: "b"}}


@pytest.fixture
def wrong_relu(monkeypatch: pytest.MonkeyPatch) -> None:
    """A lowering of relu that keeps what lies below zero."""
    onnxport.export(Model(), X, None)  # fills the registry
    assert registry.find("aten::relu")
    monkeypatch.setitem(registry._LOWERINGS, "aten::relu", lambda g, self: g.op("Elu", self))


def wrong_at_other_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    onnxport.export(Model(), X, None)
    right = registry.find("aten::relu")
    monkeypatch.setitem(registry._LOWERINGS, "aten::relu", lambda g, self: g.reshape(right(g, self), [2, 4]))


def test_right_model_at_all_sizes() -> None:
    report = onnxport.export(Model(), X, None, dynamic_axes=DYNAMIC).verify()
    assert report.ok
    assert [c.sizes["b"] for c in report.checks] == [2, 3, 4, 1]
    assert report.largest < 1e-5
    assert len(report.compared) == 4


def test_sizes_can_be_left_out() -> None:
    result = onnxport.export(Model(), X, None, dynamic_axes=DYNAMIC)
    assert len(result.verify(sizes=False).checks) == 1
    assert len(result.verify([X, torch.randn(7, 4)], sizes=False).checks) == 2


@pytest.mark.usefixtures("wrong_relu")
def test_first_difference_is_named() -> None:
    with pytest.raises(VerificationError) as caught:
        onnxport.export(Model(), X, None).verify()
    first = caught.value.report.first_difference
    assert first.op == "aten::relu"
    assert first.place.startswith("first (")
    assert first.place.endswith(f"{pathlib.Path(__file__).name}:{RELU_LINE})")
    assert first.onnx_node == "/first/Elu"
    assert "values differ" in str(caught.value)


def test_mismatch_at_another_size(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong_at_other_sizes(monkeypatch)
    with pytest.raises(VerificationError, match="onnxruntime fails") as caught:
        onnxport.export(Model(), X, None, dynamic_axes=DYNAMIC).verify()
    report = caught.value.report
    assert [c.ok for c in report.checks] == [True, False]
    assert (report.first_difference.op, report.first_difference.onnx_node) == ("aten::relu", "/first/Reshape")


def test_python_code_that_depends_on_the_size() -> None:
    class Branch(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x * 2 if x.shape[0] < 4 else x * 3

    with pytest.raises(VerificationError, match="Python code depends on the sizes") as caught:
        onnxport.export(Branch(), X, None, dynamic_axes=DYNAMIC, check_axes=False).verify()
    assert [c.ok for c in caught.value.report.checks] == [True, True, False]


@pytest.mark.usefixtures("wrong_relu")
def test_first_difference_beyond_a_number_that_follows_a_size() -> None:
    class Scaled(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.relu(x * int(x.shape[0]) + [1, 2, int(x.shape[0])][-1])

    with pytest.raises(VerificationError) as caught:
        onnxport.export(Scaled(), X, None, dynamic_axes=DYNAMIC).verify()
    assert caught.value.report.first_difference.op == "aten::relu"


def test_sizes_that_the_model_refuses_are_skipped() -> None:
    class Even(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x.view(-1, 2, 4)

    report = onnxport.export(Even(), X, None, dynamic_axes=DYNAMIC).verify()
    assert [bool(c.skipped) for c in report.checks] == [False, True, False, True]
    assert {c.sizes["b"] for c in report.compared} == {2, 4}


def test_inputs_that_the_model_refuses_raise() -> None:
    with pytest.raises(RuntimeError, match="mat1 and mat2"):
        onnxport.export(Model(), X, None, dynamic_axes=DYNAMIC).verify([torch.randn(2, 5)])


@pytest.mark.usefixtures("wrong_relu")
def test_export_with_verify_writes_no_wrong_file(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(b"old")
    with pytest.raises(VerificationError):
        onnxport.export(Model(), X, path, verify=True)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_export_with_verify_writes_a_right_file(tmp_path: pathlib.Path) -> None:
    onnxport.export(Model(), X, tmp_path / "m.onnx", verify=True)
    assert (tmp_path / "m.onnx").stat().st_size > 100


def test_nothing_is_changed_by_it() -> None:
    class Counts(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("calls", torch.zeros(()))
            self.drop = torch.nn.Dropout(0.5)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.calls.add_(1)
            return self.drop(x.add_(1))

    model, x = Counts().train(), X.clone()
    model.drop.eval()
    with pytest.warns(onnxport.errors.OnnxExporterWarning, match="writes to calls"):
        result = onnxport.export(model, x, None, dynamic_axes=DYNAMIC)
    before = torch.get_rng_state()
    result.verify()
    assert model.training
    assert not model.drop.training
    assert float(model.calls) == 0
    assert torch.equal(x, X)
    assert torch.equal(torch.get_rng_state(), before)


def test_random_models_are_compared_by_shape() -> None:
    class Noise(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + torch.randn_like(x)

    report = onnxport.export(Noise(), X, None, dynamic_axes=DYNAMIC).verify()
    assert all(c.random for c in report.checks)
    assert "the model is random" in str(report)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_random_models_are_known_whatever_the_seed(seed: int) -> None:
    result = onnxport.export(lambda x: torch.rand_like(x) + x, (torch.zeros(3, 4),))
    torch.manual_seed(seed)
    assert all(c.random for c in result.verify().checks)


def test_parameters_that_are_inputs() -> None:
    assert onnxport.export(Model(), X, None, export_params=False, dynamic_axes=DYNAMIC).verify().ok


def test_result_runs_the_model() -> None:
    model = Model()
    result = onnxport.export(model, X, None, dynamic_axes=DYNAMIC)
    x = torch.randn(5, 4)
    torch.testing.assert_close(result(x), model(x))
    with pytest.raises(TypeError, match="don't fit"):
        result()


def test_several_outputs_come_flat() -> None:
    class Nested(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> dict[str, object]:
            return {"a": x + 1, "b": [x > 0, (x + x).to(torch.bfloat16)]}

    a, b, c = onnxport.export(Nested(), X, None, opset_version=20)(X)
    assert torch.equal(a, X + 1)
    assert torch.equal(b, X > 0)
    assert torch.equal(c, (X + X).to(torch.bfloat16))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64, torch.int64, torch.bool])
def test_element_types(dtype: torch.dtype) -> None:
    class Pair(torch.nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return torch.where(y > 0, x, x.flip(0))

    result = onnxport.export(Pair(), (X.to(dtype), X), None, dynamic_axes={"x": {0: "b"}, "y": {0: "b"}})
    assert result.verify().ok
    assert torch.equal(result(X.to(dtype), X), Pair()(X.to(dtype), X))


def test_scripts_with_numbers_and_lists() -> None:
    @torch.jit.script
    def scale(x: torch.Tensor, n: int, s: float, flag: bool) -> tuple[torch.Tensor, int]:
        for i in range(n):
            x = x * s + i
        if flag:
            x = x - 1.0
        return x, n + 1

    result = onnxport.export(scale, (X, 3, 0.5, True), None, input_names=["x"], dynamic_axes=DYNAMIC)
    assert len(result.verify([(X, 3, 0.5, True), (X, 0, 2.0, False)]).compared) == 5
    y, n = result(X, 2, 2.0, False)
    torch.testing.assert_close(y, X * 4 + 1)
    assert n.item() == 3


def test_script_with_a_list_of_tensors() -> None:
    @torch.jit.script
    def join(xs: list[torch.Tensor], pair: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
        return torch.cat(xs) + pair[0] * pair[1]

    result = onnxport.export(join, ([X, X[:1]], (X[0], X[1])), None)
    assert result.verify().ok
    assert torch.equal(result([X, X[:1]], (X[0], X[1])), join([X, X[:1]], (X[0], X[1])))


def test_exported_programs() -> None:
    shapes = ({0: torch.export.Dim("b")},)
    program = torch.export.export(Model().eval(), (X,), dynamic_shapes=shapes)
    result = onnxport.export(program, (), None)
    assert result.verify().ok
    torch.testing.assert_close(result(X), program.module()(X))
