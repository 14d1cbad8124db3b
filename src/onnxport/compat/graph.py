"""The graph as symbolic functions know it: `g.op("Name", x, alpha_f=1.0)` on a `Builder`."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx_ir as ir
import torch

from ..capture import types
from ..dims import Dim
from ..dtypes import array_of, from_onnx
from ..errors import LoweringError, SymbolicValueError, UnsupportedOperatorError, warn
from ..lower.builder import Builder
from ..lower.promotion import number_dtype
from ..lower.quantized import STORED, QTensor
from ..lower.values import Scalar, Tensor, describe
from ..program import Node as ProgramNode
from ..program import TensorType
from .checks import check_call, refusal
from .value import Value, content_of, counter, torch_tensor

ATEN = "org.pytorch.aten"
_ATTRIBUTE = re.compile(r"^(?P<name>.+)_(?P<letter>[ifstzg])$")


class Graph:
    """What a symbolic function writes to.

    Attributes:
        builder: the graph under it, which lowerings work with.
        opset: version of the default domain.
        original_node: the operation being converted.
    """

    def __init__(self, builder: Builder, node: ProgramNode | None = None) -> None:
        self.builder = builder
        self.node = node
        self.numbers = counter()
        self.untyped: set[Tensor] = set()  # outputs whose types nobody has told yet
        self.pending: list[Callable[[], None]] = []  # what is left to do when the function has returned

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return types.GRAPH

    @property
    def opset(self) -> int:
        return self.builder.opset

    @property
    def original_node(self) -> OriginalNode:
        assert self.node is not None
        return OriginalNode(self.node)

    @property
    def graph(self) -> Graph:
        return self

    block = graph

    # -- writing ------------------------------------------------------------------------------------

    def op(self, name: str, *args: Any, outputs: int = 1, **attributes: Any) -> Any:
        """Add a node: its output, or a tuple of them.

        `name` is an ONNX operator, or `domain::Name`. Arguments are values, None for an input left out, or constants.
        An attribute's name ends in the letter of its type: `_i` int, `_f` float, `_s` string, `_t` tensor, `_z` tensor
        of one element, `_g` graph; a list of these is an attribute of several.
        """
        domain, _, op_type = name.rpartition("::")
        given = {key: value for key, value in map(self.attribute, attributes.items()) if value is not None}
        if domain == "prim":
            return self._prim(op_type, args)
        if domain in ("", "onnx", "ai.onnx"):
            if op_type == "Constant":
                return self._constant(given)
            inputs = [self.input(x) for x in args]
            while inputs and inputs[-1] is None:
                inputs.pop()
            check_call(op_type, inputs, given, self.opset, self.node)
            if self.node is not None:
                self.builder.by_symbolics.add(self.node)
            if any(isinstance(v, ir.Graph) for v in given.values()):
                return self._with_bodies(op_type, inputs, given, outputs)
            try:
                made = self.builder.op(op_type, *inputs, outputs=outputs, **given)
            except (IndexError, KeyError, TypeError, ValueError) as error:  # of the inference, on what can't be
                types = ", ".join("none" if x is None else describe(x) for x in inputs)
                raise refusal(op_type, self.node, f"its inputs ({types}) or attributes don't fit: {error}") from error
            return self.wrap(made) if outputs == 1 else tuple(self.wrap(x) for x in made)
        results = self.custom(ATEN if domain == "aten" else domain, op_type, args, given, outputs)
        return results[0] if outputs == 1 else results

    def at(self, operator: str, *args: Any, overload_name: str = "", **attributes: Any) -> Any:
        """Add a node that asks the runtime for the ATen operator of this name."""
        return self.op("aten::ATen", *args, operator_s=operator, overload_name_s=overload_name, **attributes)

    aten_op = at

    def constant(self, value: Any, dims: Sequence[int] = (), dtype: Any = torch.float32, *_: Any) -> Value:
        """A constant of these sizes, filled with one value or with the values given."""
        kind = dtype if isinstance(dtype, torch.dtype) else getattr(torch, str(dtype).lower())
        content = torch.tensor(value, dtype=kind)
        return self.wrap(content.expand(*dims) if content.dim() == 0 and dims else content.reshape(tuple(dims)))

    def custom(
        self, domain: str, op_type: str, args: Sequence[Any], attributes: dict[str, Any], outputs: int
    ) -> tuple[Value, ...]:
        """A node of a domain that nothing is known of: neither shared nor folded, types unknown until they are set."""
        inputs = [self.input(x) for x in args]
        while inputs and inputs[-1] is None:
            inputs.pop()
        values = [None if x is None else self.builder.value(x) for x in inputs]
        node = self.builder.append(op_type, values, attributes, outputs, domain)
        dtype = next((x.dtype for x in inputs if x is not None), torch.float32)
        made = [Tensor(dtype, None, value) for value in node.outputs]
        self.untyped.update(made)
        return tuple(self.wrap(t) for t in made)

    def _with_bodies(
        self, op_type: str, inputs: Sequence[Tensor | None], attributes: dict[str, Any], outputs: int
    ) -> Any:
        """A node whose bodies are given as graphs: element types are those of the first body's outputs."""
        values = [None if x is None else self.builder.value(x) for x in inputs]
        node = self.builder.append(op_type, values, attributes, outputs)
        body = next(v for v in attributes.values() if isinstance(v, ir.Graph))
        returned = body.outputs[1:] if op_type == "Loop" else body.outputs  # a Loop's first is its condition
        made = []
        for value, inner in zip(node.outputs, returned):
            dtype = torch.float32 if inner.dtype is None else from_onnx(inner.dtype.value)
            made.append(Tensor(dtype, None, value))
        self.builder.made.extend(made)
        return self.wrap(made[0]) if outputs == 1 else tuple(self.wrap(t) for t in made)

    # -- values -------------------------------------------------------------------------------------

    def wrap(self, content: Any) -> Value:
        """A value for what a lowering works with, or for a constant."""
        if type(content) is Value:
            return content
        if isinstance(content, torch.Tensor):
            content = self.builder.known(array_of(content), content.dtype)
        return Value(unpacked(content), self)

    def wrap_value(self, value: ir.Value | None) -> Value:
        return Value(None if value is None else self.builder.tensor_of(value), self)

    def tensor(self, value: Any) -> Tensor:
        """Anything as a tensor of the graph."""
        content = content_of(value)
        if isinstance(content, Tensor):
            return content
        if isinstance(content, Scalar):
            return content.tensor
        if isinstance(content, torch.Tensor):
            return self.builder.known(array_of(content), content.dtype)
        if isinstance(content, Dim):
            return self.builder.size(content)
        if isinstance(content, (bool, int, float, complex)):
            return self.builder.const(content, number_dtype(content))
        if isinstance(content, (list, tuple)):
            return self._vector(content)
        raise SymbolicValueError(f"{describe(content)} can't be an input of an ONNX node", value)

    def _vector(self, content: Sequence[Any]) -> Tensor:
        """A list of numbers as a 1-d tensor."""
        if all(isinstance(x, (int, Dim)) and not isinstance(x, bool) for x in content):
            return self.builder.ints(list(content))
        if all(isinstance(x, (bool, int, float)) for x in content):
            return self.builder.const(list(content), number_dtype(content[0]))
        parts = [self.tensor(x) for x in content]
        if all(part.dims is not None and part.dims in ((), (1,)) for part in parts):
            return self.builder.op("Concat", *[self.builder.reshape(p, [1]) for p in parts], axis=0)
        return self.builder.op("SequenceConstruct", *parts)

    def typed(self, tensor: Tensor) -> None:
        """The type of this tensor is known now."""
        if tensor in self.untyped:
            self.untyped.discard(tensor)
            self.builder.made.append(tensor)

    def input(self, value: Any) -> Tensor | None:
        content = content_of(value)
        return None if content is None else self.tensor(content)

    def _constant(self, attributes: dict[str, Any]) -> Value:
        ((name, value),) = attributes.items() or ((None, None),)
        if name not in ("value", "value_int", "value_ints", "value_float", "value_floats", "value_string"):
            raise ValueError("a Constant has one attribute: value_t, value_i, value_f or value_s")
        if isinstance(value, (bool, int)):
            return self.wrap(torch.tensor(value))
        if isinstance(value, float):
            return self.wrap(torch.tensor(value, dtype=torch.float32))
        if isinstance(value, list):
            floats = any(isinstance(v, float) for v in value)
            return self.wrap(torch.tensor(value, dtype=torch.float32 if floats else torch.int64))
        return self.wrap(value)

    def _prim(self, op_type: str, args: Sequence[Any]) -> Value:
        if op_type == "Constant":
            return self.wrap(None)
        if op_type in ("ListConstruct", "TupleConstruct"):
            contents = [x if not isinstance(x, torch.Tensor) else self.tensor(x) for x in map(content_of, args)]
            return self.wrap(contents if op_type == "ListConstruct" else tuple(contents))
        raise UnsupportedOperatorError(f"a symbolic function adds prim::{op_type}, which has no conversion to ONNX")

    def attribute(self, item: tuple[str, Any]) -> tuple[str, Any]:
        match = _ATTRIBUTE.match(item[0])
        if match is None:
            raise ValueError(
                f"the attribute {item[0]!r} doesn't say its type: end the name with _i, _f, _s, _t, _z or _g"
            )
        value, convert = item[1], _LETTERS[match["letter"]]
        if type(value) is Value:
            if not value.is_constant and not isinstance(value.content, (list, tuple)):
                raise SymbolicValueError(f"the attribute {match['name']!r} must be a constant", value)
            value = value.toIValue()
        several = isinstance(value, (list, tuple)) or (isinstance(value, torch.Tensor) and match["letter"] in "ifs")
        if several and match["letter"] in "ifs" and not (isinstance(value, torch.Tensor) and value.dim() == 0):
            return match["name"], [convert(v) for v in value]
        return match["name"], None if value is None else convert(value)

    # -- the end of a symbolic function -------------------------------------------------------------

    def results(self, returned: Any, node: ProgramNode) -> Any:
        """What a lowering would return, of what a symbolic function has returned.

        Types that nobody has set are those which the trace recorded.
        """
        for finish in self.pending:
            finish()
        if returned is None and node.outputs:
            raise UnsupportedOperatorError(
                f"{node.op} can't be converted as it is used: its symbolic function returned None\n  at {node.location}"
            )
        several = isinstance(returned, (list, tuple))
        if len(node.outputs) == 1:
            is_list = node.outputs[0].type.startswith(("List", "Tuple")) or node.outputs[0].type.endswith("[]")
            if several and not is_list:
                if len(returned) != 1:
                    raise LoweringError(f"the symbolic function returned {len(returned)} values, the operator has one")
                returned = returned[0]
            result = self._result(returned)
            inner = [v for block in node.blocks for v in block.returns] if several and is_list else []
            self._type_as_recorded(result if inner else [result], inner or node.outputs)
            return result
        results = [self._result(x) for x in (returned if several else [returned])]
        if len(results) != len(node.outputs):
            raise LoweringError(
                f"the symbolic function returned {len(results)} value(s), the operator has {len(node.outputs)}"
            )
        self._type_as_recorded(results, node.outputs)
        return tuple(results)

    def _result(self, value: Any) -> Any:
        content = packed(content_of(value))
        if isinstance(content, (list, tuple)):
            return [self._result(v) for v in content]
        return self.tensor(content) if isinstance(content, torch.Tensor) else content

    def _type_as_recorded(self, results: Sequence[Any], outputs: Sequence[Any]) -> None:
        for result, output in zip(results, outputs):
            recorded = getattr(output, "tensor_type", None)
            if not isinstance(result, Tensor) or recorded is None:
                continue
            if result in self.untyped and recorded.dtype is not None:
                result.dtype = recorded.dtype
            self._warn_of_another_type(result, recorded)
            if result.dims is None and recorded.sizes is not None:
                fixed = not self._has_dynamic_input()
                result.dims = tuple(
                    s if fixed and s is not None else self.builder.fresh("size") for s in recorded.sizes
                )
                self.builder.declare(result)
            self.typed(result)

    def _warn_of_another_type(self, result: Tensor, recorded: TensorType) -> None:
        """Say where a symbolic function gives another dtype than PyTorch: what follows was recorded for that."""
        dtype = recorded.dtype
        if self.node is None or dtype in (None, result.dtype) or dtype.is_complex or dtype in STORED:
            return  # complex and quantized tensors are made of others
        warn(
            f"the symbolic function for {self.node.op} at {self.node.location} gives {describe(result)}, PyTorch gives "
            f"{str(dtype).removeprefix('torch.')}"
        )

    def _has_dynamic_input(self) -> bool:
        """Whether any input of the model has a size known only at run time: then recorded sizes are an example's."""
        return any(not isinstance(d, int) for v in self.builder.root.inputs for d in (v.shape or ()))


