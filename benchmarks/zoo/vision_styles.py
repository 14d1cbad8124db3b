"""Short models in the style of published ones: points, generation, flow, detection, matching, segmentation, rendering.

They are plain torch, as research code has it, and are traced; those that TorchScript compiles are scripted, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from entry import Zoo, add, image, normal, uniform

FAMILY = "vision styles"


# -- points -----------------------------------------------------------------------------------------


def index_points(points: Tensor, index: Tensor) -> Tensor:
    """Rows of each cloud, by an index of any rank."""
    n = points.shape[0]
    batch = torch.arange(n).view([n] + [1] * (index.dim() - 1)).expand_as(index)
    return points[batch, index]


def farthest_points(xyz: Tensor, count: int) -> Tensor:
    n, size, _ = xyz.shape
    chosen = torch.zeros(n, count, dtype=torch.long)
    distance = torch.ones(n, size) * 1e10
    farthest = torch.zeros(n, dtype=torch.long)
    rows = torch.arange(n)
    for i in range(count):
        chosen[:, i] = farthest
        centre = xyz[rows, farthest, :].view(n, 1, 3)
        d = torch.sum((xyz - centre) ** 2, -1)
        closer = d < distance
        distance[closer] = d[closer]
        farthest = torch.max(distance, -1)[1]
    return chosen


def ball(radius: float, samples: int, xyz: Tensor, centres: Tensor) -> Tensor:
    n, size, _ = xyz.shape
    count = centres.shape[1]
    squared = -2 * torch.matmul(centres, xyz.permute(0, 2, 1))
    squared = squared + torch.sum(centres**2, -1).view(n, count, 1) + torch.sum(xyz**2, -1).view(n, 1, size)
    group = torch.arange(size).view(1, 1, size).repeat([n, count, 1])
    group[squared > radius**2] = size
    group = group.sort(dim=-1)[0][:, :, :samples]
    first = group[:, :, 0].view(n, count, 1).repeat([1, 1, samples])
    outside = group == size
    group[outside] = first[outside]
    return group


class PointNetPlus(nn.Module):
    """PointNet++: farthest points, ball queries, and features interpolated back from the three nearest."""

    def __init__(self) -> None:
        super().__init__()
        self.convs = nn.ModuleList([nn.Conv2d(3, 16, 1), nn.Conv2d(16, 24, 1)])
        self.norms = nn.ModuleList([nn.BatchNorm2d(16), nn.BatchNorm2d(24)])
        self.back = nn.Conv1d(24 + 3, 16, 1)

    def forward(self, xyz: Tensor) -> Tensor:
        centres = index_points(xyz, farthest_points(xyz, 8))
        group = index_points(xyz, ball(1.2, 6, xyz, centres)) - centres.unsqueeze(2)
        x = group.permute(0, 3, 2, 1)
        for conv, norm in zip(self.convs, self.norms):
            x = F.relu(norm(conv(x)))
        x = torch.max(x, 2)[0].permute(0, 2, 1)
        distance, index = torch.cdist(xyz, centres).sort(dim=-1)
        weight = 1.0 / (distance[:, :, :3] + 1e-6)
        weight = weight / weight.sum(2, keepdim=True)
        spread = torch.sum(index_points(x, index[:, :, :3]) * weight.unsqueeze(-1), 2)
        return self.back(torch.cat([xyz, spread], -1).permute(0, 2, 1))


class DynamicGraph(nn.Module):
    """DGCNN: the nearest neighbours in feature space, taken by a flat index."""

    def __init__(self, k: int = 5) -> None:
        super().__init__()
        self.k = k
        self.convs = nn.ModuleList([nn.Conv2d(6, 8, 1), nn.Conv2d(16, 12, 1)])
        self.last = nn.Linear(40, 4)

    def features(self, x: Tensor) -> Tensor:
        n, channels, size = x.size()
        inner = -2 * torch.matmul(x.transpose(2, 1), x)
        squares = torch.sum(x**2, dim=1, keepdim=True)
        index = (-squares - inner - squares.transpose(2, 1)).topk(k=self.k, dim=-1)[1]
        index = (index + torch.arange(0, n).view(-1, 1, 1) * size).view(-1)
        x = x.transpose(2, 1).contiguous()
        feature = x.view(n * size, -1)[index, :].view(n, size, self.k, channels)
        x = x.view(n, size, 1, channels).repeat(1, 1, self.k, 1)
        return torch.cat((feature - x, x), dim=3).permute(0, 3, 1, 2).contiguous()

    def forward(self, x: Tensor) -> Tensor:
        outs = []
        for conv in self.convs:
            x = F.leaky_relu(conv(self.features(x)), 0.2).max(dim=-1, keepdim=False)[0]
            outs.append(x)
        x = torch.cat(outs, 1)
        pooled = [F.adaptive_max_pool1d(x, 1), F.adaptive_avg_pool1d(x, 1)]
        return self.last(torch.cat([p.view(x.shape[0], -1) for p in pooled], 1))


# -- generation -------------------------------------------------------------------------------------


class Modulated(nn.Module):
    """StyleGAN2: weights of each sample for one grouped convolution, and a filter between zeros."""

    def __init__(self, a: int = 8, b: int = 6, up: bool = True) -> None:
        super().__init__()
        self.a, self.b, self.up = a, b, up
        self.weight = nn.Parameter(torch.randn(1, b, a, 3, 3))
        self.style = nn.Linear(12, a)
        taps = torch.tensor([1.0, 3.0, 3.0, 1.0])
        self.register_buffer("kernel", taps[:, None] * taps[None, :] / 16)
        self.noise, self.bias = nn.Parameter(torch.full((1,), 0.3)), nn.Parameter(torch.zeros(b))

    def blur(self, x: Tensor, pad: tuple[int, int]) -> Tensor:
        n, c, h, w = x.shape
        x = F.pad(x.reshape(n * c, 1, h, w), [pad[0], pad[1], pad[0], pad[1]])
        x = F.conv2d(x, torch.flip(self.kernel, [0, 1]).view(1, 1, 4, 4))
        return x.view(n, c, x.shape[2], x.shape[3])

    def forward(self, x: Tensor, w: Tensor, noise: Tensor) -> Tensor:
        n, c, height, width = x.shape
        style = self.style(w).view(n, 1, c, 1, 1)
        weight = self.weight * style / math.sqrt(self.a * 9)
        weight = weight * torch.rsqrt(weight.pow(2).sum([2, 3, 4]) + 1e-8).view(n, self.b, 1, 1, 1)
        if self.up:
            x = x.view(1, n * c, height, width)
            weight = weight.transpose(1, 2).reshape(n * c, self.b, 3, 3)
            x = F.conv_transpose2d(x, weight, stride=2, groups=n)
            x = self.blur(x.view(n, self.b, x.shape[2], x.shape[3]), (1, 1))
        else:
            x = F.conv2d(x.view(1, n * c, height, width), weight.view(n * self.b, c, 3, 3), padding=1, groups=n)
            x = x.view(n, self.b, height, width)
        return F.leaky_relu(x + self.noise * noise + self.bias.view(1, -1, 1, 1), 0.2) * 2**0.5


class UpFirDn(nn.Module):
    """StyleGAN2: zeros between the samples by reshaping, a filter, and every second sample."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("kernel", torch.tensor([1.0, 3.0, 3.0, 1.0]) / 8)

    def forward(self, x: Tensor) -> Tensor:
        n, c, h, w = x.shape
        x = x.reshape(-1, h, 1, w, 1, 1)
        x = F.pad(x, [0, 0, 0, 1, 0, 0, 0, 1])
        x = x.view(-1, 1, h * 2, w * 2)
        x = F.pad(x, [2, 1, 2, 1])
        weight = torch.outer(self.kernel, self.kernel) * 4
        x = F.conv2d(x, torch.flip(weight, [0, 1])[None, None])
        up = x.view(n, c, x.shape[2], x.shape[3])
        return (
            up + up[:, :, ::2, ::2].repeat_interleave(2, 2).repeat_interleave(2, 3)[:, :, : up.shape[2], : up.shape[3]]
        )


