"""Products between two swaps of the last two axes, and what only looks like it."""

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


SWAP = "Transpose<perm=[0,2,1]>"
WEIGHTS = {"w": numbers(5, 6), "b": numbers(6, seed=1), "v": numbers(6, 4, seed=2), "c": numbers(4, seed=3)}

CASES = {
    "mlp": (
        f"t = {SWAP}(x) p = MatMul(t, w) q = Add(p, b) r = Relu(q) s = MatMul(r, v) u = Add(s, c) y = {SWAP}(u)",
        ["MatMul", "Add", "Relu", "MatMul", "Add"],
    ),
    "product": (f"t = {SWAP}(x) p = MatMul(t, w) y = {SWAP}(p)", ["MatMul"]),
    "four axes": (
        "u = Unsqueeze(x, one) t = Transpose<perm=[0,1,3,2]>(u) p = MatMul(t, w) q = Transpose<perm=[0,1,3,2]>(p) y = Relu(q)",
        ["Unsqueeze", "MatMul", "Relu"],
    ),
    "softmax between": (f"t = {SWAP}(x) p = MatMul(t, w) q = Softmax<axis=-1>(p) y = {SWAP}(q)", None),
    "used between": (f"t = {SWAP}(x) p = MatMul(t, w) q = {SWAP}(p) r = ReduceSum(p) y = Add(q, r)", None),
    "weight used elsewhere": (f"t = {SWAP}(x) p = MatMul(t, w) q = {SWAP}(p) r = ReduceSum(w) y = Add(q, r)", None),
    "from the left": (f"t = {SWAP}(x) p = MatMul(z, t) y = {SWAP}(p)", None),
    "other axes": ("t = Transpose<perm=[0,2,1]>(x) p = MatMul(t, w) y = Transpose<perm=[1,0,2]>(p)", None),
    "table": (f"t = {SWAP}(x) p = MatMul(t, w) q = Add(p, m) y = {SWAP}(q)", None),
}


@pytest.mark.parametrize(("body", "expected"), CASES.values(), ids=CASES)
def test_rewrites(body, expected):
    everything = {**WEIGHTS, "z": numbers(2, 3), "m": numbers(3, 6), "one": np.array([1])}
    words = body.replace(",", " ").replace("(", " ").replace(")", " ").split()
    model = parsed(body, "float[2,5,3] x", "y", {k: w for k, w in everything.items() if k in words})
    before = [node.op_type for node in model.graph]
    found = rewritten(model, {"x": numbers(2, 5, 3, seed=4)})
    if expected is not None:
        assert found == expected
    else:
        assert found.count("MatMul") == before.count("MatMul") and "Transpose" in found


class Mixer(nn.Module):
    def __init__(self, dtype):
        super().__init__()
        self.up, self.down = nn.Linear(5, 7, dtype=dtype), nn.Linear(7, 5, dtype=dtype)
        self.norm = nn.LayerNorm(6, dtype=dtype)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(self.norm(x).transpose(1, 2)))).transpose(1, 2)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16])
@pytest.mark.parametrize("opset", [17, 20, 23])
def test_mixer(dtype, opset):
    torch.manual_seed(0)
    model, x = Mixer(dtype).eval(), torch.randn(2, 5, 6, dtype=dtype)
    result = onnxport.export(model, (x,), opset_version=opset, input_names=["x"], dynamic_axes={"x": {0: "n"}})
    assert "Transpose" not in operators(result.model_proto)
    assert result.verify()
