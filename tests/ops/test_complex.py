import torch
from tests.harness import LATEST, b8, c64, case, cases, check, f32, i64, operators

N = {0: {0: "n"}}
CASES = [
    case("view_as_real", torch.view_as_real, c64(2, 3), dynamic=N),
    case("view_as_complex", lambda x: torch.view_as_complex(x).abs(), f32(2, 3, 2), dynamic=N),
    case("output", lambda x: x * 2, c64(2, 3), dynamic=N),
    case("complex", torch.complex, f32(2, 3), f32(2, 3)),
    case("complex_broadcast", torch.complex, f32(2, 1), f32(3)),
    case("polar", torch.polar, f32(2, 3), f32(2, 3), dynamic={0: {0: "n"}, 1: {0: "n"}}),
    case("parts", lambda x: (x.real, x.imag, x.abs(), x.angle()), c64(2, 3), dynamic=N),
    case("conj", lambda x: x.conj() * x, c64(2, 3)),
    case("add", lambda x, y: (x + y, x - y, x + 1, 2 - x, x + 2j), c64(2, 3), c64(3)),
    case("with_real", lambda x, y: (x + y, y - x, x * y, y * x, x / y, y / x), c64(2, 3), f32(2, 3, low=1, high=2)),
    case("mul", lambda x, y: (x * y, x / y, x * (1 + 2j), x.reciprocal(), x**2), c64(2, 3), c64(3)),
    case("functions", lambda x: (x.exp(), x.log(), torch.sgn(x), x.square()), c64(2, 3)),
    case("matmul", lambda x, y: x @ y, c64(2, 3), c64(3, 4), dynamic=N),
    case("sums", lambda x: (x.sum(), x.mean(1), x.sum(0, keepdim=True)), c64(2, 3)),
    case("layout", lambda x: x.permute(1, 0).reshape(3, 2, 1)[1:].unsqueeze(0).expand(2, 2, 2, 1), c64(2, 3)),
    case("select", lambda x: x[0, ::2], c64(2, 3)),
    case("cat", lambda x, y: (torch.cat([x, y]), torch.stack([x, y], 1), torch.cat([x, y.real])), c64(2, 3), c64(2, 3)),
    case("chunk", lambda x: x.chunk(2, 1)[1] * 2, c64(2, 4)),
    case("index", lambda x, i: x[i], c64(4, 3), torch.tensor([3, 0, 1])),
    case("equal", lambda x, y: (x == y, x != x), c64(2, 3), c64(2, 3)),
    case("where", lambda x, y: torch.where(x.real > 0, x, y), c64(2, 3), c64(2, 3)),
    case("of_real", lambda x: (torch.real(x), torch.angle(x), x.conj()), torch.tensor([1.0, -2.0, -0.0, float("nan")])),
    case("of_integers", lambda x: (torch.angle(x), torch.conj_physical(x)), torch.tensor([1, -2, 0])),
    case("constant", lambda x: x * torch.tensor([1 + 2j, 3j, -1.0]), c64(2, 3)),
    case("rotary", lambda x, f: torch.view_as_real(torch.view_as_complex(x.reshape(2, 4, 3, 2)) * f).flatten(2), f32(2, 4, 6), c64(4, 3)),
]  # fmt: skip


@cases(CASES, opsets=(11, 13, LATEST))
def test_complex(case, frontend, opset):
    check(case, frontend, opset)


def test_parts_stay_apart():
    model = check(case("abs", lambda x, y: (torch.complex(x, y) * 2).abs(), f32(2, 3), f32(2, 3)))
    assert "Concat" not in operators(model)


MORE = [
    case(
        "creation",
        lambda x: (
            x + torch.zeros(3, dtype=torch.complex64),
            torch.full((2,), 1 - 2j),
            torch.eye(2, dtype=torch.complex64),
            torch.ones(x.shape[0], dtype=torch.complex128),
        ),
        f32(3),
    ),
    case(
        "creation_of_many",
        lambda x: (
            torch.zeros(40, 40, dtype=torch.complex64) + x,
            torch.full((2000,), 1 - 2j),
            torch.ones(1500, dtype=torch.cfloat),
        ),
        f32(40),
    ),
    case(
        "from_real", lambda x: (x.cfloat(), x.to(torch.complex128), torch.view_as_real(x.chalf())), f32(2, 3), dynamic=N
    ),
    case("to_device", lambda x: (x.to("cpu") * 2j, x.to(torch.complex128).to("cpu")), c64(2, 3), dynamic=N),
    case("from_int", lambda x: x.to(torch.complex64) * 2j, i64(2, 3)),
    case("pad", lambda x: torch.nn.functional.pad(x, (1, 2), value=1.5), c64(2, 3), dynamic=N),
    case("pad_reflect", lambda x: torch.nn.functional.pad(x, (1, 2), mode="reflect"), c64(2, 3)),
    case("masked_fill", lambda x, m: (x.masked_fill(m, 2), x.masked_fill(m, 1 - 1j)), c64(2, 3), b8(2, 3)),
    case("where_scalar", lambda x, m: torch.where(m, x, torch.tensor(2 + 1j)), c64(), b8()),
    case("index_add", lambda x, y: x.index_add(0, torch.tensor([0, 1, 0]), y), c64(2, 3), c64(3, 3)),
    case("block_diag", torch.block_diag, c64(2, 3), c64(1, 2)),
]


@cases(MORE, opsets=(13, LATEST))
def test_more(case, frontend, opset):
    check(case, frontend, opset)
