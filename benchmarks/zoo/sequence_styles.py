"""Short models in the style of published ones: speech, time series, attention of many kinds, recurrences, experts,
memories, tables, filters. Traced; those that TorchScript compiles are scripted, too."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from entry import Zoo, add, normal, tokens, uniform, waveform

FAMILY = "sequence styles"

# -- recognition and synthesis ----------------------------------------------------------------------


class Crnn(nn.Module):
    """CRNN: columns of features through LSTMs, and CTC's best path with its repeats and blanks taken out."""

    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(1, 8, 3, 1, 1), nn.ReLU(), nn.MaxPool2d(2, 2), nn.Conv2d(8, 12, 3, 1, 1), nn.BatchNorm2d(12),
            nn.ReLU(), nn.MaxPool2d((2, 2), (2, 1), (0, 1)), nn.Conv2d(12, 12, (4, 2)), nn.ReLU(),
        )  # fmt: skip
        self.rnn, self.out = nn.LSTM(12, 8, num_layers=2, bidirectional=True), nn.Linear(16, 11)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        h = self.net(x).squeeze(2).permute(2, 0, 1)
        h, _ = self.rnn(h)
        t, n, c = h.size()
        logits = self.out(h.view(t * n, c)).view(t, n, -1).log_softmax(2)
        best = logits.argmax(2).transpose(0, 1)
        changed = torch.cat([torch.ones_like(best[:, :1], dtype=torch.bool), best[:, 1:] != best[:, :-1]], 1)
        keep = changed & (best != 0)
        return logits, best[keep], keep.sum(1)


class Tacotron(nn.Module):
    """Tacotron 2: a decoder that goes on until its stop token, scripted, with location-sensitive attention."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.encoder = nn.Embedding(40, 12), nn.LSTM(12, 6, batch_first=True, bidirectional=True)
        self.before, self.cell, self.second = nn.Linear(5, 8), nn.LSTMCell(20, 16), nn.LSTMCell(28, 16)
        self.query, self.memory, self.score = (
            nn.Linear(16, 8, bias=False),
            nn.Linear(12, 8, bias=False),
            nn.Linear(8, 1),
        )
        self.place, self.locate = nn.Conv1d(2, 4, 5, padding=2), nn.Linear(4, 8, bias=False)
        self.out, self.gate, self.after = nn.Linear(28, 5), nn.Linear(28, 1), nn.Conv1d(5, 5, 5, padding=2)

    def forward(self, ids: Tensor, limit: int = 9) -> tuple[Tensor, Tensor, Tensor]:
        memory, _ = self.encoder(self.embed(ids))
        keys = self.memory(memory)
        n, length = ids.shape[0], ids.shape[1]
        h, c = torch.zeros(n, 16), torch.zeros(n, 16)
        h2, c2 = torch.zeros(n, 16), torch.zeros(n, 16)
        weights, total, context = torch.zeros(n, length), torch.zeros(n, length), torch.zeros(n, 12)
        frame = torch.zeros(n, 5)
        frames: list[Tensor] = []
        gates: list[Tensor] = []
        lengths = torch.zeros(n, dtype=torch.long)
        going = torch.ones(n, dtype=torch.long)
        while True:
            h, c = self.cell(torch.cat([F.relu(self.before(frame)), context], 1), (h, c))
            both = torch.cat([weights.unsqueeze(1), total.unsqueeze(1)], 1)
            where = self.locate(self.place(both).transpose(1, 2))
            score = self.score(torch.tanh(self.query(h.unsqueeze(1)) + keys + where)).squeeze(2)
            weights = F.softmax(score, dim=1)
            total = total + weights
            context = torch.bmm(weights.unsqueeze(1), memory).squeeze(1)
            h2, c2 = self.second(torch.cat([h, context], 1), (h2, c2))
            state = torch.cat([h2, context], 1)
            frame = self.out(state)
            gate = self.gate(state).squeeze(1)
            frames.append(frame)
            gates.append(gate)
            going = going * torch.le(torch.sigmoid(gate), 0.53).long()
            lengths = lengths + going
            if len(frames) >= limit or bool(torch.all(going == 0)):
                break
        mel = torch.stack(frames, 2)
        return mel + self.after(mel), torch.stack(gates, 1), lengths


class FastSpeech(nn.Module):
    """FastSpeech 2: tokens repeated by durations and padded to the longest; pitch by buckets."""

    def __init__(self, one: bool = True) -> None:
        super().__init__()
        self.one = one
        self.embed, self.duration, self.pitch = nn.Embedding(40, 12), nn.Linear(12, 1), nn.Linear(12, 1)
        self.pitches = nn.Embedding(16, 12)
        self.register_buffer("bins", torch.linspace(-1, 1, 15))
        self.out = nn.Conv1d(12, 5, 3, padding=1)

    def forward(self, ids: Tensor, speed: Tensor) -> tuple[Tensor, Tensor]:
        x = self.embed(ids)
        log = self.duration(x).squeeze(-1)
        count = torch.clamp(torch.round((torch.exp(log) - 0.4) * speed), min=1).long()
        x = x + self.pitches(torch.bucketize(self.pitch(x).squeeze(-1), self.bins))
        if self.one:
            x = torch.repeat_interleave(x[0], count[0], dim=0).unsqueeze(0)
        else:
            rows = [torch.repeat_interleave(row, n, dim=0) for row, n in zip(x, count)]
            x = nn.utils.rnn.pad_sequence(rows, batch_first=True)
        return self.out(x.transpose(1, 2)), count


class Vits(nn.Module):
    """VITS: paths of durations by differences of masks, noise scaled, and rational quadratic splines."""

    def __init__(self, bins: int = 5) -> None:
        super().__init__()
        self.bins = bins
        self.embed, self.stats, self.dur = nn.Embedding(40, 8), nn.Conv1d(8, 12, 1), nn.Conv1d(8, 1, 1)
        self.spline = nn.Conv1d(6, 3 * bins - 1, 1)

    def mask(self, length: Tensor, most: Tensor | None = None) -> Tensor:
        x = torch.arange(length.max() if most is None else most, dtype=length.dtype)
        return x.unsqueeze(0) < length.unsqueeze(1)

    def inverse(self, x: Tensor, raw: Tensor) -> Tensor:
        w, h, d = raw[..., : self.bins], raw[..., self.bins : 2 * self.bins], raw[..., 2 * self.bins :]
        inside = (x >= -3) & (x <= 3)
        outputs = torch.zeros_like(x)
        d = F.pad(d, pad=(1, 1))
        constant = math.log(math.exp(1 - 1e-3) - 1)
        d[..., 0] = constant
        d[..., -1] = constant
        outputs[~inside] = x[~inside]
        y, w, h, d = x[inside], w[inside, :], h[inside, :], d[inside, :]
        w = 1e-3 + (1 - 1e-3 * self.bins) * F.softmax(w, dim=-1)
        cw = F.pad(torch.cumsum(w, dim=-1), pad=(1, 0), mode="constant", value=0.0) * 6 - 3
        cw[..., 0] = -3
        cw[..., -1] = 3
        w = cw[..., 1:] - cw[..., :-1]
        h = 1e-3 + (1 - 1e-3 * self.bins) * F.softmax(h, dim=-1)
        ch = F.pad(torch.cumsum(h, dim=-1), pad=(1, 0), mode="constant", value=0.0) * 6 - 3
        ch[..., 0] = -3
        ch[..., -1] = 3
        h = ch[..., 1:] - ch[..., :-1]
        d = 1e-3 + F.softplus(d)
        edges = ch.clone()
        edges[..., -1] += 1e-6
        index = (torch.sum(y[..., None] >= edges, dim=-1) - 1)[..., None]
        take = lambda t: t.gather(-1, index)[..., 0]  # noqa: E731
        icw, ich, iw, ih, slope = take(cw), take(ch), take(w), take(h), take(h / w)
        d0, d1 = take(d), take(d[..., 1:])
        a = (y - ich) * (d0 + d1 - 2 * slope) + ih * (slope - d0)
        b = ih * d0 - (y - ich) * (d0 + d1 - 2 * slope)
        c = -slope * (y - ich)
        root = (2 * c) / (-b - torch.sqrt((b.pow(2) - 4 * a * c).clamp(min=0)))
        outputs[inside] = root * iw + icw
        return outputs

    def forward(self, ids: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        x = self.embed(ids).transpose(1, 2)
        mask = torch.unsqueeze(self.mask(lengths, x.size(2)), 1).to(x.dtype)
        mean, scale = torch.split(self.stats(x) * mask, 6, dim=1)
        w = torch.ceil(torch.exp(self.dur(x) * mask) * mask * 1.3)
        total = torch.clamp_min(torch.sum(w, [1, 2]), 1).long()
        y_mask = torch.unsqueeze(self.mask(total, None), 1).to(mask.dtype)
        both = torch.unsqueeze(mask, 2) * torch.unsqueeze(y_mask, -1)
        n, _, ty, tx = both.shape
        ends = torch.cumsum(w, -1).view(n * tx)
        path = self.mask(ends, ty).to(both.dtype).view(n, tx, ty)
        path = path - F.pad(path, (0, 0, 1, 0, 0, 0))[:, :-1]
        path = path.unsqueeze(1).transpose(2, 3) * both
        mean = torch.matmul(path.squeeze(1), mean.transpose(1, 2)).transpose(1, 2)
        scale = torch.matmul(path.squeeze(1), scale.transpose(1, 2)).transpose(1, 2)
        z = mean + torch.sin(torch.arange(ty).float()) * torch.exp(scale) * 0.6
        raw = self.spline(z).transpose(1, 2)
        return self.inverse(z[:, 0], raw), z, y_mask


class WaveNet(nn.Module):
    """WaveNet and temporal convolutions: causal padding cut off again, gates, skips summed."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv1d(1, 8, 1)
        self.gates = nn.ModuleList([nn.Conv1d(8, 16, 2, padding=2**i, dilation=2**i) for i in range(4)])
        self.conds = nn.ModuleList([nn.Conv1d(3, 16, 1) for _ in range(4)])
        self.outs = nn.ModuleList([nn.Conv1d(8, 16, 1) for _ in range(4)])
        self.last = nn.Conv1d(8, 6, 1)

    def forward(self, x: Tensor, c: Tensor) -> Tensor:
        h = self.first(x)
        c = F.interpolate(c, size=x.shape[-1], mode="linear", align_corners=False)
        skips = torch.zeros_like(h)
        for gate, cond, out in zip(self.gates, self.conds, self.outs):
            y = gate(h)[:, :, : x.shape[-1]] + cond(c)
            a, b = y.chunk(2, dim=1)
            r, s = out(torch.tanh(a) * torch.sigmoid(b)).chunk(2, dim=1)
            h = (h + r) * math.sqrt(0.5)
            skips = skips + s
        return self.last(F.relu(skips))


