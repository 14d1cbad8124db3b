"""Python loops over dynamic axes, which a trace unrolls, are loops in the exported model."""

import warnings

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import onnxport
from onnxport.capture.liveness import rolled
from onnxport.capture.liveness.rolled import roll
from onnxport.capture.trace import trace
from onnxport.errors import OnnxExporterWarning
from onnxport.program import Block, Node, Value


def cell():
    torch.manual_seed(0)
    return nn.GRUCell(3, 3)


class Recurrent(nn.Module):
    """A module made of a function of (self, x) with two cells and a layer."""

    def __init__(self, function):
        super().__init__()
        self.function = function
        self.a, self.b, self.linear = cell(), nn.LSTMCell(3, 3), nn.Linear(3, 3)

    def forward(self, x):
        return self.function(self, x)


def zeros(x):
    return x.new_zeros(x.shape[0], 3)


def recurrent(m, x):
    h, outs = zeros(x), []
    for t in range(x.shape[1]):
        h = m.a(x[:, t], h)
        outs.append(m.linear(h))
    return torch.stack(outs, 1), h


def two_states(m, x):
    h = c = zeros(x)
    for t in range(x.shape[1]):
        h, c = m.b(x[:, t], (h, c))
    return h, c


def backward(m, x):
    h, outs = zeros(x), []
    for t in reversed(range(x.shape[1])):
        h = m.a(x[:, t], h)
        outs.append(h)
    return torch.stack(outs, 1)


def put_in_front(m, x):
    h, outs = zeros(x), []
    for t in range(x.shape[1] - 1, -1, -1):
        h = m.a(x[:, t], h)
        outs.insert(0, h)
    return torch.stack(outs, 1)


def both_ways(m, x):
    outs, back = [], []
    h = zeros(x)
    for t in range(x.shape[1]):
        h = m.a(x[:, t], h)
        outs.append(h)
    h = zeros(x)
    for t in range(x.shape[1]):
        h = m.a(x[:, x.shape[1] - 1 - t], h)
        back.append(h)
    back.reverse()
    return torch.cat([torch.stack(outs, 1), torch.stack(back, 1)], -1)


def layers(m, x):
    for layer in (m.a, m.a, m.a):
        h, outs = zeros(x), []
        for t in range(x.shape[1]):
            h = layer(x[:, t], h)
            outs.append(h)
        x = torch.stack(outs, 1)
    return x


def layers_inside(m, x):
    h, g, outs = zeros(x), zeros(x), []
    c = zeros(x)
    for t in range(x.shape[1]):
        h = m.a(x[:, t], h)
        g, c = m.b(h, (g, c))
        outs.append(g)
    return torch.stack(outs, 1)


def without_a_state_at_first(m, x):
    h = None
    for t in range(x.shape[1]):
        h = x[:, t] if h is None else torch.tanh(x[:, t] + h)
    return h


def from_zero(m, x):
    total = 0
    for t in range(x.shape[1]):
        total = total + x[:, t] * t
    return total


def first_element_given(m, x):
    outs = [x[:, 0]]
    for t in range(1, x.shape[1]):
        outs.append(torch.maximum(outs[-1], x[:, t]))
    return torch.stack(outs, 1)


def more_behind(m, x):
    outs, sums = [zeros(x)], []
    for t in range(x.shape[1]):
        outs.append(x[:, t] * 2)
        sums.append(x[:, t].sum(-1))
    return torch.stack([*outs, zeros(x)], 1), torch.stack(sums, 1)


def written(m, x):
    out, h = torch.zeros_like(x), x[:, 0] * 0
    for t in range(x.shape[1]):
        h = torch.tanh(h + x[:, t])
        out[:, t] = h
    return out


def in_place(m, x):
    h = zeros(x)
    for t in range(x.shape[1]):
        h += x[:, t]
        h *= 0.5
    return h


def growing(m, x):
    out = x[:, :1]
    for t in range(1, x.shape[1]):
        out = torch.cat([out, out[:, -1:] * 0.5 + x[:, t : t + 1]], 1)
    return out


def attending(m, x):
    memory, h, outs, weights = x * 2, zeros(x), [], []
    for _ in range(x.shape[1]):
        w = torch.softmax((memory * h.unsqueeze(1)).sum(-1), 1)
        h = m.a((w.unsqueeze(-1) * memory).sum(1), h)
        outs.append(h)
        weights.append(w)
    return torch.stack(outs, 1), torch.stack(weights, 1)


def selective_scan(m, x):
    decay, state, outs = torch.sigmoid(x), zeros(x), []
    for i in range(x.shape[1]):
        state = decay[:, i, :] * state + x[:, i, :]
        outs.append(torch.matmul(state.unsqueeze(1), state.unsqueeze(-1))[:, :, 0])
    return torch.cat(outs, 1) * x[:, :, 0], state


