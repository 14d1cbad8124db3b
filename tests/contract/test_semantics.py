"""What the classic page promises or regrets about models: the promises kept, the limits lifted."""

from __future__ import annotations

import io

import numpy as np
import onnx
import onnxruntime as ort
import pytest
import torch

import onnxport
from onnxport.errors import OnnxExporterWarning
from tests.contract.harness import OPSETS, X, exported, inputs, operators, run


class Call(torch.nn.Module):
    def __init__(self, function) -> None:
        super().__init__()
        self.function = function

    def forward(self, x, *rest):
        return self.function(x, *rest)


def same(function, *examples, others=(), opset=14, dynamic_axes=None, **options):
    """Export, and compare with eager at the examples and at other arguments."""
    names = [f"x{i}" for i in range(len(examples))]
    proto = exported(
        Call(function), examples, input_names=names, opset_version=opset, dynamic_axes=dynamic_axes, **options
    )
    for args in (examples, *others):
        expected = function(*[a.clone() for a in args])
        expected = expected if isinstance(expected, (tuple, list)) else (expected,)
        for got, wanted in zip(run(proto, *[a.numpy() for a in args]), expected, strict=True):
            np.testing.assert_allclose(got, torch.as_tensor(wanted).numpy(), rtol=1e-4, atol=1e-5)
    return proto


# -- tracing --------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::onnxport.errors.OnnxExporterWarning")
def test_numpy_values_become_constants():
    def forward(x):
        return x + torch.from_numpy(np.concatenate((x.detach().numpy(), x.detach().numpy()), axis=1))[:, :3]

    proto = exported(Call(forward), X)
    assert operators(proto) == ["Add"]


def test_item_becomes_a_constant_with_a_warning_that_names_the_line():
    def forward(x, n):
        return x.reshape(n.item(), -1)

    with pytest.warns(Warning, match="test_semantics.py"):
        proto = exported(Call(forward), (torch.randn(4, 3), torch.tensor(2)))
    assert run(proto, np.zeros((4, 3), np.float32), np.array(2))[0].shape == (2, 6)


