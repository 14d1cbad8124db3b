"""Scales and shifts by constants become part of the weights that they follow.

Before:  y = BatchNormalization(Conv(x, W, b), scale, B, mean, var)
After:   y = Conv(x, W * k, (b - mean) * k + B)    with k = scale / sqrt(var + epsilon), one for each channel

Before:  y = Mul(Transpose(Add(MatMul(x, W), b)), gamma)
After:   y = Transpose(Add(MatMul(x, W * gamma), b * gamma))

Rules:
1. What is rewritten is BatchNormalization in its inference form, or Mul, Div, Add or Sub with a constant that has one
   element or one for each channel.
2. The weights are of Conv, ConvTranspose, Gemm, or MatMul with a matrix on its right. Between them and the scale there
   may be a bias, ops that only move elements, and a Split or Gathers of single indices, where the weights of the other
   parts stay as they are; for a scale of one element also products of two activations.
3. None of the values between goes anywhere else, nor is an output of the graph.
4. Weight and bias are initializers that nothing else uses, so that no weight is stored twice.
5. All factors and products are numbers of the weights' type: nothing overflows, and no channel gets lost among the
   smallest numbers.
The new weight keeps the name of the old. A large one is computed when it is written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np
import onnx_ir as ir

from .graph import (
    Array,
    Index,
    bypass,
    constant,
    content,
    in_order,
    ints,
    is_alone,
    is_constant,
    only_use,
    same_count,
    sizes,
    store,
)

FAR = 2.0**40  # a factor that takes weights of the usual sizes out of the range of float32

SUMS = frozenset({"Add", "BatchNormalization", "Conv", "Gemm", "MatMul", "Sub", "Sum"})


@dataclass(slots=True)
class Affine:
    """x * scale + shift: numbers, or vectors along an axis; None for a scale of 1 and a shift of 0."""

    scale: Array | None
    shift: Array | None
    axis: int | None  # None for numbers

    def along(self, part: Array, rank: int) -> Array:
        """The scale or shift in a form that broadcasts to a tensor of this rank."""
        return part.reshape(()) if self.axis is None else part.reshape([-1] + [1] * (rank - 1 - self.axis))

    def embed(self, axis: int, size: int, start: int, length: int) -> bool:
        """What it is along an axis of this size, of which it is a part, so far; False where it goes along another."""
        if self.axis not in (None, axis):
            return False
        whole = slice(start, start + length)
        for name, rest in (("scale", 1.0), ("shift", 0.0)):
            part = getattr(self, name)
            if part is not None:
                vector = np.full(size, rest)
                vector[whole] = part
                setattr(self, name, vector)
        self.axis = axis
        return True

    def spread(self, axes: Sequence[int | str], position: int, axis: int) -> bool:
        """What it is along the axis that was split into `axes`, of which it goes along one."""
        if len(axes) > 1 and not all(isinstance(size, int) for size in axes):
            return False
        for name in ("scale", "shift"):
            part = getattr(self, name)
            if part is not None and len(axes) > 1:
                form = [-1 if i == position else 1 for i in range(len(axes))]
                setattr(self, name, np.broadcast_to(part.reshape(form), [int(size) for size in axes]).reshape(-1))
        self.axis = axis
        return True


@dataclass(slots=True)
class Plan:
    """New contents of weights and biases, and the product that gets a bias which had none."""

    contents: list[tuple[ir.Value, Callable[[], Array]]] = field(default_factory=list)
    bias: tuple[ir.Node, Array] | None = None


def fold_affine(graph: ir.Graph, index: Index) -> bool:
    """Rewrite in place; whether anything was."""
    nodes = in_order(index, ("BatchNormalization", "Mul", "Div", "Add", "Sub"))
    changed = [_fold(graph, node) for node in nodes]
    return any(changed)


def _fold(graph: ir.Graph, node: ir.Node) -> bool:
    found = normalized(node) if node.op_type == "BatchNormalization" else _arithmetic(node)
    if found is None:
        return False
    source, affine = found
    if affine.shift is not None and affine.scale is None and not affine.shift.any() and _sums(node.outputs[0]):
        return bypass(node, source)
    plan = Plan()
    if not _into(source, affine, plan):
        return False
    if plan.bias is not None:
        product = plan.bias[0].outputs[0]
        total = add_bias(graph, *plan.bias)
        source = total if source is product else source
    if not bypass(node, source):
        return False
    for value, compute in plan.contents:
        store(value, compute)
    return True


# -- what a node does ---------------------------------------------------------------------------------


def normalized(node: ir.Node) -> tuple[ir.Value, Affine] | None:
    found = [content(value) for value in node.inputs[1:5]]
    if len(node.outputs) > 1 or node.inputs[0] is None or any(array is None for array in found):
        return None
    scale, shift, mean, variance = (np.asarray(array, dtype=np.float64) for array in found)
    with np.errstate(all="ignore"):
        factor = scale / np.sqrt(variance + node.attributes.get_float("epsilon", 1e-5))
        rest = shift - mean * factor
    return (node.inputs[0], Affine(factor, rest, 1)) if is_finite(factor) and is_finite(rest) else None


def _arithmetic(node: ir.Node) -> tuple[ir.Value, Affine] | None:
    """Of Mul, Div, Add or Sub with a constant, float32 or float64."""
    first, second = node.inputs
    if node.op_type in ("Mul", "Add") and is_constant(first):
        first, second = second, first
    if first is None or second is None or not is_constant(second) or is_constant(first):
        return None
    if first.dtype not in (ir.DataType.FLOAT, ir.DataType.DOUBLE) or first.shape is None or second.shape is None:
        return None
    dims, own = first.shape, second.shape
    long = [i - len(own) for i, d in enumerate(own) if d != 1]
    if len(own) > len(dims) or len(long) > 1 or any(dims[i] != own[i] for i in long):
        return None
    number = np.asarray(content(second), dtype=np.float64).reshape(-1)
    with np.errstate(all="ignore"):
        number = 1 / number if node.op_type == "Div" else -number if node.op_type == "Sub" else number
    if not _fits(number, first.dtype.numpy()):
        return None
    axis = long[0] + len(dims) if long else None
    return first, Affine(number, None, axis) if node.op_type in ("Mul", "Div") else Affine(None, number, axis)


def _sums(value: ir.Value) -> bool:
    """Whether all that uses a value adds to it: 0.0, which is not quite nothing to add to -0.0, may as well be left out."""
    users = [use.node for use in value.uses()]
    return not value.is_graph_output() and all(n.op_type in SUMS and not n.domain for n in users)


def is_finite(array: Array) -> bool:
    return bool(np.isfinite(array).all())


def _fits(array: Array, dtype: np.dtype[Any]) -> bool:
    """Whether numbers are finite in a type."""
    with np.errstate(over="ignore"):
        return is_finite(array.astype(dtype))


# -- the way to the weights ---------------------------------------------------------------------------


def _into(value: ir.Value | None, affine: Affine, plan: Plan) -> bool:
    """Plan how what makes the value takes over the scale and shift; False where it can't."""
    shared = False
    while value is not None and (shared or only_use(value) is not None):
        shared = False
        node = value.producer()
        if node is None or node.domain or not node.inputs:
            return False
        part, value = value, node.inputs[0]
        if node.op_type in ("Conv", "ConvTranspose", "Gemm"):
            return _weighted(node, affine, plan)
        if node.op_type == "MatMul" and is_constant(node.inputs[1]):
            return _matrix(node, affine, plan)
        if node.op_type == "Add" and any(is_constant(v) for v in node.inputs):
            bias, value = node.inputs if is_constant(node.inputs[0]) else reversed(node.inputs)
            if not _biased(bias, value, affine, plan):
                return False
            if affine.scale is None:
                return True
        elif node.op_type in ("Reshape", "Squeeze", "Unsqueeze", "Transpose"):
            if not _moved(node, affine):
                return False
        elif node.op_type in ("Gather", "Split"):
            shared = node.op_type == "Gather"
            if not (_picked(node, affine) if shared else _cut(node, part, affine)):
                return False
        elif node.op_type == "MatMul" and affine.axis is None and affine.shift is None:
            before, scale = len(plan.contents), affine.scale
            if _into(value, affine, plan):
                return True
            del plan.contents[before:]
            affine.scale, affine.axis = scale, None
            value = node.inputs[1]
        else:
            return False
    return False


