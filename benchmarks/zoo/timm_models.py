"""timm: the smallest model of each group of names in each of its files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch

from entry import Zoo, add, first_that_runs, image

PICKED = Path(__file__).with_name("timm_models.json")


def build(name: str) -> Zoo:
    import timm

    model = timm.create_model(name, pretrained=False, num_classes=9)
    _, height, width = model.default_cfg["input_size"]

    def pair(h: int, w: int, h2: int, w2: int) -> tuple[dict[str, Any], dict[str, Any]]:
        return {argument: image(2, h, w)}, {argument: image(3, h2, w2)}

    argument = next(iter(__import__("inspect").signature(model.forward).parameters))
    pairs = [pair(height, width, height, width)]
    if height > 64:
        for size in (64, 128):
            try:
                smaller = timm.create_model(name, pretrained=False, num_classes=9, img_size=size)
            except Exception:  # takes no size, or not this one
                break
            if first_that_runs(smaller, pair(size, size, size, size), ({}, {}))[0]:
                return Zoo(smaller, *pair(size, size, size, size))
        pairs.insert(0, pair(64, 96, 96, 128))
        pairs.insert(1, pair(128, 160, 160, 128))
    return Zoo(model, *first_that_runs(model, *pairs))


def pick() -> list[str]:
    """The smallest of each group, by parameters on the meta device."""
    import re

    import timm

    best: dict[tuple[str, str], tuple[int, str]] = {}
    for module in timm.list_modules():
        for name in timm.list_models(module=module):
            try:
                with torch.device("meta"):
                    size = sum(p.numel() for p in timm.create_model(name, pretrained=False).parameters())
            except Exception:
                continue
            words = re.findall("[a-z]+", name)
            group = (module, words[0] if words else name)
            best[group] = min(best.get(group, (size, name)), (size, name))
    return [name for _, name in best.values()]


def fill() -> None:
    for name in json.loads(PICKED.read_text()) if PICKED.exists() else []:
        add(f"timm {name}", "timm", lambda name=name: build(name))


if __name__ == "__main__":
    PICKED.write_text(json.dumps(sorted(pick()), indent=0) + "\n")
else:
    fill()
