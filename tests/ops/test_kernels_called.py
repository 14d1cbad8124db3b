"""Kernels called by name. Those for a GPU have no kernel here: programs get them in place of what they compute."""

import operator

import pytest
import torch
import torch.nn.functional as F
from tests.harness import LATEST, Function, case, cases, check, compare, export_checked, f32
from torch import nn

aten = torch.ops.aten
CONVOLUTIONS = [
    case("thnn", lambda x, w: aten.thnn_conv2d(x, w, [3, 2], None, [2, 1], [1, 0]), f32(2, 3, 6, 7), f32(4, 3, 3, 2)),
    case("dilated", lambda x, w, b: aten.slow_conv_dilated2d(x, w, [3, 3], b, [1, 1], [1, 1], [2, 2]), f32(2, 3, 6, 7), f32(4, 3, 3, 3), f32(4)),
    case("dilated_3d", lambda x, w: aten.slow_conv_dilated3d(x, w, [2, 2, 2], None, [1] * 3, [0] * 3, [2] * 3), f32(1, 2, 4, 4, 5), f32(3, 2, 2, 2, 2)),
    case("volume", lambda x, w: aten.slow_conv3d(x, w, [3, 3, 3], None, [1] * 3, [1] * 3), f32(2, 3, 4, 4, 5), f32(4, 3, 3, 3, 3)),
    case("transposed", lambda x, w: aten.slow_conv_transpose2d(x, w, [3, 3], None, [2, 2], [1, 1], [1, 1]), f32(2, 3, 4, 5), f32(3, 4, 3, 3)),
    case("transposed_3d", lambda x, w: aten.slow_conv_transpose3d(x, w, [2, 2, 2], None, [2] * 3), f32(1, 2, 3, 3, 4), f32(2, 3, 2, 2, 2)),
    case("extremes", lambda x: (*torch._aminmax(x), *torch._aminmax(x, 1, True)), f32(3, 4)),
]  # fmt: skip


@cases(CONVOLUTIONS, opsets=(11, LATEST), frontends=("trace", "exported"))
def test_kernels(case, frontend, opset):
    if case.name == "extremes" and frontend == "exported":
        pytest.skip("torch.export doesn't know the kernel")
    check(case, frontend, opset)


def rows(x):
    return x, x * 2, x.flip(1)


def causal(x):
    return F.scaled_dot_product_attention(*rows(x), is_causal=True, scale=0.3)


def biased(x):
    return F.scaled_dot_product_attention(*rows(x), x[..., :1] * x.mT[..., :1, :])


def attention(kernel, *options):
    """A kernel with the arguments that it has between the bias and the dropout."""

    def called(graph, q, k, v, bias=None, dropout=0.0, causal=False, **kwargs):
        biases = () if kernel is aten._scaled_dot_product_flash_attention.default else (bias,)
        both = graph.call_function(kernel, (q, k, v, *biases, *options, dropout, causal), kwargs)
        return graph.call_function(operator.getitem, (both, 0))

    return called


flash = attention(aten._scaled_dot_product_flash_attention.default)
efficient = attention(aten._scaled_dot_product_efficient_attention.default, False)
cudnn = attention(aten._scaled_dot_product_cudnn_attention.default, False)
overrideable = attention(aten._scaled_dot_product_fused_attention_overrideable.default)


def lstm(graph, x, states, weights, biases, layers, dropout, train, both, batch_first):
    options = (4 if biases else 2, None, *states, 2, 5, 0, layers, batch_first, dropout, train, both, [], None)
    return graph.call_function(aten._cudnn_rnn.default, (x, weights, *options))


def gru(graph, x, state, weights, biases, layers, dropout, train, both, batch_first):
    options = (4 if biases else 2, None, state, None, 3, 5, 0, layers, batch_first, dropout, train, both, [], None)
    return graph.call_function(aten._cudnn_rnn.default, (x, weights, *options))


def lstm_cell(graph, x, states, w_ih, w_hh, b_ih, b_hh):
    gates = [graph.call_function(aten.linear.default, pair) for pair in ((x, w_ih), (states[0], w_hh))]
    return graph.call_function(aten._thnn_fused_lstm_cell.default, (*gates, states[1], b_ih, b_hh))


