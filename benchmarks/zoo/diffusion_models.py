"""Diffusers: denoisers, autoencoders, and the encoders of their prompts."""

from __future__ import annotations

from typing import Any

import torch

from entry import Zoo, entry, normal

FAMILY = "diffusion"


def times(n: int) -> torch.Tensor:
    return torch.arange(1, n + 1) * 100


def latents(n: int, size: int, channels: int = 4) -> torch.Tensor:
    return normal(n, channels, size, size)


@entry("UNet2DModel", FAMILY)
def _() -> Zoo:
    from diffusers import UNet2DModel

    model = UNet2DModel(
        sample_size=16,
        in_channels=3,
        out_channels=3,
        layers_per_block=1,
        block_out_channels=(16, 32),
        down_block_types=("DownBlock2D", "AttnDownBlock2D"),
        up_block_types=("AttnUpBlock2D", "UpBlock2D"),
        norm_num_groups=8,
        attention_head_dim=8,
    )
    return Zoo(
        model, {"sample": latents(2, 16, 3), "timestep": times(2)}, {"sample": latents(3, 24, 3), "timestep": times(3)}
    )


def conditional(**options: Any) -> Zoo:
    from diffusers import UNet2DConditionModel

    settings: dict[str, Any] = {
        "sample_size": 16,
        "in_channels": 4,
        "out_channels": 4,
        "layers_per_block": 1,
        "block_out_channels": (16, 32),
        "down_block_types": ("CrossAttnDownBlock2D", "DownBlock2D"),
        "up_block_types": ("UpBlock2D", "CrossAttnUpBlock2D"),
        "cross_attention_dim": 24,
        "attention_head_dim": 8,
        "norm_num_groups": 8,
    }
    model = UNet2DConditionModel(**{**settings, **options})

    def arguments(n: int, size: int, length: int) -> dict[str, Any]:
        given: dict[str, Any] = {
            "sample": latents(n, size),
            "timestep": times(n),
            "encoder_hidden_states": normal(n, length, 24),
        }
        if options.get("addition_embed_type"):
            given["added_cond_kwargs"] = {"text_embeds": normal(n, 16), "time_ids": times(n)[:, None].repeat(1, 6)}
        return given

    return Zoo(model, arguments(2, 16, 7), arguments(3, 24, 9))


@entry("UNet2DConditionModel", FAMILY)
def _() -> Zoo:
    return conditional()


@entry("UNet2DConditionModel of SDXL", FAMILY)
def _() -> Zoo:
    return conditional(
        addition_embed_type="text_time",
        addition_time_embed_dim=8,
        projection_class_embeddings_input_dim=64,
        use_linear_projection=True,
        transformer_layers_per_block=(1, 2),
    )


@entry("UNet1DModel", FAMILY)
def _() -> Zoo:
    from diffusers import UNet1DModel

    model = UNet1DModel(
        sample_size=64,
        in_channels=2,
        out_channels=2,
        block_out_channels=(8, 16, 16),
        extra_in_channels=16,
        down_block_types=("DownBlock1DNoSkip", "DownBlock1D", "AttnDownBlock1D"),
        up_block_types=("AttnUpBlock1D", "UpBlock1D", "UpBlock1DNoSkip"),
    )
    return Zoo(
        model, {"sample": normal(2, 2, 64), "timestep": times(2)}, {"sample": normal(3, 2, 128), "timestep": times(3)}
    )


@entry("UNet3DConditionModel", FAMILY)
def _() -> Zoo:
    from diffusers import UNet3DConditionModel

    model = UNet3DConditionModel(
        sample_size=16,
        block_out_channels=(16, 32),
        cross_attention_dim=24,
        attention_head_dim=8,
        norm_num_groups=8,
        layers_per_block=1,
        down_block_types=("CrossAttnDownBlock3D", "DownBlock3D"),
        up_block_types=("UpBlock3D", "CrossAttnUpBlock3D"),
    )

    def arguments(n: int, frames: int, size: int) -> dict[str, Any]:
        return {
            "sample": normal(n, 4, frames, size, size),
            "timestep": torch.tensor(7),
            "encoder_hidden_states": normal(n, 5, 24),
        }

    return Zoo(model, arguments(2, 4, 16), arguments(3, 6, 24))


