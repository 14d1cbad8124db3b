"""Random numbers, and dropout.

The values differ from PyTorch's; shape, dtype and distribution don't. onnxruntime (up to 1.32) has kernels of
RandomUniformLike and RandomNormalLike below opset 22 only, but one of Dropout at every opset: from 22 on uniform
numbers are therefore put together from random bits, which are what a Dropout leaves of ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from ..dims import Size
from ..dtypes import to_onnx
from ..errors import LoweringError
from ..lower.builder import Builder
from ..lower.promotion import result_type
from ..lower.registry import lowering
from ..lower.values import Tensor
from .creation import dtype_or
from .shape import broadcast_shape

_BITS = {torch.float64: 53, torch.float32: 24, torch.float16: 11, torch.bfloat16: 8}


def uniform(g: Builder, size: list[Size], dtype: torch.dtype) -> Tensor:
    """Numbers in [0, 1)."""
    if dtype in (torch.float16, torch.bfloat16):
        # A multiple of the type's own step below 1, so that rounding doesn't make a 1 of it.
        steps = 1 << _BITS[dtype]
        return g.cast(g.div(g.op("Floor", g.mul(uniform(g, size, torch.float32), steps)), steps), dtype)
    if g.opset < 22:
        return _like(g, "RandomUniformLike", size, dtype)
    bits = _BITS[dtype]
    ones = g.full([*size, bits], 1.0, torch.float32)
    kept = dropped(g, ones, 0.5)[1]
    weights = g.const([2.0**-i for i in range(1, bits + 1)], dtype)
    result = g.reduce("ReduceSum", g.mul(g.cast(kept, dtype), weights), [-1])
    result.dims = tuple(size)
    return result


def normal(g: Builder, size: list[Size], dtype: torch.dtype) -> Tensor:
    """Numbers of mean 0 and deviation 1."""
    if dtype in (torch.float16, torch.bfloat16):
        return g.cast(normal(g, size, torch.float32), dtype)
    if g.opset < 22:
        return _like(g, "RandomNormalLike", size, dtype)
    radius = g.op("Sqrt", g.mul(g.op("Log", g.sub(1.0, uniform(g, size, dtype))), -2.0))  # Box and Muller
    return g.mul(radius, g.op("Cos", g.mul(uniform(g, size, dtype), 2 * math.pi)))


def _like(g: Builder, op_type: str, size: list[Size], dtype: torch.dtype) -> Tensor:
    if all(isinstance(d, int) for d in size) and size:
        return g.op(op_type.removesuffix("Like"), dtype=to_onnx(dtype), shape=list(size))
    return g.op(op_type, g.full(size, 0, dtype), dtype=to_onnx(dtype))


def _float_dtype(dtype: torch.dtype) -> torch.dtype:
    if not dtype.is_floating_point:
        raise LoweringError(f"random numbers of {dtype}; make floats, and convert them")
    return dtype


# -- from sizes -----------------------------------------------------------------------------------


@lowering("aten::rand")
def rand(g: Builder, size: list[Size], dtype: int | None = None, *_: Any) -> Tensor:
    """rand(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, ...) -> Tensor"""
    return uniform(g, size, _float_dtype(dtype_or(dtype)))


@lowering("aten::randn")
def randn(g: Builder, size: list[Size], dtype: int | None = None, *_: Any) -> Tensor:
    """randn(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, ...) -> Tensor"""
    return normal(g, size, _float_dtype(dtype_or(dtype)))


@lowering("aten::rand_like")
def rand_like(g: Builder, self: Tensor, dtype: int | None = None, *_: Any) -> Tensor:
    """rand_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, ...) -> Tensor"""
    return uniform(g, list(self.shape), _float_dtype(dtype_or(dtype, self.dtype)))


@lowering("aten::randn_like")
def randn_like(g: Builder, self: Tensor, dtype: int | None = None, *_: Any) -> Tensor:
    """randn_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, ...) -> Tensor"""
    return normal(g, list(self.shape), _float_dtype(dtype_or(dtype, self.dtype)))


def integers(g: Builder, low: Any, high: Any, size: list[Size], dtype: torch.dtype) -> Tensor:
    """Integers in [low, high), out of float64 uniform ones: as even as 53 bits make them."""
    start, end = g.scalar(low, torch.int64), g.scalar(high, torch.int64)
    span = g.cast(g.sub(end, start), torch.float64)
    steps = g.op("Floor", g.mul(uniform(g, size, torch.float64), span))
    return g.cast(g.add(g.cast(steps, torch.int64), start), dtype)


@lowering("aten::randint")
def randint(g: Builder, high: Size, size: list[Size], dtype: int | None = None, *_: Any) -> Tensor:
    """randint(SymInt high, SymInt[] size, *, ScalarType? dtype=long, ...) -> Tensor"""
    return integers(g, 0, high, size, dtype_or(dtype, torch.int64))


@lowering("aten::randint.low")
def randint_low(g: Builder, low: Size, high: Size, size: list[Size], dtype: int | None = None, *_: Any) -> Tensor:
    """randint.low(SymInt low, SymInt high, SymInt[] size, *, ScalarType? dtype=long, ...) -> Tensor"""
    return integers(g, low, high, size, dtype_or(dtype, torch.int64))


@lowering("aten::randint_like", "aten::randint_like.Tensor")
def randint_like(g: Builder, self: Tensor, high: Any, dtype: int | None = None, *_: Any) -> Tensor:
    """randint_like(Tensor self, SymInt high, *, ScalarType? dtype=None, ...) -> Tensor"""
    return integers(g, 0, high, list(self.shape), dtype_or(dtype, self.dtype))


@lowering("aten::randint_like.low_dtype")
def randint_like_low(g: Builder, self: Tensor, low: Any, high: Any, dtype: int | None = None, *_: Any) -> Tensor:
    """randint_like.low_dtype(Tensor self, SymInt low, SymInt high, *, ScalarType? dtype=None, ...) -> Tensor"""
    return integers(g, low, high, list(self.shape), dtype_or(dtype, self.dtype))


@lowering("aten::randperm")
def randperm(g: Builder, n: Size, dtype: int | None = None, *_: Any) -> Tensor:
    """randperm(SymInt n, *, ScalarType? dtype=long, Layout? layout=None, ...) -> Tensor"""
    order = g.topk(uniform(g, [n], torch.float32), n, 0)[1]
    return g.cast(order, dtype_or(dtype, torch.int64))


def _register_generators() -> None:
    """The same functions with `generator=` behind the sizes, which is None where code passes on what it wasn't given."""
    for function, position, *names in (
        (rand, 1, "rand.generator"),
        (randn, 1, "randn.generator"),
        (rand_like, 1, "rand_like.generator"),
        (randn_like, 1, "randn_like.generator"),
        (randint, 2, "randint.generator"),
        (randint_low, 3, "randint.low_generator"),
        (randint_like, 2, "randint_like.generator", "randint_like.Tensor_generator"),
        (randint_like_low, 3, "randint_like.low_generator_dtype"),
        (randperm, 1, "randperm.generator"),
    ):
        lowering(*(f"aten::{name}" for name in names))(_without_generator(function, position))


