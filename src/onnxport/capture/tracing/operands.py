"""What operators are given, by the arguments of functions of torch, as the tracer writes it down.

The parameters of these functions are named as those of torch's.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F

from ...dtypes import to_scalar_type

Function = Callable[..., Any]

TENSORS = frozenset({torch.Tensor, torch.nn.Parameter})
_NUMBERS = frozenset({int, float, bool, type(None)})
# The types of operands.
KNOWN = frozenset({*TENSORS, *_NUMBERS, list, str, torch.device})
UNKNOWN = object()  # in place of what only the tracer can write down
_FLAGS = (False, False, True, True)  # of cuDNN, which a convolution is given
_NO_COPY = (False, False, None)  # what conversions are given beside the type


def _ints(given: Any, count: int) -> Any:
    if given.__class__ is int:
        return [given] * count
    is_known = given.__class__ in (tuple, list, torch.Size) and all(x.__class__ is int for x in given)
    return list(given) if is_known else UNKNOWN


def _number(given: Any) -> Any:
    return given if given.__class__ in _NUMBERS else UNKNOWN


def _false(given: Any) -> Any:
    """False; a bool of sizes is decided elsewhere."""
    return False if given is False else UNKNOWN


def _float(given: Any) -> Any:
    return float(given) if given.__class__ in (int, float) else UNKNOWN


def _tensors(given: Any) -> Any:
    is_known = given.__class__ in (tuple, list) and all(x.__class__ in TENSORS for x in given)
    return list(given) if is_known else UNKNOWN


# What the operators are given, by the arguments of the functions, which are named as theirs.


def _convolution(count: int) -> Function:
    def operands(
        input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: Any = 1
    ) -> tuple[Any, ...]:
        steps = (_ints(x, count) for x in (stride, padding, dilation))
        return input, weight, bias, *steps, False, [0] * count, _number(groups), *_FLAGS

    return operands


def _transposed(count: int) -> Function:
    def operands(
        input: Any,
        weight: Any,
        bias: Any = None,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: Any = 1,
        dilation: Any = 1,
    ) -> tuple[Any, ...]:
        steps = (_ints(x, count) for x in (stride, padding, dilation))
        return input, weight, bias, *steps, True, _ints(output_padding, count), _number(groups), *_FLAGS

    return operands


def _batch_norm(
    input: Any,
    running_mean: Any,
    running_var: Any,
    weight: Any = None,
    bias: Any = None,
    training: Any = False,
    momentum: Any = 0.1,
    eps: Any = 1e-5,
) -> tuple[Any, ...]:
    numbers = _float(momentum), _float(eps)
    return input, weight, bias, running_mean, running_var, _false(training), *numbers, True


def _instance_norm(
    input: Any,
    running_mean: Any = None,
    running_var: Any = None,
    weight: Any = None,
    bias: Any = None,
    use_input_stats: Any = True,
    momentum: Any = 0.1,
    eps: Any = 1e-5,
) -> tuple[Any, ...]:
    writes = use_input_stats is not False and running_mean is not None
    numbers = _float(momentum), _float(eps)
    return (
        input,
        weight,
        bias,
        running_mean,
        running_var,
        UNKNOWN if writes else _number(use_input_stats),
        *numbers,
        True,
    )


def _layer_norm(input: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: Any = 1e-5) -> Any:
    return input, _ints(normalized_shape, 1), weight, bias, _float(eps), True


def _group_norm(input: Any, num_groups: Any, weight: Any = None, bias: Any = None, eps: Any = 1e-5) -> Any:
    return input, _number(num_groups), weight, bias, _float(eps), True


def _max_pool(count: int) -> Function:
    def operands(
        input: Any,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: Any = False,
        return_indices: Any = False,
    ) -> tuple[Any, ...]:
        steps = (_ints(x, count) for x in (kernel_size, () if stride is None else stride, padding, dilation))
        return input, *steps, _number(ceil_mode) if return_indices is False else UNKNOWN

    return operands


def _avg_pool(count: int) -> Function:
    def operands(
        input: Any,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: Any = False,
        count_include_pad: Any = True,
        divisor_override: Any = None,
    ) -> tuple[Any, ...]:
        steps = (_ints(x, count) for x in (kernel_size, () if stride is None else stride, padding))
        return input, *steps, *map(_number, (ceil_mode, count_include_pad, divisor_override))

    return operands


def _avg_pool1d(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: Any = False,
    count_include_pad: Any = True,
) -> Any:
    steps = (_ints(x, 1) for x in (kernel_size, () if stride is None else stride, padding))
    return input, *steps, *map(_number, (ceil_mode, count_include_pad))


def _adaptive_pool(count: int) -> Function:
    return lambda input, output_size: (input, _ints(output_size, count))


def _dropout(input: Any, p: Any = 0.5, training: Any = True, inplace: Any = False) -> tuple[Any, ...]:
    return input, _float(p), _false(training) if inplace is False else UNKNOWN


def _embedding(
    input: Any,
    weight: Any,
    padding_idx: Any = None,
    max_norm: Any = None,
    norm_type: Any = 2.0,
    scale_grad_by_freq: Any = False,
    sparse: Any = False,
) -> tuple[Any, ...]:
    is_plain = max_norm is None and (padding_idx is None or (padding_idx.__class__ is int and padding_idx >= 0))
    row = UNKNOWN if not is_plain else -1 if padding_idx is None else padding_idx
    return weight, input, row, _number(scale_grad_by_freq), _number(sparse)


def _attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: Any = 0.0,
    is_causal: Any = False,
    scale: Any = None,
    enable_gqa: Any = False,
) -> tuple[Any, ...]:
    numbers = (
        0.0 if dropout_p.__class__ in (int, float) and not dropout_p else UNKNOWN,
        _number(is_causal),
        None if scale is None else _float(scale),
        _number(enable_gqa),
    )
    return query, key, value, attn_mask, *numbers


def _permute(input: Any, *dims: Any) -> tuple[Any, ...]:
    return input, _ints(dims[0] if len(dims) == 1 else dims, 1)


def _pad(input: Any, pad: Any, mode: Any = "constant", value: Any = None) -> tuple[Any, ...]:
    return input, _ints(pad, 1), mode if mode.__class__ is str else UNKNOWN, None if value is None else _float(value)


def _mean(input: Any, dim: Any = None, keepdim: Any = False, *, dtype: Any = None) -> tuple[Any, ...]:
    return input, UNKNOWN if dim is None else _ints(dim, 1), _number(keepdim), None if dtype is None else UNKNOWN


def _converted(dtype: torch.dtype) -> Function:
    return lambda input: (input, to_scalar_type(dtype), *_NO_COPY)


def _to(input: Any, target: Any) -> tuple[Any, ...]:
    if target.__class__ is torch.dtype:
        return input, to_scalar_type(target), *_NO_COPY
    if target.__class__ in TENSORS:
        return input, target.device, to_scalar_type(target.dtype), *_NO_COPY
    if target.__class__ in (str, torch.device) and input.layout == torch.strided:
        return input, to_scalar_type(input.dtype), 0, torch.device(target), None, *_NO_COPY
    return (UNKNOWN,)


def _softmax(input: Any, dim: Any = None, _stacklevel: Any = 3, dtype: Any = None) -> tuple[Any, ...]:
    return input, UNKNOWN if dim is None or dtype is not None else _number(dim), None


_CONVERSIONS = {
    "float": torch.float32, "double": torch.float64, "half": torch.float16, "bfloat16": torch.bfloat16,
    "int": torch.int32, "long": torch.int64, "bool": torch.bool,
}  # fmt: skip


@functools.cache
def functions() -> dict[Function, tuple[str, Function]]:
    """The functions, the operator that each calls, and what gives its operands."""
    found: dict[Function, tuple[str, Function]] = {
        F.batch_norm: ("batch_norm", _batch_norm),
        F.instance_norm: ("instance_norm", _instance_norm),
        F.layer_norm: ("layer_norm", _layer_norm),
        F.group_norm: ("group_norm", _group_norm),
        F.dropout: ("dropout", _dropout),
        F.embedding: ("embedding", _embedding),
        F.scaled_dot_product_attention: ("scaled_dot_product_attention", _attention),
        F.softmax: ("softmax", _softmax),
        F.avg_pool1d: ("avg_pool1d", _avg_pool1d),
        F.avg_pool2d: ("avg_pool2d", _avg_pool(2)),
        F.avg_pool3d: ("avg_pool3d", _avg_pool(3)),
        F.pad: ("pad", _pad),
        F.gelu: ("gelu", lambda input, *, approximate="none": (input, approximate)),
        torch.Tensor.to: ("to", _to),
        torch.Tensor.contiguous: ("contiguous", lambda input: (input, 0)),
        torch.cat: ("cat", lambda tensors, dim=0: (_tensors(tensors), _number(dim))),
    }
    for holder in (torch, torch.Tensor):
        found[holder.transpose] = "transpose", lambda input, dim0, dim1: (input, _number(dim0), _number(dim1))
        found[holder.unsqueeze] = "unsqueeze", lambda input, dim: (input, _number(dim))
        found[holder.flatten] = (
            "flatten",
            lambda input, start_dim=0, end_dim=-1: (input, _number(start_dim), _number(end_dim)),
        )
        found[holder.permute] = "permute", _permute
        found[holder.mean] = "mean", _mean
    for name, dtype in _CONVERSIONS.items():
        found[getattr(torch.Tensor, name)] = "to", _converted(dtype)
    for count, ending in enumerate(("1d", "2d", "3d"), 1):
        found[getattr(torch, f"conv{ending}")] = "_convolution", _convolution(count)
        found[getattr(torch, f"conv_transpose{ending}")] = "_convolution", _transposed(count)
        found[getattr(F, f"max_pool{ending}")] = f"max_pool{ending}", _max_pool(count)
        found[getattr(F, f"adaptive_avg_pool{ending}")] = f"adaptive_avg_pool{ending}", _adaptive_pool(count)
    return {function: (f"aten::{kind}", operands) for function, (kind, operands) in found.items()}
