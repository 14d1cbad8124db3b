"""Computes ops on known content at export, with numpy.

An array of dtype object holds ints and `Dim`s: the content of a tensor made from sizes. Arithmetic and layout
ops work on it as on numbers, which is how size computations of a trace vanish from the graph. Ops without an
entry here are left to the runtime.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from .. import dims as sizes
from ..dims import Dim
from ..dtypes import from_numpy, from_onnx, is_float8, is_integer, to_numpy
from .values import Array, Tensor

Rule = Callable[..., Any]

_RULES: dict[str, Rule] = {}
_SYMBOLIC: dict[str, Rule] = {}  # also for arrays of dtype object


def _rule(*names: str, symbolic: bool = False) -> Callable[[Rule], Rule]:
    def add(function: Rule) -> Rule:
        for name in names:
            _RULES[name] = function
            if symbolic:
                _SYMBOLIC[name] = function
        return function

    return add


def fold(
    op_type: str,
    inputs: Sequence[Tensor | None],
    attributes: dict[str, Any],
    opset: int,
    outputs: int,
    *,
    limit: int,
) -> list[tuple[Array, torch.dtype]] | None:
    """Arrays and dtypes of the outputs, or None if this op on these inputs isn't computed at export.

    A result of more than `limit` bytes that is larger than all inputs together isn't kept.
    """
    rule = _RULES.get(op_type)
    if rule is None:
        return None
    arrays = [None if x is None else x.data for x in inputs]
    symbolic = any(a is not None and a.dtype == object for a in arrays)
    if symbolic:
        rule = _SYMBOLIC.get(op_type)
        if rule is None:
            return None
    if op_type == "Expand" and _expanded_bytes(arrays) > limit:
        return None
    with np.errstate(all="ignore"):
        result = rule(*arrays, opset=opset, **attributes)
    if result is None:
        return None
    several = result if isinstance(result, (tuple, list)) else [result]
    results = [np.asarray(r) for r in several]  # numpy gives scalars, not 0-d arrays
    if len(results) != outputs or (symbolic and op_type in _SPREADING and _is_spread(arrays, results[0])):
        return None
    given = sum(a.nbytes for a in arrays if a is not None)
    if sum(r.nbytes for r in results) > max(limit, given):
        return None
    dtype = _dtype(op_type, inputs, attributes)
    final = []
    for array in results:
        if array.dtype == object and all(isinstance(v, (int, np.integer)) for v in array.reshape(-1)):
            array = array.astype(to_numpy(dtype or torch.int64))
        if array.dtype == object:
            final.append((array, dtype or torch.int64))
        else:
            final.append(
                (
                    array if dtype is None else array.astype(to_numpy(dtype), copy=False),
                    dtype or from_numpy(array.dtype),
                )
            )
    return final


_SPREADING = frozenset({"Add", "Sub", "Mul", "Div", "Mod", "Min", "Max"})
_SIZES = 4  # more numbers aren't the sizes of a tensor, but positions or the like


def _is_spread(arrays: Sequence[Array | None], result: Array) -> bool:
    """Whether a vector of numbers met a few sizes: that is one node, while its elements would be several each."""
    known = max(a.size for a in arrays if a is not None and a.dtype == object)
    return result.dtype == object and result.size > max(_SIZES, known)


# What changes nothing as the second operand, and as the first one where the order doesn't matter.
NEUTRAL: dict[str, int] = {"Add": 0, "Sub": 0, "Mul": 1, "Div": 1, "Pow": 1, "And": 1, "Or": 0}
_ORDERED = frozenset({"Sub", "Div", "Pow"})


def unchanged(op_type: str, inputs: Sequence[Tensor | None]) -> Tensor | None:
    """The operand that an op gives back as it is, because the other one is 0, 1 or the like."""
    number = NEUTRAL[op_type]
    if len(inputs) != 2:
        return None
    for x, other in (inputs, inputs[::-1]):
        if x is None or other is None or x.dims is None or other.dims is None or x.dtype != other.dtype:
            return None
        alone = other.is_constant and not other.from_weight and all(d == 1 for d in other.dims)
        if alone and len(other.dims) <= len(x.dims) and other.data is not None:
            item = other.data.reshape(-1)[0]
            # The sum of -0.0 and 0.0 is 0.0.
            if item == number and (op_type != "Add" or not x.is_inexact or np.signbit(item)):
                return x
        if op_type in _ORDERED:
            return None
    return None


_BOOLEAN = {"Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual", "Not", "And", "Or", "Xor", "IsNaN", "IsInf"}


def _dtype(op_type: str, inputs: Sequence[Tensor | None], attributes: dict[str, Any]) -> torch.dtype | None:
    """The dtype of the results, by the op's definition."""
    if op_type in _BOOLEAN:
        return torch.bool
    if op_type == "Cast":
        return from_onnx(attributes["to"])
    if op_type in ("Shape", "Size", "NonZero"):
        return torch.int64
    first = inputs[1] if op_type == "Where" else inputs[0]
    return None if first is None or op_type == "ConstantOfShape" else first.dtype


