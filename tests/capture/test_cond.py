"""`torch.cond` in a module: the tracer can't look into it, so the capture goes through `torch.export`."""

import subprocess
import sys

import pytest
import torch

import onnxport


class Choose(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.small = torch.nn.Linear(3, 3)

    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda v: self.small(v), lambda v: v - 1, (x,))


@pytest.mark.parametrize(
    "options",
    [
        {"input_names": ["rows"], "dynamic_axes": {"rows": {0: "batch"}}},
        {"dynamic_shapes": ({0: torch.export.Dim("batch")},)},
    ],
    ids=["dynamic_axes", "dynamic_shapes"],
)
def test_both_branches_at_several_sizes(options):
    model = Choose()
    result = onnxport.export(model, (torch.ones(2, 3),), None, **options)
    assert "If" in [node.op_type for node in result.model.graph]
    for x in (torch.ones(2, 3), -torch.ones(2, 3), torch.ones(5, 3), -torch.ones(1, 3)):
        torch.testing.assert_close(result(x), model(x).detach())


def test_in_a_function():
    def choose(x):
        return torch.cond(x.sum() > 0, lambda v: (v + 1, v.sum()), lambda v: (v - 1, v.mean()), (x,))

    result = onnxport.export(choose, (torch.ones(2, 3),), None, input_names=["x"], dynamic_axes={"x": {0: "rows"}})
    for x in (torch.ones(2, 3), -torch.ones(5, 3)):
        for actual, expected in zip(result(x), choose(x)):
            torch.testing.assert_close(actual, expected)


FIRST = """
import torch, onnxport

class Choose(torch.nn.Module):
    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda v: v + 1, lambda v: v - 1, (x,))

onnxport.export(Choose(), (torch.ones(2, 3),))
compiled = torch.compile(lambda x: max(x.sum(), x.min()) if isinstance(x, torch.Tensor) else x, backend="eager", fullgraph=True)
assert compiled(torch.ones(2)) == 2
"""


def test_what_compiles_is_imported_in_a_trace():
    done = subprocess.run([sys.executable, "-c", FIRST], capture_output=True, text=True)
    assert not done.returncode, done.stderr
