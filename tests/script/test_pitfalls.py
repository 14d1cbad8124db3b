"""A trace that takes values out of tensors warns once per source line, and only then."""

import warnings

import pytest
import torch

import onnxport
from onnxport.errors import OnnxExporterWarning


def exported(function, *args):
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(3))

        def forward(self, *inputs):
            return function(self, *inputs)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        onnxport.export(Model(), args)
    return [str(w.message) for w in caught if issubclass(w.category, (OnnxExporterWarning, torch.jit.TracerWarning))]


def item_in_loop(model, x):
    for _ in range(4):
        x = x * x.sum().item()
    return x


def branch(model, x):
    if x.sum() > 0:
        return x * 2
    return x


TAKES = {
    "item": item_in_loop,
    "if": branch,
    "int": lambda model, x: x * int(x[0]),
    "float": lambda model, x: x * float(x[0]),
    "list": lambda model, x: x * x.tolist()[0],
    "numpy": lambda model, x: x * float(x.numpy().sum()),
    "index": lambda model, x: [x, x + 1][x.argmax()],
}


@pytest.mark.parametrize("name", TAKES)
def test_warns_once_for_a_line(name):
    messages = exported(TAKES[name], torch.ones(3))
    assert len(messages) == 1
    line = TAKES[name].__code__.co_firstlineno
    assert any(f"{__file__}:{line + step}" in messages[0] for step in range(3))
    assert "torch.jit.script" in messages[0]


SILENT = {
    "sizes": lambda model, x: x.reshape(int(x.shape[0] * 1), -1) if x.shape[0] > 2 else x,
    "weights": lambda model, x: x * float(model.weight.sum()),
    "constants": lambda model, x: x * int(torch.tensor([1, 2]).sum()),
}


@pytest.mark.parametrize("name", SILENT)
def test_is_silent(name):
    assert exported(SILENT[name], torch.ones(3)) == []
