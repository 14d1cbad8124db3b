"""Errors of operators that a model catches while it is traced: `try: x.view(n, 2, -1)`, `except RuntimeError`.

The tracer takes it that an operator which fails ends the trace: it stops recording, and leaves a node without a result. Here it
goes on behind such a node. At which sizes operators fail isn't known from a trace, so that the model is traced again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.overrides import TorchFunctionMode


class Caught:
    """The lines of one recording in which an operator failed, and which the model went on behind."""

    def __init__(self, place: Callable[[], str]) -> None:
        self.places: dict[str, None] = {}
        self._place = place
        self._state: Any = None

    def begin(self) -> None:
        """The run that is recorded begins."""
        self.places.clear()
        self._state = torch._C._get_tracing_state()

    def failed(self) -> None:
        """A function of torch raised: if the tracer stopped at it, let it go on."""
        self.places[self._place()] = None
        if self._state is not None and torch._C._get_tracing_state() is None:
            torch._C._set_tracing_state(self._state)  # type: ignore[attr-defined]
            for last in list(self._state.graph().nodes())[-1:]:
                if not last.outputsSize():
                    last.destroy()


class Failing(TorchFunctionMode):
    """Whether functions of torch raised in the last run that it was on for: of one that went on, the model caught it."""

    def __init__(self) -> None:
        super().__init__()
        self.failed = False

    def __enter__(self) -> Failing:
        self.failed = False
        super().__enter__()  # type: ignore[no-untyped-call]
        return self

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        try:
            return func(*args, **kwargs) if kwargs else func(*args)
        except Exception:
            self.failed = True
            raise
