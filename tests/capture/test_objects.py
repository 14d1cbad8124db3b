"""Objects of any class as arguments and results: caches, states."""

from __future__ import annotations

import warnings

import numpy as np
import onnxruntime as ort
import pytest
import torch

import onnxport
from onnxport.errors import OnnxExporterWarning


class Layer:
    """Keys and values that grow."""

    def __init__(self, keys=None, values=None) -> None:
        self.keys, self.values = keys, values
        self.is_set = keys is not None

    def update(self, keys, values):
        self.keys = torch.cat([self.keys, keys], 1) if self.is_set else keys
        self.values = torch.cat([self.values, values], 1) if self.is_set else values
        self.is_set = True
        return self.keys, self.values


class Cache:
    def __init__(self, layers) -> None:
        self.layers = layers
        self._hidden = torch.ones(1)


class Counting(Layer):
    steps = 0

    def update(self, keys, values):
        self.steps += keys.shape[1]
        return super().update(keys * self.steps, values)


class CountingByName(Layer):
    def __init__(self, keys=None, values=None) -> None:
        super().__init__(keys, values)
        self.steps, self.rows = {"all": 2, "limit": 9}, [2, 1]

    def update(self, keys, values):
        self.steps["all"] += keys.shape[1]
        self.rows[0] += keys.shape[1]
        return super().update(keys * self.steps["all"], values)


class Decoder(torch.nn.Module):
    def forward(self, x, past=None):
        past = past or Cache([])
        for i in range(2):
            if len(past.layers) == i:
                past.layers.append(Layer())
            k, v = past.layers[i].update(x + i, x * 2)
            x = torch.softmax(x @ k.mT, -1) @ v
        return x, past


def cache(n: int, length: int, layer=Layer) -> Cache:
    return Cache([layer(torch.randn(n, length, 4), torch.randn(n, length, 4)) for _ in range(2)])


NAMES = ["past.0.key", "past.0.value", "past.1.key", "past.1.value"]
AXES = {"x": {0: "batch", 1: "new"}, **{name: {0: "batch", 1: "past"} for name in NAMES}}


def feeds(session: ort.InferenceSession, x: torch.Tensor, past: Cache) -> dict[str, np.ndarray]:
    tensors = [x, *(t for layer in past.layers for t in (layer.keys, layer.values))]
    return {i.name: t.numpy() for i, t in zip(session.get_inputs(), tensors)}


def test_cache_in_and_out():
    given = cache(2, 5)
    layer = given.layers[0]
    before = layer.keys
    result = onnxport.export(Decoder(), (torch.randn(2, 3, 4), given), dynamic_axes=AXES)
    assert given.layers[0] is layer and layer.keys is before, "the caller's cache was written to"
    session = ort.InferenceSession(result.model_proto.SerializeToString())
    assert [i.name for i in session.get_inputs()] == ["x", *NAMES]
    for n, new, old in ((2, 3, 5), (3, 1, 9)):
        x, past = torch.randn(n, new, 4), cache(n, old)
        got = session.run(None, feeds(session, x, past))
        y, past = Decoder()(x, past)
        expected = [y, *(t for layer in past.layers for t in (layer.keys, layer.values))]
        assert len(got) == len(expected)
        for a, b in zip(got, expected):
            np.testing.assert_allclose(a, b.numpy(), rtol=1e-5, atol=1e-6)


def test_names_of_results():
    result = onnxport.export(Decoder(), (torch.randn(2, 3, 4), cache(2, 5)))
    names = [o.name for o in result.model_proto.graph.output]
    assert len(names) == 5 and len(set(names)) == 5


