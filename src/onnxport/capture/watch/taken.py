"""Records the numbers and bools that Python takes out of sizes while a model is traced; `conditions` has what they are used for.

What they were taken from is returned by the trace, beside the model's outputs, until the trace is over.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any

import torch

from ..tracing.exact_floats import exact
from ..tracing.traced_sizes import is_number, is_size
from .asked import is_caught
from .computation import Number, content, cut, packed_outputs
from .conditions import Conditions
from .messages import only_tells, refuses
from .pitfalls import KEYS, place_of_call, place_unless_told, what_is_taken

Function = Callable[..., Any]

# Functions that take one number out of a tensor.
TAKES_NUMBERS: frozenset[Function] = frozenset(
    {torch.Tensor.__bool__, torch.Tensor.__int__, torch.Tensor.__index__, torch.Tensor.__float__, torch.Tensor.item,
     torch.Tensor.__len__, torch.Tensor.__format__, torch.Tensor.__repr__}
)  # fmt: skip
# Functions that take numbers which aren't kept, but for single ones.
ARRAYS = (torch.Tensor.__array__, torch.Tensor.__array_wrap__)  # of a function of numpy: its argument, and its result
_TAKES_MORE = (torch.Tensor.tolist, torch.Tensor.numpy, torch.Tensor.__array__)
# A model that takes so many is traced again instead.
_MANY = 1000


class Taken:
    """The numbers that one run takes.

    Attributes:
        lost: whether numbers were taken that can't be computed again.
        incomplete: whether there are more than those that are kept.
    """

    def __init__(self) -> None:
        self.lost = self.incomplete = False
        self._numbers: list[Number] = []
        self._tensors: list[torch.Tensor] = []  # what each was taken from

    def watched(self) -> dict[Function, Function]:
        """The functions that take numbers, and what calls them and keeps the tensor."""
        more = {function: self._watch_more(function) for function in _TAKES_MORE}
        return {**more, **{function: self._watch(function) for function in TAKES_NUMBERS}}

    def _watch_more(self, function: Function) -> Function:
        def watch(tensor: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
            if function in ARRAYS and torch._C._get_tracing_state() and not tensor.dim() and is_number(tensor):
                self.take(exact(tensor), None, place_unless_told(), what_is_taken(function))
            else:
                self.incomplete = True
            return function(tensor, *args, **kwargs)

        return watch

    def _watch(self, function: Function) -> Function:
        def watch(tensor: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
            of_axis = function is torch.Tensor.__len__
            if torch._C._get_tracing_state() and (tensor.dim() or not of_axis):  # else it raises
                tensor = exact(tensor)
                number: Any = tensor.size(0) if of_axis else tensor
                if function is torch.Tensor.__int__ and number.is_floating_point():
                    number = number.to(torch.int64)  # rounded as Python rounds it
                decides = function is torch.Tensor.__bool__
                tells = only_tells(place_of_call())
                if decides or not tells:
                    place = "" if tells else place_unless_told()
                    ends = decides and not tells and refuses(place) and not is_caught(sys._getframe(2))
                    self.take(number, bool if decides else None, place, what_is_taken(function), ends=ends)
                if function is torch.Tensor.__repr__ and is_size(tensor):
                    return repr(content(tensor, None))
            return function(tensor, *args, **kwargs)

        return watch

    def take(
        self, tensor: Any, kind: type | None = None, place: str = "", what: str = "", *, ends: bool = False
    ) -> None:
        """Keep a tensor of one element, as it is now; what matters of it is what it is as a bool, or the number."""
        if len(self._numbers) == _MANY or tensor.numel() != 1:
            self.lost = True
            return
        self._tensors.append(tensor)
        self._numbers.append(Number(content(tensor, kind), kind, place, what, ends))

    def compare(self, a: torch.Tensor, b: torch.Tensor | int, place: str) -> None:
        """Keep whether a size is equal to another, or to a number."""
        self.take(a == b, bool, place, KEYS)

    def clear(self) -> None:
        self.lost = self.incomplete = False
        self._numbers.clear()
        self._tensors.clear()

    def tensors(self) -> list[torch.Tensor]:
        """What the trace has to return, if nothing was written to since then."""
        self.lost |= any(content(t, n.kind) != n.content for t, n in zip(self._tensors, self._numbers))
        return [] if self.lost else self._tensors

    def settle(self, graph: Any, arguments: Iterable[Any]) -> Conditions:
        """Take what they are computed from out of the returns of the graph."""
        count = 0 if self.lost else len(self._tensors)
        self._tensors.clear()
        values = []
        if count:
            packed = packed_outputs(graph)
            first, end = packed.inputsSize() - count, packed.inputsSize()
            values = [packed.inputsAt(i) for i in range(first, end)]
            cut(packed, first, end)
        return Conditions(graph, arguments, zip(self._numbers, values), lost=self.lost, incomplete=self.incomplete)
