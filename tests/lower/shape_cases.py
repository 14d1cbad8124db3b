"""The cases of `test_shapes.py`: an op with specifications of its inputs, whose sizes may be expressions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from onnxport import dims as d
from onnxport import dtypes
from onnxport.dims import Dim, Size
from onnxport.lower.values import Tensor

LATEST = 28
f32, f16, i64, i32, i8, u8, bool_ = np.float32, np.float16, np.int64, np.int32, np.int8, np.uint8, np.bool_

# -- what a case is made of -------------------------------------------------------------------------


@dataclass(frozen=True)
class X:
    """A tensor of random content; integers are in [0, high)."""

    dims: tuple[int | str, ...]
    dtype: Any = f32
    high: int = 2

    def sizes(self, sizes: Mapping[str, Size]) -> tuple[Size, ...]:
        return tuple(value_of(size, sizes) for size in self.dims)

    def array(self, sizes: Mapping[str, int]) -> Any:
        shape = self.sizes(sizes)
        if np.issubdtype(self.dtype, np.floating):
            return np.random.default_rng(0).normal(size=shape).astype(self.dtype)
        return np.random.default_rng(0).integers(0, self.high, shape).astype(self.dtype)

    def tensor(self, sizes: Mapping[str, Size]) -> Tensor:
        return Tensor(dtypes.from_numpy(self.dtype), self.sizes(sizes))


@dataclass(frozen=True)
class Known:
    """A tensor whose content is known when the node is made; it may be made of sizes."""

    values: tuple[Any, ...]
    dtype: Any
    scalar: bool

    def content(self, sizes: Mapping[str, Size]) -> Any:
        values = [value_of(value, sizes) for value in self.values]
        symbolic = any(isinstance(value, Dim) for value in values)
        content = np.empty(len(values), object if symbolic else self.dtype)
        content[:] = values
        return content.reshape(()) if self.scalar else content

    array = content

    def tensor(self, sizes: Mapping[str, Size]) -> Tensor:
        content = self.content(sizes)
        return Tensor(dtypes.from_numpy(self.dtype), content.shape, data=content)


def x(*dims: int | str, dtype: Any = f32, high: int = 2) -> X:
    return X(dims, dtype, high)


def known(*values: Any, dtype: Any = i64) -> Known:
    return Known(values, dtype, False)


def scalar(value: Any, dtype: Any = i64) -> Known:
    return Known((value,), dtype, True)


def value_of(size: Any, sizes: Mapping[str, Size]) -> Any:
    return d.parse(size, sizes) if isinstance(size, str) else size


SIZES = ({"n": 6, "m": 4}, {"n": 12, "m": 9}, {"n": 2, "m": 6})


@dataclass(frozen=True)
class Case:
    op: str
    inputs: tuple[X | Known | None, ...]
    attributes: dict[str, Any]
    outputs: int
    opsets: tuple[int, ...]
    sizes: tuple[dict[str, int], ...]
    fresh: int  # sizes that only the run can tell
    reference: bool  # onnxruntime doesn't run this
    domain: str

    def __str__(self) -> str:
        return self.op


def case(
    op: str,
    *inputs: X | Known | None,
    outputs: int = 1,
    opsets: tuple[int, ...] = (LATEST,),
    sizes: tuple[dict[str, int], ...] = SIZES,
    fresh: int = 0,
    reference: bool = False,
    domain: str = "",
    **attributes: Any,
) -> Case:
    return Case(op, inputs, attributes, outputs, opsets, sizes, fresh, reference, domain)


# -- the cases --------------------------------------------------------------------------------------

UNARY = [
    "Abs", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Ceil", "Cos", "Cosh", "Elu", "Erf",
    "Exp", "Floor", "HardSigmoid", "HardSwish", "Hardmax", "Identity", "LeakyRelu", "Log", "LogSoftmax",
    "LpNormalization", "MeanVarianceNormalization", "Mish", "Neg", "Reciprocal", "Relu", "Round",
    "Selu", "Shrink", "Sigmoid", "Sign", "Sin", "Sinh", "Softmax", "Softplus", "Softsign", "Sqrt",
    "Tan", "Tanh", "ThresholdedRelu", "Celu", "Gelu",
]  # fmt: skip
BOTH = [(x("n", 1, 3), x("m", 3)), (x("n", "m"), x("m")), (x("n", 3), x()), (x(2, "n"), x(1, 1))]
REDUCTIONS = [
    "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin",
    "ReduceProd", "ReduceSum", "ReduceSumSquare",
]  # fmt: skip
IMAGES = (
    {"n": 1, "h": 7, "w": 12},
    {"n": 3, "h": 10, "w": 9},
    {"n": 2, "h": 8, "w": 17},
    {"n": 2, "h": 9, "w": 6},
)
image = x("n", 4, "h", "w")
IMAGE3 = ({"n": 1, "h": 7}, {"n": 2, "h": 10})

CASES = [
    # elementwise
    *(case(op, x("n", "m", 3)) for op in UNARY),
    case("Swish", x("n", 3), reference=True),
    case("Relu", x()),
    case("BitwiseNot", x("n", dtype=i32)),
    case("Not", x("n", dtype=bool_)),
    case("Clip", x("n", "m"), scalar(0.0, f32), opsets=(11, LATEST)),
    case("Clip", x("n", "m"), opsets=(7,), min=0.0, max=1.0),
    case("PRelu", x("n", "m"), x("m"), opsets=(7, LATEST)),
    case("SwiGLU", x("n", "m"), x("n", "m"), reference=True),
    case("CumSum", x("n", "m"), scalar(1), opsets=(11, LATEST)),
    case("CumProd", x("n", "m"), scalar(1)),
    case("Trilu", x("n", "m"), scalar(1)),
    case("ReverseSequence", x("n", 3), known(1, 2, 1)),
    *(case(op, *both) for op in ("Add", "Div", "Mul", "Sub", "Max", "Min", "Mean", "Sum",
           "Pow") for both in BOTH),
    case("Add", x("n", 1, 1), x("m", 1), opsets=(7, LATEST)),
    case("Add", x("n"), x(3), sizes=({"n": 3}, {"n": 1})),
    case("Add", x("n"), x("m"), sizes=({"n": 3, "m": 1}, {"n": 1, "m": 5}, {"n": 4, "m": 4})),
    case("Pow", x("n"), scalar(2), opsets=(12, LATEST)),
    case("Max", x("n", 1), x("m"), x(2, 1, 1)),
    case("Sum", x("n"), opsets=(8, LATEST)),
    case("Mod", x("n", 3, dtype=i64), scalar(3), opsets=(10, LATEST)),
    case("BitShift", x("n", dtype=u8), x(1, dtype=u8), direction="LEFT"),
    *(case(op, x("n", 1, dtype=i32), x("m", dtype=i32)) for op in ("BitwiseAnd", "BitwiseOr", "BitwiseXor")),
    *(case(op, x("n", 1, dtype=bool_), x("m", dtype=bool_)) for op in ("And", "Or", "Xor")),
    *(case(op, x("n", 1), x("m")) for op in ("Equal", "Greater", "Less", "GreaterOrEqual", "LessOrEqual")),
    case("IsNaN", x("n", "m")),
    case("IsInf", x("n", "m")),
    case("Where", x("n", 1, dtype=bool_), x("m"), x(2, 1, 1), opsets=(9, LATEST)),
    case("Cast", x("n", 3), to=7),
    case("Cast", x("n", 3), to=16, reference=True),
    case("Cast", x("n", dtype=f16), opsets=(9, 13), to=1),
    case("CastLike", x("n", 3), x(dtype=i32), opsets=(15, LATEST)),
    case("BitCast", x("n", 3), to=6, reference=True),
    case("Dropout", x("n", 3), opsets=(12, LATEST), outputs=2),
    case("Dropout", x("n", 3), opsets=(7, 10), outputs=2),
    # normalizations
    case("BatchNormalization", x("n", 4, "m"), x(4), x(4), x(4), known(1.0, 1.0, 1.0, 1.0, dtype=f32),
         opsets=(9, LATEST)),
    case("BatchNormalization", x("n", 4), x(4), x(4), x(4), x(4), outputs=3, training_mode=1, opsets=(14,
         LATEST)),
    case("LayerNormalization", x("n", "m", 4), x("m", 4), outputs=3, axis=1),
    case("LayerNormalization", x("n", "m", 4, dtype=f16), x(4, dtype=f16), outputs=3),
    case("RMSNormalization", x("n", "m", 4), x(4)),
    case("InstanceNormalization", image, x(4), x(4), sizes=IMAGES, opsets=(7, LATEST)),
    case("GroupNormalization", image, x(4), x(4), sizes=IMAGES, opsets=(21, LATEST), num_groups=2),
    case("LRN", image, sizes=IMAGES, size=3),
    case("NegativeLogLikelihoodLoss", x("n", 5, "m"), x("n", "m", dtype=i64)),
    case("NegativeLogLikelihoodLoss", x("n", 5, "m"), x("n", "m", dtype=i64), reduction="none", opsets=(12,
         LATEST)),
    case("SoftmaxCrossEntropyLoss", x("n", 5), x("n", dtype=i64), reduction="none", outputs=2),
    case("SoftmaxCrossEntropyLoss", x("n", 5), x("n", dtype=i64), reduction="sum", outputs=2),
    # quantization
    case("QuantizeLinear", x("n", 3), scalar(0.5, f32), opsets=(10, 25)),
    case("QuantizeLinear", x("n", 3), scalar(0.5, f32), scalar(0, i8), opsets=(10, 25)),
    case("QuantizeLinear", x("n", 3), scalar(0.5, f32), output_dtype=5, opsets=(21, 25)),
    case("DequantizeLinear", x("n", 3, dtype=u8), scalar(0.5, f32), opsets=(10, 25)),
    case("DequantizeLinear", x("n", 3, dtype=u8), scalar(0.5, f16), opsets=(19, 25)),
    case("DynamicQuantizeLinear", x("n", 3), outputs=3),
    case("QLinearMatMul", x("n", 3, dtype=u8), scalar(0.5, f32), scalar(1, u8), x(3, 5, dtype=i8),
         scalar(0.5, f32),
         scalar(0, i8), scalar(0.5, f32), scalar(1, u8), opsets=(10, LATEST)),
    case("QLinearConv", x("n", 4, "h", "w", dtype=u8), scalar(0.5, f32), scalar(1, u8), x(2, 4, 3, 3,
         dtype=u8),
         scalar(0.5, f32), scalar(0, u8), scalar(0.5, f32), scalar(1, u8), sizes=IMAGES, strides=[2, 1]),
    case("MatMulInteger", x("n", 3, dtype=u8), x(3, 5, dtype=i8)),
    case("ConvInteger", x("n", 4, "h", "w", dtype=u8), x(2, 4, 3, 3, dtype=u8), sizes=IMAGES, pads=[0, 1, 2,
         0]),
    # random and windows
    case("RandomNormal", shape=[2, 3], opsets=(7, 21)),
    case("RandomUniform", shape=[2, 3], dtype=11, opsets=(7, 21)),
    case("RandomNormalLike", x("n", "m"), opsets=(7, 21)),
    case("RandomUniformLike", x("n", "m", dtype=i32), dtype=1, opsets=(7, 21)),
    case("Bernoulli", x("n", "m"), dtype=7, opsets=(15, 21)),
    case("EyeLike", x("n", "m"), dtype=7, opsets=(9, LATEST)),
    case("EyeLike", x("n", "m")),
    case("Multinomial", x("n", 5), sample_size=3, opsets=(7, 21)),
    case("Multinomial", x("n", 5), dtype=7, opsets=(7, 21)),
    *(case(op, scalar("n+1")) for op in ("HannWindow", "HammingWindow", "BlackmanWindow")),
    case("HannWindow", scalar(8), output_datatype=11),
    case("MelWeightMatrix", scalar("m"), scalar("8*n"), scalar(8000), scalar(0.0, f32), scalar(4000.0, f32)),
    # layout
    case("Reshape", x("n", 4, "m"), known(0, -1, 2)),
    case("Reshape", x("n", 4, "m"), known("n", -1, 2), opsets=(7, LATEST)),
    case("Reshape", x("n", 4, "m"), known("m", 2, -1)),
    case("Reshape", x("n", "m"), known("n*m")),
    case("Reshape", x("n", "m"), known(-1)),
    case("Reshape", x("n", "2*m"), known(0, 2, "m")),
    case("Reshape", x("n", "m"), known(-1, 4), sizes=({"n": 6, "m": 4}, {"n": 2, "m": 2})),
    case("Reshape", x("n", 0), known(0, 3), allowzero=1),
    case("Reshape", x(1), known()),
    case("Flatten", x("n", 3, "m"), opsets=(7, 9, LATEST), axis=2),
    case("Flatten", x("n", 3, "m"), axis=0),
    case("Flatten", x("n", 3, "m"), axis=-1),
    case("Transpose", x("n", 3, "m")),
    case("Transpose", x("n", 3, "m"), perm=[1, 2, 0]),
    case("Squeeze", x("n", 1, "m", 1), known(1, -1), opsets=(13, LATEST)),
    case("Squeeze", x("n", 1, "m", 1), axes=[1, 3], opsets=(7, 11)),
    case("Squeeze", x("n+2", 1, 1), opsets=(7, LATEST)),
    case("Unsqueeze", x("n", "m"), known(0, -1), opsets=(13, LATEST)),
    case("Unsqueeze", x("n", "m"), axes=[2, 0], opsets=(7, 11)),
    case("Expand", x("n", 1), known(2, 1, "m"), opsets=(8, LATEST)),
    case("Expand", x(3, 1), known("n")),
    case("Tile", x("n", 3), known(2, "m")),
    case("Pad", x("n", 3), known(1, 0, 2, "m"), opsets=(11, LATEST)),
    case("Pad", x("n", 3), known(1, -1, 2, 0)),
    case("Pad", x("n", 3), pads=[1, 0, 2, 1], opsets=(7,)),
    case("Pad", x("n", 3, "m"), known(1, 2), None, known(-1), opsets=(18, LATEST)),
    case("CenterCropPad", x("n", "m", 3), known(4, "n"), axes=[0, 1]),
    case("Concat", x("n", 3), x("n", "m"), x("n", 1), axis=-1),
    case("Concat", x("n", "m"), x("n", 4), axis=0, sizes=({"n": 2, "m": 4},)),
    case("Split", x("n", 4), outputs=2, axis=1, opsets=(7, 13)),
    case("Split", x("4*n", 3), outputs=4, opsets=(7, 13)),
    case("Split", x("n", 5), outputs=2, axis=-1, split=[2, 3], opsets=(7, 11)),
    case("Split", x("n+3", 5), known(3, "n"), outputs=2, opsets=(13, LATEST)),
    case("Split", x("n", "m"), outputs=3, num_outputs=3, axis=1, opsets=(18, LATEST),
         sizes=({"n": 2, "m": 7}, {"n": 2, "m": 9}, {"n": 1, "m": 5})),
    case("Split", x(10), outputs=3, num_outputs=3),
    case("DepthToSpace", image, sizes=IMAGES, blocksize=2, opsets=(7, 11, LATEST)),
    case("SpaceToDepth", x("n", 3, "2*h", "2*w"), sizes=IMAGES, blocksize=2, opsets=(7, LATEST)),
    # slices
    *(case("Slice", x("n", 3), known(start), known(end), known(0), known(step), opsets=(10, LATEST),
           fresh=int(step < 0 and end == 2**63 - 1), sizes=tuple({"n": n} for n in (1, 2, 3, 5, 8)))
      for start in (0, 1, 3, -1, -3, 2**63 - 1) for end in (0, 2, 5, -1, -2, 2**63 - 1, -(2**63))
      for step in (1, 3, -1, -2)),
    case("Slice", x("n", "m"), known(1), known("n-1")),
    case("Slice", x("n+m", 3), known("n"), known("n+m"), known(0)),
    case("Slice", x("n", "m", 4), known(0, -2), known(1, 2**31 - 1), known(-1, 1)),
    case("Slice", x("n", "m"), known(1, 0), known(5, 2)),
    case("Slice", x("n", "m"), starts=[1, -2], ends=[-1, 9], opsets=(7, 9)),
    case("Slice", x("n", "m"), starts=[1], ends=[5], axes=[1], opsets=(7, 9)),
    case("Slice", x("n", "m"), known(1), x(1, dtype=i64), known(0), fresh=1),
    case("Slice", x("n", "m"), x(1, dtype=i64), known(9), known(0), fresh=1),
    # sizes and constants
    case("Shape", x("n", 3, "m"), opsets=(7, LATEST)),
    case("Shape", x("n", 3, "m"), start=1, opsets=(15, LATEST)),
    case("Shape", x("n", 3, "m"), start=-2, end=-1, opsets=(15, LATEST)),
    case("Size", x("n", 3, "m")),
    case("Constant", value=np.ones((2, 3), f16)),
    case("Constant", value_int=3),
    case("Constant", value_ints=[3, 4]),
    case("Constant", value_float=3.0),
    case("Constant", value_floats=[3.0]),
    case("ConstantOfShape", known("n", 3), opsets=(9, LATEST)),
    case("ConstantOfShape", known("n"), value=np.array([1], i64)),
    case("ConstantOfShape", known()),
    case("Range", scalar(0), scalar("n"), scalar(1), opsets=(11, LATEST)),
    case("Range", scalar(1), scalar("n"), scalar(3)),
    case("Range", scalar("n"), scalar(3), scalar(-2)),
    case("Range", scalar(0), scalar("n"), scalar("m")),
    case("Range", scalar(0.0, f32), scalar(1.0, f32), scalar(0.1, f32)),
    case("Range", scalar(0.0, f32), scalar(0.9, f32), scalar(0.3, f32)),
    case("Range", scalar(0.3, np.float64), scalar(0.0, np.float64), scalar(-0.1, np.float64)),
    case("Range", scalar(0), x(dtype=i64), scalar(1), fresh=1),
    # gather, scatter, search
    case("Gather", x("n", 3, 4), x("m", 2, dtype=i64), axis=1),
    case("Gather", x("n", 3), scalar(1)),
    case("GatherElements", x(3, 4), x("n", "m", dtype=i64), sizes=({"n": 2, "m": 4}, {"n": 3, "m": 1})),
    case("GatherND", x("n", 3, 4), x("m", 2, dtype=i64)),
    case("GatherND", x("n", 3, 4), x("n", "m", 1, dtype=i64), batch_dims=1),
    case("Scatter", x("n", 3), x(1, 3, dtype=i64), x(1, 3), opsets=(9,)),
    case("ScatterElements", x("n", 3), x(1, 3, dtype=i64), x(1, 3), opsets=(11, LATEST)),
    case("ScatterND", x("n", 3), x(2, 1, dtype=i64), x(2, 3), opsets=(11, LATEST)),
    case("TensorScatter", x("n", 2, 5, 3), x("n", 2, 2, 3), x("n", dtype=i64), opsets=(24, LATEST)),
    case("OneHot", x("n", 2, dtype=i64), scalar("m"), x(2)),
    case("OneHot", x("n", 2, dtype=i64), known(4), x(2, dtype=i64), axis=0, opsets=(9, LATEST)),
    case("Compress", x("n", 3), known(True, False, True, dtype=bool_), axis=1, fresh=1),
    case("Compress", x("n", 3), known(True, False, True, dtype=bool_), fresh=1),
    case("TopK", x("n", 5), known(3), outputs=2),
    case("TopK", x("n", "m"), known("n//2"), outputs=2, axis=0, opsets=(10, LATEST)),
    case("TopK", x("n", 5), k=2, outputs=2, axis=1, opsets=(7,)),
    case("NonZero", x("n", 3), fresh=1),
    case("NonZero", x(), fresh=2),
    case("Unique", x("n", "m", dtype=i64, high=5), outputs=4, fresh=1),
    case("Unique", x("n", 3, dtype=i64, high=2), outputs=4, axis=0, fresh=1),
    case("NonMaxSuppression", x(1, "n", 4), x(1, 2, "n"), scalar(3), fresh=1),
    # reductions
    *(case(op, x("n", 3, "m"), axes=[0, -1], opsets=(7, 11)) for op in REDUCTIONS),
    *(case(op, x("n", 3, "m"), known(0, -1), keepdims=0, opsets=(18, LATEST)) for op in REDUCTIONS),
    *(case(op, x("n", 3, "m"), opsets=(7, 13, 18, LATEST)) for op in ("ReduceSum", "ReduceMax")),
    case("ReduceSum", x("n", 3, "m"), known(1), opsets=(13, LATEST)),
    case("ReduceSum", x("n", 3, "m"), known(1), noop_with_empty_axes=1),
    case("ReduceSum", x("n", 3, "m"), noop_with_empty_axes=1),
    case("ReduceSum", x("n", 3, "m"), known(), noop_with_empty_axes=1),
    case("ReduceSum", x("n", 3, "m"), known(), keepdims=0),
    case("ReduceMean", x("n", 3, "m"), keepdims=0, opsets=(7, LATEST)),
    case("ArgMax", x("n", 3, "m"), opsets=(7, LATEST)),
    case("ArgMin", x("n", 3, "m"), axis=-1, keepdims=0),
    # products
    *(case("MatMul", x(*a), x(*b), opsets=(7, LATEST)) for a, b in [
        (("n", 3), (3, "m")), ((3,), (3,)), ((3,), (3, "m")), (("n", 3), (3,)), (("n", "m", 3), (3, 2)),
        ((3,), ("n", 3, "m")), (("n", 5, 3), (3,)), (("n", 1, 2, 3), ("m", 3, 4)), ((2, 3), ("n", 3, "m")),
        (("n", 4, "m"), ("n", "m", 4))]),
    case("Gemm", x("n", 3), x(3, "m"), x("m"), opsets=(7, LATEST)),
    case("Gemm", x(3, "n"), x("m", 3), transA=1, transB=1, opsets=(11, LATEST)),
    case("Det", x("n", "m", 3, 3)),
    case("Det", x(3, 3)),
    case("Einsum", x("n", 3), x(3, "m"), equation="ij,jk->ik", opsets=(12, LATEST)),
    case("Einsum", x("n", 3), x(3, "m"), equation="ij, jk"),
    case("Einsum", x("n", 2, "m", 3), x(1, 2, 3, 5), equation="...ij,...jk->...ki"),
    case("Einsum", x("n", "m", 3), equation="...i"),
    case("Einsum", x("n", "m", 3), equation="b...i->i..."),
    case("Einsum", x("n", "m", 3), x("n", 3), equation="bti,bi->bt"),
    case("Einsum", x(3, 3), equation="ii"),
    # attention, recurrent
    case("Attention", x("n", 2, "m", 4), x("n", 2, 7, 4), x("n", 2, 7, 5), opsets=(23, LATEST)),
    case("Attention", x("n", "m", 8), x("n", 7, 4), x("n", 7, 6), q_num_heads=4, kv_num_heads=2),
    case("Attention", x("n", 4, 3, 4), x("n", 2, 3, 4), x("n", 2, 3, 4), None, x("n", 2, "m", 4), x("n", 2,
         "m", 4),
         outputs=4),
    case("LinearAttention", x("n", "m", 8), x("n", "m", 4), x("n", "m", 6), outputs=2, q_num_heads=4,
         kv_num_heads=2, update_rule="linear", reference=True),
    case("CausalConvWithState", x("n", 4, "m"), x(4, 1, 3), outputs=2, reference=True),
    case("RotaryEmbedding", x("n", 2, "m", 4), x(20, 2), x(20, 2), x("n", "m", dtype=i64)),
    case("RNN", x("n", "m", 3), x(1, 4, 3), x(1, 4, 4), outputs=2, hidden_size=4, opsets=(7, LATEST)),
    case("GRU", x("n", "m", 3), x(2, 12, 3), x(2, 12, 4), outputs=2, hidden_size=4,
         direction="bidirectional"),
    case("LSTM", x("n", "m", 3), x(2, 16, 3), x(2, 16, 4), outputs=3, hidden_size=4,
         direction="bidirectional",
         opsets=(7, LATEST)),
    case("LSTM", x("n", "m", 3), x(1, 16, 3), x(1, 16, 4), outputs=3, hidden_size=4),
    case("RNN", x("n", "m", 3), x(1, 4, 3), x(1, 4, 4), outputs=2, hidden_size=4, layout=1, reference=True),
    # transforms
    case("DFT", x("m", "n", 1), opsets=(17, LATEST), onesided=1),
    case("DFT", x("m", "n", 1), opsets=(17, LATEST)),
    case("DFT", x("m", "n", 2), scalar(8), opsets=(17, LATEST)),
    case("DFT", x("m", "n", 3, 1), None, scalar(2), opsets=(20, LATEST), onesided=1),
    case("DFT", x("m", "n", 2), None, scalar(1), inverse=1),
    case("DFT", x("m", 5, "n", 1), axis=2, opsets=(17,), onesided=1),
    case("DFT", x("m", "n+1", 2), inverse=1, onesided=1, reference=True),
    case("STFT", x("m", "4*n+16", 1), scalar(3), x(8)),
    case("STFT", x("m", "4*n+16", 1), scalar(3), None, scalar("n+2"), onesided=0),
    # convolutions
    *(case("Conv", image, x(6, 4, 3, 2), sizes=IMAGES, opsets=(7, 11, LATEST),
           **attributes) for attributes in [
        {}, {"strides": [2, 3], "pads": [0, 1, 2, 1]}, {"dilations": [2, 1]}, {"auto_pad": "SAME_UPPER"},
        {"auto_pad": "SAME_LOWER", "strides": [2, 3]}, {"auto_pad": "VALID", "kernel_shape": [3, 2]}]),
    case("Conv", x("n", 4, "m"), x(6, 2, 3), group=2, strides=[2], pads=[1, 1]),
    case("Conv", x("n", 4, "h", 5, 6), x(6, 4, 3, 2, 1), pads=[1, 0, 0, 1, 0, 0], sizes=IMAGE3),
    case("DeformConv", image, x(6, 4, 3, 3), x("n", 18, "h-2", "w-2"), sizes=IMAGES, opsets=(19, LATEST)),
    *(case("ConvTranspose", image, x(4, 3, 3, 2), sizes=IMAGES, opsets=(7, 11, LATEST),
           **attributes) for attributes in [
        {}, {"strides": [2, 3], "pads": [0, 1, 2, 0], "output_padding": [1, 0]}, {"dilations": [2, 1]},
        {"auto_pad": "SAME_UPPER", "strides": [2, 2]}, {"group": 2}]),
    case("ConvTranspose", image, x(4, 3, 3, 2), sizes=IMAGES, auto_pad="SAME_LOWER", strides=[2, 3], fresh=1),
    case("ConvTranspose", x(1, 4, 5, 5), x(4, 3, 3, 3), strides=[2, 2], output_shape=[10, 11]),
    case("Col2Im", x("n", 12, 6), known(4, 3), known(2, 2)),
    # pools
    *(case(op, image, sizes=IMAGES, opsets=opsets, kernel_shape=[3, 2], **attributes)
      for op in ("MaxPool", "AveragePool", "LpPool")
      for opsets, attributes in [
        ((7, 11, 22, LATEST), {}), ((7, 11, LATEST), {"strides": [2, 3], "pads": [1, 0, 1, 1]}),
        ((7, LATEST), {"auto_pad": "SAME_UPPER", "strides": [2, 1]}), ((11, LATEST), {"auto_pad": "VALID"}),
        ((18, 22, LATEST), {"strides": [2, 3], "ceil_mode": 1}),
        ((18, 22, LATEST), {"strides": [2, 3], "pads": [1, 1, 1, 1], "ceil_mode": 1}),
        ((18, 22, LATEST), {"strides": [3, 3], "pads": [0, 1, 2, 1], "ceil_mode": 1})]),
    *(case(op, x("n", 2, "m"), sizes=tuple({"n": 1, "m": m} for m in range(4, 13)), opsets=(10, 22, LATEST),
           kernel_shape=[2], strides=[stride], pads=[1, 1], ceil_mode=1)
      for op in ("MaxPool", "AveragePool") for stride in (1, 2, 3, 4)),
    case("MaxPool", image, sizes=IMAGES, outputs=2, kernel_shape=[2, 2], dilations=[2, 1], opsets=(12,
         LATEST)),
    case("MaxPool", x("n", 3, "h", 6, 5), sizes=IMAGE3, kernel_shape=[2, 2, 3], outputs=2),
    *(case(op, image, sizes=IMAGES, opsets=(7, LATEST)) for op in ("GlobalAveragePool", "GlobalMaxPool")),
    case("GlobalLpPool", image, sizes=IMAGES, opsets=(7, 21)),
    case("MaxUnpool", x("n", 4, "h", "w"), x("n", 4, "h", "w", dtype=i64), sizes=IMAGES, kernel_shape=[2, 2],
         strides=[2, 2], opsets=(9, 11)),
    case("MaxUnpool", x(1, 1, 2, 2), x(1, 1, 2, 2, dtype=i64), known(1, 1, 5, 5), kernel_shape=[2, 2],
         strides=[2, 2], opsets=(9, 11)),
    case("RoiAlign", image, x("h", 4), x("h", dtype=i64, high=1), sizes=IMAGES, output_height=3, opsets=(10,
         16)),
    case("MaxRoiPool", x(1, 4, "h", "w"), x("n", 5, dtype=f32), sizes=({"n": 2, "h": 6, "w": 7},),
         pooled_shape=[2, 3], opsets=(7, 11)),
    # resampling
    case("GridSample", image, x("n", 5, "h", 2), sizes=IMAGES, opsets=(16, LATEST)),
    case("GridSample", x("n", 2, 3, 4, 5), x("n", "m", 6, 2, 3), opsets=(20, LATEST)),
    case("AffineGrid", x("n", 2, 3), known("n", 3, "m", 5)),
    case("AffineGrid", x("n", 3, 4), known("n", 3, "m", 5, 2)),
    case("Resize", image, known(1.0, 1.0, 2.0, 0.5, dtype=f32), sizes=IMAGES, opsets=(10,)),
    case("Resize", image, None, known(1.0, 1.0, 2.0, 1.5, dtype=f32), sizes=IMAGES, opsets=(13, LATEST)),
    case("Resize", image, None, known(1.0, 1.0, 0.3, 2.7, dtype=f32), sizes=IMAGES, fresh=2),
    case("Resize", image, x(0), x(0), known("n", 4, "2*h", 5), sizes=IMAGES, opsets=(11,)),
    case("Resize", image, None, None, known("n", 4, "2*h", 5), sizes=IMAGES, opsets=(13, LATEST)),
    case("Resize", image, None, None, known("2*h", 5), sizes=IMAGES, axes=[2, 3], opsets=(18, LATEST)),
    *(case("Resize", x("n", 4, 7, 10), None, None, known(5, 5), axes=[2, 3], keep_aspect_ratio_policy=policy)
      for policy in ("not_larger", "not_smaller")),
    case("Upsample", image, known(1.0, 1.0, 2.0, 3.0, dtype=f32), sizes=IMAGES, opsets=(9,)),
    case("Upsample", image, scales=[1.0, 1.0, 2.0, 3.0], sizes=IMAGES, opsets=(7,)),
    # without a rule
    case("TfIdfVectorizer", x("n", 5, dtype=i64), max_gram_length=1, min_gram_length=1, max_skip_count=0,
         mode="TF",
         ngram_counts=[0], ngram_indexes=[0, 1, 2], pool_int64s=[2, 3, 5]),
    case("Binarizer", x("n", 3), domain="ai.onnx.ml", opsets=(1, 5), threshold=0.5),
    case("ArrayFeatureExtractor", x("n", 3), x(1, 2, dtype=i64), domain="ai.onnx.ml", opsets=(1, 5)),
]  # fmt: skip
