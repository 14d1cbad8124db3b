"""onnxport exports PyTorch models to ONNX.

Public names are imported when they are first asked for: torch takes a second or two, which `onnxport --help` and
programs that only might export need not pay.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from . import errors

if TYPE_CHECKING:
    from ._export import export
    from .options import OperatorExportTypes, TrainingMode
    from .result import ExportResult

__version__ = "0.1.0"

__all__ = ["ExportResult", "OperatorExportTypes", "TrainingMode", "errors", "export"]

# Where each public name lives.
_HOMES = {
    "ExportResult": "result",
    "OperatorExportTypes": "options",
    "TrainingMode": "options",
    "export": "_export",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
