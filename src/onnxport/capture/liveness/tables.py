"""Constant tensors that follow the sizes, as operators on numbers: what numpy and lists of Python make in a model.

    torch.from_numpy(np.linspace(0, 1, n))                 linspace(0, 1, 5)
    torch.tensor(list(range(n)))                           arange(5) * 1 + 0
    torch.from_numpy(np.triu(np.ones((n, n)), k=1))   is   where(arange(5)[:, None] - arange(5) >= 0, 0, 1)
    torch.Tensor([w, h])                                   stack([5, 4])

To the tracer such a tensor is a constant. Where programs of other sizes have other constants in a place, and one form fits
all of them, each program is given that form in place of its constant. They then differ in numbers, which are found out about
as others are (see `thawing`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import torch

from ...dtypes import to_scalar_type
from ...program import Node, Program, Value
from ...program.schema import parse
from .comparison import Path, compare, sites

Number = int | float
_LARGEST = 64  # elements that are looked at one by one
_AXES, _LAYERS = 4, 4
_DTYPES = (
    torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.bfloat16, torch.float32, torch.float64,
    torch.bool,
)  # fmt: skip
_SCHEMAS = {
    schema.full_name: schema
    for schema in map(
        parse,
        (
            "aten::arange(Scalar end, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
            "pin_memory=None) -> Tensor",
            "aten::linspace(Scalar start, Scalar end, int steps, *, ScalarType? dtype=None, Layout? layout=None, Device? "
            "device=None, bool? pin_memory=None) -> Tensor",
            "aten::full(SymInt[] size, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, Device? "
            "device=None, bool? pin_memory=None) -> Tensor",
            "aten::stack(Tensor[] tensors, int dim=0) -> Tensor",
            "aten::reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a)",
            "aten::expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)",
            "aten::mul.Scalar(Tensor self, Scalar other) -> Tensor",
            "aten::add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
            "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
            "aten::sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
            "aten::ge.Scalar(Tensor self, Scalar other) -> Tensor",
            "aten::eq.Scalar(Tensor self, Scalar other) -> Tensor",
            "aten::where.Scalar(Tensor condition, Scalar self, Scalar other) -> Tensor",
            "aten::to.dtype(Tensor(a) self, ScalarType dtype, bool non_blocking=False, bool copy=False, MemoryFormat? "
            "memory_format=None) -> Tensor(a)",
        ),
    )
}


class _Nodes:
    """Makes nodes for what a node was given as a constant."""

    def __init__(self, near: Node) -> None:
        self.made: list[Node] = []
        self._near = near

    def __call__(self, op: str, *operands: Any) -> Value:
        schema, near = _SCHEMAS.get(op), self._near
        given = list(operands)
        if schema is not None:
            given += [x.default for x in schema.arguments[len(given) :]]
        value = Value(f"table_{len(self.made)}", "Tensor")
        node = Node(op, given, [value], schema=schema, scope=near.scope, location=lambda: near.location)
        self.made.append(node)
        return value

    def along(self, value: Value, axis: int, rank: int) -> Value:
        return self("aten::reshape", value, [-1 if i == axis else 1 for i in range(rank)]) if rank > 1 else value


class Form:
    """How tensors of a kind are computed."""

    def spell(self, tensor: torch.Tensor, add: _Nodes) -> Value | None:
        """The tensor, but for its type; None if it isn't of this kind."""
        raise NotImplementedError


@dataclasses.dataclass(frozen=True, slots=True)
class _Elements(Form):
    """Few elements, of which some follow sizes."""

    shape: tuple[int, ...]
    follow: tuple[bool, ...]

    def spell(self, tensor: torch.Tensor, add: _Nodes) -> Value | None:
        elements = tensor.reshape(-1).tolist()
        if tuple(tensor.shape) != self.shape or any(e != int(e) for e, f in zip(elements, self.follow) if f):
            return None
        plain: Any = torch.tensor([0 if f else e for e, f in zip(elements, self.follow)], dtype=tensor.dtype)
        numbers = [add("prim::NumToTensor", int(e) if f else 0) for e, f in zip(elements, self.follow)]
        made = add("aten::add.Tensor", add("aten::stack", numbers), plain)
        return add("aten::reshape", made, list(self.shape))


