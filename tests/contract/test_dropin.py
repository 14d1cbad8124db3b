"""`replace_torch_onnx`: torch.onnx is onnxport, for code that can't be changed."""

from __future__ import annotations

import inspect
import io
import operator
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import onnx
import onnxruntime as ort
import pytest
import torch

import onnxport
from tests.contract.harness import Net, X, run


def in_a_process(script: str, tmp_path) -> None:
    path = tmp_path / "program.py"
    path.write_text(textwrap.dedent(script))
    paths = [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr


# Whatever of torch's exporter could be reached raises.
GUARD = """
import sys, torch
def _reached(*args, **kwargs):
    raise AssertionError("torch's own exporter was reached")
for _name in dir(torch._C):
    if _name.startswith(("_jit_pass_onnx", "_jit_onnx")):
        setattr(torch._C, _name, _reached)
"""


@pytest.mark.parametrize("before", ["", "import torch.onnx"], ids=["not_loaded", "loaded"])
def test_library_code_runs_unchanged(before, tmp_path):
    in_a_process(
        f"""
        {before}
        {textwrap.indent(GUARD, " " * 8).strip()}
        import numpy, onnxruntime, onnxport
        onnxport.replace_torch_onnx()
        from tests.contract import library_code
        exported = library_code.export_all()
        for name, (model, args, data) in exported.items():
            session = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
            got = session.run(None, {{f"x{{i}}": a.numpy() for i, a in enumerate(args)}})
            if name == "roi":
                assert got[0].shape == (2, 4, 2, 2)
                continue
            expected = model(*args)
            for a, b in zip(got, expected if isinstance(expected, tuple) else (expected,)):
                numpy.testing.assert_allclose(a, b.detach().numpy(), rtol=1e-4, atol=1e-5)
        own = [n for n, m in sys.modules.items() if n.startswith("torch.onnx._internal") and "torchscript_exporter" in vars(m).get("__file__", "")]
        assert not own or {bool(before)}, own
        assert "onnxscript" not in sys.modules or {bool(before)}
        """,
        tmp_path,
    )


@pytest.mark.parametrize(
    "how", ["import torch.onnx", "from torch.onnx import export as kept", "import torch.onnx as kept_module"]
)
def test_nothing_reaches_torchs_own_exporter(how, tmp_path):
    in_a_process(
        f"""
        {how}
        import torch.onnx, torch.onnx.utils
        {textwrap.indent(GUARD, " " * 8).strip()}
        import io, onnxport
        model, x = torch.nn.Linear(2, 3), torch.randn(1, 2)
        with onnxport.replace_torch_onnx():
            calls = [torch.onnx.export, torch.onnx.utils.export]
            calls += [kept] if "kept" in globals() else []
            calls += [kept_module.export] if "kept_module" in globals() else []
            for call in calls:
                for dynamo in (False, True):
                    f = io.BytesIO()
                    call(model, (x,), f, dynamo=dynamo)
                    import onnx
                    assert onnx.load_from_string(f.getvalue()).producer_name == "onnxport"
        """,
        tmp_path,
    )


def test_replacement_ends_with_the_block():
    import torch.onnx

    before = {n: m for n, m in sys.modules.items() if n.startswith("torch.onnx")}
    own, code = torch.onnx.export, torch.onnx.export.__code__
    with onnxport.replace_torch_onnx():
        assert torch.onnx.export is not own
        with onnxport.replace_torch_onnx():
            pass
        assert torch.onnx.is_in_onnx_export is onnxport.is_in_onnx_export
    assert torch.onnx.export is own
    assert own.__code__ is code
    assert {n: m for n, m in sys.modules.items() if n.startswith("torch.onnx")} == before


def test_replacement_can_be_undone_in_any_order():
    import torch.onnx

    own = torch.onnx.export
    first, second = onnxport.replace_torch_onnx(), onnxport.replace_torch_onnx()
    first.undo()
    assert torch.onnx.export is not own
    second.undo()
    second.undo()
    assert torch.onnx.export is own


@pytest.fixture
def replaced():
    with onnxport.replace_torch_onnx():
        yield


def test_modules_and_names_are_ours(replaced):
    import torch.onnx
    from torch.onnx import errors, symbolic_helper, symbolic_opset11, utils
    from torch.onnx._globals import GLOBALS
    from torch.onnx._type_utils import JitScalarType
    from torch.onnx.symbolic_opset9 import relu  # noqa: F401

    assert torch.onnx.register_custom_op_symbolic is onnxport.register_custom_op_symbolic
    assert torch.onnx.OperatorExportTypes is onnxport.OperatorExportTypes
    assert torch.onnx.TrainingMode is onnxport.TrainingMode
    assert JitScalarType is onnxport.JitScalarType
    assert symbolic_helper.parse_args is onnxport.symbolic_helper.parse_args
    assert symbolic_helper._export_onnx_opset_version == GLOBALS.export_onnx_opset_version == 14
    assert errors.SymbolicValueError is onnxport.errors.SymbolicValueError
    assert utils.unconvertible_ops is onnxport.utils.unconvertible_ops
    assert callable(symbolic_opset11.add)
    assert torch.onnx.TensorProtoDataType.FLOAT == onnx.TensorProto.FLOAT
    with pytest.raises(ImportError):
        import torch.onnx.no_such_module


def export(*args, **options) -> onnx.ModelProto:
    f = io.BytesIO()
    torch.onnx.export(*args, f, **options)
    return onnx.load_from_string(f.getvalue())


@pytest.mark.parametrize("dynamo", [False, True, None])
def test_todays_arguments_are_understood(replaced, dynamo, tmp_path):
    options = {} if dynamo is None else {"dynamo": dynamo}

    class Model(torch.nn.Module):
        def forward(self, x, *, y):
            return x + y

    proto = export(Model(), (X,), kwargs={"y": X}, **options)
    assert [i.name for i in proto.graph.input] == ["x", "y"]
    proto = export(
        Net(), (X,), opset_version=18, verbose=False, optimize=False, verify=True, export_params=True,
        autograd_inlining=True, fallback=True, custom_opsets={"d": 1}, report=True, profile=True,
        dump_exported_program=True, artifacts_dir=tmp_path, **options,
    )  # fmt: skip
    assert proto.opset_import[0].version == 18
    assert "| Gemm | 1 |" in (tmp_path / "onnxport_report.md").read_text()
    assert "aten::linear" in (tmp_path / "onnxport_program.txt").read_text()
    assert "cumulative" in (tmp_path / "onnxport_profile.txt").read_text()


def test_dynamic_shapes_are_understood(replaced):
    batch = torch.export.Dim("batch")
    proto = export(Net(), (X,), dynamic_shapes={"x": {0: batch}}, dynamo=True)
    assert proto.graph.input[0].type.tensor_type.shape.dim[0].dim_param == "batch"
    assert run(proto, torch.randn(5, 3).numpy())[0].shape == (5, 4)


def test_external_data_is_understood(replaced, tmp_path):
    model = torch.nn.Linear(300, 300)
    torch.onnx.export(model, (torch.randn(1, 300),), tmp_path / "m.onnx", external_data=True)
    assert (tmp_path / "m.onnx.data").exists()
    torch.onnx.export(model, (torch.randn(1, 300),), tmp_path / "n.onnx", external_data=False)
    assert not (tmp_path / "n.onnx.data").exists()
    for name in ("m.onnx", "n.onnx"):
        ort.InferenceSession(str(tmp_path / name), providers=["CPUExecutionProvider"])


def test_the_result_stands_for_an_onnx_program(replaced, tmp_path):
    program = torch.onnx.export(Net(), (X,), dynamo=True)
    program.optimize()
    program.save(tmp_path / "a.onnx")
    assert program.model_proto.graph.node
    assert isinstance(program, torch.onnx.ONNXProgram)
    torch.testing.assert_close(program(X), (Net()(X),))


def test_custom_translation_table_holds_for_one_export(replaced):
    table = {torch.ops.aten.relu.default: lambda g, x: g.op("Abs", x)}
    assert [n.op_type for n in export(torch.nn.ReLU(), (X,), custom_translation_table=table).graph.node] == ["Abs"]
    assert [n.op_type for n in export(torch.nn.ReLU(), (X,)).graph.node] == ["Relu"]
    other = {torch.ops.aten.relu.default: lambda x: x}  # of a form that isn't known here: there is a conversion for it
    with pytest.warns(onnxport.errors.OnnxExporterWarning, match="aten::relu"):
        proto = export(torch.nn.ReLU(), (X,), custom_translation_table=other)
    assert [n.op_type for n in proto.graph.node] == ["Relu"]
    unused = {torch.ops.aten.abs.default: lambda x: x, operator.floordiv: [lambda x: x]}
    assert [n.op_type for n in export(torch.nn.ReLU(), (X,), custom_translation_table=unused).graph.node] == ["Relu"]


def test_all_arguments_have_names(replaced):
    """Code looks for them, to know what it may say."""
    names = inspect.signature(torch.onnx.export).parameters
    assert {"model", "args", "f", "dynamo", "dynamic_shapes", "external_data", "training", "fallback"} <= names.keys()
    assert not {p.kind for p in names.values()} & {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}


def test_code_may_ask_for_an_exported_program(replaced):
    fixed = torch.onnx.export(Net(), (X,))
    assert hasattr(fixed, "exported_program")
    recorded = torch.onnx.export(Net(), (X,), dynamic_shapes={"x": {0: "batch"}})
    assert not hasattr(recorded, "exported_program")
    with pytest.raises(onnxport.errors.OnnxExporterError, match="recorded, not exported"):
        recorded.exported_program  # noqa: B018


def test_autograd_inlining_false_refuses_functions_without_symbolic(replaced):
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

    class Model(torch.nn.Module):
        def forward(self, x):
            return Twice.apply(x)

    assert [n.op_type for n in export(Model(), (X,)).graph.node] == ["Mul"]
    with pytest.raises(onnxport.errors.UnsupportedOperatorError, match="Twice"):
        export(Model(), (X,), autograd_inlining=False)


def test_an_argument_that_nobody_knows_is_refused(replaced):
    with pytest.raises(TypeError, match="nonsense"):
        export(Net(), (X,), nonsense=1)


def test_models_that_ask_are_told(replaced):
    told = []

    class Model(torch.nn.Module):
        def forward(self, x):
            told.append(torch.onnx.is_in_onnx_export())
            return x

    export(Model(), (X,))
    assert told == [True]
    assert not torch.onnx.is_in_onnx_export()
