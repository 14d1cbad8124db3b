"""Ways to freeze a dynamic axis in a trace: each is reported with its source line, or kept live."""

import inspect
import itertools
import math
import operator
import re
import warnings

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

import onnxport
from onnxport.errors import OnnxExporterError, OnnxExporterWarning
from tests.dynamic.harness import LATEST, at, check, f, program, programs

HERE = __file__


def range_loop(x):
    total = x[0]
    for n in range(1, x.shape[0]):
        total = total + x[n] * n
    return total


def comprehension(x):
    return torch.stack([x[n] * 2 for n in range(x.shape[0])])


def iteration(x):
    rows = []
    for row in x:
        rows.append(row * 2)
    return torch.stack(rows)


def enumeration(x):
    total = x.new_zeros(3)
    for n, row in enumerate(x):
        total = total + n * row
    return total


def zipped(x):
    return sum(a * b for a, b in zip(x, x.flip(0)))


def unbound(x):
    return torch.cat([row.relu() for row in x.unbind(0)])


def split_loop(x):
    return torch.cat([part.mean(0) for part in x.split(1)])


def split_in_blocks(x):
    return torch.stack([block.sum(0) for block in torch.split(x, 2)])


def powers(x):
    return torch.stack([x[n] * 0.5**n for n in range(x.shape[0])])  # frozen


def chunks_by_size(x):
    return torch.stack(x.chunk(x.shape[0])).sum(1)


def last_of_pieces(x):
    return x.split(2)[-1].sum()  # frozen


def while_loop(x):
    k = 1
    while k < x.shape[0]:  # frozen
        k *= 2
    return x * k


def if_on_size(x):
    if x.shape[0] > 6:  # frozen
        return x * 2
    return x + 1


def if_far_away(x):
    return x[:512] * 2 if x.shape[0] > 40 else x  # frozen


def if_even(x):
    if x.shape[0] % 2 == 0:  # frozen
        x = x * 2
    return x + 1


def if_small(x):
    if x.shape[0] < 3:  # frozen
        x = x.repeat(3, 1)
    return x.sum(0)


def one_of_two(x):
    return x * 2 if x.shape[0] < 8 else x * 3  # frozen


def one_of_two_by_int(x):
    return x * (2 if int(x.shape[0]) < 6 else 3)  # frozen


def one_of_three(x):
    n = int(x.shape[0])
    return x * (1 if n < 6 else 2 if n < 9 else 3)  # frozen


def if_one(x):
    return x.squeeze(0) if x.shape[0] == 1 else x * 2  # frozen


def dispatch(x):
    factor = {5: 2.0}.get(int(x.shape[0]), 3.0)  # frozen
    return x * factor


def from_numpy(x):
    return x * torch.from_numpy(np.arange(int(x.shape[0]), dtype=np.float32) ** 2)[:, None]  # frozen


def numpy_mask(x):
    return torch.from_numpy(np.vander(np.full(x.shape[0], 0.5)).astype(np.float32)) @ x  # frozen


def numpy_arithmetic(x):
    return x * float(np.sin(x.shape[0]))  # frozen


def listed(x):
    return x + torch.tensor(torch.arange(x.shape[0]).exp().tolist())[:, None]  # frozen


def array_of_sizes(x):
    return x * torch.from_numpy(np.array([int(x.shape[0]) ** 2 + 1, 2, 3]))  # frozen


def sine(x):
    return x / math.sin(x.shape[0])  # frozen


def formatted(x):
    return x * (len(f"{'-' * int(x.shape[0])}") ** 2 + 1)  # frozen


@torch.jit.ignore
def ignored(x):
    return sum(x[n] for n in range(x.shape[0]))


def pairs(x):
    return torch.stack([x[a] * x[b] for a, b in itertools.combinations(range(x.shape[0]), 2)])  # frozen


class Attribute(nn.Module):
    def forward(self, x):
        self.count = len(range(x.shape[0])) ** 2 + 1
        return self.use(x)

    def use(self, x):
        return x * self.count  # frozen


class Inner(nn.Module):
    def forward(self, x):
        return x + sum(range(x.shape[0]))  # frozen


