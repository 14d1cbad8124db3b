"""Sampling at the points of a grid, and grids of affine maps."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import torch

from ..dims import Size, product
from ..lower.builder import Builder
from ..lower.registry import lowering
from ..lower.values import Tensor
from .resize import cubic_weights

_BILINEAR, _NEAREST, _BICUBIC = range(3)
_ZEROS, _BORDER, _REFLECTION = range(3)


@lowering("aten::grid_sampler", "aten::grid_sampler_2d", "aten::grid_sampler_3d", "aten::_grid_sampler_2d_cpu_fallback")
def grid_sampler(
    g: Builder, input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """grid_sampler(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> Tensor"""
    volume = input.rank == 5
    # onnxruntime rounds before it reflects, which differs between two entries
    rounds_first = interpolation_mode == _NEAREST and padding_mode == _REFLECTION and not align_corners
    if g.opset < (20 if volume else 16) or input.dtype == torch.float64 or rounds_first:
        return _by_hand(g, input, grid, interpolation_mode, padding_mode, align_corners)
    modes = ("linear", "nearest", "cubic") if g.opset >= 20 else ("bilinear", "nearest", "bicubic")
    return g.op(
        "GridSample", input, grid, mode=modes[interpolation_mode],
        padding_mode=("zeros", "border", "reflection")[padding_mode], align_corners=int(align_corners),
    )  # fmt: skip


# -- by hand --------------------------------------------------------------------------------------


def _by_hand(g: Builder, x: Tensor, grid: Tensor, mode: int, padding: int, align: bool) -> Tensor:
    """A weighted sum of the entries around each point, which are gathered as rows `[point, channels]`."""
    batch, channels, *sizes = x.shape
    count = product(grid.shape[1:-1])
    points = g.reshape(grid, [batch, count, len(sizes)])
    rows = g.reshape(g.transpose(x, [0, *range(2, x.rank), 1]), [batch * product(sizes), channels])
    # The grid's last axis counts from the innermost axis of the image outwards.
    taps = [
        _taps(g, g.gather(points, len(sizes) - 1 - i, 2), size, mode, padding, align) for i, size in enumerate(sizes)
    ]
    first = g.unsqueeze(g.mul(g.range(0, batch), g.size(product(sizes))), [1])
    total: Tensor | None = None
    for corner in itertools.product(*taps):
        position, weight = _corner(g, corner, sizes)
        part = g.gather(rows, g.add(position, first), 0)
        if weight is not None:
            part = g.mul(part, g.unsqueeze(weight, [2]))
        total = part if total is None else g.add(total, part)
    assert total is not None
    return g.reshape(g.swap(total, 1, 2), [batch, channels, *grid.shape[1:-1]])


def _corner(
    g: Builder, corner: Sequence[tuple[Tensor, Tensor | None]], sizes: Sequence[Size]
) -> tuple[Tensor, Tensor | None]:
    """The position in the flattened image, and the weight, of one neighbour along each axis."""
    position, weight = corner[0]
    for (index, factor), size in zip(corner[1:], sizes[1:]):
        position = g.add(g.mul(position, g.size(size)), index)
        weight = factor if weight is None else weight if factor is None else g.mul(weight, factor)
    return position, weight


def _taps(
    g: Builder, points: Tensor, size: Size, mode: int, padding: int, align: bool
) -> list[tuple[Tensor, Tensor | None]]:
    """Neighbours of each point along one axis: indices, and weights (None: one)."""
    extent = g.cast(g.size(size), points.dtype)
    if align:
        source = g.mul(g.add(points, 1.0), g.div(g.sub(extent, 1.0), 2.0))
    else:
        source = g.div(g.sub(g.mul(g.add(points, 1.0), extent), 1.0), 2.0)
    if mode != _BICUBIC:  # there, each neighbour is padded on its own
        source = _padded(g, source, extent, padding, align)
    if mode == _NEAREST:
        return [_tap(g, g.round(source), None, extent, size, padding)]
    floor = g.floor(source)
    offset = g.sub(source, floor)
    weights = cubic_weights(g, offset) if mode == _BICUBIC else [(0, g.sub(1.0, offset)), (1, offset)]
    found = []
    for shift, weight in weights:
        at = g.add(floor, float(shift)) if shift else floor
        if mode == _BICUBIC:
            at = _padded(g, at, extent, padding, align)
        found.append(_tap(g, at, weight, extent, size, padding))
    return found


def _padded(g: Builder, source: Tensor, extent: Tensor, padding: int, align: bool) -> Tensor:
    """Positions outside brought inside, by the padding mode."""
    if padding == _ZEROS:
        return source
    last = g.sub(extent, 1.0)
    if padding == _REFLECTION:
        low, span = (0.0, last) if align else (-0.5, extent)
        period = g.extremum("Max", g.mul(span, 2.0), 1.0)  # an image of one entry has no span: any will do
        distance = g.abs(g.sub(source, low))
        rest = g.sub(distance, g.mul(g.floor(g.div(distance, period)), period))
        source = g.add(g.sub(span, g.abs(g.sub(rest, span))), low)
    return g.extremum("Min", g.extremum("Max", source, 0.0), last)


def _tap(
    g: Builder, at: Tensor, weight: Tensor | None, extent: Tensor, size: Size, padding: int
) -> tuple[Tensor, Tensor | None]:
    index = g.cast(at, torch.int64)
    last = g.size(size - 1)
    index = g.extremum("Min", g.extremum("Max", index, g.const(0, torch.int64)), last)
    if padding != _ZEROS:
        return index, weight
    inside = g.and_(g.greater(at, -1.0), g.less(at, extent))  # `at` is whole
    inside = g.cast(inside, at.dtype)
    return index, inside if weight is None else g.mul(weight, inside)


# -- affine grids ---------------------------------------------------------------------------------


@lowering("aten::affine_grid_generator")
def affine_grid_generator(g: Builder, theta: Tensor, size: list[Size], align_corners: bool) -> Tensor:
    """affine_grid_generator(Tensor theta, SymInt[] size, bool align_corners) -> Tensor"""
    spatial = size[2:]
    count = len(spatial)
    # Columns of theta as [n, 1, ..., 1, count], next to which the coordinates of one axis broadcast.
    columns = [g.unsqueeze(g.swap(part, 1, 2), range(1, count)) for part in g.split(theta, [1] * (count + 1), 2)]
    total = columns[-1]
    for i, column in enumerate(columns[:-1]):
        axis = count - 1 - i
        steps = g.reshape(_steps(g, spatial[axis], align_corners, theta.dtype), [spatial[axis]] + [1] * (count - axis))
        total = g.add(total, g.mul(column, steps))
    return g.expand(total, [size[0], *spatial, count])


def _steps(g: Builder, count: Size, align: bool, dtype: torch.dtype) -> Tensor:
    """Coordinates from -1 to 1 along one axis: of the corners, or of the middles of as many pieces."""
    positions = g.mul(g.cast(g.range(0, count), dtype), 2.0)
    last = g.cast(g.size(count - 1), dtype)
    parts = g.extremum("Max", last, 1.0) if align else g.cast(g.size(count), dtype)
    return g.div(g.sub(positions, last), parts)
