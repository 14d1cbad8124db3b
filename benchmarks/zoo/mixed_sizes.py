"""Sizes of small models of images and text, where what they are called isn't enough to know them (see `small.py`)."""

from __future__ import annotations

from typing import Any

CHAMELEON = {"base_channels": 32, "channel_multiplier": [1, 1, 1, 1], "num_res_blocks": 1}
SAM = {"sam_config": {"downsample_channels": [16, 32], "global_attn_indexes": [0, 1]}}
ROPE = {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [1, 1, 2]}
MIXED: dict[str, dict[str, Any]] = {
    "align": {"projection_dim": 640},
    "aria": {"projector_patch_to_query_dict": {16: 4}},
    "chameleon": {
        "vocabulary_map": {"<image>": 99, **{f"IMGIMG{letter}Z": 60 + i for i, letter in enumerate("ABCDEFGHIJ")}},
        "vq_config": {"num_embeddings": 10, **CHAMELEON},
    },
    "cohere_compass": {"text_config": {"rope_parameters": {"full_attention": ROPE, "sliding_attention": ROPE}}},
    "deepseek_ocr2": {"text_config": {"mlp_layer_types": ["dense", "sparse"]}, "vision_config": SAM},
    "deepseek_vl_hybrid": {"high_res_vision_config": {"image_size": 64, "global_attn_indexes": [0, 1]}},
    "diffusion_gemma": {"text_config": {"num_experts": 4, "top_k_experts": 2, "moe_intermediate_size": 24}},
    "emu3": {
        "vocabulary_map": {
            "<image>": 99,
            "<|extra_200|>": 80,
            **{f"<|visual token {i:06d}|>": 60 + i for i in range(10)},
        },
        "vq_config": {"codebook_size": 10, **CHAMELEON},
    },
    "fast_vlm": {"vision_config": {"hidden_size": 3072}},
    "gemma3n": {"vision_config": {"hidden_size": 2048}},
    "gemma4_unified": {"vision_config": {"patch_size": 8, "pooling_kernel_size": 1, "model_patch_size": 8}},
    "granite4_vision": {
        "deepstack_layer_map": [[0, 0]],
        "spatial_target_layers": [1],
        "downsample_rate": "1/2",
        "image_grid_pinpoints": [[32, 32]],
        "qformer_config": {"num_attention_heads": 4},
    },
    "hunyuan_vl": {"text_config": {"head_dim": 8}},
    "instructblipvideo": {"video_token_index": 99},
    "kimi_k25": {"projection_hidden_size": 32},
    "llama4": {
        "vision_config": {
            "intermediate_size": 128,
            "vision_output_dim": 32,
            "projector_input_dim": 32,
            "projector_output_dim": 32,
        },
    },
    "minimax_m3_vl": {"projector_hidden_size": 32, "merged_hidden_size": 128},
    "mistral4": {"head_dim": 16},
    "mllama": {"vision_config": {"attention_heads": 4, "intermediate_layers_indices": [0], "vision_output_dim": 64}},
    "molmo2": {"adapter_config": {"vision_feature_layer": [0, 1]}},
    **{kind: {"out_hidden_size": 128, "projector_hidden_size": 32} for kind in ("muse_glimmer", "muse_spark")},
    "pix2struct": {"vision_config": {"patch_embed_hidden_size": 192}},
    "siglip": {"text_config": {"projection_size": 32}},
    "siglip2": {"text_config": {"projection_size": 32}, "vision_config": {"num_patches": 16}},
    "step3p7": {"text_config": {"sliding_window": 4}},
    "unlimited_ocr": {"vision_config": SAM},
    **{kind: {"image_grid_pinpoints": [[32, 32]]} for kind in ("llava_next", "llava_next_video", "llava_onevision")},
}
