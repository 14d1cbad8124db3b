"""The way back through a view: what its base holds after the view was written.

Frequent views have an inverse of their own. Any other view is inverted by position: the same view of a
tensor of positions says which elements of the base the view shows, and these are scattered into it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from .. import dims as sizes
from ..dims import Size
from ..errors import LoweringError
from ..program import Node, Value
from .builder import Builder
from .complex import adjoint, as_pair, both, conjugate, join, of_pair
from .emit import INT64_MAX
from .storage import Cell, Ref, Step
from .values import Tensor

Inverse = Callable[..., Tensor]
_INVERSES: dict[str, Inverse] = {}

# Ops that return the argument itself where they have nothing to do, with no alias annotation to say so.
RETURNS_ARGUMENT = frozenset(
    f"aten::{name}"
    for name in (
        "dropout",
        "feature_dropout",
        "alpha_dropout",
        "type_as",
        "dropout_",
        "conj_physical",
        "feature_alpha_dropout",
    )
)
# Annotated as views, but copies unless there is nothing to do.
COPIES_UNLESS_SAME = frozenset(
    {"aten::to", "aten::contiguous", "aten::_to_copy", "aten::resolve_conj", "aten::resolve_neg"}
)
# Annotated as views, but copies where the memory can't be viewed that way.
COPIES_UNLESS_VIEWABLE = frozenset({"aten::reshape", "aten::flatten", "aten::reshape_as"})
_COPIES_UNLESS_CONTIGUOUS = frozenset({"aten::contiguous", "aten::ravel"})
# Views of their first argument, though their schemas don't say so.
UNANNOTATED = frozenset({"aten::atleast_1d", "aten::atleast_2d", "aten::atleast_3d"})
# Views that are the argument itself where there is nothing to do; any other is a tensor of its own, with its own sizes.
RETURNS_ITSELF = COPIES_UNLESS_SAME | {
    f"aten::{name}" for name in ("flatten", "atleast_1d", "atleast_2d", "atleast_3d", "positive", "real", "conj")
}
UNCHANGED = Step("aten::alias", lambda base: base, lambda base, new: new)
# They change no element, but what the tensor itself shows of its memory: it becomes a view of what it was.
IN_PLACE = frozenset(
    f"aten::{name}_" for name in ("unsqueeze", "squeeze", "t", "transpose", "swapaxes", "swapdims", "as_strided")
)
# After one of these the elements no longer lie in order.
_REORDERS = frozenset(
    {
        "aten::permute", "aten::transpose", "aten::t", "aten::expand", "aten::expand_as", "aten::movedim", "aten::moveaxis",
        "aten::swapaxes", "aten::swapdims", "aten::slice", "aten::select", "aten::narrow", "aten::diagonal", "aten::unfold",
        "aten::numpy_T", "aten::mT", "aten::adjoint", "aten::split", "aten::chunk", "aten::unbind", "aten::as_strided",
        "aten::split_with_sizes", "aten::tensor_split", "aten::broadcast_to", "aten::real", "aten::imag",
    }
)  # fmt: skip


# Results of these may lie in memory in another order than their arguments.
_PERMUTES_RESULT = ("einsum", "tensordot", "linalg", "attention", "qr", "svd", "fft", "lstm", "gru", "rnn", "conv")


def is_ordered(base: Ref) -> bool:
    """Whether the elements of a reference surely lie in memory in order."""
    return base.root.ordered and not any(step in _REORDERS for step in base.steps)


def keeps_order(name: str, arguments: list[Any]) -> bool:
    """Whether a fresh result of an op surely lies in memory in order: ops keep the strides of their arguments."""
    if any(part in name for part in _PERMUTES_RESULT):
        return False
    parts = [x for a in arguments for x in (a.content if isinstance(a, Cell) and isinstance(a.content, list) else [a])]
    return all(is_ordered(x) for x in parts if isinstance(x, Ref))


def shares(name: str, node: Node, base: Ref, position: int, same: bool) -> bool | None:
    """Whether the result of a view op is a view, not a copy; None if that isn't known.

    A trace has recorded the strides; otherwise what is known is where elements lie in order.
    """
    layout = _layout(node)
    if name in ("aten::resolve_conj", "aten::resolve_neg") and same:  # of what a conjugate shows, they are copies
        negated = base.tensor.is_complex if name == "aten::resolve_conj" else "aten::imag" in base.steps
        return not (negated and sum(step in _CONJUGATE for step in base.steps) % 2)
    if name in COPIES_UNLESS_SAME and name != "aten::contiguous" and not (same and layout):
        return same
    if layout is None and name not in COPIES_UNLESS_VIEWABLE and name not in _COPIES_UNLESS_CONTIGUOUS:
        return True
    if layout is None and name not in _COPIES_UNLESS_CONTIGUOUS and same:
        return True
    given, made = node.inputs[position], node.outputs[0].tensor_type
    recorded = given.tensor_type if isinstance(given, Value) else None
    if recorded is None or made is None or None in (recorded.sizes, recorded.strides, made.sizes):
        return True if is_ordered(base) and layout in _ORDERED else None
    sizes, strides, target = recorded.sizes, recorded.strides, made.sizes
    assert sizes is not None and strides is not None and target is not None
    if None in sizes or None in strides or None in target:
        return True if is_ordered(base) and layout in _ORDERED else None
    like = torch.empty_strided(sizes, strides, device="meta")  # type: ignore[arg-type]
    if name in COPIES_UNLESS_SAME and name != "aten::contiguous":  # only what lies otherwise is copied
        return None if made.strides is None else list(made.strides) == list(strides)
    if name in _COPIES_UNLESS_CONTIGUOUS:
        return like.is_contiguous(memory_format=layout or torch.contiguous_format)
    try:
        like.view(target)  # type: ignore[arg-type]
    except RuntimeError:
        return False
    return True


_ORDERED = (None, torch.contiguous_format)
_LAYOUTS = {0: torch.contiguous_format, 2: torch.channels_last, 3: torch.channels_last_3d}  # 1 is as it was


def _layout(node: Node) -> torch.memory_format | None:
    """The layout in memory that an op is asked for, if it is."""
    if node.schema is None or not node.schema.arguments or node.schema.arguments[-1].name != "memory_format":
        return None
    given = node.inputs[-1] if len(node.inputs) == len(node.schema.arguments) else None
    return _LAYOUTS.get(given) if given.__class__ is int else None  # type: ignore[arg-type]


def may_share_listed(name: str, arguments: list[Any]) -> bool:
    """Whether an op may give (a view of) the only tensor of the list that it is given."""
    if name == "aten::cartesian_prod":
        return len(arguments[0]) == 1
    if name != "aten::einsum" or len(arguments[1]) != 1:
        return False
    before, arrow, after = arguments[0].partition("->")  # without an arrow it is another order at most
    return not arrow or set(filter(str.isalpha, before)) == set(filter(str.isalpha, after))


def element(name: str, arguments: list[Any], index: Size) -> tuple[str, list[Any]] | None:
    """The view that is one of the views that an op gives: its op, and the arguments behind the base."""
    if name == "aten::unbind":
        return "aten::select.int", [*arguments[1:], index]
    if name == "aten::chunk":
        base, chunks, dim = arguments
        size = -(-base.shape[dim] // chunks)
        return "aten::slice.Tensor", [dim, index * size, (index + 1) * size]
    if name == "aten::split" and isinstance(arguments[1], (int, sizes.Dim)):
        size, dim = arguments[1:]
        return "aten::slice.Tensor", [dim, index * size, (index + 1) * size]
    return None


def step(
    g: Builder, name: str, lower: Callable[..., Any], arguments: list[Any], position: int, output: int | None
) -> Step:
    """The step that a view op takes from its `position`-th argument to its (`output`-th) result."""

    origin = g.origin

    def forward(base: Tensor) -> Tensor:
        before = g.origin
        g.origin = origin if name == "aten::as_strided" else before  # the node knows how its argument lies in memory
        try:
            result = lower(g, *arguments[:position], base, *arguments[position + 1 :])
        finally:
            g.origin = before
        view = result if output is None else result[output]
        assert isinstance(view, Tensor)
        return view

    rest = [*arguments[:position], *arguments[position + 1 :]]
    special = _INVERSES.get(name) if output is None else _INVERSES.get(f"{name}[]")

    def inverse(base: Tensor, new: Tensor) -> Tensor:
        if base.is_complex and new.is_complex and name not in _CONJUGATE:
            return join(g, *(inverse(a, b) for a, b in zip(both(g, base), both(g, new))))
        if special is not None:
            return special(g, base, new, *rest) if output is None else special(g, base, new, output, *rest)
        if _overlaps(name, rest):
            raise LoweringError("writes to a view whose elements share places (overlapping windows); clone() it first")
        return by_position(g, base, new, forward, name)

    return Step(name, forward, inverse, all(map(_is_static, rest)))


def _overlaps(name: str, rest: list[Any]) -> bool:
    """Whether several elements of a view may lie in one place."""
    if name == "aten::unfold":
        return sizes.known_le(rest[1], rest[2]) is not True
    if name != "aten::as_strided":
        return False
    if not _is_static(rest[:2]):
        return True
    places = np.zeros(1, np.int64)
    for length, stride in zip(*rest[:2]):
        places = np.add.outer(places, np.arange(length) * stride)
    return len(np.unique(places)) < places.size


def _is_static(argument: Any) -> bool:
    if isinstance(argument, (list, tuple)):
        return all(map(_is_static, argument))
    return argument is None or isinstance(argument, (bool, int, float, str))


def by_position(g: Builder, base: Tensor, new: Tensor, forward: Callable[[Tensor], Tensor], name: str) -> Tensor:
    """Scatter `new` to where the view's elements lie in the base."""
    if name in ("aten::expand", "aten::expand_as", "aten::broadcast_to") and base.dims != new.dims:
        raise LoweringError("writes to an expanded tensor: several elements share one place; clone() it first")
    if base.is_complex != new.is_complex:
        raise LoweringError(f"writes through a view of complex numbers ({name}); clone() the view first")
    count = base.numel
    positions = forward(g.reshape(g.range(0, count), base.shape))
    flat = g.reshape(base, [count])
    size = [new.numel]
    result = g.scatter_elements(flat, g.reshape(positions, size), g.reshape(new, size), 0)
    return g.reshape(result, base.shape)


