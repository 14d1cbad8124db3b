"""Weights that show mistakes, dynamic axes, and the comparison of onnxruntime with PyTorch."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import onnxruntime as ort
import torch
from torch.nn.modules.batchnorm import _BatchNorm
from torch.utils import _pytree as pytree

from entry import Zoo
from onnxport.capture.inputs import flatten_outputs

MAX_LOST = 0.2  # of detections, which rounding decides on


def copied(arguments: dict[str, Any]) -> dict[str, Any]:
    return copy.deepcopy(arguments)


def make_telling(model: torch.nn.Module, arguments: dict[str, Any]) -> None:
    """Weights of equal values (biases of 0, scales of 1, layer scales of 1e-6) get noise; batch norm statistics are
    those of one run, about."""
    generator = torch.Generator().manual_seed(1234)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.numel() < 2 or not parameter.is_floating_point():
                continue
            first = parameter.reshape(-1)[0]
            if not bool((parameter == first).all()):
                continue
            noise = torch.randn(parameter.shape, generator=generator).to(parameter.dtype)
            if 0 < abs(float(first)) < 0.05:
                parameter.copy_(0.3 + 0.05 * noise)
            else:
                parameter.add_(0.05 * noise)
        _calibrate(model, arguments)


def _calibrate(model: torch.nn.Module, arguments: dict[str, Any]) -> None:
    """Batch norm statistics of one run, norm after norm, so that what follows on a norm are values near 1. Channels that
    hardly vary in so small a run do elsewhere: they get a share of what others vary."""

    def measure(norm: torch.nn.Module, inputs: tuple[torch.Tensor, ...]) -> None:
        assert isinstance(norm, _BatchNorm) and norm.running_mean is not None and norm.running_var is not None
        if norm in seen:
            return
        seen.add(norm)
        x = inputs[0]
        if norm.weight is not None:
            norm.weight.mul_(0.5)  # less of what branches add, so that rounding doesn't grow from block to block
        if x.numel() > x.shape[1]:
            variance, mean = torch.var_mean(x, [i for i in range(x.dim()) if i != 1], correction=0)
            norm.running_mean.copy_(mean)
            norm.running_var.copy_(variance.clamp(min=max(0.1 * float(variance.mean()), 1e-4)))

    seen: set[torch.nn.Module] = set()
    norms = [m for m in model.modules() if isinstance(m, _BatchNorm) and m.track_running_stats]
    hooks = [norm.register_forward_pre_hook(measure) for norm in norms]
    try:
        if norms:
            model(**copied(arguments))
    finally:
        for hook in hooks:
            hook.remove()


def dynamic_axes(example: Any, other: Any) -> dict[str, dict[int, str]]:
    """The axes whose sizes differ; equal pairs of sizes are one axis."""
    axes: dict[str, dict[int, str]] = {}
    for name, a, b in zip(example.names, example.leaves, other.leaves):
        found = {i: f"from{x}to{y}" for i, (x, y) in enumerate(zip(a.shape, b.shape)) if x != y}
        if found:
            axes[name] = found
    return axes


def by_peer(exporter: str, model: Any, zoo: Zoo, names: list[str], axes: dict[str, dict[int, str]], opset: int) -> Any:
    """The model as torch.onnx.export gives it, without or with dynamo."""
    import io

    import onnx

    options: dict[str, Any] = {"kwargs": copied(zoo.example), "input_names": names, "opset_version": opset}
    if exporter == "torchscript":
        file = io.BytesIO()
        torch.onnx.export(model, (), file, dynamo=False, dynamic_axes=axes, **options)
        return onnx.load_from_string(file.getvalue())

    def dynamic(a: Any, b: Any) -> Any:
        if not isinstance(a, torch.Tensor):
            return None
        return {i: torch.export.Dim.DYNAMIC for i, (x, y) in enumerate(zip(a.shape, b.shape)) if x != y}

    shapes = pytree.tree_map(dynamic, zoo.example, zoo.other)
    program = torch.onnx.export(model, (), dynamo=True, dynamic_shapes=shapes, verbose=False, **options)
    assert program is not None
    return program.model_proto


def run(proto: Any, arguments: Any) -> list[np.ndarray]:
    """The outputs of the exported model in onnxruntime."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = ort.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    wanted = {i.name for i in session.get_inputs()}
    feeds = {name: leaf.detach().numpy() for name, leaf in zip(arguments.names, arguments.leaves) if name in wanted}
    return list(session.run(None, feeds))


