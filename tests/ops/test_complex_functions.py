"""Functions, sums, products and matrices of complex numbers: lowerings that hold for them as they are."""

import dataclasses

import pytest
import torch
from tests.harness import LATEST, Spec, b8, c64, case, cases, check, f32, operators

from onnxport.errors import LoweringError

NUMBERS = torch.tensor([0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 1e-4, -1e-4, 10.0, -10.0])
# Every pair: both sides of the branch cuts, which the sign of zero tells apart.
GRID = torch.complex(NUMBERS.repeat_interleave(12), NUMBERS.repeat(12))
NONZERO = GRID[GRID.abs() > 0]
INSIDE = NONZERO[((NONZERO - 1).abs() > 0) & ((NONZERO + 1).abs() > 0)]
EVERYWHERE = [
    "exp",
    "expm1",
    "sqrt",
    "sin",
    "cos",
    "tan",
    "sinh",
    "cosh",
    "tanh",
    "asin",
    "acos",
    "atan",
    "asinh",
    "acosh",
    "atanh",
    "sigmoid",
    "square",
    "abs",
    "angle",
    "sgn",
]
POLES = ["log", "log2", "log10", "log1p", "rsqrt", "reciprocal", "exp2", "sinc"]
BATCH = {0: {0: "n"}}


def _values(name):
    return INSIDE if name in POLES else GRID


FUNCTIONS = [case(name, getattr(torch, name), _values(name), atol=2e-5, rtol=2e-5) for name in EVERYWHERE + POLES]
DOUBLE = [
    case(name, getattr(torch, name), _values(name).to(torch.complex128), atol=1e-9, rtol=1e-9)
    for name in EVERYWHERE + POLES
    if name not in ("exp", "exp2", "sinh", "cosh", "sinc")  # whose size makes the tolerance
]


@cases(FUNCTIONS, opsets=(7, 9, LATEST))
def test_functions(case, frontend, opset):
    check(case, frontend, opset)


@cases(DOUBLE, opsets=(20,))
def test_double_precision(case, frontend, opset):
    check(case, frontend, opset)


def square(*batch):
    x = torch.randn(*batch, 4, 4, dtype=torch.complex64, generator=torch.Generator().manual_seed(len(batch)))
    return x + 3 * torch.eye(4)


def definite(*batch):
    x = square(*batch)
    return x @ x.mH + torch.eye(4)


