"""Calls of modules become calls of local functions.

    %1 = Gemm(%x, %a.weight, %a.bias)                 %1 = Linear[in_features=3](%x, %a.weight, %a.bias)
    %2 = Gemm(%1, %b.weight, %b.bias)        ->       %2 = Linear[in_features=4](%1, %b.weight, %b.bias)

    Linear[in_features](%0, %1, %2) { %3 = Gemm(%0, %1, %2); return %3 }

1. A call's body is its nodes, calls inside it included; inner calls are replaced first.
2. Inputs of the function are what the body takes from outside, weights last; constants are copied into it, as nodes.
3. Calls of one class share a function if their bodies differ at most in the values of attributes. Those that differ become
   attributes of the call, `inferred::` and the name. Other bodies are variants: `Linear`, `Linear.1`, ...
4. Attributes that the class annotates are attributes of the call, too; the body doesn't use them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import onnx_ir as ir

from .graph import drop_unused_initializers

CallId = tuple[str, int]
_PREFIX = "inferred::"
# Kinds of attributes whose values may differ between calls of one function.
_VALUES = frozenset(
    getattr(ir.AttributeType, name) for name in ("INT", "FLOAT", "STRING", "TENSOR", "INTS", "FLOATS", "STRINGS")
)


@dataclass(frozen=True, slots=True)
class Kind:
    """What a module is: the function's domain and name, and its annotated attributes with their values."""

    domain: str
    name: str
    attributes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class _Call:
    """A call of a module: nodes and calls in order, and what the body takes and gives."""

    kind: Kind
    items: list[Any] = field(default_factory=list)
    inputs: list[ir.Value] = field(default_factory=list)
    outputs: list[ir.Value] = field(default_factory=list)

    @property
    def height(self) -> int:
        return 1 + max((item.height for item in self.items if isinstance(item, _Call)), default=0)


def extract_functions(
    model: ir.Model,
    calls: Callable[[ir.Node], Sequence[CallId] | None],
    kinds: Mapping[str, Kind],
    constants: Collection[str],
) -> None:
    """Replace calls of modules by calls of functions, in place.

    Args:
        calls: the module calls around a node from the outermost on; None where that isn't known.
        kinds: what the modules to be extracted are, by path; "" is the model itself.
        constants: names of the initializers that may be copied into functions.
    """
    graph = model.graph
    root = _Call(Kind("", ""))
    everything = _tree(list(graph), calls, kinds, root)
    places = {node: top for top in graph for node in _with_bodies(top)}
    by_height: dict[int, list[tuple[_Call, _Call]]] = {}
    for parent, call in everything:
        by_height.setdefault(call.height, []).append((parent, call))
    for height in sorted(by_height):
        groups: dict[tuple[str, str], list[_Call]] = {}
        for _, call in by_height[height]:
            _interface(call, graph, places, constants)
            groups.setdefault((call.kind.domain, call.kind.name), []).append(call)
        planned = [plan for members in groups.values() for plan in _functions(model, members)]
        moved: dict[ir.Value, ir.Value] = {}
        made = {call: _call_node(call, function, names, moved) for call, function, names in planned}
        places.update((node, node) for node in made.values())
        for parent, call in by_height[height]:
            _detach(call.items)
            parent.items[parent.items.index(call)] = made[call]
    _rebuild(graph, root.items)
    for function in model.functions.values():
        graph.opset_imports.setdefault(function.domain, 1)


