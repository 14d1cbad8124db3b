"""Linear algebra of small matrices."""

import pytest
import torch
from tests.harness import LATEST, case, cases, check, f32, f64

from onnxport.errors import LoweringError

linalg = torch.linalg


def _definite(*lead, n=3, dtype=torch.float32):
    generator = torch.Generator().manual_seed(5)
    a = torch.randn(*lead, n, n, generator=generator, dtype=dtype)
    return a @ a.mT + torch.eye(n, dtype=dtype)


SINGULAR = torch.tensor([[[1.0, 2.0], [2.0, 4.0]], [[1.0, 2.0], [3.0, 4.0]]])
INDEFINITE = torch.tensor([[[4.0, 2.0], [2.0, 5.0]], [[1.0, 2.0], [2.0, 1.0]]])

CASES = [
    case("det", linalg.det, f32(2, 4, 4), dynamic={0: "n"}),
    case("det_double", linalg.det, f64(2, 4, 4)),
    case("slogdet", linalg.slogdet, f32(2, 3, 4, 4), dynamic={0: "n"}),
    case("slogdet_singular", linalg.slogdet, SINGULAR),
    case("logdet", torch.logdet, f32(3, 3, 3)),
    case("inverse", torch.inverse, f32(2, 5, 5), dynamic={0: "n"}, rtol=1e-3, atol=1e-4),
    case("inverse_double", torch.inverse, f64(5, 5)),
    case("inv_ex_info", lambda a: linalg.inv_ex(a).info, SINGULAR),
    case("matrix_power", lambda a: torch.matrix_power(a, -3), _definite()),
    case("solve", linalg.solve, f64(2, 4, 4), f64(2, 4, 3)),
    case("solve_vector", linalg.solve, f64(4, 4), f64(4)),
    case("solve_broadcast", linalg.solve, f64(4, 4), f64(5, 4, 2), dynamic={1: {0: "n"}}),
    case("solve_right", lambda a, b: linalg.solve(a, b, left=False), f64(4, 4), f64(3, 4)),
    case("lu", linalg.lu, f32(2, 4, 3)),
    case("lu_wide", linalg.lu, f32(3, 5)),
    case("lu_factor", linalg.lu_factor, f32(2, 4, 4)),
    case("lu_factor_singular", linalg.lu_factor_ex, SINGULAR),
    case("lu_solve", lambda a, b: linalg.lu_solve(*linalg.lu_factor(a), b), f64(4, 4), f64(4, 2)),
    case("lu_solve_adjoint", lambda a, b: linalg.lu_solve(*linalg.lu_factor(a), b, adjoint=True), f64(4, 4), f64(4, 2)),
    case("triangular", lambda a, b: linalg.solve_triangular(a, b, upper=True), f64(2, 4, 4, low=0.5), f64(2, 4, 2)),
    case("triangular_lower", lambda a, b: linalg.solve_triangular(a, b, upper=False, unitriangular=True), f64(4, 4), f64(4, 2)),
    case("triangular_large", lambda a, b: linalg.solve_triangular(a / 8, b, upper=False, unitriangular=True), f64(2, 70, 70), f64(2, 70, 2), dynamic={0: {0: "n"}, 1: {0: "n"}}),
    case("triangular_large_upper", lambda a, b: linalg.solve_triangular(a / 8 + 2 * torch.eye(64), b, upper=True), f32(64, 64), f32(3, 64, 2)),
    case("triangular_right", lambda a, b: linalg.solve_triangular(a, b, upper=False, left=False), f64(4, 4, low=0.5), f64(2, 4)),
    case("cholesky", linalg.cholesky, _definite(2), dynamic={0: "n"}, others=[(_definite(3),)]),
    case("cholesky_upper", lambda a: linalg.cholesky(a, upper=True), _definite(n=4)),
    case("cholesky_info", lambda a: linalg.cholesky_ex(a).info, INDEFINITE),
    case("cholesky_solve", lambda a, b: torch.cholesky_solve(b, linalg.cholesky(a)), _definite(), f32(3, 2), rtol=1e-3),
    case("cholesky_inverse", lambda a: torch.cholesky_inverse(linalg.cholesky(a)), _definite(), rtol=1e-3, atol=1e-4),
    case("qr", linalg.qr, f64(2, 5, 3), dynamic={0: "n"}),
    case("qr_wide", linalg.qr, f64(3, 5)),
    case("qr_complete", lambda a: linalg.qr(a, mode="complete"), f64(5, 3)),
    case("qr_r", lambda a: linalg.qr(a, mode="r").R, f64(5, 3)),
    case("qr_clear", linalg.qr, torch.tensor([[2.0, 1.0, 0.0], [0.0, -3.0, 1.0], [0.0, 0.0, -4.0]])),
    case("tensorinv", lambda a: linalg.tensorinv(a, ind=2), f64(2, 3, 6)),
    case("vecdot", linalg.vecdot, f32(2, 3), f32(3), dynamic={0: "n"}),
    case("vander", lambda x: linalg.vander(x, N=4), f32(2, 3), dynamic={0: "n"}),
]  # fmt: skip


@cases(CASES, opsets=(11, 13, LATEST))
def test_linalg(case, frontend, opset):
    check(case, frontend, opset)


def test_large_matrices_are_refused():
    with pytest.raises(LoweringError, match="too large to unroll"):
        check(case("large", torch.inverse, f32(40, 40)))


def test_a_dynamic_size_is_refused():
    with pytest.raises(LoweringError, match="must be known at export"):
        check(case("dynamic", torch.inverse, f32(4, 4), dynamic={0: "n", 1: "n"}))
