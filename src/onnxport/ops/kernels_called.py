"""Operators that are one kernel of another: what programs hold that were decomposed for a GPU, or call kernels by name.

Each is the operator that the kernel is for, with its arguments in another order. What a kernel keeps for the backward pass
(seeds, workspaces) is not computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..dims import Size
from ..errors import LoweringError
from ..lower.builder import Builder
from ..lower.registry import find, lowering
from ..lower.values import Tensor
from .attention import flash_attention_for_cpu
from .conv import conv, conv_transpose
from .grid import grid_sampler
from .norm import native_batch_norm
from .rnn import cell_of_gru_gates, cell_of_lstm_gates

# -- convolutions ---------------------------------------------------------------------------------


@lowering(
    "aten::thnn_conv2d",
    "aten::_slow_conv2d_forward",
    "aten::slow_conv3d",
    "aten::slow_conv3d_forward",
    "aten::slow_conv_dilated2d",
    "aten::slow_conv_dilated3d",
)
def plain_conv(
    g: Builder,
    self: Tensor,
    weight: Tensor,
    kernel_size: Any,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
) -> Tensor:
    """slow_conv_dilated2d(Tensor self, Tensor weight, SymInt[2] kernel_size, Tensor? bias=None, SymInt[2] stride=1,
    SymInt[2] padding=0, SymInt[2] dilation=1) -> Tensor"""
    return conv(g, self, weight, bias, stride, padding, dilation, 1)


@lowering("aten::_conv_depthwise2d", "aten::conv_depthwise3d")
def depthwise_conv(
    g: Builder,
    self: Tensor,
    weight: Tensor,
    kernel_size: Any,
    bias: Tensor | None,
    stride: Any,
    padding: Any,
    dilation: Any,
) -> Tensor:
    """_conv_depthwise2d(Tensor self, Tensor weight, SymInt[2] kernel_size, Tensor? bias, SymInt[2] stride,
    SymInt[2] padding, SymInt[2] dilation) -> Tensor"""
    return conv(g, self, weight, bias, stride, padding, dilation, self.shape[-weight.rank + 1])


@lowering("aten::slow_conv_transpose2d", "aten::slow_conv_transpose3d")
def plain_conv_transpose(
    g: Builder,
    self: Tensor,
    weight: Tensor,
    kernel_size: Any,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    dilation: Any = 1,
) -> Tensor:
    """slow_conv_transpose2d(Tensor self, Tensor weight, SymInt[2] kernel_size, Tensor? bias=None, SymInt[2] stride=1,
    SymInt[2] padding=0, SymInt[2] output_padding=0, SymInt[2] dilation=1) -> Tensor"""
    return conv_transpose(g, self, weight, bias, stride, padding, output_padding, 1, dilation)


@lowering("aten::cudnn_convolution")
def cudnn_conv(
    g: Builder, self: Tensor, weight: Tensor, padding: Any, stride: Any, dilation: Any, groups: Size, *_: Any
) -> Tensor:
    """cudnn_convolution(Tensor self, Tensor weight, SymInt[] padding, SymInt[] stride, SymInt[] dilation, SymInt groups,
    bool benchmark, bool deterministic, bool allow_tf32) -> Tensor"""
    return conv(g, self, weight, None, stride, padding, dilation, groups)


@lowering("aten::cudnn_convolution_transpose")
def cudnn_conv_transpose(
    g: Builder,
    self: Tensor,
    weight: Tensor,
    padding: Any,
    output_padding: Any,
    stride: Any,
    dilation: Any,
    groups: Size,
    *_: Any,
) -> Tensor:
    """cudnn_convolution_transpose(Tensor self, Tensor weight, SymInt[] padding, SymInt[] output_padding, SymInt[] stride,
    SymInt[] dilation, SymInt groups, bool benchmark, bool deterministic, bool allow_tf32) -> Tensor"""
    return conv_transpose(g, self, weight, None, stride, padding, output_padding, groups, dilation)


@lowering("aten::cudnn_convolution_relu")
def cudnn_conv_relu(
    g: Builder,
    self: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: Size,
) -> Tensor:
    """cudnn_convolution_relu(Tensor self, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding,
    SymInt[] dilation, SymInt groups) -> Tensor"""
    return g.op("Relu", conv(g, self, weight, bias, stride, padding, dilation, groups))


# -- norms and grids ------------------------------------------------------------------------------


@lowering("aten::cudnn_batch_norm")
def cudnn_batch_norm(g: Builder, *arguments: Any) -> tuple[Tensor | None, ...]:
    """cudnn_batch_norm(Tensor input, Tensor weight, Tensor? bias, Tensor? running_mean, Tensor? running_var,
    bool training, float exponential_average_factor, float epsilon) -> (Tensor, Tensor, Tensor, Tensor)"""
    return *native_batch_norm(g, *arguments), None


@lowering("aten::cudnn_grid_sampler")
def cudnn_grid_sampler(g: Builder, self: Tensor, grid: Tensor) -> Tensor:
    """cudnn_grid_sampler(Tensor self, Tensor grid) -> Tensor output"""
    return grid_sampler(g, self, grid, 0, 0, True)


# -- attention ------------------------------------------------------------------------------------


@lowering("aten::_scaled_dot_product_flash_attention")
def flash_attention(
    g: Builder,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    return_debug_mask: bool = False,
    scale: Any = None,
) -> Any:
    """_scaled_dot_product_flash_attention(Tensor query, Tensor key, Tensor value, float dropout_p=0.0,
    bool is_causal=False, bool return_debug_mask=False, *, float? scale=None) -> (Tensor output, Tensor logsumexp,
    Tensor cum_seq_q, Tensor cum_seq_k, SymInt max_q, SymInt max_k, Tensor rng_state, Tensor unused,
    Tensor debug_attn_mask)"""
    return *flash_attention_for_cpu(g, query, key, value, dropout_p, is_causal, None, scale), *[None] * 7


@lowering("aten::_scaled_dot_product_efficient_attention")
def efficient_attention(
    g: Builder,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_bias: Tensor | None,
    compute_log_sumexp: bool,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: Any = None,
) -> Any:
    """_scaled_dot_product_efficient_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_bias,
    bool compute_log_sumexp, float dropout_p=0.0, bool is_causal=False, *, float? scale=None)
    -> (Tensor output, Tensor log_sumexp, Tensor philox_seed, Tensor philox_offset)"""
    return *flash_attention_for_cpu(g, query, key, value, dropout_p, is_causal, attn_bias, scale), None, None


@lowering("aten::_scaled_dot_product_cudnn_attention")
def cudnn_attention(
    g: Builder,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_bias: Tensor | None,
    compute_log_sumexp: bool,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    return_debug_mask: bool = False,
    scale: Any = None,
) -> Any:
    """_scaled_dot_product_cudnn_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_bias,
    bool compute_log_sumexp, float dropout_p=0.0, bool is_causal=False, bool return_debug_mask=False, *,
    float? scale=None) -> (Tensor output, Tensor logsumexp, Tensor cum_seq_q, Tensor cum_seq_k, SymInt max_q,
    SymInt max_k, Tensor philox_seed, Tensor philox_offset, Tensor debug_attn_mask)"""
    return *flash_attention_for_cpu(g, query, key, value, dropout_p, is_causal, attn_bias, scale), *[None] * 7


@lowering("aten::_scaled_dot_product_fused_attention_overrideable")
def attention_overrideable(
    g: Builder, query: Tensor, key: Tensor, value: Tensor, attn_bias: Tensor | None = None, *rest: Any
) -> Any:
    """_scaled_dot_product_fused_attention_overrideable(Tensor query, Tensor key, Tensor value, Tensor? attn_bias=None,
    float dropout_p=0.0, bool is_causal=False, bool return_debug_mask=False, *, float? scale=None) -> (Tensor output,
    Tensor logsumexp, Tensor cum_seq_q, Tensor cum_seq_k, SymInt max_q, SymInt max_k, Tensor philox_seed,
    Tensor philox_offset, Tensor debug_attn_mask)"""
    return cudnn_attention(g, query, key, value, attn_bias, False, *rest)


# -- recurrent layers -----------------------------------------------------------------------------

_MODES = ("rnn_relu", "rnn_tanh", "lstm", "gru")


@lowering("aten::_cudnn_rnn")
def cudnn_rnn(
    g: Builder,
    input: Tensor,
    weight: list[Tensor],
    weight_stride0: int,
    weight_buf: Tensor | None,
    hx: Tensor,
    cx: Tensor | None,
    mode: int,
    hidden_size: Size,
    proj_size: Size,
    num_layers: int,
    batch_first: bool,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_sizes: Sequence[Size],
    dropout_state: Tensor | None,
) -> Any:
    """_cudnn_rnn(Tensor input, Tensor[] weight, int weight_stride0, Tensor? weight_buf, Tensor hx, Tensor? cx, int mode,
    SymInt hidden_size, SymInt proj_size, int num_layers, bool batch_first, float dropout, bool train,
    bool bidirectional, SymInt[] batch_sizes, Tensor? dropout_state) -> (Tensor, Tensor, Tensor, Tensor, Tensor)"""
    if batch_sizes:
        raise LoweringError("packed sequences of the cuDNN kernel can't be converted; export without decompositions")
    layer: Any = find(f"aten::{_MODES[mode]}.input")
    states = [hx, cx] if _MODES[mode] == "lstm" else hx
    biases = weight_stride0 in (4, 5)
    results = layer(g, input, states, weight, biases, num_layers, dropout, train, bidirectional, batch_first)
    return *results, *[None] * (5 - len(results))


@lowering("aten::_thnn_fused_lstm_cell")
def fused_lstm_cell(
    g: Builder,
    input_gates: Tensor,
    hidden_gates: Tensor,
    cx: Tensor,
    input_bias: Tensor | None = None,
    hidden_bias: Tensor | None = None,
) -> Any:
    """_thnn_fused_lstm_cell(Tensor input_gates, Tensor hidden_gates, Tensor cx, Tensor? input_bias=None,
    Tensor? hidden_bias=None) -> (Tensor, Tensor, Tensor)"""
    gates = g.add(_biased(g, input_gates, input_bias), _biased(g, hidden_gates, hidden_bias))
    return *cell_of_lstm_gates(g, gates, cx), None


@lowering("aten::_thnn_fused_gru_cell")
def fused_gru_cell(
    g: Builder,
    input_gates: Tensor,
    hidden_gates: Tensor,
    hx: Tensor,
    input_bias: Tensor | None = None,
    hidden_bias: Tensor | None = None,
) -> Any:
    """_thnn_fused_gru_cell(Tensor input_gates, Tensor hidden_gates, Tensor hx, Tensor? input_bias=None,
    Tensor? hidden_bias=None) -> (Tensor, Tensor)"""
    ours, theirs = _biased(g, input_gates, input_bias), _biased(g, hidden_gates, hidden_bias)
    return cell_of_gru_gates(g, ours, theirs, hx), None


def _biased(g: Builder, x: Tensor, bias: Tensor | None) -> Tensor:
    return x if bias is None else g.add(x, bias)
