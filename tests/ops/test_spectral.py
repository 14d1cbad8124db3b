"""Singular values, eigenvalues of symmetric matrices, and what they lead to."""

import math

import pytest
import torch
from tests.harness import LATEST, case, cases, check, f32, f64, i64

from onnxport.errors import LoweringError

linalg = torch.linalg


def _deficient(dtype: torch.dtype) -> torch.Tensor:
    generator = torch.Generator().manual_seed(1)
    a = torch.randn(2, 6, 3, generator=generator, dtype=dtype)
    return a @ torch.randn(2, 3, 4, generator=generator, dtype=dtype)


def _symmetric(values: list[float]) -> torch.Tensor:
    generator = torch.Generator().manual_seed(2)
    q, _ = linalg.qr(torch.randn(len(values), len(values), generator=generator, dtype=torch.float64))
    return q @ torch.diag(torch.tensor(values, dtype=torch.float64)) @ q.T


ALMOST_SINGULAR = torch.tensor([[1.0, 1.0], [1.0, 1.0 + 1e-9]], dtype=torch.float64)

CASES = [
    case("svdvals", linalg.svdvals, f32(5, 3)),
    case("svdvals_wide_batch", linalg.svdvals, f64(2, 3, 7), dynamic={0: "n"}),
    case("svdvals_larger", linalg.svdvals, f64(40, 33)),
    case("svdvals_hilbert", linalg.svdvals, 1 / (torch.arange(9.0)[:, None] + torch.arange(9.0) + 1).double()),
    case("svdvals_scales", linalg.svdvals, torch.diag(torch.tensor([1e100, 1.0, 1e-30], dtype=torch.float64))),
    case("svdvals_small_numbers", linalg.svdvals, 1e-30 * torch.eye(4) + 1e-31),
    case("svdvals_zero", linalg.svdvals, torch.zeros(3, 4)),
    case("svdvals_one_column", linalg.svdvals, f32(5, 1)),
    case("svdvals_empty", linalg.svdvals, f32(5, 0)),
    case("svd_values", lambda x: linalg.svd(x).S, f32(3, 4)),
    case("svd_old", lambda x: torch.svd(x, compute_uv=False)[1], f32(3, 4)),
    case("eigvalsh", linalg.eigvalsh, f32(2, 5, 5), dynamic={0: "n"}),
    case("eigvalsh_upper", lambda x: linalg.eigvalsh(x, UPLO="U"), f64(6, 6)),
    case("eigvalsh_pairs", linalg.eigvalsh, _symmetric([2, -2, 2, -2, 0, 1e-8])),
    case("eigvalsh_larger", linalg.eigvalsh, f64(33, 33)),
    case("eigvalsh_one", linalg.eigvalsh, f32(3, 1, 1)),
    case("eigh_values", lambda x: linalg.eigh(x).eigenvalues, f32(4, 4)),
    case("rank", linalg.matrix_rank, _deficient(torch.float32)),
    case("rank_float64", linalg.matrix_rank, _deficient(torch.float64)),
    case("rank_almost", lambda x: (linalg.matrix_rank(x), linalg.matrix_rank(x, rtol=1e-8)), ALMOST_SINGULAR),
    case("rank_absolute", lambda x: linalg.matrix_rank(x, atol=1.0), f32(2, 4, 5)),
    case("rank_hermitian", lambda x: linalg.matrix_rank(x, hermitian=True), _symmetric([3, -2, 1, 0])),
    case("pinv", linalg.pinv, f32(4, 6), atol=1e-5),
    case("pinv_deficient", linalg.pinv, _deficient(torch.float64)),
    case("pinv_zero", linalg.pinv, torch.zeros(2, 3)),
    case("pinv_empty", linalg.pinv, f32(0, 3)),
    case("pinv_hermitian", lambda x: linalg.pinv(x, hermitian=True), _symmetric([3, -2, 1, 0])),
    case("pinverse", torch.pinverse, f32(5, 3), dynamic={}, atol=1e-5),
    case("cond", linalg.cond, f32(4, 4), rtol=1e-4),
    case("cond_smallest", lambda x: linalg.cond(x, -2), f32(2, 4, 4), rtol=1e-4),
    case("cond_one", lambda x: linalg.cond(x, 1), f32(4, 4), rtol=1e-4),
    case("cond_fro", lambda x: linalg.cond(x, "fro"), f32(4, 4), rtol=1e-4),
    case("norm_nuc", lambda x: linalg.matrix_norm(x, "nuc"), f32(4, 3)),
    case("norm_2", lambda x: linalg.matrix_norm(x, 2, keepdim=True), f32(2, 4, 3)),
    case("norm_least", lambda x: linalg.matrix_norm(x, -2, dim=(2, 0)), f32(4, 2, 3)),
    *[
        case(
            f"norm_of_none_{p}",
            lambda x, p=p: (linalg.matrix_norm(x, p), linalg.matrix_norm(x.mT, p, keepdim=True)),
            f32(2, 0, 3),
        )
        for p in ("fro", "nuc", 1, 2, math.inf)
    ],
    case("norm_int_dims", lambda x: linalg.norm(x.float(), 2, dim=(0, 2), keepdim=True), i64(4, 2, 3)),
]


@cases(CASES, opsets=(13, LATEST))
def test_spectral(case, frontend, opset):
    check(case, frontend, opset)


@pytest.mark.parametrize("function", [lambda x: linalg.svd(x).U, lambda x: linalg.eigh(x)[1], linalg.eigvals])
def test_no_vectors_of_unknown_signs(function):
    with pytest.raises(LoweringError, match="outside"):
        check(case("vectors", function, f32(3, 3)))


def test_matrices_of_sizes_known_at_run_time():
    with pytest.raises(LoweringError, match="last two axes static"):
        check(case("dynamic", linalg.svdvals, f32(3, 3), dynamic={0: "n"}))
