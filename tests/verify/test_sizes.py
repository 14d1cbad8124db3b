"""Inputs of other sizes."""

from __future__ import annotations

import onnx_ir as ir
import torch

from onnxport.verify import sizes


def test_each_label_changes_on_its_own() -> None:
    made = list(sizes.others({"b": 2, "t": 2}))
    assert made[0] == {"b": 3, "t": 4}
    assert made[1] == {"b": 4, "t": 4}
    assert all(size >= 1 for m in made for size in m.values())
    assert {"b": 2, "t": 2} not in made


def test_an_example_of_one_is_left() -> None:
    assert [m["b"] for m in sizes.others({"b": 1})] == [2, 4]


def test_nothing_to_change() -> None:
    assert not list(sizes.others({}))


def test_values_are_those_of_the_example() -> None:
    ids, mask = torch.tensor([[3, 7, 9]]), torch.tensor([[True, True, False]])
    axes = [{0: "b", 1: "t"}, {1: "t"}]
    made = sizes.resized([ids, mask], axes, {"b": 4, "t": 50})
    assert [list(x.shape) for x in made] == [[4, 50], [1, 50]]
    assert set(made[0].flatten().tolist()) == {3, 7, 9}
    assert made[1].dtype == torch.bool


def test_inputs_that_keep_their_sizes_are_kept() -> None:
    x, n = torch.zeros(2), 5
    assert all(a is b for a, b in zip(sizes.resized([x, n], [{}, {}], {"b": 9}), [x, n]))


def test_empty_example() -> None:
    assert sizes.resized([torch.zeros(0, 2)], [{0: "b"}], {"b": 3})[0].shape == (3, 2)


def test_axes_of_a_graph() -> None:
    assert sizes.input_axes([ir.Shape(["batch size", 3]), None, ir.Shape([1])]) == [{0: "batch size"}, {}, {}]
