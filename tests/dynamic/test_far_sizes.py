"""An `if` that goes another way only at sizes far above the example's: tried there, or warned of at its line."""

import contextlib
import functools
import inspect
import itertools
import warnings

import pytest
import torch
from torch import nn

import onnxport
from onnxport.capture.watch.conditions import Conditions
from onnxport.errors import OnnxExporterWarning


def compared(x):
    if x.shape[0] > 200:  # decides
        return x * 2
    return x * 3


def of_arithmetic(x):
    if x.shape[0] * 4 >= 800:  # decides
        x = x[1:200]
    return x * 3


def second_of_two(x):
    if x.shape[0] > 64:
        x = x * 1
    if x.shape[0] > 1024:  # decides
        x = x * 2
    return x


class Large(nn.Module):
    """Takes too long to be run at such sizes."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 1 << 18)

    def forward(self, x):
        y = self.layer(x)[:, :4]
        if x.shape[0] > 4000:  # decides
            return y[:4000]
        return y


def chunks(x):
    if x.shape[0] > 256:
        return torch.cat([x[:128] * 2, x[128:] * 2])
    return x * 2


def refused(x):
    if x.shape[0] > 1000:
        text = f"{x.shape[0]} rows are too many"
        raise ValueError(text)
    assert x.shape[0] < 900
    return x * 2


class Refusing(Large):
    def forward(self, x):
        assert x.shape[0] < 4000, x.shape
        return self.layer(x)[:, :4]


class BeyondMemory(Large):
    def forward(self, x):
        y = self.layer(x)
        if y.numel() > 2**31:  # where some kernels of PyTorch fail
            y = y.contiguous()
        return y[:, :4]


class Cached(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("table", torch.arange(64.0))

    def forward(self, x):
        if x.shape[0] > self.table.shape[0]:
            self.table = torch.arange(x.shape[0]).float()
        return x * self.table[: x.shape[0], None]


def caught(x):
    try:
        assert x.shape[0] <= 1500  # decides
        return x * 2
    except AssertionError:
        return x * 3


def refuse(x):
    if x.shape[0] > 1500:  # decides
        raise ValueError("too many rows")


def goes_on(function, *args):
    try:
        function(*args)
    except ValueError:
        return True
    return False


def caught_elsewhere(x):
    return x * 2 if goes_on(refuse, x) else x * 3


def suppressed(x):
    y = x * 3
    with contextlib.suppress(AssertionError):
        assert x.shape[0] <= 1500  # decides
        y = x * 2
    return y


def caught_and_raised(x):
    try:
        assert x.shape[0] <= 1500
        return x * 2
    except AssertionError as error:
        raise ValueError("too many rows") from error


def exported(function, rows=6):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        result = onnxport.export(function, (torch.randn(rows, 4),), input_names=["x"], dynamic_axes={"x": {0: "n"}})
    return result, [str(w.message) for w in said if issubclass(w.category, OnnxExporterWarning)]


@pytest.mark.usefixtures("one_recording")
@pytest.mark.parametrize(
    "function",
    [compared, of_arithmetic, second_of_two, Large(), caught, suppressed],
    ids=lambda f: getattr(f, "__name__", type(f).__name__),
)
def test_told(function):
    line = line_of(function.forward if isinstance(function, nn.Module) else function)
    _, said = exported(function)
    assert any("may be wrong at sizes like" in text and f"{__file__}:{line}" in text for text in said)


@pytest.mark.usefixtures("one_recording")
def test_a_refusal_that_another_function_catches_is_told():
    _, said = exported(caught_elsewhere)
    assert any("may be wrong at sizes like n=1689" in text and f"{__file__}:{line_of(refuse)}" in text for text in said)


def line_of(function):
    lines, first = inspect.getsourcelines(function)
    return next(first + n for n, line in enumerate(lines) if "# decides" in line)


@pytest.mark.usefixtures("one_recording")
def test_what_takes_long_arithmetic_is_told():
    def hashed(*tensors):
        size = tensors[0].shape[0]
        for i in range(450):
            size = (size * 3 + i) % 1009
        if size == 3:
            return tensors[0] + 1
        return tensors[0] * (2 if tensors[0].shape[0] > 700 else 3)

    names = [f"x{i}" for i in range(4)]
    with pytest.warns(OnnxExporterWarning, match=f"{__file__}.* this is decided otherwise at a0=701"):
        onnxport.export(
            hashed,
            tuple(torch.randn(6 + i, 3 + i) for i in range(4)),
            input_names=names,
            dynamic_axes={name: {0: f"a{i}", 1: f"b{i}"} for i, name in enumerate(names)},
        )


@pytest.mark.parametrize(
    "function",
    [chunks, refused, caught_and_raised, Refusing(), BeyondMemory(), Cached()],
    ids=lambda f: getattr(f, "__name__", type(f).__name__),
)
def test_what_changes_nothing_is_not(function):
    result, said = exported(function)
    assert not said
    for n in (3, 700):
        x = torch.randn(n, 4)
        torch.testing.assert_close(result(x), function(x), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("example", [6, 20])
@pytest.mark.parametrize("rate", [0.123, 0.0625, 0.01, 0.5, 0.3333])
def test_rates_are_held_against_many_sizes(rate, example):
    """`int(n * 0.123)` is `n // 8` for all sizes up to 65, `int(n * 0.01)` is 0 for all up to 99."""

    def function(x):
        return x[: int(x.shape[0] * rate) + 1]

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        result = onnxport.export(function, (torch.randn(example, 4),), input_names=["x"], dynamic_axes={"x": {0: "n"}})
    right = all(result(torch.zeros(n, 4)).shape == function(torch.zeros(n, 4)).shape for n in (1, 5, 25, 300, 1100))
    assert right or any(__file__ in str(w.message) for w in said)


def test_rows_of_which_some_are_taken():
    def function(x):
        return torch.stack(list(itertools.islice(x, 3)))

    _, said = exported(function)
    assert any(__file__ in text for text in said)


def test_ints_that_nobody_uses_are_no_matter():
    def function(x):
        count = int(x.shape[0] * 0.01) + int(x.shape[0])
        return x * 2 if count is not None else x

    _, said = exported(function)
    assert not said


@pytest.mark.parametrize("example", [5, 256])
def test_tensors_that_are_made_of_sizes_are_not_made_of_large_ones(monkeypatch, example):
    """`Conditions.at` makes a mask of n rows and columns for each n: neither far from the example's nor near to a large one."""

    def model(x):
        n = x.shape[1]
        mask = torch.triu(torch.full((n, n), -1.0), 1)
        return x + 1 if bool((mask == torch.triu(torch.full((n, n), -1.0), diagonal=1)).all()) else x

    made, at = [], Conditions.at

    def watched(self, sizes, on_tensors):
        numbers = at(self, sizes, on_tensors)
        made.append(sizes["n"])
        return numbers

    monkeypatch.setattr(Conditions, "at", watched)
    onnxport.export(model, torch.randn(2, example), None, input_names=["x"], dynamic_axes={"x": {1: "n"}})
    assert 100 < max(made) < 2000


