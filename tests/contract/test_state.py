"""Mode, flag, log, and the functions beside `export`."""

from __future__ import annotations

import io
import subprocess
import sys
import textwrap
import threading
import types

import pytest
import torch

import onnxport
from onnxport import TrainingMode, utils
from tests.contract.harness import Net, X, exported

# -- select_model_mode_for_export -----------------------------------------------------------------


@pytest.mark.parametrize(
    "mode, inside",
    [
        (TrainingMode.EVAL, [False, False, False]),
        (TrainingMode.TRAINING, [True, True, True]),
        (TrainingMode.PRESERVE, [True, False, True]),
    ],
)
@pytest.mark.parametrize("fails", [False, True])
def test_select_model_mode_for_export_restores_every_submodule(mode, inside, fails):
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Dropout()).train()
    model[0].eval()
    try:
        with onnxport.select_model_mode_for_export(model, mode):
            assert [m.training for m in model.modules()] == inside
            if fails:
                raise KeyError
    except KeyError:
        assert fails
    assert [m.training for m in model.modules()] == [True, False, True]


def test_select_model_mode_for_export_of_scripts():
    model = torch.jit.script(torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Dropout())).train()
    with onnxport.select_model_mode_for_export(model, TrainingMode.EVAL):
        assert not model.training
    assert model.training


# -- is_in_onnx_export ----------------------------------------------------------------------------


class Asks(torch.nn.Module):
    def __init__(self, tell) -> None:
        super().__init__()
        self.tell = tell

    def forward(self, x):
        self.tell([onnxport.is_in_onnx_export(), torch.onnx.is_in_onnx_export()])
        thread = threading.Thread(target=lambda: self.tell([onnxport.is_in_onnx_export()]))
        thread.start()
        thread.join()
        return x + 1


def test_code_that_goes_wrong_in_exports_is_not_told():
    library = types.ModuleType("torch_geometric.utils._scatter")
    exec("import torch\ndef scatter(x): return x.relu() if torch.onnx.is_in_onnx_export() else x.abs()", vars(library))
    x = torch.tensor([-1.0, 2.0])
    torch.testing.assert_close(onnxport.export(library.scatter, (x,))(x), x.abs())


def test_is_in_onnx_export_only_during_an_export_and_per_thread():
    told: list[bool] = []
    for run in (lambda m: exported(m, X), lambda m: onnxport.export_to_pretty_string(m, X)):
        run(Asks(told.extend))  # a list that the model has itself comes back as it was
        assert told == [True, True, False]
        told.clear()
        assert not onnxport.is_in_onnx_export()
        assert not torch.onnx.is_in_onnx_export()


def test_is_in_onnx_export_after_a_failure():
    class Fails(torch.nn.Module):
        def forward(self, x):
            raise KeyError(torch.onnx.is_in_onnx_export())

    with pytest.raises(KeyError, match="True"):
        exported(Fails(), X)
    assert not onnxport.is_in_onnx_export()
    assert not torch.onnx.is_in_onnx_export()


