"""Types of convolutions, pools, and what else works on images: Resize, GridSample, RoiAlign and the like."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import torch

from ...dims import Size, known_ge, minimum, product
from .call import Call, Dims, Type, ceil_div, rule


class Windows:
    """The attributes that convolutions and pools share, for `count` spatial axes."""

    __slots__ = ("auto_pad", "dilations", "pads", "strides")

    def __init__(self, call: Call, count: int) -> None:
        self.auto_pad: str = call.attr("auto_pad", "NOTSET")
        self.strides: list[int] = call.attr("strides") or [1] * count
        self.dilations: list[int] = call.attr("dilations") or [1] * count
        pads = call.attr("pads") if self.auto_pad == "NOTSET" else None
        self.pads: list[int] = pads or [0] * 2 * count

    def count(self, axis: int, size: Size, kernel: Size, ceil_mode: int = 0) -> Size:
        """How many windows fit on an axis."""
        stride = self.strides[axis]
        if self.auto_pad.startswith("SAME"):
            return ceil_div(size, stride)
        begin, end = self.pads[axis], self.pads[axis + len(self.strides)]
        extent = self.dilations[axis] * (kernel - 1) + 1
        if not ceil_mode:
            return (size + begin + end - extent) // stride + 1
        count = ceil_div(size + begin + end - extent, stride) + 1
        # The last window has to begin in the input or the padding before it.
        if known_ge(extent, end + stride):
            return count
        return minimum(count, (size + begin - 1) // stride + 1)


# -- convolutions -----------------------------------------------------------------------------------


def _conv_dims(call: Call, x: Dims, weight: Dims) -> Dims:
    if x is None or weight is None:
        return None
    spatial, kernel = x[2:], call.attr("kernel_shape") or weight[2:]
    windows = Windows(call, len(spatial))
    return (x[0], weight[0], *[windows.count(i, size, kernel[i]) for i, size in enumerate(spatial)])


@rule("Conv", "DeformConv")
def conv(call: Call) -> list[Type]:
    return [(call[0].dtype, _conv_dims(call, call[0].dims, call[1].dims))]


@rule("ConvInteger")
def conv_integer(call: Call) -> list[Type]:
    return [(torch.int32, _conv_dims(call, call[0].dims, call[1].dims))]


@rule("QLinearConv")
def qlinear_conv(call: Call) -> list[Type]:
    return [(call[7].dtype, _conv_dims(call, call[0].dims, call[3].dims))]


@rule("ConvTranspose")
def conv_transpose(call: Call) -> list[Type]:
    x, weight = call[0], call[1]
    if x.dims is None or weight.dims is None:
        return [(x.dtype, None)]
    spatial, kernel = x.dims[2:], call.attr("kernel_shape") or weight.dims[2:]
    count = len(spatial)
    channels = weight.dims[1] * call.attr("group", 1)
    given = call.attr("output_shape")
    if given:
        return [(x.dtype, (x.dims[0], channels, *given[-count:]))]
    w, extra = Windows(call, count), call.attr("output_padding") or [0] * count
    out: list[Size] = []
    for i, size in enumerate(spatial):
        extent = w.dilations[i] * (kernel[i] - 1) + 1 + extra[i]
        if not w.auto_pad.startswith("SAME"):
            out.append(w.strides[i] * (size - 1) + extent - w.pads[i] - w.pads[i + count])
        elif known_ge(extent, w.strides[i]):
            out.append(size * w.strides[i])
        else:  # the padding is negative by the specification, none in onnxruntime
            out.append(call.unknown())
    return [(x.dtype, (x.dims[0], channels, *out))]


@rule("Col2Im")
def col2im(call: Call) -> list[Type]:
    x, image, block = call[0], call.sizes(1), call.sizes(2)
    count = call.length(1)
    spatial = call.unknown_dims(count) if image is None else tuple(image)
    if spatial is None:
        return [(x.dtype, None)]
    batch, columns = (call.unknown(), None) if x.dims is None else x.dims[:2]
    channels = call.unknown() if block is None or columns is None else columns // product(block)
    return [(x.dtype, (batch, channels, *spatial))]


# -- pools ------------------------------------------------------------------------------------------


@rule("AveragePool", "LpPool", "MaxPool")
def pool(call: Call) -> list[Type]:
    x, kernel, ceil_mode = call[0], call.attributes["kernel_shape"], call.attr("ceil_mode", 0)
    dims: Dims = None
    if x.dims is not None:
        windows = Windows(call, len(kernel))
        sizes = [windows.count(i, size, kernel[i], ceil_mode) for i, size in enumerate(x.dims[2:])]
        dims = (*x.dims[:2], *sizes)
    return [(x.dtype, dims), (torch.int64, dims)]


@rule("GlobalAveragePool", "GlobalLpPool", "GlobalMaxPool")
def global_pool(call: Call) -> list[Type]:
    x = call[0]
    return [(x.dtype, None if x.dims is None else x.dims[:2] + (1,) * (len(x.dims) - 2))]


@rule("MaxUnpool")
def max_unpool(call: Call) -> list[Type]:
    x, given = call[0], call.sizes(2)
    if given is not None:
        return [(x.dtype, tuple(given))]
    if x.dims is None or call.optional(2) is not None:
        return [(x.dtype, None if x.dims is None else call.unknowns(len(x.dims)))]
    kernel = call.attributes["kernel_shape"]
    w = Windows(call, len(kernel))
    pads = [begin + end for begin, end in zip(w.pads, w.pads[len(kernel) :])]
    spatial = [w.strides[i] * (size - 1) + kernel[i] - pads[i] for i, size in enumerate(x.dims[2:])]
    return [(x.dtype, (*x.dims[:2], *spatial))]


# -- regions ----------------------------------------------------------------------------------------


@rule("RoiAlign")
def roi_align(call: Call) -> list[Type]:
    return _regions(call, [call.attr("output_height", 1), call.attr("output_width", 1)])


@rule("MaxRoiPool")
def max_roi_pool(call: Call) -> list[Type]:
    return _regions(call, call.attributes["pooled_shape"])


def _regions(call: Call, size: Sequence[int]) -> list[Type]:
    x, rois = call[0], call[1].dims
    count = call.unknown() if rois is None else rois[0]
    channels = call.unknown() if x.dims is None else x.dims[1]
    return [(x.dtype, (count, channels, *size))]


# -- resampling -------------------------------------------------------------------------------------


@rule("GridSample")
def grid_sample(call: Call) -> list[Type]:
    x, grid = call[0], call[1].dims
    if grid is None:
        return [(x.dtype, None if x.dims is None else (*x.dims[:2], *call.unknowns(len(x.dims) - 2)))]
    channels = call.unknown() if x.dims is None else x.dims[1]
    return [(x.dtype, (grid[0], channels, *grid[1:-1]))]


@rule("AffineGrid")
def affine_grid(call: Call) -> list[Type]:
    theta, size = call[0], call.sizes(1)
    if size is None:
        count = call.length(1)
        return [(theta.dtype, None if count is None else (*call.unknowns(count - 1), count - 2))]
    return [(theta.dtype, (size[0], *size[2:], len(size) - 2))]


@rule("Resize", "Upsample")
def resize(call: Call) -> list[Type]:
    x = call[0]
    if x.dims is None:
        return [(x.dtype, None)]
    axes = call.axes(call.attr("axes") or range(len(x.dims)), len(x.dims))
    dims = list(x.dims)
    if call.optional(3) is not None:
        for axis, size in zip(axes, _resize_to(call, [dims[axis] for axis in axes])):
            dims[axis] = size
        return [(x.dtype, tuple(dims))]
    scales = _scales(call)
    cropped = call.attr("coordinate_transformation_mode") == "tf_crop_and_resize"
    for i, axis in enumerate(axes):
        scaled = None if scales is None or cropped else _scaled(dims[axis], scales[i])
        dims[axis] = call.unknown() if scaled is None else scaled
    return [(x.dtype, tuple(dims))]


def _scales(call: Call) -> list[float] | None:
    given = call.attr("scales")
    if given is not None:
        return list(given)
    # Before opset 11 there was no region of interest in front.
    scales = call.optional(2 if call.op_type == "Resize" and call.opset >= 11 else 1)
    if scales is None or not scales.is_constant or scales.data is None:
        return None
    values: list[float] = scales.data.reshape(-1).tolist()
    return values


def _scaled(size: Size, scale: float) -> Size | None:
    """floor(size * scale), which runtimes compute in float32."""
    if isinstance(size, int):
        return int(np.float32(size) * np.float32(scale))
    fraction = Fraction(float(np.float32(scale)))
    # With few digits the product has no rounding error for any size in practice.
    return size * fraction.numerator // fraction.denominator if fraction.denominator <= 64 else None


def _resize_to(call: Call, sizes: list[Size]) -> list[Size]:
    target = call.sizes(3)
    if target is None:
        return [call.unknown() for _ in sizes]
    policy = call.attr("keep_aspect_ratio_policy", "stretch")
    if policy == "stretch":
        return target
    ratios = [Fraction(t, s) for t, s in zip(target, sizes) if isinstance(t, int) and isinstance(s, int)]
    if len(ratios) < len(sizes):
        return [call.unknown() for _ in sizes]
    scale = min(ratios) if policy == "not_larger" else max(ratios)
    # Halves are rounded up.
    return [(2 * scale.numerator * size + scale.denominator) // (2 * scale.denominator) for size in sizes]
