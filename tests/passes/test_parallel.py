"""Convolutions of one tensor that are added: one convolution where they are, and left where they aren't."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tests.harness import operators
from tests.passes.rewriting import parsed, rewritten
from torch import nn

import onnxport


def numbers(*shape, seed=0, dtype=np.float32):
    return (np.random.default_rng(seed).random(shape) - 0.3).astype(dtype)


NORM = {"s": numbers(4, seed=1) + 1, "d": numbers(4, seed=2), "m": numbers(4, seed=3), "v": numbers(4, seed=4) + 1}
W3, W1, WD, B = (
    numbers(4, 4, 3, 3, seed=5),
    numbers(4, 4, 1, 1, seed=6),
    numbers(4, 1, 3, 3, seed=7),
    numbers(4, seed=8),
)
PADDED = "Conv<pads=[1,1,1,1]>"
BN = "n = BatchNormalization(x, s, d, m, v)"

MERGED = {
    "two": (f"a = {PADDED}(x, w) b = Conv(x, u) y = Add(a, b)", {"w": W3, "u": W1}),
    "smaller first": (f"a = {PADDED}(x, w) b = Conv(x, u, k) y = Add(b, a)", {"w": W3, "u": W1, "k": B}),
    "both with bias": (f"a = {PADDED}(x, w, k) b = Conv(x, u, l) y = Add(b, a)", {"w": W3, "u": W1, "k": B, "l": B + 1}),
    "same sizes": (f"a = {PADDED}(x, w) b = {PADDED}(x, u) y = Add(b, a)", {"w": W3, "u": W3 * 2}),
    "difference": (f"a = {PADDED}(x, w, k) b = Conv(x, u, l) y = Sub(a, b)", {"w": W3, "u": W1, "k": B, "l": B + 1}),
    "taken from the smaller": (f"a = {PADDED}(x, w, k) b = Conv(x, u, l) y = Sub(b, a)", {"w": W3, "u": W1, "k": B, "l": B + 1}),
    "norm": (f"a = {PADDED}(x, w) {BN} y = Add(a, n)", {"w": W3, **NORM}),
    "less a norm": (f"a = {PADDED}(x, w, k) {BN} y = Sub(a, n)", {"w": W3, "k": B, **NORM}),
    "itself": (f"a = {PADDED}(x, w) y = Add(x, a)", {"w": W3}),
    "itself less": (f"a = {PADDED}(x, w, k) y = Sub(x, a)", {"w": W3, "k": B}),
    "by channel": ("a = Conv<group=4, pads=[1,1,1,1]>(x, w) y = Add(x, a)", {"w": WD}),
    "groups": (f"a = Conv<group=2, pads=[1,1,1,1]>(x, w) {BN} y = Add(n, a)", {"w": numbers(4, 2, 3, 3), **NORM}),
    "steps": (
        "a = Conv<strides=[2,2], pads=[1,1,1,1]>(x, w) b = Conv<strides=[2,2]>(x, u) y = Add(a, b)", {"w": W3, "u": W1},
    ),
    "off centre": (
        "a = Conv<pads=[2,0,0,1]>(x, w) b = Conv(x, u) y = Add(a, b)", {"w": numbers(4, 4, 3, 2), "u": W1},
    ),
    "three": (
        f"a = {PADDED}(x, w) b = Conv(x, u) {BN} t = Add(a, b) y = Add(t, n)", {"w": W3, "u": W1, **NORM},
    ),
    "scaled between": (
        f"a = {PADDED}(x, w) {BN} t = Sub(a, n) g = Mul(t, c) y = Add(x, g)",
        {"w": W3, "c": B.reshape(4, 1, 1), **NORM},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("body", "weights"), MERGED.values(), ids=MERGED)
def test_merges(body, weights):
    model = parsed(body, "float[2,4,6,7] x", "y", weights)
    assert rewritten(model, {"x": numbers(2, 4, 6, 7, seed=9)}) == ["Conv"]


LEFT = {
    "other tensor": (f"z = Relu(x) a = {PADDED}(x, w) b = Conv(z, u) y = Add(a, b)", {"w": W3, "u": W1}),
    "other steps": (
        "a = Conv<strides=[6,7], pads=[1,1,1,1]>(x, w) b = Conv<strides=[5,6]>(x, u) c = GlobalAveragePool(b) y = Add(a, c)",
        {"w": W3, "u": W1},
    ),
    "holes": (
        "a = Conv<pads=[2,2,2,2], dilations=[2,2]>(x, w) b = Conv(x, u) y = Add(a, b)",
        {"w": W3, "u": W1},
    ),
    "other groups": (f"a = {PADDED}(x, w) b = Conv<group=4>(x, u) y = Add(a, b)", {"w": W3, "u": numbers(4, 1, 1, 1)}),
    "shifted": (
        "a = Conv<pads=[1,1,1,1]>(x, w) b = Conv<pads=[2,2,0,0]>(x, u) y = Add(a, b)",
        {"w": W3, "u": W3 * 2},
    ),
    "used elsewhere": (f"a = {PADDED}(x, w) b = Conv(x, u) t = Relu(b) s = Add(a, b) y = Add(s, t)", {"w": W3, "u": W1}),
    "weight used elsewhere": (
        f"a = {PADDED}(x, w) b = Conv(x, u) z = ReduceSum(w) s = Add(a, b) y = Mul(s, z)",
        {"w": W3, "u": W1},
    ),
    "other channels": (f"a = {PADDED}(x, w) b = ReduceMean(x, i) y = Add(a, b)", {"w": W3, "i": np.array([1])}),
    "broadcast": (f"a = {PADDED}(x, w) y = Add(x, a)", {"w": W3[:1]}),
    "nonlinear": (f"a = {PADDED}(x, w) b = Relu(a) y = Add(x, b)", {"w": W3}),
    "smaller result": ("a = Conv<auto_pad=\"SAME_UPPER\">(x, w) b = Conv(x, u) y = Add(a, b)", {"w": W3, "u": W1}),
    "twice the same": (f"a = {PADDED}(x, w) y = Add(a, a)", {"w": W3}),
}  # fmt: skip


@pytest.mark.parametrize(("body", "weights"), LEFT.values(), ids=LEFT)
def test_leaves(body, weights):
    model = parsed(body, "float[2,4,6,7] x", "y", weights)
    before = sorted(node.op_type for node in model.graph)
    assert sorted(rewritten(model, {"x": numbers(2, 4, 6, 7, seed=9)})) == before


def test_leaves_half():
    model = parsed(
        f"a = {PADDED}(x, w) y = Add(x, a)", "float16[2,4,6,7] x", "y", {"w": numbers(4, 4, 3, 3, dtype=np.float16)}
    )
    feeds = {"x": numbers(2, 4, 6, 7, dtype=np.float16)}
    assert rewritten(model, feeds, tolerance=1e-2) == ["Conv", "Add"]


class RepVGG(nn.Module):
    """A block of three branches, each with its norm."""

    def __init__(self, dims=2):
        super().__init__()
        conv, norm = ((nn.Conv1d, nn.BatchNorm1d), (nn.Conv2d, nn.BatchNorm2d), (nn.Conv3d, nn.BatchNorm3d))[dims - 1]
        self.wide = nn.Sequential(conv(8, 8, 3, padding=1, bias=False), norm(8))
        self.point = nn.Sequential(conv(8, 8, 1, bias=False), norm(8))
        self.same = norm(8)
        for part in self.modules():
            if isinstance(part, norm):
                part.running_mean.uniform_()
                part.running_var.uniform_(0.5, 2)

    def forward(self, x):
        out = 0
        for branch in (self.wide, self.point, self.same):
            out = out + branch(x)
        return out.relu()


@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("opset", [9, 14, 20])
def test_blocks(dims, opset):
    torch.manual_seed(0)
    model, x = nn.Sequential(RepVGG(dims), RepVGG(dims)).eval(), torch.randn(2, 8, *[6] * dims)
    axes = {"x": {i: f"size{i}" for i in (0, *range(2, x.dim()))}}
    result = onnxport.export(model, (x,), opset_version=opset, input_names=["x"], dynamic_axes=axes)
    assert operators(result.model_proto) == ["Conv", "Relu"] * 2
    assert result.verify()
    apart = onnxport.export(model, (x,), opset_version=opset, input_names=["x"], dynamic_axes=axes, optimize=False)
    assert operators(apart.model_proto).count("Conv") == 4
    trained = onnxport.export(model, (x,), opset_version=opset, training=onnxport.TrainingMode.TRAINING)
    assert operators(trained.model_proto).count("Conv") == 4
