"""Operators of torchvision: boxes, regions of interest, deformable convolution."""

from __future__ import annotations

import numpy as np
import torch

from ..dims import Size
from ..errors import LoweringError
from ..lower.builder import Builder
from ..lower.registry import lowering
from ..lower.values import Tensor
from .grid import grid_sampler

# -- boxes ----------------------------------------------------------------------------------------


@lowering("torchvision::nms")
def nms(g: Builder, dets: Tensor, scores: Tensor, iou_threshold: float) -> Tensor:
    """nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"""
    g.require(10, "NonMaxSuppression")
    boxes = g.unsqueeze(g.cast(dets, torch.float32), [0])
    ranked = g.unsqueeze(g.cast(scores, torch.float32), [0, 1])
    threshold = g.const([iou_threshold], torch.float32)
    chosen = g.op("NonMaxSuppression", boxes, ranked, [dets.shape[0]], threshold)
    return g.gather(chosen, 2, 1)  # the columns are batch, class and box


# -- regions --------------------------------------------------------------------------------------


def _regions(g: Builder, rois: Tensor) -> tuple[Tensor, Tensor]:
    """Corners, and the image that each region lies in."""
    corners = g.slice(rois, [1], [5], [1])
    return corners, g.cast(g.gather(rois, 0, 1), torch.int64)


def _static(size: Size) -> int:
    if isinstance(size, int):
        return size
    raise LoweringError("the pooled size must be a constant")


@lowering("torchvision::roi_align")
def roi_align(
    g: Builder,
    input: Tensor,
    rois: Tensor,
    spatial_scale: float,
    pooled_height: Size,
    pooled_width: Size,
    sampling_ratio: int,
    aligned: bool,
) -> Tensor:
    """roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width,
    int sampling_ratio, bool aligned) -> Tensor"""
    g.require(16 if aligned else 10, "RoiAlign with aligned=True" if aligned else "RoiAlign")
    corners, images = _regions(g, rois)
    mode = ("half_pixel" if aligned else "output_half_pixel") if g.opset >= 16 else None
    return g.op(
        "RoiAlign", input, corners, images, mode="avg", spatial_scale=float(spatial_scale),
        output_height=_static(pooled_height), output_width=_static(pooled_width),
        sampling_ratio=max(sampling_ratio, 0), coordinate_transformation_mode=mode,
    )  # fmt: skip


@lowering("torchvision::roi_pool")
def roi_pool(
    g: Builder, input: Tensor, rois: Tensor, spatial_scale: float, pooled_height: Size, pooled_width: Size
) -> tuple[Tensor, None]:
    """roi_pool(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width)
    -> (Tensor, Tensor)"""
    pooled = [_static(pooled_height), _static(pooled_width)]
    return g.op("MaxRoiPool", input, rois, pooled_shape=pooled, spatial_scale=float(spatial_scale)), None


@lowering("torchvision::ps_roi_align")
def ps_roi_align(
    g: Builder,
    input: Tensor,
    rois: Tensor,
    spatial_scale: float,
    pooled_height: Size,
    pooled_width: Size,
    sampling_ratio: int,
) -> tuple[Tensor, None]:
    """ps_roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width,
    int sampling_ratio) -> (Tensor, Tensor)"""
    h, w = _static(pooled_height), _static(pooled_width)
    every = roi_align(g, input, rois, spatial_scale, h, w, sampling_ratio, True)
    count, channels = every.shape[0], every.shape[1] // (h * w)
    # Each bin has channels of its own: of every bin of every channel, those on the diagonal stay.
    flat = g.reshape(every, [count, channels, h * w * h * w])
    own = g.gather(flat, g.const(np.arange(h * w) * (h * w + 1), torch.int64), 2)
    return g.reshape(own, [count, channels, h, w]), None


@lowering("torchvision::ps_roi_pool")
def ps_roi_pool(
    g: Builder, input: Tensor, rois: Tensor, spatial_scale: float, pooled_height: Size, pooled_width: Size
) -> tuple[Tensor, None]:
    """ps_roi_pool(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width)
    -> (Tensor, Tensor)"""
    h, w = _static(pooled_height), _static(pooled_width)
    count, channels = rois.shape[0], input.shape[1] // (h * w)
    corners, images = _regions(g, rois)
    scaled = g.mul(corners, spatial_scale)
    away = g.mul(g.sign(scaled), g.floor(g.add(g.abs(scaled), 0.5)))  # halves away from zero, as C rounds
    across = _bins(g, away, 0, w, input.shape[3])
    down = _bins(g, away, 1, h, input.shape[2])
    own = g.reshape(g.gather(input, images, 0), [count, channels, h, w, *input.shape[2:]])
    rows = g.matmul(g.unsqueeze(down, [1, 3, 4]), own)  # [count, channels, h, w, 1, width]
    sums = g.matmul(rows, g.unsqueeze(across, [1, 2, 5]))
    area = g.mul(
        g.reduce("ReduceSum", g.unsqueeze(down, [2]), [3]), g.reduce("ReduceSum", g.unsqueeze(across, [1]), [3])
    )
    area = g.extremum("Max", area, 1.0)
    return g.div(g.reshape(sums, [count, channels, h, w]), g.unsqueeze(area, [1])), None


