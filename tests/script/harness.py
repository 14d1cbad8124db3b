"""The check of scripted programs: exported once, compared with eager PyTorch for several sets of arguments."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import torch

import onnxport
from onnxport.errors import OnnxExporterWarning


def check_script(
    program: Any,
    *arguments: tuple[Any, ...],
    dynamic: Mapping[int, Mapping[int, str]] | None = None,
    opset: int = 20,
) -> onnx.ModelProto:
    """Export a function or module with the first arguments, compare with eager for all of them; the model.

    A function is compared as Python runs it: TorchScript's own optimizer takes two clones for one tensor at times,
    though one of them is written to. `dynamic` has labels of axes by the position of the argument.
    """
    scripted = program
    if not isinstance(program, (torch.jit.ScriptModule, torch.jit.ScriptFunction, torch.nn.Module)):
        scripted = torch.jit.script(program)
    names = [f"x{i}" for i, a in enumerate(arguments[0]) if a is not None and not isinstance(a, str)]
    axes = {f"x{i}": dict(labels) for i, labels in (dynamic or {}).items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OnnxExporterWarning)
        result = onnxport.export(
            scripted, arguments[0], None, input_names=names, dynamic_axes=axes, opset_version=opset
        )
    proto = result.model_proto
    onnx.checker.check_model(proto, full_check=True)
    settings = ort.SessionOptions()
    settings.log_severity_level = 3
    settings.intra_op_num_threads = 1
    session = ort.InferenceSession(proto.SerializeToString(), settings, providers=["CPUExecutionProvider"])
    for given in arguments:
        expected = leaves(program(*map(copied, given)))
        fed = dict(zip(names, [array(a) for a in given if a is not None and not isinstance(a, str)]))
        actual = leaves(session.run(None, {i.name: fed[i.name] for i in session.get_inputs()}))
        assert len(actual) == len(expected)
        for a, e in zip(actual, expected):
            assert a.dtype == e.dtype
            torch.testing.assert_close(a, e, rtol=1e-4, atol=1e-5, equal_nan=True)
    return proto


def copied(value: Any) -> Any:
    """A copy, so that a program that writes to its arguments finds them as they were."""
    if isinstance(value, torch.Tensor):
        return value.clone()
    if isinstance(value, (list, tuple)):
        return type(value)(map(copied, value))
    return {k: copied(v) for k, v in value.items()} if isinstance(value, dict) else value


def array(value: Any) -> Any:
    """An argument as onnxruntime takes it."""
    if isinstance(value, torch.Tensor):
        return value.numpy()
    if isinstance(value, list) and isinstance(value[0], torch.Tensor):
        return [v.numpy() for v in value]
    return np.array(value, dtype=np.float32 if isinstance(value, float) else None)


def leaves(value: Any) -> list[torch.Tensor]:
    """Tensors of a result in order, numbers as tensors."""
    if isinstance(value, (torch.Tensor, np.ndarray)):
        return [torch.as_tensor(value)]
    if isinstance(value, dict):
        return [t for v in value.values() for t in leaves(v)]
    if isinstance(value, (list, tuple)):
        return [t for v in value for t in leaves(v)]
    return [] if value is None or isinstance(value, str) else [torch.as_tensor(value)]
