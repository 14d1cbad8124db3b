"""Find out which element types each ONNX operator runs with in onnxruntime, and print the kernel table.

    python benchmarks/probe_kernels.py            print the table of src/onnxport/lower/kernels.py
    python benchmarks/probe_kernels.py --write    put it there
    python benchmarks/probe_kernels.py --check    compare it with the committed one; exit 1 if they differ
    python benchmarks/probe_kernels.py Pow Mod    only these operators, with every refusal's reason

Each operator is loaded and run as a one-node model, for every element type its schema allows, at each
opset where the schema changed, on the CPU with graph optimizations off. A type counts only if the schema
allows it and the runtime ran it. Every operator has its own process: a crash counts as a refusal of what it
was running.
"""

# ruff: noqa: SIM905  (long lists of names read best as text)
from __future__ import annotations

import collections
import difflib
import itertools
import math
import multiprocessing
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

from onnxport.lower import kernels

OLDEST, NEWEST = 7, 28
# The letters of the table, in its order.
LETTERS = {
    "?": ("bool", np.bool_), "B": ("uint8", np.uint8), "H": ("uint16", np.uint16), "I": ("uint32", np.uint32),
    "L": ("uint64", np.uint64), "b": ("int8", np.int8), "h": ("int16", np.int16), "i": ("int32", np.int32),
    "l": ("int64", np.int64), "e": ("float16", np.float16), "E": ("bfloat16", ml_dtypes.bfloat16),
    "f": ("float", np.float32), "d": ("double", np.float64),
}  # fmt: skip
PROTO = {letter: getattr(TensorProto, name.upper()) for letter, (name, _) in LETTERS.items()}


@dataclass(frozen=True)
class Case:
    """A valid call: input shapes (or literal values, or None for a missing input), attributes, outputs."""

    inputs: tuple[Any, ...]
    attributes: dict[str, Any] = field(default_factory=dict)
    outputs: int = 1
    variant: str = ""  # what the call is called in the table where attributes choose the kernel


def call(*inputs: Any, n: Any = 1, variant: Any = "", **attributes: Any) -> Case:
    return Case(inputs, attributes, n, variant)


def lit(*values: Any) -> np.ndarray[Any, Any]:
    """A 1-d literal."""
    return np.array(values)


def num(value: Any) -> np.ndarray[Any, Any]:
    """A literal of any rank, a scalar for instance."""
    return np.array(value)


