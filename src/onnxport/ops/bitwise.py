"""Bits of integers: logic and shifts."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import torch

from ..errors import LoweringError
from ..lower.builder import Builder
from ..lower.registry import lowering
from ..lower.values import Tensor
from .arithmetic import promoted


def _bitwise(g: Builder, name: str, self: Any, other: Any) -> Tensor:
    a, b = promoted(g, self, other)
    if a.dtype == torch.bool:
        return g.op(name, a, b)
    return g.op(f"Bitwise{name}", a, b) if g.opset >= 18 else _by_bits(g, name, a, b)


def _by_bits(g: Builder, name: str, a: Tensor, b: Tensor) -> Tensor:
    """Logic on integers without an op for it: take the bits apart along a new axis, and sum them up again."""
    powers = _powers(g, torch.iinfo(a.dtype).bits)
    bits = []
    for x in (a, b):
        column = g.unsqueeze(g.cast(x, torch.int64), [-1])
        shifted = _floor_over(g, column, powers)
        odd = g.floor_divmod(shifted, g.const(2, torch.int64))[1]
        bits.append(g.cast(odd, torch.bool))
    chosen = g.cast(g.op(name, *bits), torch.int64)
    # Two products of 32 bits each: below opset 9 they are of float64. ReduceSum of int64 always is.
    halves = [(i, min(i + 32, powers.shape[0])) for i in range(0, int(powers.shape[0]), 32)]  # type: ignore[arg-type]
    parts = [
        g.matmul(g.slice(chosen, [i], [j], [chosen.rank - 1]), g.unsqueeze(g.slice(powers, [i], [j], [0]), [-1]))
        for i, j in (halves if g.opset < 9 else [(0, halves[-1][1])])
    ]
    return g.cast(g.squeeze(functools.reduce(g.add, parts), [-1]), a.dtype)


@lowering("aten::bitwise_and", "aten::__and__", "aten::__iand__")
def bitwise_and(g: Builder, self: Any, other: Any) -> Tensor:
    """bitwise_and.Tensor(Tensor self, Tensor other) -> Tensor"""
    return _bitwise(g, "And", self, other)


@lowering("aten::bitwise_or", "aten::__or__", "aten::__ior__")
def bitwise_or(g: Builder, self: Any, other: Any) -> Tensor:
    """bitwise_or.Tensor(Tensor self, Tensor other) -> Tensor"""
    return _bitwise(g, "Or", self, other)


@lowering("aten::bitwise_xor", "aten::__xor__", "aten::__ixor__")
def bitwise_xor(g: Builder, self: Any, other: Any) -> Tensor:
    """bitwise_xor.Tensor(Tensor self, Tensor other) -> Tensor"""
    return _bitwise(g, "Xor", self, other)


@lowering("aten::bitwise_not")
def bitwise_not(g: Builder, self: Tensor) -> Tensor:
    """bitwise_not(Tensor self) -> Tensor"""
    if self.dtype == torch.bool:
        return g.not_(self)
    return g.sub(-1 if self.dtype.is_signed else torch.iinfo(self.dtype).max, self)


@lowering("aten::bitwise_left_shift", "aten::__lshift__", "aten::__ilshift__")
def left_shift(g: Builder, self: Any, other: Any) -> Tensor:
    """bitwise_left_shift.Tensor(Tensor self, Tensor other) -> Tensor"""
    a, b = promoted(g, self, other)
    if a.is_float:
        return g.mul(a, g.pow(g.const(2, a.dtype), b))
    inside, power = _shift_power(g, a, b)
    shifted = g.mul(a, g.cast(power, a.dtype))
    return shifted if inside is None else g.where(inside, shifted, 0)


@lowering("aten::bitwise_right_shift", "aten::__rshift__", "aten::__irshift__")
def right_shift(g: Builder, self: Any, other: Any) -> Tensor:
    """bitwise_right_shift.Tensor(Tensor self, Tensor other) -> Tensor"""
    a, b = promoted(g, self, other)
    if a.is_float:
        return g.div(a, g.pow(g.const(2, a.dtype), b))
    inside, power = _shift_power(g, a, b)
    shifted = g.cast(_floor_over(g, g.cast(a, torch.int64), power), a.dtype)
    return shifted if inside is None else g.where(inside, shifted, _sign(g, a))


def _shift_power(g: Builder, a: Tensor, count: Tensor) -> tuple[Tensor | None, Tensor]:
    """2 ** count as int64, and where the count is one that leaves bits (None: everywhere).

    ONNX's BitShift takes unsigned integers only, so shifts are products and quotients.
    """
    if a.dtype == torch.bool:
        raise LoweringError("shifts of bool tensors aren't defined; cast to an integer type")
    bits = torch.iinfo(a.dtype).bits
    powers = _powers(g, bits)
    if count.is_constant and count.data is not None and ((count.data >= 0) & (count.data < bits)).all():
        return None, g.gather(powers, g.cast(count, torch.int64), 0)
    inside = g.less(count, g.const(bits, count.dtype))
    if count.dtype.is_signed:
        inside = g.and_(inside, g.greater_equal(count, 0))
    return inside, g.gather(powers, g.cast(g.where(inside, count, 0), torch.int64), 0)


def _powers(g: Builder, bits: int) -> Tensor:
    """The values of the bits as int64; the highest of 64 is negative."""
    return g.const(np.uint64(1) << np.arange(bits, dtype=np.uint64), torch.int64)


def _floor_over(g: Builder, a: Tensor, power: Tensor) -> Tensor:
    """a / power rounded down, for int64; over the highest power only the sign is left."""
    if power.is_constant and power.data is not None and (power.data > 0).all():
        return g.floor_divmod(a, power)[0]
    top = g.less(power, 0)
    return g.where(top, _sign(g, a), g.floor_divmod(a, g.where(top, 1, power))[0])


def _sign(g: Builder, a: Tensor) -> Tensor:
    """-1 where a is negative, else 0: what is left when all bits are shifted out to the right."""
    return g.cast(g.neg(g.cast(g.less(a, 0), torch.int64)), a.dtype)