class Outer(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(nn.Linear(3, 3), Inner())

    def forward(self, x):
        return self.blocks(x)


FROZEN = [
    powers, last_of_pieces, while_loop, if_on_size, if_far_away, if_even, if_small, one_of_two, one_of_two_by_int, one_of_three, if_one, dispatch, from_numpy, numpy_mask,
    numpy_arithmetic, listed, array_of_sizes, sine, formatted, pairs, Attribute(), Outer(),
]  # fmt: skip


def name_of(model):
    return getattr(model, "__name__", type(model).__name__)


def frozen_line(model):
    """The line marked `# frozen` in the function, or in a module or a part of it."""
    scopes = (
        [model]
        if not isinstance(model, nn.Module)
        else [type(m) for m in model.modules() if type(m).__module__ == __name__]
    )
    for scope in scopes:
        lines, first = inspect.getsourcelines(scope)
        for n, line in enumerate(lines):
            if line.rstrip().endswith("# frozen"):
                return first + n
    raise AssertionError("no line is marked")


def message_of(model, x=None, **options):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", OnnxExporterWarning)
        onnxport.export(
            model, (torch.randn(5, 3) if x is None else x,), input_names=["x"], dynamic_axes={"x": {0: "n"}},
            opset_version=18, **options,
        )  # fmt: skip
    return "\n".join(str(w.message) for w in caught if issubclass(w.category, OnnxExporterWarning))


@pytest.mark.usefixtures("one_recording")
@pytest.mark.parametrize("model", FROZEN, ids=name_of)
def test_frozen_axes_are_reported_with_their_line(model):
    message = message_of(model)
    assert re.search("may be (right only at n=5|wrong at sizes like n=1)", message)
    assert f"{HERE}:{frozen_line(model)}" in message


def test_strict_is_an_error():
    with pytest.raises(OnnxExporterError, match="may be right only at n=5"):
        message_of(sine, strict=True)


def test_the_check_can_be_left_out():
    assert message_of(sine, check_axes=False) == ""


class Conversions(nn.Module):
    def forward(self, x):
        n = operator.index(x.shape[0])
        return x * math.sin(n)  # frozen


def test_the_line_of_the_conversion_is_told():
    lines, first = inspect.getsourcelines(Conversions)
    conversion = first + next(n for n, line in enumerate(lines) if "index(" in line)
    assert f"{HERE}:{conversion}: a Python int" in message_of(Conversions())


def test_the_module_is_named():
    assert re.search(r"blocks\.1 \(.*test_frozen\.py:\d+\)", message_of(Outer()))


def test_the_labels_that_matter_are_named():
    def function(x, y):
        return x * math.sin(x.shape[0]), y + 1

    with pytest.warns(OnnxExporterWarning, match="may be right only at n=5: ") as caught:
        onnxport.export(
            function, (torch.randn(5), torch.randn(2, 4)), input_names=["x", "y"], dynamic_axes={"x": {0: "n"}, "y": {0: "b", 1: "m"}},
        )  # fmt: skip
    assert "b=2" not in str(caught[0].message).splitlines()[0]


# Loops in which all iterations are alike; see also test_rolled.
LOOPS = [
    range_loop, comprehension, iteration, enumeration, zipped, unbound, split_loop, split_in_blocks, chunks_by_size, ignored,
]  # fmt: skip


@pytest.mark.parametrize("model", LOOPS, ids=name_of)
def test_loops_stay_loops(model):
    assert message_of(model) == ""
    result = onnxport.export(model, (torch.randn(5, 3),), input_names=["x"], dynamic_axes={"x": {0: "n"}})
    for n in (1, 2, 5, 9):
        x = torch.randn(n, 3)
        torch.testing.assert_close(result(x), model(x))


def test_loops_are_told_of_script():
    assert "@torch.jit.script" in message_of(powers)


def test_messages_are_short():
    def function(x):
        for k in range(2, 60):
            x = x * math.sin(x.shape[0] + k)
        return x

    message = message_of(function)
    assert len(message.splitlines()) < 20
    assert "and 53 more" in message


def test_a_model_that_runs_at_one_size_only():
    table = torch.randn(5, 3)
    message = message_of(lambda x: x + table)
    assert "at no other sizes than n=5" in message
    assert "must match the size of tensor b (5)" in message


class Cached(nn.Module):
    """The mask of the first call is kept for all others."""

    def __init__(self):
        super().__init__()
        self.mask = None

    def forward(self, x):
        if self.mask is None:
            self.mask = torch.ones(x.shape[0], x.shape[0]).tril()
        return self.mask @ x


def test_a_mask_of_the_first_size():
    model = Cached()
    model(torch.randn(5, 3))
    assert "at no other sizes than n=5" in message_of(model)


class CachedBySize(Cached):
    """The mask is kept as long as it fits; `export` sees it made."""

    def forward(self, x):
        if self.mask is None or self.mask.shape[0] < x.shape[0]:
            self.mask = torch.ones(x.shape[0], x.shape[0]).tril()
        return self.mask[: x.shape[0], : x.shape[0]] @ x


# -- kept live ------------------------------------------------------------------------------------


@torch.jit.ignore
def ignored_slice(x, n: int):
    return x[:n]


def python_slice(x):
    n = int(x.shape[0])
    return x[: n - 1]


def by_item(x):
    n = x.shape[0]  # a tensor while it is traced
    return x[: (n.item() if isinstance(n, torch.Tensor) else n) - 1]


def numpy_int(x):
    return torch.zeros(int(np.int64(x.shape[0])), 2)


def listed_shape(x):
    sizes = [int(s) for s in x.shape]
    return x.reshape(1, *sizes).expand(2, *sizes)


def square_of_ones(x):
    n = int(x.shape[0])
    return x.new_ones(n, n)


class Counter(nn.Module):
    def forward(self, x):
        self.size = len(x)
        return torch.arange(self.size) + x[:, 0]


def names(x):
    sizes = {"n": int(x.shape[0]), "text": f"{x.shape[0]} rows"}
    return x[: sizes["n"] // 2]


LIVE = [
    program("int", lambda x: x[: int(x.shape[0]) - 1], f("n"), n=5),
    program("int_of_half", lambda x: x[: int(x.shape[0] / 2)], f("n"), n=5, out="n//2"),
    program("int_of_quarter_up", lambda x: torch.zeros(int((int(x.shape[0]) + 3) / 4)), f("n"), n=5, out="(n + 3)//4"),
    program("int_of_double", lambda x: torch.zeros(int(x.shape[0] * 2)), f("n"), n=5, out="2*n"),
    program("item", by_item, f("n"), n=5),
    program("len", lambda x: torch.zeros(len(x)), f("n", 3), n=5, out="n"),
    program("python_slice", python_slice, f("n"), n=5),
    program("python_index", lambda x: x[int(x.shape[0]) // 2], f("n", 2), n=5, out="2"),
    program("numpy_int", numpy_int, f("n"), n=5, out="n, 2"),
    program("listed_shape", listed_shape, f("n", "m"), n=5, m=2, out="2, n, m"),
    program("square_of_ones", square_of_ones, f("n", 2), n=5, out="n, n"),
    program("ignored_slice", lambda x: ignored_slice(x, x.shape[0] - 1), f("n"), n=5),
    program("attribute", Counter(), f("n", 3), n=5, out="n"),
    program("in_a_dict", names, f("n"), n=5, out="n//2"),
    program("size_method", lambda x: x.view(x.size(0), -1).new_ones(x.size()[0]), f("n", 2), n=5, out="n"),
    program("bare_roll", lambda x: x.roll(x.shape[0] // 2, 0), f("n", 2), n=5, out="n, 2"),
    program("max_with_number", lambda x: torch.zeros(max(x.shape[0], 4)), f("n"), n=6, others=[at(n=1), at(n=4), at(n=9)]),
    program("min_with_number", lambda x: torch.zeros(min(x.shape[0], 4)), f("n"), n=6, others=[at(n=1), at(n=4), at(n=9)]),
    program("ceil", lambda x: torch.zeros(math.ceil(x.shape[0] / 2)), f("n"), n=5, others=[at(n=1), at(n=4), at(n=9)]),
    program("cached_by_size", CachedBySize(), f("n", 3), n=5, out="n, 3"),
    program("mean_by_python", lambda x: sum(x.shape) * x, f("n", 3), n=5, out="n, 3"),
]  # fmt: skip


@programs(LIVE, opsets=(LATEST,))
def test_kept_live(p, opset):
    check(p, opset)


# -- nothing to report ----------------------------------------------------------------------------


def asserted(x):
    assert x.shape[0] >= 1 and x.shape[1] == 3, f"{x.shape} doesn't fit"
    return x * 2


def checked(x):
    if x.shape[-1] != 3 or x.shape[0] == 0:
        raise ValueError(f"a batch of {x.shape[0]} rows of {x.shape[1]} numbers")
    if x.ndim != 2:
        x = x[None]
    return x * 2


def logged(x):
    text = f"{x.shape} {len(x)} {int(x.shape[0]):d} {list(x.shape)}"
    return x * len(text[:1])


def fixed_loop(x):
    return sum(x[:, n] * n for n in range(x.shape[1]))


def fixed_unbind(x):
    a, b, c = x.unbind(1)
    return a + b * c


def by_dtype(x):
    if x.dtype == torch.float16:
        x = x.float()
    return x * torch.finfo(x.dtype).eps


def same_either_way(x):
    if x.shape[0] > 3:
        return x.contiguous()
    return x.contiguous()


def fixed_root(x):
    return x / math.sqrt(x.shape[1]) * float(x.shape[1]) * x.new_tensor([x.shape[1]])


def pad_if_needed(x):
    missing = max(0, 2 - x.shape[1])
    return F.pad(x, (0, missing)) if missing else x


def equal_sizes(x):
    assert x.shape[0] == (x + 1).shape[0]
    return x[: x.shape[0]] + x


def first_of_split(x):
    return x.split(1)[0]


class Dropout(nn.Module):
    def __init__(self):
        super().__init__()
        self.dropout = nn.Dropout()

    def forward(self, x):
        return self.dropout(x) + torch.rand_like(x) * 0


class Counting(nn.Module):
    """Python state that changes from call to call."""

    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        return x * self.calls


UNFLAGGED = [
    asserted, checked, logged, fixed_loop, fixed_unbind, by_dtype, same_either_way, fixed_root, pad_if_needed, equal_sizes,
    first_of_split, Dropout(), Counting(), nn.BatchNorm1d(3).train(), nn.Linear(3, 2),
    nn.TransformerEncoderLayer(3, 1, 8, batch_first=True), nn.LSTM(3, 2), lambda x: F.one_hot(x.argmax(1), 3),
]  # fmt: skip


@pytest.mark.parametrize("model", UNFLAGGED, ids=lambda m: name_of(m).strip("<>"))
def test_no_false_alarm(model):
    x = torch.randn(5, 3)[None] if isinstance(model, nn.TransformerEncoderLayer) else torch.randn(5, 3)
    assert message_of(model, x) == ""