def _without_generator(function: Callable[..., Tensor], position: int) -> Callable[..., Tensor]:
    def call(g: Builder, *args: Any) -> Tensor:
        if args[position] is not None:
            raise LoweringError(
                f"an ONNX model has no random generators; call {function.__name__.removesuffix('_low')} without one"
            )
        return function(g, *args[:position], *args[position + 1 :])

    call.__doc__ = function.__doc__
    return call


_register_generators()


# -- in place of what a tensor holds --------------------------------------------------------------


@lowering("aten::uniform")
def uniform_(g: Builder, self: Tensor, from_: Any = 0.0, to: Any = 1.0, generator: Any = None) -> Tensor:
    """uniform(Tensor self, float from=0., float to=1., *, Generator? generator=None) -> Tensor"""
    start, end = g.scalar(from_, self.dtype), g.scalar(to, self.dtype)
    return g.add(g.mul(uniform(g, list(self.shape), self.dtype), g.sub(end, start)), start)


@lowering("aten::normal_", "aten::normal_functional")
def normal_(g: Builder, self: Tensor, mean: Any = 0.0, std: Any = 1.0, generator: Any = None) -> Tensor:
    """normal_(Tensor(a!) self, float mean=0., float std=1., *, Generator? generator=None) -> Tensor(a!)"""
    return _scaled(g, normal(g, list(self.shape), self.dtype), mean, std)


def _scaled(g: Builder, x: Tensor, mean: Any, std: Any) -> Tensor:
    return g.add(g.mul(x, g.scalar(std, x.dtype)), g.scalar(mean, x.dtype))


@lowering("aten::normal.Tensor_Tensor", "aten::normal.Tensor_float", "aten::normal.float_Tensor")
def normal_of(g: Builder, mean: Any, std: Any = 1.0, generator: Any = None) -> Tensor:
    """normal.Tensor_Tensor(Tensor mean, Tensor std, *, Generator? generator=None) -> Tensor"""
    tensors = [x for x in (mean, std) if isinstance(x, Tensor)]
    shape = broadcast_shape(*[x.shape for x in tensors])
    return _scaled(g, normal(g, shape, result_type(*tensors)), mean, std)


@lowering("aten::normal.float_float")
def normal_float(
    g: Builder, mean: Any, std: Any, size: list[Size], generator: Any, dtype: int | None, *_: Any
) -> Tensor:
    """normal.float_float(float mean, float std, SymInt[] size, *, Generator? generator=None, ...) -> Tensor"""
    return _scaled(g, normal(g, size, dtype_or(dtype)), mean, std)


