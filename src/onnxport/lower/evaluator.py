"""Evaluates a `Program` into an ONNX graph: an online partial evaluator.

Every value of the program is evaluated to what it is at export: a Python constant, a size (`int` or `Dim`),
a scalar known at run time, a tensor, or a list, tuple or dict of these. Ops go to their lowerings with
evaluated arguments; what is static never becomes a node. Mutation is resolved on the way (`storage`): a
lowering is only ever asked for the result that the op would have without writing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import torch

from ..dims import UnknownSizeError, known_eq
from ..dtypes import UnknownTypeError
from ..errors import LoweringError, OpsetError, Unsupported, UnsupportedOperatorError, warn
from ..program import Block, Node, Operand, Program, Schema, Value
from . import quantized, registry, views
from .builder import Builder
from .constants import of_constants
from .facts import NOTHING, Facts
from .storage import Appending, Cell, Journal, OnlyAppends, Ref
from .values import MISSING, Maybe, Sequence, Tensor, Unclear, Undecided, describe

Resolver = Callable[[Node, Builder], registry.Lowering | None]
Observer = Callable[[Node, list[Any]], None]


class Evaluator:
    """One evaluation of one program.

    Attributes:
        env: what each value of the program is.
        mutates: whether the program writes to anything, or asks which tensor is which; if so, tensors are held by
            reference.
        journal: of the innermost body being evaluated, None in the main graph.
        facts: what the conditions that led to the node being evaluated say.
    """

    def __init__(
        self, program: Program, g: Builder, resolve: Resolver | None = None, observe: Observer | None = None
    ) -> None:
        self.program = program
        self.g = g
        self.resolve = resolve
        self.observe = observe  # told of each op and its results; tests compare them with the trace
        self.env: dict[Value, Any] = {}
        self.journal: Journal | None = None
        self.facts: Facts = NOTHING
        self.missing: dict[str, list[Node]] = {}
        identifies = any(_compares_identity(node) for node in program.block.walk())
        self.mutates = identifies or any(
            (node.schema is not None and node.schema.mutates) or node.op == "prim::SetAttr"
            for node in program.block.walk()
        )
        self.writes_tensors = identifies or any(
            argument.writes and argument.type.startswith("Tensor")
            for node in program.block.walk()
            if node.schema is not None and node.schema.mutates
            for argument in node.schema.arguments
        )
        self.state = Cell({})  # attributes of the model that the program writes
        self.written_state: list[str] = []
        self.read_state: set[str] = set()
        self.set_first: set[str] = set()  # always written before it is read: no run depends on the one before
        self._constants: dict[int, tuple[torch.Tensor, Any]] = {}

    # -- programs and blocks ----------------------------------------------------------------------

    def evaluate(self, inputs: list[Any]) -> list[Any]:
        """Evaluate the main block on its inputs; what it returns, mutation resolved.

        UnsupportedOperatorError lists every op without a conversion.
        """
        for value, weight in self.program.weights.items():
            self.env[value] = self.hold(self.g.weight(weight.name, weight.tensor), weight)
        for value, given, declared in zip(self.program.block.parameters, inputs, self.program.inputs):
            self.env[value] = self.hold(given, declared)
        self.state = Cell({path: self.attribute(x) for path, x in self.program.state.items()})
        returned = self.run(self.program.block)
        results = [self._result(value, x) for value, x in zip(self.program.block.returns, returned)]
        self.raise_missing()
        self._warn_of_writes(returned)
        return results

    def _result(self, operand: Operand, held: Any) -> Any:
        """What the program returns; an error names what made it, since nothing uses it before."""
        try:
            return self.resolved(held)
        except LoweringError as error:
            made = [node for node in self.program.block.nodes if any(x is operand for x in node.outputs)]
            if error.place is not None or isinstance(error, OpsetError) or not made:
                raise
            raise LoweringError(error.reason, place=f"a result: {made[-1].op} at {made[-1].location}") from error

    def run(self, block: Block) -> list[Any]:
        """Evaluate the nodes of a block; its returns, unread (references stay references)."""
        for node in block.nodes:
            self.node(node)
        return [self.operand(x) for x in block.returns]

    @property
    def depth(self) -> int:
        """Of the body being evaluated; 0 in the main graph."""
        return 0 if self.journal is None else self.journal.depth

    def node(self, node: Node) -> None:
        handler = registry.find_evaluation(node.op)
        before, self.g.origin = self.g.origin, node
        try:
            if handler is not None:
                handler(self, node)
            else:
                self.call(node)
        except LoweringError as error:
            if self.missing:  # may follow from what is missing, which is reported in the end
                return self.bind(node, [MISSING] * len(node.outputs))
            if error.place is not None:
                raise
            place = f"{node.op} at {node.location}\n  {self._arguments(node)}"
            if isinstance(error, OpsetError):
                raise OpsetError(error.reason, needed=error.needed, place=place) from error
            raise type(error)(error.reason, place=place) from error
        except UnknownSizeError as error:
            place = f"{node.op} at {node.location}\n  {self._arguments(node)}"
            reason = (
                f"an argument that has to be known at export depends on {error.size}, which is known only at run time"
            )
            raise LoweringError(f"{reason}; give a Python number", place=place) from error
        except UnknownTypeError as error:
            place = f"{node.op} at {node.location}\n  {self._arguments(node)}"
            raise LoweringError(f"{error}; convert to another type", place=place) from error
        finally:
            self.g.origin = before

    def _arguments(self, node: Node) -> str:
        names = (
            [a.name for a in node.schema.arguments] if node.schema else [f"input {i}" for i in range(len(node.inputs))]
        )
        return "   ".join(f"{name} {self._shown(x)}" for name, x in zip(names, node.inputs))

    def _shown(self, operand: Operand) -> str:
        try:
            return describe(self.resolved(self.operand(operand)))
        except (LoweringError, OnlyAppends):
            return "?"

    # -- ops --------------------------------------------------------------------------------------

    def call(self, node: Node) -> None:
        """Evaluate an op by its lowering, and bind its results."""
        held = [self.operand(x) for x in node.inputs]
        arguments = [self.resolved(x) for x in held]
        if any(map(_lacks, arguments)):
            self.note_missing(node, only_if_unknown=True)
            return self.bind(node, [MISSING] * len(node.outputs))
        for i, x in enumerate(arguments):
            if isinstance(x, Maybe):
                if node.schema is None or not node.schema.arguments[i].type.endswith("?"):
                    raise LoweringError(f"{x} is used where it may be None; check `is not None` before")
                return _both_ways(self, node, x.present)
        lower = self.lowering(node, arguments)
        if lower is None:
            self.note_missing(node)
            return self.bind(node, [MISSING] * len(node.outputs))
        schema = node.schema
        if schema is not None and schema.mutates and not _has_own(node.op):
            arguments = [a for a, spec in zip(arguments, schema.arguments) if not (spec.writes and spec.keyword_only)]
        try:
            result = lower(self.g, *arguments)
        except Undecided as error:
            if error.scalar is None or error.scalar.kind is not bool or not any(x is error.scalar for x in arguments):
                raise LoweringError(error.reason) from error
            return _both_ways(self, node, error.scalar)
        results = [result] if len(node.outputs) == 1 else list(result or ())
        if self.facts is not NOTHING and not self.mutates:  # an argument given back is what it was, outside of here too
            results = [next((h for a, h in zip(arguments, held) if a is r), r) for r in results]
        if self.mutates and schema is None:
            results = list(map(self.hold, results))
        elif self.mutates and schema is not None:
            results = self._aliased(node, schema, lower, held, arguments, results)
        self.bind(node, results)

    def lowering(self, node: Node, arguments: list[Any]) -> registry.Lowering | None:
        if self.resolve is not None:
            found = self.resolve(node, self.g)
            if found is not None:
                return found
        return builtin(node, arguments)

    def bind(self, node: Node, results: list[Any]) -> None:
        if self.observe is not None:
            self.observe(node, [r if isinstance(r, Unclear) else self.resolved(r) for r in results])
        for value, result in zip(node.outputs, results):
            self.env[value] = result

    # -- mutation ---------------------------------------------------------------------------------

    def hold(self, value: Any, weight: Any = None) -> Any:
        """A fresh result as it is kept: tensors by reference if the program mutates."""
        if not self.mutates:
            return value
        if isinstance(value, Tensor):
            ref = Ref(value, depth=self.depth)
            ref.weight = weight
            return ref
        if isinstance(value, tuple):
            return tuple(self.hold(v, weight) for v in value)
        if isinstance(value, list):
            return Cell([self.hold(v, weight) for v in value], self.depth)
        if isinstance(value, dict):
            return Cell({k: self.hold(v, weight) for k, v in value.items()}, self.depth)
        return Cell(value, self.depth) if isinstance(value, Sequence) else value

    def attribute(self, operand: Operand) -> Any:
        """A list, dict or other attribute of the model, held so that it can be written."""
        if isinstance(operand, (list, tuple)):
            parts = [self.attribute(x) for x in operand]
            return tuple(parts) if isinstance(operand, tuple) else Cell(parts)
        if isinstance(operand, dict):
            return Cell({k: self.attribute(x) for k, x in operand.items()})
        return self.operand(operand)

    def resolved(self, value: Any) -> Any:
        """The present content of what references refer to."""
        kind = value.__class__
        if kind is Ref:
            return self.facts.refined(value.read(self.journal))
        if kind is Cell:
            return self.resolved(value.content)
        if kind is Unclear:
            raise LoweringError(value.reason)
        if kind is Appending:
            raise OnlyAppends(value.cell)
        if kind is list or kind is tuple:
            return kind(self.resolved(v) for v in value)
        if kind is dict:
            return {k: self.resolved(v) for k, v in value.items()}
        return value if self.facts is NOTHING else self.facts.refined(value)

    def operand(self, operand: Operand) -> Any:
        """What an operand is, references unread."""
        if operand.__class__ is Value:
            value = self.env[operand]
            return value if self.facts is NOTHING or value.__class__ is Tensor else self.facts.refined(value)
        if isinstance(operand, torch.Tensor):
            return self._constant(operand)
        if operand.__class__ is list and any(isinstance(x, (Value, torch.Tensor, list)) for x in operand):
            return [self.operand(x) for x in operand]
        return operand

    def _constant(self, tensor: torch.Tensor) -> Any:
        found = self._constants.get(id(tensor))
        if found is None:
            value: Any = Tensor(tensor.dtype, tuple(tensor.shape), source=tensor.detach())
            if self.mutates:
                value = Ref(value)  # as old as the model, wherever it is met first
                value.weight = "constant"
            found = self._constants[id(tensor)] = (tensor, value)
        return found[1]

    def write(self, ref: Ref, new: Tensor, *, resizes: bool = False) -> None:
        """Write to a reference as the op that changes it would: dtype and sizes stay those of the target.

        What is given as `out=` is resized.
        """
        if resizes and ref.step is views.UNCHANGED and ref.root.weight == "constant":
            ref = ref.root  # `torch.tensor` is recorded as a constant and a view of it
        old = self.facts.refined(ref.read(self.journal))
        new = self.g.cast(new, old.dtype)
        if resizes and ref.parent is None:
            pass
        elif resizes and (new.rank != old.rank or any(known_eq(a, b) is False for a, b in zip(new.shape, old.shape))):
            raise LoweringError(
                f"out= is a view of sizes {list(old.shape)}, which would be resized to {list(new.shape)}; write to a "
                "view of the right sizes, or to a tensor of its own"
            )
        elif new.dims != old.dims:
            new = self.g.expand(new, old.shape) if new.rank <= old.rank else self.g.reshape(new, old.shape)
        ref.write(new, self.journal)

    def _aliased(
        self,
        node: Node,
        schema: Schema,
        lower: registry.Lowering,
        held: list[Any],
        arguments: list[Any],
        results: list[Any],
    ) -> list[Any]:
        """Results as references, after the writes that the op makes."""
        if schema.name in views.IN_PLACE and isinstance(held[0], Ref):
            name = schema.name.removesuffix("_")
            view = Ref(results[0], held[0], views.step(self.g, name, lower, arguments, 0, None), self.depth)
            self.rename(held[0], view)
            return [view]
        if schema.mutates:
            return self._written(schema, held, results)
        bound = []
        for result, spec in zip(results, schema.returns):
            position = next((i for i, a in enumerate(schema.arguments) if a.alias and a.alias == spec.alias), None)
            if schema.name in views.UNANNOTATED:
                position = 0
            base = held[position] if position is not None else None
            if isinstance(base, Ref) and position is not None:
                bound.append(self._view(node, lower, base, arguments, position, result))
            elif isinstance(result, Tensor) and schema.name in views.RETURNS_ARGUMENT and result is arguments[0]:
                bound.append(held[0])
            else:
                fresh = self.hold(result)
                if views.may_share_listed(schema.name, arguments):
                    self._may_share(fresh, held)
                if isinstance(fresh, Ref):
                    fresh.ordered = views.keeps_order(schema.name, held)
                bound.append(fresh)
        return bound

    def _may_share(self, fresh: Any, held: list[Any]) -> None:
        """Results of an op may be views of tensors in the lists that it is given."""
        given = [x for cell in held if isinstance(cell, Cell) and isinstance(cell.content, list) for x in cell.content]
        results = fresh.content if isinstance(fresh, Cell) and isinstance(fresh.content, list) else [fresh]
        for result in results:
            for base in given:
                if isinstance(result, Ref) and isinstance(base, Ref):
                    result.rival(base)

    def _view(
        self, node: Node, lower: registry.Lowering, base: Ref, arguments: list[Any], position: int, result: Any
    ) -> Any:
        name = node.op.partition(".")[0]
        if isinstance(result, (list, tuple)):
            made = [
                Ref(r, base, views.step(self.g, name, lower, arguments, position, i), self.depth)
                for i, r in enumerate(result)
            ]
            return Cell(made, self.depth) if isinstance(result, list) else tuple(made)
        if isinstance(result, Sequence):
            result.held = ((base.root, base.root.writes),)
            if views.element(name, arguments, 0) is not None:
                result.element = lambda index: self._element(name, base, arguments, index)
            cell = Cell(result, self.depth)
            base.rival(cell)
            return cell
        same = result is arguments[position]
        shares = views.shares(name, node, base, position, same)
        if shares is not True or not isinstance(result, Tensor):
            copy = self.hold(result)
            if shares is None and isinstance(copy, Ref):
                copy.ordered = False
                copy.rival(base)
            return copy
        if same:
            return base if name in views.RETURNS_ITSELF else Ref(result, base, views.UNCHANGED, self.depth)
        return Ref(result, base, views.step(self.g, name, lower, arguments, position, None), self.depth)

    def _element(self, name: str, base: Ref, arguments: list[Any], index: Any) -> Ref:
        """One of the views, of a number known only at run time, that an op gives."""
        op, given = views.element(name, arguments, index)  # type: ignore[misc]
        lower = registry.find(op)
        assert lower is not None
        tensor = self.resolved(base)
        made = views.step(self.g, op.partition(".")[0], lower, [tensor, *given], 0, None)
        return Ref(made.forward(tensor), base, made, self.depth)

    def rename(self, ref: Ref, other: Ref) -> None:
        """From here on the tensor that `ref` is, is `other`: what had it by name sees that."""

        def renamed(value: Any) -> Any:
            if value is ref:
                return other
            return tuple(map(renamed, value)) if isinstance(value, tuple) else value

        if ref.listed or ref.place is not None or ref.depth < self.depth or (ref.either and self._has_other_name(ref)):
            raise LoweringError(
                "changes the sizes of a tensor in place that a list holds, that may be one tensor or another, or that is "
                "older than the if or loop around; write `x = x.unsqueeze(0)` for `x.unsqueeze_(0)`"
            )
        for value, held in self.env.items():
            if held is ref or held.__class__ is tuple:
                self.env[value] = renamed(held)

    def _has_other_name(self, ref: Ref) -> bool:
        """Whether what comes after this node reads a name of one of the tensors that this one may be."""
        same = ref.alternatives()
        names = {value for value, held in self.env.items() if isinstance(held, Ref) and held in same}
        nodes = self.program.block.nodes
        if self.g.origin not in nodes:
            return bool(names)
        rest = Block(nodes=nodes[nodes.index(self.g.origin) + 1 :], returns=self.program.block.returns)
        return not names.isdisjoint(rest.reads())

    def _written(self, schema: Schema, held: list[Any], results: list[Any]) -> list[Any]:
        """Write the first results of a mutating op to the arguments that its schema says it writes.

        They are results of the op only where its schema says so.
        """
        targets = [(x, spec) for x, spec in zip(held, schema.arguments) if spec.writes]
        bound: list[Any] = []
        remaining = list(results)
        for target, spec in targets:
            new = remaining.pop(0) if remaining else None
            content = target.content if isinstance(target, Cell) else target
            if isinstance(target, Ref) and isinstance(new, Tensor):
                self.write(target, new, resizes=spec.keyword_only)
            elif isinstance(content, list) and isinstance(new, list):
                for ref, tensor in zip(content, new):
                    self.write(ref, tensor)
            else:
                raise LoweringError(f"writes to {describe(target)}, which can't be written to here")
            bound.append(target)
        returned = bound if any(spec.alias for spec in schema.returns) else []
        return [*returned, *(self.hold(r) for r in remaining)]

    def _warn_of_writes(self, returned: list[Any]) -> None:
        """Warn once of writes to the model's own tensors, which the exported model doesn't keep or return."""
        returned = [part for x in returned for part in (x if isinstance(x, tuple) else [x])]
        written = [
            ref.weight.name
            for ref in self.env.values()
            if isinstance(ref, Ref) and ref.parent is None and ref.writes and hasattr(ref.weight, "name")
            if not any(ref is x for x in returned)
            if not ref.weight.name.endswith("num_batches_tracked")  # of a batch norm in training, whose other
        ]  # statistics aren't kept either
        written += [name for name in self.written_state if name not in self.set_first]
        if written:
            warn(
                f"the model writes to {', '.join(dict.fromkeys(written))}; the exported model computes with the new "
                "values within a run, but keeps nothing for the next one"
            )

    # -- what has no conversion -------------------------------------------------------------------

    def note_missing(self, node: Node, *, only_if_unknown: bool = False) -> None:
        if only_if_unknown:
            if (
                registry.find_evaluation(node.op)
                or registry.find(node.op)
                or (self.resolve and self.resolve(node, self.g))
            ):
                return
            if node.schema is not None and node.schema.mutates and registry.find(_functional(node.schema)):
                return
        self.missing.setdefault(node.op, []).append(node)

    def raise_missing(self) -> None:
        if self.missing:
            raise UnsupportedOperatorError.listing(
                [
                    Unsupported(op, len(nodes), tuple(dict.fromkeys(str(n.location) for n in nodes[:5])))
                    for op, nodes in self.missing.items()
                ],
                self.g.opset,
            )


def _lacks(argument: Any) -> bool:
    """Whether a value is missing, or an element of it."""
    return argument is MISSING or (argument.__class__ in (list, tuple) and any(map(_lacks, argument)))


def builtin(node: Node, arguments: Collection[Any]) -> registry.Lowering | None:
    """The lowering in the registry for a node with these arguments."""
    find = registry.find
    if any(isinstance(a, Sequence) for a in arguments):
        find = registry.find_sequence
    elif any(_is_complex(a) for a in arguments):
        find = registry.find_complex
    elif any(quantized.contains(a) for a in arguments):
        find = _find_quantized
    found = find(f"{node.op}.number" if _of_numbers(node.schema) else node.op)
    if found is None and node.schema is not None and node.schema.mutates:
        found = find(_functional(node.schema))
    if found is None and find is registry.find_complex and registry.find(node.op) is not None:
        found = _refuse_complex
    return of_constants(node, arguments, None if found is _refuse_complex else found) or found


def _refuse_complex(g: Builder, *_: Any) -> None:
    raise LoweringError("no conversion where a tensor is complex; compute with real and imaginary part instead")


def _find_quantized(name: str) -> registry.Lowering | None:
    own, plain = registry.find_quantized(name), registry.find(name)
    return own if own is not None or plain is None else quantized.adapted(name, plain)


def _of_numbers(schema: Schema | None) -> bool:
    """Whether this is the overload without a name that takes Python numbers: `aten::add(Scalar a, Scalar b)`."""
    if schema is None or schema.overload or not schema.arguments:
        return False
    return all(a.type == "Scalar" for a in schema.arguments)


def _functional(schema: Schema) -> str:
    """The name of the op that computes what a mutating op writes: `aten::add_.Tensor` -> `aten::add.Tensor`."""
    name = schema.name
    if name.endswith("_") and not name.endswith("__"):
        return f"{name[:-1]}.{schema.overload}" if schema.overload else name[:-1]
    return name  # an `out=` overload: the lowering of the plain name


def _compares_identity(node: Node) -> bool:
    """Whether it asks if two values are one; `x is None` doesn't."""
    return node.op in ("aten::__is__", "aten::__isnot__") and all(x is not None for x in node.inputs)


def _has_own(op: str) -> bool:
    """Whether a mutating op is registered under its very own name."""
    return registry.is_registered(op)


def _is_complex(value: Any) -> bool:
    if isinstance(value, Tensor):
        return value.dtype.is_complex
    return isinstance(value, (list, tuple)) and any(_is_complex(v) for v in value)


__all__ = ["MISSING", "Evaluator"]


def _both_ways(evaluator: Evaluator, node: Node, condition: Any) -> None:
    from .control_flow.branches import both_ways  # control flow is seldom, and large

    both_ways(evaluator, node, condition)
