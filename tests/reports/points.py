"""Point clouds and graphs."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from tests.reports.harness import OFTEN, program, reports

TABLE, report = reports()
PT = "https://github.com/pytorch/pytorch/issues/"


def square_distance(a, b):
    return -2 * a @ b.transpose(1, 2) + (a**2).sum(-1)[:, :, None] + (b**2).sum(-1)[:, None, :]


def index_points(points, idx):
    b = points.shape[0]
    view, repeat = list(idx.shape), list(idx.shape)
    view[1:] = [1] * (len(view) - 1)
    repeat[0] = 1
    batch = torch.arange(b, dtype=torch.long).view(view).repeat(repeat)
    return points[batch, idx, :]


@report(PT + "123337")
def farthest_points_and_balls():
    class Abstraction(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2d(3 + 2, 4, 1)

        def forward(self, xyz, feats):
            b, n, _ = xyz.shape
            centroids = torch.zeros(b, 3, dtype=torch.long)
            distance = torch.ones(b, n) * 1e10
            farthest = torch.zeros(b, dtype=torch.long)
            batch = torch.arange(b, dtype=torch.long)
            for i in range(3):
                centroids[:, i] = farthest
                center = xyz[batch, farthest, :].view(b, 1, 3)
                dist = torch.sum((xyz - center) ** 2, -1)
                mask = dist < distance
                distance[mask] = dist[mask]
                farthest = torch.max(distance, -1)[1]
            new = index_points(xyz, centroids)
            group = torch.arange(n, dtype=torch.long).view(1, 1, n).repeat([b, 3, 1])
            group[square_distance(new, xyz) > 1.5] = n
            group = group.sort(dim=-1)[0][:, :, :4]
            first = group[:, :, 0].view(b, 3, 1).repeat([1, 1, 4])
            missing = group == n
            group[missing] = first[missing]
            grouped = torch.cat([index_points(xyz, group) - new.view(b, 3, 1, 3), index_points(feats, group)], -1)
            out = F.relu(self.conv(grouped.permute(0, 3, 2, 1)))
            return new, torch.max(out, 2)[0]

    return program(
        Abstraction(), lambda b, n: (torch.randn(b, n, 3), torch.randn(b, n, 2)), (2, 8), (3, 13),
        axes={0: {0: "b", 1: "n"}, 1: {0: "b", 1: "n"}},
    )  # fmt: skip


@report(PT + "131635")
def three_nearest_neighbours_interpolated():
    def propagate(fine, coarse, feats):
        dists, idx = square_distance(fine, coarse).sort(dim=-1)
        dists, idx = dists[:, :, :3], idx[:, :, :3]
        recip = 1.0 / (dists.clamp(min=0) + 1e-8)
        weight = recip / torch.sum(recip, dim=2, keepdim=True)
        b, n, _ = fine.shape
        return torch.sum(index_points(feats, idx) * weight.view(b, n, 3, 1), dim=2)

    return program(
        propagate, lambda b, n, m: (torch.randn(b, n, 3), torch.randn(b, m, 3), torch.randn(b, m, 2)), (1, 6, 4), (2, 9, 5),
        axes={0: {0: "b", 1: "n"}, 1: {0: "b", 1: "m"}, 2: {0: "b", 1: "m"}}, rtol=1e-3, atol=1e-4,
    )  # fmt: skip


@report("https://github.com/onnx/onnx/issues/7465")
def dynamic_edges_of_nearest_neighbours():
    class EdgeConv(nn.Module):
        def __init__(self):
            super().__init__()
            self.mlp = nn.Sequential(nn.Conv2d(6, 4, 1, bias=False), nn.BatchNorm2d(4), nn.LeakyReLU(0.2))

        def forward(self, x):
            b, c, n = x.size()
            inner = -2 * torch.matmul(x.transpose(2, 1), x)
            xx = torch.sum(x**2, dim=1, keepdim=True)
            idx = (-xx - inner - xx.transpose(2, 1)).topk(k=3, dim=-1)[1]
            base = torch.arange(0, b).view(-1, 1, 1) * n
            flat = x.transpose(2, 1).contiguous().view(b * n, -1)
            feature = flat[(idx + base).view(-1), :].view(b, n, 3, c)
            x = x.transpose(2, 1).contiguous().view(b, n, 1, c).repeat(1, 1, 3, 1)
            feature = torch.cat((feature - x, x), dim=3).permute(0, 3, 1, 2).contiguous()
            return self.mlp(feature).max(dim=-1, keepdim=False)[0]

    return program(EdgeConv(), lambda b, n: (torch.randn(b, 3, n),), (1, 5), (2, 9), axes={0: {0: "b", 2: "n"}})


def graph(n, e):
    return torch.randn(n, 4), torch.randint(0, n, (2, e))


GRAPH = {0: {0: "n"}, 1: {1: "e"}}


@report("https://github.com/pyg-team/pytorch_geometric/issues/728")
def attention_over_edges():
    class Gat(nn.Module):
        def __init__(self):
            super().__init__()
            self.lin = nn.Linear(4, 6, bias=False)
            self.src, self.dst = nn.Parameter(torch.randn(1, 2, 3)), nn.Parameter(torch.randn(1, 2, 3))

        def forward(self, x, edges):
            n = x.size(0)
            loops = torch.arange(n).unsqueeze(0).repeat(2, 1)
            keep = edges[0] != edges[1]
            edges = torch.cat([edges[:, keep], loops], 1)
            row, col = edges
            x = self.lin(x).view(-1, 2, 3)
            alpha = F.leaky_relu((x * self.src).sum(-1)[row] + (x * self.dst).sum(-1)[col], 0.2)
            index = col.unsqueeze(-1).expand_as(alpha)
            top = torch.full((n, 2), float("-inf")).scatter_reduce(0, index, alpha.detach(), "amax", include_self=False)
            alpha = (alpha - top.gather(0, index)).exp()
            alpha = alpha / (torch.zeros(n, 2).scatter_add_(0, index, alpha).index_select(0, col) + 1e-16)
            out = x.new_zeros(n, 2, 3).index_add_(0, col, x[row] * alpha.unsqueeze(-1))
            return out.mean(1), F.elu(out.reshape(n, -1))

    return program(Gat(), graph, (5, 8), (9, 20), (3, 1), axes=GRAPH, opset=18)


@report("https://github.com/pyg-team/pytorch_geometric/issues/9657")
def normalised_adjacency():
    class Gcn(nn.Module):
        def __init__(self):
            super().__init__()
            self.lin = nn.Linear(4, 3)

        def forward(self, x, edges):
            n = x.size(0)
            adjacency = torch.zeros(n, n)
            adjacency[edges[0], edges[1]] = 1
            adjacency = torch.maximum(adjacency, adjacency.t())
            adjacency.fill_diagonal_(1.0)
            degree = adjacency.sum(1).pow(-0.5)
            degree[torch.isinf(degree)] = 0
            normal = degree.unsqueeze(1) * adjacency * degree.unsqueeze(0)
            dense = torch.diag_embed(degree) @ adjacency @ torch.diag(degree)
            return normal @ self.lin(x), dense, adjacency.nonzero().t(), torch.block_diag(adjacency, adjacency)

    return program(Gcn(), graph, (5, 8), (7, 12), axes=GRAPH)


@report("https://github.com/pyg-team/pytorch_geometric/issues/7890")
def aggregations_of_several_kinds():
    def aggregate(x, edges):
        n = x.size(0)
        messages, col = x[edges[0]], edges[1]
        index = col.view(-1, 1).expand(-1, x.size(1))
        count = torch.zeros(n).scatter_add(0, col, torch.ones_like(col, dtype=torch.float)).clamp(min=1)
        mean = torch.zeros_like(x).scatter_add(0, index, messages) / count.unsqueeze(-1)
        square = torch.zeros_like(x).scatter_add(0, index, messages * messages) / count.unsqueeze(-1)
        std = (square - mean * mean).relu().add(1e-5).sqrt()
        most = x.new_zeros(n, 4).scatter_reduce_(0, index, messages, reduce="amax", include_self=False)
        least = x.new_zeros(n, 4).scatter_reduce(0, index, messages, reduce="amin", include_self=False)
        average = x.new_ones(n, 4).scatter_reduce(0, index, messages, reduce="mean", include_self=True)
        product = torch.ones(n, 4).scatter_reduce(0, index, messages, reduce="prod")
        return (
            torch.cat([mean, std, most, least, average, product], -1),
            torch.log(count + 1),
            torch.bincount(col, minlength=4),
        )

    return program(
        aggregate, graph, (5, 8), (6, 15), axes=GRAPH, opset=18, modes="trace exported", rtol=1e-3, atol=1e-4
    )


@report("https://github.com/pyg-team/pytorch_geometric/issues/8415")
def pooling_of_graphs_of_a_batch():
    class Pool(nn.Module):
        def __init__(self):
            super().__init__()
            self.gate = nn.Linear(4, 1)

        def forward(self, x, batch):
            size = batch.max() + 1
            ones = torch.ones_like(batch)
            counts = torch.zeros(4, dtype=torch.long).scatter_add(0, batch, ones)
            start = torch.cat([counts.new_zeros(1), counts.cumsum(0)[:-1]])
            place = torch.arange(x.size(0)) - start[batch]
            dense = x.new_zeros(4 * 16, 4)
            dense[batch * 16 + place] = x
            gate = self.gate(x).squeeze(-1)
            weight = (gate - gate.max()).exp()
            total = torch.zeros(4).index_add(0, batch, weight)
            read = torch.zeros(4, 4).index_add(0, batch, x * (weight / total[batch]).unsqueeze(-1))
            ids, inverse, number = torch.unique(batch, return_inverse=True, return_counts=True)
            return dense.view(4, 16, 4), read, counts, ids, inverse, number, size

    def inputs(n):
        return torch.randn(n, 4), torch.randint(0, 4, (n,)).sort()[0]

    return program(Pool(), inputs, (7,), (12,), axes={0: {0: "n"}, 1: {0: "n"}})


@report(OFTEN)
def rotations_and_lengths_of_bonds():
    def geometry(pos, edges, rot):
        i, j = edges[0], edges[1]
        v = pos[j] - pos[i]
        length = torch.linalg.vector_norm(v, dim=-1)
        unit = v / length.clamp(min=1e-3).unsqueeze(-1)
        centers = torch.linspace(0, 5, 6)
        rbf = torch.exp(-10 * (length[:, None] - centers) ** 2) * 0.5 * (torch.cos(length * 3.14 / 5) + 1)[:, None]
        rbf = rbf * (length < 5).float()[:, None]
        cross = torch.cross(unit, v.roll(1, 0), dim=-1)
        angle = torch.atan2(cross.norm(dim=-1), (unit * v.roll(1, 0)).sum(-1))
        turned = torch.einsum("eij,ej->ei", rot.view(-1, 3, 3)[i], unit)
        x, y, z = unit.unbind(-1)
        harmonics = torch.stack([torch.ones_like(x), x, y, z, x * y, y * z, 3 * z**2 - 1, x * z, x**2 - y**2], -1)
        outer = unit.unsqueeze(-1) * unit.unsqueeze(-2)
        return rbf, angle, turned, harmonics, outer, torch.pdist(pos), torch.combinations(torch.arange(4))

    def inputs(n, e):
        first = torch.arange(e) % n
        return torch.randn(n, 3), torch.stack([first, (first + 1) % n]), torch.randn(n, 9)

    return program(geometry, inputs, (4, 6), (6, 9), axes={0: {0: "n"}, 1: {1: "e"}, 2: {0: "n"}})


@report(OFTEN)
def chamfer_and_sinkhorn():
    def distances(a, b):
        d = torch.cdist(a, b)
        near, where = d.min(dim=2)
        back, _ = d.min(dim=1)
        k = torch.exp(-d / 0.5)
        u = torch.ones_like(a[..., 0])
        for _ in range(3):
            v = 1.0 / torch.einsum("bnm,bn->bm", k, u)
            u = 1.0 / torch.einsum("bnm,bm->bn", k, v)
        plan = u.unsqueeze(-1) * k * v.unsqueeze(1)
        mutual = d.argmin(1).gather(1, where) == torch.arange(a.size(1))
        return near.mean(1) + back.mean(1), plan, mutual, torch.cdist(a, b, p=1.0), F.softmin(d, -1)

    return program(
        distances, lambda b, n, m: (torch.randn(b, n, 3), torch.randn(b, m, 3)), (1, 4, 5), (2, 6, 3),
        axes={0: {0: "b", 1: "n"}, 1: {0: "b", 1: "m"}}, rtol=1e-3, atol=1e-4,
    )  # fmt: skip


@report("https://github.com/open-mmlab/OpenPCDet/issues/1233")
def voxels_of_points():
    def voxelize(points):
        coords = torch.floor((points[:, :3] + 2) / 0.5).int().clamp(0, 7)
        key = coords[:, 0] * 64 + coords[:, 1] * 8 + coords[:, 2]
        unique, inverse, counts = torch.unique(key, return_inverse=True, return_counts=True)
        sums = torch.zeros(unique.shape[0], 4).index_add(0, inverse, points)
        mean = sums / counts.unsqueeze(-1)
        centers = torch.stack([unique // 64, unique // 8 % 8, unique % 8], -1) * 0.5 - 1.75
        offset = points[:, :3] - mean[inverse, :3]
        order = torch.argsort(key, stable=True)
        return unique, mean, centers, offset, order, counts

    return program(voxelize, lambda n: (torch.randn(n, 4),), (9,), (20,), axes={0: {0: "n"}}, modes="trace script")


@report(OFTEN)
def rays_through_a_volume():
    class Render(nn.Module):
        def __init__(self):
            super().__init__()
            self.plane = nn.Parameter(torch.randn(1, 4, 5, 5))
            self.mlp = nn.Linear(4 + 6, 4)

        def forward(self, origin, direction):
            t = torch.linspace(0.0, 1.0, 6)
            z = (1.0 / (1.0 / 0.5 * (1.0 - t) + 1.0 / 2.0 * t)).expand(origin.shape[0], 6)
            points = origin[:, None] + direction[:, None] * z[..., None]
            grid = points[..., :2].clamp(-1, 1).unsqueeze(0)
            feats = F.grid_sample(self.plane, grid, align_corners=True)[0].permute(1, 2, 0)
            code = torch.cat([f(points * 2.0**0) for f in (torch.sin, torch.cos)], -1)
            raw = self.mlp(torch.cat([feats, code], -1))
            delta = torch.cat([z[..., 1:] - z[..., :-1], torch.tensor([1e10]).expand(z[..., :1].shape)], -1)
            alpha = 1.0 - torch.exp(-F.relu(raw[..., 3]) * delta)
            through = torch.cumprod(torch.cat([torch.ones((alpha.shape[0], 1)), 1.0 - alpha + 1e-10], -1), -1)[:, :-1]
            weights = alpha * through
            rgb = torch.sum(weights[..., None] * torch.sigmoid(raw[..., :3]), -2)
            pdf = (weights + 1e-5) / (weights + 1e-5).sum(-1, keepdim=True)
            cdf = torch.cat([torch.zeros_like(pdf[..., :1]), pdf.cumsum(-1)], -1)
            u = torch.linspace(0.05, 0.95, 3).expand(cdf.shape[0], 3).contiguous()
            inds = torch.searchsorted(cdf, u, right=True)
            below = torch.max(torch.zeros_like(inds - 1), inds - 1)
            return rgb, weights.sum(-1), cdf.gather(1, below)

    return program(
        Render(), lambda n: (torch.randn(n, 3), torch.randn(n, 3)), (4,), (7,), axes={0: {0: "n"}, 1: {0: "n"}}
    )
