"""Sizes that values decide (`x[x > 0]`, `nonzero`): what Python takes out of them is warned of, with dynamic axes and without."""

import inspect
import warnings

import pytest
import torch

import onnxport
from onnxport.errors import OnnxExporterWarning


def counted(x):
    return x * int((x[:, 0] > 0).nonzero().size(0))  # taken


def asked(x):
    if x[x[:, 0] > 0].shape[0] > 3:  # taken
        return x * 2
    return x * 3


def empty(x):
    found = x[x[:, 0] > 0]
    return found.sum(0) if found.numel() else x.sum(0)  # taken


def length(x):
    return x / len(torch.unique(x.long()))  # taken


def rows(x):
    total = x.sum(0)
    for row in x[x[:, 0] > 0]:  # taken
        total = total + row * total
    return total


def indices(x):
    for i in (x[:, 0] > 0).nonzero()[:, 0]:  # taken
        x = x + x[i]
    return x


def repeated(x):
    longer = x.repeat_interleave((x[:, 0] > 0).long() + 1, 0)
    for i in range(longer.shape[0]):  # taken
        x = x + longer[i]
    return x


def pieces(x):
    return torch.cat(x[x[:, 0] > 0].split(1), 1)  # taken


def positions(x):
    found = torch.where(x[:, 0] > 0)[0]
    return x[found[0] :] if len(found) > 1 else x  # taken


def below_the_last(x):
    found, back = torch.unique(x.long(), return_inverse=True)
    return (back + 1).clamp(0, len(found) - 1)  # taken


FOLLOWED = (rows, indices)  # where axes are dynamic
NUMBERS = (counted, length, below_the_last, repeated)  # as well


@pytest.mark.parametrize(
    "function,axes",
    [
        *((f, axes) for f in (asked, empty, pieces, positions) for axes in ({}, {0: "n"})),
        *((f, {}) for f in (*FOLLOWED, *NUMBERS)),
    ],
    ids=lambda given: given.__name__ if callable(given) else "dynamic" if given else "fixed",
)
def test_told(function, axes):
    torch.manual_seed(1)
    lines, first = inspect.getsourcelines(function)
    line = next(first + n for n, line in enumerate(lines) if "# taken" in line)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        onnxport.export(function, (torch.randn(6, 4),), input_names=["x"], dynamic_axes={"x": axes})
    assert any(f"{__file__}:{line} takes a size that depends on values" in str(w.message) for w in said)


class Experts(torch.nn.Module):
    """Each token goes to two experts; those that no token chose aren't run."""

    def __init__(self):
        super().__init__()
        self.router = torch.nn.Linear(4, 5)
        self.weights = torch.nn.Parameter(torch.randn(5, 4, 4))

    def forward(self, x):
        weights, chosen = self.router(x).softmax(-1).topk(2)
        mask = torch.nn.functional.one_hot(chosen, 5).permute(2, 1, 0)
        result = torch.zeros_like(x)
        for expert in (mask.sum((-1, -2)) > 0).nonzero():
            place, token = torch.where(mask[expert[0]])
            result.index_add_(0, token, x[token] @ self.weights[expert[0]] * weights[token, place, None])
        return result


class TwoLayers(torch.nn.Sequential):
    def __init__(self):
        super().__init__(Experts(), Experts())

    def forward(self, x):
        return super().forward(x)


def listed(x):
    return torch.stack([row.cumsum(0) * 2 for row in x[x[:, 0] > 0].unbind()])


def enumerated(x):
    total = x.new_zeros(4)
    for i, row in enumerate(x[x[:, 0] > 0]):
        total = total + row * i
    return total


@pytest.mark.parametrize("n", [3, 6, 40])
@pytest.mark.parametrize("make", [*FOLLOWED, Experts, TwoLayers, listed, enumerated], ids=lambda f: f.__name__)
def test_rows_are_followed(make, n, recwarn):
    torch.manual_seed(n)
    model = make() if isinstance(make, type) else make
    example = torch.randn(n, 4)
    example[:2], example[2] = example[:2].abs(), -example[2].abs()  # one iteration alone isn't seen to be a loop
    exported = onnxport.export(model, (example,), input_names=["x"], dynamic_axes={"x": {0: "n"}})
    assert not [str(w.message) for w in recwarn if issubclass(w.category, OnnxExporterWarning)]
    for other in (1, 2, 5, 9):
        x = torch.randn(other, 4)
        x[0, 0] = 0.5
        torch.testing.assert_close(exported(x), model(x), rtol=1e-4, atol=1e-5)
    if make is not listed:
        torch.testing.assert_close(exported(-x.abs()), model(-x.abs()), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("function", NUMBERS, ids=lambda f: f.__name__)
def test_numbers_are_followed(function, recwarn):
    torch.manual_seed(1)
    example = 3 * torch.randn(6, 4)
    exported = onnxport.export(function, (example,), input_names=["x"], dynamic_axes={"x": {0: "n"}})
    assert not [str(w.message) for w in recwarn if issubclass(w.category, OnnxExporterWarning)]
    for other in (1, 2, 6, 9, 30):
        x = 3 * torch.randn(other, 4)
        torch.testing.assert_close(exported(x), function(x))


def columns(x):
    found = x[x[:, 0] > 0]
    left, top, right, bottom = found.unbind(1)
    if found.shape[1] == 4 and len(found.t()) == 4:
        left = left + sum(part.sum() for part in found.t())
    return torch.stack([left, top, right, bottom], found.dim() - 1)


def selected(x):
    kept = x[(x[:, 0] > 0).nonzero()[:, 0]]
    best = kept.sum(1).argsort()
    return kept[best], torch.arange(kept.shape[0]), torch.zeros(len(x), kept.shape[1])


def known_to_be_traced(x):
    found = x[x[:, 0] > 0]
    if len(found) and not torch.jit.is_tracing():
        found = found.contiguous()
    return found * 2


def of_constants(x):
    return x * len(torch.tensor([1.0, -1.0, 2.0]).nonzero()) + torch.eye(4).nonzero().shape[0]


def inverse(x):
    _, back = torch.unique(x.long()[:, 0], return_inverse=True)
    return back.view(2, 3) if back.shape[0] == 6 else back


@pytest.mark.parametrize(
    "function", [columns, selected, known_to_be_traced, of_constants, inverse], ids=lambda f: f.__name__
)
def test_all_else_is_not(function, recwarn):
    torch.manual_seed(1)
    exported = onnxport.export(function, (torch.randn(6, 4),), input_names=["x"])
    assert not [w for w in recwarn if issubclass(w.category, OnnxExporterWarning)]
    x = torch.randn(6, 4)
    given, expected = exported(x), function(x)
    torch.testing.assert_close(given, expected)


def with_loops(x):
    """What is chosen, and as many more as there are rows: never nothing."""
    edges = (x > 0).nonzero().T
    edges = torch.cat([edges, torch.arange(x.shape[0]).repeat(2, 1)], 1)
    if edges.numel() == 0 or edges.shape[1] < 0:
        return x
    return torch.zeros_like(x).index_add(0, edges[0], x[edges[1]])


@pytest.mark.parametrize("axes", [{}, {"x": {0: "n"}}], ids=["static", "dynamic"])
def test_what_is_certain_is_not_told(axes):
    with warnings.catch_warnings():
        warnings.simplefilter("error", OnnxExporterWarning)
        result = onnxport.export(with_loops, (torch.randn(4, 4).triu(),), input_names=["x"], dynamic_axes=axes)
    for x in (torch.randn(4, 4), -torch.ones(4, 4)):
        torch.testing.assert_close(result(x), with_loops(x))
