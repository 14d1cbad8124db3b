import torch
import torch.nn.functional as F
from tests.harness import LATEST, b8, case, cases, check, f16, f32, f64, i64
from torch.nn.utils.rnn import pad_sequence

N = {0: {0: "n"}}
SPACE = {0: {0: "n", 2: "h", 3: "w"}}

STATIC = [
    case("constant", lambda x: F.pad(x, (1, 2, 0, 3), value=1.5), f32(2, 3, 4), dynamic=N),
    case("crop", lambda x: F.pad(x, (-1, 2, 1, -2)), f32(2, 5, 4)),
    case("module", torch.nn.ConstantPad2d((1, 0, 2, 1), -3.5), f32(1, 2, 3, 4), dynamic=SPACE),
    case("infinite", lambda x: F.pad(x, (0, 1), value=float("-inf")), f64(2, 3)),
    case("integers", lambda x: F.pad(x, (1, 1), value=7), i64(2, 3)),
    case("bools", lambda x: F.pad(x, (1, 1), value=True), b8(2, 3)),
    case("half", lambda x: F.pad(x, (1, 1), value=0.5), f16(2, 3)),
    case("reflect", lambda x: F.pad(x, (2, 1), mode="reflect"), f32(2, 3, 4), dynamic=N),
    case("reflect_2d", torch.nn.ReflectionPad2d(1), f32(1, 2, 3, 4), dynamic=SPACE),
    case("reflect_crop", lambda x: F.pad(x, (-1, 2), mode="reflect"), f32(2, 3, 5)),
    case("replicate", lambda x: F.pad(x, (2, 1, 1, 0), mode="replicate"), f32(1, 2, 3, 4), dynamic=SPACE),
    case("replicate_3d", torch.nn.ReplicationPad3d(1), f32(1, 2, 2, 3, 2)),
    case("circular", lambda x: F.pad(x, (2, 1, 1, 0), mode="circular"), f32(1, 2, 3, 4)),
]


@cases(STATIC, opsets=(9, 11, 13, 18, 19, LATEST))
def test_static(case, frontend, opset):
    check(case, frontend, opset)


DYNAMIC = [
    case("by_size", lambda x: F.pad(x, (0, 9 - x.shape[1])), f32(2, 4), dynamic={0: {1: "m"}}),
    case("to_a_multiple", lambda x: F.pad(x, (0, -x.shape[1] % 4)), f32(2, 5), dynamic={0: {1: "m"}}),
    case("replicate_crop", lambda x: F.pad(x, (-1, 2), mode="replicate"), f32(2, 3, 5), dynamic={0: {2: "w"}}),
    case("replicate_shift", lambda x: F.pad(x, (-4, 6), mode="replicate"), f32(2, 3, 4)),
    case("circular", lambda x: F.pad(x, (2, 1), mode="circular"), f32(2, 3, 4), dynamic={0: {2: "w"}}),
]


@cases(DYNAMIC, opsets=(12, 13, 18, LATEST))
def test_dynamic(case, frontend, opset):
    check(case, frontend, opset)


ROWS = {0: {0: "n"}, 1: {0: "m"}}
SEQUENCES = [
    case("first", lambda x, y: pad_sequence([x, y], batch_first=True), f32(3, 4), f32(5, 4), dynamic=ROWS),
    case("value", lambda x, y: pad_sequence([x, y], padding_value=-1.5), f32(3, 4), f32(5, 4), dynamic=ROWS),
    case("left", lambda x, y: pad_sequence([x, y, x], padding_side="left"), i64(3), i64(5), dynamic=ROWS),
    case("static", lambda x, y: pad_sequence([x, y], True), f32(3, 4), f32(2, 4)),
]


@cases(SEQUENCES, opsets=(11, LATEST))
def test_sequences(case, frontend, opset):
    check(case, frontend, opset)
