"""What differs between two recordings of a model."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from typing import Any

import torch

from ...program import Node, Program, Value
from ...program.ir import Block
from ..graph import tensor_constants

Path = tuple[int, ...]  # operand, position in a list

# The parentheses in `Float(2, 8, strides=[8, 1], requires_grad=0, device=cpu)`, a type in the text of a graph. The
# pattern begins with a letter of its own, which makes it ten times as fast.
_SIZES = re.compile(r"\((?:\d+, )+strides=[^)]*\)")
_HIDDEN = "value=<Tensor>"  # in place of the elements of a tensor
_INNER = "Subgraph=<Graph>"  # the text has no more of it


def same_text(a: Any, b: Any) -> bool:
    """Whether two `torch._C.Graph`s are the same but for the sizes in their types."""
    x, y = str(a), str(b)
    if x == y or _SIZES.sub("", x) == _SIZES.sub("", y):
        if _HIDDEN in x and not all(map(torch.equal, tensor_constants(a), tensor_constants(b))):
            return False
        return _INNER not in x or all(map(same_text, _inner(a), _inner(b)))
    return False


def _inner(graph: Any) -> list[Any]:
    """What each `torch.autograd.Function.apply` of a graph did."""
    calls = graph.findAllNodes("prim::PythonOp")
    return [call.g("Subgraph") for call in calls if call.hasAttribute("Subgraph")]


# Ops that cut an axis to as many pieces as it has room for.
_CUTS = ("aten::split", "aten::unsafe_split")


def takes_pieces(a: Any, b: Any) -> bool:
    """Whether an axis is cut whose size isn't the same in two graphs of the same text: how many pieces may hang on it."""
    for kind in _CUTS:
        for x, y in zip(a.findAllNodes(kind), b.findAllNodes(kind)):
            axis = x.inputsAt(2).toIValue()
            sizes, others = x.inputsAt(0).type().sizes(), y.inputsAt(0).type().sizes()
            if axis is None or sizes is None or others is None or sizes[axis] != others[axis]:
                return True
    return False


@dataclasses.dataclass(frozen=True, slots=True)
class Site:
    """A node, the block that it is in, and its number in the program."""

    number: int
    block: Block
    node: Node


@dataclasses.dataclass(frozen=True, slots=True)
class Difference:
    """An operand, or a node as a whole, that is another one in the other program."""

    site: Site
    what: str
    path: Path = ()
    mine: Any = None
    theirs: Any = None
    is_loop: bool = False  # so many elements are taken from a list


def compare(a: Program, b: Program) -> tuple[dict[Any, Difference], Difference | None, int]:
    """Operands that differ, the first node from which on the programs are different ones, and its number."""
    comparison = _Comparison(given(a, b))
    broken = None
    for site, other in zip(sites(a), sites(b)):
        broken = comparison.node(site, other.node)
        if broken is not None:
            break
    unpacked = comparison.unpacked
    if unpacked is not None and (
        broken or any(d.site.number > unpacked.site.number for d in comparison.found.values())
    ):
        broken = unpacked
    return comparison.found, broken, 1 << 62 if broken is None else broken.site.number


def given(a: Program, b: Program) -> dict[Value, Value]:
    """What inputs and weights of `b` are in `a`: those of the same place and name."""
    found = {y.value: x.value for x, y in zip(a.inputs, b.inputs)}
    named = {weight.name: value for value, weight in a.weights.items()}
    found.update({value: named[weight.name] for value, weight in b.weights.items() if weight.name in named})
    return found


def sites(program: Program) -> Iterator[Site]:
    """All nodes in order, and at the end of each block one that stands for what it returns."""
    number = 0

    def walk(block: Block) -> Iterator[Site]:
        nonlocal number
        for node in block.nodes:
            number += 1
            yield Site(number, block, node)
            for inner in node.blocks:
                yield from walk(inner)
        number += 1
        yield Site(number, block, Node("prim::Return", block.returns, []))

    yield from walk(program.block)


