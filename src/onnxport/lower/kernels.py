"""Which element types each ONNX operator runs with: by its schema and as measured in onnxruntime 1.32 (CPU).

Data and small functions only; the builder asks here before each node and wraps casts around what can't run.
Don't edit the table by hand: `python benchmarks/probe_kernels.py --write` measures it again.
Casts between all types below run wherever the schema of Cast allows both (bfloat16: from opset 13).

That a kernel runs doesn't make it exact. Integers in ReduceSum, ReduceMean, ReduceProd, ReduceSumSquare,
ReduceL1, ReduceL2 (and in Einsum, which sums with them) and in Pow go through float64 there: they round above
2**53 and saturate where torch wraps around; in Shrink they round to float32. MatMul, CumSum, ReduceMax,
ReduceMin and the elementwise arithmetic are exact.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Mapping
from typing import NamedTuple, TypeAlias

import torch

# Letters: lower case is signed, upper case unsigned, as in NumPy; E is bfloat16.
_LETTERS = {
    "?": torch.bool, "B": torch.uint8, "H": torch.uint16, "I": torch.uint32, "L": torch.uint64,
    "b": torch.int8, "h": torch.int16, "i": torch.int32, "l": torch.int64,
    "e": torch.float16, "E": torch.bfloat16, "f": torch.float32, "d": torch.float64,
}  # fmt: skip
_LETTER_OF = {dtype: letter for letter, dtype in _LETTERS.items()}

# Source -> the types that hold it without loss, best first. Integers prefer float64: their sums stay exact.
_HOLDS = {
    "?": "?BbilhfdIHL", "B": "BilhIHLdf", "H": "HilILdf", "I": "IlLd", "L": "L", "b": "bilhdf", "h": "hildf",
    "i": "ild", "l": "l", "e": "efd", "E": "Efd", "f": "fd", "d": "d",
}  # fmt: skip
# The same with what to fall back on where none of those has a kernel; large or precise values change.
_ANY = _HOLDS | {"I": "IlLdif", "L": "Lldif", "i": "ildf", "l": "ldif", "d": "df"}

# The attribute that chooses between kernels, and the value which the bare name of the operator stands for.
_VARIANTS = {
    "Mod": ("fmod", 0),
    "Resize": ("mode", "nearest"),
    "ScatterElements": ("reduction", "none"),
    "ScatterND": ("reduction", "none"),
}

Dtypes: TypeAlias = tuple[torch.dtype | None, ...]  # of a node's inputs; None is a missing one


class _Row(NamedTuple):
    """The signature and kernels of an operator from opset `since` on."""

    since: int
    inputs: tuple[str, ...]  # type parameters; a lower case letter is a fixed type; "-" isn't checked
    outputs: tuple[str, ...]
    variadic: bool
    runs: bool
    boxes: tuple[Mapping[str, str], ...]  # alternatives: type parameter -> letters


def named(op_type: str, attributes: Mapping[str, object]) -> str:
    """The name to look a node's kernel up by: `op_type`, or `op_type/attribute=value` for a variant."""
    if op_type not in _VARIANTS:
        return op_type
    attribute, usual = _VARIANTS[op_type]
    value = attributes.get(attribute, usual)
    return op_type if value == usual else f"{op_type}/{attribute}={value}"


@functools.lru_cache(maxsize=4096)
def widened(name: str, opset: int, dtypes: Dtypes) -> Dtypes | None:
    """The types to cast a node's inputs to, or None if it runs as it is or if no cast would help.

    Inputs that share a type parameter get one type. It holds the originals without loss where such a kernel
    exists; ask `is_lossy` about each pair. Operators and types that the table doesn't know are left alone.
    """
    row = _row(name, opset)
    letters = [None if dtype is None else _LETTER_OF.get(dtype, "") for dtype in dtypes]
    if row is None or "" in letters:
        return None
    parameters = list(itertools.islice(_formals(row.inputs, row.variadic), len(dtypes)))
    given: dict[str, set[str]] = {}
    for parameter, letter in zip(parameters, letters, strict=True):
        if letter is not None and parameter != "-":
            given.setdefault(parameter, set()).add(letter)
    fits = [fit for fit in (_fit(name, given, box) for box in row.boxes) if fit]
    if not fits:
        return None
    _, best = min(fits, key=lambda fit: fit[0])
    chosen = tuple(
        _LETTERS[best[parameter]] if dtype is not None and parameter in best else dtype
        for parameter, dtype in zip(parameters, dtypes, strict=True)
    )
    return None if chosen == dtypes else chosen


