"""Functions of which the tracer reads a number, that of the example, where it may be a float of sizes: what does the same
with tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
import torch.nn.functional as F

Function = Callable[..., Any]


def _dropout(function: Function, trains: bool) -> Function:
    """Without training, the rate says nothing."""

    def drop(input: torch.Tensor, p: Any = 0.5, training: bool = trains, inplace: bool = False) -> torch.Tensor:
        rate = 0.5 if isinstance(p, torch.Tensor) and not training else p
        return function(input, rate, training, inplace)  # type: ignore[no-any-return]

    return drop


def _logit(function: Function) -> Function:
    def logit(input: torch.Tensor, eps: Any = None, **kwargs: Any) -> torch.Tensor:
        if isinstance(eps, torch.Tensor) and not kwargs:
            eps = eps.to(input.dtype)
            return function(input.clamp(eps, 1 - eps))  # type: ignore[no-any-return]
        return function(input, eps, **kwargs)  # type: ignore[no-any-return]

    return logit


def _attention(query: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
    scale = kwargs.get("scale")
    if isinstance(scale, torch.Tensor):
        query, kwargs["scale"] = query * scale.to(query.dtype), 1.0
    return F.scaled_dot_product_attention(query, *args, **kwargs)


INSTEAD: Mapping[Function, Function] = {
    **{f: _dropout(f, trains=True) for f in (F.dropout, F.dropout1d, F.dropout2d, F.dropout3d)},
    **{f: _dropout(f, trains=False) for f in (F.alpha_dropout, F.feature_alpha_dropout)},
    **{f: _logit(f) for f in (torch.logit, torch.Tensor.logit, torch.special.logit)},
    F.scaled_dot_product_attention: _attention,
}
