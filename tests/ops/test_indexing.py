import numpy as np
import pytest
import torch
from tests.harness import LATEST, case, cases, check, f16, f32, f64, i64, operators

T = torch.tensor


def put(index, values, accumulate=False):
    """A function that gives its first argument as it is after a write."""
    return lambda x, *given: torch.ops.aten.index_put(x, index(*given), values(x, *given), accumulate)


READ = [
    case("vector", lambda x, i: x[i], f32(4, 3), T([0, -1, 2, 2]), dynamic={0: {0: "n"}, 1: {0: "k"}}),
    case("matrix", lambda x, i: x[i], f32(4, 3), T([[0, -1], [2, 2]])),
    case("0d_index", lambda x, i: x[i], f32(4, 3), T(-2)),
    case("int32", lambda x, i: x[:, i], f32(4, 3), T([0, -1], dtype=torch.int32)),
    case("constant", lambda x: x[:, [2, 0, -1]], f32(2, 3), dynamic={0: "n"}),
    case("constant_pair", lambda x: x[:, [2, 0, -1], [1, 1, -2]], f32(2, 3, 4), dynamic={0: "n"}),
    case("constant_pair_of_dynamic", lambda x: x[[0, -1], [1, 2]], f32(2, 3, 4), dynamic={0: "n"}),
    case("second_axis", lambda x, i: x[:, i], f32(4, 3, 2), T([[0, -1], [2, 2]])),
    case("last_axis", lambda x, i: x[..., i], f32(4, 3, 2), T([0, 1, -1])),
    case("empty_index", lambda x, i: x[i], f32(4, 3), torch.zeros(0, dtype=torch.int64)),
    case("two_first", lambda x, i, j: x[i, j], f32(4, 3, 2), T([0, -1, 2]), T([-3, 1, 2])),
    case("two_inner", lambda x, i, j: x[:, i, j], f32(2, 4, 3, 2), T([0, -1, 2]), T([-3, 1, 2])),
    case("two_last_grid", lambda x, i, j: x[:, i, j], f32(2, 4, 3), T([[0], [-1]]), T([[-3, 1, 2]])),
    case("apart", lambda x, i, j: x[i, :, j], f32(4, 2, 3), T([0, -1, 2]), T([-3, 1, 2])),
    case("apart_inner", lambda x, i, j: x[:, i, :, j], f32(2, 4, 2, 3), T([[0], [-1]]), T([-3, 1, 2])),
    case("0d_with_vector", lambda x, i, j: x[i, j], f32(4, 3, 2), T(1), T([-3, 1, 2])),
    case("three", lambda x, i, j, k: x[i, j, k], f64(4, 3, 2), T([0, -1]), T([[1], [2]]), T(1)),
    case(
        "range_and_vector", lambda x, i: x[torch.arange(x.shape[0]), i], f32(3, 5, 2), T([0, 4, -1]),
        dynamic={0: {0: "b"}, 1: {0: "b"}},
    ),
    case("ints", lambda x, i: x[i], i64(4, 3), T([0, -1])),
    case("half", lambda x, i, j: x[i, j], f16(4, 3), T([0, -1]), T([1, -1])),
]  # fmt: skip

MASKS = [
    case("all_axes", lambda x: x[x > 0], f32(3, 4), dynamic={0: "n", 1: "m"}),
    case("first_axis", lambda x, m: x[m], f32(3, 4), T([True, False, True]), dynamic={0: {0: "n"}, 1: {0: "n"}}),
    case("two_of_three", lambda x: x[x[..., 0] > 0], f32(3, 4, 2), dynamic={0: "n"}),
    case("second_axis", lambda x, m: x[:, m], f32(2, 3, 4), T([True, False, True])),
    case("last_two", lambda x: x[:, x[0] > 0], f32(2, 3, 4)),
    case("nothing", lambda x: x[x > 9], f32(3, 4)),
    case("uint8", lambda x, m: x[m], f32(3, 4), T([1, 0, 1], dtype=torch.uint8)),
    case("constant", lambda x: x[:, T([True, False, True])], f32(2, 3), dynamic={0: "n"}),
    case("with_ints", lambda x, m, i: x[m, i], f32(3, 4), T([True, False, True]), T([1, -1])),
    case("with_one_int", lambda x, m, i: x[m, :, i], f32(3, 4, 2), T([True, False, True]), T(-1)),
    case("two_masks", lambda x, m, n: x[m, n], f32(3, 2), T([True, False, True]), T([True, True])),
    case("size_used", lambda x: x[x > 0] * x[x > 0].shape[0], f32(3, 4)),
]

