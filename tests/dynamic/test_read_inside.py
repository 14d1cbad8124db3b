"""Ints that a model reads in each iteration of a loop, of what that one computes: `x[i, : int(ratios[i] * n)]`."""

import pytest
import torch

import onnxport
from onnxport.errors import OnnxExporterWarning


def rounded(x, ratios):
    found = []
    for i in range(x.shape[0]):
        n = int(torch.round(ratios[i] * x.shape[1]))
        found.append(torch.cat([x[i, :n].mean(0), x[i, 0:n].std(0)]))
    return torch.stack(found)


def cut_down(x, ratios):
    return torch.stack([x[i, : int(ratios[i] * x.shape[1])].sum(0) for i in range(len(x))])


def as_tensor(x, ratios):
    total = 0
    for i in range(x.shape[0]):
        n = torch.round(ratios[i] * x.shape[1]).int()
        total = total + x[i, :n, ...].cumsum(0)[-1]
    return total


def written(x, ratios):
    x = x.clone()
    for i in range(x.shape[0]):
        x[i, int(ratios[i] * x.shape[1]) :] = -1.0
    return x


def two_ints(x, ratios):
    found = []
    for i in range(x.shape[0]):
        first, last = int(ratios[i] * 2), int(ratios[i] * x.shape[1])
        found.append(x[i, first:last].amax(0) * last)
    return torch.stack(found)


def once(x, ratios):
    return x[:, : int(ratios.max() * x.shape[1])] * 2


def arguments(n, t, seed):
    torch.manual_seed(seed)
    return torch.randn(n, t, 4), 0.5 + torch.rand(n) / 2


FUNCTIONS = (rounded, cut_down, as_tensor, written, two_ints, once)


@pytest.mark.parametrize("ratios", [(1.0, 0.6, 0.8), (1.0, 1.0, 1.0)], ids=["different", "equal"])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_read_of_what_the_iteration_computes(function, ratios, recwarn):
    x, _ = arguments(3, 10, 0)
    axes = {"x": {0: "n", 1: "t"}, "ratios": {0: "n"}}
    exported = onnxport.export(
        function, (x, torch.tensor(ratios)), input_names=["x", "ratios"], dynamic_axes=axes, opset_version=17
    )
    assert not [str(w.message) for w in recwarn if issubclass(w.category, OnnxExporterWarning)]
    for seed, (n, t) in enumerate([(3, 10), (3, 10), (5, 7), (1, 12), (2, 40)]):
        given = arguments(n, t, seed)
        torch.testing.assert_close(exported(*given), function(*given), rtol=1e-4, atol=1e-5)
