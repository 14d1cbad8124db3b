"""Language models of transformers: every architecture of its tables that builds small."""

from __future__ import annotations

from typing import Any

import torch

from entry import Zoo, add, mask, tokens
from small import shrink

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
        "axial_pos_shape": [4, 4],
        "axial_pos_embds_dim": [8, 24],
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
    "mpnet": {"pad_token_id": 1, "max_position_embeddings": 80},
    "xmod": {"default_language": "en_XX"},
    "rwkv": {"attention_hidden_size": 32},
    "bert-generation": {"is_decoder": True},
}
VERY_SLOW: set[str] = set()


def made(kind: str, auto: str, **changes: Any) -> torch.nn.Module:
    import transformers

    config = shrink(transformers.AutoConfig.for_model(kind), {**CHANGES.get(kind, {}), **changes})
    return getattr(transformers, auto).from_config(config)


def texts(n: int, length: int) -> dict[str, Any]:
    return {"input_ids": tokens(n, length), "attention_mask": mask(n, length)}


def encoder(kind: str, auto: str) -> Zoo:
    model = made(kind, auto)
    return Zoo(model, texts(2, 12), texts(3, 8))


def decoder(kind: str) -> Zoo:
    return Zoo(made(kind, "AutoModelForCausalLM"), texts(2, 12), texts(3, 8))


def with_cache(kind: str) -> Zoo:
    """The first tokens, and the cache they leave; then further ones on top of it, in the same file."""
    import copy

    from transformers import DynamicCache

    model = made(kind, "AutoModelForCausalLM", use_cache=True).eval()

    def step(n: int, past: int, new: int) -> dict[str, Any]:
        first = {"input_ids": tokens(n, past), "use_cache": True}
        with torch.no_grad():
            try:  # a cache that only grows: those with windows count in Python numbers
                cache = model(**first, past_key_values=DynamicCache()).past_key_values
            except Exception:  # layers that keep other states
                cache = model(**first).past_key_values
        return {
            "input_ids": tokens(n, new),
            "attention_mask": torch.ones(n, past + new, dtype=torch.long),
            "past_key_values": copy.deepcopy(cache),
            "use_cache": True,
        }

    return Zoo(model, step(2, 5, 3), step(3, 9, 4))


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
            add(f"{kind} cached", "text decoders with cache", lambda kind=kind: with_cache(kind))
    for kind in sequences:
        add(f"{kind} seq2seq", "text encoder-decoders", lambda kind=kind: seq2seq(kind))
    for kind in auto.MODEL_FOR_TEXT_ENCODING_MAPPING_NAMES:
        add(f"{kind} text", "text encoders", lambda kind=kind: encoder(kind, "AutoModelForTextEncoding"))
    for kind in auto.MODEL_FOR_TOKEN_CLASSIFICATION_MAPPING_NAMES:
        if kind in encoders:
            add(f"{kind} tokens", "text heads", lambda kind=kind: encoder(kind, "AutoModelForTokenClassification"))
    for kind in auto.MODEL_FOR_QUESTION_ANSWERING_MAPPING_NAMES:
        if kind in encoders:
            add(f"{kind} answers", "text heads", lambda kind=kind: encoder(kind, "AutoModelForQuestionAnswering"))


fill()
