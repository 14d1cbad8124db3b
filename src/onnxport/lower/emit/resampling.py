"""Resampling of images and volumes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from ...dims import Size
from ..values import Tensor
from .early import EarlyWords


class ResamplingWords(EarlyWords):
    """Resampling of images and volumes."""

    def resize(
        self,
        x: Tensor,
        sizes: Sequence[Size] | None,
        scales: Tensor | None,
        axes: Sequence[int],
        *,
        mode: str,
        coordinates: str,
        nearest: str | None = None,
    ) -> Tensor:
        """Resize to sizes or by scales, given for every axis; only `axes` change."""
        if self.opset < 11:
            assert scales is not None and mode == "nearest" and coordinates == "asymmetric"
            return self._upsample(x, scales)
        cubic = -0.75 if mode == "cubic" else None  # PyTorch's
        form: dict[str, Any] = {"mode": mode, "coordinate_transformation_mode": coordinates, "nearest_mode": nearest}
        form["cubic_coeff_a"] = cubic
        none = None if self.opset >= 13 else self.const([], torch.float32)
        if sizes is None:
            inputs: list[Any] = [x, none, scales]
        elif self.opset >= 18:
            inputs = [x, None, None, [sizes[i] for i in axes]]
            form["axes"] = list(axes)
        else:
            inputs = [x, none, none, list(sizes)]
        result: Tensor = self.op("Resize", *inputs, **form)
        return result

    def _upsample(self, x: Tensor, scales: Tensor) -> Tensor:
        """Nearest neighbours by whole factors, as the op was before opset 11."""
        if self.opset >= 9:
            return self.op("Resize" if self.opset >= 10 else "Upsample", x, scales, mode="nearest")
        assert scales.data is not None
        return self.op("Upsample", x, mode="nearest", scales=[float(s) for s in scales.data])
