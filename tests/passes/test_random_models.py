"""Random models do the same in eager PyTorch and exported, at the sizes of the example and at others.

`RANDOM_MODELS=3000 pytest tests/passes/test_random_models.py` tries more of them. Where sizes are read, a model that is
right at the example's sizes alone has to be warned of.
"""

from __future__ import annotations

import io
import os
import random
import warnings
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
import torch
from tests.passes.models import AXES, SIZES, Program, draw, fine, inputs, load

import onnxport
from onnxport.errors import OnnxExporterWarning

COUNT = int(os.environ.get("RANDOM_MODELS", "60"))
OPSETS = (11, 13, 14, 17, 18, 20, 23)


def exported(model: torch.nn.Module, opset: int, *, optimize: bool = True) -> tuple[bytes, bool]:
    """The exported model, and whether there was a warning."""
    target = io.BytesIO()
    options: dict[str, Any] = {"input_names": ["x", "y"], "dynamic_axes": AXES, "opset_version": opset}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        onnxport.export(model, inputs(SIZES[0]), target, optimize=optimize, **options)
    onnx.checker.check_model(onnx.load_from_string(target.getvalue()), full_check=True)
    return target.getvalue(), any(issubclass(w.category, OnnxExporterWarning) for w in caught)


def session(model: bytes) -> ort.InferenceSession:
    """Runs what is in the file, not what onnxruntime makes of it."""
    settings = ort.SessionOptions()
    settings.intra_op_num_threads = settings.inter_op_num_threads = 1
    settings.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(model, settings, providers=["CPUExecutionProvider"])


def fault(model: torch.nn.Module, opset: int, *, optimize: bool = True) -> str | None:
    """What is wrong with the exported model, at which sizes; None if nothing is, or it was said."""
    file, warned = exported(model, opset, optimize=optimize)
    running = session(file)
    names = {i.name for i in running.get_inputs()}
    for seed, sizes in enumerate(SIZES[:1] if warned else SIZES):
        x, y = inputs(sizes, seed)
        try:
            with torch.no_grad():
                expected = model(x, y)
        except RuntimeError:  # nor does the model run at these
            continue
        found = running.run(None, {k: v.numpy() for k, v in (("x", x), ("y", y)) if k in names})
        for a, e in zip(found, expected, strict=True):
            if a.shape != e.shape or a.dtype != np.float32:
                return f"{sizes}: {a.dtype} {a.shape} for {tuple(e.shape)}"
            if fine(e) and abs(a - e.numpy()).max() > 2e-3 * max(float(e.abs().max()), 1e-3):
                return f"{sizes}: differs by {abs(a - e.numpy()).max()}"
    return None


def smallest(program: Program, opset: int) -> Program:
    """A part of a program that is wrong as well."""

    def wrong(part: Program) -> bool:
        try:
            return fault(part.model(), opset) is not None
        except Exception:  # no model any more
            return False

    while smaller := next(filter(wrong, program.smaller()), None):
        program = smaller
    return program


@pytest.mark.parametrize("reads", [False, True])
@pytest.mark.parametrize("block", range(0, COUNT, 10))
def test_random_models(block: int, reads: bool) -> None:
    for seed in range(block, block + 10):
        choice = random.Random(seed)
        opset = choice.choice(OPSETS)
        program = draw(choice, choice.randint(3, 12), reads=reads)
        found = fault(program.model(), opset)
        assert found is None, f"seed {seed}, opset {opset}: {found}\n{smallest(program, opset)}"


@pytest.mark.parametrize("opset", [11, 18])
def test_generator_is_rich(opset: int) -> None:
    """Most programs are rewritten, so that there is something to get wrong."""
    changed = 0
    for seed in range(20):
        model = draw(random.Random(seed), 12).model()
        files = [onnx.load_from_string(exported(model, opset, optimize=o)[0]) for o in (True, False)]
        changed += len(files[0].graph.node) < len(files[1].graph.node)
    assert changed >= 8


def test_wrong_results_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rewrite that drops a scale is seen."""
    from onnxport.passes import affine

    monkeypatch.setattr(affine, "_scaled", lambda weight, factor: weight.const_value.numpy)
    faults = [fault(draw(random.Random(seed), 8).model(), 17) for seed in range(12)]
    assert any(faults)


REGRESSIONS = {
    "constant_before_a_convolution": """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.p = nn.Conv2d(4, 4, 3, bias=False), nn.Parameter(torch.randn(4, 1, 1))

    def forward(self, x, y):
        return F.relu(self.p + self.conv(y)),
""",
    "squeezed_then_reshaped": """
class Model(nn.Module):
    def forward(self, x, y):
        v = x[:, :, :-1].squeeze(1)
        return v.reshape(v.shape[0], -1, 7),
""",
}


@pytest.mark.parametrize("name", REGRESSIONS)
def test_regression(name: str) -> None:
    assert fault(load(REGRESSIONS[name]), 17) is None
