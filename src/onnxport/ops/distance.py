"""Distances between vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ..dims import broadcast, known_eq, known_le
from ..lower.builder import Builder
from ..lower.promotion import float_type
from ..lower.registry import lowering
from ..lower.values import Tensor
from .arithmetic import promoted, promoted_float, sub
from .axes import wrap
from .reduction import vector_norm

# torch computes Euclidean distances with a matrix product where there are more rows than this.
_PRODUCT_ROWS = 25


@lowering("aten::cdist", "aten::_cdist_forward")
def cdist(g: Builder, x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: int | None = None) -> Tensor:
    """cdist(Tensor x1, Tensor x2, float p=2., int? compute_mode=None) -> Tensor"""
    rows = [x.shape[-2] for x in (x1, x2)]
    many = any(known_le(n, _PRODUCT_ROWS) is False for n in rows)
    if p == 2 and (compute_mode == 1 or (many and compute_mode != 2)):
        squares = [g.reduce("ReduceSum", g.mul(x, x), [-1], True) for x in (x1, x2)]
        products = g.matmul(x1, g.swap(x2, x2.rank - 2, x2.rank - 1))
        sums = g.add(squares[0], g.swap(squares[1], x2.rank - 2, x2.rank - 1))
        return g.sqrt(g.extremum("Max", g.sub(sums, g.mul(products, 2)), 0))
    difference = g.sub(g.unsqueeze(x1, [-2]), g.unsqueeze(x2, [-3]))
    return vector_norm(g, difference, p, -1)


@lowering("aten::pdist", "aten::_pdist_forward")
def pdist(g: Builder, self: Tensor, p: float = 2.0) -> Tensor:
    """pdist(Tensor self, float p=2.) -> Tensor"""
    rows = self.shape[0]
    if isinstance(rows, int):
        pairs = [g.const(i, torch.int64) for i in np.triu_indices(rows, 1)]
    else:
        positions = g.range(0, rows)
        above = g.nonzero(g.less(g.unsqueeze(positions, [1]), g.unsqueeze(positions, [0])))
        pairs = [g.gather(above, i, 0) for i in range(2)]
    return vector_norm(g, g.sub(*[g.gather(self, i, 0) for i in pairs]), p, 1)


@lowering("aten::dist")
def dist(g: Builder, self: Tensor, other: Tensor, p: Any = 2) -> Tensor:
    """dist(Tensor self, Tensor other, Scalar p=2) -> Tensor"""
    return vector_norm(g, g.sub(*promoted(g, self, other)), p)


@lowering("aten::pairwise_distance")
def pairwise_distance(
    g: Builder, x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Tensor:
    """pairwise_distance(Tensor x1, Tensor x2, float p=2., float eps=1e-06, bool keepdim=False) -> Tensor"""
    difference = sub(g, x1, x2)  # of unsigned integers, it wraps around
    return vector_norm(g, g.add(g.cast(difference, float_type(difference)), eps), p, -1, keepdim)


@lowering("aten::cosine_similarity")
def cosine_similarity(g: Builder, x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-08) -> Tensor"""
    a, b = promoted_float(g, x1, x2)
    rank = max(a.rank, b.rank)
    axis = wrap(dim, rank) - rank
    a, b = (g.unsqueeze(x, list(range(rank - x.rank))) for x in (a, b))
    if rank and known_eq(a.shape[axis], b.shape[axis]) is not True:
        # Lengths are those of the vectors as they are broadcast.
        size = broadcast(a.shape[axis], b.shape[axis])
        a, b = (g.expand(x, [*x.shape[:axis], size, *x.shape[rank + axis + 1 :]]) for x in (a, b))
    unit = [g.div(x, g.extremum("Max", vector_norm(g, x, 2, axis, True), eps)) for x in (a, b)]
    product = g.mul(*unit)
    return product if product.rank == 0 else g.reduce("ReduceSum", product, [axis])


@lowering("aten::renorm")
def renorm(g: Builder, self: Tensor, p: Any, dim: int, maxnorm: Any) -> Tensor:
    """renorm(Tensor self, Scalar p, int dim, Scalar maxnorm) -> Tensor"""
    dim = wrap(dim, self.rank)
    norms = vector_norm(g, self, p, [i for i in range(self.rank) if i != dim], True)
    factor = g.div(maxnorm, g.add(norms, 1e-7))
    return g.mul(self, g.where(g.greater(norms, maxnorm), factor, 1))