class AdaptiveNorm(nn.Module):
    """AdaIN, SPADE and FiLM on one feature map, and a generator's style mixing."""

    def __init__(self) -> None:
        super().__init__()
        self.affine, self.film = nn.Linear(12, 16), nn.Linear(12, 16)
        self.shared, self.gamma, self.beta = (nn.Conv2d(3, 8, 3, padding=1) for _ in range(3))
        self.gamma, self.beta = nn.Conv2d(8, 8, 3, padding=1), nn.Conv2d(8, 8, 3, padding=1)

    def forward(self, x: Tensor, w: Tensor, layout: Tensor) -> Tensor:
        w = w * torch.rsqrt(w.square().mean(1, keepdim=True) + 1e-8)
        n, c = x.shape[:2]
        mean, std = x.view(n, c, -1).mean(2).view(n, c, 1, 1), x.view(n, c, -1).std(2).view(n, c, 1, 1) + 1e-5
        scale, shift = self.affine(w).view(n, 2, c, 1, 1).unbind(1)
        x = (x - mean) / std * (1 + scale) + shift
        h = F.relu(self.shared(F.interpolate(layout, size=x.shape[2:], mode="nearest")))
        x = F.instance_norm(x) * (1 + self.gamma(h)) + self.beta(h)
        a, b = self.film(w)[:, :, None, None].chunk(2, 1)
        return torch.tanh(x * a + b)


# -- flow -------------------------------------------------------------------------------------------


def bilinear(image: Tensor, coords: Tensor) -> Tensor:
    height, width = image.shape[-2:]
    x, y = coords.split([1, 1], dim=-1)
    grid = torch.cat([2 * x / (width - 1) - 1, 2 * y / (height - 1) - 1], dim=-1)
    return F.grid_sample(image, grid, align_corners=True)


class Correlation(nn.Module):
    """RAFT: all pairs, a pyramid of them, look-ups around the flow, two steps, convex upsampling."""

    def __init__(self, radius: int = 1) -> None:
        super().__init__()
        self.radius = radius
        self.net = nn.Conv2d(3, 8, 3, 4, 1)
        self.update = nn.Conv2d(2 * 9 + 2 + 8, 8, 3, padding=1)
        self.flow, self.mask = nn.Conv2d(8, 2, 3, padding=1), nn.Conv2d(8, 9 * 16, 1)

    def forward(self, first: Tensor, second: Tensor) -> Tensor:
        a, b = self.net(torch.cat([first, second], 0)).split([first.shape[0], second.shape[0]], 0)
        n, c, h, w = a.shape
        pairs = torch.matmul(a.view(n, c, h * w).transpose(1, 2), b.view(n, c, h * w)) / c**0.5
        pairs = pairs.view(n, h, w, 1, h, w).reshape(n * h * w, 1, h, w)
        pyramid = [pairs, F.avg_pool2d(pairs, 2, stride=2)]
        rows, columns = torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij")
        start = torch.stack([columns, rows], 0).float()[None].repeat(n, 1, 1, 1)
        coords, state = start, a
        offsets = torch.linspace(-self.radius, self.radius, 2 * self.radius + 1)
        delta = torch.stack(torch.meshgrid(offsets, offsets, indexing="ij"), -1).view(1, 3, 3, 2)
        for _ in range(2):
            coords = coords.detach()
            found = []
            for i, level in enumerate(pyramid):
                where = coords.permute(0, 2, 3, 1).reshape(n * h * w, 1, 1, 2) / 2**i + delta
                found.append(bilinear(level, where).view(n, h, w, -1))
            looked = torch.cat(found, -1).permute(0, 3, 1, 2).contiguous().float()
            state = torch.tanh(self.update(torch.cat([looked, coords - start, state], 1)))
            coords = coords + self.flow(state)
        mask = torch.softmax(self.mask(state).view(n, 1, 9, 4, 4, h, w), 2)
        up = F.unfold(4 * (coords - start), [3, 3], padding=1).view(n, 2, 9, 1, 1, h, w)
        return torch.sum(mask * up, 2).permute(0, 1, 4, 2, 5, 3).reshape(n, 2, 4 * h, 4 * w)


