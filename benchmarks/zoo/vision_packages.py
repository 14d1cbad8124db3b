"""Packages of vision models that need nothing beside torch: vit-pytorch, pytorchcv, monai.

Each is optional: what isn't installed is unbuilt.
"""

from __future__ import annotations

import importlib
from typing import Any

import torch
from torch import nn

from entry import Zoo, add, image, normal

SMALL_VIT = {"image_size": 64, "patch_size": 16, "num_classes": 5, "dim": 32, "depth": 2, "heads": 2, "mlp_dim": 64}
STAGES = {"channels": (8, 16, 32), "strides": (2, 2)}
LATENT = {"num_res_blocks": (1, 1), "channels": (8, 16), "attention_levels": (False, True), "norm_num_groups": 4}


class Called(nn.Module):
    """A module called with one image, whatever it calls its argument."""

    def __init__(self, module: nn.Module, method: str = "forward") -> None:
        super().__init__()
        self.module, self.method = module, method

    def forward(self, x: torch.Tensor) -> Any:
        return getattr(self.module, self.method)(x)


def vit(module: str, cls: str = "ViT", *, video: bool = False, **options: Any) -> Zoo:
    """Images of one size, any number of them."""
    given = {**SMALL_VIT, **options}
    if video:
        given["image_patch_size"] = given.pop("patch_size")
    model = getattr(importlib.import_module(f"vit_pytorch.{module}"), cls)(**given)
    size = (3, 4, 64, 64) if video else (3, 64, 64)
    return Zoo(Called(model), {"x": normal(2, *size)}, {"x": normal(3, *size)}, further=[{"x": normal(1, *size)}])


def of_any_size(model: nn.Module, *size: int, channels: int = 1, step: int = 32, method: str = "forward") -> Zoo:
    """Images whose sizes are whole multiples of a step, or any where it is 1."""
    sizes = [[n + step * k * (i + 1) for i, n in enumerate(size)] for k in (1, 2)]
    made = [{"x": normal(b, channels, *n)} for b, n in ((2, size), (1, sizes[0]), (3, sizes[1]))]
    return Zoo(Called(model, method), made[0], made[1], further=made[2:])


def monai(name: str) -> Zoo:
    nets = importlib.import_module("monai.networks.nets")
    features = {"features": (8, 8, 16, 16, 32, 8)}
    if name == "UNet":
        return of_any_size(nets.UNet(2, 1, 2, **STAGES, num_res_units=2), 64, 64)
    if name == "AttentionUnet 3-D":
        return of_any_size(nets.AttentionUnet(3, 1, 2, **STAGES), 32, 32, 32, step=8)
    if name == "BasicUNet":
        return of_any_size(nets.BasicUNet(2, 1, 2, **features), 48, 48, step=5)
    if name == "SegResNet 3-D":
        return of_any_size(nets.SegResNet(3, 8, 1, 2), 32, 32, 32, step=8)
    if name == "DynUNet":
        steps = {"kernel_size": [3, 3, 3], "strides": [1, 2, 2], "upsample_kernel_size": [2, 2]}
        return of_any_size(nets.DynUNet(2, 1, 2, **steps, filters=[8, 16, 32]), 64, 64)
    if name == "AutoencoderKL":
        return of_any_size(nets.AutoencoderKL(2, 1, 1, **LATENT, latent_channels=3), 32, 32, method="reconstruct")
    raise ValueError(name)


def diffusion() -> Zoo:
    nets = importlib.import_module("monai.networks.nets")
    model = nets.DiffusionModelUNet(2, 1, 1, **LATENT, num_head_channels=8)

    def given(n: int, height: int, width: int) -> dict[str, Any]:
        return {"x": image(n, height, width, 1), "timesteps": torch.arange(n) * 100 + 3}

    return Zoo(model, given(2, 32, 32), given(3, 64, 48), further=[given(1, 32, 64)])


def cv(name: str, size: int) -> Zoo:
    model = importlib.import_module("pytorchcv.model_provider").get_model(name, pretrained=False)
    made = [{"x": image(n, size, size)} for n in (2, 3, 1)]
    return Zoo(Called(model), made[0], made[1], further=made[2:])


def fill() -> None:
    for module in ("simple_vit_with_register_tokens", "simple_vit_with_qk_norm"):
        add(f"vit-pytorch {module}", "vit-pytorch", lambda module=module: vit(module, "SimpleViT"))
    for module, cls in (("xcit", "XCiT"), ("vit_for_small_dataset", "ViT"), ("parallel_vit", "ViT")):
        more = {"cls_depth": 1} if module == "xcit" else {}
        add(f"vit-pytorch {module}", "vit-pytorch", lambda m=module, c=cls, more=more: vit(m, c, **more))
    add("vit-pytorch vit_3d", "vit-pytorch", lambda: vit("vit_3d", video=True, frames=4, frame_patch_size=2))
    for name in ("UNet", "AttentionUnet 3-D", "BasicUNet", "SegResNet 3-D", "DynUNet", "AutoencoderKL"):
        add(f"monai {name}", "monai", lambda name=name: monai(name))
    add("monai DiffusionModelUNet", "monai", diffusion)
    for name, size in (
        ("seresnet10", 224), ("darts", 224), ("octresnet10_ad2", 224), ("fractalnet_cifar10", 32), ("hardnet39ds", 224)
    ):  # fmt: skip
        add(f"pytorchcv {name}", "pytorchcv", lambda name=name, size=size: cv(name, size))


fill()
