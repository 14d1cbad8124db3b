"""Whole models, small, at each opset that people deploy to: valid in full, and right in onnxruntime.

Models of `transformers` run where it is installed.
"""

from __future__ import annotations

import importlib.util
import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import onnx
import onnx.reference
import pytest
import torch
from torch import nn

import onnxport

from ..harness import feeds, run

OPSETS = (7, 9, 11, 12, 13, 14, 15, 16, 17, 18, 20, 21, 23, 24, 28)


@dataclass(frozen=True)
class Model:
    """How to make a model, example inputs, others of different sizes, and the lowest opset that can express it."""

    make: Callable[[], Any]
    inputs: Callable[[int], tuple[torch.Tensor, ...]]  # of a number that makes sizes differ
    axes: dict[str, dict[int, str]]
    lowest: int = 7
    rtol: float = 1e-4
    atol: float = 1e-5


# -- of images ----------------------------------------------------------------------------------------


def alexnet() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 8, 5, stride=2, padding=2), nn.ReLU(), nn.MaxPool2d(3, 2),
        nn.Conv2d(8, 12, 3, padding=1), nn.ReLU(), nn.MaxPool2d(3, 2),
        nn.AdaptiveAvgPool2d(3), nn.Flatten(), nn.Dropout(), nn.Linear(108, 20), nn.ReLU(), nn.Linear(20, 5),
    )  # fmt: skip


class Residual(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(4, 8, 3, 2, 1, bias=False), nn.Conv2d(8, 8, 3, 1, 1, bias=False)
        self.norms = nn.ModuleList([nn.BatchNorm2d(8) for _ in range(3)])
        self.side, self.head = nn.Conv2d(4, 8, 1, 2, bias=False), nn.Linear(8, 3)

    def forward(self, x):
        y = self.norms[1](self.second(torch.relu(self.norms[0](self.first(x)))))
        y = torch.relu(y + self.norms[2](self.side(x)))
        return self.head(torch.flatten(nn.functional.adaptive_avg_pool2d(y, 1), 1))


class VisionTransformer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.patch = nn.Conv2d(3, 16, 4, 4)
        self.token, self.places = nn.Parameter(torch.randn(1, 1, 16)), nn.Parameter(torch.randn(1, 17, 16))
        self.norms = nn.ModuleList([nn.LayerNorm(16) for _ in range(3)])
        self.qkv, self.out = nn.Linear(16, 48), nn.Linear(16, 16)
        self.mlp = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 16))
        self.head = nn.Linear(16, 4)

    def forward(self, x):
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1) + self.places
        batch, length, width = x.shape
        q, k, v = self.qkv(self.norms[0](x)).reshape(batch, length, 3, 4, width // 4).permute(2, 0, 3, 1, 4).unbind(0)
        y = nn.functional.scaled_dot_product_attention(q, k, v)
        x = x + self.out(y.transpose(1, 2).reshape(batch, length, width))
        x = x + self.mlp(self.norms[1](x))
        return self.head(self.norms[2](x)[:, 0])


# -- of sequences -------------------------------------------------------------------------------------


class Tagger(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(30, 8)
        self.lstm = nn.LSTM(8, 6, num_layers=2, bidirectional=True, batch_first=True)
        self.head = nn.Linear(12, 4)

    def forward(self, ids):
        states, _ = self.lstm(self.embed(ids))
        return torch.log_softmax(self.head(states), -1), states.max(1).values


class RMSNorm(nn.Module):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.rand(size) + 0.5)

    def forward(self, x):
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))


class Decoder(nn.Module):
    """A layer of a language model: rotary positions, grouped heads, causal attention, gated SiLU."""

    def __init__(self, width: int = 32, heads: int = 4, shared: int = 2) -> None:
        super().__init__()
        self.heads, self.shared, self.size = heads, shared, width // heads
        self.embed = nn.Embedding(40, width)
        self.norms = nn.ModuleList([RMSNorm(width) for _ in range(3)])
        self.q, self.kv = nn.Linear(width, width, bias=False), nn.Linear(width, 2 * shared * self.size, bias=False)
        self.out, self.gate = nn.Linear(width, width, bias=False), nn.Linear(width, 48, bias=False)
        self.up, self.down = nn.Linear(width, 48, bias=False), nn.Linear(48, width, bias=False)
        self.register_buffer("inverse", 1.0 / 100 ** (torch.arange(0, self.size, 2).float() / self.size))

    def rotated(self, x, cos, sin):
        a, b = x.chunk(2, -1)
        return x * cos + torch.cat((-b, a), -1) * sin

    def forward(self, ids):
        x = self.embed(ids)
        batch, length, width = x.shape
        angles = torch.arange(length, device=ids.device).float()[:, None] * self.inverse[None]
        angles = torch.cat((angles, angles), -1)
        cos, sin = angles.cos(), angles.sin()
        y = self.norms[0](x)
        q = self.q(y).view(batch, length, self.heads, self.size).transpose(1, 2)
        k, v = self.kv(y).view(batch, length, 2, self.shared, self.size).permute(2, 0, 3, 1, 4)
        q, k = self.rotated(q, cos, sin), self.rotated(k, cos, sin)
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        x = x + self.out(y.transpose(1, 2).reshape(batch, length, width))
        y = self.norms[1](x)
        x = x + self.down(nn.functional.silu(self.gate(y)) * self.up(y))
        return self.norms[2](x) @ self.embed.weight.T


