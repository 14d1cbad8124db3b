"""What `export` returns."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO

import onnx
import onnx_ir as ir
import torch

from .dtypes import quantized_parts, to_onnx
from .errors import OnnxExporterError, VerificationError
from .lower.model import Lowered
from .options import TrainingMode
from .program import Labels

if TYPE_CHECKING:
    from .verify import Comparison, FirstDifference, Reference, Report, Session


class ExportResult:
    """An exported model.

    Attributes:
        model: the model as `onnx_ir.Model`; weights lie in torch's memory.
        input_names, output_names: of the graph, in order.
    """

    def __init__(
        self,
        lowered: Lowered,
        source: Any,
        args: Any,
        kwargs: Mapping[str, Any] | None,
        training: TrainingMode = TrainingMode.EVAL,
    ) -> None:
        self.model: ir.Model = lowered.model
        self.input_names = list(lowered.input_names)
        self.output_names = list(lowered.output_names)
        self.opset_version: int = lowered.model.graph.opset_imports[""]
        self._lowered = lowered
        self._source = source
        self._args = args
        self._kwargs = kwargs
        self._training = training
        self._session: Session | None = None

    def __repr__(self) -> str:
        graph = self.model.graph
        inputs = graph.inputs[: len(self.input_names)]  # weights may follow
        sides = (", ".join(map(_signature, values)) for values in (inputs, graph.outputs))
        return f"<ExportResult {' -> '.join(sides)}; {len(graph):,} nodes, opset {self.opset_version}>"

    @property
    def model_proto(self) -> onnx.ModelProto:
        """The model as protobuf, weights copied into it."""
        from .write import to_proto

        return to_proto(self.model)

    @property
    def program_text(self) -> str:
        """The program that was captured, as PyTorch prints it where it can."""
        program = self._lowered.program
        if program is None:
            return ""
        return str(program.keep_alive) if program.keep_alive is not None else "\n".join(map(repr, program.block.nodes))

    def optimize(self) -> None:
        """For code that expects it: `export` has optimized the model already."""

    def save(self, f: str | os.PathLike[str] | BinaryIO, *, external_data: bool | None = None) -> None:
        """Write the model to a path or binary stream."""
        from .write import write_model

        write_model(self.model, f, external_data=external_data)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the model in onnxruntime on arguments like those of the export.

        Gives a tensor, or a tuple of them, flat, as the graph has them; complex ones as pairs of reals.

        Raises:
            TypeError: the arguments don't fit the model, or a tensor has another type than its input.
            ValueError: a tensor has another size along an axis that isn't dynamic.
        """
        feeds = self._feed(self._reference().flat(args, kwargs))
        for value in self.model.graph.inputs:
            _check_fits(value, feeds.get(value.name or ""))
        found = self._load().run(feeds)
        return found[0] if len(found) == 1 else tuple(found)

    def verify(
        self,
        inputs: Sequence[Any] | None = None,
        *,
        rtol: float | None = None,
        atol: float | None = None,
        sizes: bool = True,
    ) -> Report:
        """Compare the model, run by onnxruntime, with the source model in PyTorch.

        Args:
            inputs: arguments to compare at, each in a form that `export` takes for `args`. Without, those of the
                export.
            rtol, atol: what is allowed: `|actual - expected| <= atol + rtol * |expected|`. Without, what fits the
                dtype, and the magnitude of each output.
            sizes: where axes are dynamic, compare at other sizes too; their inputs are drawn from the given ones.

        Returns:
            What was compared, with the largest errors.

        Raises:
            VerificationError: they differ; it has the report, and names the operation that differs first.
        """
        if isinstance(inputs, torch.Tensor):
            raise TypeError("inputs must be a list of arguments to compare at, not a tensor: [x]")
        comparison = self.comparison(rtol=rtol, atol=atol)
        reference = comparison.reference
        given = [reference.examples] if inputs is None else [reference.flat(x) for x in inputs]
        report = comparison.verify(
            given,
            self._axes(),
            other_sizes=sizes,
            locate=lambda flat, expected: self._locate(comparison, flat, expected),
        )
        if not report.ok:
            raise VerificationError(f"the exported model differs from PyTorch\n{report}", report)
        return report

    def comparison(
        self,
        model: str | os.PathLike[str] | None = None,
        *,
        rtol: float | None = None,
        atol: float | None = None,
    ) -> Comparison:
        """Both sides of a verification: the source model, and the exported one or a file made from it."""
        from .verify import Comparison, Session

        session = self._load() if model is None else Session(model)
        program = self._lowered.program
        labels = Labels() if program is None else program.labels
        return Comparison(self._reference(), session, self._feed, labels, rtol, atol)

    # -- what a verification needs --------------------------------------------------------------------

    def _reference(self) -> Reference:
        from .verify import Reference

        return Reference(self._source, self._args, self._kwargs, self._training)

    def _load(self) -> Session:
        from .verify import Session

        if self._session is None:
            self._session = Session(self.model)
        return self._session

    def _axes(self) -> list[dict[int, str]]:
        from .verify.sizes import input_axes

        values = dict(zip(self.input_names, self.model.graph.inputs))
        program = self._lowered.program
        names = self.input_names if program is None else [declared.name for declared in program.inputs]
        return input_axes([values[name if name in values else f"{name}_value"].shape for name in names])

    @staticmethod
    def _parts(x: Any) -> list[Any]:
        """An argument as inputs of the graph: three for a quantized tensor."""
        return quantized_parts(x, torch.float64, torch.int64) if isinstance(x, torch.Tensor) else [x]

    def _feed(self, flat: Sequence[Any]) -> dict[str, Any]:
        """The graph's inputs by name: flat arguments, and the parameters that are inputs."""
        flat = [part for x in flat for part in self._parts(x)]
        if len(flat) != len(self.input_names):
            raise OnnxExporterError(
                f"the model has {len(self.input_names)} input(s) ({', '.join(self.input_names)}), but there are "
                f"{len(flat)} tensors in the arguments; they must be torch tensors, in the structure of the export's"
            )
        feeds: dict[str, Any] = dict(zip(self.input_names, flat))
        if self._lowered.program is not None:
            wanted = {v.name for v in self.model.graph.inputs if v.const_value is None}
            weights = zip(self._lowered.weights, self._lowered.program.weights.values())
            feeds.update({name: weight.tensor for name, weight in weights if name in wanted})
        return feeds

    def _locate(
        self, comparison: Comparison, flat: Sequence[Any], expected: Sequence[torch.Tensor]
    ) -> FirstDifference | None:
        from .verify.first_difference import first_difference

        program, again = self._lowered.program, self._lowered.again
        if program is None or again is None:
            return None
        return first_difference(program, again, self._feed, flat, expected, comparison.rtol, comparison.atol)


def _signature(value: ir.Value) -> str:
    """ "x float32[batch, 3]", as far as it is known."""
    dtype = "" if value.dtype is None else f" {value.dtype.name.lower()}"
    sizes = "" if value.shape is None else f"[{', '.join(str(getattr(s, 'value', s)) for s in value.shape)}]"
    return f"{value.name}{dtype}{sizes}"


def _check_fits(value: ir.Value, given: Any) -> None:
    """TypeError or ValueError, if a tensor can't be given for this input of the graph."""
    if not isinstance(given, torch.Tensor) or value.dtype is None or value.shape is None or given.is_complex():
        return
    if to_onnx(given.dtype) != value.dtype.value:
        raise TypeError(f"the input {_signature(value)} got a tensor of {given.dtype}")
    fixed = [(size, n) for size, n in zip(value.shape, given.shape) if isinstance(size, int)]
    if len(value.shape) != given.dim() or any(size != n for size, n in fixed):
        raise ValueError(
            f"the input {_signature(value)} got a tensor of shape {list(given.shape)}; other sizes are taken along axes that "
            "were declared in dynamic_axes or dynamic_shapes"
        )


def require_runtime() -> None:
    """ImportError, with a way to mend it, if onnxruntime is missing."""
    from .verify import require

    require()
