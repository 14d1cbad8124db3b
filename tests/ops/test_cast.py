import pytest
import torch
from tests.harness import LATEST, b8, case, cases, check, f16, f32, f64, i64, operators, u8

from onnxport.errors import LoweringError

N = {0: {0: "n"}}


def _filled(x):
    y = x.clone()
    y.fill_(2.5)
    z = x.clone()
    z.zero_()
    return y, z


def _copied(x, y):
    z = x.clone()
    z.copy_(y)
    z[0].copy_(y * 2)
    return z


def _to_copy(x):
    y = x.to(torch.float32, copy=True)
    y.add_(1)
    return x, y


def _to_same(x):
    y = x + 0
    y.to(torch.float32).add_(1)
    return y


CASTS = [
    case("to", lambda x: (x.to(torch.int64), x.double(), x.half(), x.to(torch.uint8) + 1), f32(3, low=0), dynamic=N),
    case("to_bool", lambda x: x.bool(), f32(3)),
    case("nan_to_bool", lambda x: (x / x).bool(), i64(3, low=0)),
    case("bool_to", lambda x: (x.int(), x.float(), x.to(torch.int8)), b8(3)),
    case("wraps", lambda x: (x * 100).to(torch.int8), i64(5)),
    case("truncates", lambda x: x.long(), f32(9)),
    case("type_as", lambda x, y: x.type_as(y), i64(3), f16(1)),
    case("to_other", lambda x, y: x.to(y), i64(3), f64(1)),
    case("device_and_dtype", lambda x: x.to("cpu", torch.float64), u8(3)),
    case("device", lambda x: x.to("cpu").cpu() + 1, f32(3)),
    case("fill", _filled, f32(2, 3), dynamic=N),
    case("fill_function", lambda x: torch.fill(x, value=True), f32(2, 3)),
    case("fill_int", _filled, i64(2, 3)),
    case("copy", _copied, f32(2, 3), i64(3)),
    case("to_copies", _to_copy, f32(3)),
    case("to_shares", _to_same, f32(3)),
]


@cases(CASTS, opsets=(9, 13, LATEST))
def test_casts(case, frontend, opset):
    check(case, frontend, opset)


def test_the_same_type_is_no_node():
    assert operators(check(case("same", lambda x: x.to(torch.float32).float() + 1, f32(3)))) == ["Add"]


def test_types_without_a_form_are_refused():
    with pytest.raises(LoweringError, match=r"^aten::empty\S* at .*test_cast.py:\d+(.|\n)*convert to another type"):
        check(case("unknown", lambda x: (x, torch.empty(2, dtype=torch.uint4)), f32(3)))
