"""ONNX operators on complex tensors, as arithmetic of pairs of reals.

A lowering whose formula holds for complex numbers as it is written (`ops/complex.py` lists them) builds the same graph
for them: each node that has a complex input is replaced here by nodes on real and imaginary parts. An operator
that isn't named here has no meaning for pairs, and is an error; so is a Cast that would drop the imaginary part.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch

from ..dtypes import real_of, to_onnx
from ..errors import LoweringError
from .complex import both, join, of_real, split
from .values import Tensor

if TYPE_CHECKING:
    from .builder import Builder

Attributes = dict[str, Any]
Pair = tuple[Tensor, Tensor]

# Operators that are linear in these inputs (None: in all), the others being indices, sizes or conditions.
_LINEAR: dict[str, tuple[int, ...] | None] = {
    **dict.fromkeys(
        ["Reshape", "Transpose", "Slice", "Gather", "GatherElements", "GatherND", "Expand", "Tile", "Squeeze"], (0,)
    ),
    **dict.fromkeys(["Unsqueeze", "Split", "Flatten", "Identity", "ReduceSum", "ReduceMean", "CumSum", "Neg"], (0,)),
    **dict.fromkeys(["Trilu", "Compress", "DepthToSpace", "SpaceToDepth", "AveragePool", "GlobalAveragePool"], (0,)),
    "Concat": None,
    "Scatter": (0, 2),
    "ScatterElements": (0, 2),
    "ScatterND": (0, 2),
    "Pad": (0, 2),
    "Where": (1, 2),
}
_BILINEAR = frozenset({"Mul", "MatMul", "Conv", "ConvTranspose"})


def on_pairs(
    g: Builder, op_type: str, inputs: Sequence[Any], attributes: Attributes, outputs: int
) -> tuple[Tensor, ...]:
    """The outputs of an operator at least one of whose inputs is complex."""

    def apply(parts: Sequence[Any], **changed: Any) -> tuple[Tensor, ...]:
        return g.node(op_type, list(parts), {**attributes, **changed}, outputs)

    if op_type in _LINEAR and attributes.get("reduction", "none") in ("none", "add"):
        return _linear(g, apply, inputs, attributes, _LINEAR[op_type])
    if op_type in _BILINEAR:
        return (_bilinear(g, apply, inputs),)
    if op_type == "Cast":
        return (_cast(g, inputs[0], attributes["to"]),)
    function = _FUNCTIONS.get(op_type)
    if function is None:
        raise LoweringError(
            f"{op_type} has no meaning for complex tensors; compute with real and imaginary part instead"
        )
    return (function(g, *inputs, **attributes),)


# -- what treats both parts alike -----------------------------------------------------------------


def _linear(
    g: Builder, apply: Any, inputs: Sequence[Any], attributes: Attributes, places: tuple[int, ...] | None
) -> tuple[Tensor, ...]:
    linear = range(len(inputs)) if places is None else places
    parts = [both(g, x) if i in linear and x is not None else (x, x) for i, x in enumerate(inputs)]
    real = apply([p[0] for p in parts])
    imag = apply([p[1] for p in parts], **({"value": 0.0} if "value" in attributes else {}))  # what Pad fills with
    return tuple(join(g, a, b) for a, b in zip(real, imag))


def _bilinear(g: Builder, apply: Any, inputs: Sequence[Any]) -> Tensor:
    (a, b), (c, d) = split(g, inputs[0]), split(g, inputs[1])
    biases = both(g, inputs[2]) if len(inputs) > 2 and inputs[2] is not None else None
    if b is None and d is None and biases is not None:
        b = both(g, inputs[0])[1]

    def times(x: Tensor, y: Tensor, part: int | None = None) -> Tensor:
        made: Tensor = apply([x, y] if biases is None or part is None else [x, y, biases[part]])[0]
        return made

    if d is None:
        return of_real(g, times(a, c)) if b is None else join(g, times(a, c, 0), times(b, c, 1))
    if b is None:
        return join(g, times(a, c, 0), times(a, d, 1))
    return join(g, g.sub(times(a, c, 0), times(b, d)), g.add(times(a, d, 1), times(b, c)))


def _cast(g: Builder, x: Tensor, to: int) -> Tensor:
    a, b = both(g, x)
    if to == to_onnx(torch.bool):
        return g.or_(g.cast(a, torch.bool), g.cast(b, torch.bool))
    for dtype in (torch.complex64, torch.complex128):
        if to == to_onnx(dtype):
            return join(g, g.cast(a, real_of(dtype)), g.cast(b, real_of(dtype)))
    raise LoweringError("a complex tensor is taken for a real one here; take its real part, or its absolute value")


# -- arithmetic -----------------------------------------------------------------------------------


def _sum(op_type: str) -> Callable[[Builder, Tensor, Tensor], Tensor]:
    def combine(g: Builder, x: Tensor, y: Tensor) -> Tensor:
        (a, b), (c, d) = split(g, x), split(g, y)
        real = g.binary(op_type, a, c)
        if d is None and b is None:
            return of_real(g, real)
        if d is None or b is None:
            imag = b if d is None else d if op_type == "Add" else g.neg(d)
            assert imag is not None
            return join(g, real, imag if imag.dims == real.dims else g.expand(imag, real.shape))
        return join(g, real, g.binary(op_type, b, d))

    return combine


def _divided(g: Builder, x: Tensor, y: Tensor) -> Tensor:
    (a, b), (c, d) = split(g, x), split(g, y)
    if d is None:
        return of_real(g, g.div(a, c)) if b is None else join(g, g.div(a, c), g.div(b, c))
    # Divided by the larger part of y first, so that its square neither overflows nor vanishes.
    scale = g.extremum("Max", g.abs(c), g.abs(d))
    scale = g.where(g.equal(scale, 0), 1, scale)
    c, d = g.div(c, scale), g.div(d, scale)
    size = g.mul(g.add(g.mul(c, c), g.mul(d, d)), scale)
    if b is None:
        return join(g, g.div(g.mul(a, c), size), g.div(g.neg(g.mul(a, d)), size))
    up, across = g.add(g.mul(a, c), g.mul(b, d)), g.sub(g.mul(b, c), g.mul(a, d))
    return join(g, g.div(up, size), g.div(across, size))


def _reciprocal(g: Builder, x: Tensor) -> Tensor:
    return _divided(g, g.const(1, real_of(x.dtype)), x)


def _equal(g: Builder, x: Tensor, y: Tensor) -> Tensor:
    (a, b), (c, d) = both(g, x), both(g, y)
    return g.and_(g.equal(a, c), g.equal(b, d))


def _isnan(g: Builder, x: Tensor) -> Tensor:
    a, b = both(g, x)
    return g.or_(g.isnan(a), g.isnan(b))


def _abs(g: Builder, x: Tensor) -> Tensor:
    a, b = both(g, x)
    return g.sqrt(g.add(g.mul(a, a), g.mul(b, b)))


def _sign(g: Builder, x: Tensor) -> Tensor:
    """x / |x|, and 0 of 0."""
    size = _abs(g, x)
    size = g.where(g.equal(size, 0), 1, size)
    return join(g, *[g.div(part, size) for part in both(g, x)])


def _product(g: Builder, x: Tensor, axes: Any = None, keepdims: int = 1) -> Tensor:
    """ReduceProd of axes of known sizes: halves times one another."""
    given = axes.data if isinstance(axes, Tensor) else axes  # from opset 18 on they are an input
    over = list(range(x.rank)) if given is None else [int(axis) for axis in given]
    for axis in over:
        size = x.shape[axis]
        if not isinstance(size, int):
            raise LoweringError("a product of complex numbers along an axis whose size is known only at run time")
        if size == 0:
            x = g.full([1 if i == axis else d for i, d in enumerate(x.shape)], 1, x.dtype)
        while size > 1:
            half = size // 2
            pieces = [half, half] if size % 2 == 0 else [half, half, 1]
            first, second, *rest = g.split(x, pieces, axis)
            x, size = g.concat([g.mul(first, second), *rest], axis), size - half
    return x if keepdims else g.squeeze(x, over)


def _running_product(g: Builder, x: Tensor, axis: Tensor, **attributes: Any) -> Tensor:
    """CumProd: after each step an entry covers twice as many before it."""
    assert axis.data is not None
    over, step = int(axis.data) % x.rank, 1
    size = x.shape[over]
    if attributes or not isinstance(size, int):
        raise LoweringError("a running product of complex numbers along an axis whose size is known only at run time")
    while step < size:
        head, before = g.slice(x, [0], [step], [over]), g.slice(x, [0], [size - step], [over])
        x = g.concat([head, g.mul(before, g.slice(x, [step], [size], [over]))], over)
        step *= 2
    return x


def _of_sizes(op_type: str) -> Callable[..., Tensor]:
    """A reduction that looks at absolute values alone."""
    return lambda g, x, *axes, **attributes: g.node(op_type, [_abs(g, x), *axes], attributes, 1)[0]


# -- powers and logarithms ------------------------------------------------------------------------


def _exp(g: Builder, x: Tensor) -> Tensor:
    a, b = both(g, x)
    size = g.exp(a)
    return join(g, g.mul(size, g.cos(b)), g.mul(size, g.sin(b)))


def angle(g: Builder, b: Tensor, a: Tensor) -> Tensor:
    """The angle of a + bi."""
    from .registry import find

    lower = find("aten::atan2")
    assert lower is not None
    made: Tensor = lower(g, b, a)
    return made


def _log(g: Builder, x: Tensor) -> Tensor:
    a, b = both(g, x)
    return join(g, g.log(_abs(g, x)), angle(g, b, a))


def _with_sign(g: Builder, size: Tensor, sign: Tensor) -> Tensor:
    return g.where(g.signbit(sign), g.neg(size), size)


def _root(g: Builder, a: Tensor, b: Tensor) -> Pair:
    """The root whose real part isn't negative; the sign of a zero imaginary part says on which side of the cut it is."""
    size = g.sqrt(g.add(g.mul(a, a), g.mul(b, b)))
    larger = g.sqrt(g.mul(g.add(size, g.abs(a)), 0.5))
    none = g.equal(larger, 0)
    smaller = g.where(none, 0, g.div(g.mul(g.abs(b), 0.5), g.where(none, 1, larger)))
    left = g.less(a, 0)
    return g.where(left, smaller, larger), _with_sign(g, g.where(left, larger, smaller), b)


