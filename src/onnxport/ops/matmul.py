"""Matrix products, and what is made of them."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import torch

from ..dims import Size, known_eq, product
from ..dtypes import from_scalar_type
from ..errors import LoweringError
from ..lower.builder import Builder
from ..lower.complex import conjugate
from ..lower.promotion import result_type
from ..lower.registry import lowering
from ..lower.values import Tensor
from .activation import gelu


def is_zero(value: Any) -> bool:
    """Whether a factor is a plain zero, with which torch leaves the other factor unread."""
    return isinstance(value, (bool, int, float)) and value == 0


def scaled(g: Builder, x: Tensor, factor: Any) -> Tensor:
    """x times a number, in x's dtype."""
    if isinstance(factor, (int, float)) and factor == 1:
        return x
    return g.mul(x, g.scalar(factor, x.dtype))


def plus_scaled(g: Builder, self: Tensor, other: Tensor, beta: Any, alpha: Any) -> Tensor:
    """beta * self + alpha * other"""
    other = scaled(g, other, alpha)
    if is_zero(beta):
        return other
    return g.add(scaled(g, self, beta), other)


def _fits_attribute(*numbers: Any) -> bool:
    """Whether the numbers are the same as float32, which ONNX attributes are."""
    return all(
        isinstance(n, (bool, int, float)) and float(torch.tensor(float(n), dtype=torch.float32)) == n for n in numbers
    )


def _fits_gemm(c: Tensor, beta: Any, alpha: Any) -> bool:
    """Gemm is for floats, and its third operand is broadcast to the product but never the product to it."""
    return c.is_float and c.rank <= 2 and _fits_attribute(beta, alpha) and not is_zero(beta)


