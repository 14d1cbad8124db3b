"""Quantization: fake, of tensors, and the layers of converted models."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ..dtypes import from_scalar_type
from ..errors import LoweringError
from ..lower.builder import Builder
from ..lower.quantized import STORED, QTensor, dequantize, parameters, quantize
from ..lower.registry import evaluation, find, lowering, quantized_lowering
from ..lower.values import Number, Tensor
from ..program import Node

if TYPE_CHECKING:
    from ..lower.evaluator import Evaluator

# -- to and from integers -------------------------------------------------------------------------


@lowering("aten::quantize_per_tensor", "aten::quantize_per_tensor.tensor_qparams")
def quantize_per_tensor(g: Builder, self: Tensor, scale: Any, zero_point: Any, dtype: int) -> QTensor:
    """quantize_per_tensor(Tensor self, float scale, int zero_point, ScalarType dtype) -> Tensor"""
    kind = from_scalar_type(dtype)
    if isinstance(scale, Tensor):
        scale, zero_point = g.reshape(scale, []), g.reshape(zero_point, [])
    return quantize(g, self, *parameters(g, scale, zero_point, kind), kind)


@lowering("aten::quantize_per_channel")
def quantize_per_channel(
    g: Builder, self: Tensor, scales: Tensor, zero_points: Tensor, axis: int, dtype: int
) -> QTensor:
    """quantize_per_channel(Tensor self, Tensor scales, Tensor zero_points, int axis, ScalarType dtype) -> Tensor"""
    kind = from_scalar_type(dtype)
    return quantize(g, self, *parameters(g, scales, zero_points, kind), kind, axis % self.rank)


@quantized_lowering("aten::dequantize")
def dequantize_self(g: Builder, self: Any) -> Any:
    """dequantize.self(Tensor self) -> Tensor"""
    return [dequantize(g, x) for x in self] if isinstance(self, list) else dequantize(g, self)


@lowering("aten::dequantize")
def dequantize_float(g: Builder, self: Any) -> Any:
    """dequantize.self(Tensor self) -> Tensor, of a tensor that isn't quantized"""
    return g.cast(self, torch.float32)


@quantized_lowering("aten::int_repr")
def int_repr(g: Builder, self: QTensor) -> Tensor:
    """int_repr(Tensor self) -> Tensor"""
    return self.integers


@quantized_lowering("aten::q_scale")
def q_scale(g: Builder, self: QTensor) -> float:
    """q_scale(Tensor self) -> float"""
    return float(_constant(self.scale))


@quantized_lowering("aten::q_zero_point")
def q_zero_point(g: Builder, self: QTensor) -> int:
    """q_zero_point(Tensor self) -> int"""
    return int(_constant(self.zero_point))


@quantized_lowering("aten::q_per_channel_scales")
def q_per_channel_scales(g: Builder, self: QTensor) -> Tensor:
    """q_per_channel_scales(Tensor self) -> Tensor"""
    return g.cast(self.scale, torch.float64)


@quantized_lowering("aten::q_per_channel_zero_points")
def q_per_channel_zero_points(g: Builder, self: QTensor) -> Tensor:
    """q_per_channel_zero_points(Tensor self) -> Tensor"""
    return g.cast(self.zero_point, torch.int64)


def _constant(x: Tensor) -> Any:
    if not x.is_constant or x.data is None:
        raise LoweringError("the scale and zero point of this tensor are known only at run time, but must be constants")
    return x.data


# -- fake quantization ----------------------------------------------------------------------------


def _fake(g: Builder, x: Tensor, scale: Tensor, zero_point: Tensor, low: int, high: int, axis: int | None) -> Tensor:
    """Quantize and dequantize. The range may be narrower than that of the type: the floats are clipped to it first."""
    kind = torch.quint8 if low >= 0 else torch.qint8
    limits = torch.iinfo(STORED[kind])
    if low < limits.min or high > limits.max or zero_point.is_float:
        kind = torch.qint32
        limits = torch.iinfo(STORED[kind])
    dtype = x.dtype
    wide = g.cast(x, torch.float32)
    q = quantize(g, wide, g.cast(scale, torch.float32), g.cast(zero_point, STORED[kind]), kind, axis)
    if (low, high) != (limits.min, limits.max):
        q = q.like(g.clip(q.integers, low, high))
    return g.cast(dequantize(g, q), dtype)


