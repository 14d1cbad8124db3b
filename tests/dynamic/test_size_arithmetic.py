"""What Python takes out of sizes is computed from the labels, if nothing but arithmetic on sizes leads to it."""

import itertools
import math
import warnings

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import onnxport
from onnxport import _export
from onnxport.capture.watch import computation as how
from onnxport.capture.watch.computation import by_arithmetic, by_graph, computation
from onnxport.capture.watch.part import Part
from onnxport.capture.watch.terms import Terms, calculated, is_fixed, is_known
from onnxport.errors import OnnxExporterWarning, warn, withheld
from onnxport.options import Options

AXES = {"x": {0: "b", 2: "n"}}
KERNEL = torch.ones(4, 4, 3)
TABLE = torch.arange(40.0)

# Tensors whose sizes are what a condition is on, of a (2, 4, 9) tensor.
TENSORS = {
    "argument": lambda x: x,
    "convolution": lambda x: F.conv1d(x, KERNEL, stride=2, padding=1),
    "dilated": lambda x: F.conv1d(x, KERNEL, dilation=2, padding=2),
    "transposed": lambda x: F.conv_transpose1d(x, KERNEL, stride=2),
    "max_pool": lambda x: F.max_pool1d(x, 2, ceil_mode=True),
    "avg_pool": lambda x: F.avg_pool1d(x, 3, 2, 1),
    "adaptive": lambda x: F.adaptive_avg_pool1d(x, 3),
    "interpolate": lambda x: F.interpolate(x, scale_factor=1.5),
    "interpolate_size": lambda x: F.interpolate(x, size=x.shape[2] // 2 + 1),
    "pad": lambda x: F.pad(x, (1, 2)),
    "pad_to": lambda x: F.pad(x, (0, -x.shape[2] % 4)),
    "slice": lambda x: x[:, :, 1:-1],
    "steps": lambda x: x[:, :, ::2],
    "cat": lambda x: torch.cat([x, x[:, :, :3]], 2),
    "flatten": lambda x: x.flatten(1),
    "windows": lambda x: x.unfold(2, 3, 2),
    "view": lambda x: x.view(x.shape[0] * 2, -1),
    "transpose": lambda x: x.permute(2, 0, 1).reshape(-1, 4),
    "matmul": lambda x: x.transpose(1, 2) @ x,
    "broadcast": lambda x: x[:, :1] + TABLE[: x.shape[2]],
    "index": lambda x: x[:, :, torch.arange(0, x.shape[2], 2)],
    "repeat": lambda x: x.repeat(1, 2, 2),
    "expand": lambda x: x[:, :, None].expand(-1, -1, x.shape[0], -1).flatten(2),
    "arange": lambda x: torch.arange(0, x.shape[2], 3)[None],
    "stack": lambda x: torch.stack([x, x]).flatten(0, 1),
    "chunk": lambda x: x.chunk(2, 2)[1],
    "written": lambda x: (x + 0).mul_(2).relu_()[:, :, 1:],
    "normalized": lambda x: F.group_norm(F.gelu(x), 2),
    "rows_and_columns": lambda x: torch.zeros(x.shape[0], x.shape[2]).flatten(),
}
# What is taken out of the tensor's sizes.
TAKEN = {
    "below": lambda y: y.shape[-1] < 8,
    "odd": lambda y: y.shape[-1] % 2 == 1,
    "count": lambda y: y.numel() > 80,
    "rows": lambda y: y.shape[0] >= 3,
    "two": lambda y: y.shape[-1] > 4 and y.size(0) + y.size(-1) < 12,
}


SIZES = [(2, 9), (2, 10), (3, 9), (1, 4), (5, 23), (2, 16), (4, 7)]


class Model(nn.Module):
    def __init__(self, tensor, taken):
        super().__init__()
        self.tensor, self.taken = tensor, taken

    def forward(self, x):
        return x + 1 if self.taken(self.tensor(x)) else x - 1


def _captured(model):
    """The program, with what is known of sizes."""
    x = torch.randn(2, 4, 9)
    chosen = Options(input_names=("x",), dynamic_axes=AXES)
    program = _export.capture_only(model, (x,), None, chosen)
    program.conditions.learn(lambda: _export._Ahead(chosen).sizes(program), {"b": 2, "n": 9})
    return program


def on(x):
    """Calls a function on a tensor."""
    return lambda function: function(x)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "taken"), itertools.product(TENSORS, TAKEN))
