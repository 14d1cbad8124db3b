"""Sizes as keys of dicts and sets: as eager Python has them, or warned of; what is kept by size stays live."""

import functools
import warnings

import pytest
import torch

import onnxport
from onnxport.capture.liveness.reruns import Reruns
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


@pytest.mark.usefixtures("one_recording")
@pytest.mark.parametrize("model", [got, taken, among, whole_shape])
def test_axes_that_are_looked_up_are_warned_of(model):
    with pytest.warns(OnnxExporterWarning, match="may be right only at n=8(.|\n)*test_hashes.py") as caught:
        result = onnxport.export(model, X, input_names=["x"], dynamic_axes={"x": {1: "n"}})
    assert any("a key of a dict or set" in str(w.message) for w in caught)
    torch.testing.assert_close(result(X), model(X))


@pytest.mark.parametrize("model", [got, taken, among, whole_shape])
def test_axes_that_are_looked_up_are_followed_or_told(model):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        result = onnxport.export(model, X, input_names=["x"], dynamic_axes={"x": {1: "n"}})
    for n in () if any(issubclass(w.category, OnnxExporterWarning) for w in said) else (1, 2, 7, 8, 9, 16, 30):
        x = torch.randn(X.shape[0], n)
        expected = eager_or_none(model, x)
        if expected is not None:
            torch.testing.assert_close(result(x), expected)


def eager_or_none(model, x):
    try:
        return model(x)
    except KeyError:
        return None


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


@functools.lru_cache
def ramp(n, *, step=1):
    return torch.arange(n) * step


@functools.lru_cache
def looked_up(n):
    return {8: 2.0}.get(n, 1.0)


class Keeping(torch.nn.Module):
    @functools.lru_cache(maxsize=2)  # noqa: B019
    def ramp(self, n):
        return torch.arange(n)

    def forward(self, x):
        return x + self.ramp(x.shape[-1])


def keeps(x):
    kept = ramp(x.shape[-1], step=2)
    return x + kept


def passes_on(x):
    def call(*args, **kwargs):
        return of_size(*args, **kwargs)

    of_size = functools.lru_cache(lambda n, step: torch.arange(n) * step)
    return x + call(x.shape[-1], step=x.shape[0])


@pytest.mark.parametrize("model", [Keeping(), keeps, passes_on])
def test_results_that_a_function_keeps_decide_nothing(model, monkeypatch):
    monkeypatch.setattr(Reruns, "trace", None)  # at other sizes
    with warnings.catch_warnings():
        warnings.simplefilter("error", OnnxExporterWarning)
        result = onnxport.export(model, X, input_names=["x"], dynamic_axes={"x": {0: "b", 1: "n"}})
    assert len(result.verify().checks) > 2


def looks_up_inside(x):
    factor = looked_up(x.shape[-1])
    return x * factor


TWOS = {8: 2.0, 11: 3.0}


def beside_a_dict(x):
    return x * 1 if ramp and TWOS.get(x.shape[-1], 1.0) == 1.0 else x * 2


def in_a_dict(x):
    got = TWOS.get(x.shape[-1], 1.0)
    return x * got


@pytest.mark.parametrize("model", [looks_up_inside, beside_a_dict, in_a_dict])
def test_what_is_looked_up_beside_them_does(model):
    with pytest.warns(OnnxExporterWarning, match="may be right only at"):
        result = onnxport.export(model, X, input_names=["x"], dynamic_axes={"x": {1: "n"}})
    torch.testing.assert_close(result(X), model(X))
