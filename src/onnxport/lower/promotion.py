"""PyTorch's type promotion.

Source: https://docs.pytorch.org/docs/stable/tensor_attributes.html#type-promotion-doc. Operands fall into three
classes: tensors with axes, 0-d tensors, Python numbers. A class matters only where its category (bool < integer <
float < complex) is above that of the classes before it.
"""

from __future__ import annotations

from typing import Any

import torch

from ..dims import Dim
from .values import Scalar, Tensor


def category(dtype: torch.dtype) -> int:
    """0 bool, 1 integer, 2 float, 3 complex."""
    if dtype.is_complex:
        return 3
    if dtype.is_floating_point:
        return 2
    return 0 if dtype == torch.bool else 1


def number_dtype(value: Any) -> torch.dtype:
    """The dtype that a Python number stands for: bool, int64, the default float or complex."""
    if isinstance(value, bool) or (isinstance(value, Scalar) and value.kind is bool):
        return torch.bool
    if isinstance(value, (int, Dim)):
        return torch.int64
    if isinstance(value, complex):
        return torch.complex64 if torch.get_default_dtype() != torch.float64 else torch.complex128
    return torch.get_default_dtype()


def result_type(*operands: Any) -> torch.dtype:
    """The dtype in which tensors and numbers are computed together."""
    found: list[torch.dtype | None] = [None, None, None]
    for operand in operands:
        if operand is None:
            continue
        if isinstance(operand, Tensor):
            rank, dtype = (0 if operand.dims is None or operand.dims else 1), operand.dtype
        else:
            rank, dtype = 2, number_dtype(operand)
        known = found[rank]
        found[rank] = dtype if known is None else torch.promote_types(known, dtype)
    result: torch.dtype | None = None
    for dtype in (d for d in found if d is not None):
        if result is None:
            result = dtype
        elif category(dtype) > category(result):
            result = _raise_category(result, dtype)
    assert result is not None
    return result


def _raise_category(result: torch.dtype, dtype: torch.dtype) -> torch.dtype:
    """A lower class of a higher category: a complex number keeps the float's precision."""
    if dtype.is_complex and result.is_floating_point:
        return torch.promote_types(result, torch.complex64 if result != torch.float64 else torch.complex128)
    return dtype


def float_type(*operands: Any) -> torch.dtype:
    """`result_type`, with integers and bool as the default float: what `true_divide`, `sqrt`, ... compute in."""
    dtype = result_type(*operands)
    return dtype if category(dtype) >= 2 else torch.get_default_dtype()


def promoted(a: torch.dtype, b: torch.dtype) -> torch.dtype | None:
    """The dtype that holds all values of both exactly, if one of them does."""
    wider = torch.promote_types(a, b)
    if wider not in (a, b):
        return None
    other = b if wider == a else a
    if other.is_floating_point == wider.is_floating_point or other == torch.bool:
        return wider
    return wider if other.itemsize * 2 <= wider.itemsize else None
