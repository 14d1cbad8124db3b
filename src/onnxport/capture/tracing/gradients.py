"""Gradients that a model computes of its own results: `torch.autograd.grad(y, x, grad_outputs)`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any
from unittest import mock

import torch

from ..shared import shared


@shared
@contextlib.contextmanager
def gradients_taken() -> Iterator[None]:
    """torch compares sizes of what it is given with those of the results, and wants ints; while a model is traced they are
    tensors. That they are the same is seen where they are used."""
    make: Any = torch.autograd._make_grads

    def made(outputs: Sequence[Any], grads: Sequence[Any], is_grads_batched: bool) -> tuple[Any, ...]:
        if torch._C._get_tracing_state() is None:
            return make(outputs, grads, is_grads_batched)  # type: ignore[no-any-return]
        return tuple(
            grad if isinstance(grad, torch.Tensor) else make([output], [grad], is_grads_batched)[0]
            for output, grad in zip(outputs, grads, strict=True)
        )

    with mock.patch.object(torch.autograd, "_make_grads", made):
        yield
