import torch
import torch.nn.functional as F
from tests.harness import LATEST, case, cases, check, f16, f32, i64, operators

T = torch.tensor
IDS = T([1, 4, 0, 2, 2, 3, 0])
OFFSETS = T([0, 3, 3, 5])
MODES = ("sum", "mean", "max")


def bags(mode, **given):
    """A function of indices, a table, offsets (and weights)."""
    return lambda i, w, *rest: F.embedding_bag(
        i, w, *rest[:1], mode=mode, per_sample_weights=rest[1] if len(rest) > 1 else None, **given
    )


BAGS = [
    *[
        case(
            m,
            bags(m),
            IDS,
            f32(5, 3).make(0),
            OFFSETS,
            dynamic={0: {0: "n"}, 2: {0: "b"}},
            others=[(T([3, 3, 0]), f32(5, 3).make(1), T([0, 1])), (IDS, f32(5, 3).make(1), T([0, 0, 2, 7, 7]))],
        )
        for m in MODES
    ],
    *[case(f"last_{m}", bags(m, include_last_offset=True), IDS, f32(5, 3), T([0, 3, 3, 7])) for m in MODES],
    *[
        case(
            f"last_inside_{m}",
            bags(m, include_last_offset=True),
            IDS,
            f32(5, 3).make(0),
            T([0, 3, 3, 6]),
            others=[(IDS, f32(5, 3).make(1), T([0, 0, 2, 3]))],
        )
        for m in MODES
    ],
    case("last_inside_weights", bags("sum", include_last_offset=True), IDS, f32(5, 3), T([0, 3, 6]), f32(7)),
    case("last_inside_padding", bags("sum", include_last_offset=True, padding_idx=0), IDS, f32(5, 3), T([0, 3, 6])),
    *[case(f"padding_{m}", bags(m, padding_idx=0), IDS, f32(5, 3), OFFSETS) for m in MODES],
    *[case(f"rows_{m}", bags(m), T([[1, 2], [0, 0], [4, 3]]), f32(5, 3)) for m in MODES],
    *[case(f"rows_padding_{m}", bags(m, padding_idx=0), T([[1, 2], [0, 0], [4, 3]]), f32(5, 3)) for m in MODES],
    case("padding_from_end", bags("sum", padding_idx=-1), IDS, f32(5, 3), OFFSETS),
    case("rows_dynamic", bags("mean"), i64(3, 4, low=0, high=4), f32(5, 3), dynamic={0: {0: "b"}}),
    case("rows_wide", bags("sum"), i64(3, 4, low=0, high=4), f32(5, 3), dynamic={0: {0: "b", 1: "l"}}),
    case("weights", bags("sum"), IDS, f32(5, 3), OFFSETS, f32(7)),
    case("half", bags("sum"), IDS, f16(5, 3), OFFSETS),
    case("infinite", bags("sum"), IDS, T([[1.0], [float("inf")], [2.0], [float("nan")], [1.0]]), OFFSETS),
    case("int32", bags("mean"), IDS.int(), f32(5, 3), OFFSETS.int()),
]

LOOKUPS = [
    case("embedding", lambda i, w: F.embedding(i, w), i64(2, 3, low=0, high=4), f32(5, 3), dynamic={0: {0: "n"}}),
    case("padding", lambda i, w: F.embedding(i, w, padding_idx=0), i64(2, low=0, high=4), f32(5, 3)),
    case("renorm", lambda i, w: F.embedding(i, w * 1, max_norm=1.0), i64(4, low=0, high=4), f32(5, 3)),
    case("renorm_l1", lambda i, w: F.embedding(i, w * 1, max_norm=1.0, norm_type=1.0), T([1, 2]), f32(5, 3)),
    case("renorm_l3", lambda i, w: F.embedding(i, w * 1, max_norm=1.0, norm_type=3.0), T([1, 2]), f32(5, 3)),
    case("one_hot", lambda i: F.one_hot(i, 5), i64(2, 3, low=0, high=4), dynamic={0: "n"}),
    case("one_hot_0d", lambda i: F.one_hot(i, 5), T(3)),
    case("one_hot_open", lambda i: F.one_hot(i), T([0, 2, 1]), others=[(T([4, 0, 0]),)]),
]

SEGMENTS = [
    *[case(m, lambda x, n, m=m: torch.segment_reduce(x, m, lengths=n), f32(6, 2), T([2, 0, 3, 1])) for m in
      ("sum", "mean", "max", "min", "prod")],
    case("offsets", lambda x, n: torch.segment_reduce(x, "sum", offsets=n), f32(6, 2), T([0, 2, 2, 6])),
    case("batch", lambda x, n: torch.segment_reduce(x, "max", lengths=n, axis=1), f32(2, 4, 3), T([[2, 0, 2], [1, 2, 1]])),
    case("initial", lambda x, n: torch.segment_reduce(x, "mean", lengths=n, initial=1.0), f32(6), T([2, 0, 4])),
]  # fmt: skip


@cases(BAGS, opsets=(11, 16, LATEST))
def test_bags(case, frontend, opset):
    check(case, frontend, opset)


@cases(LOOKUPS, opsets=(7, 9, LATEST))
def test_lookups(case, frontend, opset):
    check(case, frontend, opset)


@cases(SEGMENTS, opsets=(11, 16, LATEST))
def test_segments(case, frontend, opset):
    check(case, frontend, opset)


def test_lookup_is_one_gather():
    assert operators(check(LOOKUPS[0])) == ["Gather"]


def test_bags_of_rows_are_a_reduction():
    table = next(c for c in BAGS if c.name == "rows_dynamic")
    assert operators(check(table)) == ["Reshape", "Gather", "Reshape", "ReduceMean"]