@dataclasses.dataclass(frozen=True, slots=True)
class _Steps(Form):
    """Numbers that go on by equal steps along each axis: `np.arange(n)`, `np.zeros((n, 3))`."""

    steps: tuple[Number, ...]

    def spell(self, tensor: torch.Tensor, add: _Nodes) -> Value | None:
        start, rank = _number(tensor[(0,) * tensor.dim()]), tensor.dim()
        if rank != len(self.steps) or not _are_close(_ramps(tensor, start, self.steps), tensor):
            return None
        total: Value | None = None
        for axis, step in enumerate(self.steps):
            if step:
                row = add.along(add("aten::arange", tensor.shape[axis], to_scalar_type(torch.int64)), axis, rank)
                if isinstance(step, float):
                    row = add("aten::to.dtype", row, to_scalar_type(torch.float64))
                row = add("aten::mul.Scalar", row, step)
                total = row if total is None else add("aten::add.Tensor", total, row)
        if total is None:
            return add("aten::full", list(tensor.shape), start, to_scalar_type(_wide(tensor)))
        total = add("aten::add.Scalar", total, start)
        return total if all(self.steps) else add("aten::expand", total, list(tensor.shape))


@dataclasses.dataclass(frozen=True, slots=True)
class _Ends(Form):
    """Numbers that go on by equal steps along one axis, from one end to the other: `np.linspace(0, 1, n)`; `last` is the
    other end where it is always the same."""

    last: Number | None

    def spell(self, tensor: torch.Tensor, add: _Nodes) -> Value | None:
        count = max(tensor.shape)
        if tensor.numel() != count or not tensor.is_floating_point():
            return None
        row = tensor.reshape(-1).to(torch.float64)
        first, last = _number(row[0]), _number(row[-1]) if count > 1 or self.last is None else self.last
        if not _are_close(torch.linspace(first, last, count, dtype=torch.float64), row.to(tensor.dtype)):
            return None
        made = add("aten::linspace", first, last, count, to_scalar_type(torch.float64))
        axis = tensor.shape.index(count)
        return add.along(made, axis, tensor.dim())


@dataclasses.dataclass(frozen=True, slots=True)
class _Triangle(Form):
    """One number on and below a diagonal of a matrix, another one above; or one on it, another beside it."""

    op: str
    inside: Number
    outside: Number

    def spell(self, tensor: torch.Tensor, add: _Nodes) -> Value | None:
        rank = tensor.dim()
        if rank < 2 or any(n != 1 for n in tensor.shape[:-2]):
            return None
        matrix = tensor.reshape(tensor.shape[-2:])
        at = torch.arange(matrix.shape[0])[:, None] - torch.arange(matrix.shape[1])
        inside = matrix == self.inside
        offset = int(at[inside].min()) if bool(inside.any()) else int(at.max()) + 1
        if self.op == "aten::eq.Scalar" and offset:
            return None
        chosen = at >= offset if self.op == "aten::ge.Scalar" else at == 0
        if not torch.equal(chosen, inside) or not bool((matrix[~chosen] == self.outside).all()):
            return None
        rows, columns = (add("aten::arange", n, to_scalar_type(torch.int64)) for n in matrix.shape)
        apart = add("aten::sub.Tensor", add.along(rows, 0, 2), add.along(columns, 1, 2))
        value = add("aten::where.Scalar", add(self.op, apart, offset), self.inside, self.outside)
        for _ in range(rank - 2):
            value = add("aten::reshape", value, [1, -1, tensor.shape[-1]])
        return value


@dataclasses.dataclass(frozen=True, slots=True)
class _Layers(Form):
    """A few tables beside each other along an axis, as numpy stacks the coordinates of a grid."""

    axis: int
    forms: tuple[Form, ...]

    def spell(self, tensor: torch.Tensor, add: _Nodes) -> Value | None:
        if tensor.shape[self.axis] != len(self.forms):
            return None
        layers = [form.spell(layer, add) for form, layer in zip(self.forms, tensor.unbind(self.axis))]
        same = [add("aten::to.dtype", v, to_scalar_type(_wide(tensor))) for v in layers if v is not None]
        return add("aten::stack", same, self.axis) if len(same) == len(layers) else None


def _number(element: torch.Tensor) -> Number:
    """A whole number as an int."""
    number = element.item()
    return int(number) if abs(number) < 2**53 and number == int(number) else float(number)


def _wide(tensor: torch.Tensor) -> torch.dtype:
    return torch.float64 if tensor.is_floating_point() else torch.int64


def _ramps(tensor: torch.Tensor, start: Number, steps: Sequence[Number]) -> torch.Tensor:
    total = torch.full(tensor.shape, start, dtype=torch.float64)
    for axis, step in enumerate(steps):
        shape = [-1 if i == axis else 1 for i in range(tensor.dim())]
        total += (torch.arange(tensor.shape[axis], dtype=torch.float64) * step).reshape(shape)
    return total


def _are_close(a: torch.Tensor, b: torch.Tensor) -> bool:
    if not b.is_floating_point():
        return torch.equal(a, b.to(torch.float64))
    scale = float(b.abs().max())
    return bool(((a - b.to(torch.float64)).abs() <= 4 * torch.finfo(b.dtype).eps * scale).all())


