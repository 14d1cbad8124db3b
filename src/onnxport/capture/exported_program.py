"""Reads a `torch.export.ExportedProgram` into a `Program`.

Its graph holds the same ATen operators as a trace (decompositions are only run for `torch.vmap`, `torch.autocast` and the
like), with named arguments and defaults left out: they are bound to the schema here. Arithmetic on sizes is Python's own
there; it becomes the operators that TorchScript has for Python numbers. `cond` becomes a `prim::If`; `while_loop`, `scan`
and `map` become `prim::Loop`s.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch.export.graph_signature import ConstantArgument, InputKind, OutputKind

from ..dims import Dim, free_symbols, parse
from ..dtypes import to_scalar_type
from ..errors import LoweringError, OnnxExporterError
from ..program import Block, Location, Node, Operand, Program, TensorType, Value
from ..program.ir import Input, Weight
from ..program.labels import Labels, inverse
from ..program.schema import REQUIRED, Schema
from ..program.schema import parse as parse_schema
from .graph import location
from .guards import assumed
from .inputs import flatten_outputs
from .tracing.composed import is_composed, parts_of
from .tracing.flex_attention import attention_recorded

# Python's functions on numbers, and the operators that TorchScript has for them.
_NUMBERS: dict[Any, str] = {
    operator.add: "aten::add.int",
    operator.sub: "aten::sub.int",
    operator.mul: "aten::mul.int",
    operator.floordiv: "aten::floordiv.int",
    operator.truediv: "aten::div.int",
    operator.mod: "aten::remainder.int",
    operator.pow: "aten::pow.float",
    operator.neg: "aten::neg.int",
    operator.abs: "prim::abs.int",
    operator.eq: "aten::eq.int",
    operator.ne: "aten::ne.int",
    operator.lt: "aten::lt.int",
    operator.le: "aten::le.int",
    operator.gt: "aten::gt.int",
    operator.ge: "aten::ge.int",
    operator.and_: "aten::__and__.bool",
    operator.or_: "aten::__or__.bool",
    operator.not_: "aten::__not__",
    operator.lshift: "aten::__lshift__.int",
    operator.rshift: "aten::__rshift__.int",
    math.floor: "aten::floor.float",
    math.ceil: "aten::ceil.float",
    math.trunc: "aten::Int.float",
    math.sqrt: "aten::sqrt.float",
    torch._sym_sqrt: "aten::sqrt.float",  # type: ignore[attr-defined]
    torch.sym_float: "aten::Float.Scalar",
    torch.sym_int: "aten::Int.Scalar",
    torch.sym_max: "prim::max.int",
    torch.sym_min: "prim::min.int",
    torch.sym_not: "aten::__not__",
    torch.sym_ite: "aten::sym_ite",
}
# Those that are others where their result is an int.
_OF_INTS: dict[Any, str] = {
    operator.pow: "aten::pow.int_to_int",
    operator.and_: "aten::__and__.int",
    operator.or_: "aten::__or__.int",
}

# Checks of what export assumed of the inputs: they compute nothing.
_CHECKS = re.compile(
    r"^aten::(_assert|sym_constrain_range|_check|_functional_sym|_functional_assert|_assert_tensor_metadata|_linalg_check_errors)"
)

# Operators that do no more than call a graph: the graph among their arguments, and its own arguments.
_CALLS: dict[str, Callable[[Sequence[Any]], tuple[Any, Sequence[Any]]]] = {
    "wrap_with_set_grad_enabled": lambda args: (args[1], args[2:]),
    "wrap_with_autocast": lambda args: (args[4], args[5:]),
    "invoke_subgraph": lambda args: (args[0], args[2:]),
    "hints_wrapper": lambda args: (args[0], args[1]),
    "strict_mode": lambda args: (args[0], args[1]),
}

_APPEND = parse_schema("aten::append.t(t[](a!) self, t(c -> *) el) -> t[](a!)")


def read(exported: torch.export.ExportedProgram) -> Program:
    """The program, its user inputs as inputs, its parameters and buffers under their names."""
    _refuse_wrapped(exported)
    program = _Reader(_in_parts(exported, frozenset())).program()
    program.assumed = assumed(exported)
    return program


def _refuse_wrapped(exported: torch.export.ExportedProgram) -> None:
    """`torch.export` makes constants of what `torch.func.grad` computes with, arguments among it."""
    for name, constant in exported.constants.items():
        if isinstance(constant, torch.Tensor) and torch._C._functorch.is_functorch_wrapped_tensor(constant):
            raise LoweringError(
                f"{name}: torch.export has made a constant of a tensor that torch.func computes with; export the module "
                "itself, whose gradients are followed"
            )


def _in_parts(exported: torch.export.ExportedProgram, done: frozenset[Any]) -> torch.export.ExportedProgram:
    """A program whose calls are operators, and operators of packages what they are made of; others may be among that."""
    parts = {operator: call for operator, call in _composed(exported.graph_module).items() if operator not in done}
    if not parts and not _has_calls(exported.graph_module):
        return exported
    with attention_recorded():
        exported = exported.run_decompositions(parts)
    return _in_parts(exported, done | parts.keys()) if parts else exported


def _composed(module: torch.fx.GraphModule) -> dict[Any, Callable[..., Any]]:
    """Operators of packages among those that are called, and how they are taken to parts."""
    graphs = (part.graph for part in module.modules() if isinstance(part, torch.fx.GraphModule))
    called = {node.target for graph in graphs for node in graph.nodes if isinstance(node.target, torch._ops.OpOverload)}
    return {operator: parts_of(operator) for operator in called if is_composed(operator)}


def _has_calls(module: torch.fx.GraphModule) -> bool:
    """Whether a program has calls that aren't operators yet: of `torch.vmap`, of functions for single elements, of parts
    in which `torch.autocast` chooses the types, of what weights are made of that are tensors of a class of their own."""
    return any(
        getattr(node.target, "namespace", "") == "export"
        or getattr(node.target, "__module__", "") == "torch._functorch.predispatch"
        or getattr(node.target, "__name__", "") in ("flex_attention", "_enter_autocast")
        or (getattr(node.target, "__name__", "") == "wrap_with_autocast" and node.args[2])  # in use, not switched off
        for part in module.modules()
        if isinstance(part, torch.fx.GraphModule)
        for node in part.graph.nodes
    )


class _Reader:
    def __init__(self, exported: torch.export.ExportedProgram) -> None:
        self.exported = exported
        self.modules: dict[str, str] = {}

    def program(self) -> Program:
        exported = self.exported
        graph = _Graph(self, exported.graph_module)
        inputs: list[Input] = []
        weights: dict[Value, Weight] = {}
        placeholders = [n for n in exported.graph_module.graph.nodes if n.op == "placeholder"]
        for node, spec in zip(placeholders, exported.graph_signature.input_specs):
            if isinstance(spec.arg, ConstantArgument):
                graph.operands[node] = _constant(spec.arg.value)
                continue
            if spec.kind is InputKind.TOKEN:  # keeps effects in order, as the list of nodes does
                graph.operands[node] = None
                continue
            value = graph.define(node)
            if spec.kind is InputKind.USER_INPUT:
                inputs.append(_input(value, node))
            elif spec.kind in (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR):
                assert spec.target is not None
                tensor = exported.state_dict.get(spec.target)
                tensor = exported.constants[spec.target] if tensor is None else tensor
                weights[value] = Weight(spec.target, tensor, spec.kind is not InputKind.PARAMETER)
            else:
                raise OnnxExporterError(
                    f"the exported program has an input of kind {spec.kind.name}, which ONNX has no form of"
                )
        labels = _label_sizes(inputs, exported.range_constraints)
        block = graph.block([i.value for i in inputs])
        specs = exported.graph_signature.output_specs
        wanted = [i for i, s in enumerate(specs) if s.kind is OutputKind.USER_OUTPUT and not _is_none(s.arg)]
        block.returns = [block.returns[i] for i in wanted]
        return Program(
            block,
            inputs,
            weights,
            _output_names(exported, [specs[i].arg for i in wanted]),
            "main_graph",
            self.modules,
            "exported",
            labels=labels,
            keep_alive=exported,
        )


def _output_names(exported: torch.export.ExportedProgram, wanted: Sequence[Any]) -> list[str | None]:
    """Names of the outputs that are `wanted`, by keys and fields of the result, as in a trace."""
    outputs = [s.arg for s in exported.graph_signature.output_specs if s.kind is OutputKind.USER_OUTPUT]
    unnamed: list[str | None] = [None] * len(wanted)
    spec = exported.call_spec.out_spec
    if spec is None or spec.num_leaves != len(outputs):
        return unnamed
    try:
        names = flatten_outputs(spec.unflatten([None if _is_none(x) else torch.empty(0) for x in outputs])).names
    except Exception:  # a class of the user's that is made of nothing but what the model returns
        return unnamed
    return names if len(names) == len(wanted) else unnamed


def _is_none(argument: Any) -> bool:
    return isinstance(argument, ConstantArgument) and argument.value is None


def _input(value: Value, node: torch.fx.Node) -> Input:
    example = node.meta["val"]
    if not isinstance(example, torch.Tensor):
        return Input(value, node.name, example if isinstance(example, (bool, int, float)) else _hint(example))
    # An axis that torch.export found can't be dynamic has the text of a number.
    axes = {
        axis: str(size)
        for axis, size in enumerate(example.shape)
        if not isinstance(size, int) and not str(size).isdigit()
    }
    sizes = [_hint(size) for size in example.shape]
    return Input(value, node.name, torch.empty(sizes, dtype=example.dtype, device="meta"), axes)


def _label_sizes(inputs: Sequence[Input], ranges: Mapping[Any, Any]) -> Labels:
    """Make labels of the sizes of inputs; what is known of them.

    An expression is kept as such where the sizes in it are those of axes, or can be told from it.
    """
    labels = Labels()
    roots = {text for declared in inputs for text in declared.axes.values() if text.isidentifier()}
    for declared in inputs:
        for axis, text in declared.axes.items():
            if text.isidentifier():
                continue
            size = _expression(text, roots)
            if size is not None:
                declared.axes[axis] = str(size)
                labels.derived[str(size)] = size
            else:
                declared.axes[axis] = f"{declared.name}_dim_{axis}"
    for symbol, found in ranges.items():
        least, largest = (int(x) if str(x).isdigit() else None for x in (found.lower, found.upper))
        labels.bounds[str(symbol)] = (least or 0, largest)
    return labels


def _expression(text: str, roots: set[str]) -> Dim | None:
    """The size that a text says, if the symbols in it are known, or the only one can be told from it."""
    try:
        size = parse(text)
    except ValueError:
        return None
    missing = sorted(free_symbols(size) - roots)
    if len(missing) > 1 or (missing and inverse(size, missing[0], size) is None):
        return None
    return size if isinstance(size, Dim) else None


def _hint(size: Any) -> int:
    """A number for a size that is a symbol: the example's, else 2."""
    if isinstance(size, int):
        return size
    hint = size.node.hint if size.node.has_hint() else None
    return int(hint) if hint is not None else 2


