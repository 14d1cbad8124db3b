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
    "pad_token_id": 0,
}
GROUPED = {**SIZES, "num_key_value_heads": 2}
NARROW = {**GROUPED, "head_dim": 8}
EXPERTS = {"num_experts_per_tok": 2, "moe_intermediate_size": 24}
SLIDING = {"sliding_window": 8, "layer_types": ["sliding_attention", "full_attention"]}
SHORT = {k: SIZES[k] for k in ("vocab_size", "initializer_range", "bos_token_id", "eos_token_id")}
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 24, "rope_theta": 10000.0}
LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 32, "rope_theta": 10000.0}  # fmt: skip

# Kind of model: the configuration's class and its sizes.
DECODERS: dict[str, tuple[str, dict[str, Any]]] = {
    "gpt2": ("GPT2Config", {**SHORT, "n_positions": 96, "n_embd": 32, "n_layer": 2, "n_head": 4}),
    "gptj": ("GPTJConfig", {**SHORT, "n_positions": 96, "n_embd": 32, "n_layer": 2, "n_head": 4, "rotary_dim": 4}),
    "neox": ("GPTNeoXConfig", SIZES),
    "opt": ("OPTConfig", {**SIZES, "ffn_dim": 48, "init_std": 0.3, "word_embed_proj_dim": 32}),
    "bloom": ("BloomConfig", {**SHORT, "hidden_size": 32, "n_layer": 2, "n_head": 4}),
    "falcon": ("FalconConfig", {**SHORT, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}),
    "llama": ("LlamaConfig", GROUPED),
    "llama, YaRN, tied": ("LlamaConfig", {**GROUPED, "rope_parameters": YARN, "tie_word_embeddings": True}),
    "llama 3": ("LlamaConfig", {**GROUPED, "rope_parameters": LLAMA3}),
    "mistral": ("MistralConfig", {**GROUPED, "sliding_window": 8}),
    "qwen2": ("Qwen2Config", GROUPED),
    "qwen3": ("Qwen3Config", NARROW),
    "gemma2": ("Gemma2Config", {**NARROW, **SLIDING}),
    "gemma3": ("Gemma3TextConfig", {**NARROW, **SLIDING}),
    "phi3": ("Phi3Config", {**GROUPED, "sliding_window": 8}),
    "mixtral": ("MixtralConfig", {**GROUPED, "num_local_experts": 4, "num_experts_per_tok": 2}),
    "qwen2_moe": ("Qwen2MoeConfig", {**GROUPED, **EXPERTS, "num_experts": 4, "shared_expert_intermediate_size": 24}),
    "qwen3_moe": ("Qwen3MoeConfig", {**NARROW, **EXPERTS, "num_experts": 4}),
    "gpt_oss": ("GptOssConfig", {**NARROW, **SLIDING, "num_local_experts": 4, "num_experts_per_tok": 2}),
}


def model_of(kind: str) -> torch.nn.Module:
    torch.manual_seed(0)
    name, sizes = DECODERS[kind]
    if not hasattr(transformers, name):
        pytest.skip(f"this version of transformers has no {name}")
    return transformers.AutoModelForCausalLM.from_config(getattr(transformers, name)(**sizes)).eval()


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


def with_cache(model: torch.nn.Module, **options: Any) -> tuple[ort.InferenceSession, Any]:
    """One file for prompts and single tokens, any batch, any length of the cache; and an example of the cache."""
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
    session = session_of(onnxport.export(model, (), kwargs=example, dynamic_axes=axes, **options))
    assert [i.name for i in session.get_inputs()] == ["input_ids", "attention_mask", *names]
    assert len(session.get_outputs()) == 1 + len(names)
    return session, past


def empty(past: Any, n: int) -> list[np.ndarray]:
    tensors = [t for layer in past.layers for t in (layer.keys, layer.values)]
    return [np.zeros((n, t.shape[1], 0, t.shape[3]), t.detach().numpy().dtype) for t in tensors]


def step(session: ort.InferenceSession, new: torch.Tensor, state: list[np.ndarray]) -> tuple[np.ndarray, Any]:
    ones = np.ones((new.shape[0], new.shape[1] + state[0].shape[2]), np.int64)
    names = [i.name for i in session.get_inputs()]
    logits, *state = session.run(None, dict(zip(names, [new.numpy(), ones, *state])))
    return logits[:, -1], state


@pytest.mark.parametrize("kind", DECODERS)
def test_greedy_decoding_with_a_dynamic_cache(kind):
    model = model_of(kind)
    session, past = with_cache(model, opset_version=20)
    for n, length in ((1, 4), (3, 7)):
        ids = new = prompt(n, length)
        expected = greedy(model, ids, 50)
        state = empty(past, n)
        for _ in range(50):
            logits, state = step(session, new, state)
            new = torch.from_numpy(logits.argmax(-1))[:, None]
            ids = torch.cat([ids, new], 1)
        assert torch.equal(ids, expected)


