"""Exports real models, compares each with PyTorch and prints what came of it: `make demo`.

The files go to `build/demo/`. The exit code is 1 if a model can't be exported or differs.
"""

from __future__ import annotations

import pathlib
import sys
from collections.abc import Callable

import alexnet
import pitch
import sentences
import speech
import torch
from case import Case, Outcome, run, table_of
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

FOLDER = pathlib.Path(__file__).parents[2] / "build" / "demo"
CASES: dict[str, Callable[[], Case]] = {
    "AlexNet": alexnet.case,
    "all-MiniLM-L6-v2": sentences.case,
    "CREPE pitch tracker": pitch.case,
    "Silero VAD (scripted)": speech.case,
}


def main() -> int:
    torch.manual_seed(0)
    FOLDER.mkdir(parents=True, exist_ok=True)
    console = Console(width=None if sys.stdout.isatty() else 120)
    outcomes: list[Outcome] = []
    columns = SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=len(CASES))
        for name, make in CASES.items():
            progress.update(task, description=name)
            outcomes.append(run(name, make, FOLDER))
            progress.advance(task)
    console.print(table_of(outcomes))
    for outcome in outcomes:
        for line in outcome.lines:
            console.print(f"{outcome.name}: {line}", highlight=False, markup=False, soft_wrap=True)
    return 0 if all(outcome.ok for outcome in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
