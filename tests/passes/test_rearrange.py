"""Layout operators as few as can be: the algebra on random chains, and rewrites of graphs, equal in onnxruntime."""

import collections
import math
from functools import partial

import numpy as np
import onnx_ir as ir
import onnxruntime as ort
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import onnxport
from onnxport.dims import Dim, evaluate, parse
from onnxport.passes import optimize
from onnxport.passes.rearrange import simplify_layout
from onnxport.passes.rearrange.arrangement import Arrangement, Reshape, Transpose
from onnxport.write import to_bytes

VALUES = {"n": 3, "t": 5, "a": 2}


# -- the algebra --------------------------------------------------------------------------------------


def factors(draw, size):
    found = []
    while size > 1:
        found.append(draw(st.sampled_from([d for d in range(2, size + 1) if size % d == 0])))
        size //= found[-1]
    for _ in range(draw(st.integers(0, 2))):
        found.insert(draw(st.integers(0, len(found))), 1)
    return found


@st.composite
def chains(draw):
    """Sizes, and moves of a tensor with them; an axis of the size 5 may be called `t`."""
    dims = draw(st.lists(st.sampled_from([1, 2, 3, 4, 5, 6]), min_size=1, max_size=4))
    sizes, moves = tuple(dims), []
    for _ in range(draw(st.integers(1, 5))):
        if draw(st.booleans()):
            moves.append(Transpose(tuple(draw(st.permutations(range(len(sizes)))))))
            sizes = tuple(sizes[i] for i in moves[-1].perm)
        else:
            sizes = tuple(factors(draw, math.prod(sizes)))
            moves.append(Reshape(sizes))
    return dims, moves


def moved(x, moves, sizes=lambda target: target):
    for move in moves:
        x = x.transpose(move.perm) if isinstance(move, Transpose) else x.reshape(sizes(move.sizes))
    return x


@settings(max_examples=300, deadline=None)
@given(chains())
def test_plans_do_what_the_moves_do(chain):
    dims, moves = chain
    arrangement, done = Arrangement(dims), []
    for move in moves:
        if not arrangement.move(move):
            break
        done.append(move)
    x = np.arange(math.prod(dims)).reshape(dims)
    plans = arrangement.plans()
    assert len(plans[0]) <= len(done)
    for plan in plans:
        np.testing.assert_array_equal(moved(x, plan), moved(x, done), strict=True)


@settings(max_examples=300, deadline=None)
@given(chains())
def test_plans_of_sizes_known_at_run_time(chain):
    """The same with each axis of size 5 known at run time only."""
    dims, moves = chain
    t = Dim.symbol("t")

    def symbolic(size):
        return size // 5 * t if size % 5 == 0 and math.prod(dims) % 25 else size

    arrangement, done = Arrangement([symbolic(d) for d in dims]), []
    for move in moves:
        if not arrangement.move(move if isinstance(move, Transpose) else Reshape(tuple(map(symbolic, move.sizes)))):
            break
        done.append(move)
    for values in ({"t": 5}, {"t": 7}, {"t": 1}):
        at = partial(at_run_time, values)
        x = np.arange(math.prod(at(map(symbolic, dims)))).reshape(at(map(symbolic, dims)))
        wanted = moved(x, done, lambda target, at=at: at(map(symbolic, target)))
        for plan in arrangement.plans():
            np.testing.assert_array_equal(moved(x, plan, at), wanted, strict=True)


def at_run_time(values, sizes):
    return [evaluate(d, values) for d in sizes]


@pytest.mark.parametrize(
    "dims, moves, length",
    [
        (("n", "t", 16), [Reshape(("t", "2*n", 8)), Transpose((1, 0, 2)), Reshape(("n", 2, "t", 8))], None),
        (("t", "n", 16), [Reshape(("t", "2*n", 8)), Transpose((1, 0, 2)), Reshape(("n", 2, "t", 8))], 2),
        (("n", "t", 16), [Reshape(("n", "t", 2, 8)), Transpose((0, 2, 1, 3)), Transpose((0, 2, 1, 3))], 1),
        (("n", "t", 16), [Reshape((1, "n", "t", 16)), Transpose((2, 0, 1, 3)), Reshape(("t", "n", 16))], 1),
        (("n", "t"), [Transpose((1, 0)), Reshape(("n", "t"))], None),
        ((6, 4), [Reshape((4, 6))], None),
    ],
)
def test_symbolic_chains(dims, moves, length):
    """Chains as attention has them; None where the sizes don't say that axes are only broken apart."""

    def of(sizes):
        return tuple(parse(d) if isinstance(d, str) else d for d in sizes)

    arrangement = Arrangement(of(dims))
    known = [arrangement.move(Reshape(of(m.sizes)) if isinstance(m, Reshape) else m) for m in moves]
    assert all(known) == (length is not None)
    if length is not None:
        assert len(arrangement.plans()[0]) == length


