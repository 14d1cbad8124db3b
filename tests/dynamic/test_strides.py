"""Strides of tensors, which Python has as ints, follow their sizes."""

import warnings

import torch

import onnxport
from onnxport.errors import OnnxExporterWarning

from .harness import check, f, program, programs


def overlapping(x):
    """Chunks of four rows that begin at every second, as attention in windows has them."""
    parts = x.view(x.shape[0], x.shape[1] // 4, 4, x.shape[2])
    size, stride = list(parts.size()), list(parts.stride())
    size[1], stride[1] = size[1] * 2 - 1, stride[1] // 2
    return parts.as_strided(size, stride).sum(2)


def windows(x):
    b, n, c = x.shape
    s = x.stride()
    return torch.as_strided(x, (b, n - 2, 3, c), (s[0], s[1], s[1], s[2])) * 2


def by_axis(x):
    return x.as_strided((x.size(0), x.size(2)), (x.stride(0), x.stride(-1)))


def transposed(x):
    y = x.transpose(1, 2).contiguous().transpose(1, 2)
    return x * (y.stride(2) / 7) + y.stride()[1]


PROGRAMS = [
    program("overlapping", overlapping, f("b", "n", 8), b=2, n=12, multiple=4, low={"b": 1, "n": 4}),
    program("windows", windows, f("b", "n", "c"), b=2, n=12, c=3, low=3),
    program("by_axis", by_axis, f("b", "n", "c"), b=2, n=5, c=3),
    program("transposed", transposed, f("b", "n", "c"), b=2, n=5, c=3),
    program("a_piece", lambda x: x[:, :5] * x[:, :5].stride(0), f("b", "n", 3), b=2, n=7, low=6),
    program("a_piece_that_is_all", lambda x: x[:, :5] * x[:, :5].stride(0), f("b", "n", 3), b=2, n=5, low=5),
    program("one_axis", lambda x: x.as_strided((x.shape[0] // 2,), (2 * x.stride(0),)), f("n"), n=6, low=2),
]


@programs(PROGRAMS)
def test_live(p, opset):
    check(p, opset)


def test_strides_that_are_asked_decide_nothing():
    def model(x):
        return (x if x.stride(-1) == 1 else x.contiguous()).reshape(-1, 3) + 1

    with warnings.catch_warnings():
        warnings.simplefilter("error", OnnxExporterWarning)
        onnxport.export(model, (torch.randn(2, 5, 3),), input_names=["x"], dynamic_axes={"x": {1: "n"}})
