"""Short models in the style of published ones that hear and speak. Traced; those that TorchScript compiles are scripted, too."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from entry import Family, normal, tokens, uniform, waveform

FAMILY = Family("sequence styles")
traced, scripted, both = FAMILY.traced, FAMILY.scripted, FAMILY.both

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


# -- the table --------------------------------------------------------------------------------------


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


fill()
