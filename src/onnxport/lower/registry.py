"""Which function lowers which operator.

A lowering is registered under the operator's name with or without overload: `aten::add.Tensor` is looked for
before `aten::add`. Names of one family live in one file of `ops/`; importing that package fills the registry.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

Lowering = Callable[..., Any]
_F = TypeVar("_F", bound=Lowering)

_LOWERINGS: dict[str, Lowering] = {}
_COMPLEX: dict[str, Lowering] = {}
_ALIKE: set[str] = set()  # operators whose lowering holds for complex tensors too
_SEQUENCE: dict[str, Lowering] = {}
_QUANTIZED: dict[str, Lowering] = {}


def lowering(*names: str) -> Callable[[_F], _F]:
    """Register `function(g, *arguments)` for the operators named.

    It is called with a `Builder` and the operator's arguments in the order of its schema, already
    evaluated: numbers are Python numbers (or `Dim`, `Scalar`), lists are lists, tensors are `Tensor`s.
    It returns a tensor, or a tuple of them as the schema says.
    """
    return _register(_LOWERINGS, names)


def out_lowering(*names: str, outs: int = 1) -> Callable[[_F], _F]:
    """Register also for overloads with `out=`, whose names don't tell the form; the last `outs` arguments are left out.

    Only needed where the plain name stands for another form of the operator.
    """

    def add(function: _F) -> _F:
        def lower(g: Any, *args: Any) -> Any:
            return function(g, *args[:-outs])

        _register(_LOWERINGS, names)(lower)
        return function

    return add


def complex_lowering(*names: str) -> Callable[[_F], _F]:
    """Register what is called instead of the `lowering` when an argument is a complex tensor."""
    return _register(_COMPLEX, names)


def holds_for_complex(*names: str) -> None:
    """The `lowering` of these, in all overloads, is right for complex tensors too: see `lower.pairs`."""
    for name in names:
        if name in _ALIKE:
            raise ValueError(f"{name} is named twice")
        _ALIKE.add(name)


def quantized_lowering(*names: str) -> Callable[[_F], _F]:
    """Register what is called instead of the `lowering` when an argument is a quantized tensor."""
    return _register(_QUANTIZED, names)


def sequence_lowering(*names: str) -> Callable[[_F], _F]:
    """Register what is called instead of the `lowering` when an argument is a list of unknown length."""
    return _register(_SEQUENCE, names)


def _register(table: dict[str, Lowering], names: tuple[str, ...]) -> Callable[[_F], _F]:
    def add(function: _F) -> _F:
        for name in names:
            if name in table:
                raise ValueError(f"{name} is registered twice")
            table[name] = function
        return function

    return add


def find(name: str) -> Lowering | None:
    """The lowering of `ns::op.overload`, or else of `ns::op`."""
    return _LOWERINGS.get(name) or _LOWERINGS.get(name.partition(".")[0])


def find_complex(name: str) -> Lowering | None:
    """Likewise, for complex arguments."""
    base = name.partition(".")[0]
    return _COMPLEX.get(name) or _COMPLEX.get(base) or (find(name) if base in _ALIKE else None)


def find_quantized(name: str) -> Lowering | None:
    """Likewise, for quantized tensors."""
    return _QUANTIZED.get(name) or _QUANTIZED.get(name.partition(".")[0])


def find_sequence(name: str) -> Lowering | None:
    """Likewise, for lists of unknown length; the usual lowering if there is no other."""
    return _SEQUENCE.get(name) or _SEQUENCE.get(name.partition(".")[0]) or find(name)


def names() -> frozenset[str]:
    """All names that have a lowering."""
    return frozenset(_LOWERINGS)


def is_registered(name: str) -> bool:
    """Whether this very name has a lowering."""
    return name in _LOWERINGS
