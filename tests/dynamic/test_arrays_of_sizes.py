"""Arrays of numpy and sizes as operands of each other, which tensors refuse: `numpy.arange(4) >= x.shape[0]`."""

import operator

import numpy
import pytest
import torch

import onnxport

OPERATORS = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow,
    operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne,
    operator.and_, operator.or_, operator.xor, operator.lshift,
]  # fmt: skip


@pytest.mark.filterwarnings("ignore::onnxport.errors.OnnxExporterWarning")
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("of", OPERATORS, ids=lambda of: of.__name__)
def test_as_in_eager(of, turned):
    def function(x):
        operands = numpy.arange(1, 5), x.shape[0]
        found = of(*operands[::-1]) if turned else of(*operands)
        assert isinstance(found, numpy.ndarray)
        return x.sum(1, keepdim=True) * torch.from_numpy(found.astype(numpy.float32))

    x = torch.randn(3, 4)
    result = onnxport.export(function, (x,), input_names=["x"], dynamic_axes={"x": {0: "b"}}, opset_version=18)
    torch.testing.assert_close(result(x), function(x))


@pytest.mark.filterwarnings("ignore::onnxport.errors.OnnxExporterWarning")
def test_indices_that_reflect():
    def function(x):
        length = x.shape[-1]
        index = numpy.arange(-2, length + 2)
        index = numpy.where(index < 0, -index - 1, index)
        return x[:, numpy.where(index >= length, 2 * length - 1 - index, index)]

    x = torch.randn(3, 8)
    result = onnxport.export(function, (x,), input_names=["x"], dynamic_axes={"x": {1: "n"}}, opset_version=18)
    torch.testing.assert_close(result(x), function(x))


def test_functions_of_tensors_give_tensors():
    def function(x):
        return torch.as_tensor(numpy.add(numpy.arange(4), numpy.float64(2))) * x + 1

    x = torch.randn(3, 4)
    torch.testing.assert_close(onnxport.export(function, (x,))(x), function(x))
