"""Singular values and eigenvalues of symmetric matrices, and what they lead to: rank, condition, pseudo-inverse.

By one-sided Jacobi rotations: columns are turned in pairs until all are orthogonal; their lengths are then the
singular values. A step turns all columns, in pairs that are disjoint, and a sweep of n - 1 steps pairs each with each.
All is computed in float64. Vectors that PyTorch returns are unique only up to their signs (or, of equal values, up
to a rotation), which LAPACK's algorithm settles: there is no way to give the same ones, so using them is an error.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ..dims import product
from ..dtypes import real_of
from ..errors import LoweringError
from ..lower.builder import Builder
from ..lower.complex import adjoint, both, join
from ..lower.recurrence import loop
from ..lower.registry import lowering
from ..lower.values import Array, Tensor, Unclear

LIMIT = 128
SWEEPS = 12  # the angles left shrink quadratically: after 6 to 9 sweeps nothing moves any more

_VECTORS = Unclear(
    "singular vectors and eigenvectors are unique only up to their signs, which an exported model can't choose as PyTorch "
    "does; use the values alone, pinv(), or compute the vectors outside"
)


def _order(x: Tensor) -> tuple[int, int]:
    rows, columns = x.shape[-2:]
    if not isinstance(rows, int) or not isinstance(columns, int):
        raise LoweringError("the size of the matrix must be known at export; make its last two axes static")
    if min(rows, columns) > LIMIT:
        raise LoweringError(
            f"singular values of a matrix of {rows} x {columns}: the limit is {LIMIT}; compute them outside"
        )
    return rows, columns


def _pairs(n: int) -> Array:
    """For each step of a sweep, the partner of each column; of an odd number, one rests (is its own)."""
    players = list(range(n)) + ([] if n % 2 == 0 else [n])
    rounds = []
    for _ in range(len(players) - 1):
        partner = np.arange(n)
        for a, b in zip(players[: len(players) // 2], reversed(players)):
            if max(a, b) < n:
                partner[a], partner[b] = b, a
        rounds.append(partner)
        players = [players[0], players[-1], *players[1:-1]]
    return np.array(rounds, dtype=np.int64).reshape(-1, n)


def _orthogonalized(g: Builder, a: Tensor, turned: int) -> Tensor:
    """The columns of `[batch, m, n]` turned until they are orthogonal in their first `turned` rows."""
    n = a.shape[2]
    assert isinstance(n, int)
    if n < 2:
        return a
    rounds = _pairs(n)
    table = g.const(rounds, torch.int64)
    earlier = g.const(rounds > np.arange(n), torch.bool)

    def step(i: Tensor, x: Tensor) -> list[Tensor]:
        row = g.floor_divmod(i, g.const(len(rounds), torch.int64), truncates=True)[1]
        partner, first = g.gather(table, row, 0), g.gather(earlier, row, 0)
        other = g.gather(x, partner, 2)
        top, top_other = (g.slice(v, [0], [turned], [1]) for v in (x, other))
        squares = g.reduce("ReduceSum", g.mul(top, top), [1], keepdims=True)
        dots = g.reduce("ReduceSum", g.mul(top, top_other), [1], keepdims=True)
        difference = g.sub(g.gather(squares, partner, 2), squares)
        # the tangent of the smaller angle that makes the two columns orthogonal
        slanted = g.mul(dots, 2)
        root = g.sqrt(g.add(g.mul(difference, difference), g.mul(slanted, slanted)))
        forward = g.or_(g.greater(difference, 0), g.and_(g.equal(difference, 0), first))
        divisor = g.add(difference, g.where(forward, root, g.neg(root)))
        still = g.or_(g.equal(divisor, 0), g.equal(partner, g.range(0, n)))
        tangent = g.where(still, 0, g.div(slanted, g.where(still, 1, divisor)))
        cosine = g.op("Reciprocal", g.sqrt(g.add(g.mul(tangent, tangent), 1)))
        return [g.sub(g.mul(x, cosine), g.mul(other, g.mul(tangent, cosine)))]

    return loop(g, SWEEPS * len(rounds), [a], step)[0]


def _scaled(g: Builder, x: Tensor) -> tuple[Tensor, Tensor]:
    """A float64 `[batch, m, n]` with its largest entry near 1, whose squares neither overflow nor vanish; the scale."""
    batch = g.reshape(g.cast(x, torch.float64), [product(x.shape[:-2]), *x.shape[-2:]])
    largest = g.reduce("ReduceMax", g.abs(batch), [1, 2], keepdims=True)
    scale = g.where(g.greater(largest, 0), largest, 1)
    return g.div(batch, scale), scale


def _lengths(g: Builder, x: Tensor) -> Tensor:
    return g.sqrt(g.reduce("ReduceSum", g.mul(x, x), [1]))


def singular_values(g: Builder, x: Tensor) -> Tensor:
    """In float64, from the largest on: `[..., min(m, n)]`."""
    if x.is_complex:  # whose real form has each value twice
        return _every_other(g, singular_values(g, real_form(g, x)))
    rows, columns = _order(x)
    count = min(rows, columns)
    if not count:
        return g.full([*x.shape[:-2], 0], 0, torch.float64)
    a, scale = _scaled(g, x)
    a = g.swap(a, 1, 2) if columns > rows else a
    lengths = g.mul(_lengths(g, _orthogonalized(g, a, max(rows, columns))), g.squeeze(scale, [2]))
    return g.reshape(g.topk(lengths, count, 1)[0], [*x.shape[:-2], count])


def symmetric_eigenvalues(g: Builder, x: Tensor, upper: bool = False) -> Tensor:
    """In float64, from the smallest on, of the matrix that one triangle stands for."""
    if x.is_complex:
        return _every_other(g, symmetric_eigenvalues(g, real_form(g, _mirrored(g, x, upper))))
    n, _ = _order(x)
    if not n:
        return g.full(x.shape[:-1], 0, torch.float64)
    a, scale = _scaled(g, _mirrored(g, x, upper))
    # The norm of no row exceeds this: with it on the diagonal, all eigenvalues are singular values.
    bound = g.reduce("ReduceMax", g.reduce("ReduceSum", g.abs(a), [2], keepdims=True), [1], keepdims=True)
    identity = g.const(np.eye(n), torch.float64)
    lengths = _lengths(g, _orthogonalized(g, g.add(a, g.mul(identity, bound)), n))
    values = g.mul(g.sub(lengths, g.squeeze(bound, [2])), g.squeeze(scale, [2]))
    return g.reshape(g.topk(values, n, 1, largest=False)[0], x.shape[:-1])


def _mirrored(g: Builder, x: Tensor, upper: bool) -> Tensor:
    n, _ = _order(x)
    kept = g.const(np.triu(np.ones((n, n), bool)) if upper else np.tril(np.ones((n, n), bool)), torch.bool)
    if x.is_complex:
        a, b = both(g, x)
        x = join(g, a, g.where(g.const(np.eye(n, dtype=bool), torch.bool), 0, b))  # its diagonal is taken as real
    return g.where(kept, x, adjoint(g, x))


def real_form(g: Builder, x: Tensor) -> Tensor:
    """A complex matrix a + bi as [[a, -b], [b, a]]: sums, products, inverses and adjoints go over to it."""
    a, b = both(g, x)
    above, below = g.concat([a, g.neg(b)], x.rank - 1), g.concat([b, a], x.rank - 1)
    return g.concat([above, below], x.rank - 2)


def of_real_form(g: Builder, x: Tensor) -> Tensor:
    """The complex matrix of which this is the real form."""
    rows, columns = (size // 2 for size in x.shape[-2:])
    left = g.slice(x, [0], [columns], [x.rank - 1])
    return join(g, *g.split(left, [rows, rows], x.rank - 2))


def _every_other(g: Builder, values: Tensor) -> Tensor:
    return g.slice(values, [0], [values.shape[-1]], [values.rank - 1], [2])


# -- values -----------------------------------------------------------------------------------------


@lowering("aten::linalg_svdvals")
def linalg_svdvals(g: Builder, A: Tensor, driver: str | None = None) -> Tensor:
    """linalg_svdvals(Tensor A, *, str? driver=None) -> Tensor"""
    return g.cast(singular_values(g, A), real_of(A.dtype))


@lowering("aten::linalg_svd", "aten::_linalg_svd")
def linalg_svd(g: Builder, A: Tensor, *_: Any) -> tuple[Any, Tensor, Any]:
    """linalg_svd(Tensor A, bool full_matrices=True, *, str? driver=None) -> (Tensor U, Tensor S, Tensor Vh)"""
    return _VECTORS, linalg_svdvals(g, A), _VECTORS


@lowering("aten::svd")
def svd(g: Builder, self: Tensor, some: bool = True, compute_uv: bool = True) -> tuple[Any, Tensor, Any]:
    """svd(Tensor self, bool some=True, bool compute_uv=True) -> (Tensor U, Tensor S, Tensor V)"""
    values = linalg_svdvals(g, self)
    if compute_uv:
        return _VECTORS, values, _VECTORS
    rows, columns = _order(self)
    lead = self.shape[:-2]
    return g.full([*lead, rows, rows], 0, self.dtype), values, g.full([*lead, columns, columns], 0, self.dtype)


@lowering("aten::linalg_eigvalsh")
def linalg_eigvalsh(g: Builder, self: Tensor, UPLO: str = "L") -> Tensor:
    """linalg_eigvalsh(Tensor self, str UPLO="L") -> Tensor"""
    return g.cast(symmetric_eigenvalues(g, self, UPLO.upper() == "U"), real_of(self.dtype))


@lowering("aten::linalg_eigh", "aten::_linalg_eigh")
def linalg_eigh(g: Builder, self: Tensor, UPLO: str = "L", compute_v: bool = True) -> tuple[Tensor, Any]:
    """linalg_eigh(Tensor self, str UPLO="L") -> (Tensor eigenvalues, Tensor eigenvectors)"""
    return linalg_eigvalsh(g, self, UPLO), _VECTORS


@lowering("aten::linalg_eig", "aten::linalg_eigvals", "aten::_linalg_eigvals")
def linalg_eig(g: Builder, self: Tensor) -> Any:
    """linalg_eig(Tensor self) -> (Tensor eigenvalues, Tensor eigenvectors)"""
    raise LoweringError(
        "eigenvalues of a matrix that isn't symmetric are complex and have no finite formula; use eigvalsh() if the "
        "matrix is symmetric, or compute them outside"
    )


# -- norms and condition ----------------------------------------------------------------------------


def spectral_norm(g: Builder, x: Tensor, ord: Any) -> Tensor:
    """The matrix norm 'nuc', 2 or -2 over the last two axes."""
    values = singular_values(g, x)
    op_type = "ReduceSum" if ord == "nuc" else "ReduceMax" if ord == 2 else "ReduceMin"
    return g.cast(g.reduce(op_type, values, [values.rank - 1]), real_of(x.dtype))


# -- rank and pseudo-inverse ------------------------------------------------------------------------


def _threshold(g: Builder, values: Tensor, order: int, dtype: torch.dtype, atol: Any, rtol: Any) -> Tensor:
    """Values up to this count as 0, of a matrix whose longer side is `order`: `[..., 1]`."""
    largest = g.reduce("ReduceMax", values, [values.rank - 1], keepdims=True)
    if rtol is None:
        scale = order * torch.finfo(dtype).eps
        relative = g.mul(largest, scale)
        if atol is not None:  # only where no absolute tolerance is given
            given = _number(g, atol)
            relative = g.where(g.greater(given, 0), 0, relative)
    else:
        relative = g.mul(largest, _number(g, rtol))
    return relative if atol is None else g.extremum("Max", relative, _number(g, atol))


def _number(g: Builder, x: Any) -> Tensor:
    """A tolerance, or one for each matrix, in float64."""
    tensor = g.scalar(x, torch.float64)
    return g.unsqueeze(tensor, [tensor.rank]) if tensor.rank else tensor


def _magnitudes(g: Builder, x: Tensor, hermitian: bool) -> Tensor:
    return g.abs(symmetric_eigenvalues(g, x)) if hermitian else singular_values(g, x)


def _rank(g: Builder, x: Tensor, atol: Any, rtol: Any, hermitian: bool) -> Tensor:
    values = _magnitudes(g, x, hermitian)
    if values.shape[-1] == 0:
        return g.full(x.shape[:-2], 0, torch.int64)
    counted = g.greater(values, _threshold(g, values, max(_order(x)), x.dtype, atol, rtol))
    return g.reduce("ReduceSum", g.cast(counted, torch.int64), [counted.rank - 1])


@lowering("aten::linalg_matrix_rank", "aten::linalg_matrix_rank.tol_tensor")
def linalg_matrix_rank(g: Builder, self: Tensor, tol: Any, hermitian: bool = False) -> Tensor:
    """linalg_matrix_rank(Tensor self, float tol, bool hermitian=False) -> Tensor"""
    return _rank(g, self, tol, 0.0, hermitian)


@lowering("aten::linalg_matrix_rank.atol_rtol_float", "aten::linalg_matrix_rank.atol_rtol_tensor")
def linalg_matrix_rank_tolerances(
    g: Builder, self: Tensor, atol: Any = None, rtol: Any = None, hermitian: bool = False
) -> Tensor:
    """linalg_matrix_rank.atol_rtol_float(Tensor self, *, float? atol=None, float? rtol=None, bool hermitian=False)
    -> Tensor"""
    return _rank(g, self, atol, rtol, hermitian)


def pseudo_inverse(g: Builder, x: Tensor, atol: Any, rtol: Any, *, doubled: int = 1) -> Tensor:
    """V / S * U', where with A V = W = U S this is V / S**2 * W'."""
    if x.is_complex:
        return of_real_form(g, pseudo_inverse(g, real_form(g, x), atol, rtol, doubled=2))
    rows, columns = _order(x)
    if not rows or not columns:
        return g.full([*x.shape[:-2], columns, rows], 0, x.dtype)
    a, scale = _scaled(g, x)
    wide = columns > rows
    a = g.swap(a, 1, 2) if wide else a
    count, length = min(rows, columns), max(rows, columns)
    identity = g.expand(g.const(np.eye(count), torch.float64), [a.shape[0], count, count])
    turned = _orthogonalized(g, g.concat([a, identity], 1), length)
    w, v = g.slice(turned, [0], [length], [1]), g.slice(turned, [length], [length + count], [1])
    lengths = g.reshape(g.mul(_lengths(g, w), g.squeeze(scale, [2])), [*x.shape[:-2], count])
    kept = g.greater(lengths, _threshold(g, lengths, length // doubled, x.dtype, atol, rtol))
    kept = g.reshape(kept, [a.shape[0], 1, count])
    squares = g.mul(g.reduce("ReduceSum", g.mul(w, w), [1], keepdims=True), scale)
    inverse = g.where(kept, g.div(v, g.where(kept, squares, 1)), 0)
    result = g.matmul(inverse, g.swap(w, 1, 2))
    result = g.swap(result, 1, 2) if wide else result
    return g.cast(g.reshape(result, [*x.shape[:-2], columns, rows]), x.dtype)


@lowering("aten::linalg_pinv.atol_rtol_float", "aten::linalg_pinv.atol_rtol_tensor")
def linalg_pinv(g: Builder, self: Tensor, atol: Any = None, rtol: Any = None, hermitian: bool = False) -> Tensor:
    """linalg_pinv.atol_rtol_float(Tensor self, *, float? atol=None, float? rtol=None, bool hermitian=False) -> Tensor"""
    return pseudo_inverse(g, _mirrored(g, self, False) if hermitian else self, atol, rtol)


@lowering("aten::linalg_pinv", "aten::linalg_pinv.rcond_tensor", "aten::pinverse")
def linalg_pinv_rcond(g: Builder, self: Tensor, rcond: Any = 1e-15, hermitian: bool = False) -> Tensor:
    """linalg_pinv(Tensor self, float rcond, bool hermitian=False) -> Tensor"""
    return linalg_pinv(g, self, None, rcond, hermitian)
