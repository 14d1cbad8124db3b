"""onnxport exports PyTorch models to ONNX.

Public names are imported when they are first asked for: torch takes a second or two, which `onnxport --help` and
programs that only might export need not pay.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from . import _opset_modules, errors
from ._collector import paused

if TYPE_CHECKING:
    from . import symbolic_helper, utils, verification
    from ._export import export, export_to_pretty_string
    from .compat.registration import register_custom_op_symbolic, unregister_custom_op_symbolic
    from .compat.scalar_type import JitScalarType
    from .dropin import replace_torch_onnx
    from .options import OperatorExportTypes, TrainingMode
    from .result import ExportResult
    from .session import disable_log, enable_log, is_in_onnx_export, select_model_mode_for_export

__version__ = "0.1.0"

__all__ = [
    "ExportResult",
    "JitScalarType",
    "OperatorExportTypes",
    "TrainingMode",
    "disable_log",
    "enable_log",
    "errors",
    "export",
    "export_to_pretty_string",
    "is_in_onnx_export",
    "register_custom_op_symbolic",
    "replace_torch_onnx",
    "select_model_mode_for_export",
    "symbolic_helper",
    "unregister_custom_op_symbolic",
    "utils",
    "verification",
]

# Where each public name lives.
_HOMES = {
    "ExportResult": "result",
    "JitScalarType": "compat.scalar_type",
    "OperatorExportTypes": "options",
    "TrainingMode": "options",
    "disable_log": "session",
    "enable_log": "session",
    "export": "_export",
    "export_to_pretty_string": "_export",
    "is_in_onnx_export": "session",
    "register_custom_op_symbolic": "compat.registration",
    "replace_torch_onnx": "dropin",
    "select_model_mode_for_export": "session",
    "unregister_custom_op_symbolic": "compat.registration",
}
_MODULES = ("symbolic_helper", "utils", "verification")

_opset_modules.install()


def __getattr__(name: str) -> Any:
    with paused():
        return _imported(name)


def _imported(name: str) -> Any:
    import_module("._lean", __name__)  # before anything that imports onnx_ir
    if name in _MODULES or name.startswith("symbolic_opset"):
        try:
            return import_module(f".{name}", __name__)
        except ModuleNotFoundError as error:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from error
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
