"""`x.view(dtype)`: the bits of numbers as those of another type."""

import dataclasses

import pytest
import torch
from tests.harness import LATEST, b8, case, cases, check, f32, f64, i64, operators, u8

from onnxport.errors import LoweringError, OpsetError

N = {0: "n"}


def views(*dtypes):
    return lambda x: tuple(x.view(dtype) for dtype in dtypes)


def _reciprocal_root(x):
    guess = (0x5F3759DF - (x.view(torch.int32) >> 1)).view(torch.float32)
    return guess * (1.5 - x * 0.5 * guess * guess)


def _nibbles(x):
    return torch.stack([(x & 15).view(torch.int8) - 8, (x >> 4).view(torch.int8) - 8], -1).flatten(1)


INTEGERS = [
    case("signs", lambda x: (x.view(torch.int8), x.view(torch.bool)), u8(3, 2, high=2), dynamic=N),
    case("bools", lambda x: x.view(torch.uint8) + x.view(torch.int8), b8(3, 2), dynamic=N),
    case("nibbles", _nibbles, u8(3, 4, high=255), dynamic=N),
    case("pieces", views(torch.int32, torch.int16, torch.int8, torch.uint8), i64(3, 2, low=-(2**62), high=2**62), dynamic=N),
    case("joined", views(torch.int16, torch.int32, torch.int64), u8(3, 16, high=255), dynamic=N),
    case("joined_signed", lambda x: (x - 128).to(torch.int8).view(torch.int64), i64(2, 8, low=0, high=255)),
    case("known", lambda x: x + torch.tensor([1.5, -2.0]).view(torch.int32), i64(3, 2), dynamic=N),
]  # fmt: skip
FLOATS = [
    case("float32", views(torch.int32, torch.int16, torch.uint8, torch.float16), f32(3, 4), dynamic=N),
    case("float64", views(torch.int64, torch.float32, torch.int8), f64(3, 4), dynamic=N),
    case("bfloat16", lambda x: views(torch.int16, torch.float32)(x.bfloat16()), f32(3, 4), dynamic=N),
    case("from_int64", views(torch.float64, torch.float16), i64(3, 4), dynamic=N),
    case("from_bytes", lambda x: (x & 0x3F).view(torch.float32), u8(3, 8), dynamic=N),
    case("reciprocal_root", _reciprocal_root, f32(3, 2, low=0.1), dynamic=N),
]


def _fixed(case):
    return dataclasses.replace(case, dynamic={})


@cases(INTEGERS, opsets=(11, LATEST), frontends=("trace", "exported"))
def test_integers(case, frontend, opset):
    check(_fixed(case) if frontend == "exported" else case, frontend, opset)


@cases(FLOATS, opsets=(26, LATEST), frontends=("trace", "exported"))
def test_floats(case, frontend, opset):
    check(_fixed(case) if frontend == "exported" else case, frontend, opset)


def test_one_node():
    assert operators(check(case("bits", lambda x: x.view(torch.int32), f32(3)))) == ["BitCast"]


def test_older_opsets_say_which_is_needed():
    with pytest.raises(OpsetError, match="needs opset 26"):
        check(FLOATS[0], opset=20)


def test_writes_through_bits_are_refused():
    def write(x):
        y = x.clone()
        y.view(torch.int32).add_(1)
        return y

    with pytest.raises(LoweringError, match="writes through a view of torch.float32 as torch.int32"):
        check(case("write", write, f32(3)))
