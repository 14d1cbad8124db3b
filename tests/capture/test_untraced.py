"""What the tracer doesn't see by itself: memory that is read or replaced behind its back."""

from __future__ import annotations

import copy
import warnings

import pytest
import torch
from tests.harness import LATEST, case, cases, check, f32

import onnxport
from onnxport.errors import LoweringError, OnnxExporterWarning

SIZES = {0: {0: "n", 1: "m"}}


def written_through_data(x):
    y = x * 1
    y.data.add_(1)
    y.data[0] = 3
    return y * 2


def replaced_data(x):
    y = x * 1
    v = y[0]
    y.data = y * 3
    return y + 1, v.shape[0]


def to_slices(x, y):
    x = x.clone()
    x[:, x.shape[0] :] = torch.arange(3.0)
    x[1:3, 0] = y
    x[0, None, ..., :1] = y.unsqueeze(0)
    return x


def to_an_end(x, y):
    x = x * 1
    x[1:4] = y
    x[x.shape[0] - 1] = y * 2
    return x


class Normalized(torch.nn.Module):
    """Has its weight replaced in each run."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(4, 4) * 3)

    def forward(self, x):
        self.weight.data = torch.nn.functional.normalize(self.weight.data)
        return x @ self.weight


UNTRACED = [
    case("data", lambda x: x.data * 2 + x.data.new_zeros(x.data.shape), f32(3, 4), dynamic=SIZES),
    case("data_written", written_through_data, f32(3, 4), dynamic=SIZES),
    case("data_replaced", replaced_data, f32(3, 4)),
    case("deepcopy", lambda x: copy.deepcopy(x).mul_(2) + x, f32(3, 4), dynamic=SIZES),
    case("deepcopies", lambda x: (lambda a, b: a.add_(1) + b)(*copy.deepcopy((x, x))), f32(3, 4)),
    case("tensor_of_elements", lambda x: torch.tensor([x[0, 0], x[1, 1] * 2]), f32(3, 4)),
    case("tensor_of_rows", lambda x: torch.tensor([[x[0, 0], 1], [2.5, x.sum()]]), f32(3, 4)),
    case("tensor_of_mixed", lambda x: torch.tensor([x[0, 0].double(), 1, True, x.shape[0]]), f32(3, 4), dynamic=SIZES),
    case("tensor_as", lambda x: torch.tensor((x.argmax(), x.shape[0]), dtype=torch.int32), f32(3, 4), dynamic=SIZES),
    case("as_tensor", lambda x: torch.as_tensor([x.max() > 1, x.min() > 1]), f32(3, 4)),
]


ROWS = {0: {0: "n", 1: "m"}, 1: {}}
SET = [
    case("slices", to_slices, f32(3, 5, 3), f32(1), dynamic=ROWS, others=[(torch.rand(2, 4, 3), torch.rand(1))]),
    case("an_end", to_an_end, f32(5, 3), f32(3), dynamic={0: {0: "n"}}, others=[(torch.rand(2, 3), torch.rand(3))]),
]


@cases(SET, opsets=(11, LATEST))
def test_items_set(case, frontend, opset):
    """What is written takes the sizes of what it is written to at run time."""
    check(case, frontend, opset)


@cases(UNTRACED, opsets=(11, LATEST))
def test_untraced(case, frontend, opset):
    check(case, frontend, opset)


def test_a_weight_that_is_replaced():
    with pytest.warns(OnnxExporterWarning, match="the model writes to weight"):
        result = onnxport.export(Normalized(), (torch.randn(2, 4),), None)
    x = torch.randn(2, 4)
    torch.testing.assert_close(result(x), Normalized()(x).detach())


def test_data_of_other_sizes_is_refused():
    def program(x):
        y = x * 1
        y.data = y[0]
        return y

    with pytest.raises(LoweringError, match=r"is given data of torch.float32 and sizes \[4\]"):
        onnxport.export(program, (torch.ones(3, 4),), None)


def _doubled(a, b=0.0):
    return 2 * a


@pytest.mark.parametrize("write", [lambda x: x.clone().apply_(_doubled), lambda x: x.clone().map_(x, _doubled)])
def test_functions_of_single_elements(write):
    with pytest.raises(LoweringError, match="calls a Python function for each element"):
        onnxport.export(write, (torch.randn(3),), None)


@pytest.mark.parametrize(
    "resize", [lambda x: x.resize_(4, 4), lambda x: x.T.resize_([12]), lambda x: x.resize_as_(x[0])]
)
def test_resizing_of_other_memory_is_refused(resize):
    with pytest.raises(LoweringError, match=r"resize_ of a tensor of sizes \[\d, \d\] .* use reshape"):
        onnxport.export(lambda x: resize((x + 1).expand(3, 4)), (torch.ones(1, 4),), None)


def other_sizes(x):
    y, z = x * 2, torch.empty(0)
    row = y[0]
    y.resize_(2, x.size(0))
    y += 1
    row[1] = 9
    z.resize_as_(x).copy_(x)
    return y, row, z, torch.empty(0).resize_(x.size(1), 3).fill_(x.size(0))


@pytest.mark.parametrize("model", [other_sizes, torch.nn.CrossMapLRN2d(3)], ids=["function", "CrossMapLRN2d"])
def test_resizing_of_the_same_memory(model):
    made = (lambda n: torch.randn(n, 4)) if model is other_sizes else (lambda n: torch.randn(2, 5, n, 4))
    axis = 0 if model is other_sizes else 2
    result = onnxport.export(model, (made(3),), None, input_names=["x"], dynamic_axes={"x": {axis: "n"}})
    for n in (3, 5, 2):
        x = made(n)
        torch.testing.assert_close(result(x), model(x.clone()))


def test_resizing_to_the_same_sizes_is_nothing():
    x = torch.randn(3, 4)
    result = onnxport.export(lambda x: (x + 1).resize_(3, 4) * (x + 2).resize_as_(x), (x,), None)
    torch.testing.assert_close(result(x), (x + 1) * (x + 2))


@pytest.mark.parametrize(
    ("what", "program"),
    [
        ("a Python bool", lambda x: x * 2 if x.sum().is_nonzero() else x),
        ("a Python bool", lambda x: x * 2 if torch.equal(x, x + 1) else x),
        ("a Python bool", lambda x: x * 2 if torch.ones(3, 4).equal(x) else x),
        ("a Python bool", lambda x: x * 2 if x.allclose(x + 1) else x),
        ("a Python bool", lambda x: x * 2 if 3.0 in x else x),
        ("plain memory", lambda x: torch.from_dlpack(x) * 2),
        ("plain memory", lambda x: x * len(x.untyped_storage())),
    ],
)
def test_values_taken_are_warned_of(what, program):
    with pytest.warns(OnnxExporterWarning, match=f"takes the value of a tensor as {what}"):
        onnxport.export(program, (torch.ones(3, 4),), None)


def test_values_of_constants_are_not():
    with warnings.catch_warnings():
        warnings.simplefilter("error", OnnxExporterWarning)
        onnxport.export(lambda x: x * 2 if torch.ones(1).is_nonzero() else x, (torch.ones(3, 4),), None)
        onnxport.export(lambda x: x * 2 if torch.equal(torch.ones(3), torch.ones(3)) else x, (torch.ones(3, 4),), None)


def test_modules_that_the_model_imports_first(tmp_path, monkeypatch):
    """What they compute while they are imported isn't part of the model, and may be what the tracer doesn't take."""
    (tmp_path / "imported_late.py").write_text(
        "import torch\n\n"
        "SCALE = torch.ones(3) * 2\n"
        "LENGTH = torch.ops.aten.size.int(SCALE, 0)\n"
        "lib = torch.library.Library('imported_late', 'DEF')\n"
        "lib.define('version() -> int')\n"
        "lib.impl('version', lambda: 3, 'CompositeExplicitAutograd')\n"
        "VERSION = torch.ops.imported_late.version()\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))

    def model(x):
        import imported_late

        return x * imported_late.SCALE + imported_late.VERSION

    x = torch.randn(2, 3)
    result = onnxport.export(model, (x,), input_names=["x"], dynamic_axes={"x": [0]})
    torch.testing.assert_close(result(x), x * 2 + 3)
    assert [node.op_type for node in result.model.graph] == ["Mul", "Add"]
