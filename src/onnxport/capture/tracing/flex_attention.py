"""`flex_attention`, recorded as the operators that it is made of.

Its functions of scores and masks are written for single elements. They are called once, on indices that broadcast, which
is the same as long as all that they do with these is elementwise or a lookup by an index for each axis; that is looked at
while they run. Where they do more, `torch.vmap` calls them, of which only `torch.export` knows what to record.
"""

from __future__ import annotations

import contextlib
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from unittest import mock

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from ..shared import shared

# A text of an error of `compiled.refused`.
MORE_THAN_ELEMENTWISE = "a function given to flex_attention does more than elementwise operators and lookups"

Function = Callable[..., torch.Tensor]

_indexing: dict[str, Any] = {}  # torch's mode in which tensors without axes look up elements

# Operators that keep the axes of elements apart, beside those that are elementwise.
_APART = frozenset(
    {"_to_copy", "alias", "clone", "detach", "expand", "lift_fresh", "new_ones", "new_zeros", "new_full", "new_empty",
     "ones_like", "zeros_like", "full_like", "empty_like", "_assert_tensor_metadata"}
)  # fmt: skip


@shared
@contextlib.contextmanager
def attention_recorded() -> Iterator[None]:
    """Calls of flex_attention compute with operators, and masks of blocks are made without torch.vmap."""
    with contextlib.ExitStack() as changes:
        function: Any = sys.modules.get("torch.nn.attention.flex_attention")
        if function is not None:
            changes.enter_context(mock.patch.object(type(function.flex_attention_hop), "__call__", _attend))
            # Else it compiles the call of its operator, which can't be recorded.
            changes.enter_context(mock.patch.object(function, "_FLEX_ATTENTION_DISABLE_COMPILE_DEBUG", True))
            changes.enter_context(mock.patch.object(function, "_vmap_for_bhqkv", _for_all))
            changes.enter_context(mock.patch.object(function, "_ordered_to_dense", _listed))
            # Indices that broadcast are tensors, which need no function that can't be recorded to look up by them.
            from torch._dynamo import _trace_wrapped_higher_order_op as lookups

            _indexing.setdefault("by numbers", lookups.TransformGetItemToIndex)
            changes.enter_context(mock.patch.object(lookups, "TransformGetItemToIndex", contextlib.nullcontext))
        yield


