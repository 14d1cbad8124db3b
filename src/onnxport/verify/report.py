"""What a verification found."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from .compare import OutputError
from .first_difference import FirstDifference


@dataclass(frozen=True, slots=True)
class Check:
    """One run of both sides on the same inputs.

    Attributes:
        sizes: what the labels of dynamic axes stood for.
        outputs: the comparison of each output.
        failure: why the exported model couldn't be run or compared at all.
        skipped: why PyTorch itself can't run the model at these sizes; then nothing was compared.
        random: whether the model's outputs differ from run to run, so that only types and shapes were compared.
    """

    sizes: Mapping[str, int]
    outputs: tuple[OutputError, ...] = ()
    failure: str = ""
    skipped: str = ""
    random: bool = False

    @property
    def ok(self) -> bool:
        return not self.failure and all(o.ok for o in self.outputs)

    @property
    def largest(self) -> float:
        """The largest absolute error over all outputs."""
        errors = [o.largest for o in self.outputs]
        return math.nan if not errors or any(map(math.isnan, errors)) else max(errors)

    def __str__(self) -> str:
        where = ", ".join(f"{label}={size}" for label, size in self.sizes.items()) or "example sizes"
        if self.skipped:
            return f"{where}: not compared, PyTorch can't run it: {self.skipped}"
        if self.failure:
            return f"{where}: {self.failure}"
        wrong = [f"{o.name}: {o.problem}" for o in self.outputs if not o.ok]
        if wrong:
            return f"{where}: " + "; ".join(wrong)
        if self.random:
            return f"{where}: types and shapes are right (the model is random)"
        return f"{where}: largest error {self.largest:.3g}"


@dataclass(frozen=True, slots=True)
class Report:
    """All runs, and where the first difference comes from if there is one."""

    checks: tuple[Check, ...]
    first_difference: FirstDifference | None = None

    @property
    def ok(self) -> bool:
        """Whether the model gives what PyTorch gives, at all sizes that both could be run at."""
        return bool(self.compared) and all(c.ok for c in self.checks)

    @property
    def compared(self) -> tuple[Check, ...]:
        """The runs in which outputs were compared."""
        return tuple(c for c in self.checks if not c.skipped)

    @property
    def largest(self) -> float:
        """The largest absolute error of all."""
        errors = [c.largest for c in self.compared]
        return math.nan if not errors or any(map(math.isnan, errors)) else max(errors)

    def __str__(self) -> str:
        lines = [f"  {'ok ' if c.ok else 'BAD'} {c}" if not c.skipped else f"  --  {c}" for c in self.checks]
        if self.first_difference is not None:
            lines.append(f"  {self.first_difference}")
        return "\n".join(lines)
