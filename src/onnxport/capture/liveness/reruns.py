"""A model at other sizes of its dynamic axes: traced again, or only run."""

from __future__ import annotations

import contextlib
import logging
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import CodeType
from typing import Any, TypeVar

import torch

from ...errors import withheld
from ...program import Labels, Program
from ..compiled import compiling_nothing
from ..graph import runnable
from ..inputs import flatten, flatten_outputs
from ..own_gradients import called
from ..trace import Recording, copies, record, unchanged
from ..tracing.caught import Failing
from ..tracing.live_numbers import functions_at, numbers_live
from ..weights import named_modules, named_weights
from .values import Other

_LOG = logging.getLogger("onnxport")

Sizes = Mapping[str, int]
T = TypeVar("T")
_KEPT, _ELEMENTS = 64, 1 << 20  # results of runs that are kept, and elements in all of them but the last
_VARIED = 3  # smaller ints may be bools, or kinds of tokens


class Reruns:
    """Runs of `model(*args, **kwargs)` at other sizes of labelled axes; `axes` has the labels of each input, `interpret` runs a
    program on its inputs.

    What a model raises where it doesn't run at these sizes is returned.
    """

    def __init__(
        self,
        model: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        axes: Sequence[Mapping[int, str]],
        labels: Labels,
        interpret: Callable[[Program, list[torch.Tensor]], list[Any]],
    ) -> None:
        self.model, self.args, self.kwargs, self.axes, self.labels = model, args, kwargs, axes, labels
        self._interpret, self._modules = interpret, named_modules(model)
        self._functions: dict[int, tuple[Any, Callable[..., Any]]] = {}
        self._traces: dict[Any, Recording | Exception] = {}
        self._arguments = flatten(model, args, kwargs)
        self._weights = list(named_weights(model).values()) if isinstance(model, torch.nn.Module) else []
        self.writes_parameters = False  # whether runs change them
        self.live: list[Any] = []  # functions in which numbers of sizes stay live where the model is traced
        self._lengths = False  # whether ints that are the size of an axis in the example follow it
        self._failures: dict[Any, Exception] = {}  # by values and sizes
        self._computed: dict[Any, dict[Any, Any]] = {}  # what was computed, by what and sizes
        self._ran: dict[Any, tuple[list[torch.Tensor], bool]] = {}  # results of the last runs; what the model caught

    def trace(self, sizes: Sizes, values: Other | None = None) -> Recording | Exception:
        """The recording of a run; one for each choice of sizes, and of other values (see `values`)."""
        if values is None and self._failures:  # a model that is choosy: a run tells in a fraction of the time
            outputs = self.run(sizes)
            if isinstance(outputs, Exception):
                return outputs

        def resize(leaves: list[torch.Tensor]) -> list[torch.Tensor]:
            return self._at(leaves, sizes, values)

        key = (values, *sorted(sizes.items()))
        if key not in self._traces:
            self._traces[key] = self._following(lambda: _tried(lambda: self._record(resize), sizes), key)
        return self._traces[key]

    def _record(self, resize: Callable[[list[torch.Tensor]], list[torch.Tensor]] | None) -> Recording:
        with numbers_live(self.live):
            return record(self.model, self.args, self.kwargs, resize)

    def trace_live(self, places: Iterable[str], codes: Iterable[CodeType]) -> Recording | Exception | None:
        """The recording of the example in which numbers of sizes stay live where these lines of code take them; so they do in all
        that follow, unless the model doesn't run so. None if there is no such line."""
        self.live = functions_at(places, codes)
        if not self.live:
            return None
        with withheld():  # it was said of the first recording
            made = _tried(lambda: self._record(None), {})
        if isinstance(made, Exception):
            self.trace_plain()
        return made

    def trace_plain(self) -> None:
        """From now on numbers are taken as in Python."""
        self.live = []

    def _following(self, attempt: Callable[[], T | Exception], key: Any) -> T | Exception:
        """The attempt at sizes and values; with lengths that follow the sizes, if the model wants it so: then in all further
        runs."""
        result: T | Exception = self._failures[key] if key in self._failures else attempt()
        if isinstance(result, Exception) and key not in self._failures:
            if not self._lengths and self._may_follow():
                self._lengths = True
                again = attempt()
                if not isinstance(again, Exception):
                    self._failures.clear()
                    self._ran.clear()
                    return again
                self._lengths = False
            self._failures[key] = result
        return result

    def _may_follow(self) -> bool:
        """Whether there are ints in the arguments that are sizes of dynamic axes."""
        leaves = self._arguments.leaves
        found = {leaf.shape[axis] for leaf, axes in zip(leaves, self.axes) for axis in axes}
        return any(_is_lengths(leaf) and int(leaf.max()) in found for leaf in leaves)

    def run(
        self, sizes: Sizes, failing: Failing | None = None, values: Other | None = None
    ) -> list[torch.Tensor] | Exception:
        """What the model gives, in a fraction of the time of a trace; `failing` is told of functions that raise."""
        noticed = Failing()
        key = (values, *sorted(sizes.items()))
        if key not in self._ran:
            outputs = self._following(lambda: _tried(lambda: self._called(sizes, values, noticed), sizes), key)
            if isinstance(outputs, Exception):
                return outputs
            self._ran[key] = outputs, noticed.failed
            while len(self._ran) > 1 and (len(self._ran) > _KEPT or self._elements_kept() > _ELEMENTS):
                del self._ran[next(iter(self._ran))]
        outputs, failed = self._ran[key]
        if failing is not None:
            failing.failed = failed
        return outputs

    def _elements_kept(self) -> int:
        return sum(output.numel() for outputs, _ in self._ran.values() for output in outputs)

    def takes(self, sizes: Sizes) -> bool:
        """Whether the model runs at sizes, with everything else as it is."""
        return not isinstance(_tried(lambda: self._called(sizes, None, Failing()), sizes), Exception)

    def _called(self, sizes: Sizes, values: Other | None, noticed: Failing) -> list[torch.Tensor]:
        arguments = self._arguments

        def call() -> list[torch.Tensor]:
            with compiling_nothing(self._modules), self._unchanged(), noticed:
                positional, named = arguments.rebuild(tuple(copies(self._at(arguments.leaves, sizes, values))))
                return flatten_outputs(self.model(*positional, **named)).leaves

        return called(call)

    def replay(self, graph: Any, sizes: Sizes) -> list[torch.Tensor] | Exception:
        """What the graph of a recording gives on the tensors of such a run."""
        if id(graph) not in self._functions:
            self._functions[id(graph)] = graph, runnable("forward", graph)
        function = self._functions[id(graph)][1]
        leaves = self._resized(self._arguments.leaves, sizes)

        def call() -> list[torch.Tensor]:
            with torch.no_grad(), torch.jit._fuser.optimized_execution(False), self._unchanged():
                return flatten_outputs(function(*copies(leaves), *self._weights)).leaves

        return _tried(call, sizes)

    def interpreted(
        self, program: Program, sizes: Sizes, values: Other | None = None
    ) -> list[torch.Tensor] | Exception:
        """What a program gives that isn't what was recorded any more."""

        def call() -> list[torch.Tensor]:
            with torch.no_grad(), self._unchanged():
                return self._interpret(program, copies(self._at(self._arguments.leaves, sizes, values)))

        return _tried(call, sizes)

    def effort(self, sizes: Sizes) -> int:
        """About how long a run takes: the elements of the arguments, times those of the weights."""
        elements = 0
        for leaf, axes in zip(self._arguments.leaves, self.axes):
            shape = list(leaf.shape)
            for axis, label in axes.items():
                shape[axis] = self.labels.size(label, sizes)
            elements += math.prod(shape)
        return elements * (1 + sum(weight.numel() for weight in self._weights))

    def hold(self, conditions: Any, sizes: Sizes) -> bool | Exception | None:
        """Whether the numbers that a recording took out of sizes are the same at others; see `Conditions.hold`."""

        def on_tensors(function: Callable[..., Any]) -> Any:
            with self._unchanged():
                return function(*copies(self._resized(self._arguments.leaves, sizes)), *self._weights)

        def compare() -> bool | None:
            return conditions.hold(sizes, on_tensors)  # type: ignore[no-any-return]

        return _tried(compare, sizes)

    def computed(self, numbers: Any, options: Sequence[Sizes]) -> list[Any]:
        """What a recording would have taken out of other sizes (see `Conditions`), one tuple for each choice of them: computed
        without the content of any tensor; exceptions where there is no telling."""

        def at(sizes: Sizes) -> Any:
            def on_meta(function: Callable[..., Any]) -> Any:
                leaves = []
                for leaf, axes in zip(self._arguments.leaves, self.axes):
                    shape = list(leaf.shape)
                    for axis, label in axes.items():
                        shape[axis] = self.labels.size(label, sizes)
                    leaves.append(torch.empty(shape, dtype=leaf.dtype, device="meta"))
                return function(*leaves, *(torch.empty_like(weight, device="meta") for weight in self._weights))

            return numbers.at(sizes, on_meta)

        made = self._computed.setdefault(numbers, {})
        for sizes in options:
            key = tuple(sizes.items())
            if key not in made:
                made[key] = _tried(lambda sizes=sizes: at(sizes), sizes)  # type: ignore[misc]
        return [made[tuple(sizes.items())] for sizes in options]

    @contextlib.contextmanager
    def _unchanged(self) -> Iterator[None]:
        """Undo what a run changes, among it the contents of parameters, if it changes any."""
        written = [(w, w.data, w.detach().clone()) for w in self._weights] if self.writes_parameters else []
        try:
            with unchanged(self._modules):
                yield
        finally:
            for weight, data, content in written:
                data.copy_(content)
                weight.data = data  # `weight.data = ...` put another in its place

    def _at(self, leaves: list[torch.Tensor], sizes: Sizes, values: Other | None) -> list[torch.Tensor]:
        resized = self._resized(leaves, sizes)
        return resized if values is None else values.of(resized)

    def _resized(self, leaves: list[torch.Tensor], sizes: Sizes) -> list[torch.Tensor]:
        wanted = [{axis: self.labels.size(label, sizes) for axis, label in axes.items()} for axes in self.axes]
        resized = [_resized(leaf, of_leaf) for leaf, of_leaf in zip(leaves, wanted)]
        if not self._lengths:
            return resized
        grown = {
            leaf.shape[axis]: size - leaf.shape[axis]
            for leaf, of_leaf in zip(leaves, wanted)
            for axis, size in of_leaf.items()
        }
        return [_grown(leaf, grown) for leaf in resized]


