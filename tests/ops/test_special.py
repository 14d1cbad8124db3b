import pytest
import torch
from tests.harness import LATEST, case, cases, check, f16, f32, f64, i64
from torch import special

INF, NAN = float("inf"), float("nan")


def line(low, high, *more):
    """Points in float64, and some more."""
    return torch.cat([torch.linspace(low, high, 97, dtype=torch.float64), torch.tensor(more, dtype=torch.float64)])


def powers(a):
    return a.exp(), a.exp2(), a.expm1(), torch.rad2deg(a), torch.deg2rad(a)


def logs(a):
    return a.log(), a.log2(), a.log10(), a.log1p(), a.sqrt(), a.rsqrt()


def waves(a):
    return a.sin(), a.cos(), a.tan(), a.sinc(), a.atan(), a.sinh(), a.cosh(), a.asinh(), a.tanh(), a.erf()


def inverses(a):
    return a.asin(), a.acos(), a.atanh(), (a + 2).acosh(), a.logit(), torch.logit(a, 0.1)


ELEMENTARY = [
    case("powers", powers, f32(9)),
    case("powers64", powers, line(-20, 20, 0.0, 1e-9, -1e-9, 1e-300, NAN)),
    case("powers_ints", powers, i64(5)),
    case("powers_half", powers, f16(5)),
    case("logs", logs, f32(9, low=0.1)),
    case("logs64", logs, line(0.0, 20, 1e-9, 1e-300, INF, NAN)),
    case("log1p", torch.log1p, line(-0.999, 1, 1e-9, -1e-9, 1e-300, -1.0, INF, -2.0)),
    case("waves", waves, f32(9)),
    case("waves64", waves, line(-9, 9, 0.0, 1e-9, -1e-9)),
    case("waves_large", lambda a: (a.atan(), a.sinh(), a.cosh(), a.asinh()), line(-700, 700, 1e200, INF, -INF)),
    case("inverses", inverses, f32(9, low=-0.9, high=0.9)),
    case("inverses64", inverses, line(-0.99, 0.99, 0.0, 1e-9, 1.0, -1.0)),
    case("acosh", torch.acosh, line(1, 9, 1e200, INF, 0.5, -1.0, -1e8, -1e200, -INF, NAN)),
    case("entr", special.entr, torch.tensor([0.0, 1.0, 0.5, -1.0, NAN, 3.0])),
]  # fmt: skip


@cases(ELEMENTARY, opsets=(7, 9, 13, LATEST))
def test_elementary(case, frontend, opset):
    check(case, frontend, opset)


A = torch.tensor([0.0, -0.0, 0.0, -0.0, INF, -INF, 1.0, NAN, 1e-30, 3.0, -2.0])
B = torch.tensor([0.0, 0.0, -0.0, -0.0, INF, -INF, -INF, 1.0, 1e-30, -4.0, 0.0])

OF_TWO = [
    case("atan2", torch.atan2, A, B),
    case("atan2_64", torch.atan2, A.double(), B.double()),
    case("atan2_ints", torch.atan2, i64(5), i64(5)),
    case("hypot", torch.hypot, A, B),
    case("hypot_edges", lambda a: torch.hypot(a[:, None], a), torch.tensor([0.0, 1.0, INF, -INF, NAN])),
    case("hypot_large", torch.hypot, torch.tensor([1e30, 3.0]), torch.tensor([1e30, 4.0])),
    case("logaddexp", lambda a, b: (torch.logaddexp(a, b), torch.logaddexp2(a, b)), A, B),
    case("logaddexp64", torch.logaddexp, f64(5, high=500), f64(5)),
    case(
        "xlogy", lambda a, b: (torch.xlogy(a, b), special.xlog1py(a, b), torch.xlogy(a, 2.0), torch.xlogy(0, b)), A, B
    ),
    case("xlogy_ints", torch.xlogy, i64(5), i64(5, low=1)),
]


@cases(OF_TWO, opsets=(9, 11, LATEST))
def test_of_two(case, frontend, opset):
    check(case, frontend, opset)


def precise(name, function, *inputs, atol=1e-9):
    return case(name, function, *inputs, rtol=1e-7, atol=atol)


GAMMA = [
    precise("lgamma", torch.lgamma, line(-9.7, 30, 0.0, -1.0, 1.0, 2.0, INF, -INF, NAN, 1e-10, 1e5, 1e30)),
    precise("digamma", torch.digamma, line(-9.7, 30, 0.0, -0.0, -1.0, 1.0, INF, NAN, 1e-5, 1e5)),
    case("polygamma_written", lambda x: x.clone().polygamma_(1), f32(5)),
    *(precise(f"polygamma_{n}", lambda x, n=n: torch.polygamma(n, x), line(-9.7, 30, 1.0, 1e3)) for n in range(5)),
    precise("mvlgamma", lambda x: torch.mvlgamma(x, 3), line(1.1, 9)),
    precise("zeta", special.zeta, line(1.1, 9, 1.0, 0.5), line(0.1, 30, 1.0, 2.0)),
    case("float32", lambda x: (torch.lgamma(x), torch.digamma(x)), f32(9, low=0.1, high=9.0)),
    case("ints", torch.lgamma, i64(5, low=1)),
]