def _expanded_bytes(arrays: Sequence[Any]) -> int:
    data, shape = arrays
    if shape.dtype == object:
        return 1 << 62
    target = np.broadcast_shapes(data.shape, tuple(int(d) for d in shape))
    return math.prod(target) * int(data.itemsize)


# -- elementwise ----------------------------------------------------------------------------------

_ARITHMETIC: dict[str, Any] = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply}
for _name, _function in _ARITHMETIC.items():
    _rule(_name, symbolic=True)(lambda a, b, opset, f=_function: f(a, b))

_BINARY: dict[str, Any] = {
    "Greater": np.greater, "Less": np.less, "GreaterOrEqual": np.greater_equal, "LessOrEqual": np.less_equal,
    "And": np.logical_and, "Or": np.logical_or, "Xor": np.logical_xor, "Pow": np.power,
}  # fmt: skip
for _name, _function in _BINARY.items():
    _rule(_name)(lambda a, b, opset, f=_function: f(a, b))

_UNARY: dict[str, Any] = {
    "Exp": np.exp, "Log": np.log, "Sqrt": np.sqrt, "Sin": np.sin, "Cos": np.cos, "Tan": np.tan, "Tanh": np.tanh,
    "Floor": np.floor, "Ceil": np.ceil, "Round": np.rint, "Reciprocal": lambda x: (1 / x).astype(x.dtype), "Not": np.logical_not,
    "IsNaN": np.isnan, "Sign": np.sign, "Sigmoid": lambda x: (1 / (1 + np.exp(-x))).astype(x.dtype),
    "Relu": lambda x: np.maximum(x, 0),
}  # fmt: skip
for _name, _unary in _UNARY.items():
    _rule(_name)(lambda x, opset, f=_unary: f(x))


@_rule("Softmax")
def _softmax(x: Array, opset: int, axis: int = -1) -> Array | None:
    if not x.size or (opset < 13 and axis % x.ndim != x.ndim - 1):
        return None  # of all axes from that one on together
    wide = x.astype(np.promote_types(x.dtype, np.float32))
    powers = np.exp(wide - wide.max(axis, keepdims=True))
    return np.asarray(powers / powers.sum(axis, keepdims=True), x.dtype)


_rule("Neg", symbolic=True)(lambda x, opset: np.negative(x))
_rule("Identity", symbolic=True)(lambda x, opset: x)


@_rule("Abs", symbolic=True)
def _abs(x: Array, opset: int) -> Array | None:
    if x.dtype == object:
        return x if all(sizes.known_ge(v, 0) for v in x.reshape(-1)) else None
    return np.abs(x)