def _moved(node: ir.Node, affine: Affine) -> bool:
    """Go back past an op that only moves elements."""
    if affine.axis is None:
        return True
    if node.op_type == "Transpose":
        perm = node.attributes.get_ints("perm", ())
        affine.axis = perm[affine.axis] if perm else len(node.outputs[0].shape or ()) - 1 - affine.axis
        return affine.axis >= 0
    before, after = sizes(node.inputs[0]), sizes(node.outputs[0])
    if before is None or after is None:
        return False
    for i, size in enumerate(before):
        for first in range(affine.axis + 1):
            for end in range(affine.axis + 1, len(after) + 1):
                axes = after[first:end]  # which this axis was split into
                here = same_count(before[:i], after[:first]) or same_count(before[i + 1 :], after[end:])
                if here and same_count([size], axes):
                    return affine.spread(axes, affine.axis - first, i)
    return False


def _cut(node: ir.Node, part: ir.Value, affine: Affine) -> bool:
    """Go back past a Split: the other parts are multiplied by 1 and nothing is added to them."""
    lengths = ints(node, "split", 1)
    if lengths is None or part.shape is None:
        return False
    axis = node.attributes.get_int("axis", 0) % len(part.shape)
    at = node.outputs.index(part)
    return affine.embed(axis, sum(lengths), sum(lengths[:at]), lengths[at])


