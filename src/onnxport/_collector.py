"""Python's garbage collector, paused where many objects are made that all live on."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def paused() -> Iterator[None]:
    """No collection meanwhile: each would look through all objects again, those of torch among them.

    An export makes many objects that all live to its end: a third of the time of a deep model. Imports do, too: 0.1 s, half
    of what a first export in a process takes beyond others (measured with `gc.callbacks`).
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
