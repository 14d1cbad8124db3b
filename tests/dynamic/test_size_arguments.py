"""Floats and bools of sizes as arguments that operators want to be plain ones."""

import functools
import inspect
import math
import warnings

import pytest
import torch
import torch.nn.functional as F

import onnxport
from onnxport.errors import OnnxExporterWarning
from tests.dynamic.harness import at, check, f, program, programs
from tests.harness import compare

LIVE = [
    program("rate_of_dropout", lambda x: F.dropout(x, 1 / x.shape[1], training=False), f("b", "n"), b=2, n=6),
    program(
        "rates_of_dropout",
        lambda x: F.dropout2d(F.alpha_dropout(x, p=1 / x.shape[2]), 1 / x.shape[2], False),
        f("b", 2, "n", 3), b=2, n=6,
    ),
    program("eps_of_logit", lambda x: torch.logit(x.sigmoid(), eps=0.1 / x.shape[1]), f("b", "n"), b=2, n=6),
    program(
        "scale_of_attention",
        lambda x: F.scaled_dot_product_attention(x, x, x, is_causal=True, scale=1 / x.shape[1]),
        f("b", "n", 4), b=2, n=6,
    ),
    program(
        "causal_of_more_than_one",
        lambda x: F.scaled_dot_product_attention(x, x, x, is_causal=x.shape[1] > 1),
        f("b", "n", 4), b=2, n=6,
    ),
    program(
        "order_of_many",
        lambda x: x.sort(1, descending=x.shape[1] > 1)[0], f("b", "n"), b=2, n=6,
    ),
    program("inverse", lambda x: x * x.shape[1] ** -1 + x.shape[0] ** -2, f("b", "n"), b=2, n=6),
    program("inverse_rounded", lambda x: x * math.floor(60 * x.shape[1] ** -1), f("b", "n"), b=2, n=6),
    program("rest", lambda x: x * (2.5 % x.shape[1]) + 7 % x.shape[0], f("b", "n"), b=2, n=6),
    program("slope_of_elu", lambda x: F.elu(x, alpha=x.shape[1]) + F.celu(x, alpha=1 / x.shape[1]), f("b", "n"), b=2, n=6),
    program(
        "numbers_for_nan",
        lambda x: torch.nan_to_num(x.log(), nan=x.shape[1]) + torch.nan_to_num(1 / x.relu(), posinf=x.shape[0]),
        f("b", "n"),
        b=2,
        n=6,
    ),
    program(
        "third_root",  # 64 ** (1 / 3) is less than 4
        lambda x: x[:, : math.floor(x.shape[1] ** (1 / 3))], f("b", "n"), b=2, n=64, others=[at(b=1, n=1), at(b=3, n=125), at(b=2, n=216)],
    ),
]  # fmt: skip


PADDED = [
    program(
        name,
        lambda x, pool=pool: pool(x, padding=[size % 2 for size in x.shape[2:]]),
        f("b", 3, "h", "w"), b=2, h=8, w=9, others=[at(b=1, h=9, w=10), at(b=1, h=7, w=7), at(b=3, h=12, w=11)],
    )
    for name, pool in {
        "average": functools.partial(F.avg_pool2d, kernel_size=2),
        "average_without": functools.partial(F.avg_pool2d, kernel_size=2, count_include_pad=False),
        "average_by": functools.partial(F.avg_pool2d, kernel_size=3, stride=2, divisor_override=7),
        "average_ceil": functools.partial(F.avg_pool2d, kernel_size=2, ceil_mode=True),
        "average_double": lambda x, padding: F.avg_pool2d(x.double(), 2, padding=padding),
        "maximum": functools.partial(F.max_pool2d, kernel_size=2),
        "maximum_ceil": functools.partial(F.max_pool2d, kernel_size=3, stride=2, ceil_mode=True),
        "maximum_places": functools.partial(F.max_pool2d, kernel_size=2, return_indices=True),
        "unfolded": functools.partial(F.unfold, kernel_size=2),
    }.items()
]  # fmt: skip


@programs([*LIVE, *PADDED])
def test_live(p, opset):
    check(p, opset)


def said(function, *tensors, **axes):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = onnxport.export(function, tensors, input_names=list(axes), dynamic_axes=axes)
    return result, [str(w.message) for w in caught if issubclass(w.category, OnnxExporterWarning)]


def test_a_root_is_that_of_python_in_the_example():
    def rooted(x):
        return x[: int(x.shape[0] ** (1 / 3))]

    x = torch.randn(64)
    compare(onnxport.export(rooted, (x,), input_names=["x"]).model_proto, rooted, ["x"], (x,))


@pytest.mark.usefixtures("one_recording")
def test_bools_that_matter_are_told():
    def ordered(x):
        return x.sort(1, descending=x.shape[1] > 700)[0]

    _, texts = said(ordered, torch.randn(2, 6), x={1: "n"})
    line = inspect.getsourcelines(ordered)[1] + 1
    assert any(f"{__file__}:{line}" in text and "n=701" in text for text in texts)


def attended(x, cache):
    keys = torch.cat([cache, x], 1)
    return F.scaled_dot_product_attention(x, keys, keys, is_causal=x.shape[1] > 1 and cache.shape[1] == 0)


def appended(x, cache):
    return torch.cat([cache, x], 1) if cache.shape[1] > 0 else x


def appended_if_any(x, cache):
    return torch.cat([cache, x], 1) if cache.shape[1] else x


@pytest.mark.usefixtures("one_recording")
@pytest.mark.parametrize("function", [attended, appended, appended_if_any], ids=lambda f: f.__name__)
def test_an_empty_cache_is_tried(function):
    """Only where a model asks for it."""
    result, texts = said(function, torch.randn(2, 3, 4), torch.randn(2, 4, 4), x={1: "n"}, cache={1: "p"})
    x, empty = torch.randn(2, 3, 4), torch.randn(2, 0, 4)
    right = torch.allclose(result(x, empty), function(x, empty), atol=1e-5)
    assert right == (function is not attended)
    assert bool(texts) != right
