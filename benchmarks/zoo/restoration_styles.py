"""Images to images in the style of published models: matting with states, flow, windows, restoration, generation.

They are plain torch, as research code has it, and are traced.
"""

from __future__ import annotations

import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from entry import Family, image, normal, uniform

traced = Family("vision styles").traced


class ConvUnit(nn.Module):
    def __init__(self, a, b, k=3, st=1, act="silu"):
        super().__init__()
        self.conv = nn.Conv2d(a, b, k, st, k // 2, bias=False)
        self.bn = nn.BatchNorm2d(b, eps=0.001, momentum=0.03)
        self.act = {
            "silu": nn.SiLU(inplace=True),
            "lrelu": nn.LeakyReLU(0.1, inplace=True),
            "relu": nn.ReLU(inplace=True),
        }[act]

    def forward(self, x):
        return self.act(self.bn(self.conv(x)))


class ConvGRU(nn.Module):
    """One frame, or several in a row."""

    def __init__(self, c):
        super().__init__()
        self.c = c
        self.ih = nn.Sequential(nn.Conv2d(c * 2, c * 2, 3, padding=1), nn.Sigmoid())
        self.hh = nn.Sequential(nn.Conv2d(c * 2, c, 3, padding=1), nn.Tanh())

    def step(self, x, h):
        r, z = self.ih(torch.cat([x, h], 1)).split(self.c, dim=1)
        c = self.hh(torch.cat([x, r * h], 1))
        h = (1 - z) * h + z * c
        return (h, h)

    def series(self, x, h):
        o = []
        for xt in x.unbind(dim=1):
            ot, h = self.step(xt, h)
            o.append(ot)
        return (torch.stack(o, dim=1), h)

    def forward(self, x, h: Tensor | None):
        if h is None:
            h = torch.zeros((x.size(0), x.size(-3), x.size(-2), x.size(-1)), device=x.device, dtype=x.dtype)
        if x.ndim == 5:
            return self.series(x, h)
        else:
            return self.step(x, h)


class RobustMatting(nn.Module):
    """Robust video matting: states that may not be given."""

    def __init__(self):
        super().__init__()
        self.e1 = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.Hardswish())
        self.e2 = nn.Sequential(nn.Conv2d(8, 8, 3, 2, 1), nn.Hardswish())
        self.aspp = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(8, 8, 1, bias=False), nn.Sigmoid())
        self.g2 = ConvGRU(4)
        self.g1 = ConvGRU(4)
        self.up = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=False)
        self.c1 = nn.Conv2d(19, 8, 3, padding=1)
        self.o = nn.Conv2d(8 + 3, 4, 1)
        self.avg = nn.AvgPool2d(2, 2, count_include_pad=False, ceil_mode=True)

    def forward(self, src, r1: Tensor | None = None, r2: Tensor | None = None, downsample_ratio: float = 1.0):
        if downsample_ratio != 1:
            sm = F.interpolate(
                src, scale_factor=downsample_ratio, mode="bilinear", align_corners=False, recompute_scale_factor=False
            )
        else:
            sm = src
        f1 = self.e1(sm)
        f2 = self.e2(f1)
        f2 = f2 * self.aspp(f2)
        a, b = f2.split(4, dim=1)
        b, r2 = self.g2(b, r2)
        x = torch.cat([a, b], 1)
        x = self.up(x)
        x = x[:, :, : f1.size(2), : f1.size(3)]
        x = torch.cat([x, f1, self.avg(sm)], 1)
        x = self.c1(x)
        a, b = x.split(4, dim=1)
        b, r1 = self.g1(b, r1)
        x = torch.cat([a, b], 1)
        x = self.up(x)[:, :, : sm.size(2), : sm.size(3)]
        x = self.o(torch.cat([x, sm], 1))
        x = F.interpolate(x, src.shape[2:], mode="bilinear", align_corners=False)
        fgr, pha = x.split([3, 1], dim=1)
        fgr = fgr + src
        return (fgr.clamp(0.0, 1.0), pha.clamp(0.0, 1.0), r1, r2)


