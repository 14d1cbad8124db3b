"""Quantization of exported programs (PT2E): integers are plain tensors there, scales and zero points arguments."""

from __future__ import annotations

from typing import Any

import torch

from ..dtypes import from_scalar_type
from ..errors import LoweringError
from ..lower.builder import Builder
from ..lower.quantized import STORED, QTensor, dequantize, quantize
from ..lower.registry import lowering
from ..lower.values import Tensor

KINDS = {stored: kind for kind, stored in STORED.items() if stored != torch.int32}


def _to_integers(
    g: Builder, x: Tensor, scale: Any, zero: Any, low: Any, high: Any, dtype: int, axis: int | None = None
) -> Tensor:
    """By QuantizeLinear, which runtimes fuse, where it has the type; scale and zero point are 0-d or vectors along axis."""
    to = from_scalar_type(dtype)
    low, high = _number(low), _number(high)
    x = g.cast(x, torch.float32)
    if to not in KINDS:
        return _rounded(g, x, _along(g, scale, axis, x), _along(g, zero, axis, x), low, high, to)
    integers = quantize(g, x, _of(g, scale, axis, torch.float32), _of(g, zero, axis, to), KINDS[to], axis).integers
    limits = torch.iinfo(to)
    return integers if (low, high) == (limits.min, limits.max) else g.clip(integers, low, high)


def _to_floats(g: Builder, x: Tensor, scale: Any, zero: Any, out_dtype: int | None, axis: int | None = None) -> Tensor:
    dtype = torch.float32 if out_dtype is None else from_scalar_type(out_dtype)
    if x.dtype not in KINDS:
        return g.cast(_restored(g, x, _along(g, scale, axis, x), _along(g, zero, axis, x)), dtype)
    zero = 0 if zero is None else zero
    if axis is not None and not isinstance(zero, Tensor):
        zero = g.full([x.shape[axis]], zero, x.dtype)
    q = QTensor(KINDS[x.dtype], x, _of(g, scale, axis, torch.float32), _of(g, zero, axis, x.dtype), axis)
    return g.cast(dequantize(g, q), dtype)


def _rounded(g: Builder, x: Tensor, scale: Tensor, zero: Tensor, low: int, high: int, to: torch.dtype) -> Tensor:
    """Rounded to integers and clipped; scales and zero points broadcast."""
    integers = g.add(g.round(g.mul(x, g.div(1.0, scale))), zero)
    return g.cast(g.clip(integers, float(low), float(high)), to)


def _restored(g: Builder, x: Tensor, scale: Tensor, zero: Tensor) -> Tensor:
    return g.mul(g.sub(g.cast(x, torch.float32), zero), scale)


def _of(g: Builder, value: Any, axis: int | None, dtype: torch.dtype) -> Tensor:
    """A scale or zero point as ONNX wants it."""
    if not isinstance(value, Tensor):
        return g.scalar(value, dtype)
    return g.cast(g.reshape(value, [value.numel] if axis is not None else []), dtype)


def _along(g: Builder, value: Any, axis: int | None, x: Tensor) -> Tensor:
    """Likewise, to be broadcast with x, as floats."""
    vector = _of(g, 0 if value is None else value, axis, torch.float32)
    return vector if axis is None or vector.rank == 0 else g.unsqueeze(vector, [i for i in range(x.rank) if i != axis])


def _number(limit: Any) -> int:
    if isinstance(limit, Tensor):
        if not limit.is_constant or limit.data is None:
            raise LoweringError("the range of a quantized type is known only at run time; give it as numbers")
        return int(limit.data.reshape(-1)[0])
    return int(limit)


# -- per tensor, per channel ----------------------------------------------------------------------


@lowering("quantized_decomposed::quantize_per_tensor")
def quantize_per_tensor(
    g: Builder, input: Tensor, scale: Any, zero_point: Any, quant_min: Any, quant_max: Any, dtype: int
) -> Tensor:
    """quantize_per_tensor(Tensor input, float scale, int zero_point, int quant_min, int quant_max, ScalarType dtype)
    -> Tensor; scale, zero point and range may be tensors"""
    return _to_integers(g, input, scale, zero_point, quant_min, quant_max, dtype)


