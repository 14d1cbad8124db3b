"""Products of floats with a dequantized matrix, for which onnxruntime would round the floats to 8 bits, too."""

import pytest
import torch
import torch.nn.functional as F
from tests.harness import operators

import onnxport

WEIGHT = torch.randn(16, 32, generator=torch.Generator().manual_seed(0))
SCALES = torch.linspace(0.01, 0.02, 16)


class Product(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function, self.weight = function, torch.nn.Parameter(WEIGHT)

    def forward(self, x):
        return self.function(x, self.weight)


def per_tensor(x, w):
    return x @ torch.fake_quantize_per_tensor_affine(w, 0.02, 3, -128, 127).t()


def per_channel(x, w):
    return F.linear(
        x, torch.fake_quantize_per_channel_affine(w, SCALES, torch.zeros(16, dtype=torch.int32), 0, -128, 127)
    )


def with_zero_points(x, w):
    return F.linear(x, torch.fake_quantize_per_channel_affine(w, SCALES, torch.arange(16).int(), 0, 0, 255))


def dequantized(x, w):
    return x @ torch.quantize_per_channel(w.t().contiguous(), SCALES, torch.zeros(16), 1, torch.qint8).dequantize()


def of_both(x, w):
    y = torch.fake_quantize_per_tensor_affine(x, 0.05, 3, -128, 127)
    return y.reshape(-1, 32) @ torch.fake_quantize_per_tensor_affine(w, 0.02, 3, -128, 127).t()


@pytest.mark.parametrize("optimize", [True, False])
@pytest.mark.parametrize("opset", [13, 17, 23])
@pytest.mark.parametrize("function", [per_tensor, per_channel, with_zero_points, dequantized])
@pytest.mark.parametrize("shape", [(4, 32), (2, 3, 32)])
def test_floats_stay(function, shape, opset, optimize):
    model = Product(function)
    x = torch.randn(shape, generator=torch.Generator().manual_seed(1))
    result = onnxport.export(
        model, x, input_names=["x"], dynamic_axes={"x": [0]}, opset_version=opset, do_constant_folding=optimize
    )
    torch.testing.assert_close(result(x), model(x), rtol=1e-4, atol=1e-4)
    more = torch.cat([x, x + 1])
    torch.testing.assert_close(result(more), model(more), rtol=1e-4, atol=1e-4)


def test_products_of_quantized_tensors_stay():
    result = onnxport.export(Product(of_both), torch.randn(2, 3, 32), opset_version=17)
    assert operators(result.model_proto).count("DequantizeLinear") == 2
