"""Ops that change the sizes of a tensor in place: its names see the new ones, its views stay what they were."""

import dataclasses

import pytest
import torch
from tests.harness import LATEST, case, cases, check, f32

import onnxport
from onnxport.errors import LoweringError

N = {0: {0: "n"}}


def with_views(x):
    y = x * 2
    row = y[0]
    z = y.t_()
    row += 1
    y[0] = 7
    return y, z, row


def by_tuple(x):
    y = x * 2
    pair = (y, 1)
    y.unsqueeze_(0)
    y += 1
    return pair[0], y.sum(1)


def of_an_input(x):
    x.t_()
    x += 1
    return x * 2


def swapped(x):
    y = x.unsqueeze(0) * 1
    y.transpose_(0, 1)
    y.swapaxes_(1, 2)
    y.swapdims_(0, 2)
    y[0] = 3
    return y.squeeze_(1) @ x, y


def strided(x):
    y = x.clone()
    y.as_strided_((2, 2), (1, 1))
    return y + 1


def another_tensor(x, z):
    y = x * 2
    row = y[0]
    y.set_(z)
    y += 1
    row *= 2
    return y, z, row


TABLE = [
    case("with_views", with_views, f32(3, 4), dynamic=N),
    case("by_tuple", by_tuple, f32(3, 4), dynamic=N),
    case("of_an_input", of_an_input, f32(4, 3), dynamic=N),
    case("input_squeezed", lambda x: x.squeeze_(1) @ torch.ones(3, 2), f32(4, 1, 3), dynamic=N),
    case("swapped", swapped, f32(3, 4), dynamic=N),
    case("strided", strided, f32(2, 3)),
    case("another_tensor", another_tensor, f32(2, 3), f32(4, 5), dynamic=N),
]


@cases(TABLE, opsets=(7, 9, 13, LATEST))
def test_traced(case, frontend, opset):
    check(case, frontend, opset)


@cases([c for c in TABLE if c.name != "input_squeezed"], frontends=("script",))
def test_scripted(case, frontend, opset):
    check(case, frontend, opset)


@cases([dataclasses.replace(c, dynamic={}) for c in TABLE if c.name != "another_tensor"], frontends=("exported",))
def test_exported_programs(case, frontend, opset):
    check(case, frontend, opset)


def test_argument_keeps_its_sizes():
    x = torch.ones(4, 3)
    onnxport.export(of_an_input, (x,), None)
    assert x.equal(torch.ones(4, 3))


def in_a_list(x):
    y = x * 2
    rows = [y]
    y.unsqueeze_(0)
    return rows[0] + 1


def on_one_path(x):
    y = x * 2
    if x.shape[0] > 3:
        y.unsqueeze_(0)
    return y.sum(0)


@pytest.mark.parametrize("function", [in_a_list, on_one_path])
def test_what_cannot_be_followed_is_refused(function):
    with pytest.raises(LoweringError, match=r"(?s)unsqueeze_.*in place.*write `x = x.unsqueeze"):
        onnxport.export(
            torch.jit.script(function), (torch.ones(4, 3),), None, input_names=["x"], dynamic_axes={"x": [0]}
        )
