import torch
from tests.harness import LATEST, b8, case, cases, check, f32, f64, i32, i64

N = {0: {0: "n"}}
NM = {0: {0: "n", 1: "m"}}

REPEATS = [
    case("repeat", lambda x: x.repeat(2, 3), f32(2, 3), dynamic=N),
    case("repeat_new_axes", lambda x: x.repeat(2, 1, 2), f32(2, 3), dynamic=NM),
    case("repeat_by_size", lambda x, y: x.repeat(y.shape[0], 1), f32(2, 3), f32(4), dynamic={0: {0: "n"}, 1: {0: "m"}}),
    case("repeat_one_axis", lambda x: x.unsqueeze(0).repeat(4, 1, 1), f32(2, 3), dynamic=N),
    case("repeat_none", lambda x: x.repeat(0, 2), f32(2, 3)),
    case("repeat_0d", lambda x: x.repeat(3), f32()),
    case("repeat_bool", lambda x: x.repeat(2, 2), b8(2, 3)),
    case("tile", lambda x: (x.tile(2), x.tile(2, 2, 2)), i64(2, 3), dynamic=N),
    case("interleave", lambda x: x.repeat_interleave(3, 1), f32(2, 4), dynamic=NM),
    case("interleave_flat", lambda x: x.repeat_interleave(2), f32(2, 4), dynamic=N),
    case("interleave_known", lambda x: x.repeat_interleave(torch.tensor([2, 0, 3]), 1), f32(2, 3), dynamic=N),
]


@cases(REPEATS, opsets=(9, 13, LATEST))
def test_repeats(case, frontend, opset):
    check(case, frontend, opset)


INTERLEAVES = [
    case(
        "counts",
        lambda x, r: x.repeat_interleave(r, 0),
        f32(3, 2),
        torch.tensor([2, 0, 3]),
        dynamic={0: {0: "n"}, 1: {0: "n"}},
        others=[(torch.rand(4, 2), torch.tensor([1, 5, 0, 2])), (torch.rand(2, 2), torch.tensor([0, 0]))],
    ),
    case(
        "one_count",
        lambda x, r: x.repeat_interleave(r),
        f32(3),
        torch.tensor([2]),
        others=[(torch.rand(3), torch.tensor([4]))],
    ),
    case(
        "one_count_or_many",
        lambda x, r: x.repeat_interleave(r, 1),
        f32(2, 3),
        torch.tensor([2]),
        dynamic={0: {1: "n"}, 1: {0: "r"}},
        others=[(torch.rand(2, 2), torch.tensor([3, 1])), (torch.rand(2, 4), torch.tensor([3]))],
    ),
    case("numbers", lambda r: torch.repeat_interleave(r), i32(4, low=0, high=3), dynamic=N),
    case(
        "output_size",
        lambda x, r: x.repeat_interleave(r, 0, output_size=5),
        f32(3, 2),
        torch.tensor([2, 0, 3]),
        others=[(torch.rand(3, 2), torch.tensor([1, 1, 3]))],
    ),
]


@cases(INTERLEAVES, opsets=(11, 13, LATEST))
def test_counts_known_at_run_time(case, frontend, opset):
    check(case, frontend, opset)


ROLLS = [
    case("roll", lambda x: (x.roll(1, 0), x.roll(-2, 1), x.roll(7, 1)), f32(3, 5)),
    case("roll_dynamic", lambda x: (x.roll(1, 0), x.roll((-2, 1), (1, 0))), f32(3, 5), dynamic=NM),
    case("roll_flat", lambda x: x.roll(2), f32(3, 5)),
    case("roll_far", lambda x: x.roll(7, 0), f32(3, 2), dynamic=N),
    case("roll_half", lambda x: x.roll((x.shape[0] // 2,), (0,)), f32(4, 2), dynamic=N),
    case("flip", lambda x: (x.flip(0), x.flip(0, -1)), i64(3, 5), dynamic=NM),
    case("flips", lambda x: (x.fliplr(), x.flipud()), f32(3, 5), dynamic=N),
    case("rot90", lambda x: (x.rot90(), x.rot90(2), x.rot90(3), x.rot90(-1), x.rot90(4)), f32(2, 3), dynamic=N),
    case("rot90_dims", lambda x: x.rot90(1, (2, 0)), f32(2, 3, 4)),
]


@cases(ROLLS, opsets=(9, 10, 13, LATEST))
def test_rolls(case, frontend, opset):
    check(case, frontend, opset)


COMBINED = [
    case("meshgrid", lambda x, y: torch.meshgrid(x, y, indexing="ij"), f32(3), f32(2), dynamic=N),
    case("meshgrid_xy", lambda x, y: torch.meshgrid(x, y, indexing="xy"), f32(3), f32(2), dynamic=N),
    case("meshgrid_0d", lambda x, y: torch.meshgrid(x, y, indexing="ij"), f32(), f32(2)),
    case("cartesian_prod", lambda x, y: torch.cartesian_prod(x, y), i64(3), i64(2), dynamic=N),
    case("combinations", lambda x: (torch.combinations(x), torch.combinations(x, 3, True)), f32(4)),
    case(
        "combinations_of_n",
        lambda x: [torch.combinations(x, r, e) for r, e in ((1, False), (2, True), (3, False))],
        f32(4),
        dynamic=N,
    ),
    case("one_hot", lambda x: torch.nn.functional.one_hot(x, 5), i64(2, 3, low=0, high=4), dynamic=N),
    case("one_hot_open", lambda x: torch.nn.functional.one_hot(x), i64(3, low=0, high=4), dynamic=N),
    case("double", lambda x: torch.cartesian_prod(x, x), f64(3)),
]


@cases(COMBINED, opsets=(11, 13, LATEST))
def test_combined(case, frontend, opset):
    check(case, frontend, opset)
