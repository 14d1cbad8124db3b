"""Models that `torch.compile` compiles: a trace records the original code."""

from __future__ import annotations

import contextlib
import copy
import inspect
import types
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

import torch

from .tracing.flex_attention import MORE_THAN_ELEMENTWISE
from .weights import Modules


def uncompiled(model: Any) -> Any:
    """What `torch.compile` made a model of, and what `DataParallel` and its like run on several devices."""
    if isinstance(model, (torch.nn.DataParallel, torch.nn.parallel.DistributedDataParallel)):
        return uncompiled(model.module)
    module = getattr(model, "_orig_mod", None)
    if isinstance(module, torch.nn.Module):
        return uncompiled(module)
    return getattr(model, "_torchdynamo_orig_callable", model)


def module_of(model: Any) -> Any:
    """A module for a method of one (`model.encode`), which is its forward; others as they are."""
    owner = getattr(model, "__self__", None)
    if (
        not inspect.ismethod(model)
        or not isinstance(owner, torch.nn.Module)
        or isinstance(owner, torch.jit.ScriptModule)
    ):
        return model
    module = copy.copy(owner)  # of the same parameters and parts, but in a mode of its own
    module.__dict__ = {**owner.__dict__, "_forward_hooks": OrderedDict(), "_forward_pre_hooks": OrderedDict()}
    module.forward = types.MethodType(model.__func__, module)
    return module


def refused(error: RuntimeError) -> str:
    """What was called that can't be called within a trace, and "" if the error is another one."""
    return next((reason for text, reason in _REFUSED.items() if text in str(error)), "")


_REFUSED = {
    "torch.jit.trace a dynamo-optimized function": "the model calls a function that torch.compile made; export the model "
    "with the original function",
    "HigherOrderOperator": "the model calls an operator that takes functions, which can't be recorded",
    MORE_THAN_ELEMENTWISE: f"{MORE_THAN_ELEMENTWISE} by an index for each axis",
    "unsupported input list type": "the model calls an operator that takes a list which can't be recorded",
}


@contextlib.contextmanager
def compiling_nothing(modules: Modules) -> Iterator[None]:
    """Compiled modules within a model run as they are; where a trace is open they would refuse to."""
    with contextlib.ExitStack() as undo:
        for _, module in modules:
            if isinstance(module, torch.jit.ScriptModule):
                continue
            original = module.__dict__.get("_modules", {}).get("_orig_mod")
            if original is not None and "forward" in module.__dict__:
                undo.callback(module.__dict__.__setitem__, "forward", module.__dict__["forward"])
                module.__dict__["forward"] = original.__call__
            if module.__dict__.get("_compiled_call_impl") is not None:
                undo.callback(
                    module.__dict__.__setitem__, "_compiled_call_impl", module.__dict__["_compiled_call_impl"]
                )
                module.__dict__["_compiled_call_impl"] = None
        yield
