"""What symbolic functions build with: torch.onnx.symbolic_helper's operations, by its names.

Each goes to the builder's word for it, or to the conversion of the ATen operator that it stands for; so they fit every
opset, as those of built-in lowerings do.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import torch

from ..errors import SymbolicValueError
from ..lower.promotion import result_type
from .graph import Graph
from .opsets import call
from .parsing import (
    Symbolic,
    _constant,
    _dtype,
    _is_fp,
    _is_none,
    _is_tuple_construct,
    _maybe_get_const,
    _NotConstant,
    _scalar,
    _unpack_list,
    _unpack_tuple,
)
from .scalar_type import JitScalarType
from .value import Value, content_of

# -- axes and sizes -------------------------------------------------------------------------------


def _unsqueeze_helper(g: Graph, input: Any, axes_i: Any) -> Any:
    return g.wrap(g.builder.unsqueeze(g.tensor(input), _ints(axes_i, "axes")))


def _squeeze_helper(g: Graph, input: Any, axes_i: Any) -> Any:
    return g.wrap(g.builder.squeeze(g.tensor(input), _ints(axes_i, "axes")))


def _reshape_helper(g: Graph, input: Any, shape: Any, allowzero: int = 0) -> Any:
    """The input with these sizes: a list, or a 1-d tensor of them."""
    known = _constant(shape)
    content = content_of(shape)
    if not isinstance(known, _NotConstant):
        content = known.reshape(-1).tolist() if isinstance(known, torch.Tensor) else list(known)
    if isinstance(content, list) and not allowzero and 0 not in content and content.count(-1) <= 1:
        if all(not isinstance(c, Value) for c in content) and -1 not in content:
            return g.wrap(g.builder.reshape(g.tensor(input), content))
    return g.op(
        "Reshape", input, g.tensor(content), **({"allowzero_i": allowzero} if g.opset >= 14 and allowzero else {})
    )


def _flatten_helper(g: Graph, input: Any, start_dim: int, end_dim: int, dim: int) -> Any:
    return call(g, "flatten", input, start_dim, end_dim)


def _size_helper(g: Graph, self: Any, dim: Any) -> Any:
    return call(g, "size", self, _maybe_get_const(dim, "i"))


def _numel_helper(g: Graph, self: Any) -> Any:
    return g.wrap(g.builder.size(g.tensor(self).numel))


def _slice_helper(
    g: Graph,
    input: Any,
    axes: Any,
    starts: Any,
    ends: Any,
    steps: Any = None,
    dynamic_slice: bool = False,
) -> Any:
    """A Slice: from opset 10 on its bounds are inputs and may be known only at run time."""
    if g.opset >= 10:
        bounds = [_int64s(g, x) for x in (starts, ends, axes)]
        return g.op("Slice", input, *bounds, *([] if steps is None else [_int64s(g, steps)]))
    if steps is not None and set(_ints(steps, "steps")) != {1}:
        raise SymbolicValueError("Slice has steps from opset 10 on", steps)
    return g.op(
        "Slice", input, axes_i=_ints(axes, "axes"), starts_i=_ints(starts, "starts"), ends_i=_ints(ends, "ends")
    )


def _select_helper(g: Graph, self: Any, dim: int, index: Any, apply_reshape: bool = True) -> Any:
    constant = _scalar(index)
    return call(g, "select", self, dim, index if constant is None else int(constant))


def _unbind_helper(g: Graph, self: Any, dim: int, _outputs: int | None) -> Any:
    return call(g, "unbind", self, dim)


def _int64s(g: Graph, value: Any) -> Any:
    """A 1-d int64 tensor of what may be numbers, or such a tensor already."""
    tensor = g.tensor([value] if isinstance(value, int) else value)
    tensor = g.builder.cast(tensor, torch.int64)
    return g.wrap(g.builder.reshape(tensor, [1]) if tensor.dims == () else tensor)


def _ints(value: Any, what: str) -> list[int]:
    constant = _constant(value)
    if isinstance(constant, _NotConstant):
        raise SymbolicValueError(f"{what} must be known at export", value)
    if isinstance(constant, torch.Tensor):
        return [int(v) for v in constant.reshape(-1)]
    return [int(v) for v in (constant if isinstance(constant, (list, tuple)) else [constant])]


# -- reductions and order -------------------------------------------------------------------------


def _reducesum_helper(
    g: Graph, input: Any, axes_i: Any = None, keepdims_i: int = 1, noop_with_empty_axes_i: int = 0
) -> Any:
    axes = None if axes_i is None else _ints(axes_i, "axes")
    if axes == [] and noop_with_empty_axes_i:
        return input
    return g.wrap(g.builder.reduce("ReduceSum", g.tensor(input), axes or None, bool(keepdims_i)))


def _sort_helper(g: Graph, input: Any, dim: Any, descending: bool = True, out: Any = None) -> Any:
    _no_out("sort", out)
    return call(g, "sort", input, dim, descending)


def _topk_helper(
    g: Graph, input: Any, k: Any, dim: int, largest: bool = True, sorted: bool = False, out: Any = None
) -> Any:
    _no_out("topk", out)
    return call(g, "topk", input, k, dim, largest, sorted)


def _argmin_argmax_helper(g: Graph, input: Any, dim: Any, keepdim: bool, op_name: str) -> Any:
    return call(g, op_name.lower(), input, None if _is_none(dim) else _maybe_get_const(dim, "i"), keepdim)


def _max_helper(g: Graph, self: Any, dim_or_y: Any = None, keepdim: Any = None) -> Any:
    return _extremum(g, "max", self, dim_or_y, keepdim)


def _min_helper(g: Graph, self: Any, dim_or_y: Any = None, keepdim: Any = None) -> Any:
    return _extremum(g, "min", self, dim_or_y, keepdim)


def _extremum(g: Graph, name: str, self: Any, dim_or_y: Any, keepdim: Any) -> Any:
    if dim_or_y is None and keepdim is None:
        return call(g, name, self)
    if keepdim is None:
        return call(g, {"max": "maximum", "min": "minimum"}[name], self, dim_or_y)
    return call(g, name, self, _maybe_get_const(dim_or_y, "i"), _maybe_get_const(keepdim, "b"))


def _lt_helper(g: Graph, input: Any, other: Any) -> Any:
    return call(g, "lt", input, other)


def _scatter_helper(g: Graph, self: Any, dim: int, index: Any, src: Any) -> Any:
    return call(g, "scatter", self, dim, index, src)


def _index_fill_reshape_helper(g: Graph, self: Any, dim: int, index: Any) -> Any:
    """(sizes of self, index with those sizes but along `dim`)."""
    tensor, positions = g.tensor(self), g.tensor(index)
    target = [positions.numel if i == dim % tensor.rank else 1 for i in range(tensor.rank)]
    wide = [positions.numel if i == dim % tensor.rank else d for i, d in enumerate(tensor.shape)]
    expanded = g.builder.expand(g.builder.reshape(positions, target), wide)
    return g.wrap(g.builder.ints(tensor.shape)), g.wrap(expanded)


def _handle_reduce_dim_none(g: Graph, self: Any, op_name: str) -> Any:
    return g.op(op_name, self, keepdims_i=0)


def _no_out(name: str, out: Any) -> None:
    if not _is_none(out):
        raise SymbolicValueError(f"{name} with out= can't be converted", out)


# -- types ----------------------------------------------------------------------------------------


def _try_get_scalar_type(*args: Any) -> JitScalarType | None:
    """The first type that is known."""
    found = next((d for d in map(_dtype, args) if d is not None), None)
    return None if found is None else JitScalarType.from_dtype(found)


def _type_promote_from_values(*args: Any) -> JitScalarType:
    """The common type of values, as PyTorch promotes them."""
    contents = [content_of(a) for a in args]
    return JitScalarType.from_dtype(result_type(*contents))


def _maybe_cast_to_type(g: Graph, value: Any, jit_type: JitScalarType) -> Any:
    return g.wrap(g.builder.cast(g.tensor(value), jit_type.dtype()))


def _if_scalar_type_as(self: Any, tensor: Any) -> Any:
    """A number as the type of the tensor asks for it; values stay as they are."""
    dtype = _dtype(tensor)
    return self if dtype is None or type(self) is Value else torch.tensor(self, dtype=dtype)


def _generate_wrapped_number(g: Graph, scalar: Any) -> Any:
    return g.wrap(torch.tensor(scalar, dtype=torch.float64) if isinstance(scalar, float) else torch.tensor(scalar))


def _maybe_cast_reduce_op_input(g: Graph, self: Any) -> Any:
    """Integers smaller than int64 as int64, the type that torch sums in."""
    dtype = _dtype(self)
    if dtype is None or _is_fp(self) or dtype is torch.int64 or dtype.is_complex:
        return self
    return g.wrap(g.builder.cast(g.tensor(self), torch.int64))


def _op_with_optional_float_cast(g: Graph, op_name: str, *args: Any, **kwargs: Any) -> Any:
    """An op that takes floats only before `opset_before`: its inputs are cast to float and its output back."""
    target, before = kwargs.pop("target_float_t", "Float"), kwargs.pop("opset_before", None)
    first = args[0]
    dtype = _dtype(first)
    if (before is not None and g.opset >= before) or dtype is None or dtype.is_floating_point:
        return g.op(op_name, *args, **kwargs)
    kind = target.dtype() if isinstance(target, JitScalarType) else JitScalarType.from_name(target).dtype()
    cast = [g.wrap(g.builder.cast(g.tensor(a), kind)) if _dtype(a) is not None else a for a in args]
    return g.wrap(g.builder.cast(g.tensor(g.op(op_name, *cast, **kwargs)), dtype))


def _optional_input_placeholder_tensor(g: Graph) -> Any:
    """Stands for an input left out."""
    return g.wrap(None)


# -- resizing -------------------------------------------------------------------------------------


def _interpolate_warning(interpolate_mode: str) -> None:
    warnings.warn(
        f"below opset 11 ONNX resizes with other coordinates than PyTorch for mode {interpolate_mode!r}; "
        "export at opset 11 or newer for the same numbers",
        stacklevel=2,
    )


def _get_interpolate_attributes(g: Graph, mode: str, args: Sequence[Any]) -> tuple[Any, Any]:
    """(scales, align_corners) of the arguments after the size: nearest modes have no align_corners."""
    if mode == "nearest":
        return list(args), None
    return list(args[1:]), args[0]


def _interpolate_get_scales_if_available(g: Graph, scales: Sequence[Any]) -> Any:
    """The scales given as a constant vector (1, 1, *scales), None if there are none."""
    given = _maybe_get_const(scales[0], "fs") if scales and not _is_none(scales[0]) else None
    if not isinstance(given, list) or not given:
        return None
    if len(scales) > 1:
        given = [float(_constant(s)) for s in scales]
    return g.op("Constant", value_t=torch.tensor([1.0, 1.0, *given], dtype=torch.float32))


def _interpolate_size_to_scales(g: Graph, input: Any, output_size: Any, dim: int) -> Any:
    """Factors from the sizes of the input to those of the output, over all `dim` axes."""
    tensor = g.tensor(input)
    sizes = content_of(output_size)
    wanted = [*tensor.shape[:2], *sizes] if isinstance(sizes, list) else _ints(output_size, "output_size")
    target = g.builder.cast(g.builder.ints(list(wanted)[-dim:] if len(wanted) >= dim else list(wanted)), torch.float32)
    return g.op("Div", target, g.builder.cast(g.builder.ints(tensor.shape), torch.float32))


# -- quantised tensors ----------------------------------------------------------------------------


def _unpack_quantized_tensor(tuple_value: Value) -> tuple[Value, ...]:
    """(integers, scale, zero point), and the axis if there is a scale for each of its slices."""
    return _unpack_tuple(tuple_value)


def dequantize_helper(g: Graph, qtensor: Value, qdtype: Any = None) -> tuple[Value, Value, Value, Value | None]:
    """(floats, scale, zero point, axis) of a quantised tensor."""
    parts = _unpack_quantized_tensor(qtensor)
    tensor, scale, zero_point = (g.tensor(p) for p in parts[:3])
    axis = parts[3] if len(parts) > 3 else None
    stored = tensor.dtype if qdtype is None else JitScalarType.from_onnx_type(qdtype).dtype()
    scale = g.builder.cast(scale, torch.float32)
    zero_point = g.builder.cast(zero_point, stored)
    along = None if axis is None or g.opset < 13 else _ints(axis, "axis")[0]
    floats = g.builder.op("DequantizeLinear", g.builder.cast(tensor, stored), scale, zero_point, axis=along)
    return g.wrap(floats), g.wrap(scale), g.wrap(zero_point), axis


def quantize_helper(g: Graph, tensor: Any, scale: Any, zero_point: Any, axis: Any = None) -> Value:
    """A quantised tensor: the tuple (integers, scale, zero point[, axis])."""
    factor = g.builder.cast(g.tensor(scale), torch.float32)
    zero = g.tensor(zero_point)
    if zero.dtype not in (torch.uint8, torch.int8):
        zero = g.builder.cast(zero, torch.uint8)
    along = None if _is_none(axis) or g.opset < 13 else _ints(axis, "axis")[0]
    integers = g.builder.op("QuantizeLinear", g.tensor(tensor), factor, zero, axis=along)
    parts = [g.wrap(integers), g.wrap(factor), g.wrap(zero)]
    return g.op("prim::TupleConstruct", *parts, *([] if _is_none(axis) else [axis]))  # type: ignore[no-any-return]


def requantize_bias_helper(g: Graph, bias: Any, input_scale: Any, weight_scale: Any, axis: Any = None) -> Value:
    """The bias as int32 with the scale of the product, zero point 0, as a quantised tensor."""
    scale = g.op("Mul", weight_scale, input_scale)
    zero = g.builder.op("Sub", g.tensor(scale), g.tensor(scale))
    rounded = g.builder.round(g.tensor(g.op("Div", bias, scale)))
    parts = [g.wrap(g.builder.cast(rounded, torch.int32)), scale, g.wrap(g.builder.cast(zero, torch.int32))]
    return g.op("prim::TupleConstruct", *parts, *([] if _is_none(axis) else [axis]))  # type: ignore[no-any-return]


def quantized_args(
    *arg_q_descriptors: bool,
    scale: float | None = None,
    zero_point: int | None = None,
    quantize_output: bool = True,
) -> Callable[[Symbolic], Symbolic]:
    """Decorate a symbolic function so that the arguments marked True may be quantised tensors.

    They are dequantised, and the output is quantised again: with the scale and zero point given here, or else those of
    the first quantised argument.
    """

    def decorate(fn: Symbolic) -> Symbolic:
        @functools.wraps(fn)
        def wrapper(g: Graph, *args: Any, **kwargs: Any) -> Any:
            marked = dict(enumerate(arg_q_descriptors))
            quantised = [i for i, a in enumerate(args) if marked.get(i) and _is_quantised(a)]
            if not quantised:
                return fn(g, *args, **kwargs)
            plain, found = list(args), []
            for i in quantised:
                plain[i], parameters = _plain(g, args[i])
                found.append(parameters)
            out_scale = found[0][0] if scale is None else g.wrap(torch.tensor(scale, dtype=torch.float32))
            stored = _dtype(found[0][1])
            out_zero = found[0][1] if zero_point is None else g.wrap(torch.tensor(zero_point, dtype=stored))
            output = fn(g, *plain, **kwargs)
            return quantize_helper(g, output, out_scale, out_zero) if quantize_output else output

        return wrapper

    return decorate


def _is_quantised(value: Any) -> bool:
    """Whether this is a quantised tensor, or a list of such."""
    if type(value) is Value and isinstance(value.content, list) and value.content:
        return all(isinstance(c, tuple) for c in value.content)
    return _is_tuple_construct(value)


def _plain(g: Graph, value: Value) -> tuple[Any, tuple[Value, Value]]:
    """The floats of a quantised tensor or of a list of them, and the (first) scale and zero point."""
    if isinstance(value.content, list):
        parts = [dequantize_helper(g, v) for v in _unpack_list(value)]
        return g.op("prim::ListConstruct", *(p[0] for p in parts)), parts[0][1:3]
    floats, factor, zero, _ = dequantize_helper(g, value)
    return floats, (factor, zero)
