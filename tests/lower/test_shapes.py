"""Shape rules against what runs: each case becomes a model of one node, whose real outputs are the truth.

Of every case the types are inferred from numbers, from `Dim`s (whose values at all sizes must be the real
ones), and with contents or dims of inputs withheld. The last may say less, never wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from shape_cases import CASES, LATEST, Case, Known, X, i64, known, scalar, x

from onnxport import dims as d
from onnxport import dtypes
from onnxport.dims import Dim, Size
from onnxport.errors import LoweringError
from onnxport.lower.shapes import infer
from onnxport.lower.shapes.call import RULES
from onnxport.lower.values import Tensor

# -- the truth --------------------------------------------------------------------------------------


def run(case: Case, arrays: list[Any], opset: int) -> list[Any]:
    attributes = {
        name: numpy_helper.from_array(value) if isinstance(value, np.ndarray) else value
        for name, value in case.attributes.items()
    }
    names = [f"i{i}" if array is not None else "" for i, array in enumerate(arrays)]
    outputs = [f"o{i}" for i in range(case.outputs)]
    node = helper.make_node(case.op, names, outputs, domain=case.domain, **attributes)
    feeds = {name: array for name, array in zip(names, arrays) if name and array is not None}
    initial = [f"i{i}" for i, spec in enumerate(case.inputs) if isinstance(spec, Known)]
    graph = helper.make_graph(
        [node],
        "g",
        [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
            for name, array in feeds.items()
            if name not in initial
        ],
        [onnx.ValueInfoProto(name=name) for name in outputs],
        [numpy_helper.from_array(feeds[name], name) for name in initial],
    )
    imports = [helper.make_opsetid(case.domain, opset)]
    model = helper.make_model(graph, opset_imports=imports, ir_version=10)
    feeds = {name: array for name, array in feeds.items() if name not in initial}
    if case.reference:
        return ReferenceEvaluator(model).run(None, feeds)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
    return session.run(None, feeds)


# -- the comparison ---------------------------------------------------------------------------------


class Fresh:
    """Makes the sizes that only the run can tell, and knows them again."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def __call__(self, hint: str) -> Dim:
        assert hint
        name = f"fresh_{hint}_{len(self.names)}"
        self.names.add(name)
        return Dim.symbol(name)


def infer_case(case: Case, inputs: list[Tensor | None], opset: int) -> tuple[list[Any], Fresh]:
    fresh = Fresh()
    types = infer(case.op, inputs, case.attributes, opset, case.outputs, fresh, domain=case.domain)
    assert len(types) == case.outputs
    return types, fresh


def compare(types: list[Any], fresh: Fresh, real: list[Any], sizes: Mapping[str, int], vague: bool = False) -> None:
    bound = dict(sizes)
    for (dtype, dims), array in zip(types, real):
        array = np.asarray(array)
        assert dtypes.to_numpy(dtype) == array.dtype, f"{dtype}, really {array.dtype}"
        if dims is None:
            assert vague
            continue
        assert len(dims) == array.ndim, f"{dims}, really {array.shape}"
        for size, actual in zip(dims, array.shape):
            if str(size) in fresh.names:
                bound.setdefault(str(size), actual)
            if d.free_symbols(size) <= bound.keys():
                assert d.evaluate(size, bound) == actual, f"{dims} at {bound}, really {array.shape}"
            else:
                assert vague, f"{size} has {d.free_symbols(size)}"


def fresh_in(types: list[Any], fresh: Fresh) -> int:
    return len({name for _, dims in types for size in dims for name in d.free_symbols(size)} & fresh.names)


def tensors(case: Case, sizes: Mapping[str, Size]) -> list[Tensor | None]:
    return [None if spec is None else spec.tensor(sizes) for spec in case.inputs]


def check(case: Case, opset: int) -> None:
    symbols = {name: Dim.symbol(name) for name in case.sizes[0]}
    symbolic, symbolic_fresh = infer_case(case, tensors(case, symbols), opset)
    assert fresh_in(symbolic, symbolic_fresh) == case.fresh, str(symbolic)
    for sizes in case.sizes:
        real = run(case, [None if spec is None else spec.array(sizes) for spec in case.inputs], opset)
        compare(symbolic, symbolic_fresh, real, sizes)
        given = tensors(case, sizes)
        compare(*infer_case(case, given, opset), real, sizes)
        for less in withholding(given):
            compare(*infer_case(case, less, opset), real, sizes, vague=True)


def withholding(given: list[Tensor | None]) -> Iterator[list[Tensor | None]]:
    """The inputs without their contents, then without dims too, and with only one of them so."""
    yield [t if t is None else Tensor(t.dtype, t.dims) for t in given]
    yield [t if t is None else Tensor(t.dtype, None) for t in given]
    for i, tensor in enumerate(given):
        if tensor is not None:
            yield [*given[:i], Tensor(tensor.dtype, tensor.dims), *given[i + 1 :]]
            yield [*given[:i], Tensor(tensor.dtype, None), *given[i + 1 :]]


@pytest.mark.parametrize(("case", "opset"), [(c, opset) for c in CASES for opset in c.opsets], ids=str)
def test_types_are_those_of_the_run(case: Case, opset: int) -> None:
    check(case, opset)


# -- the whole --------------------------------------------------------------------------------------

