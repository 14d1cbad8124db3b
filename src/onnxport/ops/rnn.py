"""Recurrent layers and cells, and packed sequences.

A packed batch stays padded: `Packed` is the packed tensor that PyTorch would have, with the padded one and the
lengths at its side, which is what ONNX's recurrent ops want. Its own nodes vanish where nobody reads it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from ..dims import Size, known_eq
from ..errors import LoweringError
from ..lower.builder import Builder
from ..lower.emit import INT64_MAX
from ..lower.recurrence import loop
from ..lower.registry import lowering
from ..lower.values import Number, Tensor


@dataclass(frozen=True, slots=True)
class _Kind:
    """How a kind of layer is written in ONNX."""

    op_type: str
    order: tuple[int, ...]  # torch's gates in ONNX's order
    attributes: dict[str, Any]
    states: int = 1


_LSTM = _Kind("LSTM", (0, 3, 1, 2), {}, states=2)  # i f g o -> i o f c
_GRU = _Kind("GRU", (1, 0, 2), {"linear_before_reset": 1})  # r z n -> z r h
_TANH = _Kind("RNN", (0,), {"activations": ["Tanh"]})
_RELU = _Kind("RNN", (0,), {"activations": ["Relu"]})


@dataclass(frozen=True, slots=True)
class _Layer:
    """The weights of one direction of one layer."""

    w_ih: Tensor
    w_hh: Tensor
    b_ih: Tensor | None
    b_hh: Tensor | None
    w_hr: Tensor | None  # the projection of an LSTM


class Packed(Tensor):
    """A packed tensor `[total, ...]`, and the same batch padded, time first: `[time, batch, ...]`.

    `padded` holds anything behind the end of a sequence, unless `clean`: then zeros.
    """

    __slots__ = ("clean", "lengths", "padded")

    def __init__(self, packed: Tensor, padded: Tensor, lengths: Tensor, clean: bool = False) -> None:
        super().__init__(packed.dtype, packed.dims, packed.value, data=None)
        self.padded = padded
        self.lengths = lengths
        self.clean = clean


# -- packing --------------------------------------------------------------------------------------


@lowering("aten::_pack_padded_sequence")
def pack_padded_sequence(g: Builder, input: Tensor, lengths: Tensor, batch_first: bool) -> Any:
    """_pack_padded_sequence(Tensor input, Tensor lengths, bool batch_first) -> (Tensor, Tensor)"""
    padded = g.swap(input, 0, 1) if batch_first else input
    longest = g.int_of(g.gather(lengths, 0, 0), "longest")  # lengths are sorted, or PyTorch refuses them
    counts = g.reduce("ReduceSum", g.cast(mask_of(g, padded, lengths), torch.int64), [1])
    if known_eq(longest, padded.shape[0]) is not True:
        counts = g.slice(counts, [0], [longest], [0])
        counts.dims = (longest,)
    return pack(g, padded, lengths), counts


@lowering("aten::_pad_packed_sequence")
def pad_packed_sequence(
    g: Builder, data: Tensor, batch_sizes: Tensor, batch_first: bool, padding_value: Number, total_length: Size
) -> Any:
    """_pad_packed_sequence(Tensor data, Tensor batch_sizes, bool batch_first, Scalar padding_value, int total_length)
    -> (Tensor, Tensor)"""
    packed = packed_batch(g, data, batch_sizes)
    padded, lengths = packed.padded, packed.lengths
    length = padded.shape[0]
    if isinstance(total_length, int) and total_length <= 0:
        total_length = batch_sizes.shape[0]
    if not (packed.clean and padding_value == 0):
        mask = g.unsqueeze(mask_of(g, padded, lengths), range(2, padded.rank))
        padded = g.where(mask, padded, padding_value)
    if known_eq(length, total_length) is not True:
        # No sequence is longer than `total_length`; the input may well be.
        longest = batch_sizes.shape[0]
        kept = g.slice(padded, [0], [longest], [0])
        kept.dims = (longest, *padded.shape[1:])
        pads = [0] * padded.rank + [total_length - longest] + [0] * (padded.rank - 1)
        padded = g.pad(kept, pads, value=padding_value)
        padded.dims = (total_length, *kept.shape[1:])
    return (g.swap(padded, 0, 1) if batch_first else padded), lengths


def mask_of(g: Builder, padded: Tensor, lengths: Tensor) -> Tensor:
    """Which elements of `[time, batch]` lie within their sequence."""
    steps = g.unsqueeze(g.range(0, padded.shape[0]), [1])
    return g.less(steps, g.unsqueeze(lengths, [0]))


def pack(g: Builder, padded: Tensor, lengths: Tensor, total: Size | None = None, clean: bool = False) -> Packed:
    length, batch, *features = padded.shape
    rows = g.reshape(padded, [length * batch, *features])
    inside = g.reshape(mask_of(g, padded, lengths), [length * batch])
    packed = g.compress(rows, inside, 0)
    if total is not None:
        packed.dims = (total, *features)
    return Packed(packed, padded, lengths, clean)


def packed_batch(g: Builder, data: Tensor, batch_sizes: Tensor) -> Packed:
    """A packed tensor with its padded form, which is put together again if ops on `PackedSequence.data` lost it."""
    if isinstance(data, Packed):
        return data
    batch = g.int_of(g.gather(batch_sizes, 0, 0), "batch")
    first = g.cumsum(batch_sizes, 0, exclusive=True)
    row = g.unsqueeze(g.range(0, batch), [0])
    inside = g.less(row, g.unsqueeze(batch_sizes, [1]))
    positions = g.where(inside, g.add(g.unsqueeze(first, [1]), row), 0)
    lengths = g.reduce("ReduceSum", g.cast(inside, torch.int64), [0])
    return Packed(data, g.gather(data, positions, 0), lengths)


# -- layers ---------------------------------------------------------------------------------------


def _input(g: Builder, kind: _Kind, input: Tensor, hx: Any, params: list[Tensor], *options: Any) -> Any:
    """The forms `lstm.input` and the like."""
    has_biases, num_layers, dropout, train, bidirectional, batch_first = options
    x = g.swap(input, 0, 1) if batch_first else input
    layers = _layers(params, has_biases, num_layers, bidirectional, kind is _LSTM)
    refuse_dropout(dropout, train, num_layers)
    y, *states = _stack(g, kind, x, hx, layers, 2 if bidirectional else 1, None)
    return g.swap(y, 0, 1) if batch_first else y, *states


def _data(
    g: Builder, kind: _Kind, data: Tensor, batch_sizes: Tensor, hx: Any, params: list[Tensor], *options: Any
) -> Any:
    """The forms `lstm.data` and the like, on a packed sequence."""
    has_biases, num_layers, dropout, train, bidirectional = options
    packed = packed_batch(g, data, batch_sizes)
    layers = _layers(params, has_biases, num_layers, bidirectional, kind is _LSTM)
    refuse_dropout(dropout, train, num_layers)
    y, *states = _stack(g, kind, packed.padded, hx, layers, 2 if bidirectional else 1, packed.lengths)
    return pack(g, y, packed.lengths, data.shape[0], clean=True), *states


def refuse_dropout(dropout: float, train: bool, num_layers: int) -> None:
    if train and dropout and num_layers > 1:
        raise LoweringError("dropout between recurrent layers in training mode; call model.eval() or set dropout=0")


def _layers(params: Sequence[Tensor], biases: bool, count: int, bidirectional: bool, projects: bool) -> list[_Layer]:
    """Torch's flat list of weights, by layer and direction."""
    directions = count * (2 if bidirectional else 1)
    size, rest = divmod(len(params), directions)
    assert not rest
    projected = projects and size == (5 if biases else 3)
    made = []
    for i in range(directions):
        own: list[Tensor | None] = list(params[i * size : (i + 1) * size])
        w_hr = own.pop() if projected else None
        w_ih, w_hh, b_ih, b_hh = own if biases else (*own, None, None)
        assert w_ih is not None and w_hh is not None
        made.append(_Layer(w_ih, w_hh, b_ih, b_hh, w_hr))
    return made


