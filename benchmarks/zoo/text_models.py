"""Language models of transformers: every architecture of its tables that builds small."""

from __future__ import annotations

from typing import Any

import torch

from entry import Zoo, add, first_that_runs, mask, tokens
from small import made_small, shrink

QUERIES = {
    "indexer_n_heads": 16,
    "indexer_kv_heads": 1,
    "indexer_head_dim": 8,
    "indexer_budget": 4,
    "indexer_compress_ratio": 2,
}
# What the general rules of `small.shrink` don't settle.
CHANGES: dict[str, dict[str, Any]] = {
    "gpt_neo": {
        "num_layers": 2,
        "attention_types": [[["global", "local"], 1]],
        "attention_layers": ["global", "local"],
    },
    "deberta-v2": {
        "relative_attention": True,
        "pos_att_type": ["p2c", "c2p"],
        "position_buckets": 16,
        "share_att_key": True,
        "norm_rel_ebd": "layer_norm",
    },
    "deberta": {"relative_attention": True, "pos_att_type": ["p2c", "c2p"], "max_relative_positions": 16},
    "reformer": {
        "attn_layers": ["local", "local"],
        "axial_pos_shape": (4, 4),
        "axial_pos_embds_dim": (8, 24),
        "attention_head_size": 8,
        "feed_forward_size": 48,
        "is_decoder": True,
        "local_attn_chunk_length": 4,
    },
    "funnel": {"block_sizes": [1, 1], "block_repeats": [1, 1], "num_decoder_layers": 1},
    "mobilebert": {"intra_bottleneck_size": 32, "true_hidden_size": 32},
    "convbert": {"head_ratio": 2},
    "big_bird": {"attention_type": "original_full"},
    "bigbird_pegasus": {"attention_type": "original_full"},
    "perceiver": {
        "num_latents": 8,
        "d_latents": 32,
        "num_blocks": 1,
        "num_self_attends_per_block": 2,
        "num_self_attention_heads": 4,
        "num_cross_attention_heads": 4,
    },
    "esm": {"pad_token_id": 1, "mask_token_id": 4, "position_embedding_type": "rotary", "emb_layer_norm_before": True},
    "esmc": {"num_key_value_heads": 4},
    "mpnet": {"pad_token_id": 1, "max_position_embeddings": 80, "relative_attention_num_buckets": 32},
    "xmod": {"default_language": "en_XX"},
    "rwkv": {"attention_hidden_size": 32},
    "bert-generation": {"is_decoder": True},
    "bamba": {"attn_layer_indices": [1]},
    "dbrx": {
        "attn_config": {"kv_n_heads": 2, "clip_qkv": 8.0, "rope_theta": 10000.0},
        "ffn_config": {"ffn_hidden_size": 48, "moe_num_experts": 4, "moe_top_k": 2},
    },
    "deepseek_v2": {"num_experts_per_tok": 2},
    "gemma4_assistant": {"text_config": {"hidden_size_per_layer_input": 0}},
    "gemma4_unified_assistant": {"text_config": {"hidden_size_per_layer_input": 0}},
    "granitemoehybrid": {"layer_types": ["linear_attention", "full_attention"]},
    "jamba": {"attn_layer_period": 2, "attn_layer_offset": 1, "expert_layer_period": 2, "expert_layer_offset": 1},
    "lfm2_moe": {"layer_types": ["conv", "full_attention"], "num_dense_layers": 1},
    "mamba2": {"num_heads": 8, "head_dim": 8, "n_groups": 2},
    "qwen4_exp_text": QUERIES,
    "qwen4_exp": {"text_config": QUERIES},
    "cohere_compass_text": {"rope_parameters": {"full_attention": {"rope_type": "default", "rope_theta": 10000.0}}},
    "neomme": {"head_dim": 16},
    "zamba": {"attention_hidden_size": None, "attention_head_dim": None, "num_key_value_heads": 4},
    "zamba2": {
        "num_key_value_heads": 4,
        "num_hidden_layers": 3,
        "layers_block_type": ["linear_attention", "hybrid", "linear_attention"],
    },
}
NO_ENCODERS = {"t5gemma"}  # with a decoder alone, or both
NO_CACHES = {"openai-gpt"}
# Classes that compute values from others when they are made.
COMPUTED = {
    "cohere_compass_text", "dbrx", "dots1", "dots3_note", "dots3_note_text", "gemma4", "gemma4_text", "gemma4_unified",
    "gemma4_unified_text", "gemma4_assistant", "gemma4_unified_assistant", "hunyuan_v1_dense", "hunyuan_v1_moe",
    "lfm2_moe", "ministral", "nemotron", "neomme", "qwen4_exp", "qwen4_exp_text", "mamba2", "zamba", "zamba2", "xlstm", "esm",
    "blt", "jamba", "bamba", "granitemoehybrid", "deepseek_v2", "t5gemma", "esmc",
}  # fmt: skip


