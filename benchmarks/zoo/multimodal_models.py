"""Vision, audio, video, series and mixed models of transformers, small."""

from __future__ import annotations

import inspect
import itertools
from typing import Any

import torch

from entry import Zoo, add, entry, first_that_runs, image, mask, normal, tokens, waveform
from image_forms import FORMS, padded_patches
from mixed_sizes import MIXED
from onnxport.capture.inputs import flatten_outputs
from small import made_small, shrink
from small_vision import shrink_mixed, shrink_vision

DETECTION = {
    "encoder_in_channels": [16, 16, 32],
    "decoder_in_channels": [32, 32, 32],
    "encoder_hidden_dim": 32,
    "num_denoising": 0,
}
DEPTH_PRO = {
    "patch_size": 32,
    "fusion_hidden_size": 16,
    "intermediate_hook_ids": [1, 0],
    "intermediate_feature_dims": [8, 8],
    "scaled_images_feature_dims": [16, 16, 8],
    "num_fov_head_layers": 1,
    "use_fov_model": True,
    **{f"{part}_model_config": {"image_size": 32} for part in ("image", "patch", "fov")},
}
CHANGES: dict[str, dict[str, Any]] = {
    "beit": {
        "use_relative_position_bias": True,
        "num_hidden_layers": 4,
        "out_indices": [0, 1, 2, 3],
        "image_size": 64,
    },
    "textnet": {"stem_out_channels": 8},
    "data2vec-vision": {
        "use_relative_position_bias": True,
        "num_hidden_layers": 4,
        "out_indices": [0, 1, 2, 3],
        "image_size": 64,
    },
    "swin": {"embed_dim": 8, "depths": [1, 1], "num_heads": [2, 4], "window_size": 4, "patch_size": 2},
    "swinv2": {"embed_dim": 8, "depths": [1, 1], "num_heads": [2, 4], "window_size": 4, "patch_size": 2},
    "donut-swin": {"embed_dim": 8, "depths": [1, 1], "num_heads": [2, 4], "window_size": 4, "patch_size": 2},
    "swin2sr": {
        "embed_dim": 8,
        "depths": [1, 1],
        "num_heads": [2, 2],
        "window_size": 4,
        "image_size": 16,
        "upscale": 2,
        "patch_size": 1,
    },
    "hiera": {"embed_dim": 8, "depths": [1, 1, 1, 1], "num_heads": [1, 2, 4, 8], "image_size": [64, 64]},
    "bit": {"embedding_size": 8, "num_groups": 4},
    "resnet": {"embedding_size": 8},
    "regnet": {"embedding_size": 8, "groups_width": 4},
    "levit": {
        "image_size": 64,
        "patch_size": 16,
        "hidden_sizes": [16, 24, 32],
        "num_attention_heads": [2, 3, 4],
        "depths": [1, 1, 1],
        "key_dim": [4, 4, 4],
    },
    "cvt": {"embed_dim": [8, 16, 32], "num_heads": [1, 2, 4], "depth": [1, 2, 3]},
    "pvt": {
        "hidden_sizes": [8, 16, 16, 32],
        "num_attention_heads": [1, 2, 2, 4],
        "depths": [1, 1, 1, 1],
        "image_size": 64,
        "patch_sizes": [4, 2, 2, 2],
    },
    "pvt_v2": {
        "hidden_sizes": [8, 16, 16, 32],
        "num_attention_heads": [1, 2, 2, 4],
        "depths": [1, 1, 1, 1],
        "image_size": 64,
        "patch_sizes": [7, 3, 3, 3],
    },
    "segformer": {"hidden_sizes": [8, 16, 16, 32], "num_attention_heads": [1, 2, 2, 4], "decoder_hidden_size": 16},
    "glpn": {"hidden_sizes": [8, 16, 16, 32], "num_attention_heads": [1, 2, 2, 4], "decoder_hidden_size": 16},
    "focalnet": {"embed_dim": 8, "depths": [1, 1], "focal_levels": [1, 1], "focal_windows": [3, 3], "patch_size": 4},
    "poolformer": {"hidden_sizes": [8, 16, 16, 32]},
    "mobilevit": {
        "hidden_sizes": [16, 24, 32],
        "neck_hidden_sizes": [8, 16, 16, 24, 24, 32, 64],
        "image_size": 64,
        "patch_size": 2,
    },
    "mobilevitv2": {"image_size": 64, "patch_size": 2},
    "imagegpt": {"n_positions": 64, "vocab_size": 100},
    "efficientnet": {"image_size": 64, "hidden_dim": 2560},
    "swiftformer": {"embed_dims": [8, 16, 16, 32], "depths": [1, 1, 1, 1]},
    "dinat": {},
    "perceiver": {},
    "timesformer": {"num_frames": 4},
    "vivit": {"num_frames": 4, "tubelet_size": [2, 8, 8]},
    "videomae": {"num_frames": 4, "decoder_num_hidden_layers": 1},
    "vjepa2": {
        "crop_size": 32,
        "frames_per_clip": 4,
        "pred_num_hidden_layers": 1,
        "pred_hidden_size": 32,
        "pred_num_attention_heads": 4,
        "num_pooler_layers": 1,
    },
    "audio-spectrogram-transformer": {
        "patch_size": 16,
        "max_length": 64,
        "frequency_stride": 8,
        "time_stride": 8,
        "num_mel_bins": 32,
    },
    "vitdet": {"window_size": 2, "image_size": 32},
    "yolos": {"num_detection_tokens": 7, "image_size": [32, 32]},
    "vit_mae": {
        "decoder_num_hidden_layers": 1,
        "decoder_hidden_size": 32,
        "decoder_num_attention_heads": 4,
        "decoder_intermediate_size": 48,
    },
    "dpt": {
        "is_hybrid": False,
        "num_hidden_layers": 4,
        "backbone_out_indices": [0, 1, 2, 3],
        "neck_hidden_sizes": [8, 8, 16, 16],
        "fusion_hidden_size": 16,
        "reassemble_factors": [4, 2, 1, 0.5],
    },
    **dict.fromkeys(("rt_detr", "rt_detr_v2", "pp_doclayout_v2", "pp_doclayout_v4"), DETECTION),
    "d_fine": {**DETECTION, "head_dim": 8},
    "deimv2": {**DETECTION, "head_dim": 8},
    "pp_doclayout_v3": {**DETECTION, "x4_feat_dim": 16, "mask_feature_channels": [16, 16]},
    "lw_detr": {
        "projector_scale_factors": [2.0, 0.5],
        "projector_in_channels": [32, 32],
        "projector_out_channels": 32,
        "num_feature_levels": 2,
        "group_detr": 1,
        "backbone_config": {"num_windows": 4, "num_windows_side": 2, "window_block_indices": [0, 1]},
    },
    **{
        kind: {"reassemble_hidden_size": 32, "fusion_hidden_size": 16, "head_hidden_size": 8}
        for kind in ("depth_anything", "prompt_depth_anything")
    },
    "depth_pro": DEPTH_PRO,
    "detr": {"d_model": 64, "encoder_attention_heads": 8, "decoder_attention_heads": 8, "num_attention_heads": 8},
    "vitpose_backbone": {"num_experts": 1, "part_features": 8, "image_size": [32, 32], "patch_size": [8, 8]},
    "oneformer": {
        "num_queries": 10,
        "task_seq_len": 20,
        "text_encoder_context_length": 20,
        "text_encoder_width": 32,
        "conv_dim": 32,
        "mask_dim": 32,
        "hidden_dim": 32,
    },
    "videoprism_vision_model": {
        "num_frames": 4,
        "tubelet_size": [1, 8, 8],
        "num_spatial_layers": 2,
        "num_temporal_layers": 2,
        "num_auxiliary_layers": 1,
    },
    "sapiens2": {
        "num_key_value_attention_heads": 4,
        "head_config": {
            "upsample_out_channels": [16, 16],
            "upsample_kernel_sizes": [4, 4],
            "conv_out_channels": [16],
            "conv_kernel_sizes": [1],
        },
    },
    **MIXED,
    "eomt": {"image_size": 64, "num_blocks": 1},
    "eomt_dinov3": {"image_size": 64, "num_blocks": 1},
    "videomt": {"image_size": 64, "num_blocks": 1},
}
SPEECH: dict[str, Any] = {
    "conv_dim": [16, 16, 16],
    "conv_stride": [5, 4, 2],
    "conv_kernel": [10, 4, 3],
    "num_feat_extract_layers": 3,
    "mask_time_prob": 0.0,
    "vocab_size": 20,
    "hidden_size": 32,
    "xvector_output_dim": 16,
    "classifier_proj_size": 16,
    "tdnn_dim": [16, 16],
    "tdnn_kernel": [3, 1],
    "tdnn_dilation": [1, 1],
}
# Tokens of an image.
COUNTS = (16, 17, 4, 1, 9, 18, 0, 64, 20, 2, 5, 6, 7, 8, 36, 256)
# Models of another kind than the table says.
MIXED_FEATURES = {"cohere2_vision", "llama4", "mllama"}
LISTENING = {
    "dia", "fun_asr_nano", "granite_speech", "granite_speech_plus", "kyutai_speech_to_text", "moonshine_streaming", "omniasr",
    "pop2piano", "qwen3_asr", "vibevoice", "vibevoice_asr", "voxtral", "voxtral_realtime",
}  # fmt: skip
UNSUITED = {"shieldgemma2", "timm_wrapper", "timm_backbone", "dinat", "perceiver"}


