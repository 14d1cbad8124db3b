"""Short models in the style of published ones: generation, detection, segmentation.

They are plain torch, as research code has it, and are traced; those that TorchScript compiles are scripted, too.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from entry import Family, image, normal

FAMILY = Family("vision styles")
traced, scripted, both = FAMILY.traced, FAMILY.scripted, FAMILY.both

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


# -- the table --------------------------------------------------------------------------------------


def masks(n: int, h: int, w: int) -> Tensor:
    mask = torch.zeros(n, h, w, dtype=torch.bool)
    mask[0, -h // 4 :] = True
    mask[-1, :, -w // 3 :] = True
    return mask


def fill() -> None:
    images = {"x": image(2, 64, 96)}, {"x": image(3, 96, 128)}
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
    sized = [
        {"x": image(n, h, w), "mask": masks(n, h, w), "sizes": torch.tensor([[480.0, 640.0]]).repeat(n, 1)}
        for n, h, w in ((2, 64, 96), (3, 96, 80))
    ]
    both("DETR", Queries, sized[0], sized[1])
    both("CenterNet", Centers, *images)
    traced("YOLO, batched", Yolo, *images, unordered=True)
    traced("YOLO, one image", lambda: Yolo(False), {"x": image(1, 64, 96)}, {"x": image(1, 96, 128)}, unordered=True)
    traced("BiFPN", BiFPN, {"x": image(2, 64, 96)}, {"x": image(3, 80, 112)})
    both("Attention U-Net", AttentionUnet, {"x": image(2, 34, 45)}, {"x": image(3, 48, 37)})
    traced("SwinIR", SwinIR, {"x": image(2, 18, 23)}, {"x": image(3, 25, 30)})
    traced("capsules", Capsules, {"x": image(2, 28, 28, 1)}, {"x": image(3, 28, 28, 1)})


fill()
