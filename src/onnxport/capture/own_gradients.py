"""Models that take gradients in their forward, `torch.autograd.grad(energy, positions)`: they run only where PyTorch follows
these, which it is told not to do for all others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

_NEEDED = "does not require grad and does not have a grad_fn"


def needs_gradients(error: Exception) -> bool:
    """Whether a model failed for that reason."""
    return isinstance(error, RuntimeError) and _NEEDED in str(error)


def called(call: Callable[[], Sequence[Any]]) -> list[Any]:
    """What a call of the model gives, without gradients, or with them if it takes some itself."""
    try:
        with torch.no_grad():
            return list(call())
    except RuntimeError as error:
        if not needs_gradients(error):
            raise
    with torch.enable_grad():
        return [x.detach() if isinstance(x, torch.Tensor) else x for x in call()]
