"""Layers of which the weights alone are quantized: recurrent ones, embeddings, and products in float16.

What goes into a product with int8 weights is rounded to 8 bits between its own extremes, in each step anew.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from ..errors import LoweringError
from ..lower.builder import Builder
from ..lower.emit import INT64_MAX
from ..lower.quantized import dequantize
from ..lower.recurrence import loop
from ..lower.registry import lowering
from ..lower.values import Tensor
from .embedding import embedding_bag
from .quantized import in_range, quantized_weight
from .rnn import affine, cell_of_gru_gates, cell_of_lstm_gates, mask_of, pack, packed_batch, refuse_dropout

# -- products -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Product:
    """The weights of a linear layer, and how many steps its input is rounded to (None: it isn't)."""

    weight: Tensor
    bias: Tensor | None
    levels: float | None

    def of(self, g: Builder, x: Tensor) -> Tensor:
        return affine(g, x if self.levels is None else in_range(g, x, self.levels), self.weight, self.bias)


def _product(g: Builder, packed: Any, reduce_range: bool = False) -> _Product:
    weight, bias = torch.ops.quantized.linear_unpack(packed)
    known = None if bias is None else g.known(bias.detach().numpy(), torch.float32, from_weight=True)
    if not weight.is_quantized:  # float16, as which it was rounded
        return _Product(g.known(weight.float().numpy(), torch.float32, from_weight=True), known, None)
    return _Product(dequantize(g, quantized_weight(g, weight)), known, 127.0 if reduce_range else 255.0)


@lowering("quantized::linear_dynamic_fp16")
def linear_fp16(g: Builder, X: Tensor, W_prepack: Any) -> Tensor:
    """linear_dynamic_fp16(Tensor X, LinearPackedParamsBase W_prepack) -> Tensor Y"""
    return _product(g, W_prepack).of(g, X)


@lowering("quantized::linear_relu_dynamic_fp16")
def linear_relu_fp16(g: Builder, X: Tensor, W_prepack: Any) -> Tensor:
    """linear_relu_dynamic_fp16(Tensor X, LinearPackedParamsBase W_prepack) -> Tensor Y"""
    return g.relu(linear_fp16(g, X, W_prepack))


# -- recurrent cells ------------------------------------------------------------------------------


@lowering("quantized::quantized_lstm_cell_dynamic")
def lstm_cell(g: Builder, input: Tensor, hx: list[Tensor], w_ih: Any, w_hh: Any, b_ih: Tensor, b_hh: Tensor) -> Any:
    """quantized_lstm_cell_dynamic(Tensor input, Tensor[] hx, LinearPackedParamsBase w_ih, LinearPackedParamsBase w_hh,
    Tensor bias_ih, Tensor bias_hh) -> (Tensor, Tensor); the biases are packed with the weights, too"""
    return cell_of_lstm_gates(g, g.add(*_gates(g, input, hx[0], w_ih, w_hh)), hx[1])


@lowering("quantized::quantized_gru_cell_dynamic")
def gru_cell(g: Builder, input: Tensor, hx: Tensor, w_ih: Any, w_hh: Any, b_ih: Tensor, b_hh: Tensor) -> Tensor:
    """quantized_gru_cell_dynamic(Tensor input, Tensor hx, LinearPackedParamsBase w_ih, LinearPackedParamsBase w_hh,
    Tensor b_ih, Tensor b_hh) -> Tensor"""
    return cell_of_gru_gates(g, *_gates(g, input, hx, w_ih, w_hh), hx)


@lowering("quantized::quantized_rnn_tanh_cell_dynamic")
def tanh_cell(g: Builder, input: Tensor, hx: Tensor, w_ih: Any, w_hh: Any, b_ih: Tensor, b_hh: Tensor) -> Tensor:
    """quantized_rnn_tanh_cell_dynamic(Tensor input, Tensor hx, LinearPackedParamsBase w_ih,
    LinearPackedParamsBase w_hh, Tensor b_ih, Tensor b_hh) -> Tensor"""
    return g.op("Tanh", g.add(*_gates(g, input, hx, w_ih, w_hh)))


@lowering("quantized::quantized_rnn_relu_cell_dynamic")
def relu_cell(g: Builder, input: Tensor, hx: Tensor, w_ih: Any, w_hh: Any, b_ih: Tensor, b_hh: Tensor) -> Tensor:
    """quantized_rnn_relu_cell_dynamic(Tensor input, Tensor hx, LinearPackedParamsBase w_ih,
    LinearPackedParamsBase w_hh, Tensor b_ih, Tensor b_hh) -> Tensor"""
    return g.relu(g.add(*_gates(g, input, hx, w_ih, w_hh)))


def _gates(g: Builder, input: Tensor, hx: Tensor, w_ih: Any, w_hh: Any) -> tuple[Tensor, Tensor]:
    return _product(g, w_ih, True).of(g, input), _product(g, w_hh, True).of(g, hx)


# -- recurrent layers -----------------------------------------------------------------------------

_Cell = Callable[..., list[Tensor]]  # the next states, of the gates of input and state, and the states


def _lstm(g: Builder, ours: Tensor, theirs: Tensor, h: Tensor, c: Tensor) -> list[Tensor]:
    return list(cell_of_lstm_gates(g, g.add(ours, theirs), c))


def _gru(g: Builder, ours: Tensor, theirs: Tensor, h: Tensor) -> list[Tensor]:
    return [cell_of_gru_gates(g, ours, theirs, h)]


def _register(name: str, cell: _Cell) -> None:
    """The two forms of a layer."""

    @lowering(f"aten::quantized_{name}.input")
    def whole(g: Builder, input: Tensor, hx: Any, params: list[Any], *options: Any) -> Any:
        """quantized_lstm.input(Tensor input, Tensor[] hx, CellParamsBase[] params, bool has_biases, int num_layers,
        float dropout, bool train, bool bidirectional, bool batch_first, *, ScalarType? dtype=None,
        bool use_dynamic=False) -> (Tensor, Tensor, Tensor)"""
        _, count, dropout, train, both, batch_first = options[:6]
        refuse_dropout(dropout, train, count)
        x = g.swap(input, 0, 1) if batch_first else input
        y, *states = _stack(g, cell, x, hx, _products(g, params), 2 if both else 1, None)
        return g.swap(y, 0, 1) if batch_first else y, *states

    @lowering(f"aten::quantized_{name}.data")
    def packed(g: Builder, data: Tensor, batch_sizes: Tensor, hx: Any, params: list[Any], *options: Any) -> Any:
        """quantized_lstm.data(Tensor data, Tensor batch_sizes, Tensor[] hx, CellParamsBase[] params, bool has_biases,
        int num_layers, float dropout, bool train, bool bidirectional, *, ScalarType? dtype=None,
        bool use_dynamic=False) -> (Tensor, Tensor, Tensor)"""
        _, count, dropout, train, both = options[:5]
        refuse_dropout(dropout, train, count)
        batch = packed_batch(g, data, batch_sizes)
        inside = g.unsqueeze(mask_of(g, batch.padded, batch.lengths), [2])
        x = batch.padded if batch.clean else g.where(inside, batch.padded, 0)  # what is padded isn't among the extremes
        y, *states = _stack(g, cell, x, hx, _products(g, params), 2 if both else 1, batch.lengths)
        return pack(g, y, batch.lengths, data.shape[0], clean=True), *states


_register("lstm", _lstm)
_register("gru", _gru)


def _products(g: Builder, params: Sequence[Any]) -> list[tuple[_Product, _Product]]:
    """The two products of each direction of each layer."""
    made = []
    for cell in params:
        (kind, _, _, numbers, packed), _ = cell.__getstate__()
        if kind not in ("quantized_dynamic", "quantized_fp16"):
            raise LoweringError(f"recurrent layers quantized as {kind!r} can't be converted")
        reduce_range = bool(numbers[0]) if numbers else False
        w_ih, w_hh = (_product(g, p, reduce_range) for p in packed)
        made.append((w_ih, w_hh))
    return made


def _stack(
    g: Builder,
    cell: _Cell,
    x: Tensor,
    hx: Any,
    products: list[tuple[_Product, _Product]],
    directions: int,
    lengths: Tensor | None,
) -> list[Tensor]:
    """All layers on `x` of `[time, batch, features]`: the last output and the final states of every layer."""
    given = list(hx) if isinstance(hx, (list, tuple)) else [hx]
    finals: list[list[Tensor]] = []
    for start in range(0, len(products), directions):
        outputs = []
        for i in range(start, start + directions):
            first = [g.gather(state, i, 0) for state in given]
            y, *last = _direction(g, cell, x, first, products[i], lengths, reverse=i > start)
            outputs.append(y)
            finals.append([g.unsqueeze(state, [0]) for state in last])
        x = g.concat(outputs, 2)
    return [x, *[g.concat(list(states), 0) for states in zip(*finals)]]


def _direction(
    g: Builder,
    cell: _Cell,
    x: Tensor,
    first: list[Tensor],
    products: tuple[_Product, _Product],
    lengths: Tensor | None,
    reverse: bool,
) -> list[Tensor]:
    """The outputs of one direction of one layer, and its final states."""
    length = x.shape[0]
    of_input, of_state = products
    inputs = of_input.of(g, x)

    def step(number: Tensor, *states: Tensor) -> list[Tensor]:
        time = g.sub(g.size(length - 1), number) if reverse else number
        ours = g.gather(inputs, time, 0)
        if lengths is None:
            after = cell(g, ours, of_state.of(g, states[0]), *states)
            return [*after, after[0]]
        inside = g.unsqueeze(g.less(time, lengths), [1])
        theirs = of_state.of(g, g.where(inside, states[0], 0))
        after = cell(g, ours, theirs, *states)
        return [*(g.where(inside, a, s) for a, s in zip(after, states)), g.where(inside, after[0], 0)]

    *last, outputs = loop(g, length, first, step)
    return [g.slice(outputs, [-1], [-INT64_MAX], [0], [-1]) if reverse else outputs, *last]


# -- embeddings -----------------------------------------------------------------------------------


def _rows(g: Builder, packed: Any, indices: Tensor, pruned: bool) -> Tensor:
    """Rows of a table of integers, each with a scale and an offset, as floats."""
    if pruned:
        raise LoweringError("embeddings with pruned weights can't be converted")
    table = torch.ops.quantized.embedding_bag_unpack(packed)
    scales, zeros = (x.float().numpy() for x in (table.q_per_channel_scales(), table.q_per_channel_zero_points()))
    integers = np.rint(table.dequantize().numpy() / scales[:, None] + zeros[:, None])
    offsets = -scales * zeros
    if table.dtype == torch.quint4x2:  # which is packed with these in float16
        scales, offsets = (x.astype(np.float16) for x in (scales, offsets))
    stored = g.known(integers.astype(np.uint8), torch.uint8, from_weight=True)
    q = g.cast(g.gather(stored, indices, 0), torch.float32)
    scale, offset = (g.unsqueeze(g.gather(g.const(x, torch.float32), indices, 0), [-1]) for x in (scales, offsets))
    return g.add(g.mul(q, scale), offset)


@lowering("quantized::embedding_byte", "quantized::embedding_4bit")
def embedding(g: Builder, weight: Any, indices: Tensor, pruned_weights: bool = False) -> Tensor:
    """embedding_byte(EmbeddingPackedParamsBase weight, Tensor indices, bool pruned_weights=False) -> Tensor"""
    return _rows(g, weight, indices, pruned_weights)


@lowering("quantized::embedding_bag_byte", "quantized::embedding_bag_4bit")
def embedding_bag_of_integers(
    g: Builder,
    weight: Any,
    indices: Tensor,
    offsets: Tensor | None = None,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    pruned_weights: bool = False,
    per_sample_weights: Tensor | None = None,
    compressed_indices_mapping: Tensor | None = None,
    include_last_offset: bool = False,
) -> Tensor:
    """embedding_bag_byte(EmbeddingPackedParamsBase weight, Tensor indices, Tensor? offsets=None,
    bool scale_grad_by_freq=False, int mode=0, bool pruned_weights=False, Tensor? per_sample_weights=None,
    Tensor? compressed_indices_mapping=None, bool include_last_offset=False) -> Tensor"""
    if offsets is None:
        bags, size = indices.shape
        indices, offsets = g.reshape(indices, [bags * size]), g.mul(g.range(0, bags), g.size(size))
        include_last_offset = False
        if per_sample_weights is not None:
            per_sample_weights = g.reshape(per_sample_weights, [bags * size])
    rows = _rows(g, weight, indices, pruned_weights)
    each = g.range(0, indices.shape[0])
    return embedding_bag(g, rows, each, offsets, False, 0, False, per_sample_weights, include_last_offset)[0]
