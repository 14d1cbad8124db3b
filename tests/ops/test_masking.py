import torch
from tests.harness import LATEST, b8, case, cases, check, f32, f64, i64

MASKS = [
    case("select", lambda x, m: x.masked_select(m), f32(3, 4), b8(3, 4), dynamic={0: {0: "n"}, 1: {0: "n"}}),
    case("select_broadcast", lambda x, m: x.masked_select(m), f32(3, 1), b8(4)),
    case("select_0d", lambda x, m: x.masked_select(m), f32(), torch.tensor(True)),
    case("scatter", lambda x, m, s: x.masked_scatter(m, s), f32(3, 4), b8(3, 4), f64(20).make(0).float()),
    case("scatter_broadcast", lambda x, m, s: x.masked_scatter(m, s), i64(3, 4), b8(4), i64(4, 5)),
    case("scatter_0d", lambda x, m, s: x.masked_scatter(m, s), f32(), torch.tensor(True), f32(2)),
    case("fill_diagonal", lambda x: x.clone().fill_diagonal_(7), f32(3, 4), dynamic={0: "n", 1: "m"}),
    case("fill_diagonal_complex", lambda x: x.clone().fill_diagonal_(7), torch.randn(3, 4, dtype=torch.complex64)),
    case("fill_diagonal_tall", lambda x: x.clone().fill_diagonal_(7), i64(7, 2)),
    case(
        "fill_diagonal_wrapped", lambda x: x.clone().fill_diagonal_(7, wrap=True), f32(8, 2), dynamic={0: "n", 1: "m"}
    ),
    case("fill_diagonal_cube", lambda x: x.clone().fill_diagonal_(0.5), f32(3, 3, 3), dynamic={0: "n", 1: "n", 2: "n"}),
    case("nonzero", lambda x: x.nonzero(), i64(3, 4, low=0, high=1), dynamic={0: "n", 1: "m"}),
    case("nonzero_floats", lambda x: x.nonzero(), torch.tensor([0.0, -0.0, 0.25, float("nan")])),
    case("nonzero_0d", lambda x: x.nonzero(), torch.tensor(3.0), others=[(torch.tensor(0.0),)]),
    case("nonzero_tuple", lambda x: x.nonzero(as_tuple=True), b8(3, 4)),
    case("argwhere", lambda x: x.argwhere(), b8(3, 4)),
    case("where", lambda x: torch.where(x), b8(3, 4)),
    case("where_0d", lambda x: torch.where(x), torch.tensor(True)),
    case("static", lambda x: x.nonzero_static(size=3), b8(3, 4)),
    case("static_filled", lambda x: x.nonzero_static(size=14, fill_value=7), b8(3, 4)),
]


@cases(MASKS, opsets=(11, LATEST))
def test_masks(case, frontend, opset):
    check(case, frontend, opset)
