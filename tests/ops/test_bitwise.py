import torch
from tests.harness import LATEST, b8, case, cases, check, i32, i64, u8

CASES = [
    case("int64", lambda a, b: (a & b, a | b, a ^ b, ~a), i64(9, low=-300, high=300), i64(9, low=-300, high=300)),
    case("extremes", lambda a, b: (a & b, a ^ b), torch.tensor([-(2**63), -1, 2**63 - 1]), torch.tensor([-1, 5, -7])),
    case("uint8", lambda a, b: (a & b, a | b, a ^ b, ~a), u8(9, high=255), u8(9, high=255)),
    case("int32_number", lambda a: (a & 7, a | 8, a ^ -1), i32(9, low=-300, high=300)),
    case("in_place", lambda a, b: a.clone().bitwise_and_(b).__ior__(1).__ilshift__(2), i64(9), i64(9)),
    case("bools", lambda a, b: (a & b, a | b, a ^ b, ~a), b8(5), b8(5)),
    case("promoted", lambda a, b: a & b, u8(3), i64(2, 3)),
    case("shift_number", lambda a: (a << 3, a >> 2), i64(9, low=-300, high=300)),
    case("shift_uint8", lambda a, b: (a << b, a >> b), u8(9, high=255), u8(9, high=9)),
    case(
        "shift_tensor",
        lambda a, b: (a << b, a >> b),
        torch.tensor([5, -5, 1, -1, 7, -(2**63), 3, -3]),
        torch.tensor([0, 3, 63, 62, 64, 63, -1, -1]),
    ),
]


@cases(CASES, opsets=(9, 18, LATEST))
def test_bitwise(case, frontend, opset):
    check(case, frontend, opset)
