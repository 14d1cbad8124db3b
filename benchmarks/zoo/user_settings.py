"""Models as their users set them up: heads, kinds of attention, all hidden states, tuples, half precision, a batch of 1, a
length of 1, images that aren't square.

For each architecture some of the combinations are drawn, the same ones at each run.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.utils._pytree import tree_map

from entry import Zoo, add, image, mask, normal, runs, tokens
from text_models import made

ENCODERS = (
    "albert", "bert", "big_bird", "camembert", "convbert", "deberta", "deberta-v2", "distilbert", "electra", "ernie",
    "fnet", "layoutlm", "mobilebert", "modernbert", "mpnet", "nystromformer", "rembert", "roberta", "roformer", "squeezebert",
    "xlm", "xlm-roberta", "xlnet", "xmod", "megatron-bert",
)  # fmt: skip
DECODERS = (
    "bloom", "codegen", "cohere", "falcon", "gemma", "gemma2", "gemma3_text", "gpt2", "gpt_bigcode", "gpt_neo", "gpt_neox",
    "gptj", "granite", "llama", "mistral", "mixtral", "mpt", "olmo2", "opt", "persimmon", "phi", "phi3", "qwen2", "qwen3",
    "qwen2_moe", "stablelm", "starcoder2",
)  # fmt: skip
HEADS = {
    "classes": "AutoModelForSequenceClassification",
    "tokens": "AutoModelForTokenClassification",
    "answers": "AutoModelForQuestionAnswering",
    "masked": "AutoModelForMaskedLM",
    "choices": "AutoModelForMultipleChoice",
    "plain": "AutoModel",
}
SETTINGS: dict[str, dict[str, Any]] = {
    "eager": {"attention": "eager"},
    "sdpa": {"attention": "sdpa"},
    "hidden states": {"more": {"output_hidden_states": True}},
    "attentions": {"attention": "eager", "more": {"output_attentions": True}},
    "tuples": {"more": {"return_dict": False}},
    "half": {"dtype": torch.float16},
    "bfloat16": {"dtype": torch.bfloat16},
    "batch of 1": {"batches": (1, 3, 2)},
    "length of 1": {"lengths": (7, 1, 12)},
    "no mask": {"masked": False},
    "left padding": {"left": True},
}
MIXTURES = ("mixtral", "qwen2_moe", "qwen3_moe", "olmoe", "deepseek_v3", "jamba", "gpt_oss")
ONE_BY_ONE = "experts one by one"


# Lists of architectures, by the names of the classes that choose among them.
MAPPINGS = {
    "AutoModelForSequenceClassification": "MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING_NAMES",
    "AutoModelForTokenClassification": "MODEL_FOR_TOKEN_CLASSIFICATION_MAPPING_NAMES",
    "AutoModelForQuestionAnswering": "MODEL_FOR_QUESTION_ANSWERING_MAPPING_NAMES",
    "AutoModelForMaskedLM": "MODEL_FOR_MASKED_LM_MAPPING_NAMES",
    "AutoModelForMultipleChoice": "MODEL_FOR_MULTIPLE_CHOICE_MAPPING_NAMES",
    "AutoModel": "MODEL_MAPPING_NAMES",
}


def has_head(kind: str, head: str) -> bool:
    from transformers.models.auto import modeling_auto

    return head not in HEADS or kind in getattr(modeling_auto, MAPPINGS[HEADS[head]])


class Wide(nn.Module):
    """With outputs that numpy knows."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> Any:
        result = self.model(input_ids=input_ids, attention_mask=attention_mask, return_dict=False)
        return tree_map(lambda x: x.float() if isinstance(x, torch.Tensor) else x, result)


