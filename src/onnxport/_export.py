"""`export`: calls the stages in order."""

from __future__ import annotations

import contextlib
import dataclasses
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO

import torch

from . import __version__
from . import options as _options
from ._collector import paused
from .errors import CheckerError, OnnxExporterError, OpsetError, warn, withheld
from .options import OperatorExportTypes, Options, TrainingMode
from .result import ExportResult, require_runtime
from .session import alone_with, asked, exporting, log, logging_on, select_model_mode_for_export

if TYPE_CHECKING:
    import onnx

    from .lower.model import Lowered
    from .program import Program

Target = str | os.PathLike[str] | BinaryIO


@_options.knowing_others
def export(
    model: Any,
    args: Any = (),
    f: Target | None = None,
    export_params: bool = True,
    verbose: bool = False,
    training: TrainingMode = TrainingMode.EVAL,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    operator_export_type: OperatorExportTypes = OperatorExportTypes.ONNX,
    opset_version: int | None = None,
    do_constant_folding: bool = True,
    dynamic_axes: Mapping[str, Mapping[int, str] | Sequence[int]] | None = None,
    keep_initializers_as_inputs: bool | None = None,
    custom_opsets: Mapping[str, int] | None = None,
    export_modules_as_functions: bool | set[type[torch.nn.Module]] = False,
    *,
    kwargs: Mapping[str, Any] | None = None,
    dynamic_shapes: Any = None,
    external_data: bool | None = None,
    strict: bool = False,
    check_axes: bool = True,
    verify: bool = False,
    optimize: bool = True,
    autograd_inlining: bool = True,
) -> ExportResult:
    """Export a PyTorch model to ONNX.

    Args:
        model: an `nn.Module` or function (run once and recorded), a `ScriptModule` or `ScriptFunction` (compiled,
            with its loops and ifs), or an `ExportedProgram`.
        args: example arguments: a tuple, a tensor, or a tuple that ends in a dict of named arguments (`{}` after a dict
            makes it positional).
        f: where to write: a path, or a binary stream. None writes nothing.
        export_params: False makes all parameters inputs of the model, after its own.
        verbose: print the graph, and note source locations in it.
        training: whether the model is exported for inference or to be trained.
        input_names: names of the inputs, in order; further names go to the parameters. Without, those of `forward`'s
            parameters.
        output_names: names of the outputs, in order.
        operator_export_type: what becomes of operators without a conversion.
        opset_version: version of the ONNX operators, 7 to the newest of the installed `onnx`. None is 14, or the
            lowest after it that can express the model.
        do_constant_folding: compute at export what depends on parameters alone.
        dynamic_axes: axes whose size is known only at run time: `{"x": {0: "batch"}}` or `{"x": [0, 2]}`.
        keep_initializers_as_inputs: list the initializers among the inputs too.
        custom_opsets: versions of custom operator domains.
        export_modules_as_functions: export calls of modules as local functions: True, or a set of module types.
        kwargs: example named arguments.
        dynamic_shapes: as of `torch.export`, by `forward`'s parameters, instead of `dynamic_axes`.
        external_data: True writes weights of 1 kB and more to a file beside the model's; None does so above 2 GB.
            Smaller ones stay in the model.
        strict: an axis that was declared dynamic, but may not be in the exported model, is an error, no warning.
        check_axes: look for such axes by tracing again at other sizes, where sizes became Python numbers.
        verify: compare the model with PyTorch, as `ExportResult.verify` does, before the file is written.
        optimize: fuse operations, where the model is exported for inference with its parameters.
        autograd_inlining: False refuses a `torch.autograd.Function` without a `symbolic`; True exports what its `forward` does.

    Returns:
        The model, and what can be done with it.

    Raises:
        TypeError, ValueError, FileNotFoundError: an argument is wrong; nothing was done.
        UnsupportedOperatorError: the model has operators without a conversion; all of them are listed.
        LoweringError: an operator can't be converted as it is used.
        CheckerError: the graph is not valid ONNX.
        VerificationError: with `verify`, the model differs from PyTorch; no file is written.
    """
    from . import write
    from .capture import module_of, uncompiled

    chosen = _options.check(
        export_params=export_params,
        verbose=verbose,
        training=training,
        input_names=input_names,
        output_names=output_names,
        operator_export_type=operator_export_type,
        opset_version=opset_version,
        do_constant_folding=do_constant_folding,
        dynamic_axes=dynamic_axes,
        dynamic_shapes=dynamic_shapes,
        keep_initializers_as_inputs=keep_initializers_as_inputs,
        custom_opsets=custom_opsets,
        export_modules_as_functions=export_modules_as_functions,
        strict=strict,
        check_axes=check_axes,
        optimize=optimize,
        autograd_inlining=autograd_inlining,
    )
    if f is not None:
        write.check_target(f, external_data=external_data)
    if verify:
        require_runtime()
    with paused(), logging_on() if chosen.verbose else contextlib.nullcontext():
        model = module_of(model)
        lowered, skeleton = convert(model, args, kwargs, chosen)
        if chosen.verbose:
            print(text_of(lowered), end="")
        result = ExportResult(lowered, uncompiled(model), args, kwargs, chosen.training)
        if verify:
            result.verify()
        if f is not None:
            write.write_model(lowered.model, f, external_data=external_data, skeleton=skeleton)
    return result


