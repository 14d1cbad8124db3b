"""What opsets 7 to 10 lack, spelled out in what they have. Exact, but at a price: see each word."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx_ir as ir
import torch

from ... import dims as sizes
from ...dims import Size
from ...dtypes import to_onnx
from ..values import Number, Tensor
from .base import INT64_MAX
from .indexing import IndexWords

# Divided by this and rounded down, a position is -1 if it is negative, else 0. It is no larger, since sums of sizes
# are multiplied by it on the way, and must not overflow.
_BEYOND = 1 << 32


class EarlyWords(IndexWords):
    """What opsets 7 to 10 lack, spelled out in what they have."""

    def counted(self, count: Size) -> Tensor:
        """0, 1, ... below a size: the numbers of a Loop's rounds. A round costs about a microsecond."""
        inputs = [self.value(self.size(count)), None, self.value(self.size(0))]
        last, numbers = self.append("Loop", inputs, {"body": _counter()}, 2).outputs
        self.made += [Tensor(torch.int64, (), last), Tensor(torch.int64, (count,), numbers)]
        return self.made[-1]

    def tiled(self, x: Tensor, target: Sequence[Size]) -> Tensor:
        """Expand as Tile: where x has the size 1, as many copies as the target is long."""
        x = self.unsqueeze(x, list(range(len(target) - x.rank)))
        copies = [1 if size == end else end // sizes.maximum(size, 1) for size, end in zip(x.shape, target)]
        result = self.op("Tile", x, copies)
        result.dims = tuple(target)
        return result

    def chosen(self, condition: Tensor, a: Tensor, b: Tensor) -> Tensor:
        """Where, bit for bit: both side by side, and of each pair the element at position 0 or 1."""
        target = sizes.broadcast_shapes(condition.shape, a.shape, b.shape)
        pair = self.concat([self.unsqueeze(self.expand(x, target), [0]) for x in (b, a)], 0)
        index = self.unsqueeze(self.expand(self.cast(condition, torch.int64), target), [0])
        return self.squeeze(self.gather_elements(pair, index, 0), [0])

    def running_sum(self, x: Tensor, axis: int) -> Tensor:
        """CumSum: after each of log2(size) steps an entry covers twice as many before it.

        Where the size is known only at run time, every entry is added to all that come after it: size * size memory.
        """
        size = x.shape[axis]
        if isinstance(size, int):
            step = 1
            while step < size:
                head, before = self.slice(x, [0], [step], [axis]), self.slice(x, [0], [size - step], [axis])
                x = self.concat([head, self.add(before, self.slice(x, [step], [size], [axis]))], axis)
                step *= 2
            return x
        places = self.range(0, size)
        until = self.less_equal(self.unsqueeze(places, [0]), self.unsqueeze(places, [1]))  # [to, from]
        until = self.reshape(until, [size, size, *[1] * (x.rank - 1 - axis)])
        return self.reduce("ReduceSum", self.where(until, self.unsqueeze(x, [axis]), 0), [axis + 1])

    def picked_slice(self, x: Tensor, start: Size, end: Size, axis: int, step: int) -> Tensor:
        """A slice whose bounds are computed, or that has a step, as a Gather of its positions."""
        size = x.shape[axis]
        if step > 0:
            low = sizes.maximum(_from_front(start, size), 0)
            high = size if end == INT64_MAX else sizes.minimum(_from_front(end, size), size)
        else:
            low = sizes.minimum(_from_front(start, size), size - 1)
            high = -1 if end == -INT64_MAX else sizes.maximum(_from_front(end, size), -1)
        return self.gather(x, self.range(low, high, step), axis)

    def ranked(self, x: Tensor, k: Size, axis: int, largest: bool) -> tuple[Tensor, Tensor]:
        """TopK of a number known only at run time: each entry is compared with each other, in size * size memory.

        NaN is larger than all else; equal entries stay in order.
        """
        size, behind = x.shape[axis], [1] * (x.rank - 1 - axis)
        this, other = self.unsqueeze(x, [axis + 1]), self.unsqueeze(x, [axis])
        places = self.range(0, size)
        sooner = self.less(self.unsqueeze(places, [0]), self.unsqueeze(places, [1]))
        ahead, same = self.greater(other, this) if largest else self.less(other, this), self.equal(other, this)
        if x.is_float:
            high, low = (self.isnan(v) for v in ((other, this) if largest else (this, other)))
            ahead = self.or_(ahead, self.and_(high, self.not_(low)))
            same = self.or_(same, self.and_(high, low))
        ahead = self.or_(ahead, self.and_(same, self.reshape(sooner, [size, size, *behind])))
        rank = self.reduce("ReduceSum", self.cast(ahead, torch.int32), [axis + 1])
        wanted = self.reshape(self.cast(self.range(0, k), torch.int32), [k, 1, *behind])
        hit = self.equal(self.unsqueeze(rank, [axis]), wanted)
        indices = self.op("ArgMax", self.cast(hit, torch.int32), axis=axis + 1, keepdims=0)
        return self.gather_elements(x, indices, axis), indices

    def true_positions(self, x: Tensor) -> Tensor:
        """NonZero of a vector. Where its size is known, a TopK puts what is true first; else size * size memory."""
        size = x.shape[0]
        count = self.int_of(self.reduce("ReduceSum", self.cast(x, torch.int64), [0]), "nonzero", minimum=0)
        if isinstance(size, int):
            if size == 0:
                return self.known(np.zeros(0, np.int64), torch.int64)
            rank = self.const(np.arange(size, 0, -1), torch.float64)
            _, order = self.topk(self.mul(self.cast(x, torch.float64), rank), size, 0)
            return self.slice(order, [0], [count], [0])
        until = self.unsqueeze(self.running_sum(self.cast(x, torch.int64), 0), [0])
        reached = self.less_equal(self.unsqueeze(self.range(1, count + 1), [1]), until)
        never = self.full([count, 1], False, torch.bool)  # ArgMax can't choose among none
        return self.op("ArgMax", self.cast(self.concat([reached, never], 1), torch.int32), axis=1, keepdims=0)

    def padded(self, x: Tensor, pads: Sequence[Size], mode: str, value: Number | Tensor) -> Tensor:
        """Pad by computed amounts or with a computed value, axis by axis."""
        for axis in range(x.rank):
            begin, end, size = pads[axis], pads[x.rank + axis], x.shape[axis]
            if begin == 0 and end == 0:
                continue
            if mode == "constant":
                x = self._padded_by_value(x, begin, end, axis, value)
                continue
            positions = self.range(-begin, size + end)
            if mode == "edge":
                positions = self.extremum("Min", self.extremum("Max", positions, 0), self.size(size - 1))
            else:  # reflected at 0, then at the last one
                last = self.size(size - 1)
                positions = self.sub(last, self.abs(self.sub(last, self.abs(positions))))
            x = self.gather(x, positions, axis)
        return x

    def _padded_by_value(self, x: Tensor, begin: Size, end: Size, axis: int, value: Number | Tensor) -> Tensor:
        size = x.shape[axis]
        if sizes.known_ge(begin, 0) is not True or sizes.known_ge(end, 0) is not True:
            x = self.slice(x, [sizes.maximum(-begin, 0)], [size + sizes.minimum(end, 0)], [axis])
        shapes = [[*x.shape[:axis], sizes.maximum(n, 0), *x.shape[axis + 1 :]] for n in (begin, end)]
        before, after = [None if s[axis] == 0 else self._filled(s, value, x.dtype) for s in shapes]
        return self.concat([part for part in (before, x, after) if part is not None], axis)

    def _filled(self, target: Sequence[Size], value: Number | Tensor, dtype: torch.dtype) -> Tensor:
        if isinstance(value, Tensor):
            return self.expand(self.reshape(self.cast(value, dtype), []), target)
        return self.full(target, value, dtype)


def _from_front(position: Size, size: Size) -> Size:
    """A position of a slice, negative ones counted from the end."""
    low, high = sizes.lower_bound(position), sizes.upper_bound(position)
    if low is not None and low >= 0:
        return position
    if high is not None and high < 0:
        return size + position
    return position - size * (position // _BEYOND)


def _counter() -> ir.Graph:
    """The body of a Loop that gives the number of each round. Loops of opset 7 have to carry a value along."""

    def value(name: str, dtype: torch.dtype) -> ir.Value:
        return ir.Value(name=name, type=ir.TensorType(ir.DataType(to_onnx(dtype))), shape=ir.Shape([]))

    def same(x: ir.Value) -> ir.Node:
        node = ir.Node("", "Identity", [x], num_outputs=1)
        node.outputs[0].type, node.outputs[0].shape = x.type, x.shape
        return node

    taken = [value("round", torch.int64), value("goes_on", torch.bool), value("carried", torch.int64)]
    nodes = [same(taken[1]), same(taken[2]), same(taken[0])]
    given: list[Any] = [node.outputs[0] for node in nodes]
    return ir.Graph(taken, given, nodes=nodes, name="body")
