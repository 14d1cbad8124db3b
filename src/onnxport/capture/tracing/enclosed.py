"""Runs that the tracer can't follow as they are, and what it can follow instead.

* `torch.autograd.Function` whose forward works with tensors that aren't among its arguments (checkpoints, modules given as
  arguments): the tracer looks for them among the arguments and fails. It records the forward as if it were called.
* `torch.func`, `torch.vmap`, `torch.autograd.grad` in forward: the tracer doesn't know the tensors that they make. The
  run is flattened to operators by `make_fx` first.
* `make_fx` itself, which `torch.func.linearize` calls: in a trace it leaves the tracer broken for all that comes, and within
  another one it makes constants of values. It is refused.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import torch

from ...errors import LoweringError
from ...program.ir import Conversion
from ..own_gradients import needs_gradients
from ..shared import shared
from .gradient_parts import decompositions

Run = Callable[..., tuple[torch.Tensor, ...]]

ALL_SIZES = Conversion("the flattened run", "all sizes, since torch.func, torch.vmap or torch.autograd.grad is called")

_ENCLOSED = ("unordered_map",)
_TRANSFORMED = (
    "Cannot insert a Tensor that requires grad",
    "Unsupported value kind: Tensor",
    "Cannot access data pointer of Tensor that doesn't have storage",
    "Attempted to access the data pointer on an invalid python storage",
    "The stateless API can't be used with Jitted modules",
)


def is_enclosed(error: RuntimeError) -> bool:
    """Whether tracing failed at a `torch.autograd.Function` of the first kind."""
    return any(text in str(error) for text in _ENCLOSED)


def is_transformed(error: RuntimeError) -> bool:
    """Whether tracing failed at tensors of the second kind."""
    return needs_gradients(error) or any(text in str(error) for text in _TRANSFORMED)


def is_foreign(error: RuntimeError) -> bool:
    """Whether tracing failed at a tensor from outside of the model that requires grad."""
    return _TRANSFORMED[0] in str(error)


def is_unknown(error: RuntimeError) -> bool:
    """Whether tracing failed at a tensor of a kind that graphs don't hold."""
    return _TRANSFORMED[1] in str(error)


@shared
@contextlib.contextmanager
def functions_called() -> Iterator[None]:
    """In a trace, `torch.autograd.Function.apply` calls `forward`, unless the function says how it is exported."""
    apply: Any = inspect.getattr_static(torch.autograd.Function, "apply")  # in Python or, from torch 2.14 on, in C++

    def call(cls: Any, *args: Any, **kwargs: Any) -> Any:
        if torch._C._get_tracing_state() is None or hasattr(cls, "symbolic"):
            return apply.__get__(None, cls)(*args, **kwargs)
        if cls.setup_context is not torch.autograd.Function.setup_context:
            return cls.forward(*args, **kwargs)
        context: Any = torch.autograd.function.FunctionCtx()
        context.needs_input_grad = (False,) * len(args)
        return cls.forward(context, *args, **kwargs)

    with mock.patch.object(torch.autograd.Function, "apply", classmethod(call)):
        yield


@shared
@contextlib.contextmanager
def make_fx_refused() -> Iterator[None]:
    """`make_fx` fails in a trace, and within another one."""
    from torch.fx.experimental import proxy_tensor

    tracer = proxy_tensor._MakefxTracer
    trace = tracer.trace

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if torch._C._get_tracing_state() is not None or proxy_tensor.get_proxy_mode() is not None:
            raise LoweringError(
                "the model calls make_fx, as torch.func.linearize does, which can't be recorded; "
                "call the function itself, and torch.func.jvp for linearize"
            )
        return trace(self, *args, **kwargs)

    with mock.patch.object(tracer, "trace", call):
        yield


def flattened(run: Run, inputs: list[torch.Tensor], cause: RuntimeError) -> Run:
    """The operators of a run, gradients and batched functions among it."""
    from torch.fx.experimental.proxy_tensor import make_fx

    try:
        # oneDNN has recurrent layers of its own, which are one operator.
        with torch.set_grad_enabled(needs_gradients(cause)), torch.backends.mkldnn.flags(enabled=False):
            graph: Any = make_fx(run, dict(decompositions()))(*inputs)
    except Exception as error:
        raise LoweringError(
            f"the model transforms functions (torch.func, torch.vmap) or takes gradients in its forward, and that can't be "
            f"followed: {error}; write the derivative, or the batched computation, with operators"
        ) from cause
    return lambda *tensors: tuple(graph(*tensors[: len(inputs)]))
