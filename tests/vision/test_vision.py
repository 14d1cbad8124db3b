"""Operators of torchvision, where it is installed."""

import pytest
import torch
from tests.harness import case, cases, check, f32

torchvision = pytest.importorskip("torchvision", reason="the operators under test are torchvision's")
vision = torchvision.ops


def boxes(count, size=20.0, seed=0):
    generator = torch.Generator().manual_seed(seed)
    corners = torch.rand(count, 2, generator=generator) * size
    return torch.cat([corners, corners + torch.rand(count, 2, generator=generator) * size / 2 + 0.1], 1)


def regions(count, images, size=20.0, seed=0):
    index = torch.randint(0, images, (count, 1), generator=torch.Generator().manual_seed(seed)).float()
    return torch.cat([index, boxes(count, size, seed)], 1)


def scores(count, seed=0):
    return torch.rand(count, generator=torch.Generator().manual_seed(seed))


SAME = torch.tensor([[0.0, 0, 10, 10], [0, 0, 10, 10], [0, 0, 10, 5], [50, 50, 60, 60], [3, 3, 3, 3], [3, 3, 3, 3]])
BOXES = [
    case("nms", lambda b, s: vision.nms(b, s, 0.3), boxes(12), scores(12), dynamic={0: {0: "n"}, 1: {0: "n"}},
         others=[(boxes(30, seed=1), scores(30, seed=1)), (boxes(1), scores(1)), (boxes(0), scores(0))]),
    case("ties", lambda b, s: vision.nms(b, s, 0.5), SAME, torch.tensor([0.5, 0.5, 0.9, -0.2, 0.1, 0.1])),
    case("batched_nms", lambda b, s, c: vision.batched_nms(b, s, c, 0.3), boxes(12), scores(12), torch.arange(12) % 3,
         dynamic={0: {0: "n"}, 1: {0: "n"}, 2: {0: "n"}}, others=[(boxes(30, seed=1), scores(30, seed=1), torch.arange(30) % 4)]),
    case("box_iou", vision.box_iou, boxes(5), boxes(3, seed=1), dynamic={0: {0: "n"}, 1: {0: "m"}}, others=[(boxes(7), boxes(2))]),
    case("clip", lambda b: vision.clip_boxes_to_image(b, (12, 15)), boxes(5), dynamic={0: "n"}),
    case("convert", lambda b: vision.box_convert(b, "xyxy", "cxcywh"), boxes(5), dynamic={0: "n"}),
]  # fmt: skip

IMAGES = f32(2, 3, 11, 13)
DYNAMIC = {0: {2: "h", 3: "w"}, 1: {0: "n"}}
OTHERS = [(f32(2, 3, 17, 14).make(5), regions(9, 2, seed=3)), (f32(2, 3, 11, 13).make(6), regions(1, 2, seed=4))]
ALIGN = [
    case(f"{aligned}_{ratio}", lambda x, r, a=aligned, n=ratio: vision.roi_align(x, r, (3, 4), 0.5, n, a), IMAGES, regions(5, 2),
         dynamic=DYNAMIC, others=OTHERS, opset=16 if aligned else 10)
    for aligned in (False, True)
    for ratio in (-1, 2)
]  # fmt: skip
POOLS = [
    case("roi_pool", lambda x, r: vision.roi_pool(x, r, (3, 2), 0.5), IMAGES, regions(5, 2), dynamic=DYNAMIC, others=OTHERS),
    case("list", lambda x, r: vision.roi_align(x, [r, r + 1], (3, 2), 0.5, 2, True), IMAGES, boxes(3), dynamic={1: {0: "n"}},
         others=[(IMAGES.make(2), boxes(5))], opset=16),
]  # fmt: skip
SENSITIVE = [
    case("align", lambda x, r: vision.ps_roi_align(x, r, (2, 3), 0.5, 2), f32(2, 12, 11, 13), regions(5, 2), dynamic=DYNAMIC,
         others=[(f32(2, 12, 9, 14).make(1), regions(7, 2))]),
    case("pool", lambda x, r: vision.ps_roi_pool(x, r, (2, 3), 0.5), f32(2, 12, 11, 13), regions(5, 2), dynamic=DYNAMIC,
         others=[(f32(2, 12, 9, 14).make(1), regions(7, 2))]),
]  # fmt: skip


def deform(**options):
    return lambda x, offset, weight, mask: vision.deform_conv2d(x, offset, weight, mask=mask, **options)


DEFORM = [
    case("plain", lambda x, o, w: vision.deform_conv2d(x, o, w), f32(2, 4, 6, 7), f32(2, 12, 5, 5), f32(3, 4, 2, 3),
         dynamic={0: {0: "b", 2: "h", 3: "w"}, 1: {0: "b", 2: "oh", 3: "ow"}},
         others=[(f32(3, 4, 8, 7).make(1), f32(3, 12, 7, 5).make(2), f32(3, 4, 2, 3).make(3))]),
    case("options", deform(stride=(1, 2), padding=(1, 0), dilation=(2, 1)), f32(1, 4, 6, 7), f32(1, 36, 4, 3),
         f32(6, 4, 3, 3), f32(1, 18, 4, 3), dynamic={}),
    case("groups", lambda x, o, w, b: vision.deform_conv2d(x, o, w, b, padding=1), f32(2, 4, 5, 5), f32(2, 36, 5, 5),
         f32(6, 2, 3, 3), f32(6)),
]  # fmt: skip


@cases(BOXES, opsets=(10, 11, 13, 20))
def test_boxes(case, frontend, opset):
    check(case, frontend, opset)


@cases(ALIGN + POOLS, opsets=(10, 16, 20))
def test_regions(case, frontend, opset):
    check(case, frontend, opset)


@cases(SENSITIVE, opsets=(16, 20))
def test_position_sensitive(case, frontend, opset):
    check(case, frontend, opset)


@cases(DEFORM, opsets=(11, 16, 19, 22))
def test_deformable_convolution(case, frontend, opset):
    check(case, frontend, opset)
