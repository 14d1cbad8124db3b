"""Operators on constants alone that ONNX has no form for, or only one that isn't exact: PyTorch computes them at export."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import torch

from ..errors import LoweringError
from ..program import Node
from .registry import Lowering
from .values import Tensor

# Factorizations and what is made of them, which are iterations in ONNX, or as many operators as there are rows.
_INEXACT = ("aten::linalg_", "aten::_linalg_")
_ALSO = frozenset(
    f"aten::{name}"
    for name in ("svd", "qr", "geqrf", "cholesky", "cholesky_inverse", "inverse", "pinverse", "matrix_exp", "slogdet", "logdet")
)  # fmt: skip
_LARGEST = 1 << 24  # elements


def of_constants(node: Node, arguments: Iterable[Any], found: Lowering | None) -> Lowering | None:
    """What computes the results of an operator of constants; None for all else, and where another lowering was found that is
    as exact."""
    name = node.op.partition(".")[0]
    if not name.startswith(_INEXACT) and name not in _ALSO and (found is not None or not name.startswith("aten::")):
        return None
    schema, has_tensors = node.schema, any(isinstance(x, Tensor) for x in arguments)
    if schema is None or schema.mutates or not has_tensors or not all(map(_is_constant, arguments)):
        return None
    namespace, _, called = schema.name.partition("::")
    operator = getattr(getattr(getattr(torch.ops, namespace), called, None), schema.overload or "default", None)
    if operator is None or torch.Tag.nondeterministic_seeded in operator.tags:
        return None
    keywords = [argument.name if argument.keyword_only else None for argument in schema.arguments]

    def compute(g: Any, *given: Any) -> Any:
        from_weight = any(isinstance(x, Tensor) and x.from_weight for x in given)
        if from_weight and not g.fold_weights:
            if found is None:
                raise LoweringError(
                    "only what is computed of it at export can be exported, and weights are to stay here"
                )
            return found(g, *given)
        content = list(map(_content, given))
        positional = [x for x, keyword in zip(content, keywords) if keyword is None]
        with torch.no_grad():
            results = operator(*positional, **{keyword: x for x, keyword in zip(content, keywords) if keyword})
        known = [_known(g, x, from_weight) for x in (results if isinstance(results, (tuple, list)) else [results])]
        return known[0] if isinstance(results, torch.Tensor) else tuple(known)

    return compute


def _is_constant(x: Any) -> bool:
    """Whether an argument is what PyTorch takes: neither computed at run time, nor from sizes."""
    if isinstance(x, (list, tuple)):
        return all(map(_is_constant, x))
    if not isinstance(x, Tensor):
        return isinstance(x, (bool, int, float, complex, str, type(None), torch.dtype, torch.device))
    native = x.dtype in (torch.float32, torch.float64, torch.complex64, torch.complex128, torch.int64, torch.bool)
    return native and x.data is not None and x.data.dtype != object and x.data.size <= _LARGEST


def _content(argument: Any) -> Any:
    if isinstance(argument, (list, tuple)):
        return [_content(x) for x in argument]
    return torch.from_numpy(np.array(argument.data)) if isinstance(argument, Tensor) else argument


def _known(g: Any, result: Any, from_weight: bool) -> Any:
    if not isinstance(result, torch.Tensor):
        return result
    content = result.resolve_conj().resolve_neg().contiguous().numpy()
    return g.known(content, result.dtype, from_weight=from_weight)
