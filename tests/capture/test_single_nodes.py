"""Calls that are written down as one node: the operators and operands are those that torch's own tracer writes."""

from __future__ import annotations

import warnings
from typing import Any

import numpy
import onnxruntime
import pytest
import torch
import torch.nn.functional as F
from tests.harness import OfX

import onnxport
from onnxport.capture import trace

IMAGE = torch.linspace(-1, 1, 2 * 4 * 6 * 6).reshape(2, 4, 6, 6)
VOLUME = torch.linspace(-1, 1, 2 * 2 * 4 * 4 * 4).reshape(2, 2, 4, 4, 4)
SIGNAL = torch.linspace(-1, 1, 2 * 4 * 8).reshape(2, 4, 8)
KERNEL = torch.linspace(-1, 1, 4 * 4 * 3 * 3).reshape(4, 4, 3, 3)
FOUR = torch.tensor([0.5, 1.0, 2.0, 1.5])
IDS = torch.tensor([[0, 2], [1, 3]])
HEADS = torch.linspace(-1, 1, 2 * 2 * 3 * 4).reshape(2, 2, 3, 4)

CALLS: dict[str, tuple[Any, torch.Tensor]] = {
    "conv1d": (lambda x: F.conv1d(x, KERNEL[..., 0]), SIGNAL),
    "conv2d": (lambda x: F.conv2d(x, KERNEL, FOUR, (2, 1), 1, dilation=(1, 2)), IMAGE),
    "conv2d_groups": (lambda x: F.conv2d(x, KERNEL[:, :1], groups=4, stride=[2]), IMAGE),
    "conv2d_same": (lambda x: F.conv2d(x, KERNEL, padding="same"), IMAGE),
    "conv3d": (lambda x: F.conv3d(x, torch.ones(3, 2, 2, 2, 2), padding=(0, 1, 0)), VOLUME),
    "conv_transpose1d": (lambda x: F.conv_transpose1d(x, KERNEL[..., 0], None, 2), SIGNAL),
    "conv_transpose2d": (lambda x: F.conv_transpose2d(x, KERNEL, FOUR, 2, 1, 1, 1, 1), IMAGE),
    "conv_transpose3d": (lambda x: F.conv_transpose3d(x, torch.ones(2, 3, 2, 2, 2)), VOLUME),
    "batch_norm": (lambda x: F.batch_norm(x, FOUR, FOUR, FOUR, None, eps=1), IMAGE),
    "batch_norm_of_the_batch": (lambda x: F.batch_norm(x, None, None, training=True), IMAGE),
    "instance_norm": (lambda x: F.instance_norm(x, weight=FOUR), IMAGE),
    "instance_norm_running": (lambda x: F.instance_norm(x, FOUR, FOUR, use_input_stats=False), IMAGE),
    "layer_norm": (lambda x: F.layer_norm(x, (6,)), IMAGE),
    "layer_norm_of_two": (lambda x: F.layer_norm(x, x.shape[2:], eps=1), IMAGE),
    "group_norm": (lambda x: F.group_norm(x, 2, FOUR, FOUR), IMAGE),
    "dropout": (lambda x: F.dropout(x, 0.25, False) + 1, IMAGE),
    "embedding": (lambda x: F.embedding(x, KERNEL[:, 0, 0]), IDS),
    "embedding_padded": (lambda x: F.embedding(x, KERNEL[:, 0, 0], 1), IDS),
    "embedding_padded_from_the_end": (lambda x: F.embedding(x, KERNEL[:, 0, 0], -1), IDS),
    "attention": (lambda x: F.scaled_dot_product_attention(x, x, x, is_causal=True), HEADS),
    "attention_scaled": (lambda x: F.scaled_dot_product_attention(x, x, x, scale=1), HEADS),
    "softmax": (lambda x: F.softmax(x, -1), IMAGE),
    "softmax_of_a_type": (lambda x: F.softmax(x, 1, dtype=torch.float64), IMAGE),
    "linear": (lambda x: F.linear(x, torch.ones(3, 6)), IMAGE),
    "max_pool1d": (lambda x: F.max_pool1d(x, 2, ceil_mode=True), SIGNAL),
    "max_pool2d": (lambda x: F.max_pool2d(x, 3, 2, 1), IMAGE),
    "max_pool2d_indices": (lambda x: F.max_pool2d(x, 3, 2, return_indices=True), IMAGE),
    "max_pool3d": (lambda x: F.max_pool3d(x, (2, 1, 2)), VOLUME),
    "avg_pool1d": (lambda x: F.avg_pool1d(x, 3, 1), SIGNAL),
    "avg_pool2d": (lambda x: F.avg_pool2d(x, (3, 2), divisor_override=4), IMAGE),
    "avg_pool3d": (lambda x: F.avg_pool3d(x, 2, count_include_pad=False), VOLUME),
    "adaptive_avg_pool1d": (lambda x: F.adaptive_avg_pool1d(x, 2), SIGNAL),
    "adaptive_avg_pool2d": (lambda x: F.adaptive_avg_pool2d(x, (1, 2)), IMAGE),
    "adaptive_avg_pool2d_open": (lambda x: F.adaptive_avg_pool2d(x, (None, 2)), IMAGE),
    "adaptive_avg_pool3d": (lambda x: F.adaptive_avg_pool3d(x, 1), VOLUME),
    "pad": (lambda x: F.pad(x, (1, 2), value=3), IMAGE),
    "pad_reflecting": (lambda x: F.pad(x, (1, 0, 0, 2), "reflect"), IMAGE),
    "gelu": (F.gelu, IMAGE),
    "gelu_tanh": (lambda x: F.gelu(x, approximate="tanh"), IMAGE),
    "to_type": (lambda x: x.to(torch.float64), IMAGE),
    "to_the_same_type": (lambda x: x.to(torch.float32) * 2, IMAGE),
    "to_device": (lambda x: x.to("cpu") * 2, IMAGE),
    "to_device_and_type": (lambda x: x.to("cpu", torch.float64), IMAGE),
    "to_that_of_another": (lambda x: x.to(FOUR.double()), IMAGE),
    **{name: (lambda x, name=name: getattr(x, name)(), IMAGE)
       for name in ("float", "double", "half", "bfloat16", "int", "long", "bool", "contiguous", "mean")},
    "mean_of_axes": (lambda x: x.mean((2, 3), True), IMAGE),
    "mean_of_one": (lambda x: torch.mean(x, -1), IMAGE),
    "cat": (lambda x: torch.cat((x, x), -1), IMAGE),
    "transpose": (lambda x: x.transpose(1, -1), IMAGE),
    "transposed": (lambda x: torch.transpose(x, dim0=0, dim1=1), IMAGE),
    "unsqueeze": (lambda x: x.unsqueeze(-1), IMAGE),
    "flatten": (lambda x: x.flatten(1, 2), IMAGE),
    "flattened": (lambda x: torch.flatten(x), IMAGE),
    "permute": (lambda x: x.permute(0, 2, 3, 1), IMAGE),
    "permuted": (lambda x: torch.permute(x, [3, 2, 1, 0]), IMAGE),
    "view": (lambda x: x.view(2, -1), IMAGE),
    "view_of_sizes": (lambda x: x.view(x.size(0), x.shape[1], -1), IMAGE),
    "reshape": (lambda x: x.reshape([-1, x.shape[-1] * 2]), IMAGE),
    "reshape_as_another": (lambda x: x.reshape(x.shape), IMAGE),
    "expand": (lambda x: x[:1].expand(x.shape[0], -1, 6, 6), IMAGE),
    "size": (lambda x: x * x.size(-1), IMAGE),
    "shape": (lambda x: x * x.shape[1], IMAGE),
    "select": (lambda x: x[0, ..., -1], IMAGE),
    "slice": (lambda x: x[:, 1:3, ::2], IMAGE),
    "new_axis": (lambda x: x[..., None, 1:], IMAGE),
    "new_axes": (lambda x: x[None, 0, :, None], IMAGE),
    "slice_from_the_end": (lambda x: x[-1:, ..., :-2], IMAGE),
    "whole": (lambda x: x[:] * 2, IMAGE),
    "rows": (lambda x: x[:, IDS[0]], IMAGE),
}  # fmt: skip


