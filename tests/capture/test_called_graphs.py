"""Exported programs with operators that do no more than call a graph."""

from __future__ import annotations

import pytest
import torch
from torch._higher_order_ops.hints_wrap import hints_wrapper
from torch._higher_order_ops.strict_mode import strict_mode

import onnxport


@torch.compiler.nested_compile_region
def region(x, y):
    return x @ y + 1


def regions(x, y):
    return region(x, y) * region(x + 1, y)


def hints(x, y):
    return hints_wrapper(lambda x, y: (x @ y,), (x, y), {}, hints={"priority": 1})[0]


def strictly(x, y):
    return strict_mode(lambda x, y: (x @ y, y.sum()), (x, y))


@pytest.mark.parametrize("function", [regions, hints, strictly], ids=lambda f: f.__name__)
def test_operators_that_call_a_graph(function):
    model = torch.nn.Module()
    model.forward = function
    rows = torch.export.Dim("rows")
    exported = torch.export.export(
        model, (torch.randn(2, 3), torch.randn(3, 3)), dynamic_shapes=({0: rows}, {}), strict=function is regions
    )
    assert any(isinstance(n.target, torch._ops.HigherOrderOperator) for n in exported.graph.nodes)
    result = onnxport.export(exported, (), None)
    for n in (2, 5):
        x, y = torch.randn(n, 3), torch.randn(3, 3)
        torch.testing.assert_close(result(x, y), function(x, y))


def test_a_region_in_a_traced_model():
    x, y = torch.randn(2, 3), torch.randn(3, 3)
    torch.testing.assert_close(onnxport.export(regions, (x, y), None)(x, y), regions(x, y))
