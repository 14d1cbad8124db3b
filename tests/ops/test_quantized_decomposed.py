"""Quantization as exported programs have it (PT2E): plain integers, scales and zero points as arguments."""

import pytest
import torch
import torch.ao.quantization.fx._decomposed  # defines the operators
from tests.harness import case, cases, check, f16, f32, operators
from torch import nn

RECENT = 27  # onnxruntime has no kernels of opset 28 yet
Q = torch.ops.quantized_decomposed
STEPS = torch.arange(-24, 24).view(6, 8) * 0.037  # none of them near a half of the scales below
SCALES, ZEROS = torch.tensor([0.1, 0.2, 0.05]), torch.tensor([0, 3, -5])


def both(scale, zero, low, high, dtype, out=None):
    def run(x):
        q = Q.quantize_per_tensor(x, scale, zero, low, high, dtype)
        return q, Q.dequantize_per_tensor(q, scale, zero, low, high, dtype, out_dtype=out)

    return run


def by_tensors(x):
    scale, zero = Q.choose_qparams.tensor(x, -128, 127, 1e-5, torch.int8)
    q = Q.quantize_per_tensor.tensor(x, scale, zero, -128, 127, torch.int8)
    return scale, zero, Q.dequantize_per_tensor.tensor(q, scale, zero, -128, 127, torch.int8)


def by_channel(axis, low, high, dtype):
    def run(x, scales, zeros):
        q = Q.quantize_per_channel(x, scales, zeros, axis, low, high, dtype)
        return q, Q.dequantize_per_channel(q, scales, zeros, axis, low, high, dtype)

    return run


def by_token(choose):
    def run(x):
        scales, zeros = choose(x, torch.int8)
        q = Q.quantize_per_token(x, scales, zeros, -128, 127, torch.int8)
        return scales, zeros, Q.dequantize_per_token(q, scales, zeros, -128, 127, torch.int8, torch.float32)

    return run


def by_group(x):
    scales, zeros = x.view(6, 2, 4).abs().amax(-1) / 7, torch.zeros(6, 2, dtype=torch.int64)
    q = Q.quantize_per_channel_group(x, scales, zeros, -8, 7, torch.int8, 4)
    return q, Q.dequantize_per_channel_group(q, scales, zeros, -8, 7, torch.int8, 4, torch.float32)


TABLE = [
    case("signed", both(0.1, 3, -128, 127, torch.int8), STEPS, dynamic={0: "n"}),
    case("unsigned", both(0.013, 128, 0, 255, torch.uint8), STEPS),
    case("narrow", both(0.01, 0, -127, 127, torch.int8), STEPS * 4),
    case("four_bits", both(0.1, 0, -8, 7, torch.int8), STEPS),
    case("sixteen_bits", both(0.001, 0, -32768, 32767, torch.int16), STEPS),
    case("thirty_two_bits", both(0.001, 5, -(2**20), 2**20, torch.int32), STEPS),
    case("half", both(0.1, 3, -128, 127, torch.int8, torch.float16), STEPS.half()),
    case("dynamic", by_tensors, f32(3, 4), dynamic={0: "n"}),
    case("dynamic_positive", by_tensors, f32(3, 4, low=1, high=3)),
    case("dynamic_zero", by_tensors, torch.zeros(3, 4)),
    case("symmetric", lambda x: Q.choose_qparams_symmetric.tensor(x, -127, 127, 1e-5, torch.int8), f32(3, 4)),
    case("symmetric_unsigned", lambda x: Q.choose_qparams_symmetric.tensor(x, 0, 255, 1e-5, torch.uint8), f32(3, 4)),
    case("channel", by_channel(0, -128, 127, torch.int8), f32(3, 4), SCALES, ZEROS),
    case("last_channel", by_channel(-1, -127, 127, torch.int8), f32(2, 3), SCALES, ZEROS),
    case("channel_of_int16", by_channel(1, -(2**15), 2**15 - 1, torch.int16), f32(2, 3, 4), SCALES, ZEROS),
    case("fake", lambda x, s, z: Q.fake_quant_per_channel(x, s, z, 1, -127, 127), f32(2, 3, 4), SCALES, ZEROS),
    case("token", by_token(Q.choose_qparams_per_token), f32(2, 3, 4), dynamic={0: "n"}),
    case("token_half", lambda x: Q.choose_qparams_per_token(x, torch.int8), f16(3, 4)),
    case("token_asymmetric", by_token(Q.choose_qparams_per_token_asymmetric), f32(2, 3, 4)),
    case("group", by_group, STEPS),
    case("element_type", lambda x: Q.convert_element_type.no_fuse(x, torch.float16), f32(3)),
]


@cases(TABLE, opsets=(9, 12, 13, 21, RECENT))
def test_quantized_decomposed(case, frontend, opset):
    check(case, frontend, opset)


@cases([c for c in TABLE if not c.dynamic], opsets=(17,), frontends=("exported",))
def test_exported(case, frontend, opset):
    check(case, frontend, opset)


class Converted(nn.Module):
    """A layer as PT2E leaves it: an integer weight, and activations between both operators."""

    def __init__(self):
        super().__init__()
        self.register_buffer("weight", torch.randint(-127, 128, (4, 3), dtype=torch.int8))
        self.register_buffer("scale", torch.rand(4) / 100)
        self.register_buffer("zero", torch.zeros(4, dtype=torch.int64))

    def forward(self, x):
        x = both(0.1, 3, -128, 127, torch.int8)(x)[1]
        return nn.functional.linear(
            x, Q.dequantize_per_channel(self.weight, self.scale, self.zero, 0, -127, 127, torch.int8)
        )


@pytest.mark.parametrize("frontend", ["trace", "exported"])
def test_integer_weights_stay_integers(frontend):
    proto = check(case("layer", Converted(), f32(2, 3)), frontend, 17)
    assert sorted(operators(proto)) == ["DequantizeLinear", "DequantizeLinear", "Gemm", "QuantizeLinear"]
    assert [t.data_type for t in proto.graph.initializer if t.name == "weight"] == [3]