def convert(
    model: Any, args: Any, kwargs: Mapping[str, Any] | None, chosen: Options
) -> tuple[Lowered, onnx.ModelProto]:
    """From a model to a checked ONNX graph: everything of an export but writing it, for which the proto is given."""
    from . import passes, write
    from .capture import composed
    from .compat import stays_whole

    kept = stays_whole(chosen.operator_export_type)
    with exporting(), alone_with(model), select_model_mode_for_export(model, chosen.training), composed(kept):
        program = capture_only(model, args, kwargs, chosen)
        if chosen.training is TrainingMode.PRESERVE:
            mode = TrainingMode.TRAINING if getattr(model, "training", False) else TrainingMode.EVAL
            chosen = dataclasses.replace(chosen, training=mode)
        ahead = _Ahead(chosen)
        unchanged = _check_axes(program, model, args, kwargs, chosen, ahead)
        log.info("captured %s: %d inputs, %d weights", program.name, len(program.inputs), len(program.weights))
        lowered = (ahead.taken(program) if unchanged else None) or _lower(program, chosen)
    lowered.model.producer_version = __version__
    if chosen.modules_as_functions:  # nothing is fused across calls
        from .functions import modules_as_functions

        modules_as_functions(lowered, model, chosen.modules_as_functions)
    elif (
        chosen.optimize and chosen.do_constant_folding and chosen.export_params and chosen.training is TrainingMode.EVAL
    ):
        passes.optimize(lowered.model)
    passes.keep_from_crashing(lowered.model.graph)
    passes.keep_from_rounding(lowered.model.graph)
    try:
        checked = write.check_model(lowered.model)
    except Exception as error:  # onnx.checker raises types of its own, and some of protobuf's
        raise CheckerError(f"the exported graph is not valid ONNX: {error}") from error
    if lowered.by_symbolics:
        _check_symbolics(lowered)
    return lowered, checked


def _check_symbolics(lowered: Lowered) -> None:
    """Types and sizes of what symbolic functions asked for, as ONNX infers them; that of lowerings is tested."""
    from . import write
    from .compat.checks import refusal

    found = write.inference_error(lowered.model)
    if found is None:
        return
    name, reason = found
    for node, origin in lowered.origins.items():
        if node.name == name and origin in lowered.by_symbolics:
            raise refusal(node.op_type, origin, f"the ONNX operator {node.op_type} refuses it: {reason}")


def capture_only(model: Any, args: Any, kwargs: Mapping[str, Any] | None, chosen: Options) -> Program:
    """The first stage alone: the program, its inputs named and its dynamic axes settled."""
    from . import axes
    from .capture import arguments_of, capture

    if hasattr(chosen.dynamic_shapes, "dynamic_shapes"):  # a ShapesCollection and its like: by tensor, not by name
        shapes = chosen.dynamic_shapes.dynamic_shapes(model, *arguments_of(args, kwargs))
        chosen = dataclasses.replace(chosen, dynamic_shapes=shapes)
    program = capture(model, args, kwargs, chosen)
    axes.settle(program, chosen)
    return program


class _Ahead:
    """Programs that are lowered before it is known whether they stay as they are, to know sizes as expressions."""

    def __init__(self, chosen: Options) -> None:
        self._chosen = chosen
        self._lowered: dict[int, tuple[Lowered, list[str]]] = {}
        self._sizes: dict[int, tuple[Any, Mapping[str, Any]]] = {}  # what was recorded is kept, as its id is

    def sizes(self, program: Program) -> Mapping[str, Any]:
        """The results of nodes that take a size, by their names; none if the program can't be lowered."""
        from .capture import TAKES_SIZES

        key = id(program.keep_alive)  # another recording may take the place of that of a program
        if key in self._sizes:
            return self._sizes[key][1]
        found: dict[str, Any] = {}

        def observe(node: Any, results: list[Any]) -> None:
            if node.op.partition(".")[0] in TAKES_SIZES:
                found[node.outputs[0].name] = results[0]

        try:
            with withheld() as warnings:
                same = dataclasses.replace(program, output_names=list(program.output_names))
                self._lowered[key] = _lower(same, self._chosen, observe), warnings
        except Exception as error:  # it is raised again where nothing changes the program
            log.debug("not lowered ahead: %s", error)
            found.clear()
        self._sizes[key] = program.keep_alive, found
        return found

    def taken(self, program: Program) -> Lowered | None:
        """What a program was lowered to, if it was, to be used: what was warned of holds."""
        lowered, warnings = self._lowered.get(id(program.keep_alive), (None, ()))
        for message in warnings:
            warn(message)
        return lowered


