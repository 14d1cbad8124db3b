import copy
import functools
import warnings

import pytest
import torch
from onnx import TensorProto
from tests.harness import case, cases, check, f16, f32, operators

from onnxport.errors import LoweringError, OpsetError

RECENT = 27  # onnxruntime has no kernels of opset 28 yet
STEP = 0.1  # of the scales used below: rounding may differ by one at halves
BATCH = {0: "n"}


def fake(scale, zero, low, high):
    return lambda x: torch.fake_quantize_per_tensor_affine(x, scale, zero, low, high)


def per_channel(low, high, axis):
    def run(x, scale, zero):
        return torch.fake_quantize_per_channel_affine(x, scale, zero.to(torch.int32), axis, low, high)

    return run


SCALES, ZEROS = torch.tensor([0.1, 0.2, 0.05]), torch.tensor([0, 3, -5], dtype=torch.int32)
FAKE = [
    case("unsigned", fake(0.013, 128, 0, 255), f32(2, 3), dynamic=BATCH),
    case("signed", fake(0.013, 3, -128, 127), f32(2, 3), dynamic=BATCH),
    case("narrow", fake(0.013, 0, -127, 127), f32(2, 3)),
    case("seven_bits", fake(0.013, 64, 0, 127), f32(2, 3)),
    case("four_bits", fake(0.13, 0, -8, 7), f32(2, 3)),
    case("sixteen_bits", fake(0.0001, 0, -32768, 32767), f32(2, 3)),
    case("half", fake(0.013, 3, -128, 127), f16(2, 3)),
    case("halves", fake(1.0, 0, -128, 127), torch.tensor([0.5, 1.5, 2.5, -0.5, -1.5, 300.0, -300.0])),
    case(
        "from_tensors",
        lambda x, s, z: torch.fake_quantize_per_tensor_affine(x, s, z.to(torch.int32), -128, 127),
        f32(2, 3),
        torch.tensor([0.013]),
        torch.tensor([3]),
    ),
    case("channels", per_channel(-128, 127, 1), f32(2, 3, 4), SCALES, ZEROS, dynamic=BATCH),
    case(
        "learnable",
        lambda x, s, z: torch._fake_quantize_learnable_per_tensor_affine(x, s, z, -128, 127),
        f32(4, 9, low=-9, high=9),
        torch.tensor([0.05]),
        torch.tensor([2.5]),
        others=[(torch.randn(4, 9), torch.tensor([0.1]), torch.tensor([-1.6]))],
        dynamic={0: {0: "n"}},
    ),
    case(
        "learnable_channels",
        lambda x, s, z: torch._fake_quantize_learnable_per_channel_affine(x, s, z, 1, 0, 15),
        f32(2, 3, 4),
        torch.tensor([0.1, 0.2, 0.3]),
        torch.tensor([2.5, -4.0, 22.0]),
        dynamic=BATCH,
    ),
    case("channels_narrow", per_channel(-127, 127, 1), f32(2, 3, 4), SCALES, ZEROS),
]


@cases(FAKE, opsets=(9, 10, 13, RECENT))
def test_fake_quantize(case, frontend, opset):
    check(case, frontend, opset)


def test_fake_quantize_is_two_nodes():
    model = check(FAKE[0], opset=RECENT)
    assert operators(model) == ["QuantizeLinear", "DequantizeLinear"]


def on(function, dtype=torch.quint8, zero=10):
    return lambda x: function(torch.quantize_per_tensor(x, STEP, zero, dtype))


TENSORS = [
    case("dequantize", on(lambda q: q.dequantize()), f32(2, 3), dynamic=BATCH),
    case("signed", on(lambda q: q.dequantize(), torch.qint8), f32(2, 3)),
    case("int32", on(lambda q: q.dequantize(), torch.qint32), f32(2, 3)),
    case("int_repr", on(lambda q: q.int_repr()), f32(2, 3), dynamic=BATCH),
    case("q_scale", on(lambda q: q.dequantize() * q.q_scale() + q.q_zero_point()), f32(2, 3)),
    case("per_channel", lambda x, s, z: torch.quantize_per_channel(x, s, z, 1, torch.qint8).dequantize(), f32(2, 3), SCALES, ZEROS),
    case("moves", on(lambda q: q.reshape(3, 2).transpose(0, 1)[1:].unsqueeze(0).dequantize()), f32(2, 3)),
    case("relu", on(lambda q: torch.relu(q).dequantize()), f32(2, 3)),
    case("max_pool", on(lambda q: torch.nn.functional.max_pool2d(q, 2).dequantize()), f32(1, 2, 4, 4), dynamic=BATCH),
    case("avg_pool", on(lambda q: torch.nn.functional.adaptive_avg_pool2d(q, 1).dequantize()), f32(1, 2, 4, 4), atol=STEP),
    case("sigmoid", on(lambda q: torch.sigmoid(q).dequantize()), f32(2, 3), atol=1 / 256),
    case("tanh", on(lambda q: torch.tanh(q).dequantize()), f32(2, 3), atol=1 / 128),
    case("cat", on(lambda q: torch.ops.quantized.cat([q, q], 1, 0.2, 3).dequantize()), f32(2, 3), atol=0.2),
    case("add", on(lambda q: torch.ops.quantized.add(q, q, 0.2, 3).dequantize()), f32(2, 3), atol=0.2),
    case("mul_relu", on(lambda q: torch.ops.quantized.mul_relu(q, q, 0.2, 3).dequantize()), f32(2, 3), atol=0.2),
    case("mul_scalar", on(lambda q: torch.ops.quantized.mul_scalar(q, -1.5).dequantize()), f32(2, 3)),
    *[case(f"add_scalar_{b}", on(lambda q, b=b: torch.ops.quantized.add_scalar(q, b).dequantize()), f32(2, 3), atol=0.13)
      for b in (0.5, 3.0, -40.0)],
    case("hardswish", on(lambda q: torch.ops.quantized.hardswish(q, 0.1, 5).dequantize()), f32(2, 3), atol=STEP),
]  # fmt: skip