@lowering("quantized_decomposed::dequantize_per_tensor")
def dequantize_per_tensor(
    g: Builder,
    input: Tensor,
    scale: Any,
    zero_point: Any,
    quant_min: Any,
    quant_max: Any,
    dtype: int,
    out_dtype: int | None = None,
) -> Tensor:
    """dequantize_per_tensor(Tensor input, float scale, int zero_point, int quant_min, int quant_max, ScalarType dtype, *,
    ScalarType? out_dtype=None) -> Tensor"""
    return _to_floats(g, input, scale, zero_point, out_dtype)


@lowering("quantized_decomposed::quantize_per_channel")
def quantize_per_channel(
    g: Builder, input: Tensor, scales: Tensor, zero_points: Tensor, axis: int, low: int, high: int, dtype: int
) -> Tensor:
    """quantize_per_channel(Tensor input, Tensor scales, Tensor zero_points, int axis, int quant_min, int quant_max,
    ScalarType dtype) -> Tensor"""
    return _to_integers(g, input, scales, zero_points, low, high, dtype, axis % input.rank)


@lowering("quantized_decomposed::dequantize_per_channel")
def dequantize_per_channel(
    g: Builder,
    input: Tensor,
    scales: Tensor,
    zero_points: Tensor | None,
    axis: int,
    low: int,
    high: int,
    dtype: int,
    out_dtype: int | None = None,
) -> Tensor:
    """dequantize_per_channel(Tensor input, Tensor scales, Tensor? zero_points, int axis, int quant_min, int quant_max,
    ScalarType dtype, *, ScalarType? out_dtype=None) -> Tensor"""
    return _to_floats(g, input, scales, zero_points, out_dtype, axis % input.rank)


@lowering("quantized_decomposed::fake_quant_per_channel")
def fake_quant_per_channel(
    g: Builder, input: Tensor, scales: Tensor, zero_points: Tensor, axis: int, low: int, high: int
) -> Tensor:
    """fake_quant_per_channel(Tensor input, Tensor scales, Tensor zero_points, int axis, int quant_min, int quant_max)
    -> Tensor"""
    axis %= input.rank
    scale, zero = _along(g, scales, axis, input), _along(g, zero_points, axis, input)
    return _restored(g, _rounded(g, input, scale, zero, low, high, torch.int32), scale, zero)


# -- per token, per group -------------------------------------------------------------------------


@lowering("quantized_decomposed::quantize_per_token")
def quantize_per_token(
    g: Builder, input: Tensor, scales: Tensor, zero_points: Tensor, low: int, high: int, dtype: int
) -> Tensor:
    """quantize_per_token(Tensor input, Tensor scales, Tensor zero_points, int quant_min, int quant_max, ScalarType dtype)
    -> Tensor"""
    scale, zero = g.cast(scales, torch.float32), g.cast(zero_points, torch.float32)
    return _rounded(g, g.cast(input, torch.float32), scale, zero, low, high, from_scalar_type(dtype))


@lowering("quantized_decomposed::dequantize_per_token")
def dequantize_per_token(
    g: Builder, input: Tensor, scales: Tensor, zero_points: Tensor, low: int, high: int, dtype: int, output_dtype: int
) -> Tensor:
    """dequantize_per_token(Tensor input, Tensor scales, Tensor zero_points, int quant_min, int quant_max,
    ScalarType dtype, ScalarType output_dtype) -> Tensor"""
    scale, zero = g.cast(scales, torch.float32), g.cast(zero_points, torch.float32)
    return g.cast(_restored(g, input, scale, zero), from_scalar_type(output_dtype))