def difference(expected: list[torch.Tensor], got: list[np.ndarray], zoo: Zoo) -> str | None:
    """What differs, or None."""
    if len(expected) != len(got):
        return f"{len(got)} outputs, not {len(expected)}"
    wanted = [e.detach().numpy() for e in expected]
    if zoo.unordered:
        return _unordered(wanted, got, zoo.rtol)
    for i, (want, have) in enumerate(zip(wanted, got)):
        problem = _difference(want, have, zoo.rtol)
        if problem:
            return f"output {i}: {problem}"
    return None


def _difference(want: np.ndarray, have: np.ndarray, rtol: float) -> str | None:
    if want.dtype != have.dtype:
        return f"dtype {have.dtype}, not {want.dtype}"
    if want.shape != have.shape:
        return f"shape {list(have.shape)}, not {list(want.shape)}"
    if want.dtype.kind not in "fc":
        wrong = int((want != have).sum())
        return f"{wrong} of {want.size} {want.dtype} values differ" if wrong else None
    a, b = want.astype(np.float64), have.astype(np.float64)
    finite = np.isfinite(a)
    if not np.array_equal(finite, np.isfinite(b)) or not np.array_equal(a[~finite], b[~finite], equal_nan=True):
        return "infinities or NaNs differ"
    if not finite.any():
        return None
    scale, error = float(np.abs(a[finite]).max()), float(np.abs(a[finite] - b[finite]).max())
    return f"error {error:.3g} where values reach {scale:.3g}" if error > 1e-5 + rtol * scale else None


def _unordered(wanted: list[np.ndarray], got: list[np.ndarray], rtol: float) -> str | None:
    """Groups of outputs with a common first axis, whose rows are matched whatever their order."""
    for i, (want, have) in enumerate(zip(wanted, got)):
        if want.dtype != have.dtype or want.shape[1:] != have.shape[1:]:
            return f"output {i}: {have.dtype}{list(have.shape)}, not {want.dtype}{list(want.shape)}"
    per_image = next((i for i, w in enumerate(wanted) if i and w.shape[1:] == (4,)), len(wanted))
    for start in range(0, len(wanted), per_image):
        parts = [_rows(w) for w in wanted[start : start + per_image]]
        have = np.concatenate([_rows(h) for h in got[start : start + per_image]], 1)
        want = np.concatenate(parts, 1)
        scale = np.concatenate([np.full(p.shape[1], np.abs(p).max(initial=1e-9)) for p in parts])
        free = list(have / scale)
        lost = max(0, len(have) - len(want))
        for row in want / scale:
            distances = [float(np.abs(row - other).max()) for other in free]
            if distances and min(distances) <= rtol:
                free.pop(int(np.argmin(distances)))
            else:
                lost += 1
        if lost > MAX_LOST * max(len(want), len(have)):
            return f"{lost} of {len(want)} detections differ"
    return None


def _rows(array: np.ndarray) -> np.ndarray:
    return array.reshape(len(array), int(np.prod(array.shape[1:]))).astype(np.float64)


def is_shaky(model: Any, arguments: dict[str, Any], zoo: Zoo) -> bool:
    """Whether PyTorch's own results in double precision differ: the random model magnifies rounding."""

    def double(value: Any) -> Any:
        return value.double() if isinstance(value, torch.Tensor) and value.is_floating_point() else value

    with torch.no_grad():
        single = flatten_outputs(model(**copied(arguments))).leaves
        try:
            exact = flatten_outputs(copy.deepcopy(model).double()(**pytree.tree_map(double, arguments))).leaves
        except Exception:  # a model that can't do with double precision
            return False
    pairs = [(a.numpy(), b.to(a.dtype).numpy()) for a, b in zip(single, exact)]
    return any(a.shape == b.shape and _difference(a, b, zoo.rtol / 3) is not None for a, b in pairs)
