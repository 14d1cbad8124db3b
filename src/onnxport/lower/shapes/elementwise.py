"""Types of elementwise ops, casts, normalizations, quantization and random numbers."""

from __future__ import annotations

import torch

from ...dims import Size
from ...dtypes import from_onnx
from .call import Call, Type, rule


@rule(
    "Abs", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "BitwiseNot", "Ceil", "Celu", "Clip",
    "Cos", "Cosh", "CumProd", "CumSum", "Elu", "Erf", "Exp", "Floor", "Gelu", "GroupNormalization",
    "HardSigmoid", "HardSwish", "Hardmax", "Identity", "InstanceNormalization", "LRN", "LeakyRelu",
    "Log", "LogSoftmax", "LpNormalization", "MeanVarianceNormalization", "Mish", "Neg", "Not", "PRelu",
    "Reciprocal", "Relu", "ReverseSequence", "RotaryEmbedding", "Round", "Selu", "Shrink", "Sigmoid",
    "Sign", "Sin", "Sinh", "Softmax", "Softplus", "Softsign", "Sqrt", "SwiGLU", "Swish", "Tan", "Tanh",
    "TensorScatter", "ThresholdedRelu", "Trilu",
)  # fmt: skip
def same_as_input(call: Call) -> list[Type]:
    x = call[0]
    return [(x.dtype, x.dims)]


@rule("Scatter", "ScatterElements", "ScatterND")
def scatter(call: Call) -> list[Type]:
    return same_as_input(call)


@rule(
    "Add", "And", "BitShift", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Div", "Max", "Mean", "Min",
    "Mod", "Mul", "Or", "Pow", "Sub", "Sum", "Xor",
)  # fmt: skip
def broadcasting(call: Call) -> list[Type]:
    return [(call[0].dtype, call.broadcast(*[call[i].dims for i in range(len(call.inputs))]))]


@rule("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual")
def comparison(call: Call) -> list[Type]:
    return [(torch.bool, call.broadcast(call[0].dims, call[1].dims))]


@rule("IsInf", "IsNaN")
def predicate(call: Call) -> list[Type]:
    return [(torch.bool, call[0].dims)]


@rule("Where")
def where(call: Call) -> list[Type]:
    return [(call[1].dtype, call.broadcast(call[0].dims, call[1].dims, call[2].dims))]


@rule("Cast", "BitCast")
def cast(call: Call) -> list[Type]:
    if not call.attr("to"):
        raise call.error("the attribute 'to' is missing")
    return [(call.dtype("to", torch.float32), call[0].dims)]


@rule("CastLike")
def cast_like(call: Call) -> list[Type]:
    return [(call[1].dtype, call[0].dims)]


@rule("Dropout")
def dropout(call: Call) -> list[Type]:
    x = call[0]
    return [(x.dtype, x.dims), (x.dtype if call.opset < 10 else torch.bool, x.dims)]


# -- normalizations ---------------------------------------------------------------------------------


@rule("BatchNormalization")
def batch_normalization(call: Call) -> list[Type]:
    # Four statistics before opset 14, then two, whose type is that of the given ones.
    x, mean, var = call[0], call[3], call[4]
    statistics: list[Type] = [(mean.dtype, mean.dims), (var.dtype, var.dims)]
    return [(x.dtype, x.dims), *statistics * (2 if call.opset < 14 else 1)]


@rule("LayerNormalization")
def layer_normalization(call: Call) -> list[Type]:
    x = call[0]
    dims = x.dims
    if dims is not None:
        axis = call.axis(call.attr("axis", -1), len(dims))
        dims = dims[:axis] + (1,) * (len(dims) - axis)
    statistic: Type = (call.dtype("stash_type", torch.float32), dims)
    return [(x.dtype, x.dims), statistic, statistic]


@rule("RMSNormalization")
def rms_normalization(call: Call) -> list[Type]:
    return [(call[1].dtype, call[0].dims)]


# -- losses -----------------------------------------------------------------------------------------


@rule("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")
def loss(call: Call) -> list[Type]:
    scores, target = call[0], call[1]
    dims = target.dims if call.attr("reduction", "mean") == "none" else ()
    return [(scores.dtype, dims), (scores.dtype, scores.dims)]


# -- quantization -----------------------------------------------------------------------------------


@rule("QuantizeLinear")
def quantize_linear(call: Call) -> list[Type]:
    zero_point = call.optional(2)
    default = torch.uint8 if zero_point is None else zero_point.dtype
    return [(call.dtype("output_dtype", default), call[0].dims)]


@rule("DequantizeLinear")
def dequantize_linear(call: Call) -> list[Type]:
    return [(call.dtype("output_dtype", call[1].dtype), call[0].dims)]


@rule("DynamicQuantizeLinear")
def dynamic_quantize_linear(call: Call) -> list[Type]:
    return [(torch.uint8, call[0].dims), (torch.float32, ()), (torch.uint8, ())]


# -- made from nothing, or at random ----------------------------------------------------------------


@rule("RandomNormal", "RandomUniform")
def random(call: Call) -> list[Type]:
    return [(call.dtype("dtype", torch.float32), tuple(call.attributes["shape"]))]


@rule("RandomNormalLike", "RandomUniformLike", "Bernoulli", "EyeLike")
def like(call: Call) -> list[Type]:
    x = call[0]
    return [(call.dtype("dtype", x.dtype), x.dims)]


@rule("Multinomial")
def multinomial(call: Call) -> list[Type]:
    dims = call[0].dims
    batch: Size = call.unknown() if dims is None else dims[0]
    return [(call.dtype("dtype", torch.int32), (batch, call.attr("sample_size", 1)))]


@rule("BlackmanWindow", "HammingWindow", "HannWindow")
def window(call: Call) -> list[Type]:
    size = call.sizes(0)
    return [(call.dtype("output_datatype", torch.float32), (call.unknown() if size is None else size[0],))]


@rule("MelWeightMatrix")
def mel_weight_matrix(call: Call) -> list[Type]:
    bins, length = call.sizes(0), call.sizes(1)
    rows: Size = call.unknown() if length is None else length[0] // 2 + 1
    columns: Size = call.unknown() if bins is None else bins[0]
    return [(call.dtype("output_datatype", from_onnx(1)), (rows, columns))]
