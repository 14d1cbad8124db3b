"""Loops of torch's own, `scan` and `map`, and its functions on sizes: exported programs, and models that call them."""

from __future__ import annotations

import warnings

import pytest
import torch
from tests.harness import OfX
from torch._higher_order_ops import scan
from torch._higher_order_ops.map import map as map_rows
from torch.export import Dim

import onnxport


class Distances(torch.nn.Module):
    def forward(self, x, y):
        def row(y, part):
            return [y.clone(), (y - part.reshape((1, -1))).square().sum(1).sqrt()]

        return torch.ops.higher_order.scan(row, [y], [x], additional_inputs=[])


class Recurrent(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell = torch.nn.LSTMCell(4, 5)

    def forward(self, x):
        def step(state, part):
            h, c = self.cell(part, state)
            return (h, c), h.clone()

        start = (torch.zeros(2, 5), torch.zeros(2, 5))
        (h, c), outputs = scan(step, start, x)
        return outputs, h, c


class Backwards(torch.nn.Module):
    def forward(self, x):
        return scan(lambda total, part: (total + part, total * part), torch.zeros(4), x, reverse=True)


class Mapped(torch.nn.Module):
    def forward(self, x, y):
        return map_rows(lambda part, whole: (part * whole).sum(0), x, y)


N, M = Dim("n"), Dim("m")
LOOPS = [
    (Distances(), [(3, 4), (5, 4)], ({0: N}, {0: M}), [(6, 4), (2, 4)]),
    (Recurrent(), [(7, 2, 4)], ({0: N},), [(3, 2, 4)]),
    (Backwards(), [(3, 4)], ({0: N},), [(6, 4)]),
    (Mapped(), [(3, 4), (4,)], ({0: N}, None), [(5, 4), (4,)]),
    (Mapped(), [(3, 4), (4,)], None, [(3, 4), (4,)]),
]


def made(shapes):
    return tuple(torch.randn(shape) for shape in shapes)


def compare(result, model, *inputs):
    found = result(*inputs)
    expected = torch.utils._pytree.tree_leaves(model(*inputs))
    for a, e in zip(found if isinstance(found, tuple) else (found,), expected, strict=True):
        torch.testing.assert_close(a, torch.as_tensor(e), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("opset", [9, 13, 20])
@pytest.mark.parametrize("model, shapes, dynamic, others", LOOPS, ids=lambda x: type(x).__name__)
def test_loops_over_rows(model, shapes, dynamic, others, opset):
    exported = torch.export.export(model, made(shapes), dynamic_shapes=dynamic)
    result = onnxport.export(exported, opset_version=opset)
    for sizes in (shapes, others):
        compare(result, model, *made(sizes))


@pytest.mark.parametrize("model, shapes, dynamic, others", LOOPS[:2], ids=lambda x: type(x).__name__)
def test_a_model_that_loops_is_captured_by_torch_export(model, shapes, dynamic, others):
    result = onnxport.export(model, made(shapes), dynamic_shapes=dynamic)
    for sizes in (shapes, others):
        compare(result, model, *made(sizes))


SYMBOLIC = {
    "max": lambda x: torch.sym_max(*x.shape),
    "min": lambda x: torch.sym_min(x.shape[0], x.shape[1] * 2),
    "min_of_number": lambda x: x[: torch.sym_min(x.shape[0], 3)] + 1,
    "not": lambda x: torch.sym_not(x.shape[0] == x.shape[1]),
    "float": lambda x: x * (1 / torch.sym_float(x.shape[0])),
    "int": lambda x: torch.sym_int(x.shape[0] / 2),
    "ite": lambda x: torch.sym_ite(x.shape[0] > x.shape[1], x.shape[0], x.shape[1]),
    "abs": lambda x: abs(x.shape[0] - x.shape[1]),
}


@pytest.mark.parametrize("front_end", ["trace", "exported"])
@pytest.mark.parametrize("name", SYMBOLIC)
def test_functions_of_sizes_stay_live(name, front_end):
    model, x = OfX(SYMBOLIC[name]), torch.randn(2, 5)
    dynamic = ({0: Dim.DYNAMIC, 1: Dim.DYNAMIC},)
    with warnings.catch_warnings():
        warnings.simplefilter("error", onnxport.errors.OnnxExporterWarning)
        if front_end == "trace":
            result = onnxport.export(model, x, dynamic_shapes=dynamic)
        else:
            result = onnxport.export(torch.export.export(model, (x,), dynamic_shapes=dynamic))
    for sizes in ((2, 5), (7, 4), (3, 3)):
        compare(result, model, torch.randn(sizes))
