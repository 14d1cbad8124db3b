"""What today's `torch.onnx` has besides `export`: methods of its result, `verification`, `testing`, `operators`."""

from __future__ import annotations

import importlib

import onnx
import onnxruntime as ort
import pytest
import torch
from torch import nn

import onnxport
from onnxport.errors import OnnxExporterError
from onnxport.verification import OnnxBackend, VerificationOptions, find_mismatch, verify, verify_onnx_program

X = torch.randn(2, 3)


@pytest.fixture
def replaced():
    with onnxport.replace_torch_onnx():
        yield


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(3, 4), nn.Linear(4, 2)

    def forward(self, x):
        y = torch.relu(self.first(x))
        return self.second(y), y


def program_of(model: nn.Module, **options):
    return torch.onnx.export(model, (X,), dynamo=True, **options)


def test_outputs_are_always_a_tuple(replaced):
    model = nn.Linear(3, 4)
    program = program_of(model)
    for outputs in (program(X), program(input=X), program.call_reference(X)):
        assert isinstance(outputs, tuple) and len(outputs) == 1
        torch.testing.assert_close(outputs[0], model(X))


def test_weights_are_replaced(replaced, tmp_path):
    model, other = Net(), Net()
    program = program_of(model, output_names=["y", "hidden"], optimize=False)
    program(X)
    program.apply_weights(other.state_dict())
    torch.testing.assert_close(program(X), other(X))
    program.save(tmp_path / "m.onnx")
    session = ort.InferenceSession(tmp_path / "m.onnx", providers=["CPUExecutionProvider"])
    torch.testing.assert_close(torch.from_numpy(session.run(None, {"x": X.numpy()})[0]), other(X)[0])


@pytest.mark.parametrize(
    "weights, error, text",
    [
        ({"third.weight": torch.zeros(1)}, ValueError, "no weight 'third.weight'"),
        ({"first.bias": torch.zeros(5)}, ValueError, "is torch.float32 \\[4\\], not torch.float32 \\[5\\]"),
        ({"first.bias": torch.zeros(4).double()}, ValueError, "not torch.float64"),
    ],
)
def test_weights_that_do_not_fit_are_refused(weights, error, text, replaced):
    program = program_of(Net())
    before = program(X)
    with pytest.raises(error, match=text):
        program.apply_weights({"first.weight": torch.zeros(4, 3), **weights})
    torch.testing.assert_close(program(X), before)


def test_weights_that_were_computed_with_are_refused(replaced):
    model = nn.Sequential(nn.Conv2d(3, 4, 1), nn.BatchNorm2d(4)).eval()
    program = torch.onnx.export(model, (torch.randn(1, 3, 2, 2),))
    with pytest.raises(OnnxExporterError, match="isn't in the exported model as it is"):
        program.apply_weights(model.state_dict())


@pytest.mark.parametrize("included", [True, False])
@pytest.mark.parametrize("as_inputs", [True, False])
def test_what_of_the_weights_is_saved(included, as_inputs, replaced, tmp_path):
    program = program_of(nn.Linear(3, 4))
    program.save(tmp_path / "m.onnx", include_initializers=included, keep_initializers_as_inputs=as_inputs)
    graph = onnx.load(tmp_path / "m.onnx").graph
    assert [i.name for i in graph.initializer] == (["weight", "bias"] if included else [])
    assert [i.name for i in graph.input] == ["input", *(["weight", "bias"] if as_inputs else [])]
    program.save(tmp_path / "n.onnx")
    graph = onnx.load(tmp_path / "n.onnx").graph
    assert ([i.name for i in graph.initializer], [i.name for i in graph.input]) == (["weight", "bias"], ["input"])


def test_axes_get_other_names(replaced):
    class Twice(nn.Module):
        def forward(self, x):
            return torch.cat([x, x, x.new_ones(1, 3)])

    program = program_of(Twice(), dynamic_shapes={"x": {0: torch.export.Dim("n", min=2, max=5)}})
    axis = program.model.graph.inputs[0].shape[0]
    program.rename_axes({axis: "batch"})
    assert program.model_proto.graph.output[0].type.tensor_type.shape.dim[0].dim_param == "2*batch + 1"
    assert [check.sizes for check in program.verify().checks] == [{"batch": n} for n in (2, 3, 4)]
    program.rename_axes({"batch": "b"})
    assert program.model_proto.graph.input[0].type.tensor_type.shape.dim[0].dim_param == "b"


def test_values_within_the_model(replaced):
    model = Net()
    program = program_of(model, output_names=["y", "hidden"])
    first = program.model.graph.node(0).outputs[0].name
    y, inner = program.compute_values(["y", first], (X,))
    torch.testing.assert_close((y, inner), (model(X)[0], model.first(X)))
    with pytest.raises(ValueError, match="no value 'nothing'"):
        program.compute_values(["nothing"], (X,))
    assert len(program(X)) == 2


