import torch
from tests.harness import LATEST, b8, case, cases, check, f16, f32, f64, i32, i64, u8

NAN = float("nan")
INF = float("inf")
T = torch.tensor
SPECIAL = T([[1.0, NAN, INF, -INF, NAN, 2.0, 1.0], [3.0, 0.0, -0.0, 2.0, 5.0, INF, 1.0]])
TIES = T([[2, 1, 2, 1, 0, 2], [1, 1, 1, 1, 1, 1]])
NANS = T([[1.0, NAN, 3.0, 2.0], [NAN, NAN, NAN, NAN], [4.0, 2.0, 1.0, 3.0]])

ORDER = [
    case("topk", lambda x: x.topk(2), f32(3, 4), dynamic={0: "n"}),
    case("topk_smallest", lambda x: x.topk(2, 0, False), f32(4, 3)),
    case("topk_ints", lambda x: x.topk(3, largest=False)[0], TIES),
    case("topk_nan", lambda x: x.topk(3), SPECIAL),
    case("topk_nan_smallest", lambda x: x.topk(6, largest=False)[0], SPECIAL),
    case("topk_half", lambda x: x.topk(2)[0], f16(3, 4)),
    case("topk_bytes", lambda x: x.topk(4, largest=False)[0], u8(3, 4)),
    case("topk_0d", lambda x: x.topk(1), f32()),
    case("topk_of_size", lambda x: x.topk(x.shape[1] - 1)[0], f32(2, 4), dynamic={1: "n"}),
    case("sort", lambda x: x.sort(0), f32(4, 3), dynamic={0: "n"}),
    case("sort_down", lambda x: x.sort(-1, True), f64(4, 3)),
    case("sort_stable", lambda x: x.sort(dim=1, stable=True), TIES),
    case("sort_stable_down", lambda x: x.sort(dim=1, stable=True, descending=True), TIES),
    case("sort_nan", lambda x: x.sort(dim=1, stable=True), SPECIAL),
    case("sort_nan_down", lambda x: x.sort(dim=1, stable=True, descending=True), SPECIAL),
    case("sort_bool", lambda x: x.sort(dim=0, stable=True), b8(5, 2)),
    case("sort_0d", lambda x: x.sort(), i64()),
    case("sort_empty", lambda x: x.sort(), torch.zeros(2, 0)),
    case("argsort", lambda x: x.argsort(dim=-1, stable=True), TIES),
    case("argsort_down", lambda x: x.argsort(0, descending=True), f32(4, 3)),
    case("msort", lambda x: x.msort(), f32(4, 3)),
]

PICK = [
    case("kthvalue", lambda x: x.kthvalue(2), f32(3, 4)),
    case("kthvalue_keepdim", lambda x: x.kthvalue(3, 0, True), f32(3, 4)),
    case("kthvalue_0d", lambda x: x.kthvalue(1), f32()),
    case("median", lambda x: x.median(), f32(3, 4)),
    case("median_dim", lambda x: x.median(1), f32(3, 4), dynamic={0: "n", 1: "m"}),
    case("median_keepdim", lambda x: x.median(0, True), f32(3, 4)),
    case("median_ints", lambda x: x.median(1)[0], i32(3, 5)),
    case("median_nan", lambda x: x.median(1), NANS),
    case("median_0d", lambda x: x.median(0), f32()),
    case("nanmedian", lambda x: x.nanmedian(), NANS),
    case("nanmedian_dim", lambda x: x.nanmedian(1)[0], NANS),
    case("nanmedian_index", lambda x: x.nanmedian(1), NANS[::2].contiguous()),
    case("nanmedian_ints", lambda x: x.nanmedian(), i64(3, 4)),
    case("mode", lambda x: x.mode(), TIES),
    case("mode_keepdim", lambda x: x.mode(0, True), i64(6, 3, low=0, high=2), dynamic={0: "n"}),
]

Q = T([0.0, 0.3, 0.5, 1.0])
MODES = ("linear", "lower", "higher", "midpoint", "nearest")
QUANTILES = [
    *[case(m, lambda x, q, m=m: x.quantile(q, 1, interpolation=m), f32(3, 5), Q) for m in MODES],
    *[case(f"nan_{m}", lambda x, q, m=m: x.nanquantile(q, 1, interpolation=m), NANS, Q) for m in MODES],
    case("number", lambda x: x.quantile(0.4), f32(3, 5), dynamic={0: "n"}),
    case("number_dim", lambda x: x.quantile(0.4, 0), f32(3, 5), dynamic={0: "n", 1: "m"}),
    case("keepdim", lambda x: x.quantile(T([0.4, 0.1]), 0, keepdim=True), f64(3, 5).make(0).float()),
    case("keepdim_all", lambda x: x.quantile(0.4, keepdim=True), f32(3, 5)),
    case("double", lambda x: x.quantile(0.4, 1), f64(3, 5)),
    case("nan", lambda x, q: x.quantile(q, 1), NANS, Q),
    case("nan_keepdim", lambda x: x.nanquantile(0.4, 0, keepdim=True), NANS),
    case("nan_all", lambda x: x.nanquantile(0.4), NANS),
]


@cases(ORDER, opsets=(7, 10, 11, LATEST))
def test_order(case, frontend, opset):
    check(case, frontend, opset)


@cases(PICK, opsets=(11, LATEST))
def test_pick(case, frontend, opset):
    check(case, frontend, opset)


@cases(QUANTILES, opsets=(11, LATEST))
def test_quantiles(case, frontend, opset):
    check(case, frontend, opset)
