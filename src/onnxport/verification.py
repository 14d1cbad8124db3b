"""Comparing an exported model with the model in PyTorch, under the names of `torch.onnx.verification`.

`ExportResult.verify` does the same at other sizes too, with tolerances by dtype.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from ._export import export
from .errors import VerificationError
from .options import TrainingMode
from .result import ExportResult
from .verify import Check, FirstDifference, OutputError, Report
from .verify.compare import compare, plain
from .verify.runtime import ReferenceSession, leaves


class OnnxBackend(enum.Enum):
    """What runs the exported model."""

    REFERENCE = "ONNXReferenceEvaluator"
    ONNX_RUNTIME_CPU = "CPUExecutionProvider"
    ONNX_RUNTIME_CUDA = "CUDAExecutionProvider"


@dataclass
class VerificationOptions:
    """How to compare.

    Attributes:
        flatten, ignore_none: as they always are here: structures are flat in the graph, None is no output.
        check_shape, check_dtype: False lets outputs have other shapes of as many elements, or other dtypes.
        backend: what runs the exported model.
        rtol, atol: what is allowed, as in `torch.testing.assert_close`.
        acceptable_error_percentage: share of the elements of an output, 0 to 1, that may differ all the same.
    """

    flatten: bool = True
    ignore_none: bool = True
    check_shape: bool = True
    check_dtype: bool = True
    backend: OnnxBackend = OnnxBackend.ONNX_RUNTIME_CPU
    rtol: float = 1e-3
    atol: float = 1e-7
    remained_onnx_input_idx: Sequence[int] | None = None
    acceptable_error_percentage: float | None = None

    def __post_init__(self) -> None:
        share = self.acceptable_error_percentage
        if share is not None and not 0 <= share <= 1:
            raise ValueError(f"acceptable_error_percentage is a share from 0 to 1, not {share}")
        if not (self.flatten and self.ignore_none):
            raise ValueError("flatten=False and ignore_none=False are not supported: the graph has flat tensors")
        if self.remained_onnx_input_idx is not None:
            raise ValueError("remained_onnx_input_idx is not supported: no input is left out of the exported model")


@dataclass
class VerificationInfo:
    """How far an output, or a value within the model, is from what PyTorch computes.

    Attributes:
        abs_diff_hist, rel_diff_hist: how many elements differ by how much: counts, and edges of the bins.
    """

    name: str
    max_abs_diff: float
    max_rel_diff: float
    abs_diff_hist: tuple[torch.Tensor, torch.Tensor]
    rel_diff_hist: tuple[torch.Tensor, torch.Tensor]
    expected_dtype: torch.dtype
    actual_dtype: torch.dtype

    @classmethod
    def from_tensors(cls, name: str, expected: Any, actual: Any) -> VerificationInfo:
        expected, actual = torch.as_tensor(expected), torch.as_tensor(actual)
        wide, found = (plain(x).to(torch.float64).reshape(-1) for x in (expected, actual))
        absolute = (found - wide).abs()
        absolute[(found == wide) | (found.isnan() & wide.isnan())] = 0.0
        relative = absolute / (wide.abs() + 1e-12)
        return cls(
            name,
            _largest(absolute),
            _largest(relative),
            _histogram(absolute),
            _histogram(relative),
            expected.dtype,
            actual.dtype,
        )

    def asdict(self) -> dict[str, Any]:
        """The fields as plain Python values."""
        return {
            "name": self.name,
            "max_abs_diff": self.max_abs_diff,
            "max_rel_diff": self.max_rel_diff,
            "abs_diff_hist": [x.tolist() for x in self.abs_diff_hist],
            "rel_diff_hist": [x.tolist() for x in self.rel_diff_hist],
            "expected_dtype": str(self.expected_dtype),
            "actual_dtype": str(self.actual_dtype),
        }


_EDGES = [0.0, *(10.0**n for n in range(-6, 2)), 1e6]


def _largest(values: torch.Tensor) -> float:
    return float(values.max()) if values.numel() else 0.0


def _histogram(values: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    edges = torch.tensor(_EDGES, dtype=values.dtype)
    counts, edges = torch.histogram(values.clamp(max=_EDGES[-1]).nan_to_num(_EDGES[-1]), edges)
    return counts, edges


class GraphInfo:
    """What `find_mismatch` found.

    Attributes:
        report: the comparison, with the operation that differs first.
        mismatch_error: what differs, None if nothing does.
    """

    def __init__(self, report: Report) -> None:
        self.report = report
        self.mismatch_error: AssertionError | None = None if report.ok else AssertionError(str(report))

    def has_mismatch(self) -> bool:
        """Whether the exported model differs from the model."""
        return self.mismatch_error is not None

    def all_mismatch_leaf_graph_info(self) -> list[GraphInfo]:
        """Itself, if it differs: what differs first is told, and not what follows from that."""
        return [self] if self.has_mismatch() else []

    def pretty_print_mismatch(self, graph: bool = False) -> None:
        """Print what differs, and where it begins."""
        print(self.report)

    def pretty_print_tree(self) -> None:
        """The same: there is no tree, as the first operation that differs is found at once."""
        self.pretty_print_mismatch()


def verify(
    model: Any,
    input_args: Any,
    input_kwargs: Mapping[str, Any] | None = None,
    do_constant_folding: bool = True,
    dynamic_axes: Mapping[str, Mapping[int, str] | Sequence[int]] | None = None,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    training: TrainingMode = TrainingMode.EVAL,
    opset_version: int | None = None,
    keep_initializers_as_inputs: bool = True,
    verbose: bool = False,
    fixed_batch_size: bool = False,
    use_external_data: bool = False,
    additional_test_inputs: Sequence[Any] | None = None,
    options: VerificationOptions | None = None,
) -> None:
    """Export a model, and compare it with PyTorch on its example and on further arguments.

    Args:
        fixed_batch_size, use_external_data: no difference is made; nothing is written.
        additional_test_inputs: further arguments, each in a form that `export` takes for `args`.
        options: how to compare.
    Others as of `export`.

    Raises:
        AssertionError: an output differs.
    """
    result = export(
        model, input_args, None, True, verbose, training, input_names, output_names,
        opset_version=opset_version, do_constant_folding=do_constant_folding, dynamic_axes=dynamic_axes,
        keep_initializers_as_inputs=keep_initializers_as_inputs, kwargs=input_kwargs,
    )  # fmt: skip
    options = options or VerificationOptions()
    reference, run = result.comparison().reference, _runner(result, options.backend)
    for given in [reference.examples, *map(reference.flat, additional_test_inputs or ())]:
        expected, actual = reference(given), run(given)
        if len(actual) != len(expected):
            raise AssertionError(f"the exported model gives {len(actual)} outputs, PyTorch {len(expected)}")
        for name, a, e in zip(result.output_names, actual, expected):
            problem = _problem(name, a, plain(e), options)
            if problem:
                raise AssertionError(f"the exported model differs from PyTorch: {name}: {problem}")


def find_mismatch(
    model: Any,
    input_args: Any,
    do_constant_folding: bool = True,
    training: TrainingMode = TrainingMode.EVAL,
    opset_version: int | None = None,
    keep_initializers_as_inputs: bool = True,
    verbose: bool = False,
    options: VerificationOptions | None = None,
) -> GraphInfo:
    """Export a model, compare it with PyTorch, and find the operation where they part."""
    result = export(
        model, input_args, None, True, verbose, training, opset_version=opset_version,
        do_constant_folding=do_constant_folding, keep_initializers_as_inputs=keep_initializers_as_inputs,
    )  # fmt: skip
    options = options or VerificationOptions()
    if options.backend is not OnnxBackend.ONNX_RUNTIME_CPU:
        raise ValueError(f"find_mismatch runs the model by onnxruntime on the CPU, not by {options.backend}")
    try:
        report: Any = result.verify(rtol=options.rtol, atol=options.atol)
    except VerificationError as error:
        report = error.report
    return GraphInfo(report)


def verify_onnx_program(
    onnx_program: ExportResult,
    args: Any = None,
    kwargs: Mapping[str, Any] | None = None,
    compare_intermediates: bool = False,
) -> list[VerificationInfo]:
    """How far each output of an exported model is from what PyTorch gives, on the example or on other arguments."""
    if compare_intermediates:
        raise ValueError(
            "compare_intermediates is not supported: ExportResult.verify names the first value that differs"
        )
    reference = onnx_program.comparison().reference
    flat = reference.examples if args is None and kwargs is None else reference.flat(args or (), kwargs)
    actual = _runner(onnx_program, OnnxBackend.ONNX_RUNTIME_CPU)(flat)
    return [
        VerificationInfo.from_tensors(name, plain(e), a)
        for name, a, e in zip(onnx_program.output_names, actual, reference(flat))
    ]


def _runner(result: ExportResult, backend: OnnxBackend) -> Any:
    """From flat inputs to flat outputs of the exported model."""
    if backend is OnnxBackend.ONNX_RUNTIME_CUDA:
        raise ValueError("models are compared on the CPU")
    sides = result.comparison()
    session = ReferenceSession(result.model) if backend is OnnxBackend.REFERENCE else sides.session
    return lambda flat: leaves(session.run(sides.feed(flat)))


def _problem(name: str, actual: torch.Tensor, expected: torch.Tensor, options: VerificationOptions) -> str:
    """Why an output is wrong, "" if it is right."""
    if not options.check_dtype:
        actual = actual.to(expected.dtype)
    if not options.check_shape and actual.numel() == expected.numel():
        actual = actual.reshape(expected.shape)
    error = compare(name, actual, expected, options.rtol, options.atol)
    share = options.acceptable_error_percentage
    if error.ok or share is None or actual.shape != expected.shape or actual.dtype != expected.dtype:
        return error.problem
    near = torch.isclose(actual, expected, rtol=options.rtol, atol=options.atol, equal_nan=True)
    return "" if float((~near).double().mean()) <= share else error.problem


__all__ = [
    "Check",
    "FirstDifference",
    "GraphInfo",
    "OnnxBackend",
    "OutputError",
    "Report",
    "VerificationError",
    "VerificationInfo",
    "VerificationOptions",
    "find_mismatch",
    "verify",
    "verify_onnx_program",
]
