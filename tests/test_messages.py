"""Messages are part of the interface: they name the operator, its types, the module, the source line and a way out."""

from __future__ import annotations

import errno
import inspect
import re

import pytest
import torch

import onnxport
from onnxport import errors
from onnxport.errors import LoweringError, OpsetError, SymbolicValueError, UnsupportedOperatorError


@torch.library.custom_op("messages::warp", mutates_args=())
def warp(x: torch.Tensor) -> torch.Tensor:
    return x.clone()


@torch.library.custom_op("messages::bend", mutates_args=())
def bend(x: torch.Tensor) -> torch.Tensor:
    return x.clone()


warp.register_fake(torch.clone)


class Encoder(torch.nn.Module):
    def forward(self, x):
        return torch.ops.messages.warp(x)


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = Encoder()

    def forward(self, x):
        return torch.ops.messages.bend(self.encoder(self.encoder(x)) + 1)


def message(error, model, *args, **options) -> str:
    with pytest.raises(error) as caught:
        onnxport.export(model, args, **options)
    return str(caught.value)


def test_unsupported_operators_are_all_listed_with_places_and_a_way_out():
    text = message(UnsupportedOperatorError, Model(), torch.randn(2), opset_version=13)
    lines = text.splitlines()
    assert lines[0] == "no conversion to ONNX opset 13 for 2 kind(s) of operator:"
    assert "  messages::warp (2x)" in lines
    assert "  messages::bend (1x)" in lines
    assert re.search(r"^    at encoder \(.*test_messages.py:\d+\)$", text, re.M)
    assert re.search(r"^    at the model itself \(.*test_messages.py:\d+\)$", text, re.M)
    assert lines[-1].startswith("Register a symbolic function (onnxport.register_custom_op_symbolic) for messages::")


def test_unsupported_operators_among_others_in_a_list():
    class Stacked(torch.nn.Module):
        def forward(self, x):
            return torch.stack([x, torch.ops.messages.warp(x)])

    for model in (Stacked(), torch.export.export(Stacked(), (torch.ones(2),))):
        assert "  messages::warp (1x)" in message(UnsupportedOperatorError, model, torch.ones(2)).splitlines()


def test_unsupported_operators_can_be_read_by_programs():
    with pytest.raises(UnsupportedOperatorError) as caught:
        onnxport.export(Model(), torch.randn(2))
    assert {(u.op, u.count) for u in caught.value.unsupported} == {("messages::warp", 2), ("messages::bend", 1)}


def test_an_operator_that_needs_a_newer_opset_says_which():
    class Rows(torch.nn.Module):
        def forward(self, x):
            return torch.unique(x, dim=0)

    lines = message(OpsetError, Rows(), torch.randn(2, 3), opset_version=9).splitlines()
    assert re.fullmatch(r"aten::unique_dim at the model itself \(.*\)", lines[0])
    assert lines[1].strip().startswith("self float32[2, 3]   dim 0")
    assert lines[2].strip().endswith("needs opset 11, the export is at 9; try opset_version=11")


@pytest.mark.parametrize("front_end", [lambda m: m, lambda m: torch.export.export(m, ())])
def test_an_element_type_that_is_unknown_is_named(front_end):
    class Packed(torch.nn.Module):
        def forward(self):
            return torch.empty([1], dtype=torch.float4_e2m1fn_x2)

    with pytest.raises((LoweringError, ValueError), match="doesn't know the element type"):
        onnxport.export(front_end(Packed()))


def test_an_operator_that_refuses_names_types_place_and_reason():
    class Refuses(torch.nn.Module):
        def forward(self, x):
            return torch.ops.messages.warp(x)

    def symbolic(g, x):
        return g.op("NoSuchOperator", x)

    onnxport.register_custom_op_symbolic("messages::warp", symbolic, 9)
    try:
        text = message(LoweringError, Refuses(), torch.randn(2, 3))
    finally:
        onnxport.unregister_custom_op_symbolic("messages::warp", 9)
    assert re.match(r"messages::warp at the model itself \(.*test_messages.py:\d+\)\n  x float32\[2, 3\]", text)
    assert "NoSuchOperator" in text


def test_a_symbolic_function_that_refuses_a_value_shows_it():
    error = SymbolicValueError("must be constant", "%x")
    assert str(error) == "must be constant  [caused by the value %x]"
    assert error.value == "%x"