def test_a_session_of_ones_own(replaced):
    program, made = program_of(nn.Linear(3, 4)), []

    def initializer(model):
        made.append(ort.InferenceSession(model, providers=["CPUExecutionProvider"]))
        return made[-1]

    program.initialize_inference_session(initializer)
    assert program(X)[0].shape == (2, 4) and len(made) == 1
    program.release()
    assert program(X)[0].shape == (2, 4) and len(made) == 1


def test_the_exported_program(replaced):
    exported = torch.export.export(nn.Linear(3, 4), (X,))
    assert torch.onnx.export(exported).exported_program is exported
    assert isinstance(program_of(nn.Linear(3, 4)).exported_program, torch.export.ExportedProgram)
    dynamic = program_of(nn.Linear(3, 4), dynamic_shapes=({0: "n"},))
    with pytest.raises(OnnxExporterError, match="call torch.export.export"):
        _ = dynamic.exported_program


# -- verification -------------------------------------------------------------------------------------


class Branches(nn.Module):
    """What is recorded is right for the example alone."""

    def forward(self, x):
        return x * 2 if x.sum() > 0 else x * 3


def test_verify_of_what_is_right():
    assert verify(Net(), X, dynamic_axes={"x": {0: "n"}}, additional_test_inputs=[(torch.randn(5, 3),)]) is None
    assert verify(Net(), (), {"x": X}, options=VerificationOptions(backend=OnnxBackend.REFERENCE)) is None


@pytest.mark.filterwarnings("ignore:.*takes the value of a tensor")
@pytest.mark.parametrize("backend", [OnnxBackend.REFERENCE, OnnxBackend.ONNX_RUNTIME_CPU])
def test_verify_of_what_is_wrong(backend):
    example, other = torch.ones(2, 3), -torch.ones(2, 3)
    options = VerificationOptions(backend=backend)
    verify(Branches(), example, options=options)
    with pytest.raises(AssertionError, match="output: 6 of 6 values differ"):
        verify(Branches(), example, additional_test_inputs=[(other,)], options=options)
    options.acceptable_error_percentage = 1.0
    verify(Branches(), example, additional_test_inputs=[(other,)], options=options)


@pytest.mark.parametrize(
    "options",
    [
        {"acceptable_error_percentage": 1.5},
        {"flatten": False},
        {"ignore_none": False},
        {"remained_onnx_input_idx": [0]},
    ],
)
def test_options_that_cannot_be_kept_are_refused(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        VerificationOptions(**options)


def test_find_mismatch(capsys):
    found = find_mismatch(Net(), X)
    assert not found.has_mismatch() and found.mismatch_error is None and not found.all_mismatch_leaf_graph_info()
    onnxport.register_custom_op_symbolic("aten::relu", lambda g, x: g.op("Sigmoid", x), 9)
    try:
        found = find_mismatch(Net(), X)
    finally:
        onnxport.unregister_custom_op_symbolic("aten::relu", 9)
    assert found.has_mismatch() and found.all_mismatch_leaf_graph_info() == [found]
    found.pretty_print_mismatch()
    assert "first difference: aten::relu" in capsys.readouterr().out


def test_verify_onnx_program():
    result = onnxport.export(Net(), X, output_names=["y", "hidden"])
    for infos in (verify_onnx_program(result), verify_onnx_program(result, (torch.randn(2, 3),))):
        assert [info.name for info in infos] == ["y", "hidden"]
        for info in infos:
            assert info.max_abs_diff < 1e-5 and info.expected_dtype == info.actual_dtype == torch.float32
            counts, edges = info.abs_diff_hist
            assert len(edges) == len(counts) + 1
            assert info.asdict()["name"] == info.name
    assert int(infos[1].abs_diff_hist[0].sum()) == 8


def test_assert_onnx_program(replaced):
    from torch.onnx.testing import assert_onnx_program

    program = program_of(Net(), optimize=False)
    assert_onnx_program(program)
    assert_onnx_program(program, args=(torch.randn(2, 3),))
    program.apply_weights({"first.weight": torch.zeros(4, 3)})
    with pytest.raises(AssertionError, match="differs from PyTorch"):
        assert_onnx_program(program)


# -- modules ------------------------------------------------------------------------------------------

MODULES = [
    *("errors", "operators", "ops", "symbolic_helper", "symbolic_opset9", "symbolic_opset17", "testing", "utils"),
    *("verification", "_internal.torchscript_exporter.symbolic_helper", "_internal.torchscript_exporter.registration"),
    *("_internal.torchscript_exporter.symbolic_opset11", "_internal.torchscript_exporter.jit_utils"),
]


@pytest.mark.parametrize("name", MODULES)
def test_modules_are_found(name, replaced):
    module = importlib.import_module(f"torch.onnx.{name}")
    found = torch.onnx
    for part in name.split("."):
        found = getattr(found, part)
    assert found is module


def test_operators_on_sizes(replaced):
    from torch.onnx.operators import reshape_from_tensor_shape, shape_as_tensor

    class Shaped(nn.Module):
        def forward(self, x):
            return reshape_from_tensor_shape(x * 2, shape_as_tensor(x.t())), shape_as_tensor(x)

    onnxport.export(Shaped(), X, dynamic_axes={"x": {0: "n"}}).verify()
