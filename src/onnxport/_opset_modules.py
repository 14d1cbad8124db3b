"""Makes `onnxport.symbolic_opset7` ... importable, without a file for each: see `compat.opsets`."""

from __future__ import annotations

import re
import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

_NAME = re.compile(rf"{re.escape(__package__)}\.symbolic_opset(\d+)")


class _OpsetModules(MetaPathFinder, Loader):
    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        match = _NAME.fullmatch(fullname)
        if match is None:
            return None
        from .compat.opsets import OLDEST
        from .options import newest_opset

        return ModuleSpec(fullname, self) if OLDEST <= int(match[1]) <= newest_opset() else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        from .compat.opsets import OpsetModule

        return OpsetModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Nothing to run: the functions are made when they are asked for."""


def install() -> None:
    """Find the modules from now on."""
    if not any(isinstance(finder, _OpsetModules) for finder in sys.meta_path):
        sys.meta_path.append(_OpsetModules())