def _tree(
    nodes: Sequence[ir.Node],
    calls: Callable[[ir.Node], Sequence[CallId] | None],
    kinds: Mapping[str, Kind],
    root: _Call,
) -> list[tuple[_Call, _Call]]:
    """Sort nodes into calls; (parent, call) for each call. A node of unknown origin stays with its neighbour."""
    found: list[tuple[_Call, _Call]] = []
    open_calls: dict[CallId, _Call] = {}
    if "" in kinds:
        top = _Call(kinds[""])
        root.items.append(top)
        found.append((root, top))
    else:
        top = root
    for node in nodes:
        place = top
        for call_id in calls(node) or ():
            if call_id[0] not in kinds:
                continue
            if call_id not in open_calls:
                open_calls[call_id] = _Call(kinds[call_id[0]])
                place.items.append(open_calls[call_id])
                found.append((place, open_calls[call_id]))
            place = open_calls[call_id]
        place.items.append(node)
    return found


# -- what a call takes and gives ------------------------------------------------------------------


def _interface(call: _Call, graph: ir.Graph, places: Mapping[ir.Node, ir.Node], constants: Collection[str]) -> None:
    """What a call takes and gives. `places` has the nodes of the graph and those of their bodies, with the former.

    Nodes of bodies that were dropped use values, too, and have no place.
    """
    nodes: list[ir.Node] = call.items
    made = {value for node in nodes for value in node.outputs}
    taken: dict[ir.Value, None] = {}
    for node in nodes:
        taken.update(dict.fromkeys(v for v in _used(node) if v not in made))
    copies: dict[ir.Value, ir.Value] = {}
    for value in taken:
        if value.is_initializer() and value.name in constants and not value.is_graph_input():
            assert value.const_value is not None
            constant = ir.Node("", "Constant", [], [ir.AttrTensor("value", value.const_value)])
            constant.outputs[0].name = value.name
            copies[value] = constant.outputs[0]
    _substitute(nodes, copies)
    call.items = nodes = [*(v.producer() for v in copies.values()), *nodes]  # type: ignore[list-item]
    rest = [v for v in taken if v not in copies]
    call.inputs = [v for v in rest if not v.is_initializer()] + [v for v in rest if v.is_initializer()]
    outer, inside = set(graph.outputs), {None, *nodes}
    call.outputs = [
        value
        for node in nodes
        for value in node.outputs
        if value in outer or any(places.get(use.node) not in inside for use in value.uses())
    ]


def _substitute(nodes: Sequence[ir.Node], new: Mapping[ir.Value, ir.Value]) -> None:
    """Let nodes, and those of their bodies, take other values."""
    for node in nodes:
        for i, value in enumerate(node.inputs):
            if value is not None and value in new:
                node.replace_input_with(i, new[value])
        for attribute in node.attributes.values():
            if attribute.type == ir.AttributeType.GRAPH and not attribute.is_ref():
                _substitute(list(attribute.as_graph()), new)


def _with_bodies(node: ir.Node) -> Iterator[ir.Node]:
    """A node and those of its bodies."""
    yield node
    for attribute in node.attributes.values():
        if attribute.type == ir.AttributeType.GRAPH and not attribute.is_ref():
            for inner in attribute.as_graph():
                yield from _with_bodies(inner)


def _used(node: ir.Node) -> list[ir.Value]:
    """The values that a node takes, those of its bodies from outside of them included."""
    found = [v for v in node.inputs if v is not None]
    for attribute in node.attributes.values():
        if attribute.type == ir.AttributeType.GRAPH and not attribute.is_ref():
            body = attribute.as_graph()
            own = {*body.inputs, *(v for n in body for v in n.outputs)}
            inner = [v for n in body for v in _used(n)] + list(body.outputs)
            found += [v for v in inner if v not in own]
    return found


# -- functions ------------------------------------------------------------------------------------


_Place = tuple[int, str]  # index of a node in the body, name of its attribute
_Plan = tuple[_Call, ir.Function, dict[_Place, str]]


