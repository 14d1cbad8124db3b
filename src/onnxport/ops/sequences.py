"""Lists, tuples and strings of Python, as far as they are never written to."""

from __future__ import annotations

from typing import Any

from .. import dims as sizes
from ..dims import Dim, Size
from ..errors import LoweringError
from ..lower.builder import Builder
from ..lower.registry import lowering
from ..lower.values import describe


def static_index(index: Size) -> int:
    if isinstance(index, Dim):
        raise LoweringError("a list indexed by an int known only at run time; stack() it and index the tensor")
    return index


@lowering("prim::ListConstruct")
def list_construct(g: Builder, *elements: Any) -> list[Any]:
    """ListConstruct(...) -> t[]"""
    return list(elements)


@lowering("prim::TupleConstruct")
def tuple_construct(g: Builder, *elements: Any) -> tuple[Any, ...]:
    """TupleConstruct(...) -> (...)"""
    return tuple(elements)


@lowering("prim::ListUnpack", "prim::TupleUnpack")
def unpack(g: Builder, elements: Any) -> Any:
    """ListUnpack(t[] elements) -> ..."""
    expected = len(g.origin.outputs)
    if len(elements) != expected:
        raise LoweringError(f"{len(elements)} elements are unpacked into {expected} names; make their numbers agree")
    return elements[0] if expected == 1 else tuple(elements)


@lowering("prim::TupleIndex")
def tuple_index(g: Builder, tup: Any, i: int) -> Any:
    """TupleIndex(Any tup, int i) -> Any"""
    return tup[i]


@lowering("aten::__getitem__.t")
def list_getitem(g: Builder, list: list[Any], idx: Size) -> Any:
    """__getitem__.t(t[] list, int idx) -> t"""
    return list[static_index(idx)]


@lowering("aten::len.t", "aten::len.any", "aten::len.str")
def len_(g: Builder, a: Any) -> int:
    """len.t(t[] a) -> int"""
    return len(a)


@lowering("aten::__getitem__.str")
def getitem(g: Builder, s: str, index: Size) -> str:
    """__getitem__.str(str s, int index) -> str"""
    return s[static_index(index)]


@lowering("aten::slice.str")
def slice_(g: Builder, string: str, start: int | None = None, end: int | None = None, step: int = 1) -> str:
    """slice.str(str string, int? start=None, int? end=None, int step=1) -> str"""
    return string[start:end:step]


@lowering("aten::__range_length")
def range_length(g: Builder, lo: Size, hi: Size, step: Size) -> Size:
    """__range_length(int lo, int hi, int step) -> int"""
    if isinstance(step, int):
        return sizes.maximum(-((lo - hi) // step) if step > 0 else (lo - hi - step - 1) // -step, 0)
    raise LoweringError("a range whose step is known only at run time; give a constant step")


@lowering("aten::__derive_index")
def derive_index(g: Builder, index: Size, start: Size, step: Size) -> Size:
    """__derive_index(int index, int start, int step) -> int"""
    return start + index * step


@lowering("aten::format")
def format_(g: Builder, self: str, *values: Any) -> str:
    """format(str self, ...) -> str"""
    return self.format(*[v if isinstance(v, (str, int, float)) else describe(v) for v in values])


@lowering("aten::str")
def str_(g: Builder, elem: Any) -> str:
    """str(t elem) -> str"""
    return elem if isinstance(elem, str) else describe(elem)
