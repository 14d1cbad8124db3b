"""The arguments of `export`, checked and in one record, before any work is done."""

from __future__ import annotations

import difflib
import enum
import functools
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ParamSpec, TypeVar

import onnx
import torch

P = ParamSpec("P")
R = TypeVar("R")

MIN_OPSET = 7
DEFAULT_OPSET = 14
FUNCTIONS_OPSET = 15


def newest_opset() -> int:
    """The newest opset that the installed `onnx` knows."""
    return int(onnx.defs.onnx_opset_version())


class OperatorExportTypes(enum.Enum):
    """How operators are written.

    ONNX: all as ONNX operators. ONNX_FALLTHROUGH: what can't be converted stays as it is, in its own domain.
    ONNX_ATEN: every ATen operator as `org.pytorch.aten::ATen`. ONNX_ATEN_FALLBACK: ATen operators that can't be
    converted become `ATen`.
    """

    ONNX = 0
    ONNX_ATEN = 1
    ONNX_ATEN_FALLBACK = 2
    ONNX_FALLTHROUGH = 3


class TrainingMode(enum.Enum):
    """EVAL: export for inference. PRESERVE: as `model.training` is. TRAINING: export to train further."""

    EVAL = 0
    PRESERVE = 1
    TRAINING = 2


@dataclass(frozen=True, slots=True)
class Options:
    """What an export is asked for. See `onnxport.export` for the meaning of each."""

    export_params: bool = True
    verbose: bool = False
    training: TrainingMode = TrainingMode.EVAL
    input_names: tuple[str, ...] = ()
    output_names: tuple[str, ...] = ()
    operator_export_type: OperatorExportTypes = OperatorExportTypes.ONNX
    opset_version: int | None = None
    do_constant_folding: bool = True
    dynamic_axes: Mapping[str, Mapping[int, str]] = field(default_factory=dict)
    dynamic_shapes: Any = None
    keep_initializers_as_inputs: bool = False
    custom_opsets: Mapping[str, int] = field(default_factory=dict)
    modules_as_functions: bool | frozenset[type] = False
    strict: bool = False
    check_axes: bool = True
    optimize: bool = True
    autograd_inlining: bool = True

    @property
    def opset(self) -> int:
        """The opset to begin with: local functions came with opset 15."""
        if self.opset_version is not None:
            return self.opset_version
        return max(DEFAULT_OPSET, FUNCTIONS_OPSET) if self.modules_as_functions else DEFAULT_OPSET


# Arguments of other versions of `torch.onnx.export`.
_NEWER = {
    "artifacts_dir",
    "custom_translation_table",
    "dump_exported_program",
    "dynamo",
    "fallback",
    "profile",
    "report",
}
_OLDER = {"aten", "enable_onnx_checker", "example_outputs", "propagate", "strip_doc_string", "_retain_param_name"}
_RENAMED = {"use_external_data_format": "external_data"}


def knowing_others(function: Callable[P, R]) -> Callable[P, R]:
    """A call with an argument that the function doesn't have says what to do instead."""
    known = inspect.signature(function).parameters

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        for name in kwargs:
            if name not in known:
                raise TypeError(f"{function.__name__}() has no argument {name!r}{_instead(name, list(known))}")
        return function(*args, **kwargs)

    return call


def _instead(name: str, known: Sequence[str]) -> str:
    if name in _NEWER:
        return (
            ", which is one of today's torch.onnx.export: leave it out, or call torch.onnx.export as it is within "
            "`with onnxport.replace_torch_onnx():`"
        )
    if name in _OLDER:
        return ", which torch.onnx.export had long ago: leave it out, it isn't needed"
    meant = [_RENAMED[name]] if name in _RENAMED else difflib.get_close_matches(name, known, 1)
    return f"; did you mean {meant[0]!r}?" if meant else f"; it has {', '.join(known)}"


def check(
    *,
    export_params: bool,
    verbose: bool,
    training: Any,
    input_names: Sequence[str] | None,
    output_names: Sequence[str] | None,
    operator_export_type: Any,
    opset_version: int | None,
    do_constant_folding: bool,
    dynamic_axes: Mapping[str, Any] | None,
    dynamic_shapes: Any,
    keep_initializers_as_inputs: bool | None,
    custom_opsets: Mapping[str, int] | None,
    export_modules_as_functions: Any,
    strict: bool = False,
    check_axes: bool = True,
    optimize: bool = True,
    autograd_inlining: bool = True,
) -> Options:
    """Check raw arguments; TypeError or ValueError says which is wrong and how to mend it."""
    kind = member(OperatorExportTypes, operator_export_type, "operator_export_type")
    mode = member(TrainingMode, training, "training")
    opset = check_opset(opset_version)
    functions = _functions(export_modules_as_functions, opset)
    keep = kind is not OperatorExportTypes.ONNX if keep_initializers_as_inputs is None else keep_initializers_as_inputs
    result = Options(
        export_params=bool(export_params),
        verbose=bool(verbose),
        training=mode,
        input_names=_names(input_names, "input_names"),
        output_names=_names(output_names, "output_names"),
        operator_export_type=kind,
        opset_version=opset,
        do_constant_folding=bool(do_constant_folding) and mode is not TrainingMode.TRAINING,
        dynamic_axes=_dynamic_axes(dynamic_axes),
        dynamic_shapes=dynamic_shapes,
        keep_initializers_as_inputs=keep or (DEFAULT_OPSET if opset is None else opset) < 9,
        custom_opsets=_custom_opsets(custom_opsets),
        modules_as_functions=functions,
        strict=bool(strict),
        check_axes=bool(check_axes),
        optimize=bool(optimize),
        autograd_inlining=bool(autograd_inlining),
    )
    check_clash(result.input_names, result.output_names)
    return result


