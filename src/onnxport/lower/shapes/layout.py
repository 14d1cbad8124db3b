"""Types of ops that rearrange, cut and join: Reshape, Slice, Concat, Pad and the like; and of constants."""

from __future__ import annotations

from math import ceil
from typing import Any

import numpy as np
import torch

from ...dims import Size, exact_div, known_eq, known_ge, known_lt, maximum, minimum, product
from ...dtypes import from_numpy
from .call import Call, Type, as_int, ceil_div, rule

_UNBOUNDED = 2**31 - 1  # from here on, a slice's bound means "to the end"


@rule("Reshape")
def reshape(call: Call) -> list[Type]:
    x, target = call[0], call.sizes(1)
    if target is None:
        return [(x.dtype, call.unknown_dims(call.length(1)))]
    # A size taken over with 0 stands on both sides of the division for -1: without it that is simpler.
    copies = set() if call.attr("allowzero", 0) else {i for i, size in enumerate(target) if size == 0}
    dims = list(target)
    for i in copies:
        dims[i] = call.unknown() if x.dims is None else _copied(call, x.dims, i)
    if -1 in target:
        place = target.index(-1)
        others = [size for i, size in enumerate(target) if i not in copies and i != place]
        if x.dims is None:
            dims[place] = call.unknown()
        else:
            dims[place] = _quotient(call, [s for i, s in enumerate(x.dims) if i not in copies], others)
    return [(x.dtype, tuple(dims))]


def _copied(call: Call, dims: tuple[Size, ...], index: int) -> Size:
    if index >= len(dims):
        raise call.error(f"the target has a 0 at {index}, the input has only {len(dims)} dimensions")
    return dims[index]


def _quotient(call: Call, sizes: list[Size], others: list[Size]) -> Size:
    if 0 in others:
        raise call.error("a -1 beside a 0 has no definite size")
    for size in tuple(others):  # mostly nothing is left to divide by
        if size in sizes:
            sizes.remove(size)
            others.remove(size)
    numel, divisor = product(sizes), product(others)
    quotient = exact_div(numel, divisor)
    if quotient is not None:
        return quotient
    if isinstance(numel, int) and isinstance(divisor, int):
        raise call.error(f"{numel} elements can't be divided by {divisor}")
    return numel // divisor


@rule("Flatten")
def flatten(call: Call) -> list[Type]:
    x, axis = call[0], call.attr("axis", 1)
    if x.dims is None:
        return [(x.dtype, call.unknowns(2))]
    if axis < 0:
        axis += len(x.dims)
    return [(x.dtype, (product(x.dims[:axis]), product(x.dims[axis:])))]


@rule("Transpose")
def transpose(call: Call) -> list[Type]:
    x, perm = call[0], call.attr("perm")
    if x.dims is None:
        return [(x.dtype, None if perm is None else call.unknowns(len(perm)))]
    return [(x.dtype, x.dims[::-1] if perm is None else tuple([x.dims[i] for i in perm]))]


@rule("Squeeze")
def squeeze(call: Call) -> list[Type]:
    x = call[0]
    axes = call.sizes_or_attr(1, "axes")
    if x.dims is None:
        return [(x.dtype, None)]
    if axes is not None:
        gone = set(call.axes(axes, len(x.dims)))
        return [(x.dtype, tuple([size for i, size in enumerate(x.dims) if i not in gone]))]
    if call.optional(1) is not None:  # axes known only at run time
        count = call.length(1)
        return [(x.dtype, None if count is None else call.unknowns(len(x.dims) - count))]
    ones = [known_eq(size, 1) for size in x.dims]
    if None in ones:
        return [(x.dtype, None)]
    return [(x.dtype, tuple([size for size, one in zip(x.dims, ones) if not one]))]


@rule("Unsqueeze")
def unsqueeze(call: Call) -> list[Type]:
    x = call[0]
    axes = call.sizes_or_attr(1, "axes")
    if x.dims is None:
        return [(x.dtype, None)]
    if axes is None or not all(isinstance(axis, int) for axis in axes):  # known only at run time
        count = call.length(1)
        return [(x.dtype, None if count is None else call.unknowns(len(x.dims) + count))]
    new, sizes = set(call.axes(axes, len(x.dims) + len(axes))), iter(x.dims)
    return [(x.dtype, tuple([1 if i in new else next(sizes) for i in range(len(x.dims) + len(axes))]))]


@rule("Expand")
def expand(call: Call) -> list[Type]:
    x, target = call[0], call.sizes(1)
    if target is not None:
        return [(x.dtype, call.broadcast(x.dims, tuple(target)))]
    count = call.length(1)
    if x.dims is None or count is None:
        return [(x.dtype, None)]
    rank = max(count, len(x.dims))
    sizes = (1,) * (rank - len(x.dims)) + x.dims
    return [(x.dtype, tuple([call.unknown() if known_eq(size, 1) is not False else size for size in sizes]))]


