"""Indices in two steps: what gives a view, and tensors into it.

What PyTorch does with two kinds of index is recorded with values of the example:

* `x[flag]` of a 0-d mask gives `x` an axis of size one, and keeps it where the flag holds: the flag becomes a constant.
  A mask of one element on such an axis means the same.
* `x[mask] = y` leaves out leading axes of `y` that are one, though they may be one in the example alone. `index_put_`
  takes `y` as it is.
"""

from __future__ import annotations

from typing import Any

import torch

_MASKS = (torch.bool, torch.uint8)
_PARTS = (int, slice, type(None), type(...), torch.Tensor)


def has_flags(index: Any) -> bool:
    """Whether an index has a tensor that is a mask without dimensions."""
    return any(map(_is_flag, index)) if index.__class__ is tuple else _is_flag(index)


def _is_flag(part: Any) -> bool:
    return isinstance(part, torch.Tensor) and not part.dim() and part.dtype in _MASKS


def split(tensor: torch.Tensor, index: Any) -> tuple[torch.Tensor, tuple[Any, ...]]:
    """A view that has an axis for each flag, and the index into it: whole axes, and tensors that have dimensions."""
    view: list[Any] = []
    rest: list[Any] = []
    for part in index if index.__class__ is tuple else (index,):
        if isinstance(part, bool) or not isinstance(part, _PARTS):  # a list, a tuple, a range, an array of numpy
            part = torch.as_tensor(part)
        if _is_flag(part):
            view.append(None)
            rest.append(part.reshape(1).to(torch.bool))
        elif isinstance(part, torch.Tensor) and part.dim():
            view += [slice(None)] * _axes(part)
            rest.append(part)
        else:
            view.append(part)
            if part is ...:
                rest.append(part)
            elif part is None or isinstance(part, slice):
                rest.append(slice(None))
    return tensor[tuple(view)], tuple(rest)


def _axes(index: torch.Tensor) -> int:
    """How many axes a tensor indexes."""
    return index.dim() if index.dtype in _MASKS else 1


def put(tensor: torch.Tensor, index: Any, value: torch.Tensor) -> bool:
    """Do `tensor[index] = value`, if that may leave out an axis of `value` that isn't always one; whether it was done."""
    parts = index if index.__class__ is tuple else (index,)
    if value.shape[0] != 1 or not all(isinstance(part, (*_PARTS, list)) for part in parts):
        return False
    target, rest = split(tensor, index)
    tensors = [part for part in rest if isinstance(part, torch.Tensor)]
    if not tensors:
        return False
    whole = target.dim() - sum(map(_axes, tensors))
    rank = whole + max(1 if part.dtype in _MASKS else part.dim() for part in tensors)
    if (extra := value.dim() - rank) > 0:
        value = value.reshape(value.shape[extra:])
    between = whole - sum(isinstance(part, slice) for part in rest)  # the axes that `...` stands for
    positions: list[torch.Tensor | None] = []
    for part in rest:
        positions += [None] * between if part is ... else [part if isinstance(part, torch.Tensor) else None]
    torch.ops.aten.index_put_(target, positions, value)
    return True
