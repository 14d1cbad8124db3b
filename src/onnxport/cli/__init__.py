"""The command line: `onnxport export` and `onnxport verify`.

Exit codes: 0 for success, 1 if a model can't be exported or differs, 2 for wrong usage. Errors are one line each
on stderr (those that list operators or sizes have more). What takes long is imported when a command runs.
"""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from ..errors import OnnxExporterError, OnnxExporterWarning
from .inputs import BadUsage

OK, FAILED, BAD_USAGE = 0, 1, 2

app = typer.Typer(
    name="onnxport",
    help="Export PyTorch models to ONNX.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

Target = Annotated[
    str,
    typer.Argument(
        metavar="TARGET",
        help="`package.module:name` of a module, or of a function that makes one; or a TorchScript archive.",
    ),
]
Inputs = Annotated[
    list[str] | None,
    typer.Option(
        "--input",
        "-i",
        metavar="NAME=DTYPE[SIZES]",
        help="An example input, e.g. x=float32[1,3,224,224] or ids=int64[2,16]<100 (values below 100). Once for each.",
    ),
]
Dynamic = Annotated[
    list[str] | None,
    typer.Option("--dynamic", "-d", metavar="NAME:AXIS=LABEL", help="An axis of any size, e.g. x:0=batch."),
]
Unsafe = Annotated[
    bool,
    typer.Option(
        "--unsafe", help="TARGET may be a file of torch.save or torch.export.save. Loading it can run any code in it."
    ),
]
Tolerance = Annotated[float | None, typer.Option(help="Tolerance; fits the dtype without it.")]
Seed = Annotated[
    int, typer.Option(help="Seed of the example inputs, and of weights that the code of TARGET draws at random.")
]


def _version(value: bool) -> None:
    if value:
        from .. import __version__

        typer.echo(f"onnxport {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
    show_traceback: Annotated[bool, typer.Option("--traceback", help="Show where an error came from.")] = False,
) -> None:
    del version, show_traceback  # `run` looks for the latter before anything can fail


@app.command("export")
def export_command(
    target: Target,
    output: Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="Where to write the model.")],
    input: Inputs = None,
    dynamic: Dynamic = None,
    opset: Annotated[
        int | None, typer.Option(help="Version of the ONNX operators; 14 or what the model needs.")
    ] = None,
    verify: Annotated[
        bool, typer.Option("--verify", help="Compare with PyTorch first; write nothing if it differs.")
    ] = False,
    external_data: Annotated[bool, typer.Option("--external-data", help="Weights in a file of their own.")] = False,
    unsafe: Unsafe = False,
    seed: Seed = 0,
) -> None:
    """Export a model to an ONNX file."""
    from .commands import export_model

    export_model(
        target,
        input or [],
        dynamic or [],
        output=output,
        opset=opset,
        verify=verify,
        external_data=external_data or None,
        unsafe=unsafe,
        seed=seed,
    )


@app.command("verify")
def verify_command(
    model: Annotated[str, typer.Argument(metavar="MODEL.onnx", help="The exported model.")],
    target: Target,
    input: Inputs = None,
    rtol: Tolerance = None,
    atol: Tolerance = None,
    unsafe: Unsafe = False,
    seed: Seed = 0,
) -> None:
    """Compare an ONNX file, run by onnxruntime, with the model in PyTorch."""
    from .commands import verify_file

    verify_file(model, target, input or [], rtol=rtol, atol=atol, unsafe=unsafe, seed=seed)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code."""
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())  # so that TARGET may be a module in the current folder, as with python -m
    given = sys.argv[1:] if arguments is None else list(arguments)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _warn
            result: Any = app(args=given, standalone_mode=False)
    except KeyboardInterrupt:
        return _say("interrupted", 130)
    except Exception as error:
        if "--traceback" in given:
            traceback.print_exc()
        return _fail(error)
    return result if isinstance(result, int) else OK


def _warn(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    """One line for a warning."""
    _say(f"warning: {message}" if issubclass(category, OnnxExporterWarning) else f"{category.__name__}: {message}", OK)


def _fail(error: Exception) -> int:
    """Say what went wrong; the exit code."""
    if isinstance(error, BadUsage):
        return _say(error, BAD_USAGE)
    show = getattr(error, "show", None)  # unknown options and the like
    if callable(show):
        show()
        return int(getattr(error, "exit_code", BAD_USAGE))
    if isinstance(error, OnnxExporterError):
        return _say(error, FAILED)
    if isinstance(error, OSError) and error.strerror:
        return _say(": ".join(filter(None, (error.strerror, str(error.filename or "")))), FAILED)
    return _say(f"{type(error).__name__}: {error}{_place(error)}", FAILED)


def _place(error: BaseException) -> str:
    """The innermost line that is neither ours nor of an installed package, as " (model.py:41)"."""
    found = ""
    for frame, line in traceback.walk_tb(error.__traceback__):
        file = frame.f_code.co_filename
        if "site-packages" not in file and not file.startswith((_HERE, "<")):
            found = f" ({os.path.relpath(file)}:{line})"
    return found


_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def _say(problem: object, code: int) -> int:
    sys.stderr.write(f"onnxport: {str(problem).strip()}\n")
    return code
