import torch
from tests.harness import LATEST, b8, case, cases, check, f16, f32, i64, u8

INF, NAN = float("inf"), float("nan")
HALVES = torch.tensor([0.5, 1.5, 2.5, -0.5, -1.5, 2.345, -7.8, 100.0, 25.0, -0.0])

CASES = [
    case("whole", lambda a: (a.floor(), a.ceil(), a.round(), a.trunc(), a.frac()), HALVES),
    case("half", lambda a: (a.floor(), a.ceil(), a.round(), a.trunc()), f16(6)),
    case("float64", lambda a: (a.floor(), a.round(), a.trunc()), HALVES.double()),
    case("decimals", lambda a: (a.round(decimals=2), a.round(decimals=-1)), HALVES),
    case("ints", lambda a: (a.floor(), a.ceil(), a.round(), a.trunc()), i64(4)),
    case("sign", lambda a: (a.sign(), a.sgn()), torch.tensor([1.0, -2.0, 0.0, INF, -INF])),
    case("sign_nan", lambda a: a.sign(), torch.tensor([NAN, -1.0])),
    case("sign_int", lambda a, b, c: (a.sign(), b.sign(), c.sign()), i64(4), u8(4), b8(4)),
    case("signbit", torch.signbit, torch.tensor([0.0, -0.0, INF, -INF, -1e-40, 2.0])),
    case("signbit_int", lambda a, b: (torch.signbit(a), torch.signbit(b)), i64(4), u8(4)),
    case("copysign", torch.copysign, f32(4), torch.tensor([0.0, -0.0, -3.0, 1.0])),
    case("copysign_int", lambda a: torch.copysign(a, -1), i64(4)),
    case("heaviside", torch.heaviside, torch.tensor([-1.0, 0.0, -0.0, 2.0, NAN]), torch.tensor(0.5)),
]


@cases(CASES, opsets=(7, 9, 11, LATEST))
def test_rounding(case, frontend, opset):
    check(case, frontend, opset)
