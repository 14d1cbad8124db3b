"""Activation functions, softmax."""

from __future__ import annotations

import math
from typing import Any

import torch

from ..dims import known_eq
from ..dtypes import from_scalar_type
from ..errors import LoweringError
from ..lower.builder import Builder
from ..lower.registry import lowering, out_lowering
from ..lower.values import Tensor
from .axes import wrap
from .comparison import clamp

# -- with an ONNX op of their own -----------------------------------------------------------------


@lowering("aten::relu")
def relu(g: Builder, self: Tensor) -> Tensor:
    """relu(Tensor self) -> Tensor"""
    return g.relu(self)


@lowering("aten::relu6")
def relu6(g: Builder, self: Tensor) -> Tensor:
    """relu6(Tensor self) -> Tensor"""
    return g.clip(self, 0, 6)


@lowering("aten::hardtanh")
def hardtanh(g: Builder, self: Tensor, min_val: Any = -1, max_val: Any = 1) -> Tensor:
    """hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor"""
    if self.is_float:
        return clamp(g, self, min_val, max_val)
    return g.clip(self, int(min_val), int(max_val))


@lowering("aten::sigmoid", "aten::special_expit")
def sigmoid(g: Builder, self: Tensor) -> Tensor:
    """sigmoid(Tensor self) -> Tensor"""
    return g.op("Sigmoid", _float(g, self))


@lowering("aten::tanh")
def tanh(g: Builder, self: Tensor) -> Tensor:
    """tanh(Tensor self) -> Tensor"""
    return g.op("Tanh", _float(g, self))


def _float(g: Builder, x: Tensor) -> Tensor:
    return x if x.is_inexact else g.cast(x, torch.get_default_dtype())


@lowering("aten::leaky_relu")
def leaky_relu(g: Builder, self: Tensor, negative_slope: Any = 0.01) -> Tensor:
    """leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor"""
    if self.dtype == torch.float64 or not isinstance(negative_slope, (int, float)):
        return g.where(g.greater(self, 0), self, g.mul(self, g.scalar(negative_slope, self.dtype)))
    return g.op("LeakyRelu", self, alpha=float(negative_slope))


@lowering("aten::prelu", "aten::_prelu_kernel")
def prelu(g: Builder, self: Tensor, weight: Tensor) -> Tensor:
    """prelu(Tensor self, Tensor weight) -> Tensor"""
    if weight.rank == 1 and self.rank > 2:
        weight = g.reshape(weight, [*weight.shape, *[1] * (self.rank - 2)])
    elif weight.rank == 1 and self.rank < 2:
        weight = g.reshape(weight, [1] * self.rank)  # a single slope
    if self.dtype == torch.float64 or self.rank == 0:
        return g.where(g.greater(self, 0), self, g.mul(self, weight))
    return g.op("PRelu", self, weight)


@lowering("aten::elu")
def elu(g: Builder, self: Tensor, alpha: Any = 1, scale: Any = 1, input_scale: Any = 1) -> Tensor:
    """elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor"""
    is_known = isinstance(alpha, (int, float))
    if scale == 1 and input_scale == 1 and self.dtype != torch.float64 and is_known:
        return g.op("Elu", self, alpha=float(alpha))
    factor = g.scalar(alpha * scale if is_known else alpha, self.dtype)
    negative = g.mul(g.expm1(g.mul(self, input_scale)), factor if is_known else g.mul(factor, scale))
    return g.where(g.greater(self, 0), g.mul(self, scale), negative)


@lowering("aten::selu")
def selu(g: Builder, self: Tensor) -> Tensor:
    """selu(Tensor self) -> Tensor"""
    alpha, scale = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946
    if self.dtype == torch.float64:
        return elu(g, self, alpha, scale)
    return g.op("Selu", self, alpha=alpha, gamma=scale)


@lowering("aten::celu")
def celu(g: Builder, self: Tensor, alpha: Any = 1.0) -> Tensor:
    """celu(Tensor self, Scalar alpha=1.) -> Tensor"""
    if g.opset >= 12 and self.dtype != torch.float64 and isinstance(alpha, (int, float)):
        return g.op("Celu", self, alpha=float(alpha))
    factor = g.scalar(alpha, self.dtype)
    return g.mul(elu(g, g.div(self, factor)), factor)


