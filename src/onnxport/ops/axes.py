"""Axis numbers as PyTorch takes them."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import LoweringError


def wrap(dim: int, rank: int) -> int:
    """An axis counted from the front; a 0-d tensor takes 0 and -1."""
    size = max(rank, 1)
    if not -size <= dim < size:
        raise LoweringError(f"dimension {dim} is out of range for a tensor of {rank} dimensions; name one it has")
    return dim % size


def wrap_all(dims: Sequence[int], rank: int) -> list[int]:
    """Several axes, in the order given."""
    return [wrap(d, rank) for d in dims]
