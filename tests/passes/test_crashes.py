"""What onnxruntime would fail at while it loads the model: products of transposed and cast tensors with one matrix, images that are
resized between Transposes."""

import pytest
import torch
from tests.harness import LATEST, operators

import onnxport


class Product(torch.nn.Module):
    def __init__(self, function, dtype=torch.float16):
        super().__init__()
        self.function = function
        self.matrix = torch.nn.Parameter(torch.linspace(-1, 1, 8).reshape(2, 4).to(dtype))

    def forward(self, x):
        return self.function(x, self.matrix)


def tensor(*shape, dtype=torch.float16):
    return torch.linspace(-2, 2, torch.Size(shape).numel()).reshape(shape).to(dtype)


def branches(x, w):
    return torch.jit.script(_branches)(x, w)


def _branches(x, w):
    return x.transpose(0, 1) @ w if bool(x.sum() > 0) else x.transpose(0, 1) @ (-w)


FLOAT, DOUBLE, INTS = torch.float32, torch.float64, torch.int64
TABLE = {
    "half": (lambda x, w: x.transpose(0, 1) @ w, tensor(3, 5, 2), torch.float16),
    "behind_a_slice": (lambda x, w: x[1:].transpose(0, 1) @ w, tensor(3, 5, 2), torch.float16),
    "unsqueezed": (lambda x, w: x[None].transpose(0, 1) @ w, tensor(5, 2), torch.float16),
    "last_axis_too": (lambda x, w: x.permute(1, 2, 0) @ w, tensor(2, 5, 3), torch.float16),
    "cast": (lambda x, w: x.transpose(0, 1).float() @ w, tensor(3, 5, 2, dtype=DOUBLE), FLOAT),
    "cast_to_double": (lambda x, w: x.transpose(0, 1).double() @ w, tensor(3, 5, 2, dtype=FLOAT), DOUBLE),
    "ints": (lambda x, w: x.transpose(0, 1).float() @ w, tensor(3, 5, 2, dtype=INTS), FLOAT),
    "four_axes": (lambda x, w: x.permute(1, 2, 0, 3).float() @ w, tensor(2, 3, 5, 2), FLOAT),
    "on_the_right": (lambda x, w: w.t() @ x.transpose(0, 1).float(), tensor(2, 3, 5), FLOAT),
    "two_products": (lambda x, w: x.transpose(0, 1) @ w + x.transpose(0, 1) @ (w * 2), tensor(3, 5, 2), torch.float16),
    "in_a_branch": (branches, tensor(3, 5, 2), torch.float16),
}


@pytest.mark.parametrize("optimize", [True, False])
@pytest.mark.parametrize("opset", [9, 13, 20])
@pytest.mark.parametrize("name", TABLE)
def test_it_runs(name, opset, optimize):
    function, x, dtype = TABLE[name]
    model = Product(function, dtype)
    result = onnxport.export(model, x, opset_version=opset, do_constant_folding=optimize)
    torch.testing.assert_close(result(x), model(x), rtol=5e-3, atol=5e-3)


@pytest.mark.parametrize("training", list(onnxport.TrainingMode))
@pytest.mark.parametrize("layer", ["LSTM", "GRU", "RNN"])
def test_half_precision_layers_of_batches(layer, training):
    torch.manual_seed(0)
    options = {"proj_size": 2} if layer == "LSTM" else {}
    model = getattr(torch.nn, layer)(2, 3, num_layers=2, bias=False, batch_first=True, **options).half()
    for x in (tensor(3, 4, 2), tensor(4, 2)):
        result = onnxport.export(model, x, training=training)
        for actual, expected in zip(result(x), torch.utils._pytree.tree_leaves(model(x)), strict=True):
            torch.testing.assert_close(actual, expected, rtol=5e-3, atol=5e-3)


@pytest.mark.parametrize(
    ("function", "x"),
    [
        (lambda x, w: x.transpose(0, 1) @ w.float(), tensor(3, 5, 2, dtype=FLOAT)),
        (lambda x, w: x.transpose(1, 2) @ w, tensor(3, 2, 5)),
        (lambda x, w: x.transpose(1, 2) @ w, tensor(1, 3, 5, 2)),
        (lambda x, w: x.transpose(0, 1) @ w.expand(5, 2, 4), tensor(3, 5, 2)),
    ],
    ids=["float", "swapped", "heads", "batches"],
)
def test_other_products_are_left_alone(function, x):
    result = onnxport.export(Product(function), x)
    assert "Unsqueeze" not in operators(result.model_proto)
    torch.testing.assert_close(result(x), Product(function)(x), rtol=5e-3, atol=5e-3)


def resized(x, size, method):
    """An image whose channels are last."""
    align = None if method == "nearest" else False
    y = torch.nn.functional.interpolate(x.permute(0, 3, 1, 2).relu(), size, mode=method, align_corners=align)
    return (y * 2).permute(0, 2, 3, 1)


SIZES = {
    "of_the_image": lambda x, size: (x.shape[1] // 2 + 1, x.shape[2] * 2),
    "of_values": lambda x, size: (size[0], size[1]),
    "fixed": lambda x, size: (5, 3),
    "one_axis": lambda x, size: (size[0], x.shape[2]),
}


@pytest.mark.parametrize("opset", [11, 17, 18, 20, LATEST])
@pytest.mark.parametrize("method", ["nearest", "bilinear", "bicubic"])
@pytest.mark.parametrize("size", SIZES)
def test_resized_between_transposes(size, method, opset):
    def model(x, to):
        return resized(x, SIZES[size](x, to), method)

    example = torch.randn(2, 4, 6, 3), torch.tensor([8, 4])
    axes = {"x": {0: "batch", 1: "height", 2: "width"}}
    result = onnxport.export(model, example, input_names=["x", "to"], dynamic_axes=axes, opset_version=opset)
    for given in example, (torch.randn(1, 5, 9, 3), torch.tensor([7, 12])):
        torch.testing.assert_close(result(*given), model(*given), rtol=1e-4, atol=1e-5)
