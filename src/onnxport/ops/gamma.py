"""The gamma function and its derivatives, the zeta function, inverses of the error function."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from ..dims import broadcast_shapes
from ..errors import LoweringError
from ..lower.builder import Builder
from ..lower.promotion import float_type
from ..lower.recurrence import loop
from ..lower.registry import lowering
from ..lower.values import Tensor
from .fitted import Fit, precise

# What is left of lgamma and digamma beside their asymptotic forms, as a function of 1/x for x >= 3.
_LGAMMA_REST = Fit(lambda u: torch.lgamma(1 / u) + (1 / u - 0.5) * u.log() + 1 / u, 0, 1 / 3, 14)
_DIGAMMA_REST = Fit(lambda u: torch.digamma(1 / u) + u.log() + u / 2, 0, 1 / 3, 14)
# Terms of the zeta function that are summed before the rest is an integral.
_ZETA_TERMS = 32
# B(2k) / (2k)!, by which the Euler-Maclaurin formula weighs the derivatives.
_BERNOULLI = (1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160, -691 / 1307674368000)


def _reflected(g: Builder, x: Tensor) -> tuple[Tensor, Tensor]:
    """Where x < 0.5, and x on the other side of 0.5 there."""
    left = g.less(x, 0.5)
    return left, g.where(left, g.sub(1, x), x)


def _sine_of_pi(g: Builder, x: Tensor) -> Tensor:
    """sin(pi * x) up to its sign, exactly 0 at whole numbers."""
    return g.sin(g.mul(g.sub(x, g.round(x)), math.pi))


@precise("lgamma", "special_gammaln")
def lgamma(g: Builder, x: Tensor) -> Tensor:
    """By reflection from x < 0.5, by recurrence from x < 3, and then by the asymptotic form."""
    left, y = _reflected(g, x)
    near = g.less(y, 3)
    far = g.where(near, g.add(y, 3), y)
    main = g.sub(g.mul(g.sub(far, 0.5), g.log(far)), far)
    value = g.add(main, _LGAMMA_REST(g, g.op("Reciprocal", far)))
    product = g.mul(g.mul(y, g.add(y, 1)), g.add(y, 2))
    value = g.where(near, g.sub(value, g.log(product)), value)
    value = g.where(g.equal(far, math.inf), far, value)
    mirrored = g.sub(g.sub(math.log(math.pi), g.log(g.abs(_sine_of_pi(g, x)))), value)
    value = g.where(left, mirrored, value)
    return g.where(g.equal(x, -math.inf), math.inf, value)


@precise("digamma", "special_digamma", "special_psi")
def digamma(g: Builder, x: Tensor) -> Tensor:
    """As lgamma. A pole gives NaN, that of 0 infinity of the other sign."""
    left, y = _reflected(g, x)
    near = g.less(y, 3)
    far = g.where(near, g.add(y, 3), y)
    inverse = g.op("Reciprocal", far)
    value = g.add(g.sub(g.log(far), g.mul(inverse, 0.5)), _DIGAMMA_REST(g, inverse))
    steps = [g.op("Reciprocal", g.add(y, n)) for n in range(3)]
    value = g.where(near, g.sub(value, g.add(g.add(steps[0], steps[1]), steps[2])), value)
    fraction = g.sub(x, g.round(x))
    angle = g.mul(fraction, math.pi)
    mirrored = g.sub(value, g.div(g.mul(g.cos(angle), math.pi), g.sin(angle)))
    value = g.where(left, mirrored, value)
    pole = g.and_(g.equal(fraction, 0), g.less(x, 0.5))
    at_pole = g.where(g.equal(x, 0), g.neg(g.op("Reciprocal", x)), math.nan)
    return g.where(pole, at_pole, value)


@lowering("aten::mvlgamma", "aten::special_multigammaln")
def mvlgamma(g: Builder, self: Tensor, p: int) -> Tensor:
    """mvlgamma(Tensor self, int p) -> Tensor"""
    x = g.cast(self, torch.float64)
    total = g.const(p * (p - 1) / 4 * math.log(math.pi), torch.float64)
    for j in range(p):
        total = g.add(total, lgamma(g, g.sub(x, j / 2)))
    return g.cast(total, float_type(self))


def zeta(g: Builder, s: Any, q: Tensor) -> Tensor:
    """Hurwitz's zeta function of float64 tensors, s > 1: a sum of terms, and the Euler-Maclaurin rest."""
    if not isinstance(s, Tensor):
        s = g.const(s, torch.float64)
    places = g.add(g.unsqueeze(q, [-1]), g.const(np.arange(_ZETA_TERMS), torch.float64))
    terms = g.pow(places, g.neg(g.unsqueeze(s, [-1])))
    total = g.reduce("ReduceSum", terms, [-1])
    w = g.add(q, _ZETA_TERMS)
    last = g.pow(w, g.neg(s))
    total = g.add(total, g.mul(last, g.add(g.div(w, g.sub(s, 1)), 0.5)))
    factor = g.div(g.mul(last, s), w)
    for k, weight in enumerate(_BERNOULLI):
        total = g.add(total, g.mul(factor, weight))
        rising = g.mul(g.add(s, 2 * k + 1), g.add(s, 2 * k + 2))
        factor = g.div(g.mul(factor, rising), g.mul(w, w))
    total = g.where(g.equal(w, math.inf), 0, total)
    # too far below 0 the terms don't reach the positive numbers: better no number than a wrong one
    return g.where(g.less(q, 8.0 - _ZETA_TERMS), math.nan, total)