def _bins(g: Builder, corners: Tensor, axis: int, bins: int, size: Size) -> Tensor:
    """Which entries of an axis lie in which bin of each region: ones and zeros `[region, bin, entry]`."""
    start, end = g.gather(corners, axis, 1), g.gather(corners, axis + 2, 1)
    step = g.div(g.extremum("Max", g.sub(end, start), 1.0), float(bins))
    first = g.const(np.arange(bins), corners.dtype)
    start, step = g.unsqueeze(start, [1]), g.unsqueeze(step, [1])
    low = g.add(g.floor(g.mul(first, step)), start)
    high = g.add(g.ceil(g.mul(g.add(first, 1.0), step)), start)
    high = g.extremum("Min", high, g.cast(g.size(size - 1), corners.dtype))  # torchvision never takes the last entry
    entries = g.cast(g.range(0, size), corners.dtype)
    inside = g.and_(g.less_equal(g.unsqueeze(low, [2]), entries), g.less(entries, g.unsqueeze(high, [2])))
    return g.cast(inside, corners.dtype)


# -- deformable convolution -----------------------------------------------------------------------


@lowering("torchvision::deform_conv2d")
def deform_conv2d(
    g: Builder,
    input: Tensor,
    weight: Tensor,
    offset: Tensor,
    mask: Tensor,
    bias: Tensor,
    stride_h: int,
    stride_w: int,
    pad_h: int,
    pad_w: int,
    dilation_h: int,
    dilation_w: int,
    groups: int,
    offset_groups: int,
    use_mask: bool,
) -> Tensor:
    """deform_conv2d(Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, SymInt stride_h,
    SymInt stride_w, SymInt pad_h, SymInt pad_w, SymInt dilation_h, SymInt dilation_w, SymInt groups,
    SymInt offset_groups, bool use_mask) -> Tensor"""
    strides, pads, dilations = (stride_h, stride_w), (pad_h, pad_w), (dilation_h, dilation_w)
    if g.opset >= 19:
        return g.op(
            "DeformConv", input, weight, offset, bias, mask if use_mask else None, group=groups,
            offset_group=offset_groups, strides=strides, pads=[*pads, *pads], dilations=dilations,
        )  # fmt: skip
    columns = _deformed(
        g, input, offset, mask if use_mask else None, weight.shape[2:], offset_groups, strides, pads, dilations
    )
    batch, (height, width) = input.shape[0], offset.shape[2:]
    out, per_group = weight.shape[0], columns.shape[1] // groups
    columns = g.reshape(columns, [batch, groups, per_group, height * width])
    product = g.matmul(g.reshape(weight, [groups, out // groups, per_group]), columns)
    return g.add(g.reshape(product, [batch, out, height, width]), g.reshape(bias, [out, 1, 1]))


def _deformed(
    g: Builder,
    x: Tensor,
    offset: Tensor,
    mask: Tensor | None,
    kernel: tuple[Size, ...],
    groups: int,
    strides: tuple[int, int],
    pads: tuple[int, int],
    dilations: tuple[int, int],
) -> Tensor:
    """The samples under the kernel at each place: `[batch, channels * kernel, height * width]`."""
    batch, channels = x.shape[:2]
    height, width = offset.shape[2:]
    area = int(kernel[0]) * int(kernel[1])
    moved = g.reshape(offset, [batch * groups, area, 2, height, width])
    axes = []
    for i, (count, size) in enumerate(zip((height, width), x.shape[2:])):
        taps = np.indices([int(k) for k in kernel])[i].reshape(area, 1, 1) * dilations[i] - pads[i]
        places = g.cast(g.mul(g.range(0, count), strides[i]), x.dtype)
        places = g.reshape(places, [count, 1] if i == 0 else [1, count])
        position = g.add(g.add(g.gather(moved, i, 2), g.const(taps, x.dtype)), places)
        axes.append(_normal(g, position, size))
    grid = g.reshape(
        g.concat([g.unsqueeze(a, [4]) for a in reversed(axes)], 4), [batch * groups, area * height, width, 2]
    )
    own = g.reshape(x, [batch * groups, channels // groups, *x.shape[2:]])
    samples = grid_sampler(g, own, grid, 0, 0, False)
    samples = g.reshape(samples, [batch, groups, channels // groups, area, height, width])
    if mask is not None:
        samples = g.mul(samples, g.reshape(mask, [batch, groups, 1, area, height, width]))
    return g.reshape(samples, [batch, channels * area, height * width])


def _normal(g: Builder, position: Tensor, size: Size) -> Tensor:
    """A position in an image as the grids of grid_sample have it."""
    extent = g.cast(g.size(size), position.dtype)
    return g.sub(g.div(g.add(g.mul(position, 2.0), 1.0), extent), 1.0)
