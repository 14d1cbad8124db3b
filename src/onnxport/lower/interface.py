"""Inputs and outputs of the model: tensors, numbers and lists of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import onnx_ir as ir
import torch

from ..dims import Dim, Size, free_symbols, substitute
from ..dtypes import real_of, to_onnx
from ..errors import LoweringError, warn
from ..program import Program
from ..program.ir import Input
from ..program.labels import Labels, inverse
from . import listing, ranks
from .builder import Builder
from .quantized import STORED, QTensor, parameters
from .scope import SizeSource
from .values import ListOf, Maybe, Scalar, Tensor, describe
from .values import Sequence as ListValue

_NUMBERS: dict[type, torch.dtype] = {bool: torch.bool, int: torch.int64, float: torch.float32}

# -- inputs ---------------------------------------------------------------------------------------


def input_values(g: Builder, program: Program) -> list[Any]:
    """The values of the inputs, and their ONNX values appended to the graph's inputs."""
    known = program.labels
    symbols = {root: g.symbol(root) for size in known.derived.values() for root in free_symbols(size)}

    def size(label: str) -> Size:
        expression = known.derived.get(label)
        return g.symbol(label) if expression is None else substitute(expression, symbols)

    values = [
        _input_value(g, declared, declared.name, {axis: size(label) for axis, label in declared.axes.items()})
        for declared in program.inputs
    ]
    for declared, value in zip(program.inputs, values):
        if isinstance(value, Tensor):
            _solve(g, value, declared, known)
    return values


def _solve(g: Builder, tensor: Tensor, declared: Input, known: Labels) -> None:
    """Say how to compute sizes that are the size of no axis, from those that follow from them."""
    for axis, label in declared.axes.items():
        expression = known.derived.get(label)
        if expression is None:
            continue
        for root in free_symbols(expression):
            if g.scope.source(root) is None:
                whole = g.fresh("size")
                g.scope.sizes[str(whole)] = SizeSource(tensor, axis)
                solution = inverse(expression, root, whole)
                assert solution is not None
                g.scope.sizes[root] = SizeSource(g.size(solution), None)


def _input_value(g: Builder, declared: Input, name: str, labels: Mapping[int, Size]) -> Any:
    example = declared.example
    if isinstance(example, torch.Tensor):
        dims = [labels.get(i, int(d)) for i, d in enumerate(example.shape)]
        if example.is_quantized:
            return _quantized_input(g, name, example, dims)
        return tensor_input(g, name, example.dtype, dims)
    if isinstance(example, (bool, int, float)):
        return listing.number(type(example), tensor_input(g, name, _NUMBERS[type(example)], []), g)
    if isinstance(example, list) and example:
        if isinstance(example[0], torch.Tensor):
            return _tensors_input(g, name, example, labels)
        return _numbers_input(g, name, example, labels)
    raise LoweringError(f"an input of type {type(example).__name__} can't be an input of the graph")


def tensor_input(g: Builder, name: str, dtype: torch.dtype, dims: Sequence[Size]) -> Tensor:
    """A graph input; a complex one is real with a trailing axis of 2."""
    if dtype == torch.bfloat16:
        g.require(13, "a bfloat16 input")
    stored = real_of(dtype) if dtype.is_complex else dtype
    value = g.value_of(name, stored, [*dims, 2] if dtype.is_complex else dims)
    g.root.inputs.append(value)
    tensor = Tensor(dtype, tuple(dims), value)
    g.declare(tensor)
    return tensor


def _quantized_input(g: Builder, name: str, example: torch.Tensor, dims: Sequence[Size]) -> QTensor:
    """Three graph inputs: the integers, the scale and the zero point."""
    if example.dtype not in STORED or example.qscheme() not in (torch.per_tensor_affine, torch.per_tensor_symmetric):
        raise LoweringError(
            f"the input {name!r} is {str(example.dtype)[6:]}, {str(example.qscheme())[6:]}; inputs may be quint8, qint8 "
            "or qint32 with one scale and zero point: dequantize() it before, or quantize it in the model"
        )
    integers = tensor_input(g, f"{name}_value", STORED[example.dtype], dims)
    scale = tensor_input(g, f"{name}_scale", torch.float64, [])
    zero_point = tensor_input(g, f"{name}_zero_point", torch.int64, [])
    return QTensor(example.dtype, integers, *parameters(g, scale, zero_point, example.dtype))


def _tensors_input(g: Builder, name: str, example: list[torch.Tensor], labels: Mapping[int, Size]) -> ListValue:
    """A list of tensors: an ONNX sequence of any length. Axes with a label differ from element to element."""
    g.require(11, "a list of tensors among the inputs")
    first = example[0]
    if any(t.dtype != first.dtype for t in example):
        raise LoweringError(f"the tensors of the list {name!r} differ in dtype; pass them one by one")
    dims: tuple[Size | None, ...] | None = None
    if all(t.dim() == first.dim() for t in example):
        dims = tuple(
            int(d) if i not in labels and all(t.shape[i] == d for t in example) else None
            for i, d in enumerate(first.shape)
        )
    value = listing.sequence_value(first.dtype, name)
    g.root.inputs.append(value)
    return ListValue(Tensor, first.dtype, dims, value=value)


