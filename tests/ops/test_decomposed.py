"""Programs after `run_decompositions()`: the core operators, and the forms of some that only it makes."""

import pytest
import torch
import torch.nn.functional as F
from tests.harness import LATEST, Function, c64, case, cases, check, compare, export_checked, f32, operators
from torch import nn

INDICES = torch.tensor([[0, 1], [2, 1]])
CASES = [
    case("conv_norm", nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2)), f32(2, 3, 8, 8)),
    case("attention", nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), f32(2, 5, 8)),
    case("gru", nn.GRU(4, 5, batch_first=True), f32(2, 3, 4)),
    case("interpolate", lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"), f32(1, 2, 3, 4)),
    case("interpolate_aa", lambda x: F.interpolate(x, (2, 3), mode="bilinear", antialias=True), f32(1, 2, 5, 6)),
    case("grid", lambda x: F.grid_sample(x, torch.zeros(1, 2, 2, 2) + 0.2, align_corners=False), f32(1, 2, 3, 4)),
    case("bag", lambda x: (F.embedding_bag(INDICES, x, mode="mean"), F.embedding_bag(INDICES, x, mode="max")), f32(3, 4)),
    case("losses", lambda x: (F.cross_entropy(x, INDICES[:, 0]), F.kl_div(x.log_softmax(-1), x.softmax(-1)), F.huber_loss(x, x * 2)), f32(2, 4)),
    case("determinants", lambda x: (torch.linalg.det(x), torch.linalg.slogdet(x), torch.logdet(x @ x.mT)), f32(2, 3, 3)),
    case("solve", lambda x: (torch.linalg.solve(x, x * 2), torch.linalg.inv(x), torch.linalg.pinv(x[:2])), f32(3, 3)),
    case("bilinear", nn.Bilinear(3, 4, 5), f32(2, 6, 3), f32(2, 6, 4)),
    case("bilinear_row", lambda a, b, w: F.bilinear(a, b, w), f32(3), f32(4), f32(5, 3, 4)),
    case("conjugate", lambda x: (x.conj().imag, x.mH @ x, x.conj()), c64(3, 3)),
    case("spectrum", lambda x: (torch.fft.rfft(x).abs(), torch.fft.irfft(torch.fft.rfft(x)), torch.fft.fft2(x).real), f32(3, 4)),
    case("rrelu", lambda x: F.rrelu(x), f32(3, 4)),
    case("norms", lambda x: (F.group_norm(x, 2), F.layer_norm(x, [5]), F.instance_norm(x), F.rms_norm(x, [5]), F.local_response_norm(x, 2)), f32(2, 4, 5)),
    case("statistics", lambda x: (x.var(1), x.std(), x.quantile(0.3, 1), x.logcumsumexp(1), x.median(1)), f32(3, 4)),
    case("writes", lambda x: (x.clone().index_put_((INDICES[:, 0],), x[:2]), x.scatter_add(0, INDICES, x), x.clone().fill_diagonal_(3)), f32(3, 4)),
    case("unfold", lambda x: (F.unfold(x, 2), F.fold(F.unfold(x, 2), x.shape[2:], 2), F.pixel_shuffle(x, 2)), f32(1, 4, 4, 5)),
]  # fmt: skip


@cases(CASES, opsets=(20, LATEST))
def test_decomposed(case, frontend, opset):
    check_decomposed(case, opset)


def check_decomposed(case, opset):
    model = case.function if isinstance(case.function, nn.Module) else Function(case.function)
    model.eval()
    examples = tuple(spec.make(i) for i, spec in enumerate(case.inputs))
    program = torch.export.export(model, examples, strict=False).run_decompositions()
    names = [f"x{i}" for i in range(len(examples))]
    proto = export_checked(program, examples, names, {}, opset)
    compare(proto, model, names, examples, case.rtol, case.atol)
    return proto


@pytest.mark.parametrize("opset", [20])
def test_batch_norm_in_training_gives_new_statistics(opset):
    model = nn.BatchNorm1d(3).train()
    example = f32(4, 3).make(0)
    program = torch.export.export(model, (example,), strict=False).run_decompositions()
    proto = export_checked(program, (example,), ["x"], {}, opset)
    assert "ReduceMean" in operators(proto)
    expected = nn.BatchNorm1d(3).train()(example)
    compare(proto, lambda x: expected, ["x"], (example,))


PRIMS = torch.ops.prims
OF_PRIMS = [
    case("shapes", lambda x: (PRIMS.collapse(x, 0, 1), PRIMS.split_dim(x, 2, 2), PRIMS.transpose(x, [2, 0, 1]), PRIMS.squeeze(x[None], [0])), f32(2, 3, 4), dynamic={0: "b"}, others=[(torch.rand(5, 3, 4),)]),
    case("reductions", lambda x: (PRIMS.sum(x, [0, 2]), PRIMS.var(x, [1], 1.0), PRIMS.view_of(x) * 2), f32(2, 3, 4), dynamic={1: "n"}, others=[(torch.rand(2, 5, 4),)]),
    case("of_one_element", lambda x: (PRIMS.sqrt(PRIMS.abs(x)), PRIMS.rsqrt(x + 1), PRIMS.where(x > 0.5, x, x * 2), PRIMS.fill(x, 3.0), PRIMS.pow(x, x)), f32(2, 3), dynamic={0: "b"}, others=[(torch.rand(5, 3),)]),
    case("integers", lambda x: (PRIMS.div(x, x.flip(0)), PRIMS.remainder(x, x.flip(0)), PRIMS.rev(x, [0])), torch.tensor([-7, 2, 3, 5, -2])),
    case("layout", lambda x: (PRIMS.broadcast_in_dim(x, [4, 2, 3], [1, 2]), PRIMS.cat([x, x], 1), PRIMS.amax(x, [0]), PRIMS.amin(x, [0, 1])), f32(2, 3)),
    case("scalar", lambda x: PRIMS.collapse(x, 0, 0), f32()),
]  # fmt: skip


@cases(OF_PRIMS, opsets=(9, LATEST))
def test_prims(case, frontend, opset):
    check(case, frontend, opset)


IOTA = [
    case(
        "iota",
        lambda x: x + PRIMS.iota(4, start=3, step=-2, dtype=torch.int32, device="cpu", requires_grad=False),
        f32(4),
    ),
]


@cases(IOTA, opsets=(9, LATEST), frontends=("exported",))  # the tracer doesn't take its device
def test_iota(case, frontend, opset):
    check(case, frontend, opset)
