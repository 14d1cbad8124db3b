"""What holds while an export runs: the flag that models may ask for, their mode, and the log."""

from __future__ import annotations

import contextlib
import logging
import sys
import threading
import types
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import abc, machinery
from typing import Any

import torch

from .options import Options, TrainingMode, member

log = logging.getLogger("onnxport")
log.addHandler(logging.NullHandler())


# -- whether an export is running -----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Asked:
    """What the running export is asked for."""

    opset: int
    options: Options


class _Thread(threading.local):
    depth = 0
    asked: Asked | None = None


_thread = _Thread()


# Modules whose code for exports computes something else than the code that it stands for: they aren't told of an export.
# torch-geometric's `scatter` takes the greatest of the values and of 0, from times when ONNX had no better way.
_WRONG_IN_EXPORT = frozenset({"torch_geometric.utils._scatter"})
_CALLS_BETWEEN = 4


def is_in_onnx_export() -> bool:
    """Whether this thread is in the middle of an export."""
    return _thread.depth > 0 and not _is_wrong_in_export(sys._getframe(1))


def _is_wrong_in_export(frame: types.FrameType | None) -> bool:
    """Whether the question comes, through a few calls, from code that goes wrong if it is told so."""
    for _ in range(_CALLS_BETWEEN):
        if frame is None:
            return False
        if frame.f_globals.get("__name__") in _WRONG_IN_EXPORT:
            return True
        frame = frame.f_back
    return False


@contextlib.contextmanager
def exporting() -> Iterator[None]:
    """Mark this thread as exporting; `torch.onnx.is_in_onnx_export()` says so too.

    Inference mode is off: in it, what a model writes to isn't known afterwards.
    """
    _thread.depth += 1
    with_grad = torch.is_grad_enabled()  # it is on again where inference mode is turned off
    try:
        with _torch_is_told, torch.inference_mode(False), torch.set_grad_enabled(with_grad):
            yield
    finally:
        _thread.depth -= 1


# The thread that exports a module, and how many of its exports do, by the module's id.
_in_use: dict[int, list[int]] = {}
_freed = threading.Condition()


@contextlib.contextmanager
def alone_with(model: Any) -> Iterator[None]:
    """Let other threads wait that export the model, or one that has modules of it: an export changes its state, and back."""
    modules = model.modules() if isinstance(model, torch.nn.Module) else [model]
    thread, used = threading.get_ident(), set(map(id, modules))
    with _freed:
        _freed.wait_for(lambda: all(_in_use[module][0] == thread for module in used & _in_use.keys()))
        for module in used:
            _in_use.setdefault(module, [thread, 0])[1] += 1
    try:
        yield
    finally:
        with _freed:
            for module in used:
                _in_use[module][1] -= 1
                if not _in_use[module][1]:
                    del _in_use[module]
            _freed.notify_all()


@contextlib.contextmanager
def asked(opset: int, options: Options) -> Iterator[None]:
    """Remember what is asked for, for symbolic functions that look at it."""
    before, _thread.asked = _thread.asked, Asked(opset, options)
    try:
        yield
    finally:
        _thread.asked = before


def current() -> Asked | None:
    """What this thread's export is asked for, None outside of one."""
    return _thread.asked


