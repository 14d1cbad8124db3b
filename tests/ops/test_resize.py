import pytest
import torch
import torch.nn.functional as F
from tests.harness import LATEST, case, cases, check, f16, f32, f64, operators, u8

DYNAMIC = {0: {0: "n", 2: "h", 3: "w"}}
LINE = {0: {0: "n", 2: "w"}}
IMAGE = f32(2, 3, 5, 6)


def to(mode, **options):
    return lambda x: F.interpolate(x, mode=mode, **options)


def like(mode, **options):
    """To twice the size and one more, computed from the input's."""
    return lambda x: F.interpolate(x, size=[2 * d + 1 for d in x.shape[2:]], mode=mode, **options)


NEAREST = [
    case("doubled", to("nearest", scale_factor=2), IMAGE, dynamic=DYNAMIC),
    case("line", to("nearest", scale_factor=2), f32(2, 3, 5), dynamic=LINE),
    case("volume", to("nearest", scale_factor=(2, 1, 3)), f32(2, 3, 2, 3, 4), dynamic={0: {0: "n", 2: "d"}}),
    case("from_size", lambda x: F.interpolate(x, size=(x.shape[2] * 2, x.shape[3] * 3)), IMAGE, dynamic=DYNAMIC),
    case("static", to("nearest", scale_factor=(2, 3)), f32(1, 2, 3, 4)),
    case("same", to("nearest", size=(5, 6)), IMAGE),
    case("double", to("nearest", scale_factor=2), f64(1, 2, 3, 4)),
    case("bytes", to("nearest", scale_factor=2), u8(1, 2, 3, 4)),
]
PICKED = [
    case("double", to("nearest", scale_factor=2), f64(1, 2, 3, 4)),
    case("bytes", to("nearest", scale_factor=2), u8(1, 2, 3, 4)),
    case("half", to("nearest", scale_factor=0.5), IMAGE, dynamic=DYNAMIC),
    case("odd_scale", to("nearest", scale_factor=1.3), IMAGE, dynamic=DYNAMIC),
    case("down", to("nearest", size=(3, 4)), IMAGE),
    case("to_fixed", to("nearest", size=(7, 4)), IMAGE, dynamic=DYNAMIC),
    case("to_computed", like("nearest"), IMAGE, dynamic=DYNAMIC),
    case("rounding", to("nearest", size=82), f32(1, 1, 2)),  # x * (2 / 82) and x / (82 / 2) differ in float32
    case("rounding_scale", to("nearest", scale_factor=41), f32(1, 1, 3), dynamic={0: {2: "w"}}),
    case("exact", to("nearest-exact", size=(7, 4)), IMAGE),
    case("exact_scale", to("nearest-exact", scale_factor=2.5), IMAGE, dynamic=DYNAMIC),
    case("exact_computed", like("nearest-exact"), f32(1, 2, 3), dynamic=LINE),
    case("exact_volume", to("nearest-exact", scale_factor=(2, 1, 1.5)), f32(2, 3, 2, 3, 4)),
    case("to_one", to("nearest", size=(1, 1)), IMAGE, dynamic=DYNAMIC),
    case("recomputed", to("nearest", scale_factor=1.7, recompute_scale_factor=True), IMAGE),
]
SMOOTH = [
    *[
        case(f"{name}_{mode}", to(mode, align_corners=align, **options), IMAGE, dynamic=DYNAMIC)
        for mode, align in (("bilinear", False), ("bicubic", False))
        for name, options in {
            "doubled": {"scale_factor": 2.0},
            "scale": {"scale_factor": (1.5, 2.25)},
            "odd_scale": {"scale_factor": (1.3, 0.7)},
            "down": {"scale_factor": 0.5},
            "fixed": {"size": (7, 3)},
            "one": {"size": (1, 1)},
        }.items()
    ],
    *[
        case(f"{name}_corners_{mode}", to(mode, align_corners=True, **options), IMAGE, dynamic=DYNAMIC)
        for mode in ("bilinear", "bicubic")
        for name, options in {
            "doubled": {"scale_factor": 2.0},
            "odd_scale": {"scale_factor": (1.3, 0.7)},
            "fixed": {"size": (7, 3)},
            "one": {"size": (1, 4)},
        }.items()
    ],
    case("computed", like("bilinear"), IMAGE, dynamic=DYNAMIC),
    case("computed_cubic", like("bicubic", align_corners=True), IMAGE, dynamic=DYNAMIC),
    case("line", to("linear", scale_factor=2), f32(2, 3, 5), dynamic=LINE),
    case("line_corners", to("linear", size=9, align_corners=True), f32(2, 3, 5), dynamic=LINE),
    case("volume", to("trilinear", scale_factor=(2, 1, 3)), f32(2, 3, 2, 3, 4), dynamic={0: {0: "n", 2: "d"}}),
    case("volume_corners", to("trilinear", size=(3, 5, 4), align_corners=True), f32(2, 3, 2, 3, 4)),
    case("from_one", to("bilinear", size=(4, 4)), f32(1, 2, 1, 1)),
    case("double", to("bilinear", scale_factor=1.5), f64(1, 2, 3, 4), dynamic=DYNAMIC),
    case("half", to("bilinear", scale_factor=2), f16(1, 2, 3, 4)),
    case("half_cubic", to("bicubic", size=(5, 7)), f16(1, 2, 3, 4), rtol=1e-2, atol=5e-3),
    case("bytes", to("bilinear", size=(5, 7)), u8(1, 3, 4, 5, high=255), atol=1),
    case("bytes_cubic", to("bicubic", size=(9, 4)), u8(1, 3, 6, 6, high=255), atol=1),
    case(
        "scale_that_is_not_the_ratio",
        lambda x: torch.ops.aten.upsample_bilinear2d(x, [7, 8], False, 1.3, 1.4),
        IMAGE,
        dynamic={0: {0: "n"}},
    ),
]
LANCZOS = [  # which not all versions of torch have
    case("lanczos_down", to("lanczos", antialias=True, size=(4, 3)), f32(2, 3, 11, 8)),
    case("lanczos_mixed", to("lanczos", antialias=True, size=(4, 17)), f32(2, 3, 11, 8)),
    case("lanczos_dynamic", to("lanczos", antialias=True, scale_factor=0.4), f32(1, 2, 11, 8), dynamic=DYNAMIC),
] * hasattr(torch.ops.aten, "_upsample_lanczos2d_aa")
ANTIALIASED = [
    *[
        case(f"{name}_{mode}_{align}", to(mode, antialias=True, align_corners=align, **options), f32(2, 3, 11, 8))
        for mode in ("bilinear", "bicubic")
        for align in (False, True)
        for name, options in {
            "down": {"size": (4, 3)},
            "up": {"size": (13, 17)},
            "mixed": {"size": (4, 17)},
            "scale": {"scale_factor": (0.3, 0.45)},
            "one": {"size": (1, 1)},
        }.items()
    ],
    case("dynamic", to("bilinear", antialias=True, size=(4, 5)), f32(1, 2, 11, 8), dynamic=DYNAMIC),
    case("dynamic_cubic", to("bicubic", antialias=True, scale_factor=0.4), f32(1, 2, 11, 8), dynamic=DYNAMIC),
    *LANCZOS,
    case("bytes", to("bicubic", antialias=True, size=(4, 5)), u8(1, 3, 11, 8, high=255), atol=1),
]


