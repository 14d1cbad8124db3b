"""What the commands do."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from ..errors import VerificationError
from .inputs import BadUsage, InputSpec, make_inputs, parse_dynamic, parse_inputs
from .target import load

if TYPE_CHECKING:
    from ..verify import Report

_out = Console(soft_wrap=True, highlight=False)
_err = Console(stderr=True, soft_wrap=True, highlight=False)


def export_model(
    target: str,
    inputs: Sequence[str],
    dynamic: Sequence[str],
    *,
    output: str,
    opset: int | None,
    verify: bool,
    external_data: bool | None,
    unsafe: bool,
    seed: int,
) -> None:
    """`onnxport export`."""
    specs = parse_inputs(inputs)
    axes = parse_dynamic(dynamic, specs)
    with _step("loading PyTorch and the model"):
        from .. import export
        from ..write import check_target

        try:
            check_target(output, external_data=external_data)
        except OSError as error:
            raise BadUsage(f"--output {output}: {error.strerror}") from error
        model = load(target, unsafe=unsafe, seed=seed)
    args, names = _arguments(model, specs, seed)
    started = time.perf_counter()
    report = None
    with _usage():
        with _step("exporting"):
            result = export(
                model, args, None if verify else output, opset_version=opset, input_names=names, dynamic_axes=axes,
                external_data=external_data,
            )  # fmt: skip
        seconds = time.perf_counter() - started
        if verify:
            with _step("comparing with PyTorch"):
                report = result.verify()
            with _step("writing"):
                result.save(output, external_data=external_data)
    nodes = len(result.model.graph)
    size = sum(os.path.getsize(p) for p in (output, f"{output}.data") if os.path.isfile(p))
    _out.print(f"{output}: {nodes:,} nodes, {_bytes(size)}, opset {result.opset_version}, {seconds:.2f} s")
    if report is not None:
        _out.print(table_of(report))


def verify_file(
    path: str,
    target: str,
    inputs: Sequence[str],
    *,
    rtol: float | None,
    atol: float | None,
    unsafe: bool,
    seed: int,
) -> None:
    """`onnxport verify`: the file, as it is, at the example sizes and along its own dynamic axes."""
    specs = parse_inputs(inputs)
    if not os.path.isfile(path):
        raise BadUsage(f"there is no file {path}")
    with _step("loading PyTorch and the model"):
        from ..options import TrainingMode
        from ..program import Labels
        from ..verify import Comparison, Reference, Session
        from ..verify.sizes import Axes

        model = load(target, unsafe=unsafe, seed=seed)
        args, _ = _arguments(model, specs, seed)
        session = Session(path)
        reference = Reference(model, args, None, TrainingMode.EVAL)
    names = session.input_names
    if len(reference.examples) != len(names):
        raise BadUsage(
            f"{path} has {len(names)} inputs ({', '.join(names)}), but {len(reference.examples)} are given by --input"
        )
    axes: Axes = session.axes
    labels = Labels.read(label for of_input in axes for label in of_input.values())
    comparison = Comparison(reference, session, lambda flat: dict(zip(names, flat)), labels, rtol, atol)
    with _step("comparing with PyTorch"):
        report = comparison.verify([reference.examples], axes)
    _out.print(table_of(report))
    if not report.ok:
        raise VerificationError(f"{path} differs from {target}\n{report}", report)


def table_of(report: Report) -> Table:
    """The runs of a verification as a table."""
    table = Table(box=None, pad_edge=False)
    for title in ("sizes", "largest error", ""):
        table.add_column(title)
    for check in report.checks:
        where = ", ".join(f"{label}={size}" for label, size in check.sizes.items()) or "as given"
        if check.skipped:
            table.add_row(where, "", f"not compared, PyTorch can't run it: {check.skipped}")
        else:
            verdict = ("random, shapes are right" if check.random else "ok") if check.ok else "DIFFERS"
            table.add_row(where, f"{check.largest:.3g}", verdict)
    return table


def _arguments(model: Any, specs: Sequence[InputSpec], seed: int) -> tuple[tuple[Any, ...], list[str]]:
    """Example arguments: by name where every name is one of `forward`'s parameters, in order where none is."""
    made = make_inputs(specs, seed)
    parameters = _parameters(model)
    if made and parameters is not None and set(made) <= set(parameters):
        ordered = sorted(made, key=parameters.index)
        if ordered == parameters[: len(ordered)]:
            return tuple(made[name] for name in ordered), ordered
        return (made,), ordered
    if parameters is not None and set(made) & set(parameters) and not _takes_any(model):
        unknown = ", ".join(repr(name) for name in made if name not in parameters)
        raise BadUsage(f"--input {unknown}: the model takes {', '.join(parameters)}")
    return tuple(made.values()), list(made)


def _parameters(model: Any) -> list[str] | None:
    """Names of the arguments of `forward`, None if they can't be told."""
    import inspect

    import torch

    if isinstance(model, (torch.jit.ScriptModule, torch.jit.ScriptFunction)):
        function: Any = model.forward if isinstance(model, torch.jit.ScriptModule) else model
        return [a.name for a in function.schema.arguments if a.name != "self"]
    if isinstance(model, torch.nn.Module):
        return list(inspect.signature(model.forward).parameters)
    return None


def _takes_any(model: Any) -> bool:
    """Whether `forward` collects arguments in `*args` or `**kwargs`."""
    import inspect

    import torch

    if not isinstance(model, torch.nn.Module) or isinstance(model, torch.jit.ScriptModule):
        return False
    parameters = inspect.signature(model.forward).parameters.values()
    return any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters)


@contextlib.contextmanager
def _usage() -> Iterator[None]:
    """Arguments that `export` refuses were wrong on the command line."""
    try:
        yield
    except (TypeError, ValueError) as error:
        if _is_ours(error):
            raise BadUsage(str(error)) from error
        raise


def _is_ours(error: BaseException) -> bool:
    """Whether an error was raised by a check of arguments, not from inside the model."""
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    module = "" if last is None else str(last.tb_frame.f_globals.get("__name__", ""))
    return module.startswith("onnxport.") or module == "inspect"


@contextlib.contextmanager
def _step(what: str) -> Iterator[None]:
    """Show on a terminal that something takes its time."""
    if not sys.stderr.isatty():
        yield
        return
    with _err.status(f"{what} ..."):
        yield


def _bytes(size: float) -> str:
    for unit in ("B", "kB", "MB"):
        if size < 999.5:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} GB"
