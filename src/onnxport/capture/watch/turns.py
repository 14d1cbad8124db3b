"""The sizes from which on something is otherwise, found by computing it for very many sizes at once: `n % 1000 == 0`.

What is compared with a number, as in `n > 512`, needs none of this: it is found by doubling the size.
"""

from __future__ import annotations

import ast
import functools
import math
import operator
from collections.abc import Callable, Hashable, Mapping
from typing import Any

import torch

from ...dims import Dim, terms
from ...dtypes import from_scalar_type
from ..tracing.traced_sizes import FUNCTIONS
from .terms import COMPARISONS, labels_of

# So many sizes are looked at, and so many operators computed for that: in all, some milliseconds.
_SIZES, _OPERATORS = 1 << 15, 200
_MONOTONE = ("aten::lt", "aten::le", "aten::gt", "aten::ge")
_PYTHON: Mapping[str, Callable[..., Any]] = {
    "add": lambda a, b, alpha=1: a + b * alpha,
    "sub": lambda a, b, alpha=1: a - b * alpha,
    "rsub": lambda a, b, alpha=1: b - a * alpha,
    "mul": operator.mul,
    "floor_divide": operator.floordiv,
    "remainder": operator.mod,
    "pow": operator.pow,
    "neg": operator.neg,
    "abs": operator.abs,
    **{name: getattr(operator, name) for name in ("eq", "ne", "lt", "le", "gt", "ge")},
    **{f"__{name}__": getattr(operator, f"{name}_") for name in ("and", "or")},
    **{f"__{name}__": getattr(operator, name) for name in ("xor", "lshift", "rshift")},
    "__not__": lambda a: torch.logical_not(torch.as_tensor(a)),
    "div": lambda a, b, mode=None: torch.div(*map(torch.as_tensor, (a, b)), rounding_mode=mode),
    "round": lambda a, decimals=0: torch.round(torch.as_tensor(a), decimals=decimals),
}
_IDENTITIES = frozenset({"Int", "Float", "ScalarImplicit", "NumToTensor", "detach", "alias", "item"})


class Turns:
    """Of one label, the others being as in the example.

    What hangs on several labels and turns back again (`h * w == 196`, beside which mostly stands `h == w`) is only looked at
    up to `near`, where the model can be run.
    """

    def __init__(self, label: str, example: Mapping[str, int], near: int) -> None:
        self._near = near
        self._first = max(example[label], 1)
        self._sizes: Mapping[str, Any] = {**example, label: torch.arange(self._first, self._first + _SIZES)}
        self._known: dict[Hashable, Any] = {}

    def of(self, term: Hashable, kind: type | None) -> int | None:
        """The least size above the example's at which a number is another one; None if there is none, or no telling."""
        if len(self._known) > _OPERATORS or _is_found_by_doubling(term):
            return None
        try:
            numbers = self.at(term)
        except (TypeError, ValueError, KeyError, RuntimeError, ZeroDivisionError, OverflowError):
            return None
        if not isinstance(numbers, torch.Tensor) or numbers.shape != (_SIZES,):
            return None
        numbers = numbers.to(torch.bool) if kind is bool else numbers
        others = (numbers != numbers[0]).nonzero()
        if not len(others):
            return None
        turn = self._first + int(others[0])
        turns_back = self._first + _SIZES - turn > len(others)
        return None if turn > self._near and turns_back and len(labels_of(term)) > 1 else turn

    def at(self, term: Any) -> Any:
        """What a term is at each of the sizes; an error if there is no telling."""
        if term not in self._known:
            self._known[term] = self._computed(term)
        return self._known[term]

    def _computed(self, term: Any) -> Any:
        if isinstance(term, Dim):
            return sum(math.prod([c, *(self._of_atom(a) ** power for a, power in m)]) for c, m in terms(term))
        if not isinstance(term, tuple):
            if term.__class__ is int:
                return term
            raise TypeError(term)
        kind, *parts = term
        if "::" not in kind:
            return _constant(kind, *parts)
        name = kind.rpartition("::")[2]
        if kind in COMPARISONS and len(parts) == 1:  # of a difference with 0
            return COMPARISONS[kind](self.at(parts[0]), 0)
        if name == "to":
            numbers = [part for part in parts[1:] if part.__class__ is int]
            if not numbers:  # the type of another tensor
                raise TypeError(kind)
            return torch.as_tensor(self.at(parts[0])).to(from_scalar_type(numbers[0]))
        operands = [self.at(part) for part in parts]
        if name in _IDENTITIES:
            return operands[0]
        if name == "Bool":
            return operands[0] != 0
        if name in _PYTHON:
            return _PYTHON[name](*operands)
        if name in FUNCTIONS:
            return getattr(torch, name)(*_as_tensors(operands))
        raise TypeError(kind)

    def _of_atom(self, atom: Any) -> Any:
        if atom.kind == "symbol":
            return self._sizes[atom.name]
        return functools.reduce(_OF_SIZES[atom.kind], map(self.at, atom.args))


_OF_SIZES: Mapping[str, Callable[[Any, Any], Any]] = {
    "floordiv": operator.floordiv,
    "mod": operator.mod,
    "min": lambda a, b: torch.minimum(*map(torch.as_tensor, (a, b))),
    "max": lambda a, b: torch.maximum(*map(torch.as_tensor, (a, b))),
}


def _as_tensors(operands: list[Any]) -> list[Any]:
    return [torch.as_tensor(x) if isinstance(x, int | float) else x for x in operands]


def _constant(kind: str, text: str) -> Any:
    """A constant as terms have it: its type, and how it is written."""
    if kind == "NoneType":
        return None
    return ast.literal_eval(text) if kind in ("bool", "str") else float(text)


def _is_found_by_doubling(term: Any) -> bool:
    """Whether it is a comparison of a multiple of sizes with a number, or such a multiple, which turns no more than once, or
    everywhere."""
    if isinstance(term, tuple) and len(term) == 2 and term[0] in _MONOTONE:
        term = term[1]
    if not isinstance(term, Dim):
        return False
    products = [atoms for _, atoms in terms(term) if atoms]
    return all(len(atoms) == 1 and atoms[0][1] == 1 and atoms[0][0].kind == "symbol" for atoms in products)