class _TorchIsTold(abc.MetaPathFinder):
    """While any thread exports, torch's own `is_in_onnx_export` answers for this package too.

    torch.onnx is never imported for it: if it is loaded its function is changed, and if the model imports it
    while it runs, then at that moment. The code of the function is exchanged, not its name, so that code
    which had imported the function by name is told as well.
    """

    NAME = "torch.onnx"

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.running = 0
        self.original: tuple[Any, types.CodeType] | None = None

    def __enter__(self) -> None:
        with self.lock:
            self.running += 1
            if self.running > 1:
                return
            sys.meta_path.insert(0, self)
            module = sys.modules.get(self.NAME)
            if module is not None:
                self.tell(module)

    def __exit__(self, *_: object) -> None:
        with self.lock:
            self.running -= 1
            if self.running:
                return
            sys.meta_path.remove(self)
            if self.original is not None:
                function, code = self.original
                function.__code__ = code
                self.original = None

    def tell(self, module: types.ModuleType) -> None:
        function = getattr(module, "is_in_onnx_export", None)
        with self.lock:
            if isinstance(function, types.FunctionType) and self.original is None and function is not is_in_onnx_export:
                self.original = (function, function.__code__)
                function.__code__ = _asks_both.__code__

    def torch_says(self) -> bool:
        """What torch's function would have said; the tracer has set its flag."""
        if self.original is None or _is_wrong_in_export(sys._getframe(1)):
            return False
        function, code = self.original
        return bool(types.FunctionType(code, function.__globals__)())

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> machinery.ModuleSpec | None:
        if fullname != self.NAME:
            return None
        spec = machinery.PathFinder.find_spec(fullname, path, target)
        if spec is None or spec.loader is None:
            return None
        spec.loader = _Telling(spec.loader, self)
        return spec


class _Telling(abc.Loader):
    """Loads a module as its own loader does, and tells it of the export that is running."""

    def __init__(self, loader: Any, told: _TorchIsTold) -> None:
        self.loader = loader
        self.told = told

    def create_module(self, spec: machinery.ModuleSpec) -> types.ModuleType | None:
        module: types.ModuleType | None = self.loader.create_module(spec)
        return module

    def exec_module(self, module: types.ModuleType) -> None:
        self.loader.exec_module(module)
        self.told.tell(module)


def _asks_both() -> bool:
    """Stands in for torch's function; runs among torch's globals, so it imports what it needs."""
    from onnxport import session

    return session.is_in_onnx_export() or session._torch_is_told.torch_says()


_torch_is_told = _TorchIsTold()


# -- the mode of a model --------------------------------------------------------------------------


@contextlib.contextmanager
def select_model_mode_for_export(model: Any, mode: Any) -> Iterator[None]:
    """Put the model into the mode of an export for a while; every submodule gets its own mode back.

    PRESERVE leaves the modes as they are. What has no mode (a scripted function, a frozen module, an ExportedProgram)
    is left alone.
    """
    chosen = member(TrainingMode, mode, "mode")
    has_mode = isinstance(model, torch.nn.Module) and hasattr(model, "training")
    if not has_mode or chosen is TrainingMode.PRESERVE:
        yield
        return
    before = [(module, module.training) for module in model.modules() if hasattr(module, "training")]
    try:
        with contextlib.suppress(NotImplementedError):  # the module of an ExportedProgram, which has one mode only
            model.train(chosen is TrainingMode.TRAINING)
        yield
    finally:
        for module, training in before:
            module.training = training


# -- the log --------------------------------------------------------------------------------------

_handler = logging.StreamHandler()
_handler.setFormatter(logging.Formatter("[onnxport] %(message)s"))


def enable_log() -> None:
    """Write the exporter's log to stderr."""
    _handler.stream = sys.stderr  # setStream would flush the old one, which may be closed
    if _handler not in log.handlers:
        log.addHandler(_handler)
    log.setLevel(logging.DEBUG)


def disable_log() -> None:
    """Stop what `enable_log` started."""
    log.removeHandler(_handler)
    log.setLevel(logging.NOTSET)


@contextlib.contextmanager
def logging_on() -> Iterator[None]:
    """The log is on for a while; left as it was found."""
    if _handler in log.handlers:
        yield
        return
    enable_log()
    try:
        yield
    finally:
        disable_log()


__all__ = [
    "Asked",
    "asked",
    "current",
    "disable_log",
    "enable_log",
    "exporting",
    "is_in_onnx_export",
    "log",
    "logging_on",
    "select_model_mode_for_export",
]
