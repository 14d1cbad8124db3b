"""Builtin functions of Python that are others while models are traced.

`torch._dynamo` keeps tables of the builtins by identity, for the rest of the process. A model that calls it (`torch.cond`, a
compiled function) may import it in the middle of a trace, so that the builtins are themselves while it is imported.
"""

from __future__ import annotations

import builtins
import contextlib
import importlib.abc
import importlib.machinery
import sys
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import Any

_TABLES = "torch._dynamo"


@contextlib.contextmanager
def changed(functions: Mapping[str, Callable[..., Any]]) -> Iterator[None]:
    """Let these be called for the builtins of their names."""
    plain = {name: getattr(builtins, name) for name in functions}
    finder = _Finder(plain)
    if _TABLES in sys.modules:
        _fill_tables()
    else:
        sys.meta_path = [finder, *sys.meta_path]  # a list of its own: other threads may be going through the old one
    _set(functions)
    try:
        yield
    finally:
        _set(plain)
        sys.meta_path = [other for other in sys.meta_path if other is not finder]


def _set(functions: Mapping[str, Callable[..., Any]]) -> None:
    for name, function in functions.items():
        setattr(builtins, name, function)


def _fill_tables() -> None:
    """They are filled when they are first asked for."""
    from torch._dynamo import trace_rules

    trace_rules.is_builtin_callable(None)


class _Finder(importlib.abc.MetaPathFinder):
    """Finds the module as the other finders do, and has it loaded with plain builtins."""

    def __init__(self, plain: Mapping[str, Callable[..., Any]]) -> None:
        self._plain = plain

    def find_spec(self, name: str, path: Any, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        if name != _TABLES:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, self._plain)
        return spec


class _Loader(importlib.abc.Loader):
    def __init__(self, loader: Any, plain: Mapping[str, Callable[..., Any]]) -> None:
        self._loader = loader
        self._plain = plain

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)  # type: ignore[no-any-return]

    def exec_module(self, module: ModuleType) -> None:
        changed = {name: getattr(builtins, name) for name in self._plain}
        module.__loader__ = self._loader
        _set(self._plain)
        try:
            self._loader.exec_module(module)
            _fill_tables()
        finally:
            _set(changed)
