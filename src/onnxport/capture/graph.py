"""Reads a `torch._C.Graph` into a `Program`, touching each of its objects once.

Reading takes as long as lowering does: an object of `torch._C` costs 1 to 3 µs. Everything that is not needed for the
result (tensor types, source lines) is therefore read when it is first asked for.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from typing import Any

import torch

from ..program import Block, Location, Node, Operand, Schema, TensorType, Value
from ..program.schema import parse
from . import bools

# Frames in these folders are not the user's.
INNER = (os.path.dirname(torch.__file__) + os.sep, os.path.dirname(os.path.dirname(__file__)) + os.sep)
# Layers of torch check what they are made with (`nn.Unflatten(1, (h, w))`), and called with.
LAYERS = os.path.join(os.path.dirname(torch.__file__), "nn", "modules") + os.sep
_FRAME = re.compile(
    r"^(?:File \"(?P<file3>.+?)\", line (?P<line3>\d+)"
    r"|(?P<file>.+?)(?:\((?P<line>\d+)\)|:(?P<line2>\d+):\d+)(?:: (?P<function>.*))?)$"
)


# What takes numbers out of the sizes of tensors.
TAKES_SIZES = ("aten::size", "aten::numel")

# The ops of this namespace whose overloads differ in what they do.
_OVERLOADED = frozenset({"prim::abs", "prim::max", "prim::min"})


class GraphReader:
    """Turns blocks of `torch._C` nodes into blocks of a `Program`.

    `scope_of` says which module a node comes from, by the name of its first result. `leaf` may take over a node (module
    attributes, calls): it returns True if it did, or the node that stands for it. `source_of` says where nodes come from that
    don't know it, by the same name.
    """

    def __init__(
        self,
        scope_of: Callable[[str], str] | None = None,
        leaf: Callable[[Any, GraphReader], Node | bool] | None = None,
        source_of: Callable[[str], str] = lambda name: "",
    ) -> None:
        self.operands: dict[Any, Operand] = {}  # torch._C.Value -> what stands for it
        self.scope_of = scope_of
        self.leaf, self.source_of = leaf, source_of
        self._scopes: dict[str, str] = {}
        self._schemas: dict[tuple[Any, ...], Schema | None] = {}

    def block(self, source: Any) -> Block:
        """A `torch._C.Graph` or `torch._C.Block` with its parameters, nodes and returns."""
        block = Block(parameters=[self.define(v) for v in source.inputs()])
        self.nodes(source, block.nodes)
        block.returns = [self.operands[v] for v in source.outputs()]
        return block

    def nodes(self, source: Any, into: list[Node]) -> None:
        for node in source.nodes():
            kind = node.kind()
            if kind == "prim::Constant":
                output = node.output()
                self.operands[output] = _constant(node, output)
                continue
            if kind == "prim::ConstantMKLDNNTensor":  # in a layout of its own
                self.operands[node.output()] = node.t("value").to_dense()
                continue
            taken = False if self.leaf is None else self.leaf(node, self)
            if taken is False:
                into.append(self.node(kind, node))
            elif isinstance(taken, Node):
                into.append(taken)

    def define(self, value: Any, type: str | None = None) -> Value:
        """A new `Value` for a `torch._C.Value`."""
        result = Value(
            value.debugName(),
            value.type().annotation_str if type is None else type,
            lambda: tensor_type(value.type()),
        )
        self.operands[value] = result
        return result

    def node(self, kind: str, node: Any) -> Node:
        operands = self.operands
        inputs = [operands[v] for v in inputs_of(node)]
        if kind.startswith("prim::MKLDNN"):  # bounds are attributes there
            inputs += [node.f(name) for name in node.attributeNames()]
        schema = self.schema(kind, node, inputs)
        if schema is not None and len(schema.returns) == 1 and schema.returns[0].type == "Tensor":
            outputs = [self.define(node.output(), "Tensor")]
        else:
            outputs = [self.define(v) for v in outputs_of(node)]
        scope = self.scope(node, outputs)
        result = Node(
            schema.full_name if schema is not None else kind,
            inputs,
            outputs,
            schema=schema,
            scope=scope,
            location=lambda: location(scope, self._source(node, outputs)),
        )
        if kind == "prim::PythonOp":
            self._python_op(node, result)
        elif kind[:6] == "prim::":
            result.blocks = tuple(self.block(b) for b in node.blocks())
            result.attributes = {name: _attribute(node, name) for name in node.attributeNames()}
        return result

    def scope(self, node: Any, outputs: list[Value]) -> str:
        """The path of the module that a node comes from: of a script, as the calls that were inlined say."""
        if self.scope_of is not None:
            return self.scope_of(outputs[0].name if outputs else "")
        name = node.getModuleHierarchy()
        scope = self._scopes.get(name)
        if scope is None:
            scope = self._scopes[name] = _path(name)
        return scope

    def location(self, node: Any, outputs: list[Value]) -> Callable[[], Location]:
        scope = self.scope(node, outputs)
        return lambda: location(scope, self._source(node, outputs))

    def _source(self, node: Any, outputs: list[Value]) -> str:
        return (self.source_of(outputs[0].name) if outputs else "") or str(node.sourceRange())

    def schema(self, kind: str, node: Any, inputs: list[Operand]) -> Schema | None:
        """The schema of a node; the text is asked for once for each kind and types of its inputs."""
        key = (kind, *(x.type if x.__class__ is Value else x.__class__ for x in inputs))
        if key in self._schemas:
            return self._schemas[key]
        text = node.schema()
        known = text and text != "(no schema)" and (not kind.startswith("prim::") or kind in _OVERLOADED)
        schema = parse(text) if known else None
        self._schemas[key] = schema
        return schema

    def _python_op(self, node: Any, result: Node) -> None:
        """`torch.autograd.Function.apply`: the class, its Python arguments, and what its forward did."""
        result.attributes = {
            "name": node.pyname(),
            "function": node.pyobj(),
            "arguments": list(node.scalar_args()),
            "convention": node.cconv(),
        }
        if "Subgraph" in node.attributeNames():
            self._forward(node, result)

    def _forward(self, node: Any, result: Node) -> None:
        """What a forward did; none where the tracer has lost some of its outputs. What isn't a tensor is None."""
        given = node.outputsAt(0).type()
        result.attributes["is_tuple"] = given.kind() == "TupleType"
        types = given.elements() if given.kind() == "TupleType" else [x.type() for x in outputs_of(node)]
        block = self.block(node.g("Subgraph"))
        if len(block.returns) == sum(t.dtype() is not None for t in types):
            returned = iter(block.returns)
            block.returns = [None if t.dtype() is None else next(returned) for t in types]
            result.blocks = (block,)


