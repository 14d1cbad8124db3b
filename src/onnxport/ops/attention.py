"""Attention: the function of PyTorch, and the fused layers that it runs in evaluation."""

from __future__ import annotations

import math
from typing import Any

import torch

from ..errors import warn
from ..lower.builder import Builder
from ..lower.registry import find, lowering
from ..lower.values import Tensor
from .matmul import linear


@lowering("aten::scaled_dot_product_attention")
def scaled_dot_product_attention(
    g: Builder,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: Any = None,
    enable_gqa: bool = False,
) -> Tensor:
    """scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None,
    float dropout_p=0.0, bool is_causal=False, *, float? scale=None, bool enable_gqa=False) -> Tensor"""
    heads, shared = (query.shape[-3], key.shape[-3]) if enable_gqa else (1, 1)
    bias = _bias(g, attn_mask, query, key, is_causal)
    if heads == shared:
        result, _ = _attend(g, query, key, value, bias, scale, dropout_p)
        # Without a mask a row is never dead: each looks at the first column at least.
        return result if attn_mask is None else _without_dead_rows(g, result, bias)
    return _grouped(g, query, key, value, bias, scale, dropout_p, attn_mask is not None)


def _grouped(
    g: Builder, query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None, scale: Any, dropout_p: Any, masked: bool
) -> Tensor:
    """Several heads of the query share one of key and value, which are broadcast instead of copied."""
    shared, heads = key.shape[-3], query.shape[-3]

    def split(x: Tensor) -> Tensor:
        if x.rank < 3 or x.shape[-3] == 1:
            return g.unsqueeze(x, [-3]) if x.rank >= 3 else x
        return g.reshape(x, [*x.shape[:-3], shared, heads // shared, *x.shape[-2:]])

    bias = None if bias is None else split(bias)
    result, _ = _attend(g, split(query), g.unsqueeze(key, [-3]), g.unsqueeze(value, [-3]), bias, scale, dropout_p)
    result = _without_dead_rows(g, result, bias) if masked else result
    return g.reshape(result, [*query.shape[:-1], value.shape[-1]])


def _attend(
    g: Builder,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    bias: Tensor | None,
    scale: Any = None,
    dropout_p: Any = 0.0,
) -> tuple[Tensor, Tensor]:
    """softmax(query @ key.T * scale + bias) @ value, and that softmax; of which some is dropped."""
    scores = g.matmul(_scaled(g, query, scale), g.swap(key, key.rank - 2, key.rank - 1))
    weights = g.softmax(scores if bias is None else g.add(scores, bias), -1)
    from .random import dropout  # seldom needed, and large

    return g.matmul(dropout(g, weights, dropout_p, train=True), value), weights


def _scaled(g: Builder, query: Tensor, scale: Any) -> Tensor:
    size = query.shape[-1]
    if scale is not None:
        return g.mul(query, g.scalar(scale, query.dtype))
    if isinstance(size, int):
        return g.mul(query, 1 / math.sqrt(size)) if size else query
    return g.div(query, g.op("Sqrt", g.scalar(size, query.dtype)))


def _bias(g: Builder, mask: Tensor | None, query: Tensor, key: Tensor, causal: bool) -> Tensor | None:
    """What to add to the scores: 0 where the query may look, -inf where it may not."""
    bias = None
    if mask is not None:
        bias = _additive(g, mask, query.dtype) if mask.dtype == torch.bool else g.cast(mask, query.dtype)
    if causal:
        rows, columns = g.range(0, query.shape[-2]), g.range(0, key.shape[-2])
        seen = _additive(g, g.less_equal(columns, g.unsqueeze(rows, [1])), query.dtype)
        bias = seen if bias is None else g.add(bias, seen)
    return bias


def _additive(g: Builder, mask: Tensor, dtype: torch.dtype) -> Tensor:
    """0 where the mask is True, -inf elsewhere."""
    if g.opset < 9:
        return g.op("Log", g.cast(mask, dtype))
    return g.where(mask, g.const(0, dtype), g.const(-math.inf, dtype))


def _without_dead_rows(g: Builder, result: Tensor, bias: Tensor | None) -> Tensor:
    """PyTorch gives zeros to a query that may look nowhere, where the softmax has no value."""
    if bias is None:
        return result
    dead = g.equal(g.reduce("ReduceMax", bias, [-1], keepdims=True), -math.inf)
    if dead.is_constant and dead.data is not None and not dead.data.any():
        return result
    return g.where(dead, 0, result)


# -- the fused layers -------------------------------------------------------------------------------


@lowering("aten::_native_multi_head_attention")
def native_multi_head_attention(
    g: Builder,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim: int,
    num_head: int,
    qkv_weight: Tensor,
    qkv_bias: Tensor,
    proj_weight: Tensor,
    proj_bias: Tensor,
    mask: Tensor | None = None,
    need_weights: bool = True,
    average_attn_weights: bool = True,
    mask_type: int | None = None,
) -> tuple[Tensor, Tensor]:
    """_native_multi_head_attention(Tensor query, Tensor key, Tensor value, int embed_dim, int num_head,
    Tensor qkv_weight, Tensor qkv_bias, Tensor proj_weight, Tensor proj_bias, Tensor? mask=None,
    bool need_weights=True, bool average_attn_weights=True, int? mask_type=None) -> (Tensor, Tensor)"""
    q, k, v = (_heads(g, x, num_head) for x in _projected(g, query, key, value, qkv_weight, qkv_bias, embed_dim))
    out, weights = _attend(g, q, k, v, None if mask is None else _fused_bias(g, mask, mask_type, query.dtype))
    merged = g.reshape(g.transpose(out, [0, 2, 1, 3]), query.shape)
    if average_attn_weights:
        weights = g.reduce("ReduceMean", weights, [1])
    return linear(g, merged, proj_weight, proj_bias), weights


def _projected(
    g: Builder, query: Tensor, key: Tensor, value: Tensor, weight: Tensor, bias: Tensor, size: int
) -> list[Tensor]:
    """Query, key and value through their thirds of the packed weight."""
    if query is key is value:
        return g.split(linear(g, query, weight, bias), [size] * 3, 2)
    starts = [0, size, 2 * size]
    parts = [(g.slice(weight, [s], [s + size], [0]), g.slice(bias, [s], [s + size], [0])) for s in starts]
    return [linear(g, x, w, b) for x, (w, b) in zip((query, key, value), parts)]


def _heads(g: Builder, x: Tensor, count: int) -> Tensor:
    batch, length, size = x.shape
    return g.transpose(g.reshape(x, [batch, length, count, size // count]), [0, 2, 1, 3])


def _fused_bias(g: Builder, mask: Tensor, kind: int | None, dtype: torch.dtype) -> Tensor:
    """The fused layers take masks that are True (or not 0) where one may not look."""
    hidden = g.cast(mask, torch.bool)
    if kind == 1:  # of the keys, for each batch; 0 is [query, key], 2 is [batch, head, query, key]
        hidden = g.unsqueeze(hidden, [1, 2])
    return _additive(g, g.not_(hidden), dtype)


@lowering("aten::_transformer_encoder_layer_fwd")
def transformer_encoder_layer(
    g: Builder,
    src: Tensor,
    embed_dim: int,
    num_heads: int,
    qkv_weight: Tensor,
    qkv_bias: Tensor,
    proj_weight: Tensor,
    proj_bias: Tensor,
    use_gelu: bool,
    norm_first: bool,
    eps: float,
    norm_weight_1: Tensor,
    norm_bias_1: Tensor,
    norm_weight_2: Tensor,
    norm_bias_2: Tensor,
    ffn_weight_1: Tensor,
    ffn_bias_1: Tensor,
    ffn_weight_2: Tensor,
    ffn_bias_2: Tensor,
    mask: Tensor | None = None,
    mask_type: int | None = None,
) -> Tensor:
    """_transformer_encoder_layer_fwd(Tensor src, int embed_dim, int num_heads, Tensor qkv_weight, Tensor qkv_bias,
    Tensor proj_weight, Tensor proj_bias, bool use_gelu, bool norm_first, float eps, Tensor norm_weight_1,
    Tensor norm_bias_1, Tensor norm_weight_2, Tensor norm_bias_2, Tensor ffn_weight_1, Tensor ffn_bias_1,
    Tensor ffn_weight_2, Tensor ffn_bias_2, Tensor? mask=None, int? mask_type=None) -> Tensor"""

    def attended(x: Tensor) -> Tensor:
        return native_multi_head_attention(
            g, x, x, x, embed_dim, num_heads, qkv_weight, qkv_bias, proj_weight, proj_bias, mask, mask_type=mask_type
        )[0]

    def fed_forward(x: Tensor) -> Tensor:
        hidden = linear(g, x, ffn_weight_1, ffn_bias_1)
        activation = find("aten::gelu") if use_gelu else find("aten::relu")
        assert activation is not None
        return linear(g, activation(g, hidden), ffn_weight_2, ffn_bias_2)

    def first_norm(x: Tensor) -> Tensor:
        return g.layer_norm(x, -1, norm_weight_1, norm_bias_1, eps)

    def second_norm(x: Tensor) -> Tensor:
        return g.layer_norm(x, -1, norm_weight_2, norm_bias_2, eps)

    if norm_first:
        x = g.add(src, attended(first_norm(src)))
        return g.add(x, fed_forward(second_norm(x)))
    x = first_norm(g.add(src, attended(src)))
    return second_norm(g.add(x, fed_forward(x)))


@lowering("aten::_scaled_dot_product_flash_attention_for_cpu")
def flash_attention_for_cpu(
    g: Builder,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    attn_mask: Tensor | None = None,
    scale: Any = None,
) -> tuple[Tensor, Tensor]:
    """_scaled_dot_product_flash_attention_for_cpu(Tensor query, Tensor key, Tensor value, float dropout_p=0.0,
    bool is_causal=False, *, Tensor? attn_mask=None, float? scale=None) -> (Tensor output, Tensor logsumexp)"""
    out = scaled_dot_product_attention(g, query, key, value, attn_mask, dropout_p, is_causal, scale)
    scores = g.matmul(_scaled(g, query, scale), g.swap(key, key.rank - 2, key.rank - 1))
    bias = _bias(g, attn_mask, query, key, is_causal)
    return out, g.reduce("ReduceLogSumExp", scores if bias is None else g.add(scores, bias), [-1])


@lowering("aten::_nested_tensor_from_mask_left_aligned")
def nested_from_mask(g: Builder, t: Tensor, mask: Tensor) -> bool:
    """_nested_tensor_from_mask_left_aligned(Tensor t, Tensor mask) -> bool

    Asked by nn.TransformerEncoder before it packs sequences; not packing them gives the same, but for what is padded.
    """
    warn(
        "nn.TransformerEncoder packs sequences by their padding mask, which ONNX can't: what it gives at padded positions "
        "isn't 0 in the exported model. Don't use the outputs there, or multiply them by the mask"
    )
    return False
