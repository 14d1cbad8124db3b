"""Other models in the style of published ones: scans, operators on grids, recommendation, distributions, molecules, rendering.

They are plain torch, as research code has it, and are traced.
"""

from __future__ import annotations

import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from entry import Family, normal, tokens

traced = Family("sequence styles").traced


class Mamba(nn.Module):
    """A selective scan, step by step."""

    def __init__(self, d=8, n=4):
        super().__init__()
        self.i = nn.Linear(d, 2 * d * 2)
        self.c = nn.Conv1d(16, 16, 4, groups=16, padding=3)
        self.xp = nn.Linear(16, 2 + 2 * n, bias=False)
        self.dt = nn.Linear(2, 16)
        self.A = nn.Parameter(torch.log(torch.arange(1, n + 1).float()).repeat(16, 1))
        self.D = nn.Parameter(torch.ones(16))
        self.o = nn.Linear(16, d)
        self.n = n

    def scan(self, u, delta, A, B, C, D):
        b, l, d = u.shape
        n = A.shape[1]
        dA = torch.exp(torch.einsum("bld,dn->bldn", delta, A))
        dB = torch.einsum("bld,bln,bld->bldn", delta, B, u)
        x = torch.zeros((b, d, n))
        ys = []
        for i in range(l):
            x = dA[:, i] * x + dB[:, i]
            ys.append(torch.einsum("bdn,bn->bd", x, C[:, i, :]))
        return torch.stack(ys, dim=1) + u * D

    def forward(self, x):
        b, l, d = x.shape
        x, res = self.i(x).split(split_size=[16, 16], dim=-1)
        x = self.c(x.transpose(1, 2))[:, :, :l].transpose(1, 2)
        x = F.silu(x)
        A = -torch.exp(self.A.float())
        dl, B, C = self.xp(x).split([2, self.n, self.n], dim=-1)
        y = self.scan(x, F.softplus(self.dt(dl)), A, B, C, self.D.float())
        return self.o(y * F.silu(res))


class RWKV(nn.Module):
    """Attention as a recurrence with running maxima."""

    def __init__(self, d=8):
        super().__init__()
        self.mk = nn.Parameter(torch.rand(1, 1, d))
        self.k = nn.Linear(d, d, bias=False)
        self.v = nn.Linear(d, d, bias=False)
        self.r = nn.Linear(d, d, bias=False)
        self.o = nn.Linear(d, d, bias=False)
        self.w = nn.Parameter(torch.rand(d))
        self.u = nn.Parameter(torch.rand(d))
        self.ts = nn.ZeroPad2d((0, 0, 1, -1))

    def forward(self, x):
        B, T, C = x.size()
        xx = self.ts(x)
        xk = x * self.mk + xx * (1 - self.mk)
        k = self.k(xk)
        v = self.v(xk)
        r = torch.sigmoid(self.r(xk))
        w = -torch.exp(self.w)
        aa = torch.zeros(B, C)
        bb = torch.zeros(B, C)
        pp = torch.full((B, C), -1e38)
        y = torch.empty_like(v)
        for t in range(T):
            kk = k[:, t]
            vv = v[:, t]
            ww = self.u + kk
            p = torch.maximum(pp, ww)
            e1 = torch.exp(pp - p)
            e2 = torch.exp(ww - p)
            y[:, t] = (e1 * aa + e2 * vv) / (e1 * bb + e2)
            ww = pp + w
            p = torch.maximum(ww, kk)
            e1 = torch.exp(ww - p)
            e2 = torch.exp(kk - p)
            aa = e1 * aa + e2 * vv
            bb = e1 * bb + e2
            pp = p
        return self.o(r * y)


