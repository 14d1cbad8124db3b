"""Convolutions of one tensor whose results are added become one.

Before:  y = Add(Conv(x, W), Conv(x, V));    y = Sub(Conv(x, W), BatchNormalization(x));    y = Add(x, Conv(x, W))
After:   y = Conv(x, W + V), the smaller kernel amid the larger one; a norm, or x itself, is a kernel of one element

This is how RepVGG, MobileOne and FastViT are meant to be run, and any other model whose branches have nothing between.

Rules:
1. Kernels move by the same steps, over the same positions; they have no holes, and the same groups.
2. A norm, in its inference form, or x itself goes with as many outputs as inputs.
3. Nothing else uses the results of the branches. Weights and biases are initializers that nothing else uses.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import onnx_ir as ir

from .affine import add_bias, normalized
from .graph import Array, Index, bypass, content, in_order, is_alone, made_by, only_use, store

FLOATS = (ir.DataType.FLOAT, ir.DataType.DOUBLE)


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel with its bias, and how it moves."""

    weight: Array
    bias: Array | None
    group: int
    strides: list[int]
    begins: list[int]  # how far it starts before the tensor, along each axis
    ends: list[int]

    @property
    def sizes(self) -> list[int]:
        return list(self.weight.shape[2:])


def merge_parallel(graph: ir.Graph, index: Index) -> bool:
    """Rewrite in place; whether anything was."""
    changed = [_merge(graph, node) for node in in_order(index, ("Add", "Sub"))]
    return any(changed)


def _merge(graph: ir.Graph, total: ir.Node) -> bool:
    left, right = total.inputs
    minus = -1 if total.op_type == "Sub" else 1
    for value, other, sign, other_sign in ((left, right, 1, minus), (right, left, minus, 1)):
        conv = made_by(value, "Conv")
        main = None if conv is None or value is None or only_use(value) is None else _kernel(conv)
        if main is None or conv is None or value is None or value.dtype not in FLOATS:
            continue
        addend = _branch(other, conv, main)
        if addend is None:
            continue
        weight, bias = _sum(main, sign, addend, other_sign)
        if weight is not None and bypass(total, value):
            _write(graph, conv, weight, bias)
            return True
    return False


def _kernel(conv: ir.Node) -> Kernel | None:
    weight, bias = content(conv.inputs[1]), conv.inputs[2] if len(conv.inputs) > 2 else None
    if weight is None or not is_alone(conv.inputs[1]) or not (bias is None or is_alone(bias)):
        return None
    axes = weight.ndim - 2
    attributes = conv.attributes
    pads = list(attributes.get_ints("pads", ()) or [0] * 2 * axes)
    if attributes.get_string("auto_pad", "NOTSET") != "NOTSET" or set(attributes.get_ints("dilations", ())) - {1}:
        return None
    strides = list(attributes.get_ints("strides", ()) or [1] * axes)
    group = attributes.get_int("group", 1)
    return Kernel(weight, content(bias), group, strides, pads[:axes], pads[axes:])


def _branch(value: ir.Value | None, conv: ir.Node, main: Kernel) -> Kernel | None:
    """What a value is of the input of a convolution, as a kernel that is added to its."""
    x = conv.inputs[0]
    if value is None or x is None or (value is not x and only_use(value) is None):
        return None
    node = made_by(value, "Conv", "BatchNormalization")
    if value is not x and (node is None or node.inputs[0] is not x or node is conv):
        return None
    if node is not None and value is not x and node.op_type == "Conv":
        return _kernel(node)
    outputs, inputs, *_ = main.weight.shape
    if outputs != inputs * main.group:
        return None
    scale, shift = np.ones(outputs), None
    if value is not x and node is not None:
        found = normalized(node)
        if found is None or found[1].scale is None or found[1].scale.size != outputs:
            return None
        scale, shift = found[1].scale, found[1].shift
    point = np.zeros((outputs, inputs))
    point[np.arange(outputs), np.arange(outputs) % inputs] = scale
    none = [0] * len(main.sizes)
    weight = point.reshape(outputs, inputs, *[1] * len(none))
    return Kernel(weight, shift, main.group, [1] * len(none), none, none)


def _sum(main: Kernel, sign: int, other: Kernel, other_sign: int) -> tuple[Array | None, Array | None]:
    """Weight and bias of both together; none if the other one isn't amid the main one."""
    if (other.group, other.strides) != (main.group, main.strides) or other.weight.shape[:2] != main.weight.shape[:2]:
        return None, None
    offsets = [a - b for a, b in zip(main.begins, other.begins)]
    beyond = [a - b for a, b in zip(main.ends, other.ends)]
    room = zip(main.sizes, other.sizes, offsets, beyond)
    if any(at < 0 or after < 0 or at + size + after != whole for whole, size, at, after in room):
        return None, None
    weight = sign * main.weight.astype(np.float64)
    amid = (slice(None), slice(None), *(slice(at, at + size) for at, size in zip(offsets, other.sizes)))
    weight[amid] += other_sign * other.weight
    bias = None
    for part, factor in ((main.bias, sign), (other.bias, other_sign)):
        if part is not None:
            bias = factor * part.astype(np.float64) + (0 if bias is None else bias)
    return weight, bias


def _write(graph: ir.Graph, conv: ir.Node, weight: Array, bias: Array | None) -> None:
    assert conv.inputs[1] is not None
    store(conv.inputs[1], lambda: weight)
    if bias is not None and len(conv.inputs) > 2 and conv.inputs[2] is not None:
        store(conv.inputs[2], lambda: bias)
    elif bias is not None:
        add_bias(graph, conv, bias)