class Speaker(nn.Module):
    """ECAPA-TDNN: Res2Net convolutions, squeezes with lengths, statistics weighted by attention."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv1d(10, 16, 5, padding=2, padding_mode="reflect")
        self.parts = nn.ModuleList([nn.Conv1d(4, 4, 3, dilation=2, padding=2) for _ in range(3)])
        self.se1, self.se2 = nn.Conv1d(16, 4, 1), nn.Conv1d(4, 16, 1)
        self.a1, self.a2, self.norm = nn.Conv1d(48, 8, 1), nn.Conv1d(8, 16, 1), nn.BatchNorm1d(32)
        self.out = nn.Linear(32, 6)

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        h = F.relu(self.first(x))
        pieces = torch.chunk(h, 4, dim=1)
        outs = [pieces[0]]
        for i, conv in enumerate(self.parts):
            piece = pieces[i + 1] if i == 0 else pieces[i + 1] + outs[-1]
            outs.append(F.relu(conv(piece)))
        h = h + torch.cat(outs, dim=1)
        size = x.shape[-1]
        mask = (torch.arange(size).unsqueeze(0) < (lengths * size).unsqueeze(1)).to(x.dtype).unsqueeze(1)
        total = mask.sum(dim=2, keepdim=True)
        s = (h * mask).sum(dim=2, keepdim=True) / total
        h = h * torch.sigmoid(self.se2(F.relu(self.se1(s))))
        mean = (h * mask / total).sum(2)
        std = torch.sqrt((mask / total * (h - mean.unsqueeze(2)).pow(2)).sum(2).clamp(1e-12))
        attend = torch.cat([h, mean.unsqueeze(2).repeat(1, 1, size), std.unsqueeze(2).repeat(1, 1, size)], dim=1)
        attend = self.a2(torch.tanh(self.a1(attend))).masked_fill(mask == 0, float("-inf"))
        attend = F.softmax(attend, dim=2)
        mean = torch.sum(attend * h, 2)
        std = torch.sqrt((torch.sum(attend * h**2, 2) - mean**2).clamp(min=1e-9))
        return F.normalize(self.out(self.norm(torch.cat((mean, std), 1))))


class Separator(nn.Module):
    """Conv-TasNet: learned frames, cumulative norms, masks, and frames laid over each other; dual-path chunks."""

    def __init__(self) -> None:
        super().__init__()
        self.encode, self.decode = nn.Conv1d(1, 12, 16, 8, bias=False), nn.ConvTranspose1d(12, 1, 16, 8, bias=False)
        self.rows, self.columns = nn.GRU(12, 12, batch_first=True), nn.GRU(12, 12, batch_first=True)
        self.mask, self.gain = nn.Conv1d(12, 24, 1), nn.Parameter(torch.ones(1, 12, 1))

    def norm(self, x: Tensor) -> Tensor:
        sums, squares = x.sum(1).cumsum(1), x.pow(2).sum(1).cumsum(1)
        count = torch.arange(x.shape[1], x.shape[1] * (x.shape[2] + 1), x.shape[1]).type(x.dtype).view(1, -1)
        mean = sums / count
        var = (squares - 2 * mean * sums) / count + mean.pow(2)
        return (x - mean.unsqueeze(1)) / (var + 1e-5).sqrt().unsqueeze(1) * self.gain

    def chunks(self, x: Tensor, size: int = 6) -> tuple[Tensor, int]:
        n, c, length = x.shape
        rest = size - (size // 2 + length % size) % size
        x = F.pad(x, (0, rest))
        x = F.pad(x, (size // 2, size // 2))
        a = x[:, :, : -(size // 2)].contiguous().view(n, c, -1, size)
        b = x[:, :, size // 2 :].contiguous().view(n, c, -1, size)
        return torch.cat([a, b], 3).view(n, c, -1, size).transpose(2, 3).contiguous(), rest

    def overlap(self, x: Tensor, rest: int, size: int = 6) -> Tensor:
        n, c = x.shape[0], x.shape[1]
        x = x.transpose(2, 3).contiguous().view(n, c, -1, size * 2)
        a = x[:, :, :, :size].contiguous().view(n, c, -1)[:, :, size // 2 :]
        b = x[:, :, :, size:].contiguous().view(n, c, -1)[:, :, : -(size // 2)]
        out = a + b
        return out[:, :, : out.shape[2] - rest]

    def forward(self, wave: Tensor) -> Tensor:
        w = F.relu(self.encode(wave.unsqueeze(1)))
        h = self.norm(w)
        x, rest = self.chunks(h)
        n, c, k, s = x.shape
        rows = self.rows(x.permute(0, 3, 2, 1).reshape(n * s, k, c))[0].view(n, s, k, c)
        columns = self.columns(rows.permute(0, 2, 1, 3).reshape(n * k, s, c))[0].view(n, k, s, c)
        h = self.overlap(columns.permute(0, 3, 1, 2), rest)
        masks = torch.sigmoid(self.mask(h)).view(n, 2, 12, -1)
        out = self.decode((w.unsqueeze(1) * masks).view(n * 2, 12, -1)).view(n, 2, -1)
        return F.pad(out, (0, wave.shape[-1] - out.shape[-1]))


class Frontend(nn.Module):
    """Waves to log mel features: dither left out, preemphasis, frames, power, triangular filters, deltas, CMVN."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("window", torch.hamming_window(80, periodic=False))
        self.register_buffer("mel", uniform(65, 10))

    def forward(self, wave: Tensor) -> tuple[Tensor, Tensor]:
        frames = wave.unfold(-1, 80, 32)
        frames = frames - frames.mean(-1, keepdim=True)
        before = F.pad(frames, (1, 0), mode="replicate")[..., :-1]
        frames = (frames - 0.97 * before) * self.window
        power = torch.fft.rfft(F.pad(frames, (0, 48)), n=128).abs().pow(2.0)
        mel = torch.log(torch.max(power @ self.mel, torch.tensor(1e-6)))
        delta = F.conv1d(
            F.pad(mel.transpose(1, 2), (2, 2), mode="replicate"),
            torch.arange(-2.0, 3.0).view(1, 1, 5).repeat(10, 1, 1) / 10,
            groups=10,
        )
        every = torch.cat([mel, delta.transpose(1, 2)], -1)
        every = (every - every.mean(1, keepdim=True)) / (every.std(1, keepdim=True) + 1e-5)
        spectrum = torch.stft(wave, 128, 32, window=torch.hann_window(128), return_complex=True)
        phase = torch.angle(spectrum + 0.5)
        db = 10 * torch.log10(spectrum.abs().pow(2).clamp(min=1e-10))
        return every, torch.maximum(db, db.amax(dim=(-2, -1), keepdim=True) - 80) + 0 * phase


