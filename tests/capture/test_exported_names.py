"""Outputs of exported programs are named as those of the same model traced: by keys and fields."""

import dataclasses
from typing import NamedTuple

import pytest
import torch
from torch import nn
from torch.utils import _pytree as pytree

import onnxport


class Pair(NamedTuple):
    scores: torch.Tensor
    boxes: torch.Tensor


@dataclasses.dataclass
class Output:
    logits: torch.Tensor
    hidden: tuple | None = None


if Output not in pytree.SUPPORTED_NODES:
    torch.export.register_dataclass(Output, serialized_type_name="tests.Output")


class Returns(nn.Module):
    def __init__(self, result):
        super().__init__()
        self.result = result

    def forward(self, x):
        return self.result(x + 1, x * 2)


RESULTS = {
    "tensor": lambda a, b: a,
    "tuple": lambda a, b: (a, b),
    "dict": lambda a, b: {"logits": a, "loss": b},
    "nested": lambda a, b: {"logits": a, "past": [(a, b), (b, None)], "none": None},
    "number": lambda a, b: {"logits": a, "steps": 3},
    "named_tuple": lambda a, b: Pair(a, b),
    "dataclass": lambda a, b: Output(a, (b, a)),
    "same_twice": lambda a, b: {"first": a, "second": a},
}


@pytest.mark.parametrize("name", RESULTS)
def test_names_of_outputs(name):
    model, x = Returns(RESULTS[name]), torch.randn(2, 3)
    traced, exported = onnxport.export(model, (x,)), onnxport.export(torch.export.export(model, (x,)))
    names = [output.name for output in exported.model.graph.outputs]
    assert names == [output.name for output in traced.model.graph.outputs]
    for given, expected in zip(pytree.tree_leaves(exported(x)), pytree.tree_leaves(traced(x)), strict=True):
        torch.testing.assert_close(torch.as_tensor(given), torch.as_tensor(expected))


def test_names_that_are_given():
    exported = torch.export.export(Returns(RESULTS["dict"]), (torch.randn(2, 3),))
    result = onnxport.export(exported, output_names=["a"])
    assert [output.name for output in result.model.graph.outputs] == ["a", "loss"]