def _picked(node: ir.Node, affine: Affine) -> bool:
    """Go back past a Gather of one index, where all others take other indices."""
    source, index = node.inputs[0], content(node.inputs[1])
    if source is None or source.shape is None or source.is_graph_output() or affine.axis is not None:
        return False
    axis = node.attributes.get_int("axis", 0)
    taken = []
    for use in source.uses():
        number = content(use.node.inputs[1]) if use.node.op_type == "Gather" and not use.idx else None
        if use.node.domain or number is None or number.ndim or use.node.attributes.get_int("axis", 0) != axis:
            return False
        taken.append(int(number))
    axis %= len(source.shape)
    size = source.shape[axis]
    if index is None or not isinstance(size, int) or len({i % size for i in taken}) < len(taken):
        return False
    return affine.embed(axis, size, int(index) % size, 1)


def _biased(bias: ir.Value | None, source: ir.Value | None, affine: Affine, plan: Plan) -> bool:
    """Scale and shift a bias; what it is added to then takes the scale alone."""
    if bias is None or source is None or bias.shape is None or source.shape is None or not is_alone(bias):
        return False
    rank, own = len(source.shape), len(bias.shape)
    long = [i + rank - own for i, d in enumerate(bias.shape) if d != 1]
    if own > rank or len(long) > 1 or (long and affine.axis not in (None, long[0])):
        return False
    if any(source.shape[i] != bias.shape[i - rank] for i in long):  # the sum is larger than what it is added to
        return False
    new = np.asarray(content(bias), dtype=np.float64)
    if affine.scale is not None:
        new = new * affine.along(affine.scale, rank)
    if affine.shift is not None:
        new = new + affine.along(affine.shift, rank)
    if not _fits(new, _dtype(bias)):
        return False
    affine.shift = None
    plan.contents.append((bias, lambda: new))
    return True


def _matrix(node: ir.Node, affine: Affine, plan: Plan) -> bool:
    weight, result = node.inputs[1], node.outputs[0]
    if weight is None or weight.shape is None or result.shape is None or len(weight.shape) != 2:
        return False
    shift = np.zeros(0) if affine.shift is None else affine.shift
    if affine.scale is None or not is_alone(weight) or affine.axis not in (None, len(result.shape) - 1):
        return False
    if not _scales(weight, affine.scale) or not _fits(shift, _dtype(weight)):
        return False
    plan.contents.append((weight, _scaled(weight, affine.scale)))
    if affine.shift is not None:
        plan.bias = node, affine.shift
    return True


