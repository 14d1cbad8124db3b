"""Changes of what all threads of the process see: made by the first export that runs, undone by the last."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager


def shared(change: Callable[[], AbstractContextManager[None]]) -> Callable[[], AbstractContextManager[None]]:
    """The change as one that is made once for all who want it at the time."""
    lock, made, users = threading.Lock(), contextlib.ExitStack(), 0

    @contextlib.contextmanager
    def made_once() -> Iterator[None]:
        nonlocal users
        with lock:
            if not users:
                made.enter_context(change())
            users += 1
        try:
            yield
        finally:
            with lock:
                users -= 1
                if not users:
                    made.close()

    return made_once
