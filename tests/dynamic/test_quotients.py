"""Floats that a model makes of sizes in Python: quotients and logarithms stay live; what no graph computes is warned of."""

import math
import warnings

import pytest
import torch
import torch.nn.functional as F

import onnxport
from onnxport.capture.liveness.expressions import Expression, separating_size
from onnxport.errors import OnnxExporterWarning

AXES = {"x": {0: "b", 1: "n"}}


def centre(x):
    return x - torch.full((2,), float(x.shape[1] - 1) / 2).sum()


def scale(x):
    return x * (2.0 / float(x.shape[1] - 1))


def step(x):
    return x / float(x.shape[1])


def two_sizes(x):
    return x * (float(x.shape[1]) / 4) + float(x.shape[0])


def reciprocal_of_int(x):
    return x * (1 / int(x.shape[0]))


def pad_value(x):
    return F.pad(x, (0, 1), value=x.shape[0])


def root(x):
    return x * math.log2(float(x.shape[1]))


def of_both(x):
    return x * (float(x.shape[1]) / float(x.shape[0]))


@pytest.mark.parametrize("model", [centre, scale, step, two_sizes, reciprocal_of_int, pad_value, root, of_both])
def test_live(model):
    with warnings.catch_warnings():
        warnings.simplefilter("error", OnnxExporterWarning)
        result = onnxport.export(model, (torch.randn(2, 8),), input_names=["x"], dynamic_axes=AXES)
    for shape in ((2, 8), (3, 11), (1, 5), (7, 40)):
        x = torch.randn(shape)
        torch.testing.assert_close(result(x), model(x))


def sine(x):
    return x * math.sin(float(x.shape[1]))


def largest(x):
    return x * (0.5 if x.shape[1] > 9 else 0.25)


@pytest.mark.usefixtures("one_recording")
@pytest.mark.parametrize("model", [sine, largest])
def test_all_else_is_warned_of(model):
    with pytest.warns(OnnxExporterWarning, match="may be"):
        onnxport.export(model, (torch.randn(2, 8),), input_names=["x"], dynamic_axes=AXES)


@pytest.mark.parametrize("larger", [1.5, 2.0, 4.0])
def test_sizes_that_tell_expressions_apart_are_as_large_as_they_may_be(larger):
    half, most = Expression("h", 1, 0, 2), Expression("h", 51, 0, 100)
    for groups in ([[half]], [[half, most]]):
        assert 0 < separating_size(100, groups, {100}, larger=larger) <= larger * 100
