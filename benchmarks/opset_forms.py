"""Newest ONNX operators against the same function spelled out in older ones, in onnxruntime on one thread.

    python benchmarks/opset_forms.py            # prints the table of docs/opsets.md
    python benchmarks/opset_forms.py --rounds 40 --only Attention

Both forms are run by turns, and the ratio of their times is taken for each turn, so that a busy machine troubles
both alike. Errors are the largest differences from the function in float64, in units of the largest value.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import onnx
import onnx.parser
import onnxruntime as ort
import torch
from torch.nn import functional as F

Size = tuple[int, ...]


@dataclass(frozen=True)
class Form:
    """A function in two forms. `inputs` are sizes by name; a size with a dtype is given as the array itself."""

    name: str
    opset: int
    inputs: dict[str, Size | np.ndarray]
    newest: str
    spelled: str
    function: Callable[..., torch.Tensor]


def _norm(x: torch.Tensor, axes: list[int], eps: float = 1e-5) -> torch.Tensor:
    return (x - x.mean(axes, keepdim=True)) / (x.var(axes, unbiased=False, keepdim=True) + eps).sqrt()


def _rotary(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    a, b = x.chunk(2, -1)
    return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)


def _numbers(**values: float) -> str:
    return "\n".join(f"{name} = Constant<value = float {{{value}}}>()" for name, value in values.items())


def _ints(**values: list[int]) -> str:
    return "\n".join(
        f"{name} = Constant<value = int64[{len(v)}] {{{', '.join(map(str, v))}}}>()" for name, v in values.items()
    )


ROWS: Size = (8, 128, 768)
IMAGE: Size = (2, 64, 32, 32)
HEADS: Size = (1, 12, 128, 64)
CAUSAL = np.triu(np.full((128, 128), -np.inf, np.float32), 1)

STATISTICS = """
m = ReduceMean(x, axes)
d = Sub(x, m)
q = Pow(d, two)
v = ReduceMean(q, axes)
e = Add(v, eps)
r = Sqrt(e)
n = Div(d, r)"""

ATTENTION = """
kt = Transpose<perm=[0, 1, 3, 2]>(k)
s = Mul(q, scale)
w = MatMul(s, kt)
{mask}
p = Softmax<axis=-1>(a)
y = MatMul(p, v)"""


def _doublings(size: int) -> str:
    """CumProd along the last axis, in log2(size) steps."""
    lines, x, step = [_ints(zero=[0], axis=[-1], end=[size])], "x", 1
    while step < size:
        y = "y" if step * 2 >= size else f"x{step}"
        lines += [
            _ints(**{f"s{step}": [step], f"r{step}": [size - step]}),
            f"h{step} = Slice({x}, zero, s{step}, axis)",
            f"b{step} = Slice({x}, zero, r{step}, axis)",
            f"a{step} = Slice({x}, s{step}, end, axis)",
            f"m{step} = Mul(b{step}, a{step})",
            f"{y} = Concat<axis=-1>(h{step}, m{step})",
        ]
        x, step = y, step * 2
    return "\n".join(lines)


def _attention(name: str, mask: np.ndarray | None, newest: str, causal: bool = False) -> Form:
    inputs: dict[str, Size | np.ndarray] = {"q": HEADS, "k": HEADS, "v": HEADS}
    if mask is not None:
        inputs["mask"] = mask
    return Form(
        name, 23, inputs, newest,
        _numbers(scale=0.125) + ATTENTION.format(mask="a = Identity(w)" if mask is None else "a = Add(w, mask)"),
        lambda q, k, v, mask=None: F.scaled_dot_product_attention(q, k, v, mask),
    )  # fmt: skip


FORMS = [
    Form(
        "LayerNormalization", 17, {"x": ROWS, "w": (768,), "b": (768,)},
        "y = LayerNormalization<axis=-1>(x, w, b)",
        "two = Constant<value = float {2.0}>()\n" + _numbers(eps=1e-5)
        + STATISTICS.replace("ReduceMean(x, axes)", "ReduceMean<axes=[-1]>(x)").replace("ReduceMean(q, axes)", "ReduceMean<axes=[-1]>(q)")
        + "\nt = Mul(n, w)\ny = Add(t, b)",
        lambda x, w, b: F.layer_norm(x, (768,), w, b),
    ),
    Form(
        "InstanceNormalization", 18, {"x": IMAGE, "w": (64,), "b": (64,)},
        "y = InstanceNormalization(x, w, b)",
        _numbers(two=2.0, eps=1e-5) + "\n" + _ints(axes=[2, 3], col=[64, 1, 1]) + STATISTICS
        + "\nwc = Reshape(w, col)\nbc = Reshape(b, col)\nt = Mul(n, wc)\ny = Add(t, bc)",
        lambda x, w, b: F.instance_norm(x, None, None, w, b),
    ),
    Form(
        "GroupNormalization", 21, {"x": IMAGE, "w": (64,), "b": (64,)},
        "y = GroupNormalization<num_groups=8>(x, w, b)",
        "one = Constant<value = float[8] {1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0}>()\n"
        "none = Constant<value = float[8] {0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0}>()\n"
        + _ints(col=[64, 1, 1], groups=[0, 8, -1], whole=[2, 64, 32, 32])
        + "\ng = Reshape(x, groups)\nn = InstanceNormalization(g, one, none)\nz = Reshape(n, whole)"
        "\nwc = Reshape(w, col)\nbc = Reshape(b, col)\nt = Mul(z, wc)\ny = Add(t, bc)",
        lambda x, w, b: F.group_norm(x, 8, w, b),
    ),
    Form(
        "Gelu", 20, {"x": ROWS}, "y = Gelu(x)",
        _numbers(root=1.4142135, one=1.0, half=0.5)
        + "\nd = Div(x, root)\ne = Erf(d)\na = Add(e, one)\nm = Mul(x, a)\ny = Mul(m, half)",
        F.gelu,
    ),
    Form(
        "Gelu, tanh", 20, {"x": ROWS}, 'y = Gelu<approximate="tanh">(x)',
        _numbers(three=3.0, c=0.044715, k=0.7978846, one=1.0, half=0.5)
        + "\np = Pow(x, three)\nq = Mul(p, c)\nr = Add(x, q)\ns = Mul(r, k)\nt = Tanh(s)\na = Add(t, one)"
        "\nh = Mul(x, half)\ny = Mul(h, a)",
        lambda x: F.gelu(x, approximate="tanh"),
    ),
    Form(
        "HardSwish", 14, {"x": ROWS}, "y = HardSwish(x)",
        "h = HardSigmoid<alpha=0.16666667, beta=0.5>(x)\ny = Mul(x, h)", F.hardswish,
    ),
    Form("Mish", 18, {"x": ROWS}, "y = Mish(x)", "s = Softplus(x)\nt = Tanh(s)\ny = Mul(x, t)", F.mish),
    Form(
        "Mish, by Exp", 18, {"x": ROWS}, "y = Mish(x)",
        _numbers(top=20.0, two=2.0)
        + "\nm = Min(x, top)\nu = Exp(m)\nv = Add(u, two)\nn = Mul(u, v)\nd = Add(n, two)\nq = Div(n, d)\ny = Mul(x, q)",
        F.mish,
    ),
    Form("Swish", 24, {"x": ROWS}, "y = Swish(x)", "s = Sigmoid(x)\ny = Mul(x, s)", F.silu),
    Form(
        "Softplus", 14, {"x": ROWS}, "y = Softplus(x)",
        _numbers(one=1.0) + "\na = Abs(x)\nn = Neg(a)\ne = Exp(n)\ns = Add(e, one)\nl = Log(s)\nr = Relu(x)\ny = Add(r, l)",
        F.softplus,
    ),
    Form(
        "RMSNormalization", 23, {"x": ROWS, "w": (768,)},
        "y = RMSNormalization<axis=-1, epsilon=0.00001>(x, w)",
        _numbers(two=2.0, eps=1e-5) + "\n" + _ints(axes=[-1])
        + "\nq = Pow(x, two)\nv = ReduceMean(q, axes)\ne = Add(v, eps)\nr = Sqrt(e)\nn = Div(x, r)\ny = Mul(n, w)",
        lambda x, w: F.rms_norm(x, (768,), w, 1e-5),
    ),
    Form(
        "RMSNormalization, by Reciprocal", 23, {"x": ROWS, "w": (768,)},
        "y = RMSNormalization<axis=-1, epsilon=0.00001>(x, w)",
        _numbers(two=2.0, eps=1e-5) + "\n" + _ints(axes=[-1])
        + "\nq = Pow(x, two)\nv = ReduceMean(q, axes)\ne = Add(v, eps)\nr = Sqrt(e)\ni = Reciprocal(r)\nn = Mul(x, i)"
        "\ny = Mul(n, w)",
        lambda x, w: F.rms_norm(x, (768,), w, 1e-5),
    ),
    Form(
        "RotaryEmbedding", 23, {"x": HEADS, "cos": (1, 128, 32), "sin": (1, 128, 32)},
        "y = RotaryEmbedding(x, cos, sin)",
        _ints(one=[1])
        + "\nc = Unsqueeze(cos, one)\ns = Unsqueeze(sin, one)\nc2 = Concat<axis=-1>(c, c)\ns2 = Concat<axis=-1>(s, s)"
        "\na, b = Split<axis=-1, num_outputs=2>(x)\nn = Neg(b)\nr = Concat<axis=-1>(n, a)\nu = Mul(x, c2)\nv = Mul(r, s2)"
        "\ny = Add(u, v)",
        _rotary,
    ),
    _attention("Attention", None, "y = Attention(q, k, v)"),
    _attention("Attention, mask", CAUSAL, "y = Attention(q, k, v, mask)"),
    Form(
        "Attention, causal", 23, {"q": HEADS, "k": HEADS, "v": HEADS, "mask": CAUSAL},
        "y = Attention<is_causal=1>(q, k, v)", _numbers(scale=0.125) + ATTENTION.format(mask="a = Add(w, mask)"),
        lambda q, k, v, mask: F.scaled_dot_product_attention(q, k, v, mask),
    ),
    Form(
        "TensorScatter", 24, {"x": (1, 12, 256, 64), "u": (1, 12, 1, 64), "at": np.array([37])},
        "y = TensorScatter(x, u, at)",
        _ints(col=[1, 1, 1, 1], size=[1, 12, 1, 64])
        + "\ni = Reshape(at, col)\nj = Expand(i, size)\ny = ScatterElements<axis=2>(x, j, u)",
        lambda x, u, at: x.index_copy(2, at, u),
    ),
    Form(
        "CumProd", 26, {"x": (256, 64)}, "last = Constant<value = int64 {1}>()\ny = CumProd(x, last)", _doublings(64),
        lambda x: x.cumprod(1),
    ),
]  # fmt: skip


def _model(form: Form, body: str, arrays: dict[str, np.ndarray], size: Size) -> onnx.ModelProto:
    kinds = {"float32": "float", "int64": "int64"}
    taken = ", ".join(f"{kinds[str(a.dtype)]}[{','.join(map(str, a.shape))}] {name}" for name, a in arrays.items())
    opset = onnx.helper.make_opsetid("", form.opset)
    version = onnx.helper.find_min_ir_version_for([opset])
    head = f'<ir_version: {version}, opset_import: ["": {form.opset}]>'
    given = f"float[{','.join(map(str, size))}] y"
    return onnx.parser.parse_model(f"{head}\nform ({taken}) => ({given}) {{\n{body}\n}}")


def _session(model: onnx.ModelProto) -> ort.InferenceSession:
    settings = ort.SessionOptions()
    settings.intra_op_num_threads = settings.inter_op_num_threads = 1
    settings.log_severity_level = 4
    return ort.InferenceSession(model.SerializeToString(), settings, providers=["CPUExecutionProvider"])


def _arrays(form: Form) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    return {
        name: x if isinstance(x, np.ndarray) else rng.standard_normal(x).astype(np.float32)
        for name, x in form.inputs.items()
    }


def measure(form: Form, rounds: int) -> str:
    """A row of the table."""
    arrays = _arrays(form)
    exact = [torch.from_numpy(a) if a.dtype != np.float32 else torch.from_numpy(a).double() for a in arrays.values()]
    wanted = form.function(*exact).numpy()
    scale = np.abs(wanted).max()
    sessions, errors = [], []
    for body in (form.newest, form.spelled):
        try:
            session = _session(_model(form, body, arrays, wanted.shape))
            errors.append(float(np.abs(session.run(None, arrays)[0] - wanted).max() / scale))
            sessions.append(session)
        except Exception as error:  # the table says so
            return f"| {form.name} | {form.opset} | {type(error).__name__}: {str(error).splitlines()[0][:80]} | | | |"
    times: list[list[float]] = [[], []]
    for _ in range(rounds):
        for i, session in enumerate(sessions):
            begin = time.perf_counter()
            session.run(None, arrays)
            times[i].append(time.perf_counter() - begin)
    ratio = statistics.median(new / old for new, old in zip(*times))
    best = [min(t) * 1e3 for t in times]
    return f"| {form.name} | {form.opset} | {best[0]:.3f} | {best[1]:.3f} | {ratio:.2f} | {errors[0]:.1e} | {errors[1]:.1e} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    torch.set_num_threads(1)
    print("| operator | from opset | newest, ms | spelled out, ms | ratio | error, newest | error, spelled out |")
    print("|---|---|---|---|---|---|---|")
    for form in FORMS:
        if options.only in form.name:
            print(measure(form, options.rounds), flush=True)


if __name__ == "__main__":
    main()
