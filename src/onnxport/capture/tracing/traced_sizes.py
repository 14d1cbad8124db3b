"""Sizes, which are 0-d integer tensors while a model is traced, and numbers and bools that are computed from them: which tensors
are such."""

from __future__ import annotations

from collections.abc import Set
from typing import Any

import torch

from ...errors import LoweringError
from ..graph import TAKES_SIZES, inputs_of, location


def is_size(tensor: torch.Tensor) -> bool:
    """Whether a traced tensor was made from sizes and constants alone."""
    if tensor.dim() or tensor.dtype != torch.int64 or not torch._C._get_tracing_state():
        return False
    return hasattr(tensor, WHOLE) or _is_of_sizes_alone(torch._C._get_value_trace(tensor))  # type: ignore[attr-defined]


def is_made_of_sizes(tensor: torch.Tensor) -> bool:
    """Whether a traced tensor of one number was computed from sizes and constants alone, and is no size itself."""
    value: Any = torch._C._get_value_trace(tensor)  # type: ignore[attr-defined]
    return value.node().kind() not in ("prim::NumToTensor", "prim::Constant") and _is_of_sizes_alone(value, _OF_NUMBERS)


def follows_from_sizes(tensor: torch.Tensor) -> bool:
    """Whether a traced tensor of one int is computed from sizes and constants alone, by whatever operators."""
    if tensor.dtype != torch.int64:
        return False
    pending: list[Any] = [torch._C._get_value_trace(tensor)]  # type: ignore[attr-defined]
    seen: set[str] = set()
    of_sizes = False
    while pending and len(seen) < _LOOKED_AT:
        value = pending.pop()
        if value.debugName() in seen:
            continue
        seen.add(value.debugName())
        kind = value.node().kind()
        if kind == "prim::Param":
            return False
        if kind in TAKES_SIZES:
            of_sizes = True
        else:
            pending.extend(inputs_of(value.node()))
    return of_sizes and not pending


_LOOKED_AT = 200


def refuse_constructors(graph: Any) -> None:
    """Raise where `torch.LongTensor(n)` was given a size: it should be n numbers, but to the tracer, whose sizes are tensors,
    it is another name for the size."""
    for node in graph.findAllNodes("aten::alias"):
        if _is_of_sizes_alone(node.input()):
            raise LoweringError(_ONE_SIZE, place=location("", node.sourceRange()).source)


def refuse_constructor(error: TypeError) -> None:
    """Raise that instead of an error that is its consequence: the size is of another type than the tensor."""
    if "expected TensorOptions(" in str(error):
        raise LoweringError(_ONE_SIZE) from error


_ONE_SIZE = (
    "torch.Tensor(n), torch.LongTensor(n) and the like can't be recorded with one size n; use torch.empty(n, dtype=...), or "
    "torch.tensor(n) if its value is meant"
)


def _is_of_sizes_alone(value: Any, more: Set[str] = frozenset()) -> bool:
    pending, seen = [value], 0
    while pending and seen < 64:
        seen += 1
        node = pending.pop().node()
        kind = node.kind()
        if kind in TAKES_SIZES or kind in ("prim::Constant", "prim::shape"):
            continue
        name = kind.rpartition("::")[2].rstrip("_")
        if kind == "prim::NumToTensor" or name in _ARITHMETIC or name in more:
            pending.extend(inputs_of(node))
        else:
            return False
    return not pending


_ARITHMETIC = {  # without underscores at the end
    "add", "sub", "mul", "div", "floor_divide", "remainder", "rsub", "Int", "neg", "ceil", "floor", "round", "trunc", "to",
    "maximum", "minimum", "lt", "le", "gt", "ge", "eq", "ne", "pow",
    "__and", "__or", "__xor", "__lshift", "__rshift", "bitwise_and", "bitwise_or", "bitwise_xor",
}  # fmt: skip
# Functions of torch, of single elements, by which numbers are computed from sizes beside it.
FUNCTIONS = frozenset(
    ["bitwise_and", "bitwise_left_shift", "bitwise_not", "bitwise_or", "bitwise_right_shift", "bitwise_xor", "ceil", "clamp",
     "cos", "exp", "expm1", "floor", "fmod", "frac", "log", "log10", "log1p", "log2", "logical_and", "logical_not", "logical_or",
     "logical_xor", "maximum", "minimum", "reciprocal", "rsqrt", "sigmoid", "sign", "sin", "sqrt", "square", "tanh", "trunc",
     "where"]
)  # fmt: skip
_OF_NUMBERS = FUNCTIONS | {"abs", "detach", "ScalarImplicit"}
# Attributes of such tensors: what a float was computed from; that it is known to be an int.
MADE_OF = "_onnxport_made_of"
WHOLE = "_onnxport_whole"


def as_size(tensor: Any) -> Any:
    """A traced tensor that is known to be an int of sizes, whatever it was computed by."""
    if tensor.__class__ is torch.Tensor and tensor.dtype == torch.int64 and not tensor.dim():
        setattr(tensor, WHOLE, True)
    return tensor


def is_whole(operand: Any) -> bool:
    """Whether it is an int, or a size."""
    return operand.__class__ is int or (isinstance(operand, torch.Tensor) and is_size(operand))


def is_of_sizes(operand: Any) -> bool:
    """Whether it is a number that is known, or follows from sizes."""
    if operand.__class__ is torch.Tensor:
        return is_number(operand)
    return operand.__class__ in (int, float)


def is_number(tensor: torch.Tensor) -> bool:
    """Whether a tensor is a size, or a float that was computed from sizes: an int or a float of Python."""
    return hasattr(tensor, MADE_OF) or is_size(tensor)


def is_bool(operand: Any) -> bool:
    """Whether it is a bool that is known, or follows from sizes."""
    if operand.__class__ is not torch.Tensor:
        return operand.__class__ is bool
    if operand.dtype != torch.bool or operand.dim() or not torch._C._get_tracing_state():
        return False
    return _is_of_sizes_alone(torch._C._get_value_trace(operand))  # type: ignore[attr-defined]


def is_traced_number(number: Any) -> bool:
    """Whether something is a number that is recorded."""
    return number.__class__ is torch.Tensor and bool(torch._C._get_tracing_state()) and is_number(number)
