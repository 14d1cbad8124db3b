import pytest
import torch
from tests.harness import LATEST, b8, case, cases, check, f16, f32, f64, i64, operators, u8

from onnxport.errors import OnnxExporterWarning

N = {0: {0: "n"}}
NM = {0: {0: "n", 1: "m"}}


def _heads(x):
    b, t, c = x.shape
    return x.view(b, t, 4, c // 4).transpose(1, 2)


def _merge(x):
    b, h, t, d = x.shape
    return x.permute(0, 2, 1, 3).reshape(b, t, h * d)


VIEWS = [
    case("heads", _heads, f32(2, 3, 8), dynamic=NM),
    case("merge", _merge, f32(2, 4, 3, 2), dynamic={0: {0: "b", 2: "t"}}),
    case("view_minus_one", lambda x: x.view(x.shape[0], -1), f32(3, 2, 4), dynamic=N),
    case("view_minus_one_first", lambda x: x.view(-1, 4), f32(3, 2, 4), dynamic=NM),
    case("view_pairs", lambda x: x.view(x.shape[0], x.shape[1] // 2, 2, -1), f32(3, 4, 2), dynamic=N),
    case("view_both_dynamic", lambda x: x.view(x.shape[0] * x.shape[1], -1), f32(3, 4, 2), dynamic=NM),
    case("view_scalar", lambda x: x.view([]), f32(1)),
    case("view_empty", lambda x: x.view(0, 5), f32(0, 3)),
    case("reshape_empty_to_more_axes", lambda x: (x.reshape(2, 3, 0), x.reshape(x.shape[1], 0)), f32(0, 3)),
    case("view_double_and_half", lambda x: x.reshape(x.shape[0] * 2, -1), f32(3, 4), dynamic=N),
    case("reshape_after_permute", lambda x: x.permute(2, 0, 1).reshape(-1), i64(3, 4, 2), dynamic=NM),
    case("view_as", lambda x, y: x.view_as(y), f32(2, 6), f32(3, 4)),
    case("reshape_as", lambda x, y: x.reshape_as(y), f32(2, 6), f32(3, 4)),
    case("flatten", lambda x: torch.flatten(x, 1), f32(2, 3, 4), dynamic=N),
    case("flatten_all", lambda x: x.flatten(), f32(2, 3, 4), dynamic=NM),
    case("flatten_0d", lambda x: x.flatten(), f32()),
    case("flatten_middle", lambda x: x.flatten(1, -2), f32(2, 3, 4, 5), dynamic=NM),
    case("unflatten", lambda x: x.unflatten(1, (2, -1)), f32(2, 6), dynamic=N),
    case("unflatten_dynamic", lambda x: x.unflatten(0, (-1, 1)), f32(2, 6), dynamic=N),
    case("ravel", lambda x: x.ravel(), f32(2, 6), dynamic=N),
    case("same_dtype_view", lambda x: x.view(torch.float32) + 0, f32(2)),
]


BY_TENSORS = [
    case(
        "sizes_of_a_tensor",
        lambda x: torch._reshape_from_tensor(x, torch._shape_as_tensor(x).flip(0)),
        f32(3, 4),
        dynamic=NM,
    ),
    case("an_input", lambda x, s: torch._reshape_from_tensor(x, s), f32(3, 4), torch.tensor([2, -1])),
]


@cases(BY_TENSORS, opsets=(7, 14, LATEST))
def test_views_whose_sizes_are_a_tensor(case, frontend, opset):
    check(case, frontend, opset)


@cases(VIEWS, opsets=(7, 13, 14, LATEST))
def test_views(case, frontend, opset):
    model = check(case, frontend, opset)
    if opset == LATEST:
        assert {"Shape", "Gather", "Concat"} & set(operators(model)) <= {"Shape"}


def test_sizes_that_stay_need_no_nodes():
    model = check(VIEWS[0])
    assert operators(model) == ["Reshape", "Transpose"]


AXES = [
    case("squeeze", lambda x: x.squeeze(), f32(1, 3, 1)),
    case("squeeze_dim", lambda x: (x.squeeze(0), x.squeeze(1), x.squeeze(-1)), f32(1, 3, 1)),
    case("squeeze_dims", lambda x: x.squeeze((0, 1)), f32(1, 3, 1)),
    case("squeeze_0d", lambda x: (x.squeeze(), x.squeeze(0), x.squeeze(-1)), f32()),
    case("squeeze_kept_dynamic", lambda x: x.squeeze(1), f32(3, 1), dynamic=N),
    case("unsqueeze", lambda x: (x.unsqueeze(0), x.unsqueeze(-1), x.unsqueeze(1)), f32(2, 3), dynamic=N),
    case("unsqueeze_0d", lambda x: x.unsqueeze(0), f32()),
    case("atleast", lambda x: (torch.atleast_1d(x), torch.atleast_2d(x), torch.atleast_3d(x)), f32()),
    case("atleast_vector", lambda x: (torch.atleast_1d(x), torch.atleast_2d(x), torch.atleast_3d(x)), f32(3)),
    case("atleast_matrix", lambda x: torch.atleast_3d(x), f32(2, 3)),
    case("atleast_several", lambda x, y: torch.atleast_2d(x, y), f32(2), f32()),
    case("transpose", lambda x: (x.transpose(0, -1), x.swapaxes(0, 1), x.swapdims(1, 2)), f32(2, 3, 4), dynamic=NM),
    case("transpose_0d", lambda x: x.transpose(0, -1), f32()),
    case("t", lambda x: x.t(), f32(2, 3), dynamic=N),
    case("t_vector", lambda x: x.t(), f32(3)),
    case("properties", lambda x: (x.mT, x.permute(2, 1, 0)), f32(2, 3, 4)),
    case("T", lambda x: x.T, f32(2, 3)),
    case("movedim", lambda x: (x.movedim(0, -1), x.moveaxis(2, 0)), f32(2, 3, 4), dynamic=N),
    case("movedim_list", lambda x: x.movedim((0, 1), (-1, 0)), f32(2, 3, 4), dynamic=N),
    case("same", lambda x: x.contiguous().clone().detach() + 0, f32(2, 3)),
]


@cases(AXES, opsets=(7, 12, 13, LATEST))
def test_axes(case, frontend, opset):
    check(case, frontend, opset)


BROADCASTS = [
    case("expand", lambda x: x.expand(4, -1, 3), f32(2, 1), dynamic=N),
    case(
        "expand_to_own_at_run_time",
        lambda x, n: x.expand(3, n),
        f32(1, 4),
        torch.tensor(-1),
        dynamic={0: {1: "n"}},
        others=[(torch.rand(1, 1), torch.tensor(5)), (torch.rand(1, 6), torch.tensor(-1))],
    ),
    case("expand_new_axis", lambda x: x.expand(2, 3), i64(3)),
    case("expand_to_size", lambda x, y: x.expand(y.shape[0], -1), f32(1, 3), f32(4), dynamic={1: {0: "n"}}),
    case("expand_as", lambda x, y: x.expand_as(y), b8(1, 3), f32(4, 3), dynamic={1: {0: "n"}}),
    case("expand_0d", lambda x: x.expand(2, 2), f16()),
    case("broadcast_to", lambda x: x.broadcast_to((2, 3)), f64(3)),
    case("broadcast_tensors", lambda x, y: torch.broadcast_tensors(x, y), f32(4, 1), f32(3), dynamic=N),
]


@cases(BROADCASTS, opsets=(8, 13, LATEST))
def test_broadcasts(case, frontend, opset):
    check(case, frontend, opset)


PIXELS = [
    case("pixel_shuffle", lambda x: torch.pixel_shuffle(x, 2), f32(2, 8, 3, 4), dynamic={0: {0: "b", 2: "h", 3: "w"}}),
    case("pixel_shuffle_no_batch", lambda x: torch.pixel_shuffle(x, 3), f32(9, 2, 2)),
    case("pixel_shuffle_more_batch", lambda x: torch.pixel_shuffle(x, 2), i64(2, 3, 4, 2, 2), dynamic=N),
    case("pixel_shuffle_empty", lambda x: torch.pixel_shuffle(x, 2), i64(0, 8, 3, 4)),
    case("pixel_unshuffle", lambda x: torch.pixel_unshuffle(x, 2), f32(2, 3, 4, 6), dynamic=N),
    case("channel_shuffle", lambda x: torch.channel_shuffle(x, 3), f32(2, 6, 3), dynamic={0: {0: "b", 2: "w"}}),
]


@cases(PIXELS, opsets=(7, 11, LATEST))
def test_pixels(case, frontend, opset):
    check(case, frontend, opset)


FACTS = [
    case("numel", lambda x: x + x.numel(), f32(2, 3), dynamic=N),
    case("dim", lambda x: x + x.dim(), f32(2, 3), dynamic=N),
    case("size", lambda x: x * x.size(-1), u8(2, 3), dynamic=NM),
]


@cases(FACTS)
def test_facts(case, frontend, opset):
    check(case, frontend, opset)


def test_squeeze_of_an_unknown_size_warns():
    with pytest.warns(OnnxExporterWarning, match="keeps the axis of size n"):
        check(case("unknown", lambda x: x.squeeze() + 1, f32(3, 1, 2), dynamic=N, others=[(torch.ones(5, 1, 2),)]))