@lowering("aten::fake_quantize_per_tensor_affine")
def fake_quantize_per_tensor(
    g: Builder, self: Tensor, scale: Any, zero_point: Any, quant_min: int, quant_max: int
) -> Tensor:
    """fake_quantize_per_tensor_affine(Tensor self, float scale, int zero_point, int quant_min, int quant_max) -> Tensor"""
    if isinstance(scale, Tensor):
        scale, zero_point = g.reshape(scale, []), g.reshape(zero_point, [])
    scale, zero = g.scalar(scale, torch.float32), g.scalar(zero_point, torch.int32)
    return _fake(g, self, scale, zero, quant_min, quant_max, None)


@lowering("aten::fake_quantize_per_tensor_affine_cachemask")
def fake_quantize_cachemask(g: Builder, self: Tensor, *rest: Any) -> tuple[Tensor, None]:
    """fake_quantize_per_tensor_affine_cachemask(Tensor self, float scale, int zero_point, int quant_min, int quant_max)
    -> (Tensor output, Tensor mask)"""
    return fake_quantize_per_tensor(g, self, *rest), None


@lowering("aten::_fake_quantize_per_tensor_affine_cachemask_tensor_qparams")
def fake_quantize_tensor_qparams(
    g: Builder, self: Tensor, scale: Tensor, zero_point: Tensor, fake_quant_enabled: Tensor, low: int, high: int
) -> tuple[Tensor, None]:
    """_fake_quantize_per_tensor_affine_cachemask_tensor_qparams(Tensor self, Tensor scale, Tensor zero_point,
    Tensor fake_quant_enabled, int quant_min, int quant_max) -> (Tensor output, Tensor mask)"""
    made = fake_quantize_per_tensor(g, self, scale, zero_point, low, high)
    return _if_on(g, fake_quant_enabled, made, self), None


def _if_on(g: Builder, flag: Tensor, made: Tensor, x: Tensor) -> Tensor:
    if flag.is_constant and flag.data is not None:
        return made if flag.data.item() == 1 else x
    return g.where(g.equal(g.reshape(flag, []), 1), made, x)


@lowering("aten::fake_quantize_per_channel_affine")
def fake_quantize_per_channel(
    g: Builder, self: Tensor, scale: Tensor, zero_point: Tensor, axis: int, quant_min: int, quant_max: int
) -> Tensor:
    """fake_quantize_per_channel_affine(Tensor self, Tensor scale, Tensor zero_point, int axis, int quant_min,
    int quant_max) -> Tensor"""
    return _fake(g, self, scale, zero_point, quant_min, quant_max, axis % self.rank)


@lowering("aten::fake_quantize_per_channel_affine_cachemask")
def fake_quantize_per_channel_cachemask(g: Builder, self: Tensor, *rest: Any) -> tuple[Tensor, None]:
    """fake_quantize_per_channel_affine_cachemask(Tensor self, Tensor scale, Tensor zero_point, int axis, int quant_min,
    int quant_max) -> (Tensor output, Tensor mask)"""
    return fake_quantize_per_channel(g, self, *rest), None


@lowering("aten::_fake_quantize_learnable_per_tensor_affine")
def fake_quantize_learnable(
    g: Builder, self: Tensor, scale: Tensor, zero_point: Tensor, low: int, high: int, grad_factor: float = 1.0
) -> Tensor:
    """_fake_quantize_learnable_per_tensor_affine(Tensor self, Tensor scale, Tensor zero_point, int quant_min,
    int quant_max, float grad_factor=1.0) -> Tensor; the zero point is a float"""
    return fake_quantize_per_tensor(g, self, scale, _rounded(g, zero_point, low, high), low, high)


@lowering("aten::_fake_quantize_learnable_per_channel_affine")
def fake_quantize_learnable_per_channel(
    g: Builder,
    self: Tensor,
    scale: Tensor,
    zero_point: Tensor,
    axis: int,
    low: int,
    high: int,
    grad_factor: float = 1.0,
) -> Tensor:
    """_fake_quantize_learnable_per_channel_affine(Tensor self, Tensor scale, Tensor zero_point, int axis, int quant_min,
    int quant_max, float grad_factor=1.0) -> Tensor; zero points are floats"""
    return fake_quantize_per_channel(g, self, scale, _rounded(g, zero_point, low, high), axis, low, high)


def _rounded(g: Builder, zero_point: Tensor, low: int, high: int) -> Tensor:
    return g.cast(g.clip(g.round(zero_point), low, high), torch.int32)