# -- which form fits --------------------------------------------------------------------------------


def _elements(seen: Sequence[torch.Tensor]) -> Form | None:
    shapes = {tuple(t.shape) for t in seen}
    if len(shapes) > 1 or seen[0].numel() > _LARGEST:
        return None
    rows = torch.stack([t.reshape(-1) for t in seen])
    return _Elements(shapes.pop(), tuple((rows != rows[0]).any(0).tolist()))


def _steps(seen: Sequence[torch.Tensor]) -> Form | None:
    steps: list[Number] = []
    for axis in range(seen[0].dim()):
        long = [t for t in seen if t.shape[axis] > 1]
        first, second = (_number(long[0].select(axis, i).reshape(-1)[0]) if long else 0 for i in (0, 1))
        steps.append(second - first)
    return _Steps(tuple(steps))


def _ends(seen: Sequence[torch.Tensor]) -> Form | None:
    last = {_number(t.reshape(-1)[-1]) for t in seen if t.numel() > 1}
    return _Ends(last.pop() if len(last) == 1 else None)


def _triangle(seen: Sequence[torch.Tensor]) -> Form | None:
    largest = max(seen, key=torch.Tensor.numel)
    if largest.dim() < 2 or min(largest.shape[-2:]) < 2:
        return None
    matrix = largest.reshape(-1, *largest.shape[-2:])[0]
    below, above, on = (_number(e) for e in (matrix[-1, 0], matrix[0, -1], matrix[0, 0]))
    return _Triangle("aten::ge.Scalar", below, above) if below != above else _Triangle("aten::eq.Scalar", on, below)


def _layers(seen: Sequence[torch.Tensor]) -> Form | None:
    for axis in (-1, 0) if seen[0].dim() > 1 else ():
        counts = {t.shape[axis] for t in seen}
        if len(counts) == 1 and max(counts) <= _LAYERS:
            forms = [_fitting(layers) for layers in zip(*(t.unbind(axis) for t in seen))]
            if all(form is not None for form in forms):
                return _Layers(axis, tuple(form for form in forms if form is not None))
    return None


def _fitting(seen: Sequence[torch.Tensor]) -> Form | None:
    """The first form that fits all."""
    for make in (_elements, _steps, _ends, _triangle, _layers):
        form = make(seen)
        if form is not None and all(form.spell(t, _Nodes(Node("", [], []))) is not None for t in seen):
            return form
    return None


@dataclasses.dataclass(frozen=True, slots=True)
class Table:
    """A constant of a program, by the number of its node, that has a form."""

    number: int
    path: Path
    form: Form


def find(program: Program, others: Sequence[Program]) -> list[Table]:
    """Constants that aren't the same in other programs, and have a form that fits in all of them."""
    seen: dict[tuple[int, Path], list[torch.Tensor]] = {}
    for other in others:
        for difference in compare(program, other)[0].values():
            mine, theirs = difference.mine, difference.theirs
            if _is_table(mine) and _is_table(theirs) and (mine.dtype, mine.dim()) == (theirs.dtype, theirs.dim()):
                seen.setdefault((difference.site.number, difference.path), [mine]).append(theirs)
    found: list[Table] = []
    for (number, path), tensors in seen.items():
        form = _fitting(tensors)
        if form is not None:
            found.append(Table(number, path, form))
    return found


def _is_table(constant: Any) -> bool:
    if not isinstance(constant, torch.Tensor) or constant.dim() > _AXES or not constant.numel():
        return False
    if not constant.dim() and constant.dtype in (torch.int64, torch.float64):  # a number of Python
        return False
    return constant.dtype in _DTYPES and bool(constant.to(torch.float64).isfinite().all())


def spell(program: Program, tables: Sequence[Table]) -> None:
    """Put operators in place of the constants, as far as they have the form."""
    if not tables:
        return
    wanted = {table.number for table in tables}
    at = {site.number: site for site in sites(program) if site.number in wanted}
    for table in tables:
        site = at.get(table.number)
        holder: Any = site.node.inputs if site is not None else None
        for index in table.path[:-1]:
            holder = holder[index] if isinstance(holder, list) and index < len(holder) else None
        last = table.path[-1]
        if site is None or not isinstance(holder, list) or last >= len(holder) or not _is_table(holder[last]):
            continue
        add = _Nodes(site.node)
        value = table.form.spell(holder[last], add)
        if value is None:
            continue
        holder[last] = add("aten::to.dtype", value, to_scalar_type(holder[last].dtype))
        nodes = site.block.nodes
        before = nodes.index(site.node) if site.node in nodes else len(nodes)  # the block's return
        nodes[before:before] = add.made
