"""Programs with dynamic axes, exported once and run at other sizes.

    program("cat", lambda x, y: torch.cat([x, y], 1), f("b", "s", 4), f("b", "t", 4), b=2, s=3, t=5, out="b, s + t, 4")

A string in the shape of an input is the label of a dynamic axis, an int a fixed size; the keywords are the example
sizes. `out` has the dims that the exported model must declare, outputs apart by ";"; `?` is a size that depends on
data. The other sizes are 1, smaller and larger ones, unless given.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import onnx
import pytest
import torch

import onnxport
from onnxport import dims
from tests.harness import LATEST, compare

Shape = tuple[int | str, ...]


@dataclasses.dataclass(frozen=True)
class Spec:
    """An input to be made, at any sizes."""

    make: Callable[[tuple[int, ...], torch.Generator], torch.Tensor]
    shape: Shape
    rank: int | None = None  # of the tensor, where `make` is told more sizes than it has

    def at(self, sizes: Mapping[str, int], seed: int = 0) -> torch.Tensor:
        shape = tuple(sizes[d] if isinstance(d, str) else d for d in self.shape)
        return self.make(shape, torch.Generator().manual_seed(seed))

    @property
    def axes(self) -> dict[int, str]:
        return {axis: d for axis, d in enumerate(self.shape[: self.rank]) if isinstance(d, str)}


def f(*shape: int | str) -> Spec:
    """float32"""
    return Spec(lambda s, g: torch.randn(s, generator=g), shape)


def i(*shape: int | str, high: int = 4) -> Spec:
    """int64 in [0, high)"""
    return Spec(lambda s, g: torch.randint(0, high, s, generator=g), shape)


def mask(*shape: int | str) -> Spec:
    """bool; the first along the last axis is True"""

    def make(shape: tuple[int, ...], g: torch.Generator) -> torch.Tensor:
        result = torch.rand(shape, generator=g) > 0.4
        result[..., :1] = True
        return result

    return Spec(make, shape)


def lengths(batch: str, longest: str) -> Spec:
    """int64 lengths in descending order, the first of them that of the other axis."""

    def make(shape: tuple[int, ...], g: torch.Generator) -> torch.Tensor:
        batch_size, length = shape
        result = torch.randint(1, length + 1, (batch_size,), generator=g).sort(descending=True).values
        result[:1] = length
        return result

    return Spec(make, (batch, longest), rank=1)


def at(**sizes: int) -> dict[str, int]:
    """Sizes to run at."""
    return sizes


@dataclasses.dataclass(frozen=True)
class Program:
    name: str
    function: Any
    inputs: tuple[Spec, ...]
    example: Mapping[str, int]
    others: tuple[Mapping[str, int], ...]
    out: str
    opset: int

    def tensors(self, sizes: Mapping[str, int], seed: int = 0) -> tuple[torch.Tensor, ...]:
        return tuple(spec.at(sizes, seed + n) for n, spec in enumerate(self.inputs))


def program(
    name: str,
    function: Any,
    *inputs: Spec,
    out: str = "",
    low: int | Mapping[str, int] = 1,
    others: Sequence[Mapping[str, int]] = (),
    multiple: int = 1,
    opset: int = 7,
    **example: int,
) -> Program:
    """See the head of the file. `low` is the smallest size to try, `multiple` what sizes are multiples of."""
    lows = {label: low if isinstance(low, int) else low.get(label, 1) for label in example}
    made = others or [
        lows,
        {n: max(lows[n], size - multiple) if size > lows[n] else size + 2 * multiple for n, size in example.items()},
        {n: size + (3 + k) * multiple for k, (n, size) in enumerate(example.items())},
    ]
    distinct = [dict(s) for s in {tuple(sorted(s.items())) for s in made} if dict(s) != dict(example)]
    if len(distinct) < 3:
        distinct.append({n: size + (5 + 2 * k) * multiple for k, (n, size) in enumerate(example.items())})
    return Program(name, function, inputs, example, tuple(distinct), out, opset)


def programs(table: Sequence[Program], opsets: Sequence[int] = (14, LATEST)) -> Callable[[Any], Any]:
    """Run a test over a table, at each of the opsets."""
    names = [p.name for p in table]
    assert len(set(names)) == len(names), "two programs of a table have one name"
    if os.environ.get("ONNXPORT_TEST_OPSETS") == "all":
        opsets = range(7, LATEST + 1)
    return pytest.mark.parametrize(
        ("p", "opset"), [pytest.param(p, o, id=f"{p.name}-{o}") for p in table for o in opsets if o >= p.opset]
    )


def check(p: Program, opset: int) -> onnx.ModelProto:
    """Export, and compare at the example sizes and at three others; warnings of frozen axes are errors."""
    assert len(p.others) >= 3, f"{p.name} has only the sizes {p.others}"
    torch.manual_seed(0)
    function = p.function
    if isinstance(function, torch.nn.Module):
        function.eval()
    names = [f"x{n}" for n in range(len(p.inputs))]
    exported = onnxport.export(
        function,
        p.tensors(p.example),
        input_names=names,
        dynamic_axes={name: spec.axes for name, spec in zip(names, p.inputs)},
        opset_version=opset,
        strict=True,
    )
    proto = exported.model_proto
    onnx.checker.check_model(proto, full_check=True)
    for seed, sizes in enumerate((p.example, *p.others)):
        inputs = p.tensors(sizes, 10 * seed)
        try:
            compare(proto, function, names, inputs)
        except Exception as error:
            raise AssertionError(f"at {dict(sizes)}: {error}") from error
    if p.out:
        check_dims(proto, p.out)
    return proto


def check_dims(proto: onnx.ModelProto, out: str) -> None:
    """The outputs declare these dims."""
    wanted = [[d.strip() for d in _split(part)] for part in out.split(";")]
    assert len(wanted) == len(proto.graph.output)
    for value, expected in zip(proto.graph.output, wanted):
        found = [d.dim_param or d.dim_value for d in value.type.tensor_type.shape.dim]
        assert len(found) == len(expected), f"{value.name} has dims {found}, not {expected}"
        for a, b in zip(found, expected):
            same = dims.parse(str(a)) == dims.parse(b) if b != "?" else isinstance(a, str)
            assert same, f"{value.name} has dims {found}, not {expected}"


def _split(text: str) -> list[str]:
    """Split at commas outside of parentheses."""
    parts, depth = [""], 0
    for c in text:
        depth += {"(": 1, ")": -1}.get(c, 0)
        if c == "," and not depth:
            parts.append("")
        else:
            parts[-1] += c
    return [] if parts == [""] or not text.strip() else parts
