"""The outputs of a `torch.autograd.Function` in the order in which its forward returns them.

The tracer records what a forward did, but takes its outputs in the order in which they were computed; an argument that is
returned, or a tensor that is returned twice, is not among them at all. So the tensors that a forward returns are made
anew, in order. What it wrote in place has to stay itself, and is written once more.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import torch

from ..shared import shared
from .constants import version_of


@shared
@contextlib.contextmanager
def outputs_in_order() -> Iterator[None]:
    """While the tracer records, forwards give their outputs in order.

    They are asked for where `apply`, which models keep under other names, asks the class for its forward.
    """

    def attribute(cls: Any, name: str) -> Any:
        found = type.__getattribute__(cls, name)
        if name != "forward" or torch._C._get_tracing_state() is None or hasattr(cls, "symbolic"):
            return found
        return _ordered(found)

    with mock.patch.object(type(torch.autograd.Function), "__getattribute__", attribute):
        yield


def _ordered(forward: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(forward)
    def ordered(*args: Any, **kwargs: Any) -> Any:
        versions = [(x, version_of(x)) for x in args if isinstance(x, torch.Tensor)]
        outputs = forward(*args, **kwargs)
        parts = outputs if isinstance(outputs, tuple) else (outputs,)
        if len(parts) == 1 and not any(parts[0] is x for x, _ in versions):
            return outputs
        written = [x for x, version in versions if version_of(x) != version]
        made = tuple([_anew(x, written) for x in parts])
        return made if isinstance(outputs, tuple) else made[0]

    return ordered


def _anew(output: Any, written: list[torch.Tensor]) -> Any:
    if not isinstance(output, torch.Tensor):
        return output
    same = torch.ops.aten.alias(output)
    return output.copy_(same) if any(output is x for x in written) else same
