"""The modules and names that stand for torch.onnx's while it is replaced."""

from __future__ import annotations

import enum
import importlib.util
import sys
import types
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import onnx
import torch

from .. import __version__, errors, options, session, symbolic_helper, utils, verification
from .._export import export_to_pretty_string
from ..compat import blocks, scalar_type
from ..compat.graph import Graph
from ..compat.registration import register_custom_op_symbolic, registered, unregister_custom_op_symbolic
from ..result import ExportResult
from .program import ONNXProgram

NAME = "torch.onnx"

TensorProtoDataType = enum.IntEnum("TensorProtoDataType", list(onnx.TensorProto.DataType.items()))  # type: ignore[misc]


class ExportTypes(enum.Enum):
    """Containers of a model; only the first is written."""

    PROTOBUF_FILE = 1
    ZIP_ARCHIVE = 2
    COMPRESSED_ZIP_ARCHIVE = 3
    DIRECTORY = 4


class _Globals:
    """What the running export is asked for, under the names of `torch.onnx._globals.GLOBALS`."""

    @property
    def export_onnx_opset_version(self) -> int:
        asked = session.current()
        return asked.opset if asked else options.DEFAULT_OPSET

    @property
    def in_onnx_export(self) -> bool:
        return session.is_in_onnx_export()

    @property
    def operator_export_type(self) -> options.OperatorExportTypes:
        asked = session.current()
        return asked.options.operator_export_type if asked else options.OperatorExportTypes.ONNX

    @property
    def training_mode(self) -> options.TrainingMode:
        asked = session.current()
        return asked.options.training if asked else options.TrainingMode.EVAL

    @property
    def onnx_shape_inference(self) -> bool:
        return True


