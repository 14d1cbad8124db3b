"""Tables of cases, and the one check that they all go through.

A case is a function (or module) and example inputs. It is exported at an opset, checked by `onnx.checker`, run by
onnxruntime and compared with eager PyTorch: at the example sizes and, where axes are dynamic, at others. While
it is lowered, dtype and sizes that each op was given are compared with those that the trace recorded.
"""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import onnx.parser
import onnxruntime as ort
import pytest
import torch

from onnxport import axes as axes_
from onnxport import dims, ops, options, write  # noqa: F401
from onnxport.capture import capture
from onnxport.lower.model import lower
from onnxport.lower.values import Tensor

torch.set_num_threads(1)


def _newest() -> int:
    """The newest opset that both onnx and onnxruntime know; older versions of onnxruntime know fewer."""
    for opset in range(options.newest_opset(), options.MIN_OPSET, -1):
        model = onnx.parser.parse_model(
            f'<ir_version: {_ir_version(opset)}, opset_import: ["" : {opset}]> g (float[n] x) => (float[n] y) {{ y = Neg(x) }}'
        )
        try:
            ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        except Exception:  # of many kinds, all derived from Exception alone
            continue
        return opset
    raise AssertionError("onnxruntime runs none of the opsets")


def _ir_version(opset: int) -> int:
    return int(onnx.helper.find_min_ir_version_for([onnx.helper.make_opsetid("", opset)]))


LATEST = _newest()


@dataclasses.dataclass(frozen=True)
class Spec:
    """An example input to be made: shape, dtype and range of its random values."""

    shape: tuple[int, ...]
    dtype: torch.dtype
    low: float = -2.0
    high: float = 2.0

    def make(self, seed: int, shape: Sequence[int] | None = None) -> torch.Tensor:
        generator = torch.Generator().manual_seed(seed)
        shape = tuple(self.shape if shape is None else shape)
        if self.dtype == torch.bool:
            return torch.rand(shape, generator=generator) > 0.5
        if self.dtype.is_complex:
            return torch.randn(shape, generator=generator, dtype=self.dtype)
        if self.dtype.is_floating_point:
            values = torch.rand(shape, generator=generator, dtype=torch.float64) * (self.high - self.low) + self.low
            return values.to(self.dtype)
        return torch.randint(int(self.low), int(self.high) + 1, shape, generator=generator).to(self.dtype)


def f32(*shape: int, low: float = -2.0, high: float = 2.0) -> Spec:
    return Spec(shape, torch.float32, low, high)


def f64(*shape: int, low: float = -2.0, high: float = 2.0) -> Spec:
    return Spec(shape, torch.float64, low, high)


def f16(*shape: int, low: float = -2.0, high: float = 2.0) -> Spec:
    return Spec(shape, torch.float16, low, high)


def i64(*shape: int, low: int = -5, high: int = 5) -> Spec:
    return Spec(shape, torch.int64, low, high)


def i32(*shape: int, low: int = -5, high: int = 5) -> Spec:
    return Spec(shape, torch.int32, low, high)


def u8(*shape: int, low: int = 0, high: int = 9) -> Spec:
    return Spec(shape, torch.uint8, low, high)


def b8(*shape: int) -> Spec:
    return Spec(shape, torch.bool)


def c64(*shape: int) -> Spec:
    return Spec(shape, torch.complex64)


Input = Spec | torch.Tensor


@dataclasses.dataclass(frozen=True)
class Case:
    """See `case`."""

    name: str
    function: Any
    inputs: tuple[Input, ...]
    dynamic: Mapping[int, Mapping[int, str]]
    others: tuple[tuple[torch.Tensor, ...], ...]
    rtol: float | None
    atol: float | None
    opset: int


def case(
    name: str,
    function: Any,
    *inputs: Input,
    dynamic: Mapping[int, Any] | None = None,
    others: Sequence[tuple[torch.Tensor, ...]] = (),
    rtol: float | None = None,
    atol: float | None = None,
    opset: int = 7,
) -> Case:
    """A case of a table.

    Args:
        function: a function of tensors, or an `nn.Module`.
        inputs: `f32(2, 3)` and the like, or tensors.
        dynamic: `{input: {axis: label}}`; `{axis: label}` is short for the first input.
        others: inputs of other sizes or values to try; without, they are made where axes are dynamic.
        opset: the lowest that can express the case; below it an OpsetError is expected.
    """
    dynamic = dict(dynamic or {})
    if dynamic and not isinstance(next(iter(dynamic.values())), Mapping):
        dynamic = {0: dynamic}
    return Case(name, function, inputs, dynamic, tuple(others), rtol, atol, opset)


