"""`export` as `torch.onnx.export` has it today."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from .. import session
from .._export import export
from ..compat.registration import register_custom_op_symbolic, registered, unregister_custom_op_symbolic
from ..errors import warn
from ..result import ExportResult
from .program import ONNXProgram

_GRAPH = ("g", "graph", "ctx", "context")  # what symbolic functions call their first argument
_KNOWN = frozenset(inspect.signature(export).parameters)


def torch_export(
    *args: Any,
    dynamo: bool = True,
    custom_translation_table: Mapping[Any, Callable[..., Any]] | None = None,
    report: bool = False,
    profile: bool = False,
    dump_exported_program: bool = False,
    artifacts_dir: Any = ".",
    fallback: bool = False,
    **options: Any,
) -> ONNXProgram:
    """`onnxport.export` that understands what today's `torch.onnx.export` takes besides.

    Args:
        dynamo: no difference is made; there is one exporter.
        custom_translation_table: symbolic functions `fn(g, *args)` by torch operator, for this export. Functions of
            another form are left out, with a warning.
        report: writes onnxport_report.md, what was exported, to `artifacts_dir`.
        profile: writes onnxport_profile.txt, where the time went.
        dump_exported_program: writes the captured program: onnxport_program.pt2 of an ExportedProgram, otherwise .txt.
        fallback: nothing to fall back to.
    """
    unknown = sorted(options.keys() - _KNOWN)
    if unknown:
        raise TypeError(f"export() got an unexpected keyword argument {unknown[0]!r}")
    if fallback:
        session.log.info("fallback=True: there is one exporter, nothing to fall back to")
    folder = Path(artifacts_dir)
    table = {_qualified(operator): f for operator, f in (custom_translation_table or {}).items()}
    usable = {name: function for name, function in table.items() if _is_symbolic(function)}
    with _translations(usable), _profiled(folder) if profile else contextlib.nullcontext():
        result = export(*args, **options)
    _warn_of_others([name for name in table if name not in usable], result)
    if dump_exported_program:
        _dump(args[0] if args else options["model"], result, folder)
    if report:
        (folder / "onnxport_report.md").write_text(report_of(result), encoding="utf-8")
    return ONNXProgram.of(result)


def _signature() -> inspect.Signature:
    """All arguments by their names: code asks for them, to know which version of torch.onnx it has."""
    own = inspect.signature(torch_export)
    named = [p for p in own.parameters.values() if p.kind is p.KEYWORD_ONLY]
    parameters = [*inspect.signature(export).parameters.values(), *named]
    return own.replace(parameters=parameters)


torch_export.__signature__ = _signature()  # type: ignore[attr-defined]


@contextlib.contextmanager
def _translations(table: Mapping[str, Callable[..., Any]]) -> Iterator[None]:
    """Registrations for one export."""
    before: list[tuple[str, Any]] = []
    try:
        for name, function in table.items():
            before.append((name, registered(name, 1)))
            register_custom_op_symbolic(name, function, 1)
        yield
    finally:
        for name, function in before:
            unregister_custom_op_symbolic(name, 1)
            if function is not None:
                register_custom_op_symbolic(name, function, 1)


def _is_symbolic(function: Any) -> bool:
    """Whether a function is of the form that can be called here; a list has some for several overloads."""
    return callable(function) and next(iter(inspect.signature(function).parameters), "") in _GRAPH


def _warn_of_others(names: Sequence[str], result: ExportResult) -> None:
    """Say which functions weren't used, among those for operators that the model has."""
    program = result._lowered.program
    called = set() if program is None else {node.op.partition(".")[0] for node in program.block.walk()}
    found = [name for name in names if name in called]
    if found:
        warn(
            f"custom_translation_table has functions for {', '.join(found)} that aren't symbolic functions fn(g, *args) "
            "which build with g.op(...): the operators were converted without them, as PyTorch computes them"
        )


def _qualified(operator: Any) -> str:
    """`aten::relu` of `torch.ops.aten.relu`, its overload `.default`, or the name itself."""
    if isinstance(operator, str):
        return operator
    name = getattr(operator, "_qualified_op_name", None) or getattr(getattr(operator, "_schema", None), "name", None)
    if not name and callable(operator):  # Python's own, on sizes
        name = f"{operator.__module__}.{operator.__name__}"
    if not name:
        raise TypeError(f"custom_translation_table has the key {operator!r}, which is no torch operator")
    return str(name).partition(".")[0] if "::" in name else name


@contextlib.contextmanager
def _profiled(folder: Path) -> Iterator[None]:
    import cProfile
    import io
    import pstats

    profiler = cProfile.Profile()
    with profiler:
        yield
    text = io.StringIO()
    pstats.Stats(profiler, stream=text).sort_stats("cumulative").print_stats(60)
    (folder / "onnxport_profile.txt").write_text(text.getvalue(), encoding="utf-8")


def _dump(model: Any, result: ExportResult, folder: Path) -> None:
    if isinstance(model, torch.export.ExportedProgram):
        torch.export.save(model, folder / "onnxport_program.pt2")
    else:
        (folder / "onnxport_program.txt").write_text(result.program_text, encoding="utf-8")


def report_of(result: ExportResult) -> str:
    """What was exported, in Markdown."""
    graph = result.model.graph
    counts: dict[str, int] = {}
    for node in graph:
        name = f"{node.domain}::{node.op_type}" if node.domain else node.op_type
        counts[name] = counts.get(name, 0) + 1
    lines = [
        f"# {graph.name}",
        "",
        "| domain | version |",
        "| --- | --- |",
        *(f"| {domain or 'ai.onnx'} | {version} |" for domain, version in graph.opset_imports.items()),
        "",
        "| input or output | type | sizes |",
        "| --- | --- | --- |",
        *(f"| {v.name} | {v.dtype} | {v.shape} |" for v in (*graph.inputs, *graph.outputs)),
        "",
        "| operator | nodes |",
        "| --- | --- |",
        *(f"| {name} | {count} |" for name, count in sorted(counts.items())),
        "",
    ]
    return "\n".join(lines)
