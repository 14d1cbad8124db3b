"""Arguments of models of images and text: the forms in which they take images, by the parameters of `forward`.

A form gives the arguments of `n` texts of `length` tokens, each behind `count` tokens of its image; nothing if the model has
other parameters.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from entry import image, normal, tokens

IMAGE_TOKEN = 99
Form = Callable[[set[str], int, int, int, int], dict[str, Any]]


def text(n: int, length: int, count: int) -> dict[str, Any]:
    ids = torch.cat([torch.full((n, count), IMAGE_TOKEN), tokens(n, length)], 1)
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids)}


def among(names: set[str], arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments that the model has parameters for."""
    return {name: value for name, value in arguments.items() if name in names}


def plain(names: set[str], n: int, length: int, count: int, size: int) -> dict[str, Any]:
    more: dict[str, Any] = {
        "qformer_input_ids": tokens(n, 5),
        "high_res_pixel_values": image(n, 2 * size, 2 * size),
        "image_embeds_position_mask": torch.arange(count + length).repeat(n, 1) < count,
        "bbox": torch.tensor([1, 2, 5, 7]).repeat(n, count + length, 1),
        "image_sizes": torch.full((n, 2), size),
        "decoder_input_ids": tokens(n, 5),
        "mm_token_type_ids": (torch.arange(count + length).repeat(n, 1) < count).long(),
        "token_type_ids": (torch.arange(count + length).repeat(n, 1) < count).long(),
    }
    if "flattened_patches" in names or "input_ids" not in names:
        return {}
    return {**text(n, length, count), "pixel_values": image(n, size, size), **among(names, more)}


def unsized(names: set[str], n: int, length: int, count: int, size: int) -> dict[str, Any]:
    """Where sizes of images are for some of the encoders that the model may have."""
    given = plain(names, n, length, count, size) if "image_sizes" in names else {}
    given.pop("image_sizes", None)
    return given


def tiled(names: set[str], n: int, length: int, count: int, size: int) -> dict[str, Any]:
    """The images, or tiles, of a text are an axis of their own."""
    more: dict[str, Any] = {
        "image_sizes": torch.full((n, 2), size),
        "pixel_attention_mask": torch.ones(n, 1, size, size, dtype=torch.bool),
        "image_attention_mask": torch.ones(n, count + length, 1, dtype=torch.long),
        "qformer_input_ids": tokens(n, 5),
        "state": normal(n, 32),
        "noise": normal(n, 50, 32),
        "timestep": normal(n).sigmoid(),
    }
    return {**text(n, length, count), "pixel_values": image(n, size, size)[:, None], **among(names, more)}


def in_two_tiles(names: set[str], n: int, length: int, count: int, size: int) -> dict[str, Any]:
    """The whole image and one tile of it."""
    if "image_sizes" not in names:
        return {}
    pixels = normal(n, 2, 3, size, size)
    return {**text(n, length, count * 2), "pixel_values": pixels, "image_sizes": torch.full((n, 2), size)}


def patches(depth: int, places: bool = True) -> Form:
    """Images as rows of patches of 8 by 8, of a grid of 4 by 4, `depth` frames deep; with the places of all tokens."""

    def form(names: set[str], n: int, length: int, count: int, size: int) -> dict[str, Any]:
        if "image_grid_thw" not in names or size != 32:
            return {}
        arguments = text(1, length, count)
        ids = arguments["input_ids"]
        more = {
            **({"position_ids": torch.arange(count + length).expand(3, 1, -1).clone()} if places else {}),
            "mm_token_type_ids": (ids == IMAGE_TOKEN).long(),
            "image_merge_sizes": torch.tensor([2]),
        }
        pixels = {"pixel_values": normal(16, 3 * depth * 64), "image_grid_thw": torch.tensor([[1, 4, 4]])}
        return {**arguments, **pixels, **among(names, more)}

    return form


def squares(places: bool = True) -> Form:
    """Patches as small images."""

    def form(names: set[str], n: int, length: int, count: int, size: int) -> dict[str, Any]:
        given = patches(1, places)(names, n, length, count, size)
        return {**given, "pixel_values": given["pixel_values"].reshape(16, 3, 8, 8)} if given else {}

    return form


def padded_patches(names: set[str], n: int, length: int, count: int, size: int) -> dict[str, Any]:
    """Patches of images of any shape, padded to one number of them."""
    if "spatial_shapes" not in names:
        return {}
    side = size // 8
    return {
        **text(n, length, count),
        "pixel_values": normal(n, side * side, 192),
        "spatial_shapes": torch.full((n, 2), side),
        "pixel_attention_mask": torch.ones(n, side * side, dtype=torch.long),
    }


