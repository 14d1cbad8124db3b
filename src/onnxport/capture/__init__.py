"""Front ends: from a model and example arguments to a `Program`. The only place of private torch names."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import torch

from ..axes import sizes
from ..program import Program
from .compiled import module_of, uncompiled
from .graph import TAKES_SIZES
from .trace import CompiledCall
from .tracing.composed import composed

if TYPE_CHECKING:
    from ..options import Options
    from .liveness import Report


_one_at_a_time = threading.Lock()  # torch.export isn't made for threads


def capture(model: Any, args: Any, kwargs: Mapping[str, Any] | None, options: Options) -> Program:
    """Capture a model by the front end for its type."""
    from .inputs import normalize, slip_in
    from .trace import trace

    if isinstance(model, torch.export.ExportedProgram):
        from .exported_program import read

        return read(model)
    model = uncompiled(model)
    positional, named = normalize(args, kwargs)
    if isinstance(model, (torch.jit.ScriptModule, torch.jit.ScriptFunction)):
        from . import torchscript

        return torchscript.read(model, positional, named, len(options.input_names))
    if not isinstance(model, torch.nn.Module) and not callable(model):
        hint = "; of saved parameters, make the module and call load_state_dict" if isinstance(model, dict) else ""
        raise TypeError(
            "model must be an nn.Module, a scripted module or function, or an ExportedProgram, not "
            f"{type(model).__name__}{hint}"
        )
    if isinstance(model, type) and issubclass(model, torch.nn.Module):
        raise TypeError(f"model is the class {model.__name__}; give an instance of it, {model.__name__}(...)")
    try:
        return trace(model, positional, named)
    except CompiledCall as error:
        return _through_export(model, positional, named, options, error)
    except Exception as error:
        slip = slip_in(args, model, error)
        if slip is None:
            raise
        raise TypeError(f"{error}\n  {slip}") from error


def arguments_of(args: Any, kwargs: Mapping[str, Any] | None) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The forms of `args` that the classic API takes, as positional and keyword arguments."""
    from .inputs import normalize

    return normalize(args, kwargs)


def _through_export(
    model: Any, args: tuple[Any, ...], kwargs: dict[str, Any], options: Options, cause: CompiledCall
) -> Program:
    """Capture by `torch.export` what the tracer can't: `torch.cond`, `torch.while_loop`, compiled functions.

    Axes stay dynamic where arguments are plain tensors; elsewhere they can't be named to torch.export here.
    """
    from .exported_program import read
    from .inputs import flatten

    if not isinstance(model, torch.nn.Module):
        model, function = torch.nn.Module(), model
        model.forward = function
    shapes = options.dynamic_shapes
    arguments = flatten(model, args, kwargs)
    names = [*options.input_names[: len(arguments.names)], *arguments.names[len(options.input_names) :]]
    if shapes is None and options.dynamic_axes:
        if not set(arguments.names) <= set(arguments.parameters):
            raise cause
        auto: Any = torch.export.Dim.AUTO  # type: ignore[attr-defined]
        shapes = dict.fromkeys(arguments.parameters)  # what is no tensor has none
        for parameter, name, leaf in zip(arguments.names, names, arguments.leaves):
            shapes[parameter] = {axis % leaf.dim(): auto for axis in options.dynamic_axes.get(name, {})} or None
    with _one_at_a_time:
        try:
            exported = torch.export.export(model, args, kwargs, dynamic_shapes=shapes, strict=False)
        except Exception as error:
            try:  # older versions can't have functions compiled inside of it, which can run as they are; loops can't
                with torch.compiler.set_stance("force_eager"):
                    exported = torch.export.export(model, args, kwargs, dynamic_shapes=shapes, strict=False)
            except Exception:
                raise CompiledCall(f"{cause.reason} (torch.export can't capture it either: {error})") from error
    return read(exported)


def thaw(
    program: Program,
    model: Any,
    args: Any,
    kwargs: Mapping[str, Any] | None,
    known: Callable[[Program], Mapping[str, Any]],
    interpret: Callable[[Program, list[Any]], list[Any]],
) -> Report:
    """Look for dynamic axes that a trace froze, by tracing at other sizes (see `liveness.thaw`), and warn of values.

    Args:
        known: gives sizes as expressions of the labels, by the names of the values of a program that they are.
        interpret: runs a program on its inputs.
    """
    from . import liveness
    from .inputs import normalize
    from .liveness.recorded_again import with_live_numbers
    from .liveness.reruns import Reruns

    positional, named = normalize(args, kwargs)
    axes = [declared.axes for declared in program.inputs]
    reruns = Reruns(uncompiled(model), positional, named, axes, program.labels, interpret)
    reruns.writes_parameters = program.writes_parameters
    with_live_numbers(program, sizes(program), reruns, known)
    program.gave = ()
    warn_of_values(program, lambda: known(program))
    return liveness.thaw(program, sizes(program), reruns, known)


OF_VALUES = "a size that depends on values"


def warn_of_values(program: Program, known: Callable[[], Mapping[str, Any]]) -> None:
    """Warn of sizes that depend on values of the arguments, where Python took numbers out of them; see `thaw`. Of numbers
    that may stay live it is said only if they don't; some turn out not to depend on values."""
    from ..errors import warn
    from .watch.pitfalls import constant

    found = program.conditions.of_values(known, set(sizes(program)))
    counted = [reading for reading in program.readings if reading.counts]
    for reading in counted:
        reading.of_sizes = reading.place not in found
    for place, what in found.items():
        if all(reading.place != place for reading in counted):
            warn(constant(place, what, OF_VALUES))


def settle_readings(program: Program) -> None:
    """Warn of ints that were taken out of tensors and are constants; take what was kept of them out of the program."""
    from ..errors import warn
    from .watch.pitfalls import constant
    from .watch.readings import drop_unread

    if program.readings:
        drop_unread(program)
        followed = {r.place for r in program.readings if r.followed or r.of_sizes}
        for r in {r.place: r for r in program.readings if r.place not in followed}.values():
            warn(constant(r.place, r.what, *([OF_VALUES] if r.counts else [])))
        program.readings.clear()


__all__ = [
    "TAKES_SIZES",
    "arguments_of",
    "capture",
    "composed",
    "module_of",
    "settle_readings",
    "thaw",
    "uncompiled",
    "warn_of_values",
]
