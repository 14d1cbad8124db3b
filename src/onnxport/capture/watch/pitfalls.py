"""Where a trace makes a constant of a tensor: `.item()`, `if x.sum() > 0`, numpy.

What depends on the inputs' values is warned of. What depends on sizes is noted: whether it matters is
found out by tracing again (see `liveness`).
"""

from __future__ import annotations

import functools
import itertools
import os
import sys
from collections.abc import Callable, Mapping, Set
from types import CodeType
from typing import Any

import numpy
import torch
import torch.distributions.distribution
import torch.nn.functional as F

from ...errors import warn
from ...program.ir import Conversion
from ..bytecode import instructions_on
from ..graph import INNER, LAYERS, inputs_of
from ..tracing.constants import version_of
from ..tracing.exact_floats import exact
from ..tracing.live_functions import live_number, stays_live
from ..tracing.traced_sizes import is_made_of_sizes
from ..tracing.untraced import untraced
from .dependence import Dependence, follows_sizes, value_of
from .messages import decides_nothing_else, only_tells
from .readings import ROWS, TAKES_INTS, TAKES_LISTS, Readings

_TAKES: dict[Callable[..., Any], str] = {
    torch.Tensor.item: "a Python number",
    torch.Tensor.__int__: "a Python int",
    torch.Tensor.__index__: "a Python int",
    torch.Tensor.__float__: "a Python float",
    torch.Tensor.__bool__: "a Python bool, as an `if` does",
    torch.Tensor.__len__: "a Python int",
    torch.Tensor.is_contiguous: "whether its memory is in order",
    torch.Tensor.__format__: "text",
    torch.Tensor.__repr__: "text",
    torch.Tensor.tolist: "a Python list",
    torch.Tensor.numpy: "a numpy array",
    torch.Tensor.__array__: "a numpy array",
    **dict.fromkeys((torch.is_nonzero, torch.Tensor.is_nonzero, torch.Tensor.__contains__), "a Python bool"),
    **dict.fromkeys((torch.equal, torch.Tensor.equal), "a Python bool"),
    **dict.fromkeys((torch.allclose, torch.Tensor.allclose), "a Python bool"),
    **dict.fromkeys((torch.Tensor.storage, torch.Tensor.untyped_storage, torch.Tensor.__dlpack__), "plain memory"),
}
# Of live tensors these say nothing that matters: text is printed.
_NOT_OF_VALUES = (torch.Tensor.__len__, torch.Tensor.is_contiguous, torch.Tensor.__format__, torch.Tensor.__repr__)
_TAKES_ONE = (torch.Tensor.item, torch.Tensor.__int__, torch.Tensor.__float__, torch.Tensor.__bool__)
_EXPOSES = (torch.Tensor.numpy, torch.Tensor.__array__, torch.Tensor.untyped_storage, torch.Tensor.__dlpack__)
PIECES = "a number of pieces"
KEYS = "a key of a dict or set"
_NUMBERS = 8  # so many of those that are written in one line are looked at
_TAKES_COUNTS = (torch.Tensor.__len__, torch.Tensor.__int__, torch.Tensor.__index__, torch.Tensor.item)
_TAKE_APART = (torch.Tensor.__iter__, torch.Tensor.unbind, torch.unbind)
# Whose lines are none of the user's.
_NOT_THE_USERS = (*INNER, os.path.dirname(numpy.__file__) + os.sep)
# These look at values to check their arguments.
_CHECKING = (LAYERS, F.__file__, torch.distributions.distribution.__file__)