# -- detection --------------------------------------------------------------------------------------


class Queries(nn.Module):
    """DETR: a mask of padding makes the positions; queries, boxes, and the best classes of all."""

    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(3, 16, 3, 4, 1), nn.ReLU(), nn.Conv2d(16, 16, 3, 2, 1))
        self.transformer = nn.Transformer(16, 2, 1, 1, 32, dropout=0.0)
        self.query, self.cls, self.box = nn.Embedding(6, 16), nn.Linear(16, 5), nn.Linear(16, 4)

    def positions(self, mask: Tensor) -> Tensor:
        y, x = (~mask).cumsum(1, dtype=torch.float32), (~mask).cumsum(2, dtype=torch.float32)
        y, x = y / (y[:, -1:, :] + 1e-6) * 2 * math.pi, x / (x[:, :, -1:] + 1e-6) * 2 * math.pi
        t = torch.arange(8, dtype=torch.float32)
        t = 10000 ** (2 * torch.div(t, 2, rounding_mode="floor") / 8)
        px, py = x[..., None] / t, y[..., None] / t
        px = torch.stack((px[..., 0::2].sin(), px[..., 1::2].cos()), 4).flatten(3)
        py = torch.stack((py[..., 0::2].sin(), py[..., 1::2].cos()), 4).flatten(3)
        return torch.cat((py, px), 3).permute(0, 3, 1, 2)

    def forward(self, x: Tensor, mask: Tensor, sizes: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        h = self.net(x)
        small = F.interpolate(mask[None].float(), size=h.shape[-2:]).to(torch.bool)[0]
        source = (h + self.positions(small)).flatten(2).permute(2, 0, 1)
        query = self.query.weight.unsqueeze(1).repeat(1, x.shape[0], 1)
        flat = small.flatten(1)
        out = self.transformer(source, query, src_key_padding_mask=flat, memory_key_padding_mask=flat).transpose(0, 1)
        logits, boxes = self.cls(out), self.box(out).sigmoid()
        best, index = logits.sigmoid().flatten(1).topk(4, 1)
        which = torch.div(index, logits.shape[2], rounding_mode="trunc")
        cx, cy, w, ht = boxes.unbind(-1)
        boxes = torch.stack([cx - 0.5 * w, cy - 0.5 * ht, cx + 0.5 * w, cy + 0.5 * ht], -1)
        boxes = torch.gather(boxes, 1, which.unsqueeze(-1).repeat(1, 1, 4))
        height, width = sizes.unbind(1)
        return best, index % logits.shape[2], boxes * torch.stack([width, height, width, height], 1)[:, None, :]


class Centers(nn.Module):
    """CenterNet: peaks by max pooling, the best of each class and then of all, gathered from maps."""

    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(3, 8, 3, 4, 1), nn.ReLU())
        self.heat, self.size, self.offset = nn.Conv2d(8, 3, 1), nn.Conv2d(8, 2, 1), nn.Conv2d(8, 2, 1)

    def take(self, x: Tensor, index: Tensor) -> Tensor:
        x = x.permute(0, 2, 3, 1).contiguous().view(x.size(0), -1, x.size(1))
        return x.gather(1, index.unsqueeze(2).expand(index.size(0), index.size(1), x.size(2)))

    def forward(self, x: Tensor) -> Tensor:
        h = self.net(x)
        heat = self.heat(h).sigmoid()
        peak = F.max_pool2d(heat, (3, 3), stride=1, padding=1)
        heat = heat * (peak == heat).float()
        n, classes, height, width = heat.size()
        scores, index = torch.topk(heat.view(n, classes, -1), 5)
        index = index % (height * width)
        ys, xs = (index / width).int().float(), (index % width).int().float()
        best, which = torch.topk(scores.view(n, -1), 5)
        label = (which / 5).int()
        index, ys, xs = (v.view(n, -1).gather(1, which) for v in (index, ys, xs))
        offset, size = self.take(self.offset(h), index), self.take(self.size(h), index)
        xs, ys = xs.view(n, 5, 1) + offset[:, :, 0:1], ys.view(n, 5, 1) + offset[:, :, 1:2]
        boxes = torch.cat(
            [xs - size[..., 0:1] / 2, ys - size[..., 1:2] / 2, xs + size[..., 0:1] / 2, ys + size[..., 1:2] / 2], 2
        )
        return torch.cat([boxes, best.view(n, 5, 1), label.view(n, 5, 1).float()], 2)


class Yolo(nn.Module):
    """YOLOv3/v5: anchors and grids, sigmoids decoded, suppression per class in a batch of images."""

    def __init__(self, batched: bool = True) -> None:
        super().__init__()
        self.batched = batched
        self.nets = nn.ModuleList([nn.Conv2d(3, 8, 3, 8, 1), nn.Conv2d(8, 8, 3, 2, 1)])
        self.heads = nn.ModuleList([nn.Conv2d(8, 2 * 8, 1), nn.Conv2d(8, 2 * 8, 1)])
        self.register_buffer("anchors", torch.tensor([[[10.0, 13], [16, 30]], [[30, 61], [62, 45]]]))

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        import torchvision

        found, h = [], x
        for i, (net, head) in enumerate(zip(self.nets, self.heads)):
            h = F.silu(net(h))
            out = head(h)
            n, _, ny, nx = out.shape
            out = out.view(n, 2, 8, ny, nx).permute(0, 1, 3, 4, 2).contiguous()
            yv, xv = torch.meshgrid(torch.arange(ny), torch.arange(nx), indexing="ij")
            grid = torch.stack((xv, yv), 2).expand(1, 2, ny, nx, 2).float()
            y = out.sigmoid()
            stride = 8 * 2**i
            y[..., 0:2] = (y[..., 0:2] * 2 - 0.5 + grid) * stride
            y[..., 2:4] = (y[..., 2:4] * 2) ** 2 * self.anchors[i].view(1, 2, 1, 1, 2)
            found.append(y.view(n, -1, 8))
        every = torch.cat(found, 1)
        boxes = torch.cat([every[..., :2] - every[..., 2:4] / 2, every[..., :2] + every[..., 2:4] / 2], -1)
        scores, labels = (every[..., 5:] * every[..., 4:5]).max(-1)
        if not self.batched:
            one = torch.cat((boxes[0], scores[0, :, None], labels[0, :, None].float()), 1)[scores[0] > 0.25]
            keep = torchvision.ops.nms(one[:, :4] + one[:, 5:6] * 4096, one[:, 4], 0.45)[:20]
            return (one[keep],)
        row = torch.arange(x.shape[0]).unsqueeze(1).expand_as(labels)
        ok = scores > 0.25
        boxes, scores, labels, row = boxes[ok], scores[ok], labels[ok], row[ok]
        keep = torchvision.ops.batched_nms(boxes, scores, labels + 3 * row, 0.5)
        boxes = torchvision.ops.clip_boxes_to_image(boxes, (x.shape[2], x.shape[3]))
        return boxes[keep], scores[keep], labels[keep], row[keep]


