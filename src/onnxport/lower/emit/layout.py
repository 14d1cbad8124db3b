"""Where elements go: reshape, transpose, slices, pieces, padding."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from ... import dims as sizes
from ...dims import Dim, Size
from ...dtypes import to_numpy
from ...errors import LoweringError
from ..values import Scalar, Tensor
from .base import Input
from .chains import ChainWords, kept_axes


class LayoutWords(ChainWords):
    """Where elements go: reshape, transpose, slices, pieces, padding."""

    def reshape(self, x: Tensor, target: Sequence[Size]) -> Tensor:
        """Reshape to these sizes."""
        target = tuple(target)
        if x.dims == target:
            return x
        if 0 in target:
            return self._empty(target, x.dtype)
        found = self.resized(x, target)
        if found is None:
            found = self.fixed_reshape(x, target)
        if found is None and x.dims is not None:
            found = self.unit_axes(x, target)
        if found is None:
            found = self.op("Reshape", x, self.ints(kept_axes(x, target)))
            found.dims = target
            self.moved(found, x)
        return found

    def reshape_as(self, x: Tensor, like: Tensor) -> Tensor:
        """x with the sizes of another tensor, which are read from it at once where they aren't constants."""
        target = like.shape
        unknown = sum(not isinstance(d, int) for d in kept_axes(x, target))
        if unknown < 2 or x.dims == target or x.is_complex or like.is_complex or like.is_known or 0 in target:
            return self.reshape(x, target)
        found = self.op("Reshape", x, self.shape_of(like))
        found.dims = target
        return self.moved(found, x)

    def _empty(self, target: Sequence[Size], dtype: torch.dtype) -> Tensor:
        """A tensor without elements: all of one shape are alike, and below opset 14 no Reshape makes one."""
        fixed = [d for d in target if isinstance(d, int)]
        if len(fixed) == len(target):
            return self.known(np.zeros(fixed, to_numpy(dtype)), dtype)
        self.require(9, "an empty tensor of sizes known only at run time")
        result = self.op("ConstantOfShape", self.ints(target), value=np.zeros(1, to_numpy(dtype)))
        result.dims = tuple(target)
        return result

    def transpose(self, x: Tensor, perm: Sequence[int]) -> Tensor:
        """Axis `i` of the result is axis `perm[i]` of x."""
        if list(perm) == list(range(len(perm))):
            return x
        found = self.repermuted(x, perm)
        return self.moved(self.op("Transpose", x, perm=list(perm)), x, perm) if found is None else found

    def swap(self, x: Tensor, a: int, b: int) -> Tensor:
        """Transpose of two axes."""
        perm = list(range(x.rank))
        perm[a], perm[b] = perm[b], perm[a]
        return self.transpose(x, perm)

    def squeeze(self, x: Tensor, axes: Sequence[int]) -> Tensor:
        if not axes:
            return x
        axes = sorted(a % x.rank for a in axes)
        rest = tuple(d for i, d in enumerate(x.shape) if i not in axes)
        sure = all(x.shape[a] == 1 for a in axes)
        found = self.resized(x, rest) if sure else None
        if found is None:
            found = self.op("Squeeze", x, axes) if self.opset >= 13 else self.op("Squeeze", x, axes=axes)
            return self.moved(found, x) if sure else found
        return found

    def unsqueeze(self, x: Tensor, axes: Sequence[int]) -> Tensor:
        """Insert axes of size 1 at these positions of the result."""
        if not axes:
            return x
        rank = x.rank + len(axes)
        axes = sorted(a % rank for a in axes)
        rest = iter(x.shape)
        found = self.resized(x, tuple(1 if i in axes else next(rest) for i in range(rank)))
        if found is None:
            found = self.op("Unsqueeze", x, axes) if self.opset >= 13 else self.op("Unsqueeze", x, axes=axes)
            return self.moved(found, x)
        return found

    def expand(self, x: Tensor, target: Sequence[Size]) -> Tensor:
        """Broadcast x to these sizes (at least as many as x has)."""
        target = tuple(target)
        if x.dims == target:
            return x
        if x.rank > len(target):
            raise LoweringError(f"a tensor of {x.rank} dimensions can't be expanded to {len(target)} sizes")
        if self.opset < 8:
            return self.tiled(x, target)
        spec = list(target)
        offset = len(target) - x.rank
        for i, d in enumerate(target):  # a size that x has itself needn't be computed
            if not isinstance(d, int) and i >= offset and x.shape[i - offset] == d:
                spec[i] = 1
        if all(d == 1 for d in spec) and offset == 0:
            return x
        result = self.op("Expand", x, spec)
        result.dims = target
        return result

    def concat(self, tensors: Sequence[Tensor], axis: int) -> Tensor:
        if len(tensors) == 1:
            return tensors[0]
        result = self.op("Concat", *tensors, axis=axis)
        return result

    def slice(
        self,
        x: Tensor,
        starts: Sequence[Size],
        ends: Sequence[Size],
        axes: Sequence[int],
        steps: Sequence[int] | None = None,
    ) -> Tensor:
        """Slices along axes, with the meaning of Python's; INT64_MAX for an open end."""
        steps = list(steps) if steps is not None else [1] * len(axes)
        if self.opset >= 10:
            result = self.op("Slice", x, list(starts), list(ends), list(axes), *([steps] if set(steps) != {1} else []))
        else:
            if any(s != 1 for s in steps) or not all(isinstance(s, int) for s in [*starts, *ends]):
                for start, end, axis, step in zip(starts, ends, axes, steps):
                    x = self.picked_slice(x, start, end, axis, step)
                return x
            result = self.op("Slice", x, starts=list(starts), ends=list(ends), axes=list(axes))
        assert isinstance(result, Tensor)
        return result

    def gather(self, x: Tensor, indices: Tensor | int, axis: int) -> Tensor:
        """Entries of x along an axis; a Python int drops the axis."""
        if isinstance(indices, int):
            if indices in (0, -1) and x.dims is not None and x.dims[axis] == 1:
                return self.squeeze(x, [axis])
            indices = self.const(indices, torch.int64)
        result = self.op("Gather", x, indices, axis=axis)
        return result

    def split(self, x: Tensor, lengths: Sequence[Size], axis: int) -> list[Tensor]:
        """Pieces of these lengths along an axis."""
        if len(lengths) == 1:
            return [x]
        if not all(isinstance(n, int) for n in lengths) and self.opset < 13:
            ends = [sizes.Dim.__add__(s, 0) if isinstance(s, Dim) else s for s in _running(lengths)]
            return [self.slice(x, [e - n], [e], [axis]) for e, n in zip(ends, lengths)]
        if self.opset >= 13:
            pieces = self.op("Split", x, list(lengths), outputs=len(lengths), axis=axis)
        else:
            pieces = self.op("Split", x, outputs=len(lengths), axis=axis, split=list(lengths))
        return list(pieces)

    def pad(self, x: Tensor, pads: Sequence[Size], mode: str = "constant", value: Input | None = None) -> Tensor:
        """Pad by `[begin of axis 0, ..., end of axis 0, ...]`; negative amounts crop."""
        if all(isinstance(p, int) and p == 0 for p in pads):
            return x
        if self.opset >= 11:
            fill = None if value is None or mode != "constant" else self.scalar(value, x.dtype)
            result = self.op("Pad", x, list(pads), fill, mode=mode)
        else:
            if not all(isinstance(p, int) for p in pads) or isinstance(value, (Tensor, Scalar, Dim)):
                return self.padded(x, pads, mode, 0 if value is None else value)
            number = None if value is None else float(value)  # type: ignore[arg-type]
            result = self.op("Pad", x, pads=list(pads), mode=mode, value=number)
        assert isinstance(result, Tensor)
        return result


def _running(lengths: Sequence[Size]) -> list[Size]:
    total: Size = 0
    sums = []
    for length in lengths:
        total = total + length
        sums.append(total)
    return sums
