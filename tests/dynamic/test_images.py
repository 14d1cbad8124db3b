"""Convolutions, pooling, resizing and windows over images of any size."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.dynamic.harness import at, check, f, i, program, programs


def filtered(x):
    """One filter for all images and channels, as channels of one image."""
    flat = x.reshape(1, -1, *x.shape[2:])
    kernel = torch.tensor([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6], [0.7, 0.8, 0.9]])
    count = flat.shape[1]
    return F.conv2d(flat, kernel.expand(count, 1, 3, 3), padding=1, groups=count).view_as(x)


def rows_filtered(x):
    """Filters of its own for each image, made of its values."""
    b, c, t = x.shape
    kernels = x[:, :, :3].mean(1)[:, None, None] * torch.arange(1.0, 25).view(6, 4, 1)[None]
    out = F.conv1d(x.reshape(1, b * c, t), kernels.reshape(b * 6, 4, 3), groups=b)
    return out.view(b, 6, -1)


def seeded(make, *args, **options):
    torch.manual_seed(0)
    return make(*args, **options)


def conv(*args, **options):
    return seeded(nn.Conv2d, *args, **options)


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = seeded(
            nn.Sequential, nn.Conv2d(3, 4, 3, 2, 1), nn.BatchNorm2d(4), nn.ReLU(), nn.Conv2d(4, 4, 3, 1, 1)
        )
        self.short = conv(3, 4, 1, 2)

    def forward(self, x):
        return F.relu(self.body(x) + self.short(x))


class UNet(nn.Module):
    """The way up is resized to what came down, as odd sizes need."""

    def __init__(self):
        super().__init__()
        self.down, self.up = conv(3, 4, 3, 2, 1), conv(7, 3, 3, 1, 1)

    def forward(self, x):
        low = self.down(x)
        return self.up(torch.cat([x, F.interpolate(low, size=x.shape[2:], mode="nearest")], 1))


class Cropped(nn.Module):
    """A transposed convolution, cut to the size of the input."""

    def __init__(self):
        super().__init__()
        self.down, self.up = conv(3, 4, 3, 2, 1), seeded(nn.ConvTranspose2d, 4, 3, 2, 2)

    def forward(self, x):
        return self.up(self.down(x))[..., : x.shape[-2], : x.shape[-1]]


class Padded(nn.Module):
    """Padding to a multiple of 4, computed from the size, and cut off again."""

    def __init__(self):
        super().__init__()
        self.conv = conv(3, 3, 3, padding=1)

    def forward(self, x):
        h, w = x.shape[-2:]
        x = F.pad(x, (0, (4 - w % 4) % 4, 0, (4 - h % 4) % 4))
        return self.conv(x)[:, :, :h, :w]


def same_padding(x, weight, stride=2):
    """TensorFlow's `same` with a stride, as timm computes it, with shapes as numbers."""
    pads = []
    for size, k in zip(reversed(x.shape[-2:]), reversed(weight.shape[-2:])):
        total = ((size + stride - 1) // stride - 1) * stride + k - size
        total = torch.clamp(total, min=0) if isinstance(total, torch.Tensor) else max(total, 0)
        pads += [total // 2, total - total // 2]
    return F.conv2d(F.pad(x, pads), weight, stride=stride)


CONVOLUTION = [
    program("conv", conv(3, 4, 3), f("b", 3, "h", "w"), b=1, h=7, w=6, low={"h": 3, "w": 3}, out="b, 4, h - 2, w - 2"),
    program("strided", conv(3, 4, 3, 2, 1), f("b", 3, "h", "w"), b=2, h=7, w=8, out="b, 4, (h + 1)//2, (w + 1)//2"),
    program("same", conv(3, 4, 3, padding="same"), f("b", 3, "h", "w"), b=1, h=5, w=6, out="b, 4, h, w"),
    program("same_even", conv(3, 4, (4, 2), padding="same", dilation=(1, 3)), f("b", 3, "h", "w"), b=1, h=5, w=6, out="b, 4, h, w"),
    program("same_strided", same_padding, f("b", 3, "h", "w"), f(4, 3, 3, 3), b=1, h=5, w=6, out="b, 4, (h + 1)//2, (w + 1)//2"),
    program("dilated_1d", seeded(nn.Conv1d, 3, 4, 3, dilation=2, padding=4), f("b", 3, "n"), b=1, n=6, out="b, 4, n + 4"),
    program("causal_1d", lambda x, w: F.conv1d(F.pad(x, (2, 0)), w), f("b", 3, "n"), f(4, 3, 3), b=1, n=6, out="b, 4, n"),
    program("conv_3d", seeded(nn.Conv3d, 2, 3, 3, padding=1, stride=(1, 2, 2)), f("b", 2, "t", "h", 5), b=1, t=2, h=4, out="b, 3, t, (h + 1)//2, 3"),
    program("transposed", seeded(nn.ConvTranspose2d, 3, 4, 2, 2), f("b", 3, "h", "w"), b=1, h=3, w=4, out="b, 4, 2*h, 2*w"),
    program(
        "transposed_output_padding", seeded(nn.ConvTranspose1d, 3, 4, 3, 2, 1, output_padding=1),
        f("b", 3, "n"), b=1, n=3, out="b, 4, 2*n",
    ),
    program("without_batch", conv(3, 4, 3, padding=1), f(3, "h", "w"), h=5, w=6, out="4, h, w"),
    program("depthwise", conv(4, 4, 3, padding=1, groups=4), f("b", 4, "h", "w"), b=1, h=5, w=6, out="b, 4, h, w"),
    program("depthwise_batch", filtered, f("b", 3, "h", "w"), b=2, h=5, w=6, out="b, 3, h, w"),
    program("as_many_groups_as_rows", rows_filtered, f("b", 4, "t"), b=2, t=9, low={"t": 4}, out="b, 6, t - 2"),
    program("batch_norm", seeded(nn.BatchNorm2d, 3), f("b", 3, "h", "w"), b=1, h=5, w=6, out="b, 3, h, w"),
    program("group_norm", seeded(nn.GroupNorm, 2, 4), f("b", 4, "h", "w"), b=1, h=5, w=6, out="b, 4, h, w"),
    program("instance_norm", seeded(nn.InstanceNorm2d, 3, affine=True), f("b", 3, "h", "w"), b=1, h=5, w=6, low={"h": 2, "w": 2}, out="b, 3, h, w"),
    program("layer_norm_channels", lambda x: F.layer_norm(x.permute(0, 2, 3, 1), (3,)), f("b", 3, "h", "w"), b=1, h=5, w=6, out="b, h, w, 3"),
    program("residual", Residual(), f("b", 3, "h", "w"), b=1, h=7, w=8),
    program("unet", UNet(), f("b", 3, "h", "w"), b=1, h=6, w=7, out="b, 3, h, w"),
    program("cropped", Cropped(), f("b", 3, "h", "w"), b=1, h=6, w=7, out="b, 3, h, w"),
    program("padded_to_multiple", Padded(), f("b", 3, "h", "w"), b=1, h=6, w=7, out="b, 3, h, w"),
]  # fmt: skip

POOLING = [
    program("max", nn.MaxPool2d(3, 2, 1), f("b", 3, "h", "w"), b=1, h=6, w=7, out="b, 3, (h + 1)//2, (w + 1)//2"),
    program("max_ceil", nn.MaxPool2d(2, 2, ceil_mode=True), f("b", 3, "h", "w"), b=1, h=6, w=7),
    program("average", nn.AvgPool2d(2), f("b", 3, "h", "w"), b=1, h=6, w=7, low={"h": 2, "w": 2}, out="b, 3, h//2, w//2"),
    program("average_padded", nn.AvgPool2d(3, 2, 1, count_include_pad=False), f("b", 3, "h", "w"), b=1, h=6, w=7),
    program("global_average", nn.AdaptiveAvgPool2d(1), f("b", 3, "h", "w"), b=1, h=6, w=7, out="b, 3, 1, 1"),
    program("global_max", nn.AdaptiveMaxPool2d(1), f("b", 3, "h", "w"), b=1, h=6, w=7, out="b, 3, 1, 1"),
    program("adaptive", nn.AdaptiveAvgPool2d((3, 2)), f("b", 3, "h", "w"), b=1, h=6, w=7, out="b, 3, 3, 2"),
    program("adaptive_one_axis", nn.AdaptiveAvgPool2d((None, 1)), f("b", 3, "h", "w"), b=1, h=6, w=7, out="b, 3, h, 1"),
    program("adaptive_1d", nn.AdaptiveAvgPool1d(5), f("b", 3, "n"), b=1, n=7, out="b, 3, 5"),
    program("mean_of_axes", lambda x: x.mean((2, 3)), f("b", 3, "h", "w"), b=1, h=6, w=7, out="b, 3"),
    program("max_pooled_by_size", lambda x: F.max_pool2d(x, (x.shape[2], 2)), f("b", 3, "h", "w"), b=1, h=6, w=7, low={"w": 2}, out="b, 3, 1, w//2"),
    program("pooled_by_size", lambda x: F.avg_pool2d(x, x.shape[-2:]), f("b", 3, "h", "w"), b=1, h=6, w=7, out="b, 3, 1, 1"),
]  # fmt: skip


def resize(**options):
    return lambda x: F.interpolate(x, **options)


def up_to(mode):
    return lambda x, y: F.interpolate(x, size=y.shape[-2:], mode=mode)


RESIZING = [
    program("nearest_by_scale", resize(scale_factor=2), f("b", 3, "h", "w"), b=1, h=3, w=4, out="b, 3, 2*h, 2*w"),
    program("nearest_by_fraction", resize(scale_factor=0.5), f("b", 3, "h", "w"), b=1, h=6, w=7, low={"h": 2, "w": 2}),
    program("bilinear_by_scale", resize(scale_factor=2.0, mode="bilinear"), f("b", 3, "h", "w"), b=1, h=3, w=4, out="b, 3, 2*h, 2*w"),
    program("bilinear_aligned", resize(scale_factor=2.0, mode="bilinear", align_corners=True), f("b", 3, "h", "w"), b=1, h=3, w=4, out="b, 3, 2*h, 2*w"),
    program("bicubic_by_scale", resize(scale_factor=1.5, mode="bicubic"), f("b", 3, "h", "w"), b=1, h=4, w=6),
    program("linear_1d", resize(scale_factor=3.0, mode="linear"), f("b", 3, "n"), b=1, n=4, out="b, 3, 3*n"),
    program("nearest_to_size", up_to("nearest"), f("b", 3, "h", "w"), f(1, "u", "v"), b=1, h=3, w=4, u=7, v=5, out="b, 3, u, v"),
    program("bilinear_to_size", up_to("bilinear"), f("b", 3, "h", "w"), f(1, "u", "v"), b=1, h=3, w=4, u=7, v=5, out="b, 3, u, v"),
    program("to_fixed_size", resize(size=(5, 6), mode="bilinear"), f("b", 3, "h", "w"), b=1, h=3, w=4, out="b, 3, 5, 6"),
    program("to_twice_its_size", lambda x: F.interpolate(x, size=(x.shape[2] * 2, x.shape[3] * 2)), f("b", 3, "h", "w"), b=1, h=3, w=4, out="b, 3, 2*h, 2*w"),
    program("to_half_its_size", lambda x: F.interpolate(x, size=[s // 2 for s in x.shape[2:]], mode="bilinear"), f("b", 3, "h", "w"), b=1, h=6, w=8, low={"h": 2, "w": 2}, out="b, 3, h//2, w//2"),
    program("upsample", nn.Upsample(scale_factor=2, mode="nearest"), f("b", 3, "h", "w"), b=1, h=3, w=4, out="b, 3, 2*h, 2*w"),
    program("pixel_shuffle", nn.PixelShuffle(2), f("b", 12, "h", "w"), b=1, h=3, w=4, out="b, 3, 2*h, 2*w"),
    program("pixel_unshuffle", nn.PixelUnshuffle(2), f("b", 3, "h", "w"), b=1, h=4, w=6, low={"h": 2, "w": 2}, multiple=2, out="b, 12, h//2, w//2",
            others=[at(b=2, h=2, w=2), at(b=1, h=8, w=4), at(b=3, h=2, w=10)]),
    program(
        "grid_sample", lambda x, g: F.grid_sample(x, g, align_corners=False),
        f("b", 3, "h", "w"), f("b", "u", "v", 2), b=1, h=3, w=4, u=2, v=5, out="b, 3, u, v", opset=16,
    ),
    program(
        "affine_grid", lambda x, t: F.grid_sample(x, F.affine_grid(t, x.shape, align_corners=False), align_corners=False),
        f("b", 3, "h", "w"), f("b", 2, 3), b=1, h=3, w=4, out="b, 3, h, w", opset=16,
    ),
    program("coordinates", lambda x: torch.stack(torch.meshgrid(torch.arange(x.shape[2]), torch.arange(x.shape[3]), indexing="ij")), f(1, 1, "h", "w"), h=3, w=4, out="2, h, w"),
    program("coordinate_channels", lambda x: torch.cat([x, torch.linspace(-1, 1, x.shape[3]).expand(x.shape[0], 1, x.shape[2], x.shape[3])], 1), f("b", 3, "h", "w"), b=1, h=3, w=4, out="b, 4, h, w"),
]  # fmt: skip


def partition(x, size):
    b, h, w, c = x.shape
    x = x.view(b, h // size, size, w // size, size, c)
    return x.permute(0, 1, 3, 2, 4, 5).contiguous().view(-1, size * size, c)


def unpartition(windows, size, h, w):
    b = windows.shape[0] // ((h // size) * (w // size))
    x = windows.view(b, h // size, w // size, size, size, -1)
    return x.permute(0, 1, 3, 2, 4, 5).reshape(b, h, w, -1)


def there_and_back(x):
    return unpartition(partition(x, 2) * 2, 2, x.shape[1], x.shape[2])


def shifted_windows(x):
    """Swin's shifted windows with padding to a multiple of the window and the mask of its regions."""
    b, h, w, c = x.shape
    x = F.pad(x, (0, 0, 0, (2 - w % 2) % 2, 0, (2 - h % 2) % 2))
    height, width = x.shape[1:3]
    shifted = torch.roll(x, (-1, -1), (1, 2))
    windows = partition(shifted, 2)
    out = unpartition(windows @ windows.mT @ windows, 2, height, width)
    return torch.roll(out, (1, 1), (1, 2))[:, :h, :w]


def region_mask(x):
    regions = x.new_zeros((1, x.shape[1], x.shape[2], 1))
    count = 0
    for rows in (slice(0, -2), slice(-2, -1), slice(-1, None)):
        for columns in (slice(0, -2), slice(-2, -1), slice(-1, None)):
            regions[:, rows, columns] = count
            count += 1
    windows = partition(regions, 2).squeeze(-1)
    return windows.unsqueeze(1) - windows.unsqueeze(2)


def merge_patches(x):
    x = F.pad(x, (0, 0, 0, x.shape[2] % 2, 0, x.shape[1] % 2))
    return torch.cat([x[:, 0::2, 0::2], x[:, 1::2, 0::2], x[:, 0::2, 1::2], x[:, 1::2, 1::2]], -1)


WINDOWS = [
    program("partition", lambda x: partition(x, 2), f("b", "h", "w", 3), b=1, h=4, w=6, out="b*(h//2)*(w//2), 4, 3",
            others=[at(b=1, h=2, w=2), at(b=3, h=8, w=2), at(b=2, h=6, w=10)]),
    program("there_and_back", there_and_back, f("b", "h", "w", 3), b=1, h=4, w=6, others=[at(b=1, h=2, w=2), at(b=3, h=8, w=2), at(b=2, h=6, w=10)]),
    program("shifted_windows", shifted_windows, f("b", "h", "w", 3), b=1, h=4, w=5, out="b, h, w, 3"),
    program("region_mask", region_mask, f("b", "h", "w", 3), b=1, h=4, w=6, others=[at(b=1, h=2, w=2), at(b=3, h=8, w=2), at(b=2, h=6, w=10)]),
    program("merge_patches", merge_patches, f("b", "h", "w", 3), b=1, h=4, w=5, out="b, (h + h%2 + 1)//2, (w + w%2 + 1)//2, 12"),
    program("unfold", nn.Unfold(2, stride=2), f("b", 3, "h", "w"), b=1, h=4, w=5, low={"h": 2, "w": 2}, out="b, 12, (h//2)*(w//2)"),
    program("unfold_overlapping", nn.Unfold(3, padding=1), f("b", 2, "h", "w"), b=1, h=4, w=5, out="b, 18, h*w"),
    program("unfold_axis", lambda x: x.unfold(1, 3, 2), f("b", "n"), b=1, n=8, low={"n": 3}, out="b, max(0, (n + 1)//2 - 1), 3"),
    program("patches", lambda x: x.unfold(2, 2, 2).unfold(3, 2, 2).flatten(2, 3), f("b", 3, "h", "w"), b=1, h=4, w=5, low={"h": 2, "w": 2}, out="b, 3, (h//2)*(w//2), 2, 2"),
    program("patches_by_einsum", lambda x: torch.einsum("bchpwq->bhwpqc", x.reshape(x.shape[0], 3, x.shape[2] // 2, 2, x.shape[3] // 2, 2)), f("b", 3, "h", "w"), b=1, h=4, w=6,
            others=[at(b=1, h=2, w=2), at(b=3, h=8, w=2), at(b=2, h=6, w=10)]),
    program("fold_back", lambda x: F.fold(F.unfold(x, 2, stride=2), (4, 6), 2, stride=2), f("b", 3, 4, 6), b=2, out="b, 3, 4, 6"),
    program("windows_of_signal", lambda x: x.unfold(-1, 4, 2).mean(-1), f("b", "n"), b=1, n=8, low={"n": 4}),
    program("dense_anchors", lambda x: (torch.arange(x.shape[2])[:, None, None] * 4 + torch.tensor([[0, 1], [2, 3]])).reshape(-1, 2), f(1, 1, "h", "w"), h=3, w=4, out="2*h, 2"),
    program("one_hot_map", lambda x: F.one_hot(x, 4).permute(0, 3, 1, 2).float(), i("b", "h", "w"), b=1, h=3, w=4, out="b, 4, h, w"),
]  # fmt: skip


@programs(CONVOLUTION)
def test_convolution(p, opset):
    check(p, opset)


@programs(POOLING)
def test_pooling(p, opset):
    check(p, opset)


@programs(RESIZING)
def test_resizing(p, opset):
    check(p, opset)


@programs(WINDOWS)
def test_windows(p, opset):
    check(p, opset)
