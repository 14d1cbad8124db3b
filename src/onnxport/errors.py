"""What can go wrong in an export.

    RuntimeError
    └── OnnxExporterError
        ├── CheckerError                the graph that came out is not valid ONNX
        ├── UnsupportedOperatorError    operators without a conversion, all of a model at once
        ├── LoweringError               an operator that can be converted, but not with these arguments
        │   └── OpsetError              ... not at this opset; names the lowest that can
        └── SymbolicValueError          a symbolic function refuses a value
    UserWarning
    └── OnnxExporterWarning

Bad arguments of `export` itself raise `TypeError` or `ValueError` before any work is done.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass


class OnnxExporterError(RuntimeError):
    """Base of all errors of the exporter."""


class OnnxExporterWarning(UserWarning):
    """Base of all warnings of the exporter."""


def warn(message: str) -> None:
    """Warn of something about a model, at the line outside of this package that asked for the export."""
    if _thread.withheld is not None:
        _thread.withheld.append(message)
        return
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and _is_ours(frame.f_globals.get("__name__", "")):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, OnnxExporterWarning, stacklevel=level)


class _Thread(threading.local):
    withheld: list[str] | None = None


_thread = _Thread()


@contextlib.contextmanager
def withheld() -> Iterator[list[str]]:
    """Keep what this thread warns of in a list, until it is known whether it matters."""
    before, _thread.withheld = _thread.withheld, []
    try:
        yield _thread.withheld
    finally:
        _thread.withheld = before


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] == __name__.partition(".")[0]


class CheckerError(OnnxExporterError):
    """`onnx.checker` refuses the exported model."""


@dataclass(frozen=True, slots=True)
class Unsupported:
    """One kind of operator that has no conversion, and where the model uses it."""

    op: str
    count: int
    places: tuple[str, ...]  # "encoder.warp (model.py:41)"


class UnsupportedOperatorError(OnnxExporterError):
    """Operators of the model that have no conversion: every one of them, in one error.

    Attributes:
        unsupported: what is missing, by operator.
    """

    def __init__(self, message: str, unsupported: Sequence[Unsupported] = ()) -> None:
        super().__init__(message)
        self.unsupported = tuple(unsupported)

    @classmethod
    def listing(cls, unsupported: Sequence[Unsupported], opset: int) -> UnsupportedOperatorError:
        lines = [f"no conversion to ONNX opset {opset} for {len(unsupported)} kind(s) of operator:"]
        for entry in unsupported:
            lines.append(f"  {entry.op} ({entry.count}x)")
            lines += [f"    at {place}" for place in entry.places]
        named = sorted({entry.op.split(".")[0] for entry in unsupported if "::" in entry.op})
        ways = []
        if named:
            ways.append(f"register a symbolic function (onnxport.register_custom_op_symbolic) for {' / '.join(named)}")
        if any("autograd.Function" in entry.op for entry in unsupported):
            ways.append("give the autograd.Function a static method symbolic(g, *args)")
        way_out = ", or ".join([*ways, "rewrite that part of the model"])
        lines.append(f"{way_out[0].upper()}{way_out[1:]}.")
        return cls("\n".join(lines), unsupported)


class VerificationError(OnnxExporterError):
    """The exported model, run by onnxruntime, doesn't give what PyTorch gives.

    Attributes:
        report: what was compared (`onnxport.verify.Report`).
    """

    def __init__(self, message: str, report: object = None) -> None:
        super().__init__(message)
        self.report = report


class LoweringError(OnnxExporterError):
    """An operator can't be converted with these arguments.

    A lowering raises it with the reason and a way out; the evaluator adds the operator, the types of its
    arguments, the module path and the source line.
    """

    def __init__(self, reason: str, *, place: str | None = None) -> None:
        super().__init__(f"{place}\n  {reason}" if place else reason)
        self.reason = reason
        self.place = place


class OpsetError(LoweringError):
    """An operator can't be expressed at the opset that was asked for.

    Attributes:
        needed: the lowest opset that can express it, None if no opset can.
    """

    def __init__(self, reason: str, *, needed: int | None, place: str | None = None) -> None:
        super().__init__(reason, place=place)
        self.needed = needed


class SymbolicValueError(OnnxExporterError):
    """A symbolic function was given a value that it can't use.

    Attributes:
        value: that value.
    """

    def __init__(self, msg: str, value: object) -> None:
        super().__init__(f"{msg}  [caused by the value {value}]")
        self.value = value
