"""What `torch.jit.optimize_for_inference` makes of a script: operators on tensors in a layout of oneDNN.

They compute what those on plain tensors do. Those that write do so only where nobody reads what was there.
"""

from __future__ import annotations

from typing import Any

from ..dims import Size
from ..lower.builder import Builder
from ..lower.registry import find, lowering
from ..lower.values import Tensor


def _as(name: str, g: Builder, *args: Any) -> Any:
    operator = find(name)
    assert operator is not None
    return operator(g, *args)


@lowering("prim::mkldnn_convolution")
def convolution(
    g: Builder,
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: Size,
) -> Any:
    """mkldnn_convolution(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] dilation,
    int groups) -> Tensor"""
    return _as("aten::convolution", g, input, weight, bias, stride, padding, dilation, False, [0], groups)


@lowering("prim::BroadcastMKLDNNTensors")
def broadcast(g: Builder, self: Tensor, other: Tensor) -> tuple[Tensor, ...]:
    """BroadcastMKLDNNTensors(Tensor self, Tensor other) -> (Tensor, Tensor)"""
    return tuple(_as("aten::broadcast_tensors", g, [self, other]))


@lowering("prim::MKLDNNScalarMul", "prim::MKLDNNScalarMul_")
def mul(g: Builder, self: Tensor, other: Any) -> Any:
    """MKLDNNScalarMul(Tensor self, Scalar other) -> Tensor"""
    return _as("aten::mul.Scalar", g, self, other)


@lowering("prim::MKLDNNHardSwish", "prim::MKLDNNHardSwish_")
def hardswish(g: Builder, self: Tensor) -> Any:
    """MKLDNNHardSwish(Tensor self) -> Tensor"""
    return _as("aten::hardswish", g, self)


@lowering("prim::MKLDNNHardSigmoid", "prim::MKLDNNHardSigmoid_")
def hardsigmoid(g: Builder, self: Tensor) -> Any:
    """MKLDNNHardSigmoid(Tensor self) -> Tensor"""
    return _as("aten::hardsigmoid", g, self)


@lowering("prim::MKLDNNRelu6", "prim::MKLDNNRelu6_")
def relu6(g: Builder, self: Tensor) -> Any:
    """MKLDNNRelu6(Tensor self) -> Tensor"""
    return _as("aten::clamp", g, self, 0, 6)


@lowering("prim::MKLDNNClamp", "prim::MKLDNNClamp_", "prim::MKLDNNHardTanh", "prim::MKLDNNHardTanh_")
def clamp(g: Builder, self: Tensor, min: Any, max: Any) -> Any:
    """MKLDNNClamp(Tensor self, Scalar min, Scalar max) -> Tensor"""
    return _as("aten::clamp", g, self, min, max)


@lowering("prim::MKLDNNLayerNorm", "prim::MKLDNNLayerNorm_")
def layer_norm(g: Builder, self: Tensor, shape: list[int], weight: Any, bias: Any, eps: float, enable: bool) -> Any:
    """MKLDNNLayerNorm(Tensor self, int[] shape, Tensor? weight, Tensor? bias, float eps, bool enable) -> Tensor"""
    return _as("aten::layer_norm", g, self, shape, weight, bias, eps)
