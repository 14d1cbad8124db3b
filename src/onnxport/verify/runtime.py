"""Runs a model in onnxruntime, torch tensors in and out."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import onnx_ir as ir
import torch
import torch.utils.dlpack

from ..dtypes import array_of, from_onnx, to_onnx
from ..errors import OnnxExporterError
from ..write import to_bytes, to_proto, write_model
from ..write.model import LIMIT, model_size
from .compare import plain


def require() -> Any:
    """The `onnxruntime` module; ImportError says how to get it."""
    try:
        import onnxruntime
    except ImportError as error:
        raise ImportError("running a model needs onnxruntime: pip install 'onnxport[verify]'") from error
    return onnxruntime


class Session:
    """A model loaded into onnxruntime.

    Takes what a file or an `onnx_ir.Model` holds. Inputs go by name; bfloat16 and float8 are passed as they are,
    complex numbers as pairs of reals.

    Attributes:
        input_names, output_names: in order.
        axes: for each input, the labels of its dynamic axes.
    """

    def __init__(self, model: ir.Model | str | os.PathLike[str], make: Callable[[bytes], Any] | None = None) -> None:
        """`make` makes a session of onnxruntime from the bytes of a model, instead of the usual one."""
        ort = require()
        self._ort = ort
        settings = ort.SessionOptions()
        settings.log_severity_level = 4
        try:
            if make is not None and isinstance(model, ir.Model):
                self._session = make(to_bytes(model))
            else:
                self._session = _load(ort, model, settings)
        except Exception as error:  # of many kinds, all derived from Exception alone
            raise OnnxExporterError(f"onnxruntime {ort.__version__} can't load the model: {_reason(error)}") from error
        self.input_names = [i.name for i in self._session.get_inputs()]
        self.output_names = [o.name for o in self._session.get_outputs()]
        self.axes = [{i: d for i, d in enumerate(v.shape) if isinstance(d, str)} for v in self._session.get_inputs()]
        types = [v.type for v in [*self._session.get_inputs(), *self._session.get_outputs()]]
        self._types = dict(zip(self.input_names, types))
        self._tensors_only = all(t.startswith("tensor(") for t in types)

    def run(self, feeds: Mapping[str, Any]) -> list[Any]:
        """The outputs in order: tensors, and lists of tensors where the model has sequences."""
        feeds = {name: self._typed(name, value) for name, value in feeds.items()}
        if not self._tensors_only:
            found = self._session.run(None, {name: _array(value) for name, value in feeds.items()})
            return [_from_array(value) for value in found]
        arrays = {name: _stored(value) for name, value in feeds.items()}  # kept alive: onnxruntime shares them
        values = {
            name: self._ort.OrtValue.ortvalue_from_numpy_with_onnx_type(array, number)
            for name, (array, number) in arrays.items()
        }
        return [_from_value(v) for v in self._session.run_with_ort_values(None, values)]

    def _typed(self, name: str, value: Any) -> Any:
        """Numbers, and lists of them, as tensors of the input's type."""
        kind = self._types.get(name, "")
        if isinstance(value, torch.Tensor) or not kind.startswith("tensor("):
            return value
        return torch.as_tensor(value, dtype=_NUMBERS.get(kind))


class ReferenceSession:
    """A model that ONNX's own reference implementation runs, slowly; like `Session`.

    Attributes:
        input_names, output_names: in order.
    """

    def __init__(self, model: ir.Model) -> None:
        from onnx.reference import ReferenceEvaluator

        self._evaluator = ReferenceEvaluator(to_proto(model))
        self.input_names = list(self._evaluator.input_names)
        self.output_names = list(self._evaluator.output_names)

    def run(self, feeds: Mapping[str, Any]) -> list[Any]:
        """The outputs in order."""
        found = self._evaluator.run(None, {name: _array(value) for name, value in feeds.items()})
        return [_from_array(value) for value in found]


# Types of inputs that Python numbers may be given for.
_NUMBERS = {
    "tensor(bool)": torch.bool,
    "tensor(int64)": torch.int64,
    "tensor(double)": torch.float64,
    "tensor(float)": torch.float32,
}


_UNKNOWN = re.compile(r"Fatal error: (?P<domain>[^\s:]+):(?P<name>[^\s(]+)\(\S+\) is not a registered function/op")


def _reason(error: Exception) -> str:
    """What onnxruntime says, or what it means where a runtime of one's own is needed."""
    unknown = _UNKNOWN.search(str(error))
    if unknown is None:
        return str(error)
    return (
        f"it has no operator {unknown['domain']}::{unknown['name']}, so the model can't be run here to compare it with "
        "PyTorch; save it, and run it where the library with this operator is loaded"
    )


def _load(ort: Any, model: ir.Model | str | os.PathLike[str], settings: Any) -> Any:
    providers = ["CPUExecutionProvider"]
    if not isinstance(model, ir.Model):
        return ort.InferenceSession(os.fspath(model), settings, providers=providers)
    if model_size(model) < LIMIT // 2:
        return ort.InferenceSession(to_bytes(model), settings, providers=providers)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.onnx")
        write_model(model, path, external_data=True)
        return ort.InferenceSession(path, settings, providers=providers)


def _stored(value: Any) -> tuple[Any, int]:
    """An input as a contiguous numpy array of the same bytes, and its ONNX element type."""
    tensor = plain(torch.as_tensor(value)).contiguous()
    number = to_onnx(tensor.dtype)
    if tensor.dtype.is_floating_point and tensor.dtype.itemsize <= 2 and tensor.dtype != torch.float16:
        return tensor.view(torch.int16 if tensor.dtype.itemsize == 2 else torch.uint8).numpy(), number
    return tensor.numpy(), number


def _array(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_array(v) for v in value]
    return array_of(plain(torch.as_tensor(value)).contiguous())


def _from_value(value: Any) -> torch.Tensor:
    dtype = from_onnx(value.element_type())
    if 0 in value.shape():
        return torch.empty(value.shape(), dtype=dtype)
    # Below onnxruntime 1.24 only what the value wraps has it.
    shared = value if hasattr(value, "__dlpack__") else value._ortvalue
    return torch.utils.dlpack.from_dlpack(shared).view(dtype)  # bool comes as uint8


def _from_array(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_from_array(v) for v in value]
    return None if value is None else torch.as_tensor(value)


def leaves(values: Sequence[Any]) -> list[Any]:
    """Tensors in order, those inside of lists too."""
    flat: list[Any] = []
    for value in values:
        if isinstance(value, (list, tuple)):
            flat.extend(leaves(value))
        elif value is not None:
            flat.append(value)
    return flat
