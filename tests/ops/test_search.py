import torch
from tests.harness import LATEST, case, cases, check, f32, f64, i64, u8

T = torch.tensor
NAN = float("nan")
BOUNDS = T([-1.0, 0.0, 0.0, 0.5, 1.5])
VALUES = T([[-2.0, 0.0, 0.5, NAN], [3.0, 1.5, -1.0, 0.1]])

SORTED = [
    case(
        "left",
        lambda b, x: torch.searchsorted(b, x),
        BOUNDS,
        VALUES,
        dynamic={0: {0: "n"}},
        others=[(BOUNDS[:3], VALUES)],
    ),
    case("right", lambda b, x: torch.searchsorted(b, x, right=True), BOUNDS, VALUES),
    case("side", lambda b, x: torch.searchsorted(b, x, side="right", out_int32=True), BOUNDS, VALUES),
    case("rows", lambda b, x: torch.searchsorted(b, x), T([[1, 3, 5], [2, 2, 9]]), T([[3, 6], [2, 3]])),
    case("sorter", lambda b, x, s: torch.searchsorted(b, x, sorter=s), T([3.0, 1.0, 2.0]), T([1.5, 3.0]), T([1, 2, 0])),
    case("number", lambda b: torch.searchsorted(b, 0.25), BOUNDS),
    case("bucketize", lambda x, b: torch.bucketize(x, b), VALUES, BOUNDS),
    case("bucketize_right", lambda x, b: torch.bucketize(x, b, right=True, out_int32=True), i64(3, 4), T([-1, 0, 2])),
    case("bucketize_number", lambda b: torch.bucketize(0.25, b), BOUNDS),
]

MEMBERS = [
    case("tensors", lambda x, t: torch.isin(x, t), i64(3, 4), T([1, 2, -3]), dynamic={0: {0: "n"}, 1: {0: "m"}}),
    case("invert", lambda x, t: torch.isin(x, t, invert=True), i64(3, 4), T([[1, 2], [3, 0]])),
    case("floats", lambda x, t: torch.isin(x, t), T([1.0, NAN, 0.0]), T([NAN, -0.0])),
    case("number", lambda x: torch.isin(x, 2), i64(3, 4)),
    case("of_number", lambda t: torch.isin(2, t), i64(3, 4)),
    case("nothing", lambda x, t: torch.isin(x, t), i64(3), torch.zeros(0, dtype=torch.int64)),
]

W = T([0.5, 1.0, 2.0, 0.25, 1.0, 3.0])
EDGES = T([-2.0, -0.5, 0.25, 2.0])
COUNTS = [
    case("bincount", lambda x: x.bincount(), u8(6), dynamic={0: "n"}, others=[(torch.zeros(0, dtype=torch.uint8),)]),
    case("bincount_weights", lambda x, w: x.bincount(w), T([1, 3, 3, 0, 1, 1]), W),
    case("bincount_minlength", lambda x, w: x.bincount(w.double(), 9), T([1, 3, 3, 0, 1, 1]), W),
    case("bincount_short", lambda x: x.bincount(minlength=2), T([1, 3, 3, 0, 1, 1], dtype=torch.int32)),
    case("histc", lambda x: x.histc(5, -1, 1), f32(40), dynamic={0: "n"}),
    case("histc_of_data", lambda x: x.histc(5), f64(4, 5)),
    case("histc_same", lambda x: x.histc(4), T([2.0, 2.0])),
    case("histc_nan", lambda x: x.histc(4, -3, 3), VALUES),
    case("histogram", lambda x: torch.histogram(x, 4, range=(-1.0, 1.0)), f32(30)),
    case(
        "histogram_of_none", lambda x: (torch.histogram(x, 2), torch.histogram(x, 2, range=(0.0, 0.0))), torch.zeros(0)
    ),
    case("histogram_of_data", lambda x: torch.histogram(x, 4, density=True), f32(30)),
    case("histogram_edges", lambda x, e: torch.histogram(x, e), f32(30), EDGES),
    case("histogram_weights", lambda x, e, w: torch.histogram(x, e, weight=w, density=True), f32(6), EDGES, W),
]


@cases(SORTED, opsets=(9, 11, 12, LATEST))
def test_sorted(case, frontend, opset):
    check(case, frontend, opset)


@cases(MEMBERS, opsets=(9, 11, LATEST))
def test_members(case, frontend, opset):
    check(case, frontend, opset)


@cases(COUNTS, opsets=(11, 16, LATEST))
def test_counts(case, frontend, opset):
    check(case, frontend, opset)