def _path(hierarchy: str) -> str:
    """ "0(Block).lin(Linear)" as "0.lin"; calls of functions have no name."""
    return re.sub(r"\([^)]*\)|(^|\.)UNKNOWN_INSTANCE", "", hierarchy).strip(".")


def inputs_of(node: Any) -> list[Any]:
    """The inputs of a `torch._C.Node`; its iterators take five times as long."""
    return [node.inputsAt(i) for i in range(node.inputsSize())]


def outputs_of(node: Any) -> list[Any]:
    """The outputs of a `torch._C.Node`."""
    return [node.outputsAt(i) for i in range(node.outputsSize())]


def tensor_constants(graph: Any) -> Iterator[torch.Tensor]:
    """The tensors that a graph has as constants."""
    for node in graph.findAllNodes("prim::Constant"):
        if node.hasAttribute("value") and node.kindOf("value") == "t":
            yield node.t("value")


def _without_calls(graph: Any) -> Any:
    """A copy that has in place of each `torch.autograd.Function.apply` what its forward did: called again, it may do something
    else at other sizes."""
    graph = graph.copy()
    for node in [node for node in graph.nodes() if node.kind() == "prim::PythonOp"]:
        done = node.g("Subgraph") if node.hasAttribute("Subgraph") else None
        inputs, outputs = list(node.inputs()), list(node.outputs())
        if done is None or len(list(done.inputs())) != len(inputs) or len(outputs) != 1:
            continue
        is_tuple = outputs[0].type().kind() == "TupleType"
        types = outputs[0].type().elements() if is_tuple else [outputs[0].type()]
        tensors = [kind.dtype() is not None for kind in types]
        if len(list(done.outputs())) != sum(tensors):
            continue
        with graph.insert_point_guard(node):
            given = iter(graph.insertGraph(done, inputs))
            made = [next(given) if is_tensor else graph.insertConstant(None) for is_tensor in tensors]
            if is_tuple:
                made = [graph.insertNode(graph.create("prim::TupleConstruct", made, 1)).output()]
                made[0].setType(outputs[0].type())
        outputs[0].replaceAllUsesWith(made[0])
        node.destroy()
    return graph


def writes(node: Any) -> bool:
    """Whether a node writes to an operand: `aten::add_`, `aten::__iand__`, not `aten::__and__`."""
    kind = node.kind()
    return kind.endswith("_") and (not kind.endswith("__") or "::__i" in kind)


def runnable(name: str, graph: Any) -> Callable[..., Any]:
    """A function that runs what was recorded; constants are as before when it has run, although it may write to them."""
    if any(node.kind() == "prim::PythonOp" for node in graph.nodes()):
        graph = _without_calls(graph)
    function: Callable[..., Any] = torch._C._create_function_from_graph(name, graph)
    if not any(map(writes, graph.nodes())):
        return function
    constants = list(tensor_constants(graph))
    contents = [constant.clone() for constant in constants]

    def run(*args: Any) -> Any:
        try:
            return function(*args)
        finally:
            for constant, content in zip(constants, contents):
                constant.copy_(content)

    return run


def tensor_type(type: Any) -> TensorType | None:
    """What a TorchScript type says of a tensor, None if it is no tensor type."""
    if type.kind() != "TensorType":
        return None
    sizes, strides = type.sizes(), type.strides()
    if sizes is None and type.dim() is not None:
        sizes = [None] * type.dim()
    return TensorType(
        type.dtype(),
        None if sizes is None else tuple(sizes),
        None if strides is None else tuple(strides),
    )


def _constant(node: Any, output: Any) -> Operand:
    if not node.hasAttributes():
        return None
    if output.type().kind() == "FunctionType":
        return None  # the callee of a call that was inlined
    return bools.restored(output.toIValue(), output)


def _attribute(node: Any, name: str) -> Any:
    kind = node.kindOf(name)
    return (
        getattr(node, kind)(name) if kind in ("i", "f", "s", "t", "is", "fs", "ss", "ts", "ival", "ty", "tys") else None
    )


def location(scope: str, source: str) -> Location:
    """The place in the user's code that a source range of TorchScript tells of.

    Frames run from the innermost outwards; the first that lies outside of torch itself is the user's. Where
    all are torch's (a model that is a torch module), the innermost is taken.
    """
    frames = [m for m in map(_FRAME.match, (line.strip() for line in source.splitlines())) if m]
    for match in frames:
        if not (match["file"] or match["file3"]).startswith(INNER):
            return _location(scope, match, source)
    return _location(scope, frames[0], source) if frames else Location(scope)


def _location(scope: str, match: re.Match[str], source: str) -> Location:
    file, line = match["file"] or match["file3"], match["line"] or match["line2"] or match["line3"]
    return Location(scope, f"{file}:{line}", code=source)
