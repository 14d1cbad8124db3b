"""Several `if`s of Python on sizes, each by itself one of the exported model: as many ways as there are sizes, in one small graph."""

import warnings

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import onnxport
from onnxport.errors import OnnxExporterWarning
from tests.harness import LATEST


class Levels(nn.Module):
    """A network of levels: down, and up again beside what was on the way."""

    def __init__(self, padded=True, skipped=None, count=4):
        super().__init__()
        self.padded, self.skipped = padded, skipped
        self.down = nn.ModuleList(nn.Conv2d(2, 2, 3, padding=1) for _ in range(count))
        self.up = nn.ModuleList(nn.Conv2d(4, 2, 3, padding=1) for _ in range(count))
        self.act = nn.ReLU(inplace=True)

    def forward(self, x):
        skips = []
        for conv in self.down:
            if self.padded and x.shape[-1] % 2:
                x = F.pad(x, (0, 1))
            if self.padded and x.shape[-2] % 2:
                x = F.pad(x, (0, 0, 0, 1))
            x = self.act(conv(x))
            skips.append(x)
            x = F.max_pool2d(x, 2)
        for conv, skip in zip(self.up, reversed(skips)):
            x = F.interpolate(x, scale_factor=2.0)
            if self.skipped and x.shape[-2:] != skip.shape[-2:]:
                x = self.skipped(x, skip)
            x = x[..., : skip.shape[-2], : skip.shape[-1]]
            x = conv(torch.cat([x, skip], 1)).relu_()
        return x


class Windows(nn.Module):
    """Windows on two levels, shifted on each axis by itself unless one window is all there is; masks are written in place."""

    def __init__(self, size=4):
        super().__init__()
        self.size, self.layers = size, nn.ModuleList(nn.Linear(4, 4) for _ in range(2))

    def forward(self, x):
        for layer in self.layers:
            _, h, w, _ = x.shape
            x = self.attention(F.pad(x, (0, 0, 0, -w % self.size, 0, -h % self.size)), layer)[:, :h, :w]
            if w % 2 == 1 or h % 2 == 1:
                x = F.pad(x, (0, 0, 0, w % 2, 0, h % 2))
            x = x[:, ::2, ::2] + x[:, 1::2, 1::2]
        return x

    def attention(self, x, layer):
        size, (b, h, w, c) = self.size, x.shape
        shifts = [0 if size >= n else size // 2 for n in (h, w)]
        if sum(shifts) > 0:
            x = torch.roll(x, (-shifts[0], -shifts[1]), (1, 2))
        x = x.view(b, h // size, size, w // size, size, c).permute(0, 1, 3, 2, 4, 5).reshape(-1, size * size, c)
        score = layer(x) @ x.mT
        if sum(shifts) > 0:
            mask, count = x.new_zeros(h, w), 0
            for rows in ((0, -size), (-size, -shifts[0]), (-shifts[0], None)):
                for columns in ((0, -size), (-size, -shifts[1]), (-shifts[1], None)):
                    mask[rows[0] : rows[1], columns[0] : columns[1]] = count
                    count += 1
            mask = mask.view(h // size, size, w // size, size).permute(0, 2, 1, 3).reshape(-1, size * size)
            mask = mask.unsqueeze(1) - mask.unsqueeze(2)
            score = score.view(b, -1, size * size, size * size) - 100.0 * (mask != 0).to(score)
            score = score.view(-1, size * size, size * size)
        x = (score.softmax(-1) @ x).view(b, h // size, w // size, size, size, c)
        x = x.permute(0, 1, 3, 2, 4, 5).reshape(b, h, w, c)
        return torch.roll(x, (shifts[0], shifts[1]), (1, 2)) if sum(shifts) > 0 else x


class Steps(nn.Module):
    """Ifs of all kinds, one behind the other, on two axes."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(3, 3), nn.Linear(3, 3)

    def forward(self, x):
        n, m = x.shape[1:3]
        kept = x
        if n % 2:
            x = torch.cat([x, x[:, -1:] * 2], 1)
        x = (self.a(x) if m % 3 == 0 else self.b(x)).sin()
        if n > 4 and m % (n - 4) == 0:  # is asked only where it divides by something
            x = x + 1
        if x.shape[1] % 4 == 2:
            x = x * 2
        if m > 6:
            if m % 2 == 0:
                x = x - kept.mean((1, 2), keepdim=True)
            else:
                x = x.cos()
        total = x.cumsum(1)
        if n == m:
            total = total * 3
        return total, kept.sum(1) if m < 4 else kept.amax(1)


def _resized(x, skip):
    return F.interpolate(x, skip.shape[-2:], mode="bilinear", align_corners=False)


def _reflected(x, skip):
    return F.pad(x, (0, skip.shape[-1] - x.shape[-1], 0, skip.shape[-2] - x.shape[-2]), mode="reflect")


MODELS = {
    "padded": (Levels(), (2, 2, 64, 48)),
    "odd_example": (Levels(), (2, 2, 37, 51)),
    "resized": (Levels(False, _resized), (1, 2, 64, 48)),
    "reflected": (Levels(False, _reflected), (1, 2, 64, 48)),
    "padded_and_resized": (Levels(True, _resized, 3), (1, 2, 40, 48)),
    "windows": (Windows(), (1, 32, 40, 4)),
    "small_example": (Windows(), (1, 5, 9, 4)),
    "steps": (Steps(), (2, 8, 12, 3)),
    "equal_sizes": (Steps(), (2, 9, 9, 3)),
}
SIZES = [(1, 1), (2, 3), (3, 2), (4, 4), (5, 12), (6, 9), (7, 7), (8, 16), (9, 33), (12, 5), (13, 64), (16, 16), (17, 31),
         (24, 40), (31, 17), (32, 48), (33, 33), (48, 7), (50, 52), (63, 65), (64, 64), (70, 20), (97, 35), (128, 1)]  # fmt: skip


@pytest.mark.parametrize("opset", [13, LATEST])
@pytest.mark.parametrize("name", MODELS)
def test_right_on_all_ways(name, opset):
    model, shape = MODELS[name]
    model.eval()
    first = 1 if shape[-1] < 5 else 2
    axes = {first: "h", first + 1: "w"}
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        result = onnxport.export(
            model, (torch.randn(*shape),), input_names=["x"], dynamic_axes={"x": axes}, opset_version=opset
        )
    assert not [str(w.message) for w in said if issubclass(w.category, OnnxExporterWarning)]
    tried = 0
    for h, w in SIZES:
        x = torch.randn(*(h if i == first else w if i == first + 1 else n for i, n in enumerate(shape)))
        try:
            expected = model(x.clone())
        except RuntimeError:
            continue  # too small for the model
        tried += 1
        torch.testing.assert_close(result(x), expected, rtol=1e-3, atol=1e-4, msg=lambda m, at=(h, w): f"{at}: {m}")
    assert tried > 8
    assert _count(result.model_proto.graph) < 1300  # each `if` is there once


def _count(graph):
    inner = [attribute.g for node in graph.node for attribute in node.attribute if attribute.HasField("g")]
    return len(graph.node) + sum(map(_count, inner))
