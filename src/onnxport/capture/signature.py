"""Example arguments of scripts: bound to the schema, and of the types that it asks for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch


class Default:
    """The default of an argument that the example doesn't give: a constant of the exported model."""

    def __init__(self, value: Any) -> None:
        self.value = value


def bind(schema: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], *, skip: int) -> list[tuple[str, Any]]:
    """Names and examples of the arguments by the schema; what isn't given has its default.

    TypeError if the script can't be called like this; numbers of numpy become those of Python.
    """
    specs = schema.arguments[skip:]
    if len(args) > len(specs):
        raise TypeError(f"{schema.name} takes {len(specs)} arguments, {len(args)} are given")
    unknown = sorted(set(kwargs) - {spec.name for spec in specs})
    if unknown:
        raise TypeError(f"{schema.name} has no argument {', '.join(map(repr, unknown))}")
    bound = []
    for i, spec in enumerate(specs):
        if i < len(args) or spec.name in kwargs:
            given = _plain(args[i] if i < len(args) else kwargs[spec.name])
            if not _fits(spec.type, given):
                raise TypeError(_mismatch(schema.name, spec, given))
            bound.append((spec.name, given))
        elif spec.has_default_value():
            bound.append((spec.name, Default(spec.default_value)))
        else:
            raise TypeError(f"{schema.name} needs an example for its argument {spec.name!r}")
    return bound


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _fits(type: Any, value: Any) -> bool:
    """Whether TorchScript takes a value for a type; 0-d tensors stand for numbers, whole ones for floats."""
    kind = type.kind()
    if kind == "OptionalType":
        return value is None or _fits(type.getElementType(), value)
    if kind == "TensorType":
        return isinstance(value, torch.Tensor)
    if kind in _NUMBERS:
        if isinstance(value, torch.Tensor):
            return value.numel() == 1
        return isinstance(value, _NUMBERS[kind])
    if kind == "StringType":
        return isinstance(value, str)
    if kind == "ListType":
        return isinstance(value, (list, tuple)) and all(_fits(type.getElementType(), _plain(v)) for v in value)
    if kind == "TupleType":
        parts = type.elements()
        return isinstance(value, tuple) and len(value) == len(parts) and all(map(_fits, parts, map(_plain, value)))
    if kind == "DictType":
        return isinstance(value, Mapping) and all(_fits(type.getValueType(), v) for v in value.values())
    return not isinstance(value, np.ndarray)


_NUMBERS: dict[str, tuple[type, ...]] = {
    "IntType": (int,),
    "BoolType": (bool,),
    "FloatType": (int, float),
    "NumberType": (int, float, complex),
    "ComplexType": (int, float, complex),
}


def _mismatch(name: str, spec: Any, given: Any) -> str:
    shown = type(given).__name__
    if isinstance(given, (bool, int, float, str, list, tuple)) and len(repr(given)) < 40:
        shown += f" {given!r}"
    message = f"{name} takes {spec.type.annotation_str} for {spec.name!r}, but the example is {shown}"
    if isinstance(given, np.ndarray):
        return f"{message}; torch.from_numpy makes a tensor of it"
    if spec.type.kind() == "TensorType" and isinstance(given, (list, tuple)) and given:
        return f"{message}; args is a tuple with one element for each argument"
    return message