def made(kind: str, auto: str, **changes: Any) -> torch.nn.Module:
    import transformers

    config = shrink_vision(transformers.AutoConfig.for_model(kind), {**CHANGES.get(kind, {}), **changes})
    config.architectures = config.architectures or []  # which some classes are chosen by
    return getattr(transformers, auto).from_config(config)


def vision(kind: str, auto: str, **changes: Any) -> Zoo:
    model = made(kind, auto, **changes)

    def pair(
        n: int, m: int, size: tuple[int, int], other: tuple[int, int], **more: Any
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        return {"pixel_values": image(n, *size), **more}, {"pixel_values": image(m, *other), **more}

    pairs = [
        pair(2, 3, (64, 96), (96, 128)),
        pair(2, 3, (32, 32), (32, 32)),
        pair(2, 3, (64, 64), (64, 64)),
        pair(2, 3, (224, 224), (224, 224)),
    ]
    for name in ("pixel_values", "pixel_values_videos"):
        pairs += [({name: normal(2, 4, 3, s, s)}, {name: normal(3, 4, 3, s, s)}) for s in (32, 64)]
    if kind == "siglip2":
        names = {"spatial_shapes"}
        given = [padded_patches(names, n, 1, 0, 32) for n in (2, 3)]
        example, other = ({k: v for k, v in g.items() if k not in ("input_ids", "attention_mask")} for g in given)
        return Zoo(model, example, other)
    if kind == "oneformer":
        pairs = [pair(2, 2, (64, 96), (96, 128), task_inputs=tokens(2, 20))]
    if kind == "imagegpt":
        pairs = [({"input_ids": tokens(2, 20)}, {"input_ids": tokens(3, 12)})]
    return Zoo(model, *first_that_runs(model, *pairs))


def video(kind: str) -> Zoo:
    name = "pixel_values_videos" if kind in ("vjepa2", "videoprism_vision_model") else "pixel_values"
    model = made(kind, "AutoModelForVideoClassification")
    return Zoo(model, {name: normal(2, 4, 3, 32, 32)}, {name: normal(3, 4, 3, 32, 32)})


def audio(kind: str, auto: str) -> Zoo:
    model = made(kind, auto, **({} if kind in ("audio-spectrogram-transformer", "whisper") else SPEECH))
    pairs = [
        ({"input_values": waveform(2, 1600)}, {"input_values": waveform(3, 2222)}),
        ({"input_values": normal(2, 64, 32)}, {"input_values": normal(3, 64, 32)}),
        ({"input_features": normal(2, 50, 160)}, {"input_features": normal(3, 64, 160)}),
        ({"input_features": normal(2, 50, 16)}, {"input_features": normal(3, 64, 16)}),
        ({"input_features": normal(2, 50, 64)}, {"input_features": normal(3, 64, 64)}),
        ({"input_values": waveform(2, 1600)[:, None]}, {"input_values": waveform(3, 2222)[:, None]}),
        ({"input_features": normal(2, 16, 128)}, {"input_features": normal(3, 16, 128)}),
    ]
    return Zoo(model, *first_that_runs(model, *pairs))


def contrastive(kind: str) -> Zoo:
    model = made(kind, "AutoModel", **{"eos_token_id": 2, "projection_dim": 16, **CHANGES.get(kind, {})})

    def arguments(texts: int, length: int, images: int, size: int) -> dict[str, Any]:
        ids = tokens(texts, length)
        ids[:, -1] = 2
        return {
            "input_ids": ids,
            "pixel_values": image(images, size, size),
            "attention_mask": torch.ones(texts, length, dtype=torch.long),
        }

    pairs = [(arguments(3, 9, 2, s), arguments(2, 7, 4, s)) for s in (32, 64, 224)]
    pairs += [(arguments(2, 9, 2, s), arguments(3, 7, 3, s)) for s in (32, 64)]
    if kind == "videoprism":
        for given in itertools.chain.from_iterable(pairs):
            given["pixel_values_videos"] = given.pop("pixel_values")[:, None].repeat(1, 4, 1, 1, 1)
    if kind == "siglip2":
        names = set(inspect.signature(model.forward).parameters)
        pairs = [(padded_patches(names, 2, 9, 0, 32), padded_patches(names, 3, 7, 0, 32))]
    return Zoo(model, *first_that_runs(model, *pairs))


def mixed(kind: str) -> Zoo:
    """Image and text: one image for each text, its tokens at the begin, in the first form that the model takes."""
    import transformers

    changes = {"vision_feature_layer": -1, **CHANGES.get(kind, {})}
    config = transformers.AutoConfig.for_model(kind)
    if vars(config).get("vision_config", config) is None:  # which may be left out
        config = type(config)(vision_config={})
    config = shrink_mixed(config, changes)
    model = transformers.AutoModelForImageTextToText.from_config(config).eval()
    names = set(inspect.signature(model.forward).parameters)
    pairs = [
        (form(names, 2, 9, count, size), form(names, 3, 7, count, size))
        for form in FORMS
        for size in (32, 64)
        for count in COUNTS
        if form(names, 2, 9, count, size)
    ]
    example, other = first_that_runs(model, *pairs)
    if len(flatten_outputs(model(**example)).leaves) != len(flatten_outputs(model(**other)).leaves):
        return Zoo(Logits(model), example, other)  # among its outputs are lists of one tensor for each image
    return Zoo(model, example, other)


class Logits(torch.nn.Module):
    """The logits alone."""

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, **arguments: Any) -> torch.Tensor:
        return self.model(**arguments).logits