@pytest.mark.parametrize("kind", ["gpt2", "llama", "mistral", "qwen3", "gemma3", "phi3", "neox"])
def test_greedy_decoding_in_half_precision(kind):
    """The same tokens, but where the two best are no further apart than rounding is."""
    model = model_of(kind).half()
    session, past = with_cache(model, opset_version=20)
    ids = greedy(model, prompt(2, 6), 50)
    with torch.no_grad():
        expected = model(input_ids=ids, use_cache=False).logits.float()
    scale = float(expected.abs().max())
    state, position, told = empty(past, 2), 0, 0
    for count in [6] + [1] * 50:
        logits, state = step(session, ids[:, position : position + count], state)
        position += count
        have, want = torch.from_numpy(logits).float(), expected[:, position - 1]
        assert float((have - want).abs().max()) < 0.01 * scale
        best = want.topk(2).values
        clear = best[:, 0] - best[:, 1] > 0.02 * scale
        assert torch.equal(have.argmax(-1)[clear], want.argmax(-1)[clear])
        told += int(clear.sum())
    assert told > 50
    assert all(t.dtype == np.float16 for t in state)


@pytest.mark.parametrize("kind", ["llama", "gemma3"])
def test_greedy_decoding_with_the_attention_operator(kind):
    model = model_of(kind)
    session, past = with_cache(model, opset_version=23)
    ids = new = prompt(2, 5)
    state = empty(past, 2)
    for _ in range(12):
        logits, state = step(session, new, state)
        new = torch.from_numpy(logits.argmax(-1))[:, None]
        ids = torch.cat([ids, new], 1)
    assert torch.equal(ids, greedy(model, prompt(2, 5), 12))


def test_padded_prompts():
    """Prompts of other lengths in one batch, padded on the left, as generation does it."""
    model = model_of("llama")
    session, past = with_cache(model)
    ids, mask = prompt(3, 6), torch.ones(3, 6, dtype=torch.long)
    for row in range(3):
        mask[row, :row] = 0
    names = [i.name for i in session.get_inputs()]
    logits, *state = session.run(None, dict(zip(names, [ids.numpy(), mask.numpy(), *empty(past, 3)])))
    with torch.no_grad():
        expected = model(input_ids=ids, attention_mask=mask).logits
    np.testing.assert_allclose(logits[:, -1], expected[:, -1].numpy(), rtol=1e-3, atol=1e-3)


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


SEQ2SEQ_SIZES = {
    "vocab_size": 100,
    "d_model": 32,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 48,
    "decoder_ffn_dim": 48,
    "max_position_embeddings": 96,
    "init_std": 0.3,
    "pad_token_id": 0,
    "bos_token_id": None,
    "eos_token_id": None,
    "forced_eos_token_id": None,
    "decoder_start_token_id": 2,
}
SEQ2SEQ: dict[str, tuple[str, dict[str, Any]]] = {
    "bart": ("BartConfig", SEQ2SEQ_SIZES),
    "m2m_100": ("M2M100Config", SEQ2SEQ_SIZES),
    "t5": ("T5Config", {"vocab_size": 100, "d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 2, "num_heads": 4,
                        "eos_token_id": None, "decoder_start_token_id": 0}),
    "whisper": ("WhisperConfig", {**SEQ2SEQ_SIZES, "num_mel_bins": 8, "max_source_positions": 20,
                                  "max_target_positions": 96}),
}  # fmt: skip


class Decoder(torch.nn.Module):
    """The decoder on top of what the encoder gave; with a cache, or making one."""

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, decoder_input_ids, hidden, attention_mask=None, past=None):
        if past is None:
            past = transformers.EncoderDecoderCache(transformers.DynamicCache(), transformers.DynamicCache())
        out = self.model(
            decoder_input_ids=decoder_input_ids,
            encoder_outputs=(hidden,),
            attention_mask=attention_mask,
            past_key_values=past,
            use_cache=True,
        )
        return out.logits, past


