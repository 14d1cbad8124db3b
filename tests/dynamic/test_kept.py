"""What is known to keep every size needs no second trace; whatever may lose one is traced again."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import onnxport
from onnxport.capture import trace
from onnxport.capture.liveness import behind, reruns
from onnxport.capture.liveness.comparison import same_text
from onnxport.errors import OnnxExporterWarning


@torch.jit.script
def scripted(x: torch.Tensor, n: int) -> torch.Tensor:
    return x + n


def _set(x, index, value):
    y = x + 0
    y[index] = value
    return y


# Calls with a size, a bare one or in a list, of an (n, 6) tensor.
CALLS = {
    "zeros": lambda x, n: torch.zeros(n),
    "ones": lambda x, n: torch.ones(n, 2),
    "full": lambda x, n: torch.full((n,), 1.0),
    "full_value": lambda x, n: torch.full((2,), n),
    "empty": lambda x, n: torch.empty(n, 2).fill_(0),
    "new_zeros": lambda x, n: x.new_zeros(n),
    "new_zeros_list": lambda x, n: x.new_zeros((n, 1)),
    "new_full": lambda x, n: x.new_full((n,), 3),
    "arange": lambda x, n: torch.arange(n),
    "arange_steps": lambda x, n: torch.arange(0, n, 2),
    "linspace": lambda x, n: torch.linspace(0, 1, n),
    "linspace_end": lambda x, n: torch.linspace(0, n, 4),
    "slice": lambda x, n: x[: n - 1],
    "slice_step": lambda x, n: x[n // 2 :: 1, :-1],
    "item": lambda x, n: x[n - 1],
    "row_list": lambda x, n: x[[0, n - 1], :],
    "row_tensor": lambda x, n: x[torch.arange(n)],
    "select": lambda x, n: x.select(0, n - 1),
    "narrow": lambda x, n: x.narrow(0, 0, n - 1),
    "repeat": lambda x, n: x.repeat(n, 1),
    "repeat_bare": lambda x, n: x[0].repeat(n),
    "expand": lambda x, n: x[:1].expand(n, -1),
    "view_bare": lambda x, n: x.view(x.numel()),
    "view": lambda x, n: x.view(n, 2, 3),
    "view_list": lambda x, n: x.reshape([n, -1]),
    "unflatten": lambda x, n: x.flatten().unflatten(0, (n, 6)),
    "shape_numel": lambda x, n: torch.zeros(x.shape.numel(), 2),
    "shape_slice": lambda x, n: torch.zeros(x.shape[1:] + (n,)),
    "shape_product": lambda x, n: x.view(x.shape[0] * x.shape[1]),
    "split": lambda x, n: x.split(n)[0],
    "split_two": lambda x, n: x.split(2)[0],
    "split_list": lambda x, n: x.split([1, n - 1])[1],
    "chunk": lambda x, n: x.chunk(n)[0],
    "chunk_two": lambda x, n: x.chunk(2, 1)[0],
    "chunk_keywords": lambda x, n: torch.chunk(input=x, chunks=2, dim=0)[0],
    "chunk_count": lambda x, n: x.chunk(chunks=n, dim=1)[0],
    "split_keywords": lambda x, n: x.split(split_size=2, dim=0)[1],
    "split_size": lambda x, n: torch.split(x, split_size_or_sections=n, dim=1)[0],
    "unbind_keywords": lambda x, n: torch.unbind(input=x, dim=0)[0],
    "unbind": lambda x, n: torch.stack(x.unbind(0)),
    "iteration": lambda x, n: sum(row for row in x),
    "roll": lambda x, n: x.roll(n - 1, 0),
    "roll_list": lambda x, n: x.roll((n - 1, 1), (0, 1)),
    "roll_named": lambda x, n: torch.roll(x, shifts=n // 2, dims=0),
    "full_like": lambda x, n: torch.full_like(x, 2.0),
    "full_like_size": lambda x, n: torch.full_like(x, n),
    "empty_like": lambda x, n: torch.empty_like(x).fill_(n),
    "diff": lambda x, n: torch.diff(x, prepend=x[:1], dim=0),
    "diff_times": lambda x, n: torch.diff(x, n - 2, 0),
    "grid_sample": lambda x, n: F.grid_sample(x[None, None], torch.zeros(1, n, 2, 2), align_corners=False),
    "meshgrid": lambda x, n: torch.meshgrid(torch.arange(n), torch.arange(2), indexing="ij")[0],
    "weight_norm": lambda x, n: torch._weight_norm(x, x[:, :1], 0),
    "set_row": lambda x, n: _set(x, n - 1, 2.0),
    "set_rows": lambda x, n: _set(x, slice(0, n - 1), n),
    "set_tensor": lambda x, n: _set(x, (slice(None), slice(0, 2)), torch.ones(1, 2)),
    "set_by_index": lambda x, n: _set(x[:, 0], torch.arange(n), torch.arange(n).float()),
    "set_rows_by_index": lambda x, n: _set(x, torch.arange(n), x[:1]),
    "set_by_mask": lambda x, n: _set(x, x > 0, n),
    "set_list": lambda x, n: _set(x, [0, n - 1], 1.0),
    "and": lambda x, n: (x > 0) & (torch.arange(n)[:, None] > 1),
    "tensor_list": lambda x, n: x + torch.tensor([[n, 2, 3], [4, 5, n]]).sum(),
    "tensor_rows": lambda x, n: x + torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
    "tensor_of_size": lambda x, n: x + torch.tensor(n),
    "tensor_of_row": lambda x, n: x + torch.tensor(x[n - 1], dtype=torch.float64),
    "topk": lambda x, n: x.topk(n - 1, 0)[0],
    "one_hot": lambda x, n: F.one_hot(torch.tensor([0, 1]), n),
    "tril": lambda x, n: x.tril(n - 2),
    "rot90": lambda x, n: torch.rot90(x, n),
    "pad": lambda x, n: F.pad(x, (0, n)),
    "pad_value": lambda x, n: F.pad(x, (0, 1), value=n),
    "clamp": lambda x, n: x.clamp(max=n),
    "clamp_both": lambda x, n: torch.clamp(x, -n, n),
    "mean": lambda x, n: x.sum() / n,
    "power": lambda x, n: x**n,
    "floor": lambda x, n: x[: n // 2 + n % 2],
    "masked_fill": lambda x, n: x.masked_fill(x > 0, n),
    "where": lambda x, n: torch.where(x > 0, x, n),
    "leaky_relu": lambda x, n: F.leaky_relu(x, n),
    "elu": lambda x, n: F.elu(x, n),
    "hardtanh": lambda x, n: F.hardtanh(x, -n, n),
    "softplus": lambda x, n: F.softplus(x, n),
    "dropout": lambda x, n: F.dropout(x, 1 / n, training=False),
    "layer_norm": lambda x, n: F.layer_norm(x, (6,), eps=1 / n),
    "layer_norm_rows": lambda x, n: F.layer_norm(x, x.shape),
    "group_norm": lambda x, n: F.group_norm(x.view(1, n, 6), n),
    "layer_norm_of_torch": lambda x, n: torch.layer_norm(x, (6,), eps=1 / n),
    "max_pool_of_torch": lambda x, n: torch.max_pool1d(x.t()[None], n),
    "nan_to_num_in_place": lambda x, n: x.clone().nan_to_num_(n),
    "pixel_shuffle": lambda x, n: F.pixel_shuffle(torch.zeros(1, n * n, 2, 2), n),
    "triu_indices": lambda x, n: torch.triu_indices(n, n),
    "celu": lambda x, n: F.celu(x, n),
    "addmm": lambda x, n: torch.addmm(x, x, torch.ones(6, 6), beta=n, alpha=n),
    "tensor_unfold": lambda x, n: x.unfold(0, n - 1, 1),
    "normalize": lambda x, n: F.normalize(x, eps=n),
    "batch_norm": lambda x, n: F.batch_norm(x, torch.zeros(6), torch.ones(6), None, None, False, 0.1, 1 / n),
    "attention": lambda x, n: F.scaled_dot_product_attention(x[None], x[None], x[None], scale=n**-0.5),
    "conv_padding": lambda x, n: F.conv1d(x[None, :3], torch.ones(3, 3, 1), padding=n),
    "conv_padding_list": lambda x, n: F.conv1d(x[None, :3], torch.ones(3, 3, 1), padding=(n,)),
    "avg_pool": lambda x, n: F.avg_pool1d(x.t()[None], n),
    "max_pool": lambda x, n: F.max_pool1d(x.t()[None], 2, n),
    "adaptive": lambda x, n: F.adaptive_avg_pool1d(x[None], n),
    "interpolate": lambda x, n: F.interpolate(x[None], size=n),
    "interpolate_list": lambda x, n: F.interpolate(x[None, None], size=(n, n)),
    "unfold": lambda x, n: F.unfold(x[None, None], (n, 2)),
    "unfold_bare": lambda x, n: F.unfold(x.repeat(1, 2)[None, None], n),
    "cumsum": lambda x, n: x.cumsum(0) + n,
    "norm": lambda x, n: torch.norm(x, n),
    "logsumexp": lambda x, n: x.logsumexp(0) * n,
    "einsum": lambda x, n: torch.einsum("ij,kj->ik", x, x) / n,
    "nan_to_num": lambda x, n: x.nan_to_num(n),
    "std": lambda x, n: x.std(0, correction=n - 2),
    "lerp": lambda x, n: torch.lerp(x, x + 1, n / 7),
    "addcmul": lambda x, n: torch.addcmul(x, x, x, value=n),
    "add_alpha": lambda x, n: torch.add(x, x, alpha=n),
    "to_int": lambda x, n: x + int(n),
    "length": lambda x, n: x / len(x),
    "comparison": lambda x, n: x + 1 if n > 4 else x - 1,
    "minimum": lambda x, n: x[: min(n, 4)],
    "stride": lambda x, n: x.t() + x.t().contiguous().stride(0),
    "tensor": lambda x, n: x * torch.tensor([n, 2]).sum(),
    "as_tensor": lambda x, n: x * torch.as_tensor(n),
    "as_tensor_list": lambda x, n: x * torch.as_tensor([n, 2]).sum(),
    "as_tensor_nested": lambda x, n: x * torch.as_tensor([[1, n], [n, 2]]).sum(),
    "as_tensor_pair": lambda x, n: x * torch.as_tensor((n, n), dtype=torch.float32).sum(),
    "bernoulli": lambda x, n: torch.bernoulli(x.sigmoid(), 1 / n),
    "eye": lambda x, n: torch.eye(n) + torch.eye(n, n),
    "eye_of_two": lambda x, n: torch.eye(2, n),
    "repeat_interleave": lambda x, n: x.repeat_interleave(n, 0),
    "repeat_interleave_flat": lambda x, n: torch.repeat_interleave(x, n),
    "repeat_interleave_two": lambda x, n: x.repeat_interleave(2, dim=0),
    "repeat_interleave_tensor": lambda x, n: x.repeat_interleave(torch.arange(n), dim=0),
    "repeat_interleave_bounded": lambda x, n: x.repeat_interleave(torch.ones(n).long(), dim=0, output_size=n),
    "repeat_interleave_ranks": lambda x, n: torch.repeat_interleave(torch.arange(n)),
    "scalar_tensor": lambda x, n: x * torch.scalar_tensor(n),
    "tile": lambda x, n: x.tile((n, 2)),
    "tile_bare": lambda x, n: x.tile(n, 2),
    "broadcast_to": lambda x, n: x[:1].broadcast_to(n, 6),
    "broadcast_to_list": lambda x, n: torch.broadcast_to(x[:1], (n, 6)),
    "broadcast_tensors": lambda x, n: torch.broadcast_tensors(x, torch.ones(n, 1))[1],
    "new_empty": lambda x, n: x.new_empty(n).fill_(n),
    "new_empty_list": lambda x, n: x.new_empty((n, 2)).zero_(),
    "fill": lambda x, n: x.clone().fill_(n),
    "index_add": lambda x, n: x.index_add(0, torch.arange(n), x, alpha=n),
    "index_fill": lambda x, n: x.index_fill(0, torch.tensor([0]), n),
    "histc": lambda x, n: torch.histc(x, n, min=0, max=n),
    "histc_range": lambda x, n: torch.histc(x, 4, min=-n, max=n),
    "bincount": lambda x, n: torch.bincount(torch.tensor([0, 1]), minlength=n),
    "cdist": lambda x, n: torch.cdist(x, x, p=n),
    "dist": lambda x, n: torch.dist(x, x + 1, n),
    "diag": lambda x, n: torch.diag(x, n - 3),
    "diagonal": lambda x, n: x.diagonal(n - 3),
    "diag_embed": lambda x, n: torch.diag_embed(x, offset=n - 1),
    "tensor_split": lambda x, n: x.tensor_split(2)[0],
    "tensor_split_at": lambda x, n: x.tensor_split((1, n - 1))[1],
    "tensor_split_count": lambda x, n: x.tensor_split(n)[0],
    "tensor_split_indices": lambda x, n: torch.tensor_split(x, [1], dim=0)[1],
    "tensor_split_keywords": lambda x, n: torch.tensor_split(x, indices=(n // 2,), dim=0)[1],
    "tensor_split_sections": lambda x, n: torch.tensor_split(input=x, sections=n, dim=1)[0],
    "tril_indices": lambda x, n: torch.tril_indices(n, 4),
    "rand": lambda x, n: torch.rand(n, 2),
    "randn_list": lambda x, n: torch.randn((n, 2)),
    "channel_shuffle": lambda x, n: F.channel_shuffle(torch.zeros(1, 2 * n, 2, 2), n),
    "pixel_unshuffle": lambda x, n: F.pixel_unshuffle(torch.zeros(1, 1, n * n, n * n), n),
    "clip": lambda x, n: x.clip(-1, n),
    "logit": lambda x, n: x.logit(1 / n),
    "cosine_similarity": lambda x, n: F.cosine_similarity(x, x + 1, eps=n),
    "smooth_l1_loss": lambda x, n: F.smooth_l1_loss(x, x + 1, beta=n),
    "adaptive_max_pool": lambda x, n: F.adaptive_max_pool1d(x[None], n - 1),
    "adaptive_max_pool_list": lambda x, n: F.adaptive_max_pool2d(x[None], (n - 1, 2)),
    "affine_grid": lambda x, n: F.affine_grid(torch.ones(1, 2, 3), [1, 1, n, n], align_corners=False),
    "affine_grid_of_size": lambda x, n: F.affine_grid(torch.ones(1, 2, 3), x[None, None].size(), align_corners=True),
    "embedding_bag": lambda x, n: F.embedding_bag(torch.zeros(n, 2).long(), x),
    "local_response_norm": lambda x, n: F.local_response_norm(x[None], n),
    "hardshrink": lambda x, n: F.hardshrink(x, 1 / n),
    "softshrink": lambda x, n: F.softshrink(x, 1 / n),
    "gru_cell": lambda x, n: torch.gru_cell(x, x[:, :2], torch.ones(6, 6), torch.ones(6, 2)),
    "lstm_cell": lambda x, n: torch.lstm_cell(x, (x[:, :2], x[:, :2]), torch.ones(8, 6), torch.ones(8, 2))[0],
    "conv_same": lambda x, n: F.conv1d(x[None, :3], torch.ones(3, 3, 3), padding="same"),
    "vector_norm": lambda x, n: torch.linalg.vector_norm(x, n),
    "linalg_norm": lambda x, n: torch.linalg.norm(x, dim=0),
    "fft": lambda x, n: torch.fft.fft(x, n, dim=0).real,
    "fft_whole": lambda x, n: torch.fft.fft(x, dim=0).real,
    "rfft": lambda x, n: torch.fft.rfft(x, n=n + 1).imag,
    "irfft": lambda x, n: torch.fft.irfft(torch.fft.rfft(x, dim=0), n, 0),
    "irfft_whole": lambda x, n: torch.fft.irfft(torch.fft.rfft(x, dim=0), dim=0),
    "rfft2": lambda x, n: torch.fft.rfft2(x, s=(n, 6)).real,
    "irfft2": lambda x, n: torch.fft.irfft2(torch.fft.rfft2(x), s=x.shape),
    "view_as_complex": lambda x, n: torch.view_as_real(torch.view_as_complex(x.view(n, 3, 2)) * n),
    "scatter_add": lambda x, n: x.scatter_add(0, torch.zeros(n, 6).long(), x),
    "scatter_reduce": lambda x, n: x.scatter_reduce(0, torch.zeros(n, 6).long(), x, "amax"),
    "searchsorted": lambda x, n: torch.searchsorted(torch.arange(n), torch.tensor([1, n])),
    "type": lambda x, n: x.type(torch.float64) + (x > 0).type(torch.IntTensor),
    "xor": lambda x, n: (x > 0) ^ (torch.arange(n)[:, None] > 1),
    "rows_copied": lambda x, n: x.clone().copy_(x[:1]),
    "softmin": lambda x, n: F.softmin(x, 0),
    "take_along_dim": lambda x, n: torch.take_along_dim(x, torch.arange(n)[:, None], 0),
    "median": lambda x, n: x.median(0)[0],
    "nonzero": lambda x, n: torch.nonzero(x > n / 9),
    "shape_as_tensor": lambda x, n: torch._shape_as_tensor(x) + n,
    "index_put": lambda x, n: x.index_put((torch.arange(n),), x),
    "index_put_row": lambda x, n: x.index_put((torch.tensor([0, 1]),), x[:1]),
    "solve": lambda x, n: torch.linalg.solve(torch.eye(n) * 2, x),
    "masked_scatter": lambda x, n: x.masked_scatter(x > 0, x),
    "threshold": lambda x, n: F.threshold(x, n, 0),
    "script": lambda x, n: scripted(x, n),
}


def _rows(n):
    return torch.linspace(-1, 1, n * 6).reshape(n, 6)


def _recorded(call, n):
    def model(x):
        return call(x, x.shape[0])

    return trace.record(model, (_rows(n),), {})


def _hold(program, n):
    return program.conditions.hold({}, lambda function: function(_rows(n)))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CALLS)
def test_a_call_that_loses_a_size_is_not_taken_for_one_that_keeps_it(name):
    first, second = _recorded(CALLS[name], 3), _recorded(CALLS[name], 5)
    program = first.read()
    if program.keeps_sizes and _hold(program, 5):
        assert same_text(first.graph, second.graph)


@pytest.mark.filterwarnings("ignore")
def test_most_calls_keep_sizes():
    programs = {name: _recorded(CALLS[name], 3).read() for name in CALLS}
    kept = [name for name, program in programs.items() if program.keeps_sizes]
    assert len(kept) > len(CALLS) / 2, sorted(set(CALLS) - set(kept))
    whole = [name for name in kept if _hold(programs[name], 5)]
    assert len(whole) > len(CALLS) / 2, sorted(set(kept) - set(whole))


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * x if x.shape[0] > 4 else x + x


# What Python takes out of sizes of an (n, 6) tensor, and whether it is the same for 3, 5 and 7 rows.
TAKEN = {
    "below": (lambda x: x + 1 if x.shape[0] < 9 else x - 1, {5: True, 7: True}),
    "between": (lambda x: x + 1 if x.shape[0] < 6 else x - 1, {5: True, 7: False}),
    "odd": (lambda x: x + 1 if x.shape[0] % 2 else x - 1, {4: False, 5: True, 7: True}),
    "both": (lambda x: x + 1 if x.shape[0] > 2 and x.shape[1] == 6 else x - 1, {2: False, 5: True}),
    "computed": (lambda x: x + 1 if x[::2].shape[0] > 3 else x - 1, {5: True, 7: False}),
    "static_int": (lambda x: x + int(x.shape[1]), {5: True}),
    "int": (lambda x: x + int(x.shape[0]), {5: None}),
    "half": (lambda x: x + int(x.shape[0] // 4), {5: None, 2: True}),
    "length": (lambda x: x / len(x), {5: None}),
    "format": (lambda x: x + len(f"{x.shape[0]}"), {5: None}),
    "unbound": (lambda x: x.unbind(0)[0], {5: None}),
    "unbound_static": (lambda x: x.unbind(1)[0], {5: True}),
    "rows": (lambda x: next(iter(x)), {5: None}),
    "columns": (lambda x: next(iter(x.t())), {5: True}),
    "split": (lambda x: x.split(2)[0], {4: True, 5: None}),
    "split_static": (lambda x: x.split(2, dim=1)[0], {5: True}),
    "chunk": (lambda x: x.chunk(4)[0], {5: True, 7: None}),
    "chunk_two": (lambda x: x.chunk(chunks=2)[0], {1: None, 2: True, 5: True}),
    "read_static": (lambda x: F.conv1d(x.t()[None], torch.ones(6, 1, 1), groups=x.shape[1]), {5: True}),
    "read": (lambda x: F.pad(x, (0, 1), value=x.shape[0]), {5: None}),
    "in_place": (lambda x: x + 1 if x.shape[0].add_(0) < 4 else x, {5: False}),
    "bool_of_values": (lambda x: F.relu(x) + (1 if x.shape[0] and x.numel() < 20 else 0), {5: False}),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", TAKEN)
def test_what_python_takes_out_of_sizes_is_computed_for_others(name):
    model, expected = TAKEN[name]
    program = trace.record(model, (_rows(3),), {}).read()
    assert program.keeps_sizes
    assert _hold(program, 3)
    assert {n: _hold(program, n) for n in expected} == expected
    assert len(program.block.returns) == 1


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "model", [Square.apply, lambda x: torch.cat([x, x][: x.shape[0]]) + sum(torch.tensor(x.shape).tolist())]
)
def test_what_is_taken_out_of_sight_is_not_taken_for_kept(model):
    assert not trace.record(model, (_rows(3),), {}).read().keeps_sizes


class Convolutional(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2))
        self.head = nn.Linear(8, 5)

    def forward(self, x):
        x = F.adaptive_avg_pool2d(self.body(x), 1)
        return self.head(x.reshape(x.shape[0], -1)).softmax(-1)


def traces_made(model, monkeypatch):
    """How often an export with two dynamic axes traces a model."""
    made, record = [], trace.record
    monkeypatch.setattr(trace, "record", lambda *args: made.append(args) or record(*args))
    args = torch.randn(2, 3, 16, 16)
    onnxport.export(model, args, None, input_names=["x"], dynamic_axes={"x": {0: "batch", 2: "height"}})
    return len(made)


def test_a_model_that_keeps_all_sizes_is_traced_once(monkeypatch):
    assert traces_made(Convolutional(), monkeypatch) == 1


@pytest.mark.parametrize(
    "model",
    [
        lambda x: x.reshape(2, 3, 16, 16) + 1,
        lambda x: x.view(2, 3, x.shape[2], 16).relu(),
        lambda x: (x.flatten(1).unflatten(0, (2, 1)) + 1).flip(0),
        lambda x: x + int(x.shape[2]) * torch.ones(2, 3, 1, 1).expand_as(x),
    ],
)
def test_a_size_that_is_written_down_is_reported(model):
    with pytest.warns(OnnxExporterWarning, match="runs at no other sizes than n=2"):
        onnxport.export(model, torch.randn(2, 3, 16, 16), None, input_names=["x"], dynamic_axes={"x": {0: "n", 2: "h"}})


def tied(x, y, *maps):
    """Axes that are equal in ways that their labels don't say."""
    x = x.reshape(y.shape) + y
    return [x.sum() + level.flatten(1).sum(1) for level in maps]