def _fit(
    name: str, given: Mapping[str, set[str]], box: Mapping[str, str]
) -> tuple[tuple[int, int], dict[str, str]] | None:
    """Types for the parameters within one alternative, after their cost: how many lose, how many change."""
    lossy = changed = 0
    chosen: dict[str, str] = {}
    for parameter, sources in given.items():
        allowed = box.get(parameter, parameter)
        if name == "NonZero" and not sources <= set(allowed):
            target: str | None = "?"  # it asks for the truth of a number alone, and no number loses that
        else:
            target = _target(sources, allowed)
        if target is None:
            return None
        chosen[parameter] = target
        changed += sources != {target}
        lossy += target != "?" and any(target not in _HOLDS[source] for source in sources)
    return (lossy, changed), chosen


def _target(sources: set[str], allowed: str) -> str | None:
    """The best type among `allowed` for these sources: one that holds them all, else the least bad."""
    first = min(sources, key=lambda source: len(_HOLDS[source]))  # what holds the others is within its list
    for reach in (_HOLDS, _ANY):
        for target in reach[first]:
            if target in allowed and all(target in reach[source] for source in sources):
                return target
    return None


def is_lossy(source: torch.dtype, target: torch.dtype) -> bool:
    """Whether a cast that `widened` asks for changes some value. To bool it never does: see `_fit`."""
    if target in (source, torch.bool):
        return False
    return _LETTER_OF.get(target, "-") not in _HOLDS.get(_LETTER_OF.get(source, ""), "")


@functools.lru_cache(maxsize=4096)
def casts_back(name: str, opset: int, outputs: int) -> tuple[int | None, ...]:
    """For each output the position of the input whose type it has, or None where it has a type of its own.

    If `widened` changed that input, then the output has to be cast back to the input's original type.
    """
    row = _row(name, opset)
    if row is None:
        return (None,) * outputs
    formals = itertools.islice(_formals(row.outputs, variadic=True), outputs)
    return tuple(row.inputs.index(p) if p in row.inputs and p != "-" else None for p in formals)


def runs(name: str, opset: int) -> bool:
    """Whether onnxruntime has a kernel for any type; else the table holds what the schema allows."""
    row = _row(name, opset)
    return row is None or row.runs


def _formals(parameters: tuple[str, ...], variadic: bool) -> Iterator[str]:
    return itertools.chain(parameters, itertools.repeat(parameters[-1] if variadic else "-"))


def _row(name: str, opset: int) -> _Row | None:
    return next((row for row in reversed(_rows().get(name, ())) if row.since <= opset), None)


@functools.cache
def _rows() -> dict[str, list[_Row]]:
    """The table by operator. Read at the first question, so that importing stays cheap."""
    return _parsed(_TABLE)


def _parsed(table: str) -> dict[str, list[_Row]]:
    """The rows of each operator, oldest first."""
    found: dict[str, list[_Row]] = {}
    for entry in table.replace("\n    ", " ").strip().splitlines():
        head, _, operators = entry.partition(" : ")
        signature, *alternatives = head.split(" | ")
        inputs, _, outputs = signature.partition("->")
        boxes = tuple(_pairs(box) for box in alternatives or [""])
        for operator in operators.split():
            name, _, since = operator.rstrip("!").rpartition("@")
            row = _Row(
                int(since),
                tuple(inputs.replace("*", "").split()),
                tuple(outputs.split()),
                "*" in inputs,
                not operator.endswith("!"),
                boxes,
            )
            found.setdefault(name, []).append(row)
    for rows in found.values():
        rows.sort(key=lambda row: row.since)
    return found


