"""`export_modules_as_functions`: which modules, and what their functions are called and carry."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import torch

from .errors import OnnxExporterError
from .passes.functions import Kind, extract_functions

if TYPE_CHECKING:
    from .lower.model import Lowered


def modules_as_functions(lowered: Lowered, model: Any, wanted: bool | frozenset[type]) -> None:
    """Make calls of the wanted types of modules (True: of all) calls of local functions, in place."""
    if not isinstance(model, torch.nn.Module) or isinstance(model, torch.jit.ScriptModule):
        raise OnnxExporterError(
            "export_modules_as_functions needs an nn.Module that is traced: a compiled model doesn't tell the calls of its "
            "modules"
        )
    kinds = {
        path: _kind(module)
        for path, module in model.named_modules()
        if wanted is True or (isinstance(wanted, frozenset) and type(module) in wanted)
    }

    def calls(node: Any) -> Any:
        origin = lowered.origins.get(node)
        return None if origin is None else getattr(origin.scope, "calls", None)

    extract_functions(lowered.model, calls, kinds, lowered.constants)


def _kind(module: torch.nn.Module) -> Kind:
    return Kind(type(module).__module__, type(module).__name__, annotated(module))


def annotated(module: torch.nn.Module) -> dict[str, Any]:
    """The values of what the module's class annotates, as far as ONNX has attributes for them."""
    names: dict[str, None] = {}
    for base in reversed(type(module).__mro__):
        if issubclass(base, torch.nn.Module) and base is not torch.nn.Module:
            names.update(dict.fromkeys(inspect.get_annotations(base)))
    found = {name: getattr(module, name) for name in names if hasattr(module, name)}
    return {name: _plain(value) for name, value in found.items() if _is_attribute(value)}


def _is_attribute(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return bool(value) and any(all(isinstance(v, kind) for v in value) for kind in (int, float, str))
    return isinstance(value, (bool, int, float, str))


def _plain(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [int(v) if isinstance(v, bool) else v for v in value]
    return int(value) if isinstance(value, bool) else value
