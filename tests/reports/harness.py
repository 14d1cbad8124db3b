"""Programs in the style of public reports, and the one check that they all go through.

Each is exported with one set of arguments and compared with eager PyTorch at that and at others: traced, and where the
report scripts or exports a program, so too.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import pytest
import torch

import onnxport
from onnxport.errors import OnnxExporterWarning

torch.set_num_threads(1)

OFTEN = "a kind of program that is asked about often, without one report behind it"


@dataclasses.dataclass(frozen=True)
class Program:
    """See `program`."""

    model: Any
    inputs: Callable[..., tuple[Any, ...]]
    sizes: Sequence[tuple[Any, ...]]
    axes: Mapping[int, Mapping[int, str]]
    modes: str
    opset: int
    kwargs: Callable[..., dict[str, Any]]
    training: onnxport.TrainingMode
    shapes: Any
    rtol: float
    atol: float


def program(
    model: Any,
    inputs: Callable[..., tuple[Any, ...]],
    *sizes: tuple[Any, ...],
    axes: Mapping[int, Mapping[int, str]] | None = None,
    modes: str = "trace",
    opset: int = 17,
    kwargs: Callable[..., dict[str, Any]] | None = None,
    training: onnxport.TrainingMode = onnxport.TrainingMode.EVAL,
    shapes: Any = None,
    rtol: float = 1e-4,
    atol: float = 1e-5,
) -> Program:
    """A program of a report.

    Args:
        inputs: makes arguments of given sizes; the first of `sizes` is the example's, the others are compared too.
        axes: labels of dynamic axes, by the position of the input among the graph's.
        modes: of "trace", "script" and "exported", those to go through.
        shapes: `dynamic_shapes` of `torch.export`, for "exported", where they don't follow from `axes`.
    """
    axes = axes or {}
    return Program(
        model, inputs, sizes or ((),), axes, modes, opset, kwargs or _none, training, shapes, rtol, atol
    )  # fmt: skip


def _none(*_: Any) -> dict[str, Any]:
    return {}


def reports() -> tuple[list[Any], Callable[..., Any]]:
    """A table, and the decorator that puts a program into it with the source of its kind."""
    table: list[Any] = []

    def report(source: str) -> Callable[[Callable[[], Program]], Callable[[], Program]]:
        def register(make: Callable[[], Program]) -> Callable[[], Program]:
            torch.manual_seed(0)
            modes = make().modes.split()
            for mode in modes:
                table.append(pytest.param(make, mode, id=f"{make.__name__}-{mode}"))
            return make

        assert source is OFTEN or source.startswith("https://github.com/"), source
        return register

    return table, report


def check(make: Callable[[], Program], mode: str) -> onnx.ModelProto:
    """Export the program, compare it at all its sizes; the model, to look at its graph."""
    torch.manual_seed(0)
    case = make()
    model = case.model
    if isinstance(model, torch.nn.Module) and case.training is onnxport.TrainingMode.EVAL:
        model.eval()
    example, named = case.inputs(*case.sizes[0]), case.kwargs(*case.sizes[0])
    result = _export(case, model, mode, example, named)
    onnx.checker.check_model(result.model_proto, full_check=True)
    for sizes in case.sizes:
        args, kwargs = case.inputs(*sizes), case.kwargs(*sizes)
        with torch.no_grad():
            expected = leaves(model(*copied(args), **copied(kwargs)))
        actual = leaves(result(*copied(args), **copied(kwargs)))
        assert len(actual) == len(expected)
        for a, e in zip(actual, expected):
            e = torch.view_as_real(e.resolve_conj()) if e.is_complex() else e
            assert a.dtype == e.dtype, f"{sizes}: {a.dtype}, expected {e.dtype}"
            assert a.shape == e.shape, f"{sizes}: {a.shape}, expected {e.shape}"
            torch.testing.assert_close(a, e, rtol=case.rtol, atol=case.atol, equal_nan=True)
    return result.model_proto


def _export(case: Program, model: Any, mode: str, example: tuple[Any, ...], named: dict[str, Any]) -> Any:
    source, args, axes = model, copied(example), None
    if mode == "script" and not isinstance(model, (torch.jit.ScriptModule, torch.jit.ScriptFunction)):
        source = torch.jit.script(model)
    elif mode == "exported":
        module, shapes = model, _shapes(case, args)
        if not isinstance(model, torch.nn.Module):
            module, shapes = _Function(model), shapes and (shapes,)
        source = torch.export.export(module, args, copied(named), dynamic_shapes=shapes, strict=False)
    names = [f"x{i}" for i in range(max(case.axes, default=-1) + 1)] if mode != "exported" else None
    if mode != "exported":
        axes = {f"x{i}": dict(labels) for i, labels in case.axes.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", torch.jit.TracerWarning)
        warnings.filterwarnings("error", "the exported model may be right only", OnnxExporterWarning)
        return onnxport.export(
            source, args, None, kwargs=copied(named), input_names=names, dynamic_axes=axes, opset_version=case.opset,
            training=case.training,
        )  # fmt: skip


def _shapes(case: Program, args: tuple[Any, ...]) -> tuple[Any, ...] | None:
    if case.shapes is not None or not all(isinstance(a, torch.Tensor) for a in args):
        return case.shapes
    return tuple(dict.fromkeys(case.axes.get(i, {}), torch.export.Dim.AUTO) for i in range(len(args)))


class _Function(torch.nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)


def copied(value: Any) -> Any:
    """A copy, so that a program that writes to its arguments finds them as they were."""
    if isinstance(value, torch.Tensor):
        return value.detach().clone(memory_format=torch.preserve_format)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(copied, value))
    if isinstance(value, (list, tuple)):
        return type(value)(map(copied, value))
    if isinstance(value, dict):
        return type(value)((k, copied(v)) for k, v in value.items())
    if dataclasses.is_dataclass(value):
        return dataclasses.replace(value, **{f.name: copied(getattr(value, f.name)) for f in dataclasses.fields(value)})
    return value


def leaves(value: Any) -> list[torch.Tensor]:
    """Tensors of a result in order, numbers as tensors."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (bool, int, float, np.ndarray)):
        return [torch.as_tensor(value)]
    if isinstance(value, dict):
        return [t for v in value.values() for t in leaves(v)]
    if isinstance(value, (list, tuple)):
        return [t for v in value for t in leaves(v)]
    if dataclasses.is_dataclass(value):
        return [t for f in dataclasses.fields(value) for t in leaves(getattr(value, f.name))]
    return []