# -- graphs -------------------------------------------------------------------------------------------


def run(model, feeds):
    return ort.InferenceSession(to_bytes(model), providers=["CPUExecutionProvider"]).run(None, feeds)


def model_of(text, weights=(), opset=17):
    model = ir.from_onnx_text(f'<ir_version: 8, opset_import: ["" : {opset}]>\n{text}')
    rng = np.random.default_rng(0)
    values = {v.name: v for n in model.graph.all_nodes() for v in n.inputs if v is not None}
    for name, shape in dict(weights).items():
        value = values[name]
        value.const_value = ir.tensor(rng.standard_normal(shape, dtype=np.float32), name=name)
        value.shape, value.type = ir.Shape(shape), ir.TensorType(ir.DataType.FLOAT)
        model.graph.initializers[name] = value
    return model


def check(text, wanted, weights=(), opset=17):
    """The operators that are left, in a model that gives what it gave, at several sizes."""
    model, before = model_of(text, weights, opset), model_of(text, weights, opset)
    names = [v.name for v in model.graph.outputs]
    optimize(model)
    assert [v.name for v in model.graph.outputs] == names
    counts = collections.Counter(node.op_type for node in model.graph.all_nodes())
    for sizes in (VALUES, {"n": 1, "t": 1, "a": 1}, {"n": 4, "t": 2, "a": 7}, {"n": 0, "t": 3, "a": 2}):
        rng = np.random.default_rng(1)
        feeds = {
            v.name: rng.standard_normal([sizes.get(str(d), d) for d in v.shape], dtype=np.float32)
            for v in model.graph.inputs
        }
        for found, expected in zip(run(model, feeds), run(before, feeds)):
            np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6, strict=True)
    assert dict(counts) == wanted


ATTENTION = """g (float[n,t,16] x) => (float[n,t,16] y)
<int64[4] heads = {{0, 0, 3, 16}}, int64[1] zero = {{0}}, int64[1] three = {{3}}, int64[3] flat = {{0, -1, 8}},
 int64[4] split = {{-1, 2, {t}, 8}}, int64[2] rows = {{-1, 16}}, int64[3] back = {{{t}, -1, 16}},
 int64 i0 = {{0}}, int64 i1 = {{1}}, int64 i2 = {{2}}> {{
  xt = Transpose<perm = [1, 0, 2]>(x)
  m = MatMul(xt, w)
  qkv = Add(m, b)
  r = Reshape(qkv, heads)
  u = Unsqueeze(r, zero)
  p = Transpose<perm = [3, 1, 2, 0, 4]>(u)
  s = Squeeze(p, three)
  q0 = Gather(s, i0)
  k0 = Gather(s, i1)
  v0 = Gather(s, i2)
  q1 = Reshape(q0, flat)
  k1 = Reshape(k0, flat)
  v1 = Reshape(v0, flat)
  q2 = Transpose<perm = [1, 0, 2]>(q1)
  k2 = Transpose<perm = [1, 0, 2]>(k1)
  v2 = Transpose<perm = [1, 0, 2]>(v1)
  q = Reshape(q2, split)
  k = Reshape(k2, split)
  v = Reshape(v2, split)
  kt = Transpose<perm = [0, 1, 3, 2]>(k)
  scores = MatMul(q, kt)
  weights = Softmax(scores)
  z = MatMul(weights, v)
  zt = Transpose<perm = [2, 0, 1, 3]>(z)
  z2 = Reshape(zt, rows)
  o = Gemm<transB = 1>(z2, v1w, v1b)
  o3 = Reshape(o, back)
  y = Transpose<perm = [1, 0, 2]>(o3)
}}"""


def with_shapes(model):
    """Sizes of all values, as an export writes them."""
    shapes = {
        "xt": "t n 16", "m": "t n 48", "qkv": "t n 48", "r": "t n 3 16", "u": "1 t n 3 16", "p": "3 t n 1 16", "s": "3 t n 16",
        "q": "n 2 t 8", "k": "n 2 t 8", "v": "n 2 t 8", "kt": "n 2 8 t", "z": "n 2 t 8", "zt": "t n 2 8", "z2": "n*t 16",
        "o": "n*t 16", "o3": "t n 16", "scores": "n 2 t t", "weights": "n 2 t t",
        **{f"{i}0": "t n 16" for i in "qkv"}, **{f"{i}1": "t 2*n 8" for i in "qkv"}, **{f"{i}2": "2*n t 8" for i in "qkv"},
    }  # fmt: skip
    for node in model.graph:
        for value in node.outputs:
            if value.name in shapes:
                value.shape = ir.Shape(
                    [
                        5 if d == "t" else int(d) if d.isdigit() else d.replace("n*t", "5*n")
                        for d in shapes[value.name].split()
                    ]
                )
                value.type = ir.TensorType(ir.DataType.FLOAT)
    return model