# -- series -----------------------------------------------------------------------------------------


class Informer(nn.Module):
    """ProbSparse attention: the queries whose scores vary most, the others get the mean."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv, self.down = nn.Linear(8, 24), nn.Conv1d(8, 8, 3, padding=2, padding_mode="circular")

    def forward(self, x: Tensor) -> Tensor:
        n, length, _ = x.shape
        q, k, v = self.qkv(x).view(n, length, 3, 2, 4).permute(2, 0, 3, 1, 4).unbind(0)
        some = k[:, :, ::2]
        sample = torch.matmul(q, some.transpose(-2, -1))
        spread = sample.max(-1)[0] - torch.div(sample.sum(-1), length)
        top = spread.topk(5, sorted=False)[1]
        chosen = q[torch.arange(n)[:, None, None], torch.arange(2)[None, :, None], top, :]
        scores = torch.matmul(chosen, k.transpose(-2, -1)) / 2
        context = v.mean(dim=-2).unsqueeze(-2).expand(n, 2, length, 4).clone()
        context[torch.arange(n)[:, None, None], torch.arange(2)[None, :, None], top, :] = torch.matmul(
            scores.softmax(-1), v
        ).type_as(context)
        y = x + context.transpose(1, 2).reshape(n, length, 8)
        return F.max_pool1d(F.elu(self.down(y.permute(0, 2, 1))), 3, 2, 1).transpose(1, 2)


class Autoformer(nn.Module):
    """Decomposition by moving averages, and correlation of a series with itself by FFT, rolled by the best lags."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(8, 24)

    def trend(self, x: Tensor, size: int = 5) -> Tensor:
        front = x[:, 0:1, :].repeat(1, (size - 1) // 2, 1)
        end = x[:, -1:, :].repeat(1, (size - 1) // 2, 1)
        return F.avg_pool1d(torch.cat([front, x, end], dim=1).permute(0, 2, 1), size, stride=1).permute(0, 2, 1)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        trend = self.trend(x)
        q, k, v = (t.permute(0, 2, 1).contiguous() for t in self.qkv(x - trend).chunk(3, -1))
        length = v.shape[2]
        corr = torch.fft.irfft(torch.fft.rfft(q, dim=-1) * torch.conj(torch.fft.rfft(k, dim=-1)), n=length, dim=-1)
        weights, delay = torch.topk(corr.mean(dim=1), 3, dim=-1)
        weights = torch.softmax(weights, dim=-1)
        start = torch.arange(length).unsqueeze(0).unsqueeze(0).repeat(v.shape[0], v.shape[1], 1)
        twice = v.repeat(1, 1, 2)
        out = torch.zeros_like(v)
        for i in range(3):
            index = start + delay[:, i].unsqueeze(1).unsqueeze(1).repeat(1, v.shape[1], length)
            out = out + torch.gather(twice, dim=-1, index=index) * weights[:, i].unsqueeze(1).unsqueeze(1)
        return out.permute(0, 2, 1), trend


class Patches(nn.Module):
    """PatchTST: instance norm that is undone, patches by unfold, channels on their own; TimesNet's periods; N-BEATS."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.layer = nn.Linear(6, 8), nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        self.head = nn.Linear(8, 4)
        self.blocks = nn.ModuleList([nn.Linear(4, 3 + 3) for _ in range(2)])
        self.register_buffer("basis", torch.stack([torch.arange(4.0) ** i / 4**i for i in range(3)]))
        self.grid = nn.Conv2d(8, 8, 3, padding=1)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        mean = x.mean(1, keepdim=True).detach()
        std = torch.sqrt(torch.var(x, dim=1, keepdim=True, unbiased=False) + 1e-5)
        z = ((x - mean) / std).permute(0, 2, 1)
        z = F.pad(z, (0, 3), mode="replicate").unfold(-1, 6, 3)
        n, c, count, _ = z.shape
        h = self.layer(self.embed(z).reshape(n * c, count, 8))
        period = 3
        padded = F.pad(h, (0, 0, 0, (period - count % period) % period))
        image = padded.reshape(n * c, -1, period, 8).permute(0, 3, 1, 2).contiguous()
        h = h + self.grid(image).permute(0, 2, 3, 1).reshape(n * c, -1, 8)[:, :count]
        residual = self.head(h.mean(1))
        forecast = torch.zeros_like(residual)
        for block in self.blocks:
            theta = block(residual)
            residual = residual - theta[:, :3] @ self.basis
            forecast = forecast + theta[:, 3:] @ self.basis
        out = forecast.view(n, c, 4).permute(0, 2, 1) * std + mean
        return out, residual


class Fusion(nn.Module):
    """Temporal fusion transformer: gated residuals, weights of variables, an LSTM, and a mask of the future."""

    def __init__(self) -> None:
        super().__init__()
        self.embeds = nn.ModuleList([nn.Linear(1, 8) for _ in range(3)])
        self.category, self.choose = nn.Embedding(9, 8), nn.Linear(8 * 4, 4)
        self.first, self.second, self.gate = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 16)
        self.norm, self.lstm = nn.LayerNorm(8), nn.LSTM(8, 8, batch_first=True)
        self.attend, self.out = nn.MultiheadAttention(8, 2, batch_first=True), nn.Linear(8, 3)

    def residual(self, x: Tensor) -> Tensor:
        return self.norm(x + F.glu(self.gate(self.second(F.elu(self.first(x)))), dim=-1))

    def forward(self, x: Tensor, kind: Tensor) -> tuple[Tensor, Tensor]:
        parts = [embed(x[..., i : i + 1]) for i, embed in enumerate(self.embeds)]
        parts.append(self.category(kind).unsqueeze(1).expand(-1, x.size(1), -1))
        weights = torch.softmax(self.choose(torch.cat(parts, -1)), dim=-1).unsqueeze(-2)
        h = (torch.stack([self.residual(p) for p in parts], dim=-1) * weights).sum(dim=-1)
        state = self.residual(self.category(kind)).unsqueeze(0)
        h, _ = self.lstm(h, (state, state))
        future = torch.triu(torch.ones(x.size(1), x.size(1), dtype=torch.bool), diagonal=1)
        out, scores = self.attend(h, h, h, attn_mask=future)
        return self.out(self.residual(out + h)), scores


class Decay(nn.Module):
    """GRU-D: what is missing decays to the mean, step by step, by how long it has been."""

    def __init__(self) -> None:
        super().__init__()
        self.x, self.h, self.cell = nn.Linear(3, 3), nn.Linear(3, 8), nn.GRUCell(6, 8)
        self.out = nn.Linear(8, 2)

    def forward(self, x: Tensor, mask: Tensor, delta: Tensor) -> Tensor:
        mean = (x * mask).sum(1) / mask.sum(1).clamp(min=1)
        h, last = torch.zeros(x.shape[0], 8), mean
        outs = []
        for t in range(x.shape[1]):
            m, d = mask[:, t], delta[:, t]
            gx, gh = torch.exp(-F.relu(self.x(d))), torch.exp(-F.relu(self.h(d)))
            last = m * x[:, t] + (1 - m) * last
            value = m * x[:, t] + (1 - m) * (gx * last + (1 - gx) * mean)
            h = self.cell(torch.cat([value, m], 1), h * gh)
            outs.append(self.out(h))
        return torch.stack(outs, 1)


class Kalman(nn.Module):
    """A Kalman filter over a series: gains by solving, covariances carried along."""

    def __init__(self) -> None:
        super().__init__()
        self.f, self.h = nn.Parameter(torch.eye(3) + 0.1 * torch.randn(3, 3)), nn.Parameter(torch.randn(2, 3))
        self.register_buffer("q", 0.1 * torch.eye(3))
        self.register_buffer("r", 0.5 * torch.eye(2))

    def forward(self, z: Tensor) -> tuple[Tensor, Tensor]:
        n = z.shape[0]
        x, p = torch.zeros(n, 3, 1), torch.eye(3).expand(n, 3, 3)
        outs = []
        for t in range(z.shape[1]):
            x = self.f @ x
            p = self.f @ p @ self.f.transpose(0, 1) + self.q
            s = self.h @ p @ self.h.transpose(0, 1) + self.r
            k = torch.linalg.solve(s, self.h @ p).transpose(1, 2)
            x = x + k @ (z[:, t].unsqueeze(-1) - self.h @ x)
            p = (torch.eye(3) - k @ self.h) @ p
            outs.append(x.squeeze(-1))
        return torch.stack(outs, 1), p


class Ode(nn.Module):
    """A neural ODE: Runge-Kutta over given times, and a fixed-point layer."""

    def __init__(self) -> None:
        super().__init__()
        self.f = nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 4))
        self.deep = nn.Linear(4, 4)

    def slope(self, t: Tensor, y: Tensor) -> Tensor:
        return self.f(torch.cat([y, t.expand(y.shape[0], 1)], 1))

    def forward(self, y: Tensor, times: Tensor) -> Tensor:
        outs = [y]
        for i in range(times.shape[0] - 1):
            t, dt = times[i], times[i + 1] - times[i]
            k1 = self.slope(t, y)
            k2 = self.slope(t + dt / 2, y + dt / 2 * k1)
            k3 = self.slope(t + dt / 2, y + dt / 2 * k2)
            k4 = self.slope(t + dt, y + dt * k3)
            y = y + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
            outs.append(y)
        z = torch.zeros_like(y)
        for _ in range(6):
            z = torch.tanh(0.3 * self.deep(z) + y)
        return torch.stack(outs) + z


# -- attention of other kinds, mixers ---------------------------------------------------------------


class Hashed(nn.Module):
    """Reformer: buckets by random rotations, sorted, attention within chunks, and unsorted."""

    def __init__(self) -> None:
        super().__init__()
        self.qk, self.v = nn.Linear(8, 8, bias=False), nn.Linear(8, 8, bias=False)
        self.register_buffer("turns", torch.randn(8, 2, 2))

    def forward(self, x: Tensor) -> Tensor:
        n, length, d = x.shape
        qk, v = self.qk(x), self.v(x)
        turned = torch.einsum("btf,fhi->bhti", qk, self.turns)
        buckets = torch.argmax(torch.cat([turned, -turned], dim=-1), dim=-1)
        buckets = (buckets + (torch.arange(2) * 4).view(1, 2, 1)).reshape(n, -1)
        ticker = torch.arange(2 * length).unsqueeze(0).expand_as(buckets)
        order = (length * buckets + (ticker % length)).argsort(dim=-1)
        undo = torch.zeros_like(order).scatter_(1, order, ticker)
        st = order % length
        rows = torch.arange(n)[:, None]
        sq, sv = qk[rows, st].view(n, -1, 4, d), v[rows, st].view(n, -1, 4, d)
        t = st.view(n, -1, 4)
        k = F.normalize(sq, dim=-1)
        look = lambda a: torch.cat([a, torch.cat([a[:, -1:], a[:, :-1]], 1)], 2)  # noqa: E731
        scores = torch.einsum("bhie,bhje->bhij", sq, look(k)) / d**0.5
        scores = scores.masked_fill(t[:, :, :, None] == look(t)[:, :, None, :], -5e4)
        total = torch.logsumexp(scores, dim=-1, keepdim=True)
        out = torch.einsum("bhij,bhje->bhie", (scores - total).exp(), look(sv)).reshape(n, -1, d)
        out = out.gather(1, undo.unsqueeze(-1).expand(-1, -1, d)).view(n, 2, length, d)
        logits = total.reshape(n, -1).gather(1, undo).view(n, 2, length, 1)
        return torch.sum(out * torch.exp(logits - torch.logsumexp(logits, dim=1, keepdim=True)), dim=1)


class Kernels(nn.Module):
    """Performer's random features, causal sums, linear attention, Nyström's landmarks, Hopfield retrieval."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(8, 24)
        self.register_buffer("random", torch.linalg.qr(torch.randn(8, 8))[0] * 2)
        self.patterns = nn.Parameter(torch.randn(10, 8))

    def features(self, x: Tensor, query: bool) -> Tensor:
        scale = 8**-0.25
        dash = torch.einsum("...id,jd->...ij", scale * x, self.random)
        diagonal = (torch.sum(x**2, dim=-1) / 2.0 * scale**2).unsqueeze(-1)
        top = torch.amax(dash, dim=-1, keepdim=True) if query else torch.amax(dash, dim=(-1, -2), keepdim=True)
        return 8**-0.5 * (torch.exp(dash - diagonal - top.detach()) + 1e-4)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        a, b = self.features(q, True), self.features(k, False)
        context = torch.einsum("...nd,...ne->...de", b, v)
        plain = torch.einsum(
            "...de,...nd,...n->...ne", context, a, 1.0 / torch.einsum("...nd,...d->...n", a, b.sum(-2))
        )
        sums = 1.0 / torch.einsum("...nd,...nd->...n", a, b.cumsum(dim=-2) + 1e-6)
        outer = torch.einsum("...nd,...ne->...nde", b, v).cumsum(dim=-3)
        causal = torch.einsum("...nde,...nd,...n->...ne", outer, a, sums)
        e, f = F.elu(q) + 1, F.elu(k) + 1
        linear = (e @ (f.transpose(1, 2) @ v)) / (e @ f.sum(1).unsqueeze(-1))
        state = F.normalize(x, dim=-1)
        for _ in range(3):
            state = F.normalize(torch.softmax(2 * state @ self.patterns.t(), -1) @ self.patterns, dim=-1)
        return plain, causal, linear, state


class Perceiver(nn.Module):
    """Latents that look at an array of any length, with Fourier features of its positions, and output queries."""

    def __init__(self) -> None:
        super().__init__()
        self.latents, self.output = nn.Parameter(torch.randn(5, 8)), nn.Parameter(torch.randn(1, 3, 8))
        self.into, self.q, self.kv, self.out = (
            nn.Linear(3 + 2 * 9, 8),
            nn.Linear(8, 8),
            nn.Linear(8, 16),
            nn.Linear(8, 8),
        )

    def attend(self, x: Tensor, context: Tensor, mask: Tensor | None = None) -> Tensor:
        q, k, v = self.q(x), *self.kv(context).chunk(2, dim=-1)
        q, k, v = (t.view(t.shape[0], t.shape[1], 2, 4).transpose(1, 2) for t in (q, k, v))
        sim = torch.einsum("bhid,bhjd->bhij", q, k) * 0.5
        if mask is not None:
            sim.masked_fill_(~mask[:, None, None, :], -torch.finfo(sim.dtype).max)
        return x + self.out((sim.softmax(dim=-1) @ v).transpose(1, 2).flatten(2))

    def forward(self, x: Tensor) -> Tensor:
        n, h, w, _ = x.shape
        axes = [torch.linspace(-1.0, 1.0, steps=size) for size in (h, w)]
        pos = torch.stack(torch.meshgrid(*axes, indexing="ij"), dim=-1).unsqueeze(-1)
        scales = torch.linspace(1.0, 5.0, 4)[(None,) * (pos.dim() - 1) + (...,)]
        turned = pos * scales * math.pi
        encoded = torch.cat([turned.sin(), turned.cos(), pos], dim=-1).flatten(2).unsqueeze(0).expand(n, -1, -1, -1)
        data = self.into(torch.cat((x, encoded), dim=-1).flatten(1, 2))
        mask = data.abs().sum(-1) > 0.1
        z = self.latents.unsqueeze(0).repeat(n, 1, 1)
        for _ in range(2):
            z = self.attend(self.attend(z, data, mask), z)
        return self.attend(self.output.expand(n, -1, -1), z)


class Mixers(nn.Module):
    """MLP-Mixer and gMLP over patches of a fixed number, FNet's transform, and a global filter."""

    def __init__(self) -> None:
        super().__init__()
        self.patch, self.norm, self.tokens = (
            nn.Conv2d(3, 12, 4, 4),
            nn.LayerNorm(12),
            nn.Sequential(nn.Linear(24, 16), nn.GELU(), nn.Linear(16, 24)),
        )
        self.channels, self.into, self.spatial, self.out = (
            nn.Linear(12, 12),
            nn.Linear(12, 24),
            nn.Conv1d(24, 24, 1),
            nn.Linear(12, 12),
        )
        self.filter = nn.Parameter(torch.randn(4, 4, 12, 2) * 0.3)

    def forward(self, x: Tensor) -> Tensor:
        h = self.patch(x).flatten(2).transpose(1, 2)
        h = h + self.tokens(self.norm(h).transpose(1, 2)).transpose(1, 2)
        u, v = F.gelu(self.into(self.norm(h))).chunk(2, dim=-1)
        h = h + self.out(u * (self.spatial(self.norm(v)) + 1))
        h = h + torch.fft.fft(torch.fft.fft(h, dim=-1), dim=-2).real * 0.1
        grid = torch.fft.rfft2(h.view(h.shape[0], 4, 6, 12), dim=(1, 2), norm="ortho")
        grid = torch.fft.irfft2(grid * torch.view_as_complex(self.filter), s=(4, 6), dim=(1, 2), norm="ortho")
        return self.channels((h + grid.reshape(h.shape[0], 24, 12)).mean(1))


class Experts(nn.Module):
    """The best two experts of each token: a loop over experts with `where`, and one of fixed capacity by one-hots."""

    def __init__(self, count: int = 4) -> None:
        super().__init__()
        self.count = count
        self.gate = nn.Linear(8, count, bias=False)
        self.experts = nn.ModuleList(
            [nn.Sequential(nn.Linear(8, 12), nn.SiLU(), nn.Linear(12, 8)) for _ in range(count)]
        )

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        n, t, d = x.shape
        flat = x.view(-1, d)
        probabilities = F.softmax(self.gate(flat), dim=1, dtype=torch.float)
        weights, chosen = torch.topk(probabilities, 2, dim=-1)
        weights = weights / weights.sum(dim=-1, keepdim=True)
        out = torch.zeros(n * t, d)
        hits = F.one_hot(chosen, num_classes=self.count).permute(2, 1, 0)
        for i, expert in enumerate(self.experts):
            slot, row = torch.where(hits[i])
            out.index_add_(0, row, expert(flat[row]) * weights[row, slot, None])
        first = F.one_hot(chosen[:, 0], num_classes=self.count)
        place = (torch.cumsum(first, dim=0) * first).sum(-1) - 1
        kept = place < 4
        slots = F.one_hot(torch.where(kept, place, torch.zeros_like(place)), num_classes=4) * kept.unsqueeze(-1)
        dispatch = (first.unsqueeze(-1) * slots.unsqueeze(1)).float()
        inputs = torch.einsum("sec,sm->ecm", dispatch, flat)
        outputs = torch.stack([expert(inputs[i]) for i, expert in enumerate(self.experts)])
        capped = torch.einsum("sec,ecm->sm", dispatch * weights[:, 0].view(-1, 1, 1), outputs)
        return out.view(n, t, d), capped.view(n, t, d), torch.bincount(chosen.view(-1), minlength=self.count)


class Memory(nn.Module):
    """A neural Turing machine: addressing by content and shift, a memory written to in each step."""

    def __init__(self) -> None:
        super().__init__()
        self.cell, self.address = nn.LSTMCell(4 + 6, 12), nn.Linear(12, 6 + 1 + 1 + 3 + 1)
        self.write, self.out = nn.Linear(12, 12), nn.Linear(18, 3)
        self.start = nn.Parameter(torch.randn(8, 6) * 0.5)

    def forward(self, x: Tensor) -> Tensor:
        n = x.shape[0]
        memory = self.start.unsqueeze(0).repeat(n, 1, 1)
        h, c, read, w = torch.zeros(n, 12), torch.zeros(n, 12), torch.zeros(n, 6), torch.softmax(torch.zeros(n, 8), 1)
        outs = []
        for t in range(x.shape[1]):
            h, c = self.cell(torch.cat([x[:, t], read], 1), (h, c))
            k, b, g, s, p = torch.split(self.address(h), [6, 1, 1, 3, 1], dim=1)
            near = F.cosine_similarity(memory + 1e-16, torch.tanh(k).unsqueeze(1) + 1e-16, dim=-1)
            focus = torch.softmax(F.softplus(b) * near, dim=1)
            focus = torch.sigmoid(g) * focus + (1 - torch.sigmoid(g)) * w
            s = F.softmax(s, dim=1)
            around = torch.cat([focus[:, -1:], focus, focus[:, :1]], 1)
            shifted = s[:, 0:1] * around[:, :-2] + s[:, 1:2] * around[:, 1:-1] + s[:, 2:3] * around[:, 2:]
            w = shifted ** (1 + F.softplus(p))
            w = w / (w.sum(dim=1, keepdim=True) + 1e-16)
            e, a = self.write(h).chunk(2, 1)
            memory = memory * (1 - torch.bmm(w.unsqueeze(-1), torch.sigmoid(e).unsqueeze(1))) + torch.bmm(
                w.unsqueeze(-1), a.unsqueeze(1)
            )
            read = torch.bmm(w.unsqueeze(1), memory).squeeze(1)
            outs.append(self.out(torch.cat([h, read], 1)))
        return torch.stack(outs, 1)


class Splines(nn.Module):
    """KAN: B-splines of a grid by recursion, with a base of SiLU; and radial functions."""

    def __init__(self, grid: int = 5, order: int = 3) -> None:
        super().__init__()
        self.order = order
        h = 2 / grid
        self.register_buffer("grid", (torch.arange(-order, grid + order + 1) * h - 1).expand(4, -1).contiguous())
        self.base, self.spline = nn.Parameter(torch.randn(3, 4)), nn.Parameter(torch.randn(3, 4, grid + order) * 0.3)

    def forward(self, x: Tensor) -> Tensor:
        flat = x.reshape(-1, 4)
        e, grid = flat.unsqueeze(-1), self.grid
        bases = ((e >= grid[:, :-1]) & (e < grid[:, 1:])).to(flat.dtype)
        for k in range(1, self.order + 1):
            a = (e - grid[:, : -(k + 1)]) / (grid[:, k:-1] - grid[:, : -(k + 1)]) * bases[:, :, :-1]
            b = (grid[:, k + 1 :] - e) / (grid[:, k + 1 :] - grid[:, 1:(-k)]) * bases[:, :, 1:]
            bases = a + b
        out = F.linear(F.silu(flat), self.base) + F.linear(bases.view(flat.size(0), -1), self.spline.view(3, -1))
        return out.view(x.size(0), x.size(1), 3)


class DenseGraph(nn.Module):
    """Graphs by adjacency matrices: GCN, attention with a mask, Chebyshev polynomials, DiffPool; ST-GCN over time."""

    def __init__(self) -> None:
        super().__init__()
        self.w, self.a, self.cheb, self.pool = nn.Linear(5, 8), nn.Linear(16, 1), nn.Linear(24, 8), nn.Linear(8, 3)
        self.time = nn.Conv2d(8, 8, (3, 1), padding=(1, 0))

    def forward(self, x: Tensor, adj: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        n, v = x.size(0), x.size(1)
        full = adj + torch.eye(v)
        d = torch.diag_embed(full.sum(-1).pow(-0.5))
        h = F.relu(self.w(torch.bmm(d.bmm(full).bmm(d), x)))
        left, right = h.repeat_interleave(v, dim=1), h.repeat(1, v, 1)
        e = F.leaky_relu(self.a(torch.cat([left, right], -1)).view(n, v, v), 0.2)
        attention = torch.where(full > 0, e, -9e15 * torch.ones_like(e)).softmax(-1)
        h = F.elu(attention @ h)
        lap = torch.eye(v) - d.bmm(full).bmm(d)
        polynomials = [h, lap @ h]
        polynomials.append(2 * lap @ polynomials[-1] - polynomials[-2])
        h = self.cheb(torch.cat(polynomials, -1))
        s = self.pool(h).softmax(-1)
        frames = torch.einsum("nctv,nvw->nctw", h.transpose(1, 2).unsqueeze(2).repeat(1, 1, 4, 1), attention)
        return s.transpose(1, 2) @ h, s.transpose(1, 2) @ adj @ s, self.time(frames).mean((2, 3))


class Tables(nn.Module):
    """DeepFM, DCN, xDeepFM and DIN: fields offset into one table, factorisation, compressed products, histories."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("offsets", torch.tensor([0, 10, 30]))
        self.first, self.table = nn.EmbeddingBag(60, 1, mode="sum"), nn.Embedding(60, 6)
        self.cin, self.deep = (
            nn.Conv1d(9, 5, 1),
            nn.Sequential(nn.Linear(18, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 1)),
        )
        self.cross, self.attend, self.bias = nn.Linear(18, 18), nn.Linear(24, 1), nn.Parameter(torch.zeros(1))
        self.bags = nn.EmbeddingBag(60, 6, mode="max", padding_idx=0)
        self.out = nn.Linear(5 + 6 + 6 + 18, 1)

    def forward(self, fields: Tensor, history: Tensor, weights: Tensor) -> Tensor:
        ids = fields + self.offsets.unsqueeze(0)
        e = self.table(ids)
        machine = 0.5 * (e.sum(1).pow(2) - e.pow(2).sum(1)).sum(1, keepdim=True)
        h = torch.einsum("bmd,bnd->bmnd", e, e).reshape(e.shape[0], -1, 6)
        cin = F.relu(self.cin(h)).sum(-1)
        seen = self.table(history)
        target = e[:, :1].expand(-1, seen.shape[1], -1)
        score = self.attend(torch.cat([target, seen, target - seen, target * seen], -1)).squeeze(-1)
        score = torch.where(history > 0, score, torch.full_like(score, -(2.0**32) + 1)).softmax(-1)
        interest = torch.bmm(score.unsqueeze(1), seen).squeeze(1)
        flat = e.flatten(1)
        crossed = flat * self.cross(flat) + flat
        weighted = F.embedding_bag(ids, self.table.weight, per_sample_weights=weights, mode="sum")
        every = torch.cat([cin, interest, self.bags(history) + weighted, crossed], 1)
        return torch.sigmoid(self.first(ids) + machine + self.deep(flat) + self.out(every) + self.bias).squeeze(1)


# -- decoding ---------------------------------------------------------------------------------------


class Beams(nn.Module):
    """A beam search with lengths, to be scripted: the loop ends when all beams have."""

    def __init__(self, beams: int = 3) -> None:
        super().__init__()
        self.beams = beams
        self.embed, self.cell, self.out = nn.Embedding(12, 8), nn.GRUCell(8, 8), nn.Linear(8, 12)

    def forward(self, state: Tensor, limit: int = 7) -> tuple[Tensor, Tensor]:
        n, beams = state.shape[0], self.beams
        state = state.unsqueeze(1).repeat(1, beams, 1).view(n * beams, -1)
        scores = torch.full((n, beams), -1e9)
        scores[:, 0] = 0.0
        ids = torch.ones(n, beams, 1, dtype=torch.long)
        done = torch.zeros(n, beams, dtype=torch.bool)
        step = 0
        while step < limit and not bool(done.all()):
            state = self.cell(self.embed(ids[:, :, -1].reshape(-1)), state)
            logp = F.log_softmax(self.out(state), dim=-1).view(n, beams, -1)
            stay = torch.full_like(logp, -1e9)
            stay[:, :, 2] = 0.0
            logp = torch.where(done.unsqueeze(-1), stay, logp)
            best, index = (scores.unsqueeze(-1) + logp).view(n, -1).topk(beams, dim=1)
            beam = torch.div(index, 12, rounding_mode="floor")
            word = index % 12
            ids = torch.cat([ids.gather(1, beam.unsqueeze(-1).expand(-1, -1, ids.shape[2])), word.unsqueeze(-1)], dim=2)
            done = done.gather(1, beam) | (word == 2)
            flat = (beam + torch.arange(n).unsqueeze(1) * beams).view(-1)
            state = state[flat]
            scores = best
            step += 1
        lengths = (ids != 2).sum(-1).float()
        best, order = (scores / lengths.pow(0.6)).sort(dim=1, descending=True)
        return ids.gather(1, order.unsqueeze(-1).expand(-1, -1, ids.shape[2])), best


# -- the table --------------------------------------------------------------------------------------


def traced(
    name: str, make: Callable[[], nn.Module], example: dict[str, Any], other: dict[str, Any], **more: Any
) -> None:
    add(name, FAMILY, lambda: Zoo(make(), example, other, **more))


def scripted(
    name: str, make: Callable[[], nn.Module], example: dict[str, Any], other: dict[str, Any], **more: Any
) -> None:
    add(f"{name}, scripted", FAMILY, lambda: Zoo(torch.jit.script(make()), example, other, **more))


def both(*case: Any, **more: Any) -> None:
    traced(*case, **more)
    scripted(*case, **more)


def fill() -> None:
    both("CRNN with CTC's best path", Crnn, {"x": normal(2, 1, 16, 40)}, {"x": normal(3, 1, 16, 56)})
    scripted("Tacotron 2", Tacotron, {"ids": tokens(2, 6, 40)}, {"ids": tokens(3, 9, 40)})
    speeds = [
        {"ids": tokens(n, t, 40), "speed": torch.tensor([[1.5]]).repeat(n, 1)}
        for n, t in ((1, 7), (1, 11), (2, 7), (3, 9))
    ]
    both("FastSpeech 2, one sentence", FastSpeech, speeds[0], speeds[1])
    traced("FastSpeech 2, sentences", lambda: FastSpeech(False), speeds[2], speeds[3])
    spoken = [{"ids": tokens(n, t, 40), "lengths": t - torch.arange(n)} for n, t in ((2, 7), (3, 9))]
    traced("VITS", Vits, spoken[0], spoken[1])
    both(
        "WaveNet", WaveNet, {"x": normal(2, 1, 40), "c": normal(2, 3, 7)}, {"x": normal(3, 1, 57), "c": normal(3, 3, 9)}
    )
    voices = [{"x": normal(n, 10, t), "lengths": torch.linspace(1, 0.6, n)} for n, t in ((2, 20), (3, 27))]
    both("ECAPA-TDNN", Speaker, voices[0], voices[1])
    both("Conv-TasNet and dual paths", Separator, {"wave": waveform(2, 300)}, {"wave": waveform(3, 412)})
    both("speech features", Frontend, {"wave": waveform(2, 600)}, {"wave": waveform(3, 811)})
    series = {"x": normal(2, 24, 8)}, {"x": normal(3, 31, 8)}
    both("Informer", Informer, *series)
    traced("Autoformer", Autoformer, *series)
    both("PatchTST and N-BEATS", Patches, {"x": normal(2, 24, 3)}, {"x": normal(3, 33, 3)})
    fused = [{"x": normal(n, t, 3), "kind": tokens(1, n, 9)[0]} for n, t in ((2, 8), (3, 11))]
    traced("temporal fusion", Fusion, fused[0], fused[1])
    gaps = [
        {"x": normal(n, t, 3), "mask": (uniform(n, t, 3) > 0.4).float(), "delta": uniform(n, t, 3, seed=3)}
        for n, t in ((2, 6), (3, 9))
    ]
    both("GRU-D", Decay, gaps[0], gaps[1])
    both("Kalman filter", Kalman, {"z": normal(2, 5, 2)}, {"z": normal(3, 8, 2)})
    both(
        "neural ODE",
        Ode,
        {"y": normal(2, 4), "times": torch.linspace(0, 1, 5)},
        {"y": normal(3, 4), "times": torch.linspace(0, 1, 8)},
    )
    traced("Reformer's hashing", Hashed, {"x": normal(2, 12, 8)}, {"x": normal(3, 20, 8)})
    traced("kernels, landmarks and retrieval", Kernels, series[0], series[1])
    traced("Perceiver", Perceiver, {"x": normal(2, 6, 7, 3)}, {"x": normal(3, 8, 5, 3)})
    both("mixers and filters", Mixers, {"x": normal(2, 3, 16, 24)}, {"x": normal(5, 3, 16, 24)})
    traced("experts", Experts, series[0], series[1])
    both("memory that is written", Memory, {"x": normal(2, 5, 4)}, {"x": normal(3, 8, 4)})
    both("splines", Splines, {"x": normal(2, 5, 4).tanh()}, {"x": normal(3, 8, 4).tanh()})
    graphs = [{"x": normal(n, v, 5), "adj": (uniform(n, v, v) > 0.6).float()} for n, v in ((2, 6), (3, 9))]
    both("dense graphs", DenseGraph, graphs[0], graphs[1])
    clicks = [
        {"fields": tokens(n, 3, 9), "history": tokens(n, t, 60), "weights": uniform(n, 3)} for n, t in ((4, 6), (3, 9))
    ]
    both("tables of fields", Tables, clicks[0], clicks[1])
    scripted("beam search", Beams, {"state": normal(2, 8)}, {"state": normal(4, 8)})


fill()
