"""Segmentation, restoration, flow, depth."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import nn

from tests.reports.harness import OFTEN, program, reports

TABLE, report = reports()
PT = "https://github.com/pytorch/pytorch/issues/"
IMAGE = {0: {0: "b", 2: "h", 3: "w"}}


def image(channels):
    return lambda b, h, w: (torch.randn(b, channels, h, w),)


@report("https://github.com/pytorch/vision/issues/8116")
def correlation_lookup_and_convex_upsampling():
    class Flow(nn.Module):
        def __init__(self):
            super().__init__()
            self.mask = nn.Conv2d(4, 9 * 4, 1)

        def forward(self, a, b):
            n, d, h, w = a.shape
            corr = torch.matmul(a.view(n, d, h * w).transpose(1, 2), b.view(n, d, h * w)) / math.sqrt(d)
            corr = corr.view(n * h * w, 1, h, w)
            ys, xs = torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij")
            coords = torch.stack([xs, ys], 0).float()[None].repeat(n, 1, 1, 1)
            r = torch.linspace(-1, 1, 3)
            delta = torch.stack(torch.meshgrid(r, r, indexing="ij"), -1)
            out = []
            for i in range(2):
                centroid = coords.permute(0, 2, 3, 1).reshape(n * h * w, 1, 1, 2) / 2**i
                grid = centroid + delta.view(1, 3, 3, 2)
                hh, ww = corr.shape[-2:]
                gx, gy = grid.split([1, 1], dim=-1)
                grid = torch.cat([2 * gx / (ww - 1) - 1, 2 * gy / (hh - 1) - 1], -1)
                out.append(F.grid_sample(corr, grid, align_corners=True).view(n, h, w, -1))
                corr = F.avg_pool2d(corr, 2, stride=2)
            flow = torch.cat(out, -1).permute(0, 3, 1, 2)[:, :2]
            mask = self.mask(a).view(n, 1, 9, 2, 2, h, w).softmax(2)
            up = F.unfold(2 * flow, [3, 3], padding=1).view(n, 2, 9, 1, 1, h, w)
            up = (mask * up).sum(2).permute(0, 1, 4, 2, 5, 3)
            return up.reshape(n, 2, 2 * h, 2 * w)

    return program(
        Flow(), lambda b, h, w: (torch.randn(b, 4, h, w), torch.randn(b, 4, h, w)), (1, 6, 8), (2, 7, 5),
        axes={0: {0: "b", 2: "h", 3: "w"}, 1: {0: "b", 2: "h", 3: "w"}},
    )  # fmt: skip


@report(PT + "27212")
def spatial_transformer():
    class Stn(nn.Module):
        def __init__(self):
            super().__init__()
            self.loc = nn.Sequential(nn.AdaptiveAvgPool2d(3), nn.Flatten(), nn.Linear(18, 6))

        def forward(self, x):
            theta = self.loc(x).view(-1, 2, 3)
            grid = F.affine_grid(theta, x.size(), align_corners=False)
            return F.grid_sample(x, grid, padding_mode="border", align_corners=False)

    return program(Stn(), image(2), (1, 7, 9), (3, 6, 5), axes=IMAGE, modes="trace script")


@report("https://github.com/kornia/kornia/pull/2999")
def warp_perspective_with_an_inverse():
    def warp(x, matrix):
        b, c, h, w = x.shape
        norm = torch.tensor([[2.0 / (w - 1), 0, -1], [0, 2.0 / (h - 1), -1], [0, 0, 1]])
        m = norm @ torch.linalg.inv(matrix) @ torch.inverse(norm)
        ys, xs = torch.meshgrid(torch.linspace(-1, 1, h), torch.linspace(-1, 1, w), indexing="ij")
        points = torch.stack([xs, ys, torch.ones_like(xs)], -1).view(1, -1, 3)
        warped = torch.bmm(points.expand(b, -1, -1), m.transpose(1, 2))
        z = warped[..., 2:]
        scale = torch.where(z.abs() > 1e-8, 1.0 / (z + 1e-8), torch.ones_like(z))
        return F.grid_sample(x, (warped[..., :2] * scale).view(b, h, w, 2), align_corners=True)

    def inputs(b, h, w):
        return torch.randn(b, 2, h, w), torch.eye(3).repeat(b, 1, 1) + 0.01 * torch.randn(b, 3, 3)

    return program(warp, inputs, (1, 5, 7), (3, 5, 7), axes={0: {0: "b"}, 1: {0: "b"}}, opset=18, rtol=1e-3, atol=1e-4)


@report("https://github.com/open-mmlab/mmsegmentation/issues/1840")
def pyramid_pooling_at_any_size():
    class Ppm(nn.Module):
        def __init__(self):
            super().__init__()
            self.stages = nn.ModuleList(nn.Sequential(nn.AdaptiveAvgPool2d(s), nn.Conv2d(3, 2, 1)) for s in (1, 2, 3))

        def forward(self, x):
            ups = [F.interpolate(s(x), size=x.shape[2:], mode="bilinear", align_corners=False) for s in self.stages]
            return torch.cat([x, *ups, F.adaptive_max_pool2d(x, (1, 1)).expand_as(x)], 1)

    return program(Ppm(), image(3), (2, 6, 7), (1, 9, 5), axes=IMAGE, modes="trace exported")


@report(PT + "56355")
def drop_path_and_roll():
    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.gamma = nn.Parameter(torch.randn(5))

        def forward(self, x):
            shift = x.shape[1] // 2
            y = torch.roll(x, shifts=(shift, -1), dims=(1, 2))
            keep = 0.8 if self.training else 1.0
            if keep < 1:
                y = y.div(keep) * torch.rand(x.shape[0], 1, 1).floor_()
            return x + self.gamma * y, torch.roll(x, 3)

    return program(Block(), lambda b, t: (torch.randn(b, t, 5),), (1, 4), (2, 7), axes={0: {0: "b", 1: "t"}})


@report(OFTEN)
def pixel_unshuffle_shuffle_with_reflect_padding():
    class Upscale(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Conv2d(12, 12, 3, 1, 1)
            self.up = nn.PixelShuffle(4)

        def forward(self, x):
            _, _, h, w = x.size()
            ph, pw = (2 - h % 2) % 2, (2 - w % 2) % 2
            x = F.pad(x, (0, pw, 0, ph), "reflect")
            y = self.body(F.pixel_unshuffle(x, 2))
            y = self.up(torch.cat([y] * 4, 1))
            base = F.interpolate(x, scale_factor=2, mode="nearest")
            return (y + base)[:, :, : h * 2, : w * 2]

    return program(Upscale(), image(3), (1, 6, 8), (2, 7, 5), axes=IMAGE)


@report(OFTEN)
def backward_warp_by_flow():
    def warp(x, flow):
        n, c, h, w = x.size()
        xx = torch.arange(0, w).view(1, -1).repeat(h, 1).view(1, 1, h, w).repeat(n, 1, 1, 1)
        yy = torch.arange(0, h).view(-1, 1).repeat(1, w).view(1, 1, h, w).repeat(n, 1, 1, 1)
        grid = torch.cat((xx, yy), 1).float() + flow
        vx = 2.0 * grid[:, :1] / max(w - 1, 1) - 1.0
        vy = 2.0 * grid[:, 1:] / max(h - 1, 1) - 1.0
        out = F.grid_sample(x, torch.cat([vx, vy], 1).permute(0, 2, 3, 1), "bilinear", "zeros", True)
        mask = F.grid_sample(torch.ones_like(x), torch.cat([vx, vy], 1).permute(0, 2, 3, 1), align_corners=True)
        mask = torch.where(mask < 0.999, torch.zeros_like(mask), torch.ones_like(mask))
        return out * mask

    return program(
        warp, lambda b, h, w: (torch.randn(b, 2, h, w), torch.randn(b, 2, h, w)), (1, 4, 5), (2, 6, 3),
        axes={0: {0: "b", 2: "h", 3: "w"}, 1: {0: "b", 2: "h", 3: "w"}},
    )  # fmt: skip


@report(OFTEN)
def position_embedding_interpolated_by_scale():
    class Embed(nn.Module):
        def __init__(self):
            super().__init__()
            self.proj = nn.Conv2d(3, 8, 2, 2)
            self.cls = nn.Parameter(torch.randn(1, 1, 8))
            self.pos = nn.Parameter(torch.randn(1, 17, 8))

        def forward(self, x):
            b, _, h, w = x.shape
            x = self.proj(x).flatten(2).transpose(1, 2)
            x = torch.cat((self.cls.expand(b, -1, -1), x), 1)
            patch = self.pos[:, 1:].reshape(1, 4, 4, 8).permute(0, 3, 1, 2)
            sx, sy = float(h // 2 + 0.1) / 4, float(w // 2 + 0.1) / 4
            patch = F.interpolate(patch, scale_factor=(sx, sy), mode="bicubic")
            assert (h // 2, w // 2) == patch.shape[-2:]
            pos = torch.cat((self.pos[:, :1], patch.permute(0, 2, 3, 1).view(1, -1, 8)), 1)
            return x + pos

    return program(Embed(), image(3), (1, 12, 8), (2, 12, 8), axes={0: {0: "b"}}, rtol=1e-3, atol=1e-4)


@report(OFTEN)
def rays_from_intrinsics():
    def rays(depth, k):
        b, _, h, w = depth.shape
        u = torch.arange(w, dtype=depth.dtype) + 0.5
        v = torch.arange(h, dtype=depth.dtype) + 0.5
        uv = torch.stack(torch.meshgrid(u, v, indexing="xy"), 0).unsqueeze(0).expand(b, -1, -1, -1)
        homogeneous = torch.cat([uv, torch.ones_like(uv[:, :1])], 1).flatten(2)
        directions = torch.linalg.solve(k, homogeneous)
        xyz = F.normalize(directions, dim=1).view(b, 3, h, w) * depth
        return xyz, torch.atan2(xyz[:, 0], xyz[:, 2]), torch.acos(xyz[:, 1].clamp(-0.9, 0.9)), xyz.norm(p=2, dim=1)

    def inputs(b, h, w):
        k = torch.eye(3).repeat(b, 1, 1)
        k[:, 0, 0], k[:, 1, 1], k[:, 0, 2], k[:, 1, 2] = 5.0, 6.0, w / 2, h / 2
        return torch.rand(b, 1, h, w) + 1, k

    return program(rays, inputs, (1, 4, 6), (2, 5, 3), axes={0: {0: "b", 2: "h", 3: "w"}, 1: {0: "b"}})


@report(OFTEN)
def cost_volume_by_shifts():
    class Volume(nn.Module):
        def forward(self, left, right):
            b, c, h, w = left.shape
            cost = left.new_zeros(b, 2 * c, 3, h, w)
            for i in range(3):
                if i > 0:
                    cost[:, :c, i, :, i:] = left[:, :, :, i:]
                    cost[:, c:, i, :, i:] = right[:, :, :, :-i]
                else:
                    cost[:, :c, i] = left
                    cost[:, c:, i] = right
            cost = F.avg_pool3d(cost.contiguous(), (3, 1, 1), 1, (1, 0, 0))
            prob = F.softmax(cost.mean(1), dim=1)
            disparity = torch.arange(0, 3, dtype=prob.dtype).view(1, 3, 1, 1)
            return torch.sum(prob * disparity, 1, keepdim=False)

    return program(
        Volume(), lambda b, h, w: (torch.randn(b, 2, h, w), torch.randn(b, 2, h, w)), (1, 3, 6), (2, 5, 4),
        axes={0: {0: "b", 2: "h", 3: "w"}, 1: {0: "b", 2: "h", 3: "w"}}, modes="trace script",
    )  # fmt: skip


@report(PT + "99770")
def deformable_convolution_by_gather():
    class Deform(nn.Module):
        def __init__(self):
            super().__init__()
            self.offset = nn.Conv2d(2, 18, 3, padding=1)
            self.conv = nn.Conv2d(2, 3, 3, stride=3)

        def forward(self, x):
            off = self.offset(x)
            b, n, h, w = off.shape[0], 9, off.shape[2], off.shape[3]
            x = F.pad(x, [1] * 4)
            px, py = torch.meshgrid(torch.arange(-1, 2), torch.arange(-1, 2), indexing="ij")
            pn = torch.cat([px.flatten(), py.flatten()]).view(1, 18, 1, 1).type(x.type())
            p0x, p0y = torch.meshgrid(torch.arange(1, h + 1), torch.arange(1, w + 1), indexing="ij")
            p0 = torch.cat([p0x.flatten().view(1, 1, h, w).repeat(1, n, 1, 1),
                            p0y.flatten().view(1, 1, h, w).repeat(1, n, 1, 1)], 1).type(x.type())  # fmt: skip
            p = (p0 + pn + off).contiguous().permute(0, 2, 3, 1)
            lt = p.detach().floor()
            rb = lt + 1
            hi = torch.cat([torch.full((n,), x.size(2) - 1), torch.full((n,), x.size(3) - 1)])
            lt = torch.minimum(lt.clamp(min=0), hi.float()).long()
            rb = torch.minimum(rb.clamp(min=0), hi.float()).long()
            p = torch.cat([p[..., :n].clamp(0, x.size(2) - 1), p[..., n:].clamp(0, x.size(3) - 1)], -1)
            glt = (1 + (lt[..., :n].type_as(p) - p[..., :n])) * (1 + (lt[..., n:].type_as(p) - p[..., n:]))
            grb = (1 - (rb[..., :n].type_as(p) - p[..., :n])) * (1 - (rb[..., n:].type_as(p) - p[..., n:]))
            out = glt.unsqueeze(1) * self.at(x, lt, n) + grb.unsqueeze(1) * self.at(x, rb, n)
            b, c, h, w, _ = out.size()
            out = torch.cat([out[..., s : s + 3].contiguous().view(b, c, h, w * 3) for s in range(0, n, 3)], -1)
            return self.conv(out.contiguous().view(b, c, h * 3, w * 3))

        def at(self, x, q, n):
            b, h, w, _ = q.size()
            flat = x.contiguous().view(b, x.size(1), -1)
            index = q[..., :n] * x.size(3) + q[..., n:]
            index = (
                index.contiguous().unsqueeze(1).expand(-1, x.size(1), -1, -1, -1).contiguous().view(b, x.size(1), -1)
            )
            return flat.gather(-1, index).contiguous().view(b, x.size(1), h, w, n)

    return program(Deform(), image(2), (1, 4, 5), (2, 6, 3), axes=IMAGE)


@report(OFTEN)
def overlapping_patches_and_fold_back():
    class Overlap(nn.Module):
        def forward(self, x):
            b, c, h, w = x.shape
            patches = x.unfold(2, 4, 2).unfold(3, 4, 2)
            nh, nw = patches.size(2), patches.size(3)
            tokens = patches.permute(0, 2, 3, 1, 4, 5).reshape(b, nh * nw, c * 16)
            tokens = tokens * tokens.std(-1, keepdim=True)
            back = F.fold(tokens.transpose(1, 2), (h, w), 4, stride=2)
            ones = F.fold(torch.ones_like(tokens).transpose(1, 2), (h, w), 4, stride=2)
            return back / ones

    return program(Overlap(), image(2), (1, 6, 8), (2, 10, 6), axes=IMAGE)


@report(PT + "41423")
def involution_kernels_by_unfold():
    class Involution(nn.Module):
        def __init__(self):
            super().__init__()
            self.reduce = nn.Sequential(nn.Conv2d(4, 4, 1), nn.BatchNorm2d(4), nn.ReLU(inplace=True))
            self.span = nn.Conv2d(4, 2 * 9, 1)
            self.unfold = nn.Unfold(3, 1, 1, 2)
            self.pool = nn.AvgPool2d(2, 2)

        def forward(self, x):
            weight = self.span(self.reduce(self.pool(x)))
            b, _, h, w = weight.shape
            weight = weight.view(b, 2, 9, h, w).unsqueeze(2)
            out = self.unfold(x).view(b, 2, 2, 9, h, w)
            return (weight * out).sum(3).view(b, 4, h, w)

    return program(Involution(), image(4), (1, 6, 8), (3, 4, 10), axes=IMAGE, modes="trace script")


@report(OFTEN)
def normalise_each_image_by_median():
    def normalise(d, mask):
        b = d.shape[0]
        flat = d.view(b, -1)
        med = flat.median(dim=1).values.view(b, 1, 1)
        scale = (d - med).abs().flatten(1).mean(1).view(b, 1, 1)
        q = torch.quantile(flat, torch.tensor([0.1, 0.5, 0.9]), dim=1)
        std, mean = torch.std_mean(d, dim=(1, 2), keepdim=True, unbiased=False)
        trimmed = flat.sort(dim=1)[0][:, flat.shape[1] // 10 : -(flat.shape[1] // 10)]
        return (
            (d - med) / scale,
            q,
            (d - mean) / std,
            trimmed.mean(1),
            (d * mask).sum((1, 2)) / mask.sum((1, 2)).clamp(1),
        )

    return program(
        normalise, lambda b, h, w: (torch.randn(b, h, w), torch.rand(b, h, w) > 0.5), (2, 4, 5), (3, 7, 6),
        axes={0: {0: "b", 1: "h", 2: "w"}, 1: {0: "b", 1: "h", 2: "w"}},
    )  # fmt: skip


@report(OFTEN)
def crop_by_the_size_of_another_map():
    class Unet(nn.Module):
        def __init__(self):
            super().__init__()
            self.up = nn.ConvTranspose2d(3, 2, 2, stride=2)

        def forward(self, low, skip):
            x = self.up(low)
            dy, dx = skip.size(2) - x.size(2), skip.size(3) - x.size(3)
            padded = F.pad(x, [dx // 2, dx - dx // 2, dy // 2, dy - dy // 2])
            h, w = x.shape[2:]
            top, left = (skip.shape[2] - h) // 2, (skip.shape[3] - w) // 2
            crop = skip[:, :, top : top + h, left : left + w]
            narrow = torch.narrow(skip, 3, 0, w)
            return torch.cat([padded, skip], 1), torch.cat([x, crop], 1), narrow

    return program(
        Unet(), lambda h, w, dh, dw: (torch.randn(1, 3, h, w), torch.randn(1, 2, 2 * h + dh, 2 * w + dw)),
        (3, 4, 1, 2), (2, 5, 3, 0), axes={0: {2: "h", 3: "w"}, 1: {2: "hs", 3: "ws"}}, modes="trace script",
    )  # fmt: skip
