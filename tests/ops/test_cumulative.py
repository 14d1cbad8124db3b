import torch
from tests.harness import LATEST, b8, case, cases, check, f16, f32, f64, i32, i64, u8

INF, NAN = float("inf"), float("nan")

SUMS = [
    case("floats", lambda a: (a.cumsum(1), a.cumsum(-2), a.cumsum(0, dtype=torch.float64)), f32(3, 5)),
    case("others", lambda a, b, c: (a.cumsum(0), b.cumsum(0), c.cumsum(0)), i32(5), u8(5), b8(5)),
    case("half", lambda a: a.cumsum(1), f16(3, 5)),
    case("zero_d", lambda a: (a.cumsum(0), a.cumprod(0), *a.cummax(0), a.logcumsumexp(0)), f32()),
    case("large_ints", lambda a: a.cumsum(0), torch.tensor([2**62, 2**61 + 1, 2**62])),
    case("dynamic", lambda a: a.cumsum(1), f32(3, 5), dynamic={0: "n", 1: "m"}),
]


@cases(SUMS, opsets=(7, 9, 11, 14, LATEST))
def test_sums(case, frontend, opset):
    check(case, frontend, opset)


RUNNING = [
    case("cumprod", lambda a: (a.cumprod(1), a.cumprod(0)), f32(3, 5)),
    case("cumprod_ints", lambda a: a.cumprod(1), i64(3, 5)),
    case("cumprod_dynamic", lambda a: a.cumprod(1), f32(3, 5), dynamic={1: "n"}),
    case("extrema", lambda a: (*a.cummax(1), *a.cummin(0)), f32(3, 5)),
    case("extrema_ties", lambda a: (*a.cummax(1), *a.cummin(1)), i64(3, 9, low=0, high=2)),
    case("extrema_nan", lambda a: (*a.cummax(0), *a.cummin(0)), torch.tensor([1.0, NAN, 2.0, INF, NAN, 0.0])),
    case(
        "extrema_nan_dynamic",
        lambda a: (*a.cummax(0), *a.cummin(0)),
        torch.tensor([1.0, NAN, 2.0, INF, NAN, 0.0]),
        dynamic={0: "n"},
        others=[(torch.tensor([2.0, 1.0, NAN, 3.0]),)],
    ),
    case("extrema_bool", lambda a: (*a.cummax(1), *a.cummin(1)), b8(3, 5)),
    case("extrema_dynamic", lambda a: (*a.cummax(1), *a.cummin(1)), f32(2, 5, 3), dynamic={1: "n"}),
    case("extrema_dynamic_ints", lambda a: (*a.cummax(0), *a.cummin(0)), i64(5, low=0, high=2), dynamic={0: "n"}),
    case("logs", lambda a: a.logcumsumexp(1), f32(3, 5)),
    case("logs_infinite", lambda a: a.logcumsumexp(0), torch.tensor([-INF, -INF, 1.0, 3.0, INF, 1.0])),
    case("logs_dynamic", lambda a: a.logcumsumexp(1), f64(3, 5), dynamic={1: "n"}),
]


@cases(RUNNING, opsets=(9, 13, 26, LATEST))
def test_running(case, frontend, opset):
    check(case, frontend, opset)


DIFFERENCES = [
    case("diff", lambda a: (a.diff(), a.diff(dim=0), a.diff(2), a.diff(n=0)), f32(3, 5)),
    case("diff_ends", lambda a, b: a.diff(prepend=b, append=b), i64(3, 5), i64(3, 2)),
    case("diff_bool", lambda a: a.diff(), b8(3, 5)),
    case("diff_all_gone", lambda a: a.diff(n=4), f32(3, 2)),
    case("diff_dynamic", lambda a: a.diff(), f32(3, 5), dynamic={1: "n"}),
    case("trapezoid", lambda y: (torch.trapezoid(y), torch.trapezoid(y, dx=2.0, dim=0)), f32(3, 5)),
    case("trapezoid_x", lambda y, x: (torch.trapezoid(y, x), torch.trapezoid(y, x[0])), f32(3, 5), f32(3, 5)),
    case("cumulative", lambda y: torch.cumulative_trapezoid(y, dim=0), f32(3, 5)),
]


@cases(DIFFERENCES, opsets=(9, 11, LATEST))
def test_differences(case, frontend, opset):
    check(case, frontend, opset)
