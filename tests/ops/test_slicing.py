import pytest
import torch
from tests.harness import LATEST, b8, case, cases, check, f32, f64, i64, operators

from onnxport.errors import LoweringError

N = {0: {0: "n"}}
NM = {0: {0: "n", 1: "m"}}

SLICES = [
    case("select", lambda x: (x[1], x[-1], x[:, 0], x[..., -2]), f32(3, 4), dynamic=N),
    case("select_dynamic_axis", lambda x: (x[:, -1], x.select(1, 1)), f32(3, 4), dynamic=NM),
    case("select_by_size", lambda x, y: x[y.shape[0]], f32(7), i64(3), dynamic={1: {0: "n"}}),
    case("slice", lambda x: (x[1:], x[:-1], x[1:2], x[:, -3:]), f32(3, 4), dynamic=N),
    case("slice_dynamic_axis", lambda x: (x[:, -2:], x[:, :-1], x[:, 1:-1]), f32(3, 4), dynamic=NM),
    case("slice_out_of_range", lambda x: (x[5:], x[:9], x[-9:], x[2:1], x[:-9]), f32(3, 4)),
    case("slice_out_of_range_dynamic", lambda x: (x[5:], x[:9], x[-9:], x[2:1]), f32(3, 4), dynamic=N),
    case("slice_end_by_size", lambda x, y: x[: y.shape[0]], f32(9, 2), f32(3), dynamic={1: {0: "n"}}),
    case("slice_begin_by_size", lambda x, y: x[-y.shape[0] :], f32(9, 2), f32(3), dynamic={1: {0: "n"}}),
    case("slice_half", lambda x: (x[: x.shape[0] // 2], x[x.shape[0] // 2 :]), f32(5, 2), dynamic=N),
    case("slice_all", lambda x: x[:, :] + 1, i64(3, 4), dynamic=N),
    case("narrow", lambda x: (x.narrow(0, 1, 2), x.narrow(1, -2, 2)), f32(4, 4)),
    case("narrow_dynamic", lambda x: x.narrow(0, 1, x.shape[0] - 1), f32(4, 4), dynamic=N),
    case("narrow_negative_dynamic", lambda x: x.narrow(0, -2, 2), f32(4, 4), dynamic=N),
    case("bools", lambda x: x[1:, :2], b8(3, 4), dynamic=N),
]


@cases(SLICES, opsets=(9, 11, 13, LATEST))
def test_slices(case, frontend, opset):
    check(case, frontend, opset)


STEPS = [
    case("step", lambda x: (x[::2], x[1::2], x[:, ::3]), f32(5, 7)),
    case("step_in_range", lambda x: x[1:-1:2], f32(6)),
]


@cases(STEPS, opsets=(9, 10, LATEST))
def test_steps(case, frontend, opset):
    check(case, frontend, opset)


DYNAMIC_STEPS = [case("step", lambda x: (x[::2], x[1::3]), f32(5, 7), dynamic=N)]


@cases(DYNAMIC_STEPS, opsets=(10, LATEST))
def test_dynamic_steps(case, frontend, opset):
    check(case, frontend, opset)


def test_whole_slice_is_no_node():
    assert operators(check(case("all", lambda x: x[:, :5] + 1, f32(3, 4), dynamic=N))) == ["Add"]


DIAGONALS = [
    case("diagonal", lambda x: (x.diagonal(), x.diagonal(1), x.diagonal(-2)), f32(4, 5)),
    case("diagonal_dynamic", lambda x: (x.diagonal(), x.diagonal(1), x.diagonal(-1)), f32(4, 5), dynamic=NM),
    case("diagonal_batch", lambda x: x.diagonal(0, -2, -1), f32(2, 3, 3), dynamic=N),
    case("diagonal_dims", lambda x: x.diagonal(1, 2, 0), f32(2, 3, 4)),
    case("diagonal_beyond", lambda x: (x.diagonal(7), x.diagonal(-7)), f32(4, 5)),
    case("diag_of_matrix", lambda x: torch.diag(x, 1), f32(4, 4)),
    case("diag_of_vector", lambda x: (torch.diag(x), torch.diag(x, 1), torch.diag(x, -2)), f32(4), dynamic=N),
    case("diag_embed", lambda x: torch.diag_embed(x, 1), f32(2, 3), dynamic=NM),
    case("diag_embed_dims", lambda x: torch.diag_embed(x, -1, 0, 2), f32(2, 3)),
    case("diag_embed_infinite", lambda x: torch.diag_embed(x * float("inf")), f32(3)),
    case("diagflat", lambda x: torch.diagflat(x), i64(2, 3)),
    case("tril", lambda x: (x.tril(), x.tril(1), x.tril(-1)), f32(2, 4, 5)),
    case("triu_dynamic", lambda x: (x.triu(), x.triu(1), x.triu(-1)), f64(4, 5), dynamic=NM),
    case("triu_bool", lambda x: x.triu(1), b8(4, 4)),
    case("triu_int", lambda x: x.triu(1), i64(4, 4)),
    case("causal", lambda x: torch.ones(x.shape[1], x.shape[1]).tril().bool(), f32(2, 4), dynamic=NM),
]


@cases(DIAGONALS, opsets=(9, 13, 14, LATEST))
def test_diagonals(case, frontend, opset):
    check(case, frontend, opset)


WINDOWS = [
    case("unfold", lambda x: x.unfold(0, 3, 2), f32(8)),
    case("unfold_dynamic", lambda x: x.unfold(1, 2, 1), f32(2, 5), dynamic=NM),
    case("unfold_middle", lambda x: x.unfold(1, 2, 3), f32(2, 7, 3), dynamic=N),
    case("as_strided", lambda x: x.as_strided((2, 2), (1, 2)), f32(3, 3)),
    case("as_strided_offset", lambda x: x.as_strided((2, 3), (3, 1), 2), f32(4, 3)),
    case("as_strided_transposed", lambda x: x.t().as_strided((3, 2), (1, 4)), f32(3, 4)),
    case(
        "as_strided_overlapping",
        lambda x: x.transpose(0, 1).as_strided((x.shape[1], 2 * x.shape[0] - 1, 2), (4, 2 * x.shape[1], 1)),
        f32(3, 4, 4),
        dynamic={0: "n", 1: "m"},
    ),
    case(
        "as_strided_from_a_size",
        lambda x: x.as_strided(
            (x.shape[0], x.shape[1], x.shape[1]),
            (x.stride(0), x.stride(1) - x.stride(2), x.stride(2)),
            storage_offset=x.stride(2) * (x.shape[1] - 1),
        ),
        f32(2, 3, 5),
        dynamic={0: {0: "b"}},
    ),
    case("as_strided_after_a_size", lambda x: x.as_strided((2,), (1,), x.shape[0] - 2), f32(5), dynamic=N),
    case("as_strided_dynamic", lambda x: x.as_strided((x.shape[0] - 1, 2), (1, 1)), f32(5), dynamic=N),
]


@cases(WINDOWS, opsets=(11, LATEST))
def test_windows(case, frontend, opset):
    check(case, frontend, opset)


def test_as_strided_of_a_slice_is_refused():
    with pytest.raises(LoweringError, match="memory has gaps"):
        check(case("strided", lambda x: x[:, :2].as_strided((2,), (1,)), f32(3, 4)))
