"""What the shape rules share: the call they look at, their registry, and a few words on dims.

A rule takes a `Call` and gives the types of all outputs the op can have; `shapes.infer` cuts the list. It
tells the version of an op by the form of the call (an attribute or an input) and asks for the opset only
where one form means two things.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import torch

from ...dims import Dim, Size, broadcast
from ...dtypes import from_onnx
from ...errors import LoweringError
from ..values import Tensor

Dims: TypeAlias = "tuple[Size, ...] | None"  # None: not even their number is known
Type: TypeAlias = tuple[torch.dtype, Dims]


class Call:
    """A node before it exists: an op, its inputs and attributes."""

    __slots__ = ("attributes", "fresh", "inputs", "op_type", "opset", "outputs")

    def __init__(
        self,
        op_type: str,
        inputs: Sequence[Tensor | None],
        attributes: Mapping[str, Any],
        opset: int,
        outputs: int,
        fresh: Callable[[str], Dim],
    ) -> None:
        self.op_type = op_type
        self.inputs = inputs
        self.attributes = attributes
        self.opset = opset
        self.outputs = outputs
        self.fresh = fresh

    def __getitem__(self, index: int) -> Tensor:
        """An input the op requires."""
        found = self.optional(index)
        if found is None:
            raise self.error(f"input {index} is missing")
        return found

    def optional(self, index: int) -> Tensor | None:
        return self.inputs[index] if index < len(self.inputs) else None

    def attr(self, name: str, default: Any = None) -> Any:
        return self.attributes.get(name, default)

    def dtype(self, name: str, default: torch.dtype) -> torch.dtype:
        """The element type an attribute names by its ONNX number; 0 and absent mean the default."""
        number = self.attributes.get(name)
        if not number:
            return default
        try:
            return from_onnx(int(number))
        except ValueError as error:
            raise self.error(str(error)) from error

    def sizes(self, index: int) -> list[Size] | None:
        """The elements of an integer input, if it is given and known."""
        tensor = self.optional(index)
        if tensor is None or not tensor.is_known or tensor.data is None:
            return None
        values: list[Size] = tensor.data.reshape(-1).tolist()
        return values

    def sizes_or_attr(self, index: int, name: str) -> list[Size] | None:
        """For what was an attribute before it became an input. None: absent, or not known."""
        value = self.attributes.get(name)
        return self.sizes(index) if value is None else list(value)

    def length(self, index: int) -> int | None:
        """How many elements a 1-d input has, where that is a plain number."""
        tensor = self.optional(index)
        if tensor is None or tensor.dims is None or len(tensor.dims) != 1:
            return None
        return tensor.dims[0] if isinstance(tensor.dims[0], int) else None

    def unknown(self) -> Dim:
        """A size that is known only at run time."""
        return self.fresh(self.op_type.lower())

    def unknowns(self, count: int) -> tuple[Size, ...]:
        return tuple([self.unknown() for _ in range(count)])

    def unknown_dims(self, rank: int | None) -> Dims:
        return None if rank is None else self.unknowns(rank)

    def axis(self, axis: int, rank: int) -> int:
        if not -rank <= axis < rank:
            raise self.error(f"axis {axis} doesn't exist in {rank} dimensions")
        return axis + rank if axis < 0 else axis

    def axes(self, axes: Sequence[Size], rank: int) -> list[int]:
        if not all(isinstance(axis, int) for axis in axes):
            raise self.error(f"the axes {[*map(str, axes)]} are not all known")
        return [self.axis(axis, rank) for axis in axes if isinstance(axis, int)]

    def broadcast(self, *shapes: Dims) -> Dims:
        """The dims that numpy's rules give."""
        result: Dims = ()
        for dims in shapes:
            if dims is None or result is None:
                return None
            if not result or dims == result:
                result = dims
            elif dims:
                long, short = (result, dims) if len(result) >= len(dims) else (dims, result)
                lead = len(long) - len(short)
                result = long[:lead] + tuple(map(self.broadcast_size, long[lead:], short))
        return result

    def broadcast_size(self, a: Size, b: Size) -> Size:
        if a is b or b == 1:
            return a
        if a == 1:
            return b
        try:
            return broadcast(a, b)
        except ValueError as error:
            raise self.error(str(error)) from error

    def error(self, reason: str) -> LoweringError:
        return LoweringError(f"ONNX {self.op_type}: {reason}")


Rule = Callable[[Call], list[Type]]
RULES: dict[str, Rule] = {}


def rule(*op_types: str) -> Callable[[Rule], Rule]:
    """Register the rule of these ops of ai.onnx."""

    def register(function: Rule) -> Rule:
        for op_type in op_types:
            if op_type in RULES:
                raise ValueError(f"a second shape rule for {op_type}")
            RULES[op_type] = function
        return function

    return register


def ceil_div(a: Size, b: Size) -> Size:
    """`a / b` rounded up, for positive b."""
    return (a + b - 1) // b


def as_int(size: object) -> int | None:
    return size if isinstance(size, int) else None
