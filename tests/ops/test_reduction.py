import pytest
import torch
from tests.harness import LATEST, b8, case, cases, check, f16, f32, f64, i32, i64, operators, u8

INF, NAN = float("inf"), float("nan")
NM = {0: "n", 1: "m"}

SUMS = [
    case("sum", lambda a: (a.sum(), a.sum(1), a.sum((0, -1), True), a.sum(())), f32(3, 4, 2), dynamic=NM),
    case("mean", lambda a: (a.mean(), a.mean(1), a.mean((0, -1), True)), f32(3, 4, 2), dynamic=NM),
    case("prod", lambda a: (a.prod(), a.prod(1), a.prod(-1, True)), f32(3, 4, 2), dynamic=NM),
    case("ints", lambda a: (a.sum(), a.sum(1), a.prod(1)), i32(3, 4), dynamic=NM),
    case("uint8", lambda a: (a.sum(1), a.prod(0)), u8(3, 4)),
    case("bools", lambda a: (a.sum(), a.sum(1), a.prod(1), a.count_nonzero(1)), b8(3, 4)),
    case("dtype", lambda a: (a.sum(dtype=torch.float64), a.mean(1, dtype=torch.float32), a.sum(0, dtype=torch.int32)), i64(3, 4)),
    case("half", lambda a: (a.sum(1), a.mean(1), a.sum(1, dtype=torch.float32)), f16(3, 4)),
    case("float64", lambda a: (a.sum(1), a.mean(), a.logsumexp(0)), f64(3, 4)),
    case("zero_d", lambda a: (a.sum(), a.sum(0), a.mean(-1), a.prod(), a.logsumexp(0)), f32()),
    case("empty", lambda a: (a.sum(1), a.mean(1), a.prod(1), a.sum(), a.mean(), a.logsumexp(1)), f32(3, 0)),
    case("logsumexp", lambda a: (a.logsumexp(1), a.logsumexp((0, 1), True)), torch.tensor([[-INF, -INF], [INF, 1.0], [1e3, 1.0]])),
    case("nan", lambda a: (a.nansum(), a.nansum(1), a.nanmean(1)), torch.tensor([[NAN, 1.0], [2.0, 3.0]])),
    case("nan_ints", lambda a: a.nansum(1), i64(3, 4)),
    case("count", lambda a: (a.count_nonzero(), a.count_nonzero((0, 1))), i64(3, 4, low=-1, high=1)),
]  # fmt: skip


@cases(SUMS, opsets=(7, 9, 13, 18, LATEST))
def test_sums(case, frontend, opset):
    check(case, frontend, opset)


OUTS = [
    case("sum", lambda a: torch.sum(a, 1, out=torch.empty(3)), f32(3, 4)),
    case("mean", lambda a: torch.mean(a, 1, out=torch.empty(3)), f32(3, 4)),
    case("prod", lambda a: torch.prod(a, 1, out=torch.empty(3)), f32(3, 4)),
    case("std", lambda a: torch.std(a, 1, out=torch.empty(3)), f32(3, 4)),
    case("norm", lambda a: torch.norm(a, 2, 1, out=torch.empty(3)), f32(3, 4)),
    case("maximum", lambda a: torch.max(a, a.flip(0), out=torch.empty(3, 4)), f32(3, 4)),
    case("max", lambda a: torch.max(a, 1, out=(torch.empty(3), torch.empty(3, dtype=torch.int64)))[0], f32(3, 4)),
]


@cases(OUTS)
def test_out_arguments(case, frontend, opset):
    check(case, frontend, opset)


TRUTH = [
    case("bools", lambda a: (a.all(), a.any(), a.all(1), a.any(1, True), a.any((0, 1))), b8(3, 4), dynamic=NM),
    case(
        "no_axes",
        lambda a: (a.all(()), a.any(()), a.any((), True), a.float().all(()), a.to(torch.uint8).any(())),
        b8(3, 4),
        dynamic=NM,
    ),
    case("no_axes_zero_d", lambda a: (a.all(()), a.any(())), f32()),
    case("checks", lambda a: (torch._is_all_true(a), torch._is_any_true(a)), b8(3, 4), dynamic=NM),  # of torch's own
    case("floats", lambda a: (a.all(1), a.any(0)), torch.tensor([[0.0, NAN], [0.0, 0.5]])),
    case("uint8", lambda a: (a.all(1), a.any(0)), u8(3, 4, high=2)),
    case("empty", lambda a: (a.all(1), a.any(1), a.all(), a.any()), b8(3, 0)),
    case("zero_d", lambda a: (a.all(), a.any(), a.all(0)), b8()),
]


@cases(TRUTH, opsets=(7, 11, 12, 13, 18, LATEST))
def test_truth(case, frontend, opset):
    check(case, frontend, opset)


def extrema(a):
    return a.max(), a.min(), a.amax(1), a.amin((0, 1), True), *a.max(1), *a.min(0, True), *torch.aminmax(a, dim=1)


