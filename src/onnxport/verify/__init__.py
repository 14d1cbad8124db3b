"""Compares an exported model, run by onnxruntime, with the model in PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from ..program import Labels
from . import sizes as _sizes
from .compare import OutputError, compare
from .first_difference import FirstDifference
from .reference import Reference
from .report import Check, Report
from .runtime import Session, leaves, require

Feed = Callable[[Sequence[Any]], dict[str, Any]]
Locate = Callable[[Sequence[Any], Sequence[torch.Tensor]], "FirstDifference | None"]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Both sides of a verification.

    Attributes:
        reference: the model in PyTorch.
        session: the exported one in onnxruntime.
        feed: from flat inputs to the graph's inputs by name.
        labels: what is known of the sizes of dynamic axes.
    """

    reference: Reference
    session: Session
    feed: Feed
    labels: Labels = field(default_factory=Labels)
    rtol: float | None = None
    atol: float | None = None

    def verify(
        self,
        inputs: Iterable[Sequence[Any]],
        axes: _sizes.Axes,
        *,
        other_sizes: bool = True,
        locate: Locate | None = None,
    ) -> Report:
        """Compare on each of these flat inputs, then at other sizes along the axes; stops at the first that differs.

        Inputs that are given must run in PyTorch; made ones that don't are noted as skipped.
        """
        checks: list[Check] = []
        given = [list(x) for x in inputs]
        for flat in [*given, *(self._made(given[0], axes) if other_sizes else ())]:
            check, expected = self.check(flat, axes, may_skip=len(checks) >= len(given))
            checks.append(check)
            if not check.ok:
                found = locate(flat, expected) if locate is not None else None
                return Report(tuple(checks), found)
        return Report(tuple(checks))

    def _made(self, example: list[Any], axes: _sizes.Axes) -> Iterable[list[Any]]:
        for wanted in _sizes.others(_sizes.sizes_of(example, axes, self.labels), self.labels):
            yield _sizes.resized(example, axes, wanted, self.labels)

    def check(self, flat: list[Any], axes: _sizes.Axes, *, may_skip: bool) -> tuple[Check, list[torch.Tensor]]:
        """One run of both sides; what PyTorch gave, too."""
        at = _sizes.sizes_of(flat, axes, self.labels)
        try:
            expected = self.reference(flat)
        except Exception as error:  # whatever the model raises
            if not may_skip:
                raise
            return Check(at, skipped=_line(error)), []
        try:
            actual = leaves(self.session.run(self.feed(flat)))
        except Exception as error:  # onnxruntime's errors derive from Exception alone
            return Check(at, failure=f"onnxruntime fails: {_line(error)}"), expected
        if len(actual) != len(expected):
            return Check(at, failure=f"gives {len(actual)} outputs, PyTorch {len(expected)}"), expected
        names = self.session.output_names
        names = names if len(names) == len(expected) else [f"output {i}" for i in range(len(expected))]
        outputs = self._outputs(names, actual, expected)
        if not all(o.ok for o in outputs):
            others = [self.reference(flat, seed=seed) for seed in (1, 2)]  # one may be the seed of the first run
            if not all(o.ok for again in others for o in self._outputs(names, again, expected)):
                return Check(at, tuple(_kind(*x) for x in zip(names, actual, expected)), random=True), expected
        return Check(at, outputs), expected

    def _outputs(
        self, names: Sequence[str], actual: Sequence[Any], expected: Sequence[torch.Tensor]
    ) -> tuple[OutputError, ...]:
        return tuple(compare(*x, self.rtol, self.atol) for x in zip(names, actual, expected))


def _kind(name: str, actual: Any, expected: torch.Tensor) -> OutputError:
    """Compare dtype and shape alone."""
    if not isinstance(actual, torch.Tensor) or (actual.dtype, actual.shape) != (expected.dtype, expected.shape):
        return compare(name, actual, expected)
    return OutputError(name, expected.dtype, tuple(expected.shape), 0.0)


def _line(error: Exception) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:300]}" if text else type(error).__name__


__all__ = ["Check", "Comparison", "FirstDifference", "OutputError", "Reference", "Report", "Session", "require"]
