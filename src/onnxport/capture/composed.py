"""Operators of packages that are made of torch's own, as their package registers them: recorded as what they are made of.

The tracer can't record some of them (lists of traced sizes), and has no schema that ONNX would know.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any
from unittest import mock

import torch

from .shared import shared

_PACKAGES = ("torchao::",)


@shared
@contextlib.contextmanager
def composed_called() -> Iterator[None]:
    """While a model is traced, call the parts of such operators."""
    packet: Any = torch._ops.OpOverloadPacket
    plain = packet.__call__

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if self._qualified_op_name.startswith(_PACKAGES) and torch._C._get_tracing_state():
            overload = getattr(self, self.overloads()[0])
            mode: Any = torch.overrides._get_current_function_mode()  # type: ignore[no-untyped-call]
            if hasattr(mode, "called"):
                mode.called.add(self)  # sizes among its arguments may have become numbers
            if overload.has_kernel_for_dispatch_key(torch._C.DispatchKey.CompositeImplicitAutograd):
                with torch._C.DisableTorchFunction():  # a mode would call the operator as a whole
                    return overload.decompose(*args, **kwargs)
        return plain(self, *args, **kwargs)

    with mock.patch.object(packet, "__call__", call):
        yield
