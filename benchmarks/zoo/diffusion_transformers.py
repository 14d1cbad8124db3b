"""Models of diffusers for images, videos and sound, made of transformers and of convolutions in three dimensions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from entry import Zoo, add, normal

FAMILY = "diffusion transformers"


def times(n: int) -> torch.Tensor:
    return torch.tensor([301.0, 57.0, 890.0])[:n]


def transformer(cls: str, options: dict[str, Any], arguments: Callable[..., dict[str, Any]], *sizes: Any) -> None:
    def build() -> Zoo:
        import diffusers

        sets = [arguments(*size) for size in sizes]
        return Zoo(getattr(diffusers, cls)(**options), sets[0], sets[1], further=sets[2:], rtol=2e-3)

    add(cls, FAMILY, build)


class Coded(nn.Module):
    """One half of an autoencoder."""

    def __init__(self, model: Any, way: str) -> None:
        super().__init__()
        self.model, self.way = model, way

    def forward(self, x: torch.Tensor) -> Any:
        if self.way == "decoded":
            return self.model.decode(x, return_dict=False)[0]
        return self.model.encode(x, return_dict=False)[0].mode()


def autoencoder(cls: str, options: dict[str, Any], latent: tuple[Any, ...], pixels: tuple[Any, ...]) -> None:
    """`latent` and `pixels` are three shapes each."""

    def build(way: str, shapes: tuple[Any, ...]) -> Zoo:
        import diffusers

        sets = [{"x": normal(*shape)} for shape in shapes]
        model = Coded(getattr(diffusers, cls)(**options), way)
        return Zoo(model, sets[0], sets[1], further=sets[2:], rtol=2e-3)

    for way, shapes in (("decoded", latent), ("encoded", pixels)):
        add(f"{cls} {way}", FAMILY, lambda way=way, shapes=shapes: build(way, shapes))


HEADS = {"num_attention_heads": 2, "attention_head_dim": 16}
PLANE = ((2, 8, 12, 7), (1, 12, 10, 9), (3, 6, 10, 5))  # batch, height, width, length of the text
VOLUME = ((2, 3, 8, 12, 7), (1, 5, 12, 8, 9), (3, 2, 6, 10, 5))


def text(n: int, length: int, size: int = 32) -> dict[str, Any]:
    return {"encoder_hidden_states": normal(n, length, size), "timestep": times(n)}


def plane(n: int, h: int, w: int, length: int, channels: int = 4) -> dict[str, Any]:
    return {"hidden_states": normal(n, channels, h, w), **text(n, length)}


def volume(n: int, frames: int, h: int, w: int, length: int) -> dict[str, Any]:
    return {"hidden_states": normal(n, 4, frames, h, w), **text(n, length)}


def seen(n: int, length: int) -> torch.Tensor:
    result = torch.ones(n, length, dtype=torch.bool)
    result[-1, -2:] = False
    return result


def places(height: int, width: int) -> torch.Tensor:
    rows, columns = torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")
    return torch.stack([torch.zeros_like(rows), rows, columns], -1).reshape(-1, 3).float()


def in_one_row(n: int, h: int, w: int, length: int, channels: int = 16) -> dict[str, Any]:
    return {
        "hidden_states": normal(n, h * w, channels), **text(n, length), "img_ids": places(h, w),
        "txt_ids": torch.zeros(length, 3),
    }  # fmt: skip


def fill() -> None:
    transformer(
        "AuraFlowTransformer2DModel",
        {**HEADS, "sample_size": 16, "num_mmdit_layers": 1, "num_single_dit_layers": 1, "joint_attention_dim": 32,
         "caption_projection_dim": 32, "pos_embed_max_size": 256},
        plane, *PLANE,
    )  # fmt: skip
    transformer(
        "ChromaTransformer2DModel",
        {**HEADS, "in_channels": 16, "num_layers": 1, "num_single_layers": 1, "joint_attention_dim": 32,
         "axes_dims_rope": (4, 6, 6), "approximator_num_channels": 16, "approximator_hidden_dim": 32, "approximator_layers": 1},
        in_one_row, *PLANE,
    )  # fmt: skip
    transformer(
        "CogVideoXTransformer3DModel",
        {**HEADS, "in_channels": 4, "out_channels": 4, "time_embed_dim": 8, "text_embed_dim": 32, "num_layers": 2,
         "sample_width": 8, "sample_height": 8, "sample_frames": 9, "max_text_seq_length": 7},
        lambda n, f, h, w, length: {**volume(n, f, h, w, 7), "hidden_states": normal(n, f, 4, h, w)}, *VOLUME,
    )  # fmt: skip
    transformer(
        "CogView4Transformer2DModel",
        {**HEADS, "in_channels": 4, "out_channels": 4, "num_layers": 2, "text_embed_dim": 32, "time_embed_dim": 8,
         "condition_dim": 4, "pos_embed_max_size": 32, "sample_size": 16, "rope_axes_dim": (8, 8)},
        lambda n, h, w, length: {
            **plane(n, h, w, length), "original_size": torch.tensor([[64.0, 96.0]] * n),
            "target_size": torch.tensor([[64.0, 96.0]] * n), "crop_coords": torch.zeros(n, 2),
        },
        *PLANE,
    )  # fmt: skip
    transformer(
        "HunyuanVideoTransformer3DModel",
        {**HEADS, "in_channels": 4, "out_channels": 4, "num_layers": 1, "num_single_layers": 1, "num_refiner_layers": 1,
         "text_embed_dim": 32, "pooled_projection_dim": 8, "rope_axes_dim": (4, 6, 6)},
        lambda n, f, h, w, length: {
            **volume(n, f, h, w, length), "encoder_attention_mask": seen(n, length), "pooled_projections": normal(n, 8),
            "guidance": times(n),
        },
        *VOLUME,
    )  # fmt: skip
    transformer(
        "LatteTransformer3DModel",
        {**HEADS, "in_channels": 4, "out_channels": 8, "num_layers": 1, "cross_attention_dim": 32, "attention_bias": True,
         "sample_size": 8, "patch_size": 2, "norm_type": "ada_norm_single", "norm_elementwise_affine": False,
         "caption_channels": 32, "video_length": 3, "num_embeds_ada_norm": 1000, "activation_fn": "gelu-approximate"},
        lambda n, f, h, w, length: {**volume(n, 3, 8, 8, length), "timestep": times(n)}, *VOLUME,
    )  # fmt: skip
    transformer(
        "Lumina2Transformer2DModel",
        {"in_channels": 4, "hidden_size": 32, "num_layers": 2, "num_refiner_layers": 1, "num_attention_heads": 2,
         "num_kv_heads": 1, "multiple_of": 8, "axes_dim_rope": (4, 6, 6), "axes_lens": (64, 64, 64), "cap_feat_dim": 32,
         "sample_size": 16},
        lambda n, h, w, length: {**plane(n, h, w, length), "encoder_attention_mask": seen(n, length)}, *PLANE,
    )  # fmt: skip
    transformer(
        "MochiTransformer3DModel",
        {**HEADS, "num_layers": 2, "pooled_projection_dim": 8, "in_channels": 4, "text_embed_dim": 32, "time_embed_dim": 8,
         "max_sequence_length": 16},
        lambda n, f, h, w, length: {**volume(n, f, h, w, length), "encoder_attention_mask": seen(n, length)}, *VOLUME,
    )  # fmt: skip
    transformer(
        "SanaTransformer2DModel",
        {**HEADS, "in_channels": 4, "out_channels": 4, "num_layers": 2, "num_cross_attention_heads": 2,
         "cross_attention_head_dim": 16, "cross_attention_dim": 32, "caption_channels": 32, "sample_size": 16},
        plane, *PLANE,
    )  # fmt: skip
    transformer(
        "WanTransformer3DModel",
        {**HEADS, "in_channels": 4, "out_channels": 4, "text_dim": 32, "freq_dim": 16, "ffn_dim": 48, "num_layers": 2,
         "rope_max_seq_len": 32},
        lambda *size: {**volume(*size), "timestep": times(size[0]).long()}, *VOLUME,
    )  # fmt: skip
    transformer(
        "Flux2Transformer2DModel",
        {**HEADS, "in_channels": 16, "num_layers": 1, "num_single_layers": 1, "joint_attention_dim": 32,
         "timestep_guidance_channels": 16, "axes_dims_rope": (4, 4, 4, 4)},
        lambda n, h, w, length: {
            **in_one_row(n, h, w, length), "img_ids": torch.cat([places(h, w), torch.zeros(h * w, 1)], -1),
            "txt_ids": torch.zeros(length, 4), "guidance": times(n),
        },
        *PLANE,
    )  # fmt: skip
    transformer(
        "LTXVideoTransformer3DModel",
        {**HEADS, "in_channels": 16, "out_channels": 16, "cross_attention_dim": 32, "num_layers": 2, "caption_channels": 32},
        lambda n, h, w, length: {
            "hidden_states": normal(n, 2 * h * w, 16), **text(n, length), "encoder_attention_mask": seen(n, length).long(),
            "video_coords": torch.cat([places(2 * h, w).T[None]] * n),
        },
        *PLANE,
    )  # fmt: skip
    transformer(
        "StableAudioDiTModel",
        {**HEADS, "sample_size": 32, "in_channels": 4, "num_layers": 2, "num_key_value_attention_heads": 1,
         "out_channels": 4, "cross_attention_dim": 16, "time_proj_dim": 8, "global_states_input_dim": 8,
         "cross_attention_input_dim": 32},
        lambda n, h, w, length: {
            "hidden_states": normal(n, 4, h), **text(n, length), "global_hidden_states": normal(n, 1, 8),
        },
        *PLANE,
    )  # fmt: skip
    transformer(
        "UNetSpatioTemporalConditionModel",
        {"in_channels": 8, "out_channels": 4, "block_out_channels": (32, 64), "cross_attention_dim": 32,
         "down_block_types": ("CrossAttnDownBlockSpatioTemporal", "DownBlockSpatioTemporal"),
         "up_block_types": ("UpBlockSpatioTemporal", "CrossAttnUpBlockSpatioTemporal"), "addition_time_embed_dim": 8,
         "projection_class_embeddings_input_dim": 24, "layers_per_block": 1, "num_attention_heads": (2, 4)},
        lambda n, f, h, w, length: {
            "sample": normal(n, f, 8, h, w), "timestep": torch.tensor(301.0), "encoder_hidden_states": normal(n, 1, 32),
            "added_time_ids": normal(n, 3),
        },
        (2, 3, 8, 12, 1), (1, 5, 12, 8, 1), (3, 2, 16, 8, 1),
    )  # fmt: skip
    transformer(
        "UNetMotionModel",
        {"block_out_channels": (16, 32), "norm_num_groups": 8, "cross_attention_dim": 32, "layers_per_block": 1,
         "down_block_types": ("CrossAttnDownBlockMotion", "DownBlockMotion"), "num_attention_heads": 2,
         "up_block_types": ("UpBlockMotion", "CrossAttnUpBlockMotion"), "motion_num_attention_heads": 2},
        lambda n, f, h, w, length: {
            "sample": normal(n, 4, f, h, w), "timestep": torch.tensor(301), "encoder_hidden_states": normal(n, length, 32),
        },
        (2, 3, 8, 12, 7), (1, 5, 12, 8, 9), (3, 2, 16, 8, 5),
    )  # fmt: skip
    transformer(
        "StableCascadeUNet",
        {"in_channels": 4, "out_channels": 4, "timestep_ratio_embedding_dim": 8, "conditioning_dim": 32,
         "block_out_channels": (16, 32), "num_attention_heads": (2, 2), "down_num_layers_per_block": (1, 1),
         "up_num_layers_per_block": (1, 1), "clip_text_pooled_in_channels": 16, "clip_text_in_channels": 16,
         "clip_image_in_channels": 16, "switch_level": (False,)},
        lambda n, h, w, length: {
            "sample": normal(n, 4, h, w), "timestep_ratio": times(n) / 1000, "clip_text_pooled": normal(n, 1, 16),
            "clip_text": normal(n, length, 16), "clip_img": normal(n, 1, 16),
        },
        *PLANE,
    )  # fmt: skip
    small = {"base_dim": 8, "z_dim": 4, "dim_mult": [1, 2], "num_res_blocks": 1, "temperal_downsample": [True]}
    statistics = {"latents_mean": [0.0] * 4, "latents_std": [1.0] * 4}
    for cls in ("AutoencoderKLWan", "AutoencoderKLQwenImage"):
        autoencoder(
            cls, {**small, **statistics}, ((2, 4, 2, 6, 8), (1, 4, 3, 8, 6), (1, 4, 1, 4, 10)),
            ((2, 3, 5, 16, 24), (1, 3, 9, 24, 16), (1, 3, 1, 16, 32)),
        )  # fmt: skip
    autoencoder(
        "AutoencoderKLCogVideoX",
        {"block_out_channels": (8, 16), "down_block_types": ("CogVideoXDownBlock3D",) * 2, "norm_num_groups": 4,
         "up_block_types": ("CogVideoXUpBlock3D",) * 2, "latent_channels": 4, "layers_per_block": 1, "temporal_compression_ratio": 2,
         "sample_height": 64, "sample_width": 64},
        ((2, 4, 3, 6, 8), (1, 4, 5, 8, 6), (1, 4, 2, 4, 10)),
        ((2, 3, 5, 16, 24), (1, 3, 9, 24, 16), (1, 3, 1, 16, 32)),
    )  # fmt: skip
    autoencoder(
        "AutoencoderKLLTXVideo",
        {"latent_channels": 8, "block_out_channels": (8, 16), "decoder_block_out_channels": (8, 16),
         "layers_per_block": (1, 1, 1), "decoder_layers_per_block": (1, 1, 1), "spatio_temporal_scaling": (True, False),
         "down_block_types": ("LTXVideoDownBlock3D",) * 2, "decoder_spatio_temporal_scaling": (True, False),
         "decoder_inject_noise": (False,) * 3, "upsample_residual": (False,) * 2, "upsample_factor": (1, 1),
         "downsample_type": ("conv", "conv")},
        ((2, 8, 2, 4, 6), (1, 8, 3, 6, 4), (1, 8, 4, 2, 5)),
        ((2, 3, 5, 32, 48), (1, 3, 9, 48, 32), (1, 3, 3, 32, 64)),
    )  # fmt: skip
    autoencoder(
        "AutoencoderOobleck",
        {"encoder_hidden_size": 8, "downsampling_ratios": [2, 4], "channel_multiples": [1, 2], "decoder_channels": 8,
         "decoder_input_channels": 4, "audio_channels": 1},
        ((2, 4, 12), (1, 4, 19), (3, 4, 7)), ((2, 1, 96), (1, 1, 160), (3, 1, 64)),
    )  # fmt: skip


fill()