class Looped(nn.Module):
    """A loop whose rounds depend on data, with an if in it."""

    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.GRUCell(4, 4)

    def forward(self, x, steps: torch.Tensor):
        state = torch.zeros(x.shape[0], 4)
        for _ in range(int(steps)):
            state = self.cell(x, state)
            if bool(state.sum() > 0):
                state = state * 0.5
            else:
                state = state + 1
        return state


# -- of transformers ----------------------------------------------------------------------------------


class Logits(nn.Module):
    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, ids, mask):
        return self.model(input_ids=ids, attention_mask=mask, return_dict=False)[0]


def bert() -> nn.Module:
    import transformers

    config = transformers.BertConfig(
        vocab_size=40, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=37,
        max_position_embeddings=32,
    )  # fmt: skip
    return Logits(transformers.BertModel(config, add_pooling_layer=False))


def llama() -> nn.Module:
    import transformers

    config = transformers.LlamaConfig(
        vocab_size=40, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
        intermediate_size=37, max_position_embeddings=32, use_cache=False,
        attn_implementation="eager",  # the other one asks whether the length is 1
    )  # fmt: skip
    return Logits(transformers.LlamaForCausalLM(config))


def image(more: int) -> tuple[torch.Tensor, ...]:
    return (torch.randn(2 + more, 3, 64, 64),)


def ids(more: int) -> tuple[torch.Tensor, ...]:
    return (torch.randint(0, 30, (2 + more, 5 + 2 * more)),)


def masked_ids(more: int) -> tuple[torch.Tensor, ...]:
    (tokens,) = ids(more)
    mask = torch.ones_like(tokens)
    mask[0, -2:] = 0
    return tokens, mask


_TEXT = {"x0": {0: "batch", 1: "length"}}
_MASKED = {f"x{i}": {0: "batch", 1: "length"} for i in range(2)}
MODELS = {
    "alexnet": Model(alexnet, image, {"x0": {0: "batch"}}),
    "resnet": Model(Residual, lambda n: (torch.randn(2 + n, 4, 9 + n, 9),), {"x0": {0: "batch", 2: "height"}}),
    "vit": Model(VisionTransformer, lambda n: (torch.randn(2 + n, 3, 16, 16),), {"x0": {0: "batch"}}),
    "lstm": Model(Tagger, ids, _TEXT),
    "decoder": Model(Decoder, ids, _TEXT),
    "scripted_loop": Model(
        lambda: torch.jit.script(Looped()), lambda n: (torch.randn(2 + n, 4), torch.tensor(3 + n)), {"x0": {0: "batch"}}
    ),
    "bert": Model(bert, masked_ids, _MASKED),
    "llama": Model(llama, masked_ids, _MASKED),
}
NEEDS = {"bert": "transformers", "llama": "transformers"}


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize("name", MODELS)
def test_models(name, opset):
    if name in NEEDS and importlib.util.find_spec(NEEDS[name]) is None:
        pytest.skip(f"{NEEDS[name]} isn't installed")
    proto, model, inputs = _exported(name, opset)
    onnx.checker.check_model(proto, full_check=True)
    assert [(o.domain, o.version) for o in proto.opset_import] == [("", opset)]
    assert proto.ir_version == onnx.helper.find_min_ir_version_for(proto.opset_import)
    names = [f"x{i}" for i in range(len(inputs))]
    with torch.no_grad():
        for given in (inputs, MODELS[name].inputs(1), MODELS[name].inputs(3)):
            expected = model(*given)
            expected = expected if isinstance(expected, tuple) else (expected,)
            actual = run(proto, names, given)
            assert len(actual) == len(expected)
            for a, e in zip(actual, expected):
                torch.testing.assert_close(torch.from_numpy(a), e, rtol=MODELS[name].rtol, atol=MODELS[name].atol)


def _exported(name: str, opset: int | None) -> tuple[onnx.ModelProto, Any, tuple[torch.Tensor, ...]]:
    torch.manual_seed(0)
    spec = MODELS[name]
    model = spec.make().eval()
    inputs = spec.inputs(0)
    names = [f"x{i}" for i in range(len(inputs))]
    file = io.BytesIO()
    onnxport.export(model, inputs, file, opset_version=opset, input_names=names, dynamic_axes=spec.axes)
    return onnx.load_model_from_string(file.getvalue()), model, inputs


@pytest.mark.parametrize("name", ["decoder", "vit"])
def test_newest_by_the_reference(name):
    """Another runtime, that of the ONNX project, where onnxruntime isn't the measure of the newest opset."""
    proto, model, inputs = _exported(name, onnx.defs.onnx_opset_version())
    (given,) = onnx.reference.ReferenceEvaluator(proto).run(None, feeds(["x0"], inputs))
    with torch.no_grad():
        torch.testing.assert_close(torch.from_numpy(given), model(*inputs), rtol=1e-4, atol=1e-5)
