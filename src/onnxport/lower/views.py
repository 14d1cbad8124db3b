"""The way back through a view: what its base holds after the view was written.

Frequent views have an inverse of their own. Any other view is inverted by position: the same view of a
tensor of positions says which elements of the base the view shows, and these are scattered into it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

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
    {"aten::dropout", "aten::feature_dropout", "aten::alpha_dropout", "aten::type_as", "aten::dropout_"}
)
# Annotated as views, but copies unless there is nothing to do.
COPIES_UNLESS_SAME = frozenset(
    {"aten::to", "aten::contiguous", "aten::_to_copy", "aten::resolve_conj", "aten::resolve_neg"}
)
# Annotated as views, but copies where the memory can't be viewed that way.
COPIES_UNLESS_VIEWABLE = frozenset({"aten::reshape", "aten::flatten", "aten::reshape_as"})
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
    if name in COPIES_UNLESS_SAME and name != "aten::contiguous":
        return same
    if name not in COPIES_UNLESS_VIEWABLE and name != "aten::contiguous":
        return True
    if name != "aten::contiguous" and same:
        return True
    given, made = node.inputs[position], node.outputs[0].tensor_type
    recorded = given.tensor_type if isinstance(given, Value) else None
    if recorded is None or made is None or None in (recorded.sizes, recorded.strides, made.sizes):
        return True if is_ordered(base) else None
    sizes, strides, target = recorded.sizes, recorded.strides, made.sizes
    assert sizes is not None and strides is not None and target is not None
    if None in sizes or None in strides or None in target:
        return True if is_ordered(base) else None
    like = torch.empty_strided(sizes, strides, device="meta")  # type: ignore[arg-type]
    if name == "aten::contiguous":
        return like.is_contiguous()
    try:
        like.view(target)  # type: ignore[arg-type]
    except RuntimeError:
        return False
    return True


def element(name: str, arguments: list[Any], index: Size) -> tuple[str, list[Any]] | None:
    """The view that is one of the views that an op gives: its op, and the arguments behind the base."""
    if name == "aten::unbind":
        return "aten::select.int", [*arguments[1:], index]
    if name == "aten::split" and isinstance(arguments[1], (int, sizes.Dim)):
        size, dim = arguments[1:]
        return "aten::slice.Tensor", [dim, index * size, (index + 1) * size]
    return None


def step(
    g: Builder, name: str, lower: Callable[..., Any], arguments: list[Any], position: int, output: int | None
) -> Step:
    """The step that a view op takes from its `position`-th argument to its (`output`-th) result."""

    def forward(base: Tensor) -> Tensor:
        result = lower(g, *arguments[:position], base, *arguments[position + 1 :])
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
        return by_position(g, base, new, forward, name)

    return Step(name, forward, inverse, all(map(_is_static, rest)))


def _is_static(argument: Any) -> bool:
    if isinstance(argument, (list, tuple)):
        return all(map(_is_static, argument))
    return argument is None or isinstance(argument, (bool, int, float, str))


def by_position(g: Builder, base: Tensor, new: Tensor, forward: Callable[[Tensor], Tensor], name: str) -> Tensor:
    """Scatter `new` to where the view's elements lie in the base."""
    if name in ("aten::expand", "aten::expand_as", "aten::broadcast_to") and base.dims != new.dims:
        raise LoweringError("writes to an expanded tensor: several elements share one place; clone() it first")
    if base.is_complex or new.is_complex:
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
    "aten::atleast_1d", "aten::positive",
)  # fmt: skip
def _reshape_back(g: Builder, base: Tensor, new: Tensor, *_: Any) -> Tensor:
    if base.dtype != new.dtype:
        raise LoweringError(f"writes through a view of {base.dtype} as {new.dtype}; clone() the view first")
    return g.reshape(new, base.shape)


@_inverse("aten::transpose", "aten::swapaxes", "aten::swapdims")
def _swap_back(g: Builder, base: Tensor, new: Tensor, a: int, b: int) -> Tensor:
    return g.swap(new, a % base.rank, b % base.rank) if base.rank else new


@_inverse("aten::t", "aten::numpy_T", "aten::mT")
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
    step: int = 1,
) -> Tensor:
    dim %= base.rank
    if step != 1:
        return by_position(
            g, base, new, lambda t: g.slice(t, [start or 0], [INT64_MAX if end is None else end], [dim], [step]), ""
        )
    return write_slice(g, base, new, dim, 0 if start is None else start, end)


@_inverse("aten::narrow")
def _narrow_back(g: Builder, base: Tensor, new: Tensor, dim: int, start: Size, length: Size) -> Tensor:
    end = start + length
    return write_slice(g, base, new, dim % base.rank, start, None if end == 0 else end)


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