def _written(graph: Any) -> list[tuple[str, list[Any]]]:
    """The operators of a graph, with their operands: numbers and lists of them, and results of which operator."""
    known: dict[str, Any] = {value.debugName(): f"input {i}" for i, value in enumerate(graph.inputs())}
    found = []
    for node in graph.nodes():
        kind, inputs = node.kind(), [known[value.debugName()] for value in node.inputs()]
        if kind == "prim::Constant":
            content: Any = node.output().toIValue()
            known[node.output().debugName()] = content.tolist() if isinstance(content, torch.Tensor) else content
        elif kind == "prim::ListConstruct":
            known[node.output().debugName()] = inputs
        elif kind == "aten::slice" and inputs[2:] == [0, 2**63 - 1, 1] and len(list(node.output().uses())):
            known[node.output().debugName()] = inputs[0]  # the whole of an axis
        else:
            if kind not in ("prim::TupleConstruct", "prim::ListUnpack"):
                found.append((kind, inputs))
            known.update({value.debugName(): f"{kind} {inputs}" for value in node.outputs()})
    return found


@pytest.mark.parametrize("name", CALLS)
def test_nodes_are_those_of_the_tracer(name: str) -> None:
    function, given = CALLS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = torch.jit.trace(function, given, check_trace=False).graph
    torch._C._jit_pass_inline(theirs)
    mine = trace.record(function, (given,), {}).graph
    assert _without_sizes(mine) == _without_sizes(theirs)


