"""Results whose number of dimensions isn't known before the model runs.

A squeeze drops an axis of size n where n turns out to be 1. Operators that follow have to know the rank of what they get,
so for them the axis stays, and the caller is warned of it. Where such a result is an output of the model, and nothing
else, it has the rank that PyTorch gives it:

    x[n, m] -> Identity -> output        becomes        x[n, m], sizes other than 1 -> Reshape -> output
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import onnx_ir as ir
import torch

from ..dims import Dim, known_eq
from ..errors import LoweringError, warn
from .builder import Builder
from .values import Tensor


@dataclass(frozen=True, slots=True)
class Squeezed:
    """A tensor, and the axes that are to be dropped where their size is 1; of them the one at run time, if given."""

    tensor: Tensor
    axes: tuple[int, ...]
    only: Dim | None = None

    def warn(self) -> None:
        if self.only is not None:
            warn(f"squeeze keeps all axes, since which one to drop, {self.only}, is known only at run time")
            return
        for axis in self.axes:
            warn(
                f"squeeze keeps the axis of size {self.tensor.shape[axis]}, which isn't known to be 1; PyTorch would drop "
                "it where it is 1"
            )

    def exactly(self, g: Builder) -> ir.Value | None:
        """The result as PyTorch has it, None if this opset can't say so."""
        x, rank = g.value(self.tensor), self.tensor.rank
        others = [size for i, size in enumerate(self.tensor.shape) if i not in self.axes]
        if self.only is None and all(known_eq(size, 1) is False for size in others):
            return g.append("Squeeze", [x], {}, 1).outputs[0]
        if g.opset < 9:
            return None
        shape = g.op("Shape", self.tensor)
        stays = g.const([i not in self.axes for i in range(rank)], torch.bool)
        if self.only is not None:
            stays = g.op("Not", g.equal(g.size(self.only % rank), g.ints(list(range(rank)))))
        sizes = g.op("Compress", shape, g.op("Or", g.op("Not", g.equal(shape, 1)), stays), axis=0)
        zeros = {"allowzero": 1} if g.opset >= 14 else {}
        return g.append("Reshape", [x, g.value(sizes)], zeros, 1).outputs[0]


def squeezed(g: Builder, x: Tensor, axes: Sequence[int], only: Dim | None = None) -> Tensor:
    """`x` without the axes (the one axis, known at run time) whose sizes are 1, as far as its rank can be told."""
    squeeze = Squeezed(x, tuple(axes), only)
    if g.scope is not g.root:
        squeeze.warn()
        return x
    value = g.append("Identity", [g.value(x)], {}, 1).outputs[0]
    g.squeezed[value] = squeeze
    result = Tensor(x.dtype, x.dims, value)
    g.made.append(result)
    return result


def kept(g: Builder, x: Tensor) -> Tensor:
    """`x` for what says which sizes it has: with the axes that may have been dropped."""
    squeeze = None if x.value is None else g.squeezed.get(x.value)
    if squeeze is None:
        return x
    squeeze.warn()
    return squeeze.tensor  # type: ignore[no-any-return]


def settle(g: Builder, outputs: Sequence[object]) -> None:
    """Give outputs that were squeezed their rank; what uses others goes on with the axes kept."""
    for value, squeeze in g.squeezed.items():
        found = [x for x in outputs if isinstance(x, Tensor) and x.value is value]
        exact = squeeze.exactly(g) if found else None
        if exact is not None:
            for output in found:
                output.value = exact
        if value.uses() or (found and exact is None):
            squeeze.warn()
        for node, index in tuple(value.uses()):
            node.replace_input_with(index, squeeze.tensor.value)


def likely(g: Builder, result: Tensor) -> Tensor:
    """An output of unknown rank, declared with that of the one branch of the If that it comes from.

    ONNX has no word for an output of unknown rank; onnxruntime takes another one than is declared.
    """
    assert result.value is not None
    rank = _rank(g, result.value)
    if rank is None or g.opset < 11:
        raise LoweringError(
            "an output has one number of dimensions or another, as an If or Loop goes; an output of a model must "
            f"have one: make the ranks agree{'' if rank is None else ', or use opset 11'}"
        )
    warn(
        f"an output has one number of dimensions or another, as an If goes; the exported model declares {rank}, and "
        "runtimes other than onnxruntime may hold it to that"
    )
    return Tensor(result.dtype, tuple(g.fresh("size") for _ in range(rank)), result.value)


def _rank(g: Builder, value: ir.Value) -> int | None:
    tensor, node = g.tensor_of(value), value.producer()
    if tensor.dims is not None:
        return tensor.rank
    if node is None:
        return None
    if node.op_type == "If":
        branches = [node.attributes[name].as_graph() for name in ("then_branch", "else_branch")]
        ranks = [_rank(g, branch.outputs[value.index() or 0]) for branch in branches]
        return next((rank for rank in ranks if rank is not None), None)
    unknown = (x for x in node.inputs if x is not None and g.tensor_of(x).dims is None)
    return next((rank for rank in (_rank(g, x) for x in unknown) if rank is not None), None)
