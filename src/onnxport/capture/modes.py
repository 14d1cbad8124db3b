"""Modes that are on while a model is traced."""

from __future__ import annotations

import builtins
import contextlib
import functools
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
import torch.nn.functional as F
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


# The second argument of these is a list of so many ints. The tracer keeps sizes in a list live, but reads a bare one.
_LISTS: Mapping[Any, int] = {
    torch.roll: 1, torch.Tensor.roll: 1,
    F.avg_pool1d: 1, F.avg_pool2d: 2, F.avg_pool3d: 3,
    F.max_pool1d: 1, F.max_pool2d: 2, F.max_pool3d: 3,
    F.adaptive_avg_pool1d: 1, F.adaptive_avg_pool2d: 2, F.adaptive_avg_pool3d: 3,
}  # fmt: skip


class SizeArithmetic(TorchFunctionMode):
    """`n += 2` on a size must not change the other names bound to that size.

    A tracer hands out sizes as 0-d integer tensors; eager Python as ints. In-place arithmetic on the
    former changes what every other name sees, so it is done out of place.
    """

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        out_of_place = _OUT_OF_PLACE.get(func)
        if out_of_place is not None and is_size(args[0]):
            return out_of_place(*args, **(kwargs or {}))
        if func is torch.Tensor.view and len(args) == 2 and isinstance(args[1], torch.dtype):
            return _view_bits(args[0], args[1])
        if len(args) > 1 and isinstance(args[1], torch.Tensor) and not args[1].dim():
            count = _LISTS.get(func)
            if count is not None:
                args = (args[0], [args[1]] * count, *args[2:])
            elif func is torch.Tensor.split or func is torch.split:  # the latter calls the former, which calls int()
                return _split(*args, **(kwargs or {}))
        if func is torch.fill:  # recorded as a `full_like` that no schema fits
            return _filled(*args, **(kwargs or {}))
        return func(*args, **(kwargs or {}))


def _split(tensor: torch.Tensor, split_size_or_sections: torch.Tensor, dim: int = 0) -> Any:
    return torch._C._VariableFunctions.split(tensor, split_size_or_sections, dim)  # type: ignore[attr-defined]


@contextlib.contextmanager
def number_functions() -> Iterator[None]:
    """Let `math.ceil`, `math.floor`, `math.trunc`, `round`, `divmod`, `min` and `max` compute with sizes, as `//` does.

    Tensors don't have the methods behind the former, so that Python would turn the size into a float, or raise; of
    the latter it would keep the one that is the least or greatest in the example.
    """

    def whole(compute: Callable[[torch.Tensor], torch.Tensor], otherwise: Callable[[float], int]) -> Any:
        def method(self: torch.Tensor, *digits: int) -> Any:
            if digits or not torch._C._get_tracing_state() or self.dim():
                return otherwise(float(self), *digits)
            return compute(self).to(torch.int64)

        return method

    methods = {
        "__ceil__": whole(torch.ceil, math.ceil),
        "__floor__": whole(torch.floor, math.floor),
        "__trunc__": whole(torch.trunc, math.trunc),
        "__round__": whole(torch.round, round),
        "__divmod__": lambda self, other: (self // other, self % other),
    }
    added = [name for name in methods if not hasattr(torch.Tensor, name)]
    for name in added:
        setattr(torch.Tensor, name, methods[name])
    plain = builtins.min, builtins.max
    extrema: Any = builtins
    extrema.min, extrema.max = _extremum(min, torch.minimum), _extremum(max, torch.maximum)
    try:
        yield
    finally:
        extrema.min, extrema.max = plain
        for name in added:
            delattr(torch.Tensor, name)


def _extremum(plain: Callable[..., Any], of_two: Callable[..., torch.Tensor]) -> Callable[..., Any]:
    """`min` or `max`, live if one of its arguments is a size and the others are sizes or ints."""

    @functools.wraps(plain)
    def extremum(*args: Any, **kwargs: Any) -> Any:
        values = list(args[0]) if len(args) == 1 and isinstance(args[0], (tuple, list)) else args
        kinds = {v.__class__ for v in values}
        if torch.Tensor in kinds and kinds <= {torch.Tensor, int} and len(values) > 1 and not kwargs:
            if all(v.__class__ is int or is_size(v) for v in values):
                return functools.reduce(of_two, [torch.as_tensor(v) for v in values])
        return plain(*args, **kwargs)

    return extremum


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


def is_size(tensor: torch.Tensor) -> bool:
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


_ARITHMETIC = {
    "add", "sub", "mul", "div", "floor_divide", "remainder", "rsub", "Int", "neg", "ceil", "floor", "round", "trunc", "to",
    "maximum", "minimum",
}  # fmt: skip
