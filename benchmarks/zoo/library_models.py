"""Short models in the style of libraries: graphs, segmentation decoders, detection heads, image operations,
recommendation, point clouds."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from entry import Family, Zoo, add, image, normal, tokens, uniform

traced = Family("library styles").traced

# -- graphs -----------------------------------------------------------------------------------------


def scatter_mean(values: torch.Tensor, index: torch.Tensor, size: int) -> torch.Tensor:
    total = values.new_zeros(size, values.shape[1]).index_add_(0, index, values)
    count = values.new_zeros(size).index_add_(0, index, torch.ones_like(index, dtype=values.dtype))
    return total / count.clamp(min=1).unsqueeze(-1)


class GraphConvolution(nn.Module):
    """GCN: D^-1/2 (A + I) D^-1/2 X W over edges."""

    def __init__(self, a: int, b: int) -> None:
        super().__init__()
        self.linear, self.bias = nn.Linear(a, b, bias=False), nn.Parameter(torch.zeros(b))

    def forward(self, x: torch.Tensor, edges: torch.Tensor) -> torch.Tensor:
        n = x.size(0)
        loops = torch.arange(n, device=x.device).unsqueeze(0).repeat(2, 1)
        edges = torch.cat([edges, loops], 1)
        source, target = edges[0], edges[1]
        degree = torch.zeros(n).scatter_add_(0, target, torch.ones(edges.size(1)))
        norm = degree.pow(-0.5)
        norm = norm.masked_fill(norm == float("inf"), 0)
        weight = norm[source] * norm[target]
        x = self.linear(x)
        out = torch.zeros_like(x)
        return out.index_add(0, target, weight.view(-1, 1) * x.index_select(0, source)) + self.bias


class GraphAttention(nn.Module):
    """GAT: a softmax over the edges that arrive at a node."""

    def __init__(self, a: int, b: int, heads: int) -> None:
        super().__init__()
        self.heads, self.width = heads, b
        self.linear = nn.Linear(a, heads * b, bias=False)
        self.sources, self.targets = nn.Parameter(torch.randn(1, heads, b)), nn.Parameter(torch.randn(1, heads, b))

    def forward(self, x: torch.Tensor, edges: torch.Tensor) -> torch.Tensor:
        n = x.size(0)
        h = self.linear(x).view(-1, self.heads, self.width)
        alpha = (h * self.sources).sum(-1)[edges[0]] + (h * self.targets).sum(-1)[edges[1]]
        alpha = F.leaky_relu(alpha, 0.2)
        index = edges[1].view(-1, 1).expand_as(alpha)
        largest = torch.full((n, self.heads), -math.inf).scatter_reduce(0, index, alpha, "amax", include_self=False)
        alpha = (alpha - largest.gather(0, index)).exp()
        total = torch.zeros(n, self.heads).scatter_add(0, index, alpha) + 1e-16
        alpha = alpha / total.gather(0, index)
        message = h[edges[0]] * alpha.unsqueeze(-1)
        out = torch.zeros(n, self.heads, self.width).index_add(0, edges[1], message)
        return out.flatten(1)


class GraphNetwork(nn.Module):
    """GCN, GAT and SAGE layers, and pooling of nodes by the graph that they belong to."""

    def __init__(self) -> None:
        super().__init__()
        self.gcn, self.gat, self.own, self.other = (
            GraphConvolution(6, 8),
            GraphAttention(8, 4, 2),
            nn.Linear(8, 8),
            nn.Linear(8, 8),
        )
        self.gru, self.gate, self.head = nn.GRUCell(8, 8), nn.Linear(8, 1), nn.Linear(16, 3)

    def forward(self, x: torch.Tensor, edge_index: torch.Tensor, batch: torch.Tensor) -> torch.Tensor:
        x = self.gcn(x, edge_index).relu()
        x = F.elu(self.gat(x, edge_index))
        x = self.own(x) + self.other(scatter_mean(x[edge_index[0]], edge_index[1], x.shape[0]))
        x = self.gru(scatter_mean(x[edge_index[0]], edge_index[1], x.shape[0]), x)
        graphs = int(batch.max()) + 1 if not torch.jit.is_tracing() else 3
        mean = scatter_mean(x, batch, graphs)
        weight = self.gate(x)
        weight = torch.softmax(weight, 0)
        total = torch.zeros(graphs, x.shape[1]).index_add_(0, batch, weight * x)
        return self.head(torch.cat([mean, total], 1))


def graphs() -> Zoo:
    def arguments(nodes: int, edges: int) -> dict[str, Any]:
        generator = torch.Generator().manual_seed(nodes)
        return {
            "x": normal(nodes, 6),
            "edge_index": torch.randint(0, nodes, (2, edges), generator=generator),
            "batch": torch.arange(nodes) * 3 // nodes,
        }

    return Zoo(GraphNetwork(), arguments(12, 30), arguments(9, 21))


class EdgeConvolution(nn.Module):
    """DGCNN: nearest neighbours in feature space."""

    def __init__(self, k: int = 4) -> None:
        super().__init__()
        self.k = k
        self.conv = nn.Sequential(nn.Conv2d(6, 16, 1, bias=False), nn.BatchNorm2d(16), nn.LeakyReLU(0.2))
        self.head = nn.Linear(32, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        n, channels, points = x.size()
        inner = -2 * torch.matmul(x.transpose(2, 1), x)
        square = torch.sum(x**2, dim=1, keepdim=True)
        distance = -square - inner - square.transpose(2, 1)
        index = distance.topk(k=self.k, dim=-1)[1]
        index = (index + torch.arange(0, n).view(-1, 1, 1) * points).view(-1)
        flat = x.transpose(2, 1).contiguous()
        feature = flat.view(n * points, -1)[index, :].view(n, points, self.k, channels)
        flat = flat.view(n, points, 1, channels).repeat(1, 1, self.k, 1)
        feature = torch.cat((feature - flat, flat), dim=3).permute(0, 3, 1, 2).contiguous()
        x = self.conv(feature).max(dim=-1, keepdim=False)[0]
        return self.head(
            torch.cat([F.adaptive_max_pool1d(x, 1).squeeze(-1), F.adaptive_avg_pool1d(x, 1).squeeze(-1)], 1)
        )


class PointNet(nn.Module):
    """Furthest points, balls around them, and interpolation back: PointNet++ in few lines."""

    def __init__(self, centres: int = 6, neighbours: int = 4) -> None:
        super().__init__()
        self.centres, self.neighbours = centres, neighbours
        self.mlp = nn.Sequential(nn.Conv2d(3, 16, 1), nn.BatchNorm2d(16), nn.ReLU(), nn.Conv2d(16, 16, 1))
        self.head = nn.Linear(19, 5)

    def forward(self, points: torch.Tensor) -> torch.Tensor:
        n, count, _ = points.shape
        distance = torch.full((n, count), 1e10)
        furthest = torch.zeros(n, dtype=torch.long)
        chosen = []
        rows = torch.arange(n)
        for _ in range(self.centres):
            chosen.append(furthest)
            centre = points[rows, furthest, :].view(n, 1, 3)
            distance = torch.minimum(distance, ((points - centre) ** 2).sum(-1))
            furthest = distance.max(-1)[1]
        index = torch.stack(chosen, 1)
        centres = points.gather(1, index.unsqueeze(-1).expand(-1, -1, 3))
        square = torch.cdist(centres, points)
        near = square.topk(self.neighbours, largest=False).indices
        groups = (
            points.unsqueeze(1).expand(-1, self.centres, -1, -1).gather(2, near.unsqueeze(-1).expand(-1, -1, -1, 3))
        )
        groups = (groups - centres.unsqueeze(2)).permute(0, 3, 1, 2)
        feature = self.mlp(groups).amax(-1)
        back, nearest = torch.cdist(points, centres).sort(-1)
        weight = 1.0 / (back[..., :3] + 1e-8)
        weight = weight / weight.sum(-1, keepdim=True)
        picked = feature.transpose(1, 2).unsqueeze(1).expand(-1, count, -1, -1)
        picked = picked.gather(2, nearest[..., :3].unsqueeze(-1).expand(-1, -1, -1, 16))
        return self.head(torch.cat([points, (picked * weight.unsqueeze(-1)).sum(2)], -1))


# -- images -----------------------------------------------------------------------------------------


class Attention2d(nn.Module):
    """scSE: squeeze and excitation of channels and of places."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.channels = nn.Sequential(
            nn.AdaptiveAvgPool2d(1), nn.Conv2d(channels, 4, 1), nn.ReLU(), nn.Conv2d(4, channels, 1), nn.Sigmoid()
        )
        self.places = nn.Sequential(nn.Conv2d(channels, 1, 1), nn.Sigmoid())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.channels(x) + x * self.places(x)


