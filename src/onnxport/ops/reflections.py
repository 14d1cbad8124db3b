"""Orthogonal matrices as products of reflections, as LAPACK keeps them; least squares; the exponential of a matrix."""

from __future__ import annotations

import math
from typing import Any

import torch

from ..dims import Size, product
from ..dtypes import real_of
from ..errors import LoweringError
from ..lower.builder import Builder
from ..lower.complex import adjoint, both, conjugate, squares
from ..lower.recurrence import loop
from ..lower.registry import lowering
from ..lower.values import Tensor, Unclear
from .linalg import LIMIT, span
from .spectral import linalg_matrix_rank_tolerances, of_real_form, pseudo_inverse, real_form, singular_values

# 1/k! of the series for matrices of a norm up to 1: the next term is below the accuracy of float64
_TERMS = 18


def _batch(g: Builder, x: Tensor, axes: int) -> Tensor:
    """All axes before the last `axes` as one."""
    lead = x.rank - axes
    return g.reshape(x, [product(x.shape[:lead]), *x.shape[lead:]])


def _count(tau: Tensor) -> int:
    count = tau.shape[-1]
    if not isinstance(count, int) or count > LIMIT:
        raise LoweringError(f"a product of {count} reflections: their number must be known at export, at most {LIMIT}")
    return count


def _reflected(g: Builder, x: Tensor, a: Tensor, tau: Tensor, k: int, *, back: bool = False) -> Tensor:
    """(I - tau v v') x, or its adjoint, for reflection k: v is 1 at row k, and what column k of a has below."""
    rows = g.unsqueeze(g.range(0, a.shape[1]), [1])
    column = span(g, a, 2, k, k + 1)
    v = g.where(g.less(rows, k), 0, g.where(g.equal(rows, k), 1, column))
    scale = g.unsqueeze(span(g, tau, 1, k, k + 1), [2])
    scale = conjugate(g, scale) if back else scale
    return g.sub(x, g.mul(g.mul(v, scale), g.matmul(adjoint(g, v), x)))


@lowering("aten::linalg_householder_product", "aten::orgqr")
def householder_product(g: Builder, input: Tensor, tau: Tensor) -> Tensor:
    """linalg_householder_product(Tensor input, Tensor tau) -> Tensor"""
    a, t = _batch(g, input, 2), _batch(g, tau, 1)
    identity = g.equal(g.unsqueeze(g.range(0, input.shape[-2]), [1]), g.range(0, input.shape[-1]))
    result = g.expand(g.cast(identity, input.dtype), a.shape)
    for k in reversed(range(_count(tau))):
        result = _reflected(g, result, a, t, k)
    return g.reshape(result, input.shape)


@lowering("aten::ormqr")
def ormqr(g: Builder, self: Tensor, tau: Tensor, other: Tensor, left: bool = True, transpose: bool = False) -> Tensor:
    """ormqr(Tensor self, Tensor input2, Tensor input3, bool left=True, bool transpose=False) -> Tensor"""
    if not left:
        return adjoint(g, ormqr(g, self, tau, adjoint(g, other), True, not transpose))
    a, t, x = _batch(g, self, 2), _batch(g, tau, 1), _batch(g, other, 2)
    order = range(_count(tau))
    for k in order if transpose else reversed(order):
        x = _reflected(g, x, a, t, k, back=transpose)
    return g.reshape(x, other.shape)


@lowering("aten::geqrf")
def geqrf(g: Builder, self: Tensor) -> tuple[Tensor, Tensor]:
    """geqrf(Tensor self) -> (Tensor a, Tensor tau)"""
    if self.is_complex:
        g.require(11, "the QR decomposition of complex numbers")
    rows, columns = self.shape[-2:]
    if not isinstance(rows, int) or not isinstance(columns, int) or min(rows, columns) > LIMIT:
        raise LoweringError(f"geqrf of {rows} x {columns}: sizes must be known at export, the smaller at most {LIMIT}")
    a = _batch(g, self, 2)
    scales = []
    places, across = g.unsqueeze(g.range(0, rows), [1]), g.range(0, columns)
    for k in range(min(rows, columns)):
        column = span(g, a, 2, k, k + 1)
        corner = span(g, column, 1, k, k + 1)
        below = g.less(g.const(k, torch.int64), places)
        rest = g.where(below, column, 0)
        length = g.reduce("ReduceSum", squares(g, rest), [1], keepdims=True)
        real = both(g, corner)[0]
        clear = g.and_(g.equal(length, 0), g.equal(corner, real)) if self.is_complex else g.equal(length, 0)
        size = g.sqrt(g.add(squares(g, corner), length))
        left = g.where(clear, real, g.where(g.less(real, 0), size, g.neg(size)))
        tau = g.where(clear, 0, g.div(g.sub(left, corner), left))
        vector = g.where(below, g.div(column, g.where(clear, 1, g.sub(corner, left))), 0)
        v = g.where(g.equal(places, k), 1, vector)
        turned = g.sub(a, g.mul(g.mul(v, conjugate(g, tau)), g.matmul(adjoint(g, v), a)))
        stored = g.where(below, vector, g.where(g.equal(places, k), left, column))
        behind = g.less(g.const(k, torch.int64), across)
        a = g.where(g.equal(across, k), stored, g.where(behind, turned, a))
        scales.append(g.squeeze(tau, [2]))
    tau = g.concat(scales, 1) if scales else g.full([a.shape[0], 0], 0, self.dtype)
    return g.reshape(a, self.shape), g.reshape(tau, [*self.shape[:-2], len(scales)])


