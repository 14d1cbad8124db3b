# ruff: noqa: RUF046 - models are written so
"""Ints that Python takes of what it computed from sizes: padding to multiples, rates, windows. They stay live, whatever the
computation, since what they were taken from is in the trace."""

import math
import warnings

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import onnxport
from onnxport.errors import OnnxExporterWarning
from tests.harness import OfX


def to_multiple(x, s=32):
    h, w = (int(math.ceil(n / s) * s) for n in x.shape[2:])
    return F.pad(x, (0, w - x.shape[3], 0, h - x.shape[2]))


def by_the_rest(x):
    return F.pad(x, (0, 0, 0, int((32 - x.shape[2] % 32) % 32)))


def by_numpy(x):
    return F.pad(x, (0, 0, 0, int(np.ceil(x.shape[2] / 32) * 32) - x.shape[2]))


def rounded(x):
    return F.interpolate(x, size=(int(round(x.shape[2] * 1.5)), int(round(x.shape[3] * 0.5))))


def center(x):
    i, j = (int(round((n - 20) / 2.0)) for n in x.shape[2:])
    return x[:, :, i : i + 20, j : j + 20]


def rate(x):
    return x[:, :, : int(x.shape[2] * 0.7) + 1]


def factor(x):
    return x * (int(x.shape[2] * 0.7) + 1)


def root(x):
    return x[:, :, : int(x.shape[2] ** 0.5)]


def blocks(x, s=8):
    h, w = (int(math.ceil(n / s)) for n in x.shape[2:])
    x = F.pad(x, (0, w * s - x.shape[3], 0, h * s - x.shape[2]))
    return x.reshape(x.shape[0], 3, h, s, w, s).mean((3, 5))


def two_axes(x):
    return x[:, :, : int(x.shape[2] * 0.3) + 1, : int(x.shape[3] * 0.3) + 2]


def of_both(x):
    return x.flatten(2).topk(int(0.2 * x.shape[2] * x.shape[3]) + 1).values


def pyramid(x):
    for _ in range(3):
        x = F.interpolate(x, size=(int(x.shape[2] * 0.8), int(x.shape[3] * 0.8)))
    return x


def resized_to_fit(x):
    """The shorter side is 24, whichever that is."""
    scale = 24 / min(x.shape[2:])
    return F.interpolate(x, size=(int(x.shape[2] * scale), int(x.shape[3] * scale)))


def frames(x):
    return x[:, :, : int((x.shape[2] - 9) / 4) + 1]


def rolled(x):
    return torch.roll(x, int(x.shape[2] * 0.25), 2)


def iterations(x):
    for _ in range(int(x.shape[2] * 0.1)):
        x = x + 1
    return x


def once_and_as_bool(x):
    n = int(x.shape[2] * 0.7)
    return x[:, :, :n] * 2 if n > 0 else x


def nearly_equal(x):
    """Two ints that are equal at all sizes near to the example's."""
    return x[:, :, : int(x.shape[2] * 0.502)], x[:, :, : int(x.shape[2] * 0.5)]


def bounded(x):
    return x * max(3, int(x.shape[2] * 0.05))


def counted(x):
    return x[:, :, : int(x.shape[2] * 0.2) + int(x.shape[2] * 0.3)]


def capped(x):
    return x[:, :, : min(100, int(x.shape[2] * 0.3))]


def capped_before(x):
    return x[:, :, : int(min(100, x.shape[2] * 0.3))]


def by_angle(x):
    return x[:, :, : int(torch.cos(torch.as_tensor(x.shape[2] / 50)) * 5) + 6]


def compressed(x):
    return x * int(torch.tanh(torch.as_tensor(x.shape[2] / 100)) * 10)


def by_sign(x):
    return x[:, :, : int(torch.where(torch.sign(torch.as_tensor(x.shape[2] - 50)) > 0, 20, 10))]


LIVE = (
    to_multiple, by_the_rest, by_numpy, rounded, center, rate, factor, root, blocks, two_axes, of_both, pyramid, resized_to_fit, frames, rolled,
    iterations, nearly_equal, bounded, counted, capped, capped_before, by_angle, compressed, by_sign,
)  # fmt: skip
SIZES = [(1, 30, 30), (2, 33, 47), (3, 64, 32), (2, 95, 70), (1, 200, 130), (1, 21, 20), (1, 530, 30)]


def export(function, opset):
    return onnxport.export(
        OfX(function),
        (torch.randn(2, 3, 40, 56),),
        input_names=["x"],
        dynamic_axes={"x": {0: "b", 2: "h", 3: "w"}},
        opset_version=opset,
    )


@pytest.mark.parametrize("opset", [13, 18])
@pytest.mark.parametrize("function", LIVE)
def test_live(function, opset):
    with warnings.catch_warnings():
        warnings.simplefilter("error", OnnxExporterWarning)
        result = export(function, opset)
    for b, h, w in SIZES:
        x = torch.randn(b, 3, h, w)
        torch.testing.assert_close(result(x), function(x), rtol=1e-4, atol=1e-5)


def capped_by_if(x):
    n = int(x.shape[2] * 0.3)
    return x[:, :, :n] if n < 100 else x[:, :, :100]


def decided_beside(x):
    """An `if` on what is computed of a size, beside a constant that follows it."""
    y = x[:, :, : int(x.shape[2]) // 2]
    return y * 2 if x.shape[2] // 3 > 80 else y


def decided_by_rest(x):
    y = x[:, :, : int(x.shape[2] * 0.5)]
    return y * 2 if x.shape[2] % 29 == 26 else y


TOLD = (once_and_as_bool, capped_by_if, decided_beside, decided_by_rest)


@pytest.mark.usefixtures("one_recording")
@pytest.mark.parametrize("function", TOLD)
def test_what_python_computes_of_them_is_told(function):
    with pytest.warns(OnnxExporterWarning, match="test_ints_of_sizes.py"):
        export(function, 18)


def test_what_is_told_alone_costs_nothing():
    def told(x):
        print(int(x.shape[2] * 0.7))
        return x + 1

    result = export(told, 18)
    assert [node.op_type for node in result.model.graph] == ["Add"]