def _inverse(*names: str) -> Callable[[Inverse], Inverse]:
    def add(function: Inverse) -> Inverse:
        for name in names:
            _INVERSES[name] = function
        return function

    return add


@_inverse(
    "aten::view", "aten::reshape", "aten::flatten", "aten::unflatten", "aten::squeeze", "aten::unsqueeze", "aten::view_as",
    "aten::reshape_as", "aten::_unsafe_view", "aten::alias", "aten::detach", "aten::to", "aten::contiguous", "aten::ravel",
    "aten::atleast_1d", "aten::positive", "prims::view_of_dtype",
)  # fmt: skip
def _reshape_back(g: Builder, base: Tensor, new: Tensor, *_: Any) -> Tensor:
    if base.dtype != new.dtype:
        raise LoweringError(f"writes through a view of {base.dtype} as {new.dtype}; clone() the view first")
    return g.reshape(new, base.shape)


@_inverse("aten::transpose", "aten::swapaxes", "aten::swapdims")
def _swap_back(g: Builder, base: Tensor, new: Tensor, a: int, b: int) -> Tensor:
    return g.swap(new, a % base.rank, b % base.rank) if base.rank else new


@_inverse("aten::numpy_T")
def _reverse_back(g: Builder, base: Tensor, new: Tensor) -> Tensor:
    return g.transpose(new, list(reversed(range(base.rank))))


