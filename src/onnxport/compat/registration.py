"""Symbolic functions of the user: which operator, from which opset on.

This registry and that of lowerings are the only state that outlives an export.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import re
import threading
from collections.abc import Callable, Iterator
from typing import Any

from ..errors import OnnxExporterError, warn
from ..lower import registry
from ..lower.builder import Builder
from ..lower.registry import Lowering
from ..options import newest_opset
from ..program import Node, Schema

Symbolic = Callable[..., Any]

_NAME = re.compile(r"^[A-Za-z_][\w.-]*::[A-Za-z_][\w.-]*$")
_lock = threading.Lock()
_REGISTERED: dict[str, dict[int, Symbolic]] = {}


def register_custom_op_symbolic(symbolic_name: str, symbolic_fn: Symbolic, opset_version: int) -> None:
    """Convert an operator by a function of one's own, from this opset on until a later registration.

    Args:
        symbolic_name: `namespace::operator`, such as `mylib::roi_align`; an `aten::` name (or `::operator`) overrides
            the conversion that is built in, for the in-place form of the operator too. What a package registers for an
            operator of its own is used where nothing is built in.
        symbolic_fn: `fn(g, *arguments)`, which adds nodes by `g.op(...)` and returns the results, or None if the operator can't
            be converted as it is used.
        opset_version: the first opset that it is for.
    """
    symbolic_name = _full_name(symbolic_name)
    if not callable(symbolic_fn):
        raise TypeError(f"symbolic_fn must be a function (g, *arguments), not {symbolic_fn!r}")
    _check_opset(opset_version)
    if opset_version > newest_opset():
        warn(f"a symbolic for opset {opset_version} is never used: the installed onnx goes to opset {newest_opset()}")
    with _lock:
        _REGISTERED.setdefault(symbolic_name, {})[opset_version] = symbolic_fn


def unregister_custom_op_symbolic(symbolic_name: str, opset_version: int) -> None:
    """Take back what `register_custom_op_symbolic` did for this name and opset: what was there before holds again."""
    symbolic_name = _full_name(symbolic_name)
    _check_opset(opset_version)
    with _lock:
        versions = _REGISTERED.get(symbolic_name, {})
        versions.pop(opset_version, None)
        if not versions:
            _REGISTERED.pop(symbolic_name, None)


def _full_name(name: Any) -> str:
    """`namespace::operator`; `::operator` is one of `aten`."""
    if isinstance(name, str) and name.startswith("::"):
        name = f"aten{name}"
    if not isinstance(name, str) or not _NAME.match(name):
        raise ValueError(f"symbolic_name must be 'namespace::operator', not {name!r}")
    if name.partition("::")[0] == "onnx":
        raise ValueError(f"{name!r} is an operator of ONNX itself; register the torch operator that becomes it")
    return name


def _check_opset(version: Any) -> None:
    if isinstance(version, bool) or not isinstance(version, int):
        raise TypeError(f"opset_version must be an int, not {version!r}")
    if version < 1:
        raise ValueError(f"opset_version must be at least 1, not {version}")


def registered(name: str, opset: int) -> Symbolic | None:
    """The user's function for `ns::op` at this opset."""
    versions = _REGISTERED.get(name)
    if not versions:
        return None
    usable = [version for version in versions if version <= opset]
    return versions[max(usable)] if usable else None


def is_empty() -> bool:
    return not _REGISTERED


def resolve(node: Node, g: Builder) -> Lowering | None:
    """The user's function for a node as a lowering: for its name with or without overload, or its name without
    writing (`aten::relu` for `aten::relu_`)."""
    for name in names(node):
        found = registered(name, g.opset)
        if found is not None and not _has_better(found, node):
            return symbolic_lowering(found, node)
    return None


def _has_better(function: Symbolic, node: Node) -> bool:
    """Whether a package registered this for an operator of its own, as some do when they are imported, and there is a
    conversion here: it holds at all opsets and for all arguments, and isn't what a user wanted changed."""
    package = (getattr(function, "__module__", None) or "").partition(".")[0]
    return package == node.op.partition("::")[0] and registry.find(node.op) is not None


def names(node: Node) -> list[str]:
    """The names that a registration for this node can have, the closest first."""
    base = node.op.partition(".")[0]
    found = [node.op, base]
    if node.schema is not None and node.schema.mutates and base.endswith("_") and not base.endswith("__"):
        found += [base[:-1]]
    return list(dict.fromkeys(found))


def symbolic_lowering(function: Symbolic, node: Node) -> Lowering:
    """A symbolic function as a lowering of this node."""

    def lower(builder: Builder, *arguments: Any) -> Any:
        from .graph import Graph  # what most exports do without

        graph = Graph(builder, node)
        values = [graph.wrap(argument) for argument in fitting(function, arguments, node.schema)]
        with translating(node):
            returned = function(graph, *values)
        return graph.results(returned, node)

    return lower


@contextlib.contextmanager
def translating(node: Node) -> Iterator[None]:
    """Say which operation it was where a symbolic function doesn't take the arguments, or does wrong with them."""
    try:
        yield
    except (AssertionError, AttributeError, LookupError, NotImplementedError, TypeError, ValueError) as error:
        if isinstance(error, OnnxExporterError) or type(error).__module__ != "builtins":
            raise
        name = node.attributes.get("name", node.op)
        reason = repr(error) if isinstance(error, KeyError) else str(error)
        raise type(error)(f"{reason}\n  (occurred when translating {name} at {node.location})") from error


def fitting(function: Symbolic, arguments: tuple[Any, ...], schema: Schema | None) -> tuple[Any, ...]:
    """The arguments without trailing ones that the function doesn't take, if they are at their defaults."""
    limit = _limit(function)
    if limit is None or schema is None or len(arguments) <= limit:
        return arguments
    rest = list(zip(arguments, schema.arguments))[limit:]
    if all(type(given) is type(spec.default) and given == spec.default for given, spec in rest):
        return arguments[:limit]
    return arguments


@functools.lru_cache(maxsize=1024)
def _limit(function: Symbolic) -> int | None:
    """How many arguments after `g` a function takes, None if any number or not known."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return None
    return sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters) - 1
