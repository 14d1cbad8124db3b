"""Models of which a rewrite could make something else: operands in the other order, larger biases, names, bodies, ranges."""

from __future__ import annotations

import io

import onnx
import onnxruntime as ort
import pytest
import torch
import torch.nn.functional as F
from tests.harness import compare
from torch import nn

import onnxport


class Model(nn.Module):
    """A function of modules and weights (`m.linear`), and inputs."""

    def __init__(self, function, **parts):
        super().__init__()
        self.function = function
        for name, part in parts.items():
            setattr(self, name, nn.Parameter(part) if isinstance(part, torch.Tensor) else part)

    def forward(self, *inputs):
        return self.function(self, *inputs)


def checked(model, *inputs, tolerance=1e-5, others=(), **options):
    """The operators of the exported model, which does what the model does."""
    model.eval()
    target = io.BytesIO()
    onnxport.export(model, inputs, target, **options)
    proto = onnx.load_from_string(target.getvalue())
    onnx.checker.check_model(proto, full_check=True)
    weights = {w.name for w in proto.graph.initializer}
    names = [i.name for i in proto.graph.input if i.name not in weights]
    for each in (inputs, *others):
        compare(proto, model, names, each, tolerance, tolerance)
    return [node.op_type for node in proto.graph.node]


def x(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


IMAGE, ROWS = x(2, 4, 8, 8), x(2, 5, 8)


@pytest.mark.parametrize("end", [lambda y: y, torch.relu])
@pytest.mark.parametrize(
    "of",
    [
        lambda m, x: m.p + m.conv(x),
        lambda m, x: 0.5 + m.conv(x),
        lambda m, x: m.p * m.conv(x),
        lambda m, x: m.p - m.conv(x),
        lambda m, x: m.p / m.conv(x),
        lambda m, x: m.p + m.conv(x).permute(0, 2, 3, 1).permute(0, 3, 1, 2) * m.p,
    ],
)
@pytest.mark.parametrize(
    "conv",
    [
        nn.Conv2d(4, 4, 3, bias=False),
        nn.Conv2d(4, 4, 3, groups=2, dilation=2),
        nn.ConvTranspose2d(4, 4, 3, groups=4, bias=False),
        nn.ConvTranspose2d(4, 4, 3, bias=False),
        nn.Conv2d(4, 1, 1),
    ],
)
def test_constant_first(conv, of, end):
    checked(Model(lambda m, x: end(of(m, x)), conv=conv, p=x(4, 1, 1)).double(), IMAGE.double(), tolerance=1e-7)


@pytest.mark.parametrize("scale", [(4, 1, 1), (1,), ()])
@pytest.mark.parametrize(
    ("of", "layer", "value"),
    [
        (lambda m, x: m.layer(x), nn.Conv2d(4, 1, 3), IMAGE),
        (lambda m, x: m.layer(x).transpose(1, 2)[:, None], nn.Linear(8, 1), ROWS),
        (lambda m, x: m.layer(x).reshape(2, 1, 5, 1), nn.Linear(8, 1), ROWS),
    ],
)
def test_biases_larger_than_what_they_are_added_to(of, layer, value, scale):
    checked(Model(lambda m, x: ((of(m, x) + m.p) * m.q).relu(), layer=layer, p=x(4, 1, 1), q=x(*scale)), value)


NAMES = ["lengths", "starts", "ends", "axes", "steps", "two", "constant_0", "constant_1", "conv.bias"]


def cut(m, x, factor):
    rows = m.linear(x).view(2, 5, 2, 4).transpose(1, 2)
    first, last = x[:, :2].relu() * factor, x[:, 2:].exp()
    return rows, first, last, x[:, 1:4][:, :, 1:3].sigmoid(), x * (1 / ((x * x).mean(-1, keepdim=True) + 1e-6).sqrt())


@pytest.mark.parametrize("name", NAMES)
def test_names_of_inputs_and_outputs(name):
    model = Model(cut, linear=nn.Linear(8, 8))
    checked(model, ROWS, x(1), input_names=["x", name])
    checked(model, ROWS, x(1), output_names=[name])


@pytest.mark.parametrize("opset", [8, 9, 13, 18])
@pytest.mark.parametrize("outputs", [8, 6])
@pytest.mark.parametrize("as_inputs", [True, False])
def test_product_of_flattened_rows(opset, outputs, as_inputs):
    """Only a weight that nobody can change from outside is stored transposed."""
    model = Model(
        lambda m, x: m.linear(x.reshape(-1, 8)).view(2, 5, outputs).transpose(1, 2), linear=nn.Linear(8, outputs)
    )
    checked(model, ROWS, keep_initializers_as_inputs=as_inputs, opset_version=opset)


@pytest.mark.parametrize(
    "weight", [lambda m, w: w, lambda m, w: m.w * w.mean(), lambda m, w: m.w.t(), lambda m, w: m.w + m.w.t()]
)
def test_product_with_a_weight_that_is_made(weight):
    model = Model(lambda m, x, w: F.linear(x.reshape(-1, 8), weight(m, w), m.b).view(2, 5, 8), w=x(8, 8), b=x(8))
    checked(model, ROWS, x(8, 8, seed=1))


class NormInBranch(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(x(8))

    def forward(self, x, c):
        r = torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6)
        y = x
        if c.sum() > 0:
            y = x * r * self.w
        return y, r


class ScaledInBranch(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.point, self.norm = nn.Conv2d(4, 4, 3, padding=1), nn.Conv2d(4, 4, 1), nn.BatchNorm2d(4)

    def forward(self, x, c):
        y = self.conv(x)
        z = self.norm(y)
        for i in range(int(c.shape[0])):
            z = z + y * c[i]
        if c.sum() > 0:
            z = z * 2 + self.point(x)
        return z


@pytest.mark.parametrize("opset", [14, 18, 23])
@pytest.mark.parametrize(("model", "value"), [(NormInBranch, ROWS), (ScaledInBranch, IMAGE)])
def test_values_that_bodies_take(model, value, opset):
    others = [(value, -torch.ones(3)), (value, torch.ones(1))]
    scripted = torch.jit.script(model().eval())
    checked(scripted, value, torch.ones(2), others=others, opset_version=opset, dynamic_axes={"c": {0: "n"}})


@pytest.mark.parametrize("number", [0.0, float("inf"), float("-inf"), float("nan"), 1e-45, 1e-37, 1e38])
@pytest.mark.parametrize("of", [lambda y, k: y * k, lambda y, k: y / k, lambda y, k: y + k, lambda y, k: k - y])
def test_numbers_at_the_ends_of_the_range(number, of):
    model = Model(lambda m, x: of(F.linear(x, m.w, m.b), number), w=torch.ones(8, 8) / 8, b=x(8).abs())
    checked(model, ROWS.abs(), tolerance=1e-4)


@pytest.mark.parametrize("factor", [1e-6, 1e-3, 1.0, 1e3, 6e4])
@pytest.mark.parametrize("size", [1e-4, 1e-2, 1.0])
def test_half_precision_norms(factor, size):
    """Weights times the scale of a norm may be too small or too large for float16."""
    conv, norm = nn.Conv2d(4, 4, 3, bias=False), nn.BatchNorm2d(4)
    with torch.no_grad():
        conv.weight.copy_(x(4, 4, 3, 3) * size)
        norm.weight.fill_(factor)
        norm.running_var.fill_(size**2)
    model = nn.Sequential(conv, norm).half().eval()
    with torch.no_grad():
        expected = nn.Sequential(conv, norm).float()(IMAGE.half().float()).numpy()
        nn.Sequential(conv, norm).half()
    target = io.BytesIO()
    onnxport.export(model, (IMAGE.half(),), target)
    settings = ort.SessionOptions()  # onnxruntime folds norms itself, in float16
    settings.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(target.getvalue(), settings, providers=["CPUExecutionProvider"])
    (found,) = session.run(None, {"input": IMAGE.half().numpy()})
    inside = abs(expected) < 65000
    assert abs(found - expected)[inside].max(initial=0) <= 4e-3 * min(abs(expected).max(), 65504) + 1e-7
