import torch
from tests.harness import LATEST, b8, case, cases, check, f16, f32, f64, i32, i64, u8

N = {0: {0: "n"}}
NM = {0: {0: "n", 1: "m"}}

JOINS = [
    case("cat", lambda x, y: torch.cat([x, y], 1), f32(2, 3), f32(2, 4)),
    case("cat_dynamic", lambda x, y: torch.cat([x, y]), f32(2, 3), f32(4, 3), dynamic={0: {0: "n"}, 1: {0: "m"}}),
    case("cat_negative", lambda x: torch.cat([x, x, x], -1), i64(2, 3), dynamic=N),
    case("cat_empty_legacy", lambda x: torch.cat([torch.zeros(0), x], 1), f32(2, 3), dynamic=N),
    case("cat_only_empty", lambda x: torch.cat([torch.zeros(0), torch.zeros(0)]) + x, f32(1)),
    case("cat_promotes", lambda x, y, z: torch.cat([x, y, z]), i32(2), u8(3), f16(1)),
    case("cat_bool_and_int", lambda x, y: torch.cat([x, y]), b8(2), i64(3)),
    case("cat_empty_promotes", lambda x: torch.cat([torch.zeros(0, dtype=torch.float64), x]), f32(3)),
    case("stack", lambda x, y: (torch.stack([x, y]), torch.stack([x, y], -1)), f32(2, 3), f32(2, 3), dynamic=None),
    case("stack_0d", lambda x, y: torch.stack([x, y]), f32(), f32()),
    case("stack_promotes", lambda x, y: torch.stack([x, y], 1), i64(2), f64(2)),
    case("hstack", lambda x, y: torch.hstack([x, y]), f32(2), f32(3)),
    case("hstack_matrix", lambda x, y: torch.hstack([x, y]), f32(2, 2), f32(2, 3)),
    case("hstack_0d", lambda x, y: torch.hstack([x, y]), f32(), f32()),
    case("vstack", lambda x, y: torch.vstack([x, y]), f32(3), f32(2, 3)),
    case("dstack", lambda x, y: torch.dstack([x, y]), f32(3), f32(1, 3)),
    case("column_stack", lambda x, y: torch.column_stack([x, y]), f32(3), f32(3, 2)),
    case("block_diag", lambda x, y: torch.block_diag(x, y, x), f32(2, 3), f32(2)),
    case("block_diag_dynamic", lambda x, y: torch.block_diag(x, y), f32(2, 3), i64(2, 2), dynamic=NM),
]


@cases(JOINS, opsets=(9, 13, LATEST))
def test_joins(case, frontend, opset):
    check(case, frontend, opset)


PIECES = [
    case("split", lambda x: x.split(2), f32(5, 3)),
    case("split_one", lambda x: x.split(9), f32(5, 3)),
    case("split_axis", lambda x: x.split(2, -1), f32(5, 4), dynamic=N),
    case("split_half", lambda x: x.split(x.shape[1] // 2, 1), f32(2, 4), dynamic=N),
    case("split_sizes", lambda x: x.split([1, 3, 0], -1), f32(5, 4), dynamic=N),
    case("split_sizes_dynamic", lambda x: x.split([1, x.shape[0] - 1]), f32(5, 4), dynamic=N),
    case("chunk", lambda x: x.chunk(3), f32(7, 2)),
    case("chunk_fewer", lambda x: x.chunk(4), f32(5, 2)),
    case("chunk_gate", lambda x: x.chunk(2, -1)[0] * x.chunk(2, -1)[1].sigmoid(), f32(5, 4), dynamic=N),
    case(
        "chunk_dynamic", lambda x: x.chunk(2), f32(6, 2), dynamic=N, others=[(torch.rand(7, 2),), (torch.rand(2, 2),)]
    ),
    case("tensor_split", lambda x: x.tensor_split(3), f32(7, 2)),
    case("tensor_split_dynamic", lambda x: x.tensor_split(3), f32(7, 2), dynamic=N),
    case("tensor_split_more", lambda x: x.tensor_split(4), f32(2, 2)),
    case("tensor_split_at", lambda x: x.tensor_split((1, 5, 3, -1)), f32(7, 2)),
    case("tensor_split_at_dynamic", lambda x: x.tensor_split((1, 3)), f32(7, 2), dynamic=N),
    case("hsplit", lambda x: x.hsplit(2), f32(3, 4), dynamic=N),
    case("hsplit_vector", lambda x: x.hsplit([1, 3]), f32(5)),
    case("vsplit", lambda x: x.vsplit(2), f32(4, 3)),
    case("dsplit", lambda x: x.dsplit([1]), f32(2, 3, 4)),
    case("unbind", lambda x: x.unbind(1), f32(4, 3), dynamic=N),
    case("unbind_empty", lambda x: (x + 1, x.unbind()), f32(0, 3)),
    case("unpacked", lambda x: sum(x.unbind(-1)), i64(2, 3), dynamic=N),
]


@cases(PIECES, opsets=(10, 13, 18, LATEST))
def test_pieces(case, frontend, opset):
    check(case, frontend, opset)


def test_a_trace_takes_as_many_pieces_as_the_example_has():
    pieces = case("pieces", lambda x: x.split(2)[1], f32(6), dynamic=N, others=[(f32(4).make(0),), (f32(9).make(0),)])
    check(pieces)
