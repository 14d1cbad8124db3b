"""Short models in the style of libraries: parts of speech synthesis, recurrent models written as Python loops."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import nn

from entry import Family, normal, tokens, uniform, waveform

traced = Family("library styles").traced

# -- speech synthesis -------------------------------------------------------------------------------


class LengthRegulator(nn.Module):
    """FastSpeech: tokens repeated as often as predicted durations say, by a mask of cumulated ends."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.encoder = nn.Embedding(40, 16), nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
        self.duration = nn.Sequential(nn.Conv1d(16, 16, 3, padding=1), nn.ReLU(), nn.Conv1d(16, 1, 1))
        self.decoder, self.out = nn.GRU(16, 16, batch_first=True, bidirectional=True), nn.Linear(32, 8)

    def forward(self, ids: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        h = self.encoder(self.embed(ids))
        duration = self.duration(h.transpose(1, 2)).squeeze(1).exp().round().clamp(1, 6).long()
        ends = duration.cumsum(1)
        total = ends[:, -1].max()
        frames = torch.arange(total)
        path = (frames[None, :, None] >= (ends - duration)[:, None, :]) & (frames[None, :, None] < ends[:, None, :])
        spread = path.to(h.dtype) @ h
        position = frames.unsqueeze(1) / 10000 ** (torch.arange(0, 16, 2) / 16)
        spread = spread + torch.stack([position.sin(), position.cos()], -1).flatten(1)
        return self.out(self.decoder(spread)[0]), duration


class Vocoder(nn.Module):
    """HiFi-GAN: transposed convolutions, dilated residual blocks, weight norm."""

    def __init__(self) -> None:
        super().__init__()
        norm = torch.nn.utils.parametrizations.weight_norm
        self.first = norm(nn.Conv1d(8, 16, 7, padding=3))
        self.ups = nn.ModuleList(norm(nn.ConvTranspose1d(16 >> i, 8 >> i, 8, 4, 2)) for i in range(2))
        self.blocks = nn.ModuleList(
            nn.ModuleList(norm(nn.Conv1d(8 >> i, 8 >> i, 3, dilation=d, padding=d)) for d in (1, 3)) for i in range(2)
        )
        self.last = norm(nn.Conv1d(4, 1, 7, padding=3))

    def forward(self, mel: torch.Tensor) -> torch.Tensor:
        x = self.first(mel)
        for up, block_ in zip(self.ups, self.blocks):
            x = up(F.leaky_relu(x, 0.1))
            for conv in block_:
                x = x + conv(F.leaky_relu(x, 0.1))
        return torch.tanh(self.last(F.leaky_relu(x)))


class RelativeAttention(nn.Module):
    """VITS: attention with windows of relative positions, made by padding and reshaping."""

    def __init__(self, window: int = 4) -> None:
        super().__init__()
        self.window, self.heads, self.width = window, 2, 8
        self.qkv, self.out = nn.Conv1d(16, 48, 1), nn.Conv1d(16, 16, 1)
        self.keys, self.values = (
            nn.Parameter(torch.randn(1, 2 * window + 1, 8)),
            nn.Parameter(torch.randn(1, 2 * window + 1, 8)),
        )

    def table(self, relative: torch.Tensor, length: int) -> torch.Tensor:
        pad = max(length - (self.window + 1), 0)
        start = max((self.window + 1) - length, 0)
        relative = F.pad(relative, (0, 0, pad, pad)) if pad > 0 else relative
        return relative[:, start : start + 2 * length - 1]

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        n, channels, t = x.shape
        q, k, v = (y.view(n, self.heads, self.width, t).transpose(2, 3) for y in self.qkv(x).chunk(3, 1))
        scores = torch.matmul(q / math.sqrt(self.width), k.transpose(-2, -1))
        relative = torch.matmul(q, self.table(self.keys, t).unsqueeze(0).transpose(-2, -1))
        flat = F.pad(relative, (0, 1)).view(n, self.heads, t * 2 * t)
        flat = F.pad(flat, (0, t - 1)).view(n, self.heads, t + 1, 2 * t - 1)
        scores = scores + flat[:, :, :t, t - 1 :]
        scores = scores.masked_fill(mask.unsqueeze(1).unsqueeze(2) == 0, -1e4)
        p = scores.softmax(-1)
        out = torch.matmul(p, v)
        weights = F.pad(p, (0, t - 1)).view(n, self.heads, t * t + t * (t - 1))
        weights = F.pad(weights, (t, 0)).view(n, self.heads, t, 2 * t)[:, :, :, 1:]
        out = out + torch.matmul(weights, self.table(self.values, t).unsqueeze(0))
        return self.out(out.transpose(2, 3).contiguous().view(n, channels, t))


class Flow(nn.Module):
    """Coupling layers of a normalising flow, run backwards, with WaveNet's gated convolutions."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.ModuleList(nn.Conv1d(4, 8, 1) for _ in range(3))
        self.gates = nn.ModuleList(nn.Conv1d(8, 16, 3, padding=2, dilation=2) for _ in range(3))
        self.last = nn.ModuleList(nn.Conv1d(8, 8, 1) for _ in range(3))

    def forward(self, z: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        for first, gate, last in zip(reversed(self.first), reversed(self.gates), reversed(self.last)):
            z = torch.flip(z, [1])
            a, b = torch.split(z, [4, 4], 1)
            h = first(a) * mask
            g = gate(h)
            h = torch.tanh(g[:, :8]) * torch.sigmoid(g[:, 8:])
            mean, scale = torch.split(last(h) * mask, [4, 4], 1)
            b = (b - mean) * torch.exp(-scale) * mask
            z = torch.cat([a, b], 1)
        return z


class Spectrogram(nn.Module):
    """Framing by hand and by stft, mel filters, and back by istft."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("window", torch.hann_window(64))
        self.register_buffer("mel", uniform(33, 12))

    def forward(self, wave: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        spectrum = torch.stft(wave, 64, 16, 64, self.window, center=True, return_complex=True)
        power = spectrum.abs().pow(2)
        mel = (power.transpose(1, 2) @ self.mel).clamp(min=1e-5).log()
        mask = torch.sigmoid(mel.mean(-1)).unsqueeze(1)
        return mel, torch.istft(spectrum * mask, 64, 16, 64, self.window, center=True, length=wave.shape[-1])


# -- recurrent models as loops ----------------------------------------------------------------------


class AttentionDecoder(nn.Module):
    """Tacotron's decoder, with the frames that it is taught by: a Python loop over them."""

    def __init__(self) -> None:
        super().__init__()
        self.before, self.cell, self.out = nn.Linear(6, 8), nn.LSTMCell(8 + 16, 16), nn.Linear(32, 6)
        self.query, self.memory, self.score = (
            nn.Linear(16, 8, bias=False),
            nn.Linear(16, 8, bias=False),
            nn.Linear(8, 1),
        )
        self.place = nn.Conv1d(1, 8, 3, padding=1)

    def forward(self, memory: torch.Tensor, frames: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        n, length, _ = memory.shape
        h = c = memory.new_zeros(n, 16)
        context, total = memory.new_zeros(n, 16), memory.new_zeros(n, length)
        keys = self.memory(memory)
        outs, alignments = [], []
        for t in range(frames.shape[1]):
            x = torch.cat([self.before(frames[:, t]).relu(), context], -1)
            h, c = self.cell(x, (h, c))
            where = self.place(total.unsqueeze(1)).transpose(1, 2)
            weight = self.score(torch.tanh(self.query(h).unsqueeze(1) + keys + where)).squeeze(-1).softmax(-1)
            context = torch.bmm(weight.unsqueeze(1), memory).squeeze(1)
            total = total + weight
            outs.append(self.out(torch.cat([h, context], -1)))
            alignments.append(weight)
        return torch.stack(outs, 1), torch.stack(alignments, 1)


class StateSpace(nn.Module):
    """S6: a selective scan, step by step, with a causal convolution before it."""

    def __init__(self) -> None:
        super().__init__()
        self.into, self.conv = nn.Linear(8, 32), nn.Conv1d(16, 16, 4, groups=16, padding=3)
        self.project, self.step, self.out = nn.Linear(16, 9), nn.Linear(1, 16), nn.Linear(16, 8)
        self.a, self.d = nn.Parameter(torch.log(torch.arange(1, 5).float()).repeat(16, 1)), nn.Parameter(torch.ones(16))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        n, length, _ = x.shape
        u, gate = self.into(x).chunk(2, -1)
        u = F.silu(self.conv(u.transpose(1, 2))[..., :length]).transpose(1, 2)
        delta, b, c = self.project(u).split([1, 4, 4], -1)
        delta = F.softplus(self.step(delta))
        decay = torch.exp(delta.unsqueeze(-1) * -torch.exp(self.a))
        drive = delta.unsqueeze(-1) * b.unsqueeze(2) * u.unsqueeze(-1)
        state, outs = x.new_zeros(n, 16, 4), []
        for t in range(length):
            state = decay[:, t] * state + drive[:, t]
            outs.append((state * c[:, t].unsqueeze(1)).sum(-1))
        y = torch.stack(outs, 1) + u * self.d
        return self.out(y * F.silu(gate))


class BeamStep(nn.Module):
    """A step of a beam search: the best continuations, and the states that they go on from."""

    def __init__(self, beams: int = 3) -> None:
        super().__init__()
        self.beams, self.embed, self.cell, self.out = beams, nn.Embedding(20, 8), nn.GRUCell(8, 16), nn.Linear(16, 20)

    def forward(self, last: torch.Tensor, scores: torch.Tensor, state: torch.Tensor) -> tuple[torch.Tensor, ...]:
        n = last.shape[0]
        state = self.cell(self.embed(last.reshape(-1)), state.reshape(n * self.beams, -1))
        total = self.out(state).log_softmax(-1).view(n, self.beams, -1) + scores.unsqueeze(-1)
        best, index = total.view(n, -1).topk(self.beams, -1)
        beam = torch.div(index, 20, rounding_mode="floor")
        state = state.view(n, self.beams, -1).gather(1, beam.unsqueeze(-1).expand(-1, -1, state.shape[-1]))
        return index % 20, best, state, beam


# -- the table --------------------------------------------------------------------------------------


def fill() -> None:
    traced("length regulator", LengthRegulator, {"ids": tokens(2, 9, 40)}, {"ids": tokens(3, 7, 40)})
    traced("vocoder", Vocoder, {"mel": normal(2, 8, 12)}, {"mel": normal(3, 8, 17)})
    for name, make, width in (("relative attention", RelativeAttention, 16), ("flow", Flow, 8)):
        first = {
            "x" if width == 16 else "z": normal(2, width, 12),
            "mask": torch.ones(2, 12) if width == 16 else torch.ones(2, 1, 12),
        }
        second = {
            "x" if width == 16 else "z": normal(3, width, 9),
            "mask": torch.ones(3, 9) if width == 16 else torch.ones(3, 1, 9),
        }
        traced(name, make, first, second)
    traced("spectrogram and back", Spectrogram, {"wave": waveform(2, 800)}, {"wave": waveform(3, 1111)})
    traced(
        "attention decoder",
        AttentionDecoder,
        {"memory": normal(2, 7, 16), "frames": normal(2, 5, 6)},
        {"memory": normal(3, 9, 16), "frames": normal(3, 8, 6)},
    )
    traced("state space", StateSpace, {"x": normal(2, 9, 8)}, {"x": normal(3, 14, 8)})
    traced(
        "beam step",
        BeamStep,
        {"last": tokens(2, 3, 20), "scores": normal(2, 3), "state": normal(2, 3, 16)},
        {"last": tokens(4, 3, 20), "scores": normal(4, 3), "state": normal(4, 3, 16)},
    )


fill()
