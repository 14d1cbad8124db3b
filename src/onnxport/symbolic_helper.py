"""The names of torch.onnx.symbolic_helper: decorators, questions and operations for symbolic functions."""

# ruff: noqa: F401  (names are imported to be had here)

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import session
from .compat.parsing import (
    _block_list_in_opset,
    _get_const,
    _get_dim_for_cross,
    _get_tensor_dim_size,
    _get_tensor_rank,
    _get_tensor_sizes,
    _is_bool,
    _is_constant,
    _is_fp,
    _is_list,
    _is_none,
    _is_onnx_constant,
    _is_packed_list,
    _is_scalar_list,
    _is_split_static,
    _is_tensor,
    _is_tensor_list,
    _is_tuple_construct,
    _is_value,
    _maybe_get_const,
    _maybe_get_scalar,
    _node_get,
    _onnx_opset_unsupported,
    _onnx_opset_unsupported_detailed,
    _onnx_unsupported,
    _parse_arg,
    _scalar,
    _unimplemented,
    _unpack_list,
    _unpack_tuple,
    args_have_same_dtype,
    check_training_mode,
    is_complex_value,
    parse_args,
)
from .compat.scalar_type import _NAMES, JitScalarType
from .compat.words import (
    _argmin_argmax_helper,
    _flatten_helper,
    _generate_wrapped_number,
    _get_interpolate_attributes,
    _handle_reduce_dim_none,
    _if_scalar_type_as,
    _index_fill_reshape_helper,
    _interpolate_get_scales_if_available,
    _interpolate_size_to_scales,
    _interpolate_warning,
    _lt_helper,
    _max_helper,
    _maybe_cast_reduce_op_input,
    _maybe_cast_to_type,
    _min_helper,
    _numel_helper,
    _op_with_optional_float_cast,
    _optional_input_placeholder_tensor,
    _reducesum_helper,
    _reshape_helper,
    _scatter_helper,
    _select_helper,
    _size_helper,
    _slice_helper,
    _sort_helper,
    _squeeze_helper,
    _topk_helper,
    _try_get_scalar_type,
    _type_promote_from_values,
    _unbind_helper,
    _unpack_quantized_tensor,
    _unsqueeze_helper,
    dequantize_helper,
    quantize_helper,
    quantized_args,
    requantize_bias_helper,
)
from .options import DEFAULT_OPSET, OperatorExportTypes, TrainingMode

# Tables by TorchScript's names of the types ("Float") and by its numbers for them.
pytorch_name_to_type = {name: dtype for name, (_, dtype) in _NAMES.items()}
scalar_name_to_pytorch = {plain: name for name, (plain, _) in _NAMES.items()}
cast_pytorch_to_onnx = {
    name: JitScalarType.from_name(name).onnx_type()
    for name in _NAMES
    if JitScalarType.from_name(name).onnx_compatible()
}
cast_pytorch_to_onnx["Undefined"] = 0
scalar_type_to_pytorch_type = [kind.dtype() for kind in JitScalarType if kind < 12]
scalar_type_to_onnx = [kind.onnx_type() if kind.onnx_compatible() else 0 for kind in JitScalarType if kind < 12]

_ASKED: dict[str, Callable[[session.Asked | None], Any]] = {
    "_export_onnx_opset_version": lambda asked: asked.opset if asked else DEFAULT_OPSET,
    "_training_mode": lambda asked: asked.options.training if asked else TrainingMode.EVAL,
    "_operator_export_type": lambda asked: asked.options.operator_export_type if asked else OperatorExportTypes.ONNX,
}


def __getattr__(name: str) -> Any:
    """What the running export is asked for, which older code reads here."""
    if name in _ASKED:
        return _ASKED[name](session.current())
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
