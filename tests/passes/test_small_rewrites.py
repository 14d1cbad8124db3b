"""Needless Expands, padding of convolutions, slices that are pieces: where it is right, and where it isn't."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime as ort
import pytest
import torch
from tests.passes.rewriting import parsed, rewritten

import onnxport
from onnxport.write import to_bytes


def numbers(*shape, seed=0):
    return (np.random.default_rng(seed).random(shape) + 0.5).astype(np.float32)


def ints(*values):
    return np.array(values, np.int64)


def after(body, inputs, outputs, weights, opset=20, **feeds):
    return sorted(rewritten(parsed(body, inputs, outputs, weights, opset), feeds))


# -- expand -------------------------------------------------------------------------------------------

ROWS, WHOLE = "float[3,1] n", "float[3,4] x"
EXPANDED = "e = Expand(n, to)"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("y = Div(x, e)", ["Div"]),
        ("y = Sub(e, x)", ["Sub"]),
        ("z = Greater(x, e) y = Where(z, x, e)", ["Greater", "Where"]),
        ("y = Mul(e, e)", ["Expand", "Mul"]),
        ("y = Relu(e)", ["Expand", "Relu"]),
        ("r = ReduceSum(x) y = Add(e, r)", ["Add", "Expand", "ReduceSum"]),
        ("z = Concat<axis=0>(e, x) q = Add(e, x) y = Concat<axis=0>(z, q)", ["Add", "Concat", "Concat", "Expand"]),
    ],
)
def test_expand(body, expected):
    found = after(
        f"{EXPANDED} {body}", f"{ROWS}, {WHOLE}", "y", {"to": ints(3, 4)}, n=numbers(3, 1), x=numbers(3, 4, seed=1)
    )
    assert found == expected


def test_both_operands_expanded():
    """One of them has to stay, for the sizes of the result."""
    body = "e = Expand(n, to) f = Expand(m, to) y = Add(e, f)"
    found = after(body, f"{ROWS}, float[3,1] m", "y", {"to": ints(3, 4)}, n=numbers(3, 1), m=numbers(3, 1))
    assert found == ["Add", "Expand"]


def test_sizes_that_may_differ():
    body = "e = Expand(n, to) y = Add(e, x)"
    found = after(body, "float[3,1] n, float[3,m] x", "y", {"to": ints(3, 4)}, n=numbers(3, 1), x=numbers(3, 1))
    assert found == ["Add", "Expand"]


def test_expand_that_is_an_output():
    body = "e = Expand(n, to) y = Add(e, x)"
    found = after(body, f"{ROWS}, {WHOLE}", "e y", {"to": ints(3, 4)}, n=numbers(3, 1), x=numbers(3, 4))
    assert found == ["Add", "Expand"]


# -- padding ------------------------------------------------------------------------------------------

IMAGE, KERNEL = "float[1,2,6,7] x", numbers(3, 2, 3, 3)


@pytest.mark.parametrize(
    ("pad", "conv", "folded"),
    [
        ("Pad(x, p)", "Conv(q, w)", True),
        ("Pad(x, p, zero)", "Conv<strides=[2,1], dilations=[2,2], pads=[1,0,2,1]>(q, w)", True),
        ("Pad(x, p, one)", "Conv(q, w)", False),
        ('Pad<mode="reflect">(x, p)', "Conv(q, w)", False),
        ("Pad(x, channels)", "Conv(q, w)", False),
        ("Pad(x, crop)", "Conv(q, w)", False),
        ("Pad(x, p)", 'Conv<auto_pad="SAME_UPPER">(q, w)', False),
        ("Pad(x, few, zero, axes)", "Conv(q, w)", False),
    ],
)
def test_pad(pad, conv, folded):
    weights = {
        "w": KERNEL, "p": ints(0, 0, 1, 0, 0, 0, 2, 3), "zero": np.float32(0), "one": np.float32(1),
        "channels": ints(0, 0, 0, 0, 0, 0, 0, 0), "crop": ints(0, 0, -1, 0, 0, 0, 2, 0), "few": ints(1, 1), "axes": ints(2),
    }  # fmt: skip
    if "channels" in pad:
        weights |= {"channels": ints(0, 1, 0, 0, 0, 0, 0, 0), "w": numbers(3, 3, 3, 3)}
    used = {
        k: np.asarray(v) for k, v in weights.items() if k in pad.replace(",", " ").replace(")", " ").split() + ["w"]
    }
    found = after(f"q = {pad} y = {conv}", IMAGE, "y", used, x=numbers(1, 2, 6, 7, seed=3))
    assert found == (["Conv"] if folded else ["Conv", "Pad"])


def test_pad_used_elsewhere():
    weights = {"w": KERNEL, "p": ints(0, 0, 1, 1, 0, 0, 1, 1)}
    body = "q = Pad(x, p) y = Conv(q, w) z = Relu(q)"
    found = after(body, IMAGE, "y z", weights, x=numbers(1, 2, 6, 7))
    assert found == ["Conv", "Pad", "Relu"]


def test_pad_as_attribute():
    body = "q = Pad<pads=[0,0,1,0,0,0,2,3], value=0.0>(x) y = Conv(q, w)"
    found = after(body, IMAGE, "y", {"w": KERNEL}, opset=10, x=numbers(1, 2, 6, 7))
    assert found == ["Conv"]


# -- slices -------------------------------------------------------------------------------------------

TOTAL = "float[2,8] x"
BOUNDS = {
    "i0": ints(0), "i3": ints(3), "i5": ints(5), "i8": ints(8), "m3": ints(-3), "end": ints(2**63 - 1), "one": ints(1),
    "two": ints(2), "last": ints(-1), "both": ints(0, 1), "upto": ints(3, 2), "axes": ints(1, 0),
}  # fmt: skip


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("a = Slice(x, i0, i3, one) b = Slice(x, i3, end, one)", ["Split"]),
        ("a = Slice(x, m3, end, last) b = Slice(x, i0, m3, one, one)", ["Split"]),
        ("a = Slice(x, i3, i5, one) b = Slice(x, i5, end, one)", ["Slice", "Slice"]),
        ("a = Slice(x, i0, i5, one) b = Slice(x, i3, end, one)", ["Slice", "Slice"]),
        ("a = Slice(x, i0, end, one, two) b = Slice(x, one, end, one, two)", ["Slice", "Slice"]),
        ("a = Slice(x, i0, i3, one) b = Slice(x, i3, end, i0)", ["Slice", "Slice"]),
        ("a = Slice(x, both, upto, axes) b = Slice(x, i3, end, one)", ["Slice", "Slice"]),
        ("a = Slice(x, i0, i3, one) b = Slice(x, i3, i3, one)", ["Slice", "Slice"]),
    ],
)
def test_slices(body, expected):
    used = {name: array for name, array in BOUNDS.items() if name in body.replace(",", " ").replace(")", " ").split()}
    body += " y = Relu(a) z = Neg(b)"
    found = after(body, TOTAL, "y z", used, x=numbers(2, 8))
    assert found == sorted([*expected, "Neg", "Relu"])


def test_slices_that_are_outputs_in_between():
    body = "a = Slice(x, i0, i3, one) b = Slice(x, i3, end, one) r = Relu(x)"
    weights = {name: BOUNDS[name] for name in ("i0", "i3", "one", "end")}
    found = after(body, TOTAL, "b a r", weights, x=numbers(2, 8))
    assert found == ["Relu", "Split"]


@pytest.mark.parametrize(("opset", "kind"), [(12, "float[2,8] x"), (20, "float[2,n] x")])
def test_slices_left(opset, kind):
    """Lengths are an attribute before opset 13; an axis known only at run time has no lengths."""
    body = "a = Slice(x, i0, i3, one) b = Slice(x, i3, end, one) y = Relu(a) z = Neg(b)"
    weights = {name: BOUNDS[name] for name in ("i0", "i3", "one", "end")}
    found = after(body, kind, "y z", weights, opset=opset, x=numbers(2, 8))
    assert found == ["Neg", "Relu", "Slice", "Slice"]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("a = Slice(x, i3, end, one) y = Slice(a, i0, one, i0)", 1),
        ("a = Slice(x, i3, end, last) y = Slice(a, i0, one, i0, one)", 1),
        ("a = Slice(x, i0, i8, one, two) y = Slice(a, last, end, i0)", 1),
        ("a = Slice(x, i3, end, one) y = Slice(a, i0, i3, one)", 2),
        ("a = Slice(x, i3, end, one) y = Slice(a, i0, i3, last)", 2),
        ("a = Slice(x, i0, end) y = Slice(a, i0, one, one)", 2),
        ("a = Slice(x, i3, end, one) b = Slice(a, i0, one, i0) c = ReduceSum(a) y = Add(b, c)", 2),
    ],
)
@pytest.mark.parametrize("kind", ["float[2,8] x", "float[n,m] x"])
def test_slices_in_a_row(body, expected, kind):
    used = {name: array for name, array in BOUNDS.items() if name in body.replace(",", " ").replace(")", " ").split()}
    assert after(body, kind, "y", used, x=numbers(2, 8)).count("Slice") == expected


def test_nodes_keep_names_of_their_own():
    """onnxruntime refuses two nodes of one name."""

    def pieces(x):
        a, b = x.split([3, 5], 1)
        y = x.exp()
        return a * 2, b.relu(), y[:, :3].neg(), y[:, 3:].abs()

    proto = onnxport.export(pieces, (torch.randn(2, 8),), opset_version=17, verify=True).model_proto
    assert [node.op_type for node in proto.graph.node].count("Split") == 2
    names = [node.name for node in proto.graph.node]
    assert len(set(names)) == len(names)


# -- squares ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "given", "exponent", "expected"),
    [
        ("y = Pow(x, two)", "float[3,4] x", 2, ["Mul"]),
        ("y = Pow(x, two)", "float[3,4] x", [2], ["Mul"]),
        ("y = Pow(x, two)", "float[3,4] x", 3, ["Pow"]),
        ("y = Pow(x, two)", "float[3] x", [[2]], ["Pow"]),  # it has one more axis
        ("s = Pow(x, two) y = ReduceMean<keepdims=1>(s)", "float[3,4] x", 2, ["Pow", "ReduceMean"]),
        ("s = Pow(x, two) y = ReduceSum<keepdims=0>(s)", "float[3,4] x", 2, ["Mul", "ReduceSum"]),
    ],
)
def test_squares(body, given, exponent, expected):
    x = numbers(*((3, 4) if "4" in given else (3,)))
    assert after(body, given, "y", {"two": np.array(exponent, np.float32)}, x=x) == expected


# -- residuals before norms ---------------------------------------------------------------------------

NORM = "y = LayerNormalization<axis=-1>(s, w, w)"


@pytest.mark.parametrize(
    ("body", "outputs", "fused"),
    [
        (f"p = MatMul(x, m) q = Add(p, b) s = Add(q, r) {NORM}", "y", False),
        (f"p = MatMul(x, m) q = Add(b, p) s = Add(r, q) {NORM}", "y", False),
        (f"p = MatMul(x, m) q = Add(p, b) t = Relu(r) s = Add(q, t) {NORM}", "y", False),
        (f"p = MatMul(x, m) s = Add(p, r) {NORM}", "y", True),  # there is no bias
        (f"p = MatMul(x, m) q = Add(p, b) s = Add(q, r) z = Relu(q) {NORM}", "y z", True),
    ],
)
def test_bias_behind_the_residual(body, outputs, fused, tmp_path):
    weights = {"m": numbers(4, 4, seed=2), "w": numbers(4, seed=3)} | ({"b": numbers(4)} if "q" in body else {})
    model = parsed(body, "float[n,3,4] x, float[n,3,4] r", outputs, weights)
    rewritten(model, {"x": numbers(2, 3, 4), "r": numbers(2, 3, 4, seed=1)})
    settings = ort.SessionOptions()
    settings.optimized_model_filepath = str(tmp_path / "optimized.onnx")
    ort.InferenceSession(to_bytes(model), settings, providers=["CPUExecutionProvider"])
    found = {node.op_type for node in onnx.load(tmp_path / "optimized.onnx").graph.node}
    assert ("SkipLayerNormalization" in found) == fused