def chosen_tiles(names: set[str], n: int, length: int, count: int, size: int) -> dict[str, Any]:
    """Tiles with a mask of those that there are."""
    if not {"pixel_attention_mask", "pixel_values"} <= names:
        return {}
    return {**tiled(names, n, length, count, size), "pixel_attention_mask": torch.ones(n, 1, dtype=torch.bool)}


def of_height_and_width(names: set[str], n: int, length: int, count: int, size: int) -> dict[str, Any]:
    """Patches of images, with rows and columns of each."""
    if "image_grid_hw" not in names or size != 32:
        return {}
    return {**text(1, length, count), "pixel_values": normal(16, 768), "image_grid_hw": torch.tensor([[4, 4]])}


def strips(names: set[str], n: int, length: int, count: int, size: int) -> dict[str, Any]:
    """Patches in a row, as one wide image."""
    if "target_sizes" not in names or size != 32:
        return {}
    sizes = torch.tensor([[4, 8]], dtype=torch.int32)
    given = text(1, length, count)
    if "mm_token_type_ids" in names:
        given["mm_token_type_ids"] = (given["input_ids"] == IMAGE_TOKEN).long()
        given["position_ids"] = torch.arange(count + length).expand(3, 1, -1).clone()
    return {**given, "pixel_values": image(1, 8, 256), "target_sizes": sizes}


def last_channels(names: set[str], n: int, length: int, count: int, size: int) -> dict[str, Any]:
    """Squares of patches with their channels at the end, of a grid; or frames of whole images."""
    if "image_grid_thw" in names:
        given = patches(1, places=False)(names, n, length, count, size)
        return {**given, "pixel_values": normal(4, 16, 16, 3)} if given else {}
    return {**text(n, length, count), "pixel_values": normal(n, 2, size, size, 3)}


def aspects(names: set[str], n: int, length: int, count: int, size: int) -> dict[str, Any]:
    """Four tiles, in one of several arrangements."""
    if "aspect_ratio_ids" not in names:
        return {}
    return {
        **text(n, length, 1),
        "pixel_values": normal(n, 1, 4, 3, size, size),
        "aspect_ratio_ids": torch.ones(n, 1, dtype=torch.long),
        "aspect_ratio_mask": torch.ones(n, 1, 4, dtype=torch.long),
        "cross_attention_mask": torch.ones(n, 1 + length, 1, 4, dtype=torch.long),
    }


def placed_patches(names: set[str], n: int, length: int, count: int, size: int) -> dict[str, Any]:
    """Rows of patches with the places of each, of a grid of 6 by 6."""
    if "image_position_ids" not in names or size != 32:
        return {}
    places = torch.tensor([[i % 6, i // 6] for i in range(36)]).repeat(n, 1, 1)
    more = {"mm_token_type_ids": (torch.arange(count + length).repeat(n, 1) < count).long()}
    images = {"pixel_values": normal(n, 36, 192).sigmoid(), "image_position_ids": places}
    return {**text(n, length, count), **images, **among(names, more)}


def rows_of_patches(names: set[str], n: int, length: int, count: int, size: int) -> dict[str, Any]:
    """Patches without a grid."""
    return (
        {**text(n, length, count), "pixel_values": normal(n, (size // 8) ** 2, 192)} if "pixel_values" in names else {}
    )


def flattened(names: set[str], n: int, length: int, count: int, size: int) -> dict[str, Any]:
    """Patches with their row and column."""
    if "flattened_patches" not in names:
        return {}
    places = torch.tensor([[1.0 + i // 4, 1.0 + i % 4] for i in range(16)]).repeat(n, 1, 1)
    return {
        "flattened_patches": torch.cat([places, normal(n, 16, 192)], 2),
        "attention_mask": torch.ones(n, 16),
        "decoder_input_ids": tokens(n, length),
    }


def without_text(names: set[str], n: int, length: int, count: int, size: int) -> dict[str, Any]:
    """An encoder of images and a decoder of text."""
    if "decoder_input_ids" not in names:
        return {}
    return {"pixel_values": image(n, size, size), "decoder_input_ids": tokens(n, length)}


FORMS: list[Form] = [
    plain,
    unsized,
    tiled,
    in_two_tiles,
    patches(2),
    patches(1),
    patches(2, places=False),
    patches(1, places=False),
    padded_patches,
    aspects,
    flattened,
    without_text,
    placed_patches,
    rows_of_patches,
    squares(),
    squares(places=False),
    chosen_tiles,
    of_height_and_width,
    strips,
    last_channels,
]
