# ruff: noqa: RUF046 - models are written so
"""Numbers that Python takes of sizes by int(), float() and math stay live, and so does what Python computes of them."""

import math
import sys
import threading
import warnings
from math import isqrt, sqrt

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import onnxport
from onnxport import _export
from onnxport.capture.liveness import reruns, trials
from onnxport.capture.tracing import live_numbers
from onnxport.errors import OnnxExporterWarning
from tests.harness import OfX


def half_of_int(x):
    return x[:, :, : int(x.shape[2] * 0.5) // 2]


def without_rest(x):
    n = int(x.shape[2] * 0.5)
    return x[:, :, : n - n % 2]


def bounded(x):
    return x * max(3, int(x.shape[2] * 0.05)) + min(20, int(x.shape[3] * 0.9))


def summed(x):
    return x[:, :, : int(x.shape[2] * 0.2) + int(x.shape[2] * 0.3)]


def product(x):
    s, t = int(x.shape[2] * 0.5), int(x.shape[3] * 0.5)
    return F.interpolate(x, size=(s, t)).flatten(2)[:, :, : s * t - 1]


def divisible(v, divisor=8):
    return max(divisor, int(v + divisor / 2) // divisor * divisor)


def to_divisible(x):
    return F.interpolate(x, size=(divisible(x.shape[2] * 0.5), divisible(x.shape[3] * 0.7)))


def in_a_generator(x):
    h, w = (int(n * 0.7) + 1 for n in x.shape[2:])
    top, left = [int(s / 2) for s in (h, w)]
    return x[:, :, top:h, left:w]


def in_a_lambda(x):
    part = lambda n: int(n * 0.37)  # noqa: E731
    return x[:, :, : part(x.shape[2]) + 1]


def beside_isinstance(x):
    size = int(x.shape[2] * 0.5)
    if isinstance(size, int):
        size = (size, size)
    return F.interpolate(x, size=size) + torch.zeros(1, dtype=int)


def by_float(x):
    return x * (float(x.shape[2]) / float(x.shape[3])) + x[:, :, : int(float(x.shape[2]) * 0.7)].mean()


def of_bool(x):
    return x * int(x.shape[2] > 30) + float(x.shape[3] > 40)


def logarithms(x):
    return (
        x * math.log2(x.shape[2])
        + math.log10(x.shape[3]) * int(math.log2(x.shape[2]))
        + math.ceil(math.log2(x.shape[3]))
    )


def roots(x):
    return x[:, :, : isqrt(x.shape[2])] * sqrt(x.shape[2] * x.shape[3]) / math.sqrt(x.shape[3]) + math.isqrt(x.shape[3])


def divisor(x):
    return x * math.gcd(x.shape[2], x.shape[3])


def to_fit(x):
    h, w = x.shape[2:]
    scale = min(32 / h, 48 / w)
    return F.interpolate(x, size=(int(h * scale), int(w * scale)))


def bounded_floats(x):
    return x * min(1.0, 20 / x.shape[2]) + max(0.5, x.shape[3] / 40) + min(n / 2 for n in x.shape[2:])


def most(x):
    return x.flatten(2).topk(min(50, max(1, int(x.shape[2] * x.shape[3] * 0.5)))).values


def windows(x):
    size = int(x.shape[2] * 0.2) + 1
    return x.unfold(2, size, size // 2 + 1).mean(-1)


def of_what_is_chosen(x):
    chosen = x.flatten()[x.flatten() > 0]
    return chosen[: int(chosen.shape[0] * 0.5)]


def letterboxed(x):
    h, w = x.shape[2:]
    ratio = min(64 / h, 64 / w)
    nh, nw = int(round(h * ratio)), int(round(w * ratio))
    x = F.interpolate(x, size=(nh, nw), mode="bilinear")
    dh, dw = (64 - nh) / 2, (64 - nw) / 2
    pads = int(round(dw - 0.1)), int(round(dw + 0.1)), int(round(dh - 0.1)), int(round(dh + 0.1))
    return F.pad(x, pads)


def of_a_ratio(x):
    ratio = x.shape[2] / x.shape[3]
    width = int(math.sqrt(1024 / ratio)) // 8 * 8
    return F.interpolate(x, size=(max(8, int(width * ratio) // 8 * 8), width))


def strided_down_and_up(x):
    n = x.shape[2]
    for _ in range(3):
        n = max(math.ceil((n - 8) / 4) + 1, 1)
    for _ in range(3):
        n = (n - 1) * 4 + 8
    return F.pad(x, (0, 0, 0, int(n) - x.shape[2]))


def of_a_level(x):
    level = math.floor(4 + math.log2(math.sqrt(x.shape[2] * x.shape[3]) / 56))
    return x * max(2, min(level, 5))


def blurred(x):
    size = max(int(x.shape[2] * 0.1), 3)
    size = size + 1 - size % 2
    return F.conv2d(x[:, :1], torch.ones(1, 1, size, 1) / size, padding=(size // 2, 0))


def of_a_tensor(x):
    levels = [x, F.avg_pool2d(x, 2), F.avg_pool2d(x, 4)]
    shapes = torch.as_tensor([(y.shape[2], y.shape[3]) for y in levels])
    parts = torch.cat([y.flatten(2) for y in levels], 2).split([int(h * w) for h, w in shapes], 2)
    return parts[1] * int(shapes.sum())


def of_a_logarithm(x):
    n = x.shape[2]
    count = min(5 * int(math.ceil(math.log(n))), n)
    return x.flatten(2).topk(count).values * (int(n * math.log(n)) / math.sqrt(n + 1))


def rounded_by_numpy(x):
    padded = F.pad(x, (0, 0, 0, int(np.ceil(x.shape[2] / 32) * 32) - x.shape[2]))
    return padded[:, :, : np.ceil(x.shape[2] / 3).astype(int)], padded * int(np.around(x.shape[3] * 0.3)) + float(
        np.floor(x.shape[2] * 0.57)
    )


def bounded_by_numpy(x):
    return x[:, :, : int(np.minimum(100, x.shape[2] * 0.3))] * int(np.clip(x.shape[3] // 2, 3, 50)) + np.maximum(
        x.shape[2], 33
    )


def functions_of_numpy(x):
    y = x * np.sqrt(x.shape[2]) / np.sqrt(np.prod(x.shape[-2:])) + np.log2(x.shape[3]) + math.prod(x.shape[1:])
    return y[:, :, : int(np.ceil(x.shape[2] / 3).item())] + np.maximum.reduce([1, 2])


LIVE = (
    half_of_int, without_rest, bounded, summed, product, to_divisible, in_a_generator, in_a_lambda, by_float, of_bool,
    logarithms, divisor, to_fit, bounded_floats, most, windows, of_what_is_chosen, letterboxed, of_a_ratio, strided_down_and_up,
    rounded_by_numpy, bounded_by_numpy, functions_of_numpy, of_a_level, blurred, of_a_tensor, of_a_logarithm,
)  # fmt: skip
SIZES = [(1, 30, 30), (2, 33, 47), (3, 64, 32), (2, 95, 70), (1, 128, 100), (1, 21, 20), (1, 400, 30)]


def export(function, opset=18, axes=None):
    return onnxport.export(
        OfX(function),
        (torch.randn(2, 3, 40, 56),),
        input_names=["x"],
        dynamic_axes={"x": {0: "b", 2: "h", 3: "w"} if axes is None else axes},
        opset_version=opset,
    )


def check(result, function, sizes=SIZES):
    for b, h, w in sizes:
        x = torch.randn(b, 3, h, w)
        torch.testing.assert_close(result(x), function(x), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("opset", [13, 18])
@pytest.mark.parametrize("function", LIVE)
def test_live(function, opset):
    with warnings.catch_warnings():
        warnings.simplefilter("error", OnnxExporterWarning)
        result = export(function, opset)
    check(result, function)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python 3.10 doesn't say which use of a name is a call")
@pytest.mark.parametrize("function", [beside_isinstance, roots])
def test_live_beside_other_uses_of_the_name(function):
    test_live(function, 18)


def by_an_if(x):
    h, w = x.shape[2:]
    size = (32, int(32 * w / h)) if h < w else (int(32 * h / w), 32)
    return F.interpolate(x, size=size)


def decided_by_an_int(x):
    return x * 2 if int(x.shape[2] * 0.7) % 29 == 26 else x


def far_away(x):
    """Too far for a run to show it."""
    return x * 2 if int(x.shape[2]) > 5000 else x


def refused(x):
    try:
        return x.view(x.shape[0], 3, int(x.shape[2] / 4), 4, x.shape[3]).mean(3)
    except RuntimeError:
        return x


def of_no_graph(x):
    return x * math.sin(x.shape[2]) + int(x.shape[3] * 0.5)


def by_its_type(x):
    """What asks for the type of an int finds one."""
    n = int(x.shape[2] * 0.5)
    return x * n if type(n) is int else x


@pytest.mark.usefixtures("one_recording")
@pytest.mark.parametrize("function", [by_an_if, decided_by_an_int, far_away, refused, of_no_graph])
def test_told(function):
    with pytest.warns(OnnxExporterWarning, match="test_live_numbers.py"):
        export(function)


def long(function):
    """The same in a model that takes long to trace."""

    def forward(x):
        y = function(x)
        for _ in range(trials._LONG // 2):
            y = y * 1.0
        return y

    return forward


@pytest.mark.usefixtures("one_recording")
@pytest.mark.parametrize("function", [by_an_if, decided_by_an_int, far_away, refused, of_no_graph])
def test_told_of_long_models(function):
    with pytest.warns(OnnxExporterWarning, match="test_live_numbers.py"):
        export(long(function))


@pytest.mark.parametrize("function", [half_of_int, to_divisible, letterboxed, windows, functions_of_numpy])
def test_long_models_are_live(function):
    result = export(long(function))
    check(result, function)


def test_what_is_recorded_again_is_lowered_once(monkeypatch):
    lowered, lower = [], _export._lower
    monkeypatch.setattr(_export, "_lower", lambda *given: lowered.append(given) or lower(*given))
    check(export(half_of_int), half_of_int)
    assert len(lowered) == 2  # as it was recorded first, and again


def test_what_is_warned_of_is_said_once():
    def function(x):
        return x * int(x.shape[2] * 0.5) + (1 if x.sum() > 0 else 2)

    with pytest.warns(OnnxExporterWarning) as caught:
        export(function)
    assert len([w for w in caught if issubclass(w.category, OnnxExporterWarning)]) == 1


@pytest.mark.parametrize("axes", [None, {0: "b"}, {}])
def test_an_int_hides_no_other_value_of_its_line(axes):
    def of_size(x):
        return x * int(x.shape[2] * 0.5) + (1 if x.sum() > 0 else 2)

    def of_values(x):
        return x * int(x.abs().max().ceil().long()) + (1 if x.sum() > 0 else 2)

    for function in (of_size, of_values):
        with pytest.warns(OnnxExporterWarning) as caught:
            export(function, axes=axes)
        assert any("as a Python bool" in str(w.message) for w in caught)


def test_who_asks_for_types_finds_ints():
    result = export(by_its_type)
    x = torch.randn(2, 3, 40, 56)
    torch.testing.assert_close(result(x), x * 20)


def test_whole_logarithms_are_whole():
    def function(x):
        return x[:, :, :1, :1] * int(math.log2(x.shape[2])) + math.floor(math.log10(x.shape[3]))

    check(
        export(function),
        function,
        [(1, h, w) for h, w in ((1, 1), (2, 9), (7, 10), (8, 11), (1024, 100), (1023, 99), (4096, 1000))],
    )


def test_numbers_of_fixed_sizes_are_constants():
    """They cost no second recording, and no node."""
    result = export(lambda x: x * int(x.shape[1] * 0.5) * math.sqrt(x.shape[3]), axes={0: "b", 2: "h"})
    assert {node.op_type for node in result.model.graph} == {"Mul"}


def test_what_numpy_takes_of_fixed_sizes_costs_no_second_recording(monkeypatch):
    made, record = [], reruns.record
    monkeypatch.setattr(reruns, "record", lambda *args: made.append(args) or record(*args))
    export(lambda x: x * np.sqrt(x.shape[1]), axes={0: "b", 2: "h"})
    assert not made


def test_functions_come_back_as_they_were():
    before = half_of_int.__code__, math.sqrt, isqrt, np.ceil
    export(half_of_int)
    assert before == (half_of_int.__code__, math.sqrt, isqrt, np.ceil)


@pytest.mark.parametrize("function", [half_of_int, in_a_generator, in_a_lambda, rounded_by_numpy, logarithms])
def test_live_where_only_the_text_says_what_is_called(function, monkeypatch):
    """As it is before Python 3.11."""
    monkeypatch.setattr(live_numbers, "_SAYS_CALLS", False)
    with warnings.catch_warnings():
        warnings.simplefilter("error", OnnxExporterWarning)
        result = export(function)
    check(result, function)


def test_exports_at_one_time():
    def run():
        check(export(product), product)
        done.append(True)

    done, code = [], product.__code__
    threads = [threading.Thread(target=run) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(done) == 3
    assert product.__code__ is code


def test_the_names_that_are_called_are_others():
    def function(x):
        return int(x) if isinstance(x, int) else sqrt(x)

    if not live_numbers._SAYS_CALLS:
        pytest.skip("Python 3.10 says too little of the second use")
    with live_numbers.numbers_live([function]):
        names = function.__code__.co_names
        assert {"int", "isinstance", "_onnxport_int", "_onnxport_sqrt"} <= set(names)
        assert (function(3), function(4.0)) == (3, 2.0)
    assert "_onnxport_int" not in function.__code__.co_names