WRITE = [
    case("vector", put(lambda i: [i], lambda x, i: x[:1] * 2), f32(4, 3), T([0, -1])),
    case("pair", put(lambda i, j: [i, j], lambda x, i, j: T(7.0)), f32(4, 3), T([0, -1]), T([1, -1])),
    case("second_axis", put(lambda i: [None, i], lambda x, i: x[:, :2] * 2), f32(4, 3), T([0, -1])),
    case("apart", put(lambda i, j: [i, None, j], lambda x, i, j: x[0, :, :1].T), f32(4, 3, 2), T([0, -1]), T([1, -1])),
    case(
        "inner", put(lambda i, j: [None, i, j], lambda x, i, j: x[:, :2, 0] * 2), f32(4, 3, 2), T([0, -1]), T([1, -1])
    ),
    case("mask_number", put(lambda m: [m], lambda x, m: T(0.0)), f32(4, 3), T([True, False, True, False])),
    case("mask_row", put(lambda m: [m], lambda x, m: x[1] * 2), f32(4, 3), T([True, False, True, False])),
    case("mask_rows", put(lambda m: [m], lambda x, m: x[1:3] * 2), f32(4, 3), T([True, False, True, False])),
    case("mask_and_int", put(lambda m, i: [m, i], lambda x, m, i: T(9.0)), f32(3, 2), T([True, False, True]), T(-1)),
    case("accumulate", put(lambda i: [i], lambda x, i: x[:3], True), f32(4, 3), T([1, -1, 1])),
    case(
        "accumulate_grid", put(lambda i, j: [i, j], lambda x, i, j: T(2.0), True), f32(4, 3), T([[1], [1]]), T([0, 0])
    ),
    case("accumulate_mask", put(lambda m: [m], lambda x, m: T(5.0), True), f32(2), T([True, False])),
    case("accumulate_ints", put(lambda i: [i], lambda x, i: x[:3], True), i64(4, 3), T([1, -1, 1])),
    case("assign_number", lambda x, i: _assign_number(x, i), f32(3, 4, 2), T([1, -2]), dynamic={0: {0: "n"}}),
    case("assign_rows", lambda x, y, m: _assign_rows(x, y, m), f32(3, 2), f32(3, 2), T([True, False, True])),
    case("assign", lambda x: _assign(x), f32(3, 4), dynamic={0: "n"}),
    case("assign_inner", lambda x, i: _assign_inner(x, i), f32(3, 4, 2), T([0, -1])),
]


def _assign_number(x, i):
    x = x.clone()
    x[:, i] = 0.0
    x[:, [0, -1]] = 3.0
    return x


def _assign_rows(x, y, m):
    x = x.clone()
    x[m] = y[m]
    return x


def _assign(x):
    x = x.clone()
    x[x > 1] = 0.0
    x[:, T([0, 2])] += 1.0
    return x


def _assign_inner(x, i):
    x = x.clone()
    x[1:, i] = -1.0
    x[0][i] *= 2
    return x


AXIS = [
    case("gather", lambda x, i: x.gather(1, i), f32(3, 4), T([[0, 3], [1, 1]]), dynamic={0: {0: "n"}}),
    case("gather_first", lambda x, i: x.gather(-2, i), f32(3, 4), T([[0, 2, 1], [1, 1, 0]])),
    case("gather_0d", lambda x, i: x.gather(0, i), f32(), T([0, 0])),
    case("gather_0d_index", lambda x, i: x.gather(0, i), f32(3), T(2)),
    case("gather_empty", lambda x, i: x.gather(0, i), f32(3, 2), torch.zeros(0, 2, dtype=torch.int64)),
    case("take_along", lambda x, i: x.take_along_dim(i, 1), f32(3, 4), T([[0, 3]])),
    case("take_along_flat", lambda x, i: x.take_along_dim(i), f32(3, 4), T([0, 11])),
    case("index_select", lambda x, i: x.index_select(-1, i), f32(3, 4), T([0, 3])),
    case("index_select_0d", lambda x, i: x.index_select(0, i), f32(3, 4), T(2)),
    case("take", lambda x, i: x.take(i), f32(3, 4), T([[0, -1], [5, 6]]), dynamic={0: {0: "n"}}),
]


