"""Detectors in the style of published ones: grids kept from run to run, boxes decoded in place, points in pillars, prompts.

They are plain torch, as research code has it, and are traced.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torchvision import ops

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


class YOLOX(nn.Module):
    """Slices of the image beside each other; grids made of the sizes of the features."""

    def __init__(self, nc=5, decode=True):
        super().__init__()
        self.nc = nc
        self.strides = [8, 16, 32]
        self.decode_in_inference = decode
        self.stem = nn.Sequential(ConvUnit(12, 8))
        self.d = nn.ModuleList(
            [ConvUnit(8, 8, 3, 2), ConvUnit(8, 12, 3, 2), ConvUnit(12, 16, 3, 2), ConvUnit(16, 16, 3, 2)]
        )
        self.lat = ConvUnit(16, 12, 1)
        self.up = nn.Upsample(scale_factor=2, mode="nearest")
        self.stems = nn.ModuleList([ConvUnit(c, 8, 1) for c in (12, 16, 16)])
        self.cls = nn.ModuleList([nn.Conv2d(8, nc, 1) for _ in range(3)])
        self.reg = nn.ModuleList([nn.Conv2d(8, 4, 1) for _ in range(3)])
        self.obj = nn.ModuleList([nn.Conv2d(8, 1, 1) for _ in range(3)])

    def forward(self, x):
        tl = x[..., ::2, ::2]
        tr = x[..., ::2, 1::2]
        bl = x[..., 1::2, ::2]
        br = x[..., 1::2, 1::2]
        x = self.stem(torch.cat((tl, bl, tr, br), 1))
        x = self.d[0](x)
        f = []
        for d in self.d[1:]:
            x = d(x)
            f.append(x)
        f[0] = f[0] + self.up(self.lat(f[1]))
        outputs = []
        for k, (stem, _st, xin) in enumerate(zip(self.stems, self.strides, f)):
            xin = stem(xin)
            o = torch.cat([self.reg[k](xin), self.obj[k](xin).sigmoid(), self.cls[k](xin).sigmoid()], 1)
            outputs.append(o)
        if self.training:
            return outputs
        self.hw = [o.shape[-2:] for o in outputs]
        outputs = torch.cat([o.flatten(start_dim=2) for o in outputs], dim=2).permute(0, 2, 1)
        if self.decode_in_inference:
            return self.decode(outputs, dtype=x.type())
        return outputs

    def decode(self, outputs, dtype):
        grids = []
        strides = []
        for (h, w), st in zip(self.hw, self.strides):
            yv, xv = torch.meshgrid([torch.arange(h), torch.arange(w)], indexing="ij")
            grid = torch.stack((xv, yv), 2).view(1, -1, 2)
            grids.append(grid)
            shape = grid.shape[:2]
            strides.append(torch.full((*shape, 1), st))
        grids = torch.cat(grids, dim=1).type(dtype)
        strides = torch.cat(strides, dim=1).type(dtype)
        outputs = torch.cat(
            [(outputs[..., 0:2] + grids) * strides, torch.exp(outputs[..., 2:4]) * strides, outputs[..., 4:]], dim=-1
        )
        return outputs


class YOLOXWithNMS(YOLOX):
    def forward(self, x):
        p = super().forward(x)
        bc = p.new(p.shape)
        bc[:, :, 0] = p[:, :, 0] - p[:, :, 2] / 2
        bc[:, :, 1] = p[:, :, 1] - p[:, :, 3] / 2
        bc[:, :, 2] = p[:, :, 0] + p[:, :, 2] / 2
        bc[:, :, 3] = p[:, :, 1] + p[:, :, 3] / 2
        p[:, :, :4] = bc[:, :, :4]
        ip = p[0]
        cc, cp = torch.max(ip[:, 5 : 5 + self.nc], 1, keepdim=True)
        m = (ip[:, 4] * cc.squeeze() >= 0.1).squeeze()
        d = torch.cat((ip[:, :5], cc, cp.float()), 1)
        d = d[m]
        keep = ops.batched_nms(d[:, :4], d[:, 4] * d[:, 5], d[:, 6], 0.45)
        return d[keep]


class YOLOv7Head(nn.Module):
    """Grids that are kept, and made anew where the features have other sizes."""

    stride = None
    export = False

    def __init__(self, nc=3, anchors=((10, 13, 16, 30), (30, 61, 62, 45)), ch=(8, 12)):
        super().__init__()
        self.nc = nc
        self.no = nc + 5
        self.nl = len(anchors)
        self.na = len(anchors[0]) // 2
        self.grid = [torch.zeros(1)] * self.nl
        a = torch.tensor(anchors).float().view(self.nl, -1, 2)
        self.register_buffer("anchors", a)
        self.register_buffer("anchor_grid", a.clone().view(self.nl, 1, -1, 1, 1, 2))
        self.m = nn.ModuleList(nn.Conv2d(x, self.no * self.na, 1) for x in ch)
        self.ia = nn.ParameterList(nn.Parameter(torch.randn(1, x, 1, 1) * 0.02) for x in ch)
        self.im = nn.ParameterList(nn.Parameter(1 + torch.randn(1, self.no * self.na, 1, 1) * 0.02) for x in ch)
        self.stride = torch.tensor([8.0, 16.0])

    @staticmethod
    def _make_grid(nx=20, ny=20):
        yv, xv = torch.meshgrid([torch.arange(ny), torch.arange(nx)], indexing="ij")
        return torch.stack((xv, yv), 2).view((1, 1, ny, nx, 2)).float()

    def forward(self, x):
        z = []
        self.training |= self.export
        for i in range(self.nl):
            x[i] = self.m[i](self.ia[i] + x[i]) * self.im[i]
            bs, _, ny, nx = x[i].shape
            x[i] = x[i].view(bs, self.na, self.no, ny, nx).permute(0, 1, 3, 4, 2).contiguous()
            if not self.training:
                if self.grid[i].shape[2:4] != x[i].shape[2:4]:
                    self.grid[i] = self._make_grid(nx, ny).to(x[i].device)
                y = x[i].sigmoid()
                y[..., 0:2] = (y[..., 0:2] * 2.0 - 0.5 + self.grid[i]) * self.stride[i]
                y[..., 2:4] = (y[..., 2:4] * 2) ** 2 * self.anchor_grid[i]
                z.append(y.view(bs, -1, self.no))
        return x if self.training else (torch.cat(z, 1), x)


class YOLOv7(nn.Module):
    """Features of two strides."""

    def __init__(self):
        super().__init__()
        self.b = nn.Sequential(ConvUnit(3, 8, 3, 2), ConvUnit(8, 8, 3, 2), ConvUnit(8, 8, 3, 2))
        self.c = ConvUnit(8, 12, 3, 2)
        self.h = YOLOv7Head()

    def forward(self, x):
        a = self.b(x)
        return self.h([a, self.c(a)])


class YOLOv7EndToEnd(YOLOv7):
    """ort nms: End2End in yolov7"""

    def forward(self, x):
        p = super().forward(x)[0]
        boxes = p[:, :, :4]
        conf = p[:, :, 4:5]
        scores = p[:, :, 5:]
        scores *= conf
        cm = torch.tensor([[1, 0, 1, 0], [0, 1, 0, 1], [-0.5, 0, 0.5, 0], [0, -0.5, 0, 0.5]])
        boxes @= cm
        ms, ci = scores.max(2, keepdim=True)
        dis = ci.float() * 640
        outs = []
        nb = boxes + dis
        for i in range(1):
            k = ops.nms(nb[i], ms[i, :, 0], 0.45)[:20]
            outs.append(torch.cat([boxes[i, k], ci[i, k].float(), ms[i, k]], 1))
        return torch.cat(outs)


class NanoDet(nn.Module):
    """Distances as expectations, priors of sizes that are rounded up."""

    def __init__(self, nc=4, rm=7):
        super().__init__()
        self.nc = nc
        self.reg_max = rm
        self.strides = [8, 16]
        self.b = nn.Sequential(
            ConvUnit(3, 8, 3, 2, "lrelu"), ConvUnit(8, 8, 3, 2, "lrelu"), ConvUnit(8, 8, 3, 2, "lrelu")
        )
        self.c = ConvUnit(8, 8, 3, 2)
        self.head = nn.ModuleList(nn.Conv2d(8, nc + 4 * (rm + 1), 1) for _ in range(2))
        self.register_buffer("project", torch.linspace(0, rm, rm + 1))
        self.scales = nn.ModuleList([nn.Identity(), nn.Identity()])

    def priors(self, bs, fs, stride, dtype, device):
        h, w = fs
        xr = torch.arange(w, dtype=dtype, device=device) * stride
        yr = torch.arange(h, dtype=dtype, device=device) * stride
        y, x = torch.meshgrid(yr, xr, indexing="ij")
        y = y.flatten()
        x = x.flatten()
        st = x.new_full((x.shape[0],), stride)
        p = torch.stack([x, y, st, st], dim=-1)
        return p.unsqueeze(0).repeat(bs, 1, 1)

    def forward(self, x):
        H, W = x.shape[2:]
        b = x.shape[0]
        a = self.b(x)
        fe = [a, self.c(a)]
        outs = [h(sc(f)).flatten(2) for f, h, sc in zip(fe, self.head, self.scales)]
        preds = torch.cat(outs, 2).permute(0, 2, 1)
        cls, reg = preds.split([self.nc, 4 * (self.reg_max + 1)], dim=-1)
        fss = [(math.ceil(H / st), math.ceil(W / st)) for st in self.strides]
        cp = torch.cat([self.priors(b, fs, st, torch.float32, x.device) for fs, st in zip(fss, self.strides)], 1)
        shape = reg.size()
        d = F.softmax(reg.reshape(*shape[:-1], 4, self.reg_max + 1), dim=-1)
        d = F.linear(d, self.project.type_as(d)).reshape(*shape[:-1], 4)
        d = d * cp[..., 2, None]
        x1 = (cp[..., 0] - d[..., 0]).clamp(min=0, max=W)
        y1 = (cp[..., 1] - d[..., 1]).clamp(min=0, max=H)
        x2 = (cp[..., 0] + d[..., 2]).clamp(min=0, max=W)
        y2 = (cp[..., 1] + d[..., 3]).clamp(min=0, max=H)
        return (torch.stack([x1, y1, x2, y2], -1), cls.sigmoid())


class CornerNet(nn.Module):
    """Corners pooled by running maxima, paired by their embeddings."""

    def __init__(self):
        super().__init__()
        self.b = nn.Sequential(ConvUnit(3, 8, 3, 2), ConvUnit(8, 8, 3, 2))
        self.tl = nn.Conv2d(8, 2, 1)
        self.br = nn.Conv2d(8, 2, 1)
        self.te = nn.Conv2d(8, 1, 1)
        self.be = nn.Conv2d(8, 1, 1)

    def top(self, x):
        return torch.flip(torch.cummax(torch.flip(x, [2]), 2)[0], [2])

    def left(self, x):
        return x.flip(3).cummax(3).values.flip(3)

    def bottom(self, x):
        o = x.clone()
        i = 1
        H = x.shape[2]
        while i < H:
            n = o.clone()
            n[:, :, i:] = torch.max(o[:, :, i:], o[:, :, :-i])
            o = n
            i <<= 1
        return o

    def topk(self, sc, K):
        b, c, h, w = sc.size()
        ts, ti = torch.topk(sc.view(b, -1), K)
        cl = torch.div(ti, h * w, rounding_mode="floor").int()
        ti = ti % (h * w)
        ys = torch.div(ti, w, rounding_mode="floor").int().float()
        xs = (ti % w).int().float()
        return (ts, ti, cl, ys, xs)

    def gather(self, f, ind):
        f = f.permute(0, 2, 3, 1).contiguous()
        f = f.view(f.size(0), -1, f.size(3))
        return f.gather(1, ind.unsqueeze(2).expand(ind.size(0), ind.size(1), f.size(2)))

    def forward(self, x):
        K = 10
        f = self.b(x)
        t = self.top(f) + self.left(f)
        r = self.bottom(f) + f.cummax(3)[0]
        tl = torch.sigmoid(self.tl(t))
        br = torch.sigmoid(self.br(r))
        hm = F.max_pool2d(tl, 3, stride=1, padding=1)
        tl = tl * (hm == tl).float()
        hm = F.max_pool2d(br, 3, stride=1, padding=1)
        br = br * (hm == br).float()
        b = x.shape[0]
        a1, i1, c1, y1, x1 = self.topk(tl, K)
        a2, i2, c2, y2, x2 = self.topk(br, K)
        y1 = y1.view(b, K, 1).expand(b, K, K)
        x1 = x1.view(b, K, 1).expand(b, K, K)
        y2 = y2.view(b, 1, K).expand(b, K, K)
        x2 = x2.view(b, 1, K).expand(b, K, K)
        d = torch.abs(self.gather(self.te(t), i1).view(b, K, 1) - self.gather(self.be(r), i2).view(b, 1, K))
        sc = (a1.view(b, K, 1) + a2.view(b, 1, K)) / 2
        sc[d > 0.5] = -1
        sc[c1.view(b, K, 1) != c2.view(b, 1, K)] = -1
        sc[x2 < x1] = -1
        sc[y2 < y1] = -1
        return (sc, torch.stack((x1, y1, x2, y2), 3))


class SAMDecoder(nn.Module):
    """Prompts and masks of the Segment Anything Model, cut to the size of the original image."""

    def __init__(self, d=16):
        super().__init__()
        self.d = d
        self.register_buffer("gauss", torch.randn(2, d // 2))
        self.pe = nn.ModuleList(nn.Embedding(1, d) for _ in range(4))
        self.nap = nn.Embedding(1, d)
        self.nomask = nn.Embedding(1, d)
        self.md = nn.Sequential(nn.Conv2d(1, 4, 2, 2), nn.GELU(), nn.Conv2d(4, d, 1))
        self.iou = nn.Embedding(1, d)
        self.mt = nn.Embedding(4, d)
        self.t2i = nn.MultiheadAttention(d, 2, batch_first=True)
        self.i2t = nn.MultiheadAttention(d, 2, batch_first=True)
        self.up = nn.Sequential(nn.ConvTranspose2d(d, 8, 2, 2), nn.GELU(), nn.ConvTranspose2d(8, 4, 2, 2), nn.GELU())
        self.hyper = nn.ModuleList(nn.Sequential(nn.Linear(d, d), nn.ReLU(), nn.Linear(d, 4)) for _ in range(4))
        self.ih = nn.Linear(d, 4)
        self.size = 64

    def enc(self, c):
        c = 2 * c - 1
        c = c @ self.gauss
        c = 2 * math.pi * c
        return torch.cat([torch.sin(c), torch.cos(c)], -1)

    def dense(self, h, w):
        g = torch.ones((h, w))
        y = g.cumsum(0) - 0.5
        x = g.cumsum(1) - 0.5
        return self.enc(torch.stack([x / w, y / h], -1)).permute(2, 0, 1)

    def points(self, pc, pl):
        pc = pc + 0.5
        pc = pc / self.size
        e = self.enc(pc)
        pl = pl.unsqueeze(-1).expand_as(e)
        e = e * (pl != -1)
        e = e + self.nap.weight * (pl == -1)
        for i in range(4):
            e = e + self.pe[i].weight * (pl == i)
        return e

    def masks(self, mi, has):
        m = has * self.md(mi)
        return m + (1 - has) * self.nomask.weight.reshape(1, -1, 1, 1)

    def post(self, masks, orig):
        masks = F.interpolate(masks, size=(self.size, self.size), mode="bilinear", align_corners=False)
        scale = self.size / torch.max(orig)
        pre = torch.floor(scale * orig + 0.5).to(torch.int64)
        masks = masks[..., : pre[0], : pre[1]]
        o = orig.to(torch.int64)
        return F.interpolate(masks, size=(o[0], o[1]), mode="bilinear", align_corners=False)

    def forward(self, emb, pc, pl, mi, has, orig):
        sp = self.points(pc, pl)
        de = self.masks(mi, has)
        tok = torch.cat([self.iou.weight, self.mt.weight], 0).unsqueeze(0).expand(sp.size(0), -1, -1)
        tok = torch.cat((tok, sp), 1)
        src = torch.repeat_interleave(emb, tok.shape[0], dim=0) + de
        pos = torch.repeat_interleave(self.dense(*emb.shape[-2:]).unsqueeze(0), tok.shape[0], dim=0)
        b, c, h, w = src.shape
        im = src.flatten(2).permute(0, 2, 1)
        pe = pos.flatten(2).permute(0, 2, 1)
        q = tok + self.t2i(tok, im + pe, im)[0]
        k = im + self.i2t(im + pe, q, q)[0]
        up = self.up(k.transpose(1, 2).view(b, c, h, w))
        hy = torch.stack([self.hyper[i](q[:, 1 + i, :]) for i in range(4)], 1)
        b, c, h, w = up.shape
        m = (hy @ up.view(b, c, h * w)).view(b, -1, h, w)
        iou = self.ih(q[:, 0])
        rw = torch.tensor([[1000] + [0] * 3])
        score = iou + (pc.shape[1] - 2.5) * rw
        best = torch.argmax(score, 1)
        m2 = m[torch.arange(m.shape[0]), best].unsqueeze(1)
        i2 = iou[torch.arange(m.shape[0]), best].unsqueeze(1)
        return (self.post(m2, orig), i2, m)


class SiamRPN(nn.Module):
    """Kernels that are features of another image, one for each sample."""

    def __init__(self, an=3):
        super().__init__()
        self.b = nn.Sequential(nn.Conv2d(3, 8, 5, 2), nn.BatchNorm2d(8), nn.ReLU(True), nn.Conv2d(8, 8, 3, 2))
        self.k = nn.Conv2d(8, 8, 3)
        self.self = nn.Conv2d(8, 8, 3)
        self.h = nn.Sequential(nn.Conv2d(8, 8, 1), nn.ReLU(True), nn.Conv2d(8, an * 6, 1))
        self.kc = nn.Conv2d(8, 8 * 2 * an, 3)
        self.an = an

    def depthwise(self, x, k):
        b, c = (k.size(0), k.size(1))
        x = x.view(1, b * c, x.size(2), x.size(3))
        k = k.view(b * c, 1, k.size(2), k.size(3))
        o = F.conv2d(x, k, groups=b * c)
        return o.view(b, c, o.size(2), o.size(3))

    def fast(self, x, k):
        b = k.size()[0]
        pk = k.view(-1, x.size()[1], k.size()[2], k.size()[3])
        px = x.view(1, -1, x.size()[2], x.size()[3])
        po = F.conv2d(px, pk, groups=b)
        return po.view(b, -1, po.size()[2], po.size()[3])

    def slow(self, x, k):
        out = []
        for i in range(x.size(0)):
            px = x[i]
            pk = k[i]
            px = px.view(1, px.size(0), px.size(1), px.size(2))
            pk = pk.view(-1, px.size(1), pk.size(1), pk.size(2))
            out.append(F.conv2d(px, pk))
        return torch.cat(out, 0)

    def forward(self, z, x):
        z = self.b(z)
        x = self.b(x)
        f = self.depthwise(self.self(x), self.k(z))
        o = self.h(f)
        c = self.fast(self.self(x), self.kc(z))
        b, a2, h, w = c.size()
        c = c.view(b, 2, a2 // 2, h, w).permute(0, 2, 3, 4, 1).contiguous()
        return (o, F.log_softmax(c, 4))


class PointPillars(nn.Module):
    """Features of pillars, written to where they stand."""

    def __init__(self, nx=12, ny=10):
        super().__init__()
        self.nx, self.ny = (nx, ny)
        self.l = nn.Linear(10, 16, bias=False)
        self.n = nn.BatchNorm1d(16, eps=0.001, momentum=0.01)
        self.b = nn.Conv2d(16, 8, 3, padding=1)
        self.c = nn.Conv2d(8, 2 * 3, 1)

    def pad_ind(self, num, mx):
        num = torch.unsqueeze(num, 1)
        sh = [1] * len(num.shape)
        sh[1] = -1
        r = torch.arange(mx, dtype=torch.int).view(sh)
        return num.int() > r

    def forward(self, vox, num, coors):
        mean = vox[:, :, :3].sum(dim=1, keepdim=True) / num.type_as(vox).view(-1, 1, 1)
        fc = vox[:, :, :3] - mean
        f = torch.zeros_like(vox[:, :, :3])
        f[:, :, 0] = vox[:, :, 0] - (coors[:, 3].float().unsqueeze(1) * 0.2 + 0.1)
        f[:, :, 1] = vox[:, :, 1] - (coors[:, 2].float().unsqueeze(1) * 0.2 + 0.1)
        f[:, :, 2] = vox[:, :, 2]
        x = torch.cat([vox, fc, f], -1)
        x *= self.pad_ind(num, x.shape[1]).unsqueeze(-1).type_as(x)
        x = self.l(x)
        x = F.relu(self.n(x.permute(0, 2, 1).contiguous()).permute(0, 2, 1))
        x = torch.max(x, dim=1, keepdim=True)[0].squeeze(1)
        bs = 2
        cv = []
        for b in range(bs):
            canvas = torch.zeros(16, self.nx * self.ny, dtype=x.dtype)
            m = coors[:, 0] == b
            th = coors[m, :]
            ind = (th[:, 1] + th[:, 2] * self.nx + th[:, 3]).long()
            p = x[m, :].t()
            canvas[:, ind] = p
            cv.append(canvas)
        y = torch.stack(cv, 0).view(bs, 16, self.ny, self.nx)
        y = F.relu(self.b(y))
        c = self.c(y).permute(0, 2, 3, 1).contiguous()
        return c


class Voxels(nn.Module):
    """Points in voxels: those which occur, and what is in each."""

    def __init__(self):
        super().__init__()
        self.l = nn.Linear(6, 8)
        self.c = nn.Conv3d(8, 4, 3, padding=1)
        self.r = torch.tensor([-2.0, -2.0, -1.0])
        self.v = torch.tensor([0.5, 0.5, 0.5])
        self.g = (8, 8, 4)

    def forward(self, pts):
        co = torch.floor((pts[:, :3] - self.r) / self.v).int()
        m = ((co >= 0) & (co < torch.tensor(self.g))).all(dim=1)
        p = pts[m]
        co = co[m].long()
        k = co[:, 0] * (self.g[1] * self.g[2]) + co[:, 1] * self.g[2] + co[:, 2]
        u, inv, cnt = torch.unique(k, return_inverse=True, return_counts=True)
        mean = torch.zeros(u.shape[0], 3).index_add_(0, inv, p[:, :3]) / cnt[:, None]
        f = torch.cat([p[:, :3], p[:, :3] - mean[inv]], 1)
        f = F.relu(self.l(f))
        vf = f.new_full((u.shape[0], 8), -10000.0).scatter_reduce_(0, inv[:, None].expand(-1, 8), f, "amax")
        vc = torch.stack(
            (
                torch.div(u, self.g[1] * self.g[2], rounding_mode="floor"),
                u % (self.g[1] * self.g[2]) // self.g[2],
                u % self.g[2],
            ),
            1,
        )
        d = torch.zeros(8, *self.g)
        d[:, vc[:, 0], vc[:, 1], vc[:, 2]] = vf.t()
        return (self.c(d[None]), vc)


def prompts(n: int, points: int, h: int, w: int) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(points)
    return {
        "emb": normal(1, 16, 8, 8),
        "pc": uniform(n, points, 2) * 60,
        "pl": torch.randint(-1, 4, (n, points), generator=generator).float(),
        "mi": normal(n, 1, 16, 16),
        "has": torch.tensor([1.0]),
        "orig": torch.tensor([float(h), float(w)]),
    }


def pillars(count: int) -> dict[str, Tensor]:
    """Points in pillars of two clouds, no two pillars in one place."""
    generator = torch.Generator().manual_seed(count)
    num = torch.randint(1, 6, (count,), generator=generator)
    flat = torch.randperm(240, generator=generator)[:count]
    place = flat % 120
    coors = torch.stack([flat // 120, torch.zeros_like(flat), place // 12, place % 12], 1)
    return {"vox": normal(count, 5, 4) * (torch.arange(5) < num[:, None])[..., None], "num": num, "coors": coors}


def fill() -> None:
    images = {"x": image(2, 64, 96)}, {"x": image(3, 96, 64)}
    single = {"x": image(1, 64, 96)}, {"x": image(1, 96, 160)}
    traced("YOLOX", YOLOX, *images)
    traced("YOLOX with its NMS", YOLOXWithNMS, *single, unordered=True)
    traced("YOLOv7, grids kept", YOLOv7, *images)
    traced("YOLOv7 to the end", YOLOv7EndToEnd, *single, unordered=True)
    traced("NanoDet", NanoDet, *images)
    traced("CornerNet", CornerNet, *images)
    traced("SAM, decoder", SAMDecoder, prompts(1, 3, 48, 64), prompts(2, 5, 90, 30))
    traced(
        "SiamRPN",
        SiamRPN,
        {"z": image(2, 31, 31), "x": image(2, 63, 63)},
        {"z": image(3, 31, 31), "x": image(3, 71, 71)},
    )
    traced("PointPillars", PointPillars, pillars(20), pillars(31))
    traced("voxels", Voxels, {"pts": normal(50, 4)}, {"pts": normal(81, 4)})


fill()