def speech_to_text(kind: str) -> Zoo:
    changes: dict[str, Any] = {"num_mel_bins": 16, "max_source_positions": 20}
    if kind == "speech_to_text":
        changes = {"num_mel_bins": 16, "input_feat_per_channel": 16, "conv_channels": 16, "max_source_positions": 64}
    model = made(kind, "AutoModelForSpeechSeq2Seq", **changes)

    def pair(name: str, a: torch.Tensor, b: torch.Tensor) -> tuple[dict[str, Any], dict[str, Any]]:
        return {name: a, "decoder_input_ids": tokens(2, 6, 50)}, {name: b, "decoder_input_ids": tokens(3, 9, 50)}

    pairs = [
        pair("input_features", normal(2, 16, 40), normal(3, 16, 40)),
        pair("input_features", normal(2, 40, 16), normal(3, 56, 16)),
        pair("input_values", waveform(2, 16000), waveform(3, 18000)),
        pair("input_features", normal(2, 40, 160), normal(3, 56, 160)),
    ]
    return Zoo(model, *first_that_runs(model, *pairs))


def cached_speech(kind: str) -> Zoo:
    """A decoder's step on top of what the encoder said, with a cache of both."""
    import copy

    model = made(kind, "AutoModelForSpeechSeq2Seq", num_mel_bins=16, max_source_positions=20, use_cache=True).eval()

    def step(n: int, past: int, new: int) -> dict[str, Any]:
        with torch.no_grad():
            out = model(input_features=normal(n, 16, 40), decoder_input_ids=tokens(n, past), use_cache=True)
        return {
            "encoder_outputs": (out.encoder_last_hidden_state,),
            "decoder_input_ids": tokens(n, new),
            "past_key_values": copy.deepcopy(out.past_key_values),
            "use_cache": True,
        }

    return Zoo(model, step(2, 5, 3), step(3, 9, 4))