def unpacked(content: Any) -> Any:
    """A quantized tensor as symbolic functions know it: the tuple (integers, scale, zero point[, axis])."""
    if isinstance(content, QTensor):
        parts = (content.integers, content.scale, content.zero_point)
        return parts if content.axis is None else (*parts, content.axis)
    return [unpacked(c) for c in content] if isinstance(content, list) else content


def packed(content: Any) -> Any:
    """Such a tuple as a quantized tensor again."""
    if isinstance(content, list):
        return [packed(c) for c in content]
    if isinstance(content, tuple) and len(content) in (3, 4) and all(isinstance(c, Tensor) for c in content[:3]):
        integers, scale, zero_point = content[:3]
        kinds = {stored: quantized for quantized, stored in STORED.items()}
        if integers.dtype in kinds and scale.is_float:
            return QTensor(kinds[integers.dtype], integers, scale, zero_point, *content[3:])
    return content


class OriginalNode:
    """The operation being converted, as far as symbolic functions ask for it."""

    def __init__(self, node: ProgramNode) -> None:
        self.node = node

    def kind(self) -> str:
        return self.node.op.partition(".")[0]

    def scopeName(self) -> str:
        return str(self.node.scope)

    def sourceRange(self) -> str:
        return str(self.node.location.source)

    def schema(self) -> str:
        return "" if self.node.schema is None else self.node.schema.text

    def outputsSize(self) -> int:
        return len(self.node.outputs)

    def inputsSize(self) -> int:
        return len(self.node.inputs)

    def attributeNames(self) -> list[str]:
        return list(self.node.attributes)


def _tensor(value: Any) -> torch.Tensor:
    if isinstance(value, Tensor):
        return torch_tensor(value)
    return value.detach() if isinstance(value, torch.Tensor) else torch.as_tensor(np.asarray(value))


def _graph(value: Any) -> ir.Graph:
    if isinstance(value, ir.Graph):
        return value
    return ir.from_proto(value)  # type: ignore[no-any-return]


# What the letter at the end of an attribute's name makes of a value.
_LETTERS: dict[str, Callable[[Any], Any]] = {
    "i": int,
    "f": float,
    "s": lambda v: v.decode() if isinstance(v, bytes) else str(v),
    "t": _tensor,
    "z": lambda v: _tensor(v).reshape(()),
    "g": _graph,
}