@evaluation("aten::fused_moving_avg_obs_fake_quant")
def fused_observer(ev: Evaluator, node: Node) -> None:
    """Nothing is written while the observer is off."""
    ev.bind(node, [ev.hold(_observed(ev.g, *(ev.resolved(ev.operand(x)) for x in node.inputs)))])


def _observed(
    g: Builder,
    self: Tensor,
    observer_on: Tensor,
    fake_quant_on: Tensor,
    running_min: Tensor,
    running_max: Tensor,
    scale: Tensor,
    zero_point: Tensor,
    averaging_const: float,
    low: int,
    high: int,
    axis: int,
    per_row: bool = False,
    symmetric: bool = False,
) -> Tensor:
    """fused_moving_avg_obs_fake_quant(Tensor self, Tensor observer_on, Tensor fake_quant_on, Tensor(a!) running_min,
    Tensor(b!) running_max, Tensor(c!) scale, Tensor(d!) zero_point, float averaging_const, int quant_min, int quant_max,
    int ch_axis, bool per_row_fake_quant=False, bool symmetric_quant=False) -> Tensor"""
    if not observer_on.is_constant or observer_on.data is None or observer_on.data.any():
        raise LoweringError("an observer is still on; call model.apply(torch.ao.quantization.disable_observer) before")
    if per_row:
        made = fake_quantize_per_channel(g, self, scale, zero_point, axis, low, high)
    else:
        made = fake_quantize_per_tensor(g, self, scale, zero_point, low, high)
    return _if_on(g, fake_quant_on, made, self)


# -- packed weights -------------------------------------------------------------------------------


def quantized_weight(g: Builder, tensor: torch.Tensor) -> QTensor:
    """A quantized weight as constants."""
    stored = g.known(tensor.int_repr().numpy(), STORED[tensor.dtype], from_weight=True)
    if tensor.qscheme() in (torch.per_channel_affine, torch.per_channel_symmetric):
        g.require(13, "a layer with weights quantized per channel")
        scale = g.const(tensor.q_per_channel_scales().numpy(), torch.float32)
        zero_point = g.const(tensor.q_per_channel_zero_points().numpy(), stored.dtype)
        return QTensor(tensor.dtype, stored, scale, zero_point, tensor.q_per_channel_axis())
    if tensor.qscheme() not in (torch.per_tensor_affine, torch.per_tensor_symmetric):
        raise LoweringError(f"weights quantized as {tensor.qscheme()} can't be converted")
    return QTensor(tensor.dtype, stored, *parameters(g, tensor.q_scale(), tensor.q_zero_point(), tensor.dtype))


def _bias(g: Builder, bias: torch.Tensor | None, x: QTensor, weight: QTensor) -> Tensor | None:
    """A bias as int32 of the accumulator's scale, by which runtimes know a quantized layer."""
    if bias is None:
        return None
    values = bias.detach().numpy()
    if not x.scale.is_constant:
        zeros = g.const(np.zeros(() if weight.axis is None else bias.shape[0], np.int32), torch.int32)
        wide, axis = g.known(values, torch.float32, from_weight=True), None if weight.axis is None else 0
        return dequantize(g, quantize(g, wide, g.mul(x.scale, weight.scale), zeros, torch.qint32, axis))
    scale = np.atleast_1d(_constant(x.scale).astype(np.float64) * _constant(weight.scale))
    integers = np.rint(values / scale)
    if np.abs(integers).max(initial=0) >= 1 << 31:
        return g.known(values, torch.float32, from_weight=True)
    axis = None if weight.axis is None else 0
    known = g.known(integers.astype(np.int32), torch.int32, from_weight=True)
    factor = g.const(scale if axis == 0 else scale[0], torch.float32)
    zero = g.const(np.zeros(scale.shape if axis == 0 else (), np.int32), torch.int32)
    return dequantize(g, QTensor(torch.qint32, known, factor, zero, axis))