M = T([[True, False, True], [False, True, True]])
CLAMPED = [
    case("masked_index", lambda x, m, i, j: torch.ops.aten._unsafe_masked_index(x, m, [i, j], 5.0),
         f32(3, 4), M, T([[0], [2]]), T([[0, 9, -1]])),
    case("masked_index_put", lambda x, m, i, j, v: torch.ops.aten._unsafe_masked_index_put_accumulate(x, m, [i, j], v),
         f32(3, 4), M, T([[0], [2]]), T([[0, 9, -1]]), f32(2, 3)),
]  # fmt: skip


@cases(CLAMPED)
def test_out_of_bounds_under_a_mask(case, frontend, opset):
    check(case, frontend, opset)


@cases(READ, opsets=(7, 10, 11, LATEST))
def test_read(case, frontend, opset):
    check(case, frontend, opset)


@cases(MASKS, opsets=(9, 11, LATEST))
def test_masks(case, frontend, opset):
    check(case, frontend, opset)


@cases(WRITE, opsets=(9, 11, 16, LATEST))
def test_write(case, frontend, opset):
    check(case, frontend, opset)


@cases(AXIS, opsets=(7, 11, LATEST))
def test_along_an_axis(case, frontend, opset):
    check(case, frontend, opset)


FORMS = [
    (lambda x, i: x[i], ["Gather"]),
    (lambda x, i: x[:, i], ["Gather"]),
    (lambda x, i: x[[0, 1], [1, 1]], ["Reshape", "Gather"]),
]


@pytest.mark.parametrize(("function", "expected"), FORMS)
def test_form(function, expected):
    assert operators(check(case("form", function, f32(3, 4), T([0, 1])))) == expected


def test_mask_is_one_choice():
    table = case("mask", put(lambda m: [m], lambda x, m: T(0.0)), f32(3), T([True, False, True]))
    assert operators(check(table)) == ["Where"]


def scripted_read(x: torch.Tensor, i: torch.Tensor) -> torch.Tensor:
    return x[:, i] + x[i[0]][i].sum() + x[1, i].unsqueeze(0)


def scripted_write(x: torch.Tensor, i: torch.Tensor) -> torch.Tensor:
    y = x.clone()
    y[:, i] = 1.0
    y[y > 1] += 2.0
    y[0, i] = y[1, i]
    return y


def scripted_pair(x: torch.Tensor, i: torch.Tensor) -> torch.Tensor:
    return x[i, torch.arange(i.size(0))] * x[x > 0].sum()


SCRIPTED = [
    case(f.__name__.removeprefix("scripted_"), f, f32(3, 4), T([0, 1, -1]), dynamic={0: {0: "n"}})
    for f in (scripted_read, scripted_write, scripted_pair)
]


@cases(SCRIPTED, frontends=("script", "trace"))
def test_scripted(case, frontend, opset):
    check(case, frontend, opset)


def masked_by_a_number(x):
    y = x * 1
    y[x.sum() > 0] = 1
    y[x.sum() < -100] = x[0]
    z = x * 1
    z[:, x.sum() > 0] = 7
    return y, z, x[x.sum() > 0], x[x.sum() < -100]


@cases(
    [case("masked", masked_by_a_number, f32(3, 4, low=0.1), dynamic={0: "n"}, others=[(-torch.rand(5, 4),)])],
    opsets=(9, LATEST),
    frontends=("trace", "script"),
)
def test_masks_without_dimensions(case, frontend, opset):
    check(case, frontend, opset)


def masked_by_a_number_and_arrays(x):
    flag = x.sum() > 0
    return x[flag, [2]], x[flag, (2,)], x[flag, range(1, 2)], x[flag, :, np.array([2])], x[flag, np.int64(1)]


@cases(
    [case("arrays", masked_by_a_number_and_arrays, f32(3, 4, low=0.1), others=[(-torch.rand(3, 4),)])],
    opsets=(9, LATEST),
    frontends=("trace",),
)
def test_masks_without_dimensions_beside_arrays(case, frontend, opset):
    check(case, frontend, opset)
