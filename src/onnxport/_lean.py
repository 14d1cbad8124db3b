"""Imports `onnx_ir` without `sympy`.

`onnx_ir` imports sympy for arithmetic on symbolic dimensions, which takes longer than all of the rest of onnxport
(0.3 s, measured with `python -X importtime`), and which nothing here uses: sizes are `dims.Dim`s. While
`onnx_ir` is imported, a stand-in takes sympy's place in its modules; it becomes sympy when it is first used.
Import this module before anything that imports `onnx_ir`.
"""

from __future__ import annotations

import importlib
import sys
import types
from typing import Any


class _Deferred(types.ModuleType):
    """Sympy, imported at the first use; functions that are looked up meanwhile are deferred too."""

    importing = True

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if self.importing:
            return lambda *args: getattr(importlib.import_module("sympy"), name)(*args)
        return getattr(importlib.import_module("sympy"), name)


def _import() -> None:
    if "sympy" not in sys.modules and "onnx_ir" not in sys.modules:
        deferred = sys.modules["sympy"] = _Deferred("sympy")
        try:
            importlib.import_module("onnx_ir")
        finally:
            deferred.importing = False
            del sys.modules["sympy"]


_import()
