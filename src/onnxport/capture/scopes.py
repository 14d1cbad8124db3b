"""Which module call a traced node belongs to.

The tracer has scopes of its own, which it makes blocks of and takes apart at the end: that takes as long as half a trace. It
numbers the values that it makes, though, so that the numbers at which calls begin and end say the same.
"""

from __future__ import annotations

import bisect
import contextlib
import threading
from collections.abc import Iterable, Iterator
from typing import Any
from unittest import mock

import torch
from torch.nn.modules import module as _module

from .shared import shared


class CallPath(str):
    """The path of the module whose call a node belongs to, `encoder.layers.0`.

    Attributes:
        calls: the calls around the node from the outermost on, as (path, number of the call in the trace).
    """

    __slots__ = ("calls",)
    calls: tuple[tuple[str, int], ...]

    @classmethod
    def of(cls, calls: tuple[tuple[str, int], ...]) -> CallPath:
        result = cls(calls[-1][0] if calls else "")
        result.calls = calls
        return result


_OUTSIDE = CallPath.of(())


class Calls:
    """The calls of modules in one trace."""

    def __init__(self, named: Iterable[tuple[str, torch.nn.Module]]) -> None:
        scripted = (torch.jit.ScriptModule,)
        self.paths = {module: path for path, module in named if path and not isinstance(module, scripted)}
        self._count = 0
        self._now = _OUTSIDE
        self._numbers: list[int] = []  # of the first value after a call began or ended, ...
        self._scopes: list[CallPath] = []  # ... and the call from there on
        self._returned = self._end = 0
        self._last = _OUTSIDE

    def enter(self, path: str) -> CallPath:
        """A call begins; the one around it."""
        self._count += 1
        around = self._now
        self._go_on_in(CallPath.of((*around.calls, (path, self._count))))
        return around

    def leave(self, around: CallPath) -> None:
        self._go_on_in(around)

    def _go_on_in(self, scope: CallPath) -> None:
        self._now = scope
        state: Any = torch._C._get_tracing_state()
        if state:  # a run that failed, and is closed already
            self._numbers.append(_next_number(state.graph()))
            self._scopes.append(scope)

    def finish(self) -> None:
        """The run is done."""
        state: Any = torch._C._get_tracing_state()
        self._returned = _next_number(state.graph()) if state else 0

    def close(self, graph: Any) -> None:
        """The trace is done: the values of functions that are inlined from now on belong to no call."""
        self._end = _next_number(graph)

    def of(self, value: str) -> CallPath:
        """The call that a value belongs to; nodes are asked for in their order."""
        if value and self._numbers:
            if not value.isdigit() or int(value) > self._end:
                return _OUTSIDE
            number = int(value)
            if number <= self._returned:  # what is later the tracer put in the place of something else
                index = bisect.bisect_right(self._numbers, number) - 1
                self._last = self._scopes[index] if index >= 0 else _OUTSIDE
        return self._last

    def clear(self) -> None:
        self._count, self._now, self._last = 0, _OUTSIDE, _OUTSIDE
        self._numbers.clear()
        self._scopes.clear()


def _next_number(graph: Any) -> int:
    node = graph.create("prim::Constant", 1)
    number = int(node.output().debugName())
    node.destroy()
    return number


_open = threading.local()  # the calls of the trace that this thread makes


@contextlib.contextmanager
def noting(calls: Calls) -> Iterator[None]:
    """Note the calls of modules while a trace is made."""
    before = getattr(_open, "calls", None)
    _open.calls = calls
    try:
        with _calls_noted():
            yield
    finally:
        _open.calls = before


@shared
@contextlib.contextmanager
def _calls_noted() -> Iterator[None]:
    """`Module.__call__` notes calls. It calls `forward` itself where there is nothing else to do: the tracer writes down
    all frames of Python for each node, of which there are four for a call otherwise."""
    plain: Any = torch.nn.Module.__call__

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        calls = getattr(_open, "calls", None)
        if calls is None or torch._C._get_tracing_state() is None:
            return plain(self, *args, **kwargs)
        path = calls.paths.get(self)
        forward = self.forward if _has_no_hooks(self) else plain.__get__(self)
        if path is None:
            return forward(*args, **kwargs)
        around = calls.enter(path)
        try:
            return forward(*args, **kwargs)
        finally:
            calls.leave(around)

    with mock.patch.object(torch.nn.Module, "__call__", call):
        yield


def _has_no_hooks(module: Any) -> bool:
    return not (
        module._compiled_call_impl
        or module._backward_hooks
        or module._backward_pre_hooks
        or module._forward_hooks
        or module._forward_pre_hooks
        or _module._global_backward_pre_hooks
        or _module._global_backward_hooks
        or _module._global_forward_hooks
        or _module._global_forward_pre_hooks
    )
