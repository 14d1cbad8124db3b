"""Constants that follow ints which the model took out of tensors, seen by traces with other values of the arguments."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch

from ...program import Node, Program, Value
from ...program.ir import Reading
from ...program.schema import parse
from ..watch.readings import INTEGERS, ROWS, operands
from .expressions import Expression


def _halves(tensor: torch.Tensor) -> torch.Tensor:
    """The first half of the values twice: what is counted among them is another number, and all stay in range."""
    flat, count = tensor.reshape(-1), tensor.numel()
    return torch.cat([flat[: (count + 1) // 2], flat[: count // 2]]).reshape(tensor.shape)


def _backwards(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.reshape(-1).flip(0).reshape(tensor.shape)


def _turned(steps: int) -> Callable[[torch.Tensor], torch.Tensor]:
    return lambda tensor: tensor.reshape(-1).roll(steps).reshape(tensor.shape)


def _shifted(steps: int) -> Callable[[torch.Tensor], torch.Tensor]:
    """Moved along by some quarters, the values at the end repeated: what is in order stays so."""

    def shifted(tensor: torch.Tensor) -> torch.Tensor:
        count = tensor.numel()
        index = torch.arange(count, device=tensor.device) + steps * (count // 4 + 1)
        return tensor.reshape(-1)[index.clamp(0, count - 1)].reshape(tensor.shape)

    return shifted


def _halved_at(place: int) -> Callable[[torch.Tensor], torch.Tensor]:
    """One value alone is half of what it was: what sizes of images are to each other."""

    def halved(tensor: torch.Tensor) -> torch.Tensor:
        flat = tensor.reshape(-1).clone()
        flat[place] = flat[place] // 2
        return flat.reshape(tensor.shape)

    return halved


Change = Callable[[torch.Tensor], torch.Tensor]
# In another order all stay in range, and together.
_ORDERS: tuple[Change, ...] = (_halves, _backwards, _shifted(1), _shifted(-1), _turned(1), _turned(-1))
# These may lead out of what indices can be, where the model doesn't run.
_INTS: tuple[Change, ...] = (
    lambda t: t * 2, lambda t: t + 1, lambda t: (t - 1).clamp(min=0), lambda t: t // 2, _halved_at(0), _halved_at(-1)
)  # fmt: skip
_ARGUMENTS = 6


@dataclasses.dataclass(frozen=True, slots=True)
class Other:
    """Other values: of all arguments, or of one that holds ints."""

    change: Change
    argument: int | None = None

    def of(self, leaves: list[torch.Tensor]) -> list[torch.Tensor]:
        return [self.change(t) if self.argument in (None, i) and t.numel() else t for i, t in enumerate(leaves)]


ORDERS = tuple(map(Other, _ORDERS))
# Where all there is is chosen (all experts are, by some token), less is by values that are equal.
ALIKE = Other(lambda tensor: tensor.reshape(-1)[:1].expand(tensor.numel()).reshape(tensor.shape).clone())


def others(program: Program) -> Iterator[Other]:
    """Other values to try of the arguments; ints are changed of those that what was read hangs on."""
    yield from ORDERS
    read = _read_of(program)
    of_ints = [
        i for i, given in enumerate(program.inputs)
        if isinstance(given.example, torch.Tensor) and given.value in read and _are_whole(given.example)
    ]  # fmt: skip
    for argument in of_ints[:_ARGUMENTS]:
        for change in _INTS:
            yield Other(change, argument)


def _are_whole(tensor: torch.Tensor) -> bool:
    """Whether these are ints, or floats that count something, as sizes of images do."""
    if tensor.dtype in INTEGERS:
        return True
    return tensor.is_floating_point() and 0 < tensor.numel() <= _ELEMENTS and bool((tensor == tensor.floor()).all())


def _read_of(program: Program) -> set[Any]:
    """The values that what was read is computed from."""
    found: set[Any] = {reading.value for reading in program.readings if not reading.of_sizes}
    for node in reversed(program.block.nodes):
        if not found.isdisjoint(node.outputs):
            found.update(operands(node))
    return found


# Of so many ints, products are looked for; of a list so many elements are looked at one by one.
_FACTORS, _ELEMENTS = 4, 64


def numbers(program: Program) -> dict[str, int]:
    """What was read, under names that stand beside the labels of sizes: each element of a list, the sums up to it, and its
    extremes; and products of ints, as a count that begins at 0 makes them."""
    found: dict[str, int] = {}
    for index, reading in enumerate(program.readings):
        if reading.of_sizes or reading.what == ROWS:  # their labels tell, or the tensor that has them
            continue
        found.update({f"read {index}{part}": number for part, (number, _) in _parts(reading).items()})
    single = {label: number for label, number in found.items() if label[5:].isdigit()}
    for first, second in itertools.permutations(list(single)[:_FACTORS], 2):
        found[f"{first} + 1 by {second}"] = (single[first] + 1) * single[second]
        found[f"{first} + 1 by {second} by {second}"] = (single[first] + 1) * single[second] ** 2
        if first < second:
            found[f"{first} by {second}"] = single[first] * single[second]
    return found


def outside_of_loops(program: Program, others: Sequence[Program]) -> frozenset[str]:
    """The names of what was read before or behind all loops, as often in all runs: loops have copies of their own."""
    if any(len(other.readings) != len(program.readings) for other in others):
        return frozenset()
    there = {*program.block.parameters, *(x for node in program.block.nodes for x in node.outputs)}
    inside = {index for index, reading in enumerate(program.readings) if reading.value not in there}
    return frozenset(label for label in numbers(program) if not any(i in inside for i in _indices(label)))


def _indices(label: str) -> list[int]:
    return [_split(part.removesuffix(" + 1"))[0] for part in label.split(" by ")]


def made_of_sizes(program: Program) -> dict[str, int]:
    """Ints that Python took of what is computed from sizes, under such names: what can't be told by the sizes alone."""
    return {
        f"read {index}": reading.content
        for index, reading in enumerate(program.readings)
        if reading.of_sizes and isinstance(reading.content, int)
    }