def gru_cell(graph, x, state, w_ih, w_hh, b_ih, b_hh):
    gates = [graph.call_function(aten.linear.default, pair) for pair in ((x, w_ih), (state, w_hh))]
    both = graph.call_function(aten._thnn_fused_gru_cell.default, (*gates, state, b_ih, b_hh))
    return graph.call_function(operator.getitem, (both, 0))


def convolution(graph, x, weight, bias=None, stride=(1, 1), padding=(0, 0), dilation=(1, 1), groups=1):
    arguments = (x, weight, padding, stride, dilation, groups, False, False, True)
    return graph.call_function(aten.cudnn_convolution.default, arguments)


def transposed(graph, x, weight, bias=None, stride=(1, 1), padding=(0, 0), extra=(0, 0), groups=1, dilation=(1, 1)):
    arguments = (x, weight, padding, extra, stride, dilation, groups, False, False, True)
    return graph.call_function(aten.cudnn_convolution_transpose.default, arguments)


def batch_norm(graph, x, weight, bias, mean, var, training, momentum, eps, *_):
    arguments = (x, weight, bias, mean, var, training, momentum, eps)
    both = graph.call_function(aten.cudnn_batch_norm.default, arguments)
    return graph.call_function(operator.getitem, (both, 0))


def grid(graph, x, places, *_):
    return graph.call_function(aten.cudnn_grid_sampler.default, (x, places))


ATTENTION = aten.scaled_dot_product_attention.default
GPU = {
    "flash": (Function(causal), f32(2, 3, 4, 8), ATTENTION, flash),
    "efficient": (Function(causal), f32(2, 3, 4, 8), ATTENTION, efficient),
    "efficient_with_bias": (Function(biased), f32(2, 3, 4, 8), ATTENTION, efficient),
    "cudnn": (Function(biased), f32(2, 3, 4, 8), ATTENTION, cudnn),
    "overrideable": (Function(causal), f32(2, 3, 4, 8), ATTENTION, overrideable),
    "lstm": (nn.LSTM(3, 5, 2, batch_first=True, bidirectional=True), f32(2, 4, 3), aten.lstm.input, lstm),
    "lstm_without_bias": (nn.LSTM(3, 5, bias=False), f32(2, 4, 3), aten.lstm.input, lstm),
    "gru": (nn.GRU(3, 5, 2), f32(2, 4, 3), aten.gru.input, gru),
    "lstm_cell": (nn.LSTMCell(3, 5), f32(2, 3), aten.lstm_cell.default, lstm_cell),
    "gru_cell": (nn.GRUCell(3, 5), f32(2, 3), aten.gru_cell.default, gru_cell),
    "convolution": (nn.Conv2d(2, 4, 3, 2, 1, groups=2, bias=False), f32(1, 2, 6, 7), aten.conv2d.default, convolution),
    "transposed": (nn.ConvTranspose2d(2, 4, 3, 2, 1, 1, bias=False), f32(1, 2, 4, 5), aten.conv_transpose2d.input, transposed),
    "batch_norm": (nn.BatchNorm2d(3), f32(2, 3, 4, 5), aten.batch_norm.default, batch_norm),
    "grid": (Function(lambda x: F.grid_sample(x, x[..., :2] / 2, align_corners=True)), f32(1, 2, 2, 2), aten.grid_sampler.default, grid),
}  # fmt: skip


@pytest.mark.parametrize("name", GPU)
def test_kernels_for_a_gpu(name):
    model, spec, target, kernel = GPU[name]
    model.eval()
    example = (spec.make(0),) if name != "grid" else (torch.rand(1, 2, 2, 2) - 0.5,)
    program = torch.export.export(model, example, strict=False)
    _put(program.graph_module.graph, target, kernel)
    proto = export_checked(program, example, ["x0"], {}, LATEST)
    compare(proto, model, ["x0"], example, None, None)


def _put(graph, target, kernel):
    """Call the kernel in place of an operator."""
    (node,) = (node for node in graph.nodes if node.target == target)
    with graph.inserting_before(node):
        made = kernel(graph, *node.args, **node.kwargs)
    made.meta.update(node.meta)
    node.replace_all_uses_with(made)
    graph.erase_node(node)
