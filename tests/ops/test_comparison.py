import torch
from tests.harness import LATEST, b8, case, cases, check, f16, f32, f64, i32, i64, operators, u8

INF, NAN = float("inf"), float("nan")
ODD = torch.tensor([1.0, NAN, INF, -INF, -0.0, 2.0])


def relations(a, b):
    return a == b, a != b, a < b, a <= b, a > b, a >= b


COMPARISONS = [
    case("odd_floats", relations, ODD, torch.tensor([1.0, 0.0, INF, INF, 0.0, NAN])),
    case("ints", relations, i64(6), i64(6)),
    case("uint8", relations, u8(6), u8(6)),
    case("half", relations, f16(6), f16(6)),
    case("float64", relations, f64(6), f64(6)),
    case("bools", relations, b8(6), b8(6)),
    case("promoted", relations, i64(2, 3), f32(3), dynamic={0: {0: "n"}}),
    case("numbers", lambda a: (a == 1, a > 1.5, a <= -2, a > 0), i64(6)),
    case("close", lambda a, b: (torch.isclose(a, b), torch.isclose(a, b, equal_nan=True)), ODD, ODD + 1e-7),
]


@cases(COMPARISONS, opsets=(7, 9, 11, 12, LATEST))
def test_comparison(case, frontend, opset):
    check(case, frontend, opset)


LOGIC = [
    case(
        "mixed",
        lambda a, b: (torch.logical_and(a, b), torch.logical_or(a, b), torch.logical_xor(a, b), torch.logical_not(a)),
        torch.tensor([0.0, 1.0, NAN, -0.5]),
        torch.tensor([0, 0, 3, 1]),
    ),
]


@cases(LOGIC, opsets=(7, LATEST))
def test_logic(case, frontend, opset):
    check(case, frontend, opset)


CHOICES = [
    case("where", lambda a, b: (torch.where(a > 0, a, b), torch.where(a > 0, 1.0, b)), f32(2, 3), f32(3)),
    case("where_number", lambda a: (torch.where(a > 0, a, 0), torch.where(a > 0, 1, 2)), f32(4)),
    case("where_int_float", lambda a, b: torch.where(a > 0, a, b), i64(4), f32(4)),
    case("where_bool", lambda c, a, b: torch.where(c, a, b), b8(4), b8(4), b8(4)),
    case("where_ints_old", lambda c, a, b: torch.where(c, a, b), b8(4), i64(4), i64(4)),
    case("where_zero_d", lambda c, a: torch.where(c, a, a + 1), b8(), f16(4)),
    case("masked_fill", lambda a, m: (a.masked_fill(m, -INF), a.masked_fill(m, 2)), f32(2, 3), b8(3)),
    case("masked_fill_tensor", lambda a, m, v: a.masked_fill(m, v), f32(2, 3), b8(2, 1), f64()),
]


@cases(CHOICES, opsets=(7, 9, 16, LATEST))
def test_choice(case, frontend, opset):
    check(case, frontend, opset)


BOUNDS = [
    case("numbers", lambda a: (a.clamp(-1, 1), a.clamp(min=0), a.clamp(max=0.5), a.clamp(2, 1)), ODD),
    case("half", lambda a: a.clamp(-1, 1), f16(6)),
    case("float64", lambda a: a.clamp(-0.1, 0.1), f64(6)),
    case("ints", lambda a: (a.clamp(-1, 1), a.clamp_min(2), a.clamp_max(2)), i64(6)),
    case("int32", lambda a: a.clamp(-1, 1), i32(6)),
    case("int_by_float", lambda a: a.clamp(min=0.5), i64(6)),
    case("uint8", lambda a: a.clamp(2, 5), u8(6)),
    case("tensors", lambda a, b: (a.clamp(b, b + 1), a.clamp(max=b)), f32(2, 3), f32(3)),
    case("nan_bound", lambda a: a.clamp(min=NAN), f32(3)),
    case("extrema", lambda a, b: (torch.maximum(a, b), torch.minimum(a, b), torch.max(a, b)), ODD, ODD.flip(0)),
    case("int_extrema", lambda a, b: (torch.maximum(a, b), torch.minimum(a, b)), i64(6), i64(6)),
    case("bool_extrema", lambda a, b: (torch.maximum(a, b), torch.minimum(a, b)), b8(6), b8(6)),
    case("without_nan", lambda a, b: (torch.fmax(a, b), torch.fmin(a, b)), ODD, ODD.flip(0)),
]


@cases(BOUNDS, opsets=(7, 8, 9, 11, 12, LATEST))
def test_bounds(case, frontend, opset):
    check(case, frontend, opset)


KINDS = [
    case("kinds", lambda a: (a.isnan(), a.isinf(), a.isfinite(), a.isposinf(), a.isneginf(), a.isreal()), ODD),
    case("half", lambda a: (a.isnan(), a.isinf(), a.isfinite()), ODD.half()),
    case(
        "kinds_of_ints",
        lambda a, b: (a.isnan(), a.isinf(), a.isfinite(), b.isnan()),
        i64(5),
        torch.tensor([True, False]),
    ),
    case("ints", lambda a: (a.isinf(), a.isfinite(), a.nan_to_num()), i64(3)),
    case("nan_to_num", lambda a: (a.nan_to_num(), a.nan_to_num(1.0, 2.0, 3.0)), ODD),
    case(
        "nan_to_num_complex",
        lambda a: (a.nan_to_num(), torch.clone(a).nan_to_num_(1.0, 2.0, 3.0)),
        torch.complex(ODD, ODD.flip(0)),
    ),
    case("nan_to_num64", lambda a: a.nan_to_num(), ODD.double()),
    case("gcd", lambda a, b: (torch.gcd(a, b), torch.lcm(a, b)), i32(8, low=-40, high=40), i32(8, low=-40, high=40)),
]


@cases(KINDS, opsets=(7, 9, 10, 11, LATEST))
def test_kinds_of_numbers(case, frontend, opset):
    check(case, frontend, opset)


def test_clamp_is_one_op():
    assert operators(check(case("clamp", lambda a: a.clamp(0, 6), f32(3)))) == ["Clip"]
