"""Small configurations of transformers: any architecture with few layers and narrow ones."""

from __future__ import annotations

import dataclasses
from typing import Any

# What the attributes of a configuration mean is in their names, over all of the library.
SMALL: dict[str, Any] = {
    "vocab_size": 100,
    "hidden_size": 32,
    "d_model": 32,
    "n_embd": 32,
    "dim": 32,
    "embed_dim": 32,
    "n_embed": 32,
    "num_hidden_layers": 2,
    "n_layer": 2,
    "n_layers": 2,
    "num_layers": 2,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "num_decoder_layers": 2,
    "num_encoder_layers": 2,
    "encoder_num_hidden_layers": 2,
    "decoder_num_hidden_layers": 2,
    "num_attention_heads": 4,
    "n_head": 4,
    "n_heads": 4,
    "num_heads": 4,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_num_attention_heads": 4,
    "decoder_num_attention_heads": 4,
    "num_key_value_heads": 2,
    "encoder_num_key_value_heads": 4,
    "decoder_num_key_value_heads": 4,
    "num_kv_heads": 2,
    "head_dim": 8,
    "d_kv": 8,
    "intermediate_size": 48,
    "ffn_dim": 48,
    "d_ff": 48,
    "d_inner": 48,
    "n_inner": 48,
    "encoder_ffn_dim": 48,
    "decoder_ffn_dim": 48,
    "moe_intermediate_size": 24,
    "shared_expert_intermediate_size": 40,
    "max_position_embeddings": 64,
    "n_positions": 64,
    "max_seq_len": 64,
    "max_target_positions": 64,
    "max_source_positions": 64,
    "num_experts": 4,
    "num_local_experts": 4,
    "n_routed_experts": 4,
    "moe_num_experts": 4,
    "num_experts_per_tok": 2,
    "moe_k": 2,
    "n_shared_experts": 1,
    "moe_topk": 2,
    "n_group": 1,
    "topk_group": 1,
    "first_k_dense_replace": 1,
    "state_size": 8,
    "time_step_rank": 4,
    "conv_kernel": 4,
    "sliding_window": 4,
    "kv_lora_rank": 16,
    "q_lora_rank": 16,
    "qk_rope_head_dim": 8,
    "qk_nope_head_dim": 8,
    "v_head_dim": 8,
    "qk_head_dim": 16,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "decoder_start_token_id": 1,
    "forced_eos_token_id": 2,
    "image_size": 32,
    "patch_size": 8,
    "projection_dim": 16,
    "rotary_dim": 8,
    "relative_attention_num_buckets": 8,
    "relative_attention_max_distance": 16,
    "embedding_size": 32,
    "mlp_dim": 48,
    "use_mamba_kernels": False,
    "use_cache": False,
    "attention_window": 4,
    "num_mel_bins": 16,
    "hidden_dim": 48,
    "num_labels": 3,
    "emb_dim": 32,
    "lru_width": 32,
    "attention_hidden_size": 32,
    "word_embed_proj_dim": 32,
    "num_pos_feats": 8,
    "output_dim": 32,
    "type_vocab_size": 2,
    "moe_layer_start_index": 1,
    "hidden_size_per_layer_input": 8,
    "vocab_size_per_layer_input": 100,
    "num_kv_shared_layers": 0,
    "laurel_rank": 4,
    "altup_num_inputs": 2,
    "mamba_d_state": 8,
    "mamba_n_heads": 8,
    "mamba_d_head": 8,
    "mamba_n_groups": 1,
    "mamba_chunk_size": 4,
    "mamba_d_ssm": 64,
    "mamba_num_heads": 8,
    "mamba_head_dim": 8,
    "ssm_state_size": 8,
    "chunk_size": 4,
    "num_mem_heads": 4,
    "linear_head_dim": 8,
    "linear_num_heads": 4,
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
    "linear_key_head_dim": 8,
    "linear_value_head_dim": 8,
    "rope_theta": 10000.0,
    "hidden_act_dim": 8,
    "num_query_groups": 2,
    "multi_query_group_num": 2,
    "ffn_hidden_size": 48,
    "kv_channels": 8,
    "moe_num_shared_experts": 1,
    "encoder_layerdrop": 0.0,
    "decoder_layerdrop": 0.0,
    "tie_word_embeddings": False,
    "axial_norm_std": 1.0,
    "expert_ffn_hidden_size": 24,
    "zero_expert_num": 1,
    "layerdrop": 0.0,
    "index_n_heads": 16,  # scores of 0, all heads silent, would be ties
    "index_head_dim": 8,
    "index_topk": 4,
    "num_global_layers": 1,
    "global_head_dim": 8,
    "num_global_key_value_heads": 2,
    "depth": 2,
    "context_length": 16,
    "prediction_length": 4,
    "patch_length": 4,
    "patch_stride": 4,
    "num_input_channels": 2,
    "depths": [1, 1, 1, 1],
    "hidden_sizes": [8, 16, 16, 32],
    "encoder_hidden_dim": 32,
    "neck_hidden_sizes": None,
    "num_queries": 7,
    "encoder_hidden_size": 32,
    "hidden_size_global": 32,
    "decoder_hidden_size": 32,
    "out_hidden_size": 32,
    "num_conv_pos_embeddings": 16,
    "num_conv_pos_embedding_groups": 4,
}
ODD = {"neck_hidden_sizes"}


