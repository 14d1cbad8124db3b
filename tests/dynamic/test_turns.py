"""What is decided otherwise only at sizes far from the example's, by arithmetic of Python that turns there."""

import math

import pytest
import torch
from torch import nn

import onnxport
from onnxport.capture.watch.terms import ARITHMETIC
from onnxport.capture.watch.turns import Turns
from onnxport.dims import Dim
from onnxport.errors import OnnxExporterWarning

# At these sizes of n, and 6 is the example's.
TURNS = {
    "remainder": (lambda x, n: x * 2 if n % 1000 == 0 else x, 1000),
    "hundreds": (lambda x, n: x * 2 if n // 100 == 5 else x, 555),
    "double": (lambda x, n: x * 2 if n * 2 == 1000 else x, 500),
    "next": (lambda x, n: x * 2 if n + 1 == 1024 else x, 1023),
    "product": (lambda x, n: x * 2 if (n // 16) * (x.shape[1] // 4) == 80 else x, 640),
    "square": (lambda x, n: x * 2 if n**2 == 810000 else x, 900),
    "bits": (lambda x, n: x * 2 if n & (n - 1) == 0 and n > 300 else x, 512),
    "logarithm": (lambda x, n: x * 2 if math.log2(n) > 11 else x, 2049),
    "bounded": (lambda x, n: x * 2 if min(n, 1000) % 999 == 1 and n > 100 else x, 1000),
    "root": (lambda x, n: x * 2 if math.isqrt(n) == 40 else x, 1600),
    "int_of_rate": (lambda x, n: x * 2 if int(n * 0.7) % 400 == 399 else x, 570),
    "in_a_set": (lambda x, n: x * 2 if n in {512, 1024} else x, 512),
    "shifted": (lambda x, n: x * 2 if n >> 3 == 100 else x, 800),
    "rounded_down": (lambda x, n: x * 2 if torch.div(n, 7, rounding_mode="floor") == 100 else x, 700),
    "to_a_digit": (lambda x, n: x * 2 if torch.round(torch.as_tensor(n / 7), decimals=1) == 100.0 else x, 700),
    "short": (lambda x, n: x * 2 if torch.as_tensor(n).to(torch.int16) % 1000 == 0 else x, 1000),
    "half": (lambda x, n: x * 2 if torch.as_tensor(n).half() % 1000 == 0 else x, 1000),
    "among_sizes": (lambda x, n: x * len({n, 512}), 512),
    "from_a_number": (lambda x, n: x * 2 if (3000 - n) % 777 == 0 else x, 2223),
    "natural_logarithm": (lambda x, n: x * 2 if round(math.log(n) * 100) == 700 else x, 1097),
    "exponential": (lambda x, n: x * 2 if round(math.exp(-n / 500) * 1000) == 100 else x, 1151),
    "number_by_size": (lambda x, n: x * 2 if 60000 / n == 60 else x, 1000),
    "inverted": (lambda x, n: x * 2 if ~n == -1001 else x, 1000),
    "shifted_number": (lambda x, n: x * 2 if n > 100 and 1024 >> (n // 100) == 1 else x, 1000),
    "square_of_tensor": (lambda x, n: x * 2 if torch.square(torch.as_tensor(n)) == 10**6 else x, 1000),
    "cosine": (lambda x, n: x * 2 if torch.cos(torch.as_tensor(n / 1000.0 - 1)) == 1 else x, 1000),
    "chosen": (lambda x, n: x * 2 if torch.where(torch.as_tensor(n) == 1000, 1, 0) == 1 else x, 1000),
    "bounded_above": (lambda x, n: x * 2 if torch.as_tensor(n).clamp(None, 1000) % 999 == 1 and n > 100 else x, 1000),
}


class Model(nn.Module):
    def __init__(self, function, layers=0):
        super().__init__()
        self.function = function
        self.layers = nn.Sequential(*(nn.Sequential(nn.Linear(8, 8), nn.ReLU()) for _ in range(layers)))

    def forward(self, x):
        return self.function(self.layers(x), x.shape[0])


def export(model):
    return onnxport.export(
        model, (torch.randn(6, 8),), input_names=["x"], dynamic_axes={"x": {0: "n"}}, opset_version=18
    )


@pytest.mark.usefixtures("one_recording")
@pytest.mark.parametrize("name", TURNS)
def test_told(name):
    function, n = TURNS[name]
    model, x = Model(function), torch.randn(n, 8)
    with pytest.warns(OnnxExporterWarning, match="test_turns.py"):
        result = export(model)
    assert not torch.allclose(result(x), model(x))


@pytest.mark.usefixtures("one_recording")
def test_told_of_a_large_model():
    with pytest.warns(OnnxExporterWarning, match="test_turns.py"):
        export(Model(TURNS["remainder"][0], layers=200))


RIGHT = {
    "same_either_way": lambda x, n: x * 2 if n % 1000 == 0 else x + x,
    "never": lambda x, n: x * 2 if n % 5 == 7 else x,
    "in_a_set": lambda x, n: x * 2 if n in {512, 1024} else x + x,
}


@pytest.mark.parametrize("name", RIGHT)
def test_not_told(name, recwarn):
    model = Model(RIGHT[name])
    result = export(model)
    assert not [w for w in recwarn if issubclass(w.category, OnnxExporterWarning)]
    for n in (1, 6, 512, 1000):
        x = torch.randn(n, 8)
        torch.testing.assert_close(result(x), model(x))


class Patched(nn.Module):
    """Position embeddings that are taken as they are where there are as many patches in a square."""

    def __init__(self):
        super().__init__()
        self.patches, self.table = nn.Conv2d(3, 4, 16, 16), nn.Parameter(torch.randn(1, 4, 14, 14))
        self.body = nn.Linear(4, 4000)

    def forward(self, x):
        y = self.patches(x)
        h, w = y.shape[2:]
        table = self.table
        if h * w != 196 or h != w:
            table = nn.functional.interpolate(table, size=(h, w), mode="bicubic", antialias=True)
        return self.body((y + table).flatten(2).mT).mean(-1)


@pytest.mark.parametrize("size", [32, 64])
def test_patches_of_another_shape_are_as_many(size, recwarn):
    result = onnxport.export(
        Patched(),
        (torch.randn(1, 3, size, size + 16),),
        input_names=["x"],
        dynamic_axes={"x": {2: "h", 3: "w"}},
        opset_version=18,
    )
    assert not [w for w in recwarn if issubclass(w.category, OnnxExporterWarning)]
    assert result.verify()


@pytest.mark.parametrize("kind", sorted(ARITHMETIC))
def test_all_arithmetic_is_computed(kind):
    """Else what turns at single sizes by such an operator would be seen by nobody."""
    number = Dim.symbol("n")
    operands = number, ("aten::mul", number, ("float", "0.5")), ("aten::eq", number - 1000)
    found = [computed((kind, operand, *more)) for operand in operands for more in ([], [3], [1, 0])]
    assert any(isinstance(numbers, torch.Tensor) and len(numbers) > 1000 for numbers in found)


def computed(term):
    try:
        return Turns("n", {"n": 6}, 100).at(term)
    except (TypeError, RuntimeError):  # it takes other operands
        return None
