"""Models of transformers whose sizes hang together, so that each needs a configuration of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import transformers as T

from entry import Zoo, add, image, mask, normal, tokens

TEXT: dict[str, Any] = {
    "vocab_size": 100,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 48,
    "max_position_embeddings": 128,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
LATENT: dict[str, Any] = {
    **TEXT,
    "num_key_value_heads": 4,
    "n_routed_experts": 4,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 24,
    "q_lora_rank": 16,
    "kv_lora_rank": 16,
    "qk_rope_head_dim": 8,
    "qk_nope_head_dim": 8,
    "v_head_dim": 8,
    "n_group": 2,
    "topk_group": 1,
    "first_k_dense_replace": 1,
}
VISION: dict[str, Any] = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "image_size": 32,
    "patch_size": 8,
}
IMAGE_TOKEN = 99


def texts(n: int, length: int) -> dict[str, Any]:
    return {"input_ids": tokens(n, length), "attention_mask": mask(n, length)}


def text(make: Callable[[], torch.nn.Module]) -> Zoo:
    return Zoo(make(), texts(2, 12), texts(3, 8))


def pixels(make: Callable[[], torch.nn.Module], *sizes: int, **more: Any) -> Zoo:
    height, width, height2, width2 = sizes if len(sizes) == 4 else sizes * 4
    example = {"pixel_values": image(2, height, width), **more}
    return Zoo(make(), example, {"pixel_values": image(3, height2, width2), **more})


class Logits(torch.nn.Module):
    """The logits alone: among the other outputs are lists of one tensor for each image."""

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, **arguments: Any) -> torch.Tensor:
        return self.model(**arguments, use_cache=False).logits


def with_images(make: Callable[[], torch.nn.Module], count: int, size: int = 32, five: bool = False) -> Zoo:
    """One image for each text, whose tokens come first; `five`: images of a text are an axis of their own."""

    def arguments(n: int, length: int) -> dict[str, Any]:
        ids = torch.cat([torch.full((n, count), IMAGE_TOKEN), tokens(n, length)], 1)
        given = image(n, size, size)
        images = given[:, None] if five else given
        return {"input_ids": ids, "attention_mask": mask(n, count + length), "pixel_values": images}

    return Zoo(Logits(make()), arguments(2, 9), arguments(3, 7))


def patches(make: Callable[[], torch.nn.Module], count: int, width: int) -> Zoo:
    """Images as rows of patches, with the grid that they form, and positions, which the model counts out in Python."""
    grid = torch.tensor([[1, 4, 4]])

    def arguments(length: int) -> dict[str, Any]:
        ids = torch.cat([torch.full((1, count), IMAGE_TOKEN), tokens(1, length)], 1)
        return {
            "input_ids": ids,
            "attention_mask": torch.ones_like(ids),
            "position_ids": torch.arange(count + length).expand(3, 1, -1).clone(),
            "pixel_values": normal(16, width),
            "image_grid_thw": grid,
            "mm_token_type_ids": (ids == IMAGE_TOKEN).long(),
        }

    return Zoo(Logits(make()), arguments(9), arguments(7))


ROPE = {"rope_type": "default", "mrope_section": [1, 1, 2], "rope_theta": 10000.0}


def qwen2_vl() -> torch.nn.Module:
    vision = {"depth": 2, "embed_dim": 32, "hidden_size": 32, "num_heads": 4, "patch_size": 8, "mlp_ratio": 2}
    config = T.Qwen2VLConfig(
        text_config={**TEXT, "rope_parameters": ROPE}, vision_config=vision, image_token_id=IMAGE_TOKEN,
        vision_start_token_id=3, video_token_id=98,
    )  # fmt: skip
    return T.Qwen2VLForConditionalGeneration(config)


def qwen2_5_vl() -> torch.nn.Module:
    vision = {
        "depth": 2, "hidden_size": 32, "out_hidden_size": 32, "num_heads": 4, "patch_size": 8, "intermediate_size": 48,
        "window_size": 32, "fullatt_block_indexes": [1],
    }  # fmt: skip
    config = T.Qwen2_5_VLConfig(
        text_config={**TEXT, "rope_parameters": ROPE}, vision_config=vision, image_token_id=IMAGE_TOKEN,
        vision_start_token_id=3, video_token_id=98,
    )  # fmt: skip
    return T.Qwen2_5_VLForConditionalGeneration(config)


def qwen3_vl() -> torch.nn.Module:
    vision = {
        "depth": 2, "hidden_size": 32, "out_hidden_size": 32, "num_heads": 4, "patch_size": 8, "intermediate_size": 48,
        "deepstack_visual_indexes": [0], "num_position_embeddings": 16,
    }  # fmt: skip
    config = T.Qwen3VLConfig(
        text_config={**TEXT, "head_dim": 8, "rope_parameters": {**ROPE, "mrope_interleaved": True}}, vision_config=vision,
        image_token_id=IMAGE_TOKEN, vision_start_token_id=3, video_token_id=98,
    )  # fmt: skip
    return T.Qwen3VLForConditionalGeneration(config)


def paligemma() -> torch.nn.Module:
    return T.PaliGemmaForConditionalGeneration(
        T.PaliGemmaConfig(
            vision_config={**VISION, "model_type": "siglip_vision_model", "projection_dim": 32},
            text_config={**TEXT, "model_type": "gemma", "head_dim": 8}, image_token_index=IMAGE_TOKEN,
            image_token_id=IMAGE_TOKEN, projection_dim=32, hidden_size=32,
        )
    )  # fmt: skip


def gemma3() -> torch.nn.Module:
    return T.Gemma3ForConditionalGeneration(
        T.Gemma3Config(
            text_config={**TEXT, "head_dim": 8, "sliding_window": 8},
            vision_config={**VISION, "model_type": "siglip_vision_model"}, image_token_index=IMAGE_TOKEN,
            image_token_id=IMAGE_TOKEN, mm_tokens_per_image=4, boi_token_index=97, eoi_token_index=96,
        )
    )  # fmt: skip


def llava(cls: str) -> torch.nn.Module:
    config = getattr(T, f"{cls}Config")(
        text_config={**TEXT, "model_type": "llama"},
        vision_config={**VISION, "model_type": "clip_vision_model", "projection_dim": 32},
        image_token_index=IMAGE_TOKEN, image_token_id=IMAGE_TOKEN, vision_feature_layer=-1,
    )  # fmt: skip
    return getattr(T, f"{cls}ForConditionalGeneration")(config)


def idefics3(cls: str) -> torch.nn.Module:
    config = getattr(T, f"{cls}Config")(
        text_config={**TEXT, "model_type": "llama"}, vision_config=VISION, image_token_id=IMAGE_TOKEN, scale_factor=2,
        pad_token_id=0,
    )  # fmt: skip
    return getattr(T, f"{cls}ForConditionalGeneration")(config)


def siglip() -> Zoo:
    config = T.SiglipConfig(
        text_config={**TEXT, "num_key_value_heads": None, "max_position_embeddings": 16, "projection_size": 32},
        vision_config=VISION,
    )  # fmt: skip

    def arguments(n: int, length: int, images: int) -> dict[str, Any]:
        return {"input_ids": tokens(n, length), "pixel_values": image(images, 32, 32)}

    return Zoo(T.SiglipModel(config), arguments(3, 9, 2), arguments(2, 7, 4))


STAGES = {"embedding_size": 8, "hidden_sizes": [8, 16, 16, 32], "depths": [1, 1, 1, 1]}


def resnet_backbone() -> Any:
    return T.ResNetConfig(**STAGES, layer_type="basic", out_features=["stage2", "stage3", "stage4"])


def rt_detr(cls: str) -> torch.nn.Module:
    backbone = T.RTDetrResNetConfig(**STAGES, layer_type="basic", out_features=["stage2", "stage3", "stage4"])
    more = {"decoder_in_channels": [16, 16, 16], "encoder_in_channels": [16, 16, 32], "feat_strides": [8, 16, 32]}
    if cls == "DFine":
        backbone = T.HGNetV2Config(
            stem_channels=[3, 8, 8], stage_in_channels=[8, 16, 16, 16], stage_mid_channels=[8, 8, 8, 8],
            stage_out_channels=[16, 16, 16, 32], stage_num_blocks=[1, 1, 1, 1], stage_numb_of_layers=[2, 2, 2, 2],
            embedding_size=8, hidden_sizes=[16, 16, 16, 32], depths=[1, 1, 1, 1], out_features=["stage2", "stage3", "stage4"],
        )  # fmt: skip
    config = getattr(T, f"{cls}Config")(
        backbone_config=backbone, encoder_hidden_dim=16, encoder_ffn_dim=32, encoder_attention_heads=2, d_model=16,
        decoder_ffn_dim=32, decoder_attention_heads=2, decoder_layers=2, num_queries=10, num_denoising=0,
        anchor_image_size=None, **more,
    )  # fmt: skip
    return getattr(T, f"{cls}ForObjectDetection")(config)


def mask2former() -> torch.nn.Module:
    backbone = T.SwinConfig(
        embed_dim=8, depths=[1, 1, 1, 1], num_heads=[1, 2, 2, 4], window_size=4, image_size=64,
        out_features=["stage1", "stage2", "stage3", "stage4"],
    )  # fmt: skip
    config = T.Mask2FormerConfig(
        backbone_config=backbone, feature_size=32, mask_feature_size=32, hidden_dim=32, encoder_feedforward_dim=32,
        encoder_layers=2, decoder_layers=3, num_attention_heads=2, dim_feedforward=32, num_queries=7, num_labels=5,
    )  # fmt: skip
    return T.Mask2FormerForUniversalSegmentation(config)


def dinov2_backbone() -> Any:
    return T.Dinov2Config(
        hidden_size=32, num_hidden_layers=4, num_attention_heads=4, mlp_ratio=2, image_size=56, patch_size=14,
        out_indices=[1, 2, 3, 4], reshape_hidden_states=False, apply_layernorm=True,
    )  # fmt: skip


def depth_anything() -> torch.nn.Module:
    return T.DepthAnythingForDepthEstimation(
        T.DepthAnythingConfig(
            backbone_config=dinov2_backbone(), reassemble_hidden_size=32, neck_hidden_sizes=[8, 8, 16, 16], patch_size=14,
            fusion_hidden_size=16, head_hidden_size=8,
        )
    )  # fmt: skip


def dpt(cls: str) -> torch.nn.Module:
    config = T.DPTConfig(
        **{**VISION, "num_hidden_layers": 4}, backbone_out_indices=[0, 1, 2, 3], neck_hidden_sizes=[8, 8, 16, 16],
        fusion_hidden_size=16, is_hybrid=False, auxiliary_loss_weight=0.0, use_auxiliary_head=False,
    )  # fmt: skip
    return getattr(T, f"DPTFor{cls}")(config)


def upernet() -> torch.nn.Module:
    backbone = T.ConvNextConfig(
        hidden_sizes=[8, 16, 16, 32], depths=[1, 1, 1, 1], out_features=["stage1", "stage2", "stage3", "stage4"]
    )
    return T.UperNetForSemanticSegmentation(
        T.UperNetConfig(backbone_config=backbone, hidden_size=16, use_auxiliary_head=False, num_labels=5)
    )


def time_series(cls: str, **more: Any) -> Zoo:
    config = getattr(T, f"{cls}Config")(
        prediction_length=4, context_length=16, lags_sequence=[1, 2], num_time_features=2, d_model=16, encoder_layers=2,
        decoder_layers=2, encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=32, decoder_ffn_dim=32, **more,
    )  # fmt: skip

    def arguments(n: int) -> dict[str, Any]:
        return {
            "past_values": normal(n, 18),
            "past_time_features": normal(n, 18, 2),
            "past_observed_mask": torch.ones(n, 18),
            "future_values": normal(n, 4),
            "future_time_features": normal(n, 4, 2),
        }

    return Zoo(getattr(T, f"{cls}Model")(config), arguments(2), arguments(3))


def sam() -> Zoo:
    config = T.SamConfig(
        vision_config={**VISION, "image_size": 64, "output_channels": 16, "window_size": 2, "global_attn_indexes": [1],
                       "num_pos_feats": 8, "mlp_dim": 48},
        prompt_encoder_config={"hidden_size": 16, "image_size": 64, "patch_size": 8, "mask_input_channels": 4},
        mask_decoder_config={"hidden_size": 16, "mlp_dim": 32, "num_attention_heads": 2, "iou_head_hidden_dim": 16},
    )  # fmt: skip

    def arguments(n: int, points: int) -> dict[str, Any]:
        return {
            "pixel_values": image(n, 64, 64),
            "input_points": normal(n, 1, points, 2) * 20 + 30,
            "input_labels": torch.ones(n, 1, points, dtype=torch.long),
        }

    return Zoo(T.SamModel(config), arguments(2, 2), arguments(3, 4))


def layoutlmv3() -> Zoo:
    config = T.LayoutLMv3Config(
        **{k: v for k, v in TEXT.items() if k != "num_key_value_heads"}, coordinate_size=6, shape_size=4, input_size=32,
        patch_size=8, max_2d_position_embeddings=128, num_labels=5, max_rel_pos=16, rel_pos_bins=8, rel_2d_pos_bins=8,
    )  # fmt: skip

    def arguments(n: int, length: int) -> dict[str, Any]:
        return {
            **texts(n, length),
            "bbox": tokens(n, length * 4, 60).reshape(n, length, 4).sort(-1).values[..., [0, 2, 1, 3]].sort(-1).values,
            "pixel_values": image(n, 32, 32),
        }

    return Zoo(T.LayoutLMv3ForTokenClassification(config), arguments(2, 12), arguments(3, 8))


def blip2() -> Zoo:
    config = T.InstructBlipConfig(
        vision_config=VISION,
        qformer_config={"vocab_size": 100, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
                        "intermediate_size": 48, "encoder_hidden_size": 32, "cross_attention_frequency": 1},
        text_config={**TEXT, "model_type": "opt", "ffn_dim": 48, "word_embed_proj_dim": 32},
        num_query_tokens=4, image_token_index=IMAGE_TOKEN, image_token_id=IMAGE_TOKEN,
    )  # fmt: skip

    def arguments(n: int, length: int) -> dict[str, Any]:
        ids = torch.cat([torch.full((n, 4), IMAGE_TOKEN), tokens(n, length)], 1)
        return {
            "pixel_values": image(n, 32, 32),
            "qformer_input_ids": tokens(n, 5),
            "input_ids": ids,
            "attention_mask": torch.ones_like(ids),
        }

    return Zoo(T.InstructBlipForConditionalGeneration(config), arguments(2, 9), arguments(3, 7))


def image_to_text() -> Zoo:
    encoder = T.ViTConfig(**VISION)
    decoder = T.TrOCRConfig(
        vocab_size=100, d_model=32, decoder_layers=2, decoder_attention_heads=4, decoder_ffn_dim=48,
        cross_attention_hidden_size=32, max_position_embeddings=64,
    )  # fmt: skip
    model = T.VisionEncoderDecoderModel(T.VisionEncoderDecoderConfig.from_encoder_decoder_configs(encoder, decoder))

    def arguments(n: int, length: int) -> dict[str, Any]:
        return {"pixel_values": image(n, 32, 32), "decoder_input_ids": tokens(n, length)}

    return Zoo(model, arguments(2, 6), arguments(3, 9))


MAMBA2 = {
    "vocab_size": 100, "hidden_size": 32, "num_hidden_layers": 2, "num_heads": 8, "head_dim": 8, "state_size": 8,
    "n_groups": 2, "expand": 2, "chunk_size": 4,
}  # fmt: skip
OWN_TEXT: dict[str, Callable[[], torch.nn.Module]] = {
    "deepseek_v2": lambda: T.DeepseekV2ForCausalLM(T.DeepseekV2Config(**LATENT)),
    "deepseek_v3": lambda: T.DeepseekV3ForCausalLM(T.DeepseekV3Config(**LATENT)),
    "mamba2": lambda: T.Mamba2ForCausalLM(T.Mamba2Config(**MAMBA2)),
    "mpnet": lambda: T.MPNetForMaskedLM(T.MPNetConfig(**{k: v for k, v in TEXT.items() if "key_value" not in k})),
    "esm": lambda: T.EsmForMaskedLM(
        T.EsmConfig(**{k: v for k, v in TEXT.items() if "key_value" not in k}, mask_token_id=4, position_embedding_type="rotary")
    ),
    "lfm2_moe": lambda: T.Lfm2MoeForCausalLM(
        T.Lfm2MoeConfig(**TEXT, layer_types=["conv", "full_attention"], num_experts=4, num_experts_per_tok=2, num_dense_layers=1, moe_intermediate_size=24)
    ),
    "nemotron": lambda: T.NemotronForCausalLM(T.NemotronConfig(**TEXT, head_dim=8)),
    "ministral": lambda: T.MinistralForCausalLM(T.MinistralConfig(**TEXT, head_dim=8, layer_types=["sliding_attention", "full_attention"], sliding_window=8)),
    "dbrx": lambda: T.DbrxForCausalLM(
        T.DbrxConfig(d_model=32, n_heads=4, n_layers=2, max_seq_len=64, vocab_size=100, attn_config={"kv_n_heads": 2, "clip_qkv": 8.0, "rope_theta": 10000.0}, ffn_config={"ffn_hidden_size": 48, "moe_num_experts": 4, "moe_top_k": 2, "hidden_size": 32})
    ),
    "hunyuan_v1_dense": lambda: T.HunYuanDenseV1ForCausalLM(T.HunYuanDenseV1Config(**TEXT, head_dim=8)),
    "zamba2": lambda: T.Zamba2ForCausalLM(
        T.Zamba2Config(vocab_size=100, hidden_size=32, num_hidden_layers=2, mamba_d_state=8, mamba_ngroups=2, mamba_expand=2, n_mamba_heads=8, chunk_size=4,
                       num_attention_heads=4, num_key_value_heads=4, attention_head_dim=16, intermediate_size=48, num_mem_blocks=1, hybrid_layer_ids=[1], layers_block_type=["mamba", "hybrid"], max_position_embeddings=64)
    ),
}  # fmt: skip
OWN_VISION: dict[str, Callable[[], Zoo]] = {
    "convnext": lambda: pixels(
        lambda: T.ConvNextForImageClassification(T.ConvNextConfig(hidden_sizes=[8, 16, 16, 32], depths=[1, 1, 1, 1])), 64, 96, 96, 128
    ),
    "convnextv2": lambda: pixels(
        lambda: T.ConvNextV2ForImageClassification(T.ConvNextV2Config(hidden_sizes=[8, 16, 16, 32], depths=[1, 1, 1, 1])), 64, 96, 96, 128
    ),
    "efficientnet": lambda: pixels(
        lambda: T.EfficientNetForImageClassification(
            T.EfficientNetConfig(in_channels=[32, 8], out_channels=[8, 16], kernel_sizes=[3, 5], strides=[1, 2], num_block_repeats=[1, 2], expand_ratios=[1, 6], depth_coefficient=1.0, width_coefficient=1.0, hidden_dim=16)
        ), 64, 96, 96, 128
    ),
    "deit": lambda: pixels(lambda: T.DeiTForImageClassification(T.DeiTConfig(**VISION)), 32),
    "bit": lambda: pixels(lambda: T.BitForImageClassification(T.BitConfig(embedding_size=32, hidden_sizes=[32, 32, 64, 64], depths=[1, 1, 1, 1], num_groups=8)), 64, 96, 96, 128),
    "levit": lambda: pixels(
        lambda: T.LevitForImageClassification(T.LevitConfig(image_size=64, hidden_sizes=[16, 24, 32], num_attention_heads=[2, 3, 4], depths=[1, 1, 1], key_dim=[4, 4, 4])), 64
    ),
    "cvt": lambda: pixels(lambda: T.CvtForImageClassification(T.CvtConfig(embed_dim=[8, 16, 32], num_heads=[1, 2, 4], depth=[1, 2, 3])), 64, 96, 96, 128),
    "siglip2 vision": lambda: pixels(lambda: T.SiglipForImageClassification(T.SiglipConfig(text_config={}, vision_config=VISION)), 32),
}  # fmt: skip
OWN_DENSE: dict[str, tuple[str, Callable[[], Zoo]]] = {
    "rt_detr": ("object detection", lambda: pixels(lambda: rt_detr("RTDetr"), 64, 96, 96, 128)),
    "rt_detr_v2": ("object detection", lambda: pixels(lambda: rt_detr("RTDetrV2"), 64, 96, 96, 128)),
    "d_fine": ("object detection", lambda: pixels(lambda: rt_detr("DFine"), 64, 96, 96, 128)),
    "mask2former": ("universal segmentation", lambda: pixels(mask2former, 64, 96, 96, 128)),
    "depth_anything": ("depth", lambda: pixels(depth_anything, 56, 84, 84, 112)),
    "dpt": ("depth", lambda: pixels(lambda: dpt("DepthEstimation"), 32)),
    "dpt segmentation": ("semantic segmentation", lambda: pixels(lambda: dpt("SemanticSegmentation"), 32)),
    "upernet convnext": ("semantic segmentation", lambda: pixels(upernet, 64, 96, 96, 128)),
    "sam": ("semantic segmentation", sam),
    "layoutlmv3": ("documents", layoutlmv3),
    "siglip": ("image and text", siglip),
    "qwen2_vl": ("image and text", lambda: patches(qwen2_vl, 4, 3 * 2 * 64)),
    "qwen2_5_vl": ("image and text", lambda: patches(qwen2_5_vl, 4, 3 * 2 * 64)),
    "qwen3_vl": ("image and text", lambda: patches(qwen3_vl, 4, 3 * 2 * 64)),
    "paligemma": ("image and text", lambda: with_images(paligemma, 16)),
    "gemma3": ("image and text", lambda: with_images(gemma3, 4)),
    "llava": ("image and text", lambda: with_images(lambda: llava("Llava"), 16)),
    "vipllava": ("image and text", lambda: with_images(lambda: llava("VipLlava"), 16)),
    "idefics3": ("image and text", lambda: with_images(lambda: idefics3("Idefics3"), 4, five=True)),
    "smolvlm": ("image and text", lambda: with_images(lambda: idefics3("SmolVLM"), 4, five=True)),
    "instructblip": ("image and text", blip2),
    "vision-encoder-decoder": ("image and text", image_to_text),
    "time_series_transformer": ("series", lambda: time_series("TimeSeriesTransformer")),
    "informer": ("series", lambda: time_series("Informer")),
    "autoformer": ("series", lambda: time_series("Autoformer")),
}  # fmt: skip


def fill() -> None:
    for name, make in OWN_TEXT.items():
        add(
            f"{name}, own sizes",
            "text encoders" if name in ("mpnet", "esm") else "text decoders",
            lambda make=make: text(make),
        )
    for name, build in OWN_VISION.items():
        add(f"{name}, own sizes", "image classification", build)
    for name, (family, build) in OWN_DENSE.items():
        add(f"{name}, own sizes", family, build)


fill()
