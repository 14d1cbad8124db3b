"""Dims of torch.export: names, bounds, and sizes that follow from others."""

from __future__ import annotations

import onnx
import pytest
import torch
from torch import nn
from torch.export import Dim

import onnxport
from onnxport.verify import Session

N = Dim("n", min=3, max=6)


class Bounded(nn.Module):
    """Runs at few sizes, and remembers which it was run at."""

    def __init__(self, least: int, largest: int | None, loops: bool = False) -> None:
        super().__init__()
        self.least, self.largest, self.loops = least, largest, loops
        self.seen: set[int] = set()
        self.seen_by = self.seen.add

    def forward(self, x):
        n = int(x.shape[0])
        self.seen_by(n)
        assert self.least <= n and (self.largest is None or n <= self.largest), n
        if self.loops:
            for i in range(n):
                x = x + i * x[:1]
        return x * n


BOUNDS = [
    (4, N, 3, 6),
    (3, N, 3, 6),
    (6, N, 3, 6),
    (4, Dim("n", min=4), 4, None),
    (4, Dim("n", max=4), 1, 4),
    (4, Dim.DYNAMIC(min=4, max=4), 4, 4),
    (4, Dim("n", min=4, max=5), 4, 5),
    (4, Dim.DYNAMIC(min=3, max=5), 3, 5),
    (4, Dim.AUTO(min=3, max=5), 3, 5),
]


@pytest.mark.parametrize("loops", [False, True])
@pytest.mark.parametrize("size, dim, least, largest", BOUNDS)
def test_sizes_that_are_tried_stay_within_bounds(size, dim, least, largest, loops):
    model = Bounded(least, largest, loops)
    result = onnxport.export(model, torch.randn(size, 2), dynamic_shapes={"x": {0: dim}})
    report = result.verify()
    assert not [check for check in report.checks if check.skipped]
    assert len(report.checks) >= min(3, (largest or 99) - least + 1)
    assert all(least <= n and (largest is None or n <= largest) for n in model.seen)


def test_bounds_of_an_exported_program():
    class Net(nn.Module):
        def forward(self, x):
            return x * x.shape[0]

    exported = torch.export.export(Net(), (torch.randn(4, 2),), dynamic_shapes={"x": {0: N}})
    report = onnxport.export(exported).verify()
    assert [next(iter(check.sizes.values())) for check in report.checks] == [4, 5, 6, 3]
    named = onnxport.export(exported, dynamic_shapes={"x": {0: N}}).verify()
    assert [check.sizes for check in named.checks] == [{"n": size} for size in (4, 5, 6, 3)]


class Pair(nn.Module):
    def forward(self, x, y):
        return torch.cat([x, y]), y[: x.shape[0]] * x.shape[0], torch.arange(y.shape[0]), torch.zeros(x.shape[0] * 2)


class Numbers(nn.Module):
    """Takes sizes for Python numbers; torch.export would take them for constants."""

    def forward(self, x, y):
        return x * int(y.shape[0]), y * int(x.shape[0])


def sizes_of(value: onnx.ValueInfoProto) -> list[int | str]:
    return [d.dim_param or d.dim_value for d in value.type.tensor_type.shape.dim]


DERIVED = [
    # model, sizes of x and y, their Dims, what the inputs say
    (Pair, (4, 9), (N, 2 * N + 1), ("n", "2*n + 1")),
    (Pair, (9, 4), (2 * N + 1, N), ("2*n + 1", "n")),
    (Pair, (4, 5), (N, N + 1), ("n", "n + 1")),
    (Pair, (5, 8), (N + 1, 2 * N), ("n + 1", "2*n")),
    (Pair, (7, 12), (2 * N - 1, 3 * N), ("2*n - 1", "3*n")),
    (Numbers, (4, 9), (N, 2 * N + 1), ("n", "2*n + 1")),
    (Numbers, (5, 8), (N + 1, 2 * N), ("n + 1", "2*n")),
]