def _conv(g: Builder, x: QTensor, packed: Any, scale: float, zero_point: int, kind: str, rank: int) -> QTensor:
    """A convolution with packed weights; of one dimension they are packed as of two."""
    ops = torch.ops.quantized
    form = kind.removesuffix("_relu")
    name = f"{form}{max(rank, 2)}d"
    weight, bias = getattr(ops, f"{form}{rank}d_unpack")(packed)
    transposed = form == "conv_transpose"
    stride, padding, dilation, more = (
        list(getattr(ops, f"{name}_{what}")(packed))[-rank:] if what else [0] * rank
        for what in ("stride", "padding", "dilation", "output_padding" if transposed else "")
    )
    w = quantized_weight(g, weight)
    convolve = find("aten::convolution")
    assert convolve is not None
    y = convolve(
        g, dequantize(g, x), dequantize(g, w), _bias(g, bias, x, w), stride, padding, dilation, transposed, more,
        getattr(ops, f"{name}_groups")(packed),
    )  # fmt: skip
    return _requantized(g, y, scale, zero_point, x.dtype, relu=kind != form)


def _requantized(g: Builder, y: Tensor, scale: Any, zero_point: Any, dtype: torch.dtype, relu: bool = False) -> QTensor:
    y = g.relu(y) if relu else y
    return quantize(g, y, *parameters(g, scale, zero_point, dtype), dtype)


def _register_conv(rank: int, kind: str) -> None:
    form = kind.removesuffix("_relu")
    name = f"quantized::{form}{rank}d{kind.removeprefix(form)}"

    def conv(g: Builder, qx: QTensor, packed_weight: Any, *rest: Any) -> QTensor:
        """conv2d.new(Tensor qx, Conv2dPackedParamsBase packed_weight, float output_scale, int output_zero_point) -> Tensor"""
        scale, zero_point = rest[-2:]  # the old form repeats in between what is packed
        return _conv(g, qx, packed_weight, scale, zero_point, kind, rank)

    quantized_lowering(name)(conv)


for _rank in (1, 2, 3):
    for _kind in ("conv", "conv_relu", "conv_transpose"):
        _register_conv(_rank, _kind)


def _linear(g: Builder, x: Tensor, weight: QTensor, bias: Tensor | None) -> Tensor:
    if x.rank == 2:
        return g.op("Gemm", x, dequantize(g, weight), bias, transB=1)
    axis = None if weight.axis is None else 1 - weight.axis
    turned = QTensor(weight.dtype, g.transpose(weight.integers, [1, 0]), weight.scale, weight.zero_point, axis)
    product = g.matmul(x, dequantize(g, turned))
    return product if bias is None else g.add(product, bias)


@quantized_lowering("quantized::linear")
def quantized_linear(
    g: Builder, X: QTensor, W_prepack: Any, scale: float, zero_point: int, relu: bool = False
) -> QTensor:
    """linear(Tensor X, LinearPackedParamsBase W_prepack, float Y_scale_i, int Y_zero_point_i) -> Tensor Y"""
    weight, bias = torch.ops.quantized.linear_unpack(W_prepack)
    w = quantized_weight(g, weight)
    return _requantized(g, _linear(g, dequantize(g, X), w, _bias(g, bias, X, w)), scale, zero_point, X.dtype, relu)


@quantized_lowering("quantized::linear_relu")
def quantized_linear_relu(g: Builder, X: QTensor, W_prepack: Any, scale: float, zero_point: int) -> QTensor:
    """linear_relu(Tensor X, LinearPackedParamsBase W_prepack, float Y_scale_i, int Y_zero_point_i) -> Tensor Y"""
    return quantized_linear(g, X, W_prepack, scale, zero_point, relu=True)


@lowering("quantized::linear_dynamic")
def linear_dynamic(g: Builder, X: Tensor, W_prepack: Any, reduce_range: bool = False) -> Tensor:
    """linear_dynamic(Tensor X, LinearPackedParamsBase W_prepack, bool reduce_range=False) -> Tensor Y"""
    weight, bias = torch.ops.quantized.linear_unpack(W_prepack)
    known = None if bias is None else g.known(bias.detach().numpy(), torch.float32, from_weight=True)
    return _linear(g, in_range(g, X, 127.0 if reduce_range else 255.0), quantized_weight(g, weight), known)


@lowering("quantized::linear_relu_dynamic")
def linear_relu_dynamic(g: Builder, X: Tensor, W_prepack: Any, reduce_range: bool = False) -> Tensor:
    """linear_relu_dynamic(Tensor X, LinearPackedParamsBase W_prepack, bool reduce_range=False) -> Tensor Y"""
    return g.relu(linear_dynamic(g, X, W_prepack, reduce_range))


