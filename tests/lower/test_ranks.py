"""Outputs whose number of dimensions isn't known before the model runs."""

from __future__ import annotations

import warnings

import onnx
import pytest
import torch
from tests.harness import LATEST, case, cases, check, f32

import onnxport
from onnxport.errors import LoweringError, OnnxExporterWarning

SIZES = {0: {0: "n", 1: "m"}}
OTHERS = [(torch.rand(1, 4, 3),), (torch.rand(3, 1, 3),), (torch.rand(1, 1, 3),)]


def squeeze(x):
    return x.squeeze()


def squeeze_one(x):
    return x.squeeze(1)


def squeeze_from_behind(x):
    return x.squeeze(-2), x


def squeeze_after_an_op(x):
    y = (x * 2)[..., None]
    return y.squeeze(0), y.squeeze()


SQUEEZES = [
    case("all", squeeze, f32(2, 4, 3), dynamic=SIZES, others=OTHERS),
    case("one", squeeze_one, f32(2, 4, 3), dynamic=SIZES, others=OTHERS, opset=9),
    case("from_behind", squeeze_from_behind, f32(2, 4, 3), dynamic=SIZES, others=OTHERS, opset=9),
    case("after_an_op", squeeze_after_an_op, f32(2, 4, 3), dynamic=SIZES, others=OTHERS, opset=9),
    case("two", lambda x: x.squeeze((0, 2)), f32(2, 4, 3), dynamic={0: {0: "n", 2: "m"}}, opset=9,
         others=[(torch.rand(1, 4, 1),), (torch.rand(1, 4, 2),), (torch.rand(5, 4, 1),)]),
]  # fmt: skip


@pytest.mark.filterwarnings("error::onnxport.errors.OnnxExporterWarning")
@cases(SQUEEZES, opsets=(7, 9, 11, 13, LATEST))
def test_squeeze(case, frontend, opset):
    check(case, frontend, opset)


@pytest.mark.parametrize("opset", [9, 13, LATEST])
@pytest.mark.parametrize("program", [squeeze, squeeze_one])
@pytest.mark.parametrize("script", [False, True])
def test_an_example_of_size_1(program, script, opset):
    example = (torch.rand(2, 1, 3),)
    axes = {"x": {0: "n", 1: "m"}}
    model = torch.jit.script(program) if script else program
    result = onnxport.export(model, example, None, input_names=["x"], dynamic_axes=axes, opset_version=opset)
    for shape in ((2, 1, 3), (2, 4, 3), (1, 1, 3)):
        x = torch.rand(shape)
        torch.testing.assert_close(result(x), program(x))


def test_below_opset_9_the_axis_stays():
    with pytest.warns(OnnxExporterWarning, match="squeeze keeps the axis of size m"):
        onnxport.export(
            squeeze_one,
            (torch.rand(2, 4, 3),),
            None,
            input_names=["x"],
            dynamic_axes={"x": {0: "n", 1: "m"}},
            opset_version=8,
        )


def both(x):
    y = x.squeeze(0)
    return y, y + 1


def test_what_is_used_further_keeps_its_axis():
    x = torch.rand(2, 3)
    with pytest.warns(OnnxExporterWarning, match="squeeze keeps the axis of size n"):
        result = onnxport.export(both, (x,), None, input_names=["x"], dynamic_axes={"x": {0: "n"}})
    assert "Identity" not in [node.op_type for node in result.model.graph]
    for found, expected in zip(result(x), both(x)):
        torch.testing.assert_close(found, expected)


def unsqueeze_at(x, dim: int):
    y = torch.unsqueeze(x, dim)
    return y * y.shape[0], y.sum(0)


def squeeze_at(x, dim: int):
    return torch.squeeze(x, dim)


@pytest.mark.parametrize(("program", "lowest"), [(unsqueeze_at, 13), (squeeze_at, 9)])
@pytest.mark.parametrize("axes", [{}, {"x": {0: "n", 1: "m"}}])
def test_axes_known_at_run_time(program, lowest, axes):
    for opset in {lowest, 13, LATEST}:
        result = onnxport.export(
            torch.jit.script(program), (torch.rand(2, 1, 4), 1), None, input_names=["x", "dim"], dynamic_axes=axes,
            opset_version=opset,
        )  # fmt: skip
        for dim in (0, 1, 2, -1, -2, -3):
            for shape in ((2, 1, 4), (1, 3, 4)) if axes else ((2, 1, 4),):
                x = torch.rand(shape)
                torch.testing.assert_close(result(x, dim), program(x, dim))


def rows_or_all(x):
    y = x
    if x.sum() > 0:
        y = x[0]
    return y + 1, y.relu()


def test_a_rank_for_each_branch():
    with pytest.warns(OnnxExporterWarning, match="the exported model declares 1"):
        result = onnxport.export(torch.jit.script(rows_or_all), (torch.ones(2, 3),), None, opset_version=11)
    onnx.checker.check_model(result.model_proto, full_check=True)
    for x in (torch.rand(2, 3), -torch.rand(2, 3)):
        for found, expected in zip(result(x), rows_or_all(x)):
            torch.testing.assert_close(found, expected)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(LoweringError, match="make the ranks agree, or use opset 11"):
            onnxport.export(torch.jit.script(rows_or_all), (torch.ones(2, 3),), None, opset_version=9)
