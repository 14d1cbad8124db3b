"""`replace_torch_onnx`: code that says torch.onnx is served by this package, unchanged."""

from __future__ import annotations

import contextlib
import inspect
import sys
import threading
import types
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import torch

from . import session
from ._export import export as _export
from .compat.registration import register_custom_op_symbolic, registered, unregister_custom_op_symbolic
from .compat.torch_names import NAME, modules
from .errors import OnnxExporterError
from .result import ExportResult

_lock = threading.RLock()
_active: list[Replacement] = []
# Arguments of today's torch.onnx.export that `export` doesn't have; see `_torch_export`.
_CLASSIC = tuple(inspect.signature(_export).parameters)


def replace_torch_onnx() -> Replacement:
    """Let `torch.onnx` be this package from now on, for all code of the process.

    `torch.onnx.export`, `torch.onnx.utils`, `symbolic_helper`, `symbolic_opset9` ..., `errors`, `verification`,
    registration, the enums and `is_in_onnx_export` become onnxport's; names that were imported before are redirected, too. As a
    context manager, it ends with the block:

        with onnxport.replace_torch_onnx():
            library.export_to_onnx(model)
    """
    replacement = Replacement()
    replacement.start()
    return replacement


class Replacement:
    """A replacement of torch.onnx that is on; `undo()` or the end of a `with` block takes it back."""

    def __init__(self) -> None:
        self._modules: dict[str, types.ModuleType | None] = {}
        self._codes: list[tuple[types.FunctionType, types.CodeType, Any, Any]] = []
        self._names: list[tuple[types.ModuleType, dict[str, Any]]] = []
        self._attribute: Any = None

    def __enter__(self) -> Replacement:
        return self

    def __exit__(self, *_: object) -> None:
        self.undo()

    def start(self) -> None:
        with _lock:
            if not _active:
                self._install()
            _active.append(self)

    def undo(self) -> None:
        """Bring torch's own modules back. A replacement within another one ends with the outer."""
        with _lock:
            if self not in _active:
                return
            _active.remove(self)
            if not _active:
                self._uninstall()
            elif self._modules:  # another one that began later is still on: it takes over what is to be restored
                heir = _active[0]
                heir._modules, heir._codes, heir._names = self._modules, self._codes, self._names
                heir._attribute = self._attribute

    def _install(self) -> None:
        ours = modules(_torch_export)
        loaded = {n: m for n, m in sys.modules.items() if n == NAME or n.startswith(f"{NAME}.")}
        self._modules = {name: loaded.get(name) for name in {*loaded, *ours}}
        self._attribute = torch.__dict__.get("onnx")
        for name, module in loaded.items():
            if name in ours and module is not None:
                self._redirect(module, ours[name])
            del sys.modules[name]
        sys.modules.update(ours)
        vars(torch)["onnx"] = ours[NAME]

    def _redirect(self, old: types.ModuleType, new: types.ModuleType) -> None:
        """Code that holds torch's module, or a function of it, is served by ours."""
        replaced: dict[str, Any] = {}
        for name, value in vars(new).items():
            known = old.__dict__.get(name)
            if name.startswith("__") or known is None or isinstance(value, types.ModuleType):
                continue
            replaced[name] = known
            if isinstance(known, types.FunctionType) and not known.__code__.co_freevars and callable(value):
                self._codes.append((known, known.__code__, known.__defaults__, known.__kwdefaults__))
                _forward(known, new.__name__, name)
            setattr(old, name, value)
        self._names.append((old, replaced))

    def _uninstall(self) -> None:
        for function, code, defaults, keyword_defaults in self._codes:
            function.__code__, function.__defaults__, function.__kwdefaults__ = code, defaults, keyword_defaults
        for module, names in self._names:
            for name, value in names.items():
                setattr(module, name, value)
        for name, old in self._modules.items():
            if old is None:
                sys.modules.pop(name, None)
            else:
                sys.modules[name] = old
        if self._attribute is None:
            torch.__dict__.pop("onnx", None)
        else:
            vars(torch)["onnx"] = self._attribute


def _forward(function: types.FunctionType, module: str, name: str) -> None:
    """Let a function, wherever it is held, call what its module has now under its name."""
    source = (
        f"def {function.__name__}(*args, **kwargs):\n"
        f"    import sys\n"
        f"    return getattr(sys.modules[{module!r}], {name!r})(*args, **kwargs)\n"
    )
    scope: dict[str, Any] = {}
    exec(compile(source, __file__, "exec"), scope)
    function.__code__ = scope[function.__name__].__code__
    function.__defaults__ = function.__kwdefaults__ = None


# -- export as torch.onnx has it today --------------------------------------------------------------


def _torch_export(
    *args: Any,
    dynamo: bool = True,
    custom_translation_table: Mapping[Any, Callable[..., Any]] | None = None,
    report: bool = False,
    profile: bool = False,
    dump_exported_program: bool = False,
    artifacts_dir: Any = ".",
    fallback: bool = False,
    **options: Any,
) -> ExportResult:
    """`onnxport.export` that understands what today's `torch.onnx.export` takes besides.

    Args:
        dynamo: no difference is made; there is one exporter.
        custom_translation_table: symbolic functions `fn(g, *args)` by torch operator, for this export.
        report: writes onnxport_report.md, what was exported, to `artifacts_dir`.
        profile: writes onnxport_profile.txt, where the time went.
        dump_exported_program: writes the captured program: onnxport_program.pt2 of an ExportedProgram, otherwise .txt.
        fallback: nothing to fall back to.
    """
    unknown = sorted(set(options) - set(_CLASSIC))
    if unknown:
        raise TypeError(f"export() got an unexpected keyword argument {unknown[0]!r}")
    if fallback:
        session.log.info("fallback=True: there is one exporter, nothing to fall back to")
    folder = Path(artifacts_dir)
    with _translations(custom_translation_table or {}), _profiled(folder) if profile else contextlib.nullcontext():
        result = _export(*args, **options)
    if dump_exported_program:
        _dump(args[0] if args else options["model"], result, folder)
    if report:
        (folder / "onnxport_report.md").write_text(report_of(result), encoding="utf-8")
    return result


@contextlib.contextmanager
def _translations(table: Mapping[Any, Callable[..., Any]]) -> Iterator[None]:
    """Registrations for one export."""
    before: list[tuple[str, Any]] = []
    try:
        for operator, function in table.items():
            names = list(inspect.signature(function).parameters)
            if not names or names[0] not in ("g", "graph", "ctx", "context"):
                raise OnnxExporterError(
                    f"custom_translation_table has {function!r} for {operator}; onnxport takes symbolic functions "
                    "fn(g, *args) that build with g.op(...), not onnxscript functions"
                )
            name = _qualified(operator)
            before.append((name, registered(name, 1)))
            register_custom_op_symbolic(name, function, 1)
        yield
    finally:
        for name, function in before:
            unregister_custom_op_symbolic(name, 1)
            if function is not None:
                register_custom_op_symbolic(name, function, 1)


def _qualified(operator: Any) -> str:
    """`aten::relu` of `torch.ops.aten.relu`, its overload `.default`, or the name itself."""
    if isinstance(operator, str):
        return operator
    name = getattr(operator, "_qualified_op_name", None) or getattr(getattr(operator, "_schema", None), "name", None)
    if not name:
        raise TypeError(f"custom_translation_table has the key {operator!r}, which is no torch operator")
    return str(name).partition(".")[0]


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
