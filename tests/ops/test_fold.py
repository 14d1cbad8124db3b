import torch
import torch.nn.functional as F
from tests.harness import LATEST, case, cases, check, f32, f64, operators

DYNAMIC = {0: {0: "n", 2: "h", 3: "w"}}
UNFOLD = [
    case("plain", lambda x: F.unfold(x, 3), f32(2, 3, 5, 6), dynamic=DYNAMIC),
    case(
        "options",
        lambda x: F.unfold(x, (2, 3), dilation=(2, 1), padding=(1, 2), stride=(1, 2)),
        f32(2, 3, 5, 6),
        dynamic=DYNAMIC,
    ),
    case("patches", lambda x: F.unfold(x, 2, stride=2), f32(2, 3, 4, 6), dynamic={0: "n"}),
    case("patches_with_rest", lambda x: F.unfold(x, 2, stride=2), f32(2, 3, 5, 7), dynamic=DYNAMIC),
    case("unbatched", lambda x: F.unfold(x, 2, padding=1), f32(3, 4, 5)),
    case("double", lambda x: F.unfold(x, 2), f64(1, 2, 3, 4)),
    case("not_finite", lambda x: F.unfold(x, 2), torch.tensor([[[[1.0, float("inf")], [float("nan"), 2.0]]]])),
]
FOLD = [
    case("plain", lambda x: F.fold(x, (5, 6), 3), f32(2, 27, 12), dynamic={0: "n"}),
    case(
        "options",
        lambda x: F.fold(x, (5, 6), (2, 3), dilation=(2, 1), padding=(1, 2), stride=(1, 2)),
        f32(2, 12, 20),
        dynamic={0: "n"},
    ),
    case("gaps", lambda x: F.fold(x, (6, 7), 2, stride=3), f32(2, 8, 4)),
    case("patches", lambda x: F.fold(x, (4, 6), 2, stride=2), f32(2, 12, 6), dynamic={0: "n"}),
    case("unbatched", lambda x: F.fold(x, (4, 5), 2), f32(12, 12)),
    case("double", lambda x: F.fold(x, (3, 4), 2), f64(1, 8, 6)),
    case(
        "there_and_back",
        lambda x: F.fold(F.unfold(x, 3, padding=1), x.shape[2:], 3, padding=1),
        f32(2, 3, 5, 6),
        dynamic=DYNAMIC,
    ),
]


@cases(UNFOLD, opsets=(9, 11, 13, LATEST))
def test_unfold(case, frontend, opset):
    check(case, frontend, opset)


@cases(FOLD, opsets=(11, 13, 18, LATEST))
def test_fold(case, frontend, opset):
    check(case, frontend, opset)


def test_patches_only_move():
    model = check(UNFOLD[2])
    assert operators(model) == ["Reshape", "Transpose", "Reshape"]
