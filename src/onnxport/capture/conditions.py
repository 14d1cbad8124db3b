"""Numbers and bools that Python takes out of sizes while a model is traced: `if n > 4`, `assert h % 8 == 0`, `int(n)`.

What they were taken from stays in the trace, beside the model's outputs, so that they can be computed for other sizes
without the model: where all of them are what they are in the example, Python goes the same way, and the trace is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

Function = Callable[..., Any]
Number = int | float | bool

# Functions that take one number out of a tensor.
TAKES_NUMBERS: frozenset[Function] = frozenset(
    {torch.Tensor.__bool__, torch.Tensor.__int__, torch.Tensor.__index__, torch.Tensor.__float__, torch.Tensor.item,
     torch.Tensor.__len__, torch.Tensor.__format__}
)  # fmt: skip
# A model that takes so many is traced again instead.
_MANY = 1000


class Conditions:
    """The numbers that one run takes, and what the graph of its trace computes them from."""

    def __init__(self) -> None:
        self.lost = False  # whether numbers were taken that can't be computed again
        self.numbers: list[Number] = []
        self._kinds: list[type | None] = []
        self._tensors: list[torch.Tensor] = []
        self._graph: Any = None
        self._values: list[Any] = []
        self._function: Function | None = None
        self._operations = 0

    def watched(self) -> dict[Function, Function]:
        """The functions that take numbers, and what calls them and keeps the tensor."""
        return {function: self._watch(function) for function in TAKES_NUMBERS}

    def _watch(self, function: Function) -> Function:
        def watch(tensor: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
            if torch._C._get_tracing_state():
                number = tensor.size(0) if function is torch.Tensor.__len__ else tensor
                self.take(number, bool if function is torch.Tensor.__bool__ else None)
            return function(tensor, *args, **kwargs)

        return watch

    def take(self, number: Any, kind: type | None = None) -> None:
        """Keep a tensor of one element, as it is now; what matters of it is what it is as a bool, or the number."""
        if len(self.numbers) == _MANY or number.numel() != 1:
            self.lost = True
            return
        self._tensors.append(number)
        self._kinds.append(kind)
        self.numbers.append(_content(number, kind))

    def clear(self) -> None:
        self.lost = False
        self.numbers.clear()
        self._kinds.clear()
        self._tensors.clear()

    def tensors(self) -> list[torch.Tensor]:
        """What the trace has to return, if nothing was written to since then."""
        if self.lost or list(map(_content, self._tensors, self._kinds)) != self.numbers:
            self.lost = True
            return []
        return self._tensors

    def settle(self, graph: Any) -> None:
        """Take what they are computed from out of the returns of the graph."""
        count = 0 if self.lost else len(self._tensors)
        self._tensors.clear()
        if count:
            packed = _packed(graph)
            self._graph = graph
            self._values = [packed.inputsAt(i) for i in range(packed.inputsSize() - count, packed.inputsSize())]
            _cut(packed, packed.inputsSize() - count, packed.inputsSize())

    def hold(self, tensors: Sequence[torch.Tensor]) -> bool | None:
        """Whether the numbers are the same for other inputs of the graph; None if one that is no bool isn't."""
        differ = [mine for mine, other in zip(self.numbers, self._at(tensors)) if mine != other]
        return None if any(not isinstance(number, bool) for number in differ) else not differ

    @property
    def cost(self) -> int:
        """How many operations compute the numbers."""
        if self._values and self._function is None:
            self._function = self._compile()
        return self._operations

    def decisions(self, tensors: Sequence[torch.Tensor]) -> tuple[Number, ...]:
        """The bools among the numbers for other inputs, of which the sizes matter."""
        return tuple(other for mine, other in zip(self.numbers, self._at(tensors)) if isinstance(mine, bool))

    def _at(self, tensors: Sequence[torch.Tensor]) -> list[Number]:
        if not self._values:
            return self.numbers
        if self._function is None:
            self._function = self._compile()
        with torch.no_grad(), torch.jit._fuser.optimized_execution(False):
            return list(map(_content, self._function(*tensors), self._kinds))

    def _compile(self) -> Function:
        """The part of the graph that computes the numbers."""
        packed = _packed(self._graph)
        count = packed.inputsSize()
        for value in self._values:
            packed.addInput(value)
        part = self._graph.copy()
        _cut(packed, count, count + len(self._values))
        _cut(_packed(part), 0, count)
        torch._C._jit_pass_dce(part)
        self._operations = sum(1 for _ in part.nodes())
        return torch._C._create_function_from_graph("conditions", part)  # type: ignore[no-any-return]


def _content(number: torch.Tensor, kind: type | None) -> Number:
    with torch._C.DisableTorchFunction():
        content = number.item()
    return bool(content) if kind is bool else content


def _packed(graph: Any) -> Any:
    """The node that packs what a traced function returns into a tuple."""
    return next(graph.outputs()).node()


def _cut(packed: Any, first: int, end: int) -> None:
    for i in reversed(range(first, end)):
        packed.removeInput(i)
    packed.output().setType(torch._C.TupleType([packed.inputsAt(i).type() for i in range(packed.inputsSize())]))
