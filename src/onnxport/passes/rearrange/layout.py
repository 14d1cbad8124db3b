"""Layout operators in a graph: what they do, who uses what they make, and how others are put in their place."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx_ir as ir

from ...dims import Dim, Size, parse
from ..graph import constant, content, only_use, sweep
from .arrangement import Arrangement, Move, Reshape, Transpose

_RESIZES = frozenset({"Reshape", "Squeeze", "Unsqueeze", "Flatten"})
LAYOUT = _RESIZES | {"Transpose"}
_WITH_BODIES = frozenset({"If", "Loop", "Scan", "SequenceMap"})


class Model:
    """What the graphs of a model share: constants, names, and the meaning of the texts of sizes."""

    def __init__(self, model: ir.Model) -> None:
        self.graph = model.graph
        self.opset = model.graph.opset_imports.get("", 0)
        self.weights_are_inputs = model.ir_version < 4
        self._sizes: dict[str, Size] = {}
        self._constants: dict[tuple[int, ...], ir.Value] | None = None
        self._names: set[str] | None = None

    def size(self, text: str | None) -> Size | None:
        if text is None:
            return None
        if text not in self._sizes:
            try:
                self._sizes[text] = parse(text)
            except ValueError:  # a label with other characters: a size like any other
                self._sizes[text] = Dim.symbol(text)
        return self._sizes[text]

    def name(self, stem: str) -> str:
        """A name for a node that neither a node nor, with a suffix, a value has."""
        if self._names is None:
            made = [name for n in self.graph.all_nodes() for name in (n.name, *(v.name for v in n.outputs)) if name]
            self._names = {*made, *(v.name for v in self.graph.inputs if v.name), *self.graph.initializers}
        name, count = stem, 0
        while name in self._names or f"{name}_output_0" in self._names:
            count += 1
            name = f"{stem}_{count}"
        self._names.add(name)
        return name

    def constant(self, numbers: tuple[int, ...]) -> ir.Value:
        """An initializer with these integers; one that is there already is used again."""
        initializers = self.graph.initializers
        if self._constants is None:
            self._constants = {}
            for value in initializers.values():
                if value.dtype == ir.DataType.INT64 and value.shape is not None and len(value.shape) == 1:
                    array = content(value)
                    if array is not None and array.size <= 8:
                        self._constants.setdefault(tuple(array.tolist()), value)
        if numbers not in self._constants:
            value = constant(self.graph, f"constant_{len(initializers)}", np.array(numbers, np.int64))
            if self.weights_are_inputs:
                self.graph.inputs.append(value)
            self._constants[numbers] = value
        return self._constants[numbers]


class Graph:
    """A graph, the outermost or one in a body, with what the rewrites ask of it, and do to it."""

    def __init__(self, graph: ir.Graph, model: Model) -> None:
        self.graph = graph
        self.model = model

    # -- questions ------------------------------------------------------------------------------------

    def sizes(self, value: ir.Value | None) -> tuple[Size, ...] | None:
        """The sizes of a value, if all of them are known and none is 0."""
        if value is None or value.shape is None:
            return None
        found = tuple([d if isinstance(d, int) else self.model.size(d.value) for d in value.shape])
        return None if any([d is None or d == 0 for d in found]) else found  # type: ignore[return-value]

    def move(self, node: ir.Node | None) -> Move | None:
        """What a layout operator does, None for others."""
        if node is None or node.domain != "" or node.graph is not self.graph:
            return None
        if node.op_type == "Transpose":
            rank = None if node.inputs[0] is None or node.inputs[0].shape is None else len(node.inputs[0].shape)
            perm = node.attributes.get_ints("perm", None if rank is None else list(range(rank))[::-1])
            return None if perm is None else Transpose(tuple(perm))
        if node.op_type in _RESIZES:
            target = self.sizes(node.outputs[0])
            return None if target is None or self.sizes(node.inputs[0]) is None else Reshape(target)
        return None

    def only_user(self, value: ir.Value) -> ir.Node | None:
        """The node of this graph that alone uses a value, once."""
        user = only_use(value)
        return user if user is not None and user.graph is self.graph else None

    def upwards(self, node: ir.Node) -> list[ir.Node]:
        """The layout operators that lead to this one, with it, in order; nobody else uses what is between them."""
        chain = [node]
        while True:
            value = chain[0].inputs[0]
            maker = None if value is None else value.producer()
            if value is None or maker is None or self.move(maker) is None or self.only_user(value) is None:
                return chain
            chain.insert(0, maker)

    def downwards(self, node: ir.Node) -> list[ir.Node]:
        """The layout operators that follow this one, with it, in order; nobody else uses what is between them."""
        chain = [node]
        while True:
            user = self.only_user(chain[-1].outputs[0])
            if user is None or self.move(user) is None or user.inputs[0] is not chain[-1].outputs[0]:
                return chain
            chain.append(user)

    def plan(self, source: Sequence[Size], moves: Sequence[Move]) -> list[Move] | None:
        """The fewest operators that do what the moves do; None if that isn't known, or can't be written down."""
        arrangement = Arrangement(source)
        if not all(arrangement.move(move) for move in moves):
            return None
        return self.written(arrangement)

    def written(self, arrangement: Arrangement) -> list[Move] | None:
        """The shortest way to an arrangement of which each step can be written down."""
        return next((plan for plan in arrangement.plans() if self._writable(arrangement.source, plan)), None)

    def _writable(self, source: Sequence[Size], plan: Sequence[Move]) -> bool:
        for move in plan:
            if isinstance(move, Transpose):
                source = [source[i] for i in move.perm]
            else:
                if _written(source, move.sizes) is None:
                    return False
                source = move.sizes
        return True

    # -- changes --------------------------------------------------------------------------------------

    def replace(self, chain: Sequence[ir.Node], plan: Sequence[Move], source: ir.Value) -> None:
        """Make the result of a chain from another value, by the operators of a plan; what nobody needs any more goes."""
        last = chain[-1]
        value, made = source, list[ir.Node]()
        sizes = self.sizes(source)
        assert sizes is not None
        for move in plan:
            node, sizes = self._node(value, sizes, move, last)
            made.append(node)
            value = node.outputs[0]
        result = last.outputs[0]
        if made:
            value.shape, value.type = result.shape, result.type
        for node in made:
            self.graph.insert_before(last, node)
        put_in_place(result, value)
        sweep(last)

    def _node(
        self, value: ir.Value, sizes: Sequence[Size], move: Move, near: ir.Node
    ) -> tuple[ir.Node, tuple[Size, ...]]:
        if isinstance(move, Transpose):
            attribute = ir.AttrInt64s("perm", list(move.perm))
            node = self.node("Transpose", [value], [attribute], near)
            after = tuple(sizes[i] for i in move.perm)
        else:
            written = _written(sizes, move.sizes)
            assert written is not None
            node = self.node("Reshape", [value, self.model.constant(written)], [], near)
            after = move.sizes
        node.outputs[0].type = value.type
        node.outputs[0].shape = shape_of(after)
        return node, after

    def node(
        self, op_type: str, inputs: Sequence[ir.Value], attributes: Sequence[ir.Attr], near: ir.Node, outputs: int = 1
    ) -> ir.Node:
        """A new node, not yet in the graph, with a name by where another node is."""
        name = self.model.name(f"{(near.name or '').rpartition('/')[0]}/{op_type}")
        node = ir.Node("", op_type, inputs, attributes, num_outputs=outputs, name=name)
        for i, value in enumerate(node.outputs):
            value.name = f"{name}_output_{i}"
        return node


def graphs(graph: ir.Graph) -> list[ir.Graph]:
    """A graph, and those of the bodies in it."""
    found = [graph]
    for node in [n for n in graph if n.op_type in _WITH_BODIES]:
        for attribute in node.attributes.values():
            if isinstance(attribute, ir.Attr) and attribute.type == ir.AttributeType.GRAPH:
                found += graphs(attribute.as_graph())
    return found


def put_in_place(old: ir.Value, new: ir.Value) -> None:
    """Everybody uses the new value instead of the old one; as an output of the graph it has the old one's name."""
    if old.is_graph_output():
        new.name = old.name
    ir.convenience.replace_all_uses_with(old, new, replace_graph_outputs=True)


def shape_of(sizes: Sequence[Size]) -> ir.Shape:
    return ir.Shape([d if isinstance(d, int) else str(d) for d in sizes])


def _written(before: Sequence[Size], after: Sequence[Size]) -> tuple[int, ...] | None:
    """The second input of a Reshape: 0 for a size that is copied, -1 for one that is left to the runtime."""
    found = [0 if not isinstance(d, int) and i < len(before) and before[i] == d else d for i, d in enumerate(after)]
    left = [i for i, d in enumerate(found) if not isinstance(d, int)]
    if len(left) > 1:
        return None
    for i in left:
        found[i] = -1
    return tuple(d for d in found if isinstance(d, int))
