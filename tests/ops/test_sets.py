import torch
from tests.harness import LATEST, b8, case, cases, check, i64

T = torch.tensor
NAN = float("nan")
REPEATS = T([3, 3, 1, 1, 1, 2, 3])
FLOATS = T([[1.0, NAN, 0.5], [0.5, NAN, 1.0]])
ROWS = T([[1, 2], [1, 2], [0, 5], [1, 2]])

UNIQUE = [
    case("ints", lambda x: x.unique(), i64(3, 4), dynamic={0: "n"}),
    case("ints_all", lambda x: x.unique(return_inverse=True, return_counts=True), i64(3, 4)),
    case("bool", lambda x: x.unique(return_inverse=True), b8(5)),
    case("floats_all", lambda x: x.unique(return_inverse=True, return_counts=True), FLOATS, dynamic={0: "n"}),
    case("rows", lambda x: x.unique(dim=0, return_inverse=True, return_counts=True), ROWS, dynamic={0: "n"}, opset=11),
    case("columns", lambda x: x.unique(dim=1), ROWS, opset=11),
    case("size_used", lambda x: x.unique().shape[0] * x, i64(3, 4)),
    case("runs", lambda x: x.unique_consecutive(return_inverse=True, return_counts=True), REPEATS, dynamic={0: "n"}),
    case("runs_flat", lambda x: x.unique_consecutive(return_inverse=True), REPEATS.reshape(1, 7)),
    case("runs_floats", lambda x: x.unique_consecutive(return_counts=True), FLOATS),
    case("runs_rows", lambda x: x.unique_consecutive(True, True, 0), ROWS, dynamic={0: "n"}),
    case("runs_empty", lambda x: x.unique_consecutive(True, True), torch.zeros(0)),
    case(
        "runs_perhaps_empty", lambda x: x.unique_consecutive(True, True), REPEATS, dynamic={0: "n"},
        others=[(REPEATS[:0],), (REPEATS[:1],)],
    ),
]  # fmt: skip


@cases(UNIQUE, opsets=(11, LATEST))
def test_unique(case, frontend, opset):
    check(case, frontend, opset)