class _Comparison:
    def __init__(self, back: dict[Value, Value]) -> None:
        self.found: dict[Any, Difference] = {}
        self.back = back
        self.pairs = {x: y for y, x in back.items()}
        # Where lists are of other lengths. If nothing behind is different, the same elements are used.
        self.unpacked: Difference | None = None

    def node(self, site: Site, other: Node) -> Difference | None:
        node = site.node
        if node.op != other.op:
            if node.op == "prim::Return":
                return Difference(site, f"the run ends here, but goes on with {other.op}")
            if other.op == "prim::Return":
                return Difference(site, f"{node.op} runs, but not")
            return Difference(site, f"{node.op} is {other.op}")
        if len(node.outputs) != len(other.outputs):
            count, others = len(node.outputs), len(other.outputs)
            found = Difference(site, f"the program takes {count} elements of a list, {others}", is_loop=True)
            if node.op != "prim::ListUnpack":
                return found
            self.unpacked = self.unpacked or found
        if len(node.inputs) != len(other.inputs) and self._repeats(node, other):
            mine, theirs = len(node.inputs), len(other.inputs)
            self.found[(site.number, ())] = Difference(
                site, f"a list holds a value {mine} times, {theirs} times", (), mine, theirs, is_loop=True
            )
        elif len(node.inputs) != len(other.inputs):
            return Difference(site, f"{node.op} takes {len(node.inputs)} operands, {len(other.inputs)}", is_loop=True)
        if node.op != "prim::PythonOp" and node.attributes != other.attributes:
            return Difference(site, f"{node.op} has other attributes")
        for position, (x, y) in enumerate(zip(node.inputs, other.inputs)):
            self.operand(site, (position,), x, y)
        for x, y in zip(node.outputs, other.outputs):
            self._pair(x, y)
        return None

    def _repeats(self, node: Node, other: Node) -> bool:
        """Whether both make lists of one value, as `[x] * n` does, or of one int."""
        if node.op != "prim::ListConstruct" or not (node.inputs and other.inputs):
            return False
        if type(node.inputs[0]) is int:
            return all(type(x) is int and x == node.inputs[0] for x in (*node.inputs, *other.inputs))
        values = [set(n.inputs) if all(i.__class__ is Value for i in n.inputs) else set() for n in (node, other)]
        return all(len(v) == 1 for v in values)

    def operand(self, site: Site, path: Path, x: Any, y: Any) -> None:
        if x.__class__ is Value and y.__class__ is Value:
            if not self._pair(x, y):
                self._note(site, path, x, y, f"{site.node.op} takes another value")
        elif isinstance(x, list) and isinstance(y, list) and len(x) == len(y):
            for i, (p, q) in enumerate(zip(x, y)):
                self.operand(site, (*path, i), p, q)
        elif x.__class__ is Value or y.__class__ is Value or not same_constants(x, y):
            self._note(site, path, x, y, f"{_shown(x)} in {site.node.op} is {_shown(y)}")

    def _pair(self, x: Value, y: Value) -> bool:
        return self.pairs.setdefault(x, y) is y and self.back.setdefault(y, x) is x

    def _note(self, site: Site, path: Path, x: Any, y: Any, what: str) -> None:
        self.found[(site.number, path)] = Difference(site, what, path, x, y)


def same_constants(a: Any, b: Any) -> bool:
    """Whether two constant operands are the same."""
    if a is b:
        return True
    if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
        return a.dtype == b.dtype and a.shape == b.shape and bool(torch.equal(a, b))
    if isinstance(a, float) and isinstance(b, float) and a != a and b != b:
        return True
    return type(a) is type(b) and not isinstance(a, torch.Tensor) and bool(a == b)


def _shown(value: Any) -> str:
    if value.__class__ is Value:
        return "a computed value"
    if isinstance(value, torch.Tensor):
        return f"a constant of shape {list(value.shape)}" if value.dim() else f"the constant {value.item()}"
    return f"the constant {value!r}"
