"""Packages beside the large ones: kornia, segmentation-models-pytorch, ultralytics, x-transformers, flows, e3nn, speech.

Each is optional: what isn't installed is unbuilt.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from entry import Zoo, add, image, mask, normal, tokens, uniform, waveform


class Calls(nn.Module):
    """A function or module called with its arguments by name or in order."""

    def __init__(self, call: Callable[..., Any], in_order: bool = True) -> None:
        super().__init__()
        self.call, self.in_order = call, in_order

    def forward(self, **arguments: Any) -> Any:
        return self.call(*arguments.values()) if self.in_order else self.call(**arguments)


# -- kornia -----------------------------------------------------------------------------------------


def turned(n: int) -> torch.Tensor:
    """Affine matrices near to the identity."""
    angle = torch.linspace(-0.2, 0.3, n)
    rows = [
        torch.stack([angle.cos(), -angle.sin(), angle * 5], -1),
        torch.stack([angle.sin(), angle.cos(), -angle * 3], -1),
    ]
    return torch.stack(rows, 1)


def warped(n: int) -> torch.Tensor:
    return torch.cat([turned(n), torch.tensor([[[0.001, 0.0005, 1.0]]]).repeat(n, 1, 1)], 1)


class OnPatches(nn.Module):
    def __init__(self, describe: nn.Module) -> None:
        super().__init__()
        self.describe = describe

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.describe(x[:, :1, :32, :32])


def kornia_of_images() -> dict[str, Callable[[Any], Callable[..., Any]]]:
    return {
        "gaussian_blur2d": lambda k: lambda x: k.filters.gaussian_blur2d(x, (5, 5), (1.5, 1.5)),
        "median_blur": lambda k: lambda x: k.filters.median_blur(x, (3, 3)),
        "bilateral_blur": lambda k: lambda x: k.filters.bilateral_blur(x, (3, 3), 0.1, (1.5, 1.5)),
        "box_blur": lambda k: lambda x: k.filters.box_blur(x, (3, 3)),
        "blur_pool2d": lambda k: lambda x: k.filters.blur_pool2d(x, 3),
        "sobel": lambda k: lambda x: k.filters.sobel(x),
        "spatial_gradient": lambda k: lambda x: k.filters.spatial_gradient(x),
        "laplacian": lambda k: lambda x: k.filters.laplacian(x, 3),
        "canny": lambda k: k.filters.Canny(),
        "unsharp_mask": lambda k: lambda x: k.filters.unsharp_mask(x, (3, 3), (1.5, 1.5)),
        "guided_blur": lambda k: lambda x: k.filters.guided_blur(x, x, 3, 0.1),
        "motion_blur": lambda k: lambda x: k.filters.motion_blur(x, 5, 35.0, 0.5),
        "rgb_to_hsv": lambda k: k.color.rgb_to_hsv,
        "hsv_to_rgb": lambda k: k.color.hsv_to_rgb,
        "rgb_to_hls": lambda k: k.color.rgb_to_hls,
        "rgb_to_lab": lambda k: k.color.rgb_to_lab,
        "lab_to_rgb": lambda k: k.color.lab_to_rgb,
        "rgb_to_luv": lambda k: k.color.rgb_to_luv,
        "rgb_to_ycbcr": lambda k: k.color.rgb_to_ycbcr,
        "rgb_to_yuv420": lambda k: k.color.rgb_to_yuv420,
        "rgb_to_grayscale": lambda k: k.color.rgb_to_grayscale,
        "rgb_to_xyz": lambda k: k.color.rgb_to_xyz,
        "rgb_to_raw": lambda k: lambda x: k.color.rgb_to_raw(x, k.color.CFA.BG),
        "sepia": lambda k: k.color.sepia,
        "adjust_hue": lambda k: lambda x: k.enhance.adjust_hue(x, 0.3),
        "adjust_gamma": lambda k: lambda x: k.enhance.adjust_gamma(x, 1.7),
        "adjust_contrast": lambda k: lambda x: k.enhance.adjust_contrast(x, 1.3),
        "adjust_saturation": lambda k: lambda x: k.enhance.adjust_saturation(x, 1.3),
        "adjust_sigmoid": lambda k: lambda x: k.enhance.adjust_sigmoid(x),
        "equalize": lambda k: k.enhance.equalize,
        "equalize_clahe": lambda k: lambda x: k.enhance.equalize_clahe(x, 20.0, (2, 2)),
        "posterize": lambda k: lambda x: k.enhance.posterize(x, 3),
        "solarize": lambda k: lambda x: k.enhance.solarize(x, 0.5),
        "sharpness": lambda k: lambda x: k.enhance.sharpness(x, 0.5),
        "invert": lambda k: k.enhance.invert,
        "normalize_min_max": lambda k: k.enhance.normalize_min_max,
        "histogram": lambda k: lambda x: k.enhance.histogram(x.flatten(1), torch.linspace(0, 1, 8), torch.tensor(0.1)),
        "jpeg": lambda k: lambda x: k.enhance.jpeg_codec_differentiable(x, torch.tensor([90.0])),
        "zca": lambda k: lambda x: k.enhance.zca_mean(x.flatten(1))[0],
        "harris_response": lambda k: k.feature.harris_response,
        "gftt_response": lambda k: k.feature.gftt_response,
        "hessian_response": lambda k: k.feature.hessian_response,
        "dog_response": lambda k: lambda x: k.feature.dog_response_single(x),
        "corner_harris": lambda k: k.feature.CornerHarris(0.04),
        "resize": lambda k: lambda x: k.geometry.resize(x, (20, 30)),
        "rescale": lambda k: lambda x: k.geometry.rescale(x, 0.5),
        "rotate": lambda k: lambda x: k.geometry.rotate(x, torch.full((x.shape[0],), 20.0)),
        "translate": lambda k: lambda x: k.geometry.translate(x, torch.full((x.shape[0], 2), 2.5)),
        "scale": lambda k: lambda x: k.geometry.scale(x, torch.full((x.shape[0], 2), 1.3)),
        "shear": lambda k: lambda x: k.geometry.shear(x, torch.full((x.shape[0], 2), 0.2)),
        "center_crop": lambda k: lambda x: k.geometry.center_crop(x, (16, 20)),
        "hflip": lambda k: k.geometry.hflip,
        "rot180": lambda k: k.geometry.rot180,
        "pyrdown": lambda k: k.geometry.pyrdown,
        "pyrup": lambda k: k.geometry.pyrup,
        "build_pyramid": lambda k: lambda x: k.geometry.build_pyramid(x, 3),
        "spatial_soft_argmax2d": lambda k: k.geometry.spatial_soft_argmax2d,
        "conv_soft_argmax2d": lambda k: lambda x: k.geometry.conv_soft_argmax2d(x),
        "nms2d": lambda k: lambda x: k.geometry.nms2d(x, (5, 5)),
        "elastic": lambda k: lambda x: k.geometry.elastic_transform2d(x, torch.zeros(x.shape[0], 2, *x.shape[-2:]) + 0.1, (7, 7), (2.0, 2.0)),
        "dilation": lambda k: lambda x: k.morphology.dilation(x, torch.ones(3, 3)),
        "opening": lambda k: lambda x: k.morphology.opening(x, torch.ones(3, 3)),
        "gradient": lambda k: lambda x: k.morphology.gradient(x, torch.ones(3, 3)),
        "distance_transform": lambda k: lambda x: k.contrib.distance_transform((x[:, :1] > 0.5).float()),
        "extract_patches": lambda k: lambda x: k.contrib.extract_tensor_patches(x, (8, 8), (8, 8)),
        "connected_components": lambda k: lambda x: k.contrib.connected_components((x[:, :1] > 0.5).float(), 10),
        "ssim": lambda k: lambda x: k.metrics.ssim(x, x.flip(-1), 5),
        "total_variation": lambda k: k.losses.total_variation,
        "hardnet": lambda k: OnPatches(k.feature.HardNet(False).eval()),
        "sosnet": lambda k: OnPatches(k.feature.SOSNet(False).eval()),
        "tiny_vit": lambda k: k.contrib.TinyViT(num_classes=5, embed_dims=[16, 32, 48, 64], depths=[1, 1, 1, 1], num_heads=[1, 2, 3, 4], window_sizes=[7, 7, 14, 7], img_size=224),
    }  # fmt: skip


def kornia_image(name: str) -> Zoo:
    import kornia

    torch.manual_seed(0)
    call = kornia_of_images()[name](kornia)
    if name == "tiny_vit":
        return Zoo(Calls(call), {"x": uniform(2, 3, 224, 224)}, {"x": uniform(3, 3, 224, 224)})
    return Zoo(Calls(call), {"x": uniform(2, 3, 40, 48)}, {"x": uniform(3, 3, 48, 64)})


def kornia_others() -> dict[str, tuple[Callable[[Any], Callable[..., Any]], Callable[[int], dict[str, Any]]]]:
    def points(n: int) -> dict[str, Any]:
        return {"a": uniform(n, n + 6, 2) * 20, "b": uniform(n, n + 6, 2, seed=1) * 20}

    return {
        "warp_affine": (lambda k: lambda x, m: k.geometry.warp_affine(x, m, (24, 30)), lambda n: {"x": uniform(n, 3, 20 + n, 26), "m": turned(n)}),
        "warp_perspective": (lambda k: lambda x, m: k.geometry.warp_perspective(x, m, (24, 30)), lambda n: {"x": uniform(n, 3, 20 + n, 26), "m": warped(n)}),
        "homography_warp": (lambda k: lambda x, m: k.geometry.homography_warp(x, m, (24, 30)), lambda n: {"x": uniform(n, 3, 20 + n, 26), "m": warped(n)}),
        "remap": (lambda k: lambda x, a, b: k.geometry.remap(x, a, b, align_corners=True), lambda n: {"x": uniform(n, 3, 20, 26), "a": uniform(n, 12, 14) * 25, "b": uniform(n, 12, 14, seed=1) * 19}),
        "get_perspective_transform": (lambda k: k.geometry.get_perspective_transform, lambda n: {"a": torch.tensor([[0.0, 0], [20, 0], [20, 30], [0, 30]]) + uniform(n, 4, 2), "b": torch.tensor([[0.0, 0], [20, 0], [20, 30], [0, 30]]) + uniform(n, 4, 2, seed=1)}),
        "transform_points": (lambda k: k.geometry.transform_points, lambda n: {"m": warped(n), "a": uniform(n, 9, 2) * 20}),
        "find_homography_dlt": (lambda k: lambda a, b: k.geometry.transform_points(k.geometry.find_homography_dlt(a, b), a), points),
        "axis_angle_to_rotation_matrix": (lambda k: k.geometry.axis_angle_to_rotation_matrix, lambda n: {"a": normal(n, 3)}),
        "rotation_matrix_to_quaternion": (lambda k: lambda a: k.geometry.rotation_matrix_to_quaternion(k.geometry.axis_angle_to_rotation_matrix(a)), lambda n: {"a": normal(n, 3)}),
        "quaternion_to_rotation_matrix": (lambda k: k.geometry.quaternion_to_rotation_matrix, lambda n: {"a": normal(n, 4)}),
        "euler_from_quaternion": (lambda k: lambda a: k.geometry.euler_from_quaternion(*a.unbind(-1)), lambda n: {"a": nn.functional.normalize(normal(n, 4), dim=-1)}),
        "project_points": (lambda k: k.geometry.project_points, lambda n: {"a": normal(n, 3) + 3, "m": torch.tensor([[30.0, 0, 10], [0, 30, 12], [0, 0, 1]]).repeat(n, 1, 1)}),
        "depth_to_3d": (lambda k: k.geometry.depth_to_3d, lambda n: {"a": uniform(n, 1, 10 + n, 12) + 1, "m": torch.tensor([[30.0, 0, 10], [0, 30, 12], [0, 0, 1]]).repeat(n, 1, 1)}),
        "undistort_points": (lambda k: k.geometry.undistort_points, lambda n: {"a": uniform(n, 8, 2) * 20, "m": torch.tensor([[30.0, 0, 10], [0, 30, 12], [0, 0, 1]]).repeat(n, 1, 1), "d": normal(n, 5) * 0.01}),
        "match_mnn": (lambda k: k.feature.match_mnn, lambda n: {"a": normal(n + 7, 16), "b": normal(n + 9, 16)}),
        "match_snn": (lambda k: lambda a, b: k.feature.match_snn(a, b, 0.95), lambda n: {"a": normal(n + 7, 16), "b": normal(n + 9, 16)}),
        "crop_and_resize": (lambda k: lambda x, b: k.geometry.crop_and_resize(x, b, (8, 9)), lambda n: {"x": uniform(n, 3, 20, 24), "b": torch.tensor([[1.0, 1], [11, 1], [11, 13], [1, 13]]) + uniform(n, 4, 2)}),
        "focal_loss": (lambda k: lambda x, y: k.losses.focal_loss(x, y, 0.5, reduction="none"), lambda n: {"x": normal(n, 5, 6, 7), "y": tokens(n, 42, 5 + 5).reshape(n, 6, 7) - 5}),
        "one_hot": (lambda k: lambda y: k.utils.one_hot(y, 6, torch.device("cpu"), torch.float32), lambda n: {"y": tokens(n, 9, 11) - 5}),
        "histogram_matching": (lambda k: k.contrib.histogram_matching, lambda n: {"a": uniform(n, 3, 8, 9), "b": uniform(n, 3, 8, 9, seed=1)}),
    }  # fmt: skip


def kornia_other(name: str) -> Zoo:
    import kornia

    make, arguments = kornia_others()[name]
    return Zoo(Calls(make(kornia)), arguments(2), arguments(3))


# -- segmentation ------------------------------------------------------------------------------------


def segmentation(cls: str, encoder: str = "resnet18", **options: Any) -> Zoo:
    import segmentation_models_pytorch as smp

    model = getattr(smp, cls)(encoder, encoder_weights=None, classes=4, **options)
    fixed = cls in ("PAN", "DPT")
    sizes = (128, 128, 128, 128) if fixed else (64, 96, 96, 128)
    if cls == "DPT":
        sizes = (224, 224, 224, 224)
    return Zoo(Calls(model), {"x": image(2, *sizes[:2])}, {"x": image(3, *sizes[2:])})


# -- ultralytics -------------------------------------------------------------------------------------


def yolo(name: str) -> Zoo:
    """As its own exporter sets it up."""
    from ultralytics import YOLO
    from ultralytics.nn import modules as parts

    model = YOLO(f"{name}.yaml", verbose=False).model.eval().float()
    for module in model.modules():
        if isinstance(module, (parts.Detect, parts.RTDETRDecoder)):
            module.dynamic, module.export, module.format = True, True, "onnx"
        elif isinstance(module, parts.C2f):
            module.forward = module.forward_split
    sizes = ((64, 64), (64, 64)) if "cls" in name or "rtdetr" in name else ((64, 96), (96, 128))
    if "rtdetr" in name:
        sizes = ((256, 256), (256, 256))
    return Zoo(Calls(model), {"x": uniform(1, 3, *sizes[0])}, {"x": uniform(2, 3, *sizes[1])}, rtol=5e-3)


# -- transformers of other packages ------------------------------------------------------------------


def x_transformer(**options: Any) -> Zoo:
    import x_transformers as X

    layers = X.Decoder(dim=32, depth=2, heads=4, attn_dim_head=8, **options)
    model = X.TransformerWrapper(num_tokens=50, max_seq_len=64, attn_layers=layers)
    return Zoo(Calls(model), {"x": tokens(2, 12, 50)}, {"x": tokens(3, 17, 50)})


X_OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {}, "rotary": {"rotary_pos_emb": True}, "alibi": {"alibi_pos_bias": True}, "rel": {"rel_pos_bias": True},
    "dynamic": {"dynamic_pos_bias": True, "dynamic_pos_bias_log_distance": True}, "glu": {"ff_glu": True, "ff_swish": True, "use_rmsnorm": True},
    "kv heads": {"attn_kv_heads": 2, "attn_qk_norm": True}, "memory": {"attn_num_mem_kv": 4}, "sandwich": {"sandwich_norm": True},
    "talking heads": {"attn_pre_talking_heads": True, "attn_post_talking_heads": True}, "sparse": {"attn_sparse_topk": 4},
    "shift": {"shift_tokens": 1}, "macaron": {"macaron": True}, "residual attention": {"residual_attn": True},
    "gated": {"attn_gate_values": True, "gate_residual": True}, "hyper connections": {"num_residual_streams": 2},
}  # fmt: skip


def vector_quantize(cls: str, **options: Any) -> Zoo:
    import vector_quantize_pytorch as V

    model = getattr(V, cls)(**options)
    return Zoo(Calls(model), {"x": normal(2, 12, 16)}, {"x": normal(3, 17, 16)})


VECTOR_QUANTIZERS: dict[str, tuple[str, dict[str, Any]]] = {
    "VectorQuantize": ("VectorQuantize", {"dim": 16, "codebook_size": 32}),
    "VectorQuantize cosine": ("VectorQuantize", {"dim": 16, "codebook_size": 32, "use_cosine_sim": True, "codebook_dim": 8}),
    "ResidualVQ": ("ResidualVQ", {"dim": 16, "codebook_size": 32, "num_quantizers": 3}),
    "GroupedResidualVQ": ("GroupedResidualVQ", {"dim": 16, "codebook_size": 32, "num_quantizers": 2, "groups": 2}),
    "FSQ": ("FSQ", {"levels": [8, 5, 5, 5], "dim": 16}),
    "ResidualFSQ": ("ResidualFSQ", {"levels": [8, 5, 5], "dim": 16, "num_quantizers": 2}),
    "LFQ": ("LFQ", {"codebook_size": 256, "dim": 16}),
    "RandomProjectionQuantizer": ("RandomProjectionQuantizer", {"dim": 16, "num_codebooks": 2, "codebook_dim": 8, "codebook_size": 32}),
}  # fmt: skip


def local_attention() -> Zoo:
    from local_attention import LocalTransformer

    model = LocalTransformer(
        num_tokens=50, dim=32, depth=2, max_seq_len=64, local_attn_window_size=4, causal=True, heads=4, dim_head=8
    )
    return Zoo(Calls(model), {"x": tokens(2, 12, 50)}, {"x": tokens(3, 17, 50)})


def rotary() -> Zoo:
    from rotary_embedding_torch import RotaryEmbedding

    rope = RotaryEmbedding(dim=8)
    return Zoo(Calls(lambda q, k: (rope.rotate_queries_or_keys(q), rope.rotate_queries_or_keys(k))), {"q": normal(2, 4, 12, 16), "k": normal(2, 4, 12, 16)}, {"q": normal(3, 4, 17, 16), "k": normal(3, 4, 17, 16)})  # fmt: skip


# -- flows and equivariance ---------------------------------------------------------------------------


def flow(name: str) -> Zoo:
    from nflows import distributions, flows, transforms
    from nflows.nn.nets import ResidualNet

    parts: dict[str, Callable[[], Any]] = {
        "MAF": lambda: transforms.MaskedAffineAutoregressiveTransform(features=6, hidden_features=16),
        "coupling": lambda: transforms.AffineCouplingTransform(torch.tensor([0, 1, 0, 1, 0, 1]), lambda a, b: ResidualNet(a, b, 16)),
        "splines": lambda: transforms.PiecewiseRationalQuadraticCouplingTransform(torch.tensor([0, 1, 0, 1, 0, 1]), lambda a, b: ResidualNet(a, b, 16), tails="linear", tail_bound=2.0),
        "autoregressive splines": lambda: transforms.MaskedPiecewiseRationalQuadraticAutoregressiveTransform(6, 16, tails="linear", tail_bound=2.0, num_bins=5),
        "LU": lambda: transforms.LULinear(6),
    }  # fmt: skip
    make = parts[name]
    transform = transforms.CompositeTransform([make(), transforms.ReversePermutation(6), make()])
    model = flows.Flow(transform, distributions.StandardNormal([6]))

    class Both(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.flow = model

        def forward(self, x: torch.Tensor) -> Any:
            z, logs = self.flow._transform(x)
            return self.flow.log_prob(x), z, logs, *self.flow._transform.inverse(z)

    return Zoo(Both(), {"x": normal(5, 6)}, {"x": normal(8, 6)})


def equivariant() -> Zoo:
    from e3nn import o3
    from e3nn.math import soft_one_hot_linspace
    from e3nn.nn import FullyConnectedNet, Gate

    class Convolution(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.harmonics = o3.Irreps.spherical_harmonics(2)
            self.product = o3.FullyConnectedTensorProduct("8x0e", self.harmonics, "6x0e + 4x1o", shared_weights=False)
            self.weights = FullyConnectedNet([6, 16, self.product.weight_numel], torch.relu)
            self.gate = Gate("4x0e", [torch.relu], "2x0e", [torch.sigmoid], "2x1o")
            self.linear = o3.Linear("6x0e + 4x1o", self.gate.irreps_in)

        def forward(self, x: torch.Tensor, pos: torch.Tensor, edge_index: torch.Tensor) -> torch.Tensor:
            source, target = edge_index
            away = pos[source] - pos[target]
            y = o3.spherical_harmonics(self.harmonics, away, True, normalization="component")
            radial = soft_one_hot_linspace(away.norm(dim=1), 0.0, 4.0, 6, basis="smooth_finite", cutoff=True) * 6**0.5
            message = self.product(x[source], y, self.weights(radial))
            out = torch.zeros(x.shape[0], message.shape[1]).index_add_(0, target, message)
            return self.gate(self.linear(out))

    def arguments(n: int, m: int) -> dict[str, Any]:
        edges = torch.stack([torch.arange(m) * 7 % n, torch.arange(m) * 3 % n])
        return {"x": normal(n, 8), "pos": normal(n, 3), "edge_index": edges}

    return Zoo(Calls(Convolution()), arguments(7, 20), arguments(9, 31))


# -- image and text, sentences, speech ----------------------------------------------------------------


def open_clip(name: str) -> Zoo:
    import open_clip as C

    vision: dict[str, Any] = {"image_size": 32, "layers": 2, "width": 64, "patch_size": 8, "head_width": 16}
    if name == "resnet":
        vision = {"image_size": 64, "layers": [1, 1, 1, 1], "width": 16, "patch_size": None}
    text = {"context_length": 16, "vocab_size": 50, "width": 32, "heads": 4, "layers": 2}
    if name == "coca":
        model = C.CoCa(embed_dim=32, multimodal_cfg={**text, "attn_pooler_heads": 4}, text_cfg={**text, "embed_cls": True, "output_tokens": True}, vision_cfg={**vision, "attentional_pool": True, "attn_pooler_heads": 4, "output_tokens": True})  # fmt: skip
    else:
        model = C.CLIP(embed_dim=32, vision_cfg=C.model.CLIPVisionCfg(**vision), text_cfg=C.model.CLIPTextCfg(**text))
    size = vision["image_size"]
    return Zoo(
        Calls(model),
        {"x": image(2, size, size), "t": tokens(2, 16, 50)},
        {"x": image(3, size, size), "t": tokens(3, 16, 50)},
    )


def sentences(pooling: str) -> Zoo:
    import transformers as T
    from sentence_transformers.models import Dense, Normalize, Pooling

    class Sentences(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            config = T.BertConfig(
                vocab_size=60, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48
            )
            self.model = T.BertModel(config)
            self.parts = nn.Sequential(Pooling(32, pooling_mode=pooling), Dense(32, 16), Normalize())

        def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
            hidden = self.model(input_ids, attention_mask).last_hidden_state
            return self.parts({"token_embeddings": hidden, "attention_mask": attention_mask})["sentence_embedding"]

    def arguments(n: int, length: int) -> dict[str, Any]:
        return {"input_ids": tokens(n, length, 60), "attention_mask": mask(n, length)}

    return Zoo(Sentences(), arguments(2, 12), arguments(3, 8))


def speaker(name: str) -> Zoo:
    def arguments(n: int, t: int) -> dict[str, Any]:
        return {"x": normal(n, t, 20), "lengths": 1 - torch.arange(n) * 0.1}

    if name == "ecapa":
        from speechbrain.lobes.models.ECAPA_TDNN import ECAPA_TDNN

        model = ECAPA_TDNN(
            20, channels=[16, 16, 16, 16, 48], lin_neurons=24, attention_channels=8, res2net_scale=4, se_channels=8
        )
        return Zoo(Calls(model), arguments(2, 40), arguments(3, 57))
    if name == "xvector":
        from speechbrain.lobes.models.Xvector import Xvector

        return Zoo(
            Calls(Xvector(in_channels=20, tdnn_channels=[16] * 5, lin_neurons=24)), arguments(2, 40), arguments(3, 57)
        )
    from speechbrain.lobes.features import Fbank

    return Zoo(Calls(Fbank(n_mels=20)), {"x": waveform(2, 4000)}, {"x": waveform(3, 5555)})


def fill() -> None:
    for name in kornia_of_images():
        add(f"kornia {name}", "kornia", lambda name=name: kornia_image(name))
    for name in kornia_others():
        add(f"kornia {name}", "kornia", lambda name=name: kornia_other(name))
    for cls in (
        "Unet",
        "UnetPlusPlus",
        "MAnet",
        "Linknet",
        "FPN",
        "PSPNet",
        "DeepLabV3",
        "DeepLabV3Plus",
        "PAN",
        "UPerNet",
    ):
        add(f"smp {cls}", "segmentation-models-pytorch", lambda cls=cls: segmentation(cls))
    add(
        "smp Unet scse",
        "segmentation-models-pytorch",
        lambda: segmentation("Unet", "efficientnet-b0", decoder_attention_type="scse"),
    )
    add("smp Segformer", "segmentation-models-pytorch", lambda: segmentation("Segformer", "mit_b0"))
    add("smp Unet timm", "segmentation-models-pytorch", lambda: segmentation("Unet", "tu-mobilenetv3_small_100"))
    for name in (
        "yolov8n", "yolov8n-seg", "yolov8n-pose", "yolov8n-obb", "yolov8n-cls", "yolov5n", "yolov9t", "yolov10n", "yolo11n",
        "yolo11n-seg", "yolo11n-pose", "yolo11n-obb", "yolo12n", "yolo26n", "yolo26n-seg", "yolo26n-pose"
    ):  # fmt: skip
        add(name, "ultralytics", lambda name=name: yolo(name))
    for name, options in X_OPTIONS.items():
        add(
            f"x-transformers {name}", "transformers of other packages", lambda options=options: x_transformer(**options)
        )
    for name, (cls, options) in VECTOR_QUANTIZERS.items():
        add(name, "vector quantisation", lambda cls=cls, options=options: vector_quantize(cls, **options))
    add("local attention", "transformers of other packages", local_attention)
    add("rotary embedding", "transformers of other packages", rotary)
    for name in ("MAF", "coupling", "splines", "autoregressive splines", "LU"):
        add(f"nflows {name}", "flows", lambda name=name: flow(name))
    add("e3nn convolution", "equivariant", equivariant)
    for name in ("vit", "resnet", "coca"):
        add(f"open_clip {name}", "image and text", lambda name=name: open_clip(name))
    for pooling in ("mean", "max", "cls", "mean_sqrt_len_tokens", "weightedmean", "lasttoken"):
        add(f"sentences {pooling}", "sentence embeddings", lambda pooling=pooling: sentences(pooling))
    for name in ("ecapa", "xvector", "fbank"):
        add(f"speechbrain {name}", "speechbrain", lambda name=name: speaker(name))


fill()