@pytest.mark.parametrize("opset", [11, 13, 17, 20])
def test_attention(opset):
    """nn.MultiheadAttention: batch first, in and out; the transposes go, heads are split from pieces."""
    text = ATTENTION.replace("{t}", "5").replace("{{", "{").replace("}}", "}").replace("[n,t,16]", "[n,5,16]")
    if opset < 13:
        text = text.replace("Unsqueeze(r, zero)", "Unsqueeze<axes = [0]>(r)").replace(
            "Squeeze(p, three)", "Squeeze<axes = [3]>(p)"
        )
        text = text.replace("int64[1] zero = {0}, int64[1] three = {3}, ", "").replace("Softmax(", "Softmax<axis = 3>(")
    weights = {"w": (16, 48), "b": (48,), "v1w": (16, 16), "v1b": (16,)}
    model, before = with_shapes(model_of(text, weights, opset)), model_of(text, weights, opset)
    assert simplify_layout(model)
    counts = collections.Counter(node.op_type for node in model.graph)
    assert counts == {"MatMul": 4, "Add": 2, "Split": 1, "Reshape": 4, "Transpose": 4, "Softmax": 1}
    for n in (1, 3, 2):
        x = np.random.default_rng(0).standard_normal((n, 5, 16), dtype=np.float32)
        np.testing.assert_allclose(run(model, {"x": x})[0], run(before, {"x": x})[0], rtol=1e-4, atol=1e-5)


KEPT = [
    (
        "what is between two of them is an output",
        """g (float[n,t,6] x) => (float[t,n,6] y, float[n,t,6] z) {
          y = Transpose<perm = [1, 0, 2]>(x)
          z = Transpose<perm = [1, 0, 2]>(y)
        }""",
        {"Transpose": 2},
    ),
    (
        "what is between two of them is used",
        """g (float[n,t,6] x) => (float[n,t,6] z, float[t,n,6] r) {
          y = Transpose<perm = [1, 0, 2]>(x)
          z = Transpose<perm = [1, 0, 2]>(y)
          r = Relu(y)
        }""",
        {"Transpose": 2, "Relu": 1},
    ),
    (
        "the last axis is moved",
        """g (float[n,t,6] x) => (float[6,t,n] y) {
          a = Transpose<perm = [2, 1, 0]>(x)
          b = Softmax<axis = 2>(a)
          y = Relu(b)
        }""",
        {"Transpose": 1, "Softmax": 1, "Relu": 1},
    ),
    (
        "elements really change their order",
        """g (float[2,6] x) => (float[2,6] y) <int64[2] s = {2, 6}> {
          a = Transpose<perm = [1, 0]>(x)
          y = Reshape(a, s)
        }""",
        {"Transpose": 1, "Reshape": 1},
    ),
    (
        "a matrix that varies, a vector along an axis that moves",
        """g (float[n,4,6] x, float[4,6,4] w, float[6] b) => (float[4,n,4] y, float[n,6,4] z) {
          a = Transpose<perm = [1, 0, 2]>(x)
          y = MatMul(a, w)
          c = Add(x, b)
          z = Transpose<perm = [0, 2, 1]>(c)
        }""",
        {"Transpose": 2, "MatMul": 1, "Add": 1},
    ),
]


@pytest.mark.parametrize("text, wanted", [row[1:] for row in KEPT], ids=[row[0] for row in KEPT])
def test_what_must_stay(text, wanted):
    check(text, wanted)


def test_picks_that_are_no_pieces():
    """Every second row isn't one piece of the input."""
    check(
        """g (float[t,6] x) => (float[t,3] y, float[t,3] z) <int64[3] s = {0, 3, 2}, int64 i = {0}, int64 j = {1}> {
          a = Reshape(x, s)
          b = Transpose<perm = [2, 0, 1]>(a)
          y = Gather(b, i)
          z = Gather(b, j)
        }""",
        {"Reshape": 1, "Transpose": 1, "Gather": 2},
    )


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_picks_in_any_order(order):
    """What is picked last may be used first: the Split stands before all of it."""

    def apart(x):
        whole = x.exp().reshape(x.shape[0], 2, 3).permute(1, 2, 0)
        parts = {i: whole[i].permute(1, 0).relu() for i in order}
        return parts[0] + 1, parts[1]

    result = onnxport.export(apart, torch.randn(4, 6), dynamic_axes={"x": [0]}, verify=True)
    counts = collections.Counter(node.op_type for node in result.model.graph)
    assert counts == {"Exp": 1, "Split": 1, "Relu": 2, "Add": 1}