@lowering("aten::gelu")
def gelu(g: Builder, self: Tensor, approximate: str = "none") -> Tensor:
    """gelu(Tensor self, *, str approximate="none") -> Tensor"""
    if g.opset >= 20 and self.dtype != torch.float64:
        return g.op("Gelu", self, approximate=approximate if approximate != "none" else None)
    half = g.mul(self, 0.5)
    if approximate == "tanh":
        cubic = g.mul(g.mul(g.mul(self, self), self), 0.044715)
        inner = g.op("Tanh", g.mul(g.add(self, cubic), math.sqrt(2 / math.pi)))
    else:
        inner = g.erf(g.div(self, math.sqrt(2)))
    return g.mul(half, g.add(inner, 1))


@lowering("aten::hardsigmoid")
def hardsigmoid(g: Builder, self: Tensor) -> Tensor:
    """hardsigmoid(Tensor self) -> Tensor"""
    if self.dtype == torch.float64:
        return g.div(g.clip(g.add(self, 3), 0, 6), 6)
    return g.op("HardSigmoid", self, alpha=1 / 6, beta=0.5)


@lowering("aten::hardswish")
def hardswish(g: Builder, self: Tensor) -> Tensor:
    """hardswish(Tensor self) -> Tensor"""
    if g.opset >= 14 and self.dtype != torch.float64:
        return g.op("HardSwish", self)
    return g.mul(self, hardsigmoid(g, self))


@lowering("aten::softsign")
def softsign(g: Builder, self: Tensor) -> Tensor:
    """softsign(Tensor self) -> Tensor"""
    if self.dtype == torch.float64:
        return g.div(self, g.add(g.abs(self), 1))
    return g.op("Softsign", _float(g, self))


# -- spelled out ----------------------------------------------------------------------------------


@lowering("aten::silu")
def silu(g: Builder, self: Tensor) -> Tensor:
    """silu(Tensor self) -> Tensor"""
    return g.mul(self, g.op("Sigmoid", self))


@lowering("aten::mish")
def mish(g: Builder, self: Tensor) -> Tensor:
    """mish(Tensor self) -> Tensor

    tanh(log(1 + u)) is u * (u + 2) / (u * (u + 2) + 2), with u = exp(x): as exact as Mish and 25 times as fast in
    onnxruntime 1.32 (docs/opsets.md). Beyond `top` the quotient is 1, and its parts would overflow.
    """
    top = 5.5 if self.dtype == torch.float16 else 20.0
    u = g.exp(g.clip(self, high=top))
    part = g.mul(u, g.add(u, 2))
    return g.mul(self, g.div(part, g.add(part, 2)))


@lowering("aten::softplus")
def softplus(g: Builder, self: Tensor, beta: Any = 1, threshold: Any = 20) -> Tensor:
    """softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor"""
    scaled = self if beta == 1 else g.mul(self, beta)
    result = g.softplus(scaled)
    result = result if beta == 1 else g.div(result, beta)
    if threshold >= 20:  # above it the function is its argument, to the last digit of float32
        return result if self.dtype != torch.float64 else g.where(g.greater(scaled, threshold), self, result)
    return g.where(g.greater(scaled, threshold), self, result)


@lowering("aten::log_sigmoid")
def log_sigmoid(g: Builder, self: Tensor) -> Tensor:
    """log_sigmoid(Tensor self) -> Tensor"""
    return g.neg(g.softplus(g.neg(self)))


@lowering("aten::log_sigmoid_forward")
def log_sigmoid_forward(g: Builder, self: Tensor) -> tuple[Tensor, Tensor]:
    """log_sigmoid_forward(Tensor self) -> (Tensor output, Tensor buffer)"""
    return log_sigmoid(g, self), g.full([0], 0, self.dtype)


@lowering("aten::threshold")
def threshold(g: Builder, self: Tensor, threshold: Any, value: Any) -> Tensor:
    """threshold(Tensor self, Scalar threshold, Scalar value) -> Tensor"""
    return g.where(g.less_equal(self, threshold), value, self)


@lowering("aten::hardshrink")
def hardshrink(g: Builder, self: Tensor, lambd: Any = 0.5) -> Tensor:
    """hardshrink(Tensor self, Scalar lambd=0.5) -> Tensor"""
    return g.where(g.less_equal(g.abs(self), lambd), 0, self)


