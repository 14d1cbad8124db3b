"""Finds dynamic axes that a trace has frozen, by tracing again at other sizes.

A size that was turned into a Python number (`int(n)`, `range(n)`, numpy, ...) is a constant of the trace. Two
traces at different sizes then differ: in that constant, or in the ops that were run. A constant that
depends on one size linearly, as a third trace confirms, is replaced by the expression, and stays live; anything
else is reported with its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import torch

from ..dims import Dim, Size
from ..program import Location, Node, Program, Value

Retrace = Callable[[Mapping[str, int]], Program | None]
Path = tuple[int, ...]  # node, operand, position in a list


@dataclass(frozen=True, slots=True)
class Frozen:
    """A place where the program depends on an example size."""

    labels: tuple[str, ...]  # the axes that it may depend on
    location: Location
    what: str

    def __str__(self) -> str:
        return f"{self.what} at {self.location}"


def thaw(program: Program, sizes: Mapping[str, int], retrace: Retrace) -> list[Frozen] | None:
    """Replace constants that follow a size by expressions, in place; what stays frozen.

    Args:
        sizes: the example sizes by label.
        retrace: traces at other sizes; None where the model can't run at these.

    Returns:
        None if the model runs at no other sizes that were tried, so that nothing is known.
    """
    found = _other(program, sizes, retrace, _candidates(sizes))
    if found is None:
        return None
    other_sizes, other = found
    differences, broken = _compare(program, other)
    if not differences and broken is None:
        return []
    labels = tuple(label for label in sizes if sizes[label] != other_sizes[label])
    frozen: list[Frozen] = []
    guesses = {path: _guesses(a, b, sizes, other_sizes) for path, (a, b) in differences.items()}
    if any(guesses.values()):
        third = _other(program, sizes, retrace, _candidates(sizes, start=1))
        if third is not None:
            _confirm(program, third, guesses)
        else:
            guesses = {path: [] for path in guesses}
    made: list[tuple[int, Node]] = []
    for path, (a, b) in differences.items():
        if len(guesses[path]) == 1:
            _replace(program, path, guesses[path][0], made)
        else:
            node = program.block.nodes[path[0]]
            what = f"{_shown(a)} in {node.op} is {_shown(b)} at {_sizes_text(other_sizes)}"
            frozen.append(Frozen(labels, _place(program, path[0]), what))
    if broken is not None:
        index, what = broken
        frozen.append(Frozen(labels, _place(program, index), f"{what} at {_sizes_text(other_sizes)}"))
    for index, node in reversed(made):
        program.block.nodes.insert(index, node)
    return frozen


def _sizes_text(sizes: Mapping[str, int]) -> str:
    return ", ".join(f"{label}={size}" for label, size in sizes.items())


def _candidates(sizes: Mapping[str, int], start: int = 0) -> Iterator[dict[str, int]]:
    """Sizes to try: each label grown by a number of its own, or by whole multiples."""
    step = 1 + start * 2
    yield {label: size + step + (i if size > 1 else i + 1) for i, (label, size) in enumerate(sizes.items())}
    yield {label: size + step for label, size in sizes.items()}
    yield {label: size * (2 + start) for label, size in sizes.items()}


def _other(
    program: Program, sizes: Mapping[str, int], retrace: Retrace, candidates: Iterator[dict[str, int]]
) -> tuple[dict[str, int], Program] | None:
    for candidate in candidates:
        other = retrace(candidate)
        if other is not None:
            return candidate, other
    return None


def _compare(a: Program, b: Program) -> tuple[dict[Path, tuple[Any, Any]], tuple[int, str] | None]:
    """Constants that differ, and the first node from which on the programs are different ones."""
    differences: dict[Path, tuple[Any, Any]] = {}
    nodes, others = a.block.nodes, b.block.nodes
    for index, (x, y) in enumerate(zip(nodes, others)):
        if x.op != y.op:
            return differences, (index, f"{x.op} is {y.op}")
        if len(x.outputs) != len(y.outputs):
            return differences, (index, f"the {len(x.outputs)} results of {x.op} are {len(y.outputs)}")
        if len(x.inputs) != len(y.inputs):
            return differences, (index, f"the {len(x.inputs)} inputs of {x.op} are {len(y.inputs)}")
        for position, (p, q) in enumerate(zip(x.inputs, y.inputs)):
            if p.__class__ is not Value and not _same(p, q):
                _descend(differences, (index, position), p, q)
    if len(nodes) != len(others):
        return differences, (min(len(nodes), len(others)) - 1, f"{len(nodes)} operations are {len(others)}")
    return differences, None


def _descend(differences: dict[Path, tuple[Any, Any]], path: Path, a: Any, b: Any) -> None:
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        for i, (x, y) in enumerate(zip(a, b)):
            if not _same(x, y):
                _descend(differences, (*path, i), x, y)
    else:
        differences[path] = (a, b)


def _same(a: Any, b: Any) -> bool:
    if a is b:
        return True
    if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
        return a.dtype == b.dtype and a.shape == b.shape and bool(torch.equal(a, b))
    if isinstance(a, float) and isinstance(b, float) and a != a and b != b:
        return True
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(_same(x, y) for x, y in zip(a, b))
    return type(a) is type(b) and not isinstance(a, torch.Tensor) and bool(a == b)


# -- expressions ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Guess:
    """The constant is `slope * size + offset` of one label."""

    label: str
    slope: int
    offset: int

    def at(self, sizes: Mapping[str, int]) -> int:
        return self.slope * sizes[self.label] + self.offset

    def size(self) -> Size:
        return Dim.symbol(self.label) * self.slope + self.offset


def _integer(value: Any) -> int | None:
    """An int, or the content of a 0-d int64 tensor."""
    if isinstance(value, torch.Tensor):
        return int(value) if value.dim() == 0 and value.dtype == torch.int64 else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _guesses(a: Any, b: Any, sizes: Mapping[str, int], others: Mapping[str, int]) -> list[_Guess]:
    x, y = _integer(a), _integer(b)
    if x is None or y is None:
        return []
    found = []
    for label, size in sizes.items():
        if others[label] != size:
            slope = Fraction(y - x, others[label] - size)
            if slope.denominator == 1 and slope != 0:
                found.append(_Guess(label, int(slope), x - int(slope) * size))
    return found


def _confirm(program: Program, third: tuple[dict[str, int], Program], guesses: dict[Path, list[_Guess]]) -> None:
    """Keep what a third trace confirms; of several, those without an offset."""
    sizes, other = third
    _, broken = _compare(program, other)
    comparable = len(program.block.nodes) if broken is None else broken[0]
    for path, options in guesses.items():
        lined_up = path[0] < comparable
        kept = [g for g in options if lined_up and _integer(_at(other, path)) == g.at(sizes)]
        plain = [g for g in kept if g.offset == 0]
        guesses[path] = plain if len(kept) > 1 and len(plain) == 1 else kept


def _at(program: Program, path: Path) -> Any:
    value: Any = program.block.nodes[path[0]].inputs[path[1]]
    for index in path[2:]:
        value = value[index]
    return value


def _replace(program: Program, path: Path, guess: _Guess, made: list[tuple[int, Node]]) -> None:
    """Put the expression in place of the constant; in place of a tensor, a tensor made of it."""
    node = program.block.nodes[path[0]]
    new: Any = guess.size()
    if isinstance(_at(program, path), torch.Tensor):
        value = Value(f"{guess.label}_{len(made)}", "Tensor")
        made.append((path[0], Node("prim::NumToTensor", [new], [value], scope=node.scope, location=node.location)))
        new = value
    if len(path) > 2:
        node.inputs[path[1]] = _copied(node.inputs[path[1]])
    holder: Any = node.inputs
    for index in path[1:-1]:
        holder = holder[index]
    holder[path[-1]] = new


def _copied(value: Any) -> Any:
    return [_copied(v) for v in value] if isinstance(value, list) else value


# -- messages -------------------------------------------------------------------------------------


def _place(program: Program, index: int) -> Location:
    """Where a node comes from; lists are made nowhere in particular, so it is where they are used."""
    nodes = program.block.nodes
    for node in [nodes[index], *_users(nodes[index], nodes[index + 1 : index + 40])]:
        if node.location.source:
            return node.location
    return nodes[index].location


def _users(node: Node, after: list[Node]) -> list[Node]:
    outputs = set(node.outputs)
    return [n for n in after if any(x in outputs for x in n.inputs if x.__class__ is Value)]


def _shown(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return f"a constant of shape {list(value.shape)}" if value.dim() else f"the constant {value.item()}"
    return f"the constant {value!r}"
