"""Draws models as rewrites meet them: layers, scales, layout, pieces, products, residuals, and sizes that are read.

A statement is kept if it runs at all of some sizes, so that nothing has to be known of what it does to shapes.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from random import Random

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

SIZES = ({"b": 2, "s": 6}, {"b": 3, "s": 10}, {"b": 1, "s": 4}, {"b": 5, "s": 13}, {"b": 2, "s": 1})
NAMESPACE = {"torch": torch, "nn": nn, "F": F, "math": math, "np": np}
LARGEST = 1e4


def inputs(sizes: dict[str, int], seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    g = torch.Generator().manual_seed(seed)
    return torch.randn(sizes["b"], sizes["s"], 8, generator=g), torch.randn(sizes["b"], 4, 6, 6, generator=g)


AXES = {"x": {0: "b", 1: "s"}, "y": {0: "b"}}


@dataclasses.dataclass
class Program:
    """A model as text: its parts, statements and what it returns."""

    parts: list[tuple[str, str]] = dataclasses.field(default_factory=list)
    statements: list[tuple[tuple[str, ...], str]] = dataclasses.field(default_factory=list)
    results: list[str] = dataclasses.field(default_factory=list)

    def __str__(self) -> str:
        text = "\n".join(s for _, s in self.statements) + f"\nreturn {', '.join(self.results)},"
        used = [f"self.{name} = {code}" for name, code in self.parts if f"self.{name}" in text]
        body = "\n".join(f"        {line}" for line in text.split("\n"))
        start = "\n".join(f"        {line}" for line in used)
        return (
            f"class Model(nn.Module):\n    def __init__(self):\n        super().__init__()\n{start}\n\n"
            f"    def forward(self, x, y):\n{body}\n"
        )

    def model(self) -> nn.Module:
        return load(str(self))

    def smaller(self) -> list[Program]:
        """Programs with less."""
        found = [dataclasses.replace(self, results=[r]) for r in self.results if len(self.results) > 1]
        for i in reversed(range(len(self.statements))):
            names, statement = self.statements[i]
            rest = [*self.statements[:i], *self.statements[i + 1 :]]
            found.append(dataclasses.replace(self, statements=rest))
            source = statement.partition("=")[2]
            for other in ("x", "y", *[n for names, _ in self.statements[:i] for n in names]):
                if len(names) == 1 and other in source:  # the value that it was made of instead
                    alias = [*self.statements[:i], (names, f"{names[0]} = {other}"), *self.statements[i + 1 :]]
                    if statement != alias[i][1]:
                        found.append(dataclasses.replace(self, statements=alias))
        return found


def load(source: str) -> nn.Module:
    space = dict(NAMESPACE)
    exec(compile(source, "<model>", "exec"), space)
    torch.manual_seed(0)
    model: nn.Module = space["Model"]().eval()
    for module in model.modules():
        if isinstance(module, nn.BatchNorm1d | nn.BatchNorm2d):
            module.running_mean.normal_()
            module.running_var.uniform_(0.5, 2)
            nn.init.uniform_(module.weight, 0.5, 1.5)
    return model


class Drawing:
    """A program in the making, with the values of its names at all sizes."""

    def __init__(self, random: Random, *, reads: bool) -> None:
        self.random = random
        self.program = Program()
        self.host = nn.Module()
        made = [inputs(sizes) for sizes in SIZES[:3]]
        self.values: list[dict[str, torch.Tensor]] = [{"x": x, "y": y} for x, y in made]
        self.templates: Sequence[Callable[[Drawing, str], str | None]] = [
            *LAYERS,
            *LAYOUT * 2,
            *(READS if reads else ()),
        ]
        self.count = 0

    def part(self, code: str) -> str:
        name = f"p{len(self.program.parts)}"
        part = eval(code, dict(NAMESPACE))
        setattr(self.host, name, part.eval() if isinstance(part, nn.Module) else part)
        self.program.parts.append((name, code))
        return f"self.{name}"

    def shape(self, name: str) -> torch.Size:
        return self.values[0][name].shape

    def fixed(self, name: str, axis: int) -> int | None:
        """The size of an axis, if it is the same at all sizes."""
        found = {v[name].shape[axis] for v in self.values}
        return found.pop() if len(found) == 1 else None

    def size(self, name: str, axis: int) -> str:
        number = self.fixed(name, axis)
        return f"{name}.shape[{axis}]" if number is None else str(number)

    def axis(self, name: str) -> int:
        return self.random.randrange(max(1, len(self.shape(name))))

    def name(self) -> str:
        """A value, rather a new one."""
        names = list(self.values[0])
        return self.random.choice(names[-3:] if self.random.random() < 0.7 else names)

    def like(self, name: str) -> str:
        """Another value of as many axes."""
        found = [n for n in self.values[0] if len(self.shape(n)) == len(self.shape(name))]
        return self.random.choice(found)

    def step(self) -> bool:
        name = self.name()
        code = self.random.choice(self.templates)(self, name)
        if code is None:
            return False
        count = 3 if code.startswith("*3 ") else 2 if code.startswith("*2 ") else 1
        code = code.removeprefix("*3 ").removeprefix("*2 ")
        names = tuple(f"v{self.count + i}" for i in range(count))
        statement = f"{', '.join(names)} = {code}"
        made = []
        for values in self.values:
            space = {**NAMESPACE, **values, "self": self.host}
            try:
                with torch.no_grad():
                    exec(statement, space)
            except (RuntimeError, ValueError, IndexError, TypeError):
                return False
            new = {n: space[n] for n in names}
            if not all(isinstance(v, torch.Tensor) and fine(v) for v in new.values()):
                return False
            made.append(new)
        if any(len({v[n].dim() for v in made}) > 1 for n in names):
            return False
        for values, new in zip(self.values, made):
            values.update(new)
        self.count += count
        self.program.statements.append((names, statement))
        return True


def fine(value: torch.Tensor) -> bool:
    if value.dtype != torch.float32 or not 0 < value.numel() < 20000 or value.dim() > 5:
        return False
    return bool(value.isfinite().all()) and float(value.abs().max()) < LARGEST


def draw(random: Random, statements: int, *, reads: bool = False) -> Program:
    drawing = Drawing(random, reads=reads)
    for _ in range(30 * statements):
        if drawing.count >= statements:
            break
        drawing.step()
    made = [n for names, _ in drawing.program.statements for n in names]
    chosen = made[-1:] + ([random.choice(made)] if made and random.random() < 0.4 else [])
    drawing.program.results = list(dict.fromkeys(chosen)) or ["x"]
    return drawing.program


# -- layers -------------------------------------------------------------------------------------------


def linear(d: Drawing, v: str) -> str | None:
    size = d.fixed(v, -1) if d.shape(v) else None
    bias = d.random.random() < 0.7
    return size and f"{d.part(f'nn.Linear({size}, {d.random.choice([4, 6, 8, 12, 1])}, bias={bias})')}({v})"


def product(d: Drawing, v: str) -> str | None:
    size = d.fixed(v, -1) if d.shape(v) else None
    width = d.random.choice([4, 8, 12])
    return size and f"{v} @ {d.part(f'nn.Parameter(torch.randn({size}, {width}) * 0.4)')}"


def from_left(d: Drawing, v: str) -> str | None:
    size = d.fixed(v, -2) if len(d.shape(v)) > 1 else None
    return size and f"{d.part(f'nn.Parameter(torch.randn({d.random.choice([3, size])}, {size}) * 0.4)')} @ {v}"


def flat_linear(d: Drawing, v: str) -> str | None:
    size = d.fixed(v, -1) if len(d.shape(v)) == 3 else None
    width = d.random.choice([4, 8])
    layer = d.part(f"nn.Linear({size}, {width})") if size else ""
    return size and f"{layer}({v}.reshape(-1, {size})).view({v}.shape[0], {v}.shape[1], {width})"


def convolution(d: Drawing, v: str) -> str | None:
    rank = len(d.shape(v))
    channels = d.fixed(v, 1) if rank in (3, 4) else None
    if channels is None:
        return None
    out = d.random.choice([channels, channels, 4, 1])
    group = d.random.choice([g for g in (1, 1, 2, channels) if channels % g == 0 and out % g == 0])
    kernel = d.random.choice([1, 3, 3, 2])
    pad = d.random.choice([0, kernel // 2, kernel // 2])
    kind = d.random.choice(["Conv", "Conv", "Conv", "ConvTranspose"])
    more = d.random.choice(["", "", ", stride=2", ", dilation=2"])
    bias = d.random.random() < 0.6
    code = f"nn.{kind}{rank - 2}d({channels}, {out}, {kernel}, padding={pad}, groups={group}, bias={bias}{more})"
    return f"{d.part(code)}({v})"


def norm(d: Drawing, v: str) -> str | None:
    rank = len(d.shape(v))
    last = d.fixed(v, -1) if rank else None
    channels = d.fixed(v, 1) if rank in (2, 3, 4) else None
    kind = d.random.randrange(5)
    if kind < 2 and channels:
        return f"{d.part(f'nn.BatchNorm{2 if rank == 4 else 1}d({channels})')}({v})"
    if kind == 2 and last:
        return f"{d.part(f'nn.LayerNorm({last})')}({v})"
    if kind == 3 and last:
        weight = d.random.choice(["", f" * {d.part(f'nn.Parameter(torch.rand({last}))')}"])
        square = d.random.choice([f"{v}.pow(2)", f"({v} * {v})"])
        root = f"{square}.mean(-1, keepdim=True) + 1e-3"
        return d.random.choice([f"{v} * torch.rsqrt({root}){weight}", f"{v} / torch.sqrt({root}){weight}"])
    return f"F.normalize({v}, dim={d.axis(v)})" if kind == 4 and rank else None


def arithmetic(d: Drawing, v: str) -> str | None:
    axis = d.axis(v)
    size = d.fixed(v, axis) if d.shape(v) else None
    if size and d.random.random() < 0.6:
        trailing = len(d.shape(v)) - 1 - axis
        shape = ", ".join([str(d.random.choice([size, size, size, 1])), *["1"] * trailing])
        other = d.part(f"nn.Parameter(torch.rand({shape}) + 0.5)")
    else:
        other = d.random.choice(["2.0", "0.5", "-1.5", "3", d.part("nn.Parameter(torch.rand(()) + 0.5)")])
    op = d.random.choice(["+", "+", "*", "*", "-", "/"])
    first = op != "/" and d.random.random() < 0.35
    return f"{other} {op} {v}" if first else f"{v} {op} {other}"


def activation(d: Drawing, v: str) -> str | None:
    return d.random.choice(["F.relu({})", "torch.tanh({})", "F.gelu({})", "{}.sigmoid()", "-{}", "{}.abs()"]).format(v)


def residual(d: Drawing, v: str) -> str | None:
    return f"{v} {d.random.choice(['+', '+', '*', '-'])} {d.like(v)}"


def branches(d: Drawing, v: str) -> str | None:
    """Two layers of one tensor, added."""
    layer = d.random.choice([convolution, linear, norm, lambda d, v: v])
    first = layer(d, v)
    second = d.random.choice([convolution, norm, lambda d, v: v, layer])(d, v)
    return first and second and f"{first} {d.random.choice(['+', '+', '-'])} {second}"


def attention(d: Drawing, v: str) -> str | None:
    size = d.fixed(v, -1) if len(d.shape(v)) == 3 else None
    if size is None or size % 2:
        return None
    b, t, h = f"{v}.shape[0]", f"{v}.shape[1]", size // 2
    qkv = f"{d.part(f'nn.Linear({size}, {3 * size})')}({v})"
    made = d.random.choice(
        [
            f"{qkv}.reshape({b}, {t}, 3, 2, {h}).permute(2, 0, 3, 1, 4)",
            f"{qkv}.view({b}, {t}, 3, 2, {h}).permute(2, 0, 3, 1, 4)",
            f"torch.stack([z.view({b}, -1, 2, {h}).transpose(1, 2) for z in {qkv}.chunk(3, -1)])",
        ]
    )
    scores = d.random.choice(
        [
            f"(q @ k.transpose(-2, -1) * {h**-0.5}).softmax(-1) @ u",
            f"(q * {h**-0.5} @ k.transpose(-2, -1)).softmax(-1) @ u",
            f"((q @ k.mT) / {h**0.5}).softmax(-1) @ u",
            "F.scaled_dot_product_attention(q, k, u)",
            "torch.einsum('bhid,bhjd->bhij', q, k).softmax(-1) @ u",
        ]
    )
    take = d.random.choice(["*w", "*w.unbind(0)", "w[0], w[1], w[2]"])
    start = f"(lambda w: (lambda q, k, u: {scores})({take}))({made})"
    return f"{start}.transpose(1, 2).reshape({b}, {t}, {size})"


def with_itself(d: Drawing, v: str) -> str | None:
    other = d.like(v)
    return d.random.choice(
        [
            f"{v} @ {other}.transpose(-1, -2) * 0.25",
            f"0.5 * ({v}.softmax(-1) @ {other})",
            f"torch.einsum('bij,bkj->bik', {v}, {other}) / 4",
            f"torch.einsum('bij,bjk->bki', {v}, {other}) / 4",
            f"{v} * {v}.mean({d.axis(v)}, keepdim=True)",
        ]
    )


LAYERS = [
    *[linear, convolution, norm, arithmetic] * 2,
    *[product, from_left, flat_linear, activation, residual, branches, attention, with_itself, arithmetic],
]

# -- layout and pieces --------------------------------------------------------------------------------


def transpose(d: Drawing, v: str) -> str | None:
    return f"{v}.transpose({d.axis(v)}, {d.axis(v)})" if d.shape(v) else None


def swap(d: Drawing, v: str) -> str | None:
    return f"{v}.mT" if len(d.shape(v)) > 1 else None


def permute(d: Drawing, v: str) -> str | None:
    axes = list(range(len(d.shape(v))))
    d.random.shuffle(axes)
    return f"{v}.permute({axes})"


def unit_axis(d: Drawing, v: str) -> str | None:
    return d.random.choice([f"{v}.unsqueeze({d.axis(v)})", f"{v}.squeeze({d.axis(v)})", f"{v}[:, None]"])


def unflatten(d: Drawing, v: str) -> str | None:
    axis = d.axis(v)
    size = d.fixed(v, axis) if d.shape(v) else None
    divisors = [n for n in range(1, (size or 0) + 1) if size and size % n == 0]
    if not divisors:
        return None
    n = d.random.choice(divisors)
    sizes = [d.size(v, i) for i in range(len(d.shape(v)))]
    parts = d.random.choice([[str(n), str(size // n)], [str(n), "-1"]])
    sizes[axis : axis + 1] = parts
    return d.random.choice([f"{v}.unflatten({axis}, ({', '.join(parts)}))", f"{v}.reshape({', '.join(sizes)})"])


def flatten(d: Drawing, v: str) -> str | None:
    first, last = sorted((d.axis(v), d.axis(v)))
    sizes = [d.size(v, i) for i in range(len(d.shape(v)))]
    sizes[first : last + 1] = ["-1"]
    return d.random.choice([f"{v}.flatten({first}, {last})", f"{v}.reshape({', '.join(sizes)})"])


def view(d: Drawing, v: str) -> str | None:
    """To the sizes of the axes in another order, or of another value."""
    sizes = [d.size(v, i) for i in range(len(d.shape(v)))]
    d.random.shuffle(sizes)
    return d.random.choice([f"{v}.reshape({', '.join(sizes)})", f"{v}.reshape({d.name()}.shape)"])


def piece(d: Drawing, v: str) -> str | None:
    axis = d.axis(v)
    before = ":, " * axis
    start, end, step = d.random.choice(
        [(0, 2, 1), (1, None, 1), (None, -1, 1), (None, None, 2), (-2, None, 1), (1, 3, 1)]
    )
    cut = f"{'' if start is None else start}:{'' if end is None else end}:{step}"
    return d.random.choice(
        [f"{v}[{before}{cut}]", f"{v}[{before}{cut}]", f"{v}.select({axis}, {d.random.choice([0, 1, -1])})"]
    )


def pieces(d: Drawing, v: str) -> str | None:
    axis = d.axis(v)
    size = d.fixed(v, axis) if d.shape(v) else None
    before = ":, " * axis
    if size is None or size < 2:
        return None
    if size == 3 or (size == 12 and d.random.random() < 0.5):
        return f"*3 {v}.{'unbind' if size == 3 else 'chunk'}({'' if size == 3 else '3, '}{axis})"
    at = d.random.randrange(1, size)
    return d.random.choice(
        [
            f"*2 {v}.split([{at}, {size - at}], {axis})",
            f"*2 {v}.chunk(2, {axis})",
            f"*2 ({v}[{before}:{at}], {v}[{before}{at}:])",
            f"*2 ({v}.select({axis}, 0), {v}.select({axis}, 1))",
        ]
    )


def pad(d: Drawing, v: str) -> str | None:
    amounts = [d.random.choice([0, 1, 1, 2, -1]) for _ in range(2 * d.random.randint(1, min(2, len(d.shape(v)) or 1)))]
    return f"F.pad({v}, {amounts}{d.random.choice(['', '', ', value=0.5'])})"


def padded_convolution(d: Drawing, v: str) -> str | None:
    if len(d.shape(v)) != 4 or not d.fixed(v, 1):
        return None
    amounts = [d.random.choice([0, 1, 2]) for _ in range(4)]
    code = f"nn.Conv2d({d.fixed(v, 1)}, 4, 3, padding={d.random.choice([0, 1])}, stride={d.random.choice([1, 2])})"
    return f"{d.part(code)}(F.pad({v}, {amounts}))"


def expand(d: Drawing, v: str) -> str | None:
    other, axis = d.like(v), d.axis(v)
    one = f"{v}.mean({axis}, keepdim=True)"
    made = d.random.choice(
        [f"{one}.expand_as({other})", f"{one}.expand({other}.shape)", f"{one}.broadcast_to({v}.shape)"]
    )
    return d.random.choice([made, f"{made} + {other}", f"{other} * {made}", f"torch.where({other} > 0, {made}, {v})"])


def join(d: Drawing, v: str) -> str | None:
    other = d.like(v)
    return d.random.choice(
        [
            f"torch.cat([{v}, {other}], {d.axis(v)})",
            f"torch.stack([{v}, {other}], {d.axis(v)})",
            f"{v}.flip({d.axis(v)})",
        ]
    )


def reduce(d: Drawing, v: str) -> str | None:
    kept = d.random.choice([", keepdim=True", ""])
    return f"{v}.{d.random.choice(['mean', 'sum', 'amax'])}({d.axis(v)}{kept})"


LAYOUT = [transpose, swap, permute, unit_axis, unflatten, flatten, view, piece, pieces, pad]
LAYOUT += [padded_convolution, expand, join, reduce]

# -- sizes that are read ------------------------------------------------------------------------------


def read(d: Drawing, v: str) -> str | None:
    """A value that takes a size in some way."""
    axis = d.axis(v)
    if not d.shape(v):
        return None
    n = d.random.choice([f"{v}.shape[{axis}]", f"{v}.size({axis})", f"{v}.shape[{axis - len(d.shape(v))}]"])
    before = ":, " * axis
    column = f".reshape(-1{', 1' * (len(d.shape(v)) - 1 - axis)})"
    number = d.random.choice(
        [
            *[
                f"{n}",
                f"int({n})",
                f"{n} // 2",
                f"({n} + 1) // 2",
                f"{n} % 3",
                f"max({n}, 3)",
                f"min({n}, 5)",
                f"{n} ** 0.5",
            ],
            *[f"math.sqrt({n})", f"float({n})", f"np.sqrt({n})", f"math.log({n})", f"1 / {n}", f"int({n} * 0.5)"],
            *[f"math.ceil({n} / 2)", f"round({n} / 3)", f"(4 if {n} > 4 else 5)", f"len(range({n}))"],
            *[
                f"{{6: 2.0}}.get(int({n}), 3.0)",
                f"[7, 8][{n} % 2]",
                f"sum(range({n}))",
                f"({n} == 6) + 1",
                f"abs({n} - 7)",
            ],
            *[f"divmod({n}, 4)[0]", f"torch.tensor({n})", f"np.prod({v}.shape)", f"{v}.numel()"],
            *[f"f'{{{n}}}'.count('1')", f"math.prod({v}.shape[:2])", f"bool({n} > 4)", f"torch.Size([{n}, 2]).numel()"],
        ]
    )
    length = d.random.choice([f"{n}", f"int({n})", f"len({v})" if axis == 0 else f"{n}"])
    table = d.part("torch.randn(64)")
    return d.random.choice(
        [
            *[f"{v} / ({number} + 1)", f"{v} * {number} / 4", f"{v} + {number} * 0.1"] * 2,
            *[f"{v}[{before}:{n} // 2]", f"{v}[{before}{n} // 2:]", f"{v}[{before}-({n} - 1):]", f"{v}[{before}:max(1, {n} - 2)]"],
            *[f"{v} + torch.arange({length}){column} * 0.1", f"{v} + torch.zeros({length}){column}", f"{v} * {table}[:{length}]{column}"],
            *[f"sum({v}.select({axis}, i) * (i + 1) for i in range({n}))", f"torch.stack([z * 2 for z in {v}.unbind({axis})])"],
            *[f"{v} + torch.linspace(0, 1, {length}){column}", f"{v} + torch.from_numpy(np.arange({n}, dtype=np.float32)){column}"],
            *[f"{v} + torch.tensor([float(i) for i in range({n})]){column}", f"{v} + torch.ones({length}, {length}).tril().sum(0){column}"],
            *[f"({v} * 2 if {n} > 4 else {v} + 1)", f"({v} * 2 if {n} % 2 == 0 else {v} + 1)", f"({v} if {n} == 6 else {v} * 2)"],
            *[f"F.pad({v}, (0, max(0, 8 - {v}.shape[-1])))", f"F.pad({v}, (0, (4 - {v}.shape[-1] % 4) % 4))"],
            *[f"F.interpolate({v}, size=2 * {v}.shape[-1])", f"F.interpolate({v}, scale_factor=2)"],
            *[f"F.adaptive_avg_pool1d({v}, 2)", f"{v}.new_zeros({v}.shape) + {v}", f"torch.cat(list({v}.split(2, {axis})), {axis})"],
            *[f"{v}.roll(1, {axis})", f"{v}.repeat({', '.join(['1'] * (len(d.shape(v)) - 1) + ['2'])})", f"{v}.cumsum({axis})"],
        ]
    )  # fmt: skip


READS = [read] * 8
