"""Types of matrix products and what is built on them: Einsum, attention, recurrent nets, transforms."""

from __future__ import annotations

import torch

from ...dims import Dim, Size
from .call import Call, Dims, Type, rule

# -- products ---------------------------------------------------------------------------------------


@rule("MatMul")
def matmul(call: Call) -> list[Type]:
    return [(call[0].dtype, _matmul_dims(call, call[0].dims, call[1].dims))]


@rule("MatMulInteger")
def matmul_integer(call: Call) -> list[Type]:
    return [(torch.int32, _matmul_dims(call, call[0].dims, call[1].dims))]


@rule("QLinearMatMul")
def qlinear_matmul(call: Call) -> list[Type]:
    return [(call[7].dtype, _matmul_dims(call, call[0].dims, call[3].dims))]


def _matmul_dims(call: Call, a: Dims, b: Dims) -> Dims:
    if a is None or b is None:
        return None
    if not a or not b:
        raise call.error("a factor has no dimensions")
    rows = a[-2:-1]  # none where `a` is a vector
    columns = b[-1:] if len(b) > 1 else ()
    inner_a, inner_b = a[-1], b[-2] if len(b) > 1 else b[0]
    if isinstance(inner_a, int) and isinstance(inner_b, int) and inner_a != inner_b:
        raise call.error(f"the inner sizes {inner_a} and {inner_b} differ")
    batch = call.broadcast(a[:-2], b[:-2])
    return None if batch is None else batch + rows + columns


@rule("Gemm")
def gemm(call: Call) -> list[Type]:
    a, b = call[0].dims, call[1].dims
    rows = call.unknown() if a is None else a[1 if call.attr("transA", 0) else 0]
    columns = call.unknown() if b is None else b[0 if call.attr("transB", 0) else 1]
    return [(call[0].dtype, (rows, columns))]


@rule("Det")
def det(call: Call) -> list[Type]:
    dims = call[0].dims
    return [(call[0].dtype, None if dims is None else dims[:-2])]


@rule("Einsum")
def einsum(call: Call) -> list[Type]:
    dtype = call[0].dtype
    inputs, arrow, output = call.attributes["equation"].replace(" ", "").partition("->")
    sizes: dict[str, Size] = {}
    ellipsis: Dims = ()
    for i, term in enumerate(inputs.split(",")):
        dims = call[i].dims
        before, dots, after = term.partition("...")
        if dims is None:
            ellipsis = None if dots else ellipsis
            continue
        middle = len(dims) - len(after)
        if dots:
            ellipsis = call.broadcast(ellipsis, dims[len(before) : middle])
        elif len(dims) != len(term):
            raise call.error(f"'{term}' doesn't fit {len(dims)} dimensions")
        for letter, size in [*zip(before, dims), *(zip(after, dims[middle:]) if dots else ())]:
            sizes[letter] = call.broadcast_size(sizes[letter], size) if letter in sizes else size
    if not arrow:
        letters = sorted(set(inputs) - set(".,"))
        output = "..." + "".join(letter for letter in letters if inputs.count(letter) == 1)
    dims_out: list[Size] = []
    before, dots, after = output.partition("...")
    dims_out += [sizes[letter] if letter in sizes else call.unknown() for letter in before]
    if dots and ellipsis is None:
        return [(dtype, None)]
    dims_out += ellipsis or () if dots else ()
    dims_out += [sizes[letter] if letter in sizes else call.unknown() for letter in after]
    return [(dtype, tuple(dims_out))]


# -- attention --------------------------------------------------------------------------------------


@rule("Attention")
def attention(call: Call) -> list[Type]:
    q, k, v = call[0], call[1], call[2]
    past_k, past_v = call.optional(4), call.optional(5)
    value_dtype = v.dtype if past_v is None else past_v.dtype
    if q.dims is None or k.dims is None or v.dims is None:
        return [(q.dtype, None), (q.dtype, call.unknowns(4)), (value_dtype, call.unknowns(4)),
                (q.dtype, call.unknowns(4))]  # fmt: skip
    queries = _heads(call, q.dims, "q_num_heads")
    keys, values = _heads(call, k.dims, "kv_num_heads"), _heads(call, v.dims, "kv_num_heads")
    batch, heads, length, _ = queries
    total = keys[2]
    if past_k is not None:
        total = call.unknown() if past_k.dims is None else total + past_k.dims[2]
    out: Dims = (batch, heads, length, values[3])
    if len(q.dims) == 3:
        out = (batch, length, heads * values[3])
    return [
        (q.dtype, out),
        (q.dtype, (batch, keys[1], total, keys[3])),
        (value_dtype, (batch, values[1], total, values[3])),
        (q.dtype, (batch, heads, length, total)),
    ]