def _stack(
    g: Builder, kind: _Kind, x: Tensor, hx: Any, layers: list[_Layer], directions: int, lengths: Tensor | None
) -> list[Tensor]:
    """All layers on `x` of `[time, batch, features]`: the last output and the final states of every layer."""
    initial = list(hx) if isinstance(hx, (list, tuple)) else [hx]
    given = [None if _is_zeros(state) else state for state in initial]
    count = len(layers) // directions
    finals: list[list[Tensor]] = []
    run = _projected if layers[0].w_hr is not None else _onnx_layer
    for i in range(count):
        start = i * directions
        own = [_part(g, state, start, start + directions, len(layers)) for state in given]
        x, *states = run(g, kind, x, own, layers[start : start + directions], lengths)
        finals.append(states)
    return [x, *[g.concat(list(states), 0) for states in zip(*finals)]]


def _is_zeros(x: Tensor) -> bool:
    """Whether x is known to be zero everywhere: such an initial state is left out."""
    if x.is_constant:
        return x.data is not None and not x.data.any()
    node = None if x.value is None else x.value.producer()
    if node is None or node.op_type != "ConstantOfShape":
        return False
    fill = node.attributes.get("value")
    return fill is None or not fill.as_tensor().numpy().any()


def _part(g: Builder, state: Tensor | None, start: int, end: int, total: int) -> Tensor | None:
    if state is None or (start == 0 and end == total):
        return state
    return g.slice(state, [start], [end], [0])


