"""The tracer looks at flags of torch.onnx for each `torch.autograd.Function`; here they are without torch.onnx.

Importing it takes as long as many an export, and fails where it is blocked. The tracer asks for two modules by name (the
names are those of torch 2.9 to 2.14), whose import looks in `sys.modules` first.
"""

from __future__ import annotations

import contextlib
import sys
import types
from collections.abc import Iterator

from ..shared import shared


class _Globals:
    """What of torch.onnx's globals the tracer reads: forwards of autograd functions are recorded."""

    in_onnx_export = True
    autograd_inlining = True


def _stand_ins() -> dict[str, types.ModuleType]:
    flags, package = types.ModuleType("_globals"), types.ModuleType("__init__")
    flags.__dict__["GLOBALS"] = _Globals
    package.__dict__["is_in_onnx_export"] = lambda: True
    return {"torch.onnx._internal.torchscript_exporter._globals": flags, "torch.onnx.__init__": package}


@shared
@contextlib.contextmanager
def tracer_flags() -> Iterator[None]:
    """The tracer finds the flags for a while."""
    flags = _stand_ins()
    before = {name: sys.modules.get(name) for name in flags}
    sys.modules.update(flags)
    try:
        yield
    finally:
        for name, old in before.items():
            if old is None:
                sys.modules.pop(name, None)
            else:
                sys.modules[name] = old
