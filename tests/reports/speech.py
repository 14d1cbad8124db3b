"""Speech and sound."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import nn

from tests.reports.harness import OFTEN, program, reports

TABLE, report = reports()
PT = "https://github.com/pytorch/pytorch/issues/"
BT = {0: {0: "b", 1: "t"}}


@report("https://github.com/ming024/FastSpeech2/issues/98")
def length_regulator_with_buckets():
    class Variance(nn.Module):
        def __init__(self):
            super().__init__()
            self.bins = nn.Parameter(torch.linspace(-1, 1, 7), requires_grad=False)
            self.embed = nn.Embedding(8, 4)
            self.duration = nn.Linear(4, 1)

        def forward(self, x, mask):
            pitch = x.mean(-1)
            x = x + self.embed(torch.bucketize(pitch, self.bins))
            log_d = self.duration(x).squeeze(-1)
            d = torch.clamp(torch.round(torch.exp(log_d) - 0.2) * 2, min=0).masked_fill(mask, 0).long()
            d[:, 0] = d[:, 0].clamp(min=1)
            lengths = d.sum(1)
            ends = d.cumsum(1)
            frames = torch.arange(lengths.max())
            index = (frames[None, :, None] >= ends[:, None, :]).sum(-1).clamp(max=x.size(1) - 1)
            spread = x.gather(1, index.unsqueeze(-1).expand(-1, -1, 4))
            spread = spread * (frames[None] < lengths[:, None]).unsqueeze(-1)
            return spread, lengths, torch.repeat_interleave(x[0], d[0], dim=0)

    def inputs(b, t):
        mask = torch.zeros(b, t, dtype=torch.bool)
        mask[-1, -1] = True
        return torch.randn(b, t, 4), mask

    return program(Variance(), inputs, (2, 5), (3, 8), axes={0: {0: "b", 1: "t"}, 1: {0: "b", 1: "t"}})


@report("https://github.com/jaywalnut310/vits/issues/41")
def rational_quadratic_spline_inside_of_an_interval():
    class Spline(nn.Module):
        def forward(self, x, w, h, d):
            tail, bins = 2.0, 5
            inside = (x >= -tail) & (x <= tail)
            out = torch.zeros_like(x)
            d = F.pad(d, pad=(1, 1))
            constant = math.log(math.exp(1 - 1e-3) - 1)
            d[..., 0] = constant
            d[..., -1] = constant
            out[~inside] = x[~inside]
            out[inside] = self.inner(x[inside], w[inside, :], h[inside, :], d[inside, :], tail, bins)
            return out

        def inner(self, x, w, h, d, tail, bins):
            def knots(v):
                v = 1e-3 + (1 - 1e-3 * bins) * F.softmax(v, dim=-1)
                c = F.pad(torch.cumsum(v, dim=-1), pad=(1, 0), mode="constant", value=0.0)
                c = 2 * tail * c - tail
                c[..., 0] = -tail
                c[..., -1] = tail
                return c, c[..., 1:] - c[..., :-1]

            cw, ws = knots(w)
            ch, hs = knots(h)
            d = 1e-3 + F.softplus(d)
            edges = cw.clone()
            edges[..., bins] += 1e-6
            at = torch.sum(x[..., None] >= edges, dim=-1)[..., None] - 1
            icw, iw = cw.gather(-1, at)[..., 0], ws.gather(-1, at)[..., 0]
            ich, delta = ch.gather(-1, at)[..., 0], hs / ws
            idl = delta.gather(-1, at)[..., 0]
            d0, d1 = d.gather(-1, at)[..., 0], d[..., 1:].gather(-1, at)[..., 0]
            ih = hs.gather(-1, at)[..., 0]
            theta = (x - icw) / iw
            tt = theta * (1 - theta)
            return ich + ih * (idl * theta.pow(2) + d0 * tt) / (idl + (d0 + d1 - 2 * idl) * tt)

    def inputs(b, t):
        return torch.randn(b, t) * 2, torch.randn(b, t, 5), torch.randn(b, t, 5), torch.randn(b, t, 4)

    return program(Spline(), inputs, (2, 6), (1, 9), axes={i: {0: "b", 1: "t"} for i in range(4)}, rtol=1e-3)


@report("https://github.com/jaywalnut310/vits/issues/35")
def relative_positions_by_padding_and_reshaping():
    class Relative(nn.Module):
        def __init__(self):
            super().__init__()
            self.keys = nn.Parameter(torch.randn(1, 2 * 4 + 1, 6))

        def forward(self, x, mask):
            length = x.size(2)
            pad = max(length - 5, 0)
            start = max(5 - length, 0)
            keys = F.pad(self.keys, (0, 0, pad, pad))[:, start : start + 2 * length - 1]
            logits = torch.matmul(x, keys.unsqueeze(0).transpose(-2, -1))
            b, h, t, _ = logits.size()
            logits = F.pad(logits, (0, 1))
            flat = F.pad(logits.view([b, h, t * 2 * t]), (0, t - 1))
            scores = flat.view([b, h, t + 1, 2 * t - 1])[:, :, :t, t - 1 :]
            scores = scores.masked_fill(mask == 0, -1e4)
            p = F.softmax(scores, dim=-1)
            p = F.pad(p, (0, t - 1))
            back = F.pad(p.view([b, h, t**2 + t * (t - 1)]), (t, 0)).view([b, h, t, 2 * t])[:, :, :, 1:]
            return scores, back

    def inputs(b, t):
        lengths = torch.arange(b) % t + 1
        mask = (torch.arange(t)[None] < lengths[:, None]).float()
        return torch.randn(b, 2, t, 6), (mask.unsqueeze(1) * mask.unsqueeze(2)).unsqueeze(1)

    return program(Relative(), inputs, (1, 7), (2, 9), (2, 3), axes={0: {0: "b", 2: "t"}, 1: {0: "b", 2: "t", 3: "t"}})


@report(PT + "65666")
def stft_mask_istft():
    class Denoise(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("window", torch.hann_window(16))

        def forward(self, x):
            spec = torch.stft(x, 16, 4, 16, self.window, center=True, return_complex=True)
            magnitude, phase = spec.abs(), torch.angle(spec)
            mask = torch.sigmoid(magnitude - magnitude.mean((1, 2), keepdim=True))
            out = torch.polar(magnitude * mask, phase)
            return torch.istft(out, 16, 4, 16, self.window, length=x.shape[-1]), 20 * torch.log10(magnitude.clamp(1e-5))

    return program(Denoise(), lambda b, n: (torch.randn(b, n),), (1, 64), (2, 100), axes={0: {0: "b", 1: "n"}},
                   rtol=1e-3, atol=1e-4)  # fmt: skip


@report("https://github.com/pytorch/audio/issues/3897")
def log_mel_features_with_deltas():
    class Mel(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("fb", torch.rand(13, 5))

        def forward(self, x):
            x = torch.cat([x[:, :1], x[:, 1:] - 0.97 * x[:, :-1]], 1)
            frames = x.unfold(-1, 24, 8)
            frames = (frames - frames.mean(-1, keepdim=True)) * torch.hamming_window(24, periodic=False)
            power = torch.fft.rfft(frames, n=24).abs().pow(2)
            mel = (power @ self.fb).clamp(min=1e-10).log10()
            mel = torch.maximum(mel, mel.amax() - 8.0)
            mel = (mel + 4.0) / 4.0
            mel = (mel - mel.mean(1, keepdim=True)) / (mel.std(1, keepdim=True) + 1e-5)
            m = mel.transpose(1, 2)
            kernel = torch.arange(-2.0, 3.0).repeat(5, 1, 1)
            delta = F.conv1d(F.pad(m, (2, 2), mode="replicate"), kernel, groups=5) / 10
            return torch.cat([m, delta], 1)

    return program(Mel(), lambda b, n: (torch.randn(b, n),), (1, 80), (3, 121), axes={0: {0: "b", 1: "n"}}, rtol=1e-3,
                   atol=1e-3)  # fmt: skip


@report(OFTEN)
def sine_source_from_a_pitch_contour():
    class Source(nn.Module):
        def __init__(self):
            super().__init__()
            self.merge = nn.Linear(4, 1)

        def forward(self, f0):
            f0 = F.interpolate(f0[:, None], scale_factor=6.0, mode="linear", align_corners=True)[:, 0, :, None]
            harmonics = f0 * torch.arange(1, 5)
            rad = (harmonics / 240) % 1
            rad[:, 0, :] = rad[:, 0, :] + 0.25
            over = torch.cumsum(rad, 1) % 1
            wrapped = (over[:, 1:, :] - over[:, :-1, :]) < 0
            shift = torch.zeros_like(rad)
            shift[:, 1:, :] = wrapped * -1.0
            sines = torch.sin(torch.cumsum(rad + shift, dim=1) * 2 * math.pi) * 0.1
            voiced = (f0 > 60).to(sines.dtype)
            return torch.tanh(self.merge(sines * voiced)).squeeze(-1)

    return program(Source(), lambda b, t: (torch.rand(b, t) * 100 + 20,), (1, 5), (3, 8), axes=BT, atol=1e-3)


@report("https://github.com/NVIDIA-NeMo/Speech/issues/4100")
def masked_convolutions_of_lengths():
    class Quartz(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv1d(3, 6, 3, stride=2, padding=1)
            self.norm = nn.BatchNorm1d(6)
            self.squeeze = nn.Sequential(nn.Linear(6, 2), nn.ReLU(), nn.Linear(2, 6))

        def forward(self, x, lengths):
            top = x.size(2)
            mask = torch.arange(top).expand(x.size(0), top) >= lengths.unsqueeze(1)
            x = x.masked_fill(mask.unsqueeze(1), 0)
            lengths = (lengths + 2 - 2 - 1) // 2 + 1
            x = self.norm(self.conv(x))
            there = (torch.arange(x.size(2))[None] < lengths[:, None]).unsqueeze(1)
            mean = (x * there).sum(-1) / lengths.unsqueeze(1).clamp(min=1)
            std = ((x - mean.unsqueeze(-1)).pow(2) * there).sum(-1).div(lengths[:, None]).clamp(1e-5).sqrt()
            x = x * self.squeeze(mean).sigmoid().unsqueeze(-1)
            alpha = F.softmax(x.masked_fill(there == 0, float("-inf")), dim=2)
            return F.glu(x, 1), lengths, torch.cat([(alpha * x).sum(2), std], 1)

    def inputs(b, t):
        return torch.randn(b, 3, t), torch.randint(1, t + 1, (b,))

    return program(Quartz(), inputs, (2, 7), (3, 12), axes={0: {0: "b", 2: "t"}, 1: {0: "b"}})


@report(OFTEN)
def chunk_masks_and_conformer_caches():
    class Chunk(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv1d(4, 8, 1)
            self.depth = nn.Conv1d(4, 4, 3, groups=4)
            self.attn = nn.Linear(4, 12)

        def forward(self, x, cache, att_cache):
            q, k, v = self.attn(x).chunk(3, -1)
            k = torch.cat([att_cache[..., :4], k], 1)
            v = torch.cat([att_cache[..., 4:], v], 1)
            t, s = q.size(1), k.size(1)
            i = torch.arange(t).unsqueeze(1) + (s - t)
            ends = torch.div(i, 2, rounding_mode="trunc") * 2 + 2
            mask = torch.arange(s).unsqueeze(0) < ends.clamp(max=s)
            scores = torch.einsum("btd,bsd->bts", q, k) / 2
            y = torch.softmax(scores.masked_fill(~mask, -1e9), -1) @ v
            z = torch.cat((cache, y.transpose(1, 2)), dim=2)
            new_cache = z[:, :, -cache.size(2) :]
            z = self.depth(F.glu(self.conv(z), dim=1))
            return z.transpose(1, 2), new_cache, torch.cat([k, v], -1)[:, -3:]

    def inputs(b, t, c):
        return torch.randn(b, t, 4), torch.zeros(b, 4, 2), torch.randn(b, c, 8)

    return program(Chunk(), inputs, (1, 4, 3), (2, 6, 5), axes={0: {0: "b", 1: "t"}, 1: {0: "b"}, 2: {0: "b", 1: "c"}})


@report(OFTEN)
def greedy_ctc_collapse():
    def collapse(logits, lengths):
        path = logits.argmax(-1)
        keep = torch.ones_like(path, dtype=torch.bool)
        keep[:, 1:] = path[:, 1:] != path[:, :-1]
        keep &= path != 0
        keep &= torch.arange(path.size(1)) < lengths[:, None]
        counts = keep.sum(1)
        order = torch.argsort((~keep).int(), dim=1, stable=True)
        packed = path.gather(1, order).masked_fill(torch.arange(path.size(1)) >= counts[:, None], -1)
        runs, inverse, number = torch.unique_consecutive(path[0], return_inverse=True, return_counts=True)
        return packed, counts, runs[runs != 0], inverse, number, path[keep]

    return program(
        collapse, lambda b, t: (torch.randn(b, t, 3), torch.randint(1, t + 1, (b,))), (2, 6), (3, 11),
        axes={0: {0: "b", 1: "t"}, 1: {0: "b"}},
    )  # fmt: skip
