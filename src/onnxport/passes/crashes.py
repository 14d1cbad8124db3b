"""A product with one matrix behind a Transpose and a Cast, at which onnxruntime crashes when it loads the model.

Before:  y = MatMul(Cast(Transpose(x)), W)              with W of two axes
After:   y = MatMul(Cast(Transpose(x)), Unsqueeze(W))

onnxruntime 1.32 takes such a Transpose, of batches into rows, into the product, and fails where there is a Cast between
them: one of the model, or its own around the product of float16. It leaves products of batches alone. This isn't about
speed: it is done for models of all modes.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import onnx_ir as ir

from .graph import constant, sizes


def keep_from_crashing(graph: ir.Graph) -> None:
    """Rewrite in place, in bodies as well."""
    transposes = [node for node in graph.all_nodes() if _is(node, "Transpose")]
    for transpose in transposes:
        perm, result = list(transpose.attributes.get_ints("perm", ())), transpose.outputs[0]
        if len(perm) > 2 and perm[:-2] == list(range(1, len(perm) - 1)):
            for product, position in dict.fromkeys(_behind(result, result.dtype == ir.DataType.FLOAT16)):
                other = sizes(product.inputs[1 - position])
                if other is not None and len(other) == 2:
                    _unsqueeze(graph, product, 1 - position, len(perm) - 2)


def _behind(value: ir.Value, cast: bool) -> Iterator[tuple[ir.Node, int]]:
    """Products of a value that is cast, and which operand it is."""
    for node, position in value.uses():
        if _is(node, "MatMul") and cast:
            yield node, position
        elif _is(node, "Cast") or _is(node, "Identity"):
            yield from _behind(node.outputs[0], cast or node.op_type == "Cast")


def _is(node: ir.Node, op_type: str) -> bool:
    return not node.domain and node.op_type == op_type


def _unsqueeze(graph: ir.Graph, product: ir.Node, position: int, count: int) -> None:
    matrix = product.inputs[position]
    assert matrix is not None and matrix.shape is not None and isinstance(product.graph, ir.Graph)
    axes = constant(graph, "constant", np.arange(count)) if graph.opset_imports[""] >= 13 else None
    attributes = [] if axes is not None else [ir.AttrInt64s("axes", range(count))]
    inputs = [matrix] if axes is None else [matrix, axes]
    node = ir.Node("", "Unsqueeze", inputs, attributes, num_outputs=1, name=f"{product.name}/Unsqueeze")
    made = node.outputs[0]
    made.name, made.type, made.shape = (
        f"{product.name}/Unsqueeze_output_0",
        matrix.type,
        ir.Shape([*[1] * count, *matrix.shape]),
    )
    product.graph.insert_before(product, node)
    product.replace_input_with(position, made)