UNARY = """
    Abs Acos Acosh Asin Asinh Atan Atanh Ceil Celu Cos Cosh Elu Erf Exp Floor Gelu HardSigmoid HardSwish
    Identity IsInf IsNaN LeakyRelu Log Mish Neg Not NonZero Reciprocal Relu Round Selu Shape Shrink
    Sigmoid Sign Sin Sinh Size Softplus Softsign Sqrt Swish Tan Tanh ThresholdedRelu BitwiseNot Hardmax
    LogSoftmax Softmax Dropout LpNormalization Unique MeanVarianceNormalization Trilu
""".split()
BINARY = """
    Add Sub Mul Div And Or Xor Equal Greater GreaterOrEqual Less LessOrEqual BitwiseAnd BitwiseOr
    BitwiseXor PRelu SwiGLU Pow
""".split()
VARIADIC = "Max Mean Min Sum Concat".split()
REDUCTIONS = """
    ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum
    ReduceSumSquare
""".split()
POOLS = "AveragePool MaxPool LpPool".split()
# No tensors of numbers, no one-node form, or made only by the exporter itself with types it chooses.
LEFT_OUT = """
    If Loop Scan Constant SequenceAt SequenceConstruct SequenceEmpty SequenceErase SequenceInsert
    SequenceLength SequenceMap SplitToSequence ConcatFromSequence Optional OptionalGetElement
    OptionalHasElement StringConcat StringNormalizer StringSplit RegexFullMatch TfIdfVectorizer
    ImageDecoder Scatter Upsample
""".split()
SIGNATURES: dict[str, tuple[Case, ...]] = {
    "AffineGrid": (call((1, 2, 3), lit(1, 1, 4, 5)),),
    "Attention": (call((1, 2, 3, 4), (1, 2, 3, 4), (1, 2, 3, 4), (3, 3)),),
    "BatchNormalization": (call((2, 3, 4), (3,), (3,), (3,), (3,)),),
    "Bernoulli": (call((2, 3)),),
    "BitCast": (call((2, 3)),),
    "Cast": (call((2, 3)),),
    "BitShift": (call((2, 3), (2, 3), direction="LEFT"), call((2, 3), (2, 3), direction="RIGHT")),
    "BlackmanWindow": (call(num(5)),),
    "HammingWindow": (call(num(5)),),
    "HannWindow": (call(num(5)),),
    "CastLike": (call((2, 3), (2,)),),
    "CausalConvWithState": (call((1, 2, 5), (2, 1, 3), (2,), n=2),),
    "CenterCropPad": (call((4, 4), lit(2, 6)),),
    "Col2Im": (call((1, 4, 4), lit(4, 4), lit(2, 2), strides=[2, 2]),),
    "Compress": (call((3, 2), lit(1, 0, 1), axis=0),),
    "ConstantOfShape": (call(lit(2, 3)),),
    "Conv": tuple(call((1, 2) + (4,) * n, (3, 2) + (2,) * n, (3,)) for n in (1, 2, 3)),
    "ConvTranspose": tuple(call((1, 2) + (4,) * n, (2, 3) + (2,) * n, (3,)) for n in (1, 2, 3)),
    "ConvInteger": (call((1, 2, 5, 5), (3, 2, 3, 3), num(1), num(1)), call((1, 2, 5, 5), (3, 2, 3, 3))),
    "CumProd": (call((2, 3), num(1)),),
    "CumSum": (call((2, 3), num(1)),),
    "DeformConv": (call((1, 2, 4, 4), (3, 2, 3, 3), (1, 18, 2, 2), (3,), (1, 9, 2, 2)),),
    "SpaceToDepth": (call((1, 1, 4, 4), blocksize=2),),
    "DequantizeLinear": (call((2, 3), num(2), num(1)), call((2, 3), (3,), (3,)), call((2, 3), num(2))),
    "QuantizeLinear": (call((2, 3), num(2), num(1)), call((2, 3), (3,), (3,))),
    "DynamicQuantizeLinear": (call((2, 3), n=3),),
    "Det": (call((3, 3)),),
    "Einsum": (call((2, 3), (3, 4), equation="ij,jk->ik"), call((2, 3, 2), equation="iji->j")),
    "Expand": (call((3, 1), lit(2, 3, 4)),),
    "EyeLike": (call((3, 3)),),
    "Flatten": (call((2, 3, 4)),),
    "Gather": (call((3, 4), lit(0, 1)), call((3, 4), num(1), axis=1)),
    "GatherElements": (call((3, 2), num([[0, 1], [1, 2]])),),
    "GatherND": (call((3, 2), num([[0], [1]])),),
    "Gemm": (call((2, 3), (3, 4), (4,)), call((2, 3), (4, 3), (2, 4), transB=1, alpha=0.5, beta=2.0)),
    "GlobalAveragePool": (call((1, 2, 4, 4)),),
    "GlobalLpPool": (call((1, 2, 4, 4)),),
    "GlobalMaxPool": (call((1, 2, 4, 4)),),
    "InstanceNormalization": (call((2, 3, 4), (3,), (3,)),),
    "LRN": (call((1, 4, 3, 3), size=3),),
    "LayerNormalization": (call((2, 3), (3,), (3,)), call((2, 3), (3,), n=2)),
    "LinearAttention": (
        call((1, 3, 8), (1, 3, 8), (1, 3, 8), n=2, q_num_heads=2, kv_num_heads=2, update_rule="linear"),
    ),
    "MatMul": (call((2, 3), (3, 4)), call((2, 2, 3), (2, 3, 4)), call((3,), (3,))),
    "MatMulInteger": (call((2, 3), (3, 4), num(1), num(1)), call((2, 3), (3, 4))),
    "MaxRoiPool": (call((1, 2, 4, 4), num([[0, 0, 0, 2, 2]]), pooled_shape=[2, 2]),),
    "MaxUnpool": (
        call((1, 1, 2, 2), num([[[[0, 3], [8, 15]]]]), lit(1, 1, 4, 4), kernel_shape=[2, 2], strides=[2, 2]),
    ),
    "MelWeightMatrix": (call(num(4), num(16), num(8000), num(0), num(4000)),),
    "Mod": (call((2, 3), (3,), variant="fmod=1", fmod=1), call((2, 3), (3,), variant="fmod=0", fmod=0)),
    "Multinomial": (call((2, 3)),),
    "NegativeLogLikelihoodLoss": (call((2, 3), lit(0, 1), (3,)),),
    "SoftmaxCrossEntropyLoss": (call((2, 3), lit(0, 1), (3,), n=2),),
    "NonMaxSuppression": (call(num([[[0, 0, 1, 1], [0, 0, 2, 2]]]), (1, 1, 2), num(1), num(0.5), num(0.5)),),
    "OneHot": (call(lit(0, 1, 2), num(3), lit(0, 1)),),
    "QLinearConv": (call((1, 1, 3, 3), num(1), num(1), (1, 1, 2, 2), num(1), num(1), num(1), num(1)),),
    "QLinearMatMul": (call((2, 3), num(1), num(1), (3, 4), num(1), num(1), num(1), num(1)),),
    "RMSNormalization": (call((2, 3), (3,)),),
    "RandomNormal": (call(shape=[2, 3]),),
    "RandomUniform": (call(shape=[2, 3]),),
    "RandomNormalLike": (call((2, 3)),),
    "RandomUniformLike": (call((2, 3)),),
    "Range": (call(num(1), num(5), num(2)),),
    "Reshape": (call((2, 3), lit(3, 2)),),
    "ReverseSequence": (call((4, 3), lit(1, 2, 3)),),
    "RotaryEmbedding": (
        call((1, 2, 3, 4), (5, 2), (5, 2), num([[0, 1, 2]])),
        call((1, 2, 3, 4), (1, 3, 2), (1, 3, 2)),
    ),
    "STFT": (call((1, 16, 1), num(4), (8,), num(8)), call((1, 16, 1), num(4), None, num(8))),
    "TensorScatter": (call((2, 4, 3), (2, 2, 3), lit(0, 1)),),
    "Tile": (call((2, 3), lit(2, 1)),),
    "Transpose": (call((2, 3)),),
    "Where": (call(lit(1, 0, 1), (3,), (3,)),),
}


