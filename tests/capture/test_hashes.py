"""Sizes as keys of dicts and sets: as eager Python has them, or warned of; what is kept by size stays live."""

import pytest
import torch

import onnxport
from onnxport.errors import OnnxExporterWarning

X = torch.randn(3, 8)


def got(x):
    return x * {8: 2.0}.get(x.shape[-1], 1.0)


def taken(x):
    return x * {8: 2.0, 4: 3.0}[x.shape[-1]]


def among(x):
    return x * 2 if x.shape[-1] in {6, 8} else x


def whole_shape(x):
    return x * {(3, 8): 2.0}.get(tuple(x.shape), 1.0)


class Kept(torch.nn.Module):
    """A table for each length, made when it is first asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.tables = {}

    def forward(self, x):
        n = x.shape[-1]
        if n not in self.tables:
            self.tables[n] = torch.arange(n)
        return x + self.tables[n]


@pytest.mark.parametrize("model", [got, taken, among, whole_shape, Kept()])
def test_sizes_that_stay(model):
    assert onnxport.export(model, X).verify()


@pytest.mark.parametrize("model", [got, taken, among])
def test_other_axes_may_change(model):
    result = onnxport.export(model, X, input_names=["x"], dynamic_axes={"x": {0: "n"}})
    assert len(result.verify().checks) > 2  # the example size, and others


@pytest.mark.parametrize("model", [got, taken, among, whole_shape])
def test_axes_that_are_looked_up_are_warned_of(model):
    with pytest.warns(OnnxExporterWarning, match="may be right only at n=8(.|\n)*test_hashes.py") as caught:
        result = onnxport.export(model, X, input_names=["x"], dynamic_axes={"x": {1: "n"}})
    assert any("a key of a dict or set" in str(w.message) for w in caught)
    torch.testing.assert_close(result(X), model(X))


def test_what_is_kept_by_size_stays_live():
    result = onnxport.export(Kept(), X, input_names=["x"], dynamic_axes={"x": {1: "n"}})
    assert len(result.verify().checks) > 2  # the example size, and others


def test_keys_that_are_missing_are_pythons_own_error():
    with pytest.raises(KeyError):
        onnxport.export(lambda x: x * {"a": 1}["b"], X)


def test_a_model_that_is_recorded_twice_warns_once():
    def model(x):
        return got(x), "text"

    with pytest.warns(OnnxExporterWarning) as caught:
        onnxport.export(model, X)
    assert [str(w.message)[:34] for w in caught] == ["the model returns the string 'text"]
    assert caught[0].filename == __file__
