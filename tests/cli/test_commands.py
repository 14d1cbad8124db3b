"""The command line: what it prints, writes and returns."""

from __future__ import annotations

import inspect
import pathlib
import subprocess
import sys

import onnx
import pytest
import torch

from onnxport.cli import run
from tests.cli.models import Net

MODELS = "tests.cli.models"
INPUTS = ("-i", "x=float32[2,4]", "-i", "shift=float32[3]")


@pytest.fixture
def file(tmp_path: pathlib.Path) -> pathlib.Path:
    return tmp_path / "net.onnx"


@pytest.mark.parametrize("target", ["make", "net", "Net"])
def test_export(target: str, file: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["export", f"{MODELS}:{target}", "-o", str(file), *INPUTS, "-d", "x:0=batch", "--opset", "17"]) == 0
    model = onnx.load(file)
    assert [i.name for i in model.graph.input] == ["x", "shift"]
    assert model.graph.input[0].type.tensor_type.shape.dim[0].dim_param == "batch"
    assert model.opset_import[0].version == 17
    out, err = capsys.readouterr()
    assert f"{file}: {len(model.graph.node)} nodes, {file.stat().st_size} B, opset 17" in out
    assert err == ""


def test_inputs_in_any_order(file: pathlib.Path) -> None:
    assert run(["export", f"{MODELS}:make", "-o", str(file), *INPUTS[2:], *INPUTS[:2]]) == 0
    assert [i.name for i in onnx.load(file).graph.input] == ["x", "shift"]


def test_export_and_verify(file: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["export", f"{MODELS}:make", "-o", str(file), *INPUTS, "-d", "x:0=batch", "--verify"]) == 0
    out = capsys.readouterr().out
    assert [line.split()[0] for line in out.splitlines() if line.endswith("ok")] == [f"batch={n}" for n in (2, 3, 4, 1)]


def test_external_data(file: pathlib.Path) -> None:
    assert run(["export", f"{MODELS}:Wide", "-o", str(file), "-i", "x=float32[2,64]", "--external-data"]) == 0
    assert file.stat().st_size < 64 * 64 * 4
    assert file.with_name("net.onnx.data").exists()


def test_verify_file(file: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["export", f"{MODELS}:make", "-o", str(file), *INPUTS, "-d", "x:0=batch"]) == 0
    assert run(["verify", str(file), f"{MODELS}:make", *INPUTS]) == 0
    assert "batch=3" in capsys.readouterr().out


def test_weights_drawn_at_random_are_the_same_in_both_commands(file: pathlib.Path) -> None:
    assert run(["export", f"{MODELS}:Wide", "-o", str(file), "-i", "x=float32[2,64]"]) == 0
    torch.rand(3)
    assert run(["verify", str(file), f"{MODELS}:Wide", "-i", "x=float32[2,64]"]) == 0
    assert run(["verify", str(file), f"{MODELS}:Wide", "-i", "x=float32[2,64]", "--seed", "1"]) == 1


