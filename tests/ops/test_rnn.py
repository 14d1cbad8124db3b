import torch
from tests.harness import LATEST, case, cases, check, f16, f32, f64, operators
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

LAYERS = {
    "lstm": torch.nn.LSTM,
    "gru": torch.nn.GRU,
    "tanh": torch.nn.RNN,
    "relu": lambda *a, **k: torch.nn.RNN(*a, nonlinearity="relu", **k),
}
TIME_AND_BATCH = {0: {0: "time", 1: "batch"}}
BATCH_AND_TIME = {0: {0: "batch", 1: "time"}}


def layer(kind, **options):
    torch.manual_seed(0)
    return LAYERS[kind](3, 4, **options)


class WithState(torch.nn.Module):
    """A layer whose initial state is an input."""

    def __init__(self, kind, **options):
        super().__init__()
        self.layer = layer(kind, **options)

    def forward(self, x, *state):
        return self.layer(x, state[0] if len(state) == 1 else state)


STATE = {0: {0: "time", 1: "batch"}, 1: {1: "batch"}}
CASES = [
    case("lstm", layer("lstm"), f32(5, 2, 3), dynamic=TIME_AND_BATCH),
    case("gru", layer("gru"), f32(5, 2, 3), dynamic=TIME_AND_BATCH),
    case("tanh", layer("tanh"), f32(5, 2, 3), dynamic=TIME_AND_BATCH),
    case("relu", layer("relu"), f32(5, 2, 3), dynamic=TIME_AND_BATCH),
    case("static", layer("lstm"), f32(5, 2, 3)),
    case(
        "lstm_deep",
        layer("lstm", num_layers=3, bidirectional=True, batch_first=True),
        f32(2, 5, 3),
        dynamic=BATCH_AND_TIME,
    ),
    case("gru_deep", layer("gru", num_layers=2, bidirectional=True), f32(5, 2, 3), dynamic=TIME_AND_BATCH),
    case("tanh_deep", layer("tanh", num_layers=2, bidirectional=True), f32(5, 2, 3), dynamic=TIME_AND_BATCH),
    case("relu_deep", layer("relu", num_layers=2, bidirectional=True), f32(5, 2, 3), dynamic=TIME_AND_BATCH),
    case("no_bias", layer("lstm", bias=False, bidirectional=True), f32(5, 2, 3), dynamic=TIME_AND_BATCH),
    case("gru_no_bias", layer("gru", bias=False), f32(5, 2, 3), dynamic=TIME_AND_BATCH),
    case("dropout_in_eval", layer("lstm", num_layers=2, dropout=0.5), f32(5, 2, 3), dynamic=TIME_AND_BATCH),
    case("unbatched", layer("gru"), f32(5, 3), dynamic={0: "time"}),
    case("float16_gru", layer("gru").half(), f16(5, 2, 3), rtol=2e-2, atol=5e-3),
    case(
        "lstm_state",
        WithState("lstm", num_layers=2),
        f32(5, 2, 3),
        f32(2, 2, 4),
        f32(2, 2, 4),
        dynamic=STATE | {2: {1: "batch"}},
    ),
    case("gru_state", WithState("gru", num_layers=2, bidirectional=True), f32(5, 2, 3), f32(4, 2, 4), dynamic=STATE),
    case("projected", layer("lstm", proj_size=2), f32(5, 2, 3), dynamic=TIME_AND_BATCH),
    case(
        "projected_deep",
        layer("lstm", proj_size=2, num_layers=2, bidirectional=True, batch_first=True, bias=False),
        f32(2, 5, 3),
        dynamic=BATCH_AND_TIME,
    ),
    case(
        "projected_double", layer("lstm", proj_size=2, bidirectional=True).double(), f64(5, 2, 3), rtol=1e-9, atol=1e-9
    ),
    case("projected_unbatched", layer("lstm", proj_size=3), f32(5, 3), dynamic={0: "time"}),
    case(
        "projected_state",
        WithState("lstm", proj_size=2, bidirectional=True),
        f32(5, 2, 3),
        f32(2, 2, 2),
        f32(2, 2, 4),
        dynamic=STATE | {2: {1: "batch"}},
    ),
    case("tanh_state", WithState("tanh"), f32(5, 2, 3), f32(1, 2, 4), dynamic=STATE),
]


@cases(CASES, opsets=(9, 14, LATEST))
def test_layers(case, frontend, opset):
    check(case, frontend, opset)


