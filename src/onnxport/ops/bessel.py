"""Bessel functions, and orthogonal polynomials by their recurrences."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import special as eager

from ..dims import Dim, broadcast
from ..lower.builder import Builder
from ..lower.promotion import float_type
from ..lower.recurrence import loop
from ..lower.registry import lowering
from ..lower.values import Scalar, Tensor
from .fitted import Fit, precise

# -- modified, of the first kind: I -----------------------------------------------------------------

_I0 = (Fit(eager.i0e, 0, 8, 30), Fit(lambda u: eager.i0e(1 / u) / u.sqrt(), 0, 1 / 8, 24))
_I1 = (Fit(lambda x: eager.i1e(x) / x, 0, 8, 30), Fit(lambda u: eager.i1e(1 / u) / u.sqrt(), 0, 1 / 8, 24))


@precise("special_i0e")
def i0e(g: Builder, x: Tensor) -> Tensor:
    """exp(-|x|) * I0(x)"""
    size = g.abs(x)
    return g.where(g.less_equal(size, 8), _I0[0](g, size), _over_root(g, _I0[1], size, 8))


@precise("special_i1e")
def i1e(g: Builder, x: Tensor) -> Tensor:
    """exp(-|x|) * I1(x)"""
    size = g.abs(x)
    far = g.mul(_over_root(g, _I1[1], size, 8), g.sign(x))
    return g.where(g.less_equal(size, 8), g.mul(x, _I1[0](g, size)), far)


def _over_root(g: Builder, fit: Fit, x: Tensor, least: float) -> Tensor:
    """fit(1 / x) / sqrt(x) for x >= least."""
    safe = g.extremum("Max", x, least)
    return g.div(fit(g, g.op("Reciprocal", safe)), g.sqrt(safe))


@precise("i0", "special_i0", "special_modified_bessel_i0")
def i0(g: Builder, x: Tensor) -> Tensor:
    return g.mul(i0e(g, x), g.exp(g.abs(x)))


@precise("special_i1", "special_modified_bessel_i1")
def i1(g: Builder, x: Tensor) -> Tensor:
    return g.mul(i1e(g, x), g.exp(g.abs(x)))


# -- modified, of the second kind: K ----------------------------------------------------------------

# Near 0, K(x) has a logarithm times I(x) beside a smooth part.
_K0 = (
    Fit(lambda x: eager.modified_bessel_k0(x) + x.log() * eager.i0(x), 0, 2, 18),
    Fit(lambda u: eager.scaled_modified_bessel_k0(1 / u) / u.sqrt(), 0, 1 / 2, 24),
)
_K1 = (
    Fit(lambda x: (eager.modified_bessel_k1(x) - x.log() * eager.i1(x)) * x, 0, 2, 18),
    Fit(lambda u: eager.scaled_modified_bessel_k1(1 / u) / u.sqrt(), 0, 1 / 2, 24),
)


def _k(g: Builder, order: int, x: Tensor, scaled: bool) -> Tensor:
    if order == 0:
        near = g.sub(_K0[0](g, x), g.mul(g.log(x), i0(g, x)))
    else:
        near = g.add(g.div(_K1[0](g, x), x), g.mul(g.log(x), i1(g, x)))
    far = _over_root(g, (_K0, _K1)[order][1], x, 2)
    if scaled:
        near = g.mul(near, g.exp(x))
    else:
        far = g.mul(far, g.exp(g.neg(x)))
    value = g.where(g.less_equal(x, 2), near, far)
    return g.where(g.less(x, 0), math.nan, g.where(g.equal(x, 0), math.inf, value))


precise("special_modified_bessel_k0")(lambda g, x: _k(g, 0, x, False))
precise("special_modified_bessel_k1")(lambda g, x: _k(g, 1, x, False))
precise("special_scaled_modified_bessel_k0")(lambda g, x: _k(g, 0, x, True))
precise("special_scaled_modified_bessel_k1")(lambda g, x: _k(g, 1, x, True))


# -- of the first and second kind: J and Y ----------------------------------------------------------

# Up to 5 a power series; beyond, a wave whose parts in and out of phase change slowly with 1/x.


def _part(order: int, out: bool) -> Callable[[torch.Tensor], torch.Tensor]:
    bessel_j, bessel_y = ((eager.bessel_j0, eager.bessel_y0), (eager.bessel_j1, eager.bessel_y1))[order]

    def part(u: torch.Tensor) -> torch.Tensor:
        x = 1 / u
        phase = x - math.pi / 4 - order * math.pi / 2
        j, y = bessel_j(x), bessel_y(x)
        mixed: torch.Tensor = x * (y * phase.cos() - j * phase.sin()) if out else j * phase.cos() + y * phase.sin()
        return mixed / (2 / (math.pi * x)).sqrt()

    return part


class _Order(NamedTuple):
    """The fits of one order: J and the smooth part of Y of x**2 up to 25; parts of the wave of 1/x, that out of phase over
    1/x."""

    j: Fit
    y: Fit
    within: Fit
    out: Fit


_TWO_OVER_PI = 2 / math.pi
_WAVES = (
    _Order(
        Fit(lambda v: eager.bessel_j0(v.sqrt()), 0, 25, 18),
        Fit(lambda v: eager.bessel_y0(v.sqrt()) - _TWO_OVER_PI * v.sqrt().log() * eager.bessel_j0(v.sqrt()), 0, 25, 18),
        Fit(_part(0, False), 1e-3, 0.2, 16),
        Fit(_part(0, True), 1e-3, 0.2, 16),
    ),
    _Order(
        Fit(lambda v: eager.bessel_j1(v.sqrt()) / v.sqrt(), 0, 25, 18),
        Fit(
            lambda v: (
                (eager.bessel_y1(v.sqrt()) - _TWO_OVER_PI * (v.sqrt().log() * eager.bessel_j1(v.sqrt()) - v.rsqrt()))
                / v.sqrt()
            ),
            0,
            25,
            18,
        ),
        Fit(_part(1, False), 1e-3, 0.2, 16),
        Fit(_part(1, True), 1e-3, 0.2, 16),
    ),
)


def _wave(g: Builder, order: int, x: Tensor, second_kind: bool) -> Tensor:
    """J or Y for x >= 5."""
    fits = _WAVES[order]
    safe = g.extremum("Max", x, 5.0)
    inverse = g.op("Reciprocal", safe)
    phase = g.sub(safe, math.pi / 4 + order * math.pi / 2)
    sine, cosine = g.sin(phase), g.cos(phase)
    within, out = fits.within(g, inverse), g.mul(fits.out(g, inverse), inverse)
    if second_kind:
        mixed = g.add(g.mul(within, sine), g.mul(out, cosine))
    else:
        mixed = g.sub(g.mul(within, cosine), g.mul(out, sine))
    return g.mul(mixed, g.sqrt(g.mul(inverse, _TWO_OVER_PI)))


def _j_near(g: Builder, order: int, x: Tensor) -> Tensor:
    value = _WAVES[order].j(g, g.mul(x, x))
    return g.mul(value, x) if order else value


def _j(g: Builder, order: int, x: Tensor) -> Tensor:
    size = g.abs(x)
    far = _wave(g, order, size, False)
    return g.where(g.less_equal(size, 5), _j_near(g, order, x), g.mul(far, g.sign(x)) if order else far)


def _y(g: Builder, order: int, x: Tensor) -> Tensor:
    near = _WAVES[order].y(g, g.mul(x, x))
    logarithm = g.mul(g.log(x), _j_near(g, order, x))
    if order:
        near = g.mul(near, x)
        logarithm = g.sub(logarithm, g.op("Reciprocal", x))
    near = g.add(near, g.mul(logarithm, _TWO_OVER_PI))
    value = g.where(g.less_equal(x, 5), near, _wave(g, order, x, True))
    return g.where(g.less(x, 0), math.nan, g.where(g.equal(x, 0), -math.inf, value))


precise("special_bessel_j0")(lambda g, x: _j(g, 0, x))
precise("special_bessel_j1")(lambda g, x: _j(g, 1, x))
precise("special_bessel_y0")(lambda g, x: _y(g, 0, x))
precise("special_bessel_y1")(lambda g, x: _y(g, 1, x))


@precise("special_spherical_bessel_j0")
def spherical_bessel_j0(g: Builder, x: Tensor) -> Tensor:
    zero = g.equal(x, 0)
    value = g.where(zero, 1, g.div(g.sin(x), g.where(zero, 1, x)))
    return g.where(g.equal(g.abs(x), math.inf), 0, value)


# -- Airy's function --------------------------------------------------------------------------------

# Around 0 polynomials; far above, what is left beside exp(-zeta); far below, a wave with the known series of its parts.
# PyTorch's own form changes at +-2.09, where its values jump by 1e-6: no fit reaches across.
_AIRY_EDGES = (-9.0, -6.7, -4.4, -2.09, 0.0, 2.09)
_AIRY_NEAR = [Fit(eager.airy_ai, low, high, 20) for low, high in itertools.pairwise(_AIRY_EDGES)]
_AIRY_FAR = Fit(lambda u: _airy_scaled(u), 1 / 690, 0.5, 30)


def _airy_scaled(u: torch.Tensor) -> torch.Tensor:
    x = (1.5 / u) ** (2 / 3)
    scaled: torch.Tensor = eager.airy_ai(x) * torch.exp(1 / u) * x**0.25
    return scaled


def _airy_terms(count: int) -> list[float]:
    """Coefficients of the asymptotic series in 1/zeta: u(k) = u(k-1) * (6k-5) (6k-3) (6k-1) / (216 k (2k-1))."""
    terms = [1.0]
    for k in range(1, count):
        terms.append(terms[-1] * (6 * k - 5) * (6 * k - 3) * (6 * k - 1) / (216 * k * (2 * k - 1)))
    return terms


@precise("special_airy_ai")
def airy_ai(g: Builder, x: Tensor) -> Tensor:
    size = g.extremum("Max", g.abs(x), 2.0)
    root = g.sqrt(size)
    zeta = g.mul(g.mul(size, root), 2 / 3)
    inverse, quarter = g.op("Reciprocal", zeta), g.sqrt(root)
    far = g.div(g.mul(_AIRY_FAR(g, inverse), g.exp(g.neg(zeta))), quarter)
    terms = [u * (-1) ** (k // 2) for k, u in enumerate(_airy_terms(20))]
    square = g.mul(inverse, inverse)
    even, odd = g.polynomial(square, terms[-2::-2]), g.mul(g.polynomial(square, terms[::-2]), inverse)
    angle = g.add(zeta, math.pi / 4)
    wave = g.div(g.mul(g.sub(g.mul(g.sin(angle), even), g.mul(g.cos(angle), odd)), math.pi**-0.5), quarter)
    value = far
    for fit in reversed(_AIRY_NEAR):
        value = g.where(g.less(x, fit.high), fit(g, x), value)
    value = g.where(g.less(x, -9), wave, value)
    value = g.where(g.greater(x, 103.892), 0, value)
    return g.where(g.equal(g.abs(x), math.inf), math.nan, value)


# -- orthogonal polynomials -------------------------------------------------------------------------


class _Recurrence(NamedTuple):
    """p(k + 1) = (a(k) * x + b(k)) * p(k) - c(k) * p(k - 1), from p(0) = 1 and p(1) = first * x + shift.

    a, b and c are linear: (slope, offset); all over k + 1 if `divided`.
    """

    first: float
    shift: float
    a: tuple[float, float]
    b: tuple[float, float]
    c: tuple[float, float]
    divided: bool = False
    shifted: bool = False  # of 2*x - 1

    def next(self, g: Builder, k: Tensor, x: Tensor, value: Tensor, before: Tensor) -> Tensor:
        """p(k + 1) from p(k) and p(k - 1)."""
        a, b, c = (g.add(g.mul(k, slope), offset) for slope, offset in (self.a, self.b, self.c))
        result = g.sub(g.mul(g.add(g.mul(x, a), b), value), g.mul(before, c))
        return g.div(result, g.add(k, 1)) if self.divided else result


def _chebyshev(first: float, shift: float, shifted: bool = False) -> _Recurrence:
    return _Recurrence(first, shift, (0, 2), (0, 0), (0, 1), shifted=shifted)


_POLYNOMIALS = {
    "chebyshev_polynomial_t": _chebyshev(1, 0),
    "chebyshev_polynomial_u": _chebyshev(2, 0),
    "chebyshev_polynomial_v": _chebyshev(2, -1),
    "chebyshev_polynomial_w": _chebyshev(2, 1),
    "shifted_chebyshev_polynomial_t": _chebyshev(1, 0, True),
    "shifted_chebyshev_polynomial_u": _chebyshev(2, 0, True),
    "shifted_chebyshev_polynomial_v": _chebyshev(2, -1, True),
    "shifted_chebyshev_polynomial_w": _chebyshev(2, 1, True),
    "hermite_polynomial_h": _Recurrence(2, 0, (0, 2), (0, 0), (2, 0)),
    "hermite_polynomial_he": _Recurrence(1, 0, (0, 1), (0, 0), (1, 0)),
    "laguerre_polynomial_l": _Recurrence(-1, 1, (0, -1), (2, 1), (1, 0), divided=True),
    "legendre_polynomial_p": _Recurrence(1, 0, (2, 1), (0, 0), (1, 0), divided=True),
}
# Degrees that a recurrence is written out for; beyond, and for a tensor of degrees, it is a loop.
_UNROLLED = 16


def _polynomial(g: Builder, recurrence: _Recurrence, x: Tensor, degree: int) -> Tensor:
    if degree <= 0:
        return g.full(x.shape, float(degree == 0), torch.float64)
    before, value = g.const(1, torch.float64), g.add(g.mul(x, recurrence.first), recurrence.shift)
    for k in range(1, degree):
        before, value = value, recurrence.next(g, g.const(k, torch.float64), x, value, before)
    return value


def _polynomials(g: Builder, recurrence: _Recurrence, x: Tensor, degrees: Tensor) -> Tensor:
    """Each element with a degree of its own: the recurrence goes on to the highest."""
    pairs = itertools.zip_longest(reversed(x.shape), reversed(degrees.shape), fillvalue=1)
    target = [broadcast(m, n) for m, n in pairs][::-1]
    x, degrees = g.expand(x, target), g.expand(g.cast(degrees, torch.int64), target)
    value = g.add(g.mul(x, recurrence.first), recurrence.shift)
    result = g.where(g.less(degrees, 1), g.cast(g.equal(degrees, 0), torch.float64), value)
    counts = g.concat([g.reshape(degrees, [degrees.numel]), g.ints([1])], 0)
    steps = g.int_of(g.sub(g.reduce("ReduceMax", counts), 1), "degree", minimum=0)

    def step(i: Tensor, before: Tensor, value: Tensor, result: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        k = g.add(i, 1)
        following = recurrence.next(g, g.cast(k, torch.float64), x, value, before)
        return value, following, g.where(g.equal(degrees, g.add(k, 1)), following, result)

    return loop(g, steps, [g.full(target, 1, torch.float64), value, result], step)[2]


def _register_polynomial(name: str, recurrence: _Recurrence) -> None:
    @lowering(f"aten::special_{name}")
    def lower(g: Builder, x: Any, n: Any) -> Tensor:
        """special_chebyshev_polynomial_t(Tensor x, Tensor n) -> Tensor, and its like"""
        point = g.scalar(x, torch.float64)
        point = g.sub(g.mul(point, 2), 1) if recurrence.shifted else point
        known: Any = n.data if isinstance(n, Tensor) and n.is_constant and n.rank == 0 else n
        if not isinstance(known, (Tensor, Dim, Scalar)) and int(known) <= _UNROLLED:
            value = _polynomial(g, recurrence, point, int(known))
        else:
            value = _polynomials(g, recurrence, point, g.scalar(n, torch.float64))
        return g.cast(value, float_type(x, n))


for _name, _recurrence in _POLYNOMIALS.items():
    _register_polynomial(_name, _recurrence)
