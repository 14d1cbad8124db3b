"""Complex tensors: a pair of real ones.

ONNX runtimes hardly compute with complex types. A complex tensor is stored as reals with a trailing axis of 2, and
computed with as its real and imaginary parts, which are remembered: the pair is only put together where it is
an output or taken as reals, and otherwise vanishes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ..dtypes import complex_of, real_of
from .values import Tensor

if TYPE_CHECKING:
    from .builder import Builder


class Parts(Tensor):
    """A complex tensor whose real and imaginary parts are known as tensors.

    With `was_real` the imaginary part is zero, because a real tensor was taken for a complex one.
    """

    __slots__ = ("imag", "real", "was_real")

    def __init__(self, pair: Tensor, real: Tensor, imag: Tensor, was_real: bool = False) -> None:
        super().__init__(complex_of(real.dtype), real.dims, pair.value, from_weight=pair.from_weight)
        self.real = real
        self.imag = imag
        self.was_real = was_real


def join(g: Builder, real: Tensor, imag: Tensor, *, was_real: bool = False) -> Tensor:
    """The complex tensor of these parts, which have the same sizes."""
    last = real.rank
    pair = g.concat([g.unsqueeze(real, [last]), g.unsqueeze(imag, [last])], last)
    g.value(pair)
    return Parts(pair, real, imag, was_real)


def of_real(g: Builder, real: Tensor) -> Tensor:
    """A real tensor as a complex one."""
    return join(g, real, g.full(real.shape, 0, real.dtype), was_real=True)


def split(g: Builder, x: Any, dtype: torch.dtype | None = None) -> tuple[Tensor, Tensor | None]:
    """Real and imaginary part of a tensor or number; the latter is None where it isn't complex, was real, or is 0."""
    if isinstance(x, complex):
        return g.const(x.real, real_of(dtype or torch.complex64)), g.const(x.imag, real_of(dtype or torch.complex64))
    if not isinstance(x, Tensor):
        return g.scalar(x, real_of(dtype or torch.complex64)), None
    if not x.is_complex:
        return x, None
    if isinstance(x, Parts):
        return x.real, None if x.was_real else x.imag
    if x.is_constant and x.data is not None:
        kind = real_of(x.dtype)
        parts = (np.array(x.data.real), np.array(x.data.imag))  # keeps the sizes of 0-d content
        real, imag = (g.known(part, kind, from_weight=x.from_weight) for part in parts)
        return real, imag if x.data.imag.any() else None
    pair = as_pair(g, x)
    return g.gather(pair, 0, x.rank), g.gather(pair, 1, x.rank)


def both(g: Builder, x: Any, dtype: torch.dtype | None = None) -> tuple[Tensor, Tensor]:
    """Real and imaginary part, zeros for that of a real tensor."""
    if isinstance(x, Parts):
        return x.real, x.imag
    real, imag = split(g, x, dtype)
    return real, g.full(real.shape, 0, real.dtype) if imag is None else imag


def as_pair(g: Builder, x: Tensor) -> Tensor:
    """A complex tensor as reals with a trailing axis of 2."""
    if x.is_constant or x.value is None:
        x = join(g, *both(g, x))
    return Tensor(real_of(x.dtype), (*x.shape, 2), x.value, from_weight=x.from_weight)


def of_pair(g: Builder, pair: Tensor) -> Tensor:
    """Reals with a trailing axis of 2 as a complex tensor."""
    return Tensor(complex_of(pair.dtype), pair.shape[:-1], g.value(pair), from_weight=pair.from_weight)


def conjugate(g: Builder, x: Tensor) -> Tensor:
    """With the sign of the imaginary part changed; a real tensor as it is."""
    if not x.is_complex or (isinstance(x, Parts) and x.was_real):
        return x
    a, b = both(g, x)
    return join(g, a, g.neg(b))


def squares(g: Builder, x: Tensor) -> Tensor:
    """The squares of absolute values: real."""
    if not x.is_complex:
        return g.mul(x, x)
    a, b = both(g, x)
    return g.add(g.mul(a, a), g.mul(b, b))


def adjoint(g: Builder, x: Tensor) -> Tensor:
    """Matrices transposed and conjugated."""
    return conjugate(g, g.swap(x, x.rank - 2, x.rank - 1))