def _parts(reading: Reading) -> Mapping[str, tuple[int, tuple[tuple[Any, ...], ...]]]:
    """The numbers that a reading has, and the operators that take each out of its tensor."""
    content = reading.content
    if isinstance(content, int):
        return {"": (content, ())}
    parts: dict[str, tuple[int, tuple[tuple[Any, ...], ...]]] = {
        f"[{i}]": (number, (("select", 0, i),)) for i, number in enumerate(content[:_ELEMENTS])
    }
    if len(content) > 1:
        extremes = {" max": max(content), " min": min(content), " sum": sum(content)}
        parts |= {part: (number, _REDUCED[part]) for part, number in extremes.items()}
        # Pieces of unequal lengths, cut off one after the other, end there.
        ends = itertools.accumulate(content[: min(_ELEMENTS, len(content) - 1)])
        parts |= {
            f" to {i}": (number, (("slice", 0, 0, i + 1, 1), *_REDUCED[" sum"])) for i, number in enumerate(ends) if i
        }
    return parts


_REDUCED: dict[str, tuple[tuple[Any, ...], ...]] = {" max": (("max",),), " min": (("min",),), " sum": (("sum", None),)}


def are_told_apart(seen: Sequence[Mapping[str, int]]) -> bool:
    """Whether each number has been three others, so that a line through them is no coincidence."""
    return all(len({read.get(label) for read in seen}) > 2 for label in seen[0] if " by " not in label)


def counts_rows(program: Program) -> bool:
    """Whether the model goes through rows whose number hangs on values."""
    return any(reading.what == ROWS and not reading.of_sizes for reading in program.readings)


def counts_otherwise(program: Program, other: Program) -> bool:
    """Whether it goes through another number of them in another run."""
    if len(program.readings) != len(other.readings):
        return True
    pairs = zip(program.readings, other.readings)
    return any(a.content != b.content for a, b in pairs if a.what == ROWS and not a.of_sizes)


def is_reading(label: str) -> bool:
    return label.startswith("read ")


def last_before(
    program: Program, found: list[Expression], number: int, numbers_of: Mapping[Value, int]
) -> list[Expression]:
    """Of expressions that no trace told apart, the one of what was read last before a node, as its line most likely did."""

    def position(expression: Expression) -> list[int]:
        values = [program.readings[index].value for index in _indices(expression.label)]
        return sorted((numbers_of.get(value, number) for value in values if value is not None), reverse=True)

    before = [e for e in found if position(e)[0] < number]
    return [max(before, key=position)] if before else []


def computed(program: Program, expression: Expression, near: Node) -> tuple[list[Node], Value]:
    """Nodes that compute the expression from the tensor that was read."""
    made: list[Node] = []

    def add(op: str, *operands: Any) -> Value:
        schema = parse(_SCHEMAS[op])
        value = Value(f"{expression.label}.{len(made)}", schema.returns[0].type)
        made.append(
            Node(schema.full_name, list(operands), [value], schema=schema, scope=near.scope, location=near.location)
        )
        return value

    def read(label: str) -> Value:
        index, part = _split(label)
        reading = program.readings[index]
        reading.followed = True
        result: Any = reading.value
        operators = _parts(reading)[part][1]
        for name, *arguments in (("reshape", [-1]), *operators) if operators else ():
            result = add(name, result, *arguments)
        return add("Int", result)

    first, *factors = expression.label.split(" by ")
    result = read(first.removesuffix(" + 1"))
    if first.endswith(" + 1"):
        result = add("add", result, 1)
    for factor in factors:
        result = add("mul", result, read(factor))
    if expression.factor != 1:
        result = add("mul", result, expression.factor)
    if expression.offset:
        result = add("add", result, expression.offset)
    if expression.divisor != 1:
        result = add("floordiv", result, expression.divisor)
    if expression.multiple != 1:
        result = add("mul", result, expression.multiple)
    return made, result


def _split(label: str) -> tuple[int, str]:
    digits = label.removeprefix("read ")
    index = len(digits) - len(digits.lstrip("0123456789"))
    return int(digits[:index]), digits[index:]


_SCHEMAS = {
    "reshape": "aten::reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a)",
    "select": "aten::select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)",
    "slice": "aten::slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor(a)",
    "max": "aten::max(Tensor self) -> Tensor",
    "min": "aten::min(Tensor self) -> Tensor",
    "sum": "aten::sum(Tensor self, *, ScalarType? dtype=None) -> Tensor",
    "Int": "aten::Int.Tensor(Tensor a) -> int",
    "mul": "aten::mul.int(int a, int b) -> int",
    "add": "aten::add.int(int a, int b) -> int",
    "floordiv": "aten::floordiv.int(int a, int b) -> int",
}
