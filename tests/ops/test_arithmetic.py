import pytest
import torch
from tests.harness import LATEST, b8, case, cases, check, f16, f32, f64, i32, i64, operators, u8

from onnxport.errors import LoweringError
from onnxport.lower.builder import Builder
from onnxport.lower.values import Tensor
from onnxport.ops import arithmetic

INF, NAN = float("inf"), float("nan")

SUMS = [
    case("floats", lambda a, b: a + b, f32(2, 3), f32(3), dynamic={0: {0: "n"}}),
    case("alpha", lambda a, b: (a.add(b, alpha=2), a.sub(b, alpha=0.5), torch.rsub(a, b, alpha=3)), f32(2, 3), f32(3)),
    case("int_and_float", lambda a, b: (a + b, a - b, b * a), i64(2, 3), f32(3)),
    case("number", lambda a: (a + 1.5, 2 - a, a * 3, a + True), i64(2, 3)),
    case("half_and_zero_d", lambda a, b: (a + b, a * b), f16(2, 3), f64()),
    case("zero_d", lambda a, b: (a + b, a - b), i32(), i64(3)),
    case("bools", lambda a, b: (a + b, a * b, a + 1), b8(4), b8(4)),
    case("wraps", lambda a: (a + 200, a * 100, -a), u8(5)),
    case("neg_abs_square", lambda a: (-a, a.abs(), a.square(), torch.positive(a)), i64(5)),
    case("addc", lambda a, b: (torch.addcmul(a, a, b, value=0.5), torch.addcdiv(a, b, a + 3)), f32(5), f32(5)),
    case("addc_int", lambda a, b: torch.addcmul(a, a, b, value=2), i64(5), i64(5)),
    case("lerp", lambda a, b: (torch.lerp(a, b, 0.3), torch.lerp(a, b, 0.7)), f32(5), f32(5)),
    case("lerp_tensor", lambda a, b, w: torch.lerp(a, b, w), f32(5), f32(5), f32(5, low=0, high=1)),
    case("in_place", lambda a, b: a.clone().add_(b).mul_(2).div_(3), f32(5), f32(5)),
]


@cases(SUMS, opsets=(7, 9, 13, 14, LATEST))
def test_sums_and_products(case, frontend, opset):
    check(case, frontend, opset)