def _weighted(node: ir.Node, affine: Affine, plan: Plan) -> bool:
    """A convolution or Gemm, which has a bias of its own."""
    weight, bias = node.inputs[1], node.inputs[2] if len(node.inputs) > 2 else None
    if affine.axis not in (None, 1) or weight is None or weight.shape is None:
        return False
    if node.op_type == "ConvTranspose" and affine.axis is not None and node.attributes.get_int("group", 1) != 1:
        return False
    if node.attributes.get_float("beta", 1.0) != 1:
        return False
    if bias is not None and (not is_alone(bias) or bias.shape is None or len(bias.shape) > 1):
        return False
    if affine.scale is not None:
        if not is_alone(weight):
            return False
        outputs = 1 if node.op_type == "ConvTranspose" else 0
        if node.op_type == "Gemm":
            outputs = 1 - node.attributes.get_int("transB", 0)
        behind = [1] * (len(weight.shape) - 1 - outputs)
        factor = affine.scale if affine.axis is None else affine.scale.reshape([-1, *behind])
        if not _scales(weight, factor):
            return False
        plan.contents.append((weight, _scaled(weight, factor)))
    if bias is not None:
        new = np.asarray(content(bias), dtype=np.float64)
        new = new if affine.scale is None else new * affine.scale
        new = new if affine.shift is None else new + affine.shift
        if not _fits(new, _dtype(bias)):
            return False
        plan.contents.append((bias, lambda: new))
    elif affine.shift is not None:
        channels = weight.shape[0]
        if node.op_type == "ConvTranspose":
            channels = weight.shape[1] * node.attributes.get_int("group", 1)
        if node.op_type == "Gemm" or affine.shift.size != channels or not _fits(affine.shift, _dtype(weight)):
            return False
        plan.bias = node, affine.shift
    return True


def _dtype(value: ir.Value) -> np.dtype[Any]:
    assert value.type is not None
    return value.type.dtype.numpy()


def _scales(weight: ir.Value, factor: Array) -> bool:
    """Whether weights can be multiplied in their own type, with no more than rounding: all products are finite, and the
    largest of a channel isn't so small that it has fewer digits. Looked at where the type or the factor makes it likely."""
    dtype, size = _dtype(weight), np.abs(factor[factor != 0])
    if not _fits(factor, dtype):
        return False
    if dtype != np.float16 and not (size > FAR).any() and not (size < 1 / FAR).any():
        return True
    array = content(weight)
    assert array is not None
    limits = ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]
    over = tuple(i for i in range(array.ndim) if i < array.ndim - factor.ndim or factor.shape[i - array.ndim] == 1)
    largest = np.abs(array).max(axis=over, keepdims=True, initial=0).astype(np.float64)
    products = largest * np.abs(factor)
    return bool(((products <= float(limits.max)) & ((products >= float(limits.tiny)) | (products == 0))).all())


def _scaled(weight: ir.Value, factor: Array) -> Callable[[], Array]:
    """Element by element in the weight's own type: a large one must not be held in double precision."""
    old = weight.const_value
    assert old is not None

    def compute() -> Array:
        array = old.numpy()
        return np.asarray(array * factor.astype(array.dtype))

    return compute


# -- changes ------------------------------------------------------------------------------------------


def add_bias(graph: ir.Graph, node: ir.Node, shift: Array) -> ir.Value:
    """Give a convolution or product a bias, named after its weight; the result with it."""
    weight = node.inputs[1]
    assert weight is not None and weight.type is not None
    stem = (weight.name or "weight").removesuffix("weight").rstrip(".")
    name = f"{stem}.bias" if stem else "bias"
    bias = constant(graph, name, shift.astype(weight.type.dtype.numpy()))
    if node.op_type != "MatMul":
        node.resize_inputs(3)
        node.replace_input_with(2, bias)
        return node.outputs[0]
    product = node.outputs[0]
    user = only_use(product)
    assert user is not None
    total = ir.Node("", "Add", [product, bias], num_outputs=1, name=f"{node.name}_bias")
    total.outputs[0].name = f"{product.name}_bias"
    total.outputs[0].type, total.outputs[0].shape = product.type, product.shape
    graph.insert_after(node, total)
    for i, value in enumerate(user.inputs):
        if value is product:
            user.replace_input_with(i, total.outputs[0])
    return total.outputs[0]
