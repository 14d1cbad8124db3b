"""What is done while a model is traced, and isn't to be recorded."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any
from unittest import mock

import torch

from ..shared import shared


class untraced:
    """What is done within isn't recorded."""

    __slots__ = ("_state",)

    def __enter__(self) -> None:
        self._state: Any = torch._C._get_tracing_state()
        torch._C._set_tracing_state(None)  # type: ignore[attr-defined]

    def __exit__(self, *_: object) -> None:
        torch._C._set_tracing_state(self._state)  # type: ignore[attr-defined]


@shared
@contextlib.contextmanager
def imports_untraced() -> Iterator[None]:
    """What modules compute that the model is the first to import isn't recorded, as the version that torchvision asks for."""
    machinery: Any = sys.modules["_frozen_importlib"]
    load = machinery._find_and_load

    def loaded(*args: Any) -> Any:
        if torch._C._get_tracing_state() is None:
            return load(*args)
        with untraced():
            return load(*args)

    with mock.patch.object(machinery, "_find_and_load", loaded):
        yield
