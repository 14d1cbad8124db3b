"""Whether what Python takes out of a trace depends on the content of an argument.

The sizes of most tensors follow from those of the arguments. Where values say how many elements there are (`x[x > 0]`,
`nonzero`, `torch.arange(lengths.max())`), a size is a value like others: one that Python reads is a constant of the trace.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from typing import Any

import torch

from ...dims import Dim, free_symbols
from ..graph import inputs_of

# Operators of whose results values say how many elements they have.
_BY_VALUE = frozenset(
    {"aten::nonzero", "aten::nonzero_numpy", "aten::argwhere", "aten::masked_select", "aten::repeat_interleave",
     "aten::bincount", "aten::_unique", "aten::_unique2", "aten::unique_dim", "aten::unique_consecutive",
     "aten::unique_dim_consecutive", "torchvision::nms"}
)  # fmt: skip
# Of these the second result is as large as the argument.
_UNIQUE = frozenset(kind for kind in _BY_VALUE if "unique" in kind)
_MASKS = (torch.bool, torch.uint8)
_SIZES = ("aten::size", "aten::numel", "aten::_shape_as_tensor", "prim::shape")
# How many values are looked at.
_LIMIT = 100_000


class Dependence:
    """What is known of the values of one graph; what was found of them is remembered.

    Args:
        is_argument: whether a `torch._C.Value` of the graph's inputs is an argument of the model, no weight.
    """

    def __init__(self, is_argument: Callable[[Any], bool]) -> None:
        self._is_argument = is_argument
        self._known: set[tuple[str, bool]] = set()  # what doesn't depend on arguments, ...
        self._dependent: set[tuple[str, bool]] = set()  # ... and what does

    def forget(self) -> None:
        """Another graph is looked at, in which the same names stand for other values."""
        self._known.clear()
        self._dependent.clear()

    def of_tensor(self, tensor: torch.Tensor) -> bool:
        """Whether a traced tensor depends on the content of an argument, not on sizes and constants alone."""
        pending = [value_of(tensor)]
        seen: set[str] = set()
        while pending and len(seen) < _LIMIT:
            value = pending.pop()
            name = value.debugName()
            if name in seen or (name, False) in self._known:
                continue
            seen.add(name)
            node = value.node()
            if node.kind() == "prim::Param":
                if self._is_argument(value):
                    return True
            elif node.kind() not in (*_SIZES, "prim::Constant"):
                pending.extend(inputs_of(node))
        if not pending:
            self._known |= {(name, False) for name in seen}
        return bool(pending)

    def of_sizes(self, tensor: torch.Tensor) -> bool:
        """Whether sizes of a traced tensor may depend on the content of an argument."""
        return self._by_value(value_of(tensor))

    def may_be_of(self, number: Any) -> bool:
        """Whether a number that was taken out of sizes may depend on the content of an argument."""
        return any(map(self._by_value, _sized(number).values()))

    def is_of(self, number: Any, sizes: Mapping[str, Any], labels: Set[str]) -> bool:
        """Whether a number that was taken out of sizes does.

        Args:
            number: the `torch._C.Value`.
            sizes: expressions that sizes are, by the names of their values.
            labels: what these are made of where they follow from sizes of arguments.
        """
        return any(not _follows(sizes.get(size), labels) and self._by_value(of) for size, of in _sized(number).items())

    def _by_value(self, tensor: Any) -> bool:
        """Whether sizes of a tensor may depend on the content of an argument."""
        # Values, whether it is their sizes that matter, and of what that was asked before.
        pending: list[tuple[Any, bool, Any]] = [(tensor, True, None)]
        seen: dict[tuple[str, bool], Any] = {}
        while pending and len(seen) < _LIMIT:
            value, of_sizes, before = pending.pop()
            key = (value.debugName(), of_sizes)
            if key in seen or (of_sizes and key in self._known):
                continue
            seen[key] = before
            node = value.node()
            if key in self._dependent or (node.kind() == "prim::Param" and not of_sizes and self._is_argument(value)):
                while key is not None:
                    self._dependent.add(key)
                    key = seen[key]
                return True
            if node.kind() in _SIZES:
                pending.append((node.inputsAt(0), True, key))
            elif node.kind() not in ("prim::Constant", "prim::Param"):
                operands = _sizes_from(value, node) if of_sizes else [(x, False) for x in inputs_of(node)]
                pending += [(operand, sizes, key) for operand, sizes in operands]
        if not pending:
            self._known |= {key for key in seen if key[1]}
        return bool(pending)


def _sized(number: Any) -> dict[Any, Any]:
    """The sizes that a number is computed from: the value that each is of, by its name."""
    pending, seen, found = [number], set(), {}
    while pending:
        node = pending.pop().node()
        if node.kind() in _SIZES:
            found[node.outputsAt(0).debugName()] = node.inputsAt(0)
            continue
        operands = [x for x in inputs_of(node) if x.debugName() not in seen]
        seen |= {x.debugName() for x in operands}
        pending += operands
    return found


def _follows(size: Any, labels: Set[str]) -> bool:
    """Whether a size is known to be a number, or an expression of the labels."""
    return isinstance(size, int | Dim) and free_symbols(size) <= labels


def reads_content(number: Any) -> bool:
    """Whether the content of any tensor is in a number, not sizes and constants alone."""
    pending, seen = [number], set()
    while pending:
        node = pending.pop().node()
        if node.kind() == "prim::Param":
            return True
        if node.kind() not in _SIZES:
            operands = [x for x in inputs_of(node) if x.debugName() not in seen]
            seen |= {x.debugName() for x in operands}
            pending += operands
    return False


def value_of(tensor: torch.Tensor) -> Any:
    """The `torch._C.Value` that a traced tensor is."""
    return torch._C._get_value_trace(tensor)  # type: ignore[attr-defined]


def follows_sizes(tensor: torch.Tensor) -> bool:
    """Whether values of a traced tensor are computed from sizes."""
    return bool(_sized(value_of(tensor)))


def _sizes_from(value: Any, node: Any) -> list[tuple[Any, bool]]:
    """What the sizes of a result of a node hang on: values, or the sizes of others."""
    kind, operands = node.kind(), inputs_of(node)
    if (kind in _BY_VALUE and not (kind in _UNIQUE and value.offset() == 1)) or (
        kind == "aten::where" and len(operands) == 1
    ):
        return [(operand, False) for operand in operands]
    if kind == "aten::index":
        return [(operands[0], True), *((index, not _is_mask(index)) for index in inputs_of(operands[1].node()))]
    return [(operand, _has_sizes(operand)) for operand in operands]


def _is_mask(index: Any) -> bool:
    return index.type().kind() == "TensorType" and index.type().dtype() in _MASKS


def _has_sizes(operand: Any) -> bool:
    """Whether a result takes its sizes from those of an operand; numbers among the operands are sizes themselves."""
    kind = operand.type().kind()
    if kind == "ListType":
        return operand.type().getElementType().kind() in ("TensorType", "OptionalType")
    return kind in ("TensorType", "TupleType", "OptionalType")