def _heads(call: Call, dims: tuple[Size, ...], count: str) -> tuple[Size, ...]:
    """(batch, heads, length, size) of what may be packed as (batch, length, heads * size)."""
    if len(dims) == 4:
        return dims
    heads = call.attributes[count]
    return (dims[0], heads, dims[1], dims[2] // heads)


@rule("LinearAttention")
def linear_attention(call: Call) -> list[Type]:
    q, k, v, past = call[0], call[1], call[2], call.optional(3)
    dtype = q.dtype if past is None else past.dtype
    if q.dims is None or k.dims is None or v.dims is None:
        return [(q.dtype, call.unknowns(3)), (dtype, call.unknowns(4))]
    heads, shared = call.attributes["q_num_heads"], call.attributes["kv_num_heads"]
    size = v.dims[2] // shared
    return [
        (q.dtype, (q.dims[0], q.dims[1], heads * size)),
        (dtype, (q.dims[0], shared, k.dims[2] // shared, size)),
    ]


@rule("CausalConvWithState")
def causal_conv_with_state(call: Call) -> list[Type]:
    x, weight = call[0], call[1]
    batch, channels = (call.unknown(), call.unknown()) if x.dims is None else x.dims[:2]
    kernel: Size = call.unknown() if weight.dims is None else weight.dims[-1]
    return [(x.dtype, x.dims), (x.dtype, (batch, channels, kernel - 1))]


# -- recurrent --------------------------------------------------------------------------------------


@rule("RNN", "GRU", "LSTM")
def recurrent(call: Call) -> list[Type]:
    x, recurrence = call[0], call[2]
    batch_first = call.attr("layout", 0)
    batch, length = (call.unknown(), call.unknown()) if x.dims is None else x.dims[:2]
    if not batch_first:
        batch, length = length, batch
    directions = 2 if call.attr("direction", "forward") == "bidirectional" else 1
    hidden: Size | None = call.attr("hidden_size")
    if hidden is None:
        hidden = call.unknown() if recurrence.dims is None else recurrence.dims[2]
    state = (batch, directions, hidden) if batch_first else (directions, batch, hidden)
    every = (batch, length, directions, hidden) if batch_first else (length, directions, batch, hidden)
    states = 2 if call.op_type == "LSTM" else 1
    return [(x.dtype, every), *[(x.dtype, state)] * states]


# -- Fourier transforms -----------------------------------------------------------------------------


@rule("DFT")
def dft(call: Call) -> list[Type]:
    x, length = call[0], call.sizes(1)
    if x.dims is None:
        return [(x.dtype, None)]
    if call.opset < 20:
        axis = call.attr("axis", 1)
    else:
        chosen = [-2] if call.optional(2) is None else call.sizes(2)
        if chosen is None:
            return [(x.dtype, (*call.unknowns(len(x.dims) - 1), 2))]
        (axis,) = chosen
    axis = call.axis(axis, len(x.dims))
    onesided, inverse = call.attr("onesided", 0), call.attr("inverse", 0)
    dims = list(x.dims)
    dims[-1] = 2
    if call.optional(1) is not None:
        dims[axis] = call.unknown() if length is None else length[0]
    elif onesided and inverse and call.opset >= 20:
        dims[axis] = 2 * (dims[axis] - 1)
    if onesided and inverse and call.opset >= 20:
        dims[-1] = 1  # back to reals
    elif onesided:
        dims[axis] = dims[axis] // 2 + 1
    return [(x.dtype, tuple(dims))]


@rule("STFT")
def stft(call: Call) -> list[Type]:
    signal, window, step = call[0], call.optional(2), call.sizes(1)
    if signal.dims is None:
        return [(signal.dtype, (call.unknown(), call.unknown(), call.unknown(), 2))]
    frame: Size | Dim
    if call.optional(3) is not None:
        given = call.sizes(3)
        frame = call.unknown() if given is None else given[0]
    elif window is not None:
        frame = call.unknown() if window.dims is None else window.dims[0]
    else:
        frame = signal.dims[1]
    frames: Size = call.unknown() if step is None else (signal.dims[1] - frame) // step[0] + 1
    bins = frame // 2 + 1 if call.attr("onesided", 1) else frame
    return [(signal.dtype, (signal.dims[0], frames, bins, 2))]
