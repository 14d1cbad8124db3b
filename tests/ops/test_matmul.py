"""Matrix products and einsum."""

import torch
import torch.nn.functional as F
from tests.harness import LATEST, case, cases, check, f16, f32, f64, i32, i64, operators

PRODUCTS = [
    case("mm", torch.mm, f32(2, 3), f32(3, 4), dynamic={0: {0: "n"}}),
    case("mm_int", torch.mm, i64(2, 3), i64(3, 4)),
    case("mm_int32", torch.mm, i32(2, 3), i32(3, 4)),
    case("mm_half", torch.mm, f16(2, 3), f16(3, 4)),
    case("mm_double", torch.mm, f64(2, 3), f64(3, 4)),
    case("mm_empty", torch.mm, f32(2, 0), f32(0, 4)),
    case("bmm", torch.bmm, f32(2, 3, 4), f32(2, 4, 5), dynamic={0: {0: "n", 1: "m"}, 1: {0: "n"}}),
    case("mv", torch.mv, f32(2, 3), f32(3)),
    case("dot", torch.dot, f32(3), f32(3), dynamic={0: {0: "n"}, 1: {0: "n"}}),
    case("vdot", torch.vdot, f32(3), f32(3)),
    case("matmul_1_1", torch.matmul, f32(3), f32(3)),
    case("matmul_1_3", torch.matmul, f32(3), f32(2, 3, 4)),
    case("matmul_3_1", torch.matmul, f32(2, 4, 3), f32(3)),
    case("matmul_broadcast", torch.matmul, f32(5, 1, 2, 3), f32(4, 3, 2), dynamic={0: {0: "n", 2: "m"}}),
    case("outer", torch.outer, f32(3), i64(4), dynamic={0: {0: "n"}}),
    case("inner", torch.inner, f32(2, 3), f32(4, 5, 3), dynamic={0: {0: "n"}}),
    case("inner_0d", torch.inner, f32(), f32(4, 3)),
    case("tensordot", lambda a, b: torch.tensordot(a, b, dims=([1, 0], [0, 1])), f32(3, 4, 5), f32(4, 3, 2)),
    case("tensordot_0", lambda a, b: torch.tensordot(a, b, dims=0), f32(3), f32(2)),
    case("multi_dot", lambda a, b, c: torch.linalg.multi_dot([a, b, c]), f32(2, 9), f32(9, 3), f32(3)),
    case("chain_matmul", lambda a, b: torch.chain_matmul(a, b, a), f32(2, 3), f32(3, 2)),
    case("kron", torch.kron, f32(2, 3), f32(3, 2, 2), dynamic={0: {0: "n"}}),
    case("matrix_power", lambda a: torch.matrix_power(a, 5), f32(2, 3, 3)),
    case("matrix_power_0", lambda a: torch.matrix_power(a, 0), f32(2, 3, 3)),
    case("cross", lambda a, b: torch.cross(a, b, dim=-1), f32(2, 3), f32(1, 3), dynamic={0: {0: "n"}}),
    case("linalg_cross", lambda a, b: torch.linalg.cross(a, b, dim=0), f32(3, 2), f32(3, 2)),
    case("bilinear", torch.nn.Bilinear(3, 4, 5), f32(2, 6, 3), f32(2, 6, 4), dynamic={0: {0: "n"}, 1: {0: "n"}}),
    case("linear_2", torch.nn.Linear(3, 4), f32(2, 3), dynamic={0: "n"}),
    case("linear_3", torch.nn.Linear(3, 4), f32(2, 5, 3), dynamic={0: "n", 1: "m"}),
    case("linear_1", torch.nn.Linear(3, 4), f32(3)),
    case("linear_no_bias", torch.nn.Linear(3, 4, bias=False), f32(2, 3)),
    case("linear_double", torch.nn.Linear(3, 4).double(), f64(2, 3)),
    case("linear_inputs", F.linear, f32(2, 3), f32(4, 3), f32(4)),
    case("linear_vector", F.linear, f32(2, 3), f32(3)),
]

