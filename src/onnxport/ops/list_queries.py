"""What Python asks of lists of numbers: whether, where and how often they hold something; their order.

A list of known length whose numbers are known only at run time is asked as one of unknown length, by a vector.
"""

from __future__ import annotations

from typing import Any

import torch

from ..dims import Dim, Size
from ..errors import LoweringError
from ..lower import listing
from ..lower.evaluator import Evaluator
from ..lower.storage import Cell
from ..lower.values import ListOf, Scalar, Sequence, Tensor
from ..program import Node
from .lists import as_sequence, content, list_special, put
from .scalar_logic import compare
from .scalars import number_of
from .sort import arranged

_NUMBERS = ("int", "float", "bool")


def _overloads(*names: str, kinds: tuple[str, ...] = (*_NUMBERS, "str")) -> list[str]:
    return [f"aten::{name}{kind}" for name in names for kind in kinds]


def _is_known(values: Any) -> bool:
    return not isinstance(values, Sequence) and not any(isinstance(x, (Dim, Scalar)) for x in values)


def _vector(ev: Evaluator, held: Any) -> Tensor:
    """The numbers of a list as a tensor."""
    return listing.as_rows(ev.g, held if isinstance(held, Sequence) else as_sequence(ev, held))


def _matches(ev: Evaluator, held: Any, item: Any) -> Tensor:
    """Which elements equal an item."""
    vector = _vector(ev, held)
    wide = torch.float64 if vector.dtype == torch.bool or isinstance(item, (float, Scalar)) else vector.dtype
    return ev.g.equal(ev.g.cast(vector, wide), ev.g.scalar(item, wide))


@list_special(*_overloads("any.", "all."))
def quantify(ev: Evaluator, node: Node, self: Any) -> Any:
    """any.bool(bool[] self) -> bool"""
    held = ev.resolved(content(self))
    is_any = node.op.startswith("aten::any")
    if _is_known(held):
        return any(held) if is_any else all(held)
    truths = ev.g.cast(_vector(ev, held), torch.bool)
    return number_of(ev.g, ev.g.any(truths, [0]) if is_any else ev.g.all(truths, [0]))


@list_special(*_overloads("__contains__.", kinds=("int_list", "float_list")))
def contains(ev: Evaluator, node: Node, l: Any, item: Any) -> Any:
    """__contains__.int_list(int[] l, int item) -> bool"""
    held = ev.resolved(content(l))
    if isinstance(held, Sequence):
        return number_of(ev.g, ev.g.any(_matches(ev, held, item), [0]))
    answers = [compare(ev.g, "eq", x, item) for x in held]
    if any(answer is True for answer in answers):
        return True
    unsure = [answer for answer in answers if isinstance(answer, Scalar)]
    if len(unsure) == 1:
        return unsure[0]
    return bool(unsure) and number_of(ev.g, ev.g.any(_matches(ev, held, item), [0]))


@list_special(*_overloads("count."))
def count(ev: Evaluator, node: Node, self: Any, el: Any) -> Size:
    """count.int(int[] self, int el) -> int"""
    held = ev.resolved(content(self))
    if _is_known(held) and _is_known([el]):
        return int(held.count(el))
    return ev.g.int_of(ev.g.reduce("ReduceSum", ev.g.cast(_matches(ev, held, el), torch.int64), [0], False), minimum=0)


@list_special(*_overloads("index.list_"))
def index(ev: Evaluator, node: Node, self: Any, el: Any) -> Size:
    """index.list_int(int[] self, int el) -> int; it is in the list"""
    held = ev.resolved(content(self))
    if _is_known(held) and _is_known([el]):
        if el not in held:
            raise LoweringError(f"{el!r} is not in the list")
        return int(held.index(el))
    return _place(ev, held, el)


def _place(ev: Evaluator, held: Any, item: Any) -> Size:
    """Where an item comes first."""
    found = ev.g.cast(_matches(ev, held, item), torch.int32)
    return ev.g.int_of(ev.g.op("ArgMax", found, axis=0, keepdims=0), "place", minimum=0)


@list_special(*_overloads("remove."))
def remove(ev: Evaluator, node: Node, self: Any, el: Any) -> None:
    """remove.int(int[](a!) self, int el) -> ()"""
    held = ev.resolved(content(self))
    if _is_known(held) and _is_known([el]):
        return put(ev, self, [x for i, x in enumerate(held) if i != held.index(el)])
    whole = held if isinstance(held, Sequence) else as_sequence(ev, held)
    return put(ev, self, listing.erase(ev.g, whole, _place(ev, whole, el)))


def _ordered(ev: Evaluator, values: Any, descending: bool) -> Any:
    """The numbers in order: a list of the same kind."""
    held = ev.resolved(content(values))
    if _is_known(held):
        return sorted(held, reverse=descending)
    whole = held if isinstance(held, Sequence) else as_sequence(ev, held)
    if whole.kind is Tensor or isinstance(whole.kind, ListOf):
        raise LoweringError("a list of tensors or lists is put in order; stack it and use torch.sort")
    stored = torch.int64 if whole.dtype == torch.bool else whole.dtype
    rows = ev.g.cast(arranged(ev.g, ev.g.cast(listing.as_rows(ev.g, whole), stored), 0, descending)[0], whole.dtype)
    made = Sequence(whole.kind, whole.dtype, (), rows=rows)
    if isinstance(held, Sequence):
        return made
    return [listing.get(ev.g, made, i) for i in range(len(held))]


@list_special(*_overloads("sorted."))
def sorted_(ev: Evaluator, node: Node, input: Any) -> Any:
    """sorted.int(int[](a) input) -> int[]"""
    made = _ordered(ev, input, False)
    return Cell(made, ev.depth) if ev.mutates else made


@list_special(*_overloads("sort."))
def sort(ev: Evaluator, node: Node, self: Any, reverse: Any = False) -> None:
    """sort.int(int[](a!) self, bool reverse=False) -> ()"""
    put(ev, self, _ordered(ev, self, reverse))


@list_special(*_overloads("eq.", "ne.", kinds=("int_list", "float_list", "bool_list", "str_list")))
def equal(ev: Evaluator, node: Node, a: Any, b: Any) -> Any:
    """eq.int_list(int[] a, int[] b) -> bool"""
    left, right = ev.resolved(content(a)), ev.resolved(content(b))
    name = node.op[6:8]
    if not isinstance(left, Sequence) and not isinstance(right, Sequence):
        return compare(ev.g, name, list(left), list(right))
    g = ev.g
    x, y = _vector(ev, left), _vector(ev, right)
    shared = g.extremum("Min", g.size(x.shape[0]), g.size(y.shape[0]))
    n = g.int_of(shared, minimum=0)
    same = g.all(g.equal(g.slice(x, [0], [n], [0]), g.slice(y, [0], [n], [0])), [0])
    both = g.and_(same, g.equal(g.size(x.shape[0]), g.size(y.shape[0])))
    return number_of(g, both if name == "eq" else g.not_(both))