def _sqrt(g: Builder, x: Tensor) -> Tensor:
    return join(g, *_root(g, *both(g, x)))


def _pow(g: Builder, x: Tensor, y: Tensor) -> Tensor:
    if y.is_constant and y.data is not None and y.data.size == 1:
        number = complex(y.data.reshape(-1)[0])
        if number == 0.5:
            return _sqrt(g, x)
        if number.imag == 0 and number.real.is_integer() and 0 < abs(number.real) <= 8:
            whole = _whole_power(g, x, int(abs(number.real)))
            return whole if number.real > 0 else _reciprocal(g, whole)
    result = g.exp(g.mul(y, g.log(_as_complex(g, x))))
    none = g.equal(x, 0)  # whose logarithm is infinite
    to_none = g.cast(g.equal(y, 0), real_of(result.dtype))
    return g.where(none, of_real(g, g.add(to_none, g.mul(g.abs(x), 0))), result)


def _whole_power(g: Builder, x: Tensor, exponent: int) -> Tensor:
    result = x
    for bit in bin(exponent)[3:]:
        result = g.mul(result, result)
        result = g.mul(result, x) if bit == "1" else result
    return result


def _as_complex(g: Builder, x: Tensor) -> Tensor:
    return x if x.is_complex else of_real(g, x)