def onnx_symbolic(
    name: str, opset: int, decorate: Any = None, custom: bool = True
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator that registers a symbolic function."""

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        symbolic = function
        for decorator in decorate or ():
            symbolic = decorator(symbolic)
        register_custom_op_symbolic(name, symbolic, opset)
        return function

    return add


def register_op(opname: str, op: Callable[..., Any], domain: str, version: int) -> None:
    """`symbolic_registry.register_op` of older versions: an empty domain is ATen's."""
    register_custom_op_symbolic(f"{domain or 'aten'}::{opname}", op, version)


def is_registered_op(opname: str, domain: str, version: int) -> bool:
    """`symbolic_registry.is_registered_op` of older versions."""
    from ..lower import registry

    name = f"{domain or 'aten'}::{opname}"
    return registered(name, version) is not None or registry.find(name) is not None


def shape_as_tensor(x: torch.Tensor) -> torch.Tensor:
    """`torch.onnx.operators.shape_as_tensor`: the sizes as a tensor."""
    return torch._shape_as_tensor(x)


def reshape_from_tensor_shape(x: torch.Tensor, shape: torch.Tensor) -> torch.Tensor:
    """`torch.onnx.operators.reshape_from_tensor_shape`."""
    return torch._reshape_from_tensor(x, shape)


def assert_onnx_program(
    program: ExportResult,
    *,
    rtol: float | None = None,
    atol: float | None = None,
    args: Any = None,
    kwargs: Mapping[str, Any] | None = None,
    **_: Any,
) -> None:
    """`torch.onnx.testing.assert_onnx_program`: AssertionError if a model differs from what was exported."""
    given = None if args is None and not kwargs else [(*(args or ()), dict(kwargs or {}))]
    try:
        program.verify(given, rtol=rtol, atol=atol)
    except errors.VerificationError as error:
        raise AssertionError(str(error)) from error


def modules(export: Callable[..., Any]) -> dict[str, types.ModuleType]:
    """Modules by name; `export` is what torch.onnx.export becomes."""
    main: dict[str, Any] = {
        "export": export,
        "export_to_pretty_string": export_to_pretty_string,
        "register_custom_op_symbolic": register_custom_op_symbolic,
        "unregister_custom_op_symbolic": unregister_custom_op_symbolic,
        "select_model_mode_for_export": session.select_model_mode_for_export,
        "is_in_onnx_export": session.is_in_onnx_export,
        "is_onnx_log_enabled": lambda: bool(session.log.handlers[1:]),
        "enable_log": session.enable_log,
        "disable_log": session.disable_log,
        "OperatorExportTypes": options.OperatorExportTypes,
        "TrainingMode": options.TrainingMode,
        "JitScalarType": scalar_type.JitScalarType,
        "TensorProtoDataType": TensorProtoDataType,
        "ExportTypes": ExportTypes,
        "ONNXProgram": ONNXProgram,
        "OnnxExporterError": errors.OnnxExporterError,
        "producer_name": "onnxport",
        "producer_version": __version__,
        "PYTORCH_ONNX_CAFFE2_BUNDLE": False,
    }
    jit_utils = {"GraphContext": Graph, "add_op_with_blocks": blocks.add_op_with_blocks}
    constants = {
        "ONNX_DEFAULT_OPSET": options.DEFAULT_OPSET,
        "ONNX_MIN_OPSET": options.MIN_OPSET,
        "ONNX_MAX_OPSET": options.newest_opset(),
        "ONNX_TORCHSCRIPT_EXPORTER_MAX_OPSET": options.newest_opset(),
    }
    registration = {
        "onnx_symbolic": onnx_symbolic,
        "custom_onnx_symbolic": onnx_symbolic,
    }
    found = {
        NAME: _module(NAME, main),
        f"{NAME}.utils": _copy(f"{NAME}.utils", utils, {"export": export, "_export": export}),
        f"{NAME}.errors": _copy(f"{NAME}.errors", errors, {}),
        f"{NAME}.symbolic_helper": _copy(f"{NAME}.symbolic_helper", symbolic_helper, {}),
        f"{NAME}.verification": _copy(f"{NAME}.verification", verification, {}),
        f"{NAME}._globals": _module(f"{NAME}._globals", {"GLOBALS": _Globals()}),
        f"{NAME}._constants": _module(f"{NAME}._constants", constants),
        f"{NAME}._type_utils": _copy(f"{NAME}._type_utils", scalar_type, {}),
        f"{NAME}._internal": _module(f"{NAME}._internal", {}),
        f"{NAME}._internal.jit_utils": _module(f"{NAME}._internal.jit_utils", jit_utils),
        _OWN: _module(_OWN, {}),
        f"{_OWN}.jit_utils": _module(f"{_OWN}.jit_utils", jit_utils),
        f"{_OWN}.registration": _module(f"{_OWN}.registration", registration),
        f"{NAME}.operators": _module(
            f"{NAME}.operators",
            {"shape_as_tensor": shape_as_tensor, "reshape_from_tensor_shape": reshape_from_tensor_shape},
        ),
        f"{NAME}.testing": _module(f"{NAME}.testing", {"assert_onnx_program": assert_onnx_program}),
        f"{NAME}._internal.registration": _module(f"{NAME}._internal.registration", registration),
        f"{NAME}.symbolic_registry": _module(
            f"{NAME}.symbolic_registry", {"register_op": register_op, "is_registered_op": is_registered_op}
        ),
    }
    found.update(_opset_modules())
    found.update({f"{_OWN}{name.removeprefix(NAME)}": found[name] for name in _MOVED} | _opset_modules(_OWN))
    for name, module in found.items():
        parent, _, child = name.rpartition(".")
        if parent in found:
            setattr(found[parent], child, module)
    return found


# Where newer versions of torch keep some of them.
_OWN = f"{NAME}._internal.torchscript_exporter"
_MOVED = [f"{NAME}.{name}" for name in ("utils", "symbolic_helper", "verification", "_globals", "_type_utils")]


def operators() -> types.ModuleType | None:
    """`torch.onnx.ops`, which is torch's own: operators that models call, no part of its exporter. Read when it is used."""
    name = f"{NAME}.ops"
    if name in sys.modules:
        return sys.modules[name]
    folder = Path(torch.__file__).parent / "onnx" / "ops"
    spec = importlib.util.spec_from_file_location(
        name, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    if spec is None or spec.loader is None or not folder.is_dir():
        return None
    spec.loader = importlib.util.LazyLoader(spec.loader)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def is_read(module: types.ModuleType | None) -> bool:
    """Whether a module that is read when it is used has been used."""
    return module is not None and type(module) is types.ModuleType


def _opset_modules(prefix: str = NAME) -> dict[str, types.ModuleType]:
    from ..compat.opsets import OLDEST, OpsetModule

    names = [f"{prefix}.symbolic_opset{n}" for n in range(OLDEST, options.newest_opset() + 1)]
    return {name: OpsetModule(name) for name in names}


def _module(name: str, content: Mapping[str, Any]) -> types.ModuleType:
    module = types.ModuleType(name, f"Stands for {name}: its names are onnxport's.")
    module.__path__ = []  # a package without files: what isn't here can't be imported
    module.__dict__.update(content)
    return module


def _copy(name: str, source: types.ModuleType, changed: Mapping[str, Any]) -> types.ModuleType:
    """A module with the names of another; what that one makes when asked for it is asked for here, too."""
    content = {k: v for k, v in vars(source).items() if not k.startswith("__") or k == "__getattr__"}
    return _module(name, {**content, **changed})
