"""Front ends: from a model and example arguments to a `Program`. The only place of private torch names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import torch

from ..axes import sizes
from ..program import Program
from .compiled import uncompiled

if TYPE_CHECKING:
    from ..options import Options
    from .liveness import Report


def capture(model: Any, args: Any, kwargs: Mapping[str, Any] | None, options: Options) -> Program:
    """Capture a model by the front end for its type."""
    from . import torchscript
    from .exported_program import read
    from .inputs import normalize
    from .trace import trace

    if isinstance(model, torch.export.ExportedProgram):
        return read(model)
    model = uncompiled(model)
    positional, named = normalize(args, kwargs)
    if isinstance(model, (torch.jit.ScriptModule, torch.jit.ScriptFunction)):
        return torchscript.read(model, positional, named, len(options.input_names))
    if not isinstance(model, torch.nn.Module) and not callable(model):
        raise TypeError(
            f"model must be an nn.Module, a scripted module or function, or an ExportedProgram, not {type(model).__name__}"
        )
    return trace(model, positional, named)


def thaw(program: Program, model: Any, args: Any, kwargs: Mapping[str, Any] | None) -> Report:
    """Look for dynamic axes that a trace froze, by tracing at other sizes; see `liveness.thaw`."""
    from . import liveness
    from .inputs import normalize
    from .trace import retracer

    model = uncompiled(model)
    positional, named = normalize(args, kwargs)
    retrace = retracer(model, positional, named, [declared.axes for declared in program.inputs])
    return liveness.thaw(program, sizes(program), retrace)


__all__ = ["capture", "thaw", "uncompiled"]