def series(kind: str) -> Zoo:
    changes: dict[str, Any] = {
        "prediction_length": 4,
        "context_length": 16,
        "lags_sequence": [1, 2],
        "num_time_features": 2,
    }
    if kind.startswith("patch"):
        changes = {
            "num_input_channels": 2,
            "context_length": 16,
            "patch_length": 4,
            "patch_stride": 4,
            "prediction_length": 4,
        }
    model = _series(kind, changes) if kind.startswith("patch") else made_computed(kind, "AutoModel", changes)

    def arguments(n: int) -> dict[str, Any]:
        if kind.startswith("patch"):
            return {"past_values": normal(n, 16, 2)}
        return {
            "past_values": normal(n, 18),
            "past_time_features": normal(n, 18, 2),
            "past_observed_mask": torch.ones(n, 18),
            "future_values": normal(n, 4),
            "future_time_features": normal(n, 4, 2),
        }

    return Zoo(model, arguments(2), arguments(3))


def made_computed(kind: str, auto: str, changes: dict[str, Any]) -> torch.nn.Module:
    """Of a configuration that computes values from others."""
    import transformers

    config = made_small(type(transformers.AutoConfig.for_model(kind)), changes)
    return getattr(transformers, auto).from_config(config)


def _series(kind: str, changes: dict[str, Any]) -> torch.nn.Module:
    import transformers

    name = {"patchtst": "PatchTST", "patchtsmixer": "PatchTSMixer"}[kind]
    return getattr(transformers, f"{name}ForPrediction")(shrink(getattr(transformers, f"{name}Config")(), changes))