def blocks(m, x):
    outs = []
    for i in range(0, x.shape[1], 2):
        outs.append(torch.softmax(x[:, i : i + 2], 1))
    return torch.cat(outs, 1)


def inner_loop(m, x):
    outs = []
    for t in range(x.shape[1]):
        h = x[:, t]
        for _ in range(3):
            h = torch.tanh(m.linear(h))
        outs.append(h)
    return torch.stack(outs, 1)


def heads(m, x):
    outs = []
    for n in range(3):
        y = x[..., n : n + 1] * m.linear.weight[n]
        decay, state, steps = torch.sigmoid(y), zeros(x), []
        for t in range(x.shape[1]):
            state = decay[:, t] * state + y[:, t]
            steps.append((state.unsqueeze(-1).unsqueeze(-1) * 2)[:, :, 0, 0])  # what looks like loops of two iterations
        outs.append(torch.stack(steps, 1))
    return torch.cat(outs, -1)


def rows(m, x):
    return torch.stack([F.linear(row, row[:1]) for row in x])


def rows_of_two(m, x):
    return sum(a * b for a, b in zip(x.unbind(1), x.flip(1).unbind(1)))


def pieces(m, x):
    return torch.cat([part.softmax(-1) for part in x.split(1, 1)], 1)


def put_together_again(m, x):
    return torch.cat(list(x)), torch.stack(x.unbind(1)), torch.cat(x.split(2, 1), 1)


class Spike(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, height):
        return (x > 0).to(x) * height

    @staticmethod
    def backward(ctx, gradient):
        return gradient, None


def spiking(m, x):
    h, outs = zeros(x), []
    for t in range(x.shape[1]):
        h = h * 0.9 + m.linear(x[:, t])
        outs.append(Spike.apply(h - 0.3, 2.0))
        h = h - outs[-1] * 0.3
    return torch.stack(outs, 1), h


def one_of_each_row(m, x):
    """The score of a chain, as of a conditional random field: rows are counted in each step."""
    best = x.argmax(-1)
    score = x[:, 0, 0]
    for t in range(1, x.shape[1]):
        score = score + m.a.weight_hh[best[:, t - 1], best[:, t]]
        score = score + x[torch.arange(x.shape[0]), t, best[:, t]]
    return score


FUNCTIONS = [
    recurrent, two_states, backward, put_in_front, both_ways, layers, layers_inside, without_a_state_at_first, from_zero,
    first_element_given, more_behind, written, in_place, growing, attending, selective_scan, blocks, inner_loop, heads,
    rows, rows_of_two, pieces, put_together_again, one_of_each_row, spiking,
]  # fmt: skip


def exported(model, x, **options):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", OnnxExporterWarning)
        result = onnxport.export(model, (x,), input_names=["x"], dynamic_axes={"x": {0: "b", 1: "n"}}, **options)
    return result, [str(w.message) for w in caught if issubclass(w.category, OnnxExporterWarning)]


def compare(model, result, sizes):
    for size in sizes:
        x = torch.randn(*size, 3)
        expected, got = model(x), result(x)
        for a, b in zip(*((r if isinstance(r, (tuple, list)) else [r]) for r in (got, expected))):
            torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_loops_over_dynamic_axes(function):
    model = Recurrent(function).eval()
    result, said = exported(model, torch.randn(3, 5, 3), opset_version=18)
    assert not said
    nodes = {node.op_type for node in result.model_proto.graph.node}
    assert function is put_together_again or "Loop" in nodes
    compare(model, result, [(3, 5), (2, 7), (1, 4), (5, 1), (6, 12)])


@pytest.mark.parametrize("function", [recurrent, two_states, backward, written, rows, pieces], ids=lambda f: f.__name__)
def test_two_iterations_are_enough(function):
    model = Recurrent(function).eval()
    result, said = exported(model, torch.randn(2, 2, 3), opset_version=18)
    assert not said
    compare(model, result, [(3, 5), (1, 4), (5, 1), (6, 12)])


@pytest.mark.parametrize("opset_version", [9, 11, 13])
@pytest.mark.parametrize("function", [recurrent, without_a_state_at_first, written], ids=lambda f: f.__name__)
def test_at_older_opsets(function, opset_version):
    model = Recurrent(function).eval()
    result, said = exported(model, torch.randn(3, 5, 3), opset_version=opset_version)
    assert not said
    compare(model, result, [(2, 7), (1, 2)])


def test_iterations_that_differ_stay_as_they_are():
    def function(m, x):
        return torch.stack([x[:, t] * 0.5**t for t in range(x.shape[1])], 1)

    _, said = exported(Recurrent(function), torch.randn(2, 5, 3))
    assert any("may be right only at n=5" in text for text in said)