@pytest.mark.parametrize("kind", SEQ2SEQ)
def test_greedy_decoding_of_encoder_decoders(kind):
    """Three files: the encoder, the first step, which makes the cache, and the further steps, which grow it."""
    torch.manual_seed(0)
    name, sizes = SEQ2SEQ[kind]
    speech = kind == "whisper"
    auto = transformers.AutoModelForSpeechSeq2Seq if speech else transformers.AutoModelForSeq2SeqLM
    model = auto.from_config(getattr(transformers, name)(**sizes)).eval()
    encoder, decoder = model.get_encoder(), Decoder(model)
    frames = {} if speech else {1: "source"}

    def source(n: int, length: int) -> dict[str, torch.Tensor]:
        if speech:
            return {"input_features": torch.randn(n, 8, 40, generator=torch.Generator().manual_seed(n))}
        mask = torch.ones(n, length, dtype=torch.long)
        mask[1:, -1] = 0
        return {"input_ids": prompt(n, length), "attention_mask": mask}

    given = source(2, 6)
    masked = {k: v for k, v in given.items() if k == "attention_mask"}
    with torch.no_grad():
        hidden = encoder(**given).last_hidden_state
        _, past = decoder(prompt(2, 5), hidden, **masked)
    axes = {name: {0: "batch", **frames} for name in (*given, "hidden")} | {"decoder_input_ids": {0: "batch", 1: "new"}}
    first_example = {"decoder_input_ids": prompt(2, 3), "hidden": hidden, **masked}
    caches = {"self_attention_cache": {2: "past"}, "cross_attention_cache": {2: "source"} if frames else {}}
    for cache, length in caches.items():
        for layer in range(2):
            axes |= {f"past.{cache}.{layer}.{part}": {0: "batch", **length} for part in ("key", "value")}

    def export(what: torch.nn.Module, example: dict[str, Any]) -> ort.InferenceSession:
        names = {k: v for k, v in axes.items() if k.partition(".")[0] in example}
        return session_of(onnxport.export(what, (), kwargs=example, dynamic_axes=names))

    encode, first = export(encoder, given), export(decoder, first_example)
    further = export(decoder, {**first_example, "past": past})
    names = [i.name for i in further.get_inputs()]
    assert "past.self_attention_cache.0.key" in names and "past.cross_attention_cache.1.value" in names

    def arrays(tensors: dict[str, torch.Tensor]) -> dict[str, np.ndarray]:
        return {k: v.numpy() for k, v in tensors.items()}

    for n, length in ((1, 4), (3, 9)):
        given = source(n, length)
        mask = {k: v for k, v in given.items() if k == "attention_mask"}
        ids = new = prompt(n, 3)
        expected = ids
        with torch.no_grad():
            for _ in range(50):
                logits = model(**given, decoder_input_ids=expected, use_cache=False).logits
                expected = torch.cat([expected, logits[:, -1].argmax(-1, keepdim=True)], 1)
        feeds = {"hidden": encode.run(None, arrays(given))[0], **arrays(mask)}
        logits, *state = first.run(None, {"decoder_input_ids": new.numpy(), **feeds})
        past_names = [n for n in names if n.startswith("past.")]
        start = {name: t[:, :, :0] if "self" in name else t for name, t in zip(past_names, state)}
        every = {"decoder_input_ids": new.numpy(), **feeds, **start}
        again, *_ = further.run(None, {k: v for k, v in every.items() if k in names})
        np.testing.assert_allclose(again, logits, rtol=1e-3, atol=1e-4)  # the further file can do the first step, too
        for _ in range(50):
            new = torch.from_numpy(logits[:, -1].argmax(-1))[:, None]
            ids = torch.cat([ids, new], 1)
            every = {"decoder_input_ids": new.numpy(), **feeds, **dict(zip(past_names, state))}
            logits, *state = further.run(None, {k: v for k, v in every.items() if k in names})
        assert torch.equal(ids, expected)


@pytest.mark.parametrize("kind", ["mistral", "gemma3"])
@pytest.mark.filterwarnings("ignore::onnxport.errors.OnnxExporterWarning")  # of what is so as long as windows are full
def test_full_windows_are_a_state(kind):
    """A cache that cuts off what is out of its windows, and counts the tokens in a tensor."""
    model = model_of(kind)

    def windows(ids: torch.Tensor) -> Any:
        cache = transformers.DynamicCache(config=model.config)
        with torch.no_grad():
            model(input_ids=ids, past_key_values=cache, use_cache=True)
        for layer in cache.layers:
            if hasattr(layer, "cumulative_length"):
                layer.cumulative_length = torch.tensor(layer.cumulative_length)
        return cache

    def tensors(cache: Any) -> dict[str, torch.Tensor]:
        parts = (("key", "keys"), ("value", "values"), ("cumulative_length", "cumulative_length"))
        found = {(i, p): getattr(layer, a, None) for i, layer in enumerate(cache.layers) for p, a in parts}
        return {f"past_key_values.{i}.{part}": t for (i, part), t in found.items() if t is not None}

    past = windows(prompt(2, 12))
    if not any(name.endswith("cumulative_length") for name in tensors(past)):
        pytest.skip("this version of transformers has no windows that count")
    example = {
        "input_ids": prompt(2, 3),
        "attention_mask": torch.ones(2, 15, dtype=torch.long),
        "past_key_values": past,
    }
    axes = {"input_ids": {0: "batch", 1: "new"}, "attention_mask": {0: "batch", 1: "total"}}
    for name, t in tensors(past).items():
        if t.dim():  # windows keep their size
            axes[name] = {0: "batch", 2: "past"} if t.shape[2] == 12 else {0: "batch"}
    session = session_of(onnxport.export(model, (), kwargs={**example, "use_cache": True}, dynamic_axes=axes))
    ids = prompt(3, 15)
    state = [t.numpy() for t in tensors(windows(ids[:, :-1])).values()]
    names = [i.name for i in session.get_inputs()]
    expected = greedy(model, ids, 12)
    for _ in range(12):
        seen = np.ones((3, ids.shape[1]), np.int64)
        logits, *state = session.run(None, dict(zip(names, [ids[:, -1:].numpy(), seen, *state])))
        ids = torch.cat([ids, torch.from_numpy(logits[:, -1:].argmax(-1))], 1)
    assert torch.equal(ids, expected)