ERROR = [
    precise("erf", torch.erf, line(-7, 7, 0.0, 1e-12, INF, -INF, NAN)),
    precise("erfc", torch.erfc, line(-7, 26, INF, -INF, NAN), atol=0),
    precise("erfcx", special.erfcx, line(-20, 100, 1e10), atol=0),
    precise("erfinv", torch.erfinv, line(-1, 1, 1 - 1e-12, -1 + 1e-9, 1e-20, 2.0, NAN)),
    precise("ndtr", special.ndtr, line(-30, 30), atol=1e-15),
    precise("ndtri", special.ndtri, line(0, 1, 1e-12, 1e-100, 1e-300, 1 - 1e-10, 2.0)),
    precise("log_ndtr", special.log_ndtr, line(-60, 30)),
    case("float32", lambda x: (x.erfc(), x.erfinv(), special.erfcx(x)), f32(9, low=-0.9, high=0.9)),
]

WAVES = [
    precise(name, getattr(special, name), line(-20, 40, 0.0, 1e-3, 1e3, 1e5), atol=1e-8)
    for name in ("bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "spherical_bessel_j0")
]
MODIFIED = [
    *(precise(name, getattr(special, name), line(-20, 20, 0.0)) for name in ("i0", "i0e", "i1", "i1e")),
    *(
        precise(
            f"{scale}modified_bessel_{name}",
            getattr(special, f"{scale}modified_bessel_{name}"),
            line(-2, 40, 0.0, 1e-3),
        )
        for scale in ("", "scaled_")
        for name in ("k0", "k1")
    ),
]


@cases([*GAMMA, *WAVES], opsets=(9, LATEST))
def test_gamma_and_waves(case, frontend, opset):
    check(case, frontend, opset)


@cases([*ERROR[:-1], *MODIFIED], opsets=(9, LATEST))
def test_error_and_modified(case, frontend, opset):
    check(case, frontend, opset)


@cases(ERROR[-1:], opsets=(9, LATEST))
def test_error_in_float32(case, frontend, opset):
    check(case, frontend, opset)


NAMES = [
    *(f"{shift}chebyshev_polynomial_{kind}" for shift in ("", "shifted_") for kind in "tuvw"),
    *("hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p"),
]


@pytest.mark.parametrize("name", NAMES)
def test_polynomials(name):
    function = getattr(special, name)
    degrees = (0, 1, 2, 7)
    check(precise(name, lambda x: [function(x, n) for n in degrees], line(-2, 2)), opset=LATEST)


SHAPES = torch.tensor([0, 1e-3, 0.5, 1, 2.5, 10, 100, 1000, 20000, INF, -1, NAN], dtype=torch.float64)
PLACES = torch.tensor([0, 1e-5, 0.3, 1, 2, 9, 11, 90, 110, 990, 1010, 19800, 20100, INF, -1, NAN], dtype=torch.float64)
STARTS = torch.tensor(
    [0, -0.0, 1, -1, 2, -2, 1.5, INF, -INF, NAN, 3.4028234663852886e38, 1.17549435e-38, -1.17549435e-38, 1e-20, 5e-42]
)
TOWARDS = torch.tensor([0, 1, -1, 5, INF, -INF, NAN])

MORE = [
    case(
        "incomplete_gamma",
        lambda a, x: (special.gammainc(a, x), special.gammaincc(a, x)),
        SHAPES[:, None],
        PLACES[None],
        rtol=1e-9,
        atol=1e-12,
    ),
    case("airy", special.airy_ai, line(-12, 10, -1000, -50, 50, 103.8, 104, INF, -INF, NAN), rtol=1e-9, atol=1e-12),
    case("airy_int", special.airy_ai, i64(5)),
    case("nextafter", torch.nextafter, STARTS[:, None], TOWARDS[None], rtol=0, atol=0),
    case(
        "nextafter_float64",
        torch.nextafter,
        torch.tensor([0, 1, -1, 2, -0.5, INF, -INF, NAN, 1e300, -1e-300], dtype=torch.float64)[:, None],
        TOWARDS.double()[None],
        rtol=0,
        atol=0,
    ),
    case(
        "nextafter_bfloat16",
        lambda a, b: torch.nextafter(a.bfloat16(), b.bfloat16()).float(),
        STARTS[:9, None],
        TOWARDS[None],
        opset=13,
    ),
]


@cases(MORE, opsets=(13, LATEST))
def test_more(case, frontend, opset):
    check(case, frontend, opset)