@pytest.mark.parametrize(
    "front_end, model, sizes, dims, said",
    [("trace", *case) for case in DERIVED] + [("exported", *case) for case in DERIVED if case[0] is not Numbers],
)
def test_sizes_that_follow_from_others(front_end, model, sizes, dims, said, tmp_path):
    args = tuple(torch.randn(size, 2) for size in sizes)
    shapes = dict(zip("xy", ({0: d} for d in dims)))
    path = tmp_path / "model.onnx"
    if front_end == "exported":
        exported = torch.export.export(model(), args, dynamic_shapes=shapes)
        result = onnxport.export(exported, f=path, dynamic_shapes=shapes)
    else:
        result = onnxport.export(model(), args, path, dynamic_shapes=shapes)
    report = result.verify()
    assert len(report.checks) == 4 and not any(check.skipped for check in report.checks)
    texts = [sizes_of(value)[0] for value in onnx.load(path).graph.input]
    if front_end == "trace":
        assert texts == list(said)
        assert {label for check in report.checks for label in check.sizes} == {"n"}
    assert sum(str(text).isidentifier() for text in texts) == sum(text.isidentifier() for text in said)
    assert Session(path).axes[0][0] == texts[0]


class Broadcasts(nn.Module):
    def forward(self, x, y):
        return x + y[1:]


@pytest.mark.parametrize("front_end", ["trace", "exported"])
def test_sizes_that_are_known_to_be_equal_need_no_broadcast(front_end):
    args = torch.randn(4, 2), torch.randn(5, 2)
    shapes = {"x": {0: N}, "y": {0: N + 1}}
    model = Broadcasts()
    if front_end == "exported":
        model = torch.export.export(model, args, dynamic_shapes=shapes)
    result = onnxport.export(model, args, dynamic_shapes=shapes)
    assert result.model.graph.outputs[0].shape == ["n", 2]
    assert [node.op_type for node in result.model.graph] == ["Slice", "Add"]


def test_the_command_understands_what_the_file_says(tmp_path):
    from onnxport.program import Labels

    assert Labels.read(["n", "2*n + 1", "m + 1", "past seq", "n + m", "x//2"]).derived.keys() == {"2*n + 1"}
    assert Labels.read(["batch", "past", "past + batch", "batch + past"]).derived.keys() == {"batch + past"}


WRONG = [
    ({"x": {0: Dim("n", min=5)}}, "the size n is 4 in the example, but has to be 5 or more"),
    ({"x": {0: Dim("n", max=3)}}, "the size n is 4 in the example, but has to be from 0 to 3"),
    ({"x": {0: Dim("n")}, "y": {0: Dim("n", max=9)}}, "two Dims 'n' of different bounds"),
    ({"x": {0: N}, "y": {0: 2 * N}}, "an axis of the size 2\\*n has 9 in the example, where n=4"),
    ({"y": {0: 2 * N}}, "an axis of the size 2\\*n has 9 in the example, where n=4"),
    ({"x": {0: 7}}, "the fixed size 7 for axis 0 of 'x', where the example has 4"),
]


@pytest.mark.parametrize("shapes, text", WRONG)
def test_examples_that_do_not_fit_are_refused(shapes, text):
    with pytest.raises(ValueError, match=text):
        onnxport.export(Pair(), (torch.randn(4, 2), torch.randn(9, 2)), dynamic_shapes=shapes)


def test_what_is_no_size_is_refused():
    with pytest.raises(TypeError, match="dynamic_shapes has 1.5, of type float"):
        onnxport.export(Pair(), (torch.randn(4, 2), torch.randn(9, 2)), dynamic_shapes={"x": {0: 1.5}})


class Collects(nn.Module):
    def forward(self, xs, *rest, **named):
        return xs[0] + rest[0] + named["z"]


def test_arguments_that_are_collected():
    x = torch.randn(4, 2)
    for named in ({"z": {0: N}}, {"named": {"z": {0: N}}}):
        shapes = {"xs": [{0: N}], "rest": ({0: N},), **named}
        result = onnxport.export(Collects(), ([x], x), kwargs={"z": x}, dynamic_shapes=shapes)
        assert [value.shape[0].value for value in result.model.graph.inputs] == ["n"] * 3
        assert len(result.verify().checks) == 4


def test_a_collection_of_shapes():
    x, y = torch.randn(4, 2), torch.randn(9, 2)
    shapes = torch.export.ShapesCollection()
    shapes[x], shapes[y] = (N, None), (2 * N + 1, None)
    result = onnxport.export(Pair(), (x, y), dynamic_shapes=shapes)
    assert [value.shape[0].value for value in result.model.graph.inputs] == ["n", "2*n + 1"]
    with pytest.raises(TypeError, match="dynamic_shapes must be a dict by argument"):
        onnxport.export(Pair(), (x, y), dynamic_shapes=N)
