"""Python ints whose expression can't be told from a few sizes: kept live where it is what it seems, told otherwise."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import onnxport
from onnxport.errors import OnnxExporterWarning
from tests.dynamic.harness import at, check, f, program, programs

GUESSED = {
    "at_least_1": lambda x: x[: max(1, int(x.shape[0] * 0.5))],
    "times_0.15": lambda x: torch.ones(int(x.shape[0] * 0.15)) * x.sum(),
    "times_0.7": lambda x: x[: int(x.shape[0] * 0.7)],
    "square_root": lambda x: x[: int(x.shape[0] ** 0.5)],
    "isqrt": lambda x: x[: math.isqrt(x.shape[0])],
    "log2": lambda x: x[: math.ceil(math.log2(x.shape[0]))],
    "at_least_3": lambda x: torch.ones(max(int(x.shape[0]), 3)) * x.sum(),
    "at_most_7": lambda x: torch.ones(min(int(x.shape[0]), 7)) * x.sum(),
    "clipped": lambda x: torch.ones(int(np.clip(x.shape[0], 2, 7))) * x.sum(),
    "distance": lambda x: x * abs(int(x.shape[0]) - 4),
    "chosen": lambda x: x * (int(x.shape[0]) if x.shape[0] > 4 else 4),
    "square": lambda x: torch.ones(int(x.shape[0]) ** 2) * x.sum(),
    "digits": lambda x: x * len(str(x.shape[0])),
    "remainder": lambda x: F.pad(x, (0, 0, 0, (4 - int(x.shape[0]) % 4) % 4)),
    "compared_as_int": lambda x: x + 1 if int(x.shape[0]) > 20 else x,
    "length_compared": lambda x: x + 1 if len(x) % 3 == 1 else x,
}


@pytest.mark.parametrize("example", [1, 2, 5, 8])
@pytest.mark.parametrize("name", GUESSED)
def test_right_at_all_sizes_or_told(name, example, recwarn):
    function = GUESSED[name]
    x = torch.randn(example, 4)
    exported = onnxport.export(function, (x,), input_names=["x"], dynamic_axes={"x": {0: "n"}})
    told = any(w.category is OnnxExporterWarning for w in recwarn)
    assert told or all(
        torch.allclose(exported(y), function(y)) if exported(y).shape == function(y).shape else False
        for y in (torch.randn(n, 4) for n in (1, 2, 3, 5, 9, 16, 20))
    )
    torch.testing.assert_close(exported(x), function(x))


@pytest.mark.usefixtures("one_recording")
@pytest.mark.parametrize("bound", [37, 60, 150])
def test_what_a_size_is_compared_with_is_tried(bound):
    def compared(x):
        return x + 1 if x.shape[0] == bound else x

    with pytest.warns(OnnxExporterWarning, match=f"sizes like n={bound}"):
        onnxport.export(compared, (torch.randn(6, 4),), input_names=["x"], dynamic_axes={"x": {0: "n"}})


@programs(
    [
        program("half", lambda x: x[: int(x.shape[0]) // 2], f("n", 4), n=6),
        program("padded", lambda x: F.pad(x, (0, 0, 0, math.ceil(int(x.shape[0]) / 4) * 4)), f("n", 4), n=6),
        program("plus_1", lambda x: torch.ones(int(x.shape[0]) + 1) * x.sum(), f("n", 4), n=1),
        program("twice_of_2", lambda x: torch.ones(2 * int(x.shape[0])) * x.sum(), f("n", 4), n=2),
    ]
)  # fmt: skip
def test_still_live(p, opset):
    check(p, opset)


@pytest.mark.usefixtures("one_recording")
def test_an_if_beside_an_int_is_looked_at():
    """At small sizes the program is another one behind the `if`, and gives the same."""

    def shortcut(x):
        scale = torch.ones(int(x.shape[0]))[:, None]
        if x.shape[0] <= 3:
            return (x.unsqueeze(0) * scale).sum(0)
        return x * scale

    check(program("shortcut", shortcut, f("n", 4), n=6), 18)

    def other(x):
        scale = torch.ones(int(x.shape[0]))[:, None]
        return x + scale if x.shape[0] <= 3 else x * scale

    with pytest.warns(OnnxExporterWarning, match="wrong at sizes like n=1"):
        onnxport.export(other, (torch.randn(6, 4),), input_names=["x"], dynamic_axes={"x": {0: "n"}})


@programs(
    [
        program("root", lambda x: x * math.sqrt(x.shape[0]), f("n", 4), n=5),
        program("root_of_quotient", lambda x: x * math.sqrt((x.shape[0] + 1) / 3), f("n", 4), n=5),
        program("inverse_root", lambda x: x @ x.new_ones(4, 2) / math.pow(x.shape[0], 0.5), f("n", 4), n=5),
        program(
            "scale_of_attention",
            lambda x: F.scaled_dot_product_attention(x[None], x[None], x[None], scale=1 / math.sqrt(x.shape[0])),
            f("n", 4),
            n=5,
        ),
    ]
)
def test_roots_of_sizes_stay_live(p, opset):
    check(p, opset)


def near_the_grid(x):
    """Position embeddings, as vision transformers resize them."""
    table = torch.arange(48.0).sin().view(1, 3, 4, 4)
    scales = ((x.shape[0] // 4 + 0.1) / 4, (x.shape[1] // 2 + 0.1) / 4)
    return F.interpolate(table, scale_factor=scales, mode="bicubic") + x.sum()


@programs(
    [
        program("nearest", lambda x: F.interpolate(x[None, None], scale_factor=(8 / x.shape[0], 2.0)), f("n", 4), n=5),
        program("line", lambda x: F.interpolate(x[None], scale_factor=32 / x.shape[1], mode="linear"), f(2, "n"), n=9),
        program(
            "smooth",
            lambda x: F.interpolate(x[None, None], scale_factor=min(1.0, 12 / max(x.shape)), mode="bilinear"),
            f("n", "m"),
            n=9, m=20, others=[at(n=30, m=7), at(n=12, m=12), at(n=3, m=5), at(n=13, m=12), at(n=40, m=100)],
        ),
        program(
            "near_the_grid", near_the_grid, f("n", "m"),
            n=21, m=12, others=[at(n=16, m=8), at(n=4, m=2), at(n=40, m=9), at(n=18, m=30), at(n=100, m=64)],
        ),
        program(
            "smoothed",
            lambda x: F.interpolate(x[None, None], scale_factor=6 / x.shape[0], mode="bicubic", antialias=True),
            f("n", 24),
            n=9, others=[at(n=3), at(n=6), at(n=20), at(n=30)],
        ),
    ]
)  # fmt: skip
def test_factors_by_size_stay_live(p, opset):
    check(p, opset)


def test_what_an_empty_example_hides_is_told():
    def doubled(x):
        return torch.stack([row * 2 for row in x]) if x.shape[0] else x

    with pytest.warns(OnnxExporterWarning, match="right only at n=0"):
        onnxport.export(doubled, (torch.randn(0, 4),), input_names=["x"], dynamic_axes={"x": {0: "n"}})
