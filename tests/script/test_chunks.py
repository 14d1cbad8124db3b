"""`x.chunk(3)` of an axis that may have room for fewer pieces, in scripts: how many there are is known at run time."""

import pytest
import torch

import onnxport


def last(x):
    return x.chunk(3)[-1] * 2


def counted(x):
    return x + len(x.chunk(3))


def each(x):
    total = torch.zeros(1, 2)
    for piece in x.chunk(4):
        total = total * 2 + piece.sum(0, keepdim=True)
    return total


def listed(x):
    return torch.stack([piece.sum(0) for piece in x.chunk(3)])


def written(x):
    x = x.clone()
    x.chunk(3)[-1].mul_(3)
    return x


def cut(x):
    total = torch.zeros(1, 2)
    for piece in x.split(2):
        total = total * 2 + piece.sum(0, keepdim=True)
    return total


def named(x):
    a, b = x.chunk(2)
    return a.sum(0) - 2 * b.sum(0)


def named_and_written(x):
    x = x.clone()
    a, b = x.chunk(2)
    a.mul_(3)
    return x + b.sum(0)


@pytest.mark.parametrize("opset", [8, 9, 10, 11, 13, 17, 18, 28])
@pytest.mark.parametrize("function", [last, counted, each, listed, written, cut, named, named_and_written])
def test_pieces(function, opset):
    scripted = torch.jit.script(function)
    result = onnxport.export(
        scripted, torch.randn(6, 2), input_names=["x"], dynamic_axes={"x": {0: "n"}}, opset_version=opset
    )
    for n in (1, 2, 4, 5, 6, 7, 12):
        x = torch.randn(n, 2)
        if "named" in function.__name__ and n == 1:  # fewer pieces than names
            continue
        torch.testing.assert_close(torch.as_tensor(result(x)), scripted(x))


def test_pieces_with_names_are_those_of_one_split():
    result = onnxport.export(
        torch.jit.script(named), torch.randn(6, 2), input_names=["x"], dynamic_axes={"x": {0: "n"}}, opset_version=18
    )
    assert [node.op_type for node in result.model.graph if "Split" in node.op_type] == ["Split"]