def made(kind: str, auto: str, **changes: Any) -> torch.nn.Module:
    import transformers

    changes = {**CHANGES.get(kind, {}), **changes}
    default = transformers.AutoConfig.for_model(kind)
    config = made_small(type(default), changes) if kind in COMPUTED else shrink(default, changes)
    part = getattr(config, "decoder", None)
    if auto == "AutoModelForCausalLM" and isinstance(part, transformers.PretrainedConfig):
        return transformers.MODEL_FOR_CAUSAL_LM_MAPPING[type(config)](part)
    return getattr(transformers, auto).from_config(config)


def texts(n: int, length: int) -> dict[str, Any]:
    return {"input_ids": tokens(n, length), "attention_mask": mask(n, length)}


def encoder(kind: str, auto: str) -> Zoo:
    changes = {"is_decoder": False} if kind == "reformer" else {}
    model = made(kind, auto, **changes)
    if kind == "longformer" and auto == "AutoModelForQuestionAnswering":
        return Zoo(model, with_ends(texts(2, 12)), with_ends(texts(3, 8)))
    return Zoo(model, texts(2, 12), texts(3, 8))


def with_ends(arguments: dict[str, Any]) -> dict[str, Any]:
    """A question, a separator, and others around its answers."""
    arguments["input_ids"][:, [2, 3, 5]] = 2
    return arguments


def decoder(kind: str) -> Zoo:
    model = made(kind, "AutoModelForCausalLM")
    rows = getattr(model.config, "num_codebooks", 1)  # of codes, for each text

    def arguments(n: int, length: int) -> dict[str, Any]:
        return {"input_ids": tokens(n * rows, length), "attention_mask": mask(n, length)}

    return Zoo(model, arguments(2, 12), arguments(3, 8))


def with_cache(kind: str) -> Zoo:
    """The first tokens, and the cache they leave; then further ones on top of it, in the same file."""
    import copy

    from transformers import DynamicCache

    model = made(kind, "AutoModelForCausalLM", use_cache=True).eval()
    rows = getattr(model.config, "num_codebooks", 1)

    def step(n: int, past: int, new: int, seen: bool) -> dict[str, Any]:
        first = {"input_ids": tokens(n * rows, past), "use_cache": True}
        with torch.no_grad():
            try:  # a cache that only grows: those with windows count in Python numbers
                result = model(**first, past_key_values=DynamicCache())
            except Exception:  # layers that keep other states
                result = model(**first)
        name = next(name for name in STATES if name in result)
        return {
            "input_ids": tokens(n * rows, new),
            **({"attention_mask": torch.ones(n, past + new, dtype=torch.long)} if seen else {}),
            name: copy.deepcopy(getattr(result, name)),
            "use_cache": True,
        }

    pairs = [(step(2, 5, 3, seen), step(3, 9, 4, seen)) for seen in (True, False)]
    return Zoo(model, *first_that_runs(model, *pairs, (step(2, 5, 1, False), step(3, 9, 1, False))))


STATES = ("cache", "state", "mems")  # as results call what the next step needs


def seq2seq(kind: str) -> Zoo:
    def arguments(n: int, source: int, target: int) -> dict[str, Any]:
        return {**texts(n, source), "decoder_input_ids": tokens(n, target)}

    return Zoo(made(kind, "AutoModelForSeq2SeqLM"), arguments(2, 12, 6), arguments(3, 8, 9))


def fill() -> None:
    from transformers.models.auto import modeling_auto as auto

    causal = list(auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES)
    masked = list(auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES)
    sequences = list(auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES)
    for kind in masked:
        add(f"{kind} masked", "text encoders", lambda kind=kind: encoder(kind, "AutoModelForMaskedLM"))
    encoders = set(masked)
    for kind in causal:
        if kind not in encoders:
            add(f"{kind} causal", "text decoders", lambda kind=kind: decoder(kind))
            if kind not in NO_CACHES:
                add(f"{kind} cached", "text decoders with cache", lambda kind=kind: with_cache(kind))
    for kind in sequences:
        add(f"{kind} seq2seq", "text encoder-decoders", lambda kind=kind: seq2seq(kind))
    for kind in sorted(set(auto.MODEL_FOR_TEXT_ENCODING_MAPPING_NAMES) - NO_ENCODERS):
        add(f"{kind} text", "text encoders", lambda kind=kind: encoder(kind, "AutoModelForTextEncoding"))
    for kind in auto.MODEL_FOR_TOKEN_CLASSIFICATION_MAPPING_NAMES:
        if kind in encoders:
            add(f"{kind} tokens", "text heads", lambda kind=kind: encoder(kind, "AutoModelForTokenClassification"))
    for kind in auto.MODEL_FOR_QUESTION_ANSWERING_MAPPING_NAMES:
        if kind in encoders:
            add(f"{kind} answers", "text heads", lambda kind=kind: encoder(kind, "AutoModelForQuestionAnswering"))


fill()