def cases(op: str, version: int) -> Iterator[Case]:
    """The calls of `op` that all have to run for a type to count, in the form of this schema version."""
    if op in UNARY:
        yield call((2, 3))
        if op == "Dropout" and version >= 12:
            yield call((2, 3), num(0.5), num(0), n=2)
        if op == "Unique":
            yield call((2, 3), n=4, axis=0)
    elif op in BINARY:
        yield call((2, 3), (2, 3))
        yield call((2, 3), (3,))
    elif op in VARIADIC:
        more: dict[str, Any] = {"axis": 0} if op == "Concat" else {}
        yield call((2, 3), (2, 3), **more)
        yield call((2, 3), (2, 3), (2, 3), **more)
    elif op in REDUCTIONS:
        as_input = version >= (13 if op == "ReduceSum" else 18)
        for axes in ([1], [0, 1], [-1]) if version >= 11 else ([1], [0, 1]):
            yield call((2, 3), lit(*axes)) if as_input else call((2, 3), axes=axes)
        yield call((2, 3), keepdims=0)
    elif op in ("ArgMax", "ArgMin"):
        yield call((2, 3), axis=1)
        if version >= 12:
            yield call((2, 3), axis=1, keepdims=0, select_last_index=1)
    elif op in POOLS:
        for rank in (1, 2, 3):
            yield call((1, 2) + (4,) * rank, kernel_shape=[2] * rank)
        if op == "MaxPool" and version >= 8:
            yield call((1, 2, 4, 4), kernel_shape=[2, 2], n=2)
    elif op in ("RNN", "GRU", "LSTM"):
        gates = {"RNN": 1, "GRU": 3, "LSTM": 4}[op]
        state = [(1, 2, 4)] * (2 if op == "LSTM" else 1)
        weights = [(1, 4 * gates, 5), (1, 4 * gates, 4), (1, 8 * gates)]
        yield call((3, 2, 5), *weights, lit(3, 2), *state, n=1 + len(state), hidden_size=4)
    elif op in ("Squeeze", "Unsqueeze"):
        yield call((1, 3), lit(0)) if version >= 13 else call((1, 3), axes=[0])
    elif op == "Split":
        yield call((4, 3), n=2, axis=0, **({"num_outputs": 2} if version >= 18 else {}))
        yield call((4, 3), lit(1, 3), n=2) if version >= 13 else call((4, 3), n=2, split=[1, 3])
    elif op == "Slice":
        if version >= 10:
            yield call((4, 3), lit(0), lit(3), lit(0), lit(2))
        else:
            yield call((4, 3), starts=[0], ends=[3], axes=[0])
    elif op == "Clip":
        if version >= 11:
            yield call((2, 3), num(1), num(2))
            yield call((2, 3), num(1))
            yield call((2, 3), None, num(2))
        else:
            yield call((2, 3), min=1.0, max=2.0)
    elif op == "Pad":
        for mode in ("constant", "reflect", "edge", *(["wrap"] if version >= 19 else [])):
            if version >= 11:
                value = [num(1)] if mode == "constant" else []
                yield call((2, 3), lit(0, 1, 0, 1), *value, mode=mode)
            else:
                yield call((2, 3), pads=[0, 1, 0, 1], mode=mode)
        if version >= 18:
            yield call((2, 3), lit(1, 1), None, lit(1))
    elif op == "TopK":
        yield call((2, 3), lit(2), n=2) if version >= 10 else call((2, 3), k=2, n=2)
        if version >= 11:
            yield call((2, 3), lit(2), n=2, largest=0)
    elif op == "Resize":
        for mode in ("nearest", "linear", *(["cubic"] if version >= 11 else [])):
            if version == 10:
                yield call((1, 1, 4, 4), lit(1, 1, 2, 2), mode=mode, variant=f"mode={mode}")
            elif version == 11:  # the region of interest and the scales may be empty, not missing
                yield call((1, 1, 4, 4), lit(), lit(1, 1, 2, 2), mode=mode, variant=f"mode={mode}")
                yield call((1, 1, 4, 4), lit(), lit(), lit(1, 1, 8, 8), mode=mode, variant=f"mode={mode}")
            else:
                yield call((1, 1, 4, 4), None, lit(1, 1, 2, 2), mode=mode, variant=f"mode={mode}")
                yield call((1, 1, 4, 4), None, None, lit(1, 1, 8, 8), mode=mode, variant=f"mode={mode}")
    elif op == "GridSample":
        names = ("bilinear", "nearest", "bicubic") if version < 20 else ("linear", "nearest", "cubic")
        for mode in names:
            yield call((1, 1, 4, 4), (1, 3, 3, 2), mode=mode)
        if version >= 20:
            yield call((1, 1, 4, 4, 4), (1, 2, 3, 3, 3), mode="linear")
    elif op == "RoiAlign":
        for mode in ("avg", "max"):
            yield call((1, 1, 4, 4), num([[0, 0, 2, 2]]), lit(0), mode=mode)
    elif op in ("ScatterElements", "ScatterND"):
        index = num([[0, 1], [1, 0]]) if op == "ScatterElements" else num([[0], [1]])
        reductions = {11: ["none"], 13: ["none"], 16: ["none", "add", "mul"]}.get(version)
        for reduction in reductions or ["none", "add", "mul", "max", "min"]:
            more = {"reduction": reduction} if version >= 16 else {}
            yield call((3, 2), index, (2, 2), **more, variant=f"reduction={reduction}")
    elif op == "GroupNormalization":
        size = 4 if version >= 21 else 2  # a scale per channel, once per group
        yield call((2, 4, 3), (size,), (size,), num_groups=2)
    elif op == "DepthToSpace":
        yield call((1, 4, 2, 2), blocksize=2)
        if version >= 11:
            yield call((1, 4, 2, 2), blocksize=2, mode="CRD")
    elif op == "DFT":
        yield call((1, 4, 1), None, num(1)) if version >= 20 else call((1, 4, 1), axis=1)
    else:
        yield from SIGNATURES[op]


