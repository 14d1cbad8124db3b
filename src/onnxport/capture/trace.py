"""Runs an `nn.Module` once and records what it does."""

from __future__ import annotations

import contextlib
import dataclasses
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch

from ..errors import LoweringError, warn
from ..program import Block, Program, Value
from ..program.ir import Conversion, Input, Weight
from . import bools, enclosed
from .asked import Asked
from .caught import Caught
from .compiled import compiling_nothing, refused
from .composed import composed_called
from .conditions import Conditions
from .constants import Constants
from .containers import Contents
from .encoders import padded_with_zeros
from .flex_attention import attention_recorded
from .function_outputs import outputs_in_order
from .graph import GraphReader, tensor_constants
from .hashes import Hashes, are_alike, noting_hashes
from .inputs import flatten, flatten_outputs
from .kept import Kept, vmap_noticed
from .modes import TracingMode
from .parts import Parts
from .pitfalls import Pitfalls, place_of_call
from .scopes import Calls, noting
from .sparse import held_dense, is_sparse
from .torchscript import Attributes
from .traced_sizes import number_functions, refuse_constructor, refuse_constructors
from .tracer_flags import tracer_flags
from .weights import named_weights


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
    with held_dense(model):
        hashes, asked = Hashes(by_value=False), Asked()
        plain: tuple[Recording, list[torch.Tensor]] | None = None
        try:
            plain = _recorded(model, args, kwargs, resize, hashes, asked)
        except (KeyError, TypeError, ValueError, AttributeError, AssertionError):
            if not hashes.places and not asked.types():
                raise
        if plain is not None and not hashes.places and not asked.types():
            return plain[0]
        expected = _eager(model, args, kwargs, resize)
        if plain is not None and are_alike(plain[1], expected):
            return plain[0]
        if hashes.places:
            by_value = _recorded(model, args, kwargs, resize, Hashes(by_value=True), asked)
            if not asked.types() or are_alike(by_value[1], expected):
                return by_value[0]
        as_ints = _recorded(model, args, kwargs, resize, Hashes(by_value=True), Asked(as_ints=True))
        # A model that gives something else each time tells nothing.
        return (as_ints if plain is None or are_alike(as_ints[1], expected) else plain)[0]


def _eager(
    model: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    resize: Callable[[list[torch.Tensor]], list[torch.Tensor]] | None,
) -> list[torch.Tensor]:
    """What the model gives if it isn't recorded."""
    arguments = flatten(model, args, kwargs)
    leaves = arguments.leaves if resize is None else resize(arguments.leaves)
    with torch.no_grad(), compiling_nothing(model), unchanged(model):
        positional, named = arguments.rebuild(copies(leaves))
        return flatten_outputs(model(*positional, **named)).leaves