WITHOUT_RULE = {
    "If", "Loop", "Scan",  # they have bodies: whoever makes these knows the types
    "ConcatFromSequence", "SequenceAt", "SequenceConstruct", "SequenceEmpty", "SequenceErase",
    "SequenceInsert", "SequenceLength", "SequenceMap", "SplitToSequence", "Optional", "OptionalGetElement",
    "OptionalHasElement",
    # torch has no strings
    "ImageDecoder", "RegexFullMatch", "StringConcat", "StringNormalizer", "StringSplit",
    "TfIdfVectorizer",
}  # fmt: skip


def test_element_type_without_inference() -> None:
    given = [x("n", 3, dtype=i64).tensor({"n": Dim.symbol("n")})]
    assert infer("Normalizer", given, {}, 5, 1, Fresh(), "ai.onnx.ml") == [(torch.float32, None)]


def test_every_rule_has_a_case() -> None:
    assert RULES.keys() == {case.op for case in CASES if not case.domain} - WITHOUT_RULE


def test_every_op_has_a_rule() -> None:
    ops = {s.name for s in onnx.defs.get_all_schemas_with_history() if s.domain == ""}
    assert ops - RULES.keys() == WITHOUT_RULE


def types_of(op: str, *inputs: X | Known | None, opset: int = LATEST, outputs: int = 1, **attributes: Any) -> Any:
    symbols = {name: Dim.symbol(name) for name in ("n", "m")}
    given = [None if spec is None else spec.tensor(symbols) for spec in inputs]
    return infer(op, given, attributes, opset, outputs, Fresh())


@pytest.mark.parametrize(
    ("op", "inputs", "attributes", "expected"),
    [
        ("Slice", (x("n+4"), known(1), known(-1)), {}, "n + 2"),
        ("Slice", (x("n+4"), known(2), known(2**63 - 1)), {}, "n + 2"),
        ("Slice", (x("n"), known(-3), known(2**63 - 1)), {}, "min(3, n)"),
        ("Slice", (x("n"), known(0), known(5)), {}, "min(5, n)"),
        ("Slice", (x("n"), known(2**31 - 2), known(-(2**63)), known(0), known(-1)), {}, "min(2147483647, n)"),
        ("Slice", (x("n"), known(-1), known(-(2**63)), known(0), known(-1)), {}, "n"),
        ("Slice", (x("n"), known(0), known(2**63 - 1), known(0), known(2)), {}, "(n + 1)//2"),
        ("Slice", (x("n+m"), known("n"), known("n+m")), {}, "m"),
        ("Reshape", (x("n", "m", 6), known("n", 2, -1)), {}, "n, 2, 3*m"),
        ("Concat", (x("n"), x("m"), x(3)), {"axis": 0}, "m + n + 3"),
        ("Add", (x("n", 1), x(1, "m")), {}, "n, m"),
        ("Add", (x("n"), x("m")), {}, "broadcast(m, n)"),
        ("MaxPool", (x(1, 1, "n"),), {"kernel_shape": [3], "strides": [2], "ceil_mode": 1}, "1, 1, n//2"),
        ("Conv", (x(1, 1, "n"), x(1, 1, 3)), {"pads": [1, 1]}, "1, 1, n"),
        ("Range", (scalar(0), scalar("n"), scalar(1)), {}, "n"),
    ],
)
def test_expressions_are_simple(op: str, inputs: Any, attributes: dict[str, Any], expected: str) -> None:
    ((_, dims),) = types_of(op, *inputs, **attributes)
    assert ", ".join(map(str, dims)) == expected


@pytest.mark.parametrize(
    ("op", "inputs", "attributes", "message"),
    [
        ("Add", (x(2, 3), x(2, 4)), {}, r"ONNX Add: .*3 and 4 can't be broadcast"),
        ("MatMul", (x(2, 3), x(4, 2)), {}, r"ONNX MatMul: the inner sizes 3 and 4 differ"),
        ("MatMul", (x(2, 3), x()), {}, r"ONNX MatMul: a factor has no dimensions"),
        ("Add", (x(2), None), {}, r"ONNX Add: input 1 is missing"),
        ("Reshape", (x(2, 3), known(4, -1)), {}, r"ONNX Reshape: 6 elements can't be divided by 4"),
        ("Reshape", (x(2), known(0, 0)), {}, r"ONNX Reshape: the target has a 0 at 1"),
        ("Squeeze", (x(2), known(1)), {}, r"ONNX Squeeze: axis 1 doesn't exist in 1 dimensions"),
        ("Cast", (x(2),), {"to": 22}, r"ONNX Cast: ONNX element type 22 has no torch dtype"),
        ("Cast", (x(2),), {}, r"ONNX Cast: the attribute 'to' is missing"),
        ("Relu", (x(2),), {"outputs": 2}, r"ONNX Relu: 2 outputs are asked for, it has 1"),
        ("Relux", (x(2),), {}, r"ONNX Relux: there is no such op in 'ai.onnx' at opset 28"),
        (
            "Constant",
            (),
            {"value_string": "a"},
            r"no element type of torch fits the attribute 'value_string'",
        ),
        ("SequenceLength", (x(2),), {}, r"ONNX SequenceLength: onnx's inference fails"),
    ],
)
def test_errors(op: str, inputs: Any, attributes: dict[str, Any], message: str) -> None:
    with pytest.raises(LoweringError, match=message):
        types_of(op, *inputs, **attributes)
