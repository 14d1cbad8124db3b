"""Models that something is wrapped around: compilation, several devices, inference mode."""

from __future__ import annotations

import threading

import pytest
import torch
from torch import nn

import onnxport
from onnxport import TrainingMode
from onnxport.errors import LoweringError

X = torch.randn(2, 3)


@torch.compile
def doubled(x: torch.Tensor) -> torch.Tensor:
    return x * 2


class CallsCompiled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 4)

    def forward(self, input):
        return doubled(self.linear(input))


class Counts(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros(1))

    def forward(self, input):
        self.count.add_(1)
        return input * self.count


class Adds(nn.Module):
    """Writes to its argument."""

    def forward(self, input):
        return input.add_(1) * 2


WRAPPED = {
    "compiled module": (lambda: torch.compile(nn.Linear(3, 4)), {"weight", "bias"}),
    "compiled function": (lambda: torch.compile(lambda input: input * 2), set()),
    "calls a compiled function": (CallsCompiled, {"linear.weight", "linear.bias"}),
    "several devices": (lambda: nn.DataParallel(nn.Linear(3, 4)), {"weight", "bias"}),
    "several devices, compiled": (lambda: torch.compile(nn.DataParallel(nn.Linear(3, 4))), {"weight", "bias"}),
}


@pytest.mark.parametrize("make, weights", WRAPPED.values(), ids=WRAPPED.keys())
def test_a_wrapped_model_is_exported_as_what_it_wraps(make, weights):
    result = onnxport.export(make(), X, dynamic_axes={"input": {0: "n"}})
    assert result.input_names == ["input"]
    assert set(result.model.graph.initializers) >= weights
    assert result.model.graph.inputs[0].shape == ["n", 3]
    result.verify()


def test_compiled_functions_in_threads():
    found: list[object] = []

    def export() -> None:
        try:
            found.append(onnxport.export(CallsCompiled(), X, dynamic_axes={"input": {0: "n"}}).verify().ok)
        except Exception as error:
            found.append(error)

    threads = [threading.Thread(target=export) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 3


MODES = [torch.no_grad, torch.enable_grad, torch.inference_mode]


@pytest.mark.filterwarnings("ignore:the model writes to")
@pytest.mark.parametrize("training", [TrainingMode.EVAL, TrainingMode.TRAINING])
@pytest.mark.parametrize("make", [lambda: nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4)), Counts, Adds])
@pytest.mark.parametrize("mode", MODES)
def test_a_model_is_exported_in_each_mode_of_autograd(mode, make, training):
    model = make()
    before = {name: buffer.clone() for name, buffer in model.named_buffers()}
    with mode():
        example = torch.arange(6.0).reshape(2, 3)
        result = onnxport.export(model, example, training=training, dynamic_axes={"input": {0: "n"}})
        result.verify()
        assert torch.is_inference_mode_enabled() == (mode is torch.inference_mode)
        assert torch.equal(example, torch.arange(6.0).reshape(2, 3))
    result.verify()
    assert torch.is_grad_enabled()
    assert all(torch.equal(buffer, before[name]) for name, buffer in model.named_buffers())


@pytest.mark.parametrize("mode", MODES)
def test_weights_and_examples_made_in_inference_mode(mode):
    with torch.inference_mode():
        model, example = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4)), torch.randn(2, 3)
    with mode():
        onnxport.export(model, example, dynamic_axes={"input": {0: "n"}}).verify()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("front_end", [torch.jit.script, lambda m: torch.export.export(m, (X,))])
def test_scripts_and_exported_programs_in_each_mode(front_end, mode):
    model = front_end(nn.Linear(3, 4))
    with mode():
        onnxport.export(model, X).verify()


class Coder(nn.Module):
    """Two methods that are models of their own, and a forward of both."""

    def __init__(self) -> None:
        super().__init__()
        self.down, self.up = nn.Linear(3, 2), nn.Sequential(nn.Dropout(0.5), nn.Linear(2, 3))

    def encode(self, image, scale=1.0):
        return self.down(image) * (scale if not self.training else 100.0)

    def decode(self, code):
        return {"image": self.up(code)}

    def forward(self, image):
        raise AssertionError("not what is exported")


def test_a_method_of_a_module():
    coder = Coder()
    coder.register_forward_pre_hook(lambda *_: pytest.fail("a hook of the whole module"))
    encoder = onnxport.export(coder.encode, (X, 2.0), dynamic_axes={"image": {0: "n"}})
    decoder = onnxport.export(coder.decode, (torch.randn(2, 2),), verify=True)
    assert encoder.verify().ok
    assert [x.name for x in encoder.model_proto.graph.initializer] == ["down.weight", "down.bias"]
    assert [x.name for x in decoder.model_proto.graph.initializer] == ["up.1.weight", "up.1.bias"]
    assert [x.name for x in decoder.model_proto.graph.output] == ["image"]
    assert coder.training
    assert coder.up.training


def test_what_is_no_model_says_what_to_give():
    with pytest.raises(TypeError, match="load_state_dict"):
        onnxport.export(Coder().state_dict(), (X,))
    with pytest.raises(TypeError, match=r"an instance of it, Coder\(...\)"):
        onnxport.export(Coder, (X,))


@pytest.mark.parametrize("decomposed", [False, True])
def test_the_module_of_an_exported_program(decomposed):
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Dropout(0.5)).eval()
    program = torch.export.export(model, (X,))
    module = (program.run_decompositions() if decomposed else program).module()
    result = onnxport.export(module, (X,), opset_version=17)
    torch.testing.assert_close(result(X), model(X))


class CallsCompiledWithOptions(nn.Module):
    def forward(self, input, factor=1.0, double=False, mask=None):
        return doubled(input * factor) * (2 if double else 1) + (0 if mask is None else mask)


def test_compiled_functions_of_models_with_options():
    """Arguments that are no tensors have no axes; those that are have theirs."""
    axes = {"input": {0: "n"}, "mask": {0: "n"}}
    kwargs = {"factor": 3.0, "double": True, "mask": torch.ones(X.shape[0], 1)}
    result = onnxport.export(CallsCompiledWithOptions(), (X,), kwargs=kwargs, dynamic_axes=axes)
    assert result.verify().ok
    more = torch.randn(5, *X.shape[1:])
    expected = doubled(more * 3.0) * 2 + torch.ones(5, 1)
    torch.testing.assert_close(result(more, mask=torch.ones(5, 1)), expected)


def test_weights_that_are_no_parameters_are_told_at_the_first_operator():
    holder = [torch.nn.Linear(4, 3)]
    with pytest.raises(LoweringError, match="requires grad and is none of its parameters"):
        onnxport.export(lambda x: holder[0].weight * 2 + x, (torch.randn(4),))
