"""Example inputs and dynamic axes as they are written on the command line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

_NUMBER = r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?"
_INPUT = re.compile(
    r"^(?P<name>[\w.]+)=(?P<dtype>[a-z]\w*)\[(?P<sizes>[\d,\s]*)\]"
    rf"(?:(?P<low>{_NUMBER})\.\.)?(?:<(?P<high>{_NUMBER}))?$"
)
_DYNAMIC = re.compile(r"^(?P<name>[\w.]+):(?P<axis>-?\d+)=(?P<label>.+)$")
_DTYPES = (
    "float16", "bfloat16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "bool", "complex64",
    "complex128",
)  # fmt: skip


class BadUsage(Exception):
    """Something on the command line is wrong."""


@dataclass(frozen=True, slots=True)
class InputSpec:
    """`x=float32[1,3,224,224]`, `ids=int64[2,16]<100`, `t=int64[]-5..<5`.

    Integers without a range are 0 or 1, which nearly every model takes; floats are drawn from a normal
    distribution, or evenly from the range.
    """

    name: str
    dtype: str
    sizes: tuple[int, ...]
    low: float | None = None
    high: float | None = None

    @classmethod
    def parse(cls, text: str) -> InputSpec:
        match = _INPUT.match(text.strip())
        if match is None:
            raise BadUsage(f"--input {text!r} is not NAME=DTYPE[SIZES], as in x=float32[1,3,224,224] or n=int64[2]<100")
        if match["dtype"] not in _DTYPES:
            raise BadUsage(f"--input {text!r}: {match['dtype']!r} is not one of {', '.join(_DTYPES)}")
        sizes = tuple(int(s) for s in match["sizes"].split(",") if s.strip())
        low, high = (None if match[k] is None else float(match[k]) for k in ("low", "high"))
        if low is not None and high is None:
            raise BadUsage(f"--input {text!r}: the range has no end; write LOW..<HIGH")
        if high is not None and (low or 0) >= high:
            raise BadUsage(f"--input {text!r}: the range is empty")
        return cls(match["name"], match["dtype"], sizes, low, high)

    def make(self, generator: torch.Generator) -> torch.Tensor:
        """Example values."""
        import torch

        dtype: torch.dtype = getattr(torch, self.dtype)
        if dtype == torch.bool:
            return torch.randint(2, self.sizes, generator=generator).to(dtype)
        if dtype.is_floating_point or dtype.is_complex:
            if self.high is None:
                wide = torch.complex128 if dtype.is_complex else torch.float64
                return torch.randn(self.sizes, generator=generator, dtype=wide).to(dtype)
            low = self.low or 0.0
            return (torch.rand(self.sizes, generator=generator) * (self.high - low) + low).to(dtype)
        low, high = int(self.low or 0), 2 if self.high is None else int(self.high)
        return torch.randint(low, high, self.sizes, generator=generator).to(dtype)


def parse_inputs(texts: Sequence[str]) -> list[InputSpec]:
    """All inputs; names must differ."""
    specs = [InputSpec.parse(text) for text in texts]
    doubled = {s.name for s in specs if [x.name for x in specs].count(s.name) > 1}
    if doubled:
        raise BadUsage(f"--input is given more than once for {', '.join(sorted(doubled))}")
    return specs


def parse_dynamic(texts: Sequence[str], inputs: Sequence[InputSpec]) -> dict[str, dict[int, str]]:
    """`x:0=batch` as `{"x": {0: "batch"}}`."""
    known = {s.name: s for s in inputs}
    axes: dict[str, dict[int, str]] = {}
    for text in texts:
        match = _DYNAMIC.match(text.strip())
        if match is None:
            raise BadUsage(f"--dynamic {text!r} is not NAME:AXIS=LABEL, as in x:0=batch")
        name, axis = match["name"], int(match["axis"])
        if name not in known:
            raise BadUsage(f"--dynamic {text!r}: there is no --input {name!r}; there are {', '.join(known) or 'none'}")
        if not -len(known[name].sizes) <= axis < len(known[name].sizes):
            raise BadUsage(f"--dynamic {text!r}: {name!r} has {len(known[name].sizes)} axes")
        axes.setdefault(name, {})[axis] = match["label"]
    return axes


def make_inputs(specs: Sequence[InputSpec], seed: int) -> dict[str, torch.Tensor]:
    """Example values for all inputs by name."""
    import torch

    generator = torch.Generator().manual_seed(seed)
    return {spec.name: spec.make(generator) for spec in specs}
