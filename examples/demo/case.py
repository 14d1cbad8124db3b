"""One model of the demo: how it is exported, checked and shown."""

from __future__ import annotations

import pathlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rich.table import Table

import onnxport
from onnxport.errors import OnnxExporterError, VerificationError
from onnxport.verify import Check, Session


@dataclass
class Case:
    """A model with example arguments.

    `others` are further arguments to compare at. `judge` gets the file, loaded into onnxruntime, and does with it
    what the model is for; it returns lines to print and raises AssertionError if the result isn't that of PyTorch.
    """

    file: str
    model: Any
    args: tuple[Any, ...]
    input_names: Sequence[str]
    output_names: Sequence[str]
    judge: Callable[[Session, onnxport.ExportResult], list[str]]
    dynamic_axes: Mapping[str, Mapping[int, str]] = field(default_factory=dict)
    others: Sequence[tuple[Any, ...]] = ()
    opset: int | None = None


@dataclass
class Outcome:
    """What came of a case."""

    name: str
    nodes: int = 0
    size: int = 0
    opset: int = 0
    seconds: float = 0.0
    checks: Sequence[Check] = ()
    lines: list[str] = field(default_factory=list)
    ok: bool = False


def run(name: str, make: Callable[[], Case], folder: pathlib.Path) -> Outcome:
    """Export, compare at all sizes, and put the file to its use."""
    outcome = Outcome(name)
    try:
        case = make()
        path = folder / case.file
        started = time.perf_counter()
        result = onnxport.export(
            case.model, case.args, path,
            input_names=case.input_names, output_names=case.output_names, dynamic_axes=case.dynamic_axes,
            opset_version=case.opset,
        )  # fmt: skip
        outcome.seconds = time.perf_counter() - started
        outcome.nodes, outcome.opset = len(result.model.graph), result.opset_version
        outcome.size = path.stat().st_size
        outcome.checks = result.verify([case.args, *case.others]).checks
        outcome.lines = case.judge(Session(path), result)
        outcome.ok = True
    except VerificationError as error:
        outcome.checks = getattr(error.report, "checks", ())
        outcome.lines = [str(error)]
    except (OnnxExporterError, AssertionError, ImportError) as error:
        outcome.lines = [f"{type(error).__name__}: {error}"]
    return outcome


def table_of(outcomes: Sequence[Outcome]) -> Table:
    table = Table(title="onnxport demo: each model in onnxruntime against PyTorch")
    for title in ("model", "nodes", "bytes", "opset", "export", "at", "largest error", "result"):
        table.add_column(title, justify="left" if title in ("model", "at", "result") else "right", no_wrap=True)
    for outcome in outcomes:
        compared = [c for c in outcome.checks if not c.skipped]
        table.add_row(
            outcome.name,
            f"{outcome.nodes:,}",
            f"{outcome.size:,}",
            str(outcome.opset),
            f"{outcome.seconds:.2f} s",
            "\n".join(", ".join(f"{k}={v}" for k, v in c.sizes.items()) or "the example" for c in compared),
            "\n".join(f"{c.largest:.2g}" for c in compared),
            "[green]equal[/]" if outcome.ok else "[bold red]FAILS[/]",
        )
        table.add_section()
    return table