@pytest.mark.parametrize("opset", OPSETS)
def test_reshape_keeps_a_tensor_live(opset):
    proto = exported(
        Call(lambda x, n: x.reshape(n, -1)), (torch.randn(4, 3), torch.tensor(2)), opset_version=opset,
        input_names=["x", "n"],
    )  # fmt: skip
    for n in (1, 2, 6):
        assert run(proto, np.zeros((4, 3), np.float32), np.array(n))[0].shape == (n, 12 // n)


@pytest.mark.parametrize("opset", OPSETS)
def test_in_place_change_of_a_size_acts_as_in_python(opset):
    def forward(states):
        batch_size, seq_length = states.shape[:2]
        real_seq_length = seq_length
        real_seq_length += 2
        return torch.zeros(real_seq_length + seq_length)

    proto = exported(
        Call(forward), torch.randn(2, 5), input_names=["s"], dynamic_axes={"s": {1: "n"}}, opset_version=opset
    )
    for n in (5, 7):
        assert run(proto, np.zeros((2, n), np.float32))[0].shape == (2 * n + 2,)


# -- indexing -------------------------------------------------------------------------------------

READS = {
    "negative_values": lambda d: d[torch.tensor([[1, 2], [2, -3]]), torch.tensor([-2, 3])],
    "two_of_rank_2": lambda d: d[torch.tensor([[1, 2], [2, 0]]), torch.tensor([[0, 1], [3, 2]])],
    "not_consecutive": lambda d: d[torch.tensor([2, 0]), :, torch.tensor([1, 2])],
    "mask": lambda d: d[d[:, 0, 0] > -10],
    "mask_and_index": lambda d: d[torch.tensor([True, False, True]), :, torch.tensor([1, -1])],
}
WRITES = {
    "negative_values": (lambda d, n: _set(d, (torch.tensor([1, -2]), torch.tensor([-2, 3])), n), (2, 5)),
    "rank_2": (lambda d, n: _set(d, (torch.tensor([[1, 2], [2, 0]]), torch.tensor([2, 3])), n), (2, 2, 5)),
    "not_consecutive": (lambda d, n: _set(d, (torch.tensor([2, 0]), slice(None), torch.tensor([1, 2])), n), (2, 4)),
    "broadcast": (lambda d, n: _set(d, (torch.tensor([[0, 2], [1, 1]]), slice(1, 3)), n), (5,)),
    "mask": (lambda d, n: _set(d, (d[:, :, 0] > 0,), n), (5,)),
}


def _set(data, index, new):
    out = data.clone()
    out[index] = new
    return out


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize("name", READS)
def test_reads_that_the_page_lists_as_limits(name, opset):
    data = torch.randn(3, 4, 5)
    same(READS[name], data, others=[(torch.randn(3, 4, 5),)], opset=opset)


@pytest.mark.parametrize("opset", [n for n in OPSETS if n >= 11])
@pytest.mark.parametrize("name", WRITES)
def test_writes_that_the_page_lists_as_limits(name, opset):
    function, shape = WRITES[name]
    data = torch.randn(3, 4, 5)
    same(function, data, torch.randn(shape), others=[(torch.randn(3, 4, 5), torch.randn(shape))], opset=opset)


@pytest.mark.parametrize("opset", [n for n in OPSETS if n >= 11])
def test_negative_values_of_an_index_that_is_an_input(opset):
    data, index = torch.randn(3, 4), torch.tensor([0, -1])
    other = (torch.randn(3, 4), torch.tensor([-3, 1]))
    same(lambda d, i: d[i], data, index, others=[other], opset=opset)
    same(lambda d, i: _set(d, (i,), d[0]), data, index, others=[other], opset=opset)


# -- scripts --------------------------------------------------------------------------------------


@torch.jit.script
def loop(x: torch.Tensor, n: int):
    for i in range(n):
        if bool(x.sum() > 10):
            x = x - i
        else:
            x = x * 2 + i
    return x


@pytest.mark.parametrize("opset", OPSETS)
def test_loops_and_ifs_of_scripts_stay(opset):
    proto = exported(loop, (torch.ones(2, 3), 4), opset_version=opset)
    assert "Loop" in operators(proto)
    for n in (0, 1, 5, 9):
        got = run(proto, np.ones((2, 3), np.float32), np.array(n))[0]
        np.testing.assert_allclose(got, loop(torch.ones(2, 3), n).numpy())


@torch.jit.script
def lists(xs: list[torch.Tensor], y: torch.Tensor):
    out = [y]
    for x in xs:
        out.append(x + 1)
    out.insert(0, y * 2)
    last = out.pop()
    return torch.stack(out), last


@pytest.mark.parametrize("opset", [n for n in OPSETS if n >= 11])
def test_lists_of_tensors_are_sequences(opset):
    xs = [torch.ones(2), torch.ones(2) * 2]
    f = io.BytesIO()
    onnxport.export(lists, (xs, torch.zeros(2)), f, opset_version=opset, input_names=["xs", "y"])
    proto = onnx.load_from_string(f.getvalue())
    assert proto.graph.input[0].type.HasField("sequence_type")
    session = ort.InferenceSession(f.getvalue(), providers=["CPUExecutionProvider"])
    for count in (1, 3):
        xs = [torch.randn(2) for _ in range(count)]
        got = session.run(None, {"xs": [x.numpy() for x in xs], "y": np.ones(2, np.float32)})
        for a, b in zip(got, lists(xs, torch.ones(2)), strict=True):
            np.testing.assert_allclose(a, b.numpy(), rtol=1e-6)


def test_lists_of_tensors_say_which_sizes_their_elements_share():
    @torch.jit.script
    def growing(x: torch.Tensor, n: int):
        out = [x]
        for i in range(n):
            out.append(x * i)
        return out

    f = io.BytesIO()
    onnxport.export(growing, (torch.ones(2, 3), 4), f, input_names=["x", "n"], dynamic_axes={"x": [1]})
    element = onnx.load_from_string(f.getvalue()).graph.output[0].type.sequence_type.elem_type.tensor_type
    assert [d.dim_value or d.dim_param for d in element.shape.dim] == [2, "x_dynamic_axes_1"]


def test_numbers_are_always_inputs_of_a_script():
    @torch.jit.script
    def scaled(x: torch.Tensor, a: float, k: int = 2):
        return x * a + k

    proto = exported(scaled, (X, 2.0))
    assert len(proto.graph.input) == 2  # a default that wasn't passed is no input
    np.testing.assert_allclose(run(proto, X.numpy(), np.float32(3.0))[0], (X * 3 + 2).numpy(), rtol=1e-5)


def test_numbers_of_a_traced_module_are_baked_in():
    proto = exported(Call(lambda x, k: x.reshape(k, -1)), (torch.randn(4, 3), 2))
    assert len(proto.graph.input) == 1


def test_strings_are_baked_in():
    proto = exported(Call(lambda x, mode: x.abs() if mode == "abs" else x), (X, "abs"))
    assert operators(proto) == ["Abs"]


@pytest.mark.parametrize("opset", [n for n in OPSETS if n >= 11])
def test_traced_and_scripted_parts_mix(opset):
    class Inner(torch.nn.Module):
        def forward(self, x, n: int):
            for _ in range(n):
                x = x * 2
            return x

    class Outer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = torch.jit.script(Inner())
            self.traced = torch.jit.trace(torch.nn.Linear(3, 3), torch.randn(2, 3))

        def forward(self, x):
            return self.traced(self.inner(x, x.shape[0]))

    model = Outer()
    proto = exported(model, X, input_names=["x"], dynamic_axes={"x": {0: "n"}}, opset_version=opset)
    for n in (1, 2, 4):
        x = torch.randn(n, 3)
        np.testing.assert_allclose(run(proto, x.numpy())[0], model(x).detach().numpy(), rtol=1e-4, atol=1e-4)


# -- recurrent networks, scalars, types --------------------------------------------------------------


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize("kind", [torch.nn.LSTM, torch.nn.GRU, torch.nn.RNN])
def test_recurrent_networks_take_any_batch_and_length(kind, opset):
    torch.manual_seed(0)
    model = kind(3, 4, num_layers=2, bidirectional=True).eval()
    proto = exported(
        model, torch.randn(5, 2, 3), input_names=["x"], opset_version=opset, dynamic_axes={"x": {0: "t", 1: "b"}}
    )
    for shape in ((5, 2, 3), (1, 1, 3), (7, 4, 3)):
        x = torch.randn(shape)
        np.testing.assert_allclose(run(proto, x.numpy())[0], model(x)[0].detach().numpy(), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("opset", OPSETS)
def test_scalars_are_of_the_promoted_type(opset):
    i = torch.tensor([5, -7, 9])
    same(lambda x: x + 1.5, i, opset=opset)
    same(lambda x: x / 2, i, opset=opset)
    same(lambda x: x // 2, i, opset=opset)
    same(lambda x, y: x + y, i.int(), torch.tensor(2.5), opset=opset)
    proto = exported(Call(lambda x: x.half() * 2.5), X, opset_version=opset)
    assert proto.graph.output[0].type.tensor_type.elem_type == onnx.TensorProto.FLOAT16


# -- what every user expects ------------------------------------------------------------------------


def test_tied_weights_are_stored_once():
    class Tied(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a = torch.nn.Linear(3, 3, bias=False)
            self.b = torch.nn.Linear(3, 3, bias=False)
            self.b.weight = self.a.weight

        def forward(self, x):
            return self.b(self.a(x))

    proto = exported(Tied(), X)
    assert len(proto.graph.initializer) == 1


@pytest.mark.parametrize("opset", OPSETS)
def test_an_output_that_is_an_input_or_given_twice(opset):
    def forward(x):
        y = x + 1
        return x, y, y, x

    same(forward, X, opset=opset)


def test_nested_outputs_are_flattened_in_order():
    def forward(x) -> dict[str, torch.Tensor]:
        return {"b": x + 1, "a": (x + 2, [x + 3, None]), "c": x + 4}

    proto = exported(Call(forward), X)
    got = run(proto, X.numpy())
    for value, offset in zip(got, (1, 2, 3, 4), strict=True):
        np.testing.assert_allclose(value, (X + offset).numpy())


@pytest.mark.parametrize("shape", [(), (0, 3), (2, 0)])
def test_0_d_and_zero_size_tensors(shape):
    x = torch.randn(shape)
    same(lambda x: x * 2 + x.sum(), x)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float64, torch.int64, torch.int32, torch.uint8, torch.bool])
def test_types(dtype):
    x = (torch.randn(4) > 0).to(dtype)
    same((lambda x: x ^ True) if dtype is torch.bool else (lambda x: x + x), x)


def test_data_parallel_is_right_or_refused():
    model = torch.nn.DataParallel(torch.nn.Linear(3, 2))
    try:
        proto = exported(model, X)
    except onnxport.errors.OnnxExporterError:
        return
    np.testing.assert_allclose(run(proto, X.numpy())[0], model(X).detach().numpy(), rtol=1e-4, atol=1e-5)


def test_hooks_run():
    model = torch.nn.Linear(3, 2)
    model.register_forward_hook(lambda module, args, output: output * 3)
    before = dict(model._forward_hooks)
    np.testing.assert_allclose(run(exported(model, X), X.numpy())[0], model(X).detach().numpy(), rtol=1e-4, atol=1e-5)
    assert dict(model._forward_hooks) == before


def test_an_exported_program():
    program = torch.export.export(torch.nn.Linear(3, 2), (X,))
    proto = exported(program, X)
    assert len(inputs(proto)) == 1
    np.testing.assert_allclose(run(proto, X.numpy())[0], program.module()(X).detach().numpy(), rtol=1e-4, atol=1e-5)


def test_writes_to_buffers_are_told():
    class Counts(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("count", torch.zeros(1))

        def forward(self, x):
            self.count += 1
            return x + self.count

    model = Counts()
    with pytest.warns(OnnxExporterWarning, match="count"):
        proto = exported(model, X)
    assert model.count.item() == 0
    np.testing.assert_allclose(run(proto, X.numpy())[0], (X + 1).numpy(), rtol=1e-6)


def _add(p):
    p.data.add_(1.0)


def _add_without_grad(p):
    with torch.no_grad():
        p += 1.0


def _assign_data(p):
    p.data = p.data + 1.0


def _assign_rows(p):
    with torch.no_grad():
        p[:1] = p[:1] + 1.0


OVERWRITES = [_add, _add_without_grad, _assign_data, _assign_rows]


@pytest.mark.parametrize("write", OVERWRITES, ids=lambda f: f.__name__)
def test_runs_at_other_sizes_do_not_write_to_parameters(write):
    """An `if` is looked at by runs that aren't recorded, too."""

    class Writes(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = torch.nn.Parameter(torch.tensor([2.0]))

        def forward(self, x):
            write(self.scale)
            return x * self.scale if x.shape[0] > 1 else x * self.scale + 0

    model, data = Writes(), torch.randn(3, 4)
    with pytest.warns(OnnxExporterWarning, match="scale"):
        proto = exported(model, data, dynamic_axes={"x": {0: "rows"}}, input_names=["x"])
    assert model.scale.item() == 2.0
    np.testing.assert_allclose(run(proto, data.numpy())[0], (data * 3).numpy(), rtol=1e-6)


@pytest.mark.parametrize("write", OVERWRITES, ids=lambda f: f.__name__)
def test_parameters_come_back_as_they_were(write):
    class Writes(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = torch.nn.Parameter(torch.tensor([2.0]))

        def forward(self, x):
            write(self.scale)
            return x * self.scale

    model = Writes()
    with pytest.warns(OnnxExporterWarning, match="scale"):
        proto = exported(model, X, dynamic_axes={"x": {0: "rows"}}, input_names=["x"])
    assert model.scale.item() == 2.0
    np.testing.assert_allclose(run(proto, X.numpy())[0], (X * 3).numpy(), rtol=1e-6)
