"""What rewrites ask of a graph, and how they change it."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx_ir as ir

Array = np.ndarray[Any, Any]
Index = Mapping[str, Sequence[ir.Node]]

LAZY = 1 << 20  # weights of more bytes are computed when they are written

# Operators on each element of one tensor alone.
ELEMENTWISE = frozenset(
    {"Abs", "Cast", "Cos", "Elu", "Erf", "Exp", "Gelu", "HardSigmoid", "HardSwish", "LeakyRelu", "Log", "Mish", "Neg", "Relu"}
    | {"Selu", "Sigmoid", "Sin", "Softplus", "Sqrt", "Swish", "Tanh"}
)  # fmt: skip


def by_type(graph: ir.Graph) -> Index:
    """The nodes of the default domain by operator, in order."""
    found: dict[str, list[ir.Node]] = defaultdict(list)
    for node in graph:
        if not node.domain:
            found[node.op_type].append(node)
    return found


def in_order(index: Index, op_types: Iterable[str]) -> list[ir.Node]:
    """The nodes of these operators, one operator after the other."""
    return [node for op_type in op_types for node in index.get(op_type, ()) if node.graph is not None]


# -- questions ----------------------------------------------------------------------------------------


def is_constant(value: ir.Value | None) -> bool:
    """Whether a value is an initializer whose content can't be given from outside."""
    return value is not None and value.const_value is not None and value.is_initializer() and not value.is_graph_input()


def content(value: ir.Value | None) -> Array | None:
    """The content of a constant."""
    if value is None or value.const_value is None or not is_constant(value):
        return None
    return value.const_value.numpy()


def is_alone(value: ir.Value | None) -> bool:
    """Whether a value is a constant that is used once."""
    return value is not None and is_constant(value) and only_use(value) is not None


def made_by(value: ir.Value | None, *op_types: str) -> ir.Node | None:
    """The node that makes a value, if it is one of these operators."""
    node = None if value is None else value.producer()
    return node if node is not None and not node.domain and node.op_type in op_types else None


def only_use(value: ir.Value) -> ir.Node | None:
    """The node that uses a value, if there is one and the value isn't an output."""
    uses = value.uses()
    return next(iter(uses)).node if len(uses) == 1 and not value.is_graph_output() else None


def sizes(value: ir.Value | None) -> tuple[int | str, ...] | None:
    """Sizes, those known only at run time by name; None unless all are known or have one."""
    if value is None or value.shape is None:
        return None
    found = tuple([d if isinstance(d, int) else d.value for d in value.shape])
    return None if None in found else found  # type: ignore[return-value]


def same_count(a: Sequence[int | str], b: Sequence[int | str]) -> bool:
    """Whether sizes have the same product, as far as that can be seen."""
    names = [sorted(d for d in dims if isinstance(d, str)) for dims in (a, b)]
    numbers = [math.prod(d for d in dims if isinstance(d, int)) for dims in (a, b)]
    return names[0] == names[1] and numbers[0] == numbers[1]


def ints(node: ir.Node, name: str, position: int) -> list[int] | None:
    """A list of ints that is an attribute in older opsets and a constant input in newer ones."""
    if name in node.attributes:
        return list(node.attributes.get_ints(name, ()))
    array = content(node.inputs[position]) if len(node.inputs) > position else None
    return None if array is None else [int(v) for v in array.reshape(-1)]


# -- changes ------------------------------------------------------------------------------------------


def names(graph: ir.Graph) -> set[str]:
    """The names of all values of a model but its constants, which a new constant may not have."""
    taken: set[str] | None = graph.meta.get("names")
    if taken is None:
        bodies = {node.graph for node in graph.all_nodes() if isinstance(node.graph, ir.Graph)} | {graph}
        made = [value.name for node in graph.all_nodes() for value in node.outputs]
        taken = {name for name in made + [value.name for body in bodies for value in body.inputs] if name}
        graph.meta["names"] = taken
    return taken