def in_range(g: Builder, x: Tensor, levels: float) -> Tensor:
    """x rounded to that many steps between its own extremes, zero among them."""
    low = g.extremum("Min", g.reduce("ReduceMin", x), 0.0)
    high = g.extremum("Max", g.reduce("ReduceMax", x), 0.0)
    scale = g.div(g.sub(high, low), levels)
    scale = g.where(g.equal(scale, 0.0), g.const(0.1, torch.float32), scale)  # as PyTorch, if all is zero
    zero = g.clip(g.round(g.neg(g.div(low, scale))), 0.0, levels)
    integers = g.clip(g.add(g.round(g.div(x, scale)), zero), 0.0, levels)
    return g.mul(g.sub(integers, zero), scale)


# -- arithmetic and activations -------------------------------------------------------------------


def _register_binary(name: str, combine: Callable[[Builder, Tensor, Tensor], Tensor], relu: bool) -> None:
    @quantized_lowering(f"quantized::{name}")
    def binary(g: Builder, qa: QTensor, qb: QTensor, scale: float, zero_point: int) -> QTensor:
        """add(Tensor qa, Tensor qb, float scale, int zero_point) -> Tensor qc"""
        return _requantized(g, combine(g, dequantize(g, qa), dequantize(g, qb)), scale, zero_point, qa.dtype, relu)


for _relu in (False, True):
    _suffix = "_relu" if _relu else ""
    _register_binary(f"add{_suffix}", lambda g, a, b: g.add(a, b), _relu)
    _register_binary(f"mul{_suffix}", lambda g, a, b: g.mul(a, b), _relu)
_register_binary("matmul", lambda g, a, b: g.matmul(a, b), False)


@quantized_lowering("quantized::cat")
def cat(g: Builder, qx: list[QTensor], dim: int, scale: float | None, zero_point: int | None) -> QTensor:
    """cat(Tensor[] qx, int dim, float? scale, int? zero_point) -> Tensor"""
    first = qx[0]
    joined = g.concat([dequantize(g, x) for x in qx], dim % first.rank)
    if scale is None or zero_point is None:
        return quantize(g, joined, first.scale, first.zero_point, first.dtype)
    return _requantized(g, joined, scale, zero_point, first.dtype)


@quantized_lowering("quantized::mul_scalar", "quantized::mul.Scalar")
def mul_scalar(g: Builder, qa: QTensor, b: float, relu: bool = False) -> QTensor:
    """mul_scalar(Tensor qa, Scalar b) -> Tensor qc"""
    scale, zero_point = float(_constant(qa.scale)), int(_constant(qa.zero_point))
    limits = torch.iinfo(STORED[qa.dtype])
    if b == 0:
        scale, zero_point = 1.0, 0
    else:
        scale, zero_point = scale * abs(b), zero_point if b > 0 else limits.max + limits.min - zero_point
    return _requantized(g, g.mul(dequantize(g, qa), float(b)), scale, zero_point, qa.dtype)


@quantized_lowering("quantized::add_scalar", "quantized::add.Scalar")
def add_scalar(g: Builder, qa: QTensor, b: float) -> QTensor:
    """add_scalar(Tensor qa, Scalar b) -> Tensor qc"""
    scale, zero_point = float(_constant(qa.scale)), int(_constant(qa.zero_point))
    limits = torch.iinfo(STORED[qa.dtype])
    steps = round(b / scale)
    moved, span = zero_point - steps, limits.max - limits.min
    result = g.add(dequantize(g, qa), steps * scale)
    if moved < limits.min:
        return _requantized(g, result, (limits.max - moved) / span * scale, limits.min, qa.dtype)
    if moved > limits.max:
        return _requantized(g, result, (moved - limits.min) / span * scale, limits.max, qa.dtype)
    return _requantized(g, result, scale, moved, qa.dtype)


def _register_activation(name: str, of: str) -> None:
    """`name(qx, ..., output_scale, output_zero_point)` as the float op `of(x, ...)`."""

    @quantized_lowering(f"quantized::{name}")
    def activation(g: Builder, qx: QTensor, *rest: Any) -> QTensor:
        """hardswish(Tensor input, float output_scale, int output_zero_point) -> Tensor"""
        lower = find(of)
        assert lower is not None
        *arguments, scale, zero_point = rest
        return _requantized(g, lower(g, dequantize(g, qx), *arguments), scale, zero_point, qx.dtype)


for _name in ("hardswish", "sigmoid"):
    _register_activation(_name, f"aten::{_name}")


