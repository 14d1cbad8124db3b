import pytest
import torch
import torch.nn.functional as F
from tests.harness import LATEST, case, cases, check, export_checked, f16, f32, f64, i64, operators, run, u8

INF, NAN = float("inf"), float("nan")
ODD = torch.tensor([[NAN, INF, -INF, 0.0], [-0.0, 1e-6, 30.0, -30.0]])


def simple(a):
    return F.relu(a), F.relu6(a), F.hardtanh(a), a.sigmoid(), a.tanh(), F.silu(a), F.tanhshrink(a), F.hardtanh(a, 0, 4)


def own(a):
    return F.leaky_relu(a, 0.2), F.elu(a, 0.5), F.selu(a), F.hardswish(a), F.hardsigmoid(a), F.softsign(a), F.rrelu(a)


def soft(a):
    return F.softplus(a), F.logsigmoid(a), F.mish(a)


def gelu(a):
    return F.gelu(a), F.gelu(a, approximate="tanh")


def chosen(a):
    return F.threshold(a, 0.5, 2.0), F.hardshrink(a), F.softshrink(a, 0.3), F.softplus(a, 2, 5), F.celu(a, 2.0)


FLOATS = [
    case(f"{function.__name__}_{name}", function, x)
    for function in (simple, own, soft, gelu, chosen)
    for name, x in (
        ("float", f32(3, 4, low=-8, high=8)),
        ("half", f16(3, 4, low=-8, high=8)),
        ("float64", f64(3, 4, low=-8, high=8)),
        ("odd", ODD),
    )
    if not (function is gelu and name == "odd")  # torch gives NaN for infinity
]


@cases(FLOATS, opsets=(7, 9, 11, 12, 14, 20, LATEST))
def test_floats(case, frontend, opset):
    check(case, frontend, opset)


OTHERS = [
    case("relu_ints", lambda a, b: (F.relu(a), F.relu(b)), i64(5), u8(5)),
    case("relu_large", F.relu, torch.tensor([2**60 + 1, -(2**60)])),
    case("relu6_ints", lambda a: (F.relu6(a), F.hardtanh(a, -1, 2)), i64(5, low=-9, high=9)),
    case("sigmoid_ints", lambda a: (a.sigmoid(), a.tanh()), i64(5)),
    case("glu", lambda a: (F.glu(a, 1), F.glu(a, -1)), f32(3, 4, 6), dynamic={0: "n"}),
    case("glu_dynamic", lambda a: F.glu(a, 1), f32(3, 4), others=[(torch.randn(3, 8),)], dynamic={1: "n"}),
    case("prelu_one", F.prelu, f32(2, 3, 4), f32(1)),
    case("prelu_channels", F.prelu, f32(2, 3, 4, 5), f32(3), dynamic={0: "n", 2: "h"}),
    case("prelu_two_axes", F.prelu, f32(2, 3), f32(3)),
    case("prelu_one_axis", F.prelu, f32(5), f32(1)),
    case("prelu_float64", F.prelu, f64(2, 3, 4), f64(3)),
    case("elu_scaled", lambda a: torch.ops.aten.elu(a, 1.5, 2.0, 0.5), f32(5)),
]


@cases(OTHERS, opsets=(7, 9, 12, 14, LATEST))
def test_others(case, frontend, opset):
    check(case, frontend, opset)


SOFTMAX = [
    case("last", lambda a: (F.softmax(a, -1), F.log_softmax(a, -1)), f32(2, 3, 4), dynamic={0: "n", 2: "m"}),
    case("first", lambda a: (F.softmax(a, 0), F.log_softmax(a, 1)), f32(2, 3, 4)),
    case("zero_d", lambda a: F.softmax(a, 0), f32()),
    case(
        "dtype", lambda a: (F.softmax(a, 1, dtype=torch.float64), F.log_softmax(a, 0, dtype=torch.float32)), f16(2, 3)
    ),
    case("ints", lambda a: F.softmax(a, 1, dtype=torch.float32), i64(2, 3)),
    case("softmin", lambda a: F.softmin(a, 1), f32(2, 3)),
    case("safe", lambda a: torch.ops.aten._safe_softmax(a, 1), torch.tensor([[-INF, -INF], [1.0, -INF]])),
]


@cases(SOFTMAX, opsets=(7, 9, 12, 13, LATEST))
def test_softmax(case, frontend, opset):
    check(case, frontend, opset)


class _RRelu(torch.nn.Module):
    def forward(self, x):
        return F.rrelu(x, 0.25, 0.75, training=True)


def test_random_slopes():
    """Negative entries of rrelu in training lie between the slopes; positive ones stay."""
    x = torch.cat([torch.full((200,), -1.0), torch.full((3,), 2.0)])
    model = export_checked(_RRelu(), (x,), ["x0"], {}, 14)
    (y,) = run(model, ["x0"], [x])
    assert (y[200:] == 2).all() and (y[:200] >= -0.75).all() and (y[:200] <= -0.25).all() and y[:200].std() > 0.05


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (F.relu, ["Relu"]),
        (F.gelu, ["Gelu"]),
        (F.relu6, ["Clip"]),
        (F.silu, ["Sigmoid", "Mul"]),
        (F.hardswish, ["HardSwish"]),
        (F.softplus, ["Softplus"]),
        (lambda a: F.softmax(a, -1), ["Softmax"]),
    ],
)
def test_ops(function, expected):
    assert operators(check(case("ops", function, f32(2, 3)))) == expected