class BiFPN(nn.Module):
    """EfficientDet: fast normalised weights of levels, resized both ways, and anchors from sizes."""

    def __init__(self) -> None:
        super().__init__()
        self.downs = nn.ModuleList(nn.Conv2d(3 if i == 0 else 8, 8, 3, 2, 1) for i in range(4))
        self.convs = nn.ModuleList(nn.Conv2d(8, 8, 3, padding=1, groups=8) for _ in range(6))
        self.weights = nn.ParameterList(nn.Parameter(torch.ones(n)) for n in (2, 2, 2, 3, 3, 2))
        self.head = nn.Conv2d(8, 4, 3, padding=1)

    def fuse(self, i: int, *parts: Tensor) -> Tensor:
        weight = F.relu(self.weights[i])
        weight = weight / (weight.sum() + 1e-4)
        return self.convs[i](F.silu(sum(weight[k] * part for k, part in enumerate(parts))))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        levels, h = [], x
        for down in self.downs:
            h = F.relu(down(h))
            levels.append(h)
        a, b, c, d = levels
        up = lambda t, like: F.interpolate(t, size=like.shape[-2:], mode="nearest")  # noqa: E731
        c1 = self.fuse(0, c, up(d, c))
        b1 = self.fuse(1, b, up(c1, b))
        a1 = self.fuse(2, a, up(b1, a))
        b2 = self.fuse(3, b, b1, F.max_pool2d(a1, 3, 2, 1))
        c2 = self.fuse(4, c, c1, F.max_pool2d(b2, 3, 2, 1))
        d2 = self.fuse(5, d, F.max_pool2d(c2, 3, 2, 1))
        outs = [self.head(t).permute(0, 2, 3, 1).reshape(x.shape[0], -1, 4) for t in (a1, b2, c2, d2)]
        anchors = []
        for i in range(4):
            stride = 2 ** (i + 1)
            ys = torch.arange(stride / 2, x.shape[2], stride)
            xs = torch.arange(stride / 2, x.shape[3], stride)
            yv, xv = torch.meshgrid(ys, xs, indexing="ij")
            anchors.append(torch.stack([xv.flatten(), yv.flatten()], -1))
        return torch.cat(outs, 1), torch.cat(anchors, 0)


# -- matching ---------------------------------------------------------------------------------------


class KeyPoints(nn.Module):
    """SuperPoint: softmax over cells with a bin for none, suppression by pooling, the best k with their descriptors."""

    def __init__(self, k: int = 12) -> None:
        super().__init__()
        self.k = k
        self.net, self.points, self.describe = nn.Conv2d(1, 8, 3, 8, 1), nn.Conv2d(8, 65, 1), nn.Conv2d(8, 16, 1)

    def suppress(self, scores: Tensor, radius: int = 2) -> Tensor:
        pool = lambda x: F.max_pool2d(x, radius * 2 + 1, stride=1, padding=radius)  # noqa: E731
        zeros = torch.zeros_like(scores)
        peaks = scores == pool(scores)
        for _ in range(2):
            near = pool(peaks.float()) > 0
            rest = torch.where(near, zeros, scores)
            peaks = peaks | ((rest == pool(rest)) & (~near))
        return torch.where(peaks, scores, zeros)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        h = F.relu(self.net(x))
        scores = F.softmax(self.points(h), 1)[:, :-1]
        n, _, height, width = scores.shape
        scores = scores.permute(0, 2, 3, 1).reshape(n, height, width, 8, 8)
        scores = scores.permute(0, 1, 3, 2, 4).reshape(n, height * 8, width * 8)
        scores = self.suppress(scores.unsqueeze(1)).squeeze(1)
        scores[:, :2] = -1
        scores[:, -2:] = -1
        scores[:, :, :2] = -1
        scores[:, :, -2:] = -1
        best, index = scores.flatten(1).topk(self.k)
        points = torch.stack([index % (width * 8), torch.div(index, width * 8, rounding_mode="floor")], -1).float()
        maps = F.normalize(self.describe(h), p=2.0, dim=1)
        where = (points - 3.5) / torch.tensor([width * 8 - 4.5, height * 8 - 4.5])
        found = F.grid_sample(maps, (where * 2 - 1).view(n, 1, -1, 2), mode="bilinear", align_corners=True)
        return points, best, F.normalize(found.reshape(n, 16, -1), p=2.0, dim=1)


