"""Layers of which the weights alone are quantized."""

import onnx
import pytest
import torch
from tests.harness import LATEST, case, cases, check, f32, i64
from tests.reports.harness import leaves
from torch import nn
from torch.ao import quantization

import onnxport

B = {0: {0: "b"}}


def dynamic(module, dtype):
    """As `quantize_dynamic` makes it of a module in a model."""
    torch.manual_seed(0)
    kinds = {type(layer) for layer in module.modules()} - {type(module)}
    return quantization.quantize_dynamic(module.eval(), kinds, dtype=dtype)


class Holder(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return self.layer(x)


class Recurrent(Holder):
    def forward(self, x, h):
        return self.layer(x, h)


class LongShort(Holder):
    def forward(self, x, h, c):
        return self.layer(x, (h, c))


class Packed(Holder):
    def forward(self, x, lengths):
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        y, states = self.layer(packed)
        return nn.utils.rnn.pad_packed_sequence(y, batch_first=True), states


LENGTHS = torch.tensor([2, 5, 3])
OTHERS = [(torch.randn(3, 5, 4), torch.tensor([4, 1, 5]))]
MODELS = {
    "linear": (Holder, lambda: nn.Linear(4, 5), (f32(3, 4),), B),
    "lstm": (Holder, lambda: nn.LSTM(4, 5, 2, bidirectional=True, batch_first=True), (f32(3, 6, 4),), {0: {0: "b", 1: "t"}}),
    "lstm_with_states": (LongShort, lambda: nn.LSTM(4, 5, 2), (f32(6, 3, 4), f32(2, 3, 5), f32(2, 3, 5)), {}),
    "gru": (Holder, lambda: nn.GRU(4, 5, 2, bidirectional=True), (f32(6, 3, 4),), {0: {0: "t", 1: "b"}}),
    "gru_with_state": (Recurrent, lambda: nn.GRU(4, 5), (f32(6, 3, 4), f32(1, 3, 5)), {}),
    "lstm_cell": (Holder, lambda: nn.LSTMCell(4, 5), (f32(3, 4),), B),
    "gru_cell": (Recurrent, lambda: nn.GRUCell(4, 5), (f32(3, 4), f32(3, 5)), {0: {0: "b"}, 1: {0: "b"}}),
    "tanh_cell": (Holder, lambda: nn.RNNCell(4, 5), (f32(3, 4),), B),
    "relu_cell": (Holder, lambda: nn.RNNCell(4, 5, nonlinearity="relu"), (f32(3, 4),), B),
    "packed_lstm": (Packed, lambda: nn.LSTM(4, 5, 2, bidirectional=True), (f32(3, 5, 4), LENGTHS), {}),
    "packed_gru": (Packed, lambda: nn.GRU(4, 5, bidirectional=True), (f32(3, 5, 4), LENGTHS), {}),
}  # fmt: skip
LAYERS = [
    case(
        f"{name}_{str(dtype)[6:]}", dynamic(holder(layer()), dtype), *inputs, dynamic=axes,
        others=OTHERS if holder is Packed else (),
    )
    for name, (holder, layer, inputs, axes) in MODELS.items()
    for dtype in (torch.qint8, torch.float16)
]  # fmt: skip


def exported(model, case, opset):
    """Exported as users do, and compared: what isn't for speed is done after lowering, too."""
    names = [f"x{i}" for i in range(len(case.inputs))]
    examples = tuple(x if isinstance(x, torch.Tensor) else x.make(i) for i, x in enumerate(case.inputs))
    axes = {names[i]: labels for i, labels in case.dynamic.items()}
    result = onnxport.export(model, examples, input_names=names, dynamic_axes=axes, opset_version=opset)
    onnx.checker.check_model(result.model_proto, full_check=True)
    for inputs in (examples, *case.others):
        for actual, expected in zip(leaves(result(*inputs)), leaves(model(*inputs)), strict=True):
            torch.testing.assert_close(actual, expected, rtol=1e-4, atol=1e-4)
    assert result.verify(rtol=1e-4, atol=1e-4).ok


@pytest.mark.filterwarnings(
    "ignore:.*as a Python int"
)  # PyTorch's quantized layers read the batch of packed sequences so
@cases(LAYERS, opsets=(13, 17, LATEST))
def test_layers(case, frontend, opset):
    exported(case.function, case, opset)


@pytest.mark.parametrize("name", ["lstm", "gru", "lstm_cell", "linear"])
@pytest.mark.parametrize("dtype", [torch.qint8, torch.float16])
def test_scripted_layers(name, dtype):
    holder, layer, inputs, axes = MODELS[name]
    scripted = torch.jit.script(dynamic(holder(layer()), dtype))
    exported(scripted, case(name, scripted, *inputs, dynamic=axes), opset=17)


def table(layer, bits):
    name = "float_qparams_weight_only_qconfig" + ("_4bit" if bits == 4 else "")
    layer.qconfig = getattr(quantization, name)
    holder = quantization.prepare(nn.Sequential(layer).eval())
    return quantization.convert(holder)[0]


OFFSETS = torch.tensor([0, 2, 2, 5])


class Bag(nn.Module):
    def __init__(self, bits, **options):
        super().__init__()
        self.bag = table(nn.EmbeddingBag(10, 8, mode="sum", **options), bits)

    def forward(self, *args):
        return self.bag(*args)


EMBEDDINGS = [
    case("embedding", nn.Sequential(table(nn.Embedding(10, 8), 8)), i64(2, 3, low=0, high=9), dynamic=B),
    *[
        case(f"{name}_{bits}", Bag(bits, **options), *inputs, dynamic=axes)
        for bits in (8, 4)
        for name, options, inputs, axes in [
            ("bag", {}, (i64(6, low=0, high=9), OFFSETS), {}),
            ("last_offset", {"include_last_offset": True}, (i64(5, low=0, high=9), OFFSETS), {}),
            ("weighted", {}, (i64(6, low=0, high=9), OFFSETS, f32(6)), {}),
            ("rows", {}, (i64(3, 4, low=0, high=9),), B),
        ]
    ],
]


@cases(EMBEDDINGS, opsets=(13, LATEST))
def test_embeddings(case, frontend, opset):
    check(case, frontend, opset)