def constant(graph: ir.Graph, stem: str, array: Array) -> ir.Value:
    """A new initializer, or one that is there already under this name with this content."""
    name, count, taken = stem, 0, names(graph)
    while name in taken or name in graph.initializers:
        found = graph.initializers.get(name)
        same = content(found)
        if found is not None and same is not None and same.dtype == array.dtype and np.array_equal(same, array):
            return found
        count += 1
        name = f"{stem}_{count}"
    tensor = ir.Tensor(np.asarray(array, order="C"), name=name)
    value = ir.Value(name=name, type=ir.TensorType(tensor.dtype), shape=ir.Shape(array.shape), const_value=tensor)
    graph.register_initializer(value)
    return value


def store(value: ir.Value, compute: Callable[[], Array]) -> None:
    """Give an initializer another content; a large one is computed when it is written."""
    assert value.type is not None and value.const_value is not None
    dtype, name = value.type.dtype, value.name

    def tensor() -> ir.TensorProtocol:
        return ir.Tensor(np.asarray(compute().astype(dtype.numpy()), order="C"), dtype=dtype, name=name)

    if value.const_value.nbytes > LAZY:
        assert value.shape is not None
        value.const_value = ir.LazyTensor(tensor, dtype, value.shape, name=name)
    else:
        value.const_value = tensor()
        value.shape = ir.Shape(value.const_value.shape.numpy())  # a bias of one element may have become a vector


def bypass(node: ir.Node, source: ir.Value) -> bool:
    """Let users of the node's output take `source`, which has the same sizes, and remove it; False if that can't be."""
    output, graph = node.outputs[0], node.graph
    if graph is None:
        return False
    if output.is_graph_output():
        if source.producer() is None or source.is_graph_output():
            return False
        source.name = output.name
        source.shape = output.shape
    ir.convenience.replace_all_uses_with(output, source, replace_graph_outputs=True)
    sweep(node)
    return True


def replace(
    old: ir.Node, op_type: str, inputs: Sequence[ir.Value | None], attributes: Sequence[ir.Attr] = ()
) -> ir.Node:
    """Put a node in the place of another, with the same output; what only the old one needed goes."""
    name = (old.name or "").replace(old.op_type, op_type)
    new = ir.Node("", op_type, inputs, attributes, num_outputs=1, name=name, doc_string=old.doc_string)
    before, after = old.outputs[0], new.outputs[0]
    after.name, after.type, after.shape = before.name, before.type, before.shape
    assert isinstance(old.graph, ir.Graph)
    old.graph.insert_before(old, new)
    ir.convenience.replace_all_uses_with(before, after, replace_graph_outputs=True)
    sweep(old)
    return new


def put_before(
    node: ir.Node,
    op_type: str,
    inputs: Sequence[ir.Value | None],
    attributes: Sequence[ir.Attr] = (),
    *,
    type: ir.TypeProtocol | None,
    shape: ir.Shape | None,
) -> ir.Value:
    """The result of a new node in front of another."""
    name = f"{node.name}/{op_type}"
    new = ir.Node("", op_type, inputs, attributes, num_outputs=1, name=name, doc_string=node.doc_string)
    result = new.outputs[0]
    result.name, result.type, result.shape = f"{node.outputs[0].name}_{op_type}", type, shape
    assert isinstance(node.graph, ir.Graph)
    node.graph.insert_before(node, new)
    return result


def sweep(node: ir.Node) -> None:
    """Remove a node that nobody uses any more, and those that only it used."""
    if node.graph is None or any(v.uses() or v.is_graph_output() for v in node.outputs):
        return
    sources = [v.producer() for v in node.inputs if v is not None]
    node.graph.remove(node, safe=True)
    for source in sources:
        if source is not None:
            sweep(source)


def drop_unused_initializers(graph: ir.Graph) -> None:
    for name, value in list(graph.initializers.items()):
        if not value.uses() and not value.is_graph_output() and not value.is_graph_input():
            del graph.initializers[name]
