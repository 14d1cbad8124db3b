"""A Transpose goes past what doesn't mind, to where a chain of layout operators takes it in.

    Reshape(Add(MatMul(Transpose(x), w), b))   ->  Reshape(Transpose(Add(MatMul(x, w), b))), and then one chain
    Transpose(Add(MatMul(Reshape(x), w), b))   ->  Add(MatMul(Transpose(Reshape(x)), w), b), likewise
    Reshape(Gemm(Reshape(x), w, b))            ->  Add(MatMul(x, w), b), where both only flatten and unflatten the rows

Rules:
1. What is passed works on each element alone, or on the last axis, which stays where it is.
2. What is in between goes nowhere else, and isn't an output of the graph.
3. The chain together with the Transpose is no longer than without.
"""

from __future__ import annotations

from collections.abc import Sequence

import onnx_ir as ir

from ..graph import ELEMENTWISE, Index, is_alone, store, sweep
from .arrangement import Move, Reshape, Transpose
from .chains import cost
from .layout import Graph, put_in_place, shape_of

ARITHMETIC = frozenset({"Add", "Div", "Mul", "Sub"})


def move_transposes(graph: Graph, index: Index) -> bool:
    """Rewrite in place; whether anything was."""
    changed = [_unflatten(graph, node) for node in index.get("Gemm", ())]
    for node in index.get("Transpose", ()):
        if node.graph is graph.graph:
            changed.append(_sink(graph, node) or _rise(graph, node))
    return any(changed)


def _sink(graph: Graph, transpose: ir.Node) -> bool:
    move, value = graph.move(transpose), transpose.inputs[0]
    sizes = graph.sizes(value)
    if not isinstance(move, Transpose) or value is None or sizes is None:
        return False
    passed: list[ir.Node] = []
    node = graph.only_user(transpose.outputs[0])
    while node is not None and _may_pass(node, (passed[-1] if passed else transpose).outputs[0], move):
        passed.append(node)
        node = graph.only_user(node.outputs[0])
    if not passed or node is None or graph.move(node) is None or node.inputs[0] is not passed[-1].outputs[0]:
        return False
    chain = [m for n in graph.downwards(node) if (m := graph.move(n)) is not None]
    after = graph.sizes(passed[-1].outputs[0])
    if after is None or not _absorbs(graph, after, chain, move, at_end=False):
        return False
    _pull_out(transpose, passed[0])
    _permute(passed, [move.perm.index(i) for i in range(len(move.perm))])
    _put_in(graph, passed[-1].outputs[0], move, node)
    sweep(transpose)
    return True


def _rise(graph: Graph, transpose: ir.Node) -> bool:
    move, value = graph.move(transpose), transpose.inputs[0]
    if not isinstance(move, Transpose) or value is None:
        return False
    passed: list[ir.Node] = []
    while graph.only_user(value) is not None:
        node = value.producer()
        source = None if node is None else _passed_input(node, move)
        if node is None or node.graph is not graph.graph or source is None:
            break
        passed.insert(0, node)
        value = source
    maker = value.producer()
    if not passed or maker is None or graph.move(maker) is None or graph.only_user(value) is None:
        return False
    chain = graph.upwards(maker)
    before = graph.sizes(chain[0].inputs[0])
    moves = [m for n in chain if (m := graph.move(n)) is not None]
    if before is None or not _absorbs(graph, before, moves, move, at_end=True):
        return False
    put_in_place(transpose.outputs[0], passed[-1].outputs[0])
    _permute(passed, move.perm)
    _put_in(graph, value, move, passed[0])
    sweep(transpose)
    return True


def _absorbs(graph: Graph, sizes: Sequence[object], chain: list[Move], move: Transpose, *, at_end: bool) -> bool:
    """Whether the chain does it all in as many operators with the Transpose as without."""
    start = tuple(sizes)
    alone = graph.plan(start, chain)  # type: ignore[arg-type]
    if not at_end:
        start = tuple(start[move.perm.index(i)] for i in range(len(start)))
    joined = graph.plan(start, [*chain, move] if at_end else [move, *chain])  # type: ignore[arg-type]
    return joined is not None and cost(joined) <= cost(chain if alone is None else alone)


def _may_pass(node: ir.Node, value: ir.Value, move: Transpose) -> bool:
    return _passed_input(node, move) is value


