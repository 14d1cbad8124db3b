"""Normalization over batches, channels, groups and trailing axes, and of weights."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import torch

from ..dims import Size, product
from ..lower.builder import Builder
from ..lower.registry import lowering
from ..lower.values import Tensor
from .conv import has_kernels
from .reduction import vector_norm


def _affine(g: Builder, x: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    """x times a weight and plus a bias for each channel (axis 1)."""
    column = [-1 if i == 1 else 1 for i in range(1, x.rank)]

    def along_channels(v: Tensor) -> Tensor:
        return g.reshape(g.cast(v, x.dtype), [v.numel if d == -1 else d for d in column])

    x = x if weight is None else g.mul(x, along_channels(weight))
    return x if bias is None else g.add(x, along_channels(bias))


def _with_statistics(g: Builder, x: Tensor, axes: Sequence[int], epsilon: float) -> tuple[Tensor, Tensor, Tensor]:
    """x standardized over these axes, its mean and the inverse of its deviation."""
    if x.dtype == torch.bfloat16:  # PyTorch rounds once, at the end
        results = [g.cast(r, x.dtype) for r in _with_statistics(g, g.cast(x, torch.float32), axes, epsilon)]
        return results[0], results[1], results[2]
    centred, root = g.standardized(x, axes, epsilon)
    return g.div(centred, root), g.reduce("ReduceMean", x, axes), g.op("Reciprocal", g.squeeze(root, axes))


# -- over the batch ---------------------------------------------------------------------------------


@lowering("aten::batch_norm")
def batch_norm(
    g: Builder,
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool = True,
) -> Tensor:
    """batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training,
    float momentum, float eps, bool cudnn_enabled) -> Tensor"""
    if input.rank < 2:  # PyTorch takes it if it is empty
        return input
    if training or running_mean is None or running_var is None:
        others = [i for i in range(input.rank) if i != 1]
        return _affine(g, _with_statistics(g, input, others, eps)[0], weight, bias)
    dtype = running_mean.dtype  # of mixed precision, the higher
    channels = [running_mean.shape[0]]
    scale = g.full(channels, 1, dtype) if weight is None else g.cast(weight, dtype)
    shift = g.full(channels, 0, dtype) if bias is None else g.cast(bias, dtype)
    result = g.op("BatchNormalization", g.cast(input, dtype), scale, shift, running_mean, running_var, epsilon=eps)
    return g.cast(result, input.dtype)


@lowering("aten::native_batch_norm")
def native_batch_norm(
    g: Builder,
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """native_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var,
    bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)"""
    result = batch_norm(g, input, weight, bias, running_mean, running_var, training, momentum, eps)
    if not training:  # PyTorch gives back nothing then
        return result, g.full([0], 0, input.dtype), g.full([0], 0, input.dtype)
    wide = _wide(g, input, weight, bias, running_mean)
    _, mean, inverse = _with_statistics(g, wide, [i for i in range(input.rank) if i != 1], eps)
    return result, mean, inverse


def _wide(g: Builder, x: Tensor, *weights: Tensor | None) -> Tensor:
    """x in the type in which its statistics are given: that of weights with more digits."""
    return g.cast(x, functools.reduce(torch.promote_types, [w.dtype for w in weights if w is not None], x.dtype))


@lowering("aten::_native_batch_norm_legit_no_training")
def native_batch_norm_no_training(
    g: Builder,
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor,
    running_var: Tensor,
    momentum: float,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """_native_batch_norm_legit_no_training(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean,
    Tensor running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor)"""
    return native_batch_norm(g, input, weight, bias, running_mean, running_var, False, momentum, eps)


@lowering("aten::_native_batch_norm_legit.no_stats")
def native_batch_norm_no_stats(
    g: Builder, input: Tensor, weight: Tensor | None, bias: Tensor | None, training: bool, momentum: float, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """_native_batch_norm_legit.no_stats(Tensor input, Tensor? weight, Tensor? bias, bool training, float momentum,
    float eps) -> (Tensor, Tensor, Tensor)"""
    return native_batch_norm(g, input, weight, bias, None, None, True, momentum, eps)


def _updated(g: Builder, x: Tensor, mean: Tensor, var: Tensor, momentum: float) -> tuple[Tensor, Tensor]:
    """Running statistics moved towards those of x."""
    others = [i for i in range(x.rank) if i != 1]
    count = product([x.shape[i] for i in others])
    centre = g.reduce("ReduceMean", x, others, keepdims=True)
    squares = g.pow(g.sub(x, centre), 2)
    spread = g.div(g.reduce("ReduceSum", squares, others), g.scalar(count - 1, x.dtype))
    news = (g.squeeze(centre, others), spread)
    moved = [
        g.add(g.mul(old, 1 - momentum), g.mul(g.cast(new, old.dtype), momentum)) for old, new in zip((mean, var), news)
    ]
    return moved[0], moved[1]


@lowering("aten::_native_batch_norm_legit")
def native_batch_norm_legit(
    g: Builder,
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor,
    running_var: Tensor,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[Tensor, ...]:
    """_native_batch_norm_legit(Tensor input, Tensor? weight, Tensor? bias, Tensor(a!) running_mean,
    Tensor(b!) running_var, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)"""
    results = native_batch_norm(g, input, weight, bias, running_mean, running_var, training, momentum, eps)
    statistics = (running_mean, running_var)
    if training:
        statistics = _updated(g, input, running_mean, running_var, momentum)
    return *statistics, *results


@lowering("aten::_batch_norm_with_update")
def batch_norm_with_update(g: Builder, *arguments: Any) -> tuple[Tensor, ...]:
    """_batch_norm_with_update(Tensor input, Tensor? weight, Tensor? bias, Tensor(a!) running_mean,
    Tensor(b!) running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor, Tensor)"""
    given: list[Any] = [*arguments[:5], True, *arguments[5:]]
    return *native_batch_norm_legit(g, *given), g.full([0], 0, torch.uint8)


@lowering("aten::_batch_norm_no_update")
def batch_norm_no_update(g: Builder, *arguments: Any) -> tuple[Tensor, ...]:
    """_batch_norm_no_update(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var,
    float momentum, float eps) -> (Tensor, Tensor, Tensor, Tensor)"""
    given: list[Any] = [*arguments[:5], False, *arguments[5:]]
    return *native_batch_norm(g, *given), g.full([0], 0, torch.uint8)


@lowering("aten::_native_batch_norm_legit_functional")
def native_batch_norm_functional(g: Builder, *arguments: Any) -> tuple[Tensor, ...]:
    """_native_batch_norm_legit_functional(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean,
    Tensor running_var, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor, Tensor, Tensor)"""
    mean, var, *results = native_batch_norm_legit(g, *arguments)
    return *results, mean, var


@lowering("aten::_batch_norm_with_update_functional")
def batch_norm_with_update_functional(g: Builder, *arguments: Any) -> tuple[Tensor, ...]:
    """_batch_norm_with_update_functional(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean,
    Tensor running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor, Tensor, Tensor, Tensor)"""
    mean, var, *results = batch_norm_with_update(g, *arguments)
    return *results, mean, var


# -- over channels and groups -----------------------------------------------------------------------


@lowering("aten::instance_norm")
def instance_norm(
    g: Builder,
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool = True,
) -> Tensor:
    """instance_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var,
    bool use_input_stats, float momentum, float eps, bool cudnn_enabled) -> Tensor"""
    if not use_input_stats:
        return batch_norm(g, input, weight, bias, running_mean, running_var, False, momentum, eps)
    channels = input.shape[1]
    if not has_kernels(input) or not isinstance(channels, int):
        return _affine(g, _with_statistics(g, input, range(2, input.rank), eps)[0], weight, bias)
    scale = g.full([channels], 1, input.dtype) if weight is None else g.cast(weight, input.dtype)
    shift = g.full([channels], 0, input.dtype) if bias is None else g.cast(bias, input.dtype)
    return g.op("InstanceNormalization", input, scale, shift, epsilon=eps)


@lowering("aten::group_norm")
def group_norm(
    g: Builder,
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    cudnn_enabled: bool = True,
) -> Tensor:
    """group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float eps=1e-05,
    bool cudnn_enabled=True) -> Tensor"""
    grouped = _grouped(g, input, num_groups)
    standard = instance_norm(g, grouped, None, None, None, None, True, 0.0, eps)
    return _affine(g, g.reshape_as(standard, input), weight, bias)


def _grouped(g: Builder, x: Tensor, groups: int) -> Tensor:
    """The channels of each group and all their places in one axis: `[batch, groups, ...]`."""
    batch, *others = x.shape
    return g.reshape(x, [batch, groups, product(others) // groups])


@lowering("aten::native_group_norm")
def native_group_norm(
    g: Builder,
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    N: Size,
    C: Size,
    HxW: Size,
    group: int,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """native_group_norm(Tensor input, Tensor? weight, Tensor? bias, SymInt N, SymInt C, SymInt HxW, int group,
    float eps) -> (Tensor, Tensor, Tensor)"""
    _, mean, inverse = _with_statistics(g, _grouped(g, _wide(g, input, weight, bias), group), [2], eps)
    return group_norm(g, input, group, weight, bias, eps), mean, inverse


# -- over trailing axes -----------------------------------------------------------------------------


@lowering("aten::layer_norm")
def layer_norm(
    g: Builder,
    input: Tensor,
    normalized_shape: list[Size],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    cudnn_enable: bool = True,
) -> Tensor:
    """layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float eps=1e-05,
    bool cudnn_enable=True) -> Tensor"""
    dtype = input.dtype if weight is None else torch.promote_types(input.dtype, weight.dtype)
    scale, shift = (None if v is None else g.cast(v, dtype) for v in (weight, bias))
    x = g.cast(input, dtype)
    result = g.layer_norm(x, -len(normalized_shape), scale, shift, eps, fused=not _was_bfloat16(g, x))
    return g.cast(result, input.dtype)


def _was_bfloat16(g: Builder, x: Tensor) -> bool:
    """Whether a tensor was cast from bfloat16: onnxruntime draws the cast into a fused LayerNormalization, for which it has
    no kernel."""
    producer = None if x.value is None else x.value.producer()
    if producer is None or producer.op_type != "Cast" or producer.inputs[0] is None:
        return False
    return g.tensor_of(producer.inputs[0]).dtype is torch.bfloat16


@lowering("aten::native_layer_norm")
def native_layer_norm(
    g: Builder,
    input: Tensor,
    normalized_shape: list[Size],
    weight: Tensor | None,
    bias: Tensor | None,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """native_layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight, Tensor? bias, float eps)
    -> (Tensor, Tensor, Tensor)"""
    axes = list(range(-len(normalized_shape), 0))
    wide = _wide(g, input, weight, bias)
    _, root = g.standardized(wide, axes, eps)
    mean = g.reduce("ReduceMean", wide, axes, keepdims=True)
    return layer_norm(g, input, normalized_shape, weight, bias, eps), mean, g.op("Reciprocal", root)


@lowering("aten::rms_norm")
def rms_norm(
    g: Builder, input: Tensor, normalized_shape: list[Size], weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    """rms_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, float? eps=None) -> Tensor"""
    return fused_rms_norm(g, input, normalized_shape, weight, eps)[0]


@lowering("aten::_fused_rms_norm")
def fused_rms_norm(
    g: Builder, input: Tensor, normalized_shape: list[Size], weight: Tensor | None, eps: float | None
) -> tuple[Tensor, Tensor]:
    """_fused_rms_norm(Tensor input, int[] normalized_shape, Tensor? weight, float? eps) -> (Tensor, Tensor)"""
    wide = torch.float32 if input.dtype in (torch.float16, torch.bfloat16) else input.dtype
    epsilon = torch.finfo(wide).eps if eps is None else eps
    x = g.cast(input, wide)
    count = len(normalized_shape)
    result = g.rms_norm(x, -count, None if weight is None else g.cast(weight, wide), epsilon)
    inverse = g.op("Reciprocal", g.root_mean_square(x, list(range(-count, 0)), epsilon))
    return g.cast(result, input.dtype), inverse


# -- of weights -------------------------------------------------------------------------------------


@lowering("aten::_weight_norm_interface")
def weight_norm_interface(g: Builder, v: Tensor, scale: Tensor, dim: int = 0) -> tuple[Tensor, Tensor]:
    """_weight_norm_interface(Tensor v, Tensor g, int dim=0) -> (Tensor, Tensor)"""
    axes = [i for i in range(v.rank) if dim == -1 or i != dim % v.rank]
    norm = g.reduce("ReduceL2", v, axes, keepdims=True)
    return g.mul(v, g.div(scale, norm)), norm


@lowering("aten::_weight_norm")
def weight_norm(g: Builder, v: Tensor, scale: Tensor, dim: int = 0) -> Tensor:
    """_weight_norm(Tensor v, Tensor g, int dim=0) -> Tensor"""
    return weight_norm_interface(g, v, scale, dim)[0]


@lowering("aten::norm_except_dim")
def norm_except_dim(g: Builder, v: Tensor, pow: int = 2, dim: int = 0) -> Tensor:
    """norm_except_dim(Tensor v, int pow=2, int dim=0) -> Tensor"""
    if dim == -1:
        return vector_norm(g, v, pow)
    axes = [i for i in range(v.rank) if i != dim % v.rank]
    return vector_norm(g, v, pow, axes, True) if axes else g.abs(v)