def cases(
    table: Sequence[Case], opsets: Sequence[int] = (LATEST,), frontends: Sequence[str] = ("trace",)
) -> Callable[[Any], Any]:
    """Run a test over a table, at each of the opsets, through each of the front ends.

    `make test-opsets` runs every table at all opsets; ONNXPORT_TEST_OPSETS=7,8 at these alone.
    """
    wanted = os.environ.get("ONNXPORT_TEST_OPSETS")
    if wanted:
        every = range(options.MIN_OPSET, LATEST + 1)
        opsets = every if wanted == "all" else [int(opset) for opset in wanted.split(",")]
    names = [c.name for c in table]
    assert len(set(names)) == len(names), "two cases of a table have one name"
    parameters = [
        pytest.param(c, frontend, opset, id=f"{c.name}-{frontend}-{opset}")
        for c in table
        for frontend in frontends
        for opset in opsets
        if opset >= c.opset
    ]
    return pytest.mark.parametrize(("case", "frontend", "opset"), parameters)


class Function(torch.nn.Module):
    """A model that is a function."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: Any) -> Any:
        return self.function(*args)


class OfX(Function):
    """The same with one argument, by name."""

    def forward(self, x: Any) -> Any:
        return self.function(x)


def check(case: Case, frontend: str = "trace", opset: int = LATEST) -> onnx.ModelProto:
    """Export the case, run it, compare it at all its sizes; the model, to look at its graph."""
    examples = tuple(_example(x, i) for i, x in enumerate(case.inputs))
    model = case.function if isinstance(case.function, torch.nn.Module) else Function(case.function)
    model.eval()
    source = _front_end(model, case, examples, frontend)
    names = [f"x{i}" for i in range(len(examples))]
    axes = {names[i]: dict(spec) for i, spec in case.dynamic.items()}
    proto = export_checked(source, examples, names, axes, opset)
    for inputs in (examples, *(case.others or _resized(case))):
        compare(proto, model, names, inputs, case.rtol, case.atol)
    return proto


def _front_end(model: torch.nn.Module, case: Case, examples: tuple[torch.Tensor, ...], frontend: str) -> Any:
    if frontend == "trace":
        return model
    if frontend == "script":
        return torch.jit.script(case.function)
    if frontend == "exported":
        return torch.export.export(model, examples, strict=False)
    raise ValueError(frontend)


def export_checked(
    model: Any, examples: tuple[Any, ...], names: Sequence[str], axes: Mapping[str, Mapping[int, str]], opset: int
) -> onnx.ModelProto:
    """Export without writing; every op's dtype and sizes are compared with what the trace recorded."""
    chosen = options.check(
        export_params=True, verbose=False, training=options.TrainingMode.EVAL, input_names=names, output_names=None,
        operator_export_type=options.OperatorExportTypes.ONNX, opset_version=opset, do_constant_folding=True,
        dynamic_axes=axes, dynamic_shapes=None, keep_initializers_as_inputs=None, custom_opsets=None,
        export_modules_as_functions=False,
    )  # fmt: skip
    program = capture(model, examples, None, chosen)
    axes_.settle(program, chosen)
    sizes = {
        label: examples[names.index(name)].shape[axis] for name, spec in axes.items() for axis, label in spec.items()
    }
    observe = _observer(sizes) if program.front_end == "trace" else None
    lowered = lower(program, chosen, opset, observe=observe)
    proto = write.to_proto(lowered.model)
    onnx.checker.check_model(proto, full_check=True)
    return proto


def _observer(sizes: Mapping[str, int]) -> Callable[[Any, list[Any]], None]:
    def observe(node: Any, results: list[Any]) -> None:
        for value, result in zip(node.outputs, results):
            recorded = value.tensor_type
            if not isinstance(result, Tensor) or recorded is None:
                continue
            if recorded.dtype is not None:
                assert result.dtype == recorded.dtype, f"{node}: {result} recorded as {recorded.dtype}"
            if recorded.sizes is None or result.dims is None:
                continue
            assert len(result.dims) == len(recorded.sizes), f"{node}: {result} recorded as {recorded.sizes}"
            for dim, size in zip(result.dims, recorded.sizes):
                if size is not None and dims.free_symbols(dim) <= set(sizes):
                    assert dims.evaluate(dim, sizes) == size, f"{node}: {result} recorded as {recorded.sizes}"

    return observe