def text(kind: str, head: str, setting: str) -> Zoo:
    import transformers

    chosen = SETTINGS.get(setting, {})
    changes = {"num_labels": 3} if head in ("classes", "tokens") else {}
    if kind.startswith("deberta"):
        changes["pooler_hidden_size"] = 32
    model = made(kind, HEADS.get(head, "AutoModelForCausalLM"), **changes)
    if "attention" in chosen:
        model.set_attn_implementation(chosen["attention"])
    if setting == ONE_BY_ONE:
        model.set_experts_implementation("eager")
    dtype = chosen.get("dtype", torch.float32)
    assert isinstance(model, transformers.PreTrainedModel)
    model = model.to(dtype).eval()

    def arguments(n: int, length: int) -> dict[str, Any]:
        ids, seen = tokens(n, length), mask(n, length)
        if chosen.get("left"):
            ids, seen = ids.flip(1), seen.flip(1)
        if length == 1:
            seen = torch.ones_like(seen)
        if head == "choices":
            ids, seen = ids[:, None].repeat(1, 3, 1), seen[:, None].repeat(1, 3, 1)
        given = {"input_ids": ids, **({"attention_mask": seen} if chosen.get("masked", True) else {})}
        return {**given, **chosen.get("more", {})}

    sets = [arguments(*pair) for pair in zip(chosen.get("batches", (2, 3, 1)), chosen.get("lengths", (12, 8, 15)))]
    rtol = {torch.float16: 2e-2, torch.bfloat16: 8e-2}.get(dtype, 1e-3)
    return Zoo(Wide(model) if dtype == torch.bfloat16 else model, sets[0], sets[1], further=sets[2:], rtol=rtol)


# -- timm -------------------------------------------------------------------------------------------

TIMM = (
    "resnet18", "resnetv2_50", "efficientnet_b0", "mobilenetv3_small_100", "convnext_atto", "regnety_002", "densenet121",
    "vit_tiny_patch16_224", "deit_tiny_patch16_224", "swin_tiny_patch4_window7_224", "swinv2_tiny_window8_256",
    "maxvit_rmlp_pico_rw_256", "mobilevit_xxs", "pvt_v2_b0", "edgenext_xx_small", "efficientvit_b0", "fastvit_t8", "hrnet_w18_small",
    "repvgg_a0", "ghostnet_100", "dla34", "hgnetv2_b0", "inception_next_atto", "mambaout_femto", "tiny_vit_5m_224",
    "eva02_tiny_patch14_224", "hiera_tiny_224", "levit_128s", "poolformer_s12", "xcit_nano_12_p16_224", "davit_tiny",
    "nextvit_small", "vgg11", "xception41", "focalnet_tiny_srf", "naflexvit_base_patch16_gap", "starnet_s1", "rdnet_tiny",
    "twins_pcpvt_small", "mvitv2_tiny",
)  # fmt: skip
TIMM_SETTINGS: dict[str, dict[str, Any]] = {
    "features": {"features_only": True},
    "no head": {"num_classes": 0},
    "one channel": {"in_chans": 1},
    "no pooling": {"num_classes": 0, "global_pool": ""},
    "half": {},
}
# Settings that not all have.
TAKES_SIZES = ("vit_tiny", "deit", "eva02")
MORE_SETTINGS: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "dynamic size": ({"dynamic_img_size": True}, TAKES_SIZES),
    "large images": ({"img_size": 256}, (*TAKES_SIZES, "swin_", "swinv2", "maxvit", "tiny_vit", "mobilevit")),
    "output stride": ({"output_stride": 8}, ("resnet", "efficientnet", "convnext", "regnety", "hgnetv2", "ghostnet")),
}  # fmt: skip


class Images(nn.Module):
    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, image: torch.Tensor) -> Any:
        return self.model(image)