class PyramidWarping(nn.Module):
    """PyramidWarping-Net: features warped by a flow, with grids kept by the text of their sizes."""

    def __init__(self):
        super().__init__()
        self.f = nn.ModuleList([ConvUnit(3, 8, 3, 2, "lrelu"), ConvUnit(8, 8, 3, 2, "lrelu")])
        self.p = nn.ModuleList([nn.Conv2d(9 + 8 + 2, 2, 3, padding=1), nn.Conv2d(9 + 8, 2, 3, padding=1)])
        self.de = nn.ConvTranspose2d(2, 2, 4, 2, 1)
        self.grid = {}

    def warp(self, x, flo):
        B, C, H, W = x.size()
        k = str(flo.size())
        if k not in self.grid:
            xx = torch.arange(0, W).view(1, -1).repeat(H, 1)
            yy = torch.arange(0, H).view(-1, 1).repeat(1, W)
            xx = xx.view(1, 1, H, W).repeat(B, 1, 1, 1)
            yy = yy.view(1, 1, H, W).repeat(B, 1, 1, 1)
            self.grid[k] = torch.cat((xx, yy), 1).float()
        vg = self.grid[k] + flo
        vg = vg.clone()
        vg[:, 0, :, :] = 2.0 * vg[:, 0, :, :].clone() / max(W - 1, 1) - 1.0
        vg[:, 1, :, :] = 2.0 * vg[:, 1, :, :].clone() / max(H - 1, 1) - 1.0
        vg = vg.permute(0, 2, 3, 1)
        o = F.grid_sample(x, vg, align_corners=True)
        m = torch.ones(x.size())
        m = F.grid_sample(m, vg, align_corners=True)
        m[m < 0.9999] = 0
        m[m > 0] = 1
        return o * m

    def corr(self, a, b, r=1):
        B, C, H, W = a.shape
        b = F.pad(b, [r] * 4)
        out = []
        for i in range(2 * r + 1):
            for j in range(2 * r + 1):
                out.append(torch.mean(a * b[:, :, i : i + H, j : j + W], 1, keepdim=True))
        return F.leaky_relu(torch.cat(out, 1), 0.1)

    def forward(self, a, b):
        A = []
        Bs = []
        for f in self.f:
            a = f(a)
            b = f(b)
            A.append(a)
            Bs.append(b)
        fl = self.p[1](torch.cat([self.corr(A[1], Bs[1]), A[1]], 1))
        up = self.de(fl)
        w = self.warp(Bs[0], up * 1.25)
        return (up + self.p[0](torch.cat([self.corr(A[0], w), A[0], up], 1)), fl)


