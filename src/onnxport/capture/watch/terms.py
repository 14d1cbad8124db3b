"""What a value of a trace is, as far as it is arithmetic on sizes: values that are the same at all sizes have one term."""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable, Mapping
from typing import Any

import torch

from ...dims import Dim, Size, evaluate, free_symbols
from ..graph import inputs_of, outputs_of, writes
from ..tracing.traced_sizes import FUNCTIONS

# Operators whose result is a number for numbers, the same one each time. `turns.py` has to compute each of them.
ARITHMETIC = frozenset(
    f"aten::{name}"
    for name in ("Bool", "Float", "Int", "ScalarImplicit", "__and__", "__or__", "__xor__", "__not__", "__lshift__", "__rshift__",
                 "abs", "add", "div", "eq", "floor_divide", "ge", "gt", "item", "le", "lt", "mul", "ne", "neg", "pow",
                 "remainder", "round", "rsub", "sub", "to", *FUNCTIONS)
)  # fmt: skip
_SAME = frozenset(
    {"prim::NumToTensor", "aten::Int", "aten::ScalarImplicit", "aten::item", "aten::detach", "aten::alias"}
)
# Of a difference with 0.
COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    f"aten::{compare.__name__}": compare
    for compare in (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge)
}
_ON_SIZES: dict[str, Callable[[Size, Size], Size]] = {
    "aten::mul": operator.mul,
    "aten::floor_divide": operator.floordiv,
    "aten::remainder": operator.mod,
}
# What may give its argument, or a view of it.
_VIEWS = frozenset(
    f"aten::{name}"
    for name in ("alias", "detach", "to", "contiguous", "view", "reshape", "expand", "select", "unsqueeze", "squeeze")
)
# Of two sizes and the factor of the second that torch's sums have; `rsub` is the other way round.
_SUMS: dict[str, Callable[[Size, Size, Size], Size]] = {
    "aten::add": lambda a, b, factor: a + b * factor,
    "aten::sub": lambda a, b, factor: a - b * factor,
    "aten::rsub": lambda a, b, factor: b - a * factor,
}


class Terms:
    """The terms of the values of one graph.

    Args:
        size_of: gives the expression of labels that a node takes out of the sizes of a tensor; None if it doesn't, or that
            isn't known.
    """

    def __init__(self, size_of: Callable[[Any], Size | None]) -> None:
        self._size_of = size_of
        self._terms: dict[str, Hashable] = {}

    def of(self, value: Any) -> Hashable:
        """What a value is: an int, an expression of labels, or another term."""
        pending = [value]
        while pending:
            at = pending[-1]
            name, node = at.debugName(), at.node()
            if name in self._terms:
                pending.pop()
                continue
            term = self._leaf(node)
            if term is None and (node.kind() not in ARITHMETIC | _SAME or is_written(at)):
                term = _Unknown(name)
            if term is None:
                operands = inputs_of(node)
                missing = [x for x in operands if x.debugName() not in self._terms]
                if missing:
                    pending += missing
                    continue
                term = _combined(node.kind(), [self._terms[x.debugName()] for x in operands])
            self._terms[name] = term
        return self._terms[value.debugName()]

    def _leaf(self, node: Any) -> Hashable:
        if node.kind() == "prim::Constant":
            output = node.output()
            constant = output.toIValue()
            if isinstance(constant, torch.Tensor):
                if constant.dim():
                    return _Unknown(output.debugName())
                integral = not (constant.is_floating_point() or constant.is_complex()) and constant.element_size() == 8
                return constant.item() if integral else (str(constant.dtype), repr(constant.item()))
            return constant if constant.__class__ is int else (constant.__class__.__name__, repr(constant))
        return self._size_of(node)


class _Unknown(str):
    """A value of which nothing is known but its name."""


def is_fixed(term: Hashable) -> bool:
    """Whether something is the same at all sizes."""
    if isinstance(term, tuple):
        return all(map(is_fixed, term))
    return not isinstance(term, Dim | _Unknown)


def is_known(term: Hashable) -> bool:
    """Whether something is computed from expressions of labels and constants."""
    return all(map(is_known, term)) if isinstance(term, tuple) else not isinstance(term, _Unknown)


def labels_of(term: Hashable) -> set[str]:
    """The labels of sizes in something."""
    if isinstance(term, tuple):
        return set().union(*map(labels_of, term))
    return set(free_symbols(term)) if isinstance(term, Dim) else set()


def calculated(term: Hashable) -> Callable[[Mapping[str, int]], int] | None:
    """What calculates an int or a bool for sizes of the labels; None for what isn't as simple as a comparison of sizes."""
    if isinstance(term, Dim):
        size = term
        return lambda sizes: evaluate(size, sizes)
    if isinstance(term, tuple) and len(term) == 2 and term[0] in COMPARISONS and isinstance(term[1], Dim):
        compare, difference = COMPARISONS[term[0]], term[1]
        return lambda sizes: compare(evaluate(difference, sizes), 0)
    return None


def is_written(value: Any) -> bool:
    """Whether a node writes to a value, or to what may be a view of it."""
    users = [use.user for use in value.uses()]
    if writes(value.node()) or any(map(writes, users)):
        return True
    return any(is_written(output) for user in users if user.kind() in _VIEWS for output in outputs_of(user))


def _combined(kind: str, terms: list[Hashable]) -> Hashable:
    sizes = [term for term in terms if isinstance(term, int | Dim) and term.__class__ is not bool]
    if kind in _SAME and sizes:
        return sizes[0]
    if len(sizes) == len(terms):
        if kind in _SUMS and len(sizes) == 3:
            return _SUMS[kind](*sizes)
        if len(sizes) == 2 and kind in COMPARISONS:
            return (kind, sizes[0] - sizes[1])
        if len(sizes) == 2 and kind in _ON_SIZES and not (kind != "aten::mul" and sizes[1] == 0):
            return _ON_SIZES[kind](sizes[0], sizes[1])
    return (kind, *terms)