def _functions(model: ir.Model, members: list[_Call]) -> list[_Plan]:
    """Functions for the calls of one class: which each calls, and which attributes of the body it gives."""
    variants: dict[Hashable, list[_Call]] = {}
    for call in members:
        variants.setdefault(_structure(call), []).append(call)
    planned: list[_Plan] = []
    for same in variants.values():
        kind = same[0].kind
        names = _differing(same)
        body = _body(same[0], names)
        name = _free_name(model, kind)
        attributes = [*(n for n in kind.attributes), *dict.fromkeys(names.values())]
        function = ir.Function(
            kind.domain,
            name,
            graph=body,
            attributes=[ir.Attr(n, _type_of(same[0], n, names), None) for n in attributes],
        )
        body.opset_imports.update(model.graph.opset_imports)
        model.functions[function.identifier()] = function
        for node in body:
            if node.op_identifier() in model.functions:
                body.opset_imports.setdefault(node.domain, 1)
        planned += [(call, function, names) for call in same]
    return planned


def _structure(call: _Call) -> Hashable:
    """Equal for bodies that differ at most in the values of attributes."""
    numbers: dict[ir.Value, Hashable] = {v: ("input", i) for i, v in enumerate(call.inputs)}
    nodes = tuple(_node_structure(node, numbers) for node in call.items)
    outputs = tuple(numbers[v] for v in call.outputs)
    return nodes, outputs, tuple(sorted(call.kind.attributes))


def _node_structure(node: ir.Node, numbers: dict[ir.Value, Hashable]) -> Hashable:
    inputs = tuple(None if v is None else numbers[v] for v in node.inputs)
    attributes: list[Hashable] = []
    for name, attribute in sorted(node.attributes.items()):
        if attribute.type == ir.AttributeType.GRAPH:
            body = attribute.as_graph()
            for i, value in enumerate(body.inputs):
                numbers[value] = ("parameter", len(numbers), i)
            inner = tuple(_node_structure(n, numbers) for n in body)
            attributes.append((name, inner, tuple(numbers[v] for v in body.outputs)))
        else:
            attributes.append((name, attribute.type.name, _form(attribute)))
    for i, value in enumerate(node.outputs):
        numbers[value] = ("value", len(numbers), i)
    return node.domain, node.op_type, inputs, tuple(attributes), len(node.outputs)


def _form(attribute: ir.Attr) -> Hashable:
    """What of an attribute may not differ: of a tensor type and sizes, nothing of other values."""
    if attribute.type == ir.AttributeType.TENSOR:
        return str(attribute.value.dtype), tuple(attribute.value.shape)
    return None if attribute.type in _VALUES else str(attribute.value)


def _differing(same: list[_Call]) -> dict[_Place, str]:
    """Attributes of the body whose values differ between calls, and the names that they get as attributes of the call.

    Those whose values always agree with each other share a name.
    """
    names: dict[_Place, str] = {}
    taken: dict[tuple[str, Hashable], str] = {}
    for i, node in enumerate(same[0].items):
        for name, attribute in node.attributes.items():
            if attribute.type not in _VALUES:
                continue
            values = tuple(_value(call.items[i].attributes[name]) for call in same)
            if len(set(values)) > 1:
                base = _PREFIX + name.removeprefix(_PREFIX)
                key = (base, values)
                if key not in taken:
                    count = sum(b == base for b, _ in taken)
                    taken[key] = f"{base}.{count}" if count else base
                names[i, name] = taken[key]
    return names


def _value(attribute: ir.Attr) -> Hashable:
    value = attribute.value
    if attribute.type == ir.AttributeType.TENSOR:
        return str(value.dtype), tuple(value.shape), value.tobytes()
    return tuple(value) if isinstance(value, (list, tuple)) else (value, str(value))


def _type_of(call: _Call, name: str, names: Mapping[_Place, str]) -> ir.AttributeType:
    if name in call.kind.attributes:
        return ir.convenience.convert_attribute(name, call.kind.attributes[name]).type
    i, inner = next(place for place, given in names.items() if given == name)
    found: ir.AttributeType = call.items[i].attributes[inner].type
    return found


