import torch
import torch.nn.functional as F
from tests.harness import LATEST, case, cases, check, f16, f32, f64

DYNAMIC = {0: {0: "n", 2: "h", 3: "w"}, 1: {0: "n", 1: "rows"}}
PADDINGS = ("zeros", "border", "reflection")


def sample(mode, padding, align):
    return lambda x, grid: F.grid_sample(x, grid, mode=mode, padding_mode=padding, align_corners=align)


IMAGES = [
    case(f"{mode}_{padding}_{align}", sample(mode, padding, align), f32(2, 3, 5, 6), f32(2, 4, 3, 2), dynamic=DYNAMIC)
    for mode in ("bilinear", "nearest", "bicubic")
    for padding in PADDINGS
    for align in (False, True)
]
EDGES = [
    case("one_pixel", sample("bilinear", "reflection", True), f32(1, 2, 1, 1), f32(1, 2, 2, 2)),
    case("half", sample("bilinear", "zeros", False), f16(1, 2, 3, 4), f16(1, 2, 2, 2), rtol=1e-2, atol=1e-2),
    case("double", sample("bilinear", "border", False), f64(1, 2, 3, 4), f64(1, 2, 2, 2)),
    case("double_cubic", sample("bicubic", "zeros", True), f64(1, 2, 3, 4), f64(1, 2, 2, 2)),
    case("far", sample("bilinear", "reflection", False), f32(1, 2, 3, 4), f32(1, 5, 5, 2, low=-20, high=20)),
]
VOLUMES = [
    case(f"{mode}_{padding}_{align}", sample(mode, padding, align), f32(2, 2, 3, 4, 5), f32(2, 2, 3, 2, 3))
    for mode in ("bilinear", "nearest")
    for padding in PADDINGS
    for align in (False, True)
]
AFFINE = [
    case(f"{name}_{align}", lambda t, s=size, a=align: F.affine_grid(t, (t.shape[0], 3, *s), align_corners=a), theta, dynamic={0: "n"})
    for name, size, theta in (
        ("image", (4, 5), f32(2, 2, 3)),
        ("volume", (2, 4, 3), f32(2, 3, 4)),
        ("one_row", (1, 4), f32(2, 2, 3)),
        ("double", (3, 4), f64(2, 2, 3)),
    )
    for align in (False, True)
] + [
    case("like", lambda t, x: F.affine_grid(t, list(x.shape), align_corners=False), f32(2, 2, 3), f32(2, 3, 4, 5),
         dynamic={0: {0: "n"}, 1: {0: "n", 2: "h", 3: "w"}}),
    case("transformer", lambda t, x: F.grid_sample(x, F.affine_grid(t, x.shape, align_corners=False), align_corners=False),
         f32(2, 2, 3), f32(2, 3, 4, 5), dynamic={0: {0: "n"}, 1: {0: "n", 2: "h", 3: "w"}}),
]  # fmt: skip


@cases(IMAGES + EDGES, opsets=(9, 13, 16, LATEST))
def test_grid_sample(case, frontend, opset):
    check(case, frontend, opset)


@cases(VOLUMES, opsets=(16, LATEST))
def test_grid_sample_3d(case, frontend, opset):
    check(case, frontend, opset)


@cases(AFFINE, opsets=(9, LATEST))
def test_affine_grid(case, frontend, opset):
    check(case, frontend, opset)


def test_points_outside_at_the_halves():
    """Whole and half coordinates, where rounding and padding decide."""
    axis = torch.tensor([-1.5, -1.25, -1, -0.75, -0.5, 0, 0.25, 0.5, 1, 1.25])
    grid = torch.stack(torch.meshgrid(axis, axis, indexing="xy"), -1)[None]
    for mode in ("bilinear", "nearest", "bicubic"):
        for padding in PADDINGS:
            for align in (False, True):
                for opset in (13, LATEST):
                    check(case("halves", sample(mode, padding, align), f32(1, 1, 4, 4), grid), opset=opset)