# Operators whose output type is an attribute: the parameter that it sets, and the attribute.
CHOSEN = {
    "Bernoulli": ("T2", "dtype"), "BitCast": ("T2", "to"), "BlackmanWindow": ("T2", "output_datatype"),
    "Cast": ("T2", "to"), "ConstantOfShape": ("T2", "value"), "EyeLike": ("T2", "dtype"),
    "HammingWindow": ("T2", "output_datatype"), "HannWindow": ("T2", "output_datatype"),
    "MelWeightMatrix": ("T3", "output_datatype"), "Multinomial": ("T2", "dtype"),
    "RandomNormal": ("T", "dtype"), "RandomNormalLike": ("T2", "dtype"),
    "RandomUniform": ("T", "dtype"), "RandomUniformLike": ("T2", "dtype"),
}  # fmt: skip


def allowed(schema: onnx.defs.OpSchema) -> dict[str, str]:
    """Type parameter -> the letters that the schema allows; a fixed type is a parameter of its own."""
    constraints = {c.type_param_str: list(c.allowed_type_strs) for c in schema.type_constraints}
    for formal in (*schema.inputs, *schema.outputs):
        constraints.setdefault(formal.type_str, [formal.type_str])
    return {p: "".join(x for x in LETTERS if tensor_of(x) in types) for p, types in constraints.items()}