@lowering("aten::special_zeta")
def special_zeta(g: Builder, self: Any, other: Any) -> Tensor:
    """special_zeta(Tensor self, Tensor other) -> Tensor"""
    s, q = g.scalar(self, torch.float64), g.scalar(other, torch.float64)
    value = zeta(g, s, q)
    below = g.less_equal(q, 0)
    whole_q, whole_s = g.equal(q, g.floor(q)), g.equal(s, g.floor(s))
    value = g.where(g.and_(below, g.not_(whole_s)), math.nan, value)
    value = g.where(g.and_(below, whole_q), math.inf, value)
    value = g.where(g.less(s, 1), math.nan, value)
    return g.cast(g.where(g.equal(s, 1), math.inf, value), float_type(self, other))


@lowering("aten::polygamma", "aten::special_polygamma")
def polygamma(g: Builder, n: Any, self: Any) -> Tensor:
    """polygamma(int n, Tensor self) -> Tensor"""
    if isinstance(n, Tensor):  # polygamma_, which has them the other way round
        n, self = self, n
    if n < 0:
        raise LoweringError("polygamma is defined for orders from 0 on")
    x = g.cast(self, torch.float64)
    if n == 0:
        value = digamma(g, x)
    elif n == 1:
        left, y = _reflected(g, x)
        value = zeta(g, 2, y)
        sine = _sine_of_pi(g, x)
        value = g.where(left, g.sub(g.div(math.pi**2, g.mul(sine, sine)), value), value)
    else:
        value = g.where(g.and_(g.less_equal(x, 0), g.equal(x, g.floor(x))), math.inf, zeta(g, n + 1, x))
        value = g.mul(value, (-1.0) ** (n + 1) * math.factorial(n))
    return g.cast(value, float_type(self))


# -- the incomplete gamma functions ----------------------------------------------------------------


def _incomplete(g: Builder, a: Tensor, x: Tensor, upper: bool) -> Tensor:
    """P(a, x) or Q(a, x) of float64 tensors: a series up to x = a + 1, beyond a continued fraction.

    Either needs some ten times sqrt(a) terms where x is close to a.
    """
    plain = g.and_(g.and_(g.greater(a, 0), g.less(a, math.inf)), g.and_(g.greater(x, 0), g.less(x, math.inf)))
    a_, x_ = g.where(plain, a, 1), g.where(plain, x, 1)
    below = g.less(x_, g.add(a_, 1))
    largest = g.reduce("ReduceMax", g.concat([g.reshape(a_, [a_.numel]), g.const([1.0], torch.float64)], 0))
    count = g.int_of(g.cast(g.add(g.mul(g.sqrt(largest), 10), 60), torch.int64), "terms", minimum=0)
    shape = broadcast_shapes(a.shape, x.shape)
    small, large = (g.expand(v, shape) for v in (g.where(below, x_, 0), g.where(below, g.add(a_, 2), x_)))
    one = g.full(shape, 1, torch.float64)

    def step(i: Tensor, term: Tensor, total: Tensor, c: Tensor, d: Tensor, h: Tensor) -> list[Tensor]:
        n = g.add(g.cast(i, torch.float64), 1)
        term = g.div(g.mul(term, small), g.add(a_, n))
        b = g.add(g.sub(large, a_), g.add(g.mul(n, 2), 1))  # Lentz's algorithm, term n
        numerator = g.mul(n, g.sub(a_, n))
        d = g.op("Reciprocal", g.add(g.mul(numerator, d), b))
        c = g.add(b, g.div(numerator, c))
        return [term, g.add(total, term), c, d, g.mul(h, g.mul(c, d))]

    first = g.add(g.sub(large, a_), 1)
    start = g.op("Reciprocal", first)
    _, total, _, _, fraction = loop(g, count, [one, one, g.full(shape, 1e300, torch.float64), start, start], step)
    weight = g.exp(g.sub(g.sub(g.mul(a_, g.log(x_)), x_), lgamma(g, a_)))
    lower, rest = g.div(g.mul(weight, total), a_), g.mul(weight, fraction)
    value = g.where(below, g.sub(1, lower), rest) if upper else g.where(below, lower, g.sub(1, rest))
    return g.where(plain, value, _incomplete_limit(g, a, x, upper))


