"""Polynomials that stand for a special function on an interval, fitted at export to PyTorch's own values.

The fit interpolates near Chebyshev points, which comes close to the best polynomial there is. So no table of
coefficients is kept here, and what is approximated is by construction the function of the installed PyTorch.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
import torch

from ..lower.builder import Builder
from ..lower.promotion import float_type
from ..lower.registry import lowering
from ..lower.values import Array, Tensor

Function = Callable[[Builder, Tensor], Tensor]


class Fit:
    """A polynomial for `function`, a smooth function of float64 tensors, on an interval."""

    def __init__(self, function: Callable[[torch.Tensor], torch.Tensor], low: float, high: float, degree: int) -> None:
        self.function = function
        self.low, self.high, self.degree = low, high, degree

    @functools.cached_property
    def coefficients(self) -> Array:
        """Of the powers of t, which runs over [-1, 1]; the constant one comes first."""
        count = self.degree + 1
        t = np.cos(np.pi * (np.arange(count) + 0.5) / count)
        x = torch.from_numpy((t + 1) / 2 * (self.high - self.low) + self.low)
        series = np.polynomial.chebyshev.chebfit(t, self.function(x).numpy(), self.degree)
        return np.asarray(np.polynomial.chebyshev.cheb2poly(series))

    def __call__(self, g: Builder, x: Tensor) -> Tensor:
        """The polynomial of a float64 tensor; outside of the interval, its value at the border."""
        middle, half = (self.low + self.high) / 2, (self.high - self.low) / 2
        t = g.div(g.sub(g.clip(x, self.low, self.high), middle), half)
        coefficients = self.coefficients
        powers = g.pow(g.unsqueeze(t, [-1]), g.const(np.arange(len(coefficients)), torch.float64))
        return g.matmul(powers, g.const(coefficients, torch.float64))


def precise(*names: str) -> Callable[[Function], Function]:
    """Register a function of one tensor that is computed in float64."""

    def register(function: Function) -> Function:
        def lower(g: Builder, self: Tensor) -> Tensor:
            return g.cast(function(g, g.cast(self, torch.float64)), float_type(self))

        lower.__doc__ = f"{names[0]}(Tensor self) -> Tensor"
        lowering(*[f"aten::{name}" for name in names])(lower)
        return function

    return register