def tensor_of(letter: str) -> str:
    return f"tensor({LETTERS[letter][0]})"


def formal_of(formals: Any, position: int) -> Any:
    return formals[min(position, len(formals) - 1)]


def array(spec: Any, letter: str) -> np.ndarray[Any, Any]:
    if isinstance(spec, tuple):
        spec = np.arange(int(np.prod(spec))).reshape(spec) % 3 + (0 if letter == "?" else 1)
    return np.asarray(spec, LETTERS[letter][1])


def model(schema: onnx.defs.OpSchema, case: Case, types: dict[str, str]) -> bytes:
    """The one-node model of `case` with these letters for the parameters; all inputs are initializers."""
    tensors, names = [], []
    for position, spec in enumerate(case.inputs):
        names.append("" if spec is None else f"x{position}")
        if spec is not None:
            letter = types[formal_of(schema.inputs, position).type_str]
            tensors.append(numpy_helper.from_array(array(spec, letter), names[-1]))
            tensors[-1].data_type = PROTO[letter]
    attributes = dict(case.attributes)
    if schema.name in CHOSEN:
        parameter, attribute = CHOSEN[schema.name]
        proto = PROTO[types[parameter]]
        one = numpy_helper.from_array(np.ones(1, LETTERS[types[parameter]][1]), "value")
        one.data_type = proto
        attributes[attribute] = one if attribute == "value" else proto
    outputs = [f"y{i}" for i in range(case.outputs)]
    node = helper.make_node(schema.name, names, outputs, **attributes)
    infos = [helper.make_empty_tensor_value_info(name) for name in outputs]
    graph = helper.make_graph([node], "probe", [], infos, tensors)
    opset = helper.make_opsetid("", max(schema.since_version, OLDEST))
    return bytes(helper.make_model(graph, opset_imports=[opset], ir_version=10).SerializeToString())


