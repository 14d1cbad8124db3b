"""The parameters of `export`, one clause of the classic page after the other."""

from __future__ import annotations

import io
import os
import re
import warnings
from dataclasses import dataclass

import numpy as np
import onnx
import onnxruntime as ort
import pytest
import torch

import onnxport
from onnxport import OperatorExportTypes, TrainingMode
from onnxport.errors import OnnxExporterWarning
from tests.contract.harness import OPSETS, Net, X, exported, inputs, operators, run, shape
from tests.harness import LATEST


@torch.library.custom_op("contract_parameters::opaque", mutates_args=())
def opaque(x: torch.Tensor) -> torch.Tensor:
    return x.clone()


# -- args -----------------------------------------------------------------------------------------


class Two(torch.nn.Module):
    def forward(self, x, y=None, scale=2.0, *, z=None):
        out = x * scale
        out = out if y is None else out + y
        return out if z is None else out - z


@pytest.mark.parametrize(
    "args, names, expected",
    [
        ((X,), ["x"], lambda: X * 2),
        (X, ["x"], lambda: X * 2),
        ((X, X + 1), ["x", "y"], lambda: X * 2 + X + 1),
        ((X, {"y": X + 1}), ["x", "y"], lambda: X * 2 + X + 1),
        ((X, {"z": X + 1}), ["x", "z"], lambda: X * 2 - X - 1),
        ((X, None, 3.0), ["x"], lambda: X * 3),
        ((X, {}), ["x"], lambda: X * 2),
    ],
    ids=["tuple", "tensor", "two", "named", "keyword_only", "number_baked_in", "empty_dict"],
)
def test_args_forms(args, names, expected):
    proto = exported(Two(), args)
    assert inputs(proto) == names
    given = [X.numpy(), (X + 1).numpy()][: len(names)]
    np.testing.assert_allclose(run(proto, *given)[0], expected().numpy(), rtol=1e-5)


def test_args_positional_dict_needs_an_empty_one_after_it():
    class Model(torch.nn.Module):
        def forward(self, x, d):
            return x + d["k"]

    assert inputs(exported(Model(), (X, {"k": X}, {}))) == ["x", "d.k"]
    with pytest.raises(TypeError, match=re.escape("put {} after it")):
        onnxport.export(Model(), (X, {"k": X}), io.BytesIO())


def test_args_missing_named_argument_without_default_is_none():
    class Model(torch.nn.Module):
        def forward(self, x, y, z):
            return x + z if y is None else y

    assert inputs(exported(Model(), (X, {"z": X}))) == ["x", "z"]


@dataclass
class Pair:
    a: torch.Tensor
    b: torch.Tensor
    k: int = 3


def test_args_tensors_in_containers_become_inputs_in_order():
    class Model(torch.nn.Module):
        def forward(self, xs, d, p):
            return xs[0] + xs[1][0] * d["m"] - p.a * p.k + p.b

    args = ([X, (X + 1, None)], {"m": X + 2, "n": 5}, Pair(X + 3, X + 4))
    proto = exported(Model(), args)
    assert inputs(proto) == ["xs.0", "xs.1.0", "d.m", "p.a", "p.b"]
    got = run(proto, *[(X + i).numpy() for i in range(5)])[0]
    np.testing.assert_allclose(got, (X + (X + 1) * (X + 2) - (X + 3) * 3 + X + 4).numpy(), rtol=1e-4)


def test_args_unused_inputs_stay_inputs():
    class Model(torch.nn.Module):
        def forward(self, x, unused):
            return x + 1

    assert inputs(exported(Model(), (X, X))) == ["x", "unused"]


# -- f --------------------------------------------------------------------------------------------


def test_f_path_pathlike_stream(tmp_path):
    for f in (str(tmp_path / "a.onnx"), tmp_path / "b.onnx"):
        onnxport.export(Net(), X, f)
        onnx.checker.check_model(os.fspath(f))
    stream = io.BytesIO(b"head")
    stream.seek(4)
    onnxport.export(Net(), X, stream)
    assert stream.getvalue()[:4] == b"head"
    assert onnx.load_from_string(stream.getvalue()[4:]).graph.node


def test_f_stream_that_cannot_seek():
    class Pipe(io.RawIOBase):
        content = b""

        def writable(self):
            return True

        def write(self, data):
            self.content += bytes(data)
            return len(data)

    pipe = Pipe()
    onnxport.export(Net(), X, pipe)
    assert onnx.load_from_string(pipe.content).graph.node