class _Graph:
    """One `GraphModule`, the main one or a branch."""

    def __init__(self, reader: _Reader, module: torch.fx.GraphModule) -> None:
        self.reader = reader
        self.module = module
        self.operands: dict[torch.fx.Node, Any] = {}
        self.nodes: list[Node] = []
        self.handlers: dict[str, Callable[[torch.fx.Node], None]] = {
            "cond": self._cond,
            "while_loop": self._while_loop,
            "scan": self._scan,
            "map_impl": self._map,
            "with_effects": self._with_effects,
        }

    def define(self, node: torch.fx.Node, type: str | None = None) -> Value:
        example = node.meta.get("val")
        kind = type or _type_of(example)
        value = Value(node.name, kind, lambda: _tensor_type(example))
        self.operands[node] = value
        return value

    def block(self, parameters: list[Value]) -> Block:
        """The nodes of the graph, whose placeholders have been given operands."""
        for node in self.module.graph.nodes:
            if node.op == "call_function":
                self.call(node)
            elif node.op == "get_attr":
                self._attribute(node)
            elif node.op == "output":
                returns = [self.operand(x) for x in _flat(node.args[0])]
        return Block(parameters, self.nodes, returns)

    def operand(self, argument: Any) -> Any:
        if isinstance(argument, torch.fx.Node):
            return self.operands[argument]
        if isinstance(argument, (list, tuple)):
            return [self.operand(x) for x in argument]
        return _constant(argument)

    def add(self, op: str, inputs: list[Operand], outputs: list[Value], node: torch.fx.Node, **more: Any) -> Node:
        scope = self._scope(node)
        result = Node(op, inputs, outputs, scope=scope, location=lambda: _location(scope, node), **more)
        self.nodes.append(result)
        return result

    def call(self, node: torch.fx.Node) -> None:
        target: Any = node.target
        if target is operator.getitem:
            return self._getitem(node)
        if isinstance(target, torch._ops.OpOverload):
            return self._operator(node, target)
        if isinstance(target, torch._ops.HigherOrderOperator):
            handler = self.handlers.get(target.__name__)
            if handler is not None:
                return handler(node)
            if target.__name__ in _CALLS:
                return self._call_of_graph(node, *_CALLS[target.__name__](node.args))
            self.add(f"higher_order::{target.__name__}", [], [self.define(node)], node)
            return None
        name = _NUMBERS.get(target, f"python::{getattr(target, '__name__', target)}")
        if _type_of(node.meta.get("val")) == "int":
            name = _OF_INTS.get(target, name)
        self.add(name, [self.operand(x) for x in node.args], [self.define(node)], node)
        return None

    def _operator(self, node: torch.fx.Node, target: torch._ops.OpOverload) -> None:
        schema = parse_schema(str(target._schema))
        if _CHECKS.match(schema.name):
            return
        inputs = self._bind(schema, node.args, node)
        if len(schema.returns) > 1:
            outputs = self._results(node, node.meta.get("val") or [None] * len(schema.returns))
            self.operands[node] = outputs
        else:
            outputs = [self.define(node)] if schema.returns else []
        self.add(schema.full_name, inputs, outputs, node, schema=schema)

    def _results(self, node: torch.fx.Node, examples: Sequence[Any]) -> list[Value]:
        return [
            Value(f"{node.name}_{i}", _type_of(e), lambda e=e: _tensor_type(e))  # type: ignore[misc]
            for i, e in enumerate(examples)
        ]

    def _bind(self, schema: Schema, arguments: Sequence[Any], node: torch.fx.Node) -> list[Operand]:
        bound: list[Operand] = []
        for i, argument in enumerate(schema.arguments):
            if i < len(arguments):
                value = self.operand(arguments[i])
            elif argument.name in node.kwargs:
                value = self.operand(node.kwargs[argument.name])
            else:
                value = None if argument.default is REQUIRED else argument.default
            bound.append(value)
        return bound

    def _getitem(self, node: torch.fx.Node) -> None:
        source, index = self.operand(node.args[0]), node.args[1]
        if isinstance(source, list):
            self.operands[node] = source[index]  # type: ignore[index]
        else:
            self.add("aten::__getitem__.t", [source, index], [self.define(node)], node)

    def _attribute(self, node: torch.fx.Node) -> None:
        value: Any = self.module
        for part in str(node.target).split("."):
            value = getattr(value, part)
        self.operands[node] = value

    # -- higher-order operators -------------------------------------------------------------------

    def _inline(self, module: torch.fx.GraphModule, arguments: list[Operand]) -> list[Operand]:
        """Put the nodes of another graph here; what it returns."""
        inner = _Graph(self.reader, module)
        inner.nodes = self.nodes
        placeholders = [n for n in module.graph.nodes if n.op == "placeholder"]
        inner.operands.update(zip(placeholders, arguments))
        return inner.block([]).returns

    def _body(self) -> _Graph:
        """A list of nodes of its own that sees the operands of this graph."""
        body = _Graph(self.reader, self.module)
        body.operands = self.operands
        return body

    def _call_of_graph(self, node: torch.fx.Node, graph: Any, arguments: Sequence[Any]) -> None:
        self.operands[node] = self._inline(self.operand(graph), [self.operand(x) for x in arguments])

    def _with_effects(self, node: torch.fx.Node) -> None:
        """An operator that must not move: `(token, operator, *arguments) -> (token, *results)`."""
        _, target, *arguments = node.args
        schema = parse_schema(str(target._schema))  # type: ignore[union-attr]
        outputs: list[Value] = []
        if not _CHECKS.match(schema.name):
            outputs = self._results(node, list(_flat(node.meta["val"]))[1:] if schema.returns else [])
            self.add(schema.full_name, self._bind(schema, arguments, node), outputs, node, schema=schema)
        self.operands[node] = [None, *outputs]

    def _outputs(self, node: torch.fx.Node) -> list[Value]:
        outputs = self._results(node, list(_flat(node.meta["val"])))
        self.operands[node] = outputs
        return outputs

    def _condition(self, predicate: Operand, node: torch.fx.Node) -> Operand:
        """A predicate as a bool."""
        if not isinstance(predicate, Value) or predicate.type == "bool":
            return predicate
        result = Value(f"{predicate.name}_bool", "bool")
        self.add("aten::Bool.Tensor", [predicate], [result], node)
        return result

    def _cond(self, node: torch.fx.Node) -> None:
        predicate, true, false, arguments = (self.operand(x) for x in node.args)
        condition = self._condition(predicate, node)
        blocks = []
        for branch in (true, false):
            body = self._body()
            returns = body._inline(branch, arguments)
            blocks.append(Block([], body.nodes, returns))
        self.add("prim::If", [condition], self._outputs(node), node, blocks=tuple(blocks))

    def _while_loop(self, node: torch.fx.Node) -> None:
        condition, body, carried, extra = (self.operand(x) for x in node.args)
        extra = list(extra)
        first = self._inline(condition, [*carried, *extra])
        start = self._condition(first[0], node)
        inside = self._body()
        variables = [Value(f"{node.name}_carried_{i}", getattr(x, "type", "")) for i, x in enumerate(carried)]
        counter = Value(f"{node.name}_iteration", "int")
        results = inside._inline(body, [*variables, *extra])
        again = inside._condition(inside._inline(condition, [*results, *extra])[0], node)
        block = Block([counter, *variables], inside.nodes, [again, *results])
        trip = (1 << 63) - 1
        self.add("prim::Loop", [trip, start, *carried], self._outputs(node), node, blocks=(block,))

    def _scan(self, node: torch.fx.Node) -> None:
        combine, carried, rows, extra = (self.operand(x) for x in node.args)
        self._for_rows(node, combine, list(carried), list(rows), list(extra))

    def _map(self, node: torch.fx.Node) -> None:
        function, rows, extra = (self.operand(x) for x in node.args)
        self._for_rows(node, function, [], list(rows), list(extra))

    def _for_rows(
        self, node: torch.fx.Node, body: Any, carried: list[Operand], rows: list[Operand], extra: list[Operand]
    ) -> None:
        """A `for` over the rows of tensors; what the body gives beyond the carried values is collected and stacked."""
        outputs = self._outputs(node)
        results, stacked = outputs[: len(carried)], outputs[len(carried) :]
        lists = [Value(f"{v.name}_rows", "List[Tensor]") for v in stacked]
        for made in lists:
            self.add("prim::ListConstruct", [], [made], node)
        trip, counter = Value(f"{node.name}_trip", "int"), Value(f"{node.name}_iteration", "int")
        self.add("aten::size.int", [rows[0], 0], [trip], node)
        inside = self._body()
        variables = [Value(f"{node.name}_carried_{i}", "Tensor") for i in range(len(carried))]
        parts = [Value(f"{node.name}_row_{i}", "Tensor") for i in range(len(rows))]
        for whole, part in zip(rows, parts):
            inside.add("aten::select.int", [whole, 0, counter], [part], node)
        returned = inside._inline(body, [*variables, *parts, *extra])
        for made, result in zip(lists, returned[len(carried) :]):
            inside.add("aten::append.t", [made, result], [Value(f"{made.name}_", "List[Tensor]")], node, schema=_APPEND)
        block = Block([counter, *variables], inside.nodes, [True, *returned[: len(carried)]])
        self.add("prim::Loop", [trip, True, *carried], results, node, blocks=(block,))
        for made, value in zip(lists, stacked):
            self.add("aten::stack", [made, 0], [value], node)

    # -- places -----------------------------------------------------------------------------------

    def _scope(self, node: torch.fx.Node) -> str:
        """The path of the module that a node comes from."""
        stack = node.meta.get("nn_module_stack")
        if not stack:
            return ""
        path, kind = list(stack.values())[-1]
        if path.startswith("_empty_nn_module_stack"):  # a node that torch.export itself put in
            return ""
        path = re.sub(r"^L\['self'\]\.?", "", path)
        path = re.sub(r"\._modules\['(\w+)'\]", r".\1", path)
        self.reader.modules[path] = kind if isinstance(kind, str) else kind.__name__
        return path.lstrip(".")