def places(a):
    return a.argmax(), a.argmin(1), a.argmax(-1, True), a.argmax(keepdim=True)


EXTREMA = [
    *(case(f"extrema_{i}", extrema, x, dynamic=NM) for i, x in enumerate((f32(3, 4), i64(3, 4), i32(3, 4), u8(3, 4)))),
    *(case(f"places_{i}", places, x, dynamic=NM) for i, x in enumerate((f32(3, 4), i64(3, 4), f16(3, 4), f64(3, 4)))),
    case("bools", lambda a: (a.max(), a.amin(1), *a.max(1), *a.min(1)), b8(3, 4)),
    case("large_ints", lambda a: (a.max(), a.argmax()), torch.tensor([2**60, 2**60 + 1])),
    case("ties", lambda a: (a.max(1), a.argmin(1)), torch.tensor([[1.0, 3.0, 3.0], [2.0, 0.0, 0.0]])),
    case("zero_d", lambda a: (a.max(), *a.max(0), a.argmax(0, True), a.amax()), f32()),
    case("infinite", lambda a: (a.max(1), a.amin(1)), torch.tensor([[-INF, -INF], [INF, 1.0]])),
]


@cases(EXTREMA, opsets=(7, 11, 12, 13, 18, LATEST))
def test_extrema(case, frontend, opset):
    check(case, frontend, opset)


VARIANCES = [
    case("var", lambda a: (a.var(), a.var(1), a.var((0, -1), keepdim=True), a.var(1, unbiased=False)), f32(3, 4, 2)),
    case("std", lambda a: (a.std(), a.std(1, correction=0), a.std(0, correction=2)), f32(5, 4)),
    case("mean", lambda a: (*torch.var_mean(a, 1), *torch.std_mean(a, (0, 2), keepdim=True)), f32(3, 4, 2)),
    case("one", lambda a: (a.var(1), a.var(1, correction=0)), f32(3, 1)),
    case("float64", lambda a: (a.var(1), a.std()), f64(3, 4)),
    case("half", lambda a: a.var(1), f16(3, 4)),
    case("fraction", lambda a: a.var(1, correction=0.5), f32(3, 4)),
]
DYNAMIC_VARIANCES = [
    case(
        "dynamic", lambda a: (a.var(1), a.std(), a.var(0, correction=0), *torch.var_mean(a, 1)), f32(4, 4), dynamic=NM
    ),
    case("fraction", lambda a: a.var(1, correction=0.5), f32(3, 4), dynamic=NM),
]


@cases(VARIANCES, opsets=(7, 13, 18, LATEST))
def test_variance(case, frontend, opset):
    check(case, frontend, opset)


@cases(DYNAMIC_VARIANCES, opsets=(9, 12, LATEST))
def test_variance_of_dynamic_sizes(case, frontend, opset):
    check(case, frontend, opset)


NORMS = [
    case("norm", lambda a: (a.norm(), a.norm(1), a.norm(2, 1), a.norm(3, 1, True), a.norm(INF, 0)), f32(3, 4), dynamic=NM),
    case("orders", lambda a: (a.norm(0), a.norm(-INF, 1), a.norm(0.5, 1), a.norm("fro")), f32(3, 4)),
    case("dtype", lambda a: (a.norm(2, dtype=torch.float64), a.norm(2, 1, dtype=torch.float32)), f16(3, 4)),
    case("vector", lambda a: (torch.linalg.vector_norm(a), torch.linalg.vector_norm(a, 1, (0, 1))), f32(3, 4)),
    case("linalg", lambda a: (torch.linalg.norm(a), torch.linalg.norm(a, 1), torch.linalg.norm(a, dim=1)), f32(3, 4)),
    case(
        "matrix",
        lambda a: [torch.linalg.matrix_norm(a, p, keepdim=p == 1) for p in ("fro", 1, -1, INF, -INF)],
        f32(2, 3, 4),
    ),
    case("zero_d", lambda a: (a.norm(), a.norm(1), a.norm(INF)), f32()),
]  # fmt: skip


@cases(NORMS, opsets=(7, 13, 18, LATEST))
def test_norms(case, frontend, opset):
    check(case, frontend, opset)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda a: a.sum(1), ["ReduceSum"]),
        (lambda a: a.mean((0, 1)), ["ReduceMean"]),
        (lambda a: a.amax(1), ["ReduceMax"]),
        (lambda a: a.argmax(1), ["ArgMax"]),
        (lambda a: a.norm(2, 1), ["ReduceL2"]),
        (lambda a: a + torch.full((4, 3), -2.0).norm(1, 0), ["Add"]),
        (lambda a: a + torch.full((4, 3), -2.0).norm(2, 0), ["Add"]),
    ],
)
def test_ops(function, expected):
    assert operators(check(case("ops", function, f32(2, 3)))) == expected
