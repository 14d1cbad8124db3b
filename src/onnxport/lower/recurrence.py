"""A Loop written by a lowering: a recurrence whose number of steps is too large to unroll, or not known at export.

Loops of scripts are the business of `control_flow`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import onnx_ir as ir
import torch

from ..dims import Size
from .builder import Builder
from .finish import prune
from .values import Tensor

Step = Callable[..., Sequence[Tensor]]


def loop(g: Builder, count: Size, state: Sequence[Tensor], step: Step) -> list[Tensor]:
    """The state after `count` times `state = step(i, *state)`; dtypes and sizes stay what they are.

    What `step` returns behind the state comes out of all steps, stacked along a new first axis.
    """
    if any(x.dtype == torch.bfloat16 for x in state):
        g.require(16, "a bfloat16 tensor that a Loop carries")
    first = [g.value(x) for x in state]
    trip = g.value(g.size(count))
    with g.body() as scope:
        number, proceed = _arriving(g, torch.int64, ()), _arriving(g, torch.bool, ())
        carried = [_arriving(g, x.dtype, x.shape) for x in state]
        scope.inputs.extend([_value(x) for x in (number, proceed, *carried)])
        after = step(number, *carried)
        ends = [_copied(scope.nodes, v) for v in (_value(proceed), *[g.value(x) for x in after])]
        body = ir.Graph(scope.inputs, ends, nodes=prune(scope.nodes, ends), name="body")
    results = [_arriving(g, x.dtype, x.shape) for x in state]
    results += [_arriving(g, x.dtype, (count, *x.shape)) for x in after[len(state) :]]
    node = ir.Node("", "Loop", [trip, None, *first], [ir.AttrGraph("body", body)], outputs=[_value(x) for x in results])
    g.scope.nodes.append(node)
    if g.origin is not None:
        g.origins[node] = g.origin
    return results


def _arriving(g: Builder, dtype: torch.dtype, dims: tuple[Size, ...]) -> Tensor:
    """A new tensor of the present scope."""
    result = Tensor(dtype, dims, g.value_of(None, dtype, dims))
    g.made.append(result)
    return result


def _value(x: Tensor) -> ir.Value:
    assert x.value is not None
    return x.value


def _copied(nodes: list[ir.Node], value: ir.Value) -> ir.Value:
    """An output of a body is made in it, each by a node of its own."""
    node = ir.Node("", "Identity", [value], num_outputs=1)
    node.outputs[0].type, node.outputs[0].shape = value.type, value.shape
    nodes.append(node)
    return node.outputs[0]
