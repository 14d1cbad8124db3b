"""Slips in a call of `export`: refused before any work is done, or told with what was meant."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import onnxport
from onnxport.errors import CheckerError, LoweringError, OnnxExporterError, OnnxExporterWarning

X = torch.ones(2)


class Scripted(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()

    def forward(
        self,
        x: torch.Tensor,
        n: int,
        f: float,
        sizes: list[int],
        named: dict[str, torch.Tensor],
        pair: tuple[torch.Tensor, int],
        other: torch.Tensor | None = None,
    ) -> torch.Tensor:
        return x * n + f + sizes[0] + named["a"] + pair[0] * pair[1]


RIGHT = {"x": X, "n": 2, "f": 0.5, "sizes": [1, 2], "named": {"a": X}, "pair": (X, 3)}
SLIPS = [
    ({"x": 3}, "forward takes Tensor for 'x', but the example is int 3"),
    ({"x": None}, "forward takes Tensor for 'x', but the example is NoneType"),
    ({"x": np.ones(2)}, "forward takes Tensor for 'x', but the example is ndarray; torch.from_numpy makes a tensor"),
    ({"n": 2.5}, "forward takes int for 'n', but the example is float 2.5"),
    ({"n": X}, "forward takes int for 'n', but the example is Tensor"),
    ({"f": "half"}, "forward takes float for 'f', but the example is str 'half'"),
    ({"sizes": [1.5]}, "forward takes List[int] for 'sizes', but the example is list [1.5]"),
    ({"sizes": X}, "forward takes List[int] for 'sizes', but the example is Tensor"),
    ({"named": {"a": 1}}, "forward takes Dict[str, Tensor] for 'named', but the example is dict"),
    ({"pair": (X, 3, 4)}, "forward takes Tuple[Tensor, int] for 'pair', but the example is tuple"),
    ({"other": 5}, "forward takes Optional[Tensor] for 'other', but the example is int 5"),
]


@pytest.mark.parametrize("wrong, text", SLIPS)
def test_an_example_that_a_script_does_not_take(wrong, text):
    script = torch.jit.script(Scripted())
    with pytest.raises((RuntimeError, TypeError)):
        script(**{**RIGHT, **wrong})  # PyTorch doesn't take it either
    with pytest.raises(TypeError) as error:
        onnxport.export(script, kwargs={**RIGHT, **wrong})
    assert text in str(error.value)


@pytest.mark.parametrize(
    "other", [{}, {"n": np.int64(2)}, {"n": torch.tensor(2)}, {"f": 1}, {"other": None}, {"other": X}]
)
def test_an_example_that_a_script_takes(other):
    result = onnxport.export(torch.jit.script(Scripted()), kwargs={**RIGHT, **other})
    assert {"x", "n", "f", "sizes", "named.a", "pair.0", "pair.1"} <= set(result.input_names)


class Plus(torch.nn.Module):
    def forward(self, x, y=None):
        return x + 1 if y is None else x + y


@pytest.mark.parametrize(
    "args, text",
    [
        ([X], "args is a list, which stands for one argument; a tuple has an element for each argument"),
        ([X, X], "args is a list"),
        (np.ones(2), "args has an array of numpy, which is a constant; torch.from_numpy makes it a tensor"),
        ((np.ones(2),), "args has an array of numpy"),
    ],
)
def test_args_that_are_no_tuple_of_tensors(args, text):
    with pytest.raises(TypeError, match=text):
        onnxport.export(Plus(), args)


def test_an_error_of_the_model_stays_as_it_is():
    class Raising(torch.nn.Module):
        def forward(self, x):
            raise KeyError("mine")

    with pytest.raises(KeyError, match="^'mine'$"):
        onnxport.export(Raising(), X)


def test_an_array_that_becomes_a_constant_is_warned_of():
    class Offset(torch.nn.Module):
        def forward(self, x, y):
            return x + float(y[0])

    with pytest.warns(OnnxExporterWarning, match="'y' is a numpy array, a constant of the exported model"):
        result = onnxport.export(Offset(), (X, np.ones(2, np.float32)))
    assert result.input_names == ["x"]


class Slots:
    __slots__ = ("a",)

    def __init__(self, a) -> None:
        self.a = a


@pytest.mark.parametrize(
    "hidden, kind",
    [
        ({X}, "set"),
        (frozenset([X]), "frozenset"),
        (iter([X]), "list_iterator"),
        ((x for x in [X]), "generator"),
        ({"a": X}.values(), "dict_values"),
        (Slots(X), "Slots"),
    ],
)
def test_tensors_that_are_not_seen_as_inputs_are_warned_of(hidden, kind):
    class Sum(torch.nn.Module):
        def forward(self, x, others):
            return x + (others.a if isinstance(others, Slots) else sum(others))

    with pytest.warns(OnnxExporterWarning, match=f"'others', {kind}, has tensors in it, which are constants"):
        result = onnxport.export(Sum(), (X, hidden))
    assert result.input_names == ["x"]


@pytest.mark.parametrize("other", [{1, 2}, iter([1, 2]), torch.float32, slice(1), range(2), "text", None, sum])
def test_values_without_tensors_are_not_warned_of(other):
    class Ignores(torch.nn.Module):
        def forward(self, x, other):
            return x + 1

    assert onnxport.export(Ignores(), (X, other)).input_names == ["x"]


class Returns(torch.nn.Module):
    def __init__(self, what) -> None:
        super().__init__()
        self.what = what

    def forward(self, x):
        return None if self.what is None else (x + 1, self.what)


class Labelled(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, str]:
        return x + 1, "label"


def test_a_model_without_a_result_is_refused():
    with pytest.raises(LoweringError, match="the model returns no tensor or number"):
        onnxport.export(Returns(None), X)


@pytest.mark.parametrize("front_end", [lambda m: m, torch.jit.script, lambda m: torch.export.export(m, (X,))])
def test_a_string_among_the_results_is_warned_of(front_end):
    model = front_end(Labelled())
    with pytest.warns(OnnxExporterWarning, match="the model returns the string 'label'") as caught:
        result = onnxport.export(model, X)
    assert len(result.output_names) == len(caught) == 1


@pytest.mark.parametrize("options", [{"input_names": ["a"], "output_names": ["a"]}, {"output_names": ["x"]}])
def test_names_that_clash_are_refused_before_anything_is_lowered(options):
    class Unknown(torch.nn.Module):
        def forward(self, x):
            return torch.ops.slips.unknown(x)

    with pytest.raises(ValueError, match="names both an input and an output"):
        onnxport.export(Unknown(), X, **options)


@torch.library.custom_op("slips::unknown", mutates_args=())
def unknown(x: torch.Tensor) -> torch.Tensor:
    return x.clone()


INVALID = [
    (lambda g, x: g.op("Relu", x, speed_i=1), "Relu of opset 14 has no attribute 'speed'; it has none"),
    (lambda g, x: g.op("Clip", x, min_f=0.0), "Clip of opset 14 has no attribute 'min'"),
    (lambda g, x: g.op("Concat", x, x), "Concat of opset 14 needs the attribute 'axis'"),
    (lambda g, x: g.op("Relu", x, x), "Relu of opset 14 takes 1 input(s) (X), 2 are given"),
    (lambda g, x: g.op("Where", x), "Where of opset 14 takes 3 input(s) (condition, X, Y), 1 are given"),
    (lambda g, x: g.op("Softmax", x, axis_f=1.0), "Softmax of opset 14 has attributes of other types: 'axis' is INT"),
    (lambda g, x: g.op("Transpose", x, perm_i=[0, 1, 2, 3]), "its inputs (float32[2]) or attributes don't fit"),
    (lambda g, x: g.op("Gather", x, x, axis_i=0), "Gather refuses it: indices typestr: Tind, has unsupported type"),
    (lambda g, x: g.op("Relu", g.op("Not", x)), "Not refuses it: X typestr: T, has unsupported type: tensor(float)"),
    (lambda g, x: g.op("Softmax", x, axis_i=4), "Softmax"),
]


@pytest.mark.parametrize("symbolic, text", INVALID)
def test_an_invalid_node_of_a_symbolic_function_is_told_with_its_place(symbolic, text):
    class Call(torch.nn.Module):
        def forward(self, x):
            return torch.ops.slips.unknown(x)

    onnxport.register_custom_op_symbolic("slips::unknown", symbolic, 9)
    try:
        with pytest.raises(CheckerError) as error:
            onnxport.export(torch.nn.Sequential(Call()), X)
    finally:
        onnxport.unregister_custom_op_symbolic("slips::unknown", 9)
    assert text in str(error.value)
    assert "the symbolic function for slips::unknown" in str(error.value)
    assert "at 0 (" in str(error.value) and "test_slips.py:" in str(error.value)


@pytest.mark.parametrize("symbolic", [lambda g, x: g.op("Cast", x, to_i=7), lambda g, x: g.op("ArgMax", x)])
def test_a_symbolic_function_that_gives_another_dtype_is_warned_of(symbolic):
    onnxport.register_custom_op_symbolic("aten::tanh", symbolic, 9)
    try:
        with pytest.warns(OnnxExporterWarning, match=r"aten::tanh at 0 \(.*gives int.*PyTorch gives float32"):
            onnxport.export(torch.nn.Sequential(torch.nn.Tanh()), X)
    finally:
        onnxport.unregister_custom_op_symbolic("aten::tanh", 9)


@pytest.mark.parametrize(
    "symbolic, kind",
    [
        (lambda g: None, TypeError),
        (lambda g, x: x + "speed", TypeError),
        (lambda g, x: x.speed, AttributeError),
        (lambda g, x: [x][1], IndexError),
        (lambda g, x: {}["speed"], KeyError),
    ],
)
def test_what_a_symbolic_function_raises_is_told_with_its_place(symbolic, kind):
    class Call(torch.nn.Module):
        def forward(self, x):
            return torch.ops.slips.unknown(x)

    onnxport.register_custom_op_symbolic("slips::unknown", symbolic, 9)
    try:
        with pytest.raises(kind, match=r"\(occurred when translating slips::unknown at 0 .*test_slips.py:\d+\)\)"):
            onnxport.export(torch.nn.Sequential(Call()), X)
    finally:
        onnxport.unregister_custom_op_symbolic("slips::unknown", 9)


@pytest.mark.parametrize(
    "model, text",
    [
        (lambda: torch.nn.Linear(2, 3, device="meta"), "the weights are on meta, the example is on cpu"),
        (lambda: torch.nn.Sequential(torch.nn.LazyLinear(3)), "lazy modules.*call it once on the example before"),
    ],
)
def test_weights_that_the_example_does_not_fit(model, text):
    with pytest.raises(TypeError, match=text):
        onnxport.export(model(), torch.ones(1, 2))


def test_weights_without_values_are_told_by_name():
    model = torch.nn.Linear(2, 3, device="meta")
    result = onnxport.export(model, torch.ones(1, 2, device="meta"))
    with pytest.raises(ValueError, match="initializer 'weight', .*has no values to write.*load the weights before"):
        _ = result.model_proto


def test_a_model_of_another_runtime_is_not_compared_here():
    class Call(torch.nn.Module):
        def forward(self, x):
            return torch.ops.slips.unknown(x)

    onnxport.register_custom_op_symbolic("slips::unknown", lambda g, x: g.op("mine::Unknown", x), 9)
    try:
        result = onnxport.export(Call(), X)
        with pytest.raises(OnnxExporterError, match="it has no operator mine::Unknown, so the model can't be run here"):
            result.verify()
    finally:
        onnxport.unregister_custom_op_symbolic("slips::unknown", 9)


@torch.jit.script
def with_a_number(x: torch.Tensor):
    return x * 2, x.shape[0]


def test_a_script_in_a_trace_that_gives_numbers():
    with pytest.raises(TypeError, match="let it give tensors, or script the whole model"):
        onnxport.export(lambda x: with_a_number(x)[0], torch.ones(2, 3))
