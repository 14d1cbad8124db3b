"""Runs an `nn.Module` once and records what it does."""

from __future__ import annotations

import contextlib
import dataclasses
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch

from ..errors import LoweringError, warn
from ..program import Block, Program
from ..program.ir import Conversion, Input, Weight
from . import bools
from .compiled import compiling_nothing, refused
from .containers import Contents
from .futures import inline_calls, inline_forks
from .graph import GraphReader, tensor_constants
from .inputs import Arguments, flatten, flatten_outputs
from .own_gradients import called
from .parts import Parts
from .scopes import Calls, noting
from .torchscript import Attributes
from .tracing import enclosed
from .tracing.caught import Caught
from .tracing.composed import composed_called
from .tracing.constants import Constants, version_of
from .tracing.encoders import padded_with_zeros
from .tracing.flex_attention import attention_recorded
from .tracing.function_outputs import outputs_in_order
from .tracing.gradients import gradients_taken
from .tracing.hashes import Hashes, are_alike, noting_hashes
from .tracing.modes import TracingMode, instead
from .tracing.number_functions import number_functions
from .tracing.single_nodes import SingleNodes
from .tracing.sparse import held_dense, is_sparse
from .tracing.traced_sizes import refuse_constructor, refuse_constructors
from .tracing.tracer_flags import tracer_flags
from .tracing.untraced import imports_untraced
from .watch.asked import Asked
from .watch.conditions import Conditions
from .watch.default_types import default_types_kept
from .watch.kept import Kept, vmap_noticed
from .watch.pitfalls import Pitfalls, place_and_numbers, place_of_call
from .watch.shared_memory import SharedMemory, from_numpy_noticed
from .watch.taken import Taken
from .weights import Modules, named_modules, weights_and_state


class CompiledCall(LoweringError):
    """The tracer can't follow a call: of a function that torch.compile made, as `torch.cond` and the like make one."""


@dataclasses.dataclass(frozen=True, slots=True)
class Recording:
    """A run of a model: the `torch._C.Graph`, and how to read it."""

    graph: Any
    read: Callable[[], Program]