# -- least squares ----------------------------------------------------------------------------------


@lowering("aten::linalg_lstsq")
def linalg_lstsq(g: Builder, self: Tensor, b: Tensor, rcond: float | None = None, driver: str | None = None) -> Any:
    """linalg_lstsq(Tensor self, Tensor b, float? rcond=None, *, str? driver=None)
    -> (Tensor solution, Tensor residuals, Tensor rank, Tensor singular_values)"""
    vector = b.rank == 1 or b.rank == self.rank - 1
    right = g.unsqueeze(b, [-1]) if vector else b
    solution = g.matmul(pseudo_inverse(g, self, None, rcond), right)
    name = driver or "gelsy"
    rows, columns = self.shape[-2:]
    kind = real_of(self.dtype)
    residuals: Any = g.full([0], 0, kind)
    if name != "gelsy" and not (isinstance(rows, int) and isinstance(columns, int) and rows <= columns):
        difference = g.sub(g.matmul(self, solution), right)
        residuals = g.reduce("ReduceSum", squares(g, difference), [difference.rank - 2])
        if name != "gels":
            residuals = Unclear(
                "whether there are residuals depends on the rank; take driver='gels', or sum them yourself"
            )
    rank = g.full([0], 0, torch.int64) if name == "gels" else linalg_matrix_rank_tolerances(g, self, None, rcond)
    has_values = name in ("gelsd", "gelss")
    values = g.cast(singular_values(g, self), kind) if has_values else g.full([0], 0, kind)
    return g.squeeze(solution, [-1]) if vector else solution, residuals, rank, values


# -- the exponential --------------------------------------------------------------------------------


@lowering("aten::matrix_exp", "aten::linalg_matrix_exp")
def matrix_exp(g: Builder, self: Tensor) -> Tensor:
    """matrix_exp(Tensor self) -> Tensor

    Of the matrix halved until its norm is at most 1, by the series; squared as often.
    """
    if self.is_complex:
        return of_real_form(g, matrix_exp(g, real_form(g, self)))
    a = g.cast(_batch(g, self, 2), torch.float64)
    size: Size = a.shape[1]
    if size == 0:
        return self
    sums = g.reduce("ReduceSum", g.abs(a), [2])
    norm = g.reduce("ReduceMax", sums, [1])
    halvings = g.div(g.log(g.clip(norm, 1.0, 1e300)), math.log(2))
    halvings = g.cast(g.ceil(g.where(g.isnan(halvings), 0, halvings)), torch.int64)
    scale = g.pow(g.const(2, torch.float64), g.cast(halvings, torch.float64))
    scaled = g.div(a, g.unsqueeze(scale, [1, 2]))
    identity = g.cast(g.equal(g.unsqueeze(g.range(0, size), [1]), g.range(0, size)), torch.float64)
    total = g.add(g.div(scaled, _TERMS), identity)
    for k in range(_TERMS - 1, 0, -1):  # Horner: 1 + a (1 + a/2 (1 + a/3 ...))
        total = g.add(g.div(g.matmul(scaled, total), k), identity)
    counts = g.concat([halvings, g.ints([0])], 0)
    steps = g.int_of(g.reduce("ReduceMax", counts), "squarings", minimum=0)

    def square(i: Tensor, x: Tensor) -> list[Tensor]:
        return [g.where(g.less(i, g.unsqueeze(halvings, [1, 2])), g.matmul(x, x), x)]

    return g.cast(g.reshape(loop(g, steps, [total], square)[0], self.shape), self.dtype)
