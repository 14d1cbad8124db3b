"""What is done while a model is traced, and isn't to be recorded."""

from __future__ import annotations

from typing import Any

import torch


class untraced:
    """What is done within isn't recorded."""

    __slots__ = ("_state",)

    def __enter__(self) -> None:
        self._state: Any = torch._C._get_tracing_state()
        torch._C._set_tracing_state(None)  # type: ignore[attr-defined]

    def __exit__(self, *_: object) -> None:
        torch._C._set_tracing_state(self._state)  # type: ignore[attr-defined]