def test_sizes_say_what_a_run_says(name, taken):
    model = Model(TENSORS[name], TAKEN[taken])
    conditions = _captured(model).conditions
    numbers, learned = conditions._varying, conditions._learned
    ways = [by_arithmetic(numbers, learned), computation(conditions._graph, numbers, learned)]
    assert None not in ways
    for b, n in SIZES:
        sizes = {"b": b, "n": n}
        expected = by_graph(conditions._graph, numbers).at(sizes, on(torch.randn(b, 4, n)))
        for way in ways:
            assert list(map(bool, way.at(sizes, None))) == list(map(bool, expected)), (b, n)


# Numbers that Python takes of a tensor of b, 4, n, and how many of them may be others at other sizes.
NUMBERS = {
    "of_no_axis": (lambda x: (x.shape[1] == 4, x.shape[1] + 0 * x.shape[2] > 3, math.prod((x.shape[1], 2)) % 3 > 1), 0),
    "the_same": (lambda x: (x.shape[2] == (x + 1).shape[2], x.shape[2] - x.shape[2] > 0, x.shape[0] * 2 >= 2 * x.shape[0]), 0),
    "twice": (lambda x: (x.shape[2] > 9, (x * 2).shape[2] > 9, x.transpose(0, 2).shape[0] > 9), 1),
    "turned": (lambda x: (x.shape[2] > 9, x.shape[2] < 9, x.shape[2] <= 9), 3),
    "quotients": (lambda x: (x.shape[2] // 2 > 4, x.shape[2] % 3 == 0, (x.shape[2] + 1) // 2 - 1 == x.shape[2] // 2, -x.shape[2] // 2 < -4), 4),
    "floats": (lambda x: (x.shape[2] / 2 > 4.4, x.shape[2] * 0.1 > 0.95, 1.0 / x.shape[1] > 0.2, x.shape[2] / x.shape[0] > 4), 3),
    "ints": (lambda x: (int(x.shape[2]), int(x.shape[1]), len(x), x.shape[2].__index__()), 2),
    "both_axes": (lambda x: (x.shape[0] * x.shape[2] > 20, x.numel() > 80, x.shape[0] < x.shape[2], min(x.shape[0], x.shape[2]) > 2), 4),
}  # fmt: skip


class Takes(nn.Module):
    def __init__(self, numbers):
        super().__init__()
        self.numbers = numbers

    def forward(self, x):
        return x + sum(map(bool, self.numbers(x)))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", NUMBERS)
def test_equal_terms_are_equal_at_all_sizes(name):
    """What isn't looked at, as it can't be another or is looked at already, is what the graph computes."""
    numbers, varying = NUMBERS[name]
    conditions = _captured(Takes(numbers)).conditions
    terms = Terms(conditions._learned.size_of)
    assert len({term for _, value in conditions._numbers if not is_fixed(term := terms.of(value))}) == varying
    run = by_graph(conditions._graph, conditions._numbers)
    for b, n in SIZES:
        given: dict = {}
        for (number, value), item in zip(conditions._numbers, run.at({"b": b, "n": n}, on(torch.randn(b, 4, n)))):
            of_term = given.setdefault((terms.of(value), number.kind), set())
            of_term.add(item)
            assert len(of_term) == 1
            if is_fixed(terms.of(value)):
                assert of_term == {number.content}
            elif calculate := calculated(terms.of(value)):
                assert (number.kind or int)(calculate({"b": b, "n": n})) in of_term


@pytest.mark.filterwarnings("ignore")
def test_what_is_written_to_is_no_term():
    conditions = _captured(_written).conditions
    terms = Terms(conditions._learned.size_of)
    assert not any(is_known(terms.of(value)) for _, value in conditions._numbers)


def _written(x):
    sizes = torch.stack([torch.as_tensor(x.shape[0]), torch.as_tensor(x.shape[2])])
    sizes[0] = 7
    return x + 1 if sizes[0] > 5 else x - 1


def _written_by_a_view(x):
    sizes = torch.stack([torch.as_tensor(x.shape[0]), torch.as_tensor(x.shape[2])])
    sizes.view(1, 2).select(1, 0).fill_(7)
    return x + 1 if sizes[0] > 5 else x - 1


def _of_values(x):
    return x + 1 if x.flatten().nonzero().shape[0] > 5 else x - 1


def _of_values_and_sizes(x):
    return x + 1 if x[x > 0].shape[0] < x.shape[2] * 100 else x - 1


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("model", [_written, _written_by_a_view, _of_values, _of_values_and_sizes])
def test_more_than_arithmetic_on_sizes_is_run(model):
    conditions = _captured(model).conditions
    assert conditions.numbers
    assert by_arithmetic(conditions._varying, conditions._learned) is None
    assert conditions.hold({"b": 2, "n": 9}, lambda function: function(torch.ones(2, 4, 9)))


def _written_on_the_way(x):
    """Takes whether a size is more than 9, and an int out of memory that views, lists and other tensors share."""
    y = torch.relu_(F.conv1d(x, KERNEL, padding=1).add_(x.mean()))
    y = torch.cat([y, y.abs_()])
    size = torch.zeros(1, dtype=torch.int64) + x.shape[2]
    view = size.view(1, 1)
    view[0] += 3
    view.mul_(x.shape[0])
    kept = torch.zeros(2, dtype=torch.int64)
    kept[1:] = size
    first, _ = torch.stack([kept.mul_(2), kept]).unbind()
    first += 1
    y = y + 1 if size > 30 else y
    return y + 2 if int(first[1]) > 3 else y


@pytest.mark.filterwarnings("ignore")
def test_what_is_written_to_memory_that_leads_to_numbers_is_run():
    conditions = _captured(_written_on_the_way).conditions
    part = Part(conditions._graph).of([value for _, value in conditions._numbers])
    assert "aten::relu_" not in {node.kind() for node in part.nodes()}
    run = by_graph(conditions._graph, conditions._numbers)
    for b, n in SIZES:
        size = (n + 3) * b
        assert run.at({}, on(torch.randn(b, 4, n))) == [2, size > 30, 2 * size + 1]


@pytest.mark.filterwarnings("ignore")
def test_wrong_expressions_of_sizes_are_not_believed():
    conditions = _captured(Model(TENSORS["slice"], TAKEN["below"])).conditions
    known = conditions._learned.known()
    conditions.learn(lambda: dict.fromkeys(known, 3), {"b": 2, "n": 9})
    assert by_arithmetic(conditions._varying, conditions._learned) is None
    conditions.learn(dict, {"b": 2, "n": 9})
    assert by_arithmetic(conditions._varying, conditions._learned) is None


class Deep(nn.Module):
    def __init__(self, bound):
        super().__init__()
        self.convolution, self.bound = nn.Conv1d(4, 4, 3, 2, 1), bound

    def forward(self, x):
        y = self.convolution(x).relu_()
        return y * 2 if y.shape[2] < self.bound else y + 1


@pytest.mark.parametrize(("bound", "has_ways"), [(1 << 40, False), (6, True)])
def test_conditions_of_sizes_run_nothing(bound, has_ways, monkeypatch):
    ran = []
    monkeypatch.setattr(how, "by_graph", lambda *given: ran.append(given) or by_graph(*given))
    model = Deep(bound).eval()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = onnxport.export(model, (torch.randn(2, 4, 9),), input_names=["x"], dynamic_axes=AXES)
    said = [w for w in caught if issubclass(w.category, OnnxExporterWarning)]
    assert not said
    assert has_ways or not ran
    for n in (9, 10, 11, 12, 4, 40):
        x = torch.randn(3, 4, n)
        torch.testing.assert_close(result(x), model(x), rtol=1e-4, atol=1e-5)


def test_a_known_program_is_lowered_once(monkeypatch):
    lowered = []
    lower = _export._lower
    monkeypatch.setattr(_export, "_lower", lambda *args: lowered.append(args) or lower(*args))
    onnxport.export(Deep(1 << 40), (torch.randn(2, 4, 9),), input_names=["x"], dynamic_axes=AXES)
    assert len(lowered) == 1


def test_warnings_are_withheld():
    with warnings.catch_warnings(record=True) as caught, withheld() as kept:
        warnings.simplefilter("always")
        warn("something")
    assert kept == ["something"]
    assert not caught
    with pytest.warns(OnnxExporterWarning, match="something"):
        warn("something")