def _passed_input(node: ir.Node, move: Transpose) -> ir.Value | None:
    """The input of a node that may be permuted instead of its output, None if there is none."""
    if node.domain != "" or not node.inputs or sum(bool(v.name) for v in node.outputs) != 1:
        return None
    rank = len(move.perm)
    keeps_last = move.perm[-1] == rank - 1
    first, rest = node.inputs[0], node.inputs[1:]
    if node.op_type in ELEMENTWISE and not rest:
        return first
    if node.op_type == "MatMul" and keeps_last and rank > 2 and _rank(node.inputs[1]) == 2:
        return first
    if node.op_type == "LayerNormalization" and keeps_last and node.attributes.get_int("axis", -1) in (-1, rank - 1):
        return first if all(v is None or _rank(v) == 1 for v in rest) else None
    if node.op_type in ARITHMETIC and len(node.inputs) == 2:
        for i, other in ((0, node.inputs[1]), (1, node.inputs[0])):
            vector = _rank(other) == 1 and (keeps_last or (other is not None and other.shape == ir.Shape([1])))
            if (_rank(other) == 0 or vector) and _rank(node.inputs[i]) == rank:
                return node.inputs[i]
    return None


def _rank(value: ir.Value | None) -> int | None:
    return None if value is None or value.shape is None else len(value.shape)


def _pull_out(transpose: ir.Node, user: ir.Node) -> None:
    for i, value in enumerate(user.inputs):
        if value is transpose.outputs[0]:
            user.replace_input_with(i, transpose.inputs[0])


def _permute(nodes: Sequence[ir.Node], perm: Sequence[int]) -> None:
    for node in nodes:
        shape = node.outputs[0].shape
        if shape is not None:
            node.outputs[0].shape = ir.Shape([shape[i] for i in perm])


def _put_in(graph: Graph, value: ir.Value, move: Transpose, user: ir.Node) -> None:
    """Transpose a value for one user of it."""
    node = graph.node("Transpose", [value], [ir.AttrInt64s("perm", list(move.perm))], user)
    assert value.shape is not None
    node.outputs[0].type = value.type
    node.outputs[0].shape = ir.Shape([value.shape[i] for i in move.perm])
    graph.graph.insert_before(user, node)
    for i, used in enumerate(user.inputs):
        if used is value:
            user.replace_input_with(i, node.outputs[0])


# -- Gemm on flattened rows ---------------------------------------------------------------------------


def _unflatten(graph: Graph, gemm: ir.Node) -> bool:
    """A product of flattened rows that is unflattened afterwards becomes one of the rows as they are."""
    flat = gemm.inputs[0]
    flatten = None if flat is None else flat.producer()
    unflatten = graph.only_user(gemm.outputs[0])
    if flat is None or flatten is None or unflatten is None or graph.only_user(flat) is not gemm:
        return False
    source = flatten.inputs[0]
    before, between, after = graph.sizes(source), graph.sizes(flat), graph.sizes(unflatten.outputs[0])
    out = graph.sizes(gemm.outputs[0])
    if source is None or before is None or between is None or after is None or out is None or len(after) < 3:
        return False
    resizes = isinstance(graph.move(flatten), Reshape) and isinstance(graph.move(unflatten), Reshape)
    if not resizes or after[-1] != out[-1] or unflatten.inputs[0] is not gemm.outputs[0]:
        return False
    rows = (*after[:-1], between[-1])
    plan = graph.plan(before, [Reshape(rows)])
    user = graph.only_user(unflatten.outputs[0])
    if plan is None or (plan and (user is None or user.op_type != "Transpose")):
        return False
    weight = _stored_once(gemm)
    if weight is None:
        return False
    product = graph.node("MatMul", [flat, weight], [], gemm)
    made = [product]
    if len(gemm.inputs) > 2 and gemm.inputs[2] is not None:
        made.append(graph.node("Add", [product.outputs[0], gemm.inputs[2]], [], gemm))
    result = unflatten.outputs[0]
    for node in made:
        node.outputs[0].type, node.outputs[0].shape = result.type, result.shape
        graph.graph.insert_before(unflatten, node)
    put_in_place(result, made[-1].outputs[0])
    sweep(unflatten)
    flat.shape = shape_of(rows)
    graph.replace([flatten], plan, source)
    return True


def _stored_once(gemm: ir.Node) -> ir.Value | None:
    """The weight of a plain Gemm as MatMul takes it, transposed in its place; None if others use it as it is."""
    weight, bias = gemm.inputs[1], gemm.inputs[2] if len(gemm.inputs) > 2 else None
    plain = gemm.attributes.get_float("alpha", 1.0) == 1 and gemm.attributes.get_float("beta", 1.0) == 1
    if not plain or gemm.attributes.get_int("transA", 0) != 0 or (bias is not None and _rank(bias) != 1):
        return None
    if weight is None or gemm.attributes.get_int("transB", 0) == 0:
        return weight
    if not is_alone(weight) or weight.const_value is None or weight.shape is None:
        return None
    old = weight.const_value
    weight.shape = ir.Shape(reversed(weight.shape))
    store(weight, lambda: old.numpy().T)
    return weight


__all__ = ["move_transposes"]
