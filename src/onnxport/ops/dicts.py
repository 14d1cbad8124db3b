"""Dicts and objects: by identity, with writes. Which keys there are is known at export, not which one is asked for."""

from __future__ import annotations

from typing import Any

import torch

from ..dims import Dim
from ..errors import LoweringError
from ..lower.evaluator import Evaluator
from ..lower.storage import Cell, Ref
from ..lower.values import UNINITIALIZED, Maybe, Scalar, Tensor, describe
from ..program import Node
from .lists import content, element, list_special, listed, put
from .scalars import number_of


def _key(ev: Evaluator, key: Any) -> Any:
    key = ev.resolved(key)
    if not isinstance(key, (str, bool, int, float)):
        raise LoweringError(f"the dict key {describe(key)} is known only at run time; use a constant key, or a list")
    return key


def _get(held: dict[Any, Any], key: Any) -> Any:
    if key not in held:
        raise LoweringError(f"the dict has no key {key!r}; it has {', '.join(map(repr, held)) or 'none'}")
    return held[key]


@list_special("prim::DictConstruct")
def dict_construct(ev: Evaluator, node: Node, *flat: Any) -> Any:
    """DictConstruct(...) -> Dict(k, v), keys and values in turn"""
    made = {_key(ev, k): listed(v) for k, v in zip(flat[::2], flat[1::2])}
    return Cell(made, ev.depth) if ev.mutates else made


@list_special("aten::dict")
def dict_(ev: Evaluator, node: Node, inputs: Any = ()) -> Any:
    """dict.str((str, tVal)[] inputs) -> Dict(str, tVal)"""
    held = content(inputs)
    made = dict(held) if isinstance(held, dict) else {_key(ev, k): listed(v) for k, v in map(content, held)}
    return Cell(made, ev.depth) if ev.mutates else made


# -- keys known only at run time, among those that the dict has ------------------------------------------


def _is_unknown(ev: Evaluator, key: Any) -> bool:
    return isinstance(ev.resolved(key), (Dim, Scalar))


def _matches(ev: Evaluator, held: dict[Any, Any], key: Any) -> Tensor:
    """Which of the keys is asked for."""
    dtype = torch.int64 if isinstance(key, Dim) else torch.float64
    return ev.g.equal(ev.g.const(list(held), dtype), ev.g.scalar(key, dtype))


def _is_present(ev: Evaluator, held: dict[Any, Any], key: Any) -> Any:
    if not held:
        return False
    return ev.facts.refined(number_of(ev.g, ev.g.any(_matches(ev, held, key), [0])))


def _place(ev: Evaluator, held: dict[Any, Any], key: Any) -> Tensor:
    return ev.g.op("ArgMax", ev.g.cast(_matches(ev, held, key), torch.int32), axis=0, keepdims=0)


def _take(ev: Evaluator, self: Any, key: Any) -> Any:
    """The value of a key that is there, or PyTorch raises."""
    held = content(self)
    present = _is_present(ev, held, key)
    if present is False:
        raise LoweringError("the dict has no keys, but one is asked for")
    if isinstance(present, Scalar):
        ev.facts = ev.facts.behind(ev.g, present, True)
    place = ev.g.int_of(_place(ev, held, key), "place", minimum=0)
    return element(ev, list(held.values()), place, (self, key))


def _take_or(ev: Evaluator, self: Any, key: Any, default: Any) -> Any:
    """The value of a key, or the default."""
    present = _is_present(ev, content(self), key)
    if not isinstance(present, Scalar):
        return _take(ev, self, key) if present else default
    values = list(content(self).values())
    if default is None:
        place = ev.g.int_of(_place(ev, content(self), key), "place", minimum=0)
        return Maybe(present, element(ev, values, place, (self, key)))
    either = ev.g.where(present.tensor, _place(ev, content(self), key), ev.g.size(len(values)))
    return element(ev, [*values, default], ev.g.int_of(either, "place", minimum=0), (self, None))


def _replace(ev: Evaluator, self: Any, key: Any, value: Any) -> dict[Any, Any]:
    """The dict with another value at a key that is there."""
    held = content(self)
    if _is_present(ev, held, key) is not True:
        raise LoweringError(
            "a dict gets a value for a key known only at run time, which may be a new key; "
            "ask before, as in `if key in d: d[key] = value`"
        )
    made, matches = {}, _matches(ev, held, key)
    for i, (k, old) in enumerate(held.items()):
        other = ev.g.cast(ev.g.gather(matches, i, 0), torch.int64)
        made[k] = element(ev, [old, value], ev.g.int_of(other, "chosen", minimum=0), (self, None))
    return made


# -- reading ------------------------------------------------------------------------------------------


@list_special(*[f"aten::__getitem__.Dict_{k}" for k in ("str", "int", "bool", "float")])
def getitem(ev: Evaluator, node: Node, self: Any, key: Any) -> Any:
    """__getitem__.Dict_str(Dict(str, t) self, str key) -> t(*)"""
    return _take(ev, self, key) if _is_unknown(ev, key) else _get(content(self), _key(ev, key))


@list_special(*[f"aten::get.{d}{k}" for d in ("", "default_") for k in ("str", "int", "bool", "float")])
def get(ev: Evaluator, node: Node, self: Any, key: Any, default: Any = None) -> Any:
    """get.default_str(Dict(str, t) self, str key, t default_value) -> t(*)"""
    return _take_or(ev, self, key, default) if _is_unknown(ev, key) else content(self).get(_key(ev, key), default)