@pytest.mark.parametrize(
    "before, asks",
    [
        ("", "torch.onnx.is_in_onnx_export()"),
        ("import torch.onnx", "torch.onnx.is_in_onnx_export()"),
        ("from torch.onnx import is_in_onnx_export as asked", "asked()"),
        ("", "__import__('torch.onnx').onnx.is_in_onnx_export()"),
    ],
    ids=["not_loaded", "loaded", "by_name", "loaded_by_the_model"],
)
def test_is_in_onnx_export_is_what_torch_answers_too(before, asks):
    script = f"""
        import torch, onnxport
        {before}
        class M(torch.nn.Module):
            def forward(self, x):
                assert {asks}
                return x + 1
        onnxport.export(M(), torch.ones(2))
        assert not ({asks})
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(script)], check=True)


# -- log ------------------------------------------------------------------------------------------


def test_log_is_off_then_on_then_off(capfd):
    exported(Net(), X)
    assert capfd.readouterr().err == ""
    onnxport.enable_log()
    try:
        exported(Net(), X)
        assert "[onnxport] " in capfd.readouterr().err
    finally:
        onnxport.disable_log()
    exported(Net(), X)
    assert capfd.readouterr().err == ""


def test_log_is_on_for_a_verbose_export_alone(capfd):
    exported(Net(), X, verbose=True)
    assert "[onnxport] " in capfd.readouterr().err
    exported(Net(), X)
    assert capfd.readouterr().err == ""


# -- export_to_pretty_string ----------------------------------------------------------------------


def test_export_to_pretty_string_compact():
    text = onnxport.export_to_pretty_string(Net(), X, input_names=["x"], output_names=["y"], opset_version=17)
    assert "ai.onnx: 17" in text
    assert "%y : Float(2, 4) = onnx::Add(" in text
    assert "name: /fc/Gemm" in text
    assert "name: " not in onnxport.export_to_pretty_string(Net(), X, add_node_names=False)


def test_export_to_pretty_string_of_protobuf():
    text = onnxport.export_to_pretty_string(Net(), X, google_printer=True)
    assert 'op_type: "Gemm"' in text
    import onnx
    from google.protobuf import text_format

    onnx.checker.check_model(text_format.Parse(text, onnx.ModelProto()))


def test_export_to_pretty_string_takes_the_other_arguments_of_export():
    text = onnxport.export_to_pretty_string(Net(), X, export_params=False, dynamic_axes={"x": {0: "n"}})
    assert "%x : Float(n, 3)" in text
    assert "%unused.weight : Float(2, 2)" in text
    with pytest.raises(ValueError, match="export_type"):
        onnxport.export_to_pretty_string(Net(), X, export_type="ZIP_ARCHIVE")


# -- unconvertible_ops ----------------------------------------------------------------------------


@torch.library.custom_op("contract_state::opaque", mutates_args=())
def opaque(x: torch.Tensor) -> torch.Tensor:
    return x.clone()


class Mixed(torch.nn.Module):
    def forward(self, x):
        y = torch.ops.contract_state.opaque(x.relu())
        return torch.ops.contract_state.opaque(y + 1)


def test_unconvertible_ops_lists_what_has_no_conversion():
    graph, ops = utils.unconvertible_ops(Mixed(), X, opset_version=13)
    assert ops == ["contract_state::opaque"] * 2
    assert "aten::relu" in [node.kind() for node in graph.nodes()]
    graph, ops = utils.unconvertible_ops(torch.jit.script(Mixed()), X, opset_version=13)
    assert "aten::relu" in [node.kind() for node in graph.nodes()]
    assert ops == ["contract_state::opaque"] * 2
    assert utils.unconvertible_ops(Net(), X)[1] == []


def test_unconvertible_ops_takes_registrations_into_account():
    onnxport.register_custom_op_symbolic("contract_state::opaque", lambda g, x: g.op("Identity", x), 11)
    try:
        assert utils.unconvertible_ops(Mixed(), X, opset_version=11)[1] == []
        assert set(utils.unconvertible_ops(Mixed(), X, opset_version=9)[1]) == {"contract_state::opaque"}
    finally:
        onnxport.unregister_custom_op_symbolic("contract_state::opaque", 11)


def test_unconvertible_ops_in_blocks_of_scripts():
    @torch.jit.script
    def scripted(x: torch.Tensor, flag: bool):
        if flag:
            x = torch.ops.contract_state.opaque(x)
        return x

    assert utils.unconvertible_ops(scripted, (X, True))[1] == ["contract_state::opaque"]


# -- independence ---------------------------------------------------------------------------------


def test_exports_with_torch_onnx_and_onnxscript_blocked(tmp_path):
    script = """
        import sys
        sys.modules["torch.onnx"] = sys.modules["onnxscript"] = None
        import io, torch, onnxport
        class M(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = torch.nn.Linear(3, 4)
            def forward(self, x):
                return self.fc(x).relu()
        class Twice(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2
        onnxport.export(M(), torch.ones(2, 3), io.BytesIO(), verbose=True)
        onnxport.export(torch.jit.script(M()), torch.ones(2, 3), io.BytesIO())
        onnxport.export(lambda x: Twice.apply(x), torch.ones(2, 3), io.BytesIO())
        assert not [name for name in sys.modules if name.startswith(("torch.onnx.", "onnxscript."))]
    """
    path = tmp_path / "blocked.py"  # scripting reads the source
    path.write_text(textwrap.dedent(script))
    subprocess.run([sys.executable, str(path)], check=True, capture_output=True)


def test_two_exports_in_two_threads():
    results = {}

    def work(i):
        f = io.BytesIO()
        onnxport.export(Net(), X, f, opset_version=9 + i)
        results[i] = f.getvalue()

    threads = [threading.Thread(target=work, args=(i,)) for i in (0, 8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(results) == {0, 8}


@pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning")  # filters of warnings are those of the process
def test_exports_that_overlap_leave_python_as_it_was():
    """What an export changes for the whole process stays until the last one ends, and no longer."""
    plain, inside, ended = (min, max), threading.Event(), threading.Event()

    class Waits(torch.nn.Module):
        def forward(self, x):
            inside.set()
            ended.wait(30)
            return x * min(x.shape[0], 8)

    thread = threading.Thread(target=lambda: onnxport.export(Waits(), X, io.BytesIO()))

    class Starts(torch.nn.Module):
        def forward(self, x):
            thread.start()
            assert inside.wait(30)
            return x

    onnxport.export(Starts(), X, io.BytesIO())
    assert (min, max) != plain  # the other one is still at it
    ended.set()
    thread.join()
    assert (min, max) == plain and not hasattr(torch.Tensor, "__ceil__")
