"""Memory of numpy that tensors are made of, `torch.from_numpy(a)`: what numpy writes to it later isn't recorded."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from unittest import mock

import torch
from torch.overrides import handle_torch_function

from ...errors import warn
from ..shared import shared
from ..tracing.constants import version_of
from ..tracing.untraced import untraced
from .pitfalls import place_of_call

Function = Callable[..., Any]

_SHARES = (torch.from_numpy, torch.as_tensor, torch.asarray)


class SharedMemory:
    """The tensors that one run makes of arrays, and what they held then."""

    def __init__(self) -> None:
        self._made: list[tuple[str, torch.Tensor, torch.Tensor, int | None]] = []

    def begin(self) -> None:
        """A run begins."""
        self._made.clear()

    def watched(self, instead: Mapping[Function, Function]) -> dict[Function, Function]:
        """The functions that make them, and what calls these, or others instead of them, and keeps what they hold."""
        return {function: self._watch(instead.get(function, function)) for function in _SHARES}

    def _watch(self, function: Function) -> Function:
        def watch(data: Any, *args: Any, **kwargs: Any) -> Any:
            made = function(data, *args, **kwargs)
            if torch._C._get_tracing_state() and not isinstance(data, (torch.Tensor, list, tuple, int, float)):
                with untraced(), torch._C.DisableTorchFunction():
                    self._made.append((place_of_call(), made, made.detach().clone(), version_of(made)))
            return made

        return watch

    def warn(self) -> None:
        """Warn of what was written to."""
        for place, tensor, before, version in self._made:
            if version_of(tensor) == version and not torch.equal(tensor.nan_to_num(), before.nan_to_num()):
                warn(
                    f"{place} makes a tensor of memory of numpy, which is then written to by numpy: in the exported model "
                    "the tensor is a constant; compute with tensors"
                )


@shared
@contextlib.contextmanager
def from_numpy_noticed() -> Iterator[None]:
    """Let the modes that are on know of `torch.from_numpy`."""
    plain = torch.from_numpy

    def from_numpy(array: Any) -> Any:
        return handle_torch_function(plain, (), array) if _has_mode() else plain(array)

    with mock.patch.object(torch, "from_numpy", from_numpy):
        yield


def _has_mode() -> bool:
    return torch._C._is_torch_function_mode_enabled()