def _tried(make: Callable[[], T], sizes: Sizes) -> T | Exception:
    try:
        return make()
    except Exception as error:  # whatever a model raises at sizes that it can't take
        _LOG.info("the model doesn't run at %s: %s", dict(sizes), error)
        return error


def _resized(tensor: torch.Tensor, sizes: Mapping[int, int]) -> torch.Tensor:
    """The tensor with axes cut to other sizes, or the last of them repeated: values stay in range, and in order where
    they are."""
    for axis, size in sizes.items():
        if not tensor.shape[axis]:
            tensor = _made([*tensor.shape[:axis], size, *tensor.shape[axis + 1 :]], tensor)
        elif tensor.shape[axis] == 1 < size and tensor.dim() > 1:
            tensor = _varied(tensor, axis, size)
        elif size != tensor.shape[axis]:
            tensor = tensor.index_select(
                axis, torch.arange(size, device=tensor.device).clamp(max=tensor.shape[axis] - 1)
            )
    return tensor


def _varied(tensor: torch.Tensor, axis: int, size: int) -> torch.Tensor:
    """A tensor repeated along an axis on which it has one element, the others made less: a mean of what is the same shows
    nothing. Signs stay; so do masks, and other small ints."""
    shape = [*tensor.shape[:axis], size, *tensor.shape[axis + 1 :]]
    if tensor.is_floating_point():
        factors = 1 - torch.rand(shape, generator=torch.Generator().manual_seed(0)) / 2
        factors.narrow(axis, 0, 1).fill_(1)
        return (tensor * factors.to(tensor)).to(tensor.dtype)
    if tensor.is_complex() or tensor.dtype == torch.bool or not tensor.numel() or int(tensor.max()) < _VARIED:
        return tensor.expand(shape)
    steps = torch.arange(size, device=tensor.device).reshape([size if i == axis else 1 for i in range(tensor.dim())])
    return torch.where(tensor < _VARIED, tensor, tensor - steps % (tensor - 1).clamp(min=1)).to(tensor.dtype)


def _made(shape: list[int], like: torch.Tensor) -> torch.Tensor:
    """A tensor in place of an empty one: ints are 0, which any index may be; other numbers aren't, or nothing would show."""
    if not (like.is_floating_point() or like.is_complex()):
        return like.new_zeros(shape)
    numbers = torch.arange(math.prod(shape), device=like.device) % 7 / 8 + 0.25
    return numbers.reshape(shape).to(like.dtype)


def _grown(tensor: torch.Tensor, grown: Mapping[int, int]) -> torch.Tensor:
    """Lengths, of which the largest is the size of an axis, as much longer as that is."""
    if not _is_lengths(tensor):
        return tensor
    return (tensor + grown.get(int(tensor.max()), 0)).clamp(min=0 if int(tensor.min()) < 1 else 1)


def _is_lengths(tensor: torch.Tensor) -> bool:
    return tensor.dim() < 2 and tensor.dtype in (torch.int64, torch.int32) and tensor.numel() > 0
