"""Recurrent layers, attention, masks and positions over sequences of any length."""

import math

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from tests.dynamic.harness import LATEST, at, check, f, i, lengths, mask, program, programs


def seeded(make, *args, **options):
    torch.manual_seed(0)
    return make(*args, **options)


class Packed(nn.Module):
    def __init__(self, kind, **options):
        super().__init__()
        self.layer = seeded(kind, 3, 4, batch_first=True, **options)

    def forward(self, x, lengths):
        packed = pack_padded_sequence(x, lengths, batch_first=True)
        return pad_packed_sequence(self.layer(packed)[0], batch_first=True)


class Stepwise(nn.Module):
    """A cell with an initial state made at the size of the batch."""

    def __init__(self):
        super().__init__()
        self.cell = seeded(nn.GRUCell, 3, 4)

    def forward(self, x):
        h = x.new_zeros(x.shape[0], 4)
        return self.cell(x, self.cell(x, h))


class ZeroState(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.layer = seeded(kind, 3, 4, num_layers=2, batch_first=True)

    def forward(self, x):
        h = torch.zeros(2, x.size(0), 4)
        state = (h, h) if isinstance(self.layer, nn.LSTM) else h
        return self.layer(x, state)[0]


class Seq2Seq(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.decoder = seeded(nn.GRU, 3, 4, batch_first=True), seeded(nn.GRU, 3, 4, batch_first=True)

    def forward(self, x, y):
        return self.decoder(y, self.encoder(x)[1])[0]


RECURRENT = [
    program("lstm", seeded(nn.LSTM, 3, 4), f("s", "b", 3), s=5, b=2, out="s, b, 4; 1, b, 4; 1, b, 4"),
    program("lstm_batch_of_one", seeded(nn.LSTM, 3, 4, batch_first=True), f("b", "s", 3), s=5, b=1, out="b, s, 4; 1, b, 4; 1, b, 4"),
    program("lstm_one_step", seeded(nn.LSTM, 3, 4, batch_first=True), f("b", "s", 3), s=1, b=2, out="b, s, 4; 1, b, 4; 1, b, 4"),
    program("bilstm", seeded(nn.LSTM, 3, 4, num_layers=2, bidirectional=True), f("s", "b", 3), s=4, b=2, out="s, b, 8; 4, b, 4; 4, b, 4"),
    program("gru", seeded(nn.GRU, 3, 4, batch_first=True), f("b", "s", 3), s=5, b=2, out="b, s, 4; 1, b, 4"),
    program("bigru", seeded(nn.GRU, 3, 4, bidirectional=True, batch_first=True), f("b", "s", 3), s=1, b=1, out="b, s, 8; 2, b, 4"),
    program("rnn", seeded(nn.RNN, 3, 4, nonlinearity="relu"), f("s", "b", 3), s=3, b=3, out="s, b, 4; 1, b, 4"),
    program("rnn_without_batch", seeded(nn.RNN, 3, 4), f("s", 3), s=3, out="s, 4; 1, 4"),
    program("packed_lstm", Packed(nn.LSTM), f("b", "s", 3), lengths("b", "s"), s=5, b=3),
    program("packed_gru", Packed(nn.GRU, bidirectional=True), f("b", "s", 3), lengths("b", "s"), s=5, b=3),
    program("packed_rnn", Packed(nn.RNN, num_layers=2), f("b", "s", 3), lengths("b", "s"), s=4, b=1),
    program("zero_state_lstm", ZeroState(nn.LSTM), f("b", "s", 3), s=4, b=1, out="b, s, 4"),
    program("zero_state_gru", ZeroState(nn.GRU), f("b", "s", 3), s=4, b=2, out="b, s, 4"),
    program("gru_cell", Stepwise(), f("b", 3), b=1, out="b, 4"),
    program("seq2seq", Seq2Seq(), f("b", "s", 3), f("b", "t", 3), b=2, s=4, t=3, out="b, t, 4"),
    program("last_step", lambda x: x[:, -1], f("b", "s", 4), b=2, s=1, out="b, 4"),
    program(
        "step_before_padding",
        lambda x, n: x[torch.arange(x.shape[0]), n - 1],
        f("b", "s", 4), lengths("b", "s"), b=2, s=4, out="b, 4",
    ),
]  # fmt: skip


def attend(q, k, v, allowed=None):
    scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    if allowed is not None:
        scores = scores.masked_fill(~allowed, float("-inf"))
    return scores.softmax(-1) @ v


def causal(q, k, v):
    return attend(q, k, v, torch.ones(q.shape[-2], k.shape[-2]).tril().bool())


def causal_with_past(q, k, v):
    """The queries are the last of the keys' positions."""
    s, t = q.shape[-2], k.shape[-2]
    return attend(q, k, v, torch.arange(t)[None, :] <= torch.arange(t - s, t)[:, None])


def heads(x):
    b, s, c = x.shape
    q, k, v = x.view(b, s, 3, 2, c // 6).permute(2, 0, 3, 1, 4)
    return attend(q, k, v).transpose(1, 2).reshape(b, s, c // 3)


def additive_mask(x, keep):
    """As transformers do: 0 where allowed, the smallest number elsewhere."""
    bias = (1.0 - keep[:, None, None, :].to(x.dtype)) * torch.finfo(x.dtype).min
    q = x.view(x.shape[0], x.shape[1], 2, 2).transpose(1, 2)
    return (q @ q.mT + bias).softmax(-1)


def mean_of_kept(x, keep):
    weight = keep.unsqueeze(-1).float()
    return (x * weight).sum(1) / weight.sum(1).clamp(min=1e-9)


class Cached(nn.Module):
    """The mask of the longest sequence is a buffer, of which each run takes a corner."""

    def __init__(self):
        super().__init__()
        self.register_buffer("bias", torch.ones(16, 16).tril().bool())

    def forward(self, x):
        n = x.size(1)
        return attend(x, x, x, self.bias[:n, :n])


class MultiHead(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = seeded(nn.MultiheadAttention, 8, 2, batch_first=True)

    def forward(self, x, keep):
        return self.attention(x, x, x, key_padding_mask=~keep, need_weights=False)[0]


class CausalMultiHead(MultiHead):
    def forward(self, x):
        allowed = nn.Transformer.generate_square_subsequent_mask(x.shape[1])
        return self.attention(x, x, x, attn_mask=allowed, need_weights=True)


class Relative(nn.Module):
    """A learned bias by clipped distance."""

    def __init__(self):
        super().__init__()
        self.bias = seeded(nn.Embedding, 9, 1)

    def forward(self, x):
        at = torch.arange(x.shape[1])
        distance = (at[None, :] - at[:, None]).clamp(-4, 4) + 4
        return x @ x.mT + self.bias(distance).squeeze(-1)


class Encoder(nn.Module):
    def __init__(self, **options):
        super().__init__()
        layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, **options)
        self.encoder = seeded(nn.TransformerEncoder, layer, 2, enable_nested_tensor=False)

    def forward(self, x, keep):
        return self.encoder(x, src_key_padding_mask=~keep)


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = seeded(nn.TransformerDecoderLayer, 8, 2, 16, batch_first=True)

    def forward(self, x, memory):
        n = x.shape[1]
        allowed = torch.full((n, n), float("-inf")).triu(1)
        return self.layer(x, memory, tgt_mask=allowed)


def key_value_cache(x, past):
    keys = torch.cat([past, x], 1)
    return attend(x, keys, keys), keys


def alibi(x):
    at = torch.arange(x.shape[1])
    return x @ x.mT - 0.5 * (at[:, None] - at[None, :]).abs()


ATTENTION = [
    program("plain", attend, f("b", "s", 4), f("b", "t", 4), f("b", "t", 4), b=2, s=3, t=5, out="b, s, 4"),
    program("causal_by_size", causal, f("b", "s", 4), f("b", "s", 4), f("b", "s", 4), b=1, s=3, out="b, s, 4"),
    program(
        "causal_with_past", causal_with_past, f("s", 4), f("t", 4), f("t", 4), s=2, t=5, out="s, 4",
        others=[at(s=1, t=1), at(s=1, t=7), at(s=6, t=9)],
    ),
    program("heads", heads, f("b", "s", 12), b=1, s=4, out="b, s, 4"),
    program("additive_mask", additive_mask, f("b", "s", 4), mask("b", "s"), b=2, s=3, out="b, 2, s, s"),
    program("mean_of_kept", mean_of_kept, f("b", "s", 4), mask("b", "s"), b=1, s=3, out="b, 4"),
    program("cached_mask", Cached(), f("b", "s", 4), b=1, s=4, out="b, s, 4"),
    program("sdpa", F.scaled_dot_product_attention, f("b", 2, "s", 4), f("b", 2, "t", 4), f("b", 2, "t", 4), b=1, s=3, t=2, out="b, 2, s, 4"),
    program("sdpa_causal", lambda x: F.scaled_dot_product_attention(x, x, x, is_causal=True), f("b", 2, "s", 4), b=1, s=3, out="b, 2, s, 4"),
    program(
        "sdpa_bool_mask", lambda x, m: F.scaled_dot_product_attention(x, x, x, attn_mask=m[:, None, None]),
        f("b", 2, "s", 4), mask("b", "s"), b=2, s=3, out="b, 2, s, 4",
    ),
    program(
        "sdpa_float_mask", lambda x, m: F.scaled_dot_product_attention(x, x, x, attn_mask=m),
        f("b", 2, "s", 4), f("s", "s"), b=1, s=1, out="b, 2, s, 4",
    ),
    program("multi_head", MultiHead(), f("b", "s", 8), mask("b", "s"), b=2, s=3, out="b, s, 8"),
    program("multi_head_batch_of_one", MultiHead(), f("b", "s", 8), mask("b", "s"), b=1, s=1, out="b, s, 8"),
    program("multi_head_causal", CausalMultiHead(), f("b", "s", 8), b=2, s=3, out="b, s, 8; b, s, s"),
    program("relative", Relative(), f("b", "s", 4), b=2, s=3, out="b, s, s"),
    program("alibi", alibi, f("b", "s", 4), b=2, s=3, out="b, s, s"),
    program("encoder", Encoder(), f("b", "s", 8), mask("b", "s"), b=2, s=4, out="b, s, 8"),
    program("encoder_norm_first", Encoder(norm_first=True, activation="gelu"), f("b", "s", 8), mask("b", "s"), b=1, s=4, out="b, s, 8"),
    program("decoder", Decoder(), f("b", "s", 8), f("b", "t", 8), b=2, s=3, t=4, out="b, s, 8"),
    program("key_value_cache", key_value_cache, f("b", "s", 4), f("b", "p", 4), b=1, s=1, p=3, out="b, s, 4; b, p + s, 4"),
    program(
        "empty_cache", key_value_cache, f("b", "s", 4), f("b", "p", 4), b=1, s=2, p=0, out="b, s, 4; b, p + s, 4",
        others=[at(b=1, s=1, p=3), at(b=2, s=4, p=0), at(b=3, s=1, p=6)],
    ),
]  # fmt: skip


class Positions(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.places = seeded(nn.Embedding, 4, 6), seeded(nn.Embedding, 16, 6)

    def forward(self, ids):
        return self.words(ids) + self.places(torch.arange(ids.size(1), device=ids.device))


class Table(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Parameter(seeded(torch.randn, 1, 16, 4))

    def forward(self, x):
        return x + self.table[:, : x.shape[1]]


class Stored(nn.Module):
    """Position numbers in a buffer, as BERT has them; a token type of zeros, expanded."""

    def __init__(self):
        super().__init__()
        self.places = seeded(nn.Embedding, 16, 4)
        self.register_buffer("ids", torch.arange(16).expand(1, -1))

    def forward(self, ids, past=0):
        n = ids.shape[1]
        kinds = self.ids[:, :n].expand(ids.shape[0], n)
        return self.places(self.ids[:, past : n + past]) + kinds[..., None] + ids[..., None]


def sinusoids(x):
    n, c = x.shape[-2:]
    at = torch.arange(n)[:, None] * torch.exp(torch.arange(0, c, 2) * (-math.log(10000.0) / c))
    return x + torch.stack([at.sin(), at.cos()], -1).flatten(-2)


def rotary(x):
    n, half = x.shape[1], x.shape[-1] // 2
    angle = torch.outer(torch.arange(n).float(), 1.0 / 100 ** (torch.arange(half) / half))
    turn = torch.cat([angle, angle], -1)
    return x * turn.cos() + torch.cat([-x[..., half:], x[..., :half]], -1) * turn.sin()


class ClassToken(nn.Module):
    def __init__(self):
        super().__init__()
        self.token, self.table = nn.Parameter(seeded(torch.randn, 1, 1, 4)), nn.Parameter(seeded(torch.randn, 1, 17, 4))

    def forward(self, x):
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1)
        return x + self.table[:, : x.size(1)]


class Interpolated(nn.Module):
    """A table of positions on a grid, stretched to the grid of the image, as in DINO."""

    def __init__(self):
        super().__init__()
        self.grid = nn.Parameter(seeded(torch.randn, 1, 4, 4, 4))
        self.patches = seeded(nn.Conv2d, 3, 4, 2, 2)

    def forward(self, x):
        x = self.patches(x)
        grid = F.interpolate(self.grid, size=x.shape[-2:], mode="bilinear", align_corners=False)
        return (x + grid).flatten(2).transpose(1, 2)


POSITIONS = [
    program("learned", Positions(), i("b", "s"), b=2, s=3, out="b, s, 6"),
    program("learned_one", Positions(), i("b", "s"), b=1, s=1, out="b, s, 6"),
    program("table", Table(), f("b", "s", 4), b=1, s=4, out="b, s, 4"),
    program("stored", Stored(), i("b", "s"), b=1, s=4, out="b, s, 4"),
    program("sinusoids", sinusoids, f("b", "s", 4), b=1, s=4, out="b, s, 4"),
    program("rotary", rotary, f("b", "s", 4), b=2, s=4, out="b, s, 4"),
    program("class_token", ClassToken(), f("b", "s", 4), b=1, s=4, out="b, s + 1, 4"),
    program("interpolated", Interpolated(), f("b", 3, "h", "w"), b=1, h=8, w=8, low=2, multiple=2, out="b, (h//2)*(w//2), 4"),
    program(
        "from_mask", lambda keep: (keep.long().cumsum(-1) - 1).clamp(min=0), mask("b", "s"), b=2, s=4, out="b, s",
    ),
    program(
        "from_lengths", lambda x, n: x * (torch.arange(x.shape[1])[None, :] < n[:, None]),
        f("b", "s"), lengths("b", "s"), b=2, s=4, out="b, s",
    ),
    program("shifted", lambda x: F.pad(x, (1, 0))[:, :-1], i("b", "s"), b=2, s=4, out="b, s"),
    program("next_token", lambda x: (x[:, 1:] == x[:, :-1]).float(), i("b", "s"), b=2, s=4, out="b, max(0, s - 1)"),
]  # fmt: skip


@programs(RECURRENT)
def test_recurrent(p, opset):
    check(p, opset)


@programs(ATTENTION)
def test_attention(p, opset):
    check(p, opset)


@programs(POSITIONS)
def test_positions(p, opset):
    check(p, opset)


def test_sizes_of_a_causal_mask_are_read_once():
    model = check(next(p for p in ATTENTION if p.name == "sdpa_causal"), LATEST)
    assert sum(node.op_type == "Shape" for node in model.graph.node) <= 1
