"""Arguments of symbolic functions: what they are, and the constants in them.

The names are those of torch.onnx.symbolic_helper; the meanings those of its documentation.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, NoReturn

import torch

from .. import session
from ..capture import types
from ..errors import OnnxExporterError, SymbolicValueError, warn
from ..options import TrainingMode
from .value import Node, Value, torch_type

Symbolic = Callable[..., Any]


# -- constants ------------------------------------------------------------------------------------


def _parse_arg(value: Any, desc: str, arg_name: str | None = None, node_name: str | None = None) -> Any:
    """What a letter asks for: `v` the value itself; `i f b s t` an int, float, bool, string or tensor; `is fs` a list of
    ints or floats; `none` nothing but None. SymbolicValueError if the value isn't such a constant."""
    if desc == "none" and (value is None or _is_none(value)):
        return None
    if desc in ("v", "none") or type(value) is not Value:
        return value
    if value.content is None:
        return None
    constant = _constant(value)
    if constant is _NOT_CONSTANT:
        where = f" of {node_name}" if node_name else ""
        what = f"argument {arg_name!r}{where}" if arg_name else f"an argument{where}"
        raise SymbolicValueError(f"{what} must be a constant ({desc!r}), but is known only at run time", value)
    try:
        return _CONVERSIONS[desc](constant)
    except KeyError:
        raise OnnxExporterError(f"parse_args doesn't know {desc!r}; it knows v, i, is, f, fs, b, s, t, none") from None
    except (TypeError, ValueError, RuntimeError) as error:
        raise SymbolicValueError(f"argument {arg_name!r} is no {desc!r}: {error}", value) from error


class _NotConstant:
    pass


_NOT_CONSTANT = _NotConstant()


def _constant(value: Any) -> Any:
    """The Python constant or torch tensor that a value is; lists element by element."""
    if type(value) is not Value:
        return value
    if isinstance(value.content, (list, tuple)):
        parts = [_constant(value.graph.wrap(v)) for v in value.content]
        return _NOT_CONSTANT if any(p is _NOT_CONSTANT for p in parts) else parts
    return value.toIValue() if value.is_constant else _NOT_CONSTANT


def _numbers(constant: Any) -> list[Any]:
    if isinstance(constant, torch.Tensor):
        return constant.reshape(-1).tolist()
    return list(constant) if isinstance(constant, (list, tuple)) else [constant]


def _text(constant: Any) -> str:
    if not isinstance(constant, str):
        raise TypeError(f"{constant!r} is no string")
    return constant


_CONVERSIONS: dict[str, Callable[[Any], Any]] = {
    "i": int,
    "f": float,
    "b": bool,
    "s": _text,
    "t": lambda c: c if isinstance(c, torch.Tensor) else torch.tensor(c),
    "is": lambda c: [int(v) for v in _numbers(c)],
    "fs": lambda c: [float(v) for v in _numbers(c)],
}


def parse_args(*arg_descriptors: str) -> Callable[[Symbolic], Symbolic]:
    """Decorate a symbolic function `fn(g, *args)` so that its arguments come as the letters say: see `_parse_arg`."""

    def decorate(fn: Symbolic) -> Symbolic:
        fn._arg_descriptors = arg_descriptors  # type: ignore[attr-defined]
        names = list(inspect.signature(fn).parameters)[1:]

        @functools.wraps(fn)
        def wrapper(g: Any, *args: Any, **kwargs: Any) -> Any:
            if len(args) > len(arg_descriptors):
                raise OnnxExporterError(
                    f"{fn.__name__} is given {len(args)} arguments, its parse_args has letters for {len(arg_descriptors)}"
                )
            given = [_parse_arg(a, d, n, fn.__name__) for a, d, n in zip(args, arg_descriptors, [*names, *args])]
            letters = dict(zip(names, arg_descriptors))
            named = {k: _parse_arg(v, letters[k], k, fn.__name__) if k in letters else v for k, v in kwargs.items()}
            return fn(g, *given, **named)

        return wrapper

    return decorate


def _maybe_get_const(value: Any, desc: str) -> Any:
    """The constant that the letter asks for, or the value itself if it isn't constant."""
    return value if type(value) is Value and _constant(value) is _NOT_CONSTANT else _parse_arg(value, desc)


def _get_const(value: Any, desc: str, arg_name: str) -> Any:
    """The constant that the letter asks for; an error that names the argument if it isn't constant."""
    if type(value) is Value and _constant(value) is _NOT_CONSTANT:
        raise SymbolicValueError(f"the argument {arg_name!r} must be a constant", value)
    return _parse_arg(value, desc, arg_name)


def _maybe_get_scalar(value: Any) -> Any:
    """The 0-d tensor of a constant number, or the value itself."""
    constant = _maybe_get_const(value, "t")
    return constant if isinstance(constant, torch.Tensor) and constant.dim() == 0 else value


def _node_get(node: Node, key: str) -> Any:
    """An attribute of a node."""
    return node[key]


def _scalar(x: Any) -> Any:
    """The Python number in a one-element constant, None if it is no such."""
    constant = _constant(x)
    if isinstance(constant, torch.Tensor) and constant.numel() == 1:
        return constant.item()
    return constant if isinstance(constant, (bool, int, float)) else None


def _unpack_list(list_value: Value) -> list[Value]:
    """The elements of a list of known length."""
    if not _is_packed_list(list_value):
        raise SymbolicValueError("the list's length must be known", list_value)
    return list(list_value.node().inputs())