def test_f_failed_export_leaves_an_existing_file_alone(tmp_path):
    path, other = tmp_path / "a.onnx", tmp_path / "b.onnx"
    path.write_bytes(b"precious")

    class Model(torch.nn.Module):
        def forward(self, x):
            return torch.ops.contract_parameters.opaque(x)

    for f in (path, other):
        with pytest.raises(onnxport.errors.UnsupportedOperatorError, match="contract_parameters::opaque"):
            onnxport.export(Model(), X, f)
    assert path.read_bytes() == b"precious"
    assert not other.exists()


def test_f_none_gives_the_result_alone():
    assert onnxport.export(Net(), X).output_names == ["output"]


# -- export_params --------------------------------------------------------------------------------


@pytest.mark.parametrize("opset", OPSETS)
def test_export_params_false_makes_all_parameters_inputs_in_state_dict_order(opset):
    net = Net()
    proto = exported(net, X, export_params=False, opset_version=opset)
    assert inputs(proto)[:5] == ["x", *net.state_dict()]
    assert not {i.name for i in proto.graph.initializer} & set(net.state_dict())
    state = {k: torch.randn_like(v) for k, v in net.state_dict().items()}
    net.load_state_dict(state)
    session = ort.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    got = session.run(None, {"x": X.numpy(), **{k: v.numpy() for k, v in state.items()}})[0]
    np.testing.assert_allclose(got, net(X).detach().numpy(), rtol=1e-4, atol=1e-5)


def test_export_params_false_folds_and_fuses_nothing():
    net = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4))
    proto = exported(net, torch.randn(1, 3, 8, 8), export_params=False)
    assert inputs(proto)[1:] == list(net.state_dict())
    assert "BatchNormalization" in [n.op_type for n in proto.graph.node]


# -- verbose --------------------------------------------------------------------------------------


def test_verbose_prints_the_graph_in_the_form_of_the_page(capsys):
    proto = exported(Net(), X, verbose=True, input_names=["actual_input_1", "learned_0"], output_names=["output1"])
    text = capsys.readouterr().out
    assert text.startswith("graph(%actual_input_1 : Float(2, 3),\n      %learned_0 : Float(4, 3),\n")
    assert re.search(
        r"^  %\S+ : Float\(2, 4\) = onnx::Gemm\[transB=1\]\(%actual_input_1, %learned_0, %fc.bias\), "
        r"scope: Net/Linear\[fc\] # .*harness.py:\d+$",
        text,
        re.M,
    )
    assert re.search(r"^  %\S+ : Float\(2, 4\) = onnx::Relu\(%\S+\), scope: Net # ", text, re.M)
    assert re.search(r"^  %output1 : Float\(2, 4\) = onnx::Add\(", text, re.M)
    assert text.endswith("  return (%output1)\n")
    assert all("harness.py" in node.doc_string for node in proto.graph.node)


def test_verbose_does_not_invent_sizes(capsys):
    exported(Net(), X, verbose=True, dynamic_axes={"x": {0: "batch"}})
    assert "%output : Float(batch, 4)" in capsys.readouterr().out


def test_not_verbose_prints_nothing(capsys):
    proto = exported(Net(), X)
    captured = capsys.readouterr()
    assert captured.out == captured.err == ""
    assert not any(node.doc_string for node in proto.graph.node)


# -- training -------------------------------------------------------------------------------------


class Regularised(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 4, 3)
        self.bn = torch.nn.BatchNorm2d(4)
        self.drop = torch.nn.Dropout(0.5)

    def forward(self, x):
        return self.drop(self.bn(self.conv(x)))