def run(data: bytes) -> list[Any]:
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = ort.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    for output in session.get_outputs():
        binding.bind_output(output.name)
    session.run_with_iobinding(binding)
    return list(binding.get_outputs())


def combinations(schema: onnx.defs.OpSchema, of: list[Case]) -> tuple[list[str], list[tuple[str, ...]]]:
    """The type parameters that these calls use, and each way to choose their types."""
    letters = allowed(schema)
    used = [formal_of(schema.inputs, i).type_str for c in of for i, x in enumerate(c.inputs) if x is not None]
    used += [CHOSEN[schema.name][0]] if schema.name in CHOSEN else []
    parameters = list(dict.fromkeys(used))
    return parameters, list(itertools.product(*(letters[p] for p in parameters)))


def schemas(op: str) -> list[onnx.defs.OpSchema]:
    """The schemas of `op` in force at the opsets supported, oldest first."""
    found = {}
    for opset in range(OLDEST, NEWEST + 1):
        try:
            schema = onnx.defs.get_schema(op, opset)
        except onnx.defs.SchemaError:
            continue
        if not schema.deprecated:
            found[schema.since_version] = schema
    return [found[version] for version in sorted(found)]


Result = dict[tuple[str, int, str], tuple[list[str], set[tuple[str, ...]]]]


def probe(op: str, send: Any, skip: set[Any]) -> None:
    """Send ("try", key) before and ("ok" or "no", key, reason) after each run, by (since, variant, types)."""
    for schema in schemas(op):
        by_variant = collections.defaultdict(list)
        for case in cases(op, schema.since_version):
            by_variant[case.variant].append(case)
        for variant, of in by_variant.items():
            parameters, choices = combinations(schema, of)
            send(("parameters", (schema.since_version, variant), parameters))
            for types in choices:
                key = (schema.since_version, variant, types)
                if key in skip:
                    continue
                send(("try", key, ""))
                reason = ""
                for case in of:
                    try:
                        run(model(schema, case, dict(zip(parameters, types, strict=True))))
                    except Exception as error:  # whatever the runtime says: the reason is kept
                        reason = f"{type(error).__name__}: {error}"
                        break
                send(("no" if reason else "ok", key, reason))


def child(op: str, connection: Any, skip: set[Any]) -> None:
    probe(op, connection.send, skip)
    connection.close()


def outcomes(op: str, explain: bool = False) -> Result:
    """Run the probes of `op` in a process of their own, and in another one after each crash."""
    result: Result = {}
    skip: set[Any] = set()
    while True:
        receiver, sender = FORK.Pipe(duplex=False)
        process = FORK.Process(target=child, args=(op, sender, skip))
        process.start()
        sender.close()
        trying = None
        while True:
            try:
                what, key, more = receiver.recv()
            except EOFError:
                break
            if what == "parameters":
                result.setdefault((op, *key), (more, set()))
            elif what == "try":
                trying = key
            else:
                skip.add(key)
                trying = None
                if what == "ok":
                    result[op, key[0], key[1]][1].add(key[2])
                elif explain:
                    print("#", op, *key, more[:200].replace("\n", " "), file=sys.stderr)
        process.join()
        if process.exitcode == 0:
            return result
        if trying is None:
            raise RuntimeError(f"the probe of {op} failed")
        print(f"# {op} {trying}: crash", file=sys.stderr)
        skip.add(trying)


# The children get the imported modules; no session exists before the fork.
FORK = multiprocessing.get_context("fork")


