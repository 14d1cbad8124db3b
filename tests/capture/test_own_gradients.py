"""Gradients that models take in their forward: of all kinds of layers, and as force fields do, of their arguments."""

import pytest
import torch
from torch import nn
from torch.func import functional_call, grad, vmap

import onnxport
from onnxport import verification
from onnxport.errors import LoweringError

LAYERS = {
    "layer norm": (nn.LayerNorm(8), (3, 5, 8)),
    "group norm": (nn.GroupNorm(2, 8), (3, 8, 5)),
    "instance norm": (nn.InstanceNorm1d(8), (3, 8, 5)),
    "batch norm": (nn.BatchNorm1d(8), (3, 8, 5)),
    "convolution": (nn.Conv1d(8, 4, 3, padding=1), (3, 8, 5)),
    "strides and groups": (nn.Conv2d(4, 6, 3, stride=2, padding=1, groups=2), (2, 4, 7, 8)),
    "dilated": (nn.Conv2d(4, 4, 3, dilation=2, groups=4), (2, 4, 9, 8)),
    "transposed": (nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1, output_padding=1, groups=2), (2, 4, 5, 6)),
    "of three axes": (nn.Conv3d(2, 3, 2), (2, 2, 4, 4, 3)),
    "average": (nn.AvgPool2d(3, 2, 1), (2, 3, 7, 8)),
    "average of less": (nn.AvgPool2d(3, 2, 1, ceil_mode=True, count_include_pad=False), (2, 3, 8, 7)),
    "average of parts": (nn.AvgPool2d((2, 3), (2, 1), (0, 1), divisor_override=5), (2, 3, 8, 7)),
    "adaptive average": (nn.AdaptiveAvgPool2d((2, 3)), (2, 3, 8, 7)),
    "maximum": (nn.MaxPool1d(2), (3, 8, 6)),
    "nearest": (nn.Upsample(scale_factor=2), (2, 3, 5, 4)),
    "nearest exact": (nn.Upsample(size=(7, 9), mode="nearest-exact"), (2, 3, 5, 4)),
    "linear": (nn.Upsample(scale_factor=2, mode="linear"), (3, 8, 6)),
    "bilinear": (nn.Upsample(scale_factor=1.7, mode="bilinear"), (2, 3, 5, 4)),
    "bicubic": (nn.Upsample(size=(7, 9), mode="bicubic", align_corners=True), (2, 3, 5, 4)),
    "trilinear": (nn.Upsample(scale_factor=2, mode="trilinear"), (2, 3, 3, 4, 2)),
    "encoder": (nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True), (3, 5, 8)),
    "recurrent": (nn.LSTM(8, 4, batch_first=True), (2, 5, 8)),
}


class OfInput(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def loss(self, x):
        y = self.layer(x)
        return ((y[0] if isinstance(y, tuple) else y) ** 2).sum()

    def forward(self, x):
        return grad(self.loss)(x)


class OfWeights(OfInput):
    def forward(self, x):
        weights = dict(self.layer.named_parameters())

        def loss(given, row):
            return (functional_call(self.layer, given, (row[None],)) ** 2).sum()

        return list(vmap(grad(loss), in_dims=(None, 0))(weights, x).values())


@pytest.mark.parametrize("opset", [13, 20])
@pytest.mark.parametrize("name", LAYERS)
def test_of_an_argument(name, opset):
    layer, shape = LAYERS[name]
    model = OfInput(layer).eval()
    result = onnxport.export(
        model, (torch.randn(shape),), input_names=["x"], dynamic_axes={"x": {0: "b"}}, opset_version=opset
    )
    for count in (shape[0], 5):
        x = torch.randn(count, *shape[1:])
        torch.testing.assert_close(result(x), model(x).detach(), rtol=1e-4, atol=1e-4)


def test_an_exported_program_without_its_arguments_is_refused():
    layer, shape = LAYERS["layer norm"]
    try:
        exported = torch.export.export(OfInput(layer).eval(), (torch.randn(shape),))
    except AssertionError:
        pytest.skip("this torch.export fails at it by itself, as those before torch 2.11 do")
    if not any(torch._C._functorch.is_functorch_wrapped_tensor(x) for x in exported.constants.values()):
        pytest.skip("this torch.export follows gradients")
    with pytest.raises(
        LoweringError, match="torch.export has made a constant of a tensor that torch.func computes with"
    ):
        onnxport.export(exported)


@pytest.mark.parametrize("name", ["layer norm", "convolution", "strides and groups", "dilated", "transposed"])
def test_of_weights(name):
    layer, shape = LAYERS[name]
    model, x = OfWeights(layer).eval(), torch.randn(shape)
    result = onnxport.export(model, (x,), opset_version=20)
    torch.testing.assert_close(list(result(x)), [g.detach() for g in model(x)], rtol=1e-4, atol=1e-4)


class Energy(nn.Module):
    """Of points, and the forces on them."""

    def __init__(self):
        super().__init__()
        self.kinds, self.of_pairs = nn.Embedding(9, 4), nn.Sequential(nn.Linear(5, 8), nn.SiLU(), nn.Linear(8, 1))

    def energy(self, kinds, points):
        distances = (points[:, None] - points[None]).pow(2).sum(-1, keepdim=True) + 0.1
        kinds = self.kinds(kinds)[:, None].expand(-1, points.shape[0], -1)
        return self.of_pairs(torch.cat([kinds, distances.rsqrt()], -1)).sum()

    def forward(self, kinds, points):
        points.requires_grad_()
        energy = self.energy(kinds, points)
        return energy, -torch.autograd.grad(energy, points)[0]


class Backward(Energy):
    def forward(self, kinds, points):
        points = points.clone().requires_grad_(True)
        energy = self.energy(kinds, points)
        energy.backward()
        return energy, -points.grad


class Stress(Energy):
    def forward(self, kinds, points):
        points, strain = points.clone().requires_grad_(True), torch.eye(3, requires_grad=True)
        energy = self.energy(kinds, points @ strain)
        forces, stress = torch.autograd.grad(energy, (points, strain))
        return energy, -forces, stress


@pytest.mark.parametrize("kind", [Energy, Backward, Stress])
def test_forces(kind):
    model = kind().eval()
    example = torch.tensor([1, 2, 3, 4]), torch.randn(4, 3)
    axes = {"kinds": {0: "n"}, "points": {0: "n"}}
    result = onnxport.export(model, example, input_names=["kinds", "points"], dynamic_axes=axes, opset_version=20)
    for count in (4, 7, 1):
        given = torch.randint(0, 9, (count,)), torch.randn(count, 3)
        expected = [x.detach() for x in model(given[0], given[1].clone())]
        torch.testing.assert_close(list(result(*given)), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kind", [Energy, Backward, Stress])
def test_the_model_is_left_as_it_was(kind):
    model, example = kind().eval(), (torch.tensor([1, 2, 3, 4]), torch.randn(4, 3))
    verification.verify(model, example, opset_version=20)
    assert all(weight.grad is None for weight in model.parameters())
    assert not example[1].requires_grad
