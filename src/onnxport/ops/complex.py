"""Complex tensors, by their real and imaginary parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from ..dims import Size
from ..dtypes import from_scalar_type, real_of
from ..errors import LoweringError
from ..lower.builder import Builder
from ..lower.complex import as_pair, both, join, of_pair, split
from ..lower.promotion import result_type
from ..lower.registry import Lowering, complex_lowering, find, lowering
from ..lower.values import Tensor

# -- making and reading ---------------------------------------------------------------------------


@lowering("aten::view_as_complex")
def view_as_complex(g: Builder, self: Tensor) -> Tensor:
    """view_as_complex(Tensor(a) self) -> Tensor(a)"""
    return of_pair(g, self)


@complex_lowering("aten::view_as_real")
def view_as_real(g: Builder, self: Tensor) -> Tensor:
    """view_as_real(Tensor(a) self) -> Tensor(a)"""
    return as_pair(g, self)


@lowering("aten::complex")
def complex_(g: Builder, real: Tensor, imag: Tensor) -> Tensor:
    """complex(Tensor real, Tensor imag) -> Tensor"""
    return _joined(g, real, imag)


@lowering("aten::polar")
def polar(g: Builder, abs: Tensor, angle: Tensor) -> Tensor:
    """polar(Tensor abs, Tensor angle) -> Tensor"""
    return _joined(g, g.mul(abs, g.cos(angle)), g.mul(abs, g.sin(angle)))


def _joined(g: Builder, real: Tensor, imag: Tensor) -> Tensor:
    """Parts that may have to be broadcast to one another."""
    if real.dims != imag.dims:
        zero = g.const(0, real.dtype)
        ones = g.mul(real, zero), g.mul(imag, zero)
        real, imag = g.add(real, ones[1]), g.add(imag, ones[0])
    return join(g, real, imag)


@complex_lowering("aten::real")
def real(g: Builder, self: Tensor) -> Tensor:
    """real(Tensor(a) self) -> Tensor(a)"""
    return both(g, self)[0]


@complex_lowering("aten::imag")
def imag(g: Builder, self: Tensor) -> Tensor:
    """imag(Tensor(a) self) -> Tensor(a)"""
    return both(g, self)[1]


@complex_lowering("aten::conj", "aten::_conj", "aten::conj_physical", "aten::_conj_physical")
def conj(g: Builder, self: Tensor) -> Tensor:
    """conj(Tensor(a) self) -> Tensor(a)"""
    a, b = both(g, self)
    return join(g, a, g.neg(b))


@complex_lowering(
    "aten::resolve_conj", "aten::resolve_neg", "aten::clone", "aten::contiguous", "aten::detach", "aten::alias"
)
def same(g: Builder, self: Tensor, *rest: Any) -> Tensor:
    """resolve_conj(Tensor(a) self) -> Tensor(a)"""
    return self


@complex_lowering("aten::abs", "aten::absolute")
def abs_(g: Builder, self: Tensor) -> Tensor:
    """abs(Tensor self) -> Tensor"""
    a, b = both(g, self)
    return g.sqrt(g.add(g.mul(a, a), g.mul(b, b)))


@complex_lowering("aten::angle")
def angle(g: Builder, self: Tensor) -> Tensor:
    """angle(Tensor self) -> Tensor"""
    lower = find("aten::atan2")
    assert lower is not None
    a, b = both(g, self)
    made: Tensor = lower(g, b, a)
    return made


@complex_lowering("aten::to.dtype", "aten::to.other", "aten::to.dtype_layout", "aten::_to_copy", "aten::type_as")
def to(g: Builder, self: Any, like: Any = None, *_: Any) -> Tensor:
    """to.dtype(Tensor(a) self, ScalarType dtype, ...) -> Tensor(a)"""
    target = self.dtype if like is None else like.dtype if isinstance(like, Tensor) else from_scalar_type(like)
    if target.is_complex:
        return join(g, *[g.cast(x, real_of(target)) for x in both(g, self)])
    return g.cast(both(g, self)[0], target)  # the imaginary part is dropped, as PyTorch does


@complex_lowering("aten::to.device")
def to_device(g: Builder, self: Any, device: Any, dtype: int, *_: Any) -> Tensor:
    """to.device(Tensor(a) self, Device device, ScalarType dtype, ...) -> Tensor(a)"""
    return to(g, self, dtype)


@lowering("aten::real", "aten::conj_physical", "aten::_conj_physical")
def same_real(g: Builder, self: Tensor) -> Tensor:
    """real(Tensor(a) self) -> Tensor(a), of a tensor that is real already"""
    return self


@lowering("aten::angle")
def angle_of_real(g: Builder, self: Tensor) -> Tensor:
    """angle(Tensor self) -> Tensor, of a tensor that isn't complex: 0, or pi where it is negative"""
    x = self if self.is_float else g.cast(self, torch.get_default_dtype())
    turned = g.where(g.less(x, 0.0), g.const(np.pi, x.dtype), g.const(0, x.dtype))
    return g.where(g.isnan(x), x, turned) if self.is_float else turned