MODES = [
    (TrainingMode.EVAL, True, False),
    (TrainingMode.PRESERVE, False, False),
    (TrainingMode.PRESERVE, True, True),
    (TrainingMode.TRAINING, False, True),
]


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize("mode, training, expected", MODES)
@pytest.mark.filterwarnings("ignore::onnxport.errors.OnnxExporterWarning")
def test_training_modes_of_dropout(mode, training, expected, opset):
    model = torch.nn.Dropout(0.5).train(training)
    proto = exported(model, torch.ones(100), training=mode, opset_version=opset)
    dropped = int((run(proto, np.ones(100, np.float32))[0] == 0).sum())
    assert (10 < dropped < 90) if expected else dropped == 0
    assert model.training is training


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize("mode, training, expected", MODES)
@pytest.mark.filterwarnings("ignore::onnxport.errors.OnnxExporterWarning")
def test_training_modes_of_batch_norm(mode, training, expected, opset):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4)).train(training)
    x = torch.randn(2, 3, 8, 8)
    state = {k: v.clone() for k, v in model.state_dict().items()}
    proto = exported(model, x, training=mode, opset_version=opset)
    assert all(torch.equal(v, state[k]) for k, v in model.state_dict().items())
    reference = model.train(expected)(x).detach().numpy()
    np.testing.assert_allclose(run(proto, x.numpy())[0], reference, rtol=1e-3, atol=1e-4)
    if mode is TrainingMode.TRAINING:  # nothing is fused into the convolution's weights
        assert {"0.weight", "0.bias"} <= {i.name for i in proto.graph.initializer}


def test_training_accepts_torchs_own_members():
    proto = exported(Regularised(), torch.randn(2, 3, 8, 8), training=torch.onnx.TrainingMode.EVAL)
    assert operators(proto) == ["Conv"]


def test_the_model_comes_back_as_it_was():
    model = Regularised().train()
    model.bn.eval()
    before = {k: v.clone() for k, v in model.state_dict().items()}
    exported(model, torch.randn(2, 3, 8, 8))
    assert [m.training for m in model.modules()] == [True, True, False, True]
    assert all(torch.equal(before[k], v) for k, v in model.state_dict().items())


def test_containers_of_the_model_come_back_as_they_were():
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.seen, self.by_size, self.calls, self.kept = [], {"sizes": []}, 0, None

        def forward(self, x):
            self.seen.append(x)
            self.by_size["sizes"].append(x.shape)
            self.calls, self.kept = self.calls + 1, x
            return x + 1

    for how in (exported, onnxport.export_to_pretty_string):
        model = Model()
        seen, by_size = model.seen, model.by_size
        how(model, X)
        assert (model.seen, model.by_size, model.calls, model.kept) == ([], {"sizes": []}, 0, None)
        assert model.seen is seen and model.by_size is by_size


def test_the_model_comes_back_after_a_failure():
    class Model(Regularised):
        def forward(self, x):
            raise RuntimeError("no")

    model = Model().train()
    model.bn.eval()
    with pytest.raises(RuntimeError, match="no"):
        exported(model, X)
    assert [m.training for m in model.modules()] == [True, True, False, True]
    assert not onnxport.is_in_onnx_export()


# -- names ----------------------------------------------------------------------------------------


def test_input_names_go_on_into_the_parameters():
    proto = exported(Net(), X, input_names=["a", "w", "b"], keep_initializers_as_inputs=True)
    assert inputs(proto)[:3] == ["a", "w", "b"]


def test_shorter_lists_of_names_name_the_first_ones():
    class Model(torch.nn.Module):
        def forward(self, x, y):
            return x + y, x - y

    proto = exported(Model(), (X, X), input_names=["a"], output_names=["s"])
    assert inputs(proto) == ["a", "y"]
    assert proto.graph.output[0].name == "s"
    assert len(proto.graph.output) == 2


@pytest.mark.parametrize(
    "options, message",
    [
        ({"input_names": ["a"] * 2}, "more than once"),
        ({"input_names": [f"n{i}" for i in range(9)]}, "1 inputs"),
        ({"output_names": ["a", "b"]}, "1 output"),
        ({"input_names": ["a"], "output_names": ["a"]}, "both an input and an output"),
        ({"output_names": ["x"]}, "both an input and an output"),
        ({"input_names": ["a", "w"], "output_names": ["w"]}, "both an input and an output"),
    ],
)
def test_names_that_are_too_many_doubled_or_clash_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        exported(Net(), X, **options)


