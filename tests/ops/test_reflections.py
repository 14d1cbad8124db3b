"""Products of reflections, least squares, the exponential of a matrix."""

import torch
from tests.harness import LATEST, case, cases, check, f32, f64

linalg = torch.linalg

CASES = [
    case("householder", linalg.householder_product, f32(2, 5, 3), f32(2, 2, low=0, high=1), dynamic={}),
    case("householder_all", linalg.householder_product, f64(4, 4), f64(4, low=0, high=1)),
    case("geqrf_tall", torch.geqrf, f32(5, 3), atol=1e-5),
    case("geqrf_wide", torch.geqrf, f64(2, 3, 5)),
    case("geqrf_clear", torch.geqrf, torch.triu(torch.ones(3, 3))),
    case("geqrf_product", lambda x: linalg.householder_product(*torch.geqrf(x)), f64(5, 3)),
    case("ormqr", torch.ormqr, f64(4, 3), f64(3, low=0, high=1), f64(4, 2)),
    case("ormqr_right", lambda a, t, c: torch.ormqr(a, t, c, False), f64(2, 4, 3), f64(2, 3), f64(2, 5, 4)),
    case("ormqr_turned", lambda a, t, c: torch.ormqr(a, t, c, True, True), f64(4, 3), f64(3), f64(4, 2)),
    case("lstsq", lambda a, b: linalg.lstsq(a, b), f64(2, 5, 3), f64(2, 5, 2)),
    case("lstsq_wide", lambda a, b: linalg.lstsq(a, b), f64(3, 5), f64(3, 2)),
    case("lstsq_vector", lambda a, b: linalg.lstsq(a, b).solution, f64(2, 5, 3), f64(2, 5)),
    case("lstsq_gels", lambda a, b: linalg.lstsq(a, b, driver="gels"), f64(5, 3), f64(5, 2)),
    case("lstsq_gelsd", lambda a, b: linalg.lstsq(a, b, driver="gelsd")[0::3], f64(5, 3), f64(5, 2)),
    case("matrix_exp", torch.matrix_exp, f32(2, 4, 4, low=-3, high=3), dynamic={0: {0: "n"}}, rtol=1e-4, atol=1e-4),
    case("matrix_exp_sizes", torch.matrix_exp, f64(3, 3), dynamic={0: {0: "n", 1: "n"}}, rtol=1e-10, atol=1e-10),
    case("matrix_exp_large", torch.matrix_exp, 40 * torch.eye(3, dtype=torch.float64), rtol=1e-10),
    case("matrix_exp_zero", torch.matrix_exp, torch.zeros(2, 2)),
]


@cases(CASES, opsets=(13, LATEST))
def test_reflections(case, frontend, opset):
    check(case, frontend, opset)