@pytest.mark.parametrize(
    "options, text",
    [
        ({"opset_version": 6}, "opset_version 6 is not supported: the installed onnx allows 7 to"),
        (
            {"training": "eval"},
            "training must be TrainingMode.EVAL or TrainingMode.PRESERVE or TrainingMode.TRAINING, not 'eval'",
        ),
        ({"operator_export_type": "ONNX"}, "operator_export_type must be OperatorExportTypes.ONNX or "),
        ({"input_names": "x"}, "input_names must be a list of strings, not 'x'"),
        ({"input_names": 3}, "input_names must be a list of strings, not 3"),
        ({"input_names": ["a", "a"]}, "input_names has 'a' more than once"),
        ({"dynamic_axes": [0]}, "dynamic_axes must be a dict by the names of inputs, {'x': {0: 'batch'}}, not [0]"),
        ({"dynamic_axes": {"x": 5}}, "dynamic_axes['x'] must be a dict {axis: label} or a list of axes, not 5"),
        ({"custom_opsets": ["d"]}, "custom_opsets must be a dict of domains and versions, {'mine': 1}, not ['d']"),
        ({"kwargs": [1]}, "kwargs must be a dict of named arguments, not list"),
        ({"f": torch.ones(2)}, "f must be a path or a binary stream with write(), not Tensor; it comes after args"),
        ({"dynamic_axis": {}}, "export() has no argument 'dynamic_axis'; did you mean 'dynamic_axes'?"),
        ({"input_name": ["x"]}, "export() has no argument 'input_name'; did you mean 'input_names'?"),
        ({"zzz": 1}, "export() has no argument 'zzz'; it has model, args, f, "),
        ({"dynamo": True}, "which is one of today's torch.onnx.export: leave it out, or call torch.onnx.export as it"),
        ({"report": True}, "which is one of today's torch.onnx.export"),
        ({"example_outputs": None}, "which torch.onnx.export had long ago: leave it out"),
        ({"use_external_data_format": True}, "did you mean 'external_data'?"),
        ({"custom_opsets": {"d": 0}}, "custom_opsets['d'] must be at least 1, not 0"),
        (
            {"export_modules_as_functions": True, "opset_version": 14},
            "export_modules_as_functions needs opset_version >= 15",
        ),
    ],
)
def test_a_wrong_argument_says_which_and_what_is_right(options, text):
    assert text in message((TypeError, ValueError), torch.nn.ReLU(), torch.randn(2), **options)


def test_arguments_of_todays_exporter_are_known():
    """Each one that `export` lacks is told to be of `torch.onnx.export`, and is taken where that is replaced."""
    with onnxport.replace_torch_onnx():
        parameters = inspect.signature(torch.onnx.export).parameters.values()
    todays = {p.name for p in parameters if p.kind is not p.VAR_KEYWORD}
    for name in todays - set(inspect.signature(onnxport.export).parameters):
        assert "one of today's torch.onnx.export" in message(TypeError, torch.nn.ReLU(), torch.randn(2), **{name: None})


@pytest.mark.parametrize("dtype", [torch.float16, torch.float64])
def test_weights_and_an_example_of_other_types_are_told(dtype):
    text = message(TypeError, torch.nn.Linear(2, 2), torch.ones(1, 2, dtype=dtype))
    assert text.endswith(f"the weights are torch.float32, the example is {dtype}")


def test_a_folder_that_takes_no_file_is_told_with_the_path_that_was_asked_for(monkeypatch, tmp_path):
    def refuse(path, mode):
        raise PermissionError(errno.EACCES, "Permission denied", path)

    monkeypatch.setattr("builtins.open", refuse)
    path = str(tmp_path / "model.onnx")
    assert message(PermissionError, torch.nn.ReLU(), torch.ones(2), f=path).endswith(f"Permission denied: {path!r}")


def test_arguments_that_do_not_fit_show_the_signature():
    class Three(torch.nn.Module):
        def forward(self, x, y, *, z):
            return x + y + z

    text = message(TypeError, Three(), torch.randn(2))
    assert "args don't fit forward(x, y, *, z)" in text


def test_what_is_no_model_is_named():
    assert "not int" in message(TypeError, 5, torch.randn(2))


class Scale(torch.nn.Module):
    def forward(self, x, factor):
        return x * factor


SCALED = (torch.ones(2, 3), torch.ones(3))


@pytest.mark.parametrize(
    "shapes, problem",
    [
        (
            {"y": {0: "batch"}},
            "dynamic_shapes has 'y', but the arguments are x, factor; it goes by the names of forward's",
        ),
        (({0: "batch"}, None, None), "dynamic_shapes has 3 entries, but 2 argument(s) are given: x, factor"),
    ],
)
def test_dynamic_shapes_of_no_argument_are_refused(shapes, problem):
    assert problem in message(ValueError, Scale(), *SCALED, dynamic_shapes=shapes)


class Nested(torch.nn.Module):
    def forward(self, named, several):
        return named["a"] + several[0].sum() + several[1].sum()


@pytest.mark.parametrize(
    "shapes, problem",
    [
        (
            {"named": {"b": {0: "batch"}}},
            "dynamic_shapes['named'] has sizes for 'b', where no tensor is given; there are a",
        ),
        (({"a": {0: "batch"}}, [None, None, ["n"]]), "dynamic_shapes['several'] has sizes for '2', where no tensor is"),
        (
            {"several": ({"deep": {0: torch.export.Dim.AUTO}},)},
            "of type dict; a size is a Dim, a label, an int or None",
        ),
    ],
)
def test_dynamic_shapes_of_no_tensor_are_refused(shapes, problem):
    args = ({"a": torch.ones(2, 3)}, [torch.ones(2), torch.ones(4)])
    assert problem in message((TypeError, ValueError), Nested(), *args, dynamic_shapes=shapes)