def _onnx_layer(
    g: Builder, kind: _Kind, x: Tensor, states: list[Tensor | None], layers: list[_Layer], lengths: Tensor | None
) -> list[Tensor]:
    """One layer as the ONNX op."""
    hidden = layers[0].w_hh.shape[1]
    order = kind.order
    w = _stacked(g, [_reordered(g, layer.w_ih, order) for layer in layers])
    r = _stacked(g, [_reordered(g, layer.w_hh, order) for layer in layers])
    b = None
    if layers[0].b_ih is not None:
        pairs = [(layer.b_ih, layer.b_hh) for layer in layers]
        b = _stacked(g, [g.concat([_reordered(g, t, order) for t in pair if t is not None], 0) for pair in pairs])
    attributes = dict(kind.attributes)
    if "activations" in attributes:
        attributes["activations"] = attributes["activations"] * len(layers)
    y, *finals = g.op(
        kind.op_type, x, w, r, b, None if lengths is None else g.cast(lengths, torch.int32), *states,
        outputs=1 + kind.states, hidden_size=hidden, direction="bidirectional" if len(layers) == 2 else None, **attributes,
    )  # fmt: skip
    length, batch = x.shape[:2]
    if len(layers) == 1:
        return [g.squeeze(y, [1]), *finals]
    return [g.reshape(g.transpose(y, [0, 2, 1, 3]), [length, batch, 2 * hidden]), *finals]


def _reordered(g: Builder, weight: Tensor, order: tuple[int, ...]) -> Tensor:
    """Rows of a weight or bias, gate by gate, in this order."""
    if len(order) == 1:
        return weight
    size = weight.shape[0] // len(order)
    parts = g.split(weight, [size] * len(order), 0)
    return g.concat([parts[i] for i in order], 0)


def _stacked(g: Builder, tensors: list[Tensor]) -> Tensor:
    return g.concat([g.unsqueeze(t, [0]) for t in tensors], 0)


def _projected(
    g: Builder, kind: _Kind, x: Tensor, states: list[Tensor | None], layers: list[_Layer], lengths: Tensor | None
) -> list[Tensor]:
    """One layer of an LSTM with projections (proj_size), for which ONNX has no op: a Loop over time per direction."""
    h, c = states
    made = []
    for i, layer in enumerate(layers):
        first = [None if state is None else g.gather(state, i, 0) for state in (h, c)]
        made.append(_projected_direction(g, x, first, layer, lengths, reverse=i == 1))
    outputs, *finals = zip(*made)
    return [g.concat(list(outputs), 2), *[_stacked(g, list(final)) for final in finals]]


