"""Modes that are on while a model is traced."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from ..errors import LoweringError

# In-place arithmetic of tensors, and what computes the same without writing.
_OUT_OF_PLACE: Mapping[Any, Callable[..., Any]] = {
    torch.Tensor.add_: torch.add,
    torch.Tensor.sub_: torch.sub,
    torch.Tensor.mul_: torch.mul,
    torch.Tensor.div_: torch.div,
    torch.Tensor.floor_divide_: torch.floor_divide,
    torch.Tensor.remainder_: torch.remainder,
    torch.Tensor.pow_: torch.pow,
}


class SizeArithmetic(TorchFunctionMode):
    """`n += 2` on a size must not change the other names bound to that size.

    A tracer hands out sizes as 0-d integer tensors; eager Python as ints. In-place arithmetic on the
    former changes what every other name sees, so it is done out of place.
    """

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        out_of_place = _OUT_OF_PLACE.get(func)
        if out_of_place is not None and _is_size(args[0]):
            return out_of_place(*args, **(kwargs or {}))
        if func is torch.Tensor.view and len(args) == 2 and isinstance(args[1], torch.dtype):
            return _view_bits(args[0], args[1])
        if func is torch.fill:  # recorded as a `full_like` that no schema fits
            return _filled(*args, **(kwargs or {}))
        return func(*args, **(kwargs or {}))


def _filled(input: torch.Tensor, value: Any) -> torch.Tensor:
    return input.clone().fill_(value)


def _view_bits(tensor: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """`tensor.view(dtype)`, which the tracer can't record."""
    if dtype == tensor.dtype:
        return tensor
    raise LoweringError(
        f"ONNX can't look at the bits of {tensor.dtype} as {dtype}; convert values with .to(dtype), or compute what the "
        "bits are needed for with arithmetic"
    )


def _is_size(tensor: torch.Tensor) -> bool:
    """Whether a traced tensor was made from sizes and constants alone."""
    if tensor.dim() or tensor.dtype != torch.int64 or not torch._C._get_tracing_state():
        return False
    pending, seen = [torch._C._get_value_trace(tensor)], 0  # type: ignore[attr-defined]
    while pending and seen < 64:
        seen += 1
        node = pending.pop().node()
        kind = node.kind()
        if kind in ("aten::size", "prim::Constant", "aten::numel", "prim::shape"):
            continue
        if kind == "prim::NumToTensor" or kind.rpartition("::")[2].rstrip("_") in _ARITHMETIC:
            pending.extend(node.inputs())
        else:
            return False
    return not pending


_ARITHMETIC = {"add", "sub", "mul", "floor_divide", "remainder", "rsub", "Int", "neg"}
