"""Detectors."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import nn

from tests.reports.harness import OFTEN, program, reports

TABLE, report = reports()
IMAGE = {0: {0: "b", 2: "h", 3: "w"}}


def image(channels):
    return lambda b, h, w: (torch.randn(b, channels, h, w),)


@report("https://github.com/ailia-ai/ailia-models/issues/1493")
def deformable_attention_over_levels():
    class Attend(nn.Module):
        def __init__(self):
            super().__init__()
            self.value = nn.Linear(8, 8)
            self.offsets = nn.Linear(8, 2 * 2 * 3 * 2)
            self.weights = nn.Linear(8, 2 * 2 * 3)

        def forward(self, query, reference, high, low):
            bs, nq, _ = query.shape
            shapes = [high.shape[-2:], low.shape[-2:]]
            flat = torch.cat([high.flatten(2), low.flatten(2)], 2).transpose(1, 2)
            value = self.value(flat).view(bs, flat.shape[1], 2, 4)
            offsets = self.offsets(query).view(bs, nq, 2, 2, 3, 2)
            weights = self.weights(query).view(bs, nq, 2, 6).softmax(-1).view(bs, nq, 2, 2, 3)
            wh = torch.stack([torch.tensor([s[1], s[0]]) for s in shapes]).to(query.dtype)
            locations = reference[:, :, None, None, None] + offsets / wh[None, None, None, :, None]
            grids = 2 * locations - 1
            sampled = []
            for level, v in enumerate(value.split([h * w for h, w in shapes], dim=1)):
                h, w = shapes[level]
                v = v.flatten(2).transpose(1, 2).reshape(bs * 2, 4, h, w)
                g = grids[:, :, :, level].transpose(1, 2).flatten(0, 1)
                sampled.append(F.grid_sample(v, g, align_corners=False))
            weights = weights.transpose(1, 2).reshape(bs * 2, 1, nq, 6)
            return (torch.stack(sampled, -2).flatten(-2) * weights).sum(-1).view(bs, 8, nq).transpose(1, 2)

    def inputs(b, q, h, w):
        return torch.randn(b, q, 8), torch.rand(b, q, 2), torch.randn(b, 8, h, w), torch.randn(b, 8, h // 2, w // 2)

    return program(
        Attend(), inputs, (1, 5, 6, 8), (2, 3, 4, 10),
        axes={0: {0: "b", 1: "q"}, 1: {0: "b", 1: "q"}, 2: {0: "b", 2: "h", 3: "w"}, 3: {0: "b", 2: "h2", 3: "w2"}},
    )  # fmt: skip


@report("https://github.com/open-mmlab/mmdetection/pull/4684")
def anchors_of_all_levels_with_top_k_before_nms():
    class Head(nn.Module):
        def __init__(self):
            super().__init__()
            self.strides = [4, 8]

        def forward(self, *levels):
            boxes, scores = [], []
            for stride, x in zip(self.strides, levels):
                h, w = x.shape[-2:]
                sx = (torch.arange(w) + 0.5) * stride
                sy = (torch.arange(h) + 0.5) * stride
                xx = sx.repeat(h)
                yy = sy.view(-1, 1).repeat(1, w).view(-1)
                points = torch.stack([xx, yy], -1)
                cls = x[:, :2].permute(0, 2, 3, 1).reshape(x.size(0), -1, 2).sigmoid()
                reg = x[:, 2:6].permute(0, 2, 3, 1).reshape(x.size(0), -1, 4).exp() * stride
                k = torch.tensor(12)
                k = torch.where(k < cls.shape[1], k, torch.tensor(cls.shape[1]))
                top, _ = cls.max(-1)
                _, index = top.topk(k)
                batch = torch.arange(x.size(0)).view(-1, 1).expand_as(index)
                reg, cls, points = reg[batch, index], cls[batch, index], points[index]
                boxes.append(torch.cat([points - reg[..., :2], points + reg[..., 2:]], -1))
                scores.append(cls)
            return torch.cat(boxes, 1), torch.cat(scores, 1)

    return program(
        Head(), lambda b, h, w: (torch.randn(b, 6, h, w), torch.randn(b, 6, h // 2, w // 2)), (1, 4, 6), (2, 8, 6),
        axes={0: {0: "b", 2: "h", 3: "w"}, 1: {0: "b", 2: "h2", 3: "w2"}},
    )  # fmt: skip


@report(OFTEN)
def center_peaks_by_pooling():
    def decode(heat, wh):
        b, c, h, w = heat.size()
        heat = heat.sigmoid_()
        peaks = heat * (F.max_pool2d(heat, 3, stride=1, padding=1) == heat).float()
        scores, inds = torch.topk(peaks.view(b, c, -1), 4)
        inds = inds % (h * w)
        ys, xs = (inds / w).int().float(), (inds % w).int().float()
        score, ind = torch.topk(scores.view(b, -1), 4)
        cls = (ind / 4).int()
        inds = inds.view(b, -1, 1).gather(1, ind.unsqueeze(-1)).view(b, 4)
        ys = ys.view(b, -1, 1).gather(1, ind.unsqueeze(-1)).view(b, 4)
        xs = xs.view(b, -1, 1).gather(1, ind.unsqueeze(-1)).view(b, 4)
        feat = wh.permute(0, 2, 3, 1).contiguous().view(b, -1, 2)
        size = feat.gather(1, inds.unsqueeze(2).expand(b, 4, 2))
        return torch.stack([xs, ys, score, cls.float()], -1), size

    return program(
        decode, lambda b, h, w: (torch.randn(b, 3, h, w), torch.randn(b, 2, h, w)), (1, 6, 5), (2, 4, 9),
        axes={0: {0: "b", 2: "h", 3: "w"}, 1: {0: "b", 2: "h", 3: "w"}}, modes="trace script",
    )  # fmt: skip


@report(OFTEN)
def distribution_focal_decode():
    class Dfl(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2d(4, 1, 1, bias=False).requires_grad_(False)
            self.conv.weight.data[:] = nn.Parameter(torch.arange(4.0).view(1, 4, 1, 1))
            self.anchors = torch.empty(0)
            self.shape = None

        def forward(self, a, c):
            shape = a.shape
            if self.shape != shape:
                self.anchors, self.steps = (x.transpose(0, 1) for x in self.make([a, c]))
                self.shape = shape
            x = torch.cat([t.view(shape[0], 19, -1) for t in (a, c)], 2)
            box, cls = x.split((16, 3), 1)
            n, _, k = box.shape
            box = self.conv(box.view(n, 4, 4, k).transpose(2, 1).softmax(1)).view(n, 4, k)
            lt, rb = box.chunk(2, 1)
            p1, p2 = self.anchors.unsqueeze(0) - lt, self.anchors.unsqueeze(0) + rb
            return torch.cat((torch.cat(((p1 + p2) / 2, p2 - p1), 1) * self.steps, cls.sigmoid()), 1)

        def make(self, feats):
            points, steps = [], []
            for f, s in zip(feats, (8, 16)):
                _, _, h, w = f.shape
                sx = torch.arange(end=w, dtype=f.dtype) + 0.5
                sy = torch.arange(end=h, dtype=f.dtype) + 0.5
                sy, sx = torch.meshgrid(sy, sx, indexing="ij")
                points.append(torch.stack((sx, sy), -1).view(-1, 2))
                steps.append(torch.full((h * w, 1), s, dtype=f.dtype))
            return torch.cat(points), torch.cat(steps)

    return program(
        Dfl(), lambda b, h, w: (torch.randn(b, 19, h, w), torch.randn(b, 19, h // 2, w // 2)), (1, 4, 6), (3, 6, 2),
        axes={0: {0: "b", 2: "h", 3: "w"}, 1: {0: "b", 2: "h2", 3: "w2"}},
    )  # fmt: skip


@report(OFTEN)
def mask_postprocessing_to_the_original_size():
    class Post(nn.Module):
        def forward(self, masks, size):
            masks = F.interpolate(masks, size=(16, 16), mode="bilinear", align_corners=False)
            scale = 16 / torch.max(size)
            pre = torch.floor(scale * size + 0.5).to(torch.int64)
            masks = masks[..., : pre[0], : pre[1]]
            size = size.to(torch.int64)
            out = F.interpolate(masks, size=(size[0], size[1]), mode="bilinear", align_corners=False)
            area = (out > 0).flatten(1).sum(-1)
            return out, area

    return program(
        Post(), lambda b, h, w: (torch.randn(b, 1, 4, 4), torch.tensor([h, w], dtype=torch.float32)),
        (1, 12, 20), (2, 24, 9), axes={0: {0: "b"}},
    )  # fmt: skip


@report(OFTEN)
def boxes_of_masks():
    def boxes(masks):
        h, w = masks.shape[-2:]
        inh, _ = masks.max(dim=-1)
        ch = inh * torch.arange(h)[None, :]
        bottom, _ = ch.max(dim=-1)
        ch = ch + h * (~inh)
        top, _ = ch.min(dim=-1)
        inw, _ = masks.max(dim=-2)
        cw = inw * torch.arange(w)[None, :]
        right, _ = cw.max(dim=-1)
        cw = cw + w * (~inw)
        left, _ = cw.min(dim=-1)
        empty = (right < left) | (bottom < top)
        return torch.stack([left, top, right, bottom], -1) * (~empty).unsqueeze(-1)

    def inputs(n, h, w):
        masks = torch.rand(n, h, w) > 0.8
        masks[0] = False
        return (masks,)

    return program(boxes, inputs, (2, 5, 6), (4, 8, 3), axes={0: {0: "n", 1: "h", 2: "w"}}, modes="trace script")


@report("https://github.com/facebookresearch/detr/issues/49")
def sine_positions_from_a_padding_mask():
    def positions(x, mask):
        there = ~mask
        y = there.cumsum(1, dtype=torch.float32)
        z = there.cumsum(2, dtype=torch.float32)
        y = y / (y[:, -1:, :] + 1e-6) * 2 * math.pi
        z = z / (z[:, :, -1:] + 1e-6) * 2 * math.pi
        dim = torch.arange(4, dtype=torch.float32)
        dim = 10000 ** (2 * torch.div(dim, 2, rounding_mode="floor") / 4)
        pz, py = z[:, :, :, None] / dim, y[:, :, :, None] / dim
        pz = torch.stack((pz[..., 0::2].sin(), pz[..., 1::2].cos()), 4).flatten(3)
        py = torch.stack((py[..., 0::2].sin(), py[..., 1::2].cos()), 4).flatten(3)
        return torch.cat((py, pz), 3).permute(0, 3, 1, 2) + x

    def inputs(b, h, w):
        mask = torch.zeros(b, h, w, dtype=torch.bool)
        mask[:, :, w - 1] = True
        return torch.randn(b, 8, h, w), mask

    return program(
        positions, inputs, (1, 3, 4), (2, 6, 5), axes={0: {0: "b", 2: "h", 3: "w"}, 1: {0: "b", 1: "h", 2: "w"}},
        modes="trace script",
    )  # fmt: skip


@report(OFTEN)
def top_queries_by_encoder_scores():
    class Select(nn.Module):
        def __init__(self):
            super().__init__()
            self.score = nn.Linear(8, 3)
            self.box = nn.Linear(8, 4)

        def forward(self, memory, sizes):
            valid = ((memory.abs() > 0.01) * (memory.abs() < 3.5)).all(-1, keepdim=True)
            memory = torch.where(valid, memory, torch.tensor(0.0))
            logits = self.score(memory)
            _, top = torch.topk(logits.max(-1).values, 3, dim=1)
            boxes = self.box(memory).sigmoid().gather(1, top.unsqueeze(-1).repeat(1, 1, 4))
            target = memory.gather(1, top.unsqueeze(-1).repeat(1, 1, memory.shape[-1])).detach()
            cx, cy, w, h = boxes.unbind(-1)
            xyxy = torch.stack([cx - 0.5 * w, cy - 0.5 * h, cx + 0.5 * w, cy + 0.5 * h], -1)
            xyxy = xyxy * sizes.repeat(1, 2).unsqueeze(1)
            scores = logits.gather(1, top.unsqueeze(-1).expand(-1, -1, 3)).sigmoid()
            scores, index = torch.topk(scores.flatten(1), 4, dim=-1)
            labels = index - index // 3 * 3
            xyxy = xyxy.gather(1, (index // 3).unsqueeze(-1).repeat(1, 1, 4))
            return labels, xyxy, scores, target

    return program(
        Select(), lambda b, k: (torch.randn(b, k, 8), torch.randint(10, 99, (b, 2))), (1, 6), (3, 11),
        axes={0: {0: "b", 1: "k"}, 1: {0: "b"}}, modes="trace script",
    )  # fmt: skip


@report(OFTEN)
def feature_pyramid_of_an_ordered_dict():
    from collections import OrderedDict

    class Fpn(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.ModuleDict({"p2": nn.Conv2d(2, 3, 1), "p3": nn.Conv2d(4, 3, 1)})
            self.down = nn.Conv2d(2, 4, 3, 2, 1)

        def forward(self, x):
            feats = OrderedDict(p2=x, p3=self.down(x))
            top = None
            out = OrderedDict()
            for name in reversed(list(feats)):
                lateral = self.inner[name](feats[name])
                if top is not None:
                    lateral = lateral + F.interpolate(top, size=lateral.shape[-2:], mode="nearest")
                out[name] = top = lateral
            out["pool"] = F.max_pool2d(top, 1, 2, 0)
            return out

    return program(Fpn(), image(2), (1, 8, 6), (2, 7, 9), axes=IMAGE)


@report(OFTEN)
def hand_written_suppression_loop():
    class Nms(nn.Module):
        def forward(self, boxes, scores, threshold: float = 0.3):
            order = scores.argsort(descending=True)
            keep = torch.zeros(0, dtype=torch.long)
            area = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
            while order.numel() > 0:
                i = order[0]
                keep = torch.cat([keep, i.view(1)])
                rest = order[1:]
                lt = torch.max(boxes[rest, :2], boxes[i, :2])
                rb = torch.min(boxes[rest, 2:], boxes[i, 2:])
                wh = (rb - lt).clamp(min=0)
                inter = wh[:, 0] * wh[:, 1]
                iou = inter / (area[rest] + area[i] - inter)
                order = rest[iou <= threshold]
            return keep, boxes[keep]

    def inputs(n):
        lt = torch.rand(n, 2) * 4
        return torch.cat([lt, lt + torch.rand(n, 2) * 4 + 0.5], 1), torch.rand(n)

    return program(Nms(), inputs, (6,), (15,), (1,), axes={0: {0: "n"}, 1: {0: "n"}}, modes="script")


@report(OFTEN)
def matrix_suppression():
    def suppress(masks, scores, labels):
        scores, order = torch.sort(scores, descending=True)
        masks, labels = masks[order].flatten(1).float(), labels[order]
        n = masks.shape[0]
        inter = torch.mm(masks, masks.transpose(0, 1))
        area = masks.sum(1).expand(n, n)
        iou = (inter / (area + area.transpose(1, 0) - inter)).triu(diagonal=1)
        same = labels.expand(n, n)
        same = (same == same.transpose(1, 0)).triu(diagonal=1)
        comp, _ = (iou * same).max(0)
        comp = comp.expand(n, n).transpose(1, 0)
        decay = torch.exp(-2 * (iou * same) ** 2) / torch.exp(-2 * comp**2)
        coefficient, _ = decay.min(0)
        return scores * coefficient, order

    return program(
        suppress, lambda n: (torch.rand(n, 4, 5) > 0.4, torch.rand(n), torch.randint(0, 3, (n,))), (4,), (9,),
        axes={0: {0: "n"}, 1: {0: "n"}, 2: {0: "n"}}, modes="trace script",
    )  # fmt: skip