QUOTIENTS = [
    case("true", lambda a, b: (a / b, a / 2, 2 / a), f32(5, low=1), f32(5)),
    case("true_of_ints", lambda a, b: (a / b, a / 2, b.reciprocal()), i64(5), i64(5, low=1)),
    case(
        "int_signs",
        lambda a, b: (a // b, a % b, torch.fmod(a, b), torch.div(a, b, rounding_mode="trunc"), a // 3, a % -3),
        torch.tensor([7, -7, 7, -7, 6, -6, 0]),
        torch.tensor([2, 2, -2, -2, 3, 3, -5]),
    ),
    case("unsigned", lambda a, b: (a // b, a % b, torch.fmod(a, b)), u8(6), u8(6, low=1)),
    case("int_large", lambda a: (a // 3, a % 1000), torch.tensor([2**62 + 1, -(2**62) - 1])),
    case("int32", lambda a, b: (a // b, a % b), i32(6), i32(6, low=1)),
    *[
        case(
            f"least_{dtype}",
            lambda a, b: (a // b, a % b, a // 12),
            torch.tensor([torch.iinfo(dtype).min] * 3, dtype=dtype),
            torch.tensor([3, 7, -7], dtype=dtype),
        )
        for dtype in (torch.int8, torch.int16, torch.int32)
    ],
    case(
        "floats",
        lambda a, b: (a // b, a % b, torch.fmod(a, b), torch.div(a, b, rounding_mode="trunc")),
        torch.tensor([1.0, -1.0, 7.5, -7.5, 7.5, 0.0, 3.0]),
        torch.tensor([0.1, 0.1, 2.0, 2.0, -2.0, 5.0, -1.0]),
    ),
    case("float_by_zero", lambda a: (a // 0.0, a % 2), torch.tensor([1.0, -1.0, NAN])),
    case("floats_old", lambda a: (a // 2, a % 2, torch.fmod(a, 2)), torch.tensor([7.5, -7.5, 3.0, -3.0])),
    case("bool", lambda a: (a // 2, a % 2), b8(5)),
]


@cases(QUOTIENTS, opsets=(7, 9, 10, 11, LATEST))
def test_quotients(case, frontend, opset):
    check(case, frontend, opset)


POWERS = [
    case("numbers", lambda a: (a**2, a**3, a**0.5, a**-1, a**-0.5, a**0, a**1, a**1.7, 2**a), f32(5, low=0.1)),
    case("negative_base", lambda a: (a**2, a**3, a**-1), f64(5)),
    case("tensors", lambda a, b: a**b, f32(5, low=0.1), f32(5)),
    case("int_number", lambda a: (a**2, a**3, a**0, a**7), i64(6)),
    case("int_wraps", lambda a: (a**2, a**5), torch.tensor([2**31 + 1, -3, 2**13])),
    case("uint8", lambda a: a**3, u8(6)),
    case("int_tensor", lambda a, b: (a**b, 3**b), i64(6), i64(6, low=0, high=45)),
    case("int_to_float", lambda a: (a**0.5, a**2.0, 0.5**a), i64(6, low=0)),
    case("float_power", lambda a: torch.float_power(a, 2), i64(6)),
    case("ldexp", lambda a, b: torch.ldexp(a, b), f32(5), i64(5)),
    *[
        case(
            f"powers_far_{str(d)[6:]}",
            lambda a, b: a[:, None] ** b,
            torch.tensor([0, 1, -1, 2, 6], dtype=d),
            torch.tensor([0, 1, 62, 63, 64, 65, 255, 256, 257, 1024, -1, -64]).to(d),
        )
        for d in (torch.int64, torch.int32, torch.int16)
    ],
    case("powers_wrapped", lambda a, b: a**b, torch.tensor([3, -55, 7, 127]), torch.tensor([64, 127, 200, 90])),
    case("ldexp_kinds", lambda a, b: (a.ldexp(b), a.half().ldexp(b.int()), b.ldexp(b), a.double().ldexp(a)), f32(5), i64(5)),
    case(
        "ldexp_far",
        lambda a, b: (torch.ldexp(a, b), torch.ldexp(a.double(), 9 * b)),
        torch.tensor([1e-20, 0.0, 1e30, 1.0]),
        torch.tensor([140, 600, -140, 200]),
    ),
    case(
        "frexp", torch.frexp, torch.tensor([0.0, 1.0, -3.5, 0.1, 1e-30, 8.0, -0.125, 1e30, INF])
    ),
]  # fmt: skip


@cases(POWERS, opsets=(7, 9, 12, LATEST))
def test_powers(case, frontend, opset):
    check(case, frontend, opset)


def test_power_of_two_stays_a_pow():
    """onnxruntime recognises RMS normalisation by it."""
    assert operators(check(case("square", lambda a: a**2, f32(3)))) == ["Pow"]


SIZES = [
    case("floor", lambda x: x.reshape(x.shape[0] // 2, -1), f32(4, 6), dynamic={1: "m"}),
    case("halves", lambda x: (x[: x.shape[0] // 2], x[x.shape[0] // 2 :]), f32(4, 6), dynamic={0: "n"}),
    case("mod", lambda x: x[: x.shape[0] - x.shape[0] % 4], f32(9, 2), dynamic={0: "n"}),
    case("negative", lambda x: x[: -(-x.shape[0] // 2)], f32(5, 2), dynamic={0: "n"}),
    case("power", lambda x: x.new_ones(x.shape[0] ** 2), f32(3), dynamic={0: "n"}),
]


@cases(SIZES, opsets=(11, LATEST))
def test_sizes(case, frontend, opset):
    check(case, frontend, opset)


@pytest.mark.parametrize(
    ("quotient", "whole"),
    [
        (lambda g, n: g.cast(arithmetic.div(g, n, 2), torch.int64), lambda n: n // 2),
        (lambda g, n: g.cast(arithmetic.mul(g, n, 0.5), torch.int32), lambda n: n // 2),
        (lambda g, n: g.cast(g.floor(arithmetic.mul(g, n, 1.5)), torch.int64), lambda n: n * 3 // 2),
        (lambda g, n: g.cast(g.ceil(arithmetic.div(g, n, 4)), torch.int64), lambda n: -(-n // 4)),
        (lambda g, n: g.cast(g.trunc(arithmetic.div(g, n, 4)), torch.int64), lambda n: n // 4),
        (lambda g, n: arithmetic.floor_divide(g, n, 3), lambda n: n // 3),
        (lambda g, n: arithmetic.remainder(g, n, 3), lambda n: n % 3),
        (lambda g, n: arithmetic.div(g, n, 3, "trunc"), lambda n: n // 3),
        (lambda g, n: arithmetic.pow_(g, n, 2), lambda n: n * n),
    ],
)
def test_rounded_quotient_of_a_size_is_a_size(quotient, whole):
    g = Builder(LATEST)
    n = g.symbol("n")
    g.declare(Tensor(torch.float32, (n,), value=g.value_of("x", torch.float32, [n])))
    assert quotient(g, g.size(n)).data.item() == whole(n)


def test_inexact_quotient_of_a_size_is_computed():
    g = Builder(LATEST)
    n = g.symbol("n")
    g.declare(Tensor(torch.float32, (n,), value=g.value_of("x", torch.float32, [n])))
    assert not g.cast(arithmetic.mul(g, g.size(n), 0.7), torch.int64).is_known


def test_negative_integer_power_is_refused():
    g = Builder(LATEST)
    with pytest.raises(LoweringError, match="negative powers"):
        arithmetic.pow_(g, g.const([1, 2], torch.int64), -1)
