"""onnxport exports PyTorch models to ONNX."""

from . import errors
from ._export import export
from .options import OperatorExportTypes, TrainingMode
from .result import ExportResult

__version__ = "0.1.0"

__all__ = ["ExportResult", "OperatorExportTypes", "TrainingMode", "errors", "export"]
