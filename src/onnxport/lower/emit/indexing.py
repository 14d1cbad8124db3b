"""Picking elements by index, and putting them back: gather, scatter, compress."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from ... import dims as sizes
from ...dims import Size
from ..values import Number, Tensor
from .spatial import SpatialWords

# reduction of a scatter -> the reduction that does the same along an axis
_REDUCERS = {"add": "ReduceSum", "mul": "ReduceProd", "max": "ReduceMax", "min": "ReduceMin"}
_COMBINE = {"add": "Add", "mul": "Mul"}
_NATIVE_SINCE = {"none": 11, "add": 16, "mul": 16, "max": 18, "min": 18}


class IndexWords(SpatialWords):
    """Picking elements by index, and putting them back: gather, scatter, compress."""

    def from_front(self, index: Tensor, size: Size) -> Tensor:
        """Positions along an axis of this size, negative ones counted from the end, as int64 from the front."""
        index = self.cast(index, torch.int64)
        if index.is_constant and index.data is not None:
            if not (index.data < 0).any():
                return index
            if isinstance(size, int):
                return self.const(index.data + size * (index.data < 0), torch.int64)
        wrapped = self.mul(self.cast(self.less(index, 0), torch.int64), self.size(size))
        return self.add(index, wrapped)

    def strides(self, target: Sequence[Size]) -> list[Size]:
        """How far apart neighbours along each axis are in a contiguous tensor of these sizes."""
        return [sizes.product(target[axis + 1 :]) for axis in range(len(target))]

    def linear(self, indices: Sequence[Tensor], target: Sequence[Size]) -> Tensor:
        """Positions in a flattened tensor of these sizes, from positions along each of its axes."""
        total = self.from_front(indices[0], target[0])
        for index, size in zip(indices[1:], target[1:]):
            total = self.add(self.mul(total, self.size(size)), self.from_front(index, size))
        return total

    def gather_elements(self, x: Tensor, indices: Tensor, axis: int) -> Tensor:
        """`result[i, j] = x[indices[i, j], j]` for axis 0; the other axes of x may be longer."""
        if self.opset >= 11:
            return self.op("GatherElements", x, indices, axis=axis)
        others = [
            indices if i == axis else self.reshape(self.range(0, n), [n if j == i else 1 for j in range(x.rank)])
            for i, n in enumerate(indices.shape)
        ]
        return self.gather(self.reshape(x, [x.numel]), self.linear(others, x.shape), 0)

    def gather_nd(self, x: Tensor, indices: Tensor) -> Tensor:
        """`result[i] = x[indices[i, 0], indices[i, 1], ...]`, over the first axes of x."""
        if self.opset >= 11:
            return self.op("GatherND", x, indices)
        depth = indices.shape[-1]
        assert isinstance(depth, int)
        columns = [self.gather(indices, i, indices.rank - 1) for i in range(depth)]
        rows = self.reshape(x, [sizes.product(x.shape[:depth]), *x.shape[depth:]])
        return self.gather(rows, self.linear(columns, x.shape[:depth]), 0)

    def nonzero(self, x: Tensor) -> Tensor:
        """Positions of what isn't zero, in order: [rank of x, their number]."""
        if self.opset >= 9:
            return self.op("NonZero", x)
        places: Tensor = self.true_positions(self.reshape(self.cast(x, torch.bool), [x.numel]))
        columns = []
        for axis, (size, stride) in enumerate(zip(x.shape, self.strides(x.shape))):
            wide, long = (self.size(sizes.maximum(n, 1)) for n in (stride, size))  # there are no places where it is 0
            column = places if stride == 1 else self.floor_divmod(places, wide, truncates=True)[0]
            columns.append(column if axis == 0 else self.floor_divmod(column, long, truncates=True)[1])
        return self.concat([self.unsqueeze(column, [0]) for column in columns], 0)

    def compress(self, x: Tensor, condition: Tensor, axis: int) -> Tensor:
        """The entries of x along an axis where the 1-d condition holds."""
        if self.opset < 9:
            return self.gather(x, self.true_positions(self.cast(condition, torch.bool)), axis)
        return self.op("Compress", x, self.cast(condition, torch.bool), axis=axis)

    def scatter_elements(
        self, x: Tensor, indices: Tensor, updates: Tensor, axis: int, reduction: str = "none"
    ) -> Tensor:
        """x with `x[indices[i, j], j] = updates[i, j]` for axis 0, or reduced with what is there.

        Of several updates to one place without reduction, one wins. max and min lose NaN.
        """
        if self.opset >= _NATIVE_SINCE[reduction]:
            how = None if reduction == "none" else reduction
            return self.op("ScatterElements", x, indices, updates, axis=axis, reduction=how)
        if reduction != "none":
            return self._scatter_by_comparison(x, indices, updates, axis, reduction)
        if self.opset < 9:
            return self._put_by_comparison(x, indices, updates, axis)
        return self.op("Scatter", x, self.from_front(indices, x.shape[axis]), updates, axis=axis)

    def _scatter_by_comparison(self, x: Tensor, indices: Tensor, updates: Tensor, axis: int, reduction: str) -> Tensor:
        """Each place along the axis is compared with each index: memory times the size of the axis."""
        if x.dtype == torch.bool:
            wide = self._scatter_by_comparison(
                self.cast(x, torch.int32), indices, self.cast(updates, torch.int32), axis, reduction
            )
            return self.cast(wide, x.dtype)
        neutral = self.scalar(neutral_element(reduction, x.dtype), x.dtype)
        given = self.where(self._hits(x, indices, axis), self.unsqueeze(updates, [axis]), neutral)
        result = self._reaching(x, self.reduce(_REDUCERS[reduction], given, [axis + 1]), axis, neutral)
        if reduction in _COMBINE:
            return self.binary(_COMBINE[reduction], x, result)
        return self.extremum(reduction.capitalize(), x, result)

    def _put_by_comparison(self, x: Tensor, indices: Tensor, updates: Tensor, axis: int) -> Tensor:
        count = indices.shape[axis]
        if sizes.known_ge(count, 1) is not True:  # ArgMax can't choose among none: one more that is never hit
            sides = [[*t.shape[:axis], 1, *t.shape[axis + 1 :]] for t in (indices, updates)]
            indices = self.concat(
                [self.cast(indices, torch.int64), self.full(sides[0], x.shape[axis], torch.int64)], axis
            )
            updates = self.concat([updates, self.full(sides[1], 0, x.dtype)], axis)
        hit = self._hits(x, indices, axis)
        which = self.op("ArgMax", self.cast(hit, torch.int32), axis=axis + 1, keepdims=0)
        given = self._reaching(x, self.gather_elements(updates, which, axis), axis, self.const(0, x.dtype))
        found = self._reaching(x, self.any(hit, [axis + 1]), axis, self.const(False, torch.bool))
        return self.where(found, given, x)

    def _hits(self, x: Tensor, indices: Tensor, axis: int) -> Tensor:
        """Whether a place along the axis of x (it is `axis`) is the one that an index (`axis + 1`) means."""
        size = x.shape[axis]
        places = self.reshape(self.range(0, size), [size] + [1] * (x.rank - axis))
        return self.equal(self.unsqueeze(self.from_front(indices, size), [axis]), places)

    def _reaching(self, x: Tensor, result: Tensor, axis: int, filler: Tensor) -> Tensor:
        """The result as far as x reaches along the other axes."""
        for i, n in enumerate(x.shape):
            if i != axis and n != result.shape[i]:
                rest = [*x.shape[:i], n - result.shape[i], *result.shape[i + 1 :]]
                result = self.concat([result, self.expand(filler, rest)], i)
        return result

    def scatter_nd(self, x: Tensor, indices: Tensor, updates: Tensor, reduction: str = "none") -> Tensor:
        """x with `x[indices[i, 0], indices[i, 1], ...] = updates[i]`, or reduced with what is there."""
        if self.opset >= _NATIVE_SINCE[reduction]:
            how = None if reduction == "none" else reduction
            return self.op("ScatterND", x, indices, updates, reduction=how)
        depth = indices.shape[-1]
        assert isinstance(depth, int)
        columns = [self.gather(indices, i, indices.rank - 1) for i in range(depth)]
        count = sizes.product(indices.shape[:-1])
        head, row = sizes.product(x.shape[:depth]), sizes.product(x.shape[depth:])
        places = self.reshape(self.linear(columns, x.shape[:depth]), [count, 1])
        result = self.scatter_elements(
            self.reshape(x, [head, row]),
            self.expand(places, [count, row]),
            self.reshape(updates, [count, row]),
            0,
            reduction,
        )
        return self.reshape(result, x.shape)


def neutral_element(reduction: str, dtype: torch.dtype) -> Number:
    """What changes nothing: of add, mul, max or min on this dtype."""
    if reduction in ("add", "mul"):
        return 0 if reduction == "add" else 1
    if dtype.is_floating_point:
        return -math.inf if reduction == "max" else math.inf
    if dtype == torch.bool:
        return reduction == "min"
    info = torch.iinfo(dtype)
    return info.min if reduction == "max" else info.max