def _body(call: _Call, names: Mapping[_Place, str]) -> ir.Graph:
    """The body on values of its own."""
    values: dict[ir.Value, ir.Value] = {}
    for value in call.inputs:
        values[value] = ir.Value(name=value.name)
    nodes = []
    for i, node in enumerate(call.items):
        refs = {name: given for (at, name), given in names.items() if at == i}
        nodes.append(_clone(node, values, refs))
    return ir.Graph(
        [values[v] for v in call.inputs], [values[v] for v in call.outputs], nodes=nodes, opset_imports={}, name="body"
    )


def _clone(node: ir.Node, values: dict[ir.Value, ir.Value], refs: Mapping[str, str]) -> ir.Node:
    attributes = []
    for name, attribute in node.attributes.items():
        if name in refs:
            attributes.append(ir.RefAttr(name, refs[name], attribute.type))
        elif attribute.type == ir.AttributeType.GRAPH:
            attributes.append(ir.AttrGraph(name, _clone_graph(attribute.as_graph(), values)))
        else:
            attributes.append(attribute)
    inputs = [None if v is None else values[v] for v in node.inputs]
    clone = ir.Node(
        node.domain, node.op_type, inputs, attributes, num_outputs=len(node.outputs), name=node.name,
        doc_string=node.doc_string,
    )  # fmt: skip
    for old, new in zip(node.outputs, clone.outputs):
        new.name = old.name
        values[old] = new
    return clone


def _clone_graph(graph: ir.Graph, values: dict[ir.Value, ir.Value]) -> ir.Graph:
    for value in graph.inputs:
        values[value] = ir.Value(name=value.name, type=value.type, shape=value.shape)
    nodes = [_clone(node, values, {}) for node in graph]
    outputs = []
    for value in graph.outputs:
        new = values[value]
        new.type, new.shape = value.type, value.shape
        outputs.append(new)
    return ir.Graph([values[v] for v in graph.inputs], outputs, nodes=nodes, name=graph.name)


def _free_name(model: ir.Model, kind: Kind) -> str:
    count = sum(f.domain == kind.domain and f.name.partition(".")[0] == kind.name for f in model.functions.values())
    return f"{kind.name}.{count}" if count else kind.name


def _call_node(
    call: _Call, function: ir.Function, names: Mapping[_Place, str], moved: dict[ir.Value, ir.Value]
) -> ir.Node:
    """The node that calls the function; `moved` remembers what stands for the outputs of the body now."""
    attributes = [ir.convenience.convert_attribute(n, v) for n, v in call.kind.attributes.items()]
    for (i, inner), name in names.items():
        if not any(a.name == name for a in attributes):
            found = call.items[i].attributes[inner]
            attributes.append(ir.Attr(name, found.type, found.value))
    node = ir.Node(
        function.domain,
        function.name,
        [moved.get(v, v) for v in call.inputs],
        attributes,
        num_outputs=len(call.outputs),
    )
    for old, new in zip(call.outputs, node.outputs):
        new.name, new.type, new.shape = old.name, old.type, old.shape
        ir.convenience.replace_all_uses_with(old, new, replace_graph_outputs=True)
        old.name = None
        moved[old] = new
    return node


# -- the main graph -------------------------------------------------------------------------------


def _rebuild(graph: ir.Graph, items: Sequence[ir.Node]) -> None:
    """The main graph with these nodes instead of its own; initializers that nobody uses any more go."""
    old = list(graph)
    graph.remove(old)
    graph.extend(items)
    for i, node in enumerate(graph):
        if node.name is None:
            node.name = f"/{node.op_type}_{i}"
    drop_unused_initializers(graph)


def _detach(nodes: Sequence[ir.Node]) -> None:
    """Nodes that are no longer needed use nothing any more."""
    for node in nodes:
        for i in range(len(node.inputs)):
            node.replace_input_with(i, None)
        for attribute in node.attributes.values():
            if attribute.type == ir.AttributeType.GRAPH and not attribute.is_ref():
                _detach(list(attribute.as_graph()))