SUMS = [
    case("addmm", torch.addmm, f32(2, 4), f32(2, 3), f32(3, 4)),
    case("addmm_row", lambda a, b, c: torch.addmm(a, b, c, beta=0.5, alpha=2), f32(4), f32(2, 3), f32(3, 4)),
    case(
        "addmm_beta_0",
        lambda a, b, c: torch.addmm(a, b, c, beta=0),
        torch.full((4,), float("nan")),
        f32(2, 3),
        f32(3, 4),
    ),
    case("addmm_int", lambda a, b, c: torch.addmm(a, b, c, beta=2, alpha=3), i64(2, 4), i64(2, 3), i64(3, 4)),
    case("addmm_exact", lambda a, b, c: torch.addmm(a, b, c, beta=0.1, alpha=0.3), f64(2, 4), f64(2, 3), f64(3, 4)),
    case("addmv", lambda a, b, c: torch.addmv(a, b, c, beta=2), f32(2), f32(2, 3), f32(3)),
    case("addr", lambda a, b, c: torch.addr(a, b, c, alpha=2), f32(2, 3), f32(2), f32(3)),
    case("baddbmm", lambda a, b, c: torch.baddbmm(a, b, c, alpha=2), f32(5, 2, 4), f32(5, 2, 3), f32(5, 3, 4)),
    case("addbmm", lambda a, b, c: torch.addbmm(a, b, c, beta=3), f32(2, 4), f32(5, 2, 3), f32(5, 3, 4)),
]


@cases(PRODUCTS + SUMS, opsets=(8, 13, LATEST))
def test_products(case, frontend, opset):
    check(case, frontend, opset)


def _einsum(equation, *inputs, dynamic=None):
    return case(equation, lambda *xs: torch.einsum(equation, *xs), *inputs, dynamic=dynamic)


EINSUM = [
    _einsum("ij,jk->ik", f32(2, 3), f32(3, 4), dynamic={0: {0: "n"}}),
    _einsum("ij,jk", f32(2, 3), f32(3, 4)),
    _einsum("bhqd,bhkd->bhqk", f32(2, 3, 4, 5), f32(2, 3, 6, 5), dynamic={0: {0: "b", 2: "q"}, 1: {0: "b"}}),
    _einsum("bqhd,bkhd->bhqk", f32(2, 4, 3, 5), f32(2, 6, 3, 5), dynamic={0: {0: "b", 1: "q"}, 1: {0: "b"}}),
    _einsum("i,j->ji", f32(2), f32(3)),
    _einsum("i,i->", f32(3), f32(3)),
    _einsum("ij->", f32(2, 3)),
    _einsum("ij->j", f32(2, 3), dynamic={0: "n"}),
    _einsum("ij->ji", f32(2, 3)),
    _einsum("ii->i", f32(3, 3)),
    _einsum("ii", f32(3, 3)),
    _einsum("...ii->...i", f32(2, 3, 3), dynamic={0: "n"}),
    _einsum("iij,j->i", f32(3, 3, 2), f32(2)),
    _einsum("...ij,...jk->...ik", f32(2, 4, 2, 3), f32(4, 3, 5), dynamic={0: {0: "n"}}),
    _einsum("...ij,jk", f32(2, 2, 3), f32(3, 5)),
    _einsum("i...,i->...", f32(3, 2, 4), f32(3)),
    _einsum("a,bc,cd->abd", f32(2), f32(3, 4), f32(4, 5)),
    _einsum("abc,abd->acd", f32(2, 3, 4), f32(2, 3, 5)),
    _einsum("ab,ab->ab", f32(2, 3), f32(1, 3)),
    _einsum("ab,bc->ac", f32(2, 3), f32(1, 4)),
    _einsum("ab,ac->a", f32(2, 3), f32(2, 4)),
    _einsum("Ab,bA->A", i64(2, 3), i64(3, 2)),
    _einsum("b n h w, n d -> b d h w", f32(2, 3, 4, 4), f32(3, 5), dynamic={0: {0: "b", 2: "h", 3: "w"}}),
    _einsum("ijk,kl,ml->ijm", f32(2, 3, 4), f32(4, 5), f32(2, 5)),
]


@cases(EINSUM, opsets=(8, LATEST))
def test_einsum(case, frontend, opset):
    check(case, frontend, opset)


def test_einsum_of_attention_is_one_product():
    model = check(EINSUM[2])
    assert operators(model) == ["Transpose", "MatMul"]


def test_linear_is_one_or_two_nodes():
    assert operators(check(case("2", torch.nn.Linear(3, 4), f32(2, 3)))) == ["Gemm"]
    assert operators(check(case("3", torch.nn.Linear(3, 4), f32(2, 5, 3)))) == ["MatMul", "Add"]