def _without_sizes(graph: Any) -> list[Any]:
    """Sizes are written down when they are asked for, or used; where they are operands, they are compared there."""
    return [node for node in _written(graph) if node[0] not in ("aten::size", "prim::NumToTensor", "aten::Int")]


def test_the_line_of_the_model_is_known() -> None:
    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm = torch.nn.BatchNorm2d(4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = F.conv2d(x, KERNEL)
            return self.norm(y)[0].transpose(0, x.dim() - 2)

    first = Model.forward.__code__.co_firstlineno
    program = trace.trace(Model().eval(), (IMAGE,), {})
    places = {node.op: node.location for node in program.block.nodes}
    assert places["aten::_convolution"].source == f"{__file__}:{first + 1}"
    assert [places[op].source for op in ("aten::batch_norm", "aten::select.int", "aten::transpose.int")] == (
        [f"{__file__}:{first + 2}"] * 3
    )
    assert places["aten::batch_norm"].scope == "norm"


def _run(function: Any, *given: torch.Tensor, **options: Any) -> list[numpy.ndarray]:
    program = onnxport.export(function, given, **options)
    session = onnxruntime.InferenceSession(program.model_proto.SerializeToString())
    return session.run(None, {i.name: x.numpy() for i, x in zip(session.get_inputs(), given)})


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return F.conv2d(x.transpose(2, 3), KERNEL)[:, 1:] * 2


def _autocast(x: torch.Tensor) -> torch.Tensor:
    with torch.autocast("cpu", torch.bfloat16):
        y = F.linear(x, KERNEL.reshape(24, 6))
    return y.float()


INSIDE = {
    "function": Doubled.apply,
    "fork": lambda x: torch.jit.wait(torch.jit.fork(lambda y: F.conv2d(y, KERNEL).transpose(0, 1), x)) + 1,
    "vmap": torch.vmap(lambda x: F.conv2d(x, KERNEL).transpose(0, 1)[:, 1:]),
    "autocast": _autocast,
    "written": lambda x: _written_to(x.clone()),
}


def _written_to(x: torch.Tensor) -> torch.Tensor:
    x[:, 1:].transpose(2, 3)[..., 0].add_(1)
    x.contiguous().view(2, -1)[:, ::2].mul_(-1)
    F.dropout(x, training=False).add_(3)
    return x


@pytest.mark.parametrize("opset", [13, 17, 21])
@pytest.mark.parametrize("name", INSIDE)
def test_what_else_changes_operators(name: str, opset: int) -> None:
    model = OfX(INSIDE[name])
    expected = model(IMAGE)
    (found,) = _run(model, IMAGE, opset_version=opset)
    numpy.testing.assert_allclose(found, expected.numpy(), rtol=1e-4, atol=2e-2 if name == "autocast" else 1e-5)


def test_zeros_keep_their_signs() -> None:
    for value in (0.0, -0.0, 0.0):
        recording = trace.record(lambda x, value=value: F.pad(x, (1, 1), value=value), (IMAGE,), {})
        (pad,) = recording.graph.findAllNodes("aten::pad")
        assert str(pad.inputsAt(3).toIValue()) == str(value)


def test_errors_are_those_of_torch() -> None:
    for call in (
        lambda x: x.transpose(0, 7),
        lambda x: F.conv2d(x, KERNEL[:, :3]),
        lambda x: x[5],
        lambda x: x.flatten(1, 2, 3),
    ):
        with pytest.raises((IndexError, RuntimeError, TypeError)) as expected:
            call(IMAGE)
        with pytest.raises(Exception) as found:
            trace.record(call, (IMAGE,), {})
        assert str(expected.value).partition("\n")[0] in str(found.value)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: F.batch_norm(x, FOUR, FOUR, training=x.shape[2] > 6),
        lambda x: F.instance_norm(x, FOUR, FOUR, use_input_stats=x.shape[2] > 6),
        lambda x: F.scaled_dot_product_attention(x, x, x, is_causal=x.shape[2] > 6),
    ],
    ids=["batch_norm", "instance_norm", "attention"],
)
def test_bools_of_sizes_are_no_constants(function: Any) -> None:
    """They are told, or live."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        result = onnxport.export(
            OfX(function), (IMAGE,), input_names=["x"], dynamic_axes={"x": {2: "h"}}, opset_version=17
        )
    x = torch.linspace(-1, 1, 2 * 4 * 8 * 6).reshape(2, 4, 8, 6)
    expected = function(x)
    is_right = torch.allclose(torch.as_tensor(result(x)), expected, atol=1e-4)
    assert is_right or any("may be right only at h=6" in str(warning.message) for warning in told)