@_rule("Div", symbolic=True)
def _div(a: Array, b: Array, opset: int) -> Array | None:
    """Integers are cut towards zero; sizes are divided where that is floor division."""
    if a.dtype == object or b.dtype == object:
        pairs = list(np.broadcast(a, b))
        if not all(sizes.known_ge(_plain(x), 0) and sizes.known_ge(_plain(y), 1) for x, y in pairs):
            return None
        return _objects(np.broadcast_shapes(a.shape, b.shape), [_plain(x) // _plain(y) for x, y in pairs])
    if np.issubdtype(a.dtype, np.integer):
        if (b == 0).any():
            return None
        quotient = np.abs(a) // np.abs(b)
        return np.where((a < 0) != (b < 0), -quotient, quotient).astype(a.dtype)
    return np.divide(a, b).astype(a.dtype)


@_rule("Mod", symbolic=True)
def _mod(a: Array, b: Array, opset: int, fmod: int = 0) -> Array | None:
    if a.dtype == object or b.dtype == object:
        pairs = list(np.broadcast(a, b))
        if fmod or not all(sizes.known_ge(_plain(y), 1) for _, y in pairs):
            return None
        return _objects(np.broadcast_shapes(a.shape, b.shape), [_plain(x) % _plain(y) for x, y in pairs])
    if np.issubdtype(a.dtype, np.integer) and (b == 0).any():
        return None
    return np.fmod(a, b) if fmod else np.mod(a, b)


def _extremum(name: str) -> Rule:
    plain = np.minimum if name == "Min" else np.maximum
    symbolic = sizes.minimum if name == "Min" else sizes.maximum

    def rule(*arrays: Array, opset: int) -> Array:
        result = arrays[0]
        for other in arrays[1:]:
            if result.dtype == object or other.dtype == object:
                pairs = [symbolic(_plain(x), _plain(y)) for x, y in np.broadcast(result, other)]
                result = _objects(np.broadcast_shapes(result.shape, other.shape), pairs)
            else:
                result = plain(result, other)
        return result

    return rule


for _name in ("Min", "Max"):
    _rule(_name, symbolic=True)(_extremum(_name))


@_rule("Equal", symbolic=True)
def _equal(a: Array, b: Array, opset: int) -> Array | None:
    if a.dtype == object or b.dtype == object:
        answers = [sizes.known_eq(_plain(x), _plain(y)) for x, y in np.broadcast(a, b)]
        return None if None in answers else np.array(answers).reshape(np.broadcast_shapes(a.shape, b.shape))
    return np.equal(a, b)


@_rule("Where", symbolic=True)
def _where(condition: Array, a: Array, b: Array, opset: int) -> Array | None:
    return None if condition.dtype == object else np.where(condition, a, b)


@_rule("Cast", symbolic=True)
def _cast(x: Array, opset: int, to: int, saturate: int = 1) -> Array | None:
    dtype = from_onnx(to)
    if x.dtype == object:
        return x if is_integer(dtype) else None
    if np.issubdtype(x.dtype, np.floating) and is_integer(dtype) and not np.isfinite(x).all():
        return None  # undefined: leave it to the runtime
    if saturate and is_float8(dtype):  # which numpy doesn't do
        limits = torch.finfo(dtype)
        x = np.clip(x, limits.min, limits.max)
    return x.astype(to_numpy(dtype))


# -- layout ---------------------------------------------------------------------------------------


@_rule("Reshape", symbolic=True)
def _reshape(x: Array, shape: Array, opset: int, allowzero: int = 0) -> Array | None:
    if shape.dtype == object:
        return None
    target = [int(d) for d in shape]
    if not allowzero:
        target = [x.shape[i] if d == 0 else d for i, d in enumerate(target)]
    return x.reshape(target)


@_rule("Squeeze", symbolic=True)
def _squeeze(x: Array, given: Array | None = None, *, opset: int, axes: Any = None) -> Array:
    axes = given if axes is None else axes
    return x.squeeze() if axes is None else x.squeeze(tuple(int(a) for a in axes))


@_rule("Unsqueeze", symbolic=True)
def _unsqueeze(x: Array, given: Array | None = None, *, opset: int, axes: Any = None) -> Array:
    positions: Any = given if axes is None else axes
    return np.expand_dims(x, tuple(int(a) for a in positions))


@_rule("Transpose", symbolic=True)
def _transpose(x: Array, opset: int, perm: list[int] | None = None) -> Array:
    return x.transpose(perm)


@_rule("Concat", symbolic=True)
def _concat(*arrays: Array, opset: int, axis: int) -> Array:
    return np.concatenate(arrays, axis)


@_rule("Expand")
def _expand(x: Array, shape: Array, opset: int) -> Array:
    return np.broadcast_to(x, np.broadcast_shapes(x.shape, tuple(int(d) for d in shape)))


@_rule("Gather", symbolic=True)
def _gather(x: Array, indices: Array, opset: int, axis: int = 0) -> Array | None:
    if indices.dtype == object or (
        indices.size and not -x.shape[axis] <= indices.min() <= indices.max() < x.shape[axis]
    ):
        return None
    return np.take(x, indices, axis)


@_rule("Slice", symbolic=True)
def _slice(
    x: Array,
    begin: Array | None = None,
    end: Array | None = None,
    on: Array | None = None,
    by: Array | None = None,
    *,
    opset: int,
    starts: Any = None,
    ends: Any = None,
    axes: Any = None,
) -> Array | None:
    starts, ends = (begin, end) if starts is None else (starts, ends)
    axes = on if axes is None else axes
    if any(isinstance(v, np.ndarray) and v.dtype == object for v in (starts, ends)):
        return None
    axes = range(len(starts)) if axes is None else axes
    steps = [1] * len(starts) if by is None else by
    index: list[slice] = [slice(None)] * x.ndim
    for start, stop, axis, step in zip(starts, ends, axes, steps):
        size = x.shape[int(axis)]
        start, stop, step = int(start), int(stop), int(step)
        if step < 0 and stop < -size:  # before the first: the slice runs to the front
            index[int(axis)] = slice(start, None, step)
        else:
            index[int(axis)] = slice(start, stop, step)
    return x[tuple(index)]


@_rule("Split", symbolic=True)
def _split(x: Array, lengths: Array | None = None, *, opset: int, axis: int = 0, split: Any = None, **_: Any) -> Any:
    lengths = split if lengths is None else lengths
    if lengths is None or (isinstance(lengths, np.ndarray) and lengths.dtype == object):
        return None
    return np.split(x, np.cumsum(lengths)[:-1], axis)


@_rule("Pad")
def _pad(
    x: Array,
    given: Array | None = None,
    fill: Array | None = None,
    on: Array | None = None,
    *,
    opset: int,
    pads: Any = None,
    mode: str = "constant",
    value: float = 0.0,
) -> Array | None:
    amounts = [int(v) for v in (given if pads is None else pads)]  # type: ignore[union-attr]
    if mode != "constant" or on is not None or any(v < 0 for v in amounts):
        return None
    return np.pad(x, list(zip(amounts[: x.ndim], amounts[x.ndim :])), constant_values=value if fill is None else fill)


@_rule("Tile")
def _tile(x: Array, repeats: Array, opset: int) -> Array | None:
    return np.tile(x, [int(r) for r in repeats]) if x.nbytes * int(np.prod(repeats)) < 1 << 20 else None


# -- reductions -----------------------------------------------------------------------------------

for _name, _reduce in {
    "ReduceSum": np.sum,
    "ReduceMean": np.mean,
    "ReduceMax": np.max,
    "ReduceMin": np.min,
    "ReduceProd": np.prod,
    "ReduceL1": lambda x, **how: np.sum(np.abs(x), **how),
}.items():

    def _reduction(
        x: Array,
        given: Any = None,
        *,
        opset: int,
        axes: Any = None,
        keepdims: int = 1,
        noop_with_empty_axes: int = 0,
        f: Any = _reduce,
    ) -> Array | None:
        axes = given if axes is None else axes
        if x.size == 0 or noop_with_empty_axes:
            return None
        axis = None if axes is None else tuple(int(a) for a in axes)
        result: Array = f(
            x.astype(np.float64) if np.issubdtype(x.dtype, np.floating) else x, axis=axis, keepdims=bool(keepdims)
        )
        return result

    _rule(_name)(_reduction)


@_rule("ReduceL2")
def _norm(x: Array, given: Any = None, *, opset: int, axes: Any = None, keepdims: int = 1) -> Array:
    axes = given if axes is None else axes
    axis = None if axes is None else tuple(int(a) for a in axes)
    squares: Array = np.sum(np.square(x.astype(np.float64)), axis=axis, keepdims=bool(keepdims))
    return np.sqrt(squares)


@_rule("LayerNormalization")
def _layer_norm(
    x: Array, scale: Array, shift: Array | None = None, *, opset: int, axis: int = -1, epsilon: float = 1e-5, **_: Any
) -> Array | None:
    if x.size == 0 or x.dtype not in (np.float32, np.float64):
        return None
    axes = tuple(range(axis % x.ndim, x.ndim))
    wide = x.astype(np.float64)
    centred = wide - wide.mean(axes, keepdims=True)
    result = centred / np.sqrt(np.square(centred).mean(axes, keepdims=True) + np.float32(epsilon)) * scale
    normed: Array = (result if shift is None else result + shift).astype(x.dtype)
    return normed


@_rule("MatMul")
def _matmul(a: Array, b: Array, opset: int) -> Array | None:
    return np.matmul(a, b) if a.size * b.shape[-1] < 1 << 22 else None


@_rule("Trilu")
def _trilu(x: Array, k: Array | None = None, *, opset: int, upper: int = 1) -> Array | None:
    if k is not None and k.dtype == object:
        return None
    cut: Any = np.triu if upper else np.tril
    result: Array = cut(x, 0 if k is None else int(k))
    return result


def _plain(value: Any) -> Any:
    """An element of an array as an int or `Dim`."""
    if isinstance(value, Dim):
        return value
    return int(value.item() if isinstance(value, np.ndarray) else value)


def _objects(shape: tuple[int, ...], values: list[Any]) -> Array:
    result = np.empty(len(values), dtype=object)
    result[:] = values
    return result.reshape(shape)
