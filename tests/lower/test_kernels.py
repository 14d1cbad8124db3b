"""The kernel table: what it answers, and that its answers are what the runtime and the schemas say."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch

from onnxport.lower import kernels

u8, i8, i16, i32, i64 = torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64
f16, bf16, f32, f64, boolean = torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.bool

PROBE = Path(__file__).parents[2] / "benchmarks" / "probe_kernels.py"


@pytest.fixture(scope="module")
def probe() -> ModuleType:
    spec = importlib.util.spec_from_file_location("probe_kernels", PROBE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    "name, opset, given, expected",
    [
        ("Add", 14, (i8, i8), None),
        ("Add", 13, (i8, i8), (i32, i32)),  # small integers came with opset 14
        ("Add", 13, (bf16, bf16), (f32, f32)),
        ("Relu", 13, (i32,), (f64,)),  # exact, where float32 isn't
        ("Relu", 14, (i32,), None),
        ("Relu", 14, (i64,), (f64,)),
        ("Relu", 14, (f16,), None),  # the runtime itself puts the casts
        ("Relu", 14, (bf16,), (f32,)),
        ("Max", 13, (boolean,) * 3, (u8,) * 3),  # variadic
        ("Max", 13, (i16, i16), (i32, i32)),
        ("Equal", 7, (f32, f32), None),  # nothing holds a float among bool, int32, int64
        ("Equal", 7, (u8, u8), (i32, i32)),
        ("Erf", 13, (f64,), (f32,)),  # lossy, and the only one
        ("Where", 16, (boolean, u8, u8), None),
        ("Where", 16, (boolean, i16, i16), (boolean, i32, i32)),
        ("Where", 16, (boolean, boolean, boolean), (boolean, u8, u8)),
        ("Where", 16, (boolean, f16, f32), (boolean, f32, f32)),  # one parameter, one type
        ("Where", 16, (boolean, u8, i8), (boolean, i32, i32)),
        ("Gather", 13, (bf16, i64), None),
        ("Gather", 13, (f32, i16), (f32, i32)),
        ("Reshape", 13, (f32, i32), (f32, i64)),  # a fixed type
        ("Clip", 12, (i16, None, i16), (i32, None, i32)),  # a missing input
        ("TopK", 11, (boolean, i64), (u8, i64)),
        ("NonZero", 13, (f64,), (boolean,)),
        ("NonZero", 13, (f32,), None),
        ("OneHot", 11, (i64, i64, f32), None),
        ("OneHot", 11, (i32, i64, f32), (i64, i64, f32)),  # alternatives: the least change wins
        ("RMSNormalization", 23, (f16, f32), (f32, f32)),
        ("Pow", 13, (f32, i64), None),
        ("Pow", 13, (bf16, i16), (f32, i32)),
        ("Mod", 13, (f32, f32), None),  # nothing to be done: only fmod takes floats
        ("Mod/fmod=1", 13, (f32, f32), None),
        ("Mod/fmod=1", 13, (bf16, bf16), (f32, f32)),
        ("ScatterElements", 18, (boolean, i64, boolean), None),
        ("ScatterElements/reduction=max", 18, (boolean, i64, boolean), (u8, i64, u8)),
        ("ScatterElements/reduction=add", 18, (f16, i64, f16), (f32, i64, f32)),
        ("RandomNormal", 22, (), None),
        ("NoSuchOperator", 13, (bf16,), None),
        ("Relu", 14, (torch.complex64,), None),  # not a type of this table
        ("Relu", 14, (f32, f32), None),  # one input too many: not this table's business
    ],
)
def test_widened(name: str, opset: int, given: kernels.Dtypes, expected: kernels.Dtypes | None) -> None:
    assert kernels.widened(name, opset, given) == expected


@pytest.mark.parametrize(
    "name, opset, outputs, expected",
    [
        ("Relu", 14, 1, (0,)),
        ("Equal", 13, 1, (None,)),
        ("ArgMax", 13, 1, (None,)),
        ("TopK", 11, 2, (0, None)),
        ("Where", 16, 1, (1,)),
        ("Split", 13, 3, (0, 0, 0)),  # variadic
        ("Unique", 11, 4, (0, None, None, None)),
        ("OneHot", 11, 1, (2,)),
        ("RMSNormalization", 23, 1, (1,)),
        ("Cast", 13, 1, (None,)),
        ("Reshape", 13, 1, (0,)),
        ("NonMaxSuppression", 11, 1, (None,)),
        ("NoSuchOperator", 13, 2, (None, None)),
    ],
)
def test_casts_back(name: str, opset: int, outputs: int, expected: tuple[int | None, ...]) -> None:
    assert kernels.casts_back(name, opset, outputs) == expected


@pytest.mark.parametrize(
    "source, target, lossy",
    [
        (i64, f64, True), (i32, f64, False), (i32, f32, True), (i16, f32, False), (f64, f32, True),
        (f16, f32, False), (bf16, f32, False), (bf16, f16, True), (u8, i8, True), (torch.uint64, i64, True),
        (torch.uint32, i64, False), (boolean, f32, False), (f64, boolean, False), (f64, f64, False),
    ],
)  # fmt: skip
def test_is_lossy(source: torch.dtype, target: torch.dtype, lossy: bool) -> None:
    assert kernels.is_lossy(source, target) is lossy


def test_lossless_targets_hold_every_value() -> None:
    """The extremes of an integer type, and one less, survive the way there and back."""
    for source, targets in kernels._HOLDS.items():
        dtype = kernels._LETTERS[source]
        if dtype.is_floating_point:
            values = torch.tensor([torch.finfo(dtype).max, torch.finfo(dtype).tiny, 1 / 3], dtype=dtype)
        elif dtype is boolean:
            values = torch.tensor([False, True])
        else:
            low, high = torch.iinfo(dtype).min, torch.iinfo(dtype).max
            values = torch.tensor([low, low + 1, high - 1, high], dtype=dtype)
        for target in targets:
            assert values.to(kernels._LETTERS[target]).to(dtype).equal(values), (source, target)


def test_names_and_kernels() -> None:
    assert kernels.named("Relu", {}) == "Relu"
    assert kernels.named("Mod", {"fmod": 1}) == "Mod/fmod=1"
    assert kernels.named("Mod", {"fmod": 0}) == kernels.named("Mod", {}) == "Mod"
    assert kernels.named("ScatterND", {"reduction": "add"}) == "ScatterND/reduction=add"
    assert kernels.runs("RandomNormal", 21)
    assert not kernels.runs("RandomNormal", 22)
    assert kernels.runs("NoSuchOperator", 22)


TRUE_ENTRIES = [
    "Relu",
    "Add",
    "Where",
    "Pow",
    "OneHot",
    "Mod",
    "ReduceSum",
    "Max",
    "RandomNormal",
    "TopK",
    "Split",
]


@pytest.mark.parametrize("op", TRUE_ENTRIES)
def test_the_table_is_true(probe: ModuleType, op: str) -> None:
    """Measured again, these operators get the rows that the table has, at every opset."""
    measured = kernels._parsed(probe.table(probe.outcomes(op)))
    for name, rows in measured.items():
        assert kernels._rows()[name] == rows
    assert {n for n in kernels._rows() if n.partition("/")[0] == op} == set(measured)


def test_the_probe_refuses(probe: ModuleType) -> None:
    """A probe that can't fail proves nothing."""
    (schema,) = [s for s in probe.schemas("Relu") if s.since_version == 14]
    case = next(iter(probe.cases("Relu", 14)))
    with pytest.raises(Exception, match="NOT_IMPLEMENTED"):
        probe.run(probe.model(schema, case, {"T": "l"}))
    (output,) = probe.run(probe.model(schema, case, {"T": "f"}))
    np.testing.assert_array_equal(output.numpy(), probe.array((2, 3), "f"))


def test_every_operator_of_the_standard_is_in_the_table_or_left_out(probe: ModuleType) -> None:
    known = {name.partition("/")[0] for name in kernels._rows()}
    assert known == {op for op in probe.operators() if probe.schemas(op)}


def test_importing_brings_no_onnx() -> None:
    code = (
        "import sys, importlib.util as u, torch;"
        f"s = u.spec_from_file_location('k', {kernels.__file__!r}); m = u.module_from_spec(s);"
        "sys.modules['k'] = m; before = set(sys.modules); s.loader.exec_module(m);"
        "new = {name.partition('.')[0] for name in set(sys.modules) - before};"
        "assert not new & {'onnx', 'onnxruntime', 'onnx_ir'}, new"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
