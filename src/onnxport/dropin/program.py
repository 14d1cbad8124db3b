"""What `torch.onnx.export` gives while it is replaced: an `ExportResult` with the methods of `torch.onnx.ONNXProgram`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, BinaryIO

import onnx_ir as ir
import torch
from onnx_ir.tensor_adapters import TorchTensor

from ..dims import Dim, parse, substitute
from ..errors import OnnxExporterError
from ..result import ExportResult


class NoExportedProgram(OnnxExporterError, AttributeError):
    """There is no `exported_program`; `hasattr` says so, too."""


class ONNXProgram(ExportResult):
    """An exported model, under the names that code for torch.onnx knows."""

    @classmethod
    def of(cls, result: ExportResult) -> ONNXProgram:
        program = cls.__new__(cls)
        program.__dict__.update(vars(result))
        return program

    @property
    def exported_program(self) -> torch.export.ExportedProgram:
        """The program that was exported; one is made of a module whose axes are all fixed."""
        if isinstance(self._source, torch.export.ExportedProgram):
            return self._source
        if any(axes for axes in self._axes()) or not isinstance(self._source, torch.nn.Module):
            raise NoExportedProgram(
                "the model was recorded, not exported: call torch.export.export, and export its result"
            )
        from ..capture.inputs import normalize

        args, kwargs = normalize(self._args, self._kwargs)
        return torch.export.export(self._source, args, kwargs)

    def __call__(self, *args: Any, **kwargs: Any) -> tuple[torch.Tensor, ...]:
        """Run the model in onnxruntime; the outputs, flat."""
        return tuple(self._load().run(self._feed(self._reference().flat(args, kwargs))))

    def call_reference(self, *args: Any, **kwargs: Any) -> tuple[torch.Tensor, ...]:
        """Run the model by ONNX's reference implementation."""
        from ..verify.runtime import ReferenceSession

        return tuple(ReferenceSession(self.model).run(self._feed(self._reference().flat(args, kwargs))))

    def compute_values(
        self, value_names: Sequence[str], args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> list[torch.Tensor]:
        """What the model computes for values of its main graph."""
        from ..verify import Session

        proto = self.model_proto
        known = {v.name: v for v in (*proto.graph.value_info, *proto.graph.output, *proto.graph.input)}
        unknown = [name for name in value_names if name not in known]
        if unknown:
            raise ValueError(f"the model has no value {', '.join(map(repr, unknown))}")
        outputs = {output.name for output in proto.graph.output}
        proto.graph.output.extend(known[name] for name in dict.fromkeys(value_names) if name not in outputs)
        session = Session(ir.from_proto(proto))
        found = dict(zip(session.output_names, session.run(self._feed(self._reference().flat(args, kwargs)))))
        return [found[name] for name in value_names]

    def save(
        self,
        f: str | os.PathLike[str] | BinaryIO,
        *,
        include_initializers: bool = True,
        keep_initializers_as_inputs: bool = False,
        external_data: bool | None = None,
    ) -> None:
        """Write the model.

        Args:
            include_initializers: False leaves out weights, for whoever loads the model to put them in.
            keep_initializers_as_inputs: list the weights among the inputs too.
        """
        graph = self.model.graph
        inputs, weights = list(graph.inputs), dict(graph.initializers)
        fed = {value.name for value in inputs}
        try:
            if keep_initializers_as_inputs:
                graph.inputs.extend(value for name, value in weights.items() if name not in fed)
            if not include_initializers:
                graph.initializers.clear()
            super().save(f, external_data=external_data)
        finally:
            graph.initializers.update(weights)
            graph.inputs[:] = inputs

    def apply_weights(self, state_dict: Mapping[str, torch.Tensor]) -> None:
        """Put other weights in place of those that the model has, by their names in `state_dict`."""
        program = self._lowered.program
        initializers = self.model.graph.initializers
        given = {} if program is None else {w.name: w.tensor for w in program.weights.values()}
        for name, tensor in state_dict.items():
            if name not in given:
                raise ValueError(f"the model has no weight {name!r}")
            value = initializers.get(name)
            if value is None or not _holds(value, given[name]):
                raise OnnxExporterError(
                    f"the weight {name!r} isn't in the exported model as it is, it may have been computed with; export with "
                    "do_constant_folding=False, or export the model with its other weights"
                )
            if tensor.dtype != given[name].dtype or tensor.shape != given[name].shape:
                raise ValueError(
                    f"the weight {name!r} is {given[name].dtype} {list(given[name].shape)}, not {tensor.dtype} "
                    f"{list(tensor.shape)}"
                )
        for name, tensor in state_dict.items():
            initializers[name].const_value = TorchTensor(tensor.detach(), name=name)
        self.release()

    def rename_axes(self, rename_mapping: Mapping[Any, str]) -> None:
        """Give dynamic axes other names, wherever the model says its sizes."""
        names = {str(getattr(old, "value", old)): new for old, new in rename_mapping.items()}
        sizes = {old: Dim.symbol(new) for old, new in names.items()}
        for value in _values(self.model.graph):
            for axis, size in enumerate(value.shape or ()):
                if not isinstance(size, int) and size.value is not None:
                    assert value.shape is not None
                    value.shape[axis] = _renamed(size.value, names, sizes)
        program = self._lowered.program
        if program is not None:
            renamed = program.labels.rename(names)
            for declared in program.inputs:
                declared.axes = {axis: renamed.get(label, label) for axis, label in declared.axes.items()}
        self.release()

    def initialize_inference_session(self, initializer: Callable[[bytes], Any] | None = None) -> None:
        """Load the model into onnxruntime now; by a function of one's own that makes a session from its bytes."""
        from ..verify import Session

        self._session = Session(self.model, initializer)

    def release(self) -> None:
        """Let go of the session; the next call makes another one."""
        self._session = None


def _holds(value: ir.Value, tensor: torch.Tensor) -> bool:
    """Whether an initializer is this very tensor."""
    content = value.const_value
    raw = content.raw if isinstance(content, TorchTensor) else None
    return isinstance(raw, torch.Tensor) and raw.shape == tensor.shape and raw.data_ptr() == tensor.data_ptr()


def _values(graph: ir.Graph) -> Iterator[ir.Value]:
    yield from graph.inputs
    for node in ir.traversal.RecursiveGraphIterator(graph):
        yield from node.outputs


def _renamed(text: str, names: Mapping[str, str], sizes: Mapping[str, Dim]) -> str:
    if text in names:
        return names[text]
    try:
        return str(substitute(parse(text), sizes))
    except ValueError:
        return text
