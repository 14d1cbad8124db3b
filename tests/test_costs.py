"""What exports cost, in counts that don't depend on the machine: nodes of the files, calls of Python functions, memory.

A figure that falls is lowered here; one that rises wants a reason. `benchmarks/` measures seconds.
"""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

import onnxport

PACKAGE = str(Path(onnxport.__file__).parent)
X = torch.randn


class Attention(nn.Module):
    """A decoder's layer as language models have it: rotary embedding, causal mask, gated MLP."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.out_norm = nn.RMSNorm(32), nn.LayerNorm(32)
        self.qkv, self.out = nn.Linear(32, 96, bias=False), nn.Linear(32, 32, bias=False)
        self.gate, self.up, self.down = nn.Linear(32, 64), nn.Linear(32, 64), nn.Linear(64, 32)

    def forward(self, x):
        batch, length, _ = x.shape
        q, k, v = self.qkv(self.norm(x)).view(batch, length, 3, 4, 8).permute(2, 0, 3, 1, 4).unbind(0)
        angles = torch.arange(length, device=x.device)[:, None] * torch.tensor([1.0, 0.1, 0.01, 0.001])
        cos, sin = torch.cat([angles, angles], -1).cos(), torch.cat([angles, angles], -1).sin()

        def rotated(y):
            return y * cos + torch.cat([-y[..., 4:], y[..., :4]], -1) * sin

        y = nn.functional.scaled_dot_product_attention(rotated(q), rotated(k), v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(batch, length, 32))
        y = self.out_norm(x)
        return x + self.down(nn.functional.silu(self.gate(y)) * self.up(y))


class Windows(nn.Module):
    """Windows of an image, as in Swin."""

    def forward(self, x):
        batch, height, width, channels = x.shape
        x = nn.functional.pad(x, (0, 0, 0, -width % 4, 0, -height % 4)).roll((-2, -2), (1, 2))
        x = x.view(batch, x.shape[1] // 4, 4, x.shape[2] // 4, 4, channels).permute(0, 1, 3, 2, 4, 5)
        return x.reshape(-1, 16, channels).softmax(1)


class Decoded(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.cell, self.out = nn.Embedding(11, 8), nn.GRUCell(8, 8), nn.Linear(8, 11)

    def forward(self, state, steps: int):
        token = torch.zeros(state.shape[0], dtype=torch.long)
        tokens = [token]
        for _ in range(steps):
            state = self.cell(self.embedding(token), state)
            token = self.out(state).argmax(1)
            tokens.append(token)
        return torch.stack(tokens, 1)


def block() -> nn.Module:
    return nn.Sequential(nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU6(), nn.MaxPool2d(2))


CONVOLUTIONS = nn.Sequential(block(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4))
ENCODER = nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 2, 32, batch_first=True, activation="gelu"), 2)
NODES = [
    ("convolutions", CONVOLUTIONS, (X(2, 3, 8, 8),), {"x": {0: "n", 2: "h", 3: "w"}}, 6),
    ("encoder", ENCODER, (X(2, 5, 16),), {"x": {0: "n", 1: "t"}}, 50),
    ("decoder layer", Attention(), (X(2, 5, 32),), {"x": {0: "n", 1: "t"}}, 56),
    ("windows", Windows(), (X(2, 9, 10, 3),), {"x": {0: "n", 1: "h", 2: "w"}}, 27),
    ("lstm", nn.LSTM(4, 6, 2, bidirectional=True, batch_first=True), (X(2, 5, 4),), {"x": {0: "n", 1: "t"}}, 9),
    ("scripted loop", torch.jit.script(Decoded()), (X(2, 8), 3), {"x": {0: "n"}}, 25),
    ("resized", nn.Upsample(scale_factor=2, mode="bilinear"), (X(1, 3, 4, 5),), {"x": {2: "h", 3: "w"}}, 1),
]  # fmt: skip


@pytest.mark.parametrize("model, args, axes, nodes", [row[1:] for row in NODES], ids=[row[0] for row in NODES])
def test_nodes(model, args, axes, nodes):
    """No more nodes than now, those inside of loops and branches included, in a file that is right."""
    result = onnxport.export(model.eval(), args, input_names=["x"], dynamic_axes=axes, opset_version=20)
    assert result.verify()
    assert sum(1 for _ in result.model.graph.all_nodes()) == nodes


def calls(layers: int, *, dynamic: bool) -> int:
    """How many functions of this package an export of a stack of so many layers calls."""
    model = nn.Sequential(*(nn.Sequential(nn.Linear(4, 4), nn.ReLU()) for _ in range(layers))).eval()
    count = 0

    def profile(frame, event, _):
        nonlocal count
        count += event == "call" and frame.f_code.co_filename.startswith(PACKAGE)

    axes = {"x": {0: "n"}} if dynamic else None
    sys.setprofile(profile)
    try:
        onnxport.export(model, X(2, 4), input_names=["x"], dynamic_axes=axes, opset_version=20)
    finally:
        sys.setprofile(None)
    return count


def counts(*, dynamic: bool) -> tuple[int, ...]:
    calls(1, dynamic=dynamic)  # what is imported and remembered once
    return tuple(calls(layers, dynamic=dynamic) for layers in (20, 40, 80))


@pytest.mark.parametrize("dynamic, most", [(False, 292), (True, 300)])
def test_calls(dynamic, most):
    """Each further layer of a deep model costs the same, and no more than now; in a process that other tests left alone."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        few, some, many = pool.apply(counts, kwds={"dynamic": dynamic})
    assert many - some <= 2 * (some - few) * 1.01
    assert (many - some) / 40 <= most


def test_memory(tmp_path):
    """A whole export, tied and transposed weights among it, holds no second copy of a weight."""
    script = """
import resource, sys, torch, onnxport
from torch import nn
class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.layers = nn.Embedding(1 << 14, 1 << 10), nn.Sequential(*(nn.Linear(1 << 12, 1 << 12) for _ in range(3)))
        self.head = nn.Linear(1 << 10, 1 << 14, bias=False)
        self.head.weight = self.embedding.weight
    def forward(self, ids, x):
        return self.head(self.embedding(ids)), self.layers(x)
def export(model, width, path):
    onnxport.export(model, (torch.ones(1, 2, dtype=torch.long), torch.ones(1, 2, width)), path, opset_version=20)
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
model = Tied().eval()
with torch.no_grad():
    model(torch.ones(1, 2, dtype=torch.long), torch.ones(1, 2, 1 << 12))
before = peak()
export(model, 1 << 12, sys.argv[1])
print(peak() - before)
"""
    command = [sys.executable, "-c", script, tmp_path / "m.onnx"]
    kilobytes = int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert 1 << 28 < (tmp_path / "m.onnx").stat().st_size < (1 << 28) + (1 << 20)
    assert kilobytes < 64 << 10
