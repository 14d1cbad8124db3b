"""Inputs and dynamic axes as they are written on the command line."""

from __future__ import annotations

import pytest
import torch

from onnxport.cli.inputs import BadUsage, InputSpec, make_inputs, parse_dynamic, parse_inputs


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("x=float32[1,3,224,224]", InputSpec("x", "float32", (1, 3, 224, 224))),
        ("past.0.key=float16[2, 4]", InputSpec("past.0.key", "float16", (2, 4))),
        ("n=int64[]", InputSpec("n", "int64", ())),
        ("ids=int64[2,16]<100", InputSpec("ids", "int64", (2, 16), None, 100.0)),
        ("t=int32[3]-5..<5", InputSpec("t", "int32", (3,), -5.0, 5.0)),
        ("x=float32[2]0..<1e-3", InputSpec("x", "float32", (2,), 0.0, 1e-3)),
    ],
)
def test_parse(text: str, spec: InputSpec) -> None:
    assert InputSpec.parse(text) == spec


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("x", "is not NAME=DTYPE"),
        ("x=float32", "is not NAME=DTYPE"),
        ("x=float32[a]", "is not NAME=DTYPE"),
        ("x=float31[2]", "'float31' is not one of float16"),
        ("x=int64[2]5..", "the range has no end"),
        ("x=int64[2]<", "is not NAME=DTYPE"),
        ("x=int64[2]<0", "the range is empty"),
        ("x=int64[2]7..<7", "the range is empty"),
    ],
)
def test_what_is_refused(text: str, why: str) -> None:
    with pytest.raises(BadUsage, match=why):
        InputSpec.parse(text)


def test_names_differ() -> None:
    with pytest.raises(BadUsage, match="more than once for x"):
        parse_inputs(["x=float32[1]", "x=float32[2]"])


def test_values_lie_in_their_range() -> None:
    specs = parse_inputs(["a=int64[1000]<10", "b=int64[1000]", "c=float32[1000]-1..<1", "d=bool[1000]"])
    a, b, c, d = make_inputs(specs, seed=0).values()
    assert set(a.tolist()) == set(range(10))
    assert set(b.tolist()) == {0, 1}
    assert -1 <= c.min() < -0.9
    assert 0.9 < c.max() < 1
    assert d.dtype == torch.bool


def test_values_follow_the_seed() -> None:
    specs = parse_inputs(["x=float32[4]"])
    assert torch.equal(make_inputs(specs, 1)["x"], make_inputs(specs, 1)["x"])
    assert not torch.equal(make_inputs(specs, 1)["x"], make_inputs(specs, 2)["x"])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64", "uint8", "int8", "complex64"])
def test_element_types(dtype: str) -> None:
    made = make_inputs(parse_inputs([f"x={dtype}[2,3]"]), 0)["x"]
    assert made.dtype == getattr(torch, dtype)
    assert made.shape == (2, 3)


def test_dynamic() -> None:
    specs = parse_inputs(["x=float32[2,3]"])
    assert parse_dynamic(["x:0=batch", "x:-1=width"], specs) == {"x": {0: "batch", -1: "width"}}
    with pytest.raises(BadUsage, match="'x' has 2 axes"):
        parse_dynamic(["x:2=c"], specs)
    with pytest.raises(BadUsage, match="there is no --input 'y'; there are x"):
        parse_dynamic(["y:0=batch"], specs)
    with pytest.raises(BadUsage, match="is not NAME:AXIS=LABEL"):
        parse_dynamic(["x=batch"], specs)
