"""Small configurations of vision models: stages, and backbones in parts of a model, on top of `small.py`."""

from __future__ import annotations

from typing import Any

from small import shrink

# Lists with one number for each stage: what it is at four stages.
STAGES: dict[str, list[int]] = {
    "depths": [1, 1, 1, 1],
    "hidden_sizes": [8, 16, 16, 32],
    "embed_dims": [8, 16, 16, 32],
    "num_heads": [1, 2, 2, 4],
    "stage_in_channels": [8, 16, 16, 16],
    "stage_mid_channels": [8, 8, 8, 8],
    "stage_out_channels": [16, 16, 16, 32],
    "stage_num_blocks": [1, 1, 1, 1],
    "stage_numb_of_layers": [2, 2, 2, 2],
    "stem_channels": [3, 8, 8],
    "focal_levels": [1, 1, 1, 1],
    "neck_hidden_sizes": [8, 8, 16, 16],
}
# Widths of necks and heads.
WIDTHS = {
    "fusion_hidden_size": 16,
    "bottleneck_features": 16,
    "bin_embedding_dim": 16,
    "num_relative_features": 8,
}
# Lists of layers, and sizes of windows and tables, of encoders of images in language models.
ENCODERS: dict[str, Any] = {
    "deepstack_visual_indexes": [0],
    "fullatt_block_indexes": [1],
    "window_size": 32,
    "num_position_embeddings": 16,
    "mm_tokens_per_image": 4,
    "projection_dim": 32,
}
TOKENS = {"image_token_id": 99, "image_token_index": 99, "video_token_id": 98, "vision_start_token_id": 97}


def shrink_mixed(config: Any, changes: dict[str, Any] | None = None) -> Any:
    """`shrink_vision` of a model of images and text, whose image token is 99."""
    shrink_vision(config, changes)
    _mixed(config, changes or {})
    return config


def _mixed(config: Any, changes: dict[str, Any]) -> None:
    from transformers import PretrainedConfig

    for name, value in list(vars(config).items()):
        part = changes.get(name)
        if isinstance(value, PretrainedConfig):
            _mixed(value, part if isinstance(part, dict) else {})
        elif name in TOKENS and name not in changes:
            setattr(config, name, TOKENS[name])
        elif name in ENCODERS and name not in changes and isinstance(value, (int, list, tuple)):
            setattr(config, name, ENCODERS[name])
        elif name == "rope_parameters" and isinstance(value, dict) and "rope_theta" in value:
            half = int(8 * value.get("partial_rotary_factor", 1)) // 2
            value["mrope_section"] = [1, 1, half - 2]  # others than models of images don't look at it


def shrink_vision(config: Any, changes: dict[str, Any] | None = None) -> Any:
    """`shrink`, with the lists of stages, and with outputs that there are in backbones of few layers."""
    changes = changes or {}
    config = shrink(config, changes)
    _stages(config, changes)
    return config


def _stages(config: Any, changes: dict[str, Any]) -> None:
    from transformers import PretrainedConfig

    for name, value in list(vars(config).items()):
        if isinstance(value, PretrainedConfig):
            part = changes.get(name)
            _stages(value, part if isinstance(part, dict) else {})
    for name, small in STAGES.items():
        old = vars(config).get(name)
        if isinstance(old, (list, tuple)) and name not in changes:
            setattr(config, name, [*small, *[small[-1]] * len(old)][: len(old)])
    for name, width in WIDTHS.items():
        if isinstance(vars(config).get(name), int) and name not in changes:
            setattr(config, name, width)
    if "stage_names" not in vars(config):
        return
    taken = len(config._out_indices or [0])
    depths = vars(config).get("depths")
    if depths is None and "num_hidden_layers" not in changes:
        config.num_hidden_layers = max(taken, 2)
    stages = len(depths) if depths is not None else config.num_hidden_layers
    taken = min(taken, stages)
    if "num_stages" in vars(config):
        config.num_stages = stages
    config.stage_names = ["stem", *[f"stage{i + 1}" for i in range(stages)]]
    if "out_features" in changes or "out_indices" in changes:
        return
    config._out_indices = list(range(stages + 1 - taken, stages + 1))
    config._out_features = config.stage_names[-taken:]