def shrink(config: Any, changes: dict[str, Any] | None = None) -> Any:
    """The configuration with small sizes wherever it has attributes known here, in its parts too."""
    from transformers import PretrainedConfig

    changes = changes or {}
    for name in list(vars(config)):
        value = _value(config, name)
        if isinstance(value, PretrainedConfig):
            shrink(value, changes.get(name))
    renamed = set(getattr(config, "attribute_map", {}))
    known = {
        **{k: v for k, v in SMALL.items() if k not in ODD},
        **{k: v for k, v in changes.items() if not isinstance(_value(config, k), PretrainedConfig)},
    }
    layers = None
    for name, small in known.items():
        present = name in vars(config) or name in renamed
        forced = name in changes
        if not (present or forced):
            continue
        old = _value(config, name)
        fits = (
            old is not None
            and type(old) in (type(small), int, float)
            and isinstance(old, list) == isinstance(small, list)
        )
        if isinstance(old, bool) != isinstance(small, bool) and not forced:
            continue
        if forced or fits or (name.endswith("token_id") and not isinstance(old, (list, bool))):
            if name in ("num_key_value_heads", "head_dim") and old is None and not forced:
                continue
            try:
                setattr(config, name, small)
            except Exception:  # a property, or a checked combination
                continue
    if "num_key_value_heads" in vars(config) and "num_key_value_heads" not in changes and config.num_key_value_heads:
        # keys of latent attention are made for each head
        config.num_key_value_heads = SMALL[
            "num_attention_heads" if "kv_lora_rank" in vars(config) else "num_key_value_heads"
        ]
    layers = getattr(config, "num_hidden_layers", None)
    for name in (
        "layer_types",
        "mlp_layer_types",
        "layers_block_type",
        "no_rope_layers",
        "block_types",
        "mlp_only_layers",
    ):
        kinds = getattr(config, name, None)
        if isinstance(kinds, list) and name not in changes and isinstance(layers, int) and len(kinds) > layers:
            different = list(dict.fromkeys(kinds))
            try:
                setattr(config, name, (different * layers)[:layers])
            except Exception:
                continue
    return config


def made_small(kind: type[Any], changes: dict[str, Any] | None = None) -> Any:
    """A configuration that is small from the begin, for classes that compute some of their values from others."""
    from transformers import PretrainedConfig

    changes = changes or {}
    default = kind()
    names = {field.name: _value(default, field.name) for field in dataclasses.fields(kind)}
    given: dict[str, Any] = {}
    for name, value in names.items():
        if isinstance(value, PretrainedConfig):
            part = made_small(type(value), changes.get(name)).to_dict()
            given[name] = {**part, "model_type": value.model_type}
    for name, small in SMALL.items():
        field = default.attribute_map.get(name, name)
        value = names.get(field)
        known = field in names and (value is None or type(value) in (type(small), int, float))
        if known and isinstance(value, bool) == isinstance(small, bool) and name not in ODD:
            given[field] = small
    if "kv_lora_rank" in names and "num_key_value_heads" in given:
        given["num_key_value_heads"] = SMALL["num_attention_heads"]
    types = default.attribute_map.get("layer_types", "layer_types")
    kinds = [*dict.fromkeys(_value(default, types) or [])]
    if len(kinds) > 1 and types in names:
        given |= {types: kinds, default.attribute_map.get("num_hidden_layers", "num_hidden_layers"): len(kinds)}
    given |= {name: value for name, value in changes.items() if not (isinstance(value, dict) and name in given)}
    return kind(**given)


def _value(config: Any, name: str) -> Any:
    try:
        return getattr(config, name, None)
    except RuntimeError:  # what differs from layer to layer
        return config.to_dict().get(name)
