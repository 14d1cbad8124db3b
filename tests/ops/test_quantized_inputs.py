"""Quantized tensors as inputs and outputs: the integers, the scale and the zero point, three tensors of the graph."""

import warnings

import pytest
import torch
from tests.harness import operators

import onnxport
from onnxport.dtypes import quantized_parts
from onnxport.errors import LoweringError

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import torch.ao.nn.intrinsic.quantized as fused
    import torch.ao.nn.quantized as layers

OPSETS = (10, 13, 20, 27)


def q(*shape, scale=0.5, zero=128, dtype=torch.quint8, seed=0):
    values = torch.randn(*shape, generator=torch.Generator().manual_seed(seed)) * 3
    return torch.quantize_per_tensor(values, scale, zero, dtype)


def weighted(layer, per_channel=False):
    """A layer with weights, and a bias, of its own."""
    shape = layer.weight().shape
    values = torch.randn(shape, generator=torch.Generator().manual_seed(1)) * 2
    count = layer.out_channels if hasattr(layer, "out_channels") else layer.out_features
    if per_channel:
        scales = torch.linspace(0.2, 0.6, shape[0], dtype=torch.float64)
        weight = torch.quantize_per_channel(values, scales, torch.zeros(shape[0], dtype=torch.int64), 0, torch.qint8)
    else:
        weight = torch.quantize_per_tensor(values, 0.5, 0, torch.qint8)
    layer.set_weight_bias(weight, torch.arange(count, dtype=torch.float32) - 2)
    return layer


def affine(*shape):
    return [
        torch.nn.Parameter(torch.linspace(*ends, 24)[: torch.Size(shape).numel()].reshape(shape))
        for ends in ((0.5, 1.5), (-1, 1))
    ]


def joined(x, y):
    return layers.QFunctional().cat((x, y), dim=0)


MODELS = {
    "linear": (weighted(layers.Linear(4, 8)), q(4, 4)),
    "linear_per_channel": (weighted(layers.Linear(4, 8), per_channel=True), q(4, 4)),
    "conv1d": (weighted(layers.Conv1d(4, 6, 3, stride=2)), q(2, 4, 9)),
    "conv2d": (weighted(layers.Conv2d(4, 6, 3, stride=2)), q(2, 4, 9, 9)),
    "conv3d": (weighted(layers.Conv3d(4, 6, [2, 3, 4], stride=[3, 1, 2])), q(2, 4, 8, 6, 6)),
    "conv2d_relu": (weighted(fused.ConvReLU2d(4, 6, 3)), q(2, 4, 5, 5)),
    "conv2d_per_channel": (weighted(layers.Conv2d(4, 6, 3), per_channel=True), q(2, 4, 5, 5)),
    "transposed1d": (weighted(layers.ConvTranspose1d(4, 6, 3, output_padding=1, stride=2)), q(2, 4, 5)),
    "transposed2d": (weighted(layers.ConvTranspose2d(4, 6, 3, output_padding=(0, 1), stride=2)), q(2, 4, 5, 4)),
    "transposed3d": (
        weighted(layers.ConvTranspose3d(4, 6, [2, 3, 4], output_padding=(0, 1, 2), stride=[3, 1, 3])),
        q(2, 4, 3, 3, 3),
    ),
    "layer_norm": (layers.LayerNorm([4, 6], *affine(4, 6), 0.1, 5), q(3, 4, 6)),
    "group_norm": (layers.GroupNorm(2, 4, *affine(4), 0.1, 5), q(2, 4, 3)),
    "instance_norm": (layers.InstanceNorm1d(4, *affine(4), 0.1, 5), q(2, 4, 6)),
    "relu": (torch.nn.ReLU(), q(2, 3)),
    "signed": (torch.nn.ReLU(), q(2, 3, dtype=torch.qint8, zero=3)),
    "sigmoid": (torch.nn.Sigmoid(), q(2, 3)),
    "moves": (lambda x: x.transpose(0, 1)[1:].unsqueeze(0), q(2, 3)),
    "dequantize": (lambda x: x.dequantize() * 2, q(2, 3)),
    "two": (lambda x, y: torch.ops.quantized.mul(torch.ops.quantized.add(x, y, 0.4, 100), x, 0.4, 100), q(3, 4), q(3, 4)),
    "joined": (joined, q(2, 3, scale=0.26), q(1, 3, scale=0.1, zero=63)),
    "two_outputs": (lambda x: (x, x.dequantize(), torch.relu(x)), q(2, 3)),
    "quantized_inside": (lambda x: torch.quantize_per_tensor(x, 0.2, 0, torch.qint8), torch.randn(4, 6)),
    "per_channel_output": (
        lambda x: torch.quantize_per_channel(x, torch.tensor([0.1, 0.2]), torch.tensor([0, 3]), 0, torch.qint8),
        torch.randn(2, 3),
    ),
}  # fmt: skip


def same(actual, expected, steps=1):
    """Integers may differ by one where floats were halfway."""
    parts = [p for x in expected for p in quantized_parts(x, torch.float32, None)]
    assert len(actual) == len(parts)
    for a, e in zip(actual, parts):
        assert (a.dtype, a.shape) == (e.dtype, e.shape)
        if e.dtype.is_floating_point:
            torch.testing.assert_close(a, e)
        else:
            assert (a.int() - e.int()).abs().max() <= steps


def listed(x):
    return list(x) if isinstance(x, tuple) else [x]


@pytest.mark.parametrize(
    ("name", "opset"), [(n, o) for n in MODELS for o in OPSETS if o >= 13 or "per_channel" not in n]
)
def test_model(name, opset):
    model, *args = MODELS[name]
    result = onnxport.export(model, tuple(args), None, opset_version=opset)
    with torch.no_grad():
        same(listed(result(*args)), listed(model(*args)))


@pytest.mark.parametrize("name", ["linear", "conv2d", "relu"])
def test_scripted(name):
    model, x = MODELS[name]
    result = onnxport.export(torch.jit.script(model), (x,), None)
    same(listed(result(x)), [model(x)])


def test_scale_and_zero_point_are_inputs():
    model, x = MODELS["conv2d"]
    result = onnxport.export(model, (x,), None, input_names=["x"], output_names=["y"], dynamic_axes={"x": {0: "n"}})
    assert result.input_names == ["x_value", "x_scale", "x_zero_point"]
    assert result.output_names == ["y", "output_1", "output_2"]
    assert [str(v.dtype) for v in result.model.graph.inputs] == ["UINT8", "DOUBLE", "INT64"]
    for other in (q(5, 4, 9, 9, scale=0.3, zero=100, seed=3), q(1, 4, 9, 9, scale=0.7, zero=9, seed=4)):
        same(listed(result(other)), [model(other)])


def test_verified():
    report = onnxport.export(torch.nn.ReLU(), (q(2, 3),), None, input_names=["x"], dynamic_axes={"x": [0]}).verify()
    assert report.ok


def test_ops_that_move_elements_work_on_the_integers():
    result = onnxport.export(MODELS["moves"][0], (q(2, 3),), None)
    assert "QuantizeLinear" not in operators(result.model_proto)


def test_an_input_quantized_per_channel_is_refused():
    x = torch.quantize_per_channel(torch.randn(2, 3), torch.tensor([0.1, 0.2]), torch.tensor([0, 0]), 0, torch.quint8)
    with pytest.raises(LoweringError, match="per_channel_affine.*dequantize"):
        onnxport.export(lambda x: x.dequantize(), (x,), None)