def _numbers_input(g: Builder, name: str, example: list[Any], labels: Mapping[int, Size]) -> Any:
    """A list of numbers: a vector; of the example's length, if its axis has no label."""
    kind = float if any(isinstance(x, float) for x in example) else type(example[0])
    vector = tensor_input(g, name, _NUMBERS[kind], [labels[0] if labels else len(example)])
    if labels:
        wide = {float: torch.float64}.get(kind, _NUMBERS[kind])
        return ListValue(kind, wide, (), rows=g.cast(vector, wide))
    return [listing.number(kind, g.gather(vector, i, 0), g) for i in range(len(example))]


# -- outputs --------------------------------------------------------------------------------------


def flatten(results: list[Any], names: list[str | None]) -> tuple[list[Any], list[str | None]]:
    """Results without their structure: elements of lists and tuples, values of dicts; None is no output.

    Keys of dicts name what has no name yet. A quantized tensor is its integers, scale and zero point. A string is
    warned of: ONNX has no use for one that is always the same.
    Where nothing is left, lists without elements are outputs, and LoweringError if there are none.
    """
    flat: list[Any] = []
    found: list[str | None] = []
    empty: list[Any] = []

    def add(value: Any, name: str | None) -> None:
        if isinstance(value, list) and not value:
            empty.append(value)
        elif isinstance(value, (list, tuple)):
            for i, part in enumerate(value):
                add(part, f"{name}.{i}" if name else None)
        elif isinstance(value, dict):
            for key, part in value.items():
                add(part, f"{name}.{key}" if name else str(key))
        elif isinstance(value, QTensor):
            for part, suffix in ((value.integers, ""), (value.scale, "_scale"), (value.zero_point, "_zero_point")):
                add(part, f"{name}{suffix}" if name else None)
        elif isinstance(value, str):
            warn(f"the model returns the string {value!r}, which is not among the outputs of the exported model")
        elif value is not None:
            flat.append(value)
            found.append(name)

    for i, result in enumerate(results):
        add(result, names[i] if i < len(names) else None)
    if not flat and empty:
        return empty, [None] * len(empty)
    if not flat:
        raise LoweringError("the model returns no tensor or number, so that the exported model would have no output")
    return flat, found


@dataclass(frozen=True, slots=True)
class OptionalValue:
    """An output that is a tensor in some runs of the model, and nothing in others."""

    value: ir.Value


def output_value(g: Builder, result: Any) -> Tensor | ListValue | OptionalValue:
    """A result as a tensor of the graph, a sequence, or an optional."""
    if isinstance(result, list):
        g.require(11, "a list of tensors among the outputs")
        return listing.as_sequence(g, listing.of_elements(g, Tensor, torch.float32, None, [], rows=False))
    if isinstance(result, Maybe):
        return _optional(g, result)
    if isinstance(result, Tensor):
        g.value(result)
        if result.dims is None:
            return ranks.likely(g, result)
        return result
    if isinstance(result, ListValue):
        if result.kind is Tensor or (isinstance(result.kind, ListOf) and result.rows is None):
            return listing.as_sequence(g, result)
        rows = listing.as_rows(g, result)
        return g.cast(rows, torch.get_default_dtype()) if rows.dtype == torch.float64 else rows
    if isinstance(result, Scalar):
        return g.cast(result.tensor, torch.get_default_dtype()) if result.kind is float else result.tensor
    if isinstance(result, bool):
        return g.const(result, torch.bool)
    if isinstance(result, (int, Dim)):
        return g.size(result)
    if isinstance(result, float):
        return g.const(result, torch.float32)
    raise LoweringError(f"the model returns {describe(result)}, which can't be an output of the graph")


def _optional(g: Builder, result: Maybe) -> OptionalValue:
    """An If: the tensor as an optional where it is present, else an optional without."""
    g.require(16, f"a result that is {result}")
    tensor = output_value(g, result.value)
    if not isinstance(tensor, Tensor) or tensor.is_complex:
        raise LoweringError(f"the model returns {result}, which can't be an output of the graph; return a tensor")
    element = ir.TensorType(ir.DataType(to_onnx(tensor.dtype)))
    shape = ir.Shape([d if isinstance(d, int) else str(d) for d in tensor.shape])
    given = ir.Node("", "Optional", [g.value(tensor)], num_outputs=1)
    kind = ir.Attr("type", ir.AttributeType.TYPE_PROTO, ir.TypeAndShape(element, shape))
    nothing = ir.Node("", "Optional", [], [kind], num_outputs=1)
    branches = [ir.Graph([], node.outputs, nodes=[node], name="body") for node in (given, nothing)]
    chosen = ir.Node(
        "",
        "If",
        [g.value(result.present.tensor)],
        [ir.AttrGraph("then_branch", branches[0]), ir.AttrGraph("else_branch", branches[1])],
        num_outputs=1,
    )
    for node in (given, nothing, chosen):
        node.outputs[0].type, node.outputs[0].shape = ir.OptionalType(element), shape.copy()
    g.root.nodes.append(chosen)
    return OptionalValue(chosen.outputs[0])
