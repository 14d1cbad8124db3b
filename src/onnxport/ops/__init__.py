"""Lowerings, by family. Importing this package registers them all."""

from . import conv, einsum, elementwise, indexing, masking, matmul, pool, resize, rnn, scalars, scatter

__all__ = [
    "conv",
    "einsum",
    "elementwise",
    "indexing",
    "masking",
    "matmul",
    "pool",
    "resize",
    "rnn",
    "scalars",
    "scatter",
]