def test_axes_that_are_tied_are_not_reported_and_cost_little(recwarn, monkeypatch):
    runs, run = [], reruns.Reruns.run
    monkeypatch.setattr(reruns.Reruns, "run", lambda self, sizes, *more: runs.append(sizes) or run(self, sizes, *more))
    maps = [torch.randn(2, 3, 2**i, 2**i) for i in range(1, 5)]
    names = ["x", "y", *(f"maps.{i}" for i in range(4))]
    axes = {name: {0: f"{name}_0", 1: f"{name}_1"} for name in names}
    onnxport.export(tied, (torch.randn(4, 3), torch.randn(4, 3), *maps), input_names=names, dynamic_axes=axes)
    assert not [w for w in recwarn if "no other sizes" in str(w.message)]
    assert len(runs) < 100


class Wrapped(nn.Module):
    """What libraries do around a model: no error of an operator is caught."""

    def __init__(self):
        super().__init__()
        self.body = Convolutional()
        self.register_buffer("scale", torch.ones(1), persistent=False)

    def forward(self, x):
        try:
            parts = iter(x.shape)
        except TypeError:
            parts = ()
        table = torch.zeros(4)
        table[0] = 1  # a constant of the trace that is written to
        return self.body(x) * self.scale + len(tuple(parts)) + table[:1]


