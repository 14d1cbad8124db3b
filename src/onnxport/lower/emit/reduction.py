"""Reductions, products, softmax, top k."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from ...dims import Size
from ..values import Tensor
from .base import INT64_MAX
from .creation import CreationWords


class ReductionWords(CreationWords):
    """Reductions, products, softmax, top k."""

    def reduce(self, op_type: str, x: Tensor, axes: Sequence[int] | None = None, keepdims: bool = False) -> Tensor:
        """ReduceSum, ReduceMean, ReduceMax, ... over these axes; None for all."""
        keep = int(keepdims)
        if axes is not None:
            axes = sorted(a % x.rank for a in axes) if x.rank else []
            if not axes:
                return self._of_one(op_type, x)
        by_input = self.opset >= (13 if op_type == "ReduceSum" else 18)
        if axes is None:
            result = self.op(op_type, x, keepdims=keep)
        elif by_input:
            result = self.op(op_type, x, axes, keepdims=keep)
        else:
            result = self.op(op_type, x, axes=axes, keepdims=keep)
        assert isinstance(result, Tensor)
        return result

    def _of_one(self, op_type: str, x: Tensor) -> Tensor:
        """What a reduction over no axis is: that of each element alone."""
        if op_type in ("ReduceL1", "ReduceL2"):
            return self.abs(x)
        if op_type == "ReduceSumSquare":
            return self.mul(x, x)
        return self.log(x) if op_type == "ReduceLogSum" else x

    def logsumexp(self, x: Tensor, axes: Sequence[int] | None = None, keepdims: bool = False) -> Tensor:
        """log(sum(exp(x))). From opset 28 on the op is defined as just that, which overflows."""
        if x.dtype == torch.bfloat16:
            return self.cast(self.logsumexp(self.cast(x, torch.float32), axes, keepdims), x.dtype)
        if self.opset < 28:
            return self.reduce("ReduceLogSumExp", x, axes, keepdims)
        axes = list(range(x.rank)) if axes is None else axes
        largest = self.reduce("ReduceMax", x, axes, True)
        shift = self.where(self.less(self.abs(largest), math.inf), largest, 0)
        total = self.log(self.reduce("ReduceSum", self.exp(self.sub(x, shift)), axes, True))
        result = self.add(total, shift)
        return result if keepdims or not x.rank else self.squeeze(result, axes)

    def cumsum(self, x: Tensor, axis: int, *, exclusive: bool = False) -> Tensor:
        """The sum of all entries up to each; `exclusive`, for integers, leaves out the entry itself."""
        axis %= x.rank
        if self.opset >= 11:
            return self.op("CumSum", x, self.const(axis, torch.int64), exclusive=1 if exclusive else None)
        total = self.running_sum(x, axis)
        return self.sub(total, x) if exclusive else total

    def matmul(self, a: Tensor, b: Tensor) -> Tensor:
        """A product of matrices; a vector counts as a row on the left, as a column on the right.

        onnxruntime 1.32 takes a Transpose before MatMul into the product, and then computes a wrong one with a vector
        on the right: it is made a matrix.
        """
        if b.dims is not None and b.rank == 1 and a.dims is not None and a.rank > 1:
            return self.squeeze(self.op("MatMul", a, self.unsqueeze(b, [1])), [-1])
        return self.op("MatMul", a, b)

    def softmax(self, x: Tensor, axis: int, log: bool = False) -> Tensor:
        """Softmax along one axis. Below opset 13 the op flattens the axes behind its axis: it must be the last."""
        op_type = "LogSoftmax" if log else "Softmax"
        axis %= max(x.rank, 1)
        if x.rank == 0:
            return self.reshape(self.softmax(self.reshape(x, [1]), 0, log), [])
        if self.opset >= 13 or axis == x.rank - 1:
            result = self.op(op_type, x, axis=axis)
            return result
        return self.swap(self.softmax(self.swap(x, axis, x.rank - 1), x.rank - 1, log), axis, x.rank - 1)

    def topk(self, x: Tensor, k: Size, axis: int, largest: bool = True, sorted: bool = True) -> tuple[Tensor, Tensor]:
        """Values and indices of the k largest or smallest along an axis."""
        if self.opset >= 11:
            values, indices = self.op("TopK", x, [k], outputs=2, axis=axis, largest=int(largest), sorted=int(sorted))
            return values, indices
        if k == 0:  # which the op refuses below opset 10
            none = [*x.shape[:axis], 0, *x.shape[axis:][1:]]
            return self.full(none, 0, x.dtype), self.full(none, 0, torch.int64)
        if self.opset < 10 and not (isinstance(k, int) and isinstance(x.shape[axis], int)):
            return self.ranked(x, k, axis % x.rank, largest)
        if not largest:
            return self._bottomk(x, k, axis)
        if self.opset >= 10:
            values, indices = self.op("TopK", x, [k], outputs=2, axis=axis)
        else:
            values, indices = self.op("TopK", x, outputs=2, axis=axis, k=k)
        return values, indices

    def _bottomk(self, x: Tensor, k: Size, axis: int) -> tuple[Tensor, Tensor]:
        """The k smallest where the op only knows the largest: all of them, from the last to the first.

        Ties stay in their order if the tensor is turned around first; NaN comes last.
        """
        size = x.shape[axis]
        values, indices = self.topk(self.flip(x, axis), size, axis)
        indices = self.sub(self.size(size - 1), indices)
        first, where = [self.slice(self.flip(t, axis), [0], [k], [axis]) for t in (values, indices)]
        return first, where

    def flip(self, x: Tensor, axis: int) -> Tensor:
        """Entries along an axis from the last to the first."""
        size = x.shape[axis]
        if isinstance(size, int):
            return self.op("Gather", x, self.ints(list(range(size - 1, -1, -1))), axis=axis)
        return self.slice(x, [-1], [-INT64_MAX], [axis], [-1])

    def any(self, x: Tensor, axes: Sequence[int] | None = None, keepdims: bool = False) -> Tensor:
        """Whether anything is true along these axes; nothing is, along empty ones."""
        if self.opset >= 12:  # the largest of no uint8 is 0, the smallest is 255
            return self.cast(self.reduce("ReduceMax", self.cast(x, torch.uint8), axes, keepdims), torch.bool)
        return self.cast(self.reduce("ReduceSum", self.cast(x, torch.int32), axes, keepdims), torch.bool)

    def all(self, x: Tensor, axes: Sequence[int] | None = None, keepdims: bool = False) -> Tensor:
        """Whether everything is true along these axes."""
        if self.opset >= 12:
            return self.cast(self.reduce("ReduceMin", self.cast(x, torch.uint8), axes, keepdims), torch.bool)
        return self.not_(self.any(self.not_(x), axes, keepdims))