@cases([case("lstm_double", layer("lstm").double(), f64(5, 2, 3), rtol=1e-5, atol=1e-6)])
def test_double(case, frontend, opset):
    """onnxruntime has no kernel for float64: it is computed in float32."""
    check(case, frontend, opset)


def test_few_nodes():
    model = check(case("lstm", layer("lstm", num_layers=2), f32(5, 2, 3), dynamic=TIME_AND_BATCH))
    assert sorted(set(operators(model))) == ["Concat", "LSTM", "Squeeze"]


class Packing(torch.nn.Module):
    def __init__(self, kind, sorted=True, total=None, value=0.0, between=None, **options):
        super().__init__()
        self.layer = layer(kind, **options)
        self.sorted, self.total, self.value, self.between = sorted, total, value, between

    def forward(self, x, lengths):
        first = self.layer.batch_first
        packed = pack_padded_sequence(x, lengths, batch_first=first, enforce_sorted=self.sorted)
        if self.between is not None:
            packed = PackedSequence(
                self.between(packed.data), packed.batch_sizes, packed.sorted_indices, packed.unsorted_indices
            )
        y, state = self.layer(packed)
        total = x.size(1 if first else 0) if self.total == "whole" else self.total
        padded, lengths = pad_packed_sequence(y, batch_first=first, padding_value=self.value, total_length=total)
        return padded, lengths, state


def lengths(*values):
    return torch.tensor(values)


def packing(name, kind="lstm", given=(5, 3, 2), others=(), dynamic=True, **options):
    """A packed batch; `others` are lists of lengths and the padded time."""
    first = options.get("batch_first", False)

    def batch(count, time):
        return (count, time, 3) if first else (time, count, 3)

    sizes = {0: "batch", 1: "time"} if first else {0: "time", 1: "batch"}
    made = [(f32(*batch(len(n), time)).make(7), lengths(*n)) for n, time in others]
    return case(
        name, Packing(kind, **options), f32(*batch(3, 5)), lengths(*given),
        dynamic={0: sizes, 1: {0: "batch"}} if dynamic else None, others=made,
    )  # fmt: skip


SORTED = [((4, 4, 1, 1), 6), ((2,), 2), ((7, 5), 7)]
UNSORTED = [((1, 4, 2, 4), 6), ((2,), 2), ((3, 7), 8)]
PACKED = [
    packing("lstm", others=SORTED),
    packing("gru", "gru", others=SORTED),
    packing("tanh_bidirectional", "tanh", others=SORTED, bidirectional=True),
    packing("batch_first", batch_first=True, num_layers=2, bidirectional=True, others=SORTED),
    packing("total_length", total=9, others=SORTED),
    packing("whole_length", total="whole", given=(4, 3, 2), others=SORTED),
    packing("padding_value", value=-1.5, total="whole", given=(4, 3, 2), others=SORTED),
    packing("data_between", between=lambda x: x * 2, others=SORTED),
    packing("projected", proj_size=2, others=SORTED),
    packing("projected_deep", proj_size=2, num_layers=2, bidirectional=True, sorted=False, batch_first=True, given=(3, 5, 2), others=UNSORTED),
    packing("unsorted", sorted=False, given=(3, 5, 2), others=UNSORTED),
    packing("unsorted_gru", "gru", sorted=False, batch_first=True, bidirectional=True, total="whole", given=(3, 4, 2), others=UNSORTED),
]  # fmt: skip


@cases(PACKED, opsets=(11, 13, LATEST))
def test_packed(case, frontend, opset):
    check(case, frontend, opset)


CELLS = [
    case("lstm", torch.nn.LSTMCell(3, 4), f32(2, 3), dynamic={0: "n"}),
    case("gru", torch.nn.GRUCell(3, 4), f32(2, 3), dynamic={0: "n"}),
    case("gru_no_bias", torch.nn.GRUCell(3, 4, bias=False), f32(2, 3), dynamic={0: "n"}),
    case("tanh", torch.nn.RNNCell(3, 4), f32(2, 3), dynamic={0: "n"}),
    case("relu", torch.nn.RNNCell(3, 4, nonlinearity="relu"), f32(2, 3), dynamic={0: "n"}),
]


@cases(CELLS, opsets=(9, LATEST), frontends=("trace",))
def test_cells(case, frontend, opset):
    check(case, frontend, opset)