def member(kind: type[Any], value: Any, name: str) -> Any:
    """The member of our enum that a value stands for: a member, torch's own member of that name, or None."""
    if isinstance(value, kind):
        return value
    if isinstance(value, enum.Enum) or type(value).__name__ == kind.__name__:  # torch's own enums
        label = getattr(value, "name", str(value).rpartition(".")[2])
        if label in kind.__members__:
            return kind[label]
    members = " or ".join(f"{kind.__name__}.{label}" for label in kind.__members__)
    raise TypeError(f"{name} must be {members}, not {value!r}")


def check_opset(version: int | None) -> int | None:
    """TypeError or ValueError unless this is an opset that can be asked for."""
    if version is None:
        return None
    if isinstance(version, bool) or not isinstance(version, int):
        raise TypeError(f"opset_version must be an int, not {version!r}")
    if not MIN_OPSET <= version <= newest_opset():
        raise ValueError(
            f"opset_version {version} is not supported: the installed onnx allows {MIN_OPSET} to {newest_opset()}"
        )
    return version


def _names(names: Sequence[str] | None, argument: str) -> tuple[str, ...]:
    if names is None:
        return ()
    if isinstance(names, str) or not isinstance(names, Iterable) or not all(isinstance(n, str) for n in names):
        raise TypeError(f"{argument} must be a list of strings, not {names!r}")
    doubled = sorted({n for n in names if list(names).count(n) > 1})
    if doubled:
        raise ValueError(f"{argument} has {', '.join(map(repr, doubled))} more than once; names must differ")
    if "" in names:
        raise ValueError(f"{argument} has an empty name")
    return tuple(names)


def check_clash(inputs: Iterable[str], outputs: Iterable[str]) -> None:
    """ValueError for a name of an input and an output."""
    clash = sorted(set(inputs) & set(outputs))
    if clash:
        raise ValueError(f"{', '.join(map(repr, clash))} names both an input and an output; names must differ")


def _dynamic_axes(axes: Mapping[str, Any] | None) -> dict[str, dict[int, str]]:
    """Both forms as {name: {axis: label}}; a list of axes gets labels counted per tensor."""
    result: dict[str, dict[int, str]] = {}
    if axes is not None and not isinstance(axes, Mapping):
        raise TypeError(f"dynamic_axes must be a dict by the names of inputs, {{'x': {{0: 'batch'}}}}, not {axes!r}")
    for name, spec in (axes or {}).items():
        if isinstance(spec, Mapping):
            entries = dict(spec)
        elif isinstance(spec, (list, tuple, set)):
            entries = {axis: f"{name}_dynamic_axes_{i + 1}" for i, axis in enumerate(spec)}
        else:
            raise TypeError(f"dynamic_axes[{name!r}] must be a dict {{axis: label}} or a list of axes, not {spec!r}")
        for axis, label in entries.items():
            if isinstance(axis, bool) or not isinstance(axis, int):
                raise TypeError(f"dynamic_axes[{name!r}] has the axis {axis!r}, which is no int")
            if not isinstance(label, str) or not label:
                raise TypeError(f"dynamic_axes[{name!r}][{axis}] must be a label, not {label!r}")
        result[name] = entries
    return result


def _custom_opsets(opsets: Mapping[str, int] | None) -> dict[str, int]:
    if opsets is not None and not isinstance(opsets, Mapping):
        raise TypeError(f"custom_opsets must be a dict of domains and versions, {{'mine': 1}}, not {opsets!r}")
    for domain, version in (opsets or {}).items():
        if not isinstance(domain, str) or isinstance(version, bool) or not isinstance(version, int):
            raise TypeError(f"custom_opsets must map domains to versions, not {domain!r} to {version!r}")
        if version < 1:
            raise ValueError(f"custom_opsets[{domain!r}] must be at least 1, not {version}")
    return dict(opsets or {})


def _functions(modules: Any, opset: int | None) -> bool | frozenset[type]:
    if modules is None or modules is False or modules is True:
        wanted: bool | frozenset[type] = bool(modules)
    else:
        if not isinstance(modules, Iterable) or not all(
            isinstance(m, type) and issubclass(m, torch.nn.Module) for m in modules
        ):
            raise TypeError("export_modules_as_functions must be a bool or a set of nn.Module types")
        wanted = frozenset(modules)
    if wanted and opset is not None and opset < FUNCTIONS_OPSET:
        raise ValueError(
            f"export_modules_as_functions needs opset_version >= {FUNCTIONS_OPSET}, not {opset}: local functions came "
            "with IR version 8"
        )
    return wanted