@_inverse("aten::t", "aten::mT")
def _transpose_back(g: Builder, base: Tensor, new: Tensor) -> Tensor:
    return g.swap(new, base.rank - 2, base.rank - 1) if base.rank >= 2 else new


@_inverse("aten::permute")
def _permute_back(g: Builder, base: Tensor, new: Tensor, dims: list[int]) -> Tensor:
    perm = [0] * base.rank
    for i, d in enumerate(dims):
        perm[d % base.rank] = i
    return g.transpose(new, perm)


@_inverse("aten::select")
def _select_back(g: Builder, base: Tensor, new: Tensor, dim: int, index: Size) -> Tensor:
    dim %= base.rank
    return write_slice(g, base, g.unsqueeze(new, [dim]), dim, index, None if index == -1 else index + 1)


# These change imaginary parts: their inverses take complex tensors as a whole.
_CONJUGATE = frozenset({"aten::conj", "aten::_conj", "aten::mH", "aten::adjoint", "aten::matrix_H"})


@_inverse("aten::conj", "aten::_conj")
def _conj_back(g: Builder, base: Tensor, new: Tensor) -> Tensor:
    return conjugate(g, new)


@_inverse("aten::mH", "aten::adjoint", "aten::matrix_H")
def _adjoint_back(g: Builder, base: Tensor, new: Tensor) -> Tensor:
    return adjoint(g, new)


