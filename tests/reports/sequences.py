"""Language, recommendation, time series, policies."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import nn

from tests.reports.harness import OFTEN, program, reports

TABLE, report = reports()
PT = "https://github.com/pytorch/pytorch/issues/"
BT = {0: {0: "b", 1: "t"}}


def rows(d):
    return lambda b, t: (torch.randn(b, t, d),)


@report(OFTEN)
def rotary_embeddings_of_three_kinds():
    class Rope(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("inv", 1.0 / 10000 ** (torch.arange(0, 8, 2).float() / 8), persistent=False)

        def forward(self, q, positions):
            freqs = positions.float().unsqueeze(-1) * self.inv
            emb = torch.cat((freqs, freqs), -1)[:, None]
            half = torch.cat((-q[..., 4:], q[..., :4]), -1)
            a = q * emb.cos() + half * emb.sin()
            pair = torch.view_as_complex(q.float().reshape(*q.shape[:-1], -1, 2))
            unit = torch.polar(torch.ones_like(freqs), freqs)[:, None]
            b = torch.view_as_real(pair * unit).flatten(3).type_as(q)
            cos, sin = (f.repeat_interleave(2, -1)[:, None] for f in (freqs.cos(), freqs.sin()))
            turned = torch.stack([-q[..., 1::2], q[..., ::2]], -1).reshape_as(q)
            return a, b, q * cos + turned * sin

    return program(
        Rope(), lambda b, t: (torch.randn(b, 2, t, 8), torch.arange(t).expand(b, t)), (1, 4), (2, 7),
        axes={0: {0: "b", 2: "t"}, 1: {0: "b", 1: "t"}},
    )  # fmt: skip


@report(OFTEN)
def alibi_buckets_and_sliding_windows():
    class Bias(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.Embedding(8, 2)

        def forward(self, q, mask):
            b, h, t, _ = q.shape
            slopes = 2.0 ** (-8.0 * torch.arange(1, h + 1) / h)
            position = (mask.cumsum(-1) - 1) * mask
            alibi = slopes[None, :, None, None] * position[:, None, None, :]
            relative = torch.arange(t)[None, :] - torch.arange(t)[:, None]
            buckets = (relative > 0).long() * 4
            n = relative.abs()
            large = 2 + (torch.log(n.float().clamp(min=1) / 2) / math.log(8 / 2) * 2).to(torch.long)
            large = torch.min(large, torch.full_like(large, 3))
            buckets += torch.where(n < 2, n, large)
            bias = self.table(buckets).permute(2, 0, 1).unsqueeze(0)
            window = torch.ones(t, t, dtype=torch.bool).tril().triu(-2)
            keep = window[None, None] & mask[:, None, None, :].bool()
            low = torch.finfo(q.dtype).min
            scores = q @ q.transpose(-1, -2) + alibi + bias
            return scores.masked_fill(keep.logical_not(), low).softmax(-1, dtype=torch.float32).to(q.dtype) @ q

    def inputs(b, t):
        mask = torch.ones(b, t, dtype=torch.long)
        mask[0, -1] = 0
        return torch.randn(b, 2, t, 4), mask

    return program(Bias(), inputs, (1, 4), (3, 9), axes={0: {0: "b", 2: "t"}, 1: {0: "b", 1: "t"}})


@report(OFTEN)
def experts_with_routing():
    class Moe(nn.Module):
        def __init__(self):
            super().__init__()
            self.gate = nn.Linear(6, 3, bias=False)
            self.experts = nn.ModuleList(nn.Sequential(nn.Linear(6, 8), nn.SiLU(), nn.Linear(8, 6)) for _ in range(3))

        def forward(self, x):
            b, t, d = x.shape
            x = x.view(-1, d)
            weights = F.softmax(self.gate(x), dim=1, dtype=torch.float)
            weights, chosen = torch.topk(weights, 2, dim=-1)
            weights = weights / weights.sum(-1, keepdim=True)
            out = torch.zeros((b * t, d), dtype=x.dtype)
            mask = F.one_hot(chosen, num_classes=3).permute(2, 1, 0)
            for i, expert in enumerate(self.experts):
                k, where = torch.where(mask[i])
                current = x[None, where].reshape(-1, d)
                out.index_add_(0, where, (expert(current) * weights[where, k, None]).to(x.dtype))
            return out.reshape(b, t, d), chosen

    return program(Moe(), rows(6), (1, 4), (3, 5), axes=BT)


@report(OFTEN)
def sampling_filters_on_logits():
    def filters(logits, ids, temperature):
        score = torch.gather(logits, 1, ids)
        score = torch.where(score < 0, score * 1.2, score / 1.2)
        logits = logits.scatter(1, ids, score) / temperature
        kth = torch.topk(logits, 5)[0][..., -1, None]
        logits = logits.masked_fill(logits < kth, -float("inf"))
        ordered, index = torch.sort(logits, descending=False)
        remove = ordered.softmax(-1).cumsum(-1) <= 0.1
        remove[..., -1:] = 0
        logits = logits.masked_fill(remove.scatter(1, index, remove), -float("inf"))
        banned = torch.zeros_like(logits).scatter_(1, ids[:, -1:], 1).to(torch.bool)
        return logits.masked_fill(banned, -1e9).softmax(-1), logits.logsumexp(-1)

    return program(
        filters, lambda b, t: (torch.randn(b, 9), torch.randint(0, 9, (b, t)), torch.tensor(0.7)), (1, 4), (3, 6),
        axes={0: {0: "b"}, 1: {0: "b", 1: "t"}}, modes="trace script",
    )  # fmt: skip


@report(PT + "110347")
def multihead_attention_with_all_options():
    class Options(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.MultiheadAttention(8, 2, add_bias_kv=True, add_zero_attn=True, batch_first=True)
            self.b = nn.MultiheadAttention(8, 2, kdim=6, vdim=5)
            self.layer = nn.TransformerDecoderLayer(8, 2, 16, norm_first=True, batch_first=True, activation="gelu")

        def forward(self, x, kv, pad):
            t = x.size(1)
            mask = torch.triu(torch.full((t, t), float("-inf")), diagonal=1)
            a, w = self.a(x, x, x, key_padding_mask=pad, attn_mask=mask)
            b, v = self.b(
                x.transpose(0, 1), kv.transpose(0, 1), kv.transpose(0, 1)[..., :5], average_attn_weights=False
            )
            causal = nn.Transformer.generate_square_subsequent_mask(t)
            return a, w, b, v, self.layer(x, b.transpose(0, 1), tgt_mask=causal, tgt_is_causal=True)

    def inputs(b, t, s):
        pad = torch.zeros(b, t)
        pad[-1, -1] = float("-inf")
        return torch.randn(b, t, 8), torch.randn(b, s, 6), pad

    return program(Options(), inputs, (1, 3, 4), (2, 5, 6),
                   axes={0: {0: "b", 1: "t"}, 1: {0: "b", 1: "s"}, 2: {0: "b", 1: "t"}})  # fmt: skip


@report(OFTEN)
def codebooks_with_straight_through_estimates():
    class Residual(nn.Module):
        def __init__(self):
            super().__init__()
            self.books = nn.ParameterList(nn.Parameter(torch.randn(7, 4)) for _ in range(2))

        def forward(self, x):
            residual, total, codes = x, 0.0, []
            for book in self.books:
                flat = residual.reshape(-1, 4)
                distance = flat.pow(2).sum(1, keepdim=True) - 2 * flat @ book.t() + book.pow(2).sum(1)
                code = torch.argmin(distance, dim=1)
                hot = torch.zeros(code.shape[0], 7).scatter_(1, code.unsqueeze(1), 1)
                quantized = torch.matmul(hot, book).view_as(x)
                quantized = residual + (quantized - residual).detach()
                residual = residual - quantized.detach()
                total = total + quantized
                codes.append(code.view(x.shape[:-1]))
            usage = torch.bincount(codes[0].flatten(), minlength=7)
            perplexity = torch.exp(-torch.sum(hot.mean(0) * torch.log(hot.mean(0) + 1e-10)))
            return total, torch.stack(codes, -1), torch.cdist(x, self.books[0][None]).argmin(-1), usage, perplexity

    return program(Residual(), rows(4), (2, 3), (1, 6), axes=BT)


@report(OFTEN)
def selective_scan_in_closed_form():
    class Scan(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Parameter(torch.log(torch.arange(1.0, 4).repeat(4, 1)))
            self.proj = nn.Linear(4, 1 + 6)
            self.conv = nn.Conv1d(4, 4, 3, padding=2, groups=4)

        def forward(self, x):
            t = x.size(1)
            x = F.silu(self.conv(x.transpose(1, 2))[:, :, :t].transpose(1, 2))
            delta, b, c = self.proj(x).split([1, 3, 3], -1)
            delta = F.softplus(delta).expand_as(x)
            log_a = delta.unsqueeze(-1) * -torch.exp(self.a)
            u = (delta * x).unsqueeze(-1) * b.unsqueeze(2)
            cum = log_a.cumsum(1)
            decay = (cum.unsqueeze(2) - cum.unsqueeze(1)).masked_fill(
                torch.ones(t, t, dtype=torch.bool).triu(1)[None, :, :, None, None], float("-inf")
            )
            h = (decay.exp() * u.unsqueeze(1)).sum(2)
            return torch.einsum("btdn,btn->btd", h, c)

    return program(Scan(), rows(4), (1, 4), (2, 7), axes=BT)


@report(OFTEN)
def recurrent_kernel_in_a_scripted_loop():
    class Wkv(nn.Module):
        def __init__(self):
            super().__init__()
            self.w, self.u = nn.Parameter(torch.randn(4)), nn.Parameter(torch.randn(4))

        def forward(self, k, v):
            b, t, c = k.shape
            w = -torch.exp(self.w)
            top = torch.full((b, c), -1e38)
            num, den = torch.zeros(b, c), torch.zeros(b, c)
            out = torch.empty(b, t, c)
            for i in range(t):
                kk, vv = k[:, i], v[:, i]
                q = torch.maximum(top, self.u + kk)
                e1, e2 = torch.exp(top - q), torch.exp(self.u + kk - q)
                out[:, i] = (e1 * num + e2 * vv) / (e1 * den + e2)
                q = torch.maximum(top + w, kk)
                e1, e2 = torch.exp(top + w - q), torch.exp(kk - q)
                num, den, top = e1 * num + e2 * vv, e1 * den + e2, q
            return out, (num, den, top)

    return program(
        Wkv(), lambda b, t: (torch.randn(b, t, 4), torch.randn(b, t, 4)), (1, 3), (2, 6),
        axes={0: {0: "b", 1: "t"}, 1: {0: "b", 1: "t"}}, modes="script",
    )  # fmt: skip


@report(OFTEN)
def series_decomposition_and_autocorrelation():
    class Auto(nn.Module):
        def forward(self, x):
            b, t, d = x.shape
            front, end = x[:, 0:1, :].repeat(1, 2, 1), x[:, -1:, :].repeat(1, 2, 1)
            trend = F.avg_pool1d(torch.cat([front, x, end], 1).permute(0, 2, 1), 5, 1).permute(0, 2, 1)
            season = x - trend
            f = torch.fft.rfft(season.permute(0, 2, 1).contiguous(), dim=-1)
            corr = torch.fft.irfft(f * torch.conj(f), n=t, dim=-1)
            weights, delay = torch.topk(corr.mean(1) - 1e-3 * torch.arange(t), 2, dim=-1)
            weights = torch.softmax(weights, -1)
            index = torch.arange(t)[None, None].repeat(b, d, 1)
            double = season.permute(0, 2, 1).repeat(1, 1, 2)
            out = torch.zeros(b, d, t)
            for i in range(2):
                at = index + delay[:, i].unsqueeze(1).unsqueeze(1).repeat(1, d, t)
                out = out + double.gather(-1, at) * weights[:, i].unsqueeze(1).unsqueeze(1)
            return out, trend

    return program(Auto(), rows(3), (2, 8), (1, 8), axes={0: {0: "b"}}, rtol=1e-3, atol=1e-4)


@report(OFTEN)
def reversible_normalisation_and_patches():
    class Patch(nn.Module):
        def __init__(self):
            super().__init__()
            self.gain, self.bias = nn.Parameter(torch.ones(3)), nn.Parameter(torch.zeros(3))
            self.embed = nn.Linear(4, 6)
            self.pad = nn.ReplicationPad1d((0, 2))

        def forward(self, x):
            mean = x.mean(1, keepdim=True).detach()
            std = torch.sqrt(torch.var(x, dim=1, keepdim=True, unbiased=False) + 1e-5).detach()
            z = ((x - mean) / std * self.gain + self.bias).permute(0, 2, 1)
            patches = self.pad(z).unfold(dimension=-1, size=4, step=2)
            u = self.embed(patches)
            u = torch.reshape(u, (u.shape[0] * u.shape[1], u.shape[2], u.shape[3]))
            y = u.mean(1).view(-1, 3, 6).permute(0, 2, 1)
            y = (y - self.bias) / (self.gain + 1e-10)
            return y * std + mean, x[:, -1:].repeat(1, 2, 1)

    return program(Patch(), rows(3), (2, 8), (3, 12), axes=BT)


@report(OFTEN)
def feature_crosses_of_bags():
    class Dlrm(nn.Module):
        def __init__(self):
            super().__init__()
            self.bags = nn.ModuleList(nn.EmbeddingBag(11, 4, mode="sum") for _ in range(2))
            self.dense = nn.Sequential(nn.Linear(3, 4), nn.ReLU())
            self.factor = nn.Parameter(torch.randn(3, 2))

        def forward(self, dense, offsets, i0, i1):
            x = self.dense(dense)
            ly = [bag(i, o) for bag, i, o in zip(self.bags, (i0, i1), offsets)]
            t = torch.cat([x, *ly], 1).view((x.shape[0], -1, x.shape[1]))
            z = torch.bmm(t, t.transpose(1, 2))
            li, lj = torch.tril_indices(3, 3, offset=-1)
            second = 0.5 * ((dense @ self.factor) ** 2 - (dense**2) @ (self.factor**2)).sum(1, keepdim=True)
            return torch.cat([x, z[:, li, lj], second], 1), z[:, torch.ones(3, 3).triu(1) == 1]

    def inputs(b, k):
        offsets = torch.stack([torch.arange(b) * (k // b), torch.arange(b)])
        return torch.randn(b, 3), offsets, torch.randint(0, 11, (k,)), torch.randint(0, 11, (k + 1,))

    return program(Dlrm(), inputs, (2, 6), (3, 7), axes={0: {0: "b"}, 1: {1: "b"}, 2: {0: "k"}, 3: {0: "l"}})


@report(OFTEN)
def sparsemax_and_entmax():
    def sparse(x):
        x = x - x.max(dim=-1, keepdim=True)[0]
        ordered, _ = x.sort(dim=-1, descending=True)
        rho = torch.arange(1, x.size(-1) + 1, dtype=x.dtype)
        support = rho * ordered > ordered.cumsum(-1) - 1
        size = support.sum(dim=-1).unsqueeze(-1)
        tau = (ordered.cumsum(-1) - 1).gather(-1, size - 1) / size.to(x.dtype)
        half = ordered / 2
        mean, square = half.cumsum(-1) / rho, (half**2).cumsum(-1) / rho
        delta = (1 - rho * (square - mean**2)) / rho
        t = mean - torch.sqrt(torch.clamp(delta, 0))
        star = t.gather(-1, (t <= half).sum(-1, keepdim=True) - 1)
        return torch.clamp(x - tau, min=0), torch.clamp(x / 2 - star, min=0) ** 2

    return program(sparse, lambda b, t: (torch.randn(b, t),), (2, 5), (3, 8), axes=BT, modes="trace script")


@report("https://github.com/DLR-RM/stable-baselines3/issues/383")
def distributions_of_a_policy():
    class Policy(nn.Module):
        def __init__(self):
            super().__init__()
            self.mean, self.log_std = nn.Linear(3, 2), nn.Parameter(torch.zeros(2))
            self.logits = nn.Linear(3, 4)

        def forward(self, obs, actions):
            normal = torch.distributions.Normal(self.mean(obs), torch.ones_like(actions) * self.log_std.exp())
            category = torch.distributions.Categorical(logits=self.logits(obs))
            mode = category.probs.argmax(-1)
            squash = 2 * (math.log(2) - actions - F.softplus(-2 * actions))
            return (
                torch.tanh(normal.mean), normal.log_prob(actions).sum(-1) - squash.sum(-1), normal.entropy().sum(-1),
                mode, category.log_prob(mode), category.entropy(), normal.cdf(actions),
            )  # fmt: skip

    return program(
        Policy(), lambda b: (torch.randn(b, 3), torch.randn(b, 2)), (1,), (4,), axes={0: {0: "b"}, 1: {0: "b"}}
    )


@report(OFTEN)
def recurrent_policy_with_resets():
    class Recurrent(nn.Module):
        def __init__(self):
            super().__init__()
            self.gru = nn.GRU(3, 4)
            self.q = nn.Linear(4, 2)

        def forward(self, obs, state, starts):
            outs = []
            for x, reset in zip(obs.unbind(0), starts.unbind(0)):
                y, state = self.gru(x.unsqueeze(0), (1.0 - reset.float()).view(1, -1, 1) * state)
                outs.append(y)
            q = self.q(torch.cat(outs))
            legal = torch.where(starts[..., None].expand_as(q), torch.full_like(q, torch.finfo(q.dtype).min), q)
            return q, legal.argmax(-1), state, torch.tanh(q) * torch.tensor([2.0, 3.0]) + 1

    def inputs(b):
        return torch.randn(3, b, 3), torch.randn(1, b, 4), torch.rand(3, b) > 0.6

    return program(Recurrent(), inputs, (1,), (4,), axes={0: {1: "b"}, 1: {1: "b"}, 2: {1: "b"}})


@report("https://github.com/microsoft/onnxruntime/issues/11830")
def packed_recurrence_with_given_states():
    class Toy(nn.Module):
        def __init__(self):
            super().__init__()
            self.rnn = nn.LSTM(4, 5, num_layers=2, batch_first=True, bidirectional=True, dropout=0.1)
            self.gru = nn.GRU(10, 2, bias=False)
            self.rnn0 = nn.RNN(2, 3, nonlinearity="relu", batch_first=True)

        def forward(self, x, lengths):
            lengths = lengths.reshape(-1).cpu()
            b = x.size(0)
            packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
            h0, c0 = torch.zeros(4, b, 5), torch.zeros(4, b, 5)
            out, (h, c) = self.rnn(packed, (h0, c0))
            out, n = nn.utils.rnn.pad_packed_sequence(out, batch_first=True, total_length=x.size(1), padding_value=-1.0)
            y, _ = self.gru(out.transpose(0, 1))
            z, last = self.rnn0(y.transpose(0, 1))
            return out, h, c, n, z, last.squeeze(0)

    def inputs(b, t):
        return torch.randn(b, t, 4), torch.randint(1, t + 1, (b, 1))

    return program(Toy(), inputs, (2, 5), (3, 7), (1, 4), axes={0: {0: "b", 1: "t"}, 1: {0: "b"}})


@report(OFTEN)
def conditional_random_field_decoding():
    class Crf(nn.Module):
        def __init__(self):
            super().__init__()
            self.start, self.trans = nn.Parameter(torch.randn(3)), nn.Parameter(torch.randn(3, 3))

        def forward(self, emissions, mask):
            t, b, _ = emissions.shape
            score = self.start + emissions[0]
            history = torch.zeros(t - 1, b, 3, dtype=torch.long)
            for i in range(1, t):
                best, index = (score.unsqueeze(2) + self.trans + emissions[i].unsqueeze(1)).max(1)
                score = torch.where(mask[i].unsqueeze(1), best, score)
                history[i - 1] = torch.where(mask[i].unsqueeze(1), index, torch.arange(3).expand(b, 3))
            tag = score.argmax(1)
            tags = torch.zeros(t, b, dtype=torch.long)
            tags[t - 1] = tag
            for j in range(t - 2, -1, -1):
                tag = history[j].gather(1, tag.unsqueeze(1)).squeeze(1)
                tags[j] = tag
            return tags, score.logsumexp(1)

    def inputs(t, b):
        mask = torch.arange(t)[:, None] < torch.randint(1, t + 1, (b,))
        return torch.randn(t, b, 3), mask

    return program(Crf(), inputs, (4, 2), (7, 3), axes={0: {0: "t", 1: "b"}, 1: {0: "t", 1: "b"}}, modes="script")


@report(OFTEN)
def incremental_positions_and_pad_masks():
    class Positions(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(40, 6, padding_idx=1)
            self.learned = nn.Embedding(60, 6, 1)
            half = torch.exp(torch.arange(3, dtype=torch.float) * -(math.log(10000) / 2))
            table = torch.arange(60, dtype=torch.float).unsqueeze(1) * half.unsqueeze(0)
            table = torch.cat([torch.sin(table), torch.cos(table)], dim=1)
            table[1, :] = 0
            self.register_buffer("table", table)

        def forward(self, ids):
            pad = ids.eq(1)
            positions = torch.cumsum(pad.logical_not().int(), dim=1).type_as(ids) * pad.logical_not() + 1
            fixed = self.table.index_select(0, positions.view(-1)).view(ids.size(0), ids.size(1), -1).detach()
            x = math.sqrt(6) * self.embed(ids) + self.learned(positions) + fixed
            x = x * (1 - pad.unsqueeze(-1).type_as(x))
            has = pad.any()
            future = torch.triu(torch.zeros([ids.size(1), ids.size(1)]).fill_(float("-inf")), 1)
            last = x[torch.arange(ids.size(0)), (~pad).sum(1) - 1]
            return x, has, future, last, ids.ne(1).long().sum(-1)

    def inputs(b, t):
        ids = torch.randint(2, 40, (b, t))
        ids[-1, -1] = 1
        return (ids,)

    return program(Positions(), inputs, (2, 5), (3, 8), axes=BT, modes="trace script")


@report(OFTEN)
def attention_decoder_of_a_text_recogniser():
    class Ocr(nn.Module):
        def __init__(self):
            super().__init__()
            self.i2h, self.h2h, self.score = nn.Linear(5, 4, bias=False), nn.Linear(4, 4), nn.Linear(4, 1, bias=False)
            self.cell, self.out = nn.LSTMCell(5 + 6, 4), nn.Linear(4, 6)

        def one_hot(self, char):
            return torch.zeros(char.size(0), 6).scatter_(1, char.unsqueeze(1), 1)

        def forward(self, features):
            b = features.size(0)
            steps = 4
            hidden = (features.new_zeros(b, 4), features.new(b, 4).fill_(0))
            targets = torch.zeros(b, dtype=torch.long)
            probs = torch.zeros(b, steps, 6)
            for i in range(steps):
                e = self.score(torch.tanh(self.i2h(features) + self.h2h(hidden[0]).unsqueeze(1)))
                alpha = F.softmax(e, dim=1)
                context = torch.bmm(alpha.permute(0, 2, 1), features).squeeze(1)
                hidden = self.cell(torch.cat([context, self.one_hot(targets)], 1), hidden)
                step = self.out(hidden[0])
                probs[:, i, :] = step
                _, targets = step.max(1)
            return probs

    return program(Ocr(), rows(5), (2, 6), (3, 9), (1, 2), axes=BT)


@report(OFTEN)
def pairwise_biaffine_scores():
    class Biaffine(nn.Module):
        def __init__(self):
            super().__init__()
            self.u = nn.Parameter(torch.randn(5, 2, 5))
            self.bilinear = nn.Bilinear(4, 4, 3)

        def forward(self, x):
            one = torch.cat((x, torch.ones_like(x[..., :1])), dim=-1)
            s = torch.einsum("bxi,ioj,byj->bxyo", one, self.u, one)
            b, t, _ = x.shape
            left = x.unsqueeze(2).expand(-1, -1, t, -1).contiguous()
            right = x.unsqueeze(1).expand(-1, t, -1, -1).contiguous()
            spans = torch.triu(torch.ones(t, t)).bool()
            iu, ju = torch.triu_indices(4, 4, 1)
            cos = F.cosine_similarity(left, right, dim=-1)
            return s, self.bilinear(left, right), s[:, spans], cos, iu * 4 + ju, F.pairwise_distance(left, right)

    return program(Biaffine(), rows(4), (1, 3), (2, 5), axes=BT)