class ShiftedWindows(nn.Module):
    """A Swin block as detectors have it: windows of padded features, the mask made in each run."""

    def __init__(self, d=8, ws=4, sh=2):
        super().__init__()
        self.ws, self.sh = (ws, sh)
        self.e = nn.Conv2d(3, d, 2, 2)
        self.qkv = nn.Linear(d, 3 * d)
        self.n = nn.LayerNorm(d)

    def part(self, x):
        B, H, W, C = x.shape
        return (
            x.view(B, H // self.ws, self.ws, W // self.ws, self.ws, C)
            .permute(0, 1, 3, 2, 4, 5)
            .contiguous()
            .view(-1, self.ws, self.ws, C)
        )

    def rev(self, w, H, W):
        B = int(w.shape[0] / (H * W / self.ws / self.ws))
        return (
            w.view(B, H // self.ws, W // self.ws, self.ws, self.ws, -1)
            .permute(0, 1, 3, 2, 4, 5)
            .contiguous()
            .view(B, H, W, -1)
        )

    def mask(self, H, W):
        Hp = int(np.ceil(H / self.ws)) * self.ws
        Wp = int(np.ceil(W / self.ws)) * self.ws
        m = torch.zeros((1, Hp, Wp, 1))
        hs = (slice(0, -self.ws), slice(-self.ws, -self.sh), slice(-self.sh, None))
        cnt = 0
        for h in hs:
            for w in hs:
                m[:, h, w, :] = cnt
                cnt += 1
        mw = self.part(m).view(-1, self.ws * self.ws)
        a = mw.unsqueeze(1) - mw.unsqueeze(2)
        return a.masked_fill(a != 0, (-100.0)).masked_fill(a == 0, 0.0)

    def forward(self, x):
        x = self.e(x).permute(0, 2, 3, 1)
        B, H, W, C = x.shape
        sc = x
        x = self.n(x)
        pr = (self.ws - W % self.ws) % self.ws
        pb = (self.ws - H % self.ws) % self.ws
        x = F.pad(x, (0, 0, 0, pr, 0, pb))
        _, Hp, Wp, _ = x.shape
        m = self.mask(H, W)
        x = torch.roll(x, shifts=(-self.sh, -self.sh), dims=(1, 2))
        w = self.part(x).view(-1, self.ws * self.ws, C)
        B_, N, _ = w.shape
        q, k, v = self.qkv(w).reshape(B_, N, 3, 2, C // 2).permute(2, 0, 3, 1, 4)
        a = q @ k.transpose(-2, -1)
        nW = m.shape[0]
        a = a.view(B_ // nW, nW, 2, N, N) + m.unsqueeze(1).unsqueeze(0)
        a = a.view(-1, 2, N, N).softmax(-1)
        w = (a @ v).transpose(1, 2).reshape(B_, N, C).view(-1, self.ws, self.ws, C)
        x = self.rev(w, Hp, Wp)
        x = torch.roll(x, shifts=(self.sh, self.sh), dims=(1, 2))
        if pr > 0 or pb > 0:
            x = x[:, :H, :W, :].contiguous()
        return (sc + x).permute(0, 3, 1, 2)


class LNBias(nn.Module):
    """Layer norm over channels."""

    def __init__(self, d):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d))
        self.bias = nn.Parameter(torch.zeros(d))

    def forward(self, x):
        h, w = x.shape[-2:]
        x = x.flatten(2).transpose(1, 2)
        mu = x.mean(-1, keepdim=True)
        sg = x.var(-1, keepdim=True, unbiased=False)
        x = (x - mu) / torch.sqrt(sg + 1e-05) * self.weight + self.bias
        return x.transpose(1, 2).view(x.shape[0], -1, h, w)


class MDTA(nn.Module):
    """Attention between channels."""

    def __init__(self, d, h):
        super().__init__()
        self.h = h
        self.t = nn.Parameter(torch.ones(h, 1, 1))
        self.qkv = nn.Conv2d(d, d * 3, 1, bias=False)
        self.dw = nn.Conv2d(d * 3, d * 3, 3, padding=1, groups=d * 3, bias=False)
        self.p = nn.Conv2d(d, d, 1, bias=False)

    def forward(self, x):
        b, c, h, w = x.shape
        q, k, v = self.dw(self.qkv(x)).chunk(3, dim=1)

        def rr(t):
            return t.reshape(b, self.h, c // self.h, h * w)

        q, k, v = (rr(q), rr(k), rr(v))
        q = F.normalize(q, dim=-1)
        k = F.normalize(k, dim=-1)
        a = q @ k.transpose(-2, -1) * self.t
        return self.p((a.softmax(dim=-1) @ v).reshape(b, c, h, w))


class Restormer(nn.Module):
    """A block of Restormer between two resolutions."""

    def __init__(self, d=8):
        super().__init__()
        self.e = nn.Conv2d(3, d, 3, padding=1, bias=False)
        self.n1 = LNBias(d)
        self.a = MDTA(d, 2)
        self.n2 = LNBias(d)
        self.pi = nn.Conv2d(d, d * 4, 1)
        self.dw = nn.Conv2d(d * 4, d * 4, 3, padding=1, groups=d * 4)
        self.po = nn.Conv2d(d * 2, d, 1)
        self.down = nn.Sequential(nn.Conv2d(d, d // 2, 3, padding=1), nn.PixelUnshuffle(2))
        self.up = nn.Sequential(nn.Conv2d(d * 2, d * 4, 3, padding=1), nn.PixelShuffle(2))
        self.o = nn.Conv2d(d, 3, 3, padding=1)

    def forward(self, x):
        y = self.e(x)
        y = y + self.a(self.n1(y))
        z = self.dw(self.pi(self.n2(y)))
        a, b = z.chunk(2, dim=1)
        y = y + self.po(F.gelu(a) * b)
        y = y + self.up(self.down(y))
        return self.o(y) + x


class NAFNet(nn.Module):
    """Gates that are products, on images padded to whole blocks."""

    def __init__(self, c=8):
        super().__init__()
        self.pad = 4
        self.i = nn.Conv2d(3, c, 3, padding=1)
        self.c1 = nn.Conv2d(c, 2 * c, 1)
        self.c2 = nn.Conv2d(2 * c, 2 * c, 3, padding=1, groups=2 * c)
        self.sca = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(c, c, 1))
        self.c3 = nn.Conv2d(c, c, 1)
        self.n = LNBias(c)
        self.beta = nn.Parameter(torch.zeros((1, c, 1, 1)))
        self.d = nn.Conv2d(c, 2 * c, 2, 2)
        self.u = nn.Sequential(nn.Conv2d(2 * c, 4 * c, 1, bias=False), nn.PixelShuffle(2))
        self.o = nn.Conv2d(c, 3, 3, padding=1)

    def forward(self, inp):
        B, C, H, W = inp.shape
        mh = (self.pad - H % self.pad) % self.pad
        mw = (self.pad - W % self.pad) % self.pad
        inp = F.pad(inp, (0, mw, 0, mh))
        x = self.i(inp)
        y = self.c2(self.c1(self.n(x)))
        a, b = y.chunk(2, 1)
        y = a * b
        y = y * self.sca(y)
        x = x + self.c3(y) * self.beta
        x = x + self.u(self.d(x))
        x = self.o(x) + inp
        return x[:, :, :H, :W]


class LocalPooling(nn.Module):
    """Local pooling by sums over rectangles."""

    def __init__(self):
        super().__init__()
        self.base = (24, 24)
        self.k = None
        self.c = nn.Conv2d(3, 8, 3, padding=1)

    def forward(self, x):
        x = self.c(x)
        k1 = [12, 12]
        if k1[0] >= x.size(-2) and k1[1] >= x.size(-1):
            return F.adaptive_avg_pool2d(x, 1)
        n, c, h, w = x.shape
        S = x.cumsum(dim=-1).cumsum_(dim=-2)
        S = F.pad(S, (1, 0, 1, 0))
        a, b = (min(h, k1[0]), min(w, k1[1]))
        s1, s2, s3, s4 = (S[:, :, :-a, :-b], S[:, :, :-a, b:], S[:, :, a:, :-b], S[:, :, a:, b:])
        o = (s4 + s1 - s2 - s3) / (a * b)
        _h, _w = o.shape[2:]
        p = ((w - _w) // 2, (w - _w + 1) // 2, (h - _h) // 2, (h - _h + 1) // 2)
        return F.pad(o, p, mode="replicate")


class DCNv1(nn.Module):
    """A deformable convolution that takes its pixels by their indices."""

    def __init__(self, ks=3):
        super().__init__()
        self.ks = ks
        self.p = nn.Conv2d(4, 2 * ks * ks, 3, padding=1)
        self.i = nn.Conv2d(3, 4, 1)
        self.c = nn.Conv2d(4, 5, ks, stride=ks)
        self.zp = nn.ZeroPad2d(1)

    def forward(self, x):
        x = self.i(x)
        off = self.p(x)
        dt = off.data.type()
        N = off.size(1) // 2
        x = self.zp(x)
        h, w = (off.size(2), off.size(3))
        px, py = torch.meshgrid(torch.arange(-1, 2), torch.arange(-1, 2), indexing="ij")
        pn = torch.cat([torch.flatten(px), torch.flatten(py)], 0).view(1, 2 * N, 1, 1).type(dt)
        p0x, p0y = torch.meshgrid(torch.arange(1, h + 1), torch.arange(1, w + 1), indexing="ij")
        p0x = torch.flatten(p0x).view(1, 1, h, w).repeat(1, N, 1, 1)
        p0y = torch.flatten(p0y).view(1, 1, h, w).repeat(1, N, 1, 1)
        p = torch.cat([p0x, p0y], 1).type(dt) + pn + off
        p = p.contiguous().permute(0, 2, 3, 1)
        lt = p.detach().floor()
        rb = lt + 1

        def cl(q):
            return torch.cat(
                [torch.clamp(q[..., :N], 0, x.size(2) - 1), torch.clamp(q[..., N:], 0, x.size(3) - 1)], dim=-1
            ).long()

        lt = cl(lt)
        rb = cl(rb)
        lb = torch.cat([lt[..., :N], rb[..., N:]], -1)
        rt = torch.cat([rb[..., :N], lt[..., N:]], -1)
        p = torch.cat([torch.clamp(p[..., :N], 0, x.size(2) - 1), torch.clamp(p[..., N:], 0, x.size(3) - 1)], -1)
        glt = (1 + (lt[..., :N].type_as(p) - p[..., :N])) * (1 + (lt[..., N:].type_as(p) - p[..., N:]))
        grb = (1 - (rb[..., :N].type_as(p) - p[..., :N])) * (1 - (rb[..., N:].type_as(p) - p[..., N:]))
        glb = (1 + (lb[..., :N].type_as(p) - p[..., :N])) * (1 - (lb[..., N:].type_as(p) - p[..., N:]))
        grt = (1 - (rt[..., :N].type_as(p) - p[..., :N])) * (1 + (rt[..., N:].type_as(p) - p[..., N:]))

        def xq(q):
            b, h, w, _ = q.size()
            pw = x.size(3)
            c = x.size(1)
            xf = x.contiguous().view(b, c, -1)
            ix = q[..., :N] * pw + q[..., N:]
            ix = ix.contiguous().unsqueeze(dim=1).expand(-1, c, -1, -1, -1).contiguous().view(b, c, -1)
            return xf.gather(dim=-1, index=ix).contiguous().view(b, c, h, w, N)

        xo = (
            glt.unsqueeze(1) * xq(lt)
            + grb.unsqueeze(1) * xq(rb)
            + glb.unsqueeze(1) * xq(lb)
            + grt.unsqueeze(1) * xq(rt)
        )
        b, c, h, w, N = xo.size()
        xo = (
            torch.cat(
                [xo[..., k : k + self.ks].contiguous().view(b, c, h, w * self.ks) for k in range(0, N, self.ks)], -1
            )
            .contiguous()
            .view(b, c, h * self.ks, w * self.ks)
        )
        return self.c(xo)


class Homography(nn.Module):
    """A homography from four points, by which an image is warped."""

    def __init__(self):
        super().__init__()
        self.n = nn.Sequential(nn.Conv2d(6, 8, 5, 4), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 8))

    def dlt(self, src, dst):
        bs = src.shape[0]
        ones = torch.ones(bs, 4, 1)
        xy1 = torch.cat((src, ones), 2)
        z = torch.zeros_like(xy1)
        xyd = torch.cat((-dst[:, :, :1] * xy1, -dst[:, :, 1:] * xy1), 2).reshape(bs, -1, 3)
        M1 = torch.cat((xy1, z), 2).reshape(bs, -1, 3)
        M2 = torch.cat((z, xy1), 2).reshape(bs, -1, 3)
        M1, M2 = (torch.cat((xy1, z), -1), torch.cat((z, xy1), -1))
        M = torch.cat((M1, M2), dim=-1).view(bs, -1, 6)
        M = torch.cat((M, xyd), -1)
        A = M[:, :, :8]
        b = -M[:, :, 8:]
        Ai = torch.inverse(A)
        h8 = torch.matmul(Ai, b).reshape(bs, 8)
        return torch.cat((h8, ones[:, 0, :]), 1).reshape(bs, 3, 3)

    def forward(self, a, b):
        B, C, H, W = a.shape
        d = torch.tanh(self.n(torch.cat((a, b), 1))).view(-1, 4, 2) * 3
        src = torch.tensor([[0.0, 0.0], [W - 1, 0.0], [0.0, H - 1], [W - 1, H - 1]]).unsqueeze(0).expand(B, -1, -1)
        Hm = self.dlt(src, src + d)
        ys, xs = torch.meshgrid(torch.linspace(0, H - 1, H), torch.linspace(0, W - 1, W), indexing="ij")
        g = torch.stack((xs, ys, torch.ones_like(xs)), -1).reshape(1, -1, 3)
        p = torch.matmul(g, Hm.transpose(1, 2))
        p = p[..., :2] / (p[..., 2:] + 1e-08 * (p[..., 2:] >= 0).float() * 2 - 1e-08)
        p = torch.stack((p[..., 0] / ((W - 1) / 2) - 1, p[..., 1] / ((H - 1) / 2) - 1), -1).view(B, H, W, 2)
        return (F.grid_sample(b, p, align_corners=True), Hm)


class Quantizer(nn.Module):
    """The nearest code of each place."""

    def __init__(self, n=20, d=6):
        super().__init__()
        self.n = n
        self.d = d
        self.embedding = nn.Embedding(n, d)
        self.e = nn.Sequential(nn.Conv2d(3, d, 4, 4))
        self.de = nn.ConvTranspose2d(d, 3, 4, 4)
        self.register_buffer("used", torch.arange(n))
        self.beta = 0.25

    def forward(self, x):
        z = self.e(x).permute(0, 2, 3, 1).contiguous()
        zf = z.view(-1, self.d)
        d = (
            torch.sum(zf**2, dim=1, keepdim=True)
            + torch.sum(self.embedding.weight**2, dim=1)
            - 2 * torch.einsum("bd,dn->bn", zf, self.embedding.weight.t())
        )
        i = torch.argmin(d, dim=1).unsqueeze(1)
        me = torch.zeros(i.shape[0], self.n)
        me.scatter_(1, i, 1)
        zq = torch.matmul(me, self.embedding.weight).view(z.shape)
        loss = self.beta * torch.mean((zq.detach() - z) ** 2) + torch.mean((zq - z.detach()) ** 2)
        zq = z + (zq - z).detach()
        em = torch.mean(me, dim=0)
        perp = torch.exp(-torch.sum(em * torch.log(em + 1e-10)))
        return (self.de(zq.permute(0, 3, 1, 2).contiguous()), loss, perp, i.view(z.shape[0], -1))


class Glow(nn.Module):
    """A step of a flow, and its inverse."""

    def __init__(self, c=12):
        super().__init__()
        self.an = ActNorm(c)
        w = torch.linalg.qr(torch.randn(c, c))[0]
        self.w = nn.Parameter(w[:, :, None, None].clone())
        self.net = nn.Sequential(
            nn.Conv2d(c // 2, 8, 3, padding=1), nn.ReLU(inplace=True), nn.Conv2d(8, c, 3, padding=1)
        )
        self.sc = nn.Parameter(torch.zeros(1, c, 1, 1))

    def forward(self, x):
        b, c, h, w = x.shape
        x = x.view(b, c, h // 2, 2, w // 2, 2).permute(0, 1, 3, 5, 2, 4).contiguous().view(b, c * 4, h // 2, w // 2)
        y, ld = self.an(x)
        y = F.conv2d(y, self.w)
        ld = ld + h // 2 * (w // 2) * torch.slogdet(self.w.squeeze().double())[1].float()
        a, bb = y.chunk(2, 1)
        ls, t = (self.net(a) * torch.exp(self.sc * 3)).chunk(2, 1)
        sg = torch.sigmoid(ls + 2)
        bb = (bb + t) * sg
        ld = ld + torch.sum(torch.log(sg).view(b, -1), 1)
        z = torch.cat([a, bb], 1)
        lp = (-0.5 * math.log(2 * math.pi) - z**2 / 2).view(b, -1).sum(1)
        inv = F.conv2d(z, self.w.squeeze().inverse().unsqueeze(2).unsqueeze(3))
        return (z, ld, lp, inv)


class ActNorm(nn.Module):
    """Scales that the first batch would have set."""

    def __init__(self, c):
        super().__init__()
        self.loc = nn.Parameter(torch.zeros(1, c, 1, 1))
        self.scale = nn.Parameter(torch.ones(1, c, 1, 1))
        self.register_buffer("initialized", torch.tensor(1, dtype=torch.uint8))

    def forward(self, x):
        _, _, h, w = x.shape
        if self.initialized.item() == 0:
            self.loc.data.copy_(-x.mean())
            self.initialized.fill_(1)
        return (self.scale * (x + self.loc), h * w * torch.sum(torch.log(torch.abs(self.scale))))


def frame(n: int, h: int, w: int) -> dict[str, Tensor]:
    """A frame, and the states that the frame before has left."""
    half = (h + 1) // 2, (w + 1) // 2
    quarter = (half[0] + 1) // 2, (half[1] + 1) // 2
    return {"src": uniform(n, 3, h, w), "r1": normal(n, 4, *half), "r2": normal(n, 4, *quarter)}


def fill() -> None:
    odd = {"x": image(2, 65, 91)}, {"x": image(3, 96, 64)}
    images = {"x": image(2, 64, 96)}, {"x": image(3, 96, 64)}
    traced(
        "video matting, first frame",
        RobustMatting,
        *({"src": uniform(n, 3, h, w)} for n, h, w in ((2, 65, 91), (3, 96, 64))),
    )
    traced("video matting, states", RobustMatting, *(frame(n, h, w) for n, h, w in ((2, 64, 96), (3, 96, 64))))
    traced(
        "PWC-Net, grids kept",
        PyramidWarping,
        *({"a": image(n, h, w), "b": normal(n, 3, h, w, seed=1)} for n, h, w in ((2, 64, 96), (3, 96, 64))),
    )
    traced("shifted windows", ShiftedWindows, {"x": image(2, 32, 48)}, {"x": image(3, 30, 44)})
    traced("shifted windows, padded", ShiftedWindows, {"x": image(2, 30, 44)}, {"x": image(3, 50, 34)})
    traced("Restormer", Restormer, *images)
    traced("NAFNet", NAFNet, *({"inp": i["x"]} for i in odd))
    traced("NAFNet, local pooling", LocalPooling, {"x": image(2, 24, 30)}, {"x": image(3, 40, 18)})
    traced("deformable convolution by indices", DCNv1, {"x": image(2, 24, 30)}, {"x": image(3, 40, 18)})
    traced(
        "homography",
        Homography,
        *({"a": uniform(n, 3, h, w), "b": uniform(n, 3, h, w, seed=3)} for n, h, w in ((2, 24, 30), (3, 40, 33))),
        rtol=1e-2,
    )
    traced("VQGAN, quantizer", Quantizer, *images)
    traced("Glow", Glow, {"x": image(2, 16, 12)}, {"x": image(3, 8, 20)})


fill()
