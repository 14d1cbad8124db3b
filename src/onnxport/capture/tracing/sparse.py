"""Sparse tensors while a model is traced: ONNX has none, so that dense ones with the same elements stand for them.

What a model asks of their form (`values()`, `indices()`) isn't followed: dense tensors refuse it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch import Tensor

from ...errors import LoweringError
from ..weights import OWN, Modules


@contextlib.contextmanager
def held_dense(modules: Modules) -> Iterator[None]:
    """Sparse parameters, buffers and other attributes of modules are dense for a while."""
    changed: list[tuple[dict[str, Any], str, Tensor]] = []
    for _, module in modules:
        holders: tuple[Any, ...] = (module._parameters, module._buffers, module.__dict__)
        for holder in holders:
            for name, x in holder.items():
                if name not in OWN and isinstance(x, Tensor) and is_sparse(x):
                    changed.append((holder, name, x))
    try:
        for holder, name, tensor in changed:
            dense = tensor.detach().to_dense()
            dense = torch.nn.Parameter(dense, tensor.requires_grad) if isinstance(tensor, torch.nn.Parameter) else dense
            holder[name] = _standing_for(dense, tensor.layout)
        yield
    finally:
        for holder, name, tensor in changed:
            holder[name] = tensor


def is_sparse(tensor: Tensor) -> bool:
    return tensor.layout not in (torch.strided, torch._mkldnn, torch.jagged)  # type: ignore[attr-defined]


def _standing_for(dense: Tensor, layout: torch.layout) -> Tensor:
    """A tensor that answers as one of this layout, so that a model which asks does what it did."""
    dense._stands_for = layout  # type: ignore[attr-defined]
    return dense


def _layout(tensor: Tensor) -> torch.layout:
    return getattr(tensor, "_stands_for", None) or tensor.layout


def _mm(sparse: Tensor, dense: Tensor, *reduce: Any) -> Tensor:
    if reduce:
        raise LoweringError("torch.sparse.mm with reduce can't be converted; use scatter_reduce")
    return torch.mm(sparse, dense)


def _addmm(mat: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1.0, alpha: float = 1.0) -> Tensor:
    return torch.addmm(mat, mat1, mat2, beta=beta, alpha=alpha)


def _sum(input: Tensor, dim: Any = None, dtype: torch.dtype | None = None) -> Tensor:
    return input.sum(dtype=dtype) if dim is None else input.sum(dim, dtype=dtype)


def _softmax(*_: Any, **__: Any) -> Tensor:
    raise LoweringError(
        "torch.sparse.softmax leaves out what a sparse tensor lacks; mask it with -inf, and use softmax"
    )


def _as(layout: torch.layout) -> Callable[..., Tensor]:
    def same(tensor: Tensor, *_: Any, **__: Any) -> Tensor:
        return _standing_for(tensor.clone(), layout)

    return same


def _dense(tensor: Tensor, dtype: torch.dtype | None = None, **_: Any) -> Tensor:
    return tensor.to_dense() if is_sparse(tensor) else tensor.clone() if dtype is None else tensor.to(dtype)


def _coo(indices: Tensor, values: Tensor, size: Any = None, *, dtype: torch.dtype | None = None, **_: Any) -> Tensor:
    if size is None:
        raise LoweringError("the size of a sparse tensor is taken from its indices here; give it as an argument")
    values = torch.as_tensor(values, dtype=dtype)
    places = tuple(torch.as_tensor(indices).unbind(0))
    made = torch.zeros(tuple(size), dtype=values.dtype).index_put(places, values, accumulate=True)
    return _standing_for(made, torch.sparse_coo)


INSTEAD: Mapping[Callable[..., Any], Callable[..., Any]] = {
    torch.sparse.mm: _mm,
    torch.sparse.addmm: _addmm,
    torch._sparse_sum: _sum,  # type: ignore[attr-defined]
    torch.sparse.softmax: _softmax,
    torch.sparse.log_softmax: _softmax,
    torch.Tensor.to_sparse: _as(torch.sparse_coo),
    torch.Tensor.to_sparse_csr: _as(torch.sparse_csr),
    torch.Tensor.to_sparse_csc: _as(torch.sparse_csc),
    torch.Tensor.coalesce: _as(torch.sparse_coo),
    torch.Tensor.to_dense: _dense,
    torch.sparse_coo_tensor: _coo,
    torch.Tensor.layout.__get__: _layout,  # type: ignore[attr-defined]
    torch.Tensor.is_sparse.__get__: lambda x: _layout(x) is torch.sparse_coo,  # type: ignore[attr-defined]
    torch.Tensor.is_sparse_csr.__get__: lambda x: _layout(x) is torch.sparse_csr,  # type: ignore[attr-defined]
}
