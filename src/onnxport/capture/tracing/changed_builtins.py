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
import threading
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import Any

_TABLES = "torch._dynamo"


@contextlib.contextmanager
def changed(functions: Mapping[str, Callable[..., Any]]) -> Iterator[None]:
    """Let these be called for the builtins of their names."""
    change = _Change(functions)
    finder = _Finder(change)
    if _TABLES in sys.modules:
        _fill_tables()
    else:
        sys.meta_path = [finder, *sys.meta_path]  # a list of its own: other threads may be going through the old one
    change.begin()
    try:
        yield
    finally:
        change.end()
        sys.meta_path = [other for other in sys.meta_path if other is not finder]


class _Change:
    """The builtins as they were, and as they are changed; another thread may still import the module when that ends."""

    def __init__(self, functions: Mapping[str, Callable[..., Any]]) -> None:
        self._functions = functions
        self._plain = {name: getattr(builtins, name) for name in functions}
        self._lock = threading.Lock()
        self._is_on = False

    def begin(self) -> None:
        self._is_on = True
        self._set(self._functions)

    def end(self) -> None:
        with self._lock:
            self._is_on = False
            self._set(self._plain)

    @contextlib.contextmanager
    def suspended(self) -> Iterator[None]:
        """The builtins are themselves for a while."""
        with self._lock:
            if self._is_on:
                self._set(self._plain)
        try:
            yield
        finally:
            with self._lock:
                if self._is_on:
                    self._set(self._functions)

    @staticmethod
    def _set(functions: Mapping[str, Callable[..., Any]]) -> None:
        for name, function in functions.items():
            setattr(builtins, name, function)


def _fill_tables() -> None:
    """They are filled when they are first asked for."""
    from torch._dynamo import trace_rules

    trace_rules.is_builtin_callable(None)


class _Finder(importlib.abc.MetaPathFinder):
    """Finds the module as the other finders do, and has it loaded with plain builtins."""

    def __init__(self, change: _Change) -> None:
        self._change = change

    def find_spec(self, name: str, path: Any, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        if name != _TABLES:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, self._change)
        return spec


class _Loader(importlib.abc.Loader):
    def __init__(self, loader: Any, change: _Change) -> None:
        self._loader = loader
        self._change = change

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)  # type: ignore[no-any-return]

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self._loader
        with self._change.suspended():
            self._loader.exec_module(module)
            _fill_tables()