def _attend(
    _: Any,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    score_mod: Function,
    block_mask: Sequence[Any],
    scale: float,
    kernel_options: Any,
    score_mod_other_buffers: Sequence[Any] = (),
    mask_mod_other_buffers: Sequence[Any] = (),
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The result; logarithms of the sums and largest scores, for the base 2. Scores are float32 at least."""
    wide = torch.promote_types(query.dtype, torch.float32)
    scores = plain = _grouped(query.to(wide), key.to(wide).transpose(-2, -1)) * scale
    indices = [torch.arange(scores.size(i), device=scores.device) for i in range(4)]
    scores = _of_all(score_mod, [scores], indices, score_mod_other_buffers)
    blind = None if scores is plain else scores.amax(-1) == -math.inf
    if not _is_empty(block_mask[-1]):
        seen = _of_all(block_mask[-1], [], indices, mask_mod_other_buffers)
        scores = torch.where(seen, scores, -math.inf)
        blind = ~seen.any(-1) if blind is None else scores.amax(-1) == -math.inf
    result, sums = _grouped(torch.softmax(scores, -1).to(query.dtype), value), scores.logsumexp(-1)
    if blind is not None:
        result, sums = result.masked_fill(blind.unsqueeze(-1), 0), sums.masked_fill(blind, -math.inf)
    return result, sums / math.log(2), scores.amax(-1) / math.log(2)


def _is_empty(mask: Any) -> bool:
    """Whether it is the mask that hides nothing, which is there where none is given."""
    from torch.nn.attention.flex_attention import noop_mask

    if not isinstance(mask, torch.fx.GraphModule):
        return mask is noop_mask
    targets = [
        getattr(node.target, "__name__", "") for node in mask.graph.nodes if node.op not in ("placeholder", "output")
    ]
    return targets == ["new_ones.default"]


def _grouped(heads: torch.Tensor, shared: torch.Tensor) -> torch.Tensor:
    """A matrix product of [b, h, ...] and [b, g, ...], of which each of g is for h / g heads."""
    if heads.shape[1] == shared.shape[1]:
        return heads @ shared
    product = torch.unflatten(heads, 1, (shared.shape[1], -1)) @ shared.unsqueeze(2)
    return product.flatten(1, 2)


def _for_all(function: Function, prefix: tuple[Any, ...], *_: Any, **__: Any) -> Function:
    """What stands for the function of torch that has a function of elements called for all of them."""

    def call(*args: torch.Tensor) -> torch.Tensor:
        indices = args[len(prefix) : len(prefix) + 4]
        result = _of_all(function, args[: len(prefix)], indices, args[len(prefix) + 4 :])
        return result.expand([index.size(0) for index in indices])

    return call


def _of_all(
    function: Function, first: Sequence[torch.Tensor], indices: Sequence[torch.Tensor], rest: Sequence[Any]
) -> torch.Tensor:
    """What a function gives for all elements, axes left at 1 that it doesn't tell apart."""
    tracing = bool(torch._C._get_tracing_state())
    placed = [index.view([1] * i + [-1] + [1] * (3 - i)) for i, index in enumerate(indices)]
    try:
        with _Elementwise([*first, *placed]) as seen:
            result = function(*first, *placed, *rest)
        if seen.all:
            return result
    except (IndexError, RuntimeError, TypeError) as error:
        if tracing:
            raise RuntimeError(MORE_THAN_ELEMENTWISE) from error
    if tracing:
        raise RuntimeError(MORE_THAN_ELEMENTWISE)
    return _by_vmap(function, first, indices, rest)


def _by_vmap(
    function: Function, first: Sequence[torch.Tensor], indices: Sequence[torch.Tensor], rest: Sequence[Any]
) -> torch.Tensor:
    others = (None,) * len(rest)
    for axis in reversed(range(4)):
        own = tuple(0 if i == axis else None for i in range(4))
        function = torch.vmap(function, (*(0 for _ in first), *own, *others))
    with _indexing["by numbers"]():
        return function(*first, *indices, *rest)


class _Elementwise(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Whether all that is done with some tensors, and with what is made of them, is for each element on its own."""

    def __init__(self, tensors: Sequence[torch.Tensor]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.all = True
        self._made = list(tensors)  # held, so that no other tensor gets one's id
        self._known = {id(tensor) for tensor in tensors}

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        if any(map(self._is_known, args)):
            self.all &= self._is_apart(func, args)
            for tensor in result if isinstance(result, (list, tuple)) else (result,):
                self._made.append(tensor)
                self._known.add(id(tensor))
        return result

    def _is_known(self, argument: Any) -> bool:
        if isinstance(argument, (list, tuple)):
            return any(map(self._is_known, argument))
        return id(argument) in self._known

    def _is_apart(self, func: Any, args: tuple[Any, ...]) -> bool:
        name = func._schema.name.removeprefix("aten::")
        if name == "index":
            table, indices = args
            known = [self._is_known(index) for index in indices]
            return not self._is_known(table) and len(indices) == table.dim() and all(known)
        return torch.Tag.pointwise in func.tags or name in _APART


def _listed(counts: torch.Tensor, indices: torch.Tensor, columns: int | None = None) -> torch.Tensor:
    """A row of zeros and ones for each list of indices, of which the first `counts` matter."""
    columns = indices.size(-1) if columns is None else columns
    there = torch.arange(indices.size(-1), device=indices.device) < counts.unsqueeze(-1)
    places = torch.where(there, indices, columns).to(torch.int64)
    rows = torch.zeros(*indices.shape[:-1], columns + 1, dtype=torch.int32, device=indices.device)
    return rows.scatter(-1, places, 1)[..., :columns]