@lowering("aten::exponential")
def exponential(g: Builder, self: Tensor, lambd: float = 1.0, generator: Any = None) -> Tensor:
    """exponential(Tensor self, float lambd=1., *, Generator? generator=None) -> Tensor"""
    positive = g.sub(1.0, uniform(g, list(self.shape), self.dtype))
    return g.div(g.neg(g.op("Log", positive)), lambd)


@lowering("aten::bernoulli", "aten::bernoulli.Tensor")
def bernoulli(g: Builder, self: Tensor, p: Any = None, generator: Any = None) -> Tensor:
    """bernoulli(Tensor self, *, Generator? generator=None) -> Tensor

    Without p, the tensor itself holds the probabilities.
    """
    chance = p if isinstance(p, Tensor) else self
    kind = torch.float32 if chance.dtype in (torch.float16, torch.bfloat16) else chance.dtype
    return _chosen(g, self, g.cast(chance, kind) if chance.is_float else g.cast(chance, torch.float32))


def _chosen(g: Builder, self: Tensor, chance: Tensor) -> Tensor:
    drawn = uniform(g, list(self.shape), chance.dtype)
    return g.cast(g.less(drawn, chance), self.dtype)


@lowering("aten::bernoulli.p", "aten::bernoulli_.float", "aten::bernoulli.float")
def bernoulli_p(g: Builder, self: Tensor, p: Any = 0.5, generator: Any = None) -> Tensor:
    """bernoulli.p(Tensor self, float p, *, Generator? generator=None) -> Tensor"""
    return _chosen(g, self, g.scalar(p, torch.float32))


@lowering("aten::multinomial")
def multinomial(
    g: Builder, self: Tensor, num_samples: Size, replacement: bool = False, generator: Any = None
) -> Tensor:
    """multinomial(Tensor self, SymInt num_samples, bool replacement=False, *, Generator? generator=None) -> Tensor

    The largest of log(p) + Gumbel noise is a draw; the n largest are n draws without replacement.
    """
    kind = torch.float64 if self.dtype == torch.float64 else torch.float32
    logits = g.op("Log", g.cast(self, kind))
    if not replacement:
        return g.topk(g.add(logits, _gumbel(g, list(self.shape), kind)), num_samples, self.rank - 1)[1]
    shape = [*self.shape[:-1], num_samples, self.shape[-1]]
    noisy = g.add(g.unsqueeze(logits, [self.rank - 1]), _gumbel(g, shape, kind))
    return g.op("ArgMax", noisy, axis=len(shape) - 1, keepdims=0)


def _gumbel(g: Builder, size: list[Size], dtype: torch.dtype) -> Tensor:
    tiny = torch.finfo(dtype).tiny
    inner = g.neg(g.op("Log", g.add(uniform(g, size, dtype), tiny)))
    return g.neg(g.op("Log", g.add(inner, tiny)))


@lowering("aten::geometric")
def geometric(g: Builder, self: Tensor, p: float, generator: Any = None) -> Tensor:
    """geometric(Tensor self, float p, *, Generator? generator=None) -> Tensor"""
    if p == 1:
        return g.full(self.shape, 1, self.dtype)
    drawn = g.log(g.sub(1.0, uniform(g, list(self.shape), torch.float64)))
    return g.cast(g.add(g.floor(g.div(drawn, math.log1p(-p))), 1), self.dtype)


@lowering("aten::cauchy")
def cauchy(g: Builder, self: Tensor, median: float = 0.0, sigma: float = 1.0, generator: Any = None) -> Tensor:
    """cauchy(Tensor self, float median=0., float sigma=1., *, Generator? generator=None) -> Tensor"""
    angle = g.mul(g.sub(uniform(g, list(self.shape), torch.float64), 0.5), math.pi)
    return g.cast(g.add(g.mul(g.tan(angle), sigma), median), self.dtype)


@lowering("aten::log_normal")
def log_normal(g: Builder, self: Tensor, mean: float = 1.0, std: float = 2.0, generator: Any = None) -> Tensor:
    """log_normal(Tensor self, float mean=1., float std=2., *, Generator? generator=None) -> Tensor"""
    return g.exp(_scaled(g, normal(g, list(self.shape), self.dtype), mean, std))


@lowering("aten::random.from")
def random_from(g: Builder, self: Tensor, low: Size, high: Size | None, generator: Any = None) -> Tensor:
    """random.from(Tensor self, int from, int? to, *, Generator? generator=None) -> Tensor"""
    return integers(g, low, _whole_limit(self.dtype) if high is None else high, list(self.shape), self.dtype)


