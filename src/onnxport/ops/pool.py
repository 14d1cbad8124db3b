"""Pooling with fixed windows, with windows fitted to an output size, and its inverse."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

from ..dims import Dim, Size, exact_div, known_eq, minimum, product
from ..errors import LoweringError
from ..lower.builder import Builder
from ..lower.registry import lowering
from ..lower.values import Tensor
from .conv import has_kernels, per_axis


def pooled_size(size: Size, kernel: int, stride: int, padding: int, dilation: int = 1, ceil_mode: bool = False) -> Size:
    """How many windows PyTorch puts on an axis: with `ceil_mode` those that begin in the input or the padding before."""
    span = size + 2 * padding - dilation * (kernel - 1) - 1
    if not ceil_mode:
        return span // stride + 1
    return minimum((span + stride - 1) // stride + 1, (size + padding - 1) // stride + 1)


def _batched(g: Builder, x: Tensor, count: int, function: Callable[[Tensor], Any]) -> Any:
    """`function(x)` where an unbatched x gets a batch axis for the while."""
    if x.rank == count + 2:
        return function(x)
    result = function(g.unsqueeze(x, [0]))
    if isinstance(result, tuple):
        return tuple([g.squeeze(r, [0]) for r in result])
    return g.squeeze(result, [0])


def _reduce_whole_axes(g: Builder, x: Tensor, op_type: str, kernel: list[Any], *others: list[Any]) -> Tensor:
    """Reduce the axes whose window is the whole axis, of a size known only at run time; their window becomes 1.

    `others` are numbers for each axis which mean nothing for a single window: strides, dilations.
    """
    axes = [i for i, k in enumerate(kernel) if not isinstance(k, int)]
    for i in axes:
        if kernel[i] != x.shape[2 + i]:
            raise LoweringError(
                f"windows of {kernel[i]} elements on an axis of {x.shape[2 + i]}: the sizes of windows are constants in "
                "ONNX, unless a window is the whole axis; unfold() and reduce instead"
            )
        for numbers in (kernel, *others):
            numbers[i] = 1
    return g.reduce(op_type, x, [2 + i for i in axes], keepdims=True)


# -- maxima -----------------------------------------------------------------------------------------
# A window with a NaN is NaN in PyTorch; onnxruntime 1.32 takes the maximum of its numbers.


def _max_pool(
    g: Builder,
    x: Tensor,
    count: int,
    kernel: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: bool,
    both: bool,
) -> Any:
    kernel = per_axis(kernel, count)
    strides = per_axis(stride, count) if stride != [] else list(kernel)
    pads, dilations = per_axis(padding, count), per_axis(dilation, count)

    def pool(x: Tensor) -> Any:
        if any(isinstance(p, Dim) for p in pads):
            return _max_of_windows(g, x, kernel, strides, pads, dilations, ceil_mode, both)
        if not both and not any(pads):
            x = _reduce_whole_axes(g, x, "ReduceMax", kernel, strides, dilations)
        sides = list(zip(x.shape[2:], kernel, strides, pads, dilations))
        partial = ceil_mode and any(pooled_size(*side) != pooled_size(*side, ceil_mode=True) for side in sides)
        after = _end_pads(sides) if partial else pads
        if (g.opset < 10 and (after is None or any(d != 1 for d in dilations))) or (both and g.opset < 8):
            return _max_of_windows(g, x, kernel, strides, pads, dilations, ceil_mode, both)
        values, places = g.max_pool(
            x, kernel, strides, [*pads, *(after or pads)], dilations, ceil_mode=after is None, indices=both
        )
        if places is None:
            return values
        # ONNX counts places over the whole tensor, PyTorch within a channel.
        return values, g.floor_divmod(places, g.size(product(x.shape[2:])), truncates=True)[1]

    return _batched(g, x, count, pool)


def _end_pads(sides: Sequence[tuple[Size, int, int, int, int]]) -> list[int] | None:
    """The padding at the ends with which whole windows are those that `ceil_mode` gives; None if not known.

    ONNX and PyTorch don't agree about the last window of `ceil_mode`, and onnxruntime does with PyTorch.
    """
    pads = []
    for size, kernel, stride, pad, dilation in sides:
        count = pooled_size(size, kernel, stride, pad, dilation, ceil_mode=True)
        if not isinstance(size, int) or not isinstance(count, int):
            return None
        pads.append(max((count - 1) * stride + dilation * (kernel - 1) + 1 - size - pad, 0))
        if pads[-1] >= kernel:  # which the op refuses
            return None
    return pads


def _max_of_windows(
    g: Builder,
    x: Tensor,
    kernel: list[int],
    strides: list[int],
    pads: list[int],
    dilations: list[int],
    ceil_mode: bool,
    both: bool,
) -> Any:
    """The maxima, and if wanted their places in a channel, without an op for them."""
    count = len(kernel)
    places = [pooled_size(*side, ceil_mode) for side in zip(x.shape[2:], kernel, strides, pads, dilations)]
    spans = [(n - 1) * s + d * (k - 1) + 1 for n, s, d, k in zip(places, strides, dilations, kernel)]
    after = [span - size - p for span, size, p in zip(spans, x.shape[2:], pads)]
    lowest = float("-inf") if x.is_float else torch.iinfo(x.dtype).min
    padded = g.pad(x, [0, 0, *pads, 0, 0, *after], value=lowest)
    windows = g.windows(padded, kernel, places, strides, dilations)
    values = g.reduce("ReduceMax", windows, range(2, 2 + count))
    if not both:
        return values
    flat = g.reshape(windows, [*x.shape[:2], product(kernel), *places])
    rest = g.op("ArgMax", flat, axis=2, keepdims=0)
    found: Tensor | None = None
    for axis, stride in enumerate(g.strides(x.shape[2:])):
        offset, rest = g.floor_divmod(rest, g.size(product(kernel[axis + 1 :])), truncates=True)
        start = g.reshape(g.range(0, places[axis]), [places[axis] if i == axis else 1 for i in range(count)])
        place = g.sub(g.add(g.mul(offset, dilations[axis]), g.mul(start, strides[axis])), pads[axis])
        place = g.mul(place, g.size(stride))
        found = place if found is None else g.add(found, place)
    return values, found


def _register_max_pool(count: int) -> None:
    @lowering(f"aten::max_pool{count}d")
    def max_pool(
        g: Builder, self: Tensor, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool
    ) -> Any:
        """max_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, int[2] dilation=1,
        bool ceil_mode=False) -> Tensor"""
        return _max_pool(g, self, count, kernel_size, stride, padding, dilation, ceil_mode, both=False)

    @lowering(f"aten::max_pool{count}d_with_indices")
    def max_pool_with_indices(
        g: Builder, self: Tensor, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool
    ) -> Any:
        """max_pool2d_with_indices(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0,
        int[2] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)"""
        return _max_pool(g, self, count, kernel_size, stride, padding, dilation, ceil_mode, both=True)


# -- averages ---------------------------------------------------------------------------------------


def _avg_pool(
    g: Builder,
    x: Tensor,
    kernel: list[int],
    strides: list[int],
    pads: list[int],
    ceil_mode: bool,
    include_pad: bool,
    divisor: int | None,
) -> Tensor:
    """AveragePool where all windows are whole; else sums of windows over what PyTorch divides by."""
    sides = list(zip(x.shape[2:], kernel, strides, pads))
    places = [pooled_size(*side, ceil_mode=ceil_mode) for side in sides]
    whole = places == [pooled_size(*side) for side in sides]
    if any(isinstance(p, Dim) for p in pads) and include_pad and whole:  # an attribute can't be computed
        x, pads = g.pad(x, [0, 0, *pads, 0, 0, *pads]), [0] * len(pads)
        sides = list(zip(x.shape[2:], kernel, strides, pads))
    is_padded = any(known_eq(p, 0) is not True for p in pads)
    fixed = all(isinstance(p, int) for p in pads)
    if whole and fixed and has_kernels(x) and (divisor is None or include_pad or not is_padded):
        result = g.average_pool(x, kernel, strides, pads * 2, include_pad=include_pad)
        return result if divisor is None else g.mul(result, math.prod(kernel) / divisor)
    sums = _sums_of_windows(g, x, places, sides)
    if divisor is not None:
        return g.div(sums, divisor)
    return g.div(sums, g.cast(_divisors(g, places, sides, include_pad), x.dtype))


def _sums_of_windows(
    g: Builder, x: Tensor, places: Sequence[Size], sides: Sequence[tuple[Size, int, int, int]]
) -> Tensor:
    """Sums over windows, of which the last may go over the end.

    A window that is longer than its axis is the only one, and ends with it: global averages are written as windows of
    thousands of elements, on axes of a few.
    """
    kernel, strides, pads, after = list[int](), list[int](), list[Size](), list[Size]()
    for axis, (place, (size, length, stride, pad)) in enumerate(zip(places, sides), 2):
        width = minimum(length, size + 2 * pad)
        if not isinstance(width, int) and length == stride:
            zeros: list[Size] = [0 for _ in range(2 * x.rank)]
            zeros[axis], zeros[axis + x.rank] = pad, place * width - size - pad
            rows = [*x.shape[:axis], place, width, *x.shape[axis + 1 :]]
            x = g.reduce("ReduceSum", g.reshape(g.pad(x, zeros), rows), [axis + 1])
            size, width, stride, pad = place, 1, 1, 0
        kernel.append(width if isinstance(width, int) else length)
        strides.append(stride)
        pads.append(pad)
        after.append((place - 1) * stride + kernel[-1] - size - pad)
    padded = g.pad(x, [0, 0, *pads, 0, 0, *after])
    if not has_kernels(x):
        windows = g.windows(padded, kernel, places, strides, [1] * len(kernel))
        return g.reduce("ReduceSum", windows, range(2, 2 + len(kernel)))
    if math.prod(kernel) * math.prod(strides) == 1:
        return padded
    averages = g.average_pool(padded, kernel, strides, [0] * 2 * len(kernel), include_pad=False)
    return g.mul(averages, math.prod(kernel))


def _divisors(g: Builder, places: list[Size], sides: Sequence[tuple[Size, int, int, int]], include_pad: bool) -> Tensor:
    """How many elements each window is averaged over, `[*places]`."""
    total: Tensor | None = None
    for i, (place, (size, kernel, stride, pad)) in enumerate(zip(places, sides)):
        start = g.sub(g.mul(g.range(0, place), stride), pad)
        end = g.extremum("Min", g.add(start, kernel), g.size(size + pad))
        if not include_pad:
            start, end = g.extremum("Max", start, 0), g.extremum("Min", end, g.size(size))
        width = g.unsqueeze(g.sub(end, start), range(1, len(places) - i))
        total = width if total is None else g.mul(total, width)
    assert total is not None
    return total


def _register_avg_pool(count: int) -> None:
    @lowering(f"aten::avg_pool{count}d")
    def avg_pool(
        g: Builder,
        self: Tensor,
        kernel_size: Any,
        stride: Any,
        padding: Any,
        ceil_mode: bool,
        count_include_pad: bool,
        divisor_override: int | None = None,
    ) -> Any:
        """avg_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, bool ceil_mode=False,
        bool count_include_pad=True, int? divisor_override=None) -> Tensor"""
        kernel = per_axis(kernel_size, count)
        strides = per_axis(stride, count) if stride != [] else list(kernel)
        pads = per_axis(padding, count)

        def pool(x: Tensor) -> Tensor:
            if divisor_override is None and all(known_eq(p, 0) is True for p in pads):
                x = _reduce_whole_axes(g, x, "ReduceMean", kernel, strides)
            return _avg_pool(g, x, kernel, strides, pads, ceil_mode, count_include_pad, divisor_override)

        return _batched(g, self, count, pool)


# -- windows fitted to an output size ----------------------------------------------------------------


def _fitted(g: Builder, size: Size, out: Size) -> tuple[Tensor, Tensor, Size]:
    """Starts and ends of the windows that cover `size` with `out` windows, and a length that none exceeds."""
    scaled = g.mul(g.range(0, out), g.ints([size]))
    start = g.floor_divmod(scaled, g.ints([out]), truncates=True)[0]
    end = g.floor_divmod(g.add(scaled, g.ints([size + out - 1])), g.ints([out]), truncates=True)[0]
    if isinstance(size, int) and isinstance(out, int):
        widths = [-(-(i + 1) * size // out) - i * size // out for i in range(out)]
        return start, end, max(widths, default=1)
    return start, end, (size + out - 1) // out + 1


def _fitted_windows(g: Builder, x: Tensor, axis: int, out: Size) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """An axis as `out` windows of one length: `[..., length, out, ...]`, the places gathered, which belong, how many.

    The place in the window comes before the window, as onnxruntime reduces an axis faster that has others behind it.
    """
    start, end, length = _fitted(g, g.own_size(x, axis), out)
    places = g.add(start, g.unsqueeze(g.range(0, length), [1]))
    last = g.sub(end, 1)
    inside = g.less_equal(places, last)
    places = g.extremum("Min", places, last)
    return g.gather(x, places, axis), places, inside, g.sub(end, start)


def _adaptive_mean(g: Builder, x: Tensor, axis: int, out: Size) -> Tensor:
    """The means of fitted windows along one axis."""
    size = x.shape[axis]
    if known_eq(size, out):
        return x
    length = exact_div(size, out)
    if length is not None:
        split = g.reshape(x, [*x.shape[:axis], out, length, *x.shape[axis + 1 :]])
        return g.reduce("ReduceMean", split, [axis + 1])
    windows, _, inside, counts = _fitted_windows(g, x, axis, out)
    behind = range(1, x.rank - axis)
    inside, counts = g.unsqueeze(inside, [1 + i for i in behind]), g.unsqueeze(counts, list(behind))
    sums = g.reduce("ReduceSum", g.where(inside, windows, 0), [axis])
    return g.div(sums, g.cast(counts, x.dtype))


def _adaptive_avg(g: Builder, x: Tensor, out: list[Size]) -> Tensor:
    if x.dtype == torch.bfloat16:  # PyTorch rounds once, at the end
        return g.cast(_adaptive_avg(g, g.cast(x, torch.float32), out), x.dtype)
    sizes = x.shape[2:]
    if all(known_eq(n, 1) for n in out):
        if has_kernels(x):
            return g.op("GlobalAveragePool", x)
        return g.reduce("ReduceMean", x, range(2, x.rank), keepdims=True)
    quotients = [
        s // n if isinstance(s, int) and isinstance(n, int) and n and s % n == 0 else 0 for s, n in zip(sizes, out)
    ]
    if all(quotients) and has_kernels(x):
        return g.average_pool(x, quotients, quotients, [0] * 2 * len(out), include_pad=False)
    for i, n in enumerate(out):
        x = _adaptive_mean(g, x, 2 + i, n)
    return x


def _adaptive_max(g: Builder, x: Tensor, out: list[Size]) -> tuple[Tensor, Tensor]:
    sizes = x.shape[2:]
    quotients = [
        s // n if isinstance(s, int) and isinstance(n, int) and n and s % n == 0 else 0 for s, n in zip(sizes, out)
    ]
    if all(quotients) and g.opset >= 8:
        values, places = g.max_pool(x, quotients, quotients, [0] * 2 * len(out), [1] * len(out), indices=True)
        assert places is not None
        return values, g.floor_divmod(places, g.size(product(sizes)), truncates=True)[1]
    if all(known_eq(n, 1) for n in out):
        return _global_max(g, x)
    flat = g.reshape(g.range(0, product(sizes)), sizes)
    windows = x
    for i, n in enumerate(out):  # [N, C, k0, n0, k1, n1, ...]
        windows, places, _, _ = _fitted_windows(g, windows, 2 + 2 * i, n)
        flat = g.gather(flat, places, 2 * i)
    inside = [2 * i for i in range(len(out))]
    order = [*[i + 1 for i in inside], *inside]
    flat = g.transpose(flat, order)
    lengths = flat.shape[len(out) :]
    flat = g.reshape(flat, [*flat.shape[: len(out)], product(lengths)])
    windows = g.transpose(windows, [0, 1, *[2 + i for i in order]])
    windows = g.reshape(windows, [*windows.shape[: 2 + len(out)], product(lengths)])
    values = g.reduce("ReduceMax", windows, [-1])
    return values, _picked(g, windows, flat)


def _global_max(g: Builder, x: Tensor) -> tuple[Tensor, Tensor]:
    values = g.op("GlobalMaxPool", x)
    places = g.op("ArgMax", g.reshape(x, [*x.shape[:2], product(x.shape[2:])]), axis=2, keepdims=1)
    return values, g.unsqueeze(places, range(3, x.rank))


def _picked(g: Builder, windows: Tensor, flat: Tensor) -> Tensor:
    """The entry of `flat` at the first maximum of each window."""
    best = g.op("ArgMax", windows, axis=windows.rank - 1, keepdims=1)
    chosen = g.equal(best, g.range(0, windows.shape[-1]))
    return g.reduce("ReduceMax", g.where(chosen, flat, g.const(-1, torch.int64)), [-1])


def _register_adaptive(count: int) -> None:
    def resolved(x: Tensor, output_size: Any) -> list[Size]:
        given = list(output_size) if isinstance(output_size, (list, tuple)) else [output_size]
        given = given * count if len(given) == 1 else given
        return [x.shape[2 + i] if n is None else n for i, n in enumerate(given)]

    @lowering(f"aten::adaptive_avg_pool{count}d", f"aten::_adaptive_avg_pool{count}d")
    def adaptive_avg_pool(g: Builder, self: Tensor, output_size: Any) -> Any:
        """adaptive_avg_pool2d(Tensor self, SymInt[2] output_size) -> Tensor"""
        return _batched(g, self, count, lambda x: _adaptive_avg(g, x, resolved(x, output_size)))

    @lowering(f"aten::adaptive_max_pool{count}d")
    def adaptive_max_pool(g: Builder, self: Tensor, output_size: Any) -> Any:
        """adaptive_max_pool2d(Tensor self, int[2] output_size) -> (Tensor, Tensor)"""
        return _batched(g, self, count, lambda x: _adaptive_max(g, x, resolved(x, output_size)))


# -- windows at random places ------------------------------------------------------------------------


def _random_starts(g: Builder, size: Size, window: int, count: int, samples: Tensor) -> Tensor:
    """Where the windows along an axis begin, for each channel: `[..., count]`."""
    if count == 1:
        return g.expand(g.size(size - window), [*samples.shape, 1])
    ratio = g.div(g.scalar(size - window, samples.dtype), g.const(count - 1, samples.dtype))
    sample = g.unsqueeze(samples, [samples.rank])
    places = g.mul(g.add(g.cast(g.range(0, count - 1), samples.dtype), sample), ratio)
    starts = g.sub(g.cast(places, torch.int64), g.cast(g.mul(sample, ratio), torch.int64))
    return g.concat([starts, g.expand(g.size(size - window), [*samples.shape, 1])], samples.rank)


@lowering("aten::fractional_max_pool2d", "aten::fractional_max_pool3d")
def fractional_max_pool(
    g: Builder, self: Tensor, kernel_size: Any, output_size: Any, random_samples: Tensor
) -> tuple[Tensor, Tensor]:
    """fractional_max_pool2d(Tensor self, int[2] kernel_size, int[2] output_size, Tensor random_samples)
    -> (Tensor, Tensor)"""
    count = random_samples.shape[-1]
    assert isinstance(count, int)
    kernel, out = per_axis(kernel_size, count), per_axis(output_size, count)
    if self.rank == count + 1:  # there may be samples for more
        random_samples = g.slice(random_samples, [0], [1], [0])

    def pool(x: Tensor) -> tuple[Tensor, Tensor]:
        sizes, lead = x.shape[2:], list(x.shape[:2])
        flat = g.const(0, torch.int64)
        for i in range(count):
            column = count - 1 - i if count == 2 else i  # the samples of a plane are for its width first
            samples = g.gather(random_samples, column, random_samples.rank - 1)
            starts = _random_starts(g, sizes[i], kernel[i], out[i], samples)
            places = g.add(g.unsqueeze(starts, [3]), g.range(0, kernel[i]))  # [N, C, out, kernel]
            shape = [1] * 2 * count
            shape[i], shape[count + i] = out[i], kernel[i]
            places = g.reshape(places, [*samples.shape, *shape])
            flat = g.add(g.mul(flat, g.size(sizes[i])), places)
        windows = [*lead, *out, math.prod(kernel)]
        flat = g.reshape(g.expand(flat, [*lead, *out, *kernel]), windows)
        picked = g.gather_elements(
            g.reshape(x, [*lead, product(sizes)]), g.reshape(flat, [*lead, product(windows[2:])]), 2
        )
        picked = g.reshape(picked, windows)
        return g.reduce("ReduceMax", picked, [-1]), _picked(g, picked, flat)

    return _batched(g, self, count, pool)  # type: ignore[no-any-return]


# -- the inverse ------------------------------------------------------------------------------------


@lowering("aten::max_unpool2d", "aten::max_unpool3d")
def max_unpool(g: Builder, self: Tensor, indices: Tensor, output_size: list[Size], *_: Any) -> Tensor:
    """max_unpool2d(Tensor self, Tensor indices, SymInt[2] output_size) -> Tensor"""
    lead = list(self.shape[: self.rank - len(output_size)])
    plane = product(output_size)
    zeros = g.full([*lead, plane], 0, self.dtype)
    shape = [*lead, product(self.shape[len(lead) :])]
    flat = g.scatter_elements(zeros, g.reshape(indices, shape), g.reshape(self, shape), len(lead))
    return g.reshape(flat, [*lead, *output_size])


for _count in (1, 2, 3):
    _register_max_pool(_count)
    _register_avg_pool(_count)
    _register_adaptive(_count)