@pytest.mark.parametrize("layers", [[], [Layer(), Layer()]])
def test_empty_cache(layers):
    """The first step: the cache is made on the way."""
    given = Cache(layers)
    result = onnxport.export(Decoder(), (torch.randn(2, 3, 4), given), dynamic_axes={"x": {0: "batch", 1: "new"}})
    assert given.layers is layers and all(layer.keys is None for layer in layers)
    session = ort.InferenceSession(result.model_proto.SerializeToString())
    x = torch.randn(3, 6, 4)
    got = session.run(None, {"x": x.numpy()})
    assert len(got) == 5
    np.testing.assert_allclose(got[0], Decoder()(x)[0].numpy(), rtol=1e-4, atol=1e-5)


def test_a_number_that_is_counted_on():
    given = cache(2, 5, Counting)
    for layer in given.layers:
        layer.steps = 2
    with pytest.warns(OnnxExporterWarning, match=r"past\.0\.steps = 2.*make it a tensor"):
        result = onnxport.export(Decoder(), (torch.randn(2, 3, 4), given))
    assert len(result.model_proto.graph.output) == 5  # the number isn't one


def test_numbers_in_containers_that_are_counted_on():
    """They are no outputs either, and those that stay as they are aren't told of."""
    with pytest.warns(OnnxExporterWarning, match=r"past\.0\.steps\.all = 2, past\.0\.rows\.0 = 2, past\.1") as told:
        result = onnxport.export(Decoder(), (torch.randn(2, 3, 4), cache(2, 5, CountingByName)), dynamic_axes=AXES)
    assert len(result.model_proto.graph.output) == 5
    assert not any("limit" in str(w.message) or "rows.1" in str(w.message) for w in told)


def test_a_number_as_a_tensor():
    def example(n: int, new: int, old: int) -> tuple[torch.Tensor, Cache]:
        past = cache(n, old, Counting)
        for layer in past.layers:
            layer.steps = torch.tensor(old)
        return torch.randn(n, new, 4), past

    with warnings.catch_warnings():
        warnings.simplefilter("error", OnnxExporterWarning)
        result = onnxport.export(Decoder(), example(2, 3, 5), dynamic_axes=AXES)
    inputs = [i.name for i in result.model_proto.graph.input]
    assert inputs == ["x", *(f"past.{i}.{part}" for i in range(2) for part in ("key", "value", "steps"))]
    session = ort.InferenceSession(result.model_proto.SerializeToString())
    x, past = example(3, 2, 9)
    tensors = [x, *(t for layer in past.layers for t in (layer.keys, layer.values, layer.steps))]
    got = session.run(None, {name: t.numpy() for name, t in zip(inputs, tensors)})
    np.testing.assert_allclose(got[0], Decoder()(x, past)[0].numpy(), rtol=1e-5, atol=1e-6)


def test_names_of_collected_arguments():
    """`**kwargs` hands on to another function: its arguments go by their own names."""

    class Outer(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = Decoder()

        def forward(self, x, **kwargs):
            return self.inner(x, **kwargs)

    result = onnxport.export(Outer(), (), kwargs={"x": torch.randn(2, 3, 4), "past": cache(2, 5)}, dynamic_axes=AXES)
    assert [i.name for i in result.model_proto.graph.input] == ["x", *NAMES]


class Hiding(Cache):
    """A cache with tensors in private attributes."""

    def __init__(self, layers) -> None:
        super().__init__(layers)
        self._scale, self._table = torch.tensor([2.0, 3.0, 4.0, 5.0]), {"shift": torch.ones(4)}


@pytest.mark.parametrize(
    "name, use",
    [
        ("_scale", lambda past: past._scale),
        ("_scale", lambda past: past._scale[1:2]),
        (r"_table\[...\]", lambda past: past._table["shift"]),
    ],
)
def test_private_tensors_that_are_used_are_warned_of(name, use):
    """One that isn't used, as `_hidden` above, is nobody's concern."""

    class Model(torch.nn.Module):
        def forward(self, x, past):
            return x * use(past) + past.layers[0].keys.sum()

    with pytest.warns(OnnxExporterWarning, match=f"uses 'past.{name}', a private attribute of an argument"):
        onnxport.export(Model(), (torch.randn(2, 4), Hiding([Layer(torch.ones(2), torch.ones(2))])))
