"""`replace_torch_onnx`: code that says torch.onnx is served by this package, unchanged."""

from __future__ import annotations

import sys
import threading
import types
from typing import Any

import torch

from .torch_export import torch_export
from .torch_names import NAME, is_read, modules, operators

_lock = threading.RLock()
_active: list[Replacement] = []


def replace_torch_onnx() -> Replacement:
    """Let `torch.onnx` be this package from now on, for all code of the process.

    `torch.onnx.export`, `torch.onnx.utils`, `symbolic_helper`, `symbolic_opset9` ..., `errors`, `verification`,
    registration, the enums and `is_in_onnx_export` become onnxport's; names that were imported before are redirected, too. As a
    context manager, it ends with the block:

        with onnxport.replace_torch_onnx():
            library.export_to_onnx(model)
    """
    replacement = Replacement()
    replacement.start()
    return replacement


class Replacement:
    """A replacement of torch.onnx that is on; `undo()` or the end of a `with` block takes it back."""

    def __init__(self) -> None:
        self._modules: dict[str, types.ModuleType | None] = {}
        self._codes: list[tuple[types.FunctionType, types.CodeType, Any, Any]] = []
        self._names: list[tuple[types.ModuleType, dict[str, Any]]] = []
        self._attribute: Any = None

    def __enter__(self) -> Replacement:
        return self

    def __exit__(self, *_: object) -> None:
        self.undo()

    def start(self) -> None:
        with _lock:
            if not _active:
                self._install()
            _active.append(self)

    def undo(self) -> None:
        """Bring torch's own modules back. A replacement within another one ends with the outer."""
        with _lock:
            if self not in _active:
                return
            _active.remove(self)
            if not _active:
                self._uninstall()
            elif self._modules:  # another one that began later is still on: it takes over what is to be restored
                heir = _active[0]
                heir._modules, heir._codes, heir._names = self._modules, self._codes, self._names
                heir._attribute = self._attribute

    def _install(self) -> None:
        ours = modules(torch_export)
        ops = operators()
        if ops is not None:
            sys.modules[_OPERATORS] = ours[NAME].__dict__["ops"] = ops
        loaded = {
            n: m for n, m in sys.modules.items() if (n == NAME or n.startswith(f"{NAME}.")) and not _is_operators(n)
        }
        self._modules = {name: loaded.get(name) for name in {*loaded, *ours}}
        self._attribute = torch.__dict__.get("onnx")
        for name, module in loaded.items():
            if name in ours and module is not None:
                self._redirect(module, ours[name])
            del sys.modules[name]
        sys.modules.update(ours)
        vars(torch)["onnx"] = ours[NAME]

    def _redirect(self, old: types.ModuleType, new: types.ModuleType) -> None:
        """Code that holds torch's module, or a function of it, is served by ours."""
        replaced: dict[str, Any] = {}
        for name, value in vars(new).items():
            known = old.__dict__.get(name)
            if name.startswith("__") or known is None or isinstance(value, types.ModuleType):
                continue
            replaced[name] = known
            if isinstance(known, types.FunctionType) and not known.__code__.co_freevars and callable(value):
                self._codes.append((known, known.__code__, known.__defaults__, known.__kwdefaults__))
                _forward(known, new.__name__, name)
            setattr(old, name, value)
        self._names.append((old, replaced))

    def _uninstall(self) -> None:
        for function, code, defaults, keyword_defaults in self._codes:
            function.__code__, function.__defaults__, function.__kwdefaults__ = code, defaults, keyword_defaults
        for module, names in self._names:
            for name, value in names.items():
                setattr(module, name, value)
        for name, old in self._modules.items():
            if old is None:
                sys.modules.pop(name, None)
            else:
                sys.modules[name] = old
        if not is_read(sys.modules.get(_OPERATORS)):  # otherwise it stays: its operators can't be registered twice
            sys.modules.pop(_OPERATORS, None)
        if self._attribute is None:
            torch.__dict__.pop("onnx", None)
        else:
            vars(torch)["onnx"] = self._attribute


_OPERATORS = f"{NAME}.ops"


def _is_operators(name: str) -> bool:
    return name == _OPERATORS or name.startswith(f"{_OPERATORS}.")


def _forward(function: types.FunctionType, module: str, name: str) -> None:
    """Let a function, wherever it is held, call what its module has now under its name."""
    source = (
        f"def {function.__name__}(*args, **kwargs):\n"
        f"    import sys\n"
        f"    return getattr(sys.modules[{module!r}], {name!r})(*args, **kwargs)\n"
    )
    scope: dict[str, Any] = {}
    exec(compile(source, __file__, "exec"), scope)
    function.__code__ = scope[function.__name__].__code__
    function.__defaults__ = function.__kwdefaults__ = None
