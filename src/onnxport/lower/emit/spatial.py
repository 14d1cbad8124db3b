"""Convolution, pooling, resampling, recurrence: ops over axes of space and time."""

from __future__ import annotations

from collections.abc import Sequence

from ...dims import Size
from ..values import Tensor
from .reduction import ReductionWords


class SpatialWords(ReductionWords):
    """Convolution, pooling, resampling, recurrence."""

    def windows(
        self, x: Tensor, kernel: Sequence[int], counts: Sequence[Size], strides: Sequence[int], dilations: Sequence[int]
    ) -> Tensor:
        """The elements under each place of a window over the last axes: `[..., *kernel, *counts]`.

        For what no pooling op does: it copies each element into every window that it is in.
        """
        spatial = len(kernel)
        lead = x.rank - spatial
        for i in range(spatial):
            offsets = self.unsqueeze(self.mul(self.range(0, kernel[i]), dilations[i]), [1])
            starts = self.mul(self.range(0, counts[i]), strides[i])
            x = self.gather(x, self.add(offsets, starts), lead + 2 * i)
        inside = [lead + 2 * i for i in range(spatial)]
        return self.transpose(x, [*range(lead), *inside, *[axis + 1 for axis in inside]])

    def max_pool(
        self,
        x: Tensor,
        kernel: Sequence[int],
        strides: Sequence[int],
        pads: Sequence[int],
        dilations: Sequence[int],
        *,
        ceil_mode: bool = False,
        indices: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """MaxPool, and the places of the maxima in the flattened x if asked for."""
        dilated = any(d != 1 for d in dilations)
        if dilated or ceil_mode:
            self.require(10, "MaxPool with dilations or ceil_mode")
        if indices:
            self.require(8, "MaxPool with indices")
        result = self.op(
            "MaxPool", x, outputs=2,
            kernel_shape=list(kernel), strides=list(strides), pads=list(pads),
            dilations=list(dilations) if dilated else None, ceil_mode=1 if ceil_mode else None,
        ) if indices else (
            self.op(
                "MaxPool", x,
                kernel_shape=list(kernel), strides=list(strides), pads=list(pads),
                dilations=list(dilations) if dilated else None, ceil_mode=1 if ceil_mode else None,
            ), None,
        )  # fmt: skip
        return result[0], result[1]

    def average_pool(
        self, x: Tensor, kernel: Sequence[int], strides: Sequence[int], pads: Sequence[int], *, include_pad: bool
    ) -> Tensor:
        """AveragePool over float32 or float16, without partial windows."""
        padded = any(pads)
        return self.op(
            "AveragePool", x, kernel_shape=list(kernel), strides=list(strides), pads=list(pads),
            count_include_pad=1 if include_pad and padded else None,
        )  # fmt: skip

    def layer_norm(
        self, x: Tensor, axis: int, weight: Tensor | None, bias: Tensor | None, epsilon: float, *, fused: bool = True
    ) -> Tensor:
        """(x - mean) / sqrt(variance + epsilon) * weight + bias over the axes from `axis` (negative) on.

        Not `fused` is a form that runtimes don't know.
        """
        if self.opset >= 17:
            scale = self.full(x.shape[axis:], 1, x.dtype) if weight is None else weight
            return self.op("LayerNormalization", x, scale, bias, axis=axis, epsilon=epsilon)
        centred, root = self.standardized(x, list(range(axis, 0)), epsilon)
        if weight is None:
            result = self.div(centred, root)
        elif fused:
            result = self.mul(self.div(centred, root), weight)
        else:
            result = self.mul(centred, self.div(weight, root))
        return result if bias is None else self.add(result, bias)

    def rms_norm(self, x: Tensor, axis: int, weight: Tensor | None, epsilon: float) -> Tensor:
        """x / sqrt(mean of squares + epsilon) * weight over the axes from `axis` (negative) on."""
        if self.opset >= 23 and not x.is_complex:
            scale = self.full(x.shape[axis:], 1, x.dtype) if weight is None else weight
            return self.op("RMSNormalization", x, scale, axis=axis, epsilon=epsilon)
        result = self.div(x, self.root_mean_square(x, list(range(axis, 0)), epsilon))
        return result if weight is None else self.mul(result, weight)

    def root_mean_square(self, x: Tensor, axes: Sequence[int], epsilon: float) -> Tensor:
        """The root of the mean of squares plus epsilon. Runtimes fuse this form, with Pow, but not with Mul."""
        square = self.reduce("ReduceMean", self.pow(x, 2), axes, keepdims=True)
        return self.op("Sqrt", self.add(square, epsilon))

    def standardized(self, x: Tensor, axes: Sequence[int], epsilon: float) -> tuple[Tensor, Tensor]:
        """x less its mean over these axes, and the root of its variance plus epsilon. Runtimes fuse this form."""
        centred = self.sub(x, self.reduce("ReduceMean", x, axes, keepdims=True))
        variance = self.reduce("ReduceMean", self.pow(centred, 2), axes, keepdims=True)
        return centred, self.op("Sqrt", self.add(variance, epsilon))
