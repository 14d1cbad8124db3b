"""Normalization."""

import itertools

import pytest
import torch
import torch.nn.functional as F
from tests.harness import LATEST, case, cases, check, f16, f32, f64, operators
from torch import nn

import onnxport


def _with_statistics(layer):
    for name, buffer in layer.named_buffers():
        if buffer.is_floating_point():
            buffer.copy_(torch.linspace(0.5, 1.5, buffer.numel()) - (0.7 if "mean" in name else 0))
    for parameter in layer.parameters():
        nn.init.uniform_(parameter, 0.5, 2)
    return layer


class Training(nn.Module):
    """A layer that stays in training mode."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return self.layer.train()(x)


BATCH = [
    case("2d", _with_statistics(nn.BatchNorm2d(3)), f32(2, 3, 4, 5), dynamic={0: "n", 2: "h"}),
    case("rank_2", _with_statistics(nn.BatchNorm1d(3)), f32(2, 3), dynamic={0: "n"}),
    case("rank_3", _with_statistics(nn.BatchNorm1d(3)), f32(2, 3, 4)),
    case("rank_5", _with_statistics(nn.BatchNorm3d(3, eps=1e-3)), f32(2, 3, 4, 2, 2)),
    case("no_affine", _with_statistics(nn.BatchNorm2d(3, affine=False)), f32(2, 3, 4, 5)),
    case("no_statistics", nn.BatchNorm2d(3, track_running_stats=False), f32(2, 3, 4, 5), dynamic={0: "n"}),
    case("batch_statistics", lambda x, w: F.batch_norm(x, None, None, w, None, training=True), f32(4, 3), f32(3)),
    case("double", _with_statistics(nn.BatchNorm2d(3).double()), f64(2, 3, 4, 5)),
    case("half", _with_statistics(nn.BatchNorm2d(3)).half(), f16(2, 3, 4, 5)),
    case("mixed", lambda x, m, v: F.batch_norm(x, m, v + 3), f16(2, 3, 4), f32(3), f32(3)),
]

INSTANCE = [
    case("1d", nn.InstanceNorm1d(3), f32(2, 3, 5), dynamic={0: "n", 2: "t"}),
    case("2d_affine", _with_statistics(nn.InstanceNorm2d(3, affine=True)), f32(2, 3, 4, 5)),
    case("3d", nn.InstanceNorm3d(3, eps=1e-2), f32(2, 3, 4, 5, 2)),
    case("running", _with_statistics(nn.InstanceNorm2d(3, track_running_stats=True)), f32(2, 3, 4, 5)),
    case("double", nn.InstanceNorm2d(3).double(), f64(2, 3, 4, 5), dynamic={0: "n"}),
    case("dynamic_channels", F.instance_norm, f32(2, 3, 5), dynamic={1: "c"}),
]

GROUP = [
    case("2d", _with_statistics(nn.GroupNorm(2, 6)), f32(2, 6, 4, 5), dynamic={0: "n", 2: "h"}),
    case("rank_2", _with_statistics(nn.GroupNorm(2, 6)), f32(2, 6)),
    case("no_affine", nn.GroupNorm(3, 6, affine=False), f32(2, 6, 4)),
    case("double", _with_statistics(nn.GroupNorm(2, 6)).double(), f64(2, 6, 4)),
    case("native", lambda x: torch.native_group_norm(x, None, None, 2, 6, 4, 3, 1e-5), f32(2, 6, 4)),
]

LAYER = [
    case("1", _with_statistics(nn.LayerNorm(6)), f32(2, 4, 6), dynamic={0: "n", 1: "t"}),
    case("2", _with_statistics(nn.LayerNorm((4, 6))), f32(2, 4, 6)),
    case("no_affine", nn.LayerNorm(6, elementwise_affine=False), f32(2, 4, 6)),
    case("no_bias", _with_statistics(nn.LayerNorm(6, bias=False)), f32(2, 6)),
    case("double", _with_statistics(nn.LayerNorm(6)).double(), f64(2, 6)),
    case("half", _with_statistics(nn.LayerNorm(6)).half(), f16(2, 6)),
    case("native", lambda x: torch.native_layer_norm(x, [6], None, None, 1e-5), f32(2, 4, 6)),
    case("rms", _with_statistics(nn.RMSNorm(6)), f32(2, 4, 6), dynamic={0: "n"}),
    case("rms_eps", nn.RMSNorm((4, 6), eps=1e-3, elementwise_affine=False), f32(2, 4, 6)),
    case("rms_half", _with_statistics(nn.RMSNorm(6)).half(), f16(2, 6)),
    case("rms_half_small", lambda x: F.rms_norm(x * 0, [6]) + F.rms_norm(x.half() * 1e-3, [6]), f16(2, 6)),
    case("rms_double", nn.RMSNorm(6).double(), f64(2, 6)),
]

OTHER = [
    case("local_response", nn.LocalResponseNorm(3), f32(2, 5, 4, 4)),
    case("weight_norm", nn.utils.parametrizations.weight_norm(nn.Linear(3, 4)), f32(2, 3)),
    case("weight_norm_all", lambda v, g: torch._weight_norm(v, g, -1), f32(4, 3), f32(1)),
    case("weight_norm_of_a_vector", lambda v, g: torch._weight_norm(v, g, 0), f32(4), f32(4)),
    case("norm_except_dim_of_a_vector", lambda v: torch.norm_except_dim(v, 2, 0), f32(4)),
    case("weight_norm_dim", lambda v, g: torch._weight_norm(v, g, 1), f32(4, 3), f32(1, 3)),
]


@cases(BATCH, opsets=(8, 9, 14, LATEST))
def test_batch_norm(case, frontend, opset):
    check(case, frontend, opset)


@cases(INSTANCE, opsets=(8, LATEST))
def test_instance_norm(case, frontend, opset):
    check(case, frontend, opset)


@cases(GROUP, opsets=(8, 18, LATEST))
def test_group_norm(case, frontend, opset):
    check(case, frontend, opset)


@cases(LAYER, opsets=(8, 16, 17, 23, LATEST))
def test_layer_norm(case, frontend, opset):
    check(case, frontend, opset)


@cases(OTHER, opsets=(11, LATEST))
def test_other(case, frontend, opset):
    check(case, frontend, opset)


def test_forms():
    assert operators(check(BATCH[0])) == ["BatchNormalization"]
    assert operators(check(LAYER[0])) == ["LayerNormalization"]
    assert operators(check(GROUP[0])) == ["Reshape", "InstanceNormalization", "Reshape", "Mul", "Add"]


@pytest.mark.parametrize(
    "dtype, opset",
    [(torch.float16, 9), *itertools.product([torch.bfloat16, torch.float16], [13, 14, 17, LATEST])],
)
@pytest.mark.parametrize("how", ["autocast", "float()"])
def test_layer_norm_in_float32_within_a_model_of_half_precision(how, dtype, opset):
    class Mixed(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear, self.norm = torch.nn.Linear(4, 8), torch.nn.LayerNorm(8)

        def forward(self, x):
            if how == "float()":
                return self.norm(self.linear(x).to(dtype).float()).to(dtype)
            with torch.autocast("cpu", dtype=dtype):
                return self.norm(self.linear(x))

    onnxport.export(Mixed(), torch.randn(3, 4), opset_version=opset, dynamic_axes={"x": {0: "n"}}).verify()
