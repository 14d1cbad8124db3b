"""Which module call a traced node belongs to."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch


class CallPath(str):
    """The path of the module whose call a node belongs to, `encoder.layers.0`.

    Attributes:
        calls: the calls around the node from the outermost on, as (path, number of the call in the trace).
    """

    __slots__ = ("calls",)
    calls: tuple[tuple[str, int], ...]

    @classmethod
    def read(cls, scope: str) -> CallPath:
        """From the scope that the tracer writes, `encoder#0/encoder.layers.0#3`."""
        calls = []
        for part in scope.split("/") if scope else ():
            path, mark, number = part.rpartition("#")
            if mark and number.isdigit():
                calls.append((path, int(number)))
        result = cls(calls[-1][0] if calls else "")
        result.calls = tuple(calls)
        return result


class CallNames(dict[torch.nn.Module, str]):
    """What the tracer asks for a module's name at each call: the path, and the number of the call."""

    def __init__(self, named: Iterable[tuple[str, torch.nn.Module]]) -> None:
        super().__init__({module: path for path, module in named if path})
        self.count = 0

    def __getitem__(self, module: torch.nn.Module) -> str:
        self.count += 1
        return f"{super().__getitem__(module)}#{self.count}"

    def get(self, module: Any, default: Any = None) -> Any:
        return self[module] if module in self else default  # noqa: SIM401  (it would call itself)
