"""Tensors that are made of sizes: as long as these, or with them as their content."""

import warnings

import numpy as np
import pytest
import torch
from tests.harness import OfX
from torch import nn

import onnxport
from onnxport.errors import LoweringError, OnnxExporterWarning

MADE = {
    "new_of_a_shape": lambda x: x.new(x.shape).fill_(2) + x,
    "new_of_sizes": lambda x: x.new(x.shape[1], 2).fill_(2),
    "new_of_a_list": lambda x: x.new([x.shape[1], x.shape[0], 3]),
    "new_of_a_tuple": lambda x: x.new((x.shape[1], x.shape[0] * 2)),
    "new_of_lists": lambda x: x.new([[x.shape[1], x.shape[0]], [1, 2.5]]),
    "new_of_numbers": lambda x: x.new([1.5, 2.0])[0] * x,
    "new_empty": lambda x: torch.cat([x.new(), x.reshape(-1)]),
    "new_tensor": lambda x: x.new_tensor([x.shape[1], x.shape[0]]) / 2,
    "new_tensor_of_lists": lambda x: x.new_tensor([[x.shape[1], x.shape[0]], [2, 2]]),
    "new_tensor_of_ints": lambda x: x.new_tensor([x.shape[1], 7], dtype=torch.int64),
    "index": lambda x: x[:, [0, x.shape[1] - 1]],
    "index_of_the_first_axis": lambda x: x[[x.shape[0] - 1, 0, 0]],
    "index_with_a_tensor": lambda x: x[torch.tensor([0, 0]), [0, x.shape[1] - 1]],
    "unflatten": lambda x: nn.Unflatten(1, (2, x.shape[1] // 2))(x),
    "unflatten_by_a_size": lambda x: nn.Unflatten(0, torch.Size([x.shape[0], 1]))(x) + 1,
}


def written(x):
    y = x.clone()
    y[:, [0, x.shape[1] - 1]] = 5.0
    return y


MADE["write"] = written


@pytest.mark.parametrize("name", MADE)
def test_made_of_sizes(name):
    model = OfX(MADE[name])
    with warnings.catch_warnings():
        warnings.simplefilter("error", OnnxExporterWarning)
        result = onnxport.export(model, torch.randn(2, 6), dynamic_axes={"x": {0: "b", 1: "n"}})
    for shape in ((2, 6), (3, 8), (5, 4)):
        x = torch.randn(shape)
        expected = model(x)
        got = result(x)
        assert got.dtype == expected.dtype
        np.testing.assert_allclose(got, expected, rtol=1e-6)


@pytest.mark.parametrize("kind", [torch.LongTensor, torch.FloatTensor, torch.Tensor])
@pytest.mark.parametrize("size", [lambda x: x.shape[1], lambda x: x.shape[1] // 2 + 1])
def test_one_size(kind, size):
    """The tracer takes it for another name of the size."""
    model = OfX(lambda x: kind(size(x)).fill_(3) + x[0, 0])
    with pytest.raises(LoweringError, match=r"torch.empty\(n, dtype"):
        onnxport.export(model, torch.randn(2, 6), dynamic_axes={"x": [1]})


@pytest.mark.parametrize("kind", [torch.LongTensor, torch.FloatTensor, torch.Tensor])
def test_several_sizes(kind):
    """These the tracer reads, behind the back of those who look for it."""
    model = OfX(lambda x: (kind(x.shape[1], 2).fill_(3) * 2, kind(x.size(0), x.size(1)).zero_() + x))
    result = onnxport.export(model, torch.randn(2, 6), dynamic_axes={"x": [0, 1]})
    for shape in ((2, 6), (3, 8), (5, 4)):
        x = torch.randn(shape)
        for got, expected in zip(result(x), model(x)):
            np.testing.assert_array_equal(got, expected)
