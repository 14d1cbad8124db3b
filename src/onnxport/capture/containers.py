"""Dicts, lists and sets that modules hold, which a run may add to: `self.grids[size] = grid`."""

from __future__ import annotations

import collections
from collections.abc import Iterable, Iterator
from typing import Any

import torch

from .weights import OWN

_KINDS = frozenset({dict, list, set, collections.OrderedDict, collections.defaultdict, collections.deque})
_LARGE = 1000  # in containers with more elements than this no others are looked for


class Contents:
    """What is in the containers among the attributes of modules, and in containers inside of these."""

    def __init__(self, modules: Iterable[torch.nn.Module]) -> None:
        self._copies: dict[int, tuple[Any, Any]] = {}
        for module in modules:
            for name, value in module.__dict__.items():
                if value.__class__ in _KINDS and name not in OWN:
                    self._keep(value)

    def _keep(self, value: Any) -> None:
        if id(value) in self._copies:
            return
        self._copies[id(value)] = value, value.copy()
        for element in _elements(value) if len(value) <= _LARGE else ():
            if element.__class__ in _KINDS:
                self._keep(element)

    def restore(self) -> None:
        for value, copy in self._copies.values():
            if len(value) == len(copy) and all(map(_is_same, _elements(value), _elements(copy))):
                continue
            value.clear()
            if isinstance(value, (dict, set)):
                value.update(copy)
            else:
                value.extend(copy)


def _elements(container: Any) -> Iterator[Any]:
    if isinstance(container, dict):
        yield from container
        yield from container.values()
    else:
        yield from container


def _is_same(a: Any, b: Any) -> bool:
    return a is b