def trace(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Program:
    """The program of one run of `model(*args, **kwargs)`; see `record`."""
    return record(model, args, kwargs).read()


def record(
    model: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    resize: Callable[[list[torch.Tensor]], list[torch.Tensor]] | None = None,
) -> Recording:
    """Record one run of `model(*args, **kwargs)`.

    The tracer sees the model's own parameters and buffers; arguments are copies, so that a model which
    writes to them leaves the caller's alone. The model comes back as it was. `resize` changes the tensors among
    the arguments first.
    """
    call = _Call(model, args, kwargs, resize, named_modules(model))
    with held_dense(call.modules):
        run = _as_eager(call)
        if resize is None:
            run.warn()
        else:
            run.outputs.clear()  # such recordings are kept for long
        return Recording(run.graph, run.read)


@dataclasses.dataclass(frozen=True, slots=True)
class _Call:
    """What is recorded; see `record`."""

    model: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    resize: Callable[[list[torch.Tensor]], list[torch.Tensor]] | None
    modules: Modules

    def flattened(self) -> tuple[Arguments, list[torch.Tensor]]:
        """The arguments, and the tensors among them at the sizes that are wanted."""
        arguments = flatten(self.model, self.args, self.kwargs)
        return arguments, arguments.leaves if self.resize is None else self.resize(arguments.leaves)


def _as_eager(call: _Call) -> _Run:
    """A recording that gives what the model gives if it isn't recorded, if there is one (see `hashes` and `asked`)."""
    hashes, asked = Hashes(by_value=False), Asked()
    plain: _Run | None = None
    try:
        plain = _recorded(call, hashes, asked)
    except (KeyError, TypeError, ValueError, AttributeError, AssertionError):
        if not hashes.places and not asked.types():
            raise
    if plain is not None and not hashes.places and not asked.types():
        return plain
    expected = _eager(call)
    if plain is not None and are_alike(plain.outputs, expected):
        return plain
    if hashes.places:
        by_value = _recorded(call, Hashes(by_value=True), asked)
        if not asked.types() or are_alike(by_value.outputs, expected):
            return by_value
    try:
        as_ints = _recorded(call, Hashes(by_value=True), Asked(as_ints=True))
    except Exception:  # what asks whether it is traced may rely on sizes that are tensors
        if plain is None:
            raise
        if call.resize is None:
            warn(
                f"{', '.join(asked.types()[:3])}: the model asks for the type of a size, which is a tensor while it is recorded, "
                "and gives other results then; compare with numbers (isinstance(n, int) is true of sizes)"
            )
        return plain
    # A model that gives something else each time tells nothing.
    return as_ints if plain is None or are_alike(as_ints.outputs, expected) else plain


def _eager(call: _Call) -> list[torch.Tensor]:
    """What the model gives if it isn't recorded."""
    arguments, leaves = call.flattened()

    def run() -> list[torch.Tensor]:
        with compiling_nothing(call.modules), unchanged(call.modules):
            positional, named = arguments.rebuild(copies(leaves))
            return flatten_outputs(call.model(*positional, **named)).leaves

    return called(run)


def _recorded(call: _Call, hashes: Hashes, asked: Asked) -> _Run:
    run = _Run(call, hashes, asked)
    with (
        torch.no_grad(),
        tracer_flags(),
        outputs_in_order(),
        compiling_nothing(call.modules),
        noting(run.calls),
        _quiet(),
        number_functions(),
        default_types_kept(),
        vmap_noticed(),
        imports_untraced(),
        from_numpy_noticed(),
        composed_called(),
        padded_with_zeros(),
        gradients_taken(),
        noting_hashes(hashes, place_and_numbers),
        attention_recorded(),
        enclosed.make_fx_refused(),
        run.mode,
    ):
        run.record()
    run.settle()
    return run


class _Run:
    """One recorded run of a call, and all that looks at it.

    Args:
        hashes: how sizes are hashed in it.
        asked: whether sizes are ints in it.
    """

    graph: Any
    conditions: Conditions
    inputs: list[torch.Tensor]  # the copies of the arguments that it worked on

    def __init__(self, call: _Call, hashes: Hashes, asked: Asked) -> None:
        self.call, self.hashes, self.asked = call, hashes, asked
        self.arguments, self.leaves = call.flattened()
        is_module = isinstance(call.model, torch.nn.Module)
        self.weights, self._state = weights_and_state(call.model) if is_module else ({}, set())
        self.output_names: list[str | None] = []
        self.strings: list[str] = []
        self.outputs: list[torch.Tensor] = []
        self.parts, self.calls = Parts(call.modules), Calls(call.modules)
        self.pitfalls, self.taken = Pitfalls(self._argument_check()), Taken()
        self.constants, self.kept = Constants(self.weights.values()), Kept(self.taken)
        self.memory, self.single_nodes = SharedMemory(), SingleNodes()
        self.caught = Caught(place_of_call)
        hashes.compared = self.taken.compare
        self.mode = TracingMode(self._watched(), self.constants.keep, self.caught.failed, asked.note)
        self._may_catch: list[str] = []
        self._calls_scripts = False

    def _watched(self) -> dict[Callable[..., Any], Callable[..., Any]]:
        """The functions that somebody looks at, and what is called instead of them."""
        writers, taken = self.constants.watched(), self.taken.watched()
        kept = self.kept.watched(writers[torch.Tensor.__setitem__])
        kept.update(self.memory.watched(kept))
        watched = {**writers, **kept, **taken, **self.pitfalls.watched({**kept, **taken})}
        single = self.single_nodes.watched(lambda function: watched.get(function, instead(function)))
        return {**watched, **single, **self.asked.instead()}

    def _argument_check(self) -> Callable[[Any], bool]:
        """What tells whether a value of the open trace is an argument; it doesn't keep the run alive, which has it."""
        of_arguments = self._of_arguments
        names: dict[Any, set[str]] = {}  # in the graph of each run

        def is_argument(value: Any) -> bool:
            state: Any = torch._C._get_tracing_state()
            if state not in names:
                names.clear()
                names[state] = {x.debugName() for x in list(state.graph().inputs())[of_arguments]}
            return value.debugName() in names[state]

        return is_argument

    @property
    def _of_arguments(self) -> slice:
        """Which inputs of the graph are arguments; the parts are before them, weights behind."""
        first = 0 if self.parts.module is None else 1
        return slice(first, first + len(self.leaves))

    def run(self, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """The run itself; the tracer may need several."""
        self.caught.begin()
        self.pitfalls.begin()
        self.memory.begin()
        self.taken.clear()
        self.hashes.begin()
        self.calls.clear()
        self.single_nodes.clear()
        positional, keywords = self.arguments.rebuild(tensors[: len(self.leaves)])
        given = flatten_outputs(self.call.model(*positional, **keywords))
        self.output_names, self.strings, self.outputs = given.names, given.strings, given.leaves
        self.calls.finish()
        return (*given.leaves, *self.pitfalls.readings.tensors(), *self.taken.tensors())

    def record(self) -> None:
        """Run it, a second time where the tracer can't take the first (see `bools` and `enclosed`)."""
        try:
            self._trace(self.run)
        except TypeError as error:
            refuse_constructor(error)
            if "Tensor" not in str(error):
                raise
            self.mode.compare_at_once()  # `is_causal=n > 1`
            self._trace(self.run)
        except RuntimeError as error:
            if enclosed.is_enclosed(error):
                with enclosed.functions_called():
                    self._trace(self.run)
            elif enclosed.is_transformed(error):
                self._trace_flattened(error)
            elif refused(error):
                raise CompiledCall(refused(error)) from error
            elif bools.is_cause(error):
                self._trace(self._run_without_bools)
            else:
                raise

    def _run_without_bools(self, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        outputs = self.run(*tensors)
        bools.replace_in_open_trace()
        return outputs

    def _trace(self, function: Callable[..., tuple[torch.Tensor, ...]]) -> None:
        inputs = copies(self.leaves)
        shaped = {id(t): t.detach() for t in inputs}  # the model may change the sizes of the copies in place
        holder = () if self.parts.module is None else (self.parts.module,)
        with unchanged(self.call.modules), self.constants.unchanged():
            recorded = torch._C._create_graph_by_tracing(
                function, (*inputs, *self.weights.values()), lambda value: "", False, False, *holder
            )
        self.graph, self.inputs = recorded[0], [shaped[id(t)] for t in inputs]
        inline_forks(self.graph)
        refuse_constructors(self.graph)

    def _trace_flattened(self, cause: RuntimeError) -> None:
        """Record the operators that the run consists of, all sizes among them being numbers."""
        self.pitfalls.conversions[enclosed.ALL_SIZES] = None
        try:
            with unchanged(self.call.modules):
                flattened = enclosed.flattened(self.run, copies(self.leaves), cause)
            self._trace(flattened)
        except RuntimeError as error:
            if enclosed.is_unknown(error):
                raise LoweringError(
                    "the model computes with a tensor that can't be recorded, such as a sparse one that is no attribute "
                    "of its modules; make it one, or a dense tensor"
                ) from error
            if not enclosed.is_foreign(error):
                raise
            raise LoweringError(
                "the model computes with a tensor that requires grad and is none of its parameters; export the "
                "nn.Module itself instead of a function that calls it, or detach() the tensor"
            ) from error

    def settle(self) -> None:
        """What has to be known of the run as a whole, and done to its graph."""
        self._note_conversions()
        self.calls.close(self.graph)
        self._calls_scripts = self.parts.module is not None or any(self.graph.findAllNodes("prim::CallFunction"))
        inline_calls(self.graph)
        self.conditions = self.taken.settle(self.graph, list(self.graph.inputs())[self._of_arguments])
        self.conditions.codes = self.asked.codes

    def _note_conversions(self) -> None:
        """Keep where sizes may have become numbers, or decided something, without a function of torch being called."""
        caught, asked = self.caught.places, self.asked
        self._may_catch = [] if self.call.resize is not None or caught else asked.caught()
        found = [
            *(Conversion(at, "a key of a dict or set") for at in self.hashes.places if self.hashes.by_value),
            *(
                Conversion(at, "what it is, as its type is asked for")
                for at in (asked.types() if asked.as_ints else ())
            ),
            *(Conversion(at, "an error, which the model may catch", decides=True) for at in self._may_catch),
            *(Conversion(at, "an error, which the model catches", decides=True) for at in caught),
        ]
        self.pitfalls.conversions.update(dict.fromkeys(found))
        self.taken.incomplete |= bool(caught or self._may_catch) or asked.as_ints

    def warn(self) -> None:
        """Tell of what the exported model does otherwise."""
        self.pitfalls.warn()
        self.memory.warn()
        self.constants.warn(self.call.modules)
        for text in self.strings:
            warn(f"the model returns the string {text!r}, which is not among the outputs of the exported model")
        for name in self.arguments.arrays:
            warn(f"{name!r} is a numpy array, a constant of the exported model; as a tensor it would be an input")
        for what in self.arguments.hidden:
            warn(
                f"{what}, has tensors in it, which are constants of the exported model; in a tuple, list, dict or "
                "dataclass they would be inputs"
            )
        for name in self.arguments.private_among(tensor_constants(self.graph)):
            warn(
                f"the model uses {name!r}, a private attribute of an argument, which is a constant of the exported model; "
                "as a public one it would be an input"
            )
        counters = self.arguments.counters()
        if counters:
            warn(
                f"{', '.join(counters[:4])}{', ...' if len(counters) > 4 else ''}: the model counts this number on, but it "
                "is a constant of the exported model; make it a tensor to have it as an input"
            )

    def read(self) -> Program:
        """The program of the run."""
        program = self._program()
        program.arguments = self.arguments.parameters
        program.conversions = list(self.pitfalls.conversions)
        program.reads_values = self.pitfalls.lost
        self.pitfalls.readings.settle(program)
        program.keeps_sizes = self._is_looked_at() and self.kept.all_sizes(self.mode.called, program)
        program.conditions = self.conditions
        program.gave = self.outputs
        program.writes_parameters = self.constants.writes_parameters
        return program

    def _is_looked_at(self) -> bool:
        """Whether all that Python took out of sizes was seen."""
        return enclosed.ALL_SIZES not in self.pitfalls.conversions and not (
            self._calls_scripts
            or self.pitfalls.seen
            or self.conditions.lost
            or self.conditions.incomplete
            or self.hashes.decides
            or self.caught.places
            or self._may_catch
            or self.asked.as_ints
            or self.constants.writes_parameters
        )

    def _program(self) -> Program:
        model, names = self.call.model, self.arguments.names
        attributes = Attributes(self.graph, {})
        reader = GraphReader(self.calls.of, attributes.leaf, self.single_nodes.source)
        given = list(self.graph.inputs())
        if self.parts.module is not None:
            reader.operands[given.pop(0)] = self.parts
        values = [reader.define(v) for v in given]
        for value, (name, tensor) in zip(values[len(names) :], self.weights.items()):
            attributes.know(
                value, Weight(name, tensor, not isinstance(tensor, torch.nn.Parameter), name in self._state)
            )
        block = Block(parameters=values)
        reader.nodes(self.graph, block.nodes)
        block.returns = [reader.operands[v] for v in self.graph.outputs()]
        if len(block.returns) == 1 and block.nodes:
            last = block.nodes[-1]  # the tracer packs what `run` returns into a tuple
            if last.op == "prim::TupleConstruct" and last.outputs == block.returns:
                block.returns = list(last.inputs)
                del block.nodes[-1]
        parameters = block.parameters
        inputs = [Input(v, n, e) for v, n, e in zip(parameters, names, self.inputs)]
        block.parameters = parameters[: len(names)]
        modules = {name: type(module).__name__ for name, module in self.call.modules}
        return Program(
            block,
            inputs,
            attributes.weights,
            self.output_names,
            type(model).__name__,
            modules,
            "trace",
            state=attributes.state,
            keep_alive=self.graph,
        )


def copies(leaves: list[torch.Tensor]) -> list[torch.Tensor]:
    """Copies of tensors; one that is given twice stays one."""
    copies = {id(t): t.detach().clone() for t in leaves}
    return [copies[id(t)] for t in leaves]


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", torch.jit.TracerWarning)  # type: ignore[attr-defined]
        warnings.filterwarnings("ignore", "To copy construct from a tensor")  # `torch.tensor(n)` of a size
        yield


@contextlib.contextmanager
def unchanged(modules: Modules) -> Iterator[None]:
    """Undo what a run changes: attributes, buffers and gradients of every module, what is in their dicts and lists, and the random
    state."""
    state: list[tuple[Any, dict[str, Any], dict[str, Any], dict[str, Any]]] = []
    buffers: list[torch.Tensor | None] = []
    for _, module in modules:
        if isinstance(module, torch.jit.ScriptModule):
            buffers += module.buffers(recurse=False)
        else:
            state.append((module, dict(module.__dict__), dict(module._parameters), dict(module._buffers)))
            buffers += module._buffers.values()
    containers = Contents([m for m, *_ in state])
    with torch._C.DisableTorchFunction():  # a mode that is on looks at the model's calls
        contents = [(b, b.detach().clone(), version_of(b)) for b in buffers if b is not None]
        parameters = [p for module, *_ in state for p in module._parameters.values() if p is not None]
        gradients = [p.grad for p in parameters]
    random = torch.get_rng_state()
    try:
        yield
    finally:
        torch.set_rng_state(random)
        containers.restore()
        for module, attributes, weights, own in state:
            module.__dict__.clear()
            module.__dict__.update(attributes)
            module._parameters.clear()
            module._parameters.update(weights)
            module._buffers.clear()
            module._buffers.update(own)
        with torch._C.DisableTorchFunction(), torch.no_grad():
            for parameter, gradient in zip(parameters, gradients):
                if parameter.grad is not gradient:
                    parameter.grad = gradient
            for buffer, content, version in contents:
                # Running statistics are written without counting the version up.
                if version_of(buffer) != version or not (is_sparse(buffer) or torch.equal(buffer, content)):
                    with torch.inference_mode(buffer.is_inference()):
                        buffer.copy_(content)


__all__ = ["copies", "trace", "unchanged"]
