"""What the words are made of: the builder's `op` and its constants, as they look from here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, overload

import onnx_ir as ir
import torch

from ...dims import Size
from ...dtypes import to_onnx
from ..values import Number, Tensor

Input = Tensor | Number

INT64_MAX = (1 << 63) - 1


class Words:
    """Base of the mixins that make up the `Emitter`; `Builder` implements it."""

    opset: int
    made: list[Tensor]  # outputs of nodes
    ratios: dict[Any, tuple[Size, int]]  # float values that are a size divided by an int
    counts: dict[Any, Size]  # values that are 0, 1, 2, ... up to this size

    @overload
    def op(
        self,
        op_type: str,
        *inputs: Tensor | Sequence[Size] | None,
        outputs: Literal[1] = 1,
        domain: str = "",
        **attributes: Any,
    ) -> Tensor: ...

    @overload
    def op(
        self, op_type: str, *inputs: Tensor | Sequence[Size] | None, outputs: int, domain: str = "", **attributes: Any
    ) -> tuple[Tensor, ...]: ...

    def op(
        self,
        op_type: str,
        *inputs: Tensor | Sequence[Size] | None,
        outputs: int = 1,
        domain: str = "",
        **attributes: Any,
    ) -> Tensor | tuple[Tensor, ...]:
        """One ONNX op: its output, or a tuple of them.

        Inputs are tensors, lists of sizes (int64 vectors) or None (left out). Attributes are Python values; a
        `torch.dtype` stands for its ONNX number, an array or tensor for a TensorProto. An attribute that
        is None is left out.
        """
        tensors = [self.ints(x) if isinstance(x, (list, tuple)) else x for x in inputs]
        while tensors and tensors[-1] is None:
            tensors.pop()
        given = {name: _plain(value) for name, value in attributes.items() if value is not None}
        results = self.node(op_type, tensors, given, outputs, domain)
        return results[0] if outputs == 1 else results

    def node(
        self, op_type: str, inputs: list[Any], attributes: dict[str, Any], outputs: int, domain: str = ""
    ) -> tuple[Tensor, ...]:
        """The op on tensors, with plain attributes."""
        raise NotImplementedError

    def append(
        self,
        op_type: str,
        inputs: Sequence[ir.Value | None],
        attributes: dict[str, Any],
        outputs: int,
        domain: str = "",
    ) -> ir.Node:
        raise NotImplementedError

    def value(self, tensor: Tensor) -> ir.Value:
        raise NotImplementedError

    def range(self, start: Size, end: Size, step: int = 1, dtype: torch.dtype = torch.int64) -> Tensor:
        raise NotImplementedError

    def const(self, value: Any, dtype: torch.dtype) -> Tensor:
        raise NotImplementedError

    def scalar(self, value: Any, dtype: torch.dtype) -> Tensor:
        raise NotImplementedError

    def ints(self, values: Sequence[Size]) -> Tensor:
        raise NotImplementedError

    def size(self, value: Size) -> Tensor:
        raise NotImplementedError

    def int_of(self, tensor: Tensor, hint: str = "int", *, minimum: int | None = None) -> Size:
        raise NotImplementedError

    def known(self, data: Any, dtype: torch.dtype, *, from_weight: bool = False) -> Tensor:
        raise NotImplementedError

    def require(self, opset: int, what: str) -> None:
        raise NotImplementedError

    def shape_of(self, x: Tensor) -> Tensor:
        raise NotImplementedError

    def expand(self, x: Tensor, target: Sequence[Size]) -> Tensor:
        raise NotImplementedError

    # How the earliest opsets spell an op that they lack: see `early`.

    def counted(self, count: Size) -> Tensor:
        raise NotImplementedError

    def tiled(self, x: Tensor, target: Sequence[Size]) -> Tensor:
        raise NotImplementedError

    def chosen(self, condition: Tensor, a: Tensor, b: Tensor) -> Tensor:
        raise NotImplementedError

    def running_sum(self, x: Tensor, axis: int) -> Tensor:
        raise NotImplementedError

    def picked_slice(self, x: Tensor, start: Size, end: Size, axis: int, step: int) -> Tensor:
        raise NotImplementedError

    def ranked(self, x: Tensor, k: Size, axis: int, largest: bool) -> tuple[Tensor, Tensor]:
        raise NotImplementedError

    def true_positions(self, x: Tensor) -> Tensor:
        raise NotImplementedError

    def padded(self, x: Tensor, pads: Sequence[Size], mode: str, value: Number | Tensor) -> Tensor:
        raise NotImplementedError


def _plain(value: Any) -> Any:
    """An attribute as ONNX has it."""
    if isinstance(value, torch.dtype):
        return to_onnx(value)
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, tuple):
        return list(value)
    return value