class S4D(nn.Module):
    """A state space as a long convolution."""

    def __init__(self, h=8, n=4):
        super().__init__()
        self.C = nn.Parameter(torch.view_as_real(torch.randn(h, n, dtype=torch.cfloat)))
        self.ld = nn.Parameter(torch.rand(h) * 2 - 4)
        self.la = nn.Parameter(torch.log(0.5 * torch.ones(h, n)))
        self.ai = nn.Parameter(math.pi * torch.arange(n).float().repeat(h, 1))
        self.D = nn.Parameter(torch.randn(h))
        self.o = nn.Conv1d(h, 2 * h, 1)

    def forward(self, u):
        L = u.size(-1)
        dt = torch.exp(self.ld)
        C = torch.view_as_complex(self.C)
        A = -torch.exp(self.la) + 1j * self.ai
        dtA = A * dt.unsqueeze(-1)
        K = dtA.unsqueeze(-1) * torch.arange(L)
        C = C * (torch.exp(dtA) - 1.0) / A
        k = 2 * torch.einsum("hn,hnl->hl", C, torch.exp(K)).real
        kf = torch.fft.rfft(k, n=2 * L)
        uf = torch.fft.rfft(u, n=2 * L)
        y = torch.fft.irfft(uf * kf, n=2 * L)[..., :L]
        y = y + u * self.D.unsqueeze(-1)
        return F.glu(self.o(F.gelu(y)), dim=-2)


