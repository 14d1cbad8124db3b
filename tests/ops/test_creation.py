import torch
from tests.harness import LATEST, b8, case, cases, check, f16, f32, f64, i64, operators

N = {0: {0: "n"}}
NM = {0: {0: "n", 1: "m"}}

FULLS = [
    case("zeros", lambda x: torch.zeros(x.shape[0], 3) + x, f32(2, 3), dynamic=N),
    case("ones", lambda x: torch.ones(x.shape[0], 3, dtype=torch.int64) + x, f32(2, 3), dynamic=N),
    case("of_bfloat16", lambda x: torch.ones(x.shape), torch.randn(2, 3).bfloat16(), dynamic=N, opset=13),
    case("full", lambda x: torch.full((x.shape[0], 2), 1.5) + x[:, :2], f64(2, 3), dynamic=N),
    case("full_int", lambda x: torch.full((x.shape[0],), 7) + x, i64(2), dynamic=N),
    case("full_bool", lambda x: torch.full((x.shape[0],), True) & x, b8(2), dynamic=N),
    case("full_of_size", lambda x: torch.full((2,), x.shape[0]) + x[:2], f32(4), dynamic=N),
    case("full_infinite", lambda x: torch.full((3, 3), float("-inf")).triu(1) + x, f32(3, 3)),
    case("likes", lambda x: (torch.zeros_like(x), torch.ones_like(x, dtype=torch.int32)), f32(2, 3), dynamic=NM),
    case("full_like", lambda x: (torch.full_like(x, 3), torch.full_like(x, 2.7)), i64(2, 3), dynamic=NM),
    case("new", lambda x: (x.new_zeros(2), x.new_ones((x.shape[0], 2)), x.new_full((1,), 3)), f16(2, 3), dynamic=N),
    case("large", lambda x: torch.zeros(64, 64) + x, f32(64)),
    case("empty_filled", lambda x: torch.empty(x.shape[0], 2).fill_(3) + x, f32(4, 2), dynamic=N),
    case("scalar_tensor", lambda x: x + torch.scalar_tensor(2.5), f64(3)),
    case("tensor", lambda x: x + torch.tensor([1, 2, 3]), f32(3)),
]


@cases(FULLS, opsets=(9, 13, 14, LATEST))
def test_full(case, frontend, opset):
    check(case, frontend, opset)


SEQUENCES = [
    case("arange", lambda x: torch.arange(x.shape[0]) + x, f32(4), dynamic=N),
    case("dim_arange", lambda x: torch._dim_arange(x, 1) + x, f32(2, 4), dynamic={1: "n"}),
    case("arange_dtype", lambda x: torch.arange(x.shape[0], dtype=torch.float32) * x, f32(4), dynamic=N),
    case("arange_start", lambda x: torch.arange(1, x.shape[0] + 1) + x, i64(4), dynamic=N),
    case("arange_static", lambda x: torch.arange(0, 6, 2) + x, f32(3)),
    case("arange_floats", lambda x: torch.arange(0.1, 1.3, 0.3) + x, f32(4)),
    case("arange_down", lambda x: torch.arange(5, 0, -2) + x, f32(3)),
    case("arange_half", lambda x: torch.arange(0, 3, 0.1, dtype=torch.float16) + x, f16(1)),
    case("arange_large", lambda x: torch.arange(0, 20000, 0.5) + x, f32(1)),
    case(
        "positions", lambda x: x + torch.arange(x.shape[1]).unsqueeze(0).expand(x.shape[0], -1), f32(2, 3), dynamic=NM
    ),
    case("linspace", lambda x: torch.linspace(-1, 1, 5) + x, f32(5)),
    case("logspace", lambda x: torch.logspace(0, 2, 4) + x, f64(4)),
    case("eye", lambda x: torch.eye(3) + x, f32(3, 3)),
    case("eye_dynamic", lambda x: torch.eye(x.shape[0], x.shape[1]) + x, f32(3, 4), dynamic=NM),
    case("tril_indices", lambda x: torch.tril_indices(3, 4, 1) + x, i64(1)),
    case("triu_indices_dynamic", lambda x: torch.triu_indices(x.shape[0], x.shape[1], -1), f32(3, 4), dynamic=NM),
]


@cases(SEQUENCES, opsets=(9, 11, 13, LATEST))
def test_sequences(case, frontend, opset):
    check(case, frontend, opset)


COMPUTED = [
    case("steps", lambda x: torch.arange(0, x.shape[0], 2) + 0.5, f32(5), dynamic=N),
    case("float_step", lambda x: torch.arange(0, x.shape[0], 0.5), f32(3), dynamic=N),
    case("down", lambda x: torch.arange(x.shape[0] - 1, -1, -1), f32(5), dynamic=N),
    *[
        case(
            f"fractions_{str(d)[6:]}",
            lambda x, d=d: (torch.arange(x.shape[0], 8.5, 1.5, dtype=d), torch.arange(x.shape[0], -7.5, -1.7, dtype=d)),
            f32(2),
            dynamic=N,
        )
        for d in (torch.int64, torch.int32, torch.uint8, torch.float64)
    ],
    *[
        case(
            f"cut_ends_{f.__name__}_{str(d)[6:]}",
            lambda x, y, f=f, d=d: (f(x[0], y[0], 5, dtype=d), f(x[0], 2.6, 4, dtype=d), f(-1.7, y[0], 4, dtype=d)),
            torch.tensor([-2.4]),
            torch.tensor([3.8]),
            others=[(torch.tensor([1.9]), torch.tensor([-1.2]))],
        )
        for f in (torch.linspace, torch.logspace)
        for d in (torch.int64, torch.int32, torch.float32)
    ],
    case("to_a_value", lambda x: torch.arange(x[0]), i64(3, low=1, high=6), others=[(torch.tensor([9, 2, 1]),)]),
    case("linspace", lambda x: torch.linspace(0, 1, x.shape[0]) + x, f32(4), dynamic=N),
    case("linspace_end", lambda x: torch.linspace(0, x.shape[0] - 1, 4), f32(4), dynamic=N),
    case("linspace_one", lambda x: torch.linspace(3, 4, x.shape[0]), f32(2), dynamic=N, others=[(torch.rand(1),)]),
    case("logspace", lambda x: torch.logspace(0, 1, x.shape[0]), f32(4), dynamic=N),
]


@cases(COMPUTED, opsets=(13, LATEST))
def test_computed_sequences(case, frontend, opset):
    check(case, frontend, opset)


def test_known_sequences_are_constants():
    assert operators(check(case("positions", lambda x: x + torch.arange(4), f32(4)))) == ["Add"]
