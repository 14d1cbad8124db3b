"""Tensors that numpy and lists of Python make as large as an axis: constants of the trace, which follow its size."""

import warnings

import numpy as np
import pytest
import torch

import onnxport
from onnxport.errors import OnnxExporterWarning
from tests.harness import OfX

SIZES = ((2, 5), (3, 7), (5, 4), (1, 9), (4, 1))


def grid(x):
    return torch.from_numpy(np.stack(np.meshgrid(np.arange(x.shape[1]), np.arange(x.shape[0])), -1).astype(np.float32))


def grid_first(x):
    return torch.from_numpy(np.mgrid[0 : int(x.shape[0]), 0 : int(x.shape[1])])


def mask(x):
    """Of later positions, as in annotated transformers."""
    n = x.shape[1]
    return torch.from_numpy(np.triu(np.ones((1, n, n)), k=1).astype("uint8")) == 0


def tiled(x):
    return torch.LongTensor(np.tile(np.array(range(x.shape[1])), [x.shape[0], 1]))


def scaled(x):
    """By the sizes, which come from arrays: boxes of an image."""
    return x[:, :1] * torch.Tensor([x.shape[1], x.shape[0], x.shape[1] - 1, 0.5])


def spaced(x):
    last = int(x.shape[1]) - 1
    return x + torch.from_numpy(np.linspace(0.0, last, 2 * x.shape[1])).float()[: x.shape[1]]


TABLES = {
    "arange": lambda x: x + torch.from_numpy(np.arange(x.shape[1])),
    "arange_of_floats": lambda x: x * torch.tensor(np.arange(0, x.shape[1], dtype=np.float32) * 0.25 + 0.1),
    "backwards": lambda x: x[:, list(reversed(range(x.shape[1])))],
    "even": lambda x: torch.tensor([2 * i + 1 for i in range(x.shape[1])], dtype=torch.int32),
    "every_other": lambda x: torch.tensor(list(range(0, x.shape[1] + 1, 2))),
    "eye": lambda x: x @ torch.from_numpy(np.eye(x.shape[1], dtype=np.float32)),
    "float": lambda x: x * torch.tensor(float(x.shape[1])),
    "full": lambda x: x + torch.from_numpy(np.full((x.shape[0], 1), 2.5, np.float32)),
    "grid": grid,
    "grid_first": grid_first,
    "linspace": lambda x: x + torch.from_numpy(np.linspace(-1, 1, x.shape[1] + 1))[:-1].float(),
    "linspace_of_rows": lambda x: torch.tensor(np.linspace(0, 1, x.shape[1] + 2).reshape(1, -1, 1)),
    "lower": lambda x: torch.from_numpy(np.tril(np.ones((x.shape[0], x.shape[1]), dtype=bool))),
    "mask": mask,
    "ones": lambda x: torch.from_numpy(np.ones(x.shape[1], dtype=bool)),
    "range": lambda x: torch.tensor(list(range(x.shape[1]))) * 2,
    "scaled": scaled,
    "spaced": spaced,
    "tiled": tiled,
    "zeros": lambda x: x + torch.from_numpy(np.zeros((x.shape[0], x.shape[1]), dtype=np.float32)),
}


@pytest.mark.parametrize("name", TABLES)
def test_follows(name):
    model = OfX(TABLES[name])
    with warnings.catch_warnings():
        warnings.simplefilter("error", OnnxExporterWarning)
        result = onnxport.export(model, torch.randn(*SIZES[0]), dynamic_axes={"x": {0: "b", 1: "n"}})
    for shape in SIZES:
        x = torch.randn(shape)
        expected = model(x)
        got = result(x)
        assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
        torch.testing.assert_close(got, expected, rtol=1e-5, atol=1e-6)


def primes(x):
    found = [n for n in range(2, 200) if all(n % d for d in range(2, n))]
    return x + torch.tensor(found[: x.shape[1]])


def squares(x):
    return x + torch.from_numpy(np.arange(x.shape[1]) ** 2)


@pytest.mark.parametrize("function", [primes, squares])
def test_others_are_warned_of(function):
    with pytest.warns(OnnxExporterWarning, match="may be right only at n=5"):
        result = onnxport.export(OfX(function), torch.randn(2, 5), dynamic_axes={"x": {0: "b", 1: "n"}})
    x = torch.randn(2, 5)
    torch.testing.assert_close(result(x), function(x))
