"""All of torchvision. A few giants are left out: they differ from their siblings in width alone."""

from __future__ import annotations

from typing import Any

import torch

from entry import Zoo, add, entry, first_that_runs, image, normal, uniform

GIANTS = {"regnet_y_128gf", "vit_h_14", "vit_l_16", "vit_l_32", "regnet_y_32gf", "regnet_x_32gf", "convnext_large"}
HEADS = ("cls_logits", "cls_score", "bbox_pred", "classification_head", "kps_score", "mask_fcn_logits")


class Images(torch.nn.Module):
    """Names the first argument `image`."""

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, image: torch.Tensor) -> Any:
        return self.model(image)


def classifier(name: str) -> Zoo:
    from torchvision import models

    options: dict[str, Any] = {"init_weights": False} if name in ("googlenet", "inception_v3") else {}
    if name.startswith("vit"):
        options["image_size"] = 64
    model = Images(models.get_model(name, weights=None, num_classes=9, **options))
    return Zoo(model, *sizes(model, 64 if name.startswith("vit") else 224))


def shifting(name: str) -> Zoo:
    """Images so large that windows are shifted in all stages: where one window is all, the model leaves that out."""
    from torchvision import models

    model = Images(models.get_model(name, weights=None, num_classes=9))
    return Zoo(model, {"image": image(1, 288, 320)}, {"image": image(2, 320, 288)})


def sizes(model: torch.nn.Module, fixed: int) -> tuple[dict[str, Any], dict[str, Any]]:
    return first_that_runs(
        model,
        ({"image": image(2, 64, 80)}, {"image": image(3, 96, 72)}),
        ({"image": image(2, 96, 128)}, {"image": image(3, 128, 96)}),
        ({"image": image(2, fixed, fixed)}, {"image": image(3, fixed, fixed)}),
    )


def quantized(name: str) -> Zoo:
    from torchvision.models import quantization

    options = {"init_weights": False} if name in ("quantized_googlenet", "quantized_inception_v3") else {}
    model = Images(getattr(quantization, name.removeprefix("quantized_"))(weights=None, quantize=True, **options))
    return Zoo(model, {"image": image(2, 224, 224)}, {"image": image(3, 224, 224)}, rtol=5e-2, telling=False)


def segmenter(name: str) -> Zoo:
    from torchvision import models

    model = Images(models.get_model(name, weights=None, weights_backbone=None, num_classes=5))
    return Zoo(model, {"image": image(2, 64, 80)}, {"image": image(3, 96, 72)})


def clip(name: str) -> Zoo:
    from torchvision import models

    model = Images(models.get_model(name, weights=None, num_classes=9))
    frames, size = (16, 224) if name.startswith(("mvit", "s3d")) else (16, 64)
    pairs = [
        ({"image": normal(2, 3, frames, size, size)}, {"image": normal(3, 3, frames * 2, size, size)}),
        ({"image": normal(1, 3, frames, size, size)}, {"image": normal(2, 3, frames, size, size)}),
    ]
    return Zoo(model, *first_that_runs(model, *pairs[1 if name.startswith(("mvit", "swin3d")) else 0 :]))


class Detector(torch.nn.Module):
    """A detector on one image, or on each image of a list."""

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, images: list[torch.Tensor]) -> Any:
        return self.model(images)


def detector(name: str, kind: str = "") -> Zoo:
    from torchvision.models import detection

    options: dict[str, Any] = {"weights": None, "weights_backbone": None, "num_classes": 7}
    two_stage = "rcnn" in name
    if not name.startswith("ssd"):
        options |= {"min_size": 96, "max_size": 160}
    if two_stage:
        options |= {"rpn_post_nms_top_n_test": 50, "box_detections_per_img": 20}
        options["box_score_thresh"] = 2.0 if kind == "none" else 0.05
    else:
        options["detections_per_img"] = 30
        options["score_thresh"] = 2.0 if kind == "none" else 0.05
    if "keypoint" in name:
        options |= {"num_classes": 2, "num_keypoints": 5}
    model = getattr(detection, name.split(" ")[0])(**options)
    with torch.no_grad():
        for parameter_name, parameter in model.named_parameters():
            if (
                parameter.ndim > 1
                and any(head in parameter_name for head in HEADS)
                and not two_stage
                and "ssd" not in name
            ):
                parameter.mul_(1.5)

    def images(*pairs: tuple[int, int]) -> dict[str, Any]:
        return {"images": [uniform(3, *pair, seed=i) for i, pair in enumerate(pairs)]}

    example, other = images((96, 128)), images((120, 112))
    if kind == "two":
        example, other = images((96, 128), (80, 64)), images((120, 112), (96, 100))
    calibrate = images((160, 160), (160, 150), (150, 150), (140, 160))
    return Zoo(Detector(model), example, other, rtol=1e-2, unordered=True, calibrate=calibrate)


@entry("raft_small", "torchvision flow")
def _() -> Zoo:
    return flow("raft_small")


@entry("raft_large", "torchvision flow")
def _() -> Zoo:
    return flow("raft_large")


class Flow(torch.nn.Module):
    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, image1: torch.Tensor, image2: torch.Tensor) -> Any:
        return self.model(image1, image2, num_flow_updates=2)[-1]


def flow(name: str) -> Zoo:
    from torchvision.models import optical_flow

    def pair(n: int, h: int, w: int) -> dict[str, Any]:
        return {"image1": normal(n, 3, h, w), "image2": normal(n, 3, h, w, seed=1)}

    return Zoo(Flow(getattr(optical_flow, name)(weights=None)), pair(2, 128, 136), pair(3, 144, 128), rtol=1e-2)


def fill() -> None:
    from torchvision import models
    from torchvision.models import detection, quantization, segmentation, video

    for name in models.list_models(module=models):
        if name not in GIANTS:
            add(name, "torchvision classification", lambda name=name: classifier(name))
    add("swin_v2_t, large images", "torchvision classification", lambda: shifting("swin_v2_t"))
    for name in models.list_models(module=quantization):
        add(name, "torchvision quantized", lambda name=name: quantized(name))
    for name in models.list_models(module=segmentation):
        add(name, "torchvision segmentation", lambda name=name: segmenter(name))
    for name in models.list_models(module=video):
        add(name, "torchvision video", lambda name=name: clip(name))
    for name in models.list_models(module=detection):
        for kind in ("", "none", "two"):
            title = f"{name} {kind}".strip()
            add(title, "torchvision detection", lambda name=name, kind=kind: detector(name, kind))


fill()