def timm_model(name: str, setting: str) -> Zoo:
    import timm

    options = TIMM_SETTINGS[setting] if setting in TIMM_SETTINGS else MORE_SETTINGS[setting][0]
    model = timm.create_model(name, pretrained=False, **options)
    size = options.get("img_size", model.pretrained_cfg["input_size"][-1] if hasattr(model, "pretrained_cfg") else 224)
    channels = options.get("in_chans", 3)
    model = Images(model).eval()
    dtype = torch.float16 if setting == "half" else torch.float32

    def sets(*sizes: tuple[int, int]) -> tuple[dict[str, Any], ...]:
        return tuple({"image": image(n, *size, channels).to(dtype)} for n, size in zip((1, 3, 2), sizes))

    chosen = sets((size, size), (size, size), (size, size))
    for sizes in (
        ((64, 96), (96, 64), (128, 96)),
        ((128, 160), (160, 192), (224, 128)),
        ((112, 140), (140, 168), (84, 112)),
    ):
        given = [{"image": x["image"].float()} for x in sets(*sizes)[:2]]
        if all(runs(model, x) for x in given):
            chosen = sets(*sizes)
            break
    return Zoo(model.to(dtype), *chosen[:2], further=list(chosen[2:]), rtol=3e-2 if setting == "half" else 2e-3)


# -- diffusers --------------------------------------------------------------------------------------


class Step(nn.Module):
    """One step of a scheduler, or its noise."""

    def __init__(self, scheduler: Any, call: Callable[..., Any]) -> None:
        super().__init__()
        self.scheduler, self.call = scheduler, call

    def forward(self, sample: torch.Tensor, noise: torch.Tensor) -> Any:
        return self.call(self.scheduler, sample, noise)


def scheduler(cls: str, way: str) -> Zoo:
    import diffusers

    made = getattr(diffusers, cls)()
    made.set_timesteps(10)
    if way == "noise":
        call = lambda s, x, e: s.add_noise(x, e, s.timesteps[2:3].repeat(len(x)))  # noqa: E731
    elif way == "steps":

        def call(s: Any, x: torch.Tensor, e: torch.Tensor) -> torch.Tensor:
            s.set_timesteps(4)
            for t in s.timesteps:
                x = s.step(0.3 * e + 0.1 * s.scale_model_input(x, t), t, x).prev_sample
            return x

    arguments = [
        {"sample": normal(n, 4, k, k), "noise": normal(n, 4, k, k, seed=1)} for n, k in ((1, 8), (3, 12), (2, 9))
    ]
    return Zoo(Step(made, call), arguments[0], arguments[1], further=arguments[2:])


def autoencoder(tiled: bool, sliced: bool) -> Zoo:
    from diffusers import AutoencoderKL

    model = AutoencoderKL(
        block_out_channels=(8, 16), norm_num_groups=4, latent_channels=4, sample_size=32,
        down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2,
    )  # fmt: skip
    if tiled:
        model.enable_tiling()
    if sliced:
        model.enable_slicing()

    class Decoder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, latent: torch.Tensor) -> Any:
            return self.model.decode(latent).sample

    sets = [{"latent": normal(n, 4, h, w)} for n, h, w in ((2, 24, 28), (3, 28, 20), (4, 32, 40))]
    return Zoo(Decoder(), sets[0], sets[1], further=sets[2:])


def adapter(kind: str) -> Zoo:
    from diffusers import T2IAdapter

    model = T2IAdapter(in_channels=3, channels=[16, 32], num_res_blocks=1, downscale_factor=8, adapter_type=kind)
    sets = [{"x": image(n, h, w)} for n, h, w in ((1, 64, 96), (2, 96, 64), (3, 128, 96))]
    return Zoo(model, sets[0], sets[1], further=sets[2:])


