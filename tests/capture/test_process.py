"""What an export changes for the whole process: other threads don't notice, and nothing of it stays."""

from __future__ import annotations

import ast
import builtins
import io
import math
import sys
import threading
from pathlib import Path

import pytest
import torch

import onnxport
from onnxport.capture import shared
from onnxport.capture.tracing import changed_builtins

CHANGED = ("min", "max", "isinstance")


def state():
    return (
        [getattr(builtins, name) for name in CHANGED],
        [math.log, math.exp],
        [torch.is_tensor, torch._check_with, torch.nn.Module.__call__, torch.Tensor.__hash__],
        [name for name in ("__ceil__", "__round__", "is_integer") if hasattr(torch.Tensor, name)],
        list(sys.meta_path),
        torch.overrides._get_current_function_mode_stack(),
    )


class Raises(torch.nn.Module):
    """Raises if it is told to, while builtins are changed."""

    def __init__(self, fails):
        super().__init__()
        self.fails, self.see = fails, [].append

    def forward(self, x):
        self.see(min)
        if self.fails:
            raise KeyError("told to")
        return x[: max(x.size(0) - 1, 1)]


@pytest.mark.parametrize("fails", [False, True])
def test_nothing_stays(fails):
    before, model = state(), Raises(fails)
    seen = model.see.__self__
    if fails:
        with pytest.raises(KeyError):
            onnxport.export(model, (torch.ones(3),), io.BytesIO())
    else:
        onnxport.export(model, (torch.ones(3),), io.BytesIO())
    assert any(function is not min for function in seen)
    assert state() == before


def test_builtins_when_a_module_that_keeps_them_is_imported_beyond_the_export(tmp_path, monkeypatch):
    (tmp_path / "keeps_builtins.py").write_text(
        "import builtins, threading\nbegun, go_on = threading.events\nbegun.set()\nassert go_on.wait(60)\nkept = builtins.min\n"
    )
    begun, go_on = threading.Event(), threading.Event()
    monkeypatch.setattr(threading, "events", (begun, go_on), raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(changed_builtins, "_TABLES", "keeps_builtins")
    monkeypatch.setattr(changed_builtins, "_fill_tables", lambda: None)
    before = state()
    thread = threading.Thread(target=lambda: __import__("keeps_builtins"))
    with changed_builtins.changed({"min": lambda *args: "changed"}):
        thread.start()
        assert begun.wait(60)
    go_on.set()
    thread.join()
    assert sys.modules.pop("keeps_builtins").kept is min
    assert state() == before


class Rounded(torch.autograd.Function):
    """Has a gradient of its own."""

    @staticmethod
    def forward(ctx, x):
        return x.round()

    @staticmethod
    def backward(ctx, gradient):
        return gradient


class OfModule(torch.autograd.Function):
    """Its forward uses tensors that aren't among its arguments."""

    @staticmethod
    def forward(ctx, x, module):
        return module(x) * 2


def test_gradients_in_other_threads():
    gradients = []

    def train():
        x = torch.ones(2, requires_grad=True)
        Rounded.apply(x).sum().backward()
        gradients.append(x.grad)

    class Calls(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(3, 3)

        def forward(self, x):
            x = OfModule.apply(x, self.linear)
            thread = threading.Thread(target=train)
            thread.start()
            thread.join()
            return x

    x, model = torch.ones(2, 3), Calls()
    result = onnxport.export(model, (x,))
    torch.testing.assert_close(result(x), model(x).detach())
    assert len(gradients) > 1
    for gradient in gradients:
        torch.testing.assert_close(gradient, torch.ones(2))


def test_what_is_changed_is_marked():
    """`@shared` is the list of all that is changed for the process."""
    unmarked = []
    for path in Path(shared.__file__).parent.rglob("*.py"):
        for function in ast.parse(path.read_text()).body:
            if isinstance(function, ast.FunctionDef) and "mock.patch" in ast.unparse(function):
                if "shared" not in map(ast.unparse, function.decorator_list):
                    unmarked.append(f"{path.name}: {function.name}")
    assert unmarked == []
