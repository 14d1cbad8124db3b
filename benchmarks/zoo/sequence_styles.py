"""Short models in the style of published ones: time series, attention of many kinds, recurrences, experts, memories,
tables, filters. Traced; those that TorchScript compiles are scripted, too."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from entry import Family, normal, tokens, uniform

FAMILY = Family("sequence styles")
traced, scripted, both = FAMILY.traced, FAMILY.scripted, FAMILY.both

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


def fill() -> None:
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