class Matcher(nn.Module):
    """LightGlue: rotary positions of points, self and cross attention, a double softmax, mutual matches."""

    def __init__(self) -> None:
        super().__init__()
        self.where, self.qkv, self.out = nn.Linear(2, 4, bias=False), nn.Linear(16, 48), nn.Linear(16, 16)
        self.qk, self.v, self.last = nn.Linear(16, 16), nn.Linear(16, 16), nn.Linear(16, 16)
        self.sure = nn.Linear(16, 1)

    def own(self, x: Tensor, points: Tensor) -> Tensor:
        angle = self.where(points)
        turn = torch.stack([angle.cos(), angle.sin()], 0).unsqueeze(-3).repeat_interleave(2, dim=-1)
        qkv = self.qkv(x).unflatten(-1, (2, -1, 3)).transpose(1, 2)
        q, k, v = qkv[..., 0], qkv[..., 1], qkv[..., 2]

        def rotate(t: Tensor) -> Tensor:
            a, b = t.unflatten(-1, (-1, 2)).unbind(dim=-1)
            return t * turn[0] + torch.stack((-b, a), dim=-1).flatten(start_dim=-2) * turn[1]

        h = F.scaled_dot_product_attention(rotate(q), rotate(k), v)
        return x + self.out(h.transpose(1, 2).flatten(start_dim=-2))

    def forward(self, a: Tensor, b: Tensor, p: Tensor, q: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        size = 1 + p.max(-2).values - p.min(-2).values
        p = (p - size[..., None, :] / 2) / (size.max(-1).values / 2)[..., None, None]
        a, b = self.own(a, p), self.own(b, q)
        sim = torch.einsum("bid,bjd->bij", self.qk(a), self.qk(b)) * 16**-0.5
        x = a + F.softmax(sim, -1) @ self.v(b)
        y = b + F.softmax(sim.transpose(-2, -1).contiguous(), -1) @ self.v(a)
        sim = torch.einsum("bmd,bnd->bmn", self.last(x) / 2, self.last(y) / 2)
        s, t = self.sure(x), self.sure(y)
        n, m, k = sim.shape
        scores = sim.new_full((n, m + 1, k + 1), 0)
        scores[:, :m, :k] = (
            F.log_softmax(sim, 2) + F.log_softmax(sim, 1) + F.logsigmoid(s) + F.logsigmoid(t).transpose(1, 2)
        )
        scores[:, :-1, -1] = F.logsigmoid(-s.squeeze(-1))
        scores[:, -1, :-1] = F.logsigmoid(-t.squeeze(-1))
        best, other = scores[:, :-1, :-1].max(2), scores[:, :-1, :-1].max(1)
        i, j = torch.arange(m)[None], torch.arange(k)[None]
        mutual = i == other.indices.gather(1, best.indices)
        sure = torch.where(mutual, best.values.exp(), sim.new_tensor(0))
        return torch.where(mutual & (sure > 0.001), best.indices, -1), sure, scores + j.sum() * 0


class Sinkhorn(nn.Module):
    """SuperGlue: optimal transport with dustbins, in logarithms, by a loop of fixed length."""

    def __init__(self) -> None:
        super().__init__()
        self.bin = nn.Parameter(torch.tensor(1.0))

    def forward(self, scores: Tensor) -> Tensor:
        n, m, k = scores.shape
        ms, ns = scores.new_tensor(m), scores.new_tensor(k)
        full = torch.cat([
            torch.cat([scores, self.bin.expand(n, m, 1)], -1),
            torch.cat([self.bin.expand(n, 1, k), self.bin.expand(n, 1, 1)], -1),
        ], 1)  # fmt: skip
        norm = -(ms + ns).log()
        mu = torch.cat([norm.expand(m), ns.log()[None] + norm])[None].expand(n, -1)
        nu = torch.cat([norm.expand(k), ms.log()[None] + norm])[None].expand(n, -1)
        u, v = torch.zeros_like(mu), torch.zeros_like(nu)
        for _ in range(5):
            u = mu - torch.logsumexp(full + v.unsqueeze(1), dim=2)
            v = nu - torch.logsumexp(full + u.unsqueeze(2), dim=1)
        return full + u.unsqueeze(2) + v.unsqueeze(1) - norm


# -- segmentation, super resolution -----------------------------------------------------------------


class Gate(nn.Module):
    def __init__(self, a: int, b: int, c: int) -> None:
        super().__init__()
        self.g, self.x, self.psi = (
            nn.Conv2d(a, c, 1),
            nn.Conv2d(b, c, 1),
            nn.Sequential(nn.Conv2d(c, 1, 1), nn.Sigmoid()),
        )

    def forward(self, g: Tensor, x: Tensor) -> Tensor:
        return x * self.psi(F.relu(self.g(g) + self.x(x)))


class AttentionUnet(nn.Module):
    """Attention U-Net and U2Net: gates on what is joined, padding to the other's size, side outputs resized."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.third = (
            nn.Conv2d(3, 8, 3, padding=1),
            nn.Conv2d(8, 12, 3, padding=1),
            nn.Conv2d(12, 16, 3, padding=2, dilation=2),
        )
        self.up2, self.up1 = nn.ConvTranspose2d(16, 12, 2, 2), nn.ConvTranspose2d(12, 8, 2, 2)
        self.gate2, self.gate1 = Gate(12, 12, 6), Gate(8, 8, 4)
        self.mix2, self.mix1 = nn.Conv2d(24, 12, 3, padding=1), nn.Conv2d(16, 8, 3, padding=1)
        self.sides = nn.ModuleList(
            [nn.Conv2d(8, 1, 3, padding=1), nn.Conv2d(12, 1, 3, padding=1), nn.Conv2d(16, 1, 3, padding=1)]
        )
        self.last = nn.Conv2d(3, 1, 1)

    def join(self, up: Tensor, skip: Tensor) -> Tensor:
        dy, dx = skip.size(2) - up.size(2), skip.size(3) - up.size(3)
        return F.pad(up, [dx // 2, dx - dx // 2, dy // 2, dy - dy // 2])

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        a = F.relu(self.first(x))
        b = F.relu(self.second(F.max_pool2d(a, 2)))
        c = F.relu(self.third(F.max_pool2d(b, 2, stride=2, ceil_mode=True)))
        up = self.join(self.up2(c)[:, :, : b.shape[2], : b.shape[3]], b)
        d = F.relu(self.mix2(torch.cat([self.gate2(up, b), up], 1)))
        up = self.join(self.up1(d), a)
        e = F.relu(self.mix1(torch.cat([self.gate1(up, a), up], 1)))
        sides = [
            F.interpolate(side(t), size=x.shape[2:], mode="bilinear", align_corners=False)
            for side, t in zip(self.sides, (e, d, c))
        ]
        return (
            torch.sigmoid(self.last(torch.cat(sides, 1))),
            torch.sigmoid(sides[0]),
            torch.sigmoid(sides[1]),
            torch.sigmoid(sides[2]),
        )


class SwinIR(nn.Module):
    """Windows of 4, shifted, with a mask made of the image's size, reflected padding, PixelShuffle."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm = nn.Conv2d(3, 16, 3, padding=1), nn.LayerNorm(16)
        self.qkv, self.out = nn.Linear(16, 48), nn.Linear(16, 16)
        self.table = nn.Parameter(torch.randn(49, 2) * 0.1)
        coords = torch.stack(torch.meshgrid(torch.arange(4), torch.arange(4), indexing="ij")).flatten(1)
        relative = (coords[:, :, None] - coords[:, None, :]).permute(1, 2, 0) + 3
        self.register_buffer("index", relative[:, :, 0] * 7 + relative[:, :, 1])
        self.up = nn.Sequential(nn.Conv2d(16, 12, 3, padding=1), nn.PixelShuffle(2))

    def windows(self, x: Tensor) -> Tensor:
        n, h, w, c = x.shape
        return x.view(n, h // 4, 4, w // 4, 4, c).permute(0, 1, 3, 2, 4, 5).contiguous().view(-1, 16, c)

    def mask(self, h: int, w: int) -> Tensor:
        parts = torch.zeros((1, h, w, 1))
        count = 0
        for rows in (slice(0, -4), slice(-4, -2), slice(-2, None)):
            for columns in (slice(0, -4), slice(-4, -2), slice(-2, None)):
                parts[:, rows, columns, :] = count
                count += 1
        flat = self.windows(parts).view(-1, 16)
        mask = flat.unsqueeze(1) - flat.unsqueeze(2)
        return mask.masked_fill(mask != 0, -100.0).masked_fill(mask == 0, 0.0)

    def attend(self, x: Tensor, shift: int) -> Tensor:
        n, h, w, c = x.shape
        y = torch.roll(self.norm(x), shifts=(-shift, -shift), dims=(1, 2)) if shift else self.norm(x)
        y = self.windows(y)
        q, k, v = self.qkv(y).reshape(-1, 16, 3, 2, 8).permute(2, 0, 3, 1, 4).unbind(0)
        scores = q @ k.transpose(-2, -1) / 8**0.5
        scores = scores + self.table[self.index.view(-1)].view(16, 16, 2).permute(2, 0, 1).unsqueeze(0)
        if shift:
            mask = self.mask(h, w)
            scores = scores.view(-1, mask.shape[0], 2, 16, 16) + mask.unsqueeze(1).unsqueeze(0)
            scores = scores.view(-1, 2, 16, 16)
        y = self.out((scores.softmax(-1) @ v).transpose(1, 2).reshape(-1, 16, c))
        n = int(y.shape[0] / (h * w / 4 / 4))
        y = y.view(n, h // 4, w // 4, 4, 4, -1).permute(0, 1, 3, 2, 4, 5).contiguous().view(n, h, w, -1)
        return x + (torch.roll(y, shifts=(shift, shift), dims=(1, 2)) if shift else y)

    def forward(self, x: Tensor) -> Tensor:
        h, w = x.shape[2:]
        x = F.pad(x, (0, (4 - w % 4) % 4, 0, (4 - h % 4) % 4), "reflect")
        y = self.first(x).permute(0, 2, 3, 1)
        y = self.attend(self.attend(y, 0), 2).permute(0, 3, 1, 2)
        return self.up(y)[:, :, : h * 2, : w * 2]


class Capsules(nn.Module):
    """Routing by agreement between capsules, and a decoder of the longest."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(1, 8, 5, 2), nn.Conv2d(8, 16, 5, 2)
        self.weight = nn.Parameter(torch.randn(1, 64, 5, 6, 4) * 0.2)
        self.decode = nn.Linear(30, 16)

    def squash(self, x: Tensor) -> Tensor:
        norm = (x**2).sum(-1, keepdim=True)
        return norm / (1 + norm) * x / torch.sqrt(norm + 1e-8)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        h = self.second(F.relu(self.first(x)))
        u = self.squash(h.view(x.size(0), 4, 4, -1).permute(0, 1, 3, 2).reshape(x.size(0), -1, 4))
        hat = torch.matmul(self.weight, torch.stack([u] * 5, dim=2).unsqueeze(4))
        logits = torch.zeros(1, 64, 5, 1)
        for i in range(3):
            c = F.softmax(logits, dim=2)
            c = torch.cat([c] * x.size(0), dim=0).unsqueeze(4) if i == 0 else c.unsqueeze(4)
            v = self.squash((c * hat).sum(dim=1, keepdim=True).squeeze(-1)).unsqueeze(-1)
            if i < 2:
                agreement = torch.matmul(hat.transpose(3, 4), torch.cat([v] * 64, dim=1))
                logits = logits + agreement.squeeze(4)
        v = v.squeeze(1).squeeze(-1)
        length = (v**2).sum(-1).sqrt()
        chosen = torch.eye(5).index_select(0, length.max(1)[1])
        return length, torch.sigmoid(self.decode((v * chosen[:, :, None]).view(x.size(0), -1)))


# -- rendering --------------------------------------------------------------------------------------


class Radiance(nn.Module):
    """NeRF: rays of a camera, positions encoded, densities summed along rays, and a second, finer sampling."""

    def __init__(self, samples: int = 8) -> None:
        super().__init__()
        self.samples = samples
        self.net, self.out = nn.Linear(3 + 3 * 2 * 4, 16), nn.Linear(16, 4)

    def encode(self, x: Tensor) -> Tensor:
        parts = [x]
        for band in 2.0 ** torch.linspace(0.0, 3.0, steps=4):
            for fn in (torch.sin, torch.cos):
                parts.append(fn(x * band))
        return torch.cat(parts, -1)

    def render(self, raw: Tensor, depth: Tensor, direction: Tensor) -> tuple[Tensor, Tensor]:
        gap = depth[..., 1:] - depth[..., :-1]
        gap = torch.cat([gap, torch.tensor([1e10]).expand(gap[..., :1].shape)], -1)
        gap = gap * torch.norm(direction[..., None, :], dim=-1)
        alpha = 1.0 - torch.exp(-F.relu(raw[..., 3]) * gap)
        clear = torch.cumprod(torch.cat([torch.ones((alpha.shape[0], 1)), 1.0 - alpha + 1e-10], -1), -1)[:, :-1]
        weights = alpha * clear
        return torch.sum(weights[..., None] * torch.sigmoid(raw[..., :3]), -2), weights

    def finer(self, bins: Tensor, weights: Tensor) -> Tensor:
        weights = weights + 1e-5
        cdf = torch.cumsum(weights / torch.sum(weights, -1, keepdim=True), -1)
        cdf = torch.cat([torch.zeros_like(cdf[..., :1]), cdf], -1)
        u = torch.linspace(0.03, 0.97, steps=5).expand([*cdf.shape[:-1], 5]).contiguous()
        index = torch.searchsorted(cdf, u, right=True)
        below, above = (
            torch.max(torch.zeros_like(index - 1), index - 1),
            torch.min((cdf.shape[-1] - 1) * torch.ones_like(index), index),
        )
        both = torch.stack([below, above], -1)
        shape = [both.shape[0], both.shape[1], cdf.shape[-1]]
        c = torch.gather(cdf.unsqueeze(1).expand(shape), 2, both)
        b = torch.gather(bins.unsqueeze(1).expand(shape), 2, both)
        width = c[..., 1] - c[..., 0]
        width = torch.where(width < 1e-5, torch.ones_like(width), width)
        return b[..., 0] + (u - c[..., 0]) / width * (b[..., 1] - b[..., 0])

    def query(self, origin: Tensor, direction: Tensor, depth: Tensor) -> Tensor:
        points = origin[..., None, :] + direction[..., None, :] * depth[..., :, None]
        flat = torch.reshape(points, [-1, points.shape[-1]])
        raw = self.out(F.relu(self.net(self.encode(flat))))
        return torch.reshape(raw, list(points.shape[:-1]) + [raw.shape[-1]])

    def forward(self, origin: Tensor, direction: Tensor) -> tuple[Tensor, Tensor]:
        t = torch.linspace(0.0, 1.0, steps=self.samples)
        depth = (2.0 * (1.0 - t) + 6.0 * t).expand([origin.shape[0], self.samples])
        _, weights = self.render(self.query(origin, direction, depth), depth, direction)
        middle = 0.5 * (depth[..., 1:] + depth[..., :-1])
        fine = self.finer(middle, weights[..., 1:-1])
        depth = torch.sort(torch.cat([depth, fine], -1), -1)[0]
        colour, weights = self.render(self.query(origin, direction, depth), depth, direction)
        return colour, torch.sum(weights * depth, -1)


class HashGrid(nn.Module):
    """Instant-NGP: levels of a grid in a hash table, by XOR of products, with trilinear weights; then SIREN."""

    def __init__(self) -> None:
        super().__init__()
        self.tables = nn.ParameterList(nn.Parameter(torch.randn(64, 2)) for _ in range(3))
        self.register_buffer("primes", torch.tensor([1, 2654435761, 805459861]))
        corners = torch.stack(torch.meshgrid(*[torch.arange(2)] * 3, indexing="ij"), -1).view(1, 8, 3)
        self.register_buffer("corners", corners)
        self.first, self.second = nn.Linear(6, 16), nn.Linear(16, 3)

    def forward(self, x: Tensor) -> Tensor:
        found = []
        for i, table in enumerate(self.tables):
            scaled = x * (4 * 2**i)
            low = torch.floor(scaled).long()
            part = (scaled - low).unsqueeze(1)
            corner = low.unsqueeze(1) + self.corners
            keyed = corner * self.primes
            key = (keyed[..., 0] ^ keyed[..., 1] ^ keyed[..., 2]) & 63
            weight = torch.where(self.corners > 0, part, 1 - part).prod(-1, keepdim=True)
            found.append((table[key] * weight).sum(1))
        return self.second(torch.sin(30 * self.first(torch.cat(found, -1))))


class Splat(nn.Module):
    """Soft rasterising: sums of Gaussians on a grid, forward warps by index_put, z by a scattered minimum."""

    def forward(self, points: Tensor, colour: Tensor, image: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        n, _, h, w = image.shape
        ys, xs = torch.linspace(-1, 1, h), torch.linspace(-1, 1, w)
        grid = torch.stack(torch.meshgrid(ys, xs, indexing="ij"), -1).view(1, 1, h, w, 2)
        near = torch.exp(-((grid - points[:, :, None, None, 1:]) ** 2).sum(-1) / 0.05)
        soft = torch.einsum("nphw,npc->nchw", near, colour) / (near.sum(1, keepdim=True) + 1e-4)
        px = ((points[..., 2].clamp(-1, 1) + 1) / 2 * (w - 1)).round().long()
        py = ((points[..., 1].clamp(-1, 1) + 1) / 2 * (h - 1)).round().long()
        flat = py * w + px
        depth = torch.full((n, h * w), 10.0).scatter_reduce(1, flat, points[..., 0], "amin")
        count = torch.zeros(n, h, w)
        rows = torch.arange(n)[:, None].expand_as(px)
        count.index_put_((rows, py, px), torch.ones_like(points[..., 0]), accumulate=True)
        return soft * image, depth.view(n, h, w), count


class ThinPlate(nn.Module):
    """Spatial transformers: affine grids and thin plate splines, whose system is solved, and rotated crops."""

    def __init__(self) -> None:
        super().__init__()
        self.locate = nn.Sequential(nn.Conv2d(3, 4, 5, 4), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(16, 6 + 18))
        ys, xs = torch.meshgrid(torch.linspace(-1, 1, 3), torch.linspace(-1, 1, 3), indexing="ij")
        self.register_buffer("control", torch.stack([xs, ys], -1).view(9, 2))

    def kernel(self, a: Tensor, b: Tensor) -> Tensor:
        d = ((a[..., :, None, :] - b[..., None, :, :]) ** 2).sum(-1)
        return torch.where(d == 0, torch.zeros_like(d), d * torch.log(d.clamp(min=1e-12)))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        n, _, h, w = x.shape
        theta = self.locate(x)
        affine = F.grid_sample(
            x,
            F.affine_grid(theta[:, :6].view(-1, 2, 3), list(x.shape), align_corners=False),
            align_corners=False,
            padding_mode="border",
        )
        target = self.control + 0.1 * torch.tanh(theta[:, 6:].view(-1, 9, 2))
        one = torch.ones(9, 1)
        p = torch.cat([one, self.control], 1)
        top = torch.cat([self.kernel(self.control, self.control) + 0.01 * torch.eye(9), p], 1)
        system = torch.cat([top, torch.cat([p.T, torch.zeros(3, 3)], 1)], 0)
        coefficient = torch.linalg.solve(system.expand(n, 12, 12), torch.cat([target, torch.zeros(n, 3, 2)], 1))
        ys, xs = torch.meshgrid(torch.linspace(-1, 1, h), torch.linspace(-1, 1, w), indexing="ij")
        grid = torch.stack([xs, ys], -1).view(-1, 2)
        basis = torch.cat([self.kernel(grid, self.control), torch.ones(grid.shape[0], 1), grid], 1)
        return affine, F.grid_sample(x, (basis @ coefficient).view(n, h, w, 2), align_corners=True)


# -- the table --------------------------------------------------------------------------------------


def both(name: str, make: Callable[[], nn.Module], example: dict[str, Any], other: dict[str, Any], **more: Any) -> None:
    """The traced model, and the scripted one."""
    add(name, FAMILY, lambda: Zoo(make(), example, other, **more))
    add(f"{name}, scripted", FAMILY, lambda: Zoo(torch.jit.script(make()), example, other, **more))


def traced(
    name: str, make: Callable[[], nn.Module], example: dict[str, Any], other: dict[str, Any], **more: Any
) -> None:
    add(name, FAMILY, lambda: Zoo(make(), example, other, **more))


def masks(n: int, h: int, w: int) -> Tensor:
    mask = torch.zeros(n, h, w, dtype=torch.bool)
    mask[0, -h // 4 :] = True
    mask[-1, :, -w // 3 :] = True
    return mask


def fill() -> None:
    images = {"x": image(2, 64, 96)}, {"x": image(3, 96, 128)}
    both("PointNet++", PointNetPlus, {"xyz": normal(2, 24, 3)}, {"xyz": normal(3, 31, 3)})
    both("DGCNN", DynamicGraph, {"x": normal(2, 3, 20)}, {"x": normal(3, 3, 27)})
    for up, name in ((True, "up"), (False, "same")):
        f = 2 if up else 1
        a = {"x": normal(2, 8, 6, 9), "w": normal(2, 12), "noise": normal(2, 1, 6 * f, 9 * f)}
        b = {"x": normal(3, 8, 8, 7), "w": normal(3, 12), "noise": normal(3, 1, 8 * f, 7 * f)}
        both(f"modulated convolution, {name}", lambda up=up: Modulated(up=up), a, b)
    both("upfirdn", UpFirDn, {"x": normal(2, 3, 8, 10)}, {"x": normal(3, 3, 11, 6)})
    traced(
        "adaptive norms", AdaptiveNorm, {"x": normal(2, 8, 6, 9), "w": normal(2, 12), "layout": normal(2, 3, 12, 18)},
        {"x": normal(3, 8, 8, 7), "w": normal(3, 12), "layout": normal(3, 3, 16, 14)},
    )  # fmt: skip
    traced("correlation", Correlation, {"first": image(2, 32, 48), "second": image(2, 32, 48) + 0.3 * normal(2, 3, 32, 48, seed=4)},
           {"first": image(3, 48, 40), "second": image(3, 48, 40) + 0.3 * normal(3, 3, 48, 40, seed=4)})  # fmt: skip
    sized = [
        {"x": image(n, h, w), "mask": masks(n, h, w), "sizes": torch.tensor([[480.0, 640.0]]).repeat(n, 1)}
        for n, h, w in ((2, 64, 96), (3, 96, 80))
    ]
    both("DETR", Queries, sized[0], sized[1])
    both("CenterNet", Centers, *images)
    traced("YOLO, batched", Yolo, *images, unordered=True)
    traced("YOLO, one image", lambda: Yolo(False), {"x": image(1, 64, 96)}, {"x": image(1, 96, 128)}, unordered=True)
    traced("BiFPN", BiFPN, {"x": image(2, 64, 96)}, {"x": image(3, 80, 112)})
    traced("SuperPoint", KeyPoints, {"x": image(2, 64, 96, 1)}, {"x": image(3, 96, 128, 1)})

    def matched(n: int, m: int, k: int) -> dict[str, Tensor]:
        return {
            "a": normal(n, m, 16),
            "b": normal(n, k, 16, seed=1),
            "p": normal(n, m, 2),
            "q": normal(n, k, 2, seed=2),
        }

    traced("LightGlue", Matcher, matched(2, 7, 9), matched(3, 12, 8))
    traced("SuperGlue's transport", Sinkhorn, {"scores": normal(2, 6, 8)}, {"scores": normal(3, 9, 5)})
    both("Attention U-Net", AttentionUnet, {"x": image(2, 34, 45)}, {"x": image(3, 48, 37)})
    traced("SwinIR", SwinIR, {"x": image(2, 18, 23)}, {"x": image(3, 25, 30)})
    traced("capsules", Capsules, {"x": image(2, 28, 28, 1)}, {"x": image(3, 28, 28, 1)})
    rays = [{"origin": normal(n, 3), "direction": normal(n, 3, seed=1)} for n in (10, 17)]
    traced("NeRF", Radiance, rays[0], rays[1])
    both("hash grid and SIREN", HashGrid, {"x": uniform(12, 3)}, {"x": uniform(19, 3)})
    splats = [
        {"points": normal(n, p, 3), "colour": uniform(n, p, 3), "image": uniform(n, 3, h, w)}
        for n, p, h, w in ((2, 7, 9, 12), (3, 11, 14, 8))
    ]
    both("splatting", Splat, splats[0], splats[1])
    both("thin plate splines", ThinPlate, {"x": image(2, 24, 30)}, {"x": image(3, 33, 26)})


fill()