class Pitfalls:
    """While a model is traced: one warning for each source line that takes the value of a tensor out of the trace.

    Args:
        is_argument: whether a `torch._C.Value` of the graph's inputs is an argument of the model, no weight.
    """

    def __init__(self, is_argument: Callable[[Any], bool]) -> None:
        self._dependence = Dependence(is_argument)
        self.seen: dict[str, str] = {}  # what is warned of, by line
        self._unread: dict[str, str] = {}  # and isn't among the readings, by line
        self.lost = False  # whether values were taken that aren't among the readings
        self.readings = Readings()
        self.conversions: dict[Conversion, None] = {}
        self._exposed: list[tuple[str, torch.Tensor, torch.Tensor, int | None]] = []  # tensors whose memory others have

    def begin(self) -> None:
        """A run begins: names of an earlier one, and what it read, mean nothing any more."""
        self._dependence.forget()
        self.readings.clear()
        self._exposed.clear()

    def watched(
        self, instead: Mapping[Callable[..., Any], Callable[..., Any]]
    ) -> dict[Callable[..., Any], Callable[..., Any]]:
        """The functions that take values, and what looks at the tensor before it calls them, or others instead of them."""
        rows = {function: self._watch_rows(instead[function]) for function in _TAKE_APART}
        return {**{f: self._watch(f, instead.get(f, f), what) for f, what in _TAKES.items()}, **rows}

    def _watch_rows(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """What takes a tensor apart by its first axis: how many rows there are may hang on values."""

        def watch(*args: Any, **kwargs: Any) -> Any:
            tensor: Any = args[0] if args else kwargs.get("input")
            axis = args[1] if len(args) > 1 else kwargs.get("dim", 0)
            if torch._C._get_tracing_state() and axis == 0 and tensor.dim() and self._dependence.of_sizes(tensor):
                self.readings.count(tensor.size(0), place_unless_told(), ROWS)
            return call(*args, **kwargs)

        return watch

    def _watch(self, function: Callable[..., Any], call: Callable[..., Any], what: str) -> Callable[..., Any]:
        def watch(*args: Any, **kwargs: Any) -> Any:
            if function is torch.Tensor.item and stays_live(args[0]):
                return live_number(args[0])
            if torch._C._get_tracing_state() and not sys._getframe(2).f_code.co_filename.startswith(_CHECKING):
                tensors = [x for x in args if isinstance(x, torch.Tensor)]  # `equal` takes the values of two
                tensor = next(filter(self._dependence.of_tensor, tensors), None)
                place = place_of_call()
                if tensor is not None and function in _TAKES_ONE and decides_nothing_else(place):
                    return call(*args, **kwargs)
                if tensor is not None and function not in _NOT_OF_VALUES:
                    result = call(*args, **kwargs)
                    if not self.readings.take(function, tensor, result, place, what):
                        self.lost = True
                        self._unread.setdefault(place, what)
                    self.seen.setdefault(place, what)
                    return result
                self._note(function, what, args[0], place)
                if function in _TAKES_COUNTS and (args[0].dim() > 0) == (function is torch.Tensor.__len__):
                    size = args[0].size(0) if args[0].dim() else args[0]
                    if self._dependence.may_be_of(value_of(size)):
                        self.readings.count(size, place_unless_told(), what)
                if function in _EXPOSES and args[0].layout == torch.strided:
                    with untraced(), torch._C.DisableTorchFunction():
                        self._exposed.append((place, args[0], args[0].detach().clone(), version_of(args[0])))
                if function in TAKES_INTS and not args[0].dim() and is_made_of_sizes(args[0]) and not only_tells(place):
                    result = call(*args, **kwargs)
                    self.readings.take(function, exact(args[0]), result, place, what, of_sizes=True)
                    return result
                if function in TAKES_LISTS and args[0].dim() and follows_sizes(args[0]):
                    result = call(*args, **kwargs)
                    self.readings.take(function, args[0], result, place, what, of_sizes=True)
                    return result
            return call(*args, **kwargs)

        return watch

    def _note(self, function: Callable[..., Any], what: str, tensor: torch.Tensor, place: str) -> None:
        """Note what may be taken of a size."""
        decides = function in (torch.Tensor.__bool__, torch.Tensor.is_contiguous)
        if not decides and only_tells(place):
            return
        of_bool = function is torch.Tensor.__bool__
        self.conversions[Conversion(place, what, decides, _threshold(tensor) if of_bool else None)] = None

    def warn(self) -> None:
        """Warn of what is a constant for sure; of readings it is found out. And of what numpy wrote, which isn't recorded."""
        for place, tensor, before, version in self._exposed:
            if version_of(tensor) == version and not _are_same(tensor.detach(), before):
                warn(
                    f"{place} gives the memory of a tensor away, which is then written to, as numpy does: the exported model "
                    "doesn't; compute with tensors"
                )
        read = {reading.place for _, reading in self.readings.made if not (reading.counts or reading.of_sizes)}
        for place, what in {**self.seen, **self._unread}.items():
            lines = self.readings.lines(place)
            if place in self._unread or not lines or not lines <= read:
                warn(constant(place, what))


def _are_same(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether tensors hold the same numbers, NaN among them."""
    return torch.equal(a, b) or bool(((a == b) | ((a != a) & (b != b))).all())


def what_is_taken(function: Callable[..., Any]) -> str:
    """What a function makes of a tensor."""
    return _TAKES.get(function, ROWS if function.__name__ in ("__iter__", "unbind") else PIECES)


def constant(place: str, what: str, taken: str = "the value of a tensor") -> str:
    """What is said of a value that was taken out of the trace."""
    return (
        f"{place} takes {taken} as {what}: in the exported model it is a constant, that of the "
        "example. Compute with tensors (torch.where for an `if`), or script that part of the model "
        "(torch.jit.script), which keeps its ifs and loops"
    )


def _threshold(condition: torch.Tensor) -> int | None:
    """The number that a size is compared with in `n > 512`; in `if n`, too."""
    if condition.dtype == torch.int64:
        return 0
    node: Any = torch._C._get_value_trace(condition).node()  # type: ignore[attr-defined]
    for value in inputs_of(node):
        number = value.toIValue()
        if isinstance(number, torch.Tensor) and number.dim() == 0:
            number = number.item()
        if isinstance(number, int) and not isinstance(number, bool):
            return number
    return None


def place_of_call() -> str:
    """The innermost line that is the user's."""
    frame = _frame_of_call()
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def place_and_numbers() -> tuple[str, frozenset[int]]:
    """That line, and the ints that are written in it, or are keys of what it names."""
    frame = _frame_of_call()
    numbers, names = _named_in(frame.f_code, frame.f_lineno)
    return f"{frame.f_code.co_filename}:{frame.f_lineno}", numbers | _keys_of(frame, names)


@functools.lru_cache(1000)
def _named_in(code: CodeType, line: int) -> tuple[frozenset[int], frozenset[str]]:
    found: list[Any] = []
    names: set[str] = set()
    for instruction in instructions_on(code, (line,)):
        value = instruction.argval
        if instruction.opname in ("LOAD_CONST", "LOAD_SMALL_INT"):  # the latter from Python 3.14 on
            found += value if isinstance(value, tuple | frozenset) else [value]
        else:  # from Python 3.13 on some load two names
            names.update(name for name in (value if isinstance(value, tuple) else [value]) if isinstance(name, str))
    return frozenset([value for value in found if value.__class__ is int and value > 1][:_NUMBERS]), frozenset(names)


def _keys_of(frame: Any, names: Set[str]) -> frozenset[int]:
    """The ints that are keys, or in tuples that are, of dicts and sets of these names: `self.scales.get(n)`."""
    holders = [space[name] for name in names for space in (frame.f_locals, frame.f_globals) if name in space]
    inner = [
        vars(holder)[name] for holder in holders if hasattr(holder, "__dict__") for name in names & vars(holder).keys()
    ]
    found: list[Any] = []
    for table in (*holders, *inner):
        if isinstance(table, dict | set | frozenset):
            for key in itertools.islice(table, _NUMBERS):
                found += key if isinstance(key, tuple) else [key]
    return frozenset([key for key in found if key.__class__ is int and key > 0][:_NUMBERS])


def place_unless_told() -> str:
    """That line; "" where a layer of torch checks its arguments, or of a function that asks whether it is traced: it knows what
    it does there."""
    caller: Any = sys._getframe(1)
    while caller.f_code.co_filename.startswith(INNER[1]):
        caller = caller.f_back
    if caller.f_code.co_filename.startswith(_CHECKING):
        return ""
    frame = _frame_of_call()
    told = any(name.endswith("is_tracing") for name in frame.f_code.co_names)
    return "" if told else f"{frame.f_code.co_filename}:{frame.f_lineno}"


def _frame_of_call() -> Any:
    frame: Any = sys._getframe(3)
    while frame.f_back is not None and (frame.f_code.co_filename + os.sep).startswith(_NOT_THE_USERS):
        frame = frame.f_back
    return frame
