"""Compares what a model gives with what PyTorch gives, tensor by tensor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

# dtype -> (rtol, atol). By default atol is a share of the largest magnitude in the expected tensor: rounding errors
# of a sum grow with its terms, not with its result. Within _SCALES, so that a mask of huge values hides nothing
# and zeros need not be exact.
_TOLERANCE = {
    torch.float64: (1e-7, 1e-8),
    torch.float32: (2e-4, 5e-5),
    torch.float16: (1e-2, 5e-3),
    torch.bfloat16: (4e-2, 4e-2),
}
_FLOAT8 = (0.15, 0.1)
_SCALES = (1e-2, 1e3)


@dataclass(frozen=True, slots=True)
class OutputError:
    """How far one output is from the expected one.

    Attributes:
        largest: largest absolute error, NaN where it can't be told (`problem` says why).
        problem: why the output is wrong, "" if it is right.
    """

    name: str
    dtype: torch.dtype | None
    shape: tuple[int, ...]
    largest: float
    problem: str = ""

    @property
    def ok(self) -> bool:
        return not self.problem


def compare(
    name: str, actual: Any, expected: torch.Tensor, rtol: float | None = None, atol: float | None = None
) -> OutputError:
    """Compare one tensor. Integers and bools must be equal, floats near; NaN equals NaN, infinities by sign."""
    expected = plain(expected)
    shape = tuple(expected.shape)
    if not isinstance(actual, torch.Tensor):
        return _wrong(name, expected, f"is a {type(actual).__name__}, expected a tensor")
    if actual.dtype != expected.dtype:
        return _wrong(name, expected, f"is {_short(actual.dtype)}, expected {_short(expected.dtype)}")
    if actual.shape != expected.shape:
        return _wrong(name, expected, f"has shape {list(actual.shape)}, expected {list(shape)}")
    if not expected.numel():
        return OutputError(name, expected.dtype, shape, 0.0)
    a, e = _wide(actual), _wide(expected)
    error = (a - e).abs()
    error[(a == e) | (a.isnan() & e.isnan())] = 0.0
    wrong = ~(error <= _allowed(e, expected.dtype, rtol, atol))  # also where the error is NaN
    if not expected.dtype.is_floating_point and expected.dtype.itemsize == 8 and not (rtol or atol):
        wrong = actual.view(torch.int64) != expected.view(torch.int64)  # what float64 can't tell apart
    largest = float(error.max()) if not error.isnan().any() else float("nan")
    if not wrong.any():
        return OutputError(name, expected.dtype, shape, largest)
    index = tuple(int(i) for i in wrong.nonzero()[0])
    count, total = int(wrong.sum()), wrong.numel()
    return OutputError(
        name, expected.dtype, shape, largest,
        f"{count} of {total} values differ, by up to {largest:.3g}; "
        f"the first at {list(index)}: {actual[index].item()!r}, expected {expected[index].item()!r}",
    )  # fmt: skip


def plain(tensor: torch.Tensor) -> torch.Tensor:
    """A tensor as ONNX has it: on the CPU, dense, complex numbers as pairs of reals."""
    tensor = tensor.detach().cpu()
    if tensor.layout != torch.strided:
        tensor = tensor.to_dense()
    if tensor.is_complex():
        tensor = torch.view_as_real(tensor.resolve_conj())
    return tensor.resolve_neg()


def _wide(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.to(torch.float64)


def _allowed(expected: torch.Tensor, dtype: torch.dtype, rtol: float | None, atol: float | None) -> torch.Tensor:
    if dtype.is_floating_point:
        default_rtol, share = _TOLERANCE.get(dtype, _FLOAT8)
        finite = expected[expected.isfinite()].abs()
        scale = float(finite.max()) if finite.numel() else 1.0
        default_atol = share * min(max(scale, _SCALES[0]), _SCALES[1])
    else:
        default_rtol = default_atol = 0.0
    rtol = default_rtol if rtol is None else rtol
    atol = default_atol if atol is None else atol
    allowed = atol + rtol * expected.abs()
    allowed[~expected.isfinite()] = 0.0
    return allowed


def _wrong(name: str, expected: torch.Tensor, problem: str) -> OutputError:
    return OutputError(name, expected.dtype, tuple(expected.shape), float("nan"), problem)


def _short(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