@list_special(*[f"aten::__contains__.{k}" for k in ("str", "int", "bool", "float")])
def contains(ev: Evaluator, node: Node, dict: Any, key: Any) -> Any:
    """__contains__.str(Dict(str, t) dict, str key) -> bool"""
    return _is_present(ev, content(dict), key) if _is_unknown(ev, key) else _key(ev, key) in content(dict)


@list_special(*[f"aten::len.Dict_{k}" for k in ("str", "int", "bool", "float")])
def length(ev: Evaluator, node: Node, self: Any) -> int:
    """len.Dict_str(Dict(str, t) self) -> int"""
    return len(content(self))


@list_special("aten::keys", "aten::values", "aten::items")
def entries(ev: Evaluator, node: Node, self: Any) -> Any:
    """keys.str(Dict(str, t) self) -> str[](*)"""
    held = content(self)
    kind = node.op.partition(".")[0]
    made = list(held if kind == "aten::keys" else held.values() if kind == "aten::values" else held.items())
    return Cell(made, ev.depth) if ev.mutates else made


@list_special(*[f"aten::_set_item.{k}" for k in ("str", "int", "bool", "float")])
def set_item(ev: Evaluator, node: Node, l: Any, idx: Any, v: Any) -> None:
    """_set_item.str(Dict(str, t)(a!) l, str(b -> *) idx, t(c -> *) v) -> ()"""
    if isinstance(v, Ref) and v.place is not None and v.place[0] is l and v.place[1] == idx:
        v.place = None  # `d[k] += 1`: what was written in place is put back
    elif _is_unknown(ev, idx):
        put(ev, l, _replace(ev, l, idx, listed(v)))
    else:
        put(ev, l, {**content(l), _key(ev, idx): listed(v)})


@list_special(*[f"aten::setdefault.{k}" for k in ("str", "int", "bool", "float")])
def setdefault(ev: Evaluator, node: Node, self: Any, key: Any, default_value: Any) -> Any:
    """setdefault.str(Dict(str, t)(a!) self, str(b -> *) key, t(c -> *) default_value) -> t(*)"""
    held, key = content(self), _key(ev, key)
    if key not in held:
        put(ev, self, {**held, key: listed(default_value)})
    return held.get(key, default_value)


@list_special(*[f"aten::pop.Dict_{d}{k}" for d in ("", "default_") for k in ("str", "int", "bool", "float")])
def pop(ev: Evaluator, node: Node, self: Any, key: Any, default_value: Any = UNINITIALIZED) -> Any:
    """pop.Dict_default_str(Dict(str, t)(a!) self, str key, t default_value) -> t(*)"""
    held, key = content(self), _key(ev, key)
    value = held.get(key, default_value)
    if value is UNINITIALIZED:
        return _get(held, key)
    put(ev, self, {k: v for k, v in held.items() if k != key})
    return value


@list_special(*[f"aten::Delete.Dict_{k}" for k in ("str", "int", "bool", "float")])
def delete(ev: Evaluator, node: Node, self: Any, key: Any) -> None:
    """Delete.Dict_str(Dict(str, t)(a!) self, str key) -> ()"""
    pop(ev, node, self, key)


@list_special("aten::update")
def update(ev: Evaluator, node: Node, self: Any, to_add: Any) -> None:
    """update.str(Dict(str, t)(a!) self, Dict(str, t)(a!) to_add) -> ()"""
    put(ev, self, {**content(self), **content(to_add)})


@list_special(*[f"aten::clear.{k}" for k in ("str", "int", "bool", "float")])
def clear(ev: Evaluator, node: Node, self: Any) -> None:
    """clear.str(Dict(str, t)(a!) self) -> ()"""
    put(ev, self, {})


@list_special(*[f"aten::copy.Dict_{k}" for k in ("str", "int", "bool", "float")])
def copy(ev: Evaluator, node: Node, self: Any) -> Any:
    """copy.Dict_str(Dict(str, t)(a) self) -> Dict(str, t)"""
    made = dict(content(self))
    return Cell(made, ev.depth) if ev.mutates else made


@list_special(*[f"aten::popitem.{k}" for k in ("str", "int", "bool", "float")])
def popitem(ev: Evaluator, node: Node, self: Any) -> Any:
    """popitem.str(Dict(str, t)(a!) self) -> ((str, t)); TorchScript takes the first, unlike Python"""
    held = content(self)
    if not held:
        raise LoweringError("popitem() of an empty dict")
    key = next(iter(held))
    value = held[key]
    put(ev, self, {k: v for k, v in held.items() if k != key})
    return key, value


# -- objects ------------------------------------------------------------------------------------------


@list_special("prim::CreateObject")
def create_object(ev: Evaluator, node: Node) -> Cell:
    """CreateObject() -> an object without attributes"""
    return Cell({}, ev.depth)


@list_special("prim::GetAttr")
def get_attr(ev: Evaluator, node: Node, *owner: Any) -> Any:
    """GetAttr[name](object) -> the attribute; of the model itself if there is no object"""
    if not owner:
        ev.read_state.add(node.attributes["name"])
    held = content(owner[0] if owner else ev.state)
    return _get(held, node.attributes["name"])


@list_special("prim::SetAttr")
def set_attr(ev: Evaluator, node: Node, *arguments: Any) -> None:
    """SetAttr[name](object, value); of the model itself if there is no object"""
    owner = ev.state if node.attributes.get("state") else arguments[0]
    if owner is ev.state:
        name = node.attributes["name"]
        if ev.depth == 0 and name not in ev.read_state:
            ev.set_first.add(name)
        ev.written_state.append(name)
    put(ev, owner, {**content(owner), node.attributes["name"]: listed(arguments[-1])})