def boxes(choices: set[tuple[str, ...]]) -> list[list[str]]:
    """Products of letters which together make up `choices`: few and large ones, found greedily."""
    order = "".join(LETTERS).index
    left, found = set(choices), []
    while left:
        best: list[set[str]] = []
        for start in sorted(left):
            sides = [{letter} for letter in start]
            for position, side in enumerate(sides):
                for letter in LETTERS:
                    grown = [*sides[:position], {letter}, *sides[position + 1 :]]
                    if choices.issuperset(itertools.product(*grown)):
                        side.add(letter)
            if math.prod(map(len, sides)) > math.prod(map(len, best)) or not best:
                best = sides
        left -= set(itertools.product(*best))
        found.append(["".join(sorted(side, key=order)) for side in best])
    return found


def signature(schema: onnx.defs.OpSchema, parameters: list[str]) -> str:
    """Inputs -> outputs, with `-` for what wasn't probed and for outputs with a type of their own."""
    fixed = {tensor_of(letter): letter for letter in LETTERS}
    known = {p: p for p in parameters if p not in fixed}
    inputs = [fixed.get(i.type_str) or known.get(i.type_str, "-") for i in schema.inputs]
    outputs = [known.get(o.type_str, "-") for o in schema.outputs]
    repeats = onnx.defs.OpSchema.FormalParameterOption.Variadic
    variadic = bool(schema.inputs) and schema.inputs[-1].option == repeats
    return f"{' '.join(inputs)}{'*' * variadic} -> {' '.join(outputs)}"


def described(schema: onnx.defs.OpSchema, parameters: list[str], ran: set[tuple[str, ...]]) -> tuple[str, str]:
    """The head of an operator's entry, and the mark that goes behind the operator."""
    letters = allowed(schema)
    found = boxes(ran) if ran else [[letters[p] for p in parameters]]
    alternatives = []
    for box in found:
        pairs = zip(parameters, box, strict=True)
        alternatives.append(" ".join(f"{p}={side}" for p, side in pairs if not p.startswith("tensor(")))
    head = [signature(schema, parameters), *filter(None, dict.fromkeys(alternatives))]
    return " | ".join(head), "" if ran else "!"


WRAP = textwrap.TextWrapper(110, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)


def table(result: Result) -> str:
    """The text of the committed table."""
    entries: dict[str, tuple[str, str]] = {}  # operator and variant -> what its last row says
    paragraphs: dict[str, list[str]] = {}
    for (op, since, variant), (parameters, ran) in sorted(result.items()):
        opset = max(since, OLDEST)
        usual = kernels._VARIANTS.get(op)
        name = f"{op}/{variant}" if usual and variant != f"{usual[0]}={usual[1]}" else op
        row = described(onnx.defs.get_schema(op, opset), parameters, ran)
        if entries.get(name) != row:
            entries[name] = row
            paragraphs.setdefault(row[0], []).append(f"{name}@{opset}{row[1]}")
    lines: list[str] = []
    for head in sorted(paragraphs, key=lambda head: (head.partition("|")[0], head)):
        text = f"{head} : {' '.join(paragraphs[head])}"
        lines += WRAP.wrap(text)
    return "\n" + "\n".join(lines) + "\n"


def operators() -> list[str]:
    names = {s.name for s in onnx.defs.get_all_schemas_with_history() if s.domain == ""}
    return sorted(names - set(LEFT_OUT))


def main() -> int:
    modes = [argument for argument in sys.argv[1:] if argument.startswith("--")]
    chosen = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
    result: Result = {}
    for op in chosen or operators():
        result.update(outcomes(op, explain=bool(chosen)))
    new = table(result)
    if chosen or not modes:
        print(new)
    elif modes == ["--write"]:
        path = Path(kernels.__file__)
        before, _, _ = path.read_text().partition('_TABLE = """')
        path.write_text(f'{before}_TABLE = """{new}"""\n')
    elif new != kernels._TABLE:
        old = kernels._TABLE.splitlines()
        print("\n".join(difflib.unified_diff(old, new.splitlines(), "committed", "measured", n=1)))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
