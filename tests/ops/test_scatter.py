import torch
from tests.harness import LATEST, case, cases, check, f16, f32, f64, i32, i64

T = torch.tensor
NAN = float("nan")
INDEX = T([[0, 2, 0], [1, 1, 1]])
REDUCTIONS = ("sum", "prod", "mean", "amax", "amin")

SCATTER = [
    case("src", lambda x, i, s: x.scatter(0, i, s), f32(3, 5), T([[0, 1, 2], [2, 0, 1]]), f32(2, 4)),
    case("value", lambda x, i: x.scatter(1, i, 2.5), f32(2, 5), INDEX, dynamic={0: {1: "n"}}),
    case("value_int", lambda x, i: x.scatter(-1, i, 2), i64(2, 5), INDEX),
    case("0d", lambda x, i, s: x.scatter(0, i, s), f32(), T(0), f32()),
    case("empty", lambda x, s: x.scatter(0, torch.zeros(0, 3, dtype=torch.int64), s), f32(3, 3), f32(2, 3)),
    case("add", lambda x, i, s: x.scatter_add(1, i, s), f32(2, 4), INDEX, f32(3, 3), dynamic={0: {1: "n"}}),
    case("add_inf", lambda x, i, s: x.scatter_add(1, i, s), f32(2, 4), INDEX, T([[1.0, NAN, 2], [float("inf"), 1, 1]])),
    case("add_half", lambda x, i, s: x.scatter_add(1, i, s), f16(2, 4), INDEX, f16(2, 3)),
    case("add_ints", lambda x, i, s: x.scatter_add(1, i, s), i32(2, 4), INDEX, i32(2, 3)),
    case("reduce_add", lambda x, i, s: x.scatter(1, i, s, reduce="add"), f32(2, 4), INDEX, f32(2, 3)),
    case("reduce_multiply", lambda x, i: x.scatter(1, i, 2.0, reduce="multiply"), f32(2, 4), INDEX),
    *[
        case(f"{how}_{own}", lambda x, i, s, how=how, own=own: x.scatter_reduce(1, i, s, how, include_self=own),
             f32(2, 4), INDEX, f32(2, 3))
        for how in REDUCTIONS for own in (True, False)
    ],
    *[
        case(f"ints_{how}", lambda x, i, s, how=how: x.scatter_reduce(1, i, s, how, include_self=False),
             i64(2, 4), INDEX, i64(2, 3))
        for how in REDUCTIONS
    ],
    case(
        "ints_part", lambda x, i, s: x.scatter_reduce(1, i, s, "amin"), i64(4, 6), INDEX, i64(2, 3),
        dynamic={0: {0: "n", 1: "m"}}, others=[(i64(2, 3).make(5), INDEX, i64(2, 3).make(6))],
    ),
    *[
        case(f"nan_{how}", lambda x, i, s, how=how: x.scatter_reduce(1, i, s, how),
             T([[NAN, 1.0, 2.0], [1.0, 1.0, 1.0]]), INDEX, T([[1.0, 2.0, 3.0], [NAN, 0.0, 5.0]]))
        for how in ("amax", "amin")
    ],
]  # fmt: skip

I3 = T([0, 2, 0])
SLICES = [
    case("add", lambda x, i, s: x.index_add(0, i, s), f32(3, 4), I3, f32(3, 4), dynamic={0: {1: "m"}, 2: {1: "m"}}),
    case("add_inner", lambda x, i, s: x.index_add(1, i, s, alpha=2), f32(2, 4), I3, f32(2, 3)),
    case("add_0d", lambda x, i, s: x.index_add(0, i, s), f32(), T([0]), f32()),
    case("add_ints", lambda x, i, s: x.index_add(1, i, s), i64(2, 4), I3, i64(2, 3)),
    case("copy", lambda x, i, s: x.index_copy(1, i, s), f32(2, 4), T([3, 1]), f32(2, 2)),
    case("copy_first", lambda x, i, s: x.index_copy(0, i, s), f64(4, 2), T([3, 1]), f64(2, 2)),
    case("fill", lambda x, i: x.index_fill(1, i, 7.0), f32(2, 4), T([2, -3]), dynamic={0: {0: "n", 1: "m"}}),
    case("fill_tensor", lambda x, i, v: x.index_fill(0, i, v), i64(2, 4), T([1]), T(5)),
    case("fill_0d", lambda x, i: x.index_fill(0, i, 7.0), f32(), T([0])),
    *[
        case(f"reduce_{how}_{own}", lambda x, i, s, how=how, own=own: x.index_reduce(1, i, s, how, include_self=own),
             f32(2, 4), I3, f32(2, 3))
        for how in ("prod", "mean", "amax", "amin") for own in (True, False)
    ],
    case("put", lambda x, i, s: x.put(i, s), f32(3, 4), T([[0, -1], [5, 6]]), f32(2, 2)),
    case("put_accumulate", lambda x, i, s: x.put(i, s, accumulate=True), f32(3, 4), T([1, 1, 2]), f32(3)),
]  # fmt: skip

VIEWS = [
    case("slice", lambda x, s: x.slice_scatter(s, 1, 1, 3), f32(2, 4), f32(2, 2), dynamic={0: {0: "n"}, 1: {0: "n"}}),
    case("slice_step", lambda x, s: x.slice_scatter(s, 1, 0, 4, 2), f32(2, 4), f32(2, 2)),
    case(
        "slice_negative",
        lambda x, s: x.slice_scatter(s, 0, -2),
        f32(3, 4),
        f32(2, 4),
        dynamic={0: {1: "m"}, 1: {1: "m"}},
    ),
    case("select", lambda x, s: x.select_scatter(s, 0, -1), f32(3, 4), f32(4), dynamic={0: {0: "n"}}),
    case("select_inner", lambda x, s: x.select_scatter(s, 1, 2), f32(3, 4), f32(3)),
]


@cases(SCATTER, opsets=(9, 11, 16, LATEST))
def test_scatter(case, frontend, opset):
    check(case, frontend, opset)


@cases(SLICES, opsets=(10, LATEST))
def test_slices(case, frontend, opset):
    check(case, frontend, opset)


@cases(VIEWS, opsets=(10, 11, LATEST))
def test_views(case, frontend, opset):
    check(case, frontend, opset)