# PyTorch's kernels copy what stays as large, or double entries, whatever the factor, but for cubic and exact ones; onnxruntime
# copies it with them, too.
WHOLE = [
    case(
        f"{name}_{mode}{len(shape.shape) - 2}d{'_smoothed' if options else ''}{'_dynamic' if dynamic else ''}",
        to(mode, scale_factor=scales[: len(shape.shape) - 2], **options),
        shape,
        dynamic=dynamic,
    )
    for modes, options, shape in (
        (("nearest", "nearest-exact", "bilinear", "bicubic"), {}, f32(2, 3, 8, 9)),
        (("bilinear", "bicubic"), {"antialias": True}, f32(2, 3, 8, 9)),
        (("nearest", "nearest-exact", "linear"), {}, f32(2, 3, 9)),
        (("nearest", "nearest-exact", "trilinear"), {}, f32(1, 2, 8, 7, 9)),
    )
    for mode in modes
    for dynamic in (None, {0: {axis: f"d{axis}" for axis in range(2, len(shape.shape))}})
    for name, scales in (("same", (1.07, 1.1, 1.08)), ("one_same", (1.07, 1.6, 1.0)), ("doubled", (2.05, 2.02, 2.04)))
]


@cases(NEAREST, opsets=(7, 9, 10, 11, 13, 18, LATEST))
def test_nearest_by_whole_factors(case, frontend, opset):
    model = check(case, frontend, opset)
    expected = [] if case.name == "same" else ["Resize"] if opset >= 10 else ["Upsample"]
    if opset < 10 and case.name in ("double", "bytes"):
        expected = ["Gather"]  # onnxruntime has no kernel of Upsample for these types
    assert [op for op in operators(model) if op in ("Gather", "Resize", "Upsample")][-1:] == expected


@cases(PICKED, opsets=(9, 10, 11, 13, LATEST))
def test_nearest(case, frontend, opset):
    check(case, frontend, opset)


@cases(WHOLE, opsets=(9, 13, LATEST))
def test_factors_near_whole_ones(case, frontend, opset):
    check(case, frontend, opset)


@cases(SMOOTH, opsets=(9, 11, 13, 18, LATEST))
def test_smooth(case, frontend, opset):
    check(case, frontend, opset)


@cases(ANTIALIASED, opsets=(9, 13, LATEST))
def test_antialiased(case, frontend, opset):
    check(case, frontend, opset)


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_one_node(mode):
    model = check(case("doubled", to(mode, scale_factor=2), IMAGE, dynamic=DYNAMIC))
    assert operators(model) == ["Resize"]
