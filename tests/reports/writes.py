"""Assignments, masks and updates by index."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from tests.reports.harness import OFTEN, program, reports

TABLE, report = reports()
PT = "https://github.com/pytorch/pytorch/issues/"


@report(PT + "61034")
def index_put_accumulates_repeated_rows():
    def add(index, a, b):
        return a.index_put((index,), b, accumulate=True), a.index_add(0, index, b, alpha=-2)

    def inputs(n, k):
        return torch.randint(0, n, (k,)), torch.ones(n, 3), torch.randn(k, 3)

    return program(add, inputs, (5, 5), (7, 9), (2, 4), axes={0: {0: "k"}, 1: {0: "n"}, 2: {0: "k"}})


@report("https://github.com/pangsu0613/CLOCs/issues/57")
def assign_at_pairs_of_indices():
    def fuse(x, where):
        out = torch.full((1, 9, 12), -9999.0)
        out[:, where[:, 0], where[:, 1]] = x[0, :, 0, :]
        return out.amax(2)

    def inputs(k):
        flat = torch.randperm(9 * 12)[:k]
        return torch.randn(1, 1, 1, k), torch.stack([flat // 12, flat % 12], 1)

    return program(fuse, inputs, (5,), (11,), (1,), axes={0: {3: "k"}, 1: {0: "k"}}, modes="trace exported")


@report(PT + "92540")
def assign_rows_where_mask_of_lower_rank():
    class Attend(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = nn.LayerNorm(8)
            self.out = nn.Linear(8, 8)

        def forward(self, memory, hit, picked):
            queries = torch.zeros_like(memory)
            queries[hit] = self.norm(picked)
            queries[~hit] = 1.5
            return self.out(queries) + memory

    def inputs(n):
        hit = torch.rand(n, 2) > 0.4
        hit[0] = True
        return torch.randn(n, 2, 8), hit, torch.randn(int(hit.sum()), 8)

    return program(Attend(), inputs, (4,), (9,), axes={0: {0: "n"}, 1: {0: "n"}, 2: {0: "k"}})


@report("https://github.com/onnx/onnx/issues/916")
def fill_a_new_matrix_by_elements():
    class Skew(nn.Module):
        def forward(self, v):
            k = v.new_zeros(v.size(0), 3, 3)
            k[:, 0, 1] = -v[:, 2]
            k[:, 0, 2] = v[:, 1]
            k[:, 1, 0] = v[:, 2]
            k[:, 1, 2] = -v[:, 0]
            k[:, 2, 0] = -v[:, 1]
            k[..., 2, 1] = v[..., 0]
            angle = v.norm(2, dim=-1, keepdim=True).clamp(min=1e-6)[..., None]
            k = k / angle
            eye = torch.eye(3).expand_as(k)
            return eye + angle.sin() * k + (1 - angle.cos()) * (k @ k)

    return program(Skew(), lambda n: (torch.randn(n, 3),), (2,), (5,), (1,), axes={0: {0: "n"}}, modes="trace script")


@report(OFTEN)
def rotation_by_quaternions_with_masks():
    def to_quaternion(m):
        trace = m.diagonal(dim1=-2, dim2=-1).sum(-1)
        q = torch.empty(m.shape[0], 4, dtype=m.dtype)
        positive = trace > 0
        s = torch.sqrt(torch.where(positive, trace, torch.zeros_like(trace)) + 1.0) * 2
        q[:, 0] = 0.25 * s
        q[:, 1] = (m[:, 2, 1] - m[:, 1, 2]) / s
        q[:, 2] = (m[:, 0, 2] - m[:, 2, 0]) / s
        q[:, 3] = (m[:, 1, 0] - m[:, 0, 1]) / s
        q[~positive] *= -1
        q[q[:, 0] < 0] = -q[q[:, 0] < 0]
        return F.normalize(q, dim=-1)

    return program(to_quaternion, lambda n: (torch.linalg.qr(torch.randn(n, 3, 3))[0],), (3,), (8,), axes={0: {0: "n"}})


@report("https://github.com/ultralytics/yolov5/issues/251")
def box_slices_changed_in_place():
    class Decode(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("anchors", torch.tensor([[10.0, 13], [16, 30], [33, 23]]).view(1, 3, 1, 1, 2))

        def forward(self, x):
            bs, _, ny, nx = x.shape
            y = x.view(bs, 3, 7, ny, nx).permute(0, 1, 3, 4, 2).contiguous().sigmoid()
            yv, xv = torch.meshgrid([torch.arange(ny), torch.arange(nx)], indexing="ij")
            grid = torch.stack((xv, yv), 2).view((1, 1, ny, nx, 2)).float()
            y[..., 0:2] = (y[..., 0:2] * 2.0 - 0.5 + grid) * 8
            y[..., 2:4] = (y[..., 2:4] * 2) ** 2 * self.anchors
            y[..., 4:5] *= y[..., 5:].amax(-1, keepdim=True)
            return y.view(bs, -1, 7)

    return program(
        Decode(), lambda b, h, w: (torch.randn(b, 21, h, w),), (2, 4, 4), (3, 3, 5),
        axes={0: {0: "b", 2: "h", 3: "w"}}, modes="trace exported",
    )  # fmt: skip


@report(OFTEN)
def boxes_clipped_and_converted_in_place():
    def finish(boxes, height, width):
        out = boxes.clone()
        out[:, 0] = boxes[:, 0] - boxes[:, 2] / 2
        out[:, 1] = boxes[:, 1] - boxes[:, 3] / 2
        out[:, 2] = boxes[:, 0] + boxes[:, 2] / 2
        out[:, 3] = boxes[:, 1] + boxes[:, 3] / 2
        out[:, [0, 2]] = out[:, [0, 2]].clamp(min=0)
        out[:, 0::2].clamp_(max=1.0).mul_(width)
        out[:, 1::2].clamp_(0, 1).mul_(height)
        return out

    return program(
        finish, lambda n, h, w: (torch.rand(n, 6), torch.tensor(h), torch.tensor(w)), (4, 64, 96), (9, 10, 20),
        axes={0: {0: "n"}},
    )  # fmt: skip


@report(OFTEN)
def pillars_scattered_to_a_canvas():
    class Scatter(nn.Module):
        def forward(self, features, coords, batch_size: int = 2):
            planes = []
            for b in range(batch_size):
                canvas = torch.zeros(features.shape[1], 6 * 5, dtype=features.dtype)
                mask = coords[:, 0] == b
                this = coords[mask, :]
                indices = (this[:, 1] + this[:, 2] * 5 + this[:, 3]).long()
                canvas[:, indices] = features[mask, :].t()
                planes.append(canvas)
            return torch.stack(planes, 0).view(batch_size, features.shape[1], 6, 5)

    def inputs(n):
        flat = torch.randperm(60)[:n]
        coords = torch.stack([flat // 30, torch.zeros_like(flat), flat % 30 // 5, flat % 5], 1)
        return torch.randn(n, 3), coords.int()

    return program(Scatter(), inputs, (8,), (25,), axes={0: {0: "n"}, 1: {0: "n"}}, modes="trace script")


@report(OFTEN)
def shift_tokens_right():
    def shift(ids):
        shifted = ids.new_zeros(ids.shape)
        shifted[:, 1:] = ids[:, :-1].clone()
        shifted[:, 0] = 2
        shifted.masked_fill_(shifted == -100, 1)
        return shifted

    def inputs(b, t):
        ids = torch.randint(3, 9, (b, t))
        ids[:, -1] = -100
        ids[:, t // 2] = -100
        return (ids,)

    return program(
        shift, inputs, (2, 6), (3, 11), (1, 1), axes={0: {0: "b", 1: "t"}}, modes="trace script exported",
    )  # fmt: skip


@report("https://github.com/microsoft/Swin-Transformer/issues/301")
def shifted_window_mask_by_slices():
    class Mask(nn.Module):
        def forward(self, x):
            b, c, h, w = x.shape
            ws, ss = 4, 2
            hp, wp = (h + ws - 1) // ws * ws, (w + ws - 1) // ws * ws
            img = torch.zeros((1, hp, wp, 1))
            count = 0
            for hs in (slice(0, -ws), slice(-ws, -ss), slice(-ss, None)):
                for wsl in (slice(0, -ws), slice(-ws, -ss), slice(-ss, None)):
                    img[:, hs, wsl, :] = count
                    count += 1
            windows = img.view(1, hp // ws, ws, wp // ws, ws, 1).permute(0, 1, 3, 2, 4, 5).reshape(-1, ws * ws)
            mask = windows.unsqueeze(1) - windows.unsqueeze(2)
            mask = mask.masked_fill(mask != 0, -100.0).masked_fill(mask == 0, 0.0)
            x = F.pad(x, (0, wp - w, 0, hp - h))
            x = torch.roll(x, (-ss, -ss), dims=(2, 3))
            x = x.view(b, c, hp // ws, ws, wp // ws, ws).permute(0, 2, 4, 3, 5, 1).reshape(-1, ws * ws, c)
            attn = x @ x.transpose(1, 2)
            attn = attn.view(b, -1, ws * ws, ws * ws) + mask.unsqueeze(0)
            return attn.softmax(-1).view(-1, ws * ws, ws * ws) @ x

    return program(
        Mask(), lambda b, h, w: (torch.randn(b, 3, h, w),), (1, 8, 12), (2, 9, 6), axes={0: {0: "b", 2: "h", 3: "w"}}
    )


@report(PT + "29647")
def scatter_in_a_scripted_loop():
    class Unsort(nn.Module):
        def forward(self, order, x):
            unsort = torch.zeros_like(order)
            for i in range(order.shape[0]):
                unsort[order[i]] = i
            out = torch.zeros_like(x)
            for i in range(order.shape[0]):
                out.scatter_(0, order[i].view(1, 1).expand(1, x.size(1)), x[i : i + 1])
            return unsort, out

    return program(
        Unsort(), lambda n: (torch.randperm(n), torch.randn(n, 3)), (4,), (7,), (1,),
        axes={0: {0: "n"}, 1: {0: "n"}}, modes="script",
    )  # fmt: skip


@report(PT + "39227")
def image_accumulated_at_projected_points():
    def splat(img, ix, iy):
        c, h, w = img.shape
        flat = img.flatten()
        k = ix.size(0)
        channel = torch.arange(c).unsqueeze(1).expand(c, k).transpose(1, 0).flatten()
        where = channel * h * w + iy.unsqueeze(1).expand(k, c).flatten() * w + ix.unsqueeze(1).expand(k, c).flatten()
        flat = flat.clone().index_put_((where,), torch.ones(1), accumulate=True)
        counts = torch.zeros(h, w).index_put_((iy, ix), torch.ones(k), accumulate=True)
        return flat.view(c, h, w), counts

    return program(
        splat, lambda h, w, k: (torch.randn(2, h, w), torch.randint(0, w, (k,)), torch.randint(0, h, (k,))),
        (4, 5, 6), (3, 7, 10), axes={0: {1: "h", 2: "w"}, 1: {0: "k"}, 2: {0: "k"}}, modes="trace script",
    )  # fmt: skip


@report(OFTEN)
def checkerboard_by_strided_assignment():
    def interleave(x):
        b, c, h, w = x.shape
        out = torch.zeros(b, c // 4, h * 2, w * 2)
        a, d, e, g = x.chunk(4, 1)
        out[:, :, 0::2, 0::2] = a - d - e + g
        out[:, :, 1::2, 0::2] = a - d + e - g
        out[:, :, 0::2, 1::2] = a + d - e - g
        out[:, :, 1::2, 1::2] = a + d + e + g
        return out / 2

    return program(
        interleave, lambda b, h, w: (torch.randn(b, 8, h, w),), (1, 2, 3), (2, 5, 4),
        axes={0: {0: "b", 2: "h", 3: "w"}}, modes="trace script",
    )  # fmt: skip


@report(OFTEN)
def patches_dropped_and_restored():
    class Restore(nn.Module):
        def __init__(self):
            super().__init__()
            self.token = nn.Parameter(torch.randn(1, 1, 6))

        def forward(self, x, noise):
            n, length, d = x.shape
            keep = length // 2
            shuffle = torch.argsort(noise, dim=1)
            restore = torch.argsort(shuffle, dim=1)
            kept = torch.gather(x, 1, shuffle[:, :keep].unsqueeze(-1).repeat(1, 1, d))
            mask = torch.ones([n, length])
            mask[:, :keep] = 0
            mask = torch.gather(mask, 1, restore)
            tokens = self.token.repeat(n, length - keep, 1)
            full = torch.cat([kept, tokens], 1)
            return torch.gather(full, 1, restore.unsqueeze(-1).repeat(1, 1, d)), mask

    return program(
        Restore(), lambda b, t: (torch.randn(b, t, 6), torch.rand(b, t)), (2, 8), (3, 5),
        axes={0: {0: "b", 1: "t"}, 1: {0: "b", 1: "t"}},
    )  # fmt: skip


@report(PT + "131349")
def assign_through_a_list_of_columns():
    class Normalize(nn.Module):
        def __init__(self):
            super().__init__()
            self.columns = [0, 2, 3]

        def forward(self, x, lo):
            x = x.clone()
            x[:, self.columns] = (x[:, self.columns] - lo) / 3
            x[x[:, 1] > 0, 1] = 0
            x[-1] = x[0]
            x[1:-1, 4:] += x[:-2, 4:].clone()
            x[torch.arange(x.size(0)), x.argmax(1)] = 100.0
            return x

    return program(
        Normalize(), lambda n: (torch.randn(n, 6), torch.randn(3)), (4,), (7,), (2,), axes={0: {0: "n"}},
        modes="trace exported",
    )  # fmt: skip


@report(OFTEN)
def chained_comparison_masks():
    def clean(x, y):
        valid = (x > -1) & (x < 1) | torch.isnan(y) ^ (y >= 0.5)
        y = torch.nan_to_num(y, nan=0.25, posinf=9.0)
        x = x.masked_fill(~valid, float("-inf"))
        best = torch.where(torch.isinf(x).all(-1, keepdim=True), torch.zeros_like(x), x).softmax(-1)
        return best, y[valid].sum(), valid.sum(-1), valid.any(), torch.count_nonzero(valid, dim=1)

    def inputs(n, m):
        y = torch.randn(n, m)
        y[0, 0], y[-1, -1] = float("nan"), float("inf")
        return torch.randn(n, m), y

    return program(clean, inputs, (3, 4), (2, 7), axes={0: {0: "n", 1: "m"}, 1: {0: "n", 1: "m"}}, modes="trace script")


@report(OFTEN)
def a_bool_as_an_index():
    def pick(x, flag, other):
        y = x.clone()
        y[flag] *= 2
        y[other, :, 1:] = x.sum(0)[1:]
        y[:, flag, 0] -= 1
        return y, x[flag], x[..., other, 2], x[x.sum() > 0].sum(), x[flag, other], x[x.size(0) > 4]

    def inputs(n, flag, other):
        return torch.randn(n, 3), torch.tensor(flag), torch.tensor(other)

    return program(
        pick, inputs, (4, True, False), (5, False, False), (4, True, True), (6, False, True), axes={0: {0: "n"}},
    )  # fmt: skip


@report(OFTEN)
def one_value_in_the_example_is_assigned_by_index():
    def write(x, hit, rows, y):
        x = x.clone()
        x[hit] = x[hit] * 2  # one row in the example, more or none in others
        x[rows] = y
        x[..., rows % 3] = y[:, 0].repeat(1, x.size(0), 1)
        x[1:2, rows] = y[:, 1]
        return x

    def inputs(hits, k):
        return torch.randn(5, 3), torch.arange(5) < hits, torch.randperm(3)[:k], torch.randn(k, 3)

    return program(write, inputs, (1, 1), (3, 2), (0, 3), axes={2: {0: "k"}, 3: {0: "k"}})
