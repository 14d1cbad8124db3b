"""Factorizations and solutions of small matrices of known size, by the textbook recurrences.

ONNX has `Det` and nothing else of linear algebra. A recurrence is unrolled: the graph grows with the size of
the matrix, which is why the size must be known and at most `LIMIT`. What has no finite formula is in
`spectral`. Where PyTorch raises, for a matrix that is singular or not
positive definite, the model gives infinities or NaN.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ..dims import Size, broadcast, known_eq, product
from ..dtypes import real_of
from ..errors import LoweringError
from ..lower.builder import Builder
from ..lower.complex import adjoint as adjoint_of
from ..lower.complex import both, conjugate, squares
from ..lower.registry import lowering
from ..lower.values import Tensor
from .reduction import linalg_matrix_norm
from .spectral import singular_values

LIMIT = 32


def _order(x: Tensor) -> tuple[int, int]:
    """Rows and columns, which must be known and few."""
    rows, columns = x.shape[-2:]
    if not (isinstance(rows, int) and isinstance(columns, int)):
        raise LoweringError("the size of the matrix must be known at export; make its last two axes static")
    if max(rows, columns) > LIMIT:
        raise LoweringError(
            f"a matrix of {rows} x {columns} is too large to unroll (limit {LIMIT}); compute it outside"
        )
    return rows, columns


def _as_batch(g: Builder, x: Tensor) -> Tensor:
    """All axes before the last two as one."""
    return g.reshape(x, [product(x.shape[:-2]), *x.shape[-2:]])


def span(g: Builder, x: Tensor, axis: int, start: int, end: int) -> Tensor:
    """x[..., start:end, ...]"""
    return g.slice(x, [start], [end], [axis])


def _transposed(g: Builder, x: Tensor) -> Tensor:
    return g.swap(x, x.rank - 2, x.rank - 1)


def _eye(g: Builder, n: int, dtype: torch.dtype) -> Tensor:
    return _eye_of(g, n, n, dtype)


def _triangle(g: Builder, x: Tensor, *, upper: bool, diagonal: int = 0) -> Tensor:
    """x with zeros below (above) a diagonal."""
    rows, columns = g.unsqueeze(g.range(0, x.shape[-2]), [1]), g.range(0, x.shape[-1])
    shifted = g.add(rows, diagonal)
    kept = g.less_equal(shifted, columns) if upper else g.less_equal(columns, shifted)
    return g.where(kept, x, 0)


# -- LU ---------------------------------------------------------------------------------------------


def _swapped(g: Builder, order: Tensor, k: int, pivot: Tensor) -> Tensor:
    """Where row k and row `pivot` (for each batch) of a sequence of rows come from when they change places."""
    rows = g.range(0, order.shape[1])
    swap = g.where(g.equal(rows, k), pivot, g.where(g.equal(rows, pivot), k, rows))
    return g.gather_elements(order, swap, 1)


def _rows(g: Builder, x: Tensor, order: Tensor) -> Tensor:
    """The rows of each matrix in this order."""
    if known_eq(x.shape[2], 0):  # onnxruntime 1.32 takes an Expand to nothing for one that changes nothing
        return x
    return g.gather_elements(x, g.expand(g.unsqueeze(order, [2]), x.shape), 1)


def _magnitude(g: Builder, x: Tensor) -> Tensor:
    """By what LAPACK chooses pivots: of complex numbers, the sum of the sizes of both parts."""
    return g.add(*[g.abs(part) for part in both(g, x)]) if x.is_complex else g.abs(x)


def _factorized(g: Builder, a: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """LU with partial pivoting of `[batch, n, m]`: both triangles in one, the order of rows, and the pivots."""
    n, m = _order(a)
    rows, columns = g.range(0, n), g.range(0, m)
    start = g.expand(g.unsqueeze(rows, [0]), [a.shape[0], n])
    order, pivots = start, []
    for k in range(min(n, m)):
        column = _magnitude(g, span(g, span(g, a, 2, k, k + 1), 1, k, n))
        pivot = g.add(g.squeeze(g.op("ArgMax", column, axis=1, keepdims=1), [2]), k)
        pivots.append(pivot)
        a = _rows(g, a, _swapped(g, start, k, pivot))
        order = _swapped(g, order, k, pivot)
        corner, row = span(g, span(g, a, 2, k, k + 1), 1, k, k + 1), span(g, a, 1, k, k + 1)
        below = g.and_(g.less(g.const(k, torch.int64), g.unsqueeze(rows, [1])), g.not_(g.equal(corner, 0)))
        factor = g.where(below, g.div(span(g, a, 2, k, k + 1), corner), 0)
        behind = g.where(g.less(g.const(k, torch.int64), columns), row, 0)
        stored = g.and_(below, g.equal(columns, k))
        a = g.where(stored, factor, g.sub(a, g.mul(factor, behind)))
    none = g.full([a.shape[0], 0], 0, torch.int64)
    return a, order, g.concat(pivots, 1) if pivots else none


def _diagonal(g: Builder, x: Tensor) -> Tensor:
    """The diagonal of `[batch, n, n]`."""
    n, _ = _order(x)
    flat = g.reshape(x, [x.shape[0], n * n])
    return g.gather(flat, g.mul(g.range(0, n), n + 1), 1)


def _signs(g: Builder, pivots: Tensor, dtype: torch.dtype) -> Tensor:
    """-1 for each exchange of two rows."""
    moved = g.not_(g.equal(pivots, g.range(0, pivots.shape[1])))
    return g.where(moved, g.const(-1, dtype), g.const(1, dtype))


@lowering("aten::det", "aten::linalg_det")
def det(g: Builder, self: Tensor) -> Tensor:
    """det(Tensor self) -> Tensor"""
    if self.dtype == torch.float32 and g.opset >= 11:
        return g.op("Det", self)
    factors, _, pivots = _factorized(g, _as_batch(g, self))
    values = g.mul(_diagonal(g, factors), _signs(g, pivots, real_of(self.dtype)))
    return g.reshape(g.reduce("ReduceProd", values, [1]), self.shape[:-2])


@lowering("aten::slogdet", "aten::linalg_slogdet")
def slogdet(g: Builder, self: Tensor) -> tuple[Tensor, Tensor]:
    """slogdet(Tensor self) -> (Tensor sign, Tensor logabsdet)"""
    factors, _, pivots = _factorized(g, _as_batch(g, self))
    values = _diagonal(g, factors)
    sign = g.reduce("ReduceProd", g.mul(g.sign(values), _signs(g, pivots, real_of(self.dtype))), [1])
    size = g.reduce("ReduceSum", g.op("Log", g.op("Abs", values)), [1])
    return g.reshape(sign, self.shape[:-2]), g.reshape(size, self.shape[:-2])


@lowering("aten::logdet")
def logdet(g: Builder, self: Tensor) -> Tensor:
    """logdet(Tensor self) -> Tensor"""
    sign, size = slogdet(g, self)
    if self.is_complex:
        return g.add(g.log(sign), size)
    return g.where(g.equal(sign, -1), g.const(float("nan"), self.dtype), size)


@lowering("aten::linalg_lu_factor_ex")
def lu_factor_ex(
    g: Builder, A: Tensor, pivot: bool = True, check_errors: bool = False
) -> tuple[Tensor, Tensor, Tensor]:
    """linalg_lu_factor_ex(Tensor A, *, bool pivot=True, bool check_errors=False)
    -> (Tensor LU, Tensor pivots, Tensor info)"""
    factors, _, pivots = _factorized(g, _as_batch(g, A))
    lead = A.shape[:-2]
    counted = g.cast(g.add(pivots, 1), torch.int32)  # LAPACK counts from one
    return g.reshape(factors, A.shape), g.reshape(counted, [*lead, pivots.shape[1]]), _info(g, factors, lead)


def _info(g: Builder, factors: Tensor, lead: tuple[Size, ...]) -> Tensor:
    """LAPACK's report for each matrix: 0, or the first place on the diagonal, from one, that isn't a pivot."""
    n = min(_order(factors))
    if not n:
        return g.full(lead, 0, torch.int32)
    diagonal = _diagonal(g, span(g, span(g, factors, 1, 0, n), 2, 0, n))
    good = g.and_(g.not_(g.equal(diagonal, 0)), g.equal(diagonal, diagonal))
    places = g.where(good, n + 1, g.range(1, n + 1))
    first = g.reduce("ReduceMin", places, [1])
    return g.reshape(g.cast(g.where(g.equal(first, n + 1), 0, first), torch.int32), lead)


@lowering("aten::_lu_with_info")
def lu_with_info(
    g: Builder, self: Tensor, pivot: bool = True, check_errors: bool = True
) -> tuple[Tensor, Tensor, Tensor]:
    """_lu_with_info(Tensor self, bool pivot=True, bool check_errors=True) -> (Tensor LU, Tensor pivots, Tensor info)"""
    return lu_factor_ex(g, self, pivot)


@lowering("aten::linalg_lu_factor")
def lu_factor(g: Builder, A: Tensor, pivot: bool = True) -> tuple[Tensor, Tensor]:
    """linalg_lu_factor(Tensor A, *, bool pivot=True) -> (Tensor LU, Tensor pivots)"""
    return lu_factor_ex(g, A, pivot)[:2]


@lowering("aten::linalg_lu")
def linalg_lu(g: Builder, A: Tensor, pivot: bool = True) -> tuple[Tensor, Tensor, Tensor]:
    """linalg_lu(Tensor A, *, bool pivot=True) -> (Tensor P, Tensor L, Tensor U)"""
    factors, order, _ = _factorized(g, _as_batch(g, A))
    return _unpacked(g, factors, order, A)


@lowering("aten::lu_unpack")
def lu_unpack(
    g: Builder, LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True
) -> tuple[Tensor, Tensor, Tensor]:
    """lu_unpack(Tensor LU_data, Tensor LU_pivots, bool unpack_data=True, bool unpack_pivots=True)
    -> (Tensor P, Tensor L, Tensor U)"""
    factors = _as_batch(g, LU_data)
    results = list(_unpacked(g, factors, _order_of(g, LU_pivots, LU_data), LU_data))
    empty = g.full([0], 0, LU_data.dtype)
    if not unpack_pivots:
        results[0] = empty
    if not unpack_data:
        results[1] = results[2] = empty
    return results[0], results[1], results[2]


def _order_of(g: Builder, pivots: Tensor, factors: Tensor) -> Tensor:
    """The order of rows that LAPACK's pivots lead to."""
    n, _ = _order(factors)
    count = pivots.shape[-1]
    assert isinstance(count, int)
    flat = g.cast(g.reshape(pivots, [product(pivots.shape[:-1]), count]), torch.int64)
    order = g.expand(g.unsqueeze(g.range(0, n), [0]), [flat.shape[0], n])
    for k in range(count):
        order = _swapped(g, order, k, g.sub(span(g, flat, 1, k, k + 1), 1))
    return order