@pytest.mark.parametrize("front_end", [lambda m: m, torch.jit.script])
def test_nodes_are_named_by_module_and_operator_and_numbered_from_the_second_on(front_end):
    class Twice(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self._first = torch.nn.Linear(3, 3)
            self._second = torch.nn.Linear(3, 3)

        def forward(self, x):
            y = self._first(x)
            return y * self._second(x * y) * x

    proto = exported(front_end(Twice()), X)
    assert [n.name for n in proto.graph.node] == ["/_first/Gemm", "/Mul", "/_second/Gemm", "/Mul_1", "/Mul_2"]


def test_names_are_kept_exactly_and_inner_values_give_way():
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.randn(3))

        def forward(self, weight):
            return (weight + self.weight).relu()

    for options in ({}, {"export_params": False}, {"output_names": ["/Add_output_0"]}):
        proto = exported(Model(), X, **options)
        assert inputs(proto)[0] == "weight"
        names = [*inputs(proto), *(i.name for i in proto.graph.initializer)]
        assert len(set(names)) == len(names)
    assert proto.graph.output[0].name == "/Add_output_0"


# -- opset_version --------------------------------------------------------------------------------


def test_opset_version_default_is_14():
    assert exported(Net(), X).opset_import[0].version == 14


@pytest.mark.parametrize("opset", range(7, LATEST + 1))
def test_opset_version_from_7_to_the_newest(opset):
    proto = exported(Net(), X, opset_version=opset)
    assert [(o.domain, o.version) for o in proto.opset_import] == [("", opset)]


@pytest.mark.parametrize("version, error", [(6, ValueError), (99, ValueError), (14.0, TypeError), (True, TypeError)])
def test_opset_version_anything_else_is_refused_before_the_model_runs(version, error):
    class Model(torch.nn.Module):
        def forward(self, x):
            pytest.fail("the model was run")

    with pytest.raises(error, match="opset_version"):
        exported(Model(), X, opset_version=version)


def test_opset_version_default_rises_to_what_the_model_needs(caplog):
    class Model(torch.nn.Module):
        def forward(self, x, grid):
            return torch.nn.functional.grid_sample(x, grid, align_corners=False)

    args = (torch.randn(1, 1, 4, 4), torch.rand(1, 2, 2, 2))
    with caplog.at_level("WARNING", logger="onnxport"):
        version = exported(Model(), args).opset_import[0].version
    if version != 14:  # what the default can't express is told
        assert f"opset {version}" in caplog.text


# -- do_constant_folding --------------------------------------------------------------------------


class Scaled(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(3))

    def forward(self, x):
        return x + (self.weight * 2).exp()


@pytest.mark.parametrize("opset", OPSETS)
def test_do_constant_folding_computes_ops_on_parameters(opset):
    folded = exported(Scaled(), X, opset_version=opset)
    kept = exported(Scaled(), X, opset_version=opset, do_constant_folding=False)
    assert operators(folded) == ["Add"]
    assert operators(kept) == ["Mul", "Exp", "Add"]


def test_do_constant_folding_never_in_training_mode():
    proto = exported(Scaled(), X, training=TrainingMode.TRAINING, do_constant_folding=True)
    assert operators(proto) == ["Mul", "Exp", "Add"]


# -- dynamic_axes ---------------------------------------------------------------------------------


class SumModule(torch.nn.Module):
    def forward(self, x):
        return torch.sum(x, dim=1)


def test_dynamic_axes_without_them_shapes_are_those_of_args():
    proto = exported(SumModule(), (torch.ones(2, 2),), input_names=["x"], output_names=["sum"])
    assert shape(proto.graph.input[0]) == [2, 2]
    assert shape(proto.graph.output[0]) == [2]


def test_dynamic_axes_as_on_the_page():
    axes = {"x": {0: "my_custom_axis_name"}, "sum": [0]}
    proto = exported(SumModule(), (torch.ones(2, 2),), input_names=["x"], output_names=["sum"], dynamic_axes=axes)
    assert shape(proto.graph.input[0]) == ["my_custom_axis_name", 2]
    assert shape(proto.graph.output[0]) == ["sum_dynamic_axes_1"]
    assert axes == {"x": {0: "my_custom_axis_name"}, "sum": [0]}
    assert run(proto, np.ones((5, 2), np.float32))[0].tolist() == [2] * 5


def test_dynamic_axes_lists_count_labels_per_tensor():
    class Model(torch.nn.Module):
        def forward(self, x, y):
            return x.sum() + y.sum()

    proto = exported(Model(), (torch.ones(2, 3), torch.ones(4, 5)), dynamic_axes={"x": [0, 1], "y": [1]})
    assert shape(proto.graph.input[0]) == ["x_dynamic_axes_1", "x_dynamic_axes_2"]
    assert shape(proto.graph.input[1]) == [4, "y_dynamic_axes_1"]


