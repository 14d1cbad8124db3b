"""Scales and shifts by constants: part of the weights where that is right, left where it isn't."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tests.harness import operators
from tests.passes.rewriting import parsed, rewritten
from torch import nn

import onnxport

X = "float[2,3,8] x"


def numbers(*shape, seed=0, dtype=np.float32):
    return (np.random.default_rng(seed).random(shape) + 0.5).astype(dtype)


def feeds(*shape, dtype=np.float32):
    return {"x": numbers(*shape, seed=9, dtype=dtype)}


W, B, C5, ONE = numbers(8, 5), numbers(5, seed=1), numbers(5, seed=2), numbers(seed=3)
PERM = "t = Transpose<perm=[0,2,1]>(%s)"
NORM = {"s": numbers(5, seed=4), "d": numbers(5, seed=5), "m": numbers(5, seed=6), "v": numbers(5, seed=7)}

FOLDED = {
    "scale": ("p = MatMul(x, w) y = Mul(p, c)", {"w": W, "c": C5}, ["MatMul"]),
    "scale first": ("p = MatMul(x, w) y = Mul(c, p)", {"w": W, "c": C5}, ["MatMul"]),
    "quotient": ("p = MatMul(x, w) y = Div(p, c)", {"w": W, "c": C5}, ["MatMul"]),
    "bias": ("p = MatMul(x, w) q = Add(p, b) y = Mul(q, c)", {"w": W, "b": B, "c": C5}, ["MatMul", "Add"]),
    "number": ("p = MatMul(x, w) q = Add(b, p) y = Mul(q, c)", {"w": W, "b": B, "c": ONE}, ["MatMul", "Add"]),
    "two biases": ("p = MatMul(x, w) q = Add(p, b) y = Sub(q, c)", {"w": W, "b": B, "c": C5}, ["MatMul", "Add"]),
    "bias of one": ("p = MatMul(x, w) q = Add(p, b) y = Mul(q, c)", {"w": W, "b": ONE, "c": C5}, ["MatMul", "Add"]),
    "permuted": (
        f"p = MatMul(x, w) q = Add(p, b) {PERM % 'q'} y = Mul(t, c)",
        {"w": W, "b": B, "c": C5.reshape(5, 1)},
        ["MatMul", "Add", "Transpose"],
    ),
    "norm": (
        f"p = MatMul(x, w) {PERM % 'p'} y = BatchNormalization(t, s, d, m, v)",
        {"w": W, **NORM},
        ["MatMul", "Add", "Transpose"],
    ),
    "norm of rows": (
        "p = MatMul(x, w) f = Reshape(p, rows) n = BatchNormalization(f, s, d, m, v) r = Reshape(n, whole) y = Relu(r)",
        {"w": W, **NORM, "rows": np.array([-1, 5]), "whole": np.array([-1, 3, 5])},
        ["MatMul", "Add", "Relu"],
    ),
    "norm at once": (
        "r = Reshape(x, rows) p = MatMul(r, w) y = BatchNormalization(p, s, d, m, v)",
        {"w": W, **NORM, "rows": np.array([-1, 8])},
        ["Reshape", "MatMul", "Add"],
    ),
    "product": (
        f"p = MatMul(x, w) {PERM % 'x'} q = MatMul(t, p) y = Mul(q, c)",
        {"w": W, "c": ONE},
        ["MatMul", "Transpose", "MatMul"],
    ),
    "gemm": (
        "r = Reshape(x, rows) p = Gemm(r, w, b) y = Mul(p, c)",
        {"w": W, "b": B, "c": C5, "rows": np.array([-1, 8])},
        ["Reshape", "Gemm"],
    ),
    "gemm of a transpose": (
        "r = Reshape(x, rows) p = Gemm<transB=1, alpha=2.0>(r, w, b) q = Mul(p, c) y = Add(q, k)",
        {"w": numbers(5, 8), "b": B, "c": C5, "k": ONE, "rows": np.array([-1, 8])},
        ["Reshape", "Gemm"],
    ),
    "split channels": (
        "p = MatMul(x, w) q = Reshape(p, to) y = Mul(q, c)",
        {"w": numbers(8, 6), "to": np.array([2, 3, 2, 3]), "c": numbers(3)},
        ["MatMul", "Reshape"],
    ),
    "part of a split": (
        "p = MatMul(x, w) q = Add(p, b) k, r, v = Split<axis=-1>(q, n) d = Mul(r, c) e = Add(k, d) y = Add(e, v)",
        {"w": numbers(8, 15), "b": numbers(15), "n": np.array([5, 5, 5]), "c": ONE},
        ["Add", "Add", "Add", "MatMul", "Split"],
    ),
    "channels of a part": (
        "p = MatMul(x, w) k, r = Split<axis=2>(p, n) d = Mul(r, c) e = ReduceSum(k) y = Add(e, d)",
        {"w": numbers(8, 7), "n": np.array([2, 5]), "c": C5},
        ["Add", "MatMul", "ReduceSum", "Split"],
    ),
    "packed": (
        "p = MatMul(x, w) q = Add(p, b) r = Reshape(q, to) t = Transpose<perm=[2,0,3,1,4]>(r) "
        "a = Gather(t, i0) k = Gather(t, i1) d = Gather(t, i2) e = Mul(k, c) g = Transpose<perm=[0,1,3,2]>(e) f = MatMul(a, g) y = MatMul(f, d)",
        {
            "w": numbers(8, 12),
            "b": numbers(12),
            "to": np.array([2, 3, 3, 2, 2]),
            "c": ONE,
            "i0": np.array(0),
            "i1": np.array(1),
            "i2": np.array(-1),
        },
        None,
    ),
    "second factor": (
        "t = Transpose<perm=[0,2,1]>(x) p = MatMul(x, t) q = MatMul(x, w) r = MatMul(p, q) y = Mul(r, c)",
        {"w": W, "c": ONE},
        ["MatMul", "MatMul", "MatMul", "Transpose"],
    ),
    "zero": (
        "p = Relu(x) q = Add(p, z) y = Add(q, x)",
        {"z": np.zeros((), np.float32)},
        ["Relu", "Add"],
    ),
}


@pytest.mark.parametrize(("body", "weights", "expected"), FOLDED.values(), ids=FOLDED)
def test_folds(body, weights, expected):
    model = parsed(body, X, "y", weights)
    found = sorted(rewritten(model, feeds(2, 3, 8)))
    assert "Mul" not in found if expected is None else found == sorted(expected)


LEFT = {
    "product used elsewhere": ("p = MatMul(x, w) z = Relu(p) q = Mul(p, c) y = Add(q, z)", {"w": W, "c": C5}),
    "weight used elsewhere": ("p = MatMul(x, w) o = MatMul(x, w) q = Mul(p, c) y = Add(q, o)", {"w": W, "c": C5}),
    "bias used elsewhere": (
        "p = MatMul(x, w) q = Add(p, b) r = Mul(q, c) y = Sub(r, b)",
        {"w": W, "b": numbers(3, 5), "c": C5},
    ),
    "scale along rows": ("p = MatMul(x, w) y = Mul(p, c)", {"w": W, "c": numbers(3, 1)}),
    "scale of two axes": ("p = MatMul(x, w) y = Mul(p, c)", {"w": W, "c": numbers(3, 5)}),
    "scale makes it larger": ("p = MatMul(x, w) y = Mul(p, c)", {"w": W, "c": numbers(2, 1, 3, 5)}),
    "infinite": ("p = MatMul(x, w) y = Mul(p, c)", {"w": W, "c": np.full(5, np.inf, np.float32)}),
    "divided by zero": ("p = MatMul(x, w) y = Div(p, c)", {"w": W, "c": np.zeros(5, np.float32)}),
    "divides": ("p = MatMul(x, w) y = Div(c, p)", {"w": W, "c": C5}),
    "taken from": ("p = MatMul(x, w) y = Sub(c, p)", {"w": W, "c": C5}),
    "nonlinear between": ("p = MatMul(x, w) q = Relu(p) y = Mul(q, c)", {"w": W, "c": C5}),
    "no weights": ("p = MatMul(x, t) t = Transpose<perm=[0,2,1]>(x) y = Mul(p, c)", {"c": ONE}),
    "merged channels": (
        "p = MatMul(x, w) q = Reshape(p, to) y = Mul(q, c)",
        {"w": W, "to": np.array([2, 15]), "c": numbers(15)},
    ),
    "picks with other users": (
        "p = MatMul(x, w) q = Reshape(p, to) a = Gather<axis=2>(q, i0) b = Gather<axis=2>(q, i1) c = Relu(q) "
        "d = Mul(a, k) e = Add(d, b) z = ReduceSum(c) y = Add(e, z)",
        {"w": numbers(8, 6), "to": np.array([2, 3, 2, 3]), "i0": np.array(0), "i1": np.array(1), "k": ONE},
    ),
    "the same pick twice": (
        "p = MatMul(x, w) q = Reshape(p, to) a = Gather<axis=2>(q, i0) b = Gather<axis=2>(q, i1) "
        "d = Mul(a, k) y = Add(d, b)",
        {"w": numbers(8, 6), "to": np.array([2, 3, 2, 3]), "i0": np.array(0), "i1": np.array(-2), "k": ONE},
    ),
    "several picks": (
        "p = MatMul(x, w) a = Gather<axis=2>(p, i0) b = Gather<axis=2>(p, i1) d = Mul(a, k) e = Reshape(d, to) y = Add(e, b)",
        {"w": numbers(8, 6), "i0": np.array([0, 0]), "i1": np.array(1), "to": np.array([2, 2, 3]), "k": ONE},
    ),
    "split along another axis": (
        "p = MatMul(x, w) a, b = Split<axis=1>(p, n) d = Mul(a, c) e = ReduceSum(d) y = Add(e, b)",
        {"w": W, "n": np.array([1, 2]), "c": C5},
    ),
    "zero alone": ("p = Relu(x) q = Add(p, z) y = Reciprocal(q)", {"z": np.zeros((), np.float32)}),
}


@pytest.mark.parametrize(("body", "weights"), LEFT.values(), ids=LEFT)
def test_leaves(body, weights):
    if "t = Transpose" in body:
        body = "t = Transpose<perm=[0,2,1]>(x) p = MatMul(x, t) y = Mul(p, c)"
    model = parsed(body, X, "y", weights)
    before = sorted(node.op_type for node in model.graph)
    assert sorted(rewritten(model, feeds(2, 3, 8))) == before


def test_leaves_outputs():
    model = parsed("p = MatMul(x, w) y = Mul(p, c)", X, "p y", {"w": W, "c": C5})
    assert rewritten(model, feeds(2, 3, 8)) == ["MatMul", "Mul"]


@pytest.mark.parametrize(("kind", "dtype"), [("float16", np.float16), ("int64", np.int64)])
def test_leaves_other_types(kind, dtype):
    weights = {"w": numbers(8, 5, dtype=dtype), "c": numbers(5, dtype=dtype)}
    model = parsed("p = MatMul(x, w) y = Mul(p, c)", f"{kind}[2,3,8] x", "y", weights)
    assert rewritten(model, feeds(2, 3, 8, dtype=dtype), tolerance=1e-2) == ["MatMul", "Mul"]


def test_double_keeps_its_digits():
    weights = {"w": numbers(8, 5, dtype=np.float64), "c": numbers(5, dtype=np.float64)}
    model = parsed("p = MatMul(x, w) y = Mul(p, c)", "double[2,3,8] x", "y", weights)
    assert rewritten(model, feeds(2, 3, 8, dtype=np.float64), tolerance=1e-13) == ["MatMul"]


def test_large_weight_is_computed_when_written():
    model = parsed(
        "p = MatMul(x, w) y = Mul(p, c)",
        "float[1,800] x",
        "y",
        {"w": numbers(800, 700), "c": numbers(700)},
    )
    assert rewritten(model, feeds(1, 800), tolerance=1e-4) == ["MatMul"]
    assert type(model.graph.initializers["w"].const_value).__name__ == "LazyTensor"


class Block(nn.Module):
    """A layer with a scale, as ConvNeXt and CaiT have it, and one with batch norm, as LeViT has."""

    def __init__(self):
        super().__init__()
        self.linear, self.norm = nn.Linear(8, 6), nn.BatchNorm1d(6)
        self.gamma = nn.Parameter(torch.rand(6) + 0.5)
        self.norm.running_mean.uniform_()
        self.norm.running_var.uniform_(0.5, 2)

    def forward(self, x):
        y = self.linear(x)
        normed = self.norm(y.flatten(0, 1)).view(y.shape)
        return normed.permute(0, 2, 1) * self.gamma[:, None]


@pytest.mark.parametrize("opset", [9, 12, 13, 17, 20, 23])
@pytest.mark.parametrize("mode", ["eval", "optimize=False", "train"])
def test_models(opset, mode):
    torch.manual_seed(0)
    model, x = Block().eval(), torch.randn(2, 3, 8)
    options = {"optimize": False} if mode == "optimize=False" else {}
    if mode == "train":
        model.train()
        options = {"training": onnxport.TrainingMode.PRESERVE}
    axes = {"x": {0: "batch", 1: "length"}}
    result = onnxport.export(model, (x,), opset_version=opset, input_names=["x"], dynamic_axes=axes, **options)
    if mode == "eval":
        assert sorted(operators(result.model_proto)) == ["Add", "MatMul", "Transpose"]
    else:
        assert "Mul" in operators(result.model_proto)
    if mode != "train":
        assert result.verify()


def test_a_number_stays_a_number():
    """A constant of rank 0 is one after another was added to it."""
    body = "s = ReduceSum<keepdims=0>(x) a = Add(s, c) y = Sub(a, d)"
    model = parsed(body, X, "y", {"c": numbers(), "d": numbers(seed=1)})
    assert rewritten(model, feeds(2, 3, 8)) == ["ReduceSum", "Add"]