def test_dynamic_shapes_may_say_nothing_where_no_tensor_is():
    args = ({"a": torch.ones(2, 3)}, [torch.ones(2), torch.ones(4)])
    shapes = {"named": {"a": {0: "n"}, "b": None, "c": {0: torch.export.Dim.STATIC}}, "several": [None, None, None]}
    result = onnxport.export(Nested(), args, dynamic_shapes=shapes)
    assert result.model.graph.inputs[0].shape[0].value == "n"


def test_dynamic_shapes_in_order_name_the_axes_of_an_exported_program():
    batch = torch.export.Dim("batch")
    program = torch.export.export(Scale(), SCALED, dynamic_shapes=({0: batch}, None))
    result = onnxport.export(program, dynamic_shapes=({0: batch}, None))
    assert result.model.graph.inputs[0].shape[0].value == "batch"


def test_warnings_point_at_the_call_of_export():
    with pytest.warns(errors.OnnxExporterWarning, match="which is no input or output") as caught:
        onnxport.export(Scale(), SCALED, dynamic_axes={"y": {0: "batch"}})
    assert [w.filename for w in caught] == [__file__]
    with pytest.warns(errors.OnnxExporterWarning, match="one label is one size") as caught:
        onnxport.export(Scale(), (torch.ones(2, 3), torch.ones(1)), dynamic_axes={"x": {0: "n", 1: "n"}})
    assert [w.filename for w in caught] == [__file__]


class Unrolled(torch.nn.Module):
    def forward(self, x):
        for i in range(x.shape[0]):
            x = x + 0.5**i * x[i : i + 1]
        return x


class Counting(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(3))

    def forward(self, x):
        self.seen += x.sum(0)
        return x + self.seen


@pytest.mark.parametrize(
    "model, axes, text",
    [(Counting(), {}, "the model writes to seen"), (Unrolled(), {"x": {0: "b"}}, "right only at b=2")],
)
def test_warnings_of_what_a_model_does_point_at_the_call_of_export(model, axes, text):
    with pytest.warns(errors.OnnxExporterWarning, match=text) as caught:
        onnxport.export(model, torch.ones(2, 3), dynamic_axes=axes)
    assert [w.filename for w in caught] == [__file__]


def test_a_result_says_what_it_is():
    result = onnxport.export(Scale(), SCALED, output_names=["y"], dynamic_axes={"x": {0: "batch"}})
    assert repr(result) == "<ExportResult x float[batch, 3], factor float[3] -> y float[batch, 3]; 1 nodes, opset 14>"
    linear = onnxport.export(torch.nn.Linear(3, 4), torch.ones(2, 3), opset_version=8)  # weights are inputs, too
    assert repr(linear) == "<ExportResult input float[2, 3] -> output float[2, 4]; 1 nodes, opset 8>"


def test_a_result_called_with_arrays_asks_for_tensors():
    result = onnxport.export(Scale(), SCALED)
    with pytest.raises(errors.OnnxExporterError, match="2 input.s. .x, factor., but there are 0 tensors"):
        result(*(x.numpy() for x in SCALED))


def test_verify_asks_for_a_list_of_arguments():
    result = onnxport.export(Scale(), SCALED)
    with pytest.raises(TypeError, match="must be a list of arguments to compare at, not a tensor"):
        result.verify(SCALED[0])


def test_a_run_that_onnxruntime_refuses_says_which_axis():
    result = onnxport.export(Scale(), SCALED)
    with pytest.raises(
        errors.VerificationError, match=r"invalid dimensions for input: factor .* index: 0 Got: 2 Expected: 3"
    ):
        result.verify([(torch.ones(2, 2), torch.ones(2))])


def test_an_empty_path_is_called_empty():
    assert "the path of the target is empty" in message(FileNotFoundError, Scale(), *SCALED, f="")


def test_a_run_that_is_longer_at_another_size_says_so():
    text = message(errors.OnnxExporterError, Unrolled(), torch.ones(2, 3), dynamic_axes={"x": {0: "b"}}, strict=True)
    assert "the run ends here, but goes on with aten::slice.Tensor at b=3" in text


OUTSIDE = torch.nn.Linear(3, 4)


def test_a_function_that_calls_a_module_is_told_to_export_the_module():
    assert "export the nn.Module itself" in message(LoweringError, lambda x: OUTSIDE(x), torch.ones(2, 3))


@pytest.mark.parametrize(
    ("given", "error", "text"),
    [
        (torch.randn(3, 5), ValueError, r"the input x float\[n, 4\] got a tensor of shape \[3, 5\]"),
        (torch.randn(4), ValueError, r"got a tensor of shape \[4\]"),
        (torch.randn(3, 4).double(), TypeError, r"got a tensor of torch.float64"),
    ],
)
def test_arguments_that_a_result_does_not_take(given, error, text):
    result = onnxport.export(torch.nn.Linear(4, 2), torch.randn(2, 4), input_names=["x"], dynamic_axes={"x": {0: "n"}})
    assert result(torch.randn(5, 4)).shape == (5, 2)
    with pytest.raises(error, match=text):
        result(given)
