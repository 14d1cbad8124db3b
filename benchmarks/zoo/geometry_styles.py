"""Short models in the style of published ones: points, flow, matching, rendering.

They are plain torch, as research code has it, and are traced; those that TorchScript compiles are scripted, too.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from entry import Family, image, normal, uniform

FAMILY = Family("vision styles")
traced, scripted, both = FAMILY.traced, FAMILY.scripted, FAMILY.both

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


def fill() -> None:
    both("PointNet++", PointNetPlus, {"xyz": normal(2, 24, 3)}, {"xyz": normal(3, 31, 3)})
    both("DGCNN", DynamicGraph, {"x": normal(2, 3, 20)}, {"x": normal(3, 3, 27)})
    traced("correlation", Correlation, {"first": image(2, 32, 48), "second": image(2, 32, 48) + 0.3 * normal(2, 3, 32, 48, seed=4)},
           {"first": image(3, 48, 40), "second": image(3, 48, 40) + 0.3 * normal(3, 3, 48, 40, seed=4)})  # fmt: skip
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