def _incomplete_limit(g: Builder, a: Tensor, x: Tensor, upper: bool) -> Tensor:
    """Where a or x is 0 or infinite; outside of the domain no number."""
    none, all_ = (1, 0) if upper else (0, 1)
    nan = g.const(math.nan, torch.float64)
    value = g.where(g.equal(x, math.inf), float(all_), nan)
    value = g.where(g.equal(a, math.inf), g.where(g.equal(x, math.inf), nan, float(none)), value)
    value = g.where(g.equal(x, 0), float(none), value)
    value = g.where(g.equal(a, 0), g.where(g.greater(x, 0), float(all_), nan), value)
    return g.where(g.or_(g.less(a, 0), g.less(x, 0)), nan, value)


def _register_incomplete(upper: bool, *names: str) -> None:
    @lowering(*[f"aten::{name}" for name in names])
    def lower(g: Builder, self: Tensor, other: Tensor) -> Tensor:
        """igamma(Tensor self, Tensor other) -> Tensor"""
        a, x = (g.cast(v, torch.float64) for v in (self, other))
        return g.cast(_incomplete(g, a, x, upper), float_type(self, other))


_register_incomplete(False, "igamma", "special_gammainc")
_register_incomplete(True, "igammac", "special_gammaincc")


# -- inverses of the error function and the normal distribution -----------------------------------


def _inverse_over_y(w: torch.Tensor) -> torch.Tensor:
    """erfinv(y) / y, where w = -log((1 - y) * (1 + y)); from the lower tail, which has all its digits."""
    product = torch.exp(-w) / 4
    p = product / (0.5 + torch.sqrt(0.25 - product))
    ratio: torch.Tensor = -torch.special.ndtri(p) / math.sqrt(2) / (1 - 2 * p)
    return ratio


_INVERSE = (
    Fit(lambda w: torch.erfinv(torch.sqrt(-torch.expm1(-w))) / torch.sqrt(-torch.expm1(-w)), 0, 5, 20),
    Fit(lambda s: _inverse_over_y(s * s), math.sqrt(5), 6, 24),
    Fit(lambda s: _inverse_over_y(s * s), 6, 26.6, 24),
)


def _inverse(g: Builder, y: Tensor, product: Tensor) -> Tensor:
    """erfinv(y), where product = (1 - y) * (1 + y)."""
    w = g.neg(g.log(product))
    root = g.sqrt(g.relu(w))
    ratio = g.where(
        g.less(w, 5), _INVERSE[0](g, w), g.where(g.less(root, 6), _INVERSE[1](g, root), _INVERSE[2](g, root))
    )
    return g.where(g.equal(product, 0), g.mul(y, math.inf), g.mul(y, ratio))


@precise("erfinv", "special_erfinv")
def erfinv(g: Builder, y: Tensor) -> Tensor:
    return _inverse(g, y, g.mul(g.sub(1, y), g.add(y, 1)))


@precise("special_ndtri")
def ndtri(g: Builder, p: Tensor) -> Tensor:
    y = g.sub(g.mul(p, 2), 1)
    return g.mul(_inverse(g, y, g.mul(g.mul(p, g.sub(1, p)), 4)), math.sqrt(2))


@precise("special_ndtr")
def ndtr(g: Builder, x: Tensor) -> Tensor:
    return g.mul(g.erfc(g.mul(x, -math.sqrt(0.5))), 0.5)


@precise("special_log_ndtr")
def log_ndtr(g: Builder, x: Tensor) -> Tensor:
    t = g.mul(x, math.sqrt(0.5))
    low = g.sub(g.log(g.mul(g.erfcx(g.neg(g.extremum("Min", t, 0.0))), 0.5)), g.mul(t, t))
    high = g.log1p(g.mul(g.erfc(t), -0.5))
    return g.where(g.less(x, -1), low, high)