def test_dynamic_axes_negative_ones_count_from_the_end():
    proto = exported(SumModule(), (torch.ones(2, 2),), dynamic_axes={"x": {-2: "n"}})
    assert shape(proto.graph.input[0]) == ["n", 2]


@pytest.mark.parametrize(
    "axes, error",
    [
        ({"x": {2: "n"}}, ValueError),
        ({"x": {-3: "n"}}, ValueError),
        ({"x": {0: "a", -2: "b"}}, ValueError),
        ({"x": "n"}, TypeError),
        ({"x": {"0": "n"}}, TypeError),
        ({"x": {0: 1}}, TypeError),
        ({"output": {1: "n"}}, ValueError),
    ],
)
def test_dynamic_axes_that_are_wrong_are_refused(axes, error):
    with pytest.raises(error, match="dynamic_axes"):
        exported(SumModule(), (torch.ones(2, 2),), dynamic_axes=axes)


@pytest.mark.parametrize(
    "axes, message",
    [
        ({"nope": {0: "n"}}, "'nope', which is no input or output"),
        ({"x": {0: "n", 1: "n"}}, "one label is one size"),
        ({"x": {0: "n", 1: "m"}, "output": {0: "m"}}, "stands for the size"),
    ],
)
def test_dynamic_axes_that_are_doubtful_are_warned_of(axes, message):
    with pytest.warns(OnnxExporterWarning, match=message):
        exported(SumModule(), (torch.ones(2, 3),), dynamic_axes=axes)


def test_dynamic_axes_same_label_is_the_same_size():
    class Model(torch.nn.Module):
        def forward(self, x, y):
            return x + y

    proto = exported(Model(), (X, X), dynamic_axes={"x": {0: "n"}, "y": {0: "n"}})
    assert shape(proto.graph.output[0]) == ["n", 3]


# -- keep_initializers_as_inputs ------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind, keep, opset, expected",
    [
        (OperatorExportTypes.ONNX, None, 14, False),
        (OperatorExportTypes.ONNX, True, 14, True),
        (OperatorExportTypes.ONNX, False, 14, False),
        (OperatorExportTypes.ONNX, False, 8, True),
        (OperatorExportTypes.ONNX, None, 7, True),
        (OperatorExportTypes.ONNX_ATEN_FALLBACK, None, 14, True),
        (OperatorExportTypes.ONNX_ATEN_FALLBACK, False, 14, False),
    ],
)
def test_keep_initializers_as_inputs(kind, keep, opset, expected):
    proto = exported(Net(), X, operator_export_type=kind, keep_initializers_as_inputs=keep, opset_version=opset)
    initializers = {i.name for i in proto.graph.initializer}
    assert initializers
    assert (initializers <= set(inputs(proto))) is expected
    np.testing.assert_allclose(run(proto, X.numpy())[0], Net()(X).detach().numpy(), rtol=1e-5)


# -- errors ---------------------------------------------------------------------------------------


def test_errors_form_the_tree_of_the_page():
    errors = onnxport.errors
    for error in (errors.CheckerError, errors.UnsupportedOperatorError, errors.SymbolicValueError):
        assert issubclass(error, errors.OnnxExporterError)
    assert issubclass(errors.OnnxExporterError, RuntimeError)
    assert issubclass(errors.OnnxExporterWarning, UserWarning)


def test_checker_error_for_a_graph_that_is_not_valid(tmp_path):
    def symbolic(g, x):
        return g.op("Relu", x, nonsense_i=1)

    onnxport.register_custom_op_symbolic("aten::relu", symbolic, 9)
    try:
        with pytest.raises(onnxport.errors.CheckerError, match="nonsense"):
            onnxport.export(Net(), X, tmp_path / "a.onnx")
    finally:
        onnxport.unregister_custom_op_symbolic("aten::relu", 9)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "options",
    [{"training": 7}, {"operator_export_type": "ONNX"}, {"input_names": "x"}, {"custom_opsets": {"d": "1"}}],
)
def test_arguments_of_the_wrong_type_are_refused(options):
    with pytest.raises(TypeError, match=next(iter(options))):
        exported(Net(), X, **options)


def test_equal_exports_have_equal_bytes():
    net = Net()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert exported(net, X).SerializeToString() == exported(net, X).SerializeToString()