c128 = Spec((2, 3), torch.complex128)
ARITHMETIC = [
    case("types", lambda x, y, z: (x + y, x * z, y / x, x**2, x - 1, 2j * y), c64(2, 3), f32(3), c128),
    case("integers", lambda x: (torch.tensor([1, 2, 3]) * x, x / 3, 1 - x, x.int() if not x.is_complex() else x), c64(2, 3)),
    case("was_real", lambda x: (x.cfloat() * 2, x.cfloat() + 1, 1 / x.cfloat(), x.cfloat() @ x.cfloat().T), f32(2, 3, low=1), dynamic=BATCH),
    case("powers", lambda x, y: (x**0.5, x**-2, x**3, x**y, 2**x, x**1.5, x**1j, x**0), c64(2, 3), c64(2, 3)),
    case("power_of_zero", lambda x: (x**2.5, x**0, x ** torch.tensor([0.5, 1.5, 2.0])), torch.tensor([0j, 0j, 1 + 1j])),
    case("float_power", lambda x: torch.float_power(x, 2.5), c64(2, 3)),
    case("large_quotient", lambda x, y: x / y, torch.tensor([1e30 + 1e30j]), torch.tensor([2e30 - 1e30j])),
    case("addcmul", lambda x, y: (torch.addcmul(x, x, y, value=2j), torch.addcdiv(x, x, y), torch.lerp(x, y, 0.3)), c64(2, 3), c64(2, 3)),
    case("sums", lambda x: (x.cumsum(1), x.prod(), x.prod(1), x.cumprod(1), x.diff(), x.mean(0)), c64(3, 5)),
    case("sums_of_batch", lambda x: (x.sum(1), x.mean(), x.cumsum(0), x.prod(1)), c64(3, 5), dynamic=BATCH),
    case("variance", lambda x: (x.var(1), x.std(), torch.var_mean(x, 0, correction=0), x.cov(), x.corrcoef()), c64(3, 5)),
    case("norms", lambda x: (x.norm(), x.norm(1, dim=0), x.norm(float("inf")), torch.linalg.norm(x, 3, dim=1), torch.nn.functional.normalize(x, dim=1), torch.nn.functional.rms_norm(x, [5])), c64(3, 5)),
    case("truth", lambda x, m: (x.bool(), (x * m).any(1), (x * m).all(), torch.count_nonzero(x * m), torch.logical_and(x, m), (x * m).nonzero()), c64(2, 3), b8(2, 3)),
    case("close", lambda x: (torch.isclose(x, x + 1e-9), x.isfinite(), x.isinf(), x.isreal(), x.isnan()), torch.tensor([1 + 1j, complex("inf"), complex("nanj"), 2])),
]  # fmt: skip
PRODUCTS = [
    case("linear", torch.nn.functional.linear, c64(2, 3), c64(4, 3), c64(4), dynamic=BATCH),
    case("linear_of_real", lambda x, w: torch.nn.functional.linear(x, w), c64(2, 3), f32(4, 3).make(0).cfloat()),
    case("bilinear", lambda x, y, z: torch.einsum("bi,oij,bj->bo", x, y, z), c64(2, 3), c64(5, 3, 4), c64(2, 4), dynamic={0: {0: "n"}, 2: {0: "n"}}),
    case("einsum", lambda x, y: (torch.einsum("bixy,ioxy->boxy", x, y), torch.einsum("...xy->...", x)), c64(2, 3, 4, 5), c64(3, 2, 4, 5), dynamic=BATCH),
    case("dots", lambda x, y: (torch.vdot(x, y), torch.dot(x, y), torch.linalg.vecdot(x, y), torch.inner(x, y), torch.outer(x, y)), c64(4), c64(4)),
    case("kron", lambda x, y: (torch.kron(x, y), torch.tensordot(x, y, 1), torch.cross(x, x * 2j, dim=1)), c64(2, 3), c64(3, 2)),
    case("addmm", lambda a, x, y: (torch.addmm(a, x, y, beta=2, alpha=0.5j), torch.addmv(a[0], y.T, x[0])), c64(2, 4), c64(2, 3), c64(3, 4)),
    case("conv", lambda x, w, b: torch.nn.functional.conv2d(x, w, b, padding=1), c64(2, 3, 5, 5), c64(4, 3, 3, 3), c64(4), dynamic=BATCH),
    case("conv_transpose", lambda x, w: torch.nn.functional.conv_transpose1d(x, w, stride=2), c64(2, 3, 5), c64(3, 4, 3)),
    case("powers_of_matrix", lambda x: (torch.matrix_power(x, 3), torch.linalg.multi_dot([x, x, x]), torch.matrix_exp(x * 0.1)), square()),
]  # fmt: skip
LINALG = [
    case("solve", lambda x, y: (torch.linalg.solve(x, y), torch.linalg.inv(x), torch.linalg.solve(x, y, left=False)), square(2), square(2) * 1j, dynamic={0: {0: "n"}, 1: {0: "n"}}),
    case("det", lambda x: (torch.linalg.det(x), torch.linalg.slogdet(x), torch.logdet(x)), square(3), dynamic=BATCH),
    case("lu", lambda x: (*torch.linalg.lu(x), *torch.linalg.lu_factor(x)), square(2)),
    case("lu_solve", lambda x, y: [torch.linalg.lu_solve(*torch.linalg.lu_factor(x), y, left=left, adjoint=adjoint) for left in (True, False) for adjoint in (True, False)], square(2), square(2) * 1j),
    case("cholesky", lambda x: (torch.linalg.cholesky(x), torch.linalg.cholesky(x, upper=True), torch.cholesky_inverse(torch.linalg.cholesky(x))), definite(2)),
    case("triangular", lambda x, y: (torch.linalg.solve_triangular(x, y, upper=True), torch.linalg.solve_triangular(x, y, upper=False, left=False)), square(), square() * 1j),
    case("qr", lambda x: (torch.linalg.qr(x), torch.linalg.qr(x.mT[..., :2, :]), torch.linalg.qr(x[..., :2], mode="complete")), square(2)[:, :, :3], opset=11),
    case("reflections", lambda x, y: (torch.linalg.householder_product(*torch.geqrf(x)), torch.ormqr(*torch.geqrf(x), y), torch.ormqr(*torch.geqrf(x), y, left=False), torch.ormqr(*torch.geqrf(x), y, transpose=True)), square(), square() * 2, opset=11),
    case("values", lambda x: (torch.linalg.svdvals(x), torch.linalg.eigvalsh(x), torch.linalg.cond(x), torch.linalg.matrix_rank(x), torch.linalg.norm(x, "nuc"), torch.linalg.norm(x, 2)), square()),
    case("pinv", lambda x, y: (torch.linalg.pinv(x), torch.linalg.lstsq(x, y).solution), square(2)[:, :, :3], square(2)),
    case("adjoint", lambda x: (x.mH @ x, x[0].H, x.adjoint(), x.mT), square(2)),
]  # fmt: skip


@cases(ARITHMETIC + PRODUCTS, opsets=(13, LATEST))
def test_arithmetic(case, frontend, opset):
    check(case, frontend, opset)


@cases(LINALG, opsets=(7, 13, LATEST))
def test_linalg(case, frontend, opset):
    check(case, frontend, opset)


EXPORTED = [dataclasses.replace(c, dynamic={}) for c in ARITHMETIC + PRODUCTS if c.name in ("sums", "einsum", "conv")]


@cases(EXPORTED, frontends=("exported",))
def test_exported(case, frontend, opset):
    check(case, frontend, opset)


def test_numbers_and_real_operands_cost_no_complex_product():
    model = check(case("scaled", lambda x, y: torch.view_as_real((x * 0.5 + 1) * y), c64(2, 3), f32(2, 3)))
    assert operators(model).count("Mul") == 4


@pytest.mark.parametrize("name", ["logaddexp", "sort_of_size"])
def test_what_has_no_formula_is_refused(name):
    functions = {"logaddexp": lambda x: torch.logaddexp(x, x), "sort_of_size": lambda x: torch.logcumsumexp(x, 0)}
    with pytest.raises(LoweringError, match="real and imaginary part"):
        check(case(name, functions[name], c64(3)))


def test_a_real_formula_is_not_taken_for_a_complex_one(monkeypatch):
    """An op put into the list by mistake is refused at the first node that has no meaning for pairs."""
    from onnxport.lower import registry

    monkeypatch.setattr(registry, "_ALIKE", registry._ALIKE | {"aten::logaddexp"})
    with pytest.raises(LoweringError, match="real"):
        check(case("logaddexp", lambda x: torch.logaddexp(x, x), c64(3)))


def test_each_name_of_the_list_has_a_lowering():
    from onnxport.lower import registry

    overloaded = {name.partition(".")[0] for name in registry.names()}
    assert overloaded >= registry._ALIKE
