"""Language models with caches: one file for the prompt and for each further token, equal to PyTorch token by token."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import onnxruntime as ort
import pytest
import torch

import onnxport

transformers = pytest.importorskip("transformers", reason="the models come from transformers, which isn't installed")

# Attention with grouped heads has a path of its own for single tokens, of equal results; the warning can't know that.
pytestmark = pytest.mark.filterwarnings("ignore:.*may be wrong at small sizes:onnxport.errors.OnnxExporterWarning")

SIZES: dict[str, Any] = {
    "vocab_size": 100,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "max_position_embeddings": 96,
    "initializer_range": 0.3,
    "bos_token_id": None,
    "eos_token_id": None,
}


def config(kind: str) -> Any:
    if kind == "gpt2":
        return transformers.GPT2Config(
            vocab_size=100, n_positions=96, n_embd=32, n_layer=2, n_head=4, initializer_range=0.3, eos_token_id=None
        )
    options: dict[str, Any] = dict(SIZES) if kind == "neox" else {**SIZES, "num_key_value_heads": 2}
    if kind == "scaled_llama":
        scaling = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 24, "rope_theta": 10000.0}
        return transformers.LlamaConfig(**options, rope_parameters=scaling, tie_word_embeddings=True)
    if kind == "qwen3_moe":
        options |= {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 24, "head_dim": 8}
    if kind == "mistral":
        options |= {"sliding_window": 8}
    classes = {
        "neox": "GPTNeoXConfig",
        "llama": "LlamaConfig",
        "mistral": "MistralConfig",
        "qwen3_moe": "Qwen3MoeConfig",
    }
    return getattr(transformers, classes[kind])(**options)


def model_of(kind: str) -> torch.nn.Module:
    torch.manual_seed(0)
    return transformers.AutoModelForCausalLM.from_config(config(kind), attn_implementation="sdpa").eval()


def prompt(n: int, length: int) -> torch.Tensor:
    return torch.randint(3, 100, (n, length), generator=torch.Generator().manual_seed(n + length))


def cache_after(model: torch.nn.Module, ids: torch.Tensor) -> Any:
    with torch.no_grad():
        return model(input_ids=ids, past_key_values=transformers.DynamicCache(), use_cache=True).past_key_values


def greedy(model: torch.nn.Module, ids: torch.Tensor, steps: int) -> torch.Tensor:
    """Without a cache: what the exported model is compared with."""
    with torch.no_grad():
        for _ in range(steps):
            logits = model(input_ids=ids, use_cache=False).logits
            ids = torch.cat([ids, logits[:, -1].argmax(-1, keepdim=True)], 1)
    return ids


def session_of(result: Any) -> ort.InferenceSession:
    return ort.InferenceSession(result.model_proto.SerializeToString(), providers=["CPUExecutionProvider"])


@pytest.mark.parametrize("kind", ["gpt2", "llama", "scaled_llama", "neox", "qwen3_moe", "mistral"])
def test_greedy_decoding_with_a_dynamic_cache(kind):
    model = model_of(kind)
    past = cache_after(model, prompt(2, 5))
    example = {
        "input_ids": prompt(2, 3),
        "attention_mask": torch.ones(2, 8, dtype=torch.long),
        "past_key_values": past,
        "use_cache": True,
    }
    names = [f"past_key_values.{i}.{part}" for i in range(2) for part in ("key", "value")]
    axes = {"input_ids": {0: "batch", 1: "new"}, "attention_mask": {0: "batch", 1: "total"}}
    axes |= {name: {0: "batch", 2: "past"} for name in names}
    result = onnxport.export(model, (), kwargs=example, dynamic_axes=axes, opset_version=20)
    session = session_of(result)
    assert [i.name for i in session.get_inputs()] == ["input_ids", "attention_mask", *names]
    assert len(session.get_outputs()) == 1 + len(names)

    for n, length in ((1, 4), (3, 7)):
        ids = prompt(n, length)
        expected = greedy(model, ids, 50)
        heads, size = past.layers[0].keys.shape[1], past.layers[0].keys.shape[3]
        state = [np.zeros((n, heads, 0, size), np.float32)] * len(names)
        new = ids
        for _ in range(50):
            total = new.shape[1] + state[0].shape[2]
            feeds = {
                "input_ids": new.numpy(),
                "attention_mask": np.ones((n, total), np.int64),
                **dict(zip(names, state)),
            }
            logits, *state = session.run(None, feeds)
            new = torch.from_numpy(logits[:, -1].argmax(-1))[:, None]
            ids = torch.cat([ids, new], 1)
        assert torch.equal(ids, expected)


class Tuples(torch.nn.Module):
    """The cache as tuples of tensors, as older code has it."""

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, input_ids, past):
        cache = transformers.DynamicCache()
        for i, (key, value) in enumerate(past):
            cache.update(key, value, i)
        out = self.model(input_ids=input_ids, past_key_values=cache, use_cache=True)
        return out.logits, tuple((layer.keys, layer.values) for layer in out.past_key_values.layers)


def test_a_cache_of_tuples():
    model = model_of("llama")
    wrapped = Tuples(model)

    def example(n: int, new: int, old: int) -> tuple[torch.Tensor, Any]:
        layers = cache_after(model, prompt(n, old)).layers
        return prompt(n, new), tuple((layer.keys, layer.values) for layer in layers)

    names = [f"past.{i}.{j}" for i in range(2) for j in range(2)]
    axes = {"input_ids": {0: "batch", 1: "new"}, **{name: {0: "batch", 2: "old"} for name in names}}
    session = session_of(onnxport.export(wrapped, example(2, 3, 5), dynamic_axes=axes))
    ids, past = example(3, 2, 9)
    flat = [t for pair in past for t in pair]
    got = session.run(None, {"input_ids": ids.numpy(), **{n: t.numpy() for n, t in zip(names, flat)}})
    with torch.no_grad():
        logits, present = wrapped(ids, past)
    for a, b in zip(got, [logits, *(t for pair in present for t in pair)]):
        np.testing.assert_allclose(a, b.numpy(), rtol=1e-3, atol=1e-4)


def test_greedy_decoding_with_a_static_cache():
    """Keys and values of a fixed length, written in place; what is filled is a tensor."""
    model = model_of("llama")
    ids = prompt(2, 5)

    def filled() -> Any:
        cache = transformers.StaticCache(config=model.config, max_cache_len=64)
        with torch.no_grad():
            return model(input_ids=ids, past_key_values=cache, use_cache=True)

    first = filled()
    new = first.logits[:, -1].argmax(-1, keepdim=True)
    positions = torch.full((2, 1), 5)
    example = {"input_ids": new, "position_ids": positions, "past_key_values": copy.deepcopy(first.past_key_values)}
    result = onnxport.export(model, (), kwargs={**example, "use_cache": True}, dynamic_axes={})
    session = session_of(result)
    names = [i.name for i in session.get_inputs()]
    assert names[:2] == ["input_ids", "position_ids"]
    state = {name: _leaf(first.past_key_values, name).clone().numpy() for name in names[2:]}
    expected = greedy(model, ids, 20)
    ids = torch.cat([ids, new], 1)
    for step in range(19):
        logits, *kept = session.run(None, {"input_ids": new.numpy(), "position_ids": positions.numpy() + step, **state})
        state = dict(zip(names[2:], kept))
        new = torch.from_numpy(logits[:, -1].argmax(-1))[:, None]
        ids = torch.cat([ids, new], 1)
    assert torch.equal(ids, expected)


def _leaf(cache: Any, name: str) -> torch.Tensor:
    _, layer, part = name.split(".")
    return getattr(cache.layers[int(layer)], {"key": "keys", "value": "values"}.get(part, part))