# -- arithmetic -----------------------------------------------------------------------------------


def _operands(g: Builder, *operands: Any) -> list[tuple[Tensor, Tensor | None]]:
    """Parts of operands, in the type that PyTorch computes them in."""
    dtype = result_type(*operands)
    cast = []
    for x in operands:
        a, b = split(g, x, dtype)
        cast.append((g.cast(a, real_of(dtype)), None if b is None else g.cast(b, real_of(dtype))))
    return cast


def _sum(g: Builder, self: Any, other: Any, alpha: Any, op: str) -> Tensor:
    (a, b), (c, d) = _operands(g, self, other)
    if alpha != 1:
        if isinstance(alpha, complex):
            raise LoweringError("a complex alpha; multiply the operand instead")
        c, d = g.mul(c, alpha), None if d is None else g.mul(d, alpha)
    combine = g.add if op == "Add" else g.sub
    if d is None:
        assert b is not None
        return _joined(g, combine(a, c), b)
    if b is None:
        return _joined(g, combine(a, c), d if op == "Add" else g.neg(d))
    return join(g, combine(a, c), combine(b, d))


@complex_lowering("aten::add")
def add(g: Builder, self: Any, other: Any, alpha: Any = 1) -> Tensor:
    """add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"""
    return _sum(g, self, other, alpha, "Add")


@complex_lowering("aten::sub", "aten::subtract")
def sub(g: Builder, self: Any, other: Any, alpha: Any = 1) -> Tensor:
    """sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"""
    return _sum(g, self, other, alpha, "Sub")


@complex_lowering("aten::rsub")
def rsub(g: Builder, self: Any, other: Any, alpha: Any = 1) -> Tensor:
    """rsub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"""
    if alpha != 1:
        raise LoweringError("rsub of complex tensors with alpha; write the subtraction out")
    return _sum(g, other, self, 1, "Sub")


