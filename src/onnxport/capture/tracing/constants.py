"""Tensors that the tracer takes for constants, and parameters, that the model writes to.

The tracer keeps a tensor that it doesn't know (`torch.tensor(0.0)`, one in a plain attribute) by reference. Where the
model goes on to write to it, the constant of the trace would have the value of the end; it has to be that of the
beginning. The memory is therefore written back when the trace is done. So is that of parameters, which the exported model
starts from too; buffers, which models are expected to write to, are copied before the run.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
import torch.nn.functional as F

from ...errors import warn
from .modes import instead

Function = Callable[..., Any]
Written = Callable[[tuple[Any, ...], dict[str, Any]], Any]  # of arguments, those that are written to

# Operators whose result is another tensor of the same memory, and not a view to Python.
_SAME = ("aten::lift_fresh", "aten::detach", "aten::detach_", "aten::alias", "aten::to")


class _Kept:
    """A tensor, and its memory as it was; the tensor is held, so that its memory isn't used again."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor = tensor
        with torch._C.DisableTorchFunction():
            self.content: torch.UntypedStorage = tensor.untyped_storage().clone()  # type: ignore[no-untyped-call]
        self.layout = tensor.storage_offset(), tensor.shape, tensor.stride()

    def restore(self) -> None:
        if self.tensor.shape == self.layout[1]:
            self.tensor.untyped_storage().copy_(self.content)
        else:  # `out=` resized it
            self.tensor.set_(self.content, *self.layout)  # type: ignore[call-overload]


class Constants:
    """Keeps the contents of constants and parameters before the first write to them."""

    def __init__(self, weights: Iterable[torch.Tensor]) -> None:
        self.writes_parameters = False  # which a run that isn't recorded doesn't give their contents back
        self._kept: dict[int, _Kept] = {}  # by the address of the memory
        self._written: set[int] = set()
        self._parameters = [t for t in weights if isinstance(t, torch.nn.Parameter)]

    def watched(self) -> dict[Function, Function]:
        """Functions that write, and what keeps the contents before it calls them."""
        return {function: self._watch(instead(function), written) for function, written in _writers().items()}

    def _watch(self, function: Function, written: Written) -> Function:
        def watch(*args: Any, **kwargs: Any) -> Any:
            if torch._C._get_tracing_state():
                tensors = written(args, kwargs)
                for tensor in tensors if isinstance(tensors, (list, tuple)) else (tensors,):
                    if isinstance(tensor, torch.Tensor):
                        self.keep(tensor)
            return function(*args, **kwargs)

        return watch

    def keep(self, tensor: torch.Tensor) -> None:
        """Keep the content, if it is a constant of the trace or a parameter."""
        base = tensor if tensor._base is None else tensor._base
        node: Any = torch._C._get_value_trace(base).node()  # type: ignore[attr-defined]
        while node.kind() in _SAME:
            node = node.inputsAt(0).node()
        if node.kind() not in ("prim::Constant", "prim::Param") or base.layout != torch.strided:
            return
        with torch._C.DisableTorchFunction():  # the mode that is on looks at the model's calls
            address = base.untyped_storage().data_ptr()
            if node.kind() == "prim::Param":
                if address not in self._addresses:
                    return
                self.writes_parameters = True
        if address not in self._kept:  # the tensor is kept too: its memory must not be used again
            self._kept[address] = _Kept(base)

    @functools.cached_property
    def _addresses(self) -> set[int]:
        strided = [t for t in self._parameters if t.layout == torch.strided and type(t) is torch.nn.Parameter]
        return {t.untyped_storage().data_ptr() for t in strided}

    @contextlib.contextmanager
    def unchanged(self) -> Iterator[None]:
        """Write back what the run within changes."""
        try:
            yield
        finally:
            for kept in self._kept.values():
                with torch._C.DisableTorchFunction():
                    kept.restore()
                self._written.add(id(kept.tensor))
            self._kept.clear()

    def warn(self, modules: Iterable[tuple[str, torch.nn.Module]]) -> None:
        """Warn of attributes that were written to: they are state."""
        if not self._written:
            return
        names = [
            f"{path}.{name}".lstrip(".")
            for path, module in modules
            for name, value in vars(module).items()
            if isinstance(value, torch.Tensor) and id(value) in self._written
        ]
        if names:
            warn(
                f"the model writes to {', '.join(names)}; the exported model computes with the new values within a run, "
                "but keeps nothing for the next one"
            )


def version_of(tensor: torch.Tensor) -> int | None:
    """How often a tensor has been written to; None of one made in inference mode, where nobody counts."""
    return None if tensor.is_inference() else tensor._version


@functools.cache
def _writers() -> dict[Function, Written]:
    """Functions that write, and which of their arguments they write to."""
    methods: list[Function] = [
        torch.Tensor.__setitem__,
        torch.Tensor.data.__set__,  # type: ignore[attr-defined]
        torch.Tensor.__iand__,
        torch.Tensor.__ior__,
        torch.Tensor.__ixor__,
    ]
    for holder in (torch.Tensor, torch, torch.nn.init):
        names = [name for name in dir(holder) if name.endswith("_") and not name.startswith("_")]
        methods += [function for function in (getattr(holder, name) for name in names) if callable(function)]
    methods += [getattr(torch, name) for name in dir(torch) if name.startswith("_foreach_") and name.endswith("_")]
    functions = [f for f in vars(F).values() if inspect.isfunction(f) and "inplace" in f.__code__.co_varnames]
    return {
        **dict.fromkeys((*methods, *functions), _first),
        **dict.fromkeys((F.embedding, F.embedding_bag), _renormed),
    }


def _first(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return args[0] if args else kwargs.get("input", kwargs.get("tensor"))


def _renormed(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The rows of an embedding, which are written to where they are to be no longer than `max_norm`."""
    norm = args[3] if len(args) > 3 else kwargs.get("max_norm")
    return None if norm is None else args[1] if len(args) > 1 else kwargs["weight"]