def _check_axes(
    program: Program, model: Any, args: Any, kwargs: Mapping[str, Any] | None, chosen: Options, ahead: _Ahead
) -> bool:
    """Keep dynamic axes of a trace live that became Python numbers; warn of those that can't be, or raise. Whether the
    program is known to be as it was."""
    message, unchanged = program.assumed, False
    if program.front_end == "trace":
        message, unchanged = _thawed(program, model, args, kwargs, chosen, ahead)
    if message and chosen.strict:
        raise OnnxExporterError(message)
    if message:
        warn(message)
    return unchanged


def _thawed(
    program: Program, model: Any, args: Any, kwargs: Mapping[str, Any] | None, chosen: Options, ahead: _Ahead
) -> tuple[str, bool]:
    """See `_check_axes`: of a trace, what there is to tell, and whether it is known to be as it was."""
    from .axes import sizes
    from .capture import settle_readings, thaw, warn_of_values

    message, unchanged = "", False
    is_dynamic = any(declared.axes for declared in program.inputs)
    if not (is_dynamic and chosen.check_axes):
        warn_of_values(program, lambda: ahead.sizes(program))
        unchanged = not is_dynamic and not program.readings
    else:
        report = thaw(program, model, args, kwargs, ahead.sizes, _interpret)
        message, unchanged = report.message(sizes(program)), report.unchanged and not program.readings
    settle_readings(program)
    return message, unchanged


def _interpret(program: Program, inputs: list[Any]) -> list[Any]:
    """What a program gives, run in PyTorch."""
    from .verify.interpreter import interpret

    return interpret(program, inputs, lambda node, results: None)


def text_of(lowered: Lowered, *, node_names: bool = False) -> str:
    """The graph as `verbose` prints it."""
    from .printer import Printer

    printer = Printer(lowered.origins, lowered.modules, lowered.weights, node_names=node_names)
    return printer.graph(lowered.model.graph)


def export_to_pretty_string(
    model: Any,
    args: Any = (),
    export_params: bool = True,
    verbose: bool = False,
    training: TrainingMode = TrainingMode.EVAL,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    operator_export_type: OperatorExportTypes = OperatorExportTypes.ONNX,
    export_type: Any = None,
    google_printer: bool = False,
    opset_version: int | None = None,
    keep_initializers_as_inputs: bool | None = None,
    custom_opsets: Mapping[str, int] | None = None,
    add_node_names: bool = True,
    do_constant_folding: bool = True,
    dynamic_axes: Mapping[str, Mapping[int, str] | Sequence[int]] | None = None,
    *,
    kwargs: Mapping[str, Any] | None = None,
    dynamic_shapes: Any = None,
    export_modules_as_functions: bool | set[type[torch.nn.Module]] = False,
) -> str:
    """Like `export`, but gives the model as text and writes nothing.

    Args:
        export_type: None; other containers than a plain model aren't written.
        google_printer: True gives protobuf's debug text, False a compact one.
        add_node_names: whether the compact text has the names of nodes.
    """
    from .capture import module_of

    if export_type is not None and getattr(export_type, "name", "") != "PROTOBUF_FILE":
        raise ValueError(f"export_type {export_type!r} is not supported: leave it out")
    chosen = _options.check(
        export_params=export_params,
        verbose=verbose,
        training=training,
        input_names=input_names,
        output_names=output_names,
        operator_export_type=operator_export_type,
        opset_version=opset_version,
        do_constant_folding=do_constant_folding,
        dynamic_axes=dynamic_axes,
        dynamic_shapes=dynamic_shapes,
        keep_initializers_as_inputs=keep_initializers_as_inputs,
        custom_opsets=custom_opsets,
        export_modules_as_functions=export_modules_as_functions,
    )
    with paused(), logging_on() if chosen.verbose else contextlib.nullcontext():
        lowered, _ = convert(module_of(model), args, kwargs, chosen)
        if google_printer:
            from .write import to_proto

            return str(to_proto(lowered.model))
        model_ir = lowered.model
        opsets = ", ".join(f"{domain or 'ai.onnx'}: {version}" for domain, version in model_ir.opset_imports.items())
        head = f"model {model_ir.graph.name} (IR version {model_ir.ir_version}, {opsets})\n"
        return head + text_of(lowered, node_names=add_node_names)


def _lower(program: Program, chosen: Options, observe: Callable[[Any, list[Any]], None] | None = None) -> Lowered:
    """Lower at the opset asked for; with the default, at the lowest from it on that can express the model."""
    from . import ops  # noqa: F401  (fills the registry)
    from .compat import resolver
    from .lower.model import lower

    opset = chosen.opset
    resolve = resolver(chosen.operator_export_type)
    while True:
        try:
            with asked(opset, chosen):
                lowered = lower(program, chosen, opset, resolve, observe)
        except OpsetError as error:
            if chosen.opset_version is not None or error.needed is None or error.needed <= opset:
                raise
            opset = error.needed
            log.warning("exporting at opset %d: %s", opset, error.reason)
        else:
            log.info("lowered to %d nodes at opset %d", len(lowered.model.graph), opset)
            return lowered