# -- trigonometry: W. Kahan, Branch Cuts for Complex Elementary Functions (1987) -------------------


def _sin(g: Builder, x: Tensor) -> Tensor:
    a, b = both(g, x)
    return join(g, g.mul(g.sin(a), g.cosh(b)), g.mul(g.cos(a), g.sinh(b)))


def _cos(g: Builder, x: Tensor) -> Tensor:
    a, b = both(g, x)
    return join(g, g.mul(g.cos(a), g.cosh(b)), g.neg(g.mul(g.sin(a), g.sinh(b))))


def _sinh(g: Builder, x: Tensor) -> Tensor:
    a, b = both(g, x)
    return join(g, g.mul(g.sinh(a), g.cos(b)), g.mul(g.cosh(a), g.sin(b)))


def _cosh(g: Builder, x: Tensor) -> Tensor:
    a, b = both(g, x)
    return join(g, g.mul(g.cosh(a), g.cos(b)), g.mul(g.sinh(a), g.sin(b)))


def _tanh_of(g: Builder, a: Tensor, b: Tensor) -> Pair:
    tangent, sine = g.tan(b), g.sinh(g.clip(a, -20.0, 20.0))  # beyond, tanh is 1 in all digits
    beta, squares = g.add(g.mul(tangent, tangent), 1), g.mul(sine, sine)
    divisor = g.add(g.mul(beta, squares), 1)
    real = g.div(g.mul(g.mul(beta, g.sqrt(g.add(squares, 1))), sine), divisor)
    return real, g.div(tangent, divisor)


