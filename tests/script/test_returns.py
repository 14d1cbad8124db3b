"""Returns out of ifs and loops, and values that only some paths have: None, or no value at all on the others."""

# ruff: noqa: UP006, UP035, UP045  programs are as users write them, for TorchScript
from typing import Dict, List, Optional, Tuple

import onnx
import pytest
import torch
from tests.script.harness import check_script
from torch import Tensor

import onnxport
from onnxport.errors import OpsetError


def nested(x):
    if x.shape[0] < 5:
        if x.shape[0] == 1:
            x = x + 4
        else:
            return x * 3
    return x - 1


def of_a_tuple(x) -> Tuple[Tensor, Tensor]:
    if x.shape[0] > 2:
        if x.shape[0] == 3:
            return x * 3, x.sum(0)
        y = x.mean(0)
        if x.shape[0] > 5:
            return y + x, y
    return x - 1, x[0]


def of_tuples_in_tuples(x) -> Tuple[Tensor, Tuple[Tensor, int]]:
    if x.shape[0] > 1:
        if x.shape[0] > 4:
            return x, (x * 2, 3)
        n = x.shape[0] * 2
        return x, (x + 1, n)
    return x - 1, (x.abs(), 9)


def of_a_dict(x) -> Dict[str, Tensor]:
    if x.shape[0] > 2:
        d = {"a": x * 2, "b": x.sum(0)}
        if x.shape[0] > 4:
            return d
        return {"a": x, "b": x[0]}
    return {"a": x - 1, "b": x.mean(0)}


def of_lists(x):
    if x.shape[0] < 5:
        if x.size(0) == 1:
            x = x + 4
        else:
            rows = list(x)
            rows.append(x[0])
            return rows
    return [x[0], x[0] * 2]


def of_ints(x):
    y = list(range(x.size(0)))
    if y[0] < 5:
        if x.size(0) == 3:
            y.append(10)
        else:
            return torch.tensor(y)
    return torch.tensor(y)


def in_a_loop(x):
    for i in range(x.shape[0]):
        y = x[i] * 2
        if i == 2:
            return y.sum()
        if bool(y.sum() > 3):
            return y.mean()
    return x.sum() + 7


def while_appending(x) -> List[Tensor]:
    out: List[Tensor] = []
    for i in range(x.shape[0]):
        out.append(x[i])
        if i > 1:
            if i > 3:
                return out
            out.append(x[i] * 2)
    return out


def after_writes(x):
    y = x.clone()
    v = y[0]
    if x.shape[0] > 2:
        w = y[1]
        w += 3
        if x.shape[0] > 4:
            return w * 2
    v -= 1
    return y.sum(0)


def found_in_a_loop(x):
    found: Optional[Tuple[Tensor, Tensor]] = None
    for i in range(x.shape[0]):
        if bool(x[i].sum() > 0.3):
            found = (x[i] * 2, x[i] + 1)
    if found is not None:
        a, b = found
        return a + b
    return x[0]


def a_tuple_or_none(x):
    found: Optional[Tuple[Tensor, Tensor]] = (x * 2, x.sum(0))
    if x.shape[0] > 2:
        found = None
    elif x.shape[0] > 1:
        found = (x * 4, x.mean(0))
    if found is not None:
        a, b = found
        return a + b
    return x


def a_list_or_none(x):
    found: Optional[List[Tensor]] = None
    if x.shape[0] > 2:
        found = [x * 2]
        found.append(x + 1)
        if x.shape[0] > 4:
            found = [x * 3, x + 2]
    if found is not None:
        return found[0] + found[1]
    return x


def a_number_or_none(x):
    n: Optional[int] = None
    f: Optional[float] = None
    if x.shape[0] > 2:
        n = 5
        f = float(x.sum())
    if x.shape[0] > 4:
        n = x.shape[0] * 2
    if n is not None:
        x = x + n
    if f is not None:
        x = x * f
    return x


def appended_in_two_loops(x):
    rows: List[Tensor] = []
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            rows.append(x[i] * x[i][j])
    return rows, torch.stack(rows)


CASES = [
    (nested, 8), (of_a_tuple, 8), (of_tuples_in_tuples, 8), (of_a_dict, 8), (of_lists, 11), (of_ints, 8), (in_a_loop, 8),
    (while_appending, 11), (after_writes, 8), (found_in_a_loop, 8), (a_tuple_or_none, 8), (a_list_or_none, 8),
    (a_number_or_none, 8), (appended_in_two_loops, 11),
]  # fmt: skip


@pytest.mark.parametrize("opset", [8, 13, 20])
@pytest.mark.parametrize(("function", "lowest"), CASES, ids=[f.__name__ for f, _ in CASES])
def test_return(function, lowest, opset):
    generator = torch.Generator().manual_seed(0)
    inputs = [(torch.randn(n, 2, generator=generator),) for n in (5, 1, 2, 3, 4, 8)]
    check_script(function, *inputs, dynamic={0: {0: "n"}}, opset=max(opset, lowest))


def none_then_value(x) -> Optional[Tensor]:
    y: Optional[Tensor] = None
    if x.size(0) > 1:
        y = x * 2
    return y


def value_then_none(x) -> Optional[Tensor]:
    y: Optional[Tensor] = x * 2
    for _ in range(x.size(0) - 2):
        y = None
    return y


def among_others(x) -> Tuple[Tensor, Optional[Tensor], Optional[int]]:
    n: Optional[int] = None
    if x.size(0) > 2:
        n = x.size(0)
    if x.size(0) > 1:
        return x, x.sum(0), n
    return x + 1, None, n


@pytest.mark.parametrize("opset", [16, 20])
@pytest.mark.parametrize("function", [none_then_value, value_then_none, among_others])
def test_a_result_that_may_be_none_is_an_optional(function, opset):
    inputs = [(torch.ones(n, 2),) for n in (1, 2, 5, 3)]
    model = check_script(function, *inputs, dynamic={0: {0: "n"}}, opset=opset)
    optional = [v.type for v in model.graph.output if v.type.HasField("optional_type")]
    dims = {none_then_value: [["n", 2]], value_then_none: [["n", 2]], among_others: [[2], []]}[function]
    kinds = [onnx.TensorProto.FLOAT, onnx.TensorProto.INT64]
    assert optional == [
        onnx.helper.make_optional_type_proto(onnx.helper.make_tensor_type_proto(kind, shape))
        for kind, shape in zip(kinds, dims)
    ]


def test_optionals_need_their_opset():
    script = torch.jit.script(none_then_value)
    with pytest.raises(OpsetError, match="or None needs opset 16"):
        onnxport.export(script, (torch.ones(3, 2),), None, input_names=["x"], dynamic_axes={"x": [0]}, opset_version=15)


def test_lists_that_stay_empty():
    def program(x):
        kept, dropped = [], []
        for i in range(x.size(0)):
            if len(kept) > 2:
                kept.append(x[i])
                dropped.append(x[i])
        return kept, dropped

    result = onnxport.export(torch.jit.script(program), (torch.ones(4, 3),), None)
    assert result(torch.ones(4, 3)) == ([], [])