@rule("Tile")
def tile(call: Call) -> list[Type]:
    x, repeats = call[0], call.sizes(1)
    if x.dims is None or repeats is None:
        return [(x.dtype, call.unknown_dims(call.length(1) if x.dims is None else len(x.dims)))]
    return [(x.dtype, tuple([size * times for size, times in zip(x.dims, repeats)]))]


@rule("Pad")
def pad(call: Call) -> list[Type]:
    x, pads = call[0], call.sizes_or_attr(1, "pads")
    if x.dims is None:
        return [(x.dtype, None)]
    axes: list[int] | None = list(range(len(x.dims)))
    if call.optional(3) is not None:
        chosen = call.sizes(3)
        axes = None if chosen is None else call.axes(chosen, len(x.dims))
    if axes is None:
        return [(x.dtype, call.unknowns(len(x.dims)))]
    dims = list(x.dims)
    for i, axis in enumerate(axes):
        dims[axis] = call.unknown() if pads is None else dims[axis] + pads[i] + pads[i + len(axes)]
    return [(x.dtype, tuple(dims))]


@rule("CenterCropPad")
def center_crop_pad(call: Call) -> list[Type]:
    x, target = call[0], call.sizes(1)
    if x.dims is None:
        return [(x.dtype, None)]
    dims = list(x.dims)
    for i, axis in enumerate(call.axes(call.attr("axes", range(len(dims))), len(dims))):
        dims[axis] = call.unknown() if target is None else target[i]
    return [(x.dtype, tuple(dims))]


# -- cut and join -----------------------------------------------------------------------------------


@rule("Slice")
def slice_(call: Call) -> list[Type]:
    x = call[0]
    if x.dims is None:
        return [(x.dtype, None)]
    starts, ends = call.sizes_or_attr(1, "starts"), call.sizes_or_attr(2, "ends")
    axes, steps = call.sizes_or_attr(3, "axes"), call.sizes(4)
    if axes is None and call.optional(3) is not None:
        return [(x.dtype, call.unknowns(len(x.dims)))]
    if axes is None:
        known = starts if starts is not None else ends
        count = len(known) if known is not None else call.length(1)
        axes = list(range(len(x.dims) if count is None else count))
    dims = list(x.dims)
    for i, axis in enumerate(call.axes(axes, len(dims))):
        step: Size = 1 if call.optional(4) is None else 0 if steps is None else steps[i]
        cut = None
        if starts is not None and ends is not None and isinstance(step, int) and step:
            cut = slice_length(dims[axis], starts[i], ends[i], step)
        dims[axis] = call.unknown() if cut is None else cut
    return [(x.dtype, tuple(dims))]


def slice_length(size: Size, start: Size, end: Size, step: int) -> Size | None:
    """How many elements a slice takes of `size`; None if that hangs on a bound's sign, or is in dispute."""
    first, last = _from_front(start, size), _from_front(end, size)
    if first is None or last is None:
        return None
    if step < 0 and isinstance(end, int) and end >= _UNBOUNDED:
        return None  # nothing by the specification, everything by onnxruntime
    if isinstance(size, int) and isinstance(first, int) and isinstance(last, int):
        if step > 0:
            return max(0, ceil_div(min(last, size) - max(first, 0), step))
        return max(0, ceil_div(min(max(first, 0), size - 1) - max(last, -1), -step))
    # The same with Dims: min(a, b) - max(c, d) is a minimum of differences, and as such simplifies further.
    if step > 0:
        length = minimum(last, size)
        if first != 0:
            length = minimum(last - first, length, size - first)
    else:
        first = maximum(first, 0)
        length = minimum(size - 1 - last, first - last, size, first + 1)
    return maximum(0, ceil_div(length, abs(step)))


def _from_front(index: Size, size: Size) -> Size | None:
    """A bound counted from the front and not clamped: it may lie outside on either side."""
    if isinstance(index, int):
        if index >= _UNBOUNDED:
            return size
        if index <= -_UNBOUNDED:
            return -1  # where a slice backwards ends, and before any that goes forwards
        return index + size if index < 0 else index
    if known_lt(index, 0):
        return index + size
    # size - 1 is negative where size is 0, and then it makes no difference.
    return index if known_ge(index, 0) or index - size == -1 else None


@rule("Concat")
def concat(call: Call) -> list[Type]:
    dtype, shapes = call[0].dtype, [call[i].dims for i in range(len(call.inputs))]
    known = [dims for dims in shapes if dims is not None]
    if not known:
        return [(dtype, None)]
    axis = call.axis(call.attributes["axis"], len(known[0]))
    # Sizes off the axis are all the same: a number says more than a Dim.
    dims = [next((s for s in column if isinstance(s, int)), column[0]) for column in zip(*known)]
    dims[axis] = call.unknown() if len(known) < len(shapes) else sum((d[axis] for d in known[1:]), known[0][axis])
    return [(dtype, tuple(dims))]