@entry("ControlNetModel", FAMILY)
def _() -> Zoo:
    from diffusers import ControlNetModel

    model = ControlNetModel(
        block_out_channels=(16, 32),
        down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"),
        cross_attention_dim=24,
        layers_per_block=1,
        attention_head_dim=8,
        norm_num_groups=8,
        conditioning_embedding_out_channels=(8, 16),
    )

    def arguments(n: int, size: int) -> dict[str, Any]:
        return {
            "sample": latents(n, size),
            "timestep": times(n),
            "encoder_hidden_states": normal(n, 5, 24),
            "controlnet_cond": latents(n, size * 2, 3),
        }

    return Zoo(model, arguments(2, 16), arguments(3, 24))


@entry("DiTTransformer2DModel", FAMILY)
def _() -> Zoo:
    from diffusers import DiTTransformer2DModel

    model = DiTTransformer2DModel(
        num_attention_heads=2,
        attention_head_dim=8,
        in_channels=4,
        num_layers=2,
        sample_size=8,
        patch_size=2,
        num_embeds_ada_norm=1000,
    )

    def arguments(n: int) -> dict[str, Any]:
        return {"hidden_states": latents(n, 8), "timestep": times(n), "class_labels": torch.arange(n)}

    return Zoo(model, arguments(2), arguments(3))


@entry("PixArtTransformer2DModel", FAMILY)
def _() -> Zoo:
    from diffusers import PixArtTransformer2DModel

    model = PixArtTransformer2DModel(
        num_attention_heads=2,
        attention_head_dim=8,
        in_channels=4,
        out_channels=8,
        num_layers=2,
        sample_size=8,
        cross_attention_dim=16,
        caption_channels=24,
        use_additional_conditions=False,
    )

    def arguments(n: int, length: int) -> dict[str, Any]:
        return {
            "hidden_states": latents(n, 8),
            "timestep": times(n),
            "encoder_hidden_states": normal(n, length, 24),
            "added_cond_kwargs": {"resolution": None, "aspect_ratio": None},
        }

    return Zoo(model, arguments(2, 7), arguments(3, 9))


@entry("SD3Transformer2DModel", FAMILY)
def _() -> Zoo:
    from diffusers import SD3Transformer2DModel

    model = SD3Transformer2DModel(
        sample_size=8,
        patch_size=2,
        in_channels=4,
        num_layers=2,
        attention_head_dim=8,
        num_attention_heads=2,
        joint_attention_dim=24,
        caption_projection_dim=16,
        pooled_projection_dim=12,
        out_channels=4,
        pos_embed_max_size=16,
    )

    def arguments(n: int, size: int, length: int) -> dict[str, Any]:
        return {
            "hidden_states": latents(n, size),
            "encoder_hidden_states": normal(n, length, 24),
            "pooled_projections": normal(n, 12),
            "timestep": times(n),
        }

    return Zoo(model, arguments(2, 8, 7), arguments(3, 12, 9))


@entry("FluxTransformer2DModel", FAMILY)
def _() -> Zoo:
    from diffusers import FluxTransformer2DModel

    model = FluxTransformer2DModel(
        patch_size=1,
        in_channels=4,
        num_layers=1,
        num_single_layers=1,
        attention_head_dim=16,
        num_attention_heads=2,
        joint_attention_dim=24,
        pooled_projection_dim=12,
        axes_dims_rope=(4, 4, 8),
    )

    def arguments(n: int, count: int, length: int) -> dict[str, Any]:
        return {
            "hidden_states": normal(n, count, 4),
            "encoder_hidden_states": normal(n, length, 24),
            "pooled_projections": normal(n, 12),
            "timestep": times(n) / 1000,
            "img_ids": torch.arange(count)[:, None].repeat(1, 3),
            "txt_ids": torch.zeros(length, 3),
        }

    return Zoo(model, arguments(2, 16, 7), arguments(3, 20, 9))