@entry("layoutlm masked boxes", "documents")
def _() -> Zoo:
    model = made("layoutlm", "AutoModelForMaskedLM", max_2d_position_embeddings=64)

    def arguments(n: int, length: int) -> dict[str, Any]:
        return {
            "input_ids": tokens(n, length),
            "bbox": tokens(n, length * 4, 60).reshape(n, length, 4),
            "attention_mask": mask(n, length),
        }

    return Zoo(model, arguments(2, 12), arguments(3, 8))


@entry("decision_transformer", "series")
def _() -> Zoo:
    model = made("decision_transformer", "AutoModel", state_dim=5, act_dim=3, max_ep_len=64)

    def arguments(n: int, t: int) -> dict[str, Any]:
        return {
            "states": normal(n, t, 5),
            "actions": normal(n, t, 3),
            "rewards": normal(n, t, 1),
            "returns_to_go": normal(n, t, 1),
            "timesteps": torch.arange(t).repeat(n, 1),
            "attention_mask": torch.ones(n, t, dtype=torch.long),
        }

    return Zoo(model, arguments(2, 6), arguments(3, 9))


@entry("vits", "speech synthesis")
def _() -> Zoo:

    model = made(
        "vits",
        "AutoModel",
        flow_size=16,
        upsample_initial_channel=16,
        upsample_rates=[4, 2],
        upsample_kernel_sizes=[8, 4],
        resblock_kernel_sizes=[3],
        resblock_dilation_sizes=[[1, 3]],
        spectrogram_bins=9,
        use_stochastic_duration_prediction=False,
        noise_scale=0.0,
    )
    return Zoo(model, {"input_ids": tokens(2, 9, 30)}, {"input_ids": tokens(3, 12, 30)})