def _recorded(
    model: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    resize: Callable[[list[torch.Tensor]], list[torch.Tensor]] | None,
    hashes: Hashes,
    asked: Asked,
) -> tuple[Recording, list[torch.Tensor]]:
    """A recording, and what the run gave."""
    arguments = flatten(model, args, kwargs)
    named = named_weights(model) if isinstance(model, torch.nn.Module) else {}
    leaves = arguments.leaves if resize is None else resize(arguments.leaves)
    output_names: list[str | None] = []
    strings: list[str] = []
    given: list[torch.Tensor] = []

    def run(*tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        caught.begin()
        pitfalls.readings.clear()
        conditions.clear()
        calls.clear()
        positional, keywords = arguments.rebuild(tensors[: len(leaves)])
        outputs = flatten_outputs(model(*positional, **keywords))
        output_names[:], strings[:], given[:] = outputs.names, outputs.strings, outputs.leaves
        calls.finish()
        return (*outputs.leaves, *pitfalls.readings.tensors(), *conditions.tensors())

    weights = list(named.items())
    parts, calls = Parts(model), Calls(_named_modules(model))
    pitfalls, conditions = _pitfalls(len(leaves), parts), Conditions()
    constants = Constants(named.values())
    kept, taken = Kept(conditions), conditions.watched()
    writers = constants.watched()
    watched = {
        **writers,
        **kept.watched(writers[torch.Tensor.__setitem__]),
        **taken,
        **pitfalls.watched(taken),
        **asked.instead(),
    }
    caught = Caught(place_of_call)
    mode = TracingMode(watched, constants.keep, caught.failed, asked.note)
    with (
        torch.no_grad(),
        tracer_flags(),
        outputs_in_order(),
        compiling_nothing(model),
        noting(calls),
        _quiet(),
        number_functions(),
        vmap_noticed(),
        composed_called(),
        padded_with_zeros(),
        noting_hashes(hashes, place_of_call),
        attention_recorded(),
        mode,
    ):
        graph, inputs = _record(run, leaves, [tensor for _, tensor in weights], model, parts, constants, pitfalls)
    for where in hashes.places if hashes.by_value else ():
        pitfalls.conversions[Conversion(where, "a key of a dict or set")] = None
    for where in asked.types() if asked.as_ints else ():
        pitfalls.conversions[Conversion(where, "what it is, as its type is asked for")] = None
    may_catch = [] if resize is not None or caught.places else asked.caught()
    for where in may_catch:
        pitfalls.conversions[Conversion(where, "an error, which the model may catch", decides=True)] = None
    conditions.incomplete |= bool(caught.places or may_catch) or asked.as_ints
    for where in caught.places:
        pitfalls.conversions[Conversion(where, "an error, which the model catches", decides=True)] = None
    if resize is None:
        pitfalls.warn()
        constants.warn(_named_modules(model))
        for text in strings:
            warn(f"the model returns the string {text!r}, which is not among the outputs of the exported model")
        for name in arguments.arrays:
            warn(f"{name!r} is a numpy array, a constant of the exported model; as a tensor it would be an input")
        for what in arguments.hidden:
            warn(
                f"{what}, has tensors in it, which are constants of the exported model; in a tuple, list, dict or "
                "dataclass they would be inputs"
            )
        for name in arguments.private_among(tensor_constants(graph)):
            warn(
                f"the model uses {name!r}, a private attribute of an argument, which is a constant of the exported model; "
                "as a public one it would be an input"
            )
    counters = arguments.counters()
    if counters and resize is None:
        warn(
            f"{', '.join(counters[:4])}{', ...' if len(counters) > 4 else ''}: the model counts this number on, but it "
            "is a constant of the exported model; make it a tensor to have it as an input"
        )
    calls.close(graph)
    calls_scripts = parts.module is not None or any(graph.findAllNodes("prim::CallFunction"))
    torch._C._jit_pass_inline(graph)
    first = 0 if parts.module is None else 1
    conditions.settle(graph, list(graph.inputs())[first : first + len(leaves)])

    def read() -> Program:
        program = _program(graph, model, arguments.names, inputs, weights, output_names, parts, calls)
        program.arguments = arguments.parameters
        program.conversions = list(pitfalls.conversions)
        program.reads_values = pitfalls.lost
        pitfalls.readings.settle(program)
        looked_at = enclosed.ALL_SIZES not in pitfalls.conversions and not (
            pitfalls.seen or conditions.lost or hashes.places or caught.places or may_catch or asked.as_ints
        )
        program.keeps_sizes = not calls_scripts and looked_at and kept.all_sizes(mode.called, program)
        program.conditions = conditions
        return program

    return Recording(graph, read), given


def _pitfalls(arguments: int, parts: Parts) -> Pitfalls:
    first = 0 if parts.module is None else 1

    def is_argument(value: Any) -> bool:
        state: Any = torch._C._get_tracing_state()
        given = list(state.graph().inputs())[first : first + arguments]
        return any(value.debugName() == x.debugName() for x in given)

    return Pitfalls(is_argument)


def _record(
    run: Callable[..., tuple[torch.Tensor, ...]],
    leaves: list[torch.Tensor],
    weights: list[torch.Tensor],
    model: Any,
    parts: Parts,
    constants: Constants,
    pitfalls: Pitfalls,
) -> tuple[Any, list[torch.Tensor]]:
    """The `torch._C.Graph` of a run, and the copies of the arguments that it worked on.

    It is that of a second run where the tracer can't take the first (see `bools` and `enclosed`).
    """
    holder = () if parts.module is None else (parts.module,)

    def graph_of(function: Callable[..., tuple[torch.Tensor, ...]]) -> tuple[Any, list[torch.Tensor]]:
        inputs = copies(leaves)
        shaped = {id(t): t.detach() for t in inputs}  # the model may change the sizes of the copies in place
        with unchanged(model), constants.unchanged():
            recorded = torch._C._create_graph_by_tracing(
                function, (*inputs, *weights), lambda value: "", False, False, *holder
            )
        torch._C._jit_pass_inline_fork_wait(recorded[0])
        refuse_constructors(recorded[0])
        return recorded[0], [shaped[id(t)] for t in inputs]

    def run_and_replace(*tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        outputs = run(*tensors)
        bools.replace_in_open_trace()
        return outputs

    def flattened(cause: RuntimeError) -> Callable[..., tuple[torch.Tensor, ...]]:
        with unchanged(model):
            return enclosed.flattened(run, copies(leaves), cause)

    try:
        return graph_of(run)
    except TypeError as error:
        refuse_constructor(error)
        raise
    except RuntimeError as error:
        if enclosed.is_enclosed(error):
            with enclosed.functions_called():
                return graph_of(run)
        if enclosed.is_transformed(error):
            pitfalls.conversions[enclosed.ALL_SIZES] = None
            try:
                return graph_of(flattened(error))
            except RuntimeError as again:
                if enclosed.is_unknown(again):
                    raise LoweringError(
                        "the model computes with a tensor that can't be recorded, such as a sparse one that is no attribute "
                        "of its modules; make it one, or a dense tensor"
                    ) from again
                if not enclosed.is_foreign(again):
                    raise
                raise LoweringError(
                    "the model computes with a tensor that requires grad and is none of its parameters; export the "
                    "nn.Module itself instead of a function that calls it, or detach() the tensor"
                ) from again
        if refused(error):
            raise CompiledCall(refused(error)) from error
        if not bools.is_cause(error):
            raise
    return graph_of(run_and_replace)


def _program(
    graph: Any,
    model: Any,
    names: list[str],
    examples: list[torch.Tensor],
    weights: list[tuple[str, torch.Tensor]],
    output_names: list[str | None],
    parts: Parts,
    calls: Calls,
) -> Program:
    attributes = Attributes(graph, {})
    reader = GraphReader(calls.of, attributes.leaf)
    given = list(graph.inputs())
    if parts.module is not None:
        reader.operands[given.pop(0)] = parts
    values = [reader.define(v) for v in given]
    state = set(model.state_dict()) if isinstance(model, torch.nn.Module) else set()
    for value, (name, tensor) in zip(values[len(names) :], weights):
        attributes.know(value, Weight(name, tensor, not isinstance(tensor, torch.nn.Parameter), name in state))
    block = Block(parameters=values)
    reader.nodes(graph, block.nodes)
    block.returns = [reader.operands[v] for v in graph.outputs()]
    if len(block.returns) == 1 and block.nodes:
        last = block.nodes[-1]  # the tracer packs what `run` returns into a tuple
        if last.op == "prim::TupleConstruct" and last.outputs == block.returns:
            block.returns = list(last.inputs)
            del block.nodes[-1]
    parameters = block.parameters
    inputs = [Input(v, n, e) for v, n, e in zip(parameters, names, examples)]
    block.parameters = parameters[: len(names)]
    modules = {name: type(module).__name__ for name, module in _named_modules(model)}
    return Program(
        block,
        inputs,
        attributes.weights,
        output_names,
        type(model).__name__,
        modules,
        "trace",
        state=attributes.state,
        keep_alive=graph,
    )


def _named_modules(model: Any) -> Iterator[tuple[str, torch.nn.Module]]:
    return iter(model.named_modules()) if isinstance(model, torch.nn.Module) else iter(())


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
def unchanged(model: Any) -> Iterator[None]:
    """Undo what a run changes: attributes and buffers of every module, what is in their dicts and lists, and the random state."""
    modules = [module for _, module in _named_modules(model)]
    scripted = (torch.jit.ScriptModule,)
    state = [
        (m, dict(m.__dict__), dict(m._parameters), dict(m._buffers)) for m in modules if not isinstance(m, scripted)
    ]
    containers = Contents([m for m, *_ in state])
    with torch._C.DisableTorchFunction():  # a mode that is on looks at the model's calls
        contents = [(b, b.detach().clone(), _version(b)) for m in modules for b in m.buffers(recurse=False)]
    random = torch.get_rng_state()
    try:
        yield
    finally:
        torch.set_rng_state(random)
        containers.restore()
        for module, attributes, parameters, buffers in state:
            module.__dict__.clear()
            module.__dict__.update(attributes)
            module._parameters.clear()
            module._parameters.update(parameters)
            module._buffers.clear()
            module._buffers.update(buffers)
        with torch._C.DisableTorchFunction(), torch.no_grad():
            for buffer, content, version in contents:
                # Running statistics are written without counting the version up.
                if _version(buffer) != version or not (is_sparse(buffer) or torch.equal(buffer, content)):
                    with torch.inference_mode(buffer.is_inference()):
                        buffer.copy_(content)


def _version(tensor: torch.Tensor) -> int | None:
    """How often a tensor has been written to; None of one made in inference mode, where nobody counts."""
    return None if tensor.is_inference() else tensor._version


__all__ = ["Value", "copies", "named_weights", "trace", "unchanged"]
