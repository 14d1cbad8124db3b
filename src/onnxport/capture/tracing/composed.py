"""Operators of packages that are made of torch's own, as their package registers them: recorded as what they are made of.

ONNX has no form of them, and the tracer can't record some (lists of traced sizes). Those for which there is a conversion
stay whole.
"""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import torch

from ..shared import shared

_TORCHS_OWN = ("aten", "prim", "prims")
_key = torch._C.DispatchKey


class _Thread(threading.local):
    stays_whole: Callable[[str], bool] | None = None


_thread = _Thread()


@contextlib.contextmanager
def composed(stays_whole: Callable[[str], bool]) -> Iterator[None]:
    """In captures of this thread, operators are what they are made of; those of these names aren't."""
    before, _thread.stays_whole = _thread.stays_whole, stays_whole
    try:
        yield
    finally:
        _thread.stays_whole = before


def is_composed(operator: Any) -> bool:
    """Whether an overload of an operator is to be seen as what it is made of."""
    stays_whole = _thread.stays_whole
    return (
        isinstance(operator, torch._ops.OpOverload)
        and stays_whole is not None
        and operator.namespace not in _TORCHS_OWN
        and operator.has_kernel_for_dispatch_key(_key.CompositeImplicitAutograd)  # type: ignore[no-untyped-call]
        and not operator.has_kernel_for_dispatch_key(_key.CPU)  # type: ignore[no-untyped-call]
        and not stays_whole(operator.name())  # type: ignore[no-untyped-call]
    )


@shared
@contextlib.contextmanager
def composed_called() -> Iterator[None]:
    """While a model is traced, call the parts of such operators."""
    overload: Any = torch._ops.OpOverload
    packet: Any = torch._ops.OpOverloadPacket
    plain, plain_packet = overload.__call__, packet.__call__

    def call(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        if torch._C._get_tracing_state() and is_composed(self):
            return _parts(self, args, kwargs)
        return plain(self, *args, **kwargs)

    def call_packet(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        if torch._C._get_tracing_state():
            chosen = _overload(self, args, kwargs)
            if is_composed(chosen):
                return _parts(chosen, args, kwargs)
        return plain_packet(self, *args, **kwargs)

    with mock.patch.object(overload, "__call__", call), mock.patch.object(packet, "__call__", call_packet):
        yield


def _overload(packet: Any, args: Any, kwargs: Any) -> Any:
    """The overload that takes these arguments; None of torch's own operators."""
    if packet._qualified_op_name.partition("::")[0] in _TORCHS_OWN:
        return None
    names = packet.overloads()
    name = names[0] if len(names) == 1 else torch._C._jit_resolve_packet(packet._qualified_op_name, *args, **kwargs)
    return getattr(packet, name or "default")


def _parts(operator: Any, args: Any, kwargs: Any) -> Any:
    """Call the function that an operator is made of, past the tracer, which would record the operator."""
    mode: Any = torch.overrides._get_current_function_mode()  # type: ignore[no-untyped-call]
    if hasattr(mode, "called"):
        mode.called.add(operator)  # sizes among its arguments may have become numbers
    return parts_of(operator)(*args, **kwargs)


def parts_of(operator: Any) -> Callable[..., Any]:
    """The function that an operator is made of."""
    return functools.partial(operator._handle.redispatch_boxed, torch._C.DispatchKeySet(_key.CPU))
