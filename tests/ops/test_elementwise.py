from tests.harness import LATEST, case, cases, check, f32, i64

CASES = [
    case("floats", lambda a, b: a + b, f32(2, 3), f32(3), dynamic={0: {0: "n"}}),
    case("alpha", lambda a, b: a.add(b, alpha=2), f32(2, 3), f32(2, 3)),
    case("int_and_float", lambda a, b: a + b, i64(2, 3), f32(3)),
    case("number", lambda a: a + 1.5, i64(2, 3)),
]


@cases(CASES, opsets=(7, 13, 14, LATEST))
def test_add(case, frontend, opset):
    check(case, frontend, opset)