def _unpack_tuple(tuple_value: Value) -> tuple[Value, ...]:
    """The elements of a tuple."""
    if not _is_tuple_construct(tuple_value):
        raise SymbolicValueError("a tuple is needed", tuple_value)
    return tuple(tuple_value.node().inputs())


# -- questions ------------------------------------------------------------------------------------


def _is_value(x: Any) -> bool:
    return isinstance(x, types.VALUE)


def _is_none(x: Any) -> bool:
    return x is None or (type(x) is Value and x.content is None)


def _is_constant(value: Any) -> bool:
    return not _is_value(value) or value.is_constant


def _is_onnx_constant(value: Any) -> bool:
    return bool(value.node().kind() == "onnx::Constant")


def _is_tensor(x: Value) -> bool:
    return bool(torch_type(x.type()).isSubtypeOf(types.plain_type("Tensor")))


def _is_list(x: Value) -> bool:
    return bool(x.type().kind() == "ListType")


def _is_tensor_list(x: Value) -> bool:
    return _is_list(x) and bool(x.type().getElementType().kind() == "TensorType")


def _is_scalar_list(x: Value) -> bool:
    return _is_list(x) and x.type().getElementType().kind() in ("IntType", "FloatType", "BoolType")


def _is_packed_list(list_value: Any) -> bool:
    return _is_value(list_value) and bool(list_value.node().kind() == "prim::ListConstruct")


def _is_tuple_construct(x: Any) -> bool:
    return _is_value(x) and bool(x.node().kind() == "prim::TupleConstruct")


def _dtype(x: Any) -> torch.dtype | None:
    if isinstance(x, torch.Tensor):
        return x.dtype
    kind: Any = x.type() if type(x) is Value else None
    return kind.dtype() if hasattr(kind, "dtype") else None


def _is_fp(value: Any) -> bool:
    dtype = _dtype(value)
    return dtype is not None and dtype.is_floating_point


def _is_bool(value: Any) -> bool:
    return _dtype(value) is torch.bool


def is_complex_value(x: Any) -> bool:
    dtype = _dtype(x)
    return dtype is not None and dtype.is_complex


def _get_tensor_rank(x: Value) -> int | None:
    return x.type().dim() if _is_tensor(x) else None


def _get_tensor_sizes(x: Value, allow_nonstatic: bool = True) -> list[int | None] | None:
    """The sizes, None for those known only at run time; without `allow_nonstatic` None if there are such."""
    sizes: list[int | None] | None = x.type().sizes() if _is_tensor(x) else None
    return sizes if sizes is None or allow_nonstatic or None not in sizes else None


def _get_tensor_dim_size(x: Value, dim: int) -> int | None:
    sizes = _get_tensor_sizes(x)
    return None if sizes is None else sizes[dim]


def _get_dim_for_cross(x: Value, dim: int | None) -> int | None:
    """The axis given, or the first of size 3."""
    if dim is not None:
        return dim
    return next((i for i, size in enumerate(_get_tensor_sizes(x) or ()) if size == 3), None)


def args_have_same_dtype(args: Any) -> bool:
    return len({_dtype(a) for a in args}) <= 1


def _is_split_static(split_size_or_sizes: Any, _outputs: int | None) -> bool:
    """Whether the pieces of a split are known at export."""
    if _outputs is None:
        return False
    if not _is_value(split_size_or_sizes) or split_size_or_sizes.is_constant:
        return True
    return _constant(split_size_or_sizes) is not _NOT_CONSTANT


# -- refusals -------------------------------------------------------------------------------------


def _unimplemented(op: str, msg: str, value: Any = None) -> NoReturn:
    _onnx_unsupported(f"{op}, {msg}", value)


def _onnx_unsupported(op_name: str, value: Any = None) -> NoReturn:
    message = f"the operator {op_name} can't be converted; change the model, or register a symbolic function for it"
    if _is_value(value):
        raise SymbolicValueError(message, value)
    raise OnnxExporterError(message)


def _onnx_opset_unsupported(op_name: str, current_opset: int, supported_opset: int, value: Any = None) -> NoReturn:
    _onnx_opset_unsupported_detailed(op_name, current_opset, supported_opset, "", value)


def _onnx_opset_unsupported_detailed(
    op_name: str, current_opset: int, supported_opset: int, reason: str, value: Any = None
) -> NoReturn:
    because = f" ({reason})" if reason else ""
    message = f"{op_name} at opset {current_opset} can't be converted{because}; try opset_version={supported_opset}"
    if _is_value(value):
        raise SymbolicValueError(message, value)
    raise OnnxExporterError(message)


def _block_list_in_opset(name: str) -> Symbolic:
    """A symbolic function that refuses."""

    def symbolic(g: Any, *args: Any, **kwargs: Any) -> NoReturn:
        raise OnnxExporterError(f"{name} can't be converted at opset {g.opset}; try a newer one")

    return symbolic


def check_training_mode(op_train_mode: int, op_name: str) -> None:
    """Warn where an operator's own mode isn't that of the export; the operator's own is what is exported."""
    asked = session.current()
    if asked is None or asked.options.training is TrainingMode.PRESERVE:
        return
    training = asked.options.training is TrainingMode.TRAINING
    if bool(op_train_mode) != training:
        warn(
            f"{op_name} is in {'training' if op_train_mode else 'inference'} mode, while the model is exported for "
            f"{'training' if training else 'inference'}"
        )