def test_iterations_outside_of_the_loop_are_told_where_there_are_none():
    def function(m, x):
        steps = list(x.unbind(1))
        total = 0
        for t, step in enumerate(steps[:1] + steps):
            total = step * 2 if t == 0 else (total - step if t == 1 else total * step)
        return total

    model = Recurrent(function)
    result, said = exported(model, torch.randn(2, 5, 3))
    compare(model, result, [(2, 5), (3, 4), (1, 9), (2, 2)])
    assert not said


def test_static_loops_stay_unrolled():
    model = Recurrent(recurrent).eval()
    result = onnxport.export(model, (torch.randn(2, 5, 3),), input_names=["x"])
    assert "Loop" not in {node.op_type for node in result.model_proto.graph.node}


# -- the stage alone --------------------------------------------------------------------------------


def ops(block: Block) -> list[str]:
    return [node.op for node in block.walk()]


def test_layers_are_no_loop():
    model = nn.Sequential(*(nn.Linear(3, 3) for _ in range(6)))
    assert roll(trace(model, (torch.randn(2, 3),), {}).block) is None


def test_a_shared_layer_is_one():
    layer = nn.Linear(3, 3)
    block = roll(trace(nn.Sequential(*[layer] * 6), (torch.randn(2, 3),), {}).block)
    assert block is not None
    assert ops(block) == ["prim::Loop", "aten::linear"]
    assert block.nodes[0].inputs[0] == 6


def chain(*numbers: int) -> Block:
    """x = add(x, number) for each of the numbers."""
    x = Value("x")
    block = Block([x])
    for number in numbers:
        block.nodes.append(Node("aten::add.Scalar", [x, number, 1], [Value("y")]))
        x = block.nodes[-1].outputs[0]
    block.returns = [x]
    return block


@pytest.mark.parametrize(
    ("numbers", "trips"),
    [((4, 4, 4), [3]), ((1, 2, 3, 4), [4]), ((9, 6, 3), [3]), ((1, 2, 3, 5, 7, 9), [3, 3]), ((1, 2), [2]), ((1,), [])],
)
def test_constants_go_on_by_equal_steps(numbers, trips):
    block = roll(chain(*numbers))
    loops = [node for node in block.nodes if node.op == "prim::Loop"] if block else []
    assert [loop.inputs[0] for loop in loops] == trips


def test_loops_in_long_loops_are_looked_for_once():
    """What repeats often has many periods, in each of which there are the same loops."""

    def looked(count: int) -> int:
        calls = 0

        class Counting(rolled.Rolling):
            def _roles(self, run):
                nonlocal calls
                calls += 1
                return super()._roles(run)

        x = Value("x")
        block = Block([x])
        for t in range(count):
            for op, number in (("add", t), ("mul", 2), ("mul", 3), ("sub", 1)):
                block.nodes.append(Node(f"aten::{op}.Scalar", [x, number], [Value("y")]))
                x = block.nodes[-1].outputs[0]
        block.returns = [x]
        Counting(block, True).run()
        return calls

    assert looked(40) < 3 * looked(20)


def steps_of_a_quotient(x, h):
    """All steps of all sequences in one row, as recurrent policies have them."""
    outs = []
    for step in x.reshape(h.shape[0], -1, 2).swapaxes(0, 1):
        h = torch.tanh(h + step)
        outs.append(h)
    return torch.stack(outs, 1).flatten(0, 1)


def test_as_many_iterations_as_a_tensor_has_rows():
    arguments = torch.randn(10, 2), torch.randn(2, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error", OnnxExporterWarning)
        result = onnxport.export(
            steps_of_a_quotient,
            arguments,
            input_names=["x", "h"],
            dynamic_axes={"x": {0: "m"}, "h": {0: "n"}},
            opset_version=17,
        )
    for m, n in ((10, 2), (21, 3), (4, 1), (3, 3)):
        arguments = torch.randn(m, 2), torch.randn(n, 2)
        torch.testing.assert_close(result(*arguments), steps_of_a_quotient(*arguments))


def stacked_where_asked(x):
    """Asks for more sizes where the first is that of the example, and never finds what it asks for."""
    if x.shape[0] == 2 and x.shape[1:] == x.shape[2:]:
        return x
    return torch.stack([x] * x.shape[0]) + 1


def test_a_list_behind_what_is_asked_on_one_way_only():
    with warnings.catch_warnings():
        warnings.simplefilter("error", OnnxExporterWarning)
        result = onnxport.export(
            stacked_where_asked,
            (torch.randn(2, 1, 5, 6),),
            input_names=["x"],
            dynamic_axes={"x": {0: "b", 2: "h", 3: "w"}},
            opset_version=17,
        )
    for b, h, w in ((2, 5, 6), (1, 5, 6), (3, 1, 9), (2, 4, 4)):
        x = torch.randn(b, 1, h, w)
        torch.testing.assert_close(result(x), stacked_where_asked(x))