def _location(scope: str, node: torch.fx.Node) -> Location:
    trace = node.meta.get("stack_trace") or ""
    frames = re.findall(r'File "(?P<file>[^"]+)", line (?P<line>\d+)', trace)
    return location(scope, "\n".join(f"{file}({line})" for file, line in reversed(frames)))


def _flat(value: Any) -> list[Any]:
    if isinstance(value, (list, tuple)):
        return [x for v in value for x in _flat(v)]
    return [value]


def _constant(value: Any) -> Any:
    if isinstance(value, torch.dtype):
        return to_scalar_type(value)
    if isinstance(value, torch.layout):
        return 0
    if isinstance(value, torch.memory_format):
        return {torch.contiguous_format: 0, torch.preserve_format: 1, torch.channels_last: 2}.get(value, 3)
    if isinstance(value, torch.device):
        return str(value)
    return value


def _type_of(example: Any) -> str:
    if isinstance(example, torch.Tensor):
        return "Tensor"
    if isinstance(example, (bool, torch.SymBool)):
        return "bool"
    if isinstance(example, (int, torch.SymInt)):
        return "int"
    if isinstance(example, (float, torch.SymFloat)):
        return "float"
    if isinstance(example, (list, tuple)):
        return f"List[{_type_of(example[0])}]" if example else "List[Tensor]"
    return ""


def _tensor_type(example: Any) -> TensorType | None:
    if not isinstance(example, torch.Tensor):
        return None
    strides = example.stride() if example.layout == torch.strided else None
    return TensorType(example.dtype, _known(example.shape), None if strides is None else _known(strides))


def _known(sizes: Sequence[Any]) -> tuple[int | None, ...]:
    return tuple(s if isinstance(s, int) else None for s in sizes)
