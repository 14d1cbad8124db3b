"""The names of torch.onnx.utils."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

from . import options as _options
from ._export import capture_only, export, export_to_pretty_string
from .compat.blocks import add_input as _add_input_to_block
from .compat.blocks import add_op_with_blocks
from .compat.blocks import add_output as _add_output_to_block
from .compat.registration import register_custom_op_symbolic, unregister_custom_op_symbolic
from .options import TrainingMode
from .session import exporting, is_in_onnx_export, logging_on, select_model_mode_for_export


def unconvertible_ops(
    model: Any,
    args: Any,
    training: Any = TrainingMode.EVAL,
    opset_version: int | None = None,
    *,
    kwargs: Mapping[str, Any] | None = None,
) -> tuple[Any, list[str]]:
    """The model's graph as PyTorch recorded it, and `namespace::operator` for each node in it without a conversion.

    Registered symbolic functions count as conversions. An operator is listed as often as it can't be converted.
    """
    from . import ops  # noqa: F401  (fills the registry)
    from .capture import composed
    from .compat import stays_whole
    from .compat.unconvertible import unconvertible

    chosen = _options.Options(
        training=_options.member(TrainingMode, training, "training"),
        opset_version=_options.check_opset(opset_version),
    )
    kept = stays_whole(chosen.operator_export_type)
    with exporting(), select_model_mode_for_export(model, chosen.training), composed(kept):
        program = capture_only(model, args, kwargs, chosen)
        found = unconvertible(program, chosen, chosen.opset)
    return program.keep_alive if program.keep_alive is not None else program, found


@contextlib.contextmanager
def setup_onnx_logging(verbose: bool) -> Iterator[None]:
    """The log is on for a while, if `verbose`."""
    with logging_on() if verbose else contextlib.nullcontext():
        yield


@contextlib.contextmanager
def exporter_context(model: Any, mode: Any, verbose: bool) -> Iterator[None]:
    """The model's mode, the flag and the log as in an export."""
    with exporting(), select_model_mode_for_export(model, mode), setup_onnx_logging(verbose):
        yield


__all__ = [
    "_add_input_to_block",
    "_add_output_to_block",
    "add_op_with_blocks",
    "export",
    "export_to_pretty_string",
    "exporter_context",
    "is_in_onnx_export",
    "register_custom_op_symbolic",
    "select_model_mode_for_export",
    "setup_onnx_logging",
    "unconvertible_ops",
    "unregister_custom_op_symbolic",
]