@pytest.mark.usefixtures("one_recording")
@pytest.mark.parametrize("example, bound", [(6, 3000), (512, 2048)])
def test_what_is_decided_beside_large_tensors_is_told(example, bound):
    def model(x):
        n = x.shape[0]
        mask = torch.triu(torch.full((n, n), -1.0), 1)
        y = x + 1 if bool((mask == torch.triu(torch.full((n, n), -1.0), diagonal=1)).all()) else x
        return y * 2 if n > bound else y

    _, said = exported(model, example)
    assert any(__file__ in text for text in said)


def test_what_is_decided_beside_large_tensors_is_right_where_it_can_be_run():
    def model(x):
        n = x.shape[0]
        mask = torch.triu(torch.full((n, n), -1.0), 1)
        y = x + 1 if bool((mask == torch.triu(torch.full((n, n), -1.0), diagonal=1)).all()) else x
        return y * 2 if n > 2048 else y

    result, said = exported(model, 512)
    for n in () if said else (1, 512, 2048, 2049, 2300):
        x = torch.randn(n, 4)
        torch.testing.assert_close(result(x), model(x))


class KeptByShape(nn.Module):
    """As many channels as there may be rows, which are parts of one key; too large to be run with so many rows."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(3, 512, 3, stride=4, padding=1), nn.Conv2d(512, 512, 1))
        self.places = functools.lru_cache(maxsize=1)(
            lambda shape: torch.arange(shape[2])[:, None] + torch.arange(shape[3])
        )

    def forward(self, x):
        y = self.layers(x)
        return y[:, :4] + self.places(y.shape)


def test_parts_of_a_key_are_not_compared():
    model = KeptByShape()
    with warnings.catch_warnings():
        warnings.simplefilter("error", OnnxExporterWarning)
        result = onnxport.export(
            model, (torch.randn(2, 3, 16, 24),), input_names=["x"], dynamic_axes={"x": {0: "b", 2: "h", 3: "w"}}
        )
    x = torch.randn(3, 3, 28, 36)
    torch.testing.assert_close(result(x), model(x), rtol=1e-3, atol=1e-4)