def controlled() -> Zoo:
    """A UNet and its ControlNet in one."""
    from diffusers import ControlNetModel, UNet2DConditionModel

    options: dict[str, Any] = {
        "block_out_channels": (16, 32), "layers_per_block": 1, "cross_attention_dim": 24, "attention_head_dim": 8,
        "norm_num_groups": 8, "down_block_types": ("CrossAttnDownBlock2D", "DownBlock2D"),
    }  # fmt: skip
    unet = UNet2DConditionModel(sample_size=16, up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"), **options)

    class Both(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.unet = unet
            self.control = ControlNetModel(conditioning_embedding_out_channels=(8, 16), **options)

        def forward(self, sample: Any, timestep: Any, states: Any, cond: Any, scale: Any) -> Any:
            down, mid = self.control(sample, timestep, states, cond, conditioning_scale=scale, return_dict=False)
            return self.unet(
                sample, timestep, states, down_block_additional_residuals=down, mid_block_additional_residual=mid,
                return_dict=False,
            )[0]  # fmt: skip

    def arguments(n: int, h: int, w: int, length: int) -> dict[str, Any]:
        return {
            "sample": normal(n, 4, h, w), "timestep": torch.tensor(301), "states": normal(n, length, 24),
            "cond": image(n, h * 2, w * 2), "scale": torch.tensor(0.7),
        }  # fmt: skip

    return Zoo(Both(), arguments(2, 16, 24, 7), arguments(1, 24, 16, 9), further=[arguments(3, 20, 12, 7)])


# -- layers of low rank, detectors, sound ------------------------------------------------------------


class LowRank(nn.Module):
    """A linear layer with scaled additions of low rank, of which one is chosen for each text."""

    def __init__(self, base: nn.Linear, rank: int = 4, adapters: int = 3) -> None:
        super().__init__()
        self.base, self.scaling = base, 2.0 / rank
        self.down = nn.ModuleDict({f"a{i}": nn.Linear(base.in_features, rank, bias=False) for i in range(adapters)})
        self.up = nn.ModuleDict({f"a{i}": nn.Linear(rank, base.out_features, bias=False) for i in range(adapters)})
        self.dropout, self.chosen = nn.Dropout(0.1), None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        result = self.base(x)
        if self.chosen is None:
            return result + self.up["a0"](self.down["a0"](self.dropout(x))) * self.scaling
        for i, name in enumerate(self.down):
            rows = torch.where(self.chosen == i)[0]
            result[rows] += self.up[name](self.down[name](x[rows])) * self.scaling
        return result


def low_rank(kind: str, mixed: bool) -> Zoo:
    base = made(kind, "AutoModelForCausalLM")
    for module in list(base.modules()):
        for name, part in list(module.named_children()):
            if isinstance(part, nn.Linear) and name.endswith(("q_proj", "v_proj", "query_key_value", "fc1")):
                setattr(module, name, LowRank(part))

    class Mixed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.base = base

        def forward(self, input_ids: torch.Tensor, adapters: torch.Tensor) -> Any:
            for module in self.base.modules():
                if isinstance(module, LowRank):
                    module.chosen = adapters
            return self.base(input_ids=input_ids).logits

    def arguments(n: int, length: int) -> dict[str, Any]:
        return {"input_ids": tokens(n, length), **({"adapters": torch.arange(n) % 3} if mixed else {})}

    model = Mixed() if mixed else base
    return Zoo(model, arguments(4, 7), arguments(3, 9), further=[arguments(6, 5)])


def yolo(name: str, **options: Any) -> Zoo:
    """Without what its own exporter sets up."""
    from ultralytics import YOLO

    model = YOLO(f"{name}.yaml", verbose=False).model.eval().float()
    for name, value in options.items():
        setattr(model.model[-1], name, value)
    sets = [{"image": image(n, h, w).sigmoid()} for n, h, w in ((1, 64, 96), (2, 96, 128), (3, 128, 64))]
    return Zoo(Images(model), sets[0], sets[1], further=sets[2:], rtol=5e-3)


class Parts(nn.Module):
    def forward(self, spectrum: torch.Tensor) -> torch.Tensor:
        return torch.view_as_real(spectrum)


def sound(name: str) -> Zoo:
    import torchaudio.transforms as A

    mel = {"n_fft": 256, "hop_length": 100, "n_mels": 24}
    model: nn.Module = {
        "mel, not centred": lambda: A.MelSpectrogram(16000, center=False, **mel),
        "mel in decibels": lambda: nn.Sequential(A.MelSpectrogram(16000, norm="slaney", mel_scale="slaney", **mel), A.AmplitudeToDB(top_db=80.0)),
        "mel, normalised": lambda: A.MelSpectrogram(16000, normalized=True, power=1.0, **mel),
        "cepstra": lambda: A.MFCC(16000, 13, melkwargs=mel),
        "resampled": lambda: A.Resample(44100, 16000),
        "resampled, kaiser": lambda: A.Resample(16000, 22050, resampling_method="sinc_interp_kaiser"),
        "stretched": lambda: nn.Sequential(A.Spectrogram(256, power=None), A.TimeStretch(100, 129, fixed_rate=1.2), Parts()),
        "inverse": lambda: nn.Sequential(A.Spectrogram(256, power=None), A.InverseSpectrogram(256)),
    }[name]()  # fmt: skip
    sets = [{"image": normal(n, length)} for n, length in ((1, 4000), (3, 5000), (2, 3210))]
    return Zoo(Images(model), sets[0], sets[1], further=sets[2:], rtol=5e-3)


def fill() -> None:
    draw = random.Random(5)
    for kinds, heads in ((ENCODERS, list(HEADS)), (DECODERS, ["causal", "plain", "classes", "tokens", "answers"])):
        for kind in kinds:
            known = [head for head in heads if has_head(kind, head)]
            pairs = [(head, setting) for head in known for setting in SETTINGS]
            for head, setting in draw.sample(pairs, 4):
                add(f"{kind} {head}: {setting}", "settings of texts", lambda k=kind, h=head, s=setting: text(k, h, s))
    for kind in MIXTURES:
        add(f"{kind} causal: {ONE_BY_ONE}", "settings of texts", lambda k=kind: text(k, "causal", ONE_BY_ONE))
    for name in TIMM:
        more = [setting for setting, (_, names) in MORE_SETTINGS.items() if name.startswith(names)]
        for setting in [*draw.sample(list(TIMM_SETTINGS), 2), *more]:
            add(f"timm {name}: {setting}", "settings of images", lambda n=name, s=setting: timm_model(n, s))
    for cls in ("DDIM", "EulerDiscrete", "DPMSolverMultistep", "PNDM", "UniPCMultistep", "HeunDiscrete", "LMSDiscrete"):
        for way in ("steps", "noise"):
            add(f"{cls}Scheduler {way}", "diffusion", lambda c=f"{cls}Scheduler", w=way: scheduler(c, w))
    add("AutoencoderKL in tiles", "diffusion", lambda: autoencoder(True, False))
    add("AutoencoderKL in slices", "diffusion", lambda: autoencoder(False, True))
    for kind in ("full_adapter", "full_adapter_xl", "light_adapter"):
        add(f"T2IAdapter {kind}", "diffusion", lambda kind=kind: adapter(kind))
    add("UNet with ControlNet", "diffusion", controlled)
    for kind in ("llama", "gpt_neox", "opt"):
        for mixed in (False, True):
            add(f"{kind} of low rank{', mixed' * mixed}", "settings of texts", lambda k=kind, m=mixed: low_rank(k, m))
    for name in ("yolov8n", "yolo11n-seg", "yolo26n", "yolov10n"):
        add(f"{name} as it is", "ultralytics", lambda name=name: yolo(name))
    add("yolo26n, not end to end", "ultralytics", lambda: yolo("yolo26n", end2end=False))
    for name in (
        "mel, not centred",
        "mel in decibels",
        "mel, normalised",
        "cepstra",
        "resampled",
        "resampled, kaiser",
        "stretched",
        "inverse",
    ):
        add(f"sound: {name}", "torchaudio transforms", lambda name=name: sound(name))


fill()
