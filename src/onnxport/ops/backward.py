"""Backward operators that programs call by name: they are plain functions of tensors."""

from __future__ import annotations

from typing import Any

import torch

from ..dims import product
from ..dtypes import from_scalar_type
from ..lower.builder import Builder
from ..lower.registry import lowering
from ..lower.values import Tensor


@lowering("aten::native_dropout_backward")
def native_dropout_backward(g: Builder, grad_output: Tensor, mask: Tensor, scale: float) -> Tensor:
    """native_dropout_backward(Tensor grad_output, Tensor mask, float scale) -> Tensor"""
    dtype = torch.promote_types(grad_output.dtype, mask.dtype)
    if not dtype.is_floating_point:
        dtype = torch.get_default_dtype()
    product_ = g.mul(g.cast(grad_output, dtype), g.cast(mask, dtype))
    return g.cast(g.mul(product_, scale), dtype)


def _wide(g: Builder, x: Tensor) -> Tensor:
    """PyTorch computes half types in float32 and rounds once, at the end."""
    return g.cast(x, torch.float32) if x.dtype in (torch.float16, torch.bfloat16) else x


@lowering("aten::_softmax_backward_data")
def softmax_backward(g: Builder, grad_output: Tensor, output: Tensor, dim: int, input_dtype: int) -> Tensor:
    """_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor"""
    grad_output, output = _wide(g, grad_output), _wide(g, output)
    weighted = g.mul(grad_output, output)
    total = g.reduce("ReduceSum", weighted, [dim], keepdims=True)
    return g.cast(g.sub(weighted, g.mul(output, total)), from_scalar_type(input_dtype))


@lowering("aten::_log_softmax_backward_data")
def log_softmax_backward(g: Builder, grad_output: Tensor, output: Tensor, dim: int, input_dtype: int) -> Tensor:
    """_log_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor"""
    grad_output, output = _wide(g, grad_output), _wide(g, output)
    total = g.reduce("ReduceSum", grad_output, [dim], keepdims=True)
    return g.cast(g.sub(grad_output, g.mul(g.exp(output), total)), from_scalar_type(input_dtype))


@lowering("aten::max_pool2d_with_indices_backward")
def max_pool2d_backward(g: Builder, grad_output: Tensor, self: Tensor, *arguments: Any) -> Tensor:
    """max_pool2d_with_indices_backward(Tensor grad_output, Tensor self, int[2] kernel_size, int[2] stride,
    int[2] padding, int[2] dilation, bool ceil_mode, Tensor indices) -> Tensor"""
    indices: Tensor = arguments[-1]
    lead = list(self.shape[:-2])
    zeros = g.full([*lead, product(self.shape[-2:])], 0, self.dtype)
    places, updates = (g.reshape(x, [*lead, product(x.shape[-2:])]) for x in (indices, grad_output))
    return g.reshape(g.scatter_elements(zeros, places, updates, len(lead), "add"), self.shape)