@quantized_lowering("quantized::leaky_relu")
def leaky_relu(g: Builder, qx: QTensor, slope: Number, inplace: bool, scale: float, zero_point: int) -> QTensor:
    """leaky_relu(Tensor qx, Scalar negative_slope, bool inplace, float output_scale, int output_zero_point) -> Tensor"""
    lower = find("aten::leaky_relu")
    assert lower is not None
    return _requantized(g, lower(g, dequantize(g, qx), slope), scale, zero_point, qx.dtype)


@quantized_lowering("quantized::elu")
def elu(g: Builder, self: QTensor, scale: float, zero_point: int, *rest: Number) -> QTensor:
    """elu(Tensor self, float output_scale, int output_zero_point, Scalar alpha=1, ...) -> Tensor"""
    lower = find("aten::elu")
    assert lower is not None
    return _requantized(g, lower(g, dequantize(g, self), *rest), scale, zero_point, self.dtype)


@quantized_lowering("quantized::relu6")
def relu6(g: Builder, qx: QTensor, inplace: bool = False) -> QTensor:
    """relu6(Tensor qx, bool inplace=False) -> Tensor"""
    return quantize(g, g.clip(dequantize(g, qx), 0.0, 6.0), qx.scale, qx.zero_point, qx.dtype)


@quantized_lowering(
    "quantized::batch_norm1d", "quantized::batch_norm2d", "quantized::batch_norm3d", "quantized::batch_norm"
)
def batch_norm(
    g: Builder, qx: QTensor, weight: Tensor | None, bias: Tensor | None, mean: Tensor, var: Tensor, eps: float,
    scale: float, zero_point: int,
) -> QTensor:  # fmt: skip
    """batch_norm2d(Tensor qx, Tensor? weight, Tensor? bias, Tensor mean, Tensor var, float eps, float output_scale,
    int output_zero_point) -> Tensor"""
    lower = find("aten::batch_norm")
    assert lower is not None
    y = lower(g, dequantize(g, qx), weight, bias, mean, var, False, 0.0, eps, False)
    return _requantized(g, y, scale, zero_point, qx.dtype)


@quantized_lowering("quantized::layer_norm")
def layer_norm(g: Builder, input: QTensor, normalized_shape: list[int], *rest: Any) -> QTensor:
    """layer_norm(Tensor input, int[] normalized_shape, Tensor? weight, Tensor? bias, float eps, float output_scale,
    int output_zero_point) -> Tensor"""
    return _normalized(g, "aten::layer_norm", input, normalized_shape, *rest)


@quantized_lowering("quantized::group_norm")
def group_norm(g: Builder, qx: QTensor, num_groups: int, *rest: Any) -> QTensor:
    """group_norm(Tensor qx, int num_groups, Tensor? weight, Tensor? bias, float eps, float output_scale,
    int output_zero_point) -> Tensor"""
    return _normalized(g, "aten::group_norm", qx, num_groups, *rest)


@quantized_lowering("quantized::instance_norm")
def instance_norm(
    g: Builder, input: QTensor, weight: Tensor | None, bias: Tensor | None, eps: float, scale: float, zero_point: int
) -> QTensor:
    """instance_norm(Tensor input, Tensor? weight, Tensor? bias, float eps, float output_scale, int output_zero_point)
    -> Tensor"""
    return _normalized(
        g, "aten::instance_norm", input, weight, bias, None, None, True, 0.0, eps, False, scale, zero_point
    )


def _normalized(g: Builder, of: str, x: QTensor, *rest: Any) -> QTensor:
    """A normalization on floats, whose last arguments are the scale and zero point of the result."""
    lower = find(of)
    assert lower is not None
    *arguments, scale, zero_point = rest
    return _requantized(g, lower(g, dequantize(g, x), *arguments), scale, zero_point, x.dtype)


def _register_fixed(name: str, scale: float, zero_point: int) -> None:
    """An activation whose range is known, so that its result has a scale of its own (for quint8)."""

    @quantized_lowering(f"aten::{name}")
    def fixed(g: Builder, self: QTensor, *rest: Any) -> QTensor:
        """sigmoid(Tensor self) -> Tensor"""
        lower = find(f"aten::{name}")
        assert lower is not None
        if self.dtype != torch.quint8:
            raise LoweringError(f"{name} of {self.dtype} can't be converted; use quint8")
        return _requantized(g, lower(g, dequantize(g, self), *rest), scale, zero_point, self.dtype)


_register_fixed("sigmoid", 1 / 256, 0)
_register_fixed("hardsigmoid", 1 / 256, 0)
_register_fixed("tanh", 2 / 256, 128)
