"""Architectures of transformers that the general rules of `small.py` don't make small: each from its own configuration."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import transformers as T

from entry import Zoo, add, image, mask, normal, tokens, waveform

TEXT: dict[str, Any] = {
    "vocab_size": 100, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "head_dim": 8, "max_position_embeddings": 64, "pad_token_id": 0, "bos_token_id": 1,
    "eos_token_id": 2,
}  # fmt: skip
EACH = {**TEXT, "num_key_value_heads": 4}  # keys for each head
STAGES = {"hidden_sizes": [8, 16, 16, 32], "num_attention_heads": [1, 2, 2, 4], "depths": [1, 1, 1, 1]}
EFFICIENT = {"width_coefficient": 0.25, "depth_coefficient": 0.3}


def texts(n: int, length: int) -> dict[str, Any]:
    return {"input_ids": tokens(n, length), "attention_mask": mask(n, length)}


def of_texts(model: Any) -> Zoo:
    return Zoo(model, texts(2, 12), texts(3, 7))


def of_images(model: Any) -> Zoo:
    sets = [{"pixel_values": image(n, h, w)} for n, h, w in ((2, 64, 96), (3, 96, 64), (1, 128, 64))]
    return Zoo(model, sets[0], sets[1], further=sets[2:])


def llama4() -> Zoo:
    config = T.Llama4TextConfig(
        **TEXT, intermediate_size_mlp=48, num_local_experts=4, num_experts_per_tok=1, interleave_moe_layer_step=2,
        attention_chunk_size=8, no_rope_layers=[1, 0],
    )  # fmt: skip
    return of_texts(T.Llama4ForCausalLM(config))


def gemma3n() -> Zoo:
    config = T.Gemma3nTextConfig(
        **{**TEXT, "intermediate_size": [48, 48]}, vocab_size_per_layer_input=100, hidden_size_per_layer_input=8, laurel_rank=4,
        num_kv_shared_layers=0, activation_sparsity_pattern=[0.5, 0.0], layer_types=["sliding_attention", "full_attention"],
        sliding_window=4, altup_num_inputs=2,
    )  # fmt: skip
    return of_texts(T.Gemma3nForCausalLM(config))


def mimi() -> Zoo:
    config = T.MimiConfig(
        hidden_size=32, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=4, head_dim=8, intermediate_size=48,
        num_filters=4, codebook_size=16, codebook_dim=16, vector_quantization_hidden_dimension=16, upsample_groups=32,
        num_quantizers=4, num_semantic_quantizers=1, sliding_window=20,
    )  # fmt: skip
    return Zoo(
        T.MimiModel(config), {"input_values": waveform(2, 3840)[:, None]}, {"input_values": waveform(3, 5760)[:, None]}
    )


def pop2piano() -> Zoo:
    config = T.Pop2PianoConfig(
        vocab_size=100, d_model=32, d_kv=8, d_ff=48, num_layers=2, num_decoder_layers=2, num_heads=4, composer_vocab_size=5,
        decoder_start_token_id=0,
    )  # fmt: skip

    def arguments(n: int, frames: int, length: int) -> dict[str, Any]:
        return {"inputs_embeds": normal(n, frames, 32), "decoder_input_ids": tokens(n, length)}

    return Zoo(T.Pop2PianoForConditionalGeneration(config), arguments(2, 12, 5), arguments(3, 9, 7))


def dia() -> Zoo:
    decoder = {
        "vocab_size": 40, "cross_num_attention_heads": 4, "cross_num_key_value_heads": 4, "cross_head_dim": 8,
        "cross_hidden_size": 32, "num_channels": 3, "eos_token_id": 30, "pad_token_id": 31, "bos_token_id": 32,
    }  # fmt: skip
    config = T.DiaConfig(encoder_config=EACH, decoder_config={**TEXT, **decoder}, delay_pattern=[0, 1, 2])

    def arguments(n: int, source: int, target: int) -> dict[str, Any]:
        codes = tokens(n, 3 * target, 29).reshape(n, target, 3)
        return {"input_ids": tokens(n, source), "decoder_input_ids": codes, "use_cache": False}

    return Zoo(T.DiaForConditionalGeneration(config), arguments(2, 9, 5), arguments(3, 7, 6))


def moonshine_streaming() -> Zoo:
    encoder = {**EACH, "sliding_windows": [[4, 2], [4, 0]]}
    encoder = {name: encoder[name] for name in encoder if name not in ("vocab_size", "max_position_embeddings")}
    text = {name: EACH[name] for name in EACH if name != "max_position_embeddings"}
    config = T.MoonshineStreamingConfig(**text, encoder_config=encoder)

    def arguments(n: int, samples: int, length: int) -> dict[str, Any]:
        return {"input_values": waveform(n, samples), "decoder_input_ids": tokens(n, length), "use_cache": False}

    return Zoo(T.MoonshineStreamingForConditionalGeneration(config), arguments(2, 3200, 5), arguments(3, 4800, 6))


def kyutai() -> Zoo:
    text = {**EACH, "vocab_size": 60, "pad_token_id": 3, "bos_token_id": 48}
    config = T.KyutaiSpeechToTextConfig(
        **text,
        codebook_vocab_size=21,
        sliding_window=8,
        ffn_dim=48,
        num_codebooks=3,
        audio_pad_token_id=20,
        audio_bos_token_id=20,
    )

    def arguments(n: int, length: int) -> dict[str, Any]:
        ids = torch.cat([tokens(n, length, 50)[..., None], tokens(n, 3 * length, 19).reshape(n, length, 3)], -1)
        return {"input_ids": ids, "use_cache": False}

    return Zoo(T.KyutaiSpeechToTextForConditionalGeneration(config), arguments(2, 9), arguments(3, 7))


def csm() -> Zoo:
    decoder = {**TEXT, "vocab_size": 40, "num_codebooks": 3, "backbone_hidden_size": 32}
    text = {**TEXT, "vocab_size": 40, "pad_token_id": 0, "bos_token_id": 1}
    config = T.CsmConfig(
        **text,
        text_vocab_size=60,
        num_codebooks=3,
        codebook_eos_token_id=0,
        audio_token_id=50,
        depth_decoder_config=decoder,
    )

    def arguments(n: int, length: int) -> dict[str, Any]:
        return {"input_ids": tokens(n, 3 * length, 39).reshape(n, length, 3), "use_cache": False}

    return Zoo(T.CsmForConditionalGeneration(config).backbone_model, arguments(2, 9), arguments(3, 7))


def llava_next_video() -> Zoo:
    vision = {
        "model_type": "clip_vision_model", "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
        "intermediate_size": 48, "image_size": 32, "patch_size": 8,
    }  # fmt: skip
    config = T.LlavaNextVideoConfig(
        text_config={**TEXT, "model_type": "llama"}, vision_config=vision, image_token_index=99, video_token_index=98,
        image_token_id=99, video_token_id=98, image_grid_pinpoints=[[32, 32]], vision_feature_layer=-1,
    )  # fmt: skip

    def arguments(n: int, length: int) -> dict[str, Any]:
        ids = torch.cat([torch.full((n, 8), 98), tokens(n, length)], 1)
        return {
            "input_ids": ids,
            "pixel_values_videos": normal(n, 2, 3, 32, 32),
            "attention_mask": torch.ones_like(ids),
        }

    return Zoo(T.LlavaNextVideoForConditionalGeneration(config), arguments(2, 9), arguments(3, 7))


def beit() -> Zoo:
    config = T.BeitConfig(
        hidden_size=32, num_hidden_layers=4, num_attention_heads=4, intermediate_size=48, image_size=64, patch_size=16,
        out_indices=[1, 2, 3, 4], use_relative_position_bias=True, pool_scales=[1, 2, 3, 6], num_labels=5,
    )  # fmt: skip
    return Zoo(
        T.BeitForSemanticSegmentation(config), {"pixel_values": image(2, 64, 64)}, {"pixel_values": image(3, 64, 64)}
    )


def textnet() -> Zoo:
    config = T.TextNetConfig(
        stem_out_channels=8, hidden_sizes=[8, 8, 16, 16, 32], out_features=["stage1", "stage3"],
        conv_layer_kernel_sizes=[[[3, 3]], [[3, 3], [1, 3]], [[3, 3], [3, 1]], [[3, 3]]],
        conv_layer_strides=[[1], [2, 1], [2, 1], [2]],
    )  # fmt: skip
    return of_images(T.TextNetBackbone(config))


def align() -> Zoo:
    text = {
        "vocab_size": 100,
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "intermediate_size": 48,
    }
    config = T.AlignConfig(text_config=text, vision_config={**EFFICIENT, "hidden_dim": 80}, projection_dim=80)

    def arguments(n: int, length: int, images: int, size: int) -> dict[str, Any]:
        return {**texts(n, length), "pixel_values": image(images, size, size)}

    return Zoo(T.AlignModel(config), arguments(2, 9, 3, 64), arguments(3, 7, 2, 96))


OWN: dict[str, tuple[str, Callable[[], Zoo]]] = {
    "llama4, own sizes": ("text decoders", llama4),
    "gemma3n, own sizes": ("text decoders", gemma3n),
    "mimi, own sizes": ("audio codecs", mimi),
    "pop2piano": ("audio", pop2piano),
    "dia": ("speech synthesis", dia),
    "moonshine_streaming": ("speech to text", moonshine_streaming),
    "kyutai": ("speech to text", kyutai),
    "csm backbone": ("speech synthesis", csm),
    "llava_next_video, frames": ("image and text", llava_next_video),
    "beit segmentation": ("semantic segmentation", beit),
    "textnet, own sizes": ("backbones", textnet),
    "pvt_v2, linear": (
        "backbones",
        lambda: of_images(
            T.PvtV2Backbone(T.PvtV2Config(**STAGES, linear_attention=True, out_features=["stage1", "stage4"]))
        ),
    ),
    "pvt_v2": ("image classification", lambda: of_images(T.PvtV2ForImageClassification(T.PvtV2Config(**STAGES)))),
    "efficientnet, narrow": (
        "image classification",
        lambda: of_images(T.EfficientNetForImageClassification(T.EfficientNetConfig(**EFFICIENT, hidden_dim=320))),
    ),
    "align": ("image and text", align),
}


def fill() -> None:
    for name, (family, build) in OWN.items():
        add(name, family, build)


fill()
