"""Padding."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from ..dims import Size, maximum
from ..errors import LoweringError
from ..lower.builder import Builder
from ..lower.registry import lowering
from ..lower.values import Tensor

_MODES = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": ""}


def in_onnx_order(pads: Sequence[Size], rank: int) -> list[Size]:
    """PyTorch's pads, (begin, end) from the last axis on, as ONNX's: begins of all axes, then ends."""
    if len(pads) % 2 or len(pads) > 2 * rank:
        raise LoweringError(f"{len(pads)} paddings for a tensor of {rank} dimensions; give two for each axis padded")
    begins: list[Size] = [0] * rank
    ends: list[Size] = [0] * rank
    for i in range(len(pads) // 2):
        begins[rank - 1 - i], ends[rank - 1 - i] = pads[2 * i], pads[2 * i + 1]
    return [*begins, *ends]


@lowering("aten::constant_pad_nd")
def constant_pad_nd(g: Builder, self: Tensor, pad: list[Size], value: Any = 0) -> Tensor:
    """constant_pad_nd(Tensor self, SymInt[] pad, Scalar value=0) -> Tensor"""
    if self.rank == 0:
        return self
    return g.pad(self, in_onnx_order(pad, self.rank), "constant", value)


@lowering("aten::pad")
def pad(g: Builder, self: Tensor, pad: list[Size], mode: str = "constant", value: Any = None) -> Tensor:
    """pad(Tensor self, SymInt[] pad, str mode="constant", float? value=None) -> Tensor"""
    if mode not in _MODES:
        raise LoweringError(f"pad has no mode {mode!r}; use one of {', '.join(_MODES)}")
    if mode == "constant":
        return constant_pad_nd(g, self, pad, 0 if value is None else value)
    pads = in_onnx_order(pad, self.rank)
    x, pads = _crop(g, self, pads) if mode != "replicate" else _pick(g, self, pads)
    return _wrap(g, x, pads) if mode == "circular" else g.pad(x, pads, _MODES[mode])


def _pick(g: Builder, x: Tensor, pads: list[Size]) -> tuple[Tensor, list[Size]]:
    """Axes that are cut anywhere, by position: replicated is what stood at the end before the cut."""
    rest = list(pads)
    for axis, size in enumerate(x.shape):
        begin, end = pads[axis], pads[x.rank + axis]
        if any(isinstance(p, int) and p < 0 for p in (begin, end)):
            places = g.sub(g.range(0, size + begin + end), g.size(begin))
            x = g.gather(x, g.extremum("Min", g.extremum("Max", places, 0), g.size(size - 1)), axis)
            rest[axis] = rest[x.rank + axis] = 0
    return x, rest


def _crop(g: Builder, x: Tensor, pads: list[Size]) -> tuple[Tensor, list[Size]]:
    """Negative paddings cut off, and the others."""
    rank = x.rank
    for axis in range(rank):
        begin, end = pads[axis], pads[rank + axis]
        cut = [isinstance(p, int) and p < 0 for p in (begin, end)]
        if any(cut):
            first = -begin if cut[0] else 0
            last = x.shape[axis] + end if cut[1] else x.shape[axis]
            x = g.slice(x, [first], [last], [axis])
    return x, [0 if isinstance(p, int) and p < 0 else p for p in pads]


def _wrap(g: Builder, x: Tensor, pads: list[Size]) -> Tensor:
    """Circular padding out of slices: the end in front, the begin behind.

    Pad has a mode "wrap" from opset 19 on, but onnxruntime 1.32 refuses it ("Unexpected mode of 3").
    """
    rank = x.rank
    for axis in range(rank):
        begin, end, size = pads[axis], pads[rank + axis], x.shape[axis]
        parts = [] if begin == 0 else [g.slice(x, [size - begin], [size], [axis])]
        parts.append(x)
        if end != 0:
            parts.append(g.slice(x, [0], [end], [axis]))
        x = g.concat(parts, axis)
    return x


@lowering("aten::_pad_enum")
def pad_enum(g: Builder, self: Tensor, pad_: list[Size], mode: int, value: Any = None) -> Tensor:
    """_pad_enum(Tensor self, SymInt[] pad, int mode, float? value=None) -> Tensor"""
    return pad(g, self, pad_, ["constant", "reflect", "replicate", "circular"][mode], value)


@lowering("aten::_pad_circular")
def pad_circular(g: Builder, self: Tensor, pad_: list[Size]) -> Tensor:
    """_pad_circular(Tensor self, SymInt[] pad) -> Tensor"""
    return pad(g, self, pad_, "circular")


@lowering("aten::reflection_pad1d", "aten::reflection_pad2d", "aten::reflection_pad3d")
def reflection_pad(g: Builder, self: Tensor, padding: list[Size]) -> Tensor:
    """reflection_pad2d(Tensor self, SymInt[4] padding) -> Tensor"""
    return pad(g, self, padding, "reflect")


@lowering("aten::replication_pad1d", "aten::replication_pad2d", "aten::replication_pad3d")
def replication_pad(g: Builder, self: Tensor, padding: list[Size]) -> Tensor:
    """replication_pad2d(Tensor self, SymInt[4] padding) -> Tensor"""
    return pad(g, self, padding, "replicate")


__all__ = ["in_onnx_order", "pad"]


@lowering("aten::pad_sequence")
def pad_sequence(
    g: Builder,
    sequences: list[Tensor],
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:
    """pad_sequence(Tensor[] sequences, bool batch_first=False, float padding_value=0.0, str padding_side="right")
    -> Tensor"""
    lengths = [x.shape[0] for x in sequences]
    longest = functools.reduce(maximum, lengths)
    rows = []
    for x, length in zip(sequences, lengths):
        pads: list[Size] = [0] * (2 * x.rank)
        pads[x.rank if padding_side == "right" else 0] = longest - length
        row = g.pad(x, pads, "constant", padding_value)
        row.dims = (longest, *x.shape[1:])
        rows.append(g.unsqueeze(row, [0 if batch_first else 1]))
    return g.concat(rows, 0 if batch_first else 1)