@entry("UVit2DModel", FAMILY)
def _() -> Zoo:
    from diffusers import UVit2DModel

    model = UVit2DModel(
        hidden_size=32,
        cond_embed_dim=16,
        encoder_hidden_size=24,
        vocab_size=32,
        codebook_size=30,
        in_channels=16,
        block_out_channels=16,
        num_res_blocks=1,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=48,
        block_num_heads=2,
        micro_cond_embed_dim=8 * 5,
        micro_cond_encode_dim=8,
    )

    def arguments(n: int) -> dict[str, Any]:
        return {
            "input_ids": torch.arange(n * 64).reshape(n, 8, 8) % 30,
            "encoder_hidden_states": normal(n, 7, 24),
            "pooled_text_emb": normal(n, 16),
            "micro_conds": torch.ones(n, 5),
        }

    return Zoo(model, arguments(2), arguments(3))


@entry("PriorTransformer", FAMILY)
def _() -> Zoo:
    from diffusers import PriorTransformer

    model = PriorTransformer(
        num_attention_heads=2,
        attention_head_dim=8,
        embedding_dim=16,
        num_embeddings=7,
        num_layers=2,
        additional_embeddings=4,
    )

    def arguments(n: int) -> dict[str, Any]:
        return {
            "hidden_states": normal(n, 16),
            "timestep": times(n),
            "proj_embedding": normal(n, 16),
            "encoder_hidden_states": normal(n, 7, 16),
        }

    return Zoo(model, arguments(2), arguments(3))


def autoencoder(cls: str, size: int = 32, other: int = 48, **options: Any) -> Zoo:
    import diffusers

    model = getattr(diffusers, cls)(**options)
    return Zoo(model, {"sample": latents(2, size, 3)}, {"sample": latents(3, other, 3)})


@entry("AutoencoderKL", FAMILY)
def _() -> Zoo:
    return autoencoder(
        "AutoencoderKL",
        block_out_channels=(16, 32),
        down_block_types=("DownEncoderBlock2D",) * 2,
        up_block_types=("UpDecoderBlock2D",) * 2,
        latent_channels=4,
        norm_num_groups=8,
    )


@entry("AutoencoderTiny", FAMILY)
def _() -> Zoo:
    return autoencoder(
        "AutoencoderTiny",
        encoder_block_out_channels=(8, 8),
        decoder_block_out_channels=(8, 8),
        num_encoder_blocks=(1, 1),
        num_decoder_blocks=(1, 1),
    )


@entry("AsymmetricAutoencoderKL", FAMILY)
def _() -> Zoo:
    return autoencoder(
        "AsymmetricAutoencoderKL",
        down_block_types=("DownEncoderBlock2D",),
        down_block_out_channels=(16,),
        up_block_types=("UpDecoderBlock2D",),
        up_block_out_channels=(16,),
        norm_num_groups=8,
    )


@entry("VQModel", FAMILY)
def _() -> Zoo:
    return autoencoder(
        "VQModel",
        block_out_channels=(16, 32),
        down_block_types=("DownEncoderBlock2D",) * 2,
        up_block_types=("UpDecoderBlock2D",) * 2,
        latent_channels=3,
        norm_num_groups=8,
    )


@entry("AutoencoderDC", FAMILY)
def _() -> Zoo:
    return autoencoder(
        "AutoencoderDC",
        in_channels=3,
        latent_channels=4,
        attention_head_dim=2,
        encoder_block_types=("ResBlock", "EfficientViTBlock"),
        decoder_block_types=("ResBlock", "EfficientViTBlock"),
        encoder_block_out_channels=(8, 8),
        decoder_block_out_channels=(8, 8),
        encoder_qkv_multiscales=((), (5,)),
        decoder_qkv_multiscales=((), (5,)),
        encoder_layers_per_block=(1, 1),
        decoder_layers_per_block=(1, 1),
        downsample_block_type="conv",
        upsample_block_type="interpolate",
        decoder_norm_types="rms_norm",
        decoder_act_fns="silu",
    )


@entry("CLIPTextModel", FAMILY)
def _() -> Zoo:
    from transformers import CLIPTextConfig, CLIPTextModel

    from entry import tokens

    config = CLIPTextConfig(
        vocab_size=100,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=32,
    )
    return Zoo(CLIPTextModel(config), {"input_ids": tokens(2, 12)}, {"input_ids": tokens(3, 9)})