def _unpacked(g: Builder, factors: Tensor, order: Tensor, like: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    n, m = _order(factors)
    lead, k = list(like.shape[:-2]), min(n, m)
    permutation = g.cast(g.equal(g.unsqueeze(g.range(0, n), [1]), g.unsqueeze(order, [1])), like.dtype)
    lower = g.add(_triangle(g, span(g, factors, 2, 0, k), upper=False, diagonal=-1), _eye_of(g, n, k, like.dtype))
    upper = _triangle(g, span(g, factors, 1, 0, k), upper=True)
    return g.reshape(permutation, [*lead, n, n]), g.reshape(lower, [*lead, n, k]), g.reshape(upper, [*lead, k, m])


def _eye_of(g: Builder, rows: int, columns: int, dtype: torch.dtype) -> Tensor:
    return g.cast(g.equal(g.unsqueeze(g.range(0, rows), [1]), g.range(0, columns)), dtype)


# -- solutions --------------------------------------------------------------------------------------


def _solved(g: Builder, a: Tensor, b: Tensor, *, upper: bool, unit: bool = False) -> Tensor:
    """Triangular `a @ x = b` row by row; a is `[batch, n, n]`, b is `[batch, n, k]`."""
    if isinstance(a.shape[1], int) and a.shape[1] > LIMIT:
        return g.matmul(_inverse_by_blocks(g, a, a.shape[1], upper=upper, unit=unit), b)
    n, _ = _order(a)
    found: dict[int, Tensor] = {}
    for k in reversed(range(n)) if upper else range(n):
        right = span(g, b, 1, k, k + 1)
        row = span(g, a, 1, k, k + 1)
        if found:
            known = g.concat([found[i] for i in sorted(found)], 1)
            part = span(g, row, 2, k + 1, n) if upper else span(g, row, 2, 0, k)
            right = g.sub(right, g.matmul(part, known))
        found[k] = right if unit else g.div(right, span(g, row, 2, k, k + 1))
    return g.concat([found[i] for i in range(n)], 1) if n else b


def _inverse_by_blocks(g: Builder, a: Tensor, n: int, *, upper: bool, unit: bool) -> Tensor:
    """The inverse of a large triangular matrix: of its diagonal, of blocks of 2 on it, of 4, and so on.

    [[A, 0], [C, B]]^-1 = [[A^-1, 0], [-B^-1 C A^-1, B^-1]], for all blocks of a size at once.
    """
    eye = np.eye(n)
    result = g.const(eye, a.dtype)
    if not unit:
        result = g.div(result, g.where(g.const(eye == 1, torch.bool), a, 1))
    place = np.arange(n)
    size = 1
    while size < n:
        block = place // size
        below = (block[:, None] == block[None, :] + 1) & (block[:, None] % 2 == 1)
        corner = g.where(g.const(below.T if upper else below, torch.bool), a, 0)
        result = g.sub(result, g.matmul(g.matmul(result, corner), result))
        size *= 2
    return result


def _matched(g: Builder, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor, list[Size]]:
    """Both with one common batch axis, and the axes that it stands for."""
    rank = max(a.rank, b.rank)
    pairs = zip([1] * (rank - a.rank) + list(a.shape[:-2]), [1] * (rank - b.rank) + list(b.shape[:-2]))
    lead = [broadcast(m, n) for m, n in pairs]
    return (
        _as_batch(g, g.expand(a, [*lead, *a.shape[-2:]])),
        _as_batch(g, g.expand(b, [*lead, *b.shape[-2:]])),
        lead,
    )


@lowering("aten::linalg_solve")
def linalg_solve(g: Builder, A: Tensor, B: Tensor, left: bool = True) -> Tensor:
    """linalg_solve(Tensor A, Tensor B, *, bool left=True) -> Tensor"""
    is_vector = B.rank == 1 or (B.rank == A.rank - 1 and all(known_eq(m, n) for m, n in zip(B.shape, A.shape[:-1])))
    if is_vector:
        return g.squeeze(linalg_solve(g, A, g.unsqueeze(B, [-1]), left), [-1])
    if not left:
        return _transposed(g, linalg_solve(g, _transposed(g, A), _transposed(g, B)))
    a, b, lead = _matched(g, A, B)
    factors, order, _ = _factorized(g, a)
    x = _solved(g, factors, _rows(g, b, order), upper=False, unit=True)
    return g.reshape(_solved(g, factors, x, upper=True), [*lead, *b.shape[-2:]])


@lowering("aten::linalg_solve_ex")
def linalg_solve_ex(
    g: Builder, A: Tensor, B: Tensor, left: bool = True, check_errors: bool = False
) -> tuple[Tensor, Tensor]:
    """linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False)
    -> (Tensor result, Tensor info)"""
    return linalg_solve(g, A, B, left), lu_factor_ex(g, A)[2]


@lowering("aten::inverse", "aten::linalg_inv")
def inverse(g: Builder, self: Tensor) -> Tensor:
    """inverse(Tensor self) -> Tensor"""
    n, _ = _order(self)
    return linalg_solve(g, self, g.expand(_eye(g, n, self.dtype), self.shape))


@lowering("aten::linalg_inv_ex")
def linalg_inv_ex(g: Builder, A: Tensor, check_errors: bool = False) -> tuple[Tensor, Tensor]:
    """linalg_inv_ex(Tensor A, *, bool check_errors=False) -> (Tensor inverse, Tensor info)"""
    return inverse(g, A), lu_factor_ex(g, A)[2]


@lowering("aten::linalg_lu_solve")
def linalg_lu_solve(
    g: Builder, LU: Tensor, pivots: Tensor, B: Tensor, left: bool = True, adjoint: bool = False
) -> Tensor:
    """linalg_lu_solve(Tensor LU, Tensor pivots, Tensor B, *, bool left=True, bool adjoint=False) -> Tensor"""
    if not left:  # x A = b is A' x' = b'
        return adjoint_of(g, linalg_lu_solve(g, LU, pivots, adjoint_of(g, B), adjoint=not adjoint))
    a, b, lead = _matched(g, LU, B)
    order = _order_of(g, g.expand(pivots, [*lead, pivots.shape[-1]]), LU)
    if not adjoint:
        x = _solved(g, a, _rows(g, b, order), upper=False, unit=True)
        return g.reshape(_solved(g, a, x, upper=True), [*lead, *b.shape[-2:]])
    turned = adjoint_of(g, a)
    x = _solved(g, turned, _solved(g, turned, b, upper=False), upper=True, unit=True)
    n, _ = _order(LU)
    inverse_order = g.op("ArgMax", g.cast(g.equal(g.unsqueeze(order, [1]), g.unsqueeze(g.range(0, n), [1])), torch.int32),
                         axis=2, keepdims=0)  # fmt: skip
    return g.reshape(_rows(g, x, inverse_order), [*lead, *b.shape[-2:]])


@lowering("aten::lu_solve")
def lu_solve(g: Builder, self: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
    """lu_solve(Tensor self, Tensor LU_data, Tensor LU_pivots) -> Tensor"""
    return linalg_lu_solve(g, LU_data, LU_pivots, self)


@lowering("aten::linalg_solve_triangular")
def linalg_solve_triangular(
    g: Builder, self: Tensor, B: Tensor, upper: bool, left: bool = True, unitriangular: bool = False
) -> Tensor:
    """linalg_solve_triangular(Tensor self, Tensor B, *, bool upper, bool left=True, bool unitriangular=False)
    -> Tensor"""
    if not left:
        turned = linalg_solve_triangular(g, _transposed(g, self), _transposed(g, B), not upper, True, unitriangular)
        return _transposed(g, turned)
    a, b, lead = _matched(g, self, g.cast(B, self.dtype))
    return g.reshape(_solved(g, a, b, upper=upper, unit=unitriangular), [*lead, *b.shape[-2:]])


@lowering("aten::triangular_solve")
def triangular_solve(
    g: Builder, self: Tensor, A: Tensor, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> tuple[Tensor, Tensor]:
    """triangular_solve(Tensor self, Tensor A, bool upper=True, bool transpose=False, bool unitriangular=False)
    -> (Tensor solution, Tensor cloned_coefficient)"""
    a = _transposed(g, A) if transpose else A
    _, _, lead = _matched(g, A, self)
    solution = linalg_solve_triangular(g, a, self, upper != transpose, True, unitriangular)
    return solution, g.expand(A, [*lead, *A.shape[-2:]])


# The forms with what the backward pass needs.


@lowering("aten::_linalg_det")
def linalg_det_with_factors(g: Builder, A: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """_linalg_det(Tensor A) -> (Tensor result, Tensor LU, Tensor pivots)"""
    return det(g, A), *lu_factor(g, A)


@lowering("aten::_linalg_slogdet")
def linalg_slogdet_with_factors(g: Builder, A: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """_linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet, Tensor LU, Tensor pivots)"""
    return *slogdet(g, A), *lu_factor(g, A)


@lowering("aten::_linalg_solve_ex")
def linalg_solve_with_factors(
    g: Builder, A: Tensor, B: Tensor, left: bool = True, check_errors: bool = False
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """_linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False)
    -> (Tensor result, Tensor LU, Tensor pivots, Tensor info)"""
    return linalg_solve(g, A, B, left), *lu_factor_ex(g, A)


# -- Cholesky ---------------------------------------------------------------------------------------


def _cholesky(g: Builder, a: Tensor) -> Tensor:
    """The lower factor of `[batch, n, n]`, column by column, from the lower triangle alone."""
    n, _ = _order(a)
    rows = g.unsqueeze(g.range(0, n), [1])
    columns: list[Tensor] = []
    for k in range(n):
        column = span(g, a, 2, k, k + 1)
        if columns:
            done = g.concat(columns, 2)
            column = g.sub(column, g.matmul(done, adjoint_of(g, span(g, done, 1, k, k + 1))))
        root = g.op("Sqrt", both(g, span(g, column, 1, k, k + 1))[0])
        columns.append(g.where(g.less(rows, k), 0, g.div(column, root)))
    return g.concat(columns, 2) if n else a


@lowering("aten::cholesky", "aten::linalg_cholesky")
def cholesky(g: Builder, self: Tensor, upper: bool = False) -> Tensor:
    """cholesky(Tensor self, bool upper=False) -> Tensor"""
    a = _as_batch(g, self)
    factor = adjoint_of(g, _cholesky(g, adjoint_of(g, a))) if upper else _cholesky(g, a)
    return g.reshape(factor, self.shape)


@lowering("aten::linalg_cholesky_ex")
def cholesky_ex(g: Builder, self: Tensor, upper: bool = False, check_errors: bool = False) -> tuple[Tensor, Tensor]:
    """linalg_cholesky_ex(Tensor self, *, bool upper=False, bool check_errors=False) -> (Tensor L, Tensor info)"""
    factor = cholesky(g, self, upper)
    return factor, _info(g, _as_batch(g, factor), self.shape[:-2])


@lowering("aten::cholesky_solve")
def cholesky_solve(g: Builder, self: Tensor, input2: Tensor, upper: bool = False) -> Tensor:
    """cholesky_solve(Tensor self, Tensor input2, bool upper=False) -> Tensor"""
    lower = adjoint_of(g, input2) if upper else input2
    half = linalg_solve_triangular(g, lower, self, upper=False)
    return linalg_solve_triangular(g, adjoint_of(g, lower), half, upper=True)


@lowering("aten::cholesky_inverse")
def cholesky_inverse(g: Builder, self: Tensor, upper: bool = False) -> Tensor:
    """cholesky_inverse(Tensor self, bool upper=False) -> Tensor"""
    n, _ = _order(self)
    return cholesky_solve(g, g.expand(_eye(g, n, self.dtype), self.shape), self, upper)


# -- QR ---------------------------------------------------------------------------------------------


@lowering("aten::linalg_qr")
def linalg_qr(g: Builder, A: Tensor, mode: str = "reduced") -> tuple[Tensor, Tensor]:
    """linalg_qr(Tensor A, str mode='reduced') -> (Tensor Q, Tensor R)"""
    if A.is_complex:
        g.require(11, "the QR decomposition of complex numbers")
    n, m = _order(A)
    lead = list(A.shape[:-2])
    r = _as_batch(g, A)
    q = g.expand(_eye_of(g, n, n, A.dtype), [r.shape[0], n, n])
    for k in range(min(n if A.is_complex else n - 1, m)):  # the last row has nothing below, but may be turned
        direction, factor = _reflector(g, span(g, r, 2, k, k + 1), k)
        turned = adjoint_of(g, direction)
        r = g.sub(r, g.mul(g.mul(direction, factor), g.matmul(turned, r)))
        q = g.sub(q, g.matmul(q, g.mul(g.mul(direction, conjugate(g, factor)), turned)))
    size = n if mode == "complete" else min(n, m)
    r = g.reshape(_triangle(g, span(g, r, 1, 0, size), upper=True), [*lead, size, m])
    if mode == "r":
        return g.full([0], 0, A.dtype), r
    return g.reshape(span(g, q, 2, 0, size), [*lead, n, size]), r


def _reflector(g: Builder, column: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """v and t of the reflection I - t v v' that clears a column below row k; t is 0 where it is clear already.

    With LAPACK's signs: the entry left in row k is real, and of the sign opposite to that of the real part.
    """
    rows = g.unsqueeze(g.range(0, column.shape[1]), [1])
    below = g.where(g.less(g.const(k, torch.int64), rows), column, 0)
    corner = span(g, column, 1, k, k + 1)
    rest = g.reduce("ReduceSum", squares(g, below), [1], keepdims=True)
    clear = g.and_(g.equal(rest, 0), g.equal(corner, both(g, corner)[0])) if column.is_complex else g.equal(rest, 0)
    length = g.op("Sqrt", g.add(squares(g, corner), rest))
    left = g.where(g.less(both(g, corner)[0], 0), length, g.neg(length))
    head = g.sub(corner, left)
    direction = g.where(g.equal(rows, k), head, below)
    along = g.add(g.mul(conjugate(g, head), corner), rest)  # v' times the column
    return direction, g.where(clear, 0, g.div(g.const(1, column.dtype), along))


@lowering("aten::qr")
def qr(g: Builder, self: Tensor, some: bool = True) -> tuple[Tensor, Tensor]:
    """qr(Tensor self, bool some=True) -> (Tensor Q, Tensor R)"""
    return linalg_qr(g, self, "reduced" if some else "complete")


@lowering("aten::linalg_cond")
def linalg_cond(g: Builder, self: Tensor, p: Any = None) -> Tensor:
    """linalg_cond(Tensor self, Scalar? p=None) -> Tensor"""
    if p in (None, 2, -2):
        values = singular_values(g, self)
        last = values.rank - 1
        largest, smallest = (g.reduce(op, values, [last]) for op in ("ReduceMax", "ReduceMin"))
        return g.cast(g.div(smallest, largest) if p == -2 else g.div(largest, smallest), real_of(self.dtype))
    norms = [linalg_matrix_norm(g, x, p) for x in (self, inverse(g, self))]
    return g.mul(norms[0], norms[1])


# -- tensors as matrices ----------------------------------------------------------------------------


@lowering("aten::linalg_tensorinv")
def linalg_tensorinv(g: Builder, self: Tensor, ind: int = 2) -> Tensor:
    """linalg_tensorinv(Tensor self, int ind=2) -> Tensor"""
    rows, columns = list(self.shape[:ind]), list(self.shape[ind:])
    return g.reshape(inverse(g, g.reshape(self, [product(rows), product(columns)])), [*columns, *rows])


@lowering("aten::linalg_tensorsolve")
def linalg_tensorsolve(g: Builder, self: Tensor, other: Tensor, dims: list[int] | None = None) -> Tensor:
    """linalg_tensorsolve(Tensor self, Tensor other, int[]? dims=None) -> Tensor"""
    if dims is not None:  # these go last
        moved = [d % self.rank for d in dims]
        self = g.transpose(self, [*[i for i in range(self.rank) if i not in moved], *moved])
    unknown = list(self.shape[other.rank :])
    matrix = g.reshape(self, [product(other.shape), product(unknown)])
    return g.reshape(linalg_solve(g, matrix, g.reshape(other, [product(other.shape)])), unknown)


# -- products over an axis --------------------------------------------------------------------------


@lowering("aten::linalg_vecdot")
def linalg_vecdot(g: Builder, x: Tensor, y: Tensor, dim: int = -1) -> Tensor:
    """linalg_vecdot(Tensor x, Tensor y, *, int dim=-1) -> Tensor"""
    product_ = g.mul(conjugate(g, x), y)
    return g.reduce("ReduceSum", product_, [dim]) if product_.rank else product_


@lowering("aten::linalg_vander")
def linalg_vander(g: Builder, x: Tensor, N: Any = None) -> Tensor:
    """linalg_vander(Tensor x, *, SymInt? N=None) -> Tensor"""
    x = x if x.rank else g.unsqueeze(x, [0])
    x = x if x.is_inexact else g.cast(x, torch.int64)
    count = x.shape[-1] if N is None else N
    if not isinstance(count, int):
        if x.dtype.is_complex:
            raise LoweringError("the number of powers of complex numbers must be known at export; pass N")
        return g.pow(g.unsqueeze(x, [-1]), g.cast(g.range(0, count), x.dtype))
    if count == 0:
        return g.full([*x.shape, 0], 1, x.dtype)
    powers = [g.full(x.shape, 1, x.dtype)]
    for _ in range(count - 1):
        powers.append(g.mul(powers[-1], x))
    return g.concat([g.unsqueeze(p, [-1]) for p in powers], x.rank)


@lowering("aten::vander")
def vander(g: Builder, x: Tensor, N: Size | None = None, increasing: bool = False) -> Tensor:
    """vander(Tensor x, int? N=None, bool increasing=False) -> Tensor"""
    powers = linalg_vander(g, x, N)
    return powers if increasing else g.flip(powers, powers.rank - 1)
