"""Graphs under construction: one `Scope` for the main graph and one for each body of an If or Loop."""

from __future__ import annotations

from typing import Any

import onnx_ir as ir

from ..dims import Dim
from .values import Tensor


class Scope:
    """Nodes in order, and which pure nodes exist already.

    A body sees the nodes of the scopes around it, never the reverse: an equal node is shared inwards only.
    """

    __slots__ = ("depth", "inputs", "ints", "nodes", "parent", "sizes", "table")

    def __init__(self, parent: Scope | None = None) -> None:
        self.parent = parent
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.inputs: list[ir.Value] = []
        self.nodes: list[ir.Node] = []
        self.table: dict[Any, tuple[Tensor, ...]] = {}
        self.ints: dict[int, tuple[Tensor, Dim]] = {}  # by the identity of tensors: the symbol of their content
        self.sizes: dict[str, SizeSource] = {}  # symbols of `Dim`s that this scope defines

    def find(self, key: Any) -> tuple[Tensor, ...] | None:
        scope: Scope | None = self
        while scope is not None:
            found = scope.table.get(key)
            if found is not None:
                return found
            scope = scope.parent
        return None

    def int_of(self, tensor: Tensor) -> Dim | None:
        """The symbol that stands for the content of a tensor, if there is one here."""
        scope: Scope | None = self
        while scope is not None:
            if id(tensor) in scope.ints:
                return scope.ints[id(tensor)][1]
            scope = scope.parent
        return None

    def source(self, symbol: str) -> tuple[SizeSource, Scope] | None:
        """Where a symbol's number is read, and the scope in which it can be."""
        scope: Scope | None = self
        while scope is not None:
            if symbol in scope.sizes:
                return scope.sizes[symbol], scope
            scope = scope.parent
        return None


class SizeSource:
    """Where the number behind a symbol is read at run time: an axis of a tensor, or a 0-d/1-element tensor itself."""

    __slots__ = ("axis", "tensor")

    def __init__(self, tensor: Tensor, axis: int | None) -> None:
        self.tensor = tensor
        self.axis = axis