def _asin_of(g: Builder, a: Tensor, b: Tensor) -> Pair:
    (p, q), (r, s) = _root(g, g.sub(1, a), g.neg(b)), _root(g, g.add(a, 1), b)
    across = g.sub(g.mul(p, s), g.mul(q, r))
    return angle(g, a, g.sub(g.mul(p, r), g.mul(q, s))), g.asinh(across)


def _acos(g: Builder, x: Tensor) -> Tensor:
    a, b = both(g, x)
    (p, q), (r, s) = _root(g, g.sub(1, a), g.neg(b)), _root(g, g.add(a, 1), b)
    return join(g, g.mul(angle(g, p, r), 2), g.asinh(g.sub(g.mul(r, q), g.mul(s, p))))


def _acosh(g: Builder, x: Tensor) -> Tensor:
    a, b = both(g, x)
    (p, q), (r, s) = _root(g, g.sub(a, 1), b), _root(g, g.add(a, 1), b)
    return join(g, g.asinh(g.add(g.mul(p, r), g.mul(q, s))), g.mul(angle(g, q, r), 2))


def _atanh_of(g: Builder, a: Tensor, b: Tensor) -> Pair:
    size, squares = g.abs(a), g.mul(b, b)
    less = g.sub(1, size)
    real = g.mul(g.log1p(g.div(g.mul(size, 4), g.add(g.mul(less, less), squares))), 0.25)
    return _with_sign(g, real, a), g.mul(angle(g, g.mul(b, 2), g.sub(g.mul(less, g.add(size, 1)), squares)), 0.5)


def _turned(function: Callable[[Builder, Tensor, Tensor], Pair]) -> Callable[[Builder, Tensor], Tensor]:
    """-i f(ix): of tanh tan, of asin asinh, of atanh atan."""

    def turn(g: Builder, x: Tensor) -> Tensor:
        a, b = both(g, x)
        p, q = function(g, g.neg(b), a)
        return join(g, q, g.neg(p))

    return turn


def _plain(function: Callable[[Builder, Tensor, Tensor], Pair]) -> Callable[[Builder, Tensor], Tensor]:
    return lambda g, x: join(g, *function(g, *both(g, x)))


def _sigmoid(g: Builder, x: Tensor) -> Tensor:
    a, b = both(g, x)
    p, q = _tanh_of(g, g.mul(a, 0.5), g.mul(b, 0.5))
    return join(g, g.add(g.mul(p, 0.5), 0.5), g.mul(q, 0.5))


_FUNCTIONS: dict[str, Callable[..., Tensor]] = {
    "Add": _sum("Add"),
    "Sub": _sum("Sub"),
    "Div": _divided,
    "Reciprocal": _reciprocal,
    "Equal": _equal,
    "IsNaN": _isnan,
    "NonZero": lambda g, x: g.nonzero(g.cast(x, torch.bool)),
    "Abs": _abs,
    "Sign": _sign,
    "ReduceProd": _product,
    "CumProd": _running_product,
    "ReduceL1": _of_sizes("ReduceL1"),
    "ReduceL2": _of_sizes("ReduceL2"),
    "Exp": _exp,
    "Log": _log,
    "Sqrt": _sqrt,
    "Pow": _pow,
    "Sin": _sin,
    "Cos": _cos,
    "Tan": _turned(_tanh_of),
    "Sinh": _sinh,
    "Cosh": _cosh,
    "Tanh": _plain(_tanh_of),
    "Asin": _plain(_asin_of),
    "Acos": _acos,
    "Atan": _turned(_atanh_of),
    "Asinh": _turned(_asin_of),
    "Acosh": _acosh,
    "Atanh": _plain(_atanh_of),
    "Sigmoid": _sigmoid,
}
