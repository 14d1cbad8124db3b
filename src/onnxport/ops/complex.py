"""Complex tensors: what makes them, what reads them, and which lowerings hold for them as they are.

Most lowerings do: `lower.pairs` gives each ONNX operator that they use its meaning for pairs of reals. An operator that
is neither lowered here nor named in a list below is refused where a tensor is complex.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ..dims import broadcast_shapes
from ..dtypes import from_scalar_type, real_of
from ..errors import LoweringError
from ..lower.builder import Builder
from ..lower.complex import adjoint as adjoint_of
from ..lower.complex import as_pair, both, conjugate, join, of_pair
from ..lower.pairs import angle as angle_of
from ..lower.registry import complex_lowering, holds_for_complex, lowering
from ..lower.values import Tensor

# -- making and reading ---------------------------------------------------------------------------


@lowering("aten::view_as_complex", "aten::view_as_complex_copy")
def view_as_complex(g: Builder, self: Tensor) -> Tensor:
    """view_as_complex(Tensor(a) self) -> Tensor(a)"""
    return of_pair(g, self)


@complex_lowering("aten::view_as_real", "aten::view_as_real_copy")
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
    target = broadcast_shapes(real.shape, imag.shape)
    return join(g, *[x if x.dims == target else g.expand(x, target) for x in (real, imag)])


@complex_lowering("aten::real")
def real(g: Builder, self: Tensor) -> Tensor:
    """real(Tensor(a) self) -> Tensor(a)"""
    return both(g, self)[0]


@complex_lowering("aten::imag")
def imag(g: Builder, self: Tensor) -> Tensor:
    """imag(Tensor(a) self) -> Tensor(a)"""
    return both(g, self)[1]


@complex_lowering("aten::conj", "aten::_conj", "aten::conj_physical", "aten::_conj_physical", "aten::_conj_copy")
def conj(g: Builder, self: Tensor) -> Tensor:
    """conj(Tensor(a) self) -> Tensor(a)"""
    return conjugate(g, self)


@complex_lowering("aten::mH", "aten::adjoint", "aten::matrix_H")
def adjoint(g: Builder, self: Tensor) -> Tensor:
    """adjoint(Tensor(a) self) -> Tensor(a)"""
    return adjoint_of(g, self)


@complex_lowering(
    "aten::resolve_conj", "aten::resolve_neg", "aten::clone", "aten::contiguous", "aten::detach", "aten::alias"
)
def same(g: Builder, self: Tensor, *rest: Any) -> Tensor:
    """resolve_conj(Tensor(a) self) -> Tensor(a)"""
    return self


@complex_lowering("aten::angle")
def angle(g: Builder, self: Tensor) -> Tensor:
    """angle(Tensor self) -> Tensor"""
    a, b = both(g, self)
    return angle_of(g, b, a)


@complex_lowering("aten::to.dtype", "aten::to.other", "aten::to.dtype_layout", "aten::_to_copy", "aten::type_as")
def to(g: Builder, self: Any, like: Any = None, *rest: Any) -> Tensor:
    """to.dtype(Tensor(a) self, ScalarType dtype, ...) -> Tensor(a)"""
    target = self.dtype if like is None else like.dtype if isinstance(like, Tensor) else from_scalar_type(like)
    if target == self.dtype and not (len(rest) > 1 and rest[-2]):  # copy=True
        return self  # type: ignore[no-any-return]
    if target.is_complex:
        return join(g, *[g.cast(x, real_of(target)) for x in both(g, self)])
    return g.cast(both(g, self)[0], target)  # the imaginary part is dropped, as PyTorch does


@lowering("aten::chalf")
def chalf(g: Builder, self: Tensor, memory_format: int | None = None) -> Tensor:
    """chalf(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor"""
    return g.cast(self, torch.complex32)


@complex_lowering("aten::chalf")
def chalf_of_complex(g: Builder, self: Tensor, memory_format: int | None = None) -> Tensor:
    """chalf(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor"""
    return join(g, *[g.cast(x, torch.float16) for x in both(g, self)])


@complex_lowering("aten::to.device")
def to_device(g: Builder, self: Any, device: Any, dtype: int, *_: Any) -> Tensor:
    """to.device(Tensor(a) self, Device device, ScalarType dtype, ...) -> Tensor(a)"""
    return to(g, self, dtype)


@lowering("aten::real", "aten::conj", "aten::_conj", "aten::_conj_copy", "aten::conj_physical", "aten::_conj_physical")
def same_real(g: Builder, self: Tensor) -> Tensor:
    """real(Tensor(a) self) -> Tensor(a), of a tensor that is real already"""
    return self


@lowering("aten::angle")
def angle_of_real(g: Builder, self: Tensor) -> Tensor:
    """angle(Tensor self) -> Tensor, of a tensor that isn't complex: 0, or pi where it is negative"""
    x = self if self.is_float else g.cast(self, torch.get_default_dtype())
    turned = g.where(g.less(x, 0.0), g.const(np.pi, x.dtype), g.const(0, x.dtype))
    return g.where(g.isnan(x), x, turned) if self.is_float else turned


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


@complex_lowering("aten::isfinite")
def isfinite(g: Builder, self: Tensor) -> Tensor:
    """isfinite(Tensor self) -> Tensor"""
    return g.and_(*[g.less(g.abs(x), np.inf) for x in both(g, self)])


@complex_lowering("aten::isinf")
def isinf(g: Builder, self: Tensor) -> Tensor:
    """isinf(Tensor self) -> Tensor"""
    return g.or_(*[g.equal(g.abs(x), np.inf) for x in both(g, self)])


@complex_lowering("aten::isreal")
def isreal(g: Builder, self: Tensor) -> Tensor:
    """isreal(Tensor self) -> Tensor"""
    return g.equal(both(g, self)[1], 0)


# -- lowerings that hold for complex tensors ------------------------------------------------------


_ALIKE = {
    "where elements go": """
        permute transpose t reshape view _unsafe_view view_as flatten unflatten squeeze unsqueeze expand expand_as
        repeat tile slice select narrow index index_select gather take_along_dim masked_select cat concat
        concatenate stack hstack vstack dstack split split_with_sizes chunk unsafe_chunk unsafe_split unbind
        tensor_split flip roll movedim swapaxes swapdims moveaxis diagonal diag diag_embed tril triu broadcast_to
        pixel_shuffle repeat_interleave rot90 mT unfold numpy_T select_copy atleast_1d atleast_2d fliplr flipud
        ravel broadcast_tensors block_diag column_stack atleast_3d expand_copy diagonal_copy diagonal_scatter
        alias_copy permute_copy meshgrid as_strided as_strided_copy as_strided_scatter narrow_copy view_copy
        reshape_as split_with_sizes_copy hsplit vsplit dsplit index_copy put take unbind_copy unfold_copy
        squeeze_copy unsqueeze_copy transpose_copy t_copy diagflat linalg_diagonal _chunk_cat pixel_unshuffle
        channel_shuffle im2col masked_scatter cartesian_prod combinations reflection_pad1d reflection_pad2d
        reflection_pad3d replication_pad1d replication_pad2d replication_pad3d constant_pad_nd pad index_fill
        index_put _index_put_impl fill_diagonal embedding _unsafe_index _unsafe_index_put _unsafe_masked_index
        _unsafe_masked_index_put_accumulate scatter slice_scatter select_scatter slice_copy where masked_fill
        feature_alpha_dropout dropout
    """,
    "facts, and what is made by them": """
        size dim numel len is_complex is_floating_point zeros_like new_zeros zero ones_like full_like empty_like
        new_ones new_full new_empty nonzero nonzero_static argwhere count_nonzero any all logical_and logical_or
        logical_xor logical_not eq ne isnan isclose nonzero_numpy nan_to_num
        element_size is_signed is_inference
    """,
    "sums and products": """
        add sub subtract rsub mul multiply div divide true_divide neg negative _neg_view _neg_view_copy positive
        reciprocal square addcmul addcdiv lerp sum mean cumsum diff trace prod cumprod sum_to_size index_add
        scatter_add trapezoid trapz cumulative_trapezoid gradient matmul mm bmm mv dot linalg_matmul addmm addbmm
        baddbmm addmv addr linear bilinear outer ger inner kron tensordot einsum vdot linalg_vecdot cov corrcoef
        linalg_multi_dot chain_matmul linalg_matrix_power matrix_power cross linalg_cross linalg_vander vander
        _convolution convolution convolution_overrideable conv1d conv2d conv3d conv_transpose1d conv_transpose2d
        conv_transpose3d
    """,
    "matrices": """
        det linalg_det _linalg_det _linalg_slogdet slogdet linalg_slogdet logdet linalg_lu_factor_ex _lu_with_info
        linalg_lu_factor linalg_lu lu_unpack linalg_solve linalg_solve_ex _linalg_solve_ex inverse linalg_inv
        linalg_inv_ex linalg_lu_solve lu_solve linalg_solve_triangular triangular_solve cholesky linalg_cholesky
        linalg_cholesky_ex cholesky_solve cholesky_inverse linalg_qr qr linalg_cond linalg_tensorinv
        linalg_tensorsolve linalg_householder_product orgqr ormqr geqrf linalg_svdvals linalg_svd _linalg_svd svd
        linalg_eigvalsh linalg_eigh _linalg_eigh linalg_eig linalg_eigvals linalg_matrix_rank linalg_pinv pinverse
        linalg_lstsq matrix_exp linalg_matrix_exp
    """,
    "functions": """
        sgn abs absolute exp exp2 expm1 log log2 log10 log1p sqrt rsqrt sin cos tan asin arcsin acos arccos atan
        arctan sinh cosh tanh asinh arcsinh acosh arccosh atanh arctanh sinc special_exp2 special_expm1
        special_log1p special_sinc special_expit sigmoid silu tanhshrink pow float_power ldexp softsign
    """,
    "absolute values": """
        l1_loss dist pairwise_distance renorm norm linalg_vector_norm linalg_norm linalg_matrix_norm nuclear_norm
        linalg__powsum frobenius_norm var std var_mean std_mean rms_norm triplet_margin_loss
    """,
}
for _names in _ALIKE.values():
    holds_for_complex(*[f"aten::{_name}" for _name in _names.split()])
_OF_SCRIPTS = """
    dtype device layout numel ndim itemsize nbytes is_complex is_cuda is_cpu is_sparse is_quantized is_nested requires_grad
"""
holds_for_complex(*[f"prim::{_name}" for _name in _OF_SCRIPTS.split()])