ENDS, OTHER_ENDS = torch.tensor([2, 2, 5], dtype=torch.int32), torch.tensor([0, 4, 7], dtype=torch.int32)
FULL_ENDS = torch.tensor([2, 2, 8], dtype=torch.int32)
GROUPS = [
    case(
        "rows",
        lambda x, w, ends: torch._grouped_mm(x, w, offs=ends),
        f32(5, 8),
        f32(3, 8, 4),
        ENDS,
        dynamic={0: {0: "n"}},
        others=[(torch.randn(7, 8), torch.randn(3, 8, 4), OTHER_ENDS)],
    ),
    case(
        "rows_left_over",
        lambda x, w, ends: torch._grouped_mm(x, w, offs=ends)[:5],
        f32(8, 8),
        f32(3, 8, 4),
        ENDS,
    ),
    case("columns", lambda w, x, ends: torch._grouped_mm(w, x, offs=ends), f32(3, 4, 8), f32(8, 8), FULL_ENDS),
    case("inner", lambda a, b, ends: torch._grouped_mm(a, b, offs=ends), f32(4, 8), f32(8, 4), FULL_ENDS),
    case("batched", torch._grouped_mm, f32(3, 4, 8), f32(3, 8, 4), dynamic={0: {0: "n"}, 1: {0: "n"}}),
]


@cases(GROUPS, opsets=(11, LATEST))
def test_grouped(case, frontend, opset):
    check(case, frontend, opset)


# onnxruntime 1.32 computes a wrong product of a transposed matrix and a vector if both are given to MatMul.
VECTORS = [
    case("transposed", lambda x, v: (x.T @ v, torch.mv(x.T, v), v @ x), f32(3, 4), f32(3)),
    case("dynamic", lambda x, v: x.T @ v, f32(3, 4), f32(3), dynamic={0: {1: "n"}}),
    case("batch", lambda x, v: (x.mT @ v, v @ x), f32(2, 3, 4), f32(3)),
    case("through_an_activation", lambda x, v: torch.relu(x.T) @ v, f32(3, 4), f32(3)),
    case("einsum", lambda x, v: (torch.einsum("ij,i->j", x, v), torch.einsum("bij,i->bj", x[None], v)), f32(3, 4), f32(3)),
    case("double", lambda x, v: x.T @ v, f64(3, 4), f64(3)),
    case("half", lambda x, v: x.T @ v, f16(3, 4), f16(3)),
    case("weight", lambda v: torch.arange(12.0).view(3, 4).T @ v, f32(3)),
    case("addmv", lambda x, v: torch.addmv(v[0], x.T, v), f32(3, 4), f32(3)),
]  # fmt: skip


@cases(VECTORS, opsets=(7, 11, LATEST))
def test_matrix_times_vector(case, frontend, opset):
    check(case, frontend, opset)


BYTES = torch.randint(-100, 100, (20, 16), generator=torch.Generator().manual_seed(0)).to(torch.int8)
SELDOM = [
    case("int_mm", lambda x: torch._int_mm(x, x.t()), BYTES, dynamic={0: {0: "n"}}),
    case("int8pack", torch._weight_int8pack_mm, f32(3, 16), BYTES[:5], f32(5), dynamic={0: {0: "n"}}),
    case("relu", lambda a, x, y: torch._addmm_activation(a, x, y, alpha=2), f32(4), f32(2, 3), f32(3, 4)),
    case("vander", lambda x: (torch.vander(x, 3), torch.vander(x, increasing=True)), f32(4)),
    case("vander_of_no_powers", lambda x: (torch.vander(x, 0), torch.vander(x, 1)), f32(4), dynamic={0: {0: "n"}}),
    case("vander_n", lambda x: (torch.vander(x), torch.linalg.vander(x[None].long())), f32(4), dynamic={0: {0: "n"}}),
    case("nuclear", lambda x: (torch.nuclear_norm(x), torch.nuclear_norm(x, dim=(1, 0), keepdim=True)), f32(3, 4)),
    case("norm_except", lambda x: [torch.norm_except_dim(x, 2, dim) for dim in (0, 1, -1)], f32(3, 4)),
]


@cases(SELDOM, opsets=(9, LATEST))
def test_seldom(case, frontend, opset):
    check(case, frontend, opset)
