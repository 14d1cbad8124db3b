"""Root mean square norms in the spellings of language models: recognised, and as exact as before."""

from __future__ import annotations

import onnxruntime as ort
import pytest
import torch
from tests.harness import feeds, operators
from torch import nn

import onnxport

EPSILON = 1e-6


class Norm(nn.Module):
    def __init__(self, spelling, dtype=torch.float32):
        super().__init__()
        self.spelling = spelling
        self.weight = nn.Parameter((torch.rand(64, generator=torch.Generator().manual_seed(1)) + 0.5).to(dtype))

    def forward(self, x):
        return self.spelling(x, self.weight)


def llama(x, weight):
    wide = x.to(torch.float32)
    wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + EPSILON)
    return weight * wide.to(x.dtype)


def original(x, weight):
    return (x * torch.rsqrt((x * x).mean(-1, keepdim=True) + EPSILON)) * weight


def by_root(x, weight):
    return weight * (x / torch.sqrt(x.square().mean(-1, keepdim=True) + EPSILON))


def gemma(x, weight):
    wide = x.float()
    return (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + EPSILON) * (1.0 + weight.float())).type_as(x)


def twice(x, weight):
    squares = x * x
    scale = torch.rsqrt(squares.mean(-1, keepdim=True) + EPSILON)
    return x * scale * weight + (x * scale) + squares


def first_axis(x, weight):
    return x * torch.rsqrt(x.pow(2).mean(0, keepdim=True) + EPSILON) * weight


def cubed(x, weight):
    return x * torch.rsqrt(x.pow(3).abs().mean(-1, keepdim=True) + EPSILON) * weight


def other_tensor(x, weight):
    return x.sin() * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + EPSILON) * weight


def exported(spelling, opset, dtype=torch.float32, **options):
    model = Norm(spelling, dtype).eval()
    x = torch.randn(3, 5, 64, generator=torch.Generator().manual_seed(0)).to(dtype)
    axes = {"x": {0: "batch", 1: "length"}}
    result = onnxport.export(model, (x,), opset_version=opset, input_names=["x"], dynamic_axes=axes, **options)
    return model, x, result.model_proto


def as_run(proto, tmp_path):
    """Operators of the graph that onnxruntime makes of it, and its session."""
    settings = ort.SessionOptions()
    settings.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    settings.optimized_model_filepath = str(tmp_path / "run.onnx")
    settings.log_severity_level = 4
    session = ort.InferenceSession(proto.SerializeToString(), settings, providers=["CPUExecutionProvider"])
    import onnx

    return operators(onnx.load(tmp_path / "run.onnx")), session


@pytest.mark.parametrize("spelling", [llama, original, by_root, gemma])
@pytest.mark.parametrize("opset", [11, 13, 14, 17, 18, 22, 23, 28])
def test_recognised(spelling, opset, tmp_path):
    model, x, proto = exported(spelling, opset)
    if opset >= 23:
        assert operators(proto) == ["RMSNormalization"]
    else:
        assert operators(proto) == ["Pow", "ReduceMean", "Add", "Sqrt", "Div", "Mul"]
        found, _ = as_run(proto, tmp_path)
        assert found in (["SimplifiedLayerNormalization"], ["com.microsoft::SimplifiedLayerNormalization"])
    for data in (x, x[:1, :2] * 1e3, x * 1e-4):
        exact = model.double()(data.double())
        model.float()
        _, session = as_run(proto, tmp_path)
        (given,) = session.run(None, feeds(["x"], [data]))
        torch.testing.assert_close(torch.from_numpy(given).double(), exact, rtol=2e-6, atol=0)


@pytest.mark.parametrize("opset", [14, 23])
def test_half(opset, tmp_path):
    """Its product with the weight is rounded twice, as PyTorch does: the norm stays apart."""
    model, x, proto = exported(llama, opset, torch.float16)
    assert "Reciprocal" not in operators(proto)
    _, session = as_run(proto, tmp_path)
    (given,) = session.run(None, feeds(["x"], [x]))
    torch.testing.assert_close(torch.from_numpy(given), model(x), rtol=2e-3, atol=1e-4)


@pytest.mark.parametrize("spelling", [twice, first_axis, cubed, other_tensor])
@pytest.mark.parametrize("opset", [14, 23])
def test_left_alone_or_right(spelling, opset, tmp_path):
    model, x, proto = exported(spelling, opset)
    assert "RMSNormalization" not in operators(proto)
    _, session = as_run(proto, tmp_path)
    (given,) = session.run(None, feeds(["x"], [x]))
    torch.testing.assert_close(torch.from_numpy(given), model(x), rtol=1e-5, atol=1e-6)


def test_not_without_optimization():
    assert "Reciprocal" in operators(exported(llama, 23, optimize=False)[2])