def _projected_direction(
    g: Builder, x: Tensor, first: list[Tensor | None], layer: _Layer, lengths: Tensor | None, reverse: bool
) -> list[Tensor]:
    assert layer.w_hr is not None
    length, batch = x.shape[:2]
    sizes = (layer.w_hr.shape[0], layer.w_hh.shape[0] // 4)
    state = [g.full([batch, n], 0, x.dtype) if given is None else given for given, n in zip(first, sizes)]
    bias = None if layer.b_ih is None or layer.b_hh is None else g.add(layer.b_ih, layer.b_hh)
    inputs = affine(g, x, layer.w_ih, bias)

    def step(number: Tensor, h: Tensor, c: Tensor) -> list[Tensor]:
        time = g.sub(g.size(length - 1), number) if reverse else number
        gates = g.add(g.gather(inputs, time, 0), g.matmul(h, g.transpose(layer.w_hh, [1, 0])))
        hidden, cell = cell_of_lstm_gates(g, gates, c)
        after = g.matmul(hidden, g.transpose(layer.w_hr, [1, 0]))  # type: ignore[arg-type]
        if lengths is None:
            return [after, cell, after]
        inside = g.unsqueeze(g.less(time, lengths), [1])
        return [g.where(inside, after, h), g.where(inside, cell, c), g.where(inside, after, 0)]

    last, cell, outputs = loop(g, length, state, step)
    return [g.slice(outputs, [-1], [-INT64_MAX], [0], [-1]) if reverse else outputs, last, cell]


def cell_of_lstm_gates(g: Builder, gates: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
    """Hidden and cell state after the gates i, f, n, o."""
    i, f, n, o = _gates(g, gates, 4)
    cell = g.add(g.mul(g.op("Sigmoid", f), c), g.mul(g.op("Sigmoid", i), g.op("Tanh", n)))
    return g.mul(g.op("Sigmoid", o), g.op("Tanh", cell)), cell


@lowering("aten::lstm.input")
def lstm(g: Builder, input: Tensor, hx: list[Tensor], params: list[Tensor], *options: Any) -> Any:
    """lstm.input(Tensor input, Tensor[] hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train,
    bool bidirectional, bool batch_first) -> (Tensor, Tensor, Tensor)"""
    return _input(g, _LSTM, input, hx, params, *options)


@lowering("aten::lstm.data")
def lstm_data(
    g: Builder, data: Tensor, batch_sizes: Tensor, hx: list[Tensor], params: list[Tensor], *options: Any
) -> Any:
    """lstm.data(Tensor data, Tensor batch_sizes, Tensor[] hx, Tensor[] params, bool has_biases, int num_layers,
    float dropout, bool train, bool bidirectional) -> (Tensor, Tensor, Tensor)"""
    return _data(g, _LSTM, data, batch_sizes, hx, params, *options)


def _register(name: str, kind: _Kind) -> None:
    """The two forms of a layer with one state."""

    @lowering(f"aten::{name}.input")
    def whole(g: Builder, input: Tensor, hx: Tensor, params: list[Tensor], *options: Any) -> Any:
        """gru.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train,
        bool bidirectional, bool batch_first) -> (Tensor, Tensor)"""
        return _input(g, kind, input, hx, params, *options)

    @lowering(f"aten::{name}.data")
    def packed(g: Builder, data: Tensor, batch_sizes: Tensor, hx: Tensor, params: list[Tensor], *options: Any) -> Any:
        """gru.data(Tensor data, Tensor batch_sizes, Tensor hx, Tensor[] params, bool has_biases, int num_layers,
        float dropout, bool train, bool bidirectional) -> (Tensor, Tensor)"""
        return _data(g, kind, data, batch_sizes, hx, params, *options)


for _name, _kind in {"gru": _GRU, "rnn_tanh": _TANH, "rnn_relu": _RELU}.items():
    _register(_name, _kind)


# -- cells ----------------------------------------------------------------------------------------


def affine(g: Builder, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """x @ weight.T + bias"""
    if bias is not None and x.rank == 2:
        return g.op("Gemm", x, weight, bias, transB=1)
    product = g.matmul(x, g.transpose(weight, [1, 0]))
    return product if bias is None else g.add(product, bias)


def _gates(g: Builder, x: Tensor, count: int) -> list[Tensor]:
    return g.split(x, [x.shape[-1] // count] * count, x.rank - 1)


@lowering("aten::lstm_cell")
def lstm_cell(
    g: Builder, input: Tensor, hx: list[Tensor], w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None, b_hh: Tensor | None
) -> Any:
    """lstm_cell(Tensor input, Tensor[] hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None)
    -> (Tensor, Tensor)"""
    h, c = hx
    return cell_of_lstm_gates(g, g.add(affine(g, input, w_ih, b_ih), affine(g, h, w_hh, b_hh)), c)


@lowering("aten::gru_cell")
def gru_cell(
    g: Builder, input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None, b_hh: Tensor | None
) -> Tensor:
    """gru_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> Tensor"""
    return cell_of_gru_gates(g, affine(g, input, w_ih, b_ih), affine(g, hx, w_hh, b_hh), hx)


def cell_of_gru_gates(g: Builder, of_input: Tensor, of_hidden: Tensor, hx: Tensor) -> Tensor:
    """The next state of a GRU."""
    r, z, n = _gates(g, of_input, 3)
    hr, hz, hn = _gates(g, of_hidden, 3)
    new = g.op("Tanh", g.add(n, g.mul(g.op("Sigmoid", g.add(r, hr)), hn)))
    return g.add(g.mul(g.sub(hx, new), g.op("Sigmoid", g.add(z, hz))), new)


@lowering("aten::rnn_tanh_cell")
def rnn_tanh_cell(
    g: Builder, input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None, b_hh: Tensor | None
) -> Tensor:
    """rnn_tanh_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> Tensor"""
    return g.op("Tanh", g.add(affine(g, input, w_ih, b_ih), affine(g, hx, w_hh, b_hh)))


@lowering("aten::rnn_relu_cell")
def rnn_relu_cell(
    g: Builder, input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None, b_hh: Tensor | None
) -> Tensor:
    """rnn_relu_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> Tensor"""
    return g.op("Relu", g.add(affine(g, input, w_ih, b_ih), affine(g, hx, w_hh, b_hh)))