class RetNet(nn.Module):
    """Retention: attention with decays."""

    def __init__(self, d=8, h=2):
        super().__init__()
        self.h = h
        self.q = nn.Linear(d, d)
        self.k = nn.Linear(d, d)
        self.v = nn.Linear(d, d)
        self.gn = nn.GroupNorm(h, d)
        self.g = nn.Linear(d, d)
        a = 1.0 / 10000 ** torch.linspace(0, 1, d // h // 2)
        self.register_buffer("angle", a.unsqueeze(-1).repeat(1, 2).flatten())
        self.register_buffer("decay", torch.log(1 - 2 ** (-5 - torch.arange(h, dtype=torch.float))))

    def rot(self, x):
        x1 = x[:, :, :, ::2]
        x2 = x[:, :, :, 1::2]
        return torch.stack((-x2, x1), dim=-1).flatten(-2)

    def forward(self, x):
        B, L, D = x.size()
        idx = torch.arange(L).to(self.decay)
        sin = torch.sin(idx[:, None] * self.angle[None])
        cos = torch.cos(idx[:, None] * self.angle[None])
        m = torch.tril(torch.ones(L, L))
        m = torch.masked_fill(idx[:, None] - idx[None], ~m.bool(), float("inf"))
        m = torch.exp(m * self.decay[:, None, None])
        m = torch.nan_to_num(m)
        m = m / m.sum(dim=-1, keepdim=True).sqrt()

        def sp(t):
            return t.view(B, L, self.h, -1).transpose(1, 2)

        q, k, v = (sp(self.q(x)), sp(self.k(x) * (D // self.h) ** (-0.5)), sp(self.v(x)))
        q = q * cos + self.rot(q) * sin
        k = k * cos + self.rot(k) * sin
        a = q @ k.transpose(-1, -2) * m
        a = a / a.detach().abs().sum(dim=-1, keepdim=True).clamp(min=1, max=50000.0)
        o = (a @ v).transpose(1, 2).reshape(B * L, D)
        return F.silu(self.g(x)) * self.gn(o).view(B, L, D)


class KAN(nn.Module):
    """B-splines on edges."""

    def __init__(self, i=4, o=6, gs=5, k=3):
        super().__init__()
        h = 2 / gs
        g = (torch.arange(-k, gs + k + 1) * h - 1).expand(i, -1).contiguous()
        self.register_buffer("grid", g)
        self.bw = nn.Parameter(torch.randn(o, i))
        self.sw = nn.Parameter(torch.randn(o, i, gs + k) * 0.1)
        self.ss = nn.Parameter(torch.randn(o, i))
        self.k = k
        self.i = i
        self.o = o
        self.act = nn.SiLU()

    def b_splines(self, x):
        assert x.dim() == 2 and x.size(1) == self.i
        grid = self.grid
        x = x.unsqueeze(-1)
        b = ((x >= grid[:, :-1]) & (x < grid[:, 1:])).to(x.dtype)
        for k in range(1, self.k + 1):
            b = (x - grid[:, : -(k + 1)]) / (grid[:, k:-1] - grid[:, : -(k + 1)]) * b[:, :, :-1] + (
                grid[:, k + 1 :] - x
            ) / (grid[:, k + 1 :] - grid[:, 1:-k]) * b[:, :, 1:]
        assert b.size() == (x.size(0), self.i, self.sw.size(2))
        return b.contiguous()

    def forward(self, x):
        shp = x.shape
        x = x.reshape(-1, self.i)
        o = F.linear(self.act(x), self.bw) + F.linear(
            self.b_splines(x).view(x.size(0), -1), (self.sw * self.ss.unsqueeze(-1)).view(self.o, -1)
        )
        return o.reshape(*shp[:-1], self.o)


class FNO(nn.Module):
    """A Fourier neural operator, with a grid that numpy makes."""

    def __init__(self, w=6, m=3):
        super().__init__()
        self.m = m
        self.w1 = nn.Parameter(torch.rand(w, w, m, m, dtype=torch.cfloat) * 0.1)
        self.w2 = nn.Parameter(torch.rand(w, w, m, m, dtype=torch.cfloat) * 0.1)
        self.p = nn.Linear(3, w)
        self.c = nn.Conv2d(w, w, 1)
        self.q = nn.Linear(w, 1)

    def grid(self, shape):
        b, sx, sy = (shape[0], shape[1], shape[2])
        gx = torch.tensor(np.linspace(0, 1, sx), dtype=torch.float).reshape(1, sx, 1, 1).repeat([b, 1, sy, 1])
        gy = torch.tensor(np.linspace(0, 1, sy), dtype=torch.float).reshape(1, 1, sy, 1).repeat([b, sx, 1, 1])
        return torch.cat((gx, gy), dim=-1)

    def forward(self, x):
        x = torch.cat((x, self.grid(x.shape)), -1)
        x = self.p(x).permute(0, 3, 1, 2)
        x = F.pad(x, [0, 2, 0, 2])
        B = x.shape[0]
        f = torch.fft.rfft2(x)
        o = torch.zeros(B, 6, x.size(-2), x.size(-1) // 2 + 1, dtype=torch.cfloat)
        o[:, :, : self.m, : self.m] = torch.einsum("bixy,ioxy->boxy", f[:, :, : self.m, : self.m], self.w1)
        o[:, :, -self.m :, : self.m] = torch.einsum("bixy,ioxy->boxy", f[:, :, -self.m :, : self.m], self.w2)
        x = torch.fft.irfft2(o, s=(x.size(-2), x.size(-1))) + self.c(x)
        x = F.gelu(x)[..., :-2, :-2]
        return self.q(x.permute(0, 2, 3, 1))


class FastSpeech2(nn.Module):
    """Durations, pitch in buckets; frames as Python repeats them."""

    def __init__(self, v=20, d=8):
        super().__init__()
        self.e = nn.Embedding(v, d, padding_idx=0)
        self.dp = nn.Sequential(nn.Conv1d(d, d, 3, padding=1), nn.ReLU())
        self.l = nn.Linear(d, 1)
        self.pb = nn.Parameter(torch.linspace(-2, 2, 15), requires_grad=False)
        self.pe = nn.Embedding(16, d)
        self.pp = nn.Linear(d, 1)
        self.o = nn.Linear(d, 6)

    def expand(self, b, pd):
        out = []
        for i, v in enumerate(b):
            es = pd[i].item()
            out.append(v.expand(max(int(es), 0), -1))
        return torch.cat(out, 0)

    def LR(self, x, dur):
        out = []
        ml = []
        for b, e in zip(x, dur):
            ex = self.expand(b, e)
            out.append(ex)
            ml.append(ex.shape[0])
        m = max(ml)
        return (torch.stack([F.pad(o, (0, 0, 0, m - o.size(0))) for o in out]), torch.tensor(ml))

    def forward(self, x):
        h = self.e(x)
        mask = x.eq(0)
        y = self.dp(h.transpose(1, 2)).transpose(1, 2)
        ld = self.l(y).squeeze(-1)
        ld = ld.masked_fill(mask, 0.0)
        d = torch.clamp(torch.round(torch.exp(ld) - 1) * 1.0 + 2, min=0)
        p = self.pp(h).squeeze(-1)
        h = h + self.pe(torch.bucketize(p, self.pb))
        o, ml = self.LR(h, d.long())
        return (self.o(o), ml)


class SummedDurations(FastSpeech2):
    """length regulator by cumsum and comparison (as in espnet-onnx, ForwardTacotron)"""

    def LR(self, x, dur):
        cum = torch.cumsum(dur, 1)
        m = cum[:, -1].max()
        r = torch.arange(m)[None, None]
        st = F.pad(cum, (1, -1))
        a = ((r >= st[..., None]) & (r < cum[..., None])).float()
        return (torch.bmm(a.transpose(1, 2), x), cum[:, -1])


class RNNT(nn.Module):
    """Each frame with each token."""

    def __init__(self):
        super().__init__()
        self.e = nn.GRU(6, 8, batch_first=True)
        self.em = nn.Embedding(20, 8)
        self.p = nn.GRU(8, 8, batch_first=True)
        self.j = nn.Linear(16, 20)

    def forward(self, x, y):
        f, _ = self.e(x)
        z = torch.zeros((y.shape[0], 1)).long()
        g, _ = self.p(self.em(torch.cat((z, y), 1)))
        T = f.size(1)
        U = g.size(1)
        f = f.unsqueeze(2).expand([-1, -1, U, -1])
        g = g.unsqueeze(1).expand([-1, T, -1, -1])
        return self.j(torch.tanh(torch.cat((f, g), -1))).log_softmax(-1)


class DLRM(nn.Module):
    """Bags of categories, and the products of all pairs."""

    def __init__(self):
        super().__init__()
        self.bot = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 6))
        self.emb = nn.ModuleList(nn.EmbeddingBag(10 + i, 6, mode="sum") for i in range(3))
        self.top = nn.Sequential(nn.Linear(6 + 6, 8), nn.ReLU(), nn.Linear(8, 1))

    def forward(self, dense, off, ind):
        x = self.bot(dense)
        ly = [e(ind[k], off[k]) for k, e in enumerate(self.emb)]
        bs, d = x.shape
        T = torch.cat([x] + ly, dim=1).view((bs, -1, d))
        Z = torch.bmm(T, torch.transpose(T, 1, 2))
        _, ni, nj = Z.shape
        li = torch.tensor([i for i in range(ni) for j in range(i)])
        lj = torch.tensor([j for i in range(nj) for j in range(i)])
        R = torch.cat([x, Z[:, li, lj]], dim=1)
        return torch.clamp(torch.sigmoid(self.top(R)), 1e-05, 1 - 1e-05)


class DIN(nn.Module):
    """Attention on what was clicked."""

    def __init__(self):
        super().__init__()
        self.e = nn.Embedding(20, 6, padding_idx=0)
        self.a = nn.Sequential(nn.Linear(24, 8), nn.Sigmoid(), nn.Linear(8, 1))
        self.d = nn.Linear(12, 2)
        self.al = nn.Parameter(torch.zeros(12))
        self.bn = nn.BatchNorm1d(12, affine=False)

    def forward(self, hist, item, length):
        k = self.e(hist)
        q = self.e(item).unsqueeze(1)
        ql = q.expand(-1, k.shape[1], -1)
        a = self.a(torch.cat([ql, k, ql - k, ql * k], -1))
        m = torch.arange(k.shape[1])[None, :] < length[:, None]
        a = torch.where(m.unsqueeze(-1), a, torch.ones_like(a) * (-(2**32) + 1))
        w = F.softmax(a / 6**0.5, 1)
        v = torch.matmul(w.transpose(1, 2), k).squeeze(1)
        x = torch.cat([v, q.squeeze(1)], -1)
        p = torch.sigmoid(self.bn(x))
        x = self.al * (1 - p) * x + p * x
        return self.d(x)


class SASRec(nn.Module):
    """Attention on a history, its positions made by numpy."""

    def __init__(self):
        super().__init__()
        self.e = nn.Embedding(30, 8, padding_idx=0)
        self.p = nn.Embedding(40, 8)
        self.n = nn.LayerNorm(8, eps=1e-08)
        self.a = nn.MultiheadAttention(8, 2)
        self.c1 = nn.Conv1d(8, 8, 1)
        self.c2 = nn.Conv1d(8, 8, 1)

    def forward(self, log, items):
        q = self.e(log)
        q *= self.e.embedding_dim**0.5
        pos = np.tile(np.array(range(log.shape[1])), [log.shape[0], 1])
        q += self.p(torch.LongTensor(pos))
        tm = log == 0
        q *= ~tm.unsqueeze(-1)
        tl = q.shape[1]
        am = ~torch.tril(torch.ones((tl, tl), dtype=torch.bool))
        q = torch.transpose(q, 0, 1)
        Q = self.n(q)
        o, _ = self.a(Q, q, q, attn_mask=am)
        q = torch.transpose(Q + o, 0, 1)
        q = q + self.c2(F.relu(self.c1(q.transpose(-1, -2)))).transpose(-1, -2)
        q *= ~tm.unsqueeze(-1)
        f = q[:, -1, :]
        return self.e(items).matmul(f.unsqueeze(-1)).squeeze(-1)


class Actor(nn.Module):
    """Distributions of actions, and what is computed of them."""

    def __init__(self):
        super().__init__()
        self.b = nn.Sequential(nn.Linear(6, 16), nn.Tanh())
        self.mu = nn.Linear(16, 3)
        self.ls = nn.Linear(16, 3)
        self.v = nn.Linear(16, 1)
        self.d = nn.Linear(16, 4)

    def forward(self, obs, act):
        h = self.b(obs)
        mu = self.mu(h)
        ls = torch.tanh(self.ls(h))
        ls = -5 + 0.5 * 7 * (ls + 1)
        std = ls.exp()
        N = torch.distributions.Normal(mu, std)
        a = torch.tanh(mu)
        lp = N.log_prob(act)
        lp -= torch.log(1 * (1 - a.pow(2)) + 1e-06)
        lp = lp.sum(1, keepdim=True)
        C = torch.distributions.Categorical(logits=self.d(h))
        ind = torch.distributions.Independent(N, 1)
        kl = torch.distributions.kl_divergence(
            N, torch.distributions.Normal(torch.zeros_like(mu), torch.ones_like(std))
        )
        B = torch.distributions.Beta(F.softplus(mu) + 1, F.softplus(std) + 1)
        return (
            a,
            lp,
            self.v(h),
            C.probs,
            C.entropy(),
            C.log_prob(torch.zeros(obs.shape[0], dtype=torch.long)),
            ind.log_prob(act),
            kl,
            N.entropy(),
            B.mean,
            B.log_prob(torch.sigmoid(act)),
            C.probs.argmax(-1),
        )


class MDN(nn.Module):
    """Mixtures of normal distributions."""

    def __init__(self):
        super().__init__()
        self.p = nn.Linear(5, 3)
        self.m = nn.Linear(5, 6)
        self.self = nn.Linear(5, 6)

    def forward(self, x, y):
        pi = F.softmax(self.p(x), dim=1)
        sg = torch.exp(self.self(x)).view(-1, 3, 2)
        mu = self.m(x).view(-1, 3, 2)
        D = torch.distributions
        m = D.MixtureSameFamily(D.Categorical(pi), D.Independent(D.Normal(mu, sg), 1))
        d = y.unsqueeze(1).expand_as(sg)
        ret = 1.0 / math.sqrt(2 * math.pi) * torch.exp(-0.5 * ((d - mu) / sg) ** 2) / sg
        return (
            m.log_prob(y),
            m.mean,
            m.variance,
            -torch.log(torch.sum(pi * torch.prod(ret, 2), dim=1)),
            torch.gather(mu, 1, pi.argmax(1).view(-1, 1, 1).expand(-1, 1, 2)),
        )


class MVN(nn.Module):
    """A normal distribution by its triangle."""

    def __init__(self):
        super().__init__()
        self.l = nn.Linear(4, 3 + 6)

    def forward(self, x, y):
        h = self.l(x)
        mu = h[:, :3]
        L = torch.zeros(x.size(0), 3, 3)
        i, j = torch.tril_indices(3, 3)
        L[:, i, j] = h[:, 3:]
        dg = torch.diagonal(L, dim1=1, dim2=2)
        L = L - torch.diag_embed(dg) + torch.diag_embed(F.softplus(dg) + 0.3)
        D = torch.distributions.MultivariateNormal(mu, scale_tril=L)
        return (D.log_prob(y), D.covariance_matrix, D.entropy(), D.mean)


class EGNN(nn.Module):
    """Messages that move points."""

    def __init__(self):
        super().__init__()
        self.e = nn.Sequential(nn.Linear(9, 8), nn.SiLU())
        self.c = nn.Linear(8, 1, bias=False)
        self.h = nn.Linear(12, 4)

    def forward(self, h, x, edges):
        row, col = edges
        d = x[row] - x[col]
        r = torch.sum(d**2, 1).unsqueeze(1)
        n = torch.sqrt(r).detach() + 1e-08
        d = d / n
        m = self.e(torch.cat([h[row], h[col], r], 1))

        def def_(data, seg, num):
            return data.new_full((num, data.size(1)), 0).scatter_add_(
                0, seg.unsqueeze(-1).expand(-1, data.size(1)), data
            )

        cnt = def_(torch.ones_like(d), row, x.size(0))
        x = x + def_(d * self.c(m), row, x.size(0)) / cnt.clamp(min=1)
        return (self.h(torch.cat([h, def_(m, row, h.size(0))], 1)), x)


class SchNet(nn.Module):
    """Filters of distances."""

    def __init__(self):
        super().__init__()
        self.e = nn.Embedding(10, 8)
        off = torch.linspace(0, 5, 6)
        self.register_buffer("off", off)
        self.co = -0.5 / (off[1] - off[0]).item() ** 2
        self.f = nn.Linear(6, 8)
        self.o = nn.Linear(8, 1)

    def forward(self, z, pos):
        d = (pos[:, :, None] - pos[:, None]).norm(dim=-1)
        N = z.size(1)
        nb = torch.arange(N).expand(N, N)[~torch.eye(N, dtype=torch.bool)].view(N, N - 1)
        d = d.gather(2, nb[None].expand(z.size(0), -1, -1))
        g = torch.exp(self.co * torch.pow(d[..., None] - self.off, 2))
        c = 0.5 * (torch.cos(d * math.pi / 5) + 1.0) * (d < 5.0).float()
        h = self.e(z)
        hj = h[torch.arange(z.size(0))[:, None, None], nb]
        h = h + (hj * self.f(g) * c[..., None]).sum(2)
        return self.o(h).sum(1)


def clicks(n: int) -> dict[str, Tensor]:
    index = torch.randint(0, 10, (3, 2 * n), generator=torch.Generator().manual_seed(n))
    return {"dense": normal(n, 5), "off": torch.stack([torch.arange(n) * 2] * 3), "ind": index}


def complete(n: int) -> dict[str, Tensor]:
    """A graph all of whose nodes are neighbours."""
    edges = (1 - torch.eye(n)).nonzero().t()
    return {"h": normal(n, 4), "x": normal(n, 3), "edges": edges}


def fill() -> None:
    rows = normal(2, 10, 8), normal(3, 17, 8)
    traced("Mamba, scan", Mamba, *({"x": x} for x in rows))
    traced("RWKV", RWKV, *({"x": x} for x in rows))
    traced("S4D", S4D, *({"u": x.transpose(1, 2)} for x in rows))
    traced("RetNet", RetNet, *({"x": x} for x in rows))
    traced("KAN", KAN, {"x": normal(2, 10, 4)}, {"x": normal(3, 17, 4)})
    traced("Fourier operator, grid of numpy", FNO, {"x": normal(2, 10, 12, 1)}, {"x": normal(3, 16, 9, 1)})
    traced("FastSpeech 2, durations summed", SummedDurations, {"x": tokens(2, 10, 20)}, {"x": tokens(3, 17, 20)})
    traced(
        "RNN transducer, joint",
        RNNT,
        *({"x": normal(n, t, 6), "y": tokens(n, u, 20)} for n, t, u in ((2, 12, 4), (3, 20, 6))),
    )
    traced("DLRM", DLRM, clicks(3), clicks(5))
    traced(
        "DIN",
        DIN,
        *(
            {"hist": tokens(n, t, 20), "item": tokens(n, 1, 20)[:, 0], "length": torch.arange(n) % t + 1}
            for n, t in ((3, 6), (5, 9))
        ),
    )
    traced(
        "SASRec, positions of numpy",
        SASRec,
        *({"log": tokens(n, t, 30), "items": tokens(n, k, 30)} for n, t, k in ((2, 8, 4), (3, 12, 6))),
    )
    traced("actor and critic", Actor, *({"obs": normal(n, 6), "act": normal(n, 3)} for n in (2, 3)))
    traced("mixture density", MDN, *({"x": normal(n, 5), "y": normal(n, 2)} for n in (2, 3)))
    traced("multivariate normal", MVN, *({"x": normal(n, 4), "y": normal(n, 3)} for n in (2, 3)))
    traced("EGNN", EGNN, complete(4), complete(6))
    traced("SchNet", SchNet, *({"z": tokens(n, t, 10), "pos": normal(n, t, 3)} for n, t in ((2, 5), (3, 7))))


fill()