def test_what_is_harmless_costs_no_trace(monkeypatch):
    assert traces_made(Wrapped(), monkeypatch) == 1


class TwoWays(nn.Module):
    """An `if` for some sizes that saves time, or gives something else."""

    def __init__(self, other, *, wrong=False):
        super().__init__()
        self.linear, self.other, self.wrong = nn.Linear(6, 6), other, wrong

    def forward(self, x):
        if self.other(x.shape[0]):
            return self.linear(x.contiguous()) + int(self.wrong)
        return self.linear(x)


OTHERS = [lambda n: n % 2 == 0, lambda n: n >= 64, lambda n: n == 1, lambda n: n > 5, lambda n: n % 4 != 3]


@pytest.mark.parametrize("is_long", [False, True])
@pytest.mark.parametrize("other", OTHERS)
def test_ifs_that_change_nothing_cost_one_trace_at_most(other, is_long, monkeypatch, recwarn):
    """Of the other way, which may ask more (see `behind`); none where a trace takes long."""
    if is_long:
        monkeypatch.setattr(behind, "_NODES", 0)
    traced, record = [], reruns.Reruns.trace
    monkeypatch.setattr(reruns.Reruns, "trace", lambda self, *given: traced.append(given) or record(self, *given))
    result = onnxport.export(
        TwoWays(other).eval(), (torch.randn(7, 6),), input_names=["x"], dynamic_axes={"x": {0: "n"}}, opset_version=20
    )
    assert len(traced) <= (not is_long)
    assert not [w for w in recwarn if issubclass(w.category, OnnxExporterWarning)]
    assert result.verify([torch.randn(n, 6) for n in (1, 2, 5, 8, 64, 100)])


@pytest.mark.usefixtures("one_recording")
@pytest.mark.parametrize("other", OTHERS)
def test_ifs_that_change_something_are_told(other):
    with pytest.warns(OnnxExporterWarning, match="test_kept.py"):
        onnxport.export(
            TwoWays(other, wrong=True).eval(), (torch.randn(7, 6),), input_names=["x"], dynamic_axes={"x": {0: "n"}}
        )