@lowering("aten::linear")
def linear(g: Builder, input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor"""
    # The bias became optional with opset 11. Gemm takes the weight as it lies in memory, so that it is written as it is.
    if input.rank == 2 and weight.rank == 2 and input.is_float and (bias is not None or g.opset >= 11):
        return g.op("Gemm", input, weight, bias, transB=1)
    # MatMul and Add rather than reshapes around a Gemm: runtimes fuse them themselves.
    result = g.matmul(input, g.transpose(weight, range(weight.rank - 1, -1, -1)))
    return result if bias is None else g.add(result, bias)


@lowering("aten::addmm")
def addmm(g: Builder, self: Tensor, mat1: Tensor, mat2: Tensor, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor"""
    if _fits_gemm(self, beta, alpha):
        return g.op(
            "Gemm", mat1, mat2, self,
            alpha=None if alpha == 1 else float(alpha), beta=None if beta == 1 else float(beta),
        )  # fmt: skip
    return plus_scaled(g, self, g.matmul(mat1, mat2), beta, alpha)


@lowering("aten::addmv")
def addmv(g: Builder, self: Tensor, mat: Tensor, vec: Tensor, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) -> Tensor"""
    result = plus_scaled(g, self, g.matmul(mat, vec), beta, alpha)
    return g.expand(result, [mat.shape[0]])


@lowering("aten::baddbmm")
def baddbmm(g: Builder, self: Tensor, batch1: Tensor, batch2: Tensor, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor"""
    return plus_scaled(g, self, g.matmul(batch1, batch2), beta, alpha)


@lowering("aten::addbmm")
def addbmm(g: Builder, self: Tensor, batch1: Tensor, batch2: Tensor, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """addbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor"""
    b, n, m = batch1.shape
    p = batch2.shape[2]
    # The sum over the batch is one more part of the sum of the product.
    left = g.reshape(g.transpose(batch1, [1, 0, 2]), [n, b * m])
    return plus_scaled(g, self, g.matmul(left, g.reshape(batch2, [b * m, p])), beta, alpha)


@lowering("aten::addr")
def addr(g: Builder, self: Tensor, vec1: Tensor, vec2: Tensor, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """addr(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1) -> Tensor"""
    dtype = functools.reduce(torch.promote_types, [self.dtype, vec1.dtype, vec2.dtype])
    vec1, vec2 = g.cast(vec1, dtype), g.cast(vec2, dtype)
    if dtype == torch.bool:
        result = outer(g, vec1, vec2) if alpha else g.full([vec1.shape[0], vec2.shape[0]], False, dtype)
        return result if is_zero(beta) else g.or_(g.cast(self, dtype), result)
    return plus_scaled(g, g.cast(self, dtype), outer(g, vec1, vec2), beta, alpha)


@lowering("aten::mm", "aten::bmm", "aten::mv", "aten::dot")
def mm(g: Builder, self: Tensor, mat2: Tensor) -> Tensor:
    """mm(Tensor self, Tensor mat2) -> Tensor"""
    return g.matmul(self, mat2)


@lowering("aten::vdot")
def vdot(g: Builder, self: Tensor, other: Tensor) -> Tensor:
    """vdot(Tensor self, Tensor other) -> Tensor"""
    return g.matmul(conjugate(g, self), other)


@lowering("aten::matmul", "aten::linalg_matmul", "aten::__matmul__")
def matmul(g: Builder, self: Tensor, other: Tensor) -> Tensor:
    """matmul(Tensor self, Tensor other) -> Tensor"""
    return g.matmul(self, other)


@lowering("aten::outer", "aten::ger")
def outer(g: Builder, self: Tensor, vec2: Tensor) -> Tensor:
    """outer(Tensor self, Tensor vec2) -> Tensor"""
    dtype = torch.promote_types(self.dtype, vec2.dtype)
    a, b = g.unsqueeze(g.cast(self, dtype), [1]), g.cast(vec2, dtype)
    return g.and_(a, b) if dtype == torch.bool else g.mul(a, b)


@lowering("aten::inner")
def inner(g: Builder, self: Tensor, other: Tensor) -> Tensor:
    """inner(Tensor self, Tensor other) -> Tensor"""
    if self.rank == 0 or other.rank == 0:
        dtype = result_type(self, other)
        return g.mul(g.cast(self, dtype), g.cast(other, dtype))
    return contract(g, self, other, [self.rank - 1], [other.rank - 1])


@lowering("aten::tensordot")
def tensordot(g: Builder, self: Tensor, other: Tensor, dims_self: list[int], dims_other: list[int]) -> Tensor:
    """tensordot(Tensor self, Tensor other, int[] dims_self, int[] dims_other) -> Tensor"""
    left, right = [d % self.rank for d in dims_self], [d % other.rank for d in dims_other]
    for i, j in zip(left, right):  # a size of 1 meets any: the other side is summed first
        if self.shape[i] == 1 != other.shape[j]:
            other = g.reduce("ReduceSum", other, [j], keepdims=True)
        elif other.shape[j] == 1 != self.shape[i]:
            self = g.reduce("ReduceSum", self, [i], keepdims=True)
    return contract(g, self, other, left, right)


def contract(g: Builder, a: Tensor, b: Tensor, over_a: Sequence[int], over_b: Sequence[int]) -> Tensor:
    """Sum of products over pairs of axes; the other axes of a, then those of b, are left."""
    keep_a = [i for i in range(a.rank) if i not in over_a]
    keep_b = [i for i in range(b.rank) if i not in over_b]
    rows, columns = [a.shape[i] for i in keep_a], [b.shape[i] for i in keep_b]
    inner_size = product(a.shape[i] for i in over_a)
    left = g.reshape(g.transpose(a, [*keep_a, *over_a]), [product(rows), inner_size])
    right = g.reshape(g.transpose(b, [*over_b, *keep_b]), [inner_size, product(columns)])
    return g.reshape(g.matmul(left, right), [*rows, *columns])


@lowering("aten::chain_matmul")
def chain_matmul(g: Builder, matrices: list[Tensor]) -> Tensor:
    """chain_matmul(Tensor[] matrices) -> Tensor"""
    return linalg_multi_dot(g, matrices)


@lowering("aten::linalg_multi_dot")
def linalg_multi_dot(g: Builder, tensors: list[Tensor]) -> Tensor:
    """linalg_multi_dot(Tensor[] tensors) -> Tensor"""
    shapes = [list(t.shape) for t in tensors]
    shapes[0] = [1, *shapes[0]][-2:]
    shapes[-1] = [*shapes[-1], 1][:2]
    sizes = [shapes[0][0], *[shape[1] for shape in shapes]]
    if not all(isinstance(s, int) for s in sizes):
        return functools.reduce(g.matmul, tensors)
    return _chain(g, tensors, [int(s) for s in sizes])


def _chain(g: Builder, tensors: list[Tensor], sizes: list[int]) -> Tensor:
    """The product of a chain of matrices, in the order that needs the fewest multiplications."""
    count = len(tensors)
    best: dict[tuple[int, int], tuple[int, int]] = {(i, i): (0, i) for i in range(count)}
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            best[i, j] = min(
                (best[i, k][0] + best[k + 1, j][0] + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j)
            )

    def multiply(i: int, j: int) -> Tensor:
        if i == j:
            return tensors[i]
        k = best[i, j][1]
        return g.matmul(multiply(i, k), multiply(k + 1, j))

    return multiply(0, count - 1)


@lowering("aten::kron")
def kron(g: Builder, self: Tensor, other: Tensor) -> Tensor:
    """kron(Tensor self, Tensor other) -> Tensor"""
    dtype = torch.promote_types(self.dtype, other.dtype)
    a, b = g.cast(self, dtype), g.cast(other, dtype)
    rank = max(a.rank, b.rank)
    sizes_a, sizes_b = [1] * (rank - a.rank) + list(a.shape), [1] * (rank - b.rank) + list(b.shape)
    left = g.reshape(a, [d for size in sizes_a for d in (size, 1)])
    right = g.reshape(b, [d for size in sizes_b for d in (1, size)])
    both = g.and_(left, right) if dtype == torch.bool else g.mul(left, right)
    return g.reshape(both, [m * n for m, n in zip(sizes_a, sizes_b)])


@lowering("aten::matrix_power", "aten::linalg_matrix_power")
def matrix_power(g: Builder, self: Tensor, n: int) -> Tensor:
    """matrix_power(Tensor self, int n) -> Tensor"""
    if not isinstance(n, int):
        raise LoweringError("the power of a matrix must be known at export; pass it as a Python int")
    if n < 0:
        from .linalg import inverse  # seldom needed, and large

        return matrix_power(g, inverse(g, self), -n)
    if n == 0:
        positions = g.range(0, self.shape[-1])
        eye = g.cast(g.equal(g.unsqueeze(positions, [1]), positions), self.dtype)
        return g.expand(eye, self.shape)
    result, square = None, self
    while n:
        if n & 1:
            result = square if result is None else g.matmul(result, square)
        n >>= 1
        square = g.matmul(square, square) if n else square
    assert result is not None
    return result


@lowering("aten::linalg_cross")
def linalg_cross(g: Builder, self: Tensor, other: Tensor, dim: int = -1) -> Tensor:
    """linalg_cross(Tensor self, Tensor other, *, int dim=-1) -> Tensor"""
    dtype = torch.promote_types(self.dtype, other.dtype)
    a, b = g.cast(self, dtype), g.cast(other, dtype)
    axis = dim % max(a.rank, b.rank) - max(a.rank, b.rank)  # counted from the end, the sides may differ in rank
    ahead, behind = g.const([1, 2, 0], torch.int64), g.const([2, 0, 1], torch.int64)

    def turned(x: Tensor, order: Tensor) -> Tensor:
        return g.gather(x, order, axis % x.rank)

    return g.sub(g.mul(turned(a, ahead), turned(b, behind)), g.mul(turned(a, behind), turned(b, ahead)))


@lowering("aten::cross")
def cross(g: Builder, self: Tensor, other: Tensor, dim: int | None = None) -> Tensor:
    """cross(Tensor self, Tensor other, int? dim=None) -> Tensor"""
    if dim is None:
        found = [known_eq(size, 3) for size in self.shape]
        dim = next((i for i, is_three in enumerate(found) if is_three is not False), -1)
        if dim < 0 or found[dim] is None:
            raise LoweringError("which axis has the size 3 is known only at run time; pass `dim`")
    return linalg_cross(g, self, other, dim)


@lowering("aten::bilinear")
def bilinear(g: Builder, input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None) -> Tensor"""
    out, m, n = weight.shape
    batch: list[Size] = list(input1.shape[:-1])
    left = g.reshape(input1, [product(batch), m])
    right = g.reshape(input2, [product(batch), n, 1])
    # (batch, m) x (m, out * n), then for each row (out, n) x (n, 1).
    folded = g.reshape(g.transpose(weight, [1, 0, 2]), [m, out * n])
    half = g.reshape(g.matmul(left, folded), [product(batch), out, n])
    result = g.reshape(g.matmul(half, right), [*batch, out])
    return result if bias is None else g.add(result, bias)


@lowering("aten::_trilinear")
def trilinear(
    g: Builder,
    i1: Tensor,
    i2: Tensor,
    i3: Tensor,
    expand1: list[int],
    expand2: list[int],
    expand3: list[int],
    sumdim: list[int],
    unroll_dim: int = 1,
) -> Tensor:
    """_trilinear(Tensor i1, Tensor i2, Tensor i3, int[] expand1, int[] expand2, int[] expand3, int[] sumdim,
    int unroll_dim=1) -> Tensor: their product, each with new axes, summed"""
    a, b, c = (g.unsqueeze(x, axes) if axes else x for x, axes in ((i1, expand1), (i2, expand2), (i3, expand3)))
    result = g.mul(g.mul(a, b), c)
    return g.reduce("ReduceSum", result, sumdim) if sumdim else result


@lowering("aten::_grouped_mm")
def grouped_mm(
    g: Builder,
    self: Tensor,
    mat2: Tensor,
    offs: Tensor | None = None,
    bias: Tensor | None = None,
    out_dtype: int | None = None,
) -> Tensor:
    """_grouped_mm(Tensor self, Tensor mat2, Tensor? offs=None, Tensor? bias=None, ScalarType? out_dtype=None)
    -> Tensor

    `offs` has the ends of the groups, along an axis of the operands that have no axis of groups. Rows behind the last
    end are undefined in torch; here they are 0.
    """
    if bias is not None:
        raise LoweringError("grouped_mm with a bias isn't defined in torch; add it to the result")
    if offs is None:
        return _in_dtype(g, g.matmul(self, mat2), out_dtype)
    if (self.rank, mat2.rank) == (2, 2):
        parts = [_unsqueezed(g, a, b) for a, b in zip(_groups(g, self, 1, offs), _groups(g, mat2, 0, offs))][:-1]
        return _in_dtype(g, g.concat(parts, 0), out_dtype)
    by_rows = mat2.rank == 3
    *pieces, rest = _groups(g, self if by_rows else mat2, 0 if by_rows else 1, offs)
    shared = mat2 if by_rows else self
    products = [
        g.matmul(piece, g.gather(shared, i, 0)) if by_rows else g.matmul(g.gather(shared, i, 0), piece)
        for i, piece in enumerate(pieces)
    ]
    target = [self.shape[-2], mat2.shape[-1]]
    unused = [rest.shape[0], target[1]] if by_rows else [target[0], rest.shape[1]]
    result = g.concat([*products, g.full(unused, 0, self.dtype)], 0 if by_rows else 1)
    result.dims = tuple(target)
    return _in_dtype(g, result, out_dtype)


def _groups(g: Builder, x: Tensor, axis: int, offs: Tensor) -> list[Tensor]:
    """x in pieces that end at the offsets, and what is left."""
    count = offs.shape[0]
    if not isinstance(count, int):
        raise LoweringError(f"the number of groups must be a constant, but is {count}")
    ends: list[Size] = [g.int_of(g.gather(offs, i, 0), "end", minimum=0) for i in range(count)]
    return g.split(x, [end - start for start, end in zip([0, *ends], [*ends, x.shape[axis]])], axis)


def _unsqueezed(g: Builder, a: Tensor, b: Tensor) -> Tensor:
    return g.unsqueeze(g.matmul(a, b), [0])


def _in_dtype(g: Builder, x: Tensor, out_dtype: int | None) -> Tensor:
    return x if out_dtype is None else g.cast(x, from_scalar_type(out_dtype))


@lowering("aten::_int_mm")
def int_mm(g: Builder, self: Tensor, mat2: Tensor) -> Tensor:
    """_int_mm(Tensor self, Tensor mat2) -> Tensor"""
    if g.opset >= 10:
        return g.op("MatMulInteger", self, mat2)
    return g.matmul(g.cast(self, torch.int32), g.cast(mat2, torch.int32))


@lowering("aten::_weight_int8pack_mm")
def weight_int8pack_mm(g: Builder, self: Tensor, mat2: Tensor, scales: Tensor) -> Tensor:
    """_weight_int8pack_mm(Tensor self, Tensor mat2, Tensor scales) -> Tensor"""
    return g.mul(g.matmul(self, g.swap(g.cast(mat2, self.dtype), 0, 1)), scales)


@lowering("aten::_addmm_activation")
def addmm_activation(
    g: Builder, self: Tensor, mat1: Tensor, mat2: Tensor, beta: Any = 1, alpha: Any = 1, use_gelu: bool = False
) -> Tensor:
    """_addmm_activation(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1, bool use_gelu=False)
    -> Tensor"""
    result = addmm(g, self, mat1, mat2, beta, alpha)
    return gelu(g, result, "tanh") if use_gelu else g.relu(result)