@rule("Split")
def split(call: Call) -> list[Type]:
    x = call[0]
    if x.dims is None:
        return [(x.dtype, None)] * call.outputs
    axis = call.axis(call.attr("axis", 0), len(x.dims))
    parts = call.sizes_or_attr(1, "split")
    if parts is None and call.optional(1) is not None:
        parts = [call.unknown() for _ in range(call.outputs)]
    elif parts is None:
        # All alike; only with num_outputs the last may be smaller.
        count = call.attr("num_outputs", call.outputs)
        part = exact_div(x.dims[axis], count)
        if part is None:
            part = ceil_div(x.dims[axis], count)
        parts = [part] * (count - 1)
        parts.append(x.dims[axis] - part * (count - 1))
    return [(x.dtype, (*x.dims[:axis], part, *x.dims[axis + 1 :])) for part in parts]


@rule("DepthToSpace")
def depth_to_space(call: Call) -> list[Type]:
    x, block = call[0], call.attributes["blocksize"]
    if x.dims is None:
        return [(x.dtype, call.unknowns(4))]
    n, c, *spatial = x.dims
    return [(x.dtype, (n, c // block ** len(spatial), *[size * block for size in spatial]))]


@rule("SpaceToDepth")
def space_to_depth(call: Call) -> list[Type]:
    x, block = call[0], call.attributes["blocksize"]
    if x.dims is None:
        return [(x.dtype, call.unknowns(4))]
    n, c, *spatial = x.dims
    return [(x.dtype, (n, c * block ** len(spatial), *[size // block for size in spatial]))]


# -- sizes and constants ----------------------------------------------------------------------------


@rule("Shape")
def shape(call: Call) -> list[Type]:
    dims = call[0].dims
    if dims is None:
        return [(torch.int64, call.unknowns(1))]
    dims = (*dims, 2) if call[0].is_complex else dims  # real and imaginary parts
    return [(torch.int64, (len(dims[call.attr("start", 0) : call.attr("end")]),))]


@rule("Size")
def size(call: Call) -> list[Type]:
    return [(torch.int64, ())]


@rule("Constant")
def constant(call: Call) -> list[Type]:
    (name, value), *_ = call.attributes.items()
    if name == "value":
        array = _array(value)
        return [(from_numpy(array.dtype), array.shape)]
    dtype = {"value_int": torch.int64, "value_ints": torch.int64, "value_float": torch.float32}
    dtype["value_floats"] = torch.float32
    if name not in dtype:
        raise call.error(f"no element type of torch fits the attribute '{name}'")
    return [(dtype[name], (len(value),) if name.endswith("s") else ())]


@rule("ConstantOfShape")
def constant_of_shape(call: Call) -> list[Type]:
    value, sizes = call.attr("value"), call.sizes(0)
    dtype = torch.float32 if value is None else from_numpy(_array(value).dtype)
    return [(dtype, call.unknown_dims(call.length(0)) if sizes is None else tuple(sizes))]


def _array(value: Any) -> np.ndarray[Any, Any]:
    return value if isinstance(value, np.ndarray) else np.asarray(value)


@rule("Range")
def range_(call: Call) -> list[Type]:
    values = [call[i].data for i in range(3)]
    length: Size | None = None
    if not any(value is None for value in values):
        start, limit, delta = (value.reshape(-1)[0] if value is not None else 0 for value in values)
        exact = call[0].dtype.is_floating_point
        length = _float_steps(start, limit, delta) if exact else range_length(*map(_plain, (start, limit, delta)))
    return [(call[0].dtype, (call.unknown() if length is None else length,))]


def _plain(value: Any) -> Size:
    """An element of an array as a Python int; a Dim as it is."""
    return int(value) if isinstance(value, np.integer) else value


def range_length(start: Size, limit: Size, delta: Size) -> Size | None:
    """How many numbers range(start, limit, delta) has; None where that hangs on the sign of `delta`."""
    if known_lt(delta, 0):
        return maximum(0, ceil_div(start - limit, -delta))
    return maximum(0, ceil_div(limit - start, delta)) if known_ge(delta, 0) else None


def _float_steps(start: Any, limit: Any, delta: Any) -> int | None:
    # The difference in the type itself, the quotient in float64: as runtimes do.
    if any(as_int(value) is None and not isinstance(value, (float, np.generic)) for value in (start, limit, delta)):
        return None
    return max(0, ceil(float(limit - start) / float(delta)))