def _pairs(box: str) -> dict[str, str]:
    return {parameter: letters for parameter, _, letters in (pair.partition("=") for pair in box.split())}


# Each entry: inputs -> outputs | the letters of each type parameter | an alternative to them ... :
# the operators it holds for, each from an opset on (until its next entry). Indented lines continue an entry.
# Inputs and outputs are the schema's type parameters, or letters if the type is fixed; `-` isn't checked.
# `*`: the last input repeats. `!`: no kernel at all in onnxruntime, so this is what the schema allows.
_TABLE = """
 -> T | T=eEfd : RandomNormal@22! RandomUniform@22!
 -> T | T=fd : RandomNormal@7 RandomUniform@7
B T T -> T | B=? T=BIbilefd : Where@9
T -> - | T=?BHILbhileEfd : Shape@13
T -> - | T=?BHILbhilefd : Shape@7 Size@7
T -> - | T=?Bilef : NonZero@9
T -> - | T=Bbilefd : ArgMax@7 ArgMin@7
T -> T | T=? : Not@7
T -> T | T=?BHILbhileEfd : DepthToSpace@28 Flatten@13 Identity@13 SpaceToDepth@28 Transpose@13
T -> T | T=?BHILbhilefd : Flatten@9 Identity@7 Slice@7 Split@7 Squeeze@7 Transpose@7 Unsqueeze@7
T -> T | T=BHILbhil : BitwiseNot@18
T -> T | T=BHILbhileEfd : Sign@13
T -> T | T=BHILbhilefd : Abs@7 Shrink@9 Sign@9
T -> T | T=Bbefd : DepthToSpace@11 SpaceToDepth@7
T -> T | T=Bbilefd : ReduceMax@12 ReduceMin@12
T -> T | T=bhilefd : Neg@7
T -> T | T=biefd : Relu@14
T -> T | T=eEfd : Celu@28 GlobalLpPool@22!
T -> T | T=ef : Acos@7 Acosh@9 Asin@7 Asinh@9 Atan@7 Atanh@9 AveragePool@7 Clip@7 Cosh@9 Det@11 Elu@7 Erf@9
    Gelu@20 GlobalAveragePool@7 GlobalLpPool@7 GlobalMaxPool@7 HardSigmoid@7 HardSwish@14 Hardmax@7 LRN@7
    LeakyRelu@7 LpPool@7 MaxPool@7 Mish@22 Selu@7 Sinh@9 Softplus@7 Softsign@7 Tan@7 ThresholdedRelu@10
T -> T | T=efd : Ceil@7 Cos@7 DepthToSpace@7 Exp@7 Flatten@7 Floor@7 LeakyRelu@16 Log@7 LogSoftmax@7
    LpNormalization@7 Mish@18 Pad@7 Reciprocal@7 Relu@7 Round@11 Sigmoid@7 Sin@7 Softmax@7 Sqrt@7 Swish@24
    Tanh@7
T -> T | T=f : Celu@12 MeanVarianceNormalization@9
T -> T | T=ilefd : ReduceL1@7 ReduceL2@7 ReduceLogSum@7 ReduceLogSumExp@7 ReduceMax@7 ReduceMean@7 ReduceMin@7
    ReduceProd@7 ReduceSum@7 ReduceSumSquare@7
T -> T - | T=Bbefd : MaxPool@12
T -> T - | T=efd : Dropout@10 MaxPool@8 TopK@7
T -> T - - - | T=bleEfd : Unique@28
T -> T - - - | T=blefd : Unique@11
T -> T T | T=efd : Dropout@7
T T -> - | T=? : And@7 Or@7 Xor@7
T T -> - | T=?BHILbhilefd : Equal@11
T T -> - | T=?il : Equal@7
T T -> - | T=BHILbhilefd : Greater@9 GreaterOrEqual@12 Less@9 LessOrEqual@12
T T -> - | T=efd : Greater@7 Less@7
T T -> T | T=BHIL : BitShift@11
T T -> T | T=BHILbhil : BitShift@28 BitwiseAnd@18 BitwiseOr@18 BitwiseXor@18 Mod@10
T T -> T | T=BHILbhilefd : Add@14 Div@14 Mod/fmod=1@10 Mod@28 Mul@14 Sub@14
T T -> T | T=ILilefd : Add@7 Div@7 MatMul@9 Mul@7 Sub@7
T T -> T | T=Iilefd : PRelu@16
T T -> T | T=eEfd : MaxRoiPool@22! SwiGLU@28!
T T -> T | T=ef : MaxRoiPool@7 PRelu@7
T T -> T | T=efd : MatMul@7 Pow@7
T T T - T T -> T - | T=eEf : LinearAttention@27
T T T -> T | T=BILbilefd : Clip@12
T T T -> T | T=ef : Clip@11 Conv@7 ConvTranspose@7 InstanceNormalization@7
T T T -> T | T=efd : Gemm@7 GroupNormalization@21
T T T -> T | T=hileEfd : Range@27
T T T -> T | T=hilfd : Range@11
T T T -> T - - | T=eEfd : LayerNormalization@17
T T T M -> T | T=ef M=l : RotaryEmbedding@23
T T T T -> T T | T=ef : CausalConvWithState@27
T T T T T -> T | T=efd : DeformConv@19
T T T T T -> T T T T T | T=efd : BatchNormalization@7
T T T T T1 T -> T T | T=ef T1=i : GRU@7 RNN@7
T T T T T1 T T T -> T T T | T=ef T1=i : LSTM@7
T T T U U -> T U U | T=ef U=ef | T=d U=d : BatchNormalization@14
T T l -> T | T=?BHILbhileEfd : TensorScatter@24
T T1 -> T | T=?BHILbhileEfd T1=? : Compress@28
T T1 -> T | T=?BHILbhilefd T1=? : Compress@9
T T1 -> T | T=?BHILbhilefd T1=l : Tile@7
T T1 -> T | T=ilefd T1=ilefd : Pow@12
T T1 T1 T2 T2 -> T T2 T2 | T=ef T1=ef T2=ef | T=d T1=d T2=d : BatchNormalization@15
T T1 T2 -> T T2 | T=efd T1=efd T2=? : Dropout@12
T T2 -> T | T=ILilefd T2=il : CumProd@26
T T2 -> T | T=ilefd T2=il : CumSum@14
T T2 -> T | T=ilfd T2=il : CumSum@11
T Tind -> T | T=?BHILbhileEfd Tind=il : Gather@13 GatherElements@13
T Tind -> T | T=?BHILbhilefd Tind=il : Gather@7 GatherElements@11
T Tind -> T | T=?BILbilefd Tind=l : CenterCropPad@18
T Tind T -> T | T=?BHILbhileEfd Tind=il : ScatterElements@13
T Tind T -> T | T=?BHILbhilefd Tind=il : ScatterElements@11
T Tind T -> T | T=?BHILbhilfd Tind=il : ScatterElements/reduction=add@16 ScatterElements/reduction=mul@16
T Tind T -> T | T=BHILbhilefd Tind=il : ScatterElements/reduction=max@18 ScatterElements/reduction=min@18
T Tind T -> T | T=efd Tind=il : NegativeLogLikelihoodLoss@12
T Tind T -> T T | T=efd Tind=il : SoftmaxCrossEntropyLoss@12
T Tind Tind Tind Tind -> T | T=?BHILbhileEfd Tind=il : Slice@13
T Tind Tind Tind Tind -> T | T=?BHILbhilefd Tind=il : Slice@10
T V -> V | T=d V=d | T=e V=e | T=f V=f : RMSNormalization@23
T f -> T | T=Bbief : Resize/mode=linear@10 Resize@10
T f T -> - | T=Bbi : DequantizeLinear@10
T l -> T | T=?BHILbhileEfd : GatherND@13 Reshape@13 ReverseSequence@28 Split@13 Squeeze@13 Unsqueeze@13
T l -> T | T=?BHILbhilefd : Expand@8 GatherND@11 Reshape@7 ReverseSequence@10
T l -> T | T=?Bbilefd : ReduceMax@20 ReduceMin@20
T l -> T | T=?ilefd : Trilu@14
T l -> T | T=Bbilefd : ReduceMax@18 ReduceMin@18
T l -> T | T=ILileEfd : ReduceLogSumExp@18
T l -> T | T=eEfd : ReduceLogSumExp@28
T l -> T | T=efd : ReduceLogSum@28
T l -> T | T=ilefd : ReduceL1@18 ReduceL2@18 ReduceLogSum@18 ReduceMean@18 ReduceProd@18 ReduceSum@13
    ReduceSumSquare@18
T l -> T - | T=Bbhilefd : TopK@11
T l -> T - | T=efd : TopK@10
T l T -> T | T=?BHILbhileEfd : ScatterND@13
T l T -> T | T=?BHILbhilefd : ScatterND@11
T l T -> T | T=?BHILbhilfd : ScatterND/reduction=add@16 ScatterND/reduction=mul@16
T l T -> T | T=?BILbilefd : Pad@13
T l T -> T | T=BHILbhilfd : ScatterND/reduction=max@18 ScatterND/reduction=min@18
T l T -> T | T=BILbilefd : Pad@11
T l T Tind -> T | T=?BILbileEfd Tind=l : Pad@21
T l T Tind -> T | T=?BILbilefd Tind=l : Pad@18
T l l -> T | T=ef : Col2Im@18
T* -> T | T=?BHILbhileEfd : Concat@13
T* -> T | T=?BHILbhilefd : Concat@7
T* -> T | T=BILbilefd : Max@12 Min@12
T* -> T | T=ef : Max@7 Mean@7 Min@7
T* -> T | T=efd : Max@8 Min@8 Sum@7
T* -> T | T=ileEfd : Einsum@28
T* -> T | T=ilefd : Einsum@12
T1 - -> T1 | T1=efd : DFT@17
T1 - f l -> T1 | T1=Bbief : Resize/mode=linear@13 Resize@13
T1 - f l -> T1 | T1=ef : Resize/mode=cubic@13
T1 - l -> T1 | T1=efd : DFT@20
T1 -> - | T1=eEfd : IsInf@20 IsNaN@20
T1 -> - | T1=efd : IsNaN@9
T1 -> - | T1=fd : IsInf@10
T1 -> - - - | T1=f : DynamicQuantizeLinear@11
T1 -> T2 | T1=?BHILbhileEfd T2=?BHILbhileEfd : Cast@13
T1 -> T2 | T1=?BHILbhileEfd T2=eEfd : RandomNormalLike@22! RandomUniformLike@22!
T1 -> T2 | T1=?BHILbhilefd T2=?BHILbhilefd : Cast@7
T1 -> T2 | T1=?BHILbhilefd T2=fd | T1=e T2=efd : RandomNormalLike@7 RandomUniformLike@7
T1 -> T2 | T1=HheE T2=HheE | T1=Iif T2=Iif | T1=Lld T2=Lld | T1=Bb T2=Bb : BitCast@26
T1 -> T2 | T1=Lilefd T2=Lilfd | T1=e T2=Lilefd : EyeLike@9
T1 -> T2 | T1=eEfd T2=?BHILbhileEfd : Bernoulli@22!
T1 -> T2 | T1=eEfd T2=il : Multinomial@22!
T1 -> T2 | T1=ef T2=il : Multinomial@7
T1 -> T2 | T1=efd T2=?BHILbhileEfd : Bernoulli@15
T1 -> T2 | T1=il T2=BHILbhileEfd : BlackmanWindow@17 HammingWindow@17 HannWindow@17
T1 -> T2 | T1=l T2=?BHILbhileEfd : ConstantOfShape@20
T1 -> T2 | T1=l T2=?BHILbhilefd : ConstantOfShape@9
T1 T1 T1 T2 T2 -> T3 | T1=il T2=ef T3=BHILbhilfd : MelWeightMatrix@17
T1 T1 T2 -> T1 | T1=eEfd T2=l : RoiAlign@22!
T1 T1 T2 -> T1 | T1=efd T2=l : RoiAlign@10
T1 T1 T2 -> T2 | T1=ef T2=BHbh : QuantizeLinear@21
T1 T1 T2 -> T2 | T1=ef T2=Bb : QuantizeLinear@19
T1 T1 T2 U T1 T2 -> T1 T1 T2 T1 | T1=d T2=d U=?BHILbhileEfd | T1=e T2=e U=?BHILbhileEfd | T1=f T2=f
    U=?BHILbhileEfd : Attention@23
T1 T1 T2 U T1 T2 l -> T1 T1 T2 T1 | T1=d T2=d U=?BILbileEfd | T1=e T2=e U=?BILbileEfd | T1=f T2=f
    U=?BILbileEfd : Attention@24
T1 T2 -> T1 | T1=ef T2=ef : GridSample@16
T1 T2 -> T1 | T1=ef T2=ef | T1=d T2=d : GridSample@20
T1 T2 -> T1 | T1=fd T2=l : AffineGrid@20
T1 T2 -> T2 | T1=?BHILbhileEfd T2=?BHILbhileEfd : CastLike@15
T1 T2 T1 -> - | T1=BHbhi T2=eEf : DequantizeLinear@28!
T1 T2 T1 -> - | T1=BHbhi T2=ef : DequantizeLinear@23
T1 T2 T1 -> T2 | T1=BHbhi T2=ef : DequantizeLinear@21
T1 T2 T1 -> T2 | T1=Bbi T2=ef : DequantizeLinear@19
T1 T2 T1 T2 -> - | T1=Bb T2=Bb : ConvInteger@10 MatMulInteger@10
T1 T2 T1 T2 -> T1 | T1=efd T2=il : STFT@17
T1 T2 T2 -> T1 | T1=ef T2=l : MaxUnpool@9
T1 T2 T3 -> T3 | T1=ef T2=ef T3=BHbh : QuantizeLinear@23
T1 T2 T3 -> T3 | T1=ieEf T2=ieEf T3=BHbh : QuantizeLinear@28!
T1 T2 T3 -> T3 | T1=ilef T2=ef T3=ef | T1=il T2=ief T3=ef | T1=l T2=ilef T3=ef | T1=l T2=ef T3=ief | T1=l T2=l
    T3=leEf | T1=lef T2=l T3=l | T1=i T2=i T3=eEf : OneHot@28
T1 T2 T3 -> T3 | T1=ilef T2=ef T3=ef | T1=il T2=ief T3=ef | T1=l T2=ilef T3=ef | T1=l T2=ef T3=ief | T1=lef
    T2=l T3=l : OneHot@9
T1 T2 f l -> T1 | T1=Bbief T2=efd : Resize/mode=linear@11 Resize@11
T1 T2 f l -> T1 | T1=ef T2=efd : Resize/mode=cubic@11
T1 TS T1 T2 TS T2 TS T3 -> T3 | T1=B TS=ef T2=Bb T3=B | T1=b TS=ef T2=b T3=b : QLinearMatMul@21
T1 f T1 T2 f T2 f T3 - -> T3 | T1=B T2=Bb T3=B | T1=b T2=b T3=b : QLinearConv@10
T1 f T1 T2 f T2 f T3 -> T3 | T1=B T2=Bb T3=B | T1=b T2=b T3=b : QLinearMatMul@10
T1 f T2 -> T2 | T1=f T2=Bb : QuantizeLinear@10
V -> V | V=?BHILbhileEfd : Identity@14
f f l f f -> - : NonMaxSuppression@10
"""