def test_verify_file_that_differs(file: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["export", f"{MODELS}:make", "-o", str(file), *INPUTS]) == 0
    assert run(["verify", str(file), f"{MODELS}:Other", *INPUTS]) == 1
    out, err = capsys.readouterr()
    assert "DIFFERS" in out
    assert "values differ" in err
    assert run(["verify", str(file), f"{MODELS}:Other", *INPUTS, "--atol", "100"]) == 0


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["tests.cli.nowhere:make"], 2, "there is no module 'tests.cli.nowhere'"),
        ([f"{MODELS}:nope"], 2, "has no 'nope'"),
        ([f"{MODELS}:mak"], 2, "has no 'mak'; did you mean 'make'?"),
        ([f"{MODELS}:number"], 2, "number is not a torch.nn.Module, nor makes one: int"),
        ([f"{MODELS}:sized"], 2, "sized takes arguments; it must make the model without any"),
        (["tests/cli/models.py"], 2, "is a file of Python; give tests.cli.models:NAME, as Python imports it"),
        (["./tests/cli/models.py:make"], 2, "is a file; give tests.cli.models:make, as Python imports it"),
        (["{file}"], 2, "is an ONNX model already; give the model in PyTorch"),
        ([f"{MODELS}:make", *INPUTS[:2], "-i", "shft=float32[3]"], 2, "--input 'shft': the model takes x, shift"),
        ([f"{MODELS}:make", "-i", "shift=float32[2,4]", "-i", "b=float32[4]"], 2, "--input 'b': the model takes x"),
        (["model.bin"], 2, "is no file, and not package.module:name either"),
        ([f"{MODELS}:make", "-i", "x=float32"], 2, "is not NAME=DTYPE"),
        ([f"{MODELS}:make", *INPUTS[:2]], 2, "args don't fit forward"),
        ([f"{MODELS}:make", *INPUTS, "--opset", "5"], 2, "opset_version 5 is not supported"),
        ([f"{MODELS}:make", *INPUTS, "-d", "x:4=b"], 2, "'x' has 2 axes"),
        ([f"{MODELS}:make", "-i", "x=float32[2,5]", *INPUTS[2:]], 1, "mat1 and mat2 shapes cannot be multiplied"),
        ([f"{MODELS}:make", *INPUTS, "--nope"], 2, "No such option: --nope"),
    ],
)
def test_errors(
    arguments: list[str], code: int, message: str, file: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_bytes(b"old")
    assert run(["export", *(a.format(file=file) for a in arguments), "-o", str(file)]) == code
    err = capsys.readouterr().err
    assert message in err
    assert "Traceback" not in err
    assert file.read_bytes() == b"old"


def test_missing_folder(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "none"
    file = folder / "m.onnx"
    assert run(["export", f"{MODELS}:make", "-o", str(file), *INPUTS]) == 2
    assert capsys.readouterr().err == f"onnxport: --output {file}: no such folder\n"


def test_where_the_model_fails_is_said(file: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(["export", f"{MODELS}:make", "-o", str(file), "-i", "x=float32[2,5]", *INPUTS[2:]])
    line = inspect.getsourcelines(Net.forward)[1] + 1
    assert f"models.py:{line})" in capsys.readouterr().err
    run(["--traceback", "export", f"{MODELS}:make", "-o", str(file), "-i", "x=float32[2,5]", *INPUTS[2:]])
    assert "Traceback" in capsys.readouterr().err


def test_pickles_are_loaded_only_if_told(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The pickle would make a file when it is loaded."""
    mark = tmp_path / "ran"

    class Trap:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return pathlib.Path.touch, (mark,)  # type: ignore[return-value]

    path, out = tmp_path / "model.pt", str(tmp_path / "m.onnx")
    torch.save(Trap(), path)
    assert run(["export", str(path), "-o", out, *INPUTS]) == 2
    assert "--unsafe unpickles it" in capsys.readouterr().err
    assert not mark.exists()
    torch.save(Net(), path)
    assert run(["export", str(path), "-o", out, *INPUTS, "--unsafe", "--verify"]) == 0
    torch.save(Net().state_dict(), path)
    assert run(["export", str(path), "-o", out, *INPUTS, "--unsafe"]) == 2
    assert "holds no whole torch.nn.Module, but OrderedDict; write a function" in capsys.readouterr().err


def test_scripts(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = tmp_path / "net.pt", tmp_path / "net.onnx"
    torch.jit.script(Net()).save(str(path))
    assert run(["export", str(path), "-o", str(out), *INPUTS, "-d", "x:0=b", "--verify"]) == 0
    assert run(["verify", str(out), str(path), *INPUTS]) == 0
    assert capsys.readouterr().err == ""


def test_exported_programs(tmp_path: pathlib.Path) -> None:
    path, out = tmp_path / "net.pt2", tmp_path / "net.onnx"
    torch.export.save(torch.export.export(Net(), (torch.zeros(2, 4), torch.zeros(3))), path)
    assert run(["export", str(path), "-o", str(out)]) == 2  # torch unpickles parts of such a file
    assert not out.exists()
    assert run(["export", str(path), "-o", str(out), "--unsafe", "--verify"]) == 0
    assert run(["verify", str(out), str(path), "--unsafe"]) == 0


def test_warnings_are_a_line(file: pathlib.Path) -> None:
    code = (
        f"import sys, onnxport.cli as c; sys.exit(c.run(['export', '{MODELS}:Labelled', '-o', {str(file)!r}, "
        f"'-i', 'x=float32[2,64]']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("onnxport: warning: the model returns the string 'label'")
    assert len(done.stderr.splitlines()) == 1


def test_help_is_quick() -> None:
    """Neither torch nor onnx is imported for it."""
    code = "import sys, onnxport.cli as c; c.run(['--help']); sys.exit('torch' in sys.modules or 'onnx' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "export" in done.stdout


def test_command_is_installed() -> None:
    done = subprocess.run([sys.executable, "-m", "onnxport", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == "onnxport 0.1.0\n"