@lowering("quantized_decomposed::quantize_per_channel_group")
def quantize_per_channel_group(
    g: Builder, input: Tensor, scales: Tensor, zero_points: Tensor, low: int, high: int, dtype: int, group_size: int
) -> Tensor:
    """quantize_per_channel_group(Tensor input, Tensor scales, Tensor zero_points, int quant_min, int quant_max,
    ScalarType dtype, int group_size) -> Tensor"""
    groups = g.reshape(g.cast(input, torch.float32), [input.numel // group_size, group_size])
    scale, zero = (g.cast(g.reshape(x, [x.numel, 1]), torch.float32) for x in (scales, zero_points))
    return g.reshape(_rounded(g, groups, scale, zero, low, high, from_scalar_type(dtype)), input.shape)


@lowering("quantized_decomposed::dequantize_per_channel_group")
def dequantize_per_channel_group(
    g: Builder,
    input: Tensor,
    scales: Tensor,
    zero_points: Tensor | None,
    low: int,
    high: int,
    dtype: int,
    group_size: int,
    output_dtype: int,
) -> Tensor:
    """dequantize_per_channel_group(Tensor input, Tensor scales, Tensor? zero_points, int quant_min, int quant_max,
    ScalarType dtype, int group_size, ScalarType output_dtype) -> Tensor"""
    scale = g.cast(g.reshape(scales, [scales.numel, 1]), torch.float32)
    zero = g.const(0.0, torch.float32)
    if zero_points is not None:
        zero = g.cast(g.reshape(zero_points, [zero_points.numel, 1]), torch.float32)
    groups = _restored(g, g.reshape(input, [input.numel // group_size, group_size]), scale, zero)
    return g.cast(g.reshape(groups, input.shape), from_scalar_type(output_dtype))


# -- parameters from the data ---------------------------------------------------------------------


@lowering("quantized_decomposed::choose_qparams")
def choose_qparams(g: Builder, input: Tensor, low: int, high: int, eps: float, dtype: int) -> tuple[Tensor, Tensor]:
    """choose_qparams.tensor(Tensor input, int quant_min, int quant_max, float eps, ScalarType dtype) -> (Tensor, Tensor)"""
    least, most = (g.reduce(op, g.cast(input, torch.float32)) for op in ("ReduceMin", "ReduceMax"))
    least, most = g.clip(least, None, 0.0), g.clip(most, 0.0)
    scale = g.clip(g.div(g.sub(most, least), float(high - low)), eps)
    zero = g.clip(g.sub(float(low), g.round(g.div(least, scale))), float(low), float(high))
    return _parameters(g, scale, zero)


@lowering("quantized_decomposed::choose_qparams_symmetric")
def choose_qparams_symmetric(
    g: Builder, input: Tensor, low: int, high: int, eps: float, dtype: int
) -> tuple[Tensor, Tensor]:
    """choose_qparams_symmetric.tensor(Tensor input, int quant_min, int quant_max, float eps, ScalarType dtype)
    -> (Tensor, Tensor)"""
    most = g.reduce("ReduceMax", g.abs(g.cast(input, torch.float32)))
    scale = g.clip(g.div(most, float(high - low) / 2), eps)
    middle = 128.0 if from_scalar_type(dtype) == torch.uint8 else 0.0
    return _parameters(g, scale, g.const(middle, torch.float32))


def _parameters(g: Builder, scale: Tensor, zero: Tensor) -> tuple[Tensor, Tensor]:
    return g.cast(g.reshape(scale, [1]), torch.float64), g.cast(g.reshape(zero, [1]), torch.int64)


@lowering("quantized_decomposed::choose_qparams_per_token")
def choose_qparams_per_token(g: Builder, input: Tensor, dtype: int) -> tuple[Tensor, Tensor]:
    """choose_qparams_per_token(Tensor input, ScalarType dtype) -> (Tensor, Tensor)"""
    wide = g.cast(input, torch.float32) if input.dtype == torch.float16 else input
    scale = g.div(g.clip(g.reduce("ReduceMax", g.abs(wide), [-1], True), 1e-5), 127.0)
    return scale, g.full(scale.shape, 0.0, scale.dtype)


@lowering(
    "quantized_decomposed::choose_qparams_per_token_asymmetric",
    "quantized_decomposed::_choose_qparams_per_token_asymmetric_impl",
)
def choose_qparams_per_token_asymmetric(g: Builder, input: Tensor, dtype: int) -> tuple[Tensor, Tensor]:
    """choose_qparams_per_token_asymmetric(Tensor input, ScalarType dtype) -> (Tensor, Tensor)"""
    x = g.cast(input, torch.float32)
    least = g.clip(g.reduce("ReduceMin", x, [-1], True), None, 0.0)
    most = g.clip(g.reduce("ReduceMax", x, [-1], True), 0.0)
    scale = g.clip(g.div(g.sub(most, least), 255.0), torch.finfo(torch.float32).eps)
    low, high = g.div(least, scale), g.div(most, scale)
    further = g.greater(g.add(g.add(low, -128.0), g.add(high, 127.0)), 0.0)
    zero = g.where(further, g.sub(-128.0, low), g.sub(127.0, high))
    zero = g.round(g.clip(zero, -128.0, 127.0))
    return g.cast(scale, torch.float64), g.cast(zero, torch.int64)


@lowering("quantized_decomposed::convert_element_type")
def convert_element_type(g: Builder, input: Tensor, dtype: int) -> Tensor:
    """convert_element_type.no_fuse(Tensor input, ScalarType dtype) -> Tensor"""
    return g.cast(input, from_scalar_type(dtype))
