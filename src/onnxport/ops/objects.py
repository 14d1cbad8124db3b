"""What TorchScript asks of values: types, None, enums; and what it says: prints."""

from __future__ import annotations

from typing import Any

import torch

from ..dims import Dim, Size
from ..errors import LoweringError, warn
from ..lower.builder import Builder
from ..lower.control_flow.merge import number_kind
from ..lower.evaluator import Evaluator
from ..lower.registry import evaluation, lowering
from ..lower.storage import Cell, Ref
from ..lower.values import UNINITIALIZED, Kind, ListOf, Maybe, Number, Scalar, Sequence, Tensor, Unclear
from ..program import Node
from .lists import content, list_special
from .scalar_logic import both, not_, or_


@list_special("prim::data", "prim::unchecked_cast", "prim::unchecked_unwrap_optional", "aten::_unwrap_optional")
def unchecked_cast(ev: Evaluator, node: Node, x: Any) -> Any:
    """unchecked_cast(t x) -> t; `x.data` is the same tensor, gradients aside"""
    if x is None and node.op == "aten::_unwrap_optional":
        raise LoweringError("the model unwraps an Optional that is None here")
    return x.value if isinstance(x, Maybe) else x


@list_special("aten::__is__", "aten::__isnot__")
def is_(ev: Evaluator, node: Node, self: Any, obj: Any) -> Any:
    """__is__(t1 self, t2 obj) -> bool"""
    negated = node.op == "aten::__isnot__"
    for value, other in ((self, obj), (obj, self)):
        if isinstance(value, Maybe) and other is None:
            present = ev.facts.refined(value.present)
            return present if negated else not_(ev.g, present)
    same = _is_one(ev, self, obj)
    return not_(ev.g, same) if negated else same


def _is_one(ev: Evaluator, a: Any, b: Any) -> Number:
    """Whether two values are one at run time."""
    if a is b:
        return True
    if a is None or b is None or isinstance(a, (Tensor, Ref)) != isinstance(b, (Tensor, Ref)):
        return False
    if not isinstance(a, Ref) or not isinstance(b, Ref):
        if not any(isinstance(x, (Cell, Dim, Maybe, Ref, Scalar, Sequence, Tensor)) for x in (a, b)):
            return type(a) is type(b) and bool(a == b)
        raise LoweringError("`is` is followed between tensors, and with None; compare what you mean")
    if any(isinstance(r, Ref) and r.root is y.root for x, y in ((a, b), (b, a)) for r in x.root.rivals):
        raise LoweringError(
            "it isn't known at export whether `is` compares a tensor with itself; compare what you mean"
        )
    if not a.links and not b.links:
        return False
    either, other = (a, b) if a.links else (b, a)
    found: Number = False
    for link in either.links:
        found = or_(ev.g, found, both(ev.g, Scalar(link.condition, bool), _is_one(ev, link.target, other)))
    return found


@list_special("prim::Uninitialized")
def uninitialized(ev: Evaluator, node: Node) -> Any:
    """Uninitialized() -> t"""
    return UNINITIALIZED


@list_special(
    "profiler::_record_function_enter",
    "profiler::_record_function_enter_new",
    "profiler::_record_function_exit",
    "profiler::_record_function_exit._RecordFunction",
)
def record_function(ev: Evaluator, node: Node, *_: Any) -> None:
    """_record_function_enter_new(str name, str? args=None) -> _RecordFunction; of a profiler, computes nothing"""


@evaluation("aten::set_.source_Tensor")
def set_(ev: Evaluator, node: Node) -> None:
    """set_.source_Tensor(Tensor(a!) self, Tensor source) -> Tensor(a!): from here on it is the other tensor"""
    target, source = (ev.operand(x) for x in node.inputs)
    assert isinstance(target, Ref)
    assert isinstance(source, Ref)
    ev.rename(target, source)
    ev.bind(node, [source])


@list_special("prim::Print")
def print_(ev: Evaluator, node: Node, *values: Any) -> None:
    """Print(...) -> ()"""
    warn(f"the print at {node.location} is not part of the exported model")


@list_special("aten::warn")
def warn_(ev: Evaluator, node: Node, *_: Any) -> None:
    """warn(str message, int stacklevel=2) -> (); computes nothing"""


@list_special("prim::EnumName", "prim::EnumValue")
def enum_(ev: Evaluator, node: Node, member: Any) -> Any:
    """EnumValue(AnyEnumType enum) -> t"""
    return member.name if node.op == "prim::EnumName" else member.value


_ISINSTANCE = {"int": int, "float": float, "bool": bool}


@list_special("prim::isinstance")
def isinstance_(ev: Evaluator, node: Node, value: Any) -> Any:
    """isinstance[types](Any x) -> bool"""
    if isinstance(value, Unclear):
        raise LoweringError(value.reason)
    types = [t.annotation_str for t in node.attributes["types"]]
    if isinstance(value, Maybe):
        plain = any(_matches(value.value, t) for t in types)
        if plain == ("NoneType" in types):
            return plain
        present = ev.facts.refined(value.present)
        return present if plain else not_(ev.g, present)
    return any(_matches(value, t) for t in types)


def _matches(value: Any, type: str) -> bool:
    if type == "NoneType":
        return value is None
    if type == "Tensor":
        return isinstance(value, (Tensor, Ref))
    if type == "str":
        return isinstance(value, str)
    if type in _ISINSTANCE:
        return number_kind(value) is _ISINSTANCE[type]
    held = content(value) if isinstance(value, Cell) else value
    if type in ("list", "tuple"):
        return isinstance(held, (list, Sequence) if type == "list" else tuple)
    if isinstance(held, Sequence):
        return type == f"List[{'Tensor' if held.kind is Tensor else held.kind.__name__}]"
    if isinstance(held, list):
        inner = type.removeprefix("List[").removesuffix("]")
        return type.startswith("List[") and all(_matches(x, inner) for x in held)
    if isinstance(held, tuple):
        return type.startswith("Tuple[")
    return isinstance(held, dict) and type.startswith("Dict[")


@lowering("prim::tolist")
def tolist(g: Builder, data: Tensor, dim: int = 0, ty: int = 0) -> Any:
    """tolist(Tensor data, int dim, int type) -> nested list of numbers"""
    kind = bool if data.dtype == torch.bool else float if data.is_float else int
    if data.rank == 0:
        return _number(g, kind, data)
    count = data.shape[0]
    if isinstance(count, Dim):
        dtype = torch.float64 if kind is float else torch.int64 if kind is int else torch.bool
        element: Kind = kind
        for _ in range(data.rank - 1):
            element = ListOf(element)
        return Sequence(element, dtype, data.shape[1:], rows=g.cast(data, dtype))
    return [tolist(g, g.gather(data, i, 0)) for i in range(count)]


def _number(g: Builder, kind: type, element: Tensor) -> Size | Scalar | float:
    if kind is int:
        return g.int_of(element)
    if element.is_constant and element.data is not None:
        return kind(element.data.item())  # type: ignore[no-any-return]
    return Scalar(element, kind)
