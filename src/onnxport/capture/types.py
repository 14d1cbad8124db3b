"""TorchScript types and classes, for code that speaks to symbolic functions in torch's terms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from ..program.schema import Schema, parse

VALUE: Any = torch._C.Value
NODE: Any = torch._C.Node
GRAPH: Any = torch._C.Graph
TENSOR_TYPE: Any = torch._C.TensorType


def tensor_type(dtype: torch.dtype | None, sizes: Sequence[int | None] | None) -> Any:
    """TorchScript's type of such a tensor."""
    if dtype is None:
        return TENSOR_TYPE.get()
    typed = TENSOR_TYPE.create_from_tensor(torch.empty(0, dtype=dtype))
    return typed.with_sizes(None if sizes is None else list(sizes))


def plain_type(kind: str) -> Any:
    """TorchScript's type by its name: "int", "float", "bool", "str", "None", "Tensor"."""
    names = {"int": "IntType", "float": "FloatType", "bool": "BoolType", "str": "StringType", "None": "NoneType"}
    return getattr(torch._C, names.get(kind, "TensorType")).get()


def list_type(element: Any) -> Any:
    """TorchScript's type of a list."""
    return torch._C.ListType(element)


def tuple_type(elements: Sequence[Any]) -> Any:
    """TorchScript's type of a tuple."""
    return torch._C.TupleType(list(elements))


def schemas(name: str) -> list[Schema]:
    """The schemas of all overloads of an operator, `aten::add`."""
    return [parse(str(schema)) for schema in torch._C._jit_get_schemas_for_operator(name)]
