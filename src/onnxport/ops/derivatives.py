"""Backward operators of activations and of indexing, as `torch.autograd.grad` within a forward leaves them."""

from __future__ import annotations

import math
from typing import Any

from ..dims import Size
from ..lower.builder import Builder
from ..lower.registry import lowering
from ..lower.values import Tensor
from .scatter import select_scatter, slice_scatter


@lowering("aten::tanh_backward")
def tanh_backward(g: Builder, grad_output: Tensor, output: Tensor) -> Tensor:
    """tanh_backward(Tensor grad_output, Tensor output) -> Tensor"""
    return g.mul(grad_output, g.sub(1, g.mul(output, output)))


@lowering("aten::sigmoid_backward")
def sigmoid_backward(g: Builder, grad_output: Tensor, output: Tensor) -> Tensor:
    """sigmoid_backward(Tensor grad_output, Tensor output) -> Tensor"""
    return g.mul(grad_output, g.mul(output, g.sub(1, output)))


@lowering("aten::silu_backward")
def silu_backward(g: Builder, grad_output: Tensor, self: Tensor) -> Tensor:
    """silu_backward(Tensor grad_output, Tensor self) -> Tensor"""
    s = g.op("Sigmoid", self)
    return g.mul(grad_output, g.mul(s, g.add(1, g.mul(self, g.sub(1, s)))))


@lowering("aten::softplus_backward")
def softplus_backward(g: Builder, grad_output: Tensor, self: Tensor, beta: float, threshold: float) -> Tensor:
    """softplus_backward(Tensor grad_output, Tensor self, Scalar beta, Scalar threshold) -> Tensor"""
    scaled = g.mul(self, beta)
    return g.where(g.greater(scaled, threshold), grad_output, g.mul(grad_output, g.op("Sigmoid", scaled)))


@lowering("aten::threshold_backward")
def threshold_backward(g: Builder, grad_output: Tensor, self: Tensor, threshold: float) -> Tensor:
    """threshold_backward(Tensor grad_output, Tensor self, Scalar threshold) -> Tensor"""
    return g.where(g.greater(self, threshold), grad_output, g.scalar(0, grad_output.dtype))


@lowering("aten::leaky_relu_backward")
def leaky_relu_backward(g: Builder, grad_output: Tensor, self: Tensor, negative_slope: float, *_: Any) -> Tensor:
    """leaky_relu_backward(Tensor grad_output, Tensor self, Scalar negative_slope, bool self_is_result) -> Tensor"""
    return g.where(g.greater(self, 0), grad_output, g.mul(grad_output, negative_slope))


@lowering("aten::elu_backward")
def elu_backward(
    g: Builder, grad_output: Tensor, alpha: float, scale: float, input_scale: float, is_result: bool, self: Tensor
) -> Tensor:
    """elu_backward(Tensor grad_output, Scalar alpha, Scalar scale, Scalar input_scale, bool is_result,
    Tensor self_or_result) -> Tensor"""
    if is_result:
        below = g.mul(g.add(self, alpha * scale), input_scale)
    else:
        below = g.mul(g.exp(g.mul(self, input_scale)), alpha * scale * input_scale)
    return g.mul(grad_output, g.where(g.greater(self, 0), g.scalar(scale, self.dtype), below))


@lowering("aten::gelu_backward")
def gelu_backward(g: Builder, grad_output: Tensor, self: Tensor, approximate: str = "none") -> Tensor:
    """gelu_backward(Tensor grad_output, Tensor self, *, str approximate="none") -> Tensor"""
    square = g.mul(self, self)
    if approximate == "tanh":
        root = math.sqrt(2 / math.pi)
        t = g.op("Tanh", g.mul(g.mul(self, g.add(1, g.mul(square, 0.044715))), root))
        slope = g.mul(g.sub(1, g.mul(t, t)), g.mul(g.add(1, g.mul(square, 3 * 0.044715)), root))
        return g.mul(grad_output, g.mul(g.add(g.add(1, t), g.mul(self, slope)), 0.5))
    cdf = g.mul(g.add(1, g.erf(g.div(self, math.sqrt(2)))), 0.5)
    pdf = g.mul(g.exp(g.mul(square, -0.5)), 1 / math.sqrt(2 * math.pi))
    return g.mul(grad_output, g.add(cdf, g.mul(self, pdf)))


@lowering("aten::select_backward")
def select_backward(g: Builder, grad_output: Tensor, input_sizes: list[Size], dim: int, index: Size) -> Tensor:
    """select_backward(Tensor grad_output, SymInt[] input_sizes, int dim, SymInt index) -> Tensor"""
    return select_scatter(g, g.full(input_sizes, 0, grad_output.dtype), grad_output, dim, index)


@lowering("aten::slice_backward")
def slice_backward(
    g: Builder, grad_output: Tensor, input_sizes: list[Size], dim: int, start: Size, end: Size, step: int
) -> Tensor:
    """slice_backward(Tensor grad_output, SymInt[] input_sizes, int dim, SymInt start, SymInt end, SymInt step) -> Tensor"""
    return slice_scatter(g, g.full(input_sizes, 0, grad_output.dtype), grad_output, dim, start, end, step)