def _example(x: Input, seed: int) -> torch.Tensor:
    return x.make(seed) if isinstance(x, Spec) else x


def _resized(case: Case) -> list[tuple[torch.Tensor, ...]]:
    """Inputs with the dynamic axes longer by one and three, and shorter by one."""
    labels = sorted({label for spec in case.dynamic.values() for label in spec.values()})
    if not labels:
        return []
    made = []
    for step in (1, 3, -1):
        change = {label: step + (i if step > 0 else 0) for i, label in enumerate(labels)}
        inputs = []
        for i, x in enumerate(case.inputs):
            shape = list(x.shape)
            for axis, label in case.dynamic.get(i, {}).items():
                shape[axis] = max(shape[axis] + change[label], 1)
            inputs.append(x.make(100 + i, shape) if isinstance(x, Spec) else _stretch(x, shape))
        made.append(tuple(inputs))
    return made


def _stretch(x: torch.Tensor, shape: Sequence[int]) -> torch.Tensor:
    """A tensor of another shape out of the same values."""
    if list(x.shape) == list(shape):
        return x
    count = int(np.prod(shape))
    return x.reshape(-1).repeat(count // max(x.numel(), 1) + 1)[:count].reshape(tuple(shape))


def run(proto: onnx.ModelProto, names: Sequence[str], inputs: Sequence[torch.Tensor]) -> list[Any]:
    """Outputs of onnxruntime, one thread."""
    settings = ort.SessionOptions()
    settings.intra_op_num_threads = settings.inter_op_num_threads = 1
    settings.log_severity_level = 4
    session = ort.InferenceSession(proto.SerializeToString(), settings, providers=["CPUExecutionProvider"])
    return session.run(None, feeds(names, inputs))


def feeds(names: Sequence[str], inputs: Sequence[Any]) -> dict[str, Any]:
    """Inputs by name, as onnxruntime takes them; complex ones as reals."""
    result = {}
    for name, x in zip(names, inputs):
        x = torch.view_as_real(x.resolve_conj()) if x.is_complex() else x
        if x.dtype == torch.bfloat16:
            result[name] = ort.OrtValue.ortvalue_from_numpy_with_onnx_type(x.view(torch.int16).numpy(), 16)
        else:
            result[name] = x.detach().contiguous().numpy()
    return result


# As torch.testing, a little wider, since two implementations are compared.
_TOLERANCE = {
    torch.float64: (1e-7, 1e-9),
    torch.float32: (1e-4, 1e-5),
    torch.float16: (5e-3, 1e-3),
    torch.bfloat16: (2e-2, 1e-2),
}


def compare(
    proto: onnx.ModelProto,
    model: Any,
    names: Sequence[str],
    inputs: Sequence[torch.Tensor],
    rtol: float | None = None,
    atol: float | None = None,
) -> None:
    """Assert that the model gives what eager PyTorch gives."""
    with torch.no_grad():
        expected = _leaves(model(*[x.clone() for x in inputs]))
    actual = run(proto, names, inputs)
    assert len(actual) == len(expected)
    for a, e in zip(actual, expected):
        e = torch.view_as_real(e.resolve_conj()) if e.is_complex() else e
        a = torch.from_numpy(np.array(a))
        assert a.dtype == e.dtype
        assert a.shape == e.shape
        r, t = _TOLERANCE.get(e.dtype, (0.0, 0.0))
        torch.testing.assert_close(
            a, e, rtol=r if rtol is None else rtol, atol=t if atol is None else atol, equal_nan=True
        )


def _leaves(value: Any) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        return [t for v in value.values() for t in _leaves(v)]
    if isinstance(value, (list, tuple)):
        return [t for v in value for t in _leaves(v)]
    if isinstance(value, (bool, int, float)):
        return [torch.tensor(value)]
    return []


def operators(proto: onnx.ModelProto) -> list[str]:
    """Operators of a model's nodes in order, those of bodies included."""
    found = []

    def walk(graph: onnx.GraphProto) -> None:
        for node in graph.node:
            found.append(re.sub(r"^ai\.onnx::", "", f"{node.domain}::{node.op_type}" if node.domain else node.op_type))
            for attribute in node.attribute:
                if attribute.HasField("g"):
                    walk(attribute.g)

    walk(proto.graph)
    return found