@lowering("aten::softshrink")
def softshrink(g: Builder, self: Tensor, lambd: Any = 0.5) -> Tensor:
    """softshrink(Tensor self, Scalar lambd=0.5) -> Tensor"""
    inside = g.less_equal(g.abs(self), lambd)
    return g.where(inside, 0, g.sub(self, g.mul(g.sign(self), lambd)))


@lowering("aten::tanhshrink")
def tanhshrink(g: Builder, self: Tensor) -> Tensor:
    """tanhshrink(Tensor self) -> Tensor"""
    x = _float(g, self)
    return g.sub(x, g.op("Tanh", x))


@lowering("aten::glu")
def glu(g: Builder, self: Tensor, dim: int = -1) -> Tensor:
    """glu(Tensor self, int dim=-1) -> Tensor"""
    dim = wrap(dim, self.rank)
    size = self.shape[dim]
    half = size // 2
    if known_eq(half * 2, size) is False:
        raise LoweringError(f"glu halves a dimension of {size} elements; their number must be even")
    value, gate = g.split(self, [half, half], dim)
    return g.mul(value, g.op("Sigmoid", gate))


@lowering("aten::rrelu")
def rrelu(g: Builder, self: Tensor, lower: Any, upper: Any, training: bool = False, generator: Any = None) -> Tensor:
    """rrelu(Tensor self, Scalar lower=0.125, Scalar upper=0.333, bool training=False, Generator? g=None) -> Tensor"""
    if training and lower != upper:
        from .random import uniform  # seldom needed, and large

        slopes = g.add(g.mul(uniform(g, list(self.shape), self.dtype), upper - lower), lower)
        return g.where(g.greater(self, 0), self, g.mul(self, slopes))
    return leaky_relu(g, self, (lower + upper) / 2)


@lowering("aten::rrelu_with_noise_functional")
def rrelu_with_noise(
    g: Builder, self: Tensor, noise: Tensor, lower: Any, upper: Any, training: bool = False, generator: Any = None
) -> tuple[Tensor, Tensor]:
    """rrelu_with_noise_functional(Tensor self, Tensor noise, Scalar lower=0.125, Scalar upper=0.333,
    bool training=False, Generator? generator=None) -> (Tensor, Tensor noise_out)"""
    return rrelu(g, self, lower, upper, training), noise


# -- softmax --------------------------------------------------------------------------------------


@lowering("aten::softmax.int", "aten::special_softmax")
@out_lowering("aten::softmax.int_out")
def softmax(g: Builder, self: Tensor, dim: int, dtype: int | None = None) -> Tensor:
    """softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor"""
    return g.softmax(self if dtype is None else g.cast(self, from_scalar_type(dtype)), dim)


@lowering("aten::log_softmax.int", "aten::special_log_softmax")
@out_lowering("aten::log_softmax.int_out")
def log_softmax(g: Builder, self: Tensor, dim: int, dtype: int | None = None) -> Tensor:
    """log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor"""
    return g.softmax(self if dtype is None else g.cast(self, from_scalar_type(dtype)), dim, log=True)


@lowering("aten::_softmax")
def softmax_internal(g: Builder, self: Tensor, dim: int, half_to_float: bool = False) -> Tensor:
    """_softmax(Tensor self, int dim, bool half_to_float) -> Tensor"""
    return g.softmax(g.cast(self, torch.float32) if half_to_float else self, dim)


@lowering("aten::_log_softmax")
def log_softmax_internal(g: Builder, self: Tensor, dim: int, half_to_float: bool = False) -> Tensor:
    """_log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor"""
    return g.softmax(g.cast(self, torch.float32) if half_to_float else self, dim, log=True)


@lowering("aten::_safe_softmax")
def safe_softmax(g: Builder, self: Tensor, dim: int, dtype: int | None = None) -> Tensor:
    """_safe_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor"""
    plain = softmax(g, self, dim, dtype)
    if not self.is_float:
        return plain if dtype is not None else softmax(g, g.cast(self, torch.get_default_dtype()), dim)
    # Where everything is masked out, torch gives 0 and not NaN.
    masked = g.equal(g.reduce("ReduceMax", self, [wrap(dim, self.rank)], True), -math.inf)
    return g.where(masked, 0, plain)
