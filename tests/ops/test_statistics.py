"""Covariance, numerical gradients, the trace, sums back to a size, backward operators, polynomials of any degree."""

import torch
from tests.harness import LATEST, b8, case, cases, check, f16, f32, f64, i64

aten = torch.ops.aten
special = torch.special

CASES = [
    case("sum_to_size", lambda x: x.sum_to_size(1, 3), f32(2, 4, 3)),
    case("sum_to_size_dynamic", lambda x: x.sum_to_size(1, 3), f32(2, 4, 3), dynamic={0: "n", 1: "m"}),
    case("sum_to_size_bool", lambda x: (x.sum_to_size(1, 3), x.sum_to_size(2, 3)), b8(2, 3)),
    case("sum_to_size_scalar", lambda x: x.sum_to_size(()), b8()),
    case("trace", torch.trace, f32(3, 5), dynamic={0: "n", 1: "m"}),
    case("trace_int", torch.trace, i64(4, 2)),
    case("cov", torch.cov, f32(3, 6), dynamic={1: "n"}),
    case("cov_vector", torch.cov, i64(6)),
    case("cov_half", lambda x, a: (torch.cov(x, aweights=a), torch.cov(x)), f16(3, 6), f32(6, low=0.1, high=1)),
    case("cov_no_correction", lambda x: torch.cov(x, correction=0), f64(3, 6)),
    case("cov_of_one", torch.cov, f32(3, 1)),
    case(
        "cov_weights",
        lambda x, f, a: torch.cov(x, fweights=f, aweights=a),
        f32(3, 6),
        i64(6, low=1, high=4),
        f32(6, low=0.1, high=1),
    ),
    case("cov_frequencies", lambda x, f: torch.cov(x, fweights=f), f32(3, 6), i64(6, low=1, high=4)),
    case("corrcoef", torch.corrcoef, f32(3, 6), dynamic={1: "n"}),
    case("corrcoef_one_row", torch.corrcoef, f32(1, 6)),
    case("gradient", torch.gradient, f32(4, 5), dynamic={}),
    case("gradient_int", lambda x: torch.gradient(x, spacing=2)[0], i64(6)),
    case("gradient_spacings", lambda x: torch.gradient(x, spacing=[2.0, 2.1]), f32(4, 5), dynamic={0: "n", 1: "m"}),
    case("gradient_unknown", lambda x: torch.gradient(x, dim=1, edge_order=2), f32(3, 4), dynamic={0: "n", 1: "m"}),
    case(
        "gradient_unknown_coordinates",
        lambda x: torch.gradient(x, dim=0, spacing=(torch.arange(x.shape[0]) ** 2.0,)),
        f32(3, 4),
        dynamic={0: "n"},
    ),
    case("gradient_of_axes", lambda x: torch.gradient(x, spacing=(2, 0.5), dim=(2, 0), edge_order=2), f32(4, 3, 5)),
    case("gradient_edges", lambda x: torch.gradient(x, spacing=0.5, dim=1, edge_order=2)[0], f32(3, 5)),
    case(
        "gradient_coordinates",
        lambda x, t: torch.gradient(x, spacing=(t.cumsum(0),), dim=1, edge_order=2)[0],
        f32(3, 5),
        f32(5, low=0.5, high=1),
    ),
    case("chunk_cat", lambda a, b: aten._chunk_cat([a, b], 0, 2), f32(3, 2, 2), f32(5, 4)),
    case("chunk_cat_dim1", lambda a, b: aten._chunk_cat([a, b], 1, 2), f32(2, 3, 2), f32(2, 5, 4)),
    case("dropout_backward", lambda x, m: aten.native_dropout_backward(x, m, 1.5), f16(3, 4), b8(3, 4)),
    case("dropout_backward_int", lambda x, m: aten.native_dropout_backward(x, m, 1.5), i64(3), b8(3)),
    case(
        "softmax_backward",
        lambda x, y: (
            aten._softmax_backward_data(x, y.softmax(1), 1, torch.float32),
            aten._log_softmax_backward_data(x, y.log_softmax(0), 0, torch.float32),
        ),
        f32(3, 4),
        f32(3, 4),
    ),
]


@cases(CASES, opsets=(9, LATEST))
def test_statistics(case, frontend, opset):
    check(case, frontend, opset)


def _pool_backward(x: torch.Tensor, grad: torch.Tensor) -> torch.Tensor:
    _, indices = torch.nn.functional.max_pool2d_with_indices(x, 3, 1, 1)
    return aten.max_pool2d_with_indices_backward(grad, x, [3, 3], [1, 1], [1, 1], [1, 1], False, indices)


def _normalized(x: torch.Tensor, mean: torch.Tensor, var: torch.Tensor) -> tuple[torch.Tensor, ...]:
    mean, var = mean.clone(), var.clone()
    results = torch.ops.aten._native_batch_norm_legit(x, None, None, mean, var, True, 0.3, 1e-5)
    return (*results, mean, var)


MORE = [
    case("max_pool_backward", _pool_backward, f32(2, 3, 5, 4), f32(2, 3, 5, 4)),
    case("max_pool_backward_unbatched", _pool_backward, f32(3, 5, 4), f32(3, 5, 4)),
    case("batch_norm_writes", _normalized, f32(3, 4, 5), f32(4), f32(4, low=0.5, high=2)),
    *[
        case(
            f"{name}_degrees",
            getattr(special, name),
            f32(5, 1, low=-1, high=1),
            torch.tensor([-1, 0, 1, 2, 7, 20]),
            dynamic={1: {0: "n"}},
            others=[(torch.linspace(-1, 1, 5)[:, None], torch.tensor([0, 3]))],
            rtol=1e-4,
            atol=1e-4,
        )
        for name in (
            "chebyshev_polynomial_t",
            "shifted_chebyshev_polynomial_w",
            "hermite_polynomial_h",
            "laguerre_polynomial_l",
            "legendre_polynomial_p",
        )
    ],
    case("degree_of_run_time", special.chebyshev_polynomial_u, f32(4, low=-1, high=1), torch.tensor(3)),
    case("degree_large", lambda x: special.hermite_polynomial_he(x, 40), f64(4)),
    case("degree_small", lambda x: special.legendre_polynomial_p(x, 5), f64(4)),
]


@cases(MORE, opsets=(16, LATEST))
def test_recurrences_and_scatters(case, frontend, opset):
    check(case, frontend, opset)