@_inverse("aten::real")
def _real_back(g: Builder, base: Tensor, new: Tensor) -> Tensor:
    return join(g, new, both(g, base)[1]) if base.is_complex else new


@_inverse("aten::imag")
def _imag_back(g: Builder, base: Tensor, new: Tensor) -> Tensor:
    return join(g, both(g, base)[0], new)


@_inverse("aten::view_as_real")
def _real_pair_back(g: Builder, base: Tensor, new: Tensor) -> Tensor:
    return of_pair(g, new)


@_inverse("aten::view_as_complex")
def _complex_back(g: Builder, base: Tensor, new: Tensor) -> Tensor:
    return as_pair(g, new)


@_inverse("aten::slice")
def _slice_back(
    g: Builder,
    base: Tensor,
    new: Tensor,
    dim: int = 0,
    start: Size | None = None,
    end: Size | None = None,
    step: Size = 1,
) -> Tensor:
    dim %= base.rank
    if step != 1:
        first, last = [0 if start is None else start], [INT64_MAX if end is None else end]

        def cut(t: Tensor) -> Tensor:
            if isinstance(step, int):
                return g.slice(t, first, last, [dim], [step])
            return g.op("Slice", t, first, last, [dim], [step])

        return by_position(g, base, new, cut, "")
    return write_slice(g, base, new, dim, 0 if start is None else start, end)


@_inverse("aten::narrow")
def _narrow_back(g: Builder, base: Tensor, new: Tensor, dim: int, start: Any, length: Size) -> Tensor:
    start = g.int_of(start) if isinstance(start, Tensor) else start
    end = start + length
    return write_slice(g, base, new, dim % base.rank, start, None if end == 0 != length else end)


@_inverse("aten::unbind[]")
def _unbind_back(g: Builder, base: Tensor, new: Tensor, output: int, dim: int = 0) -> Tensor:
    return _select_back(g, base, new, dim, output)


def write_slice(g: Builder, base: Tensor, new: Tensor, axis: int, start: Size, end: Size | None) -> Tensor:
    """`base` with `new` in place of `base[start:end]` along an axis; `new` has the length of that slice."""
    size = base.shape[axis]
    length = new.shape[axis]
    if length == size:
        return new
    begin = _from_front(start, size)
    stop = begin + length
    parts = []
    if begin != 0:
        parts.append(g.slice(base, [0], [begin], [axis]))
    parts.append(new)
    if stop != size and end is not None:
        parts.append(g.slice(base, [stop], [INT64_MAX], [axis]))
    result = g.concat(parts, axis)
    result.dims = base.dims
    return result


def _from_front(start: Size, size: Size) -> Size:
    """Where a slice begins; a start before the first element is the first."""
    negative = sizes.known_lt(start, 0)
    if negative is False:
        return start
    if negative:
        return sizes.maximum(size + start, 0)
    return sizes.maximum(start, -size) + size * sizes.maximum(sizes.minimum(-start, 1), 0)


__all__ = [
    "COPIES_UNLESS_SAME",
    "COPIES_UNLESS_VIEWABLE",
    "IN_PLACE",
    "RETURNS_ARGUMENT",
    "is_ordered",
    "keeps_order",
    "shares",
    "step",
    "write_slice",
]