@entry("fastspeech2_conformer", "speech synthesis")
def _() -> Zoo:
    model = made(
        "fastspeech2_conformer",
        "AutoModel",
        num_mel_bins=16,
        encoder_num_attention_heads=2,
        decoder_num_attention_heads=2,
        encoder_linear_units=32,
        decoder_linear_units=32,
    )
    return Zoo(model, {"input_ids": tokens(1, 9, 70)}, {"input_ids": tokens(1, 12, 70)})


def codec(kind: str) -> Zoo:
    model = made(
        kind,
        "AutoModel",
        hidden_size=16,
        codebook_size=32,
        codebook_dim=16,
        num_filters=4,
        upsampling_ratios=[4, 2],
        encoder_hidden_size=8,
        downsampling_ratios=[4, 2],
        decoder_hidden_size=32,
        n_codebooks=2,
        num_quantizers=2,
    )
    return Zoo(model, {"input_values": waveform(2, 1600)[:, None]}, {"input_values": waveform(3, 2400)[:, None]})


def fill() -> None:
    from transformers.models.auto import modeling_auto as auto

    tables = [
        ("IMAGE_CLASSIFICATION", "image classification", "AutoModelForImageClassification"),
        ("OBJECT_DETECTION", "object detection", "AutoModelForObjectDetection"),
        ("DEPTH_ESTIMATION", "depth", "AutoModelForDepthEstimation"),
        ("SEMANTIC_SEGMENTATION", "semantic segmentation", "AutoModelForSemanticSegmentation"),
        ("UNIVERSAL_SEGMENTATION", "universal segmentation", "AutoModelForUniversalSegmentation"),
        ("BACKBONE", "backbones", "AutoBackbone"),
    ]
    for table, family, cls in tables:
        for kind in getattr(auto, f"MODEL_FOR_{table}_MAPPING_NAMES"):
            if kind not in UNSUITED:
                add(f"{kind} {family}", family, lambda kind=kind, cls=cls: vision(kind, cls))
    for kind in auto.MODEL_FOR_IMAGE_MAPPING_NAMES:
        if kind not in UNSUITED | MIXED_FEATURES and f"{kind} image classification" not in seen():
            add(f"{kind} features", "image features", lambda kind=kind: vision(kind, "AutoModel"))
    for kind in auto.MODEL_FOR_VIDEO_CLASSIFICATION_MAPPING_NAMES:
        add(f"{kind} video", "video classification", lambda kind=kind: video(kind))
    for kind in auto.MODEL_FOR_AUDIO_CLASSIFICATION_MAPPING_NAMES:
        add(f"{kind} audio", "audio", lambda kind=kind: audio(kind, "AutoModelForAudioClassification"))
    for kind in auto.MODEL_FOR_CTC_MAPPING_NAMES:
        add(f"{kind} ctc", "audio", lambda kind=kind: audio(kind, "AutoModelForCTC"))
    for kind in auto.MODEL_FOR_SPEECH_SEQ_2_SEQ_MAPPING_NAMES:
        if kind not in LISTENING:  # see `speech_models.py`
            add(f"{kind} speech", "speech to text", lambda kind=kind: speech_to_text(kind))
    add("whisper step", "speech to text", lambda: cached_speech("whisper"))
    for kind in [*auto.MODEL_FOR_ZERO_SHOT_IMAGE_CLASSIFICATION_MAPPING_NAMES, "groupvit", "flava", "owlvit", "owlv2"]:
        add(f"{kind} contrastive", "image and text", lambda kind=kind: contrastive(kind))
    for kind in auto.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES:
        add(f"{kind} mixed", "image and text", lambda kind=kind: mixed(kind))
    for kind in ("time_series_transformer", "informer", "autoformer", "patchtst", "patchtsmixer"):
        add(kind, "series", lambda kind=kind: series(kind))
    for kind in ("encodec", "dac", "mimi"):
        add(kind, "audio codecs", lambda kind=kind: codec(kind))


def seen() -> set[str]:
    from entry import ENTRIES

    return set(ENTRIES)


fill()
