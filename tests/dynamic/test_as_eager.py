"""Sizes that Python looks at as numbers or text, and errors that the model catches: as in eager Python, or warned of."""

import functools
import inspect
import numbers

import pytest
import torch

import onnxport
from onnxport.errors import OnnxExporterWarning
from tests.dynamic.harness import check, f, program, programs

HERE = __file__


@programs(
    [
        program("isinstance_int", lambda x: x * 2 if isinstance(x.shape[0], int) else x * 3, f("n", 4), n=6),
        program("is_a_number", lambda x: x * 2 if isinstance(x.size(0), numbers.Number) else x * 3, f("n", 4), n=6),
        program("no_tensor", lambda x: x * 3 if isinstance(x.shape[0], torch.Tensor) else x * 2, f("n", 4), n=6),
        program("is_tensor", lambda x: x * 3 if torch.is_tensor(x.shape[0] // 2) else x / x.shape[0], f("n", 4), n=6),
        program(
            "each_that_is_an_int", lambda x: x.view(*(s if isinstance(s, int) else s + 1 for s in x.shape)), f("n", 4), n=6
        ),
        program("tensors_are_tensors", lambda x: x * 2 if isinstance(x.sum(), torch.Tensor) else x, f("n", 4), n=6),
    ]
)  # fmt: skip
def test_sizes_are_ints(p, opset):
    check(p, opset)


def whole(n):
    return n.to(torch.int64) if torch.jit.is_tracing() and isinstance(n, torch.Tensor) else int(n)


@functools.lru_cache
def table(n):
    return torch.arange(n, dtype=torch.float32)


@programs(
    [
        program("made_whole", lambda x: x[: whole(x.shape[0] / 2)] * 2, f("n", 4), n=6),
        program("kept_by_size", lambda x: x + table(whole(x.shape[0]))[:, None], f("n", 4), n=6),
    ]
)
def test_sizes_are_tensors_to_those_that_ask_for_traces(p, opset):
    table(6)  # what was kept by size outside of a trace stays out of it
    check(p, opset)


def text(x):
    return x * {"3": 2.0, "6": 3.0}.get(str(x.shape[0]), 1.0)  # frozen


def text_with_percent(x):
    return x * {"s3": 2.0, "s6": 3.0}.get("s%s" % x.shape[0], 1.0)  # frozen  # noqa: UP031


def text_with_format(x):
    return x * {"s3": 2.0, "s6": 3.0}.get(f"s{x.shape[0]!r}", 1.0)  # frozen


def text_of_list(x):
    return x * {"[3, 4]": 2.0, "[6, 4]": 3.0}.get(str(list(x.shape)), 1.0)  # frozen


def reshapes(x):
    try:
        return x.reshape(-1, 8)  # frozen
    except RuntimeError:
        return x * 2


def views(x):
    try:
        halves = x.view(x.shape[0] // 2, 2, 4)  # frozen
    except RuntimeError:
        return x * 2
    return halves.sum(1)


def indexes(x):
    try:
        return x[7] * 2  # frozen
    except IndexError:
        return x[0]


@pytest.mark.parametrize(("function", "example"), [
    (text, 6), (text_with_percent, 6), (text_with_format, 6), (text_of_list, 6), (reshapes, 5), (reshapes, 6),
    (views, 5), (views, 6), (indexes, 5),
])  # fmt: skip
def test_what_hangs_on_text_and_errors_is_told(function, example):
    x = torch.randn(example, 4)
    with pytest.warns(OnnxExporterWarning, match="became a Python number, or decided") as caught:
        exported = onnxport.export(function, (x,), input_names=["x"], dynamic_axes={"x": {0: "n"}})
    torch.testing.assert_close(exported(x), function(x))
    lines, first = inspect.getsourcelines(function)
    if function.__name__.startswith("text"):
        frozen = next(first + n for n, line in enumerate(lines) if "# frozen" in line)
        assert f"{HERE}:{frozen}" in str(caught[0].message)


def test_text_that_is_printed_is_no_matter(capsys):
    def printed(x):
        print("of size", x.shape[0], f"{x.shape}", f"{x.mean():.2f}")
        return x * x.shape[0]

    check(program("printed", printed, f("n", 4), n=6), 18)
    assert "of size 6" in capsys.readouterr().out


def test_text_behind_more_numbers_than_are_kept():
    def numbers_and_text(x):
        for i in range(1001):
            if x.shape[1] > i + 10:
                x = x + 1
        return x * {"6": 3.0}.get(str(x.shape[0]), 1.0)

    x = torch.randn(6, 4)
    torch.testing.assert_close(onnxport.export(numbers_and_text, (x,))(x), x * 3)


def test_an_error_that_is_caught_at_all_sizes_is_no_matter():
    def shaped(x):
        try:
            return x.view(3, 7, 11, x.shape[0])
        except RuntimeError:
            return x.t() * 2

    check(program("shaped", shaped, f("n", 4), n=6), 18)


def test_errors_are_those_of_eager_runs():
    def length(x):
        try:
            return x * len(x.sum())
        except TypeError:
            return x - 1

    def divided(x):
        try:
            rate = 1 / (x.shape[1] - 4)
        except ZeroDivisionError:
            rate = 0.5
        try:
            return x * (x.shape[0] % (x.shape[1] - 4) + rate)
        except ZeroDivisionError:
            return x * rate

    check(program("length", length, f("n", 4), n=6), 18)
    check(program("divided", divided, f("n", 4), n=6), 18)


def test_sizes_of_constants_are_no_sizes_of_inputs():
    table = torch.randn(6, 4)
    check(program("partial", functools.partial(lambda w, x: x * w.shape[0] + w.sum(0), table), f("n", 4), n=6), 18)
    check(program("sliced", lambda x: x[: table.shape[0]].sum(0) + len(table), f("n", 4), n=6), 18)
