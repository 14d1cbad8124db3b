"""The public surface: what is there is listed, and what is listed is there."""

from __future__ import annotations

import inspect
import re
import types
from pathlib import Path

import pytest
import torch

import onnxport
from onnxport import options

# Every public name, with what it is. A change here is a change of the interface.
PUBLIC = {
    "ExportResult": "class",
    "JitScalarType": "class",
    "OperatorExportTypes": "class",
    "TrainingMode": "class",
    "disable_log": "function",
    "enable_log": "function",
    "errors": "module",
    "export": "function",
    "export_to_pretty_string": "function",
    "is_in_onnx_export": "function",
    "register_custom_op_symbolic": "function",
    "replace_torch_onnx": "function",
    "select_model_mode_for_export": "function",
    "symbolic_helper": "module",
    "unregister_custom_op_symbolic": "function",
    "utils": "module",
    "verification": "module",
}


def kind(value: object) -> str:
    if isinstance(value, types.ModuleType):
        return "module"
    return "class" if inspect.isclass(value) else "function"


def test_all_lists_the_public_names():
    assert sorted(onnxport.__all__) == sorted(PUBLIC)
    assert {name: kind(getattr(onnxport, name)) for name in onnxport.__all__} == PUBLIC
    assert set(PUBLIC) <= set(dir(onnxport))


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_public_names_are_documented(name):
    assert inspect.getdoc(getattr(onnxport, name))


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = onnxport.no_such_name


CLASSIC = [
    "model", "args", "f", "export_params", "verbose", "training", "input_names", "output_names", "operator_export_type",
    "opset_version", "do_constant_folding", "dynamic_axes", "keep_initializers_as_inputs", "custom_opsets",
    "export_modules_as_functions",
]  # fmt: skip


def test_export_has_the_parameters_of_the_classic_page_in_their_order():
    parameters = inspect.signature(onnxport.export).parameters
    assert list(parameters)[: len(CLASSIC)] == CLASSIC
    assert all(p.kind is p.POSITIONAL_OR_KEYWORD for n, p in parameters.items() if n in CLASSIC)
    assert all(p.kind is p.KEYWORD_ONLY for n, p in parameters.items() if n not in CLASSIC)
    defaults = {n: p.default for n, p in parameters.items() if n in CLASSIC[3:]}
    assert defaults == {
        "export_params": True, "verbose": False, "training": onnxport.TrainingMode.EVAL, "input_names": None,
        "output_names": None, "operator_export_type": onnxport.OperatorExportTypes.ONNX, "opset_version": None,
        "do_constant_folding": True, "dynamic_axes": None, "keep_initializers_as_inputs": None, "custom_opsets": None,
        "export_modules_as_functions": False,
    }  # fmt: skip


def test_every_parameter_of_export_is_documented():
    text = inspect.getdoc(onnxport.export)
    assert all(f"{name}:" in text for name in inspect.signature(onnxport.export).parameters)


def test_export_to_pretty_string_has_the_parameters_of_the_classic_page_in_their_order():
    classic = [
        "model", "args", "export_params", "verbose", "training", "input_names", "output_names", "operator_export_type",
        "export_type", "google_printer", "opset_version", "keep_initializers_as_inputs", "custom_opsets",
        "add_node_names", "do_constant_folding", "dynamic_axes",
    ]  # fmt: skip
    assert list(inspect.signature(onnxport.export_to_pretty_string).parameters)[: len(classic)] == classic


def test_enums_have_the_members_of_the_classic_page():
    assert {k.name for k in onnxport.OperatorExportTypes} == {
        "ONNX", "ONNX_FALLTHROUGH", "ONNX_ATEN", "ONNX_ATEN_FALLBACK",
    }  # fmt: skip
    assert {(k.name, k.value) for k in onnxport.TrainingMode} == {("EVAL", 0), ("PRESERVE", 1), ("TRAINING", 2)}


def test_errors_have_the_names_of_the_classic_page():
    names = "OnnxExporterError OnnxExporterWarning CheckerError UnsupportedOperatorError SymbolicValueError"
    assert all(inspect.isclass(getattr(onnxport.errors, name)) for name in names.split())


@pytest.mark.parametrize("opset", [options.MIN_OPSET, 9, 16, options.newest_opset()])
def test_opset_modules_can_be_had_as_attributes_and_imported(opset):
    module = getattr(onnxport, f"symbolic_opset{opset}")
    assert module is __import__(f"onnxport.symbolic_opset{opset}", fromlist=["relu"])
    assert callable(module.relu)


def test_the_version_is_that_of_the_project_and_in_each_model():
    project = (Path(__file__).parents[1] / "pyproject.toml").read_text()
    assert re.findall(r'^version = "(.*)"', project, re.M) == [onnxport.__version__]
    model = onnxport.export(torch.nn.ReLU(), torch.ones(2)).model_proto
    assert (model.producer_name, model.producer_version) == ("onnxport", onnxport.__version__)