def _product(g: Builder, self: Any, other: Any, times: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    """(a + bi)(c + di) for a bilinear operation."""
    (a, b), (c, d) = _operands(g, self, other)
    if d is None:
        assert b is not None
        return join(g, times(a, c), times(b, c))
    if b is None:
        return join(g, times(a, c), times(a, d))
    return join(g, g.sub(times(a, c), times(b, d)), g.add(times(a, d), times(b, c)))


@complex_lowering("aten::mul", "aten::multiply")
def mul(g: Builder, self: Any, other: Any) -> Tensor:
    """mul.Tensor(Tensor self, Tensor other) -> Tensor"""
    return _product(g, self, other, g.mul)


@complex_lowering("aten::matmul", "aten::mm", "aten::bmm", "aten::mv", "aten::dot", "aten::linalg_matmul")
def matmul(g: Builder, self: Tensor, other: Tensor) -> Tensor:
    """matmul(Tensor self, Tensor other) -> Tensor"""
    return _product(g, self, other, g.matmul)


@complex_lowering("aten::copy")
def copy(g: Builder, self: Tensor, src: Tensor, non_blocking: bool = False) -> Tensor:
    """copy(Tensor self, Tensor src, bool non_blocking=False) -> Tensor"""
    if not self.is_complex:
        raise LoweringError("writes complex numbers to a real tensor; take their real part")
    kind = real_of(self.dtype)
    return join(g, *(g.expand(g.cast(part, kind), self.shape) for part in both(g, src, self.dtype)))


@complex_lowering("aten::fill", "aten::fill.Tensor")
def fill(g: Builder, self: Tensor, value: Any) -> Tensor:
    """fill.Tensor(Tensor self, Tensor value) -> Tensor"""
    return copy(g, self, value)


@complex_lowering("aten::einsum")
def einsum(g: Builder, equation: str, tensors: list[Tensor], path: list[int] | None = None) -> Tensor:
    """einsum(str equation, Tensor[] tensors, *, int[]? path=None) -> Tensor"""
    lower = find("aten::einsum")
    assert lower is not None
    if len(tensors) > 2:
        raise LoweringError("einsum of more than two complex tensors; contract two at a time")
    parts = [both(g, x) for x in tensors]
    if len(parts) == 1:
        return join(g, *(lower(g, equation, [part]) for part in parts[0]))
    (a, b), (c, d) = parts
    ac, bd, ad, bc = (lower(g, equation, list(pair)) for pair in ((a, c), (b, d), (a, d), (b, c)))
    return join(g, g.sub(ac, bd), g.add(ad, bc))


@complex_lowering("aten::div", "aten::divide", "aten::true_divide")
def div(g: Builder, self: Any, other: Any) -> Tensor:
    """div.Tensor(Tensor self, Tensor other) -> Tensor"""
    (a, b), (c, d) = _operands(g, self, other)
    if d is None:
        assert b is not None
        return join(g, g.div(a, c), g.div(b, c))
    size = g.add(g.mul(c, c), g.mul(d, d))
    if b is None:
        return join(g, g.div(g.mul(a, c), size), g.div(g.neg(g.mul(a, d)), size))
    up, across = g.add(g.mul(a, c), g.mul(b, d)), g.sub(g.mul(b, c), g.mul(a, d))
    return join(g, g.div(up, size), g.div(across, size))


@complex_lowering("aten::reciprocal")
def reciprocal(g: Builder, self: Tensor) -> Tensor:
    """reciprocal(Tensor self) -> Tensor"""
    return div(g, 1.0, self)


@complex_lowering("aten::square")
def square(g: Builder, self: Tensor) -> Tensor:
    """square(Tensor self) -> Tensor"""
    return mul(g, self, self)


@complex_lowering("aten::exp")
def exp(g: Builder, self: Tensor) -> Tensor:
    """exp(Tensor self) -> Tensor"""
    a, b = both(g, self)
    size = g.exp(a)
    return join(g, g.mul(size, g.cos(b)), g.mul(size, g.sin(b)))


@complex_lowering("aten::log")
def log(g: Builder, self: Tensor) -> Tensor:
    """log(Tensor self) -> Tensor"""
    return join(g, g.log(abs_(g, self)), angle(g, self))


@complex_lowering("aten::pow.Tensor_Scalar")
def pow_(g: Builder, self: Tensor, exponent: Any) -> Tensor:
    """pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor"""
    if not isinstance(exponent, int) or not 1 <= exponent <= 8:
        raise LoweringError("a complex tensor to a power other than a small whole number; use exp and log")
    result = self
    for _ in range(exponent - 1):
        result = mul(g, result, self)
    return result


@complex_lowering("aten::sgn")
def sgn(g: Builder, self: Tensor) -> Tensor:
    """sgn(Tensor self) -> Tensor"""
    size = abs_(g, self)
    size = g.add(size, g.cast(g.equal(size, 0.0), size.dtype))  # zero stays zero
    return join(g, *[g.div(part, size) for part in both(g, self)])


def _both_equal(g: Builder, self: Any, other: Any) -> Tensor:
    (a, b), (c, d) = (
        (g.cast(x, real_of(result_type(self, other))) for x in both(g, v, result_type(self, other)))
        for v in (self, other)
    )
    return g.and_(g.equal(a, c), g.equal(b, d))


@complex_lowering("aten::eq")
def eq(g: Builder, self: Any, other: Any) -> Tensor:
    """eq.Tensor(Tensor self, Tensor other) -> Tensor"""
    return _both_equal(g, self, other)


@complex_lowering("aten::ne")
def ne(g: Builder, self: Any, other: Any) -> Tensor:
    """ne.Tensor(Tensor self, Tensor other) -> Tensor"""
    return g.not_(_both_equal(g, self, other))


# -- what treats both parts alike -----------------------------------------------------------------


def _on_parts(name: str) -> Lowering:
    """The op on the real and on the imaginary parts."""

    def lower(g: Builder, *arguments: Any) -> Any:
        overload = g.origin.op.partition(".")[2]
        plain = find(f"{name}.{overload}" if overload else name)
        if plain is None:
            raise LoweringError(f"{name} has no conversion")
        results = [plain(g, *[_part(g, x, i) for x in arguments]) for i in (0, 1)]
        return _rejoined(g, *results)

    lower.__doc__ = f"{name.removeprefix('aten::')} of complex tensors"
    return lower


def _part(g: Builder, value: Any, i: int) -> Any:
    if isinstance(value, Tensor) and value.is_complex:
        return both(g, value)[i]
    if isinstance(value, (list, tuple)) and any(isinstance(x, Tensor) and x.is_complex for x in value):
        return [x if x is None else both(g, x)[i] for x in value]
    return value


def _rejoined(g: Builder, real: Any, imag: Any) -> Any:
    if isinstance(real, Tensor):
        return join(g, real, imag)
    if isinstance(real, (list, tuple)):
        return type(real)(_rejoined(g, a, b) for a, b in zip(real, imag))
    return real


_LINEAR = [
    "neg",
    "sum",
    "mean",
    "cumsum",
    "diff",
    "trace",
    "permute",
    "transpose",
    "t",
    "reshape",
    "view",
    "_unsafe_view",
    "view_as",
    "flatten",
    "unflatten",
    "squeeze",
    "unsqueeze",
    "expand",
    "expand_as",
    "repeat",
    "tile",
    "slice",
    "select",
    "narrow",
    "index",
    "index_select",
    "gather",
    "take_along_dim",
    "masked_select",
    "cat",
    "concat",
    "concatenate",
    "stack",
    "hstack",
    "vstack",
    "dstack",
    "split",
    "split_with_sizes",
    "chunk",
    "unsafe_chunk",
    "unsafe_split",
    "unbind",
    "tensor_split",
    "flip",
    "roll",
    "movedim",
    "swapaxes",
    "swapdims",
    "moveaxis",
    "diagonal",
    "diag",
    "diag_embed",
    "tril",
    "triu",
    "broadcast_to",
    "pixel_shuffle",
    "repeat_interleave",
    "rot90",
    "T",
    "mT",
    "unfold",
    "numpy_T",
    "select_copy",
    "atleast_1d",
    "atleast_2d",
    "fliplr",
    "flipud",
    "size",
    "dim",
    "numel",
    "is_complex",
    "is_floating_point",
    "len",
    "zeros_like",
    "new_zeros",
    "ravel",
    "positive",
    "broadcast_tensors",
    "block_diag",
    "column_stack",
    "atleast_3d",
    "expand_copy",
    "diagonal_copy",
    "diagonal_scatter",
    "alias_copy",
    "permute_copy",
    "meshgrid",
    "as_strided",
    "as_strided_copy",
    "as_strided_scatter",
    "narrow_copy",
    "view_copy",
    "reshape_as",
    "split_with_sizes_copy",
    "hsplit",
    "vsplit",
    "dsplit",
    "index_copy",
    "index_add",
    "put",
    "take",
    "scatter_add",
    "unbind_copy",
    "unfold_copy",
    "squeeze_copy",
    "unsqueeze_copy",
    "transpose_copy",
    "t_copy",
    "zero",
    "diagflat",
    "linalg_diagonal",
    "sum_to_size",
    "_chunk_cat",
    "pixel_unshuffle",
    "channel_shuffle",
    "im2col",
    "masked_scatter",
    "cartesian_prod",
    "combinations",
    "reflection_pad1d",
    "reflection_pad2d",
    "reflection_pad3d",
    "replication_pad1d",
    "replication_pad2d",
    "replication_pad3d",
]
for _name in _LINEAR:
    complex_lowering(f"aten::{_name}")(_on_parts(f"aten::{_name}"))


@complex_lowering("aten::constant_pad_nd")
def constant_pad_nd(g: Builder, self: Tensor, pad: list[Size], value: Any = 0) -> Tensor:
    """constant_pad_nd(Tensor self, SymInt[] pad, Scalar value=0) -> Tensor"""
    lower = find("aten::constant_pad_nd")
    assert lower is not None
    fills = (value.real, value.imag) if isinstance(value, complex) else (value, 0)
    return join(g, *[lower(g, x, pad, fill) for x, fill in zip(both(g, self), fills)])


@complex_lowering("aten::pad")
def pad(g: Builder, self: Tensor, pad: list[Size], mode: str = "constant", value: Any = None) -> Tensor:
    """pad(Tensor self, SymInt[] pad, str mode="constant", float? value=None) -> Tensor"""
    lower = find("aten::pad")
    assert lower is not None
    return join(g, *[lower(g, x, pad, mode, fill) for x, fill in zip(both(g, self), (value, None))])


@complex_lowering("aten::masked_fill")
def masked_fill(g: Builder, self: Tensor, mask: Tensor, value: Any) -> Tensor:
    """masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor"""
    fills = [g.cast(x, real_of(self.dtype)) for x in both(g, value, self.dtype)]
    return join(g, *[g.where(mask, fill, x) for fill, x in zip(fills, both(g, self))])


@complex_lowering("aten::where.self", "aten::where")
def where(g: Builder, condition: Tensor, self: Any, other: Any) -> Tensor:
    """where.self(Tensor condition, Tensor self, Tensor other) -> Tensor"""
    dtype = result_type(self, other)
    ab, cd = ([g.cast(x, real_of(dtype)) for x in both(g, v, dtype)] for v in (self, other))
    return join(g, *[g.where(condition, p, q) for p, q in zip(ab, cd)])


@complex_lowering("aten::isnan")
def isnan(g: Builder, self: Tensor) -> Tensor:
    """isnan(Tensor self) -> Tensor"""
    a, b = both(g, self)
    return g.or_(g.isnan(a), g.isnan(b))


@lowering("aten::chalf")
def chalf(g: Builder, self: Tensor, memory_format: int | None = None) -> Tensor:
    """chalf(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor"""
    return g.cast(self, torch.complex32)


def _made(name: str) -> Any:
    """The lowering for real tensors: of its argument, it looks at sizes and dtype alone."""

    def lower(g: Builder, *arguments: Any) -> Any:
        function = find(name)
        assert function is not None
        return function(g, *arguments)

    return lower


for _name in ("ones_like", "full_like", "empty_like", "new_ones", "new_full", "new_empty"):
    complex_lowering(f"aten::{_name}")(_made(f"aten::{_name}"))
