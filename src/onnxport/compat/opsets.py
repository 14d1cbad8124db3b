"""`symbolic_opset9` ... as views of the registry: `symbolic_opset11.relu(g, x)` is the conversion of `aten::relu`.

There are no files of these names: the modules are made when they are imported (`_opset_modules`). The opset that counts is
that of the export, whatever the number in the name: one lowering serves all opsets.
"""

from __future__ import annotations

import types
from collections.abc import Sequence
from typing import Any

from ..capture.types import schemas
from ..errors import UnsupportedOperatorError
from ..lower import evaluator, registry
from ..lower.values import Tensor
from ..program import Node, Schema, Value
from . import registration
from .graph import Graph, packed
from .value import content_of, is_parameter, torch_tensor

OLDEST = 7


def call(g: Graph, name: str, *args: Any, **kwargs: Any) -> Any:
    """Convert the operator `aten::name` here, as if the model had called it: values in, values out."""
    if name == "select" and len(args) == 3 and _is_list_of_places(content_of(args[2])):
        name = "index_select"  # what a Gather makes of it, which keeps the axis: symbolic functions rely on that
    schema = _overload(name, args, kwargs)
    arguments = _bound(
        schema, [packed(content_of(a)) for a in args], {k: packed(content_of(v)) for k, v in kwargs.items()}
    )
    contents = [_as_asked(g, a, spec.type) for a, spec in zip(arguments, schema.arguments)]
    node = Node(schema.full_name, list(contents), [Value("", r.type) for r in schema.returns], schema=schema)
    lower = registration.resolve(node, g.builder) or evaluator.builtin(node, contents)
    if lower is None:
        raise UnsupportedOperatorError(f"{schema.full_name} has no conversion to ONNX opset {g.opset}")
    result = lower(g.builder, *contents)
    if isinstance(result, list):
        return [g.wrap(r) for r in result]
    return tuple(g.wrap(r) for r in result) if isinstance(result, tuple) else g.wrap(result)


def _is_list_of_places(content: Any) -> bool:
    return isinstance(content, Tensor) and content.dims is not None and content.rank == 1


def _as_asked(g: Graph, argument: Any, type: str) -> Any:
    """A Python number given for a tensor as one; a tensor given for numbers, such as a Constant of `g.op`, as these."""
    if isinstance(argument, (bool, int, float)):
        return g.tensor(argument) if type.startswith("Tensor") and not type.endswith("[]") else argument
    if not isinstance(argument, Tensor) or type.startswith("Tensor"):
        return argument
    if argument.is_constant and not is_parameter(argument):
        numbers = torch_tensor(argument)
        return numbers.reshape(-1).tolist() if "[" in type else numbers.item() if numbers.numel() == 1 else argument
    if type.rstrip("?") in ("int", "SymInt") and not argument.dtype.is_floating_point and argument.dims in ((), (1,)):
        return g.builder.int_of(argument)
    if type.rstrip("?").endswith("Int[]") or type.rstrip("?") == "int[]":
        return _elements(g, argument)
    return argument


def _elements(g: Graph, sizes: Tensor) -> Any:
    """A vector of sizes as the list of them, if their number is known."""
    count = sizes.dims[0] if sizes.dims is not None and len(sizes.dims) == 1 else None
    if not isinstance(count, int) or sizes.dtype.is_floating_point:
        return sizes
    return [g.builder.int_of(g.builder.gather(sizes, i, 0)) for i in range(count)]


def _overload(name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Schema:
    """The overload that takes these arguments, among those that have a lowering."""
    found = [s for s in schemas(f"aten::{name}") if registry.find(s.full_name) or registration.registered(s.name, 99)]
    if not found:
        raise AttributeError(f"aten::{name} has no conversion")
    contents = [packed(content_of(a)) for a in args]
    for schema in found:
        if _fits(schema, contents, kwargs):
            return schema
    return next((s for s in found if len(s.arguments) >= len(args)), found[0])


def _fits(schema: Schema, contents: Sequence[Any], kwargs: dict[str, Any]) -> bool:
    specs = schema.arguments
    if len(contents) > len(specs) or not set(kwargs) <= {s.name for s in specs}:
        return False
    if any(a.writes for a in specs):
        return False
    needed = [s for s in specs[len(contents) :] if s.name not in kwargs and repr(s.default) == "<required>"]
    return not needed and all(_accepts(spec.type, content) for spec, content in zip(specs, contents))


def _accepts(type: str, content: Any) -> bool:
    if content is None:
        return type.endswith("?")
    if isinstance(content, (list, tuple)):
        return "[" in type
    if type.rstrip("?") in ("Tensor",):
        return not isinstance(content, (str, bool, int, float))
    if isinstance(content, str):
        return type.startswith("str")
    if isinstance(content, (bool, int, float)):
        return not type.startswith(("Tensor", "str")) and "[" not in type
    return type.rstrip("?") in ("Scalar", "int", "float", "SymInt", "bool")


def _bound(schema: Schema, args: list[Any], kwargs: dict[str, Any]) -> list[Any]:
    """All arguments of the schema; those not given have their defaults, or None."""
    rest = schema.arguments[len(args) :]
    defaults = [None if repr(s.default) == "<required>" else s.default for s in rest]
    return [*args, *(kwargs.get(s.name, d) for s, d in zip(rest, defaults))]


class OpsetModule(types.ModuleType):
    """A module whose functions are the operators that have a conversion."""

    def __init__(self, name: str) -> None:
        super().__init__(name, "Conversions of operators, as views of the registry.")
        self.__file__ = __file__

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or not any(op in _operators() for op in (name, f"{name}_")):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}: aten::{name} has no conversion")

        def symbolic(g: Graph, *args: Any, **kwargs: Any) -> Any:
            return call(g, name, *args, **kwargs)

        symbolic.__name__ = symbolic.__qualname__ = name
        symbolic.__module__ = self.__name__
        symbolic.__doc__ = f"The conversion of aten::{name}."
        setattr(self, name, symbolic)
        return symbolic

    def __dir__(self) -> list[str]:
        return sorted(_operators())


def _operators() -> set[str]:
    from .. import ops  # noqa: F401  (fills the registry)

    return {n.partition("::")[2].partition(".")[0] for n in registry.names() if n.startswith("aten::")}
