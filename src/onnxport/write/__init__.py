"""From an ``onnx_ir`` model to a file, a stream, bytes or a ``ModelProto``.

Stands alone: imports onnx_ir, onnx, numpy and the standard library, nothing of this package.
"""

from onnxport.write.check import check_model, inference_error
from onnxport.write.model import check_target, model_size, to_bytes, to_proto, write_model

__all__ = ["check_model", "check_target", "inference_error", "model_size", "to_bytes", "to_proto", "write_model"]