@lowering("aten::random.to")
def random_to(g: Builder, self: Tensor, to: Size, generator: Any = None) -> Tensor:
    """random.to(Tensor self, int to, *, Generator? generator=None) -> Tensor"""
    return integers(g, 0, to, list(self.shape), self.dtype)


@lowering("aten::random")
def random(g: Builder, self: Tensor, generator: Any = None) -> Tensor:
    """random(Tensor self, *, Generator? generator=None) -> Tensor"""
    return integers(g, 0, _whole_limit(self.dtype), list(self.shape), self.dtype)


def _whole_limit(dtype: torch.dtype) -> int:
    """One more than the largest number drawn for this type: of floats, up to where all whole numbers have a form."""
    if dtype.is_floating_point:
        return int(2 / torch.finfo(dtype).eps) + 1
    return 2 if dtype == torch.bool else min(torch.iinfo(dtype).max, (1 << 53) - 1) + 1


def _not_drawn(name: str) -> None:
    def refuse(g: Builder, *_: Any) -> Any:
        raise LoweringError(
            f"{name} draws by rejection, which ONNX has no form of; draw the numbers outside and make them an input"
        )

    lowering(f"aten::{name}")(refuse)


for _name in ("poisson", "binomial", "_standard_gamma", "_sample_dirichlet"):
    _not_drawn(_name)


# -- dropout --------------------------------------------------------------------------------------


def dropped(g: Builder, x: Tensor, p: Any) -> tuple[Tensor, Tensor]:
    """Dropout as in training: the result and the mask of what was kept.

    The result is computed from the mask: onnxruntime (1.32, at each opset) takes a Dropout whose mask isn't used
    out of the graph, even in training mode. Below opset 12 whether a Dropout drops is up to the runtime.
    """
    ratio = g.scalar(p, torch.float32)
    if g.opset < 12:
        mask = g.not_(g.less(uniform(g, list(x.shape), torch.float32), ratio))
    else:
        _, mask = g.op("Dropout", x, ratio, g.const(True, torch.bool), outputs=2)
    mask.dims = x.dims
    scale = g.cast(g.div(1.0, g.sub(1.0, ratio)), x.dtype)
    return g.mul(x, g.mul(g.cast(mask, x.dtype), scale)), mask


@lowering("aten::dropout")
def dropout(g: Builder, input: Tensor, p: Any, train: bool) -> Tensor:
    """dropout(Tensor input, float p, bool train) -> Tensor"""
    if not train or p == 0:
        return input
    if p == 1:
        return g.mul(input, 0)
    return dropped(g, input, p)[0]


@lowering("aten::native_dropout")
def native_dropout(g: Builder, input: Tensor, p: Any, train: bool | None) -> tuple[Tensor, Tensor]:
    """native_dropout(Tensor input, float p, bool? train) -> (Tensor, Tensor)"""
    if train is False or p == 0:
        return input, g.full(input.shape, True, torch.bool)
    return dropped(g, input, p)


@lowering("aten::feature_dropout")
def feature_dropout(g: Builder, input: Tensor, p: Any, train: bool) -> Tensor:
    """feature_dropout(Tensor input, float p, bool train) -> Tensor: whole channels are dropped"""
    if not train or p == 0:
        return input
    channels = [*input.shape[:2], *[1] * (input.rank - 2)]
    return g.mul(input, dropout(g, g.full(channels, 1, input.dtype), p, train))


@lowering("aten::alpha_dropout")
def alpha_dropout(g: Builder, input: Tensor, p: float, train: bool) -> Tensor:
    """alpha_dropout(Tensor input, float p, bool train) -> Tensor"""
    if not train or p == 0:
        return input
    kept = dropout(g, g.full(input.shape, 1 - p, input.dtype), p, train)  # 1 or 0
    return _alpha_dropped(g, input, kept, p)


@lowering("aten::feature_alpha_dropout")
def feature_alpha_dropout(g: Builder, input: Tensor, p: float, train: bool) -> Tensor:
    """feature_alpha_dropout(Tensor input, float p, bool train) -> Tensor: whole channels are dropped"""
    if not train or p == 0:
        return input
    channels = [*input.shape[:2], *[1] * (input.rank - 2)]
    return _alpha_dropped(g, input, dropout(g, g.full(channels, 1 - p, input.dtype), p, train), p)


def _alpha_dropped(g: Builder, x: Tensor, kept: Tensor, p: float) -> Tensor:
    """What is dropped goes to SELU's negative limit; mean and variance are kept (Klambauer et al. 2017)."""
    if p == 1:
        return g.mul(x, 0)
    limit = 1.0507009873554805 * 1.6732632423543772
    scale = 1 / math.sqrt((limit * limit * p + 1) * (1 - p))
    shift = g.add(g.mul(g.sub(kept, 1), limit * scale), limit * scale * p)
    return g.add(g.mul(x, g.mul(kept, scale)), shift)


__all__ = ["normal", "uniform"]
