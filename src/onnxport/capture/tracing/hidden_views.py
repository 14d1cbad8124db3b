"""Functions whose results share memory with their arguments, though their schemas don't say so.

The tracer drops what is written to such a result as if nobody read it. They are recorded as views that are known for such.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Mapping
from typing import Any

import torch

_View = Callable[[torch.Tensor], torch.Tensor]


def _of_each(view: _View) -> Callable[..., Any]:
    """A function of a tensor, or of several, or of a list of them."""

    def call(*tensors: Any) -> Any:
        given = tensors[0] if len(tensors) == 1 else tensors
        return view(given) if isinstance(given, torch.Tensor) else tuple(map(view, given))

    return call


def _one_axis(x: torch.Tensor) -> torch.Tensor:
    return x if x.dim() else x.unsqueeze(0)


def _two_axes(x: torch.Tensor) -> torch.Tensor:
    return x if x.dim() > 1 else _one_axis(x).unsqueeze(0)


def _three_axes(x: torch.Tensor) -> torch.Tensor:
    return x if x.dim() > 2 else _two_axes(x).unsqueeze(-1)


def _einsum(equation: Any, *operands: Any) -> torch.Tensor:
    """Of one tensor without sums it is a view: diagonals, and axes in another order."""
    given = operands[0] if len(operands) == 1 and isinstance(operands[0], (list, tuple)) else operands
    if len(given) != 1 or not isinstance(equation, str):
        return torch.einsum(equation, *operands)
    before, after = _labels(equation.replace(" ", ""), given[0].dim())
    if not before.isalpha() or len(before) != given[0].dim() or set(before) != set(after):
        return torch.einsum(equation, *operands)
    x: torch.Tensor = given[0]
    labels = list(before)
    for label in sorted(set(before)):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            if x.shape[first] != x.shape[second]:  # an error
                return torch.einsum(equation, *operands)
            x = x.diagonal(0, first, second)
            labels = [*labels[:first], *labels[first + 1 : second], *labels[second + 1 :], label]
    return x.permute([labels.index(label) for label in after])


def _labels(equation: str, rank: int) -> tuple[str, str]:
    """The labels of an equation's operand and result, those that stand for `...` and those that are left out included."""
    before, arrow, after = equation.partition("->")
    spare = [c for c in string.ascii_letters if c not in equation]
    dots = "".join(spare[: max(rank - len(before.replace("...", "")), 0)]) if "..." in before else ""
    if not arrow:
        after = "..." * bool(dots) + "".join(c for c in sorted(before.replace("...", "")) if before.count(c) == 1)
    return before.replace("...", dots), after.replace("...", dots)


def _split(input: torch.Tensor, split_size: Any, dim: int = 0) -> tuple[torch.Tensor, ...]:
    return torch.split(input, split_size, dim)  # type: ignore[no-any-return,no-untyped-call]


def _split_with_sizes(input: torch.Tensor, split_sizes: Any, dim: int = 0) -> Any:
    return input.split_with_sizes(split_sizes, dim)


def _cartesian_prod(*tensors: torch.Tensor) -> torch.Tensor:
    return tensors[0] if len(tensors) == 1 else torch.cartesian_prod(*tensors)


def _conj_physical(input: torch.Tensor, **kwargs: Any) -> torch.Tensor:
    return input if not input.is_complex() and not kwargs else torch.conj_physical(input, **kwargs)


def _feature_alpha_dropout(input: torch.Tensor, p: float, train: bool) -> torch.Tensor:
    return torch.feature_alpha_dropout(input, p, train) if train and p else input


INSTEAD: Mapping[Callable[..., Any], Callable[..., Any]] = {
    torch.atleast_1d: _of_each(_one_axis),
    torch.atleast_2d: _of_each(_two_axes),
    torch.atleast_3d: _of_each(_three_axes),
    torch.einsum: _einsum,
    torch.feature_alpha_dropout: _feature_alpha_dropout,
    torch.cartesian_prod: _cartesian_prod,
    **dict.fromkeys((torch.conj_physical, torch.Tensor.conj_physical), _conj_physical),
    **dict.fromkeys((torch.unsafe_chunk, torch.Tensor.unsafe_chunk), torch.chunk),
    **dict.fromkeys((torch.unsafe_split, torch.Tensor.unsafe_split), _split),
    **dict.fromkeys((torch.unsafe_split_with_sizes, torch.Tensor.unsafe_split_with_sizes), _split_with_sizes),
}