@cases(TENSORS, opsets=(10, 13, RECENT))
@pytest.mark.filterwarnings("ignore")
def test_tensors(case, frontend, opset):
    check(case, frontend, opset)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.quant, self.dequant = torch.ao.quantization.QuantStub(), torch.ao.quantization.DeQuantStub()
        self.first, self.relu = torch.nn.Conv2d(3, 4, 3, stride=2, padding=1), torch.nn.ReLU()
        self.second = torch.nn.Conv2d(4, 4, 3, padding=1, groups=2)
        self.add = torch.ao.nn.quantized.FloatFunctional()
        self.pool, self.linear = torch.nn.AdaptiveAvgPool2d(1), torch.nn.Linear(4, 5)

    def forward(self, x):
        x = self.relu(self.first(self.quant(x)))
        x = self.add.add(x, self.second(x))
        return self.dequant(self.linear(self.pool(x).flatten(1)))


@functools.cache
def converted(per_channel):
    from torch.ao import quantization

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        net = quantization.fuse_modules(Net().eval(), [["first", "relu"]])
        net.qconfig = quantization.get_default_qconfig("fbgemm" if per_channel else "qnnpack")
        quantization.prepare(net, inplace=True)
        net(f32(4, 3, 8, 8).make(0))
        return quantization.convert(net, inplace=True)


@pytest.mark.parametrize("opset", [10, 13, RECENT])
@pytest.mark.parametrize("per_channel", [False, True])
@pytest.mark.filterwarnings("ignore")
def test_converted_model(per_channel, opset):
    if per_channel and opset < 13:
        with pytest.raises(OpsetError, match="per channel needs opset 13"):
            check(case("net", converted(per_channel), f32(2, 3, 8, 8)), opset=opset)
        return
    model = check(case("net", converted(per_channel), f32(2, 3, 8, 8), dynamic={0: "n"}, atol=0.03), opset=opset)
    int8 = [t for t in model.graph.initializer if t.data_type == TensorProto.INT8 and len(t.dims) > 1]
    assert len(int8) == 3


@pytest.mark.parametrize("rank", [2, 3])
@pytest.mark.filterwarnings("ignore")
def test_dynamic_linear(rank):
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))
    net = torch.ao.quantization.quantize_dynamic(net, {torch.nn.Linear})
    check(case("net", net, f32(*[2, 3][: rank - 1], 6), dynamic={0: "n"}, atol=0.03), opset=RECENT)


class Trained(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.relu = torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU()

    def forward(self, x):
        return self.relu(self.norm(self.conv(x)))


@functools.cache
def prepared(backend):
    """A model of quantisation-aware training, its observers not yet off."""
    from torch.ao import quantization

    torch.manual_seed(0)
    net = quantization.fuse_modules_qat(Trained().train(), [["conv", "norm", "relu"]])
    net.qconfig = quantization.get_default_qat_qconfig(backend)
    quantization.prepare_qat(net, inplace=True)
    net(f32(4, 3, 8, 8).make(0))
    return net.eval()


@pytest.mark.parametrize("frontend", ["trace", "exported"])
@pytest.mark.parametrize("backend", ["x86", "qnnpack"])
@pytest.mark.parametrize("quantizes", [True, False])
@pytest.mark.filterwarnings("ignore")
def test_quantisation_aware_training(backend, quantizes, frontend):
    from torch.ao import quantization

    net = copy.deepcopy(prepared(backend)).apply(quantization.disable_observer)
    if not quantizes:
        net.apply(quantization.disable_fake_quant)
    dynamic = {0: "n"} if frontend == "trace" else {}
    model = check(case("net", net, f32(2, 3, 8, 8), dynamic=dynamic), frontend, 17)
    assert operators(model).count("QuantizeLinear") == (2 if quantizes else 0)


@pytest.mark.filterwarnings("ignore")
def test_observers_that_are_on():
    with pytest.raises(LoweringError, match="disable_observer"):
        check(case("net", copy.deepcopy(prepared("x86")), f32(2, 3, 8, 8)), opset=17)