def block(a: int, b: int, stride: int = 1) -> nn.Module:
    return nn.Sequential(nn.Conv2d(a, b, 3, stride, 1, bias=False), nn.BatchNorm2d(b), nn.ReLU(inplace=True))


class UnetPlusPlus(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.d0, self.d1, self.d2 = block(3, 8), block(8, 16, 2), block(16, 24, 2)
        self.u01, self.u11, self.u02 = block(24, 8), block(40, 16), block(32, 8)
        self.attention, self.head = Attention2d(8), nn.Conv2d(8, 4, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        height, width = x.shape[-2:]
        if height % 4 != 0 or width % 4 != 0:
            raise RuntimeError("sizes have to be divisible by 4")
        a = self.d0(x)
        b = self.d1(a)
        c = self.d2(b)
        ab = self.u01(torch.cat([F.interpolate(b, scale_factor=2, mode="nearest"), a], 1))
        bc = self.u11(torch.cat([F.interpolate(c, scale_factor=2, mode="nearest"), b], 1))
        d = self.u02(torch.cat([F.interpolate(bc, size=a.shape[2:], mode="bilinear", align_corners=True), a, ab], 1))
        return self.head(self.attention(d))


class PyramidPooling(nn.Module):
    """PSPNet, a feature pyramid, and ASPP, on one stem."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(block(3, 8, 2), block(8, 16, 2))
        self.pools = nn.ModuleList(
            nn.Sequential(nn.AdaptiveAvgPool2d(n), nn.Conv2d(16, 4, 1), nn.ReLU()) for n in (1, 2, 4)
        )
        self.atrous = nn.ModuleList(nn.Conv2d(28, 8, 3, padding=r, dilation=r) for r in (1, 2, 3))
        self.image = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(28, 8, 1), nn.ReLU())
        self.head, self.norm = nn.Conv2d(32, 5, 1), nn.GroupNorm(4, 32)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        f = self.stem(x)
        size = f.shape[-2:]
        f = torch.cat([f, *(F.interpolate(p(f), size, mode="bilinear", align_corners=False) for p in self.pools)], 1)
        g = [a(f) for a in self.atrous] + [
            F.interpolate(self.image(f), size=size, mode="bilinear", align_corners=False)
        ]
        return F.interpolate(
            self.head(self.norm(torch.cat(g, 1))), size=x.shape[-2:], mode="bilinear", align_corners=False
        )


class AnchorFreeHead(nn.Module):
    """Three levels, distributions over distances to the sides, points of a grid: YOLOv8's head."""

    def __init__(self, classes: int = 5, bins: int = 8) -> None:
        super().__init__()
        self.classes, self.bins, self.strides = classes, bins, (4, 8, 16)
        self.stages = nn.ModuleList([nn.Sequential(block(3, 8, 2), block(8, 8, 2)), block(8, 12, 2), block(12, 16, 2)])
        self.boxes = nn.ModuleList(nn.Conv2d(c, 4 * bins, 1) for c in (8, 12, 16))
        self.kinds = nn.ModuleList(nn.Conv2d(c, classes, 1) for c in (8, 12, 16))
        self.project = nn.Conv2d(bins, 1, 1, bias=False).requires_grad_(False)
        self.project.weight.data[:] = torch.arange(bins, dtype=torch.float).view(1, bins, 1, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        levels = []
        for stage, box, kind in zip(self.stages, self.boxes, self.kinds):
            x = stage(x)
            levels.append(torch.cat((box(x), kind(x)), 1))
        n = x.shape[0]
        points, scales = [], []
        for level, stride in zip(levels, self.strides):
            _, _, height, width = level.shape
            sx = torch.arange(end=width, dtype=x.dtype) + 0.5
            sy = torch.arange(end=height, dtype=x.dtype) + 0.5
            sy, sx = torch.meshgrid(sy, sx, indexing="ij")
            points.append(torch.stack((sx, sy), -1).view(-1, 2))
            scales.append(torch.full((height * width, 1), stride, dtype=x.dtype))
        anchors, strides = torch.cat(points).transpose(0, 1), torch.cat(scales).transpose(0, 1)
        flat = torch.cat([level.view(n, self.bins * 4 + self.classes, -1) for level in levels], 2)
        box, kind = flat.split((self.bins * 4, self.classes), 1)
        b, _, a = box.shape
        distance = self.project(box.view(b, 4, self.bins, a).transpose(2, 1).softmax(1)).view(b, 4, a)
        left, right = distance.chunk(2, 1)
        first, second = anchors.unsqueeze(0) - left, anchors.unsqueeze(0) + right
        boxes = torch.cat(((first + second) / 2, second - first), 1) * strides
        return torch.cat((boxes, kind.sigmoid()), 1)


class Detector(AnchorFreeHead):
    """Non-maximum suppression behind it, by classes, of one image."""

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        import torchvision

        out = super().forward(x)[0].transpose(0, 1)
        box, scores = out[:, :4], out[:, 4:]
        best, kind = scores.max(1)
        keep = best > 0.45
        box, best, kind = box[keep], best[keep], kind[keep]
        corners = torch.cat([box[:, :2] - box[:, 2:] / 2, box[:, :2] + box[:, 2:] / 2], 1)
        kept = torchvision.ops.batched_nms(corners, best, kind, 0.5)[:20]
        return corners[kept], best[kept], kind[kept]


class Focus(nn.Module):
    """Pieces of YOLO: space to depth, spatial pyramid pooling, C2f, transposed convolution, anchors with a grid."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.split, self.mix = block(12, 16), nn.Conv2d(16, 16, 1), nn.Conv2d(24, 16, 1)
        self.inner, self.pool, self.spp = block(8, 8), nn.MaxPool2d(5, 1, 2), nn.Conv2d(64, 16, 1)
        self.up, self.head = nn.ConvTranspose2d(16, 16, 2, 2), nn.Conv2d(16, 3 * 9, 1)
        self.register_buffer("anchors", torch.tensor([[10.0, 13], [16, 30], [33, 23]]))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.cat([x[..., ::2, ::2], x[..., 1::2, ::2], x[..., ::2, 1::2], x[..., 1::2, 1::2]], 1)
        x = F.hardswish(self.stem(x))
        parts = list(self.split(x).chunk(2, 1))
        parts.append(self.inner(parts[-1]))
        x = self.mix(torch.cat(parts, 1))
        pools = [x]
        for _ in range(3):
            pools.append(self.pool(pools[-1]))
        x = self.head(self.up(F.silu(self.spp(torch.cat(pools, 1)))))
        n, _, height, width = x.shape
        x = x.view(n, 3, 9, height, width).permute(0, 1, 3, 4, 2).contiguous()
        y, z = torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")
        grid = torch.stack((z, y), 2).expand(1, 3, height, width, 2) - 0.5
        anchors = self.anchors.view(1, 3, 1, 1, 2).expand(1, 3, height, width, 2)
        place, size, rest = x.sigmoid().split((2, 2, 5), 4)
        return torch.cat(((place * 2 + grid) * 8, (size * 2) ** 2 * anchors, rest), 4).view(n, 3 * height * width, 9)


class ImageOperations(nn.Module):
    """Colour spaces, filters, edges, warps and corners."""

    def forward(self, x: torch.Tensor, angle: torch.Tensor) -> dict[str, torch.Tensor]:
        n, _, height, width = x.shape
        red, green, blue = x.unbind(1)
        grey = (0.299 * red + 0.587 * green + 0.114 * blue).unsqueeze(1)
        largest, which = x.max(1)
        smallest = x.min(1)[0]
        delta = largest - smallest
        safe = torch.where(delta == 0, torch.ones_like(delta), delta)
        hues = torch.stack([(green - blue) / safe % 6, (blue - red) / safe + 2, (red - green) / safe + 4], 1)
        hue = hues.gather(1, which.unsqueeze(1)).squeeze(1) / 6
        saturation = delta / (largest + 1e-6)
        line = torch.arange(5, dtype=x.dtype) - 2
        kernel = torch.exp(-(line**2) / 2)
        kernel = kernel / kernel.sum()
        kernel = torch.outer(kernel, kernel).expand(3, 1, 5, 5)
        blurred = F.conv2d(F.pad(x, (2, 2, 2, 2), mode="reflect"), kernel, groups=3)
        sobel = torch.tensor([[-1.0, 0, 1], [-2, 0, 2], [-1, 0, 1]])
        both = torch.stack([sobel, sobel.t()]).unsqueeze(1)
        gradient = F.conv2d(F.pad(grey, (1, 1, 1, 1), mode="replicate"), both)
        edges = (gradient.pow(2).sum(1, keepdim=True) + 1e-6).sqrt()
        cos, sin, zero = angle.cos(), angle.sin(), torch.zeros_like(angle)
        matrix = torch.stack([torch.stack([cos, -sin, zero], -1), torch.stack([sin, cos, zero], -1)], 1)
        grid = F.affine_grid(matrix, [n, 3, height, width], align_corners=False)
        turned = F.grid_sample(x, grid, mode="bilinear", padding_mode="border", align_corners=False)
        peaks = (F.max_pool2d(edges, 3, 1, 1) == edges).to(x.dtype) * edges
        eroded = F.unfold(F.pad(grey, [1] * 4, value=1.0), 3).view(n, 9, height, width).amin(1)
        unsharp = (x + (x - blurred)).clamp(0, 1)
        small = F.interpolate(x, scale_factor=0.5, mode="bicubic", align_corners=False, antialias=False)
        return {
            "hue": hue, "saturation": saturation, "blurred": blurred, "edges": edges, "turned": turned, "peaks": peaks,
            "eroded": eroded, "unsharp": unsharp, "small": small, "mean": x.flatten(2).mean(-1),
        }  # fmt: skip


class SuperResolution(nn.Module):
    """Residual channel attention, sub-pixel convolution, a bicubic base."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Conv2d(3, 16, 3, padding=1), nn.Conv2d(4, 3, 3, padding=1)
        self.body = nn.ModuleList(
            nn.Sequential(nn.Conv2d(16, 16, 3, padding=1), nn.PReLU(16), nn.Conv2d(16, 16, 3, padding=1))
            for _ in range(2)
        )
        self.gate, self.shuffle = nn.Conv2d(16, 16, 1), nn.PixelShuffle(2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        base = F.interpolate(x, scale_factor=2, mode="bicubic", align_corners=False)
        f = self.first(x)
        for layer in self.body:
            g = layer(f)
            f = f + g * torch.sigmoid(self.gate(g.mean((2, 3), keepdim=True)))
        return base + self.last(self.shuffle(f))


# -- recommendation ---------------------------------------------------------------------------------


class Recommendation(nn.Module):
    """DLRM: bags of embeddings, their products, and dense features; with a crossed network and a factorisation machine."""

    def __init__(self) -> None:
        super().__init__()
        self.bags = nn.ModuleList(nn.EmbeddingBag(n, 8, mode=mode) for n, mode in ((50, "sum"), (30, "mean")))
        self.table = nn.Embedding(40, 8, padding_idx=0)
        self.bottom = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 8), nn.ReLU())
        self.cross = nn.ModuleList(nn.Linear(32, 32) for _ in range(2))
        self.top = nn.Sequential(nn.Linear(8 + 6 + 32 + 1, 16), nn.ReLU(), nn.Linear(16, 1))
        self.query, self.keep = nn.Linear(8, 8), nn.BatchNorm1d(8)

    def forward(
        self,
        dense: torch.Tensor,
        clicks: torch.Tensor,
        tags: torch.Tensor,
        offsets: torch.Tensor,
        history: torch.Tensor,
    ) -> torch.Tensor:
        x = self.keep(self.bottom(dense))
        a = self.bags[0](clicks)
        b = self.bags[1](tags, offsets)
        seen = self.table(history)
        mask = history != 0
        score = (seen * self.query(x).unsqueeze(1)).sum(-1).masked_fill(~mask, -1e9).softmax(-1)
        c = (score.unsqueeze(-1) * seen).sum(1)
        fields = torch.stack([x, a, b, c], 1)
        products = torch.bmm(fields, fields.transpose(1, 2))
        i, j = torch.tril_indices(4, 4, offset=-1)
        pairs = products[:, i, j]
        flat = first = fields.flatten(1)
        for layer in self.cross:
            flat = first * layer(flat) + flat
        machine = 0.5 * (fields.sum(1).pow(2) - fields.pow(2).sum(1)).sum(-1, keepdim=True)
        return torch.sigmoid(self.top(torch.cat([x, pairs, flat, machine], 1))).squeeze(-1)


def recommendation() -> Zoo:
    def arguments(n: int, length: int) -> dict[str, Any]:
        history = tokens(n, length, 40)
        history[:, -2:] = 0
        return {
            "dense": normal(n, 5),
            "clicks": tokens(n, 3, 50),
            "tags": tokens(1, 2 * n, 30)[0],
            "offsets": torch.arange(n) * 2,
            "history": history,
        }

    return Zoo(Recommendation(), arguments(4, 6), arguments(3, 9))


# -- the table --------------------------------------------------------------------------------------


def images(make: Callable[[], nn.Module], batches: tuple[int, int] = (2, 3)) -> Callable[[], Zoo]:
    return lambda: Zoo(make(), {"x": image(batches[0], 64, 96)}, {"x": image(batches[1], 96, 128)})


def fill() -> None:
    add("graph network", "library styles", graphs)
    traced("edge convolution", EdgeConvolution, {"x": normal(2, 3, 20)}, {"x": normal(3, 3, 27)})
    traced("point network", PointNet, {"points": normal(2, 20, 3)}, {"points": normal(3, 27, 3)})
    for name, make in {
        "nested U-Net": UnetPlusPlus, "pyramid pooling": PyramidPooling, "anchor-free head": AnchorFreeHead,
        "anchors and focus": Focus, "super resolution": SuperResolution,
    }.items():  # fmt: skip
        add(name, "library styles", images(make))
    add("detector with suppression", "library styles", images(Detector, (1, 1)))
    traced(
        "image operations",
        ImageOperations,
        {"x": uniform(2, 3, 32, 40), "angle": normal(2)},
        {"x": uniform(3, 3, 40, 48), "angle": normal(3)},
    )
    add("recommendation", "library styles", recommendation)


fill()
