"""Arrays of numpy and sizes as operands of each other, which tensors refuse: `numpy.arange(4) >= x.shape[0]`."""

import operator
import warnings

import numpy
import pytest
import torch

import onnxport
from onnxport.errors import OnnxExporterWarning

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


NUMBERS = {
    "by a float": lambda x: numpy.float64(0.5) * x,
    "by a root": lambda x: numpy.sqrt(8) * x + numpy.pi,
    "from a float": lambda x: numpy.float32(2) - x,
    "an int": lambda x: numpy.int64(3) + x,
    "by a tensor": lambda x: numpy.float64(1) / (x.abs() + 1),
    "a power": lambda x: numpy.float64(2) ** x,
    "compared": lambda x: (numpy.float64(0.1) < x).float(),
    "a size": lambda x: x * (numpy.float64(0.5) * x.shape[0]),
    "a root of a size": lambda x: x * (numpy.sqrt(x.shape[0]) * numpy.float64(2)),
    "a bound": lambda x: x[:, : int(numpy.float64(0.5) * x.shape[0])],
    "a quotient": lambda x: x * (numpy.int64(7) // x.shape[0]),
    "an array by a tensor": lambda x: torch.as_tensor(numpy.arange(4, dtype=numpy.float32) / (x.abs() + 1)),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_of_numpy_and_tensors_stay_live(name):
    function = NUMBERS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error", OnnxExporterWarning)
        result = onnxport.export(
            function, (torch.randn(3, 4),), input_names=["x"], dynamic_axes={"x": {0: "b"}}, opset_version=18
        )
    for count in (3, 2, 5):
        x = torch.randn(count, 4)
        torch.testing.assert_close(result(x), function(x))


@pytest.mark.filterwarnings("ignore::onnxport.errors.OnnxExporterWarning")
def test_arrays_that_a_size_is_added_to():
    def function(x):
        array = numpy.arange(4)
        array += x.shape[0]
        return x * torch.from_numpy(array).float()

    x = torch.randn(3, 4)
    result = onnxport.export(function, (x,), input_names=["x"], dynamic_axes={"x": {0: "b"}}, opset_version=18)
    torch.testing.assert_close(result(x), function(x))
