"""Which function lowers which operator.

A lowering is registered under the operator's name with or without overload: `aten::add.Tensor` is looked for
before `aten::add`. Names of one family live in one file of `ops/`; that package says which (`locate`), and a file
is imported when one of its operators is first asked for: most models need a tenth of them.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

Lowering = Callable[..., Any]
_F = TypeVar("_F", bound=Lowering)


class _Table(dict[str, Lowering]):
    """Functions by operator, and of those that aren't imported yet the module."""

    def __init__(self) -> None:
        super().__init__()
        self.modules: dict[str, str] = {}

    def find(self, name: str) -> Lowering | None:
        """The function for `ns::op.overload`, or else for `ns::op`."""
        return self._own(name) or self._own(name.partition(".")[0])

    def _own(self, name: str) -> Lowering | None:
        module = self.modules.get(name)
        if module is not None:
            importlib.import_module(module)  # another thread that is at it is waited for
            self.modules.pop(name, None)
        return self.get(name)


_LOWERINGS, _EVALUATIONS = _Table(), _Table()
_COMPLEX, _SEQUENCE, _QUANTIZED = _Table(), _Table(), _Table()
_ALIKE: set[str] = set()  # operators whose lowering holds for complex tensors too
_TABLES = {"lowerings": _LOWERINGS, "evaluations": _EVALUATIONS}
_lock = threading.RLock()
_RARE: list[str] = []  # modules that register for complex, quantized or listed arguments, until they are imported


def locate(modules: Mapping[str, Mapping[str, str]], rare: Iterable[str]) -> None:
    """Say which modules register which operators in which table, and which for complex, quantized or listed arguments."""
    for table, found in modules.items():
        _TABLES[table].modules.update(found)
    _RARE.extend(rare)


def _import_rare() -> None:
    if not _RARE:
        return
    with _lock:
        while _RARE:
            importlib.import_module(_RARE[-1])
            _RARE.pop()


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


def evaluation(*names: str) -> Callable[[_F], _F]:
    """Register `function(evaluator, node)` for nodes that need more than their arguments: blocks, containers by
    identity, attributes."""
    return _register(_EVALUATIONS, names)


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
    return _LOWERINGS.find(name)


def find_evaluation(name: str) -> Lowering | None:
    """What evaluates such a node itself, if something does."""
    return _EVALUATIONS.find(name)


def find_complex(name: str) -> Lowering | None:
    """Likewise, for complex arguments."""
    _import_rare()
    base = name.partition(".")[0]
    return _COMPLEX.find(name) or (find(name) if base in _ALIKE else None)


def find_quantized(name: str) -> Lowering | None:
    """Likewise, for quantized tensors."""
    _import_rare()
    return _QUANTIZED.find(name)


def find_sequence(name: str) -> Lowering | None:
    """Likewise, for lists of unknown length; the usual lowering if there is no other."""
    _import_rare()
    return _SEQUENCE.find(name) or find(name)


def names() -> frozenset[str]:
    """All names that have a lowering."""
    return frozenset(_LOWERINGS) | frozenset(_LOWERINGS.modules)


def is_registered(name: str) -> bool:
    """Whether this very name has a lowering."""
    return name in _LOWERINGS or name in _LOWERINGS.modules
